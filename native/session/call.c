/*
 * Calls into the engine. All of them run under a guard, and what goes wrong in one comes back as an error code with a
 * text.
 */
#include <stdio.h>
#include <string.h>

#include "session/internal.h"

double pz_step_timeout = 30;

const char pz_small_stack[] = "this thread's stack is too small for a game of this size (see threading.stack_size)";

const char *pz_last_error(void)
{
    return pz_thread_notes()->error;
}

int pz_refuse(int error, const char *reason)
{
    pz_notes *notes = pz_thread_notes();
    snprintf(notes->error, PZ_MESSAGE, "%s", reason);
    notes->slot = -1;
    return error;
}

int pz_conclude(pz_guard *guard)
{
    pz_leave(guard);
    if (guard->error) pz_refuse(guard->error, guard->message);
    return guard->error;
}

int pz_guarded(pz_pool *pool, pz_session *session, double timeout, bool interruptible, pz_work work, void *context)
{
    pz_guard guard;
    pz_enter(&guard, pool, timeout);
    guard.session = session;
    if (interruptible) pz_watch(&guard);
    if (!setjmp(guard.home)) work(session, context);
    return pz_conclude(&guard);
}

int pz_claim_any(pz_session *s)
{
    const pz_claimed claimed = pz_take(&s->owner);
    if (claimed == PZ_BUSY) return pz_refuse(PZ_ENGINE, "this session is in use by another thread; clone it");
    if (claimed == PZ_ABANDONED) s->fault = PZ_FORKED;
    return PZ_OK;
}

int pz_claim(pz_session *s)
{
    if (s->stack_needed && pz_stack_left() < s->stack_needed) return pz_refuse(PZ_ENGINE, pz_small_stack);
    int refused = pz_claim_any(s);
    if (refused) return refused;
    if (!s->fault) return PZ_OK;
    const int fault = s->fault;
    pz_release(s);
    const char *reason = "this session ended with an engine fault; reset it";
    if (fault == PZ_FORKED) reason = "another thread was at work in this session when the process forked; reset it";
    if (fault == PZ_INTERRUPTED) reason = "this session was interrupted in a move; reset it";
    return pz_refuse(PZ_ENGINE, reason);
}

void pz_release(pz_session *s)
{
    pz_let_go(&s->owner);
}

/*
 * After a fault the engine's memory cannot be trusted: the game is over for good, and every later call says so. The
 * same holds where a move was stopped halfway.
 */
static int finish(pz_session *s, int error)
{
    if (error == PZ_ENGINE || error == PZ_TIMEOUT || error == PZ_INTERRUPTED) s->fault = error;
    pz_release(s);
    return error;
}

int pz_call(pz_session *s, pz_work work, void *context)
{
    int refused = pz_claim(s);
    return refused ? refused : finish(s, pz_guarded(s->pool, s, pz_step_timeout, false, work, context));
}

int pz_call_interruptible(pz_session *s, pz_work work, void *context)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    const int error = pz_guarded(s->pool, s, pz_step_timeout, true, work, context);
    if (error == PZ_ENGINE) return finish(s, error);
    pz_release(s);
    return error;
}

void pz_finish_undisturbed(void)
{
    pz_current_guard()->interruptible = false;
    pz_current_guard()->timeout = 0;
}

/*
 * What pz_call would do, written out. A function that calls setjmp is never inlined, so the helper would add two calls
 * to every step.
 */
int pz_session_step(pz_session *s, int action)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    if (action < 0 || action >= s->n_actions) {
        pz_release(s);
        return pz_refuse(PZ_BAD_ACTION, "there is no such action");
    }
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    guard.session = s;
    guard.interruptible = true; /* the first move in Mines lays the mines, which may take long */
    if (!setjmp(guard.home)) pz_step_guarded(s, action, false);
    return finish(s, pz_conclude(&guard));
}
