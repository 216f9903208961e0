#include "batch/prefetch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "batch/team.h"

/*
 * Above this time a game is worth making ahead; below, handing it over costs as much. Where only one is played there is
 * nobody else whose processor the maker takes. A time is counted up to a bound: what is longer may be the time of
 * another process.
 */
static const int64_t worth_it = 100 * 1000, worth_it_for_one = 40 * 1000, most_counted = 1000 * 1000; /* nanoseconds */

typedef enum progress { IDLE, REQUESTED, BEING_MADE, READY } progress;

/* The next game of one slot. */
typedef struct request {
    _Atomic(progress) progress; /* from IDLE only the slot's own thread takes it on; the rest changes under the lock */
    uint64_t seed, episode;
    pz_session *game;
} request;

struct pz_prefetch {
    pz_maker make;
    const void *context;
    int slots;
    request *requests;
    atomic_int_fast64_t spent; /* nanoseconds, by the slots themselves, on as many games as made */
    atomic_int_fast64_t made;
    pthread_mutex_t lock;
    pthread_cond_t requested, finished;
    pthread_t thread;
    bool has_thread;
    unsigned forks; /* of the process that has the thread */
    pz_flag quit;
    int at; /* where the thread looks next */
};

pz_prefetch *pz_prefetch_new(int slots, pz_maker make, const void *context)
{
    pz_prefetch *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->make = make;
    p->context = context;
    p->slots = slots;
    p->requests = calloc((size_t)slots, sizeof *p->requests);
    if (!p->requests) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->requested, NULL);
    pthread_cond_init(&p->finished, NULL);
    return p;
}

static void forget_thread(pz_prefetch *p)
{
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->requested, NULL);
    pthread_cond_init(&p->finished, NULL);
    p->has_thread = false;
}

static bool forked(const pz_prefetch *p)
{
    return p->has_thread && p->forks != pz_forks;
}

void pz_prefetch_after_fork(pz_prefetch *p)
{
    if (!forked(p)) return;
    forget_thread(p);
    for (int at = 0; at < p->slots; at++)
        if (p->requests[at].progress == BEING_MADE) p->requests[at].progress = IDLE;
}

void pz_prefetch_abandon(pz_prefetch *p)
{
    forget_thread(p);
    for (int at = 0; at < p->slots; at++) {
        p->requests[at].progress = IDLE;
        p->requests[at].game = NULL;
    }
}

void pz_prefetch_free(pz_prefetch *p)
{
    if (!p) return;
    pz_prefetch_after_fork(p);
    if (p->has_thread) {
        pthread_mutex_lock(&p->lock);
        p->quit = true;
        pthread_cond_signal(&p->requested);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    for (int at = 0; at < p->slots; at++) pz_session_free(p->requests[at].game);
    pthread_mutex_destroy(&p->lock);
    free(p->requests);
    free(p);
}

/* Making games ahead must not take time from stepping: the thread that calls this gets what the others leave. */
static void yield_to_others(void)
{
#ifdef __linux__
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
#endif
}

/* The next slot that waits for its game, or NULL. */
static request *next_request(pz_prefetch *p)
{
    for (int looked = 0; looked < p->slots; looked++) {
        request *r = &p->requests[p->at];
        if (r->progress == REQUESTED) return r;
        p->at = (p->at + 1) % p->slots;
    }
    return NULL;
}

static void *make_games(void *argument)
{
    pz_prefetch *p = argument;
    if (p->slots > 1) yield_to_others(); /* a single session has nothing to do while it waits for its game */
    pz_become_worker(&p->quit);
    pthread_mutex_lock(&p->lock);
    while (!p->quit) {
        request *r = next_request(p);
        if (!r) {
            pthread_cond_wait(&p->requested, &p->lock);
            continue;
        }
        const uint64_t seed = r->seed, episode = r->episode;
        r->progress = BEING_MADE;
        pthread_mutex_unlock(&p->lock);
        pz_session *game = NULL;
        int error = p->make(p->context, seed, episode, &game);
        pthread_mutex_lock(&p->lock);
        if (r->progress == BEING_MADE && r->seed == seed && r->episode == episode) {
            r->game = game;
            r->progress = error ? IDLE : READY; /* the slot itself will meet the error, and report it */
        } else {
            pz_session_free(game);
        }
        pthread_cond_broadcast(&p->finished);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void pz_prefetch_request(pz_prefetch *p, int slot, uint64_t seed, uint64_t episode)
{
    if (p->spent <= (p->slots > 1 ? worth_it : worth_it_for_one) * p->made) return;
    request *r = &p->requests[slot];
    pthread_mutex_lock(&p->lock);
    if (!p->has_thread) {
        p->forks = pz_forks;
        p->has_thread = !pthread_create(&p->thread, NULL, make_games, p);
    }
    pz_session_free(r->game);
    r->game = NULL;
    r->progress = p->has_thread ? REQUESTED : IDLE;
    r->seed = seed;
    r->episode = episode;
    pthread_cond_signal(&p->requested);
    pthread_mutex_unlock(&p->lock);
}

pz_session *pz_prefetch_made(pz_prefetch *p, int slot, uint64_t seed, uint64_t episode, pz_flag *cancelled)
{
    request *r = &p->requests[slot];
    pz_session *game = NULL;
    if (r->progress == IDLE) return NULL;
    pthread_mutex_lock(&p->lock);
    if (r->seed == seed && r->episode == episode) {
        while (r->progress == BEING_MADE && !*cancelled) {
            if (!pz_wait_a_moment(&p->finished, &p->lock)) continue;
            pthread_mutex_unlock(&p->lock); /* the host's lock and ours are never held together */
            if (pz_wants_out()) *cancelled = true;
            if (forked(p)) return NULL; /* by a signal handler, right now: the thread that we wait for is not here */
            pthread_mutex_lock(&p->lock);
        }
        if (r->progress == READY) game = r->game;
        if (game) r->game = NULL;
    }
    r->progress = IDLE; /* what is still requested, or was made for another stream, is of no use any more */
    pthread_mutex_unlock(&p->lock);
    return game;
}

void pz_prefetch_count(pz_prefetch *p, double seconds)
{
    const int64_t taken = (int64_t)(1e9 * seconds);
    atomic_fetch_add(&p->spent, taken < most_counted ? taken : most_counted);
    atomic_fetch_add(&p->made, 1);
}

int pz_prefetch_take(pz_prefetch *p, int slot, uint64_t seed, uint64_t episode, pz_flag *cancelled, pz_session **game)
{
    *game = pz_prefetch_made(p, slot, seed, episode, cancelled);
    if (*game) return PZ_OK;
    if (*cancelled) return pz_refuse(PZ_INTERRUPTED, "interrupted");
    const double began = pz_now();
    int error = p->make(p->context, seed, episode, game);
    pz_prefetch_count(p, pz_now() - began);
    return error;
}
