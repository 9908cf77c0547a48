"""Which source the arguments choose.

Owns the rules for `-d`, `-s`, `-q`, `--config`, `--live`, `--timeout` and `demo`. Opens nothing but
the configuration.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Final

from metashell.cli.arguments import DEMO, ENGINE, OPTIONS, READING, SOURCE, TUI, Arguments
from metashell.commands import all_names, get, is_command
from metashell.commands.framework.aliases import clusters_text
from metashell.errors import SourceError, UsageError
from metashell.places.archives import HEAD_BYTES, UNPACK_HINT, archive_format, archive_or_self
from metashell.places.place import expand, has_glob, read_beginning
from metashell.places.uri import archive_uri, is_uri, shown
from metashell.sources.request import Choice, QuorumChoice

if TYPE_CHECKING:
    from metashell.node_files.config import KafkaConfig
    from metashell.security.settings import Address

_VALUE_NEEDED: Final = frozenset(
    o.flags[0] for o in OPTIONS if o.metavar and o.group in (SOURCE, READING, ENGINE)
)
_STDIN: Final = "/dev/stdin"
_WILD: Final = frozenset("*?[{")


def choose_source(arguments: Arguments) -> Choice | None:
    """Find the one source that the arguments choose; None where they choose none.

    Raises:
        UsageError: Two are chosen, or one that can't be meant.
        SourceError: The configuration can't be read.
    """
    chosen = [
        title
        for title, given in (
            ("-d/--directory", arguments.has("--directory")),
            ("-s/--snapshot", arguments.has("--snapshot")),
            ("-q/--bootstrap-controllers", arguments.has("--bootstrap-controllers")),
            (DEMO, arguments.demo),
        )
        if given
    ]
    if len(chosen) > 1:
        names = ", ".join(f"`{title}`" for title in chosen[:-1]) + f" and `{chosen[-1]}`"
        raise UsageError(f"{names} each choose a source", hint="give one of them")
    _check_no_value_is_empty(arguments)
    _check_point(arguments)
    _check_live(arguments, chosen)
    if arguments.insists("--join") and not arguments.has("--directory"):
        raise UsageError(
            "`--join` takes directories for one cluster, and none is given",
            hint="give each with `-d`, or a pattern in quotes",
        )
    config = _config(arguments)
    choice = _choice(arguments, config)
    if choice is not None and config is not None:
        choice = replace(choice, config=config.of_quorum())
    if arguments.insists("--timeout") and (choice is None or choice.quorum is None):
        raise UsageError(
            "`--timeout` says how long to wait for a live quorum, but the source is not a quorum",
            hint="`-q HOST:PORT` chooses one",
        )
    return choice


def _choice(arguments: Arguments, config: KafkaConfig | None) -> Choice | None:
    """The source, of which at most one is chosen."""
    if arguments.demo:
        return Choice(_sample_directory(), name=DEMO)
    controllers = arguments.value("--bootstrap-controllers")
    if controllers is not None:
        from metashell.quorum.addresses import parse_addresses

        return _quorum(parse_addresses(controllers, "`-q`"), config, arguments)
    directories = arguments.values.get("--directory", ())
    if directories:
        _check_stdin(directories, arguments)
        return _choice_of_directories(directories, arguments.words)
    snapshot = arguments.value("--snapshot")
    if snapshot is not None:
        if os.path.isdir(snapshot):
            raise UsageError(
                f"`-s`: {snapshot} is a directory",
                hint=f"`metashell -d {_quote(snapshot)}` opens it",
            )
        return Choice(snapshot, is_file=True)
    return None if config is None else _choice_of_config(config, arguments)


def _choice_of_directories(directories: tuple[str, ...], words: tuple[str, ...]) -> Choice:
    """One directory, or several; a fleet for a pattern, however many that names."""
    if words and os.sep in words[0] and os.path.isdir(words[0]):
        raise UsageError(
            f"{words[0]} is a directory, not a command",
            hint="put the pattern in quotes: `-d '/backups/*'`; or give `-d` before each directory",
        )

    found: list[str] = []
    command = get(words[0]) if words else None
    takes_files = command is not None and command.opens
    for directory in directories:
        opened_as = archive_uri(_STDIN) if directory == "-" else archive_or_self(directory)
        if opened_as == directory and os.path.isfile(directory) and not takes_files:
            raise _a_file(directory)
        found += map(archive_or_self, expand(opened_as))
    is_fleet = any(map(_is_pattern, directories))
    if len(directories) == 1 and not is_fleet:
        return Choice(found[0])
    return Choice(found[0], paths=tuple(found), is_fleet=is_fleet)


def _check_stdin(directories: Sequence[str], arguments: Arguments) -> None:
    """Refuse an archive on standard input that is a terminal, or has to give commands too.

    Raises:
        UsageError: So it is.
    """
    words, script = arguments.words, arguments.value("--file")
    has_work = words or arguments.has("--command") or script is not None
    is_explored = words[:1] == (TUI,) or arguments.has("--tui")
    is_for_both = not has_work or is_explored or script == "-" or directories.count("-") > 1
    if "-" in directories and (is_for_both or sys.stdin is None or sys.stdin.isatty()):
        raise UsageError(
            "`-d -` reads an archive from standard input, which can't be a terminal or give"
            " commands too",
            hint="`tar cf - DIR | metashell -d - health`; for the shell or the explorer, write"
            " the archive to a file: `metashell -d FILE.tar`",
        )


def _a_file(path: str) -> UsageError:
    """Refuse a file where a directory is wanted."""
    if (what := _archive(path)) is not None:
        return UsageError(f"`-d`: {path} is {what}", hint=UNPACK_HINT)
    return UsageError(f"`-d`: {path} is a file", hint=f"`metashell -s {_quote(path)}` opens it")


def _archive(path: str) -> str | None:
    """The archive format of a file; None for a file that is no archive."""
    return archive_format(read_beginning(path, HEAD_BYTES) or b"")


def _is_pattern(directory: str) -> bool:
    """Whether a place has wildcards, and is no directory that is called so."""
    if _WILD.isdisjoint(directory) or os.path.isdir(directory):
        return False

    return has_glob(directory)


def _config(arguments: Arguments) -> KafkaConfig | None:
    """The configuration, which must be readable also where it only adds settings."""
    file = arguments.value("--config")
    if file is None:
        return None
    from metashell.node_files.config import read_config

    return read_config(file)


def _choice_of_config(config: KafkaConfig, arguments: Arguments) -> Choice:
    """The source of a configuration alone: its directory before its quorum, but for `--live`."""
    live = arguments.has("--live")
    log_dir = None if live else config.log_dir()
    if log_dir is not None:
        others = [one.path for one in config.log_dirs() if one.path != log_dir.path]
        return Choice(os.fspath(log_dir.path), log_dirs=tuple(map(os.fspath, others)))
    if live or config.names_quorum() or config.settings.get("bootstrap.servers", "").strip():
        from metashell.quorum.settings import addresses_of

        return _quorum(addresses_of(config), config, arguments)
    raise UsageError(
        f"{config.file} names no log directory and no quorum",
        hint="set `metadata.log.dir`, `log.dirs` or `bootstrap.controllers`; "
        "or give `-d DIR` or `-q HOST:PORT`",
    )


def _quorum(
    addresses: tuple[Address, ...], config: KafkaConfig | None, arguments: Arguments
) -> Choice:
    """A live quorum, with the settings of a configuration."""
    from metashell.quorum.settings import security_of

    return Choice(
        quorum=QuorumChoice(
            addresses=addresses,
            security=security_of(config),
            timeout_s=_timeout_s(arguments.value("--timeout")),
        )
    )


def _timeout_s(text: str | None) -> float | None:
    """The value of `--timeout`."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UsageError(f"`--timeout`: `{text}` must be a number of seconds above 0")
    return seconds


def no_source_error(arguments: Arguments, clusters: Collection[str] = ()) -> UsageError:
    """The error for a command line without a source, with what was probably meant."""
    words = arguments.words
    hint = (
        "`metashell -d DIR` opens a metadata log, `metashell -q HOST:PORT` a live quorum, "
        "`metashell demo` a bundled sample"
    )
    if clusters:
        hint += ", " + ", ".join(f"`metashell {name}`" for name in sorted(clusters)[:3])
        hint += f" {'one' if len(clusters) == 1 else 'some'} of yours"
    if not words:
        return UsageError("no source given", hint=hint)
    first, rest = words[0], "".join(f" {_quote(word)}" for word in words[1:])
    if first == TUI:
        return UsageError("no source given", hint=hint)
    if os.path.isdir(first):
        hint = f"`metashell -d {_quote(first)}{rest}`"
        return UsageError(f"{first} is a directory, not a command", hint=hint)
    if os.path.isfile(first):
        if (what := _archive(first)) is not None:
            return UsageError(f"{first} is {what}, not a command", hint=UNPACK_HINT)
        flag = "--config" if first.endswith((".properties", ".conf")) else "-s"
        hint = f"`metashell {flag} {_quote(first)}{rest}`"
        return UsageError(f"{first} is a file, not a command", hint=hint)
    if is_uri(first):
        hint = f"`metashell -d URI{rest}` opens it"
        return UsageError(f"{shown(first)} is a URI, not a command", hint=hint)
    if os.sep in first:
        return UsageError(f"{first}: No such file or directory, and not a command", hint=hint)
    if not is_command(first):
        return _neither(words, clusters, hint)
    if {
        "-d", "--directory", "-s", "--snapshot", "-q", "--bootstrap-controllers", "--config",
    }.intersection(words):  # fmt: skip
        hint = f"put options before the command: `metashell -d DIR {first} ...`"
    return UsageError("no source given", hint=hint)


def _neither(words: Sequence[str], clusters: Collection[str], hint: str) -> UsageError:
    """The error for a first word that names no cluster and no command."""
    from metashell.commands.framework.other_tools import hint_of_command
    from metashell.spelling import near

    first = words[0]
    cluster, command = near(first, clusters), near(first, all_names())
    is_for_cluster = len(words) > 1 and is_command(words[1])
    meant = hint_of_command(first, words[1:], runs_programs=False)
    if meant is not None and not is_for_cluster:
        hint = meant
    elif cluster is not None:
        hint = f"did you mean `metashell {cluster}`?"
    elif command is not None and not is_for_cluster:
        hint = f"did you mean {command}? {hint}"
    elif clusters:
        hint = clusters_text(clusters) + ("" if is_for_cluster else f"; {hint}")
    elif is_for_cluster:
        hint = f"`metashell -d DIR {words[1]}`; the configuration file can give a cluster a name"
    what = (
        "no such cluster and no such command" if clusters or is_for_cluster else "no such command"
    )
    return UsageError(f"{first}: {what}", hint=hint)


def _check_live(arguments: Arguments, chosen: list[str]) -> None:
    """Refuse `--live` beside a source that is not, and where nothing names a quorum."""
    if not arguments.has("--live") or arguments.has("--bootstrap-controllers"):
        return
    if chosen:
        raise UsageError(
            f"`--live` needs a quorum, but `{chosen[0]}` chooses another source",
            hint="`-q HOST:PORT`, or `--config FILE --live`",
        )
    if not arguments.has("--config"):
        raise UsageError(
            "`--live` needs a configuration that names a quorum",
            hint="`--config FILE --live`, or `-q HOST:PORT`",
        )


def _check_point(arguments: Arguments) -> None:
    """Refuse what says in two ways where the image ends, or only how."""
    if arguments.has("--record") and not arguments.has("--at"):
        raise UsageError("`--record` needs `--at`")
    if arguments.has("--at") and arguments.has("--committed-only"):
        raise UsageError("`--at` and `--committed-only` exclude each other")


def _check_no_value_is_empty(arguments: Arguments) -> None:
    """Refuse ``-d ""``, which is what ``-d "$UNSET"`` gives."""
    for flag, values in arguments.values.items():
        if flag in _VALUE_NEEDED and "" in values:
            raise UsageError(f"`{flag}` needs a value that is not empty")


def _sample_directory() -> str:
    """The log directory that ships with the package."""
    # Not importlib.resources, which takes as long to import as the sample takes to load.
    sample = os.path.join(os.path.dirname(os.path.dirname(__file__)), "sample")
    if not os.path.isdir(sample):
        raise SourceError(f"{sample}: the bundled sample is missing: is the package in a zip file?")
    return sample


def _quote(word: str) -> str:
    """A word as the system's shell needs it."""
    return quote(word)
