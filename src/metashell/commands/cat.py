"""``cat``: the text of leaves."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.command import Command, Context, Manual
from metashell.commands.framework.options import parse_options
from metashell.commands.framework.targets import Targets, stop_if_cancelled
from metashell.errors import IsADirectoryPathError, MetashellError, UsageError
from metashell.fs.node import Directory

_CHUNK_CHARACTERS = 1 << 18


class CatCommand(Command):
    """Print the texts of nodes.

    Prints the text of each PATH, each followed by a newline. The text is that of Apache Kafka's
    own metadata shell. Secrets are printed as [redacted].

    Reports a path that is missing or a directory, and prints the others.
    """

    group = "look"
    takes_paths = True
    manual = Manual(
        synopsis="cat PATH...",
        examples=(
            ("cat /image/features/metadataVersion", "the cluster's metadata.version"),
            ("cat /image/topics/byName/orders/0", "partition 0 of the topic orders"),
            ("cat /image/cluster/brokers/*", "the registration of every broker"),
            ("cat /image/topics/byName/{orders,payments*}/id", "the ids of some topics"),
            (
                "cat /image/configs/TOPIC:payments/*",
                "every config of a topic",
            ),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the texts."""
        arguments = parse_options(self, args).arguments
        if not arguments:
            raise UsageError("which path?", hint=f"usage: {self.manual.synopsis}")
        targets = Targets(context, self.name, arguments)
        texts: list[str] = []
        size = 0

        def flush() -> None:
            nonlocal size
            if texts:
                context.write("".join(texts))
            texts.clear()
            size = 0

        targets.before_warning = flush
        for match in targets:
            node = match.place.node
            if isinstance(node, Directory):
                targets.fail(IsADirectoryPathError(match.path))
                continue
            try:
                text = node.text() + "\n"
            except MetashellError as error:
                targets.failed(match.path, error)
                continue
            texts.append(text)
            size += len(text)
            if size >= _CHUNK_CHARACTERS:
                flush()
                stop_if_cancelled(context)
        flush()
        return targets.status


COMMAND = CatCommand()
