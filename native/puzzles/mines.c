#include "planning/experts.h"
#include "puzzle.h"
#define thegame pz_game_mines
#include <mines.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_SELECT2, PZ_UNDO_ACTION, PZ_END};

/* What the engine keeps in a square that is not open. */
enum { PZ_FLAGGED = -1, PZ_COVERED = -2, PZ_EXPLODED = 65 };

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* How many mines there are, which the engine shows from the start: before they are laid only their number exists. */
static int pz_mine_count(const game_state *state)
{
    const struct mine_layout *layout = state->layout;
    /* A description written by hand may say anything; -1 is out of bounds whatever the width of the field. */
    if (!layout->mines) return max(layout->n, -1);
    int count = 0;
    for (int at = 0; at < state->w * state->h; at++) count += layout->mines[at];
    return count;
}

/*
 * A game that starts from a full description may have its mines laid and no square open: there the first opening is
 * not safe, so whether they are laid is a field. No key of the engine sets its question mark.
 */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h;
    PZ_GRID(layout, "numbers", h, w, -1, 8, "mines around each open square, -1 where it is not open");
    PZ_GRID(layout, "flags", h, w, 0, 1, "1 where a mine is marked");
    PZ_GRID(layout, "exploded", h, w, 0, 1, "1 where a mine was opened");
    PZ_SCALAR(layout, "mines", 0, w * h, "number of mines on the board");
    PZ_SCALAR(layout, "laid", 0, 1, "0 until the first square is opened: that one is never a mine");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int n = state->w * state->h;
    const signed char *grid = state->grid;
    PZ_PUT(out, n, grid[i] >= 0 && grid[i] <= 8 ? grid[i] : -1);
    PZ_PUT(out, n, grid[i] == PZ_FLAGGED);
    PZ_PUT(out, n, grid[i] == PZ_EXPLODED);
    PZ_PUT1(out, pz_mine_count(state));
    PZ_PUT1(out, state->layout->mines != NULL);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cur_x, ui->cur_y);
}

/* The layout is the description's, or the superseded one's once the mines are laid: never visited. */
static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->w * state->h);
    PZ_SOUND_ALL(v, state->w * state->h, state->grid[i] >= -3 && state->grid[i] <= (state->layout->mines ? 66 : -1));
    PZ_VISIT1(v, state->dead);
    PZ_VISIT1(v, state->won);
    PZ_VISIT1(v, state->used_solve);
}

/* The first opening lays the mines in what all states of the game share: it can be made, but not tried. */
static int pz_legal(const game_state *state, const game_ui *ui, const int *extra, const pz_action *action)
{
    if (state->layout->mines || action->key != CURSOR_SELECT) return -1;
    return state->grid[ui->cur_y * state->w + ui->cur_x] == PZ_COVERED;
}

static bool pz_stuck(const game_state *state)
{
    return state->dead;
}

static int pz_deaths(const game_ui *ui)
{
    return ui->deaths;
}

/* Back to a board without any open square: the mines are no longer laid, and the next opening is safe again. */
static bool pz_take_back(game_state *state, game_state *initial)
{
    struct mine_layout *shared = state->layout, *fresh = initial->layout;
    for (int at = 0; at < state->w * state->h; at++)
        if (state->grid[at] >= 0) return false;
    if (!shared->mines || fresh->mines) return false;
    sfree(shared->mines);
    shared->mines = NULL;
    shared->n = fresh->n;
    shared->unique = fresh->unique;
    shared->rs = fresh->rs;
    shared->me = fresh->me;
    fresh->rs = NULL;
    return true;
}

/* The engine's solver calls its own result lost, and after a defeat shows the mistakes instead of the solution. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    if (!state->layout->mines) {
        *error = "no mines are laid before the first square is opened";
        return NULL;
    }
    game_state *alive = dup_game(state);
    alive->dead = false;
    game_state *solved = execute_move(alive, "S");
    free_game(alive);
    solved->won = true;
    solved->used_solve = false;
    return solved;
}

/* The engine's own text leaves out the number of mines. */
static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    pz_text text = {NULL, 0, 0};
    int flags = 0;
    for (int at = 0; at < state->w * state->h; at++) {
        const int value = state->grid[at];
        flags += value == PZ_FLAGGED;
        pz_print(&text, "%c%s",
                 value == PZ_FLAGGED    ? 'F'
                 : value == PZ_EXPLODED ? '*'
                 : value < 0            ? '#'
                 : value                ? '0' + value
                                        : '.',
                 (at + 1) % state->w ? " " : "\n");
    }
    pz_print(&text, "flags %d of %d mines%s\n", flags, pz_mine_count(state),
             state->layout->mines ? "" : ", which are laid when the first square is opened");
    return text.chars;
}

/* The engine's own cursor does not show on numbers with too many flags: a double frame shows on everything. */
static void pz_draw_over(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                         const int *extra)
{
    const int x = COORD(ui->cur_x) + 2, y = COORD(ui->cur_y) + 2, size = TILE_SIZE - 4;
    if (size < 3) return;
    draw_rect_outline(dr, x, y, size, size, COL_MINE);
    draw_rect_outline(dr, x + 1, y + 1, size - 2, size - 2, COL_HIGHLIGHT);
}

/* Only the mouse changes some of it: that must be as at the start. Numbers must be in range. */
static bool pz_sound_ui(const game_ui *ui, const game_state *state)
{
    (void)state;
    return ui->cur_visible && ui->hx == -1 && ui->hy == -1 && ui->deaths >= 0 && ui->deaths <= PZ_MANY;
}

PZ_PUZZLE(mines,
    .title = "Mines",
    .rules = "Mines lie hidden under a covered board. Open every square that has none; an open square tells how many "
             "of its up to eight neighbours are mines, and one without such neighbours opens them all. SELECT opens "
             "the square under the cursor, or, on an open number with as many flags around it, all its other "
             "neighbours. SELECT2 sets or removes a flag, which also keeps a square from being opened. The first "
             "square opened is never a mine. Opening a mine ends the game; UNDO takes the last move back, even that "
             "one, while the mines stay where they are; taking back the first opening takes them away too.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(flash_is_death), PZ_BOOL(completed), PZ_BOOL(cur_visible)),
    .words = "grid numbers=# flags=.F exploded=.X\n"
             "do open SELECT\n"
             "set flags SELECT2\n"
             "rule around numbers flags=F 8",
    .actions = pz_actions,
    .easiest = "4x4n2",
    .human = "9x9n10",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(n\\d{1,7})?(p?a|X\\d{1,4}|Y\\d{1,4})*",
    .params_help = "WxH: width and height\n"
                   "nN: number of mines, a tenth of the squares if left out\n"
                   "a or pa: boards may need a guess\n"
                   "XN, YN: the first square to open, for programs that open it themselves; without effect here",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .hidden = true,
    .expert = pz_mines_expert,
    .deaths = pz_deaths,
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .sound_ui = pz_sound_ui,
    .draw_over = pz_draw_over,
    .draws = "The cursor is a double frame, which also shows on numbers with too many flags around them.",
    .visit = pz_visit,
    .legal = pz_legal,
    .stuck = pz_stuck,
    .take_back = pz_take_back,
    .solved = pz_solved,
    .text = pz_text_board);
