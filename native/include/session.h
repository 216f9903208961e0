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
    int32_t changed; /* whether the action had any effect */
    int32_t status;  /* +1 solved, -1 failed, 0 otherwise */
    int32_t moves;   /* changes of the game, the cursor's apart, since the start */
    int32_t repeats; /* how often this observation was seen before in this episode */
    int32_t steps;   /* actions since the start, with or without effect */
    int32_t ended;   /* enum pz_end */
} pz_outcome;

enum pz_end { PZ_GOES_ON = 0, PZ_TERMINATED = 1, PZ_TRUNCATED = 2 };

/* Parameters with more cells than this are refused. */
extern double pz_max_cells;

/* Registry. */
int pz_count(void);
const pz_puzzle *pz_puzzle_at(int index);
const char *pz_last_error(void);

/* Parameters: strings are returned in a buffer that lives until the next call in this thread. */
int pz_params_canonical(const pz_puzzle *puzzle, const char *params, int full, int check, const char **canonical);
int pz_optimal_steps(const pz_puzzle *puzzle, const char *params, double *steps);
int pz_layout_of(const pz_puzzle *puzzle, const char *params, pz_layout *layout);
int pz_can_solve(const pz_puzzle *puzzle);
int pz_has_text(const pz_puzzle *puzzle);
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
const pz_puzzle *pz_session_puzzle(const pz_session *session);
int pz_session_flags(const pz_session *session);

/*
 * What a session tells of itself is a copy, for the caller to pz_free. The seed is empty where it came from a description;
 * the description is the public one, superseded where the engine did so.
 */
void pz_free(void *memory);
int pz_session_names(pz_session *session, char **params, char **seed, char **desc);

/* Of the instance and what is observed; of puzzle, parameters and description. */
int pz_session_hashes(pz_session *session, uint64_t *state, uint64_t *instance);
uint64_t pz_session_hash(const pz_session *session); /* the first alone, for who owns the session */

/*
 * Where step, undo, solve and reset write: record_size bytes, n_actions bytes, one outcome. They stay the caller's and
 * must outlive the session or be replaced; NULL goes back to the session's own.
 */
int pz_session_bind(pz_session *session, void *record, uint8_t *mask, pz_outcome *outcome);

/* When an episode is cut off: after so many steps, or when a state is seen again so often; 0 means never. */
void pz_session_limit(pz_session *session, int max_steps, int max_repeats);

/*
 * Players share one board, and each has a ui (cursor, held modifiers, selection) of its own; a session starts with one. Every
 * call acts and observes as the player whose turn it is. New players start as the first one did; taking the turn writes that
 * player's view and mask. An undo takes back the last move, whoever made it.
 */
int pz_session_players(pz_session *session, int n);
int pz_session_turn(pz_session *session, int player);
int pz_session_n_players(const pz_session *session);
int pz_session_player(const pz_session *session);

int pz_session_step(pz_session *session, int action);
int pz_session_undo(pz_session *session);
int pz_session_solve(pz_session *session);
int pz_session_solution(pz_session *session, void *record);
int pz_session_text(pz_session *session, char **text); /* to pz_free */

/* A picture into width * height * 3 bytes: rows of RGB, or three planes, or (in a third of the room) grey. */
enum pz_picture_form { PZ_PICTURE_RGB = 0, PZ_PICTURE_PLANES = 1, PZ_PICTURE_GREY = 2 };
int pz_session_pixels(pz_session *session, int width, int height, int form, uint8_t *out);

int pz_session_save(pz_session *session, uint8_t **bytes, int64_t *size); /* likewise */
int pz_session_load(const uint8_t *bytes, int64_t size, pz_session **result);
size_t pz_session_memory(const pz_session *session);

/* The seed of the k-th episode after a reset with this seed; k = 0 is the seed itself. */
uint64_t pz_episode_seed(uint64_t seed, uint64_t episode);

/* ---- Batches: n sessions of one puzzle and one set of parameters, stepped together on several threads. ---- */

typedef struct pz_batch pz_batch;

enum pz_autoreset { PZ_AUTORESET_OFF = 0, PZ_AUTORESET_NEXT_STEP = 1, PZ_AUTORESET_SAME_STEP = 2 };

/* What the caller allocates once and every call fills; the final_ ones, for the same-step autoreset only, may be NULL. */
typedef struct pz_batch_buffers {
    uint8_t *records, *masks;
    pz_outcome *outcomes;
    uint8_t *final_records, *final_masks;
    uint8_t *frames, *final_frames; /* NULL, or pictures of this size and form, drawn along with every step */
    int32_t width, height, form;
} pz_batch_buffers;

int pz_batch_new(const pz_puzzle *puzzle, const char *params, int n, int threads, int flags, double timeout,
                 int max_steps, int max_repeats, pz_batch **result);
void pz_batch_free(pz_batch *batch);
int pz_batch_threads(const pz_batch *batch);
const pz_layout *pz_batch_layout(const pz_batch *batch);
int pz_batch_clone(pz_batch *batch, int slot, pz_session **result); /* its own sessions stay the batch's */
void pz_batch_bind(pz_batch *batch, const pz_batch_buffers *buffers);

/* Start episode number episodes[i] of stream seeds[i] in every slot for which which[i] is set (all when NULL). */
int pz_batch_reset(pz_batch *batch, const uint64_t *seeds, const uint64_t *episodes, const uint8_t *which);
int pz_batch_step(pz_batch *batch, const int64_t *actions, int autoreset);
int pz_batch_pixels(pz_batch *batch, int width, int height, int form, uint8_t *out);
int pz_batch_failed_slot(const pz_batch *batch); /* after an error: whose it was */
void pz_batch_streams(const pz_batch *batch, uint64_t *seeds, uint64_t *episodes);

/* Whole episodes in C, one per seed: what became of each, and after how many steps. */
enum pz_policy { PZ_POLICY_RANDOM = 0, PZ_POLICY_MASKED = 1 };
int pz_rollout(const pz_puzzle *puzzle, const char *params, int flags, double timeout, int policy, int threads,
               int64_t episodes, const uint64_t *seeds, int max_steps, int32_t *status, int32_t *steps,
               volatile int64_t *progress);

/*
 * The plain loop that the benchmark compares with: steps random actions on one session for so many seconds, and counts
 * steps and how many of them had an effect.
 */
enum pz_loop { PZ_LOOP_STEP = 0, PZ_LOOP_STEP_MASK = 1 };
int pz_loop(const pz_puzzle *puzzle, const char *params, uint64_t seed, int what, double seconds, int64_t *steps,
            int64_t *changed);

/* For guard.c. */
void pz_supersede(pz_session *session, const char *desc, const char *privdesc);

#endif
