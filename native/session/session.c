/* The session: one game of one puzzle, straight over the engine's struct game. */
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"

int pz_session_limit(pz_session *s, int max_steps, int max_repeats)
{
    int refused = pz_claim_any(s);
    if (refused) return refused;
    s->max_steps = max_steps;
    s->max_repeats = max_repeats;
    pz_release(s);
    return PZ_OK;
}

static void undo(pz_session *s, void *context)
{
    (void)context;
    pz_undo_guarded(s);
}

int pz_session_undo(pz_session *s)
{
    return pz_call(s, undo, NULL);
}

/* The solved state that follows from here, or a failure with the engine's reason. */
static game_state *solved_state(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    if (!s->puzzle->solved && !engine->can_solve) pz_fail(PZ_NO_SOLUTION, "%s has no solver", s->puzzle->title);
    const char *error = NULL;
    if (s->loaded && s->seed) pz_generate(s); /* a save has no aux */
    s->loaded = false;
    game_state *initial = engine->new_game((midend *)s, s->params, s->privdesc ? s->privdesc : s->desc);
    game_state *solved = NULL;
    if (s->puzzle->solved) {
        solved = s->puzzle->solved(initial, s->state, s->aux, &error);
    } else {
        char *move = engine->solve(initial, s->state, s->aux, &error);
        if (move) {
            solved = engine->execute_move(s->state, move);
            sfree(move);
        }
    }
    engine->free_game(initial);
    if (!solved) pz_fail(PZ_NO_SOLUTION, "%s", error ? error : "the engine found no solution");
    /* For descriptions that no generator wrote, the engine's solvers may end in a state that solves nothing. */
    if (engine->status(solved) != 1) {
        engine->free_game(solved);
        pz_fail(PZ_NO_SOLUTION, "%s", error ? error : "the engine's solution does not solve it");
    }
    return solved;
}

static void solve(pz_session *s, void *context)
{
    (void)context;
    game_state *solved = solved_state(s), *old = s->state;
    pz_observe_board(s, solved, s->trial_record);
    pz_finish_undisturbed();
    s->outcome->changed = memcmp(s->trial_record, s->record, (size_t)s->layout->ui_offset) != 0;
    if (s->outcome->changed) {
        if (s->puzzle->engine->changed_state) s->puzzle->engine->changed_state(s->ui, old, solved);
        pz_tell_waiting(s, solved);
        pz_push_history(s, old);
        s->state = solved;
        s->outcome->moves++;
    } else {
        s->puzzle->engine->free_game(solved); /* it was solved already, and there is nothing to undo later */
    }
    pz_publish(s);
}

int pz_session_solve(pz_session *s)
{
    return pz_call_interruptible(s, solve, NULL);
}

void pz_write_solution(pz_session *s, void *record)
{
    game_state *solved = solved_state(s);
    pz_copy_ui(s, s->trial_ui, s->ui, s->state);
    memcpy(s->trial_extra, s->extra, sizeof s->extra);
    if (s->puzzle->engine->changed_state) s->puzzle->engine->changed_state(s->trial_ui, s->state, solved);
    pz_observe_board(s, solved, record);
    pz_observe_ui(s, solved, s->trial_ui, s->trial_extra, record);
    s->puzzle->engine->free_game(solved);
}

typedef struct room {
    void *bytes;
    int64_t size;
} room;

static void write_solution(pz_session *s, void *context)
{
    const room *to = context;
    /* The caller knows the size from parameters that another thread may have changed since. */
    if (to->size != s->layout->record_size) pz_fail(PZ_NO_SOLUTION, "another thread has reset this session meanwhile");
    pz_write_solution(s, to->bytes);
}

int pz_session_solution(pz_session *s, void *record, int64_t size)
{
    return pz_call_interruptible(s, write_solution, &(room){record, size});
}

/* ---- Facts about a session ---- */

int pz_n_actions(const pz_session *s)
{
    return s->n_actions;
}

const pz_layout *pz_session_layout(const pz_session *s)
{
    return s->layout;
}

const pz_puzzle *pz_session_puzzle(const pz_session *s)
{
    return s->puzzle;
}

int pz_session_flags(const pz_session *s)
{
    return s->flags;
}

uint64_t pz_session_hash(const pz_session *s)
{
    return pz_hash_bytes(s->record, (size_t)s->layout->record_size, s->instance_hash);
}

int pz_session_hashes(pz_session *s, uint64_t *state, uint64_t *instance)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    *state = pz_session_hash(s);
    *instance = s->instance_hash;
    pz_release(s);
    return PZ_OK;
}

int pz_session_names(pz_session *s, char **params, char **seed, char **desc)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    *params = strdup(s->params_text);
    *seed = strdup(s->seed ? s->seed : "");
    *desc = strdup(s->desc);
    pz_release(s);
    if (*params && *seed && *desc) return PZ_OK;
    free(*params), free(*seed), free(*desc);
    return pz_refuse(PZ_ENGINE, "out of memory");
}

int pz_session_bind(pz_session *s, const pz_buffers *buffers)
{
    int error = pz_claim(s);
    if (error) return error;
    if (pz_fits(s, buffers))
        pz_bind(s, buffers);
    else
        error = pz_refuse(PZ_ENGINE, "these buffers are too small for the session");
    pz_release(s);
    return error;
}

bool pz_session_writes_to(const pz_session *s, const pz_buffers *buffers)
{
    return s->record == buffers->record;
}

void pz_free(void *memory)
{
    free(memory);
}

size_t pz_session_memory(const pz_session *s)
{
    return pz_pool_bytes(s->pool) + sizeof *s;
}
