"""What the choice of an engine goes by, from the figures: see `metashell.engine.Coefficients`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from directories import Directories
from measure import Measurement, median

FIGURES_NEEDED: Final = ("checksum", "spark-start", "spark-fold-1", "local-fold-2")


def coefficients(measured: Mapping[str, Measurement], directories: Directories) -> dict[str, float]:
    """The numbers by their names.

    Args:
        measured: What `FIGURES_NEEDED` took.
        directories: What they were measured on.
    """
    folded = [cluster.size for cluster in directories.incident()]
    start = measured["spark-start"].parts
    return {
        "memory_per_byte": measured["checksum"].peak_rss_bytes / directories.changed().size,
        # Each of the processes decodes one directory, and the last to end is waited for.
        "local_seconds_per_byte": measured["local-fold-2"].median_s / max(folded),
        "spark_seconds_per_byte": measured["spark-fold-1"].median_s / sum(folded),
        "spark_start_seconds": median(start["session"]),
        "worker_start_seconds": median(start["first query"]),
    }


def as_source(values: Mapping[str, float]) -> str:
    """The numbers as they stand in src/metashell/engine.py."""
    lines = [f"    {name}={_shown(name, value)}," for name, value in values.items()]
    return "\n".join(["COEFFICIENTS: Final = Coefficients(", *lines, ")"])


def _shown(name: str, value: float) -> str:
    return f"{value * 1e9:.1f}e-9" if name.endswith("seconds_per_byte") else f"{value:.1f}"
