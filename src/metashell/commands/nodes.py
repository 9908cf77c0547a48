"""`nodes`: every broker, controller and voter, and which of them are ghosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.commands.base import Option
from metashell.commands.options import Parsed, refuse_more
from metashell.commands.rows import HISTORY, Asked, Column, RowsCommand, rows_manual
from metashell.errors import UsageError
from metashell.log.point import parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from metashell.image.quorum_members import Member

GHOST_AFTER: Final = Option(
    ("--ghost-after",),
    "How long a broker without replicas is fenced until it counts as a ghost, such as 30m, 12h or "
    "3d; 1h without it. Measured against the last record, not against this machine's clock.",
    "DURATION",
)
_GHOSTS: Final = Option(("--ghosts",), "Only registrations that nobody stands behind.")
_FENCED: Final = Option(("--fenced",), "Only fenced brokers.")
_BROKERS: Final = Option(("--brokers",), "Only brokers.")
_CONTROLLERS: Final = Option(("--controllers",), "Only controllers.")


class Nodes(RowsCommand):
    """Registrations of nodes."""

    name = "nodes"
    summary = "brokers, controllers and voters, and which of them are ghosts"
    columns = (
        Column("id", "The node's id; a combined node has a row for each role."),
        Column("role", "broker or controller."),
        Column(
            "registered",
            "Whether it is registered; a voter that is not is shown too.",
            shown=False,
        ),
        Column("fenced", "Whether the broker is fenced: it leads nothing and serves nobody."),
        Column("in_controlled_shutdown", "Whether the broker is shutting down.", shown=False),
        Column("voter", "Whether the controller votes; null where the log does not say."),
        Column("release", "The Kafka release that its range of metadata.version implies."),
        Column("replicas", "Replicas assigned to the broker."),
        Column("ghost", "Why nobody seems to stand behind the registration; else null."),
        Column("rack", "The broker's rack."),
        Column("endpoints", "Where it listens: LISTENER://HOST:PORT."),
        Column("security_protocols", "The security protocol of each endpoint.", shown=False),
        Column("epoch", "The broker's epoch.", shown=False),
        Column("incarnation", "Id of the process that registered.", shown=False),
        Column(
            "directories",
            "Ids of the broker's log directories, or of the voter's metadata directory.",
            shown=False,
        ),
        Column("cordoned", "Those of them that are cordoned; null: it did not say.", shown=False),
        Column("features", "Levels that it supports: NAME=LOWEST-HIGHEST.", shown=False),
        Column("registered_offset", "Offset of the record that registered it.", shown=False),
        Column("registered_time", "Its time.", shown=False),
        Column("changed_offset", "Offset of the record that last changed it.", shown=False),
        Column("changed_time", "Its time."),
        Column("fenced_offset", "Offset of the record that fenced the broker.", shown=False),
        Column("fenced_time", "Its time.", shown=False),
    )
    manual = rows_manual(
        "nodes [OPTIONS]",
        "Every registration of a broker and of a controller, and voters that are not registered "
        "(before metadata.version 3.7-IV0 no controller is).\n\n"
        "A ghost is a registration that nobody seems to stand behind: a broker that has been "
        "fenced for long and has no replicas, or a controller that is no voter (which may be an "
        "observer that is there for good). Ghosts count where a feature is raised: see "
        "`can-upgrade`.\n\n"
        "The release is read off the highest metadata.version that a node supports: `4.3`, "
        "`4.4-IV0` for software from before a release, `>4.4` for one newer than metashell knows.",
        columns,
        (_GHOSTS, _FENCED, _BROKERS, _CONTROLLERS, GHOST_AFTER, HISTORY),
        (
            ("nodes", "all of them"),
            ("nodes --ghosts", "registrations that nobody stands behind"),
            ("nodes --brokers --columns id,endpoints,features", "who listens where"),
        ),
    )

    def answer(self, asked: Asked) -> pa.Table:
        """The nodes asked for."""
        from metashell.answers.nodes import BROKER, CONTROLLER, nodes_of, nodes_table

        parsed = asked.parsed
        refuse_more(self, parsed.arguments)
        wanted = [
            role
            for role, option in ((BROKER, _BROKERS), (CONTROLLER, _CONTROLLERS))
            if option.flags[0] in parsed.switches
        ]
        nodes = nodes_of(asked.image, voters_now(asked), ghost_after(parsed))
        if wanted:
            nodes = [node for node in nodes if node.role in wanted]
        if "--fenced" in parsed.switches:
            nodes = [node for node in nodes if node.fenced]
        if "--ghosts" in parsed.switches:
            nodes = [node for node in nodes if node.ghost is not None]
        return nodes_table(asked.image, nodes)


def ghost_after(parsed: Parsed) -> int:
    """The value of ``--ghost-after`` in ms.

    Raises:
        UsageError: It is no duration.
    """
    text = parsed.values.get(GHOST_AFTER.flags[0], "1h")
    if text == "0":
        return 0
    duration_ms = parse_duration(text)
    if duration_ms is None:
        raise UsageError(f"--ghost-after {text}: not a duration", hint="such as 30m, 12h or 3d")
    return duration_ms


def voters_now(asked: Asked) -> Sequence[Member] | None:
    """Who votes, as the quorum's leader says; None where only the log can tell."""
    source = asked.source
    if source.live is None or source.moment_offset is not None:
        return None
    from metashell.image.quorum_members import voters_of

    return voters_of(asked.image.quorum, source.live.status().description)


COMMAND = Nodes()
