"""Answers about partitions and brokers are those of plain Python over a plain replay.

Clusters are drawn small and odd: brokers fenced, shutting down or unknown, directories of every
kind, replicas named twice, lists that are empty, configs that can't be read.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metashell
from kraftgen.batch import encode_batch
from metashell.answers import brokers as answered_brokers
from metashell.answers.assume import Assumptions
from metashell.answers.brokers import (
    brokers_table,
    racks_table,
    summary_table,
    unknown_brokers,
    without_table,
)
from metashell.answers.health import LOOKS_AT, Health
from metashell.answers.partitions import choose, partitions_table
from metashell.answers.topics import topics_table
from metashell.image.image import Image
from metashell.redact import Redaction
from metashell.schema import arena
from metashell.schema.uuids import uuid_text
from support.logs import make_directory, record
from support.plain_batches import read_records
from support.replay import State, _decoded, _Replayer
from support.seeds import seeds
from support.stories import Teller
from support.strategies import builtin_registry

Fields = dict[str, Any]
Row = dict[str, Any]

MIGRATING, UNASSIGNED, LOST = (bytes(15) + bytes([i]) for i in (0, 1, 2))
"""Kafka's reserved directory ids, by their numbers in org.apache.kafka.common.DirectoryId."""
DIRECTORY_A, DIRECTORY_B = bytes([9]) * 16, bytes([200]) * 16
ANY_DIRECTORY = st.sampled_from([MIGRATING, UNASSIGNED, LOST, DIRECTORY_A, DIRECTORY_B])
ELR_FEATURE = "eligible.leader.replicas.version"
ODD_BROKERS = [-7, 2**31 - 1]
NUMBERS = ["1", "2", " 3 ", "+2", "0004", "0", "-1", "x", "", "9" * 12, "9" * 5_000, "²"]
TRUTHS = ["true", "FALSE", " True ", "yes", ""]

brokers = st.sampled_from([1, 1, 2, 2, 3, 4, *ODD_BROKERS])
lists = st.lists(brokers, max_size=4)
few = st.lists(brokers, max_size=2)


# Clusters.


@st.composite
def clusters(draw: st.DrawFn) -> list[bytes]:
    """Draw the records of a cluster."""
    out = []
    level = draw(st.sampled_from([None, 0, 1, 1, 2]))
    if level is not None:
        out.append(record("FeatureLevelRecord", name=ELR_FEATURE, feature_level=level))
    for node in draw(st.lists(brokers, unique=True, max_size=5)):
        out.append(
            record(
                "RegisterBrokerRecord",
                broker_id=node,
                fenced=draw(st.sampled_from([False, False, True])),
                in_controlled_shutdown=draw(st.sampled_from([False, False, False, True])),
                log_dirs=draw(st.lists(ANY_DIRECTORY, max_size=2, unique=True)),
                rack=draw(st.sampled_from([None, "", "r1", "r2"])),
            )
        )
    names = draw(st.permutations(["b", "a", "é", "__consumer_offsets"]))
    for i, name in enumerate(names[: draw(st.integers(0, 4))]):
        topic_id = bytes([i + 1]) * 16
        out.append(record("TopicRecord", name=name, topic_id=topic_id))
        ids = st.integers(0, 5) | st.sampled_from([-1, 2**31 - 1])
        for number in draw(st.lists(ids, unique=True, max_size=4)):
            out += draw(partitions(topic_id, number))
    for resource, key, values in draw(st.lists(configs(), max_size=6)):
        kind, name = resource
        out.append(
            record("ConfigRecord", resource_type=kind, resource_name=name, name=key, value=values)
        )
    return out


@st.composite
def partitions(draw: st.DrawFn, topic_id: bytes, number: int) -> list[bytes]:
    """Draw the records of a partition."""
    replicas = draw(lists)
    key = {"topic_id": topic_id, "partition_id": number}
    directories = [draw(ANY_DIRECTORY) for _ in replicas] if draw(st.booleans()) else []
    out = [
        record(
            "PartitionRecord",
            **key,
            replicas=replicas,
            isr=draw(few),
            adding_replicas=draw(st.just([]) | few),
            removing_replicas=draw(st.just([]) | few),
            leader=draw(st.just(-1) | brokers),
            leader_recovery_state=draw(st.sampled_from([0, 0, 1])),
            directories=directories,
            eligible_leader_replicas=draw(st.just([]) | few),
            last_known_elr=draw(st.just([]) | few),
        )
    ]
    for _ in range(draw(st.integers(0, 2))):
        out.append(
            record(
                "PartitionChangeRecord",
                **key,
                isr=draw(st.none() | few),
                leader=draw(st.sampled_from([-2, -1, 1, 2])),
                eligible_leader_replicas=draw(st.none() | few),
                last_known_elr=draw(st.none() | few),
            )
        )
    return out


def configs() -> st.SearchStrategy[tuple[tuple[int, str], str, str]]:
    """Draw configs that count, and others that do not."""
    resources = st.sampled_from(
        [(2, "a"), (2, "b"), (2, "gone"), (4, ""), (4, "1"), (4, "01"), (4, "x"), (32, "a")]
    )
    return st.one_of(
        st.tuples(resources, st.just("min.insync.replicas"), st.sampled_from(NUMBERS)),
        st.tuples(resources, st.just("unclean.leader.election.enable"), st.sampled_from(TRUTHS)),
    )


def opened(values: list[bytes], directory: Path) -> tuple[Image, State]:
    """The product's image of records, and the state of a plain replay."""
    data = encode_batch(values or [record("NoOpRecord")])
    source = metashell.open(make_directory(directory, (0, data)).parent)
    replayer = _Replayer()
    for plain in read_records(data):
        replayer.apply(_decoded(builtin_registry(), "file", plain))
    return source.image, replayer.state


# The plain answers.


class Plain:
    """A state, and the rules that Kafka has."""

    def __init__(self, state: State, assumed: Mapping[str, str]) -> None:
        self.state, self.assumed = state, assumed

    def every(self) -> Iterator[tuple[str, int, Fields]]:
        """Each partition: topic, id, fields; by name, ids as they are stored."""
        for topic in sorted(self.state.topics.values(), key=lambda t: t.name):
            for number in sorted(topic.partitions, key=lambda n: n % 2**32):
                yield topic.name, number, topic.partitions[number].fields

    def min_isr(self, topic: str, leader: int) -> tuple[int, str]:
        """Effective min.insync.replicas and its source."""
        key = "min.insync.replicas"
        steps = [
            (self.config(2, topic, key), "DYNAMIC_TOPIC_CONFIG"),
            (self.config(4, str(leader), key), "DYNAMIC_BROKER_CONFIG"),
            (self.config(4, "", key), "DYNAMIC_DEFAULT_BROKER_CONFIG"),
            (self.assumed.get(key), "STATIC_BROKER_CONFIG"),
        ]
        for text, source in steps:
            number = (text or "").strip().removeprefix("+")
            if number and set(number) <= set("0123456789"):
                number = number.lstrip("0")
                if number and len(number) <= 10 and int(number) < 2**31:
                    return int(number), source
        return 1, "DEFAULT_CONFIG"

    def unclean(self, topic: str) -> tuple[bool, str]:
        """Effective unclean.leader.election.enable and its source."""
        key = "unclean.leader.election.enable"
        steps = [
            (self.config(2, topic, key), "DYNAMIC_TOPIC_CONFIG"),
            (self.config(4, "", key), "DYNAMIC_DEFAULT_BROKER_CONFIG"),
            (self.assumed.get(key), "STATIC_BROKER_CONFIG"),
        ]
        for text, source in steps:
            if (text or "").strip().lower() in ("true", "false"):
                return (text or "").strip().lower() == "true", source
        return False, "DEFAULT_CONFIG"

    def config(self, kind: int, name: str, key: str) -> str | None:
        """A config's value."""
        return self.state.configs.get((kind, name), {}).get(key)

    def is_active(self, broker: int) -> bool:
        """Whether a broker is registered, not fenced and not shutting down."""
        known = self.state.brokers.get(broker)
        return known is not None and not known["fenced"] and not known["in_controlled_shutdown"]

    def can_lead(self, broker: int, directory: bytes) -> bool:
        """Whether the replica there can lead."""
        if not self.is_active(broker) or directory == LOST:
            return False
        online = self.state.brokers[broker]["log_dirs"]
        return directory in (MIGRATING, UNASSIGNED) or not online or directory in online

    def elect(
        self, topic: str, f: Fields, down: Collection[int] = ()
    ) -> tuple[int | None, str, int | None]:
        """Who is elected, how, and whom an unclean election would take."""
        acceptable = [
            broker
            for broker, directory in zip(f["replicas"], f["directories"], strict=True)
            if broker not in down and self.can_lead(broker, directory)
        ]
        isr = [b for b in f["isr"] if b not in down]
        candidate = acceptable[0] if acceptable else None
        in_sync = [b for b in acceptable if b in isr]
        if in_sync:
            return in_sync[0], "isr", candidate
        eligible = [b for b in acceptable if b in f["eligible_leader_replicas"]]
        if not isr and eligible:
            return eligible[0], "elr", candidate
        last = f["last_known_elr"]
        if (
            self.state.features.get(ELR_FEATURE, 0) > 0
            and not f["isr"]
            and not f["eligible_leader_replicas"]
            and len(last) == 1
            and last[0] in acceptable
        ):
            return last[0], "last-known-leader", candidate
        if self.unclean(topic)[0] and candidate is not None:
            return candidate, "unclean", candidate
        return None, "none", candidate

    def waited_for(self, f: Fields) -> list[int]:
        """Whom a partition without a leader waits for."""
        if f["leader"] != -1:
            return []
        last = f["last_known_elr"] if len(f["last_known_elr"]) == 1 else []
        if not self.state.features.get(ELR_FEATURE, 0):
            last = []
        return list(f["isr"] or f["eligible_leader_replicas"] or last)

    def states(self, topic: str, f: Fields) -> list[str]:
        """The states that a partition is in, the worst first."""
        least = self.min_isr(topic, f["leader"])[0]
        told = {
            "offline": f["leader"] == -1,
            "under-min-isr": len(f["isr"]) < least or f["leader"] == -1,
            "recovering": f["leader_recovery_state"] == 1,
            "under-replicated": len(f["isr"]) < len(f["replicas"]) - len(f["adding_replicas"]),
            "elr": bool(f["eligible_leader_replicas"]),
            "reassigning": bool(f["adding_replicas"] or f["removing_replicas"]),
            "at-min-isr": len(f["isr"]) == least,
            "no-preferred-leader": f["leader"] != (f["replicas"] or [-1])[0],
        }
        return [name for name, is_so in told.items() if is_so]

    def row(self, topic: str, number: int, f: Fields) -> Row:
        """A partition as ``partitions`` lists it, but for ``why`` and when."""
        least, least_source = self.min_isr(topic, f["leader"])
        unclean, unclean_source = self.unclean(topic)
        leaderless = f["leader"] == -1
        elected, _, candidate = self.elect(topic, f) if leaderless else (None, "", None)
        ids = {MIGRATING: "MIGRATING", UNASSIGNED: "UNASSIGNED", LOST: "LOST"}
        return {
            "topic": topic,
            "partition": number,
            "leader": None if leaderless else f["leader"],
            "replicas": f["replicas"],
            "isr": f["isr"],
            "elr": f["eligible_leader_replicas"],
            "last_known_elr": f["last_known_elr"],
            "adding_replicas": f["adding_replicas"],
            "removing_replicas": f["removing_replicas"],
            "min_isr": least,
            "min_isr_source": least_source,
            "unclean": unclean,
            "unclean_source": unclean_source,
            "would_elect": elected,
            "unclean_candidate": candidate,
            "state": self.states(topic, f),
            "leader_epoch": f["leader_epoch"],
            "partition_epoch": f["partition_epoch"],
            "directories": [ids.get(d) or uuid_text(d) for d in f["directories"]],
        }

    def rack(self, broker: int) -> str | None:
        """A broker's rack."""
        rack: str | None = self.state.brokers.get(broker, {}).get("rack")
        return rack

    def summary(self, by: str) -> dict[Any, Counter[str]]:
        """Counts of partitions by topic, broker or rack."""
        out: dict[Any, Counter[str]] = defaultdict(Counter)
        for topic, _, f in self.every():
            places: list[Any] = [topic] if by == "topic" else f["replicas"]
            if by == "rack":
                places = [self.rack(b) for b in f["replicas"]]
            for place in set(places):
                names = [*self.states(topic, f), "partitions"]
                out[place].update(name.replace("-", "_") for name in names)
            if by == "topic":
                out[topic].update(replicas=len(f["replicas"]), leaders=f["leader"] != -1)
            for broker, place in zip(f["replicas"], places, strict=False):
                if by != "topic":
                    out[place].update(replicas=1, leaders=broker == f["leader"])
        return out

    def load(self, broker: int) -> Counter[str]:
        """What a broker leads and holds."""
        out: Counter[str] = Counter()
        for _, _, f in self.every():
            preferred = (f["replicas"] or [-1])[0]
            out.update(
                leaders=f["leader"] == broker,
                replicas=f["replicas"].count(broker),
                in_sync=f["isr"].count(broker),
                preferred=preferred == broker,
                preferred_led=preferred == broker == f["leader"],
            )
        return out


ASSUMED: list[dict[str, str]] = [
    {},
    {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"},
    {"min.insync.replicas": "none", "unclean.leader.election.enable": "maybe"},
]
LOAD = ("leaders", "replicas", "in_sync", "preferred", "preferred_led")
many = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@many
@given(values=clusters(), assumed=st.sampled_from(ASSUMED))
def test_partitions(values: list[bytes], assumed: dict[str, str]) -> None:
    """Every column of every partition, and the election of those that nobody leads."""
    with tempfile.TemporaryDirectory() as directory:
        image, state = opened(values, Path(directory))
        health, plain = Health(image, Assumptions("file", assumed)), Plain(state, assumed)
        rows = choose(health, [])
        table = partitions_table(health, rows, ())
        for state_name in LOOKS_AT:
            chosen = choose(health, [health.mask(state_name)])
            names = [(t, n) for t, n, f in plain.every() if state_name in plain.states(t, f)]
            listed = partitions_table(health, chosen, [state_name], ["topic", "partition"])
            assert names == [(r["topic"], r["partition"]) for r in listed.to_pylist()], state_name

    expected = [plain.row(*partition) for partition in plain.every()]
    columns = list(expected[0]) if expected else []
    assert expected == (table.select(columns).to_pylist() if expected else [])
    assert len(expected) == len(rows)
    reasons = {
        "isr": "of the ISR",
        "elr": "eligible",
        "last-known-leader": "last known",
        "unclean": "unclean",
    }
    for row, (topic, _, f) in zip(table.to_pylist(), plain.every(), strict=True):
        if row["leader"] is not None:
            explained = {"under-replicated", "under-min-isr"}
            assert row["why"] is None or explained & {*row["state"]}
            continue
        _, how, _ = plain.elect(topic, f)
        enabled = state.features.get(ELR_FEATURE, 0) > 0
        last = enabled and len(f["last_known_elr"]) == 1
        waits = "waits for" if f["isr"] or f["eligible_leader_replicas"] or last else "no replica"
        assert reasons.get(how, waits) in row["why"]


@many
@given(values=clusters())
def test_columns_that_are_not_wanted(values: list[bytes]) -> None:
    """Are not made, and the others are as ever; there is one at least, which tells the number."""
    with tempfile.TemporaryDirectory() as directory:
        image, _ = opened(values, Path(directory))
        health = Health(image)
        rows = choose(health, [])
        every = partitions_table(health, rows, ["offline"])
        for name in every.column_names:
            some = partitions_table(health, rows, ["offline"], {name, "none such"})
            assert every.select([name]).equals(some)
        assert (len(rows), 1) == partitions_table(health, rows, [], frozenset()).shape


@many
@given(values=clusters(), broker=brokers, raw=ANY_DIRECTORY)
def test_places(values: list[bytes], broker: int, raw: bytes) -> None:
    """Partitions that have a broker in a list, or a replica in a directory."""
    with tempfile.TemporaryDirectory() as directory:
        image, state = opened(values, Path(directory))
        health, every = Health(image), list(Plain(state, {}).every())
        for name in ("replicas", "isr"):
            found = choose(health, [health.having(name, broker)])
            assert len(found) == sum(broker in f[name] for _, _, f in every)
        found = choose(health, [health.in_directory(raw)])
        listed = partitions_table(health, found, [], ["topic", "partition"]).to_pylist()
    expected = [(t, n) for t, n, f in every if raw in f["directories"]]
    assert expected == [(row["topic"], row["partition"]) for row in listed]


@many
@given(values=clusters(), gone=st.frozensets(brokers, min_size=1, max_size=3))
def test_without(values: list[bytes], gone: frozenset[int]) -> None:
    """What would be offline or under min ISR without some brokers."""
    with tempfile.TemporaryDirectory() as directory:
        image, state = opened(values, Path(directory))
        table = without_table(Health(image), gone)
        unknown = unknown_brokers(Health(image), gone)
    plain, expected = Plain(state, {}), []
    named = set(state.brokers)
    for _, _, f in plain.every():
        named |= {f["leader"], *f["replicas"], *f["isr"], *f["eligible_leader_replicas"]}
    assert sorted(gone - named) == unknown
    for topic, number, f in plain.every():
        leader = f["leader"]
        if not gone & {leader, *f["isr"], *plain.waited_for(f)}:
            continue
        least = plain.min_isr(topic, leader)[0]
        isr = [b for b in f["isr"] if b not in gone]
        after, how = leader, None
        if leader == -1 or leader in gone:
            after, how, _ = plain.elect(topic, f, gone)
        n_after = len(isr) if after is None else max(len(isr), 1)
        least_after = plain.min_isr(topic, leader if after is None else after)[0]
        if after is not None and n_after >= least_after:
            continue
        expected.append(
            {
                "topic": topic,
                "partition": number,
                "result": "offline" if after is None else "under-min-isr",
                "already": leader == -1 or (after is not None and len(f["isr"]) < least),
                "leader": None if leader == -1 else leader,
                "leader_after": after,
                "elected_from": how,
                "isr_after": isr,
                "min_isr": least_after,
            }
        )
    assert expected == table.to_pylist()


@pytest.mark.parametrize("small", [True, False], ids=["as it is", "as for long lists, large ids"])
@many
@given(values=clusters())
def test_summaries(small: bool, values: list[bytes]) -> None:
    """Counts by topic, broker and rack."""
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        if not small:
            patch.setattr(arena, "_SHORT", 0)
            patch.setattr(answered_brokers, "_SMALL", 0)
        image, state = opened(values, Path(directory))
        health, plain = Health(image), Plain(state, {})
        for by in ("topic", "broker", "rack"):
            table = summary_table(health, choose(health, []), by)
            expected = plain.summary(by)
            found = {row.pop(by): row for row in table.to_pylist()}
            assert len(found) == len(table)
            assert expected.keys() == found.keys()
            for place, counts in found.items():
                assert {name: expected[place][name] for name in counts} == counts, place


@many
@given(values=clusters())
def test_load(values: list[bytes]) -> None:
    """What each broker and rack leads and holds, and how far that is from even shares."""
    with tempfile.TemporaryDirectory() as directory:
        image, state = opened(values, Path(directory))
        of_brokers, of_racks = brokers_table(Health(image)), racks_table(Health(image))
    plain = Plain(state, {})
    placed = {b for _, _, f in plain.every() for b in (*f["replicas"], *f["isr"], f["leader"])}
    ids = sorted((placed - {-1}) | set(state.brokers))
    assert ids == of_brokers["broker"].to_pylist()
    loads = {broker: plain.load(broker) for broker in ids}
    total = Counter[str]()
    for load in loads.values():
        total.update(load)
    for row in of_brokers.to_pylist():
        broker, known = row["broker"], state.brokers.get(row["broker"])
        assert {name: loads[broker][name] for name in LOAD} == {name: row[name] for name in LOAD}
        assert plain.rack(broker) == row["rack"]
        if known is None:
            assert "not-registered" == row["state"]
        elif known["fenced"]:
            assert "fenced" == row["state"]
        else:
            shutting = known["in_controlled_shutdown"]
            assert ("controlled-shutdown" if shutting else "active") == row["state"]
        check_skew(
            row["leader_skew"], row["leaders"], total["leaders"], plain, [broker], active=True
        )
        check_skew(
            row["replica_skew"], row["replicas"], total["replicas"], plain, [broker], active=False
        )
    racks = defaultdict(list)
    for broker in ids:
        racks[plain.rack(broker)].append(broker)
    assert len(racks) == len(of_racks)
    for row in of_racks.to_pylist():
        inside = racks[row["rack"]]
        assert sum(b in state.brokers for b in inside) == row["brokers"]
        assert sum(map(plain.is_active, inside)) == row["active"]
        for name in LOAD:
            assert sum(loads[b][name] for b in inside) == row[name]
        check_skew(row["leader_skew"], row["leaders"], total["leaders"], plain, inside, active=True)
        check_skew(
            row["replica_skew"], row["replicas"], total["replicas"], plain, inside, active=False
        )


def check_skew(
    skew: float | None, n: int, total: int, plain: Plain, inside: list[int], *, active: bool
) -> None:
    """A skew is the distance from an even share in percent; null where there is no share."""
    every = list(plain.state.brokers)
    counts = [b for b in every if plain.is_active(b)] if active else every
    mine = [b for b in counts if b in inside]
    if not mine or not total:
        assert skew is None
    else:
        share = total * len(mine) / len(counts)
        assert pytest.approx(100 * (n - share) / share, abs=0.0501) == skew


@many
@given(values=clusters())
def test_topics(values: list[bytes]) -> None:
    """Size, health and configs of topics, also of those without partitions."""
    with tempfile.TemporaryDirectory() as directory:
        image, state = opened(values, Path(directory))
        chosen = np.ones(len(image.topics), dtype=np.bool_)
        table = topics_table(image, Redaction(show_secrets=False), chosen)
    plain = Plain(state, {})
    topics = sorted(state.topics.values(), key=lambda t: t.name)
    assert [t.name for t in topics] == table["topic"].to_pylist()
    for topic, row in zip(topics, table.to_pylist(), strict=True):
        every = [p.fields for p in topic.partitions.values()]
        factors = [len(f["replicas"]) for f in every] or [0]
        states = [plain.states(topic.name, f) for f in every]
        own = state.configs.get((2, topic.name), {})
        assert (len(every), min(factors), max(factors)) == (
            row["partitions"],
            row["replication"],
            row["replication_most"],
        )
        assert sum("offline" in s for s in states) == row["offline"]
        assert sum("under-replicated" in s for s in states) == row["under_replicated"]
        assert sorted(f"{key}={value}" for key, value in own.items()) == row["configs"]
        assert topic.name.startswith("__") == row["internal"]


# Since when.


def last_set(data: bytes) -> dict[tuple[bytes, int], dict[str, int]]:
    """Offset of the record that last set each field of each partition."""
    replayer, found = _Replayer(), dict[tuple[bytes, int], dict[str, int]]()
    fields = ["isr", "replicas", "removing_replicas", "adding_replicas", "directories"]
    fields += ["eligible_leader_replicas", "last_known_elr", "leader", "leader_recovery_state"]
    of_elr = ("eligible_leader_replicas", "last_known_elr")
    for plain in read_records(data):
        read = _decoded(builtin_registry(), "file", plain)
        before = {
            (topic_id, number): any(partition.fields[name] for name in of_elr)
            for topic_id, topic in replayer.state.topics.items()
            for number, partition in topic.partitions.items()
        }
        replayer.apply(read)
        if read.place in replayer.faults:
            continue
        r = read.fields
        key = r.get("topic_id", b""), r.get("partition_id", 0)
        if read.name == "PartitionRecord":
            found[key] = dict.fromkeys(fields, plain.offset)
        elif read.name == "PartitionChangeRecord":
            unchanged = {"leader": -2, "leader_recovery_state": -1}
            carried = [name for name in fields if r[name] != unchanged.get(name)]
            found[key].update(dict.fromkeys(carried, plain.offset))
        elif read.name == "ClearElrRecord":
            for other, had in before.items():
                partition = replayer.state.topics[other[0]].partitions[other[1]].fields
                if had and not any(partition[name] for name in of_elr):
                    found[other].update(dict.fromkeys(of_elr, plain.offset))
    return {
        (topic_id, number): found[topic_id, number]
        for topic_id, topic in replayer.state.topics.items()
        for number in topic.partitions
    }


@pytest.mark.parametrize("seed", seeds(5))
def test_set_by(seed: int, tmp_path: Path) -> None:
    """The record that set each field last is that of a replay one by one."""
    values = Teller(seed, transactions=False).tell(random.Random(seed).randint(60, 300))
    data = encode_batch(values)
    image = metashell.open(make_directory(tmp_path, (0, data)).parent).image
    partitions, topics = image.partitions, image.topics
    expected = last_set(data)
    names = {"elr": "eligible_leader_replicas"}
    keys = [
        (topics.ids[topic].tobytes(), number)
        for topic, number in zip(partitions.topic, partitions.partition.tolist(), strict=True)
    ]
    assert expected.keys() == set(keys)
    every = {field for looked_at in LOOKS_AT.values() for field in looked_at}
    for field in every | {"replicas", "directories", "last_known_elr"}:
        found = dict(zip(keys, partitions.set_by(field).tolist(), strict=True))
        assert {k: v[names.get(field, field)] for k, v in expected.items()} == found, field


@pytest.mark.parametrize("seed", range(8))
def test_stories(seed: int, tmp_path: Path) -> None:
    """States and elections after long stories, in which partitions change all the time."""
    values = Teller(seed + 500, transactions=False).tell(250)
    image, state = opened(values, tmp_path)
    health, plain = Health(image), Plain(state, {})
    table = partitions_table(health, choose(health, []), ())
    expected = [plain.row(*partition) for partition in plain.every()]
    found = table.select(list(expected[0])).to_pylist() if expected else []
    # Several topics may have one name: their order is not told.
    assert sorted(map(repr, expected)) == sorted(map(repr, found))
