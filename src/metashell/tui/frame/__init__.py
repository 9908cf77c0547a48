"""The frame around the views: tabs, status, keys, help, themes, the palette."""

from __future__ import annotations
