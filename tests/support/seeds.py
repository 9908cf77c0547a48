"""How many cases, seeds and examples a run takes of a test."""

from __future__ import annotations

import os

_WRITES = any(name.startswith("METASHELL_UPDATE_") for name in os.environ)
PROFILE = os.environ.get("METASHELL_TEST_PROFILE", "thorough" if _WRITES else "default")
"""`default` is for whoever waits, `thorough` is what `.ci/run` takes, also for who writes expected
outputs anew; `exhaustive` looks long."""

CASES = 24
"""So many cases of a test are taken by default, where its marker `cases` says nothing else."""
_SHARE = 5
"""Of the examples and seeds of CI, every how manieth is taken by default."""
_TIMES = 50


def examples(n: int) -> int:
    """How many examples this run draws where CI draws n."""
    return {"default": -(-n // _SHARE), "exhaustive": n * _TIMES}.get(PROFILE, n)


def seeds(n: int) -> range:
    """The seeds that this run takes where CI takes n."""
    return range(examples(n))


def chosen(n: int, n_all: int) -> range | set[int]:
    """Which cases of a test this run takes: n by default, at equal distances, and else all."""
    if PROFILE != "default" or n >= n_all:
        return range(n_all)
    return {round(i * (n_all - 1) / max(1, n - 1)) for i in range(n)}
