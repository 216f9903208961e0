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

#include "drawing/draw.h"
#include "host/guard.h"
#include "session/internal.h"
#include "session.h"

double pz_max_cells = 2500;

/* Held while a puzzle that builds its complaints about a description in a static buffer looks at one. */
PZ_LOCK(validate_lock)

const char *pz_last_error(void)
{
    return pz_own_notes()->error;
}

/* Leave the guard and carry its verdict to whoever asks for the last error. */
int pz_carry(pz_guard *guard)
{
    pz_leave(guard);
    if (guard->error) memcpy(pz_own_notes()->error, guard->message, PZ_MESSAGE);
    return guard->error;
}

int pz_refuse(int error, const char *reason)
{
    snprintf(pz_own_notes()->error, PZ_MESSAGE, "%s", reason);
    return error;
}

/* ---- Records ---- */

static void observe_board(const pz_session *s, const game_state *state, char *bytes, int check)
{
    const pz_slot *slots = s->layout->slots;
    pz_record out = {bytes, slots, slots + s->layout->n_board_fields, s->layout, check};
    s->puzzle->observe(state, &out);
}

static void observe_ui(const pz_session *s, const game_state *state, const game_ui *ui, const int *own, char *bytes,
                       int check)
{
    const pz_slot *slots = s->layout->slots;
    pz_record out = {bytes, slots + s->layout->n_board_fields, slots + s->layout->n_fields, s->layout, check};
    if (s->puzzle->observe_ui) s->puzzle->observe_ui(state, ui, own, &out);
}

void pz_observe_board(const pz_session *s, const game_state *state, char *bytes)
{
    observe_board(s, state, bytes, PZ_OK);
}

void pz_observe_ui(const pz_session *s, const game_state *state, const game_ui *ui, const int *own, char *bytes)
{
    observe_ui(s, state, ui, own, bytes, PZ_OK);
}

void pz_check_board(const pz_session *s, const game_state *state, int error)
{
    observe_board(s, state, s->trial_record, error);
}

void pz_check_ui(const pz_session *s, int error)
{
    observe_ui(s, s->state, s->ui, s->own, s->trial_record, error);
}

int32_t pz_item(const pz_field *field, const char *bytes, int i)
{
    const char *at = bytes + field->offset + i * field->itemsize;
    switch (field->itemsize) {
      case 1: return *(const int8_t *)at;
      case 2: return *(const int16_t *)at;
      default: return *(const int32_t *)at;
    }
}

void pz_check_item(const pz_record *out, const pz_slot *slot, int64_t value)
{
    const pz_field *field = &out->layout->fields[slot - out->layout->slots];
    if (value >= field->low && value <= field->high) return;
    pz_fail(out->check, "%s is %lld in one place, outside its bounds %d to %d", field->name, (long long)value, field->low,
            field->high);
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

static uint32_t repeats_place(int32_t room, uint64_t key)
{
    return (uint32_t)(key >> 24) & (uint32_t)(room - 1);
}

pz_repeat *pz_repeats_find(pz_repeat *table, int32_t room, uint64_t key)
{
    uint32_t at = repeats_place(room, key);
    for (;; at = (at + 1) & (uint32_t)(room - 1))
        if (!table[at] || (table[at] & ~(uint64_t)0xFFFFFF) == key) return &table[at];
}

pz_repeat *pz_repeats_new(int32_t room)
{
    pz_repeat *table = snewn((size_t)room, pz_repeat);
    return memset(table, 0, (size_t)room * sizeof *table);
}

static uint64_t repeats_key(const pz_session *s)
{
    return (hash_bytes(s->record, (size_t)s->layout->record_size, 1) & ~(uint64_t)0xFFFFFF) | ((uint64_t)1 << 63);
}

/* Have a place in the table at hand before it is looked at. */
static void repeats_fetch(const pz_session *s, uint64_t key)
{
    if (s->repeats_room) pz_fetch(&s->repeats[repeats_place(s->repeats_room, key)], sizeof *s->repeats);
}

/* How often the present observation was seen before; staying where one is counts as seeing it again. */
static void count_repeats(pz_session *s, uint64_t key)
{
    if (s->repeats_used * 2 >= s->repeats_room && s->repeats_room < PZ_REPEATS_LAST) {
        int32_t room = s->repeats_room ? s->repeats_room * 2 : PZ_REPEATS_FIRST;
        pz_repeat *table = pz_repeats_new(room);
        for (int32_t i = 0; i < s->repeats_room; i++)
            if (s->repeats[i]) *pz_repeats_find(table, room, s->repeats[i] & ~(uint64_t)0xFFFFFF) = s->repeats[i];
        sfree(s->repeats);
        s->repeats = table;
        s->repeats_room = room;
    }
    uint64_t *entry = pz_repeats_find(s->repeats, s->repeats_room, key);
    s->outcome->repeats = 0;
    if (!*entry) {
        /* Past the bound, states not seen before stay uncounted: an episode of that length repeats little. */
        if (s->repeats_used * 4 >= s->repeats_room * 3) return;
        s->repeats_used++;
        *entry = key;
    }
    if ((*entry & 0xFFFFFF) < 0xFFFFFF) ++*entry;
    s->outcome->repeats = (int32_t)(*entry & 0xFFFFFF) - 1;
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

bool pz_attempt(pz_session *s, const pz_action *action, game_state **next)
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
    const size_t board = (size_t)s->layout->ui_offset, ui = (size_t)s->layout->record_size - board;
    if (*next) {
        pz_observe_board(s, *next, s->trial_record);
        if (memcmp(s->trial_record, s->record, board)) {
            pz_observe_ui(s, *next, s->trial_ui, s->trial_own, s->trial_record);
            return true;
        }
        /* The engine made a move that changes nothing: at most the ui did, and there is nothing to undo later. */
        if (action->key != PZ_UNDO) puzzle->engine->free_game(*next);
        *next = NULL;
    }
    if (!puzzle->copy_ui && !memcmp(s->own, s->trial_own, sizeof s->own) &&
        (!puzzle->ui_size || !memcmp(s->ui, s->trial_ui, puzzle->ui_size)))
        return false;
    pz_observe_ui(s, s->state, s->trial_ui, s->trial_own, s->trial_record);
    if (!memcmp(s->trial_record + board, s->record + board, ui)) return false;
    memcpy(s->trial_record, s->record, board);
    return true;
}

void pz_write_mask(pz_session *s)
{
    const pz_puzzle *puzzle = s->puzzle;
    for (int a = 0; a < s->n_actions; a++) {
        const pz_action *action = &puzzle->actions[a];
        int legal = s->stuck || !puzzle->legal || action->key == PZ_UNDO
            ? -1 : puzzle->legal(s->state, s->ui, s->own, action);
        if (legal < 0) {
            game_state *next;
            legal = pz_attempt(s, action, &next);
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
void pz_judge(pz_session *s)
{
    int status = s->puzzle->engine->status(s->state);
    s->stuck = !status && s->puzzle->stuck && s->puzzle->stuck(s->state);
    if (s->stuck && !((s->flags & PZ_FLAG_UNDO) && s->history_length)) status = -1;
    s->outcome->status = status;
}

/* Tell the uis of the players who wait that the state under them is about to change. */
static void tell_waiting(pz_session *s, const game_state *next)
{
    if (!s->puzzle->engine->changed_state) return;
    for (int p = 0; p < s->n_players; p++)
        if (p != s->player) s->puzzle->engine->changed_state(s->players[p].ui, s->state, next);
}

/* Make the attempt real. The trial ui and the ui change places. */
static void commit(pz_session *s, const pz_action *action, game_state *next)
{
    game_ui *ui = s->ui;
    s->ui = s->trial_ui;
    s->trial_ui = ui;
    memcpy(s->own, s->trial_own, sizeof s->own);
    memcpy(s->record, s->trial_record, (size_t)s->layout->record_size);
    if (next) {
        game_state *old = s->state;
        tell_waiting(s, next);
        s->state = next;
        s->outcome->moves++;
        if (action->key == PZ_UNDO) {
            s->history_length--;
            s->puzzle->engine->free_game(old);
        } else {
            push_history(s, old);
        }
        pz_judge(s);
    }
}

void pz_session_limit(pz_session *s, int max_steps, int max_repeats)
{
    s->max_steps = max_steps;
    s->max_repeats = max_repeats;
}

int pz_end_of(const pz_session *s)
{
    const pz_outcome *outcome = s->outcome;
    if (outcome->status) return PZ_TERMINATED;
    if (s->max_steps && outcome->steps >= s->max_steps) return PZ_TRUNCATED;
    if (s->max_repeats && outcome->repeats >= s->max_repeats) return PZ_TRUNCATED;
    return PZ_GOES_ON;
}

/* After any change of the state from outside: everything the caller may read is written anew. */
static void publish(pz_session *s)
{
    pz_observe_board(s, s->state, s->record);
    pz_observe_ui(s, s->state, s->ui, s->own, s->record);
    pz_judge(s);
    count_repeats(s, repeats_key(s));
    s->outcome->ended = pz_end_of(s);
    pz_write_mask(s);
}

/* ---- Building a game ---- */

static void check_cells(const pz_puzzle *puzzle, const game_params *params)
{
    double cells = puzzle->cells(params);
    if (cells > pz_max_cells)
        pz_fail(PZ_BAD_PARAMS, "%.0f cells are more than the limit of %.0f (set_max_cells raises it)", cells,
                pz_max_cells);
}

game_params *pz_decode(const pz_puzzle *puzzle, const char *text, bool to_generate)
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
static void generate(pz_session *s)
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

/* Needs puzzle, params_text, and either seed or desc; runs under a guard with the session's pool. */
void pz_build(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    s->params = pz_decode(s->puzzle, s->params_text, true);
    s->params_text = engine->encode_params(s->params, true);
    if (!s->desc) {
        generate(s);
        validate_desc(s->puzzle, s->params, s->desc, PZ_ENGINE);
    } else {
        validate_desc(s->puzzle, s->params, s->desc, PZ_BAD_ID);
    }
    s->layout = pz_layout_hold(s->puzzle, s->params_text, s->params);
    s->state = engine->new_game((midend *)s, s->params, s->privdesc ? s->privdesc : s->desc);
    pz_pool_clean(s->pool, true);
    s->ui = engine->new_ui(s->state);
    s->trial_ui = engine->new_ui(s->state);
    pz_pool_clean(s->pool, false);
    if (s->puzzle->start_ui) s->puzzle->start_ui(s->state, s->ui, s->own);
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
    s->instance = hash_bytes(s->puzzle->name, strlen(s->puzzle->name), 2);
    s->instance = hash_bytes(s->params_text, strlen(s->params_text), s->instance);
}

void pz_name_instance(pz_session *s)
{
    const char *desc = s->privdesc ? s->privdesc : s->desc;
    s->instance_hash = hash_bytes(desc, strlen(desc), s->instance);
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
    pz_pool_free(s->pool);
    pz_pool_free(s->scratch);
    pz_layout_release(s->layout);
    free(s);
}

int pz_session_new(const pz_puzzle *puzzle, const char *params, const char *seed, const char *desc, int flags,
                   double timeout, pz_session **result)
{
    pz_session *s = pz_blank(puzzle, flags);
    if (!s) return pz_refuse(PZ_ENGINE, "out of memory");
    pz_guard guard;
    pz_enter(&guard, s->pool, timeout);
    guard.session = s;
    guard.interruptible = true;
    guard.started = pz_now();
    if (!setjmp(guard.home)) {
        s->params_text = params ? dupstr(params) : NULL;
        s->seed = seed ? dupstr(seed) : NULL;
        s->desc = desc ? dupstr(desc) : NULL;
        pz_build(s);
        pz_name_instance(s);
        /* The engine lets descriptions pass that no generator would write. */
        if (desc) pz_check_board(s, s->state, PZ_BAD_ID);
        publish(s);
    }
    int error = pz_carry(&guard);
    if (error) {
        pz_session_free(s);
        s = NULL;
    }
    *result = s;
    return error;
}

/* The end of a claim. */
static void release(pz_session *s)
{
    atomic_store_explicit(&s->busy, false, memory_order_release);
}

/* All but the mark that a thread is in there. */
static void move_game(pz_session *to, const pz_session *from)
{
    const size_t head = offsetof(pz_session, puzzle);
    memcpy((char *)to + head, (const char *)from + head, sizeof *to - head);
}

static void bind(pz_session *s, void *record, uint8_t *mask, pz_outcome *outcome)
{
    char *to = record ? record : s->own_record;
    if (to != s->record) memcpy(to, s->record, (size_t)s->layout->record_size);
    s->record = to;
    uint8_t *bits = mask ? mask : s->own_mask;
    if (bits != s->mask) memcpy(bits, s->mask, (size_t)s->n_actions);
    s->mask = bits;
    pz_outcome *verdict = outcome ? outcome : &s->own_outcome;
    if (verdict != s->outcome) *verdict = *s->outcome;
    s->outcome = verdict;
}

void pz_session_take_over(pz_session *s, pz_session *from)
{
    char *record = s->record == s->own_record ? NULL : s->record;
    uint8_t *mask = s->mask == s->own_mask ? NULL : s->mask;
    pz_outcome *outcome = s->outcome == &s->own_outcome ? NULL : s->outcome;
    pz_session old;
    move_game(&old, s);
    move_game(s, from);
    s->max_steps = old.max_steps;
    s->max_repeats = old.max_repeats;
    s->record = s->own_record;
    s->mask = s->own_mask;
    s->outcome = &s->own_outcome;
    if (old.layout->record_size == s->layout->record_size) bind(s, record, mask, outcome);
    move_game(from, &old);
    pz_session_free(from);
}

int pz_session_reset(pz_session *s, const char *params, const char *seed, const char *desc, double timeout)
{
    if (atomic_exchange_explicit(&s->busy, true, memory_order_acquire))
        return pz_refuse(PZ_ENGINE, "this session is in use by another thread; clone it");
    pz_session *fresh;
    int error = pz_session_new(s->puzzle, params ? params : s->params_text, seed, desc, s->flags, timeout, &fresh);
    if (!error && s->n_players > 1) {
        error = pz_session_players(fresh, s->n_players);
        if (error) pz_session_free(fresh);
    }
    if (!error) pz_session_take_over(s, fresh);
    release(s);
    return error;
}

/* ---- Entries that work on a living game ---- */

/* Seconds that one call on a living game may take: far more than any real one does. */
double pz_step_timeout = 30;

/* After a fault the engine's memory cannot be trusted: the game is over for good, and every later call says so. */
int pz_leave_alive(pz_session *s, pz_guard *guard)
{
    int error = pz_carry(guard);
    if (error == PZ_ENGINE || error == PZ_TIMEOUT) s->fault = error;
    release(s);
    return error;
}

int pz_claim(pz_session *s)
{
    if (atomic_exchange_explicit(&s->busy, true, memory_order_acquire))
        return pz_refuse(PZ_ENGINE, "this session is in use by another thread; clone it");
    if (!s->fault) return PZ_OK;
    release(s);
    return pz_refuse(PZ_ENGINE, "this session ended with an engine fault; reset it");
}

void pz_session_fetch(const pz_session *s)
{
    pz_fetch(s->state, 256);
    pz_fetch(s->ui, 128);
    pz_fetch(s->trial_ui, 128);
    pz_fetch(s->ds, 64);
    pz_fetch(s->pool, 256);
    pz_fetch(s->record, (size_t)s->layout->record_size);
    pz_fetch(s->trial_record, (size_t)s->layout->record_size);
}

void pz_step_guarded(pz_session *s, int a, bool lean)
{
    const pz_action *action = &s->puzzle->actions[a];
    game_state *next;
    s->outcome->changed = pz_attempt(s, action, &next);
    s->outcome->steps++;
    if (s->outcome->changed) commit(s, action, next);
    if (!lean) {
        const uint64_t key = repeats_key(s);
        repeats_fetch(s, key);
        if (s->outcome->changed) pz_write_mask(s);
        count_repeats(s, key);
    }
    s->outcome->ended = pz_end_of(s);
}

int pz_session_step(pz_session *s, int a)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    guard.session = s;
    if (!setjmp(guard.home)) pz_step_guarded(s, a, false);
    return pz_leave_alive(s, &guard);
}

/* ---- Players ---- */

void pz_seat(pz_session *s, int n)
{
    s->players = s->players ? sresize(s->players, (size_t)n, pz_player) : snewn((size_t)n, pz_player);
    for (int p = s->n_players; p < n; p++) {
        pz_player *player = &s->players[p];
        memset(player->own, 0, sizeof player->own);
        pz_pool_clean(s->pool, true);
        player->ui = s->puzzle->engine->new_ui(s->state);
        pz_pool_clean(s->pool, false);
        if (s->puzzle->start_ui) s->puzzle->start_ui(s->state, player->ui, player->own);
    }
    s->n_players = n;
}

void pz_change_places(pz_session *s, int player)
{
    if (player == s->player) return;
    pz_player *from = &s->players[s->player], *to = &s->players[player];
    from->ui = s->ui;
    memcpy(from->own, s->own, sizeof s->own);
    s->ui = to->ui;
    memcpy(s->own, to->own, sizeof s->own);
    s->player = player;
}

int pz_session_players(pz_session *s, int n)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    guard.session = s;
    if (!setjmp(guard.home)) {
        if (n < s->n_players || n > PZ_MAX_PLAYERS) pz_fail(PZ_BAD_PARAMS, "players may join up to 64, not leave");
        if (n > s->n_players) pz_seat(s, n);
    }
    return pz_leave_alive(s, &guard);
}

int pz_session_turn(pz_session *s, int player)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    guard.session = s;
    if (!setjmp(guard.home)) {
        if (player < 0 || player >= s->n_players) pz_fail(PZ_BAD_PARAMS, "there is no such player");
        pz_change_places(s, player);
        pz_observe_ui(s, s->state, s->ui, s->own, s->record);
        pz_write_mask(s);
    }
    return pz_leave_alive(s, &guard);
}

int pz_session_undo(pz_session *s)
{
    static const pz_action undo = PZ_UNDO_ACTION;
    int refused = pz_claim(s);
    if (refused) return refused;
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    guard.session = s;
    if (!setjmp(guard.home)) {
        game_state *next;
        s->outcome->changed = pz_attempt(s, &undo, &next);
        if (s->outcome->changed) commit(s, &undo, next);
        s->outcome->ended = pz_end_of(s);
        pz_write_mask(s);
    }
    return pz_leave_alive(s, &guard);
}

/* The solved state that follows from here, or a failure with the engine's reason. */
static game_state *solved_state(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    if (!s->puzzle->solved && !engine->can_solve) pz_fail(PZ_NO_SOLUTION, "%s has no solver", s->puzzle->title);
    const char *error = NULL;
    if (s->loaded && s->seed) generate(s); /* a save has no aux */
    s->loaded = false;
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
    /* For descriptions that no generator wrote, the engine's solvers may end in a state that solves nothing. */
    if (engine->status(solved) != 1) {
        engine->free_game(solved);
        pz_fail(PZ_NO_SOLUTION, "%s", error ? error : "the engine's solution does not solve it");
    }
    return solved;
}

int pz_session_solve(pz_session *s)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    guard.session = s;
    guard.interruptible = true;
    if (!setjmp(guard.home)) {
        game_state *solved = solved_state(s), *old = s->state;
        pz_observe_board(s, solved, s->trial_record);
        s->outcome->changed = memcmp(s->trial_record, s->record, (size_t)s->layout->ui_offset) != 0;
        if (s->outcome->changed) {
            if (s->puzzle->engine->changed_state) s->puzzle->engine->changed_state(s->ui, old, solved);
            tell_waiting(s, solved);
            push_history(s, old);
            s->state = solved;
            s->outcome->moves++;
        } else {
            s->puzzle->engine->free_game(solved); /* it was solved already, and there is nothing to undo later */
        }
        publish(s);
    }
    return pz_leave_alive(s, &guard);
}

int pz_session_solution(pz_session *s, void *record)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    guard.session = s;
    guard.interruptible = true;
    if (!setjmp(guard.home)) {
        game_state *solved = solved_state(s);
        copy_ui(s, s->trial_ui, s->ui);
        memcpy(s->trial_own, s->own, sizeof s->own);
        if (s->puzzle->engine->changed_state) s->puzzle->engine->changed_state(s->trial_ui, s->state, solved);
        pz_observe_board(s, solved, record);
        pz_observe_ui(s, solved, s->trial_ui, s->trial_own, record);
        s->puzzle->engine->free_game(solved);
    }
    return pz_leave_alive(s, &guard);
}

void pz_supersede(pz_session *s, const char *desc, const char *privdesc)
{
    s->desc = dupstr(desc);
    s->privdesc = privdesc ? dupstr(privdesc) : NULL;
    pz_name_instance(s);
}

/* ---- What a session tells of itself ---- */

int pz_n_actions(const pz_session *s)
{
    return s->n_actions;
}

const pz_layout *pz_session_layout(const pz_session *s)
{
    return s->layout;
}

const pz_puzzle *pz_session_puzzle(const pz_session *s)
{
    return s->puzzle;
}

int pz_session_flags(const pz_session *s)
{
    return s->flags;
}

int pz_session_n_players(const pz_session *s)
{
    return s->n_players;
}

int pz_session_player(const pz_session *s)
{
    return s->player;
}

uint64_t pz_session_hash(const pz_session *s)
{
    return hash_bytes(s->record, (size_t)s->layout->record_size, s->instance_hash);
}

int pz_session_hashes(pz_session *s, uint64_t *state, uint64_t *instance)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    *state = pz_session_hash(s);
    *instance = s->instance_hash;
    release(s);
    return PZ_OK;
}

int pz_session_names(pz_session *s, char **params, char **seed, char **desc)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    *params = strdup(s->params_text);
    *seed = strdup(s->seed ? s->seed : "");
    *desc = strdup(s->desc);
    release(s);
    if (*params && *seed && *desc) return PZ_OK;
    free(*params), free(*seed), free(*desc);
    return pz_refuse(PZ_ENGINE, "out of memory");
}

int pz_session_bind(pz_session *s, void *record, uint8_t *mask, pz_outcome *outcome)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    bind(s, record, mask, outcome);
    release(s);
    return PZ_OK;
}

void pz_free(void *memory)
{
    free(memory);
}

size_t pz_session_memory(const pz_session *s)
{
    return pz_pool_bytes(s->pool) + sizeof *s;
}

