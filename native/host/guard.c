/*
 * Deadlines cost nothing while all goes well: loops, the allocator and the random generator burn fuel, and only when
 * the fuel is gone is a clock read. What a unit is worth depends on the size of the game, so the next ration is made
 * smaller or larger by how long the last one took: about a millisecond.
 */
#define _GNU_SOURCE /* pthread_getattr_np */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/guard.h"
#include "puzzles.h"

enum { FUEL = 1 << 11, FIRST_FUEL = 1 << 5 };
static const double ration_lasts = 1e-3;

/* A call that runs out of time must still give back its memory: about ten gigabytes a second. */
static const double seconds_per_byte = 1e-10;

PZ_TLS long pz_fuel = FUEL;
static PZ_TLS pz_guard *current;
static PZ_TLS pz_flag *cancelled;

/* Asking the host may mean waiting for its lock: not more often than a person notices. */
static const double ask_every = 0.02;

int (*pz_interrupted)(void);

double pz_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

pz_guard *pz_current_guard(void)
{
    return current;
}

/* ---- Notes ---- */

static pthread_key_t notes_key;

__attribute__((constructor)) static void make_notes_key(void)
{
    pthread_key_create(&notes_key, free);
}

pz_notes *pz_thread_notes(void)
{
    static pz_notes shared; /* by all threads that find no memory for their own */
    pz_notes *notes = pthread_getspecific(notes_key);
    if (notes) return notes;
    notes = calloc(1, sizeof *notes);
    if (!notes) return &shared;
    pthread_setspecific(notes_key, notes);
    return notes;
}

/* ---- The stack ---- */

#ifdef __EMSCRIPTEN__

extern char __data_end; /* the linker's: where the static data end, and the stack may grow down to */

size_t pz_stack_left(void)
{
    char here;
    return (uintptr_t)&here - (uintptr_t)&__data_end;
}

#else

size_t pz_stack_left(void)
{
    static PZ_TLS char *lowest;
    char here;
    pthread_attr_t attributes;
    if (!lowest && !pthread_getattr_np(pthread_self(), &attributes)) {
        void *start;
        size_t size;
        if (!pthread_attr_getstack(&attributes, &start, &size)) lowest = start;
        pthread_attr_destroy(&attributes);
    }
    return !lowest ? SIZE_MAX : &here > lowest ? (size_t)(&here - lowest) : 0;
}

#endif

/* ---- The guard ---- */

void pz_enter(pz_guard *guard, pz_pool *pool, double timeout)
{
    guard->pool = pool;
    guard->session = NULL;
    guard->timeout = timeout;
    guard->started = guard->asked = guard->looked = 0;
    guard->ration = FUEL;
    guard->assertion = PZ_ENGINE;
    guard->interruptible = false;
    guard->locked = NULL;
    guard->outer = current;
    guard->error = PZ_OK;
    guard->message[0] = '\0';
    pz_fuel = FUEL;
    current = guard;
}

void pz_leave(pz_guard *guard)
{
    if (guard->locked) pthread_mutex_unlock(guard->locked);
    current = guard->outer;
    if (current && pz_fuel > current->ration) pz_fuel = current->ration;
}

void pz_watch(pz_guard *guard)
{
    guard->interruptible = true;
    guard->started = guard->asked = guard->looked = pz_now();
    pz_fuel = guard->ration = FIRST_FUEL;
}

static void set_ration(pz_guard *guard, double now)
{
    const double lasted = now - guard->looked;
    if (guard->looked && lasted > 2 * ration_lasts)
        guard->ration = 1 + (long)((double)guard->ration * ration_lasts / lasted);
    else if (lasted < ration_lasts / 2 && guard->ration < FUEL)
        guard->ration *= 2;
    guard->looked = now;
}

void pz_out_of_fuel(void)
{
    pz_fuel = FUEL;
    pz_guard *guard = current;
    if (!guard) return;
    double now = pz_now();
    set_ration(guard, now);
    pz_fuel = guard->ration;
    const double to_free = guard->pool ? (double)pz_pool_bytes(guard->pool) * seconds_per_byte : 0;
    if (!guard->started)
        guard->started = guard->asked = now;
    else if (guard->timeout > 0 && now - guard->started + to_free > guard->timeout)
        pz_fail(PZ_TIMEOUT, "no result within %g seconds", guard->timeout);
    if (!guard->interruptible || guard->locked) return; /* a signal's handler may want the lock too */
    if (cancelled) {
        if (*cancelled) pz_fail(PZ_INTERRUPTED, "interrupted");
    } else if (now - guard->asked > ask_every) {
        guard->asked = now;
        if (pz_wants_out()) pz_fail(PZ_INTERRUPTED, "interrupted");
    }
}

bool pz_wants_out(void)
{
    return cancelled ? *cancelled : pz_interrupted && pz_interrupted();
}

void pz_become_worker(pz_flag *flag)
{
    cancelled = flag;
}

_Noreturn static void fail(int error, const char *format, va_list arguments)
{
    pz_guard *guard = current;
    if (!guard) {
        /* Engine code outside a guard is a bug of ours, and there is nowhere to go back to. */
        vfprintf(stderr, format, arguments);
        abort();
    }
    guard->error = error;
    vsnprintf(guard->message, sizeof guard->message, format, arguments);
    longjmp(guard->home, 1);
}

void pz_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, format, arguments);
}

void pz_assertion_failed(const char *condition, const char *file, int line)
{
    const char *slash = strrchr(file, '/');
    pz_fail(current ? current->assertion : PZ_ENGINE, "assertion failed in the engine: %s (%s:%d)", condition,
            slash ? slash + 1 : file, line);
}

void fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(current ? current->assertion : PZ_ENGINE, format, arguments);
}
