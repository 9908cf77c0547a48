"""Findings about replicas on disks: what a start loses, sets aside, makes and promotes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from kraftgen.batch import encode_batch
from kraftgen.files import LOG_DIR_NAME
from metashell.checks.finding import Finding
from metashell.findings.kind import StopKind
from metashell.findings.kinds.replicas import KINDS
from metashell.judgement import evidence
from metashell.judgement.evidence import Evidence, find
from metashell.read_settings import ReadSettings
from metashell.schema.uuids import LOST, uuid_text
from metashell.sources.directory import open_place
from metashell.sources.source import Source
from support.fixtures import copy_of
from support.logs import make_directory, record
from support.shell import run_on
from support.small_cluster import broker, config, level

_TOPIC = bytes([7]) * 16
_DIRS = [bytes([9] * 15 + [i]) for i in (1, 2)]
_CODES = {kind.code for kind in KINDS}
_SEGMENT = f"{0:020}.log"
_ANOTHER_ID = "directory.id=JEXwAAAAAAAAAAAAAAAAAg"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The disks of broker 102, which was down for long, and the metadata of a controller."""
    return copy_of("node-disk-44/story", tmp_path)


def _open(node: Path, *dirs: str) -> Source:
    log_dirs = tuple(str(node / name) for name in dirs or ("d1", "d2"))
    return open_place(str(node / "controller1"), ReadSettings(log_dirs=log_dirs))


def _found(source: Source) -> dict[str, dict[str, Any]]:
    """The findings about replicas, by code."""
    rows = json.loads(run_on(source, f"health {' '.join(sorted(_CODES))} -o json").out)
    return {row["code"]: row for row in rows}


def _counts(source: Source) -> dict[str, int]:
    return {code: row["count"] for code, row in _found(source).items()}


def test_story(node: Path) -> None:
    """Each kind counts its directories or partitions."""
    expected = {
        "becomes-stray": 12,
        "replica-missing": 8,
        "stray-left": 1,
        "ghost-replica": 1,
        "future-log": 1,
        "replica-elsewhere": 1,
    }
    found = _found(_open(node))
    assert expected == {code: row["count"] for code, row in found.items()}
    assert {"broker 102"} == {row["subject"] for row in found.values()}
    assert (
        "12 directories (2.8 KiB) are set aside at the next start: deleted-while-down-2, keep-2,"
        " moved-away-0, 9 more; 5 because the topic of this name has another topic id; 3 because"
        " no topic has this topic id; 3 because the broker is not among the replicas; 1 because it"
        " has no partition.metadata" == found["becomes-stray"]["explanation"]
    )
    assert found["replica-missing"]["explanation"].endswith(
        "3 with a log of this name that is set aside"
    )


def test_check_tells_them_too(node: Path) -> None:
    """`check` and the table `findings` have the same findings."""
    rows = [json.loads(line) for line in run_on(_open(node), "check -o jsonl").out.splitlines()]
    assert _CODES & {row["code"] for row in rows} == _counts(_open(node)).keys()


def test_the_only_copy_is_gone(node: Path) -> None:
    """A partition that no other broker has is lost if its broker starts without it."""
    shutil.rmtree(node / "d2" / "only-on-b-0")
    found = _found(_open(node))["replica-lost"]
    assert ("critical", 1) == (found["severity"], found["count"])
    assert "1 partition is lost if the broker starts: only-on-b-0" == found["explanation"]
    assert found["action"].startswith("do not start the broker.")


def test_a_copy_that_the_broker_deletes(node: Path) -> None:
    """The broker knows newer metadata than is compared with: nothing is lost."""
    replica = node / "d2" / "only-on-b-0"
    replica.rename(replica.with_name(f"only-on-b-0.{'ab' * 16}-delete"))
    assert "replica-lost" not in _counts(_open(node))


@pytest.mark.parametrize(
    ("name", "keeps_id"),
    [
        ("only-on-b-0", False),
        ("oldname-0", True),
        (f"only-on-b-0.{'ab' * 16}-stray", True),
        (f"only-on-b-0.{'ab' * 16}-stray", False),
    ],
)
def test_a_log_that_is_not_known_again(node: Path, name: str, keeps_id: bool) -> None:
    """The log is there, under another name or without its topic id: it can be brought back."""
    replica = node / "d2" / "only-on-b-0"
    if not keeps_id:
        (replica / "partition.metadata").unlink()
    replica = replica.rename(replica.with_name(name))
    found = _found(_open(node))["replica-lost"]
    assert found["explanation"].endswith(f": only-on-b-0; its log is {replica}")
    assert (
        "do not start the broker. Copy the directory of the log. If its records are of an older"
        " topic of this name, leave it. Else name it only-on-b-0, and write `version: 0` and"
        " `topic_id: 5T2AzP_MQq21Oa2D2oIgDw` into its partition.metadata" == found["action"]
    )


def test_a_log_of_an_older_topic(node: Path) -> None:
    """A log with the id of another topic is not the replica: its volume is asked for."""
    (node / "d2" / "only-on-b-0" / "partition.metadata").write_text(
        f"version: 0\ntopic_id: {uuid_text(_TOPIC)}"
    )
    found = _found(_open(node))["replica-lost"]
    assert found["explanation"].endswith("; 1 with a log of this name that is set aside")
    assert "partition.metadata" not in found["action"]
    assert "the partitions have other replicas" in found["action"]


def test_logs_without_partition_metadata(node: Path) -> None:
    """Of several logs a command tells the ids; a living leader makes them needless."""
    for name in ("keep-0", "hand-moved-1"):
        (node / "d1" / name / "partition.metadata").unlink()
    told = [one for one in _all(_open(node)) if one.code == "replica-missing"]
    gone, there = told
    assert "partition.metadata" not in gone.what_to_do
    assert there.count == 2
    assert there.what_to_do.startswith("nothing if a leader lives:")
    assert "`topic_id: ID`" in there.what_to_do


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_in_the_place_of_a_replica(node: Path, is_link: bool) -> None:
    """The broker can't make the replica, and takes the directory offline that the metadata has."""
    shutil.rmtree(node / "d1" / "keep-0")
    for name in ("d1/keep-0", "d2/keep-0", "d1/readme-0"):
        if is_link:
            (node / name).symlink_to(node / "controller1" / "meta.properties")
        else:
            (node / name).write_text("notes")
    (found,) = (one for one in _all(_open(node)) if one.code == "log-name-taken")
    assert (f"{node}/d1", 1) == (found.directory, found.count)
    assert f"Error while creating log for keep-0 in dir {node}/d1" == found.kafka


def test_a_new_disk(node: Path) -> None:
    """An empty disk with a new directory.id stands for all log directories of the broker."""
    for replica in (node / "d2").iterdir():
        if replica.is_dir():
            shutil.rmtree(replica)
    identity = node / "d2" / "meta.properties"
    lines = [line for line in identity.read_text().splitlines() if "directory.id" not in line]
    identity.write_text("\n".join([*lines, _ANOTHER_ID, ""]))
    found = _found(_open(node))
    assert "1 partition is lost if the broker starts: only-on-b-0" in str(
        found["replica-lost"]["explanation"]
    )
    assert 10 == found["replica-missing"]["count"]


def test_a_directory_that_is_not_given(node: Path) -> None:
    """Nothing is told to be lost that may lie in another log directory."""
    shutil.rmtree(node / "d2" / "only-on-b-0")
    source = _open(node, "d1")
    assert "replica-lost" not in _counts(source)
    found = _starts(source)["replicas-not-given"]
    assert (
        "replicas in log directories that were not given: 4; no other broker has all data of"
        " only-on-b-0" == found.message
    )


def test_an_earlier_state_has_no_disks(node: Path) -> None:
    """Disks are of now."""
    assert {} == _counts(_open(node).at("100"))


def test_many_directories(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many directories `health` knows the names, and says so; `check` looks into them."""
    monkeypatch.setattr(evidence, "_FEW_LOGS", 3)
    shutil.rmtree(node / "d2" / "only-on-b-0")
    by_name = {"replica-lost", "replica-missing", "stray-left"}
    assert by_name == _counts(_open(node)).keys()
    assert "what lies in each partition's directory (check)" in " ".join(
        run_on(_open(node), "health").out.split()
    )
    out = run_on(_open(node), "check -o jsonl").out
    assert '"becomes-stray"' in out


def test_a_copy_of_the_metadata_log_alone(node: Path) -> None:
    """A broker's metadata log without any other log is a copy: nothing is missing in it."""
    for replica in (node / "d1").iterdir():
        if replica.is_dir() and replica.name != LOG_DIR_NAME:
            shutil.rmtree(replica)
    source = open_place(str(node / "d1"), ReadSettings())
    assert {} == _counts(source)


def test_an_empty_disk_that_is_to_be_started(tmp_path: Path) -> None:
    """Nothing is on it but the metadata log: it may be a copy, and that is said."""
    found = _starts(_broker_1(tmp_path, directories=[_DIRS[0]]))["replica-lost"]
    assert (
        "1 partition is lost if the broker starts: orders-0; no log of a topic is in these"
        " directories: others are not given, or it is a copy" == found.message
    )


def _down(
    tmp_path: Path, *values: bytes, isr: Sequence[int], fenced: Sequence[int], elr: Sequence[int]
) -> dict[str, int]:
    """Findings about broker 1, which lacks its replica of the only partition."""
    partition = record(
        "PartitionRecord",
        topic_id=_TOPIC,
        partition_id=0,
        replicas=[1, 2, 3],
        isr=isr,
        eligible_leader_replicas=elr,
        leader=-1,
        directories=[_DIRS[0], _DIRS[1], _DIRS[1]],
    )
    records = [
        level("metadata.version", 27),
        *values,
        *(broker(i, fenced=i in fenced) for i in (1, 2, 3)),
        record("TopicRecord", name="orders", topic_id=_TOPIC),
        partition,
    ]
    batches = b"".join(encode_batch([value], base_offset=i) for i, value in enumerate(records))
    parent = tmp_path / "d1"
    parent.mkdir()
    make_directory(parent, (0, batches))
    (parent / "meta.properties").write_text(
        "version=1\ncluster.id=c\nnode.id=1\ndirectory.id=CQkJCQkJCQkJCQkJCQkJAQ\n"
    )
    (parent / "gone-0").mkdir()
    found = _counts(open_place(str(parent), ReadSettings()))
    assert 1 == found.pop("becomes-stray")
    return found


@pytest.mark.parametrize(
    ("isr", "elr", "fenced", "code"),
    [
        ([1], [], [1, 2, 3], "replica-lost"),
        ([1], [], [1], "replica-lost"),
        ([], [1], [1, 2, 3], "replica-lost"),
        ([1], [2], [1, 2, 3], "replica-leads-empty"),
        ([1, 2], [], [1, 2, 3], "replica-leads-empty"),
        ([1, 2], [], [1, 3], "replica-missing"),
        ([2], [], [1, 2, 3], "replica-missing"),
        ([], [2], [1, 2, 3], "replica-missing"),
    ],
)
def test_who_else_has_the_data(
    tmp_path: Path, isr: Sequence[int], elr: Sequence[int], fenced: Sequence[int], code: str
) -> None:
    """Only a broker of the ISR or ELR has the data, and only one that lives keeps it."""
    assert {code: 1} == _down(tmp_path, isr=isr, elr=elr, fenced=fenced)


def test_an_unclean_election(tmp_path: Path) -> None:
    """Where it is allowed, an empty replica that is out of sync may lead too."""
    allowed = config(2, "orders", "unclean.leader.election.enable", "true")
    found = _down(tmp_path, allowed, isr=[2], elr=[], fenced=[1, 2, 3])
    assert {"replica-leads-empty": 1} == found


def _set(place: Path, line: str) -> None:
    """Put a line of a checkpoint file in the place of that log's own."""
    lines = place.read_text().splitlines()[2:]
    kept = [one for one in lines if one.split()[:2] != line.split()[:2]]
    place.write_text("\n".join(["0", str(len(kept) + 1), *kept, line, ""]))


def test_a_log_that_ends_before_its_start(node: Path) -> None:
    """The broker deletes all segments of a log that ends before its log start offset."""
    _set(node / "d1" / "log-start-offset-checkpoint", "keep 0 5")
    found = _found(_open(node))["log-start-beyond-end"]
    assert ("warning", 1) == (found["severity"], found["count"])
    assert found["explanation"].endswith(": keep-0")
    _set(node / "d1" / "log-start-offset-checkpoint", "keep 0 4")
    assert "log-start-beyond-end" not in _counts(_open(node))


def test_a_log_that_lost_its_tail(node: Path) -> None:
    """A log that ends before its high watermark lacks committed records."""
    _set(node / "d2" / "replication-offset-checkpoint", "only-on-b 0 13")
    found = _found(_open(node))["ends-below-high-watermark"]
    assert found["explanation"].endswith(": only-on-b-0")
    _set(node / "d2" / "replication-offset-checkpoint", "only-on-b 0 12")
    assert "ends-below-high-watermark" not in _counts(_open(node))


@pytest.mark.parametrize(
    ("epochs", "diverges_at"),
    [("0 0\n1 2", None), ("0 0\n1 3", 2), ("0 0\n2 2", 2), ("0 0", 2), ("1 2", None)],
)
def test_replicas_of_two_brokers(node: Path, epochs: str, diverges_at: int | None) -> None:
    """Where the leader epochs of another broker's replica leave those of the leader's."""
    other = node / "other"
    shutil.copytree(node / "d1" / "keep-0", other / "keep-0")
    identity = (node / "d1" / "meta.properties").read_text()
    identity = identity.replace("node.id=102", "node.id=101")
    lines = [line for line in identity.splitlines() if "directory.id" not in line]
    (other / "meta.properties").write_text("\n".join([*lines, _ANOTHER_ID, ""]))
    for place, text in ((node / "d1", "0 0\n1 2"), (other, epochs)):
        n = len(text.splitlines())
        (place / "keep-0" / "leader-epoch-checkpoint").write_text(f"0\n{n}\n{text}\n")
    source = _open(node, "d1", "d2", "other")
    rows = run_on(source, "replicas keep --columns broker,partition,diverges_at -o jsonl").out
    told = [json.loads(line) for line in rows.splitlines()]
    found = [one["diverges_at"] for one in told if one["diverges_at"] is not None]
    assert ([] if diverges_at is None else [diverges_at]) == found
    assert bool(found) == ("replica-epochs-diverge" in _counts(source))


def test_directories_of_other_brokers(node: Path) -> None:
    """A copied disk has the directory.id of another broker."""
    source = _open(node)
    brokers = source.image.brokers
    ids, bounds = brokers.log_dirs.gather()
    other = uuid_text(bytes(ids[bounds[brokers.ids.tolist().index(103)]]))
    identity = node / "d2" / "meta.properties"
    lines = [line for line in identity.read_text().splitlines() if "directory.id" not in line]
    identity.write_text("\n".join([*lines, f"directory.id={other}", ""]))
    found = _found(_open(node))
    assert "d2: broker 103 registered directory.id " in str(
        found["directory-of-other-broker"]["explanation"]
    )
    identity.write_text("\n".join([*lines, _ANOTHER_ID, ""]))
    assert "d2: the broker did not register directory.id JEXwAAAAAAAAAAAAAAAAAg" in str(
        _found(_open(node))["directory-not-registered"]["explanation"]
    )


def _starts(source: Source, after: StopKind | None = None) -> dict[str, Finding]:
    """What `preflight` finds about replicas, by code."""
    return {one.code: one for one in _all(source, after)}


def _all(source: Source, after: StopKind | None = None) -> list[Finding]:
    asked = Evidence(source=source, image=source.image, starts=True, looks_in=True, after=after)
    return [one for one in find(asked, _CODES) if isinstance(one, Finding)]


def test_a_clean_stop(node: Path) -> None:
    """Nothing is recovered, and the controller takes the start for a clean one."""
    found = _starts(_open(node))
    assert not {"log-recovery", "unclean-start"} & found.keys()
    assert 1 == found["delete-left"].count


def test_a_running_broker(node: Path) -> None:
    """Both ends are told apart: it was killed, or it will stop cleanly."""
    for name in ("d1", "d2"):
        (node / name / ".kafka_cleanshutdown").unlink()
    found = _starts(_open(node))
    assert {StopKind.KILL} == {found[code].after for code in ("log-recovery", "unclean-start")}
    assert 23 == found["log-recovery"].count
    assert not {"log-recovery", "unclean-start"} & _starts(_open(node), StopKind.CLEAN).keys()
    killed = _starts(_open(node), StopKind.KILL)
    assert {None} == {killed[code].after for code in ("log-recovery", "unclean-start")}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, ": there is no .kafka_cleanshutdown"),
        ("", ": .kafka_cleanshutdown has no broker epoch, and the registration 255"),
        (
            '{"version":0,"brokerEpoch":254}',
            ": .kafka_cleanshutdown has broker epoch 254, and the registration 255",
        ),
    ],
)
def test_an_unclean_start(node: Path, text: str | None, why: str) -> None:
    """All log directories must tell the broker epoch of the registration."""
    file = node / "d2" / ".kafka_cleanshutdown"
    file.unlink()
    if text is not None:
        file.write_text(text)
    found = _starts(_open(node))["unclean-start"]
    assert (2, None) == (found.count, found.after)
    assert (
        f"{node}/d2{why}: the broker leaves the ISR and ELR of 2 partitions; no other broker is in"
        " them for 2 of these: only-on-b-0, only-on-b-1. It leads these again as their last known"
        " leader, with the records of its logs" == found.message
    )
    assert found.what_to_do.startswith("see that all log directories are there")


def test_segments_from_the_recovery_point_on(node: Path) -> None:
    """Recovery reads the segment that holds the recovery point, and all behind it."""
    (node / "d1" / ".kafka_cleanshutdown").unlink()
    log = node / "d1" / "keep-0"
    for base, n_bytes in ((10, 100), (20, 200)):
        (log / f"{base:020}.log").write_bytes(bytes(n_bytes))
    first = (log / _SEGMENT).stat().st_size
    for point, expected in ((0, (3, first + 300)), (9, (3, first + 300)), (10, (2, 300))):
        _set(node / "d1" / "recovery-point-offset-checkpoint", f"keep 0 {point}")
        line = "replicas keep --columns partition,state,recovery_segments,recovery_bytes -o jsonl"
        rows = [json.loads(row) for row in run_on(_open(node), line).out.splitlines()]
        (row,) = (row for row in rows if row["partition"] == 0)
        assert expected == (row["recovery_segments"], row["recovery_bytes"])
        (row,) = (row for row in rows if row["partition"] == 1)
        assert (0, 0) == (row["recovery_segments"], row["recovery_bytes"])


def test_a_future_that_takes_a_logs_place(node: Path) -> None:
    """Both logs are counted: the future one, and the current one that is deleted."""
    identities = [node / name / "meta.properties" for name in ("d1", "d2")]
    texts = [identity.read_text() for identity in identities]
    for identity, text in zip(identities, reversed(texts), strict=True):
        identity.write_text(text)
    found = _found(_open(node))["future-promoted"]
    assert (
        "1 directory (6.1 KiB) is made current at the next start: future-b-0; the current logs,"
        " which are deleted then, have 13.1 KiB" == found["explanation"]
    )


@pytest.mark.parametrize(
    ("assigned", "codes"),
    [
        (_DIRS[0], {"directory-cordoned"}),
        (LOST, {"directory-cordoned", "replica-elsewhere"}),
        (bytes(16), {"directory-cordoned"}),
        (bytes([3]) * 16, {"directory-cordoned", "replica-elsewhere"}),
    ],
)
def test_where_the_metadata_has_a_replica(
    tmp_path: Path, assigned: bytes, codes: Collection[str]
) -> None:
    """In the directory, in a lost one, in none that is known, or in another one."""
    source = _broker_1(tmp_path, directories=[assigned])
    (tmp_path / "d1" / "orders-0").mkdir()
    (tmp_path / "d1" / "orders-0" / "partition.metadata").write_text(
        f"version: 0\ntopic_id: {uuid_text(_TOPIC)}"
    )
    assert codes == _counts(source).keys()


def _broker_1(tmp_path: Path, **fields: object) -> Source:
    """The only log directory of broker 1, which is cordoned, and a topic's only partition."""
    records = [
        level("metadata.version", 27),
        broker(1, log_dirs=[_DIRS[0]], cordoned_log_dirs=[_DIRS[0]]),
        record("TopicRecord", name="orders", topic_id=_TOPIC),
        record(
            "PartitionRecord",
            topic_id=_TOPIC,
            partition_id=0,
            replicas=[1],
            isr=[1],
            leader=1,
            **fields,
        ),
    ]
    batches = b"".join(encode_batch([value], base_offset=i) for i, value in enumerate(records))
    parent = tmp_path / "d1"
    parent.mkdir()
    make_directory(parent, (0, batches))
    (parent / "meta.properties").write_text(
        f"version=1\ncluster.id=c\nnode.id=1\ndirectory.id={uuid_text(_DIRS[0])}\n"
    )
    return open_place(str(parent), ReadSettings())
