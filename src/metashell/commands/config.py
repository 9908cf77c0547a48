"""`config`: the effective value of a config key and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.answers.config_defaults import default_of, is_known, keys_of
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.options import Option, refuse_more
from metashell.commands.rows.columns import flag, integer, one_table, text, texts, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import HISTORY, RowsQuery
from metashell.commands.shared.assume_option import ASSUME, assumptions_of
from metashell.commands.shared.names import and_meant, refuse_count
from metashell.commands.shared.resources import (
    ALL_BROKERS,
    CONFIG_TYPES,
    config_resources,
    config_type,
    resource_names,
    the_one,
)
from metashell.errors import UsageError
from metashell.fs.pattern import Pattern
from metashell.spelling import near_names

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.answers.configs import ConfigResource
    from metashell.image.image import Image

_RESOURCE: Final = Option(
    ("--resource",),
    "Configs of this resource only: topic:NAME, broker:ID, broker:default for all brokers, "
    "group:NAME, client-metrics:NAME or broker-logger:ID. Wildcards are allowed: group:*.",
    "RESOURCE",
    complete=lambda context, word: _complete_resource(context, word),  # noqa: PLW0108
)
_ALL: Final = Option(
    ("--all",), "Also print resources that do not override the key, with their value."
)
_GONE: Final = Option(
    ("--gone",),
    "Only configs of deleted topics and of nodes that are not registered.",
    phrase="left behind by a topic or node that is gone",
)
_UNKNOWN: Final = Option(
    ("--unknown",), "Only keys that no Kafka release knows.", phrase="unknown to all Kafka releases"
)


class ConfigCommand(RowsCommand):
    """Show the effective value of configs, and where it comes from.

    Prints the value of configs and where each comes from: the resource, a broker, all brokers,
    a node's server.properties, or Kafka's default.

    With a KEY and a RESOURCE it prints the value that holds there. A topic has a row for each
    broker with a dynamic value of its own, and one for the others. With a KEY alone it prints
    every resource that sets the key or a broker's key that it falls back to. Where nothing sets
    it, its default is told. With a RESOURCE alone it prints what is set there. Without both it
    prints everything that is set. A bare name stands for the one resource that has it.

    The metadata does not have server.properties. A value that may come from there is marked
    `assumed`: it is Kafka's newest default, or from --assume FILE. Values in hours or minutes
    (log.retention.hours) are shown in the unit of the topic's config.
    """

    group = "whole cluster"
    of_each_cluster = True
    noun = ("config", "configs")
    tables = one_table(
        text("resource_type", "TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS or GROUP.", priority=9),
        text("resource_name", "Its name; empty for all brokers at once.", priority=9),
        text("key", "The config's key.", priority=9),
        text("value", "The value that holds; null where there is none.", priority=8),
        text(
            "source",
            "Where it comes from, in Kafka's words: DYNAMIC_TOPIC_CONFIG, DYNAMIC_BROKER_CONFIG, "
            "DYNAMIC_DEFAULT_BROKER_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG and others.",
            priority=8,
        ),
        integer(
            "broker",
            "The broker on which it holds, where brokers differ; null for all (other) brokers.",
            priority=8,
            usual=("-",),
        ),
        flag(
            "assumed",
            "Whether a node's own server.properties could say otherwise: it is Kafka's default, or "
            "read from --assume.",
            priority=8,
            usual=("no",),
        ),
        flag(
            "known",
            "Whether a Kafka release knows the key; null for loggers.",
            priority=8,
            usual=("yes", "-"),
        ),
        flag(
            "internal",
            "Whether Kafka has the key for its own use and tests; null for loggers.",
            shown=False,
        ),
        flag(
            "gone",
            "Whether the resource does not exist; null where the metadata can't know (groups).",
            shown=False,
        ),
        texts(
            "synonyms",
            "All that is set for it, strongest first, as `kafka-configs.sh` lists it.",
            shown=False,
        ),
        integer("changed_offset", "Offset of the record that set it; null where none is known."),
        time_at("changed_time", "Its time.", shown=False),
    )
    manual = Manual(
        synopsis="config [OPTION...] [KEY] [RESOURCE]",
        options=(_RESOURCE, _ALL, _GONE, _UNKNOWN, ASSUME, HISTORY),
        examples=(
            ("config", "everything that is set"),
            ("config topic:orders", "everything that is set for a topic"),
            ("config min.insync.replicas", "which resources set it"),
            ("config min.insync.replicas topic:orders", "what holds for one topic"),
            ("config retention.ms --all", "what holds for each topic"),
            ("config --resource broker:default", "dynamic configs of all brokers"),
            ("config --unknown", "keys that no Kafka release knows"),
        ),
    )

    def answer(self, query: RowsQuery) -> None:
        """The configs asked for."""
        from metashell.answers.configs import ConfigQuestion, configs_table, has_resource

        parsed = query.parsed
        refuse_more(self, parsed.arguments, 2)
        key, words = _key_and_resource(query.image, parsed.arguments)
        option = parsed.values.get("--resource")
        if option is not None and ":" not in option:
            option = the_one(option, config_resources(query.image, option), (), "topic:orders")
        resource = _resource(words, option)
        several = resource if resource is not None and set("*?[{") & set(resource.name) else None
        if several is not None:
            resource = None
        if key is None and resource is None and "--all" in parsed.switches:
            raise UsageError("--all needs a KEY or a resource")
        question = ConfigQuestion(
            key=key,
            resource=resource,
            everything="--all" in parsed.switches,
            only_gone="--gone" in parsed.switches,
            only_unknown="--unknown" in parsed.switches,
        )
        assumptions = assumptions_of(parsed)
        if resource is not None and not has_resource(query.image, resource):
            word = next(word for word, kind in CONFIG_TYPES.items() if kind == resource.type)
            known = query.image.topics.names if resource.type == "TOPIC" else ()
            near = [f"{word}:{name}" for name in near_names(resource.name, known)]
            refuse_count(query, and_meant(f"{word}:{resource.name}: no such resource", near))
            return
        table = configs_table(query.image, query.source.redaction, question, assumptions)
        if several is not None:
            table = _of_several(table, several)
        marked = question.only_gone or question.only_unknown
        if key is not None and not len(table) and not marked:
            if default := _default(key, None if resource is None else resource.type):
                query.remarks.append(default)
            elif resource is None:
                _warn_of_key(query, key)
            else:
                refuse_count(query, f"{key}: not set, and Kafka knows no such key of it")
        query.add(table)

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose keys and resources, in either order."""
        # Only a resource has a colon.
        if ":" in word or any(not arg.startswith("-") for arg in args):
            return _complete_resource(context, word)
        return _complete_key(word)


def _key_and_resource(image: Image, words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Sort out which word is the key and which the resource, in either order.

    A word with the kind of a resource in front is one. So is a bare name that is no key, if just
    one resource has it.

    Raises:
        UsageError: Several resources have the name.
        MetashellError: Nothing has the name of the second word.
    """
    keys = [word for word in words if config_type(word) is None]
    resources = [word for word in words if word not in keys]
    if resources or not keys:
        return (keys[0] if keys else None), [*resources, *keys[1:]]
    if len(keys) == 1:
        found = [] if _is_key(image, keys[0]) else config_resources(image, keys[0])
        return (None, [the_one(keys[0], found, (), "topic:orders")]) if found else (keys[0], [])
    if not _is_key(image, keys[0]) and _is_key(image, keys[1]):
        keys.reverse()
    example = f"topic:{keys[1]}"
    return keys[0], [
        the_one(keys[1], config_resources(image, keys[1]), image.topics.names, example)
    ]


def _is_key(image: Image, word: str) -> bool:
    """Whether Kafka knows a key of this name, or something sets it."""
    if any(is_known(kind, word) for kind in CONFIG_TYPES.values() if kind != "BROKER_LOGGER"):
        return True
    return word in image.part("configs").columns.span("name").texts()


def _default(key: str, kind: str | None) -> str:
    """Tell the default of a key that nothing sets; empty where Kafka knows no such key."""
    kinds = [one for one in CONFIG_TYPES.values() if kind in (None, one) and key in keys_of(one)]
    if not kinds:
        return ""
    default = default_of(kinds[0], key)
    if default is None:
        return f"no record sets {key}, and it has no default"
    return (
        f"no record sets {key}; Kafka's default, {default}, holds unless a node's "
        "server.properties says otherwise"
    )


def _warn_of_key(query: RowsQuery, key: str) -> None:
    """Tell of a key that nothing sets and Kafka does not know: it may be mistyped."""
    kinds = CONFIG_TYPES.values()
    # Loggers have names of classes for keys.
    if any(is_known(kind, key) for kind in kinds if kind != "BROKER_LOGGER"):
        return
    near = near_names(key, sorted({name for kind in kinds for name in keys_of(kind)}))
    near = near if "." in key else []
    near += [f"topic:{name}" for name in near_names(key, query.image.topics.names)]
    refuse_count(query, and_meant(f"{key}: no config key and no resource has this name", near[:3]))


def _resource(words: Sequence[str], option: str | None) -> ConfigResource | None:
    """The resource that is named, by a word or by ``--resource``.

    Raises:
        UsageError: It can't be read, or there are two.
    """
    if words and option is not None:
        raise UsageError(f"two resources: {words[0]} and --resource {option}")
    text = words[0] if words else option
    if text is None:
        return None
    from metashell.answers.configs import ConfigResource

    word = config_type(text)
    if word is None:
        raise UsageError(
            f"{text}: not a resource",
            hint="write " + ", ".join(f"{known}:NAME" for known in CONFIG_TYPES),
        )
    kind, name = CONFIG_TYPES[word], text.partition(":")[2]
    if kind == "BROKER" and name in ALL_BROKERS:
        name = ""
    elif kind in ("BROKER", "BROKER_LOGGER") and name and not (_is_id(name) or "*" in name):
        raise UsageError(f"{text}: not the id of a broker")
    return ConfigResource(kind, name)


def _of_several(table: pa.Table, resources: ConfigResource) -> pa.Table:
    """The rows of the resources of a type whose names fit a pattern."""
    import pyarrow as pa

    kinds, names = (table.column(f"resource_{one}").to_pylist() for one in ("type", "name"))
    match = Pattern(resources.name).match
    fits = {name: bool(match(name)) for name in set(names)}
    chosen = [k == resources.type and fits[n] for k, n in zip(kinds, names, strict=True)]
    return table.filter(pa.array(chosen, pa.bool_()))


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= 10


def _complete_key(word: str) -> list[Completion]:
    keys = sorted({key for kind in CONFIG_TYPES.values() for key in keys_of(kind)})
    return [Completion(key, -len(word), key) for key in keys if key.startswith(word)]


def _complete_resource(context: Context, word: str) -> list[Completion]:
    typed = word.partition(":")[0]
    kind = config_type(word)
    words = [f"{name}:" for name in CONFIG_TYPES]
    if kind is not None:
        names = [] if context.source is None else resource_names(context.source.image, kind)
        names = [*(ALL_BROKERS[:1] if kind == "broker" else ()), *names]
        words = [f"{typed}:{name}" for name in names]
    return [Completion(text, -len(word), text) for text in words if text.startswith(word)]


COMMAND = ConfigCommand()
