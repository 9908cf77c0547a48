"""The manual page as roff."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from metashell.cli.arguments import OPTIONS
from metashell.cli.settings import ANYWHERE, variable_of
from metashell.errors import ExitCode
from support.scripts import script
from support.waiting import LIMIT_S

man_page = script("man_page")


@pytest.mark.parametrize(
    ("text", "roff"),
    [
        ("--at -2h", r"\-\-at \-2h"),
        (".schema", r"\&.schema"),
        ("'a' `b` ~ ^ \"", r"\(aqa\(aq \(gab\(ga \(ti \(ha \(dq"),
        ("a\\b", r"a\eb"),
        ("é\n", r"\[u00E9]\[u000A]"),
    ],
)
def test_text_is_literal(text: str, roff: str) -> None:
    """Nothing in it is a request, an escape or another character."""
    assert roff == man_page._text(text)


def test_page_is_ascii_and_has_no_stray_requests() -> None:
    """Each line that begins with a dot is one of ours."""
    page = man_page.render()
    assert page.isascii()
    requests = set(re.findall(r"^(\.\S*|'.*)", page, re.MULTILINE))
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".br", ".nf", ".fi", ".RS", ".RE"}


def test_page_names_variables_and_statuses() -> None:
    """All of both."""
    plain = man_page.render().replace(r"\-", "-")
    names = [variable_of(flag) for flag in OPTIONS if flag.long in ANYWHERE]
    assert [] == [name for name in names if rf"\fB{name}\fP" not in plain]
    assert "METASHELL_SHOW_SECRETS" not in plain
    assert {int(status) for status, _ in man_page.EXIT_STATUS} == {code.value for code in ExitCode}


@pytest.mark.parametrize(
    "checker", [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-Tutf8", "-ww", "-z"]]
)
def test_formatters_have_no_complaints(checker: list[str]) -> None:
    """Of the formatters that are installed; there is no date, so that builds are reproducible."""
    if shutil.which(checker[0]) is None:
        pytest.skip(f"{checker[0]} is not installed")
    ran = subprocess.run(
        checker,
        input=man_page.render(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    told = (ran.stdout + ran.stderr).splitlines()
    assert [] == [line for line in told if "missing date" not in line]
