"""Opening the source that the arguments choose.

Owns how arguments become an `OpenRequest`, what opening shows on the terminal, and the printing of
a source's warnings.

The options of the group "Engine" as settings.

`metashell.sources.reduced` decides how a source is opened with them.

A progress bar on standard error while a source loads.

Owns when and how it is drawn: only on a terminal, only when loading takes long enough to be
noticed, and gone without a trace afterwards.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from metashell.cli.arguments import Arguments
from metashell.cli.output import Diagnostics
from metashell.errors import SourceError, UsageError
from metashell.log.names import METADATA_DIRECTORY
from metashell.places.uri import shown
from metashell.read_settings import ReadSettings
from metashell.sources.engine import THRESHOLD_BYTES, EngineSettings
from metashell.sources.opening import open_request, place_text
from metashell.sources.request import Choice, OpeningWatch, OpenRequest

if TYPE_CHECKING:
    from metashell.log.read import ReadProgress
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

Unit = Literal["bytes", "tasks"]

_PATIENCE_S: Final = 0.5
_REDRAW_S: Final = 0.1
_BAR_MAX: Final = 40
_BAR_MIN: Final = 8
_MEGABYTE: Final = 1_000_000


class ProgressBar:
    """A callable ``(done, total)`` that draws itself, and erases itself at the end.

    Args:
        diagnostics: Where it is drawn.
        label: The name of the work.
        unit: The counted unit; bytes are shown in MB.
        clock: Seconds, from any moment on.
    """

    def __init__(
        self,
        diagnostics: Diagnostics,
        label: str,
        *,
        unit: Unit = "bytes",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._diagnostics = diagnostics
        self._label = label
        self._unit: Unit = unit
        self._clock = clock
        self._next_s = clock() + _PATIENCE_S

    def __call__(self, done: int, total: int) -> None:
        """Note how far loading has come."""
        if self._diagnostics.progress is not None:
            self._diagnostics.progress(done, total)
            return
        if not self._diagnostics.is_terminal or self._clock() < self._next_s:
            return
        if done >= total > 0 and not self._diagnostics.drawn:
            return  # it has ended, and nobody waits any more
        self._next_s = self._clock() + _REDRAW_S
        width = self._diagnostics.width
        self._diagnostics.draw(bar_text(self._label, done, total, width, unit=self._unit))

    def close(self) -> None:
        """Erase the bar."""
        self._diagnostics.erase()


def bar_text(label: str, done: int, total: int, width: int, *, unit: Unit = "bytes") -> str:
    """One line of at most `width` - 1 columns."""
    if unit == "tasks" and total <= 0:
        return f"{label}: starting"[: max(width - 1, 0)]
    total = max(total, 1)
    done = min(max(done, 0), total)
    counts = f"{done}/{total} tasks"
    if unit == "bytes":
        counts = f"{done // _MEGABYTE}/{-(-total // _MEGABYTE)} MB"
    figures = f"{100 * done // total:3d}%  {counts}"
    room = min(width - len(label) - len(figures) - 6, _BAR_MAX)
    if room < _BAR_MIN:
        return f"{label} {figures}"[: max(width - 1, 0)]
    filled = room * done // total
    return f"{label} [{'#' * filled}{'-' * (room - filled)}] {figures}"


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
        threshold_bytes=THRESHOLD_BYTES if threshold is None else parse_size(threshold),
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


Opener = Callable[[OpenRequest, OpeningWatch], "Source | FleetSource"]
"""Opens a source: `metashell.sources.opening.open_request`, or a test's stand-in."""

_WARNINGS_MAX: Final = 10
"""Warnings printed one by one in a run; further ones are counted."""
_IS_SEARCHED: Final = (("find",), ("sql",))
"""Commands that can be answered without having the image here."""


def open_source(
    choice: Choice,
    arguments: Arguments,
    opener: Opener | None,
    diagnostics: Diagnostics,
    loading: ReadProgress | None = None,
) -> Source | FleetSource:
    """Open a source.

    Args:
        choice: The source.
        arguments: The options for opening it.
        opener: Opens it; None for the package's own function.
        diagnostics: Prints the notes and warnings of the opening.
        loading: Called with (bytes read, bytes in all) while this process reads its files.

    Raises:
        UsageError: The options can't be meant.
        MetashellError: See `open_request`.
    """
    check_engine(arguments, choice)
    if choice.quorum is not None:
        for notice in choice.quorum.security.notices:
            diagnostics.program(f"note: {notice}")
    request = open_request_of(choice, arguments)
    return (opener or open_request)(request, _OnTerminal(diagnostics, loading))


def open_request_of(choice: Choice, arguments: Arguments) -> OpenRequest:
    """The request for a choice, with the options for opening it."""
    return OpenRequest(
        choice=choice,
        settings=replace(read_settings(arguments), config=choice.config),
        engine=engine_settings(arguments),
        cluster_id=arguments.value("--cluster-id"),
        at=arguments.value("--at"),
        record=arguments.has("--record"),
        joins=arguments.has("--join"),
        is_searched=arguments.words[:1] in _IS_SEARCHED,
    )


def read_settings(arguments: Arguments) -> ReadSettings:
    """How sources are read and shown."""
    return ReadSettings.of(
        strict=arguments.has("--strict"),
        schemas=arguments.values.get("--schemas", ()),
        show_secrets=arguments.has("--show-secrets"),
        committed_only=arguments.has("--committed-only"),
    )


class _OnTerminal(OpeningWatch):
    """Tells on standard error how opening goes on."""

    def __init__(self, diagnostics: Diagnostics, loading: ReadProgress | None) -> None:
        self._diagnostics = diagnostics
        self._loading = loading
        self._has_begun = False

    @contextmanager
    def reading(self, label: str) -> Iterator[ReadProgress | None]:
        with self._bar(label, "bytes") as bar:
            watchers = [one for one in (self._loading, bar) if one is not None]

            def tell(done: int, total: int) -> None:
                for one in watchers:
                    one(done, total)

            yield tell if watchers else None

    def spark(self) -> AbstractContextManager[ProgressBar | None]:
        return self._bar("Spark", "tasks")

    def _bar(
        self, label: str, unit: Literal["bytes", "tasks"]
    ) -> AbstractContextManager[ProgressBar | None]:
        if not self._diagnostics.is_terminal:
            return nullcontext(None)
        return closing(ProgressBar(self._diagnostics, label, unit=unit))

    def spark_begins(self, reason: str) -> None:
        if not self._has_begun:
            self._diagnostics.program(reason)
        self._has_begun = True

    def spark_is_missing(self, reason: str, missing: SourceError) -> None:
        why = missing.message.removeprefix("Spark can't be used: ")
        text = f"Spark is preferred ({reason}), but cannot run: {why}"
        for line in SourceError(text, hint=missing.hint).lines("metashell: note: "):
            self._diagnostics.line(line)

    def warn(self, text: str) -> None:
        self._diagnostics.program(f"warning: {text}")


def prompt_name(choice: Choice, source: Source | FleetSource) -> str:
    """The prompt's name of a source.

    A quorum has its first address. A metadata log has its parent's name, as all logs are named
    alike.
    """
    if choice.quorum is not None:
        return choice.name or place_text(choice)
    if choice.name is not None or source.name != METADATA_DIRECTORY:
        return choice.name or source.name
    parts = os.path.abspath(shown(choice.path)).split(os.sep)
    return next((part for part in parts[::-1] if part not in ("", source.name)), source.name)


class WarningPrinter:
    """Prints each of a source's warnings once, and only counts them when they get many."""

    def __init__(self, source: Source | FleetSource, diagnostics: Diagnostics) -> None:
        self._source = source
        self._diagnostics = diagnostics
        self._seen: set[str] = set()
        self._n_printed = 0
        self._n_left_out = 0

    def print_new(self) -> None:
        """Print the warnings that came since the last call."""
        self._print(tuple(self._source.warnings))

    def print_count(self) -> None:
        """Say how many were not printed, if any."""
        n_more = len(self._seen) - self._n_printed
        if n_more > self._n_left_out:
            self._diagnostics.program(f"warning: {n_more} more of these")
            self._n_left_out = n_more

    def _print(self, texts: Sequence[str]) -> None:
        for text in texts:
            if text in self._seen:
                continue
            self._seen.add(text)
            if self._n_printed < _WARNINGS_MAX:
                self._diagnostics.program(f"warning: {text}")
                self._n_printed += 1
