#include "host/claim.h"

PZ_TLS uint64_t pz_thread;
atomic_uint pz_forks;

static _Atomic(uint64_t) next_thread = 1;
/* In the child of a fork: the thread that forked, and the first number that the child gave out itself. */
static uint64_t survivor, first_own;

static void in_the_child(void)
{
    survivor = pz_thread;
    first_own = atomic_load(&next_thread);
    atomic_fetch_add(&pz_forks, 1);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_the_child);
}

uint64_t pz_number_thread(void)
{
    return pz_thread = atomic_fetch_add(&next_thread, 1);
}

static bool lives(uint64_t thread)
{
    return thread >= first_own || thread == survivor;
}

pz_claimed pz_take_from(pz_owner *owner, uint64_t holder)
{
    if (lives(holder)) return PZ_BUSY;
    return atomic_compare_exchange_strong(owner, &holder, pz_this_thread()) ? PZ_ABANDONED : PZ_BUSY;
}

bool pz_is_abandoned(pz_owner *owner)
{
    const uint64_t holder = atomic_load(owner);
    return holder && !lives(holder);
}
