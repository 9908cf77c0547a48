"""Opening the source that the arguments choose.

Owns how arguments become an `OpenRequest`, what opening shows on the terminal, and the printing of
a source's warnings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from metashell.cli.arguments import Arguments
from metashell.cli.engines import check_engine, engine_settings
from metashell.cli.output import Diagnostics
from metashell.errors import SourceError
from metashell.log.names import METADATA_DIRECTORY
from metashell.places.uri import shown
from metashell.read_settings import ReadSettings
from metashell.sources.opening import open_request, place_text
from metashell.sources.request import Choice, OpeningWatch, OpenRequest

if TYPE_CHECKING:
    from metashell.cli.progress import ProgressBar
    from metashell.log.read import ReadProgress
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

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
            told = [one for one in (self._loading, bar) if one is not None]

            def tell(done: int, total: int) -> None:
                for one in told:
                    one(done, total)

            yield tell if told else None

    def spark(self) -> AbstractContextManager[ProgressBar | None]:
        return self._bar("Spark", "tasks")

    def _bar(
        self, label: str, unit: Literal["bytes", "tasks"]
    ) -> AbstractContextManager[ProgressBar | None]:
        if not self._diagnostics.is_terminal:
            return nullcontext(None)
        from metashell.cli.progress import ProgressBar

        return ProgressBar(self._diagnostics, label, unit=unit)

    def spark_begins(self, reason: str) -> None:
        if not self._has_begun:
            self._diagnostics.program(reason)
        self._has_begun = True

    def spark_is_missing(self, reason: str, missing: SourceError) -> None:
        why = missing.message.removeprefix("Spark can't be used: ")
        for line in SourceError(f"{reason}: {why}", hint=missing.hint).lines("metashell: note: "):
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
