"""When what is kept of a directory counts, and when it does not."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import metashell
from metashell.errors import SourceError
from metashell.image.image import Image
from metashell.log.changed import list_directory, signature
from metashell.log.read import load
from metashell.log.splits import plan_splits
from metashell.places import user
from metashell.places.place import Place, place_of
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.reduced.log import ReducedLog, Reducing, reduce_directory
from metashell.schema.resource_types import resource_type_name
from metashell.sources.cache import covered
from metashell.sources.cache.entries import EntryDirectory, cache_directory
from metashell.sources.cache.opening import open_cached
from metashell.sources.cache.writing import store
from metashell.sources.cached import open_cached_source
from support.cached import HIDDEN, append, assert_as_whole, assert_same_nodes, keep, opened
from support.fixtures import METADATA_DIRECTORY, copy_of, fixture
from support.s3 import S3Server

FIXTURE = "quota-defaults"
"""It has a checkpoint and segments behind it."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "images"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A copy of the fixture."""
    return copy_of(FIXTURE, tmp_path) / METADATA_DIRECTORY


def checkpoint(directory: Path) -> Path:
    """The newest checkpoint."""
    return max(directory.glob("*.checkpoint"))


def closed_segment(directory: Path) -> Path:
    """A segment that is replayed and has another one behind it."""
    return sorted(directory.glob("*.log"))[-2]


def active_segment(directory: Path) -> Path:
    """The last segment."""
    return max(directory.glob("*.log"))


def entry(cache: Path) -> Path:
    """The only entry."""
    (found,) = cache.iterdir()
    return found


SECRET_TYPES = ("UserScramCredentialRecord", "ConfigRecord")


# Hits.


def test_nothing_is_read_again(directory: Path) -> None:
    """Of files that did not change nothing has to be reduced."""
    assert open_cached(str(directory)) is None
    assert keep(directory)
    cached = open_cached(str(directory))
    assert cached is not None
    assert cached.plan.splits == ()
    assert not cached.is_stale


def test_running_node(directory: Path) -> None:
    """Batches that a node appends between two looks are all that is read."""
    path = active_segment(directory)
    data = path.read_bytes()
    positions = [*load([str(path)]).files[0].chain.positions, len(data)]
    path.write_bytes(data[: positions[1]])
    assert keep(directory)
    for begin, end in pairwise(positions[1:]):
        append(path, data[begin:end])
        cached = open_cached(str(directory))
        assert cached is not None
        assert cached.tail_bytes == end - positions[1]
        log = opened(directory)
        assert log is not None
        assert_as_whole(directory, log)


@pytest.mark.long
def test_half_written_batch(directory: Path) -> None:
    """A torn tail is not kept: once it is whole it counts."""
    path = active_segment(directory)
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    assert keep(directory)
    log = opened(directory)
    assert log is not None
    assert_as_whole(directory, log)
    append(path, data[-5:])
    log = opened(directory)
    assert log is not None
    assert not log.faults
    assert_as_whole(directory, log)


def test_segment_is_rolled(directory: Path) -> None:
    """What was the last segment is closed, and a new one follows."""
    path = active_segment(directory)
    data = path.read_bytes()
    cut = load([str(path)]).files[0].chain.positions[-1]
    path.write_bytes(data[:cut])
    assert keep(directory)
    base = int.from_bytes(data[cut : cut + 8], "big")
    (directory / f"{base:020d}.log").write_bytes(data[cut:])
    log = opened(directory)
    assert log is not None
    assert [split.name for split in log.plan.splits] == [f"{base:020d}.log"]
    assert_as_whole(directory, log)


# Misses.


def _touch(directory: Path) -> None:
    os.utime(closed_segment(directory), ns=(1, 1))


def _longer(directory: Path) -> None:
    append(closed_segment(directory), b"\0")


def _shorter(directory: Path) -> None:
    os.truncate(active_segment(directory), 10)


def _other_content(directory: Path) -> None:
    path = closed_segment(directory)
    data, status = bytearray(path.read_bytes()), path.stat()
    data[20] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _replaced(directory: Path) -> None:
    path = checkpoint(directory)
    status, other = path.stat(), path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(path)


def _flipped(directory: Path) -> None:
    """In the middle of the segment that still grows: no header changes, nor does its size."""
    path = active_segment(directory)
    data = bytearray(path.read_bytes())
    data[66] ^= 1
    with path.open("r+b") as file:
        file.write(data)


def _flipped_and_grown(directory: Path) -> None:
    """Likewise, and a batch behind it: only the bytes themselves tell."""
    _flipped(directory)
    append(active_segment(directory), active_segment(directory).read_bytes())


def _cut_tail(directory: Path) -> None:
    """The file is shorter than it was, which is no growth."""
    path = active_segment(directory)
    os.truncate(path, path.stat().st_size - 1)


def _gone(directory: Path) -> None:
    active_segment(directory).unlink()


def _new_checkpoint(directory: Path) -> None:
    newest = checkpoint(directory)
    name = f"{int(newest.name[:20]) + 1:020d}-0000000099.checkpoint"
    (directory / name).write_bytes(newest.read_bytes())


def _rewritten_end(directory: Path) -> None:
    """As after a truncation: other batches where the last ones were."""
    path = active_segment(directory)
    data = bytearray(path.read_bytes())
    at = load([str(path)]).files[0].chain.positions[-1]
    data[at + 15] ^= 1
    with path.open("r+b") as file:
        file.write(data)


def _other_end(directory: Path) -> None:
    """The last batch of a segment that is closed is another one; size and time are the same."""
    path = closed_segment(directory)
    at, status = load([str(path)]).files[0].chain.positions[-1], path.stat()
    data = bytearray(path.read_bytes())
    data[at + 15] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        _touch,
        _longer,
        _shorter,
        _other_content,
        _replaced,
        _flipped,
        _flipped_and_grown,
        _cut_tail,
        _gone,
        _new_checkpoint,
        _rewritten_end,
        _other_end,
    ],
)
def test_changed_files_are_read_again(directory: Path, change: Callable[[Path], None]) -> None:
    """Each fact that tells a file from what it was is looked at."""
    assert keep(directory)
    change(directory)
    assert open_cached(str(directory)) is None


def test_other_definitions_are_another_entry(directory: Path, tmp_path: Path) -> None:
    """What is kept counts only for the definitions that it was decoded with."""
    (tmp_path / "schemas").mkdir()
    text = (
        '{"apiKey": 900, "type": "metadata", "name": "Vendor", "validVersions": "0", "fields": []}'
    )
    (tmp_path / "schemas" / "Vendor.json").write_text(text)
    assert keep(directory)
    assert open_cached(str(directory), ReadSettings.of(schemas=[tmp_path / "schemas"])) is None


def test_newer_file_than_reduced_is_not_kept(directory: Path) -> None:
    """A directory that moved on while it was reduced is not taken for what was read."""
    plan = plan_splits(str(directory))
    how = Reducing.of_plan(plan)
    log = reduce_directory(plan, how)
    _new_checkpoint(directory)
    assert not store(str(directory), log, how)


# What is on the disk.


def test_only_the_owner_may_read(directory: Path, cache: Path) -> None:
    """Nobody else has any right to a directory or file."""
    assert keep(directory)
    for path in (cache, *cache.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("which", ["entry", "cache"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_open_directory_of_others_is_not_used(
    directory: Path, cache: Path, which: str, mode: int
) -> None:
    """An entry that others could have written counts for nothing."""
    assert keep(directory)
    (entry(cache) if which == "entry" else cache).chmod(mode)
    assert open_cached(str(directory)) is None


@pytest.mark.parametrize("name", ["all-records-dir", "real-44-admin"])
def test_no_secret_is_on_the_disk(name: str, tmp_path: Path, cache: Path) -> None:
    """No key of a credential or value of a secret config stands in any file."""
    directory = copy_of(name, tmp_path / name) / METADATA_DIRECTORY
    assert keep(directory)
    records = metashell.open(directory, show_secrets=True).image.records
    may_hold = [records.registry.by_name[name].api_key for name in SECRET_TYPES]
    kept = b"".join(path.read_bytes() for path in cache.rglob("*") if path.is_file())
    for path in cache.rglob("*.parquet"):
        table = pq.read_table(path)
        table = table.filter(pc.is_in(table["api_key"], pa.array(may_hold, pa.int32())))
        kept += b"".join(table["value"].to_pylist())
    secrets = []
    _, columns = records.columns("UserScramCredentialRecord")
    for field in ("salt", "stored_key", "server_key"):
        secrets += columns.span(field).raws()
    _, columns = records.columns("ConfigRecord")
    for kind, key, value in zip(
        columns.fixed("resource_type").tolist(),
        columns.span("name").texts(),
        columns.span("value").raws(),
        strict=True,
    ):
        if HIDDEN.hides_config(resource_type_name(kind), key):
            secrets.append(value)
    # Short ones may stand anywhere, and the fixture has the same bytes in harmless fields too.
    others = np.flatnonzero(~np.isin(records.frames.api_key, may_hold))
    harmless = b"\0".join(records.raw(row) for row in others.tolist())
    told = [secret for secret in secrets if len(secret or b"") > 5 and secret not in harmless]
    assert len(told) > 2
    assert not [secret for secret in told if secret in kept]


def test_secrets_are_refused(directory: Path) -> None:
    """What was reduced with secrets, or with every record, is not kept."""
    plan = plan_splits(str(directory))
    how = Reducing.of_plan(plan, ReadSettings(show_secrets=True))
    assert not store(str(directory), reduce_directory(plan, how), how)
    how = replace(how, settings=READ_DEFAULTS, merges=False)
    assert not store(str(directory), reduce_directory(plan, how), how)


@pytest.mark.cases(7)
@pytest.mark.parametrize("damage", ["cut", "garbage", "gone", "flipped"])
@pytest.mark.parametrize("which", ["manifest", "partitions", "rest"])
def test_damaged_entry_is_removed(directory: Path, cache: Path, which: str, damage: str) -> None:
    """What is not as it was written is no error: it is removed, and the files are read."""
    assert keep(directory)
    (path,) = entry(cache).glob(f"{which}*")
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "flipped":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :])
    else:
        path.write_bytes(data[:-9] if damage == "cut" else b"\xff" * len(data))
    log = opened(directory)
    if log is not None:
        assert isinstance(log, ReducedLog)
        assert_as_whole(directory, log)
    assert damage == "gone" or not list(cache.iterdir())
    assert keep(directory)
    assert open_cached(str(directory)) is not None


def test_entry_of_another_version_is_removed(directory: Path, cache: Path) -> None:
    """What another version wrote is not looked at any further."""
    assert keep(directory)
    path = entry(cache) / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "format": manifest["format"] - 1}))
    assert open_cached(str(directory)) is None
    assert not list(cache.iterdir())


def test_damage_after_opening(
    directory: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file that is damaged inside is found as it is read: one clear error, once."""
    monkeypatch.setattr("metashell.sources.cache.groups._CHECKED_BYTES", 0)
    assert keep(directory)
    (path,) = entry(cache).glob("partitions*")
    data = bytearray(path.read_bytes())
    data[40:400] = bytes(360)
    path.write_bytes(data)
    log = opened(directory)
    assert log is not None
    with pytest.raises(SourceError, match="damaged"):
        _ = Image(log.records).partitions
    assert open_cached(str(directory)) is None


@pytest.mark.long
def test_removed_while_open(directory: Path, cache: Path) -> None:
    """Who has an entry open goes on reading it when it is removed or renewed."""
    assert keep(directory)
    log = opened(directory)
    assert log is not None
    assert keep(directory)
    assert len(list(entry(cache).glob("partitions*"))) == 1
    for path in entry(cache).iterdir():
        path.unlink()
    assert_as_whole(directory, log)


def test_unwritable_cache(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be written nothing is kept, silently."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "file"))
    assert not keep(directory)
    assert open_cached(str(directory)) is None


@pytest.fixture
def nobody() -> Iterator[Callable[[], None]]:
    """Become a user to whom nothing here belongs, where that can be done; in the end root again."""
    yield lambda: os.seteuid(65_534) if os.getuid() == 0 else None
    os.seteuid(os.getuid())


@pytest.mark.parametrize("path", ["", "images", "entry"])
def test_cache_of_somebody_else(
    directory: Path, cache: Path, path: str, nobody: Callable[[], None]
) -> None:
    """Where one may not look there is no cache; a command goes on without."""
    for parent in [*directory.parents][:-2]:
        parent.chmod(0o755)
    assert keep(directory)
    state = list_directory(str(directory))
    _ = open_cached(str(directory)), open_cached_source(state, ReadSettings())
    closed = {"": cache.parent, "images": cache, "entry": entry(cache)}[path]
    closed.chmod(0)
    nobody()
    source = open_cached_source(state, ReadSettings())
    found = open_cached(str(directory)), source, keep(directory)
    os.seteuid(os.getuid())
    closed.chmod(0o700)
    assert (None, None, False) == found


@pytest.mark.parametrize("where", ["mkdir", "write", "replace", "scandir", "stat"])
@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EROFS, errno.EIO])
def test_cache_that_fails(
    directory: Path, cache: Path, where: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the disk answers, nothing is kept, nothing stays and no command ends."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        if where == "mkdir":
            patched.setattr(Path, "mkdir", fail)
        elif where == "write":
            patched.setattr("metashell.sources.cache.groups.pq.write_table", fail)
        elif where == "replace":
            patched.setattr(Path, "replace", fail)
        elif where == "scandir":
            patched.setattr(Path, "iterdir", fail)
        else:
            patched.setattr(Path, "lstat", fail)
        is_kept = keep(directory)
        assert open_cached(str(directory)) is None or is_kept
        assert open_cached_source(list_directory(str(directory)), ReadSettings()) is None or is_kept
    if not is_kept:
        assert not list(cache.rglob("*.*"))


def test_user_without_a_home(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody says where the cache is there is none, least of all where the user is."""
    monkeypatch.delenv("METASHELL_CACHE_DIR")
    monkeypatch.setattr(user, "user_directory", lambda _: "~/.cache/metashell")
    monkeypatch.chdir(directory)
    before = sorted(directory.iterdir())
    assert cache_directory() is None
    assert not keep(directory)
    assert open_cached_source(list_directory(str(directory)), ReadSettings()) is None
    assert before == sorted(directory.iterdir())


def test_changed_while_it_was_read(directory: Path) -> None:
    """What was read of a file that was changed meanwhile is not kept; of one that grew it is."""
    plan = plan_splits(str(directory))
    how = Reducing.of_plan(plan)
    log = reduce_directory(plan, how)
    before = signature(str(directory))
    append(active_segment(directory), b"more")
    assert store(str(directory), log, how, before=before)
    _flipped(directory)
    assert store(str(directory), log, how, before=before)
    _touch(directory)
    assert not store(str(directory), log, how, before=before)


def keep_in_store(s3: S3Server, monkeypatch: pytest.MonkeyPatch, prefix: str) -> Place:
    """Put a directory into the store and keep what it says; returns its place."""
    s3.give_credentials(monkeypatch)
    s3.upload(fixture(FIXTURE).input.parent, prefix)
    place = place_of(s3.uri(f"{prefix}/{METADATA_DIRECTORY}"))
    plan = plan_splits(place)
    how = Reducing.of_plan(plan)
    assert store(place, reduce_directory(plan, how), how)
    return place


def test_directory_in_a_store(s3: S3Server, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """A place in a store is kept by its URI, without the credentials to open it by."""
    place = keep_in_store(s3, monkeypatch, "cache/node")
    cached = open_cached(place)
    assert cached is not None
    assert cached.plan.splits == ()
    local = metashell.open(fixture(FIXTURE).input)
    assert_same_nodes(Image(cached.finish().records), local.image)
    assert cached.manifest.place == str(place)


def test_a_grown_object_is_not_fetched_for_its_crc(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """In a store the headers vouch for what an entry stands for: all of it would be downloaded."""

    def refuse(*_: object) -> int:
        raise AssertionError("a CRC was computed")

    monkeypatch.setattr(covered, "crc32c", refuse)
    place = keep_in_store(s3, monkeypatch, "cache/grown")
    active = max(fixture(FIXTURE).input.glob("*.log"))
    s3.put(f"cache/grown/{METADATA_DIRECTORY}/{active.name}", active.read_bytes() + b"torn")

    assert open_cached(place) is not None


# How large it may become.


def test_least_recently_used_goes_first(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries are removed until all fit, those first that nobody opened for longest."""
    directories = [copy_of(FIXTURE, tmp_path / str(i)) / METADATA_DIRECTORY for i in range(3)]
    for i, directory in enumerate(directories[:2]):
        assert keep(directory)
        for path in cache.rglob("manifest.json"):
            os.utime(path, ns=(i, i))
    assert open_cached(str(directories[0])) is not None
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    monkeypatch.setenv("METASHELL_CACHE_MAX_BYTES", str(size + 1000))
    assert keep(directories[2])
    kept = [open_cached(str(directory)) is not None for directory in directories]
    assert kept == [True, False, True]


def test_too_large_for_the_cache(
    directory: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that is larger than the cache may be is not kept, and nothing is left of it."""
    monkeypatch.setenv("METASHELL_CACHE_MAX_BYTES", "1000")
    assert not keep(directory)
    assert not list(cache.iterdir())


# Several processes.


def _keep(directory: str) -> bool:
    return keep(directory)


@pytest.mark.slow
def test_two_writers_at_once(directory: Path, cache: Path) -> None:
    """Whoever is last wins, and what is there is whole."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert all(pool.map(_keep, [str(directory)] * 4))
    log = opened(directory)
    assert log is not None
    assert_as_whole(directory, log)


def _write(directory: str, cache: Path, number: int) -> Path:
    """A file that a writer left, of the entry of a directory."""
    path = entry(cache) / f"partitions-{number:024x}.parquet"
    path.write_bytes(b"left")
    path.chmod(0o600)
    return path


def test_leftovers_are_removed_when_it_is_opened(directory: Path, cache: Path) -> None:
    """What writers left goes when somebody opens the entry; what one may be writing stays."""
    assert keep(directory)
    whole = sorted(entry(cache).iterdir())
    old, superseded, running = (_write(str(directory), cache, i) for i in range(3))
    os.utime(old, (1, 1))
    superseded.chmod(0o400)
    assert open_cached(str(directory)) is not None
    assert sorted([*whole, running]) == sorted(entry(cache).iterdir())
    log = opened(directory)
    assert log is not None
    assert_as_whole(directory, log)


def test_leftovers_of_a_first_write(directory: Path, cache: Path) -> None:
    """They go also where no manifest was ever written."""
    assert keep(directory)
    (entry(cache) / "manifest.json").unlink()
    running = _write(str(directory), cache, 1)
    assert open_cached(str(directory)) is None
    assert [running] == list(entry(cache).iterdir())


def test_writers_in_turn_leave_nothing(directory: Path, cache: Path) -> None:
    """Each of many writers that end one after another has its files replaced by the next."""
    names: list[tuple[bytes, list[str]]] = []
    for _ in range(3):
        assert keep(directory)
        manifest = (entry(cache) / "manifest.json").read_bytes()
        groups = json.loads(manifest)["groups"].values()
        names.append((manifest, [group["file"] for group in groups if group["file"]]))
    directory_of = EntryDirectory(entry(cache))
    for manifest, files in names[:2]:
        for name in files:
            with directory_of.create(name) as file:
                file.write(b"written side by side")
        with suppress(FileNotFoundError):
            directory_of.publish(manifest, files)
    assert {"manifest.json", *names[1][1]} == {path.name for path in entry(cache).iterdir()}


def test_files_removed_from_under_a_writer(directory: Path, cache: Path) -> None:
    """A manifest never names what is no longer there."""
    assert keep(directory)
    manifest = (entry(cache) / "manifest.json").read_bytes()
    with pytest.raises(FileNotFoundError):
        EntryDirectory(entry(cache)).publish(b"other", ["rest-gone.parquet"])
    assert manifest == (entry(cache) / "manifest.json").read_bytes()


def test_looking_up_imports_nothing(directory: Path) -> None:
    """Where nothing is kept neither numpy nor pyarrow is imported."""
    program = (
        "import sys\nfrom metashell.sources.cache.opening import open_cached\n"
        f"assert open_cached({str(directory)!r}) is None\n"
        "assert not {'numpy', 'pyarrow'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ})


def test_place_of_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It lies where the platform says unless the user says otherwise."""
    monkeypatch.delenv("METASHELL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert Path(cache_directory()) == tmp_path / "metashell" / "images"
    assert metashell.__name__ in Path(cache_directory()).parts
