"""A node's disk: files beside the log, ids of directories, and the quorum by its own files."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Need, Severity

WHOSE: Final = (
    "make sure that this log dir belongs to this node: compare with node.id and the log dirs of its"
    " configuration"
)
NOT_FOR_A_COPY: Final = "none needed in a copy that no node starts on"
_IDS: Final = "org.apache.kafka.metadata.properties.MetaPropertiesEnsemble.verify"
_STATE: Final = "org.apache.kafka.raft.QuorumState.initialize"
_EPOCHS: Final = "org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile"
_REMAKE_EPOCHS: Final = (
    "stop the node and move the file away, but keep it: the node makes another from the log. If the"
    " file is right, the log is another one's"
)

_of = partial(
    FindingKind,
    about=About.DISK,
    counts="places",
    needs=Need.SIDE_FILES,
    finder="metashell.judgement.quorum_findings:find_beside",
)
_critical = partial(_of, severity=Severity.CRITICAL)
_warning = partial(_of, severity=Severity.WARNING)
_note = partial(_of, severity=Severity.NOTE)
_start = partial(
    _critical,
    finder="metashell.judgement.log_directories:find_conflicts",
    needs=Need.SIDE_FILES,
    source=_IDS,
    do="correct this before you start the node; it changes nothing as long as it runs. Keep a copy"
    " of what you change",
    avoid="format or delete nothing: other replicas may lack its records",
)

KINDS: Final = (
    _critical(
        code="file-malformed",
        at_start=AtStart.REFUSES,
        start_order=31,
        order=90,
        meaning="a file of the node beside its log can't be used: the node does not start with it",
        do="run `check`: it says what to write into the file",
        source=_IDS,
    ),
    _critical(
        code="node-file-unreadable",
        at_start=AtStart.NOTES,
        start_order=31,
        order=95,
        meaning="a file of the node beside its log cannot be read: what it says is not checked",
        do="run metashell as Kafka's user; check the disk",
    ),
    _critical(
        code="cluster-id",
        at_start=AtStart.NOTES,
        start_order=31,
        meaning="quorum-state and meta.properties name two clusters",
        do=WHOSE,
        source="org.apache.kafka.raft.FileQuorumStateStore",
    ),
    _critical(
        code="topic-id",
        at_start=AtStart.REFUSES,
        start_order=30,
        meaning="the log is not the metadata log by its topic id",
        do=WHOSE,
        source="org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile",
    ),
    _critical(
        code="node-id",
        at_start=AtStart.NOT_VOTING,
        start_order=38,
        meaning="by the log the directory belongs to another node",
        do=WHOSE,
        source=_IDS,
    ),
    _critical(
        code="leader-not-voter",
        at_start=AtStart.NOTES,
        start_order=32,
        meaning="quorum-state names a leader that is no voter",
        do=WHOSE,
        source=_STATE,
    ),
    _critical(
        code="leader-differs",
        at_start=AtStart.NOTES,
        start_order=32,
        meaning="quorum-state names another leader of an epoch than the log",
        do=WHOSE,
        source=_STATE,
    ),
    _critical(
        code="epoch-entry",
        meaning="leader-epoch-checkpoint gives an epoch another start than the log",
        do=_REMAKE_EPOCHS,
        source=_EPOCHS,
    ),
    _warning(
        code="node-file-missing",
        start_order=31,
        order=150,
        meaning="a file that a node needs beside its log is gone",
        do=NOT_FOR_A_COPY,
        source=_IDS,
    ),
    _note(
        code="file-missing",
        order=200,
        meaning="a file of the node beside its log is gone: what it says is not checked",
        do=NOT_FOR_A_COPY,
    ),
    _warning(
        code="redacted-copy",
        at_start=AtStart.REFUSES,
        start_order=1,
        order=140,
        meaning="it is a copy for others: secrets are replaced, and what was not understood is left"
        " out",
        do="read its manifest, redacted.json, for what is missing. Ask for a copy of the whole"
        " log dir where that matters",
        avoid="never start a node on it",
        see="cat /quorum/disagreements/redacted-copy",
    ),
    _warning(
        code="directory-id",
        at_start=AtStart.NOT_VOTING,
        start_order=39,
        meaning="the node does not have this directory by the log",
        do="find out which it is: a rewritten meta.properties, a new disk, or another node's log"
        " dir",
        source="org.apache.kafka.raft.KafkaRaftClient; KIP-853",
    ),
    _warning(
        code="node-id-unknown",
        at_start=AtStart.NOTES,
        start_order=38,
        meaning="the log knows no node of this id",
        do=WHOSE,
    ),
    _warning(
        code="voters",
        at_start=AtStart.NOTES,
        start_order=39,
        meaning="quorum-state and the log name different voters",
        do="find out which of them are right",
        source=_STATE,
    ),
    _warning(
        code="voted-directory",
        meaning="the vote went to another directory than the voter has by the log",
        do="none needed after a new disk of that node",
        source="org.apache.kafka.raft.QuorumState; KIP-853",
    ),
    _warning(
        code="epoch-behind",
        at_start=AtStart.NOTES,
        start_order=32,
        meaning="quorum-state is older than the log",
        do="none needed in a copy made while the node ran; else a file of another time, which"
        " does not have the later votes",
        source=_STATE,
    ),
    _warning(
        code="epoch-entry-missing",
        meaning="leader-epoch-checkpoint lacks an epoch of the log",
        do=_REMAKE_EPOCHS,
        source=_EPOCHS,
    ),
    _note(
        code="epoch-file-empty",
        at_start=AtStart.NOTES,
        start_order=31,
        meaning="leader-epoch-checkpoint has no entry, as a power cut leaves it",
        do="none needed: a node that starts takes the epochs from the log",
        source="org.apache.kafka.server.common.CheckpointFile.CheckpointReadBuffer",
    ),
    _warning(
        code="epoch-entry-beyond",
        at_start=AtStart.CHANGES,
        start_order=31,
        meaning="leader-epoch-checkpoint has an epoch behind the log's end",
        do="none needed where the log was cut on purpose; a node drops the entry when it starts",
        source=_EPOCHS,
    ),
    _note(
        code="meta-properties-content",
        meaning="what meta.properties must hold, as far as the log proves it",
        do="compare with node.id in the node's configuration before you write the file",
        needs=Need.FILES,
        finder="metashell.judgement.deep_findings:find",
    ),
    _critical(
        code="log-directory-missing",
        at_start=AtStart.REFUSES,
        start_order=26,
        order=92,
        counts="directories",
        needs=Need.CONFIG,
        finder="metashell.judgement.log_directories:find_missing",
        meaning="a log directory that the configuration names is gone or empty: the node does not"
        " start",
        do="see whether its volume is mounted. Start the node when it is",
        avoid="format no empty directory in its place: its replicas would begin anew",
        source=_IDS,
    ),
    _start(
        code="no-meta-properties",
        at_start=AtStart.REFUSES,
        start_order=26,
        meaning="a log directory has no meta.properties",
        do="see whether its volume is mounted. Where it has this node's logs, write version=1,"
        " cluster.id, node.id and directory.id into the file. `nodes` and `cat /quorum/voters`"
        " have these ids. With a new directory.id, a voter does not vote",
        avoid="format no directory that should have logs: its replicas would begin anew",
    ),
    _start(
        code="other-cluster-id",
        at_start=AtStart.REFUSES,
        start_order=20,
        meaning="log directories of a node name different clusters",
        do="find out which log directory is another cluster's. Take it out of log.dirs",
        avoid="write no other cluster.id into the file: a broker sets logs of another cluster"
        " aside",
    ),
    _start(
        code="other-node-id",
        at_start=AtStart.REFUSES,
        start_order=21,
        meaning="log directories of a node name different nodes",
        do="find out which log directory is another node's. Start each node on its own",
        avoid="remove no data, also where Kafka's text proposes it: other replicas may lack it",
    ),
    _start(
        code="same-directory-id",
        at_start=AtStart.REFUSES,
        start_order=22,
        meaning="two log directories have one directory.id",
        do="find out which is the copy; `replicas` lists the logs of each. Where the node"
        " needs both, remove directory.id from the one without a metadata log. The node"
        " makes an id",
        avoid="delete nothing: other replicas may lack its records",
    ),
    _start(
        code="not-a-log",
        at_start=AtStart.REFUSES,
        start_order=42,
        meaning="a directory in a log directory is no log",
        do="move it out of the log directory, and keep it. lost+found of a mount point can be"
        " removed while it is empty",
        source="org.apache.kafka.storage.internals.log.LogManager.loadLog",
    ),
    _start(
        code="two-logs",
        at_start=AtStart.REFUSES,
        start_order=44,
        meaning="a partition is in two log directories",
        do="compare both: `replicas` tells where each log ends. Move the one that lacks"
        " records out of the log directories",
        avoid="delete neither, whatever Kafka's text proposes: other replicas may lack its records",
        source="org.apache.kafka.storage.internals.log.LogManager.loadLog",
    ),
    _start(
        code="two-futures",
        at_start=AtStart.REFUSES,
        start_order=44,
        meaning="a partition has two future logs",
        do="where the partition has a current log too, move both future logs out of the log"
        " directories, and keep them. Else keep the one that reaches further in its place",
        avoid="delete neither: other replicas may lack its records",
        source="org.apache.kafka.storage.internals.log.LogManager.loadLog",
    ),
)
