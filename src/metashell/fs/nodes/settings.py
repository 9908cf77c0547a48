"""``/image/{configs,clientQuotas,features,producerIds}``: values by key.

Source: org.apache.kafka.image.node.{ConfigurationsImageNode, ClientQuotasImageNode,
FeaturesImageNode, ProducerIdsImageNode}.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from metashell.fs.node import Directory, FixedDirectory, Leaf, TextLeaf
from metashell.fs.nodes.tables import GroupDirectory, RowDirectory, group_rows
from metashell.fs.times import TableTimes, Times, changed_at
from metashell.image.configs import resource_type_name
from metashell.image.features import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.image.image import Image
from metashell.image.keyed import Part
from metashell.redact import Redaction
from metashell.schema.dump import java_double

NO_METADATA_VERSION: Final = "none"
"""Text of ``metadataVersion`` where no record sets one."""

_ENTITY_ORDER: Final = {"clientId": 0, "ip": 1, "user": 2}
_ENTITY_NAMES: Final = {"client-id": "clientId", "ip": "ip", "user": "user"}


def configs_node(image: Image, redaction: Redaction) -> Directory:
    """The directory ``configs``."""

    def groups() -> dict[str, dict[str, int]]:
        columns = image.configs.columns
        types = map(resource_type_name, columns.fixed("resource_type").tolist())
        names = columns.span("resource_name").texts()
        resources = [
            f"{kind}:{name}" if name else kind for kind, name in zip(types, names, strict=True)
        ]
        return group_rows(resources, columns.span("name").texts())

    def leaf(resource: str, key: str, row: int) -> Leaf:
        kind = resource.partition(":")[0]

        def text() -> str:
            value = image.configs.columns.span("value").text(row) or ""
            return redaction.config_value(kind, key, value)

        return TextLeaf(text)

    times = TableTimes(
        lambda: image.touched.configs,
        lambda: image.configs,
        lambda: image.touched.config_resources,
    )
    return GroupDirectory(groups, leaf, times, lambda judge: judge.configs(image))


def quotas_node(image: Image) -> Directory:
    """The directory ``clientQuotas``."""

    def groups() -> dict[str, dict[str, int]]:
        return group_rows(entity_names(image.quotas), image.quotas.columns.span("key").texts())

    def leaf(entity: str, key: str, row: int) -> Leaf:
        def value() -> float:
            return float(image.quotas.columns.fixed("value")[row])

        return TextLeaf(lambda: java_double(value()), value)

    times = TableTimes(
        lambda: image.touched.newest("ClientQuotaRecord"),
        lambda: image.quotas,
        lambda: image.touched.quota_entities,
    )
    return GroupDirectory(groups, leaf, times)


def entity_names(quotas: Part) -> list[str]:
    """The directory name of each quota's entity, such as ``clientId(x)_user(<default>)``."""
    entity = quotas.columns.structs("entity")
    types = entity.items.span("entity_type").texts()
    names = entity.items.span("entity_name").strings()
    bounds = entity.list_offsets.tolist()
    return [entity_name(zip(types[a:b], names[a:b], strict=True)) for a, b in pairwise(bounds)]


def entity_name(pairs: Iterable[tuple[str, str | None]]) -> str:
    """Write a quota entity as a name: its parts in Kafka's order, unknown types behind."""
    parts = []
    for kind, name in dict(pairs).items():
        shown = _ENTITY_NAMES.get(kind, _escape(kind))
        parts.append(
            (_ENTITY_ORDER.get(shown, 3), shown, "<default>" if name is None else _escape(name))
        )
    return "_".join(f"{kind}({name})" for _, kind, name in sorted(parts))


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def features_node(image: Image) -> Directory:
    """The directory ``features``."""

    def rows() -> dict[str, int]:
        names = image.features.columns.span("name").texts()
        shown = {
            f"finalized_{name}": row
            for row, name in enumerate(names)
            if name not in (METADATA_VERSION, KRAFT_VERSION)
        }
        return {**shown, "metadataVersion": -1}

    def leaf(_: str, row: int) -> Leaf:
        if row >= 0:
            level = int(image.features.columns.fixed("feature_level")[row])
            return TextLeaf(str(level), lambda: level)
        version = image.metadata_version
        text = NO_METADATA_VERSION if version is None else metadata_version_name(version)
        return TextLeaf(text).timed(lambda: _version_times(image, times))

    times = TableTimes(lambda: image.touched.newest("FeatureLevelRecord"), lambda: image.features)
    return RowDirectory(rows, leaf, times)


def _version_times(image: Image, times: TableTimes) -> Times | None:
    names = image.features.columns.span("name").texts()
    return times.of(names.index(METADATA_VERSION)) if METADATA_VERSION in names else None


def producer_ids_node(image: Image) -> Directory:
    """The directory ``producerIds``."""

    def value() -> int:
        found = image.producer_ids
        return -1 if found is None else found[0]

    def times() -> Times | None:
        first, last = image.touched.first_and_last("ProducerIdsRecord")
        return changed_at(last) and Times(first, last)

    return FixedDirectory(
        {"nextProducerId": lambda: TextLeaf(lambda: str(value()), value).timed(times)}
    )
