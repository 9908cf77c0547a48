"""Which parts there are: the modules of `metashell.parts.metadata` and of
`metashell.parts.coordinators`, wherever their paths lead.

A part is imported when it is asked for. Names are those of the modules, which a zip file lists too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from metashell.errors import SchemaError
from metashell.parts import metadata
from metashell.parts.spec import NodeNames, PartSpec, Put
from metashell.redact import type_may_hold_secrets

if TYPE_CHECKING:
    from metashell.schema.coordinators import RecordType


@cache
def part_names(package: ModuleType = metadata) -> Sequence[str]:
    """Names of all parts of a package, sorted; imports none of them."""
    return sorted(module.name for module in iter_modules(package.__path__))


@cache
def find_part(name: str, package: ModuleType = metadata) -> PartSpec:
    """The part of a name.

    Raises:
        ImportError: There is none.
        SchemaError: Its declaration can't work.
    """
    found: PartSpec = import_module(f"{package.__name__}.{name}").PART
    if found.name != name:
        raise SchemaError(f"part {found.name}: its module is called {name}")
    check_levels(found)
    return found


def check_levels(part: PartSpec) -> None:
    """See that each level of a part's path is made of its key.

    Raises:
        SchemaError: One is not.
    """
    key = [field.column for field in part.key]
    for level in part.levels:
        for column in level.of:
            if column not in key:
                raise SchemaError(
                    f"part {part.name}: the level {column} of its path is no column of its key,"
                    f" which is {', '.join(key) or 'empty'}",
                    hint=f"add PartField({column!r}) to key, or name a column of the key in levels",
                )
        if not level.name and len(level.of) != 1:
            raise SchemaError(
                f"part {part.name}: the level ({', '.join(level.of)}) of its path has no hook that"
                " makes one name of these columns"
            )


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


@cache
def all_parts() -> Sequence[PartSpec]:
    """All parts of the metadata, in the order of Kafka's image, others by name behind them."""
    found = map(find_part, part_names())
    return sorted(found, key=lambda part: (part.order, part.name))


@cache
def coordinator_parts() -> Mapping[str, PartSpec]:
    """All parts of coordinators' logs by name, sorted."""
    from metashell.parts import coordinators

    return {name: find_part(name, coordinators) for name in part_names(coordinators)}


@cache
def puts_by_record() -> Mapping[str, tuple[PartSpec, Put]]:
    """The part that each record type of a coordinator's log is about, and what it puts."""
    parts = coordinator_parts().values()
    return {put.message: (part, put) for part in parts for put in part.puts}


@cache
def coordinator_roots() -> Mapping[str, Sequence[PartSpec]]:
    """The parts of coordinators' logs by the directory of the root that they are below."""
    found: dict[str, list[PartSpec]] = {}
    for part in coordinator_parts().values():
        if part.log:
            found.setdefault(part.path[0], []).append(part)
    return found


def directory_below(part: PartSpec) -> NodeNames:
    """Names from the directory of a coordinator's log to that of the part's things."""
    names = part.puts[0].at.split("/")
    n_keys = 0
    for depth, name in enumerate(names):
        n_keys += name.startswith("{")
        if n_keys == len(part.rows_by):
            del names[depth + 1 :]
            break
    while names and names[-1].startswith("{"):
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
    is_table = len(fixed) < 2 and all(name.startswith("{") for name in names[-2:])
    return (fixed, columns) if is_table and len(columns) == 2 else None


@lru_cache(maxsize=64)
def parts_below(name: str) -> Sequence[PartSpec]:
    """Parts in a directory of ``/image``, by its name; imports one alone where it owns it."""
    for module in part_names():
        if module.replace("_", "") == name.lower():
            part = find_part(module)
            if part.path[:1] == (name,) and part.node:
                return [part]
    return [part for part in all_parts() if part.path[:1] == (name,)]


@cache
def directory_names() -> Sequence[str]:
    """Names of the directories of ``/image`` that parts have."""
    return sorted({part.path[0] for part in all_parts() if part.path})


@lru_cache(maxsize=64)
def part_of_table(table: str) -> PartSpec | None:
    """The part that a table shows, by the table's name."""
    return next((part for part in all_parts() if part.table_name == table), None)


def forget_parts() -> None:
    """Look for parts anew: for who changes the package's path."""
    for known in (
        part_names,
        find_part,
        all_parts,
        coordinator_parts,
        puts_by_record,
        coordinator_roots,
        parts_below,
        directory_names,
        part_of_table,
    ):
        known.cache_clear()
