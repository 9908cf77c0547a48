"""Texts for users have short sentences; docstrings and comments name the thing first."""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from metashell.cli.usage import full_help_text, help_text
from metashell.commands import all_names, get
from metashell.commands.shared.cheat_sheet import LINES, NOTES
from support.language import INDIRECT, MOST_WORDS, clauses, remarks, sentences, texts, words

SOURCES = Path(metashell.__file__).parent
LISTS_OF_WORDS = {"quorum/known_keys.py", "sql/statements.py"}
"""Modules with lists of names in one string: nobody reads them as sentences."""
PACKAGES = sorted({path.relative_to(SOURCES).parts[0] for path in SOURCES.rglob("*.py")})


def files_of(package: str) -> list[Path]:
    """The modules of a package, or a module of the top level."""
    root = SOURCES / package
    return [root] if root.is_file() else sorted(root.rglob("*.py"))


def indirect(file: Path) -> list[str]:
    """The clauses of docstrings and comments that do not name the thing first, with their lines."""
    return [
        f"{file.name}:{text.line}: {clause}"
        for text in remarks(file)
        for clause in clauses(text.text)
        if INDIRECT.match(clause)
    ]


def too_long(text: str) -> list[str]:
    """The sentences of a text that have too many words."""
    return [sentence for sentence in sentences(text) if words(sentence) > MOST_WORDS]


def test_words_are_counted_by_sentences() -> None:
    """Items and rows are sentences of their own; wrapped lines are none, nor is a number's dot."""
    text = "Reads 3.5 files\nand more. Stops!\n- one - two\n| a | b |\n\nEnd"
    expected = ["Reads 3.5 files and more.", "Stops!", "- one - two", "| a | b |", "End"]
    assert expected == sentences(text)
    assert [5, 1, 2, 2, 1] == [words(sentence) for sentence in expected]
    assert [" ".join(["a"] * 26)] == too_long(" ".join(["a"] * 26))


def test_texts_are_found(tmp_path: Path) -> None:
    """Strings in calls and tables are; docstrings and styles are not; values are one word."""
    file = tmp_path / "x.py"
    file.write_text(
        '"""Docs."""\nCSS = "p {}"\nN = 1\n"""Of N."""\n'
        'raise E(f"{a + b}: no " "file" + c, hint="open it")\nX = ("one",)\n'
    )
    assert {"X: no fileX", "open it", "one"} == {found.text for found in texts(file)}


def test_indirect_remarks_are_found(tmp_path: Path) -> None:
    """In docstrings, below constants and in comments, also behind a colon; not in other strings."""
    file = tmp_path / "x.py"
    file.write_text(
        '"""Reads.\n\nArgs:\n    a: Of all."""\nN = 1\n"""The same; As a number."""\n'
        "# It reads what\n# As one knows. What for?\nX = 'Of strings'  # - Those\n"
        "# Often. Assume. so: of course\n"
    )
    expected = ["1: Of all.", "6: The same;", "6: As a number.", "7: What for?", "9: - Those"]
    assert [f"x.py:{each}" for each in expected] == indirect(file)


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_and_comments_name_the_thing_first(package: str) -> None:
    """No clause begins with "What", "Those", "The same", "As" or "Of"."""
    assert [] == [each for file in files_of(package) for each in indirect(file)]


@pytest.mark.parametrize("package", PACKAGES)
def test_sentences_in_the_sources_are_short(package: str) -> None:
    """Messages, hints, manuals, and what the explorer says."""
    found = [
        f"{file.relative_to(SOURCES)}:{text.line}: {sentence}"
        for file in files_of(package)
        if str(file.relative_to(SOURCES)) not in LISTS_OF_WORDS
        for text in texts(file)
        for sentence in too_long(text.text)
    ]
    assert [] == found


def test_sentences_of_help_and_manuals_are_short() -> None:
    """They are checked as a user sees them, put together."""
    read = [help_text(), full_help_text(), *NOTES, *(line.meaning for line in LINES)]
    for name in all_names():
        command = get(name)
        assert command is not None
        manual = command.manual
        read += [command.summary, manual.description]
        read += [option.help for option in manual.options]
        read += [meaning for _, meaning in (*manual.examples, *manual.columns)]
        read += [what for _, columns in manual.other_columns for _, what in columns]
    assert [] == [sentence for text in read for sentence in too_long(text)]
