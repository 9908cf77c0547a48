"""``report``: a page that is whole, harmless and readable, and that says what the commands say."""

from __future__ import annotations

import csv
import re
from collections import Counter
from contextlib import closing
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Final

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.cli import main
from metashell.commands.report import page
from metashell.fs.escape import UNSAFE
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.damaged import damaged
from support.fixtures import DEMO, copy_of
from support.fleets import OTHER_ID, backups
from support.hostile import NAMES, hostile_cluster
from support.logs import make_directory, secret_config
from support.shell import run_on
from support.small_cluster import TIME, broker, level

_VOID: Final = frozenset({"meta", "wbr", "br"})
_OF_TEXT: Final = frozenset({"text", "dim", "link", "red", "yellow"})
_MARKUP: Final = ("<script>alert(1)</script>", "\"><img src='x'>", "&lt;b&gt;", "]]>--><!--")


class Page(HTMLParser):
    """A page as a strict reader takes it: each element is closed in its order.

    Args:
        text: The page.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: dict[str, list[list[str]]] = {}
        """The rows of each section's table, the names of the columns first."""
        self.texts: list[str] = []
        """Texts, those of a sentence together; commands stand between backticks."""
        self._is_after_code = False
        self.names: set[str] = set()
        """The names of all elements and attributes."""
        self.ids: list[str] = []
        self.links: list[str] = []
        self._open: list[str] = []
        self._section: list[list[str]] = []
        self.feed(text)
        self.close()
        assert [] == self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "section":
            self._section = []
        elif tag == "tr":
            self._section.append([])
        elif tag in ("td", "th"):
            self._section[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "rect"

    def handle_endtag(self, tag: str) -> None:
        assert tag == self._open.pop()

    def handle_data(self, data: str) -> None:
        inline = self._open[-1:] == ["code"] and self._open[-2] in ("p", "dd")
        if (inline or self._is_after_code) and self.texts:
            self.texts[-1] += f"`{data}`" if inline else data
        else:
            self.texts.append(data)
        self._is_after_code = inline
        if self._open[-1:] == ["h2"]:
            self.sections[data.strip()] = self._section
        elif self._open and self._open[-1] in ("td", "th"):
            self._section[-1][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def page_of(source: Source) -> Page:
    """The page about a source."""
    return Page(run_on(source, "report").out)


@pytest.fixture(scope="module")
def demo() -> Source:
    """The bundled cluster."""
    return metashell.open(DEMO)


def rows(source: Source, line: str) -> list[list[str]]:
    """The rows of a command as CSV, the names of the columns first."""
    return [*csv.reader(StringIO(run_on(source, f"{line} -o csv").out))]


def test_a_page_is_whole_and_asks_for_nothing(demo: Source) -> None:
    """It is strict HTML, has no script, and each link leads to a part of itself."""
    ran = run_on(demo, "report")
    read = Page(ran.out)
    assert (0, ()) == (ran.status, ran.err)
    assert {"script", "link", "img", "style", "src", "onclick"} & read.names == {"style"}
    assert len(set(read.ids)) == len(read.ids)
    assert {f"#{name}" for name in read.ids} == set(read.links)
    assert not re.search(r"url\(|@import|https?://", ran.out)
    titles = [section.title for section in page._SECTIONS]
    assert titles == [*read.sections]


def test_a_table_has_the_rows_of_its_command(demo: Source) -> None:
    """Cell for cell, but for columns without anything in them."""
    found = page_of(demo).sections["Brokers"]
    names, *expected = rows(demo, "brokers")
    at = [names.index(name) for name in found[0]]
    assert {"broker", "state", "replicas"} <= {*found[0]}
    said = [[row[i] or "-" for i in at] for row in expected]
    # A number is written as a person reads it.
    assert said == found[1:]


def test_findings_are_the_paragraphs_of_health(demo: Source) -> None:
    """Each word of `health` is there."""
    ran = run_on(demo, "report")
    said = " ".join(" ".join(Page(ran.out).texts).split())
    told = run_on(demo, "health").out
    for line in re.sub(r"\n {10}", " ", told).splitlines():
        label, text = line[:10].strip(), " ".join(line[10:].split())
        if label not in ("as of", "see"):
            assert f"{label} {text}".strip() in said.replace(" · ", " "), line


def test_first_rows_and_how_many_more(demo: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long table names the command that lists all."""
    monkeypatch.setattr(page, "_MOST_ROWS", 5)
    read = page_of(demo)
    assert 6 == len(read.sections["Topics"])
    (told,) = [text for text in read.texts if text.startswith("5 of 27: ")]
    command = told.split("`")[1]
    assert rows(demo, command)[1][0] == read.sections["Topics"][1][0]


def test_changes_are_told_in_words(demo: Source) -> None:
    """The newest come first, with old and new value."""
    names, *found = page_of(demo).sections["Changes of the last day"]
    offsets = [int(row[names.index("offset")]) for row in found]
    assert sorted(offsets, reverse=True) == offsets
    (row,) = [row for row in found if row[-2].endswith("audit-log/retention.ms")]
    assert "31536000000 → 3600000" == row[-1]


def test_the_timeline_counts_as_stats_does(demo: Source) -> None:
    """Its legend has the sums of the columns."""
    names, *parts = rows(demo, "stats --section timeline")
    said = page_of(demo).texts
    for name in ("topics", "configs", "security", "elections"):
        total = sum(int(part[names.index(name)]) for part in parts)
        assert f" {name} {total:,}" in said


def test_names_are_text_alone() -> None:
    """Whatever a name holds, it is no markup, and nothing in it steers what shows it."""
    with hostile_cluster((*_MARKUP, *NAMES)) as source:
        ran = run_on(source, "report")
    read = Page(ran.out)
    assert not {"script", "img", "b", "x"} & read.names - {"b"}
    assert not re.search(f"[{UNSAFE}]", ran.out.replace("\n", ""))
    topics = {row[0] for row in read.sections["Topics"]}
    assert {*_MARKUP} <= topics


def test_data_that_is_not_at_hand(demo: Source) -> None:
    """A line says why, as the command does, and that is no failure."""
    ran = run_on(demo, "report")
    said = run_on(demo, "groups").err[0]
    assert said.removeprefix("groups: ") in "".join(Page(ran.out).texts)
    assert 0 == ran.status


def test_what_could_not_be_read(tmp_path: Path) -> None:
    """The exit status is 1, and the page says what is missing."""
    with metashell.open(damaged("bad-crc", tmp_path)) as source:
        ran = run_on(source, "report")
        (told,) = [text for text in source.warnings if "CRC" in text]
    assert 1 == ran.status
    assert told in Page(ran.out).texts


@pytest.mark.parametrize("place", ["times", "bad-records", "real-40-static"])
def test_other_sources(place: str, tmp_path: Path) -> None:
    """Odd logs have a page, too."""
    with metashell.open(damaged(place, tmp_path)) as source:
        assert "Findings" in page_of(source).sections


def test_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directories, then each cluster's own sections; in a cluster's directory that alone."""
    monkeypatch.setattr(page, "_MOST_CLUSTERS", 2)
    places = sorted(map(str, backups(tmp_path / "all").iterdir()))
    with closing(open_fleet(places)) as fleet:
        read = page_of(fleet)
        alone = Page(run_on(fleet, "report", f"/clusters/{OTHER_ID}").out)
    names = [row[0] for row in read.sections["Directories"][1:]]
    assert ["controller-1", "controller-2", OTHER_ID] == names
    heads = [text for text in read.texts if text in names]
    # Each name stands in the list of links, among the directories, and above its sections.
    assert {"controller-1": 3, "controller-2": 3, OTHER_ID: 2} == Counter(heads)
    assert "1 more: in /clusters/NAME, `report` is of one" in read.texts
    assert [section.title for section in page._SECTIONS] == [*alone.sections]


def test_a_lost_quorum(capsys: pytest.CaptureFixture[str]) -> None:
    """The one finding that is known."""
    words = ["--no-config", "-q", "localhost:1", "--timeout", "1", "report"]
    assert 1 == main(words)
    read = Page(capsys.readouterr().out)
    assert ["Findings"] == [*read.sections]
    assert "critical" in read.texts


def test_secrets_are_redacted(tmp_path: Path) -> None:
    """A page has them with --show-secrets alone, and then only the owner can read it."""
    values = [level("metadata.version", 25), broker(1), secret_config()]
    place = make_directory(tmp_path, (0, encode_batch(values, base_offset=0, timestamp=TIME)))
    file = tmp_path / "r.html"
    for option, is_shown in (("--no-config", False), ("--show-secrets", True)):
        assert 0 == main([option, "-d", str(place), "report", str(file)])
        assert is_shown == ("hunter2" in file.read_text())
    assert 0o600 == file.stat().st_mode & 0o777


def test_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is replaced whole; nothing else is written over, nothing in a Kafka directory."""
    node = copy_of("voters-all-killed-3/voter-1", tmp_path / "node")
    file, other = tmp_path / "r.html", tmp_path / "server.properties"
    for one in (file, other):
        one.write_text("old")
    before = sorted(tmp_path.rglob("*"))

    def report(place: str | Path) -> int:
        return main(["--no-config", "-d", str(node), "report", str(place)])

    assert 2 == report(other)
    assert 0 != report(node / "r.html")
    assert 0 != report(tmp_path / "nowhere" / "r.html")
    assert "old" == file.read_text() == other.read_text()
    assert 0 == report(file)
    assert before == sorted(tmp_path.rglob("*"))
    capsys.readouterr()
    assert 0 == report("-")
    assert capsys.readouterr().out == file.read_text()


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_contrast() -> None:
    """Each colour of text has 4.5:1 on each background, light and dark; bars have 3:1."""
    text = (Path(page.__file__).with_name("page.html")).read_text()
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    found = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in (light, dark)]
    assert found[0].keys() == found[1].keys()
    for colours in found:
        for name, colour in colours.items():
            least = 0 if name in ("back", "panel", "line") else 4.5 if name in _OF_TEXT else 3
            for back in ("back", "panel"):
                a, b = sorted(map(_luminance, (colour, colours[back])))
                assert (b + 0.05) / (a + 0.05) >= least, (name, colour)
