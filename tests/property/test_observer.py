"""The observer against a quorum in which everything goes wrong, by seeds, on a simulated clock.

A seed makes a quorum, its chaos and an observer; after a while the chaos ends. Then the observer
has to catch up soon, with the very bytes that were committed, whatever happened before.
``METASHELL_SEEDS=N`` runs N seeds, ``METASHELL_FIRST_SEED`` says with which to begin.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator

import pytest
from tests.support.observer_states import SUCCESSORS

from metashell.checks.digest import image_digest, part_digests
from metashell.errors import SourceError
from metashell.image.image import Image
from metashell.log import live
from metashell.log.live import LiveLog
from metashell.log.read import load
from metashell.places.place import MemoryFile
from metashell.quorum.intake import NOTES_MAX
from metashell.quorum.observer import TRANSITIONS, Observer
from metashell.quorum.protocol import Api
from metashell.quorum.steps import (
    EVENTS,
    Connect,
    Connected,
    Elapsed,
    Event,
    Lost,
    NotConnected,
    ObserverState,
    Read,
    Received,
    Sleep,
    Stop,
)
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.model import load_registry
from metashell.security.settings import Address
from support.fake_connection import FakeConnection
from support.fake_faults import Faults, Lies, Stuck
from support.fake_habits import broker_versions
from support.fake_quorum import FakeQuorum
from support.seeds import examples
from support.simulation import Simulation

SEEDS = int(os.environ.get("METASHELL_SEEDS", examples(50)))
FIRST = int(os.environ.get("METASHELL_FIRST_SEED", "0"))
BLOCK = 25

CHAOS_S = 12.0
"""How long things go wrong."""
SETTLE_S = 90.0
"""How long catching up may take then, at the most."""
LATE_S = 0.3
"""How long after its patience an observer may end: the steps of the simulated clock."""
IN_VAIN_MAX = 150
"""Requests and connections in a second that bring nothing."""

STATE_EVENTS = {
    ObserverState.CHOOSING: set(),
    ObserverState.CONNECTING: {Connected, NotConnected},
    ObserverState.OPENING: {Received, Lost, Elapsed},
    ObserverState.FETCHING: {Received, Lost, Elapsed},
    ObserverState.FETCHING_SNAPSHOT: {Received, Lost, Elapsed},
    ObserverState.DESCRIBING: {Received, Lost, Elapsed},
    ObserverState.IDENTIFYING: {Received, Lost, Elapsed},
    ObserverState.WAITING: {Elapsed},
    ObserverState.FAILED: set(),
}
"""What an action of each state can cause."""


def digest_of(loaded: object) -> str:
    """The digest of an image."""
    records = Records(loaded, load_registry())  # type: ignore[arg-type]
    return image_digest(part_digests(Image(records), Redaction(False)))


class World(Simulation):
    """A quorum, its chaos, and the clock."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        faults = Faults(random.Random(seed + 1))
        super().__init__(FakeQuorum(rng.choice([1, 3, 3, 5])), faults)
        self.chaos_s = CHAOS_S
        self.n_steps = 0
        self.in_vain: dict[int, int] = {}
        self.high_watermarks: set[int] = set()
        level = rng.choice([0.0, 0.02, 0.1, 0.3])
        for name in ("error", "silence", "close", "damage", "slow", "throttle"):
            chance = rng.choice([0.0, level])
            setattr(self.faults, name, chance / 5 if name == "silence" else chance)
        for controller in self.quorum.controllers.values():
            habits = controller.habits
            high = rng.randint(12, 18)
            habits.versions[Api.FETCH] = (rng.choice([0, 4, 12]), high)
            habits.versions[Api.FETCH_SNAPSHOT] = (0, rng.randint(0, 1))
            habits.versions[Api.DESCRIBE_QUORUM] = (0, rng.randint(0, 2))
            habits.versions[Api.API_VERSIONS] = (0, rng.choice([3, 4, 4]))
            if rng.random() < 0.2:
                del habits.versions[Api.DESCRIBE_QUORUM]
            if rng.random() < 0.2:
                del habits.versions[Api.DESCRIBE_CLUSTER]
            habits.may_describe_quorum = rng.random() < 0.8
            habits.may_describe_cluster = rng.random() < 0.5
            habits.hides_snapshot_errors = rng.random() < 0.7
            habits.max_bytes = rng.choice([150, 700, 5000, 1 << 30])
        self.unreachable_names = rng.random() < 0.15
        if self.unreachable_names:
            for controller in self.quorum.controllers.values():
                controller.host = f"inside-{controller.id}"
        self.is_over = False
        self.next_event = rng.expovariate(2.0)
        for _ in range(rng.choice([0, 1, 30])):
            self.quorum.append(rng.randint(1, 4))
        self.quorum.commit()
        if rng.random() < 0.4:
            self.quorum.snapshot()
            self.quorum.trim()
        self.note_watermarks()

    def addresses(self) -> list[Address]:
        """What an observer is told: some controllers, a broker or nobody among them."""
        ids = list(self.quorum.controllers)
        # Where nobody tells where the leader listens all have to be given.
        tells = all(
            c.habits.versions[Api.FETCH][1] >= 17
            or (c.habits.may_describe_cluster and Api.DESCRIBE_CLUSTER in c.habits.versions)
            for c in self.quorum.controllers.values()
        )
        if tells and not self.unreachable_names:
            ids = self.rng.sample(ids, self.rng.randint(1, len(ids)))
        with_ids = self.rng.random() < 0.3
        found = [Address(f"controller-{i}", 9093, i if with_ids else None) for i in ids]
        if self.rng.random() < 0.2:
            found.insert(self.rng.randint(0, len(found)), Address("nobody", 9093))
        if self.rng.random() < 0.1:
            found.insert(self.rng.randint(0, len(found)), Address("broker", 9092))
        return found

    # Time, and what happens in it.

    def advance(self, until: float) -> None:
        """Let time pass, up to the next thing that happens in the quorum."""
        if not self.is_over and until >= self.chaos_s:
            self.is_over = True
            self.now = max(self.now, self.chaos_s)
            self.faults.stop()
            self.quorum.stabilize()
            self.note_watermarks()
            return
        if not self.is_over and self.next_event <= until:
            self.now = max(self.now, self.next_event)
            self.next_event = self.now + self.rng.expovariate(self.rng.choice([1.0, 20.0]))
            self.happen()
            self.note_watermarks()
            return
        self.now = max(self.now, until)

    def note_watermarks(self) -> None:
        """Remember which watermarks controllers told."""
        self.high_watermarks.update(c.high_watermark for c in self.quorum.controllers.values())

    def happen(self) -> None:
        """Something happens in the quorum."""
        quorum, rng = self.quorum, self.rng
        ids = list(quorum.controllers)
        what = rng.choice(
            ["append"] * 6
            + ["commit"] * 4
            + ["elect"] * 2
            + ["snapshot", "trim", "lose", "kill", "restart", "restart", "stop"]
        )
        if what in {"append", "commit"} and quorum.leader is None:
            what = "elect"
        if what == "append":
            for _ in range(rng.randint(1, 3)):
                quorum.append(rng.randint(1, 4))
        elif what == "commit":
            lagging = rng.sample(ids, rng.randint(0, (len(ids) - 1) // 2))
            quorum.commit(keep_back=rng.choice([0, 0, 1, 2]), lagging=lagging)
        elif what == "elect":
            able = [i for i in ids if quorum.can_lead(i)]
            if able:
                chosen = rng.choice(able)
                others = [i for i in ids if i != chosen]
                quorum.elect(chosen, unaware=rng.sample(others, rng.randint(0, len(others))))
        elif what == "snapshot" and quorum.leader is not None:
            quorum.snapshot(rng.choice([quorum.leader.id, rng.choice(ids)]))
        elif what == "trim":
            quorum.trim(rng.choice(ids))
        elif what == "lose":
            quorum.lose_leader()
        elif what == "kill":
            # Not more than may fail: who is left has all that was committed.
            if sum(c.is_up for c in quorum.controllers.values()) > len(ids) // 2 + 1:
                quorum.kill(rng.choice(ids))
        elif what == "restart":
            quorum.restart(rng.choice(ids))
        elif what == "stop" and quorum.leader is not None:
            quorum.leader.is_stopping = True

    def reached(self, address: Address) -> FakeConnection | None:
        """As ever, but that there may be a broker, some time passes, and hosts may be away."""
        self.advance(self.now + 0.001)
        if address.host == "broker":
            broker = FakeQuorum(1).controllers[1]
            broker.habits.versions = broker_versions()
            return FakeConnection(broker)
        found = super().reached(address)
        if found is None and self.rng.random() < 0.3:
            away = FakeQuorum(1).controllers[1]
            away.hangs = True
            return FakeConnection(away)
        return found


class Run:
    """An observer in a world, watched."""

    def __init__(self, seed: int, *, follow: bool) -> None:
        self.world = World(seed)
        self.log = LiveLog()
        rng = random.Random(seed + 2)
        self.observer = Observer(
            self.world.addresses(),
            self.log,
            follow=follow,
            cluster_id=rng.choice([None, self.world.quorum.cluster_id]),
            patience_s=300.0 if follow else rng.choice([5.0, 30.0]),
            jitter=rng.random,
        )
        self._state = self.observer.facts.state
        self._generation = 0
        self._progress: object = None
        self.is_told_the_truth = True

    def step(self) -> bool:
        """One action and what it causes; False where there is nothing more to do."""
        world, observer = self.world, self.observer
        world.n_steps += 1
        action = observer.action(world.now)
        self.check_state()
        if isinstance(action, Stop):
            return False
        event = world.carry_out(action)
        assert type(event) in STATE_EVENTS[observer.facts.state]
        observer.tell(event, world.now)
        self.check_state()
        self.check_log()
        self.check_pace(action)
        return observer.facts.follow or not observer.facts.is_ready

    def check_state(self) -> None:
        """States follow each other as documented."""
        before, self._state = self._state, self.observer.facts.state
        if before is self._state:
            return
        assert self._state in SUCCESSORS[before], f"{before} to {self._state}"

    def check_log(self) -> None:
        """Nothing counts that is not committed, and what counts is what was committed."""
        log, quorum = self.log, self.world.quorum
        assert len(self.observer.facts.notes) <= NOTES_MAX
        if log.generation == self._generation or not self.is_told_the_truth:
            return
        self._generation = log.generation
        assert log.committed_end <= quorum.committed_end
        newest = max(self.world.high_watermarks, default=-1)
        assert log.committed_end <= newest
        if log._n_committed:
            batch = next(b for b in quorum.history if b.last == log.committed_end - 1)
            assert log._epochs[log._n_committed - 1] == batch.epoch

    def check_pace(self, action: Connect | Read | Sleep) -> None:
        """No circles: what brings nothing is not asked for again and again."""
        if not (isinstance(action, Connect) or (isinstance(action, Read) and action.send)):
            return
        observer, second = self.observer, int(self.world.now)
        progress = (self.log.end_offset, self.log.committed_end, observer.facts.snapshot_progress)
        in_vain = self.world.in_vain
        in_vain[second] = in_vain.get(second, 0) + (progress == self._progress)
        self._progress = progress
        assert in_vain[second] <= IN_VAIN_MAX, f"{in_vain[second]} requests in vain in a second"
        for api, _, body in self.world.peer.requests[-1:] if self.world.peer else ():
            if api in {Api.FETCH, Api.FETCH_SNAPSHOT}:
                assert body["replica_id"] == -1
                assert body.get("replica_state", body)["replica_id"] == -1
                part = body["topics"][0]["partitions"][0]
                assert part["current_leader_epoch"] >= 0
                assert part.get("fetch_offset", 0) >= 0
                assert 0 <= part.get("last_fetched_epoch", 0) <= part["current_leader_epoch"]

    def check_end(self, *, folds: bool = True) -> None:
        """All that was committed is here, byte for byte, and becomes the image that it is."""
        history = self.world.quorum.history
        found, _, _ = self.log.metadata_log("quorum")
        segment = found.path_of(found.listing.segments[0].name)
        assert isinstance(segment, MemoryFile)
        committed = b"".join(b.data for b in history if b.last < self.log.committed_end)
        expected = b"".join(
            b.data
            for b in history
            if self.log.base_offset <= b.base and b.last < self.log.committed_end
        )
        assert bytes(segment.content) == expected
        if not folds:
            return
        whole = load([MemoryFile("00000000000000000000.log", memoryview(committed))])
        assert digest_of(found.loaded) == digest_of(whole)


def failing(seeds: Iterator[int], run: Callable[[int], None]) -> None:
    """Run seeds; say which failed."""
    for seed in seeds:
        try:
            run(seed)
        except Exception as e:
            raise AssertionError(f"seed {seed}: {type(e).__name__}: {e}") from e


def follows(seed: int) -> None:
    """One that follows: it catches up once all is well."""
    run = Run(seed, follow=True)
    world = run.world
    while not world.is_over or run.log.committed_end < world.quorum.committed_end:
        if not run.step():
            # Where nothing but final answers came it may have ended, and says why.
            assert run.observer.facts.error is not None
            check_error(run.observer.facts.error)
            return
        assert world.now < CHAOS_S + SETTLE_S, f"still {run.observer.facts.state.value}"
        assert world.n_steps < 60_000
    assert run.log.committed_end == world.quorum.committed_end
    run.check_end(folds=False)
    # And it goes on from there.
    world.quorum.append(3)
    world.quorum.commit()
    world.note_watermarks()
    limit = world.now + 5
    while run.log.committed_end < world.quorum.committed_end:
        assert run.step()
        assert world.now < limit
    run.check_end()


def fetches_once(seed: int) -> None:
    """One that fetches what is there: it ends, with that or with a sentence."""
    run = Run(seed, follow=False)
    world = run.world
    while run.step():
        assert world.now < CHAOS_S + SETTLE_S, f"still {run.observer.facts.state.value}"
        assert world.n_steps < 60_000
    end = run.observer.gives_up_at
    assert end is not None
    assert world.now <= end + LATE_S, f"{world.now - end:.1f} s after its patience"
    if run.observer.facts.error is not None:
        check_error(run.observer.facts.error)
        return
    assert run.observer.facts.is_caught_up
    run.check_end()


def lied_to(seed: int) -> None:
    """One that is told lies: it sends sound requests, not too many, and does not break."""
    run = Run(seed, follow=seed % 2 == 0)
    world = run.world
    world.faults = Lies(random.Random(seed + 3), error=0.05)
    world.chaos_s = 1e9
    run.is_told_the_truth = False
    while world.n_steps < 1000 and world.now < 120 and run.step():
        pass
    if run.observer.facts.error is not None:
        check_error(run.observer.facts.error)


def check_error(error: object) -> None:
    """It is a sentence for people."""
    assert isinstance(error, SourceError)
    assert len(error.message) > 10
    assert "\n" not in error.message
    assert not error.message.endswith(".")


@pytest.mark.parametrize("block", range(FIRST, FIRST + SEEDS, BLOCK))
def test_catches_up(block: int) -> None:
    """After the chaos all that was committed is here, byte for byte."""
    failing(iter(range(block, min(block + BLOCK, FIRST + SEEDS))), follows)


@pytest.mark.parametrize("block", range(FIRST, FIRST + SEEDS, BLOCK))
def test_fetches_once(block: int) -> None:
    """A fetch in the midst of chaos ends with a prefix of what was committed, or an error."""
    failing(iter(range(block, min(block + BLOCK, FIRST + SEEDS))), fetches_once)


@pytest.mark.parametrize("block", range(FIRST, FIRST + SEEDS, 4 * BLOCK))
def test_lies(block: int) -> None:
    """Numbers that no checksum covers may say anything: nothing breaks, nothing runs in circles."""
    failing(iter(range(block, block + examples(min(BLOCK, FIRST + SEEDS - block)))), lied_to)


@pytest.mark.parametrize("patience_s", [0.7, 8.0])
@pytest.mark.parametrize("kind", Stuck.KINDS)
def test_no_progress(kind: str, patience_s: float) -> None:
    """Whatever a leader does but let the log grow, `--timeout` ends it, and little is kept."""
    world = Simulation(_stuck_quorum(), Stuck(kind))
    log = LiveLog()
    observer = Observer(
        [Address("controller-1", 9093)],
        log,
        patience_s=patience_s,
        jitter=lambda: 0.5,
    )
    assert not world.run(observer, 600.0)
    check_error(observer.facts.error)
    assert world.now <= 3 * patience_s + LATE_S
    assert world.n_requests <= IN_VAIN_MAX * (1 + world.now)
    assert _n_kept(log) <= 2 * (1 << 20)


@pytest.mark.parametrize("kind", Stuck.KINDS)
def test_gets_over_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that follows runs in no circles, ends each call, and goes on when the leader is well."""
    monkeypatch.setattr(live, "_HELD_MAX", 1 << 14)
    quorum = _stuck_quorum()
    world, log = Simulation(quorum), LiveLog()
    observer = Observer([Address("controller-1", 9093)], log, follow=True, patience_s=8.0)
    world.run(observer, 2.0)
    assert observer.facts.is_caught_up
    world.faults = Stuck(kind)
    assert world.peer is not None
    world.peer.faults = world.faults
    for second in range(3, 60):
        before, n_kept = world.n_requests, _n_kept(log)
        assert world.run(observer, float(second))
        assert world.n_requests - before <= IN_VAIN_MAX or _n_kept(log) > n_kept
        assert _n_kept(log) <= 2 * (1 << 20)
    world.faults = Faults()
    if world.peer is not None:
        world.peer.faults = world.faults
    quorum.append(3)
    quorum.commit()
    world.run(observer, 100.0)
    assert quorum.committed_end == log.committed_end


def _stuck_quorum() -> FakeQuorum:
    quorum = FakeQuorum(1)
    quorum.append(10)
    quorum.commit()
    quorum.controllers[1].habits.hides_snapshot_errors = False
    return quorum


def _n_kept(log: LiveLog) -> int:
    """Bytes that are held of what came."""
    return log._buffer.size + (log._incoming.buffer.size if log._incoming else 0)


@pytest.mark.parametrize("grows", [False, True])
def test_two_that_name_each_other(grows: bool) -> None:
    """Controllers of which each names the other as the leader are not asked for ever."""
    quorum = FakeQuorum(2)
    for node_id, controller in quorum.controllers.items():
        controller.leader_id = 3 - node_id

    class Elects(Faults):
        """Each answer is of a newer epoch."""

        def deliver(self, frame: bytes, now: float) -> list[tuple[float, bytes | None]]:
            for controller in quorum.controllers.values():
                controller.epoch += grows
            return super().deliver(frame, now)

    world = Simulation(quorum, Elects())
    observer = Observer([Address("controller-1", 9093)], LiveLog(), patience_s=8.0)
    assert not world.run(observer, 600.0)
    check_error(observer.facts.error)
    assert world.now <= 8.0 + LATE_S
    assert world.n_requests + world.n_connections <= IN_VAIN_MAX * 8


def test_every_pair_has_a_transition() -> None:
    """The table has every state and event; what no action causes is an error in the program."""
    assert set(TRANSITIONS) == {(state, event) for state in ObserverState for event in EVENTS}
    made: dict[type, Event] = {
        Connected: Connected(Address("h", 1)),
        NotConnected: NotConnected(Address("h", 1), "refused"),
        Received: Received(1),
        Lost: Lost("closed"),
        Elapsed: Elapsed(),
    }
    for (state, event), handle in TRANSITIONS.items():
        is_possible = event in STATE_EVENTS[state]
        assert (handle is not Observer._never) == is_possible
        if not is_possible:
            observer = Observer([Address("controller-1", 9093)], LiveLog())
            observer.facts.state = state
            with pytest.raises(AssertionError, match="in state"):
                observer.tell(made[event], 0.0)


def test_successors_are_documented() -> None:
    """Each state has its successors, and all can be reached."""
    assert set(SUCCESSORS) == set(ObserverState)
    reached = {ObserverState.CHOOSING}
    while more := {s for state in reached for s in SUCCESSORS[state]} - reached:
        reached |= more
    assert reached == set(ObserverState)
