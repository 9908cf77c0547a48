"""The start of a node, foretold from all findings about it: a verdict, and events in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.checks.finding import Finding
from metashell.dataclass import dataclass
from metashell.errors import NoLeaderError
from metashell.findings.kind import AtStart, Severity, StopKind
from metashell.findings.known import all_kinds
from metashell.image.image import Image
from metashell.judgement.evidence import Evidence, find
from metashell.judgement.node_roles import is_broker, is_controller, knows_roles, node_of
from metashell.judgement.quorum_findings import of_live, of_lost
from metashell.log.names import BOOTSTRAP
from metashell.log.read import SLACK, Loaded, anonymous
from metashell.places.place import child_of, is_file
from metashell.places.uri import shown
from metashell.records.records import Records

if TYPE_CHECKING:
    from metashell.sources.source import Source
    from metashell.sources.starting import StartingNode

_WITHOUT_LOG: Final = frozenset(
    f"metashell.judgement.{name}"
    for name in (
        "start_findings:find",
        "log_directories:find_conflicts",
        "log_directories:find_missing",
        "config_findings:find",
    )
)
"""Finders that need no metadata log of the node's own."""
_OF_REPLICAS: Final = "metashell.judgement.log_directories:find_replicas"
"""The finder that needs metadata, of whomever."""
_HINDERS: Final = frozenset(
    {
        AtStart.REFUSES,
        AtStart.OFFLINE,
        AtStart.NOT_JOINED,
        AtStart.NOT_VOTING,
        AtStart.LOSES,
        AtStart.UNKNOWN,
    }
)


_GRAVE: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A start of one node."""

    node: str
    """Its id; its first directory where nothing tells the id."""
    roles: str
    directory: str
    """Its first log directory."""
    events: Sequence[Finding]
    """The things that Kafka does and says, in its order; `Finding.at_start` is the effect."""
    n_later: int
    """Findings that come after a refusal, and are left out."""
    offset: int | None
    """The last offset of the metadata; None without metadata."""
    time_ms: int | None
    of: str
    """The source of the metadata, in words."""
    is_compared: bool
    """Whether there is metadata to compare with."""

    def count(self, effect: AtStart) -> int:
        """How many events have an effect."""
        return sum(event.effect is effect for event in self.events)

    @property
    def is_clear(self) -> bool:
        """Whether nothing has to be decided before the start."""
        return all(weight(event) > _GRAVE for event in self.events)

    @property
    def verdict(self) -> str:
        """The verdict: ``starts, but ...``."""
        if self.count(AtStart.REFUSES):
            return "does not start"
        if self.count(AtStart.UNKNOWN):
            return "cannot be judged"
        joins = "starts"
        if self.count(AtStart.NOT_JOINED):
            joins += " and does not join the quorum"
        elif self.count(AtStart.NOT_VOTING):
            joins += " and does not vote"
        n, effects = self.count(AtStart.OFFLINE), []
        if n:
            names = {event.directory for event in self.events if event.effect is AtStart.OFFLINE}
            effects.append(
                f"takes {len(names)} log director{'y' if len(names) == 1 else 'ies'} offline"
            )
        if self.count(AtStart.LOSES):
            effects.append("loses data")
        grave = [event for event in self.events if weight(event) == _GRAVE]
        if grave:
            changes = any(event.effect is AtStart.CHANGES for event in grave)
            after = " after a kill" * all(event.after is StopKind.KILL for event in grave)
            effects.append(("changes its logs" if changes else "has warnings") + after)
        return f"{joins}, but {' and '.join(effects)}" if effects else joins


def weight(event: Finding) -> int:
    """How much an event matters, 0 for what hinders the start, and for what loses data.

    `_GRAVE` is for what somebody should look at first.
    """
    if event.effect in _HINDERS:
        return 0
    if event.severity is not Severity.NOTE:
        return _GRAVE
    return 3 if event.effect is AtStart.NOTES else 2


@dataclass(slots=True, kw_only=True)
class StartOptions:
    """The question about starts."""

    against: Source | None = None
    """The quorum or the directory to compare with; None: the node's own metadata log."""
    lost: NoLeaderError | None = None
    """Why no leader of that quorum could be followed."""
    after: StopKind | None = None
    software: str | None = None
    warn: Callable[[str], None] = lambda _: None
    """Takes a diagnostic."""


def start_of(node: StartingNode, asked: StartOptions) -> Start:
    """Tell what a start of a node does.

    Raises:
        SourceError: Something can't be read.
        UsageError: The software is no release.
    """
    source, against = node.source, asked.against
    evidence = Evidence(
        source=source,
        image=_image_of(source),
        starts=True,
        looks_in=True,
        no_log=node.unread,
        at_hand=node.at_hand,
        against=against,
        after=asked.after,
        software=asked.software,
        warn=asked.warn,
    )
    is_compared = against is not None and _is_of(evidence, against)
    if against is not None and is_compared:
        evidence.image = against.image
    knows = source.capabilities.has_image or is_compared
    found = [*_found(evidence, knows_cluster=knows), *_of_quorum(asked)]
    found = [one for one in found if asked.after is None or one.after in (None, asked.after)]
    found.sort(key=lambda one: one.kind.start_order)
    found = [*_with_contents(found, evidence.holds)]
    refusals = [one.kind.start_order for one in found if one.effect is AtStart.REFUSES]
    events = [
        one
        for one in found
        if not refusals or one.effect is AtStart.REFUSES or one.kind.start_order < refusals[0]
    ]
    roles = _roles_of(evidence) if knows or evidence.config is not None else ""
    last, number = evidence.image.provenance, node_of(evidence)
    directory = shown(str(evidence.directories[0].place))
    return Start(
        node=directory if number is None else str(number),
        roles=roles,
        directory=directory,
        events=events,
        n_later=len(found) - len(events),
        offset=last.offset if knows and last.offset >= 0 else None,
        time_ms=last.timestamp_ms if knows and last.timestamp_ms >= 0 else None,
        is_compared=knows,
        of=_whose(node, against if is_compared else None),
    )


def _roles_of(evidence: Evidence) -> str:
    """The roles that something tells, with commas."""
    found = (("broker", is_broker(evidence)), ("controller", is_controller(evidence)))
    return ", ".join(name for name, has in found if has and knows_roles(evidence))


def _whose(node: StartingNode, against: Source | None) -> str:
    """Whose metadata a node is compared with, in words."""
    if against is not None:
        return shown(str(against.path))
    if node.unread is None:
        return "its own metadata log: the cluster may be ahead (--against)"
    is_new = any(is_file(child_of(place, BOOTSTRAP)) for place in node.source.log_places)
    return "no metadata log" + (": a formatted directory" if is_new else "")


def _image_of(source: Source) -> Image:
    """The image of a node's own metadata log; an empty one where it has none."""
    if source.capabilities.has_image:
        return source.image
    return Image(Records(Loaded(anonymous(SLACK), 0, []), source.registry))


def _is_of(evidence: Evidence, against: Source) -> bool:
    """Whether nothing says that the metadata is of another cluster."""
    ids = {one.identity.cluster_id for one in evidence.directories if one.identity is not None}
    return not ids or against.cluster_id is None or against.cluster_id in ids


def _found(evidence: Evidence, *, knows_cluster: bool) -> Iterator[Finding]:
    """All findings about a start, each once, with the effect that they have on this node."""
    has_own, kinds = evidence.source.capabilities.has_image, all_kinds().values()
    finders = {kind.finder for kind in kinds if kind.at_start is not None}
    if not has_own:
        finders &= {*_WITHOUT_LOG, *([_OF_REPLICAS] if knows_cluster else [])}
    wanted = {kind.code for kind in kinds if kind.finder in finders}
    stops = AtStart.REFUSES if is_controller(evidence) else AtStart.NOTES
    seen: set[tuple[str | None, ...]] = set()
    for found in find(evidence, wanted):
        if not isinstance(found, Finding) or found.effect is None:
            continue
        is_stop = found.effect is AtStart.STOPS_CONTROLLER
        key = (found.code, found.meaning, found.directory, found.kafka)
        if key not in seen:
            yield replace(found, at_start=stops if is_stop else found.effect)
        seen.add(key)


def _with_contents(found: Sequence[Finding], holds: Mapping[str, str]) -> Iterator[Finding]:
    """Findings, with the replicas that are in a log directory behind the first that fails it."""
    offline: set[str | None] = set()
    for one in found:
        is_first = one.effect is AtStart.OFFLINE and one.directory not in offline
        if is_first:
            offline.add(one.directory)
        more = holds.get(one.directory or "", "") if is_first else ""
        yield replace(one, message=one.meaning + more) if more else one


def _of_quorum(asked: StartOptions) -> Iterator[Finding]:
    """The findings about the quorum that was asked, as far as a start depends on it."""
    if asked.lost is not None:
        yield of_lost(asked.lost)
    against = asked.against
    if against is not None and against.live is not None:
        found = of_live(against.image, against.live.status())
        yield from (one for one in found if one.effect is not None)
