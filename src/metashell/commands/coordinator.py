"""``coordinator``: which broker coordinates a group, a transactional id or a share partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from metashell.answers.coordinator_tables import (
    COORDINATOR_KINDS,
    SHARE,
    TRANSACTION,
    CoordinatorKind,
)
from metashell.commands.framework.cluster import opened_sources
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.completion import complete_names
from metashell.commands.framework.options import Parsed
from metashell.commands.rows.columns import (
    flag,
    integer,
    integers,
    one_table,
    sentence,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.assume_option import ASSUME, assumptions_of
from metashell.commands.shared.names import tell_unknown
from metashell.errors import ExitCode, UsageError
from metashell.image.acl_names import RESOURCE_TYPES
from metashell.schema.resource_types import ResourceType
from metashell.schema.uuids import parse_uuid

if TYPE_CHECKING:
    from metashell.answers.coordinators import CoordinatorKey
    from metashell.image.image import Image

_MOST_DIGITS: Final = 10
_INT32_MOST: Final = 2**31 - 1
_FORMS: Final = "group:ID, txn:ID or share:GROUP:TOPIC:PARTITION"

COLUMNS: Final = (
    text("kind", "group, txn or share.", priority=7),
    text("id", "The id as you wrote it.", priority=9),
    text("key", "The text that Kafka hashes.", shown=False),
    text("topic", "The topic that holds the state.", priority=4),
    integer("partition", "The partition that the key hashes to.", priority=9),
    integer("partitions", "The number of the topic's partitions.", priority=1),
    flag(
        "assumed",
        "Whether this number is assumed, because the topic does not exist yet.",
        priority=2,
        yellow=("yes",),
    ),
    integer(
        "leader",
        "The coordinator: the broker that leads the partition; null for none.",
        priority=9,
        red=("-",),
    ),
    integer(
        "next_leader",
        "The broker that the controller would elect if the leader stopped, or now if there is "
        "none. Null for none.",
        priority=7,
        yellow=("-",),
    ),
    flag(
        "healthy",
        "Whether it has a leader, all its replicas in sync, and at least min.insync.replicas of "
        "them. Null if the topic does not exist yet.",
        shown=False,
    ),
    texts(
        "state",
        "The partition's states as in `partitions`, the worst first, or not-created. A terminal "
        "shows the worst.",
        priority=6,
        worst_first=True,
        red=("offline", "under-min-isr", "recovering"),
        yellow=("under-replicated", "elr", "not-created"),
    ),
    integers("replicas", "Brokers of the partition's replicas.", shown=False),
    integers("isr", "Replicas that are in sync; null: the partition does not exist.", priority=5),
    sentence("why", "Why the partition is not healthy; null if it is.", priority=8),
    texts(
        "endpoints",
        "The coordinator's listeners, LISTENER://HOST:PORT; null: no registered broker leads.",
        priority=3,
    ),
    integer("leader_epoch", "Grows with every change of the leader.", shown=False),
    integer(
        "since_offset",
        "Offset of the record that last set the leader; null: the newest checkpoint or older.",
        shown=False,
    ),
    time_at("since_time", "Time of that record.", shown=False),
)


class CoordinatorCommand(RowsCommand):
    """Find the broker that coordinates a group, a transaction or a share partition.

    Finds the coordinator of a group, of a transactional id, or of a partition in a share group.
    The coordinator is the broker that leads one partition of an internal topic. The hash of the
    key chooses the partition. So the answer needs only the metadata, and the id need not exist.

    The topic is `__consumer_offsets` for group, `__transaction_state` for txn and
    `__share_group_state` for share. A group without a coordinator can neither commit nor
    rebalance. A transactional id without a coordinator can begin and end no transaction.

    TOPIC is a topic's name or id. GROUP may hold colons. Put an id with spaces in quotes.

    If the topic does not exist yet, the number of its partitions is assumed and marked. It is
    Kafka's default of 50, or the one in the file of --assume: offsets.topic.num.partitions,
    transaction.state.log.num.partitions or share.coordinator.state.topic.num.partitions.

    The next leader is elected by the controller's own rules: see `man partitions`.

    Exit status: 1 if a partition has no leader, or if TOPIC does not exist.
    """

    group = "what is wrong"
    tables = one_table(*COLUMNS)
    noun = ("coordinator", "coordinators")
    argument_phrase = "of {}"
    of_each_cluster = True
    manual = Manual(
        synopsis="coordinator group:ID|txn:ID|share:GROUP:TOPIC:PARTITION... [OPTION...]",
        options=(ASSUME, HISTORY),
        examples=(
            ("coordinator group:order-service", "the coordinator of a group"),
            ("coordinator txn:payments-1 txn:payments-2", "of two transactional ids"),
            ("coordinator share:workers:orders:0", "of a partition in a share group"),
            (
                "coordinator group:order-service -o json --columns leader,endpoints,healthy",
                "for a script",
            ),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Answer; wrong words are refused before a fleet is asked."""
        if not parsed.arguments:
            raise UsageError("of what?", hint=f"write {_FORMS}")
        for word in parsed.arguments:
            _split(word)
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each key that is known."""
        from metashell.answers.coordinators import coordinators_table

        keys = list(_keys(query, query.parsed.arguments))
        if not keys:
            return
        table = coordinators_table(query.image, keys, assumptions_of(query.parsed))
        led = table.column("leader").is_valid().to_pylist()
        assumed = table.column("assumed").to_pylist()
        if not all(a or b for a, b in zip(led, assumed, strict=True)):
            query.status = ExitCode.FAILED
        query.add(table)
        _remark_assumed(query, list(dict.fromkeys(key.kind for key in keys)))

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose kinds, then ids that the metadata names."""
        kind, colon, typed = word.partition(":")
        if not colon:
            return complete_names(word, [f"{name}:" for name in COORDINATOR_KINDS])
        if kind not in COORDINATOR_KINDS:
            return []
        return complete_names(word, sorted(_proposed(context, COORDINATOR_KINDS[kind], typed)))


def _split(word: str) -> tuple[CoordinatorKind, str]:
    """The kind of a word, and what stands behind it.

    Raises:
        UsageError: There is no such kind, or a share key lacks a part.
    """
    name, colon, rest = word.partition(":")
    kind = COORDINATOR_KINDS.get(name.lower())
    if kind is None or not colon:
        raise UsageError(f"{word}: the kind of the key is missing", hint=f"write {_FORMS}")
    if kind is SHARE:
        _share_parts(word, rest)
    return kind, rest


def _share_parts(word: str, rest: str) -> tuple[str, str, int]:
    """Group, topic and partition of a share key, split from the right.

    Raises:
        UsageError: It has no such parts.
    """
    group, topic, number = ["", "", "", *rest.rsplit(":", 2)][-3:]
    is_number = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    if not (group and topic and is_number and int(number) <= _INT32_MOST):
        raise UsageError(
            f"{word}: must name a group, a topic and a partition",
            hint="such as share:workers:orders:0",
        )
    return group, topic, int(number)


def _keys(query: RowsQuery, words: Sequence[str]) -> Iterator[CoordinatorKey]:
    """The keys that the words ask for; a topic that does not exist is reported."""
    from metashell.answers.coordinators import CoordinatorKey

    topics = query.image.topics
    for word in words:
        kind, rest = _split(word)
        if kind is not SHARE:
            yield CoordinatorKey(kind, rest, rest)
            continue
        group, topic, number = _share_parts(word, rest)
        index = topics.find_name(topic)
        if index is None:
            index = topics.find_id(topic)
        if index is not None:
            _remark_partition(query, index, number)
            topic = topics.id_texts[index]
        elif parse_uuid(topic) is None:
            tell_unknown(query, topic, "topic", topics.names)
            continue
        else:
            query.remarks.append(f"no topic has the id {topic}")
        yield CoordinatorKey(kind, rest, f"{group}:{topic}:{number}")


def _remark_partition(query: RowsQuery, topic: int, number: int) -> None:
    """Remark that a topic has no such partition; its coordinator is known all the same."""
    if query.image.partitions_of(topic).index(topic, number) is None:
        query.remarks.append(f"{query.image.topics.names[topic]} has no partition {number}")


def _remark_assumed(query: RowsQuery, kinds: Sequence[CoordinatorKind]) -> None:
    """Remark which topics do not exist, and where the number of their partitions comes from."""
    from metashell.answers.coordinators import partition_count

    assumptions = assumptions_of(query.parsed)
    for kind in kinds:
        partitions = partition_count(query.image, kind, assumptions)
        if partitions.is_default:
            query.remarks.append(
                f"{kind.topic} does not exist yet: {partitions.count} partitions are assumed, the "
                f"default of {kind.partitions_key}; --assume FILE reads a server.properties"
            )
        elif partitions.is_assumed:
            query.remarks.append(
                f"{kind.topic} does not exist yet: {partitions.count} partitions are assumed, as "
                f"{assumptions.path} says"
            )


def _proposed(context: Context, kind: CoordinatorKind, typed: str) -> set[str]:
    """Words for ids that configs and ACLs name; of a share key topics and partitions."""
    found: set[str] = set()
    wanted = "TRANSACTIONAL_ID" if kind is TRANSACTION else "GROUP"
    for source in opened_sources(context):
        image = source.image
        acls = image.part("acls").columns
        of_acls = zip(
            acls.fixed("resource_type").tolist(), acls.span("resource_name").texts(), strict=True
        )
        names = {name for code, name in of_acls if code == RESOURCE_TYPES.index(wanted)}
        if kind is not TRANSACTION:
            configs = image.part("configs").columns
            types = configs.fixed("resource_type").tolist()
            of_configs = zip(types, configs.span("resource_name").texts(), strict=True)
            names.update(name for code, name in of_configs if code == ResourceType.GROUP)
        names.discard("*")
        if kind is not SHARE:
            found.update(f"{kind.word}:{name}" for name in names)
            continue
        found.update(f"share:{name}:" for name in names)
        found.update(f"share:{rest}" for rest in _share_rests(image, typed))
    return found


def _share_rests(image: Image, typed: str) -> list[str]:
    """The completions behind ``share:``: partitions where a topic was typed, else topics."""
    before, colon, _ = typed.rpartition(":")
    group, is_behind, topic = before.rpartition(":")
    index = image.topics.find_name(topic) if is_behind else None
    if index is not None:
        return [f"{group}:{topic}:{number}" for number in image.partitions_of(index).ids_of(index)]
    return [f"{before}:{name}:" for name in image.topics.names] if colon else []


COMMAND = CoordinatorCommand()
