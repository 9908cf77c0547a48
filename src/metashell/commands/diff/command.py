"""``diff``: what differs between two states, node by node and field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from metashell.commands.diff.logs import (
    END,
    ROOT,
    are_two,
    both_whole,
    cluster_ids,
    logs_differ,
    offset_in,
    one_point,
    scope_of,
)
from metashell.commands.diff.sides import Sides, Tree, tree_of
from metashell.commands.framework.command import Completion, Context, Manual, Nowhere
from metashell.commands.framework.completion import takes_value
from metashell.commands.framework.options import Option, Parsed, refuse_more
from metashell.commands.framework.targets import shown, stop_if_cancelled, write_chunks
from metashell.commands.rows.columns import AnswerTable, integer, json_value, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.errors import (
    ExitCode,
    MetashellError,
    NotCoveredError,
    PathError,
    SourceError,
    UsageError,
)
from metashell.fs.change_texts import with_names
from metashell.fs.escape import escape
from metashell.fs.java import java_bool, java_list
from metashell.fs.node import JsonValue
from metashell.fs.path import encode_path
from metashell.log.time_spec import TimeSpec
from metashell.schema.dump import finite, java_double, to_json

if TYPE_CHECKING:
    from metashell.answers.recipes.settings import Settings
    from metashell.fs.differences import Difference, Scope
    from metashell.image.image import Image
    from metashell.places.place import Place
    from metashell.sources.source import Source

_CHUNK_LINES: Final = 512
_AGE: Final = re.compile(r"-(?=[0-9])")
_VALUES: Final = ("--at", "--with", "-o", "--output", "--columns", "--sort")
_MARKS: Final = {"added": "+", "removed": "-", "changed": "~"}
_STAT: Final = "--stat"
_TWO: Final = 2
"""POINTs that are compared."""
_TABLES: Final = (
    AnswerTable(
        "",
        (
            text("change", "added (only the second has it), removed (only the first) or changed."),
            text("path", "The node."),
            text("topic_id", "Of a topic that only one has: its id."),
            integer("partitions", "Likewise: how many it has."),
            json_value(
                "fields",
                "Of what changed, a JSON object: by the name of a field, a list of both values.",
            ),
            json_value("value", "Of a leaf that only one has: its value as JSON."),
        ),
    ),
    AnswerTable(
        _STAT,
        (
            text("part", "The part of the image."),
            integer("added", "How many things of it only the second has."),
            integer("removed", "Only the first."),
            integer("changed", "How many differ."),
        ),
    ),
)


class DiffCommand(RowsCommand):
    """Show what differs between two offsets or times, or two directories.

    Compares two states and prints the nodes that differ, sorted by path. + marks a node that
    only the second state has, - one that only the first has. ~ marks a changed node, with the
    old and the new value of each field.

    PATH limits the comparison; the default is /image. Wildcards are allowed. topic:orders
    stands for the topic and its configs. So does orders, where no other resource has this name.
    /groups and /transactions are compared where both states have their logs; what lies in a
    partition that only one of them has is left out. /image/provenance always differs and is
    left out.

    With two POINTs it compares two states of this source. POINT is an offset, a time, an age,
    or `end` for the newest state: see `man at`.

    With --with it compares this source, as the shell shows it, with another. --at compares both
    at the same point; an age counts from the last record of this source. If one source has only
    a part of a batch, both are compared before that batch, and a warning says so. If the logs
    hold different batches, a warning has the first such offset and both leader epochs. The exit
    status is then 1, even if the states are equal. In a fleet, each cluster is compared with
    DIR, unless the current directory or PATH chooses one.

    Two clusters are compared by their settings: partitions and replicas of topics, configs, client
    quotas, ACLs, SCRAM users and features. A setting is what somebody decided; nodes that brokers
    register and ids are none. If PATH names other nodes, such as /image/cluster, they are compared.

    If --with names Strimzi's resources in YAML or JSON, a file or a directory of files, diff
    compares the settings that they state. A KafkaTopic states the partitions, the replicas and
    the configs of its topic. KafkaUsers state ACLs, quotas of users and SCRAM users. The configs
    of a Kafka resource are compared with the dynamic configs of brokers, which take their place.
    + marks what only the files have. - marks what no file has, if the files state others of its
    kind; Kafka's own topics aside. `export --as strimzi` writes such files.

    A topic that only one state has is one line; --all prints all its leaves. Topics are
    compared by name, below byId by id. Secrets are printed as [redacted]. Two states of one
    cluster are compared with their secrets. Two clusters are not: a secret config differs if
    only one has it.

    Exit status: 0 if nothing differs, 1 if something differs or a POINT is not covered, 3 if a
    source can't be read.
    """

    group = "history"
    takes_paths = True
    one_cluster = True
    of_each_cluster = True
    noun = ("difference", "differences")
    tables = _TABLES
    text_options = ("--quiet",)
    manual = Manual(
        synopsis=(
            "diff [--all] [--stat|--quiet|-o FORMAT] POINT POINT [PATH], or"
            " diff --with DIR [--at POINT] [--all] [--stat|--quiet|-o FORMAT] [PATH]"
        ),
        options=(
            Option(
                ("--with",),
                "Compare with another directory or file, or with files of Strimzi's resources.",
                metavar="DIR",
            ),
            Option(("--at",), "With --with: compare both at this POINT.", metavar="POINT"),
            Option(("--all",), "Print every leaf of topics that only one state has."),
            Option(("--stat",), "Print only the number of differences in each part."),
            Option(("--quiet", "-q"), "Print nothing. The exit status tells."),
        ),
        examples=(
            ("diff 1870 end", "what changed between two offsets"),
            ("diff 1870 end /image/topics/byName/csv-imports", "what changed in one topic"),
            ("diff --stat 1870 end", "the number of changes in each part"),
            ("diff -o jsonl 900 end /image/configs/TOPIC:*", "for a script"),
            ("diff 1870 end /image/cluster", "what changed in brokers and controllers"),
            ("diff -o csv --columns change,path 1870 end", "which nodes, as CSV"),
        ),
    )

    def asks_each(self, args: Sequence[str]) -> bool:
        """Each cluster is compared with a directory that stands for the state wanted."""
        return any(word == "--with" or word.startswith("--with=") for word in args)

    def parse(self, args: Sequence[str]) -> Parsed:
        """Sort its words out, of which one may be an age."""
        return super().parse(_ages_as_arguments(args))

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Print what differs."""
        if {_STAT, "--quiet"} <= parsed.switches:
            raise UsageError("--stat and --quiet exclude each other")
        if "--quiet" in parsed.switches:
            context = replace(context, out=Nowhere())
        try:
            return super().run_parsed(context, parsed)
        except (UsageError, NotCoveredError):
            raise
        except MetashellError as error:
            # Exit status 1 is taken: ``diff`` says with it that it found a difference.
            raise SourceError(error.message, hint=error.hint) from error

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose `end` where a POINT comes, else options and paths."""
        points = [arg for arg in args if not arg.startswith("-")]
        is_value = bool(args) and takes_value(self.manual.options, args[-1]) is not None
        if is_value or "--with" in args or word.startswith("-") or len(points) >= _TWO:
            return super().complete(context, args, word)
        return [Completion(END, -len(word), END)] if END.startswith(word) else []

    def answer(self, query: RowsQuery) -> None:
        """A row for each difference, or for each part that differs."""
        context, parsed = query.context, query.parsed
        found, sides, query.status = self._compared(context, parsed)
        is_stat = _STAT in parsed.switches
        rows = _count_rows(context, found) if is_stat else map(_Rows(sides).row, found)

        def differing() -> Iterator[RowMapping]:
            for row in rows:
                query.status = ExitCode.FAILED
                yield row

        query.add(differing())

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A line for each."""
        return self._write(context, parsed, "", "")

    def write_member(self, name: str, context: Context, parsed: Parsed) -> int:
        """The lines of a cluster below its name, or one line if nothing differs."""
        heading = escape(name)
        return self._write(context, parsed, f"{heading}:\n", f"{heading}: nothing differs\n")

    def _write(self, context: Context, parsed: Parsed, heading: str, nothing: str) -> int:
        found, sides, status = self._compared(context, parsed)
        is_stat = _STAT in parsed.switches
        lines = _count_lines(context, found) if is_stat else map(_Lines(context, sides).line, found)
        first = next(lines, None)
        if first is None:
            context.out.write(nothing)
            return status
        if "--quiet" not in parsed.switches:
            write_chunks(context, chain([heading + first], lines), _CHUNK_LINES)
        return ExitCode.FAILED

    def _compared(
        self, context: Context, parsed: Parsed
    ) -> tuple[Iterator[Difference], Sides, int]:
        """The differences, the two states, and 1 where their logs differ."""
        from metashell.fs.differences import find_differences

        other = parsed.values.get("--with")
        if other is not None:
            from metashell.commands.diff.desired import desired_files

            files = desired_files(other)
            if files:
                return *self._with_files(context, parsed, files), int(ExitCode.OK)
        left, right, path = self._sides(context, parsed)
        if are_two(cluster_ids(left, right)):
            drift = self._with_cluster(context, left, right, path)
            if drift is not None:
                return *drift, int(ExitCode.OK)
        status = int(ExitCode.OK)
        if other is not None:
            until = offset_in(parsed.values.get("--at"))
            if logs_differ(context, left, right, until):
                status = ExitCode.FAILED
        scope = scope_of(context, left, right, path)
        found: Iterator[Difference] = iter(())
        if scope.touches((ROOT,)):
            is_whole = "--all" in parsed.switches
            found = find_differences(left.image, right.image, scope, whole_topics=is_whole)
        sides = Sides(Tree.of(left), Tree.of(right))
        return chain(_of_coordinators(left, right, scope), found), sides, status

    def _with_files(
        self, context: Context, parsed: Parsed, files: Sequence[Place]
    ) -> tuple[Iterator[Difference], Sides]:
        """The settings that differ from those that files state."""
        from metashell.answers.recipes.settings import both_stated, settings_of
        from metashell.commands.diff.desired import settings_in

        here, at = context.needs_source(), parsed.values.get("--at")
        refuse_more(self, parsed.arguments, 1)
        image = (here if at is None else self._at(context, here, at)).image
        both = both_stated(settings_of(image), settings_in(files, parsed.values["--with"]))
        return _of_settings(context, both, [image], next(iter(parsed.arguments), None))

    @staticmethod
    def _with_cluster(
        context: Context, left: Source, right: Source, path: str | None
    ) -> tuple[Iterator[Difference], Sides] | None:
        """The settings of two clusters that differ; None where other nodes are asked for."""
        from metashell.answers.recipes.settings import settings_of

        if not (left.capabilities.has_image and right.capabilities.has_image):
            return None
        images = left.image, right.image
        with suppress(PathError):
            return _of_settings(context, [settings_of(image) for image in images], images, path)
        return None

    def _sides(self, context: Context, parsed: Parsed) -> tuple[Source, Source, str | None]:
        """The two states, and the path asked for."""
        here, words = context.needs_source(), parsed.arguments
        other, at = parsed.values.get("--with"), parsed.values.get("--at")
        usage = f"usage: {self.manual.synopsis}"
        n_points = 0 if other is not None else 2
        if len(words) < n_points:
            raise UsageError("two POINTs are needed, or --with DIR", hint=usage)
        if len(words) > n_points + 1:
            raise UsageError(f"too many arguments: {words[n_points + 1]}", hint=usage)
        path = words[n_points] if len(words) > n_points else None
        if other is None:
            if at is not None:
                raise UsageError("--at goes with --with", hint=usage)
            return self._at(context, here, words[0]), self._at(context, here, words[1]), path
        from metashell.sources.opening import open_like

        there = open_like(here, other)
        if at is not None:
            time_spec = one_point(here, at)
            here, there = self._at(context, here, time_spec), self._at(context, there, time_spec)
            if offset_in(at) is not None:
                here, there = both_whole(context, here, there)
        self._warn_of_others(context, here, there)
        return here, there, path

    def _at(self, context: Context, source: Source, time_spec: str | TimeSpec) -> Source:
        if time_spec == END:
            return source.newest
        then = source.at(time_spec if isinstance(time_spec, TimeSpec) else str(time_spec))
        for note in then.moment_notes:
            context.warn(escape(f"diff: {note}"))
        return then

    @staticmethod
    def _warn_of_others(context: Context, here: Source, there: Source) -> None:
        """Say what makes two sources differ by nature."""
        ids = cluster_ids(
            here,
            there,
            lambda error: context.warn(escape(f"diff: {error.message}: its cluster is not known")),
        )
        if are_two(ids):
            if here.live is not None:
                raise SourceError(
                    f"{there.path} is of cluster {ids[1]}, the quorum of {ids[0]}",
                    hint="compare with a directory of the same cluster",
                )
            context.warn(escape(f"diff: of two clusters: {ids[0]} and {ids[1]}"))
        if not (here.capabilities.has_image and there.capabilities.has_image):
            return
        offsets = here.image.provenance.offset, there.image.provenance.offset
        if offsets[0] != offsets[1] and not are_two(ids):
            context.warn(
                f"diff: at two offsets: {offsets[0]} and {offsets[1]};"
                " --at OFFSET compares both as of the same"
            )
        for warning in there.newest.warnings:
            context.warn(escape(f"diff: {there.path}: {warning}"))


def _ages_as_arguments(args: Sequence[str]) -> list[str]:
    """Take ``-2h`` for the point that it is instead of for options: write it as ``2h``."""
    out: list[str] = []
    for word in args:
        time_spec = _AGE.match(word) and "--" not in out and not (out and out[-1] in _VALUES)
        out.append(word[1:] if time_spec else word)
    return out


def _of_settings(
    context: Context, both: Sequence[Settings], images: Sequence[Image], path: str | None
) -> tuple[Iterator[Difference], Sides]:
    """The settings that differ, and both sides."""
    from metashell.commands.diff.logs import scope_of_settings
    from metashell.fs.differences import node_differences
    from metashell.parts.known import parts_below

    left, right = map(tree_of, both)
    scope = scope_of_settings(context, images, (left, right), path)
    found = (
        replace(one, part=parts_below(one.names[1])[0].name)
        for one in node_differences(left, right, (), scope)
    )
    return found, Sides(Tree(left, left), Tree(right, right))


def _of_coordinators(left: Source, right: Source, scope: Scope) -> Iterator[Difference]:
    """The differences of groups and transactions, as far as both sources have their logs."""
    from metashell.fs.differences import node_differences

    if scope.covers((ROOT,)) and not scope.covers(()):
        return
    before, after = left.coordinator_directories, right.coordinator_directories
    for name in sorted(before.keys() & after.keys()):
        yield from node_differences(before[name], after[name], (name,), scope)


class _Lines:
    """Differences as lines to read."""

    def __init__(self, context: Context, sides: Sides) -> None:
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
            f"{'' if name == 'value' else f'{name} '}"
            f"{_text_of(with_names(name, old))} → {_text_of(with_names(name, new))}"
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
        case float():
            return java_double(value)
        case Mapping():
            return to_json(value)
        case Sequence():
            if any(isinstance(part, Mapping) for part in value):
                return to_json(value)
            return java_list(value)
        case _:
            return str(value)


class _Rows:
    """Differences as rows."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    def row(self, difference: Difference) -> RowMapping:
        """One of them."""
        row: dict[str, object] = {
            "change": str(difference.change),
            "path": encode_path(difference.names),
        }
        if difference.topic is not None:
            row["topic_id"], row["partitions"] = difference.topic, difference.n_partitions
        elif difference.change == "changed":
            row["fields"] = finite(self._sides.fields(difference.names))
        else:
            row["value"] = finite(self._sides.one_side(difference).value())
        return row


def _count_lines(context: Context, found: Iterator[Difference]) -> Iterator[str]:
    for row in _count_rows(context, found):
        numbers = [f"{mark}{row[change]}".ljust(8) for change, mark in _MARKS.items()]
        yield f"{row['part']:<18}{'  '.join(numbers)}".rstrip() + "\n"


def _count_rows(context: Context, found: Iterator[Difference]) -> Iterator[RowMapping]:
    """How many things of each part differ."""
    from metashell.checks.compare import ChangeKind
    from metashell.checks.digest import digested_parts
    from metashell.fs.differences import count_by_part

    def ticking() -> Iterator[Difference]:
        for n, difference in enumerate(found):
            if not n % _CHUNK_LINES:
                stop_if_cancelled(context)
            yield difference

    counts = count_by_part(ticking())
    names = dict.fromkeys([*(part.name for part in digested_parts()), *counts])
    for part in names:
        if (count := counts.get(part)) is not None:
            yield {"part": part, **{change: count[ChangeKind(change)] for change in _MARKS}}


COMMAND = DiffCommand()
