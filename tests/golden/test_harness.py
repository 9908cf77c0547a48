"""The golden tests' own logic, checked against the golden files alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from golden.differences import (
    DIFFERENCES,
    QUOTAS,
    SCRAM_MECHANISMS,
    expected_tree,
    fold_quotas,
    fold_scram,
    fold_topic_configs,
    java_double,
    provenance,
)
from support.fixtures import fixture, golden, tree_fixture_names
from support.golden_tree import find_output, kafka_tree, tree_output

pytestmark = pytest.mark.meta

EXCEPTION = "!!EXCEPTION"
DOCUMENT = Path(__file__).parents[2] / "docs" / "design" / "differences.md"


def image_part(output: str, command: str) -> str:
    """Cut Kafka's ``/local`` off the end of an output for ``/``."""
    begin, end = {"find": ("/\n", "/local\n"), "tree": ("", "local:\n")}[command]
    body, found, _ = output.rpartition(end)
    assert found
    return body.removeprefix(begin)


@pytest.mark.parametrize("name", tree_fixture_names())
def test_tree_of_nodes_prints_as_kafka_did(name: str) -> None:
    """What we print of Kafka's nodes is what Kafka printed, up to where it threw."""
    outputs = golden(name)
    tree = kafka_tree(outputs)

    find, _, thrown = outputs.find.partition(EXCEPTION)
    if thrown:
        assert ("/\n" + find_output(tree, ("image",))).startswith(find)
    else:
        assert image_part(find, "find") == find_output(tree, ("image",))
    printed, _, thrown = outputs.tree.partition(EXCEPTION)
    if thrown:
        assert tree_output(tree, ()).startswith(printed)
    else:
        assert image_part(printed, "tree") == tree_output(tree, ())


@pytest.mark.parametrize("name", tree_fixture_names())
def test_expected_tree_is_whole(name: str) -> None:
    """Every listed child of the expected tree has a node, once, in order; nothing else has one."""
    tree = expected_tree(fixture(name))

    listed = list(tree.walk(()))
    assert len(listed) == len(set(listed))
    assert set(listed) == tree.children.keys() | tree.texts.keys()
    assert [] == [path for path, names in tree.children.items() if names != sorted(names)]


@pytest.mark.parametrize("name", tree_fixture_names())
def test_quotas_of_the_dump_are_those_of_the_tree(name: str) -> None:
    """The replay behind the default entities gives Kafka's own tree for all the others."""
    if name.startswith("quirks/quota-entity-"):
        pytest.skip("Kafka shows no quotas here")
    tree = kafka_tree(golden(name))
    kafka = {path[2:]: text for path, text in tree.texts.items() if path[:2] == QUOTAS}
    ours = {
        (entity, key): str(value)
        for entity, values in fold_quotas(fixture(name)).items()
        for key, value in values.items()
        if "<default>" not in entity
    }

    assert kafka.keys() == ours.keys()
    assert {k: str(float(text)) for k, text in kafka.items()} == ours


def test_replay_of_the_dump_gives_kafkas_configs_and_credentials() -> None:
    """The replays behind two differences give Kafka's own tree for every real directory."""
    for name in tree_fixture_names():
        if not name.startswith("real-"):
            continue
        texts = kafka_tree(golden(name)).texts
        configs = {p[2:]: text for p, text in texts.items() if p[1] == "configs"}
        scram = {p[2:]: text for p, text in texts.items() if p[1] == "scram"}

        assert {p: t for p, t in configs.items() if p[0].startswith("TOPIC:")} == {
            (f"TOPIC:{topic}", key): value
            for topic, keys in fold_topic_configs(fixture(name)).items()
            for key, value in keys.items()
        }
        assert scram == {
            (SCRAM_MECHANISMS[mechanism], user): text
            for (mechanism, user), text in fold_scram(fixture(name)).items()
        }


@pytest.mark.parametrize("name", [n for n, d in DIFFERENCES.items() if d.change is not None])
def test_every_difference_shows_somewhere(name: str) -> None:
    """A difference that changes no fixture's tree would be dead."""
    change = DIFFERENCES[name].change
    assert change is not None
    changed: list[str] = []
    for fixture_name in tree_fixture_names():
        tree = kafka_tree(golden(fixture_name))
        change(tree, fixture(fixture_name))
        if tree != kafka_tree(golden(fixture_name)):
            changed.append(fixture_name)

    assert changed


def test_differences_change_few_real_trees() -> None:
    """In directories of real nodes ours differs in quotas and the metadata.version alone."""
    for name in tree_fixture_names():
        if not name.startswith("real-"):
            continue
        kafka, ours = kafka_tree(golden(name)), expected_tree(fixture(name))
        paths = kafka.texts.keys() | ours.texts.keys()
        differing = {path[1:3] for path in paths if kafka.texts.get(path) != ours.texts.get(path)}

        assert {("features", "metadataVersion")} == {
            path for path in differing if path[0] != "clientQuotas"
        }


def test_document_lists_the_same_differences() -> None:
    """docs/design/differences.md names each, in this order, before those of Spark."""
    of_kafka, *_ = DOCUMENT.read_text(encoding="utf-8").partition("\n## Spark and this process\n")
    names = re.findall(r"^\| `([a-z0-9-]+)` \|", of_kafka, re.MULTILINE)

    assert list(DIFFERENCES) == names


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0"), (1e7, "1.0E7"), (1e-7, "1.0E-7"), (0.001, "0.001"), (-2.5e-5, "-2.5E-5")],
)
def test_java_double(value: float, text: str) -> None:
    """Plain from 0.001 up to 10,000,000, an exponent otherwise."""
    assert text == java_double(value)


def test_provenance_text() -> None:
    """The fraction of a second has no trailing zeros, and none stands for none."""
    assert "offset 0, epoch 1, time 2026-09-21T14:14:09.36Z[UTC]" == provenance(0, 1, 1790000049360)
    assert "offset 1, epoch 2, time 1970-01-01T00:00:01Z[UTC]" == provenance(1, 2, 1000)
