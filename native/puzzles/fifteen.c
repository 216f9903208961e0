#include "puzzle.h"
#define thegame pz_game_fifteen
#include <fifteen.c>

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return pow((double)params->w * params->h, 4);
}

/* The count of moves is the session's, and would make every state a new one: it is no field. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "tiles", h, w, 0, w * h - 1, "number on each tile, 0 for the gap");
    PZ_VECTOR(layout, "gap", 2, 0, max(w, h) - 1, "row and column of the gap");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->w;
    PZ_PUT(out, state->n, state->tiles[i]);
    PZ_PUT(out, 2, i ? state->gap_pos % w : state->gap_pos / w);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->tiles, state->n);
    PZ_VISIT1(v, state->gap_pos);
    PZ_SOUND(v, state->gap_pos >= 0 && state->gap_pos < state->n && !state->tiles[state->gap_pos]);
    PZ_VISIT1(v, state->completed);
    PZ_SOUND(v, state->completed >= 0 && state->completed <= PZ_MANY);
    PZ_VISIT1(v, state->used_solve);
    PZ_VISIT1(v, state->movecount);
    PZ_SOUND(v, state->movecount >= 0 && state->movecount <= PZ_MANY);
}

static char *pz_guide(const game_state *state, const char *aux)
{
    int x, y;
    char move[40];
    if (state->completed || !compute_hint(state, &x, &y)) return NULL;
    sprintf(move, "M%d,%d", x, y);
    return dupstr(move);
}

PZ_PUZZLE(fifteen,
    .title = "Fifteen",
    .rules = "Numbered tiles fill a frame but for one gap. Slide tiles into the gap until they stand in order, row by "
             "row, with the gap last. An arrow moves the tile beside the gap in that direction.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(invert_cursor)),
    .words = "grid tiles=#",
    .actions = pz_actions,
    .easiest = "2x2",
    .human = "4x4",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?",
    .params_help = "WxH: width and height",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .guide = pz_guide,
    .fields = pz_fields,
    .observe = pz_observe,
    .moves_change = true,
    .visit = pz_visit);
