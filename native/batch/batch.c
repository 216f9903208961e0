/*
 * Batches and rollouts: many sessions on several threads.
 *
 * A team of threads waits for jobs; the calling thread works along as member 0. A job is a function over the numbers
 * 0..n-1. Each member has its share of them, the same in every job, so that a game stays in the caches of one core; who is
 * done helps the others, in small runs so that slow puzzles and fast ones even out. Nothing depends on which thread does
 * what, so results are the same for any number of threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity: the cores that we may use, not those that exist */
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "batch.h"
#include "host/chance.h"
#include "host/guard.h"
#include "session/internal.h"

/* ---- The team ---- */

static inline void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ __volatile__("yield");
#endif
}

/* Jobs follow each other closely while someone steps a batch: about a tenth of a millisecond of looking before sleeping. */
enum { SPINS = 8000 };

typedef struct team team;
typedef void (*task)(void *context, int64_t from, int64_t to);

typedef struct share {
    _Alignas(64) atomic_int_fast64_t next;
    int64_t end;
} share;

typedef struct team_member {
    team *team;
    int number;
    pthread_t thread;
} team_member;

struct team {
    int members;
    team_member *member;
    share *shares;
    pid_t owner; /* threads do not survive a fork */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_int generation; /* counts jobs; a change is the signal to start */
    atomic_int working;
    pz_flag quit, cancelled;
    task run;
    void *context;
    int64_t grain;
};

static void work(team *t, int number)
{
    for (int i = 0; i < t->members; i++) {
        share *s = &t->shares[(number + i) % t->members];
        for (;;) {
            int64_t from = atomic_fetch_add(&s->next, t->grain);
            if (from >= s->end) break;
            int64_t to = from + t->grain;
            t->run(t->context, from, to < s->end ? to : s->end);
        }
    }
}

static void *member(void *argument)
{
    const team_member *self = argument;
    team *t = self->team;
    int seen = 0;
    pz_become_worker(&t->cancelled);
    for (;;) {
        for (int spin = 0; spin < SPINS && atomic_load(&t->generation) == seen && !t->quit; spin++)
            relax();
        pthread_mutex_lock(&t->lock);
        while (atomic_load(&t->generation) == seen && !t->quit) pthread_cond_wait(&t->wake, &t->lock);
        seen = atomic_load(&t->generation);
        pthread_mutex_unlock(&t->lock);
        if (t->quit) return NULL;
        work(t, self->number);
        if (atomic_fetch_sub(&t->working, 1) == 1) {
            pthread_mutex_lock(&t->lock);
            pthread_cond_signal(&t->done);
            pthread_mutex_unlock(&t->lock);
        }
    }
}

static int processors(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (!sched_getaffinity(0, sizeof allowed, &allowed)) return CPU_COUNT(&allowed);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static void team_start(team *t)
{
    t->owner = getpid();
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    pthread_cond_init(&t->done, NULL);
    atomic_store(&t->generation, 0);
    atomic_store(&t->working, 0);
    t->quit = false;
    int started = 1;
    for (; started < t->members; started++) {
        t->member[started] = (team_member){.team = t, .number = started};
        if (pthread_create(&t->member[started].thread, NULL, member, &t->member[started])) break;
    }
    t->members = started; /* with fewer threads the work still gets done */
}

static team *team_new(int threads)
{
    team *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->members = threads > 0 ? threads : processors();
    t->member = calloc((size_t)t->members, sizeof *t->member);
    t->shares = aligned_alloc(_Alignof(share), (size_t)t->members * sizeof *t->shares);
    if (!t->member || !t->shares) {
        free(t->member);
        free(t->shares);
        free(t);
        return NULL;
    }
    team_start(t);
    return t;
}

static void team_free(team *t)
{
    if (!t) return;
    if (t->owner == getpid()) {
        pthread_mutex_lock(&t->lock);
        t->quit = true;
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
        for (int i = 1; i < t->members; i++) pthread_join(t->member[i].thread, NULL);
    }
    free(t->member);
    free(t->shares);
    free(t);
}

/* Wait for a condition, but not for ever: true when the moment passed without it. */
static bool wait_a_moment(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50 * 1000 * 1000;
    if (until.tv_nsec >= 1000 * 1000 * 1000) until.tv_sec++, until.tv_nsec -= 1000 * 1000 * 1000;
    return pthread_cond_timedwait(condition, lock, &until) != 0;
}

static void team_run(team *t, task run, void *context, int64_t n, int64_t grain)
{
    if (t->owner != getpid()) team_start(t);
    t->run = run;
    t->context = context;
    t->grain = grain;
    for (int i = 0; i < t->members; i++) {
        atomic_store(&t->shares[i].next, n * i / t->members);
        t->shares[i].end = n * (i + 1) / t->members;
    }
    t->cancelled = false;
    if (t->members == 1 || n <= grain) {
        work(t, 0);
        return;
    }
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->working, t->members - 1);
    atomic_fetch_add(&t->generation, 1);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
    work(t, 0);
    for (int spin = 0; spin < SPINS && atomic_load(&t->working); spin++) relax();
    pthread_mutex_lock(&t->lock);
    while (atomic_load(&t->working)) {
        if (!wait_a_moment(&t->done, &t->lock)) continue;
        pthread_mutex_unlock(&t->lock);
        if (pz_interrupted && pz_interrupted()) t->cancelled = true;
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

/* ---- The batch ---- */

/* The game after the present one, made ahead of time by the maker thread. */
typedef enum wish { NO_WISH, WANTED, BEING_MADE, READY } wish;

typedef struct slot {
    pz_session *session;
    uint64_t seed, episode;
    int32_t ended;
    _Atomic(wish) wish; /* from NO_WISH only the slot's own thread takes it on; the rest changes under the lock */
    uint64_t wished_seed, wished_episode;
    pz_session *next;
} slot;

struct pz_batch {
    const pz_puzzle *puzzle;
    char *params;
    int n, flags, max_steps, max_repeats;
    double timeout;
    team *team;
    slot *slots;
    pz_layout layout;
    int n_actions;
    pz_batch_buffers buffers;

    /* The job of the moment. */
    const int64_t *actions;
    const uint8_t *which;
    int autoreset;

    pz_flag busy; /* one thread at a time: a second one is refused, not let in */
    pthread_mutex_t lock;
    int error, failed_slot;
    char message[PZ_MESSAGE];

    /* Where generating takes long, a thread makes the next game of each slot while the present one is played. */
    atomic_int_fast64_t generating; /* nanoseconds spent on it by the slots themselves */
    atomic_int_fast64_t generated;
    pthread_t maker;
    bool has_maker;
    pid_t maker_owner;
    pz_flag quit;
    pthread_cond_t wished, made;
    int maker_at;
};

/* From here on a game is worth making ahead; below, handing it over costs as much. */
static const int64_t worth_making_ahead = 100 * 1000; /* nanoseconds */

static void note_error(pz_batch *b, int at, int error)
{
    if (error == PZ_INTERRUPTED) b->team->cancelled = true;
    pthread_mutex_lock(&b->lock);
    /* The lowest slot speaks, so that the report does not depend on the threads. */
    if (!b->error || at < b->failed_slot) {
        b->error = error;
        b->failed_slot = at;
        snprintf(b->message, sizeof b->message, "%s", pz_last_error());
    }
    pthread_mutex_unlock(&b->lock);
}

static void bind_slot(pz_batch *b, int at)
{
    pz_session *s = b->slots[at].session;
    if (!s || !b->buffers.records) return;
    pz_session_bind(s, b->buffers.records + (size_t)at * (size_t)b->layout.record_size,
                    b->buffers.masks + (size_t)at * (size_t)b->n_actions, NULL);
    b->buffers.outcomes[at] = *s->outcome;
}

static bool draw_slot(pz_batch *b, int at, uint8_t *frames)
{
    if (!b->slots[at].session) {
        note_error(b, at, pz_refuse(PZ_ENGINE, "this slot has no game; reset it"));
        return false;
    }
    const pz_batch_buffers *to = &b->buffers;
    const size_t size = (size_t)to->width * (size_t)to->height * (to->form & PZ_PICTURE_GREY ? 1 : 3);
    int error = pz_session_pixels(b->slots[at].session, to->width, to->height, to->form, frames + (size_t)at * size);
    if (error) note_error(b, at, error);
    return !error;
}

static int make_game(const pz_batch *b, uint64_t seed, uint64_t episode, pz_session **fresh)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)pz_episode_seed(seed, episode));
    return pz_session_new(b->puzzle, b->params, digits, NULL, b->flags, b->timeout, fresh);
}

/* Making ahead must not take time from stepping: the thread that calls this gets what the others leave. */
static void step_back(void)
{
#ifdef __linux__
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
#endif
}

static void *maker(void *argument)
{
    pz_batch *b = argument;
    step_back();
    pz_become_worker(&b->quit);
    pthread_mutex_lock(&b->lock);
    while (!b->quit) {
        int looked = 0;
        while (looked < b->n && b->slots[b->maker_at].wish != WANTED) {
            b->maker_at = (b->maker_at + 1) % b->n;
            looked++;
        }
        if (looked == b->n) {
            pthread_cond_wait(&b->wished, &b->lock);
            continue;
        }
        slot *place = &b->slots[b->maker_at];
        const uint64_t seed = place->wished_seed, episode = place->wished_episode;
        place->wish = BEING_MADE;
        pthread_mutex_unlock(&b->lock);
        pz_session *fresh = NULL;
        int error = make_game(b, seed, episode, &fresh);
        pthread_mutex_lock(&b->lock);
        if (place->wish == BEING_MADE && place->wished_seed == seed && place->wished_episode == episode) {
            place->next = fresh;
            place->wish = error ? NO_WISH : READY; /* the slot itself will meet the error, and report it */
        } else {
            pz_session_free(fresh);
        }
        pthread_cond_broadcast(&b->made);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Wish for the next game of a slot, if making it ahead pays. */
static void wish_next(pz_batch *b, int at)
{
    if (b->generating <= worth_making_ahead * b->generated) return;
    slot *place = &b->slots[at];
    pthread_mutex_lock(&b->lock);
    if (!b->has_maker) {
        b->maker_owner = getpid();
        b->has_maker = !pthread_create(&b->maker, NULL, maker, b);
    }
    pz_session_free(place->next);
    place->next = NULL;
    place->wish = b->has_maker ? WANTED : NO_WISH;
    place->wished_seed = place->seed;
    place->wished_episode = place->episode + 1;
    pthread_cond_signal(&b->wished);
    pthread_mutex_unlock(&b->lock);
}

/* The game that was made ahead for what the slot plays now, or NULL. */
static pz_session *take_made(pz_batch *b, slot *place)
{
    pz_session *made = NULL;
    if (place->wish == NO_WISH) return NULL;
    pthread_mutex_lock(&b->lock);
    if (place->wished_seed == place->seed && place->wished_episode == place->episode) {
        while (place->wish == BEING_MADE && !b->team->cancelled) {
            if (!wait_a_moment(&b->made, &b->lock)) continue;
            pthread_mutex_unlock(&b->lock); /* the host's lock and ours are never held together */
            if (pz_wants_out()) b->team->cancelled = true;
            pthread_mutex_lock(&b->lock);
        }
        if (place->wish == READY) made = place->next;
        if (made) place->next = NULL;
    }
    place->wish = NO_WISH; /* what is still wanted, or was made for another stream, is of no use any more */
    pthread_mutex_unlock(&b->lock);
    return made;
}

/* A fork takes the memory along but no thread: forget the maker and what it was at. */
static void forget_lost_maker(pz_batch *b)
{
    if (!b->has_maker || b->maker_owner == getpid()) return;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->wished, NULL);
    pthread_cond_init(&b->made, NULL);
    b->has_maker = false;
    for (int at = 0; at < b->n; at++)
        if (b->slots[at].wish == BEING_MADE) b->slots[at].wish = NO_WISH;
}

/* Start the episode that the slot's stream is at. */
static bool start_episode(pz_batch *b, int at)
{
    slot *place = &b->slots[at];
    int error = PZ_OK;
    pz_session *fresh = take_made(b, place);
    if (!fresh && b->team->cancelled) {
        error = pz_refuse(PZ_INTERRUPTED, "interrupted");
    } else if (!fresh) {
        const double began = pz_now();
        error = make_game(b, place->seed, place->episode, &fresh);
        atomic_fetch_add(&b->generating, (int64_t)(1e9 * (pz_now() - began)));
        atomic_fetch_add(&b->generated, 1);
    }
    if (error) {
        note_error(b, at, error);
        place->ended = PZ_TRUNCATED; /* so that the next step tries the next puzzle */
        return false;
    }
    if (place->session) {
        pz_session_take_over(place->session, fresh);
    } else {
        place->session = fresh;
        pz_session_limit(fresh, b->max_steps, b->max_repeats);
        bind_slot(b, at);
    }
    place->ended = place->session->outcome->ended;
    wish_next(b, at);
    if (b->buffers.frames) draw_slot(b, at, b->buffers.frames);
    return true;
}

static void reset_slots(void *context, int64_t from, int64_t to)
{
    pz_batch *b = context;
    for (int at = (int)from; at < to; at++) {
        if (b->which && !b->which[at]) continue;
        if (start_episode(b, at)) b->buffers.outcomes[at] = *b->slots[at].session->outcome;
    }
}

/* What a step leads to besides the step itself: a last look and the next episode, or a picture. */
static void finish_step(pz_batch *b, int at)
{
    slot *place = &b->slots[at];
    const pz_session *s = place->session;
    b->buffers.outcomes[at] = *s->outcome;
    place->ended = s->outcome->ended;
    if (!place->ended || b->autoreset != PZ_AUTORESET_SAME_STEP) {
        if (b->buffers.frames) draw_slot(b, at, b->buffers.frames);
        return;
    }
    if (b->buffers.final_records) {
        const size_t record = (size_t)b->layout.record_size, mask = (size_t)b->n_actions;
        memcpy(b->buffers.final_records + (size_t)at * record, s->record, record);
        memcpy(b->buffers.final_masks + (size_t)at * mask, s->mask, mask);
    }
    if (b->buffers.final_frames) draw_slot(b, at, b->buffers.final_frames);
    place->episode++;
    start_episode(b, at);
}

static void step_slot(pz_batch *b, int at, pz_guard *guard)
{
    slot *place = &b->slots[at];
    pz_session *s = place->session;
    if (place->ended || !s) {
        if (b->autoreset == PZ_AUTORESET_OFF) return;
        /* The action is ignored: this step shows the first observation of the next episode. */
        place->episode++;
        if (start_episode(b, at)) b->buffers.outcomes[at] = *place->session->outcome;
        return;
    }
    guard->pool = s->pool;
    guard->session = s;
    guard->started = 0;
    pz_step_guarded(s, (int)b->actions[at], false);
    finish_step(b, at);
}

/* A batch does not fit into the caches: have what the next steps of this run need under way while one is taken. */
static void fetch_ahead(const pz_batch *b, int at, int64_t to)
{
    if (at + 2 < to && b->slots[at + 2].session) pz_fetch(b->slots[at + 2].session, offsetof(pz_session, params));
    if (at + 1 < to && b->slots[at + 1].session) pz_session_fetch(b->slots[at + 1].session);
}

/* One guard serves a run of slots; after a fault the next one takes over behind the slot that had it. */
static void step_slots(void *context, int64_t from, int64_t to)
{
    pz_batch *b = context;
    volatile int at = (int)from;
    while (at < to) {
        pz_guard guard;
        pz_enter(&guard, NULL, pz_step_timeout);
        if (!setjmp(guard.home))
            for (; at < to; at++) {
                fetch_ahead(b, at, to);
                step_slot(b, at, &guard);
            }
        if (!pz_carry(&guard)) continue;
        b->slots[at].session->fault = guard.error;
        b->slots[at].ended = PZ_TRUNCATED;
        note_error(b, at, guard.error);
        at++;
    }
}

static void draw_slots(void *context, int64_t from, int64_t to)
{
    pz_batch *b = context;
    for (int at = (int)from; at < to; at++) draw_slot(b, at, b->buffers.frames);
}

static int run(pz_batch *b, task job, int64_t grain)
{
    if (atomic_exchange(&b->busy, true)) return pz_refuse(PZ_ENGINE, "this batch is in use by another thread");
    b->error = PZ_OK;
    b->failed_slot = -1;
    forget_lost_maker(b);
    team_run(b->team, job, b, b->n, grain);
    /* A signal that came when nobody could stop any more is still to be told. */
    if (b->team->cancelled && !b->error) note_error(b, 0, pz_refuse(PZ_INTERRUPTED, "interrupted"));
    int error = b->error ? pz_refuse(b->error, b->message) : PZ_OK;
    atomic_store(&b->busy, false);
    return error;
}

int pz_batch_new(const pz_puzzle *puzzle, const char *params, int n, int threads, int flags, double timeout,
                 int max_steps, int max_repeats, pz_batch **result)
{
    *result = NULL;
    const char *canonical;
    int error = pz_params_canonical(puzzle, params ? params : "", 1, 1, &canonical);
    if (error) return error;
    pz_batch *b = calloc(1, sizeof *b);
    if (!b) return pz_refuse(PZ_ENGINE, "out of memory");
    b->puzzle = puzzle;
    b->n = n;
    b->flags = flags;
    b->timeout = timeout;
    b->max_steps = max_steps;
    b->max_repeats = max_repeats;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->wished, NULL);
    pthread_cond_init(&b->made, NULL);
    b->params = malloc(strlen(canonical) + 1);
    b->slots = calloc((size_t)n, sizeof *b->slots);
    b->team = team_new(threads);
    if (!b->params || !b->slots || !b->team) {
        pz_batch_free(b);
        return pz_refuse(PZ_ENGINE, "out of memory");
    }
    strcpy(b->params, canonical);
    error = pz_layout_of(puzzle, b->params, &b->layout);
    if (error) {
        pz_batch_free(b);
        return error;
    }
    for (const pz_action *action = puzzle->actions; action->name; action++)
        if (action->key != PZ_UNDO || (flags & PZ_FLAG_UNDO)) b->n_actions++;
    *result = b;
    return PZ_OK;
}

void pz_batch_free(pz_batch *b)
{
    if (!b) return;
    forget_lost_maker(b);
    if (b->has_maker) {
        pthread_mutex_lock(&b->lock);
        b->quit = true;
        pthread_cond_signal(&b->wished);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->maker, NULL);
    }
    team_free(b->team);
    for (int at = 0; b->slots && at < b->n; at++) {
        pz_session_free(b->slots[at].session);
        pz_session_free(b->slots[at].next);
    }
    free(b->slots);
    free(b->params);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

int pz_batch_threads(const pz_batch *b)
{
    return b->team->members;
}

const pz_layout *pz_batch_layout(const pz_batch *b)
{
    return &b->layout;
}

int pz_batch_clone(pz_batch *b, int at, pz_session **result)
{
    *result = NULL;
    if (!b->slots[at].session) return pz_refuse(PZ_ENGINE, "this slot has no game; reset it");
    if (atomic_exchange(&b->busy, true)) return pz_refuse(PZ_ENGINE, "this batch is in use by another thread");
    int error = pz_session_clone(b->slots[at].session, result);
    atomic_store(&b->busy, false);
    return error;
}

void pz_batch_bind(pz_batch *b, const pz_batch_buffers *buffers)
{
    b->buffers = *buffers;
    for (int at = 0; at < b->n; at++) bind_slot(b, at);
}

int pz_batch_reset(pz_batch *b, const uint64_t *seeds, const uint64_t *episodes, const uint8_t *which)
{
    for (int at = 0; at < b->n; at++) {
        if (which && !which[at]) continue;
        b->slots[at].seed = seeds[at];
        b->slots[at].episode = episodes[at];
    }
    b->which = which;
    return run(b, reset_slots, 1);
}

int pz_batch_step(pz_batch *b, const int64_t *actions, int autoreset)
{
    b->actions = actions;
    b->autoreset = autoreset;
    return run(b, step_slots, 16);
}

int pz_batch_pixels(pz_batch *b, int width, int height, int form, uint8_t *out)
{
    const pz_batch_buffers kept = b->buffers;
    b->buffers.frames = out;
    b->buffers.width = width;
    b->buffers.height = height;
    b->buffers.form = form;
    int error = run(b, draw_slots, 4);
    b->buffers = kept;
    return error;
}

int pz_batch_failed_slot(const pz_batch *b)
{
    return b->failed_slot;
}

void pz_batch_streams(const pz_batch *b, uint64_t *seeds, uint64_t *episodes)
{
    for (int at = 0; at < b->n; at++) {
        seeds[at] = b->slots[at].seed;
        episodes[at] = b->slots[at].episode;
    }
}

/* ---- Rollouts ---- */

typedef struct rollout {
    const pz_puzzle *puzzle;
    const char *params;
    int flags, policy, max_steps;
    double timeout;
    const uint64_t *seeds;
    int32_t *status, *steps;
    volatile int64_t *progress;
    pthread_t caller;
    atomic_int error;
    atomic_int_fast64_t done;
    double asked; /* when the caller last looked for signals */
    pthread_mutex_t lock;
    char message[PZ_MESSAGE];
} rollout;

/* -1 where nothing is legal. */
static int draw_legal(uint64_t *noise, const uint8_t *mask, int n)
{
    int legal = 0;
    for (int a = 0; a < n; a++) legal += mask[a];
    if (!legal) return -1;
    int pick = pz_draw_below(noise, legal);
    for (int a = 0; a < n; a++)
        if (mask[a] && pick-- == 0) return a;
    return -1;
}

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

static int play_episode(rollout *r, pz_session *s, uint64_t seed)
{
    const bool lean = r->policy == PZ_POLICY_RANDOM;
    volatile uint64_t kept = seed ^ 0xA0761D6478BD642Fu;
    pz_guard guard;
    pz_enter(&guard, s->pool, 0); /* an episode may take long: no deadline but the signals */
    guard.session = s;
    guard.interruptible = true;
    if (!setjmp(guard.home)) {
        uint64_t noise = kept;
        for (int step = 0; !s->outcome->status && step < r->max_steps; step++) {
            int a = lean ? pz_draw_below(&noise, s->n_actions) : draw_legal(&noise, s->mask, s->n_actions);
            if (a < 0) break;
            pz_step_guarded(s, a, lean);
            if (step % 8192 == 8191) {
                look_for_signals(r);
                if (atomic_load(&r->error)) break;
            }
        }
    }
    pz_leave(&guard);
    return guard.error ? pz_refuse(guard.error, guard.message) : PZ_OK;
}

static void play_episodes(void *context, int64_t from, int64_t to)
{
    rollout *r = context;
    for (int64_t at = from; at < to && !atomic_load(&r->error); at++) {
        char seed[32];
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->seeds[at]);
        pz_session *s;
        int error = pz_session_new(r->puzzle, r->params, seed, NULL, r->flags, r->timeout, &s);
        if (!error) {
            error = play_episode(r, s, r->seeds[at]);
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

int pz_rollout(const pz_puzzle *puzzle, const char *params, int flags, double timeout, int policy, int threads,
               int64_t episodes, const uint64_t *seeds, int max_steps, int32_t *status, int32_t *steps,
               volatile int64_t *progress)
{
    rollout r = {.puzzle = puzzle, .params = params, .flags = flags, .policy = policy, .max_steps = max_steps,
                 .timeout = timeout, .seeds = seeds, .status = status, .steps = steps, .progress = progress,
                 .caller = pthread_self()};
    team *t = team_new(threads);
    if (!t) return pz_refuse(PZ_ENGINE, "out of memory");
    pthread_mutex_init(&r.lock, NULL);
    team_run(t, play_episodes, &r, episodes, 1);
    if (t->cancelled) stop_rollout(&r, pz_refuse(PZ_INTERRUPTED, "interrupted"));
    team_free(t);
    pthread_mutex_destroy(&r.lock);
    return r.error ? pz_refuse(r.error, r.message) : PZ_OK;
}
