"""The declaration of a kind of finding."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from metashell.dataclass import dataclass


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    CRITICAL = "critical"
    """Clients fail, data or metadata is lost, or a node does not start."""
    WARNING = "warning"
    """One more failure, and clients may fail; or somebody has to look."""
    NOTE = "note"
    """Worth knowing."""

    @property
    def rank(self) -> int:
        """Its place, 0 for the worst."""
        return SEVERITIES.index(self.value)


SEVERITIES: Final = tuple(severity.value for severity in Severity)
"""Names of the severities, the worst first."""


class About(StrEnum):
    """The thing that a finding is about."""

    CLUSTER = "cluster"
    BROKER = "broker"
    CONTROLLER = "controller"
    TOPIC = "topic"
    PARTITION = "partition"
    CONFIG = "config"
    GROUP = "group"
    FILE = "file"
    """A file or a record of a log."""
    DISK = "node's disk"
    """Files of a node beside its logs, and its log directories."""
    FLEET = "fleet"
    """Several copies of one cluster's metadata."""


OF_STATE: Final = frozenset(
    {About.CLUSTER, About.BROKER, About.TOPIC, About.PARTITION, About.CONFIG, About.GROUP}
)
"""Things that the state of a cluster consists of; the others are files and nodes."""


class Need(StrEnum):
    """The input that a finder reads; the value says what is not looked at without it."""

    IMAGE = "the state"
    HISTORY = "files before the newest checkpoint (--history)"
    FILES = "damage in older files and in indexes (check)"
    SIDE_FILES = "files beside the log"
    CONFIG = "server.properties (--config)"
    BROKER_LOGS = "groups and transactions (a broker's log dirs)"
    DISKS = "what lies in each partition's directory (check)"
    START = "what a start of the node would do (preflight)"
    COPIES = "other copies of the metadata"
    LIVE = "the running quorum (-q)"


class AtStart(StrEnum):
    """The effect of a finding on a node that starts."""

    REFUSES = "refuses"
    """The node does not start."""
    STOPS_CONTROLLER = "stops-controller"
    """A controller stops while it reads the metadata log; a broker reads on."""
    OFFLINE = "offline"
    """A log directory goes offline."""
    NOT_JOINED = "not-joined"
    """The node starts, and does not join its quorum."""
    NOT_VOTING = "not-voting"
    """The controller starts, and does not vote."""
    LOSES = "loses"
    """A replica begins empty, or records are lost."""
    UNKNOWN = "unknown"
    """Nothing tells whether the node votes, or whether it loses data."""
    CHANGES = "changes"
    """The start changes files: it sets logs aside, promotes, deletes, cuts or recovers them."""
    NOTES = "notes"
    """Worth knowing before the start."""


class StopKind(StrEnum):
    """How a node stopped before it starts."""

    CLEAN = "clean"
    KILL = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingKind:
    """One kind of finding."""

    code: str
    """A stable name for scripts, in kebab case."""
    severity: Severity
    about: About
    meaning: str
    """The meaning for clients and data: a sentence without a full stop."""
    do: str
    """The next step of the user: a sentence without a full stop. It is safe even if the cause is
    another one."""
    avoid: str | None = None
    """The thing that must not be done: a sentence without a full stop."""
    counts: str = "findings"
    """The things that a finding's count counts, in the plural."""
    do_for_none: str | None = None
    """The next step where the count is 0: a sentence without a full stop. None: the same."""
    headline: str | None = None
    """The finding in a few words. ``{count}`` is the count with its noun, ``{subjects}`` names
    them; ``{is}`` and ``{has}`` agree with the first of these. None: the finding's own message."""
    see: str | None = None
    """The next command; ``{subject}`` is the topic, broker or config that it shows."""
    source: str | None = None
    """The class of Kafka or the KIP that the rule comes from."""
    needs: Need = Need.IMAGE
    at_start: AtStart | None = None
    """Its effect on a node that starts; None where a start does not matter."""
    start_order: int = 500
    """The place in the order in which a node that starts comes to it."""
    finder: str
    """Who finds it: ``module:function``."""
    part_of: str | None = None
    """The kind in which ``health`` counts it; `check` names each one."""
    comes_first: bool = False
    """Whether it must be resolved before anything else is done."""
    order: int = 500
    """The place among kinds of one severity, the worst first."""
    cause: str | None = None
    """The words where it is the cause of other findings: ``broker {} is fenced``. None: it causes
    nothing."""
    effect: str | None = None
    """The words where it is the effect of a cause: ``offline``. None: it is no effect."""

    def noun(self, n: int) -> str:
        """The noun for n of the things that its count counts."""
        if n != 1:
            return self.counts
        ends_in_y = self.counts.endswith("ies")
        return f"{self.counts[:-3]}y" if ends_in_y else self.counts.removesuffix("s")

    @property
    def action(self) -> str:
        """The advice, with the warning behind it."""
        return self.do if self.avoid is None else f"{self.do}; {self.avoid}"
