"""Which older files are read unasked, and when their times are used."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import LOG_DIR_NAME
from metashell.sources.older import dated_image, is_unread, older_bytes, read_older
from metashell.tui.view_state import ViewState, ask
from support.fixtures import copy_of, fixture
from support.live import Cluster
from support.shell import run_on
from support.small_cluster import broker

LIVE = "real-44-live"


def newest_checkpoint(directory: Path) -> Path:
    """The last one by name."""
    return sorted(directory.glob("*.checkpoint"))[-1]


def test_sizes_count_what_only_the_past_needs() -> None:
    """The older checkpoints and segments; a file alone has none."""
    directory = Path(fixture(LIVE).directory) / LOG_DIR_NAME
    source = metashell.open(directory)
    read = {file.name for file in source.log.loaded.files}
    older = (*directory.glob("*.checkpoint"), *directory.glob("*.log"))
    sizes = {p.name: p.stat().st_size for p in older if not p.name.startswith(f"{0:020d}-")}
    older, newer = older_bytes(source.log)
    assert older == sum(n for name, n in sizes.items() if name not in read) > 0
    assert newer == sum(sizes[name] for name in read if name.endswith(".log")) > 0
    assert older_bytes(metashell.open_file(newest_checkpoint(directory)).log) == (0, 0)


def test_long_newer_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be folded once more, so the older files are left to --history."""
    monkeypatch.setattr("metashell.sources.older._NEWER_BYTES", 1000)
    source = metashell.open(fixture(LIVE).directory)
    found = dated_image(source)
    assert found.image is source.image
    assert "--history reads the older files too" in str(found.hint)


def test_without_older_files_the_image_is_the_sources_own(tmp_path: Path) -> None:
    """A newest checkpoint that no older state leads up to hides what it hides."""
    directory = copy_of(LIVE, tmp_path) / LOG_DIR_NAME
    newest = newest_checkpoint(directory)
    for path in directory.glob("*.checkpoint"):
        if path != newest:
            path.unlink()
    for path in sorted(directory.glob("*.log"))[:-1]:
        path.unlink()
    source = metashell.open(directory)
    assert source.log.listing.segments[0].base_offset > 0
    found = dated_image(source)
    assert (found.image, found.hint) == (source.image, None)


@pytest.mark.parametrize("settings", [{"strict": True}, {"committed_only": True}])
def test_settings_that_leave_records_out(settings: dict[str, bool]) -> None:
    """What they leave out must not come back by the older files."""
    source = metashell.open(fixture(LIVE).directory, **settings)
    assert dated_image(source).image is source.image


def test_older_files_that_lead_to_another_state(tmp_path: Path) -> None:
    """What the newest checkpoint holds is shown, without the times of what differs from it."""
    directory = copy_of(LIVE, tmp_path)
    source = metashell.open(directory)
    assert dated_image(source).image is not source.image
    image = source.history_image
    other = metashell.open(directory)
    partitions = image.partitions
    # The same partitions with another leader.
    partitions.leader.setflags(write=True)
    partitions.leader[0] += 1
    other.__dict__["history_image"] = image
    assert dated_image(other).image is other.image


def test_older_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is there, and says why its times are not."""
    from metashell.errors import SourceError
    from metashell.image import history

    def refuse(*_: object) -> None:
        raise SourceError("not readable")

    monkeypatch.setattr(history, "read_history", refuse)
    ran = run_on(metashell.open(copy_of(LIVE, tmp_path)), "topics -o json")
    assert ran.status == 0
    assert ran.err == ("topics: no times from older files: not readable",)
    assert {row["created_time"] for row in json.loads(ran.out)} >= {None}


def test_every_command_that_tells_times_looks_there() -> None:
    """As --history does."""
    source = metashell.open(fixture(LIVE).directory)
    for name in ("health", "partitions", "topics", "nodes", "users", "config", "acls", "tokens"):
        assert (
            run_on(source, f"{name} -o json").out == run_on(source, f"{name} --history -o json").out
        )


def test_busiest_topics_are_counted_as_stats_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all segments, and the offsets are told; of less where older files are large."""
    source = metashell.open(fixture(LIVE).directory)
    counted = "topics -o json --columns topic,topic_id,history_records,history_first_offset"
    topics = json.loads(run_on(source, counted).out)
    stats = json.loads(run_on(source, "stats --section partitions -n 100000 -o json").out)
    (totals,) = json.loads(run_on(source, "stats --section totals -o json").out)
    records: dict[str, int] = {}
    for row in stats:
        records[row["topic_id"]] = records.get(row["topic_id"], 0) + row["records"]
    assert {r["topic_id"]: r["history_records"] for r in topics} == {
        r["topic_id"]: records.get(r["topic_id"], 0) for r in topics
    }
    assert {row["history_first_offset"] for row in topics} == {totals["first_offset"]}
    monkeypatch.setattr("metashell.sources.older.OLDER_BYTES", 1000)
    again = metashell.open(fixture(LIVE).directory)
    end = again.log.checkpoint.end_offset if again.log.checkpoint else None
    assert {row["history_first_offset"] for row in json.loads(run_on(again, counted).out)} == {end}


def test_rows_that_do_not_wait_for_older_files() -> None:
    """They say what the newest files tell, and before when the rest was; then all, once read."""
    source = metashell.open(fixture(LIVE).directory)
    view_state = ViewState(opened=source, cluster=source)
    words = ["partitions", "-o", "table", "--columns", "all"]
    assert is_unread(source)
    quick = ask(view_state, words, reads_older=False)
    assert is_unread(source)
    assert quick.warnings == []
    hidden = quick.table.column("since_time").is_null()
    assert pc.any(hidden).as_py()
    ended = quick.table.column("since_before")
    assert hidden == ended.is_valid()
    (time,) = set(ended.filter(hidden).cast("int64").to_pylist())
    assert time == source.image.records.checkpoint_time_ms
    read_older(source, lambda: False)
    assert not is_unread(source)
    whole = ask(view_state, words, reads_older=False).table
    assert whole == ask(view_state, words).table
    assert not pc.any(whole.column("since_before").is_valid()).as_py()
    assert pc.all(pc.less_equal(whole.column("since_time").filter(hidden), ended.filter(hidden)))


def test_reading_older_files_can_be_cancelled() -> None:
    """It ends at the next step, and nothing is taken for known."""
    source = metashell.open(fixture(LIVE).directory)
    with pytest.raises(KeyboardInterrupt):
        read_older(source, lambda: True)
    assert is_unread(source)
    source.close()


def test_where_no_older_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is waited for: neither large ones, nor those of a file alone or of a live quorum."""
    directory = Path(fixture(LIVE).directory) / LOG_DIR_NAME
    assert not is_unread(metashell.open_file(newest_checkpoint(directory)))
    assert not is_unread(Cluster(encode_batch([broker(1)])).source())
    monkeypatch.setattr("metashell.sources.older.OLDER_BYTES", 1000)
    source = metashell.open(directory)
    assert not is_unread(source)
    view_state = ViewState(opened=source, cluster=source)
    (hint,) = ask(
        view_state, ["topics", "-o", "table", "--columns", "all"], reads_older=False
    ).warnings
    assert "--history reads the older files too" in hint
