"""The facts that an observer shows to others: single values, replaced and never changed.

They are written by the thread that runs the observer and may be read by any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from metashell.errors import MetashellError
from metashell.quorum.answers import Inquiry
from metashell.quorum.description import QuorumDescription
from metashell.quorum.intake import Intake
from metashell.quorum.steps import LogStore, ObserverState
from metashell.security.settings import Address


class Facts:
    """How the following of a quorum stands.

    Args:
        store: Where the log goes.
        follow: Whether it goes on when it has caught up.
    """

    def __init__(self, store: LogStore, *, follow: bool) -> None:
        self.state = ObserverState.CHOOSING
        self.error: MetashellError | None = None
        """Why it failed."""
        self.store = store
        self.follow = follow
        self.leader_id: int | None = None
        self.epoch = 0
        """The newest leader epoch that was heard of."""
        self.address: Address | None = None
        """Where we are connected, or connecting to."""
        self.n_received = 0
        """Bytes that came, on all connections."""
        self.last_word: float | None = None
        """When the quorum last answered."""
        self.problem: str | None = None
        """Why nothing comes at the moment."""
        self.intake = Intake(store)
        """The observer's side of the store: takes records and snapshots."""
        self.inquiry = Inquiry(goes_on=follow)
        """The answers to DescribeQuorum and DescribeCluster."""
        self.leads = False
        """Whether the peer has answered a Fetch as the leader."""

    @property
    def high_watermark(self) -> int | None:
        """The newest that a leader told; None before the first."""
        return self.intake.high_watermark

    @property
    def is_caught_up(self) -> bool:
        """Whether all is here that was committed when the leader first said what was."""
        return self.intake.is_caught_up

    @property
    def what_is_missing(self) -> str:
        """The reason why the observer has not caught up yet, for errors."""
        if not self.leads:
            return "no leader was found"
        comes = self.problem is not None or self.snapshot_progress is not None
        if self.high_watermark is None and not comes:
            return f"{self.address}: the leader knew no high watermark"
        return f"{self.address}: the log made no progress"

    @property
    def snapshot_progress(self) -> tuple[int, int] | None:
        """(bytes here, bytes in all) while a snapshot is fetched."""
        return self.intake.snapshot_progress

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id as the quorum tells it; None where it tells none."""
        return self.inquiry.cluster_id

    @property
    def description(self) -> QuorumDescription | None:
        """The leader's last answer to DescribeQuorum."""
        return self.inquiry.description

    @property
    def description_problem(self) -> str | None:
        """Why it says nothing."""
        return self.inquiry.problem

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that the user should read."""
        return self.intake.notes

    @property
    def is_at_leader(self) -> bool:
        """Whether the connection there is has brought records, or that there are none."""
        return self.leads

    @property
    def is_ready(self) -> bool:
        """Whether it has caught up, and the quorum was asked to describe itself."""
        asking = self.state in {ObserverState.DESCRIBING, ObserverState.IDENTIFYING}
        return self.is_caught_up and self.inquiry.has_asked and not asking
