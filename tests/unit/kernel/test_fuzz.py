"""The kernel's fuzzer: sanitizers see every byte that is read or written beside a buffer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from metashell.kernel.library import DIRECTORY
from support.waiting import LIMIT_S

FLAGS = ("-g", "-O1", "-std=c11", "-Wall", "-Wextra", "-Werror", '-DMETASHELL_KERNEL_DIGEST=""')
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
INPUTS = 60_000


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fuzzer, compiled with sanitizers; skips where there is no compiler that has them."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    command = [compiler, *SANITIZERS, "-o", str(folder / "fuzz")]
    tried = subprocess.run(
        [*command, str(folder / "empty.c")], capture_output=True, timeout=LIMIT_S, check=False
    )
    if tried.returncode:
        pytest.skip("the C compiler has no sanitizers")
    sources = map(str, sorted(DIRECTORY.glob("*.c")))
    subprocess.run([*command, *FLAGS, *sources], timeout=LIMIT_S, check=True)
    return folder / "fuzz"


@pytest.mark.slow
def test_nothing_beside_a_buffer_is_touched(fuzzer: Path) -> None:
    """Whatever the bytes and tables are, the sanitizers find nothing."""
    # Whoever runs the tests in a debugger has no leaks found, which says nothing of the kernel.
    ran = subprocess.run(
        [str(fuzzer), str(INPUTS)],
        env={"ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert (0, "") == (ran.returncode, ran.stderr)
    assert f"{INPUTS} inputs\n" == ran.stdout
