"""The views, one a module; each is imported when it is first looked at."""

from __future__ import annotations
