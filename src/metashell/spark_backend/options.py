"""The options of the data source `kraft`: their names, and what they are read as.

Spark hands them over as text, their names in lower case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import UsageError
from metashell.log.time_spec import TimeSpec, parse_time_spec
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.spelling import did_you_mean, near_names

DEFAULT_SPLIT_BYTES: Final = 64 << 20

_NAMES: Final = {
    name.lower(): name
    for name in (
        "table",
        "at",
        "raw",
        "strict",
        "schemas",
        "committedOnly",
        "showSecrets",
        "splitBytes",
        "maxBytesPerTrigger",
        "failOnDataLoss",
        "path",
        "paths",
    )
}
_OF_CATALOG: Final = "option."
"""The prefix of an option's name where Spark's catalog hands it over a second time."""
_SIZE: Final = re.compile(r"(\d{1,15})([kmg]?)b?", re.IGNORECASE)
_MIN_SPLIT_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a query; picklable."""

    paths: tuple[str, ...] = field(repr=False)
    """The paths as given: a URI may hold a password."""
    table: str = "records"
    at: TimeSpec | None = None
    raw: bool = False
    settings: ReadSettings = READ_DEFAULTS
    split_bytes: int = DEFAULT_SPLIT_BYTES
    max_bytes_per_trigger: int | None = None
    fail_on_data_loss: bool = True


def parse_options(given: Mapping[str, str]) -> Options:
    """Read the options of a data source.

    Raises:
        UsageError: One is not known, or its value can't be read.
    """
    values: dict[str, str] = {}
    for name, value in (catalog_options(given) or given).items():
        known = _NAMES.get(name.lower())
        if known is None:
            shown = [n for n in _NAMES.values() if not n.startswith("path")]
            meant = did_you_mean(near_names(name, _NAMES.values(), 1))
            hint = meant or f"there are {', '.join(shown)}"
            raise UsageError(f"{name}: not an option of the data source kraft; {hint}")
        values[known] = value
    if "at" in values and not values["at"].strip():
        raise UsageError("at: must be an offset or a time, such as 4111 or 2026-09-21T14:14:09Z")
    limit = values.get("maxBytesPerTrigger")
    return Options(
        paths=_paths(values),
        table=values.get("table", "records"),
        at=parse_time_spec(values["at"].strip()) if "at" in values else None,
        raw=_flag(values, "raw"),
        settings=ReadSettings.of(
            strict=_flag(values, "strict"),
            schemas=_texts(values.get("schemas", "[]")),
            committed_only=_flag(values, "committedOnly"),
            show_secrets=_flag(values, "showSecrets"),
        ),
        split_bytes=max(_size(values, "splitBytes", DEFAULT_SPLIT_BYTES), _MIN_SPLIT_BYTES),
        max_bytes_per_trigger=None if limit is None else _size(values, "maxBytesPerTrigger", 0),
        fail_on_data_loss=_flag(values, "failOnDataLoss", default=True),
    )


def catalog_options(given: Mapping[str, str]) -> dict[str, str] | None:
    """The options alone of a table that Spark's catalog makes; None where there is no such table.

    The catalog hands over the table's properties, and each option once more as ``option.NAME``.
    """
    properties = {name.lower(): value for name, value in given.items()}
    own = {n[len(_OF_CATALOG) :]: v for n, v in properties.items() if n.startswith(_OF_CATALOG)}
    if not own and "provider" not in properties:
        return None
    known = {name: value for name, value in properties.items() if name in _NAMES}
    if "location" in properties and not {"path", "paths"} & properties.keys():
        known["path"] = properties["location"]
    return {**own, **known}


def _paths(values: Mapping[str, str]) -> tuple[str, ...]:
    """The argument of `load`: one path in `path`, several in `paths`, a JSON list."""
    found = [values["path"]] if "path" in values else []
    if "paths" in values:
        found.extend(_texts(values["paths"]))
    if not found or not all(found):
        raise UsageError(
            'no directory given; write load("/backups/*/__cluster_metadata-0"), or a list of them'
        )
    return tuple(found)


def _texts(value: str) -> list[str]:
    """A text, or a JSON list of texts."""
    if value.lstrip().startswith("["):
        try:
            listed = json.loads(value)
        except ValueError:
            # A glob may begin so, too.
            return [value]
        if isinstance(listed, list) and all(isinstance(text, str) for text in listed):
            return list(listed)
    return [value]


def _flag(values: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    value = values.get(name, str(default)).strip().lower()
    if value not in {"true", "false"}:
        raise UsageError(f"{name}={values[name]}: must be true or false")
    return value == "true"


def _size(values: Mapping[str, str], name: str, default: int) -> int:
    value = values.get(name)
    if value is None:
        return default
    match = _SIZE.fullmatch(value.strip())
    if match is None or not int(match[1]):
        raise UsageError(f"{name}={value}: must be a number of bytes, such as 67108864 or 64m")
    return int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[match[2].lower()]
