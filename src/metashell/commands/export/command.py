"""``export``: tables, the tree, and what makes the same again, as files for other programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.answers.recipes import RECIPES
from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.completion import complete_names
from metashell.commands.framework.local_places import complete_local
from metashell.commands.framework.options import Option, Parsed, parse_options, refuse_more
from metashell.commands.framework.targets import Targets, matches, stop_if_cancelled
from metashell.commands.shared.topic_arguments import complete_topics
from metashell.errors import NoSuchPathError, UsageError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.commands.export.destination import ExportPlace

TABLE_FORMATS: Final = ("parquet", "arrow", "csv", "jsonl")
TREE_FORMATS: Final = ("json", "yaml")
_EXTENSIONS: Final = {
    **{f".{form}": form for form in (*TABLE_FORMATS, *TREE_FORMATS)},
    ".feather": "arrow",
    ".ndjson": "jsonl",
    ".yml": "yaml",
}
_TO, _FORMAT, _AS, _ALL, _FORCE = "--to", "--format", "--as", "--all", "--force"
_OF_RECIPES: Final = ("--topics", "--internal", "--with-assignment", "--cluster-name")
_STDOUT: Final = "-"
_IMAGE: Final = "/image"


class ExportCommand(Command):
    """Write tables, the tree, or a script that makes the same cluster.

    Writes the tables of `sql` as Parquet, Arrow, CSV or JSON lines. With a PATH, or with
    nothing, writes a subtree (/image) as one JSON or YAML document. --format or the file's name
    gives the format. Several tables go to a directory, one file each.

    With --as, writes what makes the same topics, configs, quotas and ACLs in another cluster: a
    script of Kafka's own tools, or resources for Strimzi. PATH can be topics, configs,
    /image/acls, /image/clientQuotas and /image/scram. Without a PATH, writes them all. A
    comment and a warning name everything that is left out, and the status is 1. Secrets are
    always left out: comments mark their places.

    An unreadable record or file causes a warning on stderr and exit status 1. An incomplete
    file is removed. With --show-secrets, only the owner can read the file. Give --force to
    overwrite a file. Kafka directories are never written to.
    """

    group = "whole cluster"
    takes_paths = True
    one_cluster = True
    manual = Manual(
        synopsis="export [OPTION...] [TABLE... | PATH...]",
        options=(
            Option(
                (_TO,),
                "Write to this file or directory; `-` is standard output.",
                "PLACE",
                complete=lambda _, word: complete_local(word),
            ),
            Option(
                (_FORMAT,),
                "parquet, arrow, csv or jsonl for tables, json or yaml for a subtree.",
                "FORMAT",
                (*TABLE_FORMATS, *TREE_FORMATS),
            ),
            Option((_ALL,), "Every table of the image, and of a broker's logs."),
            Option(
                (_AS,),
                "Write a script of Kafka's tools, or resources for Strimzi.",
                "RECIPE",
                RECIPES,
            ),
            Option(
                ("--topics",),
                "With --as: only these topics and their configs; globs, separated by commas.",
                "GLOBS",
                complete=complete_topics,
            ),
            Option(("--internal",), "With --as: include Kafka's own topics."),
            Option(
                ("--with-assignment",),
                "With --as kafka-cli: put each partition on the same brokers.",
            ),
            Option(
                ("--cluster-name",),
                "With --as strimzi: the name of the Kafka resource (my-cluster).",
                "NAME",
            ),
            Option((_FORCE,), "Overwrite existing files."),
        ),
        examples=(
            ("export brokers --format csv", "one table, to standard output"),
            ("export /image/cluster --format yaml", "a subtree"),
            ("export --as kafka-cli --topics orders", "commands that make the same topic"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Write the export."""
        from metashell.commands.export.destination import ExportPlace

        parsed = parse_options(self, args)
        context.needs_source()  # Tells which cluster of a fleet is wanted.
        assert context.source is not None
        place = ExportPlace(context, _FORCE in parsed.switches)
        if _AS in parsed.values:
            for flag in (_FORMAT, _ALL):
                if flag in parsed.values or flag in parsed.switches:
                    raise UsageError(f"{flag} and {_AS}: give only one of them")
            from metashell.commands.export.recipes import export_recipe

            return export_recipe(context, parsed, place)
        for flag in _OF_RECIPES:
            if flag in parsed.values or flag in parsed.switches:
                raise UsageError(f"{flag} belongs to {_AS}")
        form = _format(parsed)
        if form in TREE_FORMATS:
            return self._tree(context, parsed, place, form)
        return self._tables(context, parsed, place, form)

    def _tables(self, context: Context, parsed: Parsed, place: ExportPlace, form: str) -> int:
        from metashell.commands.export.tables import export_tables, table_names

        names = table_names(place.source, parsed.arguments)
        if _ALL in parsed.switches:
            if names:
                raise UsageError(f"{_ALL} takes no names of tables")
            names = list(place.source.tables)
        if not names:
            raise UsageError("which table?", hint=f"{_ALL}, or some of `sql .tables`")
        return export_tables(context, place, names, form, parsed.values.get(_TO))

    def _tree(self, context: Context, parsed: Parsed, place: ExportPlace, form: str) -> int:
        from metashell.commands.export.tree import json_pieces, yaml_pieces

        if _ALL in parsed.switches:
            raise UsageError(f"{_ALL} is about tables", hint=f"{form} is for paths")
        refuse_more(self, parsed.arguments, most=1)
        path = parsed.arguments[0] if parsed.arguments else _IMAGE
        try:
            found = list(matches(context, path))
        except NoSuchPathError as error:
            raise _perhaps_a_table(place, path, form, error) from error
        if len(found) != 1:
            raise UsageError(f"{escape(path)}: {len(found)} nodes; one is a document")
        targets = Targets(context, self.name, ())
        pieces = json_pieces if form == "json" else yaml_pieces
        with place.open(parsed.values.get(_TO)) as sink:
            for piece in pieces(found[0].place.node, found[0].path, targets.failed):
                stop_if_cancelled(context)
                sink.text(piece)
        return targets.status

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose tables before paths."""
        found = super().propose(context, args, word)
        if _AS in args:
            return found
        from metashell.sql.tables import image_names, message_names

        names: tuple[str, ...] = image_names()
        more = None if context.source is None else context.source.coordinator_tables
        names += () if more is None else more.states
        if word[:1].isupper() and context.source is not None:
            names += message_names(context.source.registry)
            names += () if more is None else more.messages
        return [*complete_names(word, names, "table"), *found]


def _format(parsed: Parsed) -> str:
    """The format that is asked for, or that goes without saying."""
    form = parsed.values.get(_FORMAT)
    known = (*TABLE_FORMATS, *TREE_FORMATS)
    if form is not None:
        if form not in known:
            raise UsageError(f"{_FORMAT} {form}: not one of {', '.join(known)}")
        return form
    to = parsed.values.get(_TO, _STDOUT)
    extension = os.path.splitext(to)[1].lower()
    of_tables = _ALL in parsed.switches or bool(parsed.arguments)
    of_tables = of_tables and not any("/" in word for word in parsed.arguments)
    if to == _STDOUT:
        return "jsonl" if of_tables else "json"
    is_directory = to.endswith("/") or os.path.isdir(to)
    if extension in _EXTENSIONS and not is_directory:
        return _EXTENSIONS[extension]
    if of_tables and (is_directory or _ALL in parsed.switches or len(parsed.arguments) > 1):
        return "parquet"
    raise UsageError(f"{_TO} {to}: which format?", hint=f"{_FORMAT} is one of {', '.join(known)}")


def _perhaps_a_table(
    place: ExportPlace, path: str, form: str, error: NoSuchPathError
) -> NoSuchPathError | UsageError:
    from metashell.commands.export.tables import is_table

    if not is_table(place.source, path):
        return error
    return UsageError(
        f"{path} is a table; {form} is for paths",
        hint=f"{_FORMAT} jsonl writes a table as lines of JSON",
    )


COMMAND = ExportCommand()
