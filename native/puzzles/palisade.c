#include "puzzle.h"
#define thegame pz_game_palisade
#include <palisade.c>
#undef clone

/* CTRL is a key that stays down: extra[0] says whether it is. */
enum { PZ_CTRL };

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, {"CTRL", MOD_CTRL, PZ_ALWAYS}, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    const double w = params->w, h = params->h;
    return (2 * w * h - w - h) * (w + h + 3);
}

/* No action reaches the marks for "no wall here", so they are no field. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "clues", h, w, -1, 4, "walls that the square wants around it, -1 for any number");
    PZ_GRID(layout, "vertical_edges", h, w + 1, 0, 1,
            "1 where a wall stands left of the square; the first and last columns are the rim, always 1");
    PZ_GRID(layout, "horizontal_edges", h + 1, w, 0, 1,
            "1 where a wall stands above the square; the first and last rows are the rim, always 1");
    PZ_CURSOR(layout, w, h);
    PZ_UI_SCALAR(layout, "ctrl", 0, 1, "1 while CTRL is held: arrows then build and remove walls");
}

static int pz_vertical(const game_state *state, int at)
{
    const int w = state->shared->params.w, x = at % (w + 1), y = at / (w + 1);
    return x == w || (state->borders[y * w + x] & BORDER_L);
}

static int pz_horizontal(const game_state *state, int at)
{
    const int w = state->shared->params.w, h = state->shared->params.h;
    return at >= w * h || (state->borders[at] & BORDER_U);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->shared->params.w, h = state->shared->params.h;
    PZ_PUT(out, w * h, state->shared->clues[i]);
    PZ_PUT(out, (w + 1) * h, pz_vertical(state, i));
    PZ_PUT(out, w * (h + 1), pz_horizontal(state, i));
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->x / 2, ui->y / 2);
    PZ_PUT1(out, extra[PZ_CTRL]);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int w = state->shared->params.w, n = w * state->shared->params.h;
    PZ_VISIT(v, state->borders, n);
    /* Regions are followed wherever there is no border, so the board's own must be there. */
    PZ_SOUND_ALL(v, n,
                 (i >= w || state->borders[i] & BORDER_U) && (i < n - w || state->borders[i] & BORDER_D) &&
                     (i % w || state->borders[i] & BORDER_L) && ((i + 1) % w || state->borders[i] & BORDER_R));
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/* Only with the cursor on whole squares does the engine heed CTRL; on the half grid it wants SELECT for a wall. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    memset(ui, 0, sizeof *ui);
    ui->x = ui->y = 1;
    ui->show = ui->legacy_cursor = true;
}

static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    if (action->key == MOD_CTRL) {
        extra[PZ_CTRL] = !extra[PZ_CTRL];
        return MOVE_UI_UPDATE;
    }
    return interpret_move(state, ui, ds, 0, 0, action->key | (extra[PZ_CTRL] ? MOD_CTRL : 0));
}

/* The engine's solution also marks every edge without a wall, which no play does and no action could take back. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    char *move = solve_game(initial, state, aux, error);
    if (!move) return NULL;
    game_state *solved = execute_move(state, move);
    sfree(move);
    const int n = state->shared->params.w * state->shared->params.h;
    for (int at = 0; solved && at < n; at++) solved->borders[at] &= BORDER_MASK;
    return solved;
}

static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    const int x = MARGIN + TILESIZE * (ui->x / 2) + WIDTH, y = MARGIN + TILESIZE * (ui->y / 2) + WIDTH;
    pz_draw_held(dr, x, y, TILESIZE - WIDTH, COL_GRID, extra[PZ_CTRL]);
}

PZ_PUZZLE(palisade,
    .title = "Palisade",
    .rules = "Build walls along the grid lines until the board falls into regions that all have the given number of "
             "squares. A clue counts the walls around its square, the rim included, and no wall may end inside a "
             "region. Arrows move the cursor. CTRL is held down until it is pressed again; meanwhile an arrow leaves "
             "the cursor alone and builds the wall on that side of its square, or removes it.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(show), PZ_BOOL(legacy_cursor), PZ_BOOL(clear_complete_regions)),
    .words = "grid clues=#\n"
             "wall CTRL\n"
             "idle ctrl",
    .actions = pz_actions,
    .easiest = "2x3n3",
    .human = "5x5n5",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(n\\d{1,4})?",
    .params_help = "WxH: width and height\n"
                   "nN: squares in each region, a divisor of the area; the width when left out",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "vertical_edges horizontal_edges",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .static_complaint = true,
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .press = pz_press,
    .solved = pz_solved,
    .draw_over = pz_draw_over,
    .draws = "A frame inside the cursor's square says that CTRL is held.");
