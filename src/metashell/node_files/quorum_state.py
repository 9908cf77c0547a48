"""`quorum-state`: what a node last knew and promised about elections.

JSON with a ``data_version``. 0 (kraft.version 0) has clusterId, leaderId, leaderEpoch, votedId,
appliedOffset and currentVoters; 1 has leaderId, leaderEpoch, votedId and votedDirectoryId. A later
version is read by the same names. Source: Kafka's QuorumStateData, FileQuorumStateStore.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.places.bounded_file import AnyPlace, name_of, read_if_present

FILE_NAME: Final = "quorum-state"
_INT32: Final = (-(2**31), 2**31 - 1)
_INT64: Final = (-(2**63), 2**63 - 1)
_NO_DIRECTORY: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""Uuid 0,0: no directory voted for."""
_VOTERS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class QuorumState:
    """A node's election state; None where the file's version lacks a field or it is not set."""

    data_version: int
    leader_id: int | None
    leader_epoch: int
    voted_id: int | None
    voted_directory_id: str | None = None
    """From version 1 on."""
    cluster_id: str | None = None
    """Version 0, where Kafka itself leaves it empty."""
    applied_offset: int | None = None
    """Version 0, where Kafka itself always writes 0."""
    current_voters: tuple[int, ...] | None = None
    """Version 0: ids of the static voters."""


def read_quorum_state(path: AnyPlace) -> QuorumState | None:
    """Read the file; None where there is none.

    Raises:
        SourceError: It can't be read or is malformed.
    """
    data = read_if_present(path)
    return None if data is None else parse_quorum_state(data, name_of(path))


def parse_quorum_state(data: bytes, file: str) -> QuorumState:
    """Parse the file's content; `file` names it in errors.

    Raises:
        SourceError: It is not JSON in UTF-8, or a field is missing or of another type.
    """
    fields = _Fields(_parse_object(data, file), file)
    return QuorumState(
        data_version=fields.integer("data_version", *_INT32),
        leader_id=_id_or_none(fields.integer("leaderId", *_INT32)),
        leader_epoch=fields.integer("leaderEpoch", *_INT32),
        voted_id=_id_or_none(fields.integer("votedId", *_INT32, default=-1)),
        voted_directory_id=fields.text("votedDirectoryId", unset=_NO_DIRECTORY),
        cluster_id=fields.text("clusterId"),
        applied_offset=(
            fields.integer("appliedOffset", *_INT64) if "appliedOffset" in fields.values else None
        ),
        current_voters=fields.voters("currentVoters"),
    )


def _parse_object(data: bytes, file: str) -> Mapping[str, Any]:
    """Parse bytes that should be one JSON object."""
    if not data.strip(b"\0 \t\r\n"):
        raise SourceError(f"{file}: empty")
    try:
        value = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SourceError(f"{file}: not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        where = f" at byte {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise SourceError(f"{file}: not JSON{where}") from error
    if not isinstance(value, dict):
        raise SourceError(f"{file}: not a JSON object")
    return value


@dataclass(frozen=True, slots=True)
class _Fields:
    """Typed access to a JSON object of unknown content."""

    values: Mapping[str, Any]
    file: str

    def integer(self, name: str, low: int, high: int, *, default: int | None = None) -> int:
        """The integer of that name, within the bounds."""
        if name not in self.values and default is not None:
            return default
        if name not in self.values:
            raise SourceError(f"{self.file}: `{name}` is missing; not a {FILE_NAME} file")
        value = self.values[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise SourceError(f"{self.file}: `{name}` is not an int{high.bit_length() + 1}")
        return value

    def text(self, name: str, unset: str = "") -> str | None:
        """The string of that name; None where it is missing, empty or says *unset*."""
        value = self.values.get(name)
        if value is None or value in ("", unset):
            return None
        if not isinstance(value, str):
            raise SourceError(f"{self.file}: `{name}` is not a string")
        return value

    def voters(self, name: str) -> tuple[int, ...] | None:
        """The ids of a list of ``{"voterId": id}``; None where it is missing."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) > _VOTERS_MAX:
            raise SourceError(f"{self.file}: `{name}` is not a list of voters")
        ids = []
        for i, voter in enumerate(value):
            if not isinstance(voter, dict):
                raise SourceError(f"{self.file}: `{name}[{i}]` is not an object")
            ids.append(_Fields(voter, f"{self.file}: `{name}[{i}]`").integer("voterId", *_INT32))
        return tuple(ids)


def _id_or_none(node_id: int) -> int | None:
    """A node's id; None for Kafka's -1."""
    return node_id if node_id >= 0 else None
