"""The texts of ``--help``, ``--help all`` and ``--version``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from metashell.cli.arguments import ALL, OPTIONS, VERBOSE, Arguments
from metashell.cli.output import StreamOutput
from metashell.commands.framework.options import Option
from metashell.commands.shared.cheat_sheet import LINES
from metashell.commands.shared.colour import wants_colour
from metashell.errors import ExitCode
from metashell.fs.escape import Coloured
from metashell.version import __version__

_COLUMN: Final = 26
"""Where an option's description begins."""

_INTRO: Final = """\
A shell for the metadata of an Apache Kafka cluster (KRaft). It only reads.
"""

_USAGE: Final = "metashell SOURCE [OPTION...] [COMMAND [ARG...] | tui [PATH]]\n"

_NO_COMMAND: Final = "Without a COMMAND it opens the shell; `tui` opens the explorer.\n"

_SOURCES: Final = """\
  -d DIR         a node's metadata log or log directory; several are a fleet
  -s FILE        one checkpoint or one segment file
  -q HOST:PORT   a live quorum; --config FILE holds its security settings
  NAME           a cluster that the configuration file names
  demo           the bundled sample cluster
"""

_REST: Final = "`metashell help` (commands), `help cheat`, `man COMMAND`, `--help all`\n"

_FULL_USAGE: Final = """\
  metashell SOURCE [OPTION...] [COMMAND [ARG...]]
  metashell demo [OPTION...] [COMMAND [ARG...]]  open the bundled sample
  metashell NAME [OPTION...] [COMMAND [ARG...]]  open a named cluster
  metashell SOURCE [OPTION...] tui [PATH]        open the explorer
  metashell help [COMMAND|cheat]                 list the commands; no SOURCE

  Options stand before the COMMAND. Without a COMMAND, a terminal gets the
  interactive shell. Otherwise standard input is run as a script.
"""

EXAMPLES: Final = """\
  metashell demo                      open the shell on the bundled sample
  metashell demo tui                  open the explorer
  metashell -d /var/lib/kafka/data    open the shell on a node's metadata
  metashell -d DIR ls /image/topics/byName
  metashell -d DIR cat '/image/topics/byName/orders/*'
  metashell -d DIR find /image -name 'orders*' -type d
  metashell -s 00000000000000003263-0000000001.checkpoint tree /image/cluster
  metashell -q controller-1:9093 --config client.properties find /image/topics
  metashell --config server.properties -c 'cd /image/acls' -c 'tree byId'
"""

_EXIT_CODES: Final = """\
  0  ok                                  3    the source can't be read
  1  something is missing or failed      70   metashell has a bug, or no memory
  2  wrong usage                         130  interrupted
"""


def tell_about_itself(arguments: Arguments, out: StreamOutput) -> int:
    """Write a completion script, the help or the version; returns the exit status."""
    shell = arguments.value("--completion")
    if shell is not None:
        from metashell.cli.completion import script

        out.write(script(shell))
        return ExitCode.OK
    if arguments.has("--help") or not arguments.has("--version"):
        text = full_help_text if arguments.words[:1] == (ALL,) else help_text
        out.write(Coloured(text(bold=wants_colour(out.is_terminal))))
    else:
        out.write(version_text(verbose=arguments.words[:1] == (VERBOSE,)))
    return ExitCode.OK


def help_text(*, bold: bool = False) -> str:
    """The help on one screen of 24 lines; `bold` marks headings for a terminal."""
    parts = [
        _section("Usage", _USAGE, bold, " ") + _INTRO + _NO_COMMAND,
        _section("Source", _SOURCES, bold),
        _section("Everyday commands", "".join(_everyday_lines()), bold),
    ]
    return "\n".join(parts) + _section("More", _REST, bold, " ")


def full_help_text(*, bold: bool = False) -> str:
    """Every option; `bold` marks headings for a terminal."""
    parts = [_INTRO, _section("Usage", _FULL_USAGE, bold)]
    groups: dict[str, list[str]] = {}
    for option in OPTIONS:
        groups.setdefault(option.group, []).extend(_option_lines(option))
    parts += [_section(group, "\n".join(lines) + "\n", bold) for group, lines in groups.items()]
    parts += [_section("Examples", EXAMPLES, bold), _section("Exit status", _EXIT_CODES, bold)]
    return "\n".join(parts)


def version_text(*, verbose: bool = False) -> str:
    """The program's name and version; `verbose` adds what else decides how it runs."""
    text = f"metashell {__version__}\n"
    if verbose:
        import platform
        import sysconfig

        from metashell.kernel.library import description

        text += f"kernel: {description()}\n"
        text += f"python: {platform.python_version()}, {sysconfig.get_platform()}\n"
    return text


def _section(title: str, body: str, bold: bool, between: str = "\n") -> str:
    """A heading and what stands under it, or beside it."""
    return f"\x1b[1m{title}:\x1b[0m{between}{body}" if bold else f"{title}:{between}{body}"


def _everyday_lines() -> Iterator[str]:
    """The everyday lines of the cheat sheet, each behind its group where that begins."""
    before = ""
    for group, line, meaning, is_everyday in LINES:
        if is_everyday:
            yield f"  {'' if group == before else group:<15}{line:<36}{meaning}\n"
            before = group


def _option_lines(option: Option) -> list[str]:
    """One option's lines; a long name takes a line of its own."""
    short = f"{option.short}," if option.short else "   "
    name = f"  {short} {option.long} {option.metavar or ''}".rstrip()
    lines = option.help.split("\n")
    first = [name] if len(name) + 2 > _COLUMN else [name.ljust(_COLUMN) + lines.pop(0)]
    return first + [" " * _COLUMN + line for line in lines]
