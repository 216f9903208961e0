#include "puzzle.h"
#include "grid.h"

/*
 * The engine frees an unset pointer when the description of a grid is empty, takes a length of -1 from one letter, and
 * squares the offsets of an old Penrose patch as ints.
 */
static const char *pz_validate_grid(grid_type type, int width, int height, const char *desc)
{
    int x, y, angle;
    if (desc && strlen(desc) < 2 && type != GRID_TRIANGULAR) return "Grid description is too short.";
    if (desc && *desc == 'G' &&
        (sscanf(desc, "G%6d,%6d,%d", &x, &y, &angle) != 3 || abs(x) > INT16_MAX || abs(y) > INT16_MAX))
        return "Patch offset out of bounds.";
    return grid_validate_desc(type, width, height, desc);
}
#define grid_validate_desc pz_validate_grid

/* A description without a solution leads the solver to a line that equals its own opposite: it need not die of that. */
static void pz_merge_lines(DSF *lines, int a, int b, bool opposite)
{
    if (a != b) dsf_merge_flip(lines, a, b, opposite);
}
#define dsf_merge_flip pz_merge_lines

#define thegame pz_game_loopy
#include <loopy.c>
#undef grid_validate_desc
#undef dsf_merge_flip

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT_ALWAYS, PZ_SELECT2_ALWAYS, PZ_END};

/* For each type of grid: faces in one unit of width and height, rounded up, and edges of its largest face. */
static const struct {
    int faces, order;
} pz_grids[] = {
    {1, 4},  {3, 3},  {1, 6}, {3, 4}, {2, 5},   {6, 6}, {2, 8},  {6, 4},  {6, 5},
    {3, 12}, {6, 12}, {1, 4}, {1, 4}, {12, 12}, {3, 6}, {6, 12}, {1, 14}, {1, 14},
};

static double pz_optimal_steps(const game_params *params)
{
    const double squares = (double)params->w * params->h;
    return (2 * squares + 1) * 3 * squares * squares;
}

static double pz_cells(const game_params *params)
{
    const bool known = params->type >= 0 && params->type < (int)lenof(pz_grids);
    return (double)params->w * params->h * (known ? pz_grids[params->type].faces : 1);
}

/*
 * In a small patch of a Penrose tiling the engine may find not one face, and give up; or so few that no board on them
 * is hard enough, and search for ever. (Tricky boards are always found: there the engine's test for it is lenient.)
 */
static const char *pz_check_params(const game_params *params)
{
    const int least = min(params->w, params->h);
    if (params->type != LOOPY_GRID_PENROSE_P2 && params->type != LOOPY_GRID_PENROSE_P3) return NULL;
    if ((params->diff == DIFF_NORMAL || params->diff == DIFF_HARD) && least < 6)
        return "Width and height for this grid type and difficulty must both be at least 6";
    if (least < 4) return "Width and height for this grid type must both be at least 4";
    if (params->type == LOOPY_GRID_PENROSE_P3 && least < 5)
        return "Width and height for this grid type must both be at least 5";
    return NULL;
}

/*
 * How many faces and edges a grid of these parameters may have; returns whether instances differ in that.
 *
 * Penrose tilings, hats and spectres show another patch of the plane each time. Their faces lie inside a rectangle that
 * the parameters give, so its area divided by a face's bounds the faces: to 0.75 for hats, 0.77 for spectres, and 0.91
 * in the mean for the two Penrose tilings. Faces share their 4 or 14 edges, but for those at the rim, and the rim costs
 * more edges with the faces that it cuts off than it adds. The most that was seen up to 25x25 is 0.8 of these edges for
 * Penrose, 0.95 for hats, 0.87 for spectres. A triangular grid from an old description is smaller than a new one.
 */
static bool pz_most(const game_params *params, int *faces, int *edges)
{
    const int area = params->w * params->h, rim = params->w + params->h;
    switch (params->type) {
    case LOOPY_GRID_PENROSE_P2:
    case LOOPY_GRID_PENROSE_P3:
        *faces = area;
        *edges = 2 * area + rim;
        return true;
    case LOOPY_GRID_HATS:
        *faces = 3 * area / 4;
        *edges = 7 * *faces + rim;
        return true;
    case LOOPY_GRID_SPECTRES:
        *faces = 4 * area / 5;
        *edges = 7 * *faces + rim;
        return true;
    }
    grid *g = loopy_generate_grid(params, params->type == LOOPY_GRID_TRIANGULAR ? "0" : NULL);
    *faces = g->num_faces;
    *edges = g->num_edges;
    grid_free(g);
    return params->type == LOOPY_GRID_TRIANGULAR;
}

static void pz_fields(const game_params *params, pz_layout *layout)
{
    int faces, edges, unit, width, height;
    const int order = pz_grids[params->type].order;
    const bool padded = pz_most(params, &faces, &edges);
    grid_compute_size(grid_types[params->type], params->w, params->h, &unit, &width, &height);
    PZ_VECTOR(layout, "lines", edges, padded ? -1 : 0, 2,
              padded ? "of each edge: 0 undecided, 1 part of the loop, 2 not part of it, -1 no such edge here"
                     : "of each edge: 0 undecided, 1 part of the loop, 2 not part of it");
    PZ_VECTOR(layout, "errors", edges, 0, 1, "1 where the engine shows that a line is wrong");
    PZ_VECTOR(layout, "clues", faces, padded ? -2 : -1, order,
              padded ? "lines wanted around each face, -1 for any number, -2 no such face here"
                     : "lines wanted around each face, -1 for any number");
    PZ_GRID(layout, "edge_faces", edges, 2, -1, faces - 1, "the two faces beside each edge, -1 for the outside");
    PZ_CUBE(layout, "edge_ends", edges, 2, 2, padded ? -1 : 0, max(width, height),
            padded ? "x and y of each edge's two ends, -1 no such edge here" : "x and y of each edge's two ends");
    PZ_UI_SCALAR(layout, "cursor_edge", 0, edges - 1, "the edge that the cursor is on");
}

static int pz_face(const grid_face *face)
{
    return face ? face->index : -1;
}

/* Item 0 to 3: x and y of one end, then of the other. */
static int pz_end(const grid *g, const grid_edge *edge, int item)
{
    const grid_dot *dot = item < 2 ? edge->dot1 : edge->dot2;
    return item % 2 ? dot->y - g->lowest_y : dot->x - g->lowest_x;
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    static const signed char lines[] = {[LINE_YES] = 1, [LINE_UNKNOWN] = 0, [LINE_NO] = 2};
    const grid *g = state->game_grid;
    const int n = g->num_edges, edges = out->next[0].count, faces = out->next[2].count;
    if (n > edges || g->num_faces > faces)
        pz_fail(PZ_BAD_ID, "this grid has more faces or edges than its parameters provide for");
    PZ_PUT(out, edges, i < n ? lines[(int)state->lines[i]] : -1);
    PZ_PUT(out, edges, i < n && state->line_errors[i]);
    PZ_PUT(out, faces, i < g->num_faces ? state->clues[i] : -2);
    PZ_PUT(out, 2 * edges, i / 2 < n ? pz_face(i % 2 ? g->edges[i / 2]->face2 : g->edges[i / 2]->face1) : -1);
    PZ_PUT(out, 4 * edges, i / 4 < n ? pz_end(g, g->edges[i / 4], i % 4) : -1);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    if (extra[0] < 0 || extra[0] >= state->game_grid->num_edges)
        pz_fail(PZ_CORRUPT, "the saved session has the cursor outside the grid");
    PZ_PUT1(out, extra[0]);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->game_grid->num_edges;
    PZ_VISIT(v, state->lines, n);
    PZ_SOUND_ALL(v, n, state->lines[i] >= LINE_YES && state->lines[i] <= LINE_NO);
    PZ_VISIT(v, state->line_errors, n);
    PZ_VISIT1(v, state->exactly_one_loop);
    PZ_VISIT1(v, state->solved);
    PZ_VISIT1(v, state->cheated);
}

/* ---- The cursor is ours, and its place extra[0]: the engine plays this game with a mouse alone. ---- */

/* Twice the middle of an edge: whole numbers. */
static int pz_middle_x(const grid_edge *edge)
{
    return edge->dot1->x + edge->dot2->x;
}

static int pz_middle_y(const grid_edge *edge)
{
    return edge->dot1->y + edge->dot2->y;
}

/* The cursor starts on the edge nearest to the upper left corner. The engine takes any description, so we look here. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    const grid *g = state->game_grid;
    int nearest = INT_MAX;
    if (!g->num_edges) pz_fail(PZ_BAD_ID, "this grid has no edges");
    for (int face = 0; face < g->num_faces; face++)
        if (state->clues[face] > g->faces[face]->order)
            pz_fail(PZ_BAD_ID, "a clue asks for more lines than its face has edges");
    for (int at = 0; at < g->num_edges; at++) {
        const int distance = pz_middle_x(g->edges[at]) + pz_middle_y(g->edges[at]);
        if (distance >= nearest) continue;
        nearest = distance;
        extra[0] = at;
    }
}

/*
 * The edge whose middle is nearest in the arrow's direction, or -1. Any direction belongs to the arrow within 45
 * degrees of it, and an exact diagonal to UP or DOWN: it must belong to some arrow, or no way would lead from the
 * horizontal edges of a square grid to the upright ones. Of two equally near ones a rather horizontal edge takes the
 * left or upper one, others the right or lower one, so that walking straight through squares does not drift. This rule
 * leads from every edge to every other on all types of grid; it did so, too, on millions of random sets of points.
 */
static int pz_neighbour(const grid *g, int from, int key)
{
    const grid_edge *here = g->edges[from];
    const int x = pz_middle_x(here), y = pz_middle_y(here);
    const bool upright = key == CURSOR_UP || key == CURSOR_DOWN, back = key == CURSOR_UP || key == CURSOR_LEFT;
    const bool first = abs(here->dot1->x - here->dot2->x) >= abs(here->dot1->y - here->dot2->y);
    int best = -1, nearest_aside = 0;
    long nearest = LONG_MAX;
    for (int at = 0; at < g->num_edges; at++) {
        const int dx = pz_middle_x(g->edges[at]) - x, dy = pz_middle_y(g->edges[at]) - y;
        const int ahead = back ? -(upright ? dy : dx) : upright ? dy : dx, aside = upright ? dx : dy;
        if (ahead <= 0 || abs(aside) > ahead || (abs(aside) == ahead && !upright)) continue;
        const long distance = (long)ahead * ahead + (long)aside * aside;
        if (distance > nearest || (distance == nearest && (aside < nearest_aside) != first)) continue;
        best = at;
        nearest = distance;
        nearest_aside = aside;
    }
    return best;
}

static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    if (action->key == CURSOR_SELECT || action->key == CURSOR_SELECT2) {
        char move[32];
        const char set = action->key == CURSOR_SELECT ? 'y' : 'n';
        sprintf(move, "%d%c", extra[0], state->lines[extra[0]] == LINE_UNKNOWN ? set : 'u');
        return dupstr(move);
    }
    const int to = pz_neighbour(state->game_grid, extra[0], action->key);
    if (to < 0) return MOVE_NO_EFFECT;
    extra[0] = to;
    return MOVE_UI_UPDATE;
}

/* A spot on the middle of the edge, so that the edge's own colour stays visible on both sides of it. */
static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    const grid *g = state->game_grid;
    const grid_edge *edge = g->edges[extra[0]];
    int x, y;
    grid_to_screen(ds, g, pz_middle_x(edge) / 2, pz_middle_y(edge) / 2, &x, &y);
    draw_circle(dr, x, y, max(ds->tilesize / 6, 2), COL_HIGHLIGHT, COL_FOREGROUND);
}

/* ---- Solving ---- */

/* Whether the solver's counts are those of its lines: they are not once it turned a line that it had already set. */
static bool pz_consistent(const solver_state *s)
{
    const grid *g = s->state->game_grid;
    for (int dot = 0; dot < g->num_dots; dot++)
        if (s->dot_yes_count[dot] != dot_order(s->state, dot, LINE_YES) ||
            s->dot_no_count[dot] != dot_order(s->state, dot, LINE_NO))
            return false;
    for (int face = 0; face < g->num_faces; face++)
        if (s->face_yes_count[face] != face_order(s->state, face, LINE_YES) ||
            s->face_no_count[face] != face_order(s->state, face, LINE_NO))
            return false;
    return true;
}

/*
 * The engine's solve() reads beyond an array when a description has no solution: linedsf_deductions looks for as many
 * undecided lines as the counts leave, and the counts go wrong when a contradiction makes the solver turn a line. It
 * turns lines only behind that search, or in other functions, so looking at the counts between two calls keeps out.
 */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    solver_state *s = new_solver_state(initial, DIFF_MAX);
    int next = 0;
    while (next < NUM_SOLVERS && s->solver_status == SOLVER_INCOMPLETE && pz_consistent(s))
        next = solver_fns[next](s) == DIFF_MAX ? next + 1 : 0;
    game_state *solved = NULL;
    if (s->solver_status == SOLVER_SOLVED || s->solver_status == SOLVER_AMBIGUOUS) {
        array_setall(s->state->lines, LINE_UNKNOWN, LINE_NO, initial->game_grid->num_edges);
        char *move = encode_solve_move(s->state);
        solved = execute_move(state, move);
        sfree(move);
    }
    free_solver_state(s);
    if (solved && solved->solved) return solved;
    free_game(solved);
    *error = "This description has no solution, or the engine's solver cannot find it";
    return NULL;
}

/* Squares as the engine draws them; other grids as a list. The cursor's edge is named by its ends. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    static const char *const lines[] = {[LINE_YES] = "line", [LINE_UNKNOWN] = "undecided", [LINE_NO] = "none"};
    const grid *g = state->game_grid;
    pz_text text = {NULL, 0, 0};
    if (game_can_format_as_text_now(params)) {
        char *board = game_text_format(state);
        pz_print(&text, "%s", board);
        sfree(board);
    } else {
        for (int face = 0; face < g->num_faces; face++)
            if (state->clues[face] >= 0) pz_print(&text, "face %d: %d\n", face, state->clues[face]);
        for (int at = 0; at < g->num_edges; at++) {
            const grid_edge *e = g->edges[at];
            pz_print(&text, "edge %d from %d,%d to %d,%d, faces %d and %d: %s%s\n", at, pz_end(g, e, 0),
                     pz_end(g, e, 1), pz_end(g, e, 2), pz_end(g, e, 3), pz_face(e->face1), pz_face(e->face2),
                     lines[(int)state->lines[at]], state->line_errors[at] ? " (wrong)" : "");
        }
    }
    const grid_edge *e = g->edges[extra[0]];
    pz_print(&text, "cursor on the edge from %d,%d to %d,%d\n", pz_end(g, e, 0), pz_end(g, e, 1), pz_end(g, e, 2),
             pz_end(g, e, 3));
    return text.chars;
}

PZ_PUZZLE(loopy,
    .title = "Loopy",
    .rules = "Draw one closed loop along the edges of a grid, without branches or crossings. A number in a face says "
             "how many of its edges belong to the loop. An arrow moves the cursor to the nearest edge in that "
             "direction. SELECT makes an undecided edge part of the loop, SELECT2 rules it out; on a decided edge both "
             "make it undecided again.",
    .ui_size = 0, /* the engine's ui holds preferences alone, which stay as they are */
    .words = "place E cursor_edge\n"
             "grid lines=.-x errors=.!\n"
             "set lines SELECT SELECT2",
    .actions = pz_actions,
    .easiest = "3x3t0de",
    .human = "3x3t0de",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(t(1[0-7]|\\d))?(d[enth])?",
    .params_help = "WxH: width and height\n"
                   "tN: type of grid, 0 squares, 1 triangular, 2 honeycomb, 3 snub-square, 4 Cairo, 5 great-hexagonal, "
                   "6 octagonal, 7 kites, 8 floret, 9 dodecagonal, 10 great-dodecagonal, 11 Penrose kites and darts, "
                   "12 Penrose rhombs, 13 great-great-dodecagonal, 14 kagome, 15 compass-dodecagonal, 16 hats, "
                   "17 spectres\n"
                   "dX: difficulty, e easy, n normal, t tricky, h hard",
    .check_params = pz_check_params,
    .cells = pz_cells,
    .optimal_steps = pz_optimal_steps,
    .goal = "lines",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .press = pz_press,
    .solved = pz_solved,
    .text = pz_text_board,
    .draw_over = pz_draw_over,
    .draws = "The cursor is a spot on the middle of its edge.");
