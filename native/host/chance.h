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

/* Up to eight entries of a mask, which are 0 or 1, in the bytes of a word. */
static inline uint64_t pz_mask_word(const uint8_t *mask, int n)
{
    uint64_t word = 0;
    if (n >= 8) {
        memcpy(&word, mask, 8);
    } else {
        for (int i = 0; i < n; i++) word |= (uint64_t)mask[i] << (8 * i);
    }
    return word;
}

/* A legal one of n actions, each as likely, or -1 where none is. One multiplication sums up eight entries. */
static inline int pz_draw_legal(uint64_t *noise, const uint8_t *mask, int n)
{
    const uint64_t ones = 0x0101010101010101u;
    int legal = 0;
    for (int at = 0; at < n; at += 8) legal += (int)(pz_mask_word(mask + at, n - at) * ones >> 56);
    int pick = pz_draw_below(noise, legal);
    for (int at = 0; at < n; at += 8) {
        const uint64_t sums = pz_mask_word(mask + at, n - at) * ones; /* byte i: how many of 0 to i are legal */
        const int here = (int)(sums >> 56);
        /* The one that is picked stands behind all whose sum it exceeds or reaches: there bit 7 stays set. */
        const uint64_t before = ((uint64_t)(pick | 128) * ones - sums) >> 7 & ones;
        if (pick < here) return at + (int)(before * ones >> 56);
        pick -= here;
    }
    return -1;
}

#endif
