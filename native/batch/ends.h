/* How episodes stand after a step, as frameworks take it: an array for each question, any of them NULL. */
#ifndef PZ_ENDS_H
#define PZ_ENDS_H

#include "batch.h"

static inline void pz_write_flag(uint8_t *to, int64_t at, bool flag)
{
    if (to) to[at] = flag;
}

/* Both by value: what is written are bytes, and for all that a compiler knows these might lie among them. */
static inline void pz_write_ends(pz_ends to, int64_t at, pz_outcome outcome)
{
    pz_write_flag(to.terminated, at, outcome.ended == PZ_TERMINATED);
    pz_write_flag(to.truncated, at, outcome.ended == PZ_TRUNCATED);
    pz_write_flag(to.done, at, outcome.ended);
    pz_write_flag(to.solved, at, outcome.status > 0);
    pz_write_flag(to.first, at, !outcome.steps);
    if (to.lengths) to.lengths[at] = outcome.steps;
    if (to.repeats) to.repeats[at] = outcome.repeats;
}

#endif
