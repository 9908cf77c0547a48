"""Sets of pairs as keys: the entities of client quotas.

An entity is a set of (type, name) pairs, a null name meaning the default of that type; the order in
which a record lists them does not matter.

Source: org.apache.kafka.image.{ClientQuotasDelta, ClientQuotaDelta}.
"""

from __future__ import annotations

import os

import numpy as np

from metashell.image.fold import group_keys
from metashell.schema.arena import I64
from metashell.schema.columns import StructArrayColumn


def pair_sets(entity: StructArrayColumn) -> I64:
    """int64[n]: equal for lists of the same set of pairs, the last of a type counting.

    Pairs are numbered exactly; a set is the sum of random numbers drawn for its pairs, so that no
    input can make two sets meet but by a chance of one in 2**64.
    """
    items = entity.items
    pairs = group_keys([items.span(spec.column_name) for spec in items.specs], items.n)
    n_pairs = int(pairs.max()) + 1 if len(pairs) else 0
    drawn = np.frombuffer(os.urandom(8 * n_pairs), dtype=np.uint64)
    terms = drawn[pairs]
    terms[_overruled(entity)] = 0
    totals = np.zeros(len(pairs) + 1, dtype=np.uint64)
    np.cumsum(terms, out=totals[1:])
    sums = totals[entity.list_offsets[1:]] - totals[entity.list_offsets[:-1]]
    return sums.view(np.int64)


def _overruled(entity: StructArrayColumn) -> I64:
    """Indexes of pairs before another of the same type: as in a map, the last counts."""
    several = np.flatnonzero(entity.counts > 1)
    if not several.size:
        return several
    types = group_keys([entity.items.span(entity.items.specs[0].column_name)], entity.items.n)
    row = np.repeat(np.arange(len(entity.counts)), np.maximum(entity.counts, 0))
    order = np.lexsort((np.arange(len(types)), types, row))
    same = (row[order][1:] == row[order][:-1]) & (types[order][1:] == types[order][:-1])
    overruled: I64 = order[:-1][same]
    return overruled
