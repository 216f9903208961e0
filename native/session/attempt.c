/*
 * One attempt serves mask, step, undo and plan.
 *
 * An action is first attempted on a copy of the ui; only if the observation differs afterwards is the attempt
 * committed. The mask is the same attempt without the commit, so mask and step cannot disagree, and an action without
 * effect changes nothing at all.
 */
#include <string.h>

#include "session/internal.h"

/* ---- Observations ---- */

static void observe_board(const pz_session *s, const game_state *state, char *bytes, int check)
{
    const pz_span *spans = s->layout->spans;
    pz_writer out = {bytes, spans, spans + s->layout->n_board_fields, s->layout, check};
    pz_burn_bytes((size_t)s->layout->ui_offset);
    s->puzzle->observe(state, &out);
}

static void observe_ui(const pz_session *s, const game_state *state, const game_ui *ui, const int *extra, char *bytes,
                       int check)
{
    const pz_span *spans = s->layout->spans;
    pz_writer out = {bytes, spans + s->layout->n_board_fields, spans + s->layout->n_fields, s->layout, check};
    if (s->puzzle->observe_ui) s->puzzle->observe_ui(state, ui, extra, &out);
}

void pz_observe_board(const pz_session *s, const game_state *state, char *bytes)
{
    observe_board(s, state, bytes, PZ_OK);
}

void pz_observe_ui(const pz_session *s, const game_state *state, const game_ui *ui, const int *extra, char *bytes)
{
    observe_ui(s, state, ui, extra, bytes, PZ_OK);
}

void pz_check_board(const pz_session *s, const game_state *state, int error)
{
    observe_board(s, state, s->trial_record, error);
}

void pz_check_ui(const pz_session *s, int error)
{
    observe_ui(s, s->state, s->ui, s->extra, s->trial_record, error);
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

void pz_check_item(const pz_writer *out, const pz_span *span, int64_t value)
{
    const pz_field *field = &out->layout->fields[span - out->layout->spans];
    if (value >= field->low && value <= field->high) return;
    pz_fail(out->check, "%s is %lld in one place, outside its bounds %d to %d", field->name, (long long)value,
            field->low, field->high);
}

/* ---- One attempt ---- */

void pz_copy_ui(const pz_session *s, game_ui *to, const game_ui *from, const game_state *state)
{
    if (s->puzzle->copy_ui)
        s->puzzle->copy_ui(to, from, state);
    else if (s->puzzle->ui_size)
        memcpy(to, from, s->puzzle->ui_size);
}

static game_state *history_top(const pz_session *s)
{
    return s->history_length ? s->history[(s->history_start + s->history_length - 1) % PZ_HISTORY] : NULL;
}

/* Press a key on the trial ui: the engine's move, to be freed, or NULL where at most that ui changed. */
static char *press(pz_session *s, const pz_action *action)
{
    const pz_puzzle *puzzle = s->puzzle;
    pz_copy_ui(s, s->trial_ui, s->ui, s->state);
    memcpy(s->trial_extra, s->extra, sizeof s->extra);
    char *move = puzzle->press ? puzzle->press(s->state, s->trial_ui, s->trial_extra, s->ds, action)
                               : puzzle->engine->interpret_move(s->state, s->trial_ui, s->ds, 0, 0, action->key);
    return move == MOVE_UI_UPDATE || move == MOVE_NO_EFFECT || move == MOVE_UNUSED ? NULL : move;
}

/* Whether the trial ui looks different over the present state; then the trial record holds that. */
static bool ui_differs(pz_session *s)
{
    const pz_puzzle *puzzle = s->puzzle;
    const size_t board = (size_t)s->layout->ui_offset, ui = (size_t)s->layout->record_size - board;
    if (!puzzle->copy_ui && !memcmp(s->extra, s->trial_extra, sizeof s->extra) &&
        (!puzzle->ui_size || !memcmp(s->ui, s->trial_ui, puzzle->ui_size)))
        return false;
    pz_observe_ui(s, s->state, s->trial_ui, s->trial_extra, s->trial_record);
    return memcmp(s->trial_record + board, s->record + board, ui) != 0;
}

static bool stays(const pz_session *s, const pz_action *action)
{
    return s->stuck && action->key != PZ_UNDO;
}

bool pz_attempt(pz_session *s, const pz_action *action, game_state **next)
{
    const game *engine = s->puzzle->engine;
    *next = NULL;
    if (stays(s, action)) return false;
    if (action->key == PZ_UNDO) {
        game_state *previous = history_top(s);
        if (!previous) return false;
        pz_copy_ui(s, s->trial_ui, s->ui, s->state);
        memcpy(s->trial_extra, s->extra, sizeof s->extra);
        if (engine->changed_state) engine->changed_state(s->trial_ui, s->state, previous);
        *next = previous;
    } else {
        char *move = press(s, action);
        if (move) {
            *next = engine->execute_move(s->state, move);
            sfree(move);
            if (*next && engine->changed_state) engine->changed_state(s->trial_ui, s->state, *next);
        }
    }
    const size_t board = (size_t)s->layout->ui_offset;
    if (*next) {
        pz_observe_board(s, *next, s->trial_record);
        if (memcmp(s->trial_record, s->record, board)) {
            pz_observe_ui(s, *next, s->trial_ui, s->trial_extra, s->trial_record);
            return true;
        }
        /* The engine made a move that changes nothing: at most the ui did, and there is nothing to undo later. */
        if (action->key != PZ_UNDO) engine->free_game(*next);
        *next = NULL;
    }
    if (!ui_differs(s)) return false;
    memcpy(s->trial_record, s->record, board);
    return true;
}

/*
 * ---- Masks: by rules beside the puzzles where they have any, else by trying. A description that was written by hand
 * may hold what no generator makes, such as a tile of Net that looks the same however it is turned, and a save may have
 * been forged. There every key is tried. ----
 */

/* What pz_attempt would say, without the state that would follow. */
static bool has_effect(pz_session *s, const pz_action *action)
{
    if (s->ruled && s->puzzle->moves_change && action->key != PZ_UNDO) {
        if (stays(s, action)) return false;
        char *move = press(s, action);
        if (!move) return ui_differs(s);
        sfree(move);
        return true;
    }
    game_state *next;
    const bool differs = pz_attempt(s, action, &next);
    if (next && action->key != PZ_UNDO) s->puzzle->engine->free_game(next);
    return differs;
}

/* By the rule that an arrow has: 1, 0, or -1 to try it. */
static int arrow_moves(const pz_session *s, const pz_action *action)
{
    const bool upright = action->key == CURSOR_UP || action->key == CURSOR_DOWN;
    const pz_field *field = &s->layout->fields[s->layout->cursor[upright]];
    if (action->rule == PZ_ROUND) return field->high > field->low ? 1 : -1;
    const int at = pz_item(field, s->record, 0);
    return action->key == CURSOR_UP || action->key == CURSOR_LEFT ? at > field->low : at < field->high;
}

static int by_rule(const pz_session *s, const pz_action *action)
{
    if (s->ruled && action->rule == PZ_ALWAYS) return 1;
    if (s->ruled && action->rule != PZ_TRY) return arrow_moves(s, action);
    return s->puzzle->legal ? s->puzzle->legal(s->state, s->ui, s->extra, action) : -1;
}

void pz_write_mask(pz_session *s)
{
    /* Rules hold while the game goes on; what engines still take afterwards differs. */
    const bool goes_on = !s->outcome->status && !s->stuck;
    for (int a = 0; a < s->n_actions; a++) {
        const pz_action *action = &s->puzzle->actions[a];
        const int legal = goes_on && action->key != PZ_UNDO ? by_rule(s, action) : -1;
        s->mask[a] = (uint8_t)(legal < 0 ? has_effect(s, action) : legal);
    }
}

void pz_push_history(pz_session *s, game_state *state)
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
void pz_tell_waiting(pz_session *s, const game_state *next)
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
    memcpy(s->extra, s->trial_extra, sizeof s->extra);
    memcpy(s->record, s->trial_record, (size_t)s->layout->record_size);
    if (next) {
        game_state *old = s->state;
        pz_tell_waiting(s, next);
        s->state = next;
        s->outcome->moves++;
        if (action->key == PZ_UNDO) {
            s->history_length--;
            s->puzzle->engine->free_game(old);
            pz_take_back_desc(s);
        } else {
            pz_push_history(s, old);
        }
        pz_judge(s);
    }
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
void pz_publish(pz_session *s)
{
    pz_observe_board(s, s->state, s->record);
    pz_observe_ui(s, s->state, s->ui, s->extra, s->record);
    pz_judge(s);
    pz_repeats_count(s, pz_repeats_key(s));
    s->outcome->ended = pz_end_of(s);
    pz_write_mask(s);
}

bool pz_take_state(pz_session *s, game_state *next)
{
    const game *engine = s->puzzle->engine;
    pz_observe_board(s, next, s->trial_record);
    s->outcome->changed = memcmp(s->trial_record, s->record, (size_t)s->layout->ui_offset) != 0;
    if (!s->outcome->changed) {
        engine->free_game(next);
        return false;
    }
    game_state *old = s->state;
    if (engine->changed_state) engine->changed_state(s->ui, old, next);
    pz_tell_waiting(s, next);
    s->state = next;
    pz_push_history(s, old);
    s->outcome->moves++;
    s->outcome->steps++;
    pz_publish(s);
    return true;
}

/* ---- Steps ---- */

void pz_session_fetch(const pz_session *s)
{
    pz_fetch(s->state, 256);
    pz_fetch(s->ui, 128);
    pz_fetch(s->trial_ui, 128);
    pz_fetch(s->ds, 64);
    pz_fetch(s->pool, 256);
    pz_fetch(s->mask, (size_t)s->n_actions);
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
        const uint64_t key = pz_repeats_key(s);
        pz_repeats_fetch(s, key);
        if (s->outcome->changed) pz_write_mask(s);
        pz_repeats_count(s, key);
    }
    s->outcome->ended = pz_end_of(s);
}

void pz_undo_guarded(pz_session *s)
{
    static const pz_action undo = PZ_UNDO_ACTION;
    game_state *next;
    s->outcome->changed = pz_attempt(s, &undo, &next);
    if (s->outcome->changed) commit(s, &undo, next);
    s->outcome->ended = pz_end_of(s);
    pz_write_mask(s);
}
