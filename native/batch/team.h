/*
 * A team of threads that waits for jobs; the calling thread works along as member 0.
 *
 * A job is a function over the numbers 0 to n - 1. Each member has its share of them, the same in every job, so that a
 * game stays in the caches of one core. A member that has finished its share helps the others, in small runs, so that
 * slow puzzles and fast ones even out. Nothing depends on which thread does what: results are the same for any number
 * of threads.
 */
#ifndef PZ_TEAM_H
#define PZ_TEAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/claim.h"
#include "host/guard.h"

typedef struct pz_team pz_team;
typedef void (*pz_job)(void *context, int64_t from, int64_t to);

/*
 * How many numbers a member takes at once: a quarter of what is left of a share, within these bounds. Up to alone of
 * them are not worth sharing.
 */
typedef struct pz_grain {
    int64_t least, most, alone;
} pz_grain;

/* 0 threads means one for each core that we may use. NULL when there is no memory. */
pz_team *pz_team_new(int threads);
void pz_team_free(pz_team *team);
int pz_team_size(const pz_team *team);

/*
 * Run a job in pieces, and wait for its end. False in the child of a fork in the middle of it: what
 * the other threads had in hand stays undone.
 */
bool pz_team_run(pz_team *team, pz_job run, void *context, int64_t n, pz_grain grain);
/* The same in two calls: between them the other members work, while the caller does something else. */
void pz_team_begin(pz_team *team, pz_job run, void *context, int64_t n, pz_grain grain);
bool pz_team_end(pz_team *team);

/* Set by anyone who wants the job to end early, and by Ctrl-C; cleared when the next one starts. */
pz_flag *pz_team_cancelled(pz_team *team);

/* Wait for a condition, but not for ever: true when the moment passed without it. */
bool pz_wait_a_moment(pthread_cond_t *condition, pthread_mutex_t *lock);

#endif
