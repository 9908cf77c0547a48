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

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "metashell"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the installed hatchling, which needs no network."""
    target = tmp_path_factory.mktemp("wheel")
    ran = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
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
        "metashell/sample/__cluster_metadata-0/00000000000000003263-0000000001.checkpoint",
        "metashell/schema/messages/PartitionRecord.json",
        "metashell/redact_data/known_config_keys.txt",
    } <= expected


def test_wheel_holds_nothing_else(wheel: Path) -> None:
    """Tests, benchmarks and scripts stay out."""
    assert {"metashell", f"metashell-{metashell.__version__}.dist-info"} == {
        name.partition("/")[0] for name in shipped(wheel)
    }


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
        timeout=60,
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
