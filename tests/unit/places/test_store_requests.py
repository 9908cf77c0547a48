"""What a run asks a store for: a server counts, and no request is made twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

import pytest

from metashell.cli import main
from metashell.log.changed import list_anew, list_directory, signature
from metashell.places import patience
from metashell.places.bounded_file import MIB
from metashell.places.parallel import THREADS
from metashell.places.place import place_of, read_ahead
from metashell.places.remote import RemoteFile
from metashell.places.seen import Seen, begin_seeing, seeing, seen, stop_seeing
from metashell.places.vanished import VanishedError
from support.fixtures import Fixture
from support.s3 import S3Server

CLUSTERS = ("east", "west", "north")
OF_STATE = 3
"""A checkpoint and two segments make the newest state of the fixture."""
OF_LOG = 11
"""Those, and the older ones that history is read from."""
OF_CHECK = 3 + 2 * 9
"""Other checkpoints, and two indexes of each segment."""
OF_NODE = 4
"""meta.properties, quorum-state, leader-epoch-checkpoint and partition.metadata."""


@pytest.fixture(scope="module")
def stored(s3: S3Server, real_directory: Fixture) -> S3Server:
    """The server with a small cluster, and with copies of it that have ids of their own."""
    for name in ("one", "indexed"):
        s3.upload(real_directory.directory, f"counted/{name}")
    for index in real_directory.input.glob("*index"):
        # Of the last segment, a node allocates 10 MiB: two pieces of a read.
        content = index.read_bytes()[: 1 << 10]
        s3.put(f"counted/indexed/__cluster_metadata-0/{index.name}", content)
    own = (real_directory.directory / "meta.properties").read_bytes()
    for i, name in enumerate(CLUSTERS):
        s3.upload(real_directory.directory, f"many/{name}")
        changed = own.replace(b"cluster.id=FOE", b"cluster.id=F%02d" % i)
        s3.put(f"many/{name}/meta.properties", changed)
    return s3


@pytest.fixture
def server(stored: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """That server, for one who may read there."""
    stored.give_credentials(monkeypatch)
    return stored


def _requests(server: S3Server, place: str, words: Sequence[str]) -> Counter[str]:
    """How often a run made each kind of request; none twice."""
    before = len(server.requests())
    main(["--engine", "local", "-d", server.uri(place), *words])
    made = server.requests()[before:]
    assert Counter(set(made)) == Counter(made)
    return Counter("LIST" if "list-type" in one else one.split()[0] for one in made)


@pytest.mark.parametrize(
    ("place", "words", "n_listings", "n_files"),
    [
        ("one", ["cat", "/image/features/metadataVersion"], 2, OF_STATE),
        ("one/__cluster_metadata-0", ["cat", "/image/features/metadataVersion"], 1, OF_STATE),
        ("one", ["find", "/image/topics/byName", "-name", "orders*"], 2, OF_STATE),
        ("one", ["log", "--limit", "2"], 2, OF_STATE + 1),
        ("one", ["fleet"], 2, OF_STATE + OF_NODE),
        ("one", ["health"], 2, OF_LOG + OF_NODE),
        ("one", ["preflight"], 2, OF_STATE + OF_NODE),
        ("indexed", ["check"], 2, OF_LOG + OF_CHECK + OF_NODE),
    ],
)
def test_requests_of_a_run(
    server: S3Server, place: str, words: list[str], n_listings: int, n_files: int
) -> None:
    """A listing of each directory, and of each file a GET and the HEAD that pyarrow makes."""
    wanted = Counter({"LIST": n_listings, "HEAD": n_files, "GET": n_files})
    assert wanted == _requests(server, f"counted/{place}", words)


def test_reading_ahead(server: S3Server) -> None:
    """Small files are read once, before they are asked for; a larger one only when it is."""
    server.put("ahead/large", bytes(MIB + 1))
    names = [f"small-{i}" for i in range(THREADS)]
    for name in names:
        server.put(f"ahead/{name}", name.encode())
    place = place_of(server.uri("ahead"))
    assert not isinstance(place, str)
    with seeing():
        place.list()
        read_ahead(place.child(name) for name in [*names, "large"])
        n = len(server.requests())
        found = [place.child(name).read_whole(MIB) for name in names]
        assert [name.encode() for name in names] == found
        assert n == len(server.requests())
        assert place.child("large").read_whole(2 * MIB)
        assert n + 2 == len(server.requests())


@pytest.mark.slow
@pytest.mark.parametrize("n_processes", [1, 2])
@pytest.mark.parametrize(
    ("words", "n_files"),
    [
        (["fleet"], OF_STATE + OF_NODE),
        (["cat", "/clusters/*/image/features/metadataVersion"], OF_STATE + 1),
        (["find", "/clusters/*/image/topics/byName", "-name", "orders*"], OF_STATE + 1),
        (["health", "--clusters"], OF_LOG + OF_NODE),
    ],
)
def test_requests_of_a_fleet(
    server: S3Server,
    words: list[str],
    n_files: int,
    n_processes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its members cost what each costs by itself; processes know what this one has listed."""
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: n_processes)
    n = len(CLUSTERS)
    wanted = Counter({"LIST": 1 + 2 * n, "HEAD": n * n_files, "GET": n * n_files})
    assert wanted == _requests(server, "many/*", words)


def test_what_is_not_there_is_asked_for_once(
    server: S3Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """A place that is missing is listed once, and looked for once as a file."""
    assert Counter(LIST=2, HEAD=1) == _requests(server, "counted/none", ["fleet"])
    assert "s3://bucket/counted/none: No such file or directory" in capsys.readouterr().err


def test_who_asks_for_news_gets_them(server: S3Server, real_directory: Fixture) -> None:
    """A listing counts until somebody looks anew; the bytes of unchanged files count on."""
    server.upload(real_directory.directory, "growing")
    place = place_of(server.uri("growing/__cluster_metadata-0"))
    assert not isinstance(place, str)
    name = "quorum-state"
    with seeing():
        before = list_directory(place)
        text = place.child(name).read_whole(1 << 20)
        server.put("growing/__cluster_metadata-0/00000000000000009999.log", b"")
        assert before == list_directory(place)
        now = signature(place)
        assert len(before.signature) + 1 == len(now)
        n = len(server.requests())
        assert text == place.child(name).read_whole(1 << 20)
        assert n == len(server.requests())
        # A listing that has what is gone is worth nothing.
        log = place.child("00000000000000009999.log")
        server.put("growing/__cluster_metadata-0/00000000000000009999.log", b"x")
        list_anew(place)
        server.delete("growing/__cluster_metadata-0/00000000000000009999.log")
        with pytest.raises(VanishedError), RemoteFile(log).opened() as file:
            file.read(0, 1)
        assert before == list_directory(place)
    assert Seen(limit_bytes=0) == seen()


def test_what_is_kept_is_bounded(server: S3Server) -> None:
    """Beyond the bound all that was kept is let go, and the store is asked again."""
    place = place_of(server.uri("counted/one/meta.properties"))
    assert not isinstance(place, str)
    begin_seeing(Seen(limit_bytes=450))
    try:
        for _ in range(2):
            n = len(server.requests())
            assert place.read_whole(1 << 20)
            assert 2 == len(server.requests()) - n
    finally:
        stop_seeing()


# A store that asks for fewer requests.

N_CLUSTERS = 60


@pytest.fixture(scope="module")
def bucket(stored: S3Server, real_directory: Fixture) -> S3Server:
    """The server with many clusters, of which each is a checkpoint and two segments."""
    last = sorted(real_directory.input.glob("*.log"))[-2:]
    files = [max(real_directory.input.glob("*.checkpoint")), *last]
    for i in range(N_CLUSTERS):
        for file in files:
            key = f"throttled/c{i:02}/__cluster_metadata-0/{file.name}"
            stored.put(key, file.read_bytes())
        stored.put(
            f"throttled/c{i:02}/meta.properties",
            f"version=1\ncluster.id=throttled-cluster-{i:04}\nnode.id=1\n".encode(),
        )
    return stored


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "words", "n_processes"),
    [
        ("throttled/*", ["fleet"], 1),
        ("throttled/*", ["fleet"], 2),
        ("throttled/*", ["find", "/clusters/*/image/topics/byName", "-name", "orders*"], 1),
        ("throttled/*", ["health", "--clusters"], 1),
        ("counted/one", ["health"], 1),
    ],
)
def test_refused_requests_cost_time_and_nothing_else(
    bucket: S3Server,
    place: str,
    words: list[str],
    n_processes: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every third request is refused; the output and the exit status are those without that."""
    bucket.give_credentials(monkeypatch)
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: n_processes)
    # Of this process: those that it starts wait for short times.
    monkeypatch.setattr(patience, "_FIRST_S", 0.001)

    def answer() -> tuple[int, str, str]:
        code = main(["--engine", "local", "-d", bucket.uri(place), *words])
        return (code, *capsys.readouterr())

    wanted = answer()
    with bucket.throttled(3):
        assert wanted == answer()


@pytest.mark.parametrize("place", ["counted/one", "counted/one/__cluster_metadata-0"])
def test_a_store_that_refuses_for_ever(
    server: S3Server,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is waited for up to the limit, by a clock that goes on only where a run waits."""
    clock = _Clock()
    monkeypatch.setattr(patience, "time", clock)
    with server.throttled(1):
        assert 3 == main(["--engine", "local", "-d", server.uri(place), "health"])
    said = capsys.readouterr().err
    assert "the store asks for fewer requests (slow down)" in said
    assert "hint: try again later" in said
    assert 20 < clock.monotonic() <= patience.LIMIT_S


def test_a_fleet_whose_store_begins_to_refuse(
    server: S3Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of it waits for as long as one would, and each row says why it is empty."""
    clock = _Clock()
    monkeypatch.setattr(patience, "time", clock)
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: 1)
    directories = [server.uri(f"many/{name}") for name in CLUSTERS]
    with server.throttled(1):
        code = main(["--engine", "local", *(f"-d{one}" for one in directories), "fleet"])
    assert 1 == code
    assert len(CLUSTERS) == capsys.readouterr().out.count("(slow down)")
    assert 20 < clock.monotonic() <= patience.LIMIT_S


def test_reason_that_did_not_fit_is_asked_for(server: S3Server) -> None:
    """A refusal is longer than a file of a few bytes: pyarrow drops it, and another has none."""
    place = place_of(server.uri("short/file"))
    assert not isinstance(place, str)
    server.put("short/file", b"1")
    with RemoteFile(place).opened() as file:
        server.delete("short/file")
        with pytest.raises(VanishedError):
            file.read(0, 1)


class _Clock:
    """A clock that goes on where somebody sleeps."""

    def __init__(self) -> None:
        self._now, self._lock = 0.0, threading.Lock()

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds
