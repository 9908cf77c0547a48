"""The facts about one directory of a fleet, as plain dicts.

Each function takes a place and how to read it. It never raises for trouble with the place: the dict
then has that as ``error``. So it can run in another process, or on another machine, and one bad
directory is one bad row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.answers.health import Health
from metashell.checks.agreement import BASE, Epochs, LogFacts, batches_of, between, block_digests
from metashell.checks.digest import image_digest, part_digests, without_orphans
from metashell.checks.quorum_findings import node_file_faults, read_node_files
from metashell.checks.votes import OffsetAndEpoch, is_cut_off, log_end, segment_ends
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.image.quorum_members import QuorumMember, known_voters, voter_sets
from metashell.log.fault import Fault, FaultKind
from metashell.log.names import Listing, SegmentName, parse_name
from metashell.log.read import load
from metashell.places.place import file_in
from metashell.places.uri import shown
from metashell.places.vanished import VanishedError
from metashell.schema.dump import to_json
from metashell.sources.fleet.member import FIELDS, FleetRow, error_fields
from metashell.sources.fleet.reading import Reading

if TYPE_CHECKING:
    from metashell.sources.source import Source

END_FIELDS: Final = (
    "clusterId",
    "offset",
    "lowOffset",
    "firstOffset",
    "oldestOffset",
    "endOffset",
    "epochs",
)
"""Keys of `last_offset`: ``offset`` is that of the last record that its image holds, ``lowOffset``
the first whose state its files can show.

Its log is compared from ``firstOffset`` on, from ``oldestOffset`` on where segments are read that
the state needs no more (None: no batch is there), up to ``endOffset``. ``epochs`` has ranges of
offsets and their leader epochs, ``first,last,epoch`` separated by spaces
(`metashell.checks.agreement.Epochs`).
"""

VOTE_FIELDS: Final = (
    "clusterId",
    "nodeId",
    "directoryId",
    "logEpoch",
    "logEndOffset",
    "fileEndOffset",
    "mayEndEpoch",
    "voters",
    "fault",
    "ownFile",
    "epoch",
    "epochs",
    "voterSets",
    "logStart",
    "checkpoints",
    "checkpointEnd",
    "endpoints",
)
"""Keys of `vote_facts`: ``voters`` are those of the log's latest voter set, ``id,directoryId``
separated by spaces, without a directory id in a static quorum. ``fault`` is the first damage of the
files, ``ownFile`` the first trouble with a file that the node needs to vote once.

The log ends before damage of its segments, or at its newest whole checkpoint if that ends later.
``fileEndOffset`` is the end of the segments all the same, None without damage of them, and
``mayEndEpoch`` the epoch there if the node may keep what is behind the damage.

``epoch`` is the leader epoch of quorum-state, ``epochs`` as in `END_FIELDS` but of the whole log.
``voterSets`` has each voter set of the log as ``voters`` has the latest, with the offset from which
it is in force and a colon in front, separated by semicolons. ``logStart`` is the first offset of a
segment, ``checkpointEnd`` the end offset of the newest of the ``checkpoints``. ``endpoints`` has
JSON: the endpoints of the voters, by their ids.
"""

CHECKSUM_FIELDS: Final = ("offset", "epoch", "checksum", "withoutOrphans", "orphans", "error")
"""Keys of `checksum_of`, and ``error``: ``withoutOrphans`` is the digest without configs of
topics that do not exist, of which there are ``orphans``."""

COMPARED_FIELDS: Final = ("blocks", "batches", *CHECKSUM_FIELDS)
"""Keys of `compared`, besides ``directory``."""


def fleet_row(place: str, reading: Reading) -> FleetRow:
    """Tell of a directory what it holds: the keys are `FIELDS`.

    ``offline``, ``underMinIsr`` and ``underReplicated`` count the partitions in states of
    `metashell.answers.health`; ``logEpoch`` and ``logEndOffset`` are the end of the log as a vote
    compares it, also if an earlier state is shown; ``faults`` are those of its files and records
    and of the node's own files, a torn tail aside, and ``fault`` is the first of them; ``error`` is
    why it can't be read, and then None stands for all that is not known.
    """
    return _told(place, reading, row_of, FIELDS)


def cluster_id_of(source: Source) -> str | None:
    """The cluster's id; None also where the file that tells it can't be used."""
    with suppress(SourceError):
        return source.cluster_id
    return None


def row_of(source: Source) -> FleetRow:
    """The `fleet_row` of an opened source, without ``directory`` and ``error``."""
    image = source.image
    health = Health(image)
    found = [*source.all_faults(), *node_file_faults(source.metadata_directory)]
    faults = [str(fault) for fault in found if fault.kind is not FaultKind.TORN]
    node_id = None
    with suppress(SourceError):
        node_id = source.node_id
    n_faults = len(faults) + image.records.faults_left_out
    status = source.status()
    return {
        "clusterId": cluster_id_of(source),
        "nodeId": node_id,
        "brokers": len(image.brokers),
        "fenced": int(np.count_nonzero(image.brokers.fenced)),
        "topics": len(image.topics),
        "partitions": len(image.partitions),
        "offline": int(np.count_nonzero(health.offline)),
        "underMinIsr": int(np.count_nonzero(health.under_min_isr)),
        "underReplicated": int(np.count_nonzero(health.under_replicated)),
        "metadataVersion": status.metadata_version,
        "offset": status.offset,
        **_end_fields(source),
        "timestamp": status.timestamp_ms,
        "faults": n_faults,
        "fault": faults[0] if faults else None,
    }


def log_end_of(source: Source) -> OffsetAndEpoch | None:
    """Where the whole log of a directory ends, also if an earlier state of it is shown.

    None of a quorum and of a file alone, and if segments are left out.
    """
    if source.live is not None or source.log.is_file or source.settings.committed_only:
        return None
    newest = source.newest
    _ = newest.image  # Only then a reduced log knows where its files end.
    return log_end(newest.log.listing, segment_ends(newest.log.loaded.files))


def _end_fields(source: Source) -> FleetRow:
    end = log_end_of(source)
    return {
        "logEpoch": None if end is None else end.epoch,
        "logEndOffset": None if end is None else end.offset,
    }


def vote_facts(place: str, reading: Reading) -> FleetRow:
    """The facts that decide how a directory's node votes: the keys are `VOTE_FIELDS`."""
    return _told(place, reading, vote_facts_of, ("directory", *VOTE_FIELDS, "error"))


def vote_facts_of(source: Source) -> FleetRow:
    """The `vote_facts` of an opened source, without ``directory`` and ``error``."""
    newest, directory = source.newest, source.metadata_directory
    beside = None if directory is None else read_node_files(directory)  # None for a file alone.
    state = None if beside is None else beside.state
    static = () if state is None else state.current_voters or ()
    lost = [] if beside is None else beside.lost
    properties = source.meta_properties
    records, listing = newest.image.records, newest.log.listing
    facts = LogFacts.of(records, listing, directory, whole=True)
    faults = _damage(newest)
    bad = {fault.file for fault in faults}
    listing = replace(
        listing, checkpoints=tuple(c for c in listing.checkpoints if c.name not in bad)
    )
    voters = known_voters(newest.image, static)
    # An older set was in force before the oldest one that the files have; it counts there too.
    sets = [(offset if i else 0, known) for i, (offset, known) in enumerate(voter_sets(records))]
    return {
        "clusterId": cluster_id_of(source),
        "nodeId": None if properties is None else properties.node_id,
        "directoryId": None if properties is None else properties.directory_id,
        **_end_fields(source),
        **_recovered(log_end_of(source), listing, facts.epochs, faults),
        "voters": _voter_words(voters),
        "fault": str(faults[0]) if faults else None,
        "ownFile": f"{lost[0].file}: {lost[0].message}" if lost else None,
        "epoch": None if state is None else state.leader_epoch,
        "epochs": _epoch_words(facts),
        "voterSets": ";".join(
            f"{offset}:{_voter_words(known)}" for offset, known in sets or [(0, voters)]
        ),
        "logStart": min((segment.base_offset for segment in listing.segments), default=None),
        "checkpoints": sum(not checkpoint.is_bootstrap for checkpoint in listing.checkpoints),
        "checkpointEnd": max((c.end_offset for c in listing.checkpoints), default=0),
        "endpoints": to_json({str(v.id): list(v.endpoints or ()) for v in voters}),
    }


def _damage(source: Source) -> list[Fault]:
    """The damage of the files of a log, also of segments that the state needs no more."""
    log = source.log
    read = {file.name for file in log.loaded.files}
    faults = []
    for segment in () if log.is_file or source.live is not None else log.listing.segments:
        if segment.name not in read:
            with suppress(VanishedError):
                faults += load([file_in(log.place, segment.name)]).faults
    return [fault for fault in (*faults, *log.faults) if fault.kind is not FaultKind.TORN]


def _recovered(
    end: OffsetAndEpoch | None, listing: Listing, epochs: Epochs, faults: Sequence[Fault]
) -> FleetRow:
    """The fields of the end of a log that damage changes.

    Args:
        end: The end of the log if damage changes nothing.
        listing: Its names, without checkpoints that are damaged.
        epochs: Its epochs.
        faults: Its damage.
    """
    found = [fault for fault in faults if isinstance(parse_name(fault.file or ""), SegmentName)]
    if end is None or not found:
        return {"fileEndOffset": None, "mayEndEpoch": None}
    first = min(found, key=lambda fault: fault.offset or 0)
    cut = first.offset or 0
    epoch = epochs.at(cut - 1)
    kept = log_end(listing, () if epoch is None else [OffsetAndEpoch(epoch, cut)])
    return {
        "logEpoch": kept.epoch,
        "logEndOffset": kept.offset,
        "fileEndOffset": end.offset,
        "mayEndEpoch": None if is_cut_off(first) else end.epoch,
    }


def _voter_words(voters: Sequence[QuorumMember]) -> str:
    return " ".join(f"{voter.id},{voter.directory_id or ''}" for voter in voters)


def _epoch_words(facts: LogFacts) -> str:
    return " ".join(f"{first},{last},{epoch}" for first, last, epoch in facts.epochs.ranges)


def last_offset(place: str, reading: Reading) -> FleetRow:
    """Where a directory ends, and what its log can be compared by: the keys are `END_FIELDS`."""
    return _told(place, reading, last_offset_of, ("directory", *END_FIELDS, "error"))


def last_offset_of(source: Source) -> FleetRow:
    """The `last_offset` of an opened source, without ``directory`` and ``error``."""
    listing, offset = source.log.listing, source.status().offset
    facts = LogFacts.of(
        source.image.records,
        listing,
        source.metadata_directory,
        offset=-1 if offset is None else offset,
    )
    first = oldest = None
    if len(facts.batches):
        first = int(facts.batches[0, BASE])
        oldest = min((s.base_offset for s in listing.segments), default=first)
    return {
        "clusterId": cluster_id_of(source),
        "offset": offset,
        "lowOffset": source.history.range()[0],
        "firstOffset": first,
        "oldestOffset": oldest,
        "endOffset": facts.end,
        "epochs": _epoch_words(facts),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedQuery:
    """The parts of a directory that are compared with others."""

    blocks: tuple[tuple[int, int], ...] = ()
    """Ranges of offsets, both ends included, of which digests of the batches are wanted."""
    window: tuple[int, int] | None = None
    """A range of which the batches themselves are."""
    offset: int | None = None
    """The offset after which the state's digest is."""


def compared(place: str, reading: Reading, wanted: ComparedQuery) -> FleetRow:
    """The compared parts of a directory: the keys are `COMPARED_FIELDS`.

    ``blocks`` has the digests of a range as words, the ranges separated by commas; ``batches`` the
    bytes of int64[n, 4] as hex (`metashell.checks.agreement.batches_of`). ``error`` says so where
    the files do not cover the offset.
    """
    keys = ("directory", *COMPARED_FIELDS)
    return _told(place, reading, lambda source: compared_of(source, wanted), keys)


def compared_of(source: Source, wanted: ComparedQuery) -> FleetRow:
    """The `compared` parts of an opened source, without ``directory``."""
    records = source.image.records
    batches = batches_of(records.loaded, records.frames, records.before)
    ranges = [*wanted.blocks, *([wanted.window] if wanted.window else [])]
    first = int(batches[0, BASE]) if len(batches) else None
    if ranges and (first is None or min(a for a, _ in ranges) < first):
        # Segments that the state needs no more.
        records = source.history_records
        batches = batches_of(records.loaded, records.frames, records.before)
    row: FleetRow = dict.fromkeys(COMPARED_FIELDS)
    row["blocks"] = ",".join(" ".join(block_digests(batches, a, b)) for a, b in wanted.blocks)
    if wanted.window is not None:
        row["batches"] = between(batches, *wanted.window).tobytes().hex()
    if wanted.offset is not None:
        try:
            row.update(checksum_of(source, wanted.offset))
        except MetashellError as error:
            row["error"] = error.message
    return row


def checksum_of(source: Source, offset: int) -> FleetRow:
    """The digest of a source's state after an offset, as ``checksum --at`` prints it.

    ``error`` is not in it.

    Raises:
        MetashellError: Its files do not cover the offset, or it lies inside a batch.
    """
    there = source if source.status().offset == offset else source.at(offset)
    last = there.image.provenance
    if last.offset != offset:
        notes = "; ".join(there.moment_notes)
        raise MetashellError(notes or f"the state at offset {offset} is not in its files")
    parts = part_digests(there.image, there.redaction)
    sound, n_orphans = without_orphans(there.image, parts, there.redaction)
    return {
        "offset": last.offset,
        "epoch": last.epoch,
        "checksum": image_digest(parts),
        "withoutOrphans": image_digest(sound),
        "orphans": n_orphans,
    }


def _told(
    place: str, reading: Reading, tell: Callable[[Source], FleetRow], keys: tuple[str, ...]
) -> FleetRow:
    directory: str | None = None
    try:
        directory = shown(place)
        found = tell(reading.open(place))
    except Exception as error:  # whatever is wrong with one is no reason to lose the others
        return {**dict.fromkeys(keys), "directory": directory, **error_fields(error)}
    row = {"error": None, **found, "directory": directory}
    return {key: row[key] for key in keys}
