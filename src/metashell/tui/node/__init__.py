"""The right side of the explorer: one node in several ways."""

from __future__ import annotations
