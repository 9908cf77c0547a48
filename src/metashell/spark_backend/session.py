"""Spark sessions: made for a master, and ended without a trace.

Owns the settings of a session, what it changes in this process (all of which is undone) and its
end, by ^C too. Two ways: classic, with a Java process of ours, and Spark Connect, where the server
has it. Spark's own chatter goes to a file in a private directory, which is removed.

The installed package as a zip file, for executors that have none.

Messages, samples and key lists lie inside the package and come along. The kernel stays out: nothing
loads a library from a zip file, and executors may have another processor. They decode with numpy.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import metashell
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.kernel.library import DIRECTORY, LIBRARY
from metashell.sources.engine import core_count, cores_of, is_local, shown_master
from metashell.sources.request import JobProgress
from metashell.spark_backend.failures import failure, failures
from metashell.spark_backend.free_memory import free_memory_bytes
from metashell.spark_backend.java import (
    JavaProcess,
    check_reachable,
    in_time,
    watched_executors,
)
from metashell.spark_backend.needs import check, is_connect
from metashell.spark_backend.progress import Progress, watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEFT_OUT: Final = frozenset({"__pycache__", DIRECTORY.name, LIBRARY.name})


def package_zip(directory: Path) -> Path:
    """Write the package to a zip file in a directory."""
    from metashell.version import __version__

    root = Path(metashell.__file__).parent
    target = directory / f"metashell-{__version__}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for folder, names, files in os.walk(root):
            names[:] = sorted(name for name in names if name not in _LEFT_OUT)
            for name in sorted(set(files) - _LEFT_OUT):
                path = Path(folder, name)
                archive.write(path, Path(root.name, path.relative_to(root)))
    return target


__all__ = ["Engine", "SparkSettings", "session"]

_MEBIBYTE: Final = 1 << 20
_DRIVER_MEMORY_MIN: Final = 1 << 30
_DRIVER_MEMORY_MAX: Final = 8 << 30
_CONNECT_LIMIT_S: Final = 10.0
_CONNECT_RETRIES: Final = 8
_CANCEL_LIMIT_S: Final = 3.0
_STOP_LIMIT_S: Final = 10.0

_PYTHON_KEY: Final = "spark.pyspark.python"
_FOREIGN: Final = (
    "MASTER",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_GATEWAY_SECRET",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_API_MODE",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
)
"""Variables that would make another session than the one asked for."""

_SQL_CONF: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
"""Settings of every session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """Where Spark runs, and the user's own settings, which go before ours."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Without the values of `conf`, which may be secret, and a token in `master`."""
        return f"SparkSettings(master={shown_master(self.master)!r}, conf={sorted(self.conf)})"


@contextmanager
def session(settings: SparkSettings, *, progress: Progress | None = None) -> Iterator[SparkSession]:
    """A session for the length of a block; a session that this process has already is used as it
    is, and not ended.

    Whatever ends the block, ^C included, jobs that still run are cancelled, and no process is left.
    An exception of Spark in the block becomes a `SourceError`.

    Args:
        settings: The master and further settings.
        progress: Called with (tasks done, tasks known) of the block's jobs, from another thread;
            with (0, 0) while the session starts.

    Raises:
        SourceError: PySpark or Java is missing or too old, the master can't be reached or refuses,
            or Spark failed in the block.
    """
    active = active_session()
    if active is not None:
        with failures("the Spark job failed"), watch(active, progress):
            yield active
        return
    check(settings.master)
    make = _connect_session if is_connect(settings.master) else _classic_session
    with (
        _quiet(),
        TemporaryDirectory(prefix="metashell-spark-", ignore_cleanup_errors=True) as directory,
        make(settings, Path(directory), progress or _no_progress) as (made, explain),
        failures("the Spark job failed", explain=explain),
        watch(made, progress),
    ):
        yield made


class Engine:
    """A session that is made when it is first used.

    Args:
        settings: Where Spark runs.
        progress: How far its jobs have come; None for nobody to tell.
        announce: Called before the session is made.
    """

    def __init__(
        self, settings: SparkSettings, progress: JobProgress | None, announce: Callable[[], None]
    ) -> None:
        self._settings, self._progress, self._announce = settings, progress, announce
        self._stack = ExitStack()
        self._session: SparkSession | None = None
        self.failure: SourceError | None = None
        """Why it last ended."""

    @property
    def session(self) -> SparkSession:
        """The session."""
        if self._session is None:
            self._announce()
            made = session(self._settings, progress=self._progress)
            self._session = self._stack.enter_context(made)
        return self._session

    def quiet(self) -> None:
        """Erase what was drawn of the progress."""
        if self._progress is not None:
            self._progress.close()

    def close(self) -> None:
        """End the session, whatever it does."""
        self._session = None
        try:
            self._stack.close()
        finally:
            self.quiet()

    def run(self, job: Callable[[SparkSession], Any]) -> Any:
        """Run something that ends with the session: a failure or ^C ends it as well.

        Raises:
            SourceError: Spark failed.
        """
        try:
            return job(self.session)
        except BaseException:
            self._session = self.failure = None
            try:
                with self._stack:
                    raise
            except SourceError as error:
                self.failure = error
                raise
            finally:
                self.quiet()


def active_session() -> SparkSession | None:
    """The session that this process has, None where it has none."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    with suppress(Exception):
        found: SparkSession | None = SparkSession.getActiveSession()
        return found
    return None


def classic_conf(settings: SparkSettings, directory: Path) -> dict[str, str]:
    """Every setting of a classic session."""
    master = settings.master
    cores = cores_of(master, core_count())
    conf = {
        "spark.app.name": "metashell",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Pieces are compressed already (`metashell.spark_backend.tasks`).
        "spark.shuffle.compress": "false",
        **_SQL_CONF,
    }
    if is_local(master):
        memory = min(max(free_memory_bytes() // 2, _DRIVER_MEMORY_MIN), _DRIVER_MEMORY_MAX)
        conf |= {
            "spark.driver.bindAddress": "127.0.0.1",
            # Java only hands on what Python decodes: it ends before optimised code pays.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": "127.0.0.1",
            # The size of an answer is bounded by the memory there is.
            "spark.driver.maxResultSize": "0",
            "spark.driver.memory": f"{memory // _MEBIBYTE}m",
            "spark.local.dir": str(directory / "local"),
            "spark.sql.shuffle.partitions": str(2 * cores),
            "spark.sql.warehouse.dir": str(directory / "warehouse"),
            # Else the `python3` of the PATH, which may lack all that is needed.
            _PYTHON_KEY: sys.executable,
        }
    return {**conf, **settings.conf, "spark.master": master}


@contextmanager
def _classic_session(
    settings: SparkSettings, directory: Path, progress: Progress
) -> Iterator[tuple[SparkSession, Callable[[], str | None]]]:
    """A session with a Java process of its own."""
    conf = classic_conf(settings, directory)
    with ExitStack() as stack:
        stack.enter_context(_environment(_classic_environment(settings, conf)))
        stack.enter_context(_sys_path_kept())
        from pyspark.find_spark_home import _find_spark_home

        process = JavaProcess(
            directory, _find_spark_home(), conf, os.environ, lambda: progress(0, 0)
        )
        stack.callback(process.end)
        with failures("Spark could not be started"):
            gateway = _gateway(process)
            stack.callback(_forget_gateway, gateway)
            check_reachable(gateway, addresses_of(settings.master), shown_master(settings.master))
        made = _start(settings, conf, gateway, process)
        stack.push(lambda kind, *_: _end_classic(made, kind is not None))
        if not is_local(settings.master):
            made.sparkContext.addPyFile(str(package_zip(directory)))
        executors = stack.enter_context(watched_executors(made, process))

        def explain() -> str | None:
            if not process.is_running:
                return f"Spark's Java process ended: {process.complaint()}"
            return executors()

        yield made, explain


def _start(
    settings: SparkSettings, conf: Mapping[str, str], gateway: Any, process: JavaProcess
) -> SparkSession:
    """The session in a Java process that runs."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    before = signal.getsignal(signal.SIGINT)
    try:
        pairs = SparkConf(loadDefaults=False).setAll(list(conf.items()))
        with failures("Spark could not be started"):
            SparkContext(conf=pairs, gateway=gateway)
            made: SparkSession = SparkSession.builder.getOrCreate()
    except SourceError as error:
        if process.is_running:
            raise
        raise SourceError(f"Spark could not be started: {process.complaint()}") from error
    finally:
        # Its handler talks to Java in the middle of whatever is being said to Java.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
    return made


def _end_classic(made: SparkSession, failed: bool) -> None:
    """Stop a session, jobs first where a block was left in the middle of one."""
    context = made.sparkContext
    accumulators = getattr(context, "_accumulatorServer", None)
    if failed:
        in_time(context.cancelAllJobs, _CANCEL_LIMIT_S)
    in_time(made.stop, _STOP_LIMIT_S)
    if accumulators is not None:
        accumulators.server_close()


def _gateway(process: JavaProcess) -> Any:
    """PySpark's gateway to a Java process."""
    from pyspark import java_gateway

    launch: Any = java_gateway.launch_gateway
    port, secret = str(process.port), process.secret
    with _environment({"PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}):
        return launch()


def _forget_gateway(gateway: Any) -> None:
    """Let the next session start anew: PySpark keeps the gateway for the life of the process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    in_time(gateway.shutdown, _CANCEL_LIMIT_S)
    SparkContext._gateway = SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


@contextmanager
def _connect_session(
    settings: SparkSettings, directory: Path, progress: Progress
) -> Iterator[tuple[SparkSession, Callable[[], str | None]]]:
    """A session of a Spark Connect server."""
    shown = shown_master(settings.master)
    environment: dict[str, str | None] = dict.fromkeys(_FOREIGN)
    # gRPC writes to standard error by itself.
    environment |= {"GRPC_VERBOSITY": "NONE", "SPARK_CONNECT_MODE_ENABLED": "1"}
    with _environment(environment):
        _await_server(settings.master, shown, progress)
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client.retries import DefaultPolicy

        with failures(f"the Spark Connect server {shown} can't be used"):
            builder = SparkSession.builder.config(map={**_SQL_CONF, **settings.conf})
            made: Any = builder.remote(settings.master).create()
        failed = True
        try:
            made.client.set_retry_policies([DefaultPolicy(max_retries=_CONNECT_RETRIES)])
            with failures(f"the Spark Connect server {shown} can't be used"):
                made.addArtifacts(str(package_zip(directory)), pyfile=True)
            yield made, lambda: None
            failed = False
        finally:
            if failed:
                in_time(made.interruptAll, _CANCEL_LIMIT_S)
            in_time(made.stop, _STOP_LIMIT_S)


def _await_server(master: str, shown: str, progress: Progress) -> None:
    """Wait until a server answers; PySpark itself would try for ten minutes.

    Raises:
        SourceError: It does not, or the address can't be meant.
    """
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder

    progress(0, 0)
    try:
        channel = DefaultChannelBuilder(master).toChannel()
    except (PySparkException, ValueError) as error:
        raise SourceError(
            f"`--master {shown}` is not the address of a Spark Connect server",
            hint="sc://HOST:PORT, with 15002 as the usual port",
        ) from error
    try:
        grpc.channel_ready_future(channel).result(timeout=_CONNECT_LIMIT_S)
    except grpc.FutureTimeoutError as error:
        raise SourceError(
            f"the Spark Connect server {shown} can't be reached: "
            f"no answer within {_CONNECT_LIMIT_S:.0f} s",
            hint="check `--master`, and that it is up",
        ) from error
    except Exception as error:
        raise failure(f"the Spark Connect server {shown} can't be reached", error) from error
    finally:
        channel.close()


def addresses_of(master: str) -> list[tuple[str, int]]:
    """Where the master of a classic session listens; empty where that is not known."""
    match = re.fullmatch(r"(?:spark|k8s)://(?:https?://)?([^/]+)/?", master)
    if match is None:
        return []
    found = []
    for place in match[1].split(","):
        host, _, port = place.rpartition("@")[2].rpartition(":")
        if host and port.isascii() and port.isdigit() and int(port) < 1 << 16:
            found.append((host.strip("[]"), int(port)))
    return found


def _classic_environment(settings: SparkSettings, conf: Mapping[str, str]) -> dict[str, str | None]:
    """Variables for the length of a classic session; None for one that must not be set."""
    environment: dict[str, str | None] = dict.fromkeys(_FOREIGN)
    if _PYTHON_KEY in conf:
        environment["PYSPARK_PYTHON"] = conf[_PYTHON_KEY]
        environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if is_local(settings.master):
        environment["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
        if _has_own_spark():
            # Another Spark than PySpark's own is another version, or will be.
            environment["SPARK_HOME"] = None
    return environment


def _has_own_spark() -> bool:
    """Whether PySpark was installed with Spark."""
    from importlib.util import find_spec

    spec = find_spec("pyspark")
    return spec is not None and any(
        Path(place, "jars").is_dir() for place in spec.submodule_search_locations or ()
    )


@contextmanager
def _environment(wanted: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables, None to remove one, for the length of a block; what Spark sets in it is undone
    too.
    """
    before: dict[str, str | None] = {name: os.environ.get(name) for name in wanted}
    before |= {name: value for name, value in os.environ.items() if "SPARK" in name}
    _set_environment(wanted)
    try:
        yield
    finally:
        added = {name for name in os.environ if "SPARK" in name} - before.keys()
        _set_environment({**before, **dict.fromkeys(added)})


def _set_environment(wanted: Mapping[str, str | None]) -> None:
    for name, value in wanted.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _sys_path_kept() -> Iterator[None]:
    """Undo what PySpark puts on the path: a directory that goes with the session."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = [entry for entry in sys.path if entry in before]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what PySpark has to say to this process from standard error."""
    from pyspark.logger import PySparkLogger

    loggers: list[logging.Logger] = [logging.getLogger(name) for name in ("py4j", "pyspark")]
    # These take arguments that the standard ones refuse, so it has to be PySpark who makes them.
    loggers += map(
        PySparkLogger.getLogger, ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
    )
    levels = [logger.level for logger in loggers]
    # Where the root has no handler, what py4j logs there brings one for standard error.
    silence = None if logging.root.handlers else logging.NullHandler()
    if silence is not None:
        logging.root.addHandler(silence)
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"py4j|pyspark")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if silence is not None:
            logging.root.removeHandler(silence)


def _no_progress(_done: int, _total: int) -> None:
    """Nobody looks."""
