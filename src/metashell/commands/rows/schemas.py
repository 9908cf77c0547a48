"""JSON Schemas (draft 2020-12) of rows as ``-o json`` writes them, from the columns' declarations.

A later version may add columns, so other properties are allowed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from metashell.commands import all_names, get
from metashell.commands.rows.columns import CellKind, Column

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_LIST: Final = {"type": ["array", "null"]}
_TYPES: Final[Mapping[CellKind, Mapping[str, Any]]] = {
    CellKind.TEXT: {"type": ["string", "null"]},
    CellKind.INTEGER: {"type": ["integer", "null"]},
    CellKind.NUMBER: {"type": ["number", "null"]},
    CellKind.FLAG: {"type": ["boolean", "null"]},
    CellKind.TIME: {"type": ["string", "null"], "format": "date-time"},
    CellKind.INTEGERS: {**_LIST, "items": {"type": "integer"}},
    CellKind.TEXTS: {**_LIST, "items": {"type": "string"}},
    CellKind.JSON: {},
    CellKind.JSON_TEXT: {},
}
"""Any cell can be null: the help of its column says when. JSON is any value."""


def schema_of(title: str, columns: Sequence[Column], names: Iterable[str]) -> dict[str, Any]:
    """The schema of a row.

    Args:
        title: The command.
        columns: All columns of its answer.
        names: The columns that a row has, in order.
    """
    return {"$schema": DIALECT, **_row_schema(title, columns, names)}


def _row_schema(title: str, columns: Sequence[Column], names: Iterable[str]) -> dict[str, Any]:
    declared = {column.name: column for column in columns}
    properties = {
        name: {"description": declared[name].help, **_TYPES[declared[name].kind]} for name in names
    }
    return {
        "title": title,
        "type": "object",
        "properties": properties,
        "required": [*properties],
    }


def schemas_of_all() -> dict[str, Any]:
    """A document with the schema of each table that a command has, by the words that ask for it."""
    found = {}
    for command in filter(None, map(get, all_names())):
        for table in getattr(command, "tables", ()):
            title = f"{command.name} {table.asked_by}".rstrip()
            names = [column.name for column in table.columns]
            found[title] = _row_schema(title, table.columns, names)
    return {"$schema": DIALECT, "$defs": found}


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema as a file has it."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
