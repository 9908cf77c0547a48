"""The rows of each table, as the local engine has them, for a split or for a directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import pyarrow as pa

import metashell
from metashell.errors import MetashellError
from metashell.image.arrow import TABLES
from metashell.image.condensing import CondensedLog, condense_place
from metashell.image.image import Image
from metashell.image.row_filter import RowFilter, type_of
from metashell.image.split_tables import (
    FAULTS_SCHEMA,
    FILES_SCHEMA,
    fault_batches,
    faults_batch,
    file_batch,
    message_batches,
    message_schema,
    record_batches,
    records_schema,
)
from metashell.log.fault import Fault, FaultKind
from metashell.log.splits import Split
from metashell.redact import Redaction
from metashell.source import Source
from metashell.spark_backend.filters import LEAST, MOST, Wanted
from metashell.spark_backend.nodes import node_batches
from metashell.spark_backend.options import Options
from metashell.spark_backend.schemas import (
    FAULTS,
    FILES,
    NODES,
    NODES_SCHEMA,
    RECORDS,
    is_state,
    registry_of,
    with_origin,
)
from metashell.spark_backend.sites import Site
from metashell.sql import tables as sql_tables

UNREADABLE: Final = "unreadable"
"""Kind of the faults of files and directories that can't be read at all."""

_BATCH_ROWS: Final = 32_768

_WITH_TOPIC_ID: Final = frozenset(
    {"TopicRecord", "PartitionRecord", "PartitionChangeRecord", "RemoveTopicRecord"}
)


def table_schema(options: Options) -> pa.Schema:
    """The columns of the table asked for, with their origin in front."""
    return with_origin(_own_schema(options))


def _own_schema(options: Options) -> pa.Schema:
    if is_state(options.table):
        return NODES_SCHEMA if options.table == NODES else state_schema(options.table)
    if options.table == RECORDS:
        return records_schema(raw=options.raw)
    if options.table in {FILES, FAULTS}:
        return FILES_SCHEMA if options.table == FILES else FAULTS_SCHEMA
    return message_schema(registry_of(options.schemas), options.table)


@cache
def state_schema(table: str) -> pa.Schema:
    """The columns of a table of the image."""
    return sql_tables.state_schema(registry_of(()), table)


# Of splits.


def row_filter(wanted: Wanted, options: Options, below: int | None = None) -> RowFilter:
    """What filters say of records.

    Args:
        wanted: The filters.
        options: What was asked for.
        below: The first offset that does not count; None for all.
    """
    low, high = wanted.range_of("offset")
    since, until = wanted.range_of("timestamp")
    topics = wanted.values.get("topic_id") if options.table in _WITH_TOPIC_ID else None
    return RowFilter(
        types=_types(wanted, options) if options.table == RECORDS else None,
        offset_min=max(low, 0),
        offset_max=min(high, MOST if below is None else below - 1),
        time_min=None if since == LEAST else -(-since // 1000),
        time_max=None if until == MOST else until // 1000,
        topics=None if topics is None else frozenset(map(str, topics)),
    )


def _types(wanted: Wanted, options: Options) -> frozenset[str] | None:
    """Types that are wanted, those of the api keys wanted among them."""
    types = wanted.values.get("type")
    keys = wanted.values.get("api_key")
    if keys is not None:
        registry = registry_of(options.schemas)
        named = frozenset(type_of(key, registry) for key in keys if _is_api_key(key))
        types = named if types is None else types & named
    return None if types is None else frozenset(map(str, types))


def _is_api_key(key: object) -> bool:
    return isinstance(key, int) and 0 <= key < 1 << 15


def split_batches(
    split: Split, options: Options, where: RowFilter, *, values: bool = True
) -> Iterator[pa.RecordBatch]:
    """The rows of a split of the table asked for, `values` as for `record_batches`.

    Raises:
        SourceError: It can't be read, or is not what was planned.
    """
    registry, redaction = registry_of(options.schemas), Redaction(options.show_secrets)
    if options.table == FAULTS:
        return fault_batches(split, registry)
    if options.table == RECORDS:
        return record_batches(split, registry, redaction, where, values=values, raw=options.raw)
    return message_batches(split, registry, redaction, options.table, where)


def file_rows(splits: Sequence[Split], options: Options) -> pa.RecordBatch:
    """The row of a file, given its splits; errors as `split_batches`."""
    return file_batch(splits, registry_of(options.schemas))


def not_read(reason: str, file: str | None = None) -> pa.RecordBatch:
    """The fault of a directory, or a file of it, that can't be read."""
    row = {"kind": UNREADABLE, "reason": reason, "file": file}
    return pa.RecordBatch.from_pylist([row], schema=FAULTS_SCHEMA)


# Of directories.


def open_site(site: Site, options: Options) -> Source:
    """Open a directory, as of option `at`.

    Raises:
        MetashellError: It can't be read, or does not cover that point.
    """
    source = metashell.open(
        site.opened_by,
        strict=options.strict,
        schemas=options.schemas,
        show_secrets=options.show_secrets,
        committed_only=options.committed_only,
    )
    return source if options.at is None else source.at(options.at)


def state_batches(site: Site, options: Options) -> Iterator[pa.RecordBatch]:
    """The rows of a table that shows a state, of one directory; errors as `open_site`.

    Memory of a table of the newest state: some ten times a split, and the image's records.
    """
    if options.table == NODES:
        yield from node_batches(open_site(site, options))
        return
    if options.at is not None or options.strict:
        table = open_site(site, options).table(options.table)
    else:
        image = Image(_condensed(site, options).records)
        table = TABLES[options.table](image, Redaction(options.show_secrets))
    yield from table.to_batches(max_chunksize=_BATCH_ROWS)


def _condensed(site: Site, options: Options, *, merges: bool = True) -> CondensedLog:
    return condense_place(
        site.place,
        show_secrets=options.show_secrets,
        schemas=options.schemas,
        committed_only=options.committed_only,
        merges=merges,
        split_bytes=options.split_bytes,
        registry=registry_of(options.schemas),
    )


def replay_faults(site: Site, options: Options, told: str | None) -> pa.RecordBatch:
    """What is wrong with the replay of a directory, or why there is none unless that was told."""
    try:
        found = _replay_faults(site, options)
    except MetashellError as e:
        return faults_batch([]) if str(e) == told else not_read(str(e))
    return faults_batch([fault for fault in found if fault.kind is FaultKind.REPLAY])


def _replay_faults(site: Site, options: Options) -> Sequence[Fault]:
    if options.at is not None or options.strict:
        return open_site(site, options).all_faults()
    records = _condensed(site, options).records
    Image(records).fold_everything()
    if records.merges_at_fault:
        records = _condensed(site, options, merges=False).records
        Image(records).fold_everything()
    return records.faults
