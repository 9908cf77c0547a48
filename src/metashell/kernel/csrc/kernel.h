/*
 * The kernel: inner loops of metashell in C11, without Python's API.
 *
 * Python calls these functions by ctypes. Arrays are contiguous and belong to the caller, who holds
 * them for the call. Every function is given bytes as [data, data + size) and reads nothing else:
 * each length that comes from the bytes is compared with what is left before it is used. What a
 * function writes has a size that was known before, so it allocates nothing.
 *
 * Positions are int64 and count from `data`. Numbers in the bytes are big-endian, and the machine is
 * little-endian: the library is not loaded on others.
 *
 * docs/design/kernel.md says what the tables mean and why each bound holds.
 */
#ifndef METASHELL_KERNEL_H
#define METASHELL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The digest of the sources that this library was built from, as hexadecimal digits. */
const char *metashell_kernel_digest(void);

/* ---- crc32c.c ------------------------------------------------------------------------------ */

/* CRC-32C, by the processor's instruction where it has one. */
uint32_t metashell_crc32c(const uint8_t *data, int64_t size);

/* The same by tables, for processors without the instruction. */
uint32_t metashell_crc32c_by_table(const uint8_t *data, int64_t size);

/* ---- chain.c ------------------------------------------------------------------------------- */

/* Where a walk over batches stands; brought up to date by each call. */
struct chain {
    int64_t pos;         /* of the next batch */
    int64_t bound;       /* no batch is begun here or behind */
    int64_t last_offset; /* of the last batch accepted, -1 before the first */
    int64_t last_epoch;  /* likewise */
    int64_t found;       /* how many positions this call has written */
    int64_t may_miss;    /* whether offsets may be missing, as compaction leaves them */
};

/*
 * Hop over sound batches that follow on each other, and note where each begins.
 *
 * Ends before a batch that is not sound, or sound and odd: that one is for the caller to judge. Ends
 * also when `capacity` positions are written, or `most_bytes` are summed.
 */
void metashell_chain(const uint8_t *data, int64_t size, struct chain *chain, int64_t *positions,
                     int64_t capacity, int64_t most_bytes);

/* ---- frames.c ------------------------------------------------------------------------------ */

/* One batch whose records are to be framed. */
struct batch {
    int64_t start; /* where its records begin */
    int64_t stop;  /* where they end */
    int64_t count; /* how many it says there are; at most a seventh of its bytes */
    int64_t first_row;
    int64_t base_offset;
    int32_t last_delta;
    int32_t is_control;
};

/* Where framing stands, so that a large batch takes several calls. */
struct frame_cursor {
    int64_t batch;
    int64_t record; /* in the batch */
    int64_t pos;    /* of the record; of no meaning for the first */
};

enum batch_verdict { BATCH_SOUND = 0, BATCH_NOT_FILLED = 1, BATCH_MALFORMED = 2 };

/* Columns of a metadata log's records, an element a row. */
struct frame_columns {
    int64_t *start;
    int32_t *body;         /* behind `start` */
    int32_t *stop;         /* behind `start` */
    int32_t *offset_delta; /* behind the batch's base offset */
    int32_t *api_key;
    int32_t *version;
    int32_t *frame_version;
};

/* Columns of the records of a log with keys, an element a row. */
struct keyed_columns {
    int64_t *start;
    int64_t *offset;
    int64_t *key;
    int64_t *value;
    int32_t *key_size;
    int32_t *value_size;
    int32_t *key_type;
    int32_t *value_version;
};

/* What stands for what is not there; the same numbers as in log/frames.py. */
enum {
    FRAME_NO_KEY = -1,
    FRAME_OF_CONTROL = -1,
    FRAME_NONE = -2,
    FRAME_CONTROL_KEY = -1000,
    KEYED_NO_NUMBER = 1 << 20,
    KEYED_CONTROL = -(1 << 20)
};

/*
 * Read from the headers of batches how many records each has. Ends before the first batch that is not
 * plain: of format 2, not compressed, with a count that fits its length and its offsets.
 */
int64_t metashell_count_plain(const uint8_t *data, int64_t size, const int64_t *positions,
                              int64_t begin, int64_t end, int64_t *counts);

/*
 * Make batches of headers, all of which are plain: those from `begin` to `end`. By batch the producer
 * id and by row the batch are told of them, in arrays of all batches and of all rows.
 */
void metashell_plain_batches(const uint8_t *data, const int64_t *positions,
                             const int64_t *first_row, int64_t begin, int64_t end,
                             struct batch *batches, int64_t *producer_ids, int32_t *batch_of);

/*
 * Frame the records of batches from the cursor on, up to `end_batch` or at most `most` of them.
 *
 * Writes the verdict of each batch that it ends. Rows of a batch that is not sound mean nothing.
 */
void metashell_frames(const uint8_t *data, int64_t size, const struct batch *batches,
                      int64_t end_batch, struct frame_cursor *cursor, int64_t most,
                      const struct frame_columns *columns, uint8_t *verdicts);

/* The same for a log with keys. */
void metashell_keyed_frames(const uint8_t *data, int64_t size, const struct batch *batches,
                            int64_t end_batch, struct frame_cursor *cursor, int64_t most,
                            const struct keyed_columns *columns, uint8_t *verdicts);

/* ---- decode.c ------------------------------------------------------------------------------ */

enum field_kind {
    FIELD_FIXED = 0,   /* a number, bool or uuid */
    FIELD_SPAN = 1,    /* a string, bytes, or an array of such: a count, then its elements */
    FIELD_STRUCT = 2,  /* a struct in place; if it can be null, a marker in front says so */
    FIELD_STRUCTS = 3, /* an array of structs */
    FIELD_WRONG = 4    /* a tag that other versions of the message have */
};

/*
 * One field of a message: an operation of the decoder. Slots are indexes of `decode.columns`:
 *
 *   fixed    slot      values of `size` bytes; a bool is 0 or 1, a uuid its bytes in order
 *   span     slot      int64: position of the first byte; slot + 1  int32: elements, -1 for null
 *   struct   slot      bool: whether it is there; its fields have slots of their own, same rows
 *   structs  slot      int64: position of the first; slot + 1  int64: elements, -1 for null
 *
 * Elements of an array of structs have no slots: they are decoded by a call of their own, whose root
 * is their struct and whose rows are the elements.
 */
struct field {
    uint8_t kind;
    uint8_t size; /* bytes of an element: 1, 2, 4, 8 or 16; of fixed ones without a slot any number */
    uint8_t is_nullable;
    uint8_t is_bool;
    uint8_t is_string; /* at most 32,767 bytes; before a message is flexible, an int16 says how many */
    int32_t tag;
    int32_t child; /* of structs: index of the layout */
    int32_t slot;  /* -1 where the column is not wanted */
    int32_t if_absent; /* count that stands for an absent field; of a struct, whether it is there */
    uint8_t value_if_absent[16];
};

/* The fields of a message or struct: indexes of `decode.fields`. */
struct layout {
    int32_t first, end;           /* fields in the order of the bytes */
    int32_t first_tag, end_tag;   /* tagged ones by ascending tag, at most 64 */
    int32_t is_flexible;
    int32_t has_tags;
    /* Bits of the tags whose columns are written in every row; the root's others, see below. */
    uint64_t eager_tags;
};

/* What is decoded, and where to. */
struct decode {
    const uint8_t *data;
    int64_t size;
    const struct field *fields;
    const struct layout *layouts; /* the first is the root */
    void *const *columns;
    const int64_t *starts; /* where each row begins, and the others of it behind each other */
    const int64_t *stops;
    const int64_t *counts;    /* NULL: one each; else how many stand at each start */
    const int64_t *first_row; /* with `counts`: row of the first of each */
    uint8_t *ok;              /* 1 for each start that decodes; NULL with `counts` */
    int64_t most_structs;     /* elements that an array of structs may have */
    int64_t nested_left;      /* elements of arrays in elements of arrays that may still be found */
    uint64_t seen;            /* out: bits of the root's tags that this call has met */
    int32_t may_trail;        /* whether bytes may stand behind a message */
};

/*
 * Decode what begins at starts[begin] to starts[end - 1], as far as `most_bytes` go.
 *
 * Columns of the root's other tags are written only if a row has the tag; `seen` says which were. So a
 * tag that no record has costs no memory.
 *
 * Returns where the next call begins, or -1 where `nested_left` does not do.
 */
int64_t metashell_decode(struct decode *decode, int64_t begin, int64_t end, int64_t most_bytes);

/* ---- check.c ------------------------------------------------------------------------------- */

enum keyed_verdict {
    KEYED_SOUND = 0,     /* key and value decode, or the key of a tombstone does */
    KEYED_BAD_KEY = 1,   /* the key does not */
    KEYED_BAD_VALUE = 2, /* the key does, the value does not */
    KEYED_OTHER = 3      /* the key does, and the value has another version */
};

/* Records of one type; arrays have an element a record of the log, as `keyed_columns`. */
struct keyed_check {
    const struct decode *key;   /* of its tables, bytes and bounds; no field has a slot */
    const struct decode *value; /* likewise, for one version */
    const int64_t *rows;        /* those that are checked */
    const int64_t *keys;
    const int64_t *values;
    const int32_t *key_sizes;
    const int32_t *value_sizes;
    const int32_t *versions;
    int32_t version; /* of values that are checked */
};

/*
 * Tell the verdict on records rows[begin] to rows[end - 1]: verdicts[begin] to verdicts[end - 1].
 *
 * Where arrays in arrays have more elements than `nested_left`, some sound ones are told to be bad.
 */
void metashell_check_keyed(const struct keyed_check *check, int64_t begin, int64_t end,
                           uint8_t *verdicts);

/* ---- fold.c -------------------------------------------------------------------------------- */

/* The bits in which any two numbers differ. Returns whether the numbers ascend already. */
int32_t metashell_varying_bits(const int64_t *numbers, int64_t n, uint64_t *bits);

/*
 * Put the bits of each number that vary side by side, above `index_bits` bits that say where it
 * stands. All in all there must be 64 at most; what does not vary is left out.
 */
void metashell_pack(const int64_t *numbers, int64_t n, uint64_t bits, int32_t index_bits,
                    uint64_t *packed);

/*
 * Of sorted numbers as `metashell_pack` makes them: where each stood, where the group of equal ones
 * begins that each is in, and where each group but the last ends. Without `index_bits` they stand
 * where they stood. Goes on from `begin`, with so many groups ended; returns how many are then.
 * There are 2^31 - 1 numbers at most.
 */
int64_t metashell_group(const uint64_t *numbers, int32_t index_bits, int64_t begin, int64_t end,
                        int32_t *order, int32_t *first, int32_t *last, int64_t n_groups);

/* The nearest marked one at or before each in its group, -1 for none. Goes on from `begin`. */
void metashell_last_marked(const uint8_t *marked, const int32_t *first, int64_t begin, int64_t end,
                           int32_t *found);

/*
 * Copy values of `item` bytes: 1, 2, 4 or 8. taken[i] is what stands at places[i]. Returns whether
 * all places are below `n_values`; ends at the first that is not.
 */
int32_t metashell_take(const void *values, int32_t item, int64_t n_values, const int32_t *places,
                       int64_t begin, int64_t end, void *taken);

/* What an event does to its key. */
enum effect { EFFECT_NONE = 0, EFFECT_WRITES = 1, EFFECT_REMOVES = 2 };

/*
 * Of each group the event that last wrote its key, and the one that made it; -1 where it is not there.
 * Goes on from `begin`; before the first call both are -1.
 */
void metashell_survivors(const int64_t *groups, const uint8_t *effects, int64_t begin, int64_t end,
                         int64_t n_groups, int64_t *created, int64_t *last);

/* A uuid as two numbers. */
struct id {
    uint64_t low, high;
};

/* A hash table with linear probing, see schema/id_table.py, which makes it. */
struct id_table {
    const struct id *ids;
    const int64_t *slots; /* mask + 1 of them; an index of `ids`, or -1 */
    uint64_t mask;        /* a power of two, less one */
    uint64_t factors[2];
};

/* Index of each id in a table, -1 for one that is not there. */
void metashell_find_ids(const struct id *ids, int64_t n, const struct id_table *table,
                        int64_t *found);

/* ---- lines.c ------------------------------------------------------------------------------- */

enum text_kind {
    TEXT_LITERAL = 0, /* the key alone */
    TEXT_OPEN = 1,    /* likewise; the comma that begins the next key is left out */
    TEXT_NUMBER = 2,  /* an integer */
    TEXT_BOOL = 3,
    TEXT_UUID = 4,    /* sixteen bytes, as base64 for URLs */
    TEXT_STRING = 5,  /* UTF-8 in the bytes */
    TEXT_BYTES = 6,   /* as base64 */
    TEXT_NUMBERS = 7, /* an array of integers in the bytes, big-endian */
    TEXT_UUIDS = 8,   /* an array of uuids in the bytes */
    TEXT_STRUCTS = 9, /* an array of structs */
    TEXT_STRINGS = 10, /* an array of strings: structs with one field, which is a string */
    TEXT_CHOICE = 11, /* one of some texts */
    TEXT_TIME = 12    /* milliseconds since 1970, as 2026-09-21T14:14:09.410Z */
};

/* Values of a column. A step of 0 gives all rows the same value. */
struct values {
    const uint8_t *first;
    int64_t step; /* bytes from one row's to the next row's */
};

/*
 * One piece of a line: an operation of the writer. What `values` and `counts` hold, by kind:
 *
 *   number, bool, uuid   the value, of `width` bytes, in the machine's order
 *   time                 int64
 *   string, bytes        int64: position of the first byte; int32 or int64: how many, < 0 for null
 *   numbers, uuids       the same, in elements of `width` bytes
 *   structs, strings     int64: row of the first element; int32 or int64: how many, < 0 for null
 *   choice               int64: which of the texts
 */
struct text {
    int32_t kind;
    int32_t width;       /* bytes of a number or of an element */
    int32_t count_width; /* bytes of a count: 4 or 8 */
    int32_t is_signed;
    int32_t is_of_line;  /* whether values are by the line's row, not by that of its message */
    int32_t has_default; /* whether the piece is left out where it holds this value: */
    int32_t needs_elements; /* whether the piece is left out where it has none, or is null */
    int32_t is_bare;        /* whether texts stand without quotes */
    int64_t default_number;      /* a number or bool; otherwise bytes or elements, -1 for null */
    const uint8_t *default_bytes;
    const uint8_t *key; /* what stands before the value */
    int64_t key_size;
    struct values values;
    struct values counts;
    const uint8_t *choices;       /* all texts, one after the other */
    const int64_t *choice_bounds; /* where each begins, and where the last ends */
    int64_t n_choices;
    const struct text *children;  /* of structs: the pieces of an element */
    int64_t n_children;
    int64_t n_elements;           /* rows of the children */
};

/* The lines of messages of one version. */
struct line_kind {
    const struct text *texts;
    int64_t n_texts;
    int64_t n_rows; /* messages */
    int64_t row;    /* of the next message; moved on by each call */
};

/* Where writing stands, so that lines take several calls. */
struct line_cursor {
    int64_t line;
    int64_t written; /* out: bytes that this call has written */
    int64_t needed;  /* out: bytes that the next line may take, where there is no room for it */
};

/*
 * Write lines, each as the texts of its kind, up to `end` or as far as `capacity` goes.
 *
 * A line of no kind (-1) has no bytes, and one with a text that can't be written neither: one that
 * is not UTF-8, a bare one that would need quotes, a choice that is none. `is_left` of it becomes 1.
 * `stops` says where each line ends among the bytes written.
 */
void metashell_lines(const uint8_t *data, int64_t size, struct line_kind *kinds,
                     const int32_t *kind_of, struct line_cursor *cursor, int64_t end, uint8_t *out,
                     int64_t capacity, int64_t *stops, uint8_t *is_left);

/* ---- ids.c --------------------------------------------------------------------------------- */

/* Distinct ids of sixteen bytes, numbered in the order in which they came. */
struct numbered_ids {
    uint64_t secrets[5]; /* random, so that nobody can make ids that share a slot */
    uint8_t *ids;        /* room for half as many as there are slots */
    int64_t n;
    int32_t *slots; /* numbers, or -1 */
    int64_t n_slots; /* a power of 2, at least 4 and at most 2**31 */
};

/*
 * Tell the number of each id, and take in those that are new.
 *
 * Returns where it stopped: at `end`, or before the first id for which there is no room.
 */
int64_t metashell_number_ids(struct numbered_ids *table, const struct values *ids, int64_t begin,
                             int64_t end, int64_t *numbers);

/* ---- keys.c -------------------------------------------------------------------------------- */

/* The first of some equal keys. */
struct numbered_key {
    int64_t start; /* of no meaning for null and empty ones */
    int32_t size;
    int32_t row;
};

/* Keys of rows, and the distinct ones among them, numbered in the order in which they come. */
struct numbered_keys {
    const uint8_t *data;
    int64_t size;
    const int64_t *starts; /* where each key begins; NULL: they stand side by side */
    const int32_t *sizes;  /* bytes of each, < 0 for null, which differs from empty; with `starts` */
    const int64_t *rows;   /* which element of `starts` is each one's; NULL: they have one each */
    int64_t item;          /* bytes of each, without `starts`; below 2**31 */
    const int64_t *before; /* a number that is a part of each key; NULL for none */
    uint64_t secrets[2];   /* random */
    int64_t steps_left;    /* so many slots may still be passed over in vain */
    struct numbered_key *keys; /* by number; half as many as slots */
    int64_t n;
    uint64_t *slots;
    int64_t n_slots; /* a power of 2, at least 2 and at most 2**32 */
};

/*
 * Number the keys of rows. Returns `end`, or the row where it stopped: before a new key for which
 * there is no room, before one that does not lie in the bytes, or where no steps are left.
 */
int64_t metashell_number_keys(struct numbered_keys *table, int64_t begin, int64_t end,
                              int64_t *numbers);

/* Put all keys that have numbers into slots that are free. */
void metashell_rehash_keys(struct numbered_keys *table);

/* ---- gather.c ------------------------------------------------------------------------------ */

/*
 * Copy runs of elements: row i has those from list_offsets[i] to list_offsets[i + 1] of `elements`,
 * which lie from starts[i] on, `item` bytes each; of 2, 4 and 8 bytes they are numbers.
 *
 * Returns `end`, or the first row whose run reaches beyond the bytes.
 */
int64_t metashell_gather(const uint8_t *data, int64_t size, const int64_t *starts,
                         const int64_t *list_offsets, int64_t begin, int64_t end, int32_t item,
                         void *elements);

/*
 * Copy the element of `item` bytes at each position from `begin` to `end`; swapped ones are numbers
 * of 2, 4 or 8 bytes. Returns the index of the first that does not lie in the bytes, else `end`.
 */
int64_t metashell_gather_each(const uint8_t *data, int64_t size, const int64_t *at, int64_t begin,
                              int64_t end, int32_t item, int32_t is_swapped, void *elements);

/* What is worth inlining into a loop over records, whatever the compiler's own measure says. */
#define INLINE __attribute__((always_inline)) static inline

/* What is rare, and would take registers from such a loop. */
#define NOINLINE __attribute__((noinline)) static

/* ---- loads --------------------------------------------------------------------------------- */

/* By memcpy, because a position need not be aligned; compilers make one instruction of each. */
INLINE uint16_t load_be16(const uint8_t *p) {
    uint16_t value;
    memcpy(&value, p, sizeof value);
    return __builtin_bswap16(value);
}

INLINE uint32_t load_be32(const uint8_t *p) {
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return __builtin_bswap32(value);
}

INLINE uint64_t load_le64(const uint8_t *p) {
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

INLINE uint64_t load_be64(const uint8_t *p) { return __builtin_bswap64(load_le64(p)); }

/*
 * Ask for memory that is soon read. Virtual machines guess badly what comes next, and a loop over
 * records waits for memory half of its time. Whatever the address is, nothing else happens.
 */
INLINE void fetch_early(const uint8_t *p, int64_t distance) {
    __builtin_prefetch((const void *)((uintptr_t)p + (uintptr_t)distance));
}

/*
 * Read a varint of at most `most_bytes` from [p, end): seven bits a byte, lowest first. Bits beyond
 * 64 fall off. Returns the position behind it; NULL where it is cut short or too long.
 */
static const uint8_t *read_base128(const uint8_t *p, const uint8_t *end, int most_bytes,
                                   uint64_t *value) {
    uint64_t read = 0;
    for (int shift = 0; shift < 7 * most_bytes; shift += 7) {
        if (p == end)
            return NULL;
        uint8_t byte = *p++;
        read |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = read;
            return p;
        }
    }
    return NULL;
}

/* The same for varints of one or two bytes, which nearly all are; others take the loop. */
INLINE const uint8_t *read_mostly_short(const uint8_t *p, const uint8_t *end, int most_bytes,
                                        uint64_t *value) {
    if (end - p >= 2) {
        uint32_t first = p[0], second = p[1];
        if (first < 0x80) {
            *value = first;
            return p + 1;
        }
        if (second < 0x80) {
            *value = (first & 0x7F) | second << 7;
            return p + 2;
        }
    }
    return read_base128(p, end, most_bytes, value);
}

/* An unsigned varint of up to five bytes and 31 bits, as messages have; NULL also where it is larger. */
INLINE const uint8_t *read_uvarint(const uint8_t *p, const uint8_t *end, uint32_t *value) {
    if (p < end && *p < 0x80) {
        *value = *p;
        return p + 1;
    }
    uint64_t wide;
    p = read_mostly_short(p, end, 5, &wide);
    if (p == NULL || wide > INT32_MAX)
        return NULL;
    *value = (uint32_t)wide;
    return p;
}

/* A zigzag varint of 32 bits, as records have; bits beyond 32 fall off, as in Kafka's reader. */
INLINE const uint8_t *read_varint(const uint8_t *p, const uint8_t *end, int32_t *value) {
    uint64_t wide;
    p = read_mostly_short(p, end, 5, &wide);
    if (p != NULL) {
        uint32_t low = (uint32_t)wide;
        *value = (int32_t)((low >> 1) ^ -(low & 1));
    }
    return p;
}

#endif
