"""Resources as words: a bare name that means just one resource is taken as it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.shared.names import and_meant
from metashell.errors import MetashellError, UsageError
from metashell.fs.path import encode_name
from metashell.image.acl_names import RESOURCE_TYPES
from metashell.schema.resource_types import ResourceType
from metashell.spelling import near_names

if TYPE_CHECKING:
    from metashell.image.image import Image


def resource_word(kind: str) -> str:
    """How a type of resources is typed, by Kafka's name: ``client-metrics`` for CLIENT_METRICS."""
    return kind.lower().replace("_", "-")


CONFIG_TYPES: Final = {
    resource_word(kind): kind
    for kind in ("TOPIC", "BROKER", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP")
}
"""Kafka's names of the types of resources that have configs, by how they are typed."""
ALL_BROKERS: Final = ("default", "<default>")
"""How the configs of all brokers are named."""


NAMED_NODES: Final = {
    "topic": "/image/topics/byName",
    "broker": "/image/cluster/brokers",
    "group": "/groups",
}
"""The directories of resources that are more than configs."""


def config_type(word: str) -> str | None:
    """The type in front of a name, as `CONFIG_TYPES` has it: ``topic`` of ``TOPIC:orders``."""
    kind, colon, _ = word.partition(":")
    kind = resource_word(kind)
    return kind if colon and kind in CONFIG_TYPES else None


def meant_paths(image: Image, word: str) -> list[str]:
    """Paths of the resource that a word names, which may be gone. A bare name may be a topic's.

    Raises:
        UsageError: Several resources have the bare name.
    """
    if config_type(word) is None:
        if "/" in word:
            return []
        found = config_resources(image, word) or [f"topic:{word}"]
        word = the_one(word, found, (), "topic:orders")
    kind, name = config_type(word) or "", word.partition(":")[2]
    if kind == "broker" and name in ALL_BROKERS:
        name = ""
    own = [NAMED_NODES[kind]] if name and kind in NAMED_NODES else []
    configs = CONFIG_TYPES[kind] + (f":{name}" if name else "")
    paths = [*((one, name) for one in own), ("/image/configs", configs)]
    return [f"{directory}/{encode_name(one)}" for directory, one in paths]


def resource_names(image: Image, kind: str) -> list[str]:
    """Names of the resources of a type that can have configs, as far as the image knows them."""
    columns = image.part("configs").columns
    types, names = columns.fixed("resource_type").tolist(), columns.span("resource_name").texts()
    code = ResourceType[CONFIG_TYPES[kind]]
    known = {name for one, name in zip(types, names, strict=True) if one == code and name}
    if kind == "topic":
        return [*image.topics.names]
    if kind in ("broker", "broker-logger"):
        return [str(broker) for broker in sorted(image.brokers.ids.tolist())]
    return sorted(known)


def config_resources(image: Image, name: str) -> list[str]:
    """Resources of configs that a bare name means, such as ``topic:orders``."""
    found = [f"topic:{name}"] if image.topics.find_name(name) is not None else []
    kinds = ("broker", "client-metrics", "group")
    return [*found, *(f"{k}:{name}" for k in kinds if name in set(resource_names(image, k)))]


def acl_resources(image: Image, name: str) -> list[str]:
    """Resources and principals of ACLs that a bare name means."""
    found = {f"topic:{name}"} if image.topics.find_name(name) is not None else set()
    columns = image.part("acls").columns
    types = columns.fixed("resource_type").tolist()
    for code, of in zip(types, columns.span("resource_name").texts(), strict=True):
        if of == name and 0 <= code < len(RESOURCE_TYPES):
            kind = RESOURCE_TYPES[code]
            found.add(f"{resource_word(kind)}:{name}")
    return sorted(found)


def principals_named(image: Image, word: str) -> list[str]:
    """Principals of ACLs that a word means: ``User:alice``, whatever the case, or ``alice``."""
    wanted = word.casefold() if ":" in word else f"user:{word.casefold()}"
    names = set(image.part("acls").columns.span("principal").texts())
    return sorted(name for name in names if name.casefold() == wanted)


def the_one(word: str, found: Sequence[str], names: Iterable[str], example: str) -> str:
    """The one thing that a bare word means.

    Args:
        word: The typed word.
        found: The things that it may mean.
        names: Names that it may have been meant for.
        example: How such a thing is written in full.

    Raises:
        UsageError: It means several.
        MetashellError: It names nothing.
    """
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{word}: more than one thing has this name", hint=_either(found))
    near = near_names(word, names)
    raise MetashellError(
        and_meant(f"{word}: nothing has this name", near),
        hint=f"write the kind in front of the name, such as {example}",
    )


def _either(found: Sequence[str]) -> str:
    *others, last = found
    return f"write {', '.join(others)} or {last}"
