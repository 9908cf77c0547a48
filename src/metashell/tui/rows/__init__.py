"""Tables of rows as commands answer them."""

from __future__ import annotations
