"""The nodes that a record of a coordinator's log tells of, and their fields.

Each type of record is about one node, by its key: a member, an offset, a transaction. A record may
also tell of a whole thing, such as a classic group and its members. A node may have records of
several types, such as what a member is and what it has now; its fields are those of all of them.

Fields have the names of Kafka's own JSON. Partitions are told as ``TOPIC-PARTITION``. Bytes that
clients put into a record are decoded where Kafka reads them, and left out else.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any, Final, TypeAlias

from metashell.dataclass import dataclass
from metashell.fs.change_texts import whole_text, with_names
from metashell.image.fold import distinct
from metashell.parts.forms import form_of
from metashell.parts.known import puts_by_record
from metashell.parts.paths import check_path
from metashell.parts.spec import NodeNames, hook
from metashell.parts.view import SecretValue
from metashell.records.keyed_records import KeyedColumns, KeyedRecords
from metashell.redact import REDACTED, Redaction, row_secret_fields, type_may_hold_secrets
from metashell.schema.arena import I64
from metashell.schema.columns import Columns
from metashell.schema.coordinators import RecordType
from metashell.schema.dump import fields_json
from metashell.schema.model import FieldSpec
from metashell.schema.rows import to_rows, values_of
from metashell.schema.uuids import uuid_text

Fields: TypeAlias = Mapping[str, Any]

_OF_NO_PART: Final = "groups"
"""The directory of what records of a user's own types tell."""
_NUMBERS: Final = frozenset({"int8", "int16", "uint16", "int32", "uint32", "int64"})
NOTHING_SHOWN: Final = Redaction()
SOME: Final[Fields] = {"offset": None}
"""Stands for fields that nobody looks at."""


@dataclass(slots=True)
class NodeUpdate:
    """A record's fields for a node: ``fields`` is None where the node has no such record now."""

    path: NodeNames
    fields: Fields | None


@cache
def levels_of(record_type: RecordType) -> tuple[str, NodeNames]:
    """Where nodes of a type are: the directory, and below it fixed names and fields of the key.

    Raises:
        SchemaError: They are declared of other fields than those of the key.
    """
    found = puts_by_record().get(record_type.name)
    if found is None:
        return _OF_NO_PART, (record_type.key.fields[0].column_name, record_type.name)
    part, put = found
    check_path(part, put, record_type)
    return part.path[0], tuple(level.strip("{}") for level in put.at.split("/"))


def whole_of(record_type: RecordType) -> str:
    """The hook that gives the nodes of a record that tells of all its thing; empty for others."""
    found = puts_by_record().get(record_type.name)
    return found[1].whole if found else ""


@cache
def forms_of(record_type: RecordType) -> Mapping[str, tuple[str, Callable[[Any], Any]]]:
    """By the name of a field the one that nodes have, and what gives its value there."""
    specs = {field.column_name: field for field in record_type.value.fields}
    found = puts_by_record().get(record_type.name)
    return {
        specs[field.column].json_name: (
            field.kafka or specs[field.column].json_name,
            form_of(field.form, specs[field.column]).shown,
        )
        for field in (found[1].fields if found else ())
        # A user's own definition may lack one.
        if field.column in specs
    }


def paths_of(
    record_type: RecordType, keys: Columns, topics: Mapping[str, str]
) -> Iterator[NodeNames]:
    """The node that each record is about.

    Args:
        record_type: The type of all.
        keys: Their keys.
        topics: Names of topics by the text of their ids.
    """
    root, levels = levels_of(record_type)
    fields = {field.column_name: field for field in record_type.key.fields}
    secret = row_secret_fields(record_type.key.name)
    columns: list[Iterable[str]] = [repeat(root, keys.n)]
    for level in levels:
        field = fields.get(level)
        if field is None or field.json_name in secret:
            columns.append(repeat(level if field is None else REDACTED, keys.n))
            continue
        values = values_of(field, keys.fields[level])
        write: Callable[[Any], str] = uuid_text if field.type == "uuid" else str
        names = map(write, values)
        columns.append((topics.get(t, t) for t in names) if level == "topic_id" else names)
    return zip(*columns, strict=True)


def _updates(
    record_type: RecordType,
    path: NodeNames,
    value: Fields | None,
    topics: Mapping[str, str],
    redaction: Redaction,
) -> Iterator[NodeUpdate]:
    """The updates of nodes by a record about a node.

    Args:
        record_type: Its type.
        path: The node.
        value: Its value, as `metashell.schema.rows.to_rows` gives it; None for a tombstone.
        topics: Names of topics by the text of their ids.
        redaction: Says what may be shown.
    """
    if value is None:
        yield NodeUpdate(path, None)
        return
    spec, forms = record_type.value, forms_of(record_type)
    given = fields_json(spec, spec.versions.high, value)
    shown = redaction.record(spec.name, given)
    fields: Fields = given
    if shown is not given:
        fields = {
            name: shown[name] if shown[name] is field else SecretValue(field, redaction)
            for name, field in given.items()
        }
    whole = whole_of(record_type)
    for below, said in hook(whole)(fields, value) if whole else ((path[2:], fields),):
        yield NodeUpdate((*path[:2], *below), _in_short(said, forms, topics))


def tell(
    records: KeyedRecords,
    rows: I64,
    topics: Mapping[str, str],
    redaction: Redaction = NOTHING_SHOWN,
    *,
    values: bool = True,
) -> dict[int, list[NodeUpdate]]:
    """The updates of nodes by records, by row; unreadable records are left out.

    Args:
        records: All.
        rows: int64, ascending: those that are asked for.
        topics: Names of topics by the text of their ids.
        redaction: Says what may be shown.
        values: Whether the fields matter; without them all have `SOME`, but for records that tell
            of several nodes.
    """
    out: dict[int, list[NodeUpdate]] = {}
    types = records.frames.api_key[rows]
    for number in distinct(types).tolist():
        record_type = records.types.by_number.get(number)
        if record_type is None:
            continue
        these, is_plain = rows[types == number], plain_fields(record_type) is not None
        if not values and not whole_of(record_type):
            found = records.decode(record_type.name, these, None, ())
            out.update(_tell_paths(record_type, found, topics))
            continue
        found = records.decode(record_type.name, these)
        if is_plain:
            out.update(_tell_plain(record_type, found, topics))
            continue
        for row, path, value, is_gone in zip(
            found.rows.tolist(),
            paths_of(record_type, found.key, topics),
            to_rows(found.value),
            found.is_tombstone.tolist(),
            strict=True,
        ):
            out[row] = list(
                _updates(record_type, path, None if is_gone else value, topics, redaction)
            )
    return out


@cache
def column_fields(record_type: RecordType) -> Sequence[FieldSpec] | None:
    """The fields of a type's nodes, where each can be written a column at a time; else None.

    All are numbers, texts, uuids or partitions by topic, and the first one is always there.
    """
    value, forms = record_type.value, forms_of(record_type)
    high = value.versions.high
    fields = [field for field in value.fields if high in field.versions]
    is_one = fields and high not in fields[0].tagged and not type_may_hold_secrets(value.name)
    return (
        fields if is_one and all(_is_column(f, high in f.tagged, forms) for f in fields) else None
    )


def _is_column(field: FieldSpec, is_tagged: bool, forms: Container[str]) -> bool:
    if field.is_struct:
        names = {each.column_name for each in field.fields}
        return field.is_array and not is_tagged and names == {"topic", "partition_ids"}
    is_plain = field.type in _NUMBERS or (field.type == "string" and not is_tagged)
    if field.json_name in forms:
        return field.type in _NUMBERS and not (field.is_array or is_tagged)
    return not field.is_array and (is_plain or field.type == "uuid")


@cache
def plain_fields(record_type: RecordType) -> Sequence[FieldSpec] | None:
    """The fields that nodes of a type have, where they are those of the value as it is.

    Then all are numbers, texts and uuids, and only uuids may be missing. None for other types.
    """
    fields, high = column_fields(record_type), record_type.value.versions.high
    if fields is None or forms_of(record_type):
        return None
    is_plain = all(not f.is_struct and (high not in f.tagged or f.type == "uuid") for f in fields)
    return fields if is_plain else None


def _tell_plain(
    record_type: RecordType, found: KeyedColumns, topics: Mapping[str, str]
) -> Iterator[tuple[int, list[NodeUpdate]]]:
    """The updates by records of a type with `plain_fields`, by row."""
    fields, high = plain_fields(record_type) or (), record_type.value.versions.high
    columns = [values_of(field, found.value.fields[field.column_name]) for field in fields]
    names, tagged = [field.json_name for field in fields], []
    for i, field in enumerate(fields):
        if field.type == "uuid":
            if high in field.tagged:
                tagged.append((field.json_name, uuid_text(bytes(16))))
            columns[i] = [uuid_text(each) for each in columns[i] if isinstance(each, bytes)]
    rows = zip(*columns, strict=True)
    for (row, says), values in zip(_tell_paths(record_type, found, topics), rows, strict=True):
        if says[0].fields is not None:
            fields_now = says[0].fields = dict(zip(names, values, strict=True))
            for name, default in tagged:
                if fields_now[name] == default:
                    del fields_now[name]
        yield row, says


def _tell_paths(
    record_type: RecordType, found: KeyedColumns, topics: Mapping[str, str]
) -> Iterator[tuple[int, list[NodeUpdate]]]:
    """The updates, with no more of the fields than whether there are any."""
    paths = paths_of(record_type, found.key, topics)
    for row, path, is_gone in zip(
        found.rows.tolist(), paths, found.is_tombstone.tolist(), strict=True
    ):
        yield row, [NodeUpdate(path, None if is_gone else SOME)]


def _in_short(
    fields: Fields,
    forms: Mapping[str, tuple[str, Callable[[Any], Any]]],
    topics: Mapping[str, str],
) -> dict[str, Any]:
    """Fields as nodes have them: partitions in one list, others in the form that is declared."""
    out: dict[str, Any] = {}
    for name, value in fields.items():
        if name in forms:
            shown, form = forms[name]
            out[shown] = form(value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            out[name] = _partitions(value, topics)
        else:
            out[name] = value
    return out


def _partitions(items: list[Any], topics: Mapping[str, str]) -> list[Any]:
    """``TOPIC-PARTITION`` for each partition of structs that have some; other structs as they
    are.
    """
    found: list[Any] = []
    for item in items:
        partitions = item.get("partitions", item.get("partitionIds"))
        if not isinstance(partitions, list) or any(isinstance(each, dict) for each in partitions):
            return items
        if "subtopologyId" in item:
            found.extend(f"{item['subtopologyId']}_{partition}" for partition in partitions)
            continue
        name = item.get("topicName", item.get("topic"))
        if name is None:
            topic_id = str(item.get("topicId"))
            name = topics.get(topic_id, topic_id)
        found.extend(f"{name}-{partition}" for partition in partitions)
    return found


def fields_text(fields: Fields) -> str:
    """The fields of a node in one line."""
    named = ((name, with_names(name, value)) for name, value in fields.items())
    return ", ".join(f"{name}={whole_text(value)}" for name, value in named)
