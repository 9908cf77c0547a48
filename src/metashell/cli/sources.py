"""Opening the source that the arguments choose.

Owns the check of the cluster's id, and the printing of a source's warnings. Knows of a source only
what `Source` says, so that tests can hand in their own.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, cast

from metashell.cli.arguments import Arguments
from metashell.cli.choices import Choice, QuorumChoice, choose_source, no_source_error
from metashell.cli.engines import check_engine, open_with_engine
from metashell.cli.output import Diagnostics
from metashell.cli.progress import ProgressBar
from metashell.errors import MetashellError, SourceError
from metashell.fs.node import Directory
from metashell.log.uri import shown

if TYPE_CHECKING:
    from metashell.quorum.security import Address, Security

__all__ = [
    "Choice",
    "Opener",
    "Source",
    "WarningPrinter",
    "choose_source",
    "no_source_error",
    "open_source",
    "prompt_name",
]

_WARNINGS_MAX: Final = 10
"""Warnings printed one by one in a run; further ones are counted."""


class Status(Protocol):
    """The state of the image."""

    @property
    def offset(self) -> int | None:
        """Offset of the last record applied."""

    @property
    def epoch(self) -> int | None:
        """Leader epoch of that record."""

    @property
    def timestamp_ms(self) -> int | None:
        """Its time in ms since the epoch."""

    @property
    def metadata_version(self) -> str | None:
        """Such as ``4.4-IV2``."""

    @property
    def notes(self) -> Sequence[str]:
        """Short remarks."""


class Source(Protocol):
    """What the command line needs of an opened source."""

    @property
    def root(self) -> Directory:
        """The root of the file system."""

    @property
    def name(self) -> str:
        """What a prompt calls it."""

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id, None where the source does not tell it."""

    @property
    def warnings(self) -> Sequence[str]:
        """What the user should know; may grow as more is decoded."""

    @property
    def stopped_by(self) -> object | None:
        """The fault before which a strict replay ended; it is among the warnings too."""

    def warm_up(self) -> None:
        """Compute what the first commands of an interactive shell will need."""

    def status(self) -> Status:
        """The state of the image. Cost: may decode."""

    def at(self, point: str, *, record: bool = ...) -> Source:
        """The source as of a point."""


class OpenFunction(Protocol):
    """`metashell.open` or `metashell.open_file`."""

    def __call__(
        self,
        path: str,
        *,
        strict: bool = ...,
        schemas: Sequence[str] = ...,
        show_secrets: bool = ...,
        committed_only: bool = ...,
        progress: Callable[[int, int], None] | None = ...,
    ) -> Source:
        """Open a source."""


class OpenQuorumFunction(Protocol):
    """`metashell.open_quorum`."""

    def __call__(
        self,
        addresses: Sequence[Address],
        *,
        security: Security = ...,
        timeout_s: float | None = ...,
        cluster_id: str | None = ...,
        follow: bool = ...,
        strict: bool = ...,
        schemas: Sequence[str] = ...,
        show_secrets: bool = ...,
        progress: Callable[[int, int], None] | None = ...,
    ) -> Source:
        """Fetch what a live quorum has committed, and follow it."""


class Opener(Protocol):
    """What opens a source: the package `metashell`, or a test's stand-in."""

    @property
    def open(self) -> OpenFunction:
        """Open a directory."""

    @property
    def open_file(self) -> OpenFunction:
        """Open one checkpoint or segment."""

    @property
    def open_quorum(self) -> OpenQuorumFunction:
        """Follow a live quorum."""


def open_source(
    choice: Choice, arguments: Arguments, opener: Opener | None, diagnostics: Diagnostics
) -> Source:
    """Open a source and check that it is of the cluster asked for.

    Raises:
        SourceError: It can't be read, or is of another cluster.
        MetashellError: As the opener does.
    """
    if opener is None:
        opener = cast(Opener, importlib.import_module("metashell"))
    check_engine(arguments, choice)
    if choice.quorum is not None:
        for notice in choice.quorum.security.notices:
            diagnostics.program(f"note: {notice}")
    try:
        if choice.quorum is None:
            source = open_with_engine(
                choice,
                arguments,
                lambda: _open_locally(choice, arguments, opener, diagnostics),
                diagnostics,
            )
        else:
            source = _open_quorum(choice.quorum, arguments, opener, diagnostics)
    except MetashellError:
        raise
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else _place(choice)
        raise SourceError(f"{where}: {error.strerror or error}") from error
    try:
        if not choice.paths:  # Of a fleet it chooses directories.
            _check_cluster_id(source, arguments.value("--cluster-id"), diagnostics)
        point = arguments.value("--at")
        return source if point is None else source.at(point, record=arguments.has("--record"))
    except BaseException:
        close(source)
        raise


def close(source: Source) -> None:
    """End what goes on in the background for a source."""
    live = getattr(source, "live", None)
    if live is not None:
        live.close()
    # That of Spark is a session.
    end = getattr(source, "close", None)
    if end is not None:
        end()


def _open_locally(
    choice: Choice, arguments: Arguments, opener: Opener, diagnostics: Diagnostics
) -> Source:
    """Open a directory, a file or several directories in this process."""
    if choice.paths:
        return _open_fleet(choice, arguments, diagnostics)
    open_it = opener.open_file if choice.is_file else opener.open
    with ProgressBar(diagnostics, "loading") as bar:
        return open_it(
            choice.path,
            strict=arguments.has("--strict"),
            schemas=arguments.values.get("--schemas", ()),
            show_secrets=arguments.has("--show-secrets"),
            committed_only=arguments.has("--committed-only"),
            progress=bar if diagnostics.is_terminal else None,
        )


def _open_fleet(choice: Choice, arguments: Arguments, diagnostics: Diagnostics) -> Source:
    """Open several directories, each of them when it is first looked at."""
    from metashell.fleet import open_fleet

    return open_fleet(
        choice.paths,
        strict=arguments.has("--strict"),
        schemas=arguments.values.get("--schemas", ()),
        show_secrets=arguments.has("--show-secrets"),
        committed_only=arguments.has("--committed-only"),
        cluster_id=arguments.value("--cluster-id"),
        progress=(lambda: ProgressBar(diagnostics, "reading")) if diagnostics.is_terminal else None,
    )


def _open_quorum(
    quorum: QuorumChoice, arguments: Arguments, opener: Opener, diagnostics: Diagnostics
) -> Source:
    """Follow a quorum, of which only what is committed is ever seen."""
    with ProgressBar(diagnostics, "loading") as bar:
        return opener.open_quorum(
            quorum.addresses,
            security=quorum.security,
            timeout_s=quorum.timeout_s,
            cluster_id=arguments.value("--cluster-id"),
            # One command is answered from what is here when it begins; some wait for more.
            follow=True,
            strict=arguments.has("--strict"),
            schemas=arguments.values.get("--schemas", ()),
            show_secrets=arguments.has("--show-secrets"),
            progress=bar if diagnostics.is_terminal else None,
        )


def _place(choice: Choice) -> str:
    """Where a source is."""
    return shown(choice.path) if choice.quorum is None else str(choice.quorum.addresses[0])


def _check_cluster_id(source: Source, wanted: str | None, diagnostics: Diagnostics) -> None:
    """Refuse another cluster; warn where the source does not say which it is."""
    if wanted is None:
        return
    found = source.cluster_id
    if found is None:
        diagnostics.program(
            f"warning: {source.name} does not say of which cluster it is: "
            "`--cluster-id` is not checked"
        )
    elif found != wanted:
        raise SourceError(
            f"{source.name} is of cluster {found}, not of {wanted}",
            hint="leave out `--cluster-id`, or open the directory of that cluster",
        )


def prompt_name(choice: Choice, source: Source) -> str:
    """What the prompt calls a source: of a quorum the first address, of metadata logs, which are
    all named alike, the parent.
    """
    from metashell.log.names import METADATA_DIRECTORY

    if choice.quorum is not None:
        return choice.name or _place(choice)
    if choice.name is not None or source.name != METADATA_DIRECTORY:
        return choice.name or source.name
    parts = os.path.abspath(shown(choice.path)).split(os.sep)
    return next((part for part in parts[::-1] if part not in ("", source.name)), source.name)


class WarningPrinter:
    """Prints each of a source's warnings once, and only counts them when they get many."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self._source = source
        self._diagnostics = diagnostics
        self._seen: set[str] = set()
        self._n_printed = 0
        self._n_told = 0

    def print_new(self) -> None:
        """Print the warnings that came since the last call."""
        self._print(tuple(self._source.warnings))

    def print_count(self) -> None:
        """Say how many were not printed, if any."""
        n_more = len(self._seen) - self._n_printed
        if n_more > self._n_told:
            self._diagnostics.program(f"warning: {n_more} more of these")
            self._n_told = n_more

    def _print(self, texts: Sequence[str]) -> None:
        for text in texts:
            if text in self._seen:
                continue
            self._seen.add(text)
            if self._n_printed < _WARNINGS_MAX:
                self._diagnostics.program(f"warning: {text}")
                self._n_printed += 1
