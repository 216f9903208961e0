#include "puzzle.h"
#define thegame pz_game_twiddle
#include <twiddle.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_SELECT2, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    const double w = params->w, h = params->h, n = params->n;
    return (2 * w * h * n * n + 1) * (w + h - 2 * n + 1);
}

/* Tiles show which way up they are only where it matters. */
/* The engine takes any number, and multiplies it by four. */
static const char *pz_check_desc(const game_params *params, const char *desc)
{
    while (*desc) {
        if (strtol(desc, (char **)&desc, 10) > params->w * params->h) return "A number is larger than the board";
        if (*desc) desc++;
    }
    return NULL;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h, n = params->n;
    PZ_GRID(layout, "tiles", h, w, 1, params->rowsonly ? h : w * h, "number on each tile");
    if (params->orientable)
        PZ_GRID(layout, "orientations", h, w, 0, 3, "where the tile's top points: 0 up, 1 left, 2 down, 3 right");
    PZ_UI_SCALAR(layout, "cursor_x", 0, w - n, "leftmost column of the block under the cursor");
    PZ_UI_SCALAR(layout, "cursor_y", 0, h - n, "topmost row of the block under the cursor");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->w * state->h;
    PZ_PUT(out, n, state->grid[i] / 4);
    if (state->orientable) PZ_PUT(out, n, state->grid[i] & 3);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->w * state->h);
    PZ_VISIT1(v, state->completed);
    PZ_SOUND(v, state->completed >= 0 && state->completed <= PZ_MANY);
    PZ_VISIT1(v, state->used_solve);
    PZ_VISIT1(v, state->movecount);
    PZ_SOUND(v, state->movecount >= 0 && state->movecount <= PZ_MANY);
    PZ_VISIT1(v, state->lastx);
    PZ_VISIT1(v, state->lasty);
    PZ_VISIT1(v, state->lastr);
}

/* Keys never hide the cursor. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return ui->cur_visible;
}

/* Tiles may be alike where only their rows count: a block changes for sure when two of its corners differ. */
static int pz_legal(const game_state *state, const game_ui *ui, const int *extra, const pz_action *action)
{
    if (action->key != CURSOR_SELECT && action->key != CURSOR_SELECT2) return -1;
    const int *corner = state->grid + ui->cur_y * state->w + ui->cur_x;
    return state->orientable || corner[0] != corner[state->n - 1] ? 1 : -1;
}

PZ_PUZZLE(twiddle,
    .title = "Twiddle",
    .rules = "Numbered tiles fill the board, and square blocks of them can be turned. Bring the numbers into order, "
             "row by row; where tiles have a top, all must end upright, and where numbers repeat, equal ones may stand "
             "in any order. Arrows move the cursor, which covers one whole block. SELECT turns that block a quarter "
             "anticlockwise, SELECT2 a quarter clockwise.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cur_visible)),
    .words = "grid tiles=#\n"
             "do left SELECT\n"
             "do right SELECT2",
    .actions = pz_actions,
    .easiest = "2x3n2",
    .human = "3x3n2r",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(n\\d{1,4})?(r|o|m\\d{1,4})*",
    .params_help = "WxH: width and height\n"
                   "nN: side of the blocks that turn, at least 2, at most the smaller of width and height\n"
                   "r: one number for each row\n"
                   "o: tiles must end upright\n"
                   "mN: shuffled by N turns; without it, or with 0, by many",
    .check_desc = pz_check_desc,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "tiles",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .legal = pz_legal,
    .visit = pz_visit,
    .overdraws_below = 4);
