"""Settings: what somebody decided about a cluster, in one form for clusters and for files.

Two clusters, or a cluster and Strimzi's resources, are compared by them. A setting has the names of
a node below ``/image``, and a value. Registrations of nodes are no settings, and ids that are drawn
are none. Secrets have no values here.

Source: Strimzi's Kafka, KafkaTopic and KafkaUser; KafkaUserModel, SimpleAclRuleResource.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from metashell.answers.quotas import USER, read_quotas
from metashell.answers.recipes.contents import (
    BROKER,
    TOPIC,
    Rule,
    config_rows,
    read_credentials,
    read_rules,
    read_topics,
)
from metashell.answers.recipes.kafka_cli import pascal_case
from metashell.answers.recipes.strimzi import (
    CERTIFICATE,
    OPERATIONS,
    PATTERNS,
    PRINCIPAL,
    QUOTAS,
    RESOURCES,
    SCRAM,
)
from metashell.answers.topics import INTERNAL
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.image.acl_names import CLUSTER_NAME
from metashell.image.features import METADATA_VERSION, feature_leaf, metadata_version_name
from metashell.image.image import Image
from metashell.image.topics import resource_directory
from metashell.parts.forms import entity_name
from metashell.redact import REDACTED, is_secret_config
from metashell.schema.dump import java_double
from metashell.schema.resource_types import ResourceType

SettingNames: TypeAlias = tuple[str, ...]
SettingValue: TypeAlias = str | float | Mapping[str, int | list[str]]
"""A value of a config or a quota, a feature's level; the numbers of a topic or a SCRAM user, or the
operations of an ACL."""
Settings: TypeAlias = Mapping[SettingNames, SettingValue]

_IMAGE: Final = "image"
_TOPICS: Final = (_IMAGE, "topics", "byName")
_CONFIGS: Final = (_IMAGE, "configs")
_BROKERS: Final = (*_CONFIGS, BROKER)
_QUOTAS: Final = (_IMAGE, "clientQuotas")
_SCRAM: Final = (_IMAGE, "scram")
_ACLS: Final = (_IMAGE, "acls")
_FEATURES: Final = (_IMAGE, "features")
_KIND_OF: Final = {name: kind for kind, name in RESOURCES.items()}
_PATTERN_OF: Final = {name: pattern for pattern, name in PATTERNS.items()}
_OPERATION_OF: Final = {pascal_case(name): name for name in OPERATIONS}
_KEY_OF: Final = {name: key for key, name in QUOTAS.items()}
_OF_CERTIFICATE: Final = ("tls", "tls-external")
_NUMBERS: Final = ("partitions", "replicas")


# Settings of a cluster.


def settings_of(image: Image) -> Settings:
    """All settings of a cluster."""
    found: dict[SettingNames, SettingValue] = {}
    for topic in read_topics(image, np.ones(len(image.topics), dtype=np.bool_)):
        numbers = (topic.n_partitions, topic.replication)
        found[*_TOPICS, topic.name] = dict(zip(_NUMBERS, numbers, strict=True))
    for kind, name, key, value in config_rows(image):
        shown = REDACTED if is_secret_config(kind, key) else value
        found[*_CONFIGS, _owner(kind, name), key] = shown
    for quota in read_quotas(image):
        # A number that is none equals nothing, and its text equals itself.
        number = quota.value if math.isfinite(quota.value) else java_double(quota.value)
        found[*_QUOTAS, entity_name(quota.entity.items()), quota.key] = number
    for user in read_credentials(image):
        found[*_SCRAM, user.mechanism, user.user] = {"iterations": user.iterations}
    found.update(_of_rules(read_rules(image)))
    features = image.part("features").columns
    names, levels = features.span("name").texts(), features.fixed("feature_level").tolist()
    for name, level in zip(names, levels, strict=True):
        leaf = feature_leaf(name)
        if leaf is not None:
            is_release = name == METADATA_VERSION
            found[*_FEATURES, leaf] = metadata_version_name(level) if is_release else str(level)
    return found


def _owner(kind: str, name: str) -> str:
    return resource_directory(ResourceType[kind], name)


def _of_rules(rules: Iterable[Rule]) -> dict[SettingNames, SettingValue]:
    """ACLs: rules may overlap, and Kafka keeps each operation once."""
    operations: dict[SettingNames, set[str]] = {}
    for rule in rules:
        name = (
            f"{rule.principal} {rule.permission} {rule.pattern_type} {rule.resource_type}"
            f" {rule.resource_name} from {rule.host}"
        )
        operations.setdefault((*_ACLS, name), set()).update(rule.operations)
    return {names: {"operations": sorted(found)} for names, found in operations.items()}


def both_stated(found: Settings, stated: Settings) -> tuple[Settings, Settings]:
    """The settings of a cluster and those that files state, as far as they can be compared.

    Files state topics if they have a KafkaTopic, and the configs of those that have one. They state
    ACLs, quotas of users and SCRAM users if a KafkaUser has some. The configs of a Kafka resource
    stand in files of the brokers: they count where a dynamic config takes their place. Secret
    configs do not count.
    """
    subjects = {names[:depth] for names in stated for depth in range(len(names) + 1)}
    static = {names[-1]: value for names, value in stated.items() if names[:3] == _BROKERS}
    here: dict[SettingNames, SettingValue] = {}
    there = {names: value for names, value in stated.items() if names[:3] != _BROKERS}
    for names, value in found.items():
        subject = _subject(names)
        if subject in subjects and value != REDACTED:
            here[names] = _as_asked(value, stated.get(names))
            if subject == _BROKERS and names[-1] in static:
                there[names] = static[names[-1]]
    return here, there


def _subject(names: SettingNames) -> SettingNames:
    """Whatever files have to state something of, so that a setting of a cluster counts."""
    if names[:2] == _CONFIGS:
        kind, _, name = names[2].partition(":")
        return (*_TOPICS, name) if kind == TOPIC else _BROKERS if kind == BROKER else names
    if names[:3] == _TOPICS:
        return names if names[-1] in INTERNAL else _TOPICS
    is_of_user = names[2].startswith(f"{USER}(") and names[2] != entity_name([(USER, None)])
    return names if names[:2] == _QUOTAS and not is_of_user else names[:2]


def _as_asked(value: SettingValue, asked: SettingValue | None) -> SettingValue:
    """The numbers of a value that are asked for."""
    if not isinstance(value, Mapping) or not isinstance(asked, Mapping):
        return value
    return {key: number for key, number in value.items() if key in asked}


# Settings of resources.


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

    def mapping(self, *keys: str) -> Mapping[str, Any]:
        """A mapping by the keys that lead to it; empty where there is none.

        Raises:
            SourceError: It is something else.
        """
        found = self.get(*keys) or {}
        if not isinstance(found, Mapping):
            raise self.error(f"{'.'.join(keys)} is no mapping")
        return found

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


def stated_by(resources: Iterable[Resource]) -> Settings:
    """The settings that resources state; those of other kinds are left out.

    Raises:
        SourceError: One states something twice, or in a way that nothing reads.
    """
    found: dict[SettingNames, SettingValue] = {}
    where: dict[SettingNames, str] = {}
    for resource in resources:
        read = _READERS.get(str(resource.kind))
        if read is None:
            continue
        for names, value in read(resource):
            if names in where:
                raise resource.error(f"states {names[-1]} again, after {where[names]}")
            found[names], where[names] = value, resource.where
    return found


def _of_kafka(resource: Resource) -> Iterator[tuple[SettingNames, SettingValue]]:
    yield from _configs(resource, BROKER, "", ("spec", "kafka", "config"))


def _of_topic(resource: Resource) -> Iterator[tuple[SettingNames, SettingValue]]:
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
    yield from _configs(resource, TOPIC, name, ("spec", "config"))


def _configs(
    resource: Resource, kind: str, name: str, at: Sequence[str]
) -> Iterator[tuple[SettingNames, SettingValue]]:
    """The configs of a topic or of brokers, without the secret ones."""
    where = ".".join(at)
    for key, value in resource.mapping(*at).items():
        if value is not None and not is_secret_config(kind, str(key)):
            text = _config_text(resource, f"{where}.{key}", value)
            yield (*_CONFIGS, _owner(kind, name), str(key)), text


def _config_text(resource: Resource, where: str, value: object) -> str:
    """A config as Kafka keeps it: Strimzi takes numbers and booleans, too."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise resource.error(f"{where} is no text, number or boolean")


def _of_user(resource: Resource) -> Iterator[tuple[SettingNames, SettingValue]]:
    name = resource.text("metadata", "name")
    authentication = resource.get("spec", "authentication", "type")
    if authentication in _OF_CERTIFICATE:
        name = f"{CERTIFICATE}{name}"
    elif authentication is not None and str(authentication).upper() == SCRAM:
        yield (*_SCRAM, SCRAM, name), {}
    for key, value in resource.mapping("spec", "quotas").items():
        if value is None or key not in _KEY_OF:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise resource.error(f"spec.quotas.{key} is no number")
        yield (*_QUOTAS, entity_name([(USER, name)]), _KEY_OF[key]), float(value)
    rules = resource.get("spec", "authorization", "acls") or []
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise resource.error("spec.authorization.acls is no list")
    found = []
    for body in rules:
        if not isinstance(body, Mapping):
            raise resource.error("spec.authorization.acls has something that is no mapping")
        found.append(_rule(Resource(f"{resource.where}: an ACL of {name}", body), name))
    yield from _of_rules(found).items()


_READERS: Final = {"Kafka": _of_kafka, "KafkaTopic": _of_topic, "KafkaUser": _of_user}
"""The reader of a resource, by its kind."""


def _rule(rule: Resource, user: str) -> Rule:
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
    operations = tuple(_OPERATION_OF[word] for word in words)
    return Rule(kind, name, pattern, f"{PRINCIPAL}{user}", host, permission.upper(), operations)
