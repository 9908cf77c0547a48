"""The fold: group events by key, and let the last writer win.

Every part of the image is folded the same way: the records that say something about a key are its
*events*, told apart by row (replay order). Keys become dense group numbers, events are sorted by
group, and what replay would leave behind is read off with running maxima instead of by replaying.

`sort_events`, `last_marked` and `take` are done by the kernel where there is one, with the same
results. Indexes of events have 32 bits, so that those of millions take half the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from metashell.dataclass import dataclass
from metashell.kernel import fold as kernel
from metashell.kernel import keys
from metashell.kernel.library import library
from metashell.schema.arena import I32, I64, AnyArray, Bools
from metashell.schema.columns import SpanColumn
from metashell.schema.spans import hash_spans, same_spans

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_BLOCK = 1 << 17
"""Events whose keys are compared together."""
_MOST_BYTES = (1 << 31) - 1
"""The longest string that the kernel numbers, in bytes."""
_SLOTS_A_PAIR = 4
"""A table of more places for each pair costs more than the kernel's own."""
_LEAST_TAKEN = 16_384
"""Fewer values are taken sooner than the kernel is called."""


def group_keys(parts: Sequence[AnyArray | SpanColumn], n: int) -> I64:
    """Number the distinct keys of n events.

    Args:
        parts: The parts of a key: fixed-size values (``V16[n]`` for uuids) and strings.
        n: Events.

    Returns:
        int64[n]: equal for equal keys, else different; dense, in no particular order.

    Cost: one hash over the bytes and, by numpy, a sort; equality is then verified, so that keys
    which collide (somebody may want them to) only cost time.
    """
    if n == 0:
        return np.empty(0, dtype=np.int64)
    numbered = _numbered(parts, n)
    if numbered is not None:
        return numbered.numbers
    found = _sorted_keys(parts, n)
    if found is None:
        return _group_exactly(parts, n)
    order, begins = found
    groups = np.empty(n, dtype=np.int64)
    groups[order] = np.cumsum(begins) - 1
    return groups


def number_keys(parts: Sequence[AnyArray | SpanColumn], n: int) -> keys.NumberedKeys:
    """Number keys like `group_keys`, in any order, and find the first event of each key."""
    numbered = _numbered(parts, n) if n else None
    if numbered is not None:
        return numbered
    return _with_firsts(group_keys(parts, n))


def _with_firsts(numbers: I64) -> keys.NumberedKeys:
    """Find the first event of each dense number."""
    n = len(numbers)
    firsts = np.empty(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
    firsts[numbers[::-1]] = np.arange(n - 1, -1, -1)
    return keys.NumberedKeys(numbers, firsts)


def number_rows(spans: SpanColumn, rows: I64) -> keys.NumberedKeys:
    """The result of ``number_keys([spans.take(rows)], len(rows))``, on bytes.

    Args:
        spans: Strings or bytes.
        rows: int64[n]: those that are keys.
    """
    found = library()
    if found is not None and 0 < len(rows) <= keys.MOST_ROWS and spans.counts.dtype == np.int32:
        data = spans.arena.content
        numbered = keys.number_spans(found, data, spans.starts, spans.counts, None, rows)
        if numbered is not None:
            return numbered
    return number_keys([spans.take(rows)], len(rows))


def _numbered(parts: Sequence[AnyArray | SpanColumn], n: int) -> keys.NumberedKeys | None:
    """Number keys by the kernel, one part after the other; None where numpy has to do it."""
    found = library()
    if found is None or n > keys.MOST_ROWS or not parts:
        return None
    numbered: keys.NumberedKeys | None = None
    for part in parts:
        numbers = None if numbered is None else numbered.numbers
        if isinstance(part, SpanColumn):
            data, sizes = part.arena.content, _sizes(part)
            if sizes.dtype != np.int32:
                if int(sizes.max()) > _MOST_BYTES:
                    return None
                sizes = sizes.astype(np.int32)
            numbered = keys.number_spans(found, data, part.starts, sizes, numbers)
        else:
            by_place = None if numbers is None else _by_place(numbers, part)
            numbered = by_place or keys.number_items(found, part, numbers)
        if numbered is None:
            return None
    return numbered


def _by_place(numbers: I64, part: AnyArray) -> keys.NumberedKeys | None:
    """Number pairs of dense numbers and integers by a table of all pairs.

    None where the table would have more than `_SLOTS_A_PAIR` places for each pair that there is.
    """
    if part.dtype.kind != "i":
        return None
    low = int(part.min())
    width = int(part.max()) - low + 1
    size = (int(numbers.max()) + 1) * width
    if size > _SLOTS_A_PAIR * len(part):
        return None
    pairs = numbers * width
    pairs += part
    pairs -= low
    used = np.zeros(size, dtype=np.bool_)
    used[pairs] = True
    dense = np.cumsum(used, dtype=np.int64)
    dense -= 1
    return _with_firsts(dense[pairs])


def _sorted_keys(parts: Sequence[AnyArray | SpanColumn], n: int) -> tuple[I64, Bools] | None:
    """Indexes that bring equal keys together, in their order, and where each key begins.

    None where keys collide.
    """
    for sort in (_sort_by_high_bits, _sort):
        # Nothing is kept longer than it is needed: of a log's records this is a good part of all.
        ordered, order = sort(_hashes(parts, n))
        begins = begins_of(ordered)
        del ordered
        if _are_equal(parts, order, begins):
            return order, begins
    return None


def _hashes(parts: Sequence[AnyArray | SpanColumn], n: int) -> AnyArray:
    """A hash of each key: uint64[n]."""
    hashes = np.zeros(n, dtype=np.uint64)
    for part in parts:
        hashes *= _PRIME
        hashes ^= _hash_part(part)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _sort_by_high_bits(hashes: AnyArray) -> tuple[AnyArray, I64]:
    """Hashes without their low bits, sorted, and their order.

    In place of these bits stands where each hash is, so numbers are sorted and not indexes, which
    takes a fifth of the time.
    """
    low = np.uint64((1 << len(hashes).bit_length()) - 1)
    mixed = hashes & ~low
    mixed |= np.arange(len(hashes), dtype=np.uint64)
    mixed.sort()
    order = (mixed & low).view(np.int64)
    mixed &= ~low
    return mixed, order


def _sort(hashes: AnyArray) -> tuple[AnyArray, I64]:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], order


def distinct(numbers: AnyArray) -> AnyArray:
    """The different ones among numbers, ascending. np.unique would import masked arrays first."""
    ordered = np.sort(numbers)
    return ordered[begins_of(ordered)]


def find_sorted(known: AnyArray, wanted: AnyArray) -> I64:
    """int64[n]: where each wanted value stands among known ones, which ascend; -1 for none."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at, -1)


def places_by_number(numbers: AnyArray) -> Iterator[tuple[int, I64]]:
    """Each different number, ascending, and where it stands. For few different ones."""
    for number in distinct(numbers).tolist():
        yield number, np.flatnonzero(numbers == number)


def begins_of(ordered: AnyArray) -> Bools:
    """bool[n]: where another value begins, if equal ones stand side by side."""
    begins = np.ones(len(ordered), dtype=np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    return begins


def stable_order(numbers: I32 | I64) -> I64:
    """Indexes that sort numbers, equal ones in the order in which they stand: int64[n].

    Cost: where the numbers leave room for an index beside them, numbers are sorted and not indexes,
    which takes a fifth of the time.
    """
    n = len(numbers)
    bits = n.bit_length()
    narrow = _narrowed(numbers.astype(np.int64, copy=False), 63 - bits) if n else None
    if narrow is None:
        return np.argsort(numbers, kind="stable")
    mixed = narrow << bits
    mixed |= np.arange(n, dtype=np.int64)
    mixed.sort()
    mixed &= (1 << bits) - 1
    return mixed


def _narrowed(numbers: I64, bits: int) -> I64 | None:
    """Numbers of so many bits in the same order; None where there are none at hand.

    Folds pack two numbers into one for their keys, and its lower half mostly is small.
    """
    if int(numbers.min()) < 0:
        return None
    if not int(numbers.max()) >> bits:
        return numbers
    low = numbers & 0xFFFFFFFF
    low_bits = int(low.max()).bit_length()
    high = numbers >> 32
    if int(high.max()) >> (bits - low_bits):
        return None
    return high << low_bits | low


def _hash_part(part: AnyArray | SpanColumn) -> AnyArray:
    if isinstance(part, SpanColumn):
        return hash_spans(part.arena, part.starts, _sizes(part))
    if part.dtype.itemsize == 16:
        high, low = _halves(part)
        mixed: AnyArray = high * _PRIME ^ low
        return mixed
    return part.astype(np.int64).view(np.uint64) * _PRIME


def _sizes(column: SpanColumn) -> AnyArray:
    """Bytes of each value; -1 for null."""
    item = np.dtype(column.dtype).itemsize
    return column.counts if item == 1 else np.where(column.counts < 0, -1, column.counts * item)


def _are_equal(parts: Sequence[AnyArray | SpanColumn], order: I64, begins: Bools) -> bool:
    """Whether all events of a group have one key.

    Each is compared with the first of its group, in the order in which their bytes lie: what stands
    side by side there is read together.
    """
    n = len(order)
    firsts = order[np.flatnonzero(begins)]
    group: I64 = np.cumsum(begins, dtype=np.int64)
    group -= 1
    first = np.empty(n, dtype=np.int64)
    first[order] = firsts[group]
    del group
    for begin in range(0, n, _BLOCK):
        at = np.arange(begin, min(begin + _BLOCK, n))
        at = at[first[at] != at]
        if at.size and not all(_same(part, at, first[at]) for part in parts):
            return False
    return True


def _same(part: AnyArray | SpanColumn, a: I64, b: I64) -> bool:
    """Whether the values at some places are those at others."""
    if not isinstance(part, SpanColumn):
        return not any((half[a] != half[b]).any() for half in _halves(part))
    if (part.counts[a] != part.counts[b]).any():
        return False
    return same_spans(part.arena, part.starts[a], part.starts[b], _sizes(part)[a])


def _halves(part: AnyArray) -> Sequence[AnyArray]:
    """A fixed-size value as numbers: the halves of a uuid by themselves."""
    if part.dtype.itemsize == 16:
        return tuple(np.ascontiguousarray(part).view("<u8").reshape(-1, 2).T)
    return (part,)


def _group_exactly(parts: Sequence[AnyArray | SpanColumn], n: int) -> I64:
    """Number keys with a dict of Python objects: for keys that collide."""
    columns = [part.raws() if isinstance(part, SpanColumn) else part.tolist() for part in parts]
    numbers: dict[tuple[object, ...], int] = {}
    return np.array(
        [numbers.setdefault(key, len(numbers)) for key in zip(*columns, strict=True)],
        dtype=np.int64,
    ).reshape(n)


def index_type(n: int) -> type[np.int32 | np.int64]:
    """The type of indexes of n events: int32, or int64 from 2^31 events on."""
    return np.int32 if n <= kernel.MOST_ROWS else np.int64


@dataclass(slots=True)
class Events:
    """Events sorted by group and, within a group, by row; all indexes are of `index_type`.

    ``order``: int32[n], indexes into the arrays that the events were given as; ``first``: int32[n],
    for each sorted event where its group begins; ``last``: int32[g], where each group's last event
    stands.
    """

    order: I32
    first: I32
    last: I32


def sort_events(groups: I64, rows: I32 | I64) -> Events:
    """Bring events into the order of their groups and rows."""
    by_row: AnyArray | None = None
    if not (rows[1:] >= rows[:-1]).all():
        by_row = stable_order(rows).astype(index_type(len(rows)), copy=False)
        groups = groups[by_row]
    found = library()
    sorted_groups = None if found is None else kernel.sort(found, groups)
    if sorted_groups is None:
        order = stable_order(groups)
        events = _events(order, begins_of(groups[order]))
    else:
        events = Events(*sorted_groups)
    if by_row is not None:
        events.order = take(by_row, events.order)
    return events


def _events(order: AnyArray, begins: Bools) -> Events:
    narrow = index_type(len(order))
    starts = np.flatnonzero(begins)
    last = np.append(starts[1:], len(order)) - 1 if len(order) else starts
    indexes: list[I32] = [at.astype(narrow, copy=False) for at in (order, last)]
    return Events(indexes[0], _kept(begins, 0), indexes[1])


def last_marked(events: Events, marked: Bools) -> I32:
    """For each sorted event the nearest marked one at or before it in its group, -1 for none.

    Args:
        events: The order.
        marked: bool[n], in sorted order.

    Returns:
        int32[n]: indexes in sorted order, of `index_type`.
    """
    found = library()
    if found is not None and events.first.dtype == np.int32:
        return kernel.last_marked(found, marked, events.first)
    at = _kept(marked, -1)
    at[at < events.first] = -1
    return at


def take(values: AnyArray, places: AnyArray) -> AnyArray:
    """The value at each place: ``values[places]``.

    Numpy would copy indexes of 32 bits into others of 64 first, which takes as long as the rest.
    """
    found = library()
    if found is not None and places.dtype == np.int32 and len(places) >= _LEAST_TAKEN:
        taken = kernel.take(found, values, places)
        if taken is not None:
            return taken
    return values[places]


def _kept(marked: Bools, none: int) -> I32:
    """The nearest marked place at or before each; where there is none, the number given."""
    at: I32 = np.arange(len(marked), dtype=index_type(len(marked)))
    at[~marked] = none
    if len(at):
        np.maximum.accumulate(at, out=at)
    return at


@dataclass(slots=True)
class Survivors:
    """The keys that exist after the last event, in the order of their creation.

    ``last``: int64[k], index (into the arrays given) of the event that last wrote the key;
    ``created``: int64[k], of the one that made it.
    """

    last: I64
    created: I64


def survivors(groups: I64, rows: I64, removes: Bools, applies: Bools | None = None) -> Survivors:
    """Which keys exist, when each event either writes its key whole or removes it.

    Args:
        groups: int64[n], from `group_keys`.
        rows: int64[n], replay order.
        removes: bool[n], events that remove their key.
        applies: bool[n], of the other events those that write it; None for all of them.

    Cost: without the kernel, keys that are ever removed need their events sorted; all of them, if
    these do not come in replay order.
    """
    in_order = bool((rows[1:] >= rows[:-1]).all())
    found = library()
    if in_order and found is not None:
        effects = np.full(len(rows), kernel.WRITES, dtype=np.uint8)
        if applies is not None:
            effects[:] = applies
        effects[removes] = kernel.REMOVES
        created, last = kernel.survivors(found, groups, effects)
        there = np.flatnonzero(last >= 0)
        created, last = created[there], last[there]
        order = stable_order(rows[created])
        return Survivors(last[order], created[order])
    if applies is not None and not (applies | removes).all():
        some = np.flatnonzero(applies | removes)
        alive = survivors(groups[some], rows[some], removes[some])
        return Survivors(some[alive.last], some[alive.created])
    if not len(rows) or not in_order:
        return _sorted_survivors(groups, rows, removes)
    is_removed = np.zeros(int(groups.max()) + 1, dtype=np.bool_)
    is_removed[groups[removes]] = True
    first, last = np.full((2, len(is_removed)), -1, dtype=np.int64)
    last[groups] = np.arange(len(rows))
    first[groups[::-1]] = np.arange(len(rows) - 1, -1, -1)
    for_good = np.flatnonzero((last >= 0) & ~is_removed)
    first, last = first[for_good], last[for_good]
    if len(for_good) < len(is_removed):
        some = np.flatnonzero(is_removed[groups])
        others = _sorted_survivors(groups[some], rows[some], removes[some])
        first = np.concatenate([first, some[others.created]])
        last = np.concatenate([last, some[others.last]])
    by_creation = np.lexsort((groups[first], rows[first]))
    return Survivors(last[by_creation], first[by_creation])


def _sorted_survivors(groups: I64, rows: I64, removes: Bools) -> Survivors:
    """The survivors, found with all events in the order of their groups and rows."""
    events = sort_events(groups, rows)
    gone = removes[events.order]
    last_removal = last_marked(events, gone)
    live = events.last[~gone[events.last]]
    created = np.maximum(last_removal[live] + 1, events.first[live])
    first_row = rows[events.order[created]]
    by_creation = np.argsort(first_row, kind="stable")
    order: I64 = events.order.astype(np.int64, copy=False)
    return Survivors(order[live][by_creation], order[created][by_creation])
