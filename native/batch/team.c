#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity: the cores that we may use, not those that exist */
#endif
#include "batch/team.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ __volatile__("yield");
#endif
}

/*
 * Jobs follow each other closely while someone steps a batch: about a tenth of a millisecond of looking before
 * sleeping.
 */
enum { SPINS = 8000 };

/* Seconds that it takes to move what one number is about from the caches of another core, and back for the next job. */
static const double moving = 4e-6;
/* And how far behind the others a member is that something holds up. */
static const double patience = 16e-6;

typedef struct share {
    _Alignas(64) atomic_int_fast64_t next;
    int64_t end;
    atomic_bool taken; /* by a member, in this job */
} share;

typedef struct team_member {
    pz_team *team;
    int number;
    pthread_t thread;
} team_member;

struct pz_team {
    int members;
    team_member *member;
    share *shares;
    atomic_int *cores; /* which one worked on a share last, and has in its caches what belongs to it; -1 for none */
    unsigned forks; /* of the process that has the threads: they do not survive a fork */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_int generation; /* counts jobs; a change is the signal to start */
    atomic_int working;
    atomic_int sleeping;      /* members who wait for the next job without looking; and whether the caller does */
    atomic_bool caller_waits; /* for the end of this one: who looks needs no call of the system to be told */
    pz_flag quit, cancelled;
    pz_job run;
    void *context;
    int64_t n;
    pz_grain grain;
    int callers;        /* the caller's share of this job */
    double began,
        away; /* when the job did, and how long the caller does something else, as a part of the work of all */
};

/* The next piece of a share; false when none is left. Large ones first, small ones last: so members end together. */
static bool take_piece(share *s, pz_grain grain, int64_t *from, int64_t *to)
{
    *from = atomic_load(&s->next);
    do {
        const int64_t left = s->end - *from, part = left / 4;
        if (left <= 0) return false;
        const int64_t size = part < grain.least ? grain.least : part > grain.most ? grain.most : part;
        *to = *from + (size < left ? size : left);
    } while (!atomic_compare_exchange_weak(&s->next, from, *to));
    return true;
}

/* The core that this thread runs on, or -1 where nobody knows. */
static int this_core(void)
{
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

/* A share for this thread: the one of its core, for a thread may wake up on another one than before; else any. */
static int take_share(pz_team *t, int number)
{
    const int core = this_core();
    for (int i = 0; i < t->members; i++) {
        const int at = (number + i) % t->members;
        if (atomic_load_explicit(&t->cores[at], memory_order_relaxed) == core &&
            !atomic_exchange(&t->shares[at].taken, true))
            return at;
    }
    int at = number;
    while (atomic_exchange(&t->shares[at].taken, true)) at = (at + 1) % t->members; /* there is one for each member */
    atomic_store_explicit(&t->cores[at], core, memory_order_relaxed);
    return at;
}

static int64_t left_of(const share *s)
{
    return s->end - atomic_load(&s->next);
}

static void let_it_finish(const share *s, double until)
{
    while (left_of(s) > 0 && pz_now() < until)
        for (int spin = 0; spin < 32; spin++) relax();
}

static int64_t work_on(const pz_team *t, share *s)
{
    int64_t from, to, done = 0;
    for (; take_piece(s, t->grain, &from, &to); done += to - from) t->run(t->context, from, to);
    return done;
}

static void work(pz_team *t, int own)
{
    const double began = pz_now();
    const int64_t done = work_on(t, &t->shares[own]);
    const double ended = pz_now();
    /* Before helping others: where a number is done sooner than moved, give them a chance to come to their end. */
    const double until = ended - began < moving * (double)done ? ended + patience : ended;
    for (int i = 1; i < t->members; i++) {
        share *s = &t->shares[(own + i) % t->members];
        let_it_finish(s, until);
        work_on(t, s);
    }
}

/* Both sides first say what they do and then look, so that nobody falls asleep over news. */
static void sleep_until_next(pz_team *t, int seen)
{
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleeping, 1);
    while (atomic_load(&t->generation) == seen && !t->quit) pthread_cond_wait(&t->wake, &t->lock);
    atomic_fetch_sub(&t->sleeping, 1);
    pthread_mutex_unlock(&t->lock);
}

static void wake_sleepers(pz_team *t)
{
    if (!atomic_load(&t->sleeping)) return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

static void *member(void *argument)
{
    const team_member *self = argument;
    pz_team *t = self->team;
    int seen = 0;
    pz_become_worker(&t->cancelled);
    for (;;) {
        for (int spin = 0; spin < SPINS && atomic_load(&t->generation) == seen && !t->quit; spin++) relax();
        if (atomic_load(&t->generation) == seen) sleep_until_next(t, seen);
        seen = atomic_load(&t->generation);
        if (t->quit) return NULL;
        work(t, take_share(t, self->number));
        if (atomic_fetch_sub(&t->working, 1) == 1 && atomic_load(&t->caller_waits)) {
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

static void team_start(pz_team *t)
{
    t->forks = pz_forks;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    pthread_cond_init(&t->done, NULL);
    atomic_store(&t->generation, 0);
    atomic_store(&t->working, 0);
    atomic_store(&t->sleeping, 0);
    atomic_store(&t->caller_waits, false);
    t->quit = false;
    int started = 1;
    for (; started < t->members; started++) {
        t->member[started] = (team_member){.team = t, .number = started};
        if (pthread_create(&t->member[started].thread, NULL, member, &t->member[started])) break;
    }
    t->members = started; /* with fewer threads the work still gets done */
}

static void free_team(pz_team *t)
{
    free(t->member);
    free(t->shares);
    free(t->cores);
    free(t);
}

pz_team *pz_team_new(int threads)
{
    pz_team *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->members = threads > 0 ? threads : processors();
    t->member = calloc((size_t)t->members, sizeof *t->member);
    t->shares = aligned_alloc(_Alignof(share), (size_t)t->members * sizeof *t->shares);
    t->cores = malloc((size_t)t->members * sizeof *t->cores);
    if (!t->member || !t->shares || !t->cores) {
        free_team(t);
        return NULL;
    }
    for (int i = 0; i < t->members; i++) atomic_init(&t->cores[i], -1);
    team_start(t);
    return t;
}

void pz_team_free(pz_team *t)
{
    if (!t) return;
    if (t->forks == pz_forks) {
        pthread_mutex_lock(&t->lock);
        t->quit = true;
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
        for (int i = 1; i < t->members; i++) pthread_join(t->member[i].thread, NULL);
    }
    free_team(t);
}

bool pz_wait_a_moment(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50 * 1000 * 1000;
    if (until.tv_nsec >= 1000 * 1000 * 1000) until.tv_sec++, until.tv_nsec -= 1000 * 1000 * 1000;
    return pthread_cond_timedwait(condition, lock, &until) != 0;
}

/* False in the child of a fork that came meanwhile. */
static bool wait_for_end(pz_team *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->caller_waits, true);
    while (atomic_load(&t->working)) {
        if (!pz_wait_a_moment(&t->done, &t->lock)) continue;
        pthread_mutex_unlock(&t->lock);
        if (pz_interrupted && pz_interrupted()) t->cancelled = true;
        if (t->forks != pz_forks) return false;
        pthread_mutex_lock(&t->lock);
    }
    atomic_store(&t->caller_waits, false);
    pthread_mutex_unlock(&t->lock);
    return true;
}

/* The longer the caller is away, the smaller is its own share, so that all end together. */
static void share_out(pz_team *t, double away)
{
    for (int i = 0; i < t->members; i++) atomic_store(&t->shares[i].taken, false);
    t->callers = take_share(t, 0);
    const double part = (1 - (t->members - 1) * away) / t->members;
    const int64_t unit = t->n < 64 ? 1 : t->n / 64; /* so that hardly anything moves from one job to the next */
    const int64_t callers = part > 0 ? (int64_t)(part * (double)t->n) / unit * unit : 0;
    int64_t at = 0, left = t->n - callers;
    for (int i = 0, others = t->members - 1; i < t->members; i++) {
        int64_t size = callers;
        if (i != t->callers) left -= size = left / others--;
        atomic_store(&t->shares[i].next, at);
        t->shares[i].end = at += size;
    }
}

static bool is_for_one(const pz_team *t)
{
    return t->members == 1 || t->n <= t->grain.alone;
}

static void begin(pz_team *t, pz_job run, void *context, int64_t n, pz_grain grain, double away)
{
    if (t->forks != pz_forks) team_start(t);
    t->run = run;
    t->context = context;
    t->n = n;
    t->grain = grain;
    t->cancelled = false;
    if (is_for_one(t)) return;
    share_out(t, away);
    atomic_store(&t->working, t->members - 1);
    atomic_fetch_add(&t->generation, 1);
    wake_sleepers(t);
}

/* False in the child of a fork that came since it began. */
static bool end(pz_team *t)
{
    if (t->forks != pz_forks) return false;
    if (is_for_one(t)) {
        t->run(t->context, 0, t->n);
        return true;
    }
    work(t, t->callers);
    for (int spin = 0; spin < SPINS && atomic_load(&t->working); spin++) relax();
    /* A signal handler may have forked: in the child there is nobody to wait for, nor to unlock the lock. */
    if (t->forks != pz_forks) return false;
    return !atomic_load(&t->working) || wait_for_end(t);
}

bool pz_team_run(pz_team *t, pz_job run, void *context, int64_t n, pz_grain grain)
{
    begin(t, run, context, n, grain, 0);
    return end(t);
}

void pz_team_begin(pz_team *t, pz_job run, void *context, int64_t n, pz_grain grain)
{
    begin(t, run, context, n, grain, t->away);
    t->began = pz_now();
}

bool pz_team_end(pz_team *t)
{
    const double away = pz_now() - t->began;
    if (!end(t)) return false;
    const double work = t->members * (pz_now() - t->began) - away;
    t->away += ((work > away ? away / work : 1) - t->away) / 8;
    return true;
}

int pz_team_size(const pz_team *t)
{
    return t->members;
}

pz_flag *pz_team_cancelled(pz_team *t)
{
    return &t->cancelled;
}
