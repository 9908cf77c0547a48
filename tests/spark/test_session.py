"""Sessions: quiet, on every kind of master, ended by whatever ends the block."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metashell.errors import SourceError
from metashell.spark_backend.session import SparkSettings, session
from spark.conftest import missing
from support.programs import end
from support.spark_programs import Marked
from support.waiting import LIMIT_S, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

BEGIN = """
import os, signal, sys
from pathlib import Path
from metashell.errors import SourceError
from metashell.spark_backend import session as module
from metashell.spark_backend.session import SparkSettings, session
from support.spark_programs import MARK, Marked
"""

SESSIONS = (
    BEGIN
    + """
mark = sys.argv[1]
def endless(batches):
    import threading
    from pathlib import Path
    Path(mark).touch()
    threading.Event().wait()
    yield from batches

def noisy(batches):
    print("chatter")
    print("chatter", file=sys.stderr)
    yield from batches

def surroundings():
    return dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT)

before = surroundings()
def use(interrupted):
    seen = []
    settings = SparkSettings(master="local[1]", conf={"spark.x.y": "z"})
    with session(settings, progress=lambda done, total: seen.append((done, total))) as spark:
        assert "z" == spark.conf.get("spark.x.y")
        table = spark.range(0, 100, 1, 4).mapInArrow(noisy, "id long").toArrow()
        assert 100 == table.num_rows
        spark.range(0, 100, 1, 4).mapInArrow(noisy, "id long").count()
        assert signal.getsignal(signal.SIGINT) is before[2]
        assert (0, 0) == seen[0], seen
        assert all(done <= total for done, total in seen), seen
        assert any(total >= 4 for _, total in seen), seen
        if interrupted:
            spark.range(10).mapInArrow(endless, "id long").count()

use(False)
assert before == surroundings()
assert [os.getpid()] == list(Marked(os.environ[MARK], Path(".")).running())
assert not list(Path(".").glob("metashell-spark-*"))
try:
    use(True)
except KeyboardInterrupt:
    assert before == surroundings()
    sys.exit(130)
"""
)

UNREACHABLE = (
    BEGIN
    + """
module._CONNECT_LIMIT_S = 1.0
try:
    with session(SparkSettings(master=sys.argv[1])):
        pass
except SourceError as error:
    print("\\n".join(error.lines("")))
"""
)

THROUGH_CONNECT = (
    BEGIN
    + """
def where(batches):
    import metashell
    import pyarrow
    import metashell.schema.model as registry
    n = len(registry.builtin_specs())
    for _ in batches:
        yield pyarrow.RecordBatch.from_pydict({"place": [metashell.__file__], "n": [n]})

seen = []
before = dict(os.environ)
settings = SparkSettings(master=sys.argv[1], conf={"spark.sql.shuffle.partitions": "3"})
with session(settings, progress=lambda done, total: seen.append((done, total))) as spark:
    assert "3" == spark.conf.get("spark.sql.shuffle.partitions")
    assert "true" == spark.conf.get("spark.sql.python.filterPushdown.enabled")
    table = spark.range(1).mapInArrow(where, "place string, n long").toArrow()
    [row] = table.to_pylist()
    assert ".zip" in row["place"], row
    assert row["n"] > 20, row
    try:
        with session(settings) as same:
            assert same is spark
            spark.sql("select no_such_column").collect()
    except SourceError as error:
        assert "no_such_column" in error.message, error
        assert "\\n" not in error.message
    else:
        raise AssertionError("it has to fail")
# A server that is quick tells of no task.
assert (0, 0) == seen[0] and seen[-1][0] == seen[-1][1], seen
after = dict(os.environ)
assert before == after, set(after.items()) ^ set(before.items())
"""
)


def left_behind(cwd: Path) -> list[str]:
    """Temporary files of sessions."""
    return [path.name for path in cwd.glob("metashell-spark-*")]


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    """Where programs run."""
    return Marked(uuid.uuid4().hex, tmp_path)


@pytest.mark.slow
def test_sessions_are_quiet_and_leave_nothing(marked: Marked) -> None:
    """Two in one process, with workers that print; the process is as it was before each.

    The first ends by itself. ^C of a terminal, which goes to the whole group of processes, ends the
    second in the middle of a job.
    """
    mark = marked.cwd / "mark"
    process = marked.start(["-W", "error", "-c", SESSIONS, str(mark)])
    try:
        wait_until(lambda: mark.exists() or process.poll() is not None, "the job runs")
        assert process.poll() is None, process.communicate()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_S)
    finally:
        end(process)
    assert (130, "", "") == (process.returncode, out, err)
    wait_until(lambda: not marked.running(), lambda: f"all have ended: {marked.running()}")
    assert [] == left_behind(marked.cwd)


@pytest.mark.parametrize(
    ("master", "message", "hint"),
    [
        pytest.param(
            "spark://127.0.0.1:9",
            "the Spark master spark://127.0.0.1:9 can't be reached",
            "check",
            marks=pytest.mark.slow,  # starts Java
        ),
        (
            "sc://127.0.0.1:9/;token=tok3n;use_ssl=false",
            "the Spark Connect server sc://127.0.0.1:9 can't be reached",
            "check `--master`",
        ),
        (
            "sc://127.0.0.1:x",
            "`--master sc://127.0.0.1:x` is not the address of a Spark",
            "sc://HOST",
        ),
    ],
)
def test_an_unreachable_master(marked: Marked, master: str, message: str, hint: str) -> None:
    """One sentence, in bounded time, without the token."""
    code, out, err = marked.program(UNREACHABLE, master)
    assert (0, "") == (code, err)
    first, second = out.splitlines()
    assert first.startswith(message)
    assert second.startswith(f"  hint: {hint}")
    assert "tok3n" not in out
    assert ({}, []) == (marked.running(), left_behind(marked.cwd))


@pytest.mark.slow
def test_connect_sends_the_package(marked: Marked, connect_url: str) -> None:
    """Workers of the server import the one that was sent; no Java runs here."""
    assert (0, "", "") == marked.program(THROUGH_CONNECT, connect_url)
    assert ({}, []) == (marked.running(), left_behind(marked.cwd))


def test_a_session_that_is_there_is_used(spark: SparkSession) -> None:
    """And lives on; what Spark raises in the block is one sentence."""
    with session(SparkSettings(master="local[1]")) as same:
        assert same is spark
        assert 3 == same.range(3).count()
    with pytest.raises(SourceError) as caught, session(SparkSettings()) as same:
        same.range(3).selectExpr("no_such_column").collect()
    assert "no_such_column" in caught.value.message
    assert "\n" not in caught.value.message
    assert 3 == spark.range(3).count()
