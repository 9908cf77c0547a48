"""JSON that the program prints: numbers that JSON has not are never bare words in it."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.fs.change_texts import value_text
from metashell.fs.path import resolve
from metashell.schema.dump import finite, to_json
from metashell.sources.source import Source
from metashell.tui.node.inspector import _as_text
from metashell.tui.node.value import value_lines
from support.logs import make_directory, record
from support.shell import run_on
from support.small_cluster import level

SRC = Path(metashell.__file__).parent
OF_MACHINES = {
    "commands/rows/schemas.py",
    "commands/save/contents.py",
    "sources/cache/manifest.py",
    "security/oauth.py",
    "spark_backend/datasource.py",
    "spark_backend/sql.py",
    "spark_backend/streaming.py",
    "tui/remembered.py",
}
"""What writes JSON for the program's own reading, or of texts alone to a server."""
ODD = (math.nan, math.inf, -math.inf, 1.5, math.nan, math.nan)
QUOTA = "/image/clientQuotas/user('u')"


def refuse(word: str) -> None:
    """What json.loads asks about NaN and its like."""
    raise AssertionError(f"{word} is no JSON")


def parsed(text: str) -> list[Any]:
    """The values of lines, or of one document."""
    try:
        return [json.loads(text, parse_constant=refuse)]
    except json.JSONDecodeError:
        return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A quota that is set to one odd number after the other."""
    batches = [encode_batch([level("metadata.version", 25)])]
    for i, value in enumerate(ODD, 1):
        quota = record(
            "ClientQuotaRecord", entity=[{"entity_type": "user", "entity_name": "u"}],
            key="consumer_byte_rate", value=value, remove=False,
        )  # fmt: skip
        batches.append(encode_batch([quota], base_offset=i))
    return metashell.open(make_directory(tmp_path, (0, b"".join(batches))))


def test_the_writer() -> None:
    """Numbers that JSON has not are texts, at any depth; everything else is as it was."""
    value = {"a": [math.nan, 1.5, {"b": (math.inf, -math.inf)}], "é": None, "t": True}

    assert '{"a": ["NaN", 1.5, {"b": ["Infinity", "-Infinity"]}], "é": null, "t": true}' == (
        to_json(value)
    )
    assert to_json(value, ascii_only=True).isascii()
    assert [None, 1.0] == finite([math.nan, 1.0], lambda _: None)
    with pytest.raises(TypeError):
        to_json({"x": object()})


@pytest.mark.parametrize(
    "line",
    [
        "diff -o json 0 3",
        "export --format json /image",
        "log --json",
        "stat --json /image/*",
        "check --json",
        "checksum --json --parts",
        *(f"{line} -o {form}" for form in ("json", "jsonl")
          for line in ("changes /image", "diff 1 2", "quotas", "log",
                       "sql 'select * from client_quotas'",
                       "sql 'select * from ClientQuotaRecord'")),
    ],
)  # fmt: skip
def test_every_json_is_json(source: Source, line: str) -> None:
    """None of the commands prints a bare NaN or Infinity."""
    ran = run_on(source, line)

    assert parsed(ran.out), ran.err


def test_changes_tell_odd_numbers_from_nothing(source: Source) -> None:
    """What was there is told by the texts that nodes print; null is for what was not."""
    rows = json.loads(run_on(source, "changes /image -o json").out)
    pairs = [[None, "NaN"], ["NaN", "Infinity"], ["Infinity", "-Infinity"], ["-Infinity", 1.5]]

    told = [one["fields"] for one in rows if "clientQuotas" in one["path"]]
    assert pairs == [next(iter(fields.values())) for fields in told[:4]]


def test_differences_tell_odd_numbers(source: Source) -> None:
    """On both sides."""
    (row,) = json.loads(run_on(source, "diff 1 2 -o json").out)

    assert {"value": ["NaN", "Infinity"]} == row["fields"]


def test_the_explorer(source: Source) -> None:
    """What it copies is JSON, and what it shows are the words without quotes."""
    value = {"a": math.nan, "b": [math.inf]}

    assert {"a": "NaN", "b": ["Infinity"]} == json.loads(_as_text(value), parse_constant=refuse)
    assert ["a  NaN", "b  [Infinity]"] == [line.text for line in value_lines(value)]
    assert "NaN" == value_text(math.nan)
    node = resolve(source.root, "/image/clientQuotas").node
    assert node is not None


@pytest.mark.slow
def test_no_other_writer() -> None:
    """Nothing that prints has a JSON writer of its own, beside Kafka's own form of records."""
    found = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "json"
                and node.attr in ("dumps", "dump", "JSONEncoder")
            ):
                found.add(path.relative_to(SRC).as_posix())
    assert OF_MACHINES == found
