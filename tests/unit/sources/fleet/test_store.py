"""A fleet whose directories are in a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metashell.cli import main
from support.fleets import OTHER_ID, SAMPLE_ID, backups
from support.s3 import S3Server


@pytest.mark.slow
def test_directories_in_a_store(
    s3: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Named, walked and told of as local ones are, in this process and in others."""
    s3.give_credentials(monkeypatch)
    parent = backups(tmp_path / "backups")
    s3.upload(parent, "store-of-a-fleet")
    pattern = s3.uri("store-of-a-fleet/*/__cluster_metadata-0")

    def printed(place: str, *words: str) -> str:
        assert 0 == main(["--engine", "local", "-d", place, *words])
        return capsys.readouterr().out

    for words in (
        ["ls", "/clusters"],
        ["cat", "/clusters/*/image/provenance"],
        ["-c", f"cd /clusters/{OTHER_ID}", "-c", "checksum"],
        ["fleet"],
        ["fleet", "--verify"],
    ):
        assert printed(f"{parent}/*", *words) == printed(pattern, *words)
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: 2)
    found = json.loads(printed(pattern, "fleet", "--json"))
    assert [SAMPLE_ID, SAMPLE_ID, OTHER_ID] == [row["cluster_id"] for row in found]
    # What a URI holds of settings and keys is not told.
    shown = "s3://bucket/store-of-a-fleet/controller-1/__cluster_metadata-0"
    assert shown == found[0]["directory"]
