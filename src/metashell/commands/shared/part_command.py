"""A command that lists a part of coordinators' logs; the part says what makes its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.parts.spec import PartSpec

_WHERE: Final = (
    "The answer comes from the partitions of `{0}` in the log directories that are open: they have "
    "to be a broker's. `-d DIR/{0}-3` reads one partition alone. Logs are read to their "
    "end. A diagnostic tells what is missing. The exit status is 1 if a record "
    "could not be read, or if a name is unknown."
)
"""The end of the manual; takes the topic's name."""


class PartCommand(RowsCommand):
    """A command whose rows are a part of every partition of a coordinators' topic."""

    group = "groups"
    of_each_cluster = True
    part: PartSpec
    named = ""
    """The thing that has a name of its words, in the singular."""

    def __init_subclass__(cls) -> None:
        """Say in the manual which logs it reads, and name the modules that make and write rows."""
        cls.imports = ("metashell.commands.rows.stream", cls.part.rows.partition(":")[0])
        super().__init_subclass__()
        text = f"{cls.manual.description}\n\n{_WHERE.format(cls.part.log)}"
        cls.manual = replace(cls.manual, description=text)

    def answer(self, query: RowsQuery) -> None:
        """Add the rows of every partition."""
        from metashell.commands.shared.coordinator_logs import coordinator_rows

        coordinator_rows(query, self.part, self.named)
