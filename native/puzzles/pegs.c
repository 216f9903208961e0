#include "puzzle.h"
#define thegame pz_game_pegs
#include <pegs.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT, PZ_UNDO_ACTION, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 2);
}

static double pz_cells(const game_params *params)
{
    return (double)params->w * params->h;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "places", h, w, 0, 1, "1 where the board has a place for a peg");
    PZ_GRID(layout, "pegs", h, w, 0, 1, "1 where a peg stands");
    PZ_UI_SCALAR(layout, "cursor_x", 0, w - 1, "column of the cursor");
    PZ_UI_SCALAR(layout, "cursor_y", 0, h - 1, "row of the cursor");
    PZ_UI_SCALAR(layout, "jumping", 0, 1, "1 while the next arrow lets the peg under the cursor jump");
}

static void pz_observe(const game_state *state, pz_record *out)
{
    const int n = state->w * state->h;
    PZ_PUT(out, n, state->grid[i] != GRID_OBST);
    PZ_PUT(out, n, state->grid[i] == GRID_PEG);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *own, pz_record *out)
{
    PZ_PUT1(out, ui->cur_x);
    PZ_PUT1(out, ui->cur_y);
    PZ_PUT1(out, ui->cur_jumping);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->w * state->h);
    PZ_SOUND_ALL(v, state->w * state->h, state->grid[i] <= GRID_OBST);
    PZ_VISIT1(v, state->completed);
}

/* Whether of three squares in a row the middle peg can be jumped over, one way or the other. */
static bool pz_can_jump(const unsigned char *first, int step)
{
    return first[step] == GRID_PEG && ((first[0] == GRID_PEG && first[2 * step] == GRID_HOLE) ||
                                       (first[0] == GRID_HOLE && first[2 * step] == GRID_PEG));
}

static bool pz_stuck(const game_state *state)
{
    const int w = state->w, h = state->h;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const unsigned char *square = state->grid + y * w + x;
            if (x + 2 < w && pz_can_jump(square, 1)) return false;
            if (y + 2 < h && pz_can_jump(square, w)) return false;
        }
    return true;
}

PZ_PUZZLE(pegs,
    .title = "Pegs",
    .rules = "Pegs stand in the holes of a board. A peg may jump over a neighbour, across or down, into the empty hole "
             "right behind it; the peg jumped over is removed. Remove all but one. SELECT picks the peg under the "
             "cursor, and the next arrow lets it jump that way or, if it cannot, drops the choice, as a second SELECT "
             "does. UNDO takes the last jump back; when no jump is left, nothing else remains.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(dragging), PZ_BOOL(cur_visible), PZ_BOOL(cur_jumping)),
    .actions = pz_actions,
    .easiest = "4x4random",
    .human = "5x7cross",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(cross|octagon|[rR]andom)?",
    .params_help = "WxH: width and height\n"
                   "cross: a cross of 5x7, 5x9, 7x7, 7x9 or 9x9, either way round\n"
                   "octagon: an octagon of 7x7\n"
                   "random: an irregular board of any size from 4x4",
    .params_alias = "Random=random",
    .cells = pz_cells,
    .optimal_steps = pz_optimal_steps,
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .visit = pz_visit,
    .stuck = pz_stuck);
