r"""A shell script of kafka-topics.sh, kafka-configs.sh and kafka-acls.sh.

Every word that comes from a cluster is quoted, so that no shell takes it for anything else, and
written so that the tool reads it as it is. Where ``--config`` and ``--add-config`` would misread a
value it goes by a properties file on standard input, in which all odd characters are escapes.

Source: org.apache.kafka.tools.TopicCommand, kafka.admin.{ConfigCommand, AclCommand}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from metashell.answers.quotas import CLIENT_ID, IP, USER, Entity
from metashell.answers.recipes.contents import (
    RecipeParts,
    RecipeReport,
    ResourceConfigs,
    Rule,
    Topic,
    left_behind,
    number_text,
    ownerless_configs,
    read_configs,
    read_credentials,
    read_entities,
    read_rules,
    read_topics,
)
from metashell.image.image import Image

_SERVER: Final = '--bootstrap-server "$BOOTSTRAP_SERVER" $ADMIN_OPTIONS'
_ENTITY_TYPES: Final = {
    "BROKER": "brokers",
    "BROKER_LOGGER": "broker-loggers",
    "CLIENT_METRICS": "client-metrics",
    "GROUP": "groups",
    "TOPIC": "topics",
}
_QUOTA_TYPES: Final = {USER: "users", CLIENT_ID: "clients", IP: "ips"}
_RESOURCES: Final = {
    "TOPIC": "--topic",
    "GROUP": "--group",
    "TRANSACTIONAL_ID": "--transactional-id",
    "DELEGATION_TOKEN": "--delegation-token",
    "USER": "--user-principal",
}
_BROKER_ID: Final = re.compile("0|[1-9][0-9]{0,9}")
_PLAIN: Final = re.compile(r"[!-Z\\^-~](?:[ -Z\\^-~]*[!-Z\\^-~])?")
"""Printable ASCII without brackets, and no space at either end."""
_MOST_IN_A_WORD: Final = 1 << 16
"""Characters; Linux takes words of 128 KiB."""
_AS_IT_IS: Final = re.compile(r"[A-Za-z0-9_.,/+*@%-]")


def kafka_cli(
    image: Image, choice: RecipeParts, report: RecipeReport, *, origin: str, with_assignment: bool
) -> Iterator[str]:
    """The script, a piece of some lines each.

    Args:
        image: The image to make again.
        choice: The parts of it to make.
        report: Is told of everything that is left out.
        origin: The origin that the script names.
        with_assignment: Whether partitions go to the same brokers.
    """
    writer = _Writer(report)
    yield _head(origin)
    for topic in read_topics(image, choice.topics, with_assignment=with_assignment):
        yield writer.topic(topic)
    if choice.topics.all():
        for name in ownerless_configs(image):
            yield writer.left_out(f"configs of the topic {name!r}: there is no such topic")
    for kind, name, configs in read_configs(image, choice.resources):
        yield writer.configs(kind, name, configs)
    if choice.users:
        for credential in read_credentials(image):
            yield writer.password(credential.user, credential.mechanism, credential.iterations)
    for sentence in left_behind(image, choice):
        yield writer.left_out(sentence)
    if choice.quotas:
        for entity in read_entities(image):
            yield "".join(writer.left_out(sentence) for sentence in entity.odd)
            yield writer.quotas(entity.entity, entity.values)
    if choice.acls:
        for rule in read_rules(image):
            yield writer.rule(rule)


def _head(origin: str) -> str:
    return f"""#!/bin/sh
{_comment(f"Made by metashell from {origin}.")}# Usage: BOOTSTRAP_SERVER=host:9092 sh FILE
# ADMIN_OPTIONS can hold further options, such as "--command-config client.properties".
set -euf
: "${{BOOTSTRAP_SERVER:?host:port of a broker}}"
: "${{ADMIN_OPTIONS=}}"
"""


def _comment(text: str) -> str:
    """A comment of one line, whatever the text holds."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"# {shown}\n"


def _option(flag: str, value: str) -> str:
    """An option with its value; one that begins with a dash could be taken for an option."""
    return f"{flag}={quote(value)}" if value.startswith("-") else f"{flag} {quote(value)}"


class _Writer:
    """Writes commands, and comments where there is none."""

    def __init__(self, report: RecipeReport) -> None:
        self._report = report

    def left_out(self, sentence: str) -> str:
        self._report.left_out.append(sentence)
        return _comment(f"left out: {sentence}")

    def _secret(self, sentence: str) -> str:
        self._report.n_secrets += 1
        return _comment(f"secret: {sentence}")

    # Topics and configs.

    def topic(self, topic: Topic) -> str:
        if topic.problem is not None:
            return self.left_out(f"topic {topic.name!r}: {topic.problem}")
        before = ""
        if topic.note is not None:
            before = self.left_out(f"replicas of the topic {topic.name}: {topic.note}")
        brokers = ",".join(":".join(map(str, own)) for own in topic.assignment or ())
        if len(brokers) > _MOST_IN_A_WORD:
            before += self.left_out(f"assignment of the topic {topic.name}: too long for a command")
            brokers = ""
        if brokers:
            size = [_option("--replica-assignment", brokers)]
        else:
            size = [
                f"--partitions {topic.n_partitions}",
                f"--replication-factor {topic.replication}",
            ]
        # These values can't hold an equals sign.
        simple = {
            key: value
            for key, value in topic.configs.values.items()
            if _PLAIN.fullmatch(value) and "=" not in value
        }
        words = [
            f"kafka-topics.sh {_SERVER} --create --if-not-exists",
            _option("--topic", topic.name),
            *size,
            *(_option("--config", f"{key}={value}") for key, value in simple.items()),
        ]
        others = {k: v for k, v in topic.configs.values.items() if k not in simple}
        rest = ResourceConfigs(others, topic.configs.secrets, topic.configs.odd)
        return f"{before}{' '.join(words)}\n{self.configs('TOPIC', topic.name, rest)}"

    def configs(self, kind: str, name: str, configs: ResourceConfigs) -> str:
        whose = f"{kind} {name!r}" if name else f"every {kind}"
        out = [self._secret(f"{key} of {whose} is set") for key in configs.secrets]
        out += [self.left_out(f"{key!r} of {whose}: no tool takes it") for key in configs.odd]
        if not configs.values:
            return "".join(out)
        problem = _config_problem(kind, name)
        if problem is not None:
            out += [self.left_out(f"{key} of {whose}: {problem}") for key in configs.values]
            return "".join(out)
        entity = f"--entity-type {_ENTITY_TYPES[kind]} " + (
            _option("--entity-name", name) if name else "--entity-default"
        )
        plain = {k: v for k, v in configs.values.items() if not v or _PLAIN.fullmatch(v)}
        if sum(map(len, plain.values())) > _MOST_IN_A_WORD:
            plain = {}
        odd = {k: v for k, v in configs.values.items() if k not in plain}
        if plain:
            out.append(_alter(entity, [f"{key}={_grouped(v)}" for key, v in plain.items()]))
        if odd:
            lines = "".join(f"{key}={_property(value)}\n" for key, value in odd.items())
            out.append(
                f"kafka-configs.sh {_SERVER} --alter {entity} --add-config-file /dev/stdin"
                f" <<'EOF'\n{lines}EOF\n"
            )
        return "".join(out)

    # Users and quotas.

    def password(self, user: str, mechanism: str, iterations: int) -> str:
        # A comment must stay one line, so only printable characters are written.
        words = _alter(
            f"--entity-type users {_option('--entity-name', user)}",
            [f"{mechanism}=[iterations={iterations},password=PASSWORD]"],
        )
        before = self._secret(f"the password of {user!r} for {mechanism}, which is not known here:")
        return before + _comment(words.removesuffix("\n"))

    def quotas(self, entity: Entity, values: Mapping[str, float]) -> str:
        if not values:
            return ""
        words = []
        for kind in (USER, CLIENT_ID, IP):
            if kind in entity:
                name = entity[kind]
                words.append(f"--entity-type {_QUOTA_TYPES[kind]}")
                words.append("--entity-default" if name is None else _option("--entity-name", name))
        return _alter(" ".join(words), [f"{k}={number_text(v)}" for k, v in values.items()])

    # ACLs.

    def rule(self, rule: Rule) -> str:
        if rule.problem is not None:
            return self.left_out(f"ACL {rule.text}: {rule.problem}")
        permission = rule.permission.lower()
        words = [
            f"kafka-acls.sh {_SERVER} --add",
            _option(f"--{permission}-principal", rule.principal),
            _option(f"--{permission}-host", rule.host),
            *(f"--operation {pascal_case(operation)}" for operation in rule.operations),
        ]
        flag = _RESOURCES.get(rule.resource_type)
        words.append("--cluster" if flag is None else _option(flag, rule.resource_name))
        if rule.pattern_type != "LITERAL":
            words.append(f"--resource-pattern-type {rule.pattern_type.lower()}")
        return " ".join(words) + "\n"


def pascal_case(name: str) -> str:
    """``DESCRIBE_CONFIGS`` as Kafka's tools write it. Source: SecurityUtils.operationName."""
    return "".join(word.capitalize() for word in name.split("_"))


def _config_problem(kind: str, name: str) -> str | None:
    if kind not in _ENTITY_TYPES:
        return "Kafka knows no such resource type"
    if "\0" in name:
        return "no command can be given a NUL"
    if kind in ("BROKER", "BROKER_LOGGER"):
        if not (_BROKER_ID.fullmatch(name) or (not name and kind == "BROKER")):
            return "that is no broker's id"
    elif not name:
        return "the resource has no name"
    return None


def _alter(entity: str, pairs: Sequence[str]) -> str:
    return (
        f"kafka-configs.sh {_SERVER} --alter {entity} {_option('--add-config', ','.join(pairs))}\n"
    )


def _grouped(value: str) -> str:
    """A value in brackets where a comma or an equals sign would end it."""
    return f"[{value}]" if "," in value or "=" in value else value


def _property(value: str) -> str:
    """A value as java.util.Properties reads it, in ASCII."""
    units = value.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(
        chr(code) if _AS_IT_IS.fullmatch(chr(code)) else f"\\u{code:04x}" for code in codes
    )
