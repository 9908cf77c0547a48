/*
 * From batches to frames: where every record lies.
 *
 * A record in a batch is: length varint, attributes int8, timestampDelta varlong, offsetDelta varint,
 * keyLength varint, key, valueLength varint, value, headers; varints zigzag-encoded. Its value begins
 * with frame version, api key and version in a metadata log; in a log with keys, key and value each
 * begin with an int16.
 *
 * A batch counts if its records fill it exactly and each is well formed. The verdict is that of
 * log/lanes.py and log/heads.py.
 */
#include "kernel.h"

/* So many bytes ahead of a record, and headers ahead of a batch, memory is asked for. */
enum { BYTES_AHEAD = 2048, BATCHES_AHEAD = 16 };

/* A record's parts; pointers into the data. */
struct record {
    const uint8_t *begin; /* its attributes */
    const uint8_t *end;
    const uint8_t *key;
    const uint8_t *value;
    int32_t offset_delta;
    int32_t key_size;   /* -1 for null */
    int32_t value_size; /* -1 for null */
};

/* Read a length of -1 or more, which must fit before `end`; NULL where it does not. */
INLINE const uint8_t *read_size(const uint8_t *p, const uint8_t *end, int32_t *size) {
    p = read_varint(p, end, size);
    if (p == NULL || *size < -1 || *size > end - p)
        return NULL;
    return p;
}

/*
 * Step over a number of at most ten bytes. Times of records differ in length from one to the next,
 * and a branch on that is guessed wrong again and again: the last byte is found by arithmetic.
 */
INLINE const uint8_t *skip_varlong(const uint8_t *p, const uint8_t *end) {
    if (end - p >= 8) {
        uint64_t last = ~load_le64(p) & 0x8080808080808080u;
        if (last != 0)
            return p + (__builtin_ctzll(last) >> 3) + 1;
    }
    uint64_t ignored;
    return read_base128(p, end, 10, &ignored);
}

/* A zigzag number of 35 bits: of headers the bits beyond 32 count, as log/heads.py counts them. */
static const uint8_t *read_wide(const uint8_t *p, const uint8_t *end, int64_t *value) {
    uint64_t wide;
    p = read_base128(p, end, 5, &wide);
    if (p != NULL)
        *value = (int64_t)((wide >> 1) ^ -(wide & 1));
    return p;
}

/* Whether headers begin at `p` and end at `end`. Each takes two bytes at least, so this is linear. */
static bool headers_fit(const uint8_t *p, const uint8_t *end) {
    int64_t count, key_size, value_size;
    p = read_wide(p, end, &count);
    if (p == NULL || count < 0)
        return false;
    for (; count > 0; count--) {
        p = read_wide(p, end, &key_size);
        if (p == NULL || key_size < 0 || key_size > end - p)
            return false;
        p = read_wide(p + key_size, end, &value_size);
        if (p == NULL || value_size < -1 || value_size > end - p)
            return false;
        p += value_size > 0 ? value_size : 0;
    }
    return p == end;
}

/* Read a record that fills [begin, end); false where it is malformed. */
INLINE bool read_record(struct record *record) {
    const uint8_t *p = record->begin, *end = record->end;
    if (p == end)
        return false;
    p = skip_varlong(p + 1, end);
    if (p == NULL)
        return false;
    p = read_varint(p, end, &record->offset_delta);
    if (p == NULL)
        return false;
    p = read_size(p, end, &record->key_size);
    if (p == NULL)
        return false;
    record->key = p;
    p = read_size(p + (record->key_size > 0 ? record->key_size : 0), end, &record->value_size);
    if (p == NULL)
        return false;
    record->value = p;
    p += record->value_size > 0 ? record->value_size : 0;
    /* Almost always no headers: a single zero byte. */
    return (end - p == 1 && *p == 0) || headers_fit(p, end);
}

/* The int16 at `p`, with zeros for what lies behind the data. */
INLINE int32_t int16_at(const uint8_t *p, const uint8_t *data_end) {
    if (data_end - p >= 2)
        return (int16_t)load_be16(p);
    return data_end - p == 1 ? (int16_t)(*p << 8) : 0;
}

/* Frame version, api key and version: three unsigned varints in front of the message. */
INLINE void put_frame(const struct frame_columns *columns, int64_t row,
                      const struct record *record) {
    const uint8_t *p = record->value;
    const uint8_t *stop = p + (record->value_size > 0 ? record->value_size : 0);
    uint32_t frame_version, api_key, version;
    columns->stop[row] = (int32_t)(stop - record->begin);
    if ((p = read_uvarint(p, stop, &frame_version)) != NULL &&
        (p = read_uvarint(p, stop, &api_key)) != NULL &&
        (p = read_uvarint(p, stop, &version)) != NULL) {
        columns->frame_version[row] = (int32_t)frame_version;
        columns->api_key[row] = (int32_t)api_key;
        columns->version[row] = (int32_t)version;
        columns->body[row] = (int32_t)(p - record->begin);
    } else {
        columns->frame_version[row] = FRAME_NONE;
        columns->api_key[row] = FRAME_NO_KEY;
        columns->version[row] = -1;
        columns->body[row] = (int32_t)(record->value - record->begin);
    }
}

/* A control record's type stands in its key, its version in its value. */
static void put_control_frame(const struct frame_columns *columns, int64_t row,
                              const uint8_t *data_end, const struct record *record) {
    int32_t body = (int32_t)(record->value - record->begin);
    columns->stop[row] = body + (record->value_size > 0 ? record->value_size : 0);
    columns->body[row] = body;
    columns->api_key[row] = FRAME_CONTROL_KEY - (int16_t)load_be16(record->key + 2);
    columns->version[row] = int16_at(record->value, data_end);
    columns->frame_version[row] = FRAME_OF_CONTROL;
}

static void put_keyed(const struct keyed_columns *columns, int64_t row, const uint8_t *data,
                      const struct record *record, bool is_control) {
    columns->key[row] = record->key - data;
    columns->key_size[row] = record->key_size;
    columns->value[row] = record->value - data;
    columns->value_size[row] = record->value_size;
    columns->key_type[row] =
        is_control              ? KEYED_CONTROL - (int16_t)load_be16(record->key + 2)
        : record->key_size >= 2 ? (int16_t)load_be16(record->key)
                                : KEYED_NO_NUMBER;
    columns->value_version[row] =
        record->value_size >= 2 ? (int16_t)load_be16(record->value) : KEYED_NO_NUMBER;
}

/*
 * Both kinds of logs; one of the two sets of columns is NULL. Always inlined, so that each of the two
 * functions below has a loop of its own.
 *
 * A batch's rows are first_row to first_row + count: as many as its records, whatever its bytes say.
 */
INLINE void
frame_records(const uint8_t *data, int64_t size, const struct batch *batches, int64_t end_batch,
              struct frame_cursor *cursor, int64_t most, const struct frame_columns *frames,
              const struct keyed_columns *keyed, uint8_t *verdicts) {
    for (; cursor->batch < end_batch; cursor->batch++, cursor->record = 0) {
        /* Copies, so that no store into a column could change them. */
        const struct batch its = batches[cursor->batch], *batch = &its;
        if (batch->start < 0 || batch->start > batch->stop || batch->stop > size) {
            verdicts[cursor->batch] = BATCH_NOT_FILLED;
            continue;
        }
        const uint8_t *stop = data + batch->stop;
        const uint8_t *p = data + (cursor->record ? cursor->pos : batch->start);
        uint8_t verdict = cursor->record ? verdicts[cursor->batch] : BATCH_SOUND;
        int64_t n = cursor->record;
        for (; n < batch->count && most > 0; n++, most--) {
            struct record record;
            int32_t length;
            int64_t row = batch->first_row + n;
            record.begin = read_varint(p, stop, &length);
            if (record.begin == NULL || length < 0 || length > stop - record.begin) {
                p = NULL;
                break;
            }
            record.end = p = record.begin + length;
            fetch_early(p, BYTES_AHEAD);
            if (!read_record(&record) || record.offset_delta < 0 ||
                record.offset_delta > batch->last_delta ||
                (batch->is_control && record.key_size < 4)) {
                verdict = BATCH_MALFORMED;
                continue;
            }
            if (frames != NULL) {
                frames->start[row] = record.begin - data;
                frames->offset_delta[row] = record.offset_delta;
                if (batch->is_control)
                    put_control_frame(frames, row, data + size, &record);
                else
                    put_frame(frames, row, &record);
            } else {
                keyed->start[row] = record.begin - data;
                keyed->offset[row] =
                    (int64_t)((uint64_t)batch->base_offset + (uint64_t)record.offset_delta);
                put_keyed(keyed, row, data, &record, batch->is_control);
            }
        }
        if (p != NULL && n < batch->count) {
            cursor->record = n;
            cursor->pos = p - data;
            verdicts[cursor->batch] = verdict;
            return;
        }
        verdicts[cursor->batch] = p == stop ? verdict : BATCH_NOT_FILLED;
    }
}

void metashell_frames(const uint8_t *data, int64_t size, const struct batch *batches,
                      int64_t end_batch, struct frame_cursor *cursor, int64_t most,
                      const struct frame_columns *columns, uint8_t *verdicts) {
    const struct frame_columns copied = *columns;
    frame_records(data, size, batches, end_batch, cursor, most, &copied, NULL, verdicts);
}

void metashell_keyed_frames(const uint8_t *data, int64_t size, const struct batch *batches,
                            int64_t end_batch, struct frame_cursor *cursor, int64_t most,
                            const struct keyed_columns *columns, uint8_t *verdicts) {
    const struct keyed_columns copied = *columns;
    frame_records(data, size, batches, end_batch, cursor, most, NULL, &copied, verdicts);
}

/* Where the fields of a batch's header lie, and how long it is. */
enum {
    AT_LENGTH = 8,
    AT_MAGIC = 16,
    AT_ATTRIBUTES = 21,
    AT_LAST_DELTA = 23,
    AT_PRODUCER_ID = 43,
    AT_COUNT = 57,
    HEADER_SIZE = 61,
    BEFORE_LENGTH = 12,
    CODEC_BITS = 0x07,
    CONTROL_BIT = 0x20,
    LEAST_RECORD = 7
};

int64_t metashell_count_plain(const uint8_t *data, int64_t size, const int64_t *positions,
                              int64_t begin, int64_t end, int64_t *counts) {
    for (int64_t i = begin; i < end; i++) {
        if (positions[i] < 0 || positions[i] > size - HEADER_SIZE)
            return i;
        if (i + BATCHES_AHEAD < end)
            fetch_early(data, positions[i + BATCHES_AHEAD]);
        const uint8_t *p = data + positions[i];
        int64_t left = size - positions[i] - BEFORE_LENGTH;
        int64_t length = (int32_t)load_be32(p + AT_LENGTH);
        int64_t count = (int32_t)load_be32(p + AT_COUNT);
        int64_t last_delta = (int32_t)load_be32(p + AT_LAST_DELTA);
        int64_t payload = length - (HEADER_SIZE - BEFORE_LENGTH);
        if (p[AT_MAGIC] != 2 || load_be16(p + AT_ATTRIBUTES) & CODEC_BITS || payload < 0 ||
            length > left || count < 0 || count > payload / LEAST_RECORD || last_delta < count - 1)
            return i;
        counts[i] = count;
    }
    return end;
}

void metashell_plain_batches(const uint8_t *data, const int64_t *positions,
                             const int64_t *first_row, int64_t begin, int64_t end,
                             struct batch *batches, int64_t *producer_ids, int32_t *batch_of) {
    for (int64_t i = begin; i < end; i++) {
        const uint8_t *p = data + positions[i];
        producer_ids[i] = (int64_t)load_be64(p + AT_PRODUCER_ID);
        for (int64_t row = first_row[i]; row < first_row[i + 1]; row++)
            batch_of[row] = (int32_t)i;
        struct batch *batch = batches + (i - begin);
        batch->start = positions[i] + HEADER_SIZE;
        batch->stop = positions[i] + BEFORE_LENGTH + (int32_t)load_be32(p + AT_LENGTH);
        batch->count = first_row[i + 1] - first_row[i];
        batch->first_row = first_row[i];
        batch->base_offset = (int64_t)load_be64(p);
        batch->last_delta = (int32_t)load_be32(p + AT_LAST_DELTA);
        batch->is_control = (load_be16(p + AT_ATTRIBUTES) & CONTROL_BIT) != 0;
    }
}
