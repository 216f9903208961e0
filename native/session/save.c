/*
 * Save, load and clone. A game is rebuilt from its description, and then the blocks that moves change are copied in: so
 * a copy shares nothing with its original and may go to another thread.
 *
 * A blob is versioned and carries a digest. What passes that is still checked, number by number, before it is used.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"

static const char magic[] = "pzport3\n";
_Static_assert(sizeof magic == PZ_SAVE_HEAD + 1, "the head is the magic, without its end");

typedef struct packer {
    pz_visitor visitor;
    uint8_t *bytes;
    size_t length, room;
} packer;

static void put(packer *to, const void *data, size_t size)
{
    if (to->length + size > to->room) {
        size_t room = (to->length + size) * 2 + 256;
        uint8_t *moved = realloc(to->bytes, room);
        if (!moved) pz_fail(PZ_ENGINE, "out of memory");
        to->bytes = moved;
        to->room = room;
    }
    memcpy(to->bytes + to->length, data, size);
    to->length += size;
}

static void put_int(packer *to, int64_t value)
{
    put(to, &value, sizeof value);
}

static void put_string(packer *to, const char *text)
{
    put_int(to, text ? (int64_t)strlen(text) : -1);
    if (text) put(to, text, strlen(text));
}

static void put_block(pz_visitor *visitor, void *data, size_t size)
{
    put_int((packer *)visitor, (int64_t)size);
    put((packer *)visitor, data, size);
}

typedef struct unpacker {
    pz_visitor visitor;
    const uint8_t *at, *end;
} unpacker;

static void get(unpacker *from, void *data, size_t size)
{
    if ((size_t)(from->end - from->at) < size) pz_fail(PZ_CORRUPT, "the saved session is truncated");
    memcpy(data, from->at, size);
    from->at += size;
}

static int64_t get_int(unpacker *from, int64_t low, int64_t high)
{
    int64_t value;
    get(from, &value, sizeof value);
    if (value < low || value > high) pz_fail(PZ_CORRUPT, "the saved session holds a number out of range");
    return value;
}

static char *get_string(unpacker *from)
{
    int64_t length = get_int(from, -1, from->end - from->at);
    if (length < 0) return NULL;
    char *text = snewn(length + 1, char);
    get(from, text, (size_t)length);
    text[length] = '\0';
    if (strlen(text) != (size_t)length) pz_fail(PZ_CORRUPT, "the saved session holds a broken string");
    return text;
}

static void get_block(pz_visitor *visitor, void *data, size_t size)
{
    unpacker *from = (unpacker *)visitor;
    get_int(from, (int64_t)size, (int64_t)size);
    get(from, data, size);
}

static void get_bools(pz_visitor *visitor, void *data, size_t size)
{
    unpacker *from = (unpacker *)visitor;
    get_int(from, (int64_t)size, (int64_t)size);
    for (size_t i = 0; i < size && from->at + i < from->end; i++)
        if (from->at[i] > 1)
            pz_fail(PZ_CORRUPT, "the saved session holds a truth value that is neither true nor false");
    get(from, data, size);
}

void pz_visit_ui(pz_session *s, pz_visitor *visitor)
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
    visitor->visit(visitor, s->extra, sizeof s->extra);
}

/* Every player's ui, the present one's last; whose turn it is stays as it was. */
static void visit_players(pz_session *s, pz_visitor *visitor)
{
    const int present = s->player;
    for (int k = 1; k <= s->n_players; k++) {
        pz_change_places(s, (present + k) % s->n_players);
        pz_visit_ui(s, visitor);
    }
}

/*
 * What goes to the outside has no aux, the engine's note of the solution: it is made again from the seed when
 * needed.
 */
static void pack(pz_session *s, packer *to, bool outside)
{
    to->visitor.visit = to->visitor.visit_bools = put_block;
    put_string(to, s->puzzle->name);
    put_int(to, s->flags);
    put_string(to, s->params_text);
    put_string(to, s->seed);
    put_string(to, s->desc);
    put_string(to, s->privdesc);
    put_string(to, s->first_desc);
    put_string(to, outside ? NULL : s->aux);
    put_int(to, s->outcome->changed);
    put_int(to, s->outcome->moves);
    put_int(to, s->outcome->repeats);
    put_int(to, s->outcome->steps);
    put_int(to, s->max_steps);
    put_int(to, s->max_repeats);
    put_int(to, s->history_length);
    for (int i = 0; i < s->history_length; i++)
        s->puzzle->visit(s->history[(s->history_start + i) % PZ_HISTORY], &to->visitor);
    s->puzzle->visit(s->state, &to->visitor);
    put_int(to, s->n_players);
    put_int(to, s->player);
    visit_players(s, &to->visitor);
    put_int(to, s->repeats_room);
    put_int(to, s->repeats_used);
    /* From behind a gap on, so that putting the entries back in this order gives the very same table. */
    int32_t gap = 0;
    while (gap < s->repeats_room && s->repeats[gap]) gap++;
    for (int32_t i = 1; i <= s->repeats_room; i++) {
        const pz_repeat *entry = &s->repeats[(gap + i) % s->repeats_room];
        if (*entry) put(to, entry, sizeof *entry);
    }
}

/* What was loaded from outside must be a state that play could have reached. */
static void check_state(const pz_session *s, const game_state *state)
{
    const int status = s->puzzle->engine->status(state);
    if (status < -1 || status > 1) pz_fail(PZ_CORRUPT, "the saved session holds a status that does not exist");
    pz_check_board(s, state, PZ_CORRUPT);
}

static void unpack(pz_session *s, unpacker *from, bool outside)
{
    const game *engine = s->puzzle->engine;
    from->visitor.visit = get_block;
    from->visitor.visit_bools = get_bools;
    from->visitor.loading = outside;
    s->params_text = get_string(from);
    s->seed = get_string(from);
    s->desc = get_string(from);
    s->privdesc = get_string(from);
    s->first_desc = get_string(from);
    s->aux = get_string(from);
    if (outside && s->aux) pz_fail(PZ_CORRUPT, "the saved session holds a solution, which no save does");
    if (s->first_desc && !s->privdesc) pz_fail(PZ_CORRUPT, "the saved session was another game before, and is not now");
    if (!s->params_text || !s->desc) pz_fail(PZ_CORRUPT, "the saved session names no game");
    const char *const texts[] = {s->params_text, s->desc, s->privdesc, s->first_desc, s->aux};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (const char *c = texts[t]; c && *c; c++)
            if (*c < ' ' || *c > '~') pz_fail(PZ_CORRUPT, "the saved session holds a broken string");
    if (s->seed && (!*s->seed || strlen(s->seed) > 20 || s->seed[strspn(s->seed, "0123456789")]))
        pz_fail(PZ_CORRUPT, "the saved session holds a broken seed");
    const char *params = s->params_text;
    pz_build(s);
    if (strcmp(params, s->params_text)) pz_fail(PZ_CORRUPT, "the saved session holds parameters in an unknown form");
    pz_name_instance(s);
    int32_t changed = (int32_t)get_int(from, 0, 1);
    int32_t moves = (int32_t)get_int(from, 0, PZ_MANY);
    int32_t repeats = (int32_t)get_int(from, 0, INT32_MAX);
    int32_t steps = (int32_t)get_int(from, 0, PZ_MANY);
    s->max_steps = (int)get_int(from, 0, INT32_MAX);
    s->max_repeats = (int)get_int(from, 0, INT32_MAX);
    int history = (int)get_int(from, 0, s->history ? PZ_HISTORY : 0);
    for (int i = 0; i < history; i++) {
        game_state *state = engine->dup_game(s->state);
        s->puzzle->visit(state, &from->visitor);
        if (outside) check_state(s, state); /* it comes back with an undo */
        s->history[s->history_length++] = state;
    }
    s->puzzle->visit(s->state, &from->visitor);
    const int players = (int)get_int(from, 1, PZ_MAX_PLAYERS);
    if (players > 1) pz_seat(s, players);
    pz_change_places(s, (int)get_int(from, 0, players - 1));
    visit_players(s, &from->visitor);
    s->repeats_room = (int32_t)get_int(from, 0, PZ_REPEATS_LAST);
    if (s->repeats_room & (s->repeats_room - 1)) pz_fail(PZ_CORRUPT, "the saved session holds a broken table");
    s->repeats_used = (int32_t)get_int(from, 0, s->repeats_room / 4 * 3); /* a full table would have no end */
    if (s->repeats_room) s->repeats = pz_repeats_new(s->repeats_room);
    for (int32_t i = 0; i < s->repeats_used; i++) {
        pz_repeat entry;
        get(from, &entry, sizeof entry);
        pz_repeat *place = pz_repeats_find(s->repeats, s->repeats_room, entry);
        if (!(entry >> 63) || *place) pz_fail(PZ_CORRUPT, "the saved session holds a broken table");
        *place = entry;
    }
    if (from->at != from->end) pz_fail(PZ_CORRUPT, "the saved session goes on after its end");
    if (outside) check_state(s, s->state);
    pz_observe_board(s, s->state, s->record);
    for (int k = 1, present = s->player; k <= players; k++) {
        pz_change_places(s, (present + k) % players);
        if (outside) pz_check_ui(s, PZ_CORRUPT);
        pz_observe_ui(s, s->state, s->ui, s->extra, s->record);
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

void pz_seal(uint8_t *bytes, size_t size)
{
    memcpy(bytes, magic, PZ_SAVE_HEAD);
    SHA_Simple(bytes, (int)(size - PZ_SAVE_DIGEST), bytes + size - PZ_SAVE_DIGEST);
}

static void pack_save(pz_session *s, void *context)
{
    static const uint8_t digest[PZ_SAVE_DIGEST];
    packer *to = context;
    put(to, magic, PZ_SAVE_HEAD);
    pack(s, to, true);
    put(to, digest, PZ_SAVE_DIGEST);
    if (to->length > INT_MAX) pz_fail(PZ_ENGINE, "out of memory");
}

static void seal_save(pz_session *none, void *context)
{
    (void)none;
    const packer *packed = context;
    pz_seal(packed->bytes, packed->length);
}

int pz_session_save(pz_session *s, uint8_t **bytes, int64_t *size)
{
    packer packed = {.bytes = NULL};
    int error = pz_call(s, pack_save, &packed);
    /* The digest takes most of the time, and needs the game no more. */
    if (!error) error = pz_guarded(NULL, NULL, pz_step_timeout, true, seal_save, &packed);
    if (error) {
        free(packed.bytes);
        return error;
    }
    *bytes = packed.bytes;
    *size = (int64_t)packed.length;
    return PZ_OK;
}

/* Build a session from packed bytes; those from outside may be anything. */
typedef struct revival {
    unpacker from;
    const uint8_t *sealed; /* NULL, or what is loaded, from its head to its digest */
    bool outside, ruled;
    pz_session *session; /* so far; freed by the caller where it stays unfinished */
} revival;

static void unpack_whole(pz_session *none, void *context)
{
    (void)none;
    revival *r = context;
    if (r->sealed) {
        uint8_t digest[PZ_SAVE_DIGEST];
        SHA_Simple(r->sealed, (int)(r->from.end - r->sealed), digest);
        if (memcmp(digest, r->from.end, PZ_SAVE_DIGEST)) pz_fail(PZ_CORRUPT, "the saved session was altered");
    }
    const char *name = get_string(&r->from);
    const pz_puzzle *puzzle = NULL;
    for (int i = 0; name && i < pz_count(); i++)
        if (!strcmp(pz_puzzle_at(i)->name, name)) puzzle = pz_puzzle_at(i);
    if (!puzzle) pz_fail(PZ_CORRUPT, "the saved session is of a puzzle that is unknown here");
    pz_session *s = r->session = pz_blank(puzzle, (int)get_int(&r->from, 0, PZ_FLAG_UNDO | PZ_FLAG_HISTORY));
    if (!s) pz_fail(PZ_ENGINE, "out of memory");
    pz_current_guard()->pool = s->pool;
    pz_current_guard()->session = s;
    s->ruled = r->ruled;
    if (r->outside) pz_current_guard()->assertion = PZ_CORRUPT;
    unpack(s, &r->from, r->outside);
}

static int revive(revival r, double timeout, pz_session **result)
{
    *result = NULL;
    pz_pool *names = pz_pool_new(); /* until the session has one of its own */
    if (!names) return pz_refuse(PZ_ENGINE, "out of memory");
    int error = pz_guarded(names, NULL, timeout, true, unpack_whole, &r);
    pz_pool_free(names);
    if (error)
        pz_session_free(r.session);
    else
        *result = r.session;
    return error;
}

int pz_session_load(const uint8_t *bytes, int64_t size, pz_session **result)
{
    *result = NULL;
    if (size > INT_MAX) return pz_refuse(PZ_CORRUPT, "this is too large to be a saved session");
    if (size < PZ_SAVE_HEAD + PZ_SAVE_DIGEST) return pz_refuse(PZ_CORRUPT, "the saved session is truncated");
    if (memcmp(bytes, magic, 6)) return pz_refuse(PZ_CORRUPT, "this is no saved session");
    if (memcmp(bytes, magic, PZ_SAVE_HEAD)) return pz_refuse(PZ_CORRUPT, "the saved session is of another version");
    const unpacker from = {.at = bytes + PZ_SAVE_HEAD, .end = bytes + size - PZ_SAVE_DIGEST};
    int error = revive((revival){.from = from, .sealed = bytes, .outside = true}, pz_step_timeout, result);
    /* A description or parameter that the engine refuses can only come from a blob that we did not write. */
    return error == PZ_BAD_PARAMS || error == PZ_BAD_ID ? PZ_CORRUPT : error;
}

/* All that a clone takes over is read in one call, while no other thread can touch it. */
typedef struct original {
    packer packed;
    bool ruled, loaded;
} original;

static void pack_original(pz_session *s, void *context)
{
    original *o = context;
    o->ruled = s->ruled;
    o->loaded = s->loaded;
    pack(s, &o->packed, false);
}

int pz_clone_within(const pz_session *session, double timeout, pz_session **result)
{
    *result = NULL;
    original o = {.packed.bytes = NULL};
    /* Packing reads only; the visitor's type serves both directions. */
    int error = pz_call((pz_session *)session, pack_original, &o);
    if (!error) {
        const unpacker from = {.at = o.packed.bytes, .end = o.packed.bytes + o.packed.length};
        error = revive((revival){.from = from, .ruled = o.ruled}, timeout, result);
        if (!error) (*result)->loaded = o.loaded;
    }
    free(o.packed.bytes);
    return error;
}

int pz_session_clone(const pz_session *session, pz_session **result)
{
    return pz_clone_within(session, pz_step_timeout, result);
}
