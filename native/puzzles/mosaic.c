#include "puzzle.h"
#define thegame pz_game_mosaic
#include <mosaic.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT_ALWAYS, PZ_SELECT2_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->width * params->height * (params->width + params->height + 1);
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->width, h = params->height;
    PZ_GRID(layout, "clues", h, w, -1, 9, "black squares among this one and its neighbours, -1 for no clue");
    PZ_GRID(layout, "squares", h, w, 0, 2, "what was put there: 0 nothing, 1 black, 2 white");
    PZ_GRID(layout, "satisfied", h, w, 0, 1, "1 where the clue is met and nothing around it is left open");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where the clue can no longer be met");
    PZ_CURSOR(layout, w, h);
}

/* The engine's solve move calls every square satisfied, those without a clue too. */
static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->width * state->height;
    const struct board_cell *board = state->board->actual_board;
    const char *cells = state->cells_contents;
    PZ_PUT(out, n, board[i].shown ? board[i].clue : -1);
    PZ_PUT(out, n, cells[i] & STATE_MARKED ? 1 : cells[i] & STATE_BLANK ? 2 : 0);
    PZ_PUT(out, n, board[i].shown && cells[i] & STATE_SOLVED);
    PZ_PUT(out, n, (cells[i] & STATE_ERROR) != 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->cells_contents, state->width * state->height);
    PZ_VISIT1(v, state->not_completed_clues);
    PZ_VISIT1(v, state->cheating);
}

/* Each square with its clue and its colour. The engine's own text has the clues only. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int w = state->width, h = state->height;
    pz_text text = {NULL, 0, 0};
    for (int at = 0; at < w * h; at++) {
        const struct board_cell *cell = &state->board->actual_board[at];
        const char mark = state->cells_contents[at];
        pz_print(&text, "%c%c%s", cell->shown ? '0' + cell->clue : ' ',
                 mark & STATE_MARKED  ? '#'
                 : mark & STATE_BLANK ? '-'
                                      : '.',
                 at % w < w - 1 ? " " : "\n");
    }
    return text.chars;
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return ui->last_x == -1 && ui->last_y == -1;
}

PZ_PUZZLE(mosaic,
    .title = "Mosaic",
    .rules = "Colour the squares black or white. A clue is the number of black squares in the block of three by three "
             "around it, its own square included; at the border the block is smaller. The game is won once each clue "
             "is right and its block wholly coloured. SELECT steps the square under the cursor from open to black to "
             "white and back to open; SELECT2 goes the other way round.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(solved), PZ_BOOL(in_progress), PZ_BOOL(cur_visible)),
    .words = "grid clues=# squares=.BW satisfied=.' errors=.!\n"
             "set squares SELECT SELECT2",
    .actions = pz_actions,
    .easiest = "3x3",
    .human = "3x3",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(h[01])?",
    .params_help = "WxH: width and height, at least 3\n"
                   "hN: 1 leaves out as many clues as it can (the default), 0 is generated faster",
    .sides = PZ_SIDES(width, height),
    .optimal_steps = pz_optimal_steps,
    .goal = "squares",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .moves_change = true,
    .visit = pz_visit,
    .text = pz_text_board);
