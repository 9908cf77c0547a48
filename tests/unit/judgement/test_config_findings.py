"""A node's server.properties against itself, the files beside the log, and the quorum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftgen.batch import encode_batch
from kraftgen.files import write_meta_properties, write_quorum_state
from metashell.cli import main
from support.logs import make_directory
from support.small_cluster import TIME, controller, voters_batch

Row = dict[str, Any]
STATIC = """process.roles=controller
node.id=1
controller.listener.names=CONTROLLER
listeners=CONTROLLER://:9093
controller.quorum.voters=1@c1:9093,2@c2:9093,3@c3:9093
ssl.key.password=hunter2
"""
BOOTSTRAP = "controller.quorum.bootstrap.servers=c1:9093, C2:9093\n"
DYNAMIC = STATIC.replace("controller.quorum.voters=1@c1:9093,2@c2:9093,3@c3:9093\n", BOOTSTRAP)
VOTERS_LINE = STATIC.splitlines()[4]


class Node:
    """A controller's log dir, and its file.

    Args:
        parent: Where both are.
        dynamic: Whether the quorum is.
        voters: Those of ``quorum-state``; None without the file.
    """

    def __init__(self, parent: Path, *, dynamic: bool, voters: tuple[int, ...] | None) -> None:
        batches = [voters_batch([1, 2, 3], dynamic=dynamic)]
        for i in (1, 2, 3):
            batches.append(encode_batch([controller(i)], base_offset=i + 1, timestamp=TIME))
        directory = make_directory(parent, (0, b"".join(batches)))
        write_meta_properties(parent, cluster_id="A" * 22, node_id=1)
        if voters is not None:
            write_quorum_state(
                directory, data_version=0, leader_id=1, leader_epoch=1, voter_ids=voters
            )
        self._parent = parent

    def found(
        self, text: str, capsys: pytest.CaptureFixture[str], command: str = "health"
    ) -> list[tuple[str, str]]:
        """(code, explanation) of the findings about a file of that text."""
        file = self._parent / "server.properties"
        file.write_text(f"{text}log.dirs={self._parent}\n")
        main(["--config", str(file), command, "-o", "json"])
        out = capsys.readouterr().out
        assert "hunter2" not in out
        rows: list[Row] = json.loads(out)
        kinds = ("config", "static", "ignored", "voter-endpoint")
        text = "explanation" if command == "health" else "message"
        return [(row["code"], row[text]) for row in rows if row["code"].startswith(kinds)]


@pytest.fixture
def static(tmp_path: Path) -> Node:
    """A node of a static quorum."""
    return Node(tmp_path, dynamic=False, voters=(1, 2, 3))


@pytest.fixture
def dynamic(tmp_path: Path) -> Node:
    """A node of a dynamic quorum."""
    return Node(tmp_path, dynamic=True, voters=None)


@pytest.mark.parametrize("command", ["health", "check"])
def test_files_that_fit(static: Node, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Nothing is found: of a controller, a broker, a client, and a ZooKeeper broker."""
    broker = STATIC.replace("roles=controller", "roles=broker").replace("node.id=1", "node.id=11")
    broker = broker.replace("CONTROLLER://:9093", "PLAINTEXT://:9092")
    assert ["config-refused"] == [code for code, _ in static.found(broker, capsys, command)]
    for text in (
        STATIC,
        STATIC + "advertised.listeners=CONTROLLER://c1:9093\n",
        STATIC.replace("//:9093", "//0.0.0.0:9093") + BOOTSTRAP,
        STATIC.replace("=CONTROLLER\n", "=controller\n"),
        "bootstrap.servers=b1:9092\nsecurity.protocol=SSL\n",
        "broker.id=5\nzookeeper.connect=z:2181\ncontroller.quorum.voters=9@x:1\n",
        "broker.id=5\nnode.id=5\nzookeeper.connect=z:2181\n",
        "\n",
    ):
        assert [] == static.found(text, capsys, command)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("roles=controller", "roles=broker", "just the 'broker' role, the node id 1 must not be"),
        ("1@c1:9093,", "", "'controller' role, the node id 1 must be included in the set of voters"
         " controller.quorum.voters=Set(2, 3)"),
        ("roles=controller", "roles=king", "Unknown process role 'king'"),
        ("process.roles=controller\n", "", '"process.roles" which has no default value.'),
        ("node.id=1\n", "", '"node.id" which has no default value.'),
        ("node.id=1\n", "node.id=one\n", "Invalid value one for configuration node.id"),
        ("node.id=1\n", "node.id=2\n", "Stored node id 1 doesn't match previous node id 2"),
        (VOTERS_LINE, "", "must contain a parseable set of controllers."),
        ("1@c1:9093", "1:c1:9093", "Each entry should be in the form"),
        ("=CONTROLLER\n", "=\n", "must contain at least one value appearing in the 'listeners'"),
        ("=CONTROLLER\n", "=CONTROLLER,X\n", "must only contain values appearing"),
        ("//:9093\n", "//:9093,PLAINTEXT://:9092\n", "must only contain KRaft controller"),
    ],
)  # fmt: skip
def test_kafka_refuses(
    static: Node, capsys: pytest.CaptureFixture[str], old: str, new: str, told: str
) -> None:
    """With Kafka's own text."""
    assert STATIC.count(old) == 1
    refused = dict(reversed(static.found(STATIC.replace(old, new), capsys)))
    assert told in " ".join(
        text for code, text in static.found(STATIC.replace(old, new), capsys) if "refused" in code
    )
    assert "the node does not start with it" in refused["config-refused"]


def test_static_voters(static: Node, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Other voters than quorum-state's, than the log's, and none."""
    five = STATIC.replace("3@c3:9093", "3@c3:9093,4@c4:9093,5@c5:9093")
    ((code, told),) = static.found(five, capsys)
    assert code == "static-voters-differ"
    assert "has [1, 2, 3, 4, 5], quorum-state has [1, 2, 3]" in told
    assert '"Configured voter set: [1, 2, 3, 4, 5] is different from the voter set read' in told
    ((code, told),) = static.found(DYNAMIC, capsys)
    assert code == "static-voters-differ"
    assert "starts as an observer, and never votes. Kafka says nothing" in told
    (tmp_path / "other").mkdir()
    other = Node(tmp_path / "other", dynamic=False, voters=None)
    ((_, told),) = other.found(five, capsys)
    assert "the log has [1, 2, 3]. Kafka says nothing" in told
    ((code, told),) = static.found(STATIC.replace("2@c2", "2@new"), capsys)
    assert code == "config-unlike-registrations"
    assert "new:9093 as 2 (registered: CONTROLLER://c2:9093)" in told


def test_a_dynamic_quorum(dynamic: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """Static voters are ignored; endpoints, roles, listeners and bootstrap servers are compared."""
    for host in ("", "0.0.0.0", "[::]", "C1"):
        assert [] == dynamic.found(DYNAMIC.replace("//:", f"//{host}:"), capsys)
    assert ["ignored-static-voters"] == [code for code, _ in dynamic.found(STATIC, capsys)]
    moved = DYNAMIC + "advertised.listeners=CONTROLLER://new:9093\n"
    ((code, told),) = dynamic.found(moved, capsys)
    assert code == "voter-endpoint-differs"
    assert "in the log is CONTROLLER://c1:9093, the file advertises CONTROLLER://new:9093" in told
    assert dynamic.found(moved, capsys, "check") == [(code, told)]
    ((code, told),) = dynamic.found(DYNAMIC.replace("C2:9093", "c2:9094"), capsys)
    assert ("config-unlike-quorum", True) == (code, "has c2:9094, where no voter is" in told)
    ((code, told),) = dynamic.found(DYNAMIC.replace("CONTROLLER\n", "X\n").replace(
        "CONTROLLER:", "X:"), capsys)  # fmt: skip
    assert ("config-unlike-quorum", True) == (code, "is X, voters have CONTROLLER" in told)
    broker = DYNAMIC.replace("roles=controller", "roles=broker")
    broker = broker.replace("CONTROLLER://:9093", "PLAINTEXT://:9092")
    ((code, told),) = dynamic.found(broker, capsys)
    assert ("config-unlike-quorum", True) == (code, "node 1 is a voter by the log" in told)
    codes = [code for code, _ in dynamic.found(DYNAMIC.replace("id=1", "id=4"), capsys)]
    assert ["config-refused", "config-unlike-registrations"] == codes


def test_hostile_files(static: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """Long lists are cut, odd entries are refused, and a placeholder is not compared."""
    many = ",".join(f"{i}@c{i}:1" for i in range(1, 5000))
    ((_, told), *_) = static.found(STATIC.replace("1@c1:9093,2@c2:9093,3@c3:9093", many), capsys)
    assert len(told) < 1000
    for odd in ("@", "1@:", "99999999999@c:1", "1@c:99999999", "\u20ac", ",,", "1@c1:1/x"):
        found = static.found(STATIC.replace("1@c1:9093", odd), capsys)
        assert "config-refused" in dict(found)
    assert [] == static.found(STATIC.replace("1@c1", "${env:VOTERS}"), capsys)
