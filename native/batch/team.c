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

typedef struct share {
    _Alignas(64) atomic_int_fast64_t next;
    int64_t end;
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
    unsigned forks; /* of the process that has the threads: they do not survive a fork */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_int generation; /* counts jobs; a change is the signal to start */
    atomic_int working;
    pz_flag quit, cancelled;
    pz_job run;
    void *context;
    int64_t grain;
};

static void work(pz_team *t, int number)
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
    pz_team *t = self->team;
    int seen = 0;
    pz_become_worker(&t->cancelled);
    for (;;) {
        for (int spin = 0; spin < SPINS && atomic_load(&t->generation) == seen && !t->quit; spin++) relax();
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

static void team_start(pz_team *t)
{
    t->forks = pz_forks;
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

pz_team *pz_team_new(int threads)
{
    pz_team *t = calloc(1, sizeof *t);
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
    free(t->member);
    free(t->shares);
    free(t);
}

bool pz_wait_a_moment(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50 * 1000 * 1000;
    if (until.tv_nsec >= 1000 * 1000 * 1000) until.tv_sec++, until.tv_nsec -= 1000 * 1000 * 1000;
    return pthread_cond_timedwait(condition, lock, &until) != 0;
}

bool pz_team_run(pz_team *t, pz_job run, void *context, int64_t n, int64_t grain)
{
    if (t->forks != pz_forks) team_start(t);
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
        return true;
    }
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->working, t->members - 1);
    atomic_fetch_add(&t->generation, 1);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
    work(t, 0);
    for (int spin = 0; spin < SPINS && atomic_load(&t->working); spin++) relax();
    /* A signal handler may have forked: in the child there is nobody to wait for, nor to unlock the lock. */
    if (t->forks != pz_forks) return false;
    pthread_mutex_lock(&t->lock);
    while (atomic_load(&t->working)) {
        if (!pz_wait_a_moment(&t->done, &t->lock)) continue;
        pthread_mutex_unlock(&t->lock);
        if (pz_interrupted && pz_interrupted()) t->cancelled = true;
        if (t->forks != pz_forks) return false;
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
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
