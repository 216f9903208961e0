#include "puzzle.h"
#define thegame pz_game_netslide
#include <netslide.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT, PZ_END};

/* The last axis of what tiles have on their four sides, in the order of the arrows. */
static const unsigned char pz_sides[4] = {U, D, L, R};

static double pz_optimal_steps(const game_params *params)
{
    return 2.0 * params->width * params->height * (params->width + params->height - 1);
}

/* The engine compares, and no comparison holds for what is not a number. */
static const char *pz_check_params(const game_params *params)
{
    return isnan(params->barrier_probability) ? "Barrier probability must be a number" : NULL;
}

/* Which tiles have power follows from the wires. Where a board wraps round, its edge has no barriers of its own. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->width, h = params->height;
    PZ_CUBE(layout, "wires", h, w, 4, 0, 1, "1 where a wire leaves the tile by its top, bottom, left, right side");
    PZ_CUBE(layout, "barriers", h, w, 4, 0, 1, "1 where a barrier shuts the place's top, bottom, left, right side");
    PZ_VECTOR(layout, "source", 2, 0, max(w, h) / 2, "row and column of the source; neither can slide");
    PZ_UI_SCALAR(layout, "cursor_x", -1, w, "column of the cursor, -1 or the width beside the board");
    PZ_UI_SCALAR(layout, "cursor_y", -1, h, "row of the cursor, -1 or the height above or below the board");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->width * state->height;
    PZ_PUT(out, n * 4, (state->tiles[i / 4] & pz_sides[i % 4]) != 0);
    PZ_PUT(out, n * 4, (state->barriers[i / 4] & pz_sides[i % 4]) != 0);
    PZ_PUT(out, 2, i ? state->cx : state->cy);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->tiles, state->width * state->height);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
    PZ_VISIT1(v, state->move_count);
    PZ_SOUND(v, state->move_count >= 0 && state->move_count <= PZ_MANY);
    PZ_VISIT1(v, state->last_move_row);
    PZ_VISIT1(v, state->last_move_col);
    PZ_VISIT1(v, state->last_move_dir);
}

/* Each tile is 3x3 characters between the barriers: S the source, o a wire's end, + any other; # is a barrier. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int w = params->width, h = params->height, line = 4 * w + 2, length = line * (4 * h + 1);
    char *text = snewn(length + 1, char);
    for (int at = 0; at < length; at++)
        text[at] = at % line == line - 1 ? '\n' : at / line % 4 == 0 && at % line % 4 == 0 ? '.' : ' ';
    text[length] = '\0';
    for (int at = 0; at < w * h; at++) {
        const int x = at % w, y = at / w, wires = state->tiles[at], ends = COUNT(wires);
        char *middle = text + (4 * y + 2) * line + 4 * x + 2;
        *middle = x == state->cx && y == state->cy ? 'S' : ends == 1 ? 'o' : ends ? '+' : ' ';
        for (int side = 0; side < 4; side++) {
            const int d = pz_sides[side], out = Y(d) * line + X(d), along = X(d) ? line : 1;
            if (wires & d) middle[out] = X(d) ? '-' : '|';
            if (state->barriers[at] & d)
                for (int k = -2; k <= 2; k++) middle[2 * out + k * along] = '#';
        }
    }
    return text;
}

/* No arrow stands at the middle row and column, which do not slide. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    return ui->cur_visible && ui->cur_x != state->cx && ui->cur_y != state->cy;
}

/* A line whose tiles are not all alike changes when it slides. */
static int pz_legal(const game_state *state, const game_ui *ui, const int *extra, const pz_action *action)
{
    if (action->key != CURSOR_SELECT) return -1;
    const bool row = ui->cur_x == -1 || ui->cur_x == state->width;
    const unsigned char *tiles = state->tiles + (row ? ui->cur_y * state->width : ui->cur_x);
    const int step = row ? 1 : state->width, n = row ? state->width : state->height;
    for (int i = 1; i < n; i++)
        if ((tiles[i * step] ^ tiles[0]) & 0xF) return 1;
    return -1;
}

PZ_PUZZLE(netslide,
    .title = "Netslide",
    .rules = "Tiles with pieces of wire cover the board. Slide rows and columns round, the tile pushed out at one end "
             "coming back at the other, until every tile is joined to the source in the middle by wires that meet and "
             "that no barrier cuts. The row and the column of the source cannot slide. Arrows move the cursor along "
             "the rim around the board; SELECT slides the row or column beside it one step towards the cursor.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cur_visible)),
    .words = "grid wires=UDLR barriers=udlr\n"
             "slide SELECT",
    .actions = pz_actions,
    .easiest = "2x3b1",
    .human = "3x3b1",
    .params_pattern = "\\d{1,4}(x\\d{1,4}w?(b(\\d|\\d?\\.\\d{1,4}))?(m\\d{1,4})?)?",
    .params_help = "WxH: width and height, at least 2\n"
                   "w: wires go on from each edge to the opposite one\n"
                   "bP: the part of the possible barriers that stand, 0 to 1\n"
                   "mN: shuffled by N moves; without it, or with 0, by many",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(width, height),
    .optimal_steps = pz_optimal_steps,
    .goal = "wires",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .sound_ui = pz_sound_ui,
    .legal = pz_legal,
    .visit = pz_visit,
    .text = pz_text_board);
