"""Directories of very many leaves: commands say the same as where these are asked one by one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from kraftgen.batch import Record, encode_batch
from metashell.errors import ExitCode
from metashell.fs.nodes.leaves import LeavesDirectory, TopicLeavesDirectory
from metashell.fs.nodes.partitioned import PartitionsDirectory
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.source import Source
from support.keyed_logs import START_MS, Put, write_log
from support.node_sources import opened
from support.shell import run_on

N = 40
ROOTS = ["/", "/transactions", "/share", "/share/g0/", "/producers/orders/0"]
NAMES = ["", "tx/1", "tx%2F1", "x" * 1200, *(f"tx-{i}" for i in range(N))]


def _write(place: Path, log: CoordinatorLog, number: int, entries: list[Put]) -> None:
    directory = place / f"{log.value}-{number}"
    directory.mkdir(parents=True)
    write_log(directory / f"{0:020}.log", log, entries)


def _transaction(name: str, i: int) -> Put:
    partitions = [{"topic": "orders", "partition_ids": [i]}] if i % 2 else []
    value = {
        "producer_id": i,
        "transaction_status": i % 3,
        "transaction_partitions": partitions,
        "transaction_last_update_timestamp_ms": START_MS,
    }
    return Put(name="TransactionLog", key={"transactional_id": name}, value=value)


def _share(i: int) -> Put:
    key = {"group_id": f"g{i % 2}", "topic_id": bytes(15) + bytes([i % 3]), "partition": i}
    return Put(name="ShareSnapshot", key=key, value={"start_offset": i})


@cache
def _source(place: Path) -> Source:
    """A broker's directory; half of the transactions are in either partition."""
    for number in (0, 1):
        entries = [_transaction(name, i) for i, name in enumerate(NAMES) if i % 2 == number]
        _write(place, CoordinatorLog.TRANSACTIONS, number, entries)
        shares = [_share(i) for i in range(200) if i % 2 == number]
        _write(place, CoordinatorLog.SHARE, number, shares)
    log = place / "orders-0"
    log.mkdir()
    batches = [
        encode_batch([Record(key=b"k", value=b"v")], base_offset=i, producer_id=1000 + i)
        for i in range(N)
    ]
    (log / f"{0:020}.log").write_bytes(b"".join(batches))
    (place / "meta.properties").write_text(
        "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\n"
    )
    return opened(place)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The log directory of a broker without a metadata log."""
    return _source(tmp_path_factory.mktemp("broker"))


@pytest.mark.cases(40)
@pytest.mark.parametrize(
    "root", ["/", "/transactions", "/share", "/share/g0/", "/producers/orders/0"]
)
@pytest.mark.parametrize(
    "line",
    [
        "find {}",
        "find {} --encode",
        "find {} -print0",
        "find {} -count",
        "find {} -type f -count",
        "find {} -type d",
        "find {} -maxdepth 0",
        "find {} -maxdepth 1",
        "find {} -mindepth 1 -name '*1*'",
        "find {} -mindepth 2",
        "find {} -path '*/tx*1*' -o -name '*5'",
        "find {} -path '{}*1'",
        "find {} -name 'tx-3' -quit",
        "find {} -name transactions -prune -o -print",
        "find {} -printf '%p %P %H %f %h %d %y %t %o\\n'",
        "find {} -changed-before 10 -printf '%f %o\\n'",
        "find {} -newer-than 2026-09-21T14:13:30Z",
        "find {} --output json --columns path,name,kind,depth,changed_offset",
        "grep 1 {}",
        "grep -n --encode producerId=1 {}",
        "grep -c -i ONGOING {}",
        "grep -o json startOffset=1 {}",
        "ls -lR {}",
        "ls -R {}",
        "ls -lt {}",
        "tree {}",
        "cat {}*",
    ],
)
def test_commands(source: Source, root: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a command asks of them."""
    found = run_on(source, line.replace("{}", root))
    assert found.status != ExitCode.USAGE, found.err
    for kind in (PartitionsDirectory, LeavesDirectory):
        monkeypatch.setattr(kind, "leaf_grid", lambda _: None)
    monkeypatch.setattr(TopicLeavesDirectory, "grid", lambda _: None)
    assert run_on(source, line.replace("{}", root)) == found


def test_names(source: Source) -> None:
    """Ids may be empty, hold a slash or be long; each is found by what is printed."""
    assert run_on(source, "find /transactions -count").out == f"{len(NAMES) + 1}\n"
    ran = run_on(source, "find /transactions -type f --encode")
    paths = ran.out.split("\n")[:-1]
    assert len(paths) == len(NAMES)
    offsets = [run_on(source, f"find {path} -printf %o").out for path in paths]
    assert sorted(map(int, offsets)) == sorted(i // 2 for i in range(len(NAMES)))


def test_producers_without_a_metadata_log(source: Source) -> None:
    """They are in the tree of a broker's directory alone, too, but not at an earlier time."""
    assert [str(1000 + i) for i in range(N)] == source.ls("/producers/orders/0")
    assert "lastOffset=7, " in source.cat("/producers/orders/0/1007")
    assert "producers" not in source.at("2026-09-21T14:13:30Z").ls("/")
