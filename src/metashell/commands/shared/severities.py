"""The option ``--severity LEVEL`` of commands that print findings."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.options import Parsed
from metashell.errors import UsageError
from metashell.findings.kind import SEVERITIES


def severities_of(parsed: Parsed) -> Sequence[str]:
    """The severities that are asked for, the worst first; all without the option.

    Raises:
        UsageError: There is none of that name.
    """
    least = parsed.values.get("--severity", SEVERITIES[-1])
    if least not in SEVERITIES:
        raise UsageError(f"--severity {least}: not one of {', '.join(SEVERITIES)}")
    return SEVERITIES[: SEVERITIES.index(least) + 1]
