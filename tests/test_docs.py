"""What the documents say is so: examples, options, commands, paths, tables, links.

With METASHELL_UPDATE_DOCS=1 the sessions in the documents are rewritten with what is printed, but
for those that are cut by a line ``...``.
"""

from __future__ import annotations

import doctest
import fnmatch
import functools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, SimpleNamespace

import pytest
from tests.support.observer_states import SUCCESSORS

import metashell
from metashell.cli.arguments import OPTIONS
from metashell.commands import all_names, get
from metashell.commands.framework.command import Command
from metashell.commands.shared.cheat_sheet import LINES, OPEN, Line
from metashell.errors import ExitCode
from metashell.log.fault import FaultKind
from metashell.sources.opening import open_request
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source
from support.described import described
from support.examples import (
    BROKER,
    CONTROLLER,
    LOG_DIR,
    Shell,
    System,
    blocks,
    broker_directory,
    check_sessions,
    examples,
    is_session,
)
from support.fixtures import DEMO, copy_of, fixture, fixture_dir
from support.notebooks import outputs_of
from support.scripts import script
from support.shell import run_on

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
OF_SPARK = DOCS / "guides" / "spark.md"
"""Its sessions need Spark: tests/spark/test_guide.py runs them."""
SESSIONS = [
    page
    for page in PAGES
    if page != OF_SPARK and any(map(is_session, blocks(page.read_text("utf-8"))))
]
COMMANDS: list[Command] = [command for name in all_names() if (command := get(name)) is not None]

# Options of other programs that the documents name.
OTHER_OPTIONS = {
    *("-x", "-0", "-m", "-k", "--status", "--replication", "--release-version"),
    *("--py-files", "--archives", "--glob"),
}


def page_id(page: Path) -> str:
    """A page as test reports name it."""
    return str(page.relative_to(ROOT))


@pytest.mark.cases(12)
@pytest.mark.parametrize("page", SESSIONS, ids=page_id)
def test_sessions_show_what_is_printed(page: Path, tmp_path: Path) -> None:
    """Every command of a session prints what stands below it."""
    text, wrong = check_sessions(page.read_text("utf-8"), tmp_path)
    if os.environ.get("METASHELL_UPDATE_DOCS"):
        page.write_text(text, "utf-8")
    assert [] == wrong


def test_readme_shows_four_commands_and_how_to_install() -> None:
    """On its first screen."""
    first_screen = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:60])
    session = next(filter(is_session, blocks(first_screen)))
    assert 4 == len(examples(session))
    assert {"make demo", "make test"} <= set(re.findall("make [a-z]+", first_screen))
    assert "pip install" in first_screen


def test_command_reference_is_up_to_date() -> None:
    """scripts/write_command_reference.py has been run."""
    reference = script("write_command_reference")
    assert reference.render() == reference.PAGE.read_text("utf-8")
    assert reference.render_cheat_sheet() == reference.CHEAT_SHEET.read_text("utf-8")
    schemas = reference.schema_text(reference.schemas_of_all())
    assert schemas == reference.SCHEMAS.read_text("utf-8")
    assert reference.render_findings() == reference.FINDINGS.read_text("utf-8")


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.line)
def test_lines_of_the_cheat_sheet_work(line: Line, tmp_path: Path) -> None:
    """Each runs on the bundled sample, or a broker's directory, and prints what was asked for."""
    source = f"-d {BROKER}" if line.group == "groups" else "demo"
    with System(tmp_path) as system:
        printed = system.run(line.line if line.group == OPEN else f"metashell {source} {line.line}")
        (status,) = system.run("echo $?")
    name = line.line.split()[0]
    assert printed
    says_no = name in {"can-upgrade", "diff"} or line.line.endswith(("health", "--copies"))
    assert status in ({"0", "1"} if says_no else {"0"})
    assert [] == [text for text in printed if text.startswith("  hint: ")]


def test_layers_are_up_to_date() -> None:
    """scripts/write_layers.py has been run."""
    layers = script("write_layers")
    text = layers.PAGE.read_text("utf-8")
    assert layers.written(text) == text


def _press_interrupt(_seconds: float) -> None:
    """What waits until something happens is ended with ^C."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_examples_of_manuals_work(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each prints something, changes the directory, or waits until ^C; none prints a diagnostic.

    That nothing is so is an answer, such as ``nodes: no node is a ghost``.
    """
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=_press_interrupt)
    monkeypatch.setattr("metashell.commands.shared.waiting.time", clock)
    monkeypatch.chdir(tmp_path)
    for line, _ in command.manual.examples:
        shell = Shell(broker_directory() if command.group == "groups" else DEMO)
        before = shell.prompt
        try:
            printed = shell.run(line)
        except KeyboardInterrupt:
            continue
        said_nothing_by_nature = command.name in {"cd", "clear", "exit", "history", "source"}
        assert printed or said_nothing_by_nature, line
        has_no_rows = printed and printed[0].startswith(f"{command.name}: no ")
        assert has_no_rows or not (printed and printed[0].startswith(f"{command.name}: ")), line
        assert command.name != "cd" or line in {"cd", "cd .."} or shell.prompt != before


def test_every_command_is_in_a_guide() -> None:
    """A page for people names it, beside the reference."""
    folders = (DOCS / "guides", DOCS / "tasks")
    text = "".join(page.read_text("utf-8") for folder in folders for page in folder.iterdir())
    before = r"(`|metashell |demo |> |-d \S+ )"
    names = [command.name for command in COMMANDS]
    assert [] == [name for name in names if not re.search(rf"{before}{name}[` \n]", text)]


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_make_targets_exist(page: Path) -> None:
    """Each that a document names."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = re.findall(r"(?:`|^)make ((?:[a-z-]+ ?)+)", page.read_text("utf-8"), re.MULTILINE)
    assert set() == {name for names in named for name in names.split()} - targets


def n_words(text: str) -> int:
    """Words of a page, without the signs of tables and lists."""
    return sum(1 for word in text.split() if re.search(r"\w", word))


@pytest.mark.parametrize(
    ("page", "most"),
    [("README.md", 1100), ("CONTRIBUTING.md", 1200), ("docs/design/architecture.md", 4200)],
)
def test_first_pages_are_short(page: str, most: int) -> None:
    """They are read whole."""
    assert n_words((ROOT / page).read_text("utf-8")) <= most


def known_options() -> set[str]:
    """Every option that the program, its commands or the benchmarks have."""
    program = {name for option in OPTIONS for name in option.flags}
    commands = {flag for c in COMMANDS for option in c.manual.options for flag in option.flags}
    measuring = {*re.findall(r"(?<![\w-])--?[a-z][a-z-]*", of_benchmarks("--help"))}
    return program | commands | measuring | OTHER_OPTIONS


@cache
def of_benchmarks(option: str) -> str:
    """What the program that runs the benchmarks prints for an option."""
    argv = [sys.executable, str(ROOT / "benchmarks" / "run.py"), option]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True)
    return ran.stdout


def documented_options(text: str) -> set[str]:
    """Options in the code spans of a document, and in the commands of its sessions."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", prose)
    for block in blocks(text):
        if is_session(block):
            spans += [e.command.partition("|")[0] for e in examples(block)]
    # What is quoted is no option, nor is a column that is sorted by, descending.
    not_options = re.compile(r"'[^']*'|--sort \S+")
    words = [word for span in spans for word in not_options.sub("", span).split()]
    shaped = (re.fullmatch(r"(--?[A-Za-z][A-Za-z0-9-]*).*", word) for word in words)
    return {match[1] for match in shaped if match}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_options_in_documents_exist(page: Path) -> None:
    """Of the program, of one of its commands, or of the benchmarks."""
    known = known_options()
    unknown = documented_options(page.read_text("utf-8")) - known
    # Short ones are written together, or with their value: -1R, -dDIR.
    assert set() == {option for option in unknown if option[:2] not in known}


def test_every_option_is_documented() -> None:
    """Those of the program in cli.md, those of commands in commands.md."""
    text = (DOCS / "reference" / "cli.md").read_text("utf-8")
    commands = (DOCS / "reference" / "commands.md").read_text("utf-8")
    for flag in OPTIONS:
        assert f"`{flag.long}" in text
    for command in COMMANDS:
        for option in command.manual.options:
            assert all(f"`{flag}" in commands for flag in option.flags), option


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    """Each file exists, and each heading that a link names."""
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings]
            assert anchor in slugs, target


def test_every_picture_is_shown() -> None:
    """One that no page shows is not renewed either."""
    text = "".join(page.read_text() for page in PAGES)
    pictures = [picture.name for picture in (DOCS / "images").iterdir()]
    assert pictures
    assert [name for name in pictures if name not in text] == []


def test_every_page_is_linked_from_the_index() -> None:
    """docs/index.md leads to all others."""
    text = (DOCS / "index.md").read_text("utf-8")
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert [] == [page for page in pages if page != "index.md" and f"({page}" not in text]


def documented_tables() -> dict[str, list[tuple[str, str]]]:
    """Tables of docs/reference/tables.md: name -> (column, type) of each row."""
    found: dict[str, list[tuple[str, str]]] = {}
    text = (DOCS / "reference" / "tables.md").read_text("utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        name = section.partition("\n")[0].strip("` ")
        found[name] = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", section, re.MULTILINE)
    return found


def test_tables_are_documented() -> None:
    """Every table with its columns and types in order; the columns of all parts stand once."""
    documented = documented_tables()
    source = metashell.open(DEMO)
    common = documented["Columns of every table"]
    for name in source.tables:
        schema = [(field.name, str(field.type)) for field in source.table(name).schema]
        assert documented[name] + common == schema, name
    broker = metashell.open(fixture_dir("node-44/broker102/d1"))
    more = [name for name in broker.tables if name not in source.tables]
    for name in more:
        schema = [(field.name, str(field.type)) for field in broker.table(name).schema]
        assert documented[name] == schema, name
    assert {*source.tables, *more} == {name for name in documented if name.islower()}


def documented_paths() -> list[str]:
    """Patterns of docs/reference/paths.md."""
    text = (DOCS / "reference" / "paths.md").read_text("utf-8")
    return re.findall(r"^\| `(/[^`]*)` \|", text, re.MULTILINE)


def path_pattern(documented: str) -> re.Pattern[str]:
    """What a documented path means: ``<x>`` is any name, and names may hold slashes."""
    parts = re.split(r"<[^>]+>", documented)
    return re.compile("(?s:.+)".join(map(re.escape, parts)))


def test_paths_are_documented(tmp_path: Path) -> None:
    """Every path has its row, and every row a path."""
    patterns = {path: path_pattern(path) for path in documented_paths()}
    found = metashell.open(DEMO).find("/")
    found += metashell.open(fixture("real-40-static").input).find("/")
    found += described("real-44-admin").find("/quorum")
    stranger = copy_of("real-44-admin", tmp_path)
    (stranger / "meta.properties").write_text("version=1\nnode.id=77\n")
    found += metashell.open(stranger).find("/quorum")
    disks = [str(fixture_dir(f"node-44/broker101/{name}")) for name in ("d1", "d2")]
    broker = open_request(OpenRequest(choice=Choice(paths=tuple(disks))))
    assert isinstance(broker, Source)
    for root in ("/groups", "/transactions", "/share", "/producers", "/disk"):
        found += broker.find(root)
    voters = metashell.open_fleet(
        [str(fixture_dir(f"voters-two-epochs-3/voter-{node}")) for node in (1, 2)]
    )
    found += run_on(voters, "find /quorum/copies").out.splitlines()
    unknown = [p for p in found if not any(pattern.fullmatch(p) for pattern in patterns.values())]
    assert [] == unknown
    assert [] == [name for name, p in patterns.items() if not any(map(p.fullmatch, found))]


@functools.cache
def sentences_of_the_program() -> list[str]:
    """Pieces of text in its code, whole but for what is filled in."""
    sources = sorted(Path(metashell.__file__).parent.rglob("*.py"))
    # Python keeps compiled code; to parse it all again takes seconds.
    codes = (SourceFileLoader("", str(path)).get_code("") for path in sources)
    return [text for code in codes for text in texts_in(code)]


def texts_in(constant: object) -> Iterator[str]:
    """Strings of a code object, with those of its functions and of its other constants."""
    match constant:
        case str():
            yield constant
        case CodeType(co_consts=inner) | ((tuple() | frozenset()) as inner):
            for part in inner:
                yield from texts_in(part)


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("reference/connection-errors.md", "# Connection errors"),
        ("guides/spark.md", "## When it does not"),
        ("guides/stores.md", "## When it does not"),
    ],
)
def test_messages_in_guides_exist(page: str, heading: str) -> None:
    """Each message that a page explains is in the code; `...` stands for what is filled in."""
    text = (DOCS / page).read_text("utf-8").partition(heading)[2]
    cells = re.findall(r"^\| (`[^|]*`) \|", text, re.MULTILINE)
    spans = [span for cell in cells for _, span in re.findall(r"(`+)(.+?)\1(?!`)", cell)]
    pieces = {piece.strip(" `:()") for span in spans for piece in span.split("...")}
    known = sentences_of_the_program()
    assert [] == sorted(piece for piece in pieces if not any(piece in text for text in known))
    assert pieces


def test_states_of_the_observer_are_documented() -> None:
    """docs/design/architecture.md has a row for each, with the states that it can turn into."""
    text = (DOCS / "design" / "architecture.md").read_text("utf-8").partition("## The observer")[2]
    rows = {
        cells[1].strip(" `"): set(re.findall("`([a-z ]+)`", cells[3]))
        for line in text.splitlines()
        if line.startswith("| `") and len(cells := line.split("|")) == 5
    }
    everywhere = {"failed", "choosing", "connecting"}
    for state, successors in SUCCESSORS.items():
        documented = rows[state.value] - {state.value}
        assert documented <= {successor.value for successor in successors}
        assert {successor.value for successor in successors} <= documented | everywhere


def test_exit_codes_and_faults_are_documented() -> None:
    """docs/reference/errors.md has all of both."""
    text = (DOCS / "reference" / "errors.md").read_text("utf-8")
    assert [] == [code for code in ExitCode if f"| {code.value} |" not in text]
    assert [] == [kind for kind in FaultKind if f"| `{kind.value}` |" not in text]


@pytest.mark.parametrize("page", ["README.md", "docs/guides/python.md"])
def test_python_examples_work(page: str, tmp_path: Path) -> None:
    """Every line, in the order in which it stands."""
    text = (ROOT / page).read_text("utf-8")
    code = "".join(block.text for block in blocks(text) if block.language == "pycon")
    assert code
    system = System(tmp_path)
    globs = {"__name__": "guide", "LOG_DIR": str(DEMO)}
    if CONTROLLER in code:
        code = code.replace(f'"{CONTROLLER}"', repr(system.controller))
    code = code.replace(f'"{BROKER}"', repr(str(broker_directory())))
    code = code.replace(f'"{LOG_DIR}"', "LOG_DIR").replace(f'"{LOG_DIR}/', 'LOG_DIR + "/')
    test = doctest.DocTestParser().get_doctest(code, globs, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    with system:
        runner.run(test, out=report.append)
    assert 0 == runner.failures, "".join(report)


def test_notebook_shows_what_its_code_gives() -> None:
    """Every output, with METASHELL_UPDATE_DOCS=1 written anew."""
    path = ROOT / "examples" / "outage.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [cell["outputs"] for cell in cells]
    found = json.loads(
        json.dumps([*outputs_of(notebook, lambda code: code.replace(LOG_DIR, str(DEMO)))]).replace(
            str(DEMO), LOG_DIR
        )
    )
    if os.environ.get("METASHELL_UPDATE_DOCS"):
        for number, (cell, outputs) in enumerate(zip(cells, found, strict=True), 1):
            cell["outputs"], cell["execution_count"] = outputs, number
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert found == shown


def test_benchmarks_name_real_figures() -> None:
    """A figure that a document names as `--only NAME` exists."""
    names = [line.split()[0] for line in of_benchmarks("--list").splitlines()]
    assert names
    for page in PAGES:
        named = re.findall(r"--only '?([a-z0-9*-]+)", page.read_text("utf-8"))
        assert all(fnmatch.filter(names, name) for name in named), page


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_sentences_have_lines_of_their_own(page: Path) -> None:
    """One sentence a line, tables and code aside."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = [line for line in text.splitlines() if not line.startswith(("|", " ", "#"))]
    several = [line for line in prose if re.search(r"[a-z`)]\. [A-Z]", line)]
    assert [] == several
