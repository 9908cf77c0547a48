"""``health --plugin``: one line and an exit status, as monitoring plugins give them.

The exit status is 0 (ok), 1 (warning), 2 (critical) or 3 (unknown). `UNKNOWN` is also the answer to
everything that failed, which the program says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed
from metashell.commands.health.answer import check_words
from metashell.commands.health.command import UNKNOWN, HealthCommand
from metashell.commands.rows.cell_text import plain_texts
from metashell.commands.rows.fleet import Answered, answers
from metashell.errors import ExitCode
from metashell.findings.kind import SEVERITIES, Severity
from metashell.findings.known import all_kinds
from metashell.fs.escape import escape

_COLUMNS: Final = frozenset({"severity", "code", "count"})
_MOST: Final = 3
"""Kinds that are named."""


def write_line(command: HealthCommand, context: Context, parsed: Parsed) -> int:
    """Write the line; returns the status of the plugin."""
    check_words(parsed)
    return _write(context, answers(context, command, parsed, _COLUMNS))


def _write(context: Context, everybody: Iterable[Answered]) -> int:
    found: Counter[tuple[str, str]] = Counter()
    has_failed = False
    for answered in everybody:
        counts = _counts(answered.table)
        is_critical = any(severity == Severity.CRITICAL for severity, _ in counts)
        has_failed |= answered.status != ExitCode.OK and not is_critical
        found.update(counts)
    # A directory that can't be read has no answer.
    has_failed |= context.fleet is not None and bool(context.fleet.failures())
    totals = dict.fromkeys(SEVERITIES, 0)
    for (severity, _), n in found.items():
        totals[severity] += n
    status, word = 0, "OK"
    if totals[Severity.CRITICAL]:
        status, word = 2, "CRITICAL"
    elif has_failed:
        status, word = UNKNOWN, "UNKNOWN"
    elif totals[Severity.WARNING]:
        status, word = 1, "WARNING"
    order = sorted(found, key=lambda key: (SEVERITIES.index(key[0]), all_kinds()[key[1]].order))
    kinds = [f"{code} {found[severity, code]}" for severity, code in order[:_MOST]]
    kinds += [f"{len(order) - _MOST} more kinds"] if len(order) > _MOST else []
    if has_failed:
        kinds.insert(0, "not all could be read")
    data = f"critical={totals['critical']};;0;0 warning={totals['warning']};0;;0"
    text = ", ".join(kinds) or "nothing is wrong"
    context.out.write(escape(f"{word} - {text}|{data} note={totals['note']};;;0") + "\n")
    return status


def _counts(rows: pa.Table) -> Counter[tuple[str, str]]:
    """How many partitions, brokers and the like have a finding, by severity and kind."""
    columns = [plain_texts(rows.column(name)).to_pylist() for name in ("severity", "code")]
    counts: Counter[tuple[str, str]] = Counter()
    for severity, code, n in zip(*columns, rows.column("count").to_pylist(), strict=True):
        counts[severity, code] += n or 1
    return counts
