"""The cffi definitions of ``puzzleport._native`` (API mode, out of line).

Run as a script it writes the C source of the extension module: ``python ffi.py OUTPUT.c``.
The declarations mirror ``include/*.h``; the C compiler checks every one of them.
"""

from __future__ import annotations

import sys

from cffi import FFI

CDEF = """
enum pz_error { PZ_OK, PZ_BAD_PARAMS, PZ_BAD_ID, PZ_TIMEOUT, PZ_ENGINE, PZ_INTERRUPTED, PZ_NO_SOLUTION, PZ_CORRUPT, PZ_NO_PLAN,
    PZ_BAD_ACTION, PZ_UNREADABLE, ... };
enum pz_params_use { PZ_TO_READ, PZ_TO_PLAY, PZ_TO_GENERATE, ... };
#define PZ_FLAG_UNDO ...
#define PZ_FLAG_HISTORY ...
#define PZ_UNDO ...

typedef struct { char name[...]; char about[...]; int32_t low, high, itemsize, ndim, shape[...], count, offset, is_ui; ...; }
    pz_field;
typedef struct { int32_t n_fields, record_size, ui_offset; pz_field fields[...]; ...; } pz_layout;
typedef struct { const char *name; int key; ...; } pz_action;
typedef struct { const char *name, *title, *rules; const pz_action *actions; const char *easiest, *human, *params_pattern,
    *params_help, *params_alias, *draws, *words, *goal; bool hidden; ...; } pz_puzzle;
typedef struct { int32_t changed, status, moves, repeats, steps, ended; } pz_outcome;
typedef struct { void *record; uint8_t *mask; pz_outcome *outcome; int64_t record_size, mask_size; } pz_buffers;
typedef struct { int32_t x, y, align; uint8_t colour[4]; char text[...]; } pz_label;
typedef struct pz_session pz_session;
typedef struct pz_batch pz_batch;
typedef struct { double solved, failed, step, no_effect, solution, errors; uint32_t compared, counted; } pz_pay;
typedef struct { const pz_puzzle *puzzle; const char *params, *seed, *desc; int flags, max_steps, max_repeats; double timeout;
    const pz_pay *pay; int undo_depth; const uint64_t *excluded; int64_t n_excluded; bool ahead; } pz_task;
typedef struct { uint8_t *records, *masks; pz_outcome *outcomes; uint8_t *final_records, *final_masks; uint64_t *game_seeds;
    uint8_t *frames, *final_frames; int32_t width, height, form; double *rewards; pz_pay pay; int64_t records_size, masks_size,
    outcomes_size, game_seeds_size, rewards_size, frames_size; } pz_batch_buffers;

double pz_max_cells;
size_t pz_pool_limit;
size_t pz_live_pools(void);

int pz_count(void);
const pz_puzzle *pz_puzzle_at(int index);
const char *pz_last_error(void);
int pz_params_canonical(const pz_puzzle *puzzle, const char *params, int use, const char **canonical);
int pz_optimal_steps(const pz_puzzle *puzzle, const char *params, double *steps);
int pz_least_picture(const pz_puzzle *puzzle, const char *params, int *width, int *height);
int pz_layout_of(const pz_puzzle *puzzle, const char *params, pz_layout *layout);
int pz_can_solve(const pz_puzzle *puzzle);
int pz_has_text(const pz_puzzle *puzzle);
int pz_preset_count(const pz_puzzle *puzzle);
int pz_preset(const pz_puzzle *puzzle, int index, const char **title, const char **params);

int pz_session_new(const pz_puzzle *puzzle, const char *params, const char *seed, const char *desc, int flags,
                   double timeout, pz_session **result);
void pz_session_free(pz_session *session);
int pz_session_hold(pz_session *session);
int pz_session_reset_held(pz_session *session, const char *params, const char *seed, const char *desc, double timeout,
                          const pz_buffers *buffers);
void pz_session_let_go(pz_session *session);
int pz_session_restart(pz_session *session, uint64_t seed, double timeout);
int pz_session_clone(const pz_session *session, pz_session **result);
int pz_n_actions(const pz_session *session);
const pz_layout *pz_session_layout(const pz_session *session);
const pz_puzzle *pz_session_puzzle(const pz_session *session);
int pz_session_flags(const pz_session *session);
void pz_free(void *memory);
int pz_session_names(pz_session *session, char **params, char **seed, char **desc);
int pz_session_hashes(pz_session *session, uint64_t *state, uint64_t *instance);
int pz_session_bind(pz_session *session, const pz_buffers *buffers);
bool pz_session_writes_to(const pz_session *session, const pz_buffers *buffers);
int pz_session_limit(pz_session *session, int max_steps, int max_repeats);
int pz_session_players(pz_session *session, int n);
int pz_session_turn(pz_session *session, int player);
int pz_session_n_players(const pz_session *session);
int pz_session_player(pz_session *session, int *player);
int pz_session_step(pz_session *session, int action);
int pz_session_undo(pz_session *session);
int pz_session_solve(pz_session *session);
int pz_session_solution(pz_session *session, void *record, int64_t size);
int pz_session_plan(pz_session *session, double timeout, int32_t **actions, int32_t *count);
int pz_session_next_key(pz_session *session, double timeout, int32_t *action, char **purpose);
int pz_session_text(pz_session *session, char **text);
int pz_session_pixels(pz_session *session, int width, int height, int form, uint8_t *out);
int pz_session_labels(pz_session *session, int width, int height, uint8_t *out, pz_label *labels, int room, int *count,
                      int *tile);
int pz_session_mouse(pz_session *session, int width, int height, int x, int y, int button, int gesture);
int pz_session_save(pz_session *session, uint8_t **bytes, int64_t *size);
int pz_session_load(const uint8_t *bytes, int64_t size, pz_session **result);
size_t pz_session_memory(const pz_session *session);
uint64_t pz_episode_seed(uint64_t seed, uint64_t episode);

typedef struct pz_ahead pz_ahead;
int pz_ahead_new(pz_session *session, double timeout, pz_ahead **result);
void pz_ahead_free(pz_ahead *ahead);
int pz_ahead_start(pz_ahead *ahead, pz_session *session, uint64_t seed, uint64_t episode);

int pz_batch_new(const pz_task *task, int n, int threads, pz_batch **result);
void pz_batch_free(pz_batch *batch);
int pz_batch_threads(const pz_batch *batch);
const pz_layout *pz_batch_layout(const pz_batch *batch);
int pz_batch_clone(pz_batch *batch, int slot, pz_session **result);
int pz_batch_bind(pz_batch *batch, const pz_batch_buffers *buffers);
int pz_batch_reset(pz_batch *batch, int64_t n, const uint64_t *seeds, const uint64_t *episodes, const uint8_t *which);
void pz_batch_uncounted(pz_batch *batch);
int pz_batch_step(pz_batch *batch, int64_t n, const int64_t *actions, int autoreset);
int pz_batch_step_told(pz_batch *batch, int64_t n, const int64_t *actions, int autoreset, uint8_t *block, int64_t size);
int pz_batch_begin_apart(pz_batch *batch, int64_t n, const int64_t *actions, int autoreset, uint8_t *block,
                         int64_t size, bool choosable);
int pz_batch_end_apart(pz_batch *batch);
int pz_batch_pixels(pz_batch *batch, int width, int height, int form, uint8_t *out, int64_t size);
int pz_failed_slot(void);
int pz_batch_streams(pz_batch *batch, int64_t n, uint64_t *seeds, uint64_t *episodes, uint8_t *begun);
int pz_xla_open(pz_batch *batch, const pz_batch_buffers *buffers, int n, int n_actions, const uint64_t *seeds,
                uint32_t *token);
void pz_xla_close(uint32_t id);
int pz_xla_use_version(int major, int minor);
int pz_xla_capsules(void);
int pz_snapshot_measure(const pz_task *task, uint64_t seed, int64_t *size);
int pz_rollout(const pz_task *task, int policy, int threads, int64_t episodes, const uint64_t *seeds, int32_t *status,
               int32_t *steps, uint8_t *actions, volatile int64_t *progress);
typedef struct { int64_t steps, changed; double by_clock, by_processor, resetting; } pz_loop_result;
int pz_loop(const pz_puzzle *puzzle, const char *params, uint64_t seed, int what, double seconds, pz_loop_result *result);

typedef struct pz_search pz_search;
typedef struct { uint8_t *records, *masks; int64_t records_size, masks_size; int32_t count, done; int64_t ticket; } pz_selection;
typedef struct { int64_t nodes; int32_t best, plan_length; } pz_finding;
int pz_search_new(pz_session *session, int max_nodes, uint64_t seed, pz_search **result);
void pz_search_free(pz_search *search);
int pz_search_reroot(pz_search *search, pz_session *session, int *known);
int pz_search_simulate(pz_search *search, int simulations, int rollout_depth, double c, double discount, int stop);
int pz_forest_simulate(pz_search **trees, int n, int simulations, int rollout_depth, double c, double discount,
    int stop);
int pz_search_select(pz_search *search, int k, double c, double discount, pz_selection *selection);
int pz_search_expand(pz_search *search, const pz_selection *selection, const float *priors, int64_t n_priors,
                     const float *values, int64_t n_values, double discount);
int pz_search_mix(pz_search *search, const float *noise, int64_t n, double share, int *mixed);
int pz_search_look(pz_search *search, pz_finding *finding, int32_t *visits, double *values, int64_t n);
int pz_search_plan(pz_search *search, int32_t **actions, int32_t *length);
int pz_search_bfs(pz_search *search, int max_depth, int *complete);
int pz_search_ida(pz_search *search, int max_depth, int64_t max_visits, const void *target, int64_t target_size,
                  int per_step, int *complete);

void pz_watch_signals(uintptr_t main_thread);
"""

SOURCE = """
#include "batch.h"
#include "checks/bench.h"
#include "host/guard.h"
#include "plan.h"
#include "search.h"
#include "session.h"
#include "snapshot.h"
#include "xla.h"

static pthread_t main_thread;

/* In the child of a fork, Python takes the thread that forked for its main thread. */
static void in_the_child(void)
{
    main_thread = pthread_self();
}

/*
 * Asked now and then during long calls: lets Ctrl-C through, as a KeyboardInterrupt that Python raises for us. Only the
 * main thread handles signals. The others must not ask: Python may be gone while a daemon thread is still in here.
 */
static int python_wants_to_stop(void)
{
    if (!pthread_equal(pthread_self(), main_thread)) return 0;
    PyGILState_STATE state = PyGILState_Ensure();
    int stop = PyErr_CheckSignals();
    if (stop) PyErr_Clear();
    PyGILState_Release(state);
    return stop;
}

static void pz_watch_signals(uintptr_t thread)
{
    if (!pz_interrupted) pthread_atfork(NULL, NULL, in_the_child);
    main_thread = (pthread_t)thread;
    pz_interrupted = python_wants_to_stop;
}

/*
 * What JAX registers are capsules, which cffi cannot return: they become the dict xla_targets of this module, by name.
 * Returns whether that worked.
 */
static int pz_xla_capsules(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *module = PyImport_ImportModule("puzzleport._native"), *targets = PyDict_New();
    int done = module && targets;
    for (const pz_xla_target *target = pz_xla_targets; done && target->name; target++) {
        PyObject *capsule = PyCapsule_New(target->handler, "xla._CUSTOM_CALL_TARGET", NULL);
        done = capsule && !PyDict_SetItemString(targets, target->name, capsule);
        Py_XDECREF(capsule);
    }
    done = done && !PyObject_SetAttrString(module, "xla_targets", targets);
    Py_XDECREF(targets);
    Py_XDECREF(module);
    if (!done) PyErr_Clear();
    PyGILState_Release(state);
    return done;
}
"""


def builder() -> FFI:
    """The module's definition."""
    ffi = FFI()
    ffi.cdef(CDEF)
    ffi.set_source("puzzleport._native", SOURCE)
    return ffi


if __name__ == "__main__":
    builder().emit_c_code(sys.argv[1])
