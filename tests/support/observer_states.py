"""Which state of an observer can follow which: what is drawn of it, and what it may never do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.quorum.steps import ObserverState

SUCCESSORS: Final[Mapping[ObserverState, frozenset[ObserverState]]] = {
    ObserverState.CHOOSING: frozenset(
        {ObserverState.CONNECTING, ObserverState.WAITING, ObserverState.FAILED}
    ),
    ObserverState.CONNECTING: frozenset(
        {ObserverState.OPENING, ObserverState.CHOOSING, ObserverState.FAILED}
    ),
    ObserverState.OPENING: frozenset(
        {ObserverState.FETCHING, ObserverState.CHOOSING, ObserverState.FAILED}
    ),
    # CONNECTING: an authentication that runs out is renewed by a new connection.
    ObserverState.FETCHING: frozenset(
        {
            ObserverState.FETCHING_SNAPSHOT,
            ObserverState.DESCRIBING,
            ObserverState.IDENTIFYING,
            ObserverState.CONNECTING,
            ObserverState.CHOOSING,
            ObserverState.FAILED,
        }
    ),
    ObserverState.FETCHING_SNAPSHOT: frozenset(
        {
            ObserverState.FETCHING,
            ObserverState.IDENTIFYING,
            ObserverState.CONNECTING,
            ObserverState.CHOOSING,
            ObserverState.FAILED,
        }
    ),
    ObserverState.DESCRIBING: frozenset(
        {
            ObserverState.FETCHING,
            ObserverState.CONNECTING,
            ObserverState.CHOOSING,
            ObserverState.FAILED,
        }
    ),
    ObserverState.IDENTIFYING: frozenset({ObserverState.CHOOSING, ObserverState.FAILED}),
    ObserverState.WAITING: frozenset({ObserverState.CHOOSING, ObserverState.FAILED}),
    ObserverState.FAILED: frozenset(),
}
"""The states that can follow each state. All but CHOOSING and CONNECTING can also last."""
