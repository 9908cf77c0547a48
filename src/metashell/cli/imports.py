"""The imports of a process that is ours alone: when they are done, and which are left out."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from threading import Thread
from types import ModuleType
from typing import Final

from metashell.commands import get
from metashell.commands.framework.command import IMAGE_IMPORTS
from metashell.dataclass import dataclass

LEAST_BYTES: Final = 16 << 20
"""Fewer bytes are read sooner than a thread beside could help."""


@dataclass(slots=True)
class EarlyImports:
    """Imports what a command needs while its files are read.

    Reading waits for the disk and copies, and both let go of Python's lock. So on two processors
    the imports take hardly any time of their own.

    Called with (bytes read, bytes in all), as `metashell.log.read.ReadProgress`.
    """

    command: str = ""
    """The command's name; empty for the shell, and where there are several."""
    has_begun: bool = False

    def __call__(self, done: int, total: int) -> None:
        """Begin with the first call, where there is enough to be read."""
        if self.has_begun or total < LEAST_BYTES:
            return

        self.has_begun = True
        if self.command:
            # A shell may open something with Spark later, and what several commands need of pyarrow
            # is not known.
            leave_pandas_out()
        # A daemon: who ends the program, by ^C or with an error, does not wait for modules.
        Thread(target=self._import, name="metashell-import", daemon=True).start()

    def _import(self) -> None:
        # A module that fails here is imported again where it is needed, and the error is told
        # there.
        with suppress(Exception):
            command = get(self.command)
            for name in IMAGE_IMPORTS if command is None else command.imports:
                import_module(name)


def prepare_pyarrow() -> None:
    """Keep pyarrow from holding back what it has freed, and from parsing what nobody reads.

    To be called before pyarrow is imported, which looks once. Memory that it holds back, a tenth
    and more of all that a question takes, can't be used for columns.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    _leave_descriptions_out()


def leave_pandas_out() -> None:
    """Keep pyarrow from importing pandas where it is installed, a quarter of a second for nothing.

    Not where Spark computes: PySpark can't do without pandas.
    """
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


def _leave_descriptions_out() -> None:
    """Keep pyarrow from parsing the descriptions of its functions, which nobody here reads.

    The parsing takes half of the import time of pyarrow.compute.
    """
    parser = ModuleType("pyarrow.vendored.docscrape")
    vars(parser)["NumpyDocString"] = _NoDescription
    sys.modules.setdefault(parser.__name__, parser)


class _NoDescription(dict[str, tuple[()]]):
    """An empty description, whatever the text says."""

    def __init__(self, _: str) -> None:
        super().__init__()

    def __missing__(self, section: str) -> tuple[()]:
        return ()


class _NoPandas:
    """Finds no pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse one module, and leave all others to who comes next."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out", name=name)
