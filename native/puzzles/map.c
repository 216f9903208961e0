#include "puzzle.h"
#define thegame pz_game_map
#include <map.c>

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return 2.0 * params->n * (1 + params->w + params->h);
}

/* The quarter of its square that the cursor points at, in the engine's order, which is that of the arrows. */
static int pz_quarter(const game_ui *ui)
{
    switch (ui->cur_lastmove) {
    case CURSOR_UP: return TE;
    case CURSOR_LEFT: return LE;
    case CURSOR_RIGHT: return RE;
    default: return BE; /* also before the first arrow */
    }
}

/* No action reaches the pencil marks, so they are no field; errors follow from colours and neighbours. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h, n = params->n;
    PZ_CUBE(layout, "regions", h, w, 4, 0, n - 1, "region of the top, bottom, left, right quarter of each square");
    PZ_GRID(layout, "neighbours", n, n, 0, 1, "1 where two regions share a border and must differ");
    PZ_VECTOR(layout, "fixed", n, 0, 1, "1 where the region's colour is given");
    PZ_VECTOR(layout, "colours", n, 0, FOUR, "colour of each region, 0 for none");
    PZ_CURSOR(layout, w, h);
    PZ_UI_SCALAR(layout, "cursor_quarter", 0, 3,
                 "quarter of the square that the cursor points at: 0 top, 1 bottom, "
                 "2 left, 3 right");
    PZ_UI_SCALAR(layout, "dragging", 0, 1, "1 while a colour, or the lack of one, is held");
    PZ_UI_SCALAR(layout, "held_colour", 0, FOUR, "colour that is held, 0 for none");
    PZ_UI_SCALAR(layout, "drag_moved", 0, 1,
                 "1 once an arrow was pressed while dragging; until then SELECT clears the "
                 "region");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const struct map *map = state->map;
    const int n = map->n, squares = state->p.w * state->p.h;
    int edge = 0; /* the graph lists its edges in the order of the matrix */
    PZ_PUT(out, squares * 4, map->map[(i & 3) * squares + (i >> 2)]);
    PZ_PUT(out, n * n, edge < map->ngraph && map->graph[edge] == i && ++edge);
    PZ_PUT(out, n, map->immutable[i]);
    PZ_PUT(out, n, state->colouring[i] + 1);
}

/* The engine tells "nothing held" from "no colour held", and forgets about moves when nothing is. */
static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    const bool dragging = ui->drag_colour > -2;
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
    PZ_PUT1(out, pz_quarter(ui));
    PZ_PUT1(out, dragging);
    PZ_PUT1(out, dragging ? ui->drag_colour + 1 : 0);
    PZ_PUT1(out, dragging && ui->cur_moved);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->colouring, state->p.n);
    PZ_SOUND_ALL(v, state->p.n, state->colouring[i] >= -1 && state->colouring[i] < FOUR);
    PZ_VISIT(v, state->pencil, state->p.n);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->cheated);
}

/* The map by the numbers of its regions, two around the diagonal of a square that is split; then their colours. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int w = params->w, squares = w * params->h, *map = state->map->map;
    const int digits = snprintf(NULL, 0, "%d", params->n - 1);
    pz_text text = {NULL, 0, 0};
    for (int at = 0; at < squares; at++) {
        const int top = map[TE * squares + at], left = map[LE * squares + at], right = map[RE * squares + at];
        const size_t next = text.length + 2 * digits + 2;
        pz_print(&text, "%*d", digits, left);
        if (left != right) pz_print(&text, "%c%d", left == top ? '/' : '\\', right);
        if (at % w < w - 1)
            pz_print(&text, "%*s", (int)(next - text.length), "");
        else
            pz_print(&text, "\n");
    }
    for (int region = 0; region < params->n; region++) {
        const int colour = state->colouring[region];
        pz_print(&text, "%s%d=%c%s",
                 region % 10 ? " "
                 : region    ? "\n"
                             : "",
                 region, colour < 0 ? '.' : '1' + colour, state->map->immutable[region] ? "*" : "");
    }
    pz_print(&text, "\n");
    return text.chars;
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return ui->drag_colour >= -2 && ui->drag_colour < FOUR && ui->dragx >= -1 && ui->dragx < PZ_MANY &&
           ui->dragy >= -1 && ui->dragy < PZ_MANY;
}

/* The engine does not show that the cursor moved with the colour in hand; what SELECT does depends on it. */
static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    const int x = COORD(ui->cur_x) + TILESIZE / 2 + EPSILON_X(ui->cur_lastmove);
    const int y = COORD(ui->cur_y) + TILESIZE / 2 + EPSILON_Y(ui->cur_lastmove);
    if (ui->drag_colour > -2 && ui->cur_moved) draw_circle(dr, x, y, max(TILESIZE / 6, 1), COL_GRID, COL_GRID);
}

PZ_PUZZLE(map,
    .title = "Map",
    .rules = "Colour every region of the map with one of four colours so that no two regions with a common border have "
             "the same; to touch at a point is no border. Some colours are given and stay. Arrows move the cursor, and "
             "the last arrow also decides which region is meant in a square that a diagonal splits: the one on that "
             "side. SELECT picks up the colour of the region under the cursor, or its lack of one; a second SELECT "
             "puts it down in the region where the cursor is then. SELECT twice without an arrow between clears the "
             "region.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(show_numbers), PZ_BOOL(large_stipples), PZ_BOOL(cur_visible), PZ_BOOL(cur_moved)),
    .words = "place G regions\n"
             "grid colours=# fixed=.'\n"
             "paint colours SELECT\n"
             "idle dragging\n"
             "rule differ colours neighbours",
    .actions = pz_actions,
    .easiest = "3x3n5de",
    .human = "20x15n30de",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(n\\d{1,4})?(d[enhu])?",
    .params_help = "WxH: width and height, at least 2\n"
                   "nN: number of regions, 5 to width times height; without it an eighth of that\n"
                   "dX: difficulty, e easy, n normal, h hard, u unreasonable",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "colours",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .moves_change = true,
    .visit = pz_visit,
    .draw_over = pz_draw_over,
    .draws = "The large disc is the colour in hand; a dot in it says that the cursor has moved since SELECT, so that a "
             "second SELECT puts the colour down rather than clears the region.",
    .text = pz_text_board);
