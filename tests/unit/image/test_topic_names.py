"""The topics that names mean, one by one and many at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import LOG_DIR_NAME, segment_name
from metashell.image.image import Image
from metashell.schema.arena import Arena
from metashell.schema.columns import SpanColumn
from metashell.schema.encode import encode_record
from support.strategies import builtin_registry

TOPIC_RECORD = builtin_registry().by_name["TopicRecord"]


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """Topics of which two have one name, and one has a name that is not ASCII."""
    made = tmp_path / LOG_DIR_NAME
    made.mkdir()
    names = [*(f"t{i}" for i in range(100)), "t7", "größe"]
    records = [
        encode_record(TOPIC_RECORD, 0, {"topic_id": i.to_bytes(16, "big"), "name": name})
        for i, name in enumerate(names, 16)
    ]
    (made / segment_name(0)).write_bytes(encode_batch(records))
    return metashell.open(made).image


def spans(names: list[bytes]) -> SpanColumn:
    """Names as they stand in records."""
    counts = np.array([len(name) for name in names], dtype=np.int32)
    starts = np.cumsum(counts, dtype=np.int64) - counts
    return SpanColumn(Arena.from_bytes(b"".join(names)), "u1", starts, counts)


@pytest.mark.parametrize("n", [3, 300])
def test_many_names_mean_what_each_means(image: Image, n: int) -> None:
    """Of equal names the last counts; others, and what is not UTF-8, mean none."""
    some = [b"t7", b"t99", b"", b"t100", "größe".encode(), b"\xff", b"t0"]
    names = (some * n)[:n]
    texts = [name.decode("utf-8", "replace") for name in names]
    found = image.topics.indices_of(spans(names)).tolist()
    assert [image.topics.by_name.get(text, -1) for text in texts] == found
    assert found[0] == 100
