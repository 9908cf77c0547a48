"""`diff --with` files that say how a cluster should be: Strimzi's resources."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

import metashell
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import copy_of, fixture
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
    assert Ran(0, "", ()) == run_on(source, f"diff --with {path} /image/topics")
    ran = run_on(source, f"diff --with {path}")
    # Strimzi has no resource for these, and `export` said so.
    assert 1 == ran.status
    assert 4 == len(_lines(ran))
    assert all(line.startswith("- /image/acls/User:") for line in _lines(ran))


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
        ("kind: Pod\n", "no KafkaTopic, and no KafkaUser with ACLs, is in it"),
        ("\x00", "it is no YAML"),
        ("kind: KafkaTopic\nmetadata: {name: a}\n---\n" * 2, "states a again, after "),
        ("kind: KafkaTopic\nmetadata: {name: a}\nspec: {partitions: x}\n", "no number of"),
        ("kind: KafkaTopic\nmetadata: {name: a}\nspec: {config: {b: []}}\n", "no text, number"),
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
