"""``tree``: a subtree with its texts, indented."""

from __future__ import annotations

from collections.abc import Iterator

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.framework.targets import Targets, shown, write_chunks
from metashell.commands.rows.columns import DEPTH, KIND, kind_of, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.glob import Match
from metashell.fs.node import Directory, Node
from metashell.fs.path import encode_name, join
from metashell.fs.walk import Failed

_CHUNK_LINES = 2048
_INDENT = "  "


class TreeCommand(RowsCommand):
    """Print a subtree with the texts of its nodes.

    Prints the names of all nodes below PATH, two spaces deeper for each level. The text of a
    leaf stands below its name. Without a PATH, starts at the current directory.

    Rows (-o) describe the same nodes, and also each PATH that is a leaf.
    """

    group = "look"
    takes_paths = True
    tables = one_table(
        text("path", "The node's path.", shown=False),
        DEPTH,
        text("name", "Its name."),
        KIND,
        text("text", "The text of a leaf, as cat prints it."),
    )
    manual = Manual(
        synopsis="tree [-L LEVELS] [-o FORMAT] [PATH...]",
        options=(
            Option(
                ("-L",),
                "Go down this many levels, and print the texts of leaves there.",
                metavar="LEVELS",
            ),
        ),
        examples=(
            ("tree /image/features", "the features and their levels"),
            ("tree /image/configs", "every configuration"),
            ("tree -L 2 /image/topics", "the names of all topics"),
            ("tree -o json /image/features", "for a script"),
        ),
    )

    def answer(self, query: RowsQuery) -> None:
        """A row for each node."""
        levels = query.parsed.count("-L")
        targets = Targets(query.context, self.name, query.parsed.arguments or ["."])
        for match in targets:
            query.add(
                {
                    "path": visit.path,
                    "depth": visit.depth,
                    "name": visit.name,
                    "kind": kind_of(visit.node),
                    "text": visit.text,
                }
                for visit in _visits(match, levels, targets.failed)
            )
        query.status = targets.status

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Print the trees one after the other."""
        levels = parsed.count("-L")
        targets = Targets(context, self.name, parsed.arguments or ["."])
        for match in targets:
            lines = _lines(context, _visits(match, levels, targets.failed))
            write_chunks(context, lines, _CHUNK_LINES)
        return targets.status


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node of a tree."""

    path: str
    name: str
    depth: int
    """0 for the start, which is told of where it is a leaf."""
    node: Node | None
    text: str | None
    """The text of a leaf that has one."""


def _visits(match: Match, levels: int | None, failed: Failed) -> Iterator[_Visit]:
    """Yield the nodes below a start, or a leaf alone, keeping the open directories in a stack."""
    start, path = match.place.node, match.place.encoded()
    if not isinstance(start, Directory):
        try:
            yield _Visit(path, match.place.name, 0, start, start.text())
        except MetashellError as error:
            failed(match.path, error)
        return
    stack: list[tuple[Directory, Iterator[str], str, str]] = []
    try:
        stack.append((start, iter(start.names()), match.path, path))
    except MetashellError as error:
        failed(match.path, error)
    while stack:
        directory, names, above, path = stack[-1]
        name = next(names, None)
        if name is None:
            stack.pop()
            continue
        depth, below, text, node = len(stack), join(path, encode_name(name, directory)), None, None
        try:
            node = directory.child(name)
            if isinstance(node, Directory):
                if levels is None or depth < levels:
                    stack.append((node, iter(node.names()), join(above, name), below))
            elif node is not None:
                text = node.text()
        except MetashellError as error:
            failed(join(above, name), error)
        yield _Visit(below, name, depth, node, text)


def _lines(context: Context, visits: Iterator[_Visit]) -> Iterator[str]:
    """The lines of a tree, each with its newline."""
    for visit in visits:
        if not visit.depth:
            yield f"{visit.text}\n"
            continue
        yield f"{_INDENT * (visit.depth - 1)}{shown(context, visit.name)}:\n"
        if visit.text is not None:
            yield _leaf_lines(context, visit.text, _INDENT * visit.depth)


def _leaf_lines(context: Context, text: str, indent: str) -> str:
    """A leaf's text under its name: as Kafka prints it, or so that it passes for no node."""
    if context.out.is_terminal:
        # Indented throughout, or a text of several lines could pass for nodes that are not there.
        text = text.replace("\n", f"\n{indent}")
    return f"{indent}{text}\n"


COMMAND = TreeCommand()
