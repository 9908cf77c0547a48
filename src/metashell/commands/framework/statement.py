"""Lines as statements: ``;``, ``&&`` and ``||`` between commands, ``>`` and ``|`` behind one.

Owns where a command line ends, what becomes of its output, and whether a line goes on below.
`metashell.commands.framework.command_line` splits words. Pure functions over text.

Everything behind the first ``|`` belongs to the shell of the system, further operators included.
A statement of ``sql`` without quotes keeps its ``>`` and ``;``.

Scripts: a command a line, and what a line goes on in.

Owns how a script is read, whether it is a file, a pipe or standard input. A script may be endless:
lines are given as they come.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from metashell.commands.framework.command_line import Word, complete_at
from metashell.dataclass import dataclass
from metashell.errors import UsageError

_SEPARATORS: Final = (";", "&&", "||")
_OPERATORS: Final = re.compile(r"&&|\|\||>>|[;|>]")
_SQL: Final = frozenset(
    {
        "alter", "create", "delete", "describe", "drop", "explain", "from", "insert", "pivot",
        "select", "show", "summarize", "table", "unpivot", "update", "values", "with",
    }
)  # fmt: skip
"""Words that begin a statement of SQL."""
_CLOSES_EXEC: Final = frozenset({";", "\\;", "';'", '";"', "+"})


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file of the system that takes what a command prints."""

    target: str
    """Its path, as typed without quotes, ``~`` resolved."""
    appends: bool
    """Whether the file keeps what it has."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One command of a line."""

    command: str
    """The command and its arguments, not yet split."""
    after: str = ""
    """The operator before it: ``;``, ``&&``, ``||``, or empty for the first."""
    pipeline: str | None = None
    """The command line of the system's shell that reads the output, or None."""
    redirect: Redirect | None = None
    """The file that takes the output, or None."""

    def is_due(self, status: int) -> bool:
        """Whether it runs behind a command that ended with that status."""
        return not self.after or self.after == ";" or (self.after == "&&") == (status == 0)


def is_comment(line: str) -> bool:
    """Whether a line says nothing to run."""
    return line.lstrip().startswith("#")


def for_system(line: str) -> str | None:
    """The part of a line behind ``!``, for the system's shell; None for other lines."""
    stripped = line.strip()
    return stripped[1:].strip() if stripped.startswith("!") else None


def statements(line: str) -> list[Statement]:
    """Take a line apart; a comment and an empty line have no statement.

    Raises:
        UsageError: An operator lacks a neighbour, or an output goes to two places.
    """
    line = join_continued(line)
    if not line.strip() or is_comment(line):
        return []
    found: list[Statement] = []
    begin, after = 0, ""
    marks: list[tuple[int, str]] = []
    for pos, operator in [*operators(line), (len(line), "")]:
        if operator and operator not in _SEPARATORS:
            marks.append((pos, operator))
            if operator != "|":
                continue
        stop = len(line) if operator == "|" else pos
        text = line[begin:stop]
        if text.strip() or operator not in {"", ";"} or after not in {"", ";"}:
            found.append(_statement(line, begin, stop, after, marks, operator))
        marks, after = [], operator
        begin = pos + len(operator)
        if stop == len(line):
            break
    return found


def is_plain(line: str) -> bool:
    """Whether a line is one command whose output stays where it is."""
    return not operators(line)


def operators(line: str) -> list[tuple[int, str]]:
    """Operators outside of quotes, with their positions; the first ``|`` is the last one told."""
    found: list[tuple[int, str]] = []
    begin = 0
    is_sql = _is_bare_sql(line)
    for pos, operator in _unquoted(line):
        if is_sql and operator != "|":
            continue
        if operator == ";" and _is_of_exec(line[begin:pos], line[pos + 1 :]):
            continue
        found.append((pos, operator))
        if operator == "|":
            break
        if operator in _SEPARATORS:
            begin = pos + len(operator)
            is_sql = _is_bare_sql(line[begin:])
    return found


def last_statement(line: str) -> tuple[int, str]:
    """Where the statement at the end of a line begins, and the operator before the cursor.

    The operator is ``|`` behind a pipe, ``>`` where a file is due, else empty; the position is then
    the one behind it.
    """
    begin, waits, where = 0, "", 0
    for pos, operator in operators(line):
        if operator in _SEPARATORS:
            begin, waits = pos + len(operator), ""
        else:
            waits, where = operator[0], pos + len(operator)
    if waits == ">" and complete_at(line[where:], len(line) - where).before:
        return begin, ""
    return (where, waits) if waits else (begin, "")


def needs_more(line: str) -> bool:
    """Whether a line goes on below: a quote is open, or it ends with a backslash."""
    first = line.lstrip()[:1]
    if first == "#" or not first:
        return False
    if first == "!":
        return _ends_with_backslash(line)
    quote = ""
    pos = 0
    while pos < len(line):
        character = line[pos]
        if character == "\\" and quote != "'":
            if pos + 1 == len(line):
                return True
            pos += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "|" and line[pos : pos + 2] != "||":
            return _ends_with_backslash(line)
        elif character == "|":
            pos += 1
        pos += 1
    return bool(quote)


def join_continued(text: str) -> str:
    """Take out each backslash at a line's end together with that end."""
    if "\\\n" not in text:
        return text
    kept: list[str] = []
    quote = ""
    pos = 0
    while pos < len(text):
        character = text[pos]
        following = text[pos + 1 : pos + 2]
        if character == "\\" and quote != "'" and following:
            if following != "\n":
                kept.append(character + following)
            pos += 2
            continue
        if character in "'\"":
            quote = "" if quote == character else quote or character
        kept.append(character)
        pos += 1
    return "".join(kept)


def logical_lines(text: str) -> Iterator[str]:
    """The lines of a text, each with those that it goes on in."""
    held: list[str] = []
    for line in text.split("\n"):
        held.append(line)
        whole = "\n".join(held)
        if not needs_more(whole):
            yield whole
            held.clear()
    if held:
        yield "\n".join(held)


def one_line(text: str) -> str:
    """A line that goes on below as one line that means the same; line ends in quotes are spaces."""
    return join_continued(text).replace("\n", " ")


def _unquoted(line: str) -> Iterator[tuple[int, str]]:
    quote = ""
    pos = 0
    while pos < len(line):
        character = line[pos]
        if character == "\\" and quote != "'":
            pos += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            match = _OPERATORS.match(line, pos)
            if match is not None:
                yield pos, match.group()
                pos = match.end()
                continue
        pos += 1


def _statement(
    line: str, begin: int, stop: int, after: str, marks: Sequence[tuple[int, str]], operator: str
) -> Statement:
    """The statement of a stretch of a line.

    Raises:
        UsageError: It is none.
    """
    first = marks[0][0] if marks else stop
    command = line[begin:first]
    redirect: Redirect | None = None
    pipeline: str | None = None
    for pos, mark in marks:
        if redirect is not None:
            where = "another file" if mark != "|" else "a pipe"
            raise UsageError(
                f"the output already goes to {redirect.target}, and can't go to {where} too",
                hint="redirect a command once",
            )
        if mark == "|":
            pipeline = line[pos + 1 :].strip()
            if not pipeline:
                raise UsageError("no program after |", hint="such as `ls | less`")
            break
        end = next((other for other, _ in marks if other > pos), stop)
        redirect, rest = _redirect(line[:pos], line[pos + len(mark) : end], mark)
        command = f"{command.rstrip()}{rest}" if rest.strip() else command
    command = command.strip()
    if not command:
        what = marks[0][1] if marks else operator if operator not in {"", ";"} else after
        side = "after" if not marks and operator in {"", ";"} else "before"
        raise UsageError(f"no command {side} {what}")
    return Statement(command, after, pipeline, redirect)


def _redirect(before: str, behind: str, mark: str) -> tuple[Redirect, str]:
    """The file behind ``>``, and what the command goes on with."""
    if before[-1:] in {"&", "1", "2"} and before[-2:-1] in {"", " ", "\t"}:
        if before[-1] != "1":
            raise UsageError(
                f"{before[-1]}{mark}: only standard output goes to a file",
                hint="`metashell ... 2> FILE` redirects the diagnostics of a whole run",
            )
        raise UsageError(f"1{mark}: leave out the 1", hint=f"such as `ls {mark} FILE`")
    if behind[:1] == "&":
        raise UsageError(f"{mark}&: only files can be written to", hint=f"such as `ls {mark} FILE`")
    stripped = behind.lstrip()
    words = [*(at := complete_at(stripped, len(stripped))).before, at.word]
    if not words[0]:
        raise UsageError(f"no file after {mark}", hint=f"such as `ls {mark} FILE`")
    target = words[0]
    return Redirect(_expanded(target), mark == ">>"), stripped[target.stop :]


def _expanded(word: Word) -> str:
    if not word.raw.startswith("~"):
        return str(word)

    return os.path.expanduser(str(word))


def _is_bare_sql(line: str) -> bool:
    """Whether a line is a statement of ``sql`` that stands in no quotes."""
    words = line.split(None, 1)
    if len(words) < 2 or words[0] != "sql":
        return False
    for word in words[1].split():
        if word[0] in "'\".;|>&":
            return False
        if word.rstrip("(;*").lower() in _SQL:
            return True
    return False


def _is_of_exec(before: str, behind: str) -> bool:
    """Whether a ``;`` ends an ``-exec`` of ``find`` rather than the command."""
    if before[-1:] not in {" ", "\t"} or (behind and not behind[0].isspace()):
        return False
    words = before.split()
    if "-exec" not in words or words[0] != "find":
        return False
    last = len(words) - 1 - words[::-1].index("-exec")
    return _CLOSES_EXEC.isdisjoint(words[last + 1 :])


def _ends_with_backslash(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


_LINE_MAX_BYTES: Final = 1 << 20
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line, not yet split."""

    text: str
    place: str = ""
    """Where it stands in a script, such as ``setup.txt:3: ``; precedes each of its diagnostics."""


def open_script(path: str) -> BinaryIO:
    """Open a script, which may be a pipe.

    Raises:
        UsageError: It can't be opened, or is a directory.
    """
    try:
        stream = open(path, "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise UsageError(f"{path}: {reason}") from error
    if not stat.S_ISDIR(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise UsageError(f"{path}: Is a directory")


def script_lines(stream: BinaryIO, name: str) -> Iterator[CommandLine]:
    """Yield the lines of a script that say something, as they come.

    A line that ends with a backslash, or in a quote, goes on in the next one.

    Raises:
        UsageError: It can't be read, or is no text.
    """
    with stream:
        first, held = 0, ""
        for number, text in _rows(stream, name):
            held = f"{held}\n{text}" if first else text
            first = first or number
            if len(held) > _LINE_MAX_BYTES:
                raise UsageError(f"{name}:{first}: longer than {_LINE_MAX_BYTES:,} bytes")
            if needs_more(held):
                continue
            if held.strip() and not is_comment(held):
                yield CommandLine(held.strip(), f"{name}:{first}: ")
            first, held = 0, ""
        if held.strip():
            yield CommandLine(held.lstrip(), f"{name}:{first}: ")


def _rows(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """The rows of a script with their numbers."""
    number = 0
    while True:
        try:
            raw = stream.readline(_LINE_MAX_BYTES + 1)
        except OSError as error:
            raise UsageError(f"{name}: {error.strerror or error}") from error
        if not raw:
            return
        number += 1
        if b"\0" in raw:
            raise UsageError(f"{name}:{number}: not a script: it holds a NUL byte")
        if len(raw) > _LINE_MAX_BYTES:
            raise UsageError(f"{name}:{number}: longer than {_LINE_MAX_BYTES:,} bytes")
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        yield number, raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
