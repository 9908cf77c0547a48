"""The KRaft observer, without I/O: what happened goes in, what to do next comes out.

Owns who is asked and when: finding the leader from any one controller, fetching its snapshot and
then its log, following elections, and how long to wait after what went wrong. It is told of events
(`Event`), each of which a table (`TRANSITIONS`) gives to one method for the state it is in; what it
wants done is read from `Observer.action`. The bytes of one connection are `session`'s business, the
fetched log the store's.

It asks with replica id -1: no leader counts, shows or waits for such a follower.

Source: org.apache.kafka.raft.KafkaRaftClient, KIP-595, KIP-630, KIP-853, KIP-919.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from metashell.errors import MetashellError
from metashell.quorum.answers import LeaderHint, read_fetch, read_fetch_snapshot
from metashell.quorum.attempts import Attempts, Trouble
from metashell.quorum.facts import Facts
from metashell.quorum.intake import RefusedError
from metashell.quorum.leadership import (
    A_BROKER,
    CUT_OFF,
    ELECTION,
    OTHER_CLUSTER,
    Leadership,
    refuse_hopeless,
    why_lost,
    why_not_connected,
    why_not_leader,
)
from metashell.quorum.pace import IDLE_S, SIZABLE_BYTES, Pace
from metashell.quorum.protocol import (
    Api,
    ErrorCode,
    describe_cluster_body,
    describe_quorum_body,
    error_name,
    fetch_body,
    fetch_snapshot_body,
)
from metashell.quorum.session import Answer, PeerError, QuorumSession, hello
from metashell.quorum.steps import (
    EVENTS,
    Action,
    Connect,
    Connected,
    Elapsed,
    Event,
    LogStore,
    Lost,
    NotConnected,
    ObserverState,
    Read,
    Received,
    Sleep,
    Stop,
)
from metashell.security.sasl import Mechanism
from metashell.security.settings import Address

LONG_WAIT_MS: Final = 500
"""How long a leader may hold back an answer when there is nothing new."""
SHORT_WAIT_MS: Final = 50
"""The wait where only the high watermark is due: old leaders do not wake us for it."""
WAKES_ON_WATERMARK: Final = 18
"""The Fetch version from which a leader answers when its high watermark moves (KIP-1166)."""
SNAPSHOT_PIECE_BYTES: Final = 4 << 20
SMALL_BYTES: Final = 1 << 12
"""Pieces below this are not asked for without a pause."""
_BAD_MAX: Final = 5
"""Bad answers in a row after which another controller is asked."""


class Observer:
    """Follows a quorum.

    Args:
        bootstrap: Addresses to begin with; one that answers is enough.
        store: Where the log goes.
        new_mechanism: Makes the SASL exchange for a connection to a host; None without SASL.
        cluster_id: The cluster that it must be; None for any.
        follow: Whether it goes on when it has caught up: then nothing but `stop` ends it, and the
            quorum is asked to describe itself again and again.
        patience_s: How long to go on without getting any further before it has caught up once.
        silence_s: How long a peer may be silent.
        jitter: Gives numbers in [0, 1); None for random ones.
    """

    def __init__(
        self,
        bootstrap: Sequence[Address],
        store: LogStore,
        *,
        new_mechanism: Callable[[str], Mechanism | None] = lambda _: None,
        cluster_id: str | None = None,
        follow: bool = False,
        patience_s: float = 30.0,
        silence_s: float = IDLE_S,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        self.facts = Facts(store, follow=follow)
        """How the following stands."""
        self._attempts = Attempts(bootstrap, jitter or random.Random().random)
        self.leadership = Leadership(self.facts, self._attempts, cluster_id=cluster_id)
        """The leader, as far as controllers told."""
        self.new_mechanism = new_mechanism
        self._patience_s, self._silence_s = patience_s, silence_s
        self._session: QuorumSession | None = None
        self._has_answered = False
        """Whether the peer has answered any request."""
        self._n_bad = 0
        """Answers in a row that brought nothing but trouble."""
        self._pace = Pace(silence_s, patience_s)
        self._referral: str | None = None
        """Why the peer is left once it has said where the leader listens."""
        self._asked_epoch = self._wait_ms = 0
        self._next_round = 0.0
        self._began: float | None = None

    # The way in and out.

    def tell(self, event: Event, now: float) -> None:
        """Take note of what happened.

        Args:
            event: One that the last `action` asked for.
            now: Seconds on a clock that never goes back.
        """
        if self._began is None:
            self._began = now
        handle = TRANSITIONS[self.facts.state, type(event)]
        try:
            handle(self, event, now)
        except PeerError as e:
            trouble = Trouble.FINAL if e.is_final else Trouble.PASSING
            self._give_up_on_peer(e.reason, trouble, e.hint)

    def action(self, now: float) -> Action:
        """The next action."""
        if self._began is None:
            self._began = now
        if self.facts.state is not ObserverState.FAILED and now >= self._end_of_patience():
            what = f"{self.facts.what_is_missing} within {self._patience_s:g} s"
            if self._session is not None and self._session.n_pending:
                assert self.facts.address is not None
                self._note(self.facts.address, CUT_OFF, Trouble.PASSING)
            self._attempts.break_off()
            leads = self.facts.leads
            self._fail(self._attempts.error(what, self.facts.problem, has_leader=leads))
        elif self.facts.state is ObserverState.CHOOSING:
            self._choose(now)
        if self.facts.state is ObserverState.FAILED:
            return Stop()
        if self.facts.state is ObserverState.WAITING:
            return Sleep(min(self._next_round, self._end_of_patience()), True)
        if self.facts.state is ObserverState.CONNECTING:
            assert self.facts.address is not None
            return Connect(
                self._attempts.with_neighbours(self.facts.address, self.facts.leader_id),
                hello(),
                self._attempts.head_start_s(self.facts.address),
                self._silence_s,
                self._end_of_patience(),
            )
        assert self._session is not None
        if now < self._pace.resume:
            return Sleep(min(self._pace.resume, self._end_of_patience()), False)
        session, deadline = self._session, min(self._pace.deadline, self._end_of_patience())
        return Read(session.take_outgoing(), session.buffer(), deadline)

    # Choosing whom to ask.

    def _choose(self, now: float) -> None:
        address = self._attempts.next(self.facts.leader_id)
        if address is not None:
            self.facts.address, self.facts.state = address, ObserverState.CONNECTING
            return
        failed = None if self.facts.is_caught_up else self._attempts.hopeless(self.facts.leader_id)
        if failed is not None:
            self._fail(failed)
            return
        self.facts.state, self._next_round = ObserverState.WAITING, now + self._attempts.pause_s()
        self.facts.problem = self._attempts.summary() or self.facts.problem

    @property
    def gives_up_at(self) -> float | None:
        """When all is given up if nothing comes; None before it began."""
        return None if self._began is None else self._end_of_patience()

    def _end_of_patience(self) -> float:
        assert self._began is not None
        if self.facts.is_caught_up:
            return math.inf
        end = self._began + self._patience_s
        comes = self._session is not None and self._session.n_pending >= SIZABLE_BYTES
        return max(end, self._pace.deadline) if comes else end

    def _fail(self, error: MetashellError) -> None:
        self.facts.state, self.facts.error, self._session = ObserverState.FAILED, error, None

    def _begin_round(self, _event: Event, _now: float) -> None:
        self._attempts.begin_round()
        self.facts.state = ObserverState.CHOOSING

    # Connections.

    def _connected(self, event: Connected, now: float) -> None:
        for address in event.silent:
            self._attempts.silent(address)
        self.facts.address = event.address
        try:
            mechanism = self.new_mechanism(self.facts.address.host)
        except MetashellError as e:
            raise PeerError(e.message, is_final=True, hint=e.hint) from e
        self._session = QuorumSession.begun(mechanism)
        self.facts.state, self.facts.leads, self._has_answered = ObserverState.OPENING, False, False
        self._pace.connected()
        self._pace.asked(now)

    def _not_connected(self, event: NotConnected, now: float) -> None:
        for address in (event.address, *event.silent):
            if self._is_cut_short(address, now):
                continue
            is_silent = address != event.address
            reason = "it does not answer" if is_silent else why_not_connected(event)
            self._note(address, reason, Trouble.PASSING if is_silent else event.trouble)
        if self.facts.address == event.address or self.facts.address in event.silent:
            self.facts.state = ObserverState.CHOOSING

    def _is_cut_short(self, address: Address, now: float) -> bool:
        """Whether our patience ended before an address could say what it said the last time.

        `action` then gives up all at once: who was cut short is not to blame for it.
        """
        return now >= self._end_of_patience() and self._attempts.has_answered(address)

    def _lost(self, event: Lost, now: float) -> None:
        assert self._session is not None
        assert self.facts.address is not None
        is_over = now >= self._end_of_patience()
        if (is_over and self.facts.leads) or self._is_cut_short(self.facts.address, now):
            return
        reason = why_lost(event, self._session, has_answered=self._has_answered)
        self._give_up_on_peer(reason, event.trouble)

    def _give_up_on_peer(self, reason: str, trouble: Trouble, hint: str | None = None) -> None:
        """Go on with the next address."""
        assert self.facts.address is not None
        self._session, self.facts.leads, self._referral = None, False, None
        self._note(self.facts.address, reason, trouble, hint)
        self.facts.state = ObserverState.CHOOSING

    def _note(
        self, address: Address, reason: str, trouble: Trouble, hint: str | None = None
    ) -> None:
        self._attempts.note(address, reason, trouble, hint)
        self.facts.problem = f"{address}: {reason}"

    def _received(self, event: Received, now: float) -> Answer | None:
        assert self._session is not None
        self._pace.received(event.n_bytes, now)
        self.facts.n_received += event.n_bytes
        answer = self._session.received(event.n_bytes)
        if answer is not None:
            self.facts.last_word, self._has_answered = now, True
            self._pace.throttle(answer.fields.get("throttle_time_ms", 0), now)
        return answer

    def _open(self, event: Received, now: float) -> None:
        """Negotiate; then look at whom we reached."""
        was = self._session
        assert was is not None
        self._received(event, now)
        if Api.METADATA in was.offered:
            # Before any login: that of a broker's listener may well be another.
            raise PeerError(A_BROKER, is_final=True)
        if not was.is_ready:
            return
        self._pace.authenticated(was.lifetime_ms, now)
        self._fetch(now)

    # Fetching.

    def _fetch(self, now: float) -> None:
        """Ask for what comes behind the last record here."""
        assert self._session is not None
        if self._pace.is_renewal_due(now):
            self._reconnect()
            return
        store = self.facts.store
        waits = self._session.version_of(Api.FETCH) or 0
        short = store.held_back is not None and waits < WAKES_ON_WATERMARK
        wait_ms = 0 if not self.facts.leads else SHORT_WAIT_MS if short else LONG_WAIT_MS
        self._session.request(
            Api.FETCH,
            fetch_body(
                epoch=self.facts.epoch,
                offset=store.end_offset,
                last_epoch=min(store.last_epoch, self.facts.epoch),
                high_watermark=-1
                if self.facts.high_watermark is None
                else self.facts.high_watermark,
                max_wait_ms=wait_ms,
                cluster_id=self.leadership.wanted_cluster,
            ),
        )
        self.facts.state = ObserverState.FETCHING
        self._asked_epoch, self._wait_ms = self.facts.epoch, wait_ms
        self._pace.asked(now, wait_ms)

    def _reconnect(self) -> None:
        """Authenticate again by a new connection to the same peer."""
        assert self.facts.address is not None
        self._session, self.facts.state = None, ObserverState.CONNECTING

    def _fetched(self, event: Received, now: float) -> None:
        answer = self._received(event, now)
        if answer is None:
            return
        fetched = read_fetch(answer)
        refuse_hopeless(fetched.error, Api.FETCH, self.leadership.why_other_cluster)
        self.leadership.learn(fetched.hint)
        if fetched.error in ELECTION:
            self._not_the_leader(fetched.error, fetched.hint, now)
            return
        if fetched.error == ErrorCode.NONE and not self._is_of_this_quorum(now):
            return
        try:
            if fetched.error != ErrorCode.NONE:
                raise RefusedError(f"it answers Fetch with {error_name(fetched.error)}")
            self.leadership.is_leader(fetched.hint)
            if fetched.snapshot is not None and fetched.diverging is None:
                self._begin_snapshot(fetched.snapshot, now)
                return
            if fetched.diverging is not None:
                self.facts.intake.diverge(*fetched.diverging)
                if self._n_bad >= _BAD_MAX:
                    raise RefusedError("it keeps saying that the log diverges")
                self._slow_down(now)
            else:
                self._fetched_more(self.facts.intake.take(fetched), now)
        except RefusedError as e:
            self._start_over(e.reason, now)
            return
        self._next_request(now)

    def _fetched_more(self, is_news: bool, now: float) -> None:
        self.facts.problem = None
        has_grown = self.facts.intake.has_grown()
        if has_grown:
            self._began = now
        if has_grown or not is_news:
            self._n_bad = 0
        if has_grown or self._wait_ms:
            self._attempts.is_steady()
        if self._wait_ms and not is_news:
            # A leader that does not wait as long as it may must not make us run in circles.
            self._pace.hold_until(self._pace.asked_at + SHORT_WAIT_MS / 1000)

    def _is_of_this_quorum(self, now: float) -> bool:
        """Whether the leader's records are taken; else it has been asked for what shows that."""
        assert self.facts.address is not None
        assert self._session is not None
        is_sure = self.leadership.wanted_cluster is not None
        if not is_sure and not self.facts.inquiry.is_member(self.facts.address, self._session):
            self._describe(now)
            return False
        if self.leadership.begins_anew is None:
            return True
        self.facts.intake.note(self.leadership.begins_anew)
        self.facts.intake.forget()
        self.leadership.begins_anew = None
        self._fetch(now)
        return False

    def _start_over(self, reason: str, now: float) -> None:
        """Fetch again after bad data, later each time, and then from another controller."""
        if self._n_bad >= _BAD_MAX:
            self._n_bad = 0
            raise PeerError(reason)
        self.facts.problem = f"{self.facts.address}: {reason}"
        self._slow_down(now)
        self._fetch(now)

    def _slow_down(self, now: float) -> None:
        self._n_bad += 1
        self._pace.hold_until(now + self._attempts.delay_s(self._n_bad))

    def _next_request(self, now: float) -> None:
        """Ask on: the quorum about itself where that is due, else for more records."""
        assert self._session is not None
        if not self.facts.inquiry.asks_quorum(self._session, now):
            self._fetch(now)
            return
        self._describe(now)

    # Elections.

    def _not_the_leader(self, code: int, hint: LeaderHint, now: float) -> None:
        """Go where the answer points to, or on to the next."""
        is_fenced = code == ErrorCode.FENCED_LEADER_EPOCH and self.facts.epoch > self._asked_epoch
        if is_fenced and self._n_bad < _BAD_MAX:
            # By now we know its epoch, and it may be the leader in it: whatever address it is
            # known by among controllers may not be one that leads there from here.
            self._n_bad += 1
            self._fetch(now)
            return
        assert self.facts.address is not None
        is_itself = self._attempts.is_node(self.facts.address, hint.leader_id)
        reason = why_not_leader(code, hint, self._asked_epoch, is_itself=is_itself)
        if code == ErrorCode.UNKNOWN_LEADER_EPOCH:
            self.leadership.peer_is_behind(hint)
        self._n_bad = 0
        if self._tells_addresses(hint):
            # Before Kafka 3.9 only DescribeCluster says where the leader listens.
            self._referral = reason
            self._identify(now)
            return
        self._give_up_on_peer(reason, Trouble.NO_LEADER)

    def _tells_addresses(self, hint: LeaderHint) -> bool:
        """Whether the peer may know an address that we do not."""
        assert self._session is not None
        if hint.leader_id is None:
            # Other controllers are asked for until a leader was found once.
            is_needless = self.facts.is_caught_up
        else:
            is_needless = self._attempts.knows(hint.leader_id)
        if is_needless:
            return False
        return self.facts.inquiry.asks_address(self._session, hint.leader_id)

    # Snapshots.

    def _begin_snapshot(self, snapshot: tuple[int, int], now: float) -> None:
        assert self.facts.address is not None
        self.facts.intake.begin_snapshot(snapshot, self.facts.address)
        self.facts.problem = None
        if self.facts.intake.is_in_vain:
            again = "it keeps offering a snapshot that was already fetched"
            if self._n_bad >= _BAD_MAX:
                raise RefusedError(again)
            self.facts.problem = f"{self.facts.address}: {again}"
            self._slow_down(now)
        self._ask_for_piece(now)

    def _ask_for_piece(self, now: float) -> None:
        assert self._session is not None
        assert self.facts.intake.snapshot is not None
        if self._pace.is_renewal_due(now):
            self._reconnect()
            return
        self._session.request(
            Api.FETCH_SNAPSHOT,
            fetch_snapshot_body(
                epoch=self.facts.epoch,
                snapshot=self.facts.intake.snapshot,
                pos=self.facts.intake.snapshot_pos,
                max_bytes=SNAPSHOT_PIECE_BYTES,
                cluster_id=self.leadership.wanted_cluster,
            ),
        )
        self.facts.state, self._asked_epoch = ObserverState.FETCHING_SNAPSHOT, self.facts.epoch
        self._pace.asked(now)

    def _fetched_piece(self, event: Received, now: float) -> None:
        answer = self._received(event, now)
        if answer is None:
            return
        piece = read_fetch_snapshot(answer)
        refuse_hopeless(piece.error, Api.FETCH_SNAPSHOT, self.leadership.why_other_cluster)
        self.leadership.learn(piece.hint)
        if piece.error in ELECTION:
            self._not_the_leader(piece.error, piece.hint, now)
            return
        try:
            if piece.error != ErrorCode.NONE:
                # Also UNKNOWN_SERVER_ERROR, which controllers send in place of any of these errors.
                self.facts.intake.drop_snapshot()
                name = error_name(piece.error)
                raise RefusedError(f"the snapshot can't be fetched: {name}")
            is_whole = self.facts.intake.take_piece(piece)
        except RefusedError as e:
            self._start_over(e.reason, now)
            return
        has_grown = self.facts.intake.has_grown()
        if has_grown:
            self._began = now
        if not is_whole:
            if len(piece.data) < SMALL_BYTES:
                self._pace.hold_until(self._pace.asked_at + SHORT_WAIT_MS / 1000)
            self._ask_for_piece(now)
            return
        if has_grown:
            self._n_bad = 0
        self._fetch(now)

    # The quorum's description of itself.

    def _described(self, event: Received, now: float) -> None:
        answer = self._received(event, now)
        if answer is None:
            return
        assert self.facts.address is not None
        if not self.facts.inquiry.take_quorum(answer, self.facts.address, now):
            self.leadership.unlearn()
            self._n_bad = 0
            raise PeerError(OTHER_CLUSTER, is_final=True)
        self._fetch(now)

    def _describe(self, now: float) -> None:
        assert self._session is not None
        self._session.request(Api.DESCRIBE_QUORUM, describe_quorum_body())
        self.facts.state = ObserverState.DESCRIBING
        self._pace.asked(now)

    def _identify(self, now: float) -> None:
        assert self._session is not None
        self._session.request(Api.DESCRIBE_CLUSTER, describe_cluster_body())
        self.facts.state = ObserverState.IDENTIFYING
        self._pace.asked(now)

    def _identified(self, event: Received, now: float) -> None:
        answer = self._received(event, now)
        if answer is None:
            return
        self._attempts.learn(self.facts.inquiry.take_cluster(answer))
        assert self._referral is not None
        self._give_up_on_peer(self._referral, Trouble.NO_LEADER)

    def _resumed(self, _event: Event, _now: float) -> None:
        """A request that was put off goes out now."""

    def _never(self, event: Event, _now: float) -> None:
        raise AssertionError(f"{type(event).__name__} in state {self.facts.state.value}")

    TABLE: ClassVar[Mapping[ObserverState, Mapping[type[Event], Callable[..., None]]]] = {
        ObserverState.CONNECTING: {Connected: _connected, NotConnected: _not_connected},
        ObserverState.OPENING: {Received: _open, Lost: _lost, Elapsed: _resumed},
        ObserverState.FETCHING: {Received: _fetched, Lost: _lost, Elapsed: _resumed},
        ObserverState.FETCHING_SNAPSHOT: {Received: _fetched_piece, Lost: _lost, Elapsed: _resumed},
        ObserverState.DESCRIBING: {Received: _described, Lost: _lost, Elapsed: _resumed},
        ObserverState.IDENTIFYING: {Received: _identified, Lost: _lost, Elapsed: _resumed},
        ObserverState.WAITING: {Elapsed: _begin_round},
    }
    """The handler of each event in a state. No action asks for any other event."""


TRANSITIONS: Final[Mapping[tuple[ObserverState, type[Event]], Callable[..., None]]] = {
    (state, event): Observer.TABLE.get(state, {}).get(event, Observer._never)
    for state in ObserverState
    for event in EVENTS
}
"""Every state and event."""
