"""Running commands of the product in this process, as a pipe would see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import yaml

from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.fs.node import Directory
from metashell.sources.fleet.source import FleetSource
from metashell.sources.source import Source


@dataclass
class Captured:
    """An output that collects what is written."""

    is_terminal: bool = False
    width: int = 80
    parts: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Keep a piece of text."""
        self.parts.append(text)

    def flush(self) -> None:
        """Nothing is held back."""


@dataclass(frozen=True)
class Ran:
    """What a command line did."""

    status: int
    out: str
    err: tuple[str, ...]


def run(
    root: Directory, line: str, *, cwd: str = "/", source: Source | FleetSource | None = None
) -> Ran:
    """Run one command line on a file system, with what was opened behind it."""
    captured = Captured()
    warnings: list[str] = []
    context = Context(root=root, out=captured, warn=warnings.append, cwd=cwd)
    if isinstance(source, FleetSource):
        context.fleet = source
    else:
        context.source = source
    status = run_line(context, line)
    return Ran(status, "".join(captured.parts), tuple(warnings))


def run_on(source: Source | FleetSource, line: str, cwd: str = "/") -> Ran:
    """Run one command line on an opened source."""
    return run(source.root, line, source=source, cwd=cwd)


def from_yaml(text: str) -> Any:
    """What a long YAML document says; short ones are for the slow reader in Python."""
    # The one in C is missing where PyYAML was built without libyaml.
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def ms_of(time: str | None) -> int | None:
    """A time as rows in JSON have it, in ms since the epoch."""
    if time is None:
        return None
    moment = datetime.fromisoformat(time.replace("Z", "+00:00"))
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
