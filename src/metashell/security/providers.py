"""Config providers: ``${env:NAME}``, ``${file:PATH:KEY}`` and ``${directory:PATH:FILE}`` in values.

Owns what Kafka's three own providers say, where ``config.providers`` declares them; any other is an
error. A provider's limits (``allowlist.pattern``, ``allowed.paths``) hold here as in Kafka. Must
never put a value into an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from metashell.errors import SourceError
from metashell.places.bounded_file import read_bounded

_VARIABLE: Final = re.compile(r"\$\{([^}:${]{0,100}):(?:([^}:]{0,4096}):)?([^}]{0,1000})\}")
_HINT: Final = "write the value itself into your own file and give it with `--config`"


def resolve_variables(key: str, value: str, settings: Mapping[str, str], file: str) -> str:
    """Put in what config providers say.

    Args:
        key: The property, for errors.
        value: Its value, with or without variables.
        settings: All properties of the file; they declare the providers.
        file: The file's name, for errors.

    Raises:
        SourceError: A variable can't be resolved, or the file that it names can't be read.
    """
    if "${" not in value:
        return value
    what = f"{file}: `{key}`"

    def resolved(match: re.Match[str]) -> str:
        return _look_up(match[1].strip(), match[2] or "", match[3], settings, what)

    return _VARIABLE.sub(resolved, value)


def _look_up(name: str, path: str, entry: str, settings: Mapping[str, str], what: str) -> str:
    """The value that one provider gives."""
    declared = [part.strip() for part in settings.get("config.providers", "").split(",")]
    if not name or name not in declared:
        raise SourceError(
            f"{what} needs a config provider that the file does not declare",
            hint=_HINT,
        )
    prefix = f"config.providers.{name}."
    kind = settings.get(f"{prefix}class", "").strip().rpartition(".")[2]
    found: str | None
    if kind == "EnvVarConfigProvider" and not path:
        pattern = settings.get(f"{prefix}param.allowlist.pattern")
        found = os.environ.get(entry) if _is_listed(entry, pattern, prefix, what) else None
    elif kind == "FileConfigProvider":
        _check_allowed(path, settings.get(f"{prefix}param.allowed.paths", ""), what)
        found = _properties(path, what).get(entry)
    elif kind == "DirectoryConfigProvider":
        _check_allowed(path, settings.get(f"{prefix}param.allowed.paths", ""), what)
        found = _text(os.path.join(path, entry), what) if _is_file_name(entry) else None
    else:
        raise SourceError(
            f"{what} needs the config provider `{name}`, which is not supported",
            hint=_HINT,
        )
    if found is None:
        raise SourceError(f"{what}: the config provider `{name}` does not hold that key")
    return found


def _is_listed(name: str, pattern: str | None, prefix: str, what: str) -> bool:
    """Whether a variable of the environment may be used; Kafka looks for the pattern anywhere."""
    if pattern is None:
        return True
    try:
        return re.search(pattern, name) is not None
    except re.error:
        raise SourceError(
            f"{what}: `{prefix}param.allowlist.pattern` is not a valid pattern"
        ) from None


def _check_allowed(path: str, allowed: str, what: str) -> None:
    """Refuse a path outside of those that the configuration allows."""
    if not path:
        raise SourceError(f"{what} needs a path for its config provider")
    roots = [os.path.normpath(root.strip()) for root in allowed.split(",") if root.strip()]
    normal = os.path.normpath(path)
    inside = (normal == root or normal.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
    if roots and not any(inside):
        raise SourceError(f"{what} asks for a file outside of its provider's `allowed.paths`")


def _is_file_name(entry: str) -> bool:
    """Whether it can only be a file directly in a directory."""
    return entry not in ("", ".", "..") and os.sep not in entry and "\0" not in entry


def _properties(path: str, what: str) -> Mapping[str, str]:
    """The properties of a file, which Kafka reads as UTF-8 here."""
    import javaproperties

    text = _text(path, what)
    try:
        return dict(javaproperties.loads(text))
    except ValueError:
        raise SourceError(f"{path}: a malformed \\uXXXX escape") from None


def _text(path: str, what: str) -> str:
    """The text of a file."""
    try:
        return read_bounded(path, pipes=True).decode("utf-8")
    except UnicodeDecodeError:
        raise SourceError(f"{path}: not UTF-8") from None
    except SourceError as error:
        raise SourceError(f"{what}: {error.message}") from error
