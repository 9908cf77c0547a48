"""``stats`` as rows: the columns of each section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.commands.rows.columns import AnswerTable, Column, integer, text, time_at

_RECORDS: Final = (integer("records", "How many records."), integer("bytes", "Bytes of them."))
_OF_KEYS: Final = (
    integer("tombstones", "Records without a value; null in a metadata log.", shown=False),
    integer(
        "superseded_records",
        "Records that compaction drops: a later record of their key counts, or their transaction "
        "was aborted. Null in a metadata log.",
        shown=False,
    ),
    integer("superseded_bytes", "Bytes of them.", shown=False),
)
_CHANGES: Final = (
    integer("leader_changes", "Records that changed the leader."),
    integer("isr_changes", "Records that changed the ISR."),
)
_COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "totals": (
        integer("segments", "How many segments there are."),
        integer("checkpoints", "How many checkpoints."),
        *_RECORDS,
        integer("first_offset", "First offset that is counted; every section counts the same."),
        integer("last_offset", "Last offset that is counted."),
        integer("batches", "How many batches."),
        integer("no_op_records", "How many of the records are NoOps."),
        integer("no_op_bytes", "Bytes of the NoOps.", shown=False),
        integer(
            "records_between_checkpoints",
            "On average; null with fewer than two checkpoints.",
            shown=False,
        ),
        integer(
            "ms_between_checkpoints", "Milliseconds between checkpoints, likewise.", shown=False
        ),
        integer(
            "transactional_records",
            "Records of transactions, without control records; null in a metadata log.",
            shown=False,
        ),
        integer("control_records", "Control records; null in a metadata log.", shown=False),
        *_OF_KEYS,
    ),
    "files": (
        text("file", "The file's name."),
        text("kind", "segment or checkpoint."),
        integer("bytes", "Its size."),
        integer("batches", "How many batches."),
        integer("records", "How many records."),
        integer("first_offset", "Offset of the first record; null for a checkpoint.", shown=False),
        integer("last_offset", "Offset of the last record; for a checkpoint the last one in it."),
        integer("first_epoch", "Leader epoch of the first record.", shown=False),
        integer("last_epoch", "Leader epoch of the last record.", shown=False),
        time_at("first_time", "Time of the first record.", shown=False),
        time_at("last_time", "Of the last one; of a checkpoint, of the last that it includes."),
        integer("faults", "How many faults the file has."),
    ),
    "types": (text("type", "The records' type."), *_RECORDS, *_OF_KEYS),
    "hours": (text("hour", "The hour, such as 2026-09-21T14Z."), *_RECORDS),
    "partitions": (
        text("topic", "The topic's name; its id if no name is known."),
        integer("partition", "The partition's id."),
        text("topic_id", "The topic's id.", shown=False),
        *_RECORDS,
        *_CHANGES,
    ),
    "brokers": (integer("broker", "The broker's id."), *_RECORDS, *_CHANGES),
    "batches": (
        text("file", "The file."),
        integer("pos", "Byte position in the file."),
        integer("offset", "Its first offset."),
        integer("bytes", "Its size."),
        integer("records", "How many records."),
    ),
    "timeline": (
        integer("begin", "Where the part begins: ms since the epoch, or an offset.", shown=False),
        integer("first_offset", "Offset of its first batch; null if it has none."),
        integer("last_offset", "Offset of its last batch."),
        time_at("first_time", "Time of its first batch.", shown=False),
        time_at("last_time", "Time of its last batch."),
        integer("records", "How many records."),
        integer("topics", "Records about topics and partitions."),
        integer("nodes", "Records about brokers and controllers."),
        integer("configs", "ConfigRecords."),
        integer(
            "security", "Records about ACLs, SCRAM credentials, delegation tokens, client quotas."
        ),
        integer("quorum", "Control records, features and other records of the cluster itself."),
        integer("other", "Records of types that Kafka does not have."),
        integer("no_ops", "NoOp records."),
        integer("elections", "Elections of the active controller."),
        integer("faults", "Faults of batches."),
    ),
    "groups": (text("group", "The group's id."), *_RECORDS, *_OF_KEYS),
    "transactions": (text("transactional_id", "The transactional id."), *_RECORDS, *_OF_KEYS),
}

TABLES: Final = tuple(
    AnswerTable("" if name == "totals" else f"--section {name}", columns)
    for name, columns in _COLUMNS.items()
)
"""In the order of the sections."""
