"""Which definitions the records of the coordinators' logs have."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.errors import SchemaError
from metashell.log.names import COORDINATOR_TOPICS
from metashell.schema.coordinators import (
    CoordinatorLog,
    coordinator_log,
    data_message,
    load_record_types,
)
from metashell.schema.model import FieldSpec, MessageSpec, Registry, load_registry

NUMBERS = {
    CoordinatorLog.GROUPS: [*range(9), *range(10, 18), *range(19, 24)],
    CoordinatorLog.TRANSACTIONS: [0],
    CoordinatorLog.SHARE: [0, 1],
}
DATA = (
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "EndTxnMarker",
    "ProducerSnapshot",
)
SPECS = [
    spec
    for log in CoordinatorLog
    for record_type in load_record_types(log).by_number.values()
    for spec in (record_type.key, record_type.value)
] + [data_message(name) for name in DATA]

KEY = (
    '{"name": "%sKey", "type": "coordinator-key", "apiKey": %d, "validVersions": "0",'
    ' "fields": [{"name": "Name", "type": "string", "versions": "0"}]}'
)
VALUE = (
    '{"name": "%sValue", "type": "coordinator-value", "apiKey": %d, "validVersions": "0-7",'
    ' "flexibleVersions": "0+", "fields": []}'
)


def names_of(fields: tuple[FieldSpec, ...]) -> list[list[str]]:
    """Give the names of a struct's fields, then those of the structs in it."""
    inner = [names for field in fields if field.fields for names in names_of(field.fields)]
    return [[field.column_name for field in fields], *inner]


@pytest.mark.parametrize("log", CoordinatorLog)
def test_numbers(log: CoordinatorLog) -> None:
    """Each log has the types of Kafka 4.4, each with a key and a value of one name."""
    types = load_record_types(log)
    assert NUMBERS[log] == list(types.by_number)
    for number, record_type in types.by_number.items():
        assert number == record_type.number == record_type.key.api_key
        assert f"{record_type.name}Value" == record_type.value.name
        assert record_type is types.by_name[record_type.name]


def test_34_pairs_of_type_and_version() -> None:
    """So many pairs of key type and value version there are in Kafka 4.4."""
    values = [t.value for log in CoordinatorLog for t in load_record_types(log).by_number.values()]
    assert 34 == sum(value.versions.high - value.versions.low + 1 for value in values)


def test_type_names() -> None:
    """Types are named as Kafka names them, unknown ones by number."""
    types = load_record_types(CoordinatorLog.GROUPS)
    assert "LEGACY_OFFSET_COMMIT" == types.type_name(0)
    assert "CONSUMER_GROUP_MEMBER_METADATA" == types.type_name(5)
    assert "UNKNOWN(9)" == types.type_name(9)


def test_topics() -> None:
    """The three topics are coordinators' logs, and no other is."""
    assert CoordinatorLog.GROUPS is coordinator_log("__consumer_offsets")
    assert [*CoordinatorLog] == list(COORDINATOR_TOPICS)
    assert [None] * 3 == [coordinator_log(t) for t in ("orders", "", "__cluster_metadata")]


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.name)
def test_definitions(spec: MessageSpec) -> None:
    """Names are unique within a struct, tags without gaps, and keys are never flexible."""
    for names in names_of(spec.fields):
        assert len(names) == len(set(names))
    tags = sorted(f.tag for f in spec.fields if f.tag is not None)
    assert list(range(len(tags))) == tags
    if spec.name.endswith("Key"):
        assert 0 not in spec.flexible


def test_metadata_has_none_of_them() -> None:
    """A user's definitions of coordinators' records are no metadata records."""
    registry = Registry(SPECS[:4])
    assert {} == registry.metadata == registry.by_name
    assert "TopicRecord" == load_registry().metadata[2].name


def test_users_definitions(tmp_path: Path) -> None:
    """A user's definitions are added to ours and replace those of the same number."""
    for name, number in (("Gadget", 40), ("OffsetCommit", 1)):
        (tmp_path / f"{name}Key.json").write_text(KEY % (name, number))
        (tmp_path / f"{name}Value.json").write_text(VALUE % (name, number))
    types = load_record_types(CoordinatorLog.GROUPS, [tmp_path])
    assert "GADGET" == types.type_name(40)
    assert 7 == types.by_name["OffsetCommit"].value.versions.high
    shares = load_record_types(CoordinatorLog.SHARE, [tmp_path])
    assert [0, 1] == list(shares.by_number)
    assert 4 == load_record_types(CoordinatorLog.GROUPS).by_number[1].value.versions.high


def test_users_definition_of_another_log(tmp_path: Path) -> None:
    """A definition with the name of one of ours is of that one's log."""
    (tmp_path / "v.json").write_text(VALUE % ("ShareUpdate", 1))
    groups, shares = (
        load_record_types(log, [tmp_path]) for log in (CoordinatorLog.GROUPS, CoordinatorLog.SHARE)
    )
    assert "OffsetCommit" == groups.by_number[1].name
    assert 7 == shares.by_number[1].value.versions.high


@pytest.mark.parametrize(("text", "missing"), [(KEY, "value"), (VALUE, "key")])
def test_half_a_type(tmp_path: Path, text: str, missing: str) -> None:
    """A key without a value, or the reverse, is an error that names it."""
    (tmp_path / "half.json").write_text(text % ("Gadget", 40))
    with pytest.raises(SchemaError, match=rf"Gadget.*type 40 of .* has no {missing} definition"):
        load_record_types(CoordinatorLog.GROUPS, [tmp_path])
