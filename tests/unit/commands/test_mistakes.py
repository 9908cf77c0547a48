"""Answers to what was mistyped, and what hostile records look like: nothing that misleads."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import metashell
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.sources.source import Source
from support.fixtures import SAMPLE
from support.logs import record
from support.shell import Captured, run_on
from support.small_cluster import broker, cluster, config, level

HOSTILE = "\x1b]0;title\x07\u202egnp\x9b31m"
UNSAFE = ("\x1b", "\x07", "\u202e", "\x9b")
TOPIC_ID = (1).to_bytes(16, "big")


@pytest.fixture(scope="module")
def sample() -> Source:
    """The bundled directory."""
    return metashell.open(SAMPLE)


@pytest.fixture(scope="module")
def odd() -> Iterator[Source]:
    """Names that steer terminals, and a config of a resource type that Kafka does not know."""
    values = (
        level("metadata.version", 25),
        broker(1, rack=HOSTILE),
        record("TopicRecord", name=f"t{HOSTILE}", topic_id=TOPIC_ID),
        record("UserScramCredentialRecord", name=f"u{HOSTILE}", mechanism=1, iterations=4096),
        record(
            "ClientQuotaRecord",
            entity=[{"entity_type": "user", "entity_name": f"u{HOSTILE}"}],
            key="producer_byte_rate",
            value=1.0,
        ),
        config(77, "z", "vendor.key", "hunter2"),
    )
    with cluster(*values) as opened:
        yield opened


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("partitions --offine", "--offline"),
        ("topics --colums topic", "--columns"),
        ("config --resorce topic:t", "--resource"),
        ("export --al", "--all"),
    ],
)
def test_an_option_that_is_nearly_one(line: str, hint: str, sample: Source) -> None:
    """The hint is the option that was meant, not a page to search."""
    ran = run_on(sample, line)
    assert 2 == ran.status
    assert f"  hint: did you mean {hint}?" in ran.err


def test_an_option_like_none(sample: Source) -> None:
    """Then, and for single letters, the hint is how the command is used."""
    for line in ("users --xyzzy", "users -x"):
        assert "  hint: usage: users [OPTION...] [USER...]" in run_on(sample, line).err


def test_a_key_that_no_kafka_knows(sample: Source) -> None:
    """That nothing sets it is no answer where it may be mistyped."""
    ran = run_on(sample, "config max.mesage.bytes")
    assert 1 == ran.status
    assert (
        "config: max.mesage.bytes: no config key and no resource has this name; "
        "did you mean max.message.bytes or message.max.bytes?",
    ) == ran.err
    ran = run_on(sample, "config segment.jitter.ms")
    assert 0 == ran.status
    assert (
        "config: no record sets segment.jitter.ms; Kafka's default, 0, holds unless a node's "
        "server.properties says otherwise",
    ) == ran.err


def test_brokers_that_are_not_there(sample: Source) -> None:
    """A script must not take them for brokers without which all is well: nothing is printed."""
    there = "no such broker; there are 101, 102\n  hint:"
    for line in (
        *(f"partitions {flag}" for flag in ("--leader", "--replica", "--isr")),
        "brokers --without",
    ):
        for form in ("--count", "-o json", ""):
            ran = run_on(sample, f"{line} 77 {form}")
            assert (1, "") == (ran.status, ran.out)
            assert f"{line.replace(' ', ': ')} 77: {there} `nodes` lists all nodes" == (
                "\n".join(ran.err)
            )
        assert () == run_on(sample, f"{line} 101 --count").err
    assert "  hint: node 1 is a controller" == run_on(sample, "brokers --without 101,1").err[-1]
    for names in ("nowhere", "nowhere,elsewhere"):
        ran = run_on(sample, f"brokers --by rack --without {names} -o json")
        assert (1, "") == (ran.status, ran.out)
        assert ("brokers: --without nowhere: no such rack",) == ran.err
    with pytest.raises(metashell.MetashellError, match="no such broker"):
        sample.rows("brokers", without=1)
    with pytest.raises(metashell.MetashellError, match="did you mean orders"):
        sample.rows("partitions", "ordres")


def test_exact_of_nothing(sample: Source) -> None:
    """--exact without a name to be exact about is refused, not passed over."""
    for line in ("acls --exact", "acls --exact --resource topic"):
        assert 2 == run_on(sample, line).status
    assert 0 == run_on(sample, "acls --exact --resource topic:orders").status


def test_unknown_resource_types_are_as_secret_everywhere(odd: Source) -> None:
    """A config of one is hidden in records and in the image alike, and can't be guessed."""
    for line in (
        "config --all -o json vendor.key",
        "config -o csv",
        "cat /image/configs/*/*",
        "tree /image/configs",
        "grep hunter /image",
        "find /image -config 'vendor.key=h*'",
        "export configs --format csv",
        "export ConfigRecord --format jsonl",
        "sql -o json \"select * from configs where value like 'hunter%'\"",
        "log -o jsonl",
    ):
        ran = run_on(odd, line)
        assert "hunter2" not in ran.out + "".join(ran.err), line
        assert "vendor.key" not in ran.out or "find" not in line


@pytest.mark.parametrize(
    "line",
    [
        "export",
        "export --format yaml",
        "export scram_credentials",
        "export scram_credentials --format csv",
        "export records --format csv",
        "export --as kafka-cli",
        "export --as strimzi",
    ],
)
def test_exports_to_a_terminal_do_not_steer_it(line: str, odd: Source) -> None:
    """As any other output; in a pipe the same text goes out as it is."""
    out = Captured(is_terminal=True)
    warned: list[str] = []
    context = Context(root=odd.root, out=out, warn=warned.append, source=odd)
    assert run_line(context, line) in (0, 1)
    text = "".join([*out.parts, *warned])
    assert text
    assert not [c for c in UNSAFE if c in text]


def test_no_nan_in_json(sample: Source) -> None:
    """What is in lists and structures too is JSON that others can read."""
    query = "select ['nan'::double, 1.5] as a, {'x': '-inf'::double} as b, 'inf'::float as c"
    out = run_on(sample, f'sql -o json "{query}"').out

    def refuse(word: str) -> None:
        raise ValueError(word)

    (row,) = json.loads(out, parse_constant=refuse)
    assert {"a": [None, 1.5], "b": {"x": None}, "c": None} == row


def test_without_takes_the_minimum_of_the_new_leader() -> None:
    """Brokers may have different ones: what holds after the election counts."""
    values = (
        level("metadata.version", 25),
        *map(broker, (1, 2, 3)),
        record("TopicRecord", name="t", topic_id=TOPIC_ID),
        record(
            "PartitionRecord",
            partition_id=0,
            topic_id=TOPIC_ID,
            replicas=[1, 2, 3],
            isr=[1, 2, 3],
            leader=1,
        ),
        config(4, "2", "min.insync.replicas", "3"),
    )
    with cluster(*values) as source:
        (row,) = json.loads(run_on(source, "brokers --without 1 -o json").out)
    assert ("under-min-isr", 2, 3) == (row["result"], row["leader_after"], row["min_isr"])


@pytest.mark.parametrize(
    "left",
    [
        {"isr": [2]},
        {"isr": [], "eligible_leader_replicas": [2]},
        {"isr": [], "last_known_elr": [2]},
    ],
    ids=["in the ISR", "eligible", "last known leader"],
)
def test_a_partition_that_waits_for_a_broker(left: dict[str, list[int]]) -> None:
    """Is listed without that broker, as one that is offline already, however the log keeps it."""
    values = (
        broker(1),
        broker(2, fenced=True),
        level("eligible.leader.replicas.version", 1),
        record("TopicRecord", name="t", topic_id=TOPIC_ID),
        record(
            "PartitionRecord",
            partition_id=0,
            topic_id=TOPIC_ID,
            replicas=[1, 2],
            leader=-1,
            **left,
        ),
    )
    with cluster(*values) as source:
        (row,) = json.loads(run_on(source, "brokers --without 2 -o json").out)
        assert [] == json.loads(run_on(source, "brokers --without 1 -o json").out)
    assert ("offline", True, None) == (row["result"], row["already"], row["leader_after"])


def test_a_broker_of_which_replicas_are_left() -> None:
    """Is not registered, and still no mistake: what would be without it can be told."""
    values = (
        broker(1),
        record("TopicRecord", name="t", topic_id=TOPIC_ID),
        record(
            "PartitionRecord", partition_id=0, topic_id=TOPIC_ID, replicas=[1, 9], isr=[1], leader=1
        ),
    )
    with cluster(*values) as source:
        ran = run_on(source, "brokers --without 9")
        assert 0 == ran.status
        assert (
            "brokers: broker 9 is not registered",
            "brokers: no partition would be offline or under min ISR without broker 9",
        ) == ran.err
        assert 1 == len(json.loads(run_on(source, "partitions --replica 9 -o json").out))


def test_topics_that_are_not_there(sample: Source) -> None:
    """None of their partitions is offline, which must not read like good news."""
    for glob in ("ordres", "ordres*"):
        ran = run_on(sample, f"partitions --offline --topic '{glob}' --count")
        assert (1, "") == (ran.status, ran.out)
        near = "" if "*" in glob else "; did you mean orders?"
        assert (f"partitions: {glob}: no such topic{near}",) == ran.err


def test_a_quota_of_a_principal(sample: Source) -> None:
    """Quotas know users by name alone: what User:bob gets is what a stranger gets."""
    ran = run_on(sample, "quotas --user User:bob --count")
    assert ("quotas: --user User:bob: quotas name users without their type; try bob",) == ran.err
    assert () == run_on(sample, "quotas --user bob --count").err
