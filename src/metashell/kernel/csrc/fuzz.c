/*
 * A fuzzer of the kernel without Python: made-up bytes and made-up tables, each in an allocation of
 * exactly its size, so that the address sanitizer sees every byte read or written beside one.
 *
 *   cc -g -O1 -std=c11 -fsanitize=address,undefined -fno-sanitize-recover=all \
 *      -DMETASHELL_KERNEL_DIGEST='""' *.c -o fuzz && ./fuzz 1000000
 *
 * Arguments: how many inputs (default 100000), and the seed (default 1). Not part of the library.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = 1;

uint64_t next_random(void) {
    random_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int64_t below(int64_t n) { return (int64_t)(next_random() % (uint64_t)n); }

bool one_in(int64_t n) { return below(n) == 0; }

/* Memory of exactly this size; one byte more would be noticed. */
void *exactly(int64_t size) {
    void *memory = malloc(size > 0 ? (size_t)size : 1);
    if (memory == NULL)
        abort();
    return memory;
}

void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* Bytes as lengths, counts and tags are, with a few that end varints late or make them large. */
uint8_t drawn_byte(void) {
    static const uint8_t special[] = {0, 0, 1, 2, 2, 3, 0x7F, 0x80, 0xFF};
    return one_in(3) ? (uint8_t)next_random() : special[below(sizeof special)];
}

static void put_be(uint8_t *p, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

/* ---- chain --------------------------------------------------------------------------------- */

static void fuzz_chain(void) {
    enum { MOST = 12 };
    int64_t sizes[MOST], n = below(MOST), size = 0;
    for (int64_t i = 0; i < n; i++)
        size += sizes[i] = 61 + (one_in(20) ? below(4000) : below(40));
    int64_t cut = one_in(2) ? below(70) : 0;
    int64_t whole = size;
    uint8_t *made = exactly(size);
    int64_t pos = 0, offset = 0;
    for (int64_t i = 0; i < n; i++) {
        uint8_t *p = made + pos;
        for (int64_t k = 0; k < sizes[i]; k++)
            p[k] = drawn_byte();
        int64_t last_delta = one_in(10) ? below(5) - 2 : below(5);
        put_be(p, (uint64_t)(one_in(15) ? (int64_t)next_random() : offset), 8);
        put_be(p + 8, (uint64_t)(one_in(15) ? (int64_t)next_random() : sizes[i] - 12), 4);
        put_be(p + 12, (uint64_t)below(3), 4);
        p[16] = one_in(20) ? drawn_byte() : 2;
        put_be(p + 23, (uint64_t)last_delta, 4);
        uint32_t crc = metashell_crc32c(p + 21, sizes[i] - 21);
        require(crc == metashell_crc32c_by_table(p + 21, sizes[i] - 21), "both sums are the same");
        put_be(p + 17, one_in(15) ? next_random() : crc, 4);
        offset += last_delta + 1;
        pos += sizes[i];
    }
    size = size > cut ? size - cut : size;
    uint8_t *data = exactly(size);
    memcpy(data, made, (size_t)size);
    int64_t capacity = below(MOST) + 1;
    int64_t *positions = exactly(capacity * 8);
    struct chain chain = {.pos = 0, .bound = below(size + 1) + below(2) * whole, .last_epoch = -1};
    chain.last_offset = -1;
    chain.may_miss = one_in(2);
    for (int64_t before = -1; chain.pos > before;) {
        before = chain.pos;
        metashell_chain(data, size, &chain, positions, capacity, one_in(2) ? 100 : INT64_MAX);
        require(chain.found <= capacity && chain.pos <= size, "a chain ends inside");
    }
    free(positions);
    free(data);
    free(made);
}

/* ---- frames -------------------------------------------------------------------------------- */

static int64_t put_varint(uint8_t *p, int64_t value) {
    uint64_t zigzag = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    int64_t n = 0;
    for (; zigzag >= 0x80; zigzag >>= 7)
        p[n++] = (uint8_t)(zigzag | 0x80);
    p[n++] = (uint8_t)zigzag;
    return n;
}

/* A record, mostly as it should be; returns its size, 90 bytes at most. */
static int64_t put_record(uint8_t *to, int64_t delta) {
    uint8_t body[80];
    int64_t n = 0, key = below(8) - 1, value = below(30) - 1, headers = one_in(5) ? below(3) : 0;
    body[n++] = 0;
    n += put_varint(body + n, one_in(5) ? (int64_t)next_random() : below(50));
    n += put_varint(body + n, delta);
    n += put_varint(body + n, key);
    for (; key > 0; key--)
        body[n++] = drawn_byte();
    n += put_varint(body + n, value);
    for (; value > 0; value--)
        body[n++] = drawn_byte();
    n += put_varint(body + n, headers);
    for (; headers > 0; headers--) {
        n += put_varint(body + n, 1);
        body[n++] = 'h';
        n += put_varint(body + n, -1);
    }
    int64_t length = put_varint(to, n);
    memcpy(to + length, body, (size_t)n);
    return length + n;
}

static void mutate(uint8_t *data, int64_t size) {
    for (int64_t k = one_in(2) ? below(4) : 0; k > 0 && size > 0; k--)
        data[below(size)] = drawn_byte();
}

static void fuzz_frames(void) {
    enum { MOST_BATCHES = 4, MOST_RECORDS = 6 };
    uint8_t made[MOST_BATCHES * MOST_RECORDS * 90];
    struct batch *batches = exactly(MOST_BATCHES * (int64_t)sizeof(struct batch));
    int64_t n_batches = below(MOST_BATCHES + 1), size = 0, n_rows = 0;
    for (int64_t i = 0; i < n_batches; i++) {
        int64_t count = below(MOST_RECORDS + 1), start = size;
        for (int64_t k = 0; k < count; k++)
            size += put_record(made + size, k);
        if (one_in(8) && size > start)
            size -= below(size - start);
        if (one_in(10))
            count = below((size - start) / 7 + 1);
        batches[i] = (struct batch){start, size, count, n_rows, (int64_t)next_random(),
                                    (int32_t)below(MOST_RECORDS), one_in(4)};
        n_rows += count;
    }
    if (one_in(20) && n_batches > 0)
        batches[below(n_batches)].stop += below(20);
    uint8_t *data = exactly(size);
    memcpy(data, made, (size_t)size);
    mutate(data, size);
    void *arrays[10];
    for (int i = 0; i < 10; i++)
        arrays[i] = exactly(n_rows * (i < 4 ? 8 : 4));
    uint8_t *verdicts = exactly(n_batches);
    struct frame_columns frames = {arrays[0], arrays[4], arrays[5], arrays[6],
                                   arrays[7], arrays[8], arrays[9]};
    struct keyed_columns keyed = {arrays[0], arrays[1], arrays[2], arrays[3],
                                  arrays[4], arrays[5], arrays[6], arrays[7]};
    struct frame_cursor cursor = {0, 0, 0};
    while (cursor.batch < n_batches)
        metashell_frames(data, size, batches, n_batches, &cursor, 1 + below(4), &frames, verdicts);
    for (int64_t i = 0; i < n_batches; i++)
        for (int64_t k = 0; verdicts[i] == BATCH_SOUND && k < batches[i].count; k++) {
            int64_t row = batches[i].first_row + k;
            require(0 <= frames.start[row] && 0 < frames.body[row] &&
                        frames.body[row] <= frames.stop[row] &&
                        frames.stop[row] <= batches[i].stop - frames.start[row],
                    "a record lies inside its batch");
        }
    cursor = (struct frame_cursor){0, 0, 0};
    while (cursor.batch < n_batches)
        metashell_keyed_frames(data, size, batches, n_batches, &cursor, 1 + below(4), &keyed,
                               verdicts);
    for (int i = 0; i < 10; i++)
        free(arrays[i]);
    free(verdicts);
    free(batches);
    free(data);
}

/* ---- decode -------------------------------------------------------------------------------- */

enum { MOST_FIELDS = 64, MOST_LAYOUTS = 16, MOST_SLOTS = 2 * MOST_FIELDS, ROWS = 5 };

struct tables {
    struct field fields[MOST_FIELDS];
    struct layout layouts[MOST_LAYOUTS];
    uint8_t widths[MOST_SLOTS];
    int32_t n_fields, n_layouts, n_slots;
};

static void draw_field(struct tables *tables, struct field *field, int32_t tag, bool keep, int depth);

/* A struct and all below it. `keep`: its fields have slots. */
static void draw_layout(struct tables *tables, int32_t index, bool keep, int depth) {
    static const int32_t tags[] = {0, 1, 2, 5, 300};
    struct layout layout = {.is_flexible = one_in(2)};
    int32_t n = (int32_t)below(4) + (depth > 0), n_tags = 0;
    layout.has_tags = layout.is_flexible && !one_in(4);
    if (layout.has_tags)
        n_tags = (int32_t)below(5);
    if (tables->n_fields + n + n_tags > MOST_FIELDS)
        n = n_tags = 0;
    layout.first = tables->n_fields;
    layout.end = layout.first_tag = layout.first + n;
    layout.end_tag = layout.first_tag + n_tags;
    tables->n_fields += n + n_tags;
    for (int32_t i = 0; i < n; i++)
        draw_field(tables, &tables->fields[layout.first + i], -1, keep, depth);
    for (int32_t i = 0; i < n_tags; i++) {
        struct field *field = &tables->fields[layout.first_tag + i];
        draw_field(tables, field, tags[i], keep, depth);
        if (index > 0 || field->kind == FIELD_STRUCT)
            layout.eager_tags |= UINT64_C(1) << i;
    }
    tables->layouts[index] = layout;
}

static void draw_field(struct tables *tables, struct field *field, int32_t tag, bool keep,
                       int depth) {
    static const uint8_t sizes[] = {1, 2, 4, 8, 16};
    struct field drawn = {.kind = (uint8_t)below(tag < 0 ? 4 : 5), .tag = tag, .slot = -1};
    bool is_struct = drawn.kind == FIELD_STRUCT || drawn.kind == FIELD_STRUCTS;
    if (is_struct && (depth > 3 || tables->n_layouts == MOST_LAYOUTS)) {
        drawn.kind = FIELD_FIXED;
        is_struct = false;
    }
    drawn.size = sizes[below(5)];
    drawn.is_nullable = one_in(2);
    drawn.is_bool = drawn.size == 1 && one_in(2);
    drawn.is_string = drawn.kind == FIELD_SPAN && one_in(2);
    if (drawn.is_string)
        drawn.size = 1;
    drawn.if_absent = drawn.kind == FIELD_STRUCT ? one_in(2) : -(int32_t)one_in(2);
    if (keep && !one_in(4) && drawn.kind != FIELD_WRONG) {
        drawn.slot = tables->n_slots;
        uint8_t width = drawn.kind == FIELD_FIXED ? drawn.size : drawn.kind == FIELD_STRUCT ? 1 : 8;
        tables->widths[tables->n_slots++] = width;
        if (drawn.kind == FIELD_SPAN || drawn.kind == FIELD_STRUCTS)
            tables->widths[tables->n_slots++] = drawn.kind == FIELD_SPAN ? 4 : 8;
    }
    if (is_struct) {
        drawn.child = tables->n_layouts++;
        draw_layout(tables, drawn.child, drawn.kind == FIELD_STRUCT && drawn.slot >= 0, depth + 1);
    }
    *field = drawn;
}

static void fuzz_decode(void) {
    struct tables tables = {.n_layouts = 1};
    draw_layout(&tables, 0, true, 0);
    int64_t size = below(200);
    uint8_t *data = exactly(size), *ok = exactly(ROWS);
    for (int64_t i = 0; i < size; i++)
        data[i] = drawn_byte();
    int64_t *starts = exactly(ROWS * 8), *stops = exactly(ROWS * 8), *counts = exactly(ROWS * 8);
    int64_t *first_row = exactly((ROWS + 1) * 8), n_rows = 0;
    bool has_counts = one_in(3);
    for (int i = 0; i < ROWS; i++) {
        starts[i] = one_in(30) ? below(3 * size + 3) - size : below(size + 1);
        stops[i] = one_in(30) ? below(3 * size + 3) : starts[i] + below(size - starts[i] + 1 > 0
                                                                            ? size - starts[i] + 1
                                                                            : 1);
        counts[i] = has_counts ? below(5) - 1 : 1;
        first_row[i] = n_rows;
        n_rows += counts[i] > 0 ? counts[i] : 0;
    }
    first_row[ROWS] = n_rows;
    void **columns = exactly(tables.n_slots * (int64_t)sizeof(void *));
    for (int32_t i = 0; i < tables.n_slots; i++)
        columns[i] = exactly(n_rows * tables.widths[i]);
    struct decode decode = {
        .data = data,
        .size = size,
        .fields = tables.fields,
        .layouts = tables.layouts,
        .columns = columns,
        .starts = starts,
        .stops = stops,
        .counts = has_counts ? counts : NULL,
        .first_row = has_counts ? first_row : NULL,
        .ok = has_counts ? NULL : ok,
        .most_structs = one_in(3) ? below(4) : 100,
        .nested_left = one_in(3) ? below(10) : 10000,
        .may_trail = one_in(2),
    };
    for (int64_t at = 0; at >= 0 && at < ROWS;)
        at = metashell_decode(&decode, at, ROWS, one_in(2) ? 1 : 1000);
    for (int32_t i = 0; i < tables.n_slots; i++)
        free(columns[i]);
    free(columns);
    free(first_row);
    free(counts);
    free(stops);
    free(starts);
    free(ok);
    free(data);
}

/* ---- check --------------------------------------------------------------------------------- */

/* The verdict of decode.c on one message. */
static bool is_decoded(const struct decode *tables, int64_t start, int64_t stop) {
    struct decode decode = *tables;
    uint8_t ok = 0;
    decode.starts = &start;
    decode.stops = &stop;
    decode.ok = &ok;
    return metashell_decode(&decode, 0, 1, INT64_MAX) == 1 && ok;
}

static void fuzz_check(void) {
    struct tables tables[2] = {{.n_layouts = 1}, {.n_layouts = 1}};
    struct decode decodes[2];
    int64_t size = below(200);
    uint8_t *data = exactly(size), *verdicts = exactly(ROWS);
    for (int64_t i = 0; i < size; i++)
        data[i] = drawn_byte();
    for (int i = 0; i < 2; i++) {
        draw_layout(&tables[i], 0, false, 0);
        decodes[i] = (struct decode){.data = data,
                                     .size = size,
                                     .fields = tables[i].fields,
                                     .layouts = tables[i].layouts,
                                     .most_structs = one_in(3) ? below(4) : 100,
                                     .nested_left = INT64_MAX,
                                     .may_trail = 1};
    }
    int64_t *places[2], rows[ROWS];
    int32_t *sizes[2], versions[ROWS];
    for (int k = 0; k < 2; k++) {
        places[k] = exactly(ROWS * 8);
        sizes[k] = exactly(ROWS * 4);
        for (int i = 0; i < ROWS; i++) {
            places[k][i] = one_in(30) ? (int64_t)next_random() : below(size + 1);
            sizes[k][i] = (int32_t)below(one_in(10) ? 300 : 60) - 1;
            rows[i] = below(ROWS);
            versions[i] = (int32_t)one_in(5);
        }
    }
    struct keyed_check check = {&decodes[0], &decodes[1], rows,     places[0], places[1],
                                sizes[0],    sizes[1],    versions, 0};
    int64_t half = below(ROWS);
    metashell_check_keyed(&check, 0, half, verdicts);
    metashell_check_keyed(&check, half, ROWS, verdicts);
    for (int i = 0; i < ROWS; i++) {
        int64_t row = rows[i], ends[2];
        bool is_sound[2];
        for (int k = 0; k < 2; k++) {
            ends[k] = (int64_t)((uint64_t)places[k][row] + (uint64_t)(int64_t)sizes[k][row]);
            int64_t start = (int64_t)((uint64_t)places[k][row] + 2);
            is_sound[k] = is_decoded(&decodes[k], start, ends[k]);
        }
        uint8_t expected = !is_sound[0]             ? KEYED_BAD_KEY
                           : sizes[1][row] < 0      ? KEYED_SOUND
                           : versions[row] != 0     ? KEYED_OTHER
                           : is_sound[1]            ? KEYED_SOUND
                                                    : KEYED_BAD_VALUE;
        require(expected == verdicts[i], "a check tells what decoding does");
    }
    for (int k = 0; k < 2; k++) {
        free(places[k]);
        free(sizes[k]);
    }
    free(verdicts);
    free(data);
}

/* ---- fold ---------------------------------------------------------------------------------- */

static void fuzz_fold(void) {
    int64_t n = below(40) + 1, size = n * 8;
    int64_t *numbers = exactly(size), *first = exactly(size), *last = exactly(size);
    int32_t *order = exactly(n * 4), *begins = exactly(n * 4), *ends = exactly(n * 4);
    uint64_t *packed = exactly(size), bits;
    uint8_t *marked = exactly(n);
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = (int64_t)(one_in(5) ? next_random() : (uint64_t)below(3) << 32 | 1);
        marked[i] = one_in(2);
    }
    metashell_varying_bits(numbers, n, &bits);
    bool is_packed = __builtin_popcountll(bits) <= 64 - 6;
    if (is_packed)
        metashell_pack(numbers, n, bits, 6, packed);
    const uint64_t *grouped = is_packed ? packed : (uint64_t *)numbers;
    int32_t index_bits = is_packed ? 6 : 0;
    int64_t half = below(n);
    int64_t found = metashell_group(grouped, index_bits, 0, half, order, begins, ends, 0);
    found = metashell_group(grouped, index_bits, half, n, order, begins, ends, found);
    require(found < n, "fewer groups have ended than there are numbers");
    metashell_last_marked(marked, begins, 0, half, ends);
    metashell_last_marked(marked, begins, half, n, ends);
    int32_t item = 1 << below(4);
    uint8_t *values = exactly(n * item), *taken = exactly(n * item);
    memset(values, 7, (size_t)(n * item));
    require(metashell_take(values, item, n, order, 0, n, taken) && taken[n * item - 1] == 7,
            "each number stood at a place");
    order[below(n)] = one_in(2) ? (int32_t)n : -1 - (int32_t)below(9);
    require(!metashell_take(values, item, n, order, 0, n, taken), "a place outside is refused");
    free(taken);
    free(values);
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = one_in(20) ? (int64_t)next_random() : below(n);
        marked[i] = (uint8_t)below(3);
        first[i] = last[i] = -1;
    }
    metashell_survivors(numbers, marked, 0, half, n, first, last);
    metashell_survivors(numbers, marked, half, n, n, first, last);
    for (int64_t i = 0; i < n; i++)
        require(first[i] <= last[i] && last[i] < n && (first[i] < 0) == (last[i] < 0),
                "who made a key stands before who wrote it last");
    int64_t slots[4] = {-1, 0, -1, -1};
    struct id ids[2] = {{1, 2}, {3, 4}}, *asked = exactly(n * (int64_t)sizeof(struct id));
    for (int64_t i = 0; i < n; i++)
        asked[i] = one_in(2) ? ids[0] : (struct id){next_random(), 1};
    struct id_table table = {ids, slots, 3, {next_random() | 1, next_random() | 1}};
    metashell_find_ids(asked, n, &table, last);
    free(asked);
    free(marked);
    free(packed);
    free(ends);
    free(begins);
    free(order);
    free(last);
    free(first);
    free(numbers);
}

static void fuzz_gather(void) {
    static const int32_t items[] = {1, 2, 4, 8, 16};
    int32_t item = items[below(5)];
    int64_t size = below(300), n = below(8) + 1;
    uint8_t *data = exactly(size);
    int64_t *starts = exactly(n * 8), *list_offsets = exactly((n + 1) * 8);
    memset(data, 7, (size_t)size);
    list_offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        starts[i] = one_in(10) ? (int64_t)next_random() : below(size + 1);
        list_offsets[i + 1] = list_offsets[i] + (one_in(3) ? 0 : below(6));
    }
    void *elements = exactly(list_offsets[n] * item);
    for (int64_t at = 0; at < n;) {
        int64_t end = at + 1 + below(n - at);
        int64_t done = metashell_gather(data, size, starts, list_offsets, at, end, item, elements);
        at = done < end ? done + 1 : end;
    }
    free(elements);
    elements = exactly(n * item);
    int32_t is_swapped = item > 1 && item < 16 && one_in(2);
    for (int64_t at = 0; at < n;) {
        int64_t end = at + 1 + below(n - at);
        int64_t done =
            metashell_gather_each(data, size, starts, at, end, item, is_swapped, elements);
        require(done == end || starts[done] < 0 || starts[done] > size - item,
                "an element in the bytes is gathered");
        at = done < end ? done + 1 : end;
    }
    free(elements);
    free(list_offsets);
    free(starts);
    free(data);
}

int main(int n_arguments, char **arguments) {
    int64_t n = n_arguments > 1 ? atoll(arguments[1]) : 100000;
    random_state = n_arguments > 2 ? (uint64_t)atoll(arguments[2]) : 1;
    for (int64_t i = 0; i < n; i++) {
        switch (i % 10) {
        case 0:
            fuzz_chain();
            break;
        case 1:
        case 2:
        case 3:
            fuzz_frames();
            break;
        case 4:
            fuzz_fold();
            fuzz_gather();
            fuzz_keys();
            fuzz_headers();
            fuzz_check();
            break;
        case 5:
        case 6:
            fuzz_lines();
            break;
        default:
            fuzz_decode();
        }
    }
    printf("%lld inputs\n", (long long)n);
    return 0;
}
