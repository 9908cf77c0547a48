"""Values as Java prints them, which is how Kafka's nodes read.

Source: java.util.{Arrays, List, Optional}.toString.
"""

from __future__ import annotations

from collections.abc import Iterable

from metashell.schema.timestamps import java_time

__all__ = ["java_bool", "java_list", "java_optional", "java_time"]


def java_list(values: Iterable[object]) -> str:
    """``[1, 2, 3]``."""
    return f"[{', '.join(map(str, values))}]"


def java_bool(value: object) -> str:
    """``true`` or ``false``."""
    return "true" if value else "false"


def java_optional(value: str | None) -> str:
    """``Optional[x]`` or ``Optional.empty``."""
    return "Optional.empty" if value is None else f"Optional[{value}]"
