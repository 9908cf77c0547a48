"""What a list says of a record: partitions in one word, and where a search matches. Pure."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from metashell.records.window import RecordLine

_PARTITION: Final = re.compile(r"^topic=([A-Za-z0-9._-]+) partitionId=([0-9]+)(?= |$)")
"""What says in a record which partition it is about: ``orders-3`` in a list."""
_IN_A_WORD: Final = re.compile(r"([A-Za-z0-9._-]+)-([0-9]+)")
_MOST_MARKED: Final = 50
"""Matches in a line that are marked."""

Span = tuple[int, int]


def with_partitions(pattern: re.Pattern[str] | None) -> re.Pattern[str] | None:
    """A search in lines of ``log`` that finds a partition by its one word, too."""
    word = None if pattern is None else _IN_A_WORD.fullmatch(pattern.pattern)
    if word is None:
        return pattern
    topic, number = word.groups()
    return re.compile(rf"{word[0]}|\btopic=\S*{topic} partitionId={number}(?= |$)")


def short_line(line: RecordLine, pattern: re.Pattern[str] | None) -> tuple[str, list[Span]]:
    """What stands behind the type, and what to mark in it.

    A partition is one word unless the search matches a part that the word leaves out.

    Args:
        line: The record as ``log`` prints it.
        pattern: What was searched.
    """
    spans = [] if pattern is None else _matches(pattern, line)
    partition = _PARTITION.match(line.summary)
    if partition is None:
        return line.summary, spans
    word = f"{partition[1]}-{partition[2]}"
    moved = [span for one in spans if (span := _moved(one, partition, len(word))) is not None]
    if len(moved) < len(spans):
        return line.summary, spans
    return word + line.summary[partition.end() :], moved


def _moved(span: Span, partition: re.Match[str], width: int) -> Span | None:
    """Where a match stands once the partition is a word of some width; None for nowhere."""
    if span == partition.span():
        return 0, width
    (topic, topic_end), (number, number_end) = partition.span(1), partition.span(2)
    first, behind = span
    if topic <= first and behind <= topic_end:
        return first - topic, behind - topic
    by = number_end - width  # the number, and what stands behind it, end or begin there
    return (first - by, behind - by) if number <= first else None


def _matches(pattern: re.Pattern[str], line: RecordLine) -> list[Span]:
    """Where a line's summary matches, in the line as ``log`` prints it."""
    head = f"{line.offset} {line.time} {line.epoch} {line.type} "
    found = islice(pattern.finditer(head + line.summary), _MOST_MARKED)
    spans = ((max(m.start() - len(head), 0), m.end() - len(head)) for m in found)
    return [(first, behind) for first, behind in spans if first < behind]
