/*
 * Save, load and clone. A game is rebuilt from its description, and then the blocks that moves change are copied in: so a
 * copy shares nothing with its original and may go to another thread.
 *
 * A blob is versioned and carries a digest. What passes that is still checked, number by number, before it is used.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"

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

static void get_bools(pz_visitor *visitor, void *data, size_t size)
{
    reader *r = (reader *)visitor;
    get_int(r, (int64_t)size, (int64_t)size);
    for (size_t i = 0; i < size && r->at + i < r->end; i++)
        if (r->at[i] > 1) pz_fail(PZ_CORRUPT, "the saved session holds a truth value that is none");
    get(r, data, size);
}

static void visit_ui(pz_session *s, pz_visitor *visitor)
{
    const pz_puzzle *puzzle = s->puzzle;
    if (puzzle->visit_ui) {
        puzzle->visit_ui(s->ui, s->state, visitor);
    } else if (puzzle->ui_size) {
        visitor->visit(visitor, s->ui, puzzle->ui_size);
        for (const int *at = puzzle->ui_bools; at && *at >= 0; at++)
            PZ_SOUND(visitor, ((const uint8_t *)s->ui)[*at] <= 1);
    }
    if (puzzle->sound_ui) PZ_SOUND(visitor, puzzle->sound_ui(s->ui, s->state));
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

/* What goes to the outside has no aux, the engine's note of the solution: it is made again from the seed when needed. */
static void pack(pz_session *s, writer *w, bool outside)
{
    w->visitor.visit = w->visitor.visit_bools = put_block;
    put_string(w, s->puzzle->name);
    put_int(w, s->flags);
    put_string(w, s->params_text);
    put_string(w, s->seed);
    put_string(w, s->desc);
    put_string(w, s->privdesc);
    put_string(w, outside ? NULL : s->aux);
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
    /* From behind a gap on, so that putting the entries back in this order gives the very same table. */
    int32_t gap = 0;
    while (gap < s->repeats_room && s->repeats[gap]) gap++;
    for (int32_t i = 1; i <= s->repeats_room; i++) {
        const pz_repeat *entry = &s->repeats[(gap + i) % s->repeats_room];
        if (*entry) put(w, entry, sizeof *entry);
    }
}

static void unpack(pz_session *s, reader *r, bool outside)
{
    const game *engine = s->puzzle->engine;
    r->visitor.visit = get_block;
    r->visitor.visit_bools = get_bools;
    r->visitor.loading = outside;
    s->params_text = get_string(r);
    s->seed = get_string(r);
    s->desc = get_string(r);
    s->privdesc = get_string(r);
    s->aux = get_string(r);
    if (outside && s->aux) pz_fail(PZ_CORRUPT, "the saved session holds what no save does");
    if (!s->params_text || !s->desc) pz_fail(PZ_CORRUPT, "the saved session names no game");
    const char *const texts[] = {s->params_text, s->desc, s->privdesc, s->aux};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (const char *c = texts[t]; c && *c; c++)
            if (*c < ' ' || *c > '~') pz_fail(PZ_CORRUPT, "the saved session holds a broken string");
    if (s->seed && (!*s->seed || strlen(s->seed) > 20 || s->seed[strspn(s->seed, "0123456789")]))
        pz_fail(PZ_CORRUPT, "the saved session holds a broken seed");
    const char *params = s->params_text;
    pz_build(s);
    if (strcmp(params, s->params_text)) pz_fail(PZ_CORRUPT, "the saved session holds parameters in an unknown form");
    pz_name_instance(s);
    int32_t changed = (int32_t)get_int(r, 0, 1);
    int32_t moves = (int32_t)get_int(r, 0, PZ_MANY);
    int32_t repeats = (int32_t)get_int(r, 0, INT32_MAX);
    int32_t steps = (int32_t)get_int(r, 0, PZ_MANY);
    s->max_steps = (int)get_int(r, 0, INT32_MAX);
    s->max_repeats = (int)get_int(r, 0, INT32_MAX);
    int history = (int)get_int(r, 0, s->history ? PZ_HISTORY : 0);
    for (int i = 0; i < history; i++) {
        game_state *state = engine->dup_game(s->state);
        s->puzzle->visit(state, &r->visitor);
        if (outside) pz_check_board(s, state, PZ_CORRUPT); /* it comes back with an undo */
        s->history[s->history_length++] = state;
    }
    s->puzzle->visit(s->state, &r->visitor);
    const int players = (int)get_int(r, 1, PZ_MAX_PLAYERS);
    if (players > 1) pz_seat(s, players);
    pz_change_places(s, (int)get_int(r, 0, players - 1));
    visit_players(s, &r->visitor);
    s->repeats_room = (int32_t)get_int(r, 0, PZ_REPEATS_LAST);
    if (s->repeats_room & (s->repeats_room - 1)) pz_fail(PZ_CORRUPT, "the saved session holds a broken table");
    s->repeats_used = (int32_t)get_int(r, 0, s->repeats_room / 4 * 3); /* a full table would have no end */
    if (s->repeats_room) s->repeats = pz_repeats_new(s->repeats_room);
    for (int32_t i = 0; i < s->repeats_used; i++) {
        pz_repeat entry;
        get(r, &entry, sizeof entry);
        pz_repeat *place = pz_repeats_find(s->repeats, s->repeats_room, entry & ~(uint64_t)0xFFFFFF);
        if (!(entry >> 63) || *place) pz_fail(PZ_CORRUPT, "the saved session holds a broken table");
        *place = entry;
    }
    if (r->at != r->end) pz_fail(PZ_CORRUPT, "the saved session has something behind its end");
    /* What was saved must be a state that play could have reached. */
    if (outside) pz_check_board(s, s->state, PZ_CORRUPT);
    pz_observe_board(s, s->state, s->record);
    for (int k = 1, present = s->player; k <= players; k++) {
        pz_change_places(s, (present + k) % players);
        if (outside) pz_check_ui(s, PZ_CORRUPT);
        pz_observe_ui(s, s->state, s->ui, s->own, s->record);
    }
    s->loaded = outside;
    s->outcome->changed = changed;
    s->outcome->moves = moves;
    s->outcome->repeats = repeats;
    s->outcome->steps = steps;
    pz_judge(s);
    s->outcome->ended = pz_end_of(s);
    pz_write_mask(s);
}

int pz_session_save(pz_session *s, uint8_t **bytes, int64_t *size)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    writer w = {.bytes = NULL};
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    if (!setjmp(guard.home)) {
        put(&w, magic, SAVE_HEAD);
        pack(s, &w, true);
        uint8_t digest[DIGEST];
        SHA_Simple(w.bytes, (int)w.length, digest);
        put(&w, digest, DIGEST);
        *bytes = w.bytes;
        *size = (int64_t)w.length;
    }
    if (guard.error) free(w.bytes);
    return pz_leave_alive(s, &guard);
}

/* Build a session from packed bytes; those from outside may be anything. */
static int revive(const uint8_t *bytes, size_t size, bool outside, pz_session **result)
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
        unpack(s, &r, outside);
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
    if (size > INT_MAX) return pz_refuse(PZ_CORRUPT, "the saved session is too large to be one");
    if (size < SAVE_HEAD + DIGEST) return pz_refuse(PZ_CORRUPT, "the saved session is truncated");
    if (memcmp(bytes, magic, 6)) return pz_refuse(PZ_CORRUPT, "this is no saved session");
    if (memcmp(bytes, magic, SAVE_HEAD)) return pz_refuse(PZ_CORRUPT, "the saved session is of another version");
    uint8_t digest[DIGEST];
    SHA_Simple(bytes, (int)(size - DIGEST), digest);
    if (memcmp(digest, bytes + size - DIGEST, DIGEST)) return pz_refuse(PZ_CORRUPT, "the saved session was altered");
    int error = revive(bytes + SAVE_HEAD, (size_t)size - SAVE_HEAD - DIGEST, true, result);
    /* A description or parameter that the engine refuses can only come from a blob that we did not write. */
    return error == PZ_BAD_PARAMS || error == PZ_BAD_ID ? PZ_CORRUPT : error;
}

int pz_session_clone(const pz_session *session, pz_session **result)
{
    pz_session *s = (pz_session *)session; /* packing reads only; the visitor's type serves both directions */
    *result = NULL;
    int refused = pz_claim(s);
    if (refused) return refused;
    writer w = {.bytes = NULL};
    pz_guard guard;
    pz_enter(&guard, s->pool, pz_step_timeout);
    if (!setjmp(guard.home)) pack(s, &w, false);
    int error = pz_leave_alive(s, &guard);
    if (!error) error = revive(w.bytes, w.length, false, result);
    if (!error) (*result)->loaded = s->loaded;
    free(w.bytes);
    return error;
}

