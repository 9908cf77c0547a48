"""The manual page metashell(1), in roff: every option, command, variable and exit status.

The build of a wheel makes it, from the tables that the program itself works by. So this imports
nothing that needs numpy, and nothing of what it writes depends on the machine or the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from metashell import commands
from metashell.cli.arguments import OPTIONS
from metashell.cli.settings import ANYWHERE, CONFIG_FILE, NO_CONFIG, variable_of
from metashell.cli.usage import EXAMPLES
from metashell.commands.framework.command import Command
from metashell.commands.framework.options import Option
from metashell.version import __version__

VARIABLES: Final = (
    (CONFIG_FILE, "The configuration file, instead of the platform's."),
    ("METASHELL_CACHE_DIR", "The directory of the cache."),
    ("METASHELL_CACHE_MAX_BYTES", "The largest size of the cache in bytes."),
    ("METASHELL_DEBUG", "If not empty, print the traceback of an internal error."),
    ("METASHELL_THREADS", "How many threads decode; by default one for each CPU."),
    ("METASHELL_KERNEL", "`off` decodes with numpy in place of the kernel in C."),
    ("COLUMNS", "Columns of the terminal, instead of asking it."),
    ("JAVA_HOME", "With Spark: the directory of a Java 17 or newer."),
    ("NO_COLOR", "If not empty, print no colours."),
    ("PAGER", "The interactive shell's pager."),
)
"""Variables besides those that stand for an option."""
EXIT_STATUS: Final = (
    ("0", "All went well."),
    ("1", "Something is missing or failed; the rest was done."),
    ("2", "The command line, a command's arguments, a script or the configuration is wrong."),
    ("3", "The source can't be read."),
    ("70", "A bug of metashell, or memory ran out: nothing is said of the cluster."),
    ("130", "Interrupted."),
)
_FILES: Final = (
    ("~/.config/metashell/config.toml", "Options, aliases, themes, keys and named clusters."),
    ("~/.cache/metashell", "The cache of images that Spark decoded."),
    ("~/.local/state/metashell/history", "Lines entered in the interactive shell."),
)
_DESCRIPTION: Final = (
    "metashell shows the metadata of an Apache Kafka cluster in KRaft mode as a file system, and "
    "answers questions about the cluster. It only reads. SOURCE is a directory, a file, a live "
    "quorum, or the name of a cluster in the configuration file. demo is a bundled sample.",
    "Options stand before the COMMAND. Without a COMMAND, a terminal gets an interactive shell. "
    "Otherwise standard input is run as a script.",
    "tui in place of a COMMAND opens the explorer, which fills the screen, at a PATH of the file "
    "system. In the explorer, F1 explains every key.",
)


def render() -> str:
    """The page."""
    parts = [
        f'.TH METASHELL 1 "" "metashell {__version__}" "User Commands"',
        ".SH NAME",
        "metashell \\- a shell for Apache Kafka's KRaft metadata",
        ".SH SYNOPSIS",
        *[*_synopses()][1:],
        ".SH DESCRIPTION",
        *[*_paragraphs(_DESCRIPTION)][1:],
        ".SH OPTIONS",
        *_options(),
        ".SH COMMANDS",
        *(line for command in _commands() for line in _command(command)),
        ".SH ENVIRONMENT",
        "The command line overrides a variable, and a variable overrides the configuration file. "
        "Put several values on a line each.",
        *_definitions((variable_of(option), _of_variable(option)) for option in _with_variable()),
        *_definitions(VARIABLES),
        ".SH FILES",
        *_definitions(_FILES),
        ".SH EXIT STATUS",
        *_definitions(EXIT_STATUS),
        ".SH EXAMPLES",
        ".nf",
        *(_text(line.strip()) for line in EXAMPLES.splitlines()),
        ".fi",
    ]
    return "\n".join(parts) + "\n"


def _commands() -> Iterator[Command]:
    for name in commands.all_names():
        command = commands.get(name)
        assert command is not None
        yield command


def _synopses() -> Iterator[str]:
    for form in (
        "SOURCE [OPTION...] [COMMAND [ARG...]]",
        "demo [OPTION...] [COMMAND [ARG...]]",
        "NAME [OPTION...] [COMMAND [ARG...]]",
        "SOURCE [OPTION...] tui [PATH]",
        "help | man COMMAND",
    ):
        yield ".br"
        yield rf"\fBmetashell\fP {_text(form)}"


def _options() -> Iterator[str]:
    group = ""
    for option in OPTIONS:
        if option.group != group:
            group = option.group
            yield f".SS {_text(group)}"
        yield from _option(option, sorted(option.flags, key=lambda name: name.startswith("--")))


def _command(command: Command) -> Iterator[str]:
    manual = command.manual
    yield f".SS {_text(command.name)}"
    yield rf"\fB{_text(manual.synopsis)}\fP"
    yield ".PP"
    yield _text(command.summary)
    yield from _paragraphs(manual.description.split("\n\n"))
    for option in manual.options:
        yield from _option(option, option.flags)
    if manual.columns:
        yield ".PP"
        yield "Columns:"
        yield from _definitions(manual.columns)
    for asked_by, columns in manual.other_columns:
        yield ".PP"
        yield _text(f"Columns with {asked_by}:")
        yield from _definitions(columns)
    if manual.examples:
        yield ".PP"
        yield "Examples:"
        for line, meaning in manual.examples:
            yield ".PP"
            yield ".RS 4"
            yield ".nf"
            yield _text(line)
            yield ".fi"
            yield ".RE"
            yield ".RS 8"
            yield _text(meaning)
            yield ".RE"


def _option(option: Option, names: Iterable[str]) -> Iterator[str]:
    bold = ", ".join(rf"\fB{_text(name)}\fP" for name in names)
    yield ".TP"
    yield rf"{bold} \fI{_text(option.metavar)}\fP" if option.metavar else bold
    yield _text(option.meaning)


def _with_variable() -> Iterator[Option]:
    return (option for option in OPTIONS if option.long in ANYWHERE or option.long == NO_CONFIG)


def _of_variable(option: Option) -> str:
    return f"{option.long}." if option.metavar else f"{option.long}, if it is 1."


def _definitions(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in pairs:
        yield ".TP"
        yield rf"\fB{_text(term)}\fP"
        yield _text(meaning)


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield ".PP"
        yield _text(" ".join(text.split()))


def _text(text: str) -> str:
    """Text as roff takes it literally, in one line, in ASCII."""
    text = text.replace("\\", r"\e")
    for plain, roff in (
        ("-", r"\-"),
        ("'", r"\(aq"),
        ("`", r"\(ga"),
        ("^", r"\(ha"),
        ("~", r"\(ti"),
    ):
        text = text.replace(plain, roff)
    text = text.replace('"', r"\(dq")
    text = re.sub(r"[^\x20-\x7e]", lambda found: rf"\[u{ord(found[0]):04X}]", text)
    # A dot or a quote at the beginning would be a request.
    return rf"\&{text}" if text.startswith(".") else text
