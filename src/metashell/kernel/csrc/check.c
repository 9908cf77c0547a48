/*
 * Whether keyed records decode: a walk over keys and values that writes nothing but verdicts.
 *
 * Most messages have fields of fixed size and strings alone, and no tags are set: they are walked over
 * here, in stretches. decode.c decides on all others, with tables that have no slots.
 */
#include "kernel.h"

enum {
    TOGETHER = 256, /* records whose keys are looked at before their values */
    MOST_STRETCHES = 16,
    HEAD_BYTES = 2, /* the type of a key, the version of a value */
    MOST_STRING_BYTES = 32767
};

/* Bytes of fixed size, then a string or the like, or nothing. */
struct stretch {
    int64_t fixed;
    int64_t item; /* bytes of an element; 0 where no span follows */
    bool is_nullable, is_string;
};

/* How messages are walked over. */
struct walk {
    struct decode decode;
    struct stretch stretches[MOST_STRETCHES];
    int n; /* -1 where decode.c decides on all of them */
    bool is_flexible, has_tags;
};

enum walked { UNDECIDED, SOUND, UNSOUND };

static void plan_walk(struct walk *walk, const struct decode *decode) {
    const struct layout *root = decode->layouts;
    walk->decode = *decode;
    walk->is_flexible = root->is_flexible;
    walk->has_tags = root->has_tags;
    walk->n = 0;
    struct stretch stretch = {0};
    for (int32_t i = root->first; i < root->end; i++) {
        const struct field *field = decode->fields + i;
        bool is_span = field->kind == FIELD_SPAN;
        if ((!is_span && field->kind != FIELD_FIXED) || walk->n == MOST_STRETCHES - 1) {
            walk->n = -1;
            return;
        }
        if (!is_span) {
            stretch.fixed += field->size;
            continue;
        }
        stretch.item = field->size;
        stretch.is_nullable = field->is_nullable;
        stretch.is_string = field->is_string;
        walk->stretches[walk->n++] = stretch;
        stretch = (struct stretch){0};
    }
    if (stretch.fixed > 0)
        walk->stretches[walk->n++] = stretch;
}

/* A length or count, below 0 for null; NULL where it is cut short. */
INLINE const uint8_t *read_count(const struct stretch *stretch, bool is_flexible, const uint8_t *p,
                                 const uint8_t *end, int64_t *count) {
    if (is_flexible) {
        uint32_t raw;
        p = read_uvarint(p, end, &raw);
        *count = p != NULL ? (int64_t)raw - 1 : 0;
        return p;
    }
    int size = stretch->is_string ? 2 : 4;
    if (end - p < size)
        return NULL;
    *count = stretch->is_string ? (int16_t)load_be16(p) : (int32_t)load_be32(p);
    return p + size;
}

INLINE enum walked walk_over(const struct walk *walk, const uint8_t *p, const uint8_t *end) {
    for (int i = 0; i < walk->n; i++) {
        const struct stretch *stretch = &walk->stretches[i];
        if (end - p < stretch->fixed)
            return UNSOUND;
        p += stretch->fixed;
        if (stretch->item == 0)
            continue;
        int64_t count;
        p = read_count(stretch, walk->is_flexible, p, end, &count);
        if (p == NULL || (count < 0 && !stretch->is_nullable) ||
            (stretch->is_string && count > MOST_STRING_BYTES))
            return UNSOUND;
        /* Below 2**31 elements of 255 bytes at most: no overflow. */
        int64_t size = count > 0 ? count * stretch->item : 0;
        if (size > end - p)
            return UNSOUND;
        p += size;
    }
    if (!walk->has_tags)
        return SOUND;
    return end - p >= 1 && *p == 0 ? SOUND : UNDECIDED;
}

/* Let decode.c judge what is undecided, of TOGETHER messages at most. */
static void decide(struct walk *walk, const int64_t *starts, const int64_t *stops, int64_t n,
                   uint8_t *walked) {
    int64_t left_starts[TOGETHER], left_stops[TOGETHER], places[TOGETHER], n_left = 0;
    uint8_t ok[TOGETHER];
    for (int64_t i = 0; i < n; i++)
        if (walked[i] == UNDECIDED) {
            left_starts[n_left] = starts[i];
            left_stops[n_left] = stops[i];
            places[n_left++] = i;
        }
    memset(ok, 0, sizeof ok);
    struct decode decode = walk->decode;
    decode.starts = left_starts;
    decode.stops = left_stops;
    decode.ok = ok;
    metashell_decode(&decode, 0, n_left, INT64_MAX);
    walk->decode.nested_left = decode.nested_left;
    for (int64_t i = 0; i < n_left; i++)
        walked[places[i]] = ok[i] ? SOUND : UNSOUND;
}

static void walk_each(struct walk *walk, const int64_t *starts, const int64_t *stops, int64_t n,
                      uint8_t *walked) {
    const uint8_t *data = walk->decode.data;
    int64_t size = walk->decode.size;
    bool is_decided = true;
    for (int64_t i = 0; i < n; i++) {
        if (starts[i] < 0 || starts[i] > stops[i] || stops[i] > size)
            walked[i] = UNSOUND;
        else if (walk->n < 0)
            walked[i] = UNDECIDED;
        else
            walked[i] = (uint8_t)walk_over(walk, data + starts[i], data + stops[i]);
        is_decided &= walked[i] != UNDECIDED;
    }
    if (!is_decided)
        decide(walk, starts, stops, n, walked);
}

/* A sum of positions, which may come from anywhere; what overflows lies in no bytes. */
INLINE int64_t sum(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

void metashell_check_keyed(const struct keyed_check *check, int64_t begin, int64_t end,
                           uint8_t *verdicts) {
    int64_t starts[TOGETHER], stops[TOGETHER], places[TOGETHER];
    uint8_t walked[TOGETHER];
    struct walk keys, values;
    plan_walk(&keys, check->key);
    plan_walk(&values, check->value);
    for (int64_t first = begin; first < end; first += TOGETHER) {
        int64_t n = end - first < TOGETHER ? end - first : TOGETHER, n_values = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t row = check->rows[first + i], key = check->keys[row];
            starts[i] = sum(key, HEAD_BYTES);
            stops[i] = sum(key, check->key_sizes[row]);
        }
        walk_each(&keys, starts, stops, n, walked);
        for (int64_t i = 0; i < n; i++) {
            int64_t row = check->rows[first + i], value = check->values[row];
            int32_t size = check->value_sizes[row];
            uint8_t verdict = walked[i] == SOUND ? KEYED_SOUND : KEYED_BAD_KEY;
            if (verdict == KEYED_SOUND && size >= 0 && check->versions[row] != check->version)
                verdict = KEYED_OTHER;
            if (verdict == KEYED_SOUND && size >= 0) {
                starts[n_values] = sum(value, HEAD_BYTES);
                stops[n_values] = sum(value, size);
                places[n_values++] = first + i;
            }
            verdicts[first + i] = verdict;
        }
        walk_each(&values, starts, stops, n_values, walked);
        for (int64_t i = 0; i < n_values; i++)
            if (walked[i] != SOUND)
                verdicts[places[i]] = KEYED_BAD_VALUE;
    }
}
