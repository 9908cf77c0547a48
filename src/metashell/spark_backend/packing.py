"""Work packed into tasks, by what it weighs: a task costs something by itself, and carries only its
own work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

T = TypeVar("T")

FILE_BYTES: Final = 64 << 10
"""What opening a file costs, as bytes that could be read meanwhile."""
_TASK_BYTES: Final = 1 << 20
"""Less is not worth a task of its own."""


def packed(work: Iterable[tuple[int, T]], task_bytes: int, n_tasks: int) -> list[list[T]]:
    """Pack work into tasks, in its order.

    Args:
        work: Each piece behind its weight in bytes.
        task_bytes: About how much a task has at most; a heavier piece is alone.
        n_tasks: Tasks that are worth having: where there is less work, they have less each.
    """
    weighed = list(work)
    enough = max(sum(weight for weight, _ in weighed) // max(n_tasks, 1), _TASK_BYTES)
    room = min(task_bytes, enough)
    tasks: list[list[T]] = []
    filled = 0
    for weight, piece in weighed:
        if not tasks or filled + weight > room:
            tasks.append([])
            filled = 0
        tasks[-1].append(piece)
        filled += weight
    return tasks
