"""The image: every part, folded when first asked for.

Source: org.apache.kafka.image.MetadataImage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from metashell.image.cluster import Brokers, fold_brokers, fold_controllers
from metashell.image.configs import fold_configs
from metashell.image.features import METADATA_VERSION, fold_features, fold_producer_ids
from metashell.image.keyed import Part
from metashell.image.lazy import lazy
from metashell.image.partitions import Partitions, fold_partitions, partition_keys
from metashell.image.parts import FOLDED_FROM
from metashell.image.quotas import fold_quotas
from metashell.image.records import Records
from metashell.image.security import fold_acls, fold_scram, fold_tokens
from metashell.image.topics import Topics, fold_topics
from metashell.image.voters import QuorumImage, fold_quorum
from metashell.log.frames import CONTROL, control_key
from metashell.schema.arena import I32, I64
from metashell.schema.model import MessageSpec

if TYPE_CHECKING:
    from metashell.image.touched import Touched

_T = TypeVar("_T")

_TOPICS_FOLDED_ALONE = 16
"""Topics that are folded on their own before the partitions of all are."""


@dataclass(frozen=True, slots=True)
class ImageProvenance:
    """The last record that an image holds: offset, leader epoch, time in ms; -1 for none."""

    offset: int
    epoch: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """Which partitions each topic has: ids ``bounds[t]:bounds[t + 1]`` belong to topic t.

    ``bounds``: int64[topics + 1]; ``ids``: int32, ascending within a topic (as unsigned).
    """

    bounds: I64
    ids: I32


class Image:
    """The cluster's metadata after the last record that counts."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.lock = records.lock
        self._partitions_of = lru_cache(maxsize=_TOPICS_FOLDED_ALONE)(self._fold_partitions_of)

    def grown(self, records: Records) -> Image:
        """The image after more records came; parts that these say nothing of are used again.

        Args:
            records: What `Records.grown` made of this image's records.
        """
        new = Image(records)
        if not records.n_earlier:
            return new
        came = slice(records.n_earlier, None)
        keys = set(records.frames.api_key[came][records.counted[came]].tolist())
        by_name = records.registry.by_name
        with self.lock:
            for parts, names in FOLDED_FROM.items():
                specs = (by_name[name] for name in names if name in by_name)
                if keys.isdisjoint(_key_of(spec) for spec in specs):
                    new.__dict__.update(
                        {part: self.__dict__[part] for part in parts if part in self.__dict__}
                    )
                    if "partitions" in parts:
                        new._partitions_of = self._partitions_of
        return new

    @lazy
    def features(self) -> Part:
        """Finalized features."""
        return fold_features(self.records)

    @lazy
    def metadata_version(self) -> int | None:
        """Level of metadata.version, None where no record sets it."""
        names = self.features.columns.span("name").texts()
        if METADATA_VERSION not in names:
            return None
        return int(self.features.columns.fixed("feature_level")[names.index(METADATA_VERSION)])

    @lazy
    def producer_ids(self) -> tuple[int, int] | None:
        """The next producer id and the row that set it."""
        return fold_producer_ids(self.records)

    @lazy
    def brokers(self) -> Brokers:
        """Broker registrations."""
        return fold_brokers(self.records)

    @lazy
    def controllers(self) -> Part:
        """Controller registrations."""
        return fold_controllers(self.records)

    @lazy
    def topics(self) -> Topics:
        """Topics."""
        return fold_topics(self.records)

    @lazy
    def partitions(self) -> Partitions:
        """Partitions of every topic."""
        return fold_partitions(self.records, self.topics)

    def partitions_of(self, topic: int) -> Partitions:
        """Partitions of one topic (by index), or of all where they are folded already.

        One topic is folded without decoding the others' records. Each costs a search through all
        records, so who asks for many gets the fold of all.
        """
        if "partitions" in self.__dict__:
            return self.partitions
        if self._partitions_of.cache_info().misses >= _TOPICS_FOLDED_ALONE:
            return self.partitions
        with self.lock:
            return self._partitions_of(topic)

    def _fold_partitions_of(self, topic: int) -> Partitions:
        return fold_partitions(self.records, self.topics, only=topic)

    @lazy
    def partition_layout(self) -> PartitionLayout:
        """Which partitions there are, without what is known of them."""
        if "partitions" in self.__dict__:
            return PartitionLayout(self.partitions.topic_bounds, self.partitions.partition)
        topic, ids = partition_keys(self.records, self.topics)
        return PartitionLayout(np.searchsorted(topic, np.arange(len(self.topics) + 1)), ids)

    @lazy
    def configs(self) -> Part:
        """Config values."""
        return fold_configs(self.records, self.topics)

    @lazy
    def quotas(self) -> Part:
        """Client quotas."""
        return fold_quotas(self.records)

    @lazy
    def acls(self) -> Part:
        """ACLs."""
        return fold_acls(self.records)

    @lazy
    def scram(self) -> Part:
        """SCRAM credentials."""
        return fold_scram(self.records)

    @lazy
    def tokens(self) -> Part:
        """Delegation tokens."""
        return fold_tokens(self.records)

    @lazy
    def quorum(self) -> QuorumImage:
        """Voters, kraft.version and leaders as the log has them."""
        return fold_quorum(self.records)

    @lazy
    def provenance(self) -> ImageProvenance:
        """The last record that the image holds, control records included."""
        records = self.records
        if records.last_applied is not None:
            return ImageProvenance(*records.last_applied)
        frames, row = records.frames, records.last_row
        if row < 0:
            return ImageProvenance(-1, -1, -1)
        file = records.file_of(row)
        if file.end_offset is not None and not file.is_alone:
            time = records.checkpoint_time_ms
            return ImageProvenance(file.end_offset - 1, file.epoch, -1 if time is None else time)
        batch = int(frames.batch[row])
        if file.name.endswith(".checkpoint"):
            # Of a checkpoint read alone the footer is not part.
            control = frames.batches.header["attributes"] & CONTROL != 0
            data = np.flatnonzero(~control[: batch + 1])
            batch = int(data[-1]) if data.size else batch
        header = frames.batches.header[batch]
        whole = int(frames.batches.first_row[batch + 1]) <= row + 1
        offset = int(header["base_offset"]) + int(header["last_delta"])
        return ImageProvenance(
            offset if whole else int(frames.offset[row]),
            int(header["epoch"]),
            int(header["max_timestamp"]),
        )

    @lazy
    def touched(self) -> Touched:
        """The newest records about its parts."""
        from metashell.image.touched import Touched

        return Touched(self)

    def fold_everything(self) -> None:
        """Fold every part, so that every fault is found."""
        records = self.records
        _ = records.applied
        folds: tuple[Callable[[], object], ...] = (
            lambda: self.features,
            lambda: self.producer_ids,
            lambda: self.brokers,
            lambda: self.controllers,
            lambda: self.topics,
            lambda: self.partitions.leader,
            lambda: self.configs,
            lambda: self.quotas,
            lambda: self.acls,
            lambda: self.scram,
            lambda: self.tokens,
            lambda: self.quorum,
            records.check_the_rest,
        )
        for fold in folds:
            fold()
        records.report_unknown()


def _key_of(spec: MessageSpec) -> int:
    """The api key that frames have for a message."""
    if spec.api_key is not None:
        return spec.api_key
    assert spec.control_type is not None
    return control_key(spec.control_type)
