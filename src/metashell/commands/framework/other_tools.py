"""Hints for options and commands of other tools: they name the counterpart here.

Owns the words of Kafka's tools and of the system's shell; what near misses of our own words were
meant to be is the business of `metashell.commands.framework.near`. Imported for an error alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shutil import which
from typing import Final

from metashell.commands import all_names, get
from metashell.commands.framework.command_line import quote_words
from metashell.spelling import near

_READS: Final = "metashell only reads; change the cluster with Kafka's own tools"
_DECODES: Final = "`log` decodes the records; `metashell -s FILE log` reads one file"
_ENTITY: Final = "`config --resource topic:NAME`, `quotas --user NAME`, `users`"
_PATTERNS: Final = "`acls --resource topic:NAME` finds every ACL that applies to the topic"

OPTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "--add", "--add-config", "--add-controller", "--alter", "--cancel", "--create",
            "--delete", "--delete-config", "--delete-offsets", "--disable-rack-aware",
            "--downgrade", "--election-type", "--execute", "--expire", "--finalize", "--generate",
            "--remove", "--remove-controller", "--renew", "--replica-assignment",
            "--reset-offsets", "--throttle", "--to-earliest", "--to-latest", "--unregister",
            "--upgrade",
        ),
        _READS,
    ),
    **dict.fromkeys(
        (
            "--cluster-metadata-decoder", "--deep-iteration", "--files", "--offsets-decoder",
            "--print-data-log", "--share-group-state-decoder", "--skip-record-metadata",
            "--transaction-log-decoder", "--value-decoder-class",
        ),
        _DECODES,
    ),
    **dict.fromkeys(("--entity-default", "--entity-name", "--entity-type"), _ENTITY),
    "--resource-pattern-type": _PATTERNS,
    "--group": "`groups NAME`, `offsets NAME`, `members NAME`; `acls --resource group:NAME`",
    "--transactional-id": "`transactions ID`; `acls --resource transactional-id:ID`",
    "--all-groups": "`groups`, `members` and `offsets` list all groups",
    "--members": "`members NAME` lists the members of a group",
    "--offsets": "`offsets NAME` lists the offsets of a group",
    "--max-transaction-timeout": "`transactions --hanging`",
    "--allow-principal": "`acls --principal User:NAME`, or `who-can READ topic:NAME`",
    "--deny-principal": "`acls --principal User:NAME`, or `who-can READ topic:NAME`",
    "--at-min-isr-partitions": "`partitions --at-min-isr`",
    "--bootstrap-server": "`metashell -q HOST:PORT` connects to a controller",
    "--broker-list": "`nodes` lists brokers and controllers",
    "--command-config": "`metashell -q HOST:PORT --config FILE` takes the security settings",
    "--describe": "`topics` and `partitions` describe all topics; `topics NAME` describes one",
    "--list": "`topics`, `users`, `acls` and `tokens` list everything",
    "--reassignment-json-file": "`partitions --reassigning` lists running reassignments",
    "--replication": "`quorum` shows the lag of each node",
    "--topic": "`topics NAME`, `partitions NAME`, `config --resource topic:NAME`",
    "--topics-with-overrides": "`config` lists every override",
    "--unavailable-partitions": "`partitions --offline`",
    "--under-min-isr-partitions": "`partitions --under-min-isr`",
    "--under-replicated-partitions": "`partitions --under-replicated`",
    "--version-mapping": "`can-upgrade` tells which versions the nodes support",
    "--zookeeper": "KRaft has no ZooKeeper: `metashell -d DIR`, or `metashell -q HOST:PORT`",
}  # fmt: skip
"""Option of one of Kafka's tools -> what does the same here."""

OF_PROGRAM: Final = frozenset(
    {
        "--at", "--bootstrap-controller", "--bootstrap-controllers", "--cluster", "--cluster-id",
        "--color", "--command", "--committed-only", "--completion", "--config", "--directory",
        "--engine",
        "--file", "--join", "--keep-going", "--live", "--master", "--no-cache", "--no-config",
        "--record", "--schemas", "--show-secrets", "--snapshot", "--spark-conf",
        "--spark-threshold", "--strict", "--timeout", "--tui", "--version", "-V", "-c", "-d",
        "-f", "-q", "-s",
    }
)  # fmt: skip
"""Options of metashell itself, which stand in front of a command."""

_TOOLS: Final[Mapping[str, str]] = {
    "kafka-acls": "`acls`, `who-can`",
    "kafka-broker-api-versions": "`nodes`, `can-upgrade`",
    "kafka-cluster": "`quorum`, `nodes`",
    "kafka-configs": "`config`, `quotas`, `users`",
    "kafka-consumer-groups": "`groups`, `offsets`, `members`",
    "kafka-delegation-tokens": "`tokens`",
    "kafka-dump-log": "`log`, `check`",
    "kafka-features": "`can-upgrade`, `ls /image/features`",
    "kafka-groups": "`groups`",
    "kafka-leader-election": "`partitions --no-preferred-leader`",
    "kafka-log-dirs": "`partitions --directory ID`",
    "kafka-metadata-quorum": "`quorum`",
    "kafka-metadata-shell": "`ls`, `cat`, `find`",
    "kafka-reassign-partitions": "`partitions --reassigning`",
    "kafka-share-groups": "`groups`, `members`, `share`",
    "kafka-storage": "`ls /local`, `quorum`",
    "kafka-streams-groups": "`groups`, `members`, `offsets`",
    "kafka-topics": "`topics`, `partitions`",
    "kafka-transactions": "`transactions`, `producers`",
}
_MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("dir", "vdir"), "`ls` lists names"),
    **dict.fromkeys(("q", ":q", ":wq", "\\q", "logout", "bye", "close"), "`exit` leaves"),
    **dict.fromkeys(("select", "with"), '`sql "select ..."` runs SQL'),
    **dict.fromkeys(
        ("\\dt", "\\d", "\\l", ".tables", "tables"),
        '`sql .tables` lists tables, `sql ".schema topics"` the columns of one',
    ),
    **dict.fromkeys(
        ("stray", "strays"),
        "`partitions --replica N` lists what broker N has; any other log on its disks is a stray",
    ),
    **dict.fromkeys(
        ("feature", "features"),
        "`cat /image/features/*`; `can-upgrade VERSION` tells who supports what",
    ),
    **dict.fromkeys(
        ("isr", "isrs", "urp"),
        "`partitions --under-replicated`; `partitions NAME` has the ISR of each",
    ),
    "version": "`metashell --version` is metashell's; `nodes` has those of nodes, and "
    "`cat /image/features/metadataVersion` the cluster's",
    **dict.fromkeys(
        ("status", "state", "info", "cluster"), "`health` tells what is wrong, `quorum` who leads"
    ),
    **dict.fromkeys(
        ("leader", "leaders", "controller", "controllers"),
        "`quorum` has the leading controller, `partitions` the leader of each partition",
    ),
    **dict.fromkeys(
        ("rm", "rmdir", "mv", "cp", "mkdir", "touch", "chmod", "chown", "ln", "dd"),
        "metashell only reads",
    ),
    "du-h": "`du`",
    "echo": "`!echo` runs the system's",
    "offline": "`partitions --offline`",
    "ghosts": "`nodes --ghosts`",
    "voters": "`quorum`",
    "lag": "`offsets --lag` shows the lag of groups, `quorum` that of each node",
    "env": "`metashell man config` tells of settings",
    "connect": "`metashell -q HOST:PORT` connects to a quorum",
}
_VERBS: Final = frozenset({"desc", "display", "get", "info", "inspect", "list", "show", "view"})
"""Words before the thing that they ask for."""
_DESCRIBES: Final = "`describe NAME` shows a topic, broker, group or user; `help` lists commands"
_FILTERS: Final = frozenset(
    {
        "awk", "bat", "column", "cut", "egrep", "fgrep", "fold", "gawk", "head", "jq", "less",
        "md5sum", "more", "most", "nl", "paste", "rev", "rg", "sed", "sha256sum", "sort", "tac",
        "tail", "tee", "tr", "uniq", "wc", "xargs", "yq",
    }
)  # fmt: skip
"""Programs that people put behind a pipe."""


def hint_of_command(name: str, args: Sequence[str] = (), *, runs_programs: bool) -> str | None:
    """The hint for the name of another tool's command; None for a word that nobody knows.

    Args:
        name: The word.
        args: The words behind it.
        runs_programs: Whether ``!`` is there.
    """
    if name in _VERBS and args:
        return _hint_of_thing(args)
    tool = name.removesuffix(".sh").removesuffix(".bat").removesuffix(".exe")
    if tool in _TOOLS:
        return f"use {_TOOLS[tool]}"
    if tool in _MEANT or name in _VERBS:
        return _MEANT.get(tool, _DESCRIBES)
    if name in _FILTERS:
        return f"pipe into it: `ls | {name}`"
    is_plain = name.isascii() and name.isprintable() and "/" not in name
    if runs_programs and is_plain and which(name) is not None:
        return f"`!{name}` runs the program of the system"
    return None


def _hint_of_thing(words: Sequence[str]) -> str:
    """The command that shows the thing that some words name: a page, or a list."""
    thing, *rest = words
    if rest and thing in ("topic", "broker", "group", "user"):
        return f"`describe {quote_words(words)}`"
    command = thing if thing in all_names() else near(thing, all_names())
    meant = hint_of_command(thing, rest, runs_programs=False) if command is None else None
    return f"`{quote_words([command, *rest])}`" if command else meant or _DESCRIBES


def hint_of_option(flag: str, command: str | None) -> str | None:
    """The hint for an option that a command, or the program, does not have.

    Args:
        flag: The option, without a value.
        command: The command's name; None for metashell itself.
    """
    if flag in OPTIONS:
        return OPTIONS[flag]
    if command is not None and flag in OF_PROGRAM:
        return f"put `{flag}` before the command: `metashell {flag} ... {command}`"
    if not flag.startswith("--"):
        return None
    takers = [name for name in all_names() if name != command and _takes(name, flag)]
    if not takers:
        return None
    names = " and ".join(f"`{name} {flag}`" for name in takers[:2])
    if command is not None:
        return f"did you mean {names}?"
    return f"put it after its command: {names}"


def _takes(name: str, flag: str) -> bool:
    found = get(name)
    return found is not None and any(flag in option.flags for option in found.manual.options)
