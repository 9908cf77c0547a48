"""The logs that a broker loads at its start: rows of them, and files that it can't load.

Each log's directory is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from metashell.checks.finding import Finding
from metashell.errors import SourceError
from metashell.findings.kind import AtStart, Need
from metashell.node_files import epoch_checkpoint, partition_metadata
from metashell.node_files.checkpoint_file import OffsetCheckpoint
from metashell.node_files.log_directory import METADATA_TOPIC, LogDirectory
from metashell.places.bounded_file import read_if_present
from metashell.places.place import child_of
from metashell.places.uri import shown
from metashell.sources.replicas import DIVERGES, replicas_table

if TYPE_CHECKING:
    from metashell.judgement.evidence import Evidence
    from metashell.log.replica_files import ReplicaFiles
    from metashell.node_files.log_name import LogName
    from metashell.places.place import Place

_READ: Final = frozenset({"state", "log_end_offset", DIVERGES})
"""Columns that decide what is read."""
_MOST_FILES: Final = 10
"""Broken files of a log directory that are told one by one: one takes it offline."""
_RESET: Final = {
    OffsetCheckpoint.RECOVERY_POINT: (
        "resetting the recovery checkpoint to 0",
        "it recovers each log from its first segment",
    ),
    OffsetCheckpoint.LOG_START: (
        "resetting to the base offset of the first segment",
        "records that DeleteRecords removed can be read again",
    ),
}
"""Kafka's words about a checkpoint that it resets, and what follows."""
_FAILING: Final = (OffsetCheckpoint.HIGH_WATERMARK, OffsetCheckpoint.CLEANER)
"""Checkpoints that only take the directory offline, the last once the log cleaner reads it."""


class LoadedLogs:
    """The logs of the log directories that can be listed.

    Args:
        evidence: It has the log directories, and the image to compare with.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._of_logs: dict[str, list[Finding]] = {}
        self._failing: dict[str, list[Finding]] = {}
        self.directories = [one for one in evidence.directories if one.fault is None]
        """The directories that can be listed."""
        self.remarks: list[str] = []
        """Sentences about the rows as a whole."""
        self.rows = replicas_table(
            evidence.source,
            self.directories,
            self,
            columns=_READ,
            looks_in=Need.DISKS not in evidence.lacks(),
            image=evidence.image,
            poll=evidence.stop,
            seen=self._seen,
        )
        """The columns of the table ``replicas``, a row a log."""

    def unread(self, text: str) -> None:
        """Warn of a log that can't be read: that is no finding about the cluster."""
        self._evidence.warn(text)

    def remark(self, text: str) -> None:
        """Keep a sentence about the rows."""
        self.remarks.append(text)

    def failing(self, directory: LogDirectory) -> list[Finding]:
        """The files of a listed log directory that are malformed."""
        place = str(directory.place)
        if place not in self._failing:
            self._failing[place] = [*_of_checkpoints(directory), *self._of_logs.get(place, ())]
        return self._failing[place]

    def fails(self, directory: LogDirectory) -> bool:
        """Whether the broker takes a listed log directory offline."""
        return any(one.effect is AtStart.OFFLINE for one in self.failing(directory))

    def _seen(self, directory: LogDirectory, log: LogName, files: ReplicaFiles) -> None:
        if log.topic == METADATA_TOPIC or not self._evidence.starts:
            return
        found = self._of_logs.setdefault(str(directory.place), [])
        if len(found) < _MOST_FILES:
            found += _of_log(directory, files)


def _of_checkpoints(directory: LogDirectory) -> Iterator[Finding]:
    place = shown(str(directory.place))
    for which in OffsetCheckpoint:
        try:
            directory.offsets(which)
        except SourceError as error:
            said = f"Error while reading checkpoint file {child_of(directory.place, which)}"
            if which in _FAILING:
                yield _offline(directory, error.message, said)
                continue
            reset, then = _RESET[which]
            yield Finding(
                "checkpoint-reset",
                f"{place}: {error.message}: the broker goes on, and {then}. It may take the"
                " directory offline",
                subject=f"log directory {place}",
                directory=place,
                kafka=f"{said}\nError occurred while reading {which} file of directory"
                f" {directory.place}, {reset}",
            )


def _of_log(directory: LogDirectory, files: ReplicaFiles) -> Iterator[Finding]:
    """The files of a replica that a broker reads while it loads it."""
    if not files.is_listed:
        yield _offline(directory, f"{files.fault}: a broker that can't read it either", None)
        return
    if files.identity is not None:
        yield from _of_identity(directory, files.place, files.identity)
    if epoch_checkpoint.FILE_NAME not in files.sizes:
        return
    file = child_of(files.place, epoch_checkpoint.FILE_NAME)
    try:
        data = read_if_present(file)
    except SourceError as error:
        yield _offline(directory, f"{error.message}: a broker that can't read it either", None)
        return
    reason = None if data is None else epoch_checkpoint.refusal_of(data, str(file))
    if reason is not None:
        said = f"Error while reading checkpoint file {file}"
        yield _offline(directory, f"{shown(str(file))} can't be used: {reason}", said)


def _of_identity(directory: LogDirectory, log: Place, data: bytes) -> Iterator[Finding]:
    file = child_of(log, partition_metadata.FILE_NAME)
    refusal = partition_metadata.refusal_of(data, str(file))
    if refusal is None:
        return
    text, is_fatal = refusal
    if not is_fatal:
        said = f"Error while reading partition metadata file {file}\n{text}"
        yield _offline(directory, f"{shown(str(file))} is malformed", said)
        return
    place = shown(str(directory.place))
    yield Finding(
        "log-not-loaded",
        f"{shown(str(file))}: it is empty or no topic id: the broker stops with an error that it"
        " does not expect",
        subject=f"log directory {place}",
        directory=place,
        kafka=f"There was an error in one of the threads during logs loading: {text}",
    )


def _offline(directory: LogDirectory, why: str, kafka: str | None) -> Finding:
    place = shown(str(directory.place))
    return Finding(
        "log-dir-fails",
        f"{why}: the broker takes {place} offline",
        subject=f"log directory {place}",
        directory=place,
        kafka=kafka,
    )
