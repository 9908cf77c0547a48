"""JSON that the program prints: the one writer, which knows no NaN and no Infinity.

JSON has no such numbers, and many readers refuse a document that has them. They are written as the
texts that nodes print for them (``"NaN"``, ``"Infinity"``, ``"-Infinity"``), as Kafka's own JSON
has them. Cells of rows, whose columns have types, and exported documents have null
instead (`null`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from json import JSONEncoder
from json.encoder import encode_basestring_ascii
from typing import Final, TypeAlias

from metashell.schema.dump import java_double

_Default: TypeAlias = Callable[[object], object]

text_to_json: Final[Callable[[str], str]] = encode_basestring_ascii
"""A text as JSON, in ASCII."""


def to_json(
    value: object,
    *,
    ascii_only: bool = False,
    indent: int | None = None,
    default: _Default | None = None,
    stand_in: Callable[[float], str | None] = java_double,
) -> str:
    """A value as JSON, on one line without `indent`.

    Args:
        value: A value of JSON's types, which may hold numbers that JSON lacks.
        ascii_only: Whether all else is escaped: a name may hold a lone surrogate, which no encoding
            can write.
        indent: Spaces of a level.
        default: Gives a value that can be written for one that can't.
        stand_in: Gives the value to write for a number that JSON lacks, see `finite`.

    Raises:
        TypeError: It holds something else.
        RecursionError: It is too deep.
    """
    write = _encoder(ascii_only, indent, default)
    try:
        return write(value)
    except (TypeError, ValueError):
        return write(finite(value, stand_in))


def finite(value: object, stand_in: Callable[[float], str | None] = java_double) -> object:
    """A value of plain types in which another stands for each number that JSON has not."""
    if isinstance(value, float):
        return value if math.isfinite(value) else stand_in(value)
    if value is None or isinstance(value, (str, int, bytes)):
        # To ask an abstract class of each takes longer than all else.
        return value
    if isinstance(value, Mapping):
        return {name: finite(part, stand_in) for name, part in value.items()}
    if isinstance(value, Sequence):
        return [finite(part, stand_in) for part in value]
    return value


def null(number: float) -> None:
    """Stands for such a number where null says that there is none."""


@cache
def _encoder(
    ascii_only: bool, indent: int | None, default: _Default | None
) -> Callable[[object], str]:
    return JSONEncoder(
        ensure_ascii=ascii_only, allow_nan=False, indent=indent, default=default
    ).encode
