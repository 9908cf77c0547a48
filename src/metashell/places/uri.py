"""Texts of URIs: what stands in them, and what of it may be shown.

Owns the syntax alone; nothing is opened here, and importing it costs nothing. A URI may hold
credentials in front of the host and in its query: `Uri.shown` has neither.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?]*)(/?.*)", re.DOTALL)
_FILE: Final = re.compile(
    r"file:(?://(?P<host>[^/]*)(?P<path>/.*)|(?P<rest>/(?!/).*))", re.DOTALL | re.IGNORECASE
)
_QUERY: Final = re.compile(r"\?((?:[A-Za-z_][\w.\-]*=[^&]*)(?:&[A-Za-z_][\w.\-]*=[^&]*)*)?\Z")
"""A question mark that begins no query is one of a pattern."""

_CREDENTIALS: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*://(?:[^/\s@]*:[^/\s@]*@|\S*[?&](?:access_key|secret_key|session_token|"
    r"password|sig|se|sv|sas_token|token)=)"
)

_ALIASES: Final = {"gcs": "gs", "s3a": "s3", "s3n": "s3"}
"""Other names of a scheme, as Hadoop and older tools have them."""

_USER_IS_PLACE: Final = frozenset({"abfs", "abfss", "hdfs", "viewfs"})
"""Schemes whose user is part of where something is: a container, an account, a user's name."""

_QUOTED: Final = frozenset("%?#*[]{} ")
"""What would mean something else if it stood in a path as it is."""


def is_uri(text: str | os.PathLike[str]) -> bool:
    """Whether a place is given as a URI; every other text is a path."""
    text = os.fspath(text)
    return _URI.match(text) is not None or _FILE.match(text) is not None


def holds_credentials(text: str) -> bool:
    """Whether a line holds a URI with something in it that may be written nowhere."""
    return _CREDENTIALS.search(text) is not None


@dataclass(frozen=True, slots=True)
class Uri:
    """A URI taken apart."""

    scheme: str
    host: str
    """With its port; the bucket of an object store."""
    path: str
    """As it stands, without the slashes around it."""
    user_info: str = field(default="", repr=False)
    """What stands before the ``@``."""
    query: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """The URI without credentials and settings."""
        user = self.user_info.partition(":")[0] if self.scheme in _USER_IS_PLACE else ""
        return _joined(self.scheme, user, self.host, self.path)

    @property
    def settings(self) -> Mapping[str, str]:
        """The query's keys and values."""
        from urllib.parse import unquote

        pairs = (pair.partition("=") for pair in self.query.split("&") if pair)
        return {key: unquote(value) for key, _, value in pairs}

    def text(self, path: str) -> str:
        """The whole URI, credentials included, of another path of the same store."""
        text = _joined(self.scheme, self.user_info, self.host, path)
        return f"{text}?{self.query}" if self.query else text

    @property
    def secrets(self) -> tuple[str, ...]:
        """What may be printed nowhere, in each form that a message may hold it in."""
        from urllib.parse import quote, unquote

        names = ("region", "scheme", "endpoint_override")
        pairs = (pair.partition("=") for pair in self.query.split("&"))
        values = [value for key, _, value in pairs if key not in names]
        user, _, password = self.user_info.partition(":")
        values += [password] if self.scheme in _USER_IS_PLACE else [user, password]
        found = {form for value in values for form in (value, unquote(value), quote(value, ""))}
        return tuple(sorted((form for form in found if len(form) > 3), key=len, reverse=True))


def _joined(scheme: str, user_info: str, host: str, path: str) -> str:
    user = f"{user_info}@" if user_info else ""
    return f"{scheme}://{user}{host}/{path}" if path or not host else f"{scheme}://{user}{host}"


def parse_uri(text: str) -> Uri:
    """Take a URI apart.

    Raises:
        SourceError: It is none.
    """
    match = _URI.fullmatch(text)
    if match is None:
        raise SourceError("that is not a URI", hint="a URI is SCHEME://BUCKET/PATH")
    scheme = match[1].lower()
    rest, query = match[3], ""
    if found := _QUERY.search(rest):
        rest, query = rest[: found.start()], found[1] or ""
    user_info, _, host = match[2].rpartition("@")
    return Uri(_ALIASES.get(scheme, scheme), host, rest.strip("/"), user_info, query)


def shown(text: str | os.PathLike[str]) -> str:
    """A path as it is, or a URI without what it holds of credentials and settings."""
    text = os.fspath(text)
    return parse_uri(text).shown if _URI.match(text) else text


def local_path(text: str) -> str | None:
    """The path that a ``file:`` URI means; None for every other text.

    Raises:
        SourceError: It names another host.
    """
    match = _FILE.fullmatch(text)
    if match is None:
        if text[:7].lower() == "file://":
            raise SourceError(
                f"{text}: names a host but no path", hint="write file:///PATH with three /"
            )
        return None
    if match["host"] not in (None, "", "localhost"):
        raise SourceError(
            f"{text}: names the host {match['host']}", hint="file:///PATH is on this machine"
        )
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(match["path"] or match["rest"]))


def unquoted(path: str, whole: str) -> str:
    """A path of a URI without its ``%XX``; `whole` names it in errors.

    Raises:
        SourceError: It is not UTF-8.
    """
    from urllib.parse import unquote

    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError as error:
        raise SourceError(f"{whole}: its %XX are not UTF-8") from error


def quoted(path: str) -> str:
    """A path with ``%XX`` for what would mean something else in a URI or on a terminal."""
    if path.isalnum():
        return path
    from urllib.parse import quote

    return "".join(
        quote(char, safe="") if char in _QUOTED or not char.isprintable() else char for char in path
    )
