#include "puzzle.h"
#define thegame pz_game_pearl
/*
 * The engine's list of dragged squares has room for each square once, but a drag over the whole board may close on its
 * first square: one int too many. So new_ui is ours (below), and the engine's own gets another name. Its record names
 * the function without parentheses and thus finds ours.
 */
static game_ui *new_ui(const game_state *state);
#define new_ui(state) pz_engine_new_ui(state)
#include <pearl.c>
#undef new_ui

static int pz_drag_room(const game_state *state)
{
    return state->shared->sz + 1;
}

/* All of it is set, so that what is saved depends on the play alone. */
static game_ui *new_ui(const game_state *state)
{
    game_ui *ui = pz_engine_new_ui(state);
    ui->clickx = ui->clicky = 0;
    if (state) {
        const int room = pz_drag_room(state);
        ui->dragcoords = sresize(ui->dragcoords, room, int);
        memset(ui->dragcoords, 0, (size_t)room * sizeof *ui->dragcoords);
    }
    return ui;
}

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT_ALWAYS, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 2);
}

/*
 * No action reaches the marks for "no line here", so they are no field. The drag must be seen whole: which of its edges
 * it sets and which it clears depends on their order, and stepping onto an earlier square cuts it short there.
 */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "clues", h, w, 0, 2, "1 for a black pearl (turn), 2 for a white one (go straight), 0 for none");
    PZ_GRID(layout, "horizontal_lines", h, w - 1, 0, 1, "1 where a line joins the square and the one to its right");
    PZ_GRID(layout, "vertical_lines", h - 1, w, 0, 1, "1 where a line joins the square and the one below it");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where the engine shows the square's lines as wrong");
    PZ_GRID(layout, "clue_errors", h, w, 0, 1, "1 where the engine shows the pearl as contradicted");
    PZ_CURSOR(layout, w, h);
    PZ_UI_SCALAR(layout, "drag_length", 0, w * h + 1,
                 "squares on the path being drawn, 0 when none is; it ends at the cursor");
    PZ_UI_GRID(layout, "drag_order", h, w, 0, w * h + 1,
               "place of the square on that path, from 1; 0 off it; its start stays 1 when it comes back there");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->shared->w, h = state->shared->h;
    PZ_PUT(out, w * h, state->shared->clues[i]);
    PZ_PUT(out, (w - 1) * h, (state->lines[i / (w - 1) * w + i % (w - 1)] & R) != 0);
    PZ_PUT(out, w * (h - 1), (state->lines[i] & D) != 0);
    PZ_PUT(out, w * h, (state->errors[i] & (R | U | L | D)) != 0);
    PZ_PUT(out, w * h, (state->errors[i] & ERROR_CLUE) != 0);
}

/* A drag that has not moved yet is 0 squares long for the engine, one that was taken back is 1: both act alike. */
static int pz_drag_length(const game_ui *ui)
{
    return ui->ndragcoords < 0 ? 0 : max(ui->ndragcoords, 1);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    const int n = state->shared->sz, length = pz_drag_length(ui);
    PZ_PUT_CURSOR(out, ui->curx, ui->cury);
    PZ_PUT1(out, length);
    if (!length) {
        PZ_PUT(out, n, 0);
        return;
    }
    int *order = snewn(n, int);
    memset(order, 0, (size_t)n * sizeof *order);
    for (int step = length - 1; step >= 0; step--) order[ui->dragcoords[step]] = step + 1;
    PZ_PUT(out, n, order[i]);
    sfree(order);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->shared->sz;
    PZ_VISIT(v, state->lines, n);
    const int w = state->shared->w;
    PZ_SOUND_ALL(v, n,
                 !(state->lines[i] & ~(R | U | L | D)) && !(i % w == 0 && state->lines[i] & L) &&
                     !((i + 1) % w == 0 && state->lines[i] & R) && !(i < w && state->lines[i] & U) &&
                     !(i >= n - w && state->lines[i] & D));
    PZ_VISIT(v, state->errors, n);
    PZ_VISIT(v, state->marks, n);
    PZ_SOUND_ALL(v, n, !state->marks[i]); /* no action sets one, and a drag would stop there behind the cursor */
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
}

/* The list stays within its room because it ends at the cursor and holds no square twice, its first one excepted. */
static bool pz_is_sound_drag(const game_ui *ui, const game_state *state)
{
    const int w = state->shared->w, n = state->shared->sz;
    if (ui->ndragcoords < -1 || ui->ndragcoords > pz_drag_room(state)) return false;
    if (!INGRID(state, ui->curx, ui->cury)) return false;
    const int length = pz_drag_length(ui);
    if (!length) return true;
    bool *seen = snewn(n, bool), sound = ui->dragcoords[length - 1] == ui->cury * w + ui->curx;
    memset(seen, 0, (size_t)n * sizeof *seen);
    int returns = 0;
    for (int step = 0; sound && step < length; step++) {
        const int at = ui->dragcoords[step];
        sound = at >= 0 && at < n && (!seen[at] || (at == ui->dragcoords[0] && !returns++));
        if (sound) seen[at] = true;
    }
    sfree(seen);
    return sound;
}

static void pz_visit_ui(game_ui *ui, const game_state *state, pz_visitor *v)
{
    const int room = pz_drag_room(state);
    /* What lies behind the end of the list is of former drags, and means nothing. */
    for (int step = pz_drag_length(ui); step < room; step++) ui->dragcoords[step] = 0;
    PZ_VISIT(v, ui->dragcoords, room);
    PZ_VISIT1(v, ui->ndragcoords);
    PZ_VISIT1(v, ui->clickx);
    PZ_VISIT1(v, ui->clicky);
    PZ_VISIT1(v, ui->curx);
    PZ_VISIT1(v, ui->cury);
    if (!pz_is_sound_drag(ui, state)) pz_fail(PZ_CORRUPT, "the saved session holds an impossible drag");
}

static void pz_copy_ui(game_ui *to, const game_ui *from, const game_state *state)
{
    int *coords = to->dragcoords;
    *to = *from;
    to->dragcoords = coords;
    memcpy(coords, from->dragcoords, (size_t)pz_drag_length(from) * sizeof *coords);
}

/* Without aux the engine calls an empty board the solution where it cannot find one. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    char *move = solve_game(initial, initial, aux, error);
    if (!move) return NULL;
    game_state *solved = execute_move(initial, move);
    sfree(move);
    if (!solved || solved->completed) return solved;
    free_game(solved);
    *error = "The solver finds no unique solution";
    return NULL;
}

static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    pz_draw_held(dr, COORD(ui->curx), COORD(ui->cury), TILE_SIZE, COL_BLACK, ui->ndragcoords >= 0);
}

PZ_PUZZLE(pearl,
    .title = "Pearl",
    .rules = "Draw one closed loop through the middles of squares that visits every pearl. On a black pearl the loop "
             "turns, and runs straight through the squares just before and after it; on a white pearl it runs "
             "straight, and turns in the square before or after it, or in both. SELECT begins a path at the cursor; "
             "arrows then lengthen it, or shorten it by stepping back onto it; a second SELECT applies it: lines "
             "already there are erased until the path meets a gap, from there on it draws. Without a path, arrows "
             "only move the cursor.",
    .ui_size = sizeof(game_ui),
    .words = "grid clues=.BW errors=.! clue_errors=.?\n"
             "path SELECT\n"
             "idle drag_length",
    .actions = pz_actions,
    .easiest = "5x5de",
    .human = "6x6de",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(d[et])?n?",
    .params_help = "WxH: width and height, at least 5\n"
                   "dX: difficulty, e easy, t tricky\n"
                   "n: the puzzle may have more than one solution",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "horizontal_lines vertical_lines",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .draw_over = pz_draw_over,
    .draws = "A frame inside the cursor's square says that a path was begun.",
    .visit = pz_visit,
    .visit_ui = pz_visit_ui,
    .copy_ui = pz_copy_ui,
    .solved = pz_solved);
