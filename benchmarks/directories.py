"""Directories to measure on, written once and kept.

Owns where they lie and what they are called; what is in them is the business of `kraftgen`. Runs it
in a process of its own, so that this one stays small.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
_GENERATOR: Final = HERE.parent / "tests" / "kraftgen"
"""What makes the directories: the tests make theirs with it, too."""
LOG_DIR: Final = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the made-up clusters are."""

    topics: int = 100_000
    partitions: int = 10
    """Of each topic."""
    changes: int = 1_000_000
    """PartitionChangeRecords after the checkpoint."""
    siblings: int = 1_000_000
    """Topics of the cluster in whose directory names are completed."""
    scalar_records: int = 50_000
    """Records that the scalar decoder is timed on."""
    incident_topics: int = 20_000
    """Topics of each of the clusters whose log grew very long."""
    incident_partitions: int = 10
    incident_changes: int = 21_000_000
    """PartitionChangeRecords of each: 1 GB."""
    split_bytes: int = 0
    """About how many bytes of a log a task of Spark decodes; 0 for the default."""
    java_options: str = ""
    """Of Spark's Java process."""
    one_session: bool = False
    """Whether all figures of Spark share a session, as each takes seconds to start."""
    fleet_directories: int = 40
    fleet_topics: int = 500
    """Of each, with `fleet_changes` after the checkpoint."""
    fleet_changes: int = 2_000
    commits: int = 1_800_000
    """Commits of offsets in a partition of ``__consumer_offsets``: 200 MB."""
    broker_commits: int = 1_000_000
    """In all partitions of a broker."""
    commit_keys: int = 100_000
    """How many different keys the commits have."""
    broker_partitions: int = 50
    voter_topics: int = 1_000
    """Of a cluster that lost its quorum, with `changes` in the log of each voter."""
    disk_topics: int = 1_000
    """Of a broker's disk, with `partitions` replicas each; another has 20 times as many."""
    members: tuple[int, int] = (1_000, 10_000)
    """Of fleets of small directories, whose logs are links to one of 200 KB."""
    member_topics: int = 125
    broker_topics: int = 20
    """Of the metadata log of the broker whose groups are read."""

    @property
    def n_partitions(self) -> int:
        """Partitions in all."""
        return self.topics * self.partitions


SMOKE: Final = Sizes(
    topics=60, partitions=4, changes=500, siblings=800, scalar_records=100,
    incident_topics=40, incident_partitions=4, incident_changes=3_000, split_bytes=64_000,
    # Compiling well what runs for a second costs more than it saves.
    # So does the check of Spark's own classes.
    java_options=(
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    ),
    one_session=True,
    fleet_directories=3, fleet_topics=10, fleet_changes=50, members=(2, 4), member_topics=2,
    commits=3_000, broker_commits=1_500, broker_topics=2, commit_keys=300, broker_partitions=4,
    disk_topics=5, voter_topics=10,
)  # fmt: skip
"""A few kilobytes, to see that everything works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A directory made for a benchmark."""

    log_dir: Path
    """A node's log dir."""

    @property
    def checkpoint(self) -> Path:
        """Its one checkpoint."""
        return self._only("*.checkpoint")

    @property
    def segment(self) -> Path:
        """Its one segment."""
        return self._only("*.log")

    @property
    def size(self) -> int:
        """Bytes of both."""
        return self.checkpoint.stat().st_size + self.segment.stat().st_size

    def _only(self, pattern: str) -> Path:
        (path,) = (self.log_dir / LOG_DIR).glob(pattern)
        return path


class Directories:
    """The directories of one run, below a folder; each is made when first asked for.

    Args:
        folder: Where they are kept.
        sizes: How large they are.
    """

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self._folder, self.sizes = folder, sizes

    def changed(self) -> Cluster:
        """A checkpoint and changes to its partitions after it."""
        sizes = self.sizes
        return self._made(sizes.topics, sizes.partitions, sizes.changes)

    def whole(self) -> Cluster:
        """The checkpoint of `changed` alone."""
        source = self.changed().log_dir
        target = source.with_name(f"{source.name}-checkpoint-only")
        if not target.exists():
            part = _emptied(target)
            (part / LOG_DIR).mkdir(parents=True)
            for path in (*source.glob("meta.properties"), *(source / LOG_DIR).iterdir()):
                if path.suffix not in (".log", ".index", ".timeindex"):
                    os.link(path, part / path.relative_to(source))
            part.rename(target)
        return Cluster(log_dir=target)

    def wide(self) -> Cluster:
        """A checkpoint of very many topics with one partition each."""
        return self._made(self.sizes.siblings, 1, 0)

    def incident(self) -> list[Cluster]:
        """Two clusters of which each had changes without end, and no new checkpoint."""
        sizes = self.sizes
        shape = sizes.incident_topics, sizes.incident_partitions, sizes.incident_changes
        return [self._made(*shape, seed=seed) for seed in (1, 2)]

    def fleet(self) -> list[Cluster]:
        """Many small clusters."""
        sizes = self.sizes
        return [
            self._made(sizes.fleet_topics, sizes.partitions, sizes.fleet_changes, seed=seed)
            for seed in range(1, sizes.fleet_directories + 1)
        ]

    def members(self, n: int) -> Path:
        """A folder with so many directories of different clusters, whose logs are links to one."""
        sizes = self.sizes
        one = self._made(sizes.member_topics, sizes.partitions, sizes.member_topics)
        target = one.log_dir.with_name(f"{one.log_dir.name}-times-{n}")
        if not target.exists():
            part = _emptied(target)
            inner = one.log_dir / LOG_DIR
            files = [path for path in inner.iterdir() if not path.name.endswith("index")]
            for i in range(n):
                own = part / f"c{i:06}"
                (own / LOG_DIR).mkdir(parents=True)
                name = f"version=1\nnode.id=1\ncluster.id=benchmark-{i:012}\n"
                (own / "meta.properties").write_text(name, encoding="utf-8")
                for path in files:
                    os.link(path, own / path.relative_to(one.log_dir))
            part.rename(target)
        return target

    def group_log(self) -> Path:
        """A large partition of ``__consumer_offsets``, and what it comes to."""
        return self._group_logs(1, self.sizes.commits)

    def broker(self) -> Path:
        """A broker's directory: a small metadata log, and all partitions of the topic."""
        sizes = self.sizes
        logs = self._group_logs(sizes.broker_partitions, sizes.broker_commits)
        metadata = self._made(sizes.broker_topics, sizes.partitions, sizes.broker_topics).log_dir
        target = logs.with_name(f"{logs.name}-broker")
        if not target.exists():
            part = _emptied(target)
            for source in (metadata, logs):
                for path in (path for path in source.rglob("*") if path.is_file()):
                    place = part / path.relative_to(source)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    os.link(path, place)
            part.rename(target)
        return target

    def disk(self, topics: int) -> Path:
        """A folder with the log directory of a broker that has a replica of each partition."""
        partitions = self.sizes.partitions
        name = f"disk-{topics}x{partitions}"
        flags = [f"--topics={topics}", f"--partitions={partitions}"]
        return self._scripted("replica_disks.py", name, flags)

    def voters(self) -> list[Path]:
        """The disks of three voters whose logs end at different offsets."""
        sizes = self.sizes
        one = self._made(sizes.voter_topics, sizes.partitions, sizes.changes)
        made = self._scripted("voter_disks.py", f"{one.log_dir.name}-voters", [str(one.log_dir)])
        return sorted(made.glob("voter-*"))

    def _group_logs(self, partitions: int, commits: int) -> Path:
        keys = self.sizes.commit_keys
        name = f"groups-{partitions}-commits-{commits}-keys-{keys}"
        flags = [f"--partitions={partitions}", f"--commits={commits}", f"--keys={keys}"]
        return self._scripted("group_logs.py", name, flags)

    def _scripted(self, script: str, name: str, flags: Sequence[str]) -> Path:
        """A folder that a script beside this one makes."""
        digest = hashlib.sha256((HERE / script).read_bytes()).hexdigest()[:8]
        target = self._folder / f"{name}-{digest}"
        if not target.exists():
            print(f"making {target}", file=sys.stderr)
            part = _emptied(target)
            subprocess.run(
                [sys.executable, str(HERE / script), str(part), *flags],
                check=True,
                env={**os.environ, "PYTHONPATH": python_path()},
            )
            part.rename(target)
        return target

    def cache(self) -> Path:
        """Where decoded images are kept; made by whoever keeps one."""
        return self._folder / "cache"

    def no_cache(self) -> Path:
        """Where none ever is."""
        return self._folder / "no-cache"

    def _made(self, topics: int, partitions: int, changes: int, *, seed: int = 1) -> Cluster:
        shape = f"topics-{topics}x{partitions}-changes-{changes}"
        name = "-".join([shape, *([f"seed-{seed}"] if seed > 1 else []), _generator_digest()])
        target = self._folder / name
        if not target.exists():
            print(f"making {target}", file=sys.stderr)
            part = _emptied(target)
            options = {
                "topics": topics, "partitions": partitions, "changes": changes, "seed": seed,
            }  # fmt: skip
            flags = [f"--{flag}={value}" for flag, value in options.items()]
            subprocess.run(
                [sys.executable, "-m", "kraftgen", str(part), *flags],
                check=True,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": python_path()},
            )
            part.rename(target)
        return Cluster(log_dir=target)


def python_path() -> str:
    """The import path of children: ours before what is set."""
    return os.pathsep.join(
        filter(None, [str(HERE), str(_GENERATOR.parent), os.environ.get("PYTHONPATH")])
    )


def _emptied(target: Path) -> Path:
    """Where a directory is made before it is moved to its place whole."""
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    return part


def _generator_digest() -> str:
    """A digest of the generator's sources: another generator writes other directories."""
    digest = hashlib.sha256()
    for path in sorted(_GENERATOR.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
