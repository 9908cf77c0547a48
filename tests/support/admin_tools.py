"""Kafka's admin tools as far as a script's words go: what a cluster would be told.

A script runs under a real sh with stubs in place of the tools, which note their words and their
standard input. The words are then read as Kafka's own classes read them: TopicCommand,
ConfigCommand and AclCommand, with jopt-simple before them.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import javaproperties

SERVER: Final = "broker.example:9092"
TOOLS: Final = ("kafka-topics.sh", "kafka-configs.sh", "kafka-acls.sh")
_STUB: Final = """#!/bin/sh
case "$*" in *--add-config-file*) input=$(cat; printf x) ;; *) input=x ;; esac
printf '%s\\0' "${0##*/}" "$#" "$@" "${input%x}" >>"$TOOLS_LOG"
"""
_SWITCHES: Final = {
    *("--create", "--if-not-exists", "--alter", "--add", "--cluster", "--entity-default"),
}
_JAVA_SPACE: Final = "".join(map(chr, range(33)))
_OUTSIDE: Final = r"(?=[^\]]*(?:\[|$))"


@dataclass(frozen=True)
class Call:
    """One run of a tool."""

    tool: str
    words: list[str]
    stdin: str

    def options(self) -> list[tuple[str, str | None]]:
        """Options in their order, as jopt-simple reads them."""
        found: list[tuple[str, str | None]] = []
        words = iter(self.words)
        for word in words:
            assert word.startswith("--"), f"no option: {word!r}"
            flag, equals, value = word.partition("=")
            if flag in _SWITCHES:
                assert not equals
                found.append((flag, None))
            else:
                found.append((flag, value if value else next(words)))
        return found


def run_script(text: str, directory: Path) -> list[Call]:
    """Run a script; what it called, in order."""
    directory.mkdir(exist_ok=True)
    for tool in TOOLS:
        (directory / tool).write_text(_STUB)
        (directory / tool).chmod(0o755)
    log = directory / "calls"
    log.write_bytes(b"")
    (directory / "script").write_bytes(text.encode())
    environment = {
        "PATH": f"{directory}:{os.environ['PATH']}",
        "TOOLS_LOG": str(log),
        "BOOTSTRAP_SERVER": SERVER,
    }
    ran = subprocess.run(
        ["sh", "script"], cwd=directory, env=environment, capture_output=True, check=False
    )
    assert (0, b"", b"") == (ran.returncode, ran.stdout, ran.stderr)
    assert {*TOOLS, "calls", "script"} == set(os.listdir(directory))
    parts = log.read_bytes().decode().split("\0")[:-1]
    calls = []
    while parts:
        tool, n = parts[0], int(parts[1])
        calls.append(Call(tool, parts[2 : 2 + n], parts[2 + n]))
        del parts[: 3 + n]
    return calls


@dataclass
class Cluster:
    """What the tools would have made."""

    topics: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Partitions and replicas of each topic."""
    assignments: dict[str, list[list[int]]] = field(default_factory=dict)
    configs: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """By entity type, name (empty: the default) and key."""
    quotas: dict[tuple[frozenset[tuple[str, str | None]], str], float] = field(default_factory=dict)
    acls: set[tuple[str, str, str, str, str, str, str]] = field(default_factory=set)
    """Resource type, name, pattern, principal, host, operation, permission."""

    def apply(self, calls: Sequence[Call]) -> Cluster:
        """Do what was called."""
        for call in calls:
            options = call.options()
            assert ("--bootstrap-server", SERVER) == options[0]
            if call.tool == "kafka-topics.sh":
                self._topic(options[1:])
            elif call.tool == "kafka-configs.sh":
                self._config(options[1:], call.stdin)
            else:
                self._acl(options[1:])
        return self

    def _topic(self, options: list[tuple[str, str | None]]) -> None:
        values = {flag: value for flag, value in options if flag != "--config"}
        assert {"--create", "--if-not-exists", "--topic"} <= values.keys()
        name = values["--topic"] or ""
        assert name not in self.topics
        if "--replica-assignment" in values:
            assigned = [
                [int(broker) for broker in part.split(":")]
                for part in (values["--replica-assignment"] or "").split(",")
            ]
            assert {len(assigned[0])} == {len(part) for part in assigned}
            self.assignments[name] = assigned
            self.topics[name] = len(assigned), len(assigned[0])
        else:
            self.topics[name] = (
                int(values["--partitions"] or ""),
                int(values["--replication-factor"] or ""),
            )
        for flag, value in options:
            if flag == "--config":
                pair = re.split(r"\s*=\s*", value or "")
                while pair and not pair[-1]:
                    pair.pop()  # As String.split does.
                key, text = (part.strip(_JAVA_SPACE) for part in pair)
                self.configs["topics", name, key] = text

    def _config(self, options: list[tuple[str, str | None]], stdin: str) -> None:
        kinds = [value or "" for flag, value in options if flag == "--entity-type"]
        names = [
            None if flag == "--entity-default" else value
            for flag, value in options
            if flag in ("--entity-name", "--entity-default")
        ]
        assert len(kinds) == len(names)
        values = dict(options)
        if "--add-config-file" in values:
            assert values["--add-config-file"] == "/dev/stdin"
            pairs = javaproperties.loads(stdin)
        else:
            words = re.split("," + _OUTSIDE, values["--add-config"] or "")
            split = [re.split(r"\s*=\s*" + _OUTSIDE, word) for word in words]
            assert all(len(pair) == 2 for pair in split), split
            pairs = {
                key.strip(_JAVA_SPACE): re.sub(r"\[?\]?", "", text).strip(_JAVA_SPACE)
                for key, text in split
            }
        assert pairs
        assert all(re.fullmatch("[a-zA-Z0-9._-]*", key) for key in pairs)
        if kinds[0] in ("users", "clients", "ips"):
            assert "" not in names
            entity = frozenset(zip(kinds, names, strict=True))
            self.quotas |= {(entity, key): float(text) for key, text in pairs.items()}
            return
        (kind,), (name,) = kinds, names
        for key, text in pairs.items():
            self.configs[kind, name or "", key] = text

    def _acl(self, options: list[tuple[str, str | None]]) -> None:
        def all_of(flag: str) -> list[str]:
            return [(value or "").strip(_JAVA_SPACE) for f, value in options if f == flag]

        flags = {
            "--topic": "TOPIC",
            "--group": "GROUP",
            "--transactional-id": "TRANSACTIONAL_ID",
            "--delegation-token": "DELEGATION_TOKEN",
            "--user-principal": "USER",
        }
        resources = [(kind, name) for flag, kind in flags.items() for name in all_of(flag)]
        if ("--cluster", None) in options:
            resources.append(("CLUSTER", "kafka-cluster"))
        ((kind, name),) = resources
        (pattern,) = all_of("--resource-pattern-type") or ["literal"]
        for permission in ("allow", "deny"):
            for principal in all_of(f"--{permission}-principal"):
                assert ":" in principal
                for host in all_of(f"--{permission}-host") or ["*"]:
                    for operation in all_of("--operation"):
                        upper = re.sub("(?<=[a-z])(?=[A-Z])", "_", operation).upper()
                        acl = (kind, name, pattern.upper(), principal, host, upper)
                        assert (*acl, permission.upper()) not in self.acls
                        self.acls.add((*acl, permission.upper()))
