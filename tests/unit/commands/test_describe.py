"""``describe``: a page of the answers of other commands."""

from __future__ import annotations

import pytest

import metashell
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.sources.source import Source
from support.fixtures import DEMO, fixture_dir
from support.shell import Captured, run_on

TOPIC_LINES = (
    "partitions csv-imports",
    "config topic:csv-imports --columns key,value,source,changed_time",
    "acls topic:csv-imports",
)


@pytest.fixture(scope="module")
def demo() -> Source:
    """The bundled cluster."""
    return metashell.open(DEMO)


@pytest.mark.parametrize("words", ["csv-imports", "topic csv-imports", "Topic:csv-imports"])
def test_a_topic(words: str, demo: Source) -> None:
    """When it was made, its partitions, its configs with their source, its ACLs, in one page."""
    ran = run_on(demo, f"describe {words}")
    assert (0, ()) == (ran.status, ran.err)
    head, *sections = ran.out.split("\n\n")
    stat = run_on(demo, "stat /image/topics/byName/csv-imports").out
    health = run_on(demo, "health topic:csv-imports").out.partition("\n\n")[0]
    findings = health.partition("as of")[0]
    assert "cause   broker 104 is fenced since " in findings
    assert f"topic csv-imports\n{findings}{stat.rstrip()}" == head
    assert [f"{run_on(demo, line).out.rstrip()}" for line in TOPIC_LINES] == [
        section.partition("\n")[2].rstrip() for section in sections
    ]
    assert "DYNAMIC_TOPIC_CONFIG" in sections[1]


def test_a_sound_thing_has_no_findings(demo: Source) -> None:
    """Its page begins with what it is."""
    lines = run_on(demo, "describe orders").out.splitlines()
    assert ["topic orders", "path        /image/topics/byName/orders"] == lines[:2]


def test_other_things(demo: Source) -> None:
    """A broker by its id, a user by a bare name, a group with and without a broker's logs."""
    assert "104  fenced" in run_on(demo, "describe 104").out
    ran = run_on(demo, "describe billing")
    assert "ACLs (acls --principal User:billing):\n" in ran.out
    ran = run_on(demo, "describe group:order-service")
    assert 0 == ran.status
    (told,) = ran.err
    assert told.endswith("no members and offsets: a broker's log directories have them")
    assert "consumer.session.timeout.ms" in ran.out
    assert "Groups" not in ran.out
    ran = run_on(metashell.open(fixture_dir("node-44/broker102/d1")), "describe group c-offdel")
    assert (0, ()) == (ran.status, ran.err)
    assert "Members (members c-offdel): none\n" in ran.out
    assert "ACLs (acls group:c-offdel): none\n" in ran.out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("", 2, "describe: NAME is missing"),
        ("foo bar", 2, "describe: foo: no such type"),
        ("topic order", 1, "describe: topic:order: no such topic; did you mean"),
        ("broker 77", 1, "describe: broker:77: no such broker"),
        ("nosuch", 1, "describe: nosuch: nothing has this name"),
        ("group nosuch", 1, "describe: group:nosuch: nothing is known of it"),
    ],
)
def test_what_is_not_there(words: str, status: int, said: str, demo: Source) -> None:
    """It is told, with what is near."""
    ran = run_on(demo, f"describe {words}")
    assert status == ran.status
    assert any(line.startswith(said) for line in ran.err), ran.err


def test_completion(demo: Source) -> None:
    """Types and topics come first, then names of the type."""
    context = Context(demo.root, Captured(), print, source=demo)
    proposed = {
        line: [one.text for one in complete_line(context, f"describe {line}")]
        for line in ("gr", "pay", "group ", "broker 10")
    }
    assert ["group"] == proposed["gr"]
    assert ["payments", "payments-dlq"] == proposed["pay"]
    assert ["order-service"] == proposed["group "]
    assert ["101", "102", "103", "104"] == proposed["broker 10"][:4]
