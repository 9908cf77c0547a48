"""The verdict of ``health`` for those who show it among other things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_words
from metashell.commands.health.paragraphs import HealthVerdict
from metashell.commands.shared.captured import CapturedAnswer


def verdict_of(context: Context, words: Sequence[str] = ()) -> HealthVerdict | None:
    """The verdict on the cluster of a context; None where there is none.

    Args:
        context: Where it is asked.
        words: Words behind ``health``, such as ``topic:orders``.
    """
    found = [one for one in _asked(context, words).verdicts if isinstance(one, HealthVerdict)]
    return found[0] if found else None


def findings_of(context: Context, columns: Sequence[str]) -> pa.Table | None:
    """All findings about the cluster of a context, a row a subject; None where there are none.

    Args:
        context: Where it is asked.
        columns: Columns of ``health``.
    """
    tables = _asked(context, ["-o", "table", "--columns", ",".join(columns)]).tables
    return tables[0] if tables else None


def _asked(context: Context, words: Sequence[str]) -> CapturedAnswer:
    out = CapturedAnswer(context.out.is_terminal, context.out.width)
    run_words(replace(context, out=out, n_rows=None), ["health", *words])
    return out
