"""What `metashell --complete` proposes for a line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from metashell.cli import main
from metashell.cli.completion import SHELLS, script
from metashell.errors import UsageError
from support.fixtures import DEMO, SAMPLE
from support.waiting import LIMIT_S

CONFIG = f"""
[aliases]
names = "ls /image/topics/byName"
[clusters.prod-eu]
description = "Europe"
directory = "{SAMPLE}"
[clusters.prod-us]
bootstrap-controllers = "localhost:1"
"""


@pytest.fixture(autouse=True)
def _config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    monkeypatch.setenv("METASHELL_CONFIG_FILE", str(path))


def proposed(capfd: pytest.CaptureFixture[str], *args: str) -> list[str]:
    """The words that are proposed, nothing being said besides."""
    assert 0 == main(["--complete", *args])
    out, err = capfd.readouterr()
    assert "" == err
    return [line.partition("\t")[0] for line in out.splitlines()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("metashell --eng", ["--engine"]),
        ("metashell --engine ", ["auto", "local", "spark"]),
        ("metashell --engine=s", ["--engine=spark"]),
        ("metashell -d ", [":directories"]),
        ("metashell --keep-going -f ", [":files"]),
        ("metashell --config=", [":files"]),
        ("metashell -c ", []),
        ("metashell --cluster prod-e", ["prod-eu"]),
        ("metashell prod", ["prod-eu", "prod-us", "producers"]),
        ("metashell demo prod-", []),
        ("metashell -d x prod-", []),
        ("metashell --no-config prod-", []),
        ("metashell dem", ["demo"]),
        ("metashell prod-eu nam", ["names"]),
        ("metashell help chang", ["changes"]),
        ("metashell ls -1", ["-1"]),
        ("metashell demo ls /im", ["/image/"]),
        ("metashell demo tu", ["tui"]),
        ("metashell demo tui /im", ["/image/"]),
        ("metashell demo tui -", []),
        ("metashell --tu", ["--tui"]),
        ("metashell prod-eu ls /image/topics/byName/ord", ["/image/topics/byName/orders/"]),
        ("metashell prod-eu names /im", ["/image/"]),
        ("metashell prod-eu ls '/image/configs/GROUP:str",
         ["/image/configs/GROUP:streams%2Fgrp ü/"]),
        (f"metashell -d {DEMO} ls /im", ["/image/"]),
        (f"metashell -d{DEMO} ls /im", ["/image/"]),
        ("metashell prod-us ls /im", []),
        ("metashell -d s3://bucket/x ls /im", []),
        ("metashell -d /nowhere ls /im", []),
        ("metashell --nonsense ls /im", []),
        ("metashell nonsense ", []),
        ("metashell", []),
    ],
)  # fmt: skip
def test_proposals(capfd: pytest.CaptureFixture[str], line: str, words: list[str]) -> None:
    """Options, values, clusters, commands, paths; neither a quorum nor a store is asked."""
    assert words == proposed(capfd, "zsh", line)


def test_remarks(capfd: pytest.CaptureFixture[str]) -> None:
    """What each word is, behind a tab."""
    assert 0 == main(["--complete", "fish", "metashell prod-e"])
    assert "prod-eu\tEurope\n" == capfd.readouterr().out


def test_bash_is_given_what_it_replaces(capfd: pytest.CaptureFixture[str]) -> None:
    """What stands behind the last character at which it breaks words."""
    assert ["spark"] == proposed(capfd, "bash", "metashell --engine=s", "=:")
    assert ["--engine=spark"] == proposed(capfd, "bash", "metashell --engine=s", " ")
    line = f"metashell -d {SAMPLE} ls /image/configs/GROUP:str"
    assert ["streams%2Fgrp ü/"] == proposed(capfd, "bash", line, "=:")


def test_home_and_variables_are_filled_in(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As the shell will; nothing is run."""
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(DEMO.parent))
    monkeypatch.setenv("WHERE", str(DEMO))
    assert ["/image/"] == proposed(capfd, "zsh", "metashell -d ~/sample ls /im")
    assert ["/image/"] == proposed(capfd, "zsh", "metashell -d $WHERE ls /im")
    assert [] == proposed(capfd, "zsh", "metashell -d '$WHERE' ls /im")


def test_broken_configuration_is_silent(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The next command tells of it; a Tab does not."""
    (tmp_path / "config.toml").write_text("broken")
    assert [] == proposed(capfd, "zsh", "metashell prod")


@pytest.mark.parametrize("args", [[], ["zsh"], ["tcsh", "metashell "]])
def test_nothing_to_be_asked(args: list[str]) -> None:
    """It fails, and says nothing."""
    assert 1 == main(["--complete", *args])


def test_a_source_that_hangs_is_given_up(tmp_path: Path) -> None:
    """The shell gets its line back."""
    code = (
        "import sys, threading, metashell.cli.completion as c\n"
        "c._LIMIT_S = 0.05\n"
        "c.proposals = lambda *_, **__: threading.Event().wait()\n"
        "c.answer(['zsh', 'metashell '], {})\n"
        "print('too late')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (0, "", "") == (ran.returncode, ran.stdout, ran.stderr)


def test_scripts() -> None:
    """One for each shell, which calls the program; another shell is an error."""
    assert all("metashell --complet" in script(shell) for shell in SHELLS)
    with pytest.raises(UsageError, match="`tcsh` must be bash"):
        script("tcsh")
