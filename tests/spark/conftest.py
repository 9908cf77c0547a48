"""One Spark session for all tests that need one, and why there is none where there is none."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metashell.cli import main
from support.waiting import LIMIT_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Metashell = Callable[..., tuple[int, str, str]]

_JAVA_MIN = 17
_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.log.level": "ERROR",
    # A Spark Connect server in the same Java, whose sessions are others; see `connect_url`.
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
}


def missing() -> str | None:
    """What a Spark session lacks on this machine; None where it can be made."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'metashell[spark]'"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return "no Java: neither JAVA_HOME nor a `java` on the PATH"
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{java} does not run: {error}"
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version is None or int(version[1]) < _JAVA_MIN:
        return f"Java {_JAVA_MIN} or newer is needed, {java} is {told.splitlines()[0]}"
    return None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on `local[2]` that all tests share; skips where Spark can't run."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    before = signal.getsignal(signal.SIGINT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        for name in ("SPARK_HOME", "SPARK_REMOTE", "SPARK_CONF_DIR"):
            patch.delenv(name, raising=False)
        local_dir = tmp_path_factory.mktemp("spark")
        builder = SparkSession.builder.master("local[2]").appName("metashell-tests")
        session = builder.config(
            map={
                **_CONF,
                "spark.local.dir": str(local_dir),
                "spark.sql.warehouse.dir": str(local_dir / "warehouse"),
            }
        ).getOrCreate()
        try:
            yield session
        finally:
            context = session.sparkContext
            # It is only shut down, and the open socket would be told as a ResourceWarning.
            accumulators = context._accumulatorServer
            session.stop()
            accumulators.server_close()
            gateway = SparkContext._gateway
            SparkContext._gateway = SparkContext._jvm = None
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(LIMIT_S)
            signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def connect_url(spark: SparkSession) -> str:
    """The Spark Connect server that all tests share.

    What its workers need has to be sent, as to any: the name of a module sent comes first there.
    """
    services = spark.sparkContext._jvm.org.apache.spark.sql.connect.service  # type: ignore[union-attr]
    service = getattr(getattr(services, "SparkConnectService$"), "MODULE$")
    return f"sc://127.0.0.1:{service.localPort()}"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """Where programs run, and where their cache is."""
    directory = tmp_path / "cwd"
    directory.mkdir()
    return directory


@pytest.fixture
def metashell(
    spark: SparkSession,
    cwd: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Metashell:
    """The program in this process, over the session that is here; returns status and outputs.

    A program of its own starts a Java of its own, which costs more than all that it then does.
    """
    monkeypatch.chdir(cwd)
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(cwd / "cache"))

    def run(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        status = main(arguments)
        return status, *capfd.readouterr()

    return run
