#include "puzzle.h"
#define thegame pz_game_undead
#include <undead.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT2, {"1", '1'}, {"2", '2'}, {"3", '3'}, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/*
 * The longest line of sight. All w + h lines together pass 2wh squares, two ways through each. Of the others at most
 * four, each round a corner, pass one square only, and all the rest two or more. A line that is not straight passes at
 * least one mirror.
 */
static int pz_most_sightings(const game_params *params)
{
    const int w = params->w, h = params->h;
    return 2 * w * h - 4 - 2 * (w + h - 5) - 1;
}

/* No action reaches the pencil marks or ticks off a sighting, so they are no fields. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_VECTOR(layout, "counts", 3, 0, w * h, "ghosts, vampires and zombies that the board must hold");
    PZ_VECTOR(layout, "sightings", 2 * (w + h), 0, pz_most_sightings(params),
              "monsters seen from outside: along the top, the bottom, then down the left and the right side");
    PZ_GRID(layout, "mirrors", h, w, 0, 2, "1 for a mirror \\, 2 for a mirror /, 0 for a square for a monster");
    PZ_GRID(layout, "monsters", h, w, 0, 3, "1 ghost, 2 vampire, 3 zombie, 0 for none");
    PZ_GRID(layout, "fixed", h, w, 0, 1, "1 where the monster is given");
    PZ_VECTOR(layout, "count_errors", 3, 0, 1, "1 where the board has too many or too few ghosts, vampires, zombies");
    PZ_VECTOR(layout, "sighting_errors", 2 * (w + h), 0, 1, "1 where a sighting can no longer come true");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where the engine shows that something is wrong");
    PZ_CURSOR(layout, w, h);
}

/* The engine keeps a frame of one square round its arrays. Where square number at of the board is: */
static int pz_square(const game_state *state, int at)
{
    const int w = state->common->params.w;
    return (at / w + 1) * (w + 2) + at % w + 1;
}

/* And where sighting number k of ours stands in that frame. */
static int pz_frame(const game_state *state, int k)
{
    const int w = state->common->params.w, h = state->common->params.h;
    if (k < w) return k + 1;
    if (k < 2 * w) return (h + 1) * (w + 2) + k - w + 1;
    if (k < 2 * w + h) return (k - 2 * w + 1) * (w + 2);
    return (k - 2 * w - h + 1) * (w + 2) + w + 1;
}

static bool pz_sighting_error(const game_state *state, int k)
{
    const int w = state->common->params.w, h = state->common->params.h, at = pz_frame(state, k);
    return state->hint_errors[grid2range(at % (w + 2), at / (w + 2), w, h)];
}

static int pz_mirror(const game_state *state, int at)
{
    switch (state->common->grid[pz_square(state, at)]) {
    case CELL_MIRROR_L: return 1;
    case CELL_MIRROR_R: return 2;
    default: return 0;
    }
}

static int pz_monster(const game_state *state, int at)
{
    const int index = state->common->xinfo[pz_square(state, at)];
    switch (index < 0 ? 0 : state->guess[index]) {
    case 1: return 1;
    case 2: return 2;
    case 4: return 3;
    default: return 0;
    }
}

static bool pz_fixed(const game_state *state, int at)
{
    const int index = state->common->xinfo[pz_square(state, at)];
    return index >= 0 && state->common->fixed[index];
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const struct game_common *common = state->common;
    const int w = common->params.w, h = common->params.h;
    PZ_PUT(out, 3, i == 0 ? common->num_ghosts : i == 1 ? common->num_vampires : common->num_zombies);
    PZ_PUT(out, 2 * (w + h), common->grid[pz_frame(state, i)]);
    PZ_PUT(out, w * h, pz_mirror(state, i));
    PZ_PUT(out, w * h, pz_monster(state, i));
    PZ_PUT(out, w * h, pz_fixed(state, i));
    PZ_PUT(out, 3, state->count_errors[i]);
    PZ_PUT(out, 2 * (w + h), pz_sighting_error(state, i));
    PZ_PUT(out, w * h, state->cell_errors[pz_square(state, i)]);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->hx - 1, ui->hy - 1);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const struct game_common *common = state->common;
    PZ_VISIT(v, state->guess, common->num_total);
    PZ_SOUND_ALL(v, common->num_total, state->guess[i] >= 1 && state->guess[i] <= 7);
    PZ_VISIT(v, state->pencils, common->num_total);
    PZ_SOUND_ALL(v, common->num_total, !state->pencils[i]); /* no action sets one */
    PZ_VISIT(v, state->cell_errors, common->wh);
    PZ_VISIT(v, state->hint_errors, 2 * common->num_paths);
    PZ_VISIT(v, state->hints_done, 2 * common->num_paths);
    PZ_VISIT(v, state->count_errors, 3);
    PZ_VISIT1(v, state->solved);
    PZ_VISIT1(v, state->cheated);
}

/* The engine takes any numbers from a description, and large ones overflow its text board. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    const struct game_common *common = state->common;
    const int most = pz_most_sightings(&common->params);
    const int counts[] = {common->num_ghosts, common->num_vampires, common->num_zombies};
    for (int kind = 0; kind < 3; kind++)
        if (counts[kind] < 0 || counts[kind] > common->num_total)
            pz_fail(PZ_BAD_ID, "A count of %d monsters is out of range", counts[kind]);
    for (int k = 0; k < 2 * (common->params.w + common->params.h); k++) {
        const int sighting = common->grid[pz_frame(state, k)];
        if (sighting < 0 || sighting > most) pz_fail(PZ_BAD_ID, "A sighting of %d monsters is out of range", sighting);
    }
}

/*
 * A board that the solver filled never counts as solved: the same moves count when they come without its mark. They may
 * still be wrong, as it overlooks sightings along lines without a monster.
 */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    char *move = solve_game(initial, state, aux, error);
    if (!move) return NULL;
    game_state *solved = execute_move(state, move + strspn(move, "S;"));
    sfree(move);
    if (solved->solved) {
        solved->cheated = true;
        return solved;
    }
    free_game(solved);
    *error = "Puzzle is inconsistent";
    return NULL;
}

PZ_PUZZLE(undead,
    .title = "Undead",
    .rules = "Put a ghost, a vampire or a zombie on every square that has no mirror, as many of each kind as the board "
             "asks for. A number at the edge says how many monsters one sees looking in from there, along a line that "
             "the mirrors turn aside: a zombie always, a vampire only before the line meets its first mirror, a ghost "
             "only behind one; a monster that the line passes twice counts each time. The arrows move the cursor. 1 "
             "puts a ghost at the cursor, 2 a vampire, 3 a zombie, in place of any other; SELECT2 clears the square.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(hshow), PZ_BOOL(hpencil), PZ_BOOL(hcursor), PZ_BOOL(ascii),
                         PZ_BOOL(pencil_keep_highlight)),
    .words = "grid mirrors=.\\/ monsters=.GVZ fixed=.' errors=.!\n"
             "set monsters SELECT2",
    .actions = pz_actions,
    .easiest = "3x3de",
    .human = "4x4de",
    .params_pattern = "\\d{1,2}(x\\d{1,2})?(d[ent])?",
    .params_help = "WxH: width and height, 3 or more, with at most 54 squares\n"
                   "dX: difficulty, e easy, n normal, t tricky",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "monsters",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .solved = pz_solved,
    .overdraws_below = 8);
