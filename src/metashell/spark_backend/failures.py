"""The exceptions of PySpark, each as one sentence.

Owns the translation; a stack trace of Java's never reaches the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from metashell.errors import OUR_FRAME, InternalError, MetashellError, SourceError

_LENGTH_MAX: Final = 300
_CAUSE: Final = re.compile(r"(?:^|\n)\s*Caused by: (?:[\w.$]+: )?(.+)")
_PY4J: Final = "An error occurred while calling "
_JAVA_CLASS: Final = re.compile(r"^(?:[\w$]+\.){2,}[\w$]+: ")
_ERROR_CLASS: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_PYTHON_ERROR: Final = re.compile(r"(?m)^ +File .+\n(?: .*\n)*([A-Za-z_][\w.]*)(?:: (.+))?$")
"""The line behind a traceback's frames."""
_SECRET: Final = re.compile(
    r"(?i)((?:secret|password|token|access[.]?key|credential)[\w.]*\s*[=:]\s*)\S+"
)

_NO_JAVA: Final = "its Java process has ended"
NO_MEMORY: Final = "a Python worker of Spark ran out of memory"
_FOR_PYTHON: Final = (
    "fewer tasks at a time (`--master local[2]`, spark.executor.cores), or more memory beside the"
    " JVM's: `--spark-conf spark.executor.memoryOverhead=...`, and spark.executor.pyspark.memory"
    " where it is set"
)

_KNOWN: Final = (
    (
        re.compile(r"PYTHON_VERSION_MISMATCH|different (?:minor )?version than"),
        "the Python of Spark's workers is of another version than this one",
        "`--spark-conf spark.pyspark.python=PATH`, or the environment variable PYSPARK_PYTHON",
    ),
    (
        re.compile(r"No module named '?(?:numpy|pyarrow|pandas|crc32c)"),
        "the Python of Spark's workers lacks what metashell needs",
        "install metashell there, or send a packed environment with `--spark-conf`",
    ),
    (
        re.compile(r"OutOfMemoryError"),
        "Spark ran out of memory",
        "`--spark-conf spark.driver.memory=...`, or spark.executor.memory for a cluster",
    ),
    (
        re.compile(rf"\b_?(?:Array|Arrow)?MemoryError\b|{NO_MEMORY}"),
        NO_MEMORY,
        _FOR_PYTHON,
    ),
    (
        re.compile(
            r"exit code 137|Container killed|Python worker exited unexpectedly"
            r"|EOFException occurred while reading the port number from pyspark\.daemon"
        ),
        "a Python worker of Spark was killed, most likely for lack of memory",
        _FOR_PYTHON,
    ),
    (
        re.compile(r"UNAUTHENTICATED|PERMISSION_DENIED|StatusCode\.(?:UNAUTH|PERMISSION)"),
        "the Spark Connect server refuses this session",
        "a token is given as `--master 'sc://HOST:PORT/;token=...'`",
    ),
    (
        re.compile(r"StatusCode\.UNAVAILABLE|failed to connect to all addresses"),
        "the Spark Connect server can't be reached any more",
        None,
    ),
    (
        re.compile(r"SESSION_CLOSED|SESSION_CHANGED|SESSION_NOT_FOUND|NO_ACTIVE_SESSION"),
        "the Spark session was ended by the server",
        None,
    ),
    (
        re.compile(r"Master removed our application|All masters are unresponsive"),
        "the Spark master refuses this session",
        "its log says why; its version must be that of PySpark here",
    ),
)


@contextmanager
def failures(what: str, *, explain: Callable[[], str | None] = lambda: None) -> Iterator[None]:
    """Turn what Spark raises in a block into a `SourceError`.

    Args:
        what: How the sentence begins, such as ``the Spark job failed``.
        explain: Says more where Spark's own process is gone.

    Raises:
        SourceError: Spark failed.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (MetashellError, KeyboardInterrupt):
        raise
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        more = explain() or (_NO_JAVA if isinstance(error, ConnectionError) else None)
        raise failure(what, error, more) from error
    except Exception as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        if _is_grpc(error):
            raise failure(what, error) from error
        raise


@contextmanager
def within_memory() -> Iterator[None]:
    """Say what helps where a block of a task runs out of memory.

    Raises:
        SourceError: It did.
    """
    try:
        yield
    except MemoryError as error:
        raise SourceError(
            f"{NO_MEMORY}; use a smaller splitBytes, fewer tasks at a time"
            " (spark.executor.cores), or more memory beside the JVM's"
            " (spark.executor.memoryOverhead)"
        ) from error


def _is_interrupt(error: BaseException) -> bool:
    """Whether it was raised while ^C was on its way: PySpark then still talks to Java, in vain."""
    context: BaseException | None = error
    while context is not None and not isinstance(context, KeyboardInterrupt):
        context = context.__context__
    return context is not None


def failure(what: str, error: BaseException, more: str | None = None) -> SourceError:
    """The error that tells of one of Spark's; of a bug of ours in a task, as of one here."""
    text = str(error) if more is None else more
    for pattern, sentence, hint in _KNOWN:
        if pattern.search(text):
            return SourceError(sentence, hint=hint)
    if more is not None:
        return SourceError(f"{what}: {more}")
    python = _python_error(text)
    if python is not None and not _is_ours(python[0]) and re.search(OUR_FRAME, text):
        return InternalError.told(text, python[0].rpartition(".")[2])
    return SourceError(f"{what}: {_sentence(text) or type(error).__name__}")


def _sentence(text: str) -> str:
    """The one line of an error that says most: the Python error of a worker, else the cause."""
    python = _python_error(text)
    if python is not None:
        kind, said = python
        text = said if _is_ours(kind) else f"{kind.rpartition('.')[2]}: {said}".rstrip(": ")
    else:
        cause = _CAUSE.findall(text)
        text = cause[-1] if cause else text
    lines = [line.strip(": \t") for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(_PY4J)] or lines
    line = telling[0] if telling else ""
    line = _ERROR_CLASS.sub("", _JAVA_CLASS.sub("", line))
    return _SECRET.sub(r"\1[redacted]", line)[:_LENGTH_MAX].rstrip(". ")


def _python_error(text: str) -> tuple[str, str] | None:
    """The type of a worker's last Python error, and what it says; None where it is none."""
    found = _PYTHON_ERROR.findall(text) if "Traceback" in text else []
    return found[-1] if found else None


def _is_ours(kind: str) -> bool:
    """Whether a type of Python's errors is a `MetashellError`."""
    return kind.startswith(f"{MetashellError.__module__}.")


def _is_grpc(error: Exception) -> bool:
    """Whether an error is of gRPC, which need not be installed."""
    return any(kind.__module__.partition(".")[0] == "grpc" for kind in type(error).__mro__)
