"""The stream of the log's records: filters, lines, details."""

from __future__ import annotations
