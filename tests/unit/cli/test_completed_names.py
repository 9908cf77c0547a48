"""Names kept for completion: proposed without the source, and only while they can be right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.cli import completed_names
from metashell.cli.completed_names import KeptNames, NotKept, kept_names
from metashell.cli.completion import answer
from metashell.commands.framework.command import Context, Nowhere
from metashell.commands.framework.completion import LIMIT, complete_line
from metashell.fs.node import Directory, FixedDirectory, TextLeaf
from support.fixtures import SAMPLE


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of this test."""
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "names"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the bundled directory."""
    shutil.copytree(SAMPLE, tmp_path / "kafka")
    return tmp_path / "kafka"


def kept(place: Path) -> KeptNames:
    """What is kept of a directory."""
    found = kept_names({"--directory": (str(place),)}, None)
    assert found is not None
    return found


def common_beginning(texts: list[str]) -> str:
    """What all texts begin with."""
    n_same = next(i for i in range(99) if len({text[: i + 1] for text in texts}) > 1)
    return texts[0][:n_same]


def proposed(capfd: pytest.CaptureFixture[str], line: str) -> list[str]:
    """The words that bash is given."""
    assert 0 == answer(["bash", line, "=:"], dict(os.environ))
    return [row.split("\t")[0] for row in capfd.readouterr().out.splitlines()]


@pytest.mark.parametrize("words", ["ls /image/", "cd /image/cluster/br", "partitions "])
def test_the_second_time_is_like_the_first(
    capfd: pytest.CaptureFixture[str], cache: Path, copy: Path, words: str
) -> None:
    """The same is proposed, from files that only their owner reads."""
    line = f"metashell -d {copy} {words}"
    first = proposed(capfd, line)
    assert first
    files = list(cache.iterdir())
    assert files
    assert {0o600} == {file.stat().st_mode & 0o777 for file in files}
    assert 0o700 == cache.stat().st_mode & 0o777
    for log in copy.rglob("*.log"):
        log.chmod(0)
    assert first == proposed(capfd, line)


@pytest.mark.long
def test_the_second_time_decodes_nothing(copy: Path) -> None:
    """Not even numpy is imported."""
    code = (
        "import sys\nfrom metashell.cli import completion\n"
        # Not even on a machine that is busy.
        "completion._LIMIT_S = 60.0\n"
        f"completion.answer(['bash', 'metashell -d {copy} ls /image/to', ''], {{}})\n"
        "print('numpy' in sys.modules)"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert [["/image/topics/\t", "True"], ["/image/topics/\t", "False"]] == outputs


def test_names_of_an_earlier_state(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They count for a while of a log that grows, and not beside another checkpoint."""
    root = FixedDirectory({"a": lambda: TextLeaf("")})
    assert kept(copy).keep("/", root)
    assert ["a"] == kept(copy).root.names()
    log = next(copy.rglob("*.log"))
    with log.open("ab") as file:
        file.write(b"x")
    assert ["a"] == kept(copy).root.names()
    now = completed_names.time.time()
    monkeypatch.setattr(completed_names.time, "time", lambda: now + 301)
    with pytest.raises(NotKept):
        kept(copy).root.names()
    monkeypatch.setattr(completed_names.time, "time", lambda: now)
    (log.parent / "00000000000000009999-0000000001.checkpoint").write_bytes(b"")
    with pytest.raises(NotKept):
        kept(copy).root.names()


def test_what_is_not_kept(copy: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that fit no line, several sources, quorums; and nothing in a directory of Kafka's."""
    for name in ("a/b", "a\nb", "", "\udc80"):
        directory = FixedDirectory({name: lambda: TextLeaf("")})
        assert not kept(copy).keep("/", directory)
    assert kept_names({"--directory": ("a", "b")}, None) is None
    assert kept_names({"--bootstrap-controllers": ("h:1",)}, None) is None
    assert kept_names({"--directory": (str(copy),), "--no-cache": ("",)}, None) is None
    assert kept_names({"--directory": ("/nowhere",)}, None) is None
    assert not cache.exists()
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(copy / "c"))
    assert not kept(copy).keep("/", FixedDirectory({}))
    assert not (copy / "c").exists()


def test_nothing_is_kept_without_a_metadata_log(tmp_path: Path) -> None:
    """Of such a log directory nothing tells when the names of groups change."""
    (tmp_path / "__consumer_offsets-0").mkdir()
    assert kept_names({"--directory": (str(tmp_path),)}, None) is None


def test_options_make_another_source(copy: Path) -> None:
    """The state at an earlier point has names of its own."""
    root = FixedDirectory({"a": lambda: TextLeaf("")})
    assert kept(copy).keep("/", root)
    earlier = kept_names({"--directory": (str(copy),), "--at": ("3",)}, None)
    assert earlier is not None
    with pytest.raises(NotKept):
        earlier.root.names()


def test_damaged_files(copy: Path, cache: Path) -> None:
    """They are as if they were not there."""
    assert kept(copy).keep("/", FixedDirectory({"a": lambda: TextLeaf("")}))
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    for cut in range(0, len(whole) - 3, 3):
        file.write_bytes(whole[:cut])
        with pytest.raises(NotKept):
            kept(copy).root.names()


def test_many_names(copy: Path) -> None:
    """The first ones and the last are proposed, so that what they begin with is right for all."""
    names = sorted({f"topic-{i:06d}" for i in range(5_000)} | {"topical", "tea", "z", "é"})
    inner = FixedDirectory({name: lambda: FixedDirectory({}) for name in names})
    assert kept(copy).keep("/", inner)
    root = kept(copy).root
    assert names == root.names()
    for prefix in ("", "t", "topic-", "topic-0049", "z", "é", "y", "topic-000001"):
        expected = [name for name in names if name.startswith(prefix)]
        assert expected[:7] == list(root.names_from(prefix, 7)) == list(inner.names_from(prefix, 7))
        assert (expected or [None])[-1] == root.last_from(prefix) == inner.last_from(prefix)
    assert isinstance(root.child("topic-000007"), Directory)
    assert root.child("topic-00000") is None
    for tree in (root, inner):
        context = Context(tree, Nowhere(), lambda _: None)
        found = complete_line(context, "ls t")
        assert LIMIT == len(found)
        assert "t" == common_beginning([item.text for item in found])
        assert ("topical/", "… topical/") == (found[-1].text, found[-1].display)
        assert 101 == len(complete_line(context, "ls topic-0000") + complete_line(context, "ls z"))
