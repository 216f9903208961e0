#include "planning/experts.h"
#include "puzzle.h"
#define thegame pz_game_guess
#include <guess.c>

static const pz_action pz_actions[] = {PZ_ARROWS, PZ_SELECT, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (params->npegs + 1.0) * params->nguesses * (params->ncolours + params->npegs);
}

/* How many guesses stand on the board: the engine does not count the one that wins. */
static int pz_made(const game_state *state)
{
    return state->next_go + (state->solved > 0);
}

static int pz_feedback(const game_state *state, int guess, int kind)
{
    int count = 0;
    for (int peg = 0; peg < state->params.npegs; peg++) count += state->guesses[guess]->feedback[peg] == kind;
    return count;
}

/* No action holds a peg for the next guess, removes one or asks for a hint, so those are no fields. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int guesses = params->nguesses, pegs = params->npegs, colours = params->ncolours;
    PZ_GRID(layout, "guesses", guesses, pegs, 0, colours, "colour of each peg guessed, 0 for none");
    PZ_VECTOR(layout, "placed", guesses, 0, pegs, "pegs of each guess that have the right colour in the right place");
    PZ_VECTOR(layout, "misplaced", guesses, 0, pegs, "pegs of each guess that have a right colour in a wrong place");
    PZ_SCALAR(layout, "made", 0, guesses, "number of guesses made");
    PZ_VECTOR(layout, "solution", pegs, 0, colours, "the hidden colours once the game is over, 0 before");
    PZ_UI_VECTOR(layout, "row", pegs, 0, colours, "colours of the guess that is being laid, 0 for none yet");
    PZ_UI_SCALAR(layout, "cursor_x", 0, pegs, "peg under the cursor, or past the last the button that submits the row");
    PZ_UI_SCALAR(layout, "cursor_y", 0, colours - 1, "colour under the cursor, from 0");
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    const int guesses = state->params.nguesses, pegs = state->params.npegs;
    PZ_PUT(out, guesses * pegs, state->guesses[i / pegs]->pegs[i % pegs]);
    PZ_PUT(out, guesses, pz_feedback(state, i, FEEDBACK_CORRECTPLACE));
    PZ_PUT(out, guesses, pz_feedback(state, i, FEEDBACK_CORRECTCOLOUR));
    PZ_PUT1(out, pz_made(state));
    PZ_PUT(out, pegs, state->solved ? state->solution->pegs[i] : 0);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT(out, state->params.npegs, ui->curr_pegs->pegs[i]);
    PZ_PUT_CURSOR(out, ui->peg_cur, ui->colour_cur);
}

static void pz_visit(game_state *state, pz_visitor *v)
{
    const int pegs = state->params.npegs;
    for (int guess = 0; guess < state->params.nguesses; guess++) {
        PZ_VISIT(v, state->guesses[guess]->pegs, pegs);
        PZ_VISIT(v, state->guesses[guess]->feedback, pegs);
    }
    PZ_VISIT(v, state->holds, pegs);
    PZ_VISIT1(v, state->next_go);
    PZ_VISIT1(v, state->solved);
    /* The guess that loses the game is counted and the one that wins is not. */
    const int last = state->params.nguesses - 1;
    PZ_SOUND(v, state->next_go >= 0 && state->next_go <= last + (state->solved == -1));
    PZ_SOUND(v, state->solved == -1 ? state->next_go == last + 1 : state->solved == 0 || state->solved == 1);
}

static void pz_visit_ui(game_ui *ui, const game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, ui->curr_pegs->pegs, state->params.npegs);
    PZ_VISIT(v, ui->holds, state->params.npegs);
    PZ_VISIT1(v, ui->colour_cur);
    PZ_VISIT1(v, ui->peg_cur);
    PZ_VISIT1(v, ui->markable);
}

/* What only the mouse or a preference sets, and the hint, is the same in every ui of ours. */
static void pz_copy_ui(game_ui *to, const game_ui *from, const game_state *state)
{
    const size_t pegs = (size_t)state->params.npegs;
    memcpy(to->curr_pegs->pegs, from->curr_pegs->pegs, pegs * sizeof *to->curr_pegs->pegs);
    memcpy(to->holds, from->holds, pegs * sizeof *to->holds);
    to->colour_cur = from->colour_cur;
    to->peg_cur = from->peg_cur;
    to->display_cur = from->display_cur;
    to->markable = from->markable;
}

/* The engine's solver gives up; we guess right. A game that is lost has no row left for that, so it starts anew. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    if (state->solved > 0) return dup_game(state);
    pz_text move = {NULL, 0, 0};
    for (int peg = 0; peg < state->params.npegs; peg++)
        pz_print(&move, "%c%d", peg ? ',' : 'G', state->solution->pegs[peg]);
    game_state *solved = execute_move(state->solved ? initial : state, move.chars);
    sfree(move.chars);
    return solved;
}

static void pz_print_pegs(pz_text *text, const char *name, const int *pegs, int n)
{
    pz_print(text, "%8s:", name);
    for (int peg = 0; peg < n; peg++)
        if (pegs[peg])
            pz_print(text, "%3d", pegs[peg]);
        else
            pz_print(text, "  .");
}

static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    const int pegs = params->npegs;
    pz_text text = {NULL, 0, 0};
    for (int guess = 0; guess < pz_made(state); guess++) {
        char name[16];
        snprintf(name, sizeof name, "%d", guess + 1);
        pz_print_pegs(&text, name, state->guesses[guess]->pegs, pegs);
        pz_print(&text, "   placed %d, misplaced %d\n", pz_feedback(state, guess, FEEDBACK_CORRECTPLACE),
                 pz_feedback(state, guess, FEEDBACK_CORRECTCOLOUR));
    }
    if (state->solved) {
        pz_print_pegs(&text, "solution", state->solution->pegs, pegs);
        pz_print(&text, "\n");
    } else {
        pz_print_pegs(&text, "row", ui->curr_pegs->pegs, pegs);
        pz_print(&text, "   guess %d of %d%s\n", state->next_go + 1, params->nguesses,
                 ui->markable ? ", can be submitted" : "");
    }
    return text.chars;
}

PZ_PUZZLE(guess,
    .title = "Guess",
    .rules = "Find a hidden row of coloured pegs. Each guess is answered with how many of its pegs have the right "
             "colour in the right place, and how many more have a colour that belongs elsewhere; the guesses are "
             "limited. LEFT and RIGHT move along the row being laid, UP and DOWN along the colours, and SELECT puts "
             "the chosen colour on the chosen peg. When the row is complete, RIGHT also reaches the button behind the "
             "last peg, where SELECT submits the guess.",
    .ui_size = sizeof(game_ui),
    .words = "row guess SELECT\n"
             "score placed",
    .actions = pz_actions,
    .easiest = "c2p3g10Bm",
    .human = "c6p4g10Bm",
    .params_pattern = "(c\\d{1,2}|p\\d{1,4}|g\\d{1,4}|[bBmM])+",
    .params_help = "cN: number of colours, 2 to 10\n"
                   "pN: pegs in a row\n"
                   "gN: number of guesses\n"
                   "b or B: guesses may have blanks, or not\n"
                   "m or M: a colour may occur more than once, or not",
    .sides = PZ_SIDES(npegs, nguesses),
    .optimal_steps = pz_optimal_steps,
    .hidden = true,
    .expert = pz_guess_expert,
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .overdraws = true, /* smooth edges, over what was there before */
    .moves_change = true,
    .visit = pz_visit,
    .visit_ui = pz_visit_ui,
    .copy_ui = pz_copy_ui,
    .solved = pz_solved,
    .text = pz_text_board);
