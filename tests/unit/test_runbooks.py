"""The runbooks, run as an operator runs them, on directories of real nodes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from support.fixtures import fixture_dir
from support.logs import make_directory, record
from support.small_cluster import broker, level
from support.waiting import LIMIT_S
from support.warm import warm_program

RUNBOOKS = Path(metashell.__file__).parent / "runbooks"
NAMES = sorted(path.stem for path in RUNBOOKS.glob("*.sh"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that is this metashell, and whose name has to be quoted."""
    path = tmp_path_factory.mktemp("bin") / "meta shell"
    path.symlink_to(warm_program())
    return path


def run(program: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a runbook."""
    return subprocess.run(
        ["sh", str(RUNBOOKS / f"{name}.sh"), *words],
        env={**os.environ, "METASHELL": str(program)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def down() -> str:
    """Directory of a controller of a cluster whose broker 103 was killed."""
    return str(fixture_dir("real-44-broker-down"))


def test_there_are_the_five() -> None:
    """Each has its line in the README."""
    assert NAMES == [
        "broker-stuck-fenced",
        "partition-offline",
        "quorum-lost",
        "upgrade-blocked",
        "who-changed-config",
    ]
    readme = (RUNBOOKS / "README.md").read_text()
    assert all(f"`{name}.sh " in readme for name in NAMES)


def test_the_program_prints_them(program: Path) -> None:
    """It lists each with its question, and gives the script as it is; both need no source."""

    def told(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(program), "runbook", *words], capture_output=True, text=True, check=False
        )

    assert NAMES == [line.split()[0] for line in told().stdout.splitlines()]
    assert all(line.endswith("?") for line in told().stdout.splitlines())
    assert [(RUNBOOKS / f"{name}.sh").read_text() for name in NAMES] == [
        told(name).stdout for name in NAMES
    ]
    wrong = told("quorum")
    assert (1, "") == (wrong.returncode, wrong.stdout)
    assert "no such runbook" in wrong.stderr


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_are_told(program: Path, name: str) -> None:
    """Without arguments: how it is used, and 2."""
    done = run(program, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"usage: {name}.sh ")


@pytest.mark.parametrize("name", NAMES)
def test_they_are_posix_shell(name: str) -> None:
    """dash, where it is there, takes them, and they can be executed as they are."""
    path = RUNBOOKS / f"{name}.sh"
    assert os.access(path, os.X_OK)
    shell = shutil.which("dash") or "sh"
    assert subprocess.run([shell, "-n", str(path)], check=False).returncode == 0


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("partition-offline * demo", "waits for 104 (ELR)"),
        ("broker-stuck-fenced 104 demo", "fenced false → true"),
        ("upgrade-blocked 4.4 demo", "upgrade the software of broker 103"),
        ("who-changed-config topic:payments min.insync.replicas demo", "2026-11-22T12:25:00.016Z"),
    ],
)
def test_on_the_demo(program: Path, line: str, found: str) -> None:
    """The lines of the page give the answers of the demo's story."""
    name, *words = line.split()
    done = run(program, name, *words)
    assert (done.returncode, done.stderr.count("Traceback")) == (0 if "who" in line else 1, 0)
    assert found in done.stdout


def test_upgrade_blocked(program: Path) -> None:
    """Every node that blocks it is listed; what can be done is done with 0."""
    done = run(program, "upgrade-blocked", "4.4", "-d", down())
    assert done.returncode == 1, done.stderr
    assert "4.3-IV0\n" in done.stdout
    for node in ("broker 101", "broker 102", "broker 103", "controller 1", "controller 3"):
        assert f"upgrade the software of {node}" in done.stdout
    can = run(program, "upgrade-blocked", "4.3", "-d", down())
    assert (can.returncode, "already at metadata.version" in can.stdout) == (0, True)


def test_upgrade_of_a_source_that_is_not_there(program: Path, tmp_path: Path) -> None:
    """The program's own error and exit status come through."""
    done = run(program, "upgrade-blocked", "4.4", "-d", str(tmp_path / "nothing"))
    assert done.returncode == 3
    assert "nothing" in done.stderr


def test_partition_offline(program: Path) -> None:
    """Whom the partitions wait for, and nothing about unclean elections where none would help."""
    done = run(program, "partition-offline", "*", "-d", down())
    assert done.returncode == 1, done.stderr
    assert "without a leader: 3" in done.stdout
    assert done.stdout.count("waits for 103 (ELR)") == 3
    assert "unclean" not in done.stdout
    led = run(program, "partition-offline", "orders", "-d", down())
    assert (led.returncode, led.stdout) == (0, "All partitions of orders have a leader.\n")


def test_partition_offline_as_a_last_resort(program: Path) -> None:
    """Where another replica is live the command that loses data is given, with a warning."""
    done = run(program, "partition-offline", "*", "-d", str(fixture_dir("real-44-live")))
    assert done.returncode == 1, done.stderr
    if "unclean election makes" in done.stdout:
        assert "LOSES" in done.stdout
        assert "--election-type unclean --topic '" in done.stdout


@pytest.mark.slow
def test_coordinators_that_are_offline(program: Path, tmp_path: Path) -> None:
    """Whose coordinator is missing; nothing of it where all are there."""
    offsets = bytes([7]) * 16
    values = [
        broker(1, fenced=True),
        record("TopicRecord", name="__consumer_offsets", topic_id=offsets),
        record(
            "PartitionRecord", topic_id=offsets, partition_id=0, replicas=[1], isr=[1], leader=-1
        ),
    ]
    directory = make_directory(tmp_path, (0, encode_batch(values)))
    done = run(program, "partition-offline", "*", "-d", str(directory))
    assert done.returncode == 1, done.stderr
    assert "groups and their offsets whose id hashes to partition 0 have no coord" in done.stdout
    assert "coordinator" not in run(program, "partition-offline", "*", "-d", down()).stdout


def test_partitions_of_a_topic_that_is_not_there(program: Path) -> None:
    """A mistyped name is no good news."""
    done = run(program, "partition-offline", "ordres", "-d", down())
    assert (done.returncode, done.stdout) == (1, "")
    assert "ordres: no such topic" in done.stderr


def test_a_topic_that_would_break_out_of_a_command(program: Path, tmp_path: Path) -> None:
    """What is there to be pasted into a shell holds nothing that Kafka never made."""
    topic = (1).to_bytes(16, "big")
    name = "a'; touch pwned; '"
    values = (
        level("metadata.version", 25),
        broker(1, fenced=True),
        broker(2),
        record("TopicRecord", name=name, topic_id=topic),
        record("PartitionRecord", topic_id=topic, replicas=[1, 2], isr=[1], leader=-1),
    )
    batches = [encode_batch([value], base_offset=i) for i, value in enumerate(values)]
    done = run(
        program,
        "partition-offline",
        "*",
        "-d",
        str(make_directory(tmp_path, (0, b"".join(batches)))),
    )
    assert done.returncode == 1, done.stderr
    assert "== Partitions without a leader: 1\n" in done.stdout
    assert "touch" in done.stdout
    assert not [line for line in done.stdout.splitlines() if "kafka-" in line and "touch" in line]


def test_broker_stuck_fenced(program: Path) -> None:
    """Its registration, when it was fenced, and who waits for it."""
    done = run(program, "broker-stuck-fenced", "103", "-d", down())
    assert done.returncode == 1, done.stderr
    for expected in (
        "- id: 103\n",
        "fenced false → true",
        "without a leader:  3\n",
        "under-replicated:  19\n",
        "under min ISR:     7\n",
    ):
        assert expected in done.stdout
    assert "- id: 101" not in done.stdout
    well = run(program, "broker-stuck-fenced", "101", "-d", down())
    assert (well.returncode, "Broker 101 is not fenced." in well.stdout) == (0, True)


def test_a_broker_that_is_not_there(program: Path) -> None:
    """It is said to be not registered; what is no id is refused."""
    done = run(program, "broker-stuck-fenced", "999", "-d", down())
    assert (done.returncode, "Broker 999 is not registered" in done.stdout) == (1, True)
    assert run(program, "broker-stuck-fenced", "x", "-d", down()).returncode == 2


def test_quorum_lost(program: Path) -> None:
    """Whose copy wins comes first, then whether each node starts."""
    copies = [str(fixture_dir(f"voters-leader-tail-3/voter-{n}")) for n in (2, 3)]
    done = run(program, "quorum-lost", *copies)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second, *_ = done.stdout.splitlines()
    assert first == "== Which copy to trust"
    assert second == "The copies of voters 2 and 3 are equal and win; start 2 and 3."
    assert "\n== Will each node start?\n" in done.stdout


def test_quorum_lost_without_a_majority(program: Path) -> None:
    """One copy alone is enough to ask; the exit status says that no vote is possible."""
    done = run(program, "quorum-lost", str(fixture_dir("voters-minority-5/voter-4")))
    assert done.returncode == 1
    assert "No copy can win: only voter 4 is here" in done.stdout


def test_quorum_lost_of_what_is_none(program: Path) -> None:
    """Two clusters are refused, and a place that is not there; the program tells why."""
    other = str(fixture_dir("voters-static-3/voter-1"))
    done = run(program, "quorum-lost", down(), other)
    assert (done.returncode, "are of 2 clusters" in done.stderr) == (3, True)
    done = run(program, "quorum-lost", other, "/nonexistent/place")
    assert done.returncode != 0
    assert "/nonexistent/place: damaged, or not to be read" in done.stderr


def test_who_changed_config(program: Path) -> None:
    """What it is, every change of it, and that the log does not know who."""
    done = run(program, "who-changed-config", "topic:clicks", "retention.ms", "-d", down())
    assert done.returncode == 0, done.stderr
    assert "DYNAMIC_TOPIC_CONFIG" in done.stdout
    assert "/image/configs/TOPIC:clicks/retention.ms  created 60000" in done.stdout
    assert "does not hold the principal" in done.stdout


def test_a_config_that_nobody_changed(program: Path) -> None:
    """No change is no failure of the program, but its answer; odd resources are refused."""
    done = run(program, "who-changed-config", "topic:orders", "retention.ms", "-d", down())
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "none")
    assert run(program, "who-changed-config", "host:x", "a", "-d", down()).returncode == 2
