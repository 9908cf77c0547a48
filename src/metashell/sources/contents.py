"""The content of an opened source for programs and notebooks: tables, records, nodes by path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

from metashell.errors import IsADirectoryPathError, NotADirectoryPathError
from metashell.fs.node import Directory, JsonValue
from metashell.fs.path import resolve
from metashell.fs.walk import paths
from metashell.lazy import lazy
from metashell.log.unread import Unread, UnreadReport
from metashell.sources.status import Capabilities

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.image.image import Image
    from metashell.redact import Redaction
    from metashell.sources.coordinator_tables import SourceTables


class SourceContents(ABC):
    """The part of a source that asks only for its image, its tree and its coordinators' logs."""

    capabilities: ClassVar[Capabilities]
    lock: RLock
    redaction: Redaction

    @property
    @abstractmethod
    def image(self) -> Image:
        """The parts of the image."""

    @property
    @abstractmethod
    def root(self) -> Directory:
        """The root of the file system."""

    @property
    @abstractmethod
    def coordinator_tables(self) -> SourceTables | None:
        """The tables of coordinators' logs; None where it has none."""

    @lazy
    def unread(self) -> Unread:
        """The faults and remarks from reading tables of coordinators' logs."""
        return Unread()

    @property
    def tables(self) -> Sequence[str]:
        """Names of the tables that `table` gives."""
        from metashell.image.arrow import table_names

        of_image = tuple(table_names()) if self.capabilities.has_image else ()
        more = self.coordinator_tables
        return of_image if more is None else (*of_image, *more.states)

    def table(self, name: str) -> pa.Table:
        """A part of the image as an Arrow table, secrets redacted; or what coordinators' logs tell.

        Each of the image has, behind its own columns, ``created_*`` and ``changed_*``: offset
        (int64), epoch (int32) and timestamp (ms) of the record that made and last changed the row;
        null where that happened at or before the checkpoint that the replay begins with.

        The tables ``groups``, ``members``, ``offsets``, ``transactions``, ``share_partitions`` and
        ``producers`` are there if the log directory is a broker's. Each call reads the logs anew;
        `warnings` then tells what was not read.

        Raises:
            KeyError: There is no such table; see `tables`.
            SourceError: The log directories can't be read.
        """
        more = self.coordinator_tables
        if more is not None and name in more.states:
            return more.table(name, UnreadReport(self.unread))
        from metashell.image.arrow import image_table

        return image_table(name, self.image, self.redaction)

    def records(self, message: str) -> pa.Table:
        """Every record of a type that counts, decoded, as an Arrow table, secrets redacted.

        Records of coordinators' logs are included if they decode, also those of aborted
        transactions.

        Args:
            message: Such as ``PartitionChangeRecord``, or ``OffsetCommit`` of a broker's logs.

        Raises:
            KeyError: There is no such message.
            SourceError: The log directories can't be read.
        """
        more = self.coordinator_tables
        if more is not None and message in more.messages:
            return more.table(message, UnreadReport(self.unread))
        from metashell.image.arrow import records_table

        return records_table(self.image.records, message, self.redaction)

    def unknown_records(self) -> pa.Table:
        """Records that no definition describes, kept raw.

        Columns: offset, epoch, time, api_key, version and ``raw`` (binary), the whole value; unless
        secrets are shown, a text in its place that tells its length, position and digest.
        """
        from metashell.image.arrow import unknown_table

        return unknown_table(self.image.records, self.redaction)

    def ls(self, path: str = "/") -> list[str]:
        """Child names of a directory.

        Raises:
            PathError: Nothing is there, or a leaf.
        """
        node = resolve(self.root, path).node
        if not isinstance(node, Directory):
            raise NotADirectoryPathError(path)
        return list(node.names())

    def cat(self, path: str) -> str:
        """Text of a leaf.

        Raises:
            PathError: Nothing is there, or a directory.
        """
        text: str = self._leaf(path).text()
        return text

    def value(self, path: str) -> JsonValue:
        """Structured value of a leaf; errors as `cat`."""
        value: JsonValue = self._leaf(path).value()
        return value

    def find(self, path: str = "/") -> list[str]:
        """Paths of a node and all below it, depth first.

        Raises:
            PathError: Nothing is there.
        """
        node = resolve(self.root, path).node
        # A lone surrogate ends each path: no name that was decoded from UTF-8 holds one.
        return "".join(paths(node, path, end="\udfff")).split("\udfff")[:-1]

    def _leaf(self, path: str) -> Any:
        node = resolve(self.root, path).node
        if isinstance(node, Directory):
            raise IsADirectoryPathError(path)
        return node
