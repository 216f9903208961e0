#include "puzzle.h"
#define thegame pz_game_rect
#include <rect.c>
#undef index
#undef grid

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return 2.0 * params->w * params->h * (params->w + params->h + 1);
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "clues", h, w, 0, w * h, "area of the rectangle around this number, 0 for no number");
    PZ_GRID(layout, "vertical_edges", h, w + 1, 0, 1,
            "1 where an edge is drawn left of the square; the first and last columns are the rim, always 1");
    PZ_GRID(layout, "horizontal_edges", h + 1, w, 0, 1,
            "1 where an edge is drawn above the square; the first and last rows are the rim, always 1");
    PZ_GRID(layout, "correct", h, w, 0, 1, "1 where the engine shades a rectangle that satisfies its number");
    PZ_CURSOR(layout, w, h);
    PZ_UI_SCALAR(layout, "dragging", 0, 1, "1 while a rectangle is being drawn, up to the cursor");
    PZ_UI_SCALAR(layout, "drag_x", -1, w - 1, "column of the corner where it began, -1 for none");
    PZ_UI_SCALAR(layout, "drag_y", -1, h - 1, "row of the corner where it began, -1 for none");
    PZ_UI_SCALAR(layout, "drag_moved", 0, 1, "1 once the cursor has left that corner: only then SELECT draws");
}

/* A description of the user's own may hold numbers beyond the board's area, which no rectangle can satisfy. */
static int pz_clue(const game_state *state, int at)
{
    return min(state->grid[at], state->w * state->h);
}

static int pz_vertical(const game_state *state, int at)
{
    const int w = state->w, x = at % (w + 1), y = at / (w + 1);
    return x == 0 || x == w || state->vedge[y * w + x];
}

static int pz_horizontal(const game_state *state, int at)
{
    const int w = state->w, y = at / w;
    return y == 0 || y == state->h || state->hedge[at];
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->w, h = state->h;
    PZ_PUT(out, w * h, pz_clue(state, i));
    PZ_PUT(out, (w + 1) * h, pz_vertical(state, i));
    PZ_PUT(out, w * (h + 1), pz_horizontal(state, i));
    PZ_PUT(out, w * h, state->correct[i]);
}

/* The engine counts half squares in a drag: a square's middle is odd. */
static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
    PZ_PUT1(out, ui->cur_dragging);
    PZ_PUT1(out, ui->cur_dragging ? ui->drag_start_x / 2 : -1);
    PZ_PUT1(out, ui->cur_dragging ? ui->drag_start_y / 2 : -1);
    PZ_PUT1(out, ui->cur_dragging && ui->dragged);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->w * state->h;
    PZ_VISIT(v, state->vedge, n);
    PZ_VISIT(v, state->hedge, n);
    PZ_SOUND_ALL(v, n, state->vedge[i] <= 1 && state->hedge[i] <= 1);
    PZ_VISIT(v, state->correct, n);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/*
 * The engine does not check its own solution for completion; where its solver stops halfway, the result solves nothing.
 * A board without numbers, as a description may give, must be kept from the solver: it reads beyond its empty list.
 */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    const int n = state->w * state->h;
    double sum = 0;
    for (int at = 0; at < n; at++) sum += state->grid[at];
    if (sum != n) {
        *error = "The numbers do not add up to the area of the board";
        return NULL;
    }
    char *move = solve_game(initial, state, aux, error);
    if (!move) return NULL;
    game_state *solved = execute_move(state, move);
    sfree(move);
    if (!solved) return NULL;
    solved->completed = true;
    for (int at = 0; at < n; at++) solved->completed &= solved->correct[at];
    if (solved->completed) return solved;
    free_game(solved);
    *error = "The solver finds no unique solution";
    return NULL;
}

static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    pz_draw_held(dr, COORD(ui->cur_x), COORD(ui->cur_y), TILE_SIZE, COL_LINE, ui->cur_dragging);
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    const int x = 2 * state->w, y = 2 * state->h;
    return ui->drag_start_x >= -1 && ui->drag_start_x <= x && ui->drag_start_y >= -1 && ui->drag_start_y <= y &&
           ui->drag_end_x >= -1 && ui->drag_end_x <= x && ui->drag_end_y >= -1 && ui->drag_end_y <= y && ui->x1 >= -1 &&
           ui->x1 <= state->w && ui->x2 >= -1 && ui->x2 <= state->w && ui->y1 >= -1 && ui->y1 <= state->h &&
           ui->y2 >= -1 && ui->y2 <= state->h;
}

PZ_PUZZLE(rect,
    .title = "Rectangles",
    .rules = "Divide the board into rectangles so that each holds exactly one number, and that number is its area. "
             "Arrows move the cursor. SELECT begins a rectangle at the cursor's square, arrows stretch it, and a "
             "second SELECT draws its outline and wipes the edges inside; one square alone is outlined by moving away "
             "and back. A second SELECT without any move gives the rectangle up.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(dragged), PZ_BOOL(erasing), PZ_BOOL(cur_visible), PZ_BOOL(cur_dragging)),
    .words = "grid clues=# correct=.'\n"
             "drag SELECT\n"
             "idle dragging",
    .actions = pz_actions,
    .easiest = "3x2",
    .human = "7x7",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(e(\\d{1,3}(\\.\\d{0,3})?|\\.\\d{1,3}))?a?",
    .params_help = "WxH: width and height\n"
                   "eF: expansion factor, 0 or more\n"
                   "a: the solution need not be unique",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "vertical_edges horizontal_edges",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .overdraws = true, /* numbers, beyond their squares where these are small */
    .draw_over = pz_draw_over,
    .draws = "A frame inside the cursor's square says that a rectangle was begun.",
    .moves_change = true,
    .visit = pz_visit,
    .solved = pz_solved);
