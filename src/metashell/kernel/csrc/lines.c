/*
 * From columns to lines, of JSON or to be read: runs the pieces of a line, one record after the other.
 *
 * Each line is measured before it is written: `most_of_line` counts what it can take at most, so
 * that nothing below compares with the end of the buffer. Positions and counts come from the decoder,
 * which has compared them with the bytes, and are compared once more here.
 */
#include "kernel.h"

enum {
    MOST_OF_NUMBER = 20, /* -9223372036854775808 */
    MOST_OF_BOOL = 5,
    MOST_OF_NULL = 4,
    UUID_SIZE = 16,
    MOST_OF_UUID = 24, /* 22 characters in quotes */
    MOST_OF_TIME = 30, /* +292278994-08-17T07:12:55.807Z */
    MOST_OF_BYTE = 6   /* a control character as an escape */
};

/* Where lines go to. */
struct writer {
    const uint8_t *data;
    int64_t size;
    uint8_t *p;
    bool is_first; /* whether the next key loses the comma in front of it */
    bool is_sound; /* whether all texts can be written */
};

/* ---- columns ------------------------------------------------------------------------------- */

INLINE const uint8_t *value_at(const struct values *values, int64_t row) {
    return values->first + row * values->step;
}

INLINE int64_t load_int64(const uint8_t *p) {
    int64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

INLINE int64_t count_at(const struct text *text, int64_t row) {
    const uint8_t *p = value_at(&text->counts, row);
    int32_t narrow;
    if (text->count_width == 8)
        return load_int64(p);
    memcpy(&narrow, p, sizeof narrow);
    return narrow;
}

/* A number of 1 to 8 bytes in the machine's order. Unsigned ones have 4 bytes at most. */
INLINE int64_t load_number(const uint8_t *p, int32_t width, bool is_signed) {
    uint32_t value32;
    uint16_t value16;
    switch (width) {
    case 8:
        return load_int64(p);
    case 4:
        memcpy(&value32, p, sizeof value32);
        return is_signed ? (int32_t)value32 : (int64_t)value32;
    case 2:
        memcpy(&value16, p, sizeof value16);
        return is_signed ? (int16_t)value16 : (int64_t)value16;
    default:
        return is_signed ? (int8_t)*p : (int64_t)*p;
    }
}

/* The same in the order of the bytes. */
INLINE int64_t load_number_be(const uint8_t *p, int32_t width, bool is_signed) {
    switch (width) {
    case 8:
        return (int64_t)load_be64(p);
    case 4:
        return is_signed ? (int32_t)load_be32(p) : (int64_t)load_be32(p);
    case 2:
        return is_signed ? (int16_t)load_be16(p) : (int64_t)load_be16(p);
    default:
        return is_signed ? (int8_t)*p : (int64_t)*p;
    }
}

/* ---- texts of values ----------------------------------------------------------------------- */

INLINE uint8_t *put(uint8_t *p, const void *bytes, int64_t n) {
    memcpy(p, bytes, (size_t)n);
    return p + n;
}

INLINE uint8_t *put_number(uint8_t *p, int64_t value) {
    uint8_t digits[MOST_OF_NUMBER];
    uint8_t *first = digits + sizeof digits;
    uint64_t left = (uint64_t)value;
    if (value < 0) {
        *p++ = '-';
        left = -left;
    }
    do {
        *--first = (uint8_t)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    return put(p, first, digits + sizeof digits - first);
}

/* A number of n digits, of which the first may be 0. */
INLINE uint8_t *put_digits(uint8_t *p, int64_t value, int n) {
    for (int i = n - 1; i >= 0; i--, value /= 10)
        p[i] = (uint8_t)('0' + value % 10);
    return p + n;
}

INLINE int64_t divide_down(int64_t value, int64_t by) {
    return value / by - (value % by < 0);
}

/*
 * A time of UTC in the proleptic calendar, as schema/timestamps.py has it.
 *
 * Years begin in March here, so that the leap day is a year's last; an era is 400 years.
 */
static uint8_t *put_time(uint8_t *p, int64_t ms) {
    int64_t days = divide_down(ms, 86400000) + 719468;
    int64_t of_day = ms % 86400000 + (ms % 86400000 < 0 ? 86400000 : 0);
    int64_t era = divide_down(days, 146097), day_of_era = days - era * 146097;
    int64_t year =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day = day_of_era - (365 * year + year / 4 - year / 100); /* of the year */
    int64_t month = (5 * day + 2) / 153;
    day -= (153 * month + 2) / 5 - 1;
    month += month < 10 ? 3 : -9;
    year += era * 400 + (month <= 2);
    if (year < 0 || year > 9999)
        *p++ = year < 0 ? '-' : '+';
    year = year < 0 ? -year : year;
    p = year > 9999 ? put_number(p, year) : put_digits(p, year, 4);
    *p++ = '-';
    p = put_digits(p, month, 2);
    *p++ = '-';
    p = put_digits(p, day, 2);
    *p++ = 'T';
    p = put_digits(p, of_day / 3600000, 2);
    *p++ = ':';
    p = put_digits(p, of_day / 60000 % 60, 2);
    *p++ = ':';
    p = put_digits(p, of_day / 1000 % 60, 2);
    *p++ = '.';
    p = put_digits(p, of_day % 1000, 3);
    *p++ = 'Z';
    return p;
}

/* Base64 of n bytes by an alphabet of 64 characters. */
static uint8_t *put_base64(uint8_t *p, const uint8_t *from, int64_t n, const char *alphabet,
                           bool is_padded) {
    for (; n > 0; n -= 3, from += 3) {
        uint32_t bits = (uint32_t)from[0] << 16;
        if (n > 1)
            bits |= (uint32_t)from[1] << 8;
        if (n > 2)
            bits |= from[2];
        *p++ = (uint8_t)alphabet[bits >> 18];
        *p++ = (uint8_t)alphabet[bits >> 12 & 63];
        if (n > 1)
            *p++ = (uint8_t)alphabet[bits >> 6 & 63];
        else if (is_padded)
            *p++ = '=';
        if (n > 2)
            *p++ = (uint8_t)alphabet[bits & 63];
        else if (is_padded)
            *p++ = '=';
    }
    return p;
}

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char BASE64_OF_URLS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static uint8_t *put_uuid(uint8_t *p, const uint8_t *from, bool is_bare) {
    if (!is_bare)
        *p++ = '"';
    p = put_base64(p, from, UUID_SIZE, BASE64_OF_URLS, false);
    if (!is_bare)
        *p++ = '"';
    return p;
}

/*
 * How many bytes the character at p takes, which is not ASCII; 0 where there is no UTF-8.
 *
 * None is longer than it needs to be, none is a surrogate, none is beyond U+10FFFF.
 */
static int64_t size_of_character(const uint8_t *p, const uint8_t *end) {
    int64_t n = *p >= 0xF0 ? 4 : *p >= 0xE0 ? 3 : 2;
    uint8_t low = 0x80, high = 0xBF; /* of the second byte */
    if (*p < 0xC2 || *p > 0xF4 || end - p < n)
        return 0;
    if (*p == 0xE0)
        low = 0xA0;
    else if (*p == 0xED)
        high = 0x9F;
    else if (*p == 0xF0)
        low = 0x90;
    else if (*p == 0xF4)
        high = 0x8F;
    if (p[1] < low || p[1] > high)
        return 0;
    for (int64_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 0;
    return n;
}

/* An escape as Jackson writes it: its hexadecimal digits are capitals. */
static uint8_t *put_escape(uint8_t *p, uint8_t byte) {
    static const char short_of[] = "btn.fr"; /* of 8 to 13 */
    static const char digits[] = "0123456789ABCDEF";
    *p++ = '\\';
    if (byte == '"' || byte == '\\') {
        *p++ = byte;
    } else if (byte >= 8 && byte <= 13 && byte != 11) {
        *p++ = (uint8_t)short_of[byte - 8];
    } else {
        p = put(p, "u00", 3);
        *p++ = (uint8_t)digits[byte >> 4];
        *p++ = (uint8_t)digits[byte & 15];
    }
    return p;
}

/* A string of JSON. The writer becomes unsound where the bytes are not UTF-8. */
static uint8_t *put_string(struct writer *writer, uint8_t *p, const uint8_t *from, int64_t n) {
    const uint8_t *end = from + n;
    *p++ = '"';
    while (from < end) {
        uint8_t byte = *from;
        if (byte >= 0x80) {
            int64_t size = size_of_character(from, end);
            if (size == 0) {
                writer->is_sound = false;
                return p;
            }
            p = put(p, from, size);
            from += size;
        } else {
            if (byte < 0x20 || byte == '"' || byte == '\\')
                p = put_escape(p, byte);
            else
                *p++ = byte;
            from++;
        }
    }
    *p++ = '"';
    return p;
}

/* A string without quotes. The writer becomes unsound where a line could be misread by that. */
static uint8_t *put_bare(struct writer *writer, uint8_t *p, const uint8_t *from, int64_t n) {
    bool is_sound = n > 0;
    for (int64_t i = 0; i < n; i++)
        is_sound &= from[i] > ' ' && from[i] < 0x7F && memchr("\"=[]{}", from[i], 6) == NULL;
    writer->is_sound = is_sound;
    return put(p, from, n);
}

static uint8_t *put_array(uint8_t *p, const struct text *text, const uint8_t *from, int64_t n) {
    *p++ = '[';
    for (int64_t i = 0; i < n; i++, from += text->width) {
        if (i > 0)
            *p++ = ',';
        if (text->kind == TEXT_UUIDS)
            p = put_uuid(p, from, text->is_bare);
        else
            p = put_number(p, load_number_be(from, text->width, text->is_signed));
    }
    *p++ = ']';
    return p;
}

/* ---- pieces -------------------------------------------------------------------------------- */

INLINE bool is_span(const struct text *text) {
    return text->kind >= TEXT_STRING && text->kind <= TEXT_UUIDS;
}

INLINE bool is_structs(const struct text *text) {
    return text->kind == TEXT_STRUCTS || text->kind == TEXT_STRINGS;
}

INLINE int64_t row_of(const struct text *text, int64_t line, int64_t row) {
    return text->is_of_line ? line : row;
}

/* Bytes that some pieces take at most in a row; -1 where they point beyond what is there. */
static int64_t most_of_texts(const struct writer *writer, const struct text *texts, int64_t n,
                             int64_t line, int64_t row) {
    int64_t most = 0;
    for (const struct text *text = texts; text < texts + n; text++) {
        int64_t at = row_of(text, line, row);
        /* Quotes or brackets, and the longest of a value of fixed size. */
        most += text->key_size + MOST_OF_TIME;
        if (is_span(text)) {
            int64_t count = count_at(text, at), start = load_int64(value_at(&text->values, at));
            if (count <= 0)
                continue;
            if (start < 0 || start > writer->size || count > (writer->size - start) / text->width)
                return -1;
            /* A byte in base64 takes less than 4, a number with its comma 21, a uuid 25. */
            most += count * (text->kind == TEXT_NUMBERS ? MOST_OF_NUMBER + 1
                             : text->kind == TEXT_UUIDS ? MOST_OF_UUID + 1
                                                        : MOST_OF_BYTE);
        } else if (is_structs(text)) {
            int64_t count = count_at(text, at), first = load_int64(value_at(&text->values, at));
            if (count <= 0)
                continue;
            if (first < 0 || first > text->n_elements || count > text->n_elements - first)
                return -1;
            for (int64_t i = first; i < first + count; i++) {
                int64_t of_element =
                    most_of_texts(writer, text->children, text->n_children, line, i);
                if (of_element < 0)
                    return -1;
                most += of_element + 3; /* braces and a comma */
            }
        } else if (text->kind == TEXT_CHOICE) {
            int64_t choice = load_int64(value_at(&text->values, at));
            if (choice < 0 || choice >= text->n_choices)
                return -1;
            most += text->choice_bounds[choice + 1] - text->choice_bounds[choice];
        }
    }
    return most;
}

/* Whether a piece holds its default or nothing, and is left out. */
INLINE bool is_left_out(const struct writer *writer, const struct text *text, int64_t at) {
    if (text->needs_elements)
        return count_at(text, at) <= 0;
    if (!text->has_default)
        return false;
    if (text->kind == TEXT_NUMBER || text->kind == TEXT_BOOL)
        return load_number(value_at(&text->values, at), text->width, text->is_signed) ==
               text->default_number;
    if (text->kind == TEXT_UUID)
        return memcmp(value_at(&text->values, at), text->default_bytes, UUID_SIZE) == 0;
    int64_t count = count_at(text, at);
    if (count <= 0)
        return text->default_number == (count < 0 ? -1 : 0);
    return is_span(text) && count == text->default_number &&
           memcmp(writer->data + load_int64(value_at(&text->values, at)), text->default_bytes,
                  (size_t)(count * text->width)) == 0;
}

static uint8_t *put_texts(struct writer *writer, uint8_t *p, const struct text *texts, int64_t n,
                          int64_t line, int64_t row);

static uint8_t *put_structs(struct writer *writer, uint8_t *p, const struct text *text,
                            int64_t first, int64_t count, int64_t line) {
    bool is_object = text->kind == TEXT_STRUCTS;
    *p++ = '[';
    for (int64_t i = 0; i < count && writer->is_sound; i++) {
        if (i > 0)
            *p++ = ',';
        if (is_object)
            *p++ = '{';
        writer->is_first = true;
        p = put_texts(writer, p, text->children, text->n_children, line, first + i);
        if (is_object)
            *p++ = '}';
    }
    writer->is_first = false;
    *p++ = ']';
    return p;
}

/* A value with a count. */
static uint8_t *put_counted(struct writer *writer, uint8_t *p, const struct text *text,
                            int64_t at, int64_t line) {
    int64_t count = count_at(text, at), start = load_int64(value_at(&text->values, at));
    if (count < 0)
        return put(p, "null", MOST_OF_NULL);
    if (is_structs(text))
        return put_structs(writer, p, text, start, count, line);
    /* An empty one may be said to lie anywhere. */
    const uint8_t *from = count > 0 ? writer->data + start : writer->data;
    if (text->kind == TEXT_STRING)
        return (text->is_bare ? put_bare : put_string)(writer, p, from, count);
    if (text->kind != TEXT_BYTES)
        return put_array(p, text, from, count);
    if (!text->is_bare)
        *p++ = '"';
    p = put_base64(p, from, count, BASE64, true);
    if (!text->is_bare)
        *p++ = '"';
    return p;
}

static uint8_t *put_texts(struct writer *writer, uint8_t *p, const struct text *texts, int64_t n,
                          int64_t line, int64_t row) {
    for (const struct text *text = texts; text < texts + n && writer->is_sound; text++) {
        int64_t at = row_of(text, line, row);
        if (is_left_out(writer, text, at))
            continue;
        int64_t skipped = writer->is_first && text->key_size > 0 && text->key[0] == ',';
        p = put(p, text->key + skipped, text->key_size - skipped);
        writer->is_first = text->kind == TEXT_OPEN;
        const uint8_t *value = text->values.first == NULL ? NULL : value_at(&text->values, at);
        switch (text->kind) {
        case TEXT_LITERAL:
        case TEXT_OPEN:
            break;
        case TEXT_NUMBER:
            p = put_number(p, load_number(value, text->width, text->is_signed));
            break;
        case TEXT_BOOL:
            p = *value ? put(p, "true", 4) : put(p, "false", MOST_OF_BOOL);
            break;
        case TEXT_UUID:
            p = put_uuid(p, value, text->is_bare);
            break;
        case TEXT_TIME:
            p = put_time(p, load_int64(value));
            break;
        case TEXT_CHOICE: {
            const int64_t *bounds = text->choice_bounds + load_int64(value);
            p = put(p, text->choices + bounds[0], bounds[1] - bounds[0]);
            break;
        }
        default:
            p = put_counted(writer, p, text, at, line);
        }
    }
    return p;
}

/* ---- lines --------------------------------------------------------------------------------- */

void metashell_lines(const uint8_t *data, int64_t size, struct line_kind *kinds,
                     const int32_t *kind_of, struct line_cursor *cursor, int64_t end, uint8_t *out,
                     int64_t capacity, int64_t *stops, uint8_t *is_left) {
    struct writer writer = {.data = data, .size = size, .p = out};
    cursor->needed = 0;
    for (; cursor->line < end; cursor->line++) {
        int64_t line = cursor->line;
        struct line_kind *kind = kind_of[line] < 0 ? NULL : &kinds[kind_of[line]];
        writer.is_sound = kind != NULL && kind->row < kind->n_rows;
        if (writer.is_sound) {
            int64_t most = most_of_texts(&writer, kind->texts, kind->n_texts, line, kind->row);
            if (most > capacity - (writer.p - out)) {
                cursor->needed = most;
                break;
            }
            writer.is_sound = most >= 0;
        }
        if (writer.is_sound) {
            uint8_t *behind =
                put_texts(&writer, writer.p, kind->texts, kind->n_texts, line, kind->row);
            if (writer.is_sound)
                writer.p = behind;
        }
        if (kind != NULL)
            kind->row++;
        is_left[line] = !writer.is_sound;
        stops[line] = writer.p - out;
    }
    cursor->written = writer.p - out;
}
