#include "puzzle.h"
#define thegame pz_game_unruly
#include <unruly.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_SELECT2, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w2 * params->h2 * (params->w2 + params->h2 + 1);
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w2, h = params->h2;
    PZ_GRID(layout, "colours", h, w, 0, 2, "1 black, 2 white, 0 empty");
    PZ_GRID(layout, "fixed", h, w, 0, 1, "1 where the colour is given");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->w2 * state->h2;
    PZ_PUT(out, n, state->grid[i] == N_ONE ? 1 : state->grid[i] == N_ZERO ? 2 : 0);
    PZ_PUT(out, n, state->common->immutable[i]);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cx, ui->cy);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->w2 * state->h2);
    PZ_SOUND_ALL(v, state->w2 * state->h2, state->grid[i] >= EMPTY && state->grid[i] <= N_ZERO);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/* Unlike the engine's, it tells the given squares (B, W) from those that were filled in (b, w). */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int w = state->w2, n = w * state->h2;
    pz_text text = {NULL, 0, 0};
    for (int at = 0; at < n; at++)
        pz_print(&text, "%c%s", (state->common->immutable[at] ? ".BW" : ".bw")[(int)state->grid[at]],
                 at % w < w - 1 ? " " : "\n");
    return text.chars;
}

PZ_PUZZLE(unruly,
    .title = "Unruly",
    .rules = "Colour every square black or white so that each row and each column has as many of the one as of the "
             "other, and nowhere do three squares of one colour stand side by side in a row or column. With u in the "
             "parameters, no two rows and no two columns may be alike. SELECT turns the square under the cursor from "
             "empty to black to white and back to empty; SELECT2 goes the other way round. Given squares stay.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cursor)),
    .words = "grid colours=.BW fixed=.'\n"
             "set colours SELECT SELECT2\n"
             "rule few colours",
    .actions = pz_actions,
    .easiest = "6x6dt",
    .human = "8x8dt",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?u?(d[ten])?",
    .params_help = "WxH: width and height, both even and at least 6\n"
                   "u: no two rows and no two columns alike\n"
                   "dX: difficulty, t trivial, e easy, n normal",
    .sides = PZ_SIDES(w2, h2),
    .optimal_steps = pz_optimal_steps,
    .goal = "colours",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .text = pz_text_board);
