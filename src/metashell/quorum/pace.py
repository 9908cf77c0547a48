"""When the next request goes out, and how long its answer may take."""

from __future__ import annotations

from typing import Final

IDLE_S: Final = 10.0
"""How long a peer may send nothing while an answer is due, besides what it was allowed to wait;
``request.timeout.ms`` where that is set."""
ANSWER_S: Final = 300.0
"""How long a whole answer may take, however steadily it comes."""
SIZABLE_BYTES: Final = 1 << 16
"""The bytes of an answer that have to come within our patience."""
_THROTTLE_MAX_S: Final = 10.0
_RENEW_AT: Final = 0.85
"""The part of an authentication's lifetime after which we connect anew (KIP-368)."""
_RENEW_MIN_S: Final = 1.0
"""No sooner than this: a lifetime of nothing is not worth a storm of connections."""


class Pace:
    """The times of one connection.

    Args:
        idle_s: How long the peer may be silent.
        patience_s: How long `SIZABLE_BYTES` of an answer may take.
    """

    def __init__(self, idle_s: float = IDLE_S, patience_s: float = ANSWER_S) -> None:
        self._idle_s, self._patience_s = idle_s, patience_s
        self.resume = 0.0
        """Before this nothing is sent."""
        self.asked_at = 0.0
        """When the last request went out, or goes."""
        self._renew = 0.0
        self._silent_s = idle_s
        self._deadline = self._answer_by = 0.0
        self.stalls_at = 0.0
        """When the answer that is due comes too slowly."""
        self._n_bytes = 0
        """Bytes of the answer that came since `stalls_at` was put off."""

    @property
    def deadline(self) -> float:
        """When the answer that is due does not come any more."""
        return min(self._deadline, self._answer_by, self.stalls_at)

    def connected(self) -> None:
        """A connection begins."""
        self.resume = self._renew = 0.0

    def asked(self, now: float, wait_ms: int = 0) -> None:
        """A request is sent, as soon as it may be, whose answer may be held back for a while."""
        self.asked_at = max(now, self.resume)
        self._silent_s = self._idle_s + wait_ms / 1000
        self._deadline = self.asked_at + self._silent_s
        self._answer_by = self.asked_at + ANSWER_S
        self.stalls_at = self.asked_at + wait_ms / 1000 + self._patience_s
        self._n_bytes = 0

    def received(self, n_bytes: int, now: float) -> None:
        """Some bytes came."""
        self._deadline = now + self._silent_s
        self._n_bytes += n_bytes
        if self._n_bytes >= SIZABLE_BYTES:
            self.stalls_at, self._n_bytes = now + self._patience_s, 0

    def throttle(self, throttle_ms: int, now: float) -> None:
        """The peer asks for patience; what it does not serve until then would only add to it."""
        if throttle_ms > 0:
            self.hold_until(now + min(throttle_ms / 1000, _THROTTLE_MAX_S))

    def hold_until(self, time: float) -> None:
        """Send nothing before then."""
        self.resume = max(self.resume, time)

    def authenticated(self, lifetime_ms: int, now: float) -> None:
        """An authentication holds for so long; 0 for ever."""
        if lifetime_ms:
            self._renew = now + max(lifetime_ms / 1000 * _RENEW_AT, _RENEW_MIN_S)

    def is_renewal_due(self, now: float) -> bool:
        """Whether to authenticate again, which takes a new connection."""
        return self._renew > 0 and now > self._renew
