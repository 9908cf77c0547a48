"""How far each node of a quorum was behind, over the last minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

SAMPLES: Final = 150
"""Samples kept for each node; a new one replaces the oldest."""


class LagHistory:
    """A bounded row of samples for each node.

    Args:
        n_samples: How many are kept.
    """

    def __init__(self, n_samples: int = SAMPLES) -> None:
        self.n_samples = n_samples
        self._lags: dict[str, deque[int | None]] = {}

    def add(self, lags: Mapping[str, int | None]) -> None:
        """Take a sample: offsets behind the leader by node, None where that is not known.

        A node that has not been heard of in all samples that are kept is forgotten.
        """
        for node in lags:
            if node not in self._lags:
                self._lags[node] = deque(maxlen=self.n_samples)
        for node, kept in list(self._lags.items()):
            kept.append(lags.get(node))
            if not any(lag is not None for lag in kept) and node not in lags:
                del self._lags[node]

    def of(self, node: str) -> Sequence[int | None]:
        """Samples of a node, the oldest first."""
        return tuple(self._lags.get(node, ()))

    @property
    def largest(self) -> int:
        """The largest of all: what the lines of all nodes are drawn by."""
        known = (lag for kept in self._lags.values() for lag in kept if lag is not None)
        return max(known, default=0)

    def __len__(self) -> int:
        return len(self._lags)
