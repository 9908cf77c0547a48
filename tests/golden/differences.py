"""Where ours differs from Kafka's on purpose: every difference has a name and a reason.

`DIFFERENCES` is the whole list, the same as in docs/design/differences.md. One that shows in the
golden trees also says how: `change` turns Kafka's tree into the one expected of ours, computed from
Kafka's own dump of the records or written out here, never taken from the product.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from support.fixtures import Fixture
from support.golden_tree import Path, Tree, kafka_tree

QUOTAS: Final[Path] = ("image", "clientQuotas")
CONFIGS: Final[Path] = ("image", "configs")
BROKER_X: Final[Path] = (*CONFIGS, "BROKER:x")
SCRAM: Final[Path] = ("image", "scram")
METADATA_VERSION: Final[Path] = ("image", "features", "metadataVersion")
PROVENANCE: Final[Path] = ("image", "provenance")

SCRAM_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}

DEFAULT_ENTITY: Final = "<default>"
"""How ours prints the default user, client id or ip."""


@dataclass(frozen=True)
class Difference:
    """A deliberate difference.

    ``change``: makes Kafka's tree ours where the fixture is concerned; None where the golden trees
    do not show the difference.
    """

    name: str
    reason: str
    change: Callable[[Tree, Fixture], None] | None = None


def expected_tree(fixture: Fixture) -> Tree:
    """Build the tree that ours must show for a fixture, under ``/image``."""
    tree = kafka_tree(fixture.golden)
    for difference in DIFFERENCES.values():
        if difference.change is not None:
            difference.change(tree, fixture)
    return tree


def fold_quotas(fixture: Fixture) -> dict[str, dict[str, float]]:
    """Replay the client quotas of a fixture's dump: value by key by the entity's name."""
    quotas: dict[str, dict[str, float]] = {}
    for record in committed_records(fixture):
        if record["type"] != "CLIENT_QUOTA_RECORD":
            continue
        data = record["data"]
        keys = quotas.setdefault(entity_name(data["entity"]), {})
        if data["remove"]:
            keys.pop(data["key"], None)
        else:
            keys[data["key"]] = float(data["value"])
    return {name: keys for name, keys in quotas.items() if keys}


def committed_records(fixture: Fixture) -> list[dict[str, Any]]:
    """List the records that count: of the files loaded, none twice, none of a failed transaction.

    Transactions that are begun, ended or aborted out of turn do not occur in whole directories.
    """
    by_file: dict[str, list[dict[str, Any]]] = {}
    for record in fixture.golden.dump():
        by_file.setdefault(record["file"], []).append(record)
    records: list[dict[str, Any]] = []
    pending: list[dict[str, Any]] | None = None
    next_offset = 0
    for file in fixture.golden.meta["loaded"]:
        is_base = file.endswith(".checkpoint")
        if is_base:
            next_offset = int(file.partition("-")[0])
        for record in by_file.get(file, ()):
            if "type" not in record or (not is_base and record["offset"] < next_offset):
                continue
            match record["type"]:
                case "BEGIN_TRANSACTION_RECORD":
                    pending = []
                case "ABORT_TRANSACTION_RECORD":
                    pending = None
                case "END_TRANSACTION_RECORD":
                    records += pending or []
                    pending = None
                case _:
                    (records if pending is None else pending).append(record)
    return records


def fold_topic_configs(fixture: Fixture) -> dict[str, dict[str, str]]:
    """Replay the topics' configs of a fixture's dump: value by key by the topic's name."""
    names: dict[str, str] = {}
    configs: dict[str, dict[str, str]] = {}
    for record in committed_records(fixture):
        data = record["data"]
        match record["type"]:
            case "TOPIC_RECORD":
                names[data["topicId"]] = data["name"]
            case "REMOVE_TOPIC_RECORD" if data["topicId"] in names:
                configs.pop(names.pop(data["topicId"]), None)
            case "CONFIG_RECORD" if data["resourceType"] == 2:
                keys = configs.setdefault(data["resourceName"], {})
                keys.pop(data["name"], None)
                if data["value"] is not None:
                    keys[data["name"]] = data["value"]
    return {name: keys for name, keys in configs.items() if keys}


def fold_scram(fixture: Fixture) -> dict[tuple[int, str], str]:
    """Replay the SCRAM credentials of a fixture's dump: text by mechanism and user."""
    texts: dict[tuple[int, str], str] = {}
    for record in committed_records(fixture):
        data = record["data"]
        if record["type"] == "USER_SCRAM_CREDENTIAL_RECORD":
            salt, stored_key, server_key = (
                base64.b64decode(data[name]).hex() for name in ("salt", "storedKey", "serverKey")
            )
            texts[data["mechanism"], data["name"]] = (
                f"ScramCredentialData(salt={salt}, storedKey={stored_key}, "
                f"serverKey={server_key}, iterations={data['iterations']})"
            )
        elif record["type"] == "REMOVE_USER_SCRAM_CREDENTIAL_RECORD":
            texts.pop((data["mechanism"], data["name"]), None)
    return texts


def entity_name(entity: list[dict[str, str | None]]) -> str:
    """Name a quota's entity: its parts in Kafka's order, with the default ones spelled out."""
    by_type = {part["entityType"]: part["entityName"] for part in entity}
    order = [("client-id", "clientId"), ("ip", "ip"), ("user", "user")]
    order += [(kind, kind) for kind in by_type if kind is not None and kind not in dict(order)]
    parts: list[str] = []
    for kind, label in order:
        if kind in by_type:
            name = by_type[kind]
            parts.append(f"{label}({DEFAULT_ENTITY if name is None else _escaped(name)})")
    return "_".join(parts)


def java_double(value: float) -> str:
    """Write a finite double as Java does, with the shortest digits."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def provenance(offset: int, epoch: int, timestamp_ms: int) -> str:
    """Write the text of ``/image/provenance``."""
    seconds, milliseconds = divmod(timestamp_ms, 1000)
    time = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{milliseconds:03}".rstrip("0").rstrip(".")
    return f"offset {offset}, epoch {epoch}, time {time}{fraction}Z[UTC]"


def _escaped(name: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\()" else letter for letter in name)


def _default_quota_entities(tree: Tree, fixture: Fixture) -> None:
    names = tree.children[QUOTAS]
    has_node = {path[2] for path in tree.children if len(path) == 3 and path[:2] == QUOTAS}
    if len(names) == len(set(names)) and has_node == set(names):
        return
    kafka_texts = {path: text for path, text in tree.texts.items() if path[:2] == QUOTAS}
    tree.clear(QUOTAS)
    for name, values in fold_quotas(fixture).items():
        for key, value in values.items():
            path = (*QUOTAS, name, key)
            tree.put(path, kafka_texts.get(path) or java_double(value))


def _invalid_quota_entities(tree: Tree, fixture: Fixture) -> None:
    shown = {"quirks/quota-entity-empty": "", "quirks/quota-entity-unknown": "group(g)"}
    if fixture.name in shown:
        tree.put((*QUOTAS, shown[fixture.name], "k"), "1.0")


def _shortest_digits(tree: Tree, fixture: Fixture) -> None:
    for path, text in tree.texts.items():
        if path[:2] == QUOTAS and text == "9.999999999999999E22":
            tree.texts[path] = "1.0E23"


def _bare_metadata_version(tree: Tree, fixture: Fixture) -> None:
    text = tree.texts[METADATA_VERSION]
    if text.startswith("Optional["):
        tree.texts[METADATA_VERSION] = text.removeprefix("Optional[").removesuffix("]")


def _unknown_metadata_version(tree: Tree, fixture: Fixture) -> None:
    shown = {
        "quirks/metadata-version-1": ("3.0-IV1", 1790000017276),
        "quirks/metadata-version-6": ("3.3-IV2", 1790000019744),
        "quirks/metadata-version-34": ("34", 1790000022212),
        "quirks/no-metadata-version": ("none", 1790000014808),
    }
    if fixture.name in shown:
        version, timestamp_ms = shown[fixture.name]
        tree.put(METADATA_VERSION, version)
        tree.put((*BROKER_X, "a"), "1")
        tree.put(PROVENANCE, provenance(1, 1, timestamp_ms))


def _open_transaction(tree: Tree, fixture: Fixture) -> None:
    if fixture.name == "quirks/open-transaction-at-end":
        tree.put(METADATA_VERSION, "4.4-IV2")
        tree.put((*BROKER_X, "committed"), "1")
        tree.put((*BROKER_X, "before-begin-same-batch"), "1")
        tree.put(PROVENANCE, provenance(2, 1, 1790000011106))


def _aborted_records(tree: Tree, fixture: Fixture) -> None:
    if fixture.name == "quirks/abort-then-records-same-batch":
        tree.clear(BROKER_X)
        tree.put((*BROKER_X, "after-abort-same-batch"), "1")
        tree.put((*BROKER_X, "later"), "1")


def _failed_record(tree: Tree, fixture: Fixture) -> None:
    if fixture.name == "quirks/faulty-records":
        tree.put((*BROKER_X, "after-fault"), "1")
        tree.put((*BROKER_X, "end"), "1")
        tree.put(PROVENANCE, provenance(8, 1, 1790000038254))


def _removed_topic_config(tree: Tree, fixture: Fixture) -> None:
    kept = fold_topic_configs(fixture)
    for path in [path for path in tree.texts if path[1] == "configs"]:
        if path[2].startswith("TOPIC:") and path[3] not in kept.get(path[2][6:], ()):
            tree.remove(path)
            if not tree.children[path[:3]]:
                tree.remove(path[:3])


def _scram_in_one_batch(tree: Tree, fixture: Fixture) -> None:
    for (mechanism, user), text in fold_scram(fixture).items():
        if mechanism in SCRAM_MECHANISMS:
            tree.put((*SCRAM, SCRAM_MECHANISMS[mechanism], user), text)


def _shared_topic_name(tree: Tree, fixture: Fixture) -> None:
    if fixture.name == "quirks/two-ids-one-name":
        topic = ("image", "topics", "byName", "t")
        tree.put((*topic, "id"), "IiIiIiIiIiSeN3m5f0p8FQ")
        tree.put((*topic, "name"), "t")


_LIST = (
    Difference(
        "default-quota-entities",
        "Kafka prints the default user, client or ip as an empty name or as half a name, and its "
        "`find /` throws there; ours are nodes named `<default>`",
        _default_quota_entities,
    ),
    Difference(
        "invalid-quota-entities",
        "Kafka's listing throws at a quota without an entity or of an unknown type; ours shows it",
        _invalid_quota_entities,
    ),
    Difference(
        "shortest-double-digits",
        "JDK 17 does not always print the shortest digits of a double; ours does",
        _shortest_digits,
    ),
    Difference(
        "bare-metadata-version",
        "Kafka 4.4 prints `Optional[4.4-IV2]`, earlier ones and ours `4.4-IV2`",
        _bare_metadata_version,
    ),
    Difference(
        "unknown-metadata-version",
        "without a metadata.version that it knows Kafka shows an empty tree; ours shows everything "
        "and gives an unknown level by its number",
        _unknown_metadata_version,
    ),
    Difference(
        "open-transaction",
        "Kafka hangs on a log that ends inside a transaction; ours shows what is committed",
        _open_transaction,
    ),
    Difference(
        "aborted-records",
        "Kafka applies aborted records where others follow the abort in the same batch",
        _aborted_records,
    ),
    Difference(
        "failed-record",
        "after a record that can't be applied Kafka's image can stay at the old offset; ours goes "
        "on and reports a fault",
        _failed_record,
    ),
    Difference(
        "removed-topic-config",
        "Kafka keeps the config of a topic configured and removed in one batch",
        _removed_topic_config,
    ),
    Difference(
        "scram-in-one-batch",
        "where a batch sets credentials of a mechanism and removes others, Kafka's image can lose "
        "all of that mechanism",
        _scram_in_one_batch,
    ),
    Difference(
        "shared-topic-name",
        "where two topic ids shared a name and the older one is removed, Kafka's byName loses the "
        "living one",
        _shared_topic_name,
    ),
    Difference("local-values", "`/local` tells metashell's version and commit, not Kafka's"),
    Difference("own-roots", "`/` has further children of ours beside `image` and `local`"),
    Difference(
        "one-shot-waits",
        "Kafka's one-shot commands may answer before the image is loaded, and hang on a file with "
        "one record",
    ),
    Difference(
        "later-segment-alone", "Kafka refuses a segment whose base is missing; ours shows and warns"
    ),
    Difference(
        "unknown-configs-shown",
        "Kafka drops configs that its release does not know, and those of BROKER_LOGGER",
    ),
    Difference(
        "reachable-names",
        "names that hold `/`, are empty, `.` or `..` can't be reached in Kafka's shell; ours takes "
        "`%2F`, `%00`, `%2E`",
    ),
    Difference("code-point-order", "Kafka sorts names by UTF-16 unit, ours by code point"),
    Difference("ls-headings", "with several targets Kafka's `ls` heads each by its last name"),
    Difference("find-glob-prefix", "given a glob, Kafka's `find` prints the glob before each path"),
    Difference("secrets-redacted", "Kafka's shell shows secrets; ours needs `--show-secrets`"),
    Difference(
        "terminal-escapes",
        "on a terminal ours escapes control and bidirectional characters in names and texts",
    ),
    Difference(
        "acls-by-id", "Kafka before 4.2 had `/image/acls/<id>` and no `byId`; ours has one form"
    ),
    Difference(
        "unreadable-records",
        "kafka-dump-log prints a sentence for a record that it can't read; ours has a fault with "
        "kind, file, position and offset",
    ),
    Difference(
        "coordinator-record-numbers",
        "kafka-dump-log prints types and versions of coordinators' records as texts, ours as "
        "numbers",
    ),
)

DIFFERENCES: Final = {difference.name: difference for difference in _LIST}
"""All differences by name; those with `change` apply in this order."""
