#!/usr/bin/env python3
"""Prepare a release, or try one without publishing it. docs/releasing.md has the procedure.

usage: scripts/release.py urls ADDRESS      write the forge's addresses into pyproject.toml
       scripts/release.py prepare VERSION   set the version, and give the changelog its heading
       scripts/release.py check [DIRECTORY [PIP-ARGUMENT...]]
                                            build, check, install and try; files go to DIRECTORY
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PLACEHOLDER: Final = "https://example.invalid/metashell"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_VERSION_FILE: Final = Path("src", "metashell", "version.py")


class ReleaseError(Exception):
    """A reason not to release."""


def version_of(root: Path) -> str:
    """The version of the sources."""
    text = (root / _VERSION_FILE).read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    return str(version)


def write_urls(root: Path, address: str) -> None:
    """Replace the placeholder of the project's addresses."""
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", address):
        raise ReleaseError(
            f"{address}: give the repository's page, such as https://HOST/OWNER/NAME"
        )
    path = root / "pyproject.toml"
    old = tomllib.loads(path.read_text("utf-8"))["project"]["urls"]["Source"]
    path.write_text(path.read_text("utf-8").replace(old, address), "utf-8")


def prepare(root: Path, version: str, today: str) -> None:
    """Set the version, and turn the changelog's heading Unreleased into that of the version."""
    if not _VERSION.fullmatch(version):
        raise ReleaseError(f"{version}: not a version, such as 0.2.0 or 0.2.0rc1")
    path = root / "CHANGELOG.md"
    text = path.read_text("utf-8")
    if f"\n## {version} - " in text:
        raise ReleaseError(f"CHANGELOG.md: {version} has a heading already")
    entries(text, "Unreleased")
    heading = f"## Unreleased\n\n## {version} - {today}\n"
    path.write_text(text.replace("## Unreleased\n", heading, 1), "utf-8")
    old = version_of(root)
    file = root / _VERSION_FILE
    file.write_text(file.read_text("utf-8").replace(f'"{old}"', f'"{version}"'), "utf-8")


def entries(changelog: str, heading: str) -> list[str]:
    """The entries below a heading of the changelog, one at least."""
    section = re.search(
        rf"^## {re.escape(heading)}\b.*\n((?:(?!## ).*\n)*)", changelog, re.MULTILINE
    )
    found = re.findall(r"^- .+$", section[1], re.MULTILINE) if section else []
    if not found:
        raise ReleaseError(f"CHANGELOG.md: no entry below {heading}")
    return found


def check(root: Path, out: Path, pip_arguments: Sequence[str] = ()) -> list[Path]:
    """Build, check, install and try what would be published.

    Args:
        root: The sources.
        out: The directory of what is built; made if need be.
        pip_arguments: What pip is told besides when it installs the wheel.

    Returns:
        The wheel and the source archive.
    """
    version = version_of(root)
    text = (root / "CHANGELOG.md").read_text("utf-8")
    is_prepared = f"\n## {version} - " in text
    entries(text, version if is_prepared else "Unreleased")
    _run(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-t",
        "sdist",
        "-d",
        out,
        cwd=root,
    )
    built = sorted(out.glob(f"metashell-{version}*"))
    _run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *built)
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=False)
        python = Path(place, "bin", "python")
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        (wheel,) = out.glob(f"metashell-{version}-*.whl")
        _run(*pip, "--python", python, "install", *pip_arguments, wheel)
        program = python.with_name("metashell")
        said = _run(program, "--version")
        if said != f"metashell {version}\n":
            raise ReleaseError(f"the installed program says {said!r}")
        for words in (
            ("demo", "topics"),
            ("demo", "sql", "select 1 as n"),
            ("demo", "ls", "/image"),
        ):
            if not _run(program, *words):
                raise ReleaseError(f"metashell {' '.join(words)} prints nothing")
    print(f"release: {version} was built, checked, installed and tried")
    if not is_prepared:
        print(f"release: CHANGELOG.md has no heading for {version} yet: prepare {version}")
    if PLACEHOLDER in (root / "pyproject.toml").read_text("utf-8"):
        print("release: pyproject.toml has no addresses yet: urls ADDRESS")
    return built


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a program; returns what it prints.

    Raises:
        ReleaseError: It failed.
    """
    words = [str(word) for word in command]
    ran = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ReleaseError(
            f"{' '.join(words)}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}"
        )
    return ran.stdout


def main(argv: Sequence[str]) -> int:
    """Run the command line; returns the exit status."""
    try:
        match argv:
            case ["urls", address]:
                write_urls(ROOT, address)
            case ["prepare", version]:
                prepare(ROOT, version, datetime.datetime.now(datetime.UTC).date().isoformat())
            case ["check"]:
                with tempfile.TemporaryDirectory() as out:
                    check(ROOT, Path(out))
            case ["check", out, *pip_arguments]:
                for path in check(ROOT, Path(out).absolute(), pip_arguments):
                    print(path)
            case _:
                print(__doc__)
                return 0 if "--help" in argv else 2
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
