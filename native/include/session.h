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

/*
 * What steps pay, as core/rewards.py has it: for each, by status, for the way to the solution and for errors on the
 * board. The fields that these two count are bits, the first field's the lowest; no field to compare means those that
 * the solution changes.
 */
typedef struct pz_pay {
    double solved, failed, step, no_effect, solution, errors;
    uint32_t compared, counted;
} pz_pay;

/* Parameters with more cells than this are refused. */
extern double pz_max_cells;

/* Which puzzles there are. */
int pz_count(void);
const pz_puzzle *pz_puzzle_at(int index);
const char *pz_last_error(void);

/*
 * Parameters: strings are returned in a buffer that lives until the next call in this thread. A description can be
 * played under parameters that no generator takes.
 */
enum pz_params_use { PZ_TO_READ, PZ_TO_PLAY, PZ_TO_GENERATE };
int pz_params_canonical(const pz_puzzle *puzzle, const char *params, int use, const char **canonical);
int pz_optimal_steps(const pz_puzzle *puzzle, const char *params, double *steps);
/* The size of a picture with the smallest tiles that there are. */
int pz_least_picture(const pz_puzzle *puzzle, const char *params, int *width, int *height);
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
int pz_session_clone(const pz_session *session, pz_session **result);

int pz_n_actions(const pz_session *session);
const pz_layout *pz_session_layout(const pz_session *session);
const pz_puzzle *pz_session_puzzle(const pz_session *session);
int pz_session_flags(const pz_session *session);

/*
 * Each string is a copy, which the caller must pz_free. The seed is empty where it came from a description;
 * the description is the public one, superseded where the engine did so.
 */
void pz_free(void *memory);
int pz_session_names(pz_session *session, char **params, char **seed, char **desc);

/* Of the instance and what is observed; of puzzle, parameters and description. */
int pz_session_hashes(pz_session *session, uint64_t *state, uint64_t *instance);
uint64_t pz_session_hash(const pz_session *session); /* the first alone, without a claim */

/*
 * Where step, undo, solve and reset write, and how many bytes of room are there. They stay the caller's and must
 * outlive the session or be replaced; NULL stands for the session's own. What is too small is refused.
 */
typedef struct pz_buffers {
    void *record;
    uint8_t *mask;
    pz_outcome *outcome;
    int64_t record_size, mask_size;
} pz_buffers;
int pz_session_bind(pz_session *session, const pz_buffers *buffers);
bool pz_session_writes_to(const pz_session *session, const pz_buffers *buffers);

/*
 * Another game in the same session. NULL for the parameters means the present ones, for the buffers likewise (where
 * they do not fit the new parameters, the session's own).
 */
int pz_session_reset(pz_session *session, const char *params, const char *seed, const char *desc, double timeout,
                     const pz_buffers *buffers);
/*
 * The same in three calls, for a caller who has to change something of its own along with it: no other thread comes in
 * between. Letting go of what this thread does not hold does nothing.
 */
int pz_session_hold(pz_session *session);
int pz_session_reset_held(pz_session *session, const char *params, const char *seed, const char *desc, double timeout,
                          const pz_buffers *buffers);
void pz_session_let_go(pz_session *session);

/*
 * Another game with the present parameters: one call, and the buffers stay. PZ_UNREADABLE where a fault or a fork left
 * nothing that tells which these are: then a reset has to name them.
 */
int pz_session_restart(pz_session *session, uint64_t seed, double timeout);

/* When an episode is cut off: after so many steps, or when a state is seen again so often; 0 means never. */
int pz_session_limit(pz_session *session, int max_steps, int max_repeats);

/*
 * Players share one board, and each has a ui (cursor, held modifiers, selection) of its own; a session starts with one.
 * Every call acts and observes as the player whose turn it is. New players start as the first one did; taking the turn
 * writes that player's view and mask. An undo takes back the last move, whoever made it.
 */
int pz_session_players(pz_session *session, int n);
int pz_session_turn(pz_session *session, int player);
int pz_session_n_players(const pz_session *session);
int pz_session_player(pz_session *session, int *player);

int pz_session_step(pz_session *session, int action);
int pz_session_undo(pz_session *session);
int pz_session_solve(pz_session *session);
int pz_session_solution(pz_session *session, void *record, int64_t size); /* the size: of the record, in bytes */
int pz_session_text(pz_session *session, char **text); /* to pz_free */

/* A picture into width * height * 3 bytes: rows of RGB, or three planes, or (in a third of the room) grey. */
enum pz_picture_form { PZ_PICTURE_RGB = 0, PZ_PICTURE_PLANES = 1, PZ_PICTURE_GREY = 2 };
int pz_session_pixels(pz_session *session, int width, int height, int form, uint8_t *out);

/*
 * The same picture (RGB) without its text, which is listed instead: at most room of them, *count are there. *tile is
 * the side of a square in pixels.
 */
typedef struct pz_label {
    int32_t x, y;      /* the middle of the line of text; x is its left end, middle or right end */
    int32_t align;     /* -1, 0 or 1: which of these */
    uint8_t colour[4]; /* red, green, blue */
    char text[20];
} pz_label;
int pz_session_labels(pz_session *session, int width, int height, uint8_t *out, pz_label *labels, int room, int *count,
                      int *tile);

/*
 * The mouse at a place of the picture of this size. A gesture is a press, drags and a release; what the engine makes of
 * it is a move of this game, as if keys had made it. The cursor of the keys stays where it is.
 */
enum pz_button { PZ_BUTTON_LEFT = 0, PZ_BUTTON_MIDDLE = 1, PZ_BUTTON_RIGHT = 2 };
enum pz_gesture { PZ_PRESS = 0, PZ_DRAG = 1, PZ_LET_GO = 2 };
int pz_session_mouse(pz_session *session, int width, int height, int x, int y, int button, int gesture);

int pz_session_save(pz_session *session, uint8_t **bytes, int64_t *size); /* likewise */
int pz_session_load(const uint8_t *bytes, int64_t size, pz_session **result);
size_t pz_session_memory(const pz_session *session);

/* The seed of the k-th episode after a reset with this seed; k = 0 is the seed itself. */
uint64_t pz_episode_seed(uint64_t seed, uint64_t episode);

/* For host/frontend.c: the engine has replaced the description of the game. */
void pz_supersede(pz_session *session, const char *desc, const char *privdesc);

#endif
