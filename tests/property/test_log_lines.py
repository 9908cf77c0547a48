"""The JSON of records, built from columns, is that of their values written one by one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftgen.batch import encode_batch
from kraftgen.files import segment_name
from metashell.log.read import load
from metashell.records.filter import TopicNames
from metashell.records.line_forms import JsonForm, ReadableForm
from metashell.records.lines import LineWriter
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.dump import json_text
from support.dumped import dump
from support.logs import topic_batch
from support.strategies import DrawnRecord, builtin_registry, damaged_values, record_lists

NAMES = {spec.type_name: spec.name for spec in builtin_registry().metadata.values()}


def lines_of(path: Path, redaction: Redaction) -> tuple[list[str], list[str]]:
    """All records of a file as JSON and as text."""
    records = Records(load([str(path)]), builtin_registry())
    names = TopicNames()
    names.learn(records)
    rows = np.arange(len(records.frames))
    as_json = LineWriter(JsonForm(), redaction, names).lines(records, rows)
    return as_json, LineWriter(ReadableForm(), redaction, names).lines(records, rows)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(drawn=record_lists(min_size=1), show_secrets=st.booleans())
def test_any_records(tmp_path: Path, drawn: list[DrawnRecord], show_secrets: bool) -> None:
    """Any types and versions, mixed in one block, secrets shown or not."""
    path = tmp_path / segment_name(0)
    path.write_bytes(encode_batch([d.value for d in drawn]))
    redaction = Redaction(show_secrets)
    as_json, text = lines_of(path, redaction)
    plain = list(dump(load([str(path)]), builtin_registry()))

    assert len(drawn) == len(as_json) == len(plain) == len(text)
    for record, line in zip(plain, as_json, strict=True):
        if record.data is not None and record.type is not None:
            data = json_text(dict(redaction.record(NAMES[record.type], record.data)))
            assert f'"type":"{record.type}","version":{record.version},"data":{data}' in line
        else:
            assert '"error":' in line
    assert not [line for line in text if "\n" in line]


def test_positions_are_those_in_the_file(tmp_path: Path) -> None:
    """Of each of several files that were read together."""
    paths = [tmp_path / segment_name(base) for base in (0, 4)]
    for path, base in zip(paths, (0, 4), strict=True):
        path.write_bytes(topic_batch(base) + topic_batch(base + 1))
    records = Records(load(list(map(str, paths))), builtin_registry())
    writer = LineWriter(JsonForm(), Redaction())
    told = [line for at in (0, 2) for line in writer.lines(records, np.arange(at, at + 2))]
    second = len(topic_batch(0))
    assert [0, second, 0, second] == [json.loads(line)["pos"] for line in told]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(values=st.lists(damaged_values(), min_size=1, max_size=8))
def test_damaged_records(tmp_path: Path, values: list[bytes]) -> None:
    """Records that do not decode get a line each, whatever stands beside them."""
    path = tmp_path / segment_name(0)
    path.write_bytes(encode_batch(values))
    as_json, text = lines_of(path, Redaction())

    assert len(values) == len(as_json) == len(text)
