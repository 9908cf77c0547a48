/*
 * CRC-32C (Castagnoli), with which Kafka sums up record batches.
 *
 * x86-64 has had an instruction for it since SSE4.2, AArch64 in an extension that nearly every
 * processor has. Functions that use one are compiled for it by an attribute and called only where the
 * processor says that it has it, so the library runs everywhere.
 */
#include "kernel.h"

#define POLYNOMIAL UINT32_C(0x82F63B78) /* bits reversed */

/* TABLES[k][b]: what byte b becomes when k bytes follow it. */
static uint32_t tables[8][256];

static void make_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (POLYNOMIAL & -(crc & 1));
        tables[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int k = 1; k < 8; k++)
            tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFF];
}

uint32_t metashell_crc32c_by_table(const uint8_t *data, int64_t size) {
    uint32_t crc = UINT32_MAX;
    for (; size >= 8; size -= 8, data += 8) {
        uint64_t word;
        memcpy(&word, data, sizeof word);
        word ^= crc;
        crc = tables[7][word & 0xFF] ^ tables[6][(word >> 8) & 0xFF] ^
              tables[5][(word >> 16) & 0xFF] ^ tables[4][(word >> 24) & 0xFF] ^
              tables[3][(word >> 32) & 0xFF] ^ tables[2][(word >> 40) & 0xFF] ^
              tables[1][(word >> 48) & 0xFF] ^ tables[0][word >> 56];
    }
    for (; size > 0; size--, data++)
        crc = (crc >> 8) ^ tables[0][(crc ^ *data) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__)

#include <cpuid.h>

static bool has_instruction(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}

/* Clang knows the instruction by a name of its own. */
#if defined(__clang__)
#define WITH_INSTRUCTION __attribute__((target("crc32")))
#else
#define WITH_INSTRUCTION __attribute__((target("sse4.2")))
#endif
#define CRC_OF_8(crc, word) (uint32_t) __builtin_ia32_crc32di((crc), (word))
#define CRC_OF_1(crc, byte) __builtin_ia32_crc32qi((crc), (byte))

#elif defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))

#if defined(__linux__)
#include <sys/auxv.h>
#define HWCAP_OF_CRC32 (1UL << 7)
static bool has_instruction(void) { return getauxval(AT_HWCAP) & HWCAP_OF_CRC32; }
#else
static bool has_instruction(void) { return true; } /* each of Apple's has it */
#endif

#if defined(__clang__)
#define WITH_INSTRUCTION __attribute__((target("crc")))
#define CRC_OF_8(crc, word) __builtin_arm_crc32cd((crc), (word))
#define CRC_OF_1(crc, byte) __builtin_arm_crc32cb((crc), (byte))
#else
#define WITH_INSTRUCTION __attribute__((target("+crc")))
#define CRC_OF_8(crc, word) __builtin_aarch64_crc32cx((crc), (word))
#define CRC_OF_1(crc, byte) __builtin_aarch64_crc32cb((crc), (byte))
#endif

#endif

#if defined(WITH_INSTRUCTION)

/*
 * The instruction takes eight bytes and can begin once a cycle, but its result takes three. So three
 * lanes of LANE bytes are summed side by side; a sum is then moved over the bytes of the lanes behind
 * it as if these were zeros, which is linear in its bits: four look-ups.
 */
enum { LANE = 512, LINE = 64 };

/* AFTER_LANE[k][b]: what byte k of a sum becomes over LANE zeros, if it is b and the others are 0. */
static uint32_t after_lane[4][256];
static bool by_instruction;

static void make_lane_tables(void) {
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = UINT32_C(1) << bit;
        for (int i = 0; i < LANE; i++)
            crc = (crc >> 8) ^ tables[0][crc & 0xFF];
        for (uint32_t byte = 0; byte < 256; byte++)
            if (byte >> (bit % 8) & 1)
                after_lane[bit / 8][byte] ^= crc;
    }
}

INLINE uint32_t over_lane(uint32_t crc) {
    return after_lane[0][crc & 0xFF] ^ after_lane[1][(crc >> 8) & 0xFF] ^
           after_lane[2][(crc >> 16) & 0xFF] ^ after_lane[3][crc >> 24];
}

WITH_INSTRUCTION static uint32_t crc32c_by_instruction(const uint8_t *data, int64_t size) {
    uint32_t crc = UINT32_MAX;
    for (; size >= 3 * LANE; size -= 3 * LANE, data += 3 * LANE) {
        uint32_t second = 0, third = 0;
        for (int line = 0; line < 3 * LANE; line += LINE)
            fetch_early(data + line, 3 * LANE);
        for (int i = 0; i < LANE; i += 8) {
            crc = CRC_OF_8(crc, load_le64(data + i));
            second = CRC_OF_8(second, load_le64(data + LANE + i));
            third = CRC_OF_8(third, load_le64(data + 2 * LANE + i));
        }
        crc = over_lane(over_lane(crc) ^ second) ^ third;
    }
    for (; size >= 8; size -= 8, data += 8)
        crc = CRC_OF_8(crc, load_le64(data));
    for (; size > 0; size--, data++)
        crc = CRC_OF_1(crc, *data);
    return ~crc;
}

uint32_t metashell_crc32c(const uint8_t *data, int64_t size) {
    return by_instruction ? crc32c_by_instruction(data, size)
                          : metashell_crc32c_by_table(data, size);
}

/* Run when the library is loaded, before anybody calls: no thread meets half a table. */
__attribute__((constructor)) static void prepare(void) {
    make_tables();
    make_lane_tables();
    by_instruction = has_instruction();
}

#else

uint32_t metashell_crc32c(const uint8_t *data, int64_t size) {
    return metashell_crc32c_by_table(data, size);
}

__attribute__((constructor)) static void prepare(void) { make_tables(); }

#endif
