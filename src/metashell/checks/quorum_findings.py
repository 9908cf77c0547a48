"""Checks of what stands beside the log: do these files belong together, and to this log?

``meta.properties`` says whose directory it is, ``quorum-state`` what the node knows of elections,
the log who votes. ``check`` reports what is found here; ``/quorum/disagreements`` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from metashell.checks.finding import Finding, Severity
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.names import METADATA_TOPIC_ID
from metashell.node_files.epoch_checkpoint import EpochStart, read_epoch_checkpoint
from metashell.node_files.meta_properties import MetaProperties, read_meta_properties
from metashell.node_files.quorum_state import QuorumState, read_quorum_state
from metashell.places.bounded_file import AnyPlace, child_of, parent_of, read_if_present

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.records.records import Records

_T = TypeVar("_T")

MALFORMED: Final = "file-malformed"
"""Code of the finding of a file that can't be used."""

_WHOSE: Final = (
    "make sure that this log dir belongs to this node: compare with node.id and the log dirs of its"
    " configuration"
)


@dataclass(slots=True)
class CheckedNodeFiles:
    """The files beside the log; None for those that are not there or can't be read."""

    properties: MetaProperties | None
    state: QuorumState | None
    epochs: tuple[EpochStart, ...] | None
    findings: list[Finding]
    """What is wrong with each by itself."""


def read_node_files(directory: AnyPlace) -> CheckedNodeFiles:
    """Read the small files of a metadata directory and of the log dir that it is in."""
    findings: list[Finding] = []

    def read(
        name: str, how: Callable[[AnyPlace], _T | None], where: AnyPlace = directory
    ) -> _T | None:
        try:
            found = how(child_of(where, name))
        except SourceError as error:
            findings.append(_malformed(name, error))
            return None
        if found is None:
            findings.append(_missing(name))
        return found

    beside = CheckedNodeFiles(
        read("meta.properties", read_meta_properties, parent_of(directory)),
        read("quorum-state", read_quorum_state),
        read("leader-epoch-checkpoint", read_epoch_checkpoint),
        findings,
    )
    topic_id = read("partition.metadata", _read_topic_id)
    if topic_id not in (None, METADATA_TOPIC_ID):
        findings.append(
            _error(
                "topic-id",
                f"the topic id is {topic_id!r}, that of the metadata log is {METADATA_TOPIC_ID}",
                "partition.metadata",
            )
        )
    return beside


def _read_topic_id(path: AnyPlace) -> str | None:
    data = read_if_present(path)
    if data is None:
        return None
    for line in data.decode("ascii", "replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "topic_id":
            return value.strip()[:64]
    raise SourceError(f"{path}: no topic_id")


def _malformed(name: str, error: SourceError) -> Finding:
    reason = error.message.replace("\n", " ")
    return Finding(
        severity=Severity.ERROR,
        code=MALFORMED,
        message=f"it can't be used: {reason}",
        action="a node does not start with it: take it from a backup, or format the log dir anew",
        file=name,
    )


def _missing(name: str) -> Finding:
    return Finding(
        severity=Severity.NOTE,
        code="file-missing",
        message="there is no such file: what it would tell is not checked",
        action="none needed in a copy; a node's directory has it",
        file=name,
    )


def _error(code: str, message: str, file: str, action: str = _WHOSE) -> Finding:
    return Finding(severity=Severity.ERROR, code=code, message=message, action=action, file=file)


def _warning(code: str, message: str, file: str, action: str = _WHOSE) -> Finding:
    return Finding(severity=Severity.WARNING, code=code, message=message, action=action, file=file)


def check_ids(beside: CheckedNodeFiles) -> Iterator[Finding]:
    """What the files say of each other; needs no log."""
    properties, state = beside.properties, beside.state
    if properties is None or state is None or not state.cluster_id:
        return
    if properties.cluster_id is not None and properties.cluster_id != state.cluster_id:
        yield _error(
            "cluster-id",
            f"the cluster id is {state.cluster_id}, in meta.properties it is"
            f" {properties.cluster_id}",
            "quorum-state",
        )


class QuorumCheck:
    """Checks the files beside the log against what the log says. Cost: folds the cluster.

    Args:
        image: The newest image.
        last_epoch: Leader epoch of the last batch of the log, None without one.
    """

    def __init__(self, beside: CheckedNodeFiles, image: Image, last_epoch: int | None) -> None:
        self.properties, self.state = beside.properties, beside.state
        self.image = image
        self.last_epoch = last_epoch
        self.voters = self._voters()
        """Directory id of each voter in the log; empty with a static quorum."""

    def run(self) -> Iterator[Finding]:
        """All of them."""
        if self.properties is not None and self.properties.node_id is not None:
            yield from self._whose_directory(self.properties.node_id, self.properties.directory_id)
        if self.state is not None:
            yield from self._state_and_voters(self.state)
            yield from self._state_and_log(self.state)

    def _voters(self) -> dict[int, str]:
        from metashell.schema.uuids import uuid_texts

        columns = self.image.quorum.voters
        if columns is None:
            return {}
        ids = columns.fixed("voter_id").tolist()
        return dict(zip(ids, uuid_texts(columns.fixed("voter_directory_id")), strict=True))

    def _owner(self, directory: str) -> tuple[str, int] | None:
        """Who has that directory by the log: (voter or broker, id)."""
        from metashell.schema.uuids import parse_uuid

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
            yield _error(
                "node-id",
                f"node.id is {node}, but by the log directory.id {directory} belongs to"
                f" {owner[0]} {owner[1]}",
                "meta.properties",
            )
            return
        if owner is not None:
            return
        if node in self.voters and directory:
            yield _warning(
                "directory-id",
                f"directory.id is {directory}, but by the log voter {node} has"
                f" {self.voters[node]}: with this directory the node does not vote",
                "meta.properties",
                "after a new disk: `kafka-metadata-quorum remove-controller` with the old"
                " directory id, then `add-controller`; else it is another node's log dir",
            )
            return
        brokers, controllers = self.image.brokers, self.image.part("controllers")
        known = {*brokers.ids.tolist(), *self._static_voters(), *self.voters}
        known.update(controllers.columns.fixed("controller_id").tolist())
        if node not in known:
            yield _warning(
                "node-id-unknown",
                f"node.id is {node}, and the log knows no broker, controller or voter of that id",
                "meta.properties",
            )
        elif node in brokers.ids.tolist() and directory:
            at = brokers.ids.tolist().index(node)
            if int(brokers.log_dirs.counts[at]) > 0:
                yield _warning(
                    "directory-id",
                    f"directory.id is {directory}, which is none of the directories that broker"
                    f" {node} has registered",
                    "meta.properties",
                    "none needed where metadata.log.dir is a directory of its own; else it is"
                    " another node's log dir",
                )

    def _static_voters(self) -> set[int]:
        listed = self.state.current_voters if self.state is not None else None
        return set(listed or ())

    def _state_and_voters(self, state: QuorumState) -> Iterator[Finding]:
        voters = set(self.voters) or self._static_voters()
        if self.voters and state.current_voters and set(state.current_voters) != voters:
            yield _warning(
                "voters",
                f"the voters are {sorted(state.current_voters)}, by the log they are"
                f" {sorted(voters)}",
                "quorum-state",
                "none needed after a change of voters: the node writes it again",
            )
        leaders = self.image.quorum.leaders
        if not self.voters and voters and leaders and set(leaders[-1].voters) != voters:
            yield _warning(
                "voters",
                f"the voters are {sorted(voters)}, by the last leader change they are"
                f" {sorted(leaders[-1].voters)}",
                "quorum-state",
                "make controller.quorum.voters equal on all nodes",
            )
        if voters and state.leader_id is not None and state.leader_id not in voters:
            yield _error(
                "leader-not-voter",
                f"the leader is {state.leader_id}, the voters are {sorted(voters)}",
                "quorum-state",
            )
        voted = state.voted_directory_id
        if voted is not None and state.voted_id in self.voters:
            of_voter = self.voters[state.voted_id]
            if of_voter != voted:
                yield _warning(
                    "voted-directory",
                    f"the vote went to node {state.voted_id} with directory {voted}, by the log it"
                    f" has {of_voter}",
                    "quorum-state",
                    "none needed after a new disk of that node",
                )

    def _state_and_log(self, state: QuorumState) -> Iterator[Finding]:
        if self.last_epoch is not None and state.leader_epoch < self.last_epoch:
            yield _warning(
                "epoch-behind",
                f"the leader epoch is {state.leader_epoch}, the log is at {self.last_epoch}:"
                " the file is older than the log",
                "quorum-state",
                "none needed in a copy made while the node ran; else a file of another time",
            )
        for leadership in self.image.quorum.leaders[-1:]:
            same_epoch = leadership.epoch == state.leader_epoch
            if same_epoch and state.leader_id not in (None, leadership.leader):
                yield _error(
                    "leader-differs",
                    f"the leader of epoch {state.leader_epoch} is {state.leader_id}, by the log it"
                    f" is {leadership.leader} (offset {leadership.offset})",
                    "quorum-state",
                )


def disagreements(directory: AnyPlace, image: Image) -> list[Finding]:
    """What the files beside a log and the log say differently. Cost: folds the cluster.

    Files that are missing are no disagreement, and of the log only the part counts that the image
    was made from; ``check`` reads all of it.

    Args:
        directory: The metadata directory.
        image: The newest image.
    """
    beside = read_node_files(directory)
    found = [*beside.findings, *check_ids(beside), *_check_epochs(beside, image.records)]
    if not _base_is_missing(image.records):
        epoch = image.provenance.epoch
        found += QuorumCheck(beside, image, epoch if epoch >= 0 else None).run()
    return [finding for finding in found if finding.severity is not Severity.NOTE]


def _check_epochs(beside: CheckedNodeFiles, records: Records) -> Iterator[Finding]:
    """``leader-epoch-checkpoint`` against the batches."""
    from metashell.checks.fsck import facts_of
    from metashell.checks.fsck_order import check_epochs

    if not beside.epochs:
        return
    loaded, frames = records.loaded, records.frames
    segments = [
        facts_of(loaded, i, frames) for i, file in enumerate(loaded.files) if not file.is_checkpoint
    ]
    yield from check_epochs(segments, [], [(e.epoch, e.start_offset) for e in beside.epochs])


def _base_is_missing(records: Records) -> bool:
    """Whether the image is made of the log's end alone: it may lack whom the files name."""
    files = records.loaded.files
    if any(file.end_offset for file in files):
        return False
    firsts = [file.chain.first_offset for file in files if not file.is_checkpoint]
    return bool(firsts) and firsts[0] > 0
