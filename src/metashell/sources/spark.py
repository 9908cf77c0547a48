"""Whether Spark decodes what is opened, and handing it over.

Owns when Spark is asked for. Knows of it by dotted names alone, which are resolved where it is
chosen: nothing here imports PySpark, or what needs it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import SourceError
from metashell.sources.engine import (
    DecodeLoad,
    EngineSettings,
    core_count,
    decide,
    free_memory_bytes,
)

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.request import OpeningWatch, OpenRequest
    from metashell.sources.source import Source
    from metashell.sources.without_image import SourceWithoutImage

_OPENING: Final = "metashell.spark_backend.opening"
_NEEDS: Final = "metashell.spark_backend.needs"


def reason_for_spark(load: DecodeLoad, settings: EngineSettings, watch: OpeningWatch) -> str | None:
    """Why Spark is to decode directories; None where this process is.

    Args:
        load: The amount of work to decode.
        settings: The engine options of the user.
        watch: Is told where Spark would decode and can't.

    Raises:
        SourceError: Spark was asked for and is missing.
    """
    free_bytes, n_cores = free_memory_bytes(), core_count()
    decision = decide(load, settings, free_bytes=free_bytes, n_cores=n_cores, spark_available=True)
    if decision.engine == "local":
        return None
    missing: SourceError | None = _resolve(_NEEDS, "missing_requirement")(settings.master_url)
    if settings.engine == "spark":
        if missing is not None:
            raise missing
        if find_spec(_OPENING) is None:
            raise SourceError("this build of metashell has no Spark engine")
    elif missing is not None:
        decision = decide(
            load, settings, free_bytes=free_bytes, n_cores=n_cores, spark_available=False
        )
        watch.spark_is_missing(decision.reason, missing)
        return None
    elif find_spec(_OPENING) is None:
        return None
    return decision.reason


def open_by_spark(request: OpenRequest, reason: str, watch: OpeningWatch) -> Source | FleetSource:
    """Have Spark open a directory, or the directories of a fleet.

    Args:
        request: The request.
        reason: The reason from `reason_for_spark`, told where nobody asked for Spark.
        watch: Is told how far it has come.

    Raises:
        SourceError: A place can't be read, or Spark can't be used.
    """

    def begins() -> None:
        if request.engine.engine == "auto":
            watch.spark_begins(reason)

    with watch.spark() as jobs:
        opened: Source | FleetSource = _resolve(_OPENING, "open_delegated")(request, jobs, begins)
        return opened


def delegate_logs(source: SourceWithoutImage, request: OpenRequest, watch: OpeningWatch) -> None:
    """Have Spark run the SQL of a source without a metadata log, where a user asks for Spark.

    Args:
        source: The source.
        request: The request that opened it.
        watch: Is told how far Spark has come.

    Raises:
        SourceError: Spark is missing.
    """
    settings = request.engine
    # This process answers about earlier states and about a broker, as it does for a metadata log.
    if settings.engine != "spark" or request.settings.strict or request.at is not None:
        return
    reason_for_spark(
        DecodeLoad(bytes_to_decode=0, n_directories=1, is_remote=False), settings, watch
    )
    with watch.spark() as jobs:
        _resolve(_OPENING, "delegate_logs")(source, request, jobs, lambda: None)


def _resolve(module: str, name: str) -> Any:
    return getattr(import_module(module), name)
