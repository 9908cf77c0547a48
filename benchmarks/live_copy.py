"""Copies the newest snapshot of a quorum and drops it: ``python live_copy.py PORT``.

What a client can't do without: one connection, FetchSnapshot until the end. Prints the bytes.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Mapping
from typing import Any

from metashell.quorum.observer import SNAPSHOT_PIECE_BYTES
from metashell.quorum.protocol import (
    Api,
    decode_response,
    encode_request,
    fetch_body,
    fetch_snapshot_body,
    the_partition,
)


def main() -> int:
    """Copy once."""
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        first = fetch(connection, 0)
        epoch = first["current_leader"]["leader_epoch"]
        found = fetch(connection, epoch)["snapshot_id"]
        snapshot, pos = (found["end_offset"], found["epoch"]), 0
        while True:
            body = fetch_snapshot_body(
                epoch=epoch,
                snapshot=snapshot,
                pos=pos,
                max_bytes=SNAPSHOT_PIECE_BYTES,
                cluster_id=None,
            )
            piece = the_partition(ask(connection, Api.FETCH_SNAPSHOT, 1, body), "topics")
            assert piece is not None
            pos += len(piece["unaligned_records"])
            if pos >= piece["size"]:
                break
    print(pos)
    return 0


def fetch(connection: socket.socket, epoch: int) -> Mapping[str, Any]:
    """What a Fetch at the beginning is answered."""
    body = fetch_body(
        epoch=epoch, offset=0, last_epoch=0, high_watermark=-1, max_wait_ms=0, cluster_id=None
    )
    found = the_partition(ask(connection, Api.FETCH, 17, body), "responses")
    assert found is not None
    return found


def ask(
    connection: socket.socket, api: Api, version: int, body: Mapping[str, Any]
) -> dict[str, Any]:
    """Send a request and wait for its answer."""
    connection.sendall(encode_request(api, version, 1, body))
    (size,) = struct.unpack(">i", receive(connection, 4))
    return decode_response(api, version, 1, receive(connection, size))


def receive(connection: socket.socket, n_bytes: int) -> memoryview:
    """So many bytes."""
    data = memoryview(bytearray(n_bytes))
    rest = data
    while rest:
        rest = rest[connection.recv_into(rest) :]
    return data


if __name__ == "__main__":
    sys.exit(main())
