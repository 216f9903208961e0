#include "puzzle.h"
#define thegame pz_game_filling
#include <filling.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_DIGITS_1_9, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* From 80 on the engine's limit for a clue wraps round in a char, and it refuses the descriptions that it generates. */
static const char *pz_check_params(const game_params *params)
{
    if (params->w > 79 || params->h > 79) return "Width and height must be at most 79";
    return NULL;
}

/* The highest number that interpret_move takes. */
static int pz_highest(const game_params *params)
{
    const int side = max(params->w, params->h);
    return params->w == 2 && params->h == 2 ? 3 : min(side, 9);
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "digits", h, w, 0, pz_highest(params), "digit in each square, 0 for none");
    PZ_GRID(layout, "fixed", h, w, 0, 1, "1 where the digit is given");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->shared->params.w * state->shared->params.h;
    PZ_PUT(out, n, state->board[i]);
    PZ_PUT(out, n, state->shared->clues[i] != 0);
}

/* Only SELECT and the mouse make a selection, so ui->sel is NULL for ever and the rest of the ui follows the cursor. */
static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->board, state->shared->params.w * state->shared->params.h);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/* Not the whole struct: a pointer must never come out of saved bytes. */
static void pz_visit_ui(game_ui *ui, const game_state *state, pz_visitor *v)
{
    PZ_VISIT1(v, ui->cur_x);
    PZ_VISIT1(v, ui->cur_y);
}

/* The engine takes clues from a description that no key can enter, and whose regions nobody could complete. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    const game_params *params = &state->shared->params;
    const int highest = pz_highest(params);
    for (int at = 0; at < params->w * params->h; at++)
        if (state->shared->clues[at] > highest)
            pz_fail(PZ_BAD_ID, "A clue is more than %d, the highest digit that can be entered", highest);
}

/*
 * Where its solver gets stuck, the engine complains and hands out the unfinished board all the same. Descriptions that
 * it has not made itself also lead to boards that break the rules, or to regions larger than any digit that can be
 * entered.
 */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    const game_params *params = &state->shared->params;
    char *move = solve_game(initial, state, aux, error);
    game_state *solved = *error ? NULL : execute_move(state, move);
    sfree(move);
    if (!solved) return NULL;
    bool sound = solved->completed;
    for (int at = 0; at < params->w * params->h; at++) sound = sound && solved->board[at] <= pz_highest(params);
    if (sound) return solved;
    free_game(solved);
    *error = "This puzzle has no solution";
    return NULL;
}

PZ_PUZZLE(filling,
    .title = "Filling",
    .rules = "Write a digit into every square so that squares with the same digit that touch along an edge form "
             "regions of exactly that many squares. Some digits are given; a region may have several of them or none. "
             "The arrows move the cursor. A digit key writes that digit at the cursor, over any digit written before; "
             "given digits stay, and a square once filled cannot be emptied again.",
    .ui_size = sizeof(game_ui),
    .words = "grid digits=# fixed=.'\n"
             "set digits\n"
             "rule regions digits",
    .actions = pz_actions,
    .easiest = "2x3",
    .human = "9x7",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?",
    .params_help = "WxH: width and height",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "digits",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .static_complaint = true,
    .moves_change = true,
    .visit = pz_visit,
    .visit_ui = pz_visit_ui,
    .start_ui = pz_start_ui,
    .solved = pz_solved);
