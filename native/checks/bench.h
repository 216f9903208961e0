/* The plain loop that the benchmark compares with. */
#ifndef PZ_BENCH_H
#define PZ_BENCH_H

#include "session.h"

/*
 * Step one session with random actions for so many seconds; count the steps, and how many of them had an effect.
 */
enum pz_loop { PZ_LOOP_STEP = 0, PZ_LOOP_STEP_MASK = 1 };
int pz_loop(const pz_puzzle *puzzle, const char *params, uint64_t seed, int what, double seconds, int64_t *steps,
            int64_t *changed);

#endif
