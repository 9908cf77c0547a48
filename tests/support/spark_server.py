"""A Spark Connect server on loopback, a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.programs import end
from support.waiting import wait_until

_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
logger.connect.name = org.apache.spark.sql.connect.service
logger.connect.level = info
"""
_STARTED = re.compile(r"Spark Connect server started at: .*?:(\d+)\s*$", re.MULTILINE)
_CONF = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@contextmanager
def connect_server(directory: Path, *, master: str = "local[2]") -> Iterator[str]:
    """Run a server for the length of a block; yields its ``sc://`` address.

    Its workers have this Python, but nothing of the tests' path: what they need has to be sent.
    """
    import pyspark

    directory.mkdir(parents=True, exist_ok=True)
    logging = directory / "log4j2.properties"
    logging.write_text(_LOGGING, encoding="ascii")
    log = directory / "server.log"
    conf = {
        **_CONF,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging.as_uri()}",
        "spark.local.dir": str(directory / "local"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", master),
        *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
        "spark-internal",
    ]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("SPARK_HOME", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYTHONPATH")
    }
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
    try:
        wait_until(
            lambda: _port(log) is not None or process.poll() is not None,
            lambda: f"the server starts\n{log.read_text()}",
        )
        port = _port(log)
        assert port is not None, log.read_text()
        yield f"sc://127.0.0.1:{port}"
    finally:
        end(process)


def _port(log: Path) -> int | None:
    found = _STARTED.search(log.read_text(errors="replace"))
    return None if found is None else int(found[1])
