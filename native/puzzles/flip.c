#include "puzzle.h"
#define thegame pz_game_flip
#include <flip.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* The engine wants no two squares with the same effect, but two squares alone can only flip each other: no end. */
static const char *pz_check_params(const game_params *params)
{
    const bool twins = params->matrix_type == RANDOM && params->w * params->h == 2;
    return twins ? "Random shapes cannot differ on two squares" : NULL;
}

/* What each square flips is drawn into it as a small diagram. Hint marks appear only after the engine's own solve. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "dark", h, w, 0, 1, "1 where the square shows its dark side, 0 where it is as wanted");
    PZ_GRID(layout, "effects", w * h, w * h, 0, 1,
            "row a, column b: 1 where selecting square a flips square b; "
            "squares are counted row by row");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->w * state->h;
    PZ_PUT(out, n, state->grid[i] & 1);
    PZ_PUT(out, n * n, state->matrix->matrix[i]);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cx, ui->cy);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->w * state->h);
    PZ_VISIT1(v, state->moves);
    PZ_SOUND(v, state->moves >= 0 && state->moves <= PZ_MANY);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
    PZ_VISIT1(v, state->hints_active);
}

/* Take out of a set of squares, 64 to a word, what the basis holds; the first square left over, or n for none. */
static int pz_reduce(uint64_t *set, uint64_t *const *basis, int n, int words)
{
    for (int square = 0; square < n; square++) {
        if (!(set[square / 64] >> square % 64 & 1)) continue;
        if (!basis[square]) return square;
        for (int k = square / 64; k < words; k++) set[k] ^= basis[square][k];
    }
    return n;
}

/*
 * The engine's solve only marks squares to press, and looks through all solutions for the shortest: 2^20 of them at
 * 30x30. Here it is enough to know that the dark squares are a sum of effects.
 */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    const int n = state->w * state->h, words = (n + 63) / 64;
    uint64_t **basis = snewn(n, uint64_t *); /* at each square a set that starts with it */
    memset(basis, 0, (size_t)n * sizeof *basis);
    int left = n;
    for (int row = 0; row <= n; row++) { /* the effects, then the board itself */
        const unsigned char *from = row < n ? state->matrix->matrix + (size_t)row * n : state->grid;
        uint64_t *set = snewn(words, uint64_t);
        memset(set, 0, (size_t)words * sizeof *set);
        for (int square = 0; square < n; square++) set[square / 64] |= (uint64_t)(from[square] & 1) << square % 64;
        left = pz_reduce(set, basis, n, words);
        if (left < n && row < n)
            basis[left] = set;
        else
            sfree(set);
    }
    for (int square = 0; square < n; square++) sfree(basis[square]);
    sfree(basis);
    if (left < n) {
        *error = "no presses turn all squares to their light side";
        return NULL;
    }
    game_state *solved = dup_game(state);
    memset(solved->grid, 0, n);
    solved->completed = solved->cheated = true;
    return solved;
}

PZ_PUZZLE(flip,
    .title = "Flip",
    .rules = "Every square is dark or light. Make all of them light. Each square carries a small diagram of the "
             "squares that flip over together when it is selected, itself among them. Arrows move the cursor; SELECT "
             "flips what the square under the cursor shows.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cdraw)),
    .words = "grid dark=.X\n"
             "do flip SELECT\n"
             "score dark=0",
    .actions = pz_actions,
    .easiest = "3x3c",
    .human = "3x3c",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?[cr]?",
    .params_help = "WxH: width and height\n"
                   "c or r: a square flips the cross around it, or a random shape of its own",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "dark",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .solved = pz_solved);
