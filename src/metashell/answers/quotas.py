"""Client quotas: what is set, and what a client gets of it.

For each key the first that is set counts of eight: for the user and client id, the user and the
default client id, the user, the default user and client id, both defaults, the default user, the
client id, the default client id. A client without an id (an empty one) gets a user's quotas alone.
A connection's rate is that of its address, else the default one.

Source: ClientQuotaManager.DefaultQuotaCallback (which levels it looks at depends on which are set,
and comes to this), ClientQuotaMetadataManager, ConnectionQuotas.connectionRateForIp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.hosts import client_host
from metashell.answers.row_times import when
from metashell.dataclass import dataclass
from metashell.image.image import Image
from metashell.schema.dump import to_json

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
DEFAULT: Final = "<default>"
CLIENT_KEYS: Final[tuple[str, ...]] = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
"""Keys of quotas of users and client ids."""
IP_KEYS: Final[tuple[str, ...]] = ("connection_creation_rate",)

_ORDER: Final = {USER: 0, CLIENT_ID: 1, IP: 2}
_SPECIAL: Final = frozenset('"\\,=<>')
"""Characters that would make an entity's text mean something else."""

Entity = Mapping[str, str | None]
"""Names by type; None is the default."""


@dataclass(frozen=True, slots=True)
class Quota:
    """One key of one entity."""

    index: int
    """Among the image's quotas."""
    entity: Entity
    key: str
    value: float

    @property
    def is_ignored(self) -> bool:
        """Whether brokers take no notice: the key is none of the entity's, or the entity none."""
        if IP in self.entity:
            return self.key not in IP_KEYS
        return self.key not in CLIENT_KEYS or not self.entity.keys() & {USER, CLIENT_ID}


def read_quotas(image: Image) -> list[Quota]:
    """All quotas of an image, the one that was written last at the end."""
    columns = image.part("client_quotas").columns
    entity = columns.structs("entity")
    types = entity.items.span("entity_type").texts()
    names = entity.items.span("entity_name").strings()
    keys, values = columns.span("key").texts(), columns.fixed("value").tolist()
    quotas = [
        Quota(i, dict(zip(types[a:b], names[a:b], strict=True)), keys[i], values[i])
        for i, (a, b) in enumerate(pairwise(entity.list_offsets.tolist()))
    ]
    order = np.argsort(image.part("client_quotas").changed, kind="stable").tolist()
    return [quotas[i] for i in order]


def entity_text(entity: Entity, between: str = ", ") -> str:
    """An entity such as ``user=alice, client-id=<default>``; odd names stand in quotes."""
    parts = sorted(entity.items(), key=lambda part: (_ORDER.get(part[0], 3), part[0]))
    return between.join(
        f"{_written(kind)}={DEFAULT if name is None else _written(name)}" for kind, name in parts
    )


def _written(name: str) -> str:
    is_plain = name.isprintable() and name.strip() == name and _SPECIAL.isdisjoint(name)
    return name if name and is_plain else to_json(name)


def quotas_table(image: Image) -> pa.Table:
    """Every quota that is set, a row each, by entity and key."""
    quotas = sorted(read_quotas(image), key=lambda q: (entity_text(q.entity), q.key))

    def names(kind: str) -> pa.Array:
        shown = [
            DEFAULT if kind in q.entity and q.entity[kind] is None else q.entity.get(kind)
            for q in quotas
        ]
        return pa.array(shown, pa.string())

    rows = np.array([q.index for q in quotas], dtype=np.int64)
    defaults = [sorted(kind for kind, name in q.entity.items() if name is None) for q in quotas]
    return pa.table(
        {
            "entity": pa.array([entity_text(q.entity) for q in quotas], pa.string()),
            "user": names(USER),
            "client_id": names(CLIENT_ID),
            "ip": names(IP),
            "defaults": pa.array(defaults, pa.list_(pa.string())),
            "key": pa.array([q.key for q in quotas], pa.string()),
            "value": pa.array([q.value for q in quotas], pa.float64()),
            "ignored": pa.array([q.is_ignored for q in quotas], pa.bool_()),
            **when(image, "created", image.part("client_quotas").created[rows]),
            **when(image, "changed", image.part("client_quotas").changed[rows]),
        }
    )


@dataclass(frozen=True, slots=True)
class Client:
    """The client that is asked about; a part is None if no quota names it."""

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None


def client_levels(client: Client) -> list[Entity]:
    """The entities that a client's quotas can come from, the first to count first."""
    users: list[Entity] = [{USER: None}]
    ids: list[Entity] = [{CLIENT_ID: None}]
    if client.user is not None:
        users.insert(0, {USER: client.user})
    if client.client_id == "":
        return users
    if client.client_id is not None:
        ids.insert(0, {CLIENT_ID: client.client_id})
    levels = [level for user in users for level in (*({**user, **one} for one in ids), user)]
    return [*levels, *ids]


def effective(quotas: Iterable[Quota], client: Client) -> dict[str, list[Quota]]:
    """The quotas that are for a client, by key; of each list the first counts."""
    by_key: dict[str, dict[tuple[tuple[str, str | None], ...], Quota]] = {}
    for quota in quotas:
        if not quota.is_ignored:
            by_key.setdefault(quota.key, {})[_level(quota.entity)] = quota
    levels = client_levels(client)
    found: dict[str, list[Quota]] = {
        key: [by_key[key][_level(level)] for level in levels if _level(level) in by_key[key]]
        for key in CLIENT_KEYS
        if key in by_key
    }
    for key in IP_KEYS:
        found[key] = _of_address(by_key.get(key, {}).values(), client.ip)
    return found


def _level(entity: Entity) -> tuple[tuple[str, str | None], ...]:
    """The part of an entity that brokers see."""
    kinds = (IP,) if IP in entity else (USER, CLIENT_ID)
    return tuple((kind, entity[kind]) for kind in kinds if kind in entity)


def _of_address(quotas: Iterable[Quota], ip: str | None) -> list[Quota]:
    own: list[Quota] = []
    default: list[Quota] = []
    address = None if ip is None else _address(ip)
    for quota in quotas:
        name = quota.entity[IP]
        if name is None:
            default = [quota]
        elif address is not None and _address(name) == address:
            # Two ways to write an address are one entity to brokers: the last one counts.
            own = [quota]
    return [*own, *default]


def _address(text: str) -> str:
    """An address in one form; a host name, which brokers would look up, in lower case."""
    host = client_host(text)
    return text.lower() if host is None else host.text


def effective_table(image: Image, client: Client, keys: Sequence[str]) -> pa.Table:
    """A client's quotas, a row for each key; without value and entity where it is unlimited."""
    found = effective(read_quotas(image), client)
    chosen = [found.get(key, []) for key in keys]
    rows = np.array(
        [image.part("client_quotas").changed[c[0].index] if c else -1 for c in chosen], np.int64
    )
    overridden = [
        [f"{entity_text(q.entity, ' and ')}: {repr(q.value).removesuffix('.0')}" for q in c[1:]]
        for c in chosen
    ]
    return pa.table(
        {
            "key": pa.array(list(keys), pa.string()),
            "value": pa.array([c[0].value if c else None for c in chosen], pa.float64()),
            "entity": pa.array(
                [entity_text(c[0].entity) if c else None for c in chosen], pa.string()
            ),
            "overrides": pa.array(overridden, pa.list_(pa.string())),
            **when(image, "changed", rows),
        }
    )
