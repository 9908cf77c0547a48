"""How parts are found, and what looking for one imports."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.errors import SchemaError
from metashell.fs.record_paths import forms_of
from metashell.parts.forms import form_of
from metashell.parts.known import (
    all_parts,
    check_part,
    coordinator_parts,
    find_part,
    part_names,
    parts_below,
    puts_by_record,
)
from metashell.parts.paths import check_path
from metashell.parts.spec import PartField, PartSpec, PathLevel, Put, RecordGroup, hook
from metashell.parts.view import PartView
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.schema.model import Registry, load_registry, parse_message
from support.waiting import LIMIT_S

SOURCE = Path(metashell.__file__).parent
RUN = """
import json, sys
from metashell.cli import main
try:
    status = main({words!r})
except SystemExit as stop:
    status = stop.code
assert not status, status
prefix = "metashell.parts.metadata."
json.dump([m.removeprefix(prefix) for m in sys.modules if m.startswith(prefix)], sys.stderr)
"""


def ran(code: str, *, path: Path | None = None) -> tuple[str, str]:
    """What code writes to stdout and stderr in a Python of its own."""
    first = "" if path is None else f"import sys; sys.path.insert(0, {str(path)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", first + code],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--help"], set()),
        (["demo", "ls", "/"], set()),
        (["demo", "cat", "/image/provenance"], {"partitions"}),
        (["demo", "cat", "/image/topics/byName/orders/0"], {"partitions", "topics"}),
        (["demo", "find", "/image/topics"], {"partitions", "topics"}),
        (["demo", "topics", "--count"], {"brokers", "partitions", "topics"}),
    ],
)
def test_only_parts_that_are_asked_for_are_imported(words: list[str], expected: set[str]) -> None:
    """What a command does not look at costs nothing."""
    assert expected == set(json.loads(ran(RUN.format(words=words))[1]))


@pytest.mark.slow
def test_parts_are_found_in_a_zip_file(tmp_path: Path) -> None:
    """Spark's executors get the package as one."""
    archive = shutil.make_archive(str(tmp_path / "metashell"), "zip", SOURCE.parent, SOURCE.name)
    code = (
        "import json; from metashell.parts import known;"
        "print(json.dumps([known.__file__, [part.name for part in known.all_parts()]]))"
    )
    file, names = json.loads(ran(code, path=Path(archive))[0])
    assert file.startswith(archive)
    assert [part.name for part in all_parts()] == names


def test_each_part_is_declared_in_the_module_of_its_name() -> None:
    """Its messages have definitions, its group is one, and its hooks are there."""
    registry = load_registry([])
    for name in part_names():
        part = find_part(name)
        assert name == part.name
        assert set(part.messages) <= set(registry.by_name)
        assert part.group in list(RecordGroup)
        said = (str(value) for value in vars(part).values())
        assert all(callable(hook(text)) for text in said if text.startswith("metashell."))


def test_each_part_of_a_coordinators_log_has_definitions_paths_and_hooks() -> None:
    """Each record type is of one part, whose path has the fields of its key."""
    types = {
        name: record_type
        for log in CoordinatorLog
        for name, record_type in load_record_types(log).by_name.items()
    }
    assert set(types) == set(puts_by_record())
    for name, (part, put) in puts_by_record().items():
        check_path(part, put, types[name])
        assert len(put.fields) == len(forms_of(types[name]))
        assert not put.whole or callable(hook(put.whole))
    for part in coordinator_parts().values():
        assert part.log in (*CoordinatorLog, "")
        said = (str(value) for value in vars(part).values())
        assert all(hook(text) is not None for text in said if text.startswith("metashell."))


def test_each_part_has_the_columns_that_it_names() -> None:
    """Its key and its fields are columns of the record that puts a thing."""
    registry = load_registry([])
    for part in all_parts():
        if any(isinstance(event, Put) for event in part.events):
            columns = {f.column_name for f in registry.by_name[part.put.message].fields}
            assert {field.column for field in part.fields} <= columns, part.name
            assert PartView(part, registry).key or not part.key


@pytest.mark.parametrize(
    ("key", "level", "expected"),
    [
        ("broker_id", "name", "the level name of its path is no column of its key, .* broker_id"),
        ("brokerId", "brokerId", "its key brokerId is no column of .*, which has broker_id,"),
        ("secret_name", "secret_name", "its key secret_name is secret"),
    ],
)
def test_a_declaration_that_cannot_work_says_so(key: str, level: str, expected: str) -> None:
    """The error names the part, the key and the level."""
    text = """{"apiKey": 1000, "type": "metadata", "name": "KeyedByRecord", "validVersions": "0",
        "fields": [{"name": "BrokerId", "type": "int32", "versions": "0+"},
                   {"name": "SecretName", "type": "string", "versions": "0+"}]}"""
    part = PartSpec(
        name="keyed_by",
        help="",
        group="configs",
        events=(Put("KeyedByRecord"),),
        key=(PartField(key),),
        path=("keyedBy",),
        levels=(PathLevel((level,)),),
    )
    with pytest.raises(SchemaError, match=f"part keyed_by: {expected}"):
        check_part(part)
        PartView(part, Registry([parse_message(text)]))


@pytest.mark.parametrize(
    ("wrong", "expected", "hint"),
    [
        ({"group": "gadgets"}, "its group is gadgets, and no group is", "one of topics, nodes,"),
        ({"group": ""}, "its group is empty, and no group is", "one of topics, nodes,"),
        ({"levels": ()}, "nothing names its leaves below /image/keyedBy", "levels="),
        ({"levels": (), "leaf": "all"}, "nothing names its leaves below", "broker_id"),
        ({"levels": (), "key": ()}, "nothing names its leaves below", "declare leaf"),
        ({"fields": (PartField("nam"),)}, "its field nam is no column of .*has name,", "name a c"),
    ],
)
def test_a_declaration_that_names_nothing_there_says_so(
    wrong: dict[str, Any], expected: str, hint: str
) -> None:
    """The error teaches which names there are."""
    given = {
        "group": "configs",
        "key": (PartField("broker_id"),),
        "levels": (PathLevel(("broker_id",)),),
    }
    part = PartSpec(
        name="keyed_by",
        help="",
        events=(Put("KeyedByRecord"),),
        path=("keyedBy",),
        **given | wrong,
    )
    text = """{"apiKey": 1000, "type": "metadata", "name": "KeyedByRecord", "validVersions": "0",
        "fields": [{"name": "Name", "type": "string", "versions": "0+"},
                   {"name": "BrokerId", "type": "int32", "versions": "0+"}]}"""
    with pytest.raises(SchemaError, match=f"part keyed_by: {expected}") as raised:
        check_part(part)
        PartView(part, Registry([parse_message(text)]))
    assert hint in str(raised.value.hint)


def test_a_form_that_is_not_there_says_so() -> None:
    """The error names the column, the form and those that there are."""
    spec = parse_message(
        """{"apiKey": 1000, "type": "metadata", "name": "XRecord", "validVersions": "0",
        "fields": [{"name": "BrokerId", "type": "int32", "versions": "0+"}]}"""
    )
    with pytest.raises(SchemaError, match="the form of broker_id is hexx, and no form") as raised:
        form_of("hexx", spec.fields[0])
    assert "one of" in str(raised.value.hint)


def test_parts_of_a_directory() -> None:
    """By the directory's name, whatever their own is; one that owns it is imported alone."""
    assert ["brokers", "controllers"] == [part.name for part in parts_below("cluster")]
    assert ["client_quotas"] == [part.name for part in parts_below("clientQuotas")]
    assert ["delegation_tokens"] == [part.name for part in parts_below("delegationToken")]
    assert ["topics"] == [part.name for part in parts_below("topics")]
    assert [] == parts_below("nothing")
