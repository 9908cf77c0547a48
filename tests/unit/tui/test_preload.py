"""What is imported before a key asks for it."""

from __future__ import annotations

import sys

import pytest

from metashell.tui.preload import import_first, import_later
from metashell.tui.view import VIEWS


def test_all_views_are_imported() -> None:
    """The first one before the source is there, the others once it is shown."""
    import_first()()
    assert VIEWS[0].module in sys.modules
    import_later(lambda: False)
    assert all(spec.module in sys.modules for spec in VIEWS)


def test_nothing_is_imported_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ends does not go on importing."""
    monkeypatch.delitem(sys.modules, VIEWS[1].module, raising=False)
    import_later(lambda: True)
    assert VIEWS[1].module not in sys.modules
