"""JAAS login entries, as ``sasl.jaas.config`` holds them: text to a module and its options.

Owns the syntax, which is that of Java's StreamTokenizer as Kafka sets it up, and which login module
goes with which mechanism. Must never put a piece of the text into an error, but for the name of a
login module: one quote too few, and any piece of it may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError

_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})
_KAFKA: Final = "org.apache.kafka.common.security"
_SCRAM: Final = f"{_KAFKA}.scram.ScramLoginModule"
_MODULES: Final[Mapping[str, str]] = {
    "PLAIN": f"{_KAFKA}.plain.PlainLoginModule",
    "SCRAM-SHA-256": _SCRAM,
    "SCRAM-SHA-512": _SCRAM,
    "OAUTHBEARER": f"{_KAFKA}.oauthbearer.OAuthBearerLoginModule",
    "GSSAPI": "com.sun.security.auth.module.Krb5LoginModule",
}
_MODULE_NAME: Final = re.compile(r"(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]{0,60}Module")
_SHOWN_MAX: Final = 200

_QUOTES: Final = "\"'"
_ENDS_OF_LINE: Final = "\r\n"
_ESCAPES: Final[Mapping[str, str]] = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
_OCTAL: Final = re.compile("[0-3]?[0-7]{1,2}")
# Java takes these for letters: all but blanks, quotes, comments, the two signs, and the control
# characters of Latin-1 behind its first.
_WORD: Final = re.compile(r"[^\x00-\x20\"'/;=\x81-\x9f]+")
_END_OF_LINE: Final = re.compile(r"[\r\n]|\Z")


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """A login module and what it is told."""

    module: str = field(repr=False)
    """Name of a Java class, if all is well."""
    options: Mapping[str, str] = field(repr=False)


def login_module(mechanism: str) -> str:
    """The class that logs in for a mechanism of `metashell.security.settings.MECHANISMS`."""
    return _MODULES[mechanism]


def parse_jaas(text: str, what: str) -> JaasEntry:
    """Read the one entry of ``sasl.jaas.config``.

    Args:
        text: Such as ``org...PlainLoginModule required username="a" password="b";``.
        what: The file and key that hold the text, for errors.

    Raises:
        SourceError: It is no entry, or more than one.
    """
    tokens = _tokens(text)
    module, sign = next(tokens, ("", ""))
    if sign or not module:
        raise SourceError(f"{what} does not name a login module", hint=_hint())
    flag, sign = next(tokens, ("", ""))
    if sign or flag.lower() not in _FLAGS:
        raise SourceError(
            f"{what}: the word after the login module must be "
            "`required`, `requisite`, `sufficient` or `optional`",
            hint=_hint(),
        )
    options: dict[str, str] = {}
    for name, sign in tokens:
        if sign == ";":
            break
        # Java takes a sign for a name without letters; nobody means that.
        equals, value, value_sign = "", "", "?"
        if not sign:
            equals = next(tokens, ("", ""))[1]
            value, value_sign = next(tokens, ("", "?"))
        if equals != "=" or value_sign:
            raise SourceError(
                f"{what}: option {len(options) + 1} is not NAME=VALUE",
                hint='put a value with spaces or signs in quotes: `password="..."`',
            )
        options[name] = value
    else:
        raise SourceError(
            f"{what} does not end with `;`", hint="is a quote missing before the end?"
        )
    if next(tokens, None) is not None:
        raise SourceError(f"{what} must hold one login module, but text follows its `;`")
    return JaasEntry(module, options)


def check_module(entry: JaasEntry, mechanism: str, what: str) -> None:
    """Refuse a login module that is not the one of the mechanism.

    Only the name of the class counts, not its package: some builds of Kafka's clients move it.

    Raises:
        SourceError: It is of another mechanism; names both classes.
    """
    wanted = _MODULES[mechanism]
    if entry.module.rpartition(".")[2] == wanted.rpartition(".")[2]:
        return
    found = entry.module[: _SHOWN_MAX + 1]
    if len(found) > _SHOWN_MAX or not _MODULE_NAME.fullmatch(found):
        found = "something else"
    raise SourceError(
        f"{what}: {mechanism} logs in with {wanted}, not with {found}",
        hint="the mechanism and the login module must fit each other",
    )


def _hint() -> str:
    return f'it looks like `{_MODULES["PLAIN"]} required username="..." password="...";`'


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Words with an empty sign, and signs with an empty word."""
    pos = 0
    while pos < len(text):
        char = text[pos]
        if char <= " ":
            pos += 1
        elif char == "/":
            pos = _after_comment(text, pos)
        elif char in _QUOTES:
            word, pos = _quoted(text, pos)
            yield word, ""
        elif word_match := _WORD.match(text, pos):
            pos = word_match.end()
            yield word_match[0], ""
        else:
            pos += 1
            yield "", char


def _after_comment(text: str, pos: int) -> int:
    """Where a comment ends; a single slash begins one too."""
    if text.startswith("/*", pos):
        end = text.find("*/", pos + 2)
        return len(text) if end < 0 else end + 2
    end_of_line = _END_OF_LINE.search(text, pos)
    return end_of_line.start() if end_of_line else len(text)


def _quoted(text: str, pos: int) -> tuple[str, int]:
    """The text in quotes, and where reading goes on; the end of the line ends it too."""
    quote = text[pos]
    pos += 1
    chars: list[str] = []
    while pos < len(text) and text[pos] != quote and text[pos] not in _ENDS_OF_LINE:
        if text[pos] != "\\" or pos + 1 == len(text):
            chars.append(text[pos])
            pos += 1
        elif octal := _OCTAL.match(text, pos + 1):
            chars.append(chr(int(octal[0], 8)))
            pos = octal.end()
        else:
            char = text[pos + 1]
            chars.append(_ESCAPES.get(char, char))
            pos += 2
    return "".join(chars), pos + 1 if text[pos : pos + 1] == quote else pos
