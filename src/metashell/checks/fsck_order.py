"""Checks of how the files of a metadata log fit together: gaps, overlaps, leader epochs, names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from metashell.checks.finding import FaultPlace, Finding
from metashell.checks.fsck import CheckedFile
from metashell.log.names import CheckpointName, SegmentName, parse_name

_KNOWN_NAME: Final = re.compile(
    r"leader-epoch-checkpoint|partition\.metadata|quorum-state|\.lock"
    r"|\d{20}\.(index|timeindex|txnindex|snapshot)"
    r"|.*\.(deleted|part|tmp|cleaned|swap)"
)
_NUMBERED: Final = re.compile(r"\d{20}\.(index|timeindex)")


_EPOCHS_FILE: Final = "leader-epoch-checkpoint"
_NODE_FILES: Final = frozenset({"quorum-state", _EPOCHS_FILE})
"""Files that a node has once it was started, and then it has a segment too."""


def check_names(names: Collection[str], missing: Finding | None = None) -> Iterator[Finding]:
    """The findings from the names in a directory alone.

    Args:
        names: All of them.
        missing: The finding of `check_missing`: indexes of that segment are not reported again.
    """
    have = set(names)
    for name in sorted(have):
        if name.endswith((".deleted", ".part")):
            what = "about to be deleted" if name.endswith(".deleted") else "unfinished"
            yield Finding(
                "file-deleted" if name.endswith(".deleted") else "file-unfinished",
                f"the file is {what}: not read, and not checked",
                file=name,
            )
        elif name.endswith((".log", ".checkpoint")) and parse_name(name) is None:
            yield Finding(
                "file-misnamed",
                "no segment or checkpoint by its name, so neither Kafka nor this shell reads it",
                file=name,
            )
        elif _NUMBERED.fullmatch(name) and f"{name[:20]}.log" not in have:
            if missing is not None and missing.file == f"{name[:20]}.log":
                continue
            yield Finding(
                "index-orphaned",
                "the index has no segment: was one removed by hand?",
                file=name,
            )
        elif parse_name(name) is None and not _KNOWN_NAME.fullmatch(name):
            yield Finding("file-unknown", "no file of a metadata log", file=name)


def covered_by(checkpoints: Sequence[CheckedFile]) -> int:
    """The offset up to which whole checkpoints hold the state; 0 without one."""
    return max((_end(c) for c in checkpoints if c.is_whole_checkpoint), default=0)


def log_end_of(segments: Sequence[CheckedFile]) -> int | None:
    """The offset behind the last sound batch of segments in order; None without a segment."""
    return None if not segments else (segments[-1].end_offset or _base(segments[-1]))


def check_missing(names: Collection[str], log_end: int | None, covered: int) -> Finding | None:
    """The only or the active segment, where what stands beside it says that there was one.

    A node makes a segment's file before its indexes, and has one as soon as it has the files of its
    own: also behind a checkpoint that it fetched. An index is no older segment's where it begins at
    the end of the log.

    Args:
        names: All names in the directory.
        log_end: The offset behind the last batch of the segments; None where there is no segment.
        covered: The offset up to which a checkpoint holds the state.
    """
    have = set(names)
    bases = {int(n[:20]) for n in have if _NUMBERED.fullmatch(n) and f"{n[:20]}.log" not in have}
    later = [base for base in bases if log_end is None or base >= log_end]
    if not later and (log_end is not None or not have >= _NODE_FILES):
        return None
    lost = f"what it held from offset {max(covered, log_end or 0)} on is lost here"
    if not later:
        return Finding(
            "segment-missing",
            f"there is no segment, though a node that was started has one: {lost}",
            offset=covered,
        )
    base = max(later)
    which = "only" if log_end is None else "active"
    return Finding(
        "segment-missing",
        f"the {which} segment is missing, though its index is there: {lost}",
        file=f"{base:020d}.log",
        offset=base,
    )


def check_beyond(segment: str, log_end: int, covered: int) -> Iterator[Finding]:
    """The checkpoint that goes on where the last segment has ended."""
    if covered > log_end:
        yield Finding(
            "checkpoint-beyond-log",
            f"the checkpoint ends at offset {covered}, but the segments end at {log_end}: a segment"
            " is missing, or the node stopped while it loaded the checkpoint",
            file=segment,
            offset=log_end,
        )


def check_order(
    segments: Sequence[CheckedFile], checkpoints: Sequence[CheckedFile]
) -> Iterator[Finding]:
    """Gaps and overlaps between segments, and between them and the newest whole checkpoint."""
    covered = covered_by(checkpoints)
    expected: int | None = None
    for before, segment in zip([None, *segments], segments, strict=False):
        base = _base(segment)
        if before is not None and expected is not None and base != expected:
            yield _between(before, segment, expected, base, covered)
        if before is not None:
            yield from _across(before, segment)
        end = segment.end_offset
        expected = max(expected or 0, base if end is None else end)
    for checkpoint in checkpoints:
        yield from _misaligned(segments, checkpoint)
    if not segments:
        return
    if expected is not None:
        yield from check_beyond(segments[-1].name, expected, covered)
    first = _base(segments[0])
    if first > covered and covered:
        yield Finding(
            "checkpoint-gap",
            f"offsets {covered} to {first - 1} are missing between the newest checkpoint"
            " and the segments: the state is not what it should be",
            file=segments[0].name,
            pos=0,
            offset=covered,
        )
    elif first > 0 and not covered:
        yield Finding(
            "base-missing",
            f"no whole checkpoint holds what happened before offset {first}: the state is"
            " not complete",
            file=segments[0].name,
            pos=0,
            offset=0,
        )


def _misaligned(segments: Sequence[CheckedFile], checkpoint: CheckedFile) -> Iterator[Finding]:
    """A checkpoint that ends inside a batch. Kafka refuses to make one since KAFKA-14619."""
    end = _end(checkpoint)
    for segment in segments:
        for at in np.flatnonzero((segment.base < end) & (end <= segment.last)).tolist():
            yield Finding(
                "checkpoint-misaligned",
                f"the checkpoint ends at offset {end}, inside the batch of offsets"
                f" {segment.base[at]} to {segment.last[at]}: a node that starts from it may replay"
                " records twice",
                file=checkpoint.name,
                offset=end,
            )


def _base(segment: CheckedFile) -> int:
    assert isinstance(segment.parsed, SegmentName)
    return segment.parsed.base_offset


def _end(checkpoint: CheckedFile) -> int:
    return checkpoint.parsed.end_offset if isinstance(checkpoint.parsed, CheckpointName) else 0


def _between(
    before: CheckedFile, segment: CheckedFile, expected: int, base: int, covered: int
) -> Finding:
    if base > expected:
        harmless = base <= covered
        return Finding(
            "segment-gap",
            f"offsets {expected} to {base - 1} are missing between {before.name} and this"
            " segment" + ("; the present state does not need them" if harmless else ""),
            file=segment.name,
            pos=0,
            offset=expected,
        )
    return Finding(
        "segments-overlap",
        f"the segment begins at offset {base}, but {before.name} goes up to {expected - 1}",
        file=segment.name,
        pos=0,
        offset=base,
    )


def _across(before: CheckedFile, segment: CheckedFile) -> Iterator[Finding]:
    """Epochs and times that fall from one segment to the next."""
    if not len(before.base) or not len(segment.base):
        return
    place: FaultPlace = {
        "file": segment.name,
        "pos": int(segment.pos[0]),
        "offset": int(segment.base[0]),
    }
    old, new = int(before.epoch[-1]), int(segment.epoch[0])
    if new < old:
        yield Finding(
            "epoch-falls",
            f"the leader epoch goes back from {old} to {new}",
            **place,
        )
    by = int(before.max_time[-1]) - int(segment.first_time[0])
    if by > 0:
        yield Finding(
            "time-goes-back",
            f"the time goes back by {by} ms from the segment before",
            **place,
        )


def check_epochs(
    segments: Sequence[CheckedFile],
    checkpoints: Sequence[CheckedFile],
    entries: Sequence[tuple[int, int]] | None,
) -> Iterator[Finding]:
    """Leader epochs: of ``leader-epoch-checkpoint``, of segments, of checkpoints' names.

    Args:
        segments: In order.
        checkpoints: In order.
        entries: (epoch, offset of its first record), in order; None without the file.
    """
    for checkpoint in checkpoints:
        parsed = checkpoint.parsed
        if not isinstance(parsed, CheckpointName) or parsed.is_bootstrap:
            continue
        held = parsed.end_offset - 1
        epochs = {
            _EPOCHS_FILE: _epoch_by_entries(entries or (), held, parsed.epoch),
            "the batch of that offset": _epoch_by_batches(segments, held),
        }
        for who, epoch in epochs.items():
            if epoch is not None and epoch != parsed.epoch:
                yield Finding(
                    "checkpoint-epoch",
                    f"its name says that offset {held} has leader epoch {parsed.epoch},"
                    f" {who} says {epoch}",
                    file=checkpoint.name,
                    pos=0,
                    offset=held,
                )
    if entries:
        yield from _check_entries(segments, entries)
    elif entries is not None and any(len(segment.epoch) for segment in segments):
        yield Finding(
            "epoch-file-empty",
            "the file has no entry, as a power cut leaves it",
            file=_EPOCHS_FILE,
        )


def _epoch_by_entries(entries: Sequence[tuple[int, int]], offset: int, claimed: int) -> int | None:
    """Leader epoch of an offset; None where the entries leave it open."""
    if not entries:
        return None
    if offset < entries[0][1]:
        # Entries before the log's start are cut off: what is left tells only that it is no later.
        return None if claimed <= entries[0][0] else entries[0][0]
    return max(epoch for epoch, start in entries if start <= offset)


def _epoch_by_batches(segments: Sequence[CheckedFile], offset: int) -> int | None:
    for segment in segments:
        if not len(segment.last) or offset > int(segment.last[-1]):
            continue
        at = int(np.searchsorted(segment.last, offset))
        if at < len(segment.last) and int(segment.base[at]) <= offset:
            return int(segment.epoch[at])
    return None


def _check_entries(
    segments: Sequence[CheckedFile], entries: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    """Each epoch's first batch stands where the file says, but for the first, which may be cut."""
    starts = dict(entries)
    seen: dict[int, int] = {}
    for segment in segments:
        begins = np.flatnonzero(np.append(True, segment.epoch[1:] != segment.epoch[:-1]))
        for at in begins[: len(segment.epoch)].tolist():
            seen.setdefault(int(segment.epoch[at]), int(segment.base[at]))
    first_epoch, first_start = entries[0]
    log_start = min(seen.values(), default=0)
    for epoch, offset in seen.items():
        start = starts.get(epoch)
        if start == offset or epoch < first_epoch or (epoch == first_epoch and start is not None):
            continue
        if offset == log_start and start is not None and start < offset:
            continue
        missing = start is None
        yield Finding(
            code="epoch-entry-missing" if missing else "epoch-entry",
            message=f"leader epoch {epoch} begins at offset {offset} in the log,"
            + (" and the file does not know it" if missing else f" at {start} by this file"),
            file=_EPOCHS_FILE,
            offset=offset,
        )
    ends = [end for segment in segments if (end := segment.end_offset) is not None]
    log_end = max(ends, default=None)
    for _, (epoch, start) in pairwise([(first_epoch, first_start), *entries[1:]]):
        if log_end is not None and start > log_end:
            yield Finding(
                "epoch-entry-beyond",
                f"leader epoch {epoch} begins at offset {start} by this file, and the log"
                f" ends at {log_end}",
                file=_EPOCHS_FILE,
                offset=start,
            )
