"""Files that ship inside the package, which may lie in a zip file: Spark's executors get it so."""

from __future__ import annotations

from pathlib import Path
from typing import cast


def shipped(module_file: str, name: str) -> Path:
    """What lies beside a module under a name; its `name`, `suffix`, `is_dir`, `iterdir` and
    `read_text` are there in a zip file too.
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
