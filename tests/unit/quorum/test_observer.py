"""The observer in single situations; `tests/property/test_observer.py` has all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metashell.log.live import LiveLog
from metashell.quorum.observer import Observer
from metashell.quorum.protocol import Api
from metashell.quorum.steps import ObserverState
from metashell.security.settings import Address
from support.fake_connection import FakeConnection
from support.fake_faults import Faults
from support.fake_habits import broker_versions
from support.fake_quorum import FakeQuorum
from support.simulation import Simulation

Fields = dict[str, Any]


def observer_of(*ids: int, **options: Any) -> Observer:
    """An observer that is told of some controllers."""
    addresses = [Address(f"controller-{i}", 9093) for i in ids]
    options = {"follow": True, "jitter": lambda: 0.5, **options}
    return Observer(addresses, LiveLog(), **options)


class Scripted(Faults):
    """Changes the answers to one API."""

    def __init__(self, api: Api, change: Callable[[Fields], Fields]) -> None:
        super().__init__()
        self._api, self._change = api, change

    def spoil(self, api: Api, fields: Fields) -> Fields:
        """Change the answer's partition."""
        if api is not self._api:
            return fields
        key = "responses" if api is Api.FETCH else "topics"
        topic = fields[key][0]
        part = self._change(dict(topic["partitions"][0]))
        return fields | {key: [topic | {"partitions": [part]}]}


def quorum_of(n: int = 1, n_records: int = 10) -> FakeQuorum:
    """A quorum with some records."""
    quorum = FakeQuorum(n)
    quorum.append(n_records)
    quorum.commit()
    return quorum


def messages(observer: Observer) -> str:
    """What it ended with."""
    assert observer.facts.state is ObserverState.FAILED
    assert observer.facts.error is not None
    return observer.facts.error.message


def test_idle() -> None:
    """Nothing new: a request each half second, and a description each two seconds."""
    world, observer = Simulation(quorum_of()), observer_of(1)
    assert world.run(observer, 20.0)
    assert observer.facts.is_ready
    assert world.n_connections == 1
    assert world.n_requests <= 40 + 10 + 5


def test_leader_that_does_not_wait() -> None:
    """Empty answers that come at once are not asked for without a pause."""
    quorum = quorum_of()
    leader = quorum.controllers[1]
    leader.is_worth_an_answer = lambda *_: True  # type: ignore[method-assign]
    world, observer = Simulation(quorum), observer_of(1)
    assert world.run(observer, 10.0)
    assert world.n_requests < 10 * 21 + 10


@pytest.mark.parametrize("version", [17, 18])
def test_held_back(version: int) -> None:
    """What is not committed is waited for in short turns, unless the leader wakes us."""
    quorum = quorum_of()
    quorum.controllers[1].habits.versions[Api.FETCH] = (4, version)
    world, observer = Simulation(quorum), observer_of(1)
    world.run(observer, 1.0)
    quorum.append(2)
    before = world.n_requests
    world.run(observer, 3.0)
    assert observer.facts.store.committed_end == observer.facts.store.end_offset - 2
    assert world.n_requests - before < (45 if version < 18 else 10)
    quorum.commit()
    world.run(observer, 3.6)
    assert observer.facts.store.committed_end == quorum.committed_end


def test_leader_that_hangs_up() -> None:
    """A leader that closes after each answer is not called again and again."""

    class HangsUp(Faults):
        def instead_of(self, api: Api, version: int) -> Any:
            return "close" if api is Api.DESCRIBE_QUORUM else None

    quorum = quorum_of()
    quorum.leader.high_watermark = -1  # type: ignore[union-attr]
    world, observer = Simulation(quorum, HangsUp()), observer_of(1, patience_s=1e6)
    assert world.run(observer, 1.0)
    before = world.n_connections
    assert world.run(observer, 21.0)
    assert world.n_connections - before < 20


def test_diverges_for_ever() -> None:
    """A leader whose log diverges at every offset is given up, in a sentence."""
    faults = Scripted(
        Api.FETCH, lambda part: part | {"diverging_epoch": {"epoch": 1, "end_offset": 0}}
    )
    world, observer = Simulation(quorum_of(), faults), observer_of(1, follow=False)
    assert not world.run(observer, 60.0)
    assert "it says that the log diverges at offset 0, where it begins" in messages(observer)
    assert observer.facts.notes == ()
    assert world.n_requests < 200


@pytest.mark.parametrize(
    ("cluster_id", "reason"),
    [
        (None, "it refuses the cluster's id (INCONSISTENT_CLUSTER_ID), though none was sent"),
        ("mine", "it belongs to a cluster other than `--cluster-id`"),
    ],
)
def test_refused_cluster_id(cluster_id: str | None, reason: str) -> None:
    """The option is named only where it was given."""

    class Refuses(Faults):
        def instead_of(self, api: Api, version: int) -> Any:
            return {"error_code": 104} if api is Api.FETCH else None

    world = Simulation(quorum_of(), Refuses())
    observer = observer_of(1, cluster_id=cluster_id)
    assert not world.run(observer, 60.0)
    assert messages(observer) == f"controller-1:9093: {reason}"


def test_diverges_where_nothing_does() -> None:
    """Nor is one believed that says so of what it can't be true of."""
    quorum = quorum_of()
    quorum.append(2)
    world, observer = Simulation(quorum), observer_of(1)
    world.run(observer, 1.0)
    end = observer.facts.store.end_offset
    assert end > observer.facts.store.committed_end
    world.faults = Scripted(
        Api.FETCH, lambda part: part | {"diverging_epoch": {"epoch": 99, "end_offset": 99}}
    )
    assert world.peer is not None
    world.peer.faults = world.faults
    before = world.n_requests
    world.run(observer, 5.0)
    assert observer.facts.store.end_offset == end
    assert world.n_requests - before < 60
    assert "diverges" in (observer.facts.problem or "")


def test_the_same_snapshot_again_and_again() -> None:
    """A leader that offers a snapshot for what it gave is given up."""
    quorum = quorum_of()
    snapshot = quorum.snapshot()
    quorum.trim()
    assert snapshot is not None
    faults = Scripted(
        Api.FETCH,
        lambda part: (
            part | {"snapshot_id": dict(zip(("end_offset", "epoch"), snapshot, strict=True))}
        ),
    )
    world, observer = Simulation(quorum, faults), observer_of(1, follow=False)
    assert not world.run(observer, 100.0)
    assert "it keeps offering a snapshot that was already fetched" in messages(observer)
    assert world.n_requests < 500
    assert len(observer.facts.notes) == 1


def test_records_that_are_no_batch() -> None:
    """Bytes without a whole batch are bad, not nothing."""
    faults = Scripted(Api.FETCH, lambda part: part | {"records": part["records"][:40]})
    world, observer = Simulation(quorum_of(), faults), observer_of(1, follow=False)
    assert not world.run(observer, 60.0)
    assert "not a whole batch" in messages(observer)
    assert world.n_requests < 200


def test_candidate_that_nobody_votes_for() -> None:
    """An epoch without a leader does not draw us away from the leader that there is."""
    quorum = quorum_of(3)
    lonely = quorum.controllers[3]
    lonely.epoch, lonely.leader_id = 7, None
    world, observer = Simulation(quorum), observer_of(3, 2)
    assert world.run(observer, 2.0)
    assert observer.facts.is_caught_up
    assert observer.facts.epoch == 1


def test_epoch_that_nobody_knows() -> None:
    """Where our epoch is ahead of all for long, the quorum is a new one."""
    quorum = quorum_of(3)
    world, observer = Simulation(quorum), observer_of(1, 2, 3)
    observer.facts.epoch = 50
    assert world.run(observer, 100.0)
    assert observer.facts.is_caught_up
    assert observer.facts.epoch == 1
    assert observer.facts.notes == ("no controller knows leader epoch 50: going on with 1",)


def test_a_broker_among_them() -> None:
    """One address that is of no use does not end it while the others elect a leader."""
    quorum = quorum_of(3)
    quorum.controllers[3].habits.versions = broker_versions()
    quorum.lose_leader()
    world, observer = Simulation(quorum), observer_of(3, 2, 1, follow=False)
    assert world.run(observer, 3.0)
    quorum.elect(1)
    quorum.commit()
    assert not world.run(observer, 10.0)
    assert observer.facts.error is None
    assert observer.facts.is_caught_up


def test_leader_that_refuses() -> None:
    """Where the leader refuses us for good there is nothing to wait for."""
    quorum = quorum_of(2)
    quorum.controllers[1].habits.may_fetch = False
    world, observer = Simulation(quorum), observer_of(2)
    assert not world.run(observer, 10.0)
    assert "CLUSTER_ACTION" in messages(observer)
    assert world.now < 1


def test_throttled() -> None:
    """Who is asked for patience has some."""
    quorum = quorum_of()
    quorum.controllers[1].habits.throttle_ms = 1000
    world, observer = Simulation(quorum), observer_of(1)
    world.run(observer, 20.0)
    assert world.n_requests <= 24


def test_slow_but_steady() -> None:
    """A large answer on a slow line takes longer than our patience, and is waited for."""
    quorum = quorum_of(1, 10)
    quorum.append(values=[bytes(400_000)])
    quorum.commit()

    class Slow(Faults):
        def deliver(self, frame: bytes, now: float) -> list[tuple[float, bytes | None]]:
            step = 20_000
            return [(now + i / step, frame[i : i + step]) for i in range(0, len(frame), step)]

    world, observer = Simulation(quorum, Slow()), observer_of(1, follow=False, patience_s=8.0)
    assert not world.run(observer, 100.0)
    assert observer.facts.error is None
    assert world.now > 16
    assert observer.facts.is_caught_up


def test_silence_is_not_waited_for() -> None:
    """A leader that sends nothing ends our patience."""
    world = Simulation(quorum_of(), Faults(silence=1.0))
    observer = observer_of(1, follow=False, patience_s=15.0)
    assert not world.run(observer, 100.0)
    assert messages(observer) == (
        "no leader was found within 15 s: controller-1:9093: it does not answer"
    )
    assert world.now < 15.5


def test_leader_that_has_resigned() -> None:
    """It is not told that another one leads, as it is the one that it names."""
    quorum = quorum_of(2)
    quorum.controllers[1].has_resigned = True
    observer = observer_of(1, 2, follow=False, patience_s=1.0)
    assert not Simulation(quorum).run(observer, 100.0)
    message = messages(observer)
    itself = "it is controller 1, which does not lead in epoch 1 yet or any more"
    assert f"controller-1:9093: {itself}" in message
    assert "controller-2:9093: it does not lead: it names controller 1 as the leader" in message


# Two clusters.


class TwoQuorums(Simulation):
    """Besides controllers of the quorum, ``other-n`` listens, of another one."""

    def __init__(self, quorum: FakeQuorum, other: FakeQuorum) -> None:
        super().__init__(quorum)
        self.other = other

    def reached(self, address: Address) -> FakeConnection | None:
        """Either."""
        kind, _, number = address.host.partition("-")
        if kind != "other":
            return super().reached(address)
        return FakeConnection(self.other.controllers[int(number)])


def other_quorum(n_elections: int = 3) -> FakeQuorum:
    """One that would have what comes next."""
    other = FakeQuorum(1, cluster_id="another-cluster")
    other.controllers[1].host = "other-1"
    for _ in range(n_elections):
        other.append(10)
        other.elect(1)
    other.commit()
    return other


@pytest.mark.parametrize("n_elections", [0, 4, 8], ids=["earlier", "same", "later"])
def test_another_cluster(n_elections: int) -> None:
    """Of two clusters the one is followed that led first, whatever epoch the other is in."""
    quorum = quorum_of()
    for _ in range(4):
        quorum.elect(1)
    quorum.commit()
    world = TwoQuorums(quorum, other_quorum(n_elections))
    addresses = [Address("controller-1", 9093), Address("other-1", 9093)]
    observer = Observer(addresses, LiveLog(), follow=True, jitter=lambda: 0.5)
    world.run(observer, 5.0)
    end = observer.facts.store.committed_end
    assert end == quorum.committed_end
    quorum.kill(1)
    told = []
    for second in range(6, 200):
        world.run(observer, float(second))
        told.append(observer.facts.problem or "")
        assert observer.facts.store.committed_end == observer.facts.store.end_offset == end
    reason = "other-1:9093: it belongs to another cluster than the one followed"
    assert any(reason in problem for problem in told)
    assert not [problem for problem in told if "is over" in problem]
    assert observer.facts.epoch == 5
    quorum.restart(1)
    quorum.elect(1)
    quorum.append(3)
    quorum.commit()
    world.run(observer, 230.0)
    assert observer.facts.store.committed_end == quorum.committed_end
    assert observer.facts.notes == ()


# Controllers that hang.


@pytest.mark.parametrize("given", [(1, 2, 3), (1, 3), (3, 1, 2)])
def test_one_that_hangs(given: tuple[int, ...]) -> None:
    """Others are tried beside it after a second."""
    quorum = quorum_of(3)
    quorum.elect(2)
    quorum.commit()
    quorum.hang(1)
    world, observer = Simulation(quorum), observer_of(*given, follow=False)
    assert not world.run(observer, 60.0)
    assert observer.facts.is_caught_up
    assert world.now < 1.5


def test_leader_that_hangs() -> None:
    """Who does not lead says that it does, until another one is elected: that is found soon."""
    quorum = quorum_of(3)
    quorum.hang(1)
    world, observer = Simulation(quorum), observer_of(1, 2, 3, follow=False)
    assert world.run(observer, 3.0)
    quorum.elect(2)
    quorum.commit()
    assert not world.run(observer, 60.0)
    assert observer.facts.is_caught_up
    assert world.now < 3.0 + 4.0


def test_leader_that_is_slow() -> None:
    """One that needs long for the first answer is reached, though others are sooner each time."""

    class Slow(Faults):
        def deliver(self, frame: bytes, now: float) -> list[tuple[float, bytes | None]]:
            return [(now + 3.0, frame)]

    class World(Simulation):
        def reached(self, address: Address) -> FakeConnection | None:
            found = super().reached(address)
            if found is not None and found.controller.id == 1:
                found.faults = Slow()
            return found

    world, observer = World(quorum_of(3)), observer_of(2, 1, 3, follow=False)
    assert not world.run(observer, 100.0)
    assert observer.facts.is_caught_up
    assert world.now < 30


def test_all_hang() -> None:
    """Each has its reason, and the time is what was given."""
    quorum = quorum_of(3)
    for node_id in (1, 2, 3):
        quorum.hang(node_id)
    world, observer = Simulation(quorum), observer_of(1, 2, 3, follow=False, patience_s=8.0)
    assert not world.run(observer, 60.0)
    said = "; ".join(f"controller-{i}:9093: it does not answer" for i in (1, 2, 3))
    assert messages(observer) == f"no leader was found within 8 s: {said}"
    assert world.now < 8.5


@pytest.mark.parametrize("patience_s", [0.05, 0.7, 1.5, 8.0])
@pytest.mark.parametrize("scene", ["hangs", "throttles", "elects", "away", "silent"])
def test_patience_is_not_outlasted(scene: str, patience_s: float) -> None:
    """Whatever is waited for, it ends when it was told to."""
    quorum, faults = quorum_of(3), Faults()
    if scene == "hangs":
        quorum.hang(1)
        quorum.hang(2)
    elif scene == "elects":
        quorum.lose_leader()
    elif scene == "away":
        quorum.kill(1)
    elif scene == "throttles":
        for controller in quorum.controllers.values():
            controller.habits.throttle_ms = 30_000
    else:
        faults.silence = 1.0
    world = Simulation(quorum, faults)
    observer = observer_of(1, 2, 3, follow=False, patience_s=patience_s)
    assert not world.run(observer, 60.0)
    assert f"within {patience_s:g} s" in messages(observer)
    assert world.now <= patience_s + 0.3


def test_every_address_has_its_reason() -> None:
    """An error names each address once, with what it gave."""
    quorum = quorum_of(2)
    quorum.lose_leader()
    quorum.kill(2)
    observer = observer_of(1, 2, 3, follow=False, patience_s=3.0)
    quorum.controllers[3] = quorum.controllers[2]
    assert not Simulation(quorum).run(observer, 100.0)
    message = messages(observer)
    assert message.startswith("no leader was found within 3 s: ")
    for address in ("controller-1:9093", "controller-2:9093", "controller-3:9093"):
        assert message.count(address) == 1
    assert message.count("connection refused") == 2
    assert "it knows no leader of epoch 2" in message


def test_who_is_cut_short_keeps_its_reason() -> None:
    """An answer that our patience does not wait for says less than the one before it."""

    class Tires(Faults):
        """Answers at first, and then no more."""

        def deliver(self, frame: bytes, now: float) -> list[tuple[float, bytes | None]]:
            return super().deliver(frame, now) if now < 2 else []

    quorum = quorum_of(2)
    quorum.lose_leader()
    observer = observer_of(1, 2, follow=False, patience_s=3.0)
    assert not Simulation(quorum, Tires()).run(observer, 100.0)
    assert messages(observer).count("it knows no leader of epoch 2") == 2
    assert "does not answer" not in messages(observer)


def test_last_leader_comes_back() -> None:
    """What a last leader did not get committed goes away when it follows the next one."""
    quorum = quorum_of(3)
    world, observer = Simulation(quorum), observer_of(1, 2, 3)
    quorum.append(5)
    world.run(observer, 1.0)
    end = observer.facts.store.end_offset
    assert end == quorum.committed_end + 5
    quorum.elect(2)
    quorum.append(1)
    quorum.commit()
    world.run(observer, 3.0)
    assert observer.facts.leader_id == 2
    assert (
        observer.facts.store.committed_end
        == observer.facts.store.end_offset
        == quorum.committed_end
    )
    assert observer.facts.store.end_offset < end
    assert observer.facts.notes == ()
