"""Words of other tools, slips in our own: the error says what stands here for them."""

from __future__ import annotations

import random
import re

import pytest

import metashell
from metashell.cli.arguments import OPTIONS
from metashell.commands import all_names, get
from metashell.commands.framework import other_tools
from metashell.commands.framework.aliases import Habits
from metashell.commands.framework.command import Context
from metashell.commands.framework.near import near_option, near_path
from metashell.commands.framework.run import run_line
from metashell.fs.node import FixedDirectory, TextLeaf
from metashell.sources.source import Source
from metashell.spelling import distance, near
from support.fixtures import DEMO, SAMPLE
from support.shell import Captured, run_on

DESCRIBES = "`describe NAME` shows a topic, broker, group or user; `help` lists commands"
SCHEMA = '`sql ".schema topics"` the columns of one'
ISR = "`partitions --under-replicated`; `partitions NAME` has the ISR of each"
STRAY = "`partitions --replica N` lists what broker N has; any other log on its disks is a stray"


@pytest.fixture(scope="module")
def sample() -> Source:
    """The bundled directory."""
    return metashell.open(SAMPLE)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "topics --describe",
            "`topics` and `partitions` describe all topics; `topics NAME` describes one",
        ),
        ("partitions --unavailable-partitions", "`partitions --offline`"),
        ("ls --bootstrap-server", "`metashell -q HOST:PORT` connects to a controller"),
        ("config --alter", "metashell only reads; change the cluster with Kafka's own tools"),
        ("ls --at -1h", "put `--at` before the command: `metashell --at ... ls`"),
        ("topics -q x", "put `-q` before the command: `metashell -q ... topics`"),
        ("ls --offline", "did you mean `partitions --offline`?"),
        ("ls --xyzzy", "usage: ls [-1dlrRt] [-o FORMAT] [PATH...]"),
        ("kafka-topics.sh --list", "use `topics`, `partitions`"),
        ("kafka-consumer-groups.sh --list", "use `groups`, `offsets`, `members`"),
        ("kafka-transactions list", "use `transactions`, `producers`"),
        (
            "groups --reset-offsets",
            "metashell only reads; change the cluster with Kafka's own tools",
        ),
        ("less", "pipe into it: `ls | less`"),
        ("head", "pipe into it: `ls | head`"),
        ("rm", "metashell only reads"),
        ("claer", "did you mean clear?"),
        ("part", "did you mean partitions?"),
        ("Topics", "did you mean topics?"),
        ("foo", "help lists the commands"),
        ("show", DESCRIBES),
        ("get", DESCRIBES),
        ("desc", DESCRIBES),
        ("show nosuch", DESCRIBES),
        ("get topic orders", "`describe topic orders`"),
        ("show topics --offline", "`topics --offline`"),
        ("get broker", "`brokers`"),
        ("show tables", f"`sql .tables` lists tables, {SCHEMA}"),
        ("\\\\dt", f"`sql .tables` lists tables, {SCHEMA}"),
        ("show isr", ISR),
        ("isr", ISR),
        ("status", "`health` tells what is wrong, `quorum` who leads"),
        ("strays", STRAY),
        ("stray", STRAY),
        (
            "version",
            "`metashell --version` is metashell's; `nodes` has those of nodes, and "
            "`cat /image/features/metadataVersion` the cluster's",
        ),
        ("features", "`cat /image/features/*`; `can-upgrade VERSION` tells who supports what"),
        ("import", "help lists the commands"),
        ("ls /imag", "did you mean /image?"),
        ("ls /topics/byName", "did you mean /image/topics/byName?"),
        ("cat /image/features/metadataversion", "did you mean /image/features/metadataVersion?"),
        ("cd /imgae/topics", "did you mean /image/topics?"),
        ("find / -nme x", "did you mean -name?"),
        ("find / -xyzzy x", "`man find` lists the tests"),
    ],
)
def test_hints(line: str, hint: str, sample: Source) -> None:
    """Each error ends with the next step."""
    context = Context(sample.root, Captured(), (warned := []).append, source=sample)
    context.interactive = True
    assert run_line(context, line) in (1, 2)
    assert f"  hint: {hint}" == warned[-1]


def test_guesses_lead_to_something() -> None:
    """Each command line that a hint quotes runs on the demo."""
    demo = metashell.open(DEMO)
    words = {"N": " 104", "NAME": " orders", "VERSION": " 4.1"}
    quoted = {
        re.sub(" (N|NAME|VERSION)$", lambda word: words[word[1]], line)
        for meant in other_tools._MEANT.values()
        for line in re.findall(r"`([^`]+)`", f"{meant} {other_tools._DESCRIBES}")
    }
    ours = {line for line in quoted if get(line.split()[0]) is not None} - {"exit", "quit"}
    assert len(ours) > 15
    for line in ours - {'sql "select ..."', "offsets --lag"}:
        ran = run_on(demo, line)
        assert ran.status in (0, 1), line
        assert ran.out, line


def test_clusters_are_chosen_at_the_start(sample: Source) -> None:
    """A first word that is none of them is told which there are."""
    warned: list[str] = []
    habits = Habits(clusters=("dev", "eu"))
    context = Context(sample.root, Captured(), warned.append, source=sample, habits=habits)
    assert 2 == run_line(context, "qa ls")
    assert 2 == run_line(context, "dev ls")
    assert [
        "qa: unknown command",
        "  hint: no cluster is called qa; the clusters are dev, eu",
        "dev: unknown command",
        "  hint: choose a cluster at the start: `metashell dev`",
    ] == warned


def test_no_guess_is_another_thing() -> None:
    """What merely looks alike is not proposed."""
    names = all_names()
    for word in ("wc", "more", "sort", "clone", "echo", "xargs", "tar", "date", "zz", "", "ks"):
        assert near(word, names) is None, word
    assert "clear" == near("clera", names)
    assert near("0" * 10_000, names) is None


def test_distance_is_that_of_the_slow_way() -> None:
    """Letters too much, missing, wrong or in each other's place, counted by trying all of them."""
    letters = "ab"
    seeds = random.Random(7)

    def slips(word: str) -> set[str]:
        return {
            *(word[:i] + word[i + 1 :] for i in range(len(word))),
            *(word[:i] + c + word[i:] for i in range(len(word) + 1) for c in letters),
            *(word[:i] + c + word[i + 1 :] for i in range(len(word)) for c in letters),
            *(word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)),
        }

    for _ in range(300):
        a, b = ("".join(seeds.choices(letters, k=seeds.randint(1, 6))) for _ in "12")
        expected = 0 if a == b else 1 if b in slips(a) else None
        assert expected == distance(a, b, 1), (a, b)


@pytest.mark.long
def test_paths_of_large_directories() -> None:
    """Names beside the word in the order are looked at, not all of them; numbers are no slips."""
    names = [f"topic-{i:05d}" for i in range(30_000)]
    topics = FixedDirectory({name: lambda: TextLeaf("") for name in names})
    root = FixedDirectory({"topics": lambda: topics})
    assert "/topics/topic-01234" == near_path(root, "/topics/topic-012345", "/")
    assert "topic-01230" == near_path(root, "topic-0123x", "/topics")
    assert near_path(root, "/topics/99999", "/") is None
    assert near_path(root, "/topics/topic-00001/x", "/") is None
    assert near_path(root, "/", "/") == "/"


def test_options_of_metashell_are_all_known() -> None:
    """Each is told to stand in front of the command, unless every command has it."""
    flags = {flag for option in OPTIONS for flag in option.flags} - {"--help", "-h"}
    assert flags == other_tools.OF_PROGRAM


def test_answers_for_other_tools_are_commands() -> None:
    """What a hint names exists."""
    texts = [*other_tools.OPTIONS.values(), *other_tools._TOOLS.values()]
    for text in texts:
        for quoted in text.split("`")[1::2]:
            name, *words = quoted.split()
            if name == "metashell":
                continue
            command = get(name)
            assert command is not None, quoted
            flags = {flag for option in command.manual.options for flag in option.flags}
            assert {word for word in words if word.startswith("-")} <= flags, quoted


def test_options_that_are_nearly_one() -> None:
    """Long ones alone; dashes do not count."""
    assert "--offline" == near_option("--offine", ["--offline", "-o"])
    assert "-name" == near_option("--name", ["-name", "-path"])
    assert near_option("-x", ["-y", "--yes"]) is None


def test_hints_are_few(sample: Source) -> None:
    """Of many paths that are not there a few are guessed at."""
    ran = run_on(sample, "cat " + " ".join(["/imag", "/imge"] * 6))
    assert 5 == sum(line.startswith("  hint") for line in ran.err)
