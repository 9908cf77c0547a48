"""The options of the group "Engine" as settings.

`metashell.sources.spark` decides how a source is opened with them.
"""

from __future__ import annotations

import re
from typing import Final

from metashell.cli.arguments import Arguments
from metashell.errors import UsageError
from metashell.sources.engine import EngineSettings
from metashell.sources.request import Choice

_OF_SPARK: Final = ("--master", "--spark-conf", "--spark-threshold", "--no-cache")
_SIZE: Final = re.compile(r"(\d+)\s*(?:([kKMGT])(i?)[bB]?|[bB])?")
_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}
_MASTER: Final = re.compile(
    r"local|local\[(?:[1-9]\d*|\*)(?:,\s*\d+)?\]"
    r"|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|(?:spark|sc|k8s)://.+|yarn"
)


def engine_settings(arguments: Arguments) -> EngineSettings:
    """Read the options of the group.

    Raises:
        UsageError: A value can't be meant, or two options contradict each other.
    """
    try:
        engine = EngineSettings.of(arguments.value("--engine") or "auto").engine
    except UsageError as error:
        raise UsageError(f"`--engine`: {error.message}") from error
    given = [flag for flag in _OF_SPARK[:3] if arguments.has(flag)]
    if engine == "local" and given:
        raise UsageError(
            f"`{given[0]}` needs Spark, but `--engine local` does without it",
            hint="`--engine auto` or `--engine spark`",
        )
    master = arguments.value("--master")
    if master is not None and not _MASTER.fullmatch(master):
        # It is not repeated: a token may be in it.
        raise UsageError(
            "`--master` is not the address of a Spark master",
            hint="local[N], spark://HOST:PORT, k8s://https://HOST:PORT or sc://HOST:PORT",
        )
    threshold = arguments.value("--spark-threshold")
    return EngineSettings(
        engine=engine,
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
            f"`--spark-threshold`: `{text}` must be a number of bytes",
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
            f"`--spark-conf`: {shown} is not a setting of Spark",
            hint="`--spark-conf spark.KEY=VALUE`",
        )
    if key in ("spark.master", "spark.remote"):
        raise UsageError(f"`--spark-conf`: {key} is set by `--master`")
    return key, value


def check_engine(arguments: Arguments, choice: Choice) -> None:
    """Refuse options that can't be meant with a source.

    Raises:
        UsageError: There is such an option.
    """
    settings = engine_settings(arguments)
    insists_on_spark = settings.engine == "spark" and arguments.insists("--engine")
    here = _answered_here(arguments, choice)
    if here is not None and insists_on_spark:
        raise UsageError(
            f"`{here}` runs in this process, not in Spark", hint="leave out `--engine spark`"
        )
    if choice.quorum is None:
        return
    given = [flag for flag in _OF_SPARK if arguments.insists(flag)]
    if insists_on_spark:
        given.insert(0, "--engine spark")
    if given:
        raise UsageError(
            f"`{given[0]}` works on directories and files, not on a live quorum",
            hint=f"leave out `{given[0]}`",
        )


def _answered_here(arguments: Arguments, choice: Choice) -> str | None:
    """The option that asks of one log what only its bytes tell; None without one."""
    if choice.paths or choice.quorum is not None:
        return None
    if choice.is_file:
        return "-s"
    return next((flag for flag in ("--strict", "--at") if arguments.has(flag)), None)
