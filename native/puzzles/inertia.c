#include "puzzle.h"
#define thegame pz_game_inertia
#include <inertia.c>

/* The engine takes digits from the numeric keypad only. */
#define PZ_KEYPAD(digit) {#digit, MOD_NUM_KEYPAD | ('0' + digit)}
static const pz_action pz_actions[] = {PZ_KEYPAD(1), PZ_KEYPAD(2), PZ_KEYPAD(3), PZ_KEYPAD(4),   PZ_KEYPAD(6),
                                       PZ_KEYPAD(7), PZ_KEYPAD(8), PZ_KEYPAD(9), PZ_UNDO_ACTION, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return 0.2 * params->w * params->w * params->h * params->h;
}

static int pz_ground(char square)
{
    switch (square) {
    case STOP: return 1;
    case WALL: return 2;
    case MINE: return 3;
    default: return 0;
    }
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "squares", h, w, 0, 3, "0 open ground, 1 stop, 2 wall, 3 mine");
    PZ_GRID(layout, "gems", h, w, 0, 1, "1 where a gem is left");
    PZ_SCALAR(layout, "ball_x", 0, w - 1, "column of the ball");
    PZ_SCALAR(layout, "ball_y", 0, h - 1, "row of the ball");
    PZ_SCALAR(layout, "dead", 0, 1, "1 when the ball has hit a mine");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->p.w * state->p.h;
    PZ_PUT(out, n, pz_ground(state->grid[i]));
    PZ_PUT(out, n, state->grid[i] == GEM);
    PZ_PUT1(out, state->px);
    PZ_PUT1(out, state->py);
    PZ_PUT1(out, state->dead);
}

/* The stored solution of the engine's Solve is never installed here, see pz_solved. */
static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->p.w * state->p.h);
    PZ_VISIT1(v, state->px);
    PZ_VISIT1(v, state->py);
    PZ_VISIT1(v, state->gems);
    PZ_SOUND(v, state->gems >= 0 && state->gems <= state->p.w * state->p.h);
    PZ_VISIT1(v, state->distance_moved);
    PZ_SOUND(v, state->distance_moved >= 0 && state->distance_moved <= PZ_MANY);
    PZ_VISIT1(v, state->dead);
}

static bool pz_stuck(const game_state *state)
{
    return state->dead;
}

/* The state after the engine's route from here, or NULL where there is none. */
static game_state *pz_follow_route(const game_state *from, const char **error)
{
    *error = NULL;
    char *route = solve_game(NULL, from, NULL, error);
    if (*error) return NULL;
    game_state *state = dup_game(from);
    for (const char *at = route + 1; *at && state->gems; at++) {
        const char move[2] = {*at, '\0'};
        game_state *next = execute_move(state, move);
        free_game(state);
        state = next;
    }
    sfree(route);
    return state;
}

/*
 * The engine's Solve move only stores a route for its hint key; we walk it. A ball that is dead, or that can no longer
 * reach every gem, starts anew.
 */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    if (!state->gems) return dup_game(state);
    game_state *solved = state->dead ? NULL : pz_follow_route(state, error);
    return solved ? solved : pz_follow_route(initial, error);
}

static char *pz_guide(const game_state *state, const char *aux)
{
    const char *error = NULL;
    char *route = state->dead ? NULL : solve_game(NULL, state, NULL, &error);
    if (!route) return NULL;
    pz_text moves = {NULL, 0, 0};
    for (const char *at = route + 1; *at; at++) pz_print(&moves, "%c ", *at);
    sfree(route);
    return moves.chars;
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return ui->deaths >= 0 && ui->deaths <= PZ_MANY;
}

PZ_PUZZLE(inertia,
    .title = "Inertia",
    .rules = "A ball slides over the board and must collect every gem. Once pushed it does not halt until a wall or "
             "the edge blocks it, or it reaches a stop; gems are taken in passing, and a mine destroys the ball. A "
             "digit pushes the ball as on a numeric keypad: 8 up, 2 down, 4 left, 6 right, 7 9 1 3 diagonally. UNDO "
             "takes the last push back, also after hitting a mine.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(just_made_move), PZ_BOOL(just_died)),
    .words = "grid squares=.sWm gems=.G\n"
             "name up-left=7 up=8 up-right=9 left=4 right=6 down-left=1 down=2 down-right=3\n"
             "score gems=0",
    .actions = pz_actions,
    .easiest = "4x4",
    .human = "10x8",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?",
    .params_help = "WxH: width and height",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .guide = pz_guide,
    .fields = pz_fields,
    .observe = pz_observe,
    .sound_ui = pz_sound_ui,
    .moves_change = true,
    .visit = pz_visit,
    .stuck = pz_stuck,
    .solved = pz_solved);
