/* The plain benchmark loop: part of the module, as Python measures with it. It plays as batches do, without UNDO. */
#include <time.h>

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

static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int pz_loop(const pz_puzzle *puzzle, const char *params, uint64_t seed, int what, double seconds,
            pz_loop_result *result)
{
    counts c = {.noise = seed, .what = what};
    uint64_t episode = 0;
    char digits[24];
    pz_session *s = NULL;
    pz_write_seed(digits, pz_episode_seed(seed, episode++));
    int error = pz_session_new(puzzle, params, digits, NULL, 0, 60, &s);
    const double began = pz_now(), spent = processor_time();
    double resetting = 0;
    do {
        if (!error) error = pz_guarded(s->pool, s, 0, false, step_on, &c);
        if (!error && (s->outcome->status || s->outcome->steps >= 10000)) {
            pz_write_seed(digits, pz_episode_seed(seed, episode++));
            const double before = processor_time();
            error = pz_session_reset(s, NULL, digits, NULL, 60, NULL);
            resetting += processor_time() - before;
        }
    } while (!error && processor_time() - spent < seconds);
    *result = (pz_loop_result){c.steps, c.changed, pz_now() - began, processor_time() - spent, resetting};
    pz_session_free(s);
    return error;
}
