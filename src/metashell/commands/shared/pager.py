"""The user's pager and editor: which programs they are, and the environment that they get."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from typing import Final

_PAGERS: Final = ("less", "more")
_EDITORS: Final = ("sensible-editor", "nano", "vi", "notepad")


def pager_command(environ: Mapping[str, str]) -> str | None:
    """Return the command line of the pager to use, or None for none.

    ``PAGER`` decides; empty or ``cat`` means none. Without it, or where it is not installed: less,
    then more.
    """
    if environ.get("TERM", "dumb") in {"dumb", "unknown"}:
        return None
    chosen = environ.get("PAGER")
    if chosen is not None:
        words = _words(chosen)
        if not words or words == ["cat"]:
            return None
        if _is_there(words[0], environ):
            return chosen
    return _first(_PAGERS, environ)


def editor_command(environ: Mapping[str, str]) -> str | None:
    """Return the command line of the editor to use, or None for none.

    ``VISUAL`` decides, then ``EDITOR``; else what is installed.
    """
    for variable in ("VISUAL", "EDITOR"):
        chosen = environ.get(variable, "")
        words = _words(chosen)
        if words:
            return chosen if _is_there(words[0], environ) else None
    return _first(_EDITORS, environ)


def pager_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the pager's environment: what the user has not set is set as git sets it.

    In less a key writes what is shown into a file, and another one starts a program: a line that is
    meant for the shell must not.
    """
    ours = {"LESS": "FRX", "LESSCHARSET": "utf-8", "LV": "-c", "LESSSECURE": "1"}
    return {**ours, **environ}


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _is_there(word: str, environ: Mapping[str, str]) -> bool:
    # Past the first word it may be any shell syntax, such as VAR=1 less.
    return "=" in word or shutil.which(word, path=environ.get("PATH")) is not None


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    for name in names:
        if shutil.which(name, path=environ.get("PATH")):
            return name
    return None
