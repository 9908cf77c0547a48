"""The command line's grammar: options, then a command whose words are its own.

Owns the table of options, from which parsing, the help text and the manual page come. Must open
nothing and print nothing. Not argparse: an option's abbreviation is refused here, options end at
the first word that is none, and a mistake is told what was probably meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from metashell.commands.framework.options import Option
from metashell.errors import UsageError

DEMO: Final = "demo"
"""The word that chooses the bundled sample as source; options may follow it."""


TUI: Final = "tui"
"""The word in place of a command that opens the explorer; a path may follow it."""

ALL: Final = "all"
"""The word behind ``--help`` that asks for every option."""

VERBOSE: Final = "-v"
"""The word behind ``--version`` that asks for what else decides how the program runs."""

SOURCE, WORK, READING, ENGINE, OTHER = (
    "Source (one of)", "What to run", "Reading", "Engine", "Other",
)  # fmt: skip

OPTIONS: Final = (
    Option(
        ("--directory", "-d"), metavar="DIR", group=SOURCE, repeatable=True, path="directory",
        help=(
            "read a metadata log (__cluster_metadata-0) or a node's\n"
            "log directories; those of several nodes, or a quoted\n"
            "pattern such as '/backups/*', open a fleet. DIR may be\n"
            "a tar or zip archive, or - for one on standard input"
        ),
    ),
    Option(
        ("--snapshot", "-s"), metavar="FILE", group=SOURCE, path="file",
        help="read one checkpoint or one segment (.log) alone",
    ),
    Option(
        ("--config",), metavar="FILE", group=SOURCE, path="file",
        help=(
            "read the Java properties of a node or a client. They\n"
            "name log directories, or a quorum and its security.\n"
            "Beside -d, -s or -q, FILE only adds settings"
        ),
    ),
    Option(
        ("--bootstrap-controllers", "-q", "--bootstrap-controller"),
        metavar="HOST:PORT[,...]", group=SOURCE,
        help="connect to a live quorum through any controller",
    ),
    Option(
        ("--live",), group=SOURCE,
        help=(
            "connect to the quorum even if --config also names a\n"
            "directory"
        ),
    ),
    Option(
        ("--cluster",), metavar="NAME", group=SOURCE,
        help="open a named cluster (NAME alone works too)",
    ),
    Option(
        ("--command", "-c"), metavar="CMD", group=WORK, repeatable=True,
        help="run a command line; repeat for several",
    ),
    Option(
        ("--file", "-f"), metavar="FILE", group=WORK, path="file",
        help="run a script with one command per line; - is stdin",
    ),
    Option(
        ("--tui",), group=WORK,
        help="open the explorer, like `metashell ... tui [PATH]`",
    ),
    Option(
        ("--keep-going",), group=WORK,
        help="continue after a command fails",
    ),
    Option(
        ("--at",), metavar="POINT", group=READING, choices=("-10m", "-1h", "-1d"),
        help=(
            "show the state at an offset, a time or an age: 4111,\n"
            "12:25, 2026-09-21T14:14Z, -10m before the last record"
        ),
    ),
    Option(
        ("--record",), group=READING,
        help="with --at inside a batch: stop at that very record",
    ),
    Option(
        ("--cluster-id",), metavar="ID", group=READING,
        help=(
            "refuse any other cluster; in a fleet, skip the\n"
            "directories of other clusters"
        ),
    ),
    Option(
        ("--join",), group=READING,
        help=(
            "take directories with one cluster id for one cluster,\n"
            "of whatever node they are"
        ),
    ),
    Option(
        ("--committed-only",), group=READING,
        help=(
            "stop at the newest checkpoint: later records may be\n"
            "uncommitted"
        ),
    ),
    Option(
        ("--schemas",), metavar="DIR", group=READING, repeatable=True, path="directory",
        help=(
            "add message definitions for a vendor's records;\n"
            "repeat for several"
        ),
    ),
    Option(
        ("--show-secrets",), group=READING,
        help="print credentials instead of [redacted]",
    ),
    Option(
        ("--strict",), group=READING,
        help="stop and fail at the first fault in the log",
    ),
    Option(
        ("--timeout",), metavar="SECONDS", group=READING,
        help="wait that long for a live quorum (default: 30)",
    ),
    Option(
        ("--engine",), metavar="auto|local|spark", group=ENGINE, choices=("auto", "local", "spark"),
        help=(
            "decode in this process or with Spark (default: auto,\n"
            "Spark for a large directory or a master elsewhere)"
        ),
    ),
    Option(
        ("--spark-threshold",), metavar="BYTES", group=ENGINE,
        help="with auto: use Spark above that size (default: 1G)",
    ),
    Option(
        ("--master",),
        metavar="URL", group=ENGINE, choices=("local[*]", "spark://", "k8s://", "sc://"),
        help=(
            "run Spark there: local[N] (default: local[*]),\n"
            "spark://, k8s:// or Spark Connect's sc://"
        ),
    ),
    Option(
        ("--spark-conf",), metavar="KEY=VALUE", group=ENGINE, repeatable=True,
        help="set a property of Spark; repeat for several",
    ),
    Option(
        ("--no-cache",), group=ENGINE,
        help="ignore the cache of images that Spark decoded",
    ),
    Option(
        ("--color",), metavar="auto|always|never", group=OTHER,
        choices=("auto", "always", "never"),
        help="colour the output (default: auto, on a terminal)",
    ),
    Option(
        ("--no-config",), group=OTHER,
        help="ignore the configuration file and METASHELL_* options",
    ),
    Option(
        ("--completion",), metavar="bash|zsh|fish", group=OTHER, choices=("bash", "zsh", "fish"),
        help="print the completion script for that shell",
    ),
    Option(
        ("--help", "-h"), group=OTHER,
        help="print help on one screen; `--help all` every option",
    ),
    Option(
        ("--version", "-V"), group=OTHER,
        help="print the version; `--version -v` also the kernel",
    ),
)  # fmt: skip
"""Every option."""

_ABOUT_ITSELF: Final = frozenset({"--help", "--version", "--completion"})
"""Options that end the command line."""

BY_NAME: Final[Mapping[str, Option]] = {name: option for option in OPTIONS for name in option.flags}
"""The options by each of their names."""


class Arguments(NamedTuple):
    """A command line, read."""

    values: Mapping[str, tuple[str, ...]]
    """Values of each option given, by its long name; a switch has one empty value."""
    demo: bool
    """Whether the word `demo` chose the source."""
    words: tuple[str, ...]
    """The command and its arguments."""
    origins: Mapping[str, str] = MappingProxyType({})
    """Where an option that the command line lacks came from, by its long name."""

    def has(self, long: str) -> bool:
        """Whether that option was given."""
        return long in self.values

    def insists(self, long: str) -> bool:
        """Whether the command line itself has that option, which then can't be passed over."""
        return long in self.values and long not in self.origins

    def value(self, long: str) -> str | None:
        """The value of an option that can be given once, or None."""
        values = self.values.get(long)
        return values[0] if values else None


def parse_arguments(
    argv: Sequence[str], is_cluster: Callable[[str], bool] = lambda _: False
) -> Arguments:
    """Read the words of a command line.

    ``--help``, ``--version`` and ``--completion`` end it at once; what follows counts as words.

    Args:
        argv: The words.
        is_cluster: Tells whether a word where a command's name could stand chooses a cluster. Not
            asked behind ``--no-config``.

    Raises:
        UsageError: An option is unknown, lacks its value or is given twice.
    """
    values: dict[str, tuple[str, ...]] = {}
    rest = iter(argv)
    demo = False
    for word in rest:
        if word == DEMO and not demo:
            demo = True
            continue
        if not word.startswith("-") and "--no-config" not in values and is_cluster(word):
            if "--cluster" in values:
                raise UsageError(f"the clusters `{values['--cluster'][0]}` and `{word}` at once",
                                 hint="give only one of them")  # fmt: skip
            values["--cluster"] = (word,)
            continue
        if word in {"-", "--"} or not word.startswith("-"):
            words = tuple(rest) if word == "--" else (word, *rest)
            return Arguments(values=values, demo=demo, words=words)
        for option, value in _options_of(word, rest):
            if option.long in values and option.metavar and not option.repeatable:
                raise UsageError(f"`{option.title}` is given twice")
            values[option.long] = (*values.get(option.long, ()), value)
            if option.long in _ABOUT_ITSELF:
                return Arguments(values=values, demo=demo, words=tuple(rest))
    return Arguments(values=values, demo=demo, words=())


def _options_of(word: str, rest: Iterator[str]) -> Iterator[tuple[Option, str]]:
    """The options of one word with their values; a value may be the next word."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        option = _known(name)
        if equals and not option.metavar:
            raise UsageError(f"`{option.long}` takes no value")
        yield option, value if equals else _value(option, rest)
        return
    letters = word[1:]
    while letters:
        option = _known("-" + letters[0])
        letters = letters[1:]
        if option.metavar and letters:
            yield option, letters.removeprefix("=")
            return
        yield option, _value(option, rest)


def _value(option: Option, rest: Iterator[str]) -> str:
    """The next word for an option that needs a value, else the empty string."""
    if not option.metavar:
        return ""
    value = next(rest, None)
    if value is None:
        raise UsageError(f"`{option.title}` needs a value: {option.metavar}")
    return value


def _known(name: str) -> Option:
    """The option of that name."""
    option = BY_NAME.get(name)
    if option is not None:
        return option
    from metashell.commands.framework.near import near_option
    from metashell.commands.framework.other_tools import hint_of_option

    near = near_option(name, BY_NAME) or next(
        (known for known in BY_NAME if name != "--" and known.startswith(name)), None
    )
    hint = hint_of_option(name, None)
    if near is not None:
        hint = f"did you mean `{near}`?"
    raise UsageError(
        f"unknown option `{name}`", hint=hint or "`metashell --help all` lists the options"
    )
