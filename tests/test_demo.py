"""The bundled cluster tells its story: what is wrong at its end, since when, and what was before.

It is a controller's directory of a real cluster, docs/demo.md tells its story. Broker 104 died at
12:39:49, and everything here follows from that or was there before.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.sources.source import Source
from support.fixtures import DEMO
from support.shell import run_on

DIED = "2026-11-22T12:39:49.172Z"
MOST_BYTES = 300_000


@cache
def demo() -> Source:
    """The bundled cluster, opened."""
    return metashell.open(DEMO)


def rows(line: str) -> list[dict[str, Any]]:
    """What a command answers."""
    ran = run_on(demo(), f"{line} -o json")
    assert 0 == ran.status, ran.err
    found: list[dict[str, Any]] = json.loads(ran.out)
    return found


def places(line: str) -> dict[str, str | None]:
    """Partitions that a command lists, and since when."""
    return {f"{row['topic']}-{row['partition']}": row["since_time"] for row in rows(line)}


def test_three_partitions_are_offline() -> None:
    """Since broker 104 died, for which they wait."""
    offline = rows("partitions --offline")
    assert {(row["topic"], row["partition"]) for row in offline} == {
        ("csv-imports", 1),
        ("csv-imports", 3),
        ("csv-imports", 5),
    }
    assert {DIED} == {row["since_time"] for row in offline}
    assert {"waits for 104 (ELR)"} == {row["why"] for row in offline}


def test_one_more_is_under_its_min_isr() -> None:
    """Of the topic with two replicas."""
    under = places("partitions --under-min-isr")
    assert {"csv-imports-1", "csv-imports-3", "csv-imports-5", "shipment-labels-1"} == set(under)
    assert DIED == under["shipment-labels-1"]


def test_a_reassignment_cannot_finish() -> None:
    """Away from the dead broker; it began after that died."""
    moving = places("partitions --reassigning")
    assert {"csv-imports-1", "csv-imports-3"} == set(moving)
    assert {"2026-11-22T12:40:25.022Z"} == set(moving.values())


def test_a_recovery_never_finished() -> None:
    """Of the partition that was elected uncleanly."""
    assert {"csv-imports-4"} == set(places("partitions --recovering"))


def test_broker_104_is_fenced() -> None:
    """With the partitions that lack it, and the record that fenced it."""
    (dead,) = (row for row in rows("health fenced-broker") if row["subject"] == "broker 104")
    assert (13, DIED) == (dead["count"], dead["since_time"])
    last = rows("changes /image/cluster/brokers/104")[-1]
    assert (1891, DIED) == (last["offset"], last["time"])
    assert {"fenced": [False, True]} == last["fields"]


def test_broker_105_is_a_ghost() -> None:
    """Fenced for 23 minutes, and it holds no replicas."""
    (ghost,) = rows("nodes --ghosts --ghost-after 20m --history")
    assert (105, "fenced for 23 min, no replicas") == (ghost["id"], ghost["ghost"])


def test_broker_103_blocks_the_upgrade() -> None:
    """No other does."""
    ran = run_on(demo(), "can-upgrade 4.4 -o json")
    assert 1 == ran.status
    assert [(103, "4.3")] == [(row["id"], row["release"]) for row in json.loads(ran.out)]


def test_two_configs_were_lowered_before() -> None:
    """Within the half hour before, by somebody that the log does not name."""
    changed = rows("changes --since 2026-11-22T12:24Z --until 2026-11-22T12:30Z /image/configs")
    assert [
        ("2026-11-22T12:25:00.016Z", "TOPIC:payments/min.insync.replicas", {"": [None, "1"]}),
        (
            "2026-11-22T12:25:20.012Z",
            "TOPIC:audit-log/retention.ms",
            {"": ["31536000000", "3600000"]},
        ),
    ] == [(c["time"], c["path"].removeprefix("/image/configs/"), c["fields"]) for c in changed]


@pytest.mark.parametrize(
    ("moment", "kinds"),
    [
        ("2026-11-22T12:25:55Z", {"fenced-broker"}),
        ("2026-11-22T12:27:00Z", {"offline-partitions", "under-min-isr", "fenced-broker"}),
        ("2026-11-22T12:34:00Z", {"offline-partitions", "under-min-isr", "fenced-broker"}),
        ("2026-11-22T12:39:30Z", {"fenced-broker", "recovering"}),
    ],
)
def test_earlier_states(moment: str, kinds: set[str]) -> None:
    """Whole, then broker 103 died, then 104 was stopped, then all was well again."""
    source = demo().at(moment)
    found = json.loads(run_on(source, "health -o json --columns code").out)
    shown = {row["code"] for row in found}
    assert kinds <= shown
    assert ("offline-partitions" in kinds) == ("offline-partitions" in shown)


def test_only_passwords_of_tests_are_shipped() -> None:
    """Every SCRAM credential in any file was made from its user's name with ``-test`` behind it."""
    source = metashell.open(DEMO, show_secrets=True)
    line = "log --all --checkpoints --type UserScramCredential -o json"
    stored = [row["data"] for row in json.loads(run_on(source, line).out)]
    assert {"admin", "analytics", "billing", "payments"} < {fields["name"] for fields in stored}
    for fields in stored:
        digest = {1: "sha256", 2: "sha512"}[fields["mechanism"]]
        password = f"{fields['name']}-test".encode()
        salt = b64decode(fields["salt"])
        salted = hashlib.pbkdf2_hmac(digest, password, salt, fields["iterations"])
        key = hmac.digest(salted, b"Client Key", digest)
        assert hashlib.new(digest, key).digest() == b64decode(fields["storedKey"]), fields["name"]


def test_no_config_is_secret() -> None:
    """Nothing that is redacted lies among the configs of the bundled cluster."""
    line = "log --all --checkpoints --type Config -o json"
    assert "[redacted]" not in run_on(demo(), line).out


def test_it_is_small() -> None:
    """What every wheel carries."""
    files = [path for path in Path(DEMO).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
