"""Which engine decodes: this process, or Spark.

Owns the policy and the measured numbers that it goes by. Knows nothing of PySpark: whether Spark
can run here is asked elsewhere, and only where it would be chosen. Counts bytes from listings and
reads no file of a log.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, get_args

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, UsageError
from metashell.log.changed import DirectoryState, ListedFile, list_directory
from metashell.log.extent import LARGEST
from metashell.log.names import METADATA_DIRECTORY, list_names
from metashell.places.uri import is_uri, local_path

Engine = Literal["local", "spark"]
EngineName = Literal["auto", "local", "spark"]
ENGINES: Final[tuple[EngineName, ...]] = get_args(EngineName)

KEPT_BYTES: Final = 512 << 20
"""Bytes of files of a fleet's opened directories that are kept at the same time; always one
directory."""
_TASKS_PER_CORE: Final = 6
_TASK_BYTES: Final = 64 << 20
"""The bytes of a task, see `metashell.spark_backend.tasks`."""

_LOCAL_MASTER: Final = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?|local-cluster\[([\d,\s]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """The costs of decoding. ``python benchmarks/run.py --coefficients`` measures them, and
    docs/benchmarks.md has the figures that each comes from.
    """

    memory_per_byte: float
    """Bytes of memory for each byte of a log that is decoded whole (`checksum`)."""
    local_seconds_per_byte: float
    """Seconds of one process that makes every table of an image (`local-fold-2`)."""
    local_seconds_per_directory: float
    """Seconds of one core for a directory, its bytes aside (`fleet-local`)."""
    spark_seconds_per_byte: float
    """Seconds of one core of Spark that does likewise (`spark-fold-1`)."""
    spark_seconds_per_directory: float
    """Seconds of one core of Spark for a directory, its bytes aside (`spark-fleet-*`)."""
    spark_seconds_per_task: float
    """Seconds of a task that does nothing (a part of `spark-fleet-9000`)."""
    spark_start_seconds: float
    """Until a session is there (the first part of `spark-start`)."""
    worker_start_seconds: float
    """Seconds of a first query of a small directory, which waits for its Python workers (the rest
    of `spark-start`).
    """


COEFFICIENTS: Final = Coefficients(
    memory_per_byte=5.1,
    local_seconds_per_byte=19.7e-9,
    local_seconds_per_directory=0.021,
    spark_seconds_per_byte=20.5e-9,
    spark_seconds_per_directory=0.034,
    spark_seconds_per_task=0.05,
    spark_start_seconds=7.6,
    worker_start_seconds=7.0,
)
"""Measured on two cores of an AMD EPYC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeLoad:
    """The amount of work to decode."""

    bytes_to_decode: int
    n_directories: int
    is_remote: bool
    """Whether any of it is behind a URI that is not of this machine."""
    largest_bytes: int = 0
    """Bytes of the largest directory."""
    is_in_turn: bool = False
    """Whether this process would decode the directories one after the other."""

    def n_processes(self, n_cores: int) -> int:
        """Processes that would decode it here."""
        return 1 if self.is_in_turn else max(1, min(n_cores, self.n_directories))

    def held_bytes(self, n_cores: int) -> int:
        """About how much of it would be decoded at the same time, here."""
        if self.n_directories <= 1:
            return self.bytes_to_decode
        at_once = max(KEPT_BYTES + self.largest_bytes, n_cores * self.largest_bytes)
        return min(self.bytes_to_decode, at_once)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The engine options of the user."""

    engine: EngineName = "auto"
    threshold_bytes: int | None = None
    """More bytes than that are for Spark."""
    master: str | None = None
    """None for `local[*]`."""
    conf: tuple[tuple[str, str], ...] = ()
    """Spark's own settings; values may be secret and are never shown."""
    use_cache: bool = True

    @classmethod
    def of(cls, engine: str | EngineSettings) -> EngineSettings:
        """Settings, of which a word is the engine.

        Raises:
            UsageError: There is no such engine.
        """
        if isinstance(engine, EngineSettings):
            return engine
        if engine not in ENGINES:
            raise UsageError(f"`{engine}` must be auto, local or spark")
        return cls(engine=engine)

    @property
    def master_url(self) -> str:
        """The master to connect to."""
        return self.master or "local[*]"

    def __repr__(self) -> str:
        """Without the values of `conf` and a token in `master`."""
        keys = ", ".join(key for key, _ in self.conf)
        master = None if self.master is None else shown_master(self.master)
        return f"EngineSettings(engine={self.engine!r}, master={master!r}, conf=[{keys}])"


ENGINE_DEFAULTS: Final = EngineSettings()


@dataclass(frozen=True, slots=True)
class EngineDecision:
    """The engine, and why."""

    engine: Engine
    reason: str = ""
    """The sentence to tell on standard error; empty where there is nothing to tell."""
    falls_back: bool = False
    """Whether Spark would be the engine, and is not to be had."""


def decide(
    load: DecodeLoad,
    settings: EngineSettings,
    *,
    free_bytes: int,
    n_cores: int,
    spark_available: bool,
    coefficients: Coefficients = COEFFICIENTS,
) -> EngineDecision:
    """Choose the engine; the rules stand in the order in which their reasons are told."""
    if settings.engine == "local":
        return EngineDecision("local")
    if settings.engine == "spark":
        return EngineDecision("spark", "using Spark: `--engine spark`")
    why = _why_spark(load, settings, free_bytes, n_cores, coefficients)
    if why is None:
        return EngineDecision("local")
    if spark_available:
        return EngineDecision("spark", f"using Spark: {why}")
    return EngineDecision("local", f"Spark is preferred ({why}), but cannot run", falls_back=True)


def _why_spark(
    load: DecodeLoad,
    settings: EngineSettings,
    free_bytes: int,
    n_cores: int,
    coefficients: Coefficients,
) -> str | None:
    """The first reason for Spark, None where there is none."""
    size = load.bytes_to_decode
    if settings.master is not None and not is_local(settings.master):
        return f"`--master {shown_master(settings.master)}` is not this machine"
    if settings.threshold_bytes is not None and size > settings.threshold_bytes:
        return (
            f"{_size(size)} to decode are more than `--spark-threshold` "
            f"({_size(settings.threshold_bytes)})"
        )
    if load.is_remote:
        return "the source is remote"
    held = load.held_bytes(n_cores)
    memory = round(held * coefficients.memory_per_byte)
    if memory > free_bytes / 2:
        return (
            f"{_size(held)} to decode take about {_size(memory)} of memory, "
            f"{_size(free_bytes)} are free"
        )
    here = _seconds_here(load, n_cores, coefficients)
    there = _seconds_there(load, cores_of(settings.master, n_cores), coefficients)
    if there < here:
        n = load.n_directories
        what = _size(size) if n <= 1 else f"{n} directories with {_size(size)}"
        return f"{what} to decode take about {there:.0f} s with it, {here:.0f} s without"
    return None


def _seconds_here(load: DecodeLoad, n_cores: int, coefficients: Coefficients) -> float:
    """The seconds that decoding takes in this process and those that it starts."""
    work = (
        load.bytes_to_decode * coefficients.local_seconds_per_byte
        + load.n_directories * coefficients.local_seconds_per_directory
    )
    return work / load.n_processes(n_cores)


def _seconds_there(load: DecodeLoad, n_cores: int, coefficients: Coefficients) -> float:
    """The seconds that decoding takes in a session of so many cores, its start included."""
    n_tasks = max(_TASKS_PER_CORE * n_cores, load.bytes_to_decode // _TASK_BYTES)
    work = (
        load.bytes_to_decode * coefficients.spark_seconds_per_byte
        + load.n_directories * coefficients.spark_seconds_per_directory
        + n_tasks * coefficients.spark_seconds_per_task
    )
    start = coefficients.spark_start_seconds + coefficients.worker_start_seconds
    return start + work / n_cores


def is_local(master: str) -> bool:
    """Whether a master runs its executors on this machine."""
    return _LOCAL_MASTER.fullmatch(master) is not None


def cores_of(master: str | None, n_cores: int) -> int:
    """Cores that a master decodes with; those of this machine where it does not say."""
    match = _LOCAL_MASTER.fullmatch(master or "local[*]")
    if match is None or match[1] == "*":
        return max(1, n_cores)
    if match[2] is not None:
        workers, cores, *_ = [int(part) for part in match[2].split(",") if part.strip()] + [1, 1]
        return max(1, workers * cores)
    return max(1, int(match[1] or 1))


def shown_master(master: str) -> str:
    """A master without what may be secret: the token among the parameters of ``sc://``, a user."""
    head, slashes, rest = master.rpartition("://")
    place = rest.partition(";")[0].partition("?")[0].removesuffix("/")
    return f"{head}{slashes}{place.rpartition('@')[2]}"


def measure_load(places: Sequence[str | DirectoryState], *, is_in_turn: bool = False) -> DecodeLoad:
    """Count what opening these places decodes, from their listings.

    A place that can't be listed counts nothing: opening it tells the reason.

    Args:
        places: The directories, or their listings.
        is_in_turn: See `DecodeLoad.is_in_turn`.
    """
    remote = [place for place in places if isinstance(place, str) and is_remote(place)]
    sizes = [0]
    # A remote source is for Spark whatever its size, and listing it takes time.
    for place in [] if remote else places:
        with suppress(OSError, MetashellError):
            sizes.append(_bytes_to_replay(place))
    return DecodeLoad(
        bytes_to_decode=sum(sizes),
        n_directories=len(places),
        is_remote=bool(remote),
        largest_bytes=max(sizes),
        is_in_turn=is_in_turn,
    )


def is_remote(place: str) -> bool:
    """Whether a place is a URI of another machine."""
    return is_uri(place) and local_path(place) is None


def _bytes_to_replay(directory: str | DirectoryState) -> int:
    """Bytes of the newest checkpoint and of the segments from its end on."""
    if isinstance(directory, str):
        path = local_path(directory) or directory
        inner = os.path.join(path, METADATA_DIRECTORY)
        directory = list_directory(inner if os.path.isdir(inner) else path)
    listing = list_names(directory.files)
    newest = max(listing.checkpoints, default=None)
    end = 0 if newest is None else newest.end_offset
    started = [segment for segment in listing.segments if segment.base_offset <= end]
    later = [segment for segment in listing.segments if segment.base_offset > end]
    replayed = [segment.name for segment in (*started[-1:], *later)]
    if newest is not None:
        replayed.append(newest.name)
    return sum(_bytes_read(directory.files[name]) for name in replayed)


def _bytes_read(file: ListedFile) -> int:
    """About how much of a file is read: of one too large to be Kafka's what is no hole."""
    return file.size if file.size <= LARGEST else min(file.allocated, LARGEST)


def core_count() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def free_memory_bytes(root: str = "/") -> int:
    """Memory that can be taken without swapping, within what a container allows.

    Args:
        root: Where ``proc`` and ``sys`` are looked for.
    """
    available = _meminfo(Path(root, "proc/meminfo"))
    if available is None:
        available = _physical()
    limits = [left for left in (_left_v2(Path(root)), _left_v1(Path(root))) if left is not None]
    return max(0, min([available, *limits]))


def _meminfo(file: Path) -> int | None:
    with suppress(OSError, ValueError):
        for line in file.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _physical() -> int:
    """Half of the memory there is, for systems that do not tell what is free."""
    with suppress(OSError, ValueError, AttributeError):
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES")) // 2
    return sys.maxsize


def _left_v2(root: Path) -> int | None:
    """The bytes that the control group and those above it leave, by version 2 of their files."""
    base = root / "sys/fs/cgroup"
    left = [
        remaining
        for group in _groups(root, base, "")
        if (remaining := _left(group / "memory.max", group / "memory.current", group)) is not None
    ]
    return min(left, default=None)


def _left_v1(root: Path) -> int | None:
    """The bytes that they leave by version 1."""
    base = root / "sys/fs/cgroup/memory"
    left = [
        remaining
        for group in _groups(root, base, "memory")
        if (
            remaining := _left(
                group / "memory.limit_in_bytes", group / "memory.usage_in_bytes", group
            )
        )
        is not None
    ]
    return min(left, default=None)


def _groups(root: Path, base: Path, controller: str) -> list[Path]:
    """The directories of this process's group and of those above; inside a container only `base`
    may be there.
    """
    name = ""
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text(errors="replace").splitlines():
            _, controllers, path = (*line.split(":", 2), "", "")[:3]
            if controller in controllers.split(","):
                name = path.strip("/")
    parts = [part for part in name.split("/") if part not in ("", "..")]
    return [base.joinpath(*parts[:n]) for n in range(len(parts), -1, -1)]


def _left(limit: Path, used: Path, group: Path) -> int | None:
    """Limit less use, what the system would give back at once not counted as used."""
    with suppress(OSError, ValueError):
        allowed = int(limit.read_text())  # "max" is no number
        cached = 0
        with suppress(OSError, ValueError):
            for line in (group / "memory.stat").read_text().splitlines():
                key, _, value = line.partition(" ")
                if key in ("inactive_file", "total_inactive_file"):
                    cached = max(cached, int(value))
        return max(0, allowed - max(0, int(used.read_text()) - cached))
    return None


def _size(n_bytes: int) -> str:
    """Such as ``3.1 GB``."""
    value = float(n_bytes)
    units = ("bytes", "kB", "MB", "GB", "TB")
    power = 0
    while value >= 999.5 and power < len(units) - 1:
        value /= 1000
        power += 1
    return "1 byte" if n_bytes == 1 else f"{value:.3g} {units[power]}"
