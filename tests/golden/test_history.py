"""Time travel and changes over directories of real nodes, against copies cut at the same place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import metashell
from metashell.checks.digest import part_digests
from metashell.errors import MetashellError
from metashell.fs.change_parts import UNKNOWN
from metashell.fs.changes import find_changes
from metashell.fs.node import Directory
from metashell.fs.path import resolve
from metashell.log.directory import read_directory
from metashell.log.framing import build_frames
from metashell.log.names import CheckpointName, SegmentName, parse_name
from metashell.log.time_spec import TimeSpec
from metashell.redact import Redaction
from support.fixtures import copy_of, fixture
from support.shell import run_on

REAL = [
    "real-40-static",
    "real-40-truncated",
    "real-44-admin",
    "real-44-broker-down",
    "real-44-live",
    "real-44-torn",
    "real-44-trimmed",
]
N_CUTS = 5
"""Places at which all texts are compared, the first batch and the last among them."""


def batch_ends(directory: Path, low: int) -> list[tuple[str, int, int]]:
    """Segment, position behind the batch and last offset of each batch from an offset on."""
    ends = []
    for segment in sorted(directory.glob("*.log")):
        log = metashell.open_file(segment).log
        frames, _ = build_frames(log.loaded)
        header = frames.batches.header
        last = header["base_offset"].astype(np.int64) + header["last_delta"]
        stop = frames.batches.pos + 12 + header["length"]
        ends += [
            (segment.name, int(pos), int(offset))
            for pos, offset in zip(stop, last, strict=True)
            if offset >= low
        ]
    return ends


def cut(copy: Path, segment: str, pos: int, offset: int) -> None:
    """Take away from a copy all that is behind a batch."""
    for path in copy.iterdir():
        match parse_name(path.name):
            case SegmentName(name=name) if name > segment:
                path.unlink()
            case SegmentName(name=name) if name == segment:
                path.write_bytes(path.read_bytes()[:pos])
            case CheckpointName(end_offset=end) if end > offset + 1:
                path.unlink()


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", REAL)
def test_at_is_the_tree_of_a_copy_cut_there(name: str, tmp_path: Path) -> None:
    """The state after any batch is what a directory that ends there shows."""
    source = metashell.open(fixture(name).input)
    low, _ = source.history.range()
    for offset, copy in cut_copies(fixture(name).input, low, N_CUTS, tmp_path):
        expected, found = texts(metashell.open(copy)), source.at(offset)
        assert texts(found) == expected, offset
        assert texts(found, found.history_root) == expected, offset


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", REAL)
def test_batch_ends_have_the_digests_of_copies_cut_there(name: str, tmp_path: Path) -> None:
    """As above at many more places, by the digest of the whole image."""
    source = metashell.open(fixture(name).input)
    low, _ = source.history.range()
    for offset, copy in cut_copies(fixture(name).input, low, 25, tmp_path):
        expected = part_digests(metashell.open(copy).image, Redaction(True))
        assert part_digests(source.at(offset).image, Redaction(True)) == expected, offset


def cut_copies(directory: Path, low: int, n: int, parent: Path) -> Iterator[tuple[int, Path]]:
    """Copies of a directory, each cut behind a batch, with the last offset: n all over the log.

    The first batch and the last are among them.
    """
    ends = batch_ends(directory, low)
    for i in sorted({round(i) for i in np.linspace(0, len(ends) - 1, n)}):
        segment, pos, offset = ends[i]
        copy = parent / str(offset)
        shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("*index"))
        cut(copy, segment, pos, offset)
        yield offset, copy
        shutil.rmtree(copy)


def texts(source: metashell.Source, root: Directory | None = None) -> dict[str, str]:
    """Text of every leaf of the image."""
    found: dict[str, str] = {}
    waiting = [("", resolve(root or source.root, "/image").node)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, Directory):
            children = ((name, node.child(name)) for name in node.names())
            waiting += [(f"{path}/{name}", child) for name, child in children if child is not None]
        else:
            found[path] = node.text()
    return found


def test_batch_is_atomic_unless_the_record_is_asked_for() -> None:
    """An offset inside a batch shows the state before it and says so; --record goes up to it."""
    source = metashell.open(fixture("real-44-trimmed").input)
    inside = source.at(3601)
    before = source.at(3600)
    assert inside.status().offset == 3601
    assert before.status().offset == 3599
    assert "lies inside the batch of offsets 3600 to 3601" in before.warnings[-1]
    assert source.at(3600, record=True).status().offset == 3600


@pytest.mark.parametrize("time_spec", ["3261", "4112", "2020-01-01"])
def test_what_is_not_covered_is_refused_with_the_range(time_spec: str) -> None:
    """Outside of what the files hold there is an error that says what they hold."""
    source = metashell.open(fixture("real-44-trimmed").input)
    with pytest.raises(MetashellError, match="3262 to 4111"):
        source.at(time_spec)


def test_time_means_up_to_the_batch_before_the_first_later_one() -> None:
    """A time between two batches is the state after the first of them."""
    source = metashell.open(fixture("real-44-trimmed").input)
    log = read_directory(str(fixture("real-44-trimmed").input))
    frames, _ = build_frames(log.loaded)
    header = frames.batches.header[frames.batches.file > 0]
    header = header[header["base_offset"] >= 3263]
    times = header["max_timestamp"].astype(np.int64)
    last = header["base_offset"].astype(np.int64) + header["last_delta"]
    for at in range(0, len(times) - 1, 17):
        time = int(times[at])
        first_later = int(np.flatnonzero(times > time)[0])
        found = source.at(TimeSpec(timestamp_ms=time)).status().offset
        assert found == last[first_later - 1]


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", REAL)
def test_changes_add_up_to_the_image(name: str) -> None:
    """Whoever applies all changes in order has the values of every node that they touched."""
    source = metashell.open(fixture(name).input, show_secrets=True)
    state: dict[str, dict[str, object]] = {}
    for change in find_changes(source.history_records, Redaction(True), [], [], {}):
        path = "/" + "/".join(change.path)
        if change.verb == "removed":
            state.pop(path, None)
            continue
        fields = {k: new for k, (_, new) in change.fields.items()}
        state.setdefault(path, {}).update(fields)
    leaves = [
        path
        for path in source.find("/image/topics/byName")
        if path.count("/") == 5 and path.rpartition("/")[2].isdigit()
    ]
    assert leaves
    for path in leaves:
        assert state[path] == source.value(path), path
    paths = set(source.find("/image/topics"))
    known = [p for p in state if p.startswith("/image/topics") and "<topic id" not in p]
    assert not [path for path in known if path not in paths]
    for path in source.find("/image/configs"):
        if path.count("/") == 4 and path in state:
            assert state[path][""] == source.cat(path)


def test_unknown_stays_unknown() -> None:
    """Records before the oldest checkpoint change from what nobody knows, never from a guess."""
    source = metashell.open(fixture("real-44-trimmed").input)
    lines = json.loads(run_on(source, "changes --json /image/configs").out)
    first = next(line for line in lines if line["offset"] is not None)
    assert first["offset"] < 3263
    assert first["change"] == "changed"
    assert first["fields"][""][0] == "?"
    assert repr(UNKNOWN) == "?"


@pytest.mark.long
def test_recreated_topic_is_followed_through_its_lives() -> None:
    """A name that was deleted and made again tells of both topics, with their ids."""
    source = metashell.open(fixture("real-44-live").input)
    removed = json.loads(run_on(source, "changes --json /image/topics/byName/*").out)
    lives: dict[str, list[str]] = {}
    for line in removed:
        if line["path"].count("/") == 4 and line["change"] in ("created", "removed"):
            lives.setdefault(line["path"], []).append(line["change"])
    assert ["created", "removed", "created"] in [verbs[:3] for verbs in lives.values()]
    gone = next(path for path, verbs in lives.items() if verbs[-1] == "removed")
    found = run_on(source, f"changes {gone}")
    assert found.status == 0
    assert "removed" in found.out
    assert run_on(source, f"ls {gone}").status == 1


def test_secrets_are_hidden_in_changes() -> None:
    """Credentials show that they changed and nothing of what they are."""
    source = metashell.open(fixture("real-44-live").input)
    found = run_on(source, "changes /image/scram")
    assert "[redacted]" in found.out
    shown = metashell.open(fixture("real-44-live").input, show_secrets=True)
    secret = json.loads(run_on(shown, "changes --json /image/scram").out)[0]
    assert secret["fields"]["storedKey"][1] not in found.out
    assert secret["fields"]["storedKey"][1] != "[redacted]"


def test_changes_of_nothing_and_the_principal() -> None:
    """What never was is an error; that the log knows no principal is said each time."""
    source = metashell.open(fixture("real-44-live").input)
    found = run_on(source, "changes /image/topics/byName/never-was")
    assert found.status == 1
    assert "No such file or directory, now or in the log" in found.err[0]
    assert "does not record who" in found.err[-1]


@pytest.mark.long
def test_window_and_last() -> None:
    """--since and --until bound the offsets, -n takes the last ones."""
    source = metashell.open(fixture("real-44-live").input)
    line = "changes --json --since 1000 --until 2000 /image"
    offsets = [change["offset"] for change in json.loads(run_on(source, line).out)]
    assert offsets == sorted(offsets)
    assert offsets[0] >= 1000
    assert offsets[-1] <= 2000
    last = json.loads(run_on(source, f"{line} --newest 2").out)
    assert [change["offset"] for change in last] == offsets[-2:]


@pytest.mark.long
def test_newest_records_only() -> None:
    """--records follows the newest records alone: the same changes, what was before is a ?."""
    source = metashell.open(fixture("real-44-live").input)
    line = "changes --json /image/topics"
    whole = json.loads(run_on(source, line).out)
    cut = run_on(source, f"{line} --records 20")
    newest = json.loads(cut.out)
    paths = [(change["offset"], change["path"]) for change in newest]
    assert 20 <= len(paths) < len(whole)
    assert set(paths) <= {(change["offset"], change["path"]) for change in whole}
    assert whole[-1]["offset"] == newest[-1]["offset"]
    assert "?" in str(newest)
    assert "only the newest 20 records about it were followed" in cut.err[0]
    every = run_on(source, f"{line} --records 100000")
    assert whole == json.loads(every.out)
    assert "newest" not in every.err[0]
    refused = run_on(source, f"{line} --records 0")
    assert 2 == refused.status


def test_missing_segment_begins_history_behind_the_gap(tmp_path: Path) -> None:
    """With records missing, what is known for sure begins at the checkpoint behind them."""
    copy = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    (copy / "00000000000000001297.log").unlink()
    source = metashell.open(copy)
    assert source.history.oldest[0].checkpoint is not None
    assert source.history.oldest[0].checkpoint.end_offset == 2191
    assert texts(source, source.history_root) == texts(source)
    assert source.at(1000).status().offset is not None


def test_checkpoint_alone_tells_no_time() -> None:
    """What a checkpoint opened by itself says happened at or before its end."""
    (checkpoint,) = fixture("real-44-trimmed").input.glob("*.checkpoint")
    source = metashell.open_file(checkpoint)
    found = run_on(source, "changes /image/topics/byName/orders/0")
    assert found.out.startswith("at or before checkpoint 3262  PARTITION_RECORD")
    stat = run_on(source, "stat --json /image/topics/byName/orders/0")
    (row,) = json.loads(stat.out)
    assert row["changed_offset"] is None
    assert row["changed_at_or_before"] == 3262


@pytest.mark.parametrize(
    "line",
    [
        "at",
        "changes /image/features",
        "check",
        "checksum",
        "diff 3262 end",
        "du",
        "du --checkpoints",
        "find / -changed-since 3000",
        "log --json",
        "log --checkpoints --limit 3",
        "ls -l /image/topics/byName",
        "stat /image",
        "stats",
    ],
)
def test_directory_of_a_checkpoint_alone(line: str, tmp_path: Path) -> None:
    """Every question has an answer where there is no segment at all."""
    copy = copy_of("real-44-trimmed", tmp_path) / "__cluster_metadata-0"
    for segment in copy.glob("*.log"):
        segment.unlink()
    found = run_on(metashell.open(copy), line)
    # `check` names the segment that the node must have had.
    assert found.status == {"at": 2, "check": 1}.get(line, 0), found.err
