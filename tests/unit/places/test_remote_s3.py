"""Directories in an S3 store: a real server program on loopback answers and refuses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import quote

import pytest

import metashell
from metashell.errors import SourceError
from metashell.log import directory
from metashell.log.changed import DirectoryState, signature
from metashell.places import connecting
from metashell.places.place import Place, expand, shown
from metashell.sources.source import Source
from support.fixtures import Fixture
from support.s3 import S3Server
from support.shell import run_on
from support.waiting import LIMIT_S

SECRET = "s3cret/of the+URI"
KEY_ID = "AKIAOFTHEURI"
NODE = "backups/node 1"
METADATA = f"{NODE}/__cluster_metadata-0"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Credentials are only what a test gives, and no connection outlives it."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    connecting.connected.cache_clear()
    yield
    connecting.connected.cache_clear()


@pytest.fixture(scope="module")
def stored(s3: S3Server, real_directory: Fixture) -> S3Server:
    """The server with a node's log dir and its neighbours."""
    for key in (NODE, "backups/node 2", "other/node 3"):
        s3.upload(real_directory.directory, key)
    s3.put("backups/README", b"nothing")
    return s3


@pytest.fixture
def server(stored: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """That server, for one who may read there."""
    stored.give_credentials(monkeypatch)
    return stored


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "metashell", *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


# What is there.


@pytest.mark.long
def test_directory_in_a_bucket_gives_what_the_local_one_gives(
    server: S3Server, real_directory: Fixture
) -> None:
    """Tables, the tree, the history and a check are the same, row for row."""
    local = metashell.open(real_directory.input)
    there = metashell.open(server.uri(quote(METADATA)), engine="local")
    assert "s3://bucket/backups/node%201/__cluster_metadata-0" == there.path
    for table in ("topics", "partitions", "brokers", "configs"):
        assert local.table(table).equals(there.table(table))
    for line in ("find /", "cat /image/provenance", "log --json", "stats --json", "history"):
        assert run_on(local, line).out == run_on(there, line).out
    assert local.at(1000).table("partitions").equals(there.at(1000).table("partitions"))
    assert [str(fault) for fault in local.faults] == [str(fault) for fault in there.faults]
    assert run_on(local, "check --json").out == run_on(there, "check --json").out


def test_log_dir_and_what_stands_beside_the_log(server: S3Server, real_directory: Fixture) -> None:
    """The log dir opens as its log, and meta.properties and quorum-state are read."""
    local = metashell.open(real_directory.directory)
    there = metashell.open(server.uri(quote(NODE)), engine="local")
    assert there.path.endswith("/__cluster_metadata-0")
    assert None not in (there.cluster_id, there.node_id)
    assert (local.cluster_id, local.node_id) == (there.cluster_id, there.node_id)
    assert local.leaders == there.leaders
    assert run_on(local, "find /quorum").out == run_on(there, "find /quorum").out


def test_requests(server: S3Server) -> None:
    """A directory is listed once, and a file that is read is opened and read once."""
    for place, n_listings in ((METADATA, 1), (NODE, 2)):
        before = len(server.requests())
        source = metashell.open(server.uri(quote(place)))
        assert "4.4" in source.cat("/image/features/metadataVersion")
        made = server.requests()[before:]
        files = [request for request in made if "list-type" not in request]
        read = {file.name for file in source.log.loaded.files}
        assert sorted(f"{verb} {name}" for verb in ("GET", "HEAD") for name in read) == sorted(
            f"{file.split()[0]} {file.rpartition('/')[2].rstrip('?')}" for file in files
        )
        assert n_listings == len(made) - len(files)


def test_one_file_in_a_bucket(server: S3Server, real_directory: Fixture) -> None:
    """A segment or a checkpoint is opened by itself."""
    for path in (*real_directory.input.glob("*.checkpoint"), *real_directory.input.glob("*9.log")):
        local = metashell.open_file(path)
        there = metashell.open_file(server.uri(quote(f"{METADATA}/{path.name}")))
        assert local.table("topics").equals(there.table("topics"))
        assert path.name == there.name


def test_pattern_over_a_bucket(server: S3Server) -> None:
    """Each directory that matches can be opened; a file or an empty prefix is none."""
    found = expand(server.uri("backups/*/__cluster_metadata-0"))
    assert [
        "s3://bucket/backups/node%201/__cluster_metadata-0",
        "s3://bucket/backups/node%202/__cluster_metadata-0",
    ] == [shown(uri) for uri in found]
    assert [shown(uri) for uri in found] == [
        metashell.open(uri, engine="local").path for uri in found
    ]
    assert 3 == len(expand(server.uri("{backups,other}/*")))
    with pytest.raises(SourceError, match=r"s3://bucket/backups/\*/none: no directory matches"):
        expand(server.uri("backups/*/none"))


def test_what_is_written_later_is_found(server: S3Server, real_directory: Fixture) -> None:
    """A source is read again when its directory changed, and only then."""
    server.upload(real_directory.directory, "growing")
    source = metashell.open(server.uri("growing"), engine="local")
    assert source.refreshed() is source
    last = sorted(real_directory.input.glob("*.log"))[-1]
    cut = last.read_bytes()[:-1]
    server.put(f"growing/__cluster_metadata-0/{last.name}", cut)
    newer = source.refreshed()
    assert newer is not source
    assert newer.faults


def test_endpoint_and_region_of_the_surroundings(
    server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain URI is enough where the environment says the rest."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{server.endpoint}")
    assert metashell.open(f"s3://bucket/{quote(NODE)}", engine="local").cluster_id


# Files that vanish.


class _Vanishing:
    """Deletes a file between the listing and its opening, a number of times."""

    def __init__(self, server: S3Server, key: str, content: bytes, times: int) -> None:
        self._server, self._key, self._content, self._times = server, key, content, times
        self._list = directory.list_directory

    def __call__(self, place: Place) -> DirectoryState:
        if self._times:
            self._server.put(self._key, self._content)
        state = self._list(place)
        self._server.delete(self._key)
        self._times -= 1
        return state


@pytest.mark.parametrize("times", [1, 100])
def test_file_that_vanishes_between_listing_and_opening(
    times: int,
    server: S3Server,
    real_directory: Fixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The directory is listed again, but not for ever."""
    prefix = f"vanishing-{times}"
    server.upload(real_directory.directory, prefix)
    place = directory.find_metadata_directory(server.uri(prefix))
    assert not isinstance(place, str)
    key = f"{prefix}/__cluster_metadata-0/{99999:020}-0000000009.checkpoint"
    monkeypatch.setattr(directory, "list_directory", _Vanishing(server, key, b"x", times))
    if times == 1:
        assert not directory.read_directory(place).faults
    else:
        with pytest.raises(SourceError, match="its files keep vanishing"):
            directory.read_directory(place)


def test_directory_that_vanishes(server: S3Server, real_directory: Fixture) -> None:
    """A source whose directory is gone says so when it is asked for news."""
    log = min(real_directory.input.glob("*.log"))
    server.put("gone/x/00000000000000000000.log", log.read_bytes())
    source = metashell.open(server.uri("gone/x"), engine="local")
    server.delete("gone/x/00000000000000000000.log")
    with pytest.raises(SourceError, match="s3://bucket/gone/x: No such file or directory"):
        source.refreshed()


# What goes wrong.


def _error(uri: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        metashell.open(uri, engine="local")
    assert "\n" not in caught.value.message
    return caught.value


def test_missing_bucket_and_directory(server: S3Server) -> None:
    """What is not there is named."""
    assert "s3://nowhere/x: no such bucket" == _error(server.uri("x", bucket="nowhere")).message
    assert "s3://bucket/x/y: No such file or directory" == _error(server.uri("x/y")).message
    assert (
        "s3://bucket/backups/README: not a directory"
        == _error(server.uri("backups/README")).message
    )


def test_credentials(stored: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong ones, none, a wrong secret and the right ones are told apart."""
    with stored.guarded() as environment:
        error = _error(stored.uri(quote(NODE)))
        assert "s3://bucket/backups/node%201: access denied, and no credentials were found" == (
            error.message
        )
        assert "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile" in str(error.hint)

        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        connecting.connected.cache_clear()
        assert metashell.open(stored.uri(quote(NODE)), engine="local").cluster_id

        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            connecting.connected.cache_clear()
            monkeypatch.setenv(name, "WRONG")
            error = _error(stored.uri(quote(NODE)))
            assert "the store refuses the credentials given" in error.message
            assert "WRONG" not in f"{error.message} {error.hint}"
            monkeypatch.setenv(name, environment[name])


def test_credentials_in_the_uri(stored: S3Server) -> None:
    """A URI may hold them, before the host or in its query."""
    with stored.guarded() as environment:
        key, secret = environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"]
        plain = stored.uri(quote(NODE))
        before = plain.replace("s3://", f"s3://{key}:{quote(secret, safe='')}@")
        behind = stored.uri(quote(NODE), access_key=key, secret_key=secret)
        for uri in (before, behind):
            source = metashell.open(uri, engine="local")
            assert "s3://bucket/backups/node%201/__cluster_metadata-0" == source.path
            assert source.cluster_id
            assert source.refreshed() is source


def _secretive(uri: str) -> list[str]:
    """That URI with credentials that are wrong, in both forms."""
    secret = quote(SECRET, safe="")
    return [
        uri.replace("s3://", f"s3://{KEY_ID}:{secret}@"),
        f"{uri}&access_key={KEY_ID}&secret_key={secret}",
    ]


def _assert_secret(*texts: str | None) -> None:
    for text in texts:
        for secret in (SECRET, KEY_ID, quote(SECRET, safe=""), quote(SECRET)):
            assert secret not in (text or "")


@pytest.mark.slow
@pytest.mark.parametrize("form", [0, 1])
def test_secrets_of_a_uri_are_in_no_output(stored: S3Server, form: int) -> None:
    """Not where it opens, and not where that fails for any reason."""
    uri = _secretive(stored.uri(quote(NODE)))[form]
    source = metashell.open(uri, engine="local")
    texts = [source.path, source.name, repr(source), repr(source.log.place)]
    texts += [str(source.log.path_of("x")), repr(source.log.path_of("x")), repr(source.log)]
    texts += [run_on(source, line).out for line in ("find /local", "stats", "check")]
    _assert_secret(*texts, str(signature(source.log.place)))
    failing = [
        _secretive(stored.uri("none"))[form],
        _secretive(stored.uri("x", bucket="nowhere"))[form],
        _secretive(stored.uri("backups/README"))[form],
        _secretive(stored.uri("x", nothing="y"))[form],
        uri.replace(stored.endpoint.replace(":", "%3A"), "127.0.0.1%3A1"),
    ]
    with stored.guarded():
        error = _error(uri)
        _assert_secret(error.message, error.hint)
    for one in failing:
        error = _error(one)
        _assert_secret(error.message, error.hint, repr(error.__cause__))


@pytest.mark.slow
def test_program_on_a_uri(server: S3Server) -> None:
    """`-d URI` and `-s URI` reach the store, and nothing that is printed holds a secret."""
    uri = _secretive(server.uri(quote(NODE)))[0]
    listed = _run("--engine", "local", "-d", uri, "ls", "/image")
    assert (0, "") == (listed.returncode, listed.stderr)
    assert "topics" in listed.stdout
    refused = _run("--engine", "local", "-d", _secretive(server.uri("none"))[1], "ls")
    assert 3 == refused.returncode
    assert "s3://bucket/none: No such file or directory" in refused.stderr
    alone = _run(uri, "ls")
    assert 2 == alone.returncode
    assert "is a URI, not a command" in alone.stderr
    _assert_secret(*(text for run in (listed, refused, alone) for text in (run.stdout, run.stderr)))


def test_prompt_names_the_parent(server: S3Server) -> None:
    """A prompt has the directory's name, nothing else of the URI."""
    from metashell.cli.sources import prompt_name
    from metashell.sources.request import Choice

    uri = _secretive(server.uri(quote(METADATA)))[0]
    source: Source = metashell.open(uri, engine="local")
    assert "node%201" == prompt_name(Choice(uri), source)


def test_closed_port_is_said_in_bounded_time(server: S3Server) -> None:
    """Nobody listens: the endpoint is named, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
        error = _error(server.uri("x", endpoint_override=endpoint))
    assert "s3://bucket/x: the store can't be reached" in error.message
    assert endpoint in error.message
    assert "endpoint_override=HOST:PORT" in str(error.hint)


def test_silent_server_is_given_up(server: S3Server) -> None:
    """A server that takes connections and says nothing is not waited for without end."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"127.0.0.1:{silent.getsockname()[1]}"
        error = _error(server.uri("x", endpoint_override=endpoint, request_timeout="1"))
    assert "the store can't be reached" in error.message
