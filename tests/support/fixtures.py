"""Recorded fixtures: directories of real Kafka nodes, and what Kafka's own classes say of them.

Each fixture is an archive in tests/data and is unpacked when it is first asked for, into a
directory of the run that goes away with it. Preallocated index files are made again as sparse
files. Tests must not change what they get here: `copy_of` gives them a copy of their own.
"""

from __future__ import annotations

import atexit
import fcntl
import gzip
import json
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, cast

import metashell

DATA: Final = Path(__file__).parents[1] / "data"

DEMO: Final = Path(metashell.__file__).parent / "sample"
"""The bundled cluster: what `metashell demo` opens, and what the documents show."""

ALIKE: Final = frozenset(
    {
        "all-records-dir",
        "compressed-gzip",
        "compressed-lz4",
        "compressed-snappy",
        "real-40-dynamic-broker",
        "real-44-admin",
        "real-44-live",
        "real-44-torn",
    }
)
"""Directories with no record type, version or field that the others lack, once batches are decoded:
`differing` leaves them out."""

NODES: Final = ("coordinator-records-44", "node-44")
"""Logs of coordinators, a directory each with what Kafka's classes read in it, and the disks of a
whole cluster, with what its brokers answered."""

ELECTABLE: Final[Mapping[str, Any]] = json.loads((DATA / "voters-electable.json").read_text())
"""Of each set of recorded voters: their ids, (epoch, end) of each log, and for each majority who
can win a vote."""

METADATA_DIRECTORY: Final = "__cluster_metadata-0"

_HOLE_BYTES: Final = 1 << 16
"""Runs of zeros of this length become holes."""

_ROOT: Final = "METASHELL_TEST_ROOT"
"""The variable that names the directory of fixtures to processes of one run."""


@dataclass(frozen=True)
class Golden:
    """What Kafka's classes printed for a fixture; each part is read when asked for."""

    directory: Path

    @cached_property
    def find(self) -> str:
        """Output of Kafka's ``find /``; ends with a line ``!!EXCEPTION`` where it threw."""
        return self._text("find.txt")

    @cached_property
    def find_walk(self) -> str:
        """A plain walk of Kafka's nodes, a path a line, ``\\t!nullChild`` after missing ones."""
        return self._text("find-walk.txt")

    @cached_property
    def tree(self) -> str:
        """Output of Kafka's ``tree /``, with ``!!EXCEPTION`` as in `find`."""
        return self._text("tree.txt")

    @cached_property
    def ls(self) -> Mapping[str, Sequence[str]]:
        """Child names by the directory's path."""
        return cast("Mapping[str, Sequence[str]]", self._json("ls.json"))

    @cached_property
    def cat(self) -> Mapping[str, str]:
        """Texts by the leaf's path, each with the newline that Kafka prints after it."""
        return cast("Mapping[str, str]", self._json("cat.json"))

    @cached_property
    def nodes(self) -> Sequence[Mapping[str, Any]]:
        """Nodes in the order of a walk: ``segments`` and ``text``, ``children`` or neither."""
        return cast("Sequence[Mapping[str, Any]]", self._json("nodes.json"))

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """What was loaded, the last offset, provenance, faults and counts."""
        return cast("Mapping[str, Any]", self._json("meta.json"))

    @property
    def has_tree(self) -> bool:
        """False for fixtures that are only for decoding."""
        return (self.directory / "nodes.json").exists()

    def dump(self) -> list[dict[str, Any]]:
        """Read every record of every file as kafka-dump-log gives it."""
        with gzip.open(self.directory / "dump-log.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def _text(self, name: str) -> str:
        return (self.directory / name).read_bytes().decode()

    def _json(self, name: str) -> Any:
        return json.loads(self._text(name))


@dataclass(frozen=True)
class Fixture:
    """An unpacked fixture."""

    name: str
    directory: Path

    @property
    def golden(self) -> Golden:
        """Kafka's outputs for it."""
        return golden(self.name)

    @property
    def kind(self) -> Literal["directory", "file"]:
        """Whether it was loaded as a whole directory (``-d``) or as one file (``-s``)."""
        return "directory" if (self.directory / METADATA_DIRECTORY).is_dir() else "file"

    @property
    def input(self) -> Path:
        """The metadata directory, or the one file."""
        if self.kind == "directory":
            return self.directory / METADATA_DIRECTORY
        (file,) = (path for path in self.directory.iterdir() if path.is_file())
        return file

    def data_files(self) -> list[Path]:
        """Its segments and checkpoints, also those that a node would ignore."""
        return sorted(
            path
            for path in self.directory.rglob("*")
            if ".log" in path.name or ".check" in path.name
        )


@cache
def fixture_names() -> tuple[str, ...]:
    """Name all fixtures that Kafka's own classes spoke of, each of the quirks as ``quirks/<name>``.

    Directories of voters, those of clusters with their brokers, and what operators reported are
    not among them: ``voters-static-3/voter-1``, ``node-44/controller1``, ``reports/voter-churn``
    and the like are for `fixture_dir` and `copy_of`.
    """
    names: list[str] = []
    for archive in sorted(DATA.glob("*.tar.xz")):
        name = archive.name.removesuffix(".tar.xz")
        if name == "quirks":
            names += [f"quirks/{path.name}" for path in sorted(_unpacked(name).iterdir())]
        elif name not in ("reports", "wire") and not name.startswith(("node-", "voters-", *NODES)):
            names.append(name)
    return tuple(names)


@cache
def tree_fixture_names() -> tuple[str, ...]:
    """Name the fixtures that have golden trees, not records alone."""
    return tuple(name for name in fixture_names() if golden(name).has_tree)


def differing(names: Iterable[str]) -> list[str]:
    """Leave out `ALIKE`, where a case takes long and is not about reading files."""
    return [name for name in names if name not in ALIKE]


@cache
def differing_directories() -> list[str]:
    """Name the directories, without `ALIKE`."""
    return [name for name in differing(fixture_names()) if fixture(name).kind == "directory"]


def fixture_dir(name: str) -> Path:
    """Unpack a fixture, ``wire`` (recorded exchanges) or voters, and return its directory.

    ``shop`` is the bundled cluster, which needs no archive.
    """
    if name == "shop":
        return DEMO
    archive, _, inner = name.partition("/")
    directory = _unpacked(archive) / inner
    if not directory.is_dir():
        raise KeyError(f"no fixture is named {name}")
    return directory


def fixture(name: str) -> Fixture:
    """Unpack a fixture."""
    return Fixture(name, fixture_dir(name))


@cache
def golden(name: str) -> Golden:
    """Return Kafka's outputs for a fixture."""
    return Golden(fixture_dir(name) / "golden")


def copy_of(name: str, destination: Path) -> Path:
    """Copy a fixture, without its golden outputs, for a test that changes it.

    Returns:
        The copy's directory.
    """
    target = destination / name.replace("/", "-")
    ignored = shutil.ignore_patterns("golden")
    shutil.copytree(fixture_dir(name), target, ignore=ignored, copy_function=_copy)
    return target


@cache
def _small() -> Path:
    with _once("small") as is_missing:
        if is_missing:
            return copy_of("real-44-trimmed", _root() / "small")
    return _root() / "small" / "real-44-trimmed"


def _copy(source: str, target: str) -> None:
    with Path(source).open("rb") as packed, Path(target).open("wb") as file:
        _copy_with_holes(packed, file, Path(source).stat().st_size)
    shutil.copystat(source, target)


@cache
def _root() -> Path:
    """The directory of the first process of a run; those that it starts share it."""
    if _ROOT not in os.environ:
        os.environ[_ROOT] = tempfile.mkdtemp(prefix="metashell-fixtures-")
        atexit.register(shutil.rmtree, os.environ[_ROOT], ignore_errors=True)
    return Path(os.environ[_ROOT])


@contextmanager
def _once(name: str) -> Iterator[bool]:
    """Tell whether something is still to be made below the root; other processes wait for it."""
    with (_root() / f".{name}").open("a") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        # Not `tell`: it is where the file ended when it was opened, before the wait.
        yield os.fstat(mark.fileno()).st_size == 0
        mark.write("made")


@cache
def _unpacked(archive_name: str) -> Path:
    archive = DATA / f"{archive_name}.tar.xz"
    if not archive.is_file():
        raise KeyError(f"no fixture is named {archive_name}")
    with _once(archive_name) as is_missing:
        if is_missing:
            _unpack(archive)
    return _root() / archive_name


def _unpack(archive: Path) -> None:
    with lzma.open(archive) as packed, tarfile.open(fileobj=packed, mode="r|") as members:
        for member in members:
            target = _root() / member.name
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                content = members.extractfile(member)
                assert content is not None
                with target.open("wb") as file:
                    _copy_with_holes(content, file, member.size)


def _copy_with_holes(source: Any, target: BinaryIO, size: int) -> None:
    zeros = bytes(_HOLE_BYTES)
    while block := source.read(_HOLE_BYTES):
        if block == zeros:
            target.seek(len(block), 1)
        else:
            target.write(block)
    target.truncate(size)


SAMPLE: Final = _small()
"""A small directory with much in it, for tests that depend on what is in it: ``real-44-trimmed``.

Node 2 of the cluster of which ``real-44-live`` is node 1's: 59 topics, and both brokers are fenced.
"""
