"""Starting the explorer: it draws first, and opens the source then.

Owns that nothing else is written to the terminal meanwhile: what opening has to say is shown in
the explorer, and printed once that has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from metashell.cli.arguments import Arguments
from metashell.cli.output import Diagnostics, StreamOutput
from metashell.errors import MetashellError, SourceError
from metashell.fs.path import resolve
from metashell.places.uri import shown

if TYPE_CHECKING:
    from metashell.cli.config_file import ConfigFile
    from metashell.cli.sources import Opener, WarningPrinter
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.request import Choice
    from metashell.sources.source import Source
    from metashell.tui.session import Progress

_PROGRAM: Final = "metashell: "


def explore(
    choice: Choice,
    path: str,
    arguments: Arguments,
    opener: Opener | None,
    config: ConfigFile,
    diagnostics: Diagnostics,
    *,
    opened: Callable[[Source | FleetSource], None],
) -> int:
    """Run the explorer until the user leaves. It raises the errors of `open_source`.

    Args:
        choice: The source.
        path: Where to begin.
        arguments: How to open it.
        opener: Opens the source.
        config: The user's wishes.
        diagnostics: Prints the messages at the end.
        opened: Called in the thread that opens, with what was opened.
    """
    from metashell.tui.remembered import default_path
    from metashell.tui.session import ExplorerSession, run

    opening = _Opening(choice, path, arguments, opener, opened)
    try:
        return run(
            ExplorerSession(
                open=opening.open,
                name=choice.name or shown(choice.path) or "quorum",
                title=opening.title,
                path=path,
                show_secrets=arguments.has("--show-secrets"),
                habits=config.habits,
                theme=config.explorer_theme,
                keys=config.keys,
                memory=default_path(),
                messages=opening.said.take,
                look=opening.look,
            )
        )
    except MetashellError:
        if opening.defect is not None:
            raise opening.defect from None
        raise
    finally:
        opening.end()
        for line in opening.said.lines:
            diagnostics.line(line)


class _Opening:
    """Opens the source in a thread, and closes it whenever the explorer ends."""

    def __init__(
        self,
        choice: Choice,
        path: str,
        arguments: Arguments,
        opener: Opener | None,
        opened: Callable[[Source | FleetSource], None],
    ) -> None:
        self._choice, self._path, self._arguments = choice, path, arguments
        self._opener, self._opened = opener, opened
        self.said = Said()
        """Messages for the user."""
        self.defect: Exception | None = None
        """An error that is a bug of ours."""
        self._lock = Lock()
        self._has_ended = False
        self._source: Source | FleetSource | None = None
        self._printer: WarningPrinter | None = None

    def open(self, progress: Progress) -> Source | FleetSource:
        """Open it.

        Raises:
            MetashellError: It can't be read, or there is no such path.
        """
        try:
            return self._open(progress)
        except MetashellError:
            raise
        except Exception as error:
            self.defect = error
            raise MetashellError("the source can't be opened") from error

    def _open(self, progress: Progress) -> Source | FleetSource:
        from metashell.cli.sources import WarningPrinter, open_source
        from metashell.sources.source import Source

        self.said.progress = progress
        source = open_source(self._choice, self._arguments, self._opener, self.said)
        if isinstance(source, Source) and source.of_topic is not None:
            raise source.of_topic.no_image
        if isinstance(source, Source) and source.of_coordinator is not None:
            raise SourceError(
                "the explorer shows no coordinator's log by itself",
                hint="`-d DIR` opens the log directory; without `tui` the shell starts",
            )
        with self._lock:
            if not self._has_ended:
                self._source = source
                self._printer = WarningPrinter(source, self.said)
        if self._source is None:
            source.close()  # The user has left meanwhile.
            return source
        self._opened(source)
        if self._path:
            resolve(source.root, self._path)
        return source

    def title(self, source: Source | FleetSource) -> str:
        """The source's name, for the title: of a directory without a name the cluster's id."""
        from metashell.cli.sources import prompt_name
        from metashell.sources.fleet.rows import cluster_id_of
        from metashell.sources.source import Source

        cluster = None
        if self._choice.name is None and isinstance(source, Source) and source.live is None:
            cluster = cluster_id_of(source)
        return cluster or prompt_name(self._choice, source)

    def look(self) -> None:
        """Take the warnings that came to light since the last time."""
        with self._lock:
            if self._printer is not None and not self._has_ended:
                self._printer.print_new()

    def end(self) -> None:
        """Close the source, and say what was not said yet."""
        with self._lock:
            self._has_ended = True
        if self._printer is not None:
            self._printer.print_new()
            self._printer.print_count()
        if self._source is not None:
            self._source.close()


class Said(Diagnostics):
    """Diagnostics that are kept: the terminal is the explorer's."""

    def __init__(self) -> None:
        super().__init__(None, StreamOutput(None))
        self.is_terminal = True
        self.lines: list[str] = []
        """All that was said."""
        self._n_taken = 0

    def line(self, text: str) -> None:
        """Keep a line."""
        self.lines.append(text)

    def raw(self, data: bytes) -> None:
        """Draw nothing."""

    def take(self) -> Sequence[str]:
        """The messages since the last call, as the explorer shows them."""
        lines = self.lines[self._n_taken :]
        self._n_taken += len(lines)
        return [line.removeprefix(_PROGRAM) for line in lines]
