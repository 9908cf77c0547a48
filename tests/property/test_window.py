"""A file read in windows has the batches and faults of the file read in one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftgen.files import segment_name
from metashell.errors import SourceError
from metashell.log.fault import Fault
from metashell.log.read import load, windows
from metashell.places.vanished import VanishedError
from support.fixtures import fixture, fixture_names
from support.logs import topic_batch
from support.strategies import damage_bytes

pytestmark = pytest.mark.usefixtures("implementation")

SIZES = (1, 100, 500, 4096, 1 << 20)


def whole(path: Path) -> tuple[list[int], list[Fault], int]:
    """Batch positions, faults and padding of a file read in one."""
    (file,) = load([str(path)]).files
    return list(file.chain.positions), file.chain.faults, file.chain.padding


def in_windows(path: Path, size: int) -> tuple[list[int], list[Fault], int]:
    """The same of a file read in windows."""
    positions: list[int] = []
    faults: list[Fault] = []
    padding = 0
    for loaded in windows(str(path), size):
        (file,) = loaded.files
        positions += [pos - file.start for pos in file.chain.positions]
        faults += file.chain.faults
        padding += file.chain.padding
    return positions, faults, padding


@pytest.mark.parametrize("name", fixture_names())
def test_real_files(name: str) -> None:
    """Every file of every fixture, in windows of any size."""
    for path in fixture(name).data_files():
        for size in SIZES[1:]:
            assert whole(path) == in_windows(path, size)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Draw segments with batches of many sizes, skipped offsets, epochs that fall, and damage."""
    data = bytearray()
    offset = 0
    for _ in range(draw(st.integers(0, 8))):
        count = draw(st.sampled_from([1, 2, 40]))
        data += topic_batch(offset, count, leader_epoch=draw(st.sampled_from([1, 1, 2])))
        offset += draw(st.sampled_from([count, count, count, count + 3, 0]))
    for _ in range(draw(st.integers(0, 3))):
        damage_bytes(draw, data)
    return bytes(data)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=files(), size=st.one_of(st.sampled_from(SIZES), st.integers(1, 600)))
def test_damaged_files(tmp_path: Path, data: bytes, size: int) -> None:
    """Damage anywhere gives the same faults wherever windows end."""
    path = tmp_path / segment_name(0)
    path.write_bytes(data)

    assert whole(path) == in_windows(path, size)


def test_what_is_no_file(tmp_path: Path) -> None:
    """What is gone, or no regular file, is refused as elsewhere."""
    with pytest.raises(VanishedError):
        list(windows(str(tmp_path / "nowhere")))
    with pytest.raises(SourceError, match="regular"):
        list(windows(str(tmp_path)))
