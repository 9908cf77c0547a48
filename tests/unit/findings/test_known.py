"""The kinds of findings: each that is found is declared, once, in plain words, and has a finder."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import metashell
from metashell.commands import get
from metashell.commands.framework.command import Context
from metashell.commands.health.command import COMMAND
from metashell.errors import SchemaError
from metashell.findings import kinds
from metashell.findings.kind import SEVERITIES, About, FindingKind, Need, Severity
from metashell.findings.known import all_kinds
from metashell.judgement.evidence import finder
from metashell.log.fault import FaultCode, FaultKind
from metashell.node_files.node_directories import ConflictKind
from metashell.sources.source import Source
from support.language import INDIRECT, MOST_WORDS, clauses, sentences, words
from support.logs import make_directory, topic_batch
from support.shell import Captured, Ran, run_on
from support.small_cluster import broker, cluster

SOURCES = Path(metashell.__file__).parent
FINDERS = [path for of in ("checks", "judgement") for path in sorted((SOURCES / of).rglob("*.py"))]
"""The modules that find something."""
CODE = re.compile(r"[a-z]+(-[a-z]+)*")
OF_OTHERS = {
    "code",
    "kind.code",
    "finding.kind.code",
    "code_of(fault)",
    "conflict.kind.value",
    "STATE_OF[code]",
}
"""Expressions whose codes come from elsewhere: a parameter, a kind, and the lists of codes.

The last one gives a state of partitions.
"""
IN_TEXTS = {"count", "subjects", "is", "has", "why"}
"""The values that a headline may have."""


# Codes in the sources.


class Codes(ast.NodeVisitor):
    """The codes that a module gives to findings, as far as they can be read.

    A code is read where a function has a parameter of that name, and where it is put into a local
    variable of that name. Others are names of the module's constants.
    """

    def __init__(self, path: Path) -> None:
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        self.module = importlib.import_module(".".join(parts))
        self.tree = ast.parse(path.read_text("utf-8"))
        self.found: set[str] = set()
        self.patterns: set[str] = set()
        self.unread: list[str] = []
        self._takes = {(False, "Finding"): 0, **dict(self._functions())}
        self.visit(self.tree)

    def _functions(self) -> Iterator[tuple[tuple[bool, str], int]]:
        """The functions with a parameter ``code``, methods apart, and its place in a call."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                names = [argument.arg for argument in node.args.args]
                is_method = names[:1] == ["self"]
                if "code" in names:
                    yield (is_method, node.name), names.index("code") - is_method

    def visit_Call(self, node: ast.Call) -> None:
        """Read the code of a call."""
        function = node.func
        if isinstance(function, ast.Attribute):
            name = (True, function.attr)
        else:
            name = (False, ast.unparse(function))
        if name in self._takes:
            at = self._takes[name]
            named = [k.value for k in node.keywords if k.arg == "code"]
            given = named or node.args[at : at + 1]
            assert len(given) == 1, ast.unparse(node)
            self._read(given[0])
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Read what is put into a variable of that name."""
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "code":
                self._read(node.value)
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for one, value in zip(target.elts, node.value.elts, strict=True):
                    if isinstance(one, ast.Name) and one.id == "code":
                        self._read(value)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        """Read a loop over pairs whose first one is a code."""
        target, over = node.target, node.iter
        is_of_codes = isinstance(target, ast.Tuple) and ast.unparse(target.elts[0]) == "code"
        if is_of_codes and isinstance(over, ast.Tuple):
            for pair in over.elts:
                assert isinstance(pair, ast.Tuple)
                self._read(pair.elts[0])
        self.generic_visit(node)

    def _read(self, node: ast.expr) -> None:
        text = ast.unparse(node)
        if isinstance(node, ast.Constant):
            self.found.add(node.value)
        elif isinstance(node, ast.IfExp):
            self._read(node.body)
            self._read(node.orelse)
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("CODES", "_CODES"):
            self.found |= set(getattr(self.module, ast.unparse(node.value)).values())
        elif isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else None for p in node.values]
            self.patterns.add("".join(".+" if p is None else re.escape(str(p)) for p in parts))
        elif isinstance(node, ast.Name) and isinstance(getattr(self.module, node.id, None), str):
            self.found.add(getattr(self.module, node.id))
        elif text not in OF_OTHERS:
            self.unread.append(f"{self.module.__name__}: {text}")


@pytest.fixture(scope="module")
def codes() -> list[Codes]:
    """The codes in each module that finds something."""
    return [Codes(path) for path in FINDERS]


def test_each_code_in_the_sources_is_declared(codes: list[Codes]) -> None:
    """Those that are written, those of batches, and those of log directories."""
    assert [] == [text for one in codes for text in one.unread]
    found = {code for one in codes for code in one.found}
    assert {"torn-tail", "leaderless", "hanging-transaction", "cluster-id", "unreadable"} <= found
    assert found <= all_kinds().keys()
    assert {code.value for code in FaultCode} <= all_kinds().keys()
    assert {kind.value for kind in ConflictKind} <= all_kinds().keys()
    for pattern in {pattern for one in codes for pattern in one.patterns}:
        assert any(re.fullmatch(pattern, code) for code in all_kinds()), pattern


def test_each_kind_is_found_by_somebody(codes: list[Codes]) -> None:
    """No kind is declared that nothing yields."""
    from metashell.judgement.image_findings import ImageFindings
    from metashell.judgement.placement import FINDERS as OF_PLACEMENT

    with cluster(broker(1)) as source:
        of_images = set(ImageFindings(source.image, source.redaction)._finders())
    of_images |= set(OF_PLACEMENT)
    found = {code for one in codes for code in one.found} | of_images
    found |= {code.value for code in FaultCode} | {kind.value for kind in ConflictKind}
    patterns = {pattern for one in codes for pattern in one.patterns}
    assert [] == [
        code
        for code in all_kinds()
        if code not in found and not any(re.fullmatch(p, code) for p in patterns)
    ]


def test_each_fault_has_a_kind() -> None:
    """Of a log, as `health` tells it."""
    from metashell.judgement.log_findings import CODES

    assert set(FaultKind) == CODES.keys()
    assert set(CODES.values()) <= all_kinds().keys()


# Declarations.


def test_kinds_are_in_order() -> None:
    """The worst first, each under its code in kebab case."""
    levels = [SEVERITIES.index(kind.severity) for kind in all_kinds().values()]
    assert levels == sorted(levels)
    assert levels[0] < levels[-1]
    for code, kind in all_kinds().items():
        assert code == kind.code
        assert CODE.fullmatch(code), code


def test_each_finder_can_be_called() -> None:
    """A declaration names it; nothing is imported until it is asked for."""
    for kind in all_kinds().values():
        assert kind.finder.startswith("metashell.judgement."), kind.code
        assert callable(finder(kind.finder)), kind.code


def test_a_part_is_part_of_another_kind() -> None:
    """`health` counts it there, and it is no part itself."""
    parts = [kind for kind in all_kinds().values() if kind.part_of is not None]
    assert parts
    for kind in parts:
        assert kind.part_of in all_kinds(), kind.code
        assert kind.part_of != kind.code
        assert kind.needs is Need.FILES, kind.code
        whole = all_kinds()[str(kind.part_of)]
        assert whole.part_of is None, kind.code


def told(kind: FindingKind) -> list[str]:
    """The sentences of a kind, and its advice as it is printed."""
    texts = [kind.meaning, kind.do, kind.avoid, kind.headline, kind.action, kind.cause, kind.effect]
    return [text for text in texts if text is not None]


def faults_of(text: str) -> Iterator[str]:
    """The rules of sentences that a text breaks."""
    if text != text.strip() or text.endswith((".", ";", ":", ",")) or not text:
        yield f"end: {text}"
    yield from (f"long: {one}" for one in sentences(text) if words(one) > MOST_WORDS)
    yield from (f"indirect: {one}" for one in clauses(text) if INDIRECT.match(one))


def test_sentences_are_plain() -> None:
    """Each is short, has no full stop at its end, and names its thing first."""
    every = {text for kind in all_kinds().values() for text in told(kind)}
    assert [] == sorted({fault for text in every for fault in faults_of(text)})


def test_templates_have_known_values() -> None:
    """A headline, a cause, an effect and a command put in what there is."""

    def values(text: str | None) -> set[str]:
        return {name for _, name, _, _ in Formatter().parse(text or "") if name is not None}

    for code, kind in all_kinds().items():
        assert values(kind.headline) <= IN_TEXTS, code
        assert values(kind.cause) == (set() if kind.cause is None else {""}), code
        assert values(kind.effect) == set(), code
        assert values(kind.see) <= {"subject"}, code
        assert kind.counts.endswith("s"), code


def test_two_kinds_of_one_code_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with such declarations does not start to judge."""
    declare(monkeypatch, tmp_path, MADE_UP.replace('"made-up"', '"fenced-broker"'))
    with pytest.raises(SchemaError, match="fenced-broker: declared twice"):
        all_kinds()


# A kind that somebody adds.

MADE_UP = '''"""A made-up family."""
from metashell.checks.finding import Finding
from metashell.findings.kind import About, FindingKind, Severity

KINDS = (
    FindingKind(
        code="made-up",
        severity=Severity.CRITICAL,
        about=About.BROKER,
        meaning="the moon is full",
        do="wait for the morning",
        avoid="do not look at it",
        counts="moons",
        headline="{count} {is} over {subjects}",
        see="changes /image/cluster/brokers/{subject}",
        finder="metashell.findings.kinds.made_up:find",
    ),
)


def find(evidence, kinds):
    """Find a moon over each broker."""
    assert [kind.code for kind in kinds] == ["made-up"]
    for broker_id in evidence.image.brokers.ids.tolist():
        yield Finding(
            "made-up", subject=f"broker {broker_id}", count=2, path="/image/cluster/brokers",
            command=("changes", f"/image/cluster/brokers/{broker_id}"),
        )
'''


def declare(monkeypatch: pytest.MonkeyPatch, directory: Path, text: str) -> None:
    """Put a module among those that declare kinds; `undeclared` takes it away."""
    (directory / "made_up.py").write_text(text)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(directory)])
    sys.modules.pop(f"{kinds.__name__}.made_up", None)
    importlib.invalidate_caches()
    all_kinds.cache_clear()


@pytest.fixture(autouse=True)
def undeclared() -> Iterator[None]:
    """Forget the made-up module."""
    yield
    sys.modules.pop(f"{kinds.__name__}.made_up", None)
    if hasattr(kinds, "made_up"):
        del kinds.made_up
    all_kinds.cache_clear()


@pytest.fixture
def moons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undeclared: None) -> Iterator[Source]:
    """Two brokers in a program that knows one kind more."""
    declare(monkeypatch, tmp_path, MADE_UP)
    with cluster(broker(1), broker(2)) as source:
        yield source
    monkeypatch.undo()


def found(ran: Ran) -> list[tuple[str, str, str, int, str]]:
    """The rows of an answer in short."""
    names = ("severity", "code", "subject", "count", "action")
    return [tuple(row[name] for name in names) for row in json.loads(ran.out)]  # type: ignore[misc]


def test_health_has_a_made_up_kind(moons: Source) -> None:
    """In words and in rows; it decides the exit status."""
    ran = run_on(moons, "health")
    assert 1 == ran.status
    assert ran.out.splitlines()[:4] == [
        "critical  4 moons are over brokers 1 and 2",
        "  do      wait for the morning",
        "  beware  do not look at it",
        "  see     changes /image/cluster/brokers/1",
    ]
    advice = "wait for the morning; do not look at it"
    rows = [("critical", "made-up", f"broker {node}", 2, advice) for node in (1, 2)]
    for line in ("health -o json", "health made-up -o json", "health --severity critical -o json"):
        ran = run_on(moons, line)
        assert rows == found(ran)
        assert 1 == ran.status


def test_health_of_a_made_up_kind_alone(moons: Source) -> None:
    """By its code its subjects are listed; it is not asked for where another one is."""
    ran = run_on(moons, "health made-up")
    assert 1 == ran.status
    table = ran.out.partition("\n\n")[2].splitlines()
    assert [line.split()[:4] for line in table[1:]] == [
        ["critical", "made-up", "broker", "1"],
        ["critical", "made-up", "broker", "2"],
    ]
    other = run_on(moons, "health fenced-broker -o json")
    assert (0, "[]\n") == (other.status, other.out)
    (row,) = json.loads(run_on(moons, "health --summary -o json").out)
    assert ("made-up", 2, 4) == (row["code"], row["subjects"], row["count"])


def test_a_made_up_kind_completes(moons: Source) -> None:
    """With its meaning; not without its module."""
    context = Context(moons.root, Captured(), print, source=moons)

    def proposed() -> list[tuple[str, str]]:
        return [(c.text, c.meta) for c in COMMAND.complete(context, [], "made")]

    assert [("made-up", "the moon is full")] == proposed()
    assert "made-up" in all_kinds()


def test_help_explains_a_made_up_kind(moons: Source) -> None:
    """By its code, in the list of all kinds, and where a name is completed."""
    for line in ("help made-up", "man made-up"):
        page = run_on(moons, line)
        assert 0 == page.status
        told = {" ".join(text.split()) for text in page.out.splitlines()}
        assert "made-up" in page.out.splitlines()[0]
        assert {"severity critical", "meaning the moon is full", "do wait for the morning"} <= told
        assert any(text.endswith("do not look at it") for text in told)
    listed = run_on(moons, "help findings").out.splitlines()
    assert [["made-up", "the moon is full"]] == [
        line.split(maxsplit=1) for line in listed if "made-up" in line
    ]
    command = get("help")
    assert command is not None
    context = Context(moons.root, Captured(), print, source=moons)
    assert "made-up" in [found.text for found in command.complete(context, [], "made")]


def test_a_made_up_kind_is_gone() -> None:
    """Nothing of it stays behind for other tests."""
    assert "made-up" not in all_kinds()
    with cluster(broker(1)) as source:
        ran = run_on(source, "health")
        assert (0, ()) == (ran.status, ran.err)
        assert "no such kind" in " ".join(run_on(source, "health made-up").err)


@pytest.mark.parametrize("severity", list(Severity))
def test_the_severity_of_a_made_up_kind_decides(
    severity: Severity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 if it is critical, else 0; with --exit-code 1 in any case."""
    text = MADE_UP.replace("Severity.CRITICAL", f"Severity.{severity.name}")
    declare(monkeypatch, tmp_path, text)
    with cluster(broker(1)) as source:
        ran = run_on(source, "health")
        assert (severity is Severity.CRITICAL) == ran.status
        assert ("nothing is wrong" in ran.out) == (severity is Severity.NOTE)
        assert f"{severity:<8}  2 moons are over broker 1\n" in ran.out
        assert 1 == run_on(source, "health --exit-code").status


def test_about_and_needs_are_used() -> None:
    """Each thing that a finding may be about and each input is that of some kind.

    Several copies, what came before, and fleets are for kinds to come.
    """
    assert {About.FLEET, About.CLUSTER} >= set(About) - {k.about for k in all_kinds().values()}
    assert {Need.HISTORY, Need.COPIES} >= set(Need) - {k.needs for k in all_kinds().values()}


def test_check_and_sql_have_a_made_up_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` has those about files and about the node's disk alone; SQL has all."""
    of_file = MADE_UP.replace("About.BROKER", "About.FILE")
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    for text, n in ((MADE_UP, 0), (of_file, 1)):
        with monkeypatch.context() as patch:
            declare(patch, tmp_path, text.replace("evidence.image.brokers.ids.tolist()", "[1]"))
            with metashell.open(directory) as source:
                ran = run_on(source, "check --severity critical -o json")
                assert n == [row["code"] for row in json.loads(ran.out)].count("made-up")
                count = "select count(*) as n from findings where code = 'made-up'"
                rows = json.loads(run_on(source, f'sql "{count}" -o json').out)
                assert [{"n": 1}] == rows
        sys.modules.pop(f"{kinds.__name__}.made_up", None)
        all_kinds.cache_clear()
