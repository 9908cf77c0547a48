"""CRC-32C of record batches.

The ``crc32c`` package asks importlib.metadata for its own version when imported, which takes longer
than everything else a small command does. Its extension module is loaded past that, and the package
as usual where it is laid out in another way.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path


def _load_crc32c() -> Callable[..., int]:
    if "crc32c" not in sys.modules:
        package = importlib.util.find_spec("crc32c")
        for root in (package.submodule_search_locations or ()) if package else ():
            for suffix in importlib.machinery.EXTENSION_SUFFIXES:
                path = Path(root) / f"_crc32c{suffix}"
                if path.is_file():
                    spec = importlib.util.spec_from_file_location("crc32c._crc32c", path)
                    if spec is not None and spec.loader is not None:
                        module = importlib.util.module_from_spec(spec)
                        spec.loader.exec_module(module)
                        return module.crc32c  # type: ignore[no-any-return]
    import crc32c

    return crc32c.crc32c


crc32c: Callable[..., int] = _load_crc32c()
"""CRC-32C of a buffer; with a second argument, of what that is the CRC of and the buffer behind."""
