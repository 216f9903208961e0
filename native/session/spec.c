/* What can be asked without a session: which puzzles there are, and the parameters, presets and fields of each. */
#include <stdlib.h>
#include <string.h>

#include "puzzles/list.h"
#include "session/internal.h"

/* ---- The table of puzzles ---- */

#define DECLARE_EXPANDED(id) extern const pz_puzzle pz_puzzle_##id;
#define DECLARE(id) DECLARE_EXPANDED(id)
PZ_PUZZLES(DECLARE)

#define ADDRESS_EXPANDED(id) &pz_puzzle_##id,
#define ADDRESS(id) ADDRESS_EXPANDED(id)
static const pz_puzzle *const puzzles[] = {PZ_PUZZLES(ADDRESS)};

int pz_count(void)
{
    return (int)(sizeof puzzles / sizeof *puzzles);
}

const pz_puzzle *pz_puzzle_at(int index)
{
    return puzzles[index];
}

/* ---- Questions about one puzzle ---- */

/* Run a question about a puzzle in a pool of its own; the answer is copied out before the pool goes. */
static int ask(pz_work question, void *context)
{
    pz_pool *pool = pz_pool_new();
    if (!pool) return pz_refuse(PZ_ENGINE, "out of memory");
    int error = pz_guarded(pool, NULL, pz_step_timeout, false, question, context);
    pz_pool_free(pool);
    return error;
}

static const char *keep_answer(int number, const char *text)
{
    if (strlen(text) >= PZ_MESSAGE) pz_fail(PZ_BAD_PARAMS, "parameters may have at most %d characters", PZ_MESSAGE - 1);
    return strcpy(pz_thread_notes()->answers[number], text);
}

typedef struct params_question {
    const pz_puzzle *puzzle;
    const char *params;
    enum pz_params_use use;
    pz_layout *layout;
    double *steps;
    int *width, *height;
    const char *answer;
} params_question;

/* The engine wants a ui here, for a preference at most: one of zeros will do, without a game to make it from. */
static void least_picture(const pz_puzzle *puzzle, const game_params *params, int *width, int *height)
{
    game_ui *ui = smalloc(puzzle->ui_size + 1);
    memset(ui, 0, puzzle->ui_size + 1);
    pz_least_tile(puzzle->engine, params, ui, width, height);
    sfree(ui);
}

static void ask_params(pz_session *none, void *context)
{
    (void)none;
    params_question *q = context;
    game_params *params = q->use == PZ_TO_READ ? pz_read_params(q->puzzle, q->params)
                                               : pz_decode(q->puzzle, q->params, q->use == PZ_TO_GENERATE);
    if (q->layout)
        pz_make_layout(q->puzzle, params, q->layout);
    else if (q->steps)
        *q->steps = q->puzzle->optimal_steps(params);
    else if (q->width)
        least_picture(q->puzzle, params, q->width, q->height);
    else
        q->answer = keep_answer(0, q->puzzle->engine->encode_params(params, true));
}

int pz_params_canonical(const pz_puzzle *puzzle, const char *params, int use, const char **canonical)
{
    params_question q = {.puzzle = puzzle, .params = params, .use = (enum pz_params_use)use};
    int error = ask(ask_params, &q);
    *canonical = q.answer;
    return error;
}

int pz_layout_of(const pz_puzzle *puzzle, const char *params, pz_layout *layout)
{
    params_question q = {.puzzle = puzzle, .params = params, .use = PZ_TO_PLAY, .layout = layout};
    return ask(ask_params, &q);
}

int pz_optimal_steps(const pz_puzzle *puzzle, const char *params, double *steps)
{
    params_question q = {.puzzle = puzzle, .params = params, .use = PZ_TO_PLAY, .steps = steps};
    return ask(ask_params, &q);
}

int pz_least_picture(const pz_puzzle *puzzle, const char *params, int *width, int *height)
{
    params_question q = {.puzzle = puzzle, .params = params, .use = PZ_TO_PLAY, .width = width, .height = height};
    return ask(ask_params, &q);
}

typedef struct preset_question {
    const pz_puzzle *puzzle;
    int index; /* counts down to the preset that is wanted */
    int count;
    const char *title, *params;
} preset_question;

static void visit_preset(preset_question *q, const char *title, const game_params *params)
{
    q->count++;
    if (q->index-- == 0) {
        q->title = keep_answer(0, title);
        q->params = keep_answer(1, q->puzzle->engine->encode_params(params, true));
    }
}

static void visit_menu(preset_question *q, const struct preset_menu *menu)
{
    for (int i = 0; i < menu->n_entries; i++) {
        if (menu->entries[i].params) visit_preset(q, menu->entries[i].title, menu->entries[i].params);
        if (menu->entries[i].submenu) visit_menu(q, menu->entries[i].submenu);
    }
}

static void ask_preset(pz_session *none, void *context)
{
    (void)none;
    preset_question *q = context;
    const game *engine = q->puzzle->engine;
    if (engine->preset_menu) {
        visit_menu(q, engine->preset_menu());
        return;
    }
    char *title;
    game_params *params;
    for (int i = 0; engine->fetch_preset(i, &title, &params); i++) visit_preset(q, title, params);
}

int pz_preset_count(const pz_puzzle *puzzle)
{
    preset_question q = {puzzle, -1, 0, NULL, NULL};
    return ask(ask_preset, &q) ? 0 : q.count;
}

int pz_preset(const pz_puzzle *puzzle, int index, const char **title, const char **params)
{
    preset_question q = {puzzle, index, 0, NULL, NULL};
    int error = ask(ask_preset, &q);
    *title = q.title;
    *params = q.params;
    return error || q.params ? error : pz_refuse(PZ_BAD_PARAMS, "there is no such preset");
}

int pz_can_solve(const pz_puzzle *puzzle)
{
    return puzzle->solved || puzzle->engine->can_solve;
}

int pz_has_text(const pz_puzzle *puzzle)
{
    return puzzle->text || puzzle->engine->can_format_as_text_ever;
}
