"""Changes in short, for lines: without what every new thing has, ids that are none by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from metashell.schema.dump import java_double, to_json
from metashell.schema.timestamps import iso_time
from metashell.schema.uuids import LOST, MIGRATING, UNASSIGNED, uuid_text

_DIRECTORIES: Final = {
    uuid_text(UNASSIGNED): "unassigned",
    uuid_text(LOST): "lost",
    uuid_text(MIGRATING): "migrating",
}
"""Directory ids that stand for no directory. Source: org.apache.kafka.common.DirectoryId."""
_DIRECTORY_LISTS: Final = ("directories", "cordonedDirectories")
_NEW: Final[Mapping[str, Mapping[str, Any]]] = {
    "PARTITION_RECORD": {"leaderRecoveryState": "RECOVERED", "leaderEpoch": 0, "partitionEpoch": 0},
    "REGISTER_BROKER_RECORD": {"fenced": True, "inControlledShutdown": False},
    "REGISTER_CONTROLLER_RECORD": {"zkMigrationReady": False},
}
"""The defaults of a new thing's fields, by the type of its record."""
_COUNTERS: Final = ("leaderEpoch", "partitionEpoch")
"""Fields that move with others."""
_DETAILS: Final = frozenset(
    {
        "topicId",
        "commitTimestamp",
        "createTimestamp",
        "writeTimestamp",
        "snapshotEpoch",
        "metadataHash",
        "previousProducerId",
        "clientTransactionVersion",
        "transactionLastUpdateTimestampMs",
    }
)
"""Fields of coordinators' records that a line leaves out where it has others."""
TIMES: Final = {
    "commitTimestamp",
    "createTimestamp",
    "writeTimestamp",
    "transactionLastUpdateTimestampMs",
    "assignmentTimestamp",
    "currentStateTimestamp",
    "transactionStartTimestampMs",
    "lastTimestamp",
}
"""Fields of theirs that are times, in ms since the epoch."""
_WIDEST_VALUE: Final = 200
"""Characters of one value that a line shows; JSON has all."""
ARROW: Final = " → "
"""Stands between an old and a new value."""


def with_names(name: str, value: Any) -> Any:
    """A field's value with times as such, and directory ids that are none by name."""
    if name in TIMES and isinstance(value, int):
        return iso_time(value) if value >= 0 else None
    if name in _DIRECTORY_LISTS and isinstance(value, list):
        return [_DIRECTORIES.get(one, one) if isinstance(one, str) else one for one in value]
    return value


def new_in_short(record: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a new thing, without defaults.

    Args:
        record: The type of the record that made it.
        fields: Its fields by name.

    Returns:
        Some of the fields: not those that are empty or as in any new thing; of a partition neither
        an ISR of all replicas nor its first replica as leader, nor directories that are all
        unassigned.
    """
    usual = dict(_NEW.get(record, {}))
    replicas = fields.get("replicas")
    if record == "PARTITION_RECORD" and isinstance(replicas, list) and replicas:
        usual.update(leader=replicas[0], isr=replicas)
        usual["directories"] = [uuid_text(UNASSIGNED)] * len(replicas)
    return {
        name: value
        for name, value in fields.items()
        if value not in ([], None)
        and name not in _DETAILS
        and (name not in usual or usual[name] != value)
    }


def without_counters(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a change, in short: without epochs that moved together with others."""
    left_out = _DETAILS.union(_COUNTERS)
    return {name: pair for name, pair in fields.items() if name not in left_out} or fields


def change_text(
    verb: str,
    fields: Mapping[str, Sequence[Any]],
    *,
    record: str,
    reason: str | None = None,
    in_checkpoint: bool = False,
    is_verbose: bool = False,
) -> str:
    """The effect of a record on a node, in words: ``leader 101 → -1``.

    Args:
        verb: The verb of a `metashell.fs.changes.NodeChange`.
        fields: Old and new value, by the name of a field.
        record: The type of the record.
        reason: Why it was refused.
        in_checkpoint: Whether a checkpoint says it, and no record of the log.
        is_verbose: Tell also defaults of a new node, and both epochs.
    """
    if verb == "changed" and not in_checkpoint and not is_verbose:
        fields = without_counters(fields)
    if verb == "refused":
        return f"not applied: {reason}"
    if verb in ("created", "present"):
        news = {name: new for name, (_, new) in fields.items() if new not in ([], None)}
        if verb == "created" and not is_verbose:
            news = new_in_short(record, news)
        parts = [_named(name, value_text(with_names(name, new))) for name, new in news.items()]
        return " ".join([verb, ", ".join(parts)]).rstrip()
    if verb == "removed":
        old = fields.get("", (None, None))[0]
        return "removed" if old is None else f"removed, was {value_text(old)}"
    if not fields:
        return "written again, unchanged"
    return ", ".join(_named(name, pair_text(name, pair)) for name, pair in fields.items())


def pair_text(name: str, pair: Sequence[Any]) -> str:
    """The old and the new value of a field."""
    return ARROW.join(value_text(with_names(name, side)) for side in pair)


def value_text(value: Any) -> str:
    """One value, cut where it is long."""
    text = whole_text(value)
    return text if len(text) <= _WIDEST_VALUE else f"{text[: _WIDEST_VALUE - 1]}…"


def whole_text(value: Any) -> str:
    """One value, however long it is."""
    match value:
        case None:
            text = "none"
        case bool():
            text = "true" if value else "false"
        case float():
            text = java_double(value)
        case list() if any(isinstance(part, Mapping) for part in value):
            text = to_json(value)
        case list():
            text = f"[{','.join(map(str, value))}]"
        case Mapping() if not all(isinstance(v, Sequence) and len(v) == 2 for v in value.values()):
            text = to_json(value)
        case Mapping():
            text = "{" + ", ".join(f"{k}: {v[0]}-{v[1]}" for k, v in value.items()) + "}"
        case _:
            text = str(value)
    return text


def _named(name: str, text: str) -> str:
    return f"{name} {text}" if name else text
