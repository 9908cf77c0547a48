"""Findings in words: a paragraph for each cause, else for each kind, at any width."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from metashell.commands.health.paragraphs import HealthVerdict, Paragraph, paragraphs
from metashell.commands.health.rows import TYPES, grouped
from metashell.findings.known import all_kinds
from metashell.schema.timestamps import iso_time

DAY = "2026-09-21"
AT_MS = 1_790_000_000_000
"""A time of that day."""
WIDTHS = (5, 20, 33, 80, 120, 200)
SHORT = 10
"""Characters before the text of each line."""


def row(code: str, subject: str, count: int = 1, **fields: Any) -> dict[str, Any]:
    """A row of ``health``."""
    kind = all_kinds()[code]
    known = {
        "severity": kind.severity.value,
        "code": code,
        "subject": subject,
        "count": count,
        "causes": [],
        "command": f"show {subject.partition(' ')[2]}",
        "explanation": kind.meaning,
        "action": kind.action,
        "since_time": AT_MS,
        "since_offset": 7,
    }
    return {**dict.fromkeys(TYPES), **known, **fields}


def fenced(*brokers: int) -> list[dict[str, Any]]:
    """Rows of brokers that are fenced."""
    return [row("fenced-broker", f"broker {one}") for one in brokers]


def of(*brokers: int) -> list[str]:
    """The names of these causes."""
    return [f"fenced-broker broker {one}" for one in brokers]


def told(*rows: dict[str, Any], asked: tuple[str, ...] = ()) -> list[Paragraph]:
    """The paragraphs of rows in any order."""
    ranks = list(all_kinds())
    in_order = sorted(rows, key=lambda one: ranks.index(one["code"]))
    table = pa.Table.from_pylist(in_order, pa.schema(list(TYPES.items())))
    return paragraphs(grouped(table), DAY, asked or tuple(all_kinds()))


def text(one: Paragraph, width: int = 80) -> str:
    """A paragraph as it is printed."""
    return "\n".join(one.lines(width))


# Causes.


def test_dead_brokers_that_share_topics_are_one_paragraph() -> None:
    """With both causes, each effect counted once, and the advice once."""
    (one,) = told(
        *fenced(1, 2),
        row("offline-partitions", "topic a", 2, causes=of(1)),
        row("under-replicated", "topic a", 3, causes=of(1)),
        row("under-replicated", "topic b", 4, causes=of(1, 2)),
        row("under-replicated", "topic c", 1, causes=of(2)),
    )

    assert "critical" == one.severity
    assert ("offline-partitions", "under-replicated", "fenced-broker") == one.codes
    assert one.headline.startswith("2 partitions of a are offline since ")
    assert one.headline.endswith("; 8 in 3 topics are under-replicated")
    assert ["broker 1 is fenced", "broker 2 is fenced"] == [
        cause.partition(" since ")[0] for cause in one.causes
    ]
    assert all(cause.endswith(" (offset 7)") for cause in one.causes)
    assert all_kinds()["fenced-broker"].do == one.do[0]
    assert all_kinds()["offline-partitions"].avoid in one.beware
    assert 1 == len(one.do)


def test_dead_brokers_that_share_nothing_are_two_paragraphs() -> None:
    """Each with its own effects; the more severe one comes first."""
    first, second = told(
        *fenced(1, 2),
        row("under-replicated", "topic a", 3, causes=of(1)),
        row("offline-partitions", "topic b", 1, causes=of(2)),
    )

    assert ["critical", "warning"] == [first.severity, second.severity]
    assert first.headline.startswith("1 partition of b is offline")
    assert second.headline.startswith("3 partitions of a are under-replicated")
    assert [["2"], ["1"]] == [[c.split()[1] for c in one.causes] for one in (first, second)]


def test_a_cause_without_effects_is_a_finding_of_its_own() -> None:
    """It is the headline; brokers of one kind are told together."""
    (one,) = told(*fenced(1, 2))

    assert one.headline.startswith("brokers 1 and 2 are fenced since ")
    assert () == one.causes
    assert (all_kinds()["fenced-broker"].action,) == one.do


def test_a_finding_without_cause_is_apart() -> None:
    """From those of the same kind that have one, with its own advice and command."""
    with_cause, without = told(
        *fenced(1),
        row("under-min-isr", "topic a", 5, causes=of(1)),
        row("under-min-isr", "topic b", 2),
    )

    assert with_cause.headline.startswith("5 partitions of a are under min ISR")
    assert without.headline.startswith("2 partitions of b are under min ISR")
    assert () == without.causes
    assert ("under-min-isr",) == without.codes
    assert (all_kinds()["under-min-isr"].do,) == without.do
    assert ("show b",) == without.see


def test_a_cause_of_another_kind_than_asked_for_is_named() -> None:
    """But has no paragraph of its own."""
    rows = [*fenced(1, 2), row("offline-partitions", "topic a", causes=of(1))]
    (one,) = told(*rows, asked=("offline-partitions",))
    assert one.headline.startswith("1 partition of a is offline")
    assert one.causes[0].startswith("broker 1 is fenced")

    assert ["fenced-broker"] == [
        code for one in told(*fenced(3), asked=("fenced-broker",)) for code in one.codes
    ]


def test_many_causes_are_counted() -> None:
    """Three by name."""
    (one,) = told(*fenced(*range(9)), row("under-replicated", "topic a", 9, causes=of(*range(9))))
    assert 4 == len(one.causes)
    assert "6 more causes" == one.causes[-1]


# Kinds.


def test_many_topics_are_one_paragraph() -> None:
    """With their number, and the command that lists them all."""
    (one,) = told(*(row("offline-partitions", f"topic t{i:02}", 2) for i in range(30)))

    assert one.headline.startswith("60 partitions of 30 topics are offline since ")
    assert ("partitions --offline",) == one.see
    assert () == one.more
    assert 5 >= len(text(one).splitlines())


def test_one_paragraph_a_kind() -> None:
    """The worst kind first, and no kind in two paragraphs."""
    kinds = ("offline-partitions", "under-replicated", "no-spare-replica", "unknown-config")
    found = told(*(row(code, f"topic t{i}") for i in range(30) for code in reversed(kinds)))
    assert [(code,) for code in kinds] == [one.codes for one in found]


def test_few_topics_are_named() -> None:
    """Up to three."""
    rows = [row("offline-partitions", f"topic {name}") for name in "abcd"]
    heads = [told(*rows[: n + 1])[0].headline.partition(" are ")[0] for n in range(1, 4)]
    assert [
        "2 partitions of a and b",
        "3 partitions of a, b and c",
        "4 partitions of 4 topics",
    ] == heads


def test_findings_with_messages_of_their_own() -> None:
    """Three sentences, and the number of the others."""
    rows = [
        row("file-malformed", f"file f{i}", explanation=f"f{i}: it can't be used: reason {i}")
        for i in range(30)
    ]
    (one,) = told(*rows)
    assert "f0: it can't be used: reason 0" == one.headline
    assert ("f1: it can't be used: reason 1", "f2: it can't be used: reason 2") == one.more[:2]
    assert ("27 more of this kind",) == one.more[2:]

    (one,) = told(row("quorum-no-leader", "the quorum", since_time=None))
    assert f"the quorum: {all_kinds()['quorum-no-leader'].meaning}" == one.headline


def test_a_headline_with_the_reason() -> None:
    """Each topic has its own."""
    how = "min.insync.replicas from 2 to 1"
    (one,) = told(
        row("lowered-config", "topic a", why=how), row("lowered-config", "topic b", why=how)
    )
    assert one.headline.startswith(f"topic a: lowered {how} at ")
    assert one.more[0].startswith(f"topic b: lowered {how} at ")


def test_no_findings() -> None:
    """No paragraphs."""
    assert [] == told()


# Times.


def test_times_of_the_day_are_short() -> None:
    """Those of another day have their date; those that a checkpoint hides say so."""
    time = iso_time(AT_MS).partition("T")[2].partition(".")[0]
    (one,) = told(row("fenced-broker", "broker 1"))
    assert f"broker 1 is fenced since {time}" == one.headline
    (one,) = told(row("fenced-broker", "broker 1", since_time=AT_MS - 86_400_000))
    assert f"broker 1 is fenced since 2026-09-20 {time}" == one.headline
    (one,) = told(row("fenced-broker", "broker 1", since_time=None, since_before=AT_MS))
    assert f"broker 1 is fenced since at or before {time}" == one.headline
    (one,) = told(row("fenced-broker", "broker 1", since_time=None))
    assert "broker 1 is fenced" == one.headline


def test_the_first_time_of_several_is_told() -> None:
    """Findings of one kind began with the first."""
    early = iso_time(AT_MS - 60_000).partition("T")[2].partition(".")[0]
    rows = [row("fenced-broker", "broker 1"), row("fenced-broker", "broker 2")]
    rows[1]["since_time"] = AT_MS - 60_000
    (one,) = told(*rows)
    assert one.headline.endswith(f" since {early}")


# Lines.

PATH = "/image/topics/byName/a-topic-with-a-very-long-name.and-more-of-it-than-a-line-has-room-for"
LONG = [
    *fenced(1, 2, 3, 4, 5),
    *(row("offline-partitions", f"topic t{i}", 1000, causes=of(1, 2, 3)) for i in range(3)),
    row("under-min-isr", "topic t0", 1000, causes=of(4, 5), command=f"changes {PATH}"),
    row("file-malformed", "file x", explanation=f"{PATH}: it can't be used, or not at all"),
    row("reassignment-stuck", "topic moved", command=f"changes {PATH} --since 2026-09-21"),
    row("unknown-config", "topic t0", command=f"config --unknown --resource 'topic:a b {PATH}'"),
]


def pieces(lines: list[str]) -> list[str]:
    """The words of lines; the points between two commands are left out."""
    return [word for line in lines for word in line.split() if word != "·"]


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_are_wrapped_at_words(width: int) -> None:
    """No line is longer, but for one word; nothing is lost or broken at any width."""
    for one in told(*LONG):
        lines = list(one.lines(width))
        assert pieces(list(one.lines(10_000))) == pieces(lines)
        for line in lines:
            is_one_word = len(line[SHORT:].split()) == 1
            assert len(line) <= max(width, 2 * SHORT) or is_one_word, line
            assert line == line.rstrip()


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_stand_in_a_column_of_their_own(width: int) -> None:
    """Each once in a paragraph, before its first line."""
    for one in told(*LONG):
        labels = [line[:SHORT] for line in one.lines(width)]
        assert f"{one.severity:<{SHORT}}" == labels[0]
        rest = [label.strip() for label in labels[1:] if label.strip()]
        assert [label for label in ("cause", "do", "beware", "see") if label in rest] == rest
        assert all(label.startswith("  ") for label in labels[1:])


def test_wide_lines_are_used() -> None:
    """A wide terminal has fewer lines."""
    counts = [sum(len(list(one.lines(width))) for one in told(*LONG)) for width in (80, 120, 200)]
    assert sorted(counts, reverse=True) == counts
    assert counts[0] > counts[2]


def test_a_command_is_not_broken_where_it_fits() -> None:
    """Two stand in a line if there is room, else in two."""
    (one,) = told(*fenced(1), row("offline-partitions", "topic t0", causes=of(1)))
    assert "  see     show t0 · show 1" == text(one).splitlines()[-1]
    assert ["  see     show t0", "          show 1"] == text(one, 22).splitlines()[-2:]


# The verdict.


def test_a_verdict_wraps_everything() -> None:
    """The sentence where nothing is wrong, the state, and the input that was not read."""
    verdict = HealthVerdict(
        paragraphs=tuple(told(row("no-spare-replica", "topic t0"))),
        nothing="nothing is wrong: 1 partition, 2 brokers",
        as_of="offset 7, 2026-09-21T14:13:20.000Z",
        not_looked_at=("every file and its records (check)", "the running quorum (-q)"),
    )
    assert list(verdict) == list(verdict.lines(80))
    wide = list(verdict.lines(200))
    assert "nothing is wrong: 1 partition, 2 brokers" == wide[0]
    assert wide[1].startswith("note      1 partition of t0 has no spare replica since ")
    assert [
        "as of     offset 7, 2026-09-21T14:13:20.000Z",
        "not seen  every file and its records (check); the running quorum (-q)",
    ] == wide[-2:]
    narrow = list(verdict.lines(25))
    assert pieces(wide) == pieces(narrow)
    assert all(len(line) <= 25 or len(line[SHORT:].split()) == 1 for line in narrow)


def test_nothing_is_wrong_only_where_it_is_so() -> None:
    """A warning takes the place of the sentence."""
    verdict = HealthVerdict(
        paragraphs=tuple(told(row("under-replicated", "topic t0"))),
        nothing="nothing is wrong",
        as_of="offset 7",
    )
    lines = list(verdict)
    assert "nothing is wrong" not in lines
    assert lines[0].startswith("warning   1 partition of t0 is under-replicated")
    assert "as of     offset 7" == lines[-1]
