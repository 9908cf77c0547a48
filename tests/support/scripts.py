"""Programs of the repository, to call their functions."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Final

SCRIPTS: Final = Path(__file__).parents[2] / "scripts"


def script(name: str) -> ModuleType:
    """Import a script."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
