"""A made-up part of a coordinator's log is known to every command at once.

Definitions and the part's module are those of CONTRIBUTING's recipe; only tests set where parts are
looked for. A second part has a directory of its own in the root.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.answers.coordinator_tables import schema_of
from metashell.errors import SchemaError
from metashell.parts import coordinators
from metashell.parts.known import coordinator_parts, find_part, forget_parts, puts_by_record
from metashell.parts.paths import check_directories, check_path
from metashell.parts.spec import PartField, PartSpec
from metashell.parts.spec import Put as PutEvent
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.sources.opening import open_request
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source
from support.keyed_logs import START_MS, End, Put, commit, write_log
from support.logs import make_directory, topic_record
from support.pilot import Driver, drive, session_on
from support.shell import run_on

RECIPE = Path(__file__).parents[2] / "CONTRIBUTING.md"
SEVEN, EIGHT = "BwcHBwcHBwcHBwcHBwcHBw", "CAgICAgICAgICAgICAgICA"
NODE = f"/groups/g/gadgets/{SEVEN}"
WIDGETS = """
from metashell.parts.spec import PartDescription, PartSpec, Put

PART = PartSpec(
    name="widgets",
    help="Widgets.",
    log="__consumer_offsets",
    events=(Put("Widget", at="{name}"),),
    path=("widgets",),
    rows_by=("name",),
)
"""
GIZMOS = """
from metashell.parts.spec import NamedCodes, PartField, PartSpec, Put

PART = PartSpec(
    name="gizmos",
    help="Gizmos.",
    log="__consumer_offsets",
    events=(
        Put(
            "Gizmo",
            at="{group_id}/gizmos/{shelf}/{number}",
            fields=(PartField("color", "shade", NamedCodes(f"{__name__}:COLORS", "COLOR {}")),),
            waits=True,
        ),
    ),
    path=("groups",),
    rows_by=("group_id", "shelf", "number"),
)
COLORS = ("RED", "GREEN")
"""
GEARS = """
import numpy as np

from metashell.fs.node import FixedDirectory, TextLeaf
from metashell.image.coordinators.record_tables import part_table
from metashell.parts.spec import PartSpec

PART = PartSpec(
    name="gears",
    help="Gears.",
    path=("gears",),
    node=f"{__name__}:directory",
    table_columns="topic:string teeth:int32?",
    rows=f"{__name__}:rows",
    rows_by=("topic",),
)


def directory(source, told):
    return FixedDirectory({"t": lambda: TextLeaf(lambda: "teeth=8")})


def rows(source, report):
    for topic, teeth in ("u", -1), ("t", 8):
        yield part_table(PART, topic=topic, teeth=np.array([teeth], dtype=np.int32))
"""
KEY = """{"apiKey": 1001, "type": "coordinator-key", "name": "WidgetKey", "validVersions": "0",
    "flexibleVersions": "none", "fields": [
    {"name": "Name", "type": "string", "versions": "0"}]}"""
VALUE = """{"apiKey": 1001, "type": "coordinator-value", "name": "WidgetValue",
    "validVersions": "0", "flexibleVersions": "0+", "fields": [
    {"name": "Size", "type": "int32", "versions": "0+"},
    {"name": "SecretToken", "type": "string", "versions": "0+"}]}"""

_INT = '"type": "int32", "versions": "0+"'
_NAME = '"type": "string", "versions": "0"'
GIZMO = {
    "key": f'{{"name": "GroupId", {_NAME}}}, {{"name": "Shelf", {_NAME}}},'
    ' {"name": "Number", "type": "int32", "versions": "0"}',
    "value": f'{{"name": "Level", {_INT}}}, {{"name": "Color", "type": "int8", "versions": "0+"}}',
}


def definitions() -> Iterator[str]:
    """The definitions of records of gizmos."""
    for kind, fields in GIZMO.items():
        yield (
            f'{{"apiKey": 1002, "type": "coordinator-{kind}", "name": "Gizmo{kind.title()}",'
            f' "validVersions": "0", "flexibleVersions": "none", "fields": [{fields}]}}'
        )


def blocks(language: str) -> list[str]:
    """The code in a language that the recipe shows."""
    recipe = RECIPE.read_text(encoding="utf-8").partition("### Add a part of a coord")[2]
    return re.findall(rf"```{language}\n(.*?)```", recipe.partition("\n#")[0], flags=re.DOTALL)


@pytest.fixture
def schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the parts where parts are looked for, and give their definitions' directory."""
    parts, messages = tmp_path / "parts", tmp_path / "messages"
    parts.mkdir()
    messages.mkdir()
    for text in (*blocks("json"), KEY, VALUE, *definitions()):
        (messages / f"{json.loads(text)['name']}.json").write_text(text)
    (module,) = blocks("python")
    (parts / "gadgets.py").write_text(module)
    (parts / "widgets.py").write_text(WIDGETS)
    (parts / "gizmos.py").write_text(GIZMOS)
    (parts / "gears.py").write_text(GEARS)
    monkeypatch.setattr(coordinators, "__path__", [*coordinators.__path__, str(parts)])
    forget_parts()
    yield messages
    forget_parts()
    for name in ("gadgets", "gears", "gizmos", "widgets"):
        sys.modules.pop(f"{coordinators.__name__}.{name}", None)


def gadget(number: int, label: str | None, group: str = "g") -> Put:
    """A record of a gadget; with no label a tombstone."""
    value = None if label is None else {"label": label}
    return Put(
        name="GroupGadget", key={"group_id": group, "gadget_id": bytes([number]) * 16}, value=value
    )


def widget(name: str, size: int, token: str = "SESAME") -> Put:
    """A record of a widget."""
    return Put(name="Widget", key={"name": name}, value={"size": size, "secret_token": token})


@pytest.fixture
def opened(schemas: Path, tmp_path: Path) -> Source:
    """A node's logs: one gadget is changed and another removed, a topic made every second."""
    entries = [
        *(commit("g", "t", 1), gadget(7, "a"), gadget(8, "b"), gadget(1, "x", "nobody")),
        *(widget("w", 3), widget("v", 4), gadget(7, "c"), gadget(8, None)),
    ]
    return opened_with(schemas, tmp_path / "node", entries)


def opened_with(schemas: Path, node: Path, entries: Sequence[Put | End]) -> Source:
    """A node with a log of the group coordinator, and a topic made every second."""
    directory = node / "__consumer_offsets-0"
    directory.mkdir(parents=True)
    log = CoordinatorLog.GROUPS
    types = load_record_types(log, [schemas])
    write_log(directory / f"{0:020}.log", log, entries, types)
    topics = [
        encode_batch([topic_record(i)], base_offset=i, timestamp=START_MS + 1000 * i)
        for i in range(len(entries))
    ]
    make_directory(node, (0, b"".join(topics)))
    return metashell.open(node, schemas=[schemas])


def lines_of(source: Source, line: str) -> list[str]:
    """What a command that succeeds writes."""
    ran = run_on(source, line)
    assert (0, ()) == (ran.status, ran.err), line
    return ran.out.splitlines()


def test_tree_has_its_nodes(opened: Source) -> None:
    """Below the groups that there are, or in a directory of its own in the root."""
    assert {"groups", "widgets"} < set(lines_of(opened, "ls /"))
    assert ["g"] == lines_of(opened, "ls /groups")
    assert [SEVEN] == lines_of(opened, "ls /groups/g/gadgets")
    assert ["label=c"] == lines_of(opened, f"cat {NODE}")
    assert ["v", "w"] == lines_of(opened, "ls /widgets")
    assert ["size=3, secretToken=[redacted]"] == lines_of(opened, "cat /widgets/w")
    assert [f"{NODE}: label=c"] == lines_of(opened, "grep label=c /groups")
    assert ["/widgets/v: size=4, secretToken=[redacted]"] == lines_of(
        opened, "grep size=4 /widgets"
    )


def test_times_are_those_of_its_records(opened: Source) -> None:
    """Of a leaf, and of the directory that it is in."""
    told = json.loads(*lines_of(opened, f"stat -o jsonl {NODE}"))
    assert (6, "GROUP_GADGET") == (told["changed_offset"], told["changed_type"])
    told = json.loads(*lines_of(opened, "stat -o jsonl /widgets/w"))
    assert (4, 4) == (told["created_offset"], told["changed_offset"])
    assert [NODE] == lines_of(opened, "find /groups -type f -changed-since 6")
    assert ["2"] == lines_of(opened, "find /widgets -type f -count")


def test_changes_and_differences(opened: Source) -> None:
    """What each record did, told once; what differs between two moments."""
    told = lines_of(opened, "changes /groups/g/gadgets")
    assert [
        "created label a",
        "created label b",
        "label a → c",
        "removed",
    ] == [line.partition("/gadgets/")[2][len(SEVEN) :].strip() for line in told]
    assert ["4", "5"] == [line.split()[0] for line in lines_of(opened, "changes /widgets")]
    every = [line for line in lines_of(opened, "changes /") if "/image" not in line]
    assert 8 == len(every)
    ran = run_on(opened, "diff 5 7 /groups")
    wanted = [f"~ {NODE}  label a → c", f"- /groups/g/gadgets/{EIGHT}  label=b"]
    assert wanted == [line for line in ran.out.splitlines() if line[:1] in "~-"]


def test_checksum_has_it(opened: Source) -> None:
    """The digest of a tree changes with it."""
    now, then = (lines_of(one, "checksum /groups/g") for one in (opened, opened.at(5)))
    assert now != then


def test_tables(opened: Source) -> None:
    """`sql`, `export` and Python have the records that hold, and secrets in none."""
    tables = opened.coordinator_tables
    assert tables is not None
    assert {"gadgets", "widgets"} <= set(tables.states)
    rows = [json.loads(line) for line in lines_of(opened, "export gadgets")]
    wanted = [("g", SEVEN, "c", 6), ("nobody", "AQEBAQEBAQEBAQEBAQEBAQ", "x", 3)]
    columns = ("group_id", "gadget_id", "label", "offset")
    assert wanted == sorted(tuple(row[name] for name in columns) for row in rows)
    pytest.importorskip("duckdb")
    statement = '"select name, size, secret_token from widgets order by name"'
    assert ["name,size,secret_token", "v,4,[redacted]", "w,3,[redacted]"] == lines_of(
        opened, f"sql -o csv {statement}"
    )


def test_a_part_of_no_log_makes_its_directory_and_its_rows(opened: Source) -> None:
    """The source finds the hooks that it declares."""
    assert "gears" in lines_of(opened, "ls /")
    assert ["teeth=8"] == lines_of(opened, "cat /gears/t")
    rows = [json.loads(line) for line in lines_of(opened, "export gears")]
    assert [{"topic": "u", "teeth": None}, {"topic": "t", "teeth": 8}] == rows
    assert ["t", "u"] == opened.table("gears").column("topic").to_pylist()


def test_a_column_that_has_no_type_says_so() -> None:
    """The error names the part and the column, and which types there are."""
    part = replace(made_up("{g}", path="g"), table_columns="topic:string teeth:int31")
    with pytest.raises(SchemaError, match="part gadgets: its column 'teeth:int31' has no") as told:
        schema_of(part, {})
    assert "int64, or time or texts" in str(told.value.hint)


def partition_of(opened: Source, *, show_secrets: bool = False) -> Source:
    """The partition alone."""
    directory = Path(str(opened.log.place)).parent / "__consumer_offsets-0"
    settings = replace(opened.settings, show_secrets=show_secrets)
    found = open_request(OpenRequest(choice=Choice(str(directory)), settings=settings))
    assert isinstance(found, Source)
    return found


OF_LOG = ("log", "log -o jsonl", "log -o csv", "log --json", "log --type Widget -v")
OF_TREE = ("cat /widgets/*", "grep . /widgets", "changes /widgets", "changes -o jsonl /widgets")
OF_TABLES = ("export widgets", "export Widget", 'sql "from Widget"', 'sql "from widgets"')


def test_its_secrets_are_shown_nowhere(opened: Source) -> None:
    """A field with the name of a secret is in no output."""
    alone = partition_of(opened)
    every = [(alone, line) for line in (*OF_LOG, *OF_TREE, *OF_TABLES)]
    for source, line in (*every, (opened, "diff 3 5 /widgets"), (opened, "export widgets")):
        ran = run_on(source, line)
        assert ran.out, line
        assert "SESAME" not in ran.out + str(ran.err), line


def test_a_changed_secret_is_a_change(schemas: Path, tmp_path: Path) -> None:
    """Nobody is told that nothing changed where only a secret did."""
    entries = [widget("w", 3, "SESAME 1"), widget("w", 3, "SESAME 2"), widget("w", 3, "SESAME 2")]
    source = opened_with(schemas, tmp_path / "node", entries)
    lines = lines_of(source, "changes /widgets")
    told = [line.partition("/widgets/w")[2].strip() for line in lines]
    hidden = "[redacted]"
    assert [
        f"created size 3, secretToken {hidden}",
        f"secretToken {hidden} → {hidden}",
        "written again, unchanged",
    ] == told


def test_its_secrets_are_shown_where_they_are_asked_for(opened: Source) -> None:
    """In the tree, in changes and tables, as in the log."""
    shown = partition_of(opened, show_secrets=True)
    for line in ("log", "cat /widgets/w", "changes /widgets", "export widgets"):
        assert "SESAME" in run_on(shown, line).out, line


@pytest.mark.long
def test_explorer_shows_it(opened: Source) -> None:
    """Its node is in the tree and its text beside it."""

    async def test(driver: Driver) -> None:
        driver.app.go(NODE)
        await driver.settled()
        screen = " ".join(driver.screen().split())
        assert all(text in screen for text in ("gadgets/", "label c"))

    drive(test, session_on(lambda: opened), size=(160, 48))


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("{group_id}/gadgets/{gadget}", "gadget is not in the key of GroupGadget"),
        ("{group_id}/gadgets", "gadget_id is not in the path of GroupGadget"),
        ("{gadget_id}/{group_id}", "no string begins both the path and the key of GroupGadget"),
    ],
)
def test_a_path_that_cannot_work_says_so(schemas: Path, at: str, expected: str) -> None:
    """The error names the part, the field and the path."""
    record_type = load_record_types(CoordinatorLog.GROUPS, [schemas]).by_name["GroupGadget"]
    with pytest.raises(SchemaError, match=f"part gadgets: {expected}: the path is {at},"):
        check_path(find_part("gadgets", coordinators), PutEvent("GroupGadget", at=at), record_type)


FIELD = "part gadgets: its field labels is no column of GroupGadgetValue, which has label"

HINT = "name a column of GroupGadgetValue, or add labels to its definition"


@pytest.mark.parametrize(
    "line", ["ls /groups", "cat /groups/g/state", "find /groups", "export gadgets"]
)
def test_a_field_that_no_record_has_says_so(schemas: Path, tmp_path: Path, line: str) -> None:
    """The error names the part, the field, those that there are, and the next step."""
    module = schemas.parent / "parts" / "gadgets.py"
    text = module.read_text().replace("PartSpec, Put", "PartField, PartSpec, Put")
    module.write_text(text.replace('}"),', '}", fields=(PartField("labels"),)),'))
    ran = run_on(opened_with(schemas, tmp_path / "node", [gadget(7, "a")]), line)
    assert 0 < ran.status <= 2
    assert ran.err[0].endswith(FIELD)
    assert (f"  hint: {HINT}",) == ran.err[1:]


def test_a_field_that_a_definition_of_a_user_lacks_is_left_out() -> None:
    """Kafka's own definition has it, so the declaration is right."""
    types = load_record_types(CoordinatorLog.GROUPS)
    part, put = puts_by_record()["ConsumerGroupCurrentMemberAssignment"]
    record_type = types.by_name[put.message]
    fields = tuple(field for field in record_type.value.fields if field.column_name != "state")
    check_path(part, put, replace(record_type, value=replace(record_type.value, fields=fields)))


def made_up(at: str, *more: str, path: str = "share", log: str = CoordinatorLog.SHARE) -> PartSpec:
    """A declaration of a part whose nodes have some paths."""
    events = tuple(PutEvent(f"Gadget{i}", at=each) for i, each in enumerate((at, *more)))
    return PartSpec(name="gadgets", help="", log=log, events=events, path=(path,))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            made_up("{group_id}/gadgets/{gadget_id}"),
            r"share/{group_id}/gadgets/{gadget_id}.*ShareSnapshot of share_partitions",
        ),
        (made_up("{group_id}"), "Gadget0 has the path share/{group_id}, which may be that of"),
        (made_up("{g}/{topic}/{number}"), "Gadget0 has the path share/{g}/{topic}/{number}, which"),
        (made_up("{g}/a/{b}/{c}", "{g}/a/{b}/{c}", path="g"), "Gadget1 has .*, which may be that"),
        (made_up("{g}", path="groups"), "groups is of __consumer_offsets, and of __share_gr"),
        (made_up("{g}", path="producers"), "producers is of no log, and of __share_group_state"),
        (made_up("{g}", path="image"), "its path 'image' is no directory of the root, or one that"),
        (made_up("{g}", path="g", log="gadgets"), "no coordinator writes gadgets"),
        (made_up("", path="g"), "the path of Gadget0 is 'empty'"),
        (made_up("{g}", path="g", log=""), "it is of no log, and names no rows"),
        (
            replace(made_up("{g}", path="g"), table_columns="g:string"),
            "it declares one of table_columns and rows, which go together",
        ),
        (made_up("gadgets/{g}", path="g"), "the path of Gadget0 is 'gadgets/{g}'"),
        (made_up("{g}/", path="g"), "the path of Gadget0 is '{g}/'"),
    ],
)
def test_a_part_that_cannot_stand_beside_others_says_so(part: PartSpec, expected: str) -> None:
    """The error names both parts and both paths."""
    with pytest.raises(SchemaError, match=expected):
        check_directories([*coordinator_parts().values(), part])


@pytest.mark.parametrize(
    ("put", "expected"),
    [
        (
            PutEvent("Gadget", at="{g}/a/{b}", waits=True),
            "Gadget waits, but its leaves are no table",
        ),
        (PutEvent("Gadget", at="{g}/a", onto="Gizmo"), "Gadget changes what other records wrote"),
        (PutEvent("Gadget", at="{g}/a", whole="x:y"), "Gadget changes what other records wrote"),
        (
            PutEvent("Gadget", at="{g}", fields=(PartField("b", secret=True),)),
            "a field of Gadget is declared secret, which hides it nowhere",
        ),
    ],
)
def test_an_event_that_cannot_work_says_so(put: PutEvent, expected: str) -> None:
    """The error names the part and the record."""
    part = replace(made_up("{g}", path="g"), events=(put,))
    with pytest.raises(SchemaError, match=f"part gadgets: {expected}"):
        check_directories([*coordinator_parts().values(), part])


def test_columns_that_nothing_gives_say_so() -> None:
    """The error names the part and what it lacks."""
    part = replace(made_up("{g}", path="g"), asked_for=("lag",))
    with pytest.raises(SchemaError, match="part gadgets: nothing gives its columns of asked_for"):
        check_directories([*coordinator_parts().values(), part])


def test_a_second_fold_says_so() -> None:
    """The parts of a directory have one fold."""
    part = replace(made_up("{g}/gadgets"), path=("groups",), log=CoordinatorLog.GROUPS, fold="x:y")
    with pytest.raises(SchemaError, match="groups has the fold of gadgets already"):
        check_directories([*coordinator_parts().values(), part])


def test_a_part_without_a_definition_says_so(opened: Source) -> None:
    """In the tree and in its table."""
    known = opened.settings.schemas
    without = replace(opened.settings, schemas=())
    assert known
    directory = str(Path(str(opened.log.place)).parent)
    source = open_request(OpenRequest(choice=Choice(directory), settings=without))
    assert isinstance(source, Source)
    for line in ("ls /widgets", "ls /groups", "export widgets"):
        ran = run_on(source, line)
        assert ran.status, line
        assert "no definition of" in str(ran.err), line


def gizmo(shelf: str, number: int, level: int | None, color: int = 0, producer: int = -1) -> Put:
    """A record of a gizmo; with no level a tombstone."""
    key = {"group_id": "g", "shelf": shelf, "number": number}
    value = None if level is None else {"level": level, "color": color}
    return Put(name="Gizmo", key=key, value=value, producer_id=producer)


def classic() -> Put:
    """A classic group as a whole."""
    value = {"protocol_type": "consumer", "generation": 1}
    return Put(name="GroupMetadata", key={"group": "g"}, value=value)


@pytest.fixture
def many(schemas: Path, tmp_path: Path) -> Source:
    """Gizmos on two shelves, more than are asked one by one; a gizmo waits, another did."""
    entries: list[Put | End] = [commit("g", "t", 1)]
    entries += [gizmo("a", i, i, i % 3) for i in range(40)]
    entries += [gizmo("b", 0, 7), gizmo("b", 1, 8), gizmo("b", 1, None)]
    entries += [gizmo("b", 0, 9, producer=5), End(5), gizmo("b", 2, 6, 1, producer=5)]
    entries += [gizmo("b", 3, 5, producer=6), End(6, is_commit=False), gadget(7, "a"), classic()]
    return opened_with(schemas, tmp_path / "many", entries)


SHELVES = "/groups/g/gizmos"


def test_nodes_named_by_two_columns_are_a_table(many: Source) -> None:
    """Of any part, with texts and times as those of other tables; what waits is apart."""
    assert ["a", "b"] == lines_of(many, f"ls {SHELVES}")
    assert ["0", "2"] == lines_of(many, f"ls {SHELVES}/b")
    assert ["level=9, shade=RED"] == lines_of(many, f"cat {SHELVES}/b/0")
    assert ['pending=[{"level": 6, "shade": "GREEN"}]'] == lines_of(many, f"cat {SHELVES}/b/2")
    texts = [f"level={i}, shade={('RED', 'GREEN', 'COLOR 2')[i % 3]}" for i in range(40)]
    ran = lines_of(many, f"grep -h level {SHELVES}/a")
    assert sorted(texts) == sorted(ran)


def test_times_of_a_table(many: Source) -> None:
    """`ls -l`, `stat` and `find` have those of its records, and of the commit's record."""
    (line,) = (line for line in lines_of(many, f"ls -l {SHELVES}/b") if line.endswith("0"))
    assert "GIZMO" in line
    told = json.loads(*lines_of(many, f"stat -o jsonl {SHELVES}/b/0"))
    assert (41, 44) == (told["created_offset"], told["changed_offset"])
    found = lines_of(many, f"find {SHELVES} -type f -changed-since 40")
    assert [f"{SHELVES}/a/39", f"{SHELVES}/b/0", f"{SHELVES}/b/2"] == found
    assert ["42"] == lines_of(many, f"find {SHELVES} -type f -count")


def test_changes_of_a_table(many: Source) -> None:
    """A record in a transaction is told when it is written and when the transaction ends."""
    told = lines_of(many, f"changes {SHELVES}/b/0")
    assert ["created level 7, shade RED", "pending none → 9", "level 7 → 9, pending 9 → none"] == [
        re.sub(r"producerId [^,]*, |, producerId.*", "", line.partition("/b/0")[2].strip())
        for line in told
    ]
    assert ["created level 8, shade RED", "removed"] == [
        line.partition("/b/1")[2].strip() for line in lines_of(many, f"changes {SHELVES}/b/1")
    ]


def test_a_group_written_whole_takes_no_part_along(many: Source) -> None:
    """A classic group takes its members along, and leaves parts that are declared beside them."""
    assert [SEVEN] == lines_of(many, "ls /groups/g/gadgets")
    told = lines_of(many, "changes /groups/g/gadgets")
    assert ["created label a"] == [line.partition(SEVEN)[2].strip() for line in told]


def test_difference_digest_check_and_table(many: Source) -> None:
    """Every other answer has them as well."""
    ran = run_on(many, f"diff 41 45 {SHELVES}")
    assert f"~ {SHELVES}/b/0  level 7 → 9" in ran.out
    now, then = (lines_of(one, f"checksum {SHELVES}") for one in (many, many.at(42)))
    assert now != then
    rows = [json.loads(line) for line in lines_of(many, "export gizmos")]
    found = [(row["shelf"], row["number"], row["level"]) for row in rows]
    assert [*(("a", i, i) for i in range(40)), ("b", 0, 9)] == sorted(found)
    assert run_on(many, "check").status == 0
