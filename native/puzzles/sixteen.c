#include "puzzle.h"
#define thegame pz_game_sixteen
#include <sixteen.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT_ALWAYS, PZ_SELECT2_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 3);
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "tiles", h, w, 1, w * h, "number on each tile");
    PZ_UI_SCALAR(layout, "cursor_x", -1, w, "column of the cursor, -1 or the width beside the board");
    PZ_UI_SCALAR(layout, "cursor_y", -1, h, "row of the cursor, -1 or the height above or below the board");
    PZ_UI_SCALAR(layout, "lock", 0, 2,
                 "what an arrow does: 0 moves the cursor, 1 slides the tile and the cursor with "
                 "it, 2 slides the tile only");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    PZ_PUT(out, state->n, state->tiles[i]);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
    PZ_PUT1(out, ui->cur_mode);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->tiles, state->n);
    PZ_VISIT1(v, state->completed);
    PZ_SOUND(v, state->completed >= 0 && state->completed <= PZ_MANY);
    PZ_VISIT1(v, state->used_solve);
    PZ_VISIT1(v, state->movecount);
    PZ_SOUND(v, state->movecount >= 0 && state->movecount <= PZ_MANY);
    PZ_VISIT1(v, state->last_movement_sense);
}

static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    pz_draw_held(dr, COORD(ui->cur_x), COORD(ui->cur_y), TILE_SIZE, COL_TEXT, ui->cur_mode);
}

PZ_PUZZLE(sixteen,
    .title = "Sixteen",
    .rules = "Numbered tiles fill the whole board. Slide rows and columns round, the tile pushed out at one end coming "
             "back at the other, until the numbers stand in order, row by row. Arrows move the cursor, also onto the "
             "rim around the board. There SELECT slides the row or column one step towards the cursor and SELECT2 one "
             "step away from it. On the board SELECT takes hold of the tile under the cursor: every arrow then slides "
             "that tile's row or column and the cursor goes along with the tile. SELECT2 does the same but leaves the "
             "cursor where it is. The same key again lets go; the other one changes the hold.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cur_visible)),
    .words = "grid tiles=#\n"
             "slide SELECT\n"
             "idle lock",
    .actions = pz_actions,
    .easiest = "2x3",
    .human = "3x3",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(m\\d{1,4})?",
    .params_help = "WxH: width and height, at least 2\n"
                   "mN: shuffled by N moves; without it, or with 0, any order that can be solved",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "tiles",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .draw_over = pz_draw_over,
    .draws = "A frame inside the cursor's square says that SELECT holds the tile, a double frame that SELECT2 does.",
    .moves_change = true,
    .visit = pz_visit);
