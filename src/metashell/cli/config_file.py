"""The configuration file: where it is, what is in it, and what is wrong with it.

Owns the file's grammar. A mistake in it is one sentence with file and line; nothing in it is passed
over. A file that is not there costs nothing: `tomllib` is imported only for one that is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final, NoReturn

from metashell import commands
from metashell.cli.arguments import DEMO
from metashell.cli.settings import (
    CONFIG_FILE,
    IN_OPTIONS,
    OF_A_CLUSTER,
    SECRETS,
    OptionSetting,
    values_of,
)
from metashell.commands.framework.aliases import NO_HABITS, Habits, alias_words, expand_aliases
from metashell.commands.framework.command_line import quote_words, split
from metashell.commands.framework.options import Option
from metashell.dataclass import dataclass
from metashell.errors import UsageError
from metashell.fs.escape import escape
from metashell.places.user import user_directory
from metashell.themes import DEFAULT, MONO, ROLES, THEMES, style_fault
from metashell.tui.names import EXPLORER_THEMES, KEY_IDS

_MOST_BYTES: Final = 1 << 18
_TABLES: Final = ("aliases", "clusters", "commands", "keys", "options", "theme", "tui")
_KEY: Final = re.compile(r"(?:(?:alt|ctrl|hyper|meta|shift|super)\+)*(?:[a-z0-9_]+|[^\s,])")
"""A key as the explorer calls it, such as ``f5``, ``ctrl+t`` or ``?``."""
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SOURCES: Final = ("directory", "snapshot", "bootstrap-controllers")
_PLACE: Final = re.compile(r"(.*) \(at line (\d+), column \d+\)")
_DEFINES: Final = re.compile(r"\s*(?:\[\s*([^\]]+)\]|([^=#\[]+)=)")
"""The beginning of a line that opens a table, or gives a key its value."""


@dataclass(frozen=True, slots=True)
class NamedCluster:
    """A source that has a name."""

    settings: Mapping[str, OptionSetting]
    """Its options, by long name."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The content of a configuration file; empty where there is none."""

    path: str = ""
    options: Mapping[str, OptionSetting] = field(default_factory=dict)
    """Defaults of the program's options, by long name."""
    habits: Habits = NO_HABITS
    theme: Mapping[str, str] = field(default_factory=dict)
    """Style of each role."""
    is_plain: bool = False
    """Whether the theme has no colours at all."""
    clusters: Mapping[str, NamedCluster] = field(default_factory=dict)
    explorer_theme: str | None = None
    """Name of the explorer's theme."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """The explorer's keys, one or several with commas between, by the id of what they do."""


def config_path(environ: Mapping[str, str]) -> str:
    """Where the file is, or would be."""
    named = environ.get(CONFIG_FILE)
    if named:
        return named
    return os.path.join(user_directory("config"), "config.toml")


def read_config_file(environ: Mapping[str, str]) -> ConfigFile:
    """Read the file; one that is not there and that no variable names says nothing.

    Raises:
        UsageError: It can't be read, or something in it is wrong.
    """
    path = config_path(environ)
    try:
        with open(path, "rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not environ.get(CONFIG_FILE):
            return ConfigFile(path)
        raise UsageError(f"{path}: {error.strerror}", hint=f"{CONFIG_FILE} names it") from error
    except (OSError, ValueError) as error:
        is_in_sight = os.access(os.path.dirname(path) or ".", os.X_OK)
        if isinstance(error, PermissionError) and not environ.get(CONFIG_FILE) and not is_in_sight:
            # Under `sudo -u kafka`, for example, the home is still somebody else's.
            return ConfigFile(path)
        what = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: {what}", hint="`--no-config` leaves it out") from error
    if len(raw) > _MOST_BYTES:
        raise UsageError(f"{path}: longer than {_MOST_BYTES:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: not UTF-8, as TOML must be") from error
    return _Reader(path, text).read()


def cluster_names(names: Iterable[str]) -> str:
    """Names as a hint lists them."""
    return ", ".join(f"`{name}`" for name in sorted(names))


class _Reader:
    """Reads one file's text."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        self._base = os.path.dirname(os.path.abspath(path))

    def read(self) -> ConfigFile:
        """The file, checked."""
        tables = self._parse()
        for name, value in tables.items():
            if name not in _TABLES:
                self._fail((name,), f"unknown table `{escape(name)}`", _near(name, _TABLES))
            if not isinstance(value, dict):
                self._fail((name,), f"`{name}` is a table: write it as [{name}]")
        aliases = self._aliases(tables.get("aliases", {}))
        theme = tables.get("theme", {})
        clusters = self._clusters(tables.get("clusters", {}))
        return ConfigFile(
            path=self._path,
            options=self._settings(tables.get("options", {}), ("options",), IN_OPTIONS),
            habits=Habits(aliases, self._commands(tables.get("commands", {})), tuple(clusters)),
            theme=self._theme(theme),
            is_plain=theme == {"name": MONO},
            clusters=clusters,
            explorer_theme=self._explorer_theme(tables.get("tui", {})),
            keys=self._keys(tables.get("keys", {})),
        )

    def _parse(self) -> dict[str, Any]:
        import tomllib

        try:
            return tomllib.loads(self._text)
        except RecursionError:
            raise UsageError(f"{self._path}: nested too deeply") from None
        except ValueError as error:
            message = str(error)
            placed = _PLACE.fullmatch(message)
            if placed is None:
                n_lines = self._text.rstrip("\n").count("\n") + 1
                at_end = message.endswith(" (at end of document)")
                place = f"{self._path}:{n_lines}" if at_end else self._path
                what = message.removesuffix(" (at end of document)")
            else:
                place, what = f"{self._path}:{placed[2]}", placed[1]
            raise UsageError(
                f"{place}: not TOML: {escape(what[:1].lower() + what[1:])}",
                hint='put strings in quotes: key = "value"',
            ) from None

    def _fail(self, keys: tuple[str, ...], message: str, hint: str | None = None) -> NoReturn:
        """Raise an error at the line of a key."""
        line = _line_of(self._text, keys)
        place = f"{self._path}:{line}" if line else self._path
        raise UsageError(f"{place}: {message}", hint=hint)

    def _settings(
        self, table: Mapping[str, object], keys: tuple[str, ...], known: Mapping[str, Option]
    ) -> dict[str, OptionSetting]:
        """The options of a table."""
        found = {}
        for key, value in table.items():
            place = (*keys, key)
            if f"--{key}" == SECRETS:
                self._fail(place, f"`{key}`: only the command line can show secrets",
                           "remove it, and give `--show-secrets`")  # fmt: skip
            option = known.get(f"--{key}")
            if option is None:
                self._unknown_option(place, known)
            try:
                values = values_of(option, value, self._base)
            except ValueError as error:
                self._fail(place, f"`{key}` {error}")
            found[option.long] = OptionSetting(values, f"`{'.'.join(place)}` in {self._path}")
        return found

    def _unknown_option(self, place: tuple[str, ...], known: Mapping[str, Option]) -> NoReturn:
        key, table = place[-1], ".".join(place[:-1])
        if f"--{key}" in OF_A_CLUSTER:
            self._fail(place, f"`{key}` cannot be a default for every source",
                       "move it to [clusters.NAME], or give it on the command line")  # fmt: skip
        names = [long[2:] for long in known]
        self._fail(place, f"unknown option `{escape(key)}` in [{table}]", _near(key, names))

    def _strings(self, table: Mapping[str, object], name: str) -> dict[str, str]:
        """A table of strings, or of lists of words, which are the same quoted."""
        found = {}
        for key, value in table.items():
            words = value if isinstance(value, list) else ()
            text = quote_words(words) if words and _are_strings(words) else value
            if not isinstance(text, str):
                self._fail((name, key), f"`{escape(key)}` needs a string")
            if not text.isprintable():
                self._fail((name, key), f"`{escape(key)}` holds a control character")
            found[key] = text
        return found

    def _aliases(self, table: Mapping[str, object]) -> dict[str, str]:
        aliases = self._strings(table, "aliases")
        for name, text in aliases.items():
            place = ("aliases", name)
            self._check_name(place, "alias")
            try:
                first = str(alias_words(name, text)[0])
            except UsageError as error:
                self._fail(place, error.message, error.hint)
            if commands.is_command(name) and first != name:
                self._fail(
                    place,
                    f"the alias `{name}` would hide the command of that name",
                    f'such an alias must begin with the command itself: {name} = "{name} ..."',
                )
        habits = Habits(aliases)
        for name in aliases:
            command = str(expand_aliases(habits, [name])[0])
            if not commands.is_command(command):
                near = _near(command, commands.all_names())
                self._fail(
                    ("aliases", name),
                    f"the alias `{name}` leads to `{escape(command)}`, which is not a command",
                    near,
                )
        return aliases

    def _commands(self, table: Mapping[str, object]) -> dict[str, str]:
        options = self._strings(table, "commands")
        for name, text in options.items():
            place = ("commands", name)
            if name not in commands.all_names():
                near = _near(name, commands.all_names())
                self._fail(place, f"unknown command `{escape(name)}`", near)
            try:
                split(text)
            except UsageError as error:
                self._fail(place, f"`{name}`: {error.message}")
        return options

    def _theme(self, table: Mapping[str, object]) -> dict[str, str]:
        name = table.get("name", DEFAULT)
        if not isinstance(name, str):
            self._fail(("theme", "name"), "`name` needs a string")
        if name not in THEMES:
            hint = _near(name, THEMES) or f"there are {cluster_names(THEMES)}"
            self._fail(("theme", "name"), f"unknown theme `{escape(name)}`", hint)
        theme = dict(THEMES[name])
        for keys, style in _leaves(table):
            role, place = ".".join(keys), ("theme", *keys)
            if role == "name":
                continue
            if role not in ROLES:
                self._fail(place, f"unknown role `{escape(role)}` in [theme]", _near(role, ROLES))
            if not isinstance(style, str):
                self._fail(place, f"`{role}` needs a string")
            fault = style_fault(style)
            if fault is not None:
                hint = "such as `bold`, `ansicyan`, `#ff8800` or `bg:ansiblack`"
                self._fail(place, f"`{role}`: `{escape(fault)}` is no style", hint)
            theme[role] = style
        return theme

    def _explorer_theme(self, table: Mapping[str, object]) -> str | None:
        for key, value in table.items():
            place = ("tui", key)
            if key != "theme":
                self._fail(place, f"unknown option `{escape(key)}` in [tui]", _near(key, ["theme"]))
            if not isinstance(value, str):
                self._fail(place, "`theme` needs a string")
            if value not in EXPLORER_THEMES:
                hint = _near(value, EXPLORER_THEMES)
                hint = hint or f"there are {cluster_names(EXPLORER_THEMES)}"
                self._fail(place, f"unknown theme `{escape(value)}`", hint)
            return value
        return None

    def _keys(self, table: Mapping[str, object]) -> dict[str, str]:
        found: dict[str, str] = {}
        for keys, value in _leaves(table):
            name, place = ".".join(keys), ("keys", *keys)
            if name not in KEY_IDS:
                near = _near(name, KEY_IDS)
                self._fail(place, f"no action of the explorer is called `{escape(name)}`", near)
            if not isinstance(value, str):
                self._fail(place, f"`{name}` needs a string")
            pressed = [key.strip() for key in value.split(",")]
            wrong = next((key for key in pressed if not _KEY.fullmatch(key)), None)
            if wrong is not None:
                hint = "such as `f5`, `ctrl+t`, `?` or `comma`; several with a comma between"
                self._fail(place, f"`{name}`: `{escape(wrong)}` is no key", hint)
            found[name] = ",".join(pressed)
        return found

    def _clusters(self, table: Mapping[str, object]) -> dict[str, NamedCluster]:
        found = {}
        for name, value in table.items():
            place = ("clusters", name)
            self._check_name(place, "cluster")
            if name == DEMO:
                self._fail(
                    place, f"`{DEMO}` is the bundled sample", "give the cluster another name"
                )
            if not isinstance(value, dict):
                self._fail(place, f"`{name}` is a table: write it as [clusters.{name}]")
            options = dict(value)
            description = options.pop("description", "")
            if not isinstance(description, str) or not description.isprintable():
                self._fail((*place, "description"), "`description` needs a string of one line")
            settings = self._settings(options, place, OF_A_CLUSTER)
            self._check_source(place, options)
            found[name] = NamedCluster(settings, description)
        return found

    def _check_source(self, place: tuple[str, ...], options: Mapping[str, object]) -> None:
        """Refuse a cluster that names no source, or two."""
        given = [key for key in _SOURCES if key in options]
        if len(given) > 1:
            both = f"`{given[0]}` and `{given[1]}` each choose a source"
            self._fail((*place, given[1]), both, "give one of them")
        if not given and "config" not in options:
            self._fail(
                place,
                f"the cluster `{place[-1]}` names no source",
                "it needs `directory`, `snapshot`, `bootstrap-controllers` or `config`",
            )

    def _check_name(self, place: tuple[str, ...], what: str) -> None:
        name = place[-1]
        if not _NAME.fullmatch(name):
            self._fail(
                place,
                f"`{escape(name)}` is no name for a{'n' * (what[0] == 'a')} {what}",
                "use letters, digits, `_`, `.` and `-`, and begin with neither `-` nor `.`",
            )


def _line_of(text: str, keys: tuple[str, ...]) -> int:
    """The first line that comes nearest to defining a key, from 1; 0 where none does.

    A line of a text in several lines can look like such a line.
    """
    table: tuple[str, ...] = ()
    best = nearest = 0
    for n, line in enumerate(text.split("\n"), 1):
        found = _DEFINES.match(line)
        if found is None:
            continue
        names = tuple(name.strip().strip("\"'") for name in (found[1] or found[2]).split("."))
        if found[1]:
            table = place = names
        else:
            place = (*table, *names)
        common = min(len(place), len(keys))
        if common > nearest and place[:common] == keys[:common]:
            best, nearest = n, common
    return best


def _leaves(table: Mapping[str, object]) -> Iterable[tuple[tuple[str, ...], object]]:
    """The values of a table of tables, each with the way to it."""
    for key, value in table.items():
        if isinstance(value, dict):
            for keys, leaf in _leaves(value):
                yield (key, *keys), leaf
        else:
            yield (key,), value


def _are_strings(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _near(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest, as a hint."""
    from metashell.spelling import did_you_mean, near_names

    return did_you_mean([f"`{name}`" for name in near_names(word, known, 1)]) or None
