#include "puzzle.h"
#define thegame pz_game_dominosa
#include <dominosa.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_END};

static double pz_cells(const game_params *params)
{
    return (params->n + 1.0) * (params->n + 2.0);
}

static double pz_optimal_steps(const game_params *params)
{
    const double cells = pz_cells(params);
    return cells / 2 * (4 * sqrt(cells) + 1);
}

/* Neither the barriers nor the highlighted numbers are fields: they need SELECT2 and digits, which are no actions. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->n + 2, h = params->n + 1;
    PZ_GRID(layout, "numbers", h, w, 0, params->n, "number on each square");
    PZ_GRID(layout, "dominoes", h, w, 0, 4,
            "where the other half of the square's domino lies: 1 up, 2 down, 3 left, 4 "
            "right; 0 for no domino");
    PZ_UI_SCALAR(layout, "cursor_x", 0, 2 * w - 2, "column of the cursor in half squares: odd between two columns");
    PZ_UI_SCALAR(layout, "cursor_y", 0, 2 * h - 2, "row of the cursor in half squares: odd between two rows");
}

static int pz_partner(const game_state *state, int at)
{
    const int step = state->grid[at] - at;
    return step == 0 ? 0 : step == -state->w ? 1 : step == state->w ? 2 : step == -1 ? 3 : 4;
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->w * state->h;
    PZ_PUT(out, n, state->numbers->numbers[i]);
    PZ_PUT(out, n, pz_partner(state, i));
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->w * state->h;
    PZ_VISIT(v, state->grid, n);
    PZ_SOUND_ALL(v, n, state->grid[i] >= 0 && state->grid[i] < n && state->grid[state->grid[i]] == i);
    PZ_VISIT(v, state->edges, n);
    const int w = state->w;
    PZ_SOUND_ALL(v, n,
                 !(state->edges[i] & ~(EDGE_L | EDGE_R | EDGE_T | EDGE_B)) &&
                     !(i % w == 0 && state->edges[i] & EDGE_L) && !((i + 1) % w == 0 && state->edges[i] & EDGE_R) &&
                     !(i < w && state->edges[i] & EDGE_T) && !(i >= n - w && state->edges[i] & EDGE_B));
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/* Of an ambiguous description the engine's solver gives what it could deduce: some dominoes, and barriers. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    char *move = solve_game(initial, state, aux, error);
    game_state *solved = execute_move(state, move);
    sfree(move);
    if (solved && solved->completed) return solved;
    if (solved) free_game(solved);
    *error = "the engine's solver cannot decide between several solutions";
    return NULL;
}

PZ_PUZZLE(dominosa,
    .title = "Dominosa",
    .rules = "A full set of dominoes, one for each pair of numbers and each double, was laid out as a rectangle, and "
             "only the numbers are left. Put the dominoes back so that each square is covered and each domino is "
             "used once. The arrows move the cursor by half a square: SELECT lays a domino over the two squares on "
             "either side of the cursor, taking away those it would overlap, or lifts the one that lies there. On "
             "the middle of a square or on a crossing of four it does nothing.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cur_visible)),
    .words = "grid numbers=#0 dominoes=.^v<>\n"
             "edge SELECT\n"
             "rule pairs numbers dominoes",
    .actions = pz_actions,
    .easiest = "1dt",
    .human = "3dt",
    .params_pattern = "\\d{1,4}(d[tbhea]|a)?",
    .params_help = "N: highest number on a domino, at least 1; the board is N+2 wide and N+1 high\n"
                   "dX: difficulty, t trivial, b basic, h hard, e extreme, a ambiguous",
    .cells = pz_cells,
    .optimal_steps = pz_optimal_steps,
    .goal = "dominoes",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .solved = pz_solved);
