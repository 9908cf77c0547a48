"""Opening sources from Python: tables, paths, status, options."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import metashell
from kraftgen.files import checkpoint_bytes, checkpoint_name, segment_name, write_meta_properties
from metashell.errors import (
    IsADirectoryPathError,
    NoSuchPathError,
    NotADirectoryPathError,
    SchemaError,
    SourceError,
)
from support.fixtures import Fixture, fixture
from support.logs import make_directory, record, topic_batch, topic_record, topics_of


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A checkpoint of the topics 0 to 4, and a segment with the next two."""
    made = make_directory(tmp_path, (5, topic_batch(5, 2, leader_epoch=3)))
    (made / checkpoint_name(5, 2)).write_bytes(
        checkpoint_bytes([topic_record(i) for i in range(5)], epoch=2)
    )
    return made


def test_every_table(real_directory: Fixture) -> None:
    """Every table is a sound one with creation and change behind its columns."""
    source = metashell.open(real_directory.input)
    for name in source.tables:
        table = source.table(name)
        table.validate(full=True)
        assert len(table.column_names) == len(set(table.column_names))
        assert {"created_offset", "changed_time"} <= set(table.column_names)
    with pytest.raises(KeyError):
        source.table("nonsense")


def test_tables_say_the_same_as_paths(real_directory: Fixture) -> None:
    """Topics and partitions of the tables are those of the tree."""
    source = metashell.open(real_directory.input)
    topics = source.table("topics").to_pylist()
    partitions = source.table("partitions").to_pylist()

    assert source.ls("/image/topics/byName") == sorted(row["topic"] for row in topics)
    assert sum(row["partitions"] for row in topics) == len(partitions)
    for row in partitions:
        value = source.value(f"/image/topics/byName/{row['topic']}/{row['partition']}")
        assert isinstance(value, dict)
        assert (row["replicas"], row["leader_epoch"]) == (value["replicas"], value["leaderEpoch"])


def test_records(directory: Path) -> None:
    """Records of a type come with offset, epoch and time."""
    table = metashell.open(directory).records("TopicRecord")

    assert [f"t{i}" for i in range(7)] == table["name"].to_pylist()
    assert [5, 6] == table["offset"].to_pylist()[-2:]
    assert [3, 3] == table["epoch"].to_pylist()[-2:]
    with pytest.raises(KeyError):
        metashell.open(directory).records("NonsenseRecord")


def test_provenance_of_rows(directory: Path) -> None:
    """What the checkpoint says has no offset of its own; later records have theirs."""
    rows = metashell.open(directory).table("topics").to_pylist()

    assert [None] * 5 + [5, 6] == [row["created_offset"] for row in rows]


def test_paths(directory: Path) -> None:
    """Python's view of the tree has the shell's errors."""
    source = metashell.open(directory)

    assert "t5" == source.cat("/image/topics/byName/t5/name")
    assert ["/local", "/local/commitId", "/local/version"] == source.find("/local")
    with pytest.raises(NoSuchPathError):
        source.cat("/image/nowhere")
    with pytest.raises(FileNotFoundError):
        source.ls("/nowhere")
    with pytest.raises(IsADirectoryPathError):
        source.cat("/image")
    with pytest.raises(NotADirectoryPathError):
        source.ls("/local/version")


def test_committed_only(directory: Path) -> None:
    """What follows the newest checkpoint may not be committed and can be left out."""
    source = metashell.open(directory, committed_only=True)

    assert set(range(5)) == topics_of(source)
    assert (4, 2) == (source.status().offset, source.status().epoch)
    with pytest.raises(SourceError, match="committed"):
        metashell.open_file(directory / segment_name(5), committed_only=True)


def test_committed_only_without_a_checkpoint(tmp_path: Path) -> None:
    """Without a checkpoint nothing is known to be committed."""
    source = metashell.open(make_directory(tmp_path, (0, topic_batch(0))), committed_only=True)

    assert set() == topics_of(source)


def test_status(directory: Path) -> None:
    """Status is that of the last record."""
    status = metashell.open(directory).status()

    assert (6, 3, 1_790_000_000_000) == (status.offset, status.epoch, status.timestamp_ms)
    assert ((), None) == (status.notes, status.metadata_version)


def test_progress(directory: Path) -> None:
    """Progress ends with all bytes done."""
    calls: list[tuple[int, int]] = []
    metashell.open(directory, progress=lambda done, total: calls.append((done, total)))
    total = sum(path.stat().st_size for path in directory.iterdir())

    assert (total, total) == calls[-1]


def test_log_dir(directory: Path) -> None:
    """A node's log dir can be given for the directory in it, and tells cluster and node."""
    write_meta_properties(directory.parent, cluster_id="abc", node_id=7)
    source = metashell.open(directory.parent)

    assert ("abc", 7) == (source.cluster_id, source.node_id)
    assert (None, None) == _ids(metashell.open_file(directory / segment_name(5)))


def _ids(source: metashell.Source) -> tuple[str | None, int | None]:
    return source.cluster_id, source.node_id


def test_zero_checkpoint(tmp_path: Path) -> None:
    """The formatter's metadata stands in the log again: it is shown apart, and counts once."""
    made = make_directory(tmp_path, (0, topic_batch(0)))
    (made / checkpoint_name(0, 0)).write_bytes(checkpoint_bytes([topic_record(9)]))
    source = metashell.open(made)

    assert {0} == topics_of(source)
    assert ["0"] == source.ls("/bootstrap")
    assert '"t9"' in source.cat("/bootstrap/0")


def test_damaged_zero_checkpoint(tmp_path: Path) -> None:
    """It has no texts to show, and ends no walk over everything else."""
    made = make_directory(tmp_path, (0, topic_batch(0)))
    (made / checkpoint_name(0, 0)).write_bytes(b"V" * 200)
    source = metashell.open(made)

    assert source.ls("/bootstrap") == []
    assert any(path.startswith("/image/topics/byName/") for path in source.find("/"))


def test_own_definitions(tmp_path: Path) -> None:
    """Records of a vendor's type are read by its definition; a wrong one is refused at once."""
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "Vendor.json").write_text(
        '{"apiKey": 501, "type": "metadata", "name": "VendorRecord", "validVersions": "0",'
        ' "flexibleVersions": "0+", "fields": [{"name": "X", "type": "int8", "versions": "0+"}]}'
    )
    made = make_directory(tmp_path, (0, topic_batch(0)))
    from kraftgen.batch import encode_batch

    (made / segment_name(1)).write_bytes(encode_batch([b"\x01\xf5\x03\x00\x07\x00"], base_offset=1))

    assert [1] == [fault.offset for fault in metashell.open(made).all_faults()]
    known = metashell.open(made, schemas=[schemas])
    assert [] == known.all_faults()
    assert [7] == known.records("VendorRecord")["x"].to_pylist()
    (schemas / "Vendor.json").write_text("{")
    with pytest.raises(SchemaError, match=r"Vendor\.json"):
        metashell.open(made, schemas=[schemas])


def test_trailing_slash_and_relative_path(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any spelling of a path opens the directory."""
    monkeypatch.chdir(directory)
    for path in (".", f"{directory}/", f"{directory}/../{directory.name}", ".."):
        assert set(range(7)) == topics_of(metashell.open(path))


def test_secrets(tmp_path: Path) -> None:
    """Secrets are redacted in tables and records unless they are asked for."""
    from kraftgen.batch import encode_batch

    credential = record(
        "UserScramCredentialRecord", name="u", mechanism=1, salt=b"s4lt", stored_key=b"k3y"
    )
    made = make_directory(tmp_path, (0, encode_batch([credential])))
    for source in (metashell.open(made), metashell.open(made, show_secrets=True)):
        shown = "[redacted]" not in source.cat("/image/scram/SCRAM-SHA-256/u")
        for table in (
            source.table("scram_credentials"),
            source.records("UserScramCredentialRecord"),
        ):
            assert (b"s4lt" in str(table.to_pylist()).encode()) is shown
    shutil.rmtree(made)


def test_a_fault_keeps_a_tokens_principals_secret() -> None:
    """Who owns a delegation token is redacted, also where it is what makes the record a fault."""
    source = metashell.open_file(fixture("quirks/principal-without-colon").input)
    reasons = [fault.reason for fault in source.all_faults()]

    assert any("delegation token" in reason for reason in reasons)
    assert not any("nocolon" in reason for reason in reasons)
