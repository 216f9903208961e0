#include "planning/graph.h"

#include <stdlib.h>
#include <string.h>

#include "host/guard.h"

int pz_search_claim(pz_search *t)
{
    const pz_claimed claimed = pz_take(&t->owner);
    if (claimed == PZ_BUSY) return pz_refuse(PZ_ENGINE, "this search is in use by another thread");
    if (claimed == PZ_ABANDONED) t->fault = PZ_FORKED;
    if (!t->fault) return PZ_OK;
    const bool forked = t->fault == PZ_FORKED;
    pz_let_go(&t->owner);
    return pz_refuse(PZ_ENGINE, forked ? "another thread was at work in this search when the process forked; start anew"
                                       : "this search ended with an engine fault; start anew");
}

int pz_search_release(pz_search *t, int error)
{
    pz_let_go(&t->owner);
    return error;
}

/* A node may be left half made, so an interrupted search is over too. */
int pz_search_run(pz_search *t, pz_work work, void *context)
{
    return t->fault = pz_guarded(t->worlds[0]->pool, t->worlds[0], 0, true, work, context);
}

void *pz_grown(void *array, int64_t wanted, size_t size)
{
    void *moved = realloc(array, (size_t)wanted * size);
    if (!moved) pz_fail(PZ_ENGINE, "out of memory");
    return moved;
}

void pz_work_in(pz_session *world)
{
    pz_guard *guard = pz_current_guard();
    guard->pool = world->pool;
    guard->session = world;
}

/* ---- Worlds and nodes ---- */

pz_session *pz_clone_world(const pz_session *session)
{
    pz_session *world;
    int error = pz_session_clone(session, &world);
    if (error) pz_fail(error, "%s", pz_last_error());
    return world;
}

void pz_strip(pz_session *world)
{
    world->flags = 0;
    world->history = NULL; /* the states in it go with the pool */
    world->history_length = 0;
    world->n_actions = 0;
    for (const pz_action *action = world->puzzle->actions; action->name; action++)
        if (action->key != PZ_UNDO) world->n_actions++;
    pz_judge(world);
}

static pz_session *add_world(pz_search *t, pz_session *world)
{
    t->worlds = pz_grown(t->worlds, t->n_worlds + 1, sizeof *t->worlds);
    return t->worlds[t->n_worlds++] = world;
}

void pz_enter_node(const pz_node *n)
{
    pz_session *world = n->world;
    pz_work_in(world);
    world->puzzle->engine->free_game(world->state);
    world->state = world->puzzle->engine->dup_game(n->state);
    pz_copy_ui(world, world->ui, n->ui, n->state);
    memcpy(world->extra, n->extra, sizeof world->extra);
    memcpy(world->record, n->record, (size_t)world->layout->record_size);
    world->stuck = n->stuck;
    world->outcome->status = n->status;
}

bool pz_changes_shared(const pz_session *world, int a)
{
    /* Others than an engine that replaces its description in play have rules for actions that change nothing shared. */
    const pz_puzzle *puzzle = world->puzzle;
    return puzzle->take_back && puzzle->legal(world->state, world->ui, world->extra, &puzzle->actions[a]) > 0;
}

void pz_write_world_mask(pz_session *world)
{
    if (world->outcome->status)
        memset(world->mask, 0, (size_t)world->n_actions);
    else
        pz_write_mask(world);
}

pz_node *pz_make_node(pz_search *t, pz_session *world)
{
    const size_t head = sizeof(pz_node) + (size_t)t->n_edges * sizeof(pz_edge);
    pz_node *n = memset(smalloc(head + t->record_size), 0, head);
    n->record = (char *)n + head;
    n->world = world;
    n->hash = pz_session_hash(world);
    n->status = world->outcome->status;
    n->stuck = world->stuck;
    n->lost = n->status < 0;
    memcpy(n->extra, world->extra, sizeof n->extra);
    memcpy(n->record, world->record, t->record_size);
    if (t->n_edges) {
        pz_write_world_mask(world);
        for (int a = 0; a < t->n_actions; a++) n->legal |= (uint16_t)(world->mask[a] << a);
    }
    if (world->puzzle->engine->new_ui) n->ui = world->puzzle->engine->new_ui(world->state);
    pz_copy_ui(world, n->ui, world->ui, world->state);
    n->state = world->puzzle->engine->dup_game(world->state);
    return n;
}

void pz_free_state(pz_node *n)
{
    if (!n->state) return;
    pz_work_in(n->world);
    if (n->ui) n->world->puzzle->engine->free_ui(n->ui);
    n->world->puzzle->engine->free_game(n->state);
    n->ui = NULL;
    n->state = NULL;
}

void pz_free_node(pz_node *n)
{
    pz_free_state(n);
    sfree(n);
}

static pz_node **find(const pz_search *t, uint64_t hash, const char *record)
{
    const uint64_t last = (uint64_t)t->table_room - 1;
    for (uint64_t at = hash & last;; at = (at + 1) & last) {
        pz_node *n = t->table[at];
        if (!n || (n->hash == hash && (!record || !memcmp(n->record, record, t->record_size)))) return &t->table[at];
    }
}

static void add_node(pz_search *t, pz_node *n)
{
    if (t->count * 2 >= t->table_room) {
        pz_node **table = calloc((size_t)t->table_room * 2, sizeof *table);
        if (!table) pz_fail(PZ_ENGINE, "out of memory");
        free(t->table);
        t->table = table;
        t->table_room *= 2;
        t->all = pz_grown(t->all, t->table_room / 2 + 1, sizeof *t->all);
        for (int64_t i = 0; i < t->count; i++) *find(t, t->all[i]->hash, t->all[i]->record) = t->all[i];
    }
    *find(t, n->hash, n->record) = n;
    t->all[t->count++] = n;
}

pz_node *pz_intern(pz_search *t, pz_session *world, bool *fresh)
{
    pz_node *n = *find(t, pz_session_hash(world), world->record);
    *fresh = !n;
    if (n) return n;
    if (t->count >= t->max_nodes) return NULL;
    n = pz_make_node(t, world);
    add_node(t, n);
    return n;
}

pz_session *pz_step_from(pz_search *t, const pz_node *n, int a)
{
    pz_enter_node(n);
    pz_session *world = n->world;
    if (pz_changes_shared(world, a)) {
        world = add_world(t, pz_clone_world(world));
        pz_strip(world);
        pz_work_in(world);
    }
    pz_step_guarded(world, a, true);
    return world->outcome->changed ? world : NULL;
}

pz_node *pz_child_of(pz_search *t, pz_node *n, int a)
{
    pz_edge *e = &n->edges[a];
    if (!e->to) {
        bool fresh;
        pz_session *world = pz_step_from(t, n, a);
        if (!world) pz_fail(PZ_ENGINE, "a legal action had no effect");
        e->to = pz_intern(t, world, &fresh);
    }
    return e->to;
}

/* ---- Plans ---- */

void pz_keep_plan(pz_search *t, const int32_t *actions, int length, const int32_t *more, int more_length)
{
    const int whole = length + more_length;
    if (t->plan_length >= 0 && t->plan_length <= whole) return;
    if (whole > t->plan_room) {
        t->plan = pz_grown(t->plan, whole, sizeof *t->plan);
        t->plan_room = whole;
    }
    if (length) memcpy(t->plan, actions, (size_t)length * sizeof *t->plan);
    if (more_length) memcpy(t->plan + length, more, (size_t)more_length * sizeof *t->plan);
    t->plan_length = whole;
}

int pz_search_plan(pz_search *t, int32_t **actions, int32_t *length)
{
    *actions = NULL;
    *length = 0;
    int error = pz_search_claim(t);
    if (error || t->plan_length < 0) return error ? error : pz_search_release(t, PZ_OK);
    *length = t->plan_length;
    *actions = malloc(((size_t)*length + 1) * sizeof **actions);
    if (!*actions) return pz_search_release(t, pz_refuse(PZ_ENGINE, "out of memory"));
    if (*length) memcpy(*actions, t->plan, (size_t)*length * sizeof **actions);
    return pz_search_release(t, PZ_OK);
}

/* ---- The search itself ---- */

static int horizon_of(const pz_session *session)
{
    return session->max_steps ? session->max_steps - session->outcome->steps : 1 << 30;
}

/* The nodes go with the pools of their worlds. */
void pz_search_free(pz_search *t)
{
    if (!t || t->fault == PZ_FORKED || pz_is_abandoned(&t->owner))
        return; /* half written: nothing of it can be freed */
    for (int i = 0; i < t->n_worlds; i++) pz_session_free(t->worlds[i]);
    pz_session_free(t->passing);
    for (int i = 0; i < t->pending_room; i++) {
        free(t->pending[i].nodes);
        free(t->pending[i].actions);
    }
    free(t->pending);
    free(t->path.nodes);
    free(t->path.actions);
    free(t->worlds);
    free(t->table);
    free(t->all);
    free(t->plan);
    free(t->trail);
    free(t->on_the_way);
    free(t);
}

typedef struct origin {
    pz_search *search;
    uint64_t hash;
    int horizon;
    bool known;
} origin;

static void plant(pz_session *world, void *context)
{
    const origin *from = context;
    pz_search *t = from->search;
    pz_strip(world);
    t->n_actions = t->n_edges = world->n_actions;
    t->record_size = (size_t)world->layout->record_size;
    t->plan_length = -1;
    t->table_room = 64;
    t->table = calloc((size_t)t->table_room, sizeof *t->table);
    if (!t->table) pz_fail(PZ_ENGINE, "out of memory");
    t->all = pz_grown(NULL, t->table_room / 2 + 1, sizeof *t->all);
    t->horizon = from->horizon;
    t->root = pz_make_node(t, world);
    add_node(t, t->root);
    if (t->root->status > 0) t->plan_length = 0;
}

int pz_search_new(pz_session *session, int max_nodes, uint64_t seed, pz_search **result)
{
    *result = NULL;
    pz_session *world;
    int error = pz_session_clone(session, &world);
    if (error) return error;
    pz_search *t = calloc(1, sizeof *t);
    if (t) t->worlds = calloc(1, sizeof *t->worlds);
    if (!t || !t->worlds) {
        free(t);
        pz_session_free(world);
        return pz_refuse(PZ_ENGINE, "out of memory");
    }
    t->worlds[t->n_worlds++] = world;
    t->noise = seed ^ 0xD1B54A32D192ED03u;
    t->max_nodes = max_nodes;
    error = pz_guarded(world->pool, world, pz_step_timeout, false, plant,
                       &(origin){.search = t, .horizon = horizon_of(world)});
    if (error)
        pz_search_free(t);
    else
        *result = t;
    return error;
}

static void reroot(pz_session *world, void *context)
{
    (void)world;
    origin *to = context;
    pz_search *t = to->search;
    pz_node *next = NULL;
    if (t->root->hash == to->hash) {
        next = t->root;
    } else {
        /* The plan may come from a rollout, whose states are not in the graph yet. */
        pz_node *planned = t->plan_length > 0 ? pz_child_of(t, t->root, t->plan[0]) : NULL;
        if (planned && planned->hash == to->hash) {
            next = planned;
            memmove(t->plan, t->plan + 1, (size_t)--t->plan_length * sizeof *t->plan);
        } else {
            next = *find(t, to->hash, NULL);
            t->plan_length = -1;
        }
    }
    /* More than half full: better to start anew than to run out of room in the middle. */
    if (next && (t->count < t->max_nodes / 2 || t->plan_length >= 0)) {
        t->root = next;
        t->horizon = to->horizon;
        if (t->plan_length > t->horizon) t->plan_length = -1;
        to->known = true;
    }
}

int pz_search_reroot(pz_search *t, pz_session *session, int *known)
{
    *known = 0;
    int error = pz_claim(session);
    if (error) return error;
    origin to = {.search = t, .hash = pz_session_hash(session), .horizon = horizon_of(session)};
    pz_release(session);
    error = pz_search_claim(t);
    if (error) return error;
    error = pz_search_run(t, reroot, &to);
    *known = to.known;
    return pz_search_release(t, error);
}
