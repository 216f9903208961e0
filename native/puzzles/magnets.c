#include "puzzle.h"
#define thegame pz_game_magnets
#include <magnets.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_SELECT2, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 2);
}

/* For this one size the engine finds no tricky board, however long it looks. */
static const char *pz_check_params(const game_params *params)
{
    if (params->diff == DIFF_TRICKY && min(params->w, params->h) == 3 && max(params->w, params->h) == 6)
        return "Tricky is not possible with 3 by 6 squares";
    return NULL;
}

/* The ticks beside the counts need the mouse: no field. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "dominoes", h, w, 0, 4,
            "where the other half of the square's domino lies: 1 up, 2 down, 3 left, 4 "
            "right; 0 for no domino");
    PZ_VECTOR(layout, "row_plus", h, -1, (w + 1) / 2, "plus poles in each row, -1 for not told");
    PZ_VECTOR(layout, "row_minus", h, -1, (w + 1) / 2, "minus poles in each row, -1 for not told");
    PZ_VECTOR(layout, "column_plus", w, -1, (h + 1) / 2, "plus poles in each column, -1 for not told");
    PZ_VECTOR(layout, "column_minus", w, -1, (h + 1) / 2, "minus poles in each column, -1 for not told");
    PZ_GRID(layout, "poles", h, w, 0, 3, "what was put there: 0 nothing, 1 plus, 2 minus, 3 neutral");
    PZ_GRID(layout, "not_neutral", h, w, 0, 1, "1 where the domino is noted to be a magnet");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where a pole touches its like");
    PZ_CURSOR(layout, w, h);
}

static int pz_partner(const game_state *state, int at)
{
    const int step = state->common->dominoes[at] - at;
    return step == 0 ? 0 : step == -state->w ? 1 : step == state->w ? 2 : step == -1 ? 3 : 4;
}

/* The engine sets the square without a domino, which nobody chose. */
static int pz_pole(const game_state *state, int at)
{
    if (state->grid[at] != NEUTRAL) return state->grid[at];
    return state->flags[at] & GS_SET && state->common->dominoes[at] != at ? 3 : 0;
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->w, h = state->h, n = state->wh;
    const int *rows = state->common->rowcount, *columns = state->common->colcount;
    PZ_PUT(out, n, pz_partner(state, i));
    PZ_PUT(out, h, rows[3 * i + POSITIVE]);
    PZ_PUT(out, h, rows[3 * i + NEGATIVE]);
    PZ_PUT(out, w, columns[3 * i + POSITIVE]);
    PZ_PUT(out, w, columns[3 * i + NEGATIVE]);
    PZ_PUT(out, n, pz_pole(state, i));
    PZ_PUT(out, n, (state->flags[i] & GS_NOTNEUTRAL) != 0);
    PZ_PUT(out, n, (state->flags[i] & GS_ERROR) != 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->wh);
    PZ_VISIT(v, state->flags, state->wh);
    PZ_VISIT(v, state->counts_done, 2 * (state->w + state->h));
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->solved);
}

/* A solved game hides the cursor, and SELECT would then only show it again. */
static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    ui->cur_visible = true;
    return interpret_move(state, ui, ds, 0, 0, action->key);
}

static void pz_print_count(pz_text *text, int count)
{
    if (count < 0)
        pz_print(text, "  .");
    else
        pz_print(text, "%3d", count);
}

/* The engine's own text does not tell a domino noted as a magnet from an empty one. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int w = state->w, h = state->h;
    const int *rows = state->common->rowcount, *columns = state->common->colcount;
    pz_text text = {NULL, 0, 0};
    pz_print(&text, "  +");
    for (int x = 0; x < w; x++) pz_print_count(&text, columns[3 * x + POSITIVE]);
    for (int y = 0; y <= h; y++) {
        pz_print(&text, "\n   ");
        for (int x = 0; x < w; x++) pz_print(&text, y && y < h && pz_partner(state, y * w + x) == 1 ? "+  " : "+--");
        pz_print(&text, "+\n");
        if (y == h) break;
        pz_print_count(&text, rows[3 * y + POSITIVE]);
        for (int x = 0; x < w; x++) {
            const int at = y * w + x, side = pz_partner(state, at);
            const char sign = !side ? '#' : state->flags[at] & GS_NOTNEUTRAL ? '?' : " +-*"[pz_pole(state, at)];
            pz_print(&text, "%c%c ", side == 3 ? ' ' : '|', sign);
        }
        pz_print(&text, "|");
        pz_print_count(&text, rows[3 * y + NEGATIVE]);
    }
    pz_print(&text, "   ");
    for (int x = 0; x < w; x++) pz_print_count(&text, columns[3 * x + NEGATIVE]);
    pz_print(&text, "  -\n");
    return text.chars;
}

PZ_PUZZLE(magnets,
    .title = "Magnets",
    .rules = "The board is laid out with dominoes. Each of them is either a magnet, with a plus pole on one square "
             "and a minus pole on the other, or neutral. Like poles may not touch along an edge, and the counts at "
             "the border give the plus poles (above and left) and minus poles (below and right) of a column or row, "
             "where they are told. SELECT steps the square under the cursor from empty to plus to minus and back, "
             "with its other half opposite; SELECT2 steps the domino from empty to neutral to a note that it is a "
             "magnet and back. Neither changes what the other has set, but SELECT overwrites the note.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cur_visible)),
    .words = "grid dominoes=.^v<> poles=.+-o not_neutral=.? errors=.!\n"
             "set poles SELECT SELECT2\n"
             "set not_neutral SELECT2 SELECT",
    .actions = pz_actions,
    .easiest = "3x3deS",
    .human = "6x5de",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(d[et])?S?",
    .params_help = "WxH: width and height, at least 2\n"
                   "dX: difficulty, e easy, t tricky\n"
                   "S: leave out counts that are not needed",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "poles",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .moves_change = true,
    .visit = pz_visit,
    .press = pz_press,
    .text = pz_text_board);
