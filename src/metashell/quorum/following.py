"""Puts a follower together: observer, authentication and TLS as they were configured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from metashell.quorum.follower import Follower
from metashell.quorum.observer import Observer
from metashell.quorum.pace import IDLE_S
from metashell.quorum.steps import LogStore
from metashell.security.sasl import Mechanism, make_mechanism
from metashell.security.settings import Address, Security

if TYPE_CHECKING:
    from ssl import SSLContext


def new_follower(
    addresses: Sequence[Address],
    store: LogStore,
    security: Security,
    *,
    cluster_id: str | None,
    follow: bool,
    patience_s: float,
) -> Follower:
    """A follower that has not begun; the arguments are those of `Observer`."""
    timeout_ms = security.request_timeout_ms
    observer = Observer(
        addresses,
        store,
        new_mechanism=_mechanisms(security),
        cluster_id=cluster_id,
        follow=follow,
        patience_s=patience_s,
        silence_s=IDLE_S if timeout_ms is None else timeout_ms / 1000,
    )
    return Follower(observer, _context(security))


def _mechanisms(security: Security) -> Callable[[str], Mechanism | None]:
    settings = security.sasl
    if settings is None:
        return lambda _: None

    def make(host: str) -> Mechanism:
        return make_mechanism(settings, host)

    return make


def _context(security: Security) -> Callable[[], SSLContext] | None:
    if security.protocol not in {"SSL", "SASL_SSL"}:
        return None

    def make() -> SSLContext:
        from metashell.security.tls import make_context

        return make_context(security.tls)

    return make
