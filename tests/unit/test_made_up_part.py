"""A part that is made up, as CONTRIBUTING says to add one, is known to every command at once.

Definitions and the part's module are those of the recipe; only tests set where parts are looked
for.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name
from metashell import redact
from metashell.checks.digest import image_digest, part_digests
from metashell.parts import metadata
from metashell.parts.known import forget_parts
from metashell.parts.spec import RecordGroup
from metashell.records.density import group_of
from metashell.redact import Redaction
from metashell.reduced.table import records_of, whole_table
from metashell.schema.encode import encode_record
from metashell.schema.model import Registry, load_registry
from metashell.schema.rows import to_rows
from metashell.sources.source import Source
from support import made_up_offsets
from support.implementations import IMPLEMENTATIONS, implemented_by
from support.logs import make_directory, topic_record
from support.pilot import Driver, drive, session_on
from support.reduced import facts_of
from support.shell import run_on

RECIPE = Path(__file__).parents[2] / "CONTRIBUTING.md"
ONE, TWO = "AQEBAQEBAQEBAQEBAQEBAQ", "AgICAgICAgICAgICAgICAg"
NODE = f"/image/gadgets/{ONE}"
TEXT = "Gadget(label=c, weights=[1, 2], enabled=false)"


def blocks(language: str) -> list[str]:
    """The code in a language that the recipe shows."""
    recipe = RECIPE.read_text(encoding="utf-8").partition("### Add a part")[2].partition("\n#")[0]
    return re.findall(rf"```{language}\n(.*?)```", recipe, flags=re.DOTALL)


@pytest.fixture
def schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the recipe's part where parts are looked for, and give its definitions' directory."""
    parts, messages = tmp_path / "parts", tmp_path / "messages"
    parts.mkdir()
    messages.mkdir()
    for text in blocks("json"):
        (messages / f"{json.loads(text)['name']}.json").write_text(text)
    for text in made_up_offsets.MESSAGES:
        (messages / f"{json.loads(text)['name']}.json").write_text(text)
    (module,) = blocks("python")
    (parts / "gadgets.py").write_text(module)
    (parts / "offsets.py").write_text(made_up_offsets.MODULE)
    monkeypatch.setattr(metadata, "__path__", [*metadata.__path__, str(parts)])
    forget_parts()
    yield messages
    forget_parts()
    for name in ("gadgets", "offsets"):
        sys.modules.pop(f"{metadata.__name__}.{name}", None)


def made(registry: Registry, name: str, /, **fields: object) -> bytes:
    """Encode one of the made-up records."""
    spec = registry.by_name[name]
    return encode_record(spec, spec.versions.high, fields)


@pytest.fixture
def directory(schemas: Path, tmp_path: Path) -> Path:
    """A log that makes two gadgets, changes the one and removes the other."""
    registry = load_registry([schemas])

    def put(i: int, label: str, *, enabled: bool) -> bytes:
        return made(
            registry,
            "GadgetRecord",
            gadget_id=bytes([i]) * 16,
            label=label,
            weights=[1, 2],
            enabled=enabled,
        )

    first = [topic_record(1), put(1, "a", enabled=True), put(2, "b", enabled=True)]
    removed = made(registry, "RemoveGadgetRecord", gadget_id=bytes([2]) * 16)
    second = [put(1, "c", enabled=False), removed]
    data = encode_batch(first, base_offset=0) + encode_batch(second, base_offset=3)
    return make_directory(tmp_path, (0, data))


@pytest.fixture
def source(directory: Path, schemas: Path) -> Source:
    """The same, opened."""
    return metashell.open(directory, schemas=[schemas])


def lines_of(source: Source, line: str) -> list[str]:
    """What a command that succeeds writes."""
    ran = run_on(source, line)
    assert (0, ()) == (ran.status, ran.err), line
    return ran.out.splitlines()


def test_tree_has_its_nodes(source: Source) -> None:
    """It stands among the parts, with a leaf of its fields for each thing."""
    assert "gadgets" in lines_of(source, "ls /image")
    assert [ONE] == lines_of(source, "ls /image/gadgets")
    assert [TEXT] == lines_of(source, f"cat {NODE}")
    assert [f"{ONE}:", f"  {TEXT}"] == lines_of(source, "tree /image/gadgets")
    assert [f"{NODE}: {TEXT}"] == lines_of(source, "grep label=c /image")


def test_times_are_those_of_its_records(source: Source) -> None:
    """A leaf changed with its last record; the directory with a removal, too."""
    (listed,) = lines_of(source, "ls -l /image/gadgets")
    assert ["3", "1", "GADGET_RECORD", ONE] == listed.split()[-4:]
    told = json.loads(*lines_of(source, f"stat -o jsonl {NODE}"))
    assert (1, 3) == (told["created_offset"], told["changed_offset"])
    told = json.loads(*lines_of(source, "stat -o jsonl /image/gadgets"))
    assert (4, "REMOVE_GADGET_RECORD") == (told["changed_offset"], told["changed_type"])


def test_find_knows_names_kinds_times_and_texts(source: Source) -> None:
    """What `find` asks of any node."""
    assert [NODE] == lines_of(source, "find /image -name AQEB*")
    assert [NODE] == lines_of(source, "find /image/gadgets -type f -changed-since 3")
    assert [] == lines_of(source, "find /image/gadgets -type f -changed-before 3")
    assert ["1"] == lines_of(source, "find /image/gadgets -type f -count")


def test_log_and_timeline_know_its_records(source: Source) -> None:
    """Records by type, and what they are about."""
    found = lines_of(source, "log --type GadgetRecord")
    assert ["1", "2", "3"] == [line.split()[0] for line in found]
    assert RecordGroup.CONFIGS is group_of(1000, source.registry)
    rows = [json.loads(line) for line in lines_of(source, "stats --section timeline -o jsonl")]
    assert 4 == sum(row["configs"] for row in rows)


BADGE = """{"apiKey": 1004, "type": "metadata", "name": "BadgeRecord", "validVersions": "0",
    "flexibleVersions": "0+", "fields": [
    {"name": "BrokerId", "type": "int32", "versions": "0+"}]}"""


def test_log_finds_records_of_a_broker(schemas: Path, tmp_path: Path) -> None:
    """By a field of that name, whatever the record is."""
    (schemas / "BadgeRecord.json").write_text(BADGE)
    registry = load_registry([schemas])
    values = [made(registry, "BadgeRecord", broker_id=broker) for broker in (7, 8, 7)]
    directory = make_directory(tmp_path, (0, encode_batch(values, base_offset=0)))
    source = metashell.open(directory, schemas=[schemas])
    found = lines_of(source, "log --broker 7")
    assert ["0", "2"] == [line.split()[0] for line in found]


def test_export_as_commands_says_that_it_leaves_it_out(source: Source) -> None:
    """Nothing is known that makes it again."""
    for form in ("kafka-cli", "strimzi"):
        ran = run_on(source, f"export --as {form}")
        assert 1 == ran.status
        assert "# left out: 1 of gadgets: nothing makes them again" in ran.out


SHOWN = (
    *("log", "log --json", "log -o jsonl", "log -o csv", "log --type GadgetRecord -v"),
    *("cat /image/gadgets/*", "ls -l /image/gadgets", "tree /image", "grep . /image/gadgets"),
    *("changes /image/gadgets -v", "diff 0 1", "export gadgets", "export GadgetRecord"),
    *('sql "from records"', 'sql "from GadgetRecord"', 'sql "from gadgets"'),
)


SECRETIVE = """{"apiKey": 1000, "type": "metadata", "name": "GadgetRecord", "validVersions": "0",
    "flexibleVersions": "0+", "fields": [
    {"name": "GadgetId", "type": "uuid", "versions": "0+"},
    {"name": "Label", "type": "string", "versions": "0+"},
    {"name": "SecretToken", "type": "string", "versions": "0+"},
    {"name": "PrivateNumber", "type": "int32", "versions": "0+"},
    {"name": "Logins", "type": "[]Login", "versions": "0+", "fields": [
        {"name": "UserPassword", "type": "string", "versions": "0+"}]}]}"""


def declare(tmp_path: Path, old: str, new: str) -> None:
    """Change the declaration of gadgets before it is first read."""
    module = tmp_path / "parts" / "gadgets.py"
    text = module.read_text()
    assert old in text
    module.write_text(text.replace(old, new))


def test_a_table_hides_secrets_that_the_declaration_does_not_name(
    schemas: Path, tmp_path: Path
) -> None:
    """A table has all columns of the record, whichever fields its texts have."""
    (schemas / "GadgetRecord.json").write_text(SECRETIVE)
    declare(tmp_path, 'path=("gadgets",),', 'path=("gadgets",), fields=(PartField("label"),),')
    fields = {"label": "c", "secret_token": "SESAME", "private_number": 1, "logins": []}
    record = made(load_registry([schemas]), "GadgetRecord", gadget_id=bytes([1]) * 16, **fields)
    directory = make_directory(tmp_path, (0, encode_batch([record], base_offset=0)))
    opened = metashell.open(directory, schemas=[schemas])
    assert ["Gadget(label=c)"] == lines_of(opened, f"cat {NODE}")
    assert "[redacted]" == opened.table("gadgets")["secret_token"][0].as_py()
    for line in SHOWN:
        assert "SESAME" not in run_on(opened, line).out, line


LACKING = (
    *("ls /image/gadgets", f"cat {NODE}", "find /image", "changes /image/gadgets", "diff 0 0"),
    *("health", "check", "checksum --parts", "export gadgets", 'sql "from gadgets"'),
)


def test_a_key_that_the_record_lacks_says_so(schemas: Path, tmp_path: Path) -> None:
    """The declaration's error is told by whatever needs the part."""
    declare(tmp_path, '(PartField("gadget_id"),)', '(PartField("serial"),)')
    declare(tmp_path, 'PathLevel(("gadget_id",))', 'PathLevel(("serial",))')
    directory = make_directory(tmp_path, (0, encode_batch([topic_record(1)], base_offset=0)))
    source = metashell.open(directory, schemas=[schemas])
    why = "part gadgets: its key serial is no column of GadgetRecord, which has gadget_id, label"
    for line in LACKING:
        ran = run_on(source, line)
        assert 0 != ran.status, line
        assert why in str(ran.err), line


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_fields_with_the_name_of_a_secret_are_shown_nowhere(
    schemas: Path, tmp_path: Path, implementation: str
) -> None:
    """A new definition's field is hidden by a word in its name, or in that of a field in it."""
    (schemas / "GadgetRecord.json").write_text(SECRETIVE)
    fields = {
        "gadget_id": bytes([1]) * 16,
        "label": "c",
        "secret_token": "SESAME",
        "private_number": 918273645,
        "logins": [{"user_password": "SESAME"}],
    }
    values = [topic_record(1), made(load_registry([schemas]), "GadgetRecord", **fields)]
    data = b"".join(encode_batch([v], base_offset=i) for i, v in enumerate(values))
    with implemented_by(implementation):
        opened = metashell.open(make_directory(tmp_path, (0, data)), schemas=[schemas])
        for line in SHOWN:
            ran = run_on(opened, line)
            assert ran.out, line
            for secret in ("SESAME", "918273645"):
                assert secret not in ran.out + str(ran.err), line
    assert "label=c, secretToken=[redacted]" in run_on(opened, f"cat {NODE}").out
    records = opened.image.records
    kept = whole_table(records, Redaction(), 0)
    assert b"SESAME" not in b"".join(kept["value"].to_pylist())
    again = records_of([kept], facts_of(records.loaded), opened.registry)
    _, columns = again.columns("GadgetRecord")
    found = [(row["label"], row["private_number"]) for row in to_rows(columns)]
    assert [("c", 0)] == found


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_its_secrets_are_shown_nowhere(
    schemas: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, implementation: str
) -> None:
    """A field that is secret of its records is in no output."""
    secrets = {**redact._SECRET_FIELDS, "GadgetRecord": frozenset({"label"})}
    monkeypatch.setattr(redact, "_SECRET_FIELDS", secrets)
    gadget = {"gadget_id": bytes([1]) * 16, "weights": [1, 2], "enabled": True}
    registry = load_registry([schemas])
    values = [topic_record(1), made(registry, "GadgetRecord", label="SESAME", **gadget)]
    data = b"".join(encode_batch([v], base_offset=i) for i, v in enumerate(values))
    directory = make_directory(tmp_path, (0, data))
    with implemented_by(implementation):
        source = metashell.open(directory, schemas=[schemas])
        for line in SHOWN:
            ran = run_on(source, line)
            assert ran.out, line
            assert "SESAME" not in ran.out + str(ran.err), line


def test_changes_tell_what_each_record_did(source: Source) -> None:
    """From what to what, by Kafka's names."""
    ran = run_on(source, "changes /image/gadgets")
    assert 0 == ran.status
    told = [line.rpartition(ONE)[2] for line in ran.out.splitlines() if ONE in line]
    assert [
        "  created label a, weights [1,2], enabled true",
        "  label a → c, enabled true → false",
    ] == told
    assert ran.out.endswith(f"/image/gadgets/{TWO}  removed\n")


def test_diff_names_what_differs(source: Source) -> None:
    """Each thing with its fields, and how many of the part."""
    ran = run_on(source, "diff 2 4")
    assert 1 == ran.status
    assert f"~ {NODE}  label a → c, enabled true → false" in ran.out
    assert f"- /image/gadgets/{TWO}  Gadget(label=b," in ran.out
    assert ["gadgets", "+0", "-1", "~1"] == run_on(source, "diff --stat 2 4").out.split()


def test_checksum_has_it(source: Source) -> None:
    """It has a digest of its own, which changes with it."""
    assert "gadgets" in [line.split("  ")[1] for line in lines_of(source, "checksum --parts")]
    before = part_digests(source.at(3).image, Redaction())
    after = part_digests(source.image, Redaction())
    assert ["gadgets"] == [name for name in after if before[name] != after[name]]


def test_digest_of_an_image_without_it_stays(directory: Path, schemas: Path) -> None:
    """A part that is empty changes no digest that was written down before there was one."""
    empty = part_digests(metashell.open(directory, schemas=[schemas]).at(0).image, Redaction())
    known = {name: digest for name, digest in empty.items() if name not in ("gadgets", "offsets")}
    assert len(empty) == len(known) + 2
    assert image_digest(known) == image_digest(empty)
    with_gadgets = part_digests(metashell.open(directory, schemas=[schemas]).image, Redaction())
    assert image_digest(known | {"gadgets": with_gadgets["gadgets"]}) != image_digest(known)


def test_check_replays_it(directory: Path, schemas: Path) -> None:
    """A checkpoint that says otherwise differs in it, by path; a senseless record is a fault."""
    registry = load_registry([schemas])
    wrong = [made(registry, "RemoveGadgetRecord", gadget_id=bytes([7]) * 16)]
    checkpoint = directory / checkpoint_name(5, 0)
    checkpoint.write_bytes(checkpoint_bytes([topic_record(1), *wrong]))
    out = " ".join(run_on(metashell.open(directory, schemas=[schemas]), "check").out.split())
    assert f"it differs in gadgets; first at {NODE}" in out
    assert "gadget can't be removed: no such gadget" in out


def test_table_is_in_every_engine(source: Source, tmp_path: Path) -> None:
    """`Source.table`, `export` and `sql` have the same rows."""
    expected = {"gadget_id": ONE, "label": "c", "weights": [1, 2], "enabled": False}
    (row,) = source.table("gadgets").to_pylist()
    assert expected == {name: row[name] for name in expected}
    assert (1, 3) == (row["created_offset"], row["changed_offset"])
    (exported,) = map(json.loads, lines_of(source, "export gadgets --format jsonl"))
    assert expected == {name: exported[name] for name in expected}
    pytest.importorskip("duckdb")
    assert ["label,enabled", "c,false"] == lines_of(
        source, 'sql -o csv "select label, enabled from gadgets"'
    )


@pytest.mark.long
def test_explorer_shows_it(directory: Path, schemas: Path) -> None:
    """Its node is in the tree and its text beside it."""

    async def test(driver: Driver) -> None:
        driver.app.go(NODE)
        await driver.settled()
        screen = " ".join(driver.screen().split())
        assert "├ ▾ gadgets/" in screen
        assert all(text in screen for text in ("label c", "weights [1, 2]", "enabled false"))

    drive(test, session_on(lambda: metashell.open(directory, schemas=[schemas])), size=(160, 48))


def test_part_with_a_fold_of_its_own_derives_the_rest(schemas: Path, tmp_path: Path) -> None:
    """Offsets that are pending, committed, overtaken and removed: all but the rules is derived."""
    registry = load_registry([schemas])

    def commit(partition: int, offset: int, producer_id: int = -1) -> bytes:
        fields = {"group": "g", "topic": "t", "partition": partition, "offset": offset}
        return made(registry, "OffsetRecord", producer_id=producer_id, **fields)

    def marker(producer_id: int, *, is_commit: bool) -> bytes:
        return made(registry, "OffsetMarkerRecord", producer_id=producer_id, is_commit=is_commit)

    values = [
        *(commit(0, 1), commit(0, 2, 7), commit(1, 3, 7), commit(2, 4, 8), commit(0, 5)),
        *(marker(7, is_commit=True), marker(8, is_commit=False), commit(3, 6), commit(3, -1)),
    ]
    data = b"".join(encode_batch([v], base_offset=i) for i, v in enumerate(values))
    source = metashell.open(make_directory(tmp_path, (0, data)), schemas=[schemas])
    base = "/image/offsets/g"
    assert [f"{base}/t-0", f"{base}/t-1"] == lines_of(source, "find /image/offsets -type f")
    assert ["5", "3"] == lines_of(source, f"cat {base}/t-0 {base}/t-1")
    assert [f"{base}/t-1"] == lines_of(source, "find /image/offsets -type f -changed-since 5")
    rows = source.table("offsets").select(["partition", "offset", "changed_offset"]).to_pylist()
    assert [(0, 5, 4), (1, 3, 5)] == [tuple(row.values()) for row in rows]
    assert f"+ {base}/t-1  3" in run_on(source, "diff 4 8").out
    told = run_on(source, "changes /image/offsets").out.splitlines()
    assert ["0", "4", "5", "7", "8"] == [line.split()[0] for line in told]
    before, after = (part_digests(s.image, Redaction()) for s in (source.at(4), source))
    assert ["offsets"] == [name for name in after if before[name] != after[name]]
