"""`nodes`: every broker, controller and voter, and which of them are ghosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, refuse_more
from metashell.commands.rows.columns import flag, integer, one_table, text, texts, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.errors import ExitCode, SourceError, UsageError
from metashell.log.point import parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.image.quorum_members import QuorumMember

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


class NodesCommand(RowsCommand):
    """Registrations of nodes."""

    group = "what is wrong"
    name = "nodes"
    summary = "brokers, controllers and voters, and which of them are ghosts"
    takes_paths = False
    of_each_cluster = True
    tables = one_table(
        integer("id", "The node's id; a combined node has a row for each role."),
        text("role", "broker or controller."),
        flag(
            "registered",
            "Whether it is registered; a voter that is not is shown too.",
            shown=False,
        ),
        flag("fenced", "Whether the broker is fenced: it leads nothing and serves nobody."),
        flag("in_controlled_shutdown", "Whether the broker is shutting down.", shown=False),
        flag("voter", "Whether the controller votes; null where the log does not say."),
        text("release", "The Kafka release that its range of metadata.version implies."),
        integer("replicas", "Replicas assigned to the broker."),
        text("ghost", "Why nobody seems to stand behind the registration; else null."),
        text("rack", "The broker's rack."),
        texts("endpoints", "Where it listens: LISTENER://HOST:PORT."),
        texts("security_protocols", "The security protocol of each endpoint.", shown=False),
        integer("epoch", "The broker's epoch.", shown=False),
        text("incarnation", "Id of the process that registered.", shown=False),
        texts(
            "directories",
            "Ids of the broker's log directories, or of the voter's metadata directory.",
            shown=False,
        ),
        texts("cordoned", "Those of them that are cordoned; null: it did not say.", shown=False),
        texts("features", "Levels that it supports: NAME=LOWEST-HIGHEST.", shown=False),
        integer("registered_offset", "Offset of the record that registered it.", shown=False),
        time_at("registered_time", "Its time.", shown=False),
        integer("changed_offset", "Offset of the record that last changed it.", shown=False),
        time_at("changed_time", "Its time."),
        integer("fenced_offset", "Offset of the record that fenced the broker.", shown=False),
        time_at("fenced_time", "Its time.", shown=False),
    )
    manual = Manual(
        "nodes [OPTIONS]",
        "Every registration of a broker and of a controller, and voters that are not registered "
        "(before metadata.version 3.7-IV0 no controller is).\n\n"
        "A ghost is a registration that nobody seems to stand behind: a broker that has been "
        "fenced for long and has no replicas, or a controller that is no voter (which may be an "
        "observer that is there for good). Ghosts count where a feature is raised: see "
        "`can-upgrade`.\n\n"
        "The release is read off the highest metadata.version that a node supports: `4.3`, "
        "`4.4-IV0` for software from before a release, `>4.4` for one newer than metashell knows.",
        (_GHOSTS, _FENCED, _BROKERS, _CONTROLLERS, GHOST_AFTER, HISTORY),
        (
            ("nodes", "all of them"),
            ("nodes --ghosts", "registrations that nobody stands behind"),
            ("nodes --brokers --columns id,endpoints,features", "who listens where"),
        ),
    )

    def answer(self, query: RowsQuery) -> None:
        """The nodes asked for."""
        from metashell.answers.nodes import BROKER, CONTROLLER, nodes_of, nodes_table

        parsed = query.parsed
        refuse_more(self, parsed.arguments)
        roles = [
            role
            for role, option in ((BROKER, _BROKERS), (CONTROLLER, _CONTROLLERS))
            if option.flags[0] in parsed.switches
        ]
        nodes = nodes_of(query.image, voters_now(query), ghost_after(parsed))
        if roles:
            nodes = [node for node in nodes if node.role in roles]
        if "--fenced" in parsed.switches:
            nodes = [node for node in nodes if node.fenced]
        if "--ghosts" in parsed.switches:
            nodes = [node for node in nodes if node.ghost is not None]
        query.add(nodes_table(query.image, nodes))


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


def voters_now(query: RowsQuery) -> Sequence[QuorumMember]:
    """Who votes, as the quorum's leader says, else the log, else the node's own file."""
    from metashell.commands.quorum.report import voters_now
    from metashell.image.quorum_members import known_voters, voters_in_log, voters_of

    source = query.source
    image = source.image  # Of the past there may be voters that are none any more.
    if source.live is None or source.moment_offset is not None:
        static: Sequence[int] = ()
        if not voters_in_log(image.quorum):
            try:
                static = voters_now(source)
            except SourceError as error:
                query.warn(error.message)
                query.status = ExitCode.FAILED
        return known_voters(image, static)
    return voters_of(image.quorum, source.live.status().description)


COMMAND = NodesCommand()
