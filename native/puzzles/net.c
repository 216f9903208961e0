#include "puzzle.h"

/*
 * On boards two tiles wide or high, a tile may meet the same neighbour on two sides, inside the board and around its
 * edge. The engine's search for loops then runs for ever, both while it generates (3x2, 5x2) and while it draws a
 * wrapping board. So each neighbour is told only once, which changes nothing where the search came to an end.
 */
typedef struct pz_once {
    neighbour_fn_t neighbour;
    void *context;
    int told[4], n;
} pz_once;

static int pz_neighbour_once(int vertex, void *context)
{
    pz_once *once = context;
    if (vertex >= 0) once->n = 0;
    for (;;) {
        const int next = once->neighbour(vertex, once->context);
        if (next < 0) return next;
        int k = 0;
        while (k < once->n && once->told[k] != next) k++;
        if (k == once->n) return once->told[once->n++] = next;
        vertex = -1; /* go on with the same tile */
    }
}

static bool pz_findloop_run(struct findloopstate *state, int n_vertices, neighbour_fn_t neighbour, void *context)
{
    pz_once once = {.neighbour = neighbour, .context = context};
    return findloop_run(state, n_vertices, pz_neighbour_once, &once);
}

#define findloop_run pz_findloop_run
#define thegame pz_game_net
#include <net.c>

static const pz_action pz_actions[] = {PZ_ARROWS_ROUND, PZ_SELECT_ALWAYS, PZ_END};

/* The last axis of what tiles have on their four sides, in the order of the arrows. */
static const unsigned char pz_sides[4] = {U, D, L, R};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->width * params->height * (params->width + params->height + 3);
}

/* The engine compares, and no comparison holds for what is not a number. */
static const char *pz_check_params(const game_params *params)
{
    return isnan(params->barrier_probability) ? "Barrier probability must be a number" : NULL;
}

/*
 * Which tiles have power follows from the wires. Where a board wraps round, its edge has no barriers of its own. No
 * action locks a tile or moves the source, which the engine keeps in its ui.
 */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->width, h = params->height;
    PZ_CUBE(layout, "wires", h, w, 4, 0, 1, "1 where a wire leaves the tile by its top, bottom, left, right side");
    PZ_CUBE(layout, "barriers", h, w, 4, 0, 1, "1 where a barrier shuts the place's top, bottom, left, right side");
    PZ_VECTOR(layout, "source", 2, 0, max(w, h) / 2, "row and column of the source");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->width * state->height;
    PZ_PUT(out, n * 4, (state->tiles[i / 4] & pz_sides[i % 4]) != 0);
    PZ_PUT(out, n * 4, (state->imm->barriers[i / 4] & pz_sides[i % 4]) != 0);
    PZ_PUT(out, 2, (i ? state->width : state->height) / 2);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->tiles, state->width * state->height);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
    PZ_VISIT1(v, state->last_rotate_x);
    PZ_VISIT1(v, state->last_rotate_y);
    PZ_VISIT1(v, state->last_rotate_dir);
}

/* The cursor is all that our actions change; the random generator serves a key that is no action, and stays put. */
static void pz_visit_ui(game_ui *ui, const game_state *state, pz_visitor *v)
{
    PZ_VISIT1(v, ui->cur_x);
    PZ_VISIT1(v, ui->cur_y);
}

static void pz_copy_ui(game_ui *to, const game_ui *from, const game_state *state)
{
    random_state *rs = to->rs;
    *to = *from;
    to->rs = rs;
}

/* The engine locks the tiles that it has solved, and SELECT would then be dead without a visible reason. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    char *move = solve_game(initial, state, aux, error);
    game_state *solved = move ? execute_move(state, move) : NULL;
    sfree(move);
    if (solved && !solved->completed) {
        free_game(solved);
        solved = NULL;
        *error = "the engine's solver does not get to the end of this puzzle";
    }
    if (solved)
        for (int at = 0; at < solved->width * solved->height; at++) solved->tiles[at] &= ~LOCKED;
    return solved;
}

/* Each tile is 3x3 characters between the barriers: S the source, o a wire's end, + any other; # is a barrier. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int w = params->width, h = params->height, line = 4 * w + 2, length = line * (4 * h + 1);
    char *text = snewn(length + 1, char);
    for (int at = 0; at < length; at++)
        text[at] = at % line == line - 1 ? '\n' : at / line % 4 == 0 && at % line % 4 == 0 ? '.' : ' ';
    text[length] = '\0';
    for (int at = 0; at < w * h; at++) {
        const int x = at % w, y = at / w, wires = state->tiles[at], ends = COUNT(wires);
        char *middle = text + (4 * y + 2) * line + 4 * x + 2;
        *middle = x == w / 2 && y == h / 2 ? 'S' : ends == 1 ? 'o' : ends ? '+' : ' ';
        for (int side = 0; side < 4; side++) {
            const int d = pz_sides[side], out = Y(d) * line + X(d), along = X(d) ? line : 1;
            if (wires & d) middle[out] = X(d) ? '-' : '|';
            if (state->imm->barriers[at] & d)
                for (int k = -2; k <= 2; k++) middle[2 * out + k * along] = '#';
        }
    }
    return text;
}

PZ_PUZZLE(net,
    .title = "Net",
    .rules = "Each tile carries a piece of a network of wires, turned at random. Turn the tiles where they stand until "
             "every tile is joined to the source in the middle by wires that meet and that no barrier cuts. Arrows "
             "move the cursor, over the edge to the opposite side; SELECT turns the tile under it a quarter "
             "anticlockwise.",
    .ui_size = sizeof(game_ui),
    .words = "grid wires=UDLR barriers=udlr\n"
             "set wires SELECT\n"
             "do turn SELECT",
    .actions = pz_actions,
    .easiest = "2x2",
    .human = "5x5",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(w|b(\\d|\\d?\\.\\d{1,4})|a)*",
    .params_help = "WxH: width and height\n"
                   "w: wires go on from each edge to the opposite one\n"
                   "bP: the part of the possible barriers that stand, 0 to 1\n"
                   "a: the solution need not be unique",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(width, height),
    .optimal_steps = pz_optimal_steps,
    .goal = "wires",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .visit_ui = pz_visit_ui,
    .copy_ui = pz_copy_ui,
    .solved = pz_solved,
    .text = pz_text_board);
