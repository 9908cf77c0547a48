"""A stand-in for a quorum that is followed: batches in memory, and news as a test tells them.

`Cluster` is what `LiveSource.live` is, and its sources read it. A step of `news` is run by each
wait for something new; when there are none left the wait is ended as by ^C.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from kraftgen.files import checkpoint_bytes
from metashell.log.directory import MetadataLog
from metashell.log.names import checkpoint_name, list_names, segment_name
from metashell.log.read import load
from metashell.places.place import MemoryFile
from metashell.quorum.description import LiveStatus
from metashell.read_settings import ReadSettings
from metashell.sources.live import LiveSource


class Cluster:
    """A log that grows.

    Args:
        batches: What is committed at first.
    """

    cluster_id: str | None = "FOEwebgxRXOFbKdSIiDwwg"
    notes: Sequence[str] = ()

    def __init__(self, *batches: bytes) -> None:
        self.batches = list(batches)
        self.generation = 1
        self.news: list[Callable[[], object]] = []
        self.problem: str | None = None
        self.leader: int | None = 1
        self.last_word_s: float | None = 0.4
        self.is_closed = False
        self.is_connected = True
        """Whether the leader answers."""
        self._newest: tuple[int, LiveSource] | None = None
        self._base = 0
        self._checkpoint: MemoryFile | None = None

    def source(self) -> LiveSource:
        """The newest state."""
        if self._newest is None or self._newest[0] != self.generation:
            name = segment_name(self._base).name
            files = {name: MemoryFile(name, memoryview(b"".join(self.batches)))}
            if self._checkpoint is not None:
                files = {self._checkpoint.name: self._checkpoint, **files}
            loaded = load(list(files.values()))
            log = MetadataLog("quorum", loaded, list_names(files), None, in_memory=files)
            source = LiveSource(log, ReadSettings(), self)
            self._newest = (self.generation, source)
        return self._newest[1]

    def commit(self, *batches: bytes) -> None:
        """Let more be committed."""
        self.batches += batches
        self.generation += 1

    def jump(self, end_offset: int, *values: bytes) -> None:
        """Let a checkpoint of some records take the place of all that is here."""
        name = checkpoint_name(end_offset, 1).name
        self._checkpoint = MemoryFile(name, memoryview(checkpoint_bytes(values, epoch=1)))
        self.batches, self._base = [], end_offset
        self.generation += 1

    def wait(self, generation: int, timeout_s: float) -> bool:
        """Take the next step."""
        if self.generation > generation:
            return True
        if not self.news:
            raise KeyboardInterrupt
        self.news.pop(0)()
        return self.generation > generation

    def status(self) -> LiveStatus:
        """How the following stands."""
        end = self.source().log.loaded.files[0].chain.last_offset + 1
        return LiveStatus(
            leader_id=self.leader,
            leader_address="localhost:9093" if self.is_connected else None,
            epoch=5,
            high_watermark=end,
            end_offset=end,
            last_word_s=self.last_word_s,
            problem=self.problem,
        )

    def close(self) -> None:
        """Note that nobody follows any more."""
        self.is_closed = True


class AwaitedCluster(Cluster):
    """One whose commits wake who waits for them, as those of a quorum do."""

    def __init__(self, *batches: bytes) -> None:
        super().__init__(*batches)
        self._changed = threading.Condition()

    def commit(self, *batches: bytes) -> None:
        """Let more be committed, and say so."""
        with self._changed:
            super().commit(*batches)
            self._changed.notify_all()

    def wait(self, generation: int, timeout_s: float) -> bool:
        """Wait for a commit or the end."""
        with self._changed:
            self._changed.wait_for(
                lambda: self.generation > generation or self.is_closed, timeout_s
            )
            return self.generation > generation

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            super().close()
            self._changed.notify_all()
