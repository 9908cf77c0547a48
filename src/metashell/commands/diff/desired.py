"""The settings that files want: Strimzi's resources in YAML or JSON, as `diff --with` takes them.

Anyone may have written the files: they are bounded, aliases are refused, and no document makes an
object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from metashell.answers.recipes.settings import Resource, Settings, stated_by
from metashell.errors import SourceError
from metashell.log.names import METADATA_DIRECTORY, parse_name
from metashell.places.bounded_file import read_bounded
from metashell.places.place import Place, base_name, child_of, entries_in, place_of

_ENDINGS: Final = (".yaml", ".yml", ".json")
_MOST_FILES: Final = 10_000
_FILE_BYTES: Final = 16 << 20
_ALL_BYTES: Final = 256 << 20
_DEEPEST: Final = 64


def desired_files(given: str) -> list[Place]:
    """The files that a path or a URI names; empty where it names something else, such as logs.

    Raises:
        SourceError: A directory in it can't be listed, or it has too many files.
    """
    place = place_of(given)
    if base_name(place).endswith(_ENDINGS):
        return [place]
    found: list[Place] = []
    folders = [place]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(entries_in(folder), key=lambda entry: entry.name)
        except SourceError:
            if folder is place:
                return []  # Opening it says why.
            raise
        names = {entry.name for entry in entries}
        if METADATA_DIRECTORY in names or any(parse_name(name) is not None for name in names):
            return []
        folders += [child_of(folder, entry.name) for entry in entries if entry.is_directory]
        found += [
            child_of(folder, entry.name)
            for entry in entries
            if not entry.is_directory and entry.name.endswith(_ENDINGS)
        ]
        if len(found) > _MOST_FILES:
            raise SourceError(f"{given}: more than {_MOST_FILES:,} files in YAML or JSON")
    return found


def settings_in(files: Sequence[Place], given: str) -> Settings:
    """The settings that files state; those of the same files are worked out once for a fleet.

    Raises:
        SourceError: One can't be read, or none states any setting.
    """
    left = _ALL_BYTES
    contents = []
    for file in files:
        contents.append((str(file), _read(file, min(_FILE_BYTES, left))))
        left -= len(contents[-1][1])
    return _settings_in(tuple(contents), given)


def _read(file: Place, limit_bytes: int) -> bytes:
    if isinstance(file, str):
        return read_bounded(file, limit_bytes=limit_bytes)
    data = file.read_whole(limit_bytes)
    if data is None:
        raise SourceError(f"{file}: No such file or directory")
    return data


@lru_cache(maxsize=1)
def _settings_in(contents: Sequence[tuple[str, bytes]], given: str) -> Settings:
    found = stated_by(one for file, data in contents for one in _resources(file, data))
    if not found:
        raise SourceError(
            f"{given}: no KafkaTopic, no Kafka with configs, and no KafkaUser with ACLs, quotas or"
            " SCRAM-SHA-512 is in it",
            hint="`export --as strimzi` writes such files",
        )
    return found


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
