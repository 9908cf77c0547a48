"""What is missing for Spark is said, with what to install; nothing here starts Spark."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from metashell.errors import SourceError
from metashell.spark_backend.needs import INSTALL_LINE, PYSPARK_MIN, check_java
from support.fixtures import DEMO
from support.waiting import LIMIT_S

ROOT = Path(__file__).parents[3]
WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Blocker(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
from metashell.cli import main
sys.exit(main({arguments!r}))
"""


def run_without(*blocked: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the program where packages are not installed."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(blocked=blocked, arguments=arguments)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def java(directory: Path, script: str) -> Path:
    """Make a `java` that is a script; returns its home."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return directory


def test_without_pyspark_spark_is_refused() -> None:
    """With the line that installs it."""
    ran = run_without("pyspark", arguments=["--engine", "spark", "-d", str(DEMO), "ls"])
    assert (3, "") == (ran.returncode, ran.stdout)
    assert (
        "metashell: Spark can't be used: PySpark is not installed\n"
        "  hint: `pip install 'metashell[spark]'`\n" == ran.stderr
    )
    assert "pip install 'metashell[spark]'" == INSTALL_LINE


def test_without_pyspark_auto_goes_on() -> None:
    """With a note, and the same answer."""
    arguments = ["--spark-threshold", "0", "-d", str(DEMO), "ls", "/"]
    ran = run_without("pyspark", arguments=arguments)
    assert 0 == ran.returncode
    assert "image" in ran.stdout.split()
    assert ran.stderr.startswith("metashell: note: Spark is preferred (")
    assert ran.stderr.endswith(
        "but cannot run: PySpark is not installed\n  hint: `pip install 'metashell[spark]'`\n"
    )


def test_the_range_of_pyspark_is_said_once() -> None:
    """The extra `spark` has it; the guard and the documents say the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = " ".join(project["optional-dependencies"]["spark"])
    lowest, above = re.findall(r"pyspark\S*>=(4\.\d+),<4\.(\d+)", extra)[0]
    assert lowest == ".".join(map(str, PYSPARK_MIN))
    for page in ("guides/spark.md", "install.md", "design/dependencies.md"):
        said = f"PySpark {lowest} to 4.{int(above) - 1}"
        assert said in (ROOT / "docs" / page).read_text("utf-8"), page


def test_without_grpc_connect_is_refused() -> None:
    """PySpark alone does not bring it."""
    pytest.importorskip("pyspark")
    arguments = ["--engine", "spark", "--master", "sc://h:1", "-d", str(DEMO), "ls"]
    ran = run_without("grpc", arguments=arguments)
    assert 3 == ran.returncode
    assert "Spark can't be used: grpc is not installed" in ran.stderr


def test_no_java(tmp_path: Path) -> None:
    """Neither on the path nor at home."""
    with pytest.raises(SourceError, match="there is no Java here") as caught:
        check_java({"PATH": str(tmp_path)})
    assert "Java 17 or newer" in str(caught.value.hint)
    with pytest.raises(SourceError, match=f"JAVA_HOME is {tmp_path}, which holds no bin/java"):
        check_java({"PATH": "/bin:/usr/bin", "JAVA_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("version", "is_enough"),
    [
        ("1.8.0_392", False),
        ("11.0.22", False),
        ("16", False),
        ("17.0.15", True),
        ("17-ea", True),
        ("21.0.1", True),
    ],
)
def test_java_versions(tmp_path: Path, version: str, is_enough: bool) -> None:
    """One that is too old is named, with its version."""
    said = f'Picked up JAVA_TOOL_OPTIONS: -Dx=1\nopenjdk version "{version}" 2024-01-16'
    home = java(tmp_path, f"echo '{said}' >&2")
    if is_enough:
        check_java({"JAVA_HOME": str(home)})
        return
    number = version.removeprefix("1.").partition(".")[0]
    with pytest.raises(SourceError, match=f"needs Java 17 or newer, and .*java is Java {number}$"):
        check_java({"JAVA_HOME": str(home)})


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'No Java runtime present' >&2; exit 1", "there is no Java here"),
        ("echo hello", "does not tell its version of Java"),
    ],
)
def test_programs_that_are_no_java(tmp_path: Path, script: str, message: str) -> None:
    """Some systems have a `java` that only says where to get one."""
    home = java(tmp_path, script)
    with pytest.raises(SourceError, match=message):
        check_java({"PATH": str(home / "bin")})


def test_a_java_that_does_not_run(tmp_path: Path) -> None:
    """The reason is the system's."""
    home = java(tmp_path, "")
    (home / "bin" / "java").write_text("#!/no/such/interpreter\n")
    with pytest.raises(SourceError, match="does not run: No such file or directory"):
        check_java({"PATH": str(home / "bin")})
