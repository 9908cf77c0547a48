"""SQL that tests run."""

from __future__ import annotations

from typing import Final

ENDLESS: Final = "select sum(hash(i)) from range(100000000000000) t(i)"
"""Runs for years. DuckDB can't shorten it, as it knows nothing of hashes."""
