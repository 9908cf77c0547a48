"""Sources that have no cluster's metadata: what a question about it is told."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, TypeVar

from metashell.lazy import lazy
from metashell.sources.source import Source
from metashell.sources.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from metashell.errors import SourceError
    from metashell.fs.node import Directory
    from metashell.image.history import History
    from metashell.image.image import Image
    from metashell.sources.delegate import ClosedDelegate, Delegate

_T = TypeVar("_T")


class SourceWithoutImage(Source):
    """A source with coordinators' logs alone; its `capabilities` say so."""

    delegated_to: ClosedDelegate | None = None
    """Runs its statements; None where this process does."""

    def delegate(self, command: Callable[[Delegate], _T | None]) -> _T | None:
        return None if self.delegated_to is None else command(self.delegated_to)

    def close(self) -> None:
        super().close()
        if self.delegated_to is not None:
            self.delegated_to.close()

    @property
    @abstractmethod
    def no_image(self) -> SourceError:
        """Why it has no image, and what to do."""

    @lazy
    def image(self) -> Image:
        """It has none.

        Raises:
            SourceError: Always.
        """
        raise self.no_image

    @property
    def history(self) -> History:
        """It has none.

        Raises:
            SourceError: Always.
        """
        raise self.no_image

    @property
    def history_root(self) -> Directory:
        """The root, as there is no older image."""
        return self.root

    @property
    def stopped_by(self) -> None:
        """Nothing is replayed strictly."""

    def status(self) -> Status:
        """The missing data, and the moment that it shows, where `at` made it."""
        notes = ["no metadata log"]
        if self.moment_offset is not None:
            notes.append(f"at offset {self.moment_offset}")
        return Status(
            offset=None,
            epoch=None,
            timestamp_ms=None,
            metadata_version=None,
            notes=tuple(notes),
        )

    def warm_up(self) -> None:
        """Nothing: there is no image."""
