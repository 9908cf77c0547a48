"""A node that starts: what refuses, what takes a log directory offline, and what keeps it alone."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Need, Severity

_LOADER: Final = "org.apache.kafka.metadata.properties.MetaPropertiesEnsemble.Loader, verify"
_MANAGER: Final = "org.apache.kafka.storage.internals.log.LogManager"
_DISK: Final = (
    "find out why before you start the node. See whether a volume is not mounted, and copy what can"
    " be read"
)
_KEEP: Final = "format and delete nothing: other replicas may lack its records"
_LEFT_OUT: Final = (
    f"{_KEEP}. A broker that starts without the directory may make its replicas anew, and empty, in"
    " another one. With both directories it does not start then"
)
"""Seen with Kafka 4.4; ``LogManager`` refuses the log of one partition in two directories."""

_of = partial(
    FindingKind,
    about=About.DISK,
    severity=Severity.CRITICAL,
    needs=Need.START,
    counts="directories",
    finder="metashell.judgement.start_findings:find",
)

KINDS: Final = (
    _of(
        code="no-readable-log-dir",
        at_start=AtStart.REFUSES,
        start_order=19,
        order=81,
        meaning="no log directory of the node can be used: it does not start",
        do=_DISK,
        avoid=_KEEP,
        source=_LOADER,
    ),
    _of(
        code="log-dir-unreadable",
        at_start=AtStart.OFFLINE,
        start_order=18,
        order=88,
        meaning="the meta.properties of a log directory cannot be read: the broker goes on without"
        " this directory",
        do=f"{_DISK}. Where only the file is broken, write its own cluster.id, node.id and"
        " directory.id into it",
        avoid=_LEFT_OUT,
        source=_LOADER,
    ),
    _of(
        code="metadata-log-elsewhere",
        at_start=AtStart.REFUSES,
        start_order=25,
        order=82,
        meaning="a log directory other than metadata.log.dir has a metadata log: the node"
        " does not start",
        do="find out which of the two logs the node wrote last: `fleet --votes` compares their"
        " ends. Keep both, and move the other one out of log.dirs",
        avoid="delete none: it may hold the only copy of a record",
        source="kafka.server.KafkaRaftServer.initializeLogDirs",
    ),
    _of(
        code="log-dir-twice",
        at_start=AtStart.REFUSES,
        start_order=40,
        order=83,
        meaning="log.dirs names one directory twice: a broker does not start",
        do="see whether a link or a mount is wrong; name each directory once",
        source=f"{_MANAGER}.createAndValidateLogDirs",
    ),
    _of(
        code="log-dir-fails",
        at_start=AtStart.OFFLINE,
        start_order=43,
        order=84,
        meaning="the broker takes a log directory offline when it starts: its replicas there are"
        " not served",
        do=f"{_DISK}. The broker serves its other directories",
        avoid=_LEFT_OUT,
        source="org.apache.kafka.storage.internals.log.LogDirFailureChannel",
    ),
    _of(
        code="all-log-dirs-fail",
        at_start=AtStart.REFUSES,
        start_order=45,
        order=89,
        meaning="each log directory goes offline: the broker stops",
        do=_DISK,
        avoid=_KEEP,
        source=f"{_MANAGER}.handleLogDirFailure",
    ),
    _of(
        code="log-not-loaded",
        at_start=AtStart.REFUSES,
        start_order=43,
        order=85,
        meaning="a broker fails while it loads a log, and does not start",
        do="copy the file first. `topics` shows topic ids: write `version: 0` and `topic_id:"
        " ID` into the file. Or move the log out of the log directory",
        avoid=_KEEP,
        source="org.apache.kafka.storage.internals.checkpoint.PartitionMetadataReadBuffer",
    ),
    _of(
        code="directory-id-made",
        severity=Severity.WARNING,
        at_start=AtStart.CHANGES,
        start_order=27,
        order=210,
        meaning="a meta.properties has no directory.id: the node writes a new one into it",
        do="nothing for a new log directory of a broker. Else write its old id, which `nodes"
        " --brokers` has, into the file. A voter of a dynamic quorum votes only with its own id:"
        " write that of `quorum` into the file",
        source="kafka.server.KafkaRaftServer.initializeLogDirs",
    ),
    _of(
        code="checkpoint-reset",
        severity=Severity.WARNING,
        at_start=AtStart.CHANGES,
        start_order=42,
        order=211,
        meaning="a checkpoint of offsets is malformed: the broker resets its offsets, and Kafka's"
        " source notes the log directory as failed",
        do="copy the file, and remove it before the start: the broker resets the same offsets"
        " then, and the directory stays online",
        source=f"{_MANAGER}.loadLogs, CheckpointFileWithFailureHandler.read",
    ),
    _of(
        code="cluster-id-unlike-quorum",
        at_start=AtStart.NOT_JOINED,
        start_order=38,
        order=86,
        meaning="the node's cluster.id is not that of the quorum: it never joins, and tries for"
        " ever",
        do="find out whether the directories or the controllers are of another cluster",
        avoid="write no other cluster.id into meta.properties: the broker would set its logs aside",
        source="org.apache.kafka.raft.KafkaRaftClient.handleUnexpectedError",
    ),
    _of(
        code="metadata-log-lost",
        about=About.CONTROLLER,
        at_start=AtStart.LOSES,
        start_order=37,
        order=79,
        counts="voters",
        meaning="a voter's metadata log is gone or empty: with its vote a node can be elected that"
        " lacks committed records",
        do="do not start it yet. First start the other voters, and wait until all of them follow"
        " one leader without a lag. See `kafka-metadata-quorum.sh describe --replication`",
        avoid="never start it while another voter is down. Put no older copy of the log in its"
        " place",
        source="org.apache.kafka.raft.KafkaRaftClient; KIP-856",
    ),
    _of(
        code="metadata-log-unknown",
        severity=Severity.WARNING,
        at_start=AtStart.UNKNOWN,
        start_order=37,
        order=124,
        counts="nodes",
        meaning="the node's metadata log tells nothing: it is gone, empty, unreadable or too short",
        do="give all log directories of the node, or --config server.properties; and --against with"
        " a controller's directory or the quorum's HOST:PORT. A broker fetches the log again. A"
        " voter that forgot it can lose committed records",
        avoid="start no voter before that is known",
        source="org.apache.kafka.raft.KafkaRaftClient; KIP-856",
    ),
    _of(
        code="software-lacks-level",
        at_start=AtStart.STOPS_CONTROLLER,
        start_order=34,
        order=87,
        counts="features",
        meaning="the software does not support a feature level of the log: a controller stops, a"
        " broker never gets ready",
        do="start a Kafka release that supports the level: `can-upgrade` names releases",
        avoid="start no older release on the same directories",
        see="cat /image/features",
        source="org.apache.kafka.server.common.MetadataVersion.fromFeatureLevel",
    ),
    _of(
        code="voter-unreachable",
        about=About.CONTROLLER,
        severity=Severity.WARNING,
        at_start=AtStart.NOTES,
        start_order=41,
        order=213,
        counts="voters",
        meaning="a voter takes no connection at the endpoint that the log has of it: it gets no"
        " vote requests there",
        do="see on its host whether it runs and listens there: `ss -ltn`. Then look at the network"
        " between the hosts",
        avoid="remove no voter for this: it may still follow the leader",
        source="org.apache.kafka.raft.KafkaRaftClient; KIP-853",
    ),
    _of(
        code="votes-needed",
        about=About.CONTROLLER,
        severity=Severity.NOTE,
        at_start=AtStart.NOTES,
        start_order=41,
        order=212,
        counts="voters",
        meaning="a leader is elected once a majority of the voters runs",
        do="start them on their own log directories, never on empty ones",
        source="org.apache.kafka.raft.KafkaRaftClient; KIP-595",
    ),
)
