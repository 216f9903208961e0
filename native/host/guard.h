/*
 * The guard: engine code runs between pz_enter and pz_leave, and whatever would end the process (assert, fatal, running
 * out of memory or time) comes back to the entry as an error code.
 */
#ifndef PZ_GUARD_H
#define PZ_GUARD_H

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "errors.h"
#include "host/memory.h"

typedef struct pz_guard {
    jmp_buf home;
    pz_pool *pool;             /* where smalloc takes memory from */
    struct pz_session *session; /* told when the engine supersedes its description */
    double timeout;            /* seconds; 0 means without limit */
    double started;            /* 0 until the first time the fuel ran out */
    double asked;              /* when the host was last asked for signals */
    double looked;             /* when the fuel last ran out */
    long ration;               /* how much fuel there is until the next look at the clock */
    int assertion; /* the error that a failed assertion is: the engine's, or in a load that of forged bytes */
    bool interruptible; /* ask the host for signals while waiting */
    pthread_mutex_t *locked; /* released on the way out */
    struct pz_guard *outer;
    int error;
    char message[PZ_MESSAGE];
} pz_guard;

/*
 * Usage: pz_enter(&guard, pool, timeout); if (!setjmp(guard.home)) { engine code; } pz_leave(&guard);
 * afterwards guard.error and guard.message tell what happened.
 */
void pz_enter(pz_guard *guard, pz_pool *pool, double timeout);
void pz_leave(pz_guard *guard);
/* For what may take long: ask the host for signals on the way, and count the time from now on. */
void pz_watch(pz_guard *guard);

/* Leave the guarded code with an error; never returns. */
_Noreturn void pz_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void pz_assertion_failed(const char *condition, const char *file, int line);

/* The guard of the code that runs now, or NULL. */
pz_guard *pz_current_guard(void);

/* What the host wants asked now and then during long calls; returns nonzero to interrupt. */
extern int (*pz_interrupted)(void);

/*
 * Threads of ours never ask the host: it may be shutting down while they work. They stop when the flag that they were
 * given is set.
 */
typedef _Atomic(bool) pz_flag;
void pz_become_worker(pz_flag *cancelled);

/* Whether this thread should stop what it does. */
bool pz_wants_out(void);

/* What a thread is told: its last error, and answers that live until its next question. */
typedef struct pz_notes {
    char error[PZ_MESSAGE];
    int slot; /* of a batch, where that error happened; -1 for none */
    char answers[2][PZ_MESSAGE];
} pz_notes;
pz_notes *pz_thread_notes(void);

char *pz_getenv(const char *name);

/* A lock of the whole process. A fork waits for it: else the child could get one that is never released. */
#define PZ_LOCK(name) \
    static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER; \
    static void name##_before_fork(void) \
    { \
        pthread_mutex_lock(&name); \
    } \
    static void name##_after_fork(void) \
    { \
        pthread_mutex_unlock(&name); \
    } \
    __attribute__((constructor)) static void name##_watches_forks(void) \
    { \
        pthread_atfork(name##_before_fork, name##_after_fork, name##_after_fork); \
    }

/*
 * Fuel is cheap to burn, and the clock is read only when it is gone. A process has little of this fast kind of
 * thread-local memory: it is for what every allocation looks at, and no more.
 */
#define PZ_TLS __thread __attribute__((tls_model("initial-exec")))
extern PZ_TLS long pz_fuel;
void pz_out_of_fuel(void);
static inline void pz_burn(long fuel)
{
#ifndef PZ_UNGUARDED
    if ((pz_fuel -= fuel) < 0) pz_out_of_fuel();
#else
    (void)fuel;
#endif
}
static inline void pz_tick(void)
{
    pz_burn(1);
}
/* What it costs to go over so many bytes: the engine's loops do about as much for one unit. */
static inline void pz_burn_bytes(size_t bytes)
{
    pz_burn(1 + (long)(bytes >> 12));
}

double pz_now(void);

/* How many bytes of this thread's stack are left. */
size_t pz_stack_left(void);

#endif
