"""The archives of tests/data unpack to what was recorded."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TextIO

import pytest

from support import fixtures
from support.fixtures import (
    ALIKE,
    copy_of,
    differing,
    fixture,
    fixture_dir,
    fixture_names,
    tree_fixture_names,
)

pytestmark = pytest.mark.meta


def test_all_fixtures_are_there() -> None:
    """Real directories, made ones and the quirks; the recorded exchanges apart."""
    names = fixture_names()

    assert len(names) == len(set(names))
    assert {"fuzz-decode"} == set(names) - set(tree_fixture_names())
    assert (fixture_dir("wire") / "README.md").is_file()
    assert (fixture_dir("real-44-admin") / "admin" / "acls.txt").is_file()


def marks_of(name: str) -> set[tuple[object, ...]]:
    """What the records of a fixture have: types, versions, fields with and without a value."""
    marks: set[tuple[object, ...]] = set()
    for record in fixture(name).golden.dump():
        kind = record.get("type")
        marks.add((kind, record.get("version"), "checkpoint" in record["file"]))
        fields = record.get("data")
        if isinstance(fields, dict):
            marks |= {(kind, key, type(value), bool(value)) for key, value in fields.items()}
    return marks


def test_what_is_left_out_has_nothing_of_its_own() -> None:
    """Directories that are alike have no record that the other directories lack the like of."""
    names = [name for name in tree_fixture_names() if fixture(name).kind == "directory"]
    assert set(names) >= ALIKE
    kept = set().union(*map(marks_of, differing(names)))
    for name in ALIKE:
        assert set() == marks_of(name) - kept, name


def test_preallocated_index_files_are_sparse() -> None:
    """They have their full length and take a page or so on disk."""
    directory = fixture("real-44-live").input
    index = directory / "00000000000000003389.index"
    time_index = directory / "00000000000000003389.timeindex"

    assert (10485760, 10485756) == (index.stat().st_size, time_index.stat().st_size)
    assert index.stat().st_blocks * 512 < 1 << 20
    assert index.read_bytes()[:8] != bytes(8)


def test_empty_files_are_kept() -> None:
    """A running node's ``.lock`` is empty and there."""
    assert b"" == (fixture_dir("real-44-live") / ".lock").read_bytes()


@pytest.mark.parametrize(
    ("name", "kind", "file"),
    [
        ("real-44-live", "directory", "__cluster_metadata-0"),
        ("all-records-checkpoint", "file", "00000000000000005000-0000000003.checkpoint"),
        ("quirks/one-record", "file", "00000000000000000000.log"),
    ],
)
def test_input_is_a_directory_or_the_one_file(name: str, kind: str, file: str) -> None:
    """What a fixture's golden outputs were made from."""
    assert (kind, file) == (fixture(name).kind, fixture(name).input.name)


def test_copies_can_be_changed(tmp_path: Path) -> None:
    """A copy has the node's files, not the golden ones."""
    copy = copy_of("quirks/one-record", tmp_path)
    (copy / "00000000000000000000.log").write_bytes(b"")

    assert ["00000000000000000000.log"] == [path.name for path in copy.iterdir()]
    assert fixture("quirks/one-record").input.stat().st_size > 0


def test_unknown_names_are_refused() -> None:
    """A misspelt name says so."""
    with pytest.raises(KeyError, match="no fixture is named nope"):
        fixture("nope")


def test_what_another_process_made_meanwhile_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second unpacking would truncate files that tests read already."""

    def wait_for_the_other(mark: TextIO, _operation: int) -> None:
        Path(mark.name).write_text("made")

    monkeypatch.setattr(fixtures, "_root", lambda: tmp_path)
    monkeypatch.setattr(fcntl, "flock", wait_for_the_other)
    with fixtures._once("anything") as is_missing:
        assert not is_missing
