/* The inside of a session, for the files that work on it. */
#ifndef PZ_INTERNAL_H
#define PZ_INTERNAL_H

#include "host/claim.h"
#include "host/guard.h"
#include "session.h"

enum {
    PZ_HISTORY = 256,   /* how many moves can be undone: a bound on memory, beyond any need of the 40 puzzles */
    PZ_MAX_ACTIONS = 16,
    PZ_MAX_PLAYERS = 64
};

typedef uint64_t pz_repeat;
typedef struct pz_picture pz_picture;

typedef struct pz_player {
    game_ui *ui;
    int extra[PZ_EXTRA];
} pz_player;

/* The way to the solution of the present game, for what the board pays. */
typedef struct pz_way {
    char *solution; /* a record, NULL while none is known */
    uint32_t compared;
    int32_t wrong_at_start;
    double potential;
} pz_way;

/* What every step touches stands first. */
struct pz_session {
    /* What stays when the session takes over another game. */
    pz_owner owner;
    bool held; /* by a caller, from pz_session_hold on */
    int max_steps, max_repeats;

    const pz_puzzle *puzzle;
    game_state *state;
    game_ui *ui, *trial_ui;
    game_drawstate *ds;   /* draws nothing: interpret_move wants one to measure with */
    char *record, *trial_record;
    uint8_t *mask;
    pz_outcome *outcome;
    pz_repeat *repeats;
    int32_t repeats_room, repeats_used;
    int extra[PZ_EXTRA], trial_extra[PZ_EXTRA];
    int flags, n_actions, fault;
    pz_player *players;   /* those who wait; the entry of the present player is stale. NULL while there is only one */
    int n_players, player;
    size_t stack_needed;  /* bytes, 0 where every stack will do */
    bool stuck, loaded;   /* loaded: from a save, without its aux so far */
    bool ruled;           /* generated and played here, so rules tell its masks; else every key is tried */

    game_state **history; /* a ring of the states before, NULL where no undo is wanted */
    int history_start, history_length;

    /* All that the engine allocated for this game lies in pool; scratch is set only while generating. */
    pz_pool *pool, *scratch;
    uint8_t own_mask[PZ_MAX_ACTIONS];
    pz_outcome own_outcome;

    game_params *params;
    char *params_text, *seed, *desc, *privdesc, *aux;
    char *first_desc; /* before the engine replaced it by desc and privdesc; NULL where it did not */
    uint64_t instance, instance_hash;
    drawing *dr;
    char *own_record;

    pz_picture *picture;  /* the last one drawn, NULL before; lies in the pool */

    pz_way way;

    const pz_layout *layout; /* shared with all sessions of these parameters */
};

/* ---- Attempts (attempt.c) ---- */

void pz_copy_ui(const pz_session *session, game_ui *to, const game_ui *from, const game_state *state);

/*
 * Try an action from the present state. Afterwards trial_ui, trial_extra and trial_record hold what would be; *next is
 * the state that would follow, or NULL when it stays. Returns whether the observation differs.
 */
bool pz_attempt(pz_session *session, const pz_action *action, game_state **next);

/*
 * One step, or an undo, under the caller's guard. A lean step leaves out what a random policy never reads: mask and
 * repeats.
 */
void pz_step_guarded(pz_session *session, int action, bool lean);
void pz_undo_guarded(pz_session *session);

/*
 * Start to load memory into the caches before it is written; and all that a step of a session reads. Without being told
 * of the processor, compilers make it a fetch to read, and then the first store asks the other cores once more.
 */
static inline void pz_fetch_line(const char *at)
{
#ifdef __x86_64__
    __asm__ __volatile__("prefetchw %0" : : "m"(*at));
#else
    __builtin_prefetch(at, 1);
#endif
}
static inline void pz_fetch(const void *at, size_t size)
{
    for (size_t line = 0; line < size; line += 64) pz_fetch_line((const char *)at + line);
}
void pz_session_fetch(const pz_session *session);

/* Replace the game of a session by that of a fresh one, which is consumed; limits stay. NULL: the buffers stay too. */
void pz_session_take_over(pz_session *session, pz_session *fresh, const pz_buffers *buffers);

/* ---- Calls (call.c) ---- */

/* Note an error for pz_last_error(), and return it. */
int pz_refuse(int error, const char *reason);

/* Leave a guard: returns its error, and notes it likewise. */
int pz_conclude(pz_guard *guard);

/*
 * Run work under a guard: it allocates in the pool, and an error in it ends the call. Timeouts are in seconds, 0 means
 * none; what is interruptible also ends on Ctrl-C, and its time counts from the start.
 */
typedef void (*pz_work)(pz_session *session, void *context);
int pz_guarded(pz_pool *pool, pz_session *session, double timeout, bool interruptible, pz_work work, void *context);

/* The same on a living game: claimed first, and over for good after a fault. */
int pz_call(pz_session *session, pz_work work, void *context);
/* For work that may be stopped at any point, on Ctrl-C or at the deadline, and leaves the game as it was. */
int pz_call_interruptible(pz_session *session, pz_work work, void *context);
/* From here on such work changes the game: what is left is short, and must not be stopped halfway. */
void pz_finish_undisturbed(void);

/*
 * Claim a game for this thread: fails after a fault, while another thread has it, and where the stack is too small. The
 * second is for a reset, which a fault does not stop.
 */
extern const char pz_small_stack[];
int pz_claim(pz_session *session);
int pz_claim_any(pz_session *session);
void pz_release(pz_session *session);

/* Seconds that one call on a living game may take: far more than any real one does. */
extern double pz_step_timeout;

/* ---- Building (build.c) ---- */

/* A session without a game; the game of it, under a guard; the parameters alone, as they are and checked. */
pz_session *pz_blank(const pz_puzzle *puzzle, int flags);
void pz_build(pz_session *session);
void pz_name_instance(pz_session *session);
game_params *pz_read_params(const pz_puzzle *puzzle, const char *text);
game_params *pz_decode(const pz_puzzle *puzzle, const char *text, bool to_generate);
void pz_generate(pz_session *session); /* its description from its seed */
void pz_write_seed(char digits[24], uint64_t seed); /* as the engine reads it */
/* Play a fresh game of the session's own parameters, which is used up. PZ_UNREADABLE as in pz_session_restart. */
int pz_session_play(pz_session *session, pz_session *fresh);
/* After an undo: where it took back what had replaced the description, have the first one back. */
void pz_take_back_desc(pz_session *session);
bool pz_fits(const pz_session *session, const pz_buffers *buffers);
void pz_bind(pz_session *session, const pz_buffers *buffers);

/* ---- Players (players.c) ---- */

void pz_seat(pz_session *session, int n);               /* more players, under a guard */
void pz_change_places(pz_session *session, int player); /* the ui alone: nothing is written anew */

/* ---- Saves (save.c): a head with the version, what was packed, and a SHA-1 of both ---- */

enum { PZ_SAVE_HEAD = 8, PZ_SAVE_DIGEST = 20 };
/* Write head and digest around what lies between them, and make a save of the right version out of any bytes. */
void pz_seal(uint8_t *bytes, size_t size);

/* A clone within a timeout, which Ctrl-C stops; 0 means without limit. */
int pz_clone_within(const pz_session *session, double timeout, pz_session **result);

/* All that is mutable of the present player's ui. */
void pz_visit_ui(pz_session *session, pz_visitor *visitor);

/* ---- Layouts (layout.c) ---- */

/* Make one from parameters; or hold one that all sessions of the same parameters share, until the last releases it. */
void pz_make_layout(const pz_puzzle *puzzle, const game_params *params, pz_layout *layout);
const pz_layout *pz_layout_hold(const pz_puzzle *puzzle, const char *text, const game_params *params);
const pz_layout *pz_layout_share(const pz_layout *layout); /* one more that holds it */
void pz_layout_release(const pz_layout *layout);

/* ---- What is derived from the state, each on its own (attempt.c) ---- */

void pz_observe_board(const pz_session *session, const game_state *state, char *record);
void pz_observe_ui(const pz_session *session, const game_state *state, const game_ui *ui, const int *extra,
                   char *record);
void pz_push_history(pz_session *session, game_state *state);
/* Take over a state that the mouse led to, as the next move; false where nothing that is observed changes. */
bool pz_take_state(pz_session *session, game_state *next);
/* Tell the uis of the players who wait that the state under them is about to change. */
void pz_tell_waiting(pz_session *session, const game_state *next);
void pz_judge(pz_session *session);
int pz_end_of(const pz_session *session);
void pz_write_mask(pz_session *session);
void pz_publish(pz_session *session); /* all of it, after a change of the state from outside */
/* The record of the solved game, which is work for pz_guarded: it asks the engine's solver. */
void pz_write_solution(pz_session *session, void *record);
/* Whether all that is observed of a state, or of the session's ui, is within its bounds; fails with that error. */
void pz_check_board(const pz_session *session, const game_state *state, int error);
void pz_check_ui(const pz_session *session, int error);
int32_t pz_item(const pz_field *field, const char *record, int i);

/* ---- Pictures (picture.c) ---- */

/* The smallest tile of which something is seen, and the picture's size with it: Tracks counts in sixths of a tile. */
int pz_least_tile(const game *engine, const game_params *params, const game_ui *ui, int *width, int *height);

/* ---- Pay (pay.c) ---- */

/* Take the potential of a new game, outside any guard or within one; the solver may fail with its own error. */
int pz_pay_look(pz_session *session, const pz_pay *pay);
/* What the step that was just taken pays, under the caller's guard. */
double pz_pay_step(pz_session *session, const pz_pay *pay);

/* ---- Repeats (repeats.c) ---- */

uint64_t pz_hash_bytes(const void *bytes, size_t size, uint64_t hash);
enum { PZ_REPEATS_FIRST = 64, PZ_REPEATS_LAST = 1 << 15 };
pz_repeat *pz_repeats_new(int32_t room);
pz_repeat *pz_repeats_find(pz_repeat *table, int32_t room, uint64_t entry); /* or where it belongs */
uint64_t pz_repeats_key(const pz_session *session);
/* Start to load the entry of a key into the caches. */
void pz_repeats_fetch(const pz_session *session, uint64_t key);
/* Count the present observation, and write to the outcome how often it was seen before; to stay is to see it again. */
void pz_repeats_count(pz_session *session, uint64_t key);

#endif
