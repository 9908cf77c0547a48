"""What Spark raises becomes one sentence."""

from __future__ import annotations

import pytest

from metashell.errors import ExitCode, SourceError
from metashell.spark_backend.failures import NO_MEMORY, failure, failures, within_memory

JAVA = """An error occurred while calling o57.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
Caused by: java.io.IOException: No space left on device
\tat java.base/x.y(Z.java:2)
"""
PYTHON = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/worker.py", line 1, in main
    process()
ValueError: in the middle
Traceback (most recent call last):
  File "/x/other.py", line 1, in main
metashell.errors.SourceError: /data/x: Permission denied
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (JAVA, "it failed: No space left on device"),
        (PYTHON, "it failed: /data/x: Permission denied"),
        (
            "An error occurred while calling None.org.x.JavaSparkContext.\n"
            ": org.apache.spark.SparkException: Could not parse Master URL: 'x'\n\tat a.b(C:1)",
            "it failed: Could not parse Master URL: 'x'",
        ),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table `x` is not there. SQLSTATE: 1", "it failed: The tab"),
        ("", "it failed: RuntimeError"),
        (
            "java.lang.IllegalArgumentException: bad fs.s3a.secret.key=abc123 there",
            "it failed: bad fs.s3a.secret.key=[redacted] there",
        ),
        ("StatusCode.UNAUTHENTICATED: no", "the Spark Connect server refuses this session"),
        ("java.lang.OutOfMemoryError: Java heap space", "Spark ran out of memory"),
        (
            "SparkException: Python worker exited unexpectedly (crashed)\nCaused by: EOFException",
            "a Python worker of Spark was killed, most likely for lack of memory",
        ),
        (
            "SparkException: EOFException occurred while reading the port number from"
            " pyspark.daemon's stdout",
            "a Python worker of Spark was killed",
        ),
        ("ExecutorLostFailure ... exit code 137 (OOMKilled)", "a Python worker of Spark was kill"),
        (
            "Python worker exited unexpectedly\nNo module named 'pyarrow'",
            "the Python of Spark's workers lacks",
        ),
        (f"{PYTHON}\nMemoryError", "a Python worker of Spark ran out of memory"),
        ("pyarrow.lib.ArrowMemoryError: malloc of size 1 failed", "a Python worker of Spark ran"),
        ("numpy._core._exceptions._ArrayMemoryError: Unable", "a Python worker of Spark ran"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has", "the Python of Spark's workers is of"),
    ],
)
def test_sentences(text: str, sentence: str) -> None:
    """The line that says most, without what surrounds it."""
    error = failure("it failed", RuntimeError(text))
    assert error.message.startswith(sentence)
    assert "\n" not in error.message


@pytest.mark.parametrize(
    ("last", "kind"),
    [("IndexError: the secret s3cr3t", "IndexError"), ("pyarrow.lib.ArrowInvalid: x", "ArrowInv")],
)
def test_a_bug_of_ours_in_a_task(last: str, kind: str) -> None:
    """It has the status of bugs, and is told as here: with its place, without what it quotes."""
    text = PYTHON + (
        "Traceback (most recent call last):\n"
        '  File "/s/metashell.zip/metashell/image/fold.py", line 7, in fold\n'
        '  File "/s/numpy/core.py", line 9, in take\n'
        f"{last}\n"
    )
    error = failure("it failed", RuntimeError(text))
    assert ExitCode.INTERNAL == error.exit_code
    assert error.message.startswith(f"internal error: {kind}")
    assert " at image/fold.py, line 7: " in error.message
    assert "s3cr3t" not in "".join(error.lines(""))


def test_task_without_memory_says_what_helps() -> None:
    """In a session of the user's own nobody else would; a shell says the same sentence."""
    with pytest.raises(SourceError, match=r"splitBytes.*memoryOverhead") as caught, within_memory():
        raise MemoryError
    text = f"Traceback (most recent call last):\nmetashell.errors.SourceError: {caught.value}"
    told = failure("it failed", RuntimeError(text))
    assert NO_MEMORY == told.message
    assert "spark.executor.memoryOverhead" in (told.hint or "")


def test_what_java_said_goes_before() -> None:
    """Where its process is gone, the error of the broken connection says nothing."""
    error = failure("it failed", ConnectionError("Answer from Java side is empty"), "it ended")
    assert "it failed: it ended" == error.message


def test_a_sentence_has_a_bound() -> None:
    """Java's may be pages."""
    assert len(failure("it failed", RuntimeError("x" * 10_000)).message) < 400


def test_an_error_on_the_way_of_an_interrupt_is_the_interrupt() -> None:
    """PySpark, while it lets ^C through, talks to Java once more and fails."""
    pytest.importorskip("pyspark")

    def collect() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(KeyboardInterrupt), failures("the Spark job failed"):
        collect()


def test_java_that_has_ended() -> None:
    """The error of the line to it does not tell that."""
    pytest.importorskip("pyspark")
    with (
        pytest.raises(SourceError, match=r"^it failed: its Java process has ended$"),
        failures("it failed"),
    ):
        raise ConnectionRefusedError(111, "Connection refused")
