"""A digest of the canonical image, and the facts that it is made of.

Two nodes whose images are the same give the same digest, whatever checkpoint each replay began
with. So only facts that must be equal on every node enter it, in an order of their own: neither
rows, offsets and times of change, nor the order of records, nor the control records of the quorum
(which a checkpoint rewrites). Where a log and a checkpoint say the same thing in different words
one of them is taken: directories that are not known are MIGRATING for each replica, codes that
Kafka does not know are 0, text that is no UTF-8 has U+FFFD, the level of a feature that is not
there is 0.

Values that a `Redaction` hides do not enter either: whoever holds the digest of a weak password
and all around it could try passwords until one fits. Then two images that differ in nothing but
secrets have one digest; with secrets shown they have two.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from metashell.image.configs import RESOURCE_TYPES, resource_type_name
from metashell.image.features import KRAFT_VERSION, METADATA_VERSION
from metashell.image.security import SCRAM_MECHANISMS

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.image.partitions import Partitions
    from metashell.redact import Redaction
    from metashell.schema.arena import I64, AnyArray
    from metashell.schema.columns import Columns, SpanColumn

Fact: TypeAlias = "None | bool | int | float | str | bytes | tuple[Fact, ...]"
Key: TypeAlias = tuple[Fact, ...]
Rows: TypeAlias = Mapping[Key, tuple[Fact, ...]]
"""What exists of one kind: its facts by its key."""

PARTS: Final = (
    "features",
    "brokers",
    "controllers",
    "topics",
    "partitions",
    "configs",
    "client_quotas",
    "producer_ids",
    "acls",
    "scram",
    "delegation_tokens",
)
"""What an image is made of, in the order in which digests are shown."""

NUMBER_COLUMNS: Final = (
    ("leader", "<i4"),
    ("leader_recovery_state", "<i1"),
    ("leader_epoch", "<i4"),
    ("partition_epoch", "<i4"),
)
LIST_COLUMNS: Final = (
    "replicas",
    "isr",
    "removing_replicas",
    "adding_replicas",
    "elr",
    "last_known_elr",
)
"""Columns of `Partitions` besides the directories."""

_ACL_CODES: Final = {"resource_type": 8, "pattern_type": 5, "operation": 16, "permission_type": 4}
"""How many codes Kafka knows; others are UNKNOWN, which is 0."""

_FORM: Final = b"metashell image 1\0"
"""Changes with what enters a digest or in which form."""


def part_digests(image: Image, redaction: Redaction) -> dict[str, bytes]:
    """SHA-256 of each part (`PARTS`). Cost: folds everything.

    Args:
        image: The image.
        redaction: What it hides does not enter.
    """
    return {part: _part_digest(image, part, redaction) for part in PARTS}


def image_digest(parts: Mapping[str, bytes]) -> str:
    """Hex SHA-256 over the names and digests of the parts."""
    whole = hashlib.sha256(_FORM)
    for name in sorted(parts):
        whole.update(encode((name, parts[name])))
    return whole.hexdigest()


def _part_digest(image: Image, part: str, redaction: Redaction) -> bytes:
    digest = hashlib.sha256(_FORM + encode((part,)))
    if part == "topics":
        pieces = _topic_bytes(image)
    elif part == "partitions":
        pieces = _partition_bytes(image.partitions)
    else:
        pieces = _row_bytes(part_rows(image, part, redaction))
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def encode(fact: Fact) -> bytes:
    """A fact as bytes that no other fact has."""
    match fact:
        case None:
            return b"n"
        case bool():
            return b"t" if fact else b"f"
        case int():
            return b"i%d;" % fact
        case float():
            # Of the many bit patterns that are no number, one.
            return b"d" + struct.pack("<d", math.nan if math.isnan(fact) else fact)
        case str():
            raw = fact.encode("utf-8", "surrogatepass")
            return b"s%d;" % len(raw) + raw
        case bytes():
            return b"b%d;" % len(fact) + fact
        case _:
            return b"l%d;" % len(fact) + b"".join(map(encode, fact))


def _row_bytes(rows: Rows) -> Iterator[bytes]:
    yield b"%d;" % len(rows)
    yield from sorted(encode((key, facts)) for key, facts in rows.items())


# Topics and partitions, of which there are many: columns.


def id_order(ids: AnyArray) -> I64:
    """Indexes that sort ``V16[n]`` by their bytes."""
    pairs = np.ascontiguousarray(ids).view(">u8").reshape(-1, 2).astype(np.uint64)
    return np.lexsort((pairs[:, 1], pairs[:, 0]))


def _topic_bytes(image: Image) -> Iterator[bytes]:
    """Ids in order, then names: the length of each, and all of them."""
    topics = image.topics
    order = id_order(topics.ids)
    yield _array(np.array([len(order)]), "<i8")
    yield topics.ids[order].tobytes()
    names = topics.raw_names.take(order)
    data, bounds = names.gather()
    if data.size and int(data.max()) < 0x80:
        yield _array(np.diff(bounds), "<i8")
        yield data.tobytes()
        return
    texts = [text.encode("utf-8", "surrogatepass") for text in names.texts()]
    yield _array(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)), "<i8")
    yield b"".join(texts)


def _partition_bytes(partitions: Partitions) -> Iterator[bytes]:
    """Column by column, sorted by topic id and partition id; lists are lengths, then elements."""
    topics = partitions.topics
    counts = np.bincount(partitions.topic, minlength=len(topics))
    by_id = id_order(topics.ids)
    by_id = by_id[counts[by_id] > 0]
    rank = np.zeros(len(topics), dtype=np.int64)
    rank[by_id] = np.arange(len(by_id))
    order = np.argsort(rank[partitions.topic], kind="stable")
    yield _array(np.array([len(by_id), len(order)]), "<i8")
    yield topics.ids[by_id].tobytes()
    yield _array(counts[by_id], "<i8")
    yield _array(partitions.partition[order], "<i4")
    for name, dtype in NUMBER_COLUMNS:
        yield _array(getattr(partitions, name)[order], dtype)
    for name in LIST_COLUMNS:
        yield from _list_bytes(partitions.list_column(name).take(order), "<i4")
    lengths, values = directories(partitions, order)
    yield _array(lengths, "<i8")
    yield values.tobytes()


def directories(partitions: Partitions, rows: I64) -> tuple[I64, AnyArray]:
    """Directory ids of partitions: (number of each: int64[n], all of them: V16).

    MIGRATING for each replica where none are known.
    """
    stored = partitions.list_column("directories").take(rows)
    default = partitions.directories_default[rows]
    values, bounds = stored.gather()
    replicas = np.maximum(partitions.list_column("replicas").counts[rows], 0).astype(np.int64)
    lengths = np.where(default, replicas, np.diff(bounds))
    if not default.any():
        return lengths, values
    out = np.zeros(int(lengths.sum()), dtype="V16")
    out[np.repeat(~default, lengths)] = values[np.repeat(~default, np.diff(bounds))]
    return lengths, out


def _list_bytes(column: SpanColumn, dtype: str) -> Iterator[bytes]:
    values, bounds = column.gather()
    yield _array(np.diff(bounds), "<i8")
    yield _array(values, dtype)


def _array(values: AnyArray, dtype: str) -> bytes:
    return values.astype(dtype, copy=False).tobytes()


# The other parts: row by row.


def part_rows(image: Image, part: str, redaction: Redaction) -> Rows:
    """The facts of a part by key: of any but topics and partitions.

    Args:
        image: The image.
        part: One of `PARTS`.
        redaction: A value that it hides is replaced by the same text throughout.
    """
    return _ROWS[part](image, redaction)


def _features(image: Image, _: Redaction) -> Rows:
    columns = image.features.columns
    levels = {METADATA_VERSION: 0}
    levels.update(
        zip(columns.span("name").texts(), columns.fixed("feature_level").tolist(), strict=True)
    )
    # Not what says the level of this one: a control record does.
    levels.pop(KRAFT_VERSION, None)
    return {(name,): (level,) for name, level in levels.items()}


def _producer_ids(image: Image, _: Redaction) -> Rows:
    found = image.producer_ids
    return {(): (-1 if found is None else found[0],)}


def _brokers(image: Image, _: Redaction) -> Rows:
    brokers = image.brokers
    record = brokers.registration
    facts = zip(
        record.fixed("broker_epoch").tolist(),
        _ids(record.fixed("incarnation_id")),
        _endpoints(record),
        _supported(record),
        record.span("rack").strings(),
        brokers.fenced.tolist(),
        brokers.in_controlled_shutdown.tolist(),
        (record.fixed("is_migrating_zk_broker") != 0).tolist(),
        _sorted_ids(brokers.log_dirs),
        _sorted_ids(brokers.cordoned_log_dirs),
        strict=True,
    )
    return {(node,): fact for node, fact in zip(brokers.ids.tolist(), facts, strict=True)}


def _controllers(image: Image, _: Redaction) -> Rows:
    record = image.controllers.columns
    facts = zip(
        _ids(record.fixed("incarnation_id")),
        (record.fixed("zk_migration_ready") != 0).tolist(),
        _endpoints(record),
        _supported(record),
        strict=True,
    )
    nodes = record.fixed("controller_id").tolist()
    return {(node,): fact for node, fact in zip(nodes, facts, strict=True)}


def _ids(values: AnyArray) -> list[bytes]:
    return [value.tobytes() for value in values]


def _endpoints(record: Columns) -> list[Fact]:
    """Listeners by name; of two with the same name the later one counts."""
    column = record.structs("end_points")
    items = column.items
    every = list(
        zip(
            items.span("name").texts(),
            items.span("host").texts(),
            items.fixed("port").tolist(),
            items.fixed("security_protocol").tolist(),
            strict=True,
        )
    )
    bounds = column.list_offsets.tolist()
    return [tuple(sorted({e[0]: e for e in every[a:b]}.values())) for a, b in pairwise(bounds)]


def _supported(record: Columns) -> list[Fact]:
    """Ranges of feature levels by name; of two with the same name the higher one counts."""
    column = record.structs("features")
    items = column.items
    every = list(
        zip(
            items.span("name").texts(),
            items.fixed("min_supported_version").tolist(),
            items.fixed("max_supported_version").tolist(),
            strict=True,
        )
    )
    bounds = column.list_offsets.tolist()
    return [tuple({f[0]: f for f in sorted(every[a:b])}.values()) for a, b in pairwise(bounds)]


def _sorted_ids(column: SpanColumn) -> list[Fact]:
    """Lists of directory ids in an order; None where there is none."""
    return [
        None if raw is None else tuple(sorted(raw[at : at + 16] for at in range(0, len(raw), 16)))
        for raw in column.raws()
    ]


def _configs(image: Image, redaction: Redaction) -> Rows:
    columns = image.configs.columns
    rows: dict[Key, tuple[Fact, ...]] = {}
    for code, resource, name, value in zip(
        columns.fixed("resource_type").tolist(),
        columns.span("resource_name").texts(),
        columns.span("name").texts(),
        columns.span("value").texts(),
        strict=True,
    ):
        known = code if code in RESOURCE_TYPES else 0
        shown = redaction.config_value(resource_type_name(known), name, value)
        rows[known, resource, name] = (shown,)
    return rows


def _client_quotas(image: Image, _: Redaction) -> Rows:
    columns = image.quotas.columns
    entity = columns.structs("entity")
    pairs = list(
        zip(
            entity.items.span("entity_type").texts(),
            entity.items.span("entity_name").strings(),
            strict=True,
        )
    )
    entities = [
        # Keys are unique, so names, which may be null, are never compared.
        tuple(sorted(dict(pairs[a:b]).items()))
        for a, b in pairwise(entity.list_offsets.tolist())
    ]
    keys = zip(entities, columns.span("key").texts(), strict=True)
    values = columns.fixed("value").tolist()
    return {key: (value,) for key, value in zip(keys, values, strict=True)}


def _acls(image: Image, _: Redaction) -> Rows:
    columns = image.acls.columns
    codes = {}
    for name, known in _ACL_CODES.items():
        values = columns.fixed(name)
        codes[name] = np.where((values >= 0) & (values < known), values, 0).tolist()
    facts = zip(
        codes["resource_type"],
        columns.span("resource_name").texts(),
        codes["pattern_type"],
        columns.span("principal").texts(),
        columns.span("host").texts(),
        codes["operation"],
        codes["permission_type"],
        strict=True,
    )
    return {(key,): fact for key, fact in zip(_ids(columns.fixed("id")), facts, strict=True)}


def _scram(image: Image, redaction: Redaction) -> Rows:
    columns = image.scram.columns
    mechanisms = columns.fixed("mechanism").tolist()
    keys = zip(mechanisms, columns.span("name").texts(), strict=True)
    secrets = zip(
        *(columns.span(name).raws() for name in ("salt", "stored_key", "server_key")), strict=True
    )
    facts: dict[Key, tuple[Fact, ...]] = {}
    for key, iterations, secret in zip(
        keys, columns.fixed("iterations").tolist(), secrets, strict=True
    ):
        if key[0] in SCRAM_MECHANISMS:
            facts[key] = (iterations, redaction.secret(tuple(part or b"" for part in secret)))
    return facts


def _delegation_tokens(image: Image, redaction: Redaction) -> Rows:
    columns = image.tokens.columns
    renewers = columns.structs("renewers")
    names, bounds = renewers.items.span("element").texts(), renewers.list_offsets.tolist()
    facts = zip(
        columns.span("owner").texts(),
        columns.span("requester").texts(),
        (tuple(names[a:b]) for a, b in pairwise(bounds)),
        columns.fixed("issue_timestamp").tolist(),
        columns.fixed("max_timestamp").tolist(),
        columns.fixed("expiration_timestamp").tolist(),
        strict=True,
    )
    ids = columns.span("token_id").texts()
    return {(key,): (redaction.secret(fact),) for key, fact in zip(ids, facts, strict=True)}


_ROWS: Final[Mapping[str, Callable[[Any, Any], Rows]]] = {
    "features": _features,
    "brokers": _brokers,
    "controllers": _controllers,
    "configs": _configs,
    "client_quotas": _client_quotas,
    "producer_ids": _producer_ids,
    "acls": _acls,
    "scram": _scram,
    "delegation_tokens": _delegation_tokens,
}
