"""The bar over the whole log, and moving along it."""

from __future__ import annotations
