/*
 * Claims: one thread at a time works in a session, a batch or a search, and a second one is refused.
 *
 * A claim holds the number of its thread. A fork copies claims but not threads: in the child only the thread that
 * forked lives on, and what any other thread had claimed is abandoned, perhaps in the middle of a write.
 */
#ifndef PZ_CLAIM_H
#define PZ_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/guard.h"

typedef _Atomic(uint64_t) pz_owner; /* the number of a thread; 0 for none */
typedef enum pz_claimed { PZ_CLAIMED, PZ_BUSY, PZ_ABANDONED } pz_claimed;

enum { PZ_FORKED = -1 }; /* the fault of what a fork abandoned: nothing of it may be read, not even to free it */

extern PZ_TLS uint64_t pz_thread; /* the number of this thread, 0 until it is asked for */
uint64_t pz_number_thread(void);

/* How many forks lie between the first process and this one: tells whether threads that were started are still here. */
extern atomic_uint pz_forks;

static inline uint64_t pz_this_thread(void)
{
    return pz_thread ? pz_thread : pz_number_thread();
}

/* Where somebody has the claim already: refused, or taken over from a thread that no longer exists. */
pz_claimed pz_take_from(pz_owner *owner, uint64_t holder);

static inline pz_claimed pz_take(pz_owner *owner)
{
    uint64_t holder = 0;
    if (atomic_compare_exchange_strong_explicit(owner, &holder, pz_this_thread(), memory_order_acquire,
                                                memory_order_relaxed))
        return PZ_CLAIMED;
    return pz_take_from(owner, holder);
}

static inline void pz_let_go(pz_owner *owner)
{
    atomic_store_explicit(owner, 0, memory_order_release);
}

static inline bool pz_is_mine(pz_owner *owner)
{
    return atomic_load_explicit(owner, memory_order_relaxed) == pz_this_thread();
}

/* Whether a thread that a fork left behind has the claim. */
bool pz_is_abandoned(pz_owner *owner);

#endif
