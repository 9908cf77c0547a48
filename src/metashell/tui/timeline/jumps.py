"""Where the timeline can go: what it knows of a log, and the stops of nodes, leaders and faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.fs.change_parts import TopicHistory, part_histories
from metashell.fs.change_texts import change_text, pair_text
from metashell.fs.path import split
from metashell.log.frames import control_key
from metashell.records.density import LEADER_CHANGE, Density
from metashell.schema.arena import I64
from metashell.sources.reduced import ReducedSource
from metashell.tui.node.history import fields_of, history_paths, name_below
from metashell.tui.view_state import ViewState, ask

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

    from metashell.log.fault import Fault
    from metashell.schema.model import Registry
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job
    from metashell.tui.timeline.timeline import Timeline
    from metashell.tui.timeline.track import Track


_FOLLOWED: Final = 50_000
"""Records followed one by one. If a directory has more, each counts as a change of it."""
_VERBS: Final = ("created", "removed", "changed")
_TOPIC_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class Stops:
    """Places to stop at."""

    offsets: I64
    """Ascending, each once."""
    texts: Mapping[int, str]
    """The texts about the offsets; offsets without a known text are missing."""
    tell: Callable[[int], str] | None = None
    """Makes the text about an offset, where there are too many to make all of them."""

    def text(self, offset: int) -> str:
        """The text about an offset; empty where there is none."""
        return self.texts.get(offset, "") if self.tell is None else self.tell(offset)

    def beside(self, offset: int, by: int) -> int | None:
        """The next (1) or previous (-1) one; None where there is none."""
        side = "right" if by > 0 else "left"
        at = int(np.searchsorted(self.offsets, offset, side=side)) - (by < 0)  # type: ignore[call-overload]
        return int(self.offsets[at]) if 0 <= at < len(self.offsets) else None

    def within(self, low: int, high: int) -> Stops:
        """The stops whose state can be shown, from `low` to `high`."""
        kept = (self.offsets >= low) & (self.offsets <= high)
        return self if kept.all() else replace(self, offsets=self.offsets[kept])


def stops_of(found: Iterable[tuple[int, str]], density: Density) -> Stops:
    """Stops from (offset, what is there) in any order: ends of the batches that these lie in."""
    known = list(found)
    offsets = np.array([offset for offset, _ in known], dtype=np.int64)
    ends = density.ends(offsets).tolist()
    texts: dict[int, list[str]] = {}
    for offset, (_, text) in zip(ends, known, strict=True):
        texts.setdefault(offset, []).append(text)
    told = {
        offset: lines[0] if len(lines) == 1 else f"{lines[0]} and {len(lines) - 1} more"
        for offset, lines in texts.items()
    }
    return Stops(np.array(sorted(told), dtype=np.int64), told)


def node_stops(source: Source, path: str, density: Density, cancelled: Callable[[], bool]) -> Stops:
    """Find the changes of the node of a path, and of all nodes below it.

    Args:
        source: The cluster at the end of its log.
        path: A path of the cluster's own tree.
        density: The density of its log.
        cancelled: Asked now and then.
    """
    keys = _keys_below(source, path)
    if keys is not None and sum(len(density.of_key.get(key, ())) for key in keys) > _FOLLOWED:
        return Stops(density.offsets_of(keys), {})
    of = history_paths(source, path)
    changes = _changes(source, of, cancelled)
    return stops_of(
        ((_place(row, density), _told(row, of, _what(row))) for row in changes), density
    )


def leader_stops(
    source: Source, path: str, density: Density, cancelled: Callable[[], bool]
) -> Stops:
    """Find leader changes: of a topic or partition if the path is one, or else of the quorum.

    Args:
        source: The cluster at the end of its log.
        path: A path of the cluster's own tree.
        density: The density of its log.
        cancelled: Asked now and then.
    """
    if not is_of_topic(path):
        return Stops(density.offsets_of([LEADER_CHANGE]), {})
    of = [path]
    changes = [
        (row["offset"], _told(row, of, f"leader {pair_text('leader', pair)}"))
        for row in _changes(source, of, cancelled)
        if (pair := fields_of(row["fields"]).get("leader")) is not None
    ]
    return stops_of(changes, density)


def fault_stops(source: Source, reach: tuple[int, int], density: Density) -> Stops:
    """Find the faults of the log. Cost: decodes everything from the oldest state on.

    Args:
        source: The cluster at the end of its log.
        reach: Offsets whose state can be shown: a fault beyond them is told of at the end.
        density: The density of its log.
    """
    faults = [*density.faults, *source.all_faults()]
    if not isinstance(source, ReducedSource) and source.history_image is not source.image:
        source.history_image.fold_everything()
        faults += source.history_records.faults
    return stops_of_faults(faults, reach, density)


def stops_of_faults(faults: Sequence[Fault], reach: tuple[int, int], density: Density) -> Stops:
    """Stops at faults that have an offset of the log."""
    low, high = reach
    found = [
        (min(max(fault.offset, low), high), str(fault))
        for fault in dict.fromkeys(faults)
        if fault.offset is not None and not (fault.file or "").endswith(".checkpoint")
    ]
    return stops_of(found, density)


def is_of_topic(path: str) -> bool:
    """Whether a path is that of a topic or of something in it."""
    names = split(path)
    return len(names) >= _TOPIC_DEPTH and list(names[:2]) == ["image", "topics"]


def _changes(
    source: Source, paths: Sequence[str], cancelled: Callable[[], bool]
) -> Iterable[dict[str, Any]]:
    """The rows of the command ``changes`` for some paths, without rows that changed nothing."""
    view_state = ViewState(opened=source, cluster=source)
    words = ["changes", "-o", "table", "--columns", "offset,time,path,type,change,fields,log"]
    words += ["--", *paths]
    for found in ask(view_state, words, cancelled=cancelled).tables:
        # Times become numbers: a log can hold times that no calendar has.
        at = found.column_names.index("time")
        table = found.set_column(at, "time", found.column("time").cast(pa.int64()))
        for row in table.to_pylist():
            if row["offset"] is not None and row["change"] in _VERBS:
                yield row


def _place(row: Mapping[str, Any], density: Density) -> int:
    """The offset of a change; of one in a coordinator's log, that of the next metadata record."""
    if row["log"] is None or row["time"] is None:
        return int(row["offset"])
    at = int(np.searchsorted(density.passed, row["time"]))
    return int(density.last[min(at, len(density.last) - 1)])


def _told(row: Mapping[str, Any], of: Sequence[str], what: str) -> str:
    """The change of a node, behind the node's name below the paths asked for."""
    name = name_below(str(row["path"]), of)
    return f"{name}: {what}" if name else what


def _what(row: Mapping[str, Any]) -> str:
    """The change in a few words."""
    if row["change"] != "changed":
        return str(row["change"])
    return change_text(row["change"], fields_of(row["fields"]), record=row["type"])


def _keys_below(source: Source, path: str) -> list[int] | None:
    """Api keys of the records that are about a whole directory; None for a part of one."""
    names = tuple(split(path))
    parts = [*part_histories(source.registry, source.redaction), TopicHistory("byName")]
    below = [part for part in parts if part.root[: len(names)] == names]
    if names == ("image", "topics", "byId"):
        below = parts[-1:]
    if not below:
        return None
    return [_key(name, source.registry) for part in below for name in part.records]


def _key(name: str, registry: Registry) -> int:
    spec = registry.by_name[name]
    if spec.api_key is not None:
        return spec.api_key
    assert spec.control_type is not None
    return control_key(spec.control_type)


@dataclass(frozen=True, slots=True, eq=False)
class TimelineFacts:
    """Facts about a cluster's log."""

    newest: Source
    """The cluster at the end of its log."""
    density: Density
    reach: tuple[int, int]
    """First and last offset whose state can be shown."""
    faults: Stops
    """The faults that are known without decoding."""


def find_out(job: Job, newest: Source, known: TimelineFacts | None) -> TimelineFacts:
    """Look at a log; of what is known already only at what came."""
    from metashell.commands.stats.timeline import density_of_source, grown_density, reach

    def progress(done: int, whole: int) -> None:
        job.progress = (done, whole)

    density = None if known is None else grown_density(known.density, newest)
    if density is None:
        density = density_of_source(newest, job.cancelled, progress)
    ends = reach(newest, density)
    faults = stops_of_faults([*density.faults, *newest.faults], ends, density)
    return TimelineFacts(newest, density, ends, faults)


_KINDS: Final = {
    "node": "change of {path}",
    "leader": "change of leader",
    "fault": "fault in the log's files",
    "state": "rise",
}
_OF_CLUSTER: Final = ("fault", "state")
"""Jumps that do not depend on the node at hand."""


class Jumper:
    """Moves a timeline to the next or previous stop of a kind, and keeps the stops found last.

    Args:
        timeline: The timeline to move.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._known: tuple[Track, str, Stops] | None = None
        """The stops found last, of which log, and what they are."""

    def jump(self, what: str, by: int, path: str, track: Track, facts: TimelineFacts) -> None:
        """Move to the next or previous ``node`` change, ``leader`` election, ``fault``, or rise of
        partitions that are not well (``state``).

        Args:
            what: The kind of stop.
            by: 1 for the next, -1 for the previous one.
            path: The node, a path of the cluster's own tree.
            track: The cluster's log.
            facts: The facts known about the log.
        """
        timeline, kind = self._timeline, _KINDS[what].format(path=path)
        key = what if what in _OF_CLUSTER else f"{what} {path}"
        if self._known is not None and self._known[:2] == (track, key):
            self._jump_among(self._known[2], what, by, kind)
            return

        def work(job: Job) -> Stops:
            if what == "fault":
                return fault_stops(facts.newest, (track.low, track.high), facts.density)
            if what == "state":
                return timeline.states.stops(facts)
            find = node_stops if what == "node" else leader_stops
            return find(facts.newest, path, facts.density, job.cancelled)

        def done(stops: Stops) -> None:
            if timeline.track is not track:
                return
            stops = stops.within(track.low, track.high)
            self._known = track, key, stops
            if what == "fault":
                track.faults = stops.offsets
            self._jump_among(stops, what, by, kind)

        title = f"looking for a {kind}"
        timeline.explorer.jobs.start(title, work, done, owner=timeline, key="jump", leads=True)

    def _jump_among(self, stops: Stops, what: str, by: int, kind: str) -> None:
        timeline = self._timeline
        offset = stops.beside(timeline.at, by)
        if offset is None:
            text = f"no {'later' if by > 0 else 'earlier'} {kind}"
            here = stops.text(timeline.at)
            timeline.remark(f"{text}; here: {here}" if here else text)
            return
        note = stops.text(offset)
        timeline.aim(offset, note=note)
        if what == "fault":
            timeline.explorer.tell(note, "warning")


_TICKS_A_SECOND: Final = 4.0
_WHOLE_LOG_S: Final = 45.0
"""Seconds for playing a long log."""
_SLOWEST, _FASTEST = 0.25, 1e6


class Player:
    """Plays the log: moves a timeline on without keys.

    Args:
        timeline: The timeline to move.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._timer: Timer | None = None
        self._rate = _TICKS_A_SECOND
        self._left: int | None = None
        self._focus_before: Widget | None = None

    @property
    def is_playing(self) -> bool:
        """Whether it moves."""
        return self._timer is not None

    @property
    def state(self) -> str:
        """``▶ 4/s``; empty while it does not play."""
        return f"▶ {self._rate:g}/s" if self.is_playing else ""

    def start(self, track: Track) -> None:
        """Play to the end of the log, from its beginning where it stands at the end."""
        timeline = self._timeline
        self._left = None
        if timeline.at >= track.high:
            timeline.aim(track.low, at_once=True)
        self._rate = playing_rate(track.stops_after(timeline.at))
        self._focus_before = timeline.screen.focused
        timeline.focus()
        self._begin()

    def stop(self) -> None:
        """Stay where it is."""
        if self._timer is None:
            return
        self._timer.stop()
        self._timer = None
        timeline, before = self._timeline, self._focus_before
        self._focus_before = None
        if before is not None and before.is_attached and timeline.has_focus:
            before.focus()
        timeline.refresh()

    def change_speed(self, factor: float) -> None:
        """Play so many times as fast."""
        self._rate = min(max(self._rate * factor, _SLOWEST), _FASTEST)
        if self._timer is not None:
            self._begin()
        self._timeline.refresh()

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        ticks = min(self._rate, _TICKS_A_SECOND)
        self._timer = self._timeline.set_interval(1 / ticks, self.tick)

    def tick(self) -> None:
        """Move on, unless the view state before is still on its way."""
        timeline = self._timeline
        track = timeline.track
        if not self.is_playing or timeline.is_travelling:
            return
        at = timeline.shown
        n_steps = max(round(self._rate / _TICKS_A_SECOND), 1)
        following = None if track is None else track.step(at, n_steps)
        # One that could not be left, or was cancelled, will not be left now.
        if at == self._left or following is None:
            self.stop()
            return
        self._left = at
        timeline.aim(following, at_once=True)


def playing_rate(n_stops: int) -> float:
    """Changes a second at which so many of them take a while, but not too long."""
    rate = _TICKS_A_SECOND
    while n_stops / rate > _WHOLE_LOG_S:
        rate *= 2
    return rate
