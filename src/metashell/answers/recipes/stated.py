"""Facts of a cluster and of Strimzi's resources, in one form, so that both can be compared.

Only facts that the resources state are told of a cluster: topics if there is a KafkaTopic, with the
configs of those that have one, and ACLs if a KafkaUser has an authorization. Secret configs are
told of neither.

Source: Strimzi's KafkaTopic and KafkaUser; KafkaUserModel, SimpleAclRuleResource.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from metashell.answers.recipes.contents import TOPIC, Rule, read_rules, read_topics
from metashell.answers.recipes.kafka_cli import pascal_case
from metashell.answers.recipes.strimzi import (
    CERTIFICATE,
    OPERATIONS,
    PATTERNS,
    PRINCIPAL,
    RESOURCES,
)
from metashell.answers.topics import internal
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.image.acl_names import CLUSTER_NAME
from metashell.image.image import Image
from metashell.redact import is_secret_config

StatedNames: TypeAlias = tuple[str, ...]
StatedValue: TypeAlias = str | Mapping[str, int | list[str]]
"""A value of a config; the numbers of a topic, or the operations of an ACL."""

_TOPICS: Final = ("image", "topics", "byName")
_CONFIGS: Final = ("image", "configs")
_ACLS: Final = ("image", "acls")
_KIND_OF: Final = {name: kind for kind, name in RESOURCES.items()}
_PATTERN_OF: Final = {name: pattern for pattern, name in PATTERNS.items()}
_OPERATION_OF: Final = {pascal_case(name): name for name in OPERATIONS}
_OF_CERTIFICATE: Final = ("tls", "tls-external")
_NUMBERS: Final = ("partitions", "replicas")


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, and where it stands."""

    where: str
    """The file, and which of its documents."""
    body: Mapping[str, Any]

    @property
    def kind(self) -> object:
        """Its kind, such as ``KafkaTopic``."""
        return self.body.get("kind")

    def get(self, *keys: str) -> Any:
        """A value by the keys that lead to it; None where there is none."""
        value: Any = self.body
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def error(self, sentence: str) -> SourceError:
        """The error that says what is wrong with it."""
        return SourceError(f"{self.where}: {sentence}")

    def text(self, *keys: str) -> str:
        """A text by the keys that lead to it.

        Raises:
            SourceError: There is none.
        """
        found = self.get(*keys)
        if not isinstance(found, str) or not found:
            raise self.error(f"{'.'.join(keys)} is no text")
        return found


def stated_by(resources: Iterable[Resource]) -> dict[StatedNames, StatedValue]:
    """The facts that resources state, by the names of a node; those of other kinds are left out.

    Raises:
        SourceError: One states something twice, or in a way that nothing reads.
    """
    found: dict[StatedNames, StatedValue] = {}
    where: dict[StatedNames, str] = {}
    for resource in resources:
        if resource.kind == "KafkaTopic":
            facts = _of_topic(resource)
        elif resource.kind == "KafkaUser":
            facts = _of_user(resource)
        else:
            continue
        for names, value in facts:
            if names in where:
                raise resource.error(f"states {names[-1]} again, after {where[names]}")
            found[names], where[names] = value, resource.where
    return found


def stated_of(
    image: Image, wanted: Mapping[StatedNames, StatedValue]
) -> dict[StatedNames, StatedValue]:
    """The facts of an image of the kinds that resources state."""
    found: dict[StatedNames, StatedValue] = {}
    topics = {names[-1]: value for names, value in wanted.items() if names[:3] == _TOPICS}
    if topics:
        chosen = ~internal(image)
        for name, index in image.topics.by_name.items():
            chosen[index] |= name in topics
        for topic in read_topics(image, np.asarray(chosen), with_assignment=False):
            asked = topics.get(topic.name)
            own = dict(zip(_NUMBERS, (topic.n_partitions, topic.replication), strict=True))
            keys = asked if isinstance(asked, Mapping) else _NUMBERS
            found[*_TOPICS, topic.name] = {key: own[key] for key in keys}
            if asked is not None:
                for key, value in topic.configs.values.items():
                    found[*_CONFIGS, f"{TOPIC}:{topic.name}", key] = value
    if any(names[:2] == _ACLS for names in wanted):
        found.update(_of_rule(rule) for rule in read_rules(image))
    return found


def _of_topic(resource: Resource) -> Iterator[tuple[StatedNames, StatedValue]]:
    has_name = resource.get("spec", "topicName") is not None
    name = resource.text(*(("spec", "topicName") if has_name else ("metadata", "name")))
    numbers: dict[str, int | list[str]] = {}
    for key in _NUMBERS:
        number = resource.get("spec", key)
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise resource.error(f"spec.{key} is no number of {key}")
        numbers[key] = number
    yield (*_TOPICS, name), numbers
    configs = resource.get("spec", "config") or {}
    if not isinstance(configs, Mapping):
        raise resource.error("spec.config is no mapping")
    for key, value in configs.items():
        if value is not None and not is_secret_config(TOPIC, str(key)):
            yield (*_CONFIGS, f"{TOPIC}:{name}", str(key)), _config_text(resource, key, value)


def _config_text(resource: Resource, key: object, value: object) -> str:
    """A config as Kafka keeps it: Strimzi takes numbers and booleans, too."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise resource.error(f"spec.config.{key} is no text, number or boolean")


def _of_user(resource: Resource) -> Iterator[tuple[StatedNames, StatedValue]]:
    name = resource.text("metadata", "name")
    if resource.get("spec", "authentication", "type") in _OF_CERTIFICATE:
        name = f"{CERTIFICATE}{name}"
    rules = resource.get("spec", "authorization", "acls") or []
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise resource.error("spec.authorization.acls is no list")
    # Strimzi's rules may overlap, and Kafka keeps each operation once.
    operations: dict[tuple[str, ...], set[str]] = {}
    for body in rules:
        if not isinstance(body, Mapping):
            raise resource.error("spec.authorization.acls has something that is no mapping")
        key, asked = _rule(Resource(f"{resource.where}: an ACL of {name}", body))
        operations.setdefault(key, set()).update(asked)
    for (kind, of, pattern, host, permission), names in operations.items():
        ordered = tuple(sorted(names))
        yield _of_rule(Rule(kind, of, pattern, f"{PRINCIPAL}{name}", host, permission, ordered))


def _rule(rule: Resource) -> tuple[tuple[str, str, str, str, str], list[str]]:
    """(resource type, name, pattern type, host, permission) of a rule, and its operations."""
    kind = _KIND_OF.get(rule.text("resource", "type"))
    pattern = _PATTERN_OF.get(rule.get("resource", "patternType") or "literal")
    permission = rule.get("type") or "allow"
    if kind is None or pattern is None or permission not in ("allow", "deny"):
        raise rule.error("its type, resource or pattern is none of Strimzi's")
    name = CLUSTER_NAME if kind == "CLUSTER" else rule.text("resource", "name")
    words = rule.get("operations") or [rule.get("operation")]
    if not isinstance(words, list) or not all(str(word) in _OPERATION_OF for word in words):
        raise rule.error("an operation of it is none of Strimzi's")
    host = rule.text("host") if rule.get("host") is not None else "*"
    return (kind, name, pattern, host, permission.upper()), [_OPERATION_OF[word] for word in words]


def _of_rule(rule: Rule) -> tuple[StatedNames, StatedValue]:
    name = (
        f"{rule.principal} {rule.permission} {rule.pattern_type} {rule.resource_type}"
        f" {rule.resource_name} from {rule.host}"
    )
    return (*_ACLS, name), {"operations": list(rule.operations)}
