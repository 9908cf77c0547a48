"""`.kafka_cleanshutdown`: with an epoch, and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.node_files.clean_shutdown import (
    CleanShutdown,
    parse_clean_shutdown,
    read_clean_shutdown,
)


@pytest.mark.parametrize(
    ("data", "epoch"),
    [
        (b'{"version":0,"brokerEpoch":255}', 255),
        (b'{"brokerEpoch": 9223372036854775807, "new": []}', 2**63 - 1),
        (b"", None),
        (b"{}", None),
        (b"[]", None),
        (b"7", None),
        (b'{"brokerEpoch":-1}', None),
        (b'{"brokerEpoch":true}', None),
        (b'{"brokerEpoch":1.5}', None),
        (b'{"brokerEpoch":9223372036854775808}', None),
        (b'{"brokerEpoch":' + b"9" * 4000 + b"}", None),
        (b"[" * 4000, None),
        (b"\xff\x00", None),
        (b'{"brokerEpoch":255', None),
    ],
)
def test_parses(data: bytes, epoch: int | None) -> None:
    """What can't be read says nothing of the epoch, and the shutdown was clean all the same."""
    assert CleanShutdown(epoch) == parse_clean_shutdown(data)


def test_reads_a_file(tmp_path: Path) -> None:
    """None where there is none."""
    assert read_clean_shutdown(tmp_path) is None
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":4}')
    assert CleanShutdown(4) == read_clean_shutdown(tmp_path)
