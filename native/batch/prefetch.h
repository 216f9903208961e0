/*
 * Games made ahead. Where generating takes long, a thread makes the next game of each slot while the present one is
 * played. Whether a game came from here or was made when it was needed cannot be told from the game.
 */
#ifndef PZ_PREFETCH_H
#define PZ_PREFETCH_H

#include <stdint.h>

#include "session/internal.h"

typedef struct pz_prefetch pz_prefetch;

/* What makes episode number episode of the stream with this seed. */
typedef int (*pz_maker)(const void *context, uint64_t seed, uint64_t episode, pz_session **game);

pz_prefetch *pz_prefetch_new(int slots, pz_maker make, const void *context);
void pz_prefetch_free(pz_prefetch *prefetch);

/* A fork takes the memory along but no thread: before each job, forget a thread that is not there. */
void pz_prefetch_after_fork(pz_prefetch *prefetch);
/* The same where other threads were at work here too: forget all games, without freeing what may be half written. */
void pz_prefetch_abandon(pz_prefetch *prefetch);

/* Have the thread make this game for a slot, if making games ahead pays. */
void pz_prefetch_request(pz_prefetch *prefetch, int slot, uint64_t seed, uint64_t episode);

/* This game: made ahead, if it was requested, else now. Waits for one that is being made, until cancelled is set. */
int pz_prefetch_take(pz_prefetch *prefetch, int slot, uint64_t seed, uint64_t episode, pz_flag *cancelled,
                     pz_session **game);
/* The same in two parts: the game that was made ahead, or NULL; and how long it took to make one without it. */
pz_session *pz_prefetch_made(pz_prefetch *prefetch, int slot, uint64_t seed, uint64_t episode, pz_flag *cancelled);
void pz_prefetch_count(pz_prefetch *prefetch, double seconds);

#endif
