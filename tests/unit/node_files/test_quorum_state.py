"""`quorum-state` of every version, and of none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.node_files.quorum_state import QuorumState, parse_quorum_state, read_quorum_state

V0 = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}'
)
V1 = (
    '{"leaderId":-1,"leaderEpoch":4,"votedId":2,'
    '"votedDirectoryId":"xZSy2dRPSZuOrujymgN29Q","data_version":1}'
)


def _with(text: str, old: str, new: str) -> bytes:
    assert old in text
    return text.replace(old, new, 1).encode()


def test_version_0() -> None:
    """Static voters, and Kafka's placeholders as None."""
    expected = QuorumState(0, 1, 2, None, applied_offset=0, current_voters=(1, 2, 3))
    assert expected == parse_quorum_state(V0.encode(), "f")


def test_version_1() -> None:
    """A vote is for a node and its directory."""
    expected = QuorumState(1, None, 4, 2, "xZSy2dRPSZuOrujymgN29Q")
    assert expected == parse_quorum_state(V1.encode(), "f")


def test_no_directory_voted_for() -> None:
    """The zero id is none."""
    text = V1.replace("xZSy2dRPSZuOrujymgN29Q", "A" * 22)
    assert parse_quorum_state(text.encode(), "f").voted_directory_id is None


def test_later_version_is_read_by_its_names() -> None:
    """What is not known is passed over."""
    text = V1.replace('"data_version":1', '"data_version":9,"new":[{}]')
    assert 9 == parse_quorum_state(text.encode(), "f").data_version


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "empty"),
        (b"\0" * 80, "empty"),
        (b"{", "not JSON at byte 1"),
        (b"\xff{}", "not UTF-8 at byte 0"),
        (b"[]", "not a JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' * 50_000, "not JSON"),
        (b'{"leaderEpoch":' + b"9" * 10_000 + b"}", "not JSON"),
        (b"{}", "`data_version` is missing"),
        (_with(V1, "4", '"4"'), "`leaderEpoch` is not an int32"),
        (_with(V1, "4,", "true,"), "`leaderEpoch` is not an int32"),
        (_with(V1, "4,", "4.5,"), "`leaderEpoch` is not an int32"),
        (_with(V1, "4,", "NaN,"), "`leaderEpoch` is not an int32"),
        (_with(V1, "4,", "4000000000,"), "`leaderEpoch` is not an int32"),
        (_with(V1, '"xZSy2dRPSZuOrujymgN29Q"', "[1]"), "`votedDirectoryId` is not a"),
        (_with(V0, '"appliedOffset":0', '"appliedOffset":null'), "`appliedOffset` is not an"),
        (_with(V0, '[{"voterId":1}', '[7,{"voterId":1}'), "`currentVoters[0]` is not a"),
        (_with(V0, '{"voterId":2}', "{}"), "`currentVoters[1]`: `voterId` is missing"),
        (_with(V0, "[", "{}, \"x\": ["), "`currentVoters` is not a list of voters"),
    ],
)  # fmt: skip
def test_refuses(data: bytes, part: str) -> None:
    """Each error names the file and the field."""
    with pytest.raises(SourceError) as caught:
        parse_quorum_state(data, "dir/quorum-state")
    assert caught.value.message.startswith("dir/quorum-state: ")
    assert part in caught.value.message


@given(st.binary(max_size=100))
def test_random_bytes(data: bytes) -> None:
    """Nothing but a SourceError comes out."""
    with pytest.raises(SourceError):
        parse_quorum_state(data, "f")


def test_reads_a_file(tmp_path: Path) -> None:
    """None where there is none; too large a file is refused."""
    file = tmp_path / "quorum-state"
    assert read_quorum_state(file) is None
    file.write_text(V1)
    state = read_quorum_state(file)
    assert state is not None
    assert 4 == state.leader_epoch
    file.write_bytes(b" " * (1 << 20) + V1.encode())
    with pytest.raises(SourceError, match="larger than"):
        read_quorum_state(file)
