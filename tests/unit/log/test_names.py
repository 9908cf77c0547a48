"""What a file of a metadata directory is by its name."""

from __future__ import annotations

import pytest

from metashell.log.names import CheckpointName, SegmentName, list_names, parse_name, topic_of

SEGMENT = "00000000000000000042.log"
CHECKPOINT = "00000000000000000042-0000000003.checkpoint"


def test_names() -> None:
    """A segment has its base offset, a checkpoint its end offset and epoch."""
    assert SegmentName(42, SEGMENT) == parse_name(SEGMENT)
    assert CheckpointName(42, 3, CHECKPOINT) == parse_name(CHECKPOINT)


def test_the_largest_names() -> None:
    """Offsets are an int64, epochs an int32; no file of Kafka's has more in its name."""
    largest = "09223372036854775807-2147483647.checkpoint"
    assert CheckpointName((1 << 63) - 1, (1 << 31) - 1, largest) == parse_name(largest)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "42.log",
        f"{SEGMENT}.deleted",
        f"{CHECKPOINT}.part",
        f"x{SEGMENT}",
        f"{SEGMENT}\n",
        "00000000000000000042.index",
        "00000000000000000042.snapshot",
        "0000000000000000004²-0000000003.checkpoint",
        "00000000000000000042-000000000٣.checkpoint",
        "leader-epoch-checkpoint",
        "09223372036854775808.log",
        "09223372036854775808-0000000003.checkpoint",
        "00000000000000000042-2147483648.checkpoint",
    ],
)
def test_other_names(name: str) -> None:
    """Nothing else holds metadata."""
    assert parse_name(name) is None


def test_listing_is_in_order() -> None:
    """Files are sorted by offset, checkpoints of one offset by epoch."""
    checkpoints = [f"{n:020}-{e:010}.checkpoint" for n, e in ((9, 1), (0, 0), (5, 2), (5, 1))]
    listing = list_names([*checkpoints, SEGMENT, "00000000000000000007.log", "x"])

    assert [7, 42] == [segment.base_offset for segment in listing.segments]
    assert [(0, 0), (5, 1), (5, 2), (9, 1)] == [
        (c.end_offset, c.epoch) for c in listing.checkpoints
    ]
    assert [True, False, False, False] == [c.is_bootstrap for c in listing.checkpoints]


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("orders-3", ("orders", 3)),
        ("a-b-12", ("a-b", 12)),
        ("orders-0.0123456789abcdef0123456789abcdef-delete", ("orders", 0)),
        ("orders-0.0123456789abcdef0123456789abcdef-future", ("orders", 0)),
        ("orders", None),
        ("-1", None),
    ],
)
def test_topic_of(name: str, topic: tuple[str, int] | None) -> None:
    """A log directory's name says topic and partition."""
    assert topic == topic_of(name)
