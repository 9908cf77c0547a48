"""Groups and transactions as commands: names, what is missing, what can't be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import metashell
from metashell.cli import main
from metashell.errors import MetashellError
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.opening import open_fleet
from support.fixtures import copy_of, fixture_dir
from support.keyed_logs import START_MS, Put, commit, encode, types_of
from support.shell import run_on

LOG_DIR = "node-44/broker102/d1"


def test_a_name_may_be_elsewhere(tmp_path: Path) -> None:
    """It is never said to be unknown where a partition that may have it is not here."""
    source = metashell.open(fixture_dir(LOG_DIR))
    ran = run_on(source, "groups 'zz*'")
    assert (1, "groups: zz*: not in the partitions of __consumer_offsets here: 2 of 4") == (
        ran.status,
        ran.err[0],
    )
    alone = metashell.open(fixture_dir("node-44/broker102/d2"))
    for command in ("groups", "groups 'n-roll-*'"):
        ran = run_on(alone, command)
        assert 0 == ran.status
        assert "here: 2; how many there are is not known" in "\n".join(ran.err)
    ran = run_on(alone, "members k-unifrom c-rang")
    assert 1 == ran.status
    for name, more in (("k-unifrom", ""), ("c-rang", "; did you mean c-range or k-range?")):
        told = f"{name}: not in the partitions of __consumer_offsets here: 2; how many there are"
        assert any(told in line and line.endswith(f"not known{more}") for line in ran.err)
    node = copy_of(LOG_DIR, tmp_path)
    for segment in (node / "__consumer_offsets-2").glob("*.log"):
        segment.unlink()
    ran = run_on(metashell.open(node), "groups k-uniform")
    assert 1 == ran.status
    assert "k-uniform: partition 2 of __consumer_offsets could not be read" in "\n".join(ran.err)
    whole = open_fleet([str(fixture_dir(f"node-44/broker102/{d}")) for d in ("d1", "d2")])
    assert "nope: no such group" in "\n".join(run_on(whole, "groups nope").err)


def test_producers(tmp_path: Path) -> None:
    """Of some topics; with an open transaction alone; names and damage are told."""
    source = metashell.open(fixture_dir(LOG_DIR))
    columns = "--columns topic,partition,producer_id,current_txn_start_offset -o csv"
    ran = run_on(source, f"producers 'clic*' audit {columns}")
    assert (0, ()) == (ran.status, ran.err)
    assert ["audit,0,0,", "audit,0,2006,5", "clicks,0,2006,10", "clicks,1,6,"] == (
        ran.out.split()[1:]
    )
    ran = run_on(source, f"producers --open {columns}")
    assert ["__consumer_offsets,2,9,35", "audit,0,2006,5", "clicks,0,2006,10"] == (
        ran.out.split()[1:]
    )
    ran = run_on(source, "producers audti --count")
    assert ran.status == 1
    assert "audti: no such topic in this directory; did you mean audit?" in "\n".join(ran.err)
    node = copy_of(LOG_DIR, tmp_path)
    for segment in (node / "audit-0").glob("*.log"):
        segment.unlink()
    (segment,) = (node / "clicks-1").glob("*.log")
    segment.write_bytes(segment.read_bytes()[:-20] + b"x" * 400)
    ran = run_on(metashell.open(node), "producers audit clicks --count")
    assert (1, "2") == (ran.status, ran.out.strip())
    assert "audit-0: no segment of audit-0 there" in "\n".join(ran.err)
    assert "clicks-1: 00000000000000000000.log, position " in "\n".join(ran.err)


def test_expiry_and_lag(tmp_path: Path) -> None:
    """Expiry by Kafka's default or by a file; lag where the log of the partition is here."""
    source = metashell.open(fixture_dir(LOG_DIR))
    columns = "--columns topic,partition,expire_time,expire_source -o csv"
    ran = run_on(source, f"offsets c-offdel {columns}")
    assert [
        "orders,0,2026-11-29T11:56:00.834Z,DEFAULT_CONFIG",
        "orders,2,2026-11-29T11:56:00.834Z,DEFAULT_CONFIG",
    ] == ran.out.split()[1:]
    settings = tmp_path / "server.properties"
    settings.write_text("offsets.retention.minutes=60\n")
    ran = run_on(source, f"offsets c-offdel --assume {settings} {columns}")
    assert "orders,0,2026-11-22T12:56:00.834Z,STATIC_BROKER_CONFIG" == ran.out.split()[1]
    ran = run_on(source, "offsets c-offdel --lag -o csv --columns partition,log_end_offset,lag")
    assert ["0,61,60", "2,,"] == ran.out.split()[1:]
    assert not ran.err
    ran = run_on(source, "offsets --lag --count")
    assert "partitions whose logs are not here: 5" in "\n".join(ran.err)
    ran = run_on(source, "offsets c-offdel -o csv --columns partition,log_end_offset,lag")
    assert ["0,,", "2,,"] == ran.out.split()[1:]
    assert "LOG_END_OFFSET  LAG" in run_on(source, "offsets c-offdel --lag").out
    assert 2 == run_on(source, "offsets --lag --stalled").status


def test_lag_of_a_group() -> None:
    """The sum of the lags that are known, and how many are not in it."""
    source = metashell.open(fixture_dir(LOG_DIR))
    assert 2 == run_on(source, "offsets --summary").status
    (row,) = json.loads(run_on(source, "offsets c-offdel --lag --summary -o json").out)
    expected = {"lag": 60, "max_lag": 60, "partitions": 2, "not_counted": 1}
    assert {"group": "c-offdel", **expected} == row
    each = json.loads(run_on(source, "offsets --lag -o json --columns group,lag").out)
    for row in json.loads(run_on(source, "offsets --lag --summary -o json").out):
        lags = [one["lag"] for one in each if one["group"] == row["group"]]
        known = [lag for lag in lags if lag is not None]
        assert (sum(known) if known else None, max(known, default=None)) == (
            row["lag"],
            row["max_lag"],
        )
        assert (len(lags), len(lags) - len(known)) == (row["partitions"], row["not_counted"])


@pytest.mark.long
def test_stalled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands still while the log went on: for how long, and what is known of why."""
    node = copy_of(LOG_DIR, tmp_path)
    columns = "--columns topic,partition,lag,lag_ms,stalled_ms,why -o csv"
    ran = run_on(metashell.open(node), f"offsets --stalled c-offdel k-uniform {columns}")
    assert ran.status == 0
    assert [
        "orders,0,60,273602,420754,the group has no members",
        "clicks,0,1,0,358595,a transaction is open there; no commit since; 2 rebalances in "
        "the last hour",
    ] == ran.out.splitlines()[1:3]
    columns = "--columns topic,offset,held,why -o csv"
    both = [str(fixture_dir(f"node-44/broker102/{name}")) for name in ("d1", "d2")]
    words = ["offsets", "--stalled", "k-empty", *columns.split()]
    assert 0 == main(["-d", both[0], "-d", both[1], *words])
    told = capsys.readouterr().out
    assert "audit,5,true,a transaction is open there; the group has no members" in told
    ran = run_on(metashell.open(node), "offsets --stalled nobody")
    assert ran.status == 1
    for segment in (node / "orders-0").glob("*.log"):
        segment.unlink()
    ran = run_on(metashell.open(node), "offsets --stalled c-offdel --count")
    assert ran.status == 1
    assert "no segment of orders-0 there" in "\n".join(ran.err)


def test_a_segment_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """It has no logs of topics beside it."""
    (segment, *_) = (fixture_dir("node-44/broker102/d2") / "__transaction_state-0").glob("*.log")
    assert 0 == main(["-s", str(segment), "transactions", "-o", "jsonl", "--limit", "1"])
    assert json.loads(capsys.readouterr().out)["hanging"] is None
    assert 2 == main(["-s", str(segment), "transactions", "--hanging"])
    assert "this source has no log directory" in capsys.readouterr().err


def test_damage_is_told(tmp_path: Path) -> None:
    """A batch with a wrong CRC is left out, and what a broker does is said; the rest is read."""
    whole = run_on(metashell.open(fixture_dir(LOG_DIR)), "offsets --count")
    node = copy_of(LOG_DIR, tmp_path)
    log = max((node / "__consumer_offsets-2").glob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    ran = run_on(metashell.open(node), "offsets --count")
    assert ran.status == 1
    assert int(ran.out) < int(whole.out)
    assert f"__consumer_offsets-2: {log.name}, position " in "\n".join(ran.err)
    assert "its loader checks no CRC" in "\n".join(ran.err)
    shutil.rmtree(node / "__consumer_offsets-2")
    with pytest.raises(MetashellError):
        metashell.open(node / "__consumer_offsets-0")


def test_committed_only_ends_at_the_high_watermark(tmp_path: Path) -> None:
    """What lies behind the high watermark that the broker wrote does not count."""
    node = copy_of(LOG_DIR, tmp_path)
    (node / "replication-offset-checkpoint").write_text(
        "0\n2\n__consumer_offsets 0 0\n__consumer_offsets 2 3\n"
    )
    source = metashell.open(node, committed_only=True)
    ran = run_on(source, "offsets --columns group -o csv")
    assert ran.status == 0
    assert len(ran.out.split()) <= 4


def test_one_partition_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The directory of a partition, and a segment of one; not that of another coordinator."""
    place = fixture_dir(LOG_DIR)
    assert 0 == main(["-d", str(place / "__consumer_offsets-2"), "members", "-o", "csv"])
    told = capsys.readouterr()
    assert 3 == len(told.out.splitlines())
    assert not told.err
    assert 0 == main(["-d", str(place / "__share_group_state-0"), "share", "--count"])
    assert "1" == capsys.readouterr().out.strip()
    assert 2 == main(["-d", str(place / "__consumer_offsets-2"), "transactions"])
    assert "this source has no log of __transaction_state" in capsys.readouterr().err


def _health(place: Path, words: str = "") -> dict[tuple[str, str], tuple[int, str]]:
    """Problems of groups, offsets and transactions: count and explanation by kind and subject."""
    columns = "--columns code,subject,count,explanation"
    ran = run_on(metashell.open(place), f"health {words} {columns} -o jsonl")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    kinds = ("coordinator-refuses", "hanging-transaction", "offsets-", "hot-")
    return {
        (row["code"], row["subject"]): (row["count"], row["explanation"])
        for row in rows
        if row["code"].startswith(kinds)
    }


@pytest.mark.long
def test_health_of_groups(tmp_path: Path) -> None:
    """A record that is refused, offsets of gone topics and those about to expire are problems."""
    node = copy_of(LOG_DIR, tmp_path)
    assert {} == _health(node)
    settings = tmp_path / "server.properties"
    settings.write_text("offsets.retention.minutes=60\ntransaction.max.timeout.ms=1\n")
    found = _health(node, f"--assume {settings}")
    (count, told) = found["offsets-expiring", "topic __consumer_offsets"]
    assert count > 5
    assert "by the retention of STATIC_BROKER_CONFIG" in told
    value = {"offset": 1, "commit_timestamp": START_MS, "topic_id": b"\1" * 16}
    entries = [
        commit("far", "not-there", 5),
        Put(
            name="OffsetCommit",
            key={"group": "far", "topic": "clicks", "partition": 1},
            value=value,
        ),
    ]
    segment = node / "__consumer_offsets-0" / f"{1000:020d}.log"
    batches = [encode(types_of(CoordinatorLog.GROUPS), e, 1000 + i) for i, e in enumerate(entries)]
    segment.write_bytes(b"".join(batches))
    found = _health(node, "offsets-of-gone-topic offsets-of-earlier-topic")
    assert {
        ("offsets-of-earlier-topic", "topic clicks"),
        ("offsets-of-gone-topic", "topic not-there"),
    } == found.keys()
    assert found["offsets-of-gone-topic", "topic not-there"][1].startswith("group far: the topic")
    member = {"group_id": "k-uniform", "member_id": "m"}
    current = Put(
        name="ConsumerGroupCurrentMemberAssignment", key=member, value={"member_epoch": 5}
    )
    entries += [current, Put(name="ConsumerGroupMemberMetadata", key=member)]
    batches = [encode(types_of(CoordinatorLog.GROUPS), e, 1000 + i) for i, e in enumerate(entries)]
    segment.write_bytes(b"".join(batches))
    found = _health(node, "coordinator-refuses")
    assert [("coordinator-refuses", "partition __consumer_offsets-0")] == list(found)
    assert "a broker stops at offset 1003" in next(iter(found.values()))[1]
    assert 1 == run_on(metashell.open(node), "health coordinator-refuses").status


def test_health_of_transactions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What hangs for longer than the longest timeout is critical."""
    places = [str(fixture_dir(f"node-44/broker102/{name}")) for name in ("d1", "d2")]
    words = ["-d", places[0], "-d", places[1], "health", "hanging-transaction", "-o", "jsonl"]
    assert 0 == main(words)
    assert not capsys.readouterr().out
    settings = tmp_path / "server.properties"
    settings.write_text("transaction.max.timeout.ms=1000\n")
    assert 1 == main([*words, "--assume", str(settings)])
    row = json.loads(capsys.readouterr().out)
    assert ("critical", "topic streams-in", 1) == (row["severity"], row["subject"], row["count"])
    assert row["explanation"].startswith(
        "producer 777000 holds partition 1 at offset 4 for 5 min: no coordinator will end them"
    )
    assert "transactions --hanging streams-in" == row["command"]
    assert "2026-11-22T11:57:04.212Z" == row["since_time"]
