"""The log directories of one node: which of several belong together, and what does not agree.

Source: MetaPropertiesEnsemble.verify, LogManager.{loadLog, loadLogs}.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from heapq import merge
from typing import Final, Protocol, TypeVar

from metashell.dataclass import dataclass
from metashell.node_files.log_directory import LogDirectory
from metashell.node_files.log_name import LogName, LogState
from metashell.node_files.meta_properties import FILE_NAME, MetaProperties
from metashell.places.place import Place, child_of, parent_of


class Identified(Protocol):
    """A log directory, or what is known of one."""

    @property
    def place(self) -> Place:
        """Where it is."""

    @property
    def identity(self) -> MetaProperties | None:
        """Its ``meta.properties``; None where there is none."""

    @property
    def has_metadata_log(self) -> bool:
        """Whether a metadata log is in it."""


_D = TypeVar("_D", bound=Identified)
_OTHER_CLUSTER: Final = "Invalid cluster.id in: {file}. Expected {known}, but read {value}"
_OTHER_NODE: Final = (
    "Stored node id {value} doesn't match previous node id {known} in {file}. If you moved your"
    " data, make sure your configured node id matches. If you intend to create a new node, you"
    " should remove all data in your data directories."
)
NO_READABLE: Final = "No readable meta.properties files found."
"""Kafka's text where no directory has a usable ``meta.properties``."""
_TWO_LOGS: Final = (
    "Duplicate log directories for {name} are found in both {0} and {1}. It is likely because log"
    " directory failure happened while broker was replacing current replica with future replica."
    " Recover broker from this failure by manually deleting one of the two directories for this"
    " partition. It is recommended to delete the partition in the log directory that is known to"
    " have failed recently."
)
_TWO_FUTURES: Final = "Duplicate log directories found: {0}, {1}"


class ConflictKind(StrEnum):
    """Why a node does not start on some log directories."""

    NO_META_PROPERTIES = "no-meta-properties"
    OTHER_CLUSTER_ID = "other-cluster-id"
    OTHER_NODE_ID = "other-node-id"
    SAME_DIRECTORY_ID = "same-directory-id"
    NOT_A_LOG = "not-a-log"
    TWO_LOGS = "two-logs"
    TWO_FUTURES = "two-futures"


@dataclass(frozen=True, slots=True)
class Conflict:
    """One reason."""

    kind: ConflictKind
    text: str
    """In a sentence without a full stop. It may hold names from the disk: escape it."""
    directory: LogDirectory
    kafka: str
    """Kafka's own text."""
    logs: tuple[Place, ...] = ()
    """The logs of one partition."""


def group_by_node(directories: Sequence[_D]) -> list[list[_D]]:
    """Put the directories of each node together, in their order.

    They are of one node where their ``meta.properties`` have the same cluster.id and node.id. One
    that does not say both stands alone. Copies of a node's directories are no further directories
    of it: of copies, those that lie in one directory are together.
    """
    groups: dict[object, list[int]] = defaultdict(list)
    for i, directory in enumerate(directories):
        of = directory.identity
        is_known = of is not None and of.cluster_id is not None and of.node_id is not None
        groups[(of.cluster_id, of.node_id) if of is not None and is_known else i].append(i)
    apart = [some for group in groups.values() for some in _without_copies(directories, group)]
    return [[directories[i] for i in group] for group in sorted(apart)]


def _without_copies(directories: Sequence[Identified], group: list[int]) -> Iterator[list[int]]:
    """Directories of one identity, by their numbers: together, else those that lie together."""
    if not _has_copies([directories[i] for i in group]):
        yield group
        return
    beside: dict[str, list[int]] = defaultdict(list)
    for i in group:
        beside[str(parent_of(directories[i].place))].append(i)
    for some in beside.values():
        if _has_copies([directories[i] for i in some]):
            yield from ([i] for i in some)
        else:
            yield some


def _has_copies(group: Sequence[Identified]) -> bool:
    """Whether directories of one identity can't all be of one node.

    A node has one metadata log. It gives each directory an id of its own, from Kafka 3.7 on.
    """
    known = [one.identity.directory_id for one in group if one.identity is not None]
    ids = [one for one in known if one is not None]
    return len(set(ids)) < len(ids) or sum(one.has_metadata_log for one in group) > 1


def conflicts_in(directories: Sequence[LogDirectory]) -> list[Conflict]:
    """Why a node would not start with these as its ``log.dirs``; empty where nothing hinders it.

    Only the directories count. A log that the metadata calls a stray, which a node renames first,
    is not known here; so two logs of a partition may be a conflict that the node resolves.
    """
    identities = conflicting_identities(directories)
    return [*identities, *conflicting_logs(directories)]


def conflicting_logs(directories: Sequence[LogDirectory]) -> list[Conflict]:
    """Why a broker would not load the logs in these."""
    return [*_of_names(directories), *_of_logs(directories)]


def conflicting_identities(directories: Sequence[LogDirectory]) -> list[Conflict]:
    """Why a node would not start with the ``meta.properties`` of these."""
    # Kafka compares them in the order of their paths.
    return list(_of_identities(sorted(directories, key=lambda one: str(one.place))))


def _of_identities(directories: Sequence[LogDirectory]) -> Iterator[Conflict]:
    first: dict[str, tuple[object, LogDirectory]] = {}
    ids: dict[str, LogDirectory] = {}
    for directory in directories:
        of, place = directory.identity, directory.place
        if of is None:
            if directory.identity_fault is None and directory.fault is None:
                yield Conflict(
                    ConflictKind.NO_META_PROPERTIES,
                    f"{place}: there is no meta.properties",
                    directory,
                    no_meta_properties(directory, directories),
                )
            continue
        file = child_of(place, FILE_NAME)
        for key, value, kind, said in (
            ("cluster.id", of.cluster_id, ConflictKind.OTHER_CLUSTER_ID, _OTHER_CLUSTER),
            ("node.id", of.node_id, ConflictKind.OTHER_NODE_ID, _OTHER_NODE),
        ):
            if value is None:
                continue
            known, where = first.setdefault(key, (value, directory))
            if value != known:
                yield Conflict(
                    kind,
                    f"{place}: {key} is {value}; in {where.place} it is {known}",
                    directory,
                    said.format(file=file, known=known, value=value),
                )
        if of.directory_id is not None:
            other = ids.setdefault(of.directory_id, directory)
            if other is not directory:
                yield Conflict(
                    ConflictKind.SAME_DIRECTORY_ID,
                    f"{place}: directory.id {of.directory_id} is also in {other.place}",
                    directory,
                    f"Duplicate directory ID Optional[{of.directory_id}] found. It was the ID of"
                    f" {other.place}, but also of {place}",
                )


def no_meta_properties(directory: LogDirectory, directories: Sequence[LogDirectory]) -> str:
    """Kafka's text about a directory without ``meta.properties``, among those of its node."""
    if all(one.identity is None for one in directories):
        return NO_READABLE
    return (
        f"No `meta.properties` found in {directory.place} (have you run `kafka-storage.sh` to"
        " format the directory?)"
    )


def _of_names(directories: Sequence[LogDirectory]) -> Iterator[Conflict]:
    for directory in directories:
        for name in directory.not_logs:
            yield Conflict(
                ConflictKind.NOT_A_LOG,
                f"{directory.place}: the directory {name} is not a log's",
                directory,
                f"Found directory {child_of(directory.place, name)}, '{name}' is not in the form of"
                " topic-partition or topic-partition.uniqueId-delete (if marked for deletion).",
            )


def _of_logs(directories: Sequence[LogDirectory]) -> Iterator[Conflict]:
    """Partitions with two logs, or two futures. Logs to be deleted and stray ones do not count."""
    first: tuple[LogName, LogDirectory] | None = None
    # Side by side: a table of all logs would take more memory than their names.
    for log, directory in merge(*map(_loaded_logs, directories), key=lambda pair: pair[0]):
        if first is None or _replica_of(first[0]) != _replica_of(log):
            first = log, directory
            continue
        known, other = first
        places = other.place_of(known), directory.place_of(log)
        name, is_future = f"{log.topic}-{log.partition}", log.state is LogState.FUTURE
        yield Conflict(
            ConflictKind.TWO_FUTURES if is_future else ConflictKind.TWO_LOGS,
            f"{name}: two {log.state} logs, {places[0]} and {places[1]}",
            directory,
            (_TWO_FUTURES if is_future else _TWO_LOGS).format(*places, name=name),
            places,
        )


def _loaded_logs(directory: LogDirectory) -> Iterator[tuple[LogName, LogDirectory]]:
    """The current and future logs of a directory, in order."""
    states = (LogState.CURRENT, LogState.FUTURE)
    return ((log, directory) for log in directory.logs if log.state in states)


def _replica_of(log: LogName) -> tuple[str, int, LogState]:
    return log.topic, log.partition, log.state
