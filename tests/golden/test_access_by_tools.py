"""ACLs, quotas and users are what Kafka's own tools said of the same cluster at the same moment."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

import metashell
from metashell.sources.source import Source
from support.fixtures import DATA, fixture
from support.shell import run_on

FIXTURES = ["real-44-admin", "real-44-broker-down", "shop"]


def said(name: str, page: str) -> str:
    """What a tool printed."""
    return (DATA / "admin" / name / f"{page}.txt").read_text("utf-8")


@cache
def source(name: str) -> Source:
    """A fixture, opened."""
    return metashell.open(fixture(name).input)


def rows(name: str, line: str) -> list[dict[str, Any]]:
    """What a command answers."""
    value: list[dict[str, Any]] = json.loads(run_on(source(name), f"{line} -o json").out)
    return value


@pytest.mark.parametrize("name", FIXTURES)
def test_acls(name: str) -> None:
    """Every ACL that kafka-acls --list shows, and no other."""
    pattern, expected = "", set()
    for line in said(name, "acls").splitlines():
        if line.startswith("Current ACLs"):
            pattern = line
        elif line.strip():
            expected.add(
                (
                    *re.findall(r"resourceType=(\w+), name=(.*), patternType=(\w+)\)", pattern)[0],
                    *re.findall(
                        r"principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)", line
                    )[0],
                )
            )

    names = "resource_type,resource_name,pattern_type,principal,host,operation,permission"
    found = [tuple(row.values()) for row in rows(name, f"acls --columns {names}")]
    assert len(found) == len(set(found))
    assert expected == set(found)
    assert expected


@pytest.mark.parametrize("name", FIXTURES)
def test_quotas(name: str) -> None:
    """Every quota that kafka-configs --describe shows for users, clients and addresses."""
    kinds = {"user-principal": "user", "client-id": "client-id", "ip": "ip"}
    expected = set()
    for page in ("quotas-users", "quotas-clients", "quotas-ips"):
        for line in said(name, page).splitlines():
            if not line.startswith("Quota configs for "):
                continue
            whose, _, values = line.removeprefix("Quota configs for ").rpartition(" are ")
            parts = re.findall(r"the default ([\w-]+)|([\w-]+) '(.*?)'", whose)
            entity = ", ".join(
                f"{kinds[default or kind]}={entity or '<default>'}"
                for default, kind, entity in parts
            )
            for value in values.split(", "):
                key, _, number = value.partition("=")
                expected.add((entity, key, float(number)))

    found = {(row["entity"], row["key"], row["value"]) for row in rows(name, "quotas")}
    assert expected == {one for one in found if one[0].count("=") == 1}
    assert expected


@pytest.mark.parametrize("name", FIXTURES)
def test_users(name: str) -> None:
    """Every user with SCRAM credentials, with mechanisms and iterations."""
    expected = {}
    for line in said(name, "quotas-users").splitlines():
        if match := re.fullmatch(
            r"SCRAM credential configs for user-principal '(.*)' are (.*)", line
        ):
            expected[match[1]] = re.findall(r"(SCRAM-SHA-\d+)=iterations=(\d+)", match[2])

    found = {
        row["user"]: [
            (mechanism, str(n))
            for mechanism, n in zip(row["mechanisms"], row["iterations"], strict=True)
        ]
        for row in rows(name, "users")
    }
    assert expected == found
    assert expected


def test_who_can_on_a_real_cluster() -> None:
    """One is allowed a prefix, denied one name from one host; everyone may describe."""
    name = "real-44-broker-down"

    def results(line: str) -> list[tuple[str, str, str]]:
        return [(r["principal"], r["host"], r["result"]) for r in rows(name, f"who-can {line}")]

    assert [
        ("User:alice", "*", "ALLOWED"),
        ("User:alice", "10.0.0.1", "DENIED"),
        ("User:*", "*", "DENIED"),
    ] == results("READ topic:payments.dlq")
    assert ("User:*", "*", "ALLOWED") in results("DESCRIBE topic:payments.dlq")
    assert [("User:bob", "*", "ALLOWED"), ("User:*", "*", "DENIED")] == results("ALTER cluster")
    assert 1 == Counter(r for _, _, r in results("DESCRIBE cluster"))["ALLOWED"]
