#include "puzzle.h"
#define thegame pz_game_cube
#include <cube.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->d1 * params->d2 * solids[params->solid]->nfaces;
}

static double pz_cells(const game_params *params)
{
    const double a = params->d1, b = params->d2;
    return params->solid == CUBE ? a * b : a * a + b * b + 4 * a * b;
}

/*
 * The board as an array. Neighbouring triangles are half a side apart, so a row of them has a column for each, and the
 * hexagon that they fill lies in the middle of the array.
 */
static int pz_rows(const game_params *params)
{
    return params->solid == CUBE ? params->d2 : params->d1 + params->d2;
}

static int pz_columns(const game_params *params)
{
    return params->solid == CUBE ? params->d1 : 2 * (params->d1 + params->d2) - 1;
}

static int pz_row(const game_params *params, const struct grid_square *square)
{
    if (params->solid == CUBE) return (int)square->y;
    const int line = (int)(square->points[1] * 2 / sqrt(3.0) + 0.25);
    return square->flip ? line : line - 1; /* the first point of an upright triangle is on its lower side */
}

static int pz_column(const game_params *params, const struct grid_square *square)
{
    if (params->solid == CUBE) return (int)square->x;
    return (int)(2 * square->x + params->d1 + params->d2 - 1 + 0.25);
}

/* No count of moves, which is the session's; and nothing of the last roll, which only its animation needs. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int rows = pz_rows(params), columns = pz_columns(params);
    const struct solid *solid = solids[params->solid];
    char faces[120] = "1 for each blue face of the cube: left, top, right, bottom, back, front";
    if (params->solid != CUBE)
        sprintf(faces, "1 for each blue face, named by where it is now: face %d lies on the board", lowest_face(solid));
    PZ_GRID(layout, "blue", rows, columns, params->solid == CUBE ? 0 : -1, 1,
            params->solid == CUBE ? "1 where the square is blue"
                                  : "1 where the triangle is blue, -1 outside the board");
    PZ_VECTOR(layout, "position", 2, 0, max(rows, columns) - 1, "row and column of the solid");
    PZ_VECTOR(layout, "faces", solid->nfaces, 0, 1, faces);
}

/* The board as the field "blue" shows it, smalloc'ed. */
static signed char *pz_board(const game_state *state)
{
    const game_params *params = &state->params;
    const int columns = pz_columns(params), n = pz_rows(params) * columns;
    signed char *board = snewn(n, signed char);
    memset(board, -1, (size_t)n);
    for (int at = 0; at < state->grid->nsquares; at++) {
        const struct grid_square *square = &state->grid->squares[at];
        board[pz_row(params, square) * columns + pz_column(params, square)] = GET_SQUARE(state, at);
    }
    return board;
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const game_params *params = &state->params;
    const struct grid_square *square = &state->grid->squares[state->current];
    signed char *board = pz_board(state);
    PZ_PUT(out, pz_rows(params) * pz_columns(params), board[i]);
    PZ_PUT(out, 2, i ? pz_column(params, square) : pz_row(params, square));
    PZ_PUT(out, state->solid->nfaces, state->facecolours[i]);
    sfree(board);
}

/* What the animation of the last roll needs stays out: new_game leaves half of it unset. */
/* The engine turns the solid about the edge between two vertices, which lies flat and has the length one. */
static bool pz_is_flat_edge(const struct solid *solid, const int *ends)
{
    const float *from = solid->vertices + 3 * ends[0], *to = solid->vertices + 3 * ends[1];
    return APPROXEQ(SQ(to[0] - from[0]) + SQ(to[1] - from[1]), 1.0F);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->facecolours, state->solid->nfaces);
    PZ_VISIT(v, state->bluemask, (state->grid->nsquares + 31) / 32);
    PZ_VISIT1(v, state->current);
    if (state->current < 0 || state->current >= state->grid->nsquares)
        pz_fail(PZ_CORRUPT, "the saved session has the solid outside the board");
    PZ_VISIT1(v, state->dpkey);
    PZ_VISIT1(v, state->dgkey);
    PZ_SOUND_ALL(v, 2, state->dpkey[i] >= 0 && state->dpkey[i] < state->solid->nvertices);
    PZ_SOUND(v, pz_is_flat_edge(state->solid, state->dpkey));
    PZ_SOUND_ALL(v, 2, state->dgkey[i] >= 0 && state->dgkey[i] < state->grid->squares[state->current].npoints);
    PZ_VISIT1(v, state->completed);
    PZ_SOUND(v, state->completed >= 0 && state->completed <= PZ_MANY);
    PZ_VISIT1(v, state->movecount);
    PZ_SOUND(v, state->movecount >= 0 && state->movecount <= PZ_MANY);
}

/* Squares are . or # when blue; triangles ^ and v, or A and V. The solid stands in brackets; below, its faces. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    static const char *const sides[] = {"left", "top", "right", "bottom", "back", "front"};
    const int rows = pz_rows(params), columns = pz_columns(params);
    const struct grid_square *here = &state->grid->squares[state->current];
    const int solid = pz_row(params, here) * columns + pz_column(params, here);
    signed char *board = pz_board(state);
    pz_text text = {NULL, 0, 0};
    for (int at = 0; at < rows * columns; at++) {
        const bool upright = (at / columns + at % columns + params->d2) % 2;
        const char *looks = params->solid == CUBE ? ".#" : upright ? "^A" : "vV";
        pz_print(&text, at == solid ? "[%c]" : " %c ", board[at] < 0 ? ' ' : looks[board[at]]);
        if (at % columns == columns - 1) pz_print(&text, "\n");
    }
    for (int face = 0; face < state->solid->nfaces; face++) {
        const char *colour = state->facecolours[face] ? "blue" : "plain";
        if (params->solid == CUBE)
            pz_print(&text, "%s %s%s", sides[face], colour, face < 5 ? ", " : "\n");
        else
            pz_print(&text, "face %d%s: %s\n", face, face == lowest_face(state->solid) ? " (bottom)" : "", colour);
    }
    sfree(board);
    return text.chars;
}

/* Faces that are still plain, and how far the nearest blue place is. */
static int pz_distance(const game_state *state)
{
    const struct grid_square *here = &state->grid->squares[state->current];
    int plain = 0;
    double nearest = 0;
    for (int face = 0; face < state->solid->nfaces; face++) plain += !state->facecolours[face];
    for (int at = 0; at < state->grid->nsquares; at++) {
        const struct grid_square *square = &state->grid->squares[at];
        const double far = fabs(square->x - here->x) + fabs(square->y - here->y);
        if (GET_SQUARE(state, at) && (!nearest || far < nearest)) nearest = far;
    }
    return 4 * plain + (int)nearest;
}

PZ_PUZZLE(cube,
    .title = "Cube",
    .rules = "A solid stands on a board of which some squares, or triangles, are blue: as many as the solid has faces. "
             "Roll it over its edges; whenever it lands, the face at the bottom and the square below it change "
             "colours. Get all the blue onto the solid. An arrow rolls the solid one place in that direction; on "
             "triangles UP works only from one that stands on its head, DOWN only from an upright one.",
    .ui_size = 0, /* the engine keeps no ui for this game */
    .words = "grid blue=.B\n"
             "score faces=1",
    .actions = pz_actions,
    .easiest = "c3x3",
    .human = "c4x4",
    .params_pattern = "[tcoi]?\\d{1,3}(x\\d{1,3})?",
    .params_help = "X: the solid, t tetrahedron, c cube, o octahedron, i icosahedron\n"
                   "AxB: width and height of the cube's board; other solids have a hexagon whose top side and two "
                   "lower sides are A long, the other three B",
    .cells = pz_cells,
    .optimal_steps = pz_optimal_steps,
    .distance = pz_distance,
    .fields = pz_fields,
    .observe = pz_observe,
    .moves_change = true,
    .visit = pz_visit,
    .text = pz_text_board);
