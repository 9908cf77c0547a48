"""``/local``, ``/log``, ``/bootstrap``: of this program, of the files, of the formatter.

None of these is in Kafka's tree but ``/local``; they never change what is under ``/image``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from metashell.fs.node import Directory, FixedDirectory, JsonValue, TextLeaf
from metashell.fs.nodes.tables import RowDirectory
from metashell.log.directory import MetadataLog
from metashell.log.fault import Fault
from metashell.log.read import LogFile

if TYPE_CHECKING:
    from metashell.image.touched import Moment

NO_FAULTS = "none"
"""Text of ``/log/faults`` where there is nothing to report."""


def local_node(version: str) -> Directory:
    """The directory ``/local``: what program this is."""
    return FixedDirectory(
        {"version": lambda: TextLeaf(version), "commitId": lambda: TextLeaf("unknown")}
    )


def log_node(log: MetadataLog, faults: Callable[[], Sequence[Fault]]) -> Directory:
    """The directory ``/log``: a leaf for each file read, and all that is wrong with them.

    Args:
        log: The files.
        faults: Gives every fault, having decoded everything.
    """
    files = {file.name: file for file in log.loaded.files}

    def fault_lines() -> str:
        return "\n".join(map(str, faults())) or NO_FAULTS

    def fault_values() -> list[JsonValue]:
        return [
            {
                "kind": f.kind.value,
                "reason": f.reason,
                "file": f.file,
                "pos": f.pos,
                "offset": f.offset,
            }
            for f in faults()
        ]

    return FixedDirectory(
        {
            **{name: partial(FileLeaf, file) for name, file in files.items()},
            "faults": lambda: TextLeaf(fault_lines, fault_values),
        }
    )


class FileLeaf(TextLeaf):
    """A file that was read."""

    __slots__ = ("_file",)

    def __init__(self, file: LogFile) -> None:
        super().__init__(lambda: _file_text(file), lambda: _file_value(file))
        self._file = file

    @property
    def size(self) -> int:
        """Its bytes."""
        return self._file.size

    @property
    def moment(self) -> Moment | None:
        """The place and time of its last record; of a checkpoint, of the last that it stands for.

        None for a file without a sound batch.
        """
        file, chain = self._file, self._file.chain
        if not chain.n_batches:
            return None
        offset = chain.last_offset if file.end_offset is None else file.end_offset - 1
        from metashell.image.touched import Moment

        return Moment(offset, chain.last_epoch, chain.last_timestamp_ms, None, _kind(file))


def _kind(file: LogFile) -> str:
    return "checkpoint" if file.name.endswith(".checkpoint") else "segment"


def _file_value(file: LogFile) -> dict[str, JsonValue]:
    chain = file.chain
    value: dict[str, JsonValue] = {
        "kind": _kind(file),
        "sizeBytes": file.size,
        "batches": chain.n_batches,
        "firstOffset": chain.first_offset,
        "lastOffset": chain.last_offset,
        "lastEpoch": chain.last_epoch,
        "lastTimestampMs": chain.last_timestamp_ms,
        "faults": len(chain.faults),
    }
    if file.end_offset is not None:
        value["endOffset"] = file.end_offset
    return value


def _file_text(file: LogFile) -> str:
    fields = ", ".join(f"{name}={part}" for name, part in _file_value(file).items())
    return f"LogFile({fields})"


def bootstrap_node(load: Callable[[], Sequence[str]]) -> Directory:
    """The directory ``/bootstrap``: the records that the formatter wrote, a leaf each.

    Args:
        load: Gives the records' texts.
    """
    texts: list[str] = []

    def rows() -> dict[str, int]:
        texts[:] = load()
        return {str(i): i for i in range(len(texts))}

    return RowDirectory(rows, lambda _, row: TextLeaf(texts[row]))
