"""`.kafka_cleanshutdown`: the file that a clean stop of a broker leaves in each log directory.

It is JSON with the broker's epoch, which is sent to the controller at the next start (KIP-966).
Before Kafka 3.7 it is empty. Source: CleanShutdownFileHandler.
"""

from __future__ import annotations

import json
from typing import Final

from metashell.errors import SourceError
from metashell.places.bounded_file import AnyPlace, child_of, read_if_present

FILE_NAME: Final = ".kafka_cleanshutdown"
_LIMIT_BYTES: Final = 4096


def read_broker_epoch(directory: AnyPlace) -> int | None:
    """The broker's epoch in the file of a log directory; None where nothing tells it."""
    try:
        data = read_if_present(child_of(directory, FILE_NAME), limit_bytes=_LIMIT_BYTES)
        found = json.loads(data or b"null")
    except (SourceError, ValueError, RecursionError):
        return None
    epoch = found.get("brokerEpoch") if isinstance(found, dict) else None
    return epoch if type(epoch) is int else None
