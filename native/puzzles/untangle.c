#include "puzzle.h"

/*
 * The engine's changed_state forgets the point that is held, as an undo may make it do, and leaves no cursor behind. So
 * we put ours in its place: the macro renames the definition alone, for the engine's record names it without brackets.
 */
static void game_changed_state(game_ui *ui, const game_state *from, const game_state *to);
#define game_changed_state(ui, from, to) pz_engine_changed_state(ui, from, to)
#define thegame pz_game_untangle
#include <untangle.c>
#undef game_changed_state

static void game_changed_state(game_ui *ui, const game_state *from, const game_state *to)
{
    if (ui->dragpoint >= 0) ui->cursorpoint = ui->dragpoint;
    pz_engine_changed_state(ui, from, to);
}

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    const double n = params->n;
    return n * (n + sqrt(3 * n) * 4 + 2);
}

/* The plane has about three units for each point. */
static double pz_cells(const game_params *params)
{
    return 3.0 * params->n;
}

/*
 * Coordinates are in 64ths of the engine's unit, and exact: a game starts on them, the keyboard moves a point by half a
 * unit, measured with a tile of 64 pixels, and a solution has halves of a unit.
 */
enum { PZ_UNIT = PREFERRED_TILESIZE, PZ_STEP = PZ_UNIT / 2 };

static int pz_extent(const game_params *params)
{
    return (int)COORDLIMIT(params->n) * PZ_UNIT;
}

static bool pz_is_point(const point *p)
{
    return p->d > 0 && p->d <= PZ_MANY && labs(p->x) <= PZ_MANY && labs(p->y) <= PZ_MANY;
}

static long pz_x(const point *p)
{
    if (p->d <= 0) pz_fail(PZ_CORRUPT, "the saved session has a point without a place");
    return p->x * PZ_UNIT / p->d;
}

static long pz_y(const point *p)
{
    if (p->d <= 0) pz_fail(PZ_CORRUPT, "the saved session has a point without a place");
    return p->y * PZ_UNIT / p->d;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int n = params->n, last = pz_extent(params) - 1;
    PZ_GRID(layout, "points", n, 2, 0, last,
            "x and y of each point, in 64ths of a unit; a held point still counts as "
            "where it was");
    PZ_GRID(layout, "edges", n, n, 0, 1, "1 where a line joins the two points");
    PZ_GRID(layout, "crossed", n, n, 0, 1, "1 where the line between the two points crosses another");
    PZ_UI_SCALAR(layout, "cursor_point", 0, n - 1, "the point that is chosen or held");
    PZ_UI_SCALAR(layout, "holding", 0, 1, "1 while arrows move the point, 0 while they choose one");
    PZ_UI_VECTOR(layout, "held_position", 2, -1, last, "x and y of the held point, -1 when none is held");
}

/* A matrix with each edge that counts in both of its places, smalloc'ed. */
static signed char *pz_matrix(const game_state *state, bool only_crossed)
{
    const int n = state->params.n;
    signed char *matrix = snewn(n * n, signed char);
    const edge *e;
    memset(matrix, 0, (size_t)n * n);
    for (int at = 0; (e = index234(state->graph->edges, at)) != NULL; at++)
        if (!only_crossed || state->crosses[at]) matrix[e->a * n + e->b] = matrix[e->b * n + e->a] = 1;
    return matrix;
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->params.n;
    PZ_PUT(out, 2 * n, i % 2 ? pz_y(&state->pts[i / 2]) : pz_x(&state->pts[i / 2]));
    for (int only_crossed = 0; only_crossed < 2; only_crossed++) {
        signed char *matrix = pz_matrix(state, only_crossed);
        PZ_PUT(out, n * n, matrix[i]);
        sfree(matrix);
    }
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    const bool holding = ui->dragpoint >= 0;
    PZ_PUT1(out, holding ? ui->dragpoint : ui->cursorpoint);
    PZ_PUT1(out, holding);
    PZ_PUT(out, 2, !holding ? -1 : i ? pz_y(&ui->newpoint) : pz_x(&ui->newpoint));
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->pts, state->params.n);
    PZ_SOUND_ALL(v, state->params.n, pz_is_point(&state->pts[i]));
    PZ_VISIT(v, state->crosses, count234(state->graph->edges));
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
    PZ_VISIT1(v, state->just_solved);
}

/* The engine starts without a cursor, and leaves the parts of its ui unset that only a held point has. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    memset(ui, 0, sizeof *ui);
    ui->dragpoint = -1;
    ui->newpoint.d = PZ_UNIT;
}

/*
 * The nearest point whose direction is within 45 degrees of the arrow's, or -1. The engine has such a rule too, but it
 * rounds distances to whole units and never finds the second of two points in one place. Here such points count as
 * lying side by side, in the order of their numbers, so that LEFT and RIGHT step through them. So every point can be
 * reached from every other: that held on all of some million random boards.
 */
static int pz_neighbour(const game_state *state, int from, int key)
{
    const long x = pz_x(&state->pts[from]), y = pz_y(&state->pts[from]);
    int best = -1;
    long nearest = 0;
    for (int at = 0; at < state->params.n; at++) {
        const long dx = pz_x(&state->pts[at]) - x, dy = pz_y(&state->pts[at]) - y;
        const long distance = dx * dx + dy * dy;
        bool there;
        if (!distance)
            there = key == CURSOR_LEFT ? at < from : key == CURSOR_RIGHT && at > from;
        else if (key == CURSOR_UP || key == CURSOR_DOWN)
            there = (dy < 0) == (key == CURSOR_UP) && labs(dx) <= labs(dy);
        else
            there = (dx < 0) == (key == CURSOR_LEFT) && labs(dy) < labs(dx);
        if (!there) continue;
        /* Of points in one place, the one with the number next to ours. */
        if (best < 0 || distance < nearest || (!distance && key == CURSOR_LEFT)) {
            best = at;
            nearest = distance;
        }
    }
    return best;
}

/*
 * A point that is held stays on the board: the engine would let it go off for ever, to cancel the move when it is
 * dropped there. And what is dropped where it was picked up is no move.
 */
static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    const int held = ui->dragpoint;
    if (held < 0 && action->key != CURSOR_SELECT) {
        const int to = pz_neighbour(state, ui->cursorpoint, action->key);
        if (to < 0) return MOVE_NO_EFFECT;
        ui->cursorpoint = to;
        return MOVE_UI_UPDATE;
    }
    const point before = ui->newpoint, *home = &state->pts[max(held, 0)];
    if (held >= 0 && action->key == CURSOR_SELECT && pz_x(&before) == pz_x(home) && pz_y(&before) == pz_y(home)) {
        ui->cursorpoint = held;
        ui->dragpoint = -1;
        return MOVE_UI_UPDATE;
    }
    char *move = interpret_move(state, ui, ds, 0, 0, action->key);
    const long x = pz_x(&ui->newpoint), y = pz_y(&ui->newpoint), extent = pz_extent(&state->params);
    if (x >= 0 && x < extent && y >= 0 && y < extent) return move;
    ui->newpoint = before;
    return MOVE_NO_EFFECT;
}

/* Each point, where it is, and the points that it is joined with; a line that crosses another has an x. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int n = params->n;
    signed char *edges = pz_matrix(state, false), *crossed = pz_matrix(state, true);
    pz_text text = {NULL, 0, 0};
    for (int a = 0; a < n; a++) {
        pz_print(&text, "%d at %ld,%ld:", a, pz_x(&state->pts[a]), pz_y(&state->pts[a]));
        for (int b = 0; b < n; b++)
            if (edges[a * n + b]) pz_print(&text, " %d%s", b, crossed[a * n + b] ? "x" : "");
        pz_print(&text, "\n");
    }
    sfree(edges);
    sfree(crossed);
    return text.chars;
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    const int n = state->params.n;
    return ui->dragpoint >= -1 && ui->dragpoint < n && ui->cursorpoint >= -1 && ui->cursorpoint < n &&
           (ui->dragpoint < 0 || pz_is_point(&ui->newpoint));
}

PZ_PUZZLE(untangle,
    .title = "Untangle",
    .rules = "Points are joined by straight lines, some of which cross. Move the points until no two lines cross or "
             "touch, but for lines that end in the same point. While no point is held, an arrow chooses the nearest "
             "point in that direction, and SELECT picks up the chosen one; then an arrow moves it by half a unit, as "
             "far as the board goes, and SELECT drops it.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(just_dragged), PZ_BOOL(just_moved), PZ_BOOL(snap_to_grid),
                         PZ_BOOL(show_crossed_edges), PZ_BOOL(vertex_numbers)),
    .words = "place P cursor_point\n"
             "carry SELECT\n"
             "idle holding",
    .actions = pz_actions,
    .easiest = "4",
    .human = "6",
    .params_pattern = "\\d{1,4}",
    .params_help = "N: number of points, at least 4",
    .cells = pz_cells,
    .optimal_steps = pz_optimal_steps,
    .goal = "crossed",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .overdraws = true, /* all of it whenever anything changed */
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .press = pz_press,
    .text = pz_text_board);
