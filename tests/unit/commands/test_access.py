"""``acls``, ``who-can``, ``quotas``, ``users`` and ``tokens``: words, odd records, statuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.commands import get
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.errors import SourceError, UsageError
from metashell.read_settings import ReadSettings
from metashell.sources.source import Source
from support.fixtures import SAMPLE
from support.logs import make_directory, record
from support.shell import Captured, run_on

TOPIC, LITERAL, PREFIXED, READ, DENY, ALLOW = 2, 3, 4, 3, 2, 3
TIME = 1_790_000_000_000
NETWORKS_LEVEL = 32


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


def quota(entity: dict[str, str | None], key: str, value: float) -> bytes:
    """A quota."""
    pairs = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
    return record("ClientQuotaRecord", entity=pairs, key=key, value=value, remove=False)


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """What a command answers."""
    value: list[dict[str, Any]] = json.loads(run_on(source, f"{line} -o json").out)
    return value


def sample() -> Source:
    """The bundled cluster."""
    return metashell.open(SAMPLE)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("acls --resource topic:orders", ["*", "ord", "orders", "orders", "orders"]),
        ("acls --resource topic:ordinary", ["*", "ord"]),
        ("acls --resource topic:orders --exact", ["orders", "orders", "orders"]),
        ("acls --resource transactional-id", ["tx"]),
        ("acls --resource cluster --operation alter-configs", ["kafka-cluster"]),
        ("acls --principal User:alice --type allow --operation READ", ["orders"]),
        ("acls --host 2001:db8::/32", ["orders"]),
        ("acls --principal nobody", []),
    ],
)
def test_acls_are_chosen(line: str, expected: list[str]) -> None:
    """All conditions must hold; a resource is matched as the authorizer does."""
    assert expected == [row["resource_name"] for row in rows(sample(), line)]


def test_acls_by_principal() -> None:
    """The principal leads the order and the columns."""
    found = rows(sample(), "acls --by principal")
    principals = [row["principal"] for row in found]
    assert sorted(principals) == principals
    assert "principal" == next(iter(found[0]))


def test_unknown_codes_are_shown(tmp_path: Path) -> None:
    """Of a newer Kafka, or of nobody: with their number; what is not ALLOW denies."""
    odd = acl(1, resource_type=99, pattern_type=-1, operation=77, permission_type=5)
    source = opened(tmp_path, odd, acl(2, permission_type=9), acl(3, resource_name="\x1b[31m"))

    first, *_, last = rows(source, "acls")
    assert "\x1b[31m" == first["resource_name"]
    assert "UNKNOWN(99)" == last["resource_type"]
    assert "UNKNOWN(-1)" == last["pattern_type"]
    assert "UNKNOWN(77)" == last["operation"]
    assert "UNKNOWN(5)" == last["permission"]
    assert "\x1b" not in run_on(source, "acls").out
    (row,) = rows(source, "who-can READ topic:orders")
    assert ("DENIED", "UNKNOWN(9)") == (row["result"], row["acl_permission"])


def test_acls_at_an_earlier_offset(tmp_path: Path) -> None:
    """Every answer is that of the offset asked for, with when it came to be."""
    source = opened(tmp_path, acl(1), acl(2, permission_type=DENY))

    assert 0 == run_on(source.at("0"), "who-can READ topic:orders --principal User:a").status
    assert 1 == run_on(source, "who-can READ topic:orders --principal User:a").status
    assert [0, 1] == sorted(row["created_offset"] for row in rows(source, "acls"))
    (row,) = rows(source, "who-can READ topic:orders")
    assert (1, "2026-09-21T14:13:20.000Z") == (row["created_offset"], row["created_time"])


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("who-can READ topic:orders", 0),
        ("who-can DELETE topic:orders", 1),
        ("who-can READ topic:orders --principal User:alice", 0),
        ("who-can READ topic:orders --principal User:cidr", 1),
        ("who-can READ topic:orders --principal User:cidr --host 10.9.9.9", 0),
        ("who-can READ topic:orders --principal User:cidr --host ::ffff:10.9.9.9", 0),
        ("who-can READ topic:orders --principal User:cidr --host 11.0.0.1", 1),
    ],
)
def test_status_of_who_can(line: str, status: int) -> None:
    """0 where it is allowed, 1 where it is not."""
    ran = run_on(sample(), line)
    assert status == ran.status
    assert "super.users" in ran.err[0]
    assert 1 == len(ran.err)


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


def test_acls_that_do_not_do_what_they_seem_to_are_told_of(tmp_path: Path) -> None:
    """Principals without a type, hosts that no client has, networks before Kafka 4.4."""
    source = opened(
        tmp_path,
        acl(1, principal="alice"),
        acl(2, host="localhost"),
        acl(3, host="2001:db8::1"),
        acl(4, host="10.0.0.0/8"),
    )
    ran = run_on(source, "who-can READ topic:orders")
    assert 4 == len(ran.err)
    assert "the principal 'alice' has no type" in ran.err[0]
    assert "and 1 more: no client has the host 'localhost'" in ran.err[1]
    assert "brokers before 4.4 never match a network such as 10.0.0.0/8" in ran.err[2]

    (tmp_path / "newer").mkdir()
    level = record("FeatureLevelRecord", name="metadata.version", feature_level=NETWORKS_LEVEL)
    newer = opened(tmp_path / "newer", level, acl(4, host="10.0.0.0/8"))
    assert 1 == len(run_on(newer, "who-can READ topic:orders").err)


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


@pytest.mark.parametrize(
    ("question", "remark"),
    [
        ("ALTER topic:orders", "brokers ask for ALTER of the cluster instead"),
        (
            "CREATE topic:x",
            "for Metadata that creates a topic, brokers ask for DESCRIBE of the topic",
        ),
        ("CREATE_TOKENS user:User:a", "nobody needs it to create tokens for themselves"),
        ("DELETE group:g", "for OffsetDelete and DeleteShareGroupOffsets, brokers ask for READ of"),
    ],
)
def test_rights_that_requests_ask_for_are_told_of(question: str, remark: str) -> None:
    """Whatever the ACLs are."""
    assert 1 == sum(remark in line for line in run_on(sample(), f"who-can {question}").err)


def test_deletion_by_a_right_of_the_cluster_is_asked_for() -> None:
    """Though Kafka's tools make no such ACL."""
    assert not any("never ask" in line for line in run_on(sample(), "who-can DELETE cluster").err)


def test_operations_that_nobody_asks_for_are_told_of() -> None:
    """Such as writing to a group."""
    ran = run_on(sample(), "who-can WRITE group:g")
    assert (
        "brokers never ask for WRITE of a GROUP, only of TOPIC and TRANSACTIONAL_ID" in ran.err[0]
    )


@pytest.mark.parametrize(
    "line",
    [
        "who-can",
        "who-can READ",
        "who-can READ topic",
        "who-can READ topic: x",
        "who-can READ topic:a topic:b",
        "who-can ALL topic:a",
        "who-can READ nothing:a",
        "who-can READ topic:a --principal alice",
        "who-can READ topic:a --host localhost",
        "acls --by host",
        "acls --type MAYBE",
        "acls --operation fly",
        "tokens x",
    ],
)
def test_wrong_words(line: str) -> None:
    """One sentence says which and what is wanted instead."""
    name, *args = line.split()
    command = get(name)
    assert command is not None
    with pytest.raises(UsageError) as error:
        command.run(context(sample()), args)
    assert error.value.hint or "must be one of" in error.value.message


def test_missing_assumptions() -> None:
    """A file that is not there is an error that names it."""
    command = get("who-can")
    assert command is not None
    with pytest.raises(SourceError, match=r"nowhere\.properties"):
        command.run(context(sample()), ["READ", "topic:a", "--assume", "nowhere.properties"])


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


def quotas_of(source: Source, words: str) -> dict[str, tuple[float | None, str | None]]:
    """What a client gets, by key."""
    return {row["key"]: (row["value"], row["entity"]) for row in rows(source, f"quotas {words}")}


def test_effective_quotas() -> None:
    """Each key falls through to the next entity by itself; what is not set is unlimited."""
    found = quotas_of(sample(), "--user alice --client-id c1")
    assert (5.0, "user=alice, client-id=c1") == found["producer_byte_rate"]
    assert (2097152.0, "user=alice") == found["consumer_byte_rate"]
    assert "connection_creation_rate" not in found
    found = quotas_of(sample(), "--client-id cli/1")
    assert (0.1, "client-id=cli/1") == found["controller_mutation_rate"]
    assert (None, None) == found["request_percentage"]
    (row,) = rows(sample(), "quotas --ip 127.0.0.2")
    assert ["ip=<default>: 200"] == row["overrides"]
    assert 5 == len(quotas_of(sample(), "--effective"))
    assert 5 == len(quotas_of(sample(), "--ip ::1 --user x"))


def test_addresses_of_quotas(tmp_path: Path) -> None:
    """Two ways to write an address are one to brokers, of which the last counts."""
    key = "connection_creation_rate"
    source = opened(
        tmp_path,
        quota({"ip": "2001:db8::1"}, key, 1),
        quota({"ip": "2001:0DB8:0:0::1"}, key, 2),
        quota({"ip": "Host.example"}, key, 3),
        quota({"ip": "10.0.0.1", "user": "a"}, key, 4),
        quota({"ip": None}, "producer_byte_rate", 5),
    )
    assert (2.0, "ip=2001:0DB8:0:0::1") == quotas_of(source, "--ip 2001:db8:0::1")[key]
    assert (3.0, "ip=Host.example") == quotas_of(source, "--ip host.EXAMPLE")[key]
    assert 4.0 == quotas_of(source, "--ip ::ffff:10.0.0.1")[key][0]
    assert (None, None) == quotas_of(source, "--ip 10.0.0.2")[key]


def test_odd_quotas_are_listed(tmp_path: Path) -> None:
    """Names that look like something else, entities and keys that brokers ignore."""
    source = opened(
        tmp_path,
        quota({"user": "<default>", "client-id": None}, "producer_byte_rate", 1),
        quota({"user": ""}, "bogus", float("nan")),
        quota({"galaxy": "a=b, c"}, "producer_byte_rate", float("inf")),
        quota({}, "producer_byte_rate", 2),
    )
    found = {row["entity"]: row for row in rows(source, "quotas")}
    assert {
        'user="<default>", client-id=<default>',
        'user=""',
        'galaxy="a=b, c"',
        "",
    } == found.keys()
    first = found['user="<default>", client-id=<default>']
    assert (["client-id"], False) == (first["defaults"], first["ignored"])
    assert all(row["ignored"] for row in found.values() if row is not first)
    assert [] == [one for one in quotas_of(source, "--effective").values() if one[0] is not None]


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


def test_users_are_joined_with_acls_and_quotas() -> None:
    """How many ACLs name one, and whether a quota does."""
    found = {row["user"]: row for row in rows(sample(), "users")}
    assert (True, 1) == (found["bob"]["quotas"], found["bob"]["acls"])
    assert (False, 0) == (found["admin"]["quotas"], found["admin"]["acls"])


def test_credentials_of_unknown_mechanisms_are_none(tmp_path: Path) -> None:
    """Kafka drops them."""
    fields = {"name": "a", "salt": b"s", "stored_key": b"k", "server_key": b"v", "iterations": 1}
    source = opened(tmp_path, record("UserScramCredentialRecord", mechanism=9, **fields))
    assert [] == rows(source, "users")


def test_a_removed_credential_is_a_change_of_its_user(tmp_path: Path) -> None:
    """The time is that of the newest record about the user, whether it sets or removes."""

    def credential(name: str, mechanism: int) -> bytes:
        fields = {"salt": b"s", "stored_key": b"k", "server_key": b"v", "iterations": 4096}
        return record("UserScramCredentialRecord", name=name, mechanism=mechanism, **fields)

    source = opened(
        tmp_path,
        credential("a", 1),
        credential("a", 2),
        credential("b", 1),
        record("RemoveUserScramCredentialRecord", name="a", mechanism=2),
        record("RemoveUserScramCredentialRecord", name="b", mechanism=9),
    )

    found = {row["user"]: row for row in rows(source, "users")}

    assert (["SCRAM-SHA-256"], 0, 3) == tuple(
        found["a"][name] for name in ("mechanisms", "created_offset", "changed_offset")
    )
    assert 2 == found["b"]["changed_offset"]


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


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("acls", ("acls: there is no ACL",)),
        ("quotas", ("quotas: there is no quota",)),
        ("quotas --effective", ()),
        ("users", ("users: there is no user",)),
        ("tokens", ("tokens: there is no token",)),
    ],
)
def test_empty_clusters(tmp_path: Path, line: str, said: tuple[str, ...]) -> None:
    """Without any, there are no rows, which a sentence says, or rows that say so."""
    source = opened(tmp_path, record("TopicRecord", name="t", topic_id=bytes(15) + b"\x07"))
    ran = run_on(source, line)
    assert (0, said) == (ran.status, ran.err)
    (row,) = rows(source, "who-can READ topic:t")
    assert ("User:*", "no ACL is about the resource") == (row["principal"], row["why"])


def test_credentials_that_were_removed(tmp_path: Path) -> None:
    """They stand beside those that are left; a user without any is listed where that is asked."""

    def scram(name: str, mechanism: int) -> bytes:
        return record("UserScramCredentialRecord", name=name, mechanism=mechanism, iterations=4096)

    def removal(name: str, mechanism: int) -> bytes:
        return record("RemoveUserScramCredentialRecord", name=name, mechanism=mechanism)

    source = opened(
        tmp_path,
        *(scram("alice", 1), scram("alice", 2), scram("bob", 1), scram("carol", 2)),
        *(removal("alice", 1), removal("bob", 1), removal("carol", 2), scram("carol", 2)),
    )
    usual = rows(source, "users")
    assert [("alice", ["SCRAM-SHA-256"], 4, 4), ("carol", [], 7, None)] == [
        (row["user"], row["removed"], row["changed_offset"], row["removed_offset"]) for row in usual
    ]
    lost = rows(source, "users --removed")
    assert [("alice", ["SCRAM-SHA-512"]), ("bob", [])] == [
        (row["user"], row["mechanisms"]) for row in lost
    ]
    bob = lost[1]
    assert (None, 5, 5, ["SCRAM-SHA-256"]) == tuple(
        bob[name] for name in ("created_offset", "changed_offset", "removed_offset", "removed")
    )
    assert "2026-09-21T14:13:20.000Z" == bob["removed_time"]
