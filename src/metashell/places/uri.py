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

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://(.*)", re.DOTALL)
_FILE: Final = re.compile(
    r"file:(?://(?P<host>[^/]*)(?P<path>/.*)|(?P<rest>/(?!/).*))", re.DOTALL | re.IGNORECASE
)
_QUERY: Final = re.compile(r"\?((?:[A-Za-z_][\w.\-]*=[^&]*)(?:&[A-Za-z_][\w.\-]*=[^&]*)*)?\Z")
"""A question mark that begins no query is one of a pattern."""

_IN_TEXT: Final = re.compile(
    r"(?P<begin>(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*)(?::/+|[:;]?//+)"
    r"|\b(?P<known>s3[an]?|gc?s|abfss?|hdfs|viewfs|https?|file)(?:[:;]/*|/)"
    r"|(?<![^\s`'\"=]):?//+)"
    r"(?P<rest>[^\s`'\"]+)",
    re.IGNORECASE,
)
"""Matches a possible URI in a line of text, also one with a mistyped colon, slash or scheme."""
_AUTHORITY: Final = re.compile(r"[^/?]*")
_WITH_PORT: Final = re.compile(r"(?:[^:]*|\[.*\]):[0-9]{1,5}")

_ALIASES: Final = {"gcs": "gs", "s3a": "s3", "s3n": "s3"}
"""Other names of a scheme, as Hadoop and older tools have them."""

_BUCKETS: Final = frozenset({"s3", "gs"})
"""Schemes whose hosts have no port."""

_SETTINGS: Final = frozenset(
    {
        "region", "scheme", "endpoint_override", "anonymous", "force_virtual_addressing",
        "role_arn", "tls_ca_file_path", "connect_timeout", "request_timeout",
        "retry_limit_seconds", "allow_bucket_creation", "allow_bucket_deletion",
        "allow_delayed_open", "background_writes",
    }
)  # fmt: skip
"""Keys of a query that are no credentials; every other one may be."""

_USER_IS_PLACE: Final = frozenset({"abfs", "abfss", "hdfs", "viewfs"})
"""Schemes whose user is part of where something is: a container, an account, a user's name."""

_ARCHIVE: Final = "archive"
"""The scheme of an archive's members; the host is the quoted path of the archive."""
ANY_NAME: Final = "surrogateescape"
"""Names of files need not be UTF-8."""

_QUOTED: Final = frozenset("%?#*[]{} ")
"""Characters that would have another meaning in a path if they were not quoted."""


def is_uri(text: str | os.PathLike[str]) -> bool:
    """Whether a place is given as a URI; every other text is a path."""
    text = os.fspath(text)
    return _URI.match(text) is not None or _FILE.match(text) is not None


def is_archive(text: str) -> bool:
    """Whether a place is in an archive."""
    return text.startswith(f"{_ARCHIVE}://")


def archive_uri(path: str) -> str:
    """The URI of the root of an archive."""
    from urllib.parse import quote

    return f"{_ARCHIVE}://{quote(path, safe='', errors=ANY_NAME)}"


def holds_credentials(text: str) -> bool:
    """Whether a line holds a URI with something in it that may be written nowhere."""
    return without_credentials(text) != text


def without_credentials(text: str) -> str:
    """A line of text without what the URIs in it hold of credentials.

    Every line that is printed beside the data goes through it (`metashell.fs.escape.diagnostic`).
    """
    return _IN_TEXT.sub(_bare, text)


def _bare(match: re.Match[str]) -> str:
    """A URI in a text, as far as it may be shown."""
    begin, rest = match["begin"], match["rest"]
    scheme = (match["scheme"] or match["known"] or "").lower()
    scheme = _ALIASES.get(scheme, scheme)
    user, rest = _split(scheme, rest)
    # With a slash too few or too many it is a path, unless that says more than a name.
    is_path = not begin.endswith("://") or begin.endswith(":///")
    is_store = scheme in {*_BUCKETS, "http", "https"} and (":" in begin or "//" in begin)
    if is_path and not is_store and ":" not in user and (user or ":/" not in begin):
        return match[0]
    if user and scheme in _USER_IS_PLACE:
        rest = f"{user.partition(':')[0]}@{rest}"
    found = re.search(r"\?([A-Za-z_][\w.\-]*=.*)", rest)
    keys = {pair.partition("=")[0] for pair in found[1].split("&")} if found else set()
    return begin + (rest[: found.start()] if found and keys - _SETTINGS else rest)


def _split(scheme: str, rest: str) -> tuple[str, str]:
    """Split the part of a URI behind its slashes into (user and password, the rest).

    A key may hold slashes and question marks that nobody encoded.
    """
    found = _AUTHORITY.match(rest)
    assert found is not None
    if "@" in found[0]:
        user, _, host = found[0].rpartition("@")
        return user, host + rest[found.end() :]
    has_port = scheme not in _BUCKETS and _WITH_PORT.fullmatch(found[0])
    if ":" in found[0] and not has_port and "@" in rest:
        user, _, rest = rest.partition("@")
        return user, rest
    return "", rest


@dataclass(frozen=True, slots=True)
class Uri:
    """A URI taken apart."""

    scheme: str
    host: str
    """With its port; the bucket of an object store."""
    path: str
    """The path, still encoded, without the slashes around it."""
    user_info: str = field(default="", repr=False)
    """The text before the ``@``."""
    query: str = field(default="", repr=False)

    @property
    def archive(self) -> str | None:
        """The path of the archive in which it is; None outside of archives."""
        if self.scheme != _ARCHIVE:
            return None
        return unquoted(self.host, "", ANY_NAME)

    @property
    def shown(self) -> str:
        """The URI without credentials and settings; for an archive its path and the member's."""
        if (archive := self.archive) is not None:
            return f"{archive}/{unquoted(self.path, '', ANY_NAME)}" if self.path else archive
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
        """Texts that may be printed nowhere."""
        from urllib.parse import unquote

        pairs = (pair.partition("=") for pair in self.query.split("&"))
        values = [value for key, _, value in pairs if key not in _SETTINGS]
        user, _, password = self.user_info.partition(":")
        values += [password] if self.scheme in _USER_IS_PLACE else [user, password]
        return tuple({form for value in values for form in (value, unquote(value)) if form})


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
    scheme = _ALIASES.get(scheme, scheme)
    user_info, rest = _split(scheme, match[2])
    authority = _AUTHORITY.match(rest)
    assert authority is not None
    host, rest, query = authority[0], rest[authority.end() :], ""
    if found := _QUERY.search(rest):
        rest, query = rest[: found.start()], found[1] or ""
    return Uri(scheme, host, rest.strip("/"), user_info, query)


def shown(text: str | os.PathLike[str]) -> str:
    """A path as it is, or a URI without what it holds of credentials and settings."""
    text = os.fspath(text)
    return parse_uri(text).shown if _URI.match(text) else without_credentials(text)


def local_path(text: str) -> str | None:
    """The path that a ``file:`` URI means; None for every other text.

    Raises:
        SourceError: It names another host.
    """
    match = _FILE.fullmatch(text)
    if match is None:
        if text[:7].lower() == "file://":
            raise SourceError(
                f"{shown(text)}: names a host but no path", hint="write file:///PATH with three /"
            )
        return None
    if match["host"] not in (None, "", "localhost"):
        host = parse_uri(text).host
        what = f"names the host {host}" if host else "names a user"
        raise SourceError(f"{shown(text)}: {what}", hint="file:///PATH is on this machine")
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(match["path"] or match["rest"]))


def unquoted(path: str, whole: str, errors: str = "strict") -> str:
    """A path of a URI without its ``%XX``; `whole` names it in errors.

    Raises:
        SourceError: It is not UTF-8.
    """
    from urllib.parse import unquote

    try:
        return unquote(path, errors=errors)
    except UnicodeDecodeError as error:
        raise SourceError(f"{whole}: its %XX are not UTF-8") from error


def quoted(path: str) -> str:
    """A path with ``%XX`` for what would mean something else in a URI or on a terminal."""
    if path.isalnum():
        return path
    from urllib.parse import quote

    return "".join(
        quote(char, "", errors=ANY_NAME) if char in _QUOTED or not char.isprintable() else char
        for char in path
    )
