/*
 * A snapshot is a head, which names the game, and a body, which holds what moves change. To step one, a session of the
 * same head is taken from a cache or built from its description; the body is written into it, and read from it again.
 *
 * Snapshots come from outside: a digest tells most accidents, and the rest is checked as in a save, number by number.
 */
#include "snapshot.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/chance.h"
#include "session/internal.h"

/* In front of head and body. */
typedef struct snapshot_sizes {
    uint64_t digest; /* of all that follows */
    uint32_t head, body;
} snapshot_sizes;

static const uint64_t digest_key = 0x9AE16A3B2F90404Fu;

/* A session whose game has this head, and how it began: what a body is written over. */
typedef struct world {
    atomic_bool busy;
    pz_session *session;
    game_state *start;
    game_ui *start_ui;
    uint8_t *head;
    uint32_t head_size;
    uint64_t hash;
} world;

enum { WORLDS = 4096, WAYS = 4, MEASURED_STEPS = 200, MOST_SEEN = PZ_REPEATS_LAST / 4 * 3 };
static world worlds[WORLDS];

/* ---- Bytes ---- */

typedef struct writer {
    pz_visitor visitor;
    uint8_t *to; /* NULL to measure */
    size_t length, room;
} writer;

static void put(writer *w, const void *data, size_t size)
{
    if (w->to) {
        if (size > w->room - w->length)
            pz_fail(PZ_CORRUPT,
                    "this game does not fit into a state of %zu bytes; make an environment with a larger state_size",
                    w->room);
        memcpy(w->to + w->length, data, size);
    }
    w->length += size;
}

static void put_block(pz_visitor *visitor, void *data, size_t size)
{
    put((writer *)visitor, data, size);
}

static void put_text(writer *w, const char *text)
{
    const uint8_t there = text != NULL;
    put(w, &there, 1);
    if (text) put(w, text, strlen(text) + 1);
}

static void put_head(writer *w, const pz_session *s)
{
    const uint8_t flags = (uint8_t)s->flags;
    put(w, &flags, 1);
    put_text(w, s->puzzle->name);
    put_text(w, s->params_text);
    put_text(w, s->seed);
    put_text(w, s->desc);
    put_text(w, s->privdesc);
    put_text(w, s->first_desc);
}

typedef struct reader {
    pz_visitor visitor;
    const uint8_t *at, *end;
} reader;

static void get(reader *r, void *data, size_t size)
{
    if ((size_t)(r->end - r->at) < size) pz_fail(PZ_CORRUPT, "this state is truncated");
    memcpy(data, r->at, size);
    r->at += size;
}

static void get_block(pz_visitor *visitor, void *data, size_t size)
{
    get((reader *)visitor, data, size);
}

static void get_bools(pz_visitor *visitor, void *data, size_t size)
{
    reader *r = (reader *)visitor;
    for (size_t i = 0; i < size && r->at + i < r->end; i++)
        if (r->at[i] > 1) pz_fail(PZ_CORRUPT, "this state holds a truth value that is neither true nor false");
    get(r, data, size);
}

static const char *get_text(reader *r)
{
    uint8_t there;
    get(r, &there, 1);
    if (!there) return NULL;
    const uint8_t *text = r->at, *end = memchr(text, '\0', (size_t)(r->end - r->at));
    if (!end) pz_fail(PZ_CORRUPT, "this state is truncated");
    for (const uint8_t *c = text; c < end; c++)
        if (*c < ' ' || *c > '~') pz_fail(PZ_CORRUPT, "this state holds a broken string");
    r->at = end + 1;
    return (const char *)text;
}

/* ---- Bodies ---- */

/* Where the way to the solution is paid: how far it was, and where it leads. */
typedef struct packed_way {
    uint32_t known, compared;
    int32_t wrong_at_start;
} packed_way;

static void put_way(writer *w, const pz_session *s)
{
    const pz_way *way = &s->way;
    const packed_way packed = {way->solution != NULL, way->compared, way->wrong_at_start};
    put(w, &packed, sizeof packed);
    /* Always as many bytes: Mines learns its solution on the way. */
    put(w, way->solution ? way->solution : s->record, (size_t)s->layout->record_size);
}

static void get_way(reader *r, pz_session *s)
{
    packed_way packed;
    get(r, &packed, sizeof packed);
    if (packed.known > 1 || packed.wrong_at_start < 0) pz_fail(PZ_CORRUPT, "this state holds a number out of range");
    char *solution = s->way.solution ? s->way.solution : snewn(s->layout->record_size, char);
    get(r, solution, (size_t)s->layout->record_size);
    if (!packed.known) {
        sfree(solution);
        solution = NULL;
    }
    s->way = (pz_way){solution, packed.compared, packed.wrong_at_start, 0};
}

/* Where UNDO is an action: the states before, the last one last. To measure, as if there were as many as can be. */
static void put_history(writer *w, pz_session *s, const pz_task *task)
{
    const int32_t depth = task->undo_depth < PZ_HISTORY ? task->undo_depth : PZ_HISTORY;
    const int32_t length = s->history_length < depth ? s->history_length : depth;
    put(w, &length, sizeof length);
    const int first = s->history_start + s->history_length - length;
    for (int i = 0; w->to && i < length; i++) s->puzzle->visit(s->history[(first + i) % PZ_HISTORY], &w->visitor);
    for (int i = 0; !w->to && i < depth; i++) s->puzzle->visit(s->state, &w->visitor);
}

static void get_history(const world *at, reader *r)
{
    pz_session *s = at->session;
    const game *engine = s->puzzle->engine;
    while (s->history_length) engine->free_game(s->history[(s->history_start + --s->history_length) % PZ_HISTORY]);
    s->history_start = 0;
    int32_t length;
    get(r, &length, sizeof length);
    if (length < 0 || length > PZ_HISTORY) pz_fail(PZ_CORRUPT, "this state holds a number out of range");
    for (int i = 0; i < length; i++) {
        game_state *state = engine->dup_game(at->start);
        s->history[s->history_length++] = state;
        s->puzzle->visit(state, &r->visitor);
        pz_check_board(s, state, PZ_CORRUPT);
    }
}

/* Where repeats are limited: what was seen and how often. No more is ever seen than there are steps. */
static void put_seen(writer *w, const pz_session *s, const pz_task *task)
{
    const int32_t numbers[2] = {s->outcome->repeats, s->repeats_used};
    put(w, numbers, sizeof numbers);
    for (int32_t i = 0; w->to && i < s->repeats_room; i++)
        if (s->repeats[i]) put(w, &s->repeats[i], sizeof *s->repeats);
    const size_t most = task->max_steps && task->max_steps < MOST_SEEN ? (size_t)task->max_steps + 1 : MOST_SEEN;
    if (!w->to) w->length += most * sizeof *s->repeats;
}

static void get_seen(reader *r, pz_session *s)
{
    int32_t numbers[2];
    get(r, numbers, sizeof numbers);
    if (numbers[0] < 0 || numbers[1] < 0 || numbers[1] > MOST_SEEN)
        pz_fail(PZ_CORRUPT, "this state holds a number out of range");
    s->outcome->repeats = numbers[0];
    int32_t room = PZ_REPEATS_FIRST;
    while (room < PZ_REPEATS_LAST && numbers[1] * 2 > room) room *= 2;
    sfree(s->repeats);
    s->repeats = pz_repeats_new(room);
    s->repeats_room = room;
    s->repeats_used = numbers[1];
    for (int32_t i = 0; i < numbers[1]; i++) {
        pz_repeat entry;
        get(r, &entry, sizeof entry);
        pz_repeat *place = pz_repeats_find(s->repeats, room, entry);
        if (!(entry >> 63) || *place) pz_fail(PZ_CORRUPT, "this state holds a broken table");
        *place = entry;
    }
}

static void put_body(writer *w, pz_session *s, const pz_task *task)
{
    w->visitor.visit = w->visitor.visit_bools = put_block;
    const int32_t numbers[4] = {s->outcome->changed == 1, s->outcome->moves, s->outcome->steps, s->max_steps};
    put(w, numbers, sizeof numbers);
    s->puzzle->visit(s->state, &w->visitor);
    pz_visit_ui(s, &w->visitor);
    if (task->pay->solution) put_way(w, s);
    if (task->flags & PZ_FLAG_UNDO) put_history(w, s, task);
    if (task->max_repeats) put_seen(w, s, task);
}

static void get_body(const world *at, reader *r, const pz_task *task)
{
    pz_session *s = at->session;
    r->visitor.visit = get_block;
    r->visitor.visit_bools = get_bools;
    r->visitor.loading = true;
    int32_t numbers[4];
    get(r, numbers, sizeof numbers);
    for (int i = 0; i < 4; i++)
        if (numbers[i] < 0 || (i != 3 && numbers[i] > PZ_MANY))
            pz_fail(PZ_CORRUPT, "this state holds a number out of range");
    game_state *state = s->puzzle->engine->dup_game(at->start);
    s->puzzle->engine->free_game(s->state);
    s->state = state;
    s->puzzle->visit(state, &r->visitor);
    pz_copy_ui(s, s->ui, at->start_ui, state);
    pz_visit_ui(s, &r->visitor);
    if (task->pay->solution) get_way(r, s);
    s->outcome->repeats = 0;
    if (task->flags & PZ_FLAG_UNDO) get_history(at, r);
    if (task->max_repeats) get_seen(r, s);
    if (r->at != r->end) pz_fail(PZ_CORRUPT, "this state goes on after its end");
    pz_check_board(s, s->state, PZ_CORRUPT);
    pz_check_ui(s, PZ_CORRUPT);
    pz_observe_board(s, s->state, s->record);
    pz_observe_ui(s, s->state, s->ui, s->extra, s->record);
    s->outcome->changed = numbers[0];
    s->outcome->moves = numbers[1];
    s->outcome->steps = numbers[2];
    s->max_steps = numbers[3];
    s->max_repeats = task->max_repeats;
    pz_judge(s);
    s->outcome->ended = pz_end_of(s);
}

/* ---- Worlds ---- */

static void drop(world *at)
{
    pz_session_free(at->session); /* with all that lies in its pool */
    free(at->head);
    at->session = NULL;
    at->head = NULL;
    at->head_size = 0;
    at->hash = 0;
}

static bool is_of(const world *at, const uint8_t *head, uint32_t size, uint64_t hash)
{
    return at->session && at->hash == hash && at->head_size == size && !memcmp(at->head, head, size);
}

/* A world that nobody else uses: the one of this head, else one to build it in. NULL when all places are in use. */
static world *take(const uint8_t *head, uint32_t size, uint64_t hash)
{
    world *spare = NULL;
    for (int way = 0; way < WAYS; way++) {
        world *at = &worlds[(hash + (uint64_t)way) % WORLDS];
        if (atomic_exchange_explicit(&at->busy, true, memory_order_acquire)) continue;
        if (is_of(at, head, size, hash)) {
            if (spare) atomic_store_explicit(&spare->busy, false, memory_order_release);
            return at;
        }
        if (!spare || (spare->session && !at->session)) {
            if (spare) atomic_store_explicit(&spare->busy, false, memory_order_release);
            spare = at;
        } else {
            atomic_store_explicit(&at->busy, false, memory_order_release);
        }
    }
    if (spare) drop(spare);
    return spare;
}

/* Keep how the game of a new session began. */
static void settle(world *at)
{
    pz_session *s = at->session;
    at->start = s->puzzle->engine->dup_game(s->state);
    at->start_ui = s->puzzle->engine->new_ui(s->state);
    pz_copy_ui(s, at->start_ui, s->ui, s->state);
}

static void build(pz_session *s, void *context)
{
    world *at = context;
    reader r = {.at = at->head, .end = at->head + at->head_size};
    uint8_t flags;
    get(&r, &flags, 1); /* of the session that this is built in */
    const char *const name = get_text(&r), *const params = get_text(&r), *const seed = get_text(&r),
                      *const desc = get_text(&r), *const privdesc = get_text(&r), *const first_desc = get_text(&r);
    if (r.at != r.end || !name || !params || !desc) pz_fail(PZ_CORRUPT, "this state names no game");
    if (seed && (!*seed || strlen(seed) > 20 || seed[strspn(seed, "0123456789")]))
        pz_fail(PZ_CORRUPT, "this state holds a broken seed");
    s->params_text = dupstr(params);
    s->seed = seed ? dupstr(seed) : NULL;
    s->desc = dupstr(desc);
    s->privdesc = privdesc ? dupstr(privdesc) : NULL;
    if (first_desc && !privdesc) pz_fail(PZ_CORRUPT, "this state was another game before, and is not now");
    s->first_desc = first_desc ? dupstr(first_desc) : NULL;
    s->ruled = seed != NULL;
    pz_build(s);
    pz_name_instance(s);
    s->loaded = true;
    settle(at);
}

/* ---- Steps ---- */

typedef struct turn {
    world *at;
    const pz_task *task;
    reader from;
    bool start;
    int64_t action, room, used;
    const pz_snapshot_view *out; /* NULL to measure only */
    bool moved_on; /* the session's game has another head now */
} turn;

static void write_snapshot(turn *t)
{
    pz_session *s = t->at->session;
    uint8_t *bytes = t->out ? t->out->bytes : NULL;
    writer w = {.to = bytes, .room = (size_t)t->room};
    snapshot_sizes sizes = {0};
    put(&w, &sizes, sizeof sizes);
    put_head(&w, s);
    sizes.head = (uint32_t)(w.length - sizeof sizes);
    put_body(&w, s, t->task);
    sizes.body = (uint32_t)(w.length - sizeof sizes - sizes.head);
    t->used = (int64_t)w.length;
    if (!bytes) return;
    memset(bytes + w.length, 0, (size_t)t->room - w.length);
    memcpy(bytes, &sizes, sizeof sizes);
    sizes.digest = pz_hash_bytes(bytes + 8, w.length - 8, digest_key);
    memcpy(bytes, &sizes, sizeof sizes);
}

/* Some games get a longer description on the way (Mines, with the first opening): the longest counts. */
static void measure_later(turn *t)
{
    pz_session *s = t->at->session;
    const int64_t first = t->used;
    uint64_t noise = s->instance_hash;
    for (int step = 0; step < MEASURED_STEPS && !s->outcome->ended; step++)
        pz_step_guarded(s, pz_draw_below(&noise, s->n_actions), true);
    write_snapshot(t);
    if (t->used < first) t->used = first;
}

static void look(pz_session *s, const pz_pay *pay)
{
    int error = pz_pay_look(s, pay);
    if (error) pz_fail(error, "%s", pz_last_error());
}

static void play(pz_session *s, void *context)
{
    turn *t = context;
    bool over = false;
    float paid = 0;
    if (t->start) {
        settle(t->at);
        look(s, t->task->pay);
        s->max_steps = t->task->max_steps;
        s->max_repeats = t->task->max_repeats;
        s->outcome->ended = pz_end_of(s);
    } else {
        get_body(t->at, &t->from, t->task);
        s->way.potential = NAN;
        if (s->way.solution || !t->task->pay->solution) look(s, t->task->pay);
        if (t->action < 0 || t->action >= s->n_actions)
            pz_fail(PZ_BAD_ID, "the action %lld; %s has the actions 0 to %d", (long long)t->action, s->puzzle->name,
                    s->n_actions - 1);
        const char *desc = s->desc, *privdesc = s->privdesc;
        over = s->outcome->ended;
        if (!over) {
            pz_step_guarded(s, (int)t->action, !s->max_repeats);
            paid = (float)pz_pay_step(s, t->task->pay);
        }
        t->moved_on = s->desc != desc || s->privdesc != privdesc;
        pz_write_mask(s); /* also where the game was over, or nothing changed */
    }
    write_snapshot(t);
    if (!t->out) {
        measure_later(t);
        return;
    }
    memcpy(t->out->record, s->record, (size_t)s->layout->record_size);
    memcpy(t->out->mask, s->mask, (size_t)s->n_actions);
    *t->out->outcome = *s->outcome;
    *t->out->reward = paid;
}

static int draw(turn *t)
{
    const pz_snapshot_view *out = t->out;
    if (!out || !out->frame) return PZ_OK;
    return pz_session_pixels(t->at->session, out->width, out->height, out->form, out->frame);
}

/* Play a turn in a world that was taken, and give the world back. */
static int finish(turn *t, bool shared)
{
    world *at = t->at;
    int error = pz_guarded(at->session->pool, at->session, pz_step_timeout, false, play, t);
    if (!error) error = draw(t);
    if (!shared || error || t->moved_on) drop(at);
    if (shared) atomic_store_explicit(&at->busy, false, memory_order_release);
    return error;
}

static int start(const pz_task *task, uint64_t seed, int64_t room, const pz_snapshot_view *out, int64_t *used)
{
    world at = {.session = NULL};
    int error = pz_task_session(task, seed, &at.session);
    if (error) return error;
    turn t = {.at = &at, .task = task, .start = true, .room = room, .out = out};
    error = finish(&t, false);
    *used = t.used;
    return error;
}

int pz_snapshot_measure(const pz_task *task, uint64_t seed, int64_t *size)
{
    return start(task, seed, 0, NULL, size);
}

int pz_snapshot_start(const pz_task *task, uint64_t seed, int64_t room, const pz_snapshot_view *out)
{
    int64_t used;
    return start(task, seed, room, out, &used);
}

/* Whether a head begins with these flags and these two texts. */
static bool names(const uint8_t *head, size_t size, int flags, const char *puzzle, const char *params)
{
    const size_t first = strlen(puzzle) + 1, second = strlen(params) + 1;
    return size >= first + second + 3 && head[0] == flags && head[1] == 1 && !memcmp(head + 2, puzzle, first) &&
           head[2 + first] == 1 && !memcmp(head + 3 + first, params, second);
}

int pz_snapshot_step(const pz_task *task, const uint8_t *bytes, int64_t room, int64_t action,
                     const pz_snapshot_view *out)
{
    snapshot_sizes sizes;
    if ((size_t)room < sizeof sizes) return pz_refuse(PZ_CORRUPT, "this state is truncated");
    memcpy(&sizes, bytes, sizeof sizes);
    const uint64_t used = sizeof sizes + (uint64_t)sizes.head + sizes.body;
    if (used > (uint64_t)room || sizes.digest != pz_hash_bytes(bytes + 8, (size_t)used - 8, digest_key))
        return pz_refuse(PZ_CORRUPT, "these bytes are no state, or were altered: states come from init and step_pure");
    const uint8_t *head = bytes + sizeof sizes;
    if (!names(head, sizes.head, task->flags, task->puzzle->name, task->params))
        return pz_refuse(PZ_CORRUPT, "this state is of another puzzle or of other parameters");
    const uint64_t hash = pz_hash_bytes(head, sizes.head, digest_key);
    world own = {.session = NULL}, *at = take(head, sizes.head, hash);
    const bool shared = at != NULL;
    if (!shared) at = &own;
    int error = PZ_OK;
    if (!at->session) {
        at->session = pz_blank(task->puzzle, task->flags);
        at->head = malloc(sizes.head);
        at->head_size = sizes.head;
        at->hash = hash;
        if (at->session && at->head) {
            memcpy(at->head, head, sizes.head);
            error = pz_guarded(at->session->pool, at->session, pz_step_timeout, false, build, at);
        } else {
            error = pz_refuse(PZ_ENGINE, "out of memory");
        }
    }
    if (error) {
        drop(at);
        if (shared) atomic_store_explicit(&at->busy, false, memory_order_release);
        /* A description or parameter that the engine refuses can only come from bytes that we did not write. */
        return error == PZ_BAD_PARAMS || error == PZ_BAD_ID ? PZ_CORRUPT : error;
    }
    turn t = {.at = at,
              .task = task,
              .from = {.at = head + sizes.head, .end = bytes + used},
              .action = action,
              .room = room,
              .out = out};
    return finish(&t, shared);
}
