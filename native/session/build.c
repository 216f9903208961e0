/*
 * Building games: from parameters and a seed or a description to a session, and one session taking over another's
 * game.
 */
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drawing/draw.h"
#include "session/internal.h"

double pz_max_cells = 2500;

enum {
    MAX_DIGITS = 7,        /* of a number in parameters */
    STACK_SPARE = 16 << 10 /* bytes of stack for everything else */
};

/* Held while a puzzle that builds its complaints about a description in a static buffer looks at one. */
PZ_LOCK(validate_lock)

static int side(const game_params *params, int offset)
{
    return *(const int *)((const char *)params + offset);
}

static double count_cells(const pz_puzzle *puzzle, const game_params *params)
{
    return puzzle->cells ? puzzle->cells(params)
                         : (double)side(params, puzzle->sides[0]) * side(params, puzzle->sides[1]);
}

static void check_cells(const pz_puzzle *puzzle, const game_params *params)
{
    const double cells = fabs(count_cells(puzzle, params));
    if (cells > pz_max_cells)
        pz_fail(PZ_BAD_PARAMS, "%.0f cells are more than the limit of %.0f (set_max_cells raises it)", cells,
                pz_max_cells);
}

/* A fraction may have many digits: they become a float. */
static void check_numbers(const char *text)
{
    if (strlen(text) >= PZ_MESSAGE) pz_fail(PZ_BAD_PARAMS, "parameters may have at most %d characters", PZ_MESSAGE - 1);
    for (const char *c = text; *c; c++) {
        const char *start = c;
        while (isdigit((unsigned char)*c)) c++;
        if (c - start > MAX_DIGITS && (start == text || start[-1] != '.'))
            pz_fail(PZ_BAD_PARAMS, "a number may have at most %d digits", MAX_DIGITS);
        if (!*c) break;
    }
}

game_params *pz_read_params(const pz_puzzle *puzzle, const char *text)
{
    game_params *params = puzzle->engine->default_params();
    if (text) {
        check_numbers(text);
        puzzle->engine->decode_params(params, text);
    }
    return params;
}

/*
 * The engine multiplies before it looks at what it multiplies, and an int would overflow. So the numbers may not be
 * long, and the size of the board is looked at first.
 */
game_params *pz_decode(const pz_puzzle *puzzle, const char *text, bool to_generate)
{
    game_params *params = pz_read_params(puzzle, text);
    check_cells(puzzle, params);
    const char *complaint = puzzle->engine->validate_params(params, to_generate);
    if (!complaint && puzzle->check_params) complaint = puzzle->check_params(params);
    if (complaint) pz_fail(PZ_BAD_PARAMS, "%s", complaint);
    return params;
}

static void validate_desc(const pz_puzzle *puzzle, const game_params *params, const char *desc, int error)
{
    pz_guard *guard = pz_current_guard();
    if (puzzle->static_complaint) {
        pthread_mutex_lock(&validate_lock);
        guard->locked = &validate_lock;
    }
    const char *complaint = puzzle->engine->validate_desc(params, desc);
    if (!complaint && puzzle->check_desc) complaint = puzzle->check_desc(params, desc);
    char copy[PZ_MESSAGE];
    snprintf(copy, sizeof copy, "%s", complaint ? complaint : "");
    if (puzzle->static_complaint) {
        guard->locked = NULL;
        pthread_mutex_unlock(&validate_lock);
    }
    if (complaint) pz_fail(error, "%s", copy);
}

/* Generate in a pool that is dropped afterwards: what the engine needed for it, or leaked, is not the game's. */
void pz_generate(pz_session *s)
{
    pz_guard *guard = pz_current_guard();
    pz_pool_free(s->scratch); /* of a generation that was interrupted */
    s->scratch = pz_pool_new();
    if (!s->scratch) pz_fail(PZ_ENGINE, "out of memory");
    guard->pool = s->scratch;
    random_state *random = random_new(s->seed, (int)strlen(s->seed));
    char *aux = NULL, *desc = s->puzzle->engine->new_desc(s->params, random, &aux, true);
    guard->pool = s->pool;
    if (!s->desc) s->desc = dupstr(desc);
    s->aux = aux && !strcmp(desc, s->desc) ? dupstr(aux) : NULL; /* the solution of this game and no other */
    pz_pool_free(s->scratch);
    s->scratch = NULL;
}

/* Needs puzzle, params_text (or the params too), and either seed or desc; runs under a guard with the session's pool.
 */
void pz_build(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    if (!s->params) {
        s->params = pz_decode(s->puzzle, s->params_text, s->seed != NULL);
        s->params_text = engine->encode_params(s->params, true);
    }
    if (s->puzzle->stack_per_cell) {
        s->stack_needed = STACK_SPARE + (size_t)(s->puzzle->stack_per_cell * count_cells(s->puzzle, s->params));
        if (pz_stack_left() < s->stack_needed) pz_fail(PZ_ENGINE, "%s", pz_small_stack);
    }
    if (!s->desc) {
        pz_generate(s);
        validate_desc(s->puzzle, s->params, s->desc, PZ_ENGINE);
    } else {
        validate_desc(s->puzzle, s->params, s->desc, PZ_BAD_ID);
        if (s->privdesc) validate_desc(s->puzzle, s->params, s->privdesc, PZ_BAD_ID);
        if (s->first_desc) validate_desc(s->puzzle, s->params, s->first_desc, PZ_BAD_ID);
    }
    if (!s->layout) s->layout = pz_layout_hold(s->puzzle, s->params_text, s->params);
    s->state = engine->new_game((midend *)s, s->params, s->privdesc ? s->privdesc : s->desc);
    pz_pool_clean(s->pool, true);
    s->ui = engine->new_ui(s->state);
    s->trial_ui = engine->new_ui(s->state);
    pz_pool_clean(s->pool, false);
    if (s->puzzle->start_ui) s->puzzle->start_ui(s->state, s->ui, s->extra);
    s->dr = drawing_new(&pz_no_drawing, NULL, NULL);
    s->ds = engine->new_drawstate(s->dr, s->state);
    engine->set_size(s->dr, s->ds, s->params, engine->preferred_tilesize);
    if (s->flags & (PZ_FLAG_UNDO | PZ_FLAG_HISTORY)) s->history = snewn(PZ_HISTORY, game_state *);
    s->own_record = snewn(s->layout->record_size + 8, char);
    s->trial_record = snewn(s->layout->record_size + 8, char);
    memset(s->own_record, 0, (size_t)s->layout->record_size + 8);
    memset(s->trial_record, 0, (size_t)s->layout->record_size + 8);
    s->record = s->own_record;
    s->mask = s->own_mask;
    s->outcome = &s->own_outcome;
    s->instance = pz_hash_bytes(s->puzzle->name, strlen(s->puzzle->name), 2);
    s->instance = pz_hash_bytes(s->params_text, strlen(s->params_text), s->instance);
}

void pz_name_instance(pz_session *s)
{
    const char *desc = s->privdesc ? s->privdesc : s->desc;
    s->instance_hash = pz_hash_bytes(desc, strlen(desc), s->instance);
}

pz_session *pz_blank(const pz_puzzle *puzzle, int flags)
{
    pz_session *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->puzzle = puzzle;
    s->flags = flags;
    s->n_players = 1;
    s->pool = pz_pool_new();
    for (const pz_action *action = puzzle->actions; action->name; action++)
        if (action->key != PZ_UNDO || (flags & PZ_FLAG_UNDO)) s->n_actions++;
    if (s->pool) return s;
    free(s);
    return NULL;
}

void pz_session_free(pz_session *s)
{
    if (!s) return;
    if (s->fault != PZ_FORKED && !pz_is_abandoned(&s->owner)) {
        pz_pool_free(s->pool);
        pz_pool_free(s->scratch);
        pz_layout_release(s->layout);
    }
    free(s);
}

typedef struct new_game {
    const char *params, *seed, *desc;
    const pz_session *like; /* a generated game with these parameters, which need no reading then; or NULL */
} new_game;

static void start_game(pz_session *s, void *context)
{
    const new_game *wanted = context;
    if (wanted->like) {
        s->params = s->puzzle->engine->dup_params(wanted->like->params);
        s->params_text = dupstr(wanted->like->params_text);
        s->layout = pz_layout_share(wanted->like->layout);
    } else {
        s->params_text = wanted->params ? dupstr(wanted->params) : NULL;
    }
    s->seed = wanted->seed ? dupstr(wanted->seed) : NULL;
    s->desc = wanted->desc ? dupstr(wanted->desc) : NULL;
    s->ruled = s->seed && !s->desc;
    pz_build(s);
    pz_name_instance(s);
    /* The engine lets descriptions pass that no generator would write. */
    if (wanted->desc) pz_check_board(s, s->state, PZ_BAD_ID);
    pz_publish(s);
}

static int make(const pz_puzzle *puzzle, int flags, new_game wanted, double timeout, pz_session **result)
{
    *result = NULL;
    pz_session *s = pz_blank(puzzle, flags);
    if (!s) return pz_refuse(PZ_ENGINE, "out of memory");
    int error = pz_guarded(s->pool, s, timeout, true, start_game, &wanted);
    if (error)
        pz_session_free(s);
    else
        *result = s;
    return error;
}

int pz_session_new(const pz_puzzle *puzzle, const char *params, const char *seed, const char *desc, int flags,
                   double timeout, pz_session **result)
{
    return make(puzzle, flags, (new_game){params, seed, desc, NULL}, timeout, result);
}

/* All of it but what belongs to the session: the claim and the limits. */
static void move_game(pz_session *to, const pz_session *from)
{
    const size_t head = offsetof(pz_session, puzzle);
    memcpy((char *)to + head, (const char *)from + head, sizeof *to - head);
}

bool pz_fits(const pz_session *s, const pz_buffers *to)
{
    return (!to->record || to->record_size == s->layout->record_size) && (!to->mask || to->mask_size >= s->n_actions);
}

void pz_bind(pz_session *s, const pz_buffers *buffers)
{
    char *to = buffers->record ? buffers->record : s->own_record;
    if (to != s->record) memcpy(to, s->record, (size_t)s->layout->record_size);
    s->record = to;
    uint8_t *bits = buffers->mask ? buffers->mask : s->own_mask;
    if (bits != s->mask) memcpy(bits, s->mask, (size_t)s->n_actions);
    s->mask = bits;
    pz_outcome *verdict = buffers->outcome ? buffers->outcome : &s->own_outcome;
    if (verdict != s->outcome) *verdict = *s->outcome;
    s->outcome = verdict;
}

/* Where a session writes now, as far as that is not its own memory. */
static pz_buffers bound_to(const pz_session *s)
{
    return (pz_buffers){.record = s->record == s->own_record ? NULL : s->record,
                        .mask = s->mask == s->own_mask ? NULL : s->mask,
                        .outcome = s->outcome == &s->own_outcome ? NULL : s->outcome,
                        .record_size = s->layout->record_size,
                        .mask_size = s->n_actions};
}

void pz_session_take_over(pz_session *s, pz_session *from, const pz_buffers *buffers)
{
    /* Of a game that a fork abandoned nothing is read, and its memory is given up. */
    const pz_buffers present = buffers || s->fault == PZ_FORKED ? (pz_buffers){.record = NULL} : bound_to(s);
    if (!buffers) buffers = &present;
    pz_session old;
    move_game(&old, s);
    move_game(s, from);
    s->record = s->own_record;
    s->mask = s->own_mask;
    s->outcome = &s->own_outcome;
    if (pz_fits(s, buffers)) pz_bind(s, buffers);
    move_game(from, &old);
    pz_session_free(from);
}

int pz_session_hold(pz_session *s)
{
    int refused = pz_claim_any(s);
    if (!refused) s->held = true;
    return refused;
}

static bool held_here(const pz_session *s)
{
    return atomic_load(&s->owner) == pz_this_thread() && s->held;
}

void pz_session_let_go(pz_session *s)
{
    if (!held_here(s)) return;
    s->held = false;
    pz_release(s);
}

/* Play a fresh game in a session that is held from now on; the game is used up. */
static int play(pz_session *s, pz_session *fresh, const pz_buffers *buffers)
{
    int error = PZ_OK;
    if (buffers && !pz_fits(fresh, buffers)) error = pz_refuse(PZ_ENGINE, "these buffers do not fit the new game");
    if (!error && s->n_players > 1) error = pz_session_players(fresh, s->n_players);
    if (error)
        pz_session_free(fresh);
    else
        pz_session_take_over(s, fresh, buffers);
    return error;
}

int pz_session_reset_held(pz_session *s, const char *params, const char *seed, const char *desc, double timeout,
                          const pz_buffers *buffers)
{
    if (!held_here(s)) return pz_refuse(PZ_ENGINE, "this session is not held by this thread");
    pz_session *fresh;
    int error = pz_session_new(s->puzzle, params ? params : s->params_text, seed, desc, s->flags, timeout, &fresh);
    return error ? error : play(s, fresh, buffers);
}

int pz_session_reset(pz_session *s, const char *params, const char *seed, const char *desc, double timeout,
                     const pz_buffers *buffers)
{
    int error = pz_session_hold(s);
    if (error) return error;
    error = pz_session_reset_held(s, params, seed, desc, timeout, buffers);
    pz_session_let_go(s);
    return error;
}

int pz_session_restart(pz_session *s, uint64_t seed, double timeout)
{
    int error = pz_session_hold(s);
    if (error) return error;
    char digits[24];
    pz_session *fresh = NULL;
    pz_write_seed(digits, seed);
    error = s->fault ? PZ_UNREADABLE
                     : make(s->puzzle, s->flags,
                            (new_game){.params = s->params_text, .seed = digits, .like = s->seed ? s : NULL}, timeout,
                            &fresh);
    if (!error) error = play(s, fresh, NULL);
    pz_session_let_go(s);
    return error;
}

int pz_session_play(pz_session *s, pz_session *fresh)
{
    int error = pz_session_hold(s);
    if (!error && (s->fault || fresh->layout != s->layout || strcmp(fresh->params_text, s->params_text)))
        error = PZ_UNREADABLE;
    if (error)
        pz_session_free(fresh);
    else
        error = play(s, fresh, NULL);
    pz_session_let_go(s);
    return error;
}

void pz_write_seed(char digits[24], uint64_t seed)
{
    char reversed[24];
    int n = 0, at = 0;
    do reversed[n++] = (char)('0' + seed % 10);
    while (seed /= 10);
    while (n) digits[at++] = reversed[--n];
    digits[at] = '\0';
}

void pz_supersede(pz_session *s, const char *desc, const char *privdesc)
{
    if (!s->first_desc) s->first_desc = s->desc;
    s->desc = dupstr(desc);
    s->privdesc = privdesc ? dupstr(privdesc) : NULL;
    pz_name_instance(s);
}

void pz_take_back_desc(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    if (!s->first_desc || !s->puzzle->take_back) return;
    game_state *initial = engine->new_game((midend *)s, s->params, s->first_desc);
    const bool taken_back = s->puzzle->take_back(s->state, initial);
    engine->free_game(initial);
    if (!taken_back) return;
    s->desc = s->first_desc;
    s->privdesc = s->first_desc = NULL;
    pz_name_instance(s);
    pz_observe_board(s, s->state, s->record);
}
