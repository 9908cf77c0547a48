"""Measures what happens inside of one process: decoding, and commands on a loaded image.

Started by `figures` on one CPU as ``python worker.py TASK PATH RUNS [ARG...]``; prints what it
measured as one line of JSON. Every answer is checked; a wrong one ends it with exit status 1.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measure import RSS_UNIT_BYTES, Measurement, WrongOutputError
from oracle import partition_text

BATCHES_MESSAGES = {".log": "PartitionChangeRecord", ".checkpoint": "PartitionRecord"}
"""The records that are decoded of each kind of file."""


BY_NAME = "/image/topics/byName"


class Collected:
    """A terminal that keeps what is written."""

    is_terminal = True
    width = 120

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        """Keep a piece of text."""
        self.text += text

    def flush(self) -> None:
        """Nothing is held."""


def main(argv: Sequence[str]) -> int:
    """Do one task and print its measurement."""
    task, path, runs, *rest = argv
    try:
        measurement = TASKS[task](Path(path), int(runs), rest)
    except WrongOutputError as error:
        print(f"{task}: {error}", file=sys.stderr)
        return 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    measurement.peak_rss_bytes = peak * RSS_UNIT_BYTES
    print(json.dumps(asdict(measurement)))
    return 0


def repeat(work: Callable[[], object], runs: int) -> Measurement:
    """Time some work once for the first time, then `runs` times; what it returns is dropped."""
    measurement = Measurement()
    for i in range(runs + 1):
        gc.collect()
        user = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        begin = time.perf_counter()
        result = work()
        wall = time.perf_counter() - begin
        user = resource.getrusage(resource.RUSAGE_SELF).ru_utime - user
        del result
        if i == 0:
            measurement.first_s = wall
        else:
            measurement.wall_s.append(wall)
            measurement.user_s.append(user)
    return measurement


def decode_columns(path: Path, runs: int, _: Sequence[str]) -> Measurement:
    """From a file's bytes to columns in Arrow's layout: values and offsets of every field."""
    from metashell.log.read import load
    from metashell.records.records import Records
    from metashell.schema.columns import SpanColumn, StructArrayColumn
    from metashell.schema.model import load_registry

    registry, message = load_registry(), BATCHES_MESSAGES[path.suffix]
    n_records = 0

    def work() -> object:
        nonlocal n_records
        rows, columns = Records(load([str(path)]), registry).columns(message)
        n_records = len(rows)
        gathered: list[Any] = []
        for column in columns.fields.values():
            if isinstance(column, SpanColumn):
                gathered.append((*column.gather(), column.valid()))
            else:
                assert not isinstance(column, StructArrayColumn)
                gathered.append(column)
        return gathered

    measurement = repeat(work, runs)
    measurement.n_items = n_records
    _check_columns(path)
    return measurement


def _check_columns(path: Path) -> None:
    """Compare the first and last records' columns with what the scalar decoder reads."""
    import numpy as np

    from metashell.log.read import load
    from metashell.records.records import Records
    from metashell.schema.model import load_registry
    from metashell.schema.rows import to_rows
    from metashell.schema.scalar import decode_message

    records = Records(load([str(path)]), load_registry())
    name = BATCHES_MESSAGES[path.suffix]
    rows, columns = records.columns(name)
    spec, frames = records.registry.by_name[name], records.frames
    picked = sorted({*range(min(50, len(rows))), *range(max(0, len(rows) - 50), len(rows))})
    for i, found in zip(picked, to_rows(columns.take(np.array(picked))), strict=True):
        at = int(rows[i])
        data = frames.arena.slice(int(frames.body[at]), int(frames.stop[at]))
        if found != decode_message(spec, int(frames.version[at]), data):
            raise WrongOutputError(f"record {i} is decoded wrongly")
    if records.faults or not len(rows):
        raise WrongOutputError(f"{len(rows)} records and {len(records.faults)} faults")


def frames_only(path: Path, runs: int, _: Sequence[str]) -> Measurement:
    """From a file's bytes in memory to frames: chain, CRC, where every record lies."""
    from metashell.log.chain import Chainer
    from metashell.log.framing import build_frames
    from metashell.log.read import Loaded, LogFile, load

    loaded = load([str(path)])
    view = memoryview(loaded.buffer)

    def work() -> object:
        chain = Chainer(view, 0, loaded.size, path.name).run()
        file = LogFile(path.name, 0, loaded.size, chain)
        return build_frames(Loaded(loaded.buffer, loaded.size, [file]))

    measurement = repeat(work, runs)
    measurement.n_items = _decoded(path)
    return measurement


def columns_only(path: Path, runs: int, _: Sequence[str]) -> Measurement:
    """From places of records to columns of all fields."""
    from metashell.log.read import load
    from metashell.records.records import Records
    from metashell.schema.decoding import decode
    from metashell.schema.model import load_registry

    records, name = Records(load([str(path)]), load_registry()), BATCHES_MESSAGES[path.suffix]
    rows, frames, spec = records.rows(name), records.frames, records.registry.by_name[name]
    starts, stops, version = frames.body[rows], frames.stop[rows], int(frames.version[rows[0]])
    measurement = repeat(lambda: decode(frames.arena, spec, version, starts, stops), runs)
    measurement.n_items = _decoded(path)
    return measurement


def _decoded(path: Path) -> int:
    """How many records there are of the file's message; what they say is checked too."""
    from metashell.log.read import load
    from metashell.records.records import Records
    from metashell.schema.model import load_registry

    _check_columns(path)
    return len(Records(load([str(path)]), load_registry()).rows(BATCHES_MESSAGES[path.suffix]))


def decode_table(path: Path, runs: int, _: Sequence[str]) -> Measurement:
    """From a file's bytes to the `pyarrow.Table` that the Python API gives."""
    import metashell

    n_records = 0

    def work() -> object:
        nonlocal n_records
        table = metashell.open_file(path).records(BATCHES_MESSAGES[path.suffix])
        n_records = table.num_rows
        return table

    measurement = repeat(work, runs)
    measurement.n_items = n_records
    return measurement


def decode_scalar(path: Path, runs: int, rest: Sequence[str]) -> Measurement:
    """The scalar decoder, record by record, over some of the records; framing is not timed."""
    from metashell.log.read import load
    from metashell.records.records import Records
    from metashell.schema.model import load_registry
    from metashell.schema.scalar import decode_message

    records = Records(load([str(path)]), load_registry())
    name = BATCHES_MESSAGES[path.suffix]
    spec, frames = records.registry.by_name[name], records.frames
    rows = records.rows(name)[: int(rest[0])].tolist()
    inputs = [
        (int(frames.version[row]), frames.arena.slice(int(frames.body[row]), int(frames.stop[row])))
        for row in rows
    ]

    def work() -> object:
        return [decode_message(spec, version, data) for version, data in inputs]

    measurement = repeat(work, runs)
    measurement.n_items = len(inputs)
    return measurement


_REMARKING = ("at ", "changes ", "who-can ")
"""Commands that remark on what they found, without anything being wrong."""


class _Session:
    """An opened source and a context, as the interactive shell has them."""

    def __init__(self, path: Path) -> None:
        import metashell
        from metashell.commands.framework.command import Context

        self.source = metashell.open(path, engine="local")
        self.out = Collected()
        self.warnings: list[str] = []
        self.context = Context(
            root=self.source.root,
            source=self.source,
            out=self.out,
            warn=self.warnings.append,
            interactive=True,
        )
        self.source.status()  # which the toolbar asks for while the first line is typed

    def run(self, line: str) -> str:
        """Run a line and return what it prints."""
        from metashell.commands.framework.run import run_line

        self.out.text = ""
        self.warnings.clear()
        status = run_line(self.context, line)
        if status or (self.warnings and not line.startswith(_REMARKING)):
            raise WrongOutputError(f"{line}: status {status}: {self.warnings}")
        return self.out.text

    def topics(self, count: int) -> list[str]:
        """Names of some topics, spread over all of them, without looking at their partitions."""
        import metashell

        names = metashell.open(self.source.path, engine="local").ls(BY_NAME)
        step = max(1, len(names) // count)
        return names[step // 2 :: step][:count]


def command(path: Path, runs: int, rest: Sequence[str]) -> Measurement:
    """A command line in the shell, of another topic each time, so that nothing is kept from before.

    `rest` is the line, the kind of answer and the answer; ``{topic}`` and ``{end}`` in them stand
    for a topic's name and the digits it ends with. Kinds: ``text``, ``lines`` (their number),
    ``cwd``, ``any`` (which names the topic) and ``partition`` (its number; the text comes from
    `oracle`).
    """
    line, kind, answer = rest
    session = _Session(path)
    topics = session.topics(runs + 1)
    lines = [_filled(line, topic) for topic in topics]
    upcoming = iter(lines)
    measurement = repeat(lambda: session.run(next(upcoming)), runs)
    for typed, topic in zip(lines, topics, strict=True):
        text, expected = session.run(typed), _filled(answer, topic)
        if kind == "cwd":
            text = session.context.cwd
        elif kind == "any":
            _check(topic in text, f"{typed}: {text!r}")
            continue
        elif kind == "lines":
            text = str(text.count("\n"))
        elif kind == "partition" and topic == topics[-1]:
            inner = Path(session.source.path)
            files = [*inner.glob("*.checkpoint"), *inner.glob("*.log")]
            expected = partition_text(files, topic, int(answer)) + "\n"
        elif kind == "partition":
            continue
        _check(text == expected, f"{typed}: {text!r} where {expected!r} is right")
    return measurement


def question(path: Path, runs: int, rest: Sequence[str]) -> Measurement:
    """A question asked again and again in the shell; `rest` is its line."""
    (line,) = rest
    session = _Session(path)
    answers: set[str] = set()
    measurement = repeat(lambda: answers.add(session.run(line)), runs)
    _check(len(answers) == 1 and answers != {""}, f"{line}: {len(answers)} answers")
    return measurement


def _filled(template: str, topic: str) -> str:
    return template.replace("{topic}", topic).replace("{end}", topic[-6:])


def completion(path: Path, runs: int, rest: Sequence[str]) -> Measurement:
    """Completing the names of topics in the shell; `rest` is how many letters are not typed yet."""
    from metashell.commands.framework.completion import LIMIT, complete_line

    session = _Session(path)
    typed = [topic[: -int(rest[0])] for topic in session.topics(runs + 1)]
    upcoming = iter(typed)
    measurement = repeat(
        lambda: complete_line(session.context, f"cat {BY_NAME}/{next(upcoming)}"), runs
    )
    names = session.source.ls(BY_NAME)
    for prefix in typed:
        expected = [f"{name}/" for name in names if name.startswith(prefix)][:LIMIT]
        items = complete_line(session.context, f"cat {BY_NAME}/{prefix}")
        found = [item.display for item in items]
        _check(bool(found) and found == expected, f"{prefix}: {len(found)} proposals: {found[:3]}")
    return measurement


def jump(path: Path, runs: int, rest: Sequence[str]) -> Measurement:
    """Going to another offset and looking at another partition there, each time."""
    session = _Session(path)
    low, high = session.source.history.range()
    topics = session.topics(runs + 1)
    step = max(1, (high - low) // (runs + 2))
    points = iter(range(low + step, high, step))
    upcoming = iter(topics)

    def work() -> object:
        session.run(f"at {next(points)}")
        return session.run(f"cat {BY_NAME}/{next(upcoming)}/0")

    measurement = repeat(work, runs)
    offset = session.run("cat /image/provenance")
    _check(offset.startswith("offset ") and session.source.status().offset == high, offset)
    return measurement


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise WrongOutputError(otherwise)


TASKS: dict[str, Callable[[Path, int, Sequence[str]], Measurement]] = {
    "decode-columns": decode_columns,
    "decode-table": decode_table,
    "frames-only": frames_only,
    "columns-only": columns_only,
    "decode-scalar": decode_scalar,
    "command": command,
    "completion": completion,
    "jump": jump,
    "question": question,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
