#!/usr/bin/env python3
"""Write one archive that installs metashell on a host without a package index.

It holds the wheels of metashell and of all that it needs, for this platform and this version of
Python, and a script `install.sh` that needs only `python3 -m venv`. pip downloads the wheels from
the index that it is set up for.

usage: scripts/make_offline.py [--extra NAME]... DIRECTORY
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
_INSTALL: Final = """\
#!/bin/sh
# Install metashell from the wheels beside this script. It needs no package index and no network.
#
# usage: ./install.sh [DIRECTORY]
#
# DIRECTORY is a new virtual environment (default: ~/.local/share/metashell).
# PYTHON=/path/to/python3 chooses the interpreter, which must be Python @VERSION@.
set -eu
# pip would take packages that these name for installed.
unset PYTHONPATH PYTHONHOME
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
-h | --help)
    sed -n "2,/^set /{ s/^# \\{0,1\\}//; /^set /d; p; }" "$0"
    exit 0
    ;;
-*)
    echo "install.sh: unknown option $1; --help explains the arguments" >&2
    exit 2
    ;;
esac
if [ $# -gt 1 ]; then
    echo "install.sh: one DIRECTORY, in quotes where it has blanks; --help explains it" >&2
    exit 2
fi
target=${1:-${HOME:?is not set: give a DIRECTORY}/.local/share/metashell}

is_right() {
    [ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = @VERSION@ ]
}

python=
for name in ${PYTHON:-python@VERSION@ python3}; do
    if is_right "$name"; then
        python=$name
        break
    fi
done
if [ -z "$python" ]; then
    echo "install.sh: Python @VERSION@ is needed: these wheels are for it" >&2
    echo "install.sh: set PYTHON=/path/to/python@VERSION@, or make an archive with your Python" >&2
    exit 1
fi
if [ -e "$target" ] && [ ! -e "$target/pyvenv.cfg" ] && [ -n "$(ls -A "$target")" ]; then
    echo "install.sh: $target exists and is not a virtual environment" >&2
    exit 1
fi
"$python" -m venv "$target"
"$target/bin/python" -m pip --isolated --quiet --disable-pip-version-check install \\
    --upgrade --no-index --find-links "$here/wheels" '@REQUIREMENT@'
echo "installed: $target/bin/metashell"
"""


def archive_name(wheel: Path) -> str:
    """The archive's name without its suffix: version, Python and platform."""
    version = wheel.name.split("-")[1]
    platform = sysconfig.get_platform().replace("-", "_")
    return f"metashell-{version}-python{_VERSION}-{platform}"


def write_archive(wheel: Path, needed: Iterable[Path], extras: Iterable[str], out: Path) -> Path:
    """Write the archive.

    Args:
        wheel: metashell's own.
        needed: The wheels of all that it needs.
        extras: Extras that the script installs too.
        out: The directory of the archive; made if need be.

    Returns:
        The archive, a tar file; wheels are compressed already.
    """
    name = archive_name(wheel)
    requirement = f"metashell[{','.join(extras)}]".removesuffix("[]")
    requirement += f"=={wheel.name.split('-')[1]}"
    script = _INSTALL.replace("@VERSION@", _VERSION).replace("@REQUIREMENT@", requirement).encode()
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.tar"
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo(f"{name}/install.sh")
        entry.size, entry.mode = len(script), 0o755
        archive.addfile(entry, BytesIO(script))
        for file in [wheel, *needed]:
            archive.add(file, f"{name}/wheels/{file.name}")
    return path


def main() -> int:
    """Build, download, write; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", action="append", default=[], help="an extra, such as spark")
    parser.add_argument("directory", type=Path, help="where the archive is written")
    arguments = parser.parse_args()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    with tempfile.TemporaryDirectory() as temporary:
        built, wheels = Path(temporary, "built"), Path(temporary, "wheels")
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", built, ROOT], check=True)
        (wheel,) = built.glob("*.whl")
        wanted = f"{wheel}[{','.join(arguments.extra)}]".removesuffix("[]")
        subprocess.run(
            [*pip, "download", "--only-binary=:all:", "--dest", wheels, wanted], check=True
        )
        needed = sorted(path for path in wheels.iterdir() if path.name != wheel.name)
        path = write_archive(wheel, needed, arguments.extra, arguments.directory)
    print(f"{path}  {path.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
