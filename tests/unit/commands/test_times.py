"""ls -l, stat and the time tests of find: what they print, sort and choose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name
from metashell.fs.node import Directory
from metashell.fs.nodes.root import ImageDirectory
from metashell.fs.walk import GridVisit, walk
from metashell.image.touched import Moments
from metashell.sources.source import Source
from support.fixtures import fixture
from support.logs import make_directory, record, topic_batch, topic_record
from support.shell import run_on
from support.tree import session

BY_NAME = "/image/topics/byName"
TIME = 1_790_000_000_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Topics t0 to t4 in a checkpoint of end offset 5, t5 and t6 behind it; then t1 is removed."""
    directory = make_directory(
        tmp_path_factory.mktemp("made"),
        (
            5,
            encode_batch([topic_record(5), topic_record(6)], base_offset=5, timestamp=TIME)
            + encode_batch(
                [record("RemoveTopicRecord", topic_id=(1).to_bytes(16, "big"))],
                base_offset=7,
                leader_epoch=3,
                timestamp=TIME + 60_000,
            ),
        ),
    )
    (directory / checkpoint_name(5, 2)).write_bytes(
        checkpoint_bytes([topic_record(i) for i in range(5)], epoch=2, timestamp=TIME - 60_000)
    )
    return metashell.open(directory)


def lines(source: Source, line: str) -> list[str]:
    """Output of a command that succeeds."""
    ran = run_on(source, line)
    assert ran.status == 0, ran.err
    return ran.out.splitlines()


def test_long(made: Source) -> None:
    """Columns align; what the checkpoint tells is marked; what no record tells is a dash."""
    assert lines(made, f"ls -l {BY_NAME}") == [
        "d                      <=4 - - TOPIC_RECORD t0",
        "d                      <=4 - - TOPIC_RECORD t2",
        "d                      <=4 - - TOPIC_RECORD t3",
        "d                      <=4 - - TOPIC_RECORD t4",
        "d 2026-09-21T14:13:20.000Z 5 1 TOPIC_RECORD t5",
        "d 2026-09-21T14:13:20.000Z 6 1 TOPIC_RECORD t6",
    ]
    assert lines(made, "ls -l /local") == ["- - - - - commitId", "- - - - - version"]
    assert lines(made, f"ls -l {BY_NAME}/t5/id") == [
        f"- 2026-09-21T14:13:20.000Z 5 1 TOPIC_RECORD {BY_NAME}/t5/id"
    ]


def test_files_have_a_size_and_their_last_record(made: Source) -> None:
    """Bytes, and where and when the last record is; of a checkpoint the last that it holds."""
    names = ["00000000000000000005-0000000002.checkpoint", "00000000000000000005.log"]
    log, checkpoint = (made.root.child("log").child(name).value() for name in names[::-1])
    sizes = [str(file["sizeBytes"]).rjust(3) for file in (checkpoint, log)]
    assert lines(made, "ls -l /log") == [
        f"- {sizes[0]} 2026-09-21T14:12:20.000Z 4 2 checkpoint {names[0]}",
        f"- {sizes[1]} 2026-09-21T14:14:20.000Z 7 3 segment    {names[1]}",
        "-   - " + " " * 23 + "- - - -          faults",
    ]
    assert lines(made, "ls -lt /log")[0].endswith(names[1])
    rows = json.loads(run_on(made, "ls -o json /log /image").out)
    assert [int(sizes[0]), int(sizes[1]), None] == [row["size"] for row in rows[:3]]
    assert {None} == {row["size"] for row in rows[3:]}


def test_removals_count(made: Source) -> None:
    """The newest change of a directory may be the removal of a child."""
    assert lines(made, f"ls -ld {BY_NAME}") == [
        f"d 2026-09-21T14:14:20.000Z 7 3 REMOVE_TOPIC_RECORD {BY_NAME}"
    ]


def test_sorted(made: Source) -> None:
    """-t puts the newest first, by record; -r reverses, alone as well; -d and -1 work with them."""
    newest_first = ["t6", "t5", "t4", "t3", "t2", "t0"]
    assert lines(made, f"ls -t {BY_NAME}") == newest_first
    assert lines(made, f"ls -1tr {BY_NAME}") == newest_first[::-1]
    assert lines(made, f"ls -r {BY_NAME}") == newest_first
    paths = [f"{BY_NAME}/{name}" for name in newest_first]
    assert lines(made, f"ls -dt {BY_NAME}/*") == paths
    assert [line.split()[-1] for line in lines(made, f"ls -ldt {BY_NAME}/*")] == paths


def test_recursive(made: Source) -> None:
    """-R goes below in the order of the listing, each directory under its heading."""
    assert lines(made, f"ls -Rt {BY_NAME}")[:12] == [
        f"{BY_NAME}:",
        *["t6", "t5", "t4", "t3", "t2", "t0"],
        "",
        f"{BY_NAME}/t6:",
        "id",
        "name",
        "",
    ]
    whole = lines(made, "ls -lR /")
    assert [line for line in whole if line.endswith(":")] == [
        line for line in lines(made, "ls -R /") if line.endswith(":")
    ]


def test_stat(made: Source) -> None:
    """A block for each node; 'at or before' where the checkpoint tells."""
    assert lines(made, f"stat {BY_NAME}/t0 {BY_NAME}/t5/name /image /log") == [
        f"path        {BY_NAME}/t0",
        "type        directory",
        "partitions  0",
        "created     at or before checkpoint 4  TOPIC_RECORD",
        "changed     at or before checkpoint 4  TOPIC_RECORD",
        "",
        f"path        {BY_NAME}/t5/name",
        "type        leaf",
        "created     2026-09-21T14:13:20.000Z  offset 5  epoch 1  TOPIC_RECORD",
        "changed     2026-09-21T14:13:20.000Z  offset 5  epoch 1  TOPIC_RECORD",
        "",
        "path        /image",
        "type        directory",
        "created     -",
        "changed     2026-09-21T14:14:20.000Z  offset 7  epoch 3  REMOVE_TOPIC_RECORD",
        "",
        "path        /log",
        "type        directory",
        "created     -",
        "changed     -",
    ]


def test_stat_json(made: Source) -> None:
    """A row for each node; null for what is not known."""
    ran = run_on(made, f"stat --json {BY_NAME}/t0 {BY_NAME}/t6/id /local")
    old, new, none = json.loads(ran.out)
    parts = ("time", "offset", "epoch", "type", "at_or_before")
    unknown = dict.fromkeys(parts)
    at_or_before = {**unknown, "type": "TOPIC_RECORD", "at_or_before": 4}
    assert old == {
        "path": f"{BY_NAME}/t0",
        "kind": "directory",
        "partitions": 0,
        **{f"created_{part}": value for part, value in at_or_before.items()},
        **{f"changed_{part}": value for part, value in at_or_before.items()},
    }
    assert [new[f"changed_{part}"] for part in parts] == [
        *("2026-09-21T14:13:20.000Z", 6, 1, "TOPIC_RECORD", None)
    ]
    for moment in ("created", "changed"):
        assert unknown == {part: none[f"{moment}_{part}"] for part in parts}


def test_stat_failures(made: Source) -> None:
    """A path of nothing is reported; no path at all is a usage error."""
    ran = run_on(made, f"stat /nothing {BY_NAME}/t0")
    assert (ran.status, ran.err) == (1, ("stat: /nothing: No such file or directory",))
    assert ran.out.startswith(f"path        {BY_NAME}/t0\n")
    assert run_on(made, "stat").status == 2


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("-changed-since 6", ["t6"]),
        ("-changed-since 5", ["t5", "t6"]),
        ("-changed-since 7", []),
        ("-changed-before 6", ["t0", "t2", "t3", "t4", "t5"]),
        ("-changed-before 5", ["t0", "t2", "t3", "t4"]),
        ("! -changed-before 5", ["t5", "t6"]),
        ("-changed-since 5 -changed-before 6", ["t5"]),
        ("-changed-since 6 -o -type d -changed-before 5", ["t0", "t2", "t3", "t4", "t6"]),
        ("-newer-than 2026-09-21T14:13:20Z", ["t5", "t6"]),
        ("-newer-than 2026-09-21T14:13:21Z", []),
        ("-changed-before 2026-09-21T14:13:21Z", ["t0", "t2", "t3", "t4", "t5", "t6"]),
        ("-changed-before end", ["t0", "t2", "t3", "t4", "t5", "t6"]),
        ("-newer-than 1s", []),
        ("-newer-than 60s", ["t5", "t6"]),
        ("-newer-than 14:13:20", ["t5", "t6"]),
    ],
)
def test_find(made: Source, test: str, names: list[str]) -> None:
    """Points may be offsets, times and ages; a node's last change decides."""
    ran = run_on(made, f"find {BY_NAME} -mindepth 1 -maxdepth 1 ( {test} )")
    assert (ran.status, ran.err) == (0, ())
    assert ran.out.splitlines() == [f"{BY_NAME}/{name}" for name in names]


@pytest.mark.parametrize("test", ["-changed-before 3", "-changed-before 2020-01-01"])
def test_find_before_what_is_known(made: Source, test: str) -> None:
    """A point within the checkpoint is warned of, once; nothing passes."""
    ran = run_on(made, f"find {BY_NAME} /image/topics/byId {test}")
    assert (ran.status, ran.out, len(ran.err)) == (0, "", 1)
    assert "at or before checkpoint 4" in ran.err[0]


@pytest.mark.parametrize(
    "words", ["-newer-than 12", "-changed-since x", "-changed-before", "-newer-than ''"]
)
def test_find_usage(made: Source, words: str) -> None:
    """A point that can't be read is a usage error."""
    assert run_on(made, f"find / {words}").status == 2


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", ["real-44-live", "real-44-trimmed", "real-40-static"])
@pytest.mark.parametrize(
    ("words", "chooses"),
    [
        ("-changed-since {p}", lambda c, p, _: c[0] >= p and c[1]),
        ("-changed-before {p}", lambda c, p, _: 0 <= c[0] < p),
        ("-type f ! -changed-since {p}", lambda c, p, d: not d and not (c[0] >= p and c[1])),
        ("-type d -changed-since {p} -print", lambda c, p, d: d and c[0] >= p and c[1]),
    ],
)
def test_find_of_a_real_directory(name: str, words: str, chooses: object) -> None:
    """Grids, pruning and codes choose what asking each node one by one does."""
    assert callable(chooses)
    source = metashell.open(fixture(name).input)
    root = source.history_root
    image = root.child("image")
    assert isinstance(image, ImageDirectory)
    moments = Moments(image.image.records)
    changes: list[tuple[str, bool, tuple[int, bool]]] = []

    def note(path: str, node: object) -> None:
        times = getattr(node, "times")()  # noqa: B009
        row = -1 if times is None or times.changed is None else times.changed
        (moment,) = moments.of([row])
        known = moment is not None and moment.at_or_before is None
        position = -1 if moment is None else moment.position
        changes.append((path, isinstance(node, Directory), (position, known)))

    for visit in walk(root, "/", once=True):
        if not isinstance(visit, GridVisit):
            note(visit.path, visit.node)
            continue
        for child in visit.grid.names:
            directory = visit.directory.child(child)
            assert isinstance(directory, Directory)
            note(visit.base + child, directory)
            for leaf in directory.names():
                note(f"{visit.base}{child}/{leaf}", directory.child(leaf))
    base = moments.base
    points = sorted({c[0] for _, _, c in changes if c[1]})
    for point in (points[len(points) // 2], points[-1], points[-1] + 1, (base or 0) + 1):
        ran = run_on(source, f"find / {words.format(p=point)}")
        assert ran.err == ()
        assert ran.out.splitlines() == [p for p, d, c in changes if chooses(c, point, d)]


def test_trimmed() -> None:
    """Where the log's beginning is gone, creation is at or before the checkpoint left."""
    source = metashell.open(fixture("real-44-trimmed").input)
    base = min(c.end_offset for c in source.log.listing.checkpoints if not c.is_bootstrap) - 1
    told = json.loads(run_on(source, f"stat --json {BY_NAME}/*/id").out)
    assert {t["created_at_or_before"] for t in told} >= {base}
    for t in told:
        known = t["created_at_or_before"] is None
        assert known == (t["created_offset"] is not None)
        assert known == (t["created_time"] is not None)


def test_without_times() -> None:
    """A tree of no source has no times: all is unknown, and the order is that of the names."""
    shell = session({"b": "text", "a": {"c": ""}}, grids=True)
    assert shell.output("ls -lt") == "d - - - - a\n- - - - - b\n"
    assert shell.output("ls -tr") == "b\na\n"
    assert shell.output("find / -changed-since 0") == ""
    assert shell.output("find / ! -changed-before 0") == "/\n/a\n/a/c\n/b\n"


def test_configs_taken(tmp_path: Path) -> None:
    """The removal of a topic changes /image/configs only where it took configs with it."""

    def config(name: str, value: str | None) -> bytes:
        return record("ConfigRecord", resource_type=2, resource_name=name, name="k", value=value)

    def removal(i: int) -> bytes:
        return record("RemoveTopicRecord", topic_id=i.to_bytes(16, "big"))

    values = [
        *(config(f"t{i}", "v") for i in (0, 1, 2)),
        config("t1", None),
        removal(0),
        removal(1),
    ]
    log = topic_batch(0, 3) + encode_batch(values, base_offset=3)
    source = metashell.open(make_directory(tmp_path, (0, log)))
    (told,) = json.loads(run_on(source, "stat --json /image/configs").out)
    assert (told["changed_offset"], told["changed_type"]) == (7, "REMOVE_TOPIC_RECORD")
