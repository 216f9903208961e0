/* The plain loop that the benchmark compares with. */
#ifndef PZ_BENCH_H
#define PZ_BENCH_H

#include "session.h"

/*
 * Step one session with random actions for so many seconds; count the steps, and how many of them had an effect.
 */
enum pz_loop { PZ_LOOP_STEP = 0, PZ_LOOP_STEP_MASK = 1 };
typedef struct pz_loop_result {
    int64_t steps, changed;
    double by_clock, by_processor; /* seconds that they took, the first game's making apart */
    double resetting;              /* how many of the latter went into the games after it */
} pz_loop_result;

int pz_loop(const pz_puzzle *puzzle, const char *params, uint64_t seed, int what, double seconds,
            pz_loop_result *result);

#endif
