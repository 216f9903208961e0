/* What the strategies of planning share: positions of a game, and keys tried at them. */
#ifndef PZ_PLANNER_H
#define PZ_PLANNER_H

#include "session/internal.h"

enum {
    PZ_NEAR = 20000,          /* positions looked at for one improvement */
    PZ_LONGEST_PLAN = 1 << 16 /* keys */
};

/* A position: a board and a ui, and how it was reached. */
typedef struct pz_position {
    game_state *state;
    game_ui *ui;
    int extra[PZ_EXTRA];
    char *record; /* whole where this position brought a new board, else its ui part alone: */
    int home;     /* then the board is in the record of this one */
    bool owns_state, stuck, touched; /* touched: the board is not that of the first position */
    int status, h;
    uint64_t board; /* hash of the board */
    int parent, depth; /* keys from the first position */
    int action;        /* the last key */
    uint8_t *keys;     /* in a search over boards: all keys from the parent */
    int n_keys;
} pz_position;

/* Positions found in one search, without repetition. */
typedef struct pz_positions {
    pz_position *all;
    int n, used, room; /* used: how many ever had their own ui and record */
    uint64_t *table;   /* keys of what is known */
    size_t table_room;
} pz_positions;

typedef struct pz_planner {
    pz_session *s;
    pz_positions near, boards;
    const char *target, *start; /* the solved record, and that of the untouched game; NULL: unknown */
    const pz_field *goal[PZ_MAX_FIELDS]; /* the fields of marks stand behind those of the goal */
    int n_goal, n_marks;
    const int *left_out; /* NULL, or a value that need not be entered */
    int slack;    /* how much worse a change may be on the way */
    uint64_t trial_board;
    char *here;             /* board and ui of the position that keys are tried at, */
    const char *here_board; /* and whose board that is */
    int32_t *keys; /* of the plan so far, PZ_LONGEST_PLAN at most */
    int length;
    bool *stranded; /* set where this strategy finds no way on */
} pz_planner;

/*
 * Make a planner ready to go on from a session, a clone that is used up. Target, left_out and keys are the caller's to
 * set.
 */
void pz_planner_begin(pz_planner *planner, pz_session *session);

/* Press a key at a position; the result is in the session's trial members, *next the new state if the board changes. */
bool pz_press(pz_planner *planner, const pz_positions *in, const pz_position *at, int action, game_state **next);
/* Keep the result of such a trial as a new position; returns its index. */
int pz_keep(pz_planner *planner, pz_positions *in, const pz_position *from, int parent, int action, game_state *next,
            int h);
/* Copy a position to the end of other ones, with a state of its own. */
void pz_transfer(pz_planner *planner, const pz_position *from, pz_positions *to);
/* Forget all positions but one, which becomes the first. */
void pz_rewind_to(pz_planner *planner, pz_positions *in, int keep);

/* How far a board is from being solved, as far as that is known. */
int pz_distance(const pz_planner *planner, const game_state *state, const char *record);

/*
 * Hashes: of what tells boards apart in a search, the fields that the goal is about and no scores; of a whole position;
 * and of the position that a trial led to. Cursor moves, by far the most, leave the board's part as it was.
 */
uint64_t pz_board_key(const pz_planner *planner, const char *record);
uint64_t pz_position_key(const pz_planner *planner, const char *record, uint64_t board);
uint64_t pz_trial_key(pz_planner *planner, const pz_position *at, const game_state *next);
/* Whether a key was never met before; from now on it was. */
bool pz_is_new(pz_positions *in, uint64_t key);

/*
 * Breadth first from the first position to the nearest one that is better: with want, one whose board is exactly that;
 * else one with a smaller h, and of those with equally few keys the one with the smallest. Without wide, keys that only
 * move the cursor are out once the board has changed. Returns its index, or -1.
 */
int pz_seek(pz_planner *planner, const char *want, bool wide, int limit);
/* Add the keys that lead to a near position to the plan, and stand there. */
void pz_advance(pz_planner *planner, int to);

/* The strategy where nothing tells the way: best first over boards. Ends with PZ_NO_PLAN where it finds none. */
void pz_search_boards(pz_planner *planner);

#endif
