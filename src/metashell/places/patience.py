"""Waits for a store that asks for fewer requests, and for no longer than anybody would.

Each request waits longer from answer to answer, and not as long as the others. All requests of a
store have one limit together: where the store has answered nothing else for so long, it is not
waited for again.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Hashable
from typing import Final, TypeVar

from metashell.errors import SourceError
from metashell.places.store_errors import SLOW_DOWN

LIMIT_S: Final = 30.0
_FIRST_S: Final = 0.1
_LONGEST_S: Final = 5.0
_NO_REASON: Final = re.compile(r"GetObject.*Failed to flush response stream", re.DOTALL)

_T = TypeVar("_T")

_refused: Final[dict[Hashable, tuple[float, float]]] = {}
"""When each store began to refuse everything, and when it did so last."""


def is_refusal(error: Exception) -> bool:
    """Whether a store asks for fewer requests by an error, or may do so."""
    return SLOW_DOWN.search(str(error)) is not None or lost_its_reason(error)


def lost_its_reason(error: Exception) -> bool:
    """Whether a store refused to send bytes, by a text longer than these.

    pyarrow reads into a buffer of the length asked for, and does not tell what did not fit.
    """
    return _NO_REASON.search(str(error)) is not None


def patiently(store: Hashable, ask: Callable[[], _T]) -> _T:
    """The answer of a store, asked for again as long as it asks for fewer requests.

    Args:
        store: The store.
        ask: Sends a request; its errors are raised, that of the last refusal too.
    """
    pause_s = _FIRST_S
    while True:
        try:
            found = ask()
        except SourceError:
            raise
        except Exception as error:
            if not is_refusal(error):
                _refused.pop(store, None)
                raise
            # Not as long as the others that were refused at the same time.
            wait_s = pause_s * random.uniform(0.5, 1.0)
            now = time.monotonic()
            since, last = _refused.get(store, (now, now))
            if now - last > LIMIT_S:
                since = now
            _refused[store] = since, now
            if now + wait_s - since > LIMIT_S:
                raise
            time.sleep(wait_s)
            pause_s = min(2 * pause_s, _LONGEST_S)
        else:
            _refused.pop(store, None)
            return found
