"""Strimzi's resources: a KafkaTopic for each topic, a KafkaUser for each user that can be one.

A user's name is the name of its resource, so only names that Kubernetes takes can be users; a topic
has its name in the resource. Brokers' configs and quotas of anything but a user are no resources.

Source: Strimzi's custom resource definitions, version v1; KafkaUserModel, SimpleAclRuleResource.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from metashell.answers.quotas import USER
from metashell.answers.recipes.contents import (
    RecipeParts,
    RecipeReport,
    Rule,
    Topic,
    left_behind,
    ownerless_configs,
    read_configs,
    read_credentials,
    read_entities,
    read_rules,
    read_topics,
)
from metashell.answers.recipes.kafka_cli import pascal_case
from metashell.dataclass import dataclass
from metashell.image.image import Image

API_VERSION: Final = "kafka.strimzi.io/v1"

_MOST: Final = 253
_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
"""A DNS subdomain name, which names of resources have to be."""
PRINCIPAL: Final = "User:"
"""How principals begin that are users."""
CERTIFICATE: Final = "CN="
"""How a user begins that has a certificate."""
_MOST_IN_CERTIFICATE: Final = 64
RESOURCES: Final = {
    "TOPIC": "topic",
    "GROUP": "group",
    "CLUSTER": "cluster",
    "TRANSACTIONAL_ID": "transactionalId",
}
"""Strimzi's words for types of resources."""
PATTERNS: Final = {"LITERAL": "literal", "PREFIXED": "prefix"}
"""Strimzi's words for types of patterns."""
OPERATIONS: Final = frozenset(
    {
        *("READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION"),
        *("ALTER_CONFIGS", "DESCRIBE_CONFIGS", "IDEMPOTENT_WRITE", "ALL"),
    }
)
"""Operations that Strimzi has."""
QUOTAS: Final = {
    "producer_byte_rate": "producerByteRate",
    "consumer_byte_rate": "consumerByteRate",
    "request_percentage": "requestPercentage",
    "controller_mutation_rate": "controllerMutationRate",
}
"""Strimzi's words for keys of quotas."""
_FRACTIONS: Final = frozenset({"controller_mutation_rate"})
"""Quotas that need not be whole numbers."""
SCRAM: Final = "SCRAM-SHA-512"
"""The one mechanism that Strimzi has."""


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document, or comments alone."""

    comments: tuple[str, ...]
    body: dict[str, Any] | None


def strimzi(
    image: Image, choice: RecipeParts, report: RecipeReport, *, origin: str, cluster: str
) -> Iterator[Document]:
    """The resources.

    Args:
        image: The image to make again.
        choice: The parts of it to make.
        report: Is told of everything that is left out.
        origin: The origin that a comment names.
        cluster: Name of the Kafka resource that they belong to.
    """
    maker = _Maker(report, cluster)
    yield Document((f"Made by metashell from {origin}.",), None)
    yield from maker.topics(list(read_topics(image, choice.topics, with_assignment=False)))
    odd = []
    if choice.topics.all():
        odd += [
            f"configs of the topic {name!r}: there is no such topic"
            for name in ownerless_configs(image)
        ]
    for kind, name, configs in read_configs(image, choice.resources):
        whose = f"{kind} {name!r}" if name else f"every {kind}"
        keys = (*configs.values, *configs.secrets, *configs.odd)
        odd += [f"{key} of {whose}: Strimzi has no resource for it" for key in sorted(keys)]
    odd += left_behind(image, choice)
    users = _Users()
    if choice.users:
        for credential in read_credentials(image):
            users.credential(credential.user, credential.mechanism)
    if choice.quotas:
        for entity in read_entities(image):
            odd += entity.odd
            if entity.values and set(entity.entity) != {USER}:
                odd.append(f"quotas of {entity.text}: Strimzi has them for users alone")
            elif entity.values:
                users.quotas(entity.entity[USER], entity.text, entity.values)
    if choice.acls:
        for rule in read_rules(image):
            users.rule(rule)
    yield from maker.users(users)
    if odd + users.odd:
        yield Document(tuple(maker.left_out(sentence) for sentence in odd + users.odd), None)


class _Users:
    """The facts about each user: of a name, and of a certificate with that common name."""

    def __init__(self) -> None:
        self.specs: dict[str, dict[str, Any]] = {}
        """By name as Kafka has it, such as ``alice`` or ``CN=alice``."""
        self.odd: list[str] = []

    def _spec(self, name: str) -> dict[str, Any]:
        return self.specs.setdefault(name, {})

    def credential(self, name: str, mechanism: str) -> None:
        if mechanism != SCRAM:
            self.odd.append(f"{mechanism} of {name!r}: Strimzi has {SCRAM} alone")
            return
        self._spec(name)["authentication"] = {"type": SCRAM.lower()}

    def quotas(self, name: str | None, text: str, values: dict[str, float]) -> None:
        if name is None:
            self.odd.append(f"quotas of {text}: Strimzi has them for single users alone")
            return
        for key, value in values.items():
            whole = value == int(value)
            if key not in QUOTAS or value < 0 or (not whole and key not in _FRACTIONS):
                self.odd.append(f"quota {key} of {text}: Strimzi takes whole numbers alone")
                continue
            quotas = self._spec(name).setdefault("quotas", {})
            quotas[QUOTAS[key]] = int(value) if whole else value

    def rule(self, rule: Rule) -> None:
        problem = rule.problem or _rule_problem(rule)
        if problem is not None:
            self.odd.append(f"ACL {rule.text}: {problem}")
            return
        resource: dict[str, Any] = {"type": RESOURCES[rule.resource_type]}
        if rule.resource_type != "CLUSTER":
            resource["name"] = rule.resource_name
            resource["patternType"] = PATTERNS[rule.pattern_type]
        spec = self._spec(rule.principal.removeprefix(PRINCIPAL))
        authorization = spec.setdefault("authorization", {"type": "simple", "acls": []})
        authorization["acls"].append(
            {
                "type": rule.permission.lower(),
                "resource": resource,
                "operations": [pascal_case(operation) for operation in rule.operations],
                "host": rule.host,
            }
        )


def _rule_problem(rule: Rule) -> str | None:
    if not rule.principal.startswith(PRINCIPAL):
        return "Strimzi makes principals of the type User alone"
    if rule.resource_type not in RESOURCES:
        return "Strimzi has no such resource"
    if not OPERATIONS.issuperset(rule.operations):
        return "Strimzi has no such operation"
    return None


class _Maker:
    """Makes documents."""

    def __init__(self, report: RecipeReport, cluster: str) -> None:
        self._report, self._cluster = report, cluster

    def left_out(self, sentence: str) -> str:
        self._report.left_out.append(sentence)
        return f"left out: {sentence}"

    def _secret(self, sentence: str) -> str:
        self._report.n_secrets += 1
        return f"secret: {sentence}"

    def _resource(self, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        labels = {"strimzi.io/cluster": self._cluster}
        metadata = {"name": name, "labels": labels}
        return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}

    def topics(self, topics: Sequence[Topic]) -> Iterator[Document]:
        names = resource_names([topic.name for topic in topics if topic.problem is None])
        for topic in topics:
            if topic.problem is not None:
                sentence = self.left_out(f"topic {topic.name!r}: {topic.problem}")
                yield Document((sentence,), None)
                continue
            comments = [
                self._secret(f"{key} of the topic {topic.name} is set")
                for key in topic.configs.secrets
            ]
            if topic.note is not None:
                comments.append(self.left_out(f"replicas of the topic {topic.name}: {topic.note}"))
            comments += [
                self.left_out(f"{key!r} of the topic {topic.name}: no tool takes it")
                for key in topic.configs.odd
            ]
            name = names[topic.name]
            spec: dict[str, Any] = {} if name == topic.name else {"topicName": topic.name}
            spec |= {"partitions": topic.n_partitions, "replicas": topic.replication}
            if topic.configs.values:
                spec["config"] = dict(topic.configs.values)
            yield Document(tuple(comments), self._resource("KafkaTopic", name, spec))

    def users(self, users: _Users) -> Iterator[Document]:
        taken: dict[str, str] = {}
        for principal, spec in sorted(users.specs.items()):
            is_certificate = principal.startswith(CERTIFICATE)
            name = principal.removeprefix(CERTIFICATE)
            problem = None
            if not is_resource_name(name):
                problem = "Kubernetes takes no such name"
            elif is_certificate and len(name) > _MOST_IN_CERTIFICATE:
                problem = "the name is too long for a certificate"
            elif is_certificate and "authentication" in spec:
                problem = "Strimzi gives such a user no password"
            elif name in taken:
                problem = f"the resource {name} is already that of {taken[name]}"
            if problem is not None:
                what = ", ".join(sorted(spec))
                sentence = self.left_out(f"user {principal!r} ({what}): {problem}")
                yield Document((sentence,), None)
                continue
            taken[name] = principal
            yield self._user(name, spec, is_certificate=is_certificate)

    def _user(self, name: str, spec: dict[str, Any], *, is_certificate: bool) -> Document:
        comments = []
        if is_certificate:
            # The issuer of the certificates stays as it is.
            spec = {"authentication": {"type": "tls-external"}, **spec}
        elif "authentication" in spec:
            secret = f"{name}-password"[-_MOST:].lstrip("-.")
            comments.append(
                self._secret(
                    f"the password of {name} is not known here: put it as `password` into a Secret"
                    f" {secret}"
                )
            )
            reference = {"secretKeyRef": {"name": secret, "key": "password"}}
            authentication = {"type": SCRAM.lower(), "password": {"valueFrom": reference}}
            spec = {**spec, "authentication": authentication}
        return Document(tuple(comments), self._resource("KafkaUser", name, spec))


# Names.


def is_resource_name(name: str) -> bool:
    """Whether Kubernetes takes it as the name of a resource."""
    return len(name) <= _MOST and _NAME.fullmatch(name) is not None


def resource_names(names: Sequence[str]) -> dict[str, str]:
    """A resource name for each of some distinct names.

    A name that is one stays; others are made from theirs, with a suffix that depends on the name
    alone where two would meet.
    """
    out = {name: name for name in names if is_resource_name(name)}
    used = set(out.values())
    for name in sorted(set(names) - set(out)):
        plain = re.sub("[^a-z0-9.-]+", "-", name.lower())
        labels = (label.strip("-") for label in plain.split("."))
        made = ".".join(label for label in labels if label)[:_MOST].rstrip("-.") or "topic"
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        length = 8
        candidate = made
        while candidate in used or not is_resource_name(candidate):
            suffix = f"-{digest[:length]}"
            candidate = made[: _MOST - len(suffix)].rstrip("-.") + suffix
            length += 8
        used.add(candidate)
        out[name] = candidate
    return out
