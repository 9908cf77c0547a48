"""Which node a finder judges, and in which roles it runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.checks.votes import log_end, segment_ends
from metashell.image.quorum_members import voters_in_log

if TYPE_CHECKING:
    from metashell.judgement.evidence import Evidence
    from metashell.node_files.log_directory import LogDirectory


def node_of(evidence: Evidence) -> int | None:
    """The node's id by its configuration, else by its directories; None where none tells."""
    if evidence.config is not None:
        text = evidence.config.settings.get("node.id", "").strip()
        if text.isascii() and text.isdigit():
            return int(text)
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


def _roles(evidence: Evidence) -> list[str] | None:
    """The roles that the configuration sets; None where it sets none."""
    config = evidence.config
    text = "" if config is None else config.settings.get("process.roles", "")
    return [word.strip() for word in text.split(",") if word.strip()] or None
