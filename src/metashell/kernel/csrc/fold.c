/*
 * What folds are made of: the order of numbers, where groups of equal ones begin, the last marked
 * event of each, what stands at places, and ids looked up in a hash table. See image/fold.py and
 * schema/id_table.py.
 *
 * Nothing here reads a log's bytes. Arrays have as many elements as their comments say; an index that
 * comes out of one is below its length because the caller, or the loop before, put it there.
 */
#include "kernel.h"

int32_t metashell_varying_bits(const int64_t *numbers, int64_t n, uint64_t *bits) {
    uint64_t varying = 0;
    bool is_ascending = true;
    for (int64_t i = 1; i < n; i++) {
        varying |= (uint64_t)numbers[i] ^ (uint64_t)numbers[0];
        is_ascending &= numbers[i] >= numbers[i - 1];
    }
    *bits = varying;
    return is_ascending;
}

void metashell_pack(const int64_t *numbers, int64_t n, uint64_t bits, int32_t index_bits,
                    uint64_t *packed) {
    /* Runs of bits that stand together move together. */
    struct {
        int from, to;
        uint64_t mask;
    } runs[32];
    int n_runs = 0, to = index_bits;
    for (int from = 0; from < 64 && bits >> from != 0;) {
        if (!(bits >> from & 1)) {
            from++;
            continue;
        }
        int width = 0;
        while (from + width < 64 && bits >> (from + width) & 1)
            width++;
        /* Every other bit at most begins a run, so there are 32 of them at most. */
        runs[n_runs].from = from;
        runs[n_runs].to = to;
        runs[n_runs++].mask = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
        from += width;
        to += width;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t number = (uint64_t)numbers[i], one = (uint64_t)i;
        for (int k = 0; k < n_runs; k++)
            one |= (number >> runs[k].from & runs[k].mask) << runs[k].to;
        packed[i] = one;
    }
}

int64_t metashell_group(const uint64_t *numbers, int32_t index_bits, int64_t begin, int64_t end,
                        int32_t *order, int32_t *first, int32_t *last, int64_t n_groups) {
    uint64_t index = (UINT64_C(1) << index_bits) - 1;
    for (int64_t i = begin; i < end; i++) {
        order[i] = index_bits > 0 ? (int32_t)(numbers[i] & index) : (int32_t)i;
        if (i > 0 && numbers[i] >> index_bits == numbers[i - 1] >> index_bits) {
            first[i] = first[i - 1];
        } else {
            first[i] = (int32_t)i;
            if (i > 0)
                last[n_groups++] = (int32_t)(i - 1);
        }
    }
    return n_groups;
}

void metashell_last_marked(const uint8_t *marked, const int32_t *first, int64_t begin, int64_t end,
                           int32_t *found) {
    for (int64_t i = begin; i < end; i++) {
        if (marked[i])
            found[i] = (int32_t)i;
        else
            found[i] = i > first[i] ? found[i - 1] : -1;
    }
}

/* So many places ahead memory is asked for. */
enum { PLACES_AHEAD = 32 };

#define TAKE(type)                                                                                 \
    do {                                                                                           \
        const type *from = values;                                                                 \
        type *to = taken;                                                                          \
        for (int64_t i = begin; i < end; i++) {                                                    \
            int64_t place = places[i];                                                             \
            if (i + PLACES_AHEAD < end)                                                            \
                fetch_early(values, (int64_t)sizeof(type) * places[i + PLACES_AHEAD]);             \
            if (place < 0 || place >= n_values)                                                    \
                return false;                                                                      \
            to[i] = from[place];                                                                   \
        }                                                                                          \
    } while (0)

int32_t metashell_take(const void *values, int32_t item, int64_t n_values, const int32_t *places,
                       int64_t begin, int64_t end, void *taken) {
    if (item == 1)
        TAKE(uint8_t);
    else if (item == 2)
        TAKE(uint16_t);
    else if (item == 4)
        TAKE(uint32_t);
    else if (item == 8)
        TAKE(uint64_t);
    else
        return false;
    return true;
}

void metashell_survivors(const int64_t *groups, const uint8_t *effects, int64_t begin, int64_t end,
                         int64_t n_groups, int64_t *created, int64_t *last) {
    for (int64_t i = begin; i < end; i++) {
        int64_t group = groups[i];
        if (effects[i] == EFFECT_NONE || group < 0 || group >= n_groups)
            continue;
        bool is_removed = effects[i] == EFFECT_REMOVES;
        created[group] = is_removed ? -1 : created[group] < 0 ? i : created[group];
        last[group] = is_removed ? -1 : i;
    }
}

void metashell_find_ids(const struct id *ids, int64_t n, const struct id_table *table,
                        int64_t *found) {
    struct id before = {0, 0};
    int64_t found_before = -1;
    for (int64_t i = 0; i < n; i++) {
        struct id id = ids[i];
        /* Records of a topic mostly stand together. */
        if (i > 0 && id.low == before.low && id.high == before.high) {
            found[i] = found_before;
            continue;
        }
        uint64_t mixed = id.low * table->factors[0] + id.high * table->factors[1];
        uint64_t at = mixed >> 24 & table->mask;
        int64_t index;
        /* At least half of the slots are free, so this ends. */
        while ((index = table->slots[at]) >= 0) {
            if (table->ids[index].low == id.low && table->ids[index].high == id.high)
                break;
            at = (at + 1) & table->mask;
        }
        before = id;
        found[i] = found_before = index;
    }
}
