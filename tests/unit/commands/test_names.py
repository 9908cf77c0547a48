"""Names as arguments: what they choose, and what is said of a name of nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

import metashell
from metashell.commands.shared.names import unknown
from metashell.sources.source import Source
from metashell.spelling import did_you_mean, near_names
from support.fixtures import DEMO
from support.shell import run_on


@pytest.fixture(scope="module")
def shop() -> Source:
    """The bundled cluster."""
    return metashell.open(DEMO)


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """Rows of a command that finds all that it is asked for."""
    ran = run_on(source, f"{line} -o json --columns all")
    assert 0 == ran.status, ran.err
    found: list[dict[str, Any]] = json.loads(ran.out)
    return found


def test_a_name_with_blanks_has_near_names() -> None:
    """All of the word counts, and an option in front of it does not."""
    assert "my grop: no such group; did you mean my group?" == (
        unknown("my grop", "group", ["my group", "other"])
    )
    assert "--without eu-1: no such rack; did you mean eu-1a?" == (
        unknown("eu-1", "rack", ["eu-1a", "us-2"], "--without")
    )


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("nodes 101 3", "id", [101, 3]),
        ("nodes 10?", "id", [101, 102, 103, 104, 105]),
        ("brokers 102 101", "broker", [101, 102]),
        ("brokers --by rack eu-1b", "rack", ["eu-1b"]),
        ("users billing", "user", ["billing"]),
        ("users User:billing user:storefront", "user", ["billing", "storefront"]),
        ("users 'order*'", "user", ["order-service"]),
        ("topics 'pay*'", "topic", ["payments", "payments-dlq"]),
        ("topics --replication-factor 1", "topic", ["csv-imports"]),
        ("topics --replication-factor 9", "topic", []),
        ("partitions payments 3 4", "partition", [3, 4]),
        ("partitions payments/3 payments-4", "partition", [3, 4]),
        ("partitions payments 3 payments-dlq", "topic", ["payments", "payments-dlq"]),
        ("partitions payments-dlq", "partition", [0]),
        ("partitions 'pay*' 0", "topic", ["payments", "payments-dlq"]),
    ],
)
def test_names_choose_rows(shop: Source, line: str, column: str, expected: list[Any]) -> None:
    """Each word chooses rows by name; wildcards match; numbers follow their topic."""
    assert expected == [row[column] for row in rows(shop, line)]


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("quotas user:analytics", "quotas --user analytics"),
        ("quotas user=analytics", "quotas --user analytics"),
        ("quotas analytics", "quotas --user analytics"),
        ("quotas clickstream-web", "quotas --client-id clickstream-web"),
        (
            "quotas user:storefront client-id:storefront-1",
            "quotas --user storefront --client-id storefront-1",
        ),
        ("quotas user:bob", "quotas --user bob"),
        ("acls topic:orders", "acls --resource topic:orders"),
        ("acls orders", "acls --resource topic:orders"),
        ("acls group", "acls --resource group"),
        ("acls cluster", "acls --resource cluster"),
        ("acls User:billing", "acls --principal User:billing"),
        ("acls user:billing", "acls --principal User:billing"),
        (
            "acls topic:payments User:billing",
            "acls --resource topic:payments --principal User:billing",
        ),
        ("config topic:orders", "config --resource topic:orders"),
        ("config orders", "config --resource topic:orders"),
        ("config 101", "config --resource broker:101"),
        ("config order-service", "config --resource group:order-service"),
        ("config retention.ms orders", "config retention.ms topic:orders"),
        ("config orders retention.ms", "config retention.ms topic:orders"),
        ("config topic:orders retention.ms", "config retention.ms topic:orders"),
        ("who-can READ orders", "who-can READ topic:orders"),
    ],
)
def test_a_bare_name_stands_for_the_one_thing_that_has_it(
    shop: Source, line: str, same: str
) -> None:
    """It means the same as the name in full, or as the option."""
    expected, ran = run_on(shop, f"{same} -o json"), run_on(shop, f"{line} -o json")
    assert (expected.status, expected.out) == (ran.status, ran.out)
    assert "[]\n" != ran.out


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("nodes 109", 1, "109: no such node; there are 1, 2, 3, 101, 102, 103, 104, 105"),
        ("nodes --ghosts 101", 1, "101: no such node with --ghosts"),
        ("brokers 10", 1, "10: no such broker; there are 101, 102, 103, 104, 105"),
        ("users analytic", 1, "did you mean analytics?"),
        ("topics paymnts", 1, "paymnts: no such topic; did you mean payments or payments-dlq?"),
        ("partitions paymnts/1", 1, "did you mean payments?"),
        (
            "partitions payments 9",
            1,
            "payments/9: no such partition; the last one of payments is 5",
        ),
        ("quotas analytic", 1, "analytic: nothing has this name; did you mean analytics?"),
        ("quotas user:a --user b", 2, "--user b is given too"),
        ("acls ordres", 1, "ordres: nothing has this name; did you mean orders"),
        ("acls topic:ordres", 1, "did you mean topic:orders?"),
        ("acls User:bill", 1, "no ACL names this principal; did you mean User:billing?"),
        ("acls billing", 2, "write group:billing or User:billing"),
        ("acls topic:orders topic:payments", 2, "--resource topic:orders is given too"),
        ("config ordres", 1, "did you mean topic:orders?"),
        ("config topic:ordres", 1, "did you mean topic:orders?"),
        ("config retention.ms ordres", 1, "did you mean orders"),
        ("who-can READ ordres", 1, "write the kind in front of the name, such as topic:ordres"),
    ],
)
def test_a_name_of_nothing(shop: Source, line: str, status: int, said: str) -> None:
    """It is an error with the names near it, never an empty answer that looks like good news."""
    ran = run_on(shop, f"{line} -o csv")
    assert status == ran.status
    assert said in "\n".join(ran.err)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("cleanup", ("no topic has a config cleanup; did you mean cleanup.policy?",)),
        ("cleanup.polcy=compact", ("no topic has a config cleanup.polcy; did you mean",)),
        ("'x.*'", ("no topic has a config x.*",)),
        ("retention.ms=7", ()),
        ("index.interval.bytes", ()),
        ("'index.*'", ()),
    ],
)
def test_a_config_that_nobody_knows(shop: Source, key: str, said: tuple[str, ...]) -> None:
    """A key that no topic has and no Kafka release knows is told, and is no failure."""
    ran = run_on(shop, f"topics --config {key} -o csv")
    assert (0, len(said)) == (ran.status, len(ran.err))
    assert all(line.startswith(f"topics: {told}") for line, told in zip(ran.err, said, strict=True))


def test_configs_that_were_asked_for_come_first(shop: Source) -> None:
    """They do in a table, which may be cut; files have them in the order of their keys."""
    asked = "topics payments --config 'retention.*' --columns configs -o"
    drawn = run_on(shop, f"{asked} table").out.splitlines()[1].split(",")
    in_file = json.loads(run_on(shop, f"{asked} json").out)[0]["configs"]
    assert sorted(in_file) == in_file != drawn
    assert drawn[0].startswith("retention.")
    assert in_file == sorted(drawn)


def test_near_names_of_many() -> None:
    """Of very many names only likely ones are compared; they are still found."""
    names = [f"topic-{i:06}" for i in range(50_000)] + ["payments"]
    assert ["payments"] == near_names("paymnts", names)
    assert "" == did_you_mean([])
    assert "did you mean a?" == did_you_mean(["a"])
    assert "did you mean a, b or c?" == did_you_mean(["a", "b", "c"])


@pytest.mark.parametrize("line", ["topics nosuch", "brokers 10", "nodes 109"])
def test_a_name_of_nothing_draws_no_table(shop: Source, line: str) -> None:
    """Stdout stays empty for people, and keeps its header where a program reads it."""
    assert "" == run_on(shop, line).out
    assert 1 == run_on(shop, f"{line} -o csv").out.count("\n")
