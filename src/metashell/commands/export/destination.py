"""Where an export goes: standard output, or a file that appears whole or not at all.

A file is written under another name beside its place and renamed at the end; what failed or was
interrupted leaves nothing. Nothing is written over unless that is asked for, and nothing ever into
a directory of Kafka's.
"""

from __future__ import annotations

import io
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, BinaryIO, Final

from metashell.commands.framework.local_places import kafka_directories, refuse_kafkas
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import escape, to_bytes

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from metashell.commands.framework.command import Context
    from metashell.sources.source import Source

STDOUT: Final = "-"
_NO_DIRECTORY: Final = "make this directory first, or name one that exists"
_BUFFER_BYTES: Final = 1 << 20
_SHARED: Final = 0o666
_PRIVATE: Final = 0o600
_EXECUTABLE: Final = 0o777


class Sink(ABC):
    """Takes what is written."""

    @abstractmethod
    def text(self, text: str) -> None:
        """Write text, as UTF-8."""

    @abstractmethod
    def data(self, data: bytes) -> None:
        """Write bytes."""

    def binary(self) -> BinaryIO:
        """The sink as a binary file; closing the file does not close the sink."""
        return _AsFile(self)  # type: ignore[return-value]  # it has all that is asked of it


class _AsFile(io.RawIOBase):
    def __init__(self, sink: Sink) -> None:
        self._sink, self._size = sink, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: ReadableBuffer, /) -> int:
        raw = bytes(data)
        self._sink.data(raw)
        self._size += len(raw)
        return len(raw)


class _Standard(Sink):
    """Standard output, which takes text; bytes that are none come out as they went in."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def text(self, text: str) -> None:
        self._context.write(text)

    def data(self, data: bytes) -> None:
        self._context.write(data.decode("utf-8", "surrogateescape"))


class _File(Sink):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def text(self, text: str) -> None:
        self._file.write(to_bytes(text))

    def data(self, data: bytes) -> None:
        self._file.write(data)


@dataclass(frozen=True, slots=True)
class ExportPlace:
    """Where exports of what is open may go, and how."""

    context: Context
    force: bool
    """Whether files that are there are written over."""

    @property
    def source(self) -> Source:
        """The source that is exported."""
        assert self.context.source is not None
        return self.context.source

    @property
    def _shows_secrets(self) -> bool:
        opened, request = self.context.opened, self.context.to_open
        if opened is not None:
            return opened.redaction.show_secrets
        return request is not None and request.settings.show_secrets

    def check(self, typed: str) -> None:
        """Refuse a file that can't be written there.

        Raises:
            MetashellError: Something exists already, its directory is not, or that is Kafka's.
        """
        name, target = escape(typed), _real_path(typed)
        refuse_kafkas(name, target, kafka_directories(self.context))
        parent = os.path.dirname(target)
        if not os.path.isdir(parent):
            raise MetashellError(f"{escape(parent)}: No such directory", hint=_NO_DIRECTORY)
        try:
            mode = os.lstat(target).st_mode
        except OSError:
            return
        if not stat.S_ISREG(mode):
            raise MetashellError(f"{name}: exists and is not a file")
        if not self.force:
            raise MetashellError(f"{name}: exists already", hint="give --force to overwrite it")

    def check_directory(self, typed: str) -> None:
        """Refuse a directory that can't be made or written to; errors as `check`."""
        name, target = escape(typed), _real_path(typed)
        refuse_kafkas(name, target, kafka_directories(self.context))
        parent = os.path.dirname(target)
        if os.path.lexists(target):
            if not os.path.isdir(target):
                raise MetashellError(f"{name}: exists and is not a directory")
        elif not os.path.isdir(parent):
            raise MetashellError(f"{escape(parent)}: No such directory", hint=_NO_DIRECTORY)

    @contextmanager
    def directory(self, typed: str) -> Iterator[None]:
        """Make a directory, and take it away again where nothing came into it."""
        self.check_directory(typed)
        mode = 0o700 if self._shows_secrets else 0o777
        try:
            os.mkdir(typed, mode)
            is_new = True
        except FileExistsError:
            is_new = False
        except OSError as error:
            raise _failure(typed, error) from error
        try:
            yield
        finally:
            if is_new:
                with suppress(OSError):  # There is something in it.
                    os.rmdir(typed)

    @contextmanager
    def open(
        self, typed: str | None, *, executable: bool = False, has_secrets: bool = True
    ) -> Iterator[Sink]:
        """The sink to write to; None and ``-`` are standard output.

        Args:
            typed: The file.
            executable: Whether it can be run.
            has_secrets: Whether there are secrets in it where they may be shown.

        Raises:
            MetashellError: It can't be written; nothing is left.
        """
        if typed is None or typed == STDOUT:
            yield _Standard(self.context)
            return
        if not typed:
            raise UsageError("--to: which file?")
        self.check(typed)
        mode = _EXECUTABLE if executable else _SHARED
        if has_secrets and self._shows_secrets:
            mode = _PRIVATE
        with self._whole(typed, os.path.realpath(typed), mode) as file:
            yield _File(file)

    @contextmanager
    def _whole(self, typed: str, target: str, mode: int) -> Iterator[BinaryIO]:
        parent, base = os.path.split(target)
        # A name may be as long as the file system takes; that of the unfinished file is not longer.
        temporary = os.path.join(parent, f".{base[:32]}.unfinished-{token_hex(4)}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        made = False
        try:
            fd = os.open(temporary, flags, mode)
            made = True
            with open(fd, "wb", buffering=_BUFFER_BYTES) as file:
                yield file
                file.flush()
                os.fsync(fd)
            self._appear(typed, temporary, target)
            made = False
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _failure(typed, error) from error
        finally:
            if made:
                with suppress(OSError):
                    os.unlink(temporary)

    def _appear(self, typed: str, temporary: str, target: str) -> None:
        """Give the finished file its name, over nothing unless that is asked for."""
        if not self.force:
            try:
                os.link(temporary, target)
            except FileExistsError:
                raise MetashellError(
                    f"{escape(typed)}: was created meanwhile", hint="give --force to overwrite it"
                ) from None
            except OSError:
                # A file system without links: the moment between the two has to do.
                self.check(typed)
                os.rename(temporary, target)
            else:
                os.unlink(temporary)
            return
        os.replace(temporary, target)


def _real_path(typed: str) -> str:
    """The path without links.

    Raises:
        MetashellError: No file can have that name.
    """
    try:
        return os.path.realpath(typed)
    except ValueError as error:  # a null character, a lone surrogate
        raise MetashellError(f"{escape(typed)}: can't be the name of a file") from error


def _failure(typed: str, error: OSError) -> MetashellError:
    return MetashellError(
        f"{escape(typed)}: {error.strerror or error}", hint="the partial output is removed"
    )
