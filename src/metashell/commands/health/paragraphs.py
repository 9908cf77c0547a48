"""Findings for people: a paragraph for each cause, or for each kind that has none."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from textwrap import wrap
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.health.rows import cause_links
from metashell.commands.rows.cell_text import plain_texts
from metashell.commands.rows.columns import AT_OR_BEFORE
from metashell.dataclass import dataclass
from metashell.findings.kind import FindingKind, Severity
from metashell.findings.known import all_kinds
from metashell.fs.escape import escape
from metashell.schema.arena import I64, Bools
from metashell.schema.timestamps import iso_time

NEEDED: Final = frozenset(
    {"severity", "code", "subject", "count", "since_time", "since_offset", "since_before"}
    | {"causes", "command", "explanation", "action", "why"}
)
"""The columns that paragraphs are made of."""
_MOST: Final = 3
"""Subjects, causes and messages that are named one by one; the rows have all."""
_INDENT: Final = 10
_UNIT: Final = re.compile(r"\((\d+) (\w+)\)")
"""A number with its unit, which stay together."""
FIRST: Final = "Resolve this first. Follow no advice below before that."
_TIMES: Final = ("since_time", "since_before")


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthVerdict:
    """The verdict on one cluster; iterating gives its lines for 80 columns."""

    paragraphs: tuple[Paragraph, ...]
    nothing: str
    """The sentence where nothing is wrong, with what was looked at."""
    as_of: str
    """The offset and the time of the state; empty where several are compared."""
    not_looked_at: tuple[str, ...] = ()
    """The input that was not read."""

    def __iter__(self) -> Iterator[str]:
        yield from self.lines(80)

    def lines(self, width: int) -> Iterator[str]:
        """The paragraphs, and what they were made from.

        Args:
            width: Characters in a line.
        """
        if all(one.severity is Severity.NOTE for one in self.paragraphs):
            yield from wrap(self.nothing, width)
        for one in self.paragraphs:
            yield from one.lines(width)
            if one.comes_first and (one is not self.paragraphs[-1] or not self.as_of):
                yield from wrap(FIRST, width)
        if self.as_of:
            yield from wrapped("as of", self.as_of, width)
        if self.not_looked_at:
            yield from wrapped("not seen", "; ".join(self.not_looked_at), width)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A finding, or several of one cause, in words."""

    severity: Severity
    codes: tuple[str, ...]
    """The kinds, the worst first."""
    n_told: int
    """How many of the kinds the headline tells; the others are causes."""
    headline: str
    more: tuple[str, ...] = ()
    """Further findings of the same kind."""
    causes: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    """Reasons of findings without a cause."""
    do: tuple[str, ...] = ()
    beware: tuple[str, ...] = ()
    """Things that must not be done."""
    kafka: tuple[str, ...] = ()
    """Kafka's own texts."""
    label: str = ""
    """The word before the headline; empty: the severity."""
    comes_first: bool = False
    """Whether nothing else may be done before."""
    see: tuple[str, ...] = ()
    rows: I64 = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)
    """The rows that it tells of, the worst first."""

    @property
    def told(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The sentences behind the headline, each group with its label."""
        return (
            ("", self.more),
            ("cause", self.causes),
            ("why", self.why),
            ("kafka", self.kafka),
            ("do", self.do),
            ("beware", self.beware),
        )

    def lines(self, width: int) -> Iterator[str]:
        """Its lines, wrapped at words.

        Args:
            width: Characters in a line.
        """
        yield from wrapped(self.label or self.severity.value, self.headline, width)
        for label, texts in self.told:
            for i, text in enumerate(texts):
                yield from wrapped(f"  {label}" if label and i == 0 else "", text, width)
        # A command is broken only where it is longer than a line.
        line, label = "", "  see"
        for command in self.see:
            if line and _INDENT + len(line) + 3 + len(command) > width:
                yield from wrapped(label, line, width)
                line, label = "", ""
            line = f"{line} · {command}" if line else command
        if line:
            yield from wrapped(label, line, width)


def wrapped(label: str, text: str, width: int) -> Iterator[str]:
    """Lay a text out behind its label, as lines."""
    first = f"{label:<{_INDENT - 1}} "
    lines = wrap(
        _UNIT.sub("(\\1\u00a0\\2)", escape(text)),
        max(width, 2 * _INDENT),
        initial_indent=first,
        subsequent_indent=" " * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (line.replace("\u00a0", " ") for line in lines)


CountOfCauses: TypeAlias = Callable[[str, Collection[str]], int]
"""Counts the partitions with a kind of finding that follow from any of some causes."""


def paragraphs(
    rows: pa.Table, day: str, asked: Collection[str], count: CountOfCauses | None = None
) -> list[Paragraph]:
    """The paragraphs of the findings of one cluster, the worst first.

    Args:
        rows: With the columns of `NEEDED`, the worst first. Causes are among them.
        day: A date; times of that day are written without it.
        asked: The kinds that are asked for; causes of other kinds have no paragraph of their own.
        count: Counts what follows; None where each row follows as a whole.
    """
    if not len(rows):
        return []
    rows = rows.unify_dictionaries().combine_chunks()
    incident, is_cause = _incidents(rows)
    codes = pc.index_in(plain_texts(rows.column("code")), pa.array(list(all_kinds()))).to_numpy()
    # Rows without a cause belong together by their kind.
    group = np.where(incident >= 0, incident, len(rows) + codes)
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    order = np.argsort(first)
    by_group = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[by_group], np.arange(len(first) + 1))
    writer = _Writer(rows, codes, is_cause, day, count)
    made = [writer.paragraph(np.sort(by_group[bounds[g] : bounds[g + 1]])) for g in order.tolist()]
    chosen = [one for one in made if not set(asked).isdisjoint(one.codes[: one.n_told])]
    chosen.sort(key=lambda one: not one.comes_first)
    return sorted(chosen, key=lambda one: one.severity.rank)


def _incidents(rows: pa.Table) -> tuple[I64, Bools]:
    """The incident of each row, int64[n], -1 without one; and whether it is a cause, bool[n].

    Rows that share a cause are one incident with all their causes.
    """
    n = len(rows)
    is_cause = np.zeros(n, dtype=np.bool_)
    incident = np.full(n, -1, dtype=np.int64)
    effects, causes = cause_links(rows)
    label = np.arange(n)
    while True:
        least = np.minimum(label[effects], label[causes])
        before = label.copy()
        np.minimum.at(label, effects, least)
        np.minimum.at(label, causes, least)
        if np.array_equal(before, label):
            break
    is_cause[causes] = True
    incident[effects], incident[causes] = label[effects], label[causes]
    return incident, is_cause


class _Writer:
    """Writes the paragraph of some rows."""

    def __init__(
        self, rows: pa.Table, codes: I64, is_cause: Bools, day: str, count: CountOfCauses | None
    ) -> None:
        self._codes, self._is_cause, self._day, self._count = codes, is_cause, day, count
        self._kinds = list(all_kinds().values())
        # Times as numbers: one may be outside of Python's calendar.
        self._columns = pa.table(
            {
                name: column.cast(pa.int64()) if name in _TIMES else column
                for name, column in zip(rows.column_names, rows.columns, strict=True)
            }
        )

    def paragraph(self, at: I64) -> Paragraph:
        """The paragraph of rows, which are one incident or of one kind.

        Args:
            at: int64[k]: the rows, the worst first.
        """
        is_cause = self._is_cause[at]
        effects, causes = at[~is_cause], at[is_cause]
        rows = effects if len(effects) else at
        codes = sorted(set(self._codes[rows].tolist()))
        worse = [c for c in codes if self._kinds[c].severity is not Severity.NOTE]
        codes = worse or codes
        first = rows[self._codes[rows] == codes[0]]
        kinds = [self._kinds[code] for code in codes]
        of_causes = [self._kinds[c] for c in dict.fromkeys(self._codes[causes].tolist())]
        template = kinds[0].headline
        messages = [] if template and "{why}" not in template else self._messages(first, template)
        heads: list[str] = []
        rest: list[str] = []
        for code in codes if not messages else ():
            some = rows[self._codes[rows] == code]
            n, n_other = self._counted(some, code, causes if len(effects) else at[:0])
            since = "" if self._is_older(some, causes) else self._since(some)
            heads.append(self._head(some, code, n, since, is_first=not heads))
            if n_other:
                effect = self._kinds[code].effect
                rest.append(
                    f"{n_other:,} more of their partitions {_be(n_other)} {effect} for another"
                    " reason"
                )
        return Paragraph(
            severity=min((k.severity for k in (*kinds, *of_causes)), key=lambda s: s.rank),
            codes=tuple(kind.code for kind in (*kinds, *of_causes)),
            n_told=len(kinds),
            headline=messages[0] if messages else "; ".join(heads),
            more=(*messages[1:], *rest),
            causes=tuple(self._causes(causes)) if len(effects) else (),
            why=() if messages or (len(effects) and len(causes)) else tuple(self._why(first)),
            do=tuple(self._do(first, kinds[0], of_causes if len(effects) else [])),
            beware=tuple(dict.fromkeys(k.avoid for k in (kinds[0], *of_causes) if k.avoid)),
            comes_first=kinds[0].comes_first,
            see=tuple(self._see(first, causes if len(effects) else at[:0])),
            rows=at,
        )

    def _counted(self, at: I64, code: int, causes: I64) -> tuple[int, int]:
        """How many things some findings of a kind count, and how many do not follow from causes."""
        n = int(pc.sum(self._columns.column("count").take(pa.array(at))).as_py() or 0)
        if self._count is None or not len(causes):
            return n, 0
        kind = self._kinds[code].code
        some = self._columns.select(["code", "subject"]).take(pa.array(causes))
        names = {f"{row['code']} {row['subject']}" for row in some.to_pylist()}
        n_following = self._count(kind, names)
        return n_following, n - n_following

    def _is_older(self, at: I64, causes: I64) -> bool:
        """Whether some findings began before their causes: partitions have other reasons too."""
        begins = [
            pc.min(self._columns.column("since_time").take(pa.array(some))).as_py()
            for some in (at, causes)
        ]
        return None not in begins and begins[0] < begins[1]

    def _head(self, at: I64, code: int, n: int, since: str, *, is_first: bool) -> str:
        """Some findings of a kind in a phrase; behind the first one without subjects."""
        kind = self._kinds[code]
        if not is_first:
            where = f" in {len(at):,} topics" if len(at) > 1 else ""
            return f"{n:,}{where} {_be(n)} {kind.effect or kind.code}"
        subjects = self._subjects(at)
        counted = f"{n:,} {kind.noun(n)}"
        if kind.headline is None:
            return counted
        if kind.about.value == "partition" and "{subjects}" not in kind.headline:
            counted += f" of {subjects}"
        agree = n if "{count}" in kind.headline else len(at)
        words = kind.headline.format_map(
            {
                "count": counted,
                "subjects": subjects,
                "is": _be(agree),
                "has": "has" if agree == 1 else "have",
            }
        )
        return words + since

    def _some(self, at: I64, names: Sequence[str]) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = (
            self._columns.select(list(names)).take(pa.array(at[:_MOST])).to_pylist()
        )
        return found

    def _subjects(self, at: I64) -> str:
        """Subjects by name, many by their number: ``brokers 104 and 105``."""
        words = [str(row["subject"]) for row in self._some(at, ("subject",))]
        noun = words[0].partition(" ")[0]
        same = all(word.partition(" ")[0] == noun for word in words)
        if len(at) == 1:
            return words[0].partition(" ")[2] if noun in ("topic", "partition") else words[0]
        if len(at) > _MOST:
            return f"{len(at):,} {_plural(noun)}" if same else f"{len(at):,} places"
        names = [word.partition(" ")[2] for word in words] if same else words
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return listed if noun in ("topic", "partition") or not same else f"{_plural(noun)} {listed}"

    def _messages(self, at: I64, template: str | None) -> list[str]:
        """A sentence for each of the first findings, and the number of the others."""
        rows = self._some(at, ("subject", "explanation", "why"))
        lines = []
        for i, row in zip(at.tolist(), rows, strict=False):
            message, subject = str(row["explanation"]), str(row["subject"])
            if template is not None and row["why"] is not None:
                words = template.format(subjects=subject, why=row["why"])
                lines.append(words + self._since(np.array([i])).replace(" since", " at", 1))
                continue
            name = subject.removeprefix("file ")
            lines.append(message if message.startswith(name) else f"{subject}: {message}")
        n_more = len(at) - len(rows)
        return lines + ([f"{n_more:,} more of this kind"] if n_more > 0 else [])

    def _why(self, at: I64) -> Iterator[str]:
        """The reasons of findings, the most frequent first."""
        reasons = plain_texts(self._columns.column("why").take(pa.array(at))).drop_null()
        counts = pc.value_counts(reasons)
        order = np.argsort(-counts.field("counts").to_numpy(), kind="stable")
        texts = counts.field("values").take(pa.array(order)).to_pylist()
        yield from texts[:_MOST]
        if len(texts) > _MOST:
            yield f"{len(texts) - _MOST:,} more reasons"

    def _causes(self, at: I64) -> Iterator[str]:
        rows = self._some(at, ("subject",))
        for i, row in zip(at.tolist(), rows, strict=False):
            kind = self._kinds[self._codes[i]]
            words = (kind.cause or "{}").format(str(row["subject"]).partition(" ")[2])
            yield words + self._since(np.array([i]), offset=True)
        if len(at) > len(rows):
            yield f"{len(at) - len(rows):,} more causes"

    def _since(self, at: I64, *, offset: bool = False) -> str:
        """Since when the first of some findings is there; empty where that is not known."""
        rows = pa.array(at)
        time = pc.min(self._columns.column("since_time").take(rows)).as_py()
        before = pc.min(self._columns.column("since_before").take(rows)).as_py()
        if before is not None:
            return f" since {AT_OR_BEFORE}{self._time(before)}"
        if time is None:
            return ""
        n = pc.min(self._columns.column("since_offset").take(rows)).as_py()
        where = f" (offset {n})" if offset and n is not None else ""
        return f" since {self._time(time)}{where}"

    def _time(self, ms: int) -> str:
        """A time to the second; without the date where it is that of the day."""
        date, _, time = iso_time(ms).partition("T")
        time = time.rstrip("Z").partition(".")[0]
        return time if date == self._day else f"{date} {time}"

    def _do(self, at: I64, kind: FindingKind, causes: Sequence[FindingKind]) -> Iterator[str]:
        """Say what to do about the causes, else about the findings."""
        if causes:
            yield from dict.fromkeys(one.do for one in causes)
            return
        actions = plain_texts(self._columns.column("action").take(pa.array(at[:_MOST])))
        advice = dict.fromkeys(actions.to_pylist())
        yield from (kind.do if action == kind.action else action for action in advice)

    def _see(self, at: I64, causes: I64) -> Iterator[str]:
        kind = self._kinds[self._codes[at[0]]]
        before = (kind.see or "").partition("{subject}")[0]
        # A bare command would show all there is: the first subject's is shown in its place.
        is_bare = " -" not in before
        if not is_bare and len(at) > 1:
            yield before.strip().removesuffix("--replica").removesuffix("--leader").strip()
        rows = [*([at[0]] if is_bare or len(at) == 1 else []), *causes[:1].tolist()]
        yield from (c for c in self._column(rows, "command") if c is not None)

    def _column(self, at: Sequence[int], name: str) -> list[Any]:
        found: list[Any] = self._columns.column(name).take(pa.array(at, pa.int64())).to_pylist()
        return found


def _be(n: int) -> str:
    return "is" if n == 1 else "are"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
