"""Files of a metadata log: batches, names, indexes, and how they fit together."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Need, Severity

KEEP_A_COPY: Final = "copy the directory before anything else"
REPLACE_SEGMENT: Final = (
    f"{KEEP_A_COPY}: it may hold the only copy of a record. Only while another controller leads"
    " and all other voters follow it without lag: stop this node, move its .log files away and"
    " start it. Leave quorum-state, which holds its vote"
)
REMOVE_CHECKPOINT: Final = (
    f"{KEEP_A_COPY}. Only where segments go back to an older whole checkpoint, or another"
    " controller leads: stop the node and move this file away. Records that nothing else holds are"
    " lost"
)
NO_CUT: Final = f"{KEEP_A_COPY}: a node that starts cuts this off, and drops the segments behind it"
REBUILD_INDEX: Final = (
    "where `check` finds nothing in the segment itself: stop the node and move this file away. The"
    " node makes it again, and cuts a damaged segment off as it does"
)
_BY_OFFSET: Final = "look for records by offset rather than by time around here"
_NOTHING: Final = "none needed: a node cuts this off when it starts"
_BATCH: Final = "org.apache.kafka.common.record.DefaultRecordBatch"
_SNAPSHOTS: Final = "org.apache.kafka.snapshot.FileRawSnapshotReader; KIP-630"
_SEGMENTS: Final = "org.apache.kafka.storage.internals.log.LogSegments"

_of_log = partial(
    FindingKind,
    about=About.FILE,
    counts="places",
    see="cat /log/faults",
    finder="metashell.judgement.log_findings:find",
)
_of = partial(
    FindingKind, about=About.FILE, needs=Need.FILES, finder="metashell.judgement.deep_findings:find"
)
_critical = partial(_of, severity=Severity.CRITICAL)
_warning = partial(_of, severity=Severity.WARNING)
_note = partial(_of, severity=Severity.NOTE)
_names = partial(_of, needs=Need.SIDE_FILES, finder="metashell.judgement.log_findings:find_names")
_damage = partial(_critical, part_of="file-damaged", do=REPLACE_SEGMENT, source=_BATCH)
_gap = partial(_critical, part_of="offset-gap", do=REPLACE_SEGMENT)
_checkpoint = partial(_critical, do=REMOVE_CHECKPOINT, source=_SNAPSHOTS)

KINDS: Final = (
    _of_log(
        code="file-damaged",
        at_start=AtStart.LOSES,
        start_order=30,
        severity=Severity.CRITICAL,
        order=80,
        meaning="bytes are damaged: their records are missing from this state",
        do="copy the directory first; then take the records from another controller",
        source=_BATCH,
    ),
    _of_log(
        code="offset-gap",
        at_start=AtStart.NOTES,
        start_order=30,
        severity=Severity.CRITICAL,
        order=100,
        meaning="offsets are missing or go back: records are lost",
        do="compare with another controller's directory; a copy of a running node can have gaps",
        source="org.apache.kafka.raft.KafkaRaftClient",
    ),
    _of_log(
        code="torn-tail",
        at_start=AtStart.CHANGES,
        start_order=30,
        severity=Severity.NOTE,
        order=170,
        meaning="the last batch is cut off: the node crashed, or was copied while it wrote",
        do=_NOTHING,
        source="org.apache.kafka.storage.internals.log.LogSegment.recover",
    ),
    _of_log(
        code="file-unreadable",
        severity=Severity.WARNING,
        order=160,
        meaning="an older file of the log cannot be read: the state is complete without it",
        do="run metashell as Kafka's user; check the disk",
    ),
    # Batches.
    _damage(code="crc-mismatch", meaning="a batch has another checksum than its header says"),
    _damage(code="bad-magic", meaning="a batch has a format that Kafka does not write here"),
    _damage(code="bad-length", meaning="a batch has an impossible length"),
    _damage(code="batch-cut-off", meaning="a batch is cut off, and others follow"),
    _damage(code="batch-damaged", meaning="bytes are no batch"),
    _damage(
        code="batch-unreadable",
        meaning="the records of a batch cannot be read",
        do="copy the directory before anything else; another controller has the batch whole",
    ),
    _damage(code="epoch-falls", meaning="the leader epoch goes back: batches of another log"),
    _damage(code="bad-offset-range", meaning="a batch ends before it begins"),
    _gap(code="batch-out-of-order", meaning="a batch begins before the one in front of it"),
    _gap(code="offsets-go-back", meaning="offsets go back: a part of the log stands here twice"),
    _damage(code="record-offsets", meaning="the offsets of a batch's records are no sequence"),
    _warning(
        code="batch-time",
        meaning="a batch's header names another latest time than its records",
        do=_BY_OFFSET,
        source=_BATCH,
    ),
    _warning(
        code="time-goes-back",
        meaning="times go back: a clock was set, or the leader changed",
        do=_BY_OFFSET,
        source="org.apache.kafka.storage.internals.log.TimeIndex",
    ),
    _warning(
        code="zero-tail",
        meaning="a file ends with zeros",
        do=_NOTHING,
        source="org.apache.kafka.storage.internals.log.LogSegment.recover",
    ),
    _note(
        code="preallocated-tail",
        meaning="a segment ends with zeros: it is preallocated, or the machine crashed",
        do=_NOTHING,
        source="org.apache.kafka.storage.internals.log.LogSegment.recover",
    ),
    _warning(
        code="recovery-cut",
        meaning="a broker cuts a log at the first batch that is not sound, and sound ones follow",
        do="copy the directory before the broker starts. Where another replica is in the ISR, the"
        " broker fetches from it what it has cut",
        source="org.apache.kafka.storage.internals.log.LogLoader.recoverLog",
    ),
    # Segments and checkpoints.
    _names(
        code="segment-missing",
        severity=Severity.CRITICAL,
        meaning="a segment is gone: its records are lost here",
        do=REPLACE_SEGMENT,
        source=_SEGMENTS,
    ),
    _gap(code="segment-gap", meaning="offsets are missing between two segments", source=_SEGMENTS),
    _gap(code="segments-overlap", meaning="two segments hold the same offsets", source=_SEGMENTS),
    _gap(
        code="checkpoint-gap",
        meaning="offsets are missing behind the newest checkpoint: the"
        " state is not what it should be",
        source=_SNAPSHOTS,
    ),
    _critical(
        code="base-missing",
        meaning="no whole checkpoint holds the log's beginning: the state is not complete",
        do=REPLACE_SEGMENT,
        source=_SNAPSHOTS,
    ),
    _names(
        code="checkpoint-beyond-log",
        severity=Severity.WARNING,
        meaning="the newest checkpoint ends behind the segments",
        do="copy the directory and look for the removed segment before you start the node: it"
        " then drops its segments and goes on behind the checkpoint",
        source="org.apache.kafka.raft.internals.KafkaRaftLog.truncateToLatestSnapshot",
    ),
    _warning(
        code="checkpoint-misaligned",
        counts="checkpoints",
        meaning="a checkpoint ends inside a batch: a node that starts from it may replay records"
        " twice",
        do="keep the segments before it until the node has made a newer checkpoint",
        source="org.apache.kafka.raft.KafkaRaftClient.createSnapshot; KAFKA-14619",
    ),
    _checkpoint(code="checkpoint-empty", meaning="a checkpoint is empty"),
    _checkpoint(code="checkpoint-no-header", meaning="a checkpoint is not whole, and is not used"),
    _checkpoint(code="checkpoint-no-footer", meaning="a checkpoint is not whole, and is not used"),
    _checkpoint(
        code="checkpoint-epoch",
        meaning="a checkpoint's name has another leader epoch than its batches or the log",
    ),
    _critical(
        code="name-mismatch",
        meaning="a file has another offset than its name says",
        do=f"{KEEP_A_COPY}. Find out whether it was renamed or is of another log. Only a"
        " renamed one gets the name of its first batch back, while the node is stopped",
        source=_SEGMENTS,
    ),
    _names(
        code="file-misnamed",
        severity=Severity.WARNING,
        meaning="neither Kafka nor metashell reads a file of that name",
        do="copy the directory first; if it was renamed, give it back its name while the node"
        " is stopped",
        source="org.apache.kafka.snapshot.Snapshots",
    ),
    _note(
        code="file-deleted",
        meaning="a file is about to be deleted: it is not read",
        do="none needed: a node removes it when it starts, if not before",
    ),
    _note(
        code="file-unfinished",
        meaning="a file is unfinished: it is not read",
        do="none needed: a node removes it when it starts, if not before",
    ),
    _note(
        code="file-unknown", meaning="no file of a metadata log", do="none needed: it is not read"
    ),
    _note(
        code="file-vanished",
        meaning="a file went away before it was read: a running node deletes old files",
        do="run the check again",
    ),
    # Indexes and epochs.
    _names(
        code="index-orphaned",
        severity=Severity.WARNING,
        meaning="an index has no segment",
        do="look for the segment; a node removes a leftover index when it starts",
        source="org.apache.kafka.storage.internals.log.LogLoader.loadSegmentFiles",
    ),
    _warning(
        code="index-size",
        meaning="an index has a length that no index has",
        do=REBUILD_INDEX,
        source="org.apache.kafka.storage.internals.log.OffsetIndex.sanityCheck",
    ),
    _critical(
        code="index-entry",
        meaning="an index leads to a place where no batch fits: reads by offset fail",
        do=REBUILD_INDEX,
        source="org.apache.kafka.storage.internals.log.OffsetIndex",
    ),
    _warning(
        code="time-index-entry",
        meaning="an index gives a time that no batch has",
        do=REBUILD_INDEX,
        source="org.apache.kafka.storage.internals.log.TimeIndex",
    ),
    # Checkpoints against the log.
    _critical(
        code="checkpoint-differs",
        meaning="a checkpoint is another state than the log gives",
        do="compare both with another controller's (`checksum`, `diff`): records were lost,"
        " or the node that wrote the checkpoint had another state",
        source=_SNAPSHOTS,
    ),
    _warning(
        code="checkpoint-lacks-configs",
        meaning="a checkpoint lacks configs that the log sets; all else in it agrees",
        do="none needed where the release does not know them: it drops such configs",
        source="org.apache.kafka.image.ConfigurationsImage",
    ),
    _note(
        code="orphan-configs",
        meaning="checkpoints differ in configs of removed topics",
        do="none needed: no record is lost; `checksum` has a digest without such configs",
        source="org.apache.kafka.image.ConfigurationsDelta",
    ),
    _warning(
        code="inherited-configs",
        meaning="topics have configs of removed topics of their name on this node",
        do="compare with another controller's (`diff --with`), and set or delete the config"
        " of the topic, which makes it equal on all nodes",
        source="org.apache.kafka.image.ConfigurationsDelta",
    ),
    _note(
        code="checkpoint-not-compared",
        meaning="offsets are missing between two checkpoints: nothing tells whether they agree",
        do="none needed: a follower may skip what it fetches as a snapshot",
    ),
    _note(
        code="state-not-checked",
        meaning="the state is not checked: its base is missing",
        do="see the finding about the base",
    ),
    # Replicas of a coordinator's partition.
    _critical(
        code="unreadable",
        meaning="a partition's log cannot be read",
        do="run metashell as Kafka's user; check the disk",
    ),
    _critical(
        code="replica-unreadable",
        meaning="a replica cannot be read",
        do="run metashell as Kafka's user; check the disk",
    ),
    _critical(
        code="replicas-diverge",
        meaning="two replicas hold different logs from an offset on",
        do="copy the directory before anything else. When its broker starts, it cuts its log"
        " down to what the leader has",
        source="KIP-101",
    ),
)
