"""Which message a key means: our definitions, and a user's beside them.

A user's definition of a key that we have too replaces ours, so that a newer Kafka's records can be
read before metashell knows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from metashell.errors import SchemaError
from metashell.schema.model import MessageSpec, read_definitions
from metashell.shipped import shipped


class Registry:
    """Message definitions by metadata api key, by control type and by name."""

    def __init__(self, specs: Iterable[MessageSpec]) -> None:
        self.metadata: dict[int, MessageSpec] = {}
        """Metadata records by api key."""
        self.control: dict[int, MessageSpec] = {}
        """Control records by type."""
        self.by_name: dict[str, MessageSpec] = {}
        """Both kinds by message name, such as ``PartitionRecord``."""
        for spec in specs:
            if spec.of_coordinator:
                # Its numbers are types of another log's records: see `schema.coordinators`.
                continue
            if spec.api_key is not None:
                self.metadata[spec.api_key] = spec
            elif spec.control_type is not None:
                self.control[spec.control_type] = spec
            else:
                raise SchemaError(f"{spec.name}: neither apiKey nor controlType")
            self.by_name[spec.name] = spec

    def type_name(self, api_key: int) -> str:
        """Name a metadata record type as kafka-dump-log does; ``UNKNOWN(501)`` for unknown keys."""
        spec = self.metadata.get(api_key)
        return spec.type_name if spec is not None else f"UNKNOWN({api_key})"


@cache
def builtin_specs() -> tuple[MessageSpec, ...]:
    """Read the definitions that ship with metashell, once per process."""
    return tuple(read_definitions(shipped(__file__, "messages")))


def load_registry(extra: Iterable[Path] = ()) -> Registry:
    """Read our definitions, then those of the directories given, later ones winning.

    Raises:
        SchemaError: A file is no definition.
    """
    specs = list(builtin_specs())
    for directory in extra:
        specs.extend(read_definitions(directory))
    return Registry(specs)
