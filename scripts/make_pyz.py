#!/usr/bin/env python3
"""Write metashell.pyz, one executable file with metashell and all that it needs.

The file is for this platform and this version of Python. At its first start it unpacks itself below
`~/.shiv`, or below the directory that `SHIV_ROOT` names. pip downloads the packages from the index
that it is set up for.

usage: scripts/make_pyz.py DIRECTORY [PIP-ARGUMENT]...
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
_CHECK: Final = f"""\
#!/usr/bin/env python3
import sys

if sys.version_info[:2] != {sys.version_info[:2]}:
    sys.exit("metashell.pyz: made for Python {_VERSION}; start it with python{_VERSION}")
"""


def write_pyz(wheel: Path, out: Path, pip_arguments: Sequence[str] = ()) -> Path:
    """Write the file.

    Args:
        wheel: metashell's own.
        out: The directory of the file; made if need be.
        pip_arguments: What pip is told besides, such as where the other wheels are.

    Returns:
        The file.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / "metashell.pyz"
    shiv = [sys.executable, "-m", "shiv", "--compressed", "--reproducible"]
    start = ["--console-script", "metashell", "--python", f"/usr/bin/env python{_VERSION}"]
    with tempfile.TemporaryDirectory() as place:
        first = Path(place, "check_version.py")
        first.write_text(_CHECK)
        begin = [*shiv, *start, "--preamble", str(first)]
        subprocess.run(
            [*begin, "--output-file", str(path), *pip_arguments, str(wheel)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return path


def main(argv: Sequence[str]) -> int:
    """Build the wheel and the file; returns the exit status."""
    if not argv or argv[0].startswith("-"):
        print(__doc__)
        return 0 if "--help" in argv or "-h" in argv else 2
    out, *pip_arguments = argv
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    with tempfile.TemporaryDirectory() as built:
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", built, ROOT], check=True)
        (wheel,) = Path(built).glob("*.whl")
        path = write_pyz(wheel, Path(out), pip_arguments)
    print(f"{path}  {path.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
