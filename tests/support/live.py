"""A stand-in for a quorum that is followed: batches in memory, and news as a test tells them.

`Cluster` is what `Source.live` is, and its sources read it. A step of `news` is run by each wait
for something new; when there are none left the wait is ended as by ^C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metashell.log.directory import MetadataLog
from metashell.log.names import list_names, segment_name
from metashell.log.read import MemoryFile, load
from metashell.quorum.description import LiveStatus
from metashell.source import Settings, Source


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
        self._newest: tuple[int, Source] | None = None

    def source(self) -> Source:
        """The newest state."""
        if self._newest is None or self._newest[0] != self.generation:
            name = segment_name(0).name
            files = {name: MemoryFile(name, memoryview(b"".join(self.batches)))}
            loaded = load(list(files.values()))
            log = MetadataLog("quorum", loaded, list_names(files), None, in_memory=files)
            source = Source(log, Settings(), live=self, refresh=lambda _: self.source())
            self._newest = (self.generation, source)
        return self._newest[1]

    def commit(self, *batches: bytes) -> None:
        """Let more be committed."""
        self.batches += batches
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
            leader_address="localhost:9093",
            epoch=5,
            high_watermark=end,
            end_offset=end,
            last_word_s=self.last_word_s,
            problem=self.problem,
        )

    def close(self) -> None:
        """Note that nobody follows any more."""
        self.is_closed = True
