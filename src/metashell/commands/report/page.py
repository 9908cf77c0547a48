"""The page of ``report``: which commands it asks, and what of their answers it shows.

Every row, word and finding is a command's own; nothing is judged or counted here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from string import Template
from typing import Final, TypeAlias

import pyarrow as pa

from metashell.commands import get
from metashell.commands.framework.cluster import contexts_of, inside
from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.health.paragraphs import HealthVerdict
from metashell.commands.report.markup import (
    facts_html,
    html,
    lines_html,
    note_html,
    paragraphs_html,
    rows_html,
    timeline_html,
)
from metashell.commands.rows.columns import Column, integer, sentence, text, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.shared.captured import CapturedAnswer
from metashell.commands.shared.sections import (
    BROKERS,
    DISKS,
    GROUPS,
    HEALTH,
    QUORUM,
    TOPICS,
    Section,
)
from metashell.commands.shared.status import items, status_of
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, MetashellError
from metashell.fs.change_texts import change_text
from metashell.places.uri import shown
from metashell.shipped import shipped
from metashell.version import __version__

_MOST_ROWS: Final = 50
_MOST_CLUSTERS: Final = 10
_NOTES_TOLD: Final = 10
_TABLE: Final = ("-o", "table")
_FLEET: Final = Section(title="Directories", words="fleet")
_CHANGED: Final = ("configs", "acls", "scram", "clientQuotas", "features", "cluster", "topics")
"""Parts of the image whose newest changes are shown, some of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """The answer of a section's command."""

    command: RowsCommand
    parsed: Parsed
    out: CapturedAnswer
    notes: list[str]

    @property
    def rows(self) -> pa.Table:
        return self.out.tables[0] if self.out.tables else pa.table({})

    @property
    def nothing(self) -> str:
        return self.command.nothing(self.parsed)


_Show: TypeAlias = Callable[[Section, _Answer], Iterator[str]]
"""Makes a section of the answer of its command."""


def _findings(_: Section, answer: _Answer) -> Iterator[str]:
    for verdict in answer.out.verdicts:
        if isinstance(verdict, HealthVerdict):
            yield paragraphs_html(verdict)


def _rows(section: Section, answer: _Answer) -> Iterator[str]:
    yield _table(section, answer, answer.rows, answer.command.columns_of(answer.parsed))


_OF_CHANGES: Final = (
    time_at("time", "When."),
    integer("offset", "The record's offset."),
    integer("controller", "The controller that led."),
    text("path", "The node that changed.", priority=9),
    sentence("change", "From what to what.", priority=9),
)


def _changes(section: Section, answer: _Answer) -> Iterator[str]:
    rows = answer.rows
    if len(rows):
        texts = [
            change_text(
                row["change"],
                json.loads(row["fields"] or "{}"),
                record=row["type"],
                reason=row["reason"],
                in_checkpoint=row["offset"] is None,
            )
            for row in rows.select(["change", "fields", "type", "reason", "offset"]).to_pylist()
        ]
        names = [column.name for column in _OF_CHANGES[:-1]]
        rows = rows.select(names).append_column("change", pa.array(texts))
    yield _table(section, answer, rows, _OF_CHANGES)


def _timeline(_: Section, answer: _Answer) -> Iterator[str]:
    rows = answer.rows
    if not len(rows):
        yield note_html(answer.nothing)
        return
    # Python's times reach less far than those of records.
    times = rows.column("last_time").cast(pa.int64()).drop_null()
    parts = rows.drop_columns(["first_time", "last_time"]).to_pylist()
    yield timeline_html(parts, times[-1].as_py())


def _table(section: Section, answer: _Answer, rows: pa.Table, columns: tuple[Column, ...]) -> str:
    if not len(rows):
        return "" if answer.notes else note_html(answer.nothing)
    note = section.about
    if len(rows) > _MOST_ROWS:
        note = f"{_MOST_ROWS} of {len(rows):,}: `{section.command}` lists all"
    return note_html(note) + rows_html(rows.slice(0, _MOST_ROWS), columns, section.title)


_SECTIONS: Final = (
    HEALTH,
    QUORUM,
    BROKERS,
    Section(title="Offline partitions", words="partitions --offline"),
    Section(title="Under-replicated partitions", words="partitions --under-replicated"),
    TOPICS,
    Section(
        title="Timeline of the log",
        words="stats --section timeline -n 120 --columns all",
        lists_all="stats --section timeline",
    ),
    Section(
        title="Changes of the last day",
        words="changes --since -1d --records 10000 --newest 7 --columns all --sort=-offset "
        + " ".join(f"/image/{part}" for part in _CHANGED),
        lists_all="changes --since -1d /image",
        about="the newest few of each part of the image",
    ),
    GROUPS,
    Section(title="Lag of groups", words="offsets --lag --summary --sort=-lag"),
    DISKS,
    Section(title="Bytes of topics", words="replicas --summary topic --sort=-bytes,topic"),
)
_SHOWN_OTHERWISE: Final[Mapping[str, _Show]] = {
    "health": _findings,
    "stats": _timeline,
    "changes": _changes,
}
"""By the command, where its rows alone would not do."""


class _Page:
    """Collects the parts of a page, and whether all could be read."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.links: list[str] = []
        self.status = int(ExitCode.OK)

    def section(self, context: Context, section: Section, *, has_link: bool = True) -> None:
        """Add a section, or the line that says why its data is not at hand."""
        stop_if_cancelled(context)
        at = self._place(section.title if has_link else "")
        body = "".join(self._body(context, section))
        title = f"{html(section.title)} <code>{html(section.command)}</code>"
        self.parts.append(f'<section id="{at}"><h2>{title}</h2>{body}</section>\n')

    def _place(self, title: str) -> str:
        """The id of a part that begins; one with a title has a link to it."""
        at = f"p{len(self.parts)}"
        if title:
            self.links.append(f'<a href="#{at}">{html(title)}</a>')
        return at

    def _body(self, context: Context, section: Section) -> Iterator[str]:
        name, *words = section.words.split()
        command, out = get(name), CapturedAnswer(is_terminal=False, width=80)
        notes: list[str] = []
        assert isinstance(command, RowsCommand)
        own = replace(context, out=out, warn=notes.append, cwd="/", n_rows=None)
        try:
            status = command.run(own, [*words, *_TABLE])
            parsed = command.parse(words)
        except MetashellError as error:
            yield note_html("; ".join(filter(None, (error.message, error.hint))), "not seen")
            return
        # The status of findings tells of the cluster, not of the reading.
        if section is not HEALTH:
            self.status = max(self.status, status)
        notes = [note.removeprefix(f"{name}: ") for note in notes]
        answer = _Answer(command=command, parsed=parsed, out=out, notes=notes)
        yield from _SHOWN_OTHERWISE.get(name, _rows)(section, answer)
        yield lines_html(notes, _NOTES_TOLD)

    def cluster(self, context: Context, name: str = "") -> None:
        """Add the head and the sections of one cluster; of a fleet it has a name."""
        if name:
            at = self._place(name)
            self.parts.append(f'<h1 id="{at}">{html(name)}</h1>\n')
        self.parts.append("")
        head = len(self.parts) - 1
        if context.lost is not None:
            self.status = int(ExitCode.FAILED)
        for section in _SECTIONS if context.lost is None else (HEALTH,):
            self.section(context, section, has_link=not name)
        # Some remarks come to light as the log is decoded.
        self.parts[head] = _head(context)


def _head(context: Context) -> str:
    """The cluster, its state, and remarks about its files."""
    source = context.source
    if source is None:
        return note_html("no metadata could be fetched", "not seen")
    stands = items(status_of(source), show_secrets=source.redaction.show_secrets)
    facts = {
        "cluster": source.cluster_id,
        "node": source.node_id,
        "as of": ", ".join(text for _, text in stands),
        "source": shown(source.path),
    }
    return facts_html(facts) + lines_html(source.warnings, _NOTES_TOLD)


def page_of(context: Context) -> tuple[str, int]:
    """The page about what is open, and the exit status: 1 where not all could be read.

    Raises:
        MetashellError: The cluster of the current directory can't be read.
    """
    page, fleet = _Page(), context.fleet
    here = inside(context) if fleet is not None else context
    if here is not None or fleet is None:
        title = _title(here or context)
        page.cluster(here or context)
    else:
        title = f"Kafka metadata of {len(fleet.members):,} directories"
        page.section(context, _FLEET)
        for _, (name, own) in zip(range(_MOST_CLUSTERS), contexts_of(context), strict=False):
            page.cluster(own, name)
        n_more = len(fleet.members) - _MOST_CLUSTERS
        if n_more > 0:
            page.parts.append(note_html(f"{n_more:,} more: in /clusters/NAME, `report` is of one"))
    template = Template(shipped(__file__, "page.html").read_text(encoding="utf-8"))
    text = template.substitute(
        title=html(title),
        version=html(__version__),
        links=" ".join(page.links),
        body="".join(page.parts),
    )
    return text, page.status


def _title(context: Context) -> str:
    cluster = None if context.source is None else context.source.cluster_id
    return "Kafka metadata" if cluster is None else f"Kafka metadata of {cluster}"
