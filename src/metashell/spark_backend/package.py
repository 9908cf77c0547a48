"""The installed package as a zip file, for executors that have none.

Messages, samples and key lists lie inside the package and come along. The kernel stays out: nothing
loads a library from a zip file, and executors may have another processor. They decode with numpy.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Final

import metashell
from metashell.kernel.library import DIRECTORY, LIBRARY

_LEFT_OUT: Final = frozenset({"__pycache__", DIRECTORY.name, LIBRARY.name})


def package_zip(directory: Path) -> Path:
    """Write the package to a zip file in a directory."""
    from metashell.version import __version__

    root = Path(metashell.__file__).parent
    target = directory / f"metashell-{__version__}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for folder, names, files in os.walk(root):
            names[:] = sorted(name for name in names if name not in _LEFT_OUT)
            for name in sorted(set(files) - _LEFT_OUT):
                path = Path(folder, name)
                archive.write(path, Path(root.name, path.relative_to(root)))
    return target
