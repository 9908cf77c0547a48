"""``brokers``: what each leads and holds, and what would fail without some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.options import Option, Parsed, one_of, refuse_more
from metashell.commands.rows.columns import (
    DISK_BYTES,
    AnswerTable,
    Column,
    flag,
    integer,
    integers,
    number,
    text,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.assume_option import ASSUME, assumptions_of
from metashell.commands.shared.names import rows_named, unknown
from metashell.commands.shared.topic_arguments import (
    broker_ids,
    complete_brokers,
    refuse_unknown,
)
from metashell.errors import MetashellError

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.answers.brokers import Down, Racks

_BY: Final = ("broker", "rack")
_MOST_NAMED: Final = 12

_LOAD: Final = (
    integer("leaders", "Partitions led.", priority=6),
    integer("replicas", "Replicas held.", priority=6),
    integer("in_sync", "Partitions with this broker in the ISR.", priority=3),
    integer("preferred", "Partitions with this broker as the preferred leader.", priority=2),
    integer("preferred_led", "Of these, partitions that it leads.", priority=2),
    number(
        "leader_skew",
        "Difference from an even share of leaders among active brokers, in percent; null: it is "
        "not active.",
        priority=5,
    ),
    number(
        "replica_skew",
        "Difference from an even share of replicas among registered brokers, in percent; null: "
        "it is not registered.",
        priority=4,
    ),
)
_METRICS: Final = (*(column.name for column in _LOAD), DISK_BYTES.name)
COLUMNS: Final = (
    integer("broker", "The broker's id.", priority=9),
    text(
        "state",
        "active, fenced, controlled-shutdown, or not-registered (it still has replicas).",
        priority=8,
        red=("fenced", "not-registered"),
        yellow=("controlled-shutdown",),
    ),
    text("rack", "Its rack; null for none.", priority=5),
    *_LOAD,
    DISK_BYTES,
)
RACK_COLUMNS: Final = (
    text("rack", "The rack; null for brokers without one.", priority=9),
    integer("brokers", "Registered brokers.", priority=8),
    integer("active", "Of these, neither fenced nor shutting down.", priority=8),
    *_LOAD,
)
WITHOUT_COLUMNS: Final = (
    text("topic", "The topic's name.", priority=9),
    integer("partition", "The partition's id.", priority=9, runs=True),
    text("result", "offline or under-min-isr.", priority=8, red=("offline", "under-min-isr")),
    flag(
        "already",
        "Whether it is so now. A partition without a leader is under min ISR too.",
        priority=7,
    ),
    integer("leader", "The leader now; null for none.", priority=6),
    integer("leader_after", "The leader then; null for none.", priority=6),
    text(
        "elected_from",
        "Source of a new leader: isr, elr, last-known-leader or unclean, or none. The last two "
        "sources lose data. Null if the leader stays.",
    ),
    integers("isr_after", "The ISR then.", priority=3),
    integer("min_isr", "Effective min.insync.replicas."),
)


class BrokersCommand(RowsCommand):
    """List the load of brokers or racks, or what fails without some brokers.

    Lists what each broker leads and holds, and the difference from an even share. Leaders are
    shared among active brokers, replicas among all registered brokers. An ID chooses brokers;
    with --by rack a RACK chooses racks. `nodes` lists the registrations themselves.

    --without lists the partitions that would be offline or under min.insync.replicas if these
    brokers stopped at once. Use it before a rolling restart. It looks at partitions that one of
    them leads, or with one in the ISR. It also looks at partitions without a leader that wait
    for one. `already` marks partitions that are so now. New leaders are elected by the
    controller's own rules: see `man partitions`. A broker that is not registered and has no
    replicas is an error. With --by rack, --without takes racks: all their registered brokers
    stop. It counts partitions only: if a broker is a controller too, `quorum` tells whether its
    vote can be spared.
    """

    group = "what is wrong"
    noun = ("broker", "brokers")
    tables = (
        AnswerTable("", COLUMNS, ("broker", "state"), _METRICS),
        AnswerTable("--by rack", RACK_COLUMNS, ("rack",), ("brokers", "active", *_METRICS[:-1])),
        AnswerTable("--without 101", WITHOUT_COLUMNS),
    )
    of_each_cluster = True
    manual = Manual(
        synopsis="brokers [--by broker|rack] [--without ID|RACK,...] [OPTION...] [ID|RACK...]",
        options=(
            Option(("--by",), "Count by broker (the default) or by rack.", "WHAT", _BY),
            Option(
                ("--without",),
                "List the partitions that fail without these brokers, or racks with --by rack "
                "(separated by commas).",
                "IDS",
                complete=complete_brokers,
            ),
            ASSUME,
        ),
        examples=(
            ("brokers", "leaders, replicas and skew of each broker"),
            ("brokers 101 102", "of two brokers"),
            ("brokers --by rack", "the same by rack"),
            (
                "brokers --without 101",
                "partitions that a restart of broker 101 takes below min ISR",
            ),
            ("brokers --without 101,102 --count", "how many partitions fail without two brokers"),
            ("brokers --by rack --without eu-1a", "partitions that fail if a rack is lost"),
            ("brokers --sort=-leaders --columns broker,leaders", "the busiest first"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """Other columns by rack and for --without."""
        by = one_of("--by", parsed.values.get("--by", "broker"), _BY)
        if "--without" in parsed.values:
            refuse_more(self, parsed.arguments)
            return WITHOUT_COLUMNS
        return RACK_COLUMNS if by == "rack" else COLUMNS

    def nothing(self, parsed: Parsed) -> str:
        """No partition would fail, or there is no broker."""
        names = parsed.values.get("--without")
        if names is None:
            return super().nothing(parsed)
        what = parsed.values.get("--by", "broker") + ("s" if "," in names else "")
        return f"no partition would be offline or under min ISR without {what} {names}"

    def answer(self, query: RowsQuery) -> None:
        """The brokers, the racks, or what would fail."""
        from metashell.answers.brokers import (
            Down,
            Racks,
            brokers_table,
            racks_table,
            without_table,
        )
        from metashell.answers.health import Health
        from metashell.commands.shared.disks import with_disk_bytes

        values = query.parsed.values
        query.image.expect(("isr",))
        health = Health(query.image, assumptions_of(query.parsed))
        by_rack = values.get("--by") == "rack"
        if "--without" not in values:
            if by_rack:
                query.add(rows_named(query, racks_table(health), "rack", "rack"))
            else:
                table = with_disk_bytes(query, brokers_table(health), "broker")
                query.add(rows_named(query, table, "broker", "broker"))
            return
        names = values["--without"].split(",")
        if by_rack:
            down = _brokers_in(Racks.of(query.image), names)
        else:
            down = broker_ids("--without", values["--without"])
            refuse_unknown(query, health, "--without", down)
        rows = without_table(health, down)
        what, already = "rack" if by_rack else "broker", Down.of(health, down)
        told = [] if already.brokers == down else [loss_text(what, names, rows)]
        query.verdict = (*told, *down_text(what, names, already, is_all=not told))
        query.add(rows)

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose brokers."""
        return [] if "rack" in args else complete_brokers(context, word)


def loss_text(what: str, names: Sequence[str], rows: pa.Table) -> str:
    """Say how many partitions fail without some brokers or racks.

    Args:
        what: ``broker`` or ``rack``.
        names: Their ids or names; many are counted.
        rows: The rows of ``--without``.
    """
    counts = Counter(zip(rows["result"].to_pylist(), rows["already"].to_pylist(), strict=True))
    parts = []
    for result, told in (("offline", "offline"), ("under-min-isr", "under min ISR")):
        n, n_now = counts[result, False], counts[result, True]
        parts += [f"{n:,} more partition{'s' * (n != 1)} {told}"] if n else []
        parts += [f"{n_now:,} partition{'s' * (n_now != 1)} {told} already"] if n_now else []
    told = ", ".join(parts)
    if all(is_now for _, is_now in counts):
        # It says nothing of a vote in the quorum, of disks, or of what happened since.
        return f"no more partitions fail without {_named(what, names)}" + f": {told}" * bool(told)
    return f"{_named(what, names)} must not stop: {told}"


def down_text(what: str, names: Sequence[str], down: Down, *, is_all: bool) -> Iterator[str]:
    """Say that brokers are down already, and how many partitions wait for them.

    The disk of a broker for which a partition waits may hold the only copy.

    Args:
        what: ``broker`` or ``rack``.
        names: The ids or names of all that would stop.
        down: The brokers that are down.
        is_all: Whether no other one would stop.
    """
    n, waited_for = down.n_waiting, [*map(str, down.waited_for)]
    told = "no partition waits for " + ("it" if len(names) == 1 else "them")
    if n:
        them = "it" if len(waited_for) == 1 else "them"
        named = them if waited_for == [*names] else _named("broker", waited_for)
        told = f"{n:,} partition{'s' * (n != 1)} wait{'s' * (n == 1)} for {named}"
        told += f": do not wipe or unregister {them}"
    if is_all:
        yield f"{_named(what, names)} {'is' if len(names) == 1 else 'are'} down already"
    if is_all or n:
        yield told


def _named(what: str, names: Sequence[str]) -> str:
    """Brokers or racks by name; many by their number."""
    if len(names) > _MOST_NAMED:
        return f"{len(names)} {what}s"
    return f"{what}{'s' * (len(names) > 1)} {', '.join(names)}"


def _brokers_in(racks: Racks, names: Sequence[str]) -> frozenset[int]:
    """The registered brokers of racks.

    Raises:
        MetashellError: No broker names one, as `refuse_unknown` does.
    """
    for name in names:
        if name not in racks.names:
            raise MetashellError(unknown(name, "rack", racks.names, "--without"))
    return racks.brokers_in(names)


COMMAND = BrokersCommand()
