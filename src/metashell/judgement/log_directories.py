"""``check`` of several log directories: what hinders a node to start, and replicas that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.checks.finding import Finding
from metashell.checks.quorum_findings import MALFORMED
from metashell.errors import SourceError
from metashell.findings.kind import AtStart
from metashell.judgement.node_roles import (
    is_broker,
    knows_roles,
    loaded_directories,
    lost_ids_text,
)
from metashell.node_files.log_directory import read_log_directory
from metashell.node_files.meta_properties import FILE_NAME as META_PROPERTIES
from metashell.node_files.node_directories import (
    Conflict,
    ConflictKind,
    conflicting_identities,
    conflicting_logs,
    conflicts_in,
    group_by_node,
)
from metashell.node_files.partition_metadata import read_partition_metadata
from metashell.places.place import place_of, shown
from metashell.schema.coordinators import CoordinatorLog
from metashell.schema.uuids import parse_uuid

if TYPE_CHECKING:
    from metashell.findings.kind import FindingKind
    from metashell.judgement.evidence import Evidence
    from metashell.sources.coordinator_logs import LogReplica
    from metashell.sources.source import Source

_SEVERAL: Final = 2
_OFFLINE: Final = (
    "a node does not start with it where the metadata log is, and takes any other log dir offline."
    " Copy the file first; then write this log dir's own cluster.id, node.id and directory.id"
)


def find_missing(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find log directories that the node's configuration names and that can't be read."""
    return missing_directories(evidence.source)


def missing_directories(source: Source) -> Iterator[Finding]:
    """The findings about log directories that a configuration names and that can't be read."""
    for error in source.settings.missing_dirs:
        yield Finding(
            "log-directory-missing",
            "the configuration names a log directory, and the node does not start without it:"
            f" {error}",
            subject="log directory",
            command=("check",),
        )


def find_conflicts(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find why a node does not start on its log directories."""
    if not evidence.starts:
        yield from conflicting_directories(evidence.source)
        return
    found = conflicting_identities(evidence.directories)
    if is_broker(evidence):
        logs = conflicting_logs(loaded_directories(evidence))
        found += [one for one in logs if not _sets_aside(evidence, one)]
    # A controller takes no notice of other directories.
    is_sure = knows_roles(evidence)
    for conflict in found:
        is_name = conflict.kind is ConflictKind.NOT_A_LOG and not is_sure
        finding = _of_conflict(conflict, "if the node is a broker: " * is_name)
        if conflict.kind is ConflictKind.NO_META_PROPERTIES:
            ids = f"version=1, {_known_ids(evidence)}{{}}"
            text = (
                "see whether its volume is mounted. Where it has this node's logs, write"
                f" {ids} into the file"
            )
            finding = replace(finding, action=lost_ids_text(evidence, conflict.directory, text))
        yield replace(finding, at_start=AtStart.NOTES) if is_name else finding


def _known_ids(evidence: Evidence) -> str:
    """The ids that the other log directories have, each with a comma behind it."""
    known = next((one.identity for one in evidence.directories if one.identity is not None), None)
    if known is None:
        return "its cluster.id, its node.id, "
    return f"cluster.id={known.cluster_id}, node.id={known.node_id}, "


def _sets_aside(evidence: Evidence, conflict: Conflict) -> bool:
    """Whether a broker sets one of two logs aside before they meet: it has no topic's id."""
    if not len(evidence.image.topics):
        return False
    known = evidence.image.topics
    for place in conflict.logs:
        with suppress(SourceError):
            metadata = read_partition_metadata(place)
            raw = None if metadata is None else parse_uuid(metadata.topic_id)
            if raw is None or known.index_of(np.frombuffer(raw, "V16"))[0] < 0:
                return True
    return False


def conflicting_directories(source: Source) -> Iterator[Finding]:
    """The findings about log directories on which a node does not start.

    A configuration names the directories of one node. Without one, those of one identity are of one
    node, and copies are told apart.

    Raises:
        SourceError: A log directory can't be listed.
    """
    foreign, places = source.settings.foreign_dirs, source.log_places
    if source.of_coordinator is not None or (
        source.capabilities.has_image and len(places) + len(foreign) < _SEVERAL
    ):
        return
    directories = [*source.log_directories]
    directories += [read_log_directory(place_of(path)) for path in foreign]
    for directory in directories:
        # The identity fault of the metadata log's directory is reported with the files beside that
        # log.
        has_image = directory.has_metadata_log and source.capabilities.has_image
        if directory.identity_fault is not None and not has_image:
            yield Finding(
                MALFORMED,
                f"it can't be used: {directory.identity_fault}",
                _OFFLINE,
                file=META_PROPERTIES,
            )
    is_one = source.settings.config is not None or foreign
    groups = [directories] if is_one else group_by_node(directories)
    for group in groups:
        for conflict in conflicts_in(group):
            yield _of_conflict(conflict, "the node does not start: ")


def _of_conflict(conflict: Conflict, lead: str) -> Finding:
    return Finding(
        conflict.kind.value,
        f"{lead}{conflict.text}",
        subject="log directories",
        command=("check",),
        directory=shown(str(conflict.directory.place)),
        kafka=conflict.kafka,
    )


def find_replicas(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what becomes of replicas, where log directories are here whose node has any."""
    source = evidence.source
    if source.of_coordinator is not None or source.moment_offset is not None:
        return
    # A directory of the metadata log alone is a copy, unless it is to be started.
    starts = evidence.starts or source.settings.config is not None
    if source.log_places and (source.has_logs or starts):
        from metashell.judgement.replica_findings import find

        yield from find(evidence, kinds)


def check_replicas(source: Source, stop: Callable[[], None]) -> Iterator[Finding]:
    """Find replicas of a coordinators' partition that differ.

    Args:
        source: The source.
        stop: Called again and again; it raises to end everything.

    Raises:
        SourceError: A log directory can't be listed.
    """
    for log in CoordinatorLog:
        logs = source.coordinator_logs(log)
        for partition in () if logs is None else logs.partitions:
            stop()
            replicas = logs.replicas(partition) if logs is not None else ()
            chosen = next((replica for replica in replicas if replica.is_read), None)
            for replica in replicas:
                finding = _of_replica(replica, chosen)
                if finding is not None:
                    yield finding


def _of_replica(replica: LogReplica, chosen: LogReplica | None) -> Finding | None:
    place = shown(str(replica.place))
    if replica.error is not None:
        return Finding(
            "replica-unreadable", f"a replica can't be read: {replica.error}", file=place
        )
    if replica.diverges_at is None or chosen is None:
        return None
    return Finding(
        "replicas-diverge",
        f"from here on it is another log than {shown(str(chosen.place))}, which reaches"
        f" epoch {chosen.epoch} and offset {chosen.end}",
        file=place,
        offset=replica.diverges_at,
    )
