#include "planning/experts.h"
#include "puzzle.h"
#define thegame pz_game_blackbox
#include <blackbox.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    const double w = params->w, h = params->h;
    return (w * h + w + h + 1) * (w + 2) * (h + 2);
}

/* The engine looks at the minimum only, and then searches for room for ever. */
static const char *pz_check_params(const game_params *params)
{
    if (params->maxballs >= params->w * params->h) return "Too many balls to fit in grid";
    return NULL;
}

enum { PZ_UNFIRED, PZ_HIT, PZ_REFLECTED, PZ_PASSED };

/* What has become of the shot from this edge square. */
static int pz_shot(const game_state *state, int laser)
{
    const unsigned int shot = state->exits[laser];
    if (shot == (unsigned int)LASER_EMPTY) return PZ_UNFIRED;
    return shot & LASER_HIT ? PZ_HIT : shot & LASER_REFLECT ? PZ_REFLECTED : PZ_PASSED;
}

static int pz_number(const game_state *state, int laser)
{
    int x, y, direction;
    if (pz_shot(state, laser) != PZ_PASSED) return 0;
    range2grid(state, laser, &x, &y, &direction);
    return (int)GRID(state, x, y);
}

static int pz_error(const game_state *state, int laser)
{
    if (pz_shot(state, laser) == PZ_UNFIRED) return 0;
    return state->exits[laser] & LASER_WRONG ? 1 : state->exits[laser] & LASER_OMITTED ? 2 : 0;
}

/*
 * The numbers mean nothing in the rules, but which error a check points out depends on them. No action locks a square,
 * and a check reveals nothing but that the marked balls are right: the true ones never need a field.
 */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h, lasers = 2 * (w + h);
    PZ_GRID(layout, "balls", h, w, 0, 1, "1 where a ball is marked");
    PZ_VECTOR(layout, "shots", lasers, 0, PZ_PASSED,
              "clockwise from the top left edge square: 0 not fired, 1 hit, 2 "
              "reflected, 3 came out elsewhere");
    PZ_VECTOR(layout, "numbers", lasers, 0, w + h, "the number that both ends of a shot that came out share, else 0");
    PZ_VECTOR(layout, "errors", lasers, 0, 2,
              "after a failed check: 1 a shot that the marked balls contradict, 2 one "
              "that the check has added");
    PZ_SCALAR(layout, "revealed", 0, 1, "1 after a check that found nothing wrong");
    PZ_UI_SCALAR(layout, "cursor_x", 0, w + 1, "column of the cursor, 0 and the last outside the box");
    PZ_UI_SCALAR(layout, "cursor_y", 0, h + 1, "row of the cursor, 0 and the last outside the box");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int w = state->w, h = state->h;
    PZ_PUT(out, w * h, (GRID(state, i % w + 1, i / w + 1) & BALL_GUESS) != 0);
    PZ_PUT(out, state->nlasers, pz_shot(state, i));
    PZ_PUT(out, state->nlasers, pz_number(state, i));
    PZ_PUT(out, state->nlasers, pz_error(state, i));
    PZ_PUT1(out, state->reveal);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

/* The balls lie inside; the ring around holds the numbers of the lasers. */
static bool pz_is_inside(const game_state *state, int at)
{
    const int x = at % (state->w + 2), y = at / (state->w + 2);
    return x >= 1 && x <= state->w && y >= 1 && y <= state->h;
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT_KEPT(v, state->grid, (state->w + 2) * (state->h + 2), pz_is_inside(state, i) ? BALL_CORRECT : 0);
    PZ_VISIT(v, state->exits, state->nlasers);
    PZ_SOUND_ALL(v, state->nlasers,
                 state->exits[i] == LASER_EMPTY || state->exits[i] & (LASER_HIT | LASER_REFLECT) ||
                     (state->exits[i] & ~LASER_FLAGMASK) < state->nlasers);
    PZ_VISIT1(v, state->done);
    PZ_VISIT1(v, state->laserno);
    PZ_VISIT1(v, state->nguesses);
    PZ_VISIT1(v, state->nright);
    PZ_VISIT1(v, state->nwrong);
    PZ_VISIT1(v, state->nmissed);
    PZ_VISIT1(v, state->reveal);
    PZ_VISIT1(v, state->justwrong);
}

/* The engine's solver reveals the balls and calls the game lost: mark them instead, and let it check that. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    if (state->reveal) return dup_game(state);
    game_state *marked = dup_game(state);
    marked->nguesses = 0;
    for (int y = 1; y <= state->h; y++)
        for (int x = 1; x <= state->w; x++) {
            GRID(marked, x, y) &= ~(unsigned int)BALL_GUESS;
            if (GRID(marked, x, y) & BALL_CORRECT) {
                GRID(marked, x, y) |= BALL_GUESS;
                marked->nguesses++;
            }
        }
    game_state *solved = execute_move(marked, "R");
    free_game(marked);
    /* Only a description written by hand can put two balls into one square. */
    if (!solved) *error = "the balls of this game are fewer than its parameters say";
    return solved;
}

static void pz_print_laser(pz_text *text, const game_state *state, int laser)
{
    const char mark = " !+"[pz_error(state, laser)];
    const int shot = pz_shot(state, laser);
    if (shot == PZ_PASSED)
        pz_print(text, "%3d%c", pz_number(state, laser), mark);
    else
        pz_print(text, "  %c%c", "-HR"[shot], mark);
}

/* The box with its edge squares around it. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    pz_text text = {NULL, 0, 0};
    for (int y = 0; y < state->h + 2; y++) {
        for (int x = 0; x < state->w + 2; x++) {
            int laser;
            if (grid2range(state, x, y, &laser))
                pz_print_laser(&text, state, laser);
            else if (x >= 1 && x <= state->w && y >= 1 && y <= state->h)
                pz_print(&text, "  %c ", GRID(state, x, y) & BALL_GUESS ? 'o' : '.');
            else
                pz_print(&text, "%s", !x && !y && CAN_REVEAL(state) ? " ok " : "    ");
        }
        pz_print(&text, "\n");
    }
    pz_print(&text, "marked %d of %d", state->nguesses, params->minballs);
    if (params->maxballs > params->minballs) pz_print(&text, " to %d", params->maxballs);
    pz_print(&text, " balls%s\n",
             state->reveal      ? ", all right"
             : state->justwrong ? ", wrong: ! contradicts them, + was fired by the check"
                                : "");
    return text.chars;
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    return ui->flash_laserno >= -1 && ui->flash_laserno < (int)state->nlasers && ui->errors >= 0 &&
           ui->errors <= PZ_MANY;
}

PZ_PUZZLE(blackbox,
    .title = "Black Box",
    .rules = "Balls are hidden in a box, and laser shots from its edge tell where. A shot that meets a ball head on is "
             "absorbed (a hit); a ball diagonally ahead turns it away by a right angle; a shot that comes back to "
             "where it started, or that has a ball beside its first square at the edge, is reflected; any other comes "
             "out elsewhere, and both ends get a number. SELECT on an edge square fires from there, and inside the box "
             "it marks a ball or takes the mark away. With a permitted number of balls marked, the top left corner "
             "becomes a button: the arrows reach it, and SELECT there checks the marks. They are right if every shot "
             "would end as it does with the true balls; if not, one shot that shows it is pointed out, and play goes "
             "on after the next change.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(newmove), PZ_BOOL(cur_visible)),
    .words = "grid balls=.o\n"
             "set balls SELECT\n"
             "do fire SELECT\n"
             "do check SELECT",
    .actions = pz_actions,
    .easiest = "w2h2m2M2",
    .human = "w5h5m3M3",
    .params_pattern = "(w\\d{1,3}|h\\d{1,3}|m\\d{1,5}|M\\d{1,5})+",
    .params_help = "wN: width\n"
                   "hN: height\n"
                   "mN: least number of balls\n"
                   "MN: greatest number of balls, fewer than squares",
    .check_params = pz_check_params,
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .hidden = true,
    .expert = pz_blackbox_expert,
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .moves_change = true,
    .visit = pz_visit,
    .solved = pz_solved,
    .text = pz_text_board);
