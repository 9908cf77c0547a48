"""``acls``, ``who-can``, ``quotas``, ``users`` and ``tokens``: words, odd records, statuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.read_settings import ReadSettings
from metashell.sources.source import Source
from support.fixtures import SAMPLE
from support.logs import make_directory, record
from support.shell import Captured, run_on

TOPIC, LITERAL, PREFIXED, READ, DENY, ALLOW = 2, 3, 4, 3, 2, 3
TIME = 1_790_000_000_000


def opened(tmp_path: Path, *records: bytes, show_secrets: bool = False) -> Source:
    """A directory of these records, a batch each."""
    batches = (
        encode_batch([value], base_offset=offset, leader_epoch=1, timestamp=TIME)
        for offset, value in enumerate(records)
    )
    directory = make_directory(tmp_path, (0, b"".join(batches)))
    return Source(metashell.open(directory).log, ReadSettings(show_secrets=show_secrets))


def acl(number: int, **fields: object) -> bytes:
    """An ACL that allows everyone to read a topic, but for these fields."""
    usual: dict[str, object] = {
        "id": number.to_bytes(16, "big"),
        "resource_type": TOPIC,
        "resource_name": "orders",
        "pattern_type": LITERAL,
        "principal": "User:*",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
    }
    return record("AccessControlEntryRecord", **{**usual, **fields})


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """What a command answers."""
    value: list[dict[str, Any]] = json.loads(run_on(source, f"{line} -o json").out)
    return value


def sample() -> Source:
    """The bundled cluster."""
    return metashell.open(SAMPLE)


def test_acls_at_an_earlier_offset(tmp_path: Path) -> None:
    """Every answer is that of the offset asked for, with when it came to be."""
    source = opened(tmp_path, acl(1), acl(2, permission_type=DENY))

    assert 0 == run_on(source.at("0"), "who-can READ topic:orders --principal User:a").status
    assert 1 == run_on(source, "who-can READ topic:orders --principal User:a").status
    assert [0, 1] == sorted(row["created_offset"] for row in rows(source, "acls"))
    (row,) = rows(source, "who-can READ topic:orders")
    assert (1, "2026-09-21T14:13:20.000Z") == (row["created_offset"], row["created_time"])


def test_assumptions_count(tmp_path: Path) -> None:
    """Super users, and everyone where no ACL is about the resource; then nothing is missing."""
    file = tmp_path / "server.properties"
    standard = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
    users = "super.users=User:root; User:cidr ;\nallow.everyone.if.no.acl.found=TRUE\n"
    file.write_text(standard + users)

    def results(resource: str) -> dict[tuple[str, str], str]:
        ran = run_on(sample(), f"who-can WRITE {resource} --assume {file} -o json")
        assert () == ran.err
        return {(row["principal"], row["host"]): row["result"] for row in json.loads(ran.out)}

    assert {
        ("User:root", "*"): "ALLOWED",
        ("User:cidr", "*"): "ALLOWED",
        ("User:bob", "*"): "DENIED",
        ("User:bob", "10.0.0.1"): "DENIED",
        ("User:*", "*"): "DENIED",
    } == results("topic:orders")
    assert "ALLOWED" == results("transactional-id:other")["User:*", "*"]


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("super.users=User:a\n", "is not set: then everyone may do everything"),
        ("authorizer.class.name=org.example.Mine\n", "is org.example.Mine, which may decide"),
    ],
)
def test_another_authorizer_is_told_of(tmp_path: Path, text: str, remark: str) -> None:
    """The answer is not that of this cluster then."""
    file = tmp_path / "server.properties"
    file.write_text(text)
    ran = run_on(sample(), f"who-can READ topic:orders --assume {file}")
    assert remark in ran.err[0]


WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, ALL = 4, 5, 6, 7, 8, 9, 2
GROUP, CLUSTER, TOKEN, USER = 3, 4, 6, 7


def of_cluster(number: int, **fields: object) -> bytes:
    """An ACL on the cluster."""
    return acl(number, resource_type=CLUSTER, resource_name="kafka-cluster", **fields)


@pytest.mark.parametrize(
    ("question", "acls", "why"),
    [
        (
            "IDEMPOTENT_WRITE cluster",
            [acl(1, principal="User:a", operation=WRITE)],
            "ALLOW WRITE on LITERAL topic:orders",
        ),
        (
            "CREATE topic:new",
            [of_cluster(1, principal="User:a", operation=CREATE)],
            "ALLOW CREATE on LITERAL cluster:kafka-cluster",
        ),
        (
            "DELETE topic:orders",
            [
                of_cluster(1, principal="User:a", operation=ALL),
                acl(2, operation=DELETE, permission_type=DENY),
            ],
            "ALLOW ALL on LITERAL cluster:kafka-cluster",
        ),
    ],
)
def test_another_right_is_enough(
    tmp_path: Path, question: str, acls: list[bytes], why: str
) -> None:
    """Where brokers take it for all that asks for the right in question; it is named."""
    source = opened(tmp_path, *acls)

    row = next(row for row in rows(source, f"who-can {question}") if row["principal"] == "User:a")

    assert ("ALLOWED", why) == (row["result"], row["why"])
    assert why.rpartition(" ")[
        2
    ] == f"{row['acl_resource_type']}:{row['acl_resource_name']}".replace(
        row["acl_resource_type"], row["acl_resource_type"].lower(), 1
    )
    assert 0 == run_on(source, f"who-can {question} --principal User:a").status
    assert 1 == run_on(source, f"who-can {question} --principal User:b").status


def test_every_topic_denied_ends_the_other_right(tmp_path: Path) -> None:
    """One that is denied all topics may not make idempotent producers by its right on one."""
    allow = acl(1, principal="User:a", operation=WRITE)
    deny = acl(2, principal="User:a", operation=WRITE, resource_name="*", permission_type=DENY)

    ran = run_on(
        opened(tmp_path, allow, deny), "who-can IDEMPOTENT_WRITE cluster --principal User:a"
    )

    assert 1 == ran.status


@pytest.mark.parametrize(
    ("question", "granted", "remark"),
    [
        (
            "DESCRIBE group:g",
            of_cluster(1, operation=DESCRIBE),
            "of the cluster is enough for ListG",
        ),
        ("DESCRIBE cluster", acl(1, resource_type=GROUP, operation=DESCRIBE), "a group is enough"),
        ("ALTER cluster", of_cluster(1, operation=CLUSTER_ACTION), "enough for WriteTxnMarkers"),
        ("CLUSTER_ACTION cluster", of_cluster(1, operation=ALTER), "enough for WriteTxnMarkers"),
        ("READ topic:orders", of_cluster(1, operation=CLUSTER_ACTION), "Fetch as a replica sends"),
        ("DELETE topic:orders", of_cluster(1, operation=ALL), "not enough for DeleteRecords"),
        ("CREATE cluster", acl(1, operation=CREATE), "CREATE of the topic is enough for CreateTop"),
        (
            "DELETE topic:orders",
            acl(1, operation=DESCRIBE, permission_type=DENY),
            "who is denied DESCRIBE of the topic is denied DeleteTopics",
        ),
    ],
)
def test_rights_for_some_requests_are_told_of(
    tmp_path: Path, question: str, granted: bytes, remark: str
) -> None:
    """Where an ACL makes a difference; nothing is said without one."""
    with_it, without = tmp_path / "with", tmp_path / "without"
    with_it.mkdir()
    without.mkdir()

    said = run_on(opened(with_it, granted), f"who-can {question}").err
    assert 1 == sum(remark in line for line in said)
    other = acl(1, resource_type=USER, resource_name="x")
    assert not any(
        remark in line for line in run_on(opened(without, other), f"who-can {question}").err
    )


def context(source: Source) -> Context:
    """What a command is given."""
    return Context(root=source.root, out=Captured(), warn=lambda line: None, source=source)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("who-can de", ["delete", "describe", "describe_configs", "describe_tokens"]),
        ("who-can READ top", ["topic:"]),
        ("who-can READ c", ["cluster"]),
        ("who-can READ group:", ["group:grp"]),
        ("who-can READ topic:orders x", []),
        ("who-can --host ::1 RE", ["READ"]),
        ("who-can READ topic:orders --principal User:c", ["User:cidr"]),
        ("who-can --as", ["--assume"]),
        ("acls --resource user:", ["user:bob"]),
        ("acls --operation A", ["ALL", "ALTER", "ALTER_CONFIGS"]),
        ("acls --type D", ["DENY"]),
        ("acls --principal User:b", ["User:bob"]),
        ("quotas --user b", ["big", "bob"]),
        ("quotas --client-id ", ["c1", "cli/1"]),
        ("quotas --ip ", ["127.0.0.2"]),
        ("users --columns us", ["user"]),
    ],
)
def test_completion(line: str, expected: list[str]) -> None:
    """Operations, types, names that there are or that ACLs and quotas name."""
    assert expected == [one.display for one in complete_line(context(sample()), line)]


def test_completion_of_topics() -> None:
    """Topics there are, and those that only ACLs name."""
    found = [one.display for one in complete_line(context(sample()), "who-can READ topic:o")]
    assert {"topic:ord", "topic:orders"} <= set(found)


def test_users_show_no_secrets() -> None:
    """Mechanisms and iterations alone, whether secrets may be shown or not."""
    source = Source(sample().log, ReadSettings(show_secrets=True))
    credentials = [source.cat(path) for path in source.find("/image/scram") if path.count("/") == 4]
    out = run_on(source, "users --columns all -o json").out
    secrets = [value for text in credentials for value in hex_values(text)]
    assert secrets
    assert not any(value in out for value in secrets)


def hex_values(text: str) -> Sequence[str]:
    """Salts and keys in a credential's text."""
    parts = [part.partition("=")[2] for part in text.split(", ")]
    return [part for part in parts if len(part) > 16]


def test_tokens_say_whose_they_are(tmp_path: Path) -> None:
    """Rows have what an operator asks for; a node's text hides it, as Kafka's does."""
    fields = {"owner": "User:alice", "requester": "User:bob", "renewers": ["User:carl"]}
    times = {"issue_timestamp": 1, "max_timestamp": 2**62, "expiration_timestamp": TIME + 1}
    token = record("DelegationTokenRecord", token_id="t", **fields, **times)
    old = record(
        "DelegationTokenRecord", token_id="s", **fields, **{**times, "max_timestamp": TIME - 1}
    )
    source = opened(tmp_path, token, old)

    first, second = rows(source, "tokens")
    assert ["s", "t"] == [first["token_id"], second["token_id"]]
    assert (True, False) == (first["expired"], second["expired"])
    assert "1970-01-01T00:00:00.001Z" == second["issue_time"]
    assert ("User:alice", "User:bob") == (second["owner"], second["requester"])
    assert ["User:carl"] == second["renewers"]
    assert ["User:alice"] * 2 == source.table("delegation_tokens")["owner"].to_pylist()
    assert ["User:alice"] * 2 == source.records("DelegationTokenRecord")["owner"].to_pylist()
    text = run_on(source, "cat /image/delegationToken/t").out
    assert not any(word in text for word in ("alice", "bob", "carl", "1970"))
