#include "puzzle.h"
#define thegame pz_game_towers
#include <towers.c>

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT2, PZ_DIGITS_1_9, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return 2.0 * (params->w + 1) * params->w * params->w;
}

/* No action reaches the pencil marks or ticks off a clue, so they are no fields. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w;
    PZ_GRID(layout, "clues", 4, w, 0, w, "towers seen from the top, the bottom, the left and the right; 0 for no clue");
    PZ_GRID(layout, "digits", w, w, 0, w, "height of each tower, 0 for none");
    PZ_GRID(layout, "fixed", w, w, 0, 1, "1 where the tower is given");
    PZ_CURSOR(layout, w, w);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->par.w;
    PZ_PUT(out, 4 * w, state->clues->clues[i]);
    PZ_PUT(out, w * w, state->grid[i]);
    PZ_PUT(out, w * w, state->clues->immutable[i] != 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->hx, ui->hy);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int w = state->par.w;
    PZ_VISIT(v, state->clues_done, 4 * w);
    PZ_VISIT(v, state->grid, w * w);
    PZ_VISIT(v, state->pencil, w * w);
    PZ_SOUND_ALL(v, w * w, !state->pencil[i]); /* no action sets one */
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

PZ_PUZZLE(towers,
    .title = "Towers",
    .rules = "Build a tower on every square so that each row and each column has every height once. A number beside "
             "the board says how many towers one sees from there along that row or column, where a tower hides all "
             "lower ones behind it. The arrows move the cursor. A digit key builds a tower of that height at the "
             "cursor, SELECT2 takes the tower away; given towers stay.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(hpencil), PZ_BOOL(hshow), PZ_BOOL(hcursor), PZ_BOOL(pencil_keep_highlight)),
    .words = "grid digits=# fixed=.'\n"
             "set digits SELECT2\n"
             "rule once digits",
    .actions = pz_actions,
    .easiest = "3de",
    .human = "4de",
    .params_pattern = "\\d{1,2}(d[ehxu])?",
    .params_help = "N: size of the square, 3 to 9\n"
                   "dX: difficulty, e easy, h hard, x extreme, u unreasonable",
    .sides = PZ_SIDES(w, w),
    .optimal_steps = pz_optimal_steps,
    .goal = "digits",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit);
