#include "puzzle.h"
#define thegame pz_game_flood
#include <flood.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* The limit: what the engine's solver needed, as each of its moves takes a square at least, and the extra moves. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h, limit = w * h - 1 + params->leniency;
    PZ_GRID(layout, "colours", h, w, 0, params->colours - 1, "colour of each square");
    PZ_SCALAR(layout, "moves", 0, limit, "fills made so far");
    PZ_SCALAR(layout, "move_limit", 0, limit, "fills allowed: the game is lost when they are used up");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    PZ_PUT(out, state->w * state->h, state->grid[i]);
    PZ_PUT1(out, state->moves);
    PZ_PUT1(out, state->movelimit);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cx, ui->cy);
}

/* The solver's path (soln, solnpos) is in no state of ours: see pz_solved. */
static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->w * state->h);
    PZ_VISIT1(v, state->moves);
    PZ_SOUND(v, state->moves >= 0 && state->moves <= PZ_MANY);
    PZ_VISIT1(v, state->complete);
    PZ_VISIT1(v, state->cheated);
}

/* The engine lets people go on after a defeat, without end and without a chance; here a lost game stays as it is. */
static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    if (action->key == CURSOR_SELECT && state->moves >= state->movelimit) return MOVE_NO_EFFECT;
    return interpret_move(state, ui, ds, 0, 0, action->key);
}

/* The engine's solve move only stores a path for its SELECT2 to follow; going all the way also drops that path. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    if (state->complete) return dup_game(state);
    /* Only a description can be of one colour from the start; the solver would return an unterminated string. */
    if (completed(state->w, state->h, state->grid)) {
        *error = "a board of one colour has no move that could complete it";
        return NULL;
    }
    char *move = solve_game(initial, state, aux, error);
    game_state *at = execute_move(state, move);
    sfree(move);
    while (at && at->soln) {
        char fill[16];
        sprintf(fill, "M%d", at->soln->moves[at->solnpos]);
        game_state *next = execute_move(at, fill);
        free_game(at);
        at = next;
    }
    if (at && game_status(at) > 0) return at;
    if (at) free_game(at);
    *error = "the engine's solver needs more moves than are left";
    return NULL;
}

static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    pz_text text = {NULL, 0, 0};
    char *board = game_text_format(state);
    pz_print(&text, "%s%d of %d moves\n", board, state->moves, state->movelimit);
    sfree(board);
    return text.chars;
}

static char *pz_guide(const game_state *state, const char *aux)
{
    const char *error;
    if (completed(state->w, state->h, state->grid)) return NULL;
    char *route = solve_game(state, state, aux, &error);
    pz_text moves = {NULL, 0, 0};
    for (char *colour = strtok(route + 1, ","); colour; colour = strtok(NULL, ",")) pz_print(&moves, "M%s ", colour);
    sfree(route);
    return moves.chars;
}

PZ_PUZZLE(flood,
    .title = "Flood",
    .rules = "Each square has a colour, and the lake is the square in the top left corner with all that is joined to "
             "it in the same colour. A fill gives the whole lake another colour, so that it swallows the neighbours "
             "of that colour. Make the board one colour before the fills run out. SELECT fills the lake with the "
             "colour under the cursor.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cursor_visible)),
    .words = "grid colours=#0\n"
             "do fill SELECT",
    .actions = pz_actions,
    .easiest = "3x3c6m5",
    .human = "12x12c6m5",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(c\\d{1,2}(m\\d{1,4})?|m\\d{1,4}(c\\d{1,2})?)?",
    .params_help = "WxH: width and height\n"
                   "cN: number of colours, 3 to 10\n"
                   "mN: moves allowed beyond what the engine's solver needs",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .guide = pz_guide,
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .visit = pz_visit,
    .press = pz_press,
    .solved = pz_solved,
    .text = pz_text_board);
