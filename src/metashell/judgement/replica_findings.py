"""Findings about the replicas on a broker's disks: what becomes of them at its next start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.replica_counts import STRAY_STATES, is_in
from metashell.answers.replica_roles import Role
from metashell.answers.replica_states import Reason, ReplicaState
from metashell.checks.finding import Finding
from metashell.findings.kind import FindingKind
from metashell.findings.known import all_kinds
from metashell.judgement.node_roles import directory_owners, knows_brokers
from metashell.judgement.stop_findings import of_stop
from metashell.node_files.log_directory import METADATA_TOPIC
from metashell.places.uri import shown
from metashell.schema.sizes import size_text
from metashell.schema.uuids import parse_uuid, uuid_text
from metashell.sources.replicas import (
    NOT_GIVEN,
    first_of,
    log_names,
    names_each,
    only_here,
    text_of,
)

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.judgement.evidence import Evidence
    from metashell.node_files.log_directory import LogDirectory

_COLUMNS: Final = (
    *("broker", "topic", "partition", "state", "reason", "bytes", "topic_id", "directory", "name"),
    *("recovery_segments", "recovery_bytes", "role", "in_sync_elsewhere"),
)
_THERE: Final = (
    *(ReplicaState.IN_PLACE, ReplicaState.REPLACED),
    *(ReplicaState.MALFORMED, ReplicaState.UNREADABLE),
)
"""The states of replicas that a broker serves, as long as their log directory is online."""
_IN_IT: Final = "; replicas in it: "
_FIRST: Final = {
    "replica-lost": "do not start the broker",
    "replica-leads-empty": "start the other brokers of the ISR and ELR first",
    "replica-missing": "nothing if a leader lives: the broker copies its log. Else do not start it",
}
"""The advice where the log of a missing replica is there, until it is made usable."""


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what becomes of the replicas of the brokers whose log directories are here."""
    source, logs = evidence.source, evidence.logs
    directories, rows, remarks = logs.directories, logs.rows.select(_COLUMNS), [*logs.remarks]
    wanted = {kind.code for kind in kinds}
    found = [*_of_directories(directories, evidence.image)]
    if names_each(source, directories):
        found += _left_out(directories, evidence.image)
    evidence.holds |= _in_directories(rows)
    unread = [one for one in evidence.directories if one.identity is None and not one.is_gone]
    if len(unread) == 1 and remarks:
        counted = remarks.pop().removeprefix(NOT_GIVEN)
        evidence.holds[shown(str(unread[0].place))] = _IN_IT + counted
    found += [Finding("replicas-not-given", text, subject="log dirs") for text in remarks]
    found += [one for directory in directories for one in _of_taken_names(directory, rows)]
    for broker in pc.unique(rows["broker"]).drop_null().to_pylist():
        some = rows.filter(pc.equal(rows["broker"], broker))
        if knows_brokers(evidence, [broker]):
            found += _of_broker(f"broker {broker}", some)
        own = [one for one in directories if one.identity and one.identity.node_id == broker]
        is_whole = len(directories) == len(source.log_places)
        found += of_stop(evidence, broker, own, some, is_whole=is_whole)
    yield from (finding for finding in found if finding.code in wanted)


def _of_taken_names(directory: LogDirectory, rows: pa.Table) -> Iterator[Finding]:
    """Files in a log directory that have the names of replicas that its broker makes there."""
    place = shown(str(directory.place))
    missing = rows.filter(is_in(rows, ReplicaState.MISSING))
    is_here = pc.fill_null(pc.equal(missing["directory"], text_of(place)), True)
    names = log_names(missing.filter(is_here))
    files = pa.array(map(text_of, directory.files), pa.string())
    taken = pc.unique(names.filter(pc.is_in(names, files)))
    if len(taken):
        text = f"{place}: a file has the name of a replica that is to be made: {first_of(taken)}"
        kafka = f"Error while creating log for {taken[0]} in dir {directory.place}"
        yield Finding(
            "log-name-taken",
            text,
            subject=f"log directory {place}",
            count=len(taken),
            directory=place,
            kafka=kafka,
        )


def _in_directories(rows: pa.Table) -> Mapping[str, str]:
    """The words about the replicas that are in each log directory."""
    there = rows.filter(pc.and_(is_in(rows, *_THERE), pc.is_valid(rows["role"])))
    notes = {}
    for directory in pc.unique(there["directory"]).to_pylist():
        some = there.filter(pc.equal(there["directory"], directory))
        notes[directory] = f"{_IN_IT}{len(some):,}{_only_here(some)}"
    return notes


def _only_here(rows: pa.Table) -> str:
    """The words about replicas of which other brokers lack the data; none without any."""
    is_alone = pc.equal(pc.list_value_length(rows["in_sync_elsewhere"]), 0)
    is_alone = pc.and_(is_alone, pc.not_equal(rows["role"], Role.OUT_OF_SYNC.text))
    return only_here(log_names(rows.filter(pc.fill_null(is_alone, False))))


def _of_broker(broker: str, rows: pa.Table) -> Iterator[Finding]:
    missing = rows.filter(is_in(rows, ReplicaState.MISSING))
    for code, reason, text in (
        ("replica-lost", Reason.LOST, "lost if the broker starts"),
        ("replica-leads-empty", Reason.LEADS, "lost if the broker starts before the others"),
        ("replica-missing", Reason.CREATED, "on no disk of the broker"),
    ):
        some = missing.filter(pc.equal(missing["reason"], reason))
        is_there, logs = _logs_of(some, rows)
        gone, some = some.filter(pc.invert(is_there)), some.filter(is_there)
        yield from _told(code, broker, gone, text, _set_aside(gone, rows))
        yield from _told(code, broker, some, text, *_brought_back(code, some, logs))
    for code, state, text in (
        ("becomes-stray", ReplicaState.BECOMES_STRAY, "set aside at the next start"),
        ("stray-left", ReplicaState.STRAY, "stray"),
        ("ghost-replica", ReplicaState.GHOST, "of another topic's name"),
        ("delete-left", ReplicaState.DELETE, "deleted after the start"),
    ):
        some = rows.filter(is_in(rows, state))
        yield from _told(code, broker, some, text, _reasons(some))
    for code, reason, text in (
        ("future-promoted", Reason.PROMOTED, "made current at the next start"),
        ("future-log", Reason.COPIED, "on the way to another log directory"),
        ("replica-elsewhere", Reason.ELSEWHERE, "in another directory than the metadata has"),
        ("replica-elsewhere", Reason.LOST_DIRECTORY, "in a lost directory by the metadata"),
        ("log-start-beyond-end", Reason.EMPTIED, "without the records that their log start tells"),
        ("ends-below-high-watermark", Reason.SHORT, "without records that were committed"),
        ("replica-epochs-diverge", Reason.DIVERGES, "unlike the leader's replica"),
    ):
        some = rows.filter(pc.fill_null(pc.equal(rows["reason"], reason), False))
        more = _only_here(some) if code == "replica-elsewhere" else _of_current(some, rows)
        yield from _told(code, broker, some, text, more)


def _of_directories(directories: Sequence[LogDirectory], image: Image) -> Iterator[Finding]:
    brokers = image.brokers
    registered, cordoned = (
        directory_owners(brokers, "log_dirs"),
        directory_owners(brokers, "cordoned_log_dirs"),
    )
    for directory in directories:
        of, own = directory.identity, _directory_id(directory)
        if of is None or own is None or of.node_id is None or of.node_id not in registered:
            continue
        place = shown(str(directory.place))
        mine = registered[of.node_id]
        others = [str(b) for b, ids in registered.items() if own in ids and b != of.node_id]
        is_new = mine and not others and own not in mine
        for code, holds, text in (
            ("directory-of-other-broker", others, f"broker {' and '.join(others)} registered"),
            ("directory-not-registered", is_new, "the broker did not register"),
            ("directory-cordoned", own in cordoned[of.node_id], "it is cordoned:"),
        ):
            if holds:
                message = f"{place}: {text} directory.id {of.directory_id}"
                yield Finding(code, message, subject=f"broker {of.node_id}", directory=place)


def _left_out(directories: Sequence[LogDirectory], image: Image) -> Iterator[Finding]:
    """Log directories that the broker registered, and that its configuration does not name."""
    known = [one.identity for one in directories if one.identity is not None]
    here = {uuid_text(raw) for raw in map(_directory_id, directories) if raw is not None}
    registered = directory_owners(image.brokers, "log_dirs")
    for broker in sorted({one.node_id for one in known if one.node_id is not None}):
        for text in sorted({*map(uuid_text, registered.get(broker, ()))} - here):
            message = (
                f"broker {broker} registered directory.id {text}, and no log directory of log.dirs"
                " has it"
            )
            yield Finding("directory-left-out", message, subject=f"broker {broker}")


def _directory_id(directory: LogDirectory) -> bytes | None:
    of = directory.identity
    return None if of is None or of.directory_id is None else parse_uuid(of.directory_id)


def _told(
    code: str, broker: str, rows: pa.Table, text: str, more: str, action: str | None = None
) -> Iterator[Finding]:
    """The finding of a kind about rows, where there are any."""
    n = len(rows)
    if not n:
        return
    kind, n_bytes = all_kinds()[code], pc.sum(rows["bytes"]).as_py()
    size = "" if n_bytes is None else f" ({size_text(n_bytes)})"
    names = first_of(log_names(rows))
    message = f"{n:,} {kind.noun(n)}{size} {'is' if n == 1 else 'are'} {text}: {names}{more}"
    yield Finding(code, message, action, subject=broker, count=n)


def _reasons(rows: pa.Table) -> str:
    """The reasons of strays, the most frequent first."""
    found = pc.value_counts(rows["reason"].filter(is_in(rows, ReplicaState.BECOMES_STRAY)))
    order = sorted(found.to_pylist(), key=lambda one: -int(one["counts"]))
    return "".join(f"; {one['counts']:,} because {one['values']}" for one in order)


def _of_current(futures: pa.Table, rows: pa.Table) -> str:
    """The words about the current logs beside future ones."""
    names = pc.unique(log_names(futures.filter(is_in(futures, ReplicaState.FUTURE))))
    current = rows.filter(is_in(rows, ReplicaState.IN_PLACE, ReplicaState.REPLACED))
    some = current.filter(pc.is_in(log_names(current), names))
    if not len(some):
        return ""
    n_bytes = pc.sum(some["bytes"], min_count=0).as_py()
    return f"; the current logs, which are deleted then, have {size_text(n_bytes)}"


def _of_metadata(rows: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(rows["topic"], METADATA_TOPIC), False)


def _set_aside(missing: pa.Table, rows: pa.Table) -> str:
    """The words where logs of missing replicas' names become stray or are, or no log is there."""
    if pc.all(pc.or_(is_in(rows, ReplicaState.MISSING), _of_metadata(rows))).as_py():
        return "; no log of a topic is in these directories: others are not given, or it is a copy"
    strays = rows.filter(is_in(rows, *STRAY_STATES))
    n = pc.sum(pc.is_in(log_names(missing), pc.unique(log_names(strays)))).as_py()
    return f"; {n:,} with a log of this name that is set aside" if n else ""


def _logs_of(missing: pa.Table, rows: pa.Table) -> tuple[pa.ChunkedArray, pa.Table]:
    """Find logs of missing replicas, which lie there under another name or without a topic id.

    Returns:
        Which of the replicas have such a log, and the logs.
    """
    logs = rows.filter(is_in(rows, *STRAY_STATES, ReplicaState.GHOST))
    logs = logs.filter(pc.fill_null(pc.greater(logs["bytes"], 0), False))
    has_name = pc.and_(pc.is_null(logs["topic_id"]), _is_in(log_names(logs), log_names(missing)))
    logs = logs.filter(pc.or_(has_name, _is_in(_by_id(logs), _by_id(missing))))
    without_id = logs.filter(pc.is_null(logs["topic_id"]))
    is_there = pc.or_(
        _is_in(log_names(missing), log_names(without_id)), _is_in(_by_id(missing), _by_id(logs))
    )
    return is_there, logs


def _is_in(names: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.is_in(names, pc.unique(others), skip_nulls=True)


def _by_id(rows: pa.Table) -> pa.ChunkedArray:
    """The topic id and the partition of logs; null without an id."""
    return pc.binary_join_element_wise(rows["topic_id"], rows["partition"].cast(pa.string()), "-")


def _brought_back(code: str, missing: pa.Table, logs: pa.Table) -> tuple[str, str]:
    """Where the logs of missing replicas are, and the advice about them."""
    its, it, name, topic_id = "their logs are", "each", "TOPIC-PARTITION", "ID"
    if len(missing) == 1:
        its, it, name = "its log is", "it", log_names(missing)[0].as_py()
        topic_id = missing["topic_id"][0].as_py()
    places = pc.binary_join_element_wise(logs["directory"], logs["name"], "/")
    action = (
        f"{_FIRST[code]}. Copy the directory of the log. If its records are of an older"
        f" topic of this name, leave it. Else name {it} {name}, and write `version: 0` and"
        f" `topic_id: {topic_id}` into its partition.metadata"
    )
    if topic_id == "ID":
        action += ". `replicas --state missing --columns topic,partition,topic_id` has the ids"
    return f"; {its} {first_of(places)}", action
