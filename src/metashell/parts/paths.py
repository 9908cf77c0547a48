"""The paths of the nodes of coordinators' parts, and whether their declarations can work."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache, partial
from itertools import combinations
from typing import Final, TypeAlias

from metashell.errors import SchemaError
from metashell.parts.forms import check_columns
from metashell.parts.spec import NodeNames, PartSpec, Put
from metashell.redact import type_may_hold_secrets
from metashell.schema.coordinators import CoordinatorLog, RecordType, builtin_definitions

_Event: TypeAlias = tuple[PartSpec, Put]
_ANY: Final = "{}"
"""Stands in a path for any column."""
_TAKEN: Final = ("bootstrap", "image", "local", "log", "quorum")
"""Directories of the root that are no part's."""


def directory_below(part: PartSpec) -> NodeNames:
    """Names from the directory of a coordinator's log to that of the part's things."""
    names = part.puts[0].at.split("/")
    n_keys = 0
    for depth, name in enumerate(names):
        n_keys += _is_column(name)
        if n_keys == len(part.rows_by):
            del names[depth + 1 :]
            break
    while names and _is_column(names[-1]):
        names.pop()
    return tuple(names)


def table_levels(put: Put) -> tuple[NodeNames, NodeNames] | None:
    """The directory of leaves that are a table, below their thing, and the columns that name them.

    None for other nodes. A thing with nothing below it is a leaf itself, and has no columns.
    """
    names = put.at.split("/")[1:]
    fixed, columns = tuple(names[:-2]), tuple(name.strip("{}") for name in names[-2:])
    if not names:
        return (), ()
    is_table = len(fixed) < 2 and all(map(_is_column, names[-2:]))
    return (fixed, columns) if is_table and len(columns) == 2 else None


def _is_column(name: str) -> bool:
    return name.startswith("{")


@cache
def check_path(part: PartSpec, put: Put, record_type: RecordType) -> None:
    """See that the path of a record of a coordinator's log has the fields of its key.

    Raises:
        SchemaError: It lacks one, has another, or would show a secret.
    """
    fields = [field.column_name for field in record_type.key.fields]
    columns = re.findall(r"{(.*?)}", put.at)
    where = f"of {record_type.name}: the path is {put.at}, the key {', '.join(fields)}"
    for column in (*columns, *fields):
        if column not in fields or column not in columns:
            missing = "key" if column in columns else "path"
            raise SchemaError(f"part {part.name}: {column} is not in the {missing} {where}")
    if columns[0] != fields[0] or record_type.key.fields[0].type != "string":
        raise SchemaError(f"part {part.name}: no string begins both the path and the key {where}")
    if type_may_hold_secrets(record_type.key.name):
        raise SchemaError(f"part {part.name}: a secret is in the key {where}")
    kafkas = partial(builtin_definitions, CoordinatorLog(part.log))
    check_columns(part, "field", put.fields, record_type.value, kafkas)


def check_record(part: PartSpec, put: Put, types: Mapping[str, RecordType]) -> RecordType:
    """The type of a record that a part declares, checked by `check_path`.

    Args:
        part: The part.
        put: Its declaration of the record.
        types: Record types by name.

    Raises:
        SchemaError: It has no definition, or its path can't work.
    """
    record_type = types.get(put.message)
    if record_type is None:
        raise SchemaError(f"part {part.name}: no definition of {put.message}")
    check_path(part, put, record_type)
    return record_type


def check_directories(parts: Collection[PartSpec]) -> None:
    """See that the nodes of all coordinators' parts can stand in one tree.

    Raises:
        SchemaError: One has no path, or two can't stand side by side.
    """
    for part in parts:
        if len(part.path) != 1 or part.path[0] in _TAKEN:
            shown = "/".join(part.path)
            raise SchemaError(
                f"part {part.name}: its path {shown!r} is no directory of the root, or one that"
                f" is taken: {', '.join(_TAKEN)}"
            )
        if part.log and part.log not in list(CoordinatorLog):
            raise SchemaError(
                f"part {part.name}: no coordinator writes {part.log}",
                hint=f"log is one of {', '.join(CoordinatorLog)}",
            )
        if not (part.log or part.rows):
            raise SchemaError(
                f"part {part.name}: it is of no log, and names no rows",
                hint=f"log is one of {', '.join(CoordinatorLog)}; or name rows",
            )
        if bool(part.table_columns) != bool(part.rows):
            raise SchemaError(
                f"part {part.name}: it declares one of table_columns and rows, which go together"
            )
        if part.asked_for and not part.joined:
            raise SchemaError(f"part {part.name}: nothing gives its columns of asked_for: joined")
        for put in part.puts:
            _check_put(part, put)
    for first, second in combinations(parts, 2):
        if first.path == second.path:
            _check_side_by_side(first, second)
    folded = {part.path for part in parts if part.fold}
    found: dict[tuple[str, str], _Event] = {}
    for part in parts:
        for put in part.puts:
            event = part, put
            before = found.setdefault((part.path[0], re.sub("{.*?}", _ANY, put.at)), event)
            # Only a fold of their own can make one leaf of a table of two types of records.
            is_folded = part is before[0] and part.path in folded
            if before is not event and table_levels(put) is not None and not is_folded:
                raise _clash(before, event)
    for (place, event), (other_place, other) in combinations(found.items(), 2):
        if place[0] == other_place[0] and _meet(place[1], other_place[1]):
            raise _clash(event, other)


def _check_put(part: PartSpec, put: Put) -> None:
    """See that the part can do what its record asks for.

    Raises:
        SchemaError: It can't.
    """
    if put.waits and not (table_levels(put) or ((),))[0]:
        raise SchemaError(
            f"part {part.name}: {put.message} waits, but its leaves are no table: the path"
            f" is {put.at}",
            hint="have a directory and two columns behind the first: {group}/d/{a}/{b}",
        )
    if (put.onto or put.whole) and not part.fold:
        raise SchemaError(
            f"part {part.name}: {put.message} changes what other records wrote, and the"
            " part has no fold that tells the outcome"
        )
    if any(field.secret for field in put.fields):
        raise SchemaError(
            f"part {part.name}: a field of {put.message} is declared secret, which hides"
            " it nowhere",
            hint="name it in metashell/redact.py, which hides it in every output",
        )
    if not _is_column(put.at) or "" in put.at.split("/"):
        raise SchemaError(
            f"part {part.name}: the path of {put.message} is {put.at or 'empty'!r}",
            hint="begin it with the key's first field, and leave no name empty: {group_id}/...",
        )


def _meet(path: str, other: str) -> bool:
    """Whether something may have both paths, or lie below what has the other."""
    pairs = zip(path.split("/"), other.split("/"), strict=False)
    return all(one == two or _ANY in (one, two) for one, two in pairs)


def _clash(event: _Event, other: _Event) -> SchemaError:
    (part, put), (beside, new) = event, other
    return SchemaError(
        f"part {beside.name}: {new.message} has the path {part.path[0]}/{new.at}, which may be that"
        f" of {put.message} of {part.name}: {part.path[0]}/{put.at}"
    )


def _check_side_by_side(one: PartSpec, other: PartSpec) -> None:
    """See that two parts below one directory are of one log, and have at most one fold."""
    if one.log != other.log:
        raise SchemaError(
            f"part {one.name}: {one.path[0]} is of {one.log or 'no log'}, and of"
            f" {other.log or 'no log'} for the part {other.name}"
        )
    if one.fold and other.fold:
        raise SchemaError(f"part {one.name}: {one.path[0]} has the fold of {other.name} already")
