"""The last line of ``check``: what was looked at, and how much was found."""

from __future__ import annotations

from collections.abc import Iterable


def summary_line(
    n_files: int, n_batches: int, n_records: int, found: Iterable[tuple[int, object]]
) -> str:
    """Such as ``3 files, 12 batches, 40 records: 1 error, 2 warnings``.

    Args:
        n_files: Files that were looked at.
        n_batches: Their sound batches.
        n_records: The records of these.
        found: (how many findings, of which severity).
    """
    told = ", ".join(counted(n, severity) for n, severity in found if n)
    return (
        f"{counted(n_files, 'file')}, {counted(n_batches, 'batch', 'batches')},"
        f" {counted(n_records, 'record')}: {told or 'no damage found'}"
    )


def counted(n: int, one: object, many: str | None = None) -> str:
    """A number with what it counts."""
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"
