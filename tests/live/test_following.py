"""A quorum that is followed, through commands and the Python API, while things happen to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import metashell
from metashell.quorum.protocol import Api
from metashell.sources.live import LiveQuorum
from metashell.sources.source import Source
from support.fake_quorum import FakeQuorum, value_of
from support.fake_server import HOST, FakeQuorumServer
from support.live_program import LS, Run
from support.logs import record
from support.programs import ended
from support.pty import Terminal
from support.waiting import LIMIT_S, Deadline, wait_readable, wait_until

_TOPICS = "/image/topics/byName"


@contextlib.contextmanager
def _followed(server: FakeQuorumServer, *ids: int) -> Iterator[Source]:
    source = metashell.open_quorum(server.address(*ids), follow=True)
    try:
        yield source
    finally:
        assert source.live is not None
        source.live.close()
        wait_until(lambda: server.n_open == 0, "a connection is still open")


@pytest.mark.parametrize("is_pinned", [True, False])
def test_another_cluster(is_pinned: bool) -> None:
    """When the first cluster dies, a controller of another one that was given is told from it.

    By the cluster's id where that is known, else by who votes.
    """
    with FakeQuorumServer(2) as server, FakeQuorumServer(quorum=_other_quorum()) as other:
        server.quorum.controllers[1].habits.may_describe_cluster = is_pinned
        end = server.append(4)
        addresses = f"{server.address()},{other.address()}"
        with contextlib.closing(_live(metashell.open_quorum(addresses, follow=True))) as live:
            assert live.cluster_id == (server.quorum.cluster_id if is_pinned else None)
            for node_id in (1, 2):
                server.kill(node_id)
            said = f"{other.address()}: it belongs to another cluster than the one followed"
            wait_until(lambda: said in (live.status().problem or ""), lambda: str(live.status()))
            assert live.status().end_offset == end
            for node_id in (1, 2):
                server.restart(node_id)
            server.elect(2)
            end = server.append(4)
            wait_until(lambda: live.status().end_offset == end, lambda: str(live.status()))
            assert not live.notes


def _other_quorum() -> FakeQuorum:
    """A quorum that would have what comes next: more records, in a later epoch."""
    other = FakeQuorum(1, cluster_id="another-cluster")
    for _ in range(3):
        other.append(4)
        other.elect(1)
    other.commit()
    return other


@pytest.mark.parametrize("versions", [17, 16])
def test_describe_cluster_is_not_asked_in_vain(versions: int, run: Run) -> None:
    """It leaves an error in the log of a controller that refuses it: only where it is needed, once.

    Before Kafka 3.9 it is needed: there nothing else says where the leader listens.
    """
    with FakeQuorumServer(3) as server:
        for controller in server.quorum.controllers.values():
            controller.habits.may_describe_cluster = False
            controller.habits.versions[Api.FETCH] = (0, versions)
        for words in (LS, ("health",), ("log", "--limit", "1")):
            assert run("-q", server.address(), *words).code == 0
        assert 0 == _n_asked(server, Api.DESCRIBE_CLUSTER)
        run("-q", server.address(2, 3), "--timeout", "1", *LS)
        assert (1 if versions < 17 else 0) == _n_asked(server, Api.DESCRIBE_CLUSTER)


def test_cluster_id_is_asked_for_once(run: Run) -> None:
    """By the commands that show it or compare it."""
    with FakeQuorumServer(1) as server:
        told = json.loads(run("-q", server.address(), "quorum", "--status", "--json").out)[0]
        assert told["cluster_id"] == server.quorum.cluster_id
        assert 1 == _n_asked(server, Api.DESCRIBE_CLUSTER)
        server.quorum.controllers[1].habits.may_describe_cluster = False
        with _followed(server) as source:
            assert source.cluster_id is None
            assert source.refreshed().cluster_id is None
        assert 2 == _n_asked(server, Api.DESCRIBE_CLUSTER)


def _n_asked(server: FakeQuorumServer, api: Api) -> int:
    """How often something was asked."""
    return sum(one is api for c in tuple(server.connections) for one, _, _ in tuple(c.requests))


def _live(source: Source) -> LiveQuorum:
    assert source.live is not None
    return source.live


def _reach(source: Source, offset: int) -> Source:
    """The state as soon as all below an offset is there."""
    live = _live(source)
    wait_until(lambda: live.status().end_offset >= offset, lambda: str(live.status()))
    return source.refreshed()


def _topics(source: Source) -> set[str]:
    return set(source.ls(_TOPICS))


def _expected(server: FakeQuorumServer) -> set[str]:
    """Topics of all that was committed: every fourth record makes one."""
    values = [v for b in server.quorum.history for v in b.values]
    return {f"topic-{i}" for i in range(0, len(values), 4) if values[i] == value_of(i)}


def test_refreshed() -> None:
    """A source stays as it is, and `refreshed` gives the newest."""
    with FakeQuorumServer(3) as server:
        server.append(4)
        with _followed(server, 2) as source:
            assert _topics(source) == {"topic-0"}
            assert source.refreshed() is source
            generation = _live(source).generation
            end = server.append(8)
            newer = _reach(source, end)
            assert _live(source).wait(generation, 0)
            assert _topics(newer) == {"topic-0", "topic-4", "topic-8"} == _expected(server)
            assert _topics(source) == {"topic-0"}
            assert newer.refreshed() is newer


def test_leader_killed() -> None:
    """It goes on with the next leader, the state before it shown meanwhile."""
    with FakeQuorumServer(3) as server:
        end = server.append(4)
        with _followed(server) as source:
            server.kill(1)
            wait_until(lambda: _live(source).status().problem is not None, "no problem is told")
            assert _topics(source.refreshed()) == {"topic-0"}
            server.elect(3)
            assert _live(_reach(source, end + 1)).status().leader_id == 3
            server.restart(1)
            newest = _reach(source, server.append(4))
            assert _topics(newest) == _expected(server) == {"topic-0", "topic-4"}
            assert _live(source).status().problem is None


def test_uncommitted_is_not_shown() -> None:
    """What lies above the high watermark is held back until that passes."""
    with FakeQuorumServer(1) as server:
        end = server.append(4)
        with _followed(server) as source:
            server.append_uncommitted(4)
            _asked_from(server, end + 4)
            assert _topics(source.refreshed()) == {"topic-0"}
            assert _live(source).status().end_offset == end
            server.commit()
            assert _topics(_reach(source, end + 4)) == {"topic-0", "topic-4"}


def _asked_from(server: FakeQuorumServer, offset: int) -> None:
    """Wait until somebody asks for records from an offset on: those below it were received."""

    def offsets() -> set[int]:
        return {
            body["topics"][0]["partitions"][0]["fetch_offset"]
            for connection in tuple(server.connections)
            for api, _, body in tuple(connection.requests)
            if api is Api.FETCH
        }

    wait_until(lambda: offset in offsets(), lambda: f"{offset} not in {sorted(offsets())}")


def test_truncation() -> None:
    """Records that the next leader never had are dropped, and were never shown."""
    with FakeQuorumServer(3) as server:
        end = server.append(4)
        with _followed(server) as source:
            server.append_uncommitted(8)  # topic-4 and topic-8, on controller 1 alone
            _asked_from(server, end + 8)
            server.elect(2)
            newest = _reach(source, server.append(4))
            assert _topics(newest) == {"topic-0", "topic-12"}
            values = [v for b in server.quorum.history for v in b.values]
            assert values[-4:] == [value_of(i) for i in range(12, 16)]


def test_snapshot_while_away() -> None:
    """The log was trimmed while nobody could be reached: it goes on with the snapshot."""
    with FakeQuorumServer(2) as server:
        server.append(4)
        with _followed(server) as source:
            for node_id in (1, 2):
                server.kill(node_id)
            wait_until(lambda: _live(source).status().problem is not None, "not away yet")
            with server.quorum.changed:
                for node_id in (1, 2):
                    server.quorum.restart(node_id)
                server.quorum.elect(1)
                end = server.append(20)
                server.snapshot()
                assert server.quorum.controllers[1].start == end
            server.restart(1)
            newest = _reach(source, server.append(4))
            assert _topics(newest) == _expected(server)
            assert len(_topics(newest)) == 7


def test_dropped_connections() -> None:
    """A connection that breaks is made again."""
    with FakeQuorumServer(1) as server, _followed(server) as source:
        for n in (1, 2, 3):
            server.drop_connections(1)
            newest = _reach(source, server.append(4))
            assert _topics(newest) == _expected(server)
            assert len(_topics(newest)) == n


def test_never_appears() -> None:
    """Every request is an observer's: replica id -1, the metadata topic and nothing else."""
    with FakeQuorumServer(3) as server:
        server.append(4)
        server.snapshot()
        with _followed(server, 2) as source:
            _reach(source, server.append(4))
        asked = [r for c in server.connections for r in c.requests]
    reads = {Api.API_VERSIONS, Api.FETCH, Api.FETCH_SNAPSHOT, Api.DESCRIBE_QUORUM}
    assert {api for api, _, _ in asked} == reads
    for api, version, body in asked:
        if api is Api.FETCH:
            replica = body["replica_id"] if version < 15 else body["replica_state"]["replica_id"]
            assert replica == -1
            assert [len(topic["partitions"]) for topic in body["topics"]] == [1]
            assert body["topics"][0]["partitions"][0].get(
                "replica_directory_id", bytes(16)
            ) == bytes(16)
        elif api is Api.FETCH_SNAPSHOT:
            assert body["replica_id"] == -1


@pytest.mark.parametrize("version", [12, 14, 17])
def test_older_controllers(version: int, run: Run) -> None:
    """The same of controllers that serve less."""
    with FakeQuorumServer(1) as server:
        server.append(4)
        server.quorum.controllers[1].habits.versions[Api.FETCH] = (0, version)
        assert run("-q", server.address(), "ls", _TOPICS).lines == ["topic-0"]


def test_one_command(run: Run) -> None:
    """It leaves nothing open, whatever it was."""
    with FakeQuorumServer(3) as server:
        server.append(4)
        for words in (LS, ("quorum",), ("cat", "/no/such"), ("log", "--limit", "1")):
            run("-q", server.address(2), *words)
            wait_until(lambda: server.n_open == 0, "a connection is still open")


def test_quorum(run: Run) -> None:
    """`quorum` says what the leader says."""
    with FakeQuorumServer(3) as server:
        end = server.append(4)
        told = json.loads(run("-q", server.address(3), "quorum", "--status", "--json").out)[0]
    assert told["leader"] == 1
    assert told["high_watermark"] == end


def _in_thread(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target)
    thread.start()
    return thread


def test_log_follow(run: Run) -> None:
    """Records are printed as they are committed, until there were as many as asked for."""
    with FakeQuorumServer(1) as server:
        server.append(4)
        ended = threading.Event()

        def go_on() -> None:
            wait_until(lambda: server.n_open > 0 or ended.is_set(), "nobody came")
            _keep_appending(server, ended)

        thread = _in_thread(go_on)
        try:
            followed = run(
                "-q", server.address(), "log", "--follow", "--type", "TopicRecord", "--limit", "3"
            )
        finally:
            ended.set()
            thread.join(LIMIT_S)
    assert followed.code == 0
    assert [f"topic-{i}" in line for i, line in zip((0, 4, 8), followed.lines, strict=True)] == [
        True
    ] * 3


@pytest.mark.parametrize("form", ["--all", "--json", "-ojsonl"])
def test_log_follow_of_a_quiet_quorum(form: str) -> None:
    """The last record is printed although none follows, and ^C takes nothing away."""
    with FakeQuorumServer(1) as server:
        process = _start("-q", server.address(), "log", "--follow", form)
        text = _lines(process, 1)  # the leader's first record
        for n in range(2, 6):
            server.append(1)
            text += _lines(process, n - text.count(b"\n"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert text.count(b"\n") == 5
    assert b"topic-0" in text.splitlines()[1]


def test_log_follow_over_a_snapshot() -> None:
    """Topics that were made while nobody could be reached are known by name afterwards."""
    with FakeQuorumServer(2) as server:
        server.append(values=[record("TopicRecord", name="gap-", topic_id=bytes(15) + b"\t")])
        process = _start("-q", server.address(), "log", "--follow", "--topic", "gap-*")
        assert _lines(process, 1)
        for node_id in (1, 2):
            server.kill(node_id)
        ids = [n.to_bytes(16, "big") for n in (1, 2)]
        with server.quorum.changed:
            for node_id in (1, 2):
                server.quorum.restart(node_id)
            server.quorum.elect(1)
            server.append(
                values=[
                    record("TopicRecord", name=f"gap-{n}", topic_id=topic_id)
                    for n, topic_id in enumerate(ids)
                ]
            )
            server.snapshot()
        server.restart(1)
        server.append(values=[record("RemoveTopicRecord", topic_id=topic_id) for topic_id in ids])
        text = _lines(process, 2).decode()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
    assert ["topic=gap-0", "topic=gap-1"] == [line.split()[4] for line in text.splitlines()]


def _lines(process: subprocess.Popen[bytes], n: int) -> bytes:
    """Read until so many lines came."""
    assert process.stdout is not None
    text, deadline = b"", Deadline()
    while text.count(b"\n") < n:
        assert wait_readable(process.stdout.fileno(), deadline), text
        text += os.read(process.stdout.fileno(), 1 << 16)
    return text


def test_log_follow_on_a_terminal() -> None:
    """The same where a person reads."""
    source = str(Path(metashell.__file__).parents[1])
    with FakeQuorumServer(1) as server:
        command = [sys.executable, "-m", "metashell", "-q", server.address(), "log", "--follow"]
        with Terminal(command, env={"PYTHONPATH": source}, columns=200) as terminal:
            terminal.read_until("LeaderChange")
            server.append(1)
            terminal.read_until("topic-0")
            server.append(1)
            terminal.read_until("PARTITION_RECORD")
            terminal.signal(signal.SIGINT)
            assert terminal.read_to_end() == 130


def _keep_appending(server: FakeQuorumServer, ended: threading.Event) -> None:
    """Append a little at a time until it is over."""
    while not ended.wait(0.05):
        server.append(4)


def test_watch(run: Run) -> None:
    """A command is run again when something was committed, and what is new is marked."""
    with FakeQuorumServer(1) as server:
        server.append(4)
        ended = threading.Event()
        thread = _in_thread(lambda: _keep_appending(server, ended))
        try:
            watched = run("-q", server.address(), "watch", "--count", "1", "ls", _TOPICS)
        finally:
            ended.set()
            thread.join(LIMIT_S)
    assert watched.code == 0
    assert "topic-0" in watched.lines
    assert any(line.startswith(("+topic-", "+ topic-")) for line in watched.lines)


def test_save(run: Run, tmp_path: Path) -> None:
    """What was fetched, snapshot and log, is a directory with the same state."""
    with FakeQuorumServer(2) as server:
        server.append(10)
        server.snapshot()
        server.append(7)
        live = run("-q", server.address(), "checksum")
        saved = run("-q", server.address(), "save", str(tmp_path / "copy"))
        assert saved.code == 0, saved
    copy = run("-d", str(tmp_path / "copy"), "checksum")
    assert (copy.code, copy.out) == (0, live.out)
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "copy").rglob("*")} == {0}


def _start(*words: str) -> subprocess.Popen[bytes]:
    source = str(Path(metashell.__file__).parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-m", "metashell", *words],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_interrupted() -> None:
    """^C while a controller says nothing ends the program at once, without a word."""
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(LIMIT_S)
        process = _start("-q", f"{HOST}:{listener.getsockname()[1]}", *LS)
        with ended(process), listener.accept()[0] as peer:
            peer.settimeout(LIMIT_S)
            assert peer.recv(1)  # so it waits for an answer
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_interrupted_while_connecting() -> None:
    """The same where not even the connection comes about: the queue of connections is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((HOST, 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(4):
            full = stack.enter_context(socket.socket())
            full.setblocking(False)
            full.connect_ex(address)
        process = stack.enter_context(ended(_start("-q", f"{HOST}:{address[1]}", *LS)))
        wait_until(lambda: _n_threads(process.pid) > 1, "it does not begin")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, err) == (130, b"", b"")


def _n_threads(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.is_dir():
        pytest.skip("threads of another process can't be counted here")
    return len(list(tasks.iterdir()))
