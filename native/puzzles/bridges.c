#include "puzzle.h"
#define thegame pz_game_bridges
#include <bridges.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return 3.0 * params->w * params->h * (params->w + params->h + 8);
}

/* The engine takes any number for a difficulty and then searches for ever. */
static const char *pz_check_params(const game_params *params)
{
    if (params->difficulty < 0 || params->difficulty > 2) return "Difficulty must be 0, 1 or 2";
    return NULL;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "islands", h, w, 0, min(4 * params->maxb, 16), "bridges that the island wants, 0 for water");
    PZ_GRID(layout, "horizontal", h, w, 0, params->maxb, "bridges that cross this water from left to right");
    PZ_GRID(layout, "vertical", h, w, 0, params->maxb, "bridges that cross this water from top to bottom");
    PZ_GRID(layout, "marked", h, w, 0, 1, "1 where the island is marked as done");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where the engine shows that something is wrong");
    PZ_CURSOR(layout, w, h);
    PZ_UI_SCALAR(layout, "dragging", 0, 1, "1 while the next arrow draws a bridge from the cursor's island");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->w * state->h;
    const grid_type *g = state->grid;
    PZ_PUT(out, n, g[i] & G_ISLAND ? state->gridi[i]->count : 0);
    PZ_PUT(out, n, g[i] & G_LINEH ? state->lines[i] : 0);
    PZ_PUT(out, n, g[i] & G_LINEV ? state->lines[i] : 0);
    PZ_PUT(out, n, (g[i] & G_MARK) != 0);
    PZ_PUT(out, n, (g[i] & G_WARN) != 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
    PZ_PUT1(out, ui->dragging);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->w * state->h;
    PZ_VISIT_KEPT(v, state->grid, n, G_ISLAND);
    PZ_VISIT(v, state->wha, n * N_WH_ARRAYS); /* holds the bridges and what may still be built */
    PZ_SOUND_ALL(v, n * N_WH_ARRAYS, state->wha[i] >= 0 && state->wha[i] <= MAX_BRIDGES);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->solved);
}

/* The cursor stands on an island, and a drag starts there and has no end yet: the key that gives it one makes a move.
 */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    const int x = ui->dragging ? ui->cur_x : -1, y = ui->dragging ? ui->cur_y : -1;
    return INGRID(state, ui->cur_x, ui->cur_y) && INDEX(state, gridi, ui->cur_x, ui->cur_y) && ui->dragx_src == x &&
           ui->dragy_src == y && ui->dragx_dst == -1 && ui->dragy_dst == -1 && ui->nlines >= 0 &&
           ui->nlines <= MAX_BRIDGES;
}

PZ_PUZZLE(bridges,
    .title = "Bridges",
    .rules = "Join all islands into one network with bridges that run straight across or down the water and never "
             "cross. The number on an island is how many bridges end there, and two islands share at most a given "
             "number. SELECT picks up the island under the cursor; the next arrow then adds a bridge in that "
             "direction, or removes them all once the maximum stands. A second SELECT instead marks the island as done, "
             "or takes that mark away.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(dragging), PZ_BOOL(drag_is_noline), PZ_BOOL(cur_visible), PZ_BOOL(show_hints)),
    .words = "grid islands=# horizontal=.-= vertical=.|H marked=.* errors=.!\n"
             "pull SELECT islands\n"
             "do mark SELECT SELECT\n"
             "idle dragging",
    .actions = pz_actions,
    .easiest = "3x3",
    .human = "7x7i30e10m2d0",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(i\\d{1,3})?(e\\d{1,3})?(m\\d{1,2})?L?(d[0-2])?",
    .params_help = "WxH: width and height\n"
                   "iN: percentage of squares that are islands, 1 to 30\n"
                   "eN: expansion factor, 0 to 100\n"
                   "mN: most bridges between two islands, 1 to 4\n"
                   "L: no loops\n"
                   "dN: difficulty, 0 easy, 1 medium, 2 hard",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "horizontal vertical",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .moves_change = true,
    .visit = pz_visit);
