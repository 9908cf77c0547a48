"""Files that ship inside the package, which may lie in a zip file: Spark's executors get it so."""

from __future__ import annotations

from pathlib import Path
from typing import cast


def shipped(module_file: str, name: str) -> Path:
    """The file or directory of a name beside a module; in a zip file it is a `zipfile.Path`.

    Both kinds have `name`, `suffix`, `is_dir`, `iterdir` and `read_text`.
    """
    # Not importlib.resources: it takes longer to import than the files to read.
    path = Path(module_file).with_name(name)
    if not path.exists():
        for parent in path.parents:
            if parent.is_file():
                import zipfile

                inside = path.relative_to(parent).as_posix()
                return cast(Path, zipfile.Path(parent).joinpath(inside))
    return path
