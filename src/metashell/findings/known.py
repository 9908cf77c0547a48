"""Which kinds there are: those that the modules of `metashell.findings.kinds` declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from metashell.errors import SchemaError
from metashell.findings import kinds
from metashell.findings.kind import FindingKind


def _declared() -> Iterator[FindingKind]:
    for module in sorted(module.name for module in iter_modules(kinds.__path__)):
        yield from import_module(f"{kinds.__name__}.{module}").KINDS


@cache
def all_kinds() -> Mapping[str, FindingKind]:
    """All kinds by their codes, the worst first.

    Raises:
        SchemaError: Two have one code.
    """
    found: dict[str, FindingKind] = {}
    for kind in sorted(_declared(), key=_rank):
        if kind.code in found:
            raise SchemaError(f"finding {kind.code}: declared twice")
        found[kind.code] = kind
    return found


def _rank(kind: FindingKind) -> tuple[int, int, str]:
    return kind.severity.rank, kind.order, kind.code
