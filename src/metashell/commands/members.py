"""``members``: the members of groups, and what they are assigned."""

from __future__ import annotations

from typing import Final

from metashell.commands.framework.command import Manual
from metashell.commands.rows.columns import integer, one_table, text, texts
from metashell.commands.shared.part_command import PartCommand
from metashell.parts.coordinators.members import PART

COLUMNS: Final = (
    text("group", "The group's id.", priority=9),
    text("member", "The member's id.", priority=6),
    text("instance", "The id of a static member; else null.", priority=4),
    text("client", "The client's id.", priority=7),
    text("host", "The client's address.", priority=5),
    integer(
        "epoch",
        "The member's epoch: its group's once it has what it is assigned, -2 for a static member "
        "that is away. Of a classic group the generation. Null: nothing was assigned yet.",
        priority=3,
    ),
    texts(
        "topics",
        "Topics that it names in its subscription; null: the log does not say.",
        priority=2,
    ),
    texts(
        "assigned",
        "What it has: TOPIC-PARTITION, in a streams group its active tasks. A topic whose name is "
        "not in the metadata is called by its id.",
        priority=8,
    ),
)


class MembersCommand(PartCommand):
    """List the members of groups in a broker's logs, and what they are assigned.

    Lists the members of groups. GROUP may hold wildcards.
    """

    noun = ("member", "members")
    tables = one_table(*COLUMNS)
    part = PART
    named = "group with members"
    manual = Manual(
        synopsis="members [OPTION...] [GROUP...]",
        examples=(
            ("members", "all members in this directory"),
            ("members k-uniform -o json", "those of a group"),
        ),
    )


COMMAND = MembersCommand()
