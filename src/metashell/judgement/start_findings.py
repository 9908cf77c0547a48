"""Findings about a node that starts: what refuses, goes offline, and keeps it from the quorum.

Kafka's own texts are quoted, so that a search for one leads here. Nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from metashell.answers.nodes import nodes_of
from metashell.answers.releases import OLDEST_FOR_4, newest_levels, parse_version, release_of
from metashell.checks.finding import Finding
from metashell.checks.quorum_findings import listed, read_node_files
from metashell.errors import SourceError
from metashell.findings.kind import AtStart, FindingKind
from metashell.image.features import METADATA_VERSION, metadata_version_name
from metashell.image.image import Image
from metashell.image.quorum_members import voters_in_log, voters_of
from metashell.judgement.evidence import Evidence
from metashell.judgement.node_roles import (
    is_broker,
    is_controller,
    is_told_broker,
    knows_brokers,
    lacks_log,
    loaded_directories,
    lost_ids_text,
    node_of,
)
from metashell.log.names import BOOTSTRAP, METADATA_DIRECTORY, list_names
from metashell.node_files import quorum_state
from metashell.node_files.checkpoint_file import OffsetCheckpoint
from metashell.node_files.clean_shutdown import FILE_NAME as CLEAN_SHUTDOWN
from metashell.node_files.log_directory import METADATA_TOPIC, LogDirectory
from metashell.node_files.meta_properties import FILE_NAME
from metashell.node_files.node_directories import NO_READABLE, no_meta_properties
from metashell.places.place import child_of, names_in
from metashell.places.uri import shown
from metashell.quorum.description import LiveStatus

_FIRST_DYNAMIC: Final = 21
"""The level (3.9-IV0) of the first release that knows kraft.version 1."""
_FIRST_DIRECTORY_IDS: Final = 19
"""The level (3.7-IV4) of the first release that gives directories ids."""
_OF_RUN: Final = frozenset({".lock", CLEAN_SHUTDOWN, *OffsetCheckpoint})
"""Files of a log directory that a node writes while it runs."""


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what hinders the start of the node whose log directories the source has."""
    directories = evidence.directories
    yield from _of_directories(evidence, directories)
    if is_broker(evidence):
        yield from _of_log_dirs(evidence, directories)
    yield from _of_software(evidence)
    yield from _of_metadata_log(evidence)
    yield from _of_quorum(evidence)


def _of_directories(evidence: Evidence, directories: Sequence[LogDirectory]) -> Iterator[Finding]:
    """Look at ``meta.properties`` of each directory, as a node does first."""
    metadata = directories[0]
    usable = [one for one in directories if one.identity is not None and _unusable(one) is None]
    if not usable and not any(one.identity is None and _is_new(one) for one in directories):
        yield Finding(
            "no-readable-log-dir",
            subject="log directories",
            kafka=NO_READABLE,
        )
    for one in directories:
        place, reason = shown(str(one.place)), _unusable(one)
        if one.is_gone:
            yield Finding(
                "log-directory-missing",
                f"{place}: there is no such directory: the node does not start",
                subject=f"log directory {place}",
                directory=place,
                kafka=no_meta_properties(one, directories),
            )
        elif reason is not None and not (
            one is metadata and one.identity is None and evidence.source.capabilities.has_image
        ):
            refuses = one is metadata and bool(usable)
            then = (
                f"Encountered I/O error in metadata log directory {one.place}. Cannot continue."
                if refuses
                else f"Failed to create or validate data directory {one.place}"
            )
            first = f"Error while reading meta.properties file {child_of(one.place, FILE_NAME)}"
            yield Finding(
                "log-dir-unreadable",
                f"{place}: its meta.properties cannot be read: {reason}",
                subject=f"log directory {place}",
                at_start=AtStart.REFUSES if refuses else None,
                directory=place,
                kafka=f"{first}\n{then}" if usable else first,
            )
        if one is not metadata and METADATA_TOPIC in {log.topic for log in one.logs}:
            yield Finding(
                "metadata-log-elsewhere",
                f"{place} has a metadata log, and metadata.log.dir is"
                f" {shown(str(metadata.place))}: the node does not start",
                subject=f"log directory {place}",
                directory=place,
                kafka="Found unexpected metadata location in data directory"
                f" `{child_of(one.place, METADATA_DIRECTORY)}` (the configured metadata directory"
                f" is {metadata.place}).",
            )
        if one in usable and one.identity is not None and one.identity.directory_id is None:
            yield from _without_id(evidence, one, is_metadata=one is metadata)


def _unusable(directory: LogDirectory) -> str | None:
    """Why a node can't use a ``meta.properties`` that is there.

    Source: org.apache.kafka.metadata.properties.MetaProperties.Builder, MetaPropertiesVersion.
    """
    of = directory.identity
    if of is None:
        return directory.fault or directory.identity_fault
    if of.version > 0 and of.node_id is None:
        return "it has no node.id"
    return "it has no cluster.id" if of.version == 1 and of.cluster_id is None else None


def _is_new(directory: LogDirectory) -> bool:
    """Whether a directory lacks ``meta.properties``, which is no fault of the disk."""
    is_listed = directory.fault is None and directory.identity_fault is None
    return directory.is_gone or is_listed


def _without_id(
    evidence: Evidence, directory: LogDirectory, *, is_metadata: bool
) -> Iterator[Finding]:
    """A directory without an id: the node makes one, and a voter is another one then."""
    place, (_, highest) = shown(str(directory.place)), _levels(evidence)
    if (highest or evidence.image.metadata_version or 0) < _FIRST_DIRECTORY_IDS:
        return
    node = node_of(evidence)
    columns = evidence.image.quorum.voters
    is_voter = columns is not None and node in columns.fixed("voter_id").tolist()
    yield Finding(
        "directory-id-made",
        f"{place}: {FILE_NAME} has no directory.id: the node writes a new one into it"
        + (f", and voter {node} of the log has another one" if is_voter and is_metadata else ""),
        lost_ids_text(evidence, directory, "copy the file first. Then write {} into it"),
        subject=f"log directory {place}",
        at_start=AtStart.NOT_VOTING if is_voter and is_metadata else None,
        directory=place,
        kafka=f"Rewriting {child_of(directory.place, FILE_NAME)}",
    )


# The log directories of a broker.


def _of_log_dirs(evidence: Evidence, directories: Sequence[LogDirectory]) -> Iterator[Finding]:
    yield from _twice(evidence)
    loaded = loaded_directories(evidence)
    n_left = len(loaded)
    for one in loaded:
        n_left -= evidence.logs.fails(one)
        yield from evidence.logs.failing(one)
    if loaded and not n_left:
        names = ", ".join(str(one.place) for one in directories)
        yield Finding(
            "all-log-dirs-fail",
            subject="log directories",
            kafka=f"Shutdown broker because all log dirs in {names} have failed",
        )


def _twice(evidence: Evidence) -> Iterator[Finding]:
    """One directory that is named twice, also through a link."""
    if evidence.config is None:
        return
    named = evidence.config.named_log_dirs()
    first: dict[str, str] = {}
    for path in named:
        other = first.setdefault(os.path.realpath(path), path)
        if other is not path:
            yield Finding(
                "log-dir-twice",
                f"log.dirs names one directory twice: {other} and {path}",
                subject=f"log directory {path}",
                directory=path,
                kafka=f"Duplicate log directory found: {', '.join(named)}",
            )


# Metadata log.


def _of_metadata_log(evidence: Evidence) -> Iterator[Finding]:
    """A node whose own metadata log tells nothing: it is gone, empty, unreadable or too short."""
    if not lacks_log(evidence):
        has_logs = any(one.logs_of_topics for one in evidence.directories)
        if has_logs and not knows_brokers(evidence, [node_of(evidence)]):
            said = "the metadata log ends before the broker is registered"
            yield _not_known(evidence, said)
        return
    directory, node = evidence.directories[0], node_of(evidence)
    place, names = child_of(directory.place, METADATA_DIRECTORY), frozenset[str]()
    with suppress(SourceError):
        names = frozenset(names_in(place) if directory.has_metadata_log else ())
    files = list_names(names)
    is_compared, has_run = evidence.is_compared, quorum_state.FILE_NAME in names
    has_run |= any(one.logs_of_topics or one.files & _OF_RUN for one in evidence.directories)
    is_new = BOOTSTRAP in directory.files or bool(files.checkpoints and not files.segments)
    is_new = not has_run and (is_new or is_told_broker(evidence))
    said = f"{shown(str(directory.place))} has no metadata log"
    if directory.has_metadata_log:
        said = f"{shown(str(place))} has no record"
    if evidence.no_log is not None and not files.is_empty:
        if is_controller(evidence) or not is_compared:
            yield _not_known(evidence, f"the metadata log cannot be read: {evidence.no_log}")
        return
    voters = _voters(evidence)
    if node is not None and node in voters and (is_compared or not is_new):
        yield _lost(evidence, node, said)
    elif not is_new and (not is_compared or (not voters and is_controller(evidence))):
        yield _not_known(evidence, said)


def _not_known(evidence: Evidence, said: str) -> Finding:
    place = shown(str(evidence.directories[0].place))
    votes = "" if is_told_broker(evidence) else "whether the node is a voter, and "
    message = f"{said}: nothing tells {votes}what becomes of its replicas"
    return Finding("metadata-log-unknown", message, subject="the node", directory=place)


def _lost(evidence: Evidence, node: int, said: str) -> Finding:
    """A voter without a log: with a new directory.id it has no vote that can do harm."""
    directory = evidence.directories[0]
    voters = {one.id: one.directory_id for one in voters_in_log(evidence.image.quorum)}
    own = None if directory.identity is None else directory.identity.directory_id
    logged, place = voters.get(node), shown(str(directory.place))
    has_vote = logged in (None, own)
    return Finding(
        "metadata-log-lost",
        f"{said}, and node {node} is a voter: its vote and the committed records that it had are"
        " forgotten"
        if has_vote
        else f"{said}. Voter {node} of the quorum has directory.id {logged}, and this directory has"
        f" {own}: the node follows without a vote",
        None
        if has_vote
        else "remove the old voter while a majority of the others runs:"
        " `kafka-metadata-quorum.sh remove-controller`. Then start the node, and add it:"
        " `add-controller`",
        subject=f"voter {node}",
        at_start=None if has_vote else AtStart.NOT_VOTING,
        directory=place,
    )


# Software and quorum.


def _levels(evidence: Evidence) -> tuple[int, int]:
    """The levels of metadata.version that the software supports; (0, 0) where nothing tells."""
    if evidence.software is not None:
        highest = parse_version(evidence.software)
        return OLDEST_FOR_4 if highest > newest_levels()["3.9"] else 1, highest
    node = node_of(evidence)
    own = [one for one in nodes_of(evidence.image, count=False) if one.id == node]
    return max((one.range_of(METADATA_VERSION) for one in own), default=(0, 0))


def _of_software(evidence: Evidence) -> Iterator[Finding]:
    """Feature levels of the log that the software does not support."""
    level, (lowest, highest) = evidence.image.metadata_version, _levels(evidence)
    if not highest:
        return
    at_start = None if is_controller(evidence) else AtStart.NOT_JOINED
    named = evidence.software or release_of(highest)
    if level is not None and not lowest <= level <= highest:
        name = metadata_version_name(level)
        yield Finding(
            "software-lacks-level",
            f"the log has metadata.version {level} ({name}), and Kafka {named} supports levels"
            f" {lowest} to {highest}",
            subject=f"Kafka {named}",
            at_start=at_start,
            kafka=f"No MetadataVersion with feature level {level}.",
        )
    if (evidence.image.quorum.kraft_version or 0) > 0 and highest < _FIRST_DYNAMIC:
        yield Finding(
            "software-lacks-level",
            f"the log has kraft.version {evidence.image.quorum.kraft_version}, and Kafka {named}"
            " does not know it: 3.9 is the first release that does",
            subject=f"Kafka {named}",
            at_start=AtStart.REFUSES,
        )


def _voters(evidence: Evidence) -> list[int]:
    """The voters by the log, else by the configuration, else by ``quorum-state``."""
    config = evidence.config
    found = [one.id for one in voters_in_log(evidence.image.quorum)]
    if not found and config is not None:
        words = config.settings.get("controller.quorum.voters", "").split(",")
        ids = (word.partition("@")[0].strip() for word in words)
        found = [int(one) for one in ids if one.isascii() and one.isdigit()]
    own = evidence.source.metadata_directory
    if own is None:
        own = child_of(evidence.directories[0].place, METADATA_DIRECTORY)
    against = evidence.against if evidence.is_compared else None
    theirs = None if against is None else against.metadata_directory
    for directory in (own, theirs):
        if not found and directory is not None:
            state = read_node_files(directory).state
            found = list((state.current_voters or ()) if state is not None else ())
    return found


def _of_quorum(evidence: Evidence) -> Iterator[Finding]:
    """The cluster that the quorum says it is, and how many voters must run."""
    against = evidence.against
    theirs = None if against is None else against.cluster_id
    for one in evidence.directories[:1]:
        own = None if one.identity is None else one.identity.cluster_id
        if None not in (own, theirs) and own != theirs:
            yield Finding(
                "cluster-id-unlike-quorum",
                f"{shown(str(one.place))}: cluster.id is {own}, that of the quorum is {theirs}",
                subject="the node",
                directory=shown(str(one.place)),
                kafka="Unexpected error INCONSISTENT_CLUSTER_ID in FETCH response",
            )
    if against is not None and against.live is not None:
        yield from _unreachable(node_of(evidence), against.image, against.live.status())
        return
    node, voters = node_of(evidence), _voters(evidence)
    if node is None or node not in voters or _is_other_voter(evidence, node):
        return
    need, here = len(voters) // 2 + 1, sorted({*evidence.at_hand} & {*voters})
    known = "" if len(here) <= 1 else f"; the directories of {listed(map(str, here))} are given"
    others = listed(map(str, sorted(voters)))
    is_alone = len(voters) == 1
    yield Finding(
        "votes-needed",
        f"voter {node} is the only voter, and elects itself"
        if is_alone
        else f"node {node} is a voter: a leader is elected once {need} of {others} run{known}",
        "nothing" if is_alone else None,
        subject=f"voter {node}",
    )


def _is_other_voter(evidence: Evidence, node: int) -> bool:
    """Whether the log has another directory of the voter than this one, which has no vote."""
    own = evidence.directories[0].identity
    logged = {one.id: one.directory_id for one in voters_in_log(evidence.image.quorum)}.get(node)
    here = None if own is None else own.directory_id
    return None not in (logged, here) and logged != here


def _unreachable(node: int | None, image: Image, status: LiveStatus) -> Iterator[Finding]:
    """The other voters that take no connection where the log says that they listen."""
    from metashell.quorum.race import unreachable

    members = voters_of(image.quorum, status.description)
    voters = {one.id: one.endpoints or () for one in members if one.id != node}
    reasons = unreachable(each for some in voters.values() for each in some)
    for voter, endpoints in voters.items():
        for endpoint in endpoints:
            if endpoint in reasons:
                yield Finding(
                    "voter-unreachable",
                    f"voter {voter} takes no connection from here at {endpoint}, where the log"
                    f" says that it listens: {reasons[endpoint]}",
                    subject=f"voter {voter}",
                )
