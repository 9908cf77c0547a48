"""Completion of command lines in bash, zsh and fish.

The scripts in ``completions/`` hand the line up to the cursor to ``metashell --complete``, and what
it prints back to their shell: a word and a remark a line, with a tab between. So all that is
proposed is decided here. A mistake, a broken configuration or a slow source costs the proposals;
nothing is ever printed on standard error, no quorum or store is asked, and it ends after two
seconds.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.cli.arguments import BY_NAME, DEMO, OPTIONS, TUI, Arguments, parse_arguments
from metashell.cli.defaults import Defaults
from metashell.cli.output import Diagnostics, StreamOutput
from metashell.commands import is_command
from metashell.commands.framework.command import Completion, Context, Output
from metashell.commands.framework.command_line import AtCursor, Word, complete_at, quote, split
from metashell.commands.framework.completion import complete_commands, complete_words
from metashell.commands.framework.options import Option
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import to_bytes
from metashell.fs.node import FixedDirectory
from metashell.places.uri import is_uri

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

SHELLS: Final = BY_NAME["--completion"].choices
_LIMIT_S: Final = 2.0
_PATHS: Final = {"file": ":files", "directory": ":directories"}
"""The proposal that stands for the system's paths, by kind. The shell itself lists them."""
_LOCAL: Final = {"--engine": ("local",)}


@dataclass(frozen=True, slots=True)
class WordProposal:
    """A word to propose. One with a colon in front tells the shell to propose its own files."""

    word: str
    help: str = ""


def script(shell: str) -> str:
    """The script that makes a shell complete metashell's command lines.

    Raises:
        UsageError: It is none of the shells.
    """
    if shell not in SHELLS:
        raise UsageError(
            f"`--completion`: `{shell}` must be bash, zsh or fish",
            hint='such as `eval "$(metashell --completion bash)"`',
        )
    package = os.path.dirname(os.path.dirname(__file__))
    with open(os.path.join(package, "completions", f"metashell.{shell}"), encoding="utf-8") as file:
        return file.read()


def answer(args: Sequence[str], environ: Mapping[str, str]) -> int:
    """Print what the word at the end of a line may be.

    Args:
        args: The shell, the line up to the cursor, and for bash the characters at which it breaks
            words.
        environ: The environment.

    Returns:
        0; 1 where there was nothing to be asked.
    """
    if len(args) < 2 or args[0] not in SHELLS:
        return 1
    # A file that hangs must not hang the shell: what is not known by then is not proposed.
    watchdog = threading.Timer(_LIMIT_S, os._exit, (0,))
    watchdog.daemon = True
    watchdog.start()
    text = "".join(f"{p.word}\t{p.help}\n" for p in _of_line(args, environ))
    sys.stdout.flush()
    sys.stdout.buffer.write(to_bytes(text))
    sys.stdout.buffer.flush()
    watchdog.cancel()
    return 0


def _of_line(args: Sequence[str], environ: Mapping[str, str]) -> list[WordProposal]:
    """The proposals as the shell takes them; none where anything goes wrong."""
    try:
        at = complete_at(args[1], len(args[1]))
        remarks = args[0] != "bash"  # which has no room for them
        found = [p for p in proposals(at, environ, remarks=remarks) if p.word.isprintable()]
        if args[0] == "bash":
            found = list(_for_bash(found, at, args[2] if len(args) > 2 else ""))
    except Exception:
        if environ.get("METASHELL_DEBUG"):
            raise
        return []
    return [replace(p, help=p.help if p.help.isprintable() else "") for p in found]


def proposals(
    at: AtCursor, environ: Mapping[str, str], *, remarks: bool = True
) -> list[WordProposal]:
    """The proposals for the word at the cursor; the program's name is the first word.

    Args:
        at: The line.
        environ: The environment.
        remarks: Whether to import commands for the proposals' help texts.
    """
    typed = [_expanded(word) for word in at.before[1:]]
    word = str(at.word)
    defaults = Defaults(environ)
    place = _Place.find(typed, defaults)
    if place.option is not None:
        return _of_value(place.option, word, "", defaults)
    if place.command:
        return _of_command(place, word, defaults)
    if place.command is None and word.startswith("-"):
        name, equals, value = word.partition("=")
        option = BY_NAME.get(name) if equals else None
        return (
            _of_options(word) if option is None else _of_value(option, value, f"{name}=", defaults)
        )
    return _of_names(place, word, defaults, remarks=remarks)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a command line the cursor is."""

    options: tuple[str, ...]
    """Words up to the command."""
    command: tuple[str, ...] | None = None
    """The command and its arguments before the cursor; None where options may follow, empty where
    a command must.
    """
    option: Option | None = None
    """The option whose value is due."""
    has_source: bool = False

    @classmethod
    def find(cls, typed: Sequence[str], defaults: Defaults) -> _Place:
        """Go through the words before the cursor."""
        has_source = False
        words = iter(enumerate(typed))
        for i, word in words:
            if word == "--":
                return cls(tuple(typed[:i]), tuple(typed[i + 1 :]), has_source=has_source)
            if word.startswith("-") and word != "-":
                if "--no-config" in word:
                    defaults.leave_out()
                option = _awaiting(word)
                if option is not None and next(words, None) is None:
                    return cls(tuple(typed[:i]), option=option, has_source=has_source)
                known = BY_NAME.get(word.partition("=")[0]) or BY_NAME.get(word[:2])
                has_source = has_source or (known is not None and known.group == OPTIONS[0].group)
            elif word == DEMO or defaults.is_cluster(word):
                has_source = True
            else:
                return cls(tuple(typed[:i]), tuple(typed[i:]), has_source=has_source)
        return cls(tuple(typed), has_source=has_source)


def _awaiting(word: str) -> Option | None:
    """The option whose value is the word after this one, or None."""
    if word.startswith("--"):
        option = None if "=" in word else BY_NAME.get(word)
        return option if option is not None and option.metavar else None
    for i, letter in enumerate(word[1:], 2):
        option = BY_NAME.get(f"-{letter}")
        if option is None:
            return None
        if option.metavar:
            return option if i == len(word) else None
    return None


def _of_value(option: Option, value: str, before: str, defaults: Defaults) -> list[WordProposal]:
    """Values of an option."""
    if option.long == "--cluster":
        return list(_of_clusters(value, before, defaults))
    if option.path:
        return [WordProposal(_PATHS[option.path])]
    return [WordProposal(before + one) for one in option.choices if one.startswith(value)]


def _of_clusters(word: str, before: str, defaults: Defaults) -> Iterator[WordProposal]:
    for name, cluster in sorted(defaults.config.clusters.items()):
        if name.startswith(word):
            yield WordProposal(before + name, cluster.description or "cluster")


def _of_options(word: str) -> list[WordProposal]:
    names = [(name, option) for option in OPTIONS for name in (option.long, option.short) if name]
    return [WordProposal(name, option.meaning) for name, option in names if name.startswith(word)]


def _of_names(place: _Place, word: str, defaults: Defaults, *, remarks: bool) -> list[WordProposal]:
    """Names of commands and, where no source is chosen yet, of sources."""
    found = []
    if not place.has_source and place.command is None:
        found += [WordProposal(DEMO, "open the bundled sample")] if DEMO.startswith(word) else []
        found += [p for p in _of_clusters(word, "", defaults) if not is_command(p.word)]
    found += [WordProposal(TUI, "open the explorer")] if TUI.startswith(word) else []
    habits = defaults.config.habits
    found += [
        WordProposal(c.text, c.meta) for c in complete_commands(word, habits, remarks=remarks)
    ]
    return found


def _of_command(place: _Place, word: str, defaults: Defaults) -> list[WordProposal]:
    """The proposals of a command, on the source where that takes one."""
    assert place.command is not None
    command = place.command
    if command == (TUI,) and not word.startswith("-"):
        command = ("ls",)  # It takes a path too.
    # Quoted for our own shell, which the proposals are written for.
    at = complete_at(quote(word), len(quote(word))).word
    out = StreamOutput(None)
    context = Context(
        root=FixedDirectory({}), out=out, warn=lambda _: None, habits=defaults.config.habits
    )
    try:
        found = complete_words(context, command, at)  # Options and their values.
    except MetashellError:
        found = []
    if not found and not word.startswith("-"):
        found = _of_source(context, place, command, at, defaults)
    return [WordProposal(_whole(at, item), item.meta) for item in found]


def _of_source(
    context: Context, place: _Place, command: Sequence[str], word: Word, defaults: Defaults
) -> list[Completion]:
    """A command's proposals from a source."""
    arguments = defaults.fill_in(parse_arguments(place.options, defaults.is_cluster))
    source = _source(arguments, context.out)
    if source is None:
        return []
    context.show(source)
    return complete_words(context, command, word)


def _source(arguments: Arguments, out: Output) -> Source | FleetSource | None:
    """The source that the options choose, opened here; None for one that is elsewhere."""
    from metashell.cli.choices import choose_source
    from metashell.cli.sources import open_source

    choice = choose_source(arguments)
    if choice is None or choice.quorum is not None:
        return None
    if any(map(is_uri, (choice.path, *choice.paths))):
        return None
    kept = {
        long: values
        for long, values in arguments.values.items()
        if long not in ("--engine", "--master", "--spark-conf", "--spark-threshold", "--strict")
    }
    assert isinstance(out, StreamOutput)
    silent = Diagnostics(None, out)
    return open_source(choice, arguments._replace(values=kept | _LOCAL), None, silent)


def _whole(word: Word, item: Completion) -> str:
    """The whole word after a proposal was taken, without our quotes."""
    raw = word.raw[: len(word.raw) + item.start] + item.text
    return "".join(split(raw))


def _expanded(word: Word) -> str:
    """A word as the system's shell would hand it over, as far as that is safe to find out."""
    if word.raw != str(word):
        return str(word)
    return os.path.expandvars(os.path.expanduser(word))


def _for_bash(found: Sequence[WordProposal], at: AtCursor, breaks: str) -> Iterator[WordProposal]:
    """Proposals as bash takes them: it replaces only what stands behind the last break.

    A quote that is open it closes behind a lone proposal, even behind a directory, which goes on.
    A second one, which means the same directory, keeps it from that.
    """
    word = at.word
    if word.open_quote and len(found) == 1 and found[0].word.endswith("/"):
        found = [*found, replace(found[0], word=found[0].word + ".")]
    cut = 0
    if not word.open_quote:
        cut = max((str(word).rfind(c) for c in breaks if c in ":=@"), default=-1) + 1
    for proposal in found:
        is_file = proposal.word in _PATHS.values()
        yield proposal if is_file else replace(proposal, word=proposal.word[cut:])
