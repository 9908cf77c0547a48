"""The flaws of a coordinator's record, and how a broker treats a record that has one.

A coordinator passes over a record type that it does not know. Whatever else it can't read ends the
load: of groups and share state the whole partition then is not served, of transactions what came
before is. Bytes behind a key or a value are ignored.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde and CoordinatorLoaderImpl
(KIP-915); org.apache.kafka.coordinator.transaction.TransactionLog and TransactionStateManager.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metashell.errors import DecodeError
from metashell.log.frames import NO_NUMBER, Frames
from metashell.schema.arena import I64
from metashell.schema.columns import Columns, StructArrayColumn
from metashell.schema.coordinators import CoordinatorLog, RecordType, RecordTypes
from metashell.schema.scalar import decode_prefix

_OVER_LIMIT: Final = "an array in it is over the limit"

I8: TypeAlias = npt.NDArray[np.int8]


TRANSACTION_STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""Names of the states of transactions, by number. Source: TransactionState."""

_TRANSACTION_VERSIONS: Final = 3
"""Levels of transaction.version that Kafka 4.4 knows. Source: TransactionVersion."""
TRANSACTION_FIELDS: Final = (
    "transaction_status",
    "transaction_partitions",
    "client_transaction_version",
)
"""Fields of a transaction that a broker checks."""


class Flaw(IntEnum):
    """The flaw of a record; `NONE` where there is none."""

    NONE = 0
    UNKNOWN_TYPE = 1
    """No definition has the type of its key."""
    NO_KEY = 2
    """The key is null."""
    SHORT_KEY = 3
    """The key is too short for a type."""
    BAD_KEY = 4
    """The key's bytes do not hold what its definition says."""
    SHORT_VALUE = 5
    """The value is too short for a version."""
    UNKNOWN_VERSION = 6
    """The definition has no such version of the value."""
    BAD_VALUE = 7
    """The value's bytes do not hold what its definition says."""
    UNKNOWN_STATE = 8
    """A transaction is in a state that has no name."""
    NO_PARTITIONS = 9
    """A transaction has null partitions in a state other than Empty."""
    UNKNOWN_TRANSACTION_VERSION = 10
    """A transaction's client has a transaction.version that is not known."""
    NO_VALUE = 11
    """A tombstone of a type whose records are never removed so: a broker throws at it."""
    OVER_LIMIT = 12
    """Sound for a broker, but an array in it is larger than is read here."""


class LoadVerdict(StrEnum):
    """A broker's treatment of a record when it loads the partition."""

    READ = "read"
    SKIPPED = "skipped"
    REFUSED = "refused"


_SKIPPED: Final = {
    CoordinatorLog.GROUPS: (Flaw.UNKNOWN_TYPE,),
    CoordinatorLog.SHARE: (Flaw.UNKNOWN_TYPE,),
    CoordinatorLog.TRANSACTIONS: (Flaw.UNKNOWN_TYPE, Flaw.UNKNOWN_VERSION),
}
NEVER_TOMBSTONES: Final = {CoordinatorLog.SHARE: "ShareUpdate"}
"""By log, the type that has no tombstones. Source: ShareCoordinatorShard.handleShareUpdate."""

_LEFT: Final = {
    CoordinatorLog.GROUPS: "it serves no group of this partition",
    CoordinatorLog.SHARE: "it serves no share state of this partition",
    CoordinatorLog.TRANSACTIONS: "it has the transactions before that offset only",
}


def verdict_of(log: CoordinatorLog, flaw: Flaw) -> LoadVerdict:
    """A broker's verdict on a record of a log that has a flaw."""
    if flaw in (Flaw.NONE, Flaw.OVER_LIMIT):
        return LoadVerdict.READ
    return LoadVerdict.SKIPPED if flaw in _SKIPPED[log] else LoadVerdict.REFUSED


def what_a_broker_does(log: CoordinatorLog, flaw: Flaw, offset: int, reason: str) -> str:
    """The verdict in words, with the reason; only the reason where a broker reads the record."""
    verdict = verdict_of(log, flaw)
    if verdict is LoadVerdict.REFUSED:
        return f"a broker stops at offset {offset}: {reason}; {_LEFT[log]}"
    return f"{reason}; a broker skips it" if verdict is LoadVerdict.SKIPPED else reason


def reason_of(
    types: RecordTypes,
    flaw: Flaw,
    number: int,
    version: int,
    key: bytes | None,
    value: bytes | None,
) -> str:
    """Why a record is at fault.

    Args:
        types: Definitions of the log's records.
        flaw: The flaw, not `Flaw.NONE`.
        number: The type in its key, where it has one.
        version: The version in its value, where it has one.
        key: The whole key.
        value: The whole value.
    """
    known = types.by_number.get(number)
    name = types.type_name(number)
    match flaw:
        case Flaw.UNKNOWN_TYPE:
            return f"record type {number} is not known"
        case Flaw.NO_KEY:
            return "the record has no key"
        case Flaw.SHORT_KEY:
            return f"the key has {len(key or b'')} bytes, too few for a record type"
        case Flaw.SHORT_VALUE:
            return f"{name}: the value has {len(value or b'')} bytes, too few for a version"
        case Flaw.UNKNOWN_VERSION:
            return f"{name}: value version {version} is not known"
        case Flaw.BAD_KEY | Flaw.BAD_VALUE:
            half = "the key" if flaw is Flaw.BAD_KEY else f"value version {version}"
            why = why_undecodable(types, flaw, number, version, key, value) or _OVER_LIMIT
            return f"{name}: {half} can't be decoded: {why}"
        case Flaw.NO_VALUE:
            return f"{name}: the record has no value"
        case Flaw.OVER_LIMIT:
            return f"{name}: {_OVER_LIMIT}"
    assert known is not None
    return f"{name}: {_why_no_transaction(known, flaw, version, value)}"


def why_undecodable(
    types: RecordTypes,
    flaw: Flaw,
    number: int,
    version: int,
    key: bytes | None,
    value: bytes | None,
) -> str | None:
    """Why a key (`Flaw.BAD_KEY`) or a value does not decode; None where a broker does decode it.

    Then only the columnar decoder refuses the record: an array in it is too large. The arguments
    are those of `reason_of`.
    """
    spec, data = types.by_number[number].value, value
    if flaw is Flaw.BAD_KEY:
        spec, data = types.by_number[number].key, key
        version = spec.versions.low
    try:
        decode_prefix(spec, version, (data or b"")[2:])
    except DecodeError as e:
        return e.message
    return None


def _why_no_transaction(known: RecordType, flaw: Flaw, version: int, value: bytes | None) -> str:
    fields, _ = decode_prefix(known.value, version, (value or b"")[2:])
    if flaw is Flaw.UNKNOWN_STATE:
        return f"transaction state {fields['transaction_status']} is not known"
    if flaw is Flaw.NO_PARTITIONS:
        return f"null partitions in transaction state {fields['transaction_status']}"
    level = fields["client_transaction_version"]
    return f"transaction.version {level} is not known"


_TYPES: Final = 1 << 15
"""How many numbers a type can have; those below 0 are of no definition."""


def flaws_by_version(frames: Frames, types: RecordTypes) -> I8:
    """The `Flaw` of each record that its type and the version of its value tell: int8[n].

    Cost: mostly that of two comparisons a record.
    """
    flaws = np.zeros(len(frames), dtype=np.int8)
    rows = _unlike_most(frames, types)
    flaws[rows] = _flaws_of(frames, types, rows)
    return flaws


def _unlike_most(frames: Frames, types: RecordTypes) -> I64:
    """int64: the rows of all records but those that are like most, if nothing is wrong with it.

    A record is like most if it has the type and the value's version of the record in the middle.
    """
    n = len(frames)
    middle = np.array([n // 2] if n else [], dtype=np.int64)
    if not n or frames.value_size[middle] < 0 or _flaws_of(frames, types, middle) != Flaw.NONE:
        return np.arange(n)
    unlike = frames.api_key.narrow != frames.api_key[middle]
    unlike |= frames.version.narrow != frames.version[middle]
    return np.flatnonzero(unlike)


def _flaws_of(frames: Frames, types: RecordTypes, rows: I64) -> I8:
    """The flaws of some records."""
    flaws = np.zeros(len(rows), dtype=np.int8)
    # By type: the versions that its values may have. The last element is for unknown types.
    low, high = np.zeros(_TYPES + 1, dtype=np.int32), np.full(_TYPES + 1, -1, dtype=np.int32)
    for each, record_type in types.by_number.items():
        versions = record_type.value.versions
        low[each], high[each] = versions.low, versions.high
    found, version = frames.api_key[rows], frames.version[rows]
    has_value = frames.value_size[rows] >= 0
    number = np.where((found >= 0) & (found < _TYPES), found, _TYPES)
    strange = (version < low.take(number)) | (version > high.take(number))
    flaws[strange & has_value] = Flaw.UNKNOWN_VERSION
    flaws[(version == NO_NUMBER) & has_value] = Flaw.SHORT_VALUE
    without = types.by_name.get(NEVER_TOMBSTONES.get(types.log, ""))
    if without is not None:
        flaws[(number == without.number) & ~has_value] = Flaw.NO_VALUE
    flaws[high.take(number) < 0] = Flaw.UNKNOWN_TYPE
    flaws[found == NO_NUMBER] = Flaw.SHORT_KEY
    flaws[frames.key_size[rows] < 0] = Flaw.NO_KEY
    flaws[frames.is_control[rows]] = Flaw.NONE
    return flaws


def transaction_flaws(value: Columns) -> I8:
    """The `Flaw` of each transaction, by what a broker checks of its contents: int8[n]."""
    flaws = np.zeros(value.n, dtype=np.int8)
    if not set(TRANSACTION_FIELDS) <= value.fields.keys():
        # A user's definition, of which nothing is known.
        return flaws
    states, levels = (value.fixed(TRANSACTION_FIELDS[i]) for i in (0, 2))
    partitions = value.fields[TRANSACTION_FIELDS[1]]
    flaws[(levels < 0) | (levels >= _TRANSACTION_VERSIONS)] = Flaw.UNKNOWN_TRANSACTION_VERSION
    if isinstance(partitions, StructArrayColumn):
        flaws[(partitions.counts < 0) & (states != 0)] = Flaw.NO_PARTITIONS
    flaws[(states < 0) | (states >= len(TRANSACTION_STATES))] = Flaw.UNKNOWN_STATE
    return flaws
