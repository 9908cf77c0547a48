"""All that findings are drawn from, and who draws them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.nodes import HOUR_MS
from metashell.checks.finding import Finding
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.findings.kind import FindingKind, Need, StopKind
from metashell.findings.kinds.instability import MOST_PER_HOUR
from metashell.findings.known import all_kinds
from metashell.node_files.config import KafkaConfig
from metashell.node_files.log_directory import LogDirectory, look_at_log_directory
from metashell.sources.older import is_broken, is_unread

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.image.quorum_members import QuorumMember
    from metashell.judgement.image_findings import Findings, ImageFindings
    from metashell.judgement.loaded_logs import LoadedLogs
    from metashell.sources.source import Source

_FEW_LOGS: Final = 1000
"""So many directories of partitions are looked into unasked, if no store has them."""
OneOrMany: TypeAlias = "Finding | Findings"
"""One finding, or columns of findings of one kind."""
Finder: TypeAlias = "Callable[[Evidence, Sequence[FindingKind]], Iterator[OneOrMany]]"
"""Gives the findings of some kinds that name it; it may give those of others too."""


def _ignore(text: str) -> None:
    """Take a diagnostic that nobody reads."""


def _never() -> None:
    """Do not stop."""


@dataclass(slots=True, kw_only=True)
class Evidence:
    """The opened source, and the facts that its user vouches for."""

    source: Source
    image: Image
    """The state that is judged; it may be an earlier one."""
    assumptions: Assumptions = NO_ASSUMPTIONS
    """The configs that the nodes' own files are assumed to set."""
    voters: Sequence[QuorumMember] | None = None
    """The voters, where they are known better than by the log."""
    ghost_after_ms: int = HOUR_MS
    """How long a broker without replicas is fenced until it is a ghost."""
    most_per_hour: int = MOST_PER_HOUR
    """How often elections and the like may happen in an hour."""
    now_ms: int | None = None
    """When that is measured from; None for the image's last record."""
    after: StopKind | None = None
    """How the node will have stopped before it starts; None: nobody says."""
    starts: bool = False
    """Whether the source has the log directories of one node that is to be started."""
    against: Source | None = None
    """The quorum, or a controller's directory, whose metadata `image` is."""
    no_log: str | None = None
    """Why the metadata log of a node that is to be started can't be read; None: it can."""
    at_hand: Collection[int] = ()
    """The nodes whose directories are given."""
    software: str | None = None
    """The Kafka release that will start; None: that of the node's registration."""
    is_deep: bool = False
    """Whether every file is checked too, which takes as long as ``check``."""
    looks_in: bool = False
    """Whether each partition's directory is looked into, however many there are."""
    detail: bool = False
    """Whether each partition is a subject, in place of each topic."""
    warn: Callable[[str], None] = _ignore
    """Takes a diagnostic."""
    stop: Callable[[], None] = _never
    """Called again and again; it raises to end everything."""
    holds: dict[str, str] = field(default_factory=dict)
    """The replicas in each log directory, in words: for what is said of it if it goes offline."""
    _image_findings: list[ImageFindings] = field(default_factory=list)
    _logs: list[LoadedLogs] = field(default_factory=list)
    _directories: list[LogDirectory] = field(default_factory=list)

    def lacks(self) -> Iterator[Need]:
        """The input that is not at hand, or is not to be read."""
        if not self.is_deep:
            yield Need.FILES
        if self.source.capabilities.has_image and is_unread(self.source):
            yield Need.HISTORY
        if not self.source.has_coordinator_logs:
            yield Need.BROKER_LOGS
        if not self.looks_in and not _has_few_logs(self.source):
            yield Need.DISKS
        if self.source.live is None:
            yield Need.LIVE

    def unseen(self) -> Iterator[str]:
        """Words for all that was not looked at: what `lacks` names, and changes that are lost."""
        yield from (need.value for need in self.lacks())
        if self.source.capabilities.has_image and is_broken(self.source):
            yield "changes before damaged or missing offsets (check)"

    @property
    def is_compared(self) -> bool:
        """Whether the state is that of `against`."""
        return self.against is not None and self.image is self.against.image

    @property
    def config(self) -> KafkaConfig | None:
        """The node's own `server.properties`, as far as it is about the quorum; None where it is
        not known, and for an earlier state.
        """
        known = self.source.settings.config
        return KafkaConfig(*known) if known and self.source.moment_offset is None else None

    @property
    def image_findings(self) -> ImageFindings:
        """The findings of the image; facts about it are found once."""
        if not self._image_findings:
            from metashell.judgement.image_findings import ImageFindings

            found = ImageFindings(
                self.image,
                self.source.redaction,
                self.assumptions,
                voters=self.voters,
                ghost_after_ms=self.ghost_after_ms,
                now_ms=self.now_ms,
                detail=self.detail,
            )
            self._image_findings.append(found)
        return self._image_findings[0]

    @property
    def directories(self) -> Sequence[LogDirectory]:
        """The node's log directories, listed once; those that cannot be listed have a fault."""
        if not self._directories:
            try:
                self._directories.extend(self.source.log_directories)
            except SourceError:
                self._directories.extend(map(look_at_log_directory, self.source.log_places))
        return self._directories

    @property
    def logs(self) -> LoadedLogs:
        """The logs in `directories`, read once."""
        if not self._logs:
            from metashell.judgement.loaded_logs import LoadedLogs

            self._logs.append(LoadedLogs(self))
        return self._logs[0]

    def unread(self, text: str) -> None:
        """Warn of a log that can't be read: that is no finding about the cluster."""
        self.warn(text)

    def remark(self, text: str) -> None:
        """Take what is said behind rows."""


def _has_few_logs(source: Source) -> bool:
    """Whether a node's directories of partitions are few, and on this machine."""
    n = 0
    with suppress(SourceError):
        n = sum(len(one.logs) for one in source.log_directories)
    is_here = all(isinstance(place, str) for place in source.log_places)
    return n <= _FEW_LOGS and (is_here or not source.has_logs)


def find(evidence: Evidence, codes: Collection[str]) -> Iterator[OneOrMany]:
    """Find the findings of some kinds. Cost: that of the finders; the last may be `check`.

    Args:
        evidence: The source and what else is known.
        codes: The kinds that are asked for.

    Raises:
        SourceError: Something can't be read.
    """
    by_finder: dict[str, list[FindingKind]] = {}
    # Newer history tells some already; several copies are several sources, see `copies`.
    left_out = {Need.COPIES, *evidence.lacks()} - {Need.HISTORY}
    left_out |= set() if evidence.starts else {Need.START}
    for kind in all_kinds().values():
        if kind.code in codes and kind.needs not in left_out:
            by_finder.setdefault(kind.finder, []).append(kind)
    kind_codes: set[str] = set()
    # The slowest come last: a kind that another finder told of is not told again.
    for name, kinds in sorted(by_finder.items(), key=lambda one: one[1][0].needs is Need.FILES):
        evidence.stop()
        before = frozenset(kind_codes)
        for finding in finder(name)(evidence, kinds):
            code = finding.kind.code
            if code in codes and code not in before:
                kind_codes.add(code)
                yield finding


def finder(name: str) -> Finder:
    """The finder of a name such as ``module:function``."""
    module, _, function = name.partition(":")
    found: Finder = getattr(import_module(module), function)
    return found
