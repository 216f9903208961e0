/* Chance for policies and searches; that of the puzzles themselves is the engine's. */
#ifndef PZ_CHANCE_H
#define PZ_CHANCE_H

#include <stdint.h>

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

#endif
