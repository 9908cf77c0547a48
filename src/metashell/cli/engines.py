"""Choosing the engine: this process, or Spark.

Owns the options of the group "Engine" and what is said about the choice. The policy itself is
`metashell.engine`; Spark is imported only where it is chosen.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, cast

from metashell.cli.arguments import Arguments
from metashell.cli.choices import Choice
from metashell.cli.output import Diagnostics
from metashell.cli.progress import ProgressBar
from metashell.engine import (
    EngineSettings,
    core_count,
    decide,
    free_memory_bytes,
    measure_load,
)
from metashell.errors import SourceError, UsageError

if TYPE_CHECKING:
    from metashell.cli.sources import Source
    from metashell.source import Settings

_OPENING: Final = "metashell.spark_backend.opening"
_ENGINES: Final = ("auto", "local", "spark")
_OF_SPARK: Final = ("--master", "--spark-conf", "--spark-threshold", "--no-cache")
_SIZE: Final = re.compile(r"(\d+)\s*(?:([kKMGT])(i?)[bB]?|[bB])?")
_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}
_MASTER: Final = re.compile(
    r"local|local\[(?:[1-9]\d*|\*)(?:,\s*\d+)?\]"
    r"|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|(?:spark|sc|k8s)://.+|yarn"
)


def engine_settings(arguments: Arguments) -> EngineSettings:
    """What the options ask for.

    Raises:
        UsageError: A value can't be meant, or two options contradict each other.
    """
    engine = arguments.value("--engine") or "auto"
    if engine not in _ENGINES:
        raise UsageError(f"`--engine`: `{engine}` is none of auto, local and spark")
    given = [flag for flag in _OF_SPARK[:3] if arguments.has(flag)]
    if engine == "local" and given:
        raise UsageError(
            f"`{given[0]}` is about Spark, which `--engine local` does not use",
            hint="`--engine auto` or `--engine spark`",
        )
    master = arguments.value("--master")
    if master is not None and not _MASTER.fullmatch(master):
        # It is not repeated: a token may be in it.
        raise UsageError(
            "`--master` is no address of a Spark master",
            hint="local[N], spark://HOST:PORT, k8s://https://HOST:PORT or sc://HOST:PORT",
        )
    threshold = arguments.value("--spark-threshold")
    return EngineSettings(
        engine=cast(Any, engine),
        threshold_bytes=None if threshold is None else parse_size(threshold),
        master=master,
        conf=tuple(map(_pair, arguments.values.get("--spark-conf", ()))),
        use_cache=not arguments.has("--no-cache"),
    )


def parse_size(text: str) -> int:
    """A number of bytes: ``2000000``, ``512M`` (of 1000) or ``2GiB`` (of 1024).

    Raises:
        UsageError: It is none.
    """
    match = _SIZE.fullmatch(text) if text.isascii() else None
    if match is None or len(match[1]) > 18:
        raise UsageError(
            f"`--spark-threshold`: `{text}` is not a number of bytes",
            hint="such as 2000000, 512M or 2GiB",
        )
    base = 1024 if match[3] else 1000
    power = _POWERS.get((match[2] or "").upper(), 0)
    return int(match[1]) * int(base**power)


def _pair(text: str) -> tuple[str, str]:
    """A setting of Spark's; its value may be secret and is never repeated."""
    key, separator, value = text.partition("=")
    if not separator or not key.startswith("spark.") or key != key.strip() or " " in key:
        shown = f"`{key}`" if separator else "a value without `=`"
        raise UsageError(
            f"`--spark-conf`: {shown} is no setting of Spark", hint="`--spark-conf spark.KEY=VALUE`"
        )
    if key in ("spark.master", "spark.remote"):
        raise UsageError(f"`--spark-conf`: {key} is given by `--master`")
    return key, value


def check_engine(arguments: Arguments, choice: Choice) -> None:
    """Refuse options that can't be meant with a source.

    Raises:
        UsageError: There is such an option.
    """
    settings = engine_settings(arguments)
    if choice.quorum is None:
        return
    given = [flag for flag in _OF_SPARK if arguments.insists(flag)]
    if settings.engine == "spark" and arguments.insists("--engine"):
        given.insert(0, "--engine spark")
    if given:
        raise UsageError(
            f"`{given[0]}` is for directories and files: a live quorum is followed by this process",
            hint=f"leave out `{given[0]}`",
        )


def open_with_engine(
    choice: Choice,
    arguments: Arguments,
    open_locally: Callable[[], Source],
    diagnostics: Diagnostics,
) -> Source:
    """Open what is chosen, by the engine that the options and the policy say.

    Raises:
        UsageError: The options can't be meant.
        SourceError: Spark was asked for and can't be used, or the source can't be read.
    """
    settings = engine_settings(arguments)
    asked = _exact(arguments, choice)
    if asked is not None:
        if settings.engine == "spark" and arguments.insists("--engine"):
            raise UsageError(
                f"`{asked}` is answered by this process, not by Spark",
                hint="leave out `--engine spark`",
            )
        return open_locally()
    if settings.engine != "local" and settings.use_cache and not choice.paths:
        from metashell.kept import open_kept

        kept = open_kept(choice.path, _reading(arguments))
        if kept is not None:
            return cast("Source", kept)
    paths = choice.paths or (choice.path,)
    load = measure_load(paths)
    free_bytes, n_cores = free_memory_bytes(), core_count()
    decision = decide(load, settings, free_bytes=free_bytes, n_cores=n_cores, spark_available=True)
    if decision.engine == "spark" and settings.engine == "auto":
        lacking = _lacking(settings)
        if lacking is not None:
            decision = decide(
                load, settings, free_bytes=free_bytes, n_cores=n_cores, spark_available=False
            )
            _tell_lacking(decision.reason, lacking, diagnostics)
    if decision.engine == "local":
        return open_locally()
    if settings.engine == "auto" and find_spec(_OPENING) is None:
        return open_locally()
    return _open_delegated(choice, arguments, settings, decision.reason, diagnostics)


def _exact(arguments: Arguments, choice: Choice) -> str | None:
    """The option that asks of one log what only its bytes tell; None without one."""
    if choice.paths:
        return None
    if choice.is_file:
        return "-s"
    return next((flag for flag in ("--strict", "--at") if arguments.has(flag)), None)


def _reading(arguments: Arguments) -> Settings:
    """How sources are read and shown."""
    from pathlib import Path

    from metashell.source import Settings

    return Settings(
        strict=arguments.has("--strict"),
        schemas=tuple(map(Path, arguments.values.get("--schemas", ()))),
        show_secrets=arguments.has("--show-secrets"),
        committed_only=arguments.has("--committed-only"),
    )


def _lacking(settings: EngineSettings) -> SourceError | None:
    """What keeps Spark from running here."""
    from metashell.spark_backend.needs import lacking

    return lacking(settings.master or "local[*]")


def _tell_lacking(reason: str, lacking: SourceError, diagnostics: Diagnostics) -> None:
    """Say once that Spark would have been used, and what to do for it."""
    why = lacking.message.removeprefix("Spark can't be used: ")
    for line in SourceError(f"{reason}: {why}", hint=lacking.hint).lines("metashell: note: "):
        diagnostics.line(line)


def _open_delegated(
    choice: Choice,
    arguments: Arguments,
    settings: EngineSettings,
    reason: str,
    diagnostics: Diagnostics,
) -> Source:
    """Open by Spark."""
    from metashell.spark_backend.needs import check
    from metashell.spark_backend.session import SparkSettings

    spark = SparkSettings(master=settings.master or "local[*]", conf=dict(settings.conf))
    check(spark.master)
    if find_spec(_OPENING) is None:
        raise SourceError("this build of metashell has no Spark engine")
    opening = importlib.import_module(_OPENING)
    told = False

    def announce() -> None:
        nonlocal told
        if not told and settings.engine == "auto":
            diagnostics.program(reason)
        told = True

    with ProgressBar(diagnostics, "Spark", unit="tasks") as bar:
        return cast(
            "Source",
            opening.open_delegated(
                choice.paths or (choice.path,),
                is_fleet=bool(choice.paths),
                spark=spark,
                settings=_reading(arguments),
                cluster_id=arguments.value("--cluster-id"),
                use_cache=settings.use_cache,
                progress=bar if diagnostics.is_terminal else None,
                announce=announce,
                # These alone can be answered without having the image here.
                lazily=arguments.words[:1] in (("find",), ("sql",)),
            ),
        )
