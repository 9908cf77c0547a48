"""``log``: the records of a directory, filtered, as lines and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import control_record, encode_batch
from kraftgen.files import segment_name
from metashell.commands import get
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.log.read import load
from metashell.records.filter import Selection, TopicNames
from metashell.records.lines import json_lines
from metashell.records.stream import LogStream, segment_paths
from metashell.redact import Redaction
from metashell.schema.dump import json_text
from metashell.sources.source import Source
from support.dumped import dump
from support.fixtures import copy_of, differing, fixture, fixture_names
from support.logs import make_directory, record, topic_batch, topic_record
from support.shell import Captured, run_on
from support.strategies import builtin_registry

REAL = [name for name in differing(fixture_names()) if name.startswith("real-")]
LIVE = "real-44-live"
PARTITIONS = ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD")

Record = dict[str, Any]


@cache
def opened(name: str) -> Source:
    """Open a fixture with its secrets."""
    found = fixture(name)
    opener = metashell.open if found.kind == "directory" else metashell.open_file
    return opener(found.input, show_secrets=True)


def log(source: Source, options: str = "") -> list[Record]:
    """Run ``log --json`` and read what it prints."""
    ran = run_on(source, f"log --json {options}")
    return [json.loads(line) for line in ran.out.split("\n")[:-1]]


@cache
def everything(name: str) -> list[Record]:
    """All records of a fixture's segments, NoOps too."""
    return log(opened(name), "--all")


def offsets(records: list[Record]) -> list[int]:
    """Their offsets."""
    return [record["offset"] for record in records]


# JSON, against Kafka's.


@pytest.mark.cases(21)
@pytest.mark.parametrize("name", fixture_names())
def test_json_is_kafkas(name: str) -> None:
    """Every record of every file has the fields that kafka-dump-log prints."""
    by_file: dict[str, list[Record]] = {}
    for theirs in fixture(name).golden.dump():
        by_file.setdefault(theirs["file"], []).append(theirs)
    for file, expected in by_file.items():
        where = f"--file {file}" if fixture(name).kind == "directory" else ""
        actual = log(opened(name), f"--all {where}")

        assert offsets(expected) == offsets(actual)
        for theirs, ours in zip(expected, actual, strict=True):
            assert (file, theirs["createTime"], theirs["epoch"]) == (
                ours["file"],
                ours["timestamp"],
                ours["epoch"],
            )
            keys = ("type", "version", "data", "control")
            if "text" in theirs:
                assert ours["error"]
                assert isinstance(bytes.fromhex(ours["raw"]), bytes)
            else:
                assert [theirs.get(k) for k in keys] == [ours.get(k) for k in keys]


@pytest.mark.cases(14)
@pytest.mark.parametrize("name", fixture_names())
def test_json_text_is_that_of_plain_values(name: str) -> None:
    """The texts built from columns are those of each record's values written one by one."""
    source, found = opened(name), fixture(name)
    for path in found.data_files():
        if found.input not in (path.parent, path):
            continue
        where = f"--file {path.name}" if found.kind == "directory" else ""
        lines = run_on(source, f"log --json --all {where}").out.split("\n")[:-1]
        records = list(dump(load([str(path)]), source.registry))

        assert len(records) == len(lines)
        for plain, line in zip(records, lines, strict=True):
            if plain.data is not None:
                assert f'"data":{json_text(plain.data)}' in line


@pytest.mark.parametrize("name", REAL)
def test_segments_in_offset_order(name: str) -> None:
    """Every segment's records come once and in order, those before the checkpoint too."""
    in_files = [
        record["offset"]
        for record in sorted(fixture(name).golden.dump(), key=lambda r: (r["file"], r["offset"]))
        if record["file"].endswith(".log")
    ]

    assert in_files == offsets(everything(name))


@pytest.mark.parametrize("name", REAL)
def test_topic_names(name: str) -> None:
    """Names are those of the TopicRecords anywhere in the directory."""
    names = {
        record["data"]["topicId"]: record["data"]["name"]
        for record in fixture(name).golden.dump()
        if record.get("type") == "TOPIC_RECORD"
    }
    for record_ in everything(name):
        topic_id = record_.get("data", {}).get("topicId")
        if topic_id is not None:
            assert names.get(topic_id) == record_["topic"]
        else:
            assert "topic" not in record_


@pytest.mark.long
def test_windows_of_any_size() -> None:
    """What is printed does not depend on how much is read at a time."""
    source = opened(LIVE)
    for size in (200, 5000):
        names = TopicNames()
        stream = LogStream(source.registry, Selection(), names, lambda *_: None, window_bytes=size)
        writer = json_lines(Redaction(True), names)
        lines = [
            line
            for block in stream.blocks(segment_paths(source.log, Selection()))
            if len(block.rows)
            for line in writer.lines(block.records, block.rows)
        ]

        assert everything(LIVE) == [json.loads(line) for line in lines]


# Filters, each against a look at every record.


def mentions(record_: Record, broker: int) -> bool:
    """Whether a record concerns a broker."""
    data, kind = record_.get("data", {}), record_.get("type")
    if kind in PARTITIONS:
        lists = ("replicas", "isr", "removingReplicas", "addingReplicas")
        lists += ("eligibleLeaderReplicas", "lastKnownElr")
        return data.get("leader") == broker or any(broker in (data.get(k) or ()) for k in lists)
    if kind == "CONFIG_RECORD":
        return data["resourceType"] in (4, 8) and data["resourceName"] == str(broker)
    if kind in ("FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD"):
        return bool(data["id"] == broker)
    return bool(data.get("brokerId", -1) == broker)


def is_of_topic(record_: Record, pattern: str) -> bool:
    """Whether a record is of a topic whose name fully matches a regular expression."""
    data, kind = record_.get("data", {}), record_.get("type")
    if "topic" in record_:
        name = record_["topic"]
    elif kind == "CONFIG_RECORD" and data["resourceType"] == 2:
        name = data["resourceName"]
    else:
        name = data.get("topicName")
        if name == "":
            return pattern == ".*"
    return name is not None and re.fullmatch(pattern, name) is not None


FILTERS: list[tuple[str, Callable[[Record], bool]]] = [
    ("--offset 100..200", lambda r: 100 <= r["offset"] <= 200),
    ("--offset ..50", lambda r: r["offset"] <= 50),
    ("--offset 900..", lambda r: r["offset"] >= 900),
    ("--type PartitionChange", lambda r: r.get("type") == "PARTITION_CHANGE_RECORD"),
    (
        "--type topic_record,CONFIGRECORD --type 5",
        lambda r: r.get("type") in ("TOPIC_RECORD", "CONFIG_RECORD", "PARTITION_CHANGE_RECORD"),
    ),
    ("--type leaderchange", lambda r: r.get("control") == "LeaderChange"),
    ("--not-type PartitionChange", lambda r: r.get("type") != "PARTITION_CHANGE_RECORD"),
    ("--control", lambda r: "control" in r),
    ("--epoch 1", lambda r: r["epoch"] == 1),
    ("--epoch 2..", lambda r: r["epoch"] >= 2),
    (
        "--partition 1",
        lambda r: r.get("type") in PARTITIONS and r["data"]["partitionId"] == 1,
    ),
    ("--broker 101", lambda r: mentions(r, 101)),
    ("--broker 1", lambda r: mentions(r, 1)),
    ("--topic '*'", lambda r: is_of_topic(r, ".*")),
    ("--topic 'topic-00*'", lambda r: is_of_topic(r, "topic-00.*")),
    ("--topic topic-007", lambda r: is_of_topic(r, "topic-007")),
    ("--topic nothing", lambda r: False),
    (
        "--topic 'churn-*' --broker 101 --partition 0 --offset 500..",
        lambda r: (
            r["offset"] >= 500
            and r.get("type") in PARTITIONS
            and is_of_topic(r, "churn-.*")
            and mentions(r, 101)
            and r["data"]["partitionId"] == 0
        ),
    ),
]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize(("options", "wanted"), FILTERS)
def test_filters(name: str, options: str, wanted: Callable[[Record], bool]) -> None:
    """A filter prints just the records that it says."""
    expected = [record for record in everything(name) if wanted(record)]
    found = log(opened(name), f"--all {options}")

    if "--topic t" in options.replace("'", ""):
        # See `test_what_is_about_all_topics`.
        found = [record for record in found if record.get("data", {}).get("topicName") != ""]
    assert expected == found


def test_what_is_about_all_topics(tmp_path: Path) -> None:
    """A clearing of all ELRs is found by the name of a topic that is there, but by no other."""
    clears = [record("ClearElrRecord", topic_name=name) for name in ("", "t1", "other")]
    values = [topic_record(1), *clears]
    batches = (encode_batch([v], base_offset=i, leader_epoch=1) for i, v in enumerate(values))
    source = metashell.open(make_directory(tmp_path, (0, b"".join(batches))))

    assert [0, 1, 2] == offsets(log(source, "--topic t1"))
    assert [1] == offsets(log(source, "--topic t1 --offset 1..1"))
    assert [3] == offsets(log(source, "--topic other"))
    assert [] == log(source, "--topic nothing")


@pytest.mark.parametrize("name", REAL)
def test_times(name: str) -> None:
    """Records from one time to another, both included; offsets do as well."""
    times = sorted(record["timestamp"] for record in everything(name))
    since, until = times[len(times) // 3], times[len(times) // 2]
    iso = [f"{_iso(ms)}" for ms in (since, until)]
    expected = [r for r in everything(name) if since <= r["timestamp"] <= until]

    assert expected
    assert expected == log(opened(name), f"--all --since {iso[0]} --until {iso[1]}")
    first = expected[0]["offset"]
    assert first == log(opened(name), f"--all --since {first}")[0]["offset"]


def _iso(ms: int) -> str:
    from metashell.schema.timestamps import iso_time

    return iso_time(ms)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("n", [1, 7, 300, 100_000])
def test_limit_and_tail(name: str, n: int) -> None:
    """The first and the last of what is asked for."""
    assert everything(name)[:n] == log(opened(name), f"--all --limit {n}")
    assert everything(name)[-n:] == log(opened(name), f"--all --tail {n}")
    changes = [r for r in everything(name) if r.get("type") == "PARTITION_CHANGE_RECORD"]
    assert changes[-n:] == log(opened(name), f"--tail {n} --type PartitionChange")


@pytest.mark.long
def test_grep() -> None:
    """A regular expression is looked for in the readable line, with --json too."""
    plain = run_on(opened(LIVE), "log --all").out.split("\n")[:-1]
    expected = [line for line in plain if "leader=-1" in line]

    assert expected
    assert expected == run_on(opened(LIVE), "log --grep 'leader=-1'").out.split("\n")[:-1]
    assert [line.split()[0] for line in expected] == [
        str(o) for o in offsets(log(opened(LIVE), "--grep 'leader=-1'"))
    ]
    assert (
        expected[-2:] == run_on(opened(LIVE), "log --tail 2 --grep leader=-1").out.split("\n")[:-1]
    )


# NoOps, neighbours, files.


def noop_log(tmp_path: Path) -> Source:
    """Topics at even offsets, NoOps at odd ones."""
    values = [topic_record(i) if i % 2 == 0 else record("NoOpRecord") for i in range(10)]
    batches = [encode_batch(values[i : i + 5], base_offset=i) for i in (0, 5)]
    return metashell.open(make_directory(tmp_path, (0, batches[0]), (5, batches[1])))


@pytest.mark.parametrize(
    ("options", "shown", "hidden"),
    [
        ("", [0, 2, 4, 6, 8], 5),
        ("--all", list(range(10)), 0),
        ("--limit 2", [0, 2], 1),
        ("--tail 2", [6, 8], 2),
        ("--tail 3", [4, 6, 8], 3),
        ("--type NoOp --limit 2", [1, 3], 0),
        ("--type Topic", [0, 2, 4, 6, 8], 0),
        ("--offset 3", [3], 0),
        ("--offset 4 --context 1", [3, 4, 5], 0),
        ("--offset 3..5", [4], 2),
    ],
)
def test_noops(tmp_path: Path, options: str, shown: list[int], hidden: int) -> None:
    """NoOps are left out and counted, unless they are asked for."""
    ran = run_on(noop_log(tmp_path), f"log {options}")

    assert shown == [int(line.split()[0]) for line in ran.out.split("\n")[:-1]]
    told = [f"log: {hidden} NoOp records not shown (--all shows them)"] if hidden > 1 else []
    if hidden == 1:
        told = ["log: 1 NoOp record not shown (--all shows them)"]
    assert (0, told) == (ran.status, list(ran.err))


def test_offset_that_is_not_there(tmp_path: Path) -> None:
    """A single offset without a record is a failure."""
    ran = run_on(noop_log(tmp_path), "log --offset 10")

    assert (1, "", ("log: no record at offset 10",)) == (ran.status, ran.out, ran.err)


def test_batches(tmp_path: Path) -> None:
    """Headers stand before the first record shown of their batch."""
    source = noop_log(tmp_path)
    lines = run_on(source, "log --batches --offset 4..6").out.split("\n")[:-1]

    assert ["#", "4", "#", "6"] == [line.split()[0] for line in lines]
    heads = [r["batch"] for r in log(source, "--batches") if "batch" in r]
    assert [(0, 4, 5), (5, 9, 5)] == [(h["baseOffset"], h["lastOffset"], h["count"]) for h in heads]


def test_words_for_codes(tmp_path: Path) -> None:
    """Who and what stand first; a code without a word is a number; JSON has codes in order."""
    fields = {"id": bytes(15) + b"\x05", "resource_name": "t", "principal": "User:u", "host": "*"}
    acl = {"resource_type": 2, "pattern_type": 4, "operation": 3, "permission_type": 3}
    values = [
        record("AccessControlEntryRecord", **fields, **acl),
        record("AccessControlEntryRecord", **fields, **acl | {"operation": 99, "pattern_type": -1}),
    ]
    source = metashell.open(make_directory(tmp_path, (0, encode_batch(values))))
    head = "ACCESS_CONTROL_ENTRY_RECORD principal=User:u permissionType=ALLOW"
    tail = "host=* id=AAAAAAAAAAAAAAAAAAAABQ"
    assert [line.split(" ", 3)[3] for line in run_on(source, "log").out.splitlines()] == [
        f"{head} operation=READ resourceType=TOPIC resourceName=t patternType=PREFIXED {tail}",
        f"{head} operation=99 resourceType=TOPIC resourceName=t patternType=-1 {tail}",
    ]
    data = json.loads(run_on(source, "log --json").out.splitlines()[0])["data"]
    codes = ("resourceType", "patternType", "operation", "permissionType")
    assert (2, 4, 3, 3) == tuple(data[name] for name in codes)
    assert ["id", "resourceType", "resourceName"] == list(data)[:3]


def test_a_broker_is_told_first(tmp_path: Path) -> None:
    """Which, how it is, and where it listens, with the name of the protocol."""
    broker = record(
        "RegisterBrokerRecord",
        broker_id=7,
        fenced=True,
        rack="r",
        end_points=[{"name": "A", "host": "h", "port": 1, "security_protocol": 3}],
    )
    change = record("BrokerRegistrationChangeRecord", broker_id=7, broker_epoch=5, fenced=-1)
    source = metashell.open(make_directory(tmp_path, (0, encode_batch([broker, change]))))
    changed = "BROKER_REGISTRATION_CHANGE_RECORD brokerId=7 fenced=false brokerEpoch=5\n"
    assert run_on(source, "log").out.endswith(changed)
    assert (
        "REGISTER_BROKER_RECORD brokerId=7 fenced=true inControlledShutdown=false rack=r endPoints="
        '[{"name":"A","host":"h","port":1,"securityProtocol":"SASL_SSL"}] '
    ) in run_on(source, "log").out


def test_line(tmp_path: Path) -> None:
    """A line has place, type, the topic's name, and what is not absent or empty."""
    topic_id = bytes(15) + b"\x05"
    change = record("PartitionChangeRecord", partition_id=3, topic_id=topic_id, isr=[], leader=-1)
    config = record(
        "ConfigRecord", resource_type=2, resource_name="t5", name="cleanup.policy", value=None
    )
    other = record("RemoveTopicRecord", topic_id=bytes(15) + b"\x09")
    values = [record("TopicRecord", name="a b", topic_id=topic_id), change, config, other]
    source = metashell.open(make_directory(tmp_path, (0, encode_batch(values))))
    lines = run_on(source, "log").out.split("\n")[:-1]

    assert [
        '0 2026-09-21T14:13:20.000Z 1 TOPIC_RECORD name="a b" topicId=AAAAAAAAAAAAAAAAAAAABQ',
        '1 2026-09-21T14:13:20.000Z 1 PARTITION_CHANGE_RECORD topic="a b" partitionId=3 isr=[]'
        " leader=-1",
        "2 2026-09-21T14:13:20.000Z 1 CONFIG_RECORD resourceType=TOPIC resourceName=t5"
        " name=cleanup.policy value=null",
        "3 2026-09-21T14:13:20.000Z 1 REMOVE_TOPIC_RECORD topicId=AAAAAAAAAAAAAAAAAAAACQ",
    ] == lines


def test_checkpoints() -> None:
    """Checkpoints are printed when asked for, each or all, with offsets of their own."""
    source = opened(LIVE)
    names = [c.name for c in source.log.listing.checkpoints]
    together = log(source, "--checkpoints")

    assert names == list(dict.fromkeys(record["file"] for record in together))
    assert together == [r for name in names for r in log(source, f"--file {name}")]


def test_file_alone() -> None:
    """A file opened alone is what is printed, a checkpoint too."""
    path = next(p for p in fixture(LIVE).data_files() if p.name.endswith(".checkpoint"))
    source = metashell.open_file(path, show_secrets=True)

    assert log(opened(LIVE), f"--file {path.name}") == log(source)


# Damage and secrets.


def test_damage_is_told(tmp_path: Path) -> None:
    """What is lost in the middle is told, what follows is printed, and the status is 1."""
    data = bytearray(b"".join(topic_batch(i * 2, 2) for i in range(4)))
    data[len(topic_batch(0, 2)) + 70] ^= 1
    directory = make_directory(tmp_path, (0, bytes(data)))
    source = metashell.open(directory)
    source.log.faults.clear()
    ran = run_on(source, "log --json")

    assert [0, 1, 4, 5, 6, 7] == [json.loads(line)["offset"] for line in ran.out.split("\n")[:-1]]
    assert 1 == ran.status
    assert "CRC mismatch" in ran.err[0]
    assert 1 == run_on(source, "log --tail 1").status
    assert () == run_on(metashell.open(directory), "log").err


def test_torn_tail_is_no_failure() -> None:
    """A batch cut off at the end of the log does not make the status 1."""
    assert 0 == run_on(opened("real-44-torn"), "log").status


def test_file_that_is_gone(tmp_path: Path) -> None:
    """A segment that vanished is named, and the others are printed."""
    directory = make_directory(tmp_path, (0, topic_batch(0)), (1, topic_batch(1)))
    source = metashell.open(directory)
    (directory / segment_name(0)).unlink()
    ran = run_on(source, "log --type Topic")

    assert (1, 1) == (ran.status, len(ran.out.split("\n")[:-1]))
    assert segment_name(0) in ran.err[0]


def test_unreadable_records(tmp_path: Path) -> None:
    """A record that does not decode has the error and, with secrets shown, its bytes."""
    values = [record("TopicRecord", name="t", topic_id=bytes(16))[:-3], b"\x01\xf5\x03\x00\x07"]
    values += [record("ConfigRecord", resource_type=4, resource_name="1", name="x", value="s")[:-1]]
    values += [b"", topic_record(1)]
    directory = make_directory(tmp_path, (0, encode_batch(values)))
    source = metashell.open(directory)
    found, hidden = log(metashell.open(directory, show_secrets=True)), log(source)

    assert values[0].hex() == found[0]["raw"]
    assert all(r["raw"].startswith("[redacted] ") for r in (hidden[0], hidden[1], hidden[3]))
    assert ("TOPIC_RECORD", 0) == (found[0]["type"], found[0]["version"])
    assert ("UNKNOWN(501)", values[1].hex()) == (found[1]["type"], found[1]["raw"])
    assert ["[redacted]", values[2].hex()] == [hidden[2]["raw"], found[2]["raw"]]
    assert "type" not in found[3]
    assert all(r["error"] and "data" not in r for r in found[:4])
    assert "t1" == found[4]["topic"]
    assert 5 == len(run_on(source, "log").out.split("\n")[:-1])


def test_unreadable_control_record(tmp_path: Path) -> None:
    """A marker that does not decode has its name, also that of the lowest type."""
    batch = encode_batch([control_record(0, b"\x00")], control=True)
    ran = run_on(metashell.open(make_directory(tmp_path, (0, batch))), "log --all")
    assert ' Abort version=0 error="not decoded" ' in ran.out


@pytest.mark.cases(14)
@pytest.mark.parametrize("name", fixture_names())
def test_secrets_are_redacted(name: str) -> None:
    """No secret of any record is printed, in either form."""
    secrets = set()
    redaction = Redaction()
    by_type = {spec.type_name: spec.name for spec in builtin_registry().metadata.values()}
    for record_ in fixture(name).golden.dump():
        if "type" in record_:
            shown = redaction.record(by_type[record_["type"]], record_["data"])
            secrets |= {
                value
                for key, value in record_["data"].items()
                if shown[key] != value and isinstance(value, str) and len(value) > 12
            }
    found = fixture(name)
    source = (metashell.open if found.kind == "directory" else metashell.open_file)(found.input)
    for options in ("", "--json", "--checkpoints", "--json --checkpoints"):
        out = run_on(source, f"log --all {options}").out
        assert not [secret for secret in secrets if secret in out]


# The front end.


def test_closed_pipe_passes_through() -> None:
    """A reader that is gone ends the command."""

    class Closed(Captured):
        def write(self, text: str) -> None:
            raise BrokenPipeError

    source = opened(LIVE)
    context = Context(root=source.root, out=Closed(), warn=lambda _: None, source=source)
    with pytest.raises(BrokenPipeError):
        run_line(context, "log")


def test_completion() -> None:
    """Types, files and topics are proposed as values, options after a dash."""
    source = opened(LIVE)
    context = Context(root=source.root, out=Captured(), warn=lambda _: None, source=source)
    command = get("log")
    assert command is not None

    def proposed(*args: str) -> list[str]:
        return [c.text for c in command.complete(context, args[:-1], args[-1])]

    assert ["PartitionChange"] == proposed("--type", "partitionc")
    assert ["Topic,ConfigRecord".removesuffix("Record")] == proposed("--type", "Topic,Conf")
    assert ["topic-007"] == proposed("--topic", "topic-007")
    assert len(source.log.listing.segments) <= len(proposed("--file", "0"))
    assert ["--tail"] == proposed("--ta")
    assert [] == proposed("x")


def test_copy_without_checkpoints(tmp_path: Path) -> None:
    """Topics that nothing names any more keep their id, and --topic does not find them."""
    directory = copy_of(LIVE, tmp_path) / "__cluster_metadata-0"
    for path in directory.glob("*.checkpoint"):
        path.unlink()
    first = min(directory.glob("*.log"))
    first.unlink()
    source = metashell.open(directory)
    found = log(source, "--type Partition,PartitionChange")

    assert None in {r["topic"] for r in found}
    named = [r for r in found if r["topic"] is not None]
    assert named == log(source, "--type Partition,PartitionChange --topic '*'")
