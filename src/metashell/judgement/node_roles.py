"""Which node a finder judges, and in which roles it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from metashell.checks.votes import log_end, segment_ends
from metashell.image.quorum_members import voters_in_log
from metashell.schema.uuids import uuid_text

if TYPE_CHECKING:
    from metashell.image.cluster import Brokers
    from metashell.judgement.evidence import Evidence
    from metashell.node_files.log_directory import LogDirectory


def node_of(evidence: Evidence) -> int | None:
    """The node's id by its configuration, else by its directories; None where none tells."""
    if evidence.config is not None and evidence.config.node_id is not None:
        return evidence.config.node_id
    ids = (one.identity.node_id for one in evidence.directories if one.identity is not None)
    return next((one for one in ids if one is not None), None)


def is_broker(evidence: Evidence) -> bool:
    """Whether the node is a broker; also where only logs of topics tell it."""
    roles = _roles(evidence)
    if roles is not None:
        return "broker" in roles
    node = node_of(evidence)
    if node in evidence.image.brokers.ids.tolist():
        return True
    has_logs = any(one.logs_of_topics for one in evidence.directories)
    return has_logs or not is_controller(evidence)


def knows_roles(evidence: Evidence) -> bool:
    """Whether anything tells the node's roles."""
    has_logs = any(one.logs_of_topics for one in evidence.directories)
    is_known = node_of(evidence) in evidence.image.brokers.ids.tolist() or is_controller(evidence)
    return _roles(evidence) is not None or has_logs or is_known


def is_told_broker(evidence: Evidence) -> bool:
    """Whether the configuration makes the node a broker alone."""
    return _roles(evidence) == ["broker"]


def lacks_log(evidence: Evidence) -> bool:
    """Whether the node's own metadata log has no record, or can't be read."""
    source = evidence.source
    if not source.capabilities.has_image:
        return True
    return log_end(source.log.listing, segment_ends(source.log.loaded.files)).offset == 0


def knows_brokers(evidence: Evidence, brokers: Sequence[int | None]) -> bool:
    """Whether the metadata can tell what becomes of these brokers' replicas.

    A broker's own log that ends before its registration can't: the broker fetches the rest first.
    """
    return evidence.is_compared or not {*brokers}.isdisjoint(evidence.image.brokers.ids.tolist())


def is_controller(evidence: Evidence) -> bool:
    """Whether the node is a controller, by its configuration, its registration or its vote."""
    roles = _roles(evidence)
    if roles is not None:
        return "controller" in roles
    image = evidence.image
    known = image.part("controllers").columns.fixed("controller_id").tolist()
    return node_of(evidence) in {*known, *(one.id for one in voters_in_log(image.quorum))}


def loaded_directories(evidence: Evidence) -> list[LogDirectory]:
    """The directories whose logs a broker loads: of log.dirs, and with a usable identity."""
    config = evidence.config
    paths = {str(one.place) for one in evidence.directories}
    named = paths & {*map(os.path.abspath, [] if config is None else config.named_log_dirs())}
    return [
        one
        for one in evidence.directories
        if one.fault is None
        and one.identity_fault is None
        and (not named or str(one.place) in named)
    ]


def directory_owners(brokers: Brokers, name: str) -> Mapping[int, frozenset[bytes]]:
    """The directory ids that a field of the registrations has, by broker."""
    ids, bounds = brokers.columns.span(name).gather()
    lists = np.split(ids, bounds[1:-1])
    # Without brokers there is a list of none.
    pairs = zip(brokers.ids.tolist(), lists, strict=False)
    return {broker: frozenset(map(bytes, some)) for broker, some in pairs}


def lost_ids_text(evidence: Evidence, directory: LogDirectory, text: str) -> str | None:
    """Advice with the ``directory.id`` that a log directory of the node has lost.

    It is the only one that the registration, or the voter of the log, has and no other directory.

    Args:
        evidence: The node.
        directory: Its directory whose id is not known.
        text: The advice, with ``{}`` for ``directory.id=ID``.

    Returns:
        None where no id or several can be meant.
    """
    node, image = node_of(evidence), evidence.image
    ids = []
    if directory is evidence.directories[0]:
        voters = voters_in_log(image.quorum)
        ids = [one.directory_id for one in voters if one.id == node and one.directory_id]
    if not ids and node is not None:
        here = {one.identity.directory_id for one in evidence.directories if one.identity}
        registered = directory_owners(image.brokers, "log_dirs").get(node, ())
        ids = [one for one in map(uuid_text, registered) if one not in here]
    if len(ids) != 1:
        return None
    newer = "" if evidence.is_compared else ". --against tells whether the cluster has a newer one"
    return text.format(f"directory.id={ids[0]}") + newer


def _roles(evidence: Evidence) -> list[str] | None:
    """The roles that the configuration sets; None where it sets none."""
    config = evidence.config
    text = "" if config is None else config.settings.get("process.roles", "")
    return [word.strip() for word in text.split(",") if word.strip()] or None
