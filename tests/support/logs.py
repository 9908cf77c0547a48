"""Small logs for tests: records by name, batches of topics, directories of segments."""

from __future__ import annotations

from pathlib import Path

from kraftgen.batch import Codec, encode_batch
from kraftgen.files import LOG_DIR_NAME, segment_name
from metashell.schema.encode import encode_record
from metashell.sources.source import Source
from support.strategies import builtin_registry


def record(name: str, /, **fields: object) -> bytes:
    """Encode a metadata record in its newest version."""
    spec = builtin_registry().by_name[name]
    return encode_record(spec, spec.versions.high, fields)


def topic_record(i: int) -> bytes:
    """Make topic ``t<i>``."""
    return record("TopicRecord", name=f"t{i}", topic_id=i.to_bytes(16, "big"))


def secret_config() -> bytes:
    """Give broker 1 a config that is secret: its value is ``hunter2``."""
    return record(
        "ConfigRecord",
        resource_type=4,
        resource_name="1",
        name="ssl.key.password",
        value="hunter2",
    )


def topic_batch(
    first: int, count: int = 1, *, leader_epoch: int = 1, codec: Codec = "none"
) -> bytes:
    """Make the topics ``t<first>`` and following, one an offset, in one batch."""
    values = [topic_record(i) for i in range(first, first + count)]
    return encode_batch(values, base_offset=first, leader_epoch=leader_epoch, codec=codec)


def topic_log(n_batches: int, count: int = 2) -> list[bytes]:
    """Make batches of topics, numbered from 0 on."""
    return [topic_batch(i * count, count) for i in range(n_batches)]


def make_directory(parent: Path, *segments: tuple[int, bytes]) -> Path:
    """Write a metadata directory of segments, each given by base offset and content."""
    directory = parent / LOG_DIR_NAME
    directory.mkdir()
    for base_offset, data in segments:
        (directory / segment_name(base_offset)).write_bytes(data)
    return directory


def topics_of(source: Source) -> set[int]:
    """Numbers of the topics that a source shows."""
    return {int(name[1:]) for name in source.ls("/image/topics/byName")}
