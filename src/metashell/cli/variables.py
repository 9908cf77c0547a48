"""Options as variables of the environment: ``METASHELL_TIMEOUT`` for ``--timeout``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.cli.arguments import OPTIONS
from metashell.cli.settings import ANYWHERE, NO_CONFIG, SECRETS, OptionSetting
from metashell.commands.framework.options import Option
from metashell.errors import UsageError

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
