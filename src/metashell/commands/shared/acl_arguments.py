"""Words of commands about ACLs: operations, resources, permissions and principals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.cluster import opened_sources
from metashell.commands.framework.command import Completion, Context
from metashell.commands.framework.completion import complete_names
from metashell.commands.shared.resources import acl_resources, the_one
from metashell.dataclass import dataclass
from metashell.errors import UsageError
from metashell.image.acl_names import (
    ASKED_OF,
    CLUSTER_NAME,
    OPERATIONS,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
)

if TYPE_CHECKING:
    from metashell.image.image import Image

ASKABLE: Final = tuple(OPERATIONS[OPERATIONS.index("READ") :])
"""Operations that a client can ask for."""
TYPES: Final = tuple(ASKED_OF)
"""Types of resources."""

TYPE_WORDS: Final = frozenset(name.lower().replace("_", "-") for name in TYPES)
"""The types as they are typed."""


@dataclass(frozen=True, slots=True)
class AclResource:
    """A resource as the user named it."""

    type_code: int
    name: str | None
    """None where only the type was given."""

    @property
    def type_name(self) -> str:
        """Kafka's name of the type."""
        return RESOURCE_TYPES[self.type_code]


def parse_operation(word: str, *, of: Sequence[str] = ASKABLE) -> int:
    """The code of an operation, whatever its case; ``describe-configs`` will do.

    Raises:
        UsageError: There is none of that name.
    """
    return _code(word, OPERATIONS, of, "operation")


def parse_permission(word: str) -> int:
    """The code of ALLOW or DENY.

    Raises:
        UsageError: It is neither.
    """
    return _code(word, PERMISSION_TYPES, ("ALLOW", "DENY"), "type of ACL")


def parse_resource(word: str, *, needs_name: bool = True) -> AclResource:
    """A resource such as ``topic:payments``; ``cluster`` alone is the cluster.

    Args:
        word: The typed word.
        needs_name: Whether a type alone is too little.

    Raises:
        UsageError: The type is unknown or the name is missing.
    """
    kind, colon, name = word.partition(":")
    code = _code(kind, RESOURCE_TYPES, TYPES, "type of resource")
    if RESOURCE_TYPES[code] == "CLUSTER" and not name:
        return AclResource(code, CLUSTER_NAME)
    if needs_name and not name:
        raise UsageError(
            f"{word}: the name of the resource is missing", hint=f"such as {kind or 'topic'}:NAME"
        )
    return AclResource(code, name if colon and name else None)


def resource_word(image: Image, word: str) -> str:
    """A resource in full: a bare name stands for the one resource that has it.

    Raises:
        UsageError: Several have it.
        MetashellError: Nothing has it.
    """
    if ":" in word or word.lower().replace("_", "-") in TYPE_WORDS:
        return word
    return the_one(word, acl_resources(image, word), image.topics.names, f"topic:{word}")


def parse_principal(word: str) -> str:
    """A principal such as ``User:alice``; a bare name is a user's."""
    return word if ":" in word else f"User:{word}"


def _code(word: str, names: Sequence[str], choices: Sequence[str], what: str) -> int:
    wanted = word.replace("_", "").replace("-", "").lower()
    for name in choices:
        if name.replace("_", "").lower() == wanted:
            return names.index(name)
    raise UsageError(f"{word}: unknown {what}", hint=f"one of {', '.join(choices)}")


def complete_operation(word: str, choices: Sequence[str] = ASKABLE) -> list[Completion]:
    """Propose operations, in the case that the user began with."""
    return complete_names(word, [one.lower() if word.islower() else one for one in choices])


def complete_resource(context: Context, word: str) -> list[Completion]:
    """Propose types of resources, and behind the colon names that there are or that ACLs name."""
    kind, colon, typed = word.partition(":")
    if not colon:
        shown = (one.lower().replace("_", "-") for one in TYPES)
        return complete_names(word, [one if one == "cluster" else f"{one}:" for one in shown])
    try:
        code = parse_resource(word, needs_name=False).type_code
    except UsageError:
        return []
    names: set[str] = set()
    for source in opened_sources(context):
        if RESOURCE_TYPES[code] == "TOPIC":
            names.update(source.image.topics.names)
        columns = source.image.part("acls").columns
        types = columns.fixed("resource_type").tolist()
        of_acls = zip(types, columns.span("resource_name").texts(), strict=True)
        names.update(name for one, name in of_acls if one == code)
    fitting = sorted(name for name in names if name.startswith(typed))
    return complete_names(word, [f"{kind}:{name}" for name in fitting])


def complete_principal(context: Context, word: str) -> list[Completion]:
    """Propose principals that ACLs name."""
    names: set[str] = set()
    for source in opened_sources(context):
        names.update(source.image.part("acls").columns.span("principal").texts())
    return complete_names(word, sorted(names))
