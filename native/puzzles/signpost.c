#include "puzzle.h"
#define thegame pz_game_signpost
/*
 * The ui keeps the held arrow's place in pixels of the drawstate that interpret_move was given, and pictures come in
 * other sizes. So game_redraw is ours (below), and the engine's own gets another name. Its record names the function
 * without parentheses and thus finds ours.
 */
static void game_redraw(drawing *dr, game_drawstate *ds, const game_state *oldstate, const game_state *state, int dir,
                        const game_ui *ui, float animtime, float flashtime);
#define game_redraw(...) pz_engine_redraw(__VA_ARGS__)
#include <signpost.c>
#undef game_redraw

/* With the keyboard the held arrow is always at the cursor. */
static void game_redraw(drawing *dr, game_drawstate *ds, const game_state *oldstate, const game_state *state, int dir,
                        const game_ui *ui, float animtime, float flashtime)
{
    game_ui scaled = *ui;
    scaled.dx = COORD(ui->cx) + TILE_SIZE / 2;
    scaled.dy = COORD(ui->cy) + TILE_SIZE / 2;
    pz_engine_redraw(dr, ds, oldstate, state, dir, &scaled, animtime, flashtime);
}

PZ_SETTLE_PREFERENCES

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT_ALWAYS, PZ_SELECT2_ALWAYS, PZ_END};

enum { PZ_STAR = DIR_MAX }; /* what the last square shows in place of an arrow */

static double pz_optimal_steps(const game_params *params)
{
    return 2.0 * params->w * params->h * (params->w + params->h + 1);
}

static int pz_direction(const game_state *state, int at)
{
    const bool last = state->nums[at] == state->n && (state->flags[at] & FLAG_IMMUTABLE);
    return last ? PZ_STAR : state->dirs[at];
}

/* As the engine draws it; once a chain contradicts itself, all squares stay wrong for good. */
static bool pz_is_wrong(const game_state *state, int at)
{
    return state->impossible || state->nums[at] < 0 || (state->flags[at] & FLAG_ERROR);
}

/*
 * Numbers above n are the engine's letters for chains that hang on no number yet. Which letter a chain has follows from
 * no rule of use, and changes nothing; that it has one does, so it is a field.
 *
 * A chain may run below 1, but a given 1 is never linked to: the lowest is a given 2 at the end of all other squares.
 */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h, n = w * h;
    PZ_GRID(layout, "directions", h, w, 0, PZ_STAR,
            "where the square points: 0 up, then clockwise by eighths to 7; 8 "
            "for the last square");
    PZ_GRID(layout, "numbers", h, w, min(0, 3 - n), n, "number given or reached by counting along links, 0 for none");
    PZ_GRID(layout, "fixed", h, w, 0, 1, "1 where the number is given");
    PZ_GRID(layout, "lettered", h, w, 0, 1, "1 where the square is in a chain whose numbers are not known yet");
    PZ_GRID(layout, "next", h, w, -1, n - 1, "square that this one is linked to, counted row by row; -1 for none");
    PZ_GRID(layout, "previous", h, w, -1, n - 1, "square that is linked to this one, counted row by row; -1 for none");
    PZ_GRID(layout, "errors", h, w, 0, 1, "1 where the engine shows that something is wrong");
    PZ_CURSOR(layout, w, h);
    PZ_UI_SCALAR(layout, "dragging", 0, 2, "1 while a link is drawn from the held square, 2 while to it, 0 if not");
    PZ_UI_SCALAR(layout, "held_x", -1, w - 1, "column of the held square, -1 for none");
    PZ_UI_SCALAR(layout, "held_y", -1, h - 1, "row of the held square, -1 for none");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->n;
    PZ_PUT(out, n, pz_direction(state, i));
    PZ_PUT(out, n, state->nums[i] <= n ? state->nums[i] : 0);
    PZ_PUT(out, n, (state->flags[i] & FLAG_IMMUTABLE) != 0);
    PZ_PUT(out, n, state->nums[i] > n);
    PZ_PUT(out, n, state->next[i]);
    PZ_PUT(out, n, state->prev[i]);
    PZ_PUT(out, n, pz_is_wrong(state, i));
}

/* The engine leaves the held square's place behind when it lets go: it means nothing then. */
static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cx, ui->cy);
    PZ_PUT1(out, !ui->dragging ? 0 : ui->drag_is_from ? 1 : 2);
    PZ_PUT1(out, ui->dragging ? ui->sx : -1);
    PZ_PUT1(out, ui->dragging ? ui->sy : -1);
}

/* True at the start of a game whose numbers are all given: the engine finds it solved only after a move. */
static bool pz_is_path(const game_state *state)
{
    int ends = 0;
    for (int at = 0; at < state->n; at++) {
        const int next = state->next[at];
        if (state->nums[at] + 1 != (next < 0 ? state->n + 1 : state->nums[next])) return false;
        ends += next < 0;
    }
    return ends == 1;
}

/*
 * Who is in one chain with whom, which the engine keeps to forbid loops. After a move it counts this before it adds the
 * links that the numbers imply, so that one and the same board forbids a loop or not, depending on how it came about.
 * We count again from the links, which are all that can be seen. Links may be drawn anew where nothing else is left.
 */
static void pz_join_chains(game_state *state)
{
    dsf_reinit(state->dsf);
    if (!state->completed && pz_is_path(state)) return;
    for (int at = 0; at < state->n; at++)
        if (state->next[at] >= 0) dsf_merge(state->dsf, at, state->next[at]);
}

/* The chains are joined anew before each use. */
static void pz_visit(game_state *state, pz_visitor *v)
{
    const int n = state->n;
    PZ_VISIT(v, state->nums, n);
    PZ_VISIT_KEPT(v, state->flags, n, FLAG_IMMUTABLE);
    PZ_VISIT(v, state->next, n);
    PZ_VISIT(v, state->prev, n);
    PZ_VISIT(v, state->numsi, n + 1); /* the last item outlives its number */
    PZ_SOUND_ALL(v, n + 1, state->numsi[i] >= -1 && state->numsi[i] < n);
    PZ_SOUND_ALL(v, n, state->nums[i] >= 0 && state->nums[i] < n * (n + 1));
    PZ_SOUND_ALL(v, n, !(state->flags[i] & FLAG_IMMUTABLE) || (state->nums[i] > 0 && state->nums[i] <= n));
    PZ_SOUND_ALL(v, n, state->next[i] >= -1 && state->next[i] < n && state->prev[i] >= -1 && state->prev[i] < n);
    PZ_SOUND_ALL(v, n, state->next[i] < 0 || state->prev[state->next[i]] == i);
    PZ_SOUND_ALL(v, n, state->prev[i] < 0 || state->next[state->prev[i]] == i);
    PZ_VISIT1(v, state->completed);
    PZ_VISIT1(v, state->used_solve);
    PZ_VISIT1(v, state->impossible);
}

/* The engine leaves this one unset. */
static void pz_start_ui(const game_state *state, game_ui *ui, int *extra)
{
    ui->drag_is_from = false;
}

/* The engine hides the cursor when the game is won, and SELECT would then only bring it back, even after an undo. */
static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    ui->cshow = true;
    if (ui->dragging) pz_join_chains((game_state *)state); /* a cache, which mere questions rearrange, too */
    return interpret_move(state, ui, ds, 0, 0, action->key);
}

/* A chain's letter as the engine draws it: a to z, then aa and so on. */
static void pz_print_letter(pz_text *text, int set)
{
    if (set > 26) pz_print_letter(text, (set - 1) / 26);
    pz_print(text, "%c", 'a' + (set - 1) % 26);
}

/* The engine's own overruns its buffer on boards that are higher than wide, and cuts those that are wider. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    static const char *const arrows[] = {"N", "NE", "E", "SE", "S", "SW", "W", "NW", "*"};
    const int w = state->w, n = state->n;
    pz_text text = {NULL, 0, 0};
    for (int at = 0; at < n; at++) {
        const int number = state->nums[at];
        const size_t start = text.length;
        pz_print(&text, "%-2s ", arrows[pz_direction(state, at)]);
        if (number > n) {
            pz_print_letter(&text, number / (n + 1));
            if (number % (n + 1)) pz_print(&text, "+%d", number % (n + 1));
        } else if (number || state->next[at] >= 0 || state->prev[at] >= 0) {
            pz_print(&text, state->flags[at] & FLAG_IMMUTABLE ? "[%d]" : "%d", number);
        } else {
            pz_print(&text, ".");
        }
        if (pz_is_wrong(state, at)) pz_print(&text, "!");
        if (at % w < w - 1)
            pz_print(&text, "%*s ", (int)max(0, 9 - (int)(text.length - start)), "");
        else
            pz_print(&text, "\n");
    }
    return text.chars;
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return abs(ui->dx) < PZ_MANY && abs(ui->dy) < PZ_MANY;
}

PZ_PUZZLE(signpost,
    .title = "Signpost",
    .rules = "Every square points in one direction. Link each square to one that it points at, near or far, until one "
             "path visits all squares, from the square with the number 1 to the star, and passes the given numbers in "
             "their places. SELECT holds the square under the cursor as the start of a link, SELECT2 as its end. A "
             "second press of either on another square draws the link, which replaces links that stood in its way; "
             "where the link is not possible, or on the held square itself, it only lets go.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cshow), PZ_BOOL(dragging), PZ_BOOL(drag_is_from), PZ_BOOL(gear_mode)),
    .words = "grid directions=↑↗→↘↓↙←↖★ fixed=.' errors=.!\n"
             "drag SELECT\n"
             "idle dragging",
    .actions = pz_actions,
    .easiest = "2x3",
    .human = "4x4c",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?c?",
    .params_help = "WxH: width and height\n"
                   "c: the path starts and ends in opposite corners",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .goal = "next",
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .moves_change = true,
    .visit = pz_visit,
    .start_ui = pz_start_ui,
    .press = pz_press,
    .text = pz_text_board,
    .overdraws_below = 24);
