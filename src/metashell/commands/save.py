"""``save``: what a source was read from, as a directory of its own.

Owns the rules of where and how it is written: beside nothing of Kafka's, over nothing, for the
owner alone, and whole or not at all.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.command_line import quote
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import parse_options, refuse_more
from metashell.commands.framework.targets import shown, stop_if_cancelled
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import escape
from metashell.log.names import METADATA_DIRECTORY, METADATA_TOPIC_ID

if TYPE_CHECKING:
    from metashell.log.saving import LogCopy
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

_DRY_RUN = "--dry-run"
_STEP_BYTES: Final = 4 << 20
_PLAIN_ID: Final = re.compile(r"[!-\[\]-~]{1,256}")
"""The ids that a properties file can hold without escapes."""
_KAFKAS: Final = ("meta.properties", "partition.metadata")
"""Files that make a directory Kafka's."""


class SaveCommand(Command):
    """Write a directory of what was read."""

    group = "whole cluster"
    name = "save"
    summary = "Save the source as a metadata directory."
    one_cluster = True
    manual = Manual(
        synopsis="save [--dry-run] DIR",
        description=(
            "Writes the source's checkpoint and log into DIR/__cluster_metadata-0. "
            "`metashell -d DIR` and Kafka's own tools read that directory. For a quorum, these "
            "are the records fetched so far. At an earlier state (`at`, --at), the log ends at "
            "that state's batch. Damaged batches are left out and reported.\n\n"
            "DIR must be missing or empty, and must lie outside Kafka's directories. It appears "
            "when everything is written, or not at all. Prints the path of each file.\n\n"
            "Only the owner can read DIR: the log holds SCRAM credentials, delegation tokens and "
            "passwords in configs. --show-secrets does not change that."
        ),
        options=(Option((_DRY_RUN,), "Print what would be written, and write nothing."),),
        examples=((f"save {_DRY_RUN} copy-of-cluster", "what would be saved"),),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Write the directory."""
        from metashell.log.saving import copy_of

        parsed = parse_options(self, args)
        refuse_more(self, parsed.arguments, most=1)
        if not parsed.arguments or not parsed.arguments[0]:
            raise UsageError("which directory?", hint=f"usage: {self.manual.synopsis}")
        typed = str(parsed.arguments[0])
        source = context.needs_metadata()
        log = source.log
        if log.is_file:
            raise UsageError(
                "`save` needs a directory or a quorum, and one file is open",
                hint="copy the file itself",
            )
        target = _checked_target(typed, source)
        copy = copy_of(log, source.moment_offset)
        if not copy.files:
            raise MetashellError("nothing to save: the source has no readable batch")
        for note in copy.notes:
            context.warn(escape(f"save: {note}"))
        texts = _texts(copy, _cluster_id(context, source))
        if _DRY_RUN not in parsed.switches:
            _write_whole(context, typed, target, source, copy, texts)
        names = [os.path.join(METADATA_DIRECTORY, file.name) for file in copy.files]
        for name in [*names, *texts]:
            context.out.write(shown(context, os.path.join(typed, name)) + "\n")
        self._tell(context, copy, written=_DRY_RUN not in parsed.switches)
        return 0

    def _tell(self, context: Context, copy: LogCopy, *, written: bool) -> None:
        where = "nothing" if copy.last_offset is None else f"up to offset {copy.last_offset}"
        context.warn(
            f"save: {'saved' if written else 'would save'} {copy.size:,} bytes, {where}; the files"
            " hold the cluster's credentials (SCRAM, tokens, configs), readable by their owner"
            " alone"
        )

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose directories of the file system that the shell runs on, and the option."""
        if word.startswith("-") and "--" not in args:
            return super().complete(context, args, word)
        return complete_local(word)


def complete_local(word: str, *, files: bool = False) -> list[Completion]:
    """Propose directories of the file system that the shell runs on, and files if wanted."""
    return [
        Completion(_quoted(text), -len(getattr(word, "raw", word)), escape(display))
        for text, display in _local_paths(word, files=files)
    ]


def _local_paths(word: str, *, files: bool) -> Iterator[tuple[str, str]]:
    """Paths that begin so: (the path, its last name), directories with a slash behind."""
    head, last = os.path.split(word)
    try:
        with os.scandir(os.path.expanduser(head) or ".") as entries:
            found = sorted(
                (e.name, e.is_dir())
                for e in entries
                if e.name.startswith(last) and (files or e.is_dir())
            )
    except OSError:
        return
    for name, is_directory in found[:200]:
        if not name.startswith(".") or last.startswith("."):
            tail = "/" if is_directory else ""
            yield os.path.join(head, name) + tail, name + tail


def _quoted(text: str) -> str:
    return quote(text)


# Where.


def _checked_target(typed: str, source: Source) -> str:
    """The directory to make, without symbolic links.

    Raises:
        MetashellError: It is there already, its parent is not, or it lies in a directory of
            Kafka's.
    """
    target = os.path.realpath(typed)
    name = escape(typed)
    refuse_kafkas(name, target, source)
    parent = os.path.dirname(target)
    if not os.path.isdir(parent):
        raise MetashellError(f"{escape(parent)}: No such directory", hint=f"to save {name} in it")
    if os.path.lexists(target):
        if not os.path.isdir(target):
            raise MetashellError(f"{name}: exists, and is not a directory")
        try:
            is_empty = not os.listdir(target)
        except OSError as error:
            raise _failure(name, error) from error
        if not is_empty:
            raise MetashellError(
                f"{name}: exists, and is not empty",
                hint="choose a new directory; `save` never overwrites files",
            )
    return target


def refuse_kafkas(name: str, target: str, opened: Source | FleetSource | None) -> None:
    """Refuse what lies in a directory of Kafka's; metashell never writes there."""
    directories = () if opened is None else opened.local_directories
    own = {os.path.realpath(path) for path in directories}
    place = target
    while True:
        is_kafkas = place in own or os.path.basename(place) == METADATA_DIRECTORY
        is_kafkas |= any(os.path.lexists(os.path.join(place, file)) for file in _KAFKAS)
        if is_kafkas:
            raise MetashellError(
                f"{name}: is inside {escape(place)}, a Kafka directory",
                hint="choose another place; metashell never writes into Kafka directories",
            )
        if place == os.path.dirname(place):
            return
        place = os.path.dirname(place)


# The contents.


def _cluster_id(context: Context, source: Source) -> str | None:
    try:
        return source.cluster_id
    except MetashellError as error:
        context.warn(escape(f"save: {error.message}: meta.properties is not saved"))
        return None


def _texts(copy: LogCopy, cluster_id: str | None) -> dict[str, bytes]:
    """The files beside the log, by path below the directory."""
    epochs = "".join(f"{epoch} {offset}\n" for epoch, offset in copy.epochs)
    texts = {
        f"{METADATA_DIRECTORY}/leader-epoch-checkpoint": f"0\n{len(copy.epochs)}\n{epochs}",
        f"{METADATA_DIRECTORY}/partition.metadata": f"version: 0\ntopic_id: {METADATA_TOPIC_ID}",
    }
    if cluster_id is not None and _PLAIN_ID.fullmatch(cluster_id):
        texts["meta.properties"] = f"version=1\ncluster.id={cluster_id}\n"
    return {name: text.encode() for name, text in texts.items()}


# How.


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes new files for their owner alone."""

    context: Context

    def write(self, path: str, pieces: Sequence[memoryview]) -> None:
        """Write a file that is not there, and see it safe on the disk."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        try:
            for piece in pieces:
                at = 0
                while at < len(piece):
                    stop_if_cancelled(self.context)
                    at += os.write(fd, piece[at : at + _STEP_BYTES])
            os.fsync(fd)
        finally:
            os.close(fd)


def _write_whole(
    context: Context,
    typed: str,
    target: str,
    source: Source,
    copy: LogCopy,
    texts: dict[str, bytes],
) -> None:
    """Write under a temporary name beside the target, and rename that when all is there.

    Raises:
        MetashellError: It can't be written; nothing is left.
    """
    name, parent = escape(typed), os.path.dirname(target)
    temporary = None
    writer, view = _Writer(context), memoryview(source.log.loaded.buffer)
    try:
        # mkdtemp makes it for the owner alone.
        temporary = tempfile.mkdtemp(prefix=f".{os.path.basename(target)}.unfinished-", dir=parent)
        inner = os.path.join(temporary, METADATA_DIRECTORY)
        os.mkdir(inner, 0o700)
        for file in copy.files:
            pieces = [view[begin:end] for begin, end in file.pieces]
            writer.write(os.path.join(inner, file.name), pieces)
        for place, text in texts.items():
            writer.write(os.path.join(temporary, place), [memoryview(text)])
        for directory in (inner, temporary):
            _sync_directory(directory)
        # Takes the place of an empty directory, and fails on anything else that came meanwhile.
        os.rename(temporary, target)
        temporary = None
        _sync_directory(parent)
    except OSError as error:
        raise _failure(name, error, copy.size) from error
    finally:
        view.release()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _failure(name: str, error: OSError, size: int | None = None) -> MetashellError:
    hint = None if size is None else f"`save` needs {size:,} bytes, and left nothing behind"
    return MetashellError(f"{name}: {error.strerror or error}", hint=hint)


COMMAND = SaveCommand()
