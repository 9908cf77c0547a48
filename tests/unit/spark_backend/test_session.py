"""What a session is made of; nothing here starts Spark."""

from __future__ import annotations

import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

import metashell
from metashell.errors import SourceError
from metashell.read_settings import READ_DEFAULTS
from metashell.spark_backend import java, opening, session
from metashell.spark_backend.java import executors_ended, with_logging
from metashell.spark_backend.session import SparkSettings, addresses_of, classic_conf, package_zip
from support.fixtures import DEMO
from support.shell import run_on
from support.waiting import LIMIT_S

PACKAGE = Path(metashell.__file__).parent

FROM_ZIP = """
import sys
sys.path.insert(0, sys.argv[1])
import metashell
assert metashell.__file__.startswith(sys.argv[1]), metashell.__file__
source = metashell.open(sys.argv[2])
print(source.status().offset, source.cluster_id, [warning for warning in source.warnings])
from metashell.quorum.protocol import Api, request_spec
print(request_spec(next(iter(Api))).name)
from metashell.redact import Redaction
print(Redaction())
from metashell.redact import _known_config_keys
print(len(_known_config_keys()) > 100)
"""


def test_local_masters_stay_on_this_machine(tmp_path: Path) -> None:
    """Loopback, this Python, and files in a private directory."""
    conf = classic_conf(SparkSettings(master="local[3]"), tmp_path)
    assert ("127.0.0.1", "local[3]", "6", sys.executable) == (
        conf["spark.driver.bindAddress"],
        conf["spark.master"],
        conf["spark.sql.shuffle.partitions"],
        conf["spark.pyspark.python"],
    )
    assert conf["spark.local.dir"].startswith(str(tmp_path))
    assert ("false", "false") == (conf["spark.ui.enabled"], conf["spark.ui.showConsoleProgress"])
    assert "true" == conf["spark.sql.python.filterPushdown.enabled"]


def test_clusters_have_paths_and_pythons_of_their_own(tmp_path: Path) -> None:
    """Nothing of this machine is forced on them."""
    conf = classic_conf(SparkSettings(master="spark://h:7077"), tmp_path)
    assert "true" == conf["spark.sql.python.filterPushdown.enabled"]
    assert set() == conf.keys() & {
        "spark.driver.bindAddress",
        "spark.driver.host",
        "spark.local.dir",
        "spark.pyspark.python",
    }


def test_the_users_settings_go_before_ours(tmp_path: Path) -> None:
    """But for the master, which has an option of its own."""
    theirs = {"spark.driver.memory": "3g", "spark.ui.enabled": "true", "spark.x": "y"}
    conf = classic_conf(SparkSettings(conf=theirs), tmp_path)
    assert ("3g", "true", "y", "local[*]") == (
        conf["spark.driver.memory"],
        conf["spark.ui.enabled"],
        conf["spark.x"],
        conf["spark.master"],
    )


@pytest.mark.parametrize(("free", "memory"), [(0, "1024m"), (6 << 30, "3072m"), (1 << 40, "8192m")])
def test_memory_is_half_of_what_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, memory: str
) -> None:
    """Within bounds."""
    monkeypatch.setattr(session, "free_memory_bytes", lambda: free)
    assert memory == classic_conf(SparkSettings(), tmp_path)["spark.driver.memory"]


@pytest.mark.parametrize(
    ("master", "addresses"),
    [
        ("spark://a:7077", [("a", 7077)]),
        ("spark://a:7077,b:7078", [("a", 7077), ("b", 7078)]),
        ("spark://[::1]:7077", [("::1", 7077)]),
        ("k8s://https://a:6443", [("a", 6443)]),
        ("k8s://a:6443/", [("a", 6443)]),
        ("spark://a", []),
        ("local[2]", []),
        ("yarn", []),
    ],
)
def test_addresses(master: str, addresses: list[tuple[str, int]]) -> None:
    """Those that can be tried before Spark tries them for minutes."""
    assert addresses == addresses_of(master)


def test_settings_do_not_show_secrets() -> None:
    """Keys are shown, values and tokens are not."""
    settings = SparkSettings(master="sc://h:1/;token=tok3n", conf={"spark.a.password": "s3cret"})
    assert "SparkSettings(master='sc://h:1', conf=['spark.a.password'])" == repr(settings)


LOG = """\
INFO StandaloneAppClient$ClientEndpoint: Executor updated: app-1/0 is now RUNNING
INFO StandaloneAppClient$ClientEndpoint: Executor updated: app-1/0 is now EXITED (Exit code 1)
INFO StandaloneAppClient$ClientEndpoint: Executor updated: app-1/1 is now LOST
"""


def test_log_configuration_of_the_user_goes_before_ours(tmp_path: Path) -> None:
    """Other Java options stand beside ours."""
    key = "spark.driver.extraJavaOptions"
    ours = f"-Dlog4j2.configurationFile=file://{tmp_path}/log4j2.properties"
    for theirs, expected in (
        ("-Dlog4j2.configurationFile=/x", "-Dlog4j2.configurationFile=/x"),
        ("-Xss8m", f"{ours} -Xss8m"),
        ("", ours),
    ):
        assert {"a": "b", key: expected} == with_logging({"a": "b", key: theirs}, tmp_path)


def test_why_executors_ended() -> None:
    """As the master says it of each."""
    assert ["Exit code 1", "no reason given"] == executors_ended(LOG)


@pytest.mark.parametrize(("n_ended", "n_done"), [(10, 0), (9, 0), (10, 1)])
def test_executors_that_end_again_and_again(
    n_ended: int, n_done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any task is done they end the job; one that loses some of them goes on."""
    monkeypatch.setattr(java, "_LOOK_S", 0.001)
    looked, cancelled = threading.Semaphore(0), threading.Event()

    class Process:
        def ended_executors(self) -> list[str]:
            looked.release()
            return ["Exit code 1"] * n_ended

    tracker = SimpleNamespace(
        getActiveJobsIds=lambda: [1],
        getJobInfo=lambda _: SimpleNamespace(stageIds=[2]),
        getStageInfo=lambda _: SimpleNamespace(numCompletedTasks=n_done),
    )
    context = SimpleNamespace(statusTracker=lambda: tracker, cancelAllJobs=cancelled.set)
    made: Any = SimpleNamespace(sparkContext=context)
    process: Any = Process()
    with java.watched_executors(made, process) as why:
        if (n_ended, n_done) == (10, 0):
            assert cancelled.wait(LIMIT_S)
            assert "its executors can't start: Exit code 1" == why()
        else:
            assert all(looked.acquire(timeout=LIMIT_S) for _ in range(3))
            assert (False, None) == (cancelled.is_set(), why())


def test_what_fails_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No node of the directory starts a session of its own, and the status is the source's."""
    starts: list[str] = []

    def fail(*_: object, **__: object) -> None:
        starts.append("session")
        raise SourceError("its executors can't start")

    monkeypatch.setattr(session, "session", fail)
    for line in ("find /image", "find /image -count", "find / -name x -count"):
        engine = session.Engine(SparkSettings(), None, lambda: None)
        source = opening.DelegatedSource(engine, str(DEMO), READ_DEFAULTS, use_cache=False)
        ran = run_on(source, line)
        assert (3, "", ("find: its executors can't start",)) == (ran.status, ran.out, ran.err)
        with pytest.raises(SourceError, match="executors can't start"):
            _ = source.image
        assert ["session"] == starts
        starts.clear()


@pytest.mark.slow
def test_the_package_works_from_a_zip_file(tmp_path: Path) -> None:
    """As executors get it: definitions and key lists are read from inside."""
    archive = package_zip(tmp_path)
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
    assert {"metashell/__init__.py", "metashell/schema/messages/TopicRecord.json"} <= names
    left_out = ("__pycache__", "csrc", "_kernel.")
    assert not [name for name in names if any(part in name for part in left_out)]
    ran = subprocess.run(
        [sys.executable, "-c", FROM_ZIP, str(archive), str(DEMO)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    source = metashell.open(DEMO)
    assert str(source.status().offset) == ran.stdout.split()[0]
    assert ran.stdout.endswith("True\n")
