"""What workers of a pool are asked to do in tests; also a program that waits for its workers."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from metashell.sources.fleet.member import FleetRow
from metashell.sources.fleet.pool import run_all


def tell(word: str) -> FleetRow:
    """Say the word back; ``die`` is the process's end."""
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"word": word, "pid": os.getpid()}


def hang(directory: str, name: str) -> FleetRow:
    """Tell the process's id in a file of that name, and never end."""
    part = Path(directory, f"{name}.part")
    part.write_text(str(os.getpid()))
    part.rename(Path(directory, name))
    threading.Event().wait()
    return {}


if __name__ == "__main__":
    try:
        list(run_all(hang, [(sys.argv[1], "first"), (sys.argv[1], "second")], 2))
    except KeyboardInterrupt:
        sys.exit(130)
