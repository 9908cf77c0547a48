"""A directory of a fleet that can't be read: the error that is told, and its row.

Rows are plain dicts, which other processes send; so an error becomes fields of a row and an error
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from metashell.errors import InternalError, MetashellError, SourceError
from metashell.places.uri import shown, without_credentials

FleetRow: TypeAlias = dict[str, str | int | None]

FIELDS: Final = (
    "directory",
    "clusterId",
    "nodeId",
    "brokers",
    "fenced",
    "topics",
    "partitions",
    "offline",
    "underMinIsr",
    "underReplicated",
    "metadataVersion",
    "offset",
    "logEpoch",
    "logEndOffset",
    "timestamp",
    "faults",
    "fault",
    "error",
)
"""Keys of a `fleet_row`, in order."""


def failed(place: str, reason: str) -> FleetRow:
    """The row of a directory that could not be read."""
    return {
        **dict.fromkeys(FIELDS),
        "directory": shown(place),
        "error": without_credentials(reason),
    }


def why(error: Exception) -> SourceError:
    """The error to tell of a directory where reading it raised one."""
    if isinstance(error, SourceError):
        return error
    if isinstance(error, MetashellError):
        return SourceError(error.message, hint=error.hint)
    if isinstance(error, MemoryError):
        return SourceError("it does not fit in memory")
    if isinstance(error, OSError):
        return SourceError(error.strerror or type(error).__name__)
    return InternalError.of(error)


def error_fields(error: Exception) -> dict[str, str]:
    """The fields of a row for an error; see `error_of`."""
    told = why(error)
    bug = {"traceback": told.traceback} if isinstance(told, InternalError) else {}
    return {"error": without_credentials(told.message), **bug}


def error_of(row: Mapping[str, Any]) -> SourceError | None:
    """The error that a row has; None where it has none."""
    if "traceback" in row:
        return InternalError(row["error"], traceback=row["traceback"])
    return None if row["error"] is None else SourceError(row["error"])
