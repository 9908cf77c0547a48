"""Which parts there are: the modules of `metashell.parts.metadata` and of
`metashell.parts.coordinators`, wherever their paths lead.

A part is imported when it is asked for. Names are those of the modules, which a zip file lists too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from metashell.errors import SchemaError
from metashell.parts import metadata
from metashell.parts.spec import PartSpec, Put, RecordGroup


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
    found: PartSpec | None = getattr(import_module(f"{package.__name__}.{name}"), "PART", None)
    if found is None:
        raise SchemaError(f"part {name}: {package.__name__}.{name} declares no PART")
    if found.name != name:
        raise SchemaError(f"part {found.name}: its module is called {name}")
    if package is metadata:
        check_part(found)
    return found


def check_part(part: PartSpec) -> None:
    """See that a part of the metadata has a group, and names for its leaves made of its key.

    Raises:
        SchemaError: It lacks one.
    """
    key = [field.column for field in part.key]
    if part.group not in list(RecordGroup):
        raise SchemaError(
            f"part {part.name}: its group is {part.group or 'empty'}, and no group is called so",
            hint=f"group is one of {', '.join(RecordGroup)}",
        )
    names: object = part.leaf
    wanted = "leaf, the name of its one value"
    if key:
        names, wanted = part.levels, f"levels=(PathLevel(({key[0]!r},)),)"
    if part.path and not (names or part.node or part.by_topic):
        raise SchemaError(
            f"part {part.name}: nothing names its leaves below /image/{'/'.join(part.path)}",
            hint=f"declare {wanted}",
        )
    for level in part.levels:
        for column in level.of:
            if column not in key:
                raise SchemaError(
                    f"part {part.name}: the level {column} of its path is no column of its key,"
                    f" which is {', '.join(key) or 'empty'}",
                    hint=f"name a column of the key in levels, or add {column} to key and record",
                )
        if not level.name and len(level.of) != 1:
            raise SchemaError(
                f"part {part.name}: the level ({', '.join(level.of)}) of its path has no hook that"
                " makes one name of these columns"
            )


@cache
def all_parts() -> Sequence[PartSpec]:
    """All parts of the metadata, in the order of Kafka's image, others by name behind them."""
    found = map(find_part, part_names())
    return sorted(found, key=lambda part: (part.order, part.name))


@cache
def coordinator_parts() -> Mapping[str, PartSpec]:
    """All parts of coordinators' logs by name, sorted.

    Raises:
        SchemaError: One can't work, or not beside another.
    """
    from metashell.parts import coordinators
    from metashell.parts.paths import check_directories

    found = {name: find_part(name, coordinators) for name in part_names(coordinators)}
    check_directories(found.values())
    return found


@cache
def puts_by_record() -> Mapping[str, tuple[PartSpec, Put]]:
    """The part that each record type of a coordinator's log is about, and what it puts."""
    parts = coordinator_parts().values()
    return {put.message: (part, put) for part in parts for put in part.puts}


@cache
def coordinator_roots() -> Mapping[str, Sequence[PartSpec]]:
    """The parts of topics' logs by the directory of the root that they are below."""
    found: dict[str, list[PartSpec]] = {}
    for part in coordinator_parts().values():
        found.setdefault(part.path[0], []).append(part)
    return found


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
