"""Every exception of metashell and the exit code that each stands for.

This module imports nothing of ours, so that any layer can raise from it.
A message is one sentence that names what it is about (a path, a file, a flag);
``hint`` says what to do next and is printed on a line of its own.
"""

from __future__ import annotations

import os
import re
from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """Exit status of the program; one table for every command."""

    OK = 0
    FAILED = 1
    """Something asked for was not there or failed (also: differences found)."""
    USAGE = 2
    """The command line or a command's arguments are wrong."""
    SOURCE = 3
    """The source can't be read, reached or waited for."""
    INTERNAL = 70
    """A bug of metashell, or memory ran out: nothing is said of the cluster (EX_SOFTWARE)."""
    INTERRUPTED = 130
    """Stopped by ^C."""


class MetashellError(Exception):
    """Base of all errors that a user sees as one line, never as a traceback.

    Args:
        message: One sentence without a full stop.
        hint: The user's next step, or None.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def lines(self, prefix: str) -> list[str]:
        """The message behind a prefix, and the hint: the one form that every front end prints."""
        hint = [f"  hint: {self.hint}"] if self.hint else []
        return [f"{prefix}{self.message}", *hint]


class UsageError(MetashellError):
    """The command line is wrong: an unknown flag, two sources, a missing argument."""

    exit_code = ExitCode.USAGE


class UnknownNameError(UsageError, KeyError):
    """There is no command, option, column or table of that name; also a KeyError.

    Its text has the hint, which names what is near.
    """

    def __str__(self) -> str:
        return f"{self.message}: {self.hint}" if self.hint else self.message


class SourceError(MetashellError):
    """The source can't be read: missing, no permission, not a metadata log."""

    exit_code = ExitCode.SOURCE


class NoLeaderError(SourceError):
    """No leader of a quorum can be followed.

    Args:
        message: Each controller's answer.
        is_answered: Whether a controller answers, and none leads; else none answers.
        hint: How many voters a leader needs, and which are missing.
    """

    def __init__(self, message: str, *, is_answered: bool, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.is_answered = is_answered


class InternalError(SourceError):
    """A bug of metashell, also one that showed in another process.

    If it breaks one part of an answer, such as a directory of a fleet, the other parts are given.

    Args:
        message: The error and its place.
        traceback: Shown only if `DEBUG` is set; it may hold anything.
        hint: The user's next step.
    """

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, traceback: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.traceback = traceback

    @classmethod
    def of(cls, error: BaseException) -> InternalError:
        """The error that reports an exception that is no `MetashellError`.

        The exception's own message is not shown: it may hold a secret.
        """
        if isinstance(error, cls):
            return error
        if isinstance(error, MemoryError):
            return cls("out of memory")
        from traceback import format_exception

        return cls.told("".join(format_exception(error)), type(error).__name__)

    @classmethod
    def told(cls, traceback: str, kind: str) -> InternalError:
        """The error made from an exception's traceback and the name of its type."""
        frames = re.findall(OUR_FRAME, traceback)
        where = f" at {frames[-1][0]}, line {frames[-1][1]}" if frames else ""
        return cls(
            f"internal error: {kind}{where}: this is a bug of metashell",
            traceback=traceback,
            hint=f"run again with {DEBUG}=1 for the traceback, and report it",
        )

    def lines(self, prefix: str) -> list[str]:
        """The lines of every error; the traceback stands before them if `DEBUG` is set."""
        lines = super().lines(prefix)
        return [*self.traceback.splitlines(), lines[0]] if os.environ.get(DEBUG) else lines


DEBUG: Final = "METASHELL_DEBUG"
"""The environment variable that asks for tracebacks."""
OUR_FRAME: Final = r'(?m)^ +File "(?:.*[/\\])?metashell[/\\](.+\.py)", line (\d+)'
"""A line of a traceback that names a module of ours."""


def began_with_interrupt(error: BaseException) -> bool:
    """Whether ^C lies behind an error, as when it fell into the import of a C extension."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, KeyboardInterrupt):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False


class NoMetadataLogError(SourceError):
    """A log directory of a node holds no metadata log; its coordinators' logs may be there.

    Args:
        message: Where.
        bootstrap: Path or URI of the records that it was formatted with; None where there are none,
            and where logs are there.
        hint: The user's next step.
    """

    def __init__(
        self, message: str, *, bootstrap: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.bootstrap = bootstrap


class TopicLogError(SourceError):
    """A directory holds the log of a topic: its batches can be told, and it has no metadata."""


class NotCoveredError(MetashellError):
    """An offset or a time lies before the first record of the source, or behind the last."""


class SchemaError(MetashellError):
    """A message definition is malformed; names its file and the field."""

    exit_code = ExitCode.USAGE


class DecodeError(MetashellError):
    """Bytes do not hold what their definition says.

    Args:
        message: The fault, with the field path in front where there is one.
        pos: Position of the byte at fault in the buffer decoded, or None.
    """

    exit_code = ExitCode.SOURCE

    def __init__(self, message: str, *, pos: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.pos = pos


class PathError(MetashellError):
    """A path of the virtual file system can't be used as asked.

    Args:
        path: The path as the user typed it.
        reason: Kafka's wording, such as ``No such file or directory``.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class NoSuchPathError(PathError, FileNotFoundError):
    """Nothing is at that path."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "No such file or directory")


class NotADirectoryPathError(PathError, NotADirectoryError):
    """A directory is needed there and a leaf was found."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "Not a directory")


class IsADirectoryPathError(PathError, IsADirectoryError):
    """A leaf is needed there and a directory was found."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "Is a directory")


class MetashellWarning(UserWarning):
    """A sentence that the command line prints on standard error, where Python asks for rows."""
