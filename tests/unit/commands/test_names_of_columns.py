"""Columns have one name and the same values in a command's rows, in SQL and in Python's tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

import metashell
from metashell.sources.source import Source
from support.fixtures import DEMO
from support.logs import record
from support.shell import run_on
from support.small_cluster import cluster


@pytest.fixture(scope="module")
def demo() -> Source:
    """The bundled cluster."""
    return metashell.open(DEMO)


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """The rows that a line prints as JSON."""
    found: list[dict[str, Any]] = json.loads(run_on(source, f"{line} -o json").out)
    return found


ACL = {"id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation"}
TOKEN = {"token_id", "owner", "requester", "renewers", "issue_time", "expiry_time", "max_time"}


@pytest.mark.parametrize(
    ("command", "table", "names"),
    [
        ("acls", "acls", ACL | {"permission"}),
        ("tokens", "delegation_tokens", TOKEN),
        ("config", "configs", {"resource_type", "resource_name", "key", "value"}),
    ],
)
def test_a_table_has_what_its_command_has(
    command: str, table: str, names: set[str], demo: Source
) -> None:
    """The names are all that both have, but for the records that made and changed a row."""
    of_command, of_sql = rows(demo, command), rows(demo, f'sql "select * from {table}"')
    made = {f"{what}_{of}" for what in ("created", "changed") for of in ("offset", "time", "epoch")}
    assert names == (of_command[0].keys() & of_sql[0].keys()) - made
    assert made & of_command[0].keys() <= of_sql[0].keys()
    assert names <= {*demo.table(table).column_names}

    def chosen(found: list[dict[str, Any]]) -> list[str]:
        return sorted(json.dumps([row[name] for name in sorted(names)]) for row in found)

    assert chosen(of_command) == chosen(of_sql)


def test_users(demo: Source) -> None:
    """A row of the table is a credential."""
    credentials = rows(demo, "sql 'select user, mechanism from scram_credentials'")
    assert {(one["user"], one["mechanism"]) for one in credentials} == {
        (one["user"], mechanism) for one in rows(demo, "users") for mechanism in one["mechanisms"]
    }


def test_codes_and_times_that_nobody_knows() -> None:
    """A code shows its number, and a time that no calendar has is null."""
    acl = record("AccessControlEntryRecord", id=bytes(15) + b"1", operation=99, principal="User:a")
    token = record(
        "DelegationTokenRecord",
        token_id="t",
        owner="User:a",
        requester="User:a",
        max_timestamp=2**62,
        expiration_timestamp=1,
    )
    with cluster(acl, token) as source:
        for line in ("acls", "sql 'select * from acls'"):
            assert ["UNKNOWN(99)"] == [row["operation"] for row in rows(source, line)]
        for line in ("tokens", "sql 'select * from delegation_tokens'"):
            (row,) = rows(source, line)
            assert (None, "1970-01-01T00:00:00.001Z") == (row["max_time"], row["expiry_time"])
        assert None is source.table("delegation_tokens").to_pylist()[0]["max_time"]


@pytest.mark.parametrize(
    ("command", "table"), [("users", "scram_credentials"), ("config", "configs")]
)
def test_a_command_is_no_table(command: str, table: str, demo: Source) -> None:
    """It is told which table is meant."""
    ran = run_on(demo, f"sql 'select * from {command}'")
    assert f"  hint: did you mean {table}?" == ran.err[-1]
