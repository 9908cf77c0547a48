"""Which source is chosen, how it is opened, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.sources import prompt_name
from metashell.errors import SourceError
from metashell.read_settings import ReadSettings
from metashell.security.settings import Address, Security, TlsSettings
from metashell.sources.request import Choice, QuorumChoice
from unit.cli.conftest import Program
from unit.cli.fake_program import FakeSource


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        (["-d", "a", "-s", "b", "ls"], ["`-d/--directory` and `-s/--snapshot` each choose"]),
        (["-d", "a", "-q", "h:1", "ls"], ["`-d/--directory` and `-q/--bootstrap-controllers`"]),
        (["-d", "a", "-s", "b", "-q", "c"], ["-d/--directory`, `-s/--snapshot` and `-q/"]),
        (["-d", "a", "demo"], ["`-d/--directory` and `demo` each choose a source"]),
        (["-q", "h", "ls"], ["`-q`: `h`: it has no port", "HOST:PORT"]),
        (["-q", "", "ls"], ["`--bootstrap-controllers` needs a value that is not empty"]),
        (["--live", "ls"], ["`--live` needs a configuration that names a quorum", "-q HOST:PORT"]),
        (["--live", "-d", "a", "ls"], ["`--live` needs a quorum, but `-d/--directory` chooses"]),
        (["--live", "-s", "a", "ls"], ["`--live` needs a quorum, but `-s/--snapshot` chooses"]),
        (["--live", "demo", "ls"], ["`--live` needs a quorum, but `demo` chooses"]),
        (["--timeout", "5", "-d", "a", "ls"], ["`--timeout` says how long to wait for a live"]),
        (["--timeout", "5", "demo", "ls"], ["`--timeout` says how long to wait for a live"]),
        (["--timeout", "5", "help"], ["`--timeout` says how long to wait for a live"]),
        (["--timeout", "x", "-q", "h:1", "ls"], ["`--timeout`: `x` must be a number of seconds"]),
        (["--timeout", "0", "-q", "h:1", "ls"], ["`--timeout`: `0` must be a number"]),
        (["--timeout", "-1", "-q", "h:1", "ls"], ["`--timeout`: `-1` must be a number"]),
        (["--timeout", "nan", "-q", "h:1", "ls"], ["`--timeout`: `nan` must be a number"]),
        (["--timeout", "inf", "-q", "h:1", "ls"], ["`--timeout`: `inf` must be a number"]),
        (["--timeout", "", "-q", "h:1", "ls"], ["`--timeout` needs a value that is not empty"]),
        (["ls", "-q", "h:1"], ["no source given", "put options before the command"]),
        (["prod", "ls"], ["prod: no such cluster and no such command", "metashell -d DIR ls"]),
        (["kafka-topics.sh"], ["no such command", "`topics`, `partitions`"]),
        (["tpoics"], ["tpoics: no such command", "did you mean topics?"]),
        ([], ["no source given", "metashell -d DIR", "metashell demo"]),
        (["ls", "/image"], ["no source given", "metashell demo"]),
        (["/no/such"], ["/no/such: No such file or directory, and not a command", "-d DIR"]),
        (["ls", "/", "-d", "a"], ["no source given", "put options before the command"]),
        (["-d", "", "ls"], ["`--directory` needs a value that is not empty"]),
        (["-d", "a", "--cluster-id=", "ls"], ["`--cluster-id` needs a value that is not empty"]),
        (["-d", "a", "-c", "x", "ls"], ["-c/--command and the command ls: each says what to run"]),
        (["-d", "a", "-c", "x", "-f", "y"], ["-c/--command and -f/--file: each says what to run"]),
        (["-d", "a", "-f", "/no/script"], ["/no/script: No such file or directory"]),
        (["-d", "a", "-f", "/"], ["/: Is a directory"]),
    ],
)  # fmt: skip
def test_usage_errors(program: Program, argv: list[str], parts: list[str]) -> None:
    """Each conflict is named, ends with 2 and opens nothing."""
    result = program(*argv)
    assert (2, "", []) == (result.code, result.out, program.opener.calls)
    assert result.err.startswith("metashell: ")
    for part in parts:
        assert part in result.err


def test_a_directory_as_command_is_understood(program: Program, tmp_path: Path) -> None:
    """A path given without its option is a common slip."""
    result = program(str(tmp_path), "ls", "/a b")
    assert 2 == result.code
    assert f"{tmp_path} is a directory, not a command" in result.err
    assert f"hint: `metashell -d {tmp_path} ls '/a b'`" in result.err


@pytest.mark.parametrize(("name", "flag"), [("0.checkpoint", "-s"), ("s.properties", "--config")])
def test_a_file_as_command_is_understood(
    program: Program, tmp_path: Path, name: str, flag: str
) -> None:
    """So is a file."""
    file = tmp_path / name
    file.touch()
    result = program(str(file))
    assert 2 == result.code
    assert f"`metashell {flag} {file}`" in result.err


def test_file_and_directory_swapped(program: Program, tmp_path: Path) -> None:
    """`-d FILE` and `-s DIR` say which option to use."""
    file = tmp_path / "x.log"
    file.touch()
    directory, snapshot = program("-d", str(file), "ls"), program("-s", str(tmp_path), "ls")
    assert (2, 2) == (directory.code, snapshot.code)
    assert f"`metashell -s {file}`" in directory.err
    assert f"`metashell -d {tmp_path}`" in snapshot.err


@pytest.mark.parametrize(
    ("path", "own_name", "shown"),
    [
        ("/var/lib/kafka/data", "__cluster_metadata-0", "data"),
        ("/var/lib/kafka/data/__cluster_metadata-0/", "__cluster_metadata-0", "data"),
        ("/__cluster_metadata-0", "__cluster_metadata-0", "__cluster_metadata-0"),
        ("/tmp/one.checkpoint", "one.checkpoint", "one.checkpoint"),
    ],
)
def test_name_in_the_prompt(path: str, own_name: str, shown: str) -> None:
    """Metadata logs are all named alike; where they lie tells them apart."""
    assert shown == prompt_name(Choice(path), FakeSource(name=own_name))


def test_the_demo_has_a_name() -> None:
    """It is not that of its directory."""
    assert "demo" == prompt_name(Choice("/x/sample", name="demo"), FakeSource())


def test_settings_reach_the_opener(program: Program) -> None:
    """Each option about reading is handed on."""
    argv = ["--strict", "--show-secrets", "--committed-only", "--schemas", "a", "--schemas=b"]
    assert 0 == program("-d", "dir", *argv, "echo").code
    ((how, path, request),) = program.opener.calls
    assert ("open", "dir") == (how, path)
    assert (
        ReadSettings(
            strict=True, schemas=(Path("a"), Path("b")), show_secrets=True, committed_only=True
        )
        == request.settings
    )


def test_snapshot_is_opened_as_a_file(program: Program) -> None:
    """`-s` and `-d` differ in what opens them."""
    program("-s", "x.checkpoint", "echo")
    assert [("open_file", "x.checkpoint")] == [call[:2] for call in program.opener.calls]


def test_demo_opens_the_bundled_sample(program: Program) -> None:
    """`demo` needs no path."""
    assert "hi\n" == program("demo", "echo", "hi").out
    ((_, path, _),) = program.opener.calls
    assert (Path(path) / "__cluster_metadata-0").is_dir()


def _config(tmp_path: Path, text: str) -> str:
    file = tmp_path / "server.properties"
    file.write_text(text)
    return str(file)


def test_config_alone_names_the_directory(program: Program, tmp_path: Path) -> None:
    """The log directory comes from the configuration."""
    config = _config(tmp_path, "metadata.log.dir=/meta\nlog.dirs=/a,/b\n")
    assert 0 == program("--config", config, "echo").code
    assert "/meta" == program.opener.calls[0][1]


def test_config_beside_another_source_only_adds_settings(program: Program, tmp_path: Path) -> None:
    """`-d` goes before the directory that the configuration names."""
    config = _config(tmp_path, "log.dirs=/a\n")
    assert 0 == program("--config", config, "-d", "other", "echo").code
    assert ["other"] == [call[1] for call in program.opener.calls]


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("a=b\n", 2, "names no log directory and no quorum"),
        ("bootstrap.servers=h:1\n", 3, "names brokers (`bootstrap.servers`) and no controller"),
        ("bootstrap.servers=h:1\nbootstrap.controllers=h:2\n", 3, "sets both"),
        ("bootstrap.controllers=h:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
         "sasl.jaas.config=M required password=hunter2;", 3, "logs in with"),
        ("log.dirs=${file:/x:y}\n", 2, "`log.dirs` is not a plain path"),
        ("sasl.jaas.config=hunter2 \\u12\n", 3, "malformed"),
    ],
)  # fmt: skip
def test_config_that_names_no_source(
    program: Program, tmp_path: Path, text: str, code: int, part: str
) -> None:
    """What is wrong is said without a value of the file."""
    result = program("--config", _config(tmp_path, text), "echo")
    assert code == result.code
    assert part in result.err
    assert "hunter2" not in result.err


def test_settings_reach_the_opener_of_a_quorum(program: Program) -> None:
    """Each option about reading, the security and the time to wait."""
    argv = ["--strict", "--show-secrets", "--committed-only", "--schemas", "a", "--timeout", "1.5"]
    program.opener.source.cluster_id = "c"
    result = program("-q", "a:1,2@[::1]:2", *argv, "--cluster-id", "c", "echo", "hi")
    assert (0, "hi\n", "") == (result.code, result.out, result.err)
    ((how, addresses, request),) = program.opener.calls
    assert ("open_quorum", "a:1,[::1]:2") == (how, addresses)
    quorum = request.choice.quorum
    assert (Security(), 1.5, True) == (quorum.security, quorum.timeout_s, quorum.follow)
    assert "c" == request.cluster_id
    assert (
        ReadSettings(strict=True, schemas=(Path("a"),), show_secrets=True, committed_only=True)
        == request.settings
    )


@pytest.mark.parametrize(
    ("text", "argv", "expected"),
    [
        ("bootstrap.controllers=q:1", [], ("open_quorum", "q:1")),
        ("bootstrap.controllers=q:1", ["--live"], ("open_quorum", "q:1")),
        ("controller.quorum.voters=1@q:1,2@r:2", [], ("open_quorum", "q:1,r:2")),
        ("log.dirs=/d\nbootstrap.controllers=q:1", [], ("open", "/d")),
        ("metadata.log.dir=/d\ncontroller.quorum.voters=1@q:1", [], ("open", "/d")),
        ("log.dirs=/d\nbootstrap.controllers=q:1", ["--live"], ("open_quorum", "q:1")),
        ("log.dirs=${x:y}\nbootstrap.controllers=q:1", ["--live"], ("open_quorum", "q:1")),
        ("log.dirs=/d\nbootstrap.controllers=q:1", ["-q", "p:1"], ("open_quorum", "p:1")),
        ("log.dirs=/d\nbootstrap.controllers=q:1", ["-q", "p:1", "--live"],
         ("open_quorum", "p:1")),
        ("bootstrap.servers=q:1\nbootstrap.controllers=q:1", ["-q", "p:1"],
         ("open_quorum", "p:1")),
        ("bootstrap.controllers=q:1", ["-d", "/e"], ("open", "/e")),
        ("bootstrap.controllers=q:1", ["-s", "/e"], ("open_file", "/e")),
    ],
)  # fmt: skip
def test_directory_or_quorum(
    program: Program, tmp_path: Path, text: str, argv: list[str], expected: tuple[str, str]
) -> None:
    """Options choose before a configuration, and in it a directory before a quorum."""
    assert 0 == program("--config", _config(tmp_path, text), *argv, "echo").code
    assert [expected] == [call[:2] for call in program.opener.calls]


def test_live_and_a_config_without_quorum(program: Program, tmp_path: Path) -> None:
    """There is nothing to follow."""
    result = program("--config", _config(tmp_path, "log.dirs=/d"), "--live", "echo")
    assert (3, []) == (result.code, program.opener.calls)
    assert "does not name a controller" in result.err


def test_security_of_a_config_and_its_notes(program: Program, tmp_path: Path) -> None:
    """They count beside `-q` too; what is ignored is said once, and never with a value."""
    config = _config(tmp_path, "security.protocol=SSL\nsecurity.protocl=hunter2\n")
    result = program("-q", "h:1", "--config", config, "-c", "echo", "-c", "echo")
    assert (
        Security(
            protocol="SSL",
            tls=TlsSettings(),
            notices=("unknown property `security.protocl` is ignored",),
        )
        == program.opener.calls[0][2].choice.quorum.security
    )
    assert "metashell: note: unknown property `security.protocl` is ignored\n" == result.err


def test_notes_are_for_live_sources(program: Program, tmp_path: Path) -> None:
    """A directory needs no security."""
    config = _config(tmp_path, "security.protocol=nonsense\nx.y=z\n")
    result = program("-d", "d", "--config", config, "echo")
    assert (0, "") == (result.code, result.err)


def test_name_of_a_quorum_in_the_prompt() -> None:
    """The first address that was given."""
    quorum = QuorumChoice(addresses=(Address("::1", 9093, 2), Address("b", 1)), security=Security())
    assert "[::1]:9093" == prompt_name(Choice(quorum=quorum), FakeSource("anything"))


def test_a_quorum_that_cannot_be_reached(program: Program) -> None:
    """An error of the system is told with the address."""
    program.opener.error = ConnectionRefusedError(111, "Connection refused")
    result = program("-q", "h:1", "echo")
    assert (3, "metashell: h:1: Connection refused\n") == (result.code, result.err)


def test_config_that_is_missing(program: Program, tmp_path: Path) -> None:
    """It is a source that can't be read."""
    result = program("--config", str(tmp_path / "no"), "echo")
    assert (3, f"metashell: {tmp_path}/no: No such file or directory\n") == (
        result.code,
        result.err,
    )


@pytest.mark.parametrize(
    ("found", "code", "part"),
    [
        ("wanted", 0, ""),
        ("other", 3, "fake belongs to cluster other, not to wanted"),
        (None, 0, "warning: fake does not name its cluster"),
    ],
)
def test_cluster_id(program: Program, found: str | None, code: int, part: str) -> None:
    """Another cluster is refused; an unknown one is warned of."""
    program.opener.source.cluster_id = found
    result = program("-d", "x", "--cluster-id", "wanted", "echo")
    assert code == result.code
    assert part in result.err
    assert bool(part) == bool(result.err)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (SourceError("dir: not a metadata log"), "metashell: dir: not a metadata log\n"),
        (PermissionError(13, "No way", "dir/0.log"), "metashell: dir/0.log: No way\n"),
        (OSError(5, "Input/output error"), "metashell: dir: Input/output error\n"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_opened(program: Program, error: Exception, line: str) -> None:
    """One line, exit status 3."""
    program.opener.error = error
    result = program("-d", "dir", "echo")
    assert (3, "", line) == (result.code, result.out, result.err)


def test_warnings_are_printed_once_each(program: Program) -> None:
    """Those of opening come first, those of decoding after the command; none twice."""
    program.opener.source.warnings.append("torn tail")
    result = program("-d", "x", "-c", "discover 2", "-c", "discover 2", "-c", "echo hi")
    assert "hi\n" == result.out
    assert ["torn tail", "discovered 0", "discovered 1"] == [
        line.removeprefix("metashell: warning: ") for line in result.err.splitlines()
    ]


def test_many_warnings_are_counted(program: Program) -> None:
    """After ten, only their number is told, once."""
    result = program("-d", "x", "-c", "discover 13", "-c", "discover 14")
    lines = result.err.splitlines()
    assert (11, "metashell: warning: 4 more of these") == (len(lines), lines[-1])


@pytest.mark.parametrize(("argv", "code"), [([], 0), (["--strict"], 1)])
def test_a_stopped_replay_fails_when_strict(program: Program, argv: list[str], code: int) -> None:
    """With `--strict` a fault that stopped the replay is told once, and fails."""
    program.opener.source.stopped_by = "0.log: offset 5: unknown topic"
    program.opener.source.warnings.append("stopped before 0.log: offset 5: unknown topic")
    result = program("-d", "x", *argv, "echo", "hi")
    assert (code, "hi\n", 1) == (result.code, result.out, result.err.count("unknown topic"))
