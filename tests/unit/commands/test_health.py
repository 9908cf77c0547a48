"""``health``: its rows, its words, its exit status, and what is no image's: files and quorums."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.cli.one_run import greeting
from metashell.commands.framework.command import Context, Nowhere
from metashell.commands.framework.run import run_line
from metashell.commands.health.paragraphs import HealthVerdict
from metashell.commands.health.rows import in_order, of_finding, summary_of, told_count
from metashell.findings.kind import SEVERITIES, Need
from metashell.findings.known import all_kinds
from metashell.fs.path import resolve
from metashell.judgement.quorum_findings import of_live
from metashell.quorum.description import LiveStatus, QuorumDescription, Replica
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.tui.view_state import ViewState, ask
from support.fixtures import DEMO, fixture, fixture_dir
from support.fleets import backups
from support.live import Cluster
from support.logs import record
from support.shell import Captured, run, run_on
from support.small_cluster import broker, cluster

Row = dict[str, Any]
TOPIC_ID = bytes([7]) * 16


def rows(source: Source, line: str = "health") -> list[Row]:
    """The rows that a line gives."""
    found: list[Row] = json.loads(run_on(source, f"{line} -o json").out)
    return found


def partition(**fields: object) -> bytes:
    """A partition of the topic."""
    known: Row = {
        "topic_id": TOPIC_ID,
        "partition_id": 0,
        "replicas": [1, 2],
        "isr": [1, 2],
        "leader": 1,
    }
    return record("PartitionRecord", **{**known, **fields})


@pytest.fixture
def sound() -> Iterator[Source]:
    """Two brokers and a topic with all its replicas."""
    topic = record("TopicRecord", name="orders", topic_id=TOPIC_ID)
    with cluster(broker(1), broker(2), topic, partition()) as source:
        yield source


@pytest.fixture
def broken() -> Iterator[Source]:
    """The same without a leader of partition 1, and a topic whose name needs care."""
    odd = {"topic_id": bytes([8]) * 16, "leader": -1, "isr": []}
    values = [
        broker(1),
        broker(2),
        record("TopicRecord", name="orders", topic_id=TOPIC_ID),
        partition(),
        partition(partition_id=1, leader=-1, isr=[]),
        record("TopicRecord", name="a b/[c]", topic_id=odd["topic_id"]),
        partition(**odd),
    ]
    with cluster(*values) as source:
        yield source


def test_nothing_is_wrong(sound: Source) -> None:
    """It says so in words, with no table; machines get no rows."""
    ran = run_on(sound, "health")
    assert (0, ()) == (ran.status, ran.err)
    said, as_of, *not_seen = ran.out.splitlines()
    assert said == "nothing is wrong: 1 partition, 2 brokers"
    assert as_of.startswith("as of     offset 3, ")
    assert not_seen[0].startswith("not seen  damage in older files and in indexes (check); ")
    assert all(line.startswith(" " * 10) for line in not_seen[1:])
    assert run_on(sound, "health -o json").out == "[]\n"
    assert run_on(sound, "health --count").out == "0\n"
    assert run_on(sound, "health --exit-code").status == 0


def test_rows_say_where_and_what_to_do(broken: Source) -> None:
    """Each path leads to a node, each command of ours runs and lists as many partitions."""
    found = rows(broken)
    assert {"orders", "a b/[c]"} <= {row["subject"].removeprefix("topic ") for row in found}
    for row in found:
        place = resolve(broken.root, row["path"])
        assert row["subject"] == f"topic {place.name}"
        assert run_on(broken, row["command"]).status == 0
        assert row["explanation"]
        assert row["action"]
    offline = [row for row in found if row["code"] == "offline-partitions"]
    for row in offline:
        assert int(run_on(broken, f"{row['command']} --count").out) == row["count"] == 1
    assert [4, 6] == sorted(row["since_offset"] for row in offline)


def test_what_follows_stands_behind_its_cause() -> None:
    """A cause is told in words with its effects, and its row comes first of its group."""
    values = [
        *(broker(node) for node in (1, 2, 3)),
        record("TopicRecord", name="orders", topic_id=TOPIC_ID),
        partition(replicas=[1, 2], isr=[2], leader=2),
        partition(partition_id=1, replicas=[1], isr=[1], leader=-1),
        partition(partition_id=2, replicas=[2, 3], isr=[2], leader=2),
        record("BrokerRegistrationChangeRecord", broker_id=1, broker_epoch=1, fenced=1),
    ]
    with cluster(*values) as source:
        ran = run_on(source, "health")
        found = rows(source)
        detail = rows(source, "health under-replicated --detail")
    told = " ".join(ran.out.split())
    assert told.startswith("critical 1 partition of orders is offline since ")
    assert " cause broker 1 is fenced since " in told
    assert " (offset 7) do start the broker on its own log dirs, " in told
    assert " · changes /image/cluster/brokers/1 " in told
    # Another partition is under-replicated, but no fenced broker is the cause.
    assert "; 1 is under min ISR; 1 is under-replicated; 1 is at min ISR 1 more " in told
    assert " 1 more of their partitions is under-replicated for another reason 1 more " in told
    name = "fenced-broker broker 1"
    follows = [name in row["causes"] for row in found]
    assert f"{found[0]['code']} {found[0]['subject']}" == name
    assert follows == [False, *[True] * sum(follows), *[False] * follows[1:].count(False)]
    # A live broker that is out of sync explains itself.
    assert [[name], []] == [row["causes"] for row in detail]


def test_nothing_critical_stands_below_notes() -> None:
    """What nothing explains is among the critical rows too, and causes stand before both."""
    source = metashell.open(fixture("real-44-broker-down").directory)
    found = rows(source)
    names = [f"{row['code']} {row['subject']}" for row in found]
    causes = {name for row in found for name in row["causes"]}
    levels = [
        SEVERITIES.index(row["severity"])
        for row, name in zip(found, names, strict=True)
        if name not in causes
    ]
    assert causes == {"fenced-broker broker 103"}
    assert levels == sorted(levels)
    assert not found[names.index("under-min-isr topic clicks")]["causes"]
    for at, row in enumerate(found):
        assert all(names.index(name) < at for name in row["causes"])


def test_what_is_said_is_data_too(broken: Source) -> None:
    """Iterating gives the lines that people read; the rest is told by its parts."""
    source = metashell.open(fixture("real-44-broker-down").directory)
    view_state = ViewState(opened=source, cluster=source)
    answer = ask(view_state, ["health"])
    (verdict,) = answer.verdicts
    assert isinstance(verdict, HealthVerdict)
    (as_rows,) = ask(view_state, ["health", "-o", "table"]).verdicts
    assert as_rows == verdict
    assert answer.text.splitlines() == list(verdict)
    worst = verdict.paragraphs[0]
    assert worst.severity == "critical"
    assert worst.codes[0] == "offline-partitions"
    assert worst.codes[-1] == "fenced-broker"
    assert worst.headline.startswith("3 partitions of clicks are offline since ")
    (cause,) = worst.causes
    assert cause.startswith("broker 103 is fenced since ")
    assert cause.endswith(" (offset 234)")
    assert f"  cause   {cause}" in list(verdict)
    assert worst.see[-1] == "changes /image/cluster/brokers/103"
    (none,) = ask(ViewState(opened=broken, cluster=broken), ["health", "-o", "table"]).verdicts
    assert isinstance(none, HealthVerdict)
    assert none.paragraphs
    assert not any("lowered-config" in one.codes for one in none.paragraphs)


def test_causes_of_an_answer_without_their_column(broken: Source) -> None:
    """The order of the rows does not depend on the columns."""
    every = [(row["code"], row["subject"]) for row in rows(broken)]
    assert every == [
        (row["code"], row["subject"])
        for row in rows(broken, "health --columns code,subject,action")
    ]


def test_static_voters_that_a_dynamic_quorum_ignores(tmp_path: Path) -> None:
    """A node's file that still sets them is named, of a dynamic quorum alone."""
    file = tmp_path / "server.properties"
    line = f"health ignored-static-voters --assume {file}"
    for text, dynamic, n in (("1@a:1", True, 1), ("", True, 0), ("1@a:1", False, 0)):
        file.write_text(f"controller.quorum.voters={text}\n")
        with cluster(broker(1), voters=[1], dynamic=dynamic) as source:
            found = rows(source, line)
            assert [f"file {file}"] * n == [row["subject"] for row in found]


def test_completes_kinds(sound: Source) -> None:
    """Problems are proposed where one may stand."""
    from metashell.commands.health.command import COMMAND

    context = Context(sound.root, Captured(), print, source=sound)
    assert ["offline-partitions"] == [c.text for c in COMMAND.complete(context, [], "offline-p")]
    assert "warning" in [c.text for c in COMMAND.complete(context, ["--severity"], "")]
    assert "--deep" in [c.text for c in COMMAND.complete(context, [], "--d")]


def test_older_files_are_read_unasked() -> None:
    """Small ones tell when things began, as --history does."""
    source = metashell.open(fixture("real-44-live").directory)
    plain = rows(source)
    assert plain == rows(source, "health --history")
    assert all(row["since_offset"] is not None for row in plain if row["code"] != "torn-tail")


def test_hidden_beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large ones are read with --history only, and a hint says so."""
    monkeypatch.setattr("metashell.sources.older.OLDER_BYTES", 1000)
    source = metashell.open(fixture("real-44-live").directory)
    plain, whole = (
        # What a config was before is one of the things that a checkpoint hides.
        [row for row in rows(source, line) if row["code"] != "lowered-config"]
        for line in ("health", "health --history")
    )
    keys = ("code", "subject", "count")
    assert [[r[k] for k in keys] for r in plain] == [[r[k] for k in keys] for r in whole]
    hidden = [i for i, row in enumerate(plain) if row["since_offset"] is None]
    assert hidden
    assert any(whole[i]["since_offset"] is not None for i in hidden)
    (hint,) = run_on(source, "health").err
    assert "--history reads the older files too" in hint
    assert run_on(source, "health --history").err == ()
    assert run_on(source, "health --columns code").err == ()


def test_earlier_states() -> None:
    """Of a moment it tells what was wrong then, and nothing of the files beside the log."""
    source = metashell.open(fixture("real-44-broker-down").directory)
    last = source.status().offset
    assert last is not None
    now = rows(source)
    began = max(row["since_offset"] for row in now if row["code"] == "offline-partitions")
    before = rows(source.at(began - 1))
    offline = {row["subject"]: row["count"] for row in now if row["code"] == now[0]["code"]}
    then = {row["subject"]: row["count"] for row in before if row["code"] == now[0]["code"]}
    assert sum(then.values()) < sum(offline.values())


def test_a_single_file() -> None:
    """A checkpoint alone has an answer too."""
    directory = fixture("real-44-live").directory
    path = next(iter(sorted(directory.rglob("*.checkpoint"), reverse=True)))
    ran = run_on(metashell.open_file(path), "health -o json")
    assert ran.err == ()
    kinds = [all_kinds()[row["code"]] for row in json.loads(ran.out)]
    assert kinds
    assert not any(kind.needs is Need.SIDE_FILES for kind in kinds)


def test_deep_adds_what_check_finds(broken: Source) -> None:
    """A leader that is not in the ISR is found by `check` alone."""
    values = [
        broker(1),
        broker(2),
        record("TopicRecord", name="orders", topic_id=TOPIC_ID),
        partition(isr=[2]),
    ]
    with cluster(*values) as source:
        assert "leader-not-in-isr" not in {row["code"] for row in rows(source)}
        (row,) = [r for r in rows(source, "health --deep") if r["code"] == "leader-not-in-isr"]
        assert (row["severity"], row["count"], row["since_offset"]) == ("critical", 1, 3)
    told = [row["code"] for row in rows(broken, "health --deep")]
    assert "leaderless" not in told


def test_files_that_disagree(tmp_path: Path) -> None:
    """What `/quorum/disagreements` has is here too, as bad as it is there."""
    import shutil

    directory = tmp_path / "copy"
    shutil.copytree(fixture("real-44-live").directory, directory)
    (path,) = directory.rglob("quorum-state")
    state = json.loads(path.read_text())
    path.write_text(json.dumps({**state, "leaderEpoch": 0}))
    source = metashell.open(directory)
    found = [row for row in rows(source) if row["subject"] == "file quorum-state"]
    checked = json.loads(run_on(source, "check -o json").out)
    assert found
    assert [(row["severity"], row["code"]) for row in found] == [
        (row["severity"], row["code"]) for row in checked if row["file"] == "quorum-state"
    ]
    for row in found:
        assert source.cat(row["path"])
        assert row["path"].startswith("/quorum/disagreements/")
        assert row["explanation"].startswith("quorum-state: ")


def replica(node: int, end: int | None = 100, caught_up: int | None = 60_000) -> Replica:
    """A replica as the leader sees it."""
    return Replica(
        id=node,
        directory_id=None,
        log_end_offset=end,
        last_fetch_ms=caught_up,
        last_caught_up_ms=caught_up,
    )


def status(*voters: Replica, observers: tuple[Replica, ...] = (), **fields: Any) -> LiveStatus:
    """How a quorum stands that node 1 leads."""
    described = QuorumDescription(
        leader_id=1, leader_epoch=3, high_watermark=100, voters=voters, observers=observers
    )
    known: Row = {
        "leader_id": 1,
        "leader_address": "c1:9093",
        "epoch": 3,
        "high_watermark": 100,
        "end_offset": 100,
        "last_word_s": 0.1,
        "description": described if voters else None,
    }
    return LiveStatus(**{**known, **fields})


def test_how_far_a_node_is_behind(sound: Source) -> None:
    """Its row says offsets and time; the summary counts nodes."""
    late = tuple(replica(n, 100 - n, 40_000) for n in (8, 9))
    found = list(of_live(sound.image, status(replica(1), observers=late)))
    told = [one.meaning for one in found]
    meaning = all_kinds()["observer-lagging"].meaning
    assert [f"{n} offsets behind, not caught up for 20 s: {meaning}" for n in (8, 9)] == told
    (kind,) = summary_of(in_order(map(of_finding, found))).to_pylist()
    assert ("observer-lagging", 2) == (kind["code"], told_count(kind))


def test_live_quorums(sound: Source) -> None:
    """Who is behind, whether anyone leads, whether anything comes."""

    def told(live: LiveStatus) -> list[tuple[str, str, int]]:
        return [(s.kind.code, s.subject, s.count) for s in of_live(sound.image, live)]

    one = replica(1)
    assert [] == told(status(one, replica(2, 99, 55_000)))
    assert [("voter-lagging", "voter 2", 1)] == told(status(one, replica(2, 10, 40_000)))
    assert [] == told(status(one, replica(2, 90, None)))
    assert [("voter-lagging", "voter 2", 1)] == told(
        status(replica(1, 2000), replica(2, 500, None))
    )
    assert [] == told(status(one, replica(2, None, None)))
    assert [("observer-lagging", "observer 9", 1)] == told(
        status(one, observers=(replica(9, 50, 1),))
    )
    assert [("quorum-no-leader", "the quorum", 1)] == told(status(leader_id=None))
    assert [("quorum-unreachable", "the quorum", 1)] == told(
        status(leader_id=None, problem="no answer.")
    )
    assert [("quorum-not-described", "the quorum", 1)] == told(
        status(description_problem="not authorized")
    )


def test_a_live_source() -> None:
    """A quorum that is followed has an answer; one without a leader is critical."""
    from kraftgen.batch import encode_batch

    quorum = Cluster(encode_batch([broker(1), broker(2)]))
    assert run_on(quorum.source(), "health").status == 0
    quorum.leader = None
    ran = run_on(quorum.source(), "health")
    assert ran.status == 1
    assert ran.out.startswith("critical  the quorum: no controller leads: ")
    assert "never start a voter on an empty log dir" in " ".join(ran.out.split())
    (row,) = rows(quorum.source())
    assert ("critical", "quorum-no-leader", 1) == (row["severity"], row["code"], row["count"])


def test_fleets(tmp_path: Path) -> None:
    """Rows of all clusters, the worst first; each says how it is in words."""
    fleet: Any = open_fleet(sorted(map(str, backups(tmp_path / "all").iterdir())))
    ran = run(fleet.root, "health -o jsonl", source=fleet)
    found = [json.loads(line) for line in ran.out.splitlines()]
    levels = ("critical", "warning", "note")
    heads = [row for row in found if not row["causes"]]
    causes = {(row["cluster"], name) for row in found for name in row["causes"]}
    alone = [
        levels.index(row["severity"])
        for row in heads
        if (row["cluster"], f"{row['code']} {row['subject']}") not in causes
    ]
    assert alone == sorted(alone)
    # Copies are no finding about one of them.
    names = {row["cluster"] for row in found if row["code"] != "copies-of-voters"}
    assert len(names) > 1
    words = run(fleet.root, "health --severity critical", source=fleet).out.splitlines()
    assert all(any(line.startswith(f"{name}: ") for line in words) for name in names)
    name = min(names)
    inside = run(fleet.root, "health -o jsonl", cwd=f"/clusters/{name}", source=fleet)
    assert {name} == {json.loads(line)["cluster"] for line in inside.out.splitlines()}


def test_can_be_cancelled(broken: Source) -> None:
    """A job that nobody wants any more ends."""
    context = Context(broken.root, Captured(), print, source=broken, cancelled=lambda: True)
    with pytest.raises(KeyboardInterrupt):
        run_line(context, "health")


@pytest.mark.parametrize("name", ["real-44-broker-down", "real-44-trimmed"])
def test_partitions_of_a_topic_are_those_told_one_by_one(name: str) -> None:
    """`1-3,5` in a row of a topic; a row of a partition names it; other rows have none."""
    source = metashell.open(fixture(name).input)
    each: dict[tuple[str, str], list[int]] = {}
    for row in rows(source, "health --detail"):
        if row["partitions"] is not None:
            topic, _, number = row["subject"].removeprefix("partition ").rpartition("-")
            assert number == row["partitions"]
            each.setdefault((row["code"], topic), []).append(int(number))
    told = {
        (row["code"], row["subject"].removeprefix("topic ")): row["partitions"]
        for row in rows(source)
        if row["partitions"] is not None
    }

    assert each
    assert told.keys() == each.keys()
    for key, text in told.items():
        pairs = [part.partition("-") for part in text.split(",")]
        found = [n for low, _, high in pairs for n in range(int(low), int(high or low) + 1)]
        assert found == sorted(each[key])


def test_findings_about_a_thing() -> None:
    """A thing by its name has its own findings in words, with their causes, and as rows."""
    with metashell.open(DEMO) as source:
        ran = run_on(source, "health topic:csv-imports")
        assert 1 == ran.status
        assert "  cause   broker 104 is fenced since " in ran.out
        assert "audit-log" not in ran.out
        found = rows(source, "health TOPIC:csv-imports broker:104")
        assert {"topic csv-imports", "broker 104"} == {row["subject"] for row in found}
        assert "nothing is wrong with topic orders" in run_on(source, "health topic:orders").out
        assert ["fenced-broker"] == [row["code"] for row in rows(source, "health broker:104")]


def test_a_fenced_broker_without_replicas_may_be_unregistered() -> None:
    """A broker with replicas may not: its disk can hold the only copies."""
    with metashell.open(DEMO) as source:
        found = rows(source, "health fenced-broker")
        advice = {row["subject"]: "unregister it if" in row["action"] for row in found}
        assert advice == {"broker 104": False, "broker 105": True}
        (summary,) = rows(source, "health fenced-broker --summary")
        assert "unregister" not in summary["action"]


def test_the_shell_greets_with_the_worst_finding(
    sound: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster where something is wrong, a sound one, and a log that is too long to be judged."""
    with metashell.open(DEMO) as source:
        text = " ".join(greeted(source))
    assert text.startswith("critical: 3 partitions of csv-imports are offline since ")
    assert text.endswith("help lists the commands")
    assert ["nothing is wrong", "help lists the commands"] == [
        line.partition(":")[0] for line in greeted(sound)
    ]
    monkeypatch.setattr("metashell.cli.one_run._MOST_BYTES", 1)
    assert ["health says what is wrong; help lists the commands"] == greeted(sound)


def greeted(source: Source) -> list[str]:
    """The lines that a shell shows first."""
    context = Context(root=source.root, source=source, out=Nowhere(), warn=lambda _: None)
    return list(greeting(context))


@pytest.mark.parametrize(("line", "said"), [("check", "no damage found"), ("quorum", "ClusterId:")])
def test_directories_of_one_cluster_one_by_one(line: str, said: str) -> None:
    """`check` and `quorum` of several directories have a text below each name, and rows."""
    places = [str(fixture_dir("voters-two-epochs-3") / f"voter-{i}") for i in (1, 2)]
    fleet = open_fleet(places)
    ran = run_on(fleet, line)
    assert (0, ()) == (ran.status, ran.err)
    parts = ran.out.partition("voter-2:\n")
    assert parts[0].startswith("voter-1:\n")
    assert all(said in part for part in (parts[0], parts[2]))
    inside = run_on(fleet, line, "/clusters/voter-2").out
    assert "voter-1" not in inside
    assert run_on(fleet, f"{line} -o csv").out.startswith("cluster,")
