#include "puzzle.h"
#define thegame pz_game_keen
#include <keen.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT2, PZ_DIGITS_1_9, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (2.0 * params->w + 1) * params->w * params->w;
}

/* The engine keeps operation and value in one long; 1 to 4 are our names for + * - and /. */
static int pz_operation(long clue)
{
    switch (clue & CMASK) {
    case C_ADD: return 1;
    case C_MUL: return 2;
    case C_SUB: return 3;
    default: return 4;
    }
}

static bool pz_is_clue(const game_state *state, int at)
{
    return dsf_minimal(state->clues->dsf, at) == at;
}

/* No action reaches the pencil marks, so they are no field. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, squares = w * w;
    int product = 1;
    for (int k = 0; k < MAXBLK; k++) product *= w;
    PZ_GRID(layout, "blocks", w, w, 0, squares - 1, "block of each square, named by the block's first square");
    PZ_GRID(layout, "operations", w, w, 0, 4,
            "clue on a block's first square: 1 sum, 2 product, 3 difference, 4 "
            "quotient; 0 on other squares");
    PZ_GRID(layout, "results", w, w, 0, product, "what the operation must give, on a block's first square");
    PZ_GRID(layout, "digits", w, w, 0, w, "digit entered, 0 for none");
    PZ_CURSOR(layout, w, w);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->par.w, n = w * w;
    const long *clues = state->clues->clues;
    PZ_PUT(out, n, dsf_minimal(state->clues->dsf, i));
    PZ_PUT(out, n, pz_is_clue(state, i) ? pz_operation(clues[i]) : 0);
    PZ_PUT(out, n, pz_is_clue(state, i) ? clues[i] & ~CMASK : 0);
    PZ_PUT(out, n, state->grid[i]);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->hx, ui->hy);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->par.w * state->par.w;
    PZ_VISIT(v, state->grid, n);
    PZ_VISIT(v, state->pencil, n);
    PZ_SOUND_ALL(v, n, !state->pencil[i]); /* no action sets one */
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/* Each square: its block's letter and its digit; below, the clue of each block. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int w = params->w;
    pz_text text = {NULL, 0, 0};
    char names[81];
    int n_blocks = 0;
    for (int at = 0; at < w * w; at++) {
        const int first = dsf_minimal(state->clues->dsf, at);
        if (first == at) {
            names[at] = (char)(n_blocks < 26 ? 'a' + n_blocks : 'A' + (n_blocks - 26) % 26);
            n_blocks++;
        } else {
            names[at] = names[first];
        }
        pz_print(&text, "%c%c%s", names[at], state->grid[at] ? '0' + state->grid[at] : '.',
                 at % w < w - 1 ? " " : "\n");
    }
    for (int at = 0; at < w * w; at++)
        if (pz_is_clue(state, at))
            pz_print(&text, "%c: %ld%c\n", names[at], state->clues->clues[at] & ~CMASK,
                     " +*-/"[pz_operation(state->clues->clues[at])]);
    return text.chars;
}

PZ_PUZZLE(keen,
    .title = "Keen",
    .rules = "Fill the square so that each row and each column holds every digit once. The squares of a block must "
             "give the block's value under its operation: a sum or product of all, a difference or quotient of two. "
             "A digit key enters that digit at the cursor; SELECT2 clears the square.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(hpencil), PZ_BOOL(hshow), PZ_BOOL(hcursor), PZ_BOOL(pencil_keep_highlight)),
    .words = "grid digits=#\n"
             "set digits SELECT2\n"
             "rule once digits",
    .actions = pz_actions,
    .easiest = "3dem",
    .human = "4de",
    .params_pattern = "\\d(d[enhxu])?m?",
    .params_help = "N: size of the square, 3 to 9\n"
                   "dX: difficulty, e easy, n normal, h hard, x extreme, u unreasonable\n"
                   "m: multiplication only",
    .sides = PZ_SIDES(w, w),
    .optimal_steps = pz_optimal_steps,
    .goal = "digits",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .text = pz_text_board);
