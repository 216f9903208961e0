/*
 * The session: one game of one puzzle, straight over the engine's struct game.
 *
 * An action is first attempted on a copy of the ui; only if the observation differs afterwards is the attempt committed.
 * The mask is the same attempt without the commit, so mask and step cannot disagree, and an action without effect
 * changes nothing at all.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "guard.h"
#include "internal.h"
#include "session.h"

static PZ_TLS char last_error[PZ_MESSAGE];

double pz_max_cells = 2500;

/* filling and palisade build their complaints about a description in a static buffer. */
static pthread_mutex_t validate_lock = PTHREAD_MUTEX_INITIALIZER;

const char *pz_last_error(void)
{
    return last_error;
}

/* Leave the guard and carry its verdict to whoever asks for the last error. */
static int leave(pz_guard *guard)
{
    pz_leave(guard);
    if (guard->error) memcpy(last_error, guard->message, sizeof last_error);
    return guard->error;
}

static int refuse(int error, const char *reason)
{
    snprintf(last_error, sizeof last_error, "%s", reason);
    return error;
}

/* ---- Layouts and records ---- */

void pz_add_field(pz_layout *layout, bool is_ui, const char *name, int low, int high, const char *about, int ndim,
                  int d0, int d1, int d2, int d3)
{
    if (layout->n_fields == PZ_MAX_FIELDS) pz_fail(PZ_ENGINE, "more than %d fields", PZ_MAX_FIELDS);
    if (layout->ui_offset >= 0 && !is_ui) pz_fail(PZ_ENGINE, "board field %s follows a ui field", name);
    if (low > high) pz_fail(PZ_ENGINE, "field %s has bounds %d > %d", name, low, high);
    pz_field *field = &layout->fields[layout->n_fields++];
    memset(field, 0, sizeof *field);
    snprintf(field->name, sizeof field->name, "%s", name);
    snprintf(field->about, sizeof field->about, "%s", about);
    field->low = low;
    field->high = high;
    field->itemsize = low >= INT8_MIN && high <= INT8_MAX ? 1 : low >= INT16_MIN && high <= INT16_MAX ? 2 : 4;
    field->ndim = ndim;
    const int shape[PZ_MAX_DIMS] = {d0, d1, d2, d3};
    double count = 1;
    for (int d = 0; d < ndim; d++) {
        field->shape[d] = shape[d];
        count *= shape[d];
    }
    if (count < 0 || count > 1 << 24) pz_fail(PZ_ENGINE, "field %s has %g items", name, count);
    field->count = (int)count;
    field->is_ui = is_ui;
    if (is_ui && layout->ui_offset < 0) {
        layout->record_size = (layout->record_size + 7) & ~7;
        layout->ui_offset = layout->record_size;
    }
    const int32_t align = field->itemsize - 1;
    field->offset = (layout->record_size + align) & ~align;
    layout->record_size = field->offset + field->count * field->itemsize;
}

static void make_layout(const pz_puzzle *puzzle, const game_params *params, pz_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    layout->ui_offset = -1;
    puzzle->fields(params, layout);
    layout->record_size = (layout->record_size + 7) & ~7;
    if (layout->ui_offset < 0) layout->ui_offset = layout->record_size;
}

static const pz_field *first_ui_field(const pz_layout *layout)
{
    const pz_field *field = layout->fields, *end = field + layout->n_fields;
    while (field < end && !field->is_ui) field++;
    return field;
}

static void observe_board(const pz_session *s, const game_state *state, char *bytes)
{
    pz_record out = {bytes, s->layout.fields, s->first_ui_field};
    s->puzzle->observe(state, &out);
}

static void observe_ui(const pz_session *s, const game_state *state, const game_ui *ui, const int *own, char *bytes)
{
    pz_record out = {bytes, s->first_ui_field, s->layout.fields + s->layout.n_fields};
    if (s->puzzle->observe_ui) s->puzzle->observe_ui(state, ui, own, &out);
}

static uint64_t hash_bytes(const void *bytes, size_t size, uint64_t hash)
{
    const char *at = bytes;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    uint64_t rest = size;
    memcpy(&rest, at, size);
    hash = (hash ^ rest) * 0xBF58476D1CE4E5B9u;
    return hash ^ (hash >> 32);
}

uint64_t pz_episode_seed(uint64_t seed, uint64_t episode)
{
    if (!episode) return seed;
    const uint64_t key[2] = {seed, episode};
    /* 53 bits: exact in every number type that a framework may carry a seed in. */
    return hash_bytes(key, sizeof key, 0x243F6A8885A308D3u) >> 11;
}

/* ---- State repeats: how often the present observation was seen in this episode ---- */

enum { REPEATS_FIRST = 64, REPEATS_LAST = 1 << 15 };

/* Entries are 40 bits of hash over 24 bits of count. */
static uint64_t *repeats_find(pz_repeat *table, int32_t room, uint64_t key)
{
    uint32_t at = (uint32_t)(key >> 24) & (uint32_t)(room - 1);
    for (;; at = (at + 1) & (uint32_t)(room - 1))
        if (!table[at] || (table[at] & ~(uint64_t)0xFFFFFF) == key) return &table[at];
}

static int32_t repeats_count(pz_session *s, uint64_t hash)
{
    const uint64_t key = (hash & ~(uint64_t)0xFFFFFF) | ((uint64_t)1 << 63);
    if (s->repeats_used * 2 >= s->repeats_room && s->repeats_room < REPEATS_LAST) {
        int32_t room = s->repeats_room ? s->repeats_room * 2 : REPEATS_FIRST;
        pz_repeat *table = calloc((size_t)room, sizeof *table);
        if (table) {
            for (int32_t i = 0; i < s->repeats_room; i++)
                if (s->repeats[i]) *repeats_find(table, room, s->repeats[i] & ~(uint64_t)0xFFFFFF) = s->repeats[i];
            free(s->repeats);
            s->repeats = table;
            s->repeats_room = room;
        }
    }
    if (!s->repeats_room) return 0;
    uint64_t *entry = repeats_find(s->repeats, s->repeats_room, key);
    if (!*entry) {
        /* Past the bound, states not seen before stay uncounted: an episode of that length repeats little. */
        if (s->repeats_used * 4 >= s->repeats_room * 3) return 0;
        s->repeats_used++;
        *entry = key;
    }
    if ((*entry & 0xFFFFFF) < 0xFFFFFF) ++*entry;
    return (int32_t)(*entry & 0xFFFFFF) - 1;
}

/* ---- One attempt ---- */

static void copy_ui(const pz_session *s, game_ui *to, const game_ui *from)
{
    if (s->puzzle->copy_ui)
        s->puzzle->copy_ui(to, from, s->state);
    else if (s->puzzle->ui_size)
        memcpy(to, from, s->puzzle->ui_size);
}

static game_state *history_top(const pz_session *s)
{
    return s->history_length ? s->history[(s->history_start + s->history_length - 1) % PZ_HISTORY] : NULL;
}

/*
 * Try an action from the present state. Afterwards trial_ui, trial_own and trial_record hold what would be; *next is the
 * state that would follow, or NULL when it stays. Returns whether the observation differs.
 */
static bool attempt(pz_session *s, const pz_action *action, game_state **next)
{
    const pz_puzzle *puzzle = s->puzzle;
    *next = NULL;
    if (s->stuck && action->key != PZ_UNDO) return false;
    copy_ui(s, s->trial_ui, s->ui);
    memcpy(s->trial_own, s->own, sizeof s->own);

    if (action->key == PZ_UNDO) {
        game_state *previous = history_top(s);
        if (!previous) return false;
        if (puzzle->engine->changed_state) puzzle->engine->changed_state(s->trial_ui, s->state, previous);
        *next = previous;
    } else {
        char *move = puzzle->press
            ? puzzle->press(s->state, s->trial_ui, s->trial_own, s->ds, action)
            : puzzle->engine->interpret_move(s->state, s->trial_ui, s->ds, 0, 0, action->key);
        if (move && move != MOVE_UI_UPDATE && move != MOVE_NO_EFFECT && move != MOVE_UNUSED) {
            *next = puzzle->engine->execute_move(s->state, move);
            sfree(move);
            if (*next && puzzle->engine->changed_state) puzzle->engine->changed_state(s->trial_ui, s->state, *next);
        }
    }
    if (*next) {
        observe_board(s, *next, s->trial_record);
        observe_ui(s, *next, s->trial_ui, s->trial_own, s->trial_record);
        if (memcmp(s->trial_record, s->record, (size_t)s->layout.record_size)) return true;
        if (action->key != PZ_UNDO) puzzle->engine->free_game(*next);
        *next = NULL;
        return false;
    }
    if (!puzzle->copy_ui && !memcmp(s->own, s->trial_own, sizeof s->own) &&
        (!puzzle->ui_size || !memcmp(s->ui, s->trial_ui, puzzle->ui_size)))
        return false;
    const size_t board = (size_t)s->layout.ui_offset, ui = (size_t)s->layout.record_size - board;
    observe_ui(s, s->state, s->trial_ui, s->trial_own, s->trial_record);
    if (!memcmp(s->trial_record + board, s->record + board, ui)) return false;
    memcpy(s->trial_record, s->record, board);
    return true;
}

static void write_mask(pz_session *s)
{
    const pz_puzzle *puzzle = s->puzzle;
    for (int a = 0; a < s->n_actions; a++) {
        const pz_action *action = &puzzle->actions[a];
        int legal = s->stuck || !puzzle->legal || action->key == PZ_UNDO
            ? -1 : puzzle->legal(s->state, s->ui, s->own, action);
        if (legal < 0) {
            game_state *next;
            legal = attempt(s, action, &next);
            if (next && action->key != PZ_UNDO) puzzle->engine->free_game(next);
        }
        s->mask[a] = (uint8_t)legal;
    }
}

static void push_history(pz_session *s, game_state *state)
{
    if (!s->history) {
        s->puzzle->engine->free_game(state);
    } else if (s->history_length == PZ_HISTORY) {
        s->puzzle->engine->free_game(s->history[s->history_start]);
        s->history[s->history_start] = state;
        s->history_start = (s->history_start + 1) % PZ_HISTORY;
    } else {
        s->history[(s->history_start + s->history_length++) % PZ_HISTORY] = state;
    }
}

/* Derive what follows from the state: status, and whether only an undo helps. */
static void judge(pz_session *s)
{
    int status = s->puzzle->engine->status(s->state);
    s->stuck = !status && s->puzzle->stuck && s->puzzle->stuck(s->state);
    if (s->stuck && !((s->flags & PZ_FLAG_UNDO) && s->history_length)) status = -1;
    s->outcome->status = status;
}

/* Make the attempt real. The trial ui and the ui change places. */
static void commit(pz_session *s, const pz_action *action, game_state *next)
{
    game_ui *ui = s->ui;
    s->ui = s->trial_ui;
    s->trial_ui = ui;
    memcpy(s->own, s->trial_own, sizeof s->own);
    memcpy(s->record, s->trial_record, (size_t)s->layout.record_size);
    if (next) {
        game_state *old = s->state;
        s->state = next;
        s->outcome->moves++;
        if (action && action->key == PZ_UNDO) {
            s->history_length--;
            s->puzzle->engine->free_game(old);
        } else {
            push_history(s, old);
        }
        judge(s);
    }
}

/* After any change of the state from outside: everything the caller may read is written anew. */
static void publish(pz_session *s)
{
    observe_board(s, s->state, s->record);
    observe_ui(s, s->state, s->ui, s->own, s->record);
    judge(s);
    s->outcome->repeats = repeats_count(s, hash_bytes(s->record, (size_t)s->layout.record_size, 1));
    write_mask(s);
}

/* ---- Building a game ---- */

static void check_cells(const pz_puzzle *puzzle, const game_params *params)
{
    double cells = puzzle->cells(params);
    if (cells > pz_max_cells)
        pz_fail(PZ_BAD_PARAMS, "%.0f cells are more than the limit of %.0f (set_max_cells raises it)", cells,
                pz_max_cells);
}

static game_params *decode(const pz_puzzle *puzzle, const char *text, bool to_generate)
{
    game_params *params = puzzle->engine->default_params();
    if (text) puzzle->engine->decode_params(params, text);
    const char *complaint = puzzle->engine->validate_params(params, to_generate);
    if (!complaint && puzzle->check_params) complaint = puzzle->check_params(params);
    if (complaint) pz_fail(PZ_BAD_PARAMS, "%s", complaint);
    check_cells(puzzle, params);
    return params;
}

static void validate_desc(const pz_puzzle *puzzle, const game_params *params, const char *desc, int error)
{
    pz_guard *guard = pz_current_guard();
    pthread_mutex_lock(&validate_lock);
    guard->locked = &validate_lock;
    const char *complaint = puzzle->engine->validate_desc(params, desc);
    char copy[PZ_MESSAGE];
    snprintf(copy, sizeof copy, "%s", complaint ? complaint : "");
    guard->locked = NULL;
    pthread_mutex_unlock(&validate_lock);
    if (complaint) pz_fail(error, "%s", copy);
}

/* Generate in a pool that is dropped afterwards: what the engine needed for it, or leaked, is not the game's. */
static void generate(pz_session *s)
{
    pz_guard *guard = pz_current_guard();
    s->scratch = pz_pool_new();
    if (!s->scratch) pz_fail(PZ_ENGINE, "out of memory");
    guard->pool = s->scratch;
    random_state *random = random_new(s->seed, (int)strlen(s->seed));
    char *aux = NULL, *desc = s->puzzle->engine->new_desc(s->params, random, &aux, true);
    guard->pool = s->pool;
    s->desc = dupstr(desc);
    s->aux = aux ? dupstr(aux) : NULL;
    pz_pool_free(s->scratch);
    s->scratch = NULL;
}

/* Needs puzzle, params_text, and either seed or desc; runs under a guard with the session's pool. */
static void build(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    s->params = decode(s->puzzle, s->params_text, !s->desc);
    s->params_text = engine->encode_params(s->params, true);
    if (!s->desc) {
        generate(s);
        validate_desc(s->puzzle, s->params, s->desc, PZ_ENGINE);
    } else {
        validate_desc(s->puzzle, s->params, s->desc, PZ_BAD_ID);
    }
    make_layout(s->puzzle, s->params, &s->layout);
    s->first_ui_field = first_ui_field(&s->layout);
    s->state = engine->new_game((midend *)s, s->params, s->privdesc ? s->privdesc : s->desc);
    s->ui = engine->new_ui(s->state);
    s->trial_ui = engine->new_ui(s->state);
    if (s->puzzle->start_ui) s->puzzle->start_ui(s->state, s->ui, s->own);
    s->dr = drawing_new(&pz_no_drawing, NULL, NULL);
    s->ds = engine->new_drawstate(s->dr, s->state);
    engine->set_size(s->dr, s->ds, s->params, engine->preferred_tilesize);
    if (s->flags & (PZ_FLAG_UNDO | PZ_FLAG_HISTORY)) s->history = snewn(PZ_HISTORY, game_state *);
    s->own_record = snewn(s->layout.record_size + 8, char);
    s->trial_record = snewn(s->layout.record_size + 8, char);
    memset(s->own_record, 0, (size_t)s->layout.record_size + 8);
    memset(s->trial_record, 0, (size_t)s->layout.record_size + 8);
    s->record = s->own_record;
    s->mask = s->own_mask;
    s->outcome = &s->own_outcome;
    s->instance = hash_bytes(s->puzzle->name, strlen(s->puzzle->name), 2);
    s->instance = hash_bytes(s->params_text, strlen(s->params_text), s->instance);
}

static void name_instance(pz_session *s)
{
    const char *desc = s->privdesc ? s->privdesc : s->desc;
    s->instance_hash = hash_bytes(desc, strlen(desc), s->instance);
}

static pz_session *blank(const pz_puzzle *puzzle, int flags)
{
    pz_session *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->puzzle = puzzle;
    s->flags = flags;
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
    pz_pool_free(s->pool);
    pz_pool_free(s->scratch);
    free(s->repeats);
    free(s->output);
    free(s);
}

int pz_session_new(const pz_puzzle *puzzle, const char *params, const char *seed, const char *desc, int flags,
                   double timeout, pz_session **result)
{
    pz_session *s = blank(puzzle, flags);
    if (!s) return refuse(PZ_ENGINE, "out of memory");
    pz_guard guard;
    pz_enter(&guard, s->pool, timeout);
    guard.session = s;
    guard.interruptible = true;
    guard.started = pz_now();
    if (!setjmp(guard.home)) {
        s->params_text = params ? dupstr(params) : NULL;
        s->seed = seed ? dupstr(seed) : NULL;
        s->desc = desc ? dupstr(desc) : NULL;
        build(s);
        name_instance(s);
        publish(s);
    }
    int error = leave(&guard);
    if (error) {
        pz_session_free(s);
        s = NULL;
    }
    *result = s;
    return error;
}

/* Take over the game of another session, which is consumed; buffers and options stay. */
static void take_over(pz_session *s, pz_session *from)
{
    char *record = s->record == s->own_record ? NULL : s->record;
    uint8_t *mask = s->mask == s->own_mask ? NULL : s->mask;
    pz_outcome *outcome = s->outcome == &s->own_outcome ? NULL : s->outcome;
    pz_session old = *s;
    *s = *from;
    s->first_ui_field = s->layout.fields + (from->first_ui_field - from->layout.fields);
    s->record = s->own_record;
    s->mask = s->own_mask;
    s->outcome = &s->own_outcome;
    if (old.layout.record_size == s->layout.record_size) pz_session_bind(s, record, mask, outcome);
    *from = old;
    pz_session_free(from);
}

int pz_session_reset(pz_session *s, const char *params, const char *seed, const char *desc, double timeout)
{
    pz_session *fresh;
    int error = pz_session_new(s->puzzle, params ? params : s->params_text, seed, desc, s->flags, timeout, &fresh);
    if (!error) take_over(s, fresh);
    return error;
}

void pz_session_bind(pz_session *s, void *record, uint8_t *mask, pz_outcome *outcome)
{
    char *to = record ? record : s->own_record;
    if (to != s->record) memcpy(to, s->record, (size_t)s->layout.record_size);
    s->record = to;
    uint8_t *bits = mask ? mask : s->own_mask;
    if (bits != s->mask) memcpy(bits, s->mask, (size_t)s->n_actions);
    s->mask = bits;
    pz_outcome *verdict = outcome ? outcome : &s->own_outcome;
    if (verdict != s->outcome) *verdict = *s->outcome;
    s->outcome = verdict;
}

/* ---- Entries that work on a living game ---- */

/* Seconds that one call on a living game may take: far more than any real one does. */
static const double step_timeout = 30;

/* After a fault the engine's memory cannot be trusted: the game is over for good, and every later call says so. */
static int leave_alive(pz_session *s, pz_guard *guard)
{
    int error = leave(guard);
    if (error == PZ_ENGINE || error == PZ_TIMEOUT) s->fault = error;
    return error;
}

static int is_dead(const pz_session *s)
{
    return s->fault ? refuse(PZ_ENGINE, "this session ended with an engine fault; reset it") : PZ_OK;
}

/* The part of a step that needs no guard of its own: the batch brings one for many sessions. */
void pz_step_guarded(pz_session *s, int a, bool with_mask)
{
    const pz_action *action = &s->puzzle->actions[a];
    game_state *next;
    s->outcome->changed = attempt(s, action, &next);
    if (s->outcome->changed) {
        commit(s, action, next);
        s->outcome->repeats = repeats_count(s, hash_bytes(s->record, (size_t)s->layout.record_size, 1));
        if (with_mask) write_mask(s);
    } else {
        /* Staying where one is counts as seeing the state again. */
        s->outcome->repeats = repeats_count(s, hash_bytes(s->record, (size_t)s->layout.record_size, 1));
    }
}

int pz_session_step(pz_session *s, int a)
{
    if (is_dead(s)) return PZ_ENGINE;
    pz_guard guard;
    pz_enter(&guard, s->pool, step_timeout);
    guard.session = s;
    if (!setjmp(guard.home)) pz_step_guarded(s, a, true);
    if (!guard.error) {
        pz_leave(&guard);
        return PZ_OK;
    }
    return leave_alive(s, &guard);
}

int pz_session_undo(pz_session *s)
{
    static const pz_action undo = PZ_UNDO_ACTION;
    if (is_dead(s)) return PZ_ENGINE;
    pz_guard guard;
    pz_enter(&guard, s->pool, step_timeout);
    guard.session = s;
    if (!setjmp(guard.home)) {
        game_state *next;
        s->outcome->changed = attempt(s, &undo, &next);
        if (s->outcome->changed) commit(s, &undo, next);
        s->outcome->repeats = repeats_count(s, hash_bytes(s->record, (size_t)s->layout.record_size, 1));
        write_mask(s);
    }
    return leave_alive(s, &guard);
}

/* The solved state that follows from here, or a failure with the engine's reason. */
static game_state *solved_state(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    if (!s->puzzle->solved && !engine->can_solve) pz_fail(PZ_NO_SOLUTION, "%s has no solver", s->puzzle->title);
    const char *error = NULL;
    game_state *initial = engine->new_game((midend *)s, s->params, s->privdesc ? s->privdesc : s->desc);
    game_state *solved = NULL;
    if (s->puzzle->solved) {
        solved = s->puzzle->solved(initial, s->state, s->aux, &error);
    } else {
        char *move = engine->solve(initial, s->state, s->aux, &error);
        if (move) {
            solved = engine->execute_move(s->state, move);
            sfree(move);
        }
    }
    engine->free_game(initial);
    if (!solved) pz_fail(PZ_NO_SOLUTION, "%s", error ? error : "the engine found no solution");
    return solved;
}

int pz_session_solve(pz_session *s)
{
    if (is_dead(s)) return PZ_ENGINE;
    pz_guard guard;
    pz_enter(&guard, s->pool, step_timeout);
    guard.session = s;
    guard.interruptible = true;
    if (!setjmp(guard.home)) {
        game_state *solved = solved_state(s), *old = s->state;
        if (s->puzzle->engine->changed_state) s->puzzle->engine->changed_state(s->ui, old, solved);
        push_history(s, old);
        s->state = solved;
        s->outcome->moves++;
        s->outcome->changed = 1;
        publish(s);
    }
    return leave_alive(s, &guard);
}

int pz_session_solution(pz_session *s, void *record)
{
    if (is_dead(s)) return PZ_ENGINE;
    pz_guard guard;
    pz_enter(&guard, s->pool, step_timeout);
    guard.session = s;
    guard.interruptible = true;
    if (!setjmp(guard.home)) {
        game_state *solved = solved_state(s);
        copy_ui(s, s->trial_ui, s->ui);
        memcpy(s->trial_own, s->own, sizeof s->own);
        if (s->puzzle->engine->changed_state) s->puzzle->engine->changed_state(s->trial_ui, s->state, solved);
        observe_board(s, solved, record);
        observe_ui(s, solved, s->trial_ui, s->trial_own, record);
        s->puzzle->engine->free_game(solved);
    }
    return leave_alive(s, &guard);
}

void pz_supersede(pz_session *s, const char *desc, const char *privdesc)
{
    s->desc = dupstr(desc);
    s->privdesc = privdesc ? dupstr(privdesc) : NULL;
    name_instance(s);
}

/* ---- Text ---- */

void pz_print(pz_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) pz_fail(PZ_ENGINE, "cannot format %s", format);
    if (text->length + (size_t)length + 1 > text->room) {
        text->room = (text->length + (size_t)length + 1) * 2;
        text->chars = sresize(text->chars, text->room, char);
    }
    vsnprintf(text->chars + text->length, (size_t)length + 1, format, again);
    va_end(again);
    text->length += (size_t)length;
}

static int32_t item(const pz_field *field, const char *bytes, int i)
{
    const char *at = bytes + field->offset + i * field->itemsize;
    switch (field->itemsize) {
      case 1: return *(const int8_t *)at;
      case 2: return *(const int16_t *)at;
      default: return *(const int32_t *)at;
    }
}

/* Where neither the engine nor the puzzle's file can draw this size: the fields themselves, row by row. */
static void print_fields(pz_session *s, pz_text *text)
{
    for (const pz_field *field = s->layout.fields; field < s->first_ui_field; field++) {
        int width = field->ndim ? field->shape[field->ndim - 1] : 1;
        pz_print(text, field->ndim > 1 ? "%s:\n" : "%s:", field->name);
        for (int i = 0; i < field->count; i++)
            pz_print(text, "%3d%s", item(field, s->record, i), (i + 1) % width ? "" : "\n");
    }
}

static void print_ui(pz_session *s, pz_text *text)
{
    const pz_field *end = s->layout.fields + s->layout.n_fields;
    const char *separator = "";
    for (const pz_field *field = s->first_ui_field; field < end; field++) {
        if (field->count > 16) continue;
        pz_print(text, "%s%s", separator, field->name);
        for (int i = 0; i < field->count; i++) pz_print(text, " %d", item(field, s->record, i));
        separator = ", ";
    }
    if (*separator) pz_print(text, "\n");
}

int pz_session_text(pz_session *s, const char **result)
{
    if (is_dead(s)) return PZ_ENGINE;
    const game *engine = s->puzzle->engine;
    pz_guard guard;
    pz_enter(&guard, s->pool, step_timeout);
    guard.session = s;
    if (!setjmp(guard.home)) {
        pz_text text = {NULL, 0, 0};
        char *board = NULL;
        if (s->puzzle->text)
            board = s->puzzle->text(s->params, s->state, s->ui, s->own);
        else if (engine->can_format_as_text_ever && engine->can_format_as_text_now(s->params))
            board = engine->text_format(s->state);
        if (board)
            pz_print(&text, "%s%s", board, *board && board[strlen(board) - 1] == '\n' ? "" : "\n");
        else
            print_fields(s, &text);
        sfree(board);
        print_ui(s, &text);
        free(s->output);
        s->output = malloc(text.length + 1);
        if (!s->output) pz_fail(PZ_ENGINE, "out of memory");
        memcpy(s->output, text.chars ? text.chars : "", text.length + 1);
        sfree(text.chars);
        *result = (const char *)s->output;
    }
    return leave_alive(s, &guard);
}

/* ---- Save, load, clone ---- */

static const char magic[8] = "pzport1\n";
enum { DIGEST = 20, SAVE_HEAD = 8 };

typedef struct writer {
    pz_visitor visitor;
    uint8_t *bytes;
    size_t length, room;
} writer;

static void put(writer *w, const void *data, size_t size)
{
    if (w->length + size > w->room) {
        size_t room = (w->length + size) * 2 + 256;
        uint8_t *moved = realloc(w->bytes, room);
        if (!moved) pz_fail(PZ_ENGINE, "out of memory");
        w->bytes = moved;
        w->room = room;
    }
    memcpy(w->bytes + w->length, data, size);
    w->length += size;
}

static void put_int(writer *w, int64_t value)
{
    put(w, &value, sizeof value);
}

static void put_string(writer *w, const char *text)
{
    put_int(w, text ? (int64_t)strlen(text) : -1);
    if (text) put(w, text, strlen(text));
}

static void put_block(pz_visitor *visitor, void *data, size_t size)
{
    put_int((writer *)visitor, (int64_t)size);
    put((writer *)visitor, data, size);
}

typedef struct reader {
    pz_visitor visitor;
    const uint8_t *at, *end;
} reader;

static void get(reader *r, void *data, size_t size)
{
    if ((size_t)(r->end - r->at) < size) pz_fail(PZ_CORRUPT, "the saved session is truncated");
    memcpy(data, r->at, size);
    r->at += size;
}

static int64_t get_int(reader *r, int64_t low, int64_t high)
{
    int64_t value;
    get(r, &value, sizeof value);
    if (value < low || value > high) pz_fail(PZ_CORRUPT, "the saved session holds a number out of range");
    return value;
}

static char *get_string(reader *r)
{
    int64_t length = get_int(r, -1, r->end - r->at);
    if (length < 0) return NULL;
    char *text = snewn(length + 1, char);
    get(r, text, (size_t)length);
    text[length] = '\0';
    if (strlen(text) != (size_t)length) pz_fail(PZ_CORRUPT, "the saved session holds a broken string");
    return text;
}

static void get_block(pz_visitor *visitor, void *data, size_t size)
{
    reader *r = (reader *)visitor;
    get_int(r, (int64_t)size, (int64_t)size);
    get(r, data, size);
}

static void visit_ui(pz_session *s, pz_visitor *visitor)
{
    if (s->puzzle->visit_ui)
        s->puzzle->visit_ui(s->ui, s->state, visitor);
    else if (s->puzzle->ui_size)
        visitor->visit(visitor, s->ui, s->puzzle->ui_size);
    visitor->visit(visitor, s->own, sizeof s->own);
}

static void pack(pz_session *s, writer *w)
{
    w->visitor.visit = put_block;
    put_string(w, s->puzzle->name);
    put_int(w, s->flags);
    put_string(w, s->params_text);
    put_string(w, s->seed);
    put_string(w, s->desc);
    put_string(w, s->privdesc);
    put_string(w, s->aux);
    put_int(w, s->outcome->changed);
    put_int(w, s->outcome->moves);
    put_int(w, s->outcome->repeats);
    put_int(w, s->history_length);
    for (int i = 0; i < s->history_length; i++)
        s->puzzle->visit(s->history[(s->history_start + i) % PZ_HISTORY], &w->visitor);
    s->puzzle->visit(s->state, &w->visitor);
    visit_ui(s, &w->visitor);
    put_int(w, s->repeats_room);
    put_int(w, s->repeats_used);
    for (int32_t i = 0; i < s->repeats_room; i++)
        if (s->repeats[i]) put(w, &s->repeats[i], sizeof *s->repeats);
}

/* What was saved must be a state that play could have reached, as far as the declared bounds tell. */
static void check_bounds(const pz_session *s)
{
    for (const pz_field *field = s->layout.fields; field < s->layout.fields + s->layout.n_fields; field++)
        for (int i = 0; i < field->count; i++) {
            int32_t value = item(field, s->record, i);
            if (value < field->low || value > field->high)
                pz_fail(PZ_CORRUPT, "the saved session has %s out of its bounds", field->name);
        }
}

static void unpack(pz_session *s, reader *r)
{
    const game *engine = s->puzzle->engine;
    r->visitor.visit = get_block;
    s->params_text = get_string(r);
    s->seed = get_string(r);
    s->desc = get_string(r);
    s->privdesc = get_string(r);
    s->aux = get_string(r);
    if (!s->params_text || !s->desc) pz_fail(PZ_CORRUPT, "the saved session names no game");
    build(s);
    name_instance(s);
    int32_t changed = (int32_t)get_int(r, 0, 1);
    int32_t moves = (int32_t)get_int(r, 0, INT32_MAX);
    int32_t repeats = (int32_t)get_int(r, 0, INT32_MAX);
    int history = (int)get_int(r, 0, s->history ? PZ_HISTORY : 0);
    for (int i = 0; i < history; i++) {
        game_state *state = engine->dup_game(s->state);
        s->puzzle->visit(state, &r->visitor);
        s->history[s->history_length++] = state;
    }
    s->puzzle->visit(s->state, &r->visitor);
    visit_ui(s, &r->visitor);
    s->repeats_room = (int32_t)get_int(r, 0, REPEATS_LAST);
    if (s->repeats_room & (s->repeats_room - 1)) pz_fail(PZ_CORRUPT, "the saved session holds a broken table");
    s->repeats_used = (int32_t)get_int(r, 0, s->repeats_room / 4 * 3 + 1);
    if (s->repeats_room) {
        s->repeats = calloc((size_t)s->repeats_room, sizeof *s->repeats);
        if (!s->repeats) pz_fail(PZ_ENGINE, "out of memory");
    }
    for (int32_t i = 0; i < s->repeats_used; i++) {
        pz_repeat entry;
        get(r, &entry, sizeof entry);
        if (!entry) pz_fail(PZ_CORRUPT, "the saved session holds a broken table");
        *repeats_find(s->repeats, s->repeats_room, entry & ~(uint64_t)0xFFFFFF) = entry;
    }
    if (r->at != r->end) pz_fail(PZ_CORRUPT, "the saved session has something behind its end");
    observe_board(s, s->state, s->record);
    observe_ui(s, s->state, s->ui, s->own, s->record);
    check_bounds(s);
    s->outcome->changed = changed;
    s->outcome->moves = moves;
    s->outcome->repeats = repeats;
    judge(s);
    write_mask(s);
}

int pz_session_save(pz_session *s, const uint8_t **bytes, int64_t *size)
{
    if (is_dead(s)) return PZ_ENGINE;
    writer w = {.bytes = NULL};
    pz_guard guard;
    pz_enter(&guard, s->pool, step_timeout);
    if (!setjmp(guard.home)) {
        put(&w, magic, SAVE_HEAD);
        pack(s, &w);
        uint8_t digest[DIGEST];
        SHA_Simple(w.bytes, (int)w.length, digest);
        put(&w, digest, DIGEST);
        free(s->output);
        s->output = w.bytes;
        *bytes = w.bytes;
        *size = (int64_t)w.length;
    }
    return leave_alive(s, &guard);
}

/* Build a session from packed bytes. */
static int revive(const uint8_t *bytes, size_t size, pz_session **result)
{
    pz_session *volatile s = NULL;
    reader r = {.at = bytes, .end = bytes + size};
    *result = NULL;
    pz_pool *names = pz_pool_new();
    if (!names) return refuse(PZ_ENGINE, "out of memory");
    pz_guard guard;
    pz_enter(&guard, names, step_timeout);
    if (!setjmp(guard.home)) {
        char *name = get_string(&r);
        const pz_puzzle *puzzle = NULL;
        for (int i = 0; name && i < pz_count(); i++)
            if (!strcmp(pz_puzzle_at(i)->name, name)) puzzle = pz_puzzle_at(i);
        if (!puzzle) pz_fail(PZ_CORRUPT, "the saved session is of a puzzle that is unknown here");
        s = blank(puzzle, (int)get_int(&r, 0, PZ_FLAG_UNDO | PZ_FLAG_HISTORY));
        if (!s) pz_fail(PZ_ENGINE, "out of memory");
        guard.pool = s->pool;
        guard.session = s;
        unpack(s, &r);
    }
    int error = leave(&guard);
    pz_pool_free(names);
    if (error)
        pz_session_free(s);
    else
        *result = s;
    return error;
}

int pz_session_load(const uint8_t *bytes, int64_t size, pz_session **result)
{
    *result = NULL;
    if (size < SAVE_HEAD + DIGEST) return refuse(PZ_CORRUPT, "the saved session is truncated");
    if (memcmp(bytes, magic, 6)) return refuse(PZ_CORRUPT, "this is no saved session");
    if (memcmp(bytes, magic, SAVE_HEAD)) return refuse(PZ_CORRUPT, "the saved session is of another version");
    uint8_t digest[DIGEST];
    SHA_Simple(bytes, (int)(size - DIGEST), digest);
    if (memcmp(digest, bytes + size - DIGEST, DIGEST)) return refuse(PZ_CORRUPT, "the saved session was altered");
    int error = revive(bytes + SAVE_HEAD, (size_t)size - SAVE_HEAD - DIGEST, result);
    /* A description or parameter that the engine refuses can only come from a blob that we did not write. */
    return error == PZ_BAD_PARAMS || error == PZ_BAD_ID ? PZ_CORRUPT : error;
}

int pz_session_clone(const pz_session *session, pz_session **result)
{
    pz_session *s = (pz_session *)session; /* packing reads only; the visitor's type serves both directions */
    *result = NULL;
    if (is_dead(s)) return PZ_ENGINE;
    writer w = {.bytes = NULL};
    pz_guard guard;
    pz_enter(&guard, s->pool, step_timeout);
    if (!setjmp(guard.home)) pack(s, &w);
    int error = leave(&guard);
    if (!error) error = revive(w.bytes, w.length, result);
    free(w.bytes);
    return error;
}

/* ---- What a session tells of itself ---- */

int pz_n_actions(const pz_session *s)
{
    return s->n_actions;
}

const pz_layout *pz_session_layout(const pz_session *s)
{
    return &s->layout;
}

const char *pz_session_params(const pz_session *s)
{
    return s->params_text;
}

const char *pz_session_seed(const pz_session *s)
{
    return s->seed;
}

const char *pz_session_desc(const pz_session *s)
{
    return s->desc;
}

uint64_t pz_session_hash(const pz_session *s)
{
    return hash_bytes(s->record, (size_t)s->layout.record_size, s->instance_hash);
}

size_t pz_session_memory(const pz_session *s)
{
    return pz_pool_bytes(s->pool) + sizeof *s + (size_t)s->repeats_room * sizeof *s->repeats;
}

/* ---- What a puzzle tells without a session ---- */

/* Run a question about a puzzle in a pool of its own; the answer is copied out before the pool goes. */
static int ask(void (*question)(void *context), void *context)
{
    pz_pool *pool = pz_pool_new();
    if (!pool) return refuse(PZ_ENGINE, "out of memory");
    pz_guard guard;
    pz_enter(&guard, pool, step_timeout);
    if (!setjmp(guard.home)) question(context);
    int error = leave(&guard);
    pz_pool_free(pool);
    return error;
}

static PZ_TLS char *answers[2];

static const char *keep_answer(int slot, const char *text)
{
    free(answers[slot]);
    answers[slot] = malloc(strlen(text) + 1);
    if (!answers[slot]) pz_fail(PZ_ENGINE, "out of memory");
    return strcpy(answers[slot], text);
}

typedef struct params_question {
    const pz_puzzle *puzzle;
    const char *params;
    bool full, check, validate;
    pz_layout *layout;
    const char *answer;
} params_question;

static void ask_params(void *context)
{
    params_question *q = context;
    game_params *params;
    if (q->check) {
        params = decode(q->puzzle, q->params, q->validate);
    } else {
        params = q->puzzle->engine->default_params();
        q->puzzle->engine->decode_params(params, q->params);
    }
    if (q->layout)
        make_layout(q->puzzle, params, q->layout);
    else
        q->answer = keep_answer(0, q->puzzle->engine->encode_params(params, q->full));
}

int pz_params_canonical(const pz_puzzle *puzzle, const char *params, int full, int check, const char **canonical)
{
    params_question q = {puzzle, params, full, check, check, NULL, NULL};
    int error = ask(ask_params, &q);
    *canonical = q.answer;
    return error;
}

int pz_layout_of(const pz_puzzle *puzzle, const char *params, pz_layout *layout)
{
    params_question q = {puzzle, params, true, true, false, layout, NULL};
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

static void ask_preset(void *context)
{
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
    return error || q.params ? error : refuse(PZ_BAD_PARAMS, "no such preset");
}
