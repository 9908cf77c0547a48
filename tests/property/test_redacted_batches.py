"""A redacted copy has the records that redacted output shows, and no byte of a secret."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metashell
from kraftgen.batch import Codec, Record, control_record, encode_batch, encode_raw_batch
from metashell.log.read import Loaded, load
from metashell.log.saving import copy_of
from metashell.places.place import MemoryFile
from metashell.records.lines import json_lines
from metashell.records.records import Records
from metashell.records.redacted_batches import RedactedBatches
from metashell.redact import Redaction
from metashell.schema.encode import encode_message
from metashell.schema.model import MessageSpec, Registry, builtin_specs
from metashell.schema.scalar import UNKNOWN_TAGS
from support.fixtures import DEMO, fixture, fixture_names
from support.implementations import implemented_by
from support.logs import record, secret_config
from support.plain_batches import Batch, read_batches, read_records
from support.secrets import only_with_secrets
from support.strategies import DrawnRecord, builtin_registry, damaged_values, definitions, records

NEEDLE = b"hunter2-needle"
NOOP = b"\x01\x14\x00\x00"
NAME = f"{0:020d}.log"


def loaded_of(data: bytes, name: str = NAME) -> Loaded:
    """A file in memory, as it is read."""
    return load([MemoryFile(name, memoryview(data))])


def redacted(loaded: Loaded) -> tuple[bytes, RedactedBatches]:
    """The bytes of the batches of all files."""
    batches = RedactedBatches(loaded, builtin_registry())
    view, out = memoryview(loaded.buffer), []
    for file in loaded.files:
        for begin in file.chain.positions:
            end = begin + 12 + int.from_bytes(view[begin + 8 : begin + 12], "big")
            new = batches.rewritten(begin, end)
            out.append(bytes(view[begin:end]) if new is None else new)
    return b"".join(out), batches


def lines_of(loaded: Loaded) -> list[str]:
    """The records as redacted JSON, without positions."""
    found = Records(loaded, builtin_registry())
    lines = json_lines(Redaction()).lines(found, np.arange(len(found.frames)))
    return [re.sub('"pos":[0-9]+', "", line) for line in lines]


def header_of(batch: Batch) -> Batch:
    """What stays of a batch."""
    return replace(batch, pos=0, payload=b"", attributes=batch.attributes & ~7)


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", ["demo", *fixture_names()])
def test_of_recorded_logs(name: str) -> None:
    """Every batch is sound and has its header; records are equal; no secret is in the bytes."""
    path = DEMO if name == "demo" else Path(fixture(name).input)
    is_file = path.is_file()
    source = metashell.open_file(path) if is_file else metashell.open(path)
    n_secrets = 0
    for file in source.log.loaded.files:
        data = bytes(memoryview(source.log.loaded.buffer)[file.start : file.start + file.size])
        # What is torn or between batches is never copied.
        loaded = loaded_of(data, file.name)
        copy, batches = redacted(loaded)
        before, after = list(read_batches(data)), list(read_batches(copy))
        if not loaded.files[0].chain.faults:
            assert [
                replace(b, pos=0, payload=b"", attributes=b.attributes & ~7) for b in before
            ] == [replace(b, pos=0, payload=b"") for b in after]
        again = loaded_of(copy, file.name)
        assert loaded.files[0].chain.n_batches == again.files[0].chain.n_batches
        assert not again.faults
        lines, copied = lines_of(loaded), lines_of(again)
        values = [r.value for r in read_records(copy)]
        left_out = [i for i, value in enumerate(values) if lines[i] != copied[i]]
        assert all(values[i] in (NOOP, None) for i in left_out)
        assert len(lines) == len(copied) == len(values)
        n_left_out = sum(n for what, n in batches.left_out.items() if "tagged fields" not in what)
        assert len(left_out) == n_left_out
        secrets = only_with_secrets(loaded)
        n_secrets += len(secrets)
        assert not [secret for secret in secrets if secret in copy]
        assert redacted(again)[0] == copy
    assert n_secrets or "quirks" in name


def test_the_search_finds_secrets() -> None:
    """A copy that is not redacted has them."""
    source = metashell.open(DEMO)
    data = b"".join(piece for file in copy_of(source.log).files for piece in file.pieces)
    secrets = only_with_secrets(source.log.loaded)
    assert len([secret for secret in secrets if secret in data]) > 20


def planted() -> st.SearchStrategy[Record]:
    """Draw a record that holds the needle where no output shows it, or none at all."""
    topic = record("TopicRecord", name="t", topic_id=bytes(16))
    scram = record(
        "UserScramCredentialRecord", name="u", mechanism=1, salt=NEEDLE, stored_key=NEEDLE,
        server_key=NEEDLE, iterations=4096,
    )  # fmt: skip
    token = record(
        "DelegationTokenRecord", owner=f"User:{NEEDLE.decode()}", requester="User:r",
        renewers=[f"User:{NEEDLE.decode()}", NEEDLE.decode()], token_id="id",
    )  # fmt: skip
    tagged = record(
        "ConfigRecord", resource_type=2, resource_name="t", name="retention.ms", value="1",
        _unknown_tags=[(9, NEEDLE)],
    )  # fmt: skip
    unknown_broker_key = record(
        "ConfigRecord", resource_type=4, resource_name="1", name="my.plugin", value=NEEDLE.decode()
    )
    hidden = [
        *(Record(value=value) for value in (scram, token, tagged, unknown_broker_key)),
        Record(value=b"\x01\xf6\x03\x00" + NEEDLE),
        Record(value=b"\x80\x80\x80\x80\x80\x80" + NEEDLE),
        Record(value=b"\x01\x02\x63" + NEEDLE),
        Record(value=topic + NEEDLE),
        Record(value=secret_config() + NEEDLE),
        Record(value=b""),
        Record(value=None),
        Record(value=topic, key=NEEDLE),
        Record(value=topic, headers=((NEEDLE, None), (b"h", NEEDLE))),
        Record(value=topic, headers=((b"", b"\0" * 70), (b"h", NEEDLE))),
    ]
    return st.one_of(
        st.sampled_from(hidden),
        records(unknown_tags=False).map(lambda drawn: Record(value=drawn.value)),
    )


CODECS: Sequence[Codec] = ("none", "none", "none", "gzip", "snappy", "lz4", "zstd")


@given(
    st.lists(st.tuples(st.lists(planted(), min_size=1, max_size=5), st.sampled_from(CODECS))),
    st.booleans(),
)
def test_of_made_up_logs(logs: list[tuple[list[Record], Codec]], with_kernel: bool) -> None:
    """No needle is left; offsets and times stay, and records that are understood are equal."""
    data, offset = b"", 0
    for batch, codec in logs:
        data += encode_batch(
            [replace(one, timestamp_delta=i * 50) for i, one in enumerate(batch)],
            base_offset=offset,
            codec=codec,
        )
        offset += len(batch)
    with implemented_by("kernel" if with_kernel else "numpy"):
        loaded = loaded_of(data)
        copy, batches = redacted(loaded)
        lines, copied = lines_of(loaded), lines_of(loaded_of(copy))
    before, after = list(read_records(data)), list(read_records(copy))
    assert NEEDLE not in copy
    assert [(r.offset, r.timestamp) for r in before] == [(r.offset, r.timestamp) for r in after]
    assert all(r.key is None and not r.headers for r in after)
    differ = [i for i in range(len(lines)) if lines[i] != copied[i]]
    assert all(after[i].value == NOOP for i in differ)
    n_others = sum(n for what, n in batches.left_out.items() if what.startswith(("tag", "key")))
    assert len(differ) == batches.left_out.total() - n_others


@given(records(unknown_tags=False))
def test_a_record_without_secrets_keeps_its_bytes(drawn: DrawnRecord) -> None:
    """Also where its neighbours in the batch do not."""
    data = encode_batch([secret_config(), drawn.value, drawn.value, Record(value=b"?", key=b"k")])
    copy, batches = redacted(loaded_of(data))
    _, second, third, last = (r.value for r in read_records(copy))
    n = batches.redacted.total() - 1
    assert second == third
    assert (second == drawn.value) or n
    assert last == NOOP


@given(st.lists(damaged_values(), min_size=1, max_size=4), st.sampled_from(CODECS), st.booleans())
def test_damaged_records(values: list[bytes], codec: Codec, control: bool) -> None:
    """A record that does not decode leaves nothing; offsets stay; a copy of the copy is equal."""
    taken = [
        control_record(i % 8, value) if control else Record(value=value)
        for i, value in enumerate(values)
    ]
    loaded = loaded_of(
        encode_batch([secret_config(), *taken][control:], control=control, codec=codec)
    )
    copy, _ = redacted(loaded)
    lines, copied = lines_of(loaded), lines_of(loaded_of(copy))
    after = list(read_records(copy))
    differ = [i for i in range(len(lines)) if lines[i] != copied[i]]
    assert all(after[i].value in (NOOP, None) for i in differ)
    assert redacted(loaded_of(copy))[0] == copy
    assert b"hunter2" not in copy


@given(spec=definitions(), data=st.data())
def test_tagged_fields_that_are_not_known_are_left_out(
    spec: MessageSpec, data: st.DataObject
) -> None:
    """Wherever they are in a message; nothing else of it changes."""
    registry = Registry([*builtin_specs(), spec])
    drawn = data.draw(records([spec]))
    whole = loaded_of(encode_batch([drawn.value, drawn.value]))
    batches = RedactedBatches(whole, registry)
    new = batches.rewritten(0, whole.size)
    copy = bytes(memoryview(whole.buffer)[: whole.size]) if new is None else new
    first, second = (r.value for r in read_records(copy))
    body = drawn.value[: len(drawn.value) - len(encode_message(spec, drawn.version, drawn.fields))]
    assert first == second == body + encode_message(spec, drawn.version, without_tags(drawn.fields))


def without_tags(value: Any) -> Any:
    """Fields without what their definition lacks."""
    if isinstance(value, dict):
        return {name: without_tags(one) for name, one in value.items() if name != UNKNOWN_TAGS}
    return [without_tags(one) for one in value] if isinstance(value, list) else value


def test_control_records_that_are_not_known() -> None:
    """They keep their type alone; those that are known stay."""
    data = encode_batch(
        [
            control_record(9, NEEDLE),
            Record(key=b"\0\0\0\2" + NEEDLE, value=NEEDLE),
        ],
        control=True,
    )
    copy, batches = redacted(loaded_of(data))
    assert NEEDLE not in copy
    assert [(b"\0\0\0\t", None), (b"\0\0\0\2", None)] == [
        (r.key, r.value) for r in read_records(copy)
    ]
    assert 3 == batches.left_out.total()


def test_a_batch_whose_records_do_not_frame_is_left_out() -> None:
    """Its CRC is right, and nobody knows what is in it."""
    good = encode_batch([secret_config()])
    bad = encode_raw_batch(
        NEEDLE, count=1, base_offset=1, last_offset_delta=0, leader_epoch=1, timestamp=0
    )
    copy, batches = redacted(loaded_of(good + bad))
    assert 1 == len(list(read_batches(copy)))
    assert {f"{NAME}: position {len(good)}"} == {p for one in batches.places.values() for p in one}
