"""`.kafka_cleanshutdown`: the broker's epoch, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.node_files.clean_shutdown import FILE_NAME, read_broker_epoch


@pytest.mark.parametrize(
    ("data", "epoch"),
    [
        (b'{"version":0,"brokerEpoch":255}', 255),
        (b'{"brokerEpoch":7,"more":[]}', 7),
        (b"", None),
        (b"{}", None),
        (b"[255]", None),
        (b'{"brokerEpoch":null}', None),
        (b'{"brokerEpoch":true}', None),
        (b'{"brokerEpoch":', None),
        (b"\xff\xfe", None),
        (b"[" * 4000, None),
        (b" " * 5000, None),
    ],
)
def test_content(tmp_path: Path, data: bytes, epoch: int | None) -> None:
    """Anything else than JSON with a number tells nothing, as in Kafka."""
    (tmp_path / FILE_NAME).write_bytes(data)
    assert epoch == read_broker_epoch(str(tmp_path))


def test_no_file(tmp_path: Path) -> None:
    """A node that runs, or was killed, has none; nor has a directory that is gone."""
    assert read_broker_epoch(str(tmp_path)) is None
    (tmp_path / FILE_NAME).mkdir()
    assert read_broker_epoch(str(tmp_path)) is None
    assert read_broker_epoch(str(tmp_path / "gone")) is None
