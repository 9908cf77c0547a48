"""``preflight``: its verdicts, rows and exit status on directories that were changed by hand."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

import metashell
from metashell.cli import main
from metashell.errors import NoLeaderError
from support.fixtures import copy_of, fixture_dir
from support.live import Cluster
from support.logs import topic_batch
from support.shell import run_on
from support.small_cluster import voters_batch

STORY: Final = "node-disk-44/story"
PARTITION_METADATA: Final = "partition.metadata"
RECOVERY: Final = "recovery-point-offset-checkpoint"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The directories d1 and d2 of broker 102, and controller1, which may be changed."""
    return copy_of(STORY, tmp_path / "node")


class Told:
    """The answer to one command line."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *argv: str | Path) -> None:
        self.status = main(["--no-config", *map(str, argv)])
        self.out, self.err = capsys.readouterr()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of ``-o json``."""
        found: list[dict[str, Any]] = json.loads(self.out)
        return found

    def codes(self, *effects: str) -> set[str]:
        """The codes of events with some effects."""
        return {row["code"] for row in self.rows if row["effect"] in effects}


def asked(capsys: pytest.CaptureFixture[str], node: Path, *words: str | Path) -> Told:
    """The events of a start on d1 and d2."""
    dirs = ("-d", node / "d1", "-d", node / "d2")
    return Told(capsys, *dirs, "preflight", "-o", "json", *words)


def config_of(node: Path, **settings: str) -> Path:
    """A configuration of broker 102."""
    known = {
        "process.roles": "broker",
        "node.id": "102",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
        "listeners": "PLAINTEXT://:9092",
        "log.dirs": f"{node}/d1,{node}/d2",
    }
    known.update({key.replace("_", "."): value for key, value in settings.items()})
    file = node / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in known.items()))
    return file


def test_next_commands_compare_with_the_same_metadata(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A next command about replicas finds as many as its finding counts."""
    found = asked(capsys, node, "--against", node / "controller1").rows
    told = [row for row in found if (row["command"] or "").startswith("replicas --state")]
    assert {"becomes-stray", "replica-missing", "ghost-replica"} <= {row["code"] for row in told}
    for row in told:
        words = shlex.split(row["command"])
        assert ["--against", str(node / "controller1")] == words[-2:]
        dirs = ("-d", node / "d1", "-d", node / "d2")
        rows = Told(capsys, *dirs, *words, "-o", "json").rows
        assert row["code"] == "replica-elsewhere" or row["count"] == len(rows), row


def test_words(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict comes first, then the metadata, then events in the order of Kafka."""
    told = Told(capsys, "-d", node / "d1", "-d", node / "d2", "preflight")
    lines = told.out.splitlines()
    assert "node 102 (broker) starts, but changes its logs" == lines[0]
    assert lines[1].startswith("as of     offset 555, 2026-11-22T12:07:37.810Z, its own metadata")
    assert 1 == told.status


def test_newer_metadata(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--against tells what the broker did: 12 logs are set aside, and not 2."""
    counts = {}
    for words in ((), ("--against", node / "controller1")):
        rows = asked(capsys, node, *words).rows
        counts[len(words)] = [row["count"] for row in rows if row["code"] == "becomes-stray"]
    assert {0: [2], 2: [12]} == counts


def test_another_cluster(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The quorum has another cluster id: the node never joins, and its own log is compared."""
    other = fixture_dir("real-44-live")
    told = asked(capsys, node, "--against", other)
    assert {"cluster-id-unlike-quorum"} == told.codes("not-joined")
    (row,) = (row for row in told.rows if row["effect"] == "not-joined")
    assert "INCONSISTENT_CLUSTER_ID" in row["kafka"]
    assert [2] == [row["count"] for row in told.rows if row["code"] == "becomes-stray"]
    told = Told(capsys, "-d", node / "d1", "preflight", "--against", other)
    assert "starts and does not join the quorum" in told.out.splitlines()[0]


def test_a_lost_quorum(
    node: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No leader answers at the address of --against."""

    def lost(*_: object, **__: object) -> None:
        raise NoLeaderError("127.0.0.1:1: no leader", is_answered=True)

    monkeypatch.setattr("metashell.sources.opening.open_quorum", lost)
    told = asked(capsys, node, "--against", "127.0.0.1:1")
    assert {"quorum-no-leader"} == told.codes("not-joined")
    assert 1 == told.status


def test_a_live_quorum(
    node: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metadata of a quorum is compared with."""
    quorum = metashell.open(node / "controller1")
    seen: list[object] = []

    def found(addresses: str, **_: object) -> object:
        seen.append(addresses)
        return quorum

    monkeypatch.setattr("metashell.sources.opening.open_quorum", found)
    told = asked(capsys, node, "--against", "127.0.0.1:9093")
    assert ["127.0.0.1:9093"] == seen
    assert [12] == [row["count"] for row in told.rows if row["code"] == "becomes-stray"]


def test_a_quorum_that_has_lost_its_leader(
    node: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quorum was followed, and does not answer any more."""
    quorum = Cluster(topic_batch(0))
    quorum.problem = "no leader answers"
    name = "metashell.sources.opening.open_quorum"
    monkeypatch.setattr(name, lambda *_, **__: quorum.source())
    told = asked(capsys, node, "--against", "127.0.0.1:9093")
    assert {"quorum-unreachable", "cluster-id-unlike-quorum"} == told.codes("not-joined")


def test_voters_that_take_no_connection(
    node: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoints of the other voters are tried, and none of the node's own."""
    quorum = Cluster(voters_batch((1, 2, 102), dynamic=True), topic_batch(2))
    quorum.cluster_id = None
    tried: list[str] = []

    def silent(endpoints: Iterable[str]) -> dict[str, str]:
        tried.extend(endpoints)
        return {tried[1]: "connection refused"}

    monkeypatch.setattr("metashell.quorum.race.unreachable", silent)
    name = "metashell.sources.opening.open_quorum"
    monkeypatch.setattr(name, lambda *_, **__: quorum.source())
    told = asked(capsys, node, "--against", "127.0.0.1:9093")
    assert ["CONTROLLER://c1:9093", "CONTROLLER://c2:9093"] == tried
    (row,) = [row for row in told.rows if row["code"] == "voter-unreachable"]
    assert "voter 2" == row["subject"]
    assert row["message"].endswith("connection refused")
    assert 1 == told.status


@pytest.mark.parametrize(
    ("software", "effect"), [("4.4", None), ("4.0", "not-joined"), ("3.9", "not-joined")]
)
def test_software(
    node: Path, capsys: pytest.CaptureFixture[str], software: str, effect: str | None
) -> None:
    """A broker of a release that lacks the level of the log never gets ready."""
    rows = asked(capsys, node, "--software", software).rows
    effects = {row["effect"] for row in rows if row["code"] == "software-lacks-level"}
    assert (set() if effect is None else {effect}) == effects


def test_software_of_a_controller(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A controller stops; before 3.9 it also does not know kraft.version 1."""
    line = ("-d", node / "controller1", "preflight", "-o", "json", "--software")
    assert {"refuses"} == {row["effect"] for row in Told(capsys, *line, "4.0").rows}
    kafka = [row["kafka"] for row in Told(capsys, *line, "3.8").rows if row["kafka"]]
    assert any("No MetadataVersion with feature level" in text for text in kafka)
    assert 2 == Told(capsys, *line, "5.9").status


def test_controller(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sound controller starts, and says how many voters are needed; names do not matter."""
    (node / "controller1" / "lost+found").mkdir()
    told = Told(capsys, "-d", node / "controller1", "preflight")
    assert "node 1 (controller) starts" == told.out.splitlines()[0]
    assert "voter 1 is the only voter" in told.out
    assert 0 == told.status


def test_a_voter_without_its_id(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A voter whose directory.id is gone gets a new one, and does not vote."""
    file = node / "controller1" / "meta.properties"
    lines = [line for line in file.read_text().splitlines() if "directory.id" not in line]
    file.write_text("\n".join(lines) + "\n")
    told = Told(capsys, "-d", node / "controller1", "preflight", "-o", "json")
    assert "directory-id-made" in told.codes("not-voting")
    assert 1 == told.status


def test_a_malformed_quorum_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It refuses, with Kafka's text."""
    node = copy_of("voters-all-killed-3", tmp_path / "node") / "voter-1"
    (node / "__cluster_metadata-0" / "quorum-state").write_text("{")
    told = Told(capsys, "-d", node, "preflight", "-o", "json")
    (row,) = (row for row in told.rows if row["effect"] == "refuses")
    assert row["kafka"].startswith("Error while reading the Quorum status from the file")
    assert "quorum-state" in row["kafka"]


def test_another_directory_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A voter whose directory.id is not that of the log does not vote."""
    node = copy_of("voters-all-killed-3", tmp_path / "node") / "voter-1"
    file = node / "meta.properties"
    text = file.read_text()
    file.write_text(re.sub("directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAABAA", text))
    told = Told(capsys, "-d", node, "preflight")
    assert "node 1 (controller) starts and does not vote" == told.out.splitlines()[0]


def test_a_metadata_log_of_another_topic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metadata log's partition.metadata has another topic id."""
    node = copy_of("voters-all-killed-3", tmp_path / "node") / "voter-1"
    file = node / "__cluster_metadata-0" / PARTITION_METADATA
    file.write_text("version: 0\ntopic_id: aAAAAAAAAAAAAAAAAAAAAA\n")
    told = Told(capsys, "-d", node, "preflight", "-o", "json")
    assert {"topic-id"} == told.codes("refuses")
    assert "but log already contained topic ID aAAAAAAAAAAAAAAAAAAAAA" in told.out


@pytest.mark.parametrize(("name", "effect"), [("controller1", "loses"), ("d1", "changes")])
def test_a_damaged_metadata_log(
    node: Path, capsys: pytest.CaptureFixture[str], name: str, effect: str
) -> None:
    """Each start cuts the log off at the damage; a broker fetches the records again."""
    segment = node / name / "__cluster_metadata-0" / f"{0:020}.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    told = Told(capsys, "-d", node / name, "preflight", "-o", "json")
    (row,) = (row for row in told.rows if row["code"] == "file-damaged")
    assert effect == row["effect"]
    assert "Corruption found in segment 0, truncating to offset" == row["kafka"]
    assert 1 == told.status


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({"controller.listener.names": "OTHER"}, "does not join the quorum"),
        ({"process.roles": "broker", "listeners": "PLAINTEXT://:9092"}, "does not vote"),
    ],
)
def test_settings_against_the_quorum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, str], verdict: str
) -> None:
    """A voter whose file has another listener's name, or lacks the role."""
    node = copy_of("voters-all-killed-3", tmp_path / "node") / "voter-1"
    known = {
        "process.roles": "controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
        "listeners": f"{settings.get('controller.listener.names', 'CONTROLLER')}://:9093",
        "log.dirs": str(node),
    }
    file = node / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in {**known, **settings}.items()))
    told = Told(capsys, "--config", file, "preflight")
    assert verdict in told.out.splitlines()[0]


def test_voters_at_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """Each voter has a row, with those whose directories are given."""
    place = fixture_dir("voters-minority-5")
    rows = Told(capsys, "-d", f"{place}/voter-*", "preflight", "--summary", "-o", "json").rows
    assert ["4", "5"] == [row["node"] for row in rows]
    assert all("3 of 1, 2, 3, 4, 5" in row["reason"] for row in rows)
    assert all("4, 5 are given" in row["reason"] for row in rows)


def test_summary_of_one_node(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One node has a row too, where a summary is asked for."""
    told = Told(capsys, "-d", node / "d1", "-d", node / "d2", "preflight", "--summary")
    header, row = told.out.splitlines()[:2]
    assert header.split()[:3] == ["NODE", "ROLES", "VERDICT"]
    assert row.split()[:2] == ["102", "broker"]


def test_files_that_take_a_directory_offline(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A malformed leader-epoch-checkpoint does, and a stray's file; a wrong order does not."""
    epochs = node / "d1" / "keep-0" / "leader-epoch-checkpoint"
    epochs.write_text("0\n2\n1 5\n0 0\n")
    assert set() == asked(capsys, node).codes("offline", "refuses")
    epochs.write_text("0\n1\nx y\n")
    (stray,) = (node / "d1").glob("oldtopic-4.*-stray")
    (stray / PARTITION_METADATA).write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n")
    told = asked(capsys, node)
    rows = [row for row in told.rows if row["effect"] == "offline"]
    assert {str(node / "d1")} == {row["directory"] for row in rows}
    said = sorted(row["kafka"].partition(str(node))[0] for row in rows)
    assert [
        "Error while reading checkpoint file ",
        "Error while reading partition metadata file ",
    ] == said
    (node / "d2" / "keep-3" / PARTITION_METADATA).write_text("nonsense\n")
    told = asked(capsys, node)
    assert {"all-log-dirs-fail"} == told.codes("refuses")
    assert {"log-dir-fails"} == told.codes("offline")
    assert "have failed" in told.out


@pytest.mark.parametrize("content", ["", "version: 0\n", "version: 0\ntopic_id: !!\n"])
def test_a_file_that_no_broker_expects(
    node: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    """A partition.metadata without its lines stops the broker with another exception."""
    (node / "d2" / "keep-3" / PARTITION_METADATA).write_text(content)
    assert {"log-not-loaded"} == asked(capsys, node).codes("refuses")


def test_a_checkpoint_that_is_reset(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Offsets of malformed checkpoints are reset, and the directory may go offline all the same."""
    (node / "d1" / RECOVERY).write_text("garbage\n")
    told = asked(capsys, node)
    assert set() == told.codes("offline", "refuses")
    (row,) = (row for row in told.rows if row["code"] == "checkpoint-reset")
    assert "resetting the recovery checkpoint to 0" in row["kafka"]
    assert "may take the directory offline" in row["message"]
    assert 1 == told.status


@pytest.mark.parametrize("name", ["replication", "cleaner"])
def test_a_checkpoint_that_takes_the_directory_offline(
    node: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A malformed checkpoint of high watermarks does, or one of the log cleaner."""
    (node / "d1" / f"{name}-offset-checkpoint").write_text("garbage\n")
    (row,) = (row for row in asked(capsys, node).rows if row["effect"] == "offline")
    assert f"{node}/d1" == row["directory"]
    assert row["kafka"] == f"Error while reading checkpoint file {node}/d1/{name}-offset-checkpoint"


def test_the_directory_id_that_is_lost(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Advice has the id that the registration has and no other directory."""
    file = node / "d2" / "meta.properties"
    own = re.search(r"directory.id=(\S+)", file.read_text())
    assert own is not None
    file.write_text(re.sub(r"directory.id=.*\n", "", file.read_text()))
    (row,) = (row for row in asked(capsys, node).rows if row["code"] == "directory-id-made")
    assert f"write directory.id={own[1]} into it" in row["action"]
    file.unlink()
    (row,) = (row for row in asked(capsys, node).rows if row["code"] == "no-meta-properties")
    assert f"node.id=102, directory.id={own[1]} into the file" in row["action"]


def test_partitions_that_nobody_leads(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A broker does not lead the partitions of a directory that goes offline: nobody does."""
    (node / "d1" / ".kafka_cleanshutdown").unlink(missing_ok=True)
    before = [row for row in asked(capsys, node).rows if row["code"] == "unclean-start"]
    assert all("It leads these again" in row["message"] for row in before)
    for place in ("d1", "d2"):
        epochs = next((node / place).glob("only-on-b-0"), None)
        if epochs is not None:
            (epochs / "leader-epoch-checkpoint").write_text("0\n1\nx y\n")
    (row,) = (row for row in asked(capsys, node).rows if row["code"] == "unclean-start")
    assert "only-on-b-0" in row["message"].split("but not ")[-1].split("Nobody")[-1]


def test_an_emptied_voter_of_a_static_quorum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its voters stand in the quorum-state of whom it is compared with."""
    quorum, empty = fixture_dir("voters-static-3"), tmp_path / "empty"
    empty.mkdir()
    shutil.copy(quorum / "voter-1" / "meta.properties", empty)
    told = Told(capsys, "-d", empty, "preflight", "--against", quorum / "voter-2", "-o", "json")
    assert {"metadata-log-lost"} == told.codes("loses")
    assert 1 == told.status


def test_malformed_meta_properties(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It refuses where the metadata log is, and takes another directory offline."""
    (node / "d2" / "meta.properties").write_text("root:x:0\n")
    told = asked(capsys, node)
    assert {"log-dir-unreadable"} == told.codes("offline")
    (node / "d1" / "meta.properties").write_text("root:x:0\n")
    assert {"no-readable-log-dir"} <= asked(capsys, node).codes("refuses")
    shutil.copy(fixture_dir(STORY) / "d2" / "meta.properties", node / "d2")
    (row,) = (row for row in asked(capsys, node).rows if row["effect"] == "refuses")
    assert row["kafka"].startswith("Encountered I/O error in metadata log directory")


def test_a_metadata_log_elsewhere(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A metadata log in another directory than metadata.log.dir refuses."""
    shutil.copytree(node / "d1" / "__cluster_metadata-0", node / "d2" / "__cluster_metadata-0")
    config = config_of(node, metadata_log_dir=f"{node}/d1")
    for source in (("--config", config), ("-d", node / "d1", "-d", node / "d2")):
        told = Told(capsys, *source, "preflight", "-o", "json")
        assert {"metadata-log-elsewhere"} == told.codes("refuses")


def test_one_directory_twice(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link to a log directory that is named too."""
    (node / "link").symlink_to(node / "d2")
    config = config_of(node, log_dirs=f"{node}/d1,{node}/d2,{node}/link")
    told = Told(capsys, "--config", config, "preflight", "-o", "json")
    assert told.codes("refuses") >= {"log-dir-twice", "same-directory-id"}


def test_settings(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Settings that Kafka refuses come first, each with its text; the rest is not told."""
    config = config_of(node, node_id="7", process_roles="borker")
    told = Told(capsys, "--config", config, "preflight", "-o", "json")
    assert {"config-refused"} == {row["code"] for row in told.rows}
    texts = [row["kafka"] for row in told.rows]
    assert any("Unknown process role 'borker'" in text for text in texts)
    assert any("Stored node id 102 doesn't match previous node id 7" in text for text in texts)
    words = Told(capsys, "--config", config, "preflight")
    assert "does not start" in words.out.splitlines()[0]
    assert "findings that come later" in words.out


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"process_roles": "borker"}, "correct process.roles: "),
        ({"process_roles": "controller"}, "The metadata has node 102 as broker"),
        ({"controller_quorum_bootstrap_servers": ""}, "correct controller.quorum.bootstrap.serv"),
        ({"controller_listener_names": ""}, "correct controller.listener.names: "),
        ({"node_id": "x"}, "correct node.id. meta.properties has node.id 102"),
        ({"node_id": "7"}, "find out whether the file or the log dir is the wrong one"),
    ],
)
def test_the_setting_to_correct(
    node: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, str], advice: str
) -> None:
    """Each text of Kafka's has the settings that it is about."""
    told = Told(capsys, "--config", config_of(node, **settings), "preflight", "-o", "json")
    rows = [row for row in told.rows if row["code"] == "config-refused"]
    assert any(advice in row["action"] for row in rows)
    assert {None} == {row["command"] for row in rows}


def test_a_log_directory_left_out(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The only copy in a directory that log.dirs does not name any more begins empty."""
    line = ("preflight", "-o", "json", "--against", node / "controller1")
    whole = Told(capsys, "--config", config_of(node), *line)
    assert set() == whole.codes("loses")
    assert "directory-left-out" not in whole.out
    told = Told(capsys, "--config", config_of(node, log_dirs=f"{node}/d1"), *line)
    (row,) = (row for row in told.rows if row["code"] == "replica-lost")
    assert "only-on-b-0" in row["message"]
    (row,) = (row for row in told.rows if row["code"] == "directory-left-out")
    text = (node / "d2" / "meta.properties").read_text()
    assert re.search("directory.id=(.*)", text)[1] in row["message"]  # type: ignore[index]
    # A configuration of other places does not say that these are all.
    elsewhere = config_of(node, log_dirs="/nowhere")
    told = Told(capsys, "--config", elsewhere, "-d", node / "d1", *line)
    assert not {"replica-lost", "directory-left-out"} & {row["code"] for row in told.rows}


@pytest.mark.parametrize("key", ["log_dirs", "log_dir"])
@pytest.mark.parametrize("is_empty", [False, True])
def test_no_log_directory_is_there(
    node: Path, capsys: pytest.CaptureFixture[str], key: str, is_empty: bool
) -> None:
    """Each log directory of the settings is gone, or an empty mount point."""
    gone = [node / "gone", node / "empty"]
    for place in gone if is_empty else ():
        place.mkdir()
    config = config_of(node, **{"log_dirs": "", key: ",".join(map(str, gone))})
    told = Told(capsys, "--config", config, "preflight", "-o", "json")
    assert {str(place) for place in gone} == {row["directory"] for row in told.rows}
    assert {"refuses"} == {row["effect"] for row in told.rows}
    assert {"No readable meta.properties files found."} == {row["kafka"] for row in told.rows}
    words = Told(capsys, "--config", config, "preflight")
    assert "node 102 (broker) does not start" == words.out.splitlines()[0]
    assert 1 == words.status


def test_a_metadata_directory_of_its_own(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LogManager does not look at a metadata.log.dir that is not in log.dirs."""
    (node / "meta").mkdir()
    shutil.move(node / "d1" / "__cluster_metadata-0", node / "meta")
    text = (node / "d1" / "meta.properties").read_text()
    lines = [line for line in text.splitlines() if "directory.id" not in line]
    (node / "meta" / "meta.properties").write_text(
        "\n".join([*lines, "directory.id=AAAAAAAAAAAAAAAAAAABAA"])
    )
    (node / "meta" / "lost+found").mkdir()
    config = config_of(node, metadata_log_dir=f"{node}/meta")
    told = Told(capsys, "--config", config, "preflight", "-o", "json")
    assert set() == told.codes("refuses", "offline")
    (node / "d1" / "lost+found").mkdir()
    told = Told(capsys, "--config", config, "preflight", "-o", "json")
    assert {"not-a-log"} == told.codes("refuses")


def test_two_logs_of_which_one_is_stray(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log without a topic of its id is set aside before it meets the other."""
    shutil.copytree(node / "d1" / "keep-0", node / "d2" / "keep-0")
    assert {"two-logs"} == asked(capsys, node).codes("refuses")
    (node / "d2" / "keep-0" / PARTITION_METADATA).unlink()
    assert set() == asked(capsys, node).codes("refuses")


def test_formatted(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory on which no node has started."""
    (node / "new").mkdir()
    shutil.copy(node / "d1" / "meta.properties", node / "new")
    (node / "new" / "bootstrap.checkpoint").write_bytes(b"")
    told = Told(capsys, "-d", node / "new", "preflight")
    assert "node 102 starts" == told.out.splitlines()[0]
    assert "a formatted directory" in told.out
    assert 0 == told.status
    (node / "new" / ".lock").touch()
    told = Told(capsys, "-d", node / "new", "preflight")
    assert "node 102 cannot be judged" == told.out.splitlines()[0]
    assert 1 == told.status


def _wipe(voter: Path, name: str) -> None:
    """Take the metadata log from a voter's directory."""
    log = voter / "__cluster_metadata-0"
    shutil.rmtree(log)
    if name != "gone":
        log.mkdir()
    if name == "no record":
        (log / f"{0:020}.log").touch()
    if name == "pipe":
        os.mkfifo(log / f"{0:020}.log")


@pytest.mark.parametrize("name", ["gone", "empty", "no record"])
def test_a_voter_without_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """With its vote a leader can be elected that lacks committed records."""
    place = copy_of("voters-all-killed-3", tmp_path / "node")
    _wipe(place / "voter-1", name)
    told = Told(capsys, "-d", place / "voter-1", "preflight", "-o", "json")
    assert {"metadata-log-unknown"} == told.codes("unknown")
    assert 1 == told.status
    line = ("-d", place / "voter-1", "preflight", "--against", place / "voter-2")
    told = Told(capsys, *line, "-o", "json")
    assert "metadata-log-lost" in told.codes("loses")
    assert set() == told.codes("unknown")
    assert 1 == told.status
    file = place / "voter-1" / "meta.properties"
    file.write_text(
        re.sub("directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAABAA", file.read_text())
    )
    assert "metadata-log-lost" in Told(capsys, *line, "-o", "json").codes("not-voting")


def test_a_metadata_log_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing tells what a controller with it loses, not even other metadata."""
    place = copy_of("voters-all-killed-3", tmp_path / "node")
    _wipe(place / "voter-1", "pipe")
    for words in ((), ("--against", place / "voter-2")):
        told = Told(capsys, "-d", place / "voter-1", "preflight", *words)
        assert told.out.splitlines()[0].endswith("cannot be judged")
        assert "not a regular file" in told.out
        assert 1 == told.status


@pytest.mark.parametrize("size", [None, 0, 40, 3000])
def test_a_broker_whose_metadata_log_is_short(
    node: Path, capsys: pytest.CaptureFixture[str], size: int | None
) -> None:
    """It fetches the log before it sets replicas aside, so its own log tells nothing of them."""
    log = node / "d1" / "__cluster_metadata-0"
    if size is None:
        shutil.rmtree(log)
    else:
        os.truncate(log / f"{0:020}.log", size)
    told = asked(capsys, node)
    assert {"metadata-log-unknown"} == told.codes("unknown")
    assert not {"becomes-stray", "replica-missing"} & {row["code"] for row in told.rows}
    assert 1 == told.status
    told = asked(capsys, node, "--against", node / "controller1")
    assert set() == told.codes("unknown")
    assert [12] == [row["count"] for row in told.rows if row["code"] == "becomes-stray"]
    health = Told(capsys, "-d", node / "d1", "-d", node / "d2", "health", "-o", "json")
    assert "becomes-stray" not in health.out


def test_roles_that_nothing_tells(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory that is no log's hinders a broker alone."""
    (node / "new" / "lost+found").mkdir(parents=True)
    shutil.copy(node / "d1" / "meta.properties", node / "new")
    told = Told(capsys, "-d", node / "new", "preflight")
    assert "node 102 cannot be judged" == told.out.splitlines()[0]
    assert "if the node is a broker" in told.out


def test_directories_of_two_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a metadata log each is of the node that it names."""
    dirs = [fixture_dir("node-44") / f"broker{i}" / "d2" for i in (102, 103)]
    rows = Told(capsys, "-d", dirs[0], "-d", dirs[1], "preflight", "--summary", "-o", "json").rows
    assert ["102", "103"] == [row["node"] for row in rows]
    assert {"cannot be judged"} == {row["verdict"] for row in rows}


def test_a_fleet(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each node: of one whose directories lie below, too."""
    (node / "backups" / "b").mkdir(parents=True)
    for name in ("d1", "d2"):
        shutil.move(node / name, node / "backups" / "b" / name)
    shutil.move(node / "controller1", node / "backups" / "c")
    told = Told(capsys, "-d", f"{node}/backups/*/", "preflight")
    assert 3 == len(told.out.splitlines())
    assert "102" in told.out
    assert 1 == told.status
    rows = Told(capsys, "-d", f"{node}/backups/*/", "preflight", "-o", "json").rows
    assert {"102", "1"} == {row["node"] for row in rows}


def test_in_the_shell(node: Path) -> None:
    """A source that is open is asked as its directories are."""
    source = metashell.open(node / "d1", log_dirs=[node / "d2"])
    ran = run_on(source, "preflight")
    assert ran.out.startswith("node 102 (broker) starts, but changes its logs\n")
    assert 1 == ran.status


@pytest.mark.parametrize(
    "words",
    [("--after", "crash"), ("--software", "what"), ("topic",)],
)
def test_refused(node: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    """Words that mean nothing."""
    assert 2 == asked(capsys, node, *words).status


def test_no_directory(capsys: pytest.CaptureFixture[str]) -> None:
    """A quorum has no directories to start on."""
    told = Told(capsys, "-q", "127.0.0.1:1", "preflight")
    assert 2 == told.status
    assert "needs the log directories" in told.err


def test_settings_without_a_log_directory(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kafka takes the default of log.dir."""
    told = Told(capsys, "--config", config_of(node, log_dirs=""), "preflight")
    assert 2 == told.status
    assert "names no log directory: Kafka takes /tmp/kafka-logs" in told.err


def test_hostile_places(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pipes and links in place of files, and names that are no UTF-8, are told of."""
    os.mkdir(os.fsencode(node / "d1") + b"/caf\xe9-0")
    os.mkdir(os.fsencode(node / "d1") + b"/\xff\x1b[31m")
    (node / "d2" / "loop-0").symlink_to("loop-0")
    for file in (node / "d1" / RECOVERY, node / "d2" / "keep-3" / PARTITION_METADATA):
        file.unlink()
        os.mkfifo(file)
    told = asked(capsys, node)
    assert {"not-a-log"} == told.codes("refuses")
    (node / "d2" / "meta.properties").unlink()
    os.mkfifo(node / "d2" / "meta.properties")
    told = Told(capsys, "-d", node / "d1", "-d", node / "d2", "preflight")
    assert "not a regular file" in told.out
    assert "\x1b" not in told.out
