"""``replicas``: disks of any condition are rows, and what could not be read is told."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from metashell.read_settings import ReadSettings
from metashell.sources.directory import open_place
from metashell.sources.source import Source
from support.fixtures import copy_of, fixture_dir
from support.shell import Ran, run_on

_SEGMENT = f"{0:020d}.log"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The disks of a broker that was down for long, and the metadata of a controller."""
    return copy_of("node-disk-44/story", tmp_path)


def _open(node: Path, *dirs: str) -> Source:
    """The controller's metadata over the broker's disks."""
    log_dirs = tuple(str(node / name) for name in dirs or ("d1", "d2"))
    return open_place(str(node / "controller1"), ReadSettings(log_dirs=log_dirs))


def _rows(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def _by_name(ran: Ran) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in _rows(ran) if row["name"]}


def _failing(path: Path, number: int, call: Callable[..., Any]) -> Callable[..., Any]:
    """A function that fails where it is about a path, or about something below it."""

    def fail(place: Any, *args: Any, **kwargs: Any) -> Any:
        if str(place).startswith(str(path)):
            raise OSError(number, os.strerror(number))
        return call(place, *args, **kwargs)

    return fail


def test_summaries(node: Path) -> None:
    """Directories and bytes of each broker, log directory, topic and state."""
    source = _open(node)
    every = _rows(run_on(source, "replicas -o jsonl"))
    for by in ("broker", "directory", "topic", "state"):
        counts = _rows(run_on(source, f"replicas --summary {by} -o jsonl"))
        assert len({row[by] for row in every}) == len(counts)
        for row in counts:
            of = [one for one in every if one[by] == row[by]]
            here = [one for one in of if one["state"] != "missing"]
            strays = [one for one in of if one["state"] in ("stray", "becomes-stray")]
            assert len(here) == row["directories"]
            assert sum(one["bytes"] for one in here) == row["bytes"]
            assert len(strays) == row["stray"]
            assert sum(one["bytes"] for one in strays) == row["stray_bytes"]
            assert len(of) - len(here) == row["missing"]
    assert (
        "replicas: 13 directories are stray or will be: 2.9 KiB" in run_on(source, "replicas").err
    )


def test_topics(node: Path) -> None:
    """Words choose topics, of missing replicas too; one that names nothing fails."""
    source = _open(node)
    rows = _rows(run_on(source, "replicas keep 'recr*d' -o jsonl"))
    assert {"keep", "recreated"} == {row["topic"] for row in rows}
    assert {"in-place", "becomes-stray", "missing"} == {row["state"] for row in rows}
    ran = run_on(source, "replicas keeep --count")
    assert 1 == ran.status
    assert "replicas: keeep: no such topic on these disks; did you mean keep?" in ran.err


@pytest.mark.parametrize(("age_s", "n"), [(0, 26), (60, 26), (100, 25), (152, 12), (1 << 21, 1)])
def test_unused(node: Path, age_s: int, n: int) -> None:
    """Logs whose last record is older than the last of the metadata log, and those without one."""
    source = _open(node)
    end = datetime.fromtimestamp(source.image.provenance.timestamp_ms / 1000, UTC)
    limit = (end - timedelta(seconds=age_s)).isoformat(timespec="milliseconds")
    expected = [
        row["name"]
        for row in _by_name(run_on(source, "replicas -o jsonl")).values()
        if row["last_time"] is None or row["last_time"].replace("Z", "+00:00") < limit
    ]
    ran = run_on(source, f"replicas --unused {age_s}s -o jsonl")
    assert expected == [row["name"] for row in _rows(ran)]
    assert n == len(expected)


def test_unused_is_a_duration(node: Path) -> None:
    """A word that is none is refused."""
    assert 2 == run_on(_open(node), "replicas --unused soon").status


def test_without_metadata(node: Path) -> None:
    """Names, bytes and offsets are listed; only what has no topic id is sure to become stray."""
    shutil.rmtree(node / "d1" / "__cluster_metadata-0")
    source = open_place(str(node / "d1"), ReadSettings(log_dirs=(str(node / "d2"),)))
    rows = _by_name(run_on(source, "replicas -o jsonl"))
    assert "becomes-stray" == rows.pop("empty-dir-0")["state"]
    assert {"unknown", "stray", "delete"} == {row["state"] for row in rows.values()}
    assert 12 == rows["recreated-0"]["log_end_offset"]
    assert 102 == rows["recreated-0"]["broker"]


def test_without_metadata_or_coordinators(node: Path) -> None:
    """A log directory opens that has neither."""
    source = open_place(str(node / "d2"), ReadSettings())
    assert 11 == len(_rows(run_on(source, "replicas -o jsonl")))


def test_metadata_of_another_cluster(node: Path) -> None:
    """`--against` takes metadata of the same cluster only."""
    own, other = _open(node, "d1"), fixture_dir("voters-static-3") / "voter-1"
    ran = run_on(own, f"replicas --against {node / 'controller1'} --columns topic -o jsonl")
    assert 0 == ran.status
    ran = run_on(own, f"replicas --against {other}")
    assert 2 == ran.status
    assert "it is of cluster " in " ".join(ran.err)


def test_directories_that_are_not_given(node: Path) -> None:
    """A replica of another log directory is not missing."""
    ran = run_on(_open(node, "d1"), "replicas --columns topic,partition,state -o jsonl")
    missing = [row for row in _rows(ran) if row["state"] == "missing"]
    assert {"topic": "keep", "partition": 2, "state": "missing"} in missing
    assert {"topic": "keep", "partition": 5, "state": "missing"} not in missing
    assert (
        "replicas: replicas in log directories that were not given: 4; no other broker has all data"
        " of only-on-b-0" in ran.err
    )


def test_nothing_of_a_log_is_read_for_names(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are opened only where a column needs their end."""

    def refuse(*_: object) -> None:
        raise AssertionError("read")

    source = _open(node)
    _ = source.image.topics
    monkeypatch.setattr("metashell.log.log_tail.opened", refuse)
    assert 0 == run_on(source, "replicas --columns topic,state,bytes").status
    with pytest.raises(AssertionError, match="read"):
        run_on(source, "replicas --columns topic,log_end_offset")


def test_files_of_other_kinds(node: Path) -> None:
    """Pipes and links in place of files end nothing, and what is beside them is read."""
    os.mkfifo(node / "d1" / "pipe-0")
    (node / "d1" / "loop-0").symlink_to("loop-0")
    (node / "d1" / "out-0").symlink_to("/")
    for name, file in (("keep-0", "partition.metadata"), ("keep-4", _SEGMENT)):
        (node / "d1" / name / file).unlink()
        os.mkfifo(node / "d1" / name / file)
    ran = run_on(_open(node), "replicas -o jsonl")
    rows = _by_name(ran)
    assert 1 == ran.status
    assert not {"pipe-0", "loop-0"} & rows.keys()
    assert ("becomes-stray", 0) == (rows["out-0"]["state"], rows["out-0"]["bytes"])
    assert "unreadable" == rows["keep-0"]["state"]
    assert ("in-place", None) == (rows["keep-4"]["state"], rows["keep-4"]["log_end_offset"])
    assert 4 == rows["keep-3"]["log_end_offset"]
    assert 2 == sum("not a regular file" in text for text in ran.err)


def test_a_segment_that_leads_elsewhere(node: Path) -> None:
    """A link counts with its own size, not with that of what it leads to."""
    segment = node / "d1" / "keep-0" / _SEGMENT
    segment.unlink()
    segment.symlink_to(node / "d1" / "future-b-0" / _SEGMENT)
    row = _by_name(run_on(_open(node), "replicas keep -o jsonl"))["keep-0"]
    assert segment.lstat().st_size == row["bytes"]


def test_names_that_are_no_text(node: Path) -> None:
    """Bytes that are no UTF-8 are shown as such, in directories' names and in paths."""
    shutil.copytree(node / "d1" / "keep-0", node / "d1" / os.fsdecode(b"caf\xe9-0"))
    (node / "d2").rename(node / os.fsdecode(b"d\xe9"))
    source = _open(node, "d1", os.fsdecode(b"d\xe9"))
    ran = run_on(source, "replicas -o jsonl")
    rows = _by_name(ran)
    assert 0 == ran.status
    assert "ghost" == rows["caf\\xe9-0"]["state"]
    assert rows["keep-1"]["directory"].endswith("/d\\xe9")
    assert "caf\\xe9" == rows["caf\\xe9-0"]["topic"]


def test_what_vanishes(node: Path) -> None:
    """A directory that is gone since it was listed is a row, and is told of."""
    source = _open(node)
    assert source.log_directories
    shutil.rmtree(node / "d1" / "keep-0")
    (node / "d1" / "keep-4" / _SEGMENT).unlink()
    ran = run_on(source, "replicas -o jsonl")
    rows = _by_name(ran)
    assert 1 == ran.status
    assert ("unreadable", None) == (rows["keep-0"]["state"], rows["keep-0"]["bytes"])
    assert f"replicas: {node}/d1/keep-0: No such file or directory" in ran.err
    assert ("in-place", 0) == (rows["keep-4"]["state"], rows["keep-4"]["segments"])


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
@pytest.mark.parametrize(
    ("what", "state", "ends"),
    [
        ("keep-0", "unreadable", None),
        ("keep-0/partition.metadata", "unreadable", None),
        (f"keep-0/{_SEGMENT}", "in-place", None),
    ],
)
def test_what_fails(
    node: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    what: str,
    state: str,
    ends: int | None,
) -> None:
    """A disk that fails in one place hides nothing of the others."""
    source = _open(node)
    assert source.log_directories
    path = node / "d1" / what
    for name in ("scandir", "open"):
        monkeypatch.setattr(os, name, _failing(path, number, getattr(os, name)))
    ran = run_on(source, "replicas -o jsonl")
    rows = _by_name(ran)
    assert 1 == ran.status
    assert (state, ends) == (rows["keep-0"]["state"], rows["keep-0"]["log_end_offset"])
    assert f"replicas: {path}: {os.strerror(number)}" in ran.err
    assert 4 == rows["keep-4"]["log_end_offset"]
    assert not any(row["state"] == "missing" and row["partition"] == 0 for row in rows.values())


def test_checkpoints_that_are_malformed(node: Path) -> None:
    """Offsets of such a file are missing, and all else is there."""
    (node / "d1" / "replication-offset-checkpoint").write_text("0\n1\nkeep")
    ran = run_on(_open(node), "replicas -o jsonl")
    rows = _by_name(ran)
    assert 1 == ran.status
    assert any("replication-offset-checkpoint" in text for text in ran.err)
    assert (None, 4) == (rows["keep-0"]["high_watermark"], rows["keep-0"]["log_end_offset"])
    assert 4 == rows["keep-1"]["high_watermark"]


def test_a_quorum_or_a_file_has_no_disks(node: Path) -> None:
    """A source without a log directory is refused."""
    copy = node / "copy"
    shutil.copytree(node / "controller1" / "__cluster_metadata-0", copy)
    source = open_place(str(copy), ReadSettings())
    assert 2 == run_on(source, "replicas").status


def test_a_replaced_log(node: Path) -> None:
    """A future in the log directory that the metadata names takes the place of the current log."""
    identities = [node / name / "meta.properties" for name in ("d1", "d2")]
    texts = [identity.read_text() for identity in identities]
    for identity, text in zip(identities, reversed(texts), strict=True):
        identity.write_text(text)
    rows = _by_name(run_on(_open(node), "replicas future-b -o jsonl"))
    assert {"replaced", "future"} == {row["state"] for row in rows.values()}
    assert "replaced" == rows["future-b-0"]["state"]
