"""What a part does by a hook is what the declaration alone would do, on stories small enough.

A hook is there for rules that no declaration has, or for speed; beyond these rules it must agree.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.checks.digest import part_digests
from metashell.fs.differences import Scope, find_differences
from metashell.fs.node import Directory, Leaf
from metashell.fs.path import resolve
from metashell.image.image import Image
from metashell.image.keyed import PartRows, fold_keyed
from metashell.parts.known import all_parts, find_part
from metashell.redact import Redaction
from metashell.schema.rows import to_rows
from metashell.sources.source import Source
from support.logs import make_directory
from support.seeds import seeds
from support.stories import Teller

SHOWN = Redaction(show_secrets=True)


@pytest.fixture(params=seeds(20))
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    """A story, opened."""
    values = Teller(request.param).tell(100)
    data = b"".join(
        encode_batch(values[i : i + 10], base_offset=i) for i in range(0, len(values), 10)
    )
    return metashell.open(make_directory(tmp_path, (0, data)), show_secrets=True)


def test_topics_are_put_and_removed(source: Source) -> None:
    """The fold of topics, which also knows their lives, has those of the plain fold."""
    topics = source.image.topics
    plain = fold_keyed(source.image.records, find_part("topics"))
    expected = zip(
        [raw.tobytes() for raw in plain.columns.fixed("topic_id")],
        plain.columns.span("name").texts(),
        plain.created.tolist(),
        plain.changed.tolist(),
        strict=True,
    )
    found = zip(
        [raw.tobytes() for raw in topics.ids],
        topics.names,
        topics.created.tolist(),
        topics.changed.tolist(),
        strict=True,
    )
    assert sorted(expected) == sorted(found)


def test_brokers_are_registered_and_unregistered(source: Source) -> None:
    """The fold of brokers, which also knows what fences them, has those of the plain fold."""
    brokers = source.image.brokers
    plain = fold_keyed(source.image.records, find_part("brokers"))
    order = plain.columns.fixed("broker_id").argsort()
    assert plain.columns.fixed("broker_id")[order].tolist() == brokers.ids.tolist()
    assert plain.created[order].tolist() == brokers.created.tolist()
    assert to_rows(plain.columns.take(order)) == to_rows(brokers.registration)


def test_configs_are_set_and_deleted(source: Source) -> None:
    """The fold of configs leaves out what went with a topic, and nothing else."""
    image, spec = source.image, find_part("configs")
    plain = fold_keyed(image.records, spec)
    removed = set(image.topics.removed.names.texts())
    found = PartRows(image, spec).facts(SHOWN)
    own = Image(image.records)
    own._folded["configs"] = plain
    for key, facts in PartRows(own, spec).facts(SHOWN).items():
        if key[1] not in removed or key[0] != 2:
            assert facts == found.pop(key)  # type: ignore[attr-defined]
    assert all(key[1] in removed for key in found)


def test_tables_and_trees_have_the_same_things(source: Source) -> None:
    """As many rows as leaves; of partitions with the same fields."""
    for part in all_parts():
        if not part.path or not part.levels or part.name == "features":
            continue
        names = [n for n in PartRows(source.image, part).names() if n is not None]
        place = resolve(source.root, "/image/" + "/".join(part.path))
        assert sorted(set(names)) == sorted(_leaves(place.node))
    rows = source.table("partitions").to_pylist()
    for row in rows:
        value = source.value(f"/image/topics/byId/{row['topic_id']}/{row['partition']}")
        for name in ("replicas", "isr", "elr", "directories", "leader"):
            assert row[name] == value[name]


def _leaves(node: Directory | Leaf) -> list[tuple[str, ...]]:
    if not isinstance(node, Directory):
        return [()]
    children = ((name, node.child(name)) for name in node.names())
    return [(name, *below) for name, child in children if child for below in _leaves(child)]


def test_digests_differ_where_differences_are(source: Source) -> None:
    """Digests of columns and differences of columns are of the same parts."""
    earlier = source.at(59).image
    digests = [part_digests(image, SHOWN) for image in (earlier, source.image)]
    changed = {name for name in digests[0] if digests[0][name] != digests[1][name]}
    scope = Scope([("image",)])
    found = find_differences(earlier, source.image, scope, whole_topics=True)
    named = {difference.part for difference in found}
    # A name that two topics have shows one of them.
    assert named - {"topics", "partitions"} == changed - {"topics", "partitions"}
    assert named <= changed | {"topics", "partitions"}
