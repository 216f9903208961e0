#include "puzzle.h"
#define thegame pz_game_tents
#include <tents.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_SELECT2, PZ_END};

/* The paper rounds its bound down. */
static double pz_optimal_steps(const game_params *params)
{
    return floor((params->w + 1.0) * (params->h + 1.0) * (params->w + params->h + 1.0) / 4);
}

/* Tents never touch, so a line of n squares holds at most this many. */
static int pz_most_tents(int n)
{
    return (n + 1) / 2;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "trees", h, w, 0, 1, "1 where a tree stands");
    PZ_GRID(layout, "marks", h, w, 0, 2, "what was put there: 1 a tent, 2 a note that none can be, 0 nothing");
    PZ_VECTOR(layout, "column_clues", w, 0, pz_most_tents(h), "tents in each column");
    PZ_VECTOR(layout, "row_clues", h, 0, pz_most_tents(w), "tents in each row");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->p.w, h = state->p.h;
    const char *grid = state->grid;
    const int *numbers = state->numbers->numbers;
    PZ_PUT(out, w * h, grid[i] == TREE);
    PZ_PUT(out, w * h, grid[i] == TENT ? 1 : grid[i] == NONTENT ? 2 : 0);
    PZ_PUT(out, w, numbers[i]);
    PZ_PUT(out, h, numbers[w + i]);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cx, ui->cy);
}

/* The engine takes any number from a description; what no line can hold is refused here, before it is observed. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    const int w = state->p.w, h = state->p.h;
    for (int k = 0; k < w + h; k++) {
        const int number = state->numbers->numbers[k];
        if (number < 0 || number > pz_most_tents(k < w ? h : w))
            pz_fail(PZ_BAD_ID, "%s %d cannot hold that many tents", k < w ? "Column" : "Row", (k < w ? k : k - w) + 1);
    }
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->p.w * state->p.h);
    PZ_SOUND_ALL(v, state->p.w * state->p.h, state->grid[i] >= BLANK && state->grid[i] <= NONTENT);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
}

/* The solver does not see every contradiction that a description may hold: its answer counts only if it is one. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    char *move = solve_game(initial, state, aux, error);
    /* A solving move overwrites all marks, so it may start from the initial state, which was never called complete. */
    game_state *solved = move ? execute_move(initial, move) : NULL;
    sfree(move);
    if (!solved || solved->completed) return solved;
    free_game(solved);
    *error = "This puzzle has no solution";
    return NULL;
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return ui->drag_button == -1;
}

PZ_PUZZLE(tents,
    .title = "Tents",
    .rules = "Give every tree a tent of its own in a square that shares a side with it. No two tents touch, not even "
             "at a corner, and the numbers below and beside the grid are how many tents stand in each column and row. "
             "SELECT pitches a tent on an empty square under the cursor, SELECT2 notes there that no tent can stand; "
             "on a square that holds either, both clear it.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(drag_ok), PZ_BOOL(cdisp)),
    .words = "grid trees=.T marks=.AX\n"
             "set marks SELECT SELECT2\n"
             "rule apart marks=A 8\n"
             "rule beside marks=A trees\n"
             "rule total marks=A row_clues column_clues",
    .actions = pz_actions,
    .easiest = "4x4de",
    .human = "8x8de",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(d[et])?",
    .params_help = "WxH: width and height, at least 4\n"
                   "dX: difficulty, e easy, t tricky",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "marks",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .solved = pz_solved);
