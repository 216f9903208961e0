/* Chance for policies and searches; that of the puzzles themselves is the engine's. */
#ifndef PZ_CHANCE_H
#define PZ_CHANCE_H

#include <stdint.h>
#include <string.h>

/* Sebastiano Vigna's SplitMix64: one multiplication chain per number, any seed is good. */
static inline uint64_t pz_draw(uint64_t *noise)
{
    uint64_t z = *noise += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline int pz_draw_below(uint64_t *noise, int limit)
{
    return (int)(((pz_draw(noise) >> 32) * (uint64_t)limit) >> 32);
}

/* Entry at of a mask and up to seven behind it, which are 0 or 1, in the bytes of a word; n is the size of the mask. */
static inline uint64_t pz_mask_word(const uint8_t *mask, int at, int n)
{
    uint64_t word = 0;
    const int left = n - at;
    if (left >= 8) {
        memcpy(&word, mask + at, 8);
    } else if (n >= 8) { /* the last eight, without those before */
        memcpy(&word, mask + n - 8, 8);
        word >>= 8 * (8 - left);
    } else if (n >= 4) { /* the first four and the last four, which may overlap */
        uint32_t first, last;
        memcpy(&first, mask, 4);
        memcpy(&last, mask + n - 4, 4);
        word = first | (uint64_t)last << (8 * (n - 4));
    } else {
        for (int i = 0; i < n; i++) word |= (uint64_t)mask[i] << (8 * i);
    }
    return word;
}

/* Legal entry number pick of a word; byte i of its sums says how many of the entries 0 to i are legal. */
static inline int pz_legal_at(uint64_t sums, int pick)
{
    const uint64_t ones = 0x0101010101010101u;
    /* It stands behind all whose sum it exceeds or reaches: there bit 7 stays set. */
    const uint64_t before = ((uint64_t)(pick | 128) * ones - sums) >> 7 & ones;
    return (int)(before * ones >> 56);
}

/* A legal one of n actions, each as likely, or -1 where none is. One multiplication sums up eight entries. */
static inline int pz_draw_legal(uint64_t *noise, const uint8_t *mask, int n)
{
    const uint64_t ones = 0x0101010101010101u;
    if (n <= 16) { /* without a branch on what is drawn, which no processor foresees */
        const uint64_t first = pz_mask_word(mask, 0, n) * ones, last = n > 8 ? pz_mask_word(mask, 8, n) * ones : 0;
        const int in_first = (int)(first >> 56), legal = in_first + (int)(last >> 56);
        const int pick = pz_draw_below(noise, legal), behind = pick >= in_first;
        const uint64_t sums = first ^ ((first ^ last) & -(uint64_t)behind);
        return legal ? 8 * behind + pz_legal_at(sums, pick - (in_first & -behind)) : -1;
    }
    int legal = 0;
    for (int at = 0; at < n; at += 8) legal += (int)(pz_mask_word(mask, at, n) * ones >> 56);
    int pick = pz_draw_below(noise, legal);
    for (int at = 0; at < n; at += 8) {
        const uint64_t sums = pz_mask_word(mask, at, n) * ones;
        const int here = (int)(sums >> 56);
        if (pick < here) return at + pz_legal_at(sums, pick);
        pick -= here;
    }
    return -1;
}

#endif
