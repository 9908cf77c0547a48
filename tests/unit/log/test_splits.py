"""Splits of directories in a store, and errors that cross processes."""

from __future__ import annotations

import os
import pickle

import pytest

from metashell.errors import ExitCode
from metashell.log.splits import Split, SplitError, plan_splits, read_split
from support.fixtures import fixture
from support.s3 import S3Server


def batches_of(splits: tuple[Split, ...]) -> list[tuple[str, int]]:
    """Where batches are, each split pickled and read by itself."""
    copies = pickle.loads(pickle.dumps(splits))
    return [
        (file.name, pos - file.start)
        for split in copies
        for loaded in read_split(split, 1000)
        for file in loaded.files
        for pos in file.chain.positions
    ]


@pytest.mark.parametrize("every", [False, True])
def test_a_directory_in_a_store(s3: S3Server, monkeypatch: pytest.MonkeyPatch, every: bool) -> None:
    """Is cut and read as one of this machine, its index files used."""
    s3.give_credentials(monkeypatch)
    local = fixture("real-44-live").input
    s3.upload(local.parent, "splits/node")
    plan = plan_splits(s3.uri("splits/node/__cluster_metadata-0"), 20_000, every=every)
    same = plan_splits(os.fspath(local), 20_000, every=every)
    assert [(s.name, s.begin, s.end) for s in same.splits] == [
        (s.name, s.begin, s.end) for s in plan.splits
    ]
    assert (same.checkpoint, same.faults, same.notes) == (plan.checkpoint, plan.faults, plan.notes)
    assert batches_of(same.splits) == batches_of(plan.splits)


def test_errors_can_be_pickled() -> None:
    """They come from other processes."""
    error = pickle.loads(pickle.dumps(SplitError("f: no", "f")))
    assert ("f: no", "f", ExitCode.SOURCE) == (error.message, error.file, error.exit_code)
    assert error.hint
