"""Encoding the messages that an observer sends: the inverse of the scalar decoder."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.quorum.protocol import (
    Api,
    describe_cluster_body,
    describe_quorum_body,
    fetch_body,
    fetch_snapshot_body,
    request_spec,
    response_spec,
)
from metashell.schema.encode import encode_message
from metashell.schema.model import MessageSpec, parse_message
from metashell.schema.scalar import decode_message
from support.seeds import examples
from support.strategies import definitions, field_values

APIS = [api for api in Api if api is not Api.METADATA]
SPECS = [make(api) for api in APIS for make in (request_spec, response_spec)]
VERSIONS = [
    pytest.param(spec, version, id=f"{spec.name}-{version}")
    for spec in SPECS
    for version in range(spec.versions.low, spec.versions.high + 1)
]


@pytest.mark.cases(17)
@pytest.mark.parametrize(("spec", "version"), VERSIONS)
@settings(max_examples=examples(12), deadline=None)
@given(data=st.data())
def test_round_trip(spec: MessageSpec, version: int, data: st.DataObject) -> None:
    """Every version of every message decodes to what was encoded, strictly or leniently."""
    fields = data.draw(field_values(spec, version))
    encoded = encode_message(spec, version, fields)
    assert decode_message(spec, version, encoded) == fields
    assert encoded == encode_message(spec, version, fields, leaves_out=True)


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_any_definition(data: st.DataObject) -> None:
    """What no message of ours has (tagged structs that may be null) is encoded as well."""
    spec = data.draw(definitions())
    version = data.draw(st.integers(spec.versions.low, spec.versions.high))
    fields = data.draw(field_values(spec, version))
    assert decode_message(spec, version, encode_message(spec, version, fields)) == fields


@pytest.mark.parametrize(("spec", "version"), VERSIONS)
def test_defaults(spec: MessageSpec, version: int) -> None:
    """Without fields all have their defaults, where those can be written."""
    given_nulls: dict[str, Any] = {
        field.column_name: ""
        for field in spec.fields
        if field.default is None and version in field.versions and version not in field.nullable
    }
    encoded = encode_message(spec, version, given_nulls)
    assert encode_message(spec, version, decode_message(spec, version, encoded)) == encoded


def test_apis_have_their_keys() -> None:
    """A definition's api key is that of the api which it is read for."""
    for api in APIS:
        assert request_spec(api).api_key == response_spec(api).api_key == api
        assert request_spec(api).versions == response_spec(api).versions
        assert request_spec(api).flexible == response_spec(api).flexible


def test_bodies() -> None:
    """All that our requests say comes out again, in every version that has a field for it."""
    bodies: dict[Api, dict[str, Any]] = {
        Api.FETCH: fetch_body(
            epoch=3, offset=7, last_epoch=2, high_watermark=6, max_wait_ms=500, cluster_id="c"
        ),
        Api.FETCH_SNAPSHOT: fetch_snapshot_body(
            epoch=3, snapshot=(9, 2), pos=11, max_bytes=12, cluster_id=None
        ),
        Api.DESCRIBE_QUORUM: describe_quorum_body(),
        Api.DESCRIBE_CLUSTER: describe_cluster_body(),
    }
    for api, body in bodies.items():
        spec = request_spec(api)
        for version in range(spec.versions.low, spec.versions.high + 1):
            decoded = decode_message(
                spec, version, encode_message(spec, version, body, leaves_out=True)
            )
            known = {field.column_name for field in spec.fields if version in field.versions}
            assert not set(body) - {field.column_name for field in spec.fields}
            for name in known & set(body):
                assert _within(body[name], decoded[name]), (api, version, name)
            assert decoded.get("replica_id", -1) == -1
            state: Any = decoded.get("replica_state")
            assert state is None or state["replica_id"] == -1


def _within(given: Any, decoded: Any) -> bool:
    """Whether all that was given, and that the version knows, was decoded."""
    if isinstance(given, dict):
        return all(
            _within(value, decoded[name])
            or decoded[name] in ("", bytes(16), 2**63 - 1)  # the version lacks the field
            for name, value in given.items()
        )
    if isinstance(given, list):
        return len(given) == len(decoded) and all(map(_within, given, decoded))
    return bool(given == decoded)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ('"type": "int8"', 128),
        ('"type": "int16"', "text"),
        ('"type": "uuid"', b"short"),
        ('"type": "string"', 7),
        ('"type": "[]int32"', 7),
    ],
)
def test_refuses_values(field: str, value: object) -> None:
    """A value that does not fit its field is the caller's mistake, and said to be one."""
    spec = parse_message(
        '{"name": "Made", "apiKey": 1, "validVersions": "0", "flexibleVersions": "0+",'
        f' "fields": [{{"name": "Field", "versions": "0+", {field}}}]}}'
    )
    with pytest.raises(ValueError):
        encode_message(spec, 0, {"field": value})
