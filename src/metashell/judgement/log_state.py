"""Findings about the metadata log as a controller that starts now would load it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from metashell.answers.nodes import HOUR_MS, age_text, nodes_of
from metashell.checks.finding import Finding
from metashell.findings.kind import FindingKind
from metashell.image.features import METADATA_VERSION
from metashell.image.fold import group_keys, sort_events
from metashell.image.image import Image
from metashell.image.keyed import join_parts, unknown_removals
from metashell.judgement.evidence import Evidence
from metashell.schema.timestamps import span_text
from metashell.schema.uuids import uuid_text

INTERVAL: Final = "metadata.log.max.snapshot.interval.ms"
_HAS_INTERVAL: Final = 8
"""The level (3.4-IV0) of the first release that makes checkpoints by time (KIP-876)."""
_MOST_DIGITS: Final = 19
_MOST_NAMED: Final = 3


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what stops a controller, and what a checkpoint lacks."""
    for kind in kinds:
        yield from _FINDERS[kind.code](evidence)


def _stops(evidence: Evidence) -> Iterator[Finding]:
    """The first record that only a controller's replay refuses."""
    image = evidence.source.image
    found = [
        error
        for refused in (_topics_twice, _users_unknown, _acls_removed_twice, _producers_again)
        for error in refused(image)
    ]
    if not found:
        return
    row, error = min(found)
    offsets, known = image.records.offsets(np.array([row]))
    file, offset = image.records.file_of(row).name, int(offsets[0]) if known[0] else None
    at = f"a record of {file}" if offset is None else f"offset {offset}"
    yield Finding(
        "controller-stops",
        f"every controller stops at {at}, and brokers read on: {error}",
        file=file,
        subject="every controller",
        kafka=error,
        count=len(found),
        path="/log",
        offset=offset,
        command=() if offset is None else ("log", "--offset", str(offset)),
    )


def _topics_twice(image: Image) -> Iterator[tuple[int, str]]:
    """Rows of TopicRecords whose name a topic has already, with the words of Kafka's error.

    Only the first one of a name is found for sure.
    """
    lives = image.topics.lives
    n = len(lives.begins)
    if not n:
        return
    events = sort_events(group_keys([lives.names], n), lives.begins)
    before = np.arange(n) - 1
    begins, ends = lives.begins[events.order], lives.ends[events.order[before]]
    # A second record of an id begins a life too, and takes no name away.
    is_free = np.isin(ends, image.topics.removed.rows) & (ends < begins)
    for at in np.flatnonzero((before >= events.first) & ~is_free).tolist():
        new, old = int(events.order[at]), int(events.order[at - 1])
        name = lives.names.text(new)
        ids = [uuid_text(lives.ids[i].tobytes()) for i in (old, new)]
        why = (
            f" with topic ID {ids[1]}"
            if ids[0] == ids[1]
            else f" with a different ID than before. Previous ID was {ids[0]} and new ID is"
            f" {ids[1]}"
        )
        yield int(lives.begins[new]), f"Found duplicate TopicRecord for {name}{why}"


def _users_unknown(image: Image) -> Iterator[tuple[int, str]]:
    """Rows of removals of SCRAM credentials that are not there, with the words of Kafka's error."""
    rows, made = image.records.columns("UserScramCredentialRecord")
    gone_rows, gone = image.records.columns("RemoveUserScramCredentialRecord")
    if not len(gone_rows):
        return
    names = join_parts([made.span("name"), gone.span("name")])
    mechanisms = join_parts([made.fixed("mechanism"), gone.fixed("mechanism")])
    all_rows = np.concatenate([rows, gone_rows])
    groups = group_keys([names, mechanisms], len(all_rows))
    is_removal = np.arange(len(all_rows)) >= len(rows)
    for row in unknown_removals(groups, all_rows, is_removal).tolist():
        user = gone.span("name").text(int(np.searchsorted(gone_rows, row)))
        yield row, f"Unable to find credential to delete: user {user}"


def _acls_removed_twice(image: Image) -> Iterator[tuple[int, str]]:
    """Rows of removals of ACLs whose equal under another id was removed before, with Kafka's words.

    A controller keeps ACLs by id, and beside them a set without ids. Source:
    org.apache.kafka.controller.AclControlManager.replay.
    """
    rows, made = image.records.columns("AccessControlEntryRecord")
    gone_rows, gone = image.records.columns("RemoveAccessControlEntryRecord")
    if not len(gone_rows) or not len(rows):
        return
    all_rows = np.concatenate([rows, gone_rows])
    ids = group_keys([join_parts([made.fixed("id"), gone.fixed("id")])], len(all_rows))
    order = np.lexsort((all_rows, ids))
    before = np.full(len(order), -1, dtype=np.int64)
    before[order[1:]] = np.where(ids[order[1:]] == ids[order[:-1]], order[:-1], -1)
    removed = before[len(rows) :]
    is_known = (removed >= 0) & (removed < len(rows))
    parts = [made.span(name) for name in ("resource_name", "principal", "host")]
    codes = ("resource_type", "pattern_type", "operation", "permission_type")
    content = group_keys([*parts, *map(made.fixed, codes)], len(rows))
    groups = np.concatenate([content, content[removed[is_known]]])
    some = np.concatenate([rows, gone_rows[is_known]])
    is_removal = np.arange(len(some)) >= len(rows)
    for row in unknown_removals(groups, some, is_removal).tolist():
        acl = uuid_text(gone.fixed("id")[int(np.searchsorted(gone_rows, row))].tobytes())
        yield row, f"acl not found in existingAcls: ACL {acl} has an equal that is removed"


def _producers_again(image: Image) -> Iterator[tuple[int, str]]:
    """Rows of blocks of producer ids that do not go on, with the words of Kafka's error.

    Source: org.apache.kafka.controller.ProducerIdControlManager.replay.
    """
    rows, blocks = image.records.columns("ProducerIdsRecord")
    first = blocks.fixed("next_producer_id")
    for at in np.flatnonzero(first[1:] <= first[:-1]).tolist():
        yield (
            int(rows[at + 1]),
            f"Next Producer ID from replayed record ({first[at + 1]}) is not greater than current"
            f" next Producer ID in block ({first[at]})",
        )


def _without_version(evidence: Evidence) -> Iterator[Finding]:
    """A log with records, of which none sets the level."""
    image, files = evidence.source.image, evidence.source.log.loaded.files
    if image.metadata_version is not None or not (len(image.brokers) or len(image.topics)):
        return
    # A segment alone does not tell, nor does a log that no leader has written.
    if any(file.end_offset for file in files) or len(image.records.rows("LeaderChangeMessage")):
        yield Finding(
            "no-metadata-version", subject="the log", path="/image/features/metadataVersion"
        )


def _behind(evidence: Evidence) -> Iterator[Finding]:
    """A newest checkpoint that is more than two intervals of log time old."""
    source = evidence.source
    is_whole = not source.log.is_file and source.log.in_memory is None
    if source.moment_offset is not None or source.live is not None or not is_whole:
        return
    image = source.image
    levels = [node.range_of(METADATA_VERSION)[1] for node in nodes_of(image, count=False)]
    if max([*levels, image.metadata_version or 0]) < _HAS_INTERVAL:
        return
    setting = evidence.assumptions.get(INTERVAL) or ""
    is_number = setting.strip().isdecimal() and len(setting) < _MOST_DIGITS
    interval = int(setting) if is_number else HOUR_MS
    since, records, listing = image.records.checkpoint_time_ms, image.records, source.log.listing
    if since is None and listing.segments and listing.segments[0].base_offset == 0:
        since = int(records.frames_at([0]).timestamps(np.array([0]))[0])
    age = image.provenance.timestamp_ms - (since or 0)
    if interval <= 0 or since is None or since <= 0 or age <= 2 * interval:
        return
    has_some = any(not one.is_bootstrap for one in listing.checkpoints)
    newest = "the newest checkpoint lacks" if has_some else "there is no checkpoint of"
    by = "" if is_number else ", the default, which is assumed"
    yield Finding(
        "checkpoint-behind",
        f"{newest} the last {span_text(age)} of the log: one is due each {age_text(interval)}"
        f" ({INTERVAL}{by})",
        subject="the log",
        path="/log",
        since_time_ms=since,
    )


def _lost_credentials(evidence: Evidence) -> Iterator[Finding]:
    """Credentials that older files lead to, and that the newest checkpoint lacks."""
    if evidence.image is evidence.source.image:
        return
    checkpoint = evidence.source.log.checkpoint
    yield from lacking(
        evidence.image, evidence.source.image, None if checkpoint is None else checkpoint.name
    )


def lacking(whole: Image, held: Image, file: str | None) -> Iterator[Finding]:
    """The finding about a checkpoint that lacks credentials.

    Args:
        whole: The image that the log gives.
        held: The image that the checkpoint gives.
        file: The checkpoint.
    """
    lost = sorted(_credentials(whole) - _credentials(held))
    if not lost:
        return
    users = list(dict.fromkeys(user for user, _ in lost))
    named = ", ".join(users[:_MOST_NAMED])
    named += f" and {len(users) - _MOST_NAMED} more" if len(users) > _MOST_NAMED else ""
    _, removals = whole.records.columns("RemoveUserScramCredentialRecord")
    is_known = {mechanism for _, mechanism in lost} <= set(removals.fixed("mechanism").tolist())
    why = (
        ". Kafka loses a credential where, at once, another is removed and none of its mechanism is"
        " left"
    )
    yield Finding(
        "checkpoint-lacks-credentials",
        f"the checkpoint lacks SCRAM credentials that the log sets, of {named}: they cannot log in"
        f" at a node that starts from it{why * is_known}",
        file=file,
        count=len(lost),
        path="/image/scram",
    )


def _credentials(image: Image) -> set[tuple[str, int]]:
    """User and mechanism of each SCRAM credential."""
    columns = image.part("scram").columns
    users, mechanisms = columns.span("name").texts(), columns.fixed("mechanism").tolist()
    return set(zip(users, mechanisms, strict=True))


_FINDERS: Final[Mapping[str, Callable[[Evidence], Iterator[Finding]]]] = {
    "controller-stops": _stops,
    "no-metadata-version": _without_version,
    "checkpoint-behind": _behind,
    "checkpoint-lacks-credentials": _lost_credentials,
}
