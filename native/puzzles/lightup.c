#include "puzzle.h"
#define thegame pz_game_lightup
#include <lightup.c>

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return 0.5 * (params->w + params->h + 1) * ((double)params->w * params->h + 1);
}

/*
 * Where no board of the size is hard enough the engine searches for ever (found by trying many seeds), and a board of
 * nothing but walls has no move that could complete it.
 */
static const char *pz_check_params(const game_params *params)
{
    const double cells = (double)params->w * params->h;
    if (params->blackpc > 99) return "Percentage of black squares must be below 100%";
    if (params->difficulty == 1 && cells < 6) return "Tricky needs at least 6 squares";
    if (params->difficulty == 2 && cells < 9) return "Hard needs at least 9 squares";
    if (params->difficulty == 2 && cells < 10 && params->symm != SYMM_NONE)
        return "Hard needs at least 10 squares with symmetry";
    return NULL;
}

/* The marks for squares without a lamp need SELECT2, which is no action: no field. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "walls", h, w, 0, 1, "1 where a wall blocks the light");
    PZ_GRID(layout, "clues", h, w, -1, 4, "lamps that must stand beside this wall, -1 for no clue");
    PZ_GRID(layout, "lamps", h, w, 0, 1, "1 where a lamp stands");
    PZ_GRID(layout, "lit", h, w, 0, 1, "1 where at least one lamp shines");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->w * state->h;
    const unsigned *flags = state->flags;
    PZ_PUT(out, n, (flags[i] & F_BLACK) != 0);
    PZ_PUT(out, n, flags[i] & F_NUMBERED ? state->lights[i] : -1);
    PZ_PUT(out, n, (flags[i] & F_LIGHT) != 0);
    PZ_PUT(out, n, !(flags[i] & F_BLACK) && state->lights[i] > 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

/* How many lamps shine on a square, its own included. */
static int pz_lamps_seen(const game_state *state, int at)
{
    static const int dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
    int lamps = (state->flags[at] & F_LIGHT) != 0;
    for (int way = 0; way < 4; way++)
        for (int x = at % state->w + dx[way], y = at / state->w + dy[way];
             x >= 0 && x < state->w && y >= 0 && y < state->h && !(state->flags[y * state->w + x] & F_BLACK);
             x += dx[way], y += dy[way])
            lamps += (state->flags[y * state->w + x] & F_LIGHT) != 0;
    return lamps;
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->w * state->h;
    PZ_VISIT_KEPT(v, state->flags, n, F_BLACK | F_NUMBERED);
    PZ_VISIT(v, state->lights, n);
    /* On a black square it is the number there, a field. */
    PZ_SOUND_ALL(v, n, state->flags[i] & F_BLACK || state->lights[i] == pz_lamps_seen(state, i));
    PZ_VISIT1(v, state->nlights);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
}

/* A solved game hides the cursor, and SELECT would then only show it again. */
static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    ui->cur_visible = true;
    return interpret_move(state, ui, ds, 0, 0, action->key);
}

/* The engine's solution also marks squares that cannot hold a lamp; such a mark locks its square, and we show none. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    char *move = solve_game(initial, state, aux, error);
    if (!move) return NULL;
    game_state *solved = execute_move(state, move);
    sfree(move);
    if (!solved) return NULL;
    for (int at = 0; at < solved->w * solved->h; at++) solved->flags[at] &= ~F_IMPOSSIBLE;
    return solved;
}

PZ_PUZZLE(lightup,
    .title = "Light Up",
    .rules = "Put lamps on free squares so that every free square is lit. A lamp shines along its row and its column "
             "until the light meets a wall, and no lamp may shine on another. The number on a wall is how many lamps "
             "stand directly beside it. SELECT puts a lamp on the square under the cursor, or takes it away.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cur_visible), PZ_BOOL(draw_blobs_when_lit)),
    .words = "grid walls=.W clues=# lamps=.o lit=.*\n"
             "set lamps SELECT\n"
             "rule unseen lamps=o walls\n"
             "rule around clues lamps=o 4",
    .actions = pz_actions,
    .easiest = "3x3b20s0d0",
    .human = "7x7b20s4d0",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(b\\d{1,3})?(s[0-4])?(r|d[0-2])?",
    .params_help = "WxH: width and height; W alone leaves the height at 7\n"
                   "bN: percentage of squares that are walls, 5 to 99\n"
                   "sN: symmetry, 0 none, 1 mirror, 2 half turn, 3 two mirrors, 4 quarter turn\n"
                   "dN: difficulty, 0 easy, 1 tricky, 2 hard (also written r)",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "lamps",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .press = pz_press,
    .solved = pz_solved);
