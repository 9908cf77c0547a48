"""``python -m metashell``."""

from __future__ import annotations

import sys

from metashell.cli import main

if __name__ == "__main__":
    sys.exit(main())
