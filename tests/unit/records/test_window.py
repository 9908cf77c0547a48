"""Any records of a log: pieces that are read by themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import Codec, encode_batch
from metashell.records.filter import Selection
from metashell.records.lines import readable_lines
from metashell.records.stream import LogStream, segment_paths
from metashell.records.window import Filter, LogReader, plan
from metashell.sources.source import Source
from support.live import Cluster
from support.logs import make_directory, record, topic_batch, topic_log, topic_record
from support.pilot import SAMPLE


def _reader(source: Source, earlier: LogReader | None = None) -> LogReader:
    return LogReader(source.log, source.registry, source.redaction, earlier)


def _all(reader: LogReader, wanted: Filter | None = None) -> list[int]:
    wanted = wanted or Filter()
    names = reader.topic_names(wanted.selection)
    return [
        offset
        for piece in reader.pieces
        for found in reader.search(piece, wanted, names)
        for offset in found.offsets.tolist()
    ]


def test_lines_are_those_of_the_log() -> None:
    """Every record is there once, in the words of `log`."""
    source = metashell.open(SAMPLE)
    reader = _reader(source)
    offsets = _all(reader)
    stream = LogStream(source.registry, Selection(), reader.names, lambda *_: None)
    writer = readable_lines(source.redaction, reader.names)
    expected = [
        line
        for block in stream.blocks(segment_paths(source.log, Selection()))
        if len(block.rows)
        for line in writer.lines(block.records, block.rows)
    ]
    got = []
    for piece in reader.pieces:
        for found in reader.search(piece, Filter(), reader.topic_names(Selection())):
            got += [
                " ".join(filter(None, (str(r.offset), r.time, r.epoch, r.type, r.summary)))
                for r in reader.lines(found.piece, found.offsets)
            ]
    assert got == expected
    assert len(offsets) == len(expected)


def test_pieces_stand_alone(tmp_path: Path) -> None:
    """A piece in the middle is read without those before it."""
    batches = topic_log(40, 5)
    source = metashell.open(make_directory(tmp_path, (0, b"".join(batches))))
    pieces = plan(source.log, piece_bytes=500)
    assert len(pieces) > 5
    assert [p.after for p in pieces[1:]] == [p.last_offset for p in pieces[:-1]]
    reader = _reader(source)
    reader.pieces = pieces
    assert _all(reader) == list(range(200))
    middle = pieces[len(pieces) // 2]
    names = reader.topic_names(Selection())
    (found,) = reader.search(middle, Filter(), names)
    assert (found.offsets[0], found.offsets[-1]) == (middle.first_offset, middle.last_offset)
    assert reader.lines(middle, found.offsets)[0].summary.startswith(f"name=t{middle.first_offset}")


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_growth(codec: Codec) -> None:
    """Pieces stay what they are while the log grows, and names of topics are known further on."""
    batches = [topic_batch(i, codec=codec) for i in range(4)]
    cluster = Cluster(*batches)
    first = _reader(cluster.source())
    cluster.commit(topic_batch(4))
    second = _reader(cluster.source(), first)
    assert second.pieces[: len(first.pieces)] == first.pieces
    assert len(second.pieces) == len(first.pieces) + 1
    assert _all(second, Filter(Selection(topic=lambda name: name in ("t1", "t4")))) == [1, 4]


def test_unread_segments(tmp_path: Path) -> None:
    """A segment that is not in memory is one piece until it is looked through."""
    source = metashell.open(make_directory(tmp_path, (0, b"".join(topic_log(4)))))
    del source.log.loaded.files[:]
    reader = _reader(source)
    (piece,) = reader.pieces
    assert piece.is_open
    done, end = reader.search(piece, Filter(), reader.topic_names(Selection()))
    assert done.offsets.tolist() == list(range(8))
    assert (done.rest, end.rest) == (end.piece, None)
    assert [line.offset for line in reader.lines(done.piece, done.offsets[3:5])] == [3, 4]


def test_what_is_gone_is_a_fault(tmp_path: Path) -> None:
    """A segment that was deleted meanwhile is no traceback."""
    directory = make_directory(tmp_path, (0, b"".join(topic_log(2))))
    source = metashell.open(directory)
    del source.log.loaded.files[:]
    reader = _reader(source)
    for file in directory.iterdir():
        file.unlink()
    (found,) = reader.search(reader.pieces[0], Filter(), reader.topic_names(Selection()))
    assert (found.n_faults, len(found.offsets)) == (1, 0)


def test_records_that_cannot_be_decoded(tmp_path: Path) -> None:
    """They are lines as any other, and say so."""
    batch = encode_batch([b"\x01\x02\x00", b"\x01\xf5\x03\x00abc"], base_offset=0, leader_epoch=1)
    reader = _reader(metashell.open(make_directory(tmp_path, (0, batch))))
    (piece,) = reader.pieces
    (found,) = reader.search(piece, Filter(), reader.topic_names(Selection()))
    lines = reader.lines(piece, found.offsets)
    assert [line.is_bad for line in lines] == [True, True]
    assert "can't be decoded" in lines[0].summary
    assert lines[1].type == "UNKNOWN(501)"
    records = reader.records(piece)
    rows = reader.rows_at(records, found.offsets[:1])
    assert "error" in json.loads(reader.json_line(records, rows))


def test_topics_of_a_checkpoint_that_it_goes_on_behind() -> None:
    """A reader that has learnt all topics learns those that were made in the gap."""
    cluster = Cluster(topic_batch(0, 3))
    wanted = Filter(Selection(topic=lambda name: name in ("t1", "t7")))
    first = _reader(cluster.source())
    assert _all(first, wanted) == [1]
    cluster.jump(9, *map(topic_record, range(9)))
    remove = record("RemoveTopicRecord", topic_id=(7).to_bytes(16, "big"))
    cluster.commit(encode_batch([remove], base_offset=9, leader_epoch=1))
    assert _all(_reader(cluster.source(), first), wanted) == [9]
