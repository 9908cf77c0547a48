"""Resources as words: a bare name that means just one resource is taken as it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.shared.names import and_meant
from metashell.errors import MetashellError, UsageError
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


def config_resources(image: Image, name: str) -> list[str]:
    """Resources of configs that a bare name means, such as ``topic:orders``."""
    found = [f"topic:{name}"] if image.topics.find_name(name) is not None else []
    if name.isascii() and name.isdigit() and name in map(str, image.brokers.ids.tolist()):
        found.append(f"broker:{name}")
    columns = image.part("configs").columns
    types = columns.fixed("resource_type").tolist()
    names = columns.span("resource_name").texts()
    codes = {ResourceType.GROUP: "group", ResourceType.CLIENT_METRICS: "client-metrics"}
    of_configs = {codes[t] for t, n in zip(types, names, strict=True) if n == name and t in codes}
    return [*found, *sorted(f"{kind}:{name}" for kind in of_configs)]


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
