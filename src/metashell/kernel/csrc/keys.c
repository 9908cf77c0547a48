/* Numbers for keys, which are spans of bytes: a hash table with open addressing, half full at most. */
#include "kernel.h"

/* Keys looked up together, so that the memory of one is fetched while another is hashed. */
enum { TOGETHER = 16 };

/* A slot has the upper half of a hash above the number of the key, plus one; 0 is free. */
static const uint64_t TAG = UINT64_C(0xFFFFFFFF00000000);

INLINE struct numbered_key key_of(const struct numbered_keys *table, int64_t row) {
    if (table->starts == NULL)
        return (struct numbered_key){row * table->item, (int32_t)table->item, (int32_t)row};
    int64_t at = table->rows != NULL ? table->rows[row] : row;
    return (struct numbered_key){table->starts[at], table->sizes[at], (int32_t)row};
}

/* Whether a key lies in the bytes; null and empty ones lie anywhere. */
INLINE bool is_inside(const struct numbered_keys *table, struct numbered_key key) {
    return key.size <= 0 || (key.start >= 0 && key.start <= table->size - key.size);
}

/* Where a key begins; of a null or empty one an address that means nothing. */
INLINE const uint8_t *bytes_of(const struct numbered_keys *table, struct numbered_key key) {
    return (const uint8_t *)((uintptr_t)table->data + (uintptr_t)key.start);
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;
#endif

/* The two halves of a product, one on the other: each bit of either number changes many. */
INLINE uint64_t folded(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), high = (a >> 32) * (b >> 32);
    uint64_t one = (a >> 32) * (b & UINT32_MAX), other = (a & UINT32_MAX) * (b >> 32);
    uint64_t middle = (low >> 32) + (one & UINT32_MAX) + (other & UINT32_MAX);
    high += (one >> 32) + (other >> 32) + (middle >> 32);
    return (low & UINT32_MAX) ^ (middle << 32) ^ high;
#endif
}

/* A hash of the size, the number before, and the bytes, by secrets that nobody knows. */
INLINE uint64_t hash_of(const struct numbered_keys *table, struct numbered_key key) {
    uint64_t secret = table->secrets[0], factor = table->secrets[1] | 1;
    uint64_t hash = secret ^ (uint64_t)key.size, one = 0, other = 0;
    int64_t left = key.size;
    const uint8_t *p = bytes_of(table, key);
    if (table->before != NULL)
        hash = folded(hash ^ (uint64_t)table->before[key.row], factor);
    for (; left > 16; left -= 16, p += 16) {
        memcpy(&one, p, 8);
        memcpy(&other, p + 8, 8);
        hash = folded(one ^ factor, other ^ hash);
    }
    one = other = 0;
    if (left >= 8) {
        /* Eight bytes from either end: they may overlap, as the size says. */
        memcpy(&one, p, 8);
        memcpy(&other, p + left - 8, 8);
    } else if (key.size >= 8) {
        memcpy(&one, p + left - 8, 8);
    } else {
        for (int64_t i = 0; i < left; i++)
            one |= (uint64_t)p[i] << (8 * i);
    }
    hash = folded(one ^ factor, other ^ hash);
    return folded(hash ^ secret, factor);
}

/* Whether as many bytes are the same at two places, without a call for so few. */
INLINE bool are_same(const uint8_t *a, const uint8_t *b, int64_t size) {
    uint64_t one, other, differs = 0;
    if (size < 8) {
        for (int64_t i = 0; i < size; i++)
            differs |= a[i] ^ b[i];
        return differs == 0;
    }
    if (size > 256)
        return memcmp(a, b, (size_t)size) == 0;
    for (int64_t i = 0; i < size; i += 8) {
        int64_t at = i + 8 <= size ? i : size - 8;
        memcpy(&one, a + at, 8);
        memcpy(&other, b + at, 8);
        differs |= one ^ other;
    }
    return differs == 0;
}

INLINE bool are_equal(const struct numbered_keys *table, struct numbered_key a,
                      struct numbered_key b) {
    return a.size == b.size &&
           (table->before == NULL || table->before[a.row] == table->before[b.row]) &&
           (a.size <= 0 || are_same(bytes_of(table, a), bytes_of(table, b), a.size));
}

/* The slot of a key, or the free one where it belongs: the table is never full. */
INLINE uint64_t find_slot(struct numbered_keys *table, struct numbered_key key, uint64_t hash) {
    uint64_t mask = (uint64_t)table->n_slots - 1, at = hash & mask, slot;
    while ((slot = table->slots[at]) != 0) {
        if ((slot & TAG) == (hash & TAG) && are_equal(table, table->keys[(uint32_t)slot - 1], key))
            break;
        at = (at + 1) & mask;
        table->steps_left--;
    }
    return at;
}

/* The key in the slot where one with this hash belongs, if it has the same tag; else NULL. */
INLINE const struct numbered_key *likely_key(const struct numbered_keys *table, uint64_t hash) {
    uint64_t slot = table->slots[hash & ((uint64_t)table->n_slots - 1)];
    return slot != 0 && (slot & TAG) == (hash & TAG) ? table->keys + (uint32_t)slot - 1 : NULL;
}

/* Ask for the memory of a key, which mostly has two lines of it. */
INLINE void fetch(const uint8_t *p) {
    fetch_early(p, 0);
    fetch_early(p, 63);
}

void metashell_rehash_keys(struct numbered_keys *table) {
    uint64_t mask = (uint64_t)table->n_slots - 1;
    for (int64_t number = 0; number < table->n; number++) {
        uint64_t hash = hash_of(table, table->keys[number]), at = hash & mask;
        while (table->slots[at] != 0)
            at = (at + 1) & mask;
        table->slots[at] = (hash & TAG) | (uint64_t)(number + 1);
    }
}

int64_t metashell_number_keys(struct numbered_keys *table, int64_t begin, int64_t end,
                              int64_t *numbers) {
    uint64_t hashes[TOGETHER], mask = (uint64_t)table->n_slots - 1;
    struct numbered_key keys[TOGETHER];
    for (int64_t first = begin; first < end; first += TOGETHER) {
        int64_t n = end - first < TOGETHER ? end - first : TOGETHER;
        for (int64_t i = first + TOGETHER; i < end && i < first + 2 * TOGETHER; i++)
            fetch(bytes_of(table, key_of(table, i)));
        for (int64_t i = 0; i < n; i++) {
            keys[i] = key_of(table, first + i);
            if (!is_inside(table, keys[i])) {
                n = i;
                end = first + i;
                break;
            }
            hashes[i] = hash_of(table, keys[i]);
            __builtin_prefetch(table->slots + (hashes[i] & mask));
        }
        for (int64_t i = 0; i < n; i++) {
            const struct numbered_key *known = likely_key(table, hashes[i]);
            if (known != NULL)
                __builtin_prefetch(known);
        }
        for (int64_t i = 0; i < n; i++) {
            const struct numbered_key *known = likely_key(table, hashes[i]);
            if (known != NULL)
                fetch(bytes_of(table, *known));
        }
        for (int64_t i = 0; i < n; i++) {
            if (table->steps_left < 0)
                return first + i;
            uint64_t at = find_slot(table, keys[i], hashes[i]);
            if (table->slots[at] == 0) {
                if (table->n >= table->n_slots / 2)
                    return first + i;
                table->keys[table->n++] = keys[i];
                table->slots[at] = (hashes[i] & TAG) | (uint64_t)table->n;
            }
            numbers[first + i] = (int64_t)((uint32_t)table->slots[at] - 1);
        }
    }
    return end;
}
