"""Checks by replay: faults of records, and checkpoints against the segments before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from metashell.fs.node import Directory, Node
from metashell.log.fault import Fault, FaultKind
from metashell.log.finding import Finding, Report, Severity
from metashell.log.names import CheckpointName, SegmentName

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.image.records import Records
    from metashell.source import Source

_KINDS: Final = {
    FaultKind.DAMAGED: (
        Severity.ERROR,
        "batch-unreadable",
        "copy the directory before anything else; another controller has the batch whole",
    ),
    FaultKind.RECORD: (
        Severity.ERROR,
        "record-undecodable",
        "the batch's CRC holds, so it was written like this: a defect, or a newer Kafka",
    ),
    FaultKind.UNKNOWN: (
        Severity.WARNING,
        "record-unknown",
        "give its definition with --schema, if a vendor's or a newer Kafka wrote it",
    ),
    FaultKind.REPLAY: (
        Severity.ERROR,
        "replay-fault",
        "a record before it may be lost, or a defect wrote it: compare with another controller",
    ),
}

_NODES: Final = {
    "features": ("features",),
    "brokers": ("cluster", "brokers"),
    "controllers": ("cluster", "controllers"),
    "topics": ("topics", "byName"),
    "partitions": ("topics", "byName"),
    "configs": ("configs",),
    "client_quotas": ("clientQuotas",),
    "producer_ids": ("producerIds",),
    "acls": ("acls",),
    "scram": ("scram",),
    "delegation_tokens": ("delegationToken",),
}
"""Where the parts of a digest stand under ``/image``."""

_PATHS_NAMED: Final = 5
_PARTITIONS_COMPARED: Final = 50_000
"""Above that many, the paths that differ are not searched for."""


def _of_fault(fault: Fault) -> Finding:
    """A fault of a batch or record as a finding."""
    severity, code, action = _KINDS[fault.kind]
    return Finding(
        severity=severity,
        code=code,
        message=fault.reason,
        action=action,
        file=fault.file,
        pos=fault.pos,
        offset=fault.offset,
    )


class ReplayFaults:
    """Reports the faults of several replays of the same files, each once."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._seen: set[Fault] = set()

    def add(self, records: Records, kinds: tuple[FaultKind, ...] = tuple(_KINDS)) -> None:
        """Add what a replay found."""
        self.add_faults([fault for fault in records.faults if fault.kind in kinds])
        if records.faults_left_out:
            self.report.add(
                Finding(
                    severity=Severity.ERROR,
                    code="more-faults",
                    message=f"{records.faults_left_out} more records are at fault",
                )
            )

    def add_faults(self, faults: Iterable[Fault]) -> None:
        """Add faults of batches and records, by place."""
        new = [fault for fault in faults if fault not in self._seen]
        for fault in sorted(new, key=lambda f: (f.file or "", f.pos or 0, f.offset or 0)):
            self._seen.add(fault)
            self.report.add(_of_fault(fault))


def open_transaction(records: Records) -> Iterator[Finding]:
    """A transaction that the log's end leaves open."""
    from metashell.image.invariants import place

    _ = records.applied
    row = records.open_transaction
    if row is not None:
        yield Finding(
            severity=Severity.WARNING,
            code="open-transaction",
            message="a transaction begins here and does not end: its records do not count yet",
            action="none needed while a controller runs; the next one that leads aborts it",
            **place(records, row),  # type: ignore[arg-type]
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
        from metashell.image.digest import part_digests
        from metashell.image.invariants import check_removed

        replayed = self._replayed(older, newer)
        if replayed is None:
            yield Finding(
                severity=Severity.NOTE,
                code="checkpoint-not-compared",
                message="not all offsets from the checkpoint before up to this one are there, so"
                " nothing tells whether they agree",
                action="none needed: a follower may skip what it fetches as a snapshot",
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
        if parts == ["configs"] and self._lacks_only(replayed, held):
            yield Finding(
                severity=Severity.WARNING,
                code="checkpoint-lacks-configs",
                message="the checkpoint lacks configs that the log sets; all else in it agrees",
                action="none needed where the release does not know them: it drops such configs",
                file=newer.name,
                pos=0,
                offset=newer.end_offset,
                path=next(iter(self._paths(parts, replayed, held)), None),
            )
        elif parts:
            yield self._difference(older, newer, parts, replayed, held)

    def _lacks_only(self, replayed: Image, held: Image) -> bool:
        """Whether every config of the checkpoint is in the replay."""
        from metashell.image.digest import part_rows

        redaction = self._source.redaction
        by_replay = part_rows(replayed, "configs", redaction)
        by_checkpoint = part_rows(held, "configs", redaction)
        return all(by_replay.get(key) == value for key, value in by_checkpoint.items())

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
            severity=Severity.ERROR,
            code="checkpoint-differs",
            message=f"the checkpoint is not what a replay from {since} to its end gives: it differs"
            f" in {', '.join(parts)}{named}",
            action="compare both with another controller's (`checksum`, `diff`): records were"
            " lost, or the node that wrote the checkpoint had another state",
            file=newer.name,
            pos=0,
            offset=newer.end_offset,
            path=paths[0] if paths else None,
        )

    def _replayed(self, older: CheckpointName | None, newer: CheckpointName) -> Image | None:
        """The image before the newer one's end; None where offsets are missing on the way."""
        import numpy as np

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
        after = np.flatnonzero(in_segment & (frames.offset >= newer.end_offset))[:1]
        if after.size:
            image.records.before = int(after[0])
        return image

    def _image(self, names: list[str], base: CheckpointName | None) -> Image:
        from metashell.image.image import Image
        from metashell.image.records import Records
        from metashell.log.read import load

        log = self._source.log
        loaded = load([log.path_of(name) for name in names])
        if base is not None:
            loaded.files[0].end_offset, loaded.files[0].epoch = base.end_offset, base.epoch
        return Image(Records(loaded, self._source.registry))

    def _paths(self, parts: list[str], replayed: Image, held: Image) -> list[str]:
        """Some of the paths that differ."""
        from metashell.fs.nodes.image import image_node

        n_partitions = max(len(replayed.partitions), len(held.partitions))
        if n_partitions > _PARTITIONS_COMPARED:
            return []
        redaction = self._source.redaction
        a: Node | None = image_node(lambda: replayed, redaction)
        b: Node | None = image_node(lambda: held, redaction)
        found: dict[str, None] = {}
        for part in parts:
            below_a, below_b = a, b
            for name in _NODES.get(part, ()):
                below_a, below_b = _child(below_a, name), _child(below_b, name)
            path = "/".join(("/image", *_NODES.get(part, ())))
            for differing in _differences(below_a, below_b, path):
                found[differing] = None
                if len(found) >= _PATHS_NAMED:
                    return list(found)
        return list(found)


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
