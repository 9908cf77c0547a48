"""The state that the whole program shows at one moment, and commands run on it: no widget here.

A view state is the source at one offset. Every view shows the same one. Time travel and news of a
live source make a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from metashell.commands.framework.aliases import NO_HABITS, Habits
from metashell.commands.framework.cluster import member_at
from metashell.commands.framework.command import Context, Nowhere
from metashell.commands.framework.command_line import Word
from metashell.commands.shared.captured import CapturedAnswer
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, PathError, SourceError
from metashell.fs.escape import diagnostic, for_terminal
from metashell.fs.node import Directory
from metashell.fs.path import cluster_path, normalise, resolve
from metashell.tui.text import error_message

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source


_MOST_WARNINGS: Final = 1_000
NO_CLUSTER: Final = "which directory? 6 shows all of them, and enter goes into one"
"""A fleet's directory of clusters; what opens sources is imported once something is drawn."""
NO_IMAGE: Final = (
    "no metadata log here: also give the log directory that has __cluster_metadata-0, "
    "such as -d DIR -d DIR"
)
"""The message for a source that has only coordinators' logs."""
WHY_NOT: Final = {
    "fleet": "one source is open: several directories are a fleet",
    "topic": "no topic was opened: T opens that of the row under the cursor",
    "rows": "no command has given rows yet: a command such as :topics does",
    "groups": "no logs of groups or transactions here: give a broker's log directories, such as "
    "-d DIR -d DIR",
    "disks": "no log of a topic here: give a broker's log directories, such as -d DIR -d DIR",
}
"""The messages for a source without several directories, or without such logs."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ViewState:
    """One state of what is explored."""

    opened: Source | FleetSource
    """The opened source at the offset shown, or the whole fleet."""
    serial: int = 0
    """A number that is unique for each view state."""
    previous: Source | None = None
    """The cluster as it was shown before the last move in time; None where there was none."""
    cluster: Source | None = None
    """The cluster at hand: what was opened, or of a fleet the one that the current path lies in;
    None outside of all clusters.
    """
    prefix: str = ""
    """The text before the cluster's own paths: empty, or ``/clusters/NAME``."""
    problem: str | None = None
    """Why the cluster at `prefix` can't be read; `cluster` is None then."""

    kinds: frozenset[str] = frozenset()
    """The logs beside the metadata log: ``groups`` (and transactions), ``disks`` (of topics)."""

    @property
    def is_all_of_fleet(self) -> bool:
        """Whether several clusters are looked at, and none of them in particular."""
        return self.fleet is not None and self.cluster is None and self.problem is None

    @property
    def has_copies(self) -> bool:
        """Whether several directories of one cluster are looked at, and none in particular."""
        if self.fleet is None or not self.is_all_of_fleet:
            return False
        ids = [member.cluster_id for member in self.fleet.members.values() if member.cluster_id]
        return len(ids) > 1 == len(set(ids))

    @property
    def has_image(self) -> bool:
        """Whether there is a cluster at hand that tells its metadata."""
        return self.cluster is not None and self.cluster.capabilities.has_image

    @property
    def why_no_image(self) -> str:
        """The message for a view that needs metadata, if there is none."""
        return self.why_no_cluster if self.cluster is None else NO_IMAGE

    @property
    def why_no_cluster(self) -> str:
        """The message for a view that needs a cluster, if none is current."""
        return self.problem or NO_CLUSTER

    @property
    def root(self) -> Directory:
        """The root of the file system."""
        return self.opened.root

    @property
    def source(self) -> Source | None:
        """The opened source; None for a fleet."""
        return _sorted_out(self.opened)[0]

    @property
    def fleet(self) -> FleetSource | None:
        """The fleet, where several directories were opened."""
        return _sorted_out(self.opened)[1]

    @property
    def is_newest(self) -> bool:
        """Whether it shows the end of the log."""
        return self.cluster is None or self.cluster.moment_offset is None

    @property
    def span(self) -> tuple[int, int] | None:
        """Offsets of the previous stop and of this one, the lower first; None without a previous.

        The changes behind the first offset, up to the second one, are the changes since that stop.
        Cost: may decode.
        """
        if self.previous is None or self.cluster is None:
            return None
        before, now = self.previous.status().offset, self.cluster.status().offset
        if before is None or now is None or before == now:
            return None
        return min(before, now), max(before, now)


def _sorted_out(opened: Source | FleetSource) -> tuple[Source | None, FleetSource | None]:
    """The opened source, or else the fleet."""
    from metashell.sources.source import Source

    return (opened, None) if isinstance(opened, Source) else (None, opened)


_SERIALS = count(1)


def view_state_of(
    opened: Source | FleetSource,
    path: str,
    *,
    previous: Source | None = None,
    kinds: frozenset[str] | None = None,
) -> ViewState:
    """The view state of an opened source. A fleet's view state has the cluster that a path lies in.

    Cost: may open the cluster.

    Args:
        opened: The opened source or fleet.
        path: The current path.
        previous: The cluster as it was shown before.
        kinds: The kinds of its logs; None if unknown.
    """
    view_state = ViewState(opened=opened, serial=next(_SERIALS), previous=previous)
    alone, fleet = _sorted_out(opened)
    if alone is not None:
        return replace(
            view_state, cluster=alone, kinds=_kinds_of(alone) if kinds is None else kinds
        )
    member = None if fleet is None else member_at(fleet, path)
    if member is None:
        return view_state
    view_state = replace(view_state, prefix=cluster_path(member.name))
    try:
        source = member.source()
        return replace(view_state, cluster=source, kinds=_kinds_of(source))
    except SourceError as error:
        return replace(view_state, problem=error_message(error))


def _kinds_of(source: Source) -> frozenset[str]:
    """The kinds of logs that a source has. Cost: lists its log directories."""
    newest = source.newest
    found = {"groups": bool(newest.coordinator_directories), "disks": newest.has_logs}
    return frozenset(kind for kind, is_there in found.items() if is_there)


def view_state_at(view_state: ViewState, point: int | str | None) -> ViewState:
    """The view state with its cluster at another offset or time; None for the end of the log.

    Raises:
        MetashellError: The files do not cover it.
    """
    cluster = view_state.cluster
    assert cluster is not None
    newest = cluster.newest
    return view_state_with(view_state, newest.refreshed() if point is None else newest.at(point))


def view_state_with(view_state: ViewState, moved: Source) -> ViewState:
    """The view state with its cluster in another state."""
    opened = moved if view_state.fleet is None else view_state.opened
    return replace(
        view_state, opened=opened, serial=next(_SERIALS), previous=view_state.cluster, cluster=moved
    )


def view_state_there(
    view_state: ViewState, path: str, *, moves: bool, point: int | str | None = None
) -> ViewState:
    """The view state of a path; a new one for another cluster. Cost: may open the cluster.

    Args:
        view_state: The view state before.
        path: The path to go to.
        moves: Whether to go to `point` too, rather than to the state that the cluster is in.
        point: The offset or time; None for the end of the log.

    Raises:
        MetashellError: The files do not cover the point.
    """
    if cluster_at(view_state, path) != view_state.prefix:
        view_state = view_state_of(view_state.opened, path)
    return (
        view_state_at(view_state, point) if moves and view_state.cluster is not None else view_state
    )


def settle(view_state: ViewState) -> None:
    """Have commands on the fleet find the cluster at hand in the state that is shown.

    Only what is shown may do so: another job may be on the way to another state of it.
    """
    if view_state.fleet is None or view_state.cluster is None:
        return
    member = member_at(view_state.fleet, view_state.prefix)
    if member is not None and member.opened is not view_state.cluster:
        member.show(view_state.cluster)


def cluster_at(view_state: ViewState, path: str) -> str:
    """The text before the paths of the cluster that a path lies in; empty outside of clusters."""
    if view_state.fleet is None:
        return ""
    member = member_at(view_state.fleet, path)
    return "" if member is None else cluster_path(member.name)


def is_below(path: str, prefix: str) -> bool:
    """Whether a path is that of a directory or of something in it; everything is in ``""``."""
    return not prefix or path == prefix or path.startswith(f"{prefix}/")


@dataclass(slots=True)
class CommandAnswer:
    """The answer of a command."""

    status: int
    """Its exit code."""
    text: str
    """The text output, escaped for a terminal; its colours are ANSI sequences of ours."""
    tables: list[pa.Table]
    """Rows that it wrote as a table for people: see `metashell.commands.rows.cell_text`."""
    warnings: list[str]
    """Diagnostics, a line each, escaped."""
    context: Context
    """The context that the command left: `cd` and `at` change it."""
    verdicts: Sequence[Iterable[str]] = ()
    """The sentences before the rows, as data; see `RowsQuery.verdict`."""

    def remarks(self, *, has_text: bool = False) -> Sequence[str]:
        """Its warnings, and its status where that says more; `has_text`: whether it wrote any."""
        notes = self.warnings[:_MOST_WARNINGS]
        if len(self.warnings) > _MOST_WARNINGS:
            notes.append(f"... {len(self.warnings) - _MOST_WARNINGS:,} more warnings")
        # That a command found something, as `diff` does, is no failure.
        is_found = (has_text or bool(self.tables)) and not notes
        if self.status and not (self.status == ExitCode.FAILED and is_found):
            notes.append(f"exit status {self.status}")
        return notes

    @property
    def table(self) -> pa.Table | None:
        """The first table, if there is one."""
        return self.tables[0] if self.tables else None


@dataclass(slots=True)
class _Kept(CapturedAnswer):
    """An output that keeps what is written, or hands it on."""

    on_text: Callable[[str], None] | None = None

    def write(self, text: str) -> None:
        """Keep a piece of text, or hand it on."""
        text = for_terminal(text)
        if self.on_text is None:
            CapturedAnswer.write(self, text)
        else:
            self.on_text(text)


def ask(
    view_state: ViewState,
    words: Sequence[str] | str,
    *,
    cwd: str = "/",
    cancelled: Callable[[], bool] = lambda: False,
    width: int = 80,
    habits: Habits = NO_HABITS,
    kept: dict[str, Any] | None = None,
    interactive: bool = False,
    history: Sequence[str] = (),
    on_text: Callable[[str], None] | None = None,
    reads_older: bool = True,
) -> CommandAnswer:
    """Run a command on a view state; to be called in a job.

    Args:
        view_state: The view state that the command reads.
        words: The command's words, taken as they are, or a command line.
        cwd: The current directory.
        cancelled: Asked by long loops.
        width: Columns that its text may take.
        habits: Aliases and default options; those of the user count only for what the user typed.
        kept: Values that commands keep from one run to the next.
        interactive: Whether `cd` and `at` make sense.
        history: Lines typed before.
        on_text: Called with each piece of text as it comes, in place of `CommandAnswer.text`.
        reads_older: Whether rows wait for small older files, which hold more timestamps.

    Raises:
        KeyboardInterrupt: It was cancelled.
    """
    from metashell.commands.framework.run import run_line, run_words

    out = _Kept(is_terminal=True, width=width, on_text=on_text)
    warnings = list[str]()
    context = quiet_context(
        *(view_state, cancelled),
        out=out,
        warn=lambda text: warnings.append(diagnostic(text)),
        cwd=cwd,
        interactive=interactive,
        history=history,
        habits=habits,
        kept={} if kept is None else kept,
        reads_older=reads_older,
    )
    if isinstance(words, str):
        status = run_line(context, words)
    else:
        # A name with * in it is that name.
        status = run_words(context, [Word(word) for word in words])
    return CommandAnswer(status, out.text, out.tables, warnings, context, out.verdicts)


def quiet_context(view_state: ViewState, cancelled: Callable[[], bool], **more: Any) -> Context:
    """A context on a view state; nothing is printed unless `more` says where to."""
    quiet = {"out": Nowhere(is_terminal=True), "warn": lambda _: None, "cwd": "/", **more}
    source, fleet = view_state.source, view_state.fleet
    return Context(root=view_state.root, cancelled=cancelled, source=source, fleet=fleet, **quiet)


def directory_at(view_state: ViewState, path: str) -> str:
    """The directory that relative paths begin in: the node's own, else the one it is in.

    To be called in a job.
    """
    path = normalise(path)
    while path != "/":
        with suppress(PathError):
            if isinstance(resolve(view_state.root, path).node, Directory):
                break
        path = path.rpartition("/")[0] or "/"
    return path


def is_older(view_state: ViewState, shown: ViewState) -> bool:
    """Whether the end of a log was overtaken by news of it; both were looked at by a job."""
    if view_state.fleet is not None or not (view_state.is_newest and shown.is_newest):
        return False
    found, known = view_state.opened.status().offset, shown.opened.status().offset
    return found is not None and known is not None and found < known


@dataclass(frozen=True, slots=True, eq=False)
class CommandResult:
    """The result of a command that has rows."""

    line: str
    """The command line."""
    answer: CommandAnswer
    cwd: str
    """The directory that it ran in."""
    offset: int | None = None
    """The offset of the earlier state that the rows are about; None for the newest, or another."""
    title: str = ""
    """The meaning of the rows, where the command line alone does not tell it."""
    span: tuple[int, int] | None = None
    """Offsets of the two states whose difference the rows are, the lower first."""
