/* Games made ahead for a single session: the same maker as a batch has, with one slot. */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "batch/prefetch.h"

struct pz_ahead {
    const pz_puzzle *puzzle;
    char *params;
    int flags;
    double timeout;
    pz_prefetch *prefetch;
    pz_owner owner;
    pz_flag cancelled;
};

static int make_game(const void *context, uint64_t seed, uint64_t episode, pz_session **fresh)
{
    const pz_ahead *a = context;
    char digits[24];
    pz_write_seed(digits, pz_episode_seed(seed, episode));
    return pz_session_new(a->puzzle, a->params, digits, NULL, a->flags, a->timeout, fresh);
}

int pz_ahead_new(pz_session *s, double timeout, pz_ahead **result)
{
    *result = NULL;
    pz_ahead *a = calloc(1, sizeof *a);
    if (!a) return pz_refuse(PZ_ENGINE, "out of memory");
    int error = pz_claim(s);
    if (error) {
        free(a);
        return error;
    }
    a->puzzle = s->puzzle;
    a->params = strdup(s->params_text);
    a->flags = s->flags;
    pz_release(s);
    a->timeout = timeout;
    a->prefetch = pz_prefetch_new(1, make_game, a);
    if (a->params && a->prefetch) {
        *result = a;
        return PZ_OK;
    }
    pz_ahead_free(a);
    return pz_refuse(PZ_ENGINE, "out of memory");
}

void pz_ahead_free(pz_ahead *a)
{
    if (!a) return;
    if (pz_is_abandoned(&a->owner)) pz_prefetch_abandon(a->prefetch);
    pz_prefetch_free(a->prefetch); /* its thread reads the rest */
    free(a->params);
    free(a);
}

static int start(pz_ahead *a, pz_session *s, uint64_t seed, uint64_t episode)
{
    a->cancelled = false;
    pz_session *made = pz_prefetch_made(a->prefetch, 0, seed, episode, &a->cancelled);
    if (made) return pz_session_play(s, made);
    if (a->cancelled) return pz_refuse(PZ_INTERRUPTED, "interrupted");
    const double began = pz_now();
    int error = pz_session_restart(s, pz_episode_seed(seed, episode), a->timeout);
    pz_prefetch_count(a->prefetch, pz_now() - began);
    return error;
}

int pz_ahead_start(pz_ahead *a, pz_session *s, uint64_t seed, uint64_t episode)
{
    const pz_claimed claimed = pz_take(&a->owner);
    if (claimed == PZ_BUSY) return pz_refuse(PZ_ENGINE, "this session is in use by another thread; clone it");
    if (claimed == PZ_ABANDONED) pz_prefetch_abandon(a->prefetch);
    pz_prefetch_after_fork(a->prefetch);
    int error = start(a, s, seed, episode);
    /* Who gives a seed with every reset never plays the second game of one. */
    if (!error && episode) pz_prefetch_request(a->prefetch, 0, seed, episode + 1);
    pz_let_go(&a->owner);
    return error;
}
