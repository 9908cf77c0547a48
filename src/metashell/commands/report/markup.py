"""The fragments of a page: facts, paragraphs, tables and the timeline as HTML.

All text that comes from outside passes `html`. No fragment has a script or names another resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape as html_escape
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.health.paragraphs import FIRST, HealthVerdict, Paragraph
from metashell.commands.rows.cell_colours import coloured_cells, words_of
from metashell.commands.rows.cell_text import plain
from metashell.commands.rows.columns import Column
from metashell.commands.rows.drawn_column import DrawnColumn
from metashell.findings.kind import Severity
from metashell.fs.escape import escape
from metashell.schema.timestamps import iso_time

_LONGEST: Final = 400
"""Characters of a cell; a config's value can be a megabyte."""
_WRAPPED_FROM: Final = 32
"""Columns of text that are wider take more lines."""
_LONG: Final = "long"
_GROUPS: Final = ("topics", "nodes", "configs", "security", "quorum", "other")
_MARKS: Final = ("elections", "faults")
_HIGH: Final = 100
_LEAST: Final = 2
"""The height of the lowest bar, of `_HIGH`."""


def html(text: object) -> str:
    """A text as HTML, within an element or an attribute."""
    return html_escape(escape(str(text)))


def sentence_html(text: str) -> str:
    """A sentence of ours, in which commands stand between backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html(text))


def note_html(text: str, label: str = "") -> str:
    """A remark of a line, behind its label; nothing for an empty one."""
    remark = f"<b>{html(label)}</b> {sentence_html(text)}" if label else sentence_html(text)
    return f'<p class="remark">{remark}</p>' if text else ""


def lines_html(texts: Sequence[str], most: int) -> str:
    """The first few of some remarks."""
    more = [f"{len(texts) - most:,} more"] if len(texts) > most else []
    return "".join(note_html(text.strip()) for text in (*texts[:most], *more))


def facts_html(facts: Mapping[str, object]) -> str:
    """Facts, each behind its name; those that are not known are left out."""
    entries = (f"<dt>{html(k)}</dt><dd>{html(v)}</dd>" for k, v in facts.items() if v is not None)
    return f"<dl>{''.join(entries)}</dl>\n"


# Findings.


def paragraphs_html(verdict: HealthVerdict) -> str:
    """The paragraphs of a verdict, and what they were made from."""
    said = [f"<p>{html(verdict.nothing)}</p>"]
    if not all(one.severity is Severity.NOTE for one in verdict.paragraphs):
        said = []
    said += map(_paragraph_html, verdict.paragraphs)
    said.append(note_html("; ".join(verdict.not_looked_at), "not seen"))
    return "".join(said)


def _paragraph_html(one: Paragraph) -> str:
    label = one.label or one.severity.value
    parts = [f"<p><b>{html(label)}</b> {sentence_html(one.headline)}</p><dl>"]
    for name, texts in one.told:
        parts += [f"<dt>{html(name)}</dt><dd>{sentence_html(text)}</dd>" for text in texts]
    parts += [f"<dt>see</dt><dd><code>{html(command)}</code></dd>" for command in one.see]
    parts.append(f"</dl>{note_html(FIRST if one.comes_first else '')}")
    return f'<article class="{html(one.severity.value)}">{"".join(parts)}</article>\n'


# Tables.


def rows_html(rows: pa.Table, declared: Sequence[Column], title: str) -> str:
    """Rows as a table; columns without anything in them are left out unless a row needs them."""
    columns = {column.name: column for column in declared}
    rows = plain(rows)
    drawn = [DrawnColumn.of(columns[name], rows.column(name)) for name in rows.column_names]
    shown = [one for one in drawn if one.is_needed or not (one.is_empty or one.says_nothing)]
    heads = "".join(
        f'<th scope="col" class="{_kind(one)}" title="{html(one.column.help)}">'
        f"{html(one.column.name)}</th>"
        for one in shown
    )
    lines = (f"<tr>{''.join(line)}</tr>\n" for line in zip(*map(_cells, shown), strict=True))
    # The keyboard can scroll what has the focus.
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html(title)}"><table>'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{''.join(lines)}</tbody></table></div>\n"
    )


def _kind(one: DrawnColumn) -> str:
    """The class of a column's cells."""
    if one.to_the_right:
        return "number"
    return _LONG if one.width > _WRAPPED_FROM else "name"


def _cells(one: DrawnColumn) -> Iterator[str]:
    colours = pa.array([""] * len(one.texts))
    for colour, where in coloured_cells(one.texts, words_of(one.column)):
        colours = pc.if_else(where, f" {colour.value}", colours)
    kind = _kind(one)
    for text, colour in zip(one.texts.to_pylist(), colours.to_pylist(), strict=True):
        cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        content = html(cut)
        if kind == _LONG:
            # A line may end behind a comma.
            content = content.replace(",", ",<wbr>")
        yield f'<td class="{kind}{colour}">{content}</td>'


# The timeline.


def timeline_html(rows: Sequence[Mapping[str, Any]], last_ms: int) -> str:
    """The parts of a log as bars, a colour for each group of records.

    Args:
        rows: The rows of `stats`.
        last_ms: The time of the last record.
    """
    most = max(sum(row[name] for name in _GROUPS) for row in rows) or 1
    bars = "".join(_bar(i, row, most) for i, row in enumerate(rows))
    totals = {name: sum(row[name] for row in rows) for name in (*_GROUPS, *_MARKS)}
    legend = "".join(
        f'<li><svg viewBox="0 0 1 1"><rect class="{name}" width="1" height="1"/></svg> '
        f"{name} {total:,}</li>"
        for name, total in totals.items()
        if total
    )
    first, last = iso_time(rows[0]["begin"]), iso_time(last_ms)
    return (
        f'<svg class="bars" role="img" aria-label="Records from {html(first)} to {html(last)}" '
        f'viewBox="0 0 {len(rows)} {_HIGH}" preserveAspectRatio="none">{bars}</svg>\n'
        f'<p class="ends"><span>{html(first)}</span> <span>{html(last)}</span></p>'
        f'<ul class="legend">{legend}</ul>\n'
    )


def _bar(at: int, row: Mapping[str, Any], most: int) -> str:
    counts = ", ".join(f"{row[name]:,} {name}" for name in (*_GROUPS, *_MARKS) if row[name])
    if not counts:
        return ""
    top, rects = float(_HIGH), []
    for name in _GROUPS:
        if row[name]:
            height = max(row[name] * (_HIGH - 8) / most, _LEAST)
            top -= height
            rects.append(_rect(name, at, max(top, 0), height))
    rects += [_rect(name, at, 0, 6) for name in _MARKS if row[name]]
    title = (
        f"{iso_time(row['begin'])}, offsets {row['first_offset']}..{row['last_offset']}: {counts}"
    )
    return f"<g><title>{html(title)}</title>{''.join(rects)}</g>"


def _rect(name: str, x: int, y: float, height: float) -> str:
    return f'<rect class="{name}" x="{x}.05" y="{y:.1f}" width="0.9" height="{height:.1f}"/>'
