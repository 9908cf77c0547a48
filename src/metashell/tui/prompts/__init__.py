"""Lines that are typed, what is proposed for them, and what came of them."""

from __future__ import annotations
