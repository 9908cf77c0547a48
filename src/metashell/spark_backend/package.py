"""The installed package as a zip file, for executors that have none.

Messages, samples and key lists lie inside the package and come along.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Final

import metashell

_LEFT_OUT: Final = ("__pycache__",)


def package_zip(directory: Path) -> Path:
    """Write the package to a zip file in a directory."""
    from metashell.version import __version__

    root = Path(metashell.__file__).parent
    target = directory / f"metashell-{__version__}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for folder, names, files in os.walk(root):
            names[:] = sorted(name for name in names if name not in _LEFT_OUT)
            for name in sorted(files):
                path = Path(folder, name)
                archive.write(path, Path(root.name, path.relative_to(root)))
    return target
