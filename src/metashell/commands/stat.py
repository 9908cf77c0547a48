"""``stat``: when nodes were made and last changed, and by which records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from metashell.commands.base import Context, Manual, Option
from metashell.commands.options import parse_options
from metashell.commands.rows_of import (
    Record,
    TabularCommand,
    integer,
    one_table,
    status_of,
    text,
    time_at,
    with_rows,
    write_records,
)
from metashell.commands.targets import Targets, shown, stop_if_cancelled
from metashell.commands.times import Timed, Timeline, moment_json, moment_record, moment_text
from metashell.errors import UsageError
from metashell.fs.node import Directory, Node

_CHUNK = 256

_TABLES = one_table(
    text("path", "The node's path."),
    text("kind", "directory or leaf."),
    integer("partitions", "Of a topic, how many it has."),
    time_at("created_time", "Time of the record that made it."),
    integer("created_offset", "That record's offset."),
    integer("created_epoch", "Its leader epoch.", shown=False),
    text("created_type", "Its type.", shown=False),
    integer(
        "created_at_or_before",
        "Where only a checkpoint tells of it: the last offset that the checkpoint holds.",
        shown=False,
    ),
    time_at("changed_time", "Time of the record that last changed it."),
    integer("changed_offset", "That record's offset."),
    integer("changed_epoch", "Its leader epoch.", shown=False),
    text("changed_type", "Its type."),
    integer("changed_at_or_before", "As for what made it.", shown=False),
)


class Stat(TabularCommand):
    """Show the times of nodes."""

    name = "stat"
    summary = "Show when nodes were made and last changed, and by which records."
    tables = _TABLES
    manual = Manual(
        synopsis="stat [--json|-o FORMAT] PATH...",
        description=(
            "Shows of each PATH its type and the records that made and last changed it: time, "
            "offset, leader epoch and record type. A directory's last change is the newest of all "
            "below it, removals included; of a topic also the number of its partitions is shown."
            "\n\n"
            "What happened before the oldest checkpoint in the directory is only known to have "
            'happened "at or before" it; the record type is then that of the checkpoint\'s record. '
            "- stands for what no record tells: nothing made /image, and no record speaks of /log."
        ),
        options=(
            Option(
                ("--json",),
                "A JSON object a line: path, type, partitions, created, changed. Of these the "
                "latter two have offset, epoch, time, timestamp (ms), type, at_or_before.",
            ),
        ),
        examples=(
            ("stat /image/topics/byName/orders", "when a topic was made, and last changed"),
            (
                "stat --json /image/topics/byName/orders/*",
                "its partitions, a JSON object a line",
            ),
            ("stat /image/*", "the newest change of each part of the image"),
            ("stat -o csv --sort -changed_time /image/*", "the same as CSV, newest first"),
        ),
    )
    manual = with_rows(manual, _TABLES)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Show a block for each node."""
        parsed = parse_options(self, args)
        if not parsed.arguments:
            raise UsageError("no path given", hint=f"usage: {self.manual.synopsis}")
        as_json = "--json" in parsed.switches
        targets = Targets(context, self.name, parsed.arguments)
        shape = self.shape_of(parsed)
        if shape is not None:
            found = _records(context, targets)
            n_rows = write_records(context, shape, _TABLES[0].fields, found)
            return status_of(parsed, n_rows, targets.status)
        timeline = Timeline(context)
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
            if as_json:
                pieces.append(_json_line(place.encoded(), place.node, timed))
            else:
                pieces.append(gap + _block(shown(context, place.encoded()), place.node, timed))
                gap = "\n"
            if len(pieces) >= _CHUNK:
                flush()
        flush()
        return targets.status


def _records(context: Context, targets: Targets) -> Iterator[Record]:
    timeline = Timeline(context)
    for match in targets:
        touch = timeline.of(match.place).touch()
        yield {
            "path": match.place.encoded(),
            "kind": _kind(match.place.node),
            "partitions": _partitions(match.place.node),
            **moment_record("created", touch.created),
            **moment_record("changed", touch.changed),
        }


def _kind(node: Node) -> str:
    return "directory" if isinstance(node, Directory) else "leaf"


def _partitions(node: Node) -> int | None:
    """How many partitions a topic has; None of what is no topic."""
    from metashell.fs.nodes.topics import TopicDirectory

    return node.partition_count if isinstance(node, TopicDirectory) else None


def _block(path: str, node: Node, timed: Timed) -> str:
    touch, partitions = timed.touch(), _partitions(node)
    fields = {"path": path, "type": _kind(node)}
    if partitions is not None:
        fields["partitions"] = str(partitions)
    fields["created"] = moment_text(touch.created)
    fields["changed"] = moment_text(touch.changed)
    return "".join(f"{name:<12}{text}\n" for name, text in fields.items())


def _json_line(path: str, node: Node, timed: Timed) -> str:
    touch = timed.touch()
    value = {
        "path": path,
        "type": _kind(node),
        "partitions": _partitions(node),
        "created": moment_json(touch.created),
        "changed": moment_json(touch.changed),
    }
    return json.dumps(value) + "\n"


COMMAND = Stat()
