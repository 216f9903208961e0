#include "puzzle.h"
#define thegame pz_game_range
#include <range.c>

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_END};

/* Its sides are bytes, not ints. */
static double pz_cells(const game_params *params)
{
    return (double)params->w * params->h;
}

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* The engine's solver paints a lone square black, looks for a white one and then writes behind the board. */
static const char *pz_check_params(const game_params *params)
{
    if (params->w == 1 && params->h == 1) return "A board of one square is no puzzle";
    return NULL;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "clues", h, w, 0, w + h - 1,
            "white squares that are in view from here, this one included; 0 for "
            "no clue");
    PZ_GRID(layout, "colours", h, w, 0, 2, "1 painted black, 2 dotted as white, 0 for neither and for clues");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->params.w * state->params.h;
    const puzzle_size *grid = state->grid;
    PZ_PUT(out, n, grid[i] > 0 ? grid[i] : 0);
    PZ_PUT(out, n, grid[i] == BLACK ? 1 : grid[i] == WHITE ? 2 : 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->c, ui->r);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->params.w * state->params.h);
    PZ_SOUND_ALL(v, state->params.w * state->params.h, state->grid[i] >= BLACK);
    PZ_VISIT1(v, state->has_cheated);
    PZ_VISIT1(v, state->was_solved);
}

/* The engine declares solved what its solver leaves; from a description without a unique solution that may be wrong. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    char *move = solve_game(initial, state, aux, error);
    game_state *solved = move ? execute_move(state, move) : NULL;
    sfree(move);
    if (!solved || !find_errors(solved, NULL)) return solved;
    free_game(solved);
    *error = "This puzzle has no unique solution";
    return NULL;
}

/* The engine keeps a size in a signed char, where 300 would silently become 44: the pattern ends at 127. */
#define PZ_SIZE "(\\d{1,2}|1[01]\\d|12[0-7])"

/* The engine's own cursor does not show on squares with an error: a double frame shows on everything. */
static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    const int x = COORD(ui->c) + 2, y = COORD(ui->r) + 2, size = TILESIZE - 4;
    if (size < 3) return;
    draw_rect_outline(dr, x, y, size, size, COL_BLACK);
    draw_rect_outline(dr, x + 1, y + 1, size - 2, size - 2, COL_BACKGROUND);
}

PZ_PUZZLE(range,
    .title = "Range",
    .rules = "Paint some squares black so that no two black squares share a side, all white squares hang together, and "
             "every number counts the white squares that can be seen from it along its row and column up to the next "
             "black one, its own square included. Numbered squares stay white. SELECT takes the square under the "
             "cursor from blank to black, from black to a dot that notes it as white, and from the dot back to blank.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cursor_show), PZ_BOOL(swap_buttons)),
    .words = "grid clues=# colours=.BW\n"
             "set colours SELECT\n"
             "rule apart colours=B 4\n"
             "rule view clues colours=B\n"
             "rule joined colours=B",
    .actions = pz_actions,
    .easiest = "3x3",
    .human = "9x6",
    .params_pattern = PZ_SIZE "(x" PZ_SIZE ")?",
    .params_help = "WxH: width and height",
    .check_params = pz_check_params,
    .cells = pz_cells,
    .stack_per_cell = 256, /* it walks over the white squares by calling itself */
    .optimal_steps = pz_optimal_steps,
    .goal = "colours",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .overdraws = true, /* numbers, beyond their squares where these are small */
    .draw_over = pz_draw_over,
    .draws = "The cursor is a double frame, which also shows on squares with an error.",
    .moves_change = true,
    .visit = pz_visit,
    .solved = pz_solved);
