"""``/image/cluster``: broker and controller registrations.

Source: org.apache.kafka.image.node.{ClusterImageBrokersNode, ClusterImageControllersNode},
org.apache.kafka.metadata.{BrokerRegistration, ControllerRegistration}.toString.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from metashell.fs.java import java_bool, java_list, java_optional
from metashell.fs.node import Directory, FixedDirectory, JsonValue
from metashell.fs.nodes.tables import RowDirectory, RowLeaf
from metashell.fs.times import TableTimes
from metashell.image.image import Image
from metashell.image.parts import BROKERS, CONTROLLERS
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.uuids import uuid_text

SECURITY_PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}


def cluster_node(image: Image) -> Directory:
    """The directory ``cluster``."""
    return FixedDirectory(
        {"brokers": lambda: _brokers(image), "controllers": lambda: _controllers(image)}
    )


def _brokers(image: Image) -> Directory:
    def rows() -> dict[str, int]:
        return {str(node): row for row, node in enumerate(image.brokers.ids.tolist())}

    return RowDirectory(
        rows,
        lambda _, row: RowLeaf(lambda: broker_value(image, row), _broker_text),
        TableTimes(lambda: image.touched.newest(*BROKERS), lambda: image.brokers),
        lambda judge: judge.brokers(image),
    )


def _controllers(image: Image) -> Directory:
    def rows() -> dict[str, int]:
        ids = image.controllers.columns.fixed("controller_id").tolist()
        return {str(node): row for row, node in enumerate(ids)}

    return RowDirectory(
        rows,
        lambda _, row: RowLeaf(lambda: controller_value(image, row), _controller_text),
        TableTimes(lambda: image.touched.newest(*CONTROLLERS), lambda: image.controllers),
    )


def broker_value(image: Image, row: int) -> dict[str, JsonValue]:
    """A broker's registration, its fields named as Kafka names them."""
    brokers = image.brokers
    record = brokers.registration
    return {
        "id": int(brokers.ids[row]),
        "epoch": int(record.fixed("broker_epoch")[row]),
        "incarnationId": uuid_text(record.fixed("incarnation_id")[row].tobytes()),
        "listeners": _listeners(record, row),
        "supportedFeatures": _features(record, row),
        "rack": record.span("rack").text(row),
        "fenced": bool(brokers.fenced[row]),
        "inControlledShutdown": bool(brokers.in_controlled_shutdown[row]),
        "isMigratingZkBroker": bool(record.fixed("is_migrating_zk_broker")[row]),
        "directories": _directories(brokers.log_dirs, row),
        "cordonedDirectories": _directories(brokers.cordoned_log_dirs, row),
    }


def controller_value(image: Image, row: int) -> dict[str, JsonValue]:
    """A controller's registration, its fields named as Kafka names them."""
    record = image.controllers.columns
    return {
        "id": int(record.fixed("controller_id")[row]),
        "incarnationId": uuid_text(record.fixed("incarnation_id")[row].tobytes()),
        "zkMigrationReady": bool(record.fixed("zk_migration_ready")[row]),
        "listeners": _listeners(record, row),
        "supportedFeatures": _features(record, row),
    }


def _items(record: Columns, name: str, row: int) -> Columns:
    """The structs of one row."""
    column = record.structs(name)
    bounds = column.list_offsets
    return column.items.take(np.arange(bounds[row], bounds[row + 1]))


def _listeners(record: Columns, row: int) -> list[JsonValue]:
    """Endpoints by listener name, as Kafka sorts them."""
    items = _items(record, "end_points", row)
    endpoints: dict[str, JsonValue] = {}
    for name, host, port, protocol in zip(
        items.span("name").texts(),
        items.span("host").texts(),
        items.fixed("port").tolist(),
        items.fixed("security_protocol").tolist(),
        strict=True,
    ):
        endpoints[name] = {
            "listenerName": name,
            "securityProtocol": SECURITY_PROTOCOLS.get(protocol, str(protocol)),
            "host": host,
            "port": port,
        }
    return [endpoints[name] for name in sorted(endpoints)]


def _features(record: Columns, row: int) -> dict[str, JsonValue]:
    """Supported feature ranges by name."""
    items = _items(record, "features", row)
    ranges = zip(
        items.span("name").texts(),
        items.fixed("min_supported_version").tolist(),
        items.fixed("max_supported_version").tolist(),
        strict=True,
    )
    return {name: [low, high] for name, low, high in sorted(ranges)}


def _directories(column: SpanColumn, row: int) -> list[str] | None:
    """Directory ids in Java's order of Uuids: by two signed halves."""
    raw = column.raw(row)
    if raw is None:
        return None
    ids = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    ids.sort(
        key=lambda u: (
            int.from_bytes(u[:8], "big", signed=True),
            int.from_bytes(u[8:], "big", signed=True),
        )
    )
    return [uuid_text(u) for u in ids]


def _endpoint_texts(listeners: object) -> str:
    assert isinstance(listeners, Sequence)
    return java_list(
        f"Endpoint(listenerName='{e['listenerName']}', securityProtocol={e['securityProtocol']},"
        f" host='{e['host']}', port={e['port']})"
        for e in listeners
    )


def _feature_texts(features: object) -> str:
    assert isinstance(features, Mapping)
    texts = (f"{name}: {_range_text(low, high)}" for name, (low, high) in features.items())
    return "{" + ", ".join(texts) + "}"


def _range_text(low: int, high: int) -> str:
    """A range of versions; an open one ends with the largest int16."""
    if low == high:
        return str(low)
    return f"{low}+" if high == 32_767 else f"{low}-{high}"


def _broker_text(value: Mapping[str, JsonValue]) -> str:
    v = value
    directories, cordoned, rack = v["directories"], v["cordonedDirectories"], v["rack"]
    assert isinstance(directories, list)
    cordoned_text = java_list(cordoned) if isinstance(cordoned, list) else "null"
    return (
        f"BrokerRegistration(id={v['id']}, epoch={v['epoch']}, incarnationId={v['incarnationId']},"
        f" listeners={_endpoint_texts(v['listeners'])},"
        f" supportedFeatures={_feature_texts(v['supportedFeatures'])},"
        f" rack={java_optional(None if rack is None else str(rack))},"
        f" fenced={java_bool(v['fenced'])},"
        f" inControlledShutdown={java_bool(v['inControlledShutdown'])},"
        f" isMigratingZkBroker={java_bool(v['isMigratingZkBroker'])},"
        f" directories={java_list(directories)}, cordonedDirectories={cordoned_text})"
    )


def _controller_text(value: Mapping[str, JsonValue]) -> str:
    v = value
    return (
        f"ControllerRegistration(id={v['id']}, incarnationId={v['incarnationId']},"
        f" zkMigrationReady={java_bool(v['zkMigrationReady'])},"
        f" listeners={_endpoint_texts(v['listeners'])},"
        f" supportedFeatures={_feature_texts(v['supportedFeatures'])})"
    )
