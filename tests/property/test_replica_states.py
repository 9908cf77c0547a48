"""States of replicas against the rules of Kafka's LogManager, one directory at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from kraftgen.batch import encode_batch
from kraftgen.files import LOG_DIR_NAME
from metashell.read_settings import ReadSettings
from metashell.schema.uuids import uuid_text
from metashell.sources.directory import open_place
from metashell.sources.replicas import log_directories_here, replicas_table
from support.coordinators import Told
from support.logs import make_directory, record
from support.small_cluster import broker, level

_BROKER = 1
_DIRS = [bytes([9] * 15 + [i]) for i in (1, 2)]
_NONE = bytes(16)
_IDS = [bytes([7] * 15 + [i]) for i in range(2)]


def _name(key: tuple[int, str, int, str]) -> str:
    _, topic, number, suffix = key
    return f"{topic}-{number}" + (f".{'ab' * 16}-{suffix}" if suffix else "")


topic_ids = st.sampled_from([*_IDS, bytes([8] * 16)])
names = st.sampled_from(["a", "b", "c"])
suffixes = st.sampled_from(["", "", "future", "future", "delete", "stray"])
partitions = st.dictionaries(
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.booleans(), st.sampled_from([*_DIRS, _NONE, bytes(15) + b"\x01"])),
)
"""By topic and number: whether the broker is among the replicas, and the directory there."""
directories = st.dictionaries(
    st.tuples(st.integers(0, 1), names, st.integers(0, 1), suffixes),
    st.none() | topic_ids,
    max_size=6,
)
"""By log directory, topic's name, partition and suffix: the topic id in it."""


def _expected(
    metadata: dict[tuple[int, int], tuple[bool, bytes]], disks: dict[Any, bytes | None]
) -> dict[Any, str]:
    """The state of each directory."""
    loaded = {
        key: metadata[_IDS.index(topic_id), key[2]][1]
        for key, topic_id in disks.items()
        if key[3] in ("", "future")
        and topic_id in _IDS
        and metadata.get((_IDS.index(topic_id), key[2]), (False,))[0]
    }
    """Those that are no strays, with the directory that the metadata tells."""
    states = {}
    for key, topic_id in disks.items():
        log_dir, name, number, suffix = key
        futures = [(one, name, number, "future") for one in (0, 1)]
        if suffix in ("delete", "stray"):
            states[key] = suffix
        elif key not in loaded:
            states[key] = "becomes-stray"
        elif (1 - log_dir, name, number, suffix) in loaded:
            states[key] = "duplicate"
        elif suffix:
            states[key] = "future"
        elif name != "ab"[_IDS.index(topic_id or _NONE)]:
            states[key] = "ghost"
        elif any(loaded.get(one) == _DIRS[one[0]] and disks[one] == topic_id for one in futures):
            states[key] = "replaced"
        else:
            states[key] = "in-place"
    return states


@example({(0, 0): (True, _DIRS[1])}, {(0, "a", 0, ""): _IDS[0], (1, "b", 0, "future"): _IDS[0]})
@example({(0, 0): (True, _DIRS[1])}, {(0, "a", 0, ""): _IDS[0], (1, "a", 0, "future"): _IDS[0]})
@given(metadata=partitions, disks=directories)
def test_states(metadata: Any, disks: Any) -> None:
    """Each directory is what the rules make of it alone and beside the others."""
    values = [level("metadata.version", 25), broker(_BROKER, log_dirs=_DIRS)]
    values += [record("TopicRecord", name="ab"[i], topic_id=_IDS[i]) for i in (0, 1)]
    for (topic, number), (is_held, assigned) in metadata.items():
        replicas = [_BROKER if is_held else 5, 6]
        values.append(
            record(
                "PartitionRecord",
                topic_id=_IDS[topic],
                partition_id=number,
                replicas=replicas,
                isr=replicas,
                leader=6,
                directories=[assigned, _DIRS[0]],
            )
        )
    with tempfile.TemporaryDirectory() as folder:
        parent = Path(folder)
        make_directory(parent, (0, encode_batch(values)))
        for i in (0, 1):
            (parent / str(i)).mkdir()
            text = f"version=1\ncluster.id=c\nnode.id=1\ndirectory.id={uuid_text(_DIRS[i])}\n"
            (parent / str(i) / "meta.properties").write_text(text)
        for key, topic_id in disks.items():
            place = parent / str(key[0]) / _name(key)
            place.mkdir()
            if topic_id is not None:
                text = f"version: 0\ntopic_id: {uuid_text(topic_id)}\n"
                (place / "partition.metadata").write_text(text)
        dirs = (str(parent / "0"), str(parent / "1"))
        source = open_place(str(parent / LOG_DIR_NAME), ReadSettings(log_dirs=dirs))
        told = Told()
        rows = replicas_table(source, log_directories_here(source, told), told).to_pylist()
    found = {
        (row["directory"], row["name"]): row["state"]
        for row in rows
        if row["name"] and row["broker"] == _BROKER
    }
    expected = _expected(metadata, disks)
    assert {(dirs[key[0]], _name(key)): state for key, state in expected.items()} == found
    assert [] == told.unread_texts
