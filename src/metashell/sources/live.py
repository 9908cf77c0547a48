"""A live quorum as a source: the observer, the log it fetches, and the states made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from metashell.errors import SourceError
from metashell.lazy import lazy
from metashell.log.directory import MetadataLog
from metashell.log.live import LiveLog
from metashell.quorum.follower import STOP_WAIT_S, Follower, new_follower
from metashell.read_settings import ReadSettings
from metashell.security.settings import Address, Security
from metashell.sources.source import Source
from metashell.sources.status import Capabilities

if TYPE_CHECKING:
    from metashell.image.history import CoveredPoint
    from metashell.image.image import Image
    from metashell.quorum.description import LiveStatus
    from metashell.schema.model import Registry

TIMEOUT_S: Final = 30.0
_SLICE_S: Final = 0.1
"""How often progress is told while everyone waits."""
_ASK_S: Final = 5.0
"""How long the cluster's id may take, which is no more than good to know."""
_LATE_S: Final = 0.2
"""How long after its time the observer may end by itself."""


class LiveSource(Source):
    """A state of a followed quorum.

    Args:
        log: The fetched log.
        settings: How it is read and shown.
        live: The quorum.
        newest: See `Source`.
        moment: See `Source`.
        grown_from: An earlier source of the same quorum, to whose files batches were added: what
            it has decoded is used again.
    """

    capabilities = Capabilities(follows=True)
    live: LiveQuorum

    def __init__(
        self,
        log: MetadataLog,
        settings: ReadSettings,
        live: LiveQuorum,
        *,
        newest: Source | None = None,
        moment: CoveredPoint | None = None,
        grown_from: LiveSource | None = None,
    ) -> None:
        self._grown_from = grown_from
        self.live = live
        super().__init__(log, settings, newest=newest, moment=moment)
        self.name = log.path

    @lazy
    def registry(self) -> Registry:
        return super().registry if self._grown_from is None else self._grown_from.registry

    def _whole_image(self) -> Image:
        earlier, self._grown_from = self._grown_from, None
        if earlier is None:
            return super()._whole_image()
        return earlier.image.grown(earlier.image.records.grown(self.log.loaded))

    @property
    def decoded(self) -> LiveSource | None:
        return self if Source.image.is_known(self) else self._grown_from

    def _earlier(self, moment: CoveredPoint) -> Source:
        return LiveSource(moment.log, self.settings, self.live, newest=self.newest, moment=moment)

    def refreshed(self) -> Source:
        return self if self.moment_offset is not None else self.live.source()

    def standing(self) -> Source:
        return self.refreshed()

    def close(self) -> None:
        self.live.close()

    @property
    def cluster_id(self) -> str | None:
        return self.live.cluster_id

    @property
    def leaders(self) -> Mapping[int, int]:
        status = self.live.status()
        if status.leader_id is None or status.epoch is None:
            return {}
        return {status.epoch: status.leader_id}

    def _notes(self) -> list[str]:
        return [*super()._notes(), *self.live.notes]


class LiveQuorum:
    """A followed quorum.

    Args:
        follower: Fetches the log.
        log: The fetched log.
        name: The source's name.
        settings: How it is read and shown.
        cluster_id: The id that every controller was asked to check; None where it was not.
    """

    def __init__(
        self,
        follower: Follower,
        log: LiveLog,
        name: str,
        settings: ReadSettings,
        cluster_id: str | None,
    ) -> None:
        self._follower, self._log, self._name, self._settings = follower, log, name, settings
        self._cluster_id = cluster_id
        self._has_asked = False
        self._lock, self._asking = Lock(), Lock()
        self._newest: tuple[LiveSource, int, object] | None = None

    @property
    def generation(self) -> int:
        """Grows when more is committed and here."""
        return self._log.generation

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id, as the quorum says or has confirmed it; None where it does not tell.

        Cost: a connection, the first time that somebody wants to know.
        """
        with self._asking:
            self._cluster_id = self._follower.observer.facts.cluster_id or self._cluster_id
            if self._cluster_id is None and not self._has_asked:
                self._has_asked = self._follower.observer.facts.is_at_leader
                self._cluster_id = self._follower.ask_cluster_id(_ASK_S)
            return self._cluster_id

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the user about how the fetching went."""
        return tuple(self._follower.observer.facts.notes)

    def status(self) -> LiveStatus:
        """How the following stands."""
        return self._follower.status()

    def wait(self, generation: int, timeout_s: float) -> bool:
        """Wait until there is more than a generation; whether there is."""
        return self._follower.wait_until(lambda: self._log.generation > generation, timeout_s)

    def close(self) -> None:
        """End the following; what was fetched stays readable."""
        self._follower.stop()

    def source(self) -> LiveSource:
        """The newest state: what is committed and here."""
        with self._lock:
            if self._newest is not None and self._newest[1] == self._log.generation:
                return self._newest[0]
            log, generation, lineage = self._log.metadata_log(self._name)
            earlier = self._newest
            source = LiveSource(
                log,
                self._settings,
                self,
                grown_from=earlier[0].decoded if earlier and earlier[2] is lineage else None,
            )
            self._newest = (source, generation, lineage)
            return source

    def wait_until_ready(
        self, timeout_s: float, progress: Callable[[int, int], None] | None
    ) -> None:
        """Wait until all is here that was committed when it began.

        Raises:
            SourceError: It can't be fetched, or took too long without getting any further.
        """
        follower, observer = self._follower, self._follower.observer
        first = time.monotonic() + timeout_s
        while not follower.wait_until(lambda: observer.facts.is_ready, _SLICE_S):
            if follower.is_over:
                raise follower.error or SourceError(f"{self._name}: following the quorum ended")
            if observer.facts.snapshot_progress is not None and progress is not None:
                progress(*observer.facts.snapshot_progress)
            # The observer counts the time itself; this is for a thread that hangs in a system
            # call, as where a ticket or a token is asked for.
            end = observer.gives_up_at
            if time.monotonic() > (first if end is None else end) + _LATE_S:
                raise SourceError(f"{self._name}: no answer within {timeout_s:g} s")


def follow_quorum(
    addresses: Sequence[Address],
    settings: ReadSettings,
    *,
    security: Security | None = None,
    timeout_s: float | None = None,
    cluster_id: str | None = None,
    follow: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> LiveSource:
    """Fetch up to the high watermark; see `metashell.sources.opening.open_quorum`."""
    security = security or Security()
    timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
    log = LiveLog()
    follower = new_follower(
        addresses,
        log,
        security,
        cluster_id=cluster_id,
        follow=follow,
        patience_s=timeout_s,
    )
    live = LiveQuorum(follower, log, str(addresses[0]), settings, cluster_id)
    follower.start()
    try:
        live.wait_until_ready(timeout_s, progress)
    except BaseException:
        # The caller has waited enough: only a thread that has ended is waited for.
        follower.stop(STOP_WAIT_S if follower.is_over else 0)
        raise
    if not follow:
        live.close()
    return live.source()
