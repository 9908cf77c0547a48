/*
 * From bytes to batches: hop from header to header and prove each batch by its CRC.
 *
 * A header has 61 bytes, see log/chain.py. Only batches without a doubt are noted here: their length
 * fits, their magic is 2, their CRC holds, and offset and epoch follow on. All else is rare and is
 * left to Python, which words the faults.
 */
#include "kernel.h"

enum {
    HEADER_BYTES = 61,
    BEFORE_LENGTH_COUNTS = 12, /* offset and length: batchLength counts the bytes behind them */
    MIN_LENGTH = HEADER_BYTES - BEFORE_LENGTH_COUNTS,
    LENGTH_AT = 8,
    EPOCH_AT = 12,
    MAGIC_AT = 16,
    CRC_AT = 17,
    SUMMED_FROM = 21,
    LAST_DELTA_AT = 23
};

/*
 * Whether a batch whose offset is too large follows on one whose offsets are missing, and no other
 * batch follows that shows the offset to be wrong. Where nothing more is there, the caller judges.
 */
static bool skips_offsets(const uint8_t *following, const uint8_t *end, int64_t expected,
                          int64_t last) {
    if (end - following < HEADER_BYTES)
        return false;
    int64_t base = (int64_t)load_be64(following);
    return following[MAGIC_AT] != 2 || base < expected || base > last;
}

void metashell_chain(const uint8_t *data, int64_t size, struct chain *chain, int64_t *positions,
                     int64_t capacity, int64_t most_bytes) {
    int64_t pos = chain->pos, last = chain->last_offset, epoch = chain->last_epoch, found = 0;
    /* The header is read only where all of it is there. */
    while (found < capacity && most_bytes > 0 && pos < chain->bound && size - pos >= HEADER_BYTES) {
        const uint8_t *header = data + pos;
        int64_t base = (int64_t)load_be64(header);
        int64_t length = (int32_t)load_be32(header + LENGTH_AT);
        int64_t its_epoch = (int32_t)load_be32(header + EPOCH_AT);
        int64_t last_delta = (int32_t)load_be32(header + LAST_DELTA_AT);
        if (length < MIN_LENGTH || length > size - pos - BEFORE_LENGTH_COUNTS ||
            header[MAGIC_AT] != 2)
            break;
        /* `last` is below INT64_MAX - INT32_MAX: the caller sees to the first, the next line to all
         * others. So neither sum overflows. */
        if (base <= last || last_delta < 0 || its_epoch < epoch ||
            base > INT64_MAX - 2 * (int64_t)INT32_MAX)
            break;
        int64_t end = pos + BEFORE_LENGTH_COUNTS + length;
        if (base != last + 1 && !(chain->may_miss && skips_offsets(data + end, data + size, last + 1,
                                                                   base + last_delta)))
            break;
        if (metashell_crc32c(header + SUMMED_FROM, end - pos - SUMMED_FROM) !=
            load_be32(header + CRC_AT))
            break;
        positions[found++] = pos;
        last = base + last_delta;
        epoch = its_epoch;
        most_bytes -= end - pos;
        pos = end;
    }
    chain->pos = pos;
    chain->last_offset = last;
    chain->last_epoch = epoch;
    chain->found = found;
}
