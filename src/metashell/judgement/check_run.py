"""One run of ``check`` over the logs of a source: the metadata log, coordinators' logs, or both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from metashell.checks import coordinator_log
from metashell.checks.coordinator_log import check_epochs as check_epochs_of
from metashell.checks.coordinator_log import read_batches
from metashell.checks.finding import CheckReport, Finding
from metashell.checks.fsck import CheckedFile, check_batches, check_name, check_records, facts_of
from metashell.checks.fsck_index import INDEX_SUFFIXES, check_index
from metashell.checks.fsck_order import (
    check_epochs,
    check_missing,
    check_names,
    check_order,
    covered_by,
    log_end_of,
)
from metashell.checks.invariants import check_image
from metashell.checks.quorum_findings import (
    UNREADABLE,
    CheckedNodeFiles,
    QuorumCheck,
    base_is_missing,
    check_ids,
    read_node_files,
)
from metashell.errors import ExitCode, SourceError
from metashell.findings.kind import About, Need, Severity
from metashell.findings.known import all_kinds
from metashell.image.image import Image
from metashell.judgement.evidence import Evidence, find
from metashell.judgement.log_directories import (
    check_replicas,
    conflicting_directories,
    missing_directories,
)
from metashell.judgement.replay import CheckpointCheck, ReplayFaults, open_transaction
from metashell.log.fault import FaultKind
from metashell.log.frames import Frames
from metashell.log.framing import build_frames
from metashell.log.names import CheckpointName, SegmentName
from metashell.log.read import Loaded, load
from metashell.node_files.epoch_checkpoint import FILE_NAME as EPOCH_CHECKPOINT
from metashell.node_files.epoch_checkpoint import read_epoch_checkpoint
from metashell.places.place import (
    child_of,
    file_at,
    file_in,
    is_file,
    name_of,
    names_in,
    parent_of,
    read_ahead,
)
from metashell.places.remote import RemoteFile
from metashell.places.vanished import VanishedError
from metashell.records.records import Records
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.coordinator_logs import CoordinatorRecords
from metashell.sources.source import Source

if TYPE_CHECKING:
    from metashell.sources.topic import TopicSource

_OWN: Final = frozenset(
    {
        "metashell.judgement.deep_findings:find",
        "metashell.judgement.log_findings:find",
        "metashell.judgement.log_findings:find_names",
        "metashell.judgement.quorum_findings:find_beside",
    }
)
"""Finders of what a run finds itself, with a finding for each place."""


class CheckRun:
    """One run over the logs that a source has.

    Args:
        source: A metadata log, a coordinator's log, or a node's log directories.
        report: Takes what is found.
        stop: Called again and again; it raises to end everything.
    """

    def __init__(self, source: Source, report: CheckReport, stop: Callable[[], None]) -> None:
        self.source, self.report, self.stop = source, report, stop
        self.unreadable = False
        self.n_files = self.n_batches = self.n_records = 0
        self.facts: dict[str, CheckedFile] = {}
        self.faults = ReplayFaults(report)
        # A directory's own path: one file alone (-s) and a live quorum's log have no surroundings
        # to be checked.
        log = source.log
        self.is_directory = not log.is_file
        self.directory = log.place if self.is_directory and log.in_memory is None else None

    def all(self, *, quick: bool, with_others: bool = True) -> None:
        """Check everything that is asked for.

        Args:
            quick: Whether the files alone are checked.
            with_others: Whether other finders tell what they know of files and of the node's disk.
        """
        if self.source.of_topic is not None:
            self._topic(self.source.of_topic)
            return
        source, has_many = self.source, self.source.of_coordinator is None
        self.report.extend(missing_directories(source))
        if source.has_coordinator_logs:
            self._coordinators(quick=quick)
        if source.capabilities.has_image:
            self._metadata(quick=quick)
            if with_others:
                self._declared(looks_in=not quick)
            has_many = len(source.log_places) > 1
        elif has_many:
            self.report.extend(conflicting_directories(source))
        if has_many and not quick:
            self.report.extend(check_replicas(source, self.stop))

    @property
    def status(self) -> int:
        """The exit status."""
        if self.unreadable:
            return ExitCode.SOURCE
        return ExitCode.FAILED if self.report.count(Severity.CRITICAL) else ExitCode.OK

    def summary(self, *, with_state: bool) -> str:
        """The last line, such as ``3 files, 12 batches, 40 records: 1 critical, 2 warnings``.

        Args:
            with_state: Whether findings about the cluster's state count.
        """
        of_state = None if with_state else False
        found = [(self.report.count(one, of_state=of_state), one) for one in Severity]
        damage = ", ".join(
            f"{n:,} critical" if severity is Severity.CRITICAL else _counted(n, severity)
            for n, severity in found
            if n
        )
        hidden = 0 if with_state else self.report.count(Severity.WARNING, of_state=True)
        more = f"; --state shows {_counted(hidden, 'warning')} about the cluster's state"
        return (
            f"{_counted(self.n_files, 'file')}, {_counted(self.n_batches, 'batch', 'batches')},"
            f" {_counted(self.n_records, 'record')}: {damage or 'no damage found'}"
            f"{more if hidden else ''}"
        )

    def _declared(self, *, looks_in: bool) -> None:
        """Add what other finders know of files and of the node's disk."""
        of_log = () if base_is_missing(self.source.log.loaded) else (About.FILE,)
        wanted = [
            kind.code
            for kind in all_kinds().values()
            if (kind.about in (About.DISK, *of_log) or kind.needs is Need.CONFIG)
            and kind.finder not in _OWN
            and kind.needs is not Need.COPIES
            and not self.report.has(kind.code)
        ]
        evidence = Evidence(
            source=self.source, image=self.source.image, looks_in=looks_in, stop=self.stop
        )
        for finding in find(evidence, wanted):
            if isinstance(finding, Finding):
                self.report.add(finding)

    # Coordinators' logs.

    def _coordinators(self, *, quick: bool) -> None:
        """Check the files, and unless it is to be quick the records and their replay."""
        for log in CoordinatorLog:
            logs = self.source.coordinator_logs(log)
            for partition in () if logs is None else logs.partitions:
                self.stop()
                assert logs is not None
                try:
                    found = logs.read(partition)
                except SourceError as error:
                    self.unreadable = True
                    self.report.add(
                        Finding("unreadable", error.message, error.hint, file=str(partition))
                    )
                    continue
                self._coordinator(found, quick=quick)

    def _coordinator(self, found: CoordinatorRecords, *, quick: bool) -> None:
        """Check a partition."""
        records, files = found.records.whole, found.log.loaded.files
        self._add(found, coordinator_log.check_files(found.log, records))
        if not quick:
            self._add(found, coordinator_log.check_records(records, found.partition.number))
        self.n_files += len(files)
        self.n_batches += sum(len(file.chain.positions) for file in files)
        self.n_records += len(records.frames)

    def _add(self, found: CoordinatorRecords, findings: Iterable[Finding]) -> None:
        """Add findings; of one of several partitions its files are told with it."""
        if self.source.of_coordinator is None:
            findings = (replace(f, file=f"{found.partition}/{f.file}") for f in findings)
        self.report.extend(findings)

    # The log of a topic.

    def _topic(self, topic: TopicSource) -> None:
        """Check the log of a partition of any other topic."""
        log, cut, after = topic.log, topic.recovery_cut(), -1
        segments, entries = log.listing.segments, None
        names = set() if log.is_file else set(names_in(log.place))
        with self._reading(EPOCH_CHECKPOINT):
            entries = read_epoch_checkpoint(child_of(topic.tail.place, EPOCH_CHECKPOINT))
        for segment, behind in zip_longest(segments, segments[1:]):
            with self._reading(segment.name):
                facts = read_batches(log.path_of(segment.name), segment, after, self.stop)
                self._count(facts)
                last = facts.name if behind is None else None
                self.report.extend(coordinator_log.of_faults(facts.faults, last))
                self.report.extend(coordinator_log.of_zeros(facts.name, facts.size, facts.padding))
                self.report.extend(check_epochs_of(facts, entries or ()))
                self._indexes(facts, names, is_last=behind is None)
                cut.add(facts, None if behind is None else behind.base_offset)
                after = max(after, (facts.end_offset or 0) - 1)
        if not log.is_file:
            self.report.extend(cut.finding())

    # The metadata log.

    def _metadata(self, *, quick: bool) -> None:
        self._files()
        beside = self._surroundings()
        if not base_is_missing(self.source.log.loaded):
            self.report.extend(open_transaction(self.source.image.records))
        if quick:
            self.faults.add(self.source.image.records)
            return
        self._state(beside)
        if self.is_directory:
            self._checkpoints()

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Turn what prevents the reading of a file into a finding; the check goes on."""
        try:
            yield
        except VanishedError:
            self.report.add(
                Finding(
                    "file-vanished",
                    "the file went away before it was read: a running node deletes old files",
                    file=name,
                )
            )
        except SourceError as error:
            self.unreadable = True
            message = f"it can't be read: {error.message}"
            self.report.add(Finding("file-unreadable", message, error.hint, file=name))

    def _files(self) -> None:
        """Check each file: those that are in memory there, the others one after the other."""
        log = self.source.log
        frames = self.source.image.records.frames
        for i in range(len(log.loaded.files)):
            self._file(log.loaded, i, frames)
        names = [c.name for c in log.listing.checkpoints]
        names += [s.name for s in log.listing.segments]
        paths = [log.path_of(name) for name in names if name not in self.facts]
        if self.directory is not None:
            boot = child_of(parent_of(self.directory), "bootstrap.checkpoint")
            paths += [file_at(boot)] if is_file(boot) else []
        read_ahead(path.place for path in paths if isinstance(path, RemoteFile))
        for path in paths:
            self.stop()
            with self._reading(name_of(path)):
                loaded = load([path])
                its_frames, unframed = build_frames(loaded)
                self._file(loaded, 0, its_frames)
                self.faults.add_faults(unframed)
        if not self.is_directory:
            return
        segments = self._facts_of(SegmentName)
        self.report.extend(check_order(segments, self._facts_of(CheckpointName)))

    def _file(self, loaded: Loaded, index: int, frames: Frames) -> None:
        facts = self.facts[loaded.files[index].name] = facts_of(loaded, index, frames)
        self._count(facts)
        is_last = self._is_last(facts.name)
        self.report.extend(check_batches(facts, is_last=is_last))
        self.report.extend(check_name(facts))
        self.report.extend(check_records(facts, frames, index))

    def _count(self, facts: CheckedFile) -> None:
        self.n_files += 1
        self.n_batches += len(facts.pos)
        self.n_records += facts.n_records

    def _is_last(self, name: str) -> bool:
        segments = self.source.log.listing.segments
        return not segments or segments[-1].name == name

    def _facts_of(self, kind: type) -> list[CheckedFile]:
        found = [facts for facts in self.facts.values() if isinstance(facts.parsed, kind)]
        return sorted(found, key=lambda facts: facts.name)

    # The files around the log.

    def _surroundings(self) -> CheckedNodeFiles | None:
        """Names, indexes, leader epochs, ids."""
        if self.directory is None:
            return None
        directory = self.directory
        if isinstance(directory, str):
            directory = os.path.abspath(directory)
        names = set(names_in(directory))
        segments, checkpoints = self._facts_of(SegmentName), self._facts_of(CheckpointName)
        missing = check_missing(names, log_end_of(segments), covered_by(checkpoints))
        self.report.extend([missing] if missing is not None else [])
        self.report.extend(check_names(names, missing))
        indexes = [name for name in sorted(names) if name.endswith(INDEX_SUFFIXES)]
        read_ahead(child_of(directory, name) for name in indexes)
        for facts in segments:
            self._indexes(facts, names, is_last=self._is_last(facts.name))
        beside = read_node_files(directory)
        self.report.extend(beside.findings)
        self.unreadable |= any(finding.code == UNREADABLE for finding in beside.findings)
        self.report.extend(check_ids(beside))
        epochs = beside.epochs
        entries = None if epochs is None else [(e.epoch, e.start_offset) for e in epochs]
        self.report.extend(check_epochs(segments, checkpoints, entries))
        return beside

    def _indexes(self, facts: CheckedFile, names: Set[str], *, is_last: bool) -> None:
        """Check the indexes of a segment that are among the names in the directory."""
        for suffix in INDEX_SUFFIXES:
            index = facts.name.removesuffix(".log") + suffix
            if index in names:
                with self._reading(index):
                    path = file_in(self.source.log.place, index)
                    self.report.extend(check_index(facts, path, is_last=is_last))

    # The state.

    def _state(self, beside: CheckedNodeFiles | None) -> None:
        if base_is_missing(self.source.log.loaded):
            # In a replay of its own: what is missing here would be told again by every command.
            alone = Image(Records(self.source.log.loaded, self.source.registry))
            alone.fold_everything()
            sure = (FaultKind.DAMAGED, FaultKind.RECORD, FaultKind.UNKNOWN)
            self.faults.add(alone.records, sure)
            if self.directory is not None:
                self.report.add(
                    Finding(
                        "state-not-checked",
                        "the state is not checked: what it is based on is missing",
                    )
                )
            return
        image = self.source.image
        if self.is_directory:
            image.expect(("isr",))
        image.fold_everything()
        self.faults.add(image.records)
        self.stop()
        if not self.is_directory:
            return
        check_image(image, self.report)
        if beside is None:
            return
        epochs = [int(facts.epoch[-1]) for facts in self.facts.values() if len(facts.epoch)]
        known = {one.identity.cluster_id for one in self.source.log_directories if one.identity}
        cluster_id = known.pop() if len(known) == 1 else None
        check = QuorumCheck(beside, image, max(epochs, default=None), cluster_id)
        self.report.extend(check.run())

    def _checkpoints(self) -> None:
        whole = [
            name
            for name in self.source.log.listing.checkpoints
            if name.name in self.facts and self.facts[name.name].is_whole_checkpoint
        ]
        check = CheckpointCheck(self.source, whole, self.faults)
        for older, newer in check.pairs():
            self.stop()
            with self._reading(newer.name):
                self.report.extend(check.compare(older, newer))


def _counted(n: int, one: object, many: str | None = None) -> str:
    """A number with what it counts."""
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"
