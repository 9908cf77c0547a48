"""How the directories of a fleet are read: plain values, so that any process can do it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.dataclass import dataclass
from metashell.read_settings import READ_DEFAULTS, ReadSettings

if TYPE_CHECKING:
    from metashell.log.time_spec import Point
    from metashell.sources.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a directory is read and shown, and as of when."""

    settings: ReadSettings = READ_DEFAULTS
    at: Point | None = None
    """An offset or a time, as `metashell.sources.source.Source.at` takes them; None for the end."""
    record: bool = False
    """Whether an offset inside a batch means up to the record itself."""

    def of_node(self, log_dirs: tuple[str, ...], *, has_config: bool = False) -> Reading:
        """A copy for a node.

        Args:
            log_dirs: The log directories that it has besides.
            has_config: Whether the configuration is its.
        """
        config = self.settings.config if has_config else None
        return replace(self, settings=replace(self.settings, log_dirs=log_dirs, config=config))

    def open(self, place: str) -> Source:
        """Open a directory.

        Raises:
            MetashellError: It can't be read, or does not cover the point asked for.
        """
        from metashell.sources.directory import open_place

        source = open_place(place, self.settings)
        return source if self.at is None else source.at(self.at, record=self.record)
