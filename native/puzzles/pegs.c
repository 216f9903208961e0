#include "puzzle.h"
#define thegame pz_game_pegs
#include <pegs.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT, PZ_UNDO_ACTION, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 2);
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "places", h, w, 0, 1, "1 where the board has a place for a peg");
    PZ_GRID(layout, "pegs", h, w, 0, 1, "1 where a peg stands");
    PZ_CURSOR(layout, w, h);
    PZ_UI_SCALAR(layout, "jumping", 0, 1, "1 while the next arrow lets the peg under the cursor jump");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->w * state->h;
    PZ_PUT(out, n, state->grid[i] != GRID_OBST);
    PZ_PUT(out, n, state->grid[i] == GRID_PEG);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
    PZ_PUT1(out, ui->cur_jumping);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->w * state->h);
    PZ_SOUND_ALL(v, state->w * state->h, state->grid[i] <= GRID_OBST);
    PZ_VISIT1(v, state->completed);
}

/* Whether of three squares in a row the middle peg can be jumped over, one way or the other. */
static bool pz_can_jump(const unsigned char *first, int step)
{
    return first[step] == GRID_PEG && ((first[0] == GRID_PEG && first[2 * step] == GRID_HOLE) ||
                                       (first[0] == GRID_HOLE && first[2 * step] == GRID_PEG));
}

static bool pz_stuck(const game_state *state)
{
    const int w = state->w, h = state->h;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const unsigned char *square = state->grid + y * w + x;
            if (x + 2 < w && pz_can_jump(square, 1)) return false;
            if (y + 2 < h && pz_can_jump(square, w)) return false;
        }
    return true;
}

/* Pegs left; those that stand alone are harder to get rid of, and so are those far from the others. */
static int pz_distance(const game_state *state)
{
    const int w = state->w, h = state->h;
    int pegs = 0, alone = 0, left = w, right = 0, top = h, bottom = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const unsigned char *square = state->grid + y * w + x;
            if (*square != GRID_PEG) continue;
            pegs++;
            left = min(left, x);
            right = max(right, x);
            top = min(top, y);
            bottom = max(bottom, y);
            alone += !((x && square[-1] == GRID_PEG) || (x + 1 < w && square[1] == GRID_PEG) ||
                       (y && square[-w] == GRID_PEG) || (y + 1 < h && square[w] == GRID_PEG));
        }
    return 4 * (pegs - 1) + 2 * alone + right - left + bottom - top;
}

/*
 * Depth first over bitmaps of the board, each seen once: that settles small boards, solvable or not, at once. A set of
 * this many boards is the limit; beyond, and on boards of more than 64 squares, the general search takes over.
 */
enum { PZ_FEW_KNOWN = 1 << 14, PZ_KNOWN = 1 << 22, PZ_JUMPS = 4 * 64 };

typedef struct pz_solver {
    struct {
        uint64_t all, before;
        int from, to;
    } jumps[PZ_JUMPS];
    int n_jumps, n_known, room, depth;
    int way[64];
    uint64_t *known;
} pz_solver;

/* Where a board is in the set, or where it belongs. */
static uint64_t *pz_place(const pz_solver *solver, uint64_t pegs)
{
    size_t at = pegs * 0x9E3779B97F4A7C15u >> 40 & (solver->room - 1);
    while (solver->known[at] && solver->known[at] != pegs) at = (at + 1) & (solver->room - 1);
    return &solver->known[at];
}

static void pz_make_room(pz_solver *solver)
{
    uint64_t *old = solver->known;
    const int room = solver->room;
    solver->room = old ? 4 * room : PZ_FEW_KNOWN;
    solver->known = snewn(solver->room, uint64_t);
    memset(solver->known, 0, solver->room * sizeof *solver->known);
    for (int i = 0; i < room; i++)
        if (old[i]) *pz_place(solver, old[i]) = old[i];
    sfree(old);
}

static bool pz_is_full(const pz_solver *solver)
{
    return solver->n_known > PZ_KNOWN / 4 * 3;
}

static bool pz_solve_from(pz_solver *solver, uint64_t pegs)
{
    pz_tick();
    if (!(pegs & (pegs - 1))) return true;
    if (solver->n_known >= solver->room / 4 * 3 && solver->room < PZ_KNOWN) pz_make_room(solver);
    uint64_t *place = pz_place(solver, pegs);
    if (*place || pz_is_full(solver)) return false;
    *place = pegs;
    solver->n_known++;
    for (int jump = 0; jump < solver->n_jumps; jump++) {
        if ((pegs & solver->jumps[jump].all) != solver->jumps[jump].before) continue;
        solver->way[solver->depth++] = jump;
        if (pz_solve_from(solver, pegs ^ solver->jumps[jump].all)) return true;
        solver->depth--;
    }
    return false;
}

static char *pz_guide(const game_state *state, const char *aux)
{
    static const int dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
    const int w = state->w, h = state->h;
    if (w * h > 64) return NULL;
    pz_solver *solver = snew(pz_solver);
    memset(solver, 0, sizeof *solver);
    uint64_t pegs = 0;
    for (int at = 0; at < w * h; at++) {
        const int x = at % w, y = at / w;
        if (state->grid[at] == GRID_PEG) pegs |= (uint64_t)1 << at;
        for (int way = 0; way < 4; way++) {
            const int tx = x + 2 * dx[way], ty = y + 2 * dy[way], to = ty * w + tx, over = (at + to) / 2;
            if (tx < 0 || tx >= w || ty < 0 || ty >= h || state->grid[at] == GRID_OBST ||
                state->grid[to] == GRID_OBST || state->grid[over] == GRID_OBST)
                continue;
            const uint64_t before = (uint64_t)1 << at | (uint64_t)1 << over;
            solver->jumps[solver->n_jumps].before = before;
            solver->jumps[solver->n_jumps].all = before | (uint64_t)1 << to;
            solver->jumps[solver->n_jumps].from = at;
            solver->jumps[solver->n_jumps++].to = to;
        }
    }
    pz_make_room(solver);
    pz_text moves = {NULL, 0, 0};
    if (pz_solve_from(solver, pegs))
        for (int i = 0; i < solver->depth; i++) {
            const int from = solver->jumps[solver->way[i]].from, to = solver->jumps[solver->way[i]].to;
            pz_print(&moves, "%d,%d-%d,%d ", from % w, from / w, to % w, to / w);
        }
    else if (!pz_is_full(solver))
        pz_fail(PZ_NO_PLAN, "it cannot be solved from here");
    sfree(solver->known);
    sfree(solver);
    return moves.chars;
}

PZ_PUZZLE(pegs,
    .title = "Pegs",
    .rules = "Pegs stand in the holes of a board. A peg may jump over a neighbour, across or down, into the empty hole "
             "right behind it; the peg jumped over is removed. Remove all but one. SELECT picks the peg under the "
             "cursor, and the next arrow lets it jump that way or, if it cannot, drops the choice, as a second SELECT "
             "does. UNDO takes the last jump back; when no jump is left, nothing else remains.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(dragging), PZ_BOOL(cur_visible), PZ_BOOL(cur_jumping)),
    .words = "grid places=.o pegs=.P\n"
             "pull SELECT\n"
             "idle jumping\n"
             "score pegs=0",
    .actions = pz_actions,
    .easiest = "4x4random",
    .human = "5x7cross",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(cross|octagon|[rR]andom)?",
    .params_help = "WxH: width and height\n"
                   "cross: a cross of 5x7, 5x9, 7x7, 7x9 or 9x9, either way round\n"
                   "octagon: an octagon of 7x7\n"
                   "random: an irregular board of any size from 4x4",
    .params_alias = "Random=random",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "pegs",
    .distance = pz_distance,
    .guide = pz_guide,
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .stuck = pz_stuck);
