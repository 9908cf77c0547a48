"""Which definition a key means."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.errors import SchemaError
from metashell.schema.model import Registry, load_registry, parse_message

VENDOR = (
    '{"name": "VendorRecord", "apiKey": %d, "validVersions": "0-7", "flexibleVersions": "0+",'
    ' "fields": []}'
)


def test_builtin() -> None:
    """Ours are found by key, by control type and by name."""
    registry = load_registry()
    assert "PartitionRecord" == registry.metadata[3].name
    assert "LeaderChangeMessage" == registry.control[2].name
    assert registry.by_name["TopicRecord"] is registry.metadata[2]


def test_type_name() -> None:
    """Types are named as kafka-dump-log names them, unknown keys by number."""
    registry = load_registry()
    assert "BROKER_REGISTRATION_CHANGE_RECORD" == registry.type_name(17)
    assert "ZK_MIGRATION_STATE_RECORD" == registry.type_name(21)
    assert "UNKNOWN(501)" == registry.type_name(501)


def test_extra_definitions(tmp_path: Path) -> None:
    """A user's definitions are added to ours."""
    (tmp_path / "vendor.json").write_text(VENDOR % 501)
    registry = load_registry([tmp_path])
    assert "VENDOR_RECORD" == registry.type_name(501)
    assert "TOPIC_RECORD" == registry.type_name(2)


def test_extra_definition_wins(tmp_path: Path) -> None:
    """A user's definition of a key of ours replaces ours, and only there."""
    (tmp_path / "newer.json").write_text(VENDOR % 2)
    assert "VendorRecord" == load_registry([tmp_path]).metadata[2].name
    assert "TopicRecord" == load_registry().metadata[2].name


def test_neither_kind() -> None:
    """A definition that is neither a metadata nor a control record is refused."""
    spec = parse_message('{"name": "A", "validVersions": "0", "fields": []}')
    with pytest.raises(SchemaError, match="A: neither apiKey nor controlType"):
        Registry([spec])
