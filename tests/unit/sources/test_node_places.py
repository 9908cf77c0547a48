"""Several log directories of a node as one source, and those without a metadata log."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import metashell
from kraftgen.files import checkpoint_bytes, checkpoint_name
from metashell.cli import main
from metashell.errors import SourceError
from metashell.log.names import METADATA_DIRECTORY
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.log_directories import LogDirectoriesSource
from metashell.sources.node_places import node_at, nodes_at
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import copy_of, fixture_dir
from support.fleets import node
from support.logs import topic_batch, topic_record
from support.s3 import S3Server
from support.shell import run_on

Captures = pytest.CaptureFixture[str]
NODE = "node-44"
N_GROUPS, N_HERE = 28, 18
"""Groups of the cluster, and those in the first log directory of broker 101."""


def directory(broker: int, name: str) -> str:
    """A log directory of the cluster."""
    return str(fixture_dir(NODE) / f"broker{broker}" / name)


def options(*paths: str) -> list[str]:
    """The words that choose directories."""
    return [word for path in paths for word in ("-d", path)]


def count(capsys: Captures, words: Sequence[str]) -> int:
    """Count the groups that a command line finds, and see that nothing is missing."""
    assert 0 == main([*words, "groups", "--count"])
    told = capsys.readouterr()
    assert not told.err
    return int(told.out)


@pytest.mark.slow
def test_log_directories_of_a_node_are_one_source(capsys: Captures) -> None:
    """In any order, and where the metadata log itself is named; for a pattern a fleet of one."""
    first, second = directory(101, "d1"), directory(101, "d2")
    metadata = f"{first}/{METADATA_DIRECTORY}"
    for paths in ((first, second), (second, first), (second, metadata)):
        assert N_GROUPS == count(capsys, options(*paths))
        assert 0 == main([*options(*paths), "ls", "/"])
        assert "image\n" in capsys.readouterr().out
    pattern = str(Path(first).parent / "d*")
    assert N_GROUPS == count(capsys, options(pattern))
    assert 0 == main([*options(pattern), "ls", "/clusters"])
    assert 1 == len(capsys.readouterr().out.split())


@pytest.mark.long
def test_python_takes_them_too() -> None:
    """`metashell.open` with the others beside the first; each may be without a metadata log."""
    first, second = directory(101, "d1"), directory(101, "d2")
    for path, other in ((first, second), (first, Path(second))):
        source = metashell.open(path, log_dirs=[other])
        assert str(N_GROUPS) == run_on(source, "groups --count").out.strip()
        assert N_GROUPS == len(source.ls("/groups"))
        assert N_GROUPS > len(source.at("2026-11-22T11:56:03Z").ls("/groups"))


@pytest.mark.slow
def test_directories_of_several_nodes_are_a_fleet(capsys: Captures) -> None:
    """Each node has all of its directories."""
    parent = str(fixture_dir(NODE))
    for pattern in (f"{parent}/broker*/d*", f"{parent}/broker*/d[21]"):
        assert 0 == main([*options(pattern), "ls", "/clusters"])
        assert ["broker101", "broker102", "broker103"] == capsys.readouterr().out.split()
        assert 3 * N_GROUPS == count(capsys, options(pattern))
    for engine in ("local", "auto"):
        fleet = open_fleet([f"{parent}/broker{n}/{d}" for n in (101, 102) for d in ("d1", "d2")],
                           engine=engine)  # fmt: skip
        rows = run_on(fleet, "groups --columns cluster,group -o csv").out.splitlines()
        assert 2 * N_GROUPS == len(rows) - 1
        assert {"broker101", "broker102"} == {row.partition(",")[0] for row in rows[1:]}


def test_copies_of_a_node_are_no_further_directories(tmp_path: Path) -> None:
    """Two backups of a node are two members of a fleet, however many directories each has."""
    for day in ("monday", "tuesday"):
        for name in ("d1", "d2"):
            copy_of(f"{NODE}/broker101/{name}", tmp_path / day).rename(tmp_path / day / name)
    first = [str(tmp_path / day / "d1") for day in ("monday", "tuesday")]
    assert [(path, ()) for path in first] == [(n.path, n.log_dirs) for n in nodes_at(first)]
    both = [str(tmp_path / day / d) for d in ("d2", "d1") for day in ("monday", "tuesday")]
    found = [(n.path, n.log_dirs) for n in nodes_at(both)]
    assert [(first[0], (both[0],)), (first[1], (both[1],))] == found


def test_copies_without_directory_ids(tmp_path: Path) -> None:
    """Older nodes have no directory.id: two metadata logs are then of two copies."""
    paths = []
    for name in ("one", "two", "three"):
        path = copy_of(f"{NODE}/broker101/d1", tmp_path / name)
        text = (path / "meta.properties").read_text()
        lines = [line for line in text.splitlines() if not line.startswith("directory.id")]
        (path / "meta.properties").write_text("\n".join(lines))
        paths.append(str(path))
    shutil.rmtree(Path(paths[2]) / METADATA_DIRECTORY)
    assert 3 == len(nodes_at(paths))
    (node,) = nodes_at(paths[::2])
    assert (paths[0], (paths[2],)) == (node.path, node.log_dirs)


def test_the_longer_of_two_metadata_logs_is_read(tmp_path: Path) -> None:
    """Where metadata.log.dir was changed, and the old log stayed."""
    old = copy_of(f"{NODE}/broker101/d2", tmp_path)
    segment = f"{0:020d}.log"
    (old / METADATA_DIRECTORY).mkdir()
    longer = copy_of(f"{NODE}/broker101/d1", tmp_path)
    whole = (longer / METADATA_DIRECTORY / segment).read_bytes()
    (old / METADATA_DIRECTORY / segment).write_bytes(whole[: len(whole) // 2])
    found = node_at([str(old), str(longer)])
    assert str(longer) == found.path
    assert "is read, not that in" in found.notes[0]
    # A configuration names directories of one node. Without one they may be two copies.
    assert [str(old), str(longer)] == [n.path for n in nodes_at([str(old), str(longer)])]


def test_a_log_of_a_later_epoch_is_read_though_it_is_shorter(tmp_path: Path) -> None:
    """A vote compares the last epoch before the end."""
    long, short, state = (
        node(tmp_path, name, {0: segment}, "id")
        for name, segment in (
            ("long", topic_batch(0, 50)),
            ("short", topic_batch(0, 5) + topic_batch(5, 1, leader_epoch=3)),
            ("state", topic_batch(0, 5)),
        )
    )
    paths = [str(long), str(short)]
    assert [str(short)] * 2 == [
        place.path for order in (paths, paths[::-1]) for place in nodes_at(order, joins=True)
    ]
    name = checkpoint_name(60, 4)
    (state / METADATA_DIRECTORY / name).write_bytes(checkpoint_bytes([topic_record(1)], epoch=4))
    (joined,) = nodes_at([*paths, str(state)], joins=True)
    assert str(state) == joined.path


def config(path: Path, **settings: str) -> list[str]:
    """Write a broker's configuration and return the words that choose it."""
    lines = [f"{key.replace('_', '.')}={value}" for key, value in settings.items()]
    path.write_text("\n".join(["process.roles=broker", *lines]))
    return ["--config", str(path)]


@pytest.mark.long
def test_a_configuration_names_log_directories(tmp_path: Path, capsys: Captures) -> None:
    """All of log.dirs, and metadata.log.dir apart from them."""
    first, second = directory(101, "d1"), directory(101, "d2")
    file = tmp_path / "server.properties"
    assert N_GROUPS == count(capsys, config(file, log_dirs=f"{second},{first}"))
    assert N_GROUPS == count(capsys, config(file, log_dirs=second, metadata_log_dir=first))
    other = directory(102, "d2")
    words = config(file, log_dirs=f"{first},{tmp_path}/gone,{other},{second}")
    assert 0 == main([*words, "groups", "--count"])
    told = capsys.readouterr()
    assert N_GROUPS == int(told.out)
    assert f"{tmp_path}/gone: No such file or directory: what lies there is missing" in told.err
    assert f"{other} is of another node than {first}: left out" in told.err
    assert 3 == main([*words, "--cluster-id", "nope", "ls"])


@pytest.mark.long
def test_a_log_directory_without_a_metadata_log(capsys: Captures) -> None:
    """It has groups and no image, and that is said; a shell works on it."""
    path = directory(101, "d2")
    assert 0 == main([*options(path), "groups", "--count"])
    told = capsys.readouterr()
    assert N_GROUPS - N_HERE == int(told.out)
    assert "no metadata log there: names and leaders of topics are not known" in told.err
    source = metashell.open(path)
    assert isinstance(source, LogDirectoriesSource)
    assert ("72HgMVPyQUSIB9AHQB3hhg", 101) == (source.cluster_id, source.node_id)
    assert {"groups", "local", "transactions"} <= set(source.ls("/"))
    assert "image" not in source.ls("/")
    assert "k-uniform" in source.ls("/groups")
    assert source.refreshed() is source
    assert ("no metadata log",) == source.status().notes
    for command in ("topics", "log", "du", "checksum", "coordinator group:g"):
        ran = run_on(source, command)
        assert (3, "") == (ran.status, ran.out)
        assert f"this needs a metadata log, and {path} has none" in "\n".join(ran.err)
    with pytest.raises(SourceError, match="an offset counts in the metadata log"):
        source.at(5)
    earlier = source.at("2026-11-22T11:56:03Z")
    assert ["c-offdel", "c-static", "k-like-simple"] == earlier.ls("/groups")
    assert "3" == run_on(earlier, "groups --count").out.strip()
    assert earlier.newest is source
    members = run_on(source, "members -o json").out
    assert '"coordinator": null' in run_on(source, "groups -o json").out
    assert "k-uniform" in members
    ran = run_on(open_fleet([path, directory(102, "d2")]), "groups --columns cluster -o csv")
    assert {"cluster": 1, "broker101": N_GROUPS - N_HERE, "broker102": N_HERE} == Counter(
        ran.out.split()
    )


def test_a_directory_above_log_directories(tmp_path: Path) -> None:
    """The error says what to open."""
    for name in ("d 1", "d2", "other"):
        (tmp_path / name).mkdir()
    for name in ("d 1", "d2"):
        shutil.copy(Path(directory(101, "d2"), "meta.properties"), tmp_path / name)
    with pytest.raises(SourceError, match="no segment or checkpoint there") as raised:
        metashell.open(tmp_path)
    wanted = f"`metashell -d '{tmp_path}/d 1' -d {tmp_path}/d2`"
    assert raised.value.hint == f"log directories are below it: {wanted}"


def test_ages_without_a_metadata_log() -> None:
    """They count from the last record of the coordinators' logs, or of the state on show."""
    source = metashell.open(directory(102, "d2"))
    for age, time in (("2m", "11:59:47.496"), ("end-5m", "11:56:47.496"), ("11:57", "11:57")):
        wanted = _count(source, f"find /groups -newer-than 2026-11-22T{time}Z -count")
        assert 0 < wanted == _count(source, f"find /groups -newer-than {age} -count")
        earlier = source.at(age)
        assert source.at(f"2026-11-22T{time}Z").ls("/groups") == earlier.ls("/groups")
    assert source.ls("/groups") == source.at("end").ls("/groups")
    earlier = source.at("2026-11-22T11:56:30Z")
    wanted = _count(earlier, "find /groups -newer-than 2026-11-22T11:56:10Z -count")
    assert 0 < wanted == _count(earlier, "find /groups -newer-than 20s -count")


def _count(source: Source, line: str) -> int:
    return int(run_on(source, line).out)


def test_log_directories_without_any(tmp_path: Path) -> None:
    """Without coordinators' logs there is nothing to show."""
    shutil.copy(Path(directory(101, "d2"), "meta.properties"), tmp_path)
    with pytest.raises(SourceError, match="a log directory without a metadata log"):
        metashell.open(tmp_path)
    (tmp_path / "__consumer_offsets-1").mkdir()
    logs = metashell.open(tmp_path).coordinator_logs(CoordinatorLog.GROUPS)
    assert logs is not None
    assert [1] == [partition.number for partition in logs.partitions]
    with pytest.raises(SourceError, match="no segment of __consumer_offsets-1"):
        logs.read(logs.partitions[0])


@pytest.mark.slow
def test_a_store(s3: S3Server, monkeypatch: pytest.MonkeyPatch, capsys: Captures) -> None:
    """Log directories in a bucket: together, and one without a metadata log alone."""
    s3.give_credentials(monkeypatch)
    for name in ("d1", "d2"):
        s3.upload(Path(directory(101, name)), f"node/{name}")
    here = ["--engine", "local"]
    uris = [s3.uri(f"node/{name}") for name in ("d1", "d2")]
    assert N_GROUPS == count(capsys, [*here, *options(*uris)])
    assert N_GROUPS == count(capsys, [*here, *options(s3.uri("node/*"))])
    assert 0 == main([*here, *options(uris[1]), "groups", "--count"])
    told = capsys.readouterr()
    assert N_GROUPS - N_HERE == int(told.out)
    assert "node/d2: no metadata log there" in told.err
    assert 0 == main([*here, *options(s3.uri("node/d2/__consumer_offsets-2")), "groups", "--count"])
    assert 0 < int(capsys.readouterr().out) < N_GROUPS - N_HERE
    assert N_GROUPS == count(capsys, [*here, *options(s3.uri("node/*")), "--join"])


def test_what_lies_beside_a_metadata_log_does_not_hinder(tmp_path: Path) -> None:
    """A malformed ``meta.properties``: the tree is there, and groups are."""
    path = copy_of(f"{NODE}/broker101/d1", tmp_path)
    (path / "meta.properties").write_text("nonsense")
    source = metashell.open(path)
    assert {"groups", "image"} < set(source.ls("/"))
    assert str(N_HERE) == run_on(source, "groups --count").out.strip()


@pytest.mark.parametrize("content", [None, "", "nonsense"])
def test_a_lost_identity_is_that_of_the_only_node_beside_it(
    content: str | None, tmp_path: Path, capsys: Captures
) -> None:
    """Two disks of a broker, of which one has no usable ``meta.properties``: one node, and told."""
    first, second = (copy_of(f"{NODE}/broker101/{name}", tmp_path) for name in ("d1", "d2"))
    path = first / "meta.properties"
    path.unlink() if content is None else path.write_text(content)
    for places in ((first, second), (second, first)):
        assert 0 == main([*options(*map(str, places)), "groups", "--count"])
        told = capsys.readouterr()
        assert N_GROUPS == int(told.out)
        assert f"{first}: its meta.properties" in told.err
        assert f"of the node of {second}" in told.err


def test_a_lost_identity_beside_another_metadata_log_is_none(
    tmp_path: Path, capsys: Captures
) -> None:
    """Two logs are two nodes: the error names the file, and how to open that directory alone."""
    first = copy_of(f"{NODE}/broker101/d1", tmp_path)
    other = shutil.copytree(first, tmp_path / "other")
    (first / "meta.properties").write_text("")
    assert 2 == main([*options(str(first), str(other)), "stats"])
    told = capsys.readouterr().err
    assert f"{first}: its meta.properties can't be used: no `version`" in told
    assert f"metashell -d {first} COMMAND" in told


def test_a_lost_identity_elsewhere_is_none(tmp_path: Path) -> None:
    """Directories that do not lie together, or are beside two nodes, stay apart."""
    first = copy_of(f"{NODE}/broker101/d1", tmp_path / "a")
    second = copy_of(f"{NODE}/broker101/d2", tmp_path / "b")
    third = copy_of(f"{NODE}/broker101/d2", tmp_path / "a")
    other = shutil.copytree(third, tmp_path / "a" / "other")
    told = (other / "meta.properties").read_text().replace("node.id=101", "node.id=102")
    (other / "meta.properties").write_text(told)
    (first / "meta.properties").unlink()
    for places in ((first, second), (first, third, other)):
        nodes = nodes_at([*map(str, places)])
        assert [str(place) for place in places] == [node.path for node in nodes]
        assert [True, *[False] * (len(places) - 1)] == [n.unknown is not None for n in nodes]


def test_log_directories_below_are_told(tmp_path: Path) -> None:
    """Brokers with several disks: the pattern that names the disks is told once."""
    for name in ("n1", "n2"):
        for disk in ("d1", "d2"):
            directory = tmp_path / name / disk
            directory.mkdir(parents=True)
            (directory / "meta.properties").write_text("version=1\nnode.id=1\n")
    one, other = nodes_at([str(tmp_path / "n1"), str(tmp_path / "n2")])
    told = f"`-d '{tmp_path}/*/d*'` opens them"
    assert ((f"{tmp_path}/n1 has log directories below it: {told}",), ()) == (
        one.notes,
        other.notes,
    )
