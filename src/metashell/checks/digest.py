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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from metashell.image.features import METADATA_VERSION
from metashell.image.keyed import FactRows, PartRows
from metashell.image.topics import orphans
from metashell.parts.forms import Fact
from metashell.parts.known import all_parts, find_part
from metashell.parts.partition_fields import BROKER_LISTS, NUMBERS
from metashell.parts.spec import LAST, hook
from metashell.parts.view import FactKey

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.parts.spec import PartSpec
    from metashell.redact import Redaction
    from metashell.schema.arena import I64, AnyArray
    from metashell.schema.columns import SpanColumn

__all__ = ["Fact", "FactKey"]

_DTYPES: Final = {"int8": "<i1", "int32": "<i4"}

_FORM: Final = b"metashell image 1\0"
"""Changes with what enters a digest or in which form."""


def part_digests(image: Image, redaction: Redaction) -> dict[str, bytes]:
    """SHA-256 of each part, by name in the order of Kafka's image. Cost: folds everything.

    Args:
        image: The image.
        redaction: Hidden values do not enter.
    """
    image.expect(BROKER_LISTS)
    return {part.name: _part_digest(image, part, redaction) for part in digested_parts()}


def digested_parts() -> Iterator[PartSpec]:
    """The parts that must be equal on every node: those below ``/image``."""
    return (part for part in all_parts() if part.path)


def without_orphans(
    image: Image, parts: Mapping[str, bytes], redaction: Redaction
) -> tuple[dict[str, bytes], int]:
    """The digests of the parts without configs of topics that do not exist, and how many those are.

    Sound nodes may differ in such configs (`metashell.image.topics`). One that a topic made later
    under that name has inherited is a state of its own, and enters.

    Args:
        image: The image.
        parts: Its digests, as `part_digests` gives them.
        redaction: The redaction that these were made with.
    """
    gone = orphans(image.part("configs"), image.topics)
    n_orphans = len(gone)
    found = dict(parts)
    if n_orphans:
        digest = _begun("configs")
        rows = np.delete(np.arange(len(image.part("configs")), dtype=np.int64), gone)
        known = PartRows(image, find_part("configs")).facts(redaction, rows)
        for piece in _row_bytes(known):
            digest.update(piece)
        found["configs"] = digest.digest()
    return found, n_orphans


def image_digest(parts: Mapping[str, bytes]) -> str:
    """Hex SHA-256 over the names and digests of the parts.

    A part that came after Kafka 4.4 adds nothing as long as it is empty.
    """
    whole = hashlib.sha256(_FORM)
    for name in sorted(parts):
        part = find_part(name)
        if part.order < LAST or parts[name] != _empty_digest(part):
            whole.update(encode((name, parts[name])))
    return whole.hexdigest()


def _empty_digest(part: PartSpec) -> bytes:
    digest = _begun(part.name)
    for piece in _row_bytes({} if part.absent is None else {(): (part.absent,)}):
        digest.update(piece)
    return digest.digest()


def _part_digest(image: Image, part: PartSpec, redaction: Redaction) -> bytes:
    digest = _begun(part.name)
    if part.digest:
        pieces = hook(part.digest)(image)
    else:
        pieces = _row_bytes(part_rows(image, part.name, redaction))
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def _begun(part: str) -> hashlib._Hash:
    return hashlib.sha256(_FORM + encode((part,)))


def encode(fact: Fact) -> bytes:
    """A fact as bytes that no other fact has."""
    known = _ENCODERS.get(type(fact))
    if known is not None:
        return known(fact)
    match fact:
        case None:
            return b"n"
        case bool():
            return b"t" if fact else b"f"
        case int():
            return b"i%d;" % fact
        case float():
            # All bit patterns of NaN become one.
            return b"d" + struct.pack("<d", math.nan if math.isnan(fact) else fact)
        case str():
            return _text_bytes(fact)
        case bytes():
            return b"b%d;" % len(fact) + fact
        case _:
            return b"l%d;" % len(fact) + b"".join(map(encode, fact))


@lru_cache(maxsize=4_096)
def _text_bytes(text: str) -> bytes:
    """The encoding of a text, kept: many facts hold the same names."""
    raw = text.encode("utf-8", "surrogatepass")
    return b"s%d;" % len(raw) + raw


def _list_of_facts(facts: Sequence[Fact]) -> bytes:
    """The encoding of a list, without a call for each fact that is no list."""
    pieces = [_ENCODERS.get(type(one), encode)(one) for one in facts]
    return b"l%d;%b" % (len(facts), b"".join(pieces))


_ENCODERS: Final[Mapping[type, Callable[[Any], bytes]]] = {
    str: _text_bytes,
    int: b"i%d;".__mod__,
    bool: {False: b"f", True: b"t"}.__getitem__,
    tuple: _list_of_facts,
    list: _list_of_facts,
}
"""The encoders of nearly all facts by type, which saves going through the cases of `encode`."""


def _row_bytes(rows: FactRows) -> Iterator[bytes]:
    yield b"%d;" % len(rows)
    yield from sorted(encode((key, facts)) for key, facts in rows.items())


# Topics and partitions, of which there are many: columns.


def id_order(ids: AnyArray) -> I64:
    """Indexes that sort ``V16[n]`` by their bytes."""
    pairs = np.ascontiguousarray(ids).view(">u8").reshape(-1, 2).astype(np.uint64)
    return np.lexsort((pairs[:, 1], pairs[:, 0]))


def topic_bytes(image: Image) -> Iterator[bytes]:
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


def partition_bytes(image: Image) -> Iterator[bytes]:
    """Column by column, sorted by topic id and partition id; lists are lengths, then elements."""
    partitions, topics = image.partitions, image.topics
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
    for name, kind in NUMBERS.items():
        yield _array(getattr(partitions, name)[order], _DTYPES[kind])
    for name in BROKER_LISTS:
        yield from _list_bytes(partitions.list_column(name).take(order), "<i4")
    values, bounds = partitions.directories(order)
    yield _array(np.diff(bounds), "<i8")
    yield values.tobytes()


def _list_bytes(column: SpanColumn, dtype: str) -> Iterator[bytes]:
    values, bounds = column.gather()
    yield _array(np.diff(bounds), "<i8")
    yield _array(values, dtype)


def _array(values: AnyArray, dtype: str) -> bytes:
    return values.astype(dtype, copy=False).tobytes()


# The other parts: row by row.


def part_rows(image: Image, part: str, redaction: Redaction) -> FactRows:
    """The facts of a part by key: of any but topics and partitions.

    Args:
        image: The image.
        part: Its name.
        redaction: A value that it hides is replaced by the same text throughout.
    """
    spec = find_part(part)
    if spec.facts:
        found: FactRows = hook(spec.facts)(image, redaction)
        return found
    return PartRows(image, spec).facts(redaction)


def feature_facts(image: Image, redaction: Redaction) -> FactRows:
    """Levels by feature; metadata.version has one also where none is set."""
    levels = PartRows(image, find_part("features")).facts(redaction)
    return {(METADATA_VERSION,): (0,), **levels}
