"""What is told of one directory of a fleet, as plain dicts.

Each function takes a place and how to read it, imports what it needs, and never raises for what is
wrong with the place: the dict then has it as ``error``. So they can run in another process, or on
another machine, and one bad directory is one bad row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from metashell.errors import MetashellError
from metashell.fleet.reading import Reading
from metashell.log.uri import shown

if TYPE_CHECKING:
    from metashell.source import Source

Row: TypeAlias = dict[str, str | int | None]

FIELDS: Final = (
    "directory",
    "clusterId",
    "nodeId",
    "brokers",
    "fenced",
    "topics",
    "partitions",
    "offline",
    "underReplicated",
    "metadataVersion",
    "offset",
    "timestamp",
    "faults",
    "fault",
    "error",
)
"""Keys of a `fleet_row`, in order."""


def fleet_row(place: str, reading: Reading) -> Row:
    """Tell of a directory what it holds: the keys are `FIELDS`.

    ``offline`` counts the partitions without a leader, ``underReplicated`` those whose ISR is
    smaller than their replicas; ``faults`` are those of its files and records, a torn tail aside,
    and ``fault`` is the first of them; ``error`` is why it can't be read, and then None stands for
    all that is not known.
    """
    return _told(place, reading, row_of, FIELDS)


def row_of(source: Source) -> Row:
    """The same of an opened source, without ``directory`` and ``error``."""
    import numpy as np

    from metashell.log.fault import FaultKind

    image = source.image
    partitions = image.partitions
    isr, replicas = partitions.list_column("isr"), partitions.list_column("replicas")
    faults = [f for f in source.all_faults() if f.kind is not FaultKind.TORN]
    n_faults = len(faults) + image.records.faults_left_out
    status = source.status()
    return {
        "clusterId": source.cluster_id,
        "nodeId": source.node_id,
        "brokers": len(image.brokers),
        "fenced": int(np.count_nonzero(image.brokers.fenced)),
        "topics": len(image.topics),
        "partitions": len(partitions),
        "offline": int(np.count_nonzero(partitions.leader < 0)),
        "underReplicated": int(np.count_nonzero(isr.counts < replicas.counts)),
        "metadataVersion": status.metadata_version,
        "offset": status.offset,
        "timestamp": status.timestamp_ms,
        "faults": n_faults,
        "fault": str(faults[0]) if faults else None,
    }


def last_offset(place: str, reading: Reading) -> Row:
    """Where a directory ends: ``offset`` is that of the last record that its image holds."""
    return _told(place, reading, last_offset_of, ("directory", "clusterId", "offset", "error"))


def last_offset_of(source: Source) -> Row:
    """The same of an opened source."""
    return {"clusterId": source.cluster_id, "offset": source.status().offset}


def checksum_at(place: str, reading: Reading, offset: int) -> Row:
    """The digest of a directory's state after an offset, as ``checksum`` prints it.

    ``error`` says so where its files do not cover the offset.
    """
    return _told(
        place,
        reading,
        lambda source: checksum_of(source, offset),
        ("directory", "offset", "epoch", "checksum", "error"),
    )


def checksum_of(source: Source, offset: int) -> Row:
    """The same of an opened source.

    Raises:
        MetashellError: Its files do not cover the offset.
    """
    from metashell.image.digest import image_digest, part_digests

    # Up to the record itself: who read less of a batch must not be compared with all of it.
    there = source if source.status().offset == offset else source.at(offset, record=True)
    last = there.image.provenance
    if last.offset != offset:
        raise MetashellError(f"the state at offset {offset} can't be told from its files")
    digest = image_digest(part_digests(there.image, there.redaction))
    return {"offset": last.offset, "epoch": last.epoch, "checksum": digest}


def failed(place: str, reason: str) -> Row:
    """The row of a directory that could not be read."""
    return {**dict.fromkeys(FIELDS), "directory": shown(place), "error": reason}


def why(error: Exception) -> str:
    """What a row says of an error."""
    if isinstance(error, MetashellError):
        return error.message
    if isinstance(error, MemoryError):
        return "it does not fit in memory"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"reading it failed unexpectedly: {type(error).__name__}"


def _told(
    place: str, reading: Reading, tell: Callable[[Source], Row], keys: tuple[str, ...]
) -> Row:
    directory: str | None = None
    try:
        directory = shown(place)
        found = tell(reading.open(place))
    except Exception as error:  # whatever is wrong with one is no reason to lose the others
        return {**dict.fromkeys(keys), "directory": directory, "error": why(error)}
    row = {**found, "directory": directory, "error": None}
    return {key: row[key] for key in keys}
