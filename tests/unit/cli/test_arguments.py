"""The grammar of the command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metashell.cli.arguments import OPTIONS, parse_arguments
from metashell.cli.usage import full_help_text, help_text
from metashell.commands.shared.cheat_sheet import LINES
from metashell.errors import UsageError


@pytest.mark.parametrize(
    ("argv", "values", "words"),
    [
        ([], {}, ()),
        (["-d", "x"], {"--directory": ("x",)}, ()),
        (["-dx", "ls"], {"--directory": ("x",)}, ("ls",)),
        (["-d=x"], {"--directory": ("x",)}, ()),
        (["--directory=x=y"], {"--directory": ("x=y",)}, ()),
        (["--directory", "-x"], {"--directory": ("-x",)}, ()),
        (["--bootstrap-controller", "h:1"], {"--bootstrap-controllers": ("h:1",)}, ()),
        (["-qh:1", "--live", "--timeout=5"],
         {"--bootstrap-controllers": ("h:1",), "--live": ("",), "--timeout": ("5",)}, ()),
        (["-c", "a", "-c", "b"], {"--command": ("a", "b")}, ()),
        (["--strict", "--strict"], {"--strict": ("", "")}, ()),
        (["-dx", "ls", "-1", "-d", "-h"], {"--directory": ("x",)}, ("ls", "-1", "-d", "-h")),
        (["-d", "x", "--", "-weird", "--"], {"--directory": ("x",)}, ("-weird", "--")),
        (["-s", "x", "find", "/", "--", "-x"], {"--snapshot": ("x",)}, ("find", "/", "--", "-x")),
        (["-"], {}, ("-",)),
        (["", "x"], {}, ("", "x")),
        (["-hV"], {"--help": ("",)}, ()),
        (["--version", "--nonsense"], {"--version": ("",)}, ("--nonsense",)),
        (["--help", "all"], {"--help": ("",)}, ("all",)),
    ],
)  # fmt: skip
def test_reads(argv: list[str], values: dict[str, tuple[str, ...]], words: tuple[str, ...]) -> None:
    """Options end at the first word that is none; the rest is the command's."""
    arguments = parse_arguments(argv)
    assert (values, words) == (dict(arguments.values), arguments.words)


@pytest.mark.parametrize(
    ("argv", "demo", "words"),
    [
        (["demo"], True, ()),
        (["demo", "ls", "demo"], True, ("ls", "demo")),
        (["--show-secrets", "demo", "-c", "ls"], True, ()),
        (["-d", "x", "ls", "demo"], False, ("ls", "demo")),
        (["-d", "demo"], False, ()),
        (["demo", "demo"], True, ("demo",)),
        (["--", "demo"], False, ("demo",)),
    ],
)
def test_demo_is_a_source(argv: list[str], demo: bool, words: tuple[str, ...]) -> None:
    """The first word `demo` chooses the sample; options may follow it."""
    arguments = parse_arguments(argv)
    assert (demo, words) == (arguments.demo, arguments.words)


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        (["--dir", "x"], "unknown option `--dir`", "`--directory`"),
        (["--show-secret"], "unknown option `--show-secret`", "`--show-secrets`"),
        (["--xyzzy"], "unknown option `--xyzzy`", "`metashell --help all`"),
        (["-x"], "unknown option `-x`", ""),
        (["-d"], "`-d/--directory` needs a value: DIR", ""),
        (["-s", "x", "-s", "y"], "`-s/--snapshot` is given twice", ""),
        (["--strict=yes"], "`--strict` takes no value", ""),
    ],
)
def test_refuses(argv: list[str], message: str, hint: str) -> None:
    """A mistake is named, with what was probably meant."""
    with pytest.raises(UsageError) as caught:
        parse_arguments(argv)
    assert message == caught.value.message
    assert hint in (caught.value.hint or "")


def test_help_fits_one_screen() -> None:
    """24 lines of 80 columns hold it and the prompt below, with ten everyday commands."""
    lines = help_text().splitlines()
    assert len(lines) <= 23
    assert [] == [line for line in lines if len(line) > 80]
    everyday = [line for line in LINES if line.is_everyday]
    assert 10 == len(everyday)
    for expected in everyday:
        assert any(expected.line in line and expected.meaning in line for line in lines)


def test_full_help_shows_every_option_within_80_columns() -> None:
    """`--help all` has all options."""
    text = full_help_text()
    missing = [option.long for option in OPTIONS if option.long not in text]
    too_long = [line for line in text.splitlines() if len(line) > 80]
    assert ([], []) == (missing, too_long)


@pytest.mark.parametrize("text", [help_text, full_help_text])
def test_help_is_plain_unless_bold(text: Callable[..., str]) -> None:
    """Escape sequences come only where they are asked for."""
    assert "\x1b" not in text()
    assert "\x1b[1mUsage:\x1b[0m" in text(bold=True)
