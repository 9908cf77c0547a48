"""``at``, and ``--at`` of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.cli import main
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.errors import NotCoveredError
from support.fixtures import fixture, fixture_dir
from support.logs import make_directory, topic_record
from support.shell import Captured, run_on


class Session:
    """A shell on real-44-trimmed: offsets 3262 to 4111."""

    def __init__(self) -> None:
        self.source = metashell.open(fixture("real-44-trimmed").input)
        self.out = Captured()
        self.warnings: list[str] = []
        self.context = Context(
            root=self.source.root,
            out=self.out,
            warn=self.warnings.append,
            source=self.source,
            interactive=True,
        )

    def run(self, line: str) -> tuple[int, str]:
        """Run a line; returns status and what it printed."""
        self.out.parts.clear()
        return run_line(self.context, line), "".join(self.out.parts)


@pytest.fixture
def session() -> Session:
    """A fresh shell."""
    return Session()


def test_shell_goes_there_and_back(session: Session) -> None:
    """After `at` every command shows that state, after `at end` the newest."""
    newest = session.run("cat /image/provenance")
    assert session.run("at 3499")[1].startswith("offset 3499, epoch 1, time ")
    assert session.run("cat /image/provenance")[1].startswith("offset 3499,")
    assert "at offset 3499" in session.context.needs_source().status().notes
    assert session.run("at")[1].endswith("(earlier state)\n")
    assert session.run("at end")[1].endswith("(end of the log)\n")
    assert session.run("cat /image/provenance") == newest


def test_jumps_share_what_is_decoded(session: Session) -> None:
    """Other offsets of the same files are views of the same frames."""
    session.run("at 3499")
    first = session.context.needs_source().image.records
    session.run("at 4000")
    second = session.context.needs_source().image.records
    assert first.frames is second.frames
    assert first.loaded is second.loaded


def test_time_with_a_minus_is_no_option(session: Session) -> None:
    """``at -1500ms`` is that long before the log's last record, wherever one is by then."""
    told = (0, "offset 4108, epoch 1, time 2026-11-21T08:28:53.866Z (earlier state)\n")
    assert told == session.run("at -1500ms")
    assert told == session.run("at -1500ms")
    assert told == session.run("at end-1500ms")


def test_time_of_the_last_day(session: Session) -> None:
    """A bare time is one of the log's last day; one behind the last record is not covered."""
    assert session.run("at 08:28:54")[1].startswith(
        "offset 4110, epoch 1, time 2026-11-21T08:28:54"
    )
    status, out = session.run("at 08:29")
    assert (1, "") == (status, out)
    assert session.warnings[-2:] == [
        "at: 08:29 (2026-11-21T08:29:00.000Z) is not covered: the files reach from"
        " 2026-11-21T08:27:07.080Z to 2026-11-21T08:28:55.371Z, offsets 3262 to 4111",
        "  hint: the day before it is 2026-11-20T08:29:00.000Z; `end` is the last record",
    ]


def test_inside_a_batch(session: Session) -> None:
    """The batch counts whole or not at all, and that is said; --record applies up to it."""
    assert session.run("at 3600")[1].startswith("offset 3599,")
    assert "lies inside the batch" in session.warnings[0]
    assert session.run("at --record 3600")[1].startswith("offset 3600,")
    assert len(session.warnings) == 1


def test_directory_that_is_not_there_then(session: Session) -> None:
    """The current directory moves up to where there is one at that time."""
    source = session.source
    made = set(source.at(4111).ls("/image/topics/byName"))
    new = sorted(made - set(source.at(3262).ls("/image/topics/byName")))
    session.run(f"cd /image/topics/byName/{new[0]}")
    session.run("at 3262")
    assert session.context.cwd == "/image/topics/byName"
    assert "is not there at that offset" in session.warnings[-1]


@pytest.mark.parametrize(
    ("line", "status"),
    [("at 1 2", 2), ("at yesterday", 2), ("at --what", 2), ("at 17", 1), ("at 99999", 1)],
)
def test_what_is_refused(session: Session, line: str, status: int) -> None:
    """Wrong words are errors of usage, uncovered offsets failures; the state stays."""
    assert session.run(line)[0] == status
    assert session.context.source is session.source


def program(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the program on the fixture."""
    status = main(["-d", str(fixture("real-44-trimmed").input), *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_program_at(capsys: pytest.CaptureFixture[str]) -> None:
    """--at shows one state to every command; --record is only said with it."""
    status, out, err = program(capsys, "--at", "3600", "cat", "/image/provenance")
    assert (status, out.partition(",")[0]) == (0, "offset 3599")
    assert "warning: offset 3600 lies inside the batch" in err
    status, out, _ = program(capsys, "--at=3600", "--record", "cat", "/image/provenance")
    assert (status, out.partition(",")[0]) == (0, "offset 3600")
    assert program(capsys, "--record", "ls")[0] == 2
    assert program(capsys, "--at", "3600", "--committed-only", "ls")[0] == 2
    assert program(capsys, "--at", "soon", "ls")[0] == 2
    status, out, err = program(capsys, "--at", "1", "ls")
    assert (status, out) == (1, "")
    assert "the files hold the states at offsets 3262 to 4111" in err


def test_times_before_the_first_batch(tmp_path: Path) -> None:
    """Without a checkpoint the files reach from the time of the first batch of the log."""
    batches = [
        encode_batch([topic_record(i)], base_offset=i, timestamp=1_000_000 * (i + 1))
        for i in range(3)
    ]
    source = metashell.open(make_directory(tmp_path, (0, b"".join(batches))))
    with pytest.raises(NotCoveredError, match="the files reach from 1970-01-01T00:16:40"):
        source.at("1970-01-01T00:16:39Z")


def test_an_age_older_than_the_log_means_its_oldest_state(tmp_path: Path) -> None:
    """It is told; so does ``--since``. A time says what it means, and is refused."""
    batches = [
        encode_batch([topic_record(i)], base_offset=i, timestamp=1_000_000 * (i + 1))
        for i in range(3)
    ]
    source = metashell.open(make_directory(tmp_path, (0, b"".join(batches))))
    then = source.at("-2h")
    assert 0 == then.image.provenance.offset
    (note,) = then.moment_notes
    assert "is before the log: shown is its oldest state, of 1970-01-01T00:16:40.000Z" in note
    ran = run_on(source, "changes --since -2h -o csv --columns offset /image/topics/byName")
    assert ["0", "1", "2"] == ran.out.split()[1:]
    assert "-2h (1969-12-31T22:50:00.000Z) is before the log: the first record" in ran.err[0]
    assert 1 == run_on(source, "diff 00:00 end").status
    ran = run_on(source, "changes --since 1970-01-01T00:00:01 --count /image")
    assert not any("before the log" in line for line in ran.err)


def test_an_age_older_than_the_oldest_checkpoint() -> None:
    """The oldest state is the checkpoint's."""
    then = metashell.open(fixture_dir("real-44-trimmed")).at("-9000d")
    assert 3262 == then.moment_offset
