#include "puzzle.h"
#define thegame pz_game_pattern
#include <pattern.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT_ALWAYS, PZ_SELECT2_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* Runs are separated by white squares, so a line has at most one for every other square. */
static int pz_most_runs(int w, int h)
{
    return (max(w, h) + 1) / 2;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "clues", w + h, pz_most_runs(w, h), 0, max(w, h),
            "lengths of the black runs of each column, left to right, then of each row, top to bottom; 0 pads");
    PZ_GRID(layout, "squares", h, w, 0, 2, "what was put there: 0 nothing, 1 black, 2 white");
    PZ_GRID(layout, "fixed", h, w, 0, 1, "1 where the colour is given and cannot be changed");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const game_state_common *common = state->common;
    const int n = common->w * common->h, runs = pz_most_runs(common->w, common->h);
    PZ_PUT(out, (common->w + common->h) * runs,
           i % runs < common->rowlen[i / runs] ? common->rowdata[i / runs * common->rowsize + i % runs] : 0);
    PZ_PUT(out, n, state->grid[i] == GRID_FULL ? 1 : state->grid[i] == GRID_EMPTY ? 2 : 0);
    PZ_PUT(out, n, common->immutable[i]);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->common->w * state->common->h);
    PZ_SOUND_ALL(v, state->common->w * state->common->h, state->grid[i] <= GRID_UNKNOWN);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return !ui->dragging;
}

PZ_PUZZLE(pattern,
    .title = "Pattern",
    .rules = "Colour the squares black or white. The clues of a row or column are the lengths of its runs of black "
             "squares, in order, with at least one white square between two runs. SELECT steps the square under the "
             "cursor from open to black to white and back to open; SELECT2 goes the other way round.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(dragging), PZ_BOOL(cur_visible)),
    .words = "grid squares=.BW fixed=.'\n"
             "set squares SELECT SELECT2\n"
             "rule runs clues squares=B squares=.",
    .actions = pz_actions,
    .easiest = "3x2",
    .human = "10x10",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?",
    .params_help = "WxH: width and height",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "squares",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .moves_change = true,
    .visit = pz_visit);
