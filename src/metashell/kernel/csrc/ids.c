/* Numbers for ids: a hash table with open addressing, at most half full. */
#include "kernel.h"

enum { ID_SIZE = 16 };

/*
 * Multilinear hashing: by unknown random multipliers, two ids share a hash of 32 bits as rarely as
 * random ones, whoever chose them.
 */
INLINE uint64_t hash_of(const struct numbered_ids *table, const uint8_t *id) {
    uint32_t words[4];
    memcpy(words, id, sizeof words);
    uint64_t sum = table->secrets[4];
    for (int i = 0; i < 4; i++)
        sum += table->secrets[i] * words[i];
    return sum >> 32;
}

int64_t metashell_number_ids(struct numbered_ids *table, const struct values *ids, int64_t begin,
                             int64_t end, int64_t *numbers) {
    uint64_t mask = (uint64_t)table->n_slots - 1;
    for (int64_t row = begin; row < end; row++) {
        const uint8_t *id = ids->first + row * ids->step;
        uint64_t slot = hash_of(table, id) & mask;
        int32_t number = table->slots[slot];
        while (number >= 0 && memcmp(table->ids + (int64_t)number * ID_SIZE, id, ID_SIZE) != 0) {
            slot = (slot + 1) & mask;
            number = table->slots[slot];
        }
        if (number < 0) {
            if (table->n >= table->n_slots / 2)
                return row;
            number = (int32_t)table->n++;
            memcpy(table->ids + (int64_t)number * ID_SIZE, id, ID_SIZE);
            table->slots[slot] = number;
        }
        numbers[row] = number;
    }
    return end;
}
