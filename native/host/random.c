/*
 * The engine's random generator, with fuel burnt at each draw: generators that never end still draw. Its numbers are
 * SHA-1 digests of the seed and a counter, which are a good part of making a small game. Where the processor has
 * instructions for them, the same digests come from there; elsewhere from the engine.
 */
#define random_new engine_random_new
#define random_bits engine_random_bits
#define random_upto engine_random_upto
#include <random.c>
#undef random_new
#undef random_bits
#undef random_upto
#undef for
#undef while

#if defined __x86_64__ && defined __GNUC__
#include <cpuid.h>
#include <immintrin.h>

enum { BLOCK = 64, LONGEST = BLOCK - 9 }; /* bytes: what fits into one block with its end mark and length */

static bool has_sha;

__attribute__((constructor)) static void look_for_sha(void)
{
    unsigned a, b, c, d;
    has_sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* Five times four rounds of SHA-1; the schedule of a word is worked out just before it is needed. */
#define FOUR_ROUNDS(i, kind) \
    do { \
        if ((i) >= 4) \
            w[(i) & 3] = _mm_sha1msg2_epu32( \
                _mm_xor_si128(_mm_sha1msg1_epu32(w[(i) & 3], w[((i) + 1) & 3]), w[((i) + 2) & 3]), w[((i) + 3) & 3]); \
        e = (i) ? _mm_sha1nexte_epu32(e, w[(i) & 3]) : _mm_add_epi32(e, w[0]); \
        const __m128i before = abcd; \
        abcd = _mm_sha1rnds4_epu32(abcd, e, kind); \
        e = before; \
    } while (0)
#define TWENTY_ROUNDS(kind) \
    do { \
        FOUR_ROUNDS(5 * (kind), kind); \
        FOUR_ROUNDS(5 * (kind) + 1, kind); \
        FOUR_ROUNDS(5 * (kind) + 2, kind); \
        FOUR_ROUNDS(5 * (kind) + 3, kind); \
        FOUR_ROUNDS(5 * (kind) + 4, kind); \
    } while (0)

/* The digest of at most LONGEST bytes. */
__attribute__((target("sha,sse4.1"))) static void sha1(const void *bytes, int length, unsigned char *digest)
{
    unsigned char block[BLOCK] = {0};
    memcpy(block, bytes, (size_t)length);
    block[length] = 0x80;
    block[BLOCK - 2] = (unsigned char)(length >> 5);
    block[BLOCK - 1] = (unsigned char)(length << 3);
    const __m128i reversed = _mm_set_epi64x(0x0001020304050607, 0x08090A0B0C0D0E0F);
    __m128i w[4];
    for (int i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)), reversed);
    const __m128i first = _mm_set_epi32(0x67452301, (int)0xEFCDAB89, (int)0x98BADCFE, 0x10325476);
    const __m128i fifth = _mm_set_epi32((int)0xC3D2E1F0, 0, 0, 0);
    __m128i abcd = first, e = fifth;
    TWENTY_ROUNDS(0);
    TWENTY_ROUNDS(1);
    TWENTY_ROUNDS(2);
    TWENTY_ROUNDS(3);
    e = _mm_sha1nexte_epu32(e, fifth);
    abcd = _mm_add_epi32(abcd, first);
    _mm_storeu_si128((__m128i *)(void *)digest, _mm_shuffle_epi8(abcd, reversed));
    const uint32_t last = __builtin_bswap32((uint32_t)_mm_extract_epi32(e, 3));
    memcpy(digest + 16, &last, sizeof last);
}

static void digest(const void *bytes, int length, unsigned char *to)
{
    if (has_sha && length <= LONGEST)
        sha1(bytes, length, to);
    else
        SHA_Simple(bytes, length, to);
}

#else

static void digest(const void *bytes, int length, unsigned char *to)
{
    SHA_Simple(bytes, length, to);
}

#endif

random_state *random_new(const char *seed, int length)
{
    random_state *state = snew(random_state);
    digest(seed, length, state->seedbuf);
    digest(state->seedbuf, 20, state->seedbuf + 20);
    digest(state->seedbuf, 40, state->databuf);
    state->pos = 0;
    return state;
}

static unsigned next_byte(random_state *state)
{
    if (state->pos >= 20) {
        /* The seed's first half is the counter, its lowest byte first. */
        for (int i = 0; i < 20 && !++state->seedbuf[i]; i++) continue;
        digest(state->seedbuf, 40, state->databuf);
        state->pos = 0;
    }
    return state->databuf[state->pos++];
}

unsigned long random_bits(random_state *state, int bits)
{
    unsigned long drawn = 0;
    pz_tick();
    for (int n = 0; n < bits; n += 8) drawn = drawn << 8 | next_byte(state);
    return drawn & ((1UL << (bits - 1)) * 2 - 1);
}

unsigned long random_upto(random_state *state, unsigned long limit)
{
    pz_tick();
    if (!limit || limit >> 28) return engine_random_upto(state, limit); /* which complains */
    const int bits = 32 - __builtin_clz((unsigned)limit) + 3;
    const uint32_t share = (1U << bits) / (uint32_t)limit, most = share * (uint32_t)limit;
    uint32_t drawn;
    do drawn = (uint32_t)random_bits(state, bits);
    while (drawn >= most);
    return drawn / share;
}
