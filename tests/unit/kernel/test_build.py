"""The kernel's library is built where a compiler is, for whichever machines are asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import build_kernel as building
from build_kernel import (
    ZIG,
    BuildError,
    build,
    build_beside,
    digest_of,
    find_compiler,
    main,
    wants_zig,
)
from metashell.kernel import library as sources
from metashell.kernel.library import SWITCH, digest
from support.kernels import has_compiler

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="no C compiler")


@pytest.fixture(autouse=True)
def _no_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment asks for nothing."""
    for name in (SWITCH, ZIG, "CC"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for the library that is not the package's own."""
    path = tmp_path / "_kernel.so"
    monkeypatch.setattr(building, "LIBRARY", path)
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library, built once for all tests, alone in its directory."""
    path = tmp_path_factory.mktemp("built") / "_kernel.so"
    build(find_compiler(), path)
    return path


@pytest.fixture
def without_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has none."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The sources in a directory of the test."""
    directory = tmp_path / "csrc"
    directory.mkdir()
    for path in sources.DIRECTORY.iterdir():
        (directory / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(sources, "DIRECTORY", directory)
    monkeypatch.setattr(building, "DIRECTORY", directory)
    return directory


def test_digest_is_of_all_that_is_compiled(copied: Path) -> None:
    """A change of a file, of a name, and a new file change it; a fuzzer does not."""
    before = digest()
    (copied / "fuzz_all.c").write_text("int main(void) { return 0; }\n", "ascii")
    (copied / "fuzz_all.h").write_text("int fuzz(void);\n", "ascii")
    (copied / "notes.txt").write_text("not C\n", "ascii")
    assert before == digest()

    header = copied / "kernel.h"
    header.write_bytes(header.read_bytes() + b"\n")
    changed = digest()
    header.rename(copied / "core.h")
    renamed = digest()
    (copied / "more.c").write_text("int more;\n", "ascii")
    assert 4 == len({before, changed, renamed, digest()})


@pytest.mark.slow
@needs_compiler
def test_library_has_the_digest(built: Path) -> None:
    """It is compiled in, and nothing else is left behind."""
    assert digest() == digest_of(built)
    assert [built] == list(built.parent.iterdir())


@needs_compiler
def test_sources_compile_without_warnings(tmp_path: Path) -> None:
    """Nor does a compiler that looks closely find anything."""
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    ran = subprocess.run(
        [*find_compiler().command, *flags, '-DMETASHELL_KERNEL_DIGEST="0"', "-fsyntax-only"]
        + [str(sources.DIRECTORY / name) for name in sources.compiled()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (ran.returncode, ran.stderr)


@pytest.mark.slow
@needs_compiler
def test_same_sources_make_the_same_library(built: Path, tmp_path: Path) -> None:
    """No time and no directory is in it."""
    build(find_compiler(), tmp_path / "other.so")
    assert built.read_bytes() == (tmp_path / "other.so").read_bytes()


@pytest.mark.slow
@needs_compiler
def test_built_beside_once(beside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is up to date stays; what is older than the sources, or broken, is replaced."""
    beside.write_bytes(b"not a library")
    assert 0 == main()
    assert capsys.readouterr().out.startswith("kernel: built by ")
    assert digest() == digest_of(beside)
    assert "up to date" == build_beside()


@pytest.mark.slow
@needs_compiler
def test_error_of_the_sources_is_told(copied: Path, beside: Path) -> None:
    """The compiler's first error, on one line; there is no library then."""
    (copied / "digest.c").write_text("#error no such thing\n", "ascii")
    with pytest.raises(BuildError, match=r"digest\.c:1.*no such thing"):
        build_beside()
    assert not beside.exists()


@pytest.mark.slow
@needs_compiler
def test_old_library_stays_where_building_fails(built: Path, copied: Path, beside: Path) -> None:
    """A failed build leaves what was there, which the digest then keeps from being loaded."""
    before = built.read_bytes()
    beside.write_bytes(before)
    assert "up to date" == build_beside()
    (copied / "digest.c").write_text("#error no such thing\n", "ascii")
    with pytest.raises(BuildError):
        build_beside()
    assert before == beside.read_bytes()
    assert [beside, copied] == sorted(beside.parent.iterdir())


@pytest.mark.usefixtures("without_compiler")
def test_no_compiler(
    beside: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says so, and it is an error only where the kernel is required."""
    assert 0 == main()
    assert ("", "kernel: not built, numpy does its work: no C compiler\n") == capsys.readouterr()
    monkeypatch.setenv(SWITCH, "require")
    assert 1 == main()
    assert not beside.exists()


def test_switched_off(beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built where the kernel is not wanted."""
    monkeypatch.setenv(SWITCH, "off")
    assert f"not built: {SWITCH}=off" == build_beside()
    assert not beside.exists()


def test_named_compiler_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """`CC` may have arguments. No other compiler takes the place of one that is not there."""
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(BuildError, match="CC: no program no-such-compiler -m64"):
        find_compiler()
    monkeypatch.setenv("CC", f"'{sys.executable}' -x")
    assert (sys.executable, "-x") == find_compiler().command[:2]


def test_compiler_that_fails(beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last words are told, or that it failed; one that writes no library has failed."""
    said = "import sys; sys.exit('cannot find the disk')"
    for code, words in ((said, "cannot find the disk"), ("raise SystemExit(3)", "failed")):
        monkeypatch.setenv("CC", f'{sys.executable} -c "{code}"')
        with pytest.raises(BuildError, match=f"{words}$"):
            build_beside()
    monkeypatch.setenv("CC", f"{sys.executable} -c pass")
    with pytest.raises(BuildError, match="failed"):
        build_beside()
    assert not beside.exists()


def test_library_for_another_machine_is_refused(
    tmp_path: Path, beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler may make what this Python can't load."""
    code = tmp_path / "compiler.py"
    code.write_text(
        "import sys\nopen(sys.argv[sys.argv.index('-o') + 1], 'wb').write(b'MZ')\n", "ascii"
    )
    monkeypatch.setenv("CC", f"{sys.executable} {code}")
    with pytest.raises(BuildError, match="makes what this Python can't load"):
        build_beside()
    assert not beside.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the platform's names are Linux's")
def test_platform_of_a_local_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """`linux_*`: no promise of an older C library is made."""
    monkeypatch.setenv("CC", sys.executable)
    assert f"linux_{os.uname().machine}" == find_compiler().platform


@pytest.mark.parametrize(
    ("target", "platform", "library"),
    [
        ("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", "_kernel.so"),
        ("aarch64-linux-gnu.2.28", "manylinux_2_28_aarch64", "_kernel.so"),
        ("aarch64-macos.11.0", "macosx_11_0_arm64", "_kernel.dylib"),
        ("x86_64-macos.10.13", "macosx_10_13_x86_64", "_kernel.dylib"),
        ("aarch64-macos.12.3", "macosx_12_0_arm64", "_kernel.dylib"),
    ],
)
def test_targets_of_zig(
    target: str, platform: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zig links against the C library that the target names, which the wheel's name tells."""
    monkeypatch.setenv(ZIG, target)
    compiler = find_compiler()
    assert (platform, library) == (compiler.platform, compiler.library)
    assert ("-m", "ziglang", "cc", "-target", target) == compiler.command[1:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    ["x86_64-linux-gnu.2.17", "aarch64-linux-gnu.2.17", "x86_64-macos.11.0", "aarch64-macos.11.0"],
)
def test_zig_builds_for_each_target(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its compiler is Clang, which names instructions otherwise than GCC."""
    pytest.importorskip("ziglang")
    monkeypatch.setenv(ZIG, target)
    compiler = find_compiler()
    build(compiler, tmp_path / compiler.library)
    assert (tmp_path / compiler.library).stat().st_size


@pytest.mark.parametrize("target", ["riscv64-linux-gnu.2.35", "x86_64-windows-gnu", "yes", "2"])
def test_other_targets_are_refused(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names targets that work."""
    monkeypatch.setenv(ZIG, target)
    with pytest.raises(BuildError, match=r"x86_64-linux-gnu\.2\.17"):
        find_compiler()


def test_zig_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its package has 100 MB."""
    assert not wants_zig()
    monkeypatch.setenv(ZIG, "1")
    assert wants_zig()
    monkeypatch.setenv(SWITCH, "off")
    assert not wants_zig()


def test_library_beside_is_for_this_machine(beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable installation gets no library of another machine."""
    other = "x86_64" if os.uname().machine in ("aarch64", "arm64") else "aarch64"
    monkeypatch.setenv(ZIG, f"{other}-linux-gnu.2.17")
    with pytest.raises(BuildError, match="is not this machine"):
        build_beside()
    assert not beside.exists()
