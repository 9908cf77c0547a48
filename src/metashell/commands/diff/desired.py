"""The state that files want: Strimzi's resources in YAML or JSON, as `diff --with` takes them.

Anyone may have written the files: they are bounded, aliases are refused, and no document makes an
object.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from metashell.answers.recipes.stated import (
    Resource,
    StatedNames,
    StatedValue,
    stated_by,
    stated_of,
)
from metashell.errors import SourceError
from metashell.fs.node import Directory, FixedDirectory, JsonValue, Leaf, Node
from metashell.log.names import METADATA_DIRECTORY, parse_name
from metashell.places.bounded_file import read_bounded
from metashell.schema.dump import to_json

if TYPE_CHECKING:
    from metashell.image.image import Image

_ENDINGS: Final = (".yaml", ".yml", ".json")
_MOST_FILES: Final = 10_000
_FILE_BYTES: Final = 16 << 20
_ALL_BYTES: Final = 256 << 20
_DEEPEST: Final = 64


def desired_files(given: str) -> list[str]:
    """The files that a path names; empty where it names something else than such files."""
    if given.endswith(_ENDINGS):
        return [given]
    if not os.path.isdir(given):
        return []
    names = os.listdir(given)
    if METADATA_DIRECTORY in names or any(parse_name(name) is not None for name in names):
        return []
    found: list[str] = []
    for folder, folders, files in os.walk(given):
        folders.sort()
        found += [os.path.join(folder, name) for name in sorted(files) if name.endswith(_ENDINGS)]
        if len(found) > _MOST_FILES:
            raise SourceError(f"{given}: more than {_MOST_FILES:,} files in YAML or JSON")
    return found


def wanted_by(files: Sequence[str], given: str) -> Mapping[StatedNames, StatedValue]:
    """The facts that files state; those of unchanged files are read once for all of a fleet.

    Raises:
        SourceError: One can't be read, or none has a KafkaTopic or a KafkaUser.
    """
    stamps = []
    for file in files:
        with suppress(OSError):  # Reading it tells the reason.
            status = os.stat(file)
            stamps.append((status.st_mtime_ns, status.st_size))
    return _wanted_by(tuple(files), given, tuple(stamps))


@lru_cache(maxsize=1)
def _wanted_by(
    files: Sequence[str], given: str, _stamps: object
) -> Mapping[StatedNames, StatedValue]:
    found = stated_by(resource for file in _read(files) for resource in file)
    if not found:
        raise SourceError(
            f"{given}: no KafkaTopic, and no KafkaUser with ACLs, is in it",
            hint="`export --as strimzi` writes such files",
        )
    return found


def trees(image: Image, wanted: Mapping[StatedNames, StatedValue]) -> tuple[Directory, Directory]:
    """The facts of an image and those wanted, each as a tree."""
    return _tree(stated_of(image, wanted)), _tree(wanted)


class _Leaf(Leaf):
    """A leaf with a value."""

    def __init__(self, value: StatedValue) -> None:
        self._fact = value

    def text(self) -> str:
        return self._fact if isinstance(self._fact, str) else to_json(self._fact)

    def value(self) -> JsonValue:
        return self._fact


def _tree(facts: Mapping[StatedNames, StatedValue]) -> Directory:
    below: dict[str, dict[StatedNames, StatedValue]] = {}
    leaves: dict[str, StatedValue] = {}
    for names, value in facts.items():
        if len(names) == 1:
            leaves[names[0]] = value
        else:
            below.setdefault(names[0], {})[names[1:]] = value
    nodes: dict[str, Callable[[], Node]] = {}
    nodes |= {name: partial(_Leaf, value) for name, value in leaves.items()}
    nodes |= {name: partial(_tree, rest) for name, rest in below.items()}
    return FixedDirectory(nodes)


def _read(files: Sequence[str]) -> Iterator[Iterator[Resource]]:
    left = _ALL_BYTES
    for file in files:
        data = read_bounded(file, limit_bytes=min(_FILE_BYTES, left))
        left -= len(data)
        yield _resources(file, data)


def _resources(file: str, data: bytes) -> Iterator[Resource]:
    """The resources of a file; those of a ``List`` each for itself."""
    for i, body in enumerate(_documents(file, data), 1):
        if not isinstance(body, dict):
            continue
        items = body.get("items")
        is_list = str(body.get("kind", "")).endswith("List") and isinstance(items, list)
        for one in items if is_list and isinstance(items, list) else [body]:
            if isinstance(one, dict):
                yield Resource(f"{file}, document {i}", one)


def _documents(file: str, data: bytes) -> list[Any]:
    """The documents of a file in YAML, of which JSON is a part."""
    import yaml

    # The loader in C is missing where PyYAML was built without libyaml.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(loader):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [one.value for one, _ in node.value if isinstance(one.value, str)]
            if len(set(keys)) < len(keys):
                twice, _ = Counter(keys).most_common(1)[0]
                raise SourceError(f"{file}: line {node.start_mark.line + 1}: {twice} stands twice")
            return super().construct_mapping(node, deep)

    try:
        depth = 0
        for event in yaml.parse(data, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise SourceError(f"{file}: the alias *{event.anchor} in it is not read")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise SourceError(f"{file}: more than {_DEEPEST} values inside each other")
        return list(yaml.load_all(data, Loader=Loader))
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f"line {mark.line + 1}: "
        reason = getattr(error, "problem", None) or "it is no YAML"
        raise SourceError(f"{file}: {line}{reason}") from None
