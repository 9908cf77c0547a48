"""Names in order, in one go and in pieces."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from metashell.fs.nodes import topics
from metashell.kernel import threads


@pytest.mark.parametrize("n", [0, 1, 8, 9, 100])
def test_pieces_are_in_the_same_order(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """A thread that gives way finds the order that any other finds."""
    monkeypatch.setattr(topics, "_RUN", 8)
    names = [f"{random.Random(i).choice('aé😀_')}{i}" for i in range(n)]
    random.Random(n).shuffle(names)

    def giving_way() -> list[str]:
        threads.leave_a_cpu()
        return topics.in_order(names)

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(giving_way).result()
    assert found == topics.in_order(names) == sorted(names)
