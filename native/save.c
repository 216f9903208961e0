/*
 * Save, load and clone. A game is rebuilt from its description, and then the blocks that moves change are copied in: so a
 * copy shares nothing with its original and may go to another thread.
 *
 * A blob is versioned and carries a digest. What passes that is still checked, number by number, before it is used.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const char magic[8] = "pzport2\n";
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

/* Every player's ui, the present one's last; whose turn it is stays as it was. */
static void visit_players(pz_session *s, pz_visitor *visitor)
{
    const int present = s->player;
    for (int k = 1; k <= s->n_players; k++) {
        pz_change_places(s, (present + k) % s->n_players);
        visit_ui(s, visitor);
    }
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
    put_int(w, s->outcome->steps);
    put_int(w, s->max_steps);
    put_int(w, s->max_repeats);
    put_int(w, s->history_length);
    for (int i = 0; i < s->history_length; i++)
        s->puzzle->visit(s->history[(s->history_start + i) % PZ_HISTORY], &w->visitor);
    s->puzzle->visit(s->state, &w->visitor);
    put_int(w, s->n_players);
    put_int(w, s->player);
    visit_players(s, &w->visitor);
    put_int(w, s->repeats_room);
    put_int(w, s->repeats_used);
    for (int32_t i = 0; i < s->repeats_room; i++)
        if (s->repeats[i]) put(w, &s->repeats[i], sizeof *s->repeats);
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
    pz_build(s);
    pz_name_instance(s);
    int32_t changed = (int32_t)get_int(r, 0, 1);
    int32_t moves = (int32_t)get_int(r, 0, INT32_MAX);
    int32_t repeats = (int32_t)get_int(r, 0, INT32_MAX);
    int32_t steps = (int32_t)get_int(r, 0, INT32_MAX);
    s->max_steps = (int)get_int(r, 0, INT32_MAX);
    s->max_repeats = (int)get_int(r, 0, INT32_MAX);
    int history = (int)get_int(r, 0, s->history ? PZ_HISTORY : 0);
    for (int i = 0; i < history; i++) {
        game_state *state = engine->dup_game(s->state);
        s->puzzle->visit(state, &r->visitor);
        s->history[s->history_length++] = state;
    }
    s->puzzle->visit(s->state, &r->visitor);
    const int players = (int)get_int(r, 1, PZ_MAX_PLAYERS);
    if (players > 1) pz_seat(s, players);
    pz_change_places(s, (int)get_int(r, 0, players - 1));
    visit_players(s, &r->visitor);
    s->repeats_room = (int32_t)get_int(r, 0, PZ_REPEATS_LAST);
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
        *pz_repeats_find(s->repeats, s->repeats_room, entry & ~(uint64_t)0xFFFFFF) = entry;
    }
    if (r->at != r->end) pz_fail(PZ_CORRUPT, "the saved session has something behind its end");
    pz_observe_board(s, s->state, s->record);
    for (int k = 1, present = s->player; k <= players; k++) {
        pz_change_places(s, (present + k) % players);
        pz_observe_ui(s, s->state, s->ui, s->own, s->record);
        pz_check_bounds(s, PZ_CORRUPT); /* what was saved must be a state that play could have reached */
    }
    s->outcome->changed = changed;
    s->outcome->moves = moves;
    s->outcome->repeats = repeats;
    s->outcome->steps = steps;
    pz_judge(s);
    s->outcome->ended = pz_end_of(s);
    pz_write_mask(s);
}

int pz_session_save(pz_session *s, const uint8_t **bytes, int64_t *size)
{
    if (pz_is_dead(s)) return PZ_ENGINE;
    writer w = {.bytes = NULL};
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
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
    return pz_leave_alive(s, &guard);
}

/* Build a session from packed bytes. */
static int revive(const uint8_t *bytes, size_t size, pz_session **result)
{
    pz_session *volatile s = NULL;
    reader r = {.at = bytes, .end = bytes + size};
    *result = NULL;
    pz_pool *names = pz_pool_new();
    if (!names) return pz_refuse(PZ_ENGINE, "out of memory");
    pz_guard guard;
    pz_enter(&guard, names, pz_step_timeout);
    if (!setjmp(guard.home)) {
        char *name = get_string(&r);
        const pz_puzzle *puzzle = NULL;
        for (int i = 0; name && i < pz_count(); i++)
            if (!strcmp(pz_puzzle_at(i)->name, name)) puzzle = pz_puzzle_at(i);
        if (!puzzle) pz_fail(PZ_CORRUPT, "the saved session is of a puzzle that is unknown here");
        s = pz_blank(puzzle, (int)get_int(&r, 0, PZ_FLAG_UNDO | PZ_FLAG_HISTORY));
        if (!s) pz_fail(PZ_ENGINE, "out of memory");
        guard.pool = s->pool;
        guard.session = s;
        unpack(s, &r);
    }
    int error = pz_carry(&guard);
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
    if (size < SAVE_HEAD + DIGEST) return pz_refuse(PZ_CORRUPT, "the saved session is truncated");
    if (memcmp(bytes, magic, 6)) return pz_refuse(PZ_CORRUPT, "this is no saved session");
    if (memcmp(bytes, magic, SAVE_HEAD)) return pz_refuse(PZ_CORRUPT, "the saved session is of another version");
    uint8_t digest[DIGEST];
    SHA_Simple(bytes, (int)(size - DIGEST), digest);
    if (memcmp(digest, bytes + size - DIGEST, DIGEST)) return pz_refuse(PZ_CORRUPT, "the saved session was altered");
    int error = revive(bytes + SAVE_HEAD, (size_t)size - SAVE_HEAD - DIGEST, result);
    /* A description or parameter that the engine refuses can only come from a blob that we did not write. */
    return error == PZ_BAD_PARAMS || error == PZ_BAD_ID ? PZ_CORRUPT : error;
}

int pz_session_clone(const pz_session *session, pz_session **result)
{
    pz_session *s = (pz_session *)session; /* packing reads only; the visitor's type serves both directions */
    *result = NULL;
    if (pz_is_dead(s)) return PZ_ENGINE;
    writer w = {.bytes = NULL};
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    if (!setjmp(guard.home)) pack(s, &w);
    int error = pz_carry(&guard);
    if (!error) error = revive(w.bytes, w.length, result);
    free(w.bytes);
    return error;
}

