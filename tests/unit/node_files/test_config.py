"""Configuration files: which directory they name, and that they keep their secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.errors import SourceError, UsageError
from metashell.node_files.config import KafkaConfig, read_config


@pytest.mark.parametrize(
    ("text", "path", "key"),
    [
        ("metadata.log.dir=/m\nlog.dirs=/a\nlog.dir=/b", "/m", "metadata.log.dir"),
        ("log.dirs=/a,/c\nlog.dir=/b", "/a", "log.dirs"),
        ("log.dirs = /a b , /c", "/a b", "log.dirs"),
        ("log.dirs= , ,/c", "/c", "log.dirs"),
        ("metadata.log.dir=\nlog.dirs=\nlog.dir=/b ", "/b", "log.dir"),
        ("metadata.log.dir=/m,n", "/m,n", "metadata.log.dir"),
        ("log.dir=C:\\\\kafka\\\\data", "C:\\kafka\\data", "log.dir"),
    ],
)
def test_log_dir(tmp_path: Path, text: str, path: str, key: str) -> None:
    """Chosen as Kafka chooses it."""
    file = tmp_path / "server.properties"
    file.write_text(text)
    log_dir = read_config(file).log_dir()
    assert log_dir is not None
    assert (Path(path), key) == (log_dir.path, log_dir.key)
    assert Path(path) / "__cluster_metadata-0" == log_dir.metadata_log


def test_no_log_dir() -> None:
    """A client's configuration names none."""
    assert KafkaConfig("f", {"security.protocol": "SSL"}).log_dir() is None


@pytest.mark.parametrize("value", ["/a\0b", "${env:DIR}"])
def test_value_that_is_no_path(value: str) -> None:
    """It can't be used as it stands, and is not shown."""
    with pytest.raises(UsageError) as caught:
        KafkaConfig("f", {"log.dir": value}).log_dir()
    assert "f: `log.dir` is not a plain path" == caught.value.message


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"controller.quorum.voters": "1@h:1"}, True),
        ({"controller.quorum.bootstrap.servers": "h:1"}, True),
        ({"bootstrap.controllers": "h:1"}, True),
        ({"bootstrap.controllers": " "}, False),
        ({"bootstrap.servers": "h:1"}, False),
    ],
)
def test_names_quorum(settings: dict[str, str], expected: bool) -> None:
    """Addresses of controllers, not of brokers."""
    assert expected is KafkaConfig("f", settings).names_quorum()


def test_repr_keeps_secrets() -> None:
    """A traceback that shows a Config shows no setting."""
    assert "hunter2" not in repr(KafkaConfig("f", {"sasl.jaas.config": "hunter2"}))


def test_latin_1_as_kafka_reads_it(tmp_path: Path) -> None:
    """Java loads these files as Latin-1, and so the bytes of UTF-8 one by one."""
    file = tmp_path / "f"
    file.write_bytes("log.dir=/é".encode())
    log_dir = read_config(file).log_dir()
    assert log_dir is not None
    assert "/Ã©" == str(log_dir.path)


def test_unreadable(tmp_path: Path) -> None:
    """A missing file and a directory are named."""
    for path in (tmp_path, tmp_path / "no"):
        with pytest.raises(SourceError, match=str(path)):
            read_config(path)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"log.dirs": "/a, /c,/a", "log.dir": "/b"}, ["/a", "/c"]),
        ({"log.dirs": " , ", "log.dir": "/b, /c"}, ["/b", "/c"]),
        ({"log.dirs": "/a,/c", "metadata.log.dir": "/m"}, ["/a", "/c", "/m"]),
        ({"log.dirs": "/a,/c", "metadata.log.dir": "/c"}, ["/a", "/c"]),
        ({"metadata.log.dir": "/m"}, ["/m"]),
    ],
)
def test_all_log_dirs(settings: dict[str, str], expected: list[str]) -> None:
    """Those of the logs, and the metadata log's where it is another."""
    assert expected == [str(one.path) for one in KafkaConfig("f", settings).log_dirs()]


def test_one_of_several_is_no_path() -> None:
    """Who asks for the first alone gets it; who asks for all is told."""
    config = KafkaConfig("f", {"log.dirs": "/a,${env:DIR}"})
    first = config.log_dir()
    assert first is not None
    assert Path("/a") == first.path
    with pytest.raises(UsageError, match="not a plain path"):
        config.log_dirs()
