/*
 * What lies apart becomes one array: a field of all headers, the names or the replicas of all rows.
 */
#include "kernel.h"

int64_t metashell_gather(const uint8_t *data, int64_t size, const int64_t *starts,
                         const int64_t *list_offsets, int64_t begin, int64_t end, int32_t item,
                         void *elements) {
    for (int64_t i = begin; i < end; i++) {
        int64_t first = list_offsets[i], count = list_offsets[i + 1] - first, start = starts[i];
        if (count <= 0)
            continue;
        /* In this order nothing overflows: a count is compared with what the bytes could hold. */
        if (start < 0 || start > size || count > (size - start) / item)
            return i;
        const uint8_t *p = data + start;
        switch (item) {
        case 4: {
            uint32_t *to = (uint32_t *)elements + first;
            for (int64_t k = 0; k < count; k++)
                to[k] = load_be32(p + 4 * k);
            break;
        }
        case 2: {
            uint16_t *to = (uint16_t *)elements + first;
            for (int64_t k = 0; k < count; k++)
                to[k] = load_be16(p + 2 * k);
            break;
        }
        case 8: {
            uint64_t *to = (uint64_t *)elements + first;
            for (int64_t k = 0; k < count; k++)
                to[k] = load_be64(p + 8 * k);
            break;
        }
        default:
            memcpy((uint8_t *)elements + first * item, p, (size_t)(count * item));
        }
    }
    return end;
}

/* So many elements ahead, memory is asked for. */
enum { AHEAD = 24 };

/* Always inlined with a constant, so that each size has a loop of its own. */
INLINE int64_t gather_each(const uint8_t *data, int64_t size, const int64_t *at, int64_t begin,
                           int64_t end, int32_t item, bool is_swapped, void *elements) {
    for (int64_t i = begin; i < end; i++) {
        if (at[i] < 0 || at[i] > size - item)
            return i;
        if (i + AHEAD < end)
            fetch_early(data, at[i + AHEAD]);
        const uint8_t *p = data + at[i];
        if (is_swapped && item == 2)
            ((uint16_t *)elements)[i] = load_be16(p);
        else if (is_swapped && item == 4)
            ((uint32_t *)elements)[i] = load_be32(p);
        else if (is_swapped && item == 8)
            ((uint64_t *)elements)[i] = load_be64(p);
        else
            memcpy((uint8_t *)elements + i * item, p, (size_t)item);
    }
    return end;
}

int64_t metashell_gather_each(const uint8_t *data, int64_t size, const int64_t *at, int64_t begin,
                              int64_t end, int32_t item, int32_t is_swapped, void *elements) {
    switch (is_swapped ? item : -item) {
    case 2:
        return gather_each(data, size, at, begin, end, 2, true, elements);
    case 4:
        return gather_each(data, size, at, begin, end, 4, true, elements);
    case 8:
        return gather_each(data, size, at, begin, end, 8, true, elements);
    case -32:
        return gather_each(data, size, at, begin, end, 32, false, elements);
    default:
        return gather_each(data, size, at, begin, end, item, false, elements);
    }
}
