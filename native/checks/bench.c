/* The plain benchmark loop: part of the module, as Python measures with it. */
#include <stdio.h>

#include "checks/bench.h"
#include "host/chance.h"
#include "session/internal.h"

typedef struct counts {
    uint64_t noise;
    int what;
    int64_t steps, changed;
} counts;

/* Without the mask as a random policy steps, with it as a session does. */
static void step_on(pz_session *s, void *context)
{
    counts *c = context;
    for (int i = 0; i < 256 && !s->outcome->status; i++) {
        pz_step_guarded(s, pz_draw_below(&c->noise, s->n_actions), c->what == PZ_LOOP_STEP);
        c->steps++;
        c->changed += s->outcome->changed;
    }
}

int pz_loop(const pz_puzzle *puzzle, const char *params, uint64_t seed, int what, double seconds, int64_t *steps,
            int64_t *changed)
{
    counts c = {.noise = seed, .what = what};
    uint64_t episode = 0;
    const double end = pz_now() + seconds;
    char digits[32];
    pz_session *s = NULL;
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)pz_episode_seed(seed, episode++));
    int error = pz_session_new(puzzle, params, digits, NULL, PZ_FLAG_UNDO, 60, &s);
    while (!error && pz_now() < end) {
        error = pz_guarded(s->pool, s, 0, false, step_on, &c);
        if (!error && (s->outcome->status || s->outcome->steps >= 10000)) {
            snprintf(digits, sizeof digits, "%llu", (unsigned long long)pz_episode_seed(seed, episode++));
            error = pz_session_reset(s, NULL, digits, NULL, 60, NULL);
        }
    }
    pz_session_free(s);
    *steps = c.steps;
    *changed = c.changed;
    return error;
}
