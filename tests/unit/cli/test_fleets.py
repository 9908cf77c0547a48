"""Several -d and patterns on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metashell.cli import main
from support.fleets import OTHER_ID, SAMPLE, SAMPLE_ID, backups

Captures = pytest.CaptureFixture[str]


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """Two nodes of one cluster and one of another."""
    return backups(tmp_path / "backups")


def test_a_pattern_and_several_directories_are_the_same(parent: Path, capsys: Captures) -> None:
    """Also where a pattern names the metadata directories themselves."""
    each = [word for path in sorted(parent.iterdir()) for word in ("-d", str(path))]
    for options in (each, ["-d", f"{parent}/*"], [f"--directory={parent}/*/__cluster_metadata-0"]):
        assert 0 == main([*options, "ls", "/clusters"])
        assert f"controller-1\ncontroller-2\n{OTHER_ID}\n" == capsys.readouterr().out


def test_a_pattern_is_always_a_fleet(parent: Path, capsys: Captures) -> None:
    """Even where it names one directory; one `-d` without a pattern never is."""
    assert 0 == main(["-d", f"{parent}/st*", "ls", "/", "/clusters"])
    assert f"/:\nclusters\n\n/clusters:\n{OTHER_ID}\n" == capsys.readouterr().out
    (parent / "st[a]").symlink_to(parent / "staging")
    for path in ("staging", "st[a]"):
        assert 0 == main(["-d", str(parent / path), "ls", "/"])
        assert "image\n" in capsys.readouterr().out


def test_a_pattern_that_names_nothing(tmp_path: Path, capsys: Captures) -> None:
    """It is named, with status 3."""
    assert 3 == main(["-d", f"{tmp_path}/none*", "ls"])
    assert f"metashell: {tmp_path}/none*: no directory matches" in capsys.readouterr().err


def test_a_pattern_without_quotes(parent: Path, capsys: Captures) -> None:
    """The system's shell has expanded it: only the first is the value of `-d`."""
    words = sorted(map(str, parent.iterdir()))
    assert 2 == main(["-d", *words, "ls"])
    err = capsys.readouterr().err
    assert f"metashell: {words[1]} is a directory, not a command" in err
    assert "put the pattern in quotes" in err


def test_options_hold_for_each(parent: Path, capsys: Captures) -> None:
    """A point, a cluster, the fault that ends a strict replay."""
    pattern = ["-d", f"{parent}/*"]
    assert 0 == main([*pattern, "--cluster-id", SAMPLE_ID, "ls", "/clusters"])
    assert "controller-1\ncontroller-2\n" == capsys.readouterr().out
    assert 3 == main([*pattern, "--cluster-id", "nope", "ls"])
    assert "no directory belongs to cluster nope" in capsys.readouterr().err
    assert 0 == main([*pattern, "--cluster-id", SAMPLE_ID, "--at", "3599", "fleet", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [3599, 3599] == [row["offset"] for row in found]
    assert 2 == main([*pattern, "--at", "x", "ls"])
    capsys.readouterr()

    (segment,) = sorted((parent / "staging" / "__cluster_metadata-0").glob("*.log"))[-1:]
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    assert 0 == main([*pattern, "--strict", "cat", "/clusters/controller-1/image/provenance"])
    assert 1 == main([*pattern, "--strict", "cat", "/clusters/*/image/provenance"])
    assert f"metashell: warning: {OTHER_ID}: " in capsys.readouterr().err


def test_a_directory_that_is_gone_is_one_bad_row(parent: Path, capsys: Captures) -> None:
    """Given by name among others; alone it is an error as ever."""
    gone = str(parent / "gone")
    assert 1 == main(["-d", gone, "-d", str(SAMPLE), "fleet"])
    captured = capsys.readouterr()
    assert f"{gone}: No such file or directory" in captured.out
    assert "4111" in captured.out
    assert "" == captured.err
    assert 3 == main(["-d", gone, "fleet"])
