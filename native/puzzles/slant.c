#include "puzzle.h"
#define thegame pz_game_slant
#include <slant.c>

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT_ALWAYS, PZ_SELECT2_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* The state also marks what is joined to the border: only a preference that nobody can switch on here would draw it. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "clues", h + 1, w + 1, -1, 4, "lines that must meet at each grid point, -1 for no clue");
    PZ_GRID(layout, "slashes", h, w, 0, 2, "1 for \\, 2 for /, 0 for an empty square");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where the square's line is part of a loop");
    PZ_GRID(layout, "clue_errors", h + 1, w + 1, 0, 1, "1 where too many or too few lines can meet at the clue");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->p.w, h = state->p.h, points = (w + 1) * (h + 1);
    PZ_PUT(out, points, state->clues->clues[i]);
    PZ_PUT(out, w * h, state->soln[i] < 0 ? 1 : state->soln[i] > 0 ? 2 : 0);
    /* The errors of squares, too, lie in rows of points. */
    PZ_PUT(out, w * h, (state->errors[i / w * (w + 1) + i % w] & ERR_SQUARE) != 0);
    PZ_PUT(out, points, (state->errors[i] & ERR_VERTEX) != 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->soln, state->p.w * state->p.h);
    PZ_SOUND_ALL(v, state->p.w * state->p.h, state->soln[i] >= -1 && state->soln[i] <= 1);
    PZ_VISIT(v, state->errors, (state->p.w + 1) * (state->p.h + 1));
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
}

PZ_PUZZLE(slant,
    .title = "Slant",
    .rules = "Draw a diagonal line in every square so that no lines close a loop. A number on a grid point is how many "
             "lines end there. SELECT turns the square under the cursor from empty to \\ to / and back to empty; "
             "SELECT2 goes the other way round.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cur_visible), PZ_BOOL(swap_buttons), PZ_BOOL(fade_grounded)),
    .words = "grid slashes=.\\/ errors=.!\n"
             "set slashes SELECT SELECT2",
    .actions = pz_actions,
    .easiest = "2x2de",
    .human = "5x5de",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(d[eh])?",
    .params_help = "WxH: width and height, at least 2\n"
                   "dX: difficulty, e easy, h hard",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "slashes",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit);
