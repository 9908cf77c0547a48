/* The part of the fuzzer that writes lines: made-up columns, of which some point anywhere. */
#include "fuzz.h"

#include <stdlib.h>

enum { LINES = 9, MOST_TEXTS = 6, MOST_ALLOCATIONS = 1000 };

static void *allocations[MOST_ALLOCATIONS];
static int n_allocations;

/* As `exactly`, until the end of the input. */
static void *kept(int64_t size) {
    require(n_allocations < MOST_ALLOCATIONS, "an input has few allocations");
    return allocations[n_allocations++] = exactly(size);
}

static uint8_t *kept_bytes(int64_t size) {
    uint8_t *bytes = kept(size);
    for (int64_t i = 0; i < size; i++)
        bytes[i] = one_in(2) ? (uint8_t)('a' + below(26)) : drawn_byte();
    return bytes;
}

/* A column of numbers of 1, 2, 4 or 8 bytes; or one value for all rows. */
static struct values drawn_values(int64_t n_rows, int32_t width) {
    bool is_constant = one_in(4);
    return (struct values){kept_bytes(is_constant ? width : n_rows * width),
                           is_constant ? 0 : width};
}

/* A column of numbers below a bound, a few of them anywhere. */
static struct values drawn_numbers(int64_t n_rows, int32_t width, int64_t bound) {
    uint8_t *column = kept(n_rows * width);
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t value = one_in(30) ? (int64_t)next_random() : below(bound + 2) - 1;
        int32_t narrow = (int32_t)value;
        memcpy(column + i * width, width == 8 ? (void *)&value : (void *)&narrow, (size_t)width);
    }
    return (struct values){column, width};
}

static int32_t drawn_width(void) { return 1 << below(4); }

static struct text *drawn_texts(int64_t size, int64_t n_rows, int depth, int64_t *n);

static void draw_choice(struct text *text) {
    text->n_choices = below(3) + 1;
    int64_t *bounds = kept((text->n_choices + 1) * 8);
    bounds[0] = 0;
    for (int64_t i = 0; i < text->n_choices; i++)
        bounds[i + 1] = bounds[i] + below(5);
    text->choices = kept_bytes(bounds[text->n_choices]);
    text->choice_bounds = bounds;
}

static struct text drawn_text(int64_t size, int64_t n_rows, int depth) {
    struct text text = {.kind = (int32_t)below(TEXT_TIME + 1), .width = 1, .count_width = 8};
    text.key_size = below(4);
    text.key = kept_bytes(text.key_size);
    text.is_of_line = n_rows <= LINES && depth == 0 && one_in(4);
    if (text.is_of_line)
        n_rows = LINES;
    if (depth == 2 && (text.kind == TEXT_STRUCTS || text.kind == TEXT_STRINGS))
        text.kind = TEXT_STRING;
    text.is_signed = one_in(2);
    text.is_bare = one_in(3);
    switch (text.kind) {
    case TEXT_LITERAL:
    case TEXT_OPEN:
        return text;
    case TEXT_NUMBER:
        text.width = drawn_width();
        text.values = drawn_values(n_rows, text.width);
        break;
    case TEXT_BOOL:
        text.is_signed = false;
        text.values = drawn_values(n_rows, 1);
        break;
    case TEXT_UUID:
        text.width = 16;
        text.values = drawn_values(n_rows, 16);
        break;
    case TEXT_TIME:
        text.width = 8;
        text.values = drawn_values(n_rows, 8);
        return text;
    case TEXT_CHOICE:
        draw_choice(&text);
        text.values = drawn_numbers(n_rows, 8, text.n_choices);
        return text;
    default:
        if (text.kind == TEXT_NUMBERS)
            text.width = drawn_width();
        if (text.kind == TEXT_UUIDS)
            text.width = 16;
        text.count_width = one_in(2) ? 4 : 8;
        text.counts = drawn_numbers(n_rows, text.count_width, 5);
        if (text.kind >= TEXT_STRUCTS) {
            text.n_elements = below(6);
            text.children = drawn_texts(size, text.n_elements, depth + 1, &text.n_children);
        }
        text.values = drawn_numbers(n_rows, 8, text.kind >= TEXT_STRUCTS ? 4 : size);
        text.needs_elements = one_in(4);
    }
    text.has_default = one_in(3);
    text.default_number = text.kind == TEXT_UUID ? 0 : below(4) - 1;
    text.default_bytes = kept_bytes(text.kind == TEXT_UUID ? 16 : 3 * text.width);
    return text;
}

static struct text *drawn_texts(int64_t size, int64_t n_rows, int depth, int64_t *n) {
    *n = below(depth == 0 ? MOST_TEXTS : 3);
    struct text *texts = kept(*n * (int64_t)sizeof(struct text));
    for (int64_t i = 0; i < *n; i++)
        texts[i] = drawn_text(size, n_rows, depth);
    return texts;
}

static void write_lines(void) {
    int64_t size = below(60);
    uint8_t *data = kept_bytes(size);
    struct line_kind kinds[2];
    for (int k = 0; k < 2; k++) {
        kinds[k].n_rows = below(LINES + 1);
        kinds[k].row = 0;
        kinds[k].texts = drawn_texts(size, kinds[k].n_rows, 0, &kinds[k].n_texts);
    }
    int32_t *kind_of = kept(LINES * 4);
    for (int i = 0; i < LINES; i++)
        kind_of[i] = (int32_t)below(3) - 1;
    int64_t *stops = kept(LINES * 8), capacity = below(200);
    uint8_t *is_left = kept(LINES);
    struct line_cursor cursor = {0};
    while (cursor.line < LINES) {
        int64_t before = cursor.line;
        uint8_t *out = exactly(capacity);
        metashell_lines(data, size, kinds, kind_of, &cursor, LINES, out, capacity, stops, is_left);
        free(out);
        require(cursor.written >= 0 && cursor.written <= capacity, "what is written has room");
        require(cursor.line > before || cursor.needed > capacity, "each call comes further");
        if (cursor.needed > capacity)
            capacity = cursor.needed;
    }
    for (int i = 0; i < LINES; i++)
        require(kind_of[i] >= 0 || is_left[i], "a line of no kind is left");
}

static void number_ids(void) {
    enum { IDS = 6, SLOTS = 4 };
    struct numbered_ids table = {.n_slots = SLOTS};
    for (int i = 0; i < 5; i++)
        table.secrets[i] = next_random();
    table.ids = kept(SLOTS / 2 * 16);
    table.slots = kept(SLOTS * 4);
    for (int i = 0; i < SLOTS; i++)
        table.slots[i] = -1;
    uint8_t *drawn = kept(IDS * 16);
    int64_t *numbers = kept(IDS * 8);
    for (int i = 0; i < IDS; i++)
        memset(drawn + i * 16, (int)below(4), 16);
    struct values ids = {drawn, one_in(4) ? 0 : 16};
    int64_t end = metashell_number_ids(&table, &ids, 0, IDS, numbers);
    require(end == IDS || table.n == SLOTS / 2, "it stops where there is no room");
    for (int64_t i = 0; i < end; i++)
        require(memcmp(table.ids + numbers[i] * 16, drawn + i * ids.step, 16) == 0,
                "a number is that of the id");
}

void fuzz_lines(void) {
    write_lines();
    number_ids();
    while (n_allocations > 0)
        free(allocations[--n_allocations]);
}
