/* Rollouts: whole episodes of random play on several threads, without a call from outside in between. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "batch.h"
#include "batch/team.h"
#include "host/chance.h"
#include "session/internal.h"

typedef struct rollout {
    const pz_task *task;
    int policy;
    const uint64_t *seeds;
    int32_t *status, *steps;
    uint8_t *actions; /* max_steps for each episode, or NULL */
    volatile int64_t *progress;
    pthread_t caller;
    atomic_int error;
    atomic_int_fast64_t done;
    double asked; /* when the caller last looked for signals */
    pthread_mutex_t lock;
    char message[PZ_MESSAGE];
} rollout;

static void stop_rollout(rollout *r, int error)
{
    pthread_mutex_lock(&r->lock);
    if (!r->error) {
        snprintf(r->message, sizeof r->message, "%s", pz_last_error());
        atomic_store(&r->error, error);
    }
    pthread_mutex_unlock(&r->lock);
}

static void look_for_signals(rollout *r)
{
    if (!pz_interrupted || !pthread_equal(pthread_self(), r->caller)) return;
    double now = pz_now();
    if (now - r->asked < 0.05) return;
    r->asked = now;
    if (pz_interrupted()) stop_rollout(r, pz_refuse(PZ_INTERRUPTED, "interrupted"));
}

typedef struct episode {
    rollout *rollout;
    uint64_t seed;
    uint8_t *actions;
} episode;

static void play_episode(pz_session *s, void *context)
{
    const episode *e = context;
    rollout *r = e->rollout;
    const bool lean = r->policy == PZ_POLICY_RANDOM && !r->task->max_repeats;
    uint64_t noise = e->seed ^ 0xA0761D6478BD642Fu;
    pz_session_limit(s, r->task->max_steps, r->task->max_repeats);
    s->outcome->ended = pz_end_of(s);
    for (int64_t step = 0; !s->outcome->ended; step++) {
        int a = r->policy == PZ_POLICY_RANDOM ? pz_draw_below(&noise, s->n_actions)
                                              : pz_draw_legal(&noise, s->mask, s->n_actions);
        if (a < 0) break;
        if (e->actions) e->actions[step] = (uint8_t)a;
        pz_step_guarded(s, a, lean);
        if (step % 8192 == 8191) {
            look_for_signals(r);
            if (atomic_load(&r->error)) break;
        }
    }
}

static void play_episodes(void *context, int64_t from, int64_t to)
{
    rollout *r = context;
    for (int64_t at = from; at < to && !atomic_load(&r->error); at++) {
        pz_session *s;
        int error = pz_task_session(r->task, r->seeds[at], &s);
        if (!error) {
            /* An episode may take long: there is no deadline, but it can be interrupted. */
            uint8_t *actions = r->actions ? r->actions + at * r->task->max_steps : NULL;
            error = pz_guarded(s->pool, s, 0, true, play_episode, &(episode){r, r->seeds[at], actions});
            r->status[at] = s->outcome->status;
            r->steps[at] = s->outcome->steps;
            pz_session_free(s);
        }
        if (error) {
            stop_rollout(r, error);
            return;
        }
        look_for_signals(r);
        int64_t done = atomic_fetch_add(&r->done, 1) + 1;
        if (r->progress) __atomic_store_n(r->progress, done, __ATOMIC_RELAXED); /* the host reads it meanwhile */
    }
}

int pz_rollout(const pz_task *task, int policy, int threads, int64_t episodes, const uint64_t *seeds, int32_t *status,
               int32_t *steps, uint8_t *actions, volatile int64_t *progress)
{
    rollout r = {.task = task,
                 .policy = policy,
                 .seeds = seeds,
                 .status = status,
                 .steps = steps,
                 .actions = actions,
                 .progress = progress,
                 .caller = pthread_self()};
    pz_team *t = pz_team_new(threads);
    if (!t) return pz_refuse(PZ_ENGINE, "out of memory");
    pthread_mutex_init(&r.lock, NULL);
    if (!pz_team_run(t, play_episodes, &r, episodes, (pz_grain){1, 1, 1})) {
        pthread_mutex_init(&r.lock, NULL); /* who had locked it may be gone */
        stop_rollout(&r, pz_refuse(PZ_ENGINE, "the process forked in the middle of this call"));
    }
    if (*pz_team_cancelled(t)) stop_rollout(&r, pz_refuse(PZ_INTERRUPTED, "interrupted"));
    pz_team_free(t);
    pthread_mutex_destroy(&r.lock);
    return r.error ? pz_refuse(r.error, r.message) : PZ_OK;
}
