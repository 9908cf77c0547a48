"""The facts about a cluster's log that the timeline needs. For jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    from metashell.records.density import Density
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job
    from metashell.tui.timeline.jumps import Stops


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
    from metashell.tui.timeline.jumps import stops_of_faults

    def progress(done: int, whole: int) -> None:
        job.progress = (done, whole)

    density = None if known is None else grown_density(known.density, newest)
    if density is None:
        density = density_of_source(newest, job.cancelled, progress)
    ends = reach(newest, density)
    faults = stops_of_faults([*density.faults, *newest.faults], ends, density)
    return TimelineFacts(newest, density, ends, faults)
