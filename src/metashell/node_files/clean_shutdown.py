"""`.kafka_cleanshutdown`: a broker stopped cleanly, and since Kafka 3.7 in which broker epoch.

JSON such as ``{"version":0,"brokerEpoch":255}``; before it was an empty file. A broker deletes it
when it starts. A file that can't be read counts as empty: the shutdown was clean, and its epoch is
unknown.

Source: org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler, KIP-966.
"""

from __future__ import annotations

import json
from typing import Final

from metashell.dataclass import dataclass
from metashell.places.bounded_file import AnyPlace, child_of, read_if_present

FILE_NAME: Final = ".kafka_cleanshutdown"
_LIMIT_BYTES: Final = 4096
_INT64_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CleanShutdown:
    """The content of the file; it says that the broker stopped cleanly."""

    broker_epoch: int | None
    """The epoch of the broker that stopped; None where the file does not say."""


def read_clean_shutdown(directory: AnyPlace) -> CleanShutdown | None:
    """Read the file of a log directory; None where there is none.

    Raises:
        SourceError: It can't be read, or is larger than 4 KiB.
    """
    data = read_if_present(child_of(directory, FILE_NAME), limit_bytes=_LIMIT_BYTES)
    return None if data is None else parse_clean_shutdown(data)


def parse_clean_shutdown(data: bytes) -> CleanShutdown:
    """Parse the file's content."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return CleanShutdown(None)
    epoch = values.get("brokerEpoch") if isinstance(values, dict) else None
    is_epoch = isinstance(epoch, int) and not isinstance(epoch, bool) and 0 <= epoch <= _INT64_MAX
    return CleanShutdown(epoch if is_epoch else None)
