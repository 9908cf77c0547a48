"""Checks by replay: faults of records, and checkpoints against the segments before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from metashell.checks.digest import FactKey, part_digests, part_rows
from metashell.checks.finding import CheckReport, Finding, place_of
from metashell.checks.invariants import check_removed, place
from metashell.fs.node import Directory, Node
from metashell.fs.nodes.root import image_node
from metashell.fs.path import encode_path
from metashell.image.image import Image
from metashell.image.topics import removed_in_log
from metashell.judgement.log_findings import CODES
from metashell.judgement.log_state import lacking
from metashell.log.fault import Fault, FaultKind
from metashell.log.names import CheckpointName, SegmentName
from metashell.log.read import load
from metashell.parts.known import find_part
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.resource_types import ResourceType
from metashell.sources.source import Source

_CODES: Final = {
    FaultKind.DAMAGED: "batch-unreadable",
    **{kind: CODES[kind] for kind in (FaultKind.RECORD, FaultKind.UNKNOWN, FaultKind.REPLAY)},
}

_PATHS_NAMED: Final = 5
_PARTITIONS_COMPARED: Final = 50_000
"""Above that many, the paths that differ are not searched for."""


def _of_fault(fault: Fault) -> Finding:
    """A fault of a batch or record as a finding."""
    return Finding(_CODES[fault.kind], fault.reason, **place_of(fault))


class ReplayFaults:
    """Reports the faults of several replays of the same files, each once."""

    def __init__(self, report: CheckReport) -> None:
        self.report = report
        self._seen: set[Fault] = set()

    def add(self, records: Records, kinds: tuple[FaultKind, ...] = tuple(_CODES)) -> None:
        """Add what a replay found."""
        self.add_faults([fault for fault in records.faults if fault.kind in kinds])
        if records.faults_left_out:
            self.report.add(
                Finding("more-faults", f"{records.faults_left_out} more records are at fault")
            )

    def add_faults(self, faults: Iterable[Fault]) -> None:
        """Add faults of batches and records, by place."""
        new = [fault for fault in faults if fault not in self._seen]
        for fault in sorted(new, key=lambda f: (f.file or "", f.pos or 0, f.offset or 0)):
            self._seen.add(fault)
            self.report.add(_of_fault(fault))


def open_transaction(records: Records) -> Iterator[Finding]:
    """A transaction that the log's end leaves open."""
    _ = records.applied
    row = records.open_transaction
    if row is not None:
        yield Finding(
            "open-transaction",
            "a transaction begins here and does not end: its records do not count yet",
            **place(records, row),
        )


class CheckpointCheck:
    """Replays from each whole checkpoint to the next, and compares.

    Args:
        source: The directory.
        whole: Its whole checkpoints, bootstrap ones included, in order.
    """

    def __init__(self, source: Source, whole: list[CheckpointName], faults: ReplayFaults) -> None:
        self._source = source
        self._boot = [c for c in whole if c.is_bootstrap][-1:]
        self._states = [c for c in whole if not c.is_bootstrap]
        self._faults = faults

    def pairs(self) -> Iterator[tuple[CheckpointName | None, CheckpointName]]:
        """Checkpoints to be compared; None for the log's beginning, where it still has it."""
        segments = self._source.log.listing.segments
        if not self._states:
            return
        if segments and segments[0].base_offset == 0:
            yield None, self._states[0]
        yield from zip(self._states, self._states[1:], strict=False)

    def compare(self, older: CheckpointName | None, newer: CheckpointName) -> Iterator[Finding]:
        """Replay from the older one and compare with the newer one.

        Raises:
            VanishedError: A file is gone.
            SourceError: One can't be read.
        """
        replayed = self._replayed(older, newer)
        if replayed is None:
            yield Finding(
                "checkpoint-not-compared",
                "not all offsets from the checkpoint before up to this one are there, so"
                " nothing tells whether they agree",
                file=newer.name,
                offset=newer.end_offset,
            )
            return
        held = self._image([newer.name], newer)
        redaction = self._source.redaction
        by_replay, by_checkpoint = part_digests(replayed, redaction), part_digests(held, redaction)
        parts = [name for name in by_checkpoint if by_checkpoint[name] != by_replay.get(name)]
        # The replay's faults are told of their own; a difference may come from them.
        replayed.fold_everything()
        self._faults.add(replayed.records)
        check_removed(replayed.records, replayed.topics, self._faults.report)
        if "configs" in parts:
            check = ConfigCheck(replayed, held, redaction, newer)
            yield from check.findings()
            if not check.has_more:
                parts.remove("configs")
            if parts == ["configs"] and check.lacks_only:
                yield check.missing_configs(next(iter(self._paths(parts, replayed, held)), None))
                return
        if "scram" in parts:
            yield from lacking(replayed, held, newer.name)
            if _credentials(held) <= _credentials(replayed):
                parts.remove("scram")
        if parts:
            yield self._difference(older, newer, parts, replayed, held)

    def _difference(
        self,
        older: CheckpointName | None,
        newer: CheckpointName,
        parts: list[str],
        replayed: Image,
        held: Image,
    ) -> Finding:
        since = older.name if older is not None else "the beginning of the log"
        paths = self._paths(parts, replayed, held)
        named = f"; first at {', '.join(paths)}" if paths else ""
        return Finding(
            "checkpoint-differs",
            f"the checkpoint is not what a replay from {since} to its end gives: it differs"
            f" in {', '.join(parts)}{named}",
            file=newer.name,
            pos=0,
            offset=newer.end_offset,
            path=paths[0] if paths else None,
        )

    def _replayed(self, older: CheckpointName | None, newer: CheckpointName) -> Image | None:
        """The image before the newer one's end; None where offsets are missing on the way."""
        begin = 0 if older is None else older.end_offset
        base = older if older is not None else next(iter(self._boot), None)
        segments = _between(self._source.log.listing.segments, begin, newer.end_offset)
        if not segments or segments[0].base_offset > begin:
            return None
        names = [*([base.name] if base else []), *(s.name for s in segments)]
        image = self._image(names, base)
        frames, files = image.records.frames, image.records.loaded.files
        if max(file.chain.last_offset for file in files if not file.is_checkpoint) < (
            newer.end_offset - 1
        ):
            return None
        in_segment = frames.batches.file[frames.batch] >= (1 if base else 0)
        after = np.flatnonzero(in_segment & (frames.offset[:] >= newer.end_offset))[:1]
        if after.size:
            image.records.before = int(after[0])
        return image

    def _image(self, names: list[str], base: CheckpointName | None) -> Image:
        log = self._source.log
        loaded = load([log.path_of(name) for name in names])
        if base is not None:
            loaded.files[0].end_offset, loaded.files[0].epoch = base.end_offset, base.epoch
        return Image(Records(loaded, self._source.registry))

    def _paths(self, parts: list[str], replayed: Image, held: Image) -> list[str]:
        """Some of the paths that differ."""
        n_partitions = max(len(replayed.partitions), len(held.partitions))
        if n_partitions > _PARTITIONS_COMPARED:
            return []
        redaction = self._source.redaction
        a: Node | None = image_node(lambda: replayed, redaction)
        b: Node | None = image_node(lambda: held, redaction)
        found: dict[str, None] = {}
        for part in parts:
            below_a, below_b = a, b
            names = find_part(part).path
            for name in names:
                below_a, below_b = _child(below_a, name), _child(below_b, name)
            path = "/".join(("/image", *names))
            for differing in _differences(below_a, below_b, path):
                found[differing] = None
                if len(found) >= _PATHS_NAMED:
                    return list(found)
        return list(found)


class ConfigCheck:
    """The configs in which a checkpoint differs from what a replay gives, by their cause.

    A node's checkpoint may hold configs of topics that its log configured and removed: Kafka
    forgets them there (`metashell.image.topics`). Only what the log itself sets and removes with
    its topic is told so; whatever else differs is a difference.
    """

    def __init__(
        self, replayed: Image, held: Image, redaction: Redaction, newer: CheckpointName
    ) -> None:
        self._newer = newer
        by_replay = part_rows(replayed, "configs", redaction)
        by_checkpoint = part_rows(held, "configs", redaction)
        more = {key: value for key, value in by_checkpoint.items() if by_replay.get(key) != value}
        less = [key for key in by_replay if key not in by_checkpoint]
        left = _set_and_removed(replayed, redaction) if more else {}
        behind = {key for key, value in more.items() if value in left.get(key, ())}
        names = held.topics.by_name if behind else {}
        self._inherited = [key for key in behind if key[1] in names]
        """The config keys that topics created again under the same name inherited."""
        self._orphans = [key for key in behind if key[1] not in names]
        # Another node's checkpoint, fetched, lacks what this one's had left behind.
        known = replayed.topics.by_name if less else {}
        gone = [key for key in less if key[0] == ResourceType.TOPIC and key[1] not in known]
        self._orphans += gone
        n_less = len(less) - len(gone)
        self.lacks_only = len(more) == len(behind) and n_less > 0
        """Whether all else that differs is what the checkpoint lacks."""
        self.has_more = len(more) > len(behind) or n_less > 0
        """Whether there are differences of another cause."""

    def findings(self) -> Iterator[Finding]:
        """The findings about orphan configs."""
        if self._orphans:
            yield self._finding(
                "orphan-configs",
                self._orphans,
                "of topics that were configured and removed at once, which Kafka leaves behind in"
                " the checkpoints of some nodes and not of others",
            )
        if self._inherited:
            yield self._finding(
                "inherited-configs",
                self._inherited,
                "Kafka left configs of removed topics behind, and topics made later under these"
                " names have them on this node",
            )

    def missing_configs(self, path: str | None) -> Finding:
        """The finding of a checkpoint that lacks configs."""
        return Finding(
            "checkpoint-lacks-configs",
            "the checkpoint lacks configs that the log sets; all else in it agrees",
            file=self._newer.name,
            pos=0,
            offset=self._newer.end_offset,
            path=path,
        )

    def _finding(self, code: str, keys: list[FactKey], what: str) -> Finding:
        topic, config = min((str(key[1]), str(key[2])) for key in keys)
        n = len(keys)
        return Finding(
            code=code,
            message=f"the checkpoint and a replay of the log differ in {n:,}"
            f" config{'' if n == 1 else 's'} {what}",
            file=self._newer.name,
            pos=0,
            offset=self._newer.end_offset,
            path=encode_path(("image", "configs", f"{ResourceType.TOPIC.name}:{topic}", config)),
        )


def _credentials(image: Image) -> set[bytes]:
    """The records that set its SCRAM credentials."""
    return set(image.records.raws(image.part("scram").changed))


def _set_and_removed(
    replayed: Image, redaction: Redaction
) -> dict[FactKey, set[tuple[object, ...]]]:
    """Values that the log sets for configs of topics that it then removes, by their keys."""
    columns = removed_in_log(replayed.records, replayed.topics)
    found: dict[FactKey, set[tuple[object, ...]]] = {}
    for topic, name, value in zip(
        columns.span("resource_name").texts(),
        columns.span("name").texts(),
        columns.span("value").strings(),
        strict=True,
    ):
        if value is not None:
            shown = redaction.config_value(ResourceType.TOPIC.name, name, value)
            found.setdefault((ResourceType.TOPIC, topic, name), set()).add((shown,))
    return found


def _between(segments: tuple[SegmentName, ...], begin: int, end: int) -> list[SegmentName]:
    """Segments that hold records from `begin` up to `end`."""
    following = [*segments[1:], None]
    return [
        segment
        for segment, after in zip(segments, following, strict=False)
        if segment.base_offset < end and (after is None or after.base_offset > begin)
    ]


def _child(node: Node | None, name: str) -> Node | None:
    return node.child(name) if isinstance(node, Directory) else None


def _differences(a: Node | None, b: Node | None, path: str) -> Iterator[str]:
    """Paths of leaves that only one has, or that read differently."""
    stack = [(a, b, path)]
    while stack:
        a, b, path = stack.pop()
        below_a = set(a.names()) if isinstance(a, Directory) else set()
        below_b = set(b.names()) if isinstance(b, Directory) else set()
        if below_a or below_b:
            names = sorted(below_a | below_b, reverse=True)
            stack += [(_child(a, name), _child(b, name), f"{path}/{name}") for name in names]
        elif _text(a) != _text(b):
            yield path


def _text(node: Node | None) -> str | None:
    return None if node is None or isinstance(node, Directory) else node.text()
