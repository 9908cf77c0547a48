"""The effective value of a config and where it comes from, as Kafka's DescribeConfigs tells it.

Owns which configs an answer has, and its columns; `config_defaults` knows what falls back to what.

Source: kafka.server.ConfigHelper.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.config_defaults import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DEFAULT,
    DYNAMIC_BROKER,
    DYNAMIC_DEFAULT_BROKER,
    GROUP,
    NOT_SET,
    STATIC_BROKER,
    TOPIC,
    ChainEntry,
    Fallbacks,
    default_of,
    group_synonyms,
    is_id,
    is_internal,
    is_known,
    keys_behind,
    keys_of,
    synonyms,
)
from metashell.answers.row_times import when
from metashell.dataclass import dataclass
from metashell.image.image import Image
from metashell.image.quorum_members import voters_in_log
from metashell.redact import Redaction
from metashell.schema.arena import Bools
from metashell.schema.arrow import string_array
from metashell.schema.resource_types import ResourceType, resource_type_name

_SET_ON: Final = {
    TOPIC: "DYNAMIC_TOPIC_CONFIG",
    BROKER: DYNAMIC_BROKER,
    BROKER_LOGGER: "DYNAMIC_BROKER_LOGGER_CONFIG",
    CLIENT_METRICS: "DYNAMIC_CLIENT_METRICS_CONFIG",
    GROUP: "DYNAMIC_GROUP_CONFIG",
}
"""Sources of what is set on a resource of a type."""


COLUMNS: Final = (
    "resource_type",
    "resource_name",
    "key",
    "value",
    "source",
    "broker",
    "assumed",
    "known",
    "internal",
    "gone",
    "synonyms",
    "changed_offset",
    "changed_time",
)


class ConfigResource(NamedTuple):
    """The owner of a config; the empty name of a broker means all brokers."""

    type: str
    name: str


_ANY_TOPIC: Final = ConfigResource(TOPIC, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigQuestion:
    """Which configs are asked for."""

    key: str | None = None
    resource: ConfigResource | None = None
    everything: bool = False
    """Whether keys that are not overridden are listed, too."""
    only_gone: bool = False
    only_unknown: bool = False


def configs_table(
    image: Image,
    redaction: Redaction,
    question: ConfigQuestion,
    assumptions: Assumptions = NO_ASSUMPTIONS,
) -> pa.Table:
    """The configs asked for, with `COLUMNS`; sorted by type, name and key.

    Args:
        image: The cluster.
        redaction: Hides secret values, in `synonyms` and among the assumptions too.
        question: The configs to list.
        assumptions: The configs in the nodes' own files.
    """
    return _Answer(image, redaction, assumptions).table(question)


def has_resource(image: Image, resource: ConfigResource) -> bool:
    """Whether the metadata has a resource: it exists, or configs of it do.

    The metadata knows nothing of a group but its configs, so any group may exist.
    """
    if resource.type == TOPIC and image.topics.find_name(resource.name) is not None:
        return True
    if resource.type in (BROKER, BROKER_LOGGER):
        if resource.type == BROKER and not resource.name:
            return True
        if resource.name in _node_names(image):
            return True
    if resource.type == GROUP:
        return True
    return bool(_Rows(image).of(resource).any())


def _node_names(image: Image) -> set[str]:
    """Ids of every node that is registered or votes, as names of resources."""
    ids = set(image.brokers.ids.tolist())
    ids.update(image.part("controllers").columns.fixed("controller_id").tolist())
    ids.update(member.id for member in voters_in_log(image.quorum))
    return {str(node) for node in ids}


class _Rows:
    """The configs that are set, a row each."""

    def __init__(self, image: Image) -> None:
        columns = image.part("configs").columns
        self.types = columns.fixed("resource_type")
        self.names = string_array(columns.span("resource_name"))
        self.keys = string_array(columns.span("name"))
        self.values = columns.span("value")

    def of(self, resource: ConfigResource) -> Bools:
        """Which rows belong to a resource."""
        codes = [each.value for each in ResourceType if each.name == resource.type]
        return np.isin(self.types, codes) & _equal(self.names, resource.name)


def _equal(array: pa.Array, text: str) -> Bools:
    out: Bools = np.asarray(pc.equal(array, text).to_numpy(zero_copy_only=False), dtype=np.bool_)
    return out


class _Answer:
    """Makes the table."""

    def __init__(self, image: Image, redaction: Redaction, assumptions: Assumptions) -> None:
        self.image, self.redaction, self.assumptions = image, redaction, assumptions
        self.rows = _Rows(image)
        self.changed = image.part("configs").changed
        self.brokers = sorted(image.brokers.ids.tolist())
        self.nodes = _node_names(image)
        self.fallbacks = Fallbacks(self._broker_configs(), assumptions, self._registered())
        self._topics: dict[str, bool] = {}
        self._known: dict[tuple[str, str], bool | None] = {}
        self._hidden: dict[tuple[str, str], bool] = {}
        self.out: dict[str, list[object]] = {name: [] for name in COLUMNS[:-2]}
        self.set_rows: list[int] = []
        self.others: pa.Array = pa.array([], type=pa.string())
        self.of_others = range(0)
        """Names of the topics for which the same holds, and which rows of `out` say what."""

    def _broker_configs(self) -> Iterator[tuple[str, str, str, int]]:
        """The configs set on brokers: name, key, value and row."""
        at = np.flatnonzero(self.rows.types == ResourceType.BROKER)
        names, keys = (a.take(pa.array(at)).to_pylist() for a in (self.rows.names, self.rows.keys))
        return zip(names, keys, self.rows.values.take(at).texts(), at.tolist(), strict=True)

    def _registered(self) -> dict[str, dict[str, str | None]]:
        """Values of nodes' own files that the registrations tell, by node's name and key."""
        found: dict[str, dict[str, str | None]] = {
            name: {"broker.id": name, "node.id": name} for name in self.nodes
        }
        brokers = self.image.brokers
        racks = brokers.registration.span("rack").strings()
        for broker, rack in zip(brokers.ids.tolist(), racks, strict=True):
            found[str(broker)]["broker.rack"] = rack
        return found

    # Which rows.

    def table(self, question: ConfigQuestion) -> pa.Table:
        mask = np.ones(len(self.rows.types), dtype=np.bool_)
        if question.resource is not None:
            mask &= self.rows.of(question.resource)
        if question.key is not None:
            keys = {question.key}
            if question.resource is None:
                # The brokers' keys behind a topic's or group's key decide about it too.
                keys |= set(synonyms(question.key)) | set(group_synonyms(question.key))
            mask &= _is_in(self.rows.keys, keys)
        if question.only_gone or question.only_unknown:
            mask &= self._marked(question)
        set_here = self._add_set(np.flatnonzero(mask), question)
        if question.everything and not (question.only_gone or question.only_unknown):
            self._add_unset(question, set_here)
        elif question.key is not None and question.resource is not None and not set_here:
            self._add_effective(question.resource, question.key)
        return self._finish()

    def _marked(self, question: ConfigQuestion) -> Bools:
        """Rows of resources that are gone, or of keys that no release knows."""
        mask = np.ones(len(self.rows.types), dtype=np.bool_)
        types = self.rows.types
        if question.only_gone:
            mask &= self._gone()
        if question.only_unknown:
            keys = self.rows.keys.dictionary_encode()
            for code in set(types.tolist()):
                kind = resource_type_name(code)
                flags = [self.known(kind, key) is False for key in keys.dictionary.to_pylist()]
                unknown = np.array(flags, dtype=np.bool_)[np.asarray(keys.indices)]
                mask &= (types != code) | unknown
        return mask

    def _gone(self) -> Bools:
        types = self.rows.types
        gone: Bools = types == ResourceType.TOPIC
        if gone.any():
            gone &= ~_is_in(self.rows.names, string_array(self.image.topics.raw_names))
        nodes = [*self.nodes]
        gone |= (types == ResourceType.BROKER) & ~_is_in(self.rows.names, ["", *nodes])
        gone |= (types == ResourceType.BROKER_LOGGER) & ~_is_in(self.rows.names, nodes)
        return gone

    # Rows of the answer.

    def _add_set(self, at: np.ndarray, question: ConfigQuestion) -> set[tuple[ConfigResource, str]]:
        """Add rows of what is set; returns what they are about, where that is needed."""
        types = self.rows.types[at].tolist()
        names = self.rows.names.take(pa.array(at)).to_pylist()
        keys = self.rows.keys.take(pa.array(at)).to_pylist()
        values = self.rows.values.take(at).texts()
        gone = self._gone()[at].tolist()
        kinds = {code: resource_type_name(code) for code in set(types)}
        track = question.everything or question.resource is not None
        seen = set()
        for row, code, name, key, value, is_gone in zip(
            at.tolist(), types, names, keys, values, gone, strict=True
        ):
            kind = kinds[code]
            source = _SET_ON.get(kind, kind)
            if kind == BROKER and not name:
                source = DYNAMIC_DEFAULT_BROKER
            entry = ChainEntry(source, key, value, row)
            tail = self.fallbacks.tail(
                kind, key, int(name) if kind == BROKER and is_id(name) else None
            )
            if kind == BROKER:
                tail = [e for e in tail if e.row != row] if name else []
            self._add(ConfigResource(kind, name), key, [entry, *tail], entry, is_gone)
            if track:
                seen.add((ConfigResource(kind, name), key))
        return seen

    def _add_unset(self, question: ConfigQuestion, seen: set[tuple[ConfigResource, str]]) -> None:
        """Add what is not overridden."""
        if question.resource is not None:
            one = question.key
            for key in [one] if one is not None else self._keys(question.resource):
                if (question.resource, key) not in seen:
                    self._add_effective(question.resource, key)
        elif question.key is not None:
            if question.key in keys_of(BROKER):
                for resource in (ConfigResource(BROKER, str(broker)) for broker in self.brokers):
                    if (resource, question.key) not in seen:
                        self._add_effective(resource, question.key)
            if default_of(TOPIC, question.key) is not None:
                self._add_topics(question.key, [r.name for r, _ in seen if r.type == TOPIC])

    def _add_topics(self, key: str, overriding: list[str]) -> None:
        """Add what holds for every topic that does not set a key: the same for all of them."""
        names = string_array(self.image.topics.raw_names)
        self.others = names.filter(pa.array(~_is_in(names, overriding)))
        begin = len(self.set_rows)
        self._add_effective(_ANY_TOPIC, key)
        self.of_others = range(begin, len(self.set_rows))

    def _keys(self, resource: ConfigResource) -> list[str]:
        """Every key that a resource can have: Kafka's, and of a broker those that are assumed."""
        keys = set(keys_of(resource.type))
        if resource.type == BROKER:
            keys |= set(self.assumptions.settings)
        return sorted(keys)

    def _add_effective(self, resource: ConfigResource, key: str) -> None:
        """Add the value of a key that is not set on the resource itself; nothing for odd keys."""
        kind = resource.type
        if kind == BROKER:
            self._add_of_broker(resource, key)
            return
        if key not in keys_of(kind) and default_of(kind, key) is None:
            return
        rest = []
        for broker in self.brokers:
            own = self.fallbacks.dynamic.get(str(broker), {})
            if any(k in own for k in keys_behind(kind, key)):
                self._add_fallback(resource, key, broker)
            else:
                rest.append(broker)
        if rest or not self.brokers:
            self._add_fallback(resource, key, None)

    def _add_of_broker(self, resource: ConfigResource, key: str) -> None:
        if not resource.name:
            return  # For all brokers there is what is set, and nothing else.
        broker = int(resource.name) if is_id(resource.name) else None
        chain = self.fallbacks.tail(BROKER, key, broker)
        if chain:
            self._add(resource, key, chain, chain[0], self._is_gone(resource))
        elif key in keys_of(BROKER):
            nothing = ChainEntry(DEFAULT, key, "", NOT_SET)
            self._add(resource, key, [], nothing, self._is_gone(resource), is_null=True)

    def _add_fallback(self, resource: ConfigResource, key: str, broker: int | None) -> None:
        chain = self.fallbacks.tail(resource.type, key, broker)
        effective = self.fallbacks.effective(resource.type, key, broker)
        self._add(resource, key, chain, effective, self._is_gone(resource), broker=broker)

    def _is_gone(self, resource: ConfigResource) -> bool:
        if resource.type == TOPIC:
            if resource is _ANY_TOPIC:
                return False
            if resource.name not in self._topics:
                found = self.image.topics.find_name(resource.name) is not None
                self._topics[resource.name] = found
            return not self._topics[resource.name]
        if resource.type in (BROKER, BROKER_LOGGER):
            return resource.name not in self.nodes and bool(resource.name)
        return False

    # Columns.

    def _add(
        self,
        resource: ConfigResource,
        key: str,
        chain: list[ChainEntry],
        effective: ChainEntry,
        gone: bool,
        *,
        broker: int | None = None,
        is_null: bool = False,
    ) -> None:
        out, (kind, name) = self.out, resource
        secret = self.hides(kind, key) and effective.source != DEFAULT
        out["resource_type"].append(kind)
        out["resource_name"].append(name)
        out["key"].append(key)
        value = self.redaction.secret(effective.value) if secret else self._value(kind, effective)
        out["value"].append(None if is_null else value)
        out["source"].append(effective.source)
        out["broker"].append(broker)
        fixed = effective.source not in (DEFAULT, STATIC_BROKER)
        fixed |= kind == BROKER and key in self.fallbacks.registered.get(name, {})
        out["assumed"].append(not fixed and (kind == BROKER or bool(keys_behind(kind, key))))
        out["known"].append(self.known(kind, key))
        out["internal"].append(None if kind == BROKER_LOGGER else is_internal(key))
        out["gone"].append(None if kind in (GROUP, CLIENT_METRICS) else gone)
        out["synonyms"].append([self._synonym(kind, entry) for entry in chain])
        self.set_rows.append(effective.row)

    def _synonym(self, kind: str, entry: ChainEntry) -> str:
        return f"{entry.source}:{entry.key}={self._value(kind, entry)}"

    def _value(self, kind: str, entry: ChainEntry) -> str:
        """An entry's value; Kafka's defaults are public."""
        if entry.source == DEFAULT:
            return entry.value
        of_broker = entry.source in (DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER)
        hidden = self.hides(BROKER if of_broker else kind, entry.key)
        return self.redaction.secret(entry.value) if hidden else entry.value

    def hides(self, kind: str, key: str) -> bool:
        """Whether a key's value must not be shown."""
        found = self._hidden.get((kind, key))
        if found is None:
            found = self._hidden[kind, key] = self.redaction.hides_config(kind, key)
        return found

    def known(self, kind: str, key: str) -> bool | None:
        """Whether a Kafka release knows a key."""
        if (kind, key) not in self._known:
            self._known[kind, key] = is_known(kind, key)
        return self._known[kind, key]

    def _finish(self) -> pa.Table:
        types = {
            "broker": pa.int32(),
            "assumed": pa.bool_(),
            "known": pa.bool_(),
            "internal": pa.bool_(),
            "gone": pa.bool_(),
            "synonyms": pa.list_(pa.string()),
        }
        arrays = {
            name: pa.array(values, type=types.get(name, pa.string()))
            for name, values in self.out.items()
        }
        # The last one is for `NOT_SET`.
        at = np.append(self.changed, -1)[np.array(self.set_rows, dtype=np.int64)]
        table = pa.table({**arrays, **when(self.image, "changed", at)})
        if self.of_others:
            table = self._for_others(table)
        order = [(name, "ascending") for name in ("resource_type", "resource_name", "key")]
        return table.take(pc.sort_indices(table, [*order, ("broker", "ascending")]))

    def _for_others(self, table: pa.Table) -> pa.Table:
        """Put a row for each topic in place of those that hold for all."""
        begin, end = self.of_others.start, self.of_others.stop
        parts = [table.slice(0, begin), table.slice(end)]
        at = COLUMNS.index("resource_name")
        for row in range(begin, end):
            same = table.take(pa.array(np.full(len(self.others), row, dtype=np.int64)))
            parts.append(same.set_column(at, "resource_name", self.others))
        return pa.concat_tables(parts)


def _is_in(array: pa.Array, values: object) -> Bools:
    wanted = values if isinstance(values, pa.Array) else pa.array(list(values), type=pa.string())  # type: ignore[call-overload]
    found = pc.is_in(array, value_set=wanted)
    out: Bools = np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)
    return out
