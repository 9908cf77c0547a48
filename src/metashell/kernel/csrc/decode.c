/*
 * From records to columns: runs a message's fields, one record after the other.
 *
 * A cursor `p` moves from the first byte of a message to `end`, and NULL stands for a message that
 * does not decode. Nothing is read at `p` before `end - p` was compared with what is read. The
 * verdict is that of schema/columnar.py.
 */
#include "kernel.h"

enum { MOST_STRING_BYTES = 32767 };

/* One call's state. */
struct state {
    const uint8_t *data;
    const struct field *fields;
    const struct layout *layouts;
    void *const *columns;
    struct decode *decode;
    int64_t begin;    /* row at which writing began */
    uint64_t seen;    /* bits of the root's tags that were met */
    uint64_t written; /* and of those whose columns are written, whether a row has the tag or not */
    int depth;        /* arrays of structs around the cursor */
    bool is_exhausted;
};

static const uint8_t *decode_struct(struct state *state, const struct layout *layout,
                                    const uint8_t *p, const uint8_t *end, int64_t row);

INLINE void *column(const struct state *state, int32_t slot) { return state->columns[slot]; }

/* ---- values that are not in the bytes ------------------------------------------------------ */

/* Let rows [row, end) of a field hold what an absent one holds; of a struct all below it, too. */
static void put_absent(const struct state *state, const struct field *field, int64_t row,
                       int64_t end) {
    if (field->slot < 0 || field->kind == FIELD_WRONG)
        return;
    if (field->kind == FIELD_FIXED) {
        uint8_t *values = column(state, field->slot);
        for (int64_t i = row; i < end; i++)
            memcpy(values + i * field->size, field->value_if_absent, field->size);
    } else if (field->kind == FIELD_STRUCT) {
        const struct layout *child = &state->layouts[field->child];
        uint8_t *present = column(state, field->slot);
        for (int64_t i = row; i < end; i++)
            present[i] = (uint8_t)field->if_absent;
        for (int32_t i = child->first; i < child->end; i++)
            put_absent(state, &state->fields[i], row, end);
        for (int32_t i = child->first_tag; i < child->end_tag; i++)
            put_absent(state, &state->fields[i], row, end);
    } else {
        int64_t *starts = column(state, field->slot);
        for (int64_t i = row; i < end; i++)
            starts[i] = 0;
        if (field->kind == FIELD_SPAN) {
            int32_t *counts = column(state, field->slot + 1);
            for (int64_t i = row; i < end; i++)
                counts[i] = field->if_absent;
        } else {
            int64_t *counts = column(state, field->slot + 1);
            for (int64_t i = row; i < end; i++)
                counts[i] = field->if_absent;
        }
    }
}

/* The same for one row of a column that most rows have something absent in. */
INLINE void put_absent_row(const struct state *state, const struct field *field, int64_t row) {
    if (field->kind == FIELD_SPAN && field->slot >= 0) {
        ((int64_t *)column(state, field->slot))[row] = 0;
        ((int32_t *)column(state, field->slot + 1))[row] = field->if_absent;
    } else if (field->kind == FIELD_FIXED && field->slot >= 0 && field->size == 4) {
        memcpy((int32_t *)column(state, field->slot) + row, field->value_if_absent, 4);
    } else {
        put_absent(state, field, row, row + 1);
    }
}

/* Give every wanted column of a row something, after a message in it did not decode. */
static void put_nothing(const struct state *state, int64_t row) {
    const struct layout *root = state->layouts;
    for (int32_t i = root->first; i < root->end; i++)
        put_absent(state, &state->fields[i], row, row + 1);
    for (int32_t i = root->first_tag; i < root->end_tag; i++)
        if (state->written >> (i - root->first_tag) & 1)
            put_absent(state, &state->fields[i], row, row + 1);
}

/* ---- fields -------------------------------------------------------------------------------- */

INLINE const uint8_t *decode_fixed(const struct state *state, const struct field *field,
                                   const uint8_t *p, const uint8_t *end, int64_t row) {
    if (end - p < field->size)
        return NULL;
    if (field->slot >= 0) {
        void *values = column(state, field->slot);
        switch (field->size) {
        case 4:
            ((uint32_t *)values)[row] = load_be32(p);
            break;
        case 16:
            memcpy((uint8_t *)values + row * 16, p, 16);
            break;
        case 1:
            ((uint8_t *)values)[row] = field->is_bool ? *p != 0 : *p;
            break;
        case 2:
            ((uint16_t *)values)[row] = load_be16(p);
            break;
        default:
            ((uint64_t *)values)[row] = load_be64(p);
        }
    }
    return p + field->size;
}

/* A length or count: -1 for null, and NULL where null is not allowed. */
INLINE const uint8_t *read_count(const struct field *field, bool is_flexible, const uint8_t *p,
                                 const uint8_t *end, int64_t *count) {
    if (is_flexible) {
        uint32_t raw;
        p = read_uvarint(p, end, &raw);
        if (p == NULL)
            return NULL;
        *count = (int64_t)raw - 1;
    } else if (field->is_string) {
        if (end - p < 2)
            return NULL;
        *count = (int16_t)load_be16(p);
        p += 2;
    } else {
        if (end - p < 4)
            return NULL;
        *count = (int32_t)load_be32(p);
        p += 4;
    }
    if (*count < 0) {
        *count = -1;
        return field->is_nullable ? p : NULL;
    }
    return p;
}

INLINE const uint8_t *decode_span(const struct state *state, const struct field *field,
                                  bool is_flexible, const uint8_t *p, const uint8_t *end,
                                  int64_t row) {
    int64_t count;
    p = read_count(field, is_flexible, p, end, &count);
    if (p == NULL || (field->is_string && count > MOST_STRING_BYTES))
        return NULL;
    /* Below 2**31 elements of 16 bytes at most: no overflow. */
    int64_t size = count > 0 ? count * field->size : 0;
    if (size > end - p)
        return NULL;
    if (field->slot >= 0) {
        ((int64_t *)column(state, field->slot))[row] = p - state->data;
        ((int32_t *)column(state, field->slot + 1))[row] = (int32_t)count;
    }
    return p + size;
}

/* `is_tagged`: a varint says whether it is there, in place of a byte. */
NOINLINE const uint8_t *decode_one_struct(struct state *state, const struct field *field,
                                        bool is_tagged, const uint8_t *p, const uint8_t *end,
                                        int64_t row) {
    bool is_present = true;
    if (field->is_nullable && is_tagged) {
        uint32_t marker;
        p = read_uvarint(p, end, &marker);
        if (p == NULL)
            return NULL;
        is_present = marker > 0;
    } else if (field->is_nullable) {
        if (p == end)
            return NULL;
        is_present = (int8_t)*p++ >= 0;
    }
    if (!is_present) {
        if (field->slot >= 0) {
            put_absent(state, field, row, row + 1);
            ((uint8_t *)column(state, field->slot))[row] = 0;
        }
        return p;
    }
    if (field->slot >= 0)
        ((uint8_t *)column(state, field->slot))[row] = 1;
    return decode_struct(state, &state->layouts[field->child], p, end, row);
}

/* Only walks over the elements, see `struct field`. */
NOINLINE const uint8_t *decode_structs(struct state *state, const struct field *field,
                                     bool is_flexible, const uint8_t *p, const uint8_t *end,
                                     int64_t row) {
    struct decode *decode = state->decode;
    int64_t count;
    p = read_count(field, is_flexible, p, end, &count);
    /* Every element takes a byte at least, or a definition has a struct without fields; then the
     * second bound holds for an array, and `nested_left` for arrays in arrays. */
    if (p == NULL || count > end - p || count > decode->most_structs)
        return NULL;
    if (field->slot >= 0) {
        ((int64_t *)column(state, field->slot))[row] = p - state->data;
        ((int64_t *)column(state, field->slot + 1))[row] = count;
    }
    if (state->depth > 0 && count > 0) {
        decode->nested_left -= count;
        if (decode->nested_left < 0) {
            state->is_exhausted = true;
            return NULL;
        }
    }
    state->depth++;
    for (; count > 0 && p != NULL; count--)
        p = decode_struct(state, &state->layouts[field->child], p, end, row);
    state->depth--;
    return p;
}

INLINE const uint8_t *decode_tagged(struct state *state, const struct field *field,
                                    bool is_flexible, const uint8_t *p, const uint8_t *end,
                                    int64_t row) {
    switch (field->kind) {
    case FIELD_FIXED:
        return decode_fixed(state, field, p, end, row);
    case FIELD_SPAN:
        return decode_span(state, field, is_flexible, p, end, row);
    case FIELD_STRUCT:
        return decode_one_struct(state, field, true, p, end, row);
    case FIELD_STRUCTS:
        return decode_structs(state, field, is_flexible, p, end, row);
    default:
        return NULL;
    }
}

/* Index of a tag in a layout, -1 for one that the definition lacks. */
INLINE int32_t find_tag(const struct field *tags, int32_t n, uint32_t tag) {
    /* Mostly they are numbered from 0 on. */
    if (tag < (uint32_t)n && tags[tag].tag == (int32_t)tag)
        return (int32_t)tag;
    for (int32_t i = 0; i < n; i++)
        if (tags[i].tag == (int32_t)tag)
            return i;
    return -1;
}

/* A number of tags; each has a number and a size, and its content takes exactly that. */
static const uint8_t *decode_tags(struct state *state, const struct layout *layout,
                                  const uint8_t *p, const uint8_t *end, int64_t row) {
    const struct field *tags = state->fields + layout->first_tag;
    int32_t n = layout->end_tag - layout->first_tag;
    bool is_root = layout == state->layouts;
    uint64_t present = 0;
    uint32_t count;
    p = read_uvarint(p, end, &count);
    /* The loop takes two bytes at least for each, so it ends soon however many it is told of. */
    for (; p != NULL && count > 0; count--) {
        uint32_t tag, size;
        p = read_uvarint(p, end, &tag);
        if (p == NULL)
            return NULL;
        p = read_uvarint(p, end, &size);
        if (p == NULL || size > end - p)
            return NULL;
        const uint8_t *stop = p + size;
        int32_t i = find_tag(tags, n, tag);
        if (i >= 0) {
            uint64_t bit = UINT64_C(1) << i;
            if (is_root && !(state->seen & bit)) {
                state->seen |= bit;
                if (!(state->written & bit))
                    put_absent(state, &tags[i], state->begin, row);
                state->written |= bit;
            }
            /* Of a tag that comes again the last counts, but all have to decode. */
            if (decode_tagged(state, &tags[i], layout->is_flexible, p, stop, row) != stop)
                return NULL;
            present |= bit;
        }
        p = stop;
    }
    if (p == NULL || state->depth > 0)
        return p;
    uint64_t missing = (is_root ? state->written : layout->eager_tags) & ~present;
    for (; missing != 0; missing &= missing - 1)
        put_absent_row(state, &tags[__builtin_ctzll(missing)], row);
    return p;
}

static const uint8_t *decode_struct(struct state *state, const struct layout *layout,
                                    const uint8_t *p, const uint8_t *end, int64_t row) {
    const struct field *field = state->fields + layout->first;
    const struct field *last = state->fields + layout->end;
    bool is_flexible = layout->is_flexible;
    for (; field < last && p != NULL; field++) {
        switch (field->kind) {
        case FIELD_FIXED:
            p = decode_fixed(state, field, p, end, row);
            break;
        case FIELD_SPAN:
            p = decode_span(state, field, is_flexible, p, end, row);
            break;
        case FIELD_STRUCT:
            p = decode_one_struct(state, field, false, p, end, row);
            break;
        default:
            p = decode_structs(state, field, is_flexible, p, end, row);
        }
    }
    return p != NULL && layout->has_tags ? decode_tags(state, layout, p, end, row) : p;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* So many rows ahead memory is asked for. */
enum { ROWS_AHEAD = 32 };

int64_t metashell_decode(struct decode *decode, int64_t begin, int64_t end, int64_t most_bytes) {
    const struct layout *root = decode->layouts;
    struct state state = {
        .data = decode->data,
        .fields = decode->fields,
        .layouts = decode->layouts,
        .columns = decode->columns,
        .decode = decode,
        .begin = begin,
        .written = root->eager_tags,
    };
    int64_t i = begin;
    if (decode->counts != NULL)
        state.begin = decode->first_row[begin];
    for (; i < end && most_bytes > 0; i++) {
        int64_t start = decode->starts[i], stop = decode->stops[i];
        if (i + ROWS_AHEAD < end)
            fetch_early(decode->data, decode->starts[i + ROWS_AHEAD]);
        bool is_inside = start >= 0 && start <= stop && stop <= decode->size;
        const uint8_t *p = is_inside ? decode->data + start : NULL;
        const uint8_t *last = is_inside ? decode->data + stop : NULL;
        int64_t row = decode->counts == NULL ? i : decode->first_row[i];
        int64_t count = decode->counts == NULL ? 1 : decode->counts[i];
        for (; count > 0; count--, row++) {
            state.depth = 0;
            if (p != NULL)
                p = decode_struct(&state, root, p, last, row);
            if (state.is_exhausted)
                return -1;
            if (decode->ok != NULL && p != NULL && p != last && !decode->may_trail)
                p = NULL;
            if (p == NULL)
                put_nothing(&state, row);
        }
        if (decode->ok != NULL)
            decode->ok[i] = p != NULL;
        if (is_inside)
            most_bytes -= stop - start + 1;
    }
    decode->seen = state.seen;
    return i;
}
