"""Serves a checkpoint as a one-node quorum: ``python live_server.py CHECKPOINT``; prints its port.

For each line of its standard input it commits a record, and prints when on time.monotonic's clock,
which all processes share. Ends when its standard input does. The quorum is the one that the tests
follow.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from metashell.log.names import CheckpointName, parse_name
from support.fake_server import FakeQuorumServer


def main() -> int:
    """Serve until nobody wants it any more."""
    path = Path(sys.argv[1])
    name = parse_name(path.name)
    assert isinstance(name, CheckpointName)
    with FakeQuorumServer(1) as server:
        server.serve_checkpoint(path.read_bytes(), end_offset=name.end_offset, epoch=name.epoch)
        print(server.port(1), flush=True)
        for _ in sys.stdin:
            server.append(1)
            print(time.monotonic(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
