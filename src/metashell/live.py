"""A live quorum as a source: the observer, the log it fetches, and the states made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from metashell.errors import SourceError
from metashell.log.live import LiveLog
from metashell.quorum.follower import Follower
from metashell.quorum.following import new_follower
from metashell.quorum.security import Address, Security
from metashell.source import Settings, Source

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus

TIMEOUT_S: Final = 30.0
_SLICE_S: Final = 0.1
"""How often progress is told while everyone waits."""


class LiveQuorum:
    """A quorum that is followed.

    Args:
        follower: What fetches.
        log: What was fetched.
        name: What to call the source.
        settings: How it is read and shown.
        cluster_id: The id that every controller was asked to check; None where it was not.
    """

    def __init__(
        self,
        follower: Follower,
        log: LiveLog,
        name: str,
        settings: Settings,
        cluster_id: str | None,
    ) -> None:
        self._follower, self._log, self._name, self._settings = follower, log, name, settings
        self._checked_id = cluster_id
        self._lock = Lock()
        self._newest: tuple[Source, int, object] | None = None

    @property
    def generation(self) -> int:
        """Grows when more is committed and here."""
        return self._log.generation

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id, as the quorum says or has confirmed it."""
        return self._follower.observer.cluster_id or self._checked_id

    @property
    def notes(self) -> Sequence[str]:
        """What should be known of how it went, a sentence each."""
        return tuple(self._follower.observer.notes)

    def status(self) -> LiveStatus:
        """How the following stands."""
        return self._follower.status()

    def wait(self, generation: int, timeout_s: float) -> bool:
        """Wait until there is more than a generation; whether there is."""
        return self._follower.wait_until(lambda: self._log.generation > generation, timeout_s)

    def close(self) -> None:
        """End the following; what was fetched stays readable."""
        self._follower.stop()

    def source(self) -> Source:
        """The newest state: what is committed and here."""
        with self._lock:
            if self._newest is not None and self._newest[1] == self._log.generation:
                return self._newest[0]
            log, generation, lineage = self._log.metadata_log(self._name)
            earlier = self._newest
            source = Source(
                log,
                self._settings,
                live=self,
                grown_from=earlier[0].decoded if earlier and earlier[2] is lineage else None,
                refresh=lambda _: self.source(),
            )
            self._newest = (source, generation, lineage)
            return source

    def wait_until_ready(
        self, timeout_s: float, progress: Callable[[int, int], None] | None
    ) -> None:
        """Wait until all is here that was committed when it began.

        Raises:
            SourceError: That can't be, or took too long without getting any further.
        """
        follower, observer = self._follower, self._follower.observer
        # The observer counts the time itself; this is for a thread that hangs in a system call.
        give_up, seen = time.monotonic() + 2 * timeout_s + 5, 0
        while not follower.wait_until(lambda: observer.is_ready, _SLICE_S):
            if follower.is_over:
                raise follower.error or SourceError(f"{self._name}: the following ended")
            if observer.snapshot_progress is not None and progress is not None:
                progress(*observer.snapshot_progress)
            here = observer.n_received
            now = time.monotonic()
            if here > seen:
                give_up, seen = now + 2 * timeout_s + 5, here
            elif now > give_up:
                raise SourceError(f"{self._name}: no answer within {2 * timeout_s + 5:g} s")


def follow_quorum(
    addresses: Sequence[Address],
    settings: Settings,
    *,
    security: Security | None = None,
    timeout_s: float | None = None,
    cluster_id: str | None = None,
    follow: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Source:
    """Fetch up to the high watermark; see `metashell.opening.open_quorum`."""
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
    except KeyboardInterrupt:
        follower.stop(0)
        raise
    except BaseException:
        live.close()
        raise
    if not follow:
        live.close()
    return live.source()
