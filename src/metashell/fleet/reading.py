"""How the directories of a fleet are read: plain values, so that any process can do it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metashell.source import Settings

if TYPE_CHECKING:
    from metashell.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a directory is read and shown, and as of when."""

    settings: Settings = field(default_factory=Settings)
    at: str | int | None = None
    """An offset or a time, as `metashell.source.Source.at` takes them; None for the end."""
    record: bool = False
    """Whether an offset inside a batch means up to the record itself."""

    def open(self, place: str) -> Source:
        """Open a directory.

        Raises:
            MetashellError: It can't be read, or does not cover the point asked for.
        """
        from metashell import opening

        settings = self.settings
        source = opening.open(
            place,
            strict=settings.strict,
            schemas=settings.schemas,
            show_secrets=settings.show_secrets,
            committed_only=settings.committed_only,
        )
        return source if self.at is None else source.at(self.at, record=self.record)
