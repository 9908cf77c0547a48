"""The effective value of a config is the strongest that is set, found by asking each in turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.answers.assume import Assumptions
from metashell.answers.configs import ConfigQuestion, ConfigResource, configs_table
from metashell.redact import Redaction
from support.logs import record
from support.small_cluster import broker, cluster, config

TOPIC_KEYS = {
    "min.insync.replicas": [("min.insync.replicas", 1)],
    "retention.ms": [
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ],
    "segment.ms": [("log.roll.ms", 1), ("log.roll.hours", 3_600_000)],
    "max.message.bytes": [("message.max.bytes", 1)],
}
DYNAMIC = {"min.insync.replicas", "log.retention.ms", "log.roll.ms", "message.max.bytes"}
DEFAULTS = {
    "min.insync.replicas": 1,
    "log.retention.hours": 168,
    "log.roll.hours": 168,
    "message.max.bytes": 1_048_588,
}
BROKER_KEYS = sorted({key for keys in TOPIC_KEYS.values() for key, _ in keys})

numbers = st.integers(1, 9)
of_topics = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(sorted(TOPIC_KEYS))), numbers
)
of_brokers = st.dictionaries(
    st.tuples(st.sampled_from(["", "1", "2", "9"]), st.sampled_from(BROKER_KEYS)), numbers
)
in_files = st.dictionaries(st.sampled_from(BROKER_KEYS), numbers)


def expected(
    topics: dict[tuple[str, str], int],
    brokers: dict[tuple[str, str], int],
    file: dict[str, int],
    topic: str,
    key: str,
    node: int,
) -> tuple[str, str, bool]:
    """(value, source, assumed) of a topic's key on a broker."""
    if (topic, key) in topics:
        return str(topics[topic, key]), "DYNAMIC_TOPIC_CONFIG", False
    for name, factor in TOPIC_KEYS[key]:
        if name in DYNAMIC:
            for resource, source in (
                (str(node), "DYNAMIC_BROKER_CONFIG"),
                ("", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
            ):
                if (resource, name) in brokers:
                    return str(brokers[resource, name] * factor), source, False
        if name in file:
            return str(file[name] * factor), "STATIC_BROKER_CONFIG", True
        if name in DEFAULTS:
            return str(DEFAULTS[name] * factor), "DEFAULT_CONFIG", True
    raise AssertionError


@given(of_topics, of_brokers, in_files)
def test_effective_values_of_topics(
    topics: dict[tuple[str, str], int],
    brokers: dict[tuple[str, str], int],
    file: dict[str, int],
) -> None:
    """On each broker, however the question is put."""
    values = [record("TopicRecord", name=n, topic_id=bytes(15) + n.encode()) for n in "ab"]
    values += [broker(1), broker(2)]
    values += (config(2, t, k, str(v)) for (t, k), v in topics.items())
    values += (config(4, b, k, str(v)) for (b, k), v in brokers.items())
    assumptions = Assumptions("f", {key: str(value) for key, value in file.items()})
    with cluster(*values) as source:
        for key in TOPIC_KEYS:
            of_all = ConfigQuestion(key=key, everything=True)
            every = configs_table(source.image, Redaction(), of_all, assumptions).to_pylist()
            for topic in "ab":
                one = ConfigQuestion(key=key, resource=ConfigResource("TOPIC", topic))
                rows = configs_table(source.image, Redaction(), one, assumptions).to_pylist()
                same = [
                    r for r in every if (r["resource_type"], r["resource_name"]) == ("TOPIC", topic)
                ]
                assert rows == same
                for node in (1, 2):
                    of_node = [r for r in rows if r["broker"] == node]
                    of_node = of_node or [r for r in rows if r["broker"] is None]
                    assert 1 == len(of_node)
                    row = of_node[0]
                    wanted = expected(topics, brokers, file, topic, key, node)
                    assert wanted == (row["value"], row["source"], row["assumed"])


@given(of_brokers)
def test_configs_of_brokers_that_are_gone(brokers: dict[tuple[str, str], int]) -> None:
    """Broker 9 never was, 1 and 2 are; what all have is never gone."""
    values = [config(4, b, k, str(v)) for (b, k), v in brokers.items()]
    with cluster(broker(1), broker(2), *values) as source:
        question = ConfigQuestion(only_gone=True)
        rows = configs_table(source.image, Redaction(), question).to_pylist()
        gone = sorted((b, k) for b, k in brokers if b == "9")
        assert gone == [(row["resource_name"], row["key"]) for row in rows]
