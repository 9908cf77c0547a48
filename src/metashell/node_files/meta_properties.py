"""`meta.properties`: which node of which cluster a log directory belongs to.

Version 0 (ZooKeeper's time, and clusters formatted then) has ``broker.id`` and perhaps
``cluster.id``; version 1 has ``cluster.id``, ``node.id`` and, since 3.7, ``directory.id``. A later
version is read by the same names. Source: Kafka's MetaProperties, MetaPropertiesVersion.
"""

from __future__ import annotations

from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.node_files.properties import parse_properties
from metashell.places.bounded_file import AnyPlace, name_of, read_if_present

FILE_NAME: Final = "meta.properties"
_INT32_MAX: Final = 2**31 - 1
_ID_CHARS_MAX: Final = 256
"""Kafka's ids have 22 characters; a user may format with one of their own."""


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """Identity of a node's log directory; None where the file does not say."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None


def read_meta_properties(path: AnyPlace) -> MetaProperties | None:
    """Read the file; None where there is none.

    Raises:
        SourceError: It can't be read or is malformed.
    """
    data = read_if_present(path)
    return None if data is None else parse_meta_properties(data, name_of(path))


def parse_meta_properties(data: bytes, file: str) -> MetaProperties:
    """Parse the file's content; `file` names it in errors.

    Raises:
        SourceError: It is no properties file, has no version, or an id is malformed.
    """
    entries = parse_properties(data, file)
    version = _non_negative(entries, "version", file)
    if version is None:
        raise SourceError(f"{file}: no `version`; not a {FILE_NAME} file")
    node_id = _non_negative(entries, "node.id", file)
    if node_id is None:
        node_id = _non_negative(entries, "broker.id", file)
    return MetaProperties(
        version=version,
        cluster_id=_id(entries, "cluster.id", file),
        node_id=node_id,
        directory_id=_id(entries, "directory.id", file),
    )


def _non_negative(entries: dict[str, str], key: str, file: str) -> int | None:
    """The int32 of that key; None where it is missing or -1, Kafka's *not set*."""
    text = entries.get(key, "").strip()
    if text in ("", "-1"):
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= _INT32_MAX):
        raise SourceError(f"{file}: `{key}` is not a number from 0 to {_INT32_MAX}: {text[:40]!r}")
    return int(text)


def _id(entries: dict[str, str], key: str, file: str) -> str | None:
    """The id of that key as it stands; None where it is missing or empty."""
    text = entries.get(key, "").strip()
    if len(text) > _ID_CHARS_MAX or not text.isprintable():
        raise SourceError(f"{file}: `{key}` is not an id: {text[:40]!r}")
    return text or None
