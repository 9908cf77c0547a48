"""`nodes`: every broker, controller and voter, and which of them are ghosts."""

from __future__ import annotations

from typing import Final

from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.rows.columns import (
    NOT_ZERO,
    Shrink,
    flag,
    integer,
    of_record,
    one_table,
    sentence,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.names import rows_named
from metashell.errors import UsageError
from metashell.log.time_spec import parse_duration

_AN_HOUR: Final = "1h"
GHOST_AFTER: Final = Option(
    ("--ghost-after",),
    "Count a broker without replicas as a ghost after it is fenced for this long, such as 30m, "
    "12h or 3d (default 1h). The time counts to the last record, on a live quorum to now.",
    "DURATION",
)
_GHOSTS: Final = Option(
    ("--ghosts",),
    "Only ghosts: nodes that are registered, but not running. --ghost-after tells when a broker "
    "counts (default 1h).",
    phrase="a ghost",
)
_FENCED: Final = Option(("--fenced",), "Only fenced brokers.", phrase="fenced")
_BROKERS: Final = Option(("--brokers",), "Only brokers.", phrase="a broker")
_CONTROLLERS: Final = Option(("--controllers",), "Only controllers.", phrase="a controller")


class NodesCommand(RowsCommand):
    """List brokers, controllers and voters, and which are ghosts.

    Lists every registered broker and controller, and voters that are not registered. Before
    metadata.version 3.7-IV0 no controller is registered.

    A ghost is registered, but not running. It is a broker without replicas that has been fenced
    for long, or a controller that is not a voter. Such a controller may also be a permanent
    observer. Ghosts block feature upgrades: see `can-upgrade`.

    The release follows from the highest metadata.version that a node supports. `4.4-IV0` is
    software from before release 4.4. `>4.4` is newer than metashell knows.
    """

    group = "what is wrong"
    of_each_cluster = True
    noun = ("node", "nodes")
    tables = one_table(
        integer("id", "The node's id. A combined node has a row for each role.", priority=9),
        text("role", "broker or controller.", priority=9),
        flag("registered", "Whether it is registered. Voters are listed anyway.", shown=False),
        flag(
            "fenced",
            "Whether the broker is fenced: it leads nothing and serves no client. Null: it is a "
            "controller.",
            priority=8,
            red=("yes",),
        ),
        flag("in_controlled_shutdown", "Whether the broker is shutting down.", shown=False),
        flag(
            "voter",
            "Whether the controller votes; null: a broker, or the log does not say.",
            priority=6,
        ),
        text(
            "release",
            "The Kafka release that its metadata.version range implies; null: no record says.",
            priority=6,
        ),
        integer("replicas", "Replicas assigned to the broker; null: a controller.", priority=5),
        sentence(
            "ghost",
            "Registered, but not running: why. Else null.",
            priority=8,
            red=NOT_ZERO,
            usual=("-",),
        ),
        text("rack", "The broker's rack; null: a controller.", priority=4),
        texts("endpoints", "Its listeners: LISTENER://HOST:PORT.", shrink=Shrink.WRAP),
        texts("security_protocols", "The security protocol of each endpoint.", shown=False),
        integer("epoch", "The broker's epoch.", shown=False),
        text("incarnation", "Id of the process that registered.", shown=False),
        texts(
            "directories",
            "Ids of the broker's log directories, or of the voter's metadata directory.",
            shown=False,
        ),
        texts("cordoned", "The cordoned ones of these; null: the broker did not say.", shown=False),
        texts("features", "Levels that it supports: NAME=LOWEST-HIGHEST.", shown=False),
        flag(
            "zk_migration",
            "Whether the broker is in ZooKeeper mode, or the controller is ready to migrate.",
            shown=False,
        ),
        integer("registered_offset", "Offset of the record that registered it.", shown=False),
        time_at("registered_time", "Time of that record.", shown=False),
        *of_record("changed", "last changed it", shown=True, priority=5),
        *of_record("fenced", "fenced the broker"),
    )
    manual = Manual(
        synopsis="nodes [OPTION...] [ID...]",
        options=(_GHOSTS, _FENCED, _BROKERS, _CONTROLLERS, GHOST_AFTER, HISTORY),
        examples=(
            ("nodes", "all nodes"),
            ("nodes 101", "one node"),
            ("nodes --ghosts", "nodes that are registered, but not running"),
            ("nodes --brokers --columns id,endpoints,features", "where each broker listens"),
        ),
    )

    def nothing(self, parsed: Parsed) -> str:
        """Also when a broker counts as a ghost, where ghosts are asked for."""
        found = super().nothing(parsed)
        counts = "--ghosts" in parsed.switches and "--controllers" not in parsed.switches
        return f"{found}; {_threshold(parsed)}" if counts else found

    def answer(self, query: RowsQuery) -> None:
        """The nodes asked for."""
        from metashell.answers.nodes import BROKER, CONTROLLER, nodes_of, nodes_table
        from metashell.commands.quorum.report import voters_now

        parsed = query.parsed
        roles = [
            role
            for role, option in ((BROKER, _BROKERS), (CONTROLLER, _CONTROLLERS))
            if option.flags[0] in parsed.switches
        ]
        nodes = nodes_of(query.image, voters_now(query), ghost_after(parsed), now_ms=query.now_ms)
        if roles:
            nodes = [node for node in nodes if node.role in roles]
        if "--fenced" in parsed.switches:
            nodes = [node for node in nodes if node.fenced]
        if "--ghosts" in parsed.switches:
            nodes = [node for node in nodes if node.ghost is not None]
            if nodes and BROKER in {node.role for node in nodes}:
                query.remarks.append(_threshold(parsed))
        table = nodes_table(query.image, nodes)
        query.add(rows_named(query, table, "id", "node" + _chosen_by(parsed)))


def _threshold(parsed: Parsed) -> str:
    after = parsed.values.get(GHOST_AFTER.flags[0], _AN_HOUR)
    return f"a broker without replicas is a ghost after it is fenced for {after} (--ghost-after)"


def _chosen_by(parsed: Parsed) -> str:
    """The options given, for the message that no such node has an id."""
    asked = [o.flags[0] for o in (_GHOSTS, _FENCED, _BROKERS, _CONTROLLERS)]
    given = [flag for flag in asked if flag in parsed.switches]
    return f" with {' '.join(given)}" if given else ""


def ghost_after(parsed: Parsed) -> int:
    """The value of ``--ghost-after`` in ms.

    Raises:
        UsageError: It is no duration.
    """
    text = parsed.values.get(GHOST_AFTER.flags[0], _AN_HOUR)
    if text == "0":
        return 0
    duration_ms = parse_duration(text)
    if duration_ms is None:
        raise UsageError(f"--ghost-after {text}: not a duration", hint="such as 30m, 12h or 3d")
    return duration_ms


COMMAND = NodesCommand()
