"""``groups``: the groups that a broker's coordinator logs tell of."""

from __future__ import annotations

from typing import Final

from metashell.answers.coordinator_tables import GROUP
from metashell.commands.framework.command import Manual
from metashell.commands.rows.columns import integer, one_table, text, texts, time_at
from metashell.commands.shared.part_command import PartCommand
from metashell.parts.coordinators.groups import PART

COLUMNS: Final = (
    text("group", "The group's id.", priority=9),
    text("type", "classic, consumer, share or streams.", priority=7),
    text(
        "state",
        "The state that follows from the log, in Kafka's words. Rebalances of classic groups are "
        "not in the log: such a group with members is Stable.",
        priority=8,
        yellow=("Assigning", "Reconciling", "NotReady"),
    ),
    text(
        "protocol",
        "The protocol type, such as consumer or connect; null for a group that only commits.",
        priority=2,
    ),
    integer("members", "The number of its members.", priority=6),
    integer("coordinator", "The broker that leads the partition; null for none.", priority=5),
    integer("partition", f"The partition of `{GROUP.topic}` that tells of it.", priority=3),
    texts(
        "topics",
        "Topics with a committed offset, and those that members name in their subscriptions.",
        priority=4,
    ),
    integer(
        "epoch",
        "The group's epoch; a classic group's generation. Null for a group that only commits.",
        priority=1,
    ),
    time_at(
        "committed_time", "Time of its newest committed offset; null: it has none.", priority=5
    ),
)


class GroupsCommand(PartCommand):
    """List the groups in a broker's logs: type, state, members, last commit.

    Lists consumer groups, classic groups, share groups and streams groups. GROUP may hold
    wildcards.
    """

    noun = ("group", "groups")
    tables = one_table(*COLUMNS)
    part = PART
    named = "group"
    manual = Manual(
        synopsis="groups [OPTION...] [GROUP...]",
        examples=(
            ("groups", "all groups in this directory"),
            ("groups 'c-*'", "some of them, by name"),
            ("groups --sort committed_time", "who committed longest ago"),
        ),
    )


COMMAND = GroupsCommand()
