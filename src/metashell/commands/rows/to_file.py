"""A command's answer in a file, which appears whole or not at all: the option ``--to FILE``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metashell.commands.export.destination import STDOUT, ExportPlace, Sink
from metashell.commands.framework.command import Context
from metashell.dataclass import dataclass


@dataclass(slots=True)
class _FileOutput:
    sink: Sink
    is_terminal: bool = False
    width: int = 80

    def write(self, text: str) -> None:
        self.sink.text(text)

    def flush(self) -> None:
        """The file is written when it is whole."""


@contextmanager
def written_to(context: Context, path: str) -> Iterator[None]:
    """Let a command write to a file in place of standard output; an older file is replaced.

    A path of ``-`` is standard output.

    Raises:
        MetashellError: It can't be written, or is in a Kafka directory.
    """
    if path == STDOUT:
        yield
        return
    standard = context.out
    with ExportPlace(context, force=True).open(path) as sink:
        context.out = _FileOutput(sink)
        try:
            yield
        finally:
            context.out = standard
