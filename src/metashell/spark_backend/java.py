"""The Java process behind a classic session: started quietly, and ended for sure.

Owns the process. It runs in a session of its own, so that the terminal's ^C does not reach it, and
writes into a file, of which the end explains failures. The contract between ``spark-submit`` and a
gateway that exists already is PySpark's own (`pyspark.java_gateway`).
"""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_START_LIMIT_S: Final = 120.0
_END_LIMIT_S: Final = 10.0
_POLL_S: Final = 0.05
_LOOK_S: Final = 1.0
_EXECUTORS_MAX: Final = 10
"""Executors that may end before any task does, as Spark's master counts them."""
_LOG_TAIL: Final = 1 << 16
_CONNECT_LIMIT_MS: Final = 5000

_SECRET_KEY: Final = re.compile(r"(?i)secret|password|token|access[.]?key|credential")
_LOG_CONFIGURATION: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex{short}
logger.executors.name = org.apache.spark.deploy.client
logger.executors.level = info
"""
_EXECUTOR_ENDED: Final = re.compile(
    r"Executor updated: \S+ is now (?:EXITED|FAILED|LOST)(?: \((.+)\))?"
)


class JavaProcess:
    """A running gateway.

    Args:
        directory: A private directory; log and configuration are put there.
        spark_home: Where ``bin/spark-submit`` is.
        conf: Spark's settings; those that look secret are kept off the command line.
        environment: The environment of the process.
        waiting: Called every now and then until it is there.
    """

    def __init__(
        self,
        directory: Path,
        spark_home: str,
        conf: Mapping[str, str],
        environment: Mapping[str, str],
        waiting: Callable[[], None],
    ) -> None:
        self._log = directory / "java.log"
        answer = directory / "gateway"
        command = [os.path.join(spark_home, "bin", "spark-submit")]
        for key, value in with_logging(conf, directory).items():
            if not _SECRET_KEY.search(key):
                command += ["--conf", f"{key}={value}"]
        with open(self._log, "wb") as log:
            try:
                self._process = subprocess.Popen(
                    [*command, "pyspark-shell"],
                    # Java ends when this pipe does, so also when this process is killed.
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={
                        **environment,
                        "SPARK_CONNECT_MODE": "0",
                        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
                    },
                    start_new_session=True,
                )
            except OSError as error:
                raise SourceError(
                    f"Spark can't be started: {command[0]}: {error.strerror}"
                ) from error
        try:
            self.port, self.secret = self._await(answer, waiting)
        except BaseException:
            self.end()
            raise

    def _await(self, answer: Path, waiting: Callable[[], None]) -> tuple[int, str]:
        """The port and the secret, which the gateway writes to a file that it renames last."""
        end_s = time.monotonic() + _START_LIMIT_S
        while not answer.exists():
            if self._process.poll() is not None:
                raise SourceError(
                    f"Spark's Java process ended while it started: {self.complaint()}",
                    hint="look at JAVA_HOME, SPARK_HOME and `--spark-conf`",
                )
            if time.monotonic() > end_s:
                raise SourceError(f"Spark's Java process did not start in {_START_LIMIT_S:.0f} s")
            waiting()
            time.sleep(_POLL_S)
        data = answer.read_bytes()
        answer.unlink()
        port, length = struct.unpack_from(">ii", data)
        return port, data[8 : 8 + length].decode()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def complaint(self) -> str:
        """The line of its log that says best what is wrong."""
        with suppress(OSError):
            lines = [line.strip() for line in self._tail().splitlines() if line.strip()]
            telling = [line for line in lines if _TELLING.search(line)] or lines[-1:]
            if telling:
                return _TELLING_NOISE.sub("", telling[0])[:300]
        return "it said nothing"

    def ended_executors(self) -> list[str]:
        """Why each of the newest executors ended that a master of Spark's own had started."""
        with suppress(OSError):
            return executors_ended(self._tail())
        return []

    def _tail(self) -> str:
        with open(self._log, "rb") as log:
            log.seek(max(0, os.path.getsize(self._log) - _LOG_TAIL))
            return log.read().decode("utf-8", "replace")

    def end(self) -> None:
        """End it and all that it started, Python workers included."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_LIMIT_S / 10)
        # Also where it ended: its group lives on in workers.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


_TELLING: Final = re.compile(r"Exception|[Ee]rror|ERROR|cannot|not found|Unable|Invalid")
_TELLING_NOISE: Final = re.compile(r"^(?:Exception in thread \"[^\"]*\" |Error: |ERROR \w+: )")


def executors_ended(log: str) -> list[str]:
    """Why executors ended, by the lines of a log."""
    return [reason or "no reason given" for reason in _EXECUTOR_ENDED.findall(log)]


def with_logging(conf: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Settings with our log configuration, which the user's own Java options can't lose."""
    file = directory / "log4j2.properties"
    file.write_text(_LOG_CONFIGURATION, encoding="ascii")
    key = "spark.driver.extraJavaOptions"
    ours = f"-Dlog4j2.configurationFile={file.as_uri()}"
    theirs = conf.get(key, "")
    options = theirs if "log4j2.configurationFile" in theirs else f"{ours} {theirs}".rstrip()
    return {**conf, key: options}


def check_reachable(gateway: Any, addresses: list[tuple[str, int]], shown: str) -> None:
    """Check from Java that one of a master's addresses takes connections: Spark itself would try
    for minutes, and end the session without saying why.

    Raises:
        SourceError: None does; the message has the reason of the last.
    """
    from py4j.protocol import Py4JJavaError

    reason = ""
    for host, port in addresses:
        connection = gateway.jvm.java.net.Socket()
        try:
            connection.connect(
                gateway.jvm.java.net.InetSocketAddress(host, port), _CONNECT_LIMIT_MS
            )
            return
        except Py4JJavaError as error:
            kind = error.java_exception.getClass().getSimpleName()
            text = error.java_exception.getMessage() or kind
            reason = "no such host" if kind == "UnknownHostException" else str(text)
        finally:
            connection.close()
    if addresses:
        raise SourceError(
            f"the Spark master {shown} can't be reached: {reason}",
            hint="check `--master`, and that it is up",
        )


def in_time(work: Callable[[], object], limit_s: float) -> bool:
    """Do something on a thread of its own, which has its own way to Java; False where it takes
    longer or fails.
    """
    done = threading.Event()

    def run() -> None:
        with suppress(Exception):
            work()
            done.set()

    thread = threading.Thread(target=run, daemon=True, name="metashell-spark-end")
    thread.start()
    thread.join(limit_s)
    return done.is_set()


@contextmanager
def watched_executors(
    made: SparkSession, process: JavaProcess
) -> Iterator[Callable[[], str | None]]:
    """Cancel jobs whose executors end again and again, and tell why these ended.

    A master of Spark's own may start them anew without end, and jobs wait for them meanwhile.
    """
    over, tracker, found = threading.Event(), made.sparkContext.statusTracker(), list[str]()

    def done() -> int:
        jobs = filter(None, map(tracker.getJobInfo, tracker.getActiveJobsIds()))
        stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
        return sum(stage.numCompletedTasks for stage in stages if stage is not None)

    def look() -> None:
        with suppress(Exception):
            while not over.wait(_LOOK_S):
                ended = process.ended_executors()
                if len(ended) >= _EXECUTORS_MAX and not done() and tracker.getActiveJobsIds():
                    found.append(ended[-1])
                    made.sparkContext.cancelAllJobs()
                    return

    def why() -> str | None:
        return f"its executors can't start: {found[-1]}" if found else None

    thread = threading.Thread(target=look, daemon=True, name="metashell-spark-executors")
    thread.start()
    try:
        yield why
    finally:
        over.set()
