"""What the choice of an engine goes by, from the figures.

See `metashell.sources.engine.Coefficients`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from directories import Directories
from measure import Measurement, median

FIGURES_NEEDED: Final = (
    "checksum", "spark-start", "spark-fold-1", "local-fold-2", "fleet-local",
    "spark-fleet-2000", "spark-fleet-9000",
)  # fmt: skip


def coefficients(measured: Mapping[str, Measurement], directories: Directories) -> dict[str, float]:
    """The numbers by their names.

    Args:
        measured: What `FIGURES_NEEDED` took.
        directories: What they were measured on.
    """
    folded = [cluster.size for cluster in directories.incident()]
    start = measured["spark-start"].parts
    some, many = measured["spark-fleet-2000"], measured["spark-fleet-9000"]
    _, n_some, n_many = directories.sizes.members
    # Each of the processes decodes one directory, and the last to end is waited for.
    local_per_byte = measured["local-fold-2"].median_s / max(folded)
    fleet = [cluster.size for cluster in directories.fleet()]
    fleet_s = median(measured["fleet-local"].user_s) - sum(fleet) * local_per_byte
    return {
        "memory_per_byte": measured["checksum"].peak_rss_bytes / directories.changed().size,
        "local_seconds_per_byte": local_per_byte,
        "local_seconds_per_directory": fleet_s / len(fleet),
        "spark_seconds_per_byte": measured["spark-fold-1"].median_s / sum(folded),
        "spark_seconds_per_directory": (
            (median(many.user_s) - median(some.user_s)) / (n_many - n_some)
        ),
        "spark_seconds_per_task": median(many.parts["task"]),
        "spark_start_seconds": median(start["session"]),
        "worker_start_seconds": median(start["first query"]),
    }


def as_source(values: Mapping[str, float]) -> str:
    """The numbers as they stand in src/metashell/sources/engine.py."""
    lines = [f"    {name}={_shown(name, value)}," for name, value in values.items()]
    return "\n".join(["COEFFICIENTS: Final = Coefficients(", *lines, ")"])


def _shown(name: str, value: float) -> str:
    if name.endswith("seconds_per_byte"):
        return f"{value * 1e9:.1f}e-9"
    return f"{value:.3f}" if "_per_" in name and "byte" not in name else f"{value:.1f}"
