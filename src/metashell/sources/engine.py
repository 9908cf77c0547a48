"""Which engine decodes: this process, or Spark.

``auto`` takes Spark where the master is another machine, or where a directory has more to decode
than the threshold. Everything else is decoded here: on one machine this process and those that it
starts need no session, and less CPU time for each directory.

Knows nothing of PySpark: whether Spark can run here is asked elsewhere, and only where it would be
chosen. Counts bytes from listings and reads no file of a log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, Literal, get_args

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, UsageError
from metashell.log.changed import DirectoryState, ListedFile, list_directory
from metashell.log.extent import LARGEST
from metashell.log.names import METADATA_DIRECTORY, list_names
from metashell.places.uri import is_uri, local_path

EngineName = Literal["auto", "local", "spark"]
ENGINES: Final[tuple[EngineName, ...]] = get_args(EngineName)

THRESHOLD_BYTES: Final = 1_000_000_000
"""The bytes from which on Spark's session is worth its start: about where it is done sooner on four
cores (`spark-fold-*` and `local-fold-2` in docs/benchmarks.md). They take five times as much of
memory here (`checksum`)."""
KEPT_BYTES: Final = 512 << 20
"""Bytes of files of a fleet's opened directories that are kept at the same time; always one
directory."""

_LOCAL_MASTER: Final = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?|local-cluster\[([\d,\s]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The engine options of the user."""

    engine: EngineName = "auto"
    threshold_bytes: int = THRESHOLD_BYTES
    """A directory with more bytes to decode is for Spark."""
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


def why_spark(settings: EngineSettings, bytes_to_decode: int) -> str | None:
    """Why Spark decodes; None where this process does.

    Args:
        settings: The engine options of the user.
        bytes_to_decode: The bytes of the largest directory.
    """
    if settings.engine != "auto":
        return "`--engine spark`" if settings.engine == "spark" else None
    if settings.master is not None and not is_local(settings.master):
        return f"`--master {shown_master(settings.master)}` is not this machine"
    if bytes_to_decode > settings.threshold_bytes:
        return (
            f"{_size(bytes_to_decode)} to decode are more than `--spark-threshold` "
            f"({_size(settings.threshold_bytes)})"
        )
    return None


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


def bytes_to_decode(places: Iterable[str | DirectoryState]) -> int:
    """The bytes that opening the largest of some directories decodes, from their listings.

    A place that can't be listed counts nothing: opening it tells the reason.
    """
    sizes = [0]
    for place in places:
        with suppress(OSError, MetashellError):
            sizes.append(_bytes_to_replay(place))
    return max(sizes)


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


def _size(n_bytes: int) -> str:
    """Such as ``3.1 GB``."""
    value = float(n_bytes)
    units = ("bytes", "kB", "MB", "GB", "TB")
    power = 0
    while value >= 999.5 and power < len(units) - 1:
        value /= 1000
        power += 1
    return "1 byte" if n_bytes == 1 else f"{value:.3g} {units[power]}"
