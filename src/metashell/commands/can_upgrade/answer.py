"""The answer of ``can-upgrade``: the verdict on a level, and the nodes that block it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.answers.releases import parse_feature, parse_version
from metashell.answers.upgrade import (
    UpgradeTarget,
    Verdict,
    blockers_table,
    judge,
    refuse_unknown_level,
)
from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed, refuse_more
from metashell.commands.nodes import ghost_after
from metashell.commands.quorum.report import voters_now
from metashell.commands.rows.fleet import answers
from metashell.commands.rows.output import Shape, write_rows
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.wrapped import wrapped
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape
from metashell.image.features import METADATA_VERSION

if TYPE_CHECKING:
    from metashell.commands.can_upgrade.command import CanUpgradeCommand


def write_verdict(
    command: CanUpgradeCommand, context: Context, parsed: Parsed, shape: Shape
) -> int:
    """Tell people yes or no, and then write the rows; returns the exit status."""
    status = ExitCode.OK
    for answered in answers(context, command, parsed, shape.looked_at()):
        prefix = "" if answered.cluster is None else f"{answered.cluster}: "
        for line in answered.verdict:
            context.out.write(_wrapped(context, escape(f"{prefix}{line}")) + "\n")
            prefix = "  "
        if answered.status:
            status = ExitCode.FAILED
            write_rows(context, answered.table, shape)
    return status


def answer(command: CanUpgradeCommand, query: RowsQuery) -> None:
    """Add the nodes that block it."""
    verdict = _judge(command, query)
    query.status = ExitCode.OK if verdict.possible else ExitCode.FAILED
    query.verdict = tuple(verdict.lines)
    query.add(blockers_table(verdict))


def _judge(command: CanUpgradeCommand, query: RowsQuery) -> Verdict:
    parsed = query.parsed
    target = _target(command, parsed)
    refuse_unknown_level(query.image, target)
    verdict = judge(query.image, target, voters_now(query), ghost_after(parsed), query.now_ms)
    for note in verdict.notes:
        query.warn(note)
    return verdict


def _target(command: CanUpgradeCommand, parsed: Parsed) -> UpgradeTarget:
    """The upgrade that the words ask about: a metadata version or a feature's level.

    Raises:
        UsageError: It is no version, or none or two are given.
    """
    feature = parsed.values.get("--feature")
    refuse_more(command, parsed.arguments, 0 if feature is not None else 1)
    if feature is not None:
        name, level = parse_feature(feature)
        return UpgradeTarget(name, level, feature.partition("=")[2])
    if not parsed.arguments:
        raise UsageError("no version given", hint=f"usage: {command.manual.synopsis}")
    version = parsed.arguments[0]
    return UpgradeTarget(METADATA_VERSION, parse_version(version), version)


def _wrapped(context: Context, line: str) -> str:
    """A line as wide as the terminal; a command stays whole, so that it can be copied."""
    text = line.lstrip()
    if not context.out.is_terminal or text.startswith("kafka-"):
        return line

    indent = " " * (len(line) - len(text))
    width = max(context.out.width - len(indent), 20)
    return "\n".join(indent + part for part in wrapped(text, width))
