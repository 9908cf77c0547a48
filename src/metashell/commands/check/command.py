"""``check``: fsck for a metadata directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from metashell.commands.check.printer import FindingPrinter
from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, refuse_more
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.columns import integer, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.errors import ExitCode, SourceError, UsageError

if TYPE_CHECKING:
    from metashell.checks.finding import CheckReport
    from metashell.checks.fsck import CheckedFile
    from metashell.checks.quorum_findings import CheckedNodeFiles
    from metashell.commands.check.keyed import KeyedCheck
    from metashell.commands.check.replay import ReplayFaults
    from metashell.log.frames import Frames
    from metashell.log.read import Loaded
    from metashell.sources.source import Source

_SEVERITIES = ("error", "warning", "note")
_LIMIT = 20

_TABLES = one_table(
    text("severity", "error, warning or note; the worst come first."),
    text("code", "The kind of finding; the name is stable."),
    text("file", "The file."),
    integer("pos", "Byte position in the file; of a record that of its batch."),
    integer("offset", "Log offset of the finding, or the next offset expected."),
    text("path", "The node."),
    text("message", "What it means."),
    text("action", "What to do."),
)


class CheckCommand(RowsCommand):
    """Find what is wrong with the source."""

    group = "what is wrong"
    name = "check"
    summary = "Check the files, the records and the state they lead to."
    one_cluster = True
    noun = ("finding", "findings")
    tables = _TABLES
    has_text = True
    own_options = frozenset({"--limit", "-n"})
    manual = Manual(
        synopsis="check [--quick] [--state] [--severity LEVEL] [--limit N] [-o FORMAT]",
        description=(
            "Checks every file of the metadata directory, also files from before the newest "
            "checkpoint. It looks at names, batches and their CRCs, offsets, leader epochs, "
            "timestamps and records. It looks at indexes, gaps between files, a torn tail and an "
            "unfinished transaction. It replays the records and tells of those that do not fit. "
            "It compares each checkpoint with a replay from the one before. It compares "
            "quorum-state, meta.properties and the voters in the log. It tells which ids the "
            "log proves if meta.properties is lost. With -s it checks that file alone.\n\n"
            "Damage is printed first. Each finding says how bad it is, where it is, what it means "
            "and what to do. An error means that something is lost or wrong. A warning does not "
            "need damage: a crash leaves a torn tail. --state adds warnings about the cluster's "
            "state, such as partitions without a leader; `health` tells more about these. "
            "Identical findings are printed together. check changes and repairs nothing.\n\n"
            "In a broker's log directories check also looks at the logs of coordinators: "
            "__consumer_offsets, __transaction_state and __share_group_state. `metashell -d "
            "DIR/__consumer_offsets-3 check` checks one alone. check tells which records a broker "
            "refuses or skips. A record that ends the load of the partition is an error.\n\n"
            "With several log directories of a node it tells why the node would not start on them. "
            "It compares replicas of a coordinators' partition if several are together (`metashell "
            "--join`).\n\n"
            "The exit status is 0 without errors, 1 with errors, 3 if a file can't be read."
        ),
        options=(
            Option(("--quick",), "Check the files alone: no replay, no comparison of checkpoints."),
            Option(("--state",), "Print warnings about the cluster's state too."),
            Option(
                ("--severity",),
                "Print findings of that level and worse: error, warning or note (the default).",
                "LEVEL",
                _SEVERITIES,
            ),
            Option(
                ("--limit", "-n"),
                f"Print at most N findings of one kind; {_LIMIT} by default, all with -o.",
                "N",
            ),
        ),
        examples=(
            ("check", "check everything"),
            ("check --quick", "check the files alone"),
            ("check --severity error", "only what is lost or wrong, and the summary"),
            ("check --state", "damage, and what is wrong with partitions and configs"),
            ("check -o csv", "for a spreadsheet"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Check, then print what was found, the worst first."""
        refuse_more(self, parsed.arguments)
        _levels(parsed)
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each finding."""
        run, printer = _checked(query.context, query.parsed, limit=None)
        query.add(map(asdict, printer.findings()))
        query.status = run.status

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A block for each finding, and the summary."""
        run, printer = _checked(context, parsed, limit=_LIMIT)
        printer.text()
        context.out.write(run.summary(with_state=printer.with_state) + "\n")
        return run.status


def _levels(parsed: Parsed) -> Sequence[str]:
    """The severities that are shown.

    Raises:
        UsageError: There is none of that name.
    """
    level = parsed.values.get("--severity", "note")
    if level not in _SEVERITIES:
        raise UsageError(f"--severity {level}: not one of {', '.join(_SEVERITIES)}")
    return _SEVERITIES[: _SEVERITIES.index(level) + 1]


def _checked(
    context: Context, parsed: Parsed, limit: int | None
) -> tuple[_Run | KeyedCheck, FindingPrinter]:
    """Check what the words ask for."""
    from metashell.checks.finding import CheckReport

    report = CheckReport(parsed.count("--limit") or limit)
    # Log directories without a metadata log have coordinators' logs to check.
    source = context.source
    if source is None or source.capabilities.has_image:
        source = context.needs_source()
    run: _Run | KeyedCheck
    if source.capabilities.has_image:
        run = _Run(context, source, report)
    else:
        from metashell.commands.check.keyed import KeyedCheck

        run = KeyedCheck(context, source, report)
    run.all(quick="--quick" in parsed.switches)
    printer = FindingPrinter(
        context, run.report, _levels(parsed), with_state="--state" in parsed.switches
    )
    return run, printer


def check_source(context: Context, source: Source, report: CheckReport) -> None:
    """Check everything, for who shows the findings in another way."""
    _Run(context, source, report).all(quick=False)


class _Run:
    """One run over a source."""

    def __init__(self, context: Context, source: Source, report: CheckReport) -> None:
        self.context, self.source, self.report = context, source, report
        self.unreadable = False
        self.n_files = self.n_batches = self.n_records = 0
        self.facts: dict[str, CheckedFile] = {}
        # A directory's own path: one file alone (-s) and a live quorum's log have no surroundings
        # to be checked.
        log = source.log
        self.is_directory = not log.is_file
        self.directory = log.place if self.is_directory and log.in_memory is None else None

    def all(self, *, quick: bool) -> None:
        """Check everything that is asked for."""
        from metashell.commands.check.replay import ReplayFaults, open_transaction

        faults = ReplayFaults(self.report)
        if self.source.has_coordinator_logs:
            self._coordinators(quick=quick)
        self._files(faults)
        beside = self._surroundings()
        if not self._base_is_missing():
            self.report.extend(open_transaction(self.source.image.records))
        if quick:
            faults.add(self.source.image.records)
            return
        self._state(faults, beside)
        if self.is_directory:
            self._checkpoints(faults)
        if len(self.source.log_places) > 1:
            from metashell.commands.check.log_directories import check_log_directories

            stop = partial(stop_if_cancelled, self.context)
            self.report.extend(check_log_directories(self.source, stop))

    def _coordinators(self, *, quick: bool) -> None:
        """Check the coordinators' logs in the node's log directories."""
        from metashell.commands.check.keyed import KeyedCheck

        run = KeyedCheck(self.context, self.source, self.report)
        run.all(quick=quick)
        self.unreadable |= run.unreadable
        self.n_files += run.n_files
        self.n_batches += run.n_batches
        self.n_records += run.n_records

    @property
    def status(self) -> int:
        """The exit status."""
        from metashell.checks.finding import Severity

        if self.unreadable:
            return ExitCode.SOURCE
        return ExitCode.FAILED if self.report.count(Severity.ERROR) else ExitCode.OK

    def summary(self, *, with_state: bool) -> str:
        """The last line.

        Args:
            with_state: Whether findings about the cluster's state count.
        """
        from metashell.checks.finding import Severity
        from metashell.commands.check.summary import counted, summary_line

        of_state = None if with_state else False
        counts = [(self.report.count(one, of_state=of_state), one) for one in Severity]
        line = summary_line(self.n_files, self.n_batches, self.n_records, counts)
        hidden = 0 if with_state else self.report.count(Severity.WARNING, of_state=True)
        more = f"; --state shows {counted(hidden, 'warning')} about the cluster's state"
        return f"{line}{more if hidden else ''}"

    # Files.

    def _files(self, faults: ReplayFaults) -> None:
        """Check each file: those that are in memory there, the others one after the other."""
        from metashell.checks.fsck_order import check_order
        from metashell.log.framing import build_frames
        from metashell.log.names import CheckpointName, SegmentName
        from metashell.log.read import load
        from metashell.places.files import name_of
        from metashell.places.place import child_of, file_at, is_file, parent_of

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
        for path in paths:
            stop_if_cancelled(self.context)
            with _Reading(self, name_of(path)):
                loaded = load([path])
                its_frames, unframed = build_frames(loaded)
                self._file(loaded, 0, its_frames)
                faults.add_faults(unframed)
        if not self.is_directory:
            return
        segments = self._facts_of(SegmentName)
        self.report.extend(check_order(segments, self._facts_of(CheckpointName)))

    def _file(self, loaded: Loaded, index: int, frames: Frames) -> None:
        from metashell.checks.fsck import check_batches, check_name, check_records, facts_of

        facts = self.facts[loaded.files[index].name] = facts_of(loaded, index, frames)
        self.n_files += 1
        self.n_batches += len(facts.pos)
        self.n_records += facts.n_records
        is_last = self._is_last(facts.name)
        self.report.extend(check_batches(facts, is_last=is_last))
        self.report.extend(check_name(facts))
        self.report.extend(check_records(facts, frames, index))

    def _is_last(self, name: str) -> bool:
        segments = self.source.log.listing.segments
        return not segments or segments[-1].name == name

    def _facts_of(self, kind: type) -> list[CheckedFile]:
        found = [facts for facts in self.facts.values() if isinstance(facts.parsed, kind)]
        return sorted(found, key=lambda facts: facts.name)

    # What stands around the log.

    def _surroundings(self) -> CheckedNodeFiles | None:
        """Names, indexes, leader epochs, ids."""
        if self.directory is None:
            return None
        from metashell.checks.fsck_index import check_index
        from metashell.checks.fsck_order import check_epochs, check_missing, check_names
        from metashell.checks.quorum_findings import UNREADABLE, check_ids, read_node_files
        from metashell.log.names import CheckpointName, SegmentName
        from metashell.places.place import file_in, names_in

        directory = self.directory
        if isinstance(directory, str):
            directory = os.path.abspath(directory)
        names = set(names_in(directory))
        segments, checkpoints = self._facts_of(SegmentName), self._facts_of(CheckpointName)
        missing = check_missing(names, segments, checkpoints)
        self.report.extend([missing] if missing is not None else [])
        self.report.extend(check_names(names, missing))
        for facts in segments:
            for suffix in (".index", ".timeindex"):
                index = facts.name.removesuffix(".log") + suffix
                if index in names:
                    with _Reading(self, index):
                        path = file_in(directory, index)
                        is_last = self._is_last(facts.name)
                        self.report.extend(check_index(facts, path, is_last=is_last))
        beside = read_node_files(directory)
        self.report.extend(beside.findings)
        self.unreadable |= any(finding.code == UNREADABLE for finding in beside.findings)
        self.report.extend(check_ids(beside))
        epochs = beside.epochs
        entries = None if epochs is None else [(e.epoch, e.start_offset) for e in epochs]
        self.report.extend(check_epochs(segments, checkpoints, entries))
        return beside

    # The state.

    def _state(self, faults: ReplayFaults, beside: CheckedNodeFiles | None) -> None:
        from metashell.checks.finding import Finding, Severity
        from metashell.checks.invariants import check_image
        from metashell.checks.quorum_findings import QuorumCheck
        from metashell.image.image import Image
        from metashell.log.fault import FaultKind
        from metashell.records.records import Records

        if self._base_is_missing():
            # In a replay of its own: what is missing here would be told again by every command.
            alone = Image(Records(self.source.log.loaded, self.source.registry))
            alone.fold_everything()
            sure = (FaultKind.DAMAGED, FaultKind.RECORD, FaultKind.UNKNOWN)
            faults.add(alone.records, sure)
            if self.directory is not None:
                self.report.add(
                    Finding(
                        severity=Severity.NOTE,
                        code="state-not-checked",
                        message="the state is not checked: what it is based on is missing",
                    )
                )
            return
        image = self.source.image
        if self.is_directory:
            image.expect(("isr",))
        image.fold_everything()
        faults.add(image.records)
        stop_if_cancelled(self.context)
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

    def _base_is_missing(self) -> bool:
        """Whether the replay begins in the middle: with a segment that is not the log's first."""
        log = self.source.log
        if log.checkpoint is not None and not log.checkpoint.is_bootstrap:
            return False
        firsts = [file.chain.first_offset for file in log.loaded.files if not file.is_checkpoint]
        return bool(firsts) and firsts[0] > 0

    def _checkpoints(self, faults: ReplayFaults) -> None:
        from metashell.commands.check.replay import CheckpointCheck

        whole = [
            name
            for name in self.source.log.listing.checkpoints
            if name.name in self.facts and self.facts[name.name].is_whole_checkpoint
        ]
        check = CheckpointCheck(self.source, whole, faults)
        for older, newer in check.pairs():
            stop_if_cancelled(self.context)
            with _Reading(self, newer.name):
                self.report.extend(check.compare(older, newer))


class _Reading:
    """Turns what prevents the reading of a file into a finding; the check goes on."""

    def __init__(self, run: _Run, name: str) -> None:
        self._run, self._name = run, name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        from metashell.checks.finding import Finding, Severity
        from metashell.places.vanished import VanishedError

        if isinstance(error, VanishedError):
            self._run.report.add(
                Finding(
                    severity=Severity.NOTE,
                    code="file-vanished",
                    message="the file went away before it was read: a running node deletes old"
                    " files",
                    action="run the check again",
                    file=self._name,
                )
            )
            return True
        if isinstance(error, SourceError):
            self._run.unreadable = True
            self._run.report.add(
                Finding(
                    severity=Severity.ERROR,
                    code="file-unreadable",
                    message=f"it can't be read: {error.message}",
                    action=error.hint,
                    file=self._name,
                )
            )
            return True
        return False


COMMAND = CheckCommand()
