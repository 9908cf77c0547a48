"""What is run, in which order, where it stops and with which status."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.commands.framework import run as commands_run
from metashell.kernel.library import description
from metashell.repl.session import ShellSession
from unit.cli.conftest import Program


def test_words_survive_as_they_are(program: Program) -> None:
    """The system's shell has split them already; nothing splits them again."""
    words = ("echo", "a  b", "it's", '"', "", "-1", "--help", "$x", "# no comment")
    assert 0 == program("-d", "x", *words).code
    assert [words] == program.runner.words


@pytest.mark.parametrize(
    ("argv", "code", "out"),
    [
        (["-c", "echo a", "-c", "echo b"], 0, "a\nb\n"),
        (["-c", "echo a", "-c", "fail", "-c", "echo b"], 1, "a\n"),
        (["-c", "nonsense", "-c", "echo b"], 2, ""),
        (["--keep-going", "-c", "nonsense", "-c", "fail", "-c", "echo b"], 2, "b\n"),
        (["--keep-going", "-c", "raise", "-c", "nonsense", "-c", "echo b"], 1, "b\n"),
        (["-c", "echo a", "-c", "boom", "-c", "echo b"], 70, "a\n"),
        (["--keep-going", "-c", "raise", "-c", "boom", "-c", "fail"], 70, ""),
        (["--keep-going", "-c", "boom", "-c", "echo b"], 70, "b\n"),
        (["--keep-going", "-c", "interrupt", "-c", "echo b"], 130, ""),
        (["-c", "echo a", "-c", "exit", "-c", "echo b"], 0, "a\n"),
        (["--keep-going", "-c", "fail", "-c", "exit", "-c", "echo b"], 1, ""),
        (["-c", "echo a", "-c", "exit 3", "-c", "echo b"], 3, "a\n"),
        (["--keep-going", "-c", "fail", "-c", "exit 0", "-c", "echo b"], 0, ""),
    ],
)
def test_stops_at_the_first_failure(program: Program, argv: list[str], code: int, out: str) -> None:
    """Unless --keep-going; the status is the first failure's either way."""
    result = program("-d", "x", *argv)
    assert (code, out) == (result.code, result.out)


SCRIPT = b"""\xef\xbb\xbfecho a
  # a remark

\techo b \r
fail /x
echo c
nonsense
"""


@pytest.mark.parametrize("argv", [[], ["-f", "-"]])
def test_script_on_standard_input(program: Program, argv: list[str]) -> None:
    """Remarks and empty lines say nothing; an error names the line."""
    result = program("-d", "x", *argv, stdin=SCRIPT)
    assert (1, "a\nb\n") == (result.code, result.out)
    assert "stdin:5: fail: /x: No such file or directory\n" == result.err


def test_script_file(program: Program, tmp_path: Path) -> None:
    """An error names the file as it was given."""
    script = tmp_path / "s.txt"
    script.write_bytes(SCRIPT)
    result = program("-d", "x", "--keep-going", "-f", str(script))
    assert (1, "a\nb\nc\n") == (result.code, result.out)
    assert result.err.splitlines() == [
        f"{script}:5: fail: /x: No such file or directory",
        f"{script}:7: no such command: nonsense",
        "  hint: `help` lists them",
    ]


@pytest.mark.parametrize(
    ("script", "part"),
    [
        (b"echo a\n\x00\x01", "stdin:2: not a script: it holds a NUL byte"),
        (b"echo " + b"a" * (1 << 20), "stdin:1: longer than 1,048,576 bytes"),
    ],
)
def test_script_that_is_none(program: Program, script: bytes, part: str) -> None:
    """A binary file is refused at the line where it shows."""
    result = program("-d", "x", stdin=script)
    assert 2 == result.code
    assert part in result.err


def test_a_hint_stands_below_its_error(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place in the script precedes the error alone, also of commands' own errors."""
    monkeypatch.setattr(program, "runner", commands_run)
    result = program("-d", "x", stdin=b"\ncat\n")
    assert "stdin:2: cat: which path?\n  hint: usage: cat PATH...\n" == result.err


def test_an_empty_script_does_nothing(program: Program) -> None:
    """As with any shell."""
    assert 0 == program("-d", "x").code


def test_bytes_that_are_no_utf8_come_out_as_they_went_in(program: Program) -> None:
    """A script may name a path in any encoding."""
    assert "\udcff\n" == program("-d", "x", stdin=b"echo \xff\n").out


def test_an_error_has_one_line_and_a_hint(program: Program) -> None:
    """The hint stands on a line of its own."""
    result = program("-d", "x", "raise")
    assert "metashell: it can't be done\n  hint: try something else\n" == result.err


@pytest.mark.parametrize("argv", [["man", "ls"], ["ls", "--help"]])
def test_manual_needs_no_source(program: Program, argv: list[str]) -> None:
    """`man X` and `X --help` work before anything is opened."""
    result = program(*argv)
    assert (0, "manual of ls\n", []) == (result.code, result.out, program.opener.calls)


def test_interrupted(program: Program) -> None:
    """^C gives 130 and no traceback; half a buffer is not written."""
    result = program("-d", "x", "interrupt")
    assert (130, "", "") == (result.code, result.out, result.err)


def test_internal_error(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug is one line; the traceback comes when asked for."""
    monkeypatch.delenv("METASHELL_DEBUG", raising=False)
    plain = program("-d", "x", "boom")
    monkeypatch.setenv("METASHELL_DEBUG", "1")
    debug = program("-d", "x", "boom")
    assert (70, 70) == (plain.code, debug.code)
    assert plain.err.startswith("metashell: internal error: TypeError")
    assert "this is a bug of metashell\n" in plain.err
    assert "an unsupported thing" not in plain.err
    assert "METASHELL_DEBUG=1" in plain.err
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err


def test_interrupt_behind_another_error(program: Program) -> None:
    """^C while a C extension loads may surface as another exception."""
    program.opener.error = ImportError("numpy failed")
    program.opener.error.__cause__ = KeyboardInterrupt()
    assert 130 == program("-d", "x", "echo").code


def test_version(program: Program) -> None:
    """Name and version on one line."""
    result = program("--version")
    assert 0 == result.code
    assert result.out.startswith("metashell ")
    assert 1 == result.out.count("\n")


def test_version_with_what_it_runs_on(program: Program) -> None:
    """`--version -v` says which implementation decodes."""
    result = program("--version", "-v")
    assert 0 == result.code
    version, kernel, python = result.out.splitlines()
    assert [program("--version").out.rstrip(), f"kernel: {description()}"] == [version, kernel]
    assert python.startswith("python: 3.")


def test_terminal_gets_the_shell(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a command on a terminal, the shell runs over the source."""
    sessions: list[ShellSession] = []

    def run(session: ShellSession) -> int:
        sessions.append(session)
        program.opener.source.warnings.append("found later")
        return 5

    monkeypatch.setattr("metashell.repl.session.run", run)
    result = program("--show-secrets", "-d", "x", terminal=True)
    assert (5, "metashell: warning: found later\n") == (result.code, result.err)
    (session,) = sessions
    assert ("fake", True, 7) == (
        session.source_name,
        session.show_secrets,
        session.status().offset,
    )


def test_no_terminal_at_all_to_be_interactive_on(program: Program) -> None:
    """A terminal for input alone is not enough."""
    result = program("-d", "x", terminal=True, screen=False)
    assert 2 == result.code
    assert "not a script or a terminal" in result.err
