"""Resources and principals as words: their type in any case, or a bare name, in every command."""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.sources.source import Source
from support.fixtures import DEMO, SAMPLE, fixture_dir
from support.logs import record
from support.shell import Captured, run_on
from support.small_cluster import broker, cluster, config

OF_ORDERS = "/image/topics/byName/orders", "/image/configs/TOPIC:orders"


@pytest.fixture(scope="module")
def sample() -> Source:
    """The bundled directory."""
    return metashell.open(DEMO)


@pytest.mark.parametrize("word", ["TOPIC:orders", "topic:orders", "Topic:orders", "orders"])
@pytest.mark.parametrize(
    "line",
    [
        "config {}",
        "config --resource {}",
        "changes {}",
        "diff 300 end {}",
        "acls --resource {}",
        "acls {}",
        "who-can READ {}",
    ],
)
def test_ways_to_name_a_topic(line: str, word: str, sample: Source) -> None:
    """They mean the same in each command."""
    ran, expected = (run_on(sample, line.format(one)) for one in (word, "topic:orders"))
    assert ran.status in (0, 1)
    assert "order" in ran.out
    assert expected.out == ran.out
    assert expected.err == ran.err


def test_a_topic_is_its_node_and_its_configs(sample: Source) -> None:
    """Changes of both stand in the order of the log; a path means itself alone."""
    ran = run_on(sample, "changes -o csv --columns offset,path orders")
    offsets, paths = zip(*(line.split(",") for line in ran.out.split()[1:]), strict=True)
    assert sorted(map(int, offsets)) == list(map(int, offsets))
    for own in OF_ORDERS:
        alone = run_on(sample, f"changes -o csv --columns offset,path {own}").out.split()[1:]
        assert len(alone) == sum(path.startswith(own) for path in paths) > 0
    ran = run_on(sample, "diff 300 end orders -o csv --columns path")
    assert {path.rsplit("/", 1)[0] for path in ran.out.split()[1:]} == set(OF_ORDERS)


def test_a_topic_that_is_gone() -> None:
    """Its name still means it in the log."""
    ids = (1).to_bytes(16, "big")
    made = record("TopicRecord", name="t", topic_id=ids), record("RemoveTopicRecord", topic_id=ids)
    with cluster(broker(1), made[0], config(2, "t", "retention.ms", "1"), made[1]) as source:
        for word in ("t", "TOPIC:t"):
            ran = run_on(source, f"changes -o csv --columns path {word}")
            assert 0 == ran.status
            assert {*ran.out.split()[1:]} == {
                "/image/topics/byName/t",
                "/image/configs/TOPIC:t/retention.ms",
            }
        ran = run_on(source, "changes nosuch")
        assert 1 == ran.status
        assert "changes: nosuch: No such file or directory, now or in the log" == ran.err[0]


def test_a_path_comes_first(sample: Source) -> None:
    """A name of the current directory means that node, though a topic has it too."""
    ran = run_on(sample, "changes --count TOPIC:orders", "/image/configs")
    assert "3\n" == ran.out


def test_other_resources(sample: Source) -> None:
    """Brokers and groups have names too, and so have the defaults of all brokers."""
    assert "/image/cluster/brokers/104" in run_on(sample, "changes --newest 1 BROKER:104").out
    assert "/image/configs/GROUP:order-service/" in run_on(sample, "changes order-service").out
    assert "/image/configs/BROKER/log.retention.ms" in run_on(sample, "changes broker:default").out
    groups = metashell.open(fixture_dir("node-44/broker102/d1"))
    odd = metashell.open(SAMPLE)
    assert "/image/configs/GROUP:streams%2Fgrp" in run_on(odd, "changes 'group:streams/grp ü'").out
    assert "/groups/c-offdel/" in run_on(groups, "changes group:c-offdel").out


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("config topic:pay*", {"payments", "payments-dlq"}),
        ("config group:*", {"order-service"}),
        ("config CLIENT_METRICS:*", {"producers"}),
        ("config broker:*", {"", "101"}),
        ("config retention.ms topic:ord* --all", {"orders", "order-events"}),
        ("config --resource topic:nosuch*", set()),
    ],
)
def test_configs_of_resources_that_a_pattern_names(
    line: str, names: set[str], sample: Source
) -> None:
    """A row for each config that is set on them."""
    ran = run_on(sample, f"{line} -o tsv --columns resource_name,key")
    assert 0 == ran.status
    assert names == {row.partition("\t")[0] for row in ran.out.splitlines()[1:]}


def test_resources_are_proposed(sample: Source) -> None:
    """Names of every type, behind the type as it was typed."""
    context = Context(sample.root, Captured(), print, source=sample)
    proposed = {
        word: [one.text for one in complete_line(context, f"config {word}")]
        for word in ("TOPIC:pay", "group:", "client-metrics:", "broker:d")
    }
    assert {
        "TOPIC:pay": ["TOPIC:payments", "TOPIC:payments-dlq"],
        "group:": ["group:order-service"],
        "client-metrics:": ["client-metrics:producers"],
        "broker:d": ["broker:default"],
    } == proposed


def test_a_bare_principal_is_a_user(sample: Source) -> None:
    """``billing`` is User:billing."""
    for line in ("acls --principal {} --type ALLOW", "who-can READ payments --principal {}"):
        ran, full = (run_on(sample, line.format(one)) for one in ("billing", "User:billing"))
        assert "User:billing" in ran.out
        assert (full.status, full.out, full.err) == (ran.status, ran.out, ran.err)


def test_first_and_last_changes(sample: Source) -> None:
    """-n counts from the first, --newest from the last, with the values before either."""
    line = "changes -o csv --columns offset,path,fields {} /image/cluster /image/acls"
    every = run_on(sample, line.format("")).out.splitlines()[1:]
    of = {path: [row for row in every if f",/image/{path}/" in row] for path in ("cluster", "acls")}
    assert every[:3] == run_on(sample, line.format("-n 3")).out.splitlines()[1:]
    expected = [*of["cluster"][-2:], *of["acls"][-2:]]
    assert expected == run_on(sample, line.format("--newest 2")).out.splitlines()[1:]
    ran = run_on(sample, "changes -n 1 /image/cluster /image/acls")
    assert 1 == len(ran.out.splitlines()) == len(ran.err)


def test_changes_need_no_path(sample: Source) -> None:
    """Without one they are those of the current directory."""
    line = "changes --since -10m --count"
    whole, below = (run_on(sample, f"{line} {path}") for path in ("/", "/image/cluster"))
    assert whole.out == run_on(sample, line).out != below.out
    assert below.out == run_on(sample, line, "/image/cluster").out


def test_lag_is_sorted_by_only_where_it_is_known() -> None:
    """Else all rows would be equal."""
    source = metashell.open(fixture_dir("node-44/broker102/d1"))
    ran = run_on(source, "offsets --sort group,-lag")
    assert (2, "") == (ran.status, ran.out)
    assert ("offsets: --sort -lag needs --lag", "  hint: `offsets --lag --sort -lag`") == ran.err
    assert 0 == run_on(source, "offsets --lag --sort -lag").status


def test_the_last_records_by_either_name(tmp_path: Path, sample: Source) -> None:
    """``log --newest`` is ``log --tail``."""
    assert run_on(sample, "log --tail 2").out == run_on(sample, "log --newest 2").out
