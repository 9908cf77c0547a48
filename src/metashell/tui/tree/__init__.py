"""The tree on the left: lines of directories of any size, drawn as they are seen."""

from __future__ import annotations
