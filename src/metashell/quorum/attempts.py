"""Which controller to try next, what went wrong with the others, and how long to wait.

A round tries each known address once: the leader first where it is known, then the addresses that
were given, then those that controllers named. After a round in which none helped comes a pause,
longer each time and never the same for two programs that lost the same leader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Final

from metashell.errors import NoLeaderError, SourceError
from metashell.quorum.description import majority_of
from metashell.security.settings import Address

BESIDE_S: Final = 1.0
"""How long an address is waited for before the next one is tried beside it."""
_HEAD_START_MAX_S: Final = 8.0
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 2.0
_ROUNDS_IN_VAIN: Final = 3
"""Rounds in which no controller gave a proper answer, after which there is none to wait for."""
_ROUND_MAX: Final = 128
"""Addresses that are tried in a round, also where each names yet another."""
_KNOWN_MAX: Final = 64
"""Addresses that controllers name are forgotten beyond this number."""


class Trouble(IntEnum):
    """The sort of trouble that an address gave."""

    NO_LEADER = 0
    """It answers, and is not the leader."""
    PASSING = 1
    """Something that may be over the next time."""
    UNREACHABLE = 2
    """Nobody there: refused, no such host, no answer to a connection, or a late one."""
    FINAL = 3
    """Trouble that would come again: credentials, a broker, another cluster."""


class Attempts:
    """The addresses, and how each did in this round."""

    def __init__(self, bootstrap: Sequence[Address], jitter: Callable[[], float]) -> None:
        self._bootstrap = tuple(bootstrap)
        self._jitter = jitter
        self._endpoints: dict[int, Address] = {}
        self._kept: dict[int, Address] = {}
        self._failures: dict[tuple[str, int], tuple[Address, str, Trouble]] = {}
        self._failures_before: dict[tuple[str, int], tuple[Address, str, Trouble]] = {}
        """The failures of the round before this one."""
        self._hint: str | None = None
        """A hint about one of the addresses, where more is known than its reason tells."""
        self._out_of_reach: set[tuple[str, int]] = set()
        self._n_silent: dict[tuple[str, int], int] = {}
        """How often an address was left for one that answered sooner."""
        self._n_rounds = 0
        self._n_in_vain = 0

    @property
    def n_addresses(self) -> int:
        """How many addresses are known."""
        return len(self._candidates(None))

    def next(self, leader_id: int | None) -> Address | None:
        """The address to try now; None where the round is over."""
        if len(self._failures) >= _ROUND_MAX:
            return None
        for address in self._candidates(leader_id):
            if (address.host, address.port) not in self._failures:
                return address
        return None

    def with_neighbours(self, address: Address, leader_id: int | None) -> tuple[Address, ...]:
        """An address, and those to be tried beside it where it does not answer.

        Behind those that had no turn in this round come those that did not lead then: where the
        leader hangs one of them is elected.
        """
        others = [a for a in self._candidates(leader_id) if a != address]
        failures = [self._failures.get((a.host, a.port)) for a in others]
        untried = [a for a, failure in zip(others, failures, strict=True) if failure is None]
        again = [
            a
            for a, failure in zip(others, failures, strict=True)
            if failure is not None and failure[2] is Trouble.NO_LEADER
        ]
        return (address, *untried, *again)

    def head_start_s(self, address: Address) -> float:
        """How long an address is tried alone: longer each time, as it may only be slow."""
        n_silent = self._n_silent.get((address.host, address.port), 0)
        return min(BESIDE_S * 2.0 ** min(n_silent, 16), _HEAD_START_MAX_S)

    def silent(self, address: Address) -> None:
        """Note that another one answered sooner."""
        at = (address.host, address.port)
        self._n_silent[at] = self._n_silent.get(at, 0) + 1
        self.note(address, "it does not answer", Trouble.UNREACHABLE)

    def _candidates(self, leader_id: int | None) -> list[Address]:
        """All addresses, each once; last those that could not be reached the last time."""
        leader = [a for a in self._bootstrap if leader_id is not None and a.node_id == leader_id]
        if leader_id in self._endpoints:
            leader.insert(0, self._endpoints[leader_id])
        found: dict[tuple[str, int], Address] = {}
        for address in (*leader, *self._bootstrap, *self._endpoints.values()):
            found.setdefault((address.host, address.port), address)
        return sorted(found.values(), key=lambda a: (a.host, a.port) in self._out_of_reach)

    def learn(self, endpoints: Mapping[int, Address]) -> None:
        """Note where nodes listen."""
        for node_id, address in endpoints.items():
            if node_id in self._endpoints or len(self._endpoints) < _KNOWN_MAX:
                self._endpoints[node_id] = address

    def is_node(self, address: Address, node_id: int | None) -> bool:
        """Whether a node is known to listen at an address."""
        if node_id is None:
            return False
        found = self._endpoints.get(node_id)
        is_there = found is not None and (found.host, found.port) == (address.host, address.port)
        return is_there or address.node_id == node_id

    def keep(self) -> None:
        """Note that what was learnt so far is of the quorum that is followed."""
        self._kept = dict(self._endpoints)

    def go_back(self) -> None:
        """Forget what was learnt since of another quorum."""
        self._endpoints = dict(self._kept)

    def knows(self, node_id: int) -> bool:
        """Whether an address of a node is known."""
        return node_id in self._endpoints or any(a.node_id == node_id for a in self._bootstrap)

    def note(
        self, address: Address, reason: str, trouble: Trouble, hint: str | None = None
    ) -> None:
        """Note what went wrong with an address, and what to do about it."""
        at = (address.host, address.port)
        self._hint = self._hint or hint
        self._failures[at] = (address, reason, trouble)
        if trouble is Trouble.UNREACHABLE:
            self._out_of_reach.add(at)
        else:
            self._out_of_reach.discard(at)

    def break_off(self) -> None:
        """End a round that not every address had its turn in: what the others gave last counts."""
        self._failures = self._failures_before | self._failures

    def has_answered(self, address: Address) -> bool:
        """Whether the round before tells what an address gives."""
        return (address.host, address.port) in self._failures_before

    def succeeded(self) -> None:
        """The leader answers."""
        self._failures.clear()
        self._failures_before.clear()
        self._n_silent.clear()
        self._n_in_vain = 0

    def is_steady(self) -> None:
        """The leader goes on to answer: the next trouble is a new one, and not waited for long."""
        self._n_rounds = 0

    def begin_round(self) -> None:
        """Try all again."""
        self._failures_before, self._failures = self._failures, {}
        self._hint = None
        self._out_of_reach &= {(a.host, a.port) for a in self._candidates(None)}

    def pause_s(self) -> float:
        """How long to wait after this round."""
        self._n_rounds += 1
        return self.delay_s(self._n_rounds)

    def delay_s(self, n: int) -> float:
        """How long to wait after the n-th failure in a row."""
        longest: float = min(_FIRST_PAUSE_S * 2 ** min(n, 16), _LONGEST_PAUSE_S)
        return longest * (0.5 + 0.5 * self._jitter())

    def hopeless(self, leader_id: int | None) -> SourceError | None:
        """The error where a further round would end as this one did; None where it may not."""
        troubles = [trouble for _, _, trouble in self._failures.values()]
        self._n_in_vain = 0 if Trouble.NO_LEADER in troubles else self._n_in_vain + 1
        final = {at for at, failure in self._failures.items() if failure[2] is Trouble.FINAL}
        leader = self._endpoints.get(leader_id) if leader_id is not None else None
        if final and (
            len(final) == len(troubles)
            or (leader is not None and (leader.host, leader.port) in final)
        ):
            return self.error("no controller can be followed")
        if self._n_in_vain < _ROUNDS_IN_VAIN:
            return None
        if final:
            return self.error("no controller can be followed")
        if all(trouble is Trouble.UNREACHABLE for trouble in troubles):
            return self.error("no controller can be reached")
        return self.error("no controller answers")

    def summary(self) -> str:
        """The failure of each address, in a line."""
        return "; ".join(f"{a}: {reason}" for a, reason, _ in self._failures.values())

    def error(
        self, what: str, problem: str | None = None, *, has_leader: bool = False
    ) -> SourceError:
        """The error that says why each address failed.

        Args:
            what: The thing that can't be had.
            problem: The last failure, for where nothing is noted of any address.
            has_leader: Whether a leader answers, of which too little came.
        """
        failures = list(self._failures.values())
        hint = self._hint or next(
            (h for part, h in _HINTS if any(part in r for _, r, _ in failures)), None
        )
        if len(failures) == 1 and failures[0][2] is Trouble.FINAL:
            address, reason, _ = failures[0]
            return SourceError(f"{address}: {reason}", hint=hint)
        reasons = self.summary() or problem
        message = f"{what}: {reasons}" if reasons else what
        troubles = [trouble for _, _, trouble in failures]
        if has_leader or Trouble.FINAL in troubles:
            return SourceError(message, hint=hint)
        is_answered = Trouble.NO_LEADER in troubles
        return NoLeaderError(message, is_answered=is_answered, hint=hint or self._majority_hint())

    def _majority_hint(self) -> str:
        """How many voters a leader needs, and which do not answer, as far as is known."""
        # One controller may be known by two addresses, and by one of them without its id.
        n = max(len(self._endpoints), len(self._bootstrap))
        if n == 1:
            return (
                "a leader needs a majority of the voters; only one controller is known, so give the"
                f" addresses of all; {_DIRECTORY}"
            )
        named = {(a.host, a.port): node_id for node_id, a in self._endpoints.items()}
        parts = [
            f"a leader needs {majority_of(n)} of {n} voters, if all {n} controllers that are known"
            " here vote"
        ]
        missing = []
        for address, _, trouble in self._failures.values():
            node_id = named.get((address.host, address.port), address.node_id)
            if trouble is not Trouble.NO_LEADER:
                missing.append(
                    f"{address}" if node_id is None else f"{address} (controller {node_id})"
                )
        parts += [f"without an answer: {', '.join(missing)}"] if missing else []
        return "; ".join([*parts, _DIRECTORY])


_DIRECTORY: Final = "`metashell -d DIR` reads a node's directory without a quorum"
_HINTS: Final = (
    (
        "that is a broker",
        "controllers listen where `controller.quorum.bootstrap.servers` or"
        " `controller.quorum.voters` says",
    ),
    # Before the next: what a controller says of a wrong password names the mechanism, too.
    ("authentication with", "see `sasl.mechanism` and `sasl.jaas.config` of `--config FILE`"),
    ("SASL mechanism", "see `sasl.mechanism` of `--config FILE`"),
    ("want SASL", "set `security.protocol` and `sasl.*` in `--config FILE`"),
    ("security.protocol", "set `security.protocol` in `--config FILE`"),
)
