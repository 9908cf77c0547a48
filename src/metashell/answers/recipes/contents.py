"""The content of recipes, read from an image. Things that no tool can make have a reason why not.

Secret values are left out here. No recipe can hold any, whatever was asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Final

import numpy as np

from metashell.answers.acls import Acl, read_acls
from metashell.answers.quotas import Entity, entity_text, read_quotas
from metashell.answers.topics import internal
from metashell.dataclass import dataclass
from metashell.image.acl_names import (
    ASKED_OF,
    CLUSTER_NAME,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
    shown_code,
)
from metashell.image.image import Image
from metashell.image.security import SCRAM_MECHANISMS
from metashell.parts.known import part_names
from metashell.redact import is_secret_config
from metashell.schema.arena import AnyArray, Bools
from metashell.schema.resource_types import ResourceType, resource_type_name

TOPIC: Final = ResourceType.TOPIC.name
BROKER: Final = ResourceType.BROKER.name
ALL: Final = "ALL"
_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_CONFIG_KEY: Final = re.compile(r"[a-zA-Z0-9._-]+")
_JAVA_SPACE: Final = "".join(map(chr, range(0x21)))
_MADE: Final = frozenset(
    {
        *("topics", "partitions", "configs", "client_quotas", "acls", "scram"),
        # Processes register themselves, and controllers keep the rest.
        *("brokers", "controllers", "quorum", "features", "producer_ids"),
        "delegation_tokens",
    }
)
"""Parts that are made again, make themselves, or have words of their own."""
_MOST_REPLICAS: Final = (1 << 15) - 1


@dataclass(frozen=True, slots=True)
class RecipeParts:
    """Which parts of an image are to be made again."""

    topics: Bools
    """bool[topics]; with them go their configs."""
    resources: frozenset[tuple[str, str]] | None = frozenset()
    """(type, name) of the other resources whose configs count; None for all."""
    users: bool = False
    quotas: bool = False
    acls: bool = False


def everything(image: Image, *, with_internal: bool) -> RecipeParts:
    """All of an image; Kafka's own topics only if asked for."""
    topics = np.ones(len(image.topics), dtype=np.bool_)
    if not with_internal:
        topics &= ~internal(image)
    return RecipeParts(topics, None, users=True, quotas=True, acls=True)


@dataclass(slots=True)
class RecipeReport:
    """The things that could not be written as asked."""

    left_out: list[str] = field(default_factory=list)
    """Sentences about what can't be expressed."""
    n_secrets: int = 0
    """Secret values and passwords that somebody has to fill in."""


# Topics.


@dataclass(frozen=True, slots=True)
class ResourceConfigs:
    """The configs of a resource."""

    values: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    """Keys whose values are secret."""
    odd: tuple[str, ...] = ()
    """Keys that no tool takes."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic to be made."""

    name: str
    n_partitions: int
    replication: int
    """Replicas of a partition, reassignments finished."""
    assignment: tuple[tuple[int, ...], ...] | None
    """Brokers of each partition, if asked for."""
    configs: ResourceConfigs
    problem: str | None = None
    """Why it can't be made."""
    note: str | None = None
    """The difference to the original."""


def read_topics(image: Image, chosen: Bools, *, with_assignment: bool = False) -> Iterator[Topic]:
    """The topics chosen that a name means, by name."""
    configs = _configs_of(image, lambda kind: kind == TOPIC)
    layout = _Replicas(image)
    for name, index in sorted(image.topics.by_name.items()):
        if chosen[index]:
            own = configs.get((TOPIC, name), ResourceConfigs())
            yield _topic(name, index, layout, own, with_assignment=with_assignment)


class _Replicas:
    """The brokers of each partition once reassignments are done."""

    def __init__(self, image: Image) -> None:
        partitions = image.partitions
        self.bounds = partitions.topic_bounds
        self.ids = partitions.partition
        self._values, self._ends = partitions.list_column("replicas").gather()
        self._removing = partitions.list_column("removing_replicas")
        leaving = np.maximum(self._removing.counts, 0)
        self._moving = leaving > 0
        self.sizes: AnyArray = np.diff(self._ends)
        for row in np.flatnonzero(self._moving).tolist():
            self.sizes[row] = len(self.of(row))

    def of(self, row: int) -> tuple[int, ...]:
        replicas = self._values[self._ends[row] : self._ends[row + 1]].tolist()
        if self._moving[row]:
            leaving = set(self._removing.int32s(row))
            replicas = [broker for broker in replicas if broker not in leaving]
        return tuple(replicas)


def _topic(
    name: str, index: int, layout: _Replicas, configs: ResourceConfigs, *, with_assignment: bool
) -> Topic:
    first, end = int(layout.bounds[index]), int(layout.bounds[index + 1])
    sizes = layout.sizes[first:end]
    least, most = int(sizes.min(initial=_MOST_REPLICAS)), int(sizes.max(initial=0))
    problem = note = None
    assignment = None
    if not _LEGAL_NAME.fullmatch(name) or name in (".", ".."):
        problem = "Kafka takes no such name"
    elif first == end:
        problem = "it has no partitions"
    elif not np.array_equal(np.sort(layout.ids[first:end]), np.arange(end - first)):
        problem = "its partitions are not numbered from 0 on"
    elif not 1 <= most <= _MOST_REPLICAS:
        problem = f"{most} replicas are none that Kafka makes"
    elif with_assignment and least == most:
        rows = first + np.argsort(layout.ids[first:end], kind="stable")
        assignment = tuple(layout.of(row) for row in rows.tolist())
        if any(len(set(brokers)) != len(brokers) or min(brokers) < 0 for brokers in assignment):
            problem = "its assignment names a broker twice, or none"
    if problem is None and least != most:
        note = f"its partitions have {least} to {most} replicas, and can only be made with {most}"
    return Topic(name, end - first, most, assignment, configs, problem, note)


# Configs.


def read_configs(
    image: Image, resources: frozenset[tuple[str, str]] | None
) -> list[tuple[str, str, ResourceConfigs]]:
    """Configs of what is no topic: (type, name, configs), sorted."""
    found = _configs_of(image, lambda kind: kind != TOPIC)
    return [
        (kind, name, configs)
        for (kind, name), configs in sorted(found.items())
        if resources is None or (kind, name) in resources
    ]


def ownerless_configs(image: Image) -> list[str]:
    """Names of topics that have configs and are not there."""
    found = _configs_of(image, lambda kind: kind == TOPIC)
    return sorted(name for _, name in found if name not in image.topics.by_name)


def config_rows(
    image: Image, wanted: Callable[[str], bool] = lambda _: True
) -> list[tuple[str, str, str, str]]:
    """(type, name, key, value) of the configs of resources of some types, sorted."""
    columns = image.part("configs").columns
    codes = columns.fixed("resource_type")
    kinds = {code: resource_type_name(code) for code in set(codes.tolist())}
    at = np.flatnonzero(np.isin(codes, [code for code, kind in kinds.items() if wanted(kind)]))
    return sorted(
        zip(
            [kinds[code] for code in codes[at].tolist()],
            columns.span("resource_name").take(at).texts(),
            columns.span("name").take(at).texts(),
            columns.span("value").take(at).texts(),
            strict=True,
        )
    )


def _configs_of(
    image: Image, wanted: Callable[[str], bool]
) -> dict[tuple[str, str], ResourceConfigs]:
    found: dict[tuple[str, str], ResourceConfigs] = {}
    for kind, name, key, value in config_rows(image, wanted):
        configs = found.get((kind, name), ResourceConfigs())
        if is_secret_config(kind, key):
            configs = ResourceConfigs(configs.values, (*configs.secrets, key), configs.odd)
        elif not _CONFIG_KEY.fullmatch(key) or "\0" in value:
            configs = ResourceConfigs(configs.values, configs.secrets, (*configs.odd, key))
        else:
            configs.values[key] = value
        found[kind, name] = configs
    return found


# Users.


@dataclass(frozen=True, slots=True)
class Credential:
    """A SCRAM credential, without its keys."""

    user: str
    mechanism: str
    iterations: int


def read_credentials(image: Image) -> list[Credential]:
    """SCRAM credentials, by user and mechanism."""
    columns = image.part("scram").columns
    rows = zip(
        columns.span("name").texts(),
        columns.fixed("mechanism").tolist(),
        columns.fixed("iterations").tolist(),
        strict=True,
    )
    return [
        Credential(user, SCRAM_MECHANISMS[code], iterations)
        for user, code, iterations in sorted(rows)
        if code in SCRAM_MECHANISMS
    ]


# Quotas.


@dataclass(frozen=True, slots=True)
class EntityQuotas:
    """The quotas of one entity."""

    entity: Entity
    text: str
    values: dict[str, float]
    odd: tuple[str, ...]
    """Sentences about values that no tool sets."""


def read_entities(image: Image) -> list[EntityQuotas]:
    """Client quotas, an entity each, sorted."""
    found: dict[str, EntityQuotas] = {}
    for quota in sorted(read_quotas(image), key=lambda q: (entity_text(q.entity), q.key)):
        text = entity_text(quota.entity)
        own = found.setdefault(text, EntityQuotas(quota.entity, text, {}, ()))
        problem = None
        if quota.is_ignored:
            problem = "brokers take no notice of it"
        elif "" in quota.entity.values() or any("\0" in (n or "") for n in quota.entity.values()):
            problem = "Kafka's tools take no such name"
        elif not math.isfinite(quota.value):
            problem = "its value is no number"
        if problem is None:
            own.values[quota.key] = quota.value
        else:
            sentence = f"quota {quota.key} of {text}: {problem}"
            found[text] = EntityQuotas(own.entity, text, own.values, (*own.odd, sentence))
    return list(found.values())


def number_text(value: float) -> str:
    """A finite number as Kafka's tools read it."""
    return repr(value).removesuffix(".0")


# ACLs.


@dataclass(frozen=True, slots=True)
class Rule:
    """ACLs that differ only in their operations."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    permission: str
    operations: tuple[str, ...]
    problem: str | None = None
    """Why it can't be made."""

    @property
    def text(self) -> str:
        """The ACL in words."""
        return (
            f"{self.permission} {self.principal} from {self.host} to {', '.join(self.operations)}"
            f" {self.pattern_type} {self.resource_type} {self.resource_name}"
        )


def read_rules(image: Image) -> list[Rule]:
    """ACLs, sorted; those that can't be made stand alone."""
    found: dict[tuple[str, str, str, str, str, str], list[str]] = {}
    odd: list[Rule] = []
    for acl in read_acls(image):
        operation = shown_code(OPERATIONS, acl.operation)
        names = (
            shown_code(RESOURCE_TYPES, acl.resource_type),
            acl.resource_name,
            shown_code(PATTERN_TYPES, acl.pattern_type),
            acl.principal,
            acl.host,
            shown_code(PERMISSION_TYPES, acl.permission),
        )
        problem = _acl_problem(acl, names[0], operation)
        if problem is not None:
            odd.append(Rule(*names, (operation,), problem))
        elif operation not in (operations := found.setdefault(names, [])):
            operations.append(operation)
    rules = [Rule(*names, tuple(sorted(operations))) for names, operations in found.items()]
    return sorted([*rules, *odd], key=lambda rule: (rule.text, rule.problem or ""))


def _acl_problem(acl: Acl, resource_type: str, operation: str) -> str | None:
    """Why kafka-acls can't make an ACL.

    Source: kafka.admin.AclCommand (which cuts off spaces), AclControlManager.validateNewAcl.
    """
    texts = (acl.resource_name, acl.principal, acl.host)
    if resource_type not in ASKED_OF:
        return "Kafka knows no such resource type"
    if shown_code(PATTERN_TYPES, acl.pattern_type) not in ("LITERAL", "PREFIXED"):
        return "Kafka knows no such pattern type"
    if shown_code(PERMISSION_TYPES, acl.permission) not in ("ALLOW", "DENY"):
        return "Kafka knows no such permission"
    if operation not in (*ASKED_OF[resource_type], ALL):
        return "the resource has no such operation"
    if ":" not in acl.principal:
        return "the principal is not of the form type:name"
    if not acl.resource_name:
        return "the resource has no name"
    if any("\0" in text or text != text.strip(_JAVA_SPACE) for text in texts):
        return "Kafka's tools cut off the spaces, or take no NUL"
    is_literal = shown_code(PATTERN_TYPES, acl.pattern_type) == "LITERAL"
    if resource_type == "CLUSTER" and not (is_literal and acl.resource_name == CLUSTER_NAME):
        return f"the cluster's only name is {CLUSTER_NAME}"
    return None


def left_behind(image: Image, choice: RecipeParts) -> Iterator[str]:
    """Existing things that nothing makes again, in words, if their kind is asked for."""
    if choice.users and (n := len(image.part("delegation_tokens"))):
        yield f"{n} delegation tokens: nothing makes them again"
    if choice.users and choice.quotas and choice.acls:
        for name in part_names():
            if name not in _MADE and (n := len(image.part(name))):
                yield f"{n} of {name}: nothing makes them again"
