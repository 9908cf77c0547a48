"""Options of ``log``: what they say, checked, and what they may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed, refuse_more
from metashell.commands.rows.command import RowsCommand
from metashell.commands.shared.period import Period, period_of
from metashell.commands.shared.waiting import refuse_what_stands_still
from metashell.dataclass import dataclass
from metashell.errors import UsageError

if TYPE_CHECKING:
    import re

    from metashell.commands.rows.output import Shape
    from metashell.records.filter import Selection
    from metashell.schema.model import Registry
    from metashell.sources.source import Source

COMPLETIONS = 200
"""Names that are proposed at most."""
FOLLOW: Final = "--follow"


@dataclass(frozen=True, slots=True)
class Request:
    """The meaning of the options."""

    selection: Selection
    single: int | None
    """The one offset asked for."""
    grep: re.Pattern[str] | None
    limit: int | None
    tail: int | None
    hides_noops: bool
    batches: bool
    json: bool
    file: str | None
    checkpoints: bool
    follow: bool


_METADATA_ALONE: Final = ("--broker", "--checkpoints")
"""Options that ask for what only a metadata log has."""
_COORDINATORS_ALONE: Final = ("--group", "--transaction")
"""Options that ask for what only the logs of coordinators have."""
_LACKS: Final[Mapping[str, tuple[str, ...]]] = {
    "__consumer_offsets": ("--transaction",),
    "__share_group_state": ("--transaction", "--topic"),
    "__transaction_state": ("--group",),
}
"""By log, options that ask for what the records of other coordinators have."""


_RECORDS_ALONE: Final = (
    *("--type", "--not-type", "--topic", "--partition", "--group", "--transaction", "--broker"),
    *("--checkpoints", "--all", FOLLOW),
)
"""Options that ask for what a topic's log does not tell."""


def parse_request(command: RowsCommand, context: Context, args: Sequence[str]) -> Request:
    """The request that the words after the command's name make.

    Raises:
        UsageError: They are wrong, or contradict each other.
    """
    parsed = command.parse(args)
    check_words(command, context, parsed)
    return request_of(context, context.needs_source(), parsed)


def check_words(command: RowsCommand, context: Context, parsed: Parsed) -> None:
    """Refuse words that contradict each other, or what can't be followed.

    Raises:
        UsageError: So it is.
    """
    refuse_more(command, parsed.arguments)
    _refuse_contradictions(parsed)
    if FOLLOW in parsed.switches:
        refuse_what_stands_still(context.needs_source())


def refuse_what_has_an_end(rows: Shape) -> None:
    """Refuse rows that can't be written before the last one is known.

    Raises:
        UsageError: They are such.
    """
    from metashell.commands.rows.stream import fits_a_stream

    if not fits_a_stream(rows):
        what = "--count" if rows.count else "--sort" if rows.sort else f"-o {rows.form}"
        raise UsageError(
            f"{what} needs all records, and {FOLLOW} has no end",
            hint="-o jsonl, csv or tsv can be followed",
        )


def file_names(source: Source) -> list[str]:
    """The segments and checkpoints of a source."""
    listing = source.log.listing
    return [*(s.name for s in listing.segments), *(c.name for c in listing.checkpoints)]


def _refuse_contradictions(parsed: Parsed) -> None:
    given = {*parsed.switches, *parsed.values}
    excluding = [("--file", "--checkpoints")]
    excluding += [(FOLLOW, flag) for flag in ("--file", "--checkpoints", "--until")]
    if FOLLOW not in given:
        # Followed, the log has last records first and an end later.
        excluding.append(("--limit", "--tail"))
    for one, other in excluding:
        if {one, other} <= given:
            raise UsageError(f"{one} and {other} exclude each other")
    if "--context" in given and "--offset" not in given:
        raise UsageError("--context needs --offset")


def request_of(context: Context, source: Source, parsed: Parsed) -> Request:
    """The request that the words make of a source.

    Raises:
        UsageError: They are wrong, or ask for what only another log has.
        NotCoveredError: A point lies outside the log.
    """
    values, switches = parsed.values, parsed.switches
    _refuse_what_it_lacks(source, {*switches, *values})
    types = _types_of(source)
    wanted, unwanted = each(parsed, "--type"), each(parsed, "--not-type")
    keys = frozenset(type_key(name, types) for name in wanted) if wanted else None
    not_keys = frozenset(type_key(name, types) for name in unwanted)
    offsets_asked, single = _offsets_asked(source, values)
    period = period_of(
        source,
        parsed,
        lambda text: context.warn(f"log: {text}"),
        is_open=FOLLOW in switches,
    )
    selection = _selection(source, parsed, period, offsets_asked, keys, not_keys)
    noop = source.registry.by_name.get("NoOpRecord")
    names_noops = keys is not None and noop is not None and noop.api_key in keys
    return Request(
        selection,
        single,
        regex(values.get("--grep")),
        parsed.count("--limit"),
        parsed.count("--tail", least=0 if FOLLOW in switches else 1),
        hides_noops=not ("--all" in switches or names_noops or single is not None),
        batches="--batches" in switches,
        json="--json" in switches,
        file=values.get("--file"),
        checkpoints="--checkpoints" in switches,
        follow=FOLLOW in switches,
    )


def _refuse_what_it_lacks(source: Source, given: Set[str]) -> None:
    """Refuse options that ask for something that a log does not have.

    Raises:
        UsageError: One of them is given.
    """
    coordinator, topic = source.of_coordinator, source.of_topic
    if topic is not None:
        for flag in _RECORDS_ALONE:
            if flag in given:
                raise UsageError(
                    f"{flag}: of {topic.title}, a topic's log, only batches are told",
                    hint="--offset, --since, --until, --epoch, --control and --grep find batches",
                )
        return
    if coordinator is None:
        for flag in _COORDINATORS_ALONE:
            if flag in given:
                raise UsageError(
                    f"{flag} is for the logs of coordinators, and this is a metadata log",
                    hint="`metashell -d DIR/__consumer_offsets-3 log` prints one",
                )
        return
    partition = coordinator.partition_log.partition
    hint = "--grep REGEX finds records by what their lines say"
    for flag in _METADATA_ALONE:
        if flag in given:
            text = f"{flag} is for metadata logs, and this is {partition}"
            raise UsageError(text, hint=hint)
    for flag in _LACKS[partition.log]:
        if flag in given:
            raise UsageError(f"{flag}: the records of {partition} have none", hint=hint)


def _offsets_asked(
    source: Source, values: Mapping[str, str]
) -> tuple[tuple[int, int | None], int | None]:
    """The first and the last offset asked for, None for any; and the one offset, if it is one."""
    first, last = offsets("--offset", values.get("--offset"))
    end, keyed = source.moment_offset, source.of_coordinator or source.of_topic
    around = number("--context", values.get("--context")) or 0
    if keyed is None and end is not None:
        last = end if last is None else min(last, end)
    single = first if first is not None and first == last else None
    low = 0 if first is None else max(first - around, 0)
    high = None if last is None else last + around
    if keyed is not None:
        ends = [high, end, None if keyed.end is None else keyed.end - 1]
        high = min((one for one in ends if one is not None), default=None)
    return (low, high), single


def _selection(
    source: Source,
    parsed: Parsed,
    period: Period,
    offsets_asked: tuple[int, int | None],
    keys: frozenset[int] | None,
    not_keys: frozenset[int],
) -> Selection:
    from metashell.records.filter import MAX_OFFSET, Selection

    values, (low, last) = parsed.values, offsets_asked
    high = MAX_OFFSET if last is None else min(last, MAX_OFFSET)
    since, until = period.since, period.until
    if since is not None and since.offset is not None:
        low = max(low, since.offset)
    if until is not None and until.offset is not None:
        high = min(high, until.offset)
    since_ms = None if since is None else since.timestamp_ms
    until_ms = None if until is None else until.last_ms
    if not source.capabilities.has_image and since_ms is None and until_ms is not None:
        # A message of format 0 has no time.
        since_ms = 0
    epochs = offsets("--epoch", values.get("--epoch"))
    return Selection(
        first_offset=min(low, MAX_OFFSET),
        last_offset=high,
        since_ms=since_ms,
        until_ms=until_ms,
        first_epoch=-(1 << 31) if epochs[0] is None else min(epochs[0], (1 << 31) - 1),
        last_epoch=(1 << 31) - 1 if epochs[1] is None else min(epochs[1], (1 << 31) - 1),
        keys=keys,
        not_keys=not_keys,
        control="--control" in parsed.switches,
        name=glob(values.get("--group", values.get("--transaction"))),
        topic=glob(values.get("--topic")),
        partition=number("--partition", values.get("--partition")),
        broker=number("--broker", values.get("--broker")),
    )


def each(parsed: Parsed, flag: str) -> list[str]:
    """All values of an option that may be repeated and lists several."""
    values = parsed.every.get(flag, [])
    return [name for value in values for name in value.split(",") if name]


def glob(text: str | None) -> Callable[[str], bool] | None:
    """Tells the names that a pattern matches; None for no pattern."""
    if text is None:
        return None
    from metashell.fs.pattern import Pattern

    # A glob however it is quoted, as with `find -name`: the shell would expand a bare one.
    match = Pattern(str(text)).match
    return lambda name: bool(match(name))


def number(flag: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise UsageError(f"{flag} {text}: not a whole number")
    return int(text)


def offsets(flag: str, text: str | None) -> tuple[int | None, int | None]:
    """First and last of ``A..B``, ``A..``, ``..B`` or ``N``, None for what is left out."""
    if text is None:
        return None, None
    first, dots, last = text.partition("..")
    ends = (first, last) if dots else (first, first)
    if not any(ends) or not all(
        end.isascii() and (end.isdigit() or not end) and len(end) <= 19 for end in ends
    ):
        raise UsageError(f"{flag} {text}: not a number N or a range A..B")
    low, high = (int(end) if end else None for end in ends)
    if low is not None and high is not None and low > high:
        raise UsageError(f"{flag} {text}: {low} is greater than {high}")
    return low, high


def regex(text: str | None) -> re.Pattern[str] | None:
    import re

    if text is None:
        return None
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as e:
        raise UsageError(f"--grep {text}: not a regular expression: {e}") from e


def type_key(name: str, known: Mapping[str, tuple[int, str | None]]) -> int:
    """The number of a type of records.

    Args:
        name: The typed name, or the number.
        known: By `plain` name: the number, and the name to propose.

    Raises:
        UsageError: There is no such type.
    """
    found = known.get(plain(name))
    if found is not None:
        return found[0]
    if name.isascii() and name.isdigit() and len(name) <= 9:
        return int(name)
    from metashell.spelling import did_you_mean, near_names

    near = [known[n][1] for n in near_names(plain(name), known)]
    hint = did_you_mean(sorted(n for n in near if n is not None)) or None
    raise UsageError(f"{name}: no such type of record", hint=hint)


def plain(name: str) -> str:
    """A type's name without what people may leave out."""
    plain = name.replace("_", "").casefold()
    for ending in ("record", "message"):
        plain = plain.removesuffix(ending)
    return plain


def _types_of(source: Source) -> dict[str, tuple[int, str | None]]:
    """By the `plain` name of a type: its number, and the name to propose."""
    from metashell.log.control import CONTROL_NAMES
    from metashell.log.frames import control_key, keyed_control

    coordinator, registry = source.of_coordinator, source.registry
    if coordinator is not None:
        known = {plain(n): (keyed_control(kind), n) for kind, n in CONTROL_NAMES.items()}
        types = coordinator.record_types.by_number.values()
        return {**known, **{plain(t.name): (t.number, t.name) for t in types}}
    keys = {plain(name): control_key(kind) for kind, name in CONTROL_NAMES.items()}
    keys.update({plain(s.name): control_key(kind) for kind, s in registry.control.items()})
    keys.update({plain(s.name): key for key, s in registry.metadata.items()})
    shown = {plain(name): name for name in _type_names(registry)}
    return {name: (key, shown.get(name)) for name, key in keys.items()}


def _type_names(registry: Registry) -> list[str]:
    """Short names of the types, for completion."""
    return sorted(name.removesuffix("Record").removesuffix("Message") for name in registry.by_name)


def option_values(context: Context, flag: str, typed: str) -> Sequence[str]:
    """The values that an option can have."""
    if context.fleet is not None:
        from metashell.commands.framework.cluster import inside

        own = inside(context)
        if own is None:
            return ()
        context = own
    source = context.source
    if source is None:
        return ()
    if flag in ("--type", "--not-type"):
        return _type_names(source.registry)
    if flag == "--file":
        return file_names(source)
    places = {"--topic": "/image/topics/byName", "--broker": "/image/cluster/brokers"}
    if flag not in places:
        return ()
    from metashell.errors import PathError
    from metashell.fs.node import Directory
    from metashell.fs.path import resolve

    try:
        node = resolve(context.root, places[flag]).node
    except PathError:
        return ()
    return node.names_from(typed, COMPLETIONS) if isinstance(node, Directory) else ()
