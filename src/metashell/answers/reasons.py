"""Why partitions are not well, in a few words: whom they wait for, or what is down.

``waits for 102 (ELR)`` is said of a partition without a leader, ``broker 104 is fenced`` of one
with replicas out of sync. All is found by columns: no loop goes over partitions.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.causes import UNDER_MIN_ISR, Causes, Links, causes_text
from metashell.answers.election import HOW, Elections, elect, elr_enabled
from metashell.answers.health import Health
from metashell.answers.topic_settings import unclean_election
from metashell.image.arrow import broker_lists
from metashell.image.image import Image
from metashell.schema.arena import I64
from metashell.schema.arrow import fixed_array, list_array

_OFFLINE: Final = "offline-partitions"
_BETWEEN: Final = "; "
_FEW: Final = 2
"""Reasons of a group of partitions that are told one by one."""
_HOW: Final = {
    "isr": "first live replica of the ISR",
    "elr": "first live eligible leader replica; the ISR is empty",
    "last-known-leader": "last known leader; ISR and ELR are empty: may lose data",
    "unclean": "unclean election: no live replica is in sync; loses data",
}


class Reasons:
    """Why partitions of an image have a problem.

    Args:
        causes: The image's causes.
    """

    def __init__(self, causes: Causes) -> None:
        self._causes, self._image = causes, causes.image

    def of(self, rows: I64, problem: str) -> pa.Array:
        """string[n]: why each partition has a problem; null where nothing explains it.

        Args:
            rows: int64[n]: the partitions.
            problem: Its code.
        """
        if problem == _OFFLINE:
            unclean = unclean_election(self._image, self._causes.health.assumptions, rows).values
            return election_reasons(self._image, rows, elect(self._image, rows, unclean != 0))
        told = self._texts(self._causes.links(rows, problem), len(rows))
        return _joined(told, self._too_few(rows)) if problem == UNDER_MIN_ISR else told

    def _too_few(self, rows: I64) -> pa.Array:
        """string[n]: of partitions with fewer replicas than min.insync.replicas both numbers; null
        for others.

        Args:
            rows: int64[n]: the partitions.
        """
        some = Health(self._image, self._causes.health.assumptions, rows)
        numbers = np.column_stack([some.n_of("replicas"), some.min_isr.values])
        known, at = np.unique(numbers, axis=0, return_inverse=True)
        texts = [
            f"{n} replica{'s' * (n != 1)}, min.insync.replicas is {least}"
            for n, least in known.tolist()
        ]
        told = pa.array(texts, pa.string()).take(pa.array(at.reshape(-1)))
        return pc.if_else(pa.array(some.has_too_few), told, None)

    def of_groups(self, rows: I64, problem: str, links: Links, groups: I64, n: int) -> pa.Array:
        """string[n]: why each group of partitions has a problem; null where nothing explains it.

        Args:
            rows: int64[k]: the partitions.
            problem: Its code.
            links: Their links to causes, from `Causes.links`.
            groups: int64[k]: the group of each, ascending.
            n: How many groups there are.
        """
        if problem == _OFFLINE:
            return self._distinct(self.of(rows, problem), groups, n)
        told = self._texts(Links(groups[links.at], links.cause), n)
        if problem != UNDER_MIN_ISR:
            return told
        return _joined(told, self._distinct(self._too_few(rows), groups, n))

    @staticmethod
    def _distinct(texts: pa.Array, groups: I64, n: int) -> pa.Array:
        """string[n]: the different texts of each group, the first few; null where none has one."""
        coded = texts.drop_null().dictionary_encode()
        groups = groups[texts.is_valid().to_numpy(zero_copy_only=False)]
        n_texts = max(len(coded.dictionary), 1)
        pairs = np.unique(groups * n_texts + coded.indices.to_numpy().astype(np.int64))
        group, text = np.divmod(pairs, n_texts)
        bounds = np.searchsorted(group, np.arange(n + 1))
        lists = list_array(coded.dictionary.take(pa.array(text)), bounds, None)
        joined = pc.binary_join(pc.list_slice(lists, 0, _FEW), _BETWEEN)
        n_more = np.diff(bounds) - _FEW
        more = pc.binary_join_element_wise(
            joined, " and ", pa.array(n_more).cast(pa.string()), " more", ""
        )
        told = pc.if_else(pa.array(n_more > 0), more, joined)
        return pc.if_else(pc.equal(told, ""), None, told)

    def _texts(self, links: Links, n: int) -> pa.Array:
        """string[n]: what each follows from; links whose places are the same count together."""
        known, numbers = np.unique(links.cause, return_inverse=True)
        pairs = np.unique(links.at * max(len(known), 1) + numbers)
        at, number = np.divmod(pairs, max(len(known), 1))
        bounds = np.searchsorted(at, np.arange(n + 1))
        names = fixed_array(np.arange(len(known))).cast(pa.string())
        # Few sets of causes are those of many partitions: each is put into words once.
        sets = pc.binary_join(list_array(names.take(pa.array(number)), bounds, None), ",")
        encoded = sets.dictionary_encode()
        causes = self._causes.of_numbers(known)
        n_brokers = len(self._image.brokers.ids)
        texts = [
            causes_text([causes[int(i)] for i in one.split(",") if i], n_brokers) or None
            for one in encoded.dictionary.to_pylist()
        ]
        return pa.array(texts, pa.string()).take(encoded.indices)


def _joined(first: pa.Array, second: pa.Array) -> pa.Array:
    """string[n]: both texts where there are two; null where there is none."""
    return pc.coalesce(pc.binary_join_element_wise(first, second, _BETWEEN), first, second)


def election_reasons(image: Image, rows: I64, outcome: Elections) -> pa.Array:
    """string[n]: why a broker would be elected, or whom the partition waits for.

    Args:
        image: The image.
        rows: int64[n]: partitions without a leader.
        outcome: The controller's next actions on them.
    """
    waiting = pa.nulls(len(rows), pa.string())
    for name, title in (("isr", "ISR"), ("elr", "ELR"), ("last_known_elr", "last known leader")):
        lists = broker_lists(image.partitions, name, rows)
        length = pc.list_value_length(lists)
        if name == "last_known_elr":
            # The controller takes it only where it is enabled and there is no doubt who it is.
            waits_for_any = (
                pc.equal(length, 1) if elr_enabled(image) else pa.repeat(False, len(rows))
            )
        else:
            waits_for_any = pc.greater(length, 0)
        brokers = pc.binary_join(lists.cast(pa.list_(pa.string())), " or ")
        text = pc.binary_join_element_wise("waits for ", brokers, f" ({title})", "")
        waiting = pc.coalesce(waiting, pc.if_else(waits_for_any, text, None))
    waiting = pc.fill_null(
        waiting, "no replica is in sync or eligible: only an unclean election, which loses data"
    )
    texts = [None, *(_HOW[name] for name in HOW[1:])]
    chosen = pa.array(texts, pa.string()).take(pa.array(outcome.how))
    return pc.coalesce(chosen, waiting)
