"""The wheel holds everything that the program needs, and works from where it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from importlib.metadata import Distribution
from pathlib import Path

import pytest

import metashell
from build_kernel import ZIG, ZIG_REQUIREMENT, digest_of, find_compiler
from metashell.cli.arguments import OPTIONS
from metashell.commands import all_names, get
from metashell.kernel.library import LIBRARY, digest
from support.kernels import has_compiler
from support.scripts import SCRIPTS, script
from support.waiting import LIMIT_S

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "metashell"
SHARED = {
    "man/man1/metashell.1",
    "bash-completion/completions/metashell",
    "zsh/site-functions/_metashell",
    "fish/vendor_completions.d/metashell.fish",
}


def built(kind: str, target: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build with the installed hatchling, which needs no network; see what it says."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as this machine does."""
    target = tmp_path_factory.mktemp("wheel")
    ran = built("wheel", target)
    assert 0 == ran.returncode, ran.stderr
    (path,) = target.glob("*.whl")
    return path


def shipped(wheel: Path) -> set[str]:
    """Name the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """Code, message definitions, key lists, the sample and ``py.typed``."""
    expected = {
        f"metashell/{path.relative_to(SOURCES).as_posix()}"
        for path in SOURCES.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.match("_kernel.*")
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


def described(wheel: Path) -> tuple[str, str]:
    """Whether a wheel is pure, and its tag."""
    with zipfile.ZipFile(wheel) as archive:
        info = f"metashell-{metashell.__version__}.dist-info/WHEEL"
        told = Parser().parsestr(archive.read(info).decode())
    return told["Root-Is-Purelib"], told["Tag"]


@pytest.mark.skipif(not has_compiler(), reason="no C compiler")
def test_wheel_with_the_kernel_is_for_its_platform(wheel: Path, tmp_path: Path) -> None:
    """Any Python of the platform loads the library, which is the one of these sources."""
    platform = find_compiler().platform
    assert wheel.name.endswith(f"-py3-none-{platform}.whl")
    assert ("false", f"py3-none-{platform}") == described(wheel)
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract(f"metashell/kernel/{LIBRARY.name}", tmp_path)
    assert digest() == digest_of(Path(library))


@pytest.mark.slow
def test_wheel_without_a_compiler_is_pure(tmp_path: Path) -> None:
    """One line says so. The library beside the sources, of this machine, stays out."""
    ran = built("wheel", tmp_path, PATH=str(tmp_path))
    assert 0 == ran.returncode, ran.stderr
    assert ["kernel: not built, numpy does its work: no C compiler"] == [
        line for line in ran.stderr.splitlines() if not line.startswith(str(tmp_path))
    ]
    (path,) = tmp_path.glob("*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    assert ("true", "py3-none-any") == described(path)
    assert f"metashell/kernel/{LIBRARY.name}" not in shipped(path)


@pytest.mark.slow
def test_wheel_without_the_kernel_on_request(tmp_path: Path) -> None:
    """Then no compiler is looked for, and nothing is said."""
    ran = built("wheel", tmp_path, METASHELL_KERNEL="off")
    assert 0 == ran.returncode, ran.stderr
    assert "kernel:" not in ran.stderr
    assert [f"metashell-{metashell.__version__}-py3-none-any.whl"] == os.listdir(tmp_path)


def test_required_kernel_is_there_or_nothing(tmp_path: Path) -> None:
    """Whoever builds wheels for others wants no pure one by mistake."""
    ran = built("wheel", tmp_path, METASHELL_KERNEL="require", CC="no-such-compiler")
    assert 1 == ran.returncode
    assert "BuildError: CC: no program no-such-compiler" in ran.stderr
    assert [] == list(tmp_path.iterdir())


@pytest.mark.slow
def test_source_distribution_has_all_sources(tmp_path: Path) -> None:
    """Also the C and the scripts, and no library, which is made where it is installed."""
    ran = built("sdist", tmp_path)
    assert 0 == ran.returncode, ran.stderr
    (path,) = tmp_path.iterdir()
    with tarfile.open(path) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    expected = {path.relative_to(ROOT).as_posix() for path in (SOURCES / "runbooks").iterdir()}
    assert set() == expected - files
    names = {Path(name).name for name in files if "/kernel/" in name}
    assert {"digest.c", "kernel.h"} <= names
    assert LIBRARY.name not in names


def test_zig_is_needed_only_on_request() -> None:
    """What a build asks the index for."""
    code = "import hatchling.build as b; print(b.get_requires_for_build_wheel())"
    for wish, expected in (("", []), ("1", [ZIG_REQUIREMENT])):
        ran = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=os.environ | {ZIG: wish},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert f"{expected}\n" == ran.stdout, ran.stderr


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
    code += "from man_page import render\nrender()"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": f"{SOURCES.parent}{os.pathsep}{SCRIPTS}"},
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
    assert "metashell authors" == metadata["Author"]
    assert ["Source", "Documentation", "Issues", "Changelog"] == [
        url.partition(",")[0] for url in metadata.get_all("Project-URL")
    ]
    assert "Apache License" in license_text


def test_description_has_no_relative_link(wheel: Path) -> None:
    """A package index shows the README where no other file of the project is."""
    with zipfile.ZipFile(wheel) as archive:
        info = f"metashell-{metashell.__version__}.dist-info/METADATA"
        text = archive.read(info).decode().partition("\n\n")[2]
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    readme = (ROOT / "README.md").read_text("utf-8")

    assert [] == [link for link in links if not link.startswith(("https://", "#"))]
    assert len(re.findall(r"\]\(", readme)) == len(links)
    assert "/raw/main/docs/images/" in text


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


def repacked(package: Distribution, directory: Path) -> Path:
    """Put an installed package back into a wheel, so that no test needs an index."""
    tag = "py3-none-any"
    name = package.name.replace("-", "_")
    path = directory / f"{name}-{package.version}-{tag}.whl"
    record = [file for file in package.files or () if ".." not in file.parts]
    with zipfile.ZipFile(path, "w") as archive:
        for file in record:
            if file.suffix != ".pyc" and file.name not in {
                "RECORD",
                "INSTALLER",
                "direct_url.json",
            }:
                archive.write(str(package.locate_file(file)), str(file))
        info = next(str(file.parent) for file in record if file.name == "METADATA")
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in archive.namelist()))
    return path


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Wheels of all that metashell needs."""
    target = tmp_path_factory.mktemp("wheels")
    return [repacked(package, target) for package in script("installed_size").needed()]


def alone(home: Path) -> dict[str, str]:
    """The environment of a host without an index."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))
    }
    return kept | {
        "HOME": str(home),
        "PIP_NO_INDEX": "1",
        # Compiled is what a test runs, when it does.
        "PIP_NO_COMPILE": "1",
        "UV_OFFLINE": "1",
        "UV_NO_INDEX": "1",
    }


def run(*command: str | Path, home: Path, **environment: str) -> str:
    """Run a program on such a host; returns what it prints."""
    # Where we may, without any network at all.
    isolated = ["unshare", "--map-root-user", "--net"]
    can = subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode == 0
    ran = subprocess.run(
        [*(isolated if can else []), *map(str, command)],
        cwd=home,
        env=alone(home) | environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_offline_archive_installs_without_an_index(
    wheel: Path, wheels: list[Path], tmp_path: Path
) -> None:
    """The archive of `make offline` needs `python3 -m venv`; all that it installs works."""
    path = script("make_offline").write_archive(wheel, wheels, (), tmp_path / "out")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (install,) = tmp_path.glob("metashell-*/install.sh")

    # What the host's user has there, metashell too, counts as not installed.
    there = os.pathsep.join(path for path in sys.path if Path(path).name == "site-packages")
    said = run("sh", install, tmp_path / "there", home=tmp_path, PYTHONPATH=there)

    program = tmp_path / "there" / "bin" / "metashell"
    assert f"installed: {program}\n" == said
    assert metashell.__version__ in run(program, "--version", home=tmp_path)
    assert "orders" in run(program, "demo", "topics", home=tmp_path)
    assert "7" in run(program, "demo", "sql", "select 3 + 4 as n", home=tmp_path)


def test_no_environment_where_no_program_starts(tmp_path: Path) -> None:
    """A checkout on a noexec mount: one sentence, the next step, and nothing is left."""
    mount = f"mount -t tmpfs -o noexec tmpfs {tmp_path}"
    inside = ["unshare", "--user", "--mount", "--map-root-user", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*inside, mount], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    line = f"{mount} && bash {SCRIPTS}/make-venv {tmp_path}/venv; echo $?; ls -A {tmp_path}"
    ran = subprocess.run(
        [*inside, line], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    error, hint = ran.stderr.splitlines()
    assert f"error: no program starts in {tmp_path}: it is mounted noexec" == error
    assert "make VENV=" in hint
    assert "1\n" == ran.stdout


def test_offline_archive_refuses_what_it_can_not_use(wheel: Path, tmp_path: Path) -> None:
    """Another Python, and a directory that holds something else."""
    path = script("make_offline").write_archive(wheel, [], ("spark",), tmp_path / "out")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (install,) = tmp_path.glob("metashell-*/install.sh")
    assert f"'metashell[spark]=={metashell.__version__}'" in install.read_text("utf-8")

    helped = run("sh", install, "--help", home=tmp_path)
    assert "usage: ./install.sh [DIRECTORY]\n" in helped
    assert "set -eu" not in helped

    for environment, words, message in (
        ({"PYTHON": "no-such-python"}, [tmp_path / "there"], "is needed: these wheels are for it"),
        ({"PYTHON": sys.executable}, [tmp_path / "out"], "exists and is not a virtual environment"),
        ({}, ["--prefix"], "unknown option --prefix"),
        ({}, ["a", "path"], "one DIRECTORY, in quotes where it has blanks"),
    ):
        ran = subprocess.run(
            ["sh", install, *words],
            env=alone(tmp_path) | environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert (1 if environment else 2) == ran.returncode
        assert message in ran.stderr


@pytest.mark.slow
def test_one_file_works_without_an_index(wheel: Path, wheels: list[Path], tmp_path: Path) -> None:
    """The file of `make pyz` needs a Python; all that it unpacks works."""
    alone_on_it = ["--no-index", "--find-links", str(wheels[0].parent), "--no-compile"]
    path = script("make_pyz").write_pyz(wheel, tmp_path / "out", alone_on_it)
    there = {"SHIV_ROOT": str(tmp_path / "there")}

    assert os.access(path, os.X_OK)
    assert metashell.__version__ in run(sys.executable, path, "--version", home=tmp_path, **there)
    assert "orders" in run(sys.executable, path, "demo", "topics", home=tmp_path, **there)
    assert [] == list(tmp_path.glob(".shiv"))
    first = f"#!/usr/bin/env python{sys.version_info.major}.{sys.version_info.minor}\n"
    assert path.read_bytes().startswith(first.encode())


@pytest.mark.slow
def test_release_can_be_tried(tmp_path: Path) -> None:
    """Version, changelog, build, twine, installation and program, as `make release-check` does."""
    there = os.pathsep.join(path for path in sys.path if Path(path).name == "site-packages")
    ran = subprocess.run(
        [sys.executable, str(SCRIPTS / "release.py"), "check", str(tmp_path / "out"), "--no-deps"],
        env=os.environ | {"PYTHONPATH": there},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    printed = {Path(line).name for line in ran.stdout.splitlines() if not line.startswith("rel")}
    assert set(os.listdir(tmp_path / "out")) - {".gitignore"} == printed
    assert 2 == len(printed)


def project_to_release(directory: Path, changes: str) -> Path:
    """The files that a release changes, with a changelog of our own."""
    for name in ("pyproject.toml", "src/metashell/version.py"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, directory / name)
    (directory / "CHANGELOG.md").write_text(f"# Changelog\n\n## Unreleased\n{changes}", "utf-8")
    return directory


def test_release_is_prepared(tmp_path: Path) -> None:
    """The version is set, the changelog has its heading, and the placeholders are filled."""
    release = script("release")
    root = project_to_release(tmp_path, "\n### Added\n\n- A command.\n\n## 0.0.1 - 2020-01-01\n")
    release.prepare(root, "7.8.9", "2026-11-28")
    release.write_urls(root, "https://forge.example/kafka/metashell")

    assert "7.8.9" == release.version_of(root)
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    assert "## Unreleased\n\n## 7.8.9 - 2026-11-28\n\n### Added\n\n- A command.\n" in changelog
    assert ["- A command."] == release.entries(changelog, "7.8.9")
    urls = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert "https://forge.example/kafka/metashell" == urls["Source"]
    assert "https://forge.example/kafka/metashell/issues" == urls["Issues"]
    with pytest.raises(release.ReleaseError, match="has a heading already"):
        release.prepare(root, "7.8.9", "2026-11-28")


def test_release_of_nothing_is_refused(tmp_path: Path) -> None:
    """No entry, no version, no address."""
    release = script("release")
    root = project_to_release(tmp_path, "\n## 0.0.1 - 2020-01-01\n\n- First.\n")
    for call, message in (
        (lambda: release.prepare(root, "7.8.9", "2026-11-28"), "no entry below Unreleased"),
        (lambda: release.prepare(root, "seven", "2026-11-28"), "seven: not a version"),
        (lambda: release.write_urls(root, "forge.example"), "give the repository's page"),
    ):
        with pytest.raises(release.ReleaseError, match=message):
            call()
    assert metashell.__version__ == release.version_of(root)


@pytest.mark.slow
@pytest.mark.cases(1)
@pytest.mark.parametrize("tool", ["venv", "pipx", "uv"])
def test_wheel_installs_as_tools_do(
    tool: str, wheel: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """An environment of its own with the wheel, and its console script on the path."""
    if tool == "venv":
        # Like pipx and uv, but with the packages of this environment: copies would take long.
        # Its pip is this one; that of a new environment works in the archive's test.
        own = tmp_path / "own"
        run(sys.executable, "-m", "venv", "--without-pip", own, home=tmp_path)
        pip = [sys.executable, "-m", "pip", "--python", own / "bin" / "python", "install"]
        run(*pip, "--quiet", "--no-deps", wheel, home=tmp_path)
        (site,) = tmp_path.glob("own/lib/python*/site-packages")
        paths = [path for path in sys.path if Path(path).name == "site-packages"]
        (site / "packages.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
        program = tmp_path / "own" / "bin" / "metashell"
    else:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
        links = request.getfixturevalue("wheels")[0].parent
        if tool == "pipx":
            run("pipx", "install", f"--pip-args=--find-links={links}", wheel, home=tmp_path)
        else:
            run("uv", "tool", "install", "--find-links", links, wheel, home=tmp_path)
        program = tmp_path / ".local" / "bin" / "metashell"

    assert {"acls", "topics"} <= set(run(program, "demo", "ls", "/image", home=tmp_path).split())


def test_dependencies_have_ranges() -> None:
    """Each dependency has a lowest version that we test and a bound on what may break."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [project["project"]["dependencies"], *project["dependency-groups"].values()]
    groups += project["project"]["optional-dependencies"].values()
    items = [item for group in groups for item in group if isinstance(item, str)]
    unbounded = [item for item in items if not (">=" in item and "<" in item)]

    assert [] == unbounded


def test_every_dependency_is_explained() -> None:
    """docs/design/dependencies.md says what each is for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")
    groups = [project["project"]["dependencies"], *project["dependency-groups"].values()]
    groups += project["project"]["optional-dependencies"].values()
    items = [item for group in groups for item in group if isinstance(item, str)]
    names = {item.partition(">")[0] for item in items}

    assert set() == {name for name in names if f"| `{name}` |" not in text}
