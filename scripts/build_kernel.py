"""Builds the kernel's library: run as a program it writes it beside the modules of the package.

Needs nothing but the standard library, because a wheel is built where nothing else is installed.
Never uses instructions of this machine alone: a wheel runs on others.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final

from metashell.dataclass import dataclass
from metashell.kernel.library import DIRECTORY, LIBRARY, SWITCH, compiled, digest, is_off

ZIG: Final = "METASHELL_KERNEL_ZIG"
"""The variable that asks for Zig's C compiler: `1` builds for machines like this one, a target such
as `aarch64-linux-gnu.2.17` or `aarch64-macos.11.0` for others."""

ZIG_REQUIREMENT: Final = "ziglang>=0.17,<0.18"

_FLAGS: Final = ("-O2", "-g0", "-std=c11", "-fPIC", "-shared")
_COMPILERS: Final = ("cc", "gcc", "clang")
_OLDEST_GLIBC: Final = "2.17"
_OLDEST_MACOS: Final = "11.0"
_TIMEOUT_S: Final = 300

_ZIG_TARGET: Final = re.compile(
    r"(?P<machine>x86_64|aarch64)-(linux-gnu\.(?P<glibc>\d+\.\d+)|macos\.(?P<macos>\d+\.\d+))"
)


class BuildError(Exception):
    """There is no library, and why: one line."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler, and the machines that it compiles for."""

    command: tuple[str, ...]
    """The program with the arguments that choose the machine."""
    platform: str
    """The platform in a wheel's name, such as ``linux_x86_64``."""
    is_for_here: bool
    """Whether this Python can load the library."""

    @property
    def library(self) -> str:
        """The library's file name there."""
        return "_kernel.dylib" if self.platform.startswith("macosx") else "_kernel.so"


def is_required() -> bool:
    """Whether a library that can't be built is an error."""
    return os.environ.get(SWITCH, "") == "require"


def wants_zig() -> bool:
    """Whether Zig is asked for."""
    return not is_off() and os.environ.get(ZIG, "") not in ("", "0")


def find_compiler() -> Compiler:
    """Find Zig if it is asked for, else what ``CC`` names, else the system's compiler.

    Raises:
        BuildError: There is none, or none for this machine.
    """
    if wants_zig():
        return _zig(os.environ[ZIG])
    if sys.platform not in ("linux", "darwin"):
        raise BuildError(f"not for {sys.platform}")
    named = os.environ.get("CC")
    commands = [shlex.split(named)] if named else [[name] for name in _COMPILERS]
    for program, *arguments in filter(None, commands):
        path = shutil.which(program)
        if path is None:
            continue
        if sys.platform == "darwin":
            return _of_macos((path, *arguments))
        return Compiler((path, *arguments), _linux_platform(), is_for_here=True)
    raise BuildError(f"CC: no program {named}" if named else "no C compiler")


def build(compiler: Compiler, target: Path) -> None:
    """Compile the library into a file, which is replaced whole or not at all.

    Raises:
        BuildError: The compiler fails, or makes what this Python can't load.
    """
    expected = digest()
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary, target.name)
        command = [
            *(*compiler.command, *_FLAGS, f'-DMETASHELL_KERNEL_DIGEST="{expected}"'),
            # Names without directories, so that no library tells where it was built.
            *(*compiled(), "-o", str(made)),
        ]
        # Zig's own caches.
        caches = {"ZIG_GLOBAL_CACHE_DIR": temporary, "ZIG_LOCAL_CACHE_DIR": temporary}
        try:
            ran = subprocess.run(
                command,
                cwd=DIRECTORY,
                env=os.environ | caches,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BuildError(str(error)) from error
        if ran.returncode or not made.is_file():
            raise BuildError(f"{compiler.command[0]}: {_what_is_wrong(ran.stderr)}")
        if compiler.is_for_here and digest_of(made) != expected:
            raise BuildError(f"{compiler.command[0]}: makes what this Python can't load")
        try:
            beside = target.with_name(f"{target.name}.{os.getpid()}")
            shutil.copyfile(made, beside)
            # Not written in place: another process may have the old one loaded.
            beside.replace(target)
        except OSError as error:
            raise BuildError(str(error)) from error


def digest_of(path: Path) -> str | None:
    """The digest that a library has compiled in; None where it can't be loaded."""
    code = (
        "import ctypes, sys\n"
        "told = ctypes.CDLL(sys.argv[1]).metashell_kernel_digest\n"
        "told.restype = ctypes.c_char_p\n"
        "print(told().decode())\n"
    )
    # In a process of its own: a library stays loaded, and a bad one can kill.
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(path)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return ran.stdout.strip() if ran.returncode == 0 else None


def build_beside() -> str:
    """Build the library beside the package's modules, if it is not there or older than its sources.

    Returns:
        One line that says what was done.

    Raises:
        BuildError: It can't be built.
    """
    if is_off():
        return f"not built: {SWITCH}=off"
    if LIBRARY.is_file() and digest_of(LIBRARY) == digest():
        return "up to date"
    compiler = find_compiler()
    if not compiler.is_for_here:
        raise BuildError(f"{ZIG}: {os.environ[ZIG]} is not this machine")
    build(compiler, LIBRARY)
    return f"built by {compiler.command[0]}"


def _what_is_wrong(messages: str) -> str:
    """The first error among a compiler's messages."""
    lines = messages.splitlines()
    errors = (line for line in lines if "error" in line.lower())
    return next(errors, lines[-1] if lines else "failed").strip()


def _linux_platform() -> str:
    name = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    # A 32-bit Python on a 64-bit kernel says what the kernel is.
    return "linux_i686" if name == "linux_x86_64" and sys.maxsize < 1 << 32 else name


def _of_macos(command: tuple[str, ...]) -> Compiler:
    # Without the command line tools, Apple's cc opens a window that offers them.
    tools = ["/usr/bin/xcode-select", "--print-path"]
    if (
        command[0].startswith("/usr/bin/")
        and subprocess.run(tools, capture_output=True, check=False).returncode
    ):
        raise BuildError("no C compiler: the command line tools are not installed")
    # Python may be for two processors; the library is for the one that runs it.
    machine, oldest = platform.machine(), os.environ.get("MACOSX_DEPLOYMENT_TARGET", _OLDEST_MACOS)
    choice = ("-arch", machine, f"-mmacosx-version-min={oldest}")
    return Compiler((*command, *choice), _macos_platform(oldest, machine), is_for_here=True)


def _macos_platform(oldest: str, machine: str) -> str:
    major, _, minor = oldest.partition(".")
    # Since macOS 11 a wheel names the major version alone.
    return f"macosx_{major}_{minor if int(major) < 11 and minor else 0}_{machine}"


def _zig(wanted: str) -> Compiler:
    here = _zig_target_here()
    target = here if wanted == "1" else wanted
    matched = _ZIG_TARGET.fullmatch(target)
    if matched is None:
        raise BuildError(
            f"{ZIG}: no {target}: give 1, x86_64-linux-gnu.{_OLDEST_GLIBC} or "
            f"aarch64-macos.{_OLDEST_MACOS}, or the like"
        )
    machine = matched["machine"]
    if matched["glibc"]:
        name = f"manylinux_{matched['glibc'].replace('.', '_')}_{machine}"
    else:
        name = _macos_platform(matched["macos"], "arm64" if machine == "aarch64" else machine)
    command = (sys.executable, "-m", "ziglang", "cc", "-target", target)
    return Compiler(command, name, is_for_here=_without_release(target) == _without_release(here))


def _without_release(target: str) -> str:
    return target.partition(".")[0]


def _zig_target_here() -> str:
    machine = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    if sys.platform == "darwin":
        return f"{machine}-macos.{_OLDEST_MACOS}"
    # Any other C library than glibc would not load it, nor would a 32-bit Python.
    is_usual = platform.libc_ver()[0] == "glibc" and sys.maxsize > 1 << 32
    return f"{machine}-{sys.platform}-" + (f"gnu.{_OLDEST_GLIBC}" if is_usual else "other")


def main() -> int:
    """Build the library beside the modules; returns the exit status."""
    try:
        said = build_beside()
    except BuildError as error:
        print(f"kernel: not built, numpy does its work: {error}", file=sys.stderr)
        return 1 if is_required() else 0
    print(f"kernel: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
