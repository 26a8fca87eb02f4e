/* CRC-32 (IEEE, magic 0 and 1) and CRC-32C (Castagnoli, magic 2), both reflected, over the fastest unit the CPU has:

     AVX-512 + VPCLMULQDQ   folds 4 x 64 bytes at a time        (since Ice Lake, Zen 4)
     AVX2 + VPCLMULQDQ      folds 4 x 32 bytes at a time        (since Alder Lake, Zen 3)
     PCLMULQDQ              folds 4 x 16 bytes at a time        (since Westmere, Bulldozer)
     tables                 8 bytes at a time                   (any CPU, any compiler)

   Folding: a CRC is a remainder modulo a polynomial P, so a block that lies n bits before the end may be replaced by
   its product with x^n mod P. A constant pair holds x^(n+32) and x^(n-32) mod P, bit-reflected and shifted left by one.
   What is left in the end are 96 bits, of which a product with floor(x^96 / P) tells how often P is in them (Barrett).
   Source: V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009.
   docs/decisions/compiled-kernel.md tells why this is not zlib. */

#ifndef STEPDOWN_CRC_H
#define STEPDOWN_CRC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t by_2048[2], by_1024[2];
    uint64_t powers[9];   /* x^544, x^480 … x^32 mod P: from every other one a pair, for 512, 384, 256, 128 bits */
    uint64_t quotient[2]; /* floor(x^96 / P) without its lowest bit, which does not count */
    uint64_t divisor[2];  /* P */
    uint32_t polynomial;
} crc_constants;

static const crc_constants CRC_IEEE = {
    {0x11542778aULL, 0x1322d1430ULL},
    {0x1e88ef372ULL, 0x14a7fe880ULL},
    {0x154442bd4ULL, 0x1c6e41596ULL, 0x03db1ecdcULL, 0x174359406ULL, 0x0f1da05aaULL, 0x15a546366ULL, 0x1751997d0ULL,
     0x0ccaa009eULL, 1},
    {0xb4e5b025f7011641ULL, 0},
    {0x1db710641ULL, 0},
    0xedb88320U,
};
static const crc_constants CRC_CASTAGNOLI = {
    {0x0dcb17aa4ULL, 0x0b9e02b86ULL},
    {0x06992cea2ULL, 0x00d3b6092ULL},
    {0x0740eef02ULL, 0x09e4addf8ULL, 0x01c291d04ULL, 0x1d82c63daULL, 0x1384aa63aULL, 0x0ba4fc28eULL, 0x0f20c0dfeULL,
     0x14cd00bd6ULL, 1},
    {0x4869ec38dea713f1ULL, 0},
    {0x105ec76f1ULL, 0},
    0x82f63b78U,
};

/* --- tables ------------------------------------------------------------------------------------------------------ */

static uint32_t crc_tables[2][8][256];

static void crc_fill_tables(uint32_t tables[8][256], uint32_t polynomial) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (polynomial & (0U - (crc & 1)));
        tables[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = tables[slice - 1][byte];
            tables[slice][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
        }
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *data, size_t size, uint32_t (*t)[256]) {
    for (; size >= 8; data += 8, size -= 8) {
        crc ^= data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
        crc = t[7][crc & 0xff] ^ t[6][crc >> 8 & 0xff] ^ t[5][crc >> 16 & 0xff] ^ t[4][crc >> 24] ^ t[3][data[4]] ^
              t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]];
    }
    while (size--) crc = (crc >> 8) ^ t[0][(crc ^ *data++) & 0xff];
    return crc;
}

/* --- folding ----------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(STEPDOWN_PORTABLE_CRC)
#define CRC_CAN_FOLD 1
#include <immintrin.h>

#define CRC_NARROW __attribute__((target("pclmul,sse4.2")))
#define CRC_HALF_WIDE __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.2")))
#define CRC_WIDE __attribute__((target("avx512f,avx512vl,avx512bw,avx512vbmi2,vpclmulqdq,pclmul,sse4.2")))
#define CRC_INLINE static inline __attribute__((always_inline))

/* The widest way that the CPU has. */
static enum { CRC_TABLES, CRC_FOLDING, CRC_HALF_WIDE_FOLDING, CRC_WIDE_FOLDING } crc_way;

#define CRC_LOAD(at) _mm_loadu_si128((const __m128i *)(at))
#define CRC_FOLD(x, by) _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11))

/* Shuffles bytes to the left or right by reading this from another place; 0x80 makes a zero. */
static const uint8_t CRC_SHIFTS[48] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
};

/* The remainder, 32 bits, of the 96 of `x`. */
CRC_NARROW CRC_INLINE uint32_t crc_divide(__m128i x, const crc_constants *c) {
    const __m128i times = _mm_clmulepi64_si128(x, CRC_LOAD(c->quotient), 0x00);
    x = _mm_xor_si128(x, _mm_clmulepi64_si128(times, CRC_LOAD(c->divisor), 0x00));
    return (uint32_t)_mm_extract_epi32(x, 2);
}

/* Folds `size` more bytes into the 16 of `x`, of which at least 16 bytes lie before data + size, and reduces to 32 bits. */
CRC_NARROW CRC_INLINE uint32_t crc_finish(__m128i x, const uint8_t *data, size_t size, const crc_constants *c) {
    const __m128i by_128 = CRC_LOAD(c->powers + 6);
    for (; size >= 16; data += 16, size -= 16) x = _mm_xor_si128(CRC_FOLD(x, by_128), CRC_LOAD(data));
    if (size) {
        __m128i first = _mm_shuffle_epi8(x, CRC_LOAD(CRC_SHIFTS + size));
        __m128i last = _mm_shuffle_epi8(x, CRC_LOAD(CRC_SHIFTS + 16 + size));
        __m128i tail = CRC_LOAD(data + size - 16);
        __m128i is_tail = _mm_cmpgt_epi8(_mm_setzero_si128(), CRC_LOAD(CRC_SHIFTS + 16 + size));
        last = _mm_or_si128(last, _mm_and_si128(is_tail, tail));
        x = _mm_xor_si128(CRC_FOLD(first, by_128), last);
    }
    return crc_divide(_mm_xor_si128(_mm_clmulepi64_si128(x, by_128, 0x10), _mm_srli_si128(x, 8)), c);
}

/* size >= 16 */
CRC_NARROW static uint32_t crc_by_folding(uint32_t crc, const uint8_t *data, size_t size, const crc_constants *c) {
    __m128i x = _mm_xor_si128(CRC_LOAD(data), _mm_cvtsi32_si128((int)crc));
    if (size < 128) return crc_finish(x, data + 16, size - 16, c);
    const __m128i by_512 = CRC_LOAD(c->powers);
    __m128i y = CRC_LOAD(data + 16), z = CRC_LOAD(data + 32), w = CRC_LOAD(data + 48);
    for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
        x = _mm_xor_si128(CRC_FOLD(x, by_512), CRC_LOAD(data));
        y = _mm_xor_si128(CRC_FOLD(y, by_512), CRC_LOAD(data + 16));
        z = _mm_xor_si128(CRC_FOLD(z, by_512), CRC_LOAD(data + 32));
        w = _mm_xor_si128(CRC_FOLD(w, by_512), CRC_LOAD(data + 48));
    }
    w = _mm_xor_si128(w, CRC_FOLD(x, CRC_LOAD(c->powers + 2)));
    w = _mm_xor_si128(w, CRC_FOLD(y, CRC_LOAD(c->powers + 4)));
    w = _mm_xor_si128(w, CRC_FOLD(z, CRC_LOAD(c->powers + 6)));
    return crc_finish(w, data, size, c);
}

#define CRC_LOAD_HALF(at) _mm256_loadu_si256((const __m256i *)(at))
#define CRC_FOLD_HALF(x, by, next)                                                                                     \
    _mm256_xor_si256(                                                                                                  \
        _mm256_xor_si256(_mm256_clmulepi64_epi128(x, by, 0x00), _mm256_clmulepi64_epi128(x, by, 0x11)), next)

/* size >= 32 */
CRC_HALF_WIDE CRC_INLINE uint32_t crc_half_folded(uint32_t crc, const uint8_t *data, size_t size, const crc_constants *c) {
    const __m128i by_128 = CRC_LOAD(c->powers + 6);
    const __m256i by_256 = _mm256_broadcastsi128_si256(CRC_LOAD(c->powers + 4));
    __m256i x = _mm256_xor_si256(CRC_LOAD_HALF(data), _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)crc)));
    data += 32, size -= 32;
    if (size >= 224) {
        const __m256i by_1024 = _mm256_broadcastsi128_si256(CRC_LOAD(c->by_1024));
        __m256i y = CRC_LOAD_HALF(data), z = CRC_LOAD_HALF(data + 32), w = CRC_LOAD_HALF(data + 64);
        for (data += 96, size -= 96; size >= 128; data += 128, size -= 128) {
            x = CRC_FOLD_HALF(x, by_1024, CRC_LOAD_HALF(data));
            y = CRC_FOLD_HALF(y, by_1024, CRC_LOAD_HALF(data + 32));
            z = CRC_FOLD_HALF(z, by_1024, CRC_LOAD_HALF(data + 64));
            w = CRC_FOLD_HALF(w, by_1024, CRC_LOAD_HALF(data + 96));
        }
        y = CRC_FOLD_HALF(x, by_256, y);
        z = CRC_FOLD_HALF(y, by_256, z);
        x = CRC_FOLD_HALF(z, by_256, w);
    }
    for (; size >= 32; data += 32, size -= 32) x = CRC_FOLD_HALF(x, by_256, CRC_LOAD_HALF(data));
    const __m128i last = _mm256_extracti128_si256(x, 1);
    return crc_finish(_mm_xor_si128(CRC_FOLD(_mm256_castsi256_si128(x), by_128), last), data, size, c);
}

CRC_HALF_WIDE static uint32_t crc_by_half_wide_folding(
    uint32_t crc, const uint8_t *data, size_t size, const crc_constants *c) {
    return crc_half_folded(crc, data, size, c);
}

#define CRC_LOAD_WIDE(at) _mm512_loadu_si512((const void *)(at))
#define CRC_WIDEN(number) _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)(number)))
#define CRC_FOLD_WIDE(x, by, next)                                                                                     \
    _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, by, 0x00), _mm512_clmulepi64_epi128(x, by, 0x11), next, 0x96)

/* size >= 4. The first block has what is too much for whole ones, behind zeros, which do not count. */
CRC_WIDE CRC_INLINE uint32_t crc_wide_folded(uint32_t crc, const uint8_t *data, size_t size, const crc_constants *c) {
    const __m512i by_512 = _mm512_broadcast_i32x4(CRC_LOAD(c->powers));
    const size_t lead = (size - 1) % 64 + 1;
    __m512i x = size < 64 ? _mm512_maskz_loadu_epi8(~0ULL >> (64 - size), data) : CRC_LOAD_WIDE(data);
    x = _mm512_xor_si512(x, CRC_WIDEN(crc));
    x = _mm512_maskz_expand_epi8(~0ULL << (64 - lead), x);
    data += lead, size -= lead;
    if (lead < 4) { /* the rest of the start goes into the next block */
        x = CRC_FOLD_WIDE(x, by_512, _mm512_xor_si512(CRC_LOAD_WIDE(data), CRC_WIDEN(crc >> 8 * lead)));
        data += 64, size -= 64;
    }
    if (size >= 448) {
        const __m512i by_2048 = _mm512_broadcast_i32x4(CRC_LOAD(c->by_2048));
        __m512i y = CRC_LOAD_WIDE(data), z = CRC_LOAD_WIDE(data + 64), w = CRC_LOAD_WIDE(data + 128);
        for (data += 192, size -= 192; size >= 256; data += 256, size -= 256) {
            x = CRC_FOLD_WIDE(x, by_2048, CRC_LOAD_WIDE(data));
            y = CRC_FOLD_WIDE(y, by_2048, CRC_LOAD_WIDE(data + 64));
            z = CRC_FOLD_WIDE(z, by_2048, CRC_LOAD_WIDE(data + 128));
            w = CRC_FOLD_WIDE(w, by_2048, CRC_LOAD_WIDE(data + 192));
        }
        y = CRC_FOLD_WIDE(x, by_512, y);
        z = CRC_FOLD_WIDE(y, by_512, z);
        x = CRC_FOLD_WIDE(z, by_512, w);
    }
    for (; size; data += 64, size -= 64) x = CRC_FOLD_WIDE(x, by_512, CRC_LOAD_WIDE(data));
    x = CRC_FOLD_WIDE(x, CRC_LOAD_WIDE(c->powers + 1), _mm512_setzero_si512()); /* 96 bits in each quarter */
    __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    return crc_divide(_mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)), c);
}

CRC_WIDE static uint32_t crc_by_wide_folding(uint32_t crc, const uint8_t *data, size_t size, const crc_constants *c) {
    return crc_wide_folded(crc, data, size, c);
}
#endif

/* --- what the kernel calls --------------------------------------------------------------------------------------- */

/* Must be called once before the others. */
static inline void crc_prepare(void) {
    crc_fill_tables(crc_tables[0], CRC_IEEE.polynomial);
    crc_fill_tables(crc_tables[1], CRC_CASTAGNOLI.polynomial);
#ifdef CRC_CAN_FOLD
    __builtin_cpu_init();
    crc_way = CRC_TABLES;
    if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.2")) return;
    crc_way = CRC_FOLDING;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("vpclmulqdq")) return;
    crc_way = CRC_HALF_WIDE_FOLDING;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vbmi2"))
        return;
    crc_way = CRC_WIDE_FOLDING;
#endif
}

static inline uint32_t crc_update(uint32_t crc, const uint8_t *data, size_t size, const crc_constants *c, int table) {
    crc = ~crc;
#ifdef CRC_CAN_FOLD
    if (size >= 4 && crc_way == CRC_WIDE_FOLDING) return ~crc_by_wide_folding(crc, data, size, c);
    if (size >= 32 && crc_way == CRC_HALF_WIDE_FOLDING) return ~crc_by_half_wide_folding(crc, data, size, c);
    if (size >= 16 && crc_way >= CRC_FOLDING) return ~crc_by_folding(crc, data, size, c);
#endif
    return ~crc_by_table(crc, data, size, crc_tables[table]);
}

static inline uint32_t crc32_update(uint32_t crc, const uint8_t *data, size_t size) {
    return crc_update(crc, data, size, &CRC_IEEE, 0);
}

static inline uint32_t crc32c_update(uint32_t crc, const uint8_t *data, size_t size) {
    return crc_update(crc, data, size, &CRC_CASTAGNOLI, 1);
}

/* --- a message's checksum ---------------------------------------------------------------------------------------- */

/* Where a message of magic 0 or 1 has its size and its CRC-32, and from where on they count. */
enum { CRC_MESSAGE_SIZE = 8, CRC_MESSAGE_SUM = 12, CRC_MESSAGE_SUMMED = 16 };

static inline uint8_t *crc_message_end(uint8_t *message) {
    const uint8_t *size = message + CRC_MESSAGE_SIZE;
    return message + CRC_MESSAGE_SUM +
           ((uint32_t)size[0] << 24 | (uint32_t)size[1] << 16 | (uint32_t)size[2] << 8 | size[3]);
}

static inline void crc_message_seal(uint8_t *message, uint32_t crc) {
    uint8_t *sum = message + CRC_MESSAGE_SUM;
    sum[0] = (uint8_t)(crc >> 24), sum[1] = (uint8_t)(crc >> 16), sum[2] = (uint8_t)(crc >> 8), sum[3] = (uint8_t)crc;
}

/* In a loop that does nothing else several messages are in the CPU's works at a time. */
#define CRC_SEAL(message, end, sum)                                                                                    \
    for (uint8_t *next; message < end; message = next) {                                                               \
        next = crc_message_end(message);                                                                               \
        const uint8_t *data = message + CRC_MESSAGE_SUMMED;                                                            \
        const size_t size = (size_t)(next - data);                                                                     \
        crc_message_seal(message, sum);                                                                                \
    }

#ifdef CRC_CAN_FOLD
CRC_WIDE static void crc_seal_by_wide_folding(uint8_t *message, const uint8_t *end) {
    CRC_SEAL(message, end, ~crc_wide_folded(~0U, data, size, &CRC_IEEE))
}

CRC_HALF_WIDE static void crc_seal_by_half_wide_folding(uint8_t *message, const uint8_t *end) {
    CRC_SEAL(message, end, size < 32 ? crc32_update(0, data, size) : ~crc_half_folded(~0U, data, size, &CRC_IEEE))
}
#endif

/* Puts its checksum into each of the messages, whole ones, of which there are so many bytes. */
static inline void crc32_seal(uint8_t *message, size_t total) {
    const uint8_t *end = message + total;
#ifdef CRC_CAN_FOLD
    if (crc_way == CRC_WIDE_FOLDING) {
        crc_seal_by_wide_folding(message, end);
        return;
    }
    if (crc_way == CRC_HALF_WIDE_FOLDING) {
        crc_seal_by_half_wide_folding(message, end);
        return;
    }
#endif
    CRC_SEAL(message, end, crc32_update(0, data, size))
}

#endif
