"""``export``: tables and trees come back as they are, whole or not at all."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import stat
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import metashell
from metashell.commands import get
from metashell.commands.export.tree import json_pieces, yaml_pieces
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.errors import ExitCode
from metashell.fs.escape import to_bytes
from metashell.fs.node import Directory, FixedDirectory, TextLeaf
from metashell.sources.source import Source
from support.fixtures import copy_of, fixture
from support.shell import Captured, Ran, from_yaml, run, run_on
from support.strategies import CHARACTERS

FIXTURES: Final = ("real-44-admin", "all-records-dir")
RECORDS: Final = ("PartitionChangeRecord", "ConfigRecord", "records", "files", "faults")


def opened(name: str = "real-44-admin", *, show_secrets: bool = False) -> Source:
    """A fixture's source."""
    return metashell.open(fixture(name).input, show_secrets=show_secrets)


def read(path: Path) -> pa.Table:
    """A Parquet or Arrow file."""
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


# Tables.


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("name", FIXTURES)
def test_tables_come_back_as_they_are(name: str, form: str, tmp_path: Path) -> None:
    """Every one, with its types; a file each in a directory that is made."""
    source = opened(name)
    ran = run_on(source, f"export --all --format {form} --to {tmp_path}/out")
    assert Ran(0, "", ()) == ran
    assert {f"{table}.{form}" for table in source.tables} == set(os.listdir(tmp_path / "out"))
    for table in source.tables:
        again = read(tmp_path / "out" / f"{table}.{form}")
        assert source.table(table).schema == again.schema
        # Texts, for NaN is never equal.
        assert str(source.table(table).to_pylist()) == str(again.to_pylist()), table


def test_record_types_are_tables_too(tmp_path: Path) -> None:
    """With as many rows as there are such records; names in any case."""
    source = opened()
    assert 0 == run_on(source, f"export {' '.join(RECORDS)} --to {tmp_path}").status
    changes = read(tmp_path / "PartitionChangeRecord.parquet")
    assert len(source.records("PartitionChangeRecord")) <= len(changes)
    assert set(read(tmp_path / "files.parquet")["file"].to_pylist()) >= {
        file.name for file in source.log.loaded.files
    }
    out = run_on(source, "export PARTITIONCHANGERECORD --format jsonl").out
    assert len(changes) == len(out.splitlines())


@pytest.mark.parametrize("table", ["topics", "partitions", "brokers", "client_quotas", "acls"])
@pytest.mark.parametrize("name", FIXTURES)
def test_json_lines_are_what_arrow_says(name: str, table: str) -> None:
    """Nested values are nested, times ISO texts, null is null."""
    source = opened(name)
    # Texts may hold what Python takes for the end of a line.
    lines = run_on(source, f"export {table}").out.split("\n")[:-1]
    assert plain(source.table(table).to_pylist()) == [json.loads(line) for line in lines]


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    from datetime import datetime

    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@pytest.mark.parametrize("name", FIXTURES)
def test_csv_has_nested_values_as_json(name: str) -> None:
    """And the columns' names first."""
    source = opened(name)
    text = run_on(source, "export brokers --format csv").out
    header, *lines = csv.reader(io.StringIO(text))
    table = source.table("brokers")
    assert table.column_names == header
    at = header.index("end_points")
    assert table["end_points"].to_pylist() == [json.loads(line[at]) for line in lines]


def test_an_empty_table_has_its_columns() -> None:
    """In CSV, where nothing else tells them."""
    source = opened()
    assert "file,pos,offset,epoch,timestamp,reason\n" == (
        run_on(source, "export AbortTransactionRecord --format csv").out
    )
    assert "" == run_on(source, "export AbortTransactionRecord").out


def test_columns_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pieces a table is written in."""
    monkeypatch.setattr("metashell.commands.export.tables._CHUNK_ROWS", 7)
    source = opened()
    header, *lines = run_on(source, "export partitions --format csv").out.splitlines()
    assert len(source.table("partitions")) == len(lines)
    assert header not in lines


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_binary_formats_go_through_a_pipe(form: str, tmp_path: Path) -> None:
    """Bytes come out as they went in."""
    source = opened()
    path = tmp_path / f"piped.{form}"
    path.write_bytes(to_bytes(run_on(source, f"export topics --format {form} --to -").out))
    assert source.table("topics").equals(read(path))


def test_binary_formats_spare_terminals() -> None:
    """The text formats do not."""
    source, out = opened(), Captured(is_terminal=True)
    context = Context(root=source.root, out=out, warn=lambda _: None, source=source)
    assert ExitCode.USAGE == run_line(context, "export topics --format parquet")
    assert [] == out.parts
    assert 0 == run_line(context, "export topics --format csv")
    assert out.parts


# Trees.


def tree(node: Directory) -> dict[str, Any]:
    """A directory as an object, made the plain way."""
    found: dict[str, Any] = {}
    for name in node.names():
        child = node.child(name)
        assert child is not None
        found[name] = tree(child) if isinstance(child, Directory) else plain(child.value())
    return found


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("name", FIXTURES)
def test_the_image_is_one_document(name: str, form: str) -> None:
    """Directories as objects in their order, leaves as their values."""
    source = opened(name)
    ran = run_on(source, f"export --format {form}")
    assert Ran(0, ran.out, ()) == ran
    node = source.root.child("image")
    assert isinstance(node, Directory)
    wanted = json.loads(json.dumps(tree(node)))
    load = json.loads if form == "json" else from_yaml
    assert wanted == load(ran.out)
    assert json.dumps(wanted) == json.dumps(load(ran.out))


names = st.text(CHARACTERS, max_size=5) | st.sampled_from(
    ["x" * 200, "a\nb", "null", "1", "? x", "- y", "..."]
)
leaves = st.text(CHARACTERS, max_size=8) | st.sampled_from(
    ["a\n\nb ", "null", "\u2028\x85", "x" * 200, "1"]
)
trees = st.recursive(leaves, lambda below: st.dictionaries(names, below, max_size=4), max_leaves=12)


def node_of(value: Any) -> Any:
    """A tree of nodes."""
    if not isinstance(value, dict):
        return TextLeaf(lambda: value)
    return FixedDirectory({name: partial(node_of, value[name]) for name in sorted(value)})


@given(trees)
def test_any_tree_comes_back(drawn: Any) -> None:
    """Whatever names and texts hold, however long, empty directories too."""
    node = node_of(drawn)
    assert drawn == json.loads("".join(json_pieces(node)))
    if all(text.isprintable() or "\n" in text for text in texts_of(drawn)):
        assert drawn == yaml.safe_load("".join(yaml_pieces(node)))


def texts_of(value: Any) -> list[str]:
    """All names and texts of a tree."""
    if not isinstance(value, dict):
        return [value]
    return [text for key, below in value.items() for text in (key, *texts_of(below))]


def test_a_leaf_is_a_document(tmp_path: Path) -> None:
    """The format is that of the file's name."""
    source = opened()
    path = "/image/topics/byName/orders/0"
    assert 0 == run_on(source, f"export {path} --to {tmp_path}/leaf.json").status
    assert 0 == run_on(source, f"export {path} --to {tmp_path}/leaf.yml").status
    value = source.value(path)
    assert value == json.loads((tmp_path / "leaf.json").read_text())
    assert value == yaml.safe_load((tmp_path / "leaf.yml").read_text())


def test_earlier_states() -> None:
    """What `at` shows is what is written."""
    source = opened("real-44-live").at(300)
    topics = json.loads(run_on(source, "export /image/topics/byName").out)
    assert set(source.table("topics")["topic"].to_pylist()) == set(topics)
    assert len(source.table("partitions")) == len(
        run_on(source, "export partitions").out.splitlines()
    )


# Secrets.


@pytest.mark.parametrize("line", ["export configs", "export /image/configs", "export ConfigRecord"])
def test_secrets_are_redacted(line: str) -> None:
    """Unless they may be shown."""
    hidden = run_on(opened("all-records-dir"), line).out
    shown = run_on(opened("all-records-dir", show_secrets=True), line).out
    assert "[redacted]" in hidden
    assert "[redacted]" not in shown


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
@pytest.mark.parametrize("name", FIXTURES)
def test_no_secret_in_any_table(name: str, form: str, tmp_path: Path) -> None:
    """Salts and keys of SCRAM users, and secret configs."""
    from metashell.redact import is_secret_config

    shown = opened(name, show_secrets=True)
    secrets = [
        row[part]
        for row in shown.table("scram_credentials").to_pylist()
        for part in ("salt", "stored_key", "server_key")
        if len(row[part]) > 3
    ]
    names_of_users = shown.table("scram_credentials")["user"].to_pylist()
    secrets += [
        row["value"].encode()
        for row in shown.table("configs").to_pylist()
        if is_secret_config(row["resource_type"], row["key"])
        and len(row["value"]) > 5
        and row["value"] not in names_of_users
    ]
    assert 0 == run_on(opened(name), f"export --all --format {form} --to {tmp_path}/out").status
    for path in (tmp_path / "out").iterdir():
        data = path.read_bytes() if form in ("csv", "jsonl") else str(read(path)).encode()
        assert [] == [secret for secret in secrets if secret in data], path.name
    assert secrets


def test_files_with_secrets_are_private(tmp_path: Path) -> None:
    """Others are as the umask has it."""
    before = os.umask(0o022)
    try:
        run_on(opened(show_secrets=True), f"export configs --to {tmp_path}/private.csv")
        run_on(opened(show_secrets=True), f"export configs --to {tmp_path}/dir/ --format csv")
        run_on(opened(), f"export configs --to {tmp_path}/shared.csv")
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*")}
    assert {"private.csv": 0o600, "dir": 0o700, "configs.csv": 0o600, "shared.csv": 0o644} == modes


# Places.


@pytest.mark.parametrize("there", ["file", "link", "directory", "device"])
def test_nothing_is_written_over(there: str, tmp_path: Path) -> None:
    """A file is with --force; what is no file never is."""
    target = tmp_path / "out.csv"
    (tmp_path / "kept").write_text("kept")
    if there == "file":
        target.write_text("kept")
    elif there == "link":
        target.symlink_to(tmp_path / "kept")
    elif there == "directory":
        target.mkdir()
    else:
        os.mkfifo(target)
    line = f"export topics --format csv --to {target}"
    ran = run_on(opened(), line)
    if there == "directory":
        assert ["topics.csv"] == os.listdir(target)
        return
    assert ExitCode.FAILED == ran.status
    assert f"export: {target}: exists" in ran.err[0]
    assert "kept" == (tmp_path / "kept").read_text()
    again = run_on(opened(), f"{line} --force")
    assert (ExitCode.FAILED if there == "device" else ExitCode.OK) == again.status
    if there != "device":
        assert target.read_text().startswith("topic_id,topic")
    assert there != "link" or (tmp_path / "kept").read_text().startswith("topic_id,topic")


@pytest.mark.parametrize(
    "below", ["x.csv", "__cluster_metadata-0/x.csv", "a/../x.csv", "__cluster_metadata-0"]
)
@pytest.mark.parametrize("what", ["topics --format csv", "/image --format json", "--as kafka-cli"])
def test_kafkas_directories_are_left_alone(what: str, below: str, tmp_path: Path) -> None:
    """Nothing is written there, not even with --force."""
    log_dir = copy_of("real-44-admin", tmp_path)
    (log_dir / "a").mkdir()
    before = sorted(log_dir.rglob("*"))
    ran = run_on(metashell.open(log_dir), f"export {what} --force --to {log_dir}/{below}")
    assert ExitCode.FAILED == ran.status
    assert "a Kafka directory" in ran.err[0]
    assert before == sorted(log_dir.rglob("*"))


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl", "json", "yaml"])
def test_a_full_disk_leaves_nothing(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the file."""

    def fsync(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("metashell.commands.export.destination.os.fsync", fsync)
    what = "/image/cluster" if form in ("json", "yaml") else "topics acls"
    target = "out.json" if form in ("json", "yaml") else "out"
    ran = run_on(opened(), f"export {what} --format {form} --to {tmp_path}/{target}")
    assert ExitCode.FAILED == ran.status
    assert "No space left on device" in ran.err[0]
    assert [] == os.listdir(tmp_path)


def test_an_interrupted_export_leaves_nothing(tmp_path: Path) -> None:
    """^C in the middle."""
    source = opened()
    n_left = 3

    def cancelled() -> bool:
        nonlocal n_left
        n_left -= 1
        return n_left < 0

    context = Context(
        root=source.root, out=Captured(), warn=print, source=source, cancelled=cancelled
    )
    with pytest.raises(KeyboardInterrupt):
        run_line(context, f"export --all --to {tmp_path}/out/")
    assert {"acls.parquet", "brokers.parquet", "client_quotas.parquet"} >= {
        path.name for path in tmp_path.glob("out/*")
    }
    assert not list(tmp_path.glob("out/.*"))


def test_a_closed_pipe_passes_through() -> None:
    """What it means is the front end's business, in every format."""

    class Closed(Captured):
        def write(self, text: str) -> None:
            raise BrokenPipeError

    source = opened()
    for form in ("parquet", "arrow", "csv", "jsonl"):
        context = Context(root=source.root, out=Closed(), warn=print, source=source)
        with pytest.raises(BrokenPipeError):
            run_line(context, f"export topics --format {form}")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file."""
    real = os.open

    def refused(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if "unfinished" in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, flags, mode, **more)

    monkeypatch.setattr("metashell.commands.export.destination.os.open", refused)
    ran = run_on(opened(), f"export topics --to {tmp_path}/out.csv")
    assert (ExitCode.FAILED, f"export: {tmp_path}/out.csv: Permission denied") == (
        ran.status,
        ran.err[0],
    )


# Words.


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("topcis", "no such table"),
        ("topics acls", "several tables need a directory"),
        ("topics --format xml", "not one of parquet"),
        ("topics --to out", "which format?"),
        ("topics --format json", "topics is a table; json is for paths"),
        ("--all topics", "--all takes no names"),
        ("--all --format json", "--all is about tables"),
        ("--format csv", "which table?"),
        ("/image /log --format json", "too many arguments"),
    ],
)
def test_what_makes_no_sense_is_refused(line: str, message: str, tmp_path: Path) -> None:
    """As wrong usage, and nothing is written."""
    ran = run_on(opened(), f"export {line}")
    assert (ExitCode.USAGE, "") == (ran.status, ran.out)
    assert message in ran.err[0]


def test_a_missing_path_is_told() -> None:
    """As every command does."""
    ran = run_on(opened(), "export /image/nothing --format json")
    assert ExitCode.FAILED == ran.status
    assert "/image/nothing" in ran.err[0]


@pytest.mark.parametrize(
    ("args", "word", "some"),
    [
        ([], "part", "partitions"),
        ([], "Partition", "PartitionChangeRecord"),
        ([], "/im", "/image/"),
        (["--format"], "pa", "parquet"),
        (["--as"], "", "strimzi"),
        (["--topics"], "ord", "orders"),
        ([], "--with", "--with-assignment"),
    ],
)
def test_completion(args: list[str], word: str, some: str) -> None:
    """Tables, paths, formats, topics, options."""
    source = opened()
    command = get("export")
    assert command is not None
    context = Context(root=source.root, out=Captured(), warn=print, source=source)
    found = command.complete(context, args, word)
    assert some in {one.text for one in found} | {one.display for one in found} | {
        word[: len(word) + one.start] + one.text for one in found
    }


def test_without_a_source() -> None:
    """There is nothing to write."""
    ran = run(FixedDirectory({}), "export --all --to x")
    assert ExitCode.USAGE == ran.status
