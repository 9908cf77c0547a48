"""The command line's grammar: options, then a command whose words are its own.

Owns the table of options, from which parsing, the help text and the manual page come. Must open
nothing and print nothing. Not argparse: an option's abbreviation is refused here, options end at
the first word that is none, and a mistake is told what was probably meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from metashell.errors import UsageError

DEMO: Final = "demo"
"""The word that chooses the bundled sample as source; options may follow it."""


TUI: Final = "tui"
"""The word in place of a command that opens the explorer; a path may follow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One option of the program."""

    long: str
    group: str
    """Heading in the help text."""
    help: tuple[str, ...]
    """Lines of the help text."""
    short: str = ""
    metavar: str = ""
    """Name of the value; empty for a switch."""
    aliases: tuple[str, ...] = ()
    repeatable: bool = False

    @property
    def title(self) -> str:
        """The option as help and errors call it, such as ``-d/--directory``."""
        return f"{self.short}/{self.long}" if self.short else self.long


SOURCE, WORK, READING, ENGINE, OTHER = (
    "Source (one of)", "What to run", "Reading", "Engine", "Other",
)  # fmt: skip

FLAGS: Final = (
    Flag(
        long="--directory", short="-d", metavar="DIR", group=SOURCE, repeatable=True,
        help=(
            "a metadata log (__cluster_metadata-0), or the log",
            "directory of a node that holds one; several, or a",
            "quoted pattern such as '/backups/*', are a fleet",
        ),
    ),
    Flag(
        long="--snapshot", short="-s", metavar="FILE", group=SOURCE,
        help=("one checkpoint or one segment (.log) by itself",),
    ),
    Flag(
        long="--config", metavar="FILE", group=SOURCE,
        help=(
            "a server.properties that names the log directory, or",
            "Java properties that name a quorum and its security;",
            "beside -d, -s or -q it adds settings only",
        ),
    ),
    Flag(
        long="--bootstrap-controllers", short="-q", metavar="HOST:PORT[,...]", group=SOURCE,
        aliases=("--bootstrap-controller",),
        help=("a live quorum: controllers' listeners, of which one", "that answers is enough"),
    ),
    Flag(
        long="--live", group=SOURCE,
        help=("the quorum, where --config names a directory too",),
    ),
    Flag(
        long="--cluster", metavar="NAME", group=SOURCE,
        help=(
            "a cluster of the configuration file, whose name alone",
            "does where no command has it",
        ),
    ),
    Flag(
        long="--command", short="-c", metavar="CMD", group=WORK, repeatable=True,
        help=("run a command line; may be given several times",),
    ),
    Flag(
        long="--file", short="-f", metavar="FILE", group=WORK,
        help=("run a script, a command a line; `-` is standard input",),
    ),
    Flag(
        long="--tui", group=WORK,
        help=("open the explorer; `metashell ... tui [PATH]` does too",),
    ),
    Flag(
        long="--keep-going", group=WORK,
        help=("go on after a command that failed",),
    ),
    Flag(
        long="--at", metavar="OFFSET|TIME", group=READING,
        help=("the state as of an offset, a time in ISO format or an", "age such as -2h"),
    ),
    Flag(
        long="--record", group=READING,
        help=("with --at inside a batch: up to the record itself",),
    ),
    Flag(
        long="--cluster-id", metavar="ID", group=READING,
        help=("refuse a source of any other cluster; of a fleet take", "its directories only"),
    ),
    Flag(
        long="--committed-only", group=READING,
        help=("stop at the newest checkpoint: what follows it may", "not be committed"),
    ),
    Flag(
        long="--schemas", metavar="DIR", group=READING, repeatable=True,
        help=("more message definitions, for a vendor's records;", "may be given several times"),
    ),
    Flag(
        long="--show-secrets", group=READING,
        help=("print credentials instead of [redacted]",),
    ),
    Flag(
        long="--strict", group=READING,
        help=("stop at the first fault in the log, and fail",),
    ),
    Flag(
        long="--timeout", metavar="SECONDS", group=READING,
        help=("how long to wait for a live quorum (default: 30)",),
    ),
    Flag(
        long="--engine", metavar="auto|local|spark", group=ENGINE,
        help=(
            "what decodes: this process or Spark (default: auto,",
            "which takes Spark for what is large or remote)",
        ),
    ),
    Flag(
        long="--spark-threshold", metavar="BYTES", group=ENGINE,
        help=("with auto: Spark for more bytes than that, such as", "512M or 2GiB"),
    ),
    Flag(
        long="--master", metavar="URL", group=ENGINE,
        help=(
            "where Spark runs: local[N] (default: local[*]),",
            "spark://, k8s:// or Spark Connect's sc://",
        ),
    ),
    Flag(
        long="--spark-conf", metavar="KEY=VALUE", group=ENGINE, repeatable=True,
        help=("a setting of Spark's own; may be given several times",),
    ),
    Flag(
        long="--no-cache", group=ENGINE,
        help=("neither use nor keep what Spark has decoded",),
    ),
    Flag(
        long="--no-config", group=OTHER,
        help=("neither the configuration file nor METASHELL_* options",),
    ),
    Flag(
        long="--completion", metavar="bash|zsh|fish", group=OTHER,
        help=("print what completes command lines in that shell",),
    ),
    Flag(long="--help", short="-h", group=OTHER, help=("print this text",)),
    Flag(long="--version", short="-V", group=OTHER, help=("print the version",)),
)  # fmt: skip
"""Every option."""

_ABOUT_ITSELF: Final = frozenset({"--help", "--version", "--completion"})
"""Options that end the command line."""

BY_NAME: Final[Mapping[str, Flag]] = {
    name: flag for flag in FLAGS for name in (flag.long, flag.short, *flag.aliases) if name
}
"""The same by every name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """A command line, read."""

    values: Mapping[str, tuple[str, ...]]
    """Values of each option given, by its long name; a switch has one empty value."""
    demo: bool
    """Whether the word `demo` chose the source."""
    words: tuple[str, ...]
    """The command and its arguments."""
    origins: Mapping[str, str] = field(default_factory=dict)
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

    ``--help``, ``--version`` and ``--completion`` end it at once, whatever follows.

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
                                 hint="give one of them")  # fmt: skip
            values["--cluster"] = (word,)
            continue
        if word in {"-", "--"} or not word.startswith("-"):
            words = tuple(rest) if word == "--" else (word, *rest)
            return Arguments(values=values, demo=demo, words=words)
        for flag, value in _flags_of(word, rest):
            if flag.long in values and flag.metavar and not flag.repeatable:
                raise UsageError(f"`{flag.title}` is given twice")
            values[flag.long] = (*values.get(flag.long, ()), value)
            if flag.long in _ABOUT_ITSELF:
                return Arguments(values=values, demo=demo, words=())
    return Arguments(values=values, demo=demo, words=())


def _flags_of(word: str, rest: Iterator[str]) -> Iterator[tuple[Flag, str]]:
    """The options of one word with their values; a value may be the next word."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        flag = _flag(name)
        if equals and not flag.metavar:
            raise UsageError(f"`{flag.long}` takes no value")
        yield flag, value if equals else _value(flag, rest)
        return
    letters = word[1:]
    while letters:
        flag = _flag("-" + letters[0])
        letters = letters[1:]
        if flag.metavar and letters:
            yield flag, letters.removeprefix("=")
            return
        yield flag, _value(flag, rest)


def _value(flag: Flag, rest: Iterator[str]) -> str:
    """The next word for an option that needs a value, else the empty string."""
    if not flag.metavar:
        return ""
    value = next(rest, None)
    if value is None:
        raise UsageError(f"`{flag.title}` needs a value: {flag.metavar}")
    return value


def _flag(name: str) -> Flag:
    """The option of that name."""
    flag = BY_NAME.get(name)
    if flag is not None:
        return flag
    from difflib import get_close_matches

    close = get_close_matches(name, BY_NAME, n=1) or [
        known for known in BY_NAME if name != "--" and known.startswith(name)
    ]
    hint = f"did you mean `{close[0]}`?" if close else "`metashell --help` lists the options"
    raise UsageError(f"unknown option `{name}`", hint=hint)
