#include "puzzle.h"
#define thegame pz_game_tracks
#include <tracks.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (2.0 * (params->w + params->h) + 1);
}

/*
 * No action reaches the marks for "no track here", so they are no field. A square with track on its edges looks the
 * same marked or not, but a mark outlives that track: it must be seen.
 */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_VECTOR(layout, "column_clues", w, 0, h, "squares with track in each column");
    PZ_VECTOR(layout, "row_clues", h, 0, w, "squares with track in each row");
    PZ_SCALAR(layout, "entrance", 0, h - 1, "row where the track enters, on the left side");
    PZ_SCALAR(layout, "exit", 0, w - 1, "column where the track leaves, on the bottom side");
    PZ_GRID(layout, "fixed", h, w, 0, 1, "1 where the track is given and cannot be changed");
    PZ_GRID(layout, "marked", h, w, 0, 1, "1 where the whole square is marked as one with track");
    PZ_GRID(layout, "horizontal_tracks", h, w + 1, 0, 1,
            "1 where track crosses the left side of the square; the first and last columns are the rim");
    PZ_GRID(layout, "vertical_tracks", h + 1, w, 0, 1,
            "1 where track crosses the upper side of the square; the first and last rows are the rim");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where the engine shows the square's track as wrong");
    PZ_VECTOR(layout, "column_errors", w, 0, 1, "1 where the engine shows the column's number as missed");
    PZ_VECTOR(layout, "row_errors", h, 0, 1, "1 where the engine shows the row's number as missed");
    PZ_UI_SCALAR(layout, "cursor_x", 0, 2 * w - 2, "half-grid column of the cursor: even in squares, odd between them");
    PZ_UI_SCALAR(layout, "cursor_y", 0, 2 * h - 2, "half-grid row of the cursor: even in squares, odd between them");
}

static int pz_horizontal(const game_state *state, int at)
{
    const int w = state->p.w, x = at % (w + 1), y = at / (w + 1);
    return (x < w ? S_E_DIRS(state, x, y, E_TRACK) & L : S_E_DIRS(state, w - 1, y, E_TRACK) & R) != 0;
}

static int pz_vertical(const game_state *state, int at)
{
    const int w = state->p.w, h = state->p.h, x = at % w, y = at / w;
    return (y < h ? S_E_DIRS(state, x, y, E_TRACK) & U : S_E_DIRS(state, x, h - 1, E_TRACK) & D) != 0;
}

/* A description of the user's own may ask for more squares than there are, which no track can satisfy. */
static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->p.w, h = state->p.h, *numbers = state->numbers->numbers, *errors = state->num_errors;
    PZ_PUT(out, w, min(numbers[i], h));
    PZ_PUT(out, h, min(numbers[w + i], w));
    PZ_PUT1(out, state->numbers->row_s);
    PZ_PUT1(out, state->numbers->col_s);
    PZ_PUT(out, w * h, (state->sflags[i] & S_CLUE) != 0);
    PZ_PUT(out, w * h, (state->sflags[i] & S_TRACK) != 0);
    PZ_PUT(out, (w + 1) * h, pz_horizontal(state, i));
    PZ_PUT(out, w * (h + 1), pz_vertical(state, i));
    PZ_PUT(out, w * h, (state->sflags[i] & S_ERROR) != 0);
    PZ_PUT(out, w, errors[i]);
    PZ_PUT(out, h, errors[w + i]);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->curx - 1, ui->cury - 1);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->sflags, state->p.w * state->p.h);
    PZ_VISIT(v, state->num_errors, state->p.w + state->p.h);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
    PZ_VISIT1(v, state->impossible);
}

/* The engine leaves the place of a click unset, and unset bytes would be saved. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    memset(ui, 0, sizeof *ui);
    ui->drag_sx = ui->drag_sy = ui->drag_ex = ui->drag_ey = -1;
    ui->curx = ui->cury = 1;
    ui->cursor_active = true;
}

/*
 * On completion the engine walks along the track to prepare its flash. It divides by zero if the track is one square
 * long, and never arrives if no track enters at the entrance. No generated puzzle is so, but a description may be.
 */
static bool pz_is_sound(const game_state *state)
{
    double squares = 0;
    for (int x = 0; x < state->p.w; x++) squares += state->numbers->numbers[x];
    return squares >= 2 && (S_E_DIRS(state, 0, state->numbers->row_s, E_TRACK) & L);
}

static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    if (action->key == CURSOR_SELECT && !pz_is_sound(state)) return MOVE_NO_EFFECT;
    return interpret_move(state, ui, ds, 0, 0, action->key);
}

/* The engine's solution also marks where no track is, which no play does and no action could take back. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    *error = "The track must enter at the entrance and be longer than one square";
    char *move = pz_is_sound(state) ? solve_game(initial, initial, aux, error) : NULL;
    if (!move) return NULL;
    game_state *solved = execute_move(initial, move);
    sfree(move);
    const unsigned marks = S_NOTRACK | (unsigned)ALLDIR << S_NOTRACK_SHIFT;
    for (int at = 0; solved && at < state->p.w * state->p.h; at++) solved->sflags[at] &= ~marks;
    return solved;
}

/* The engine's board leaves out marked squares. Here: # given, o marked, + touched by track, . untouched. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int w = params->w, h = params->h;
    pz_text text = {NULL, 0, 0};
    pz_print(&text, "  ");
    for (int x = 0; x < w; x++) pz_print(&text, "%3d ", state->numbers->numbers[x]);
    pz_print(&text, "\n");
    for (int y = 0; y <= h; y++) {
        pz_print(&text, "  ");
        for (int x = 0; x < w; x++) pz_print(&text, "  %c ", pz_vertical(state, y * w + x) ? '|' : ' ');
        pz_print(&text, "\n");
        if (y == h) break;
        pz_print(&text, "%c", y == state->numbers->row_s ? 'A' : ' ');
        for (int x = 0; x <= w; x++) {
            pz_print(&text, "%s", pz_horizontal(state, y * (w + 1) + x) ? "---" : "   ");
            if (x == w) break;
            const unsigned flags = state->sflags[y * w + x];
            pz_print(&text, "%c",
                     flags & S_CLUE                   ? '#'
                     : flags & S_TRACK                ? 'o'
                     : S_E_DIRS(state, x, y, E_TRACK) ? '+'
                                                      : '.');
        }
        pz_print(&text, "%3d\n", state->numbers->numbers[w + y]);
    }
    pz_print(&text, "%*c\n", 4 * state->numbers->col_s + 5, 'B');
    return text.chars;
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return !ui->dragging;
}

/* The engine shows a mark only where no track is yet, but it outlives that track. */
static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    const int w = state->p.w, h = state->p.h, size = max(TILE_SIZE / 8, 1);
    for (int i = 0; i < w * h; i++)
        if ((state->sflags[i] & (S_TRACK | S_CLUE)) == S_TRACK)
            draw_rect(dr, COORD(i % w) + size, COORD(i / w) + size, size, size, COL_CURSOR);
}

PZ_PUZZLE(tracks,
    .title = "Tracks",
    .rules = "Lay one railway from the entrance on the left, A, to the exit at the bottom, B, without branches, "
             "crossings or loops. The numbers count the squares with track in each column and row; some pieces are "
             "given. Arrows move the cursor over squares and the edges between them. SELECT on an edge lays track "
             "across it, or takes it up; SELECT on a square marks it as one that will have track, or removes the mark. "
             "In the end every marked square must have its track.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(dragging), PZ_BOOL(clearing), PZ_BOOL(notrack), PZ_BOOL(cursor_active)),
    .words = "grid fixed=.' marked=.m errors=.!\n"
             "edge SELECT\n"
             "set marked SELECT",
    .actions = pz_actions,
    .easiest = "4x4de",
    .human = "8x8de",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(d[eth])?o?",
    .params_help = "WxH: width and height, at least 4\n"
                   "dX: difficulty, e easy, t tricky, h hard\n"
                   "o: ones may stand side by side among the clues",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "horizontal_tracks vertical_tracks",
    .marks = "marked",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .press = pz_press,
    .solved = pz_solved,
    .draw_over = pz_draw_over,
    .draws = "A small square in a corner of a square with track says that the square is marked.",
    .text = pz_text_board);
