"""Who opens a live source ends its following, whatever happens in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.program import run_program
from support.live import Cluster
from support.logs import topic_batch


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["ls", "/image"], 0),
        (["ls", "/none"], 1),
        (["watch", "--count", "1", "ls", "/image/topics/byName"], 0),
        (["log", "--follow", "--limit", "2"], 0),
    ],
)
def test_the_following_ends_with_the_program(
    words: list[str], status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """After a command that worked, one that failed, and those that wait."""
    cluster = Cluster(topic_batch(0))
    cluster.news = [lambda: cluster.commit(topic_batch(1))]
    arguments = ["-d", str(tmp_path), *words]
    assert status == run_program(arguments, lambda request, watch: cluster.source())
    assert cluster.is_closed
    assert ("watch" not in words) or "+t1\n" in capfd.readouterr().out


def test_the_following_ends_with_an_interrupt(tmp_path: Path) -> None:
    """^C while it is waited for news."""
    cluster = Cluster(topic_batch(0))
    arguments = ["-d", str(tmp_path), "log", "-f"]
    assert 130 == run_program(arguments, lambda request, watch: cluster.source())
    assert cluster.is_closed
