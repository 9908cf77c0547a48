"""The command line over a made-up source and made-up commands; also a program of its own."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from metashell.cli import main, work
from metashell.commands.framework.command import Context
from metashell.errors import MetashellError, UsageError
from metashell.fs.node import FixedDirectory, TextLeaf
from metashell.log.directory import MetadataLog
from metashell.log.names import Listing
from metashell.log.read import Loaded
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_request
from metashell.sources.request import OpeningWatch, OpenRequest
from metashell.sources.source import Source
from metashell.sources.status import Status


class FakeSource(Source):
    """A source that is what a test says."""

    cluster_id: str | None = "fakeClusterId"
    warnings: list[str] = []  # noqa: RUF012 (each has its own)
    stopped_by: object | None = None
    root = FixedDirectory({"leaf": lambda: TextLeaf("text")})

    def __init__(self, name: str = "fake") -> None:
        super().__init__(MetadataLog(name, Loaded(b"", 0, []), Listing((), ()), None))
        self.name = name
        self.warnings = []

    def warm_up(self) -> None:
        """Nothing to compute."""

    def status(self) -> Status:
        """A fixed state."""
        return Status(offset=7, epoch=1, timestamp_ms=None, metadata_version=None, notes=())


@dataclass
class FakeOpener:
    """Opens the same source whatever it is given, and remembers the calls."""

    source: FakeSource = field(default_factory=FakeSource)
    calls: list[tuple[str, str, OpenRequest]] = field(default_factory=list)
    """What would open it in Python, of what, and all that was asked for."""
    error: Exception | None = None

    def __call__(self, request: OpenRequest, watch: OpeningWatch) -> Source | FleetSource:
        """Open what was asked for; what goes on around it is the product's."""
        return open_request(request, watch, self._open)

    def _open(self, request: OpenRequest, watch: OpeningWatch) -> FakeSource:
        choice = request.choice
        if choice.quorum is not None:
            how, what = "open_quorum", ",".join(map(str, choice.quorum.addresses))
        else:
            how, what = "open_file" if choice.is_file else "open", choice.path
        self.calls.append((how, what, request))
        self.watch = watch
        if self.error is not None:
            raise self.error
        return self.source


class FakeRunner:
    """Commands that fail, flood, wait or break on demand."""

    def __init__(self, source: FakeSource | None = None) -> None:
        self.source = source
        self.words: list[tuple[str, ...]] = []

    def run_line(self, context: Context, line: str) -> int:
        """Run a line split at blanks."""
        return self.run_words(context, line.split())

    def run_words(self, context: Context, words: Sequence[str]) -> int:
        """Run a command."""
        self.words.append(tuple(words))
        name, *args = words
        command: Callable[..., int] | None = getattr(self, f"do_{name}", None)
        if command is None:
            raise UsageError(f"no such command: {name}", hint="`help` lists them")
        return command(context, *args)

    def do_echo(self, context: Context, *args: str) -> int:
        """Write the arguments."""
        context.out.write(" ".join(args) + "\n")
        return 0

    def do_flood(self, context: Context, lines: str) -> int:
        """Write many lines."""
        for i in range(int(lines)):
            context.out.write(f"{i} {'x' * 60}\n")
        return 0

    def do_fail(self, context: Context, path: str = "/nope") -> int:
        """Fail as commands do."""
        context.warn(f"fail: {path}: No such file or directory")
        return 1

    def do_raise(self, context: Context) -> int:
        """Fail as a whole."""
        raise MetashellError("it can't be done", hint="try something else")

    def do_boom(self, context: Context) -> int:
        """Have a bug."""
        raise TypeError("an unsupported\nthing")

    def do_interrupt(self, context: Context) -> int:
        """Be interrupted."""
        context.out.write("half a line")
        raise KeyboardInterrupt

    def do_wait(self, context: Context) -> int:
        """Say so, and wait for a signal."""
        context.warn("waiting")
        signal.pause()
        return 0

    def do_exit(self, context: Context, status: str | None = None) -> int:
        """Ask to leave, perhaps with a status."""
        context.exit_requested = True
        context.exit_status = None if status is None else int(status)
        return context.exit_status or 0

    def do_discover(self, context: Context, count: str) -> int:
        """Decode more, with warnings."""
        assert self.source is not None
        self.source.warnings.extend(f"discovered {i}" for i in range(int(count)))
        return 0

    def do_man(self, context: Context, topic: str) -> int:
        """Show a page."""
        return self.do_echo(context, "manual of", topic)


if __name__ == "__main__":
    fake_opener = FakeOpener()
    fake_runner = FakeRunner(fake_opener.source)
    work.run_line, work.run_words = fake_runner.run_line, fake_runner.run_words  # type: ignore[assignment]
    sys.exit(main(opener=fake_opener))  # type: ignore[arg-type]
