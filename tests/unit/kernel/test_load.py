"""A library is loaded only if it was built from these sources; else numpy does its work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from build_kernel import build, digest_of, find_compiler
from metashell.kernel import library as load
from metashell.kernel.library import DIRECTORY, LIBRARY, SWITCH, digest
from support.kernels import has_compiler
from support.waiting import LIMIT_S

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="no C compiler")


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test looks anew, and so does who comes after."""
    monkeypatch.delenv(SWITCH, raising=False)
    load._found.cache_clear()
    yield
    load._found.cache_clear()


def use(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file be the library."""
    monkeypatch.setattr(load, "LIBRARY", library)


@pytest.mark.slow
@needs_compiler
def test_library_of_these_sources_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once."""
    target = tmp_path / "_kernel.so"
    build(find_compiler(), target)
    use(target, monkeypatch)
    found = load.library()
    assert found is not None
    assert found is load.library()
    assert f"C (sources {digest()[:12]})" == load.description()


def test_installed_library_runs_where_a_compiler_is() -> None:
    """Tests that compare it with numpy compare nothing without it."""
    if digest_of(LIBRARY) is None:
        pytest.skip("not built: `make kernel` builds it")
    assert load.library() is not None, load.description()


@pytest.mark.parametrize("value", ["off", "OFF", "0", "no", "false"])
def test_switched_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numpy runs, whatever is there."""
    monkeypatch.setenv(SWITCH, value)
    assert load.library() is None
    assert "numpy (METASHELL_KERNEL=off)" == load.description()


def test_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without a compiler."""
    use(tmp_path / "_kernel.so", monkeypatch)
    assert load.library() is None
    assert "numpy (the C kernel is not built)" == load.description()


@pytest.mark.slow
@needs_compiler
def test_stale_library_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sources have changed since it was built."""
    target = tmp_path / "_kernel.so"
    build(find_compiler(), target)
    use(target, monkeypatch)
    monkeypatch.setattr(load, "digest", lambda: "0" * 64)
    assert load.library() is None
    assert "numpy (_kernel.so was built from other sources)" == load.description()


def test_broken_library_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the system's."""
    target = tmp_path / "_kernel.so"
    target.write_bytes(b"\x7fELF but no more")
    use(target, monkeypatch)
    assert load.library() is None
    assert load.description().startswith("numpy (_kernel.so can't be loaded: ")


@needs_compiler
def test_library_of_something_else_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not say what it was built from."""
    target, source = tmp_path / "_kernel.so", tmp_path / "other.c"
    source.write_text("int metashell_kernel;\n", "ascii")
    compiler = find_compiler().command
    subprocess.run([*compiler, "-shared", "-fPIC", source, "-o", target], check=True)
    use(target, monkeypatch)
    assert load.library() is None
    assert "can't be loaded" in load.description()


def test_big_endian_processors_run_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The C is for little-endian ones."""
    monkeypatch.setattr(sys, "byteorder", "big")
    assert load.library() is None
    assert "numpy (the C kernel needs a little-endian processor)" == load.description()


def test_zip_file_runs_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing loads a library from there."""
    monkeypatch.setattr(load, "DIRECTORY", tmp_path / "package.zip" / DIRECTORY.name)
    assert load.library() is None
    assert "numpy (the package is a zip file)" == load.description()


@needs_compiler
@pytest.mark.slow
def test_output_is_the_same_without(tmp_path: Path) -> None:
    """The program with the kernel switched off."""
    commands = [
        ["demo", "log", "--all", "--json"],
        ["demo", "partitions", "-o", "json"],
        ["demo", "check"],
    ]
    for words in commands:
        ran = [
            subprocess.run(
                [sys.executable, "-m", "metashell", *words],
                env=os.environ | {SWITCH: value},
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
            for value in ("", "off")
        ]
        assert (ran[0].returncode, ran[0].stdout, ran[0].stderr) == (
            ran[1].returncode,
            ran[1].stdout,
            ran[1].stderr,
        ), words
        assert ran[0].stdout


def test_looking_for_the_library_imports_no_numpy() -> None:
    """What only hops over batches needs none."""
    code = (
        "import sys, json\nfrom metashell.kernel.library import library\nlibrary()\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=LIMIT_S, check=True
    )
    assert "numpy" not in json.loads(ran.stdout)
