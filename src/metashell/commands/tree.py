"""``tree``: a subtree with its texts, indented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metashell.commands.base import Command, Context, Manual, Option
from metashell.commands.options import parse_options
from metashell.commands.targets import Targets, shown, shown_text, write_chunks
from metashell.fs.node import Directory, Node

_CHUNK_LINES = 2048
_INDENT = "  "


class Tree(Command):
    """Print directories, leaves and their texts."""

    name = "tree"
    summary = "Print a subtree with the contents of its nodes."
    manual = Manual(
        synopsis="tree [-L LEVELS] [PATH...]",
        description=(
            "Prints the name of each node below PATH (the current directory without one), indented "
            "by two spaces a level, and under a leaf's name its text. Of a leaf, prints the text."
        ),
        options=(
            Option(
                ("-L",),
                "Go down this many levels; the texts of leaves there are shown.",
                metavar="LEVELS",
            ),
        ),
        examples=(
            ("tree /image/features", "the features and their levels"),
            ("tree /image/configs", "every configuration"),
            ("tree -L 2 /image/topics", "the names of all topics"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the trees one after the other."""
        parsed = parse_options(self, args)
        levels = parsed.count("-L")
        targets = Targets(context, self.name, parsed.arguments or ["."])
        for match in targets:
            write_chunks(context, _lines(context, match.place.node, levels), _CHUNK_LINES)
        return targets.status


def _lines(context: Context, start: Node, levels: int | None) -> Iterator[str]:
    """Yield the lines of a tree, each with its newline, keeping the open directories in a stack."""
    if not isinstance(start, Directory):
        yield shown_text(context, start.text()) + "\n"
        return
    stack = [(start, iter(start.names()), "")]
    while stack:
        directory, names, indent = stack[-1]
        name = next(names, None)
        if name is None:
            stack.pop()
            continue
        yield f"{indent}{shown(context, name)}:\n"
        node = directory.child(name)
        if isinstance(node, Directory):
            if levels is None or len(stack) < levels:
                stack.append((node, iter(node.names()), indent + _INDENT))
        elif node is not None:
            yield _leaf_lines(context, node.text(), indent + _INDENT)


def _leaf_lines(context: Context, text: str, indent: str) -> str:
    """A leaf's text under its name: as Kafka prints it, or safe for a terminal."""
    if context.out.is_terminal:
        # Indented throughout, or a text of several lines could pass for nodes that are not there.
        text = shown_text(context, text).replace("\n", f"\n{indent}")
    return f"{indent}{text}\n"


COMMAND = Tree()
