"""Checks of what stands beside the log: do these files belong together, and to this log?

``meta.properties`` says whose directory it is, ``quorum-state`` what the node knows of elections,
the log who votes. ``check`` reports what is found here; ``/quorum/disagreements`` shows it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from metashell.checks.finding import Finding
from metashell.checks.fsck import facts_of
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.findings.kind import AtStart, Severity
from metashell.findings.kinds.node_files import NOT_FOR_A_COPY
from metashell.log.fault import Fault, FaultKind
from metashell.log.names import METADATA_TOPIC_ID
from metashell.node_files import epoch_checkpoint, meta_properties, quorum_state
from metashell.node_files import partition_metadata as topic_of_log
from metashell.node_files.bundle import FILE_NAME, WARNING, is_bundle
from metashell.node_files.epoch_checkpoint import EpochStart, read_epoch_checkpoint
from metashell.node_files.meta_properties import MetaProperties, read_meta_properties
from metashell.node_files.partition_metadata import read_partition_metadata
from metashell.node_files.quorum_state import QuorumState, read_quorum_state
from metashell.places.bounded_file import AnyPlace, child_of, parent_of
from metashell.places.place import read_ahead
from metashell.schema.uuids import parse_uuid, uuid_text, uuid_texts

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.log.read import Loaded
    from metashell.records.records import Records

_T = TypeVar("_T")

MALFORMED: Final = "file-malformed"
"""Code of the finding of a file that can't be used."""
UNREADABLE: Final = "node-file-unreadable"
"""Code of the finding of a file that the disk or its permissions keep from us."""

_WRITE_IDS: Final = (
    "copy the log dir first. Then write version=1 and this node's own cluster.id, node.id and"
    " directory.id into the file: the note `meta-properties-content` has what the log proves"
)
_FORGOTTEN_VOTE: Final = (
    "without the file a node has forgotten its vote and may vote twice in one epoch. A file of a"
    " backup has forgotten votes too. Start the node without it only while all other voters follow"
    " one leader"
)
_KAFKAS: Final[Mapping[str, str]] = {
    meta_properties.FILE_NAME: "Encountered I/O error in metadata log directory {parent}. Cannot"
    " continue.",
    quorum_state.FILE_NAME: "Error while reading the Quorum status from the file {file}",
    epoch_checkpoint.FILE_NAME: "Error while reading checkpoint file {file}",
    topic_of_log.FILE_NAME: "Error while reading partition metadata file {file}",
}
"""Kafka's text about a file that can't be used."""
_OF_MALFORMED: Final[Mapping[str, str]] = {
    meta_properties.FILE_NAME: f"a node does not start with it: {_WRITE_IDS}",
    quorum_state.FILE_NAME: f"a node does not start with it. Keep the file: {_FORGOTTEN_VOTE}",
    epoch_checkpoint.FILE_NAME: "a node does not start with it. Stop the node and move the file"
    " away, but keep it: the node makes another from the log",
    topic_of_log.FILE_NAME: "a node does not start with it. Keep a copy, then write the file again:"
    f" that of every metadata log has `version: 0` and `topic_id: {METADATA_TOPIC_ID}`",
}
"""The advice about a file that can't be used."""
_OF_WIPED: Final[Mapping[str, tuple[str, str]]] = {
    meta_properties.FILE_NAME: (
        "there is no such file: a node does not start on this log dir",
        f"{NOT_FOR_A_COPY}. Else {_WRITE_IDS}",
    ),
    quorum_state.FILE_NAME: (
        "there is no such file: a node starts in the epoch of its log, and knows of no vote",
        f"{NOT_FOR_A_COPY}. Else: {_FORGOTTEN_VOTE}",
    ),
}
"""The meaning of a missing file where the others of its node are there, and the advice."""
_ID_BYTES: Final = 16
_MOST_TOLD: Final = 10
"""Nodes that are told one by one."""


@dataclass(slots=True)
class CheckedNodeFiles:
    """The files beside the log; None for those that are not there or can't be read."""

    properties: MetaProperties | None
    state: QuorumState | None
    epochs: tuple[EpochStart, ...] | None
    findings: list[Finding]
    """The findings about each file by itself."""

    @property
    def lost(self) -> list[Finding]:
        """The findings about files that a node needs to start, or to know its vote."""
        return [
            found
            for found in self.findings
            if found.severity is not Severity.NOTE and found.file in _OF_WIPED
        ]


def node_file_faults(directory: AnyPlace | None) -> list[Fault]:
    """The node's own files that can't be read or used, as faults; none without a directory."""
    if directory is None:
        return []
    return [
        Fault(FaultKind.UNREADABLE, found.meaning, found.file)
        for found in read_node_files(directory).findings
        if found.code in (MALFORMED, UNREADABLE)
    ]


def read_node_files(directory: AnyPlace) -> CheckedNodeFiles:
    """Read the small files of a metadata directory and of the log dir that it is in."""
    of_log = (quorum_state.FILE_NAME, epoch_checkpoint.FILE_NAME, topic_of_log.FILE_NAME)
    own = child_of(parent_of(directory), meta_properties.FILE_NAME)
    read_ahead([own, *(child_of(directory, name) for name in of_log)])
    findings: list[Finding] = []
    missing: list[str] = []

    def read(
        name: str, how: Callable[[AnyPlace], _T | None], where: AnyPlace = directory
    ) -> _T | None:
        try:
            found = how(child_of(where, name))
        except SourceError as error:
            findings.append(_of_unusable(name, error, where))
            return None
        if found is None:
            missing.append(name)
        return found

    beside = CheckedNodeFiles(
        read(meta_properties.FILE_NAME, read_meta_properties, parent_of(directory)),
        read(quorum_state.FILE_NAME, read_quorum_state),
        read(epoch_checkpoint.FILE_NAME, read_epoch_checkpoint),
        findings,
    )
    known = read(topic_of_log.FILE_NAME, lambda _: read_partition_metadata(directory))
    if known is not None and known.topic_id != METADATA_TOPIC_ID:
        findings.append(
            Finding(
                "topic-id",
                f"the topic id is {known.topic_id!r}, that of the metadata log is"
                f" {METADATA_TOPIC_ID}",
                file=topic_of_log.FILE_NAME,
                kafka=f"Tried to assign topic ID Optional[{METADATA_TOPIC_ID}] to log for topic"
                " partition __cluster_metadata-0,but log already contained topic ID"
                f" {known.topic_id}",
            )
        )
    if is_bundle(parent_of(directory)):
        findings.append(Finding("redacted-copy", WARNING, file=FILE_NAME))
        return beside
    # Segments alone are a copy of the log; with one of these files it was a node's directory.
    is_of_node = len(missing) < len(_OF_MALFORMED)
    findings.extend(_missing(name, is_of_node=is_of_node) for name in missing)
    return beside


def _of_unusable(name: str, error: SourceError, directory: AnyPlace) -> Finding:
    """The finding of a file that can't be read, or is malformed.

    Args:
        name: The file, of those beside a metadata log.
        error: The error on reading it.
        directory: Where it is.
    """
    reason = error.message.replace("\n", " ")
    if isinstance(error.__cause__, OSError):
        return Finding(
            UNREADABLE,
            f"it can't be read: {reason}",
            file=name,
        )
    place = os.path.abspath(directory) if isinstance(directory, str) else directory
    said = _KAFKAS[name].format(file=child_of(place, name), parent=place)
    return Finding(
        MALFORMED, f"it can't be used: {reason}", _OF_MALFORMED[name], file=name, kafka=said
    )


def _missing(name: str, *, is_of_node: bool) -> Finding:
    if is_of_node and name in _OF_WIPED:
        # A start asks for all meta.properties of a node: `no-meta-properties`.
        forgets = AtStart.NOTES if name == quorum_state.FILE_NAME else None
        return Finding("node-file-missing", *_OF_WIPED[name], file=name, at_start=forgets)
    return Finding(
        "file-missing",
        "there is no such file: what it would tell is not checked",
        file=name,
    )


def check_ids(beside: CheckedNodeFiles) -> Iterator[Finding]:
    """The disagreements between the files; needs no log."""
    properties, state = beside.properties, beside.state
    if properties is None or state is None or not state.cluster_id:
        return
    if properties.cluster_id is not None and properties.cluster_id != state.cluster_id:
        yield Finding(
            "cluster-id",
            f"the cluster id is {state.cluster_id}, in meta.properties it is"
            f" {properties.cluster_id}",
            file="quorum-state",
        )


class QuorumCheck:
    """Checks the files beside the log against what the log says. Cost: folds the cluster.

    Args:
        image: The newest image.
        last_epoch: Leader epoch of the last batch of the log, None without one.
        cluster_id: That of the node's other log directories, None where they tell none.
    """

    def __init__(
        self,
        beside: CheckedNodeFiles,
        image: Image,
        last_epoch: int | None,
        cluster_id: str | None = None,
    ) -> None:
        self.properties, self.state = beside.properties, beside.state
        self.image = image
        self.ids_are_lost = any(
            finding.file == meta_properties.FILE_NAME and finding.severity is not Severity.NOTE
            for finding in beside.findings
        )
        self.last_epoch, self.cluster_id = last_epoch, cluster_id
        self.voters = self._voters()
        """Directory id of each voter in the log; empty with a static quorum."""

    def run(self) -> Iterator[Finding]:
        """All of them."""
        if self.ids_are_lost:
            yield self._content()
        elif self.properties is not None and self.properties.node_id is not None:
            yield from self._whose_directory(self.properties.node_id, self.properties.directory_id)
        if self.state is not None:
            yield from self._state_and_voters(self.state)
            yield from self._state_and_log(self.state)

    def _content(self) -> Finding:
        """The proper content of ``meta.properties``, as far as something proves it."""
        cluster_id = self.cluster_id or (None if self.state is None else self.state.cluster_id)
        advice = [
            f"cluster.id={cluster_id}"
            if cluster_id
            else "cluster.id is in no record: every other node's meta.properties has it"
        ]
        nodes = sorted(self._nodes())
        if len(nodes) == 1:
            advice.append(f"node.id={nodes[0]} is the only node that the log knows")
        elif nodes:
            ids = listed(map(str, nodes))
            advice.append(f"node.id is one of {ids}: the log does not tell which")
        of = [f"{one} of voter {voter}" for voter, one in sorted(self.voters.items())]
        of += [f"{one} of broker {broker}" for broker, one in sorted(self._only_log_dirs().items())]
        if of:
            advice.append(f"directory.id is {listed(of)}; the log does not prove any other")
        else:
            advice.append("directory.id is in no record, or one of several")
        return Finding(
            "meta-properties-content",
            "; ".join(advice),
            file=meta_properties.FILE_NAME,
        )

    def _only_log_dirs(self) -> dict[int, str]:
        """The directory id of each broker that has registered one alone, and is no voter."""
        brokers = self.image.brokers
        registered = zip(brokers.ids.tolist(), brokers.log_dirs.raws(), strict=True)
        return {
            broker: uuid_text(dirs)
            for broker, dirs in registered
            if dirs is not None and len(dirs) == _ID_BYTES and broker not in self.voters
        }

    def _nodes(self) -> set[int]:
        """The nodes that the log, or the list of static voters, knows."""
        controllers = self.image.part("controllers").columns.fixed("controller_id").tolist()
        brokers = self.image.brokers.ids.tolist()
        static = {voter for of in self.image.quorum.leaders[-1:] for voter in of.voters}
        return {*brokers, *controllers, *self._static_voters(), *static, *self.voters}

    def _voters(self) -> dict[int, str]:
        columns = self.image.quorum.voters
        if columns is None:
            return {}
        ids = columns.fixed("voter_id").tolist()
        return dict(zip(ids, uuid_texts(columns.fixed("voter_directory_id")), strict=True))

    def _owner(self, directory: str) -> tuple[str, int] | None:
        """Who has that directory by the log: (voter or broker, id)."""
        for voter, of_voter in self.voters.items():
            if of_voter == directory:
                return "voter", voter
        raw = parse_uuid(directory)
        brokers = self.image.brokers
        for broker, dirs in zip(brokers.ids.tolist(), brokers.log_dirs.raws(), strict=True):
            known = dirs or b""
            if raw in {known[at : at + 16] for at in range(0, len(known), 16)}:
                return "broker", broker
        return None

    def _whose_directory(self, node: int, directory: str | None) -> Iterator[Finding]:
        owner = self._owner(directory) if directory else None
        if owner is not None and owner[1] != node:
            yield Finding(
                "node-id",
                f"node.id is {node}, but by the log directory.id {directory} belongs to"
                f" {owner[0]} {owner[1]}",
                file="meta.properties",
                at_start=AtStart.NOT_JOINED
                if owner[0] == "broker"
                else None
                if node in self.voters
                else AtStart.NOTES,
                kafka=f"Broker {owner[1]} is already registered with directory {directory}"
                if owner[0] == "broker"
                else None,
            )
            return
        if owner is not None:
            return
        if node in self.voters and directory:
            yield Finding(
                "directory-id",
                f"directory.id is {directory}, but by the log voter {node} has"
                f" {self.voters[node]}: with this directory the node does not vote",
                "find out which it is: a rewritten meta.properties, a new disk, or another node's"
                " log dir. If only the file was rewritten, put the old directory.id back. After a"
                " new disk, and only while all other voters follow one leader:"
                " `kafka-metadata-quorum remove-controller` with the old directory id, then"
                " `add-controller`",
                file="meta.properties",
            )
            return
        brokers = self.image.brokers
        if node not in self._nodes():
            yield Finding(
                "node-id-unknown",
                f"node.id is {node}, and the log knows no broker, controller or voter of that id",
                file="meta.properties",
            )
        elif node in brokers.ids.tolist() and directory:
            at = brokers.ids.tolist().index(node)
            if int(brokers.log_dirs.counts[at]) > 0:
                yield Finding(
                    "directory-id",
                    f"directory.id is {directory}, which is none of the directories that broker"
                    f" {node} has registered",
                    "find out which it is: a metadata.log.dir of its own, which needs nothing, a"
                    " rewritten meta.properties, a new disk, or another node's log dir",
                    file="meta.properties",
                    at_start=AtStart.NOTES,
                )

    def _static_voters(self) -> set[int]:
        listed = self.state.current_voters if self.state is not None else None
        return set(listed or ())

    def _state_and_voters(self, state: QuorumState) -> Iterator[Finding]:
        voters = set(self.voters) or self._static_voters()
        if self.voters and state.current_voters and set(state.current_voters) != voters:
            yield Finding(
                "voters",
                f"the voters are {sorted(state.current_voters)}, by the log they are"
                f" {sorted(voters)}",
                "none needed after a change of voters: the node writes it again",
                file="quorum-state",
            )
        leaders = self.image.quorum.leaders
        if not self.voters and voters and leaders and set(leaders[-1].voters) != voters:
            yield Finding(
                "voters",
                f"the voters are {sorted(voters)}, by the last leader change they are"
                f" {sorted(leaders[-1].voters)}",
                "find out which of them are right. Two sets of voters can elect two leaders: make"
                " controller.quorum.voters equal on all nodes",
                file="quorum-state",
            )
        if voters and state.leader_id is not None and state.leader_id not in voters:
            yield Finding(
                "leader-not-voter",
                f"the leader is {state.leader_id}, the voters are {sorted(voters)}",
                file="quorum-state",
            )
        voted = state.voted_directory_id
        if voted is not None and state.voted_id in self.voters:
            of_voter = self.voters[state.voted_id]
            if of_voter != voted:
                yield Finding(
                    "voted-directory",
                    f"the vote went to node {state.voted_id} with directory {voted}, by the log it"
                    f" has {of_voter}",
                    file="quorum-state",
                )

    def _state_and_log(self, state: QuorumState) -> Iterator[Finding]:
        if self.last_epoch is not None and state.leader_epoch < self.last_epoch:
            yield Finding(
                "epoch-behind",
                f"the leader epoch is {state.leader_epoch}, the log is at {self.last_epoch}:"
                " the file is older than the log",
                file="quorum-state",
            )
        for leadership in self.image.quorum.leaders[-1:]:
            same_epoch = leadership.epoch == state.leader_epoch
            if same_epoch and state.leader_id not in (None, leadership.leader):
                yield Finding(
                    "leader-differs",
                    f"the leader of epoch {state.leader_epoch} is {state.leader_id}, by the log it"
                    f" is {leadership.leader} (offset {leadership.offset})",
                    file="quorum-state",
                )


def listed(words: Iterable[str]) -> str:
    """Words with commas, the first ones where there are many."""
    all_of_them = list(words)
    n_more = len(all_of_them) - _MOST_TOLD
    more = [f"{n_more:,} more"] if n_more > 0 else []
    return ", ".join(all_of_them[:_MOST_TOLD] + more)


def disagreements(directory: AnyPlace, image: Image) -> list[Finding]:
    """The disagreements between a log and the files beside it. Cost: folds the cluster.

    Files that a copy of the log alone lacks are no disagreement. Only the part of the log that the
    image was made from counts; ``check`` reads all of it.

    Args:
        directory: The metadata directory.
        image: The newest image.
    """
    beside = read_node_files(directory)
    found = [*beside.findings, *check_ids(beside), *_check_epochs(beside, image.records)]
    if not base_is_missing(image.records.loaded):
        epoch = image.provenance.epoch
        found += QuorumCheck(beside, image, epoch if epoch >= 0 else None).run()
    return [finding for finding in found if finding.severity is not Severity.NOTE]


def _check_epochs(beside: CheckedNodeFiles, records: Records) -> Iterator[Finding]:
    """``leader-epoch-checkpoint`` against the batches."""
    from metashell.checks.fsck_order import check_epochs

    if beside.epochs is None:
        return
    loaded, frames = records.loaded, records.frames
    segments = [
        facts_of(loaded, i, frames) for i, file in enumerate(loaded.files) if not file.is_checkpoint
    ]
    yield from check_epochs(segments, [], [(e.epoch, e.start_offset) for e in beside.epochs])


def base_is_missing(loaded: Loaded) -> bool:
    """Whether a replay begins in the middle: with a segment that is not the log's first."""
    if any(file.end_offset for file in loaded.files):
        return False
    firsts = [file.chain.first_offset for file in loaded.files if not file.is_checkpoint]
    return bool(firsts) and firsts[0] > 0
