#include "puzzle.h"
#define thegame pz_game_solo

/*
 * The engine expects too short a description where a small board has many given digits, and writes behind its buffer
 * (2x2m8, 2jm4, 4jm4). Its callers, who say "area", get our length instead, which has room for a number and a mark for
 * each square, or for all edges between squares. Its definition, which says "int area", stays, under another name.
 */
static inline int pz_encode_space(int area)
{
    return 4 * area + 1;
}
#define grid_encode_space(argument) PZ_SPACE_##argument)
#define PZ_SPACE_area pz_encode_space(area
#define PZ_SPACE_int pz_engine_encode_space(int

/*
 * The tables of sums are static, and the engine fills them anew for every game: threads would write them while others
 * read. They are filled once, when the module is loaded, and the calls that are left do nothing.
 */
#define precompute_sum_bits(argument) PZ_SUMS_##argument
#define PZ_SUMS_void pz_fill_tables_of_sums(void)
#define PZ_SUMS_ (void)0

#include <solo.c>
#undef cube

__attribute__((constructor)) static void pz_fill_tables(void)
{
    pz_fill_tables_of_sums();
}

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_DIGITS_1_9, PZ_END};

static double pz_cells(const game_params *params)
{
    const double cr = (double)params->c * params->r;
    return cr * cr;
}

static double pz_optimal_steps(const game_params *params)
{
    return pz_cells(params) * (2.0 * params->c * params->r + 1);
}

static const char *pz_check_params(const game_params *params)
{
    const int cr = params->c * params->r;
    /* The engine would write behind its arrays. */
    if (params->r < 1) return "There must be at least one row of blocks";
    /* It would search for ever: any two neighbours add up to three. */
    if (params->killer && cr < 3) return "Killer puzzle dimensions must be larger than 2";
    /* It would give all four digits, and a board without a move never counts as solved. */
    if (cr == 2 && (params->symm == SYMM_ROT4 || params->symm == SYMM_REF4 || params->symm == SYMM_REF8))
        return "Two digits cannot be placed with this symmetry";
    return NULL;
}

/* No action reaches the pencil marks, so they are no field. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int cr = params->c * params->r;
    PZ_GRID(layout, "digits", cr, cr, 0, cr, "digit in each square, 0 for none");
    PZ_GRID(layout, "fixed", cr, cr, 0, 1, "1 where the digit is given");
    PZ_GRID(layout, "blocks", cr, cr, 0, cr - 1, "number of the block that each square belongs to");
    if (params->xtype) PZ_GRID(layout, "diagonals", cr, cr, 0, 1, "1 where the square lies on a diagonal");
    if (params->killer) {
        PZ_GRID(layout, "cages", cr, cr, 0, cr * cr / 2 - 1, "number of the cage that each square belongs to");
        PZ_GRID(layout, "cage_sums", cr, cr, 0, cr * (cr + 1) / 2, "sum of a cage, on one of its squares; 0 elsewhere");
    }
    PZ_CURSOR(layout, cr, cr);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int cr = state->cr, n = cr * cr;
    PZ_PUT(out, n, state->grid[i]);
    PZ_PUT(out, n, state->immutable[i]);
    PZ_PUT(out, n, state->blocks->whichblock[i]);
    if (state->xtype) PZ_PUT(out, n, ondiag0(i) || ondiag1(i));
    if (state->killer) {
        PZ_PUT(out, n, state->kblocks->whichblock[i]);
        PZ_PUT(out, n, state->kgrid[i]);
    }
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->hx, ui->hy);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->cr * state->cr;
    PZ_VISIT(v, state->grid, n);
    PZ_VISIT(v, state->pencil, n * state->cr);
    PZ_SOUND_ALL(v, n * state->cr, !state->pencil[i]); /* no action sets one */
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/* The engine takes cages without a sum, or with several, from a description, and only fails once they are full. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    if (!state->killer) return;
    for (int cage = 0; cage < state->kblocks->nr_blocks; cage++) {
        int sums = 0, sum = 0;
        for (int k = 0; k < state->kblocks->nr_squares[cage]; k++) {
            const int here = state->kgrid[state->kblocks->blocks[cage][k]];
            if (here) sums++, sum = here;
        }
        if (sums != 1) pz_fail(PZ_BAD_ID, "A cage has %d sums", sums);
        if (sum > state->cr * (state->cr + 1) / 2) pz_fail(PZ_BAD_ID, "No cage can have the sum %d", sum);
    }
}

/* The engine draws no cages: below its board, a letter for the cage of each square and the sum that belongs to it. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const int cr = state->cr;
    char *board = grid_text_format(cr, state->blocks, state->xtype, state->grid);
    if (!state->killer) return board;
    pz_text text = {NULL, 0, 0};
    pz_print(&text, "%s\n", board);
    sfree(board);
    for (int at = 0; at < cr * cr; at++)
        pz_print(&text, "%c%s", names[state->kblocks->whichblock[at]], at % cr < cr - 1 ? " " : "\n");
    for (int at = 0; at < cr * cr; at++)
        if (state->kgrid[at]) pz_print(&text, "%c: %d\n", names[state->kblocks->whichblock[at]], state->kgrid[at]);
    return text.chars;
}

PZ_PUZZLE(solo,
    .title = "Solo",
    .rules = "Fill the square so that each row, each column and each block holds every digit once. With diagonals the "
             "two main diagonals do so too. With cages no digit stands twice in a cage, and the digits of a cage add "
             "up to its sum. The arrows move the cursor. A digit key writes that digit at the cursor, over any digit "
             "written before; given digits stay, and the same key again does nothing: a square once filled cannot be "
             "emptied.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(hpencil), PZ_BOOL(hshow), PZ_BOOL(hcursor), PZ_BOOL(pencil_keep_highlight)),
    .words = "grid digits=# fixed=.'\n"
             "set digits\n"
             "rule once digits blocks cages diagonals",
    .actions = pz_actions,
    .easiest = "2x2",
    .human = "2x2",
    /* An x straight after the first number is always read as the one between two numbers. */
    .params_pattern = "\\d{1,3}(x\\d{1,3}|(?!x))(j|x|k|a|r[24]|md?[24]|m8|d[tbiaeu])*",
    .params_help = "CxR: columns and rows of blocks, each block R squares wide and C high; the digits go up to C times "
                   "R, at most 31, and above 9 the digit keys do not reach them all\n"
                   "j: jigsaw, blocks of any shape; Nj or CxRj\n"
                   "x: every digit once on each main diagonal too, field diagonals; from 4 digits on\n"
                   "k: killer, with cages and sums, fields cages and cage_sums; up to 9 digits\n"
                   "symmetry of the given digits: a none, r2 or r4 rotation, m2, m4 or m8 mirror, md2 or md4 diagonal "
                   "mirror\n"
                   "dX: difficulty, t trivial, b basic, i intermediate, a advanced, e extreme, u unreasonable",
    .check_params = pz_check_params,
    .cells = pz_cells,
    .optimal_steps = pz_optimal_steps,
    .goal = "digits",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .text = pz_text_board);
