/* The plain benchmark loop: part of the module, as Python measures with it. */
#include <stdio.h>

#include "checks/bench.h"
#include "host/chance.h"
#include "session/internal.h"

int pz_loop(const pz_puzzle *puzzle, const char *params, uint64_t seed, int what, double seconds, int64_t *steps,
            int64_t *changed)
{
    uint64_t noise = seed, episode = 0;
    const double end = pz_now() + seconds;
    *steps = *changed = 0;
    char digits[32];
    pz_session *s = NULL;
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)pz_episode_seed(seed, episode++));
    int error = pz_session_new(puzzle, params, digits, NULL, PZ_FLAG_UNDO, 60, &s);
    while (!error && pz_now() < end) {
        /* The loop without mask runs as a random policy does, the other one as a session does. */
        pz_guard guard;
        pz_enter(&guard, s->pool, 0);
        guard.session = s;
        if (!setjmp(guard.home)) {
            for (int i = 0; i < 256 && !s->outcome->status; i++) {
                pz_step_guarded(s, pz_draw_below(&noise, s->n_actions), what == PZ_LOOP_STEP);
                ++*steps;
                *changed += s->outcome->changed;
            }
        }
        pz_leave(&guard);
        error = guard.error ? pz_refuse(guard.error, guard.message) : PZ_OK;
        if (!error && (s->outcome->status || s->outcome->steps >= 10000)) {
            snprintf(digits, sizeof digits, "%llu", (unsigned long long)pz_episode_seed(seed, episode++));
            error = pz_session_reset(s, NULL, digits, NULL, 60);
        }
    }
    pz_session_free(s);
    return error;
}
