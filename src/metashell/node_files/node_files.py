"""The files of a node beside its metadata log, read when first asked for.

Each is the node's own word, for showing and for comparing; none of them changes what the log says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any

from metashell.node_files.epoch_checkpoint import read_epoch_checkpoint
from metashell.node_files.meta_properties import MetaProperties, read_meta_properties
from metashell.node_files.quorum_state import read_quorum_state
from metashell.places.bounded_file import AnyPlace, child_of, parent_of


class NodeFiles:
    """The files beside the log of a directory.

    Args:
        directory: The metadata directory; None for a file alone, beside which nothing is looked
            for.
    """

    def __init__(self, directory: AnyPlace | None) -> None:
        self._directory = directory

    @cached_property
    def meta_properties(self) -> MetaProperties | None:
        """The node's ``meta.properties``, None where there is none."""
        if self._directory is None:
            return None
        return read_meta_properties(child_of(parent_of(self._directory), "meta.properties"))

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id, as ``meta.properties`` or else an old ``quorum-state`` has it."""
        found = self.meta_properties
        if found is not None and found.cluster_id is not None:
            return found.cluster_id
        state = self.quorum_state_values() or {}
        return str(state["clusterId"]) if state.get("clusterId") else None

    def meta_properties_values(self) -> Mapping[str, Any] | None:
        """Keys and values of ``meta.properties`` that are there, None without the file."""
        found = self.meta_properties
        if found is None:
            return None
        values = {
            "version": found.version,
            "cluster.id": found.cluster_id,
            "node.id": found.node_id,
            "directory.id": found.directory_id,
        }
        return {name: value for name, value in values.items() if value is not None}

    def quorum_state_values(self) -> Mapping[str, Any] | None:
        """Keys and values of ``quorum-state`` that are there, None without the file."""
        if self._directory is None:
            return None
        state = read_quorum_state(child_of(self._directory, "quorum-state"))
        if state is None:
            return None
        values = {_camel(name): value for name, value in asdict(state).items()}
        voters = values["currentVoters"]
        values["currentVoters"] = None if voters is None else list(voters)
        return {name: value for name, value in values.items() if value is not None}

    @property
    def leaders(self) -> Mapping[int, int]:
        """The leader of the epoch that ``quorum-state`` names; empty where it names none."""
        state = self.quorum_state_values() or {}
        leader, epoch = state.get("leaderId"), state.get("leaderEpoch")
        if isinstance(leader, int) and isinstance(epoch, int) and leader >= 0:
            return {epoch: leader}
        return {}

    def epochs(self) -> Mapping[int, int]:
        """Start offset of each leader epoch, as ``leader-epoch-checkpoint`` has them."""
        if self._directory is None:
            return {}
        path = child_of(self._directory, "leader-epoch-checkpoint")
        return {e.epoch: e.start_offset for e in read_epoch_checkpoint(path) or ()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
