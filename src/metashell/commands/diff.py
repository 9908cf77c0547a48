"""``diff``: what differs between two states, node by node and field by field."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands.base import Context, Manual, Option
from metashell.commands.options import Parsed, parse_options
from metashell.commands.rows_of import (
    Kind,
    Record,
    RowTable,
    TabularCommand,
    integer,
    of_kind,
    status_of,
    text,
    with_rows,
    write_records,
)
from metashell.commands.targets import matches, shown, stop_if_cancelled, write_chunks
from metashell.errors import ExitCode, MetashellError, PathError, SourceError, UsageError
from metashell.fs.escape import escape
from metashell.fs.java import java_bool, java_list
from metashell.fs.node import Directory, JsonValue, Leaf
from metashell.fs.path import encode_path, resolve

if TYPE_CHECKING:
    from metashell.fs.differences import Difference, Names, Scope
    from metashell.source import Source

_CHUNK_LINES: Final = 512
_ROOT: Final = "image"
_PROVENANCE: Final = "provenance"
_AGE: Final = re.compile(r"-(?=[0-9])")
_VALUES: Final = ("--at", "--with", "-o", "--output", "--columns", "--sort")
_MARKS: Final = {"added": "+", "removed": "-", "changed": "~"}
_END: Final = "end"
_STAT: Final = "--stat"
_TABLES: Final = (
    RowTable(
        "",
        (
            text("change", "added (only the second has it), removed (only the first) or changed."),
            text("path", "The node."),
            text("topic_id", "Of a topic that only one has: its id."),
            integer("partitions", "Likewise: how many it has."),
            of_kind(
                Kind.JSON,
                "fields",
                "Of what changed, a JSON object: by the name of a field, a list of both values.",
            ),
            of_kind(Kind.JSON, "value", "Of a leaf that only one has: its value as JSON."),
        ),
    ),
    RowTable(
        _STAT,
        (
            text("part", "The part of the image."),
            integer("added", "How many things of it only the second has."),
            integer("removed", "Only the first."),
            integer("changed", "How many differ."),
        ),
    ),
)


class Diff(TabularCommand):
    """Compare two states."""

    name = "diff"
    summary = "Show what differs between two offsets or times, or two directories."
    one_cluster = True
    tables = _TABLES
    not_with_rows = ("--json", "--quiet")
    manual = Manual(
        synopsis=(
            "diff [--all] [--json|--stat|--quiet|-o FORMAT] POINT POINT [PATH], or"
            " diff --with DIR [--at POINT] [--all] [--json|--stat|--quiet|-o FORMAT] [PATH]"
        ),
        description=(
            "Prints the nodes below PATH (/image without one, wildcards allowed) that differ "
            "between two states of one source, or with --with between this source and another: "
            "+ for what only the second has, - for what only the first has, and ~ with the fields "
            "that changed and both values. Sorted by path.\n\n"
            "A POINT is an offset, a time such as 2026-09-21T14:14:09Z, an age such as -2h, or "
            "`end` for the newest state. With --at both sources are compared as of that point; "
            "without it each as it is, this one as the shell shows it.\n\n"
            "A topic that only one state has is one line, unless --all is given. Topics are "
            "compared by name, so one that was made again shows another id; below byId they are "
            "compared by id. /image/provenance is left out: it always differs. Secrets are "
            "compared and shown as [redacted].\n\n"
            "Exit status: 0 for no difference, 1 for some, 3 where it could not be told."
        ),
        options=(
            Option(("--with",), "Compare with another directory or file.", metavar="DIR"),
            Option(("--at",), "With --with: both as of this offset or time.", metavar="POINT"),
            Option(("--all",), "Every leaf of topics that only one state has."),
            Option(("--json",), "A JSON object a line."),
            Option(("--stat",), "Only how many things of each part differ."),
            Option(("--quiet", "-q"), "Print nothing: the exit status tells."),
        ),
        examples=(
            ("diff 3499 4111", "what changed between two offsets"),
            ("diff 3499 end /image/topics/byName/orders", "of one topic"),
            ("diff --stat 3499 end", "how much changed, by part"),
            ("diff --json 3499 4111 /image/configs/TOPIC:*", "for a script"),
            ("diff 3499 end /image/cluster", "of brokers and controllers"),
            ("diff -o csv --columns change,path 3499 4111", "which nodes, as CSV"),
        ),
    )
    manual = with_rows(manual, _TABLES)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print what differs."""
        parsed = parse_options(self, _ages_as_arguments(args))
        if len({"--json", "--stat", "--quiet"} & parsed.switches) > 1:
            raise UsageError("--json, --stat and --quiet exclude each other")
        try:
            return self._compare(context, parsed)
        except UsageError:
            raise
        except MetashellError as error:
            # As of diff everywhere: 1 would say that it found a difference.
            raise SourceError(error.message, hint=error.hint) from error

    def _compare(self, context: Context, parsed: Parsed) -> int:
        from metashell.fs.differences import find_differences

        shape = self.shape_of(parsed)
        left, right, path = self._sides(context, parsed)
        scope = _scope(context, left, right, path)
        whole = "--all" in parsed.switches
        found = find_differences(left.image, right.image, scope, whole_topics=whole)
        if "--quiet" in parsed.switches:
            return ExitCode.OK if next(found, None) is None else ExitCode.FAILED
        sides = _Sides(left, right)
        if shape is not None:
            fields = self.table_of(parsed).fields
            is_stat = _STAT in parsed.switches
            rows = _count_rows(context, found) if is_stat else map(_JsonLines(sides).record, found)
            n_rows = write_records(context, shape, fields, rows)
            return status_of(parsed, n_rows, ExitCode.FAILED if n_rows else ExitCode.OK)
        if _STAT in parsed.switches:
            return _print_counts(context, found)
        as_json = "--json" in parsed.switches
        write = _JsonLines(sides).line if as_json else _Lines(context, sides).line
        return _print(context, map(write, found))

    def table_of(self, parsed: Parsed) -> RowTable:
        """Differences, or how many there are."""
        return _TABLES[_STAT in parsed.switches]

    def _sides(self, context: Context, parsed: Parsed) -> tuple[Source, Source, str | None]:
        """The two states, and the path asked for."""
        here, words = context.needs_source(), parsed.arguments
        other, at = parsed.values.get("--with"), parsed.values.get("--at")
        usage = f"usage: {self.manual.synopsis}"
        n_points = 0 if other is not None else 2
        if len(words) < n_points:
            raise UsageError("two offsets or times, or --with DIR", hint=usage)
        if len(words) > n_points + 1:
            raise UsageError(f"too many arguments: {words[n_points + 1]}", hint=usage)
        path = words[n_points] if len(words) > n_points else None
        if other is None:
            if at is not None:
                raise UsageError("--at goes with --with", hint=usage)
            return self._at(context, here, words[0]), self._at(context, here, words[1]), path
        from metashell.opening import open_beside

        there = open_beside(here, other)
        if at is not None:
            here, there = self._at(context, here, at), self._at(context, there, at)
        self._warn_of_others(context, here, there)
        return here, there, path

    def _at(self, context: Context, source: Source, point: str) -> Source:
        if point == _END:
            return source.newest
        then = source.at(str(point))
        for note in then.moment_notes:
            context.warn(escape(f"diff: {note}"))
        return then

    @staticmethod
    def _warn_of_others(context: Context, here: Source, there: Source) -> None:
        """Say what makes two sources differ by nature."""
        ids = here.newest.cluster_id, there.newest.cluster_id
        if None not in ids and ids[0] != ids[1]:
            if here.live is not None:
                raise SourceError(
                    f"{there.path} is of cluster {ids[1]}, the quorum of {ids[0]}",
                    hint="compare with a directory of the same cluster",
                )
            context.warn(escape(f"diff: of two clusters: {ids[0]} and {ids[1]}"))
        offsets = here.image.provenance.offset, there.image.provenance.offset
        if offsets[0] != offsets[1]:
            context.warn(
                f"diff: at two offsets: {offsets[0]} and {offsets[1]};"
                " --at compares both as of the same"
            )
        for warning in there.newest.warnings:
            context.warn(escape(f"diff: {there.path}: {warning}"))


def _ages_as_arguments(args: Sequence[str]) -> list[str]:
    """Take ``-2h`` for the point that it is instead of for options: write it as ``2h``."""
    out: list[str] = []
    for word in args:
        point = _AGE.match(word) and "--" not in out and not (out and out[-1] in _VALUES)
        out.append(word[1:] if point else word)
    return out


def _scope(context: Context, left: Source, right: Source, path: str | None) -> Scope:
    """What a path names in either state.

    Raises:
        PathError: Nothing in both.
        UsageError: It is not of the image.
    """
    from metashell.fs.differences import Scope

    if path is None:
        return Scope([(_ROOT,)])
    found: set[Names] = set()
    error: PathError | None = None
    for source in (left, right):
        try:
            there = replace(context, root=source.root, cwd=_cwd_in(source, context.cwd))
            found.update(match.place.names() for match in matches(there, path))
        except PathError as missing:
            error = missing
    if not found and error is not None:
        raise error
    compared = [n for n in found if not n or (n[0] == _ROOT and n[1:2] != (_PROVENANCE,))]
    if not compared:
        raise UsageError(f"{path}: only what is below /{_ROOT} is compared, {_PROVENANCE} aside")
    return Scope(compared)


def _cwd_in(source: Source, cwd: str) -> str:
    """The current directory, which need not be there in both states."""
    try:
        resolve(source.root, cwd)
    except PathError:
        return "/"
    return cwd


class _Sides:
    """The nodes of two states: as they may be shown, and as they are."""

    def __init__(self, left: Source, right: Source) -> None:
        self.left, self.right = _Tree(left), _Tree(right)

    def fields(self, names: Names) -> dict[str, tuple[JsonValue, JsonValue]]:
        """The fields of a leaf that differ: what may be shown of both values."""
        old, new = self.left.open_leaf(names), self.right.open_leaf(names)
        shown_old, shown_new = self.left.shown_leaf(names), self.right.shown_leaf(names)
        before, after = _fields(old), _fields(new)
        if before == after:
            # Such as 0.0 and -0.0.
            before, after = {"value": old.text()}, {"value": new.text()}
            shown_before: Mapping[str, JsonValue] = {"value": shown_old.text()}
            shown_after: Mapping[str, JsonValue] = {"value": shown_new.text()}
        else:
            shown_before, shown_after = _fields(shown_old), _fields(shown_new)
        return {
            name: (shown_before.get(name), shown_after.get(name))
            for name in {**before, **after}
            if before.get(name) != after.get(name)
        }

    def one_side(self, difference: Difference) -> Leaf:
        """The leaf that only one state has, as it may be shown."""
        side = self.right if difference.change == "added" else self.left
        return side.shown_leaf(difference.names)


def _fields(leaf: Leaf) -> Mapping[str, JsonValue]:
    """The fields of a leaf; one without structure has the field ``value``."""
    value = leaf.value()
    return value if isinstance(value, Mapping) else {"value": value}


class _Tree:
    """Leaves of one state by name, each directory looked up once in a row."""

    def __init__(self, source: Source) -> None:
        from metashell.fs.node import FixedDirectory
        from metashell.fs.nodes.image import image_node
        from metashell.redact import Redaction

        self._shown = source.root
        self._open: Directory = source.root
        if not source.redaction.show_secrets:
            open_image = Redaction(show_secrets=True)
            self._open = FixedDirectory(
                {_ROOT: lambda: image_node(lambda: source.image, open_image)}
            )
        self._last: dict[int, tuple[Names, Directory]] = {}

    def shown_leaf(self, names: Names) -> Leaf:
        """A leaf with its secrets redacted."""
        return self._leaf(self._shown, names)

    def open_leaf(self, names: Names) -> Leaf:
        """A leaf as it is: to compare, never to print."""
        return self._leaf(self._open, names)

    def _leaf(self, root: Directory, names: Names) -> Leaf:
        above, directory = self._last.get(id(root), ((), root))
        if above != names[:-1]:
            directory = root
            for name in names[:-1]:
                child = directory.child(name)
                assert isinstance(child, Directory)
                directory = child
            self._last[id(root)] = names[:-1], directory
        leaf = directory.child(names[-1])
        assert isinstance(leaf, Leaf)
        return leaf


class _Lines:
    """Differences as lines to read."""

    def __init__(self, context: Context, sides: _Sides) -> None:
        self._context, self._sides = context, sides

    def line(self, difference: Difference) -> str:
        """One line with its newline."""
        path = shown(self._context, encode_path(difference.names))
        return f"{_MARKS[difference.change]} {path}  {escape(self._text(difference))}\n"

    def _text(self, difference: Difference) -> str:
        if difference.topic is not None:
            n = difference.n_partitions
            return f"topic {difference.topic}, {n} partition{'' if n == 1 else 's'}"
        if difference.change != "changed":
            return self._sides.one_side(difference).text()
        fields = self._sides.fields(difference.names)
        return ", ".join(
            f"{'' if name == 'value' else f'{name} '}{_text_of(old)} → {_text_of(new)}"
            for name, (old, new) in fields.items()
        )


def _text_of(value: JsonValue) -> str:
    """A value as nodes print it, where it has no structure of its own."""
    match value:
        case bool():
            return java_bool(value)
        case None:
            return "null"
        case str():
            return value
        case Mapping():
            return json.dumps(value, ensure_ascii=False)
        case Sequence():
            if any(isinstance(part, Mapping) for part in value):
                return json.dumps(value, ensure_ascii=False)
            return java_list(value)
        case _:
            return str(value)


class _JsonLines:
    """Differences as JSON, an object a line."""

    def __init__(self, sides: _Sides) -> None:
        self._sides = sides

    def value(self, difference: Difference) -> dict[str, object]:
        """What one line says."""
        value: dict[str, object] = {
            "change": str(difference.change),
            "path": encode_path(difference.names),
        }
        if difference.topic is not None:
            value["topicId"] = difference.topic
            value["partitions"] = difference.n_partitions
        elif difference.change == "changed":
            value["fields"] = self._sides.fields(difference.names)
        else:
            value["value"] = self._sides.one_side(difference).value()
        return value

    def line(self, difference: Difference) -> str:
        """One line with its newline."""
        # ASCII: a name may hold a lone surrogate, which no encoding can write.
        return json.dumps(self.value(difference)) + "\n"

    def record(self, difference: Difference) -> Record:
        """The same as a row."""
        value = self.value(difference)
        return {"topic_id": value.pop("topicId", None), **value}


def _print(context: Context, lines: Iterator[str]) -> int:
    """Write lines in chunks; 1 where there is one."""
    return ExitCode.FAILED if write_chunks(context, lines, _CHUNK_LINES) else ExitCode.OK


def _print_counts(context: Context, found: Iterator[Difference]) -> int:
    lines: list[str] = []
    for row in _count_rows(context, found):
        numbers = [f"{mark}{row[change]}".ljust(8) for change, mark in _MARKS.items()]
        lines.append(f"{row['part']:<18}{'  '.join(numbers)}".rstrip())
    if lines:
        context.out.write("\n".join(lines) + "\n")
    return ExitCode.FAILED if lines else ExitCode.OK


def _count_rows(context: Context, found: Iterator[Difference]) -> Iterator[Record]:
    """How many things of each part differ; those of a topic told in one count as well."""
    from metashell.image.digest import PARTS

    counts: dict[str, Counter[str]] = {part: Counter() for part in PARTS}
    for n, difference in enumerate(found):
        counts[difference.part][difference.change] += 1
        if difference.n_partitions:
            counts["partitions"][difference.change] += difference.n_partitions
        if not n % _CHUNK_LINES:
            stop_if_cancelled(context)
    for part, count in counts.items():
        if count.total():
            yield {"part": part, **{change: count[change] for change in _MARKS}}


COMMAND = Diff()
