"""``log --follow``: every record once, as it comes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name, segment_name
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.commands.log import run as log_follow
from metashell.log.chain import LogKind
from metashell.log.read import windows
from metashell.records import stream as log_stream
from metashell.sources.source import Source
from support.live import Cluster
from support.logs import make_directory, record, topic_batch, topic_record
from support.shell import Captured, Ran


@dataclass
class Flushed(Captured):
    """Knows how much the reader has."""

    seen: list[str] = field(default_factory=list)

    def flush(self) -> None:
        """Hand on what was written."""
        self.seen.append("".join(self.parts))
        self.parts.clear()


def follow(source: Source, line: str, out: Flushed | None = None) -> tuple[list[str], Ran]:
    """Run a line up to its end or ^C; returns what was flushed each time, too."""
    out, warnings = out or Flushed(), list[str]()
    context = Context(root=source.root, out=out, warn=warnings.append, source=source)
    try:
        status = run_line(context, line)
    except KeyboardInterrupt:
        status = 130
    out.flush()
    return [part for part in out.seen if part], Ran(status, "".join(out.seen), tuple(warnings))


def offsets(ran: Ran) -> list[int]:
    """Offsets of what was printed by --json."""
    return [json.loads(line)["offset"] for line in ran.out.splitlines()]


def noop(offset: int) -> bytes:
    """A batch of one NoOp."""
    return encode_batch([record("NoOpRecord")], base_offset=offset, leader_epoch=1)


# A quorum.


def test_records_come_as_they_are_committed() -> None:
    """Each once, in order, and flushed before more is waited for."""
    cluster = Cluster(topic_batch(0, 2))
    cluster.news = [
        lambda: cluster.commit(topic_batch(2)),
        lambda: None,
        lambda: cluster.commit(topic_batch(3), topic_batch(4, 2)),
    ]
    parts, ran = follow(cluster.source(), "log --json --follow")
    assert [2, 1, 3] == [part.count("\n") for part in parts]
    assert (130, [0, 1, 2, 3, 4, 5], ()) == (ran.status, offsets(ran), ran.err)


FORMS = pytest.mark.parametrize("form", ["", "--json", "--batches", "-o jsonl", "-o csv", "-o tsv"])


def headings(form: str) -> int:
    """How many lines a form has besides those of records, where each batch has one record."""
    return 1 if form in ("-o csv", "-o tsv") else 0


def n_records(out: Flushed, form: str) -> int:
    """How many records the reader has, of batches of one each."""
    n_lines = "".join(out.seen).count("\n") - headings(form)
    return n_lines // 2 if form == "--batches" else n_lines


@FORMS
def test_nothing_is_kept_while_more_is_waited_for(form: str) -> None:
    """The reader has all that was committed whenever the next record is waited for."""
    cluster, out = Cluster(topic_batch(0)), Flushed()
    seen: list[int] = []
    look = lambda: seen.append(n_records(out, form))  # noqa: E731
    cluster.news = [
        look,
        lambda: cluster.commit(topic_batch(1)),
        look,
        lambda: cluster.commit(topic_batch(2), topic_batch(3)),
        look,
    ]
    follow(cluster.source(), f"log --follow {form}", out)
    assert [1, 2, 4] == seen


@FORMS
def test_nothing_of_a_directory_is_kept(form: str, tmp_path: Path, steps: Steps) -> None:
    """The same of batches that a node writes, and of many of them."""
    directory, out = make_directory(tmp_path, (0, topic_batch(0))), Flushed()
    path = directory / segment_name(0)
    seen: list[int] = []
    look = lambda: seen.append(n_records(out, form))  # noqa: E731
    many = b"".join(topic_batch(i) for i in range(2, 42))
    steps(look, append(path, topic_batch(1)), look, append(path, many), look)
    follow(metashell.open(directory), f"log --follow {form}", out)
    assert [1, 2, 42] == seen


def test_an_interrupt_loses_nothing() -> None:
    """What was written before ^C is read, wherever that falls."""

    class Interrupted(Flushed):
        def write(self, text: str) -> None:
            super().write(text)
            if "t1" in text:
                raise KeyboardInterrupt

    cluster, out = Cluster(topic_batch(0)), Interrupted()
    cluster.news = [lambda: cluster.commit(topic_batch(1))]
    context = Context(root=cluster.source().root, out=out, warn=print, source=cluster.source())
    with pytest.raises(KeyboardInterrupt):
        run_line(context, "log --follow")
    assert ["t0", "t1"] == [name for name in ("t0", "t1") if name in "".join(out.seen)]


def test_rows_come_as_they_are_committed() -> None:
    """So do rows; the names of their columns come once."""
    cluster = Cluster(topic_batch(0, 2))
    cluster.news = [lambda: cluster.commit(topic_batch(2)), lambda: cluster.commit(topic_batch(3))]
    parts, ran = follow(cluster.source(), "log -f -o csv --columns offset,type")
    of_topics = [f"{offset},TOPIC_RECORD\n" for offset in range(4)]
    assert ["".join(["offset,type\n", *of_topics[:2]]), *of_topics[2:]] == parts
    assert (130, ()) == (ran.status, ran.err)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--tail 1", [1, 2, 3, 4]),
        ("--tail 1 --limit 3", [1, 2, 3]),
        ("--tail 0", [2, 3, 4]),
        ("--tail 0 --limit 2", [2, 3]),
        ("--tail 0 --topic 't[13]'", [3]),
        ("--tail 0 --offset 1..3", [2, 3]),
        ("--limit 2", [0, 1]),
        ("--limit 3", [0, 1, 2]),
        ("--topic t3", [3]),
        ("--grep 't[24]'", [2, 4]),
        ("--offset 3..", [3, 4]),
        ("--offset 1..3", [1, 2, 3]),
        ("--type Partition", []),
    ],
)
def test_conditions_hold_for_what_comes(options: str, expected: list[int]) -> None:
    """The same ones as for what was there; a reached limit or last offset ends it."""
    cluster = Cluster(topic_batch(0, 2))
    cluster.news = [
        lambda: cluster.commit(topic_batch(2, 2)),
        lambda: cluster.commit(topic_batch(4)),
    ]
    _, ran = follow(cluster.source(), f"log --json -f {options}")
    assert expected == offsets(ran)
    ends = "--limit" in options or ".." in options.rstrip(".")
    assert (0 if ends else 130) == ran.status


def test_noops_stay_hidden() -> None:
    """As in the log before; what was hidden there is told before anything is waited for."""
    cluster = Cluster(topic_batch(0), noop(1))
    cluster.news = [lambda: cluster.commit(noop(2), topic_batch(3))]
    _, ran = follow(cluster.source(), "log --json --follow")
    assert [0, 3] == offsets(ran)
    assert ("log: 1 NoOp record not shown (--all shows them)",) == ran.err


def test_names_of_new_topics_are_known() -> None:
    """Also of those whose making was no record asked for."""
    cluster = Cluster(topic_batch(0))
    change = record("PartitionChangeRecord", topic_id=(1).to_bytes(16, "big"), leader=1)
    batch = encode_batch([change], base_offset=2, leader_epoch=1)
    cluster.news = [lambda: cluster.commit(topic_batch(1)), lambda: cluster.commit(batch)]
    _, ran = follow(cluster.source(), "log --follow --type PartitionChange")
    assert "t1" in ran.out


@pytest.mark.parametrize(
    "options",
    ["", "--topic 't[78]'", "--topic 't[78]' --tail 1", "--type PartitionChange,RemoveTopic"],
)
def test_names_come_from_the_checkpoint_that_it_goes_on_behind(options: str) -> None:
    """Of topics that were made in the gap, of which no record was followed."""
    cluster = Cluster(topic_batch(0, 3))
    change, remove = (
        record(name, topic_id=(n).to_bytes(16, "big"))
        for n, name in ((7, "PartitionChangeRecord"), (8, "RemoveTopicRecord"))
    )
    cluster.news = [
        lambda: cluster.jump(9, *map(topic_record, range(9))),
        lambda: cluster.commit(encode_batch([change, remove], base_offset=9, leader_epoch=1)),
    ]
    _, ran = follow(cluster.source(), f"log --follow {options}")
    assert ["topic=t7", "topic=t8"] == re.findall(r"topic=\w+", ran.out), ran


def test_names_come_from_a_directory_that_jumped(tmp_path: Path, steps: Steps) -> None:
    """A follower that was away too long gets a checkpoint in place of its segments, too."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 3)))
    remove = record("RemoveTopicRecord", topic_id=(7).to_bytes(16, "big"))
    checkpoint = directory / checkpoint_name(9, 1)

    def jump() -> None:
        (directory / segment_name(0)).unlink()
        checkpoint.write_bytes(checkpoint_bytes([*map(topic_record, range(9))], epoch=1))
        (directory / segment_name(9)).write_bytes(b"")

    batch = encode_batch([remove], base_offset=9, leader_epoch=1)
    steps(jump, append(directory / segment_name(9), batch))
    _, ran = follow(metashell.open(directory), "log --follow --topic t7")
    assert "topic=t7" in ran.out


def test_topics_of_batches_that_are_left_out_are_known() -> None:
    """A batch of an epoch that is not asked for may make a topic that others speak of."""
    cluster = Cluster(topic_batch(0))
    change = record("PartitionChangeRecord", topic_id=(1).to_bytes(16, "big"), leader=1)
    cluster.news = [
        lambda: cluster.commit(topic_batch(1)),
        lambda: cluster.commit(encode_batch([change], base_offset=2, leader_epoch=4)),
    ]
    _, ran = follow(cluster.source(), "log --follow --epoch 4.. --topic t1")
    assert "topic=t1" in ran.out


def test_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is taken up again where it ended."""
    begins: list[int] = []

    def watched(file: object, size: int, after: int, begin: int, kind: LogKind) -> object:
        begins.append(begin)
        return windows(file, size, after, begin, kind)  # type: ignore[arg-type]

    monkeypatch.setattr(log_stream, "windows", watched)
    first, second = topic_batch(0, 50), topic_batch(50, 9)
    cluster = Cluster(first)
    cluster.news = [
        lambda: cluster.commit(second),
        lambda: cluster.commit(topic_batch(59)),
    ]
    follow(cluster.source(), "log --follow --type Partition")
    assert [0, len(first), len(first), len(first + second)] == begins


def test_a_problem_is_told_once() -> None:
    """And again when it is another one."""
    cluster = Cluster(topic_batch(0))

    def fail(problem: str | None) -> Callable[[], None]:
        def step() -> None:
            cluster.problem = problem
            cluster.commit()

        return step

    cluster.news = [fail("no leader"), fail("no leader"), fail(None), fail("no leader")]
    _, ran = follow(cluster.source(), "log --follow")
    assert ("log: no leader", "log: no leader") == ran.err


def test_what_was_fetched_since_is_shown_at_once() -> None:
    """An older state at hand does not hold the newest back."""
    cluster = Cluster(topic_batch(0))
    source = cluster.source()
    cluster.commit(topic_batch(1))
    _, ran = follow(source, "log --json --follow")
    assert [0, 1] == offsets(ran)


@pytest.mark.parametrize("line", ["log --tail 2 --json", "log --file {} --json --tail 2"])
def test_files_in_memory_are_read(line: str) -> None:
    """Without --follow, too, as those of a directory."""
    source = Cluster(topic_batch(0, 3), topic_batch(3)).source()
    _, ran = follow(source, line.format(segment_name(0)))
    assert (0, [2, 3]) == (ran.status, offsets(ran))


@pytest.mark.parametrize("line", ["du", "stats", "check", "checksum", "changes /image/topics"])
def test_other_commands_work_in_memory(line: str) -> None:
    """Those that read files."""
    _, ran = follow(Cluster(topic_batch(0, 3), topic_batch(3)).source(), line)
    assert 0 == ran.status, ran.err
    assert ran.out


def test_an_unknown_file_is_refused() -> None:
    """Of a log in memory as of a directory."""
    _, ran = follow(Cluster(topic_batch(0)).source(), "log --file x")
    assert "log: --file x: no such file in the directory" == ran.err[0]


def test_from_now_on_nothing_is_told_of_before() -> None:
    """Neither records nor how many were hidden; names are known all the same."""
    cluster = Cluster(topic_batch(0, 2), noop(2))
    change = record("PartitionChangeRecord", topic_id=(1).to_bytes(16, "big"), leader=1)
    cluster.news = [
        lambda: cluster.commit(noop(3), encode_batch([change], base_offset=4, leader_epoch=1))
    ]
    _, ran = follow(cluster.source(), "log --follow --tail 0")
    assert ["topic=t1"] == re.findall(r"topic=\w+", ran.out)
    assert 1 == ran.out.count("\n")
    assert () == ran.err


def test_a_tail_of_nothing_is_refused_where_nothing_follows() -> None:
    """It would print nothing."""
    _, ran = follow(Cluster(topic_batch(0)).source(), "log --tail 0")
    assert (2, "") == (ran.status, ran.out)
    assert "log: --tail 0: must be a whole number above 0" == ran.err[0]


# A directory.


Steps = Callable[..., None]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """A way to say what happens while a directory is not looked at; then ^C."""

    def use(*todo: Callable[[], object]) -> None:
        left = list(todo)

        def wait(*_: object) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr(log_follow, "wait_for_news", wait)

    return use


def append(path: Path, data: bytes) -> Callable[[], None]:
    """A step: a node writes behind the end of a file, or a new one."""

    def step() -> None:
        with path.open("ab") as file:
            file.write(data)

    return step


def test_a_directory_is_followed_into_new_segments(tmp_path: Path, steps: Steps) -> None:
    """A batch that is written in two goes comes once, whole, and without a fault."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 2)))
    first, second = directory / segment_name(0), directory / segment_name(4)
    torn = topic_batch(2, 2)
    steps(
        append(first, torn[:70]),
        append(first, torn[70:]),
        append(second, topic_batch(4)),
        lambda: None,
        append(second, topic_batch(5)),
    )
    _, ran = follow(metashell.open(directory), "log --json --follow")
    assert ([0, 1, 2, 3, 4, 5], ()) == (offsets(ran), ran.err)


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=8),
    rotations=st.sets(st.integers(1, 7)),
    cuts=st.sets(st.integers(1, 2_000)),
)
def test_however_a_node_writes(sizes: list[int], rotations: set[int], cuts: set[int]) -> None:
    """Each record comes once and in order, in whatever pieces its batch is written."""
    firsts = [sum(sizes[:i]) for i in range(len(sizes))]
    files: list[tuple[int, bytes]] = []
    for i, (first, count) in enumerate(zip(firsts, sizes, strict=True)):
        if i == 0 or i in rotations:
            files.append((first, b""))
        files[-1] = (files[-1][0], files[-1][1] + topic_batch(first, count))
    with TemporaryDirectory() as parent, pytest.MonkeyPatch.context() as patch:
        directory = make_directory(Path(parent), (0, b""))
        steps = []
        for base, data in files:
            ends = [*sorted(cut for cut in cuts if cut < len(data)), len(data)]
            for begin, end in zip([0, *ends], ends, strict=False):
                steps.append(append(directory / segment_name(base), data[begin:end]))

        def wait(*_: object) -> None:
            if not steps:
                raise KeyboardInterrupt
            steps.pop(0)()

        patch.setattr(log_follow, "wait_for_news", wait)
        _, ran = follow(metashell.open(directory), "log --json --follow")
    assert (list(range(sum(sizes))), ()) == (offsets(ran), ran.err)


def test_a_directory_is_followed_from_now_on(tmp_path: Path, steps: Steps) -> None:
    """Of the newest segment and of those that are begun later."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 2)), (2, topic_batch(2)))
    second, third = directory / segment_name(2), directory / segment_name(4)
    steps(append(second, topic_batch(3)), append(third, topic_batch(4)))
    _, ran = follow(metashell.open(directory), "log --json --follow --tail 0")
    assert ([3, 4], ()) == (offsets(ran), ran.err)


def in_epoch(epoch: int, *offsets: int) -> bytes:
    """A batch of one record at each offset."""
    return b"".join(topic_batch(offset, leader_epoch=epoch) for offset in offsets)


GONE = "log: the log was truncated from offset {}, to {}: what was printed behind that is gone"


@pytest.mark.parametrize("is_replaced", [False, True])
@pytest.mark.parametrize(
    ("written", "kept", "printed", "later"),
    [
        (in_epoch(1, 0, 1), "offset 1, epoch 1", [], 2),
        (in_epoch(1, 0), "offset 0, epoch 1", [], 1),
        (b"", "its beginning", [], 0),
        (in_epoch(1, 0) + in_epoch(3, 1), "offset 0, epoch 1", [1], 2),
        (in_epoch(1, 0, 1) + in_epoch(3, 2, 3), "offset 1, epoch 1", [2, 3], 4),
        (in_epoch(1, 0, 1) + in_epoch(3, 2, 3, 4), "offset 1, epoch 1", [2, 3, 4], 5),
        (in_epoch(3, *range(6)), "its beginning", [*range(6)], 6),
    ],
)
def test_what_was_truncated_is_told_and_what_is_there_now_is_printed(
    written: bytes,
    kept: str,
    printed: list[int],
    later: int,
    is_replaced: bool,
    tmp_path: Path,
    steps: Steps,
) -> None:
    """Of whatever size the file is when it is looked at again, and what is appended later."""
    directory = make_directory(tmp_path, (0, in_epoch(1, 0, 1) + in_epoch(2, 2, 3)))
    path, new = directory / segment_name(0), tmp_path / "new"

    def write() -> None:
        target = new if is_replaced else path
        target.write_bytes(written)
        target.replace(path)

    steps(write, append(path, in_epoch(4, later)))
    _, ran = follow(metashell.open(directory), "log --json --follow")
    assert (GONE.format("3, epoch 2", kept),) == ran.err
    assert [0, 1, 2, 3, *printed, later] == offsets(ran)


@pytest.mark.parametrize("options", ["", "--tail 0"])
def test_segments_that_were_truncated_away(options: str, tmp_path: Path, steps: Steps) -> None:
    """A truncation deletes segments and shortens the one before."""
    files = (0, in_epoch(1, 0, 1)), (2, in_epoch(1, 2, 3)), (4, in_epoch(1, 4))
    directory = make_directory(tmp_path, *files)
    second, third = directory / segment_name(2), directory / segment_name(4)

    def truncate() -> None:
        third.unlink()
        second.write_bytes(in_epoch(1, 2))

    steps(truncate, append(second, in_epoch(2, 3)))
    _, ran = follow(metashell.open(directory), f"log --json --follow {options}")
    assert (GONE.format("4, epoch 1", "offset 2, epoch 1"),) == ran.err
    assert ([] if options else [*range(5)]) + [3] == offsets(ran)


def test_segments_that_a_node_deletes_are_no_truncation(tmp_path: Path, steps: Steps) -> None:
    """What a checkpoint stands for goes, and nothing is printed twice."""
    directory = make_directory(tmp_path, (0, in_epoch(1, 0, 1)), (2, in_epoch(1, 2)))
    first, second = directory / segment_name(0), directory / segment_name(2)
    steps(first.unlink, append(second, in_epoch(1, 3)))
    _, ran = follow(metashell.open(directory), "log --json --follow")
    assert ([0, 1, 2, 3], ()) == (offsets(ran), ran.err)


def test_a_gap_is_told(tmp_path: Path, steps: Steps) -> None:
    """Offsets that no segment has any more."""
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    steps(append(directory / segment_name(5), topic_batch(5)))
    _, ran = follow(metashell.open(directory), "log --json --follow")
    assert [0, 5] == offsets(ran)
    assert "offsets 1 to 4 are missing" in ran.err[0]


def test_a_directory_that_is_away_is_waited_for(tmp_path: Path, steps: Steps) -> None:
    """It is told once."""
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    away = tmp_path / "away"
    steps(
        lambda: directory.rename(away),
        lambda: None,
        lambda: away.rename(directory),
        append(directory / segment_name(0), topic_batch(1)),
    )
    _, ran = follow(metashell.open(directory), "log --json --follow")
    assert [0, 1] == offsets(ran)
    assert (f"log: {directory}: No such file or directory",) == ran.err


@pytest.mark.parametrize(
    "options", ["--file x", "--checkpoints", "--until 5", "--follow=x", "--limit 0"]
)
def test_what_contradicts_is_refused(options: str, tmp_path: Path) -> None:
    """With status 2."""
    source = metashell.open(make_directory(tmp_path, (0, topic_batch(0))))
    assert 2 == follow(source, f"log --follow {options}")[1].status


def test_what_stands_still_is_refused(tmp_path: Path) -> None:
    """An earlier state, and one file."""
    directory = make_directory(tmp_path, (0, topic_batch(0) + topic_batch(1)))
    for source in (
        metashell.open(directory).at(0),
        metashell.open_file(directory / segment_name(0)),
    ):
        assert 2 == follow(source, "log --follow")[1].status


def test_a_closed_pipe_ends_it() -> None:
    """It passes through, for the front end."""

    class Closed(Captured):
        def flush(self) -> None:
            raise BrokenPipeError

    source = Cluster(topic_batch(0)).source()
    context = Context(root=source.root, out=Closed(), warn=lambda _: None, source=source)
    with pytest.raises(BrokenPipeError):
        run_line(context, "log --follow")
