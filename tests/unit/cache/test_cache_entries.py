"""When what is kept of a directory counts, and when it does not."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import metashell
from metashell.cache import open_cached, store
from metashell.cache.place import cache_directory
from metashell.errors import SourceError
from metashell.image.condensing import CondensedLog, Condensing, condense_directory
from metashell.image.configs import resource_type_name
from metashell.image.image import Image
from metashell.log.places import place_of
from metashell.log.read import load
from metashell.log.splits import plan_splits
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


SECRET_TYPES = ("UserScramCredentialRecord", "DelegationTokenRecord", "ConfigRecord")


# Hits.


def test_nothing_is_read_again(directory: Path) -> None:
    """Of files that did not change nothing has to be condensed."""
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


@pytest.mark.parametrize(
    "change",
    [
        _touch,
        _longer,
        _shorter,
        _other_content,
        _replaced,
        _gone,
        _new_checkpoint,
        _rewritten_end,
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
    assert open_cached(str(directory), schemas=[tmp_path / "schemas"]) is None


def test_newer_file_than_condensed_is_not_kept(directory: Path) -> None:
    """A directory that moved on while it was condensed is not taken for what was read."""
    plan = plan_splits(str(directory))
    how = Condensing.of_plan(plan, show_secrets=False)
    log = condense_directory(plan, how)
    _new_checkpoint(directory)
    assert not store(str(directory), log, how)


# What is on the disk.


def test_only_the_owner_may_read(directory: Path, cache: Path) -> None:
    """Directories have mode 0700, files 0600."""
    assert keep(directory)
    for path in (cache, *cache.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_open_directory_of_others_is_not_used(directory: Path, cache: Path) -> None:
    """An entry that others could have written counts for nothing."""
    assert keep(directory)
    entry(cache).chmod(0o777)
    assert open_cached(str(directory)) is None


@pytest.mark.parametrize("name", ["all-records-dir", "real-44-admin"])
def test_no_secret_is_on_the_disk(name: str, tmp_path: Path, cache: Path) -> None:
    """No key of a credential, value of a secret config or token stands in any file."""
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
    rows, _ = records.columns("DelegationTokenRecord")
    secrets += [records.raw(row) for row in rows.tolist()]
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
    """What was condensed with secrets, or with every record, is not kept."""
    plan = plan_splits(str(directory))
    how = Condensing.of_plan(plan, show_secrets=True)
    assert not store(str(directory), condense_directory(plan, how), how)
    how = replace(how, show_secrets=False, merges=False)
    assert not store(str(directory), condense_directory(plan, how), how)


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
        assert isinstance(log, CondensedLog)
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
    monkeypatch.setattr("metashell.cache.groups._CHECKED_BYTES", 0)
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


def test_directory_in_a_store(s3: S3Server, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """A place in a store is kept by its URI, without the credentials to open it by."""
    s3.give_credentials(monkeypatch)
    local = fixture(FIXTURE).input
    s3.upload(local.parent, "cache/node")
    place = place_of(s3.uri("cache/node/__cluster_metadata-0"))
    plan = plan_splits(place)
    how = Condensing.of_plan(plan, show_secrets=False)
    assert store(place, condense_directory(plan, how), how)
    cached = open_cached(place)
    assert cached is not None
    assert cached.plan.splits == ()
    assert_same_nodes(Image(cached.finish().records), metashell.open(local).image)
    assert cached.manifest.place == str(place)


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


def test_two_writers_at_once(directory: Path, cache: Path) -> None:
    """Whoever is last wins, and what is there is whole."""
    with get_context("spawn").Pool(2) as pool:
        assert all(pool.map(_keep, [str(directory)] * 4))
    log = opened(directory)
    assert log is not None
    assert_as_whole(directory, log)


def test_looking_up_imports_nothing(directory: Path) -> None:
    """Where nothing is kept neither numpy nor pyarrow is imported."""
    program = (
        "import sys\nfrom metashell.cache import open_cached\n"
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
