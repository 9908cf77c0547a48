"""Which source the arguments choose, and opening it.

Owns the rules for `-d`, `-s`, `-q`, `--config` and `demo`, the check of the cluster's id, and the
printing of a source's warnings. Knows of a source only what `Source` says, so that tests can hand
in their own.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

from metashell.cli.arguments import DEMO, Arguments
from metashell.cli.output import Diagnostics
from metashell.cli.progress import ProgressBar
from metashell.errors import MetashellError, SourceError, UsageError
from metashell.fs.node import Directory

_WARNINGS_MAX: Final = 10
"""Warnings printed one by one in a run; further ones are counted."""

_NOT_YET: Final = "not yet: reading a live quorum comes in a later release"


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


class Opener(Protocol):
    """What opens a source: the package `metashell`, or a test's stand-in."""

    @property
    def open(self) -> OpenFunction:
        """Open a directory."""

    @property
    def open_file(self) -> OpenFunction:
        """Open one checkpoint or segment."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A source chosen and not yet opened."""

    path: str
    is_file: bool = False
    name: str | None = None
    """What to call it instead of the source's own name."""


def choose_source(arguments: Arguments) -> Choice | None:
    """Find the one source that the arguments choose; None where they choose none.

    Raises:
        UsageError: Two are chosen, or one that can't be meant.
        SourceError: The configuration can't be read.
    """
    chosen = [
        title
        for title, given in (
            ("-d/--directory", arguments.has("--directory")),
            ("-s/--snapshot", arguments.has("--snapshot")),
            ("-q/--bootstrap-controllers", arguments.has("--bootstrap-controllers")),
            (DEMO, arguments.demo),
        )
        if given
    ]
    if len(chosen) > 1:
        names = ", ".join(f"`{title}`" for title in chosen[:-1]) + f" and `{chosen[-1]}`"
        raise UsageError(f"{names} each choose a source", hint="give one of them")
    for flag in ("--bootstrap-controllers", "--live", "--timeout"):
        if arguments.has(flag):
            raise UsageError(f"`{flag}`: {_NOT_YET}", hint="`-d DIR` reads a controller's log")
    _check_no_value_is_empty(arguments)
    _check_point(arguments)
    return _choice(arguments)


def _choice(arguments: Arguments) -> Choice | None:
    """The source, of which at most one is chosen."""
    config_file = arguments.value("--config")
    config_choice = None if config_file is None else _choice_of_config(config_file, arguments)
    if arguments.demo:
        return Choice(_sample_directory(), name=DEMO)
    directory = arguments.value("--directory")
    if directory is not None:
        if os.path.isfile(directory):
            raise UsageError(
                f"`-d`: {directory} is a file", hint=f"`metashell -s {_quote(directory)}` opens it"
            )
        return Choice(directory)
    snapshot = arguments.value("--snapshot")
    if snapshot is not None:
        if os.path.isdir(snapshot):
            raise UsageError(
                f"`-s`: {snapshot} is a directory",
                hint=f"`metashell -d {_quote(snapshot)}` opens it",
            )
        return Choice(snapshot, is_file=True)
    return config_choice


def _choice_of_config(file: str, arguments: Arguments) -> Choice | None:
    """The directory that a configuration names; None where another option chose the source."""
    from metashell.quorum.config import read_config

    config = read_config(file)
    if arguments.demo or arguments.has("--directory") or arguments.has("--snapshot"):
        return None
    log_dir = config.log_dir()
    if log_dir is not None:
        return Choice(os.fspath(log_dir.path))
    if config.names_quorum():
        raise UsageError(f"{file} names a quorum and no log directory; {_NOT_YET}")
    raise UsageError(
        f"{file} names no log directory",
        hint="it needs `metadata.log.dir`, `log.dirs` or `log.dir`; or give `-d DIR`",
    )


def no_source_error(arguments: Arguments) -> UsageError:
    """The error for a command line without a source, with what was probably meant."""
    words = arguments.words
    hint = "`metashell -d DIR` opens a metadata log, `metashell demo` a bundled sample"
    if not words:
        return UsageError("no source given", hint=hint)
    first, rest = words[0], "".join(f" {_quote(word)}" for word in words[1:])
    if os.path.isdir(first):
        hint = f"`metashell -d {_quote(first)}{rest}`"
        return UsageError(f"{first} is a directory, not a command", hint=hint)
    if os.path.isfile(first):
        flag = "--config" if first.endswith((".properties", ".conf")) else "-s"
        hint = f"`metashell {flag} {_quote(first)}{rest}`"
        return UsageError(f"{first} is a file, not a command", hint=hint)
    if os.sep in first:
        return UsageError(f"{first}: No such file or directory, and not a command", hint=hint)
    if {"-d", "--directory", "-s", "--snapshot", "--config"}.intersection(words):
        hint = f"options stand before the command: `metashell -d DIR {first} ...`"
    return UsageError("no source given", hint=hint)


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
    open_it = opener.open_file if choice.is_file else opener.open
    bar = ProgressBar(diagnostics, "loading")
    with bar:
        try:
            source = open_it(
                choice.path,
                strict=arguments.has("--strict"),
                schemas=arguments.values.get("--schemas", ()),
                show_secrets=arguments.has("--show-secrets"),
                committed_only=arguments.has("--committed-only"),
                progress=bar if diagnostics.is_terminal else None,
            )
        except MetashellError:
            raise
        except OSError as error:
            where = error.filename if isinstance(error.filename, str) else choice.path
            raise SourceError(f"{where}: {error.strerror or error}") from error
    _check_cluster_id(source, arguments.value("--cluster-id"), diagnostics)
    point = arguments.value("--at")
    return source if point is None else source.at(point, record=arguments.has("--record"))


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
    """What the prompt calls a source: of metadata logs, which are all named alike, the parent."""
    from metashell.log.names import METADATA_DIRECTORY

    if choice.name is not None or source.name != METADATA_DIRECTORY:
        return choice.name or source.name
    parts = os.path.abspath(choice.path).split(os.sep)
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


def _check_point(arguments: Arguments) -> None:
    """Refuse what says in two ways where the image ends, or only how."""
    if arguments.has("--record") and not arguments.has("--at"):
        raise UsageError("`--record` says how `--at` is meant, which is not given")
    if arguments.has("--at") and arguments.has("--committed-only"):
        raise UsageError("`--at` and `--committed-only` each say where the image ends")


def _check_no_value_is_empty(arguments: Arguments) -> None:
    """Refuse ``-d ""``, which is what ``-d "$UNSET"`` gives."""
    for flag, values in arguments.values.items():
        if flag in {
            "--at",
            "--directory",
            "--snapshot",
            "--config",
            "--cluster-id",
            "--schemas",
        } and ("" in values):
            raise UsageError(f"`{flag}` is given an empty value")


def _sample_directory() -> str:
    """The log directory that ships with the package."""
    # Not importlib.resources, which takes as long to import as the sample takes to load.
    sample = os.path.join(os.path.dirname(os.path.dirname(__file__)), "sample")
    if not os.path.isdir(sample):
        raise SourceError(f"{sample}: the sample is not there: is the package in a zip file?")
    return sample


def _quote(word: str) -> str:
    """A word as the system's shell needs it."""
    from shlex import quote

    return quote(word)
