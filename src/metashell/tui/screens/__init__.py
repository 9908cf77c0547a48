"""Screens above the views: what is asked of the user, and answered at once."""

from __future__ import annotations
