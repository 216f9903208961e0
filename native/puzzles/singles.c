#include "puzzle.h"
#define thegame pz_game_singles
#include <singles.c>

static const pz_action pz_actions[] = {PZ_ARROWS_ROUND, PZ_SELECT_ALWAYS, PZ_SELECT2_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* The engine looks at it only where it generates, and takes its letter from an array all the same. */
static const char *pz_check_params(const game_params *params)
{
    return params->diff < 0 || params->diff >= DIFF_MAX ? "Unknown difficulty rating" : NULL;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "numbers", h, w, 1, max(w, h), "number in each square, also where it is blacked out");
    PZ_GRID(layout, "black", h, w, 0, 1, "1 where the square is blacked out");
    PZ_GRID(layout, "circled", h, w, 0, 1, "1 where the number is circled as one that stays");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where the engine shows that something is wrong");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->n;
    PZ_PUT(out, n, state->nums[i]);
    PZ_PUT(out, n, (state->flags[i] & F_BLACK) != 0);
    PZ_PUT(out, n, (state->flags[i] & F_CIRCLE) != 0);
    PZ_PUT(out, n, (state->flags[i] & F_ERROR) != 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cx, ui->cy);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->flags, state->n);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
}

/* The engine's own board hides the numbers under the black squares, which were in sight before. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int digits = state->o < 10 ? 1 : 2;
    pz_text text = {NULL, 0, 0};
    for (int at = 0; at < state->n; at++) {
        const char *around = state->flags[at] & F_BLACK ? "[]" : state->flags[at] & F_CIRCLE ? "()" : "  ";
        pz_print(&text, "%c%*d%c", around[0], digits, state->nums[at], around[1]);
        if (at % state->w == state->w - 1) pz_print(&text, "\n");
    }
    return text.chars;
}

PZ_PUZZLE(singles,
    .title = "Singles",
    .rules = "Black out squares until no number stands twice in a row or column. Black squares must not touch along an "
             "edge, and the squares left white must hang together along their edges. The arrows move the cursor, past "
             "an edge to the other side. SELECT blacks out the square at the cursor, SELECT2 circles it as a note that "
             "it stays white; on a square that is black or circled either of them takes that away.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cshow), PZ_BOOL(show_black_nums)),
    .words = "grid numbers=# black=.B circled=.o errors=.!\n"
             "set black SELECT SELECT2\n"
             "set circled SELECT2 SELECT",
    .actions = pz_actions,
    .easiest = "2x3de",
    .human = "5x5de",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(d[ek])?",
    .params_help = "WxH: width and height, 2 to 62\n"
                   "dX: difficulty, e easy, k tricky",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "black",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .text = pz_text_board,
    .overdraws_below = 4);
