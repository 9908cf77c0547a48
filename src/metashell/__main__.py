"""``python -m metashell``."""

from __future__ import annotations

from metashell.cli import run_process

if __name__ == "__main__":
    run_process()
