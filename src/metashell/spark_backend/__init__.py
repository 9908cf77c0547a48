"""Spark: the data source `kraft`, sessions, and what is delegated to them.

The one package that imports pyspark, and only when something of it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metashell.spark_backend.datasource import KRaftDataSource

__all__ = ["KRaftDataSource"]


def __getattr__(name: str) -> Any:
    if name == "KRaftDataSource":
        from metashell.spark_backend.datasource import KRaftDataSource

        return KRaftDataSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
