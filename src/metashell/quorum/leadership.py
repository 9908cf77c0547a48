"""The leader and its epoch, of the quorum that is followed and of no other.

Owns which news of leaders are believed, and when an epoch is given up. Sends nothing.
"""

from __future__ import annotations

from typing import Final

from metashell.quorum.answers import LeaderHint
from metashell.quorum.attempts import Attempts
from metashell.quorum.facts import Facts
from metashell.quorum.reasons import OTHER_CLUSTER

_BEHIND_MAX: Final = 10
"""Rounds in which nobody knows our epoch after which we take theirs."""


class Leadership:
    """The leader, as far as was heard.

    Args:
        facts: Gets what is believed.
        attempts: The addresses that are tried.
        cluster_id: The cluster that it must be; None for any.
    """

    def __init__(self, facts: Facts, attempts: Attempts, *, cluster_id: str | None) -> None:
        self._facts, self._attempts = facts, attempts
        self.wanted_cluster = cluster_id
        """The cluster that it must be; None for any."""
        self._is_learnt = False
        """Whether the wanted id is that of the quorum that was followed first."""
        self._known_leader: tuple[int, int | None] = (0, None)
        """Epoch and leader of the quorum that is followed, as long as others are heard of."""
        self.begins_anew: str | None = None
        """Why all is dropped once it is sure that a leader is of this quorum."""
        self._n_behind = 0

    @property
    def why_other_cluster(self) -> str:
        """The meaning of INCONSISTENT_CLUSTER_ID in a controller's answer."""
        if self.wanted_cluster is None:
            return "it refuses the cluster's id (INCONSISTENT_CLUSTER_ID), though none was sent"
        if self._is_learnt:
            return OTHER_CLUSTER
        return "it belongs to a cluster other than `--cluster-id`"

    def pin(self, cluster_id: str | None) -> None:
        """Follow no other cluster from now on; any thread may say so.

        Args:
            cluster_id: The id of the quorum's cluster; None where it is not told.
        """
        if cluster_id is not None and self.wanted_cluster is None:
            self.wanted_cluster, self._is_learnt = cluster_id, True
            self._facts.inquiry.cluster_id = cluster_id

    def learn(self, hint: LeaderHint) -> None:
        """Note who leads, where that is news."""
        self._attempts.learn(hint.endpoints)
        # An epoch without a leader is of no use: there is nobody to ask in it. A candidate that
        # nobody votes for would draw us away from the leader that there is.
        if hint.epoch is None or hint.leader_id is None or hint.epoch < self._facts.epoch:
            return
        self._facts.epoch, self._facts.leader_id = hint.epoch, hint.leader_id

    def is_leader(self, hint: LeaderHint) -> None:
        """The peer has answered as the leader of our epoch."""
        self._facts.leads, self._n_behind = True, 0
        self._attempts.succeeded()
        if hint.leader_id is not None:
            self._facts.leader_id = hint.leader_id
        self._known_leader = (self._facts.epoch, self._facts.leader_id)
        self._attempts.keep()

    def unlearn(self) -> None:
        """Forget what the controllers of another quorum said of its epoch and its leader."""
        (self._facts.epoch, self._facts.leader_id), self.begins_anew = self._known_leader, None
        self._attempts.go_back()

    def peer_is_behind(self, hint: LeaderHint) -> None:
        """It has not heard of our epoch. Where all say so for long, ours is not of this quorum."""
        self._n_behind += 1
        if self._n_behind > _BEHIND_MAX * self._attempts.n_addresses and hint.epoch is not None:
            self.begins_anew = (
                f"no controller knows leader epoch {self._facts.epoch}: going on with {hint.epoch}"
            )
            self._facts.epoch, self._facts.leader_id, self._n_behind = hint.epoch, hint.leader_id, 0
