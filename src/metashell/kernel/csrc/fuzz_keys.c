/* The part of the fuzzer that numbers keys and reads headers of batches. */
#include "fuzz.h"

#include <stdlib.h>

static bool are_the_same(const struct numbered_keys *keys, int64_t a, int64_t b) {
    if (keys->before != NULL && keys->before[a] != keys->before[b])
        return false;
    if (keys->rows != NULL) {
        a = keys->rows[a];
        b = keys->rows[b];
    }
    int64_t size = keys->starts != NULL ? keys->sizes[a] : keys->item;
    int64_t other = keys->starts != NULL ? keys->sizes[b] : keys->item;
    if (size != other)
        return false;
    if (size <= 0)
        return true;
    const uint8_t *p = keys->data + (keys->starts != NULL ? keys->starts[a] : a * size);
    const uint8_t *q = keys->data + (keys->starts != NULL ? keys->starts[b] : b * size);
    return memcmp(p, q, (size_t)size) == 0;
}

void fuzz_keys(void) {
    enum { ROWS = 40, MOST_SLOTS = 128 };
    int64_t size = below(60), n = below(ROWS + 1);
    struct numbered_keys keys = {.size = size, .item = 1 + below(17), .n_slots = 2};
    bool has_starts = one_in(2);
    if (!has_starts)
        keys.size = size = n * keys.item;
    uint8_t *data = exactly(size);
    int64_t *starts = exactly(n * 8), *before = exactly(n * 8), *numbers = exactly(n * 8);
    int64_t *rows = exactly(n * 8);
    int32_t *sizes = exactly(n * 4);
    bool is_periodic = one_in(3);
    for (int64_t i = 0; i < size; i++)
        data[i] = is_periodic ? (uint8_t)(i % 3) : (uint8_t)below(2);
    for (int64_t i = 0; i < n; i++) {
        starts[i] = one_in(60) ? (int64_t)next_random() : below(size + 1);
        sizes[i] = (int32_t)below(one_in(4) ? 50 : 4) - 1;
        rows[i] = below(n);
        before[i] = below(2);
    }
    keys.data = data;
    keys.starts = has_starts ? starts : NULL;
    keys.sizes = has_starts ? sizes : NULL;
    keys.rows = has_starts && one_in(2) ? rows : NULL;
    keys.before = one_in(2) ? before : NULL;
    keys.secrets[0] = next_random();
    keys.secrets[1] = next_random();
    keys.steps_left = one_in(4) ? below(3) : 1000000;
    keys.keys = exactly(MOST_SLOTS / 2 * (int64_t)sizeof(struct numbered_key));
    keys.slots = exactly(keys.n_slots * 8);
    memset(keys.slots, 0, (size_t)keys.n_slots * 8);
    int64_t at = 0;
    while (at < n) {
        int64_t end = at + 1 + below(n - at);
        at = metashell_number_keys(&keys, at, end, numbers);
        require(at <= end && keys.n <= keys.n_slots / 2, "a table is half full at most");
        if (at == end)
            continue;
        if (keys.n < keys.n_slots / 2)
            break;
        keys.n_slots *= 2;
        require(keys.n_slots <= MOST_SLOTS, "there are no more keys than rows");
        free(keys.slots);
        keys.slots = exactly(keys.n_slots * 8);
        memset(keys.slots, 0, (size_t)keys.n_slots * 8);
        metashell_rehash_keys(&keys);
    }
    int64_t left = keys.rows != NULL && at < n ? rows[at] : at;
    require(at == n || keys.steps_left < 0 ||
                       (has_starts && sizes[left] > 0 &&
                        (starts[left] < 0 || starts[left] > size - sizes[left])),
            "keys in the bytes are numbered");
    for (int64_t a = 0; a < at; a++)
        for (int64_t b = 0; b < a; b++)
            require((numbers[a] == numbers[b]) == are_the_same(&keys, a, b),
                    "equal keys have equal numbers");
    free(keys.slots);
    free(keys.keys);
    free(sizes);
    free(rows);
    free(numbers);
    free(before);
    free(starts);
    free(data);
}

static void put_header(uint8_t *p, int64_t size, int64_t count) {
    for (int64_t i = 0; i < 61 && i < size; i++)
        p[i] = one_in(20) ? drawn_byte() : 0;
    if (size < 61)
        return;
    p[11] = (uint8_t)(size - 12);
    p[16] = one_in(10) ? drawn_byte() : 2;
    p[22] = one_in(10) ? drawn_byte() : (uint8_t)(one_in(3) * 0x20);
    p[26] = (uint8_t)(count + below(3));
    p[60] = (uint8_t)count;
}

void fuzz_headers(void) {
    enum { MOST = 4 };
    int64_t n = below(MOST + 1), size = 0;
    int64_t *positions = exactly(n * 8), *counts = exactly(n * 8), *first_row = exactly(n * 8 + 8);
    uint8_t made[MOST * 140];
    for (int64_t i = 0; i < n; i++) {
        int64_t its = 61 + below(40), count = below(its - 61 + 1) / 7;
        positions[i] = one_in(60) ? (int64_t)next_random() : size;
        for (int64_t k = 61; k < its; k++)
            made[size + k] = one_in(3) ? drawn_byte() : (uint8_t)(12 * (k % 7 == 5));
        put_header(made + size, its, count);
        size += its;
    }
    size -= one_in(10) ? below(size + 1) : 0;
    uint8_t *data = exactly(size);
    memcpy(data, made, (size_t)size);
    int64_t end = metashell_count_plain(data, size, positions, 0, n, counts), n_rows = 0;
    require(end <= n, "headers end where they should");
    for (int64_t i = 0; i < end; i++) {
        first_row[i] = n_rows;
        n_rows += counts[i];
        require(counts[i] >= 0 && counts[i] * 7 <= size, "records fit into the bytes");
    }
    first_row[end] = n_rows;
    struct batch *batches = exactly(end * (int64_t)sizeof(struct batch));
    int64_t *producer_ids = exactly(end * 8);
    int32_t *batch_of = exactly(n_rows * 4);
    metashell_plain_batches(data, positions, first_row, 0, end, batches, producer_ids, batch_of);
    for (int64_t i = 0; i < n_rows; i++)
        require(first_row[batch_of[i]] <= i && i < first_row[batch_of[i] + 1],
                "a row is one of its batch");
    free(producer_ids);
    free(batch_of);
    for (int64_t i = 0; i < end; i++)
        require(batches[i].start <= batches[i].stop && batches[i].stop <= size,
                "a batch lies in the bytes");
    void *arrays[8];
    for (int i = 0; i < 8; i++)
        arrays[i] = exactly(n_rows * (i < 4 ? 8 : 4));
    struct keyed_columns keyed = {arrays[0], arrays[1], arrays[2], arrays[3],
                                  arrays[4], arrays[5], arrays[6], arrays[7]};
    uint8_t *verdicts = exactly(end);
    struct frame_cursor cursor = {0, 0, 0};
    while (cursor.batch < end)
        metashell_keyed_frames(data, size, batches, end, &cursor, 1 + below(4), &keyed, verdicts);
    for (int i = 0; i < 8; i++)
        free(arrays[i]);
    free(verdicts);
    free(batches);
    free(data);
    free(first_row);
    free(counts);
    free(positions);
}
