"""The words of ``find``: tests, actions and operators."""

from __future__ import annotations

from itertools import chain
from typing import Final

from metashell.commands.framework.cluster import inside
from metashell.commands.framework.command import Completion, Context
from metashell.commands.framework.completion import complete_names
from metashell.commands.framework.options import Option
from metashell.commands.partitions.columns import STATES
from metashell.commands.shared.topic_arguments import complete_brokers
from metashell.errors import PathError
from metashell.fs.node import Directory
from metashell.fs.path import resolve


def _complete_keys(context: Context, word: str) -> list[Completion]:
    """Propose keys of configs."""
    try:
        node = resolve((inside(context) or context).root, "/image/configs").node
    except PathError:
        return []
    grid = node.grid() if isinstance(node, Directory) else None
    keys = () if grid is None else sorted(set(chain.from_iterable(grid.shapes)))
    return complete_names(word, keys)


OPTIONS: Final = (
    Option(("-name",), "The last component matches the pattern.", metavar="PATTERN"),
    Option(("-iname",), "As -name, ignoring case.", metavar="PATTERN"),
    Option(
        ("-path", "-wholename"),
        "The whole path as printed matches the pattern.",
        metavar="PATTERN",
    ),
    Option(("-ipath",), "As -path, ignoring case.", metavar="PATTERN"),
    Option(
        ("-regex",),
        "The whole path matches the regular expression (Python's).",
        metavar="REGEX",
    ),
    Option(("-iregex",), "As -regex, ignoring case.", metavar="REGEX"),
    Option(("-type",), "Directories (d) or leaves (f).", metavar="KIND", choices=("d", "f")),
    Option(
        ("-newer-than",),
        "Last changed at that time or later: 10m, 12:25 or 2026-09-21T14:14.",
        metavar="AGE|TIME",
    ),
    Option(
        ("-changed-since",),
        "Last changed at that POINT or later: see `man at`.",
        metavar="POINT",
    ),
    Option(("-changed-before",), "Last changed before that POINT.", metavar="POINT"),
    *(Option((state.flags[0][1:],), state.help) for state in STATES),
    Option(
        ("-leader",),
        "A partition led by that broker.",
        metavar="ID",
        complete=complete_brokers,
    ),
    Option(
        ("-replica",),
        "A partition with a replica on that broker.",
        metavar="ID",
        complete=complete_brokers,
    ),
    Option(
        ("-isr",),
        "A partition with that broker in sync.",
        metavar="ID",
        complete=complete_brokers,
    ),
    Option(("-fenced",), "A broker that is fenced."),
    Option(("-controlled-shutdown",), "A broker in controlled shutdown."),
    Option(
        ("-config",),
        "A config with this key, and this value if given, or its resource. Both may be patterns.",
        metavar="KEY[=VALUE]",
        complete=_complete_keys,
    ),
    Option(("-maxdepth",), "Go down at most N levels; 0 is PATH itself.", metavar="N"),
    Option(("-mindepth",), "Leave out paths fewer than N levels down.", metavar="N"),
    Option(("-true",), "Always passes."),
    Option(("-false",), "Never passes."),
    Option(("-print",), "Print the path and a newline."),
    Option(("-print0",), "Print the path and a zero byte."),
    Option(("-printf",), "Print each path in this FORMAT.", metavar="FORMAT"),
    Option(("-count",), "Print the number of paths that reached this action."),
    Option(("-exec",), "Run a command, up to ; or {} +.", metavar="COMMAND"),
    Option(("-prune",), "Do not go below this directory."),
    Option(("-quit",), "Stop at once."),
    Option(("-not", "!"), "Negate the next test."),
    Option(("-a", "-and"), "Both tests pass."),
    Option(("-o", "-or"), "Either test passes; -a binds more tightly."),
    Option(
        ("--encode",),
        "Print names so that each path can be typed: a slash in a name "
        "as %2F, likewise spaces, quotes and wildcards.",
    ),
)
