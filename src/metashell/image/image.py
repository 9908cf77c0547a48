"""The image: every part, folded when first asked for.

Source: org.apache.kafka.image.MetadataImage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.cluster import Brokers
from metashell.image.features import METADATA_VERSION
from metashell.image.keyed import Part, fold_keyed
from metashell.image.partitions import Partitions, fold_partitions, partition_keys
from metashell.image.quorum_members import QuorumImage
from metashell.image.topics import Topics
from metashell.lazy import lazy
from metashell.log.frames import control_key
from metashell.log.layout import CONTROL
from metashell.parts.known import all_parts, find_part
from metashell.parts.partition_fields import LISTS
from metashell.parts.spec import hook
from metashell.records.record_faults import report_unknown
from metashell.records.records import Records
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
        self._folded: dict[str, Any] = {}
        self._made: dict[Callable[[Image], Any], Any] = {}
        self._partitions_of = lru_cache(maxsize=_TOPICS_FOLDED_ALONE)(self._fold_partitions_of)

    def grown(self, records: Records) -> Image:
        """The image after more records came; parts that these say nothing of are used again.

        Args:
            records: The result of `Records.grown` on this image's records.
        """
        new = Image(records)
        if not records.n_earlier:
            return new
        came = slice(records.n_earlier, None)
        keys = set(records.frames.api_key[came][records.counted[came]].tolist())
        by_name = records.registry.by_name
        with self.lock:
            for part in all_parts():
                specs = (by_name[name] for name in part.messages if name in by_name)
                if keys.isdisjoint(_key_of(spec) for spec in specs):
                    folded = {part.name, *part.folded_with}
                    new._folded |= {
                        name: self._folded[name] for name in folded & self._folded.keys()
                    }
                    if part.name == "partitions":
                        new._partitions_of = self._partitions_of
        return new

    def part(self, name: str) -> Part:
        """A part by its name, folded when it is first asked for.

        A part with a fold of its own is the result of that fold: see `brokers`, `topics`,
        `partitions` and `quorum`.
        """
        known = self._folded.get(name)
        if known is not None:  # Who only looks something up waits for nobody who folds.
            return cast(Part, known)
        with self.lock:
            found = self._folded.get(name)
            if found is None:
                spec = find_part(name)
                fold = hook(spec.fold) if spec.fold else None
                found = fold_keyed(self.records, spec) if fold is None else fold(self)
                self._folded[name] = found
            return cast(Part, found)

    def has_folded(self, name: str) -> bool:
        """Whether a part is there already; folds nothing."""
        return name in self._folded

    @lazy
    def metadata_version(self) -> int | None:
        """Level of metadata.version, None where no record sets it."""
        names = self.part("features").columns.span("name").texts()
        if METADATA_VERSION not in names:
            return None
        return int(
            self.part("features").columns.fixed("feature_level")[names.index(METADATA_VERSION)]
        )

    @property
    def brokers(self) -> Brokers:
        """Broker registrations."""
        return cast(Brokers, self.part("brokers"))

    @property
    def topics(self) -> Topics:
        """Topics."""
        return cast(Topics, self.part("topics"))

    @property
    def partitions(self) -> Partitions:
        """Partitions of every topic."""
        return cast(Partitions, self.part("partitions"))

    @property
    def quorum(self) -> QuorumImage:
        """Voters, kraft.version and leaders as the log has them."""
        return cast(QuorumImage, self.part("quorum"))

    def partitions_of(self, topic: int) -> Partitions:
        """Partitions of one topic (by index), or of all where they are folded already.

        One topic is folded without decoding the others' records. Each costs a search through all
        records, so who asks for many gets the fold of all.
        """
        if self.has_folded("partitions"):
            return self.partitions
        if self._partitions_of.cache_info().misses >= _TOPICS_FOLDED_ALONE:
            return self.partitions
        with self.lock:
            return self._partitions_of(topic)

    def narrowed(self, topic: int) -> Image:
        """The image reduced to one topic (by index): other topics have no partitions in it.

        For questions about the partitions of one topic; see `partitions_of` for what it saves.
        """
        partitions = self.partitions_of(topic)
        new = Image(self.records)
        with self.lock:
            new._folded = {**self._folded, "partitions": partitions}
        return new

    def _fold_partitions_of(self, topic: int) -> Partitions:
        return fold_partitions(self.records, self.topics, only=topic)

    @lazy
    def partition_layout(self) -> PartitionLayout:
        """Which partitions there are, without what is known of them."""
        if self.has_folded("partitions"):
            return PartitionLayout(self.partitions.topic_bounds, self.partitions.partition)
        topic, ids = partition_keys(self.records, self.topics)
        return PartitionLayout(np.searchsorted(topic, np.arange(len(self.topics) + 1)), ids)

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
            # The footer of a checkpoint that was read alone does not count.
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

    def once(self, make: Callable[[Image], _T]) -> _T:
        """An object made of the image, and kept as long as the image is."""
        with self.lock:
            if make not in self._made:
                self._made[make] = make(self)
            found: _T = self._made[make]
            return found

    def expect(self, lists: Iterable[str]) -> None:
        """Have lists of partitions decoded with the first look at partitions, and not by a second.

        Args:
            lists: Names as in `metashell.parts.partition_fields.LISTS`.
        """
        self.records.expect([LISTS[name] for name in lists])

    def fold_everything(self) -> None:
        """Fold every part, so that every fault is found."""
        records = self.records
        _ = records.applied
        for part in all_parts():
            self.part(part.name)
        _ = self.partitions.leader
        records.check_the_rest()
        report_unknown(records)


def _key_of(spec: MessageSpec) -> int:
    """The api key that frames have for a message."""
    if spec.api_key is not None:
        return spec.api_key
    assert spec.control_type is not None
    return control_key(spec.control_type)
