/* Numbers for keys, which are spans of bytes: a hash table with open addressing, half full at most. */
#include "kernel.h"

/* Keys looked up together, so that the memory of one is fetched while another is hashed. */
enum { TOGETHER = 16 };

/* A slot has the upper half of a hash above the number of the key, plus one; 0 is free. */
static const uint64_t TAG = UINT64_C(0xFFFFFFFF00000000);

/* Where a key begins; of a null or empty one an address that means nothing. */
INLINE const uint8_t *key_at(const struct numbered_keys *table, int64_t row) {
    int64_t start = table->starts != NULL ? table->starts[row] : row * table->item;
    return (const uint8_t *)((uintptr_t)table->data + (uintptr_t)start);
}

INLINE int64_t size_at(const struct numbered_keys *table, int64_t row) {
    return table->starts != NULL ? table->sizes[row] : table->item;
}

/* Whether a key lies in the bytes; null and empty ones lie anywhere. */
INLINE bool is_inside(const struct numbered_keys *table, int64_t row) {
    int64_t size = size_at(table, row);
    int64_t start = table->starts != NULL ? table->starts[row] : row * table->item;
    return size <= 0 || (start >= 0 && start <= table->size - size);
}

INLINE uint64_t rotated(uint64_t word, int bits) {
    return word << bits | word >> (64 - bits);
}

INLINE void sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] = rotated(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[2] = rotated(v[2], 32);
}

INLINE void absorb(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

/*
 * SipHash-1-3 of the size, the number before, and the bytes: by unknown random secrets, nobody can
 * make keys that share slots.
 */
static uint64_t hash_of(const struct numbered_keys *table, int64_t row) {
    uint64_t k0 = table->secrets[0], k1 = table->secrets[1];
    uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    int64_t left = size_at(table, row);
    const uint8_t *p = key_at(table, row);
    absorb(v, (uint64_t)left);
    if (table->before != NULL)
        absorb(v, (uint64_t)table->before[row]);
    uint64_t word;
    for (; left >= 8; left -= 8, p += 8) {
        memcpy(&word, p, 8);
        absorb(v, word);
    }
    if (left > 0) {
        word = 0;
        memcpy(&word, p, (size_t)left);
        absorb(v, word);
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static bool are_equal(const struct numbered_keys *table, int64_t a, int64_t b) {
    int64_t size = size_at(table, a);
    return size == size_at(table, b) &&
           (table->before == NULL || table->before[a] == table->before[b]) &&
           (size <= 0 || memcmp(key_at(table, a), key_at(table, b), (size_t)size) == 0);
}

/* The slot of a key, or the free one where it belongs: the table is never full. */
INLINE uint64_t find_slot(const struct numbered_keys *table, int64_t row, uint64_t hash) {
    uint64_t mask = (uint64_t)table->n_slots - 1, at = hash & mask, slot;
    while ((slot = table->slots[at]) != 0) {
        if ((slot & TAG) == (hash & TAG) &&
            are_equal(table, table->firsts[(uint32_t)slot - 1], row))
            break;
        at = (at + 1) & mask;
    }
    return at;
}

void metashell_rehash_keys(struct numbered_keys *table) {
    uint64_t mask = (uint64_t)table->n_slots - 1;
    for (int64_t number = 0; number < table->n; number++) {
        uint64_t hash = hash_of(table, table->firsts[number]), at = hash & mask;
        while (table->slots[at] != 0)
            at = (at + 1) & mask;
        table->slots[at] = (hash & TAG) | (uint64_t)(number + 1);
    }
}

int64_t metashell_number_keys(struct numbered_keys *table, int64_t begin, int64_t end,
                              int64_t *numbers) {
    uint64_t hashes[TOGETHER], mask = (uint64_t)table->n_slots - 1;
    for (int64_t first = begin; first < end; first += TOGETHER) {
        int64_t n = end - first < TOGETHER ? end - first : TOGETHER;
        for (int64_t i = 0; i < n; i++) {
            if (!is_inside(table, first + i)) {
                n = i;
                end = first + i;
                break;
            }
            hashes[i] = hash_of(table, first + i);
            __builtin_prefetch(table->slots + (hashes[i] & mask));
        }
        for (int64_t i = 0; i < n; i++) {
            uint64_t slot = table->slots[hashes[i] & mask];
            if ((slot & TAG) == (hashes[i] & TAG) && (uint32_t)slot != 0)
                __builtin_prefetch(key_at(table, table->firsts[(uint32_t)slot - 1]));
        }
        for (int64_t i = 0; i < n; i++) {
            uint64_t at = find_slot(table, first + i, hashes[i]);
            if (table->slots[at] == 0) {
                if (table->n >= table->n_slots / 2)
                    return first + i;
                table->firsts[table->n++] = (int32_t)(first + i);
                table->slots[at] = (hashes[i] & TAG) | (uint64_t)table->n;
            }
            numbers[first + i] = (int64_t)((uint32_t)table->slots[at] - 1);
        }
    }
    return end;
}
