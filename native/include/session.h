/*
 * Our C API: what native/ffi.py declares to Python. Strings and buffers belong to the caller unless said otherwise;
 * every function that may fail returns an error code of enum pz_error and leaves the reason in pz_last_error().
 */
#ifndef PZ_SESSION_H
#define PZ_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "puzzle.h"

typedef struct pz_session pz_session;

/* The outcome of a step; also one row of the batch's output. */
typedef struct pz_outcome {
    int32_t changed;
    int32_t status;
    int32_t moves;
    int32_t repeats;
} pz_outcome;

/* Parameters with more cells than this are refused. */
extern double pz_max_cells;

/* Registry. */
int pz_count(void);
const pz_puzzle *pz_puzzle_at(int index);
const char *pz_last_error(void);

/* Parameters: strings are returned in a buffer that lives until the next call in this thread. */
int pz_params_canonical(const pz_puzzle *puzzle, const char *params, int full, int check, const char **canonical);
int pz_layout_of(const pz_puzzle *puzzle, const char *params, pz_layout *layout);
int pz_preset_count(const pz_puzzle *puzzle);
int pz_preset(const pz_puzzle *puzzle, int index, const char **title, const char **params);

enum { PZ_FLAG_UNDO = 1, PZ_FLAG_HISTORY = 2 };

/* Sessions: seed is a string of decimal digits, or NULL when desc is given. */
int pz_session_new(const pz_puzzle *puzzle, const char *params, const char *seed, const char *desc, int flags,
                   double timeout, pz_session **result);
void pz_session_free(pz_session *session);
int pz_session_reset(pz_session *session, const char *params, const char *seed, const char *desc, double timeout);
int pz_session_clone(const pz_session *session, pz_session **result);

int pz_n_actions(const pz_session *session);
const pz_layout *pz_session_layout(const pz_session *session);
const char *pz_session_params(const pz_session *session);
const char *pz_session_seed(const pz_session *session); /* NULL: from a description */
const char *pz_session_desc(const pz_session *session); /* the public one, superseded where the engine did so */
uint64_t pz_session_hash(const pz_session *session);

/*
 * Where step, undo, solve and reset write: record_size bytes, n_actions bytes, one outcome. They stay the caller's and
 * must outlive the session or be replaced; NULL goes back to the session's own.
 */
void pz_session_bind(pz_session *session, void *record, uint8_t *mask, pz_outcome *outcome);

int pz_session_step(pz_session *session, int action);
int pz_session_undo(pz_session *session);
int pz_session_solve(pz_session *session);
int pz_session_solution(pz_session *session, void *record);
int pz_session_text(pz_session *session, const char **text); /* lives until the next call on this session */

int pz_session_save(pz_session *session, const uint8_t **bytes, int64_t *size); /* likewise */
int pz_session_load(const uint8_t *bytes, int64_t size, pz_session **result);
size_t pz_session_memory(const pz_session *session);

/* The seed of the k-th episode after a reset with this seed; k = 0 is the seed itself. */
uint64_t pz_episode_seed(uint64_t seed, uint64_t episode);

/* For guard.c. */
void pz_supersede(pz_session *session, const char *desc, const char *privdesc);

#endif
