"""``stat``: when nodes were made and last changed, and by which records."""

from __future__ import annotations

import json
from collections.abc import Sequence

from metashell.commands.base import Command, Context, Manual, Option
from metashell.commands.options import parse_options
from metashell.commands.targets import Targets, shown, stop_if_cancelled
from metashell.commands.times import Timed, Timeline, moment_json, moment_text
from metashell.errors import UsageError
from metashell.fs.node import Directory, Node

_CHUNK = 256


class Stat(Command):
    """Show the times of nodes."""

    name = "stat"
    summary = "Show when nodes were made and last changed, and by which records."
    manual = Manual(
        synopsis="stat [--json] PATH...",
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
            ("stat --json /image/topics/byName/orders/*", "its partitions, a JSON object a line"),
            ("stat /image/*", "the newest change of each part of the image"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Show a block for each node."""
        parsed = parse_options(self, args)
        if not parsed.arguments:
            raise UsageError("no path given", hint=f"usage: {self.manual.synopsis}")
        as_json = "--json" in parsed.switches
        targets = Targets(context, self.name, parsed.arguments)
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
