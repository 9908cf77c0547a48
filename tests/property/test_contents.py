"""Tests of contents and bulk texts: what columns say is what the leaves themselves say."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.export.tree import json_pieces
from metashell.fs.node import Directory, Leaf, Node
from metashell.fs.path import resolve
from metashell.fs.texts import GridTexts, Judge
from metashell.fs.walk import GridVisit, walk
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import DATA, differing_directories, fixture
from support.fleets import backups
from support.logs import make_directory, record
from support.seeds import seeds
from support.shell import run, run_on
from support.stories import Teller

DIRECTORIES = differing_directories()
BROKERS = (-1, 0, 1, 2, 3, 101, 102, 103)
CONFIGS = ("x", "y=3", "x=[1-5]", "retention.*", "min.insync.replicas", "*=*", "*.jaas*=*redacted*",
           "cleanup.policy=compact", "*password*=x*", "=*")  # fmt: skip
TESTS = (
    *("-offline", "-under-replicated", "-under-min-isr", "-at-min-isr", "-no-preferred-leader"),
    *("-reassigning", "-elr", "-recovering", "-fenced", "-controlled-shutdown"),
    *(f"{test} {broker}" for test in ("-leader", "-replica", "-isr") for broker in BROKERS),
    *(f"-config '{config}'" for config in CONFIGS),
)
EACH_WORD = tuple({test.split()[0]: test for test in TESTS}.values())
"""A test of each kind."""
SEEDS = seeds(5)


class Plain(Directory):
    """A directory that answers for itself alone, as if it knew of no grid."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def names(self) -> Sequence[str]:
        return self._directory.names()

    def child(self, name: str) -> Node | None:
        child = self._directory.child(name)
        return Plain(child) if isinstance(child, Directory) else child

    @property
    def has_other_paths(self) -> bool:
        return self._directory.has_other_paths

    def judged(self, judge: Judge) -> int:
        return self._directory.judged(judge)


@cache
def opened(name: str) -> Source:
    """A fixture's source, made once."""
    return metashell.open(fixture(name).input)


def told(seed: int, parent: Path) -> Source:
    """A random story about few topics and brokers, some settings in it."""
    rng = Random(seed)
    records = Teller(seed, transactions=False).tell(120)
    for _ in range(4):
        kind, name = rng.choice([(2, "a"), (2, "b"), (4, ""), (4, "1")])
        value = rng.choice(["1", "2", "3", "nonsense"])
        records.insert(
            rng.randrange(len(records)),
            record("ConfigRecord", resource_type=kind, resource_name=name,
                   name="min.insync.replicas", value=value),
        )  # fmt: skip
    directory = make_directory(parent, (0, encode_batch(records, base_offset=0)))
    return metashell.open(directory)


Path_ = tuple[str, ...]


def below(node: Node, path: Path_ = ()) -> Iterator[tuple[Path_, Node]]:
    """A node and all below it, in order."""
    yield path, node
    if isinstance(node, Directory):
        for name in node.names():
            child = node.child(name)
            assert child is not None
            yield from below(child, (*path, name))


class Oracle:
    """Evaluates the tests over what leaves say of themselves."""

    def __init__(self, root: Directory) -> None:
        self.nodes = list(below(root))
        self.values: dict[Path_, Any] = {}
        self.configs: dict[str, dict[str, str]] = {}
        for path, node in self.nodes:
            if path[:2] == ("image", "configs") and isinstance(node, Leaf):
                self.configs.setdefault(path[2], {})[path[3]] = node.text()
        self.names = {
            path[3]: node.text()
            for path, node in self.nodes
            if path[:3] == ("image", "topics", "byId") and path[4:] == ("name",)
            and isinstance(node, Leaf)
        }  # fmt: skip

    def paths(self, test: str) -> list[str]:
        """The paths that pass, in order."""
        word, _, argument = test.replace("'", "").partition(" ")
        passes = getattr(self, word.lstrip("-").replace("-", "_"), None) or self.partition
        return [
            "/" + "/".join(p)
            for p, node in self.nodes
            if not self.is_known_by_name(p) and passes(p, node, word, argument)
        ]

    def is_known_by_name(self, path: Path_) -> bool:
        """Whether it lies below the id of a topic, where each topic has a name of its own."""
        is_by_id = path[:3] == ("image", "topics", "byId") and len(path) > 3
        return is_by_id and len({*self.names.values()}) == len(self.names)

    def partition(self, path: Path_, node: Node, word: str, argument: str) -> bool:
        """A test of a partition's leaf."""
        is_one = (
            len(path) == 5 and path[:2] == ("image", "topics") and path[4] not in ("id", "name")
        )
        if not is_one:
            return False
        assert isinstance(node, Leaf)
        if path not in self.values:
            self.values[path] = node.value()
        value = self.values[path]
        n_isr, replicas = len(value["isr"]), value["replicas"]
        leads = value["leader"]
        first = replicas[0] if replicas else -1
        topic = path[3] if path[2] == "byName" else self.names[path[3]]
        least = self.min_isr(topic, leads)
        return {
            "-offline": lambda: leads == -1,
            "-under-replicated": lambda: n_isr < len(replicas) - len(value["addingReplicas"]),
            "-under-min-isr": lambda: leads == -1 or n_isr < least,
            "-at-min-isr": lambda: n_isr == least,
            "-no-preferred-leader": lambda: leads != first,
            "-reassigning": lambda: bool(value["addingReplicas"] or value["removingReplicas"]),
            "-elr": lambda: bool(value["elr"]),
            "-recovering": lambda: value["leaderRecoveryState"] == "RECOVERING",
            "-leader": lambda: str(leads) == argument,
            "-replica": lambda: int(argument) in replicas,
            "-isr": lambda: int(argument) in value["isr"],
        }[word]()

    def min_isr(self, topic: str, leader: int) -> int:
        """The topic's own, the leader's, the cluster's, or Kafka's."""
        for resource in (f"TOPIC:{topic}", f"BROKER:{leader}", "BROKER"):
            text = self.configs.get(resource, {}).get("min.insync.replicas", "")
            if text.isdigit():
                return int(text)
        return 1

    def fenced(self, path: Path_, node: Node, word: str, argument: str) -> bool:
        """A test of a broker's leaf."""
        if path[:3] != ("image", "cluster", "brokers") or len(path) != 4:
            return False
        assert isinstance(node, Leaf)
        value = node.value()
        assert isinstance(value, Mapping)
        return bool(value["fenced" if word == "-fenced" else "inControlledShutdown"])

    controlled_shutdown = fenced

    def config(self, path: Path_, node: Node, word: str, argument: str) -> bool:
        """A value that is set, and what it is set for."""
        if path[:2] == ("image", "configs") and len(path) == 4:
            assert isinstance(node, Leaf)
            return self.fits({path[3]: node.text()}, argument)
        resource = ""
        if path[:2] == ("image", "configs") and len(path) == 3:
            resource = path[2]
        elif path[:2] == ("image", "topics") and len(path) == 4:
            resource = f"TOPIC:{path[3] if path[2] == 'byName' else self.names[path[3]]}"
        elif path[:3] == ("image", "cluster", "brokers") and len(path) == 4:
            resource = f"BROKER:{path[3]}"
        return self.fits(self.configs.get(resource, {}), argument)

    @staticmethod
    def fits(values: Mapping[str, str], argument: str) -> bool:
        """Whether a value fits ``KEY=VALUE``."""
        key, equals, value = argument.partition("=")
        return any(
            fnmatchcase(k, key) and (not equals or fnmatchcase(v, value)) for k, v in values.items()
        )


def check(source: Source, tests: Sequence[str], walked: Container[str] | None = None) -> None:
    """Each test chooses the same in the tree, by hand, and, all or some, in one without grids."""
    oracle = Oracle(source.root)
    for test in tests:
        expected = "".join(f"{path}\n" for path in oracle.paths(test))
        assert expected == run_on(source, f"find / {test}").out, test
        if walked is None or test in walked:
            assert expected == run(Plain(source.root), f"find / {test}", source=source).out, test
        count = f"{expected.count(chr(10))}\n"
        assert count == run_on(source, f"find / {test} -count").out, test


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_tests_of_fixtures(name: str) -> None:
    """All tests on all directories; a walk over each leaf takes long, and stories have all."""
    check(opened(name), TESTS, walked=EACH_WORD)


@pytest.mark.parametrize("seed", SEEDS)
def test_tests_of_stories(seed: int, tmp_path: Path) -> None:
    """All tests on clusters in which anything happens."""
    check(told(seed, tmp_path), TESTS)


@pytest.mark.parametrize("seed", seeds(3))
def test_tests_combine(seed: int, tmp_path: Path) -> None:
    """With each other and with all other predicates a grid gives what a walk gives."""
    rng, source = Random(seed), told(seed, tmp_path)
    others = ("-name '[01]'", "-type d", "-type f", "-path '*/a/*'", "-changed-since 40", "-prune",
              "-print", "-print0", "-count", "-printf '%p %P %f %h %d %y %H %o %t\\n'", "-true",
              "-maxdepth 4", "-quit")  # fmt: skip

    def expression(depth: int) -> str:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(TESTS if rng.random() < 0.6 else others)
        joined = rng.choice([" ", " -a ", " -and ", " -o ", " -or "])
        parts = (expression(depth - 1) for _ in range(rng.randint(1, 3)))
        return f"{rng.choice(['', '', '! ', '-not '])}( {joined.join(parts)} )"

    for _ in range(40):
        line = f"find {rng.choice(['/', '/image/topics', '/image/topics/byName/*', '/image'])} "
        line += expression(3)
        grids, walked = run_on(source, line), run(Plain(source.root), line, source=source)
        if "-changed" in line or "%o" in line:
            continue  # of times the tree that remembers answers: it is the source's in both
        assert (grids.status, grids.out) == (walked.status, walked.out), line


def test_tests_at_earlier_states() -> None:
    """A state of before is asked of its own image."""
    source = opened("real-44-live")
    last = source.status().offset
    assert last is not None
    for offset in (last // 2, last - 1):
        check(source.at(offset), TESTS[:12], walked=TESTS[:2])


def test_tests_in_a_fleet(tmp_path: Path) -> None:
    """Each cluster is asked for itself."""
    fleet = open_fleet([str(path) for path in sorted(backups(tmp_path / "b").iterdir())])
    oracles = {name: Oracle(m.source().root) for name, m in sorted(fleet.members.items())}
    for test in TESTS:
        expected = [
            f"/clusters/{name}{path}"
            for name, oracle in oracles.items()
            for path in oracle.paths(test)
        ]
        found = run(fleet.root, f"find / {test}", source=fleet)
        assert expected == found.out.splitlines(), test


@pytest.mark.parametrize("name", ["real-44-admin", "real-44-broker-down"])
@pytest.mark.parametrize(
    ("listing", "test"),
    [("unavailable", "-offline"), ("under-replicated", "-under-replicated")],
)
def test_tests_are_those_of_kafka_topics(name: str, listing: str, test: str) -> None:
    """The partitions that kafka-topics lists of the same cluster."""
    text = (DATA / "admin" / name / f"topics-{listing}-partitions.txt").read_text("utf-8")
    listed = re.findall(r"Topic: (\S+)\tPartition: (\d+)\t", text)
    found = run_on(opened(name), f"find /image/topics/byName {test} -printf '%h/%f\\n'").out
    assert sorted(f"/image/topics/byName/{t}/{p}" for t, p in listed) == sorted(found.splitlines())


def check_holders(texts: GridTexts, expected: list[str], rng: Random) -> None:
    """No leaf that holds a literal is left out, and only partitions that may are left in."""
    for nowhere in (
        "nothing=here",
        "xyzzy isr=[",
        "isr((",
        "[[",
        "no-such_word",
        "A" * 23,
        "isr \u00e9",
    ):
        held = texts.holders(nowhere)
        assert held is not None
        assert not any(expected[i].isascii() for i in held.tolist())
    for text in [*rng.sample(expected, min(len(expected), 40)), "leader=-1", "x leaderEpoch=7, "]:
        start = rng.randrange(len(text))
        words = re.findall(r"[\w-]{2,}", text) or [text]
        literal = rng.choice([text, text[start:], text[start : rng.randint(start, len(text))]])
        literal = rng.choice([literal, rng.choice(words)[rng.randrange(2) :]])
        literal = rng.choice([literal, literal.lower()])
        held = texts.holders(literal)
        if held is None:
            assert not re.search(r"\b(leader|leaderepoch|partitionepoch)=", literal.lower())
            assert re.fullmatch(r"([a-z]*|-?[0-9]*|[(=\[\], )]+)*", literal.lower())
            continue
        holding = [i for i, text in enumerate(expected) if literal.lower() in text.lower()]
        assert set(holding) <= set(held.tolist())
        assert held.tolist() == sorted(set(held.tolist()))
        some = held[:: rng.choice([1, 3])]
        chunk = texts.texts_of(some)
        assert [chunk.text(i) for i in range(len(some))] == [expected[i] for i in some.tolist()]


def check_json(root: Directory) -> None:
    """Values that are given many at a time are those of the leaves."""
    for visit in walk(root, "/"):
        if not isinstance(visit, GridVisit) or (texts := visit.grid.json()) is None:
            continue
        lines = texts.texts(0, int(texts.bounds[-1])).data.decode()
        expected = []
        for name, shape in zip(visit.grid.names, visit.grid.shape_of, strict=True):
            directory = visit.directory.child(name)
            assert isinstance(directory, Directory)
            for leaf_name in visit.grid.shapes[shape]:
                leaf = directory.child(leaf_name)
                assert isinstance(leaf, Leaf)
                expected.append(f"{json.dumps(leaf.value())}\n")
        assert "".join(expected) == lines


def check_texts(root: Directory, rng: Random) -> int:
    """Bulk texts of every grid are those of its leaves; returns how many there were."""
    n = 0
    for visit in walk(root, "/"):
        if not isinstance(visit, GridVisit) or (texts := visit.grid.texts()) is None:
            continue
        expected = []
        bounds = [0]
        for name, shape in zip(visit.grid.names, visit.grid.shape_of, strict=True):
            directory = visit.directory.child(name)
            assert isinstance(directory, Directory)
            for leaf_name in visit.grid.shapes[shape]:
                leaf = directory.child(leaf_name)
                assert isinstance(leaf, Leaf)
                expected.append(leaf.text())
            bounds.append(len(expected))
        assert bounds == texts.bounds.tolist()
        at = 0
        while at < len(expected):
            stop = min(at + rng.choice([1, 2, 7, 1000]), len(expected))
            chunk = texts.texts(at, stop)
            assert expected[at:stop] == [chunk.text(i) for i in range(stop - at)]
            assert chunk.data == "".join(f"{text}\n" for text in expected[at:stop]).encode()
            at = stop
        check_holders(texts, expected, rng)
        n += len(expected)
    return n


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_texts_of_fixtures(name: str) -> None:
    """Of all directories."""
    assert check_texts(opened(name).root, Random(name)) or "topics" not in name
    check_json(opened(name).root)


@pytest.mark.parametrize("seed", SEEDS)
def test_texts_of_stories(seed: int, tmp_path: Path) -> None:
    """With lists of any length, default directories, and what was cleared."""
    check_texts(told(seed, tmp_path).root, Random(seed))


PATTERNS = ("leader=-1", "isr=\\[1", "^Part.*2, 1", "[a-f]{3}", "a|b", "RECOVERING", "x?", "^$",
            "=1.*=2", "Registration", "(?i)REPLICAS=\\[\\]", "\\bid\\b", "9")  # fmt: skip
SWITCHES = ("", "-i", "-v", "-c", "-l", "-n", "-h", "-m 1", "-F", "-iF", "-vc", "-il", "-nh")


@pytest.mark.parametrize("seed", seeds(2))
def test_json_in_bulk_is_json_leaf_by_leaf(seed: int, tmp_path: Path) -> None:
    """A tree as a document, from its root, from a grid, and from above an empty one."""
    source = told(seed, tmp_path)
    for path in ("/", "/image", "/image/topics", "/image/topics/byName", "/image/topics/byId"):
        directory = resolve(source.root, path).node
        assert isinstance(directory, Directory)
        whole = "".join(json_pieces(directory))
        assert whole == "".join(json_pieces(Plain(directory))), path
        assert json.loads(whole) is not None


@pytest.mark.cases(1)
@pytest.mark.parametrize("seed", seeds(2))
def test_grep_in_bulk_is_grep_leaf_by_leaf(seed: int, tmp_path: Path) -> None:
    """Whatever is looked for and printed, and as a search by hand has it."""
    source = told(seed, tmp_path)
    leaves = [
        ("/" + "/".join(path), node.text())
        for path, node in below(source.root)
        if isinstance(node, Leaf)
    ]
    for i, pattern in enumerate(PATTERNS):
        # Every pattern and all switches meet in some; a walk over each leaf takes long.
        for switches in SWITCHES[(i + seed) % 3 :: 3]:
            line = f"grep {switches} -e '{pattern}' /"
            bulk, each = run_on(source, line), run(Plain(source.root), line, source=source)
            assert (bulk.status, bulk.out) == (each.status, each.out), line
        found = run_on(source, f"grep -e '{pattern}' /").out
        by_hand = (
            f"{path}: {text_line}\n"
            for path, text in leaves
            for text_line in text.split("\n")
            if re.search(pattern, text_line)
        )
        assert "".join(by_hand) == found, pattern
