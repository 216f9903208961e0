/* How episodes stand after a step, as frameworks take it: an array for each question, any of them NULL. */
#ifndef PZ_ENDS_H
#define PZ_ENDS_H

#include "batch.h"

static inline void pz_write_flag(uint8_t *to, int64_t at, bool flag)
{
    if (to) to[at] = flag;
}

static inline void pz_write_ends(const pz_ends *to, int64_t at, const pz_outcome *outcome)
{
    pz_write_flag(to->terminated, at, outcome->ended == PZ_TERMINATED);
    pz_write_flag(to->truncated, at, outcome->ended == PZ_TRUNCATED);
    pz_write_flag(to->done, at, outcome->ended);
    pz_write_flag(to->solved, at, outcome->status > 0);
    if (to->lengths) to->lengths[at] = outcome->steps;
}

#endif
