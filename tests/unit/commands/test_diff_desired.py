"""`diff --with` another cluster, or files that say how a cluster should be: settings."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

import metashell
from kraftgen.batch import encode_batch
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import DEMO, copy_of, fixture
from support.fleets import node
from support.logs import record
from support.s3 import S3Server
from support.shell import Ran, run, run_on


@pytest.fixture(scope="module")
def source() -> Source:
    """A cluster with topics, configs and ACLs."""
    return metashell.open(fixture("real-44-live").directory)


@pytest.fixture(scope="module")
def exported(source: Source, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:  # type: ignore[type-arg]
    """The resources that `export` makes of it."""
    path = tmp_path_factory.mktemp("exported") / "all.yaml"
    run_on(source, f"export --as strimzi --to {path}")
    return [body for body in yaml.safe_load_all(path.read_text()) if body]


def _written(path: Path, bodies: object) -> Path:
    text = yaml.safe_dump_all(bodies) if path.suffix != ".json" else json.dumps(bodies)  # type: ignore[arg-type]
    path.write_text(text)
    return path


def _topic(name: str, **spec: object) -> dict[str, object]:
    return {"kind": "KafkaTopic", "metadata": {"name": name}, "spec": spec}


def _user(name: str, *acls: object, **spec: object) -> dict[str, object]:
    spec["authorization"] = {"type": "simple", "acls": list(acls)}
    return {"kind": "KafkaUser", "metadata": {"name": name}, "spec": spec}


def _lines(ran: Ran) -> list[str]:
    return ran.out.splitlines()


@pytest.mark.parametrize("name", ["all.yaml", "all.yml", "all.json", "directory"])
def test_what_export_wrote_does_not_differ(
    name: str, source: Source, exported: list[object], tmp_path: Path
) -> None:
    """As one file, as `kubectl get -o json` prints it, or as a file for each resource."""
    path = tmp_path / name
    if name == "directory":
        (path / "below").mkdir(parents=True)
        for i, body in enumerate(exported):
            _written(path / "below" / f"{i}.yaml", [body])
    elif name.endswith("json"):
        _written(path, {"kind": "List", "items": exported})
    else:
        _written(path, [*exported, {"kind": "Deployment"}, None])
    ran = run_on(source, f"diff --with {path}")
    # `export` said that it left these out: no KafkaUser can have such a name or state such a fact.
    assert {"- /image/acls": 4, "- /image/clientQuotas": 3, "- /image/scram": 4} == Counter(
        line[: line.index("/", 9)] for line in _lines(ran)
    )
    assert 1 == ran.status
    assert Ran(0, "", ()) == run_on(source, f"diff --with {path} /image/topics")


def test_all_that_can_be_stated_is(tmp_path: Path) -> None:
    """Where `export` left out only configs of brokers and the like, nothing differs."""
    demo, path = metashell.open(DEMO), tmp_path / "all.yaml"
    run_on(demo, f"export --as strimzi --to {path}")
    assert Ran(0, "", ()) == run_on(demo, f"diff --with {path}")


def test_what_differs(source: Source, exported: list[dict[str, object]], tmp_path: Path) -> None:
    """What is missing, what is there besides, and what is otherwise, by node and field."""
    kept = [body for body in deepcopy(exported) if body["kind"] == "KafkaTopic"]
    named = {body["metadata"]["name"]: body for body in kept}  # type: ignore[index]
    kept.remove(named["topic-026"])
    orders = named["orders"]
    orders["spec"] = {"partitions": 12, "config": {"retention.ms": 5, "cleanup.policy": "compact"}}
    kept.append(_topic("new", partitions=3, replicas=2, config={"unclean.leader.election": True}))
    path = _written(tmp_path / "topics.yaml", kept)
    ran = run_on(source, f"diff --with {path}")
    assert 1 == ran.status
    found = {line.split("  ")[0]: line.partition("  ")[2] for line in _lines(ran)}
    assert "9 → 12" in found["~ /image/topics/byName/orders"]
    assert "→ 5" in found["~ /image/configs/TOPIC:orders/retention.ms"]
    assert "compact" in found["~ /image/configs/TOPIC:orders/cleanup.policy"]
    assert "- /image/configs/TOPIC:orders/min.insync.replicas" in found
    assert '{"partitions": 3, "replicas": 2}' == found["+ /image/topics/byName/new"]
    assert "true" == found["+ /image/configs/TOPIC:new/unclean.leader.election"]
    assert found["- /image/topics/byName/topic-026"].startswith('{"partitions": ')
    # Nothing is said of replicas, of ACLs and of Kafka's own topics: the files state none.
    assert not [line for line in found if "acls" in line or "__" in line]
    assert "replicas" not in found["~ /image/topics/byName/orders"]

    only = run_on(source, f"diff --with {path} topic:orders")
    assert {line.split("  ")[0] for line in _lines(only)} == {
        line for line in found if "orders" in line.rpartition("byName/")[2]
    }
    rows = json.loads(run_on(source, f"diff --with {path} -o json topic:new").out)
    assert ["added", "added"] == [row["change"] for row in rows]
    (topics,) = json.loads(run_on(source, f"diff --with {path} --stat -o json /image/topics").out)
    assert {"part": "topics", "added": 1, "removed": 1, "changed": 1} == topics
    assert Ran(1, "", ()) == run_on(source, f"diff --with {path} --quiet")
    assert 0 == run_on(source, f"diff --with {path} topic:topic-027").status


def test_acls(source: Source, tmp_path: Path) -> None:
    """A rule is a user, a resource and a host; its operations are compared."""
    allow = {"resource": {"type": "topic", "name": "t"}, "operations": ["Read"]}
    more = {"resource": {"type": "topic", "name": "t"}, "operation": "DescribeConfigs"}
    deny = {"type": "deny", "resource": {"type": "cluster"}, "operations": ["All"], "host": "h"}
    users = [_user("a", allow, more), _user("b", deny, authentication={"type": "tls"})]
    path = _written(tmp_path / "users.yaml", users)
    added = [line for line in _lines(run_on(source, f"diff --with {path}")) if line[0] == "+"]
    base, read = "+ /image/acls/User", '["DESCRIBE_CONFIGS", "READ"]'
    assert [
        f'{base}:CN=b DENY LITERAL CLUSTER kafka-cluster from h  {{"operations": ["ALL"]}}',
        f'{base}:a ALLOW LITERAL TOPIC t from *  {{"operations": {read}}}',
    ] == added


def test_users(source: Source, tmp_path: Path) -> None:
    """Their quotas, and who has a password; a quota of a client id is stated by no file."""
    scram = {"type": "scram-sha-512"}
    users = [
        _user("alice", quotas={"producerByteRate": 5, "consumerByteRate": 2 << 20}),
        _user("bob", authentication=scram),
        _user("cert", authentication={"type": "tls"}, quotas={"controllerMutationRate": 0.5}),
        _user("new", authentication=scram),
    ]
    path = _written(tmp_path / "users.yaml", users)
    found = _lines(run_on(source, f"diff --with {path}"))
    quotas = "/image/clientQuotas/user"
    assert [
        f"+ {quotas}(CN=cert)/controller_mutation_rate  0.5",
        f"- {quotas}(alice)/controller_mutation_rate  0.125",
        f"~ {quotas}(alice)/producer_byte_rate  1048576.0 → 5.0",
        f"- {quotas}(alice)/request_percentage  50.25",
    ] == [line for line in found if "CN=" in line or "alice" in line]
    assert "+ /image/scram/SCRAM-SHA-512/new  {}" in found
    assert '- /image/scram/SCRAM-SHA-512/admin  {"iterations": 8192}' in found
    assert not [line for line in found if "SHA-512/bob" in line or "clientId" in line]


def test_configs_of_brokers(source: Source, tmp_path: Path) -> None:
    """A Kafka resource's stand in files: what counts is a dynamic config in their place."""
    config = {"min.insync.replicas": 3, "log.retention.ms": 3600000, "num.io.threads": 8}
    kafka = {"kind": "Kafka", "spec": {"kafka": {"config": {**config, "log.cleaner.threads": 2}}}}
    path = _written(tmp_path / "kafka.yaml", [kafka])
    configs = "/image/configs/BROKER"
    found = _lines(run_on(source, f"diff --with {path}"))
    assert [
        f"- {configs}/message.max.bytes  2097152",
        f"~ {configs}/min.insync.replicas  2 → 3",
    ] == [line for line in found if f"{configs}/" in line]
    assert any(line.startswith(f"- {configs}:101/leader.replication") for line in found)
    same = f"diff --with {path} {configs}:101/log.cleaner.threads"
    assert Ran(0, "", ()) == run_on(source, same)


def test_files_in_a_store(
    source: Source, exported: list[object], s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file and a directory, as on a disk; what is missing is no such file."""
    s3.give_credentials(monkeypatch)
    s3.put("desired/below/all.yaml", yaml.safe_dump_all(exported).encode())
    for place in ("desired", "desired/below/all.yaml"):
        ran = run_on(source, f"diff --with '{s3.uri(place)}' /image/topics")
        assert Ran(0, "", ()) == ran
    ran = run_on(source, f"diff --with '{s3.uri('desired/none.yaml')}'")
    assert (3, True) == (ran.status, "none.yaml: No such file" in ran.err[0])


def _cluster(parent: Path, name: str, *more: bytes, drawn: int) -> str:
    """A cluster with a topic, a user, an ACL and configs, whose ids and secrets were drawn."""
    ids = bytes([drawn]) * 16
    configs = {"min.insync.replicas": "2", "ssl.keystore.password": f"secret-{drawn}"}
    records = [
        record("TopicRecord", name="orders", topic_id=ids),
        record(
            "PartitionRecord",
            topic_id=ids,
            replicas=[1, 2],
            isr=[drawn % 2 + 1],
            leader=drawn % 2 + 1,
            directories=[ids, ids],
        ),
        record("RegisterBrokerRecord", broker_id=1, incarnation_id=ids, broker_epoch=drawn),
        _acl(ids, "User:a"),
        _scram(ids, 4096),
        *(
            record("ConfigRecord", resource_type=4, resource_name="", name=key, value=value)
            for key, value in configs.items()
        ),
        *more,
    ]
    return str(node(parent, name, {0: encode_batch(records)}, name))


def _acl(acl_id: bytes, principal: str) -> bytes:
    return record(
        "AccessControlEntryRecord",
        id=acl_id,
        resource_type=2,
        resource_name="t",
        pattern_type=3,
        principal=principal,
        host="*",
        operation=3,
        permission_type=3,
    )


def _scram(drawn: bytes, iterations: int) -> bytes:
    return record(
        "UserScramCredentialRecord",
        name="u",
        mechanism=2,
        salt=drawn,
        stored_key=drawn,
        server_key=drawn,
        iterations=iterations,
    )


def test_two_clusters(tmp_path: Path) -> None:
    """They are the same if somebody decided the same: ids, keys and leaders are not compared."""
    quota = record(
        "ClientQuotaRecord",
        entity=[{"entity_type": "ip", "entity_name": None}],
        key="connection_creation_rate",
        value=7.0,
    )
    config = {"resource_type": 4, "resource_name": "", "name": "min.insync.replicas"}
    wanted = _cluster(tmp_path, "wanted", drawn=1)
    same = _cluster(tmp_path, "same", drawn=2)
    changed = [quota, _scram(b"x", 8192), _acl(b"y" * 16, "User:b")]
    changed.append(record("ConfigRecord", **config, value="1"))
    other = _cluster(tmp_path, "other", *changed, drawn=3)
    fleet = open_fleet([same, other])

    ran = run(fleet.root, f"diff --with {wanted}", source=fleet)
    assert (
        "other:\n"
        '- /image/acls/User:b ALLOW LITERAL TOPIC t from *  {"operations": ["READ"]}\n'
        "- /image/clientQuotas/ip(<default>)/connection_creation_rate  7.0\n"
        "~ /image/configs/BROKER/min.insync.replicas  1 → 2\n"
        "~ /image/scram/SCRAM-SHA-512/u  iterations 8192 → 4096\n"
        "same: nothing differs\n"
    ) == ran.out
    assert 1 == ran.status
    # Other nodes are compared where they are asked for.
    ran = run_on(metashell.open(same), f"diff --with {wanted} /image/cluster/brokers/1")
    assert ran.out.startswith("~ /image/cluster/brokers/1  epoch 2 → 1, incarnationId ")


def test_each_cluster_of_a_fleet(source: Source, exported: list[object], tmp_path: Path) -> None:
    """A cluster without drift is one line; the others have their lines below their names."""
    path = _written(tmp_path / "all.yaml", exported)
    fleet: FleetSource = open_fleet(
        [str(copy_of(name, tmp_path / name)) for name in ("real-44-live", "real-40-static")]
    )
    ran = run(fleet.root, f"diff --with {path} topic:orders", source=fleet)
    same, name = sorted(fleet.members, key=lambda one: one != source.cluster_id)
    lines = _lines(ran)
    assert f"{same}: nothing differs" in lines
    assert lines[lines.index(f"{name}:") + 1].startswith(("+ /image/", "~ /image/"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [1]\nb: *x\n", "the alias *x in it is not read"),
        ("[" * 100, "more than 64 values inside each other"),
        ("kind: KafkaTopic\nkind: KafkaUser\n", "line 1: kind stands twice"),
        ("kind: [\n", "did not find expected node content"),
        ("kind: KafkaTopic\n", "document 1: metadata.name is no text"),
        ("!!python/object/apply:os.abort []\n", "could not determine a constructor"),
        ("kind: Pod\n", "no KafkaTopic, no Kafka with configs, and no KafkaUser"),
        ("\x00", "it is no YAML"),
        ("kind: KafkaTopic\nmetadata: {name: a}\n---\n" * 2, "states a again, after "),
        ("kind: KafkaTopic\nmetadata: {name: a}\nspec: {partitions: x}\n", "no number of"),
        ("kind: KafkaTopic\nmetadata: {name: a}\nspec: {config: {b: []}}\n", "no text, number"),
        ("kind: Kafka\nspec: {kafka: {config: [a]}}\n", "spec.kafka.config is no mapping"),
        (
            "kind: KafkaUser\nmetadata: {name: a}\nspec: {quotas: {producerByteRate: x}}\n",
            "spec.quotas.producerByteRate is no number",
        ),
    ],
)
def test_files_that_anyone_may_have_written(
    text: str, reason: str, source: Source, tmp_path: Path
) -> None:
    """They are refused by their names, with the exit status of a source that can't be read."""
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    ran = run_on(source, f"diff --with {path}")
    assert (3, "") == (ran.status, ran.out)
    assert ran.err[0].startswith(f"diff: {path}")
    assert reason in ran.err[0]
