"""Helpers of ``du`` and ``stats``: the files of a source to count, and the texts of sizes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.shared.unread import unread_of
from metashell.errors import ExitCode, SourceError, UsageError
from metashell.fs.escape import escape
from metashell.places.place import FileRef, name_of
from metashell.places.vanished import VanishedError

if TYPE_CHECKING:
    from metashell.answers.usage.usage import FileUsage, Usage
    from metashell.log.fault import Fault
    from metashell.sources.source import Source


def subject_of(source: Source) -> str | None:
    """The grouping of a coordinator's log besides type, hour and file.

    Returns:
        ``group`` or ``transaction``; None for a metadata log.
    """
    if source.of_coordinator is None:
        return None
    from metashell.schema.coordinators import CoordinatorLog

    log = source.of_coordinator.partition_log.partition.log
    return "transaction" if log is CoordinatorLog.TRANSACTIONS else "group"


def refuse_unknown(source: Source, option: str, word: str, known: Sequence[str], why: str) -> None:
    """Refuse what the records of a log do not have.

    Args:
        source: Has the log.
        option: The option that asks for it.
        word: Its value.
        known: Values that work.
        why: The reason, with a place for the kind of log.

    Raises:
        UsageError: The value is not among them.
    """
    if word not in known:
        of, topic = source.of_coordinator, source.of_topic
        log = "a metadata log" if of is None else str(of.partition_log.partition)
        log = log if topic is None else topic.title
        hint = f"{option} {', '.join(known)} work here"
        raise UsageError(f"{option} {word}: {why.format(log)}", hint=hint)


def _usage_of(
    source: Source, wanted: Collection[str], n_batches: int | None, poll: Callable[[], None]
) -> Usage:
    """The usage that counts the files; for a topic's log it is complete already."""
    if source.of_topic is not None:
        from metashell.answers.usage.topic import TopicUsage

        return TopicUsage(source.of_topic.tail, wanted, n_batches, poll)
    if source.of_coordinator is not None:
        from metashell.answers.usage.coordinator import CoordinatorUsage

        return CoordinatorUsage(source.of_coordinator.keyed_records, wanted, n_batches)
    from metashell.answers.usage.metadata import MetadataUsage

    return MetadataUsage(source.registry, wanted, n_batches)


class Survey:
    """Counts the files of a context's source, warning of those that can't be read whole.

    Args:
        context: Has the source.
        command: The command's name, for warnings.
        wanted: The groupings, see `metashell.answers.usage.usage.Usage`.
        n_batches: How many of the largest batches are kept.
    """

    def __init__(
        self,
        context: Context,
        command: str,
        wanted: Collection[str],
        n_batches: int | None = 0,
    ) -> None:
        self.source: Source = context.needs_source()
        self.status = ExitCode.OK
        """FAILED once a file could not be read whole."""
        poll = partial(stop_if_cancelled, context)
        self.usage = _usage_of(self.source, wanted, n_batches, poll)
        self._context, self._command = context, command
        self._registry = self.source.registry
        log = self.source.log
        listing = log.listing
        self.segments: list[FileRef] = [log.path_of(segment.name) for segment in listing.segments]
        self.checkpoints: list[FileRef] = [log.path_of(c.name) for c in listing.checkpoints]
        if log.is_file:
            # One file was opened: it is what there is to count, whatever it is called.
            self.segments, self.checkpoints = [log.path_of(log.path)], []

    def count(self, *, checkpoints: bool) -> None:
        """Count the segments, and the checkpoints if asked for."""
        from metashell.answers.usage.metadata import MetadataUsage

        usage = self.usage
        if not isinstance(usage, MetadataUsage):
            # It was counted whole: what is superseded is known once all is read.
            for file in usage.files:
                self._tell(file.faults)
            return
        for path in [*(self.checkpoints if checkpoints else ()), *self.segments]:
            if self._is_read(path, usage.count):
                self._tell(usage.files[-1].faults)

    def describe_checkpoints(self) -> list[FileUsage]:
        """The checkpoints as files, uncounted."""
        from metashell.answers.usage.metadata import describe

        found: list[FileUsage] = []
        for path in self.checkpoints:
            if self._is_read(path, lambda path: found.append(describe(path, self._registry))):
                self._tell(found[-1].faults)
        return found

    def find_names(self) -> None:
        """Look for the names of topics that the counted files do not tell, newest files first."""
        from metashell.answers.usage.metadata import MetadataUsage
        from metashell.log.read import load
        from metashell.records.records import Records

        usage = self.usage
        if not isinstance(usage, MetadataUsage):
            return
        if usage.has_unnamed:
            usage.learn_names(self.source.image.records)
        known = {file.name for file in self.source.log.loaded.files}
        known |= {file.name for file in usage.files}
        for path in reversed(self.checkpoints):
            if usage.has_unnamed and name_of(path) not in known:
                self._is_read(path, lambda p: usage.learn_names(Records(load([p]), self._registry)))

    def _is_read(self, path: FileRef, read: Callable[[FileRef], object]) -> bool:
        """Read a file; warn if it can't be read."""
        stop_if_cancelled(self._context)
        try:
            read(path)
        except VanishedError:
            self._warn(f"{name_of(path)} was deleted meanwhile: not counted")
        except SourceError as error:
            self._warn(error.message)
            self.status = ExitCode.FAILED
        else:
            return True
        return False

    def _tell(self, faults: Sequence[Fault]) -> None:
        """Warn of a file, unless that was said when the source was opened."""
        if not unread_of(faults, self.source.log).is_none:
            self.status = ExitCode.FAILED
        known = self.source.log.faults
        new = [fault for fault in faults if fault not in known]
        if new:
            more = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
            self._warn(f"{new[0]}{more}: counted as far as it can be read")

    def _warn(self, text: str) -> None:
        self._context.warn(escape(f"{self._command}: {text}"))


def share_text(part: int, whole: int) -> str:
    """A part in percent."""
    return f"{100 * part / whole:.1f}%" if whole else "-"
