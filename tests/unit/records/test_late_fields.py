"""Fields that are decoded when they are asked for are those that are decoded at once."""

from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import metashell
from metashell.image.partitions import Partitions
from metashell.parts.partition_fields import LISTS
from metashell.records import late_fields
from metashell.records.records import Records
from metashell.schema.columns import Columns, LateFields, SpanColumn
from metashell.schema.rows import to_rows
from support.fixtures import differing_directories, fixture
from support.implementations import implemented_by

MESSAGES = ("PartitionRecord", "PartitionChangeRecord", "TopicRecord", "ConfigRecord")


def _columns(name: str, least: int) -> dict[str, Columns]:
    source = metashell.open(fixture(name).input)
    records = Records(source.log.loaded, source.image.records.registry)
    with patch.object(late_fields, "LEAST_ROWS", least):
        return {message: records.columns(message)[1] for message in MESSAGES}


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", differing_directories())
def test_any_order(name: str) -> None:
    """One at a time or together, forgotten in between, of all rows or of some."""
    whole = _columns(name, 1 << 30)
    rng = Random(name)
    with implemented_by("kernel"):
        for message, columns in _columns(name, 1).items():
            assert isinstance(columns.fields, LateFields) == (columns.n > 0)
            names = rng.sample(list(columns.fields), len(columns.fields))
            for field in names[:2]:
                assert columns.fields[field] is columns.fields[field]
            rows = np.array(rng.choices(range(columns.n), k=columns.n // 2), dtype=np.int64)
            some, head = columns.take(rows), columns.head(columns.n // 2)
            columns.forget(names[1:3])
            expected = whole[message]
            assert to_rows(expected.take(rows)) == to_rows(some)
            assert to_rows(expected.head(columns.n // 2)) == to_rows(head)
            for field in names:
                assert type(expected.fields[field]) is type(columns.fields[field])
            assert to_rows(expected) == to_rows(columns)


def test_only_what_is_asked_for() -> None:
    """Lists that nobody reads are never made; a name that is none is no field."""
    with implemented_by("kernel"):
        columns = _columns("real-44-live", 1)["PartitionRecord"]
        early = set(columns.decoded().fields)
        assert "isr" not in early
        assert {"topic_id", "leader", "replicas"} <= early
        assert isinstance(columns.fields["isr"], SpanColumn)
        assert early | {"isr"} == set(columns.decoded().fields)
        columns.forget(["topic_id"])
        assert isinstance(columns.fields["removing_replicas"], SpanColumn)
        assert {*columns.fields} - {"topic_id"} == set(columns.decoded().fields)
        assert "isr" in columns.fields
        assert "nothing" not in columns.fields
        with pytest.raises(KeyError):
            columns.fields["nothing"]


def _lists(name: str, least: int) -> tuple[Partitions, dict[str, list[Any]]]:
    with patch.object(late_fields, "LEAST_ROWS", least):
        partitions = metashell.open(fixture(name).input).image.partitions
        found = {
            list_name: [partitions.list_column(list_name).raw(i) for i in range(len(partitions))]
            for list_name in LISTS
        }
        return partitions, found


def test_lists_of_partitions_are_held_once() -> None:
    """What no change sets is dropped from the records once it is folded, and can be asked again."""
    with implemented_by("kernel"):
        _, expected = _lists("real-44-live", 1 << 30)
        partitions, found = _lists("real-44-live", 1)
        assert expected == found
        base, change = partitions.happenings.base, partitions.happenings.change
        set_by = {name: partitions.set_by(name).tolist() for name in LISTS}
        n_dropped = 0
        for name, column in LISTS.items():
            if (change.span(column).counts < 0).all():
                change.forget([column])
                partitions.set_by(name)
                assert column not in change.decoded().fields
                n_dropped += column not in base.decoded().fields
        assert n_dropped
        assert set_by == {name: partitions.set_by(name).tolist() for name in LISTS}


@pytest.mark.parametrize("before", [None, 1 << 30])
def test_what_is_expected_comes_with_the_first(before: int | None) -> None:
    """It is the same as when asked for later; an earlier state hands the wish on."""
    with implemented_by("kernel"):
        source = metashell.open(fixture("real-44-live").input)
        records = Records(source.log.loaded, source.image.records.registry)
        asked = records if before is None else records.until(before)
        asked.expect(("isr", "no_such_field"))
        for message in ("PartitionRecord", "PartitionChangeRecord"):
            columns = asked.columns(message)[1]
            early = set(columns.decoded().fields)
            assert "isr" in early
            assert "adding_replicas" not in early
            later = _columns("real-44-live", 1)[message]
            assert to_rows(later) == to_rows(columns)


def test_few_records_are_decoded_whole() -> None:
    """So are all without the kernel, which takes as long for one field as for all."""
    least = late_fields.LEAST_ROWS
    for columns in _columns("real-44-live", least).values():
        assert not isinstance(columns.fields, LateFields)
    with implemented_by("numpy"):
        for columns in _columns("real-44-live", 1).values():
            assert not isinstance(columns.fields, LateFields)
