"""``stat``: when nodes were made and last changed, and by which records."""

from __future__ import annotations

from collections.abc import Iterator

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import Targets, shown, stop_if_cancelled
from metashell.commands.rows.columns import (
    CHANGED,
    KIND,
    integer,
    kind_of,
    one_table,
    text,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.shared.node_times import (
    NodeTimeline,
    Timed,
    moment_cells,
    moment_text,
)
from metashell.errors import UsageError
from metashell.fs.node import Node

_CHUNK = 256

_TABLES = one_table(
    text("path", "The node's path."),
    KIND,
    integer("partitions", "The number of partitions; null: it is no topic."),
    time_at("created_time", "Time of the record that made it; null: none tells."),
    integer("created_offset", "That record's offset; null: none tells."),
    integer("created_epoch", "Its leader epoch.", shown=False),
    text("created_type", "Its type.", shown=False),
    integer(
        "created_at_or_before",
        "If only a checkpoint holds it: the last offset of the checkpoint.",
        shown=False,
    ),
    *CHANGED,
)


class StatCommand(RowsCommand):
    """Show when and by which records nodes were made and last changed.

    Shows the type of each PATH, and the records that made and last changed it: time, offset,
    leader epoch and record type. The last change of a directory is the newest change below it,
    removals included. A topic also shows its number of partitions.

    "at or before" means that only the oldest checkpoint holds the change. The record type is
    then that of the checkpoint's record. - means that no record tells: for example, no record
    made /image.
    """

    group = "history"
    takes_paths = True
    tables = _TABLES
    manual = Manual(
        synopsis="stat [-o FORMAT] PATH...",
        examples=(
            ("stat /image/topics/byName/orders", "when a topic was made, and last changed"),
            (
                "stat --json /image/topics/byName/orders/*",
                "its partitions, as JSON",
            ),
            ("stat /image/*", "the newest change of each part of the image"),
            ("stat -o csv --sort -changed_time /image/*", "the same as CSV, newest first"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Show each node."""
        if not parsed.arguments:
            raise UsageError("no path given", hint=f"usage: {self.manual.synopsis}")
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each node."""
        targets = Targets(query.context, self.name, query.parsed.arguments)
        query.add(_mappings(query.context, targets))
        query.status = targets.status

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A block for each node."""
        targets = Targets(context, self.name, parsed.arguments)
        timeline = NodeTimeline(context)
        pieces: list[str] = []

        def flush() -> None:
            if pieces:
                stop_if_cancelled(context)
                context.out.write("".join(pieces))
                pieces.clear()

        targets.before_warning = flush
        gap = ""
        for match in targets:
            place = match.place
            timed = timeline.of(place)
            pieces.append(gap + _block(shown(context, place.encoded()), place.node, timed))
            gap = "\n"
            if len(pieces) >= _CHUNK:
                flush()
        flush()
        return targets.status


def _mappings(context: Context, targets: Targets) -> Iterator[RowMapping]:
    timeline = NodeTimeline(context)
    for match in targets:
        touch = timeline.of(match.place).touch()
        yield {
            "path": match.place.encoded(),
            "kind": kind_of(match.place.node),
            "partitions": _partitions(match.place.node),
            **moment_cells("created", touch.created),
            **moment_cells("changed", touch.changed),
        }


def _partitions(node: Node) -> int | None:
    """How many partitions a topic has; None of what is no topic."""
    from metashell.fs.nodes.topics import TopicDirectory

    return node.partition_count if isinstance(node, TopicDirectory) else None


def _block(path: str, node: Node, timed: Timed) -> str:
    touch, partitions = timed.touch(), _partitions(node)
    fields = {"path": path, "type": kind_of(node)}
    if partitions is not None:
        fields["partitions"] = str(partitions)
    fields["created"] = moment_text(touch.created)
    fields["changed"] = moment_text(touch.changed)
    return "".join(f"{name:<12}{text}\n" for name, text in fields.items())


COMMAND = StatCommand()
