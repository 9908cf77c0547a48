"""Options that come from elsewhere than the command line: which may, and what their values are.

Owns the rules that variables and the configuration file share. Reads neither.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from metashell.cli.arguments import OPTIONS
from metashell.commands.framework.options import Option
from metashell.dataclass import dataclass
from metashell.errors import UsageError
from metashell.places.uri import is_uri

SOURCE_FLAGS: Final = (
    "--directory", "--snapshot", "--config", "--bootstrap-controllers", "--live", "--cluster",
)  # fmt: skip
"""They choose the source together, and so come from one place together."""

SECRETS: Final = "--show-secrets"
"""The switch that only the command line has. Elsewhere it would show secrets unasked."""
NO_CONFIG: Final = "--no-config"

_OF_THE_COMMAND_LINE: Final = frozenset(
    {"--command", "--file", "--tui", "--help", "--version", "--completion", SECRETS, NO_CONFIG}
)
"""Options that only the command line has: most of them say what is run."""
_OF_ONE_CLUSTER: Final = frozenset({"--at", "--record", "--cluster-id"})
"""No defaults for every source: a shell that is always in the past misleads."""
_NUMBERS: Final = frozenset({"--timeout", "--spark-threshold", "--at"})
_LIST: Final = "--bootstrap-controllers"
_PAIRS: Final = "--spark-conf"

ANYWHERE: Final[Mapping[str, Option]] = {
    option.long: option for option in OPTIONS if option.long not in _OF_THE_COMMAND_LINE
}
"""Options that a variable can set, by long name."""
IN_OPTIONS: Final[Mapping[str, Option]] = {
    long: option for long, option in ANYWHERE.items() if long not in _OF_ONE_CLUSTER
}
"""Options of the file's table ``[options]``."""
OF_A_CLUSTER: Final[Mapping[str, Option]] = {
    long: option for long, option in ANYWHERE.items() if long != "--cluster"
}
"""Options of a table ``[clusters.NAME]``."""


@dataclass(frozen=True, slots=True)
class OptionSetting:
    """An option's values, and where they come from."""

    values: tuple[str, ...] | None
    """None for a switch that is off: it also keeps what ranks lower from turning it on."""
    origin: str
    """Such as ``METASHELL_ENGINE``; the errors name it."""


def values_of(option: Option, value: object, base: str) -> tuple[str, ...] | None:
    """An option's values from one of TOML.

    Args:
        option: The option.
        value: The value that TOML has for it.
        base: The directory that a relative path begins at.

    Raises:
        ValueError: It can't be one; says what is needed.
    """
    if not option.metavar:
        if not isinstance(value, bool):
            raise ValueError("needs true or false")
        return ("",) if value else None
    if option.long == _PAIRS and isinstance(value, dict):
        value = [f"{key}={_text(option, item)}" for key, item in value.items()]
    if isinstance(value, list):
        if not option.repeatable and option.long != _LIST:
            raise ValueError("needs one value, not several")
        texts = tuple(_text(option, item) for item in value)
        if not texts:
            raise ValueError("needs a value")
        texts = (",".join(texts),) if option.long == _LIST else texts
    else:
        texts = (_text(option, value),)
    return tuple(_path(text, base) for text in texts) if option.path else texts


def _text(option: Option, value: object) -> str:
    """One value as the command line would have it."""
    if option.long == "--at":
        from datetime import date

        if isinstance(value, date):  # A datetime is a date too.
            return value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool) and option.long in _NUMBERS:
        return str(value)
    if not isinstance(value, str):
        kind = "a number or a string" if option.long in _NUMBERS else "a string"
        raise ValueError(f"needs {kind}: {option.metavar}")
    if not value or not value.isprintable():
        raise ValueError("is empty" if not value else "holds a control character")
    return value


def _path(text: str, base: str) -> str:
    """A path of the file, where ``~`` is the user's and what is relative is beside the file."""
    return text if is_uri(text) else os.path.join(base, os.path.expanduser(text))


CONFIG_FILE: Final = "METASHELL_CONFIG_FILE"
"""Names the configuration file."""

_ON: Final = frozenset({"1", "true", "yes", "on"})
_OFF: Final = frozenset({"", "0", "false", "no", "off"})


def variable_of(option: Option) -> str:
    """The variable that stands for an option."""
    return "METASHELL_" + option.long[2:].upper().replace("-", "_")


def read_variables(environ: Mapping[str, str]) -> dict[str, OptionSetting]:
    """The options that variables set, by long name; an empty variable is none.

    Several values stand in a line each.

    Raises:
        UsageError: A switch must be on or off, or secrets are to be shown.
    """
    _refuse_secrets(environ)
    found = {}
    for long, option in ANYWHERE.items():
        name = variable_of(option)
        text = environ.get(name, "")
        if not text:
            continue
        if not option.metavar:
            found[long] = OptionSetting(("",) if _is_on(name, text) else None, name)
            continue
        values = tuple(filter(None, text.split("\n"))) if option.repeatable else (text,)
        if values:
            found[long] = OptionSetting(values, name)
    return found


def wants_no_config(environ: Mapping[str, str]) -> bool:
    """Whether a variable says that neither the file nor other variables count.

    Raises:
        UsageError: It must be on or off.
    """
    name = variable_of(next(option for option in OPTIONS if option.long == NO_CONFIG))
    return _is_on(name, environ.get(name, ""))


def _refuse_secrets(environ: Mapping[str, str]) -> None:
    """Refuse a variable that, once exported, would show secrets wherever it is inherited."""
    name = variable_of(next(option for option in OPTIONS if option.long == SECRETS))
    if environ.get(name, "").lower() not in _OFF:
        raise UsageError(
            f"{name}: only the command line can show secrets",
            hint="unset it, and give `--show-secrets`",
        )


def _is_on(name: str, text: str) -> bool:
    lower = text.strip().lower()
    if lower in _ON:
        return True
    if lower in _OFF:
        return False
    raise UsageError(f"{name}: `{text}` must be on or off", hint="1 or 0")
