"""The texts of ``--help`` and ``--version``."""

from __future__ import annotations

from typing import Final

from metashell.cli.arguments import OPTIONS
from metashell.commands.framework.option import Option

_COLUMN: Final = 26
"""Where an option's description begins."""

_INTRO: Final = """\
A shell over the metadata of an Apache Kafka cluster (KRaft): a metadata log
becomes a file system to look around in.
"""

_USAGE: Final = """\
  metashell SOURCE [OPTION...] [COMMAND [ARG...]]
  metashell demo [OPTION...] [COMMAND [ARG...]]  the same on a bundled sample
  metashell NAME [OPTION...] [COMMAND [ARG...]]  a cluster that you gave a name
  metashell SOURCE [OPTION...] tui [PATH]        the explorer: the whole screen
  metashell help | man COMMAND                   about commands; needs no source

  Without a COMMAND, a terminal gets an interactive shell; otherwise standard
  input is run as a script. Options stand before the COMMAND.
"""

EXAMPLES: Final = """\
  metashell demo                      look around in a small cluster
  metashell demo tui                  the same with the whole screen
  metashell -d /var/lib/kafka/data    a shell over a node's metadata
  metashell -d DIR ls /image/topics/byName
  metashell -d DIR cat '/image/topics/byName/orders/*'
  metashell -d DIR find /image -name 'orders*' -type d
  metashell -s 00000000000000003263-0000000001.checkpoint tree /image/cluster
  metashell -q controller-1:9093 --config client.properties find /image/topics
  metashell --config server.properties -c 'cd /image/acls' -c 'tree byId'
"""

_EXIT_CODES: Final = """\
  0  ok                                  3  the source can't be read
  1  something was not there or failed   130  interrupted
  2  wrong usage
"""


def help_text(*, bold: bool = False) -> str:
    """The program's help; `bold` marks headings for a terminal."""
    parts = [_INTRO, _section("Usage", _USAGE, bold)]
    groups: dict[str, list[str]] = {}
    for option in OPTIONS:
        groups.setdefault(option.group, []).extend(_option_lines(option))
    parts += [_section(group, "\n".join(lines) + "\n", bold) for group, lines in groups.items()]
    parts += [_section("Examples", EXAMPLES, bold), _section("Exit status", _EXIT_CODES, bold)]
    return "\n".join(parts)


def version_text() -> str:
    """The program's name and version."""
    from metashell.version import __version__

    return f"metashell {__version__}\n"


def _section(title: str, body: str, bold: bool) -> str:
    """A heading and what stands under it."""
    return f"\x1b[1m{title}:\x1b[0m\n{body}" if bold else f"{title}:\n{body}"


def _option_lines(option: Option) -> list[str]:
    """One option's lines; a long name takes a line of its own."""
    short = f"{option.short}," if option.short else "   "
    name = f"  {short} {option.long} {option.metavar or ''}".rstrip()
    lines = option.help.split("\n")
    first = [name] if len(name) + 2 > _COLUMN else [name.ljust(_COLUMN) + lines.pop(0)]
    return first + [" " * _COLUMN + line for line in lines]
