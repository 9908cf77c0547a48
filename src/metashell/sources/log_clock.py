"""Where a source's log ends: what ages and times of day are measured against.

The rule itself is `metashell.log.time_spec`'s: from the last record, and on a live quorum from now.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from metashell.errors import SourceError
from metashell.log.names import COORDINATOR_TOPICS
from metashell.log.time_spec import LogClock

if TYPE_CHECKING:
    from metashell.sources.source import Source


def clock_of(source: Source) -> LogClock:
    """Where the state that a source shows ends, and where its log does.

    Cost: none for the newest state; of an earlier one its records are framed.
    """
    if not source.capabilities.has_image and source.of_coordinator is None:
        return _clock_of_logs(source)
    # A reduced log knows it too: its files need not be read for that.
    end_offset, end_ms, latest_ms = _end_of(source.newest)
    last_offset, last_ms = end_offset, end_ms
    is_newest = source.moment_offset is None
    if not is_newest:
        last = source.image.provenance
        last_offset, last_ms = last.offset, _known(last.timestamp_ms)
        latest_ms = last_ms
    return LogClock(
        last_offset=last_offset,
        last_ms=last_ms,
        latest_ms=latest_ms,
        end_offset=end_offset,
        end_ms=end_ms,
        now_ms=int(time.time() * 1000),
        is_live=is_newest and source.live is not None,
    )


def _clock_of_logs(source: Source) -> LogClock:
    """Without a metadata log: the latest time of the coordinators' logs, and no offset.

    The log of a topic has both. Cost: reads the end of each.
    """
    from metashell.sources.partition_logs import partition_logs

    topic, end_offset, end_ms = source.of_topic, -1, -1
    logs = None if topic is not None else partition_logs(source)
    tails = [] if logs is None else [tail for _, tail in logs.tails(COORDINATOR_TOPICS)]
    for tail in tails if topic is None else [topic.tail]:
        with suppress(SourceError):  # Reading it tells the reason.
            end = tail.end()
            end_ms = max(end_ms, end.last_timestamp_ms)
            end_offset = -1 if topic is None else end.end_offset - 1
    last_ms = _known(end_ms) if source.moment_ms is None else source.moment_ms
    return LogClock(
        last_offset=end_offset,
        last_ms=last_ms,
        latest_ms=last_ms,
        end_offset=end_offset,
        end_ms=_known(end_ms),
        now_ms=int(time.time() * 1000),
    )


def present_ms(source: Source) -> int | None:
    """The present of a live quorum's newest state, ms since the epoch; None for any other.

    Answers measure ages against it instead of the last record's time.
    """
    is_live = source.live is not None and source.moment_offset is None
    return int(time.time() * 1000) if is_live else None


def _end_of(newest: Source) -> tuple[int, int | None, int | None]:
    """Offset and time of a log's last record, and the latest time of any."""
    if not newest.capabilities.has_log:
        # An engine elsewhere tells of the files only together with the decoded records.
        _ = newest.image
    loaded = newest.log.loaded
    files = [file for file in loaded.files if not file.is_checkpoint and file.chain.n_batches]
    if not files:
        last = newest.image.provenance
        return last.offset, _known(last.timestamp_ms), _known(last.timestamp_ms)
    chain = files[-1].chain
    latest = max(map(loaded.latest_timestamp_ms, files))
    return chain.last_offset, _known(chain.last_timestamp_ms), _known(latest)


def _known(timestamp_ms: int) -> int | None:
    """A time; None for the -1 of a record that has none."""
    return None if timestamp_ms < 0 else timestamp_ms
