"""The wheel holds everything that the program needs, and works from where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import metashell
from metashell.cli.arguments import OPTIONS
from metashell.commands import all_names, get
from support.waiting import LIMIT_S

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "metashell"
SHARED = {
    "man/man1/metashell.1",
    "bash-completion/completions/metashell",
    "zsh/site-functions/_metashell",
    "fish/vendor_completions.d/metashell.fish",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the installed hatchling, which needs no network."""
    target = tmp_path_factory.mktemp("wheel")
    ran = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert 0 == ran.returncode, ran.stderr
    (path,) = target.glob("*.whl")
    return path


def shipped(wheel: Path) -> set[str]:
    """Name the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """Code, message definitions, key lists, the sample and ``py.typed``."""
    expected = {
        f"metashell/{path.relative_to(SOURCES).as_posix()}"
        for path in SOURCES.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert set() == expected - shipped(wheel)
    assert {
        "metashell/py.typed",
        "metashell/sample/meta.properties",
        "metashell/sample/__cluster_metadata-0/00000000000000001793-0000000003.checkpoint",
        "metashell/schema/messages/PartitionRecord.json",
        "metashell/redact_data/known_config_keys.txt",
    } <= expected


def test_wheel_holds_nothing_else(wheel: Path) -> None:
    """Tests, benchmarks and scripts stay out."""
    name = f"metashell-{metashell.__version__}"
    assert {"metashell", f"{name}.dist-info", f"{name}.data"} == {
        path.partition("/")[0] for path in shipped(wheel)
    }
    assert {f"{name}.data/data/share/{path}" for path in SHARED} == {
        path for path in shipped(wheel) if path.startswith(f"{name}.data/")
    }


def test_manual_page_names_everything(wheel: Path) -> None:
    """Every option of the program, and every command with its options."""
    with zipfile.ZipFile(wheel) as archive:
        data = f"metashell-{metashell.__version__}.data/data/share"
        page = archive.read(f"{data}/man/man1/metashell.1").decode("ascii")
    plain = page.replace("\\-", "-")

    assert [] == [option.long for option in OPTIONS if f"\\fB{option.long}\\fP" not in plain]
    for name in all_names():
        command = get(name)
        assert command is not None
        section = plain.partition(f"\n.SS {name}\n")[2].partition("\n.S")[0]
        flags = [flag for option in command.manual.options for flag in option.flags]
        assert [] == [flag for flag in flags if f"\\fB{flag}\\fP" not in section], name
        assert len(command.manual.examples) == section.count("\n.nf\n"), name


def test_building_leaves_nothing_behind(wheel: Path) -> None:
    """What a build makes is in the wheel and nowhere else."""
    assert wheel.exists()
    # An environment in a directory with a dot has it installed.
    pages = [path.relative_to(ROOT) for path in ROOT.rglob("metashell.1")]
    assert [] == [page for page in pages if not page.parts[0].startswith(".")]


def test_manual_page_needs_no_dependencies() -> None:
    """A wheel is built where only hatchling is installed."""
    needed = ["crc32c", "cryptography", "javaproperties", "numpy", "platformdirs", "pyarrow"]
    code = f"import sys\nfor name in {needed}: sys.modules[name] = None\n"
    code += "from metashell.cli.man_page import render\nrender()"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(SOURCES.parent)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert (0, "") == (ran.returncode, ran.stderr)


def test_metadata_names_version_license_and_extras(wheel: Path) -> None:
    """The version is the package's own; the extras are there; the license comes along."""
    with zipfile.ZipFile(wheel) as archive:
        prefix = f"metashell-{metashell.__version__}.dist-info"
        metadata = Parser().parsestr(archive.read(f"{prefix}/METADATA").decode())
        license_text = archive.read(f"{prefix}/licenses/LICENSE").decode()

    assert metashell.__version__ == metadata["Version"]
    assert "Apache-2.0" == metadata["License-Expression"]
    assert ["gssapi", "spark"] == metadata.get_all("Provides-Extra")
    assert "Apache License" in license_text


def test_wheel_runs_from_another_place(wheel: Path, tmp_path: Path) -> None:
    """Unpacked elsewhere, the program finds its definitions and its sample."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    ran = subprocess.run(
        [sys.executable, "-m", "metashell", "demo", "ls", "/image"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert (0, "") == (ran.returncode, ran.stderr)
    assert {"acls", "cluster", "configs", "topics"} <= set(ran.stdout.split())


def test_dependencies_have_ranges() -> None:
    """Each dependency has a lowest version that we test and a bound on what may break."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [project["project"]["dependencies"], *project["dependency-groups"].values()]
    groups += project["project"]["optional-dependencies"].values()
    unbounded = [item for group in groups for item in group if not (">=" in item and "<" in item)]

    assert [] == unbounded


def test_every_dependency_is_explained() -> None:
    """docs/design/dependencies.md says what each is for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")
    groups = [project["project"]["dependencies"], *project["dependency-groups"].values()]
    groups += project["project"]["optional-dependencies"].values()
    names = {item.partition(">")[0] for group in groups for item in group}

    assert set() == {name for name in names if f"| `{name}` |" not in text}
