"""Producers of partitions, and open transactions that no coordinator will end.

Such a transaction holds back who reads committed data.

A partition's producer state has an open transaction, and no transactional id has this producer id,
or the one that has it does not name the partition. Where a partition of the coordinators' topic is
not at hand that could have the producer id, nobody knows.

Source: KIP-664, org.apache.kafka.tools.TransactionsCommand.FindHangingTransactionsCommand. Kafka's
tool looks only at those that are older than the longest timeout; here each has its age.
"""

from __future__ import annotations

from enum import StrEnum
from shlex import quote
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.groups import partition_texts
from metashell.image.coordinators.producers import ProducersState
from metashell.image.coordinators.record_tables import TIME, part_schema, part_table
from metashell.parts.coordinators.producers import PART
from metashell.schema.arrow import one_piece

OPEN: Final = "current_txn_start_offset"
"""The column of producers that tells of an open transaction."""
ABORT: Final = 'kafka-transactions.sh --bootstrap-server "$BOOTSTRAP_SERVER" abort --topic '


class HangingVerdict(StrEnum):
    """Whether a transaction hangs."""

    YES = "yes"
    UNDECIDED = "undecided"
    NO = "no"


OPEN_SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("coordinator_epoch", pa.int32()),
        ("start_offset", pa.int64()),
        ("last_time", TIME),
        ("age_ms", pa.int64()),
        ("transactional_id", pa.string()),
        ("hanging", pa.string()),
        ("holds", pa.bool_()),
        ("command", pa.string()),
    ]
)


PRODUCER_SCHEMA: Final = part_schema(PART)


def producers_table(state: ProducersState, topic: str, partition: int) -> pa.Table:
    """The producers of a partition, by id: columns of `PRODUCER_SCHEMA`.

    A leader answers DescribeProducers so. Source: ReplicaManager.activeProducerState.

    Args:
        state: Its producers.
        topic: The topic's name.
        partition: The partition.
    """
    starts = state.current_txn_first_offset
    return part_table(
        PART, state, topic=topic, partition=partition, current_txn_start_offset=starts
    )


def open_producers(producers: pa.Table) -> pa.Table:
    """The rows of `producers_table` with a transaction open."""
    return producers.filter(pc.is_valid(producers.column(OPEN)))


def open_table(
    producers: pa.Table, transactions: pa.Table, *, is_complete: bool, end_ms: int | None
) -> pa.Table:
    """The open transactions of partitions, the oldest first: columns of `OPEN_SCHEMA`.

    Args:
        producers: Rows of `open_producers` of all partitions that are looked at.
        transactions: Rows of `metashell.answers.transactions` of all partitions at hand.
        is_complete: Whether every partition of the coordinators' topic is at hand.
        end_ms: The end of the logs, ms since the epoch; ages are counted to it.
    """
    ids = producers.column("producer_id")
    at = pc.index_in(ids, value_set=one_piece(transactions.column("producer_id")))
    names = one_piece(transactions.column("transactional_id")).take(one_piece(at))
    is_known = _bools(pc.is_valid(at))
    verdict = np.full(len(ids), HangingVerdict.UNDECIDED, dtype=object)
    verdict[is_known | is_complete] = HangingVerdict.YES
    verdict[_are_named(producers, transactions)] = HangingVerdict.NO
    topics, partitions = (
        one_piece(producers.column("topic")),
        one_piece(producers.column("partition")),
    )
    starts, times = one_piece(producers.column(OPEN)), one_piece(producers.column("last_timestamp"))
    ages = pa.nulls(len(ids), pa.int64())
    if end_ms is not None:
        ages = pc.max_element_wise(pc.subtract(end_ms, times.cast(pa.int64())), 0, skip_nulls=False)
    table = pa.table(
        [
            topics,
            partitions,
            ids,
            producers.column("producer_epoch"),
            producers.column("coordinator_epoch"),
            starts,
            times,
            ages,
            names,
            pa.array(verdict, pa.string()),
            _are_lowest(topics, partitions, starts),
            _commands(topics, partitions, starts, verdict == HangingVerdict.YES),
        ],
        schema=OPEN_SCHEMA,
    )
    keys = ("last_time", "topic", "partition", "start_offset")
    return table.sort_by([(name, "ascending") for name in keys])


def with_hanging(transactions: pa.Table, opened: pa.Table | None) -> pa.Table:
    """Transactions with the column ``hanging``: whether their producer has one that hangs.

    Args:
        transactions: Rows of `metashell.answers.transactions`.
        opened: Rows of `open_table`, of all partitions that are looked at; None where none is.
    """
    if opened is None:
        return transactions.append_column("hanging", pa.nulls(len(transactions), pa.bool_()))
    hangs = opened.filter(pc.equal(opened.column("hanging"), HangingVerdict.YES.value))
    found = pc.is_in(transactions.column("producer_id"), one_piece(hangs.column("producer_id")))
    return transactions.append_column("hanging", found)


def _bools(column: pa.ChunkedArray | pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(one_piece(column), dtype=np.bool_)


def _are_named(
    producers: pa.Table, transactions: pa.Table
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether the transaction of each producer names the partition."""
    lists = one_piece(transactions.column("partitions"))
    of = one_piece(transactions.column("producer_id")).take(pc.list_parent_indices(lists))
    named = _keys(of, pc.list_flatten(lists))
    places = partition_texts(producers.column("topic"), producers.column("partition"))
    return _bools(pc.is_in(_keys(one_piece(producers.column("producer_id")), places), named))


def _keys(producer_ids: pa.Array, places: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(producer_ids.cast(pa.string()), places, ":")


def _are_lowest(topics: pa.Array, partitions: pa.Array, starts: pa.Array) -> pa.Array:
    """Whether nothing that is open in the partition begins before: it holds what is stable."""
    table = pa.table({"topic": topics, "partition": partitions, "start": starts})
    lowest = table.group_by(["topic", "partition"]).aggregate([("start", "min")])
    places = [
        partition_texts(each.column("topic"), each.column("partition")) for each in (table, lowest)
    ]
    at = pc.index_in(places[0], value_set=places[1])
    return one_piece(pc.equal(starts, one_piece(lowest.column("start_min")).take(one_piece(at))))


def _commands(
    topics: pa.Array,
    partitions: pa.Array,
    starts: pa.Array,
    chosen: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> pa.Array:
    """The command that ends each of the chosen transactions."""
    encoded = topics.dictionary_encode()
    quoted = pa.array([quote(name) for name in encoded.dictionary.to_pylist()], pa.string())
    texts = pc.binary_join_element_wise(
        ABORT,
        quoted.take(encoded.indices),
        " --partition ",
        partitions.cast(pa.string()),
        " --start-offset ",
        starts.cast(pa.string()),
        "",
    )
    return pc.if_else(pa.array(chosen), texts, pa.scalar(None, pa.string()))
