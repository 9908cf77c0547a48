"""``share``: how far share groups are in the partitions that they read."""

from __future__ import annotations

from typing import Final

from metashell.answers.coordinator_tables import SHARE
from metashell.commands.framework.command import Manual
from metashell.commands.rows.columns import integer, one_table, text, texts, time_at
from metashell.commands.shared.part_command import PartCommand
from metashell.parts.coordinators.share_partitions import PART

COLUMNS: Final = (
    text("group", "The share group's id.", priority=9),
    text(
        "topic",
        "The topic's name; its id where the metadata has no topic with this id.",
        priority=8,
    ),
    integer("partition", "The topic's partition.", priority=9),
    integer(
        "start_offset",
        "The share-partition start offset: the group is done with all records before it. Null: "
        "no consumer has read the partition yet.",
        priority=9,
    ),
    integer(
        "state_epoch",
        "The epoch of the state: it rises when the group's offsets are set anew.",
        priority=2,
    ),
    integer(
        "leader_epoch",
        "The leader epoch of the topic's partition in which the state was last written.",
        priority=1,
    ),
    integer(
        "complete",
        "The number of records behind the start offset that the group is done with; null if no "
        "broker wrote it.",
        priority=6,
    ),
    texts(
        "batches",
        "Batches behind the start offset: FIRST-LAST:STATE:DELIVERIES, both offsets included. A "
        "record in no batch was not delivered yet.",
        priority=7,
    ),
    time_at("written_time", "When the last snapshot of the state was written.", priority=4),
    integer("coordinator", "The broker that leads the partition; null for none.", priority=5),
    integer(
        "coordinator_partition",
        f"The partition of `{SHARE.topic}` that tells of it.",
        priority=3,
    ),
)


class ShareCommand(PartCommand):
    """List how far share groups are in each partition, from a broker's logs.

    Lists the state that share groups have of the partitions that they read. GROUP may hold
    wildcards. The partitions of a group may lie in several partitions of the log.
    """

    noun = ("share partition", "share partitions")
    tables = one_table(*COLUMNS)
    part = PART
    named = "share group with state"
    manual = Manual(
        synopsis="share [OPTION...] [GROUP...]",
        examples=(
            ("share s-one", "the share partitions of a group"),
            ("share --sort start_offset", "those that are least far first"),
        ),
    )


COMMAND = ShareCommand()
