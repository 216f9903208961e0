#include "puzzle.h"
#define thegame pz_game_unequal
#include <unequal.c>

/* The generator counts in a static, gg_solved, that nothing ever reads: threads may lose counts there, no more. */

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_DIGITS_1_9, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (2.0 * params->order + 1) * params->order * params->order;
}

/* No action reaches the pencil marks or ticks off a sign, so they are no fields. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int o = params->order;
    const bool adjacent = params->mode == MODE_ADJACENT;
    PZ_GRID(layout, "digits", o, o, 0, o, "number in each square, 0 for none");
    PZ_GRID(layout, "fixed", o, o, 0, 1, "1 where the number is given");
    PZ_GRID(layout, "signs_across", o, o - 1, adjacent ? 0 : -1, 1,
            adjacent ? "1 where the square and its right neighbour must be consecutive; at 0 they must not"
                     : "1 where the square must be greater than its right neighbour, -1 smaller, 0 no sign");
    PZ_GRID(layout, "signs_down", o - 1, o, adjacent ? 0 : -1, 1,
            adjacent ? "1 where the square and the one below must be consecutive; at 0 they must not"
                     : "1 where the square must be greater than the one below, -1 smaller, 0 no sign");
    PZ_GRID(layout, "errors", o, o, 0, 1, "1 where the number stands twice in its row or column");
    PZ_GRID(layout, "sign_errors_across", o, o - 1, 0, 1, "1 where a square and its right neighbour break their sign");
    PZ_GRID(layout, "sign_errors_down", o - 1, o, 0, 1, "1 where a square and the one below break their sign");
    PZ_CURSOR(layout, o, o);
}

/* The engine sets one flag on the greater square, or in adjacent mode one on either. */
static int pz_sign(const game_state *state, int here, int there, unsigned ahead, unsigned back)
{
    if (state->flags[here] & ahead) return 1;
    return state->flags[there] & back ? -1 : 0;
}

static bool pz_sign_error(const game_state *state, int here, int there, unsigned ahead, unsigned back)
{
    return (state->flags[here] & ahead) || (state->flags[there] & back);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int o = state->order, n = o * o, gaps = o * (o - 1);
    PZ_PUT(out, n, state->nums[i]);
    PZ_PUT(out, n, (state->flags[i] & F_IMMUTABLE) != 0);
    /* Rows of gaps are one shorter than rows of squares: i / (o - 1) of them lie before gap i. */
    PZ_PUT(out, gaps, pz_sign(state, i + i / (o - 1), i + i / (o - 1) + 1, F_ADJ_RIGHT, F_ADJ_LEFT));
    PZ_PUT(out, gaps, pz_sign(state, i, i + o, F_ADJ_DOWN, F_ADJ_UP));
    PZ_PUT(out, n, (state->flags[i] & F_ERROR) != 0);
    PZ_PUT(out, gaps, pz_sign_error(state, i + i / (o - 1), i + i / (o - 1) + 1, F_ERROR_RIGHT, F_ERROR_LEFT));
    PZ_PUT(out, gaps, pz_sign_error(state, i, i + o, F_ERROR_DOWN, F_ERROR_UP));
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->hx, ui->hy);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->order * state->order;
    PZ_VISIT(v, state->nums, n);
    PZ_VISIT(v, state->hints, n * state->order);
    PZ_SOUND_ALL(v, n * state->order, !state->hints[i]); /* no action sets one */
    PZ_VISIT(v, state->flags, n);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

PZ_PUZZLE(unequal,
    .title = "Unequal",
    .rules = "Fill the square so that each row and each column holds every number once. Where a sign stands between "
             "two squares, the number at its wide end must be the greater. In the adjacent kind there are bars "
             "instead: two neighbours are consecutive numbers exactly where a bar stands between them. The arrows move "
             "the cursor. A digit key writes that number at the cursor, over any number written before; given numbers "
             "stay, and a square once filled cannot be emptied again.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(hshow), PZ_BOOL(hpencil), PZ_BOOL(hcursor), PZ_BOOL(pencil_keep_highlight)),
    .words = "grid digits=# fixed=.' errors=.!\n"
             "set digits\n"
             "rule once digits",
    .actions = pz_actions,
    .easiest = "3de",
    .human = "4de",
    .params_pattern = "\\d{1,2}a?(d[tekxr])?",
    .params_help = "N: size of the square, 3 to 32; above 9 the numbers are shown as 0 to 9 and A to V, a digit key "
                   "enters the number shown so, and the digit keys do not reach them all\n"
                   "a: adjacent, with bars instead of signs\n"
                   "dX: difficulty, t trivial, e easy, k tricky, x extreme, r recursive; up to size 4 the adjacent "
                   "kind is trivial or easy",
    .sides = PZ_SIDES(order, order),
    .optimal_steps = pz_optimal_steps,
    .goal = "digits",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .moves_change = true,
    .visit = pz_visit);
