"""Answers for monitoring and tickets: metrics, a plugin's line, Markdown, names, files, colour."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.cli import main
from support.fixtures import DEMO, copy_of, fixture_dir

_SAMPLE = re.compile(
    r'([a-z_:][a-z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+]+)'
)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Run the program on the sample; gives status and standard output."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        # Set and taken away, so that what the program sets goes with the test.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)

    def run(*words: str, place: str | Path = DEMO) -> tuple[int, str]:
        status = main(["--no-config", "-d", str(place), *words])
        return status, capsys.readouterr().out

    yield run
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def metrics(text: str) -> dict[tuple[str, str], float]:
    """The samples of Prometheus' text format, by name and labels; each has HELP and TYPE before."""
    found, told = {}, ""
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, _ = line.split(" ", 3)
            assert word == "HELP" or (word, name) == ("TYPE", told)
            told = name
            continue
        match = _SAMPLE.fullmatch(line)
        assert match is not None, line
        assert match[1] == told
        assert (match[1], match[2]) not in found
        found[match[1], match[2] or ""] = float(match[3])
    return found


def test_metrics_of_findings(ask) -> None:
    """Two samples for each kind: the counts of its rows together, and how many rows there are."""
    status, text = ask("health", "-o", "prometheus")
    found = metrics(text)
    expected: dict[tuple[str, str], float] = {}
    for row in json.loads(ask("health", "-o", "json")[1]):
        labels = f'severity="{row["severity"]}",code="{row["code"]}"'
        for name, n in (("count", row["count"] or 0), ("subjects", 1)):
            key = (f"metashell_health_{name}", labels)
            expected[key] = expected.get(key, 0) + n
    assert {key: n for key, n in expected.items() if n} == {k: n for k, n in found.items() if n}
    assert 1 == status


@pytest.mark.parametrize("words", [["brokers"], ["quorum"], ["quorum", "--status"]])
def test_metrics_are_the_rows(ask, words: list[str]) -> None:
    """Each number of a row is a sample; null is none, and times are seconds."""
    found = metrics(ask(*words, "-o", "prometheus")[1])
    rows = json.loads(ask(*words, "-o", "json")[1])
    names = {name.removeprefix(f"metashell_{words[0]}_") for name, _ in found}
    columns = {name.removesuffix("_seconds") if name not in rows[0] else name for name in names}
    assert columns
    for column in columns - {"time"}:
        values = sorted(row[column] for row in rows if row[column] is not None)
        samples = [n for (name, _), n in found.items() if name.endswith(f"_{words[0]}_{column}")]
        assert values == sorted(samples), column
    if "time_seconds" in names:
        assert 1795351420.666 == found["metashell_quorum_time_seconds", next(iter(found))[1]]


def test_answers_without_metrics(ask) -> None:
    """A table that names no measure is refused."""
    assert (2, "") == ask("topics", "-o", "prometheus")
    assert (2, "") == ask("brokers", "--count", "-o", "prometheus")


def test_markdown(ask) -> None:
    """Columns of people's table; what Markdown would read as its own is escaped."""
    text = ask("sql", r"select 'a|b\c' as t, 5 as n", "-o", "markdown")[1]
    assert "| t | n |\n| --- | ---: |\n| a\\|b\\\\c | 5 |\n" == text


def test_names_alone(ask) -> None:
    """The columns that tell a row, joined."""
    rows = json.loads(ask("partitions", "-o", "json")[1])
    names = ask("partitions", "-o", "name")[1].splitlines()
    assert [f"{row['topic']}-{row['partition']}" for row in rows] == names
    assert "2\n1\n3\n" == ask("quorum", "-o", "name")[1]


def test_wide_has_all_columns(ask) -> None:
    """A table with each column of the other forms."""
    names = [*json.loads(ask("brokers", "-o", "json")[1])[0]]
    names.remove("disk_bytes")  # No disk of topics is open.
    head = ask("brokers", "-o", "wide", "--columns", "all")[1].splitlines()[0].split()
    assert [name.upper() for name in names] == head
    wide = ask("partitions", "-o", "wide")[1].splitlines()[0].split()
    assert {"UNCLEAN_CANDIDATE", "LEADER_EPOCH"} <= {*wide}


def test_an_answer_in_a_file(ask, tmp_path: Path) -> None:
    """The file has what standard output would have, an old one goes, and nothing else is left."""
    file = tmp_path / "kafka.prom"
    file.write_text("old")
    assert (1, "") == ask("health", "-o", "prometheus", "--to", str(file))
    assert ask("health", "-o", "prometheus")[1] == file.read_text()
    assert (1, "") == ask("health", "--to", str(file))
    assert "critical" in file.read_text()
    who = ["who-can", "READ", "topic:orders"]
    assert (0, "") == ask(*who, "--to", str(file))
    assert ask(*who)[1] == file.read_text()
    assert (1, "") == ask("health", "--to", str(file))
    assert 2 == ask("health", "-o", "nonsense", "--to", str(file))[0]
    assert "critical" in file.read_text()
    assert [file] == list(tmp_path.iterdir())


def test_standard_output_as_a_file(ask) -> None:
    """The name `-` stands for it."""
    assert ask("health", "--to", "-") == ask("health")


def test_no_file_in_a_kafka_directory(ask, tmp_path: Path) -> None:
    """Also where the command opens the directory itself, and it has lost its meta.properties."""
    node = copy_of("voters-all-killed-3/voter-1", tmp_path / "node")
    (node / "meta.properties").unlink()
    before = sorted(node.rglob("*"))
    assert 0 != ask("preflight", "--to", str(node / "x"), place=node)[0]
    for command in ("health", "preflight"):
        inside = str(node / "__cluster_metadata-0" / "x")
        assert 0 != ask(command, "--to", inside, place=node)[0]
    assert before == sorted(node.rglob("*"))


def test_plugin(ask, tmp_path: Path) -> None:
    """The status is that of a monitoring plugin, and there is one line whatever fails."""
    status, line = ask("health", "--plugin")
    assert 2 == status
    assert re.fullmatch(
        r"CRITICAL - offline-partitions 3, under-min-isr 4, [^|]+\|critical=7;;0;0"
        r" warning=\d+;0;;0 note=\d+;;;0\n",
        line,
    )
    sound = fixture_dir("voters-all-killed-3") / "voter-1"
    assert (0, "OK - nothing is wrong|critical=0;;0;0 warning=0;0;;0 note=0;;;0\n") == ask(
        "health", "--plugin", place=sound
    )
    assert 1 == ask("health", "--plugin", "--severity", "warning", "fenced-broker")[0]
    (tmp_path / "lost" / "__cluster_metadata-0").mkdir(parents=True)
    status, line = ask("-d", str(tmp_path / "lost"), "health", "--plugin", place=sound)
    assert (3, True) == (status, line.startswith("UNKNOWN - not all could be read"))
    for words, place in (
        (["health", "--plugin"], tmp_path / "nowhere"),
        (["health", "--plugin", "--bogus"], DEMO),
        (["health", "--plugin", "-o", "json"], DEMO),
        (["health", "--plugin", "--to", str(tmp_path / "line")], DEMO),
        (["health", "--plugin", "no-such-code"], DEMO),
    ):
        status, line = ask(*words, place=place)
        assert 3 == status
        assert re.fullmatch(r"UNKNOWN - .+\n", line)


def test_colour_that_is_asked_for(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """No terminal is coloured unless an option or a variable asks for it; an option rules."""
    red = "\x1b[31mcritical"
    assert red not in ask("health")[1]
    assert red in ask("--color", "always", "health")[1]
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert red in ask("health")[1]
    monkeypatch.setenv("CLICOLOR_FORCE", "0")
    assert red not in ask("health")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert red not in ask("--color", "never", "health")[1]
    assert os.environ["NO_COLOR"]
    assert 2 == ask("--color", "sometimes", "health")[0]
