"""``describe``: one page about a topic, a broker, a group or a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands import get
from metashell.commands.framework.command import IMAGE_IMPORTS, Command, Completion, Context, Manual
from metashell.commands.framework.command_line import quote_words
from metashell.commands.framework.completion import complete_names
from metashell.commands.framework.options import parse_options, refuse_more
from metashell.commands.framework.run import run_words
from metashell.commands.framework.targets import shown
from metashell.commands.rows.command import RowsCommand
from metashell.commands.shared.captured import Captured
from metashell.commands.shared.names import and_meant
from metashell.commands.shared.part_command import PartCommand
from metashell.commands.shared.resources import (
    NAMED_NODES,
    config_resources,
    principals_named,
    resource_names,
    the_one,
)
from metashell.errors import ExitCode, MetashellError, UsageError
from metashell.fs.path import encode_name
from metashell.spelling import near_names

if TYPE_CHECKING:
    from metashell.image.image import Image

_COLUMNS: Final = "--columns"
_PAGES: Final[Mapping[str, Sequence[str]]] = {
    "topic": (
        "stat {path}",
        "partitions {name}",
        "config topic:{name} --columns key,value,source,changed_time",
        "acls topic:{name}",
    ),
    "broker": (
        "stat {path}",
        "nodes {name}",
        "brokers {name}",
        "config broker:{name} --columns key,value,source,changed_time",
    ),
    "group": (
        "groups {name}",
        "members {name}",
        "offsets {name} --lag",
        "config group:{name} --columns key,value,source,changed_time",
        "acls group:{name}",
    ),
    "user": ("users {name}", "acls --principal User:{name}", "quotas --user {name}"),
}
"""The commands whose answers make up a page."""


class DescribeCommand(Command):
    """Print a page about a topic, a broker, a group or a user.

    Prints one page about a thing. For a topic it has when the topic was made and last changed,
    its partitions, the configs that are set on it, and its ACLs. TYPE is topic, broker, group
    or user. A NAME alone stands for the one thing that has it.

    The page is made of the answers of other commands. Each heading names the command, which has
    more columns and formats. The history of groups is in a broker's logs: without them the page
    of a group has its configs and ACLs.
    """

    group = "look"
    one_cluster = True
    imports = (*IMAGE_IMPORTS, "metashell.commands.rows.stream")
    manual = Manual(
        synopsis="describe [TYPE] NAME",
        examples=(
            ("describe orders", "all about a topic"),
            ("describe broker 104", "all about a broker"),
            ("describe User:billing", "all about a user"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the page."""
        words = parse_options(self, args).arguments
        if not words:
            raise UsageError("NAME is missing", hint=f"usage: {self.manual.synopsis}")
        refuse_more(self, words, 2)
        kind, name = _meant(context.needs_metadata().image, ":".join(words))
        context.write(f"{kind} {shown(context, name)}\n")
        tell_findings(context, kind, name)
        source = context.source
        if kind == "group" and source is not None and source.coordinator_tables is None:
            context.warn(
                "describe: the metadata knows no members and offsets: a broker's log"
                " directories have them"
            )
        path = f"{NAMED_NODES.get(kind)}/{encode_name(name)}"
        pages = ([w.format(name=name, path=path) for w in line.split()] for line in _PAGES[kind])
        statuses = [_tell(context, words) for words in pages]
        if None in statuses and {*statuses} == {None}:
            raise MetashellError(f"{kind}:{name}: nothing is known of it")
        return max(one or ExitCode.OK for one in statuses)

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose types and names of topics, and names of a type behind it."""
        kind = args[-1] if args else "topic"
        source = context.source
        image = None if source is None or kind not in NAMED_NODES else source.image
        names = [] if image is None else resource_names(image, kind)
        return complete_names(word, [*(() if args else _PAGES), *names])


def tell_findings(context: Context, kind: str, name: str) -> None:
    """Print what is wrong with a thing: the one place of a page where findings stand."""
    from metashell.commands.health.verdict import verdict_of

    verdict = verdict_of(context, [f"{kind}:{name}"]) if kind in ("topic", "broker") else None
    for paragraph in () if verdict is None else verdict.paragraphs:
        for line in paragraph.lines(context.out.width):
            context.out.write(shown(context, line) + "\n")


def _tell(context: Context, words: Sequence[str]) -> int | None:
    """Print the answer of one command below a heading; returns its status, None for no rows."""
    command, source = get(words[0]), context.source
    if isinstance(command, PartCommand) and source and source.coordinator_tables is None:
        return None
    out, warnings = Captured.like(context.out), list[str]()
    inner = replace(context, out=out, warn=warnings.append, n_rows=None)
    status: int | None = run_words(inner, words)
    text = out.text
    if isinstance(command, RowsCommand) and not command.has_text:
        title = command.noun[1][0].upper() + command.noun[1][1:]
        of_page = words[: words.index(_COLUMNS)] if _COLUMNS in words else words
        heading = f"\n{title} ({quote_words(of_page)}):"
        if inner.n_rows == 0:
            text, status, warnings = " none\n", None, []
        text = heading + (text if status is None else f"\n{text}")
    context.out.write(text)
    for line in warnings:
        context.warn(line)
    return status


def _meant(image: Image, word: str) -> tuple[str, str]:
    """The kind and the name of the thing that is meant.

    Raises:
        UsageError: There are several, or no such kind.
        MetashellError: There is none.
    """
    kind, colon, name = word.partition(":")
    if not colon:
        users = [one for one in principals_named(image, word) if one.startswith("User:")]
        known = {*image.topics.names, *resource_names(image, "group")}
        word = the_one(word, [*config_resources(image, word), *users], known, "topic:orders")
        kind, _, name = word.partition(":")
    kind = kind.casefold()
    if kind not in _PAGES:
        raise UsageError(f"{kind}: no such type", hint=f"one of {', '.join(_PAGES)}")
    names = resource_names(image, kind) if kind in ("topic", "broker") else [name]
    if name not in names:
        near = [f"{kind}:{one}" for one in near_names(name, names)]
        raise MetashellError(and_meant(f"{kind}:{name}: no such {kind}", near))
    return kind, name


COMMAND = DescribeCommand()
