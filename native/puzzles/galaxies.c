#include "puzzle.h"
#define thegame pz_game_galaxies
/*
 * The ui keeps the held arrow's place in pixels of the drawstate that interpret_move was given, and pictures come in
 * other sizes. So game_redraw is ours (below), and the engine's own gets another name. Its record names the function
 * without parentheses and thus finds ours.
 */
static void game_redraw(drawing *dr, game_drawstate *ds, const game_state *oldstate, const game_state *state, int dir,
                        const game_ui *ui, float animtime, float flashtime);
#define game_redraw(...) pz_engine_redraw(__VA_ARGS__)
#include <galaxies.c>
#undef game_redraw

/* With the keyboard the held arrow is always at the cursor. */
static void game_redraw(drawing *dr, game_drawstate *ds, const game_state *oldstate, const game_state *state, int dir,
                        const game_ui *ui, float animtime, float flashtime)
{
    game_ui scaled = *ui;
    scaled.dx = SCOORD(ui->cur_x);
    scaled.dy = SCOORD(ui->cur_y);
    pz_engine_redraw(dr, ds, oldstate, state, dir, &scaled, animtime, flashtime);
}

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    const double w = params->w, h = params->h;
    return (2 * w * h - w - h) * (2 * w + 2 * h + 1);
}

/* All 4219 ways to set dots on this board were tried: none is Unreasonable, and the engine would search for ever. */
static const char *pz_check_params(const game_params *params)
{
    if (params->w == 3 && params->h == 3 && params->diff == DIFF_UNREASONABLE)
        return "No puzzle of this size is Unreasonable: width or height must be at least 4";
    return NULL;
}

/*
 * Dots, arrows and cursor are given on the half grid without the rim: (0, 0) is the middle of the first square, odd
 * numbers lie on edges. All of them index the field "dots".
 */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h, right = 2 * w - 2, bottom = 2 * h - 2;
    PZ_GRID(layout, "dots", bottom + 1, right + 1, 0, 2,
            "1 for a white dot, 2 for a black one; half grid: even rows and columns are squares, odd ones edges");
    PZ_GRID(layout, "vertical_edges", h, w + 1, 0, 1,
            "1 where an edge is set left of the square; the first and last columns are the rim, always 1");
    PZ_GRID(layout, "horizontal_edges", h + 1, w, 0, 1,
            "1 where an edge is set above the square; the first and last rows are the rim, always 1");
    PZ_GRID(layout, "arrow_x", h, w, -1, right, "half-grid column of the dot the square's arrow points to, or -1");
    PZ_GRID(layout, "arrow_y", h, w, -1, bottom, "half-grid row of the dot the square's arrow points to, or -1");
    PZ_UI_SCALAR(layout, "cursor_x", 0, right, "half-grid column of the cursor");
    PZ_UI_SCALAR(layout, "cursor_y", 0, bottom, "half-grid row of the cursor");
    PZ_UI_SCALAR(layout, "dragging", 0, 1, "1 while an arrow is held");
    PZ_UI_SCALAR(layout, "drag_x", -1, right, "half-grid column where the held arrow was picked up, or -1");
    PZ_UI_SCALAR(layout, "drag_y", -1, bottom, "half-grid row where the held arrow was picked up, or -1");
    PZ_UI_SCALAR(layout, "drag_dot_x", -1, right, "half-grid column of the dot to which the held arrow points, or -1");
    PZ_UI_SCALAR(layout, "drag_dot_y", -1, bottom, "half-grid row of the dot to which the held arrow points, or -1");
}

/* The engine's grid counts the rim in, so a square's middle has odd coordinates there. */
static const space *pz_square(const game_state *state, int at)
{
    return &SPACE(state, 2 * (at % state->w) + 1, 2 * (at / state->w) + 1);
}

static int pz_dot(const game_state *state, int at)
{
    const int across = state->sx - 2;
    const unsigned flags = SPACE(state, at % across + 1, at / across + 1).flags;
    return !(flags & F_DOT) ? 0 : flags & F_DOT_BLACK ? 2 : 1;
}

static int pz_vertical(const game_state *state, int at)
{
    return (SPACE(state, 2 * (at % (state->w + 1)), 2 * (at / (state->w + 1)) + 1).flags & F_EDGE_SET) != 0;
}

static int pz_horizontal(const game_state *state, int at)
{
    return (SPACE(state, 2 * (at % state->w) + 1, 2 * (at / state->w)).flags & F_EDGE_SET) != 0;
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->w, h = state->h;
    PZ_PUT(out, (2 * w - 1) * (2 * h - 1), pz_dot(state, i));
    PZ_PUT(out, (w + 1) * h, pz_vertical(state, i));
    PZ_PUT(out, w * (h + 1), pz_horizontal(state, i));
    PZ_PUT(out, w * h, pz_square(state, i)->flags & F_TILE_ASSOC ? pz_square(state, i)->dotx - 1 : -1);
    PZ_PUT(out, w * h, pz_square(state, i)->flags & F_TILE_ASSOC ? pz_square(state, i)->doty - 1 : -1);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x - 1, ui->cur_y - 1);
    PZ_PUT1(out, ui->dragging);
    PZ_PUT1(out, ui->dragging ? ui->srcx - 1 : -1);
    PZ_PUT1(out, ui->dragging ? ui->srcy - 1 : -1);
    PZ_PUT1(out, ui->dragging ? ui->dotx - 1 : -1);
    PZ_PUT1(out, ui->dragging ? ui->doty - 1 : -1);
}

/* One block for all: a space's place and type lie between what moves change, and are not to be loaded. */
static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->sx * state->sy;
    int *changing = snewn(4 * n, int);
    for (int at = 0; at < n; at++) {
        const space *sp = &state->grid[at];
        changing[4 * at] = (int)sp->flags;
        changing[4 * at + 1] = sp->dotx;
        changing[4 * at + 2] = sp->doty;
        changing[4 * at + 3] = sp->nassoc;
    }
    PZ_VISIT(v, changing, 4 * n);
    for (int at = 0; at < n; at++) {
        space *sp = &state->grid[at];
        PZ_SOUND(v, !((sp->flags ^ (unsigned)changing[4 * at]) & F_DOT));
        sp->flags = (unsigned)changing[4 * at];
        sp->dotx = changing[4 * at + 1];
        sp->doty = changing[4 * at + 2];
        sp->nassoc = changing[4 * at + 3];
    }
    for (int at = 0; at < n; at++) {
        const space *sp = &state->grid[at];
        PZ_SOUND(v, sp->nassoc >= 0 && sp->nassoc <= n);
        PZ_SOUND(v, !(sp->flags & F_EDGE_SET) || sp->type == s_edge);
        PZ_SOUND(v, !(sp->flags & F_TILE_ASSOC) ||
                        (sp->type == s_tile && sp->dotx >= 0 && sp->dotx < state->sx && sp->doty >= 0 &&
                         sp->doty < state->sy && SPACE(state, sp->dotx, sp->doty).flags & F_DOT));
    }
    sfree(changing);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
}

/* The engine leaves the drag unset, and unset bytes would be saved. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    memset(ui, 0, sizeof *ui);
    ui->cur_x = ui->cur_y = 1;
    ui->cur_visible = true;
}

static char pz_dot_name(const game_state *state, int x, int y)
{
    int which = 0;
    while (which < state->ndots && (state->dots[which]->x != x || state->dots[which]->y != y)) which++;
    return (char)('A' + which % 26);
}

/* The engine's board does not say to which dot an arrow points: here dots are capitals, arrows small letters. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    pz_text text = {NULL, 0, 0};
    for (int y = 0; y < state->sy; y++) {
        for (int x = 0; x < state->sx; x++) {
            const space *sp = &SPACE(state, x, y);
            char c = ' ';
            if (sp->flags & F_DOT)
                c = pz_dot_name(state, x, y);
            else if (sp->type == s_vertex)
                c = '+';
            else if (sp->type == s_edge && sp->flags & F_EDGE_SET)
                c = IS_VERTICAL_EDGE(x) ? '|' : '-';
            else if (sp->type == s_tile && sp->flags & F_TILE_ASSOC)
                c = (char)(pz_dot_name(state, sp->dotx, sp->doty) - 'A' + 'a');
            pz_print(&text, "%c", c);
        }
        pz_print(&text, "\n");
    }
    for (int which = 0; which < state->ndots; which++)
        if (state->dots[which]->flags & F_DOT_BLACK) pz_print(&text, "%c is black\n", 'A' + which % 26);
    return text.chars;
}

static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    const int x = SCOORD(ui->cur_x) - TILE_SIZE / 2, y = SCOORD(ui->cur_y) - TILE_SIZE / 2;
    pz_draw_held(dr, x, y, TILE_SIZE, COL_EDGE, ui->dragging);
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return abs(ui->dx) < PZ_MANY && abs(ui->dy) < PZ_MANY;
}

PZ_PUZZLE(galaxies,
    .title = "Galaxies",
    .rules = "Set edges until the board falls into regions that each have exactly one dot and look the same after half "
             "a turn around it. Arrows move the cursor over squares, edges and corners. SELECT on an edge sets or "
             "clears it, unless a dot touches it. SELECT on a dot, or on a square with an arrow, picks up an arrow to "
             "that dot; a second SELECT drops it on the square under the cursor, and its mirror image on the square "
             "opposite. Dropped where it cannot lie, an arrow is removed. Arrows are notes: only edges count.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(dragging), PZ_BOOL(cur_visible)),
    .words = "grid dots=.oO\n"
             "edge SELECT\n"
             "idle dragging",
    .actions = pz_actions,
    .easiest = "3x3de",
    .human = "7x7dn",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(d[nue])?",
    .params_help = "WxH: width and height, at least 3\n"
                   "dX: difficulty, n normal, u unreasonable",
    .params_alias = "de=dn",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "vertical_edges horizontal_edges",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .draw_over = pz_draw_over,
    .draws = "A frame around the cursor says that it carries an arrow.",
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .text = pz_text_board);
