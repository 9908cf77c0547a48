"""Tables of the image and `nodes`: what the local engine has, for every fixture."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import metashell
from metashell.errors import MetashellError, UsageError
from metashell.fs.node import Directory
from metashell.fs.path import resolve
from metashell.fs.walk import paths
from metashell.image.arrow import table_names
from metashell.redact import REDACTED
from support.fixtures import copy_of, differing_directories, fixture
from support.fleets import node, topics
from support.kraft import as_spark, read, rows

StructType = pytest.importorskip("pyspark.sql.types").StructType

DIRECTORIES = differing_directories()


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_image_tables_equal_the_local_ones(name: str) -> None:
    """In every column and row, nested ones and times included."""
    path = fixture(name).input
    source = metashell.open(path)
    for table in table_names():
        found = read(table, path)
        assert rows(as_spark(source.table(table))) == rows(found), table


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_nodes_are_those_of_a_walk(name: str) -> None:
    """Paths in its order, texts and values of the leaves."""
    path = fixture(name).input
    source = metashell.open(path)
    found = read("nodes", path)
    assert source.find("/") == found["path"].to_pylist()
    for row in found.to_pylist()[:: 1 + len(found) // 300]:
        if "%" in row["path"]:
            continue
        try:
            node = resolve(source.root, row["path"]).node
        except MetashellError:
            continue
        if row["path"].count("/") > 3:
            continue  # A name with a slash in it may lead elsewhere.
        assert row["kind"] == ("directory" if isinstance(node, Directory) else "leaf")
        if isinstance(node, Directory):
            assert (row["text"], row["value"]) == (None, None)
        else:
            assert node.text() == row["text"]
            assert node.value() == json.loads(row["value"]) or node.value() != node.value()


def test_nodes_know_when_they_were_made_and_changed() -> None:
    """As `stat` does, from the oldest state on."""
    path = fixture("real-44-live").input
    found = {row["path"]: row for row in read("nodes", path).to_pylist()}
    topics = metashell.open(path).table("topics").to_pylist()
    for topic in topics:
        row = found[f"/image/topics/byId/{topic['topic_id']}"]
        assert topic["created_offset"] is None or row["created_offset"] == topic["created_offset"]
        assert row["changed_offset"] >= row["created_offset"]
        assert row["created_time"] is not None
    assert found["/local"]["changed_offset"] is None


def test_every_row_names_cluster_node_and_directory() -> None:
    """A copy without meta.properties has neither cluster nor node."""
    path = fixture("real-44-live").input
    source = metashell.open(path)
    row = read("features", path).to_pylist()[0]
    assert (source.cluster_id, source.node_id, str(path)) == (
        row["cluster_id"],
        row["node_id"],
        row["directory"],
    )


def test_state_at_an_offset_and_a_time() -> None:
    """Option `at` is `Source.at`."""
    path = fixture("real-44-live").input
    source = metashell.open(path)
    offset = (source.status().offset or 0) // 2
    earlier = source.at(offset)
    assert rows(as_spark(earlier.table("topics"))) == rows(read("topics", path, at=offset))
    with pytest.raises(MetashellError, match="not covered"):
        read("topics", path, at="2100-01-01")
    assert earlier.find("/") == read("nodes", path, at=offset)["path"].to_pylist()


def test_bad_directories_among_good_ones_are_left_out(tmp_path: Path) -> None:
    """No job fails for them."""
    good = copy_of("real-44-live", tmp_path)
    (tmp_path / "b" / "__cluster_metadata-0").mkdir(parents=True)
    empty = tmp_path / "c"
    empty.mkdir()
    found = read("topics", f"{tmp_path}/*")
    assert len(found) == len(metashell.open(good / "__cluster_metadata-0").table("topics"))


BAD_FILES = {
    "empty": ("meta.properties", b""),
    "garbage": ("meta.properties", b"\xff\x00{" * 99),
    "no-number": ("meta.properties", b"version=1\nnode.id=x\n"),
    "huge": ("meta.properties", b"version=1\n" * 120_000),
    "a-directory": ("meta.properties", None),
    "no-json": ("quorum-state", b"{"),
    "no-utf-8": ("quorum-state", b'{"clusterId": "\xff"}'),
    "no-epochs": ("leader-epoch-checkpoint", b"0\n1\nx\n"),
}
"""A node's own files that can't be used: which, and what is in it."""


@pytest.fixture
def bad_files(tmp_path: Path) -> str:
    """A sound member of a fleet beside those of `BAD_FILES`; the glob that means all."""
    node(tmp_path, "sound", {0: topics(0)}, "sound")
    for name, (file, data) in BAD_FILES.items():
        directory = node(tmp_path, name, {0: topics(0)}, None)
        bad = directory if file == "meta.properties" else directory / "__cluster_metadata-0"
        if data is None:
            (bad / file).mkdir()
        else:
            (bad / file).write_bytes(data)
    return f"{tmp_path}/*"


@pytest.mark.parametrize("table", ["topics", "nodes", "records", "TopicRecord", "files"])
def test_bad_node_files_cost_their_members_ids(bad_files: str, table: str) -> None:
    """Every member has rows, of which those of the sound one name its cluster."""
    found = read(table, bad_files).to_pylist()
    known = {(Path(row["directory"]).parent.name, row["cluster_id"]) for row in found}
    assert {("sound", "sound"), *((name, None) for name in BAD_FILES)} == known


def test_bad_node_files_are_faults(bad_files: str) -> None:
    """Each has a row that names the file, and nothing else is wrong."""
    found = read("faults", bad_files).to_pylist()
    files = {Path(row["directory"]).parent.name: row["file"] for row in found}
    assert {name: file for name, (file, _) in BAD_FILES.items()} == files
    assert ["unreadable"] * len(BAD_FILES) == [row["kind"] for row in found]


def test_bad_node_files_leave_out_what_they_would_tell(bad_files: str) -> None:
    """Of the nodes only those below the directory of the file, as in a walk."""
    for name in BAD_FILES:
        directory = Path(bad_files).parent / name
        walked = paths(metashell.open(directory).root, "/", failed=lambda *_: None)
        assert "".join(walked).split() == read("nodes", directory)["path"].to_pylist()


def test_alone_a_bad_directory_is_an_error(tmp_path: Path) -> None:
    """There would be nothing to show."""
    with pytest.raises(MetashellError, match="no segment or checkpoint"):
        read("topics", tmp_path)
    (tmp_path / "__cluster_metadata-0").mkdir()
    for table in ("records", "TopicRecord", "files", "topics"):
        with pytest.raises(MetashellError, match="no segment or checkpoint"):
            read(table, tmp_path)
    assert ["unreadable"] == read("faults", tmp_path)["kind"].to_pylist()
    with pytest.raises(MetashellError, match="not covered"):
        read("topics", fixture("real-44-live").input, at=10**9)
    with pytest.raises(MetashellError, match="no directory matches"):
        read("topics", tmp_path / "*.nothing")


def test_directories_that_vanish_meanwhile_are_left_out(tmp_path: Path) -> None:
    """Between planning and reading."""
    from support.kraft import plan

    copy_of("real-44-live", tmp_path).rename(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    tasks, read_task, _ = plan("features", tmp_path / "*")
    shutil.rmtree(tmp_path / "b")
    seen = {
        d for task in tasks for batch in read_task(task) for d in batch["directory"].to_pylist()
    }
    assert {str(tmp_path / "a" / "__cluster_metadata-0")} == seen


@pytest.mark.parametrize("table", ["configs", "scram_credentials", "nodes"])
def test_secrets_are_redacted_unless_asked_for(table: str) -> None:
    """As in the local tables."""
    path = fixture("all-records-dir").input
    hidden, shown = read(table, path), read(table, path, showSecrets=True)
    assert REDACTED in repr(hidden.to_pylist())
    assert hidden.num_rows == shown.num_rows
    if table != "nodes":
        wanted = as_spark(metashell.open(path, show_secrets=True).table(table))
        assert rows(wanted) == rows(shown)
        assert REDACTED not in repr(shown.to_pylist())


def test_options_of_a_table_of_the_catalog() -> None:
    """Spark's catalog hands them over twice, among its own properties; reading, not at all."""
    from metashell.spark_backend import KRaftDataSource

    path = fixture("real-44-live").input
    of_catalog = {
        "option.table": "topics",
        "table": "topics",
        "option.committedonly": "true",
        "committedonly": "true",
        "provider": "kraft",
        "owner": "root",
        "comment": "hi",
        "location": f"file:{path}",
    }
    schema = KRaftDataSource(of_catalog).schema()
    reader = KRaftDataSource({}).reader(StructType.fromJson(json.loads(schema.json())))
    found = [batch for task in reader.partitions() for batch in reader.read(task)]
    wanted = read("topics", path, committedOnly="true")
    assert wanted.num_rows
    assert rows(wanted) == rows(pa.Table.from_batches(found))
    with pytest.raises(UsageError, match="nosuch: not an option"):
        KRaftDataSource({**of_catalog, "option.nosuch": "x", "nosuch": "x"}).schema()
    with pytest.raises(UsageError, match="credentials in the URI") as caught:
        KRaftDataSource({**of_catalog, "location": "s3://KEY:hidden@bucket/x"}).schema()
    assert "hidden" not in str(caught.value)


def test_unknown_options_tables_and_values_are_told() -> None:
    """By name, with what there is."""
    path = fixture("real-44-live").input
    with pytest.raises(
        UsageError, match=r"topcs: not a table .*did you mean topics\?.*TopicRecord"
    ):
        read("topcs", path)
    with pytest.raises(
        UsageError, match=r"comittedonly: not an option .*did you mean committedOnly"
    ):
        read("topics", path, comittedOnly=True)
    with pytest.raises(UsageError, match=r"password: not an option .*there are table, at, raw"):
        read("topics", path, password="x")
    with pytest.raises(UsageError, match="strict=1: must be true or false"):
        read("topics", path, strict=1)
    with pytest.raises(UsageError, match="splitBytes=-1: must be a number of bytes"):
        read("records", path, splitBytes=-1)
    with pytest.raises(UsageError, match="at: the table records is not a state"):
        read("records", path, at=1)
    with pytest.raises(UsageError, match="raw: only the table records"):
        read("topics", path, raw=True)
    with pytest.raises(UsageError, match="no directory given"):
        read("topics")
