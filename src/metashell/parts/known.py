"""Which parts there are: the modules of `metashell.parts.metadata`, wherever its path leads.

A part is imported when it is asked for. Names are those of the modules, which a zip file lists too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules

from metashell.errors import SchemaError
from metashell.parts import metadata
from metashell.parts.spec import PartSpec


@cache
def part_names() -> Sequence[str]:
    """Names of all parts, sorted; imports none of them."""
    return sorted(module.name for module in iter_modules(metadata.__path__))


@cache
def find_part(name: str) -> PartSpec:
    """The part of a name.

    Raises:
        ImportError: There is none.
        SchemaError: Its declaration can't work.
    """
    found: PartSpec = import_module(f"{metadata.__name__}.{name}").PART
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


@cache
def all_parts() -> Sequence[PartSpec]:
    """All parts, in the order of Kafka's image, others by name behind them."""
    found = map(find_part, part_names())
    return sorted(found, key=lambda part: (part.order, part.name))


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
        parts_below,
        directory_names,
        part_of_table,
    ):
        known.cache_clear()
