"""``export --as``: what the script and the resources make is what the image holds."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import metashell
from kraftgen.batch import encode_batch
from metashell.answers.recipes.strimzi import is_resource_name, resource_names
from metashell.errors import ExitCode
from metashell.image.acl_names import OPERATIONS, PATTERN_TYPES, PERMISSION_TYPES, RESOURCE_TYPES
from metashell.redact import is_secret_config
from metashell.sources.source import Source
from support.admin_tools import Cluster, run_script
from support.fixtures import fixture
from support.logs import make_directory, record
from support.seeds import examples
from support.shell import run_on
from support.strategies import CHARACTERS

FIXTURES: Final = ("real-44-admin", "real-44-broker-down", "all-records-dir")
ENTITY_TYPES: Final = {
    "TOPIC": "topics",
    "BROKER": "brokers",
    "CLIENT_METRICS": "client-metrics",
    "GROUP": "groups",
}
QUOTA_TYPES: Final = {"user": "users", "client-id": "clients", "ip": "ips"}
CLIENT_KEYS: Final = {
    *("producer_byte_rate", "consumer_byte_rate", "request_percentage"),
    "controller_mutation_rate",
}
SPACE: Final = "".join(map(chr, range(33)))


def opened(name: str, *, show_secrets: bool = False) -> Source:
    """A fixture's source."""
    return metashell.open(fixture(name).input, show_secrets=show_secrets)


def rows(source: Source, table: str) -> list[dict[str, Any]]:
    """A table's rows."""
    found: list[dict[str, Any]] = source.table(table).to_pylist()
    return found


def expected(source: Source, *, internal: bool = False) -> Cluster:
    """What of a source can be made again, by the rules of Kafka's tools."""
    cluster = Cluster()
    partitions: dict[str, dict[int, list[int]]] = {}
    for row in rows(source, "partitions"):
        target = [b for b in row["replicas"] if b not in row["removing_replicas"]]
        partitions.setdefault(row["topic"], {})[row["partition"]] = target
    for name, of in partitions.items():
        if name.startswith("__") and not internal:
            continue
        if not re.fullmatch("[a-zA-Z0-9._-]{1,249}", name) or sorted(of) != list(range(len(of))):
            continue
        sizes = {len(replicas) for replicas in of.values()}
        cluster.topics[name] = len(of), max(sizes)
        if len(sizes) == 1:
            cluster.assignments[name] = [of[i] for i in range(len(of))]
    for row in rows(source, "configs"):
        kind, name, key = row["resource_type"], row["resource_name"], row["key"]
        fits = {
            "TOPIC": name in cluster.topics,
            "BROKER": name == "" or name.isdigit(),
            "GROUP": name != "",
            "CLIENT_METRICS": name != "",
        }
        is_key = re.fullmatch("[a-zA-Z0-9._-]+", key)
        if fits.get(kind) and is_key and not is_secret_config(kind, key):
            cluster.configs[ENTITY_TYPES[kind], name, key] = row["value"]
    for row in rows(source, "client_quotas"):
        entity = {pair["entity_type"]: pair["entity_name"] for pair in row["entity"]}
        keys = {"connection_creation_rate"} if "ip" in entity else CLIENT_KEYS
        fits_tool = set(entity) <= {"user", "client-id"} or set(entity) == {"ip"}
        if fits_tool and row["key"] in keys and "" not in entity.values():
            who = frozenset((QUOTA_TYPES[kind], name) for kind, name in entity.items())
            cluster.quotas[who, row["key"]] = row["value"]
    for row in rows(source, "acls"):
        acl = acl_of(row)
        if acl is not None:
            cluster.acls.add(acl)
    return cluster


def code(names: list[str], word: str) -> int:
    """The code that a word stands for; -1 for none."""
    return names.index(word) if word in names else -1


def acl_of(row: dict[str, Any]) -> tuple[str, str, str, str, str, str, str] | None:
    """An ACL that kafka-acls.sh can make."""
    operations: dict[int, set[int]] = {
        2: {3, 4, 5, 6, 7, 8, 10, 11},
        3: {3, 6, 8, 10, 11},
        4: {5, 7, 8, 9, 10, 11, 12},
        5: {4, 8, 15},
        6: {8},
        7: {13, 14},
    }
    name, kind = row["resource_name"], code(RESOURCE_TYPES, row["resource_type"])
    is_sound = (
        code(OPERATIONS, row["operation"]) in operations.get(kind, set()) | {2}
        and kind in operations
        and row["pattern_type"] in PATTERN_TYPES[3:]
        and row["permission"] in PERMISSION_TYPES[2:]
        and ":" in row["principal"]
        and name != ""
        and (kind != 4 or (name, row["pattern_type"]) == ("kafka-cluster", "LITERAL"))
        and all(text.strip(SPACE) == text for text in (name, row["principal"], row["host"]))
    )
    return (
        (
            row["resource_type"],
            name,
            row["pattern_type"],
            row["principal"],
            row["host"],
            row["operation"],
            row["permission"],
        )
        if is_sound
        else None
    )


def made(source: Source, directory: Path, options: str = "") -> Cluster:
    """What the script of a source makes."""
    ran = run_on(source, f"export --as kafka-cli {options}")
    return Cluster().apply(run_script(ran.out, directory))


@pytest.mark.parametrize("name", FIXTURES)
def test_the_script_makes_the_same(name: str, tmp_path: Path) -> None:
    """All that the tools can make, and nothing else."""
    source = opened(name)
    wanted, cluster = expected(source), made(source, tmp_path / "tools")
    wanted.assignments.clear()
    assert wanted == cluster
    assert cluster.topics
    assert cluster.acls


@pytest.mark.parametrize("name", FIXTURES)
def test_partitions_go_to_the_same_brokers(name: str, tmp_path: Path) -> None:
    """With --with-assignment, where all partitions of a topic have as many replicas."""
    source = opened(name)
    cluster = made(source, tmp_path / "tools", "--with-assignment --internal")
    assert expected(source, internal=True) == cluster
    assert cluster.assignments


@pytest.mark.parametrize("name", FIXTURES)
def test_everything_is_made_or_told_of(name: str) -> None:
    """The status is 1 exactly where something is left out, which comments say too."""
    ran = run_on(opened(name), "export --as kafka-cli")
    n_told = sum(line.startswith("# left out: ") for line in ran.out.splitlines())
    assert (ExitCode.FAILED if n_told else ExitCode.OK) == ran.status
    told = [line for line in ran.err if "left out" in line]
    more = [int(n.replace(",", "")) for n in re.findall("left out ([0-9,]+) more", "\n".join(told))]
    assert n_told == len(told) - len(more) + sum(more)


def secrets_of(source: Source) -> set[str]:
    """Every secret text that a source opened with show_secrets holds."""
    import base64

    found = {
        row["value"]
        for row in rows(source, "configs")
        if is_secret_config(row["resource_type"], row["key"])
    }
    for row in rows(source, "scram_credentials"):
        for part in (row["salt"], row["stored_key"], row["server_key"]):
            found |= {base64.b64encode(part).decode(), part.hex(), part.decode("latin-1")}
    names = {row["user"] for row in rows(source, "scram_credentials")}
    # A short one occurs everywhere, and one of the fixtures has a user of the same text.
    return {text for text in found - names if len(text) > 5}


@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize("form", ["kafka-cli", "strimzi"])
@pytest.mark.parametrize("name", FIXTURES)
def test_no_secret_is_written(name: str, form: str, show: bool) -> None:
    """Whatever was asked for; comments name the keys that have to be filled in."""
    secrets = secrets_of(opened(name, show_secrets=True))
    ran = run_on(opened(name, show_secrets=show), f"export --as {form} --internal")
    text = ran.out + "\n".join(ran.err)
    assert [] == [secret for secret in secrets if secret in text]
    if rows(opened(name), "scram_credentials"):
        assert "# secret: the password of " in text


# Strimzi.


def documents(text: str) -> list[dict[str, Any]]:
    """The resources of a file."""
    documents = yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return [document for document in documents if document is not None]


@pytest.mark.parametrize("name", FIXTURES)
def test_strimzi_makes_the_same_topics(name: str) -> None:
    """Their names, sizes and configs, in resources that Kubernetes takes."""
    source = opened(name)
    wanted = expected(source)
    text = run_on(source, "export --as strimzi --cluster-name prod").out
    found = documents(text)
    assert all(d["apiVersion"] == "kafka.strimzi.io/v1" for d in found)
    assert all(d["metadata"]["labels"] == {"strimzi.io/cluster": "prod"} for d in found)
    keys = [(d["kind"], d["metadata"]["name"]) for d in found]
    assert len(set(keys)) == len(keys)
    assert all(is_resource_name(name) for _, name in keys)
    topics = [d for d in found if d["kind"] == "KafkaTopic"]
    names = [d["spec"].get("topicName", d["metadata"]["name"]) for d in topics]
    assert wanted.topics == {
        name: (d["spec"]["partitions"], d["spec"]["replicas"])
        for name, d in zip(names, topics, strict=True)
    }
    configs = {
        ("topics", name, key): value
        for name, d in zip(names, topics, strict=True)
        for key, value in d["spec"].get("config", {}).items()
    }
    assert {k: v for k, v in wanted.configs.items() if k[0] == "topics"} == configs


@pytest.mark.parametrize("name", FIXTURES)
def test_strimzi_makes_the_same_users(name: str) -> None:
    """ACLs and quotas of the users that can be resources."""
    source = opened(name)
    wanted = expected(source)
    users = [
        d for d in documents(run_on(source, "export --as strimzi").out) if d["kind"] == "KafkaUser"
    ]
    acls = set()
    quotas = {}
    by_name = {}
    for user in users:
        spec = user["spec"]
        kind = spec.get("authentication", {}).get("type")
        principal = ("CN=" if kind == "tls-external" else "") + user["metadata"]["name"]
        by_name[principal] = kind
        for acl in spec.get("authorization", {}).get("acls", []):
            resource = acl["resource"]
            for operation in acl["operations"]:
                acls.add(
                    (
                        re.sub("(?<=[a-z])(?=[A-Z])", "_", resource["type"]).upper(),
                        resource.get("name", "kafka-cluster"),
                        {"literal": "LITERAL", "prefix": "PREFIXED"}[
                            resource.get("patternType", "literal")
                        ],
                        f"User:{principal}",
                        acl["host"],
                        re.sub("(?<=[a-z])(?=[A-Z])", "_", operation).upper(),
                        acl["type"].upper(),
                    )
                )
        for key, value in spec.get("quotas", {}).items():
            quotas[principal, re.sub("(?=[A-Z])", "_", key).lower()] = value
    strimzi_has = {"TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"}
    assert acls == {
        acl
        for acl in wanted.acls
        if acl[3].removeprefix("User:") in by_name
        and acl[0] in strimzi_has
        and acl[5] != "TWO_PHASE_COMMIT"
    }
    for (principal, key), value in quotas.items():
        assert wanted.quotas[frozenset({("users", principal)}), key] == value
    with_password = {
        row["user"] for row in rows(source, "scram_credentials") if row["mechanism"][-3:] == "512"
    }
    assert {n for n in with_password if is_resource_name(n)} <= {
        name for name, kind in by_name.items() if kind == "scram-sha-512"
    } | {name for name in by_name if f"CN={name}" in by_name}


@given(st.lists(st.text("aA.-_ßx", max_size=6), unique=True, max_size=12))
def test_names_of_resources(names: list[str]) -> None:
    """Valid, distinct, and a name's own wherever it is one."""
    found = resource_names(names)
    assert set(names) == set(found)
    assert len(set(found.values())) == len(names)
    assert all(is_resource_name(made) for made in found.values())
    assert all(found[name] == name for name in names if is_resource_name(name))


def test_long_names_stay_within_kubernetes_limit() -> None:
    """Names that differ at their very end keep apart."""
    names = ["X" * 249 + end for end in ("", "a", "A", "aaaa")]
    found = resource_names(names)
    assert 4 == len(set(found.values()))
    assert all(len(name) <= 253 for name in found.values())


# Hostile names.


@contextmanager
def source_of(*values: bytes) -> Iterator[Source]:
    """A source of some records."""
    with TemporaryDirectory() as directory:
        log = encode_batch(list(values), base_offset=0, leader_epoch=1)
        yield metashell.open(make_directory(Path(directory), (0, log)))


hostile = st.one_of(
    st.text(CHARACTERS, min_size=1, max_size=12),
    st.text("-='\"`$\\ \n\t;&|<>()[]{}*?!#~,:%\r\x1b\u2028é", min_size=1, max_size=12),
    st.sampled_from(["-x", "--topic", "$(id)", "a\nEOF\nrm", "'", "\\", "''", "[a,b]", "a=b,c=d"]),
)
plain_values = st.one_of(hostile, st.text(string.digits + ",=[]", max_size=6))


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(hostile, min_size=3, max_size=3), plain_values, plain_values, st.floats(0, 1e300))
def test_hostile_names_stay_words(
    names: list[str], of_topic: str, of_group: str, rate: float
) -> None:
    """No shell takes them for anything else, and the tools read them as they are."""
    principal, host, name = names
    topic_id = bytes(range(16))
    values = [
        record("TopicRecord", name="orders", topic_id=topic_id),
        record(
            "PartitionRecord", topic_id=topic_id, partition_id=0, replicas=[1], isr=[1], leader=1
        ),
        record(
            "ConfigRecord",
            resource_type=2,
            resource_name="orders",
            name="cleanup.policy",
            value=of_topic,
        ),
        record(
            "ConfigRecord", resource_type=32, resource_name=name, name="some.key", value=of_group
        ),
        record(
            "ClientQuotaRecord",
            entity=[{"entity_type": "user", "entity_name": name}],
            key="producer_byte_rate",
            value=rate,
            remove=False,
        ),
        record(
            "AccessControlEntryRecord",
            id=topic_id,
            resource_type=3,
            resource_name=name,
            pattern_type=4,
            principal=f"User:{principal}",
            host=host,
            operation=3,
            permission_type=3,
        ),
    ]
    with source_of(*values) as source, TemporaryDirectory() as directory:
        ran = run_on(source, "export --as kafka-cli")
        wanted = expected(source)
        drop_nuls(wanted)
        wanted.assignments.clear()
        assert wanted == Cluster().apply(run_script(ran.out, Path(directory) / "tools"))
        yaml_text = run_on(source, "export --as strimzi").out
        assert {"KafkaTopic"} <= {document["kind"] for document in documents(yaml_text)}


def drop_nuls(cluster: Cluster) -> None:
    """No command can be given a NUL."""

    def is_sound(texts: tuple[object, ...]) -> bool:
        return not any(isinstance(text, str) and "\0" in text for text in texts)

    cluster.configs = {k: v for k, v in cluster.configs.items() if is_sound((*k, v))}
    cluster.acls = {acl for acl in cluster.acls if is_sound(acl)}
    cluster.quotas = {
        (who, key): value
        for (who, key), value in cluster.quotas.items()
        if is_sound(tuple(name for _, name in who))
    }


# Choosing.


def test_some_topics(tmp_path: Path) -> None:
    """Globs of names; and paths, which can be other parts too."""
    source = opened("real-44-admin")
    whole = made(source, tmp_path / "tools")
    some = made(source, tmp_path / "tools", "--topics 'topic-00*,orders'")
    assert {name for name in whole.topics if name.startswith("topic-00")} | {"orders"} == set(
        some.topics
    )
    assert (set(), {}) == (some.acls, some.quotas)
    assert {key for key in whole.configs if key[0] == "topics" and key[1] in some.topics} == set(
        some.configs
    )
    paths = "/image/topics/byName/orders /image/acls /image/configs/BROKER:101"
    chosen = made(source, tmp_path / "tools", paths)
    assert {"orders"} == set(chosen.topics)
    assert whole.acls == chosen.acls
    assert {("topics", "orders"), ("brokers", "101")} == {key[:2] for key in chosen.configs}


def test_kafkas_own_topics_are_left_out(tmp_path: Path) -> None:
    """Unless they are asked for."""
    values = []
    for i, name in enumerate(("__consumer_offsets", "mine")):
        topic_id = bytes([i + 1] * 16)
        values.append(record("TopicRecord", name=name, topic_id=topic_id))
        values.append(
            record("PartitionRecord", topic_id=topic_id, partition_id=0, replicas=[1], isr=[1])
        )
    with source_of(*values) as source:
        assert {"mine"} == set(made(source, tmp_path / "tools").topics)
        ran = run_on(source, "export --as strimzi --topics __consumer_offsets")
        assert (ExitCode.USAGE, "") == (ran.status, ran.out)
        assert "Kafka's own topics" in ran.err[0]
        whole = made(source, tmp_path / "tools", "--internal")
        assert {"mine", "__consumer_offsets"} == set(whole.topics)
        (body,) = documents(run_on(source, "export --as strimzi --internal --topics '__*'").out)
    assert ("consumer-offsets", "__consumer_offsets") == (
        body["metadata"]["name"],
        body["spec"]["topicName"],
    )


@pytest.mark.long
def test_long_values_and_assignments(tmp_path: Path) -> None:
    """What is too long for a command's word goes another way, or is told of."""
    topic_id = bytes(range(16))
    long = ",".join(f"{i}:101" for i in range(3_000))
    values = [
        record("TopicRecord", name="t", topic_id=topic_id),
        *(
            record(
                "PartitionRecord",
                topic_id=topic_id,
                partition_id=i,
                replicas=[2**31 - 1],
                isr=[1],
                leader=1,
            )
            for i in range(7_000)
        ),
        *(
            record("ConfigRecord", resource_type=32, resource_name="g", name=f"key.{i}", value=long)
            for i in range(5)
        ),
    ]
    with source_of(*values) as source:
        cluster = made(source, tmp_path / "tools", "--with-assignment")
        ran = run_on(source, "export --as kafka-cli --with-assignment")
    assert {("groups", "g", f"key.{i}"): long for i in range(5)} == cluster.configs
    assert ({"t": (7_000, 1)}, {}) == (cluster.topics, cluster.assignments)
    assert ExitCode.FAILED == ran.status
    assert "assignment of the topic t: too long" in ran.err[0]


def test_the_script_can_be_run(tmp_path: Path) -> None:
    """Written to a file it is executable, secrets or not: it never holds any."""
    out = tmp_path / "make.sh"
    run_on(opened("real-44-admin", show_secrets=True), f"export --as kafka-cli --to {out}")
    assert out.stat().st_mode & 0o100
    assert out.stat().st_mode & 0o007


@pytest.mark.parametrize("replicas", [[[1, 2], [2, 1]], [[1, 2, 3], [3, 1, 2]]])
def test_reassignments_count_as_done(replicas: list[list[int]], tmp_path: Path) -> None:
    """Replicas that are being removed are none of those that are wanted."""
    topic_id = bytes(range(16))
    values = [record("TopicRecord", name="t", topic_id=topic_id)]
    for partition, brokers in enumerate(replicas):
        values.append(
            record(
                "PartitionRecord",
                topic_id=topic_id,
                partition_id=partition,
                replicas=[*brokers, 9],
                removing_replicas=[9],
                isr=brokers,
                leader=1,
            )
        )
    with source_of(*values) as source:
        cluster = made(source, tmp_path / "tools", "--with-assignment")
    assert {"t": replicas} == cluster.assignments
