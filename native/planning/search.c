/*
 * Search on copies of a session's state.
 *
 * A node holds the engine's state and ui; entering it copies both into a working session, and a step there leads to the
 * next node. Copies of one game share what the engine shares between its states, so they all stay in one thread. Where
 * an action would change what is shared (the first opening in Mines lays the mines), the step is made in a clone: a world
 * of its own, in which all that follows lives.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/chance.h"
#include "host/guard.h"
#include "session/internal.h"
#include "search.h"

typedef struct node node;

typedef struct edge {
    node *to;
    double total;
    int32_t visits;
    float prior;
} edge;

struct node {
    pz_session *world;
    game_state *state; /* NULL once a breadth-first search has done with it */
    game_ui *ui;
    int own[PZ_OWN];
    uint64_t hash;
    char *record;
    node *parent; /* breadth first only, with the action that led here */
    int32_t action, depth;
    int32_t visits, status;
    uint16_t legal;
    bool stuck, lost, on_path, pending, judged;
    edge edges[];
};

typedef struct way {
    node **nodes; /* from the root to the leaf; edge i leads from node i by actions[i] */
    int32_t *actions;
    int length, room;
} way;

struct pz_search {
    pz_session **worlds; /* the first is where the search began */
    int n_worlds;
    pz_session *passing; /* a world for one rollout */
    int n_actions, n_edges;
    size_t record_size;
    uint64_t noise;
    int fault;

    node **table; /* open addressing */
    int64_t table_room;
    node **all;
    int64_t count, max_nodes;
    node *root;
    int horizon; /* steps that the session's own limit leaves */

    way path;
    way *pending;
    int n_pending, pending_room;
    int32_t *plan, *trail; /* trail: the rollout's actions */
    int plan_length, plan_room, trail_room;
    uint64_t *on_the_way; /* hashes of the states along a plan */
    double asked;
    int64_t visited;
};

/* ---- Memory, signals ---- */

/* An array with room for at least so many items; keeps what is in it. */
static void *grown(void *array, int64_t wanted, size_t size)
{
    void *moved = realloc(array, (size_t)wanted * size);
    if (!moved) pz_fail(PZ_ENGINE, "out of memory");
    return moved;
}

static void look_for_signals(pz_search *t)
{
    if (!pz_interrupted) return;
    double now = pz_now();
    if (now - t->asked < 0.05) return;
    t->asked = now;
    if (pz_interrupted()) pz_fail(PZ_INTERRUPTED, "interrupted");
}

/* From now on the engine allocates in this world and tells it of superseded descriptions. */
static void work_in(pz_session *world)
{
    pz_guard *guard = pz_current_guard();
    guard->pool = world->pool;
    guard->session = world;
}

/* ---- Worlds and nodes ---- */

static pz_session *clone_world(const pz_session *session)
{
    pz_session *world;
    int error = pz_session_clone(session, &world);
    if (error) pz_fail(error, "%s", pz_last_error());
    return world;
}

static void copy_ui(const pz_session *world, game_ui *to, const game_ui *from, const game_state *state)
{
    if (world->puzzle->copy_ui)
        world->puzzle->copy_ui(to, from, state);
    else if (world->puzzle->ui_size)
        memcpy(to, from, world->puzzle->ui_size);
}

/* A session without UNDO and without history: what is stuck has failed. */
static void strip(pz_session *world)
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
    t->worlds = grown(t->worlds, t->n_worlds + 1, sizeof *t->worlds);
    return t->worlds[t->n_worlds++] = world;
}

static void enter(const node *n)
{
    pz_session *world = n->world;
    work_in(world);
    world->puzzle->engine->free_game(world->state);
    world->state = world->puzzle->engine->dup_game(n->state);
    copy_ui(world, world->ui, n->ui, n->state);
    memcpy(world->own, n->own, sizeof world->own);
    memcpy(world->record, n->record, (size_t)world->layout->record_size);
    world->stuck = n->stuck;
    world->outcome->status = n->status;
}

/* Whether this action changes what all states of the world share. */
static bool parts(const pz_session *world, int a)
{
    const pz_puzzle *puzzle = world->puzzle;
    return puzzle->legal && puzzle->legal(world->state, world->ui, world->own, &puzzle->actions[a]) > 0;
}

static void write_mask(pz_session *world)
{
    if (world->outcome->status)
        memset(world->mask, 0, (size_t)world->n_actions);
    else
        pz_write_mask(world);
}

/* A copy of where the world stands now; takes no part in the table yet. */
static node *make_node(pz_search *t, pz_session *world)
{
    const size_t head = sizeof(node) + (size_t)t->n_edges * sizeof(edge);
    node *n = calloc(1, head + t->record_size);
    if (!n) pz_fail(PZ_ENGINE, "out of memory");
    n->record = (char *)n + head;
    n->world = world;
    n->hash = pz_session_hash(world);
    n->status = world->outcome->status;
    n->stuck = world->stuck;
    n->lost = n->status < 0;
    memcpy(n->own, world->own, sizeof n->own);
    memcpy(n->record, world->record, t->record_size);
    if (t->n_edges) {
        write_mask(world);
        for (int a = 0; a < t->n_actions; a++) n->legal |= (uint16_t)(world->mask[a] << a);
    }
    if (world->puzzle->engine->new_ui) n->ui = world->puzzle->engine->new_ui(world->state);
    copy_ui(world, n->ui, world->ui, world->state);
    n->state = world->puzzle->engine->dup_game(world->state);
    return n;
}

static void free_state(node *n)
{
    if (!n->state) return;
    work_in(n->world);
    if (n->ui) n->world->puzzle->engine->free_ui(n->ui);
    n->world->puzzle->engine->free_game(n->state);
    n->ui = NULL;
    n->state = NULL;
}

static node **find(const pz_search *t, uint64_t hash, const char *record)
{
    const uint64_t last = (uint64_t)t->table_room - 1;
    for (uint64_t at = hash & last;; at = (at + 1) & last) {
        node *n = t->table[at];
        if (!n || (n->hash == hash && (!record || !memcmp(n->record, record, t->record_size)))) return &t->table[at];
    }
}

static void add_node(pz_search *t, node *n)
{
    if (t->count * 2 >= t->table_room) {
        node **table = calloc((size_t)t->table_room * 2, sizeof *table);
        if (!table) pz_fail(PZ_ENGINE, "out of memory");
        free(t->table);
        t->table = table;
        t->table_room *= 2;
        t->all = grown(t->all, t->table_room / 2 + 1, sizeof *t->all);
        for (int64_t i = 0; i < t->count; i++) *find(t, t->all[i]->hash, t->all[i]->record) = t->all[i];
    }
    *find(t, n->hash, n->record) = n;
    t->all[t->count++] = n;
}

/* The node of where the world stands now: the one that is known, or a new one; NULL when there is no more room. */
static node *intern(pz_search *t, pz_session *world, bool *fresh)
{
    node *n = *find(t, pz_session_hash(world), world->record);
    *fresh = !n;
    if (n) return n;
    if (t->count >= t->max_nodes) return NULL;
    n = make_node(t, world);
    add_node(t, n);
    return n;
}

/* Step from a node, in a world of its own where need be; returns that world, or NULL when nothing changed. */
static pz_session *step_from(pz_search *t, const node *n, int a)
{
    enter(n);
    pz_session *world = n->world;
    if (parts(world, a)) {
        world = add_world(t, clone_world(world));
        strip(world);
        work_in(world);
    }
    pz_step_guarded(world, a, true);
    return world->outcome->changed ? world : NULL;
}

/* Where an edge of the graph leads; NULL when there is no more room. */
static node *child_of(pz_search *t, node *n, int a)
{
    edge *e = &n->edges[a];
    if (!e->to) {
        bool fresh;
        pz_session *world = step_from(t, n, a);
        if (!world) pz_fail(PZ_ENGINE, "a legal action had no effect");
        e->to = intern(t, world, &fresh);
    }
    return e->to;
}

/* ---- Plans ---- */

static void keep_plan(pz_search *t, const int32_t *actions, int length, const int32_t *more, int more_length)
{
    const int whole = length + more_length;
    if (t->plan_length >= 0 && t->plan_length <= whole) return;
    if (whole > t->plan_room) {
        t->plan = grown(t->plan, whole, sizeof *t->plan);
        t->plan_room = whole;
    }
    if (length) memcpy(t->plan, actions, (size_t)length * sizeof *t->plan);
    if (more_length) memcpy(t->plan + length, more, (size_t)more_length * sizeof *t->plan);
    t->plan_length = whole;
}

/* Cut out of the plan what only leads back to a state on the way, as random steps often do. */
static void shorten_plan(pz_search *t)
{
    int kept = 0;
    t->on_the_way = grown(t->on_the_way, t->plan_length + 1, sizeof *t->on_the_way);
    t->on_the_way[0] = t->root->hash;
    pz_session *world = t->root->world;
    enter(t->root);
    for (int i = 0; i < t->plan_length; i++) {
        const int a = t->plan[i];
        if (parts(world, a)) {
            /* From here on nothing can be tried without another world: leave the rest as it is. */
            memmove(t->plan + kept, t->plan + i, (size_t)(t->plan_length - i) * sizeof *t->plan);
            kept += t->plan_length - i;
            break;
        }
        pz_step_guarded(world, a, true);
        const uint64_t hash = pz_session_hash(world);
        t->plan[kept++] = a;
        t->on_the_way[kept] = hash;
        for (int before = 0; before < kept; before++)
            if (t->on_the_way[before] == hash) kept = before;
    }
    t->plan_length = kept;
}

/* ---- Monte Carlo ---- */

static void lengthen(way *w, node *n, int a)
{
    if (w->length + 2 > w->room) {
        w->room = w->room * 2 + 32;
        w->nodes = grown(w->nodes, w->room, sizeof *w->nodes);
        w->actions = grown(w->actions, w->room, sizeof *w->actions);
    }
    if (w->length) w->actions[w->length - 1] = a;
    w->nodes[w->length++] = n;
}

/*
 * The most promising action, or -1 where all lead to what is lost or back into the path. UCT tries everything once, in
 * random order; PUCT leans on the priors.
 */
static int choose(pz_search *t, const node *n, double c, bool puct)
{
    int best = -1, unseen = 0;
    double best_value = -INFINITY;
    const double spread = puct ? c * sqrt((double)n->visits) : c * sqrt(log((double)(n->visits > 1 ? n->visits : 1)));
    for (int a = 0; a < t->n_actions; a++) {
        const edge *e = &n->edges[a];
        if (!(n->legal >> a & 1) || (e->to && (e->to->lost || e->to->on_path))) continue;
        double value;
        if (puct) {
            value = (e->visits ? e->total / e->visits : 0) + spread * e->prior / (e->visits + 1);
        } else if (e->visits) {
            if (unseen) continue;
            value = e->total / e->visits + spread / sqrt((double)e->visits);
        } else {
            if (pz_draw_below(&t->noise, ++unseen)) continue;
            value = INFINITY;
            best_value = 0;
        }
        if (value > best_value) {
            best_value = value;
            best = a;
        }
    }
    return best;
}

/* All ways on from here are lost: so is this. */
static bool is_lost(const pz_search *t, const node *n)
{
    if (n->status) return n->status < 0;
    for (int a = 0; a < t->n_actions; a++)
        if ((n->legal >> a & 1) && !(n->edges[a].to && n->edges[a].to->lost)) return false;
    return true;
}

/* Carry a value up the path and take back the loss that descend() lent to every edge on it. */
static void back_up(pz_search *t, way *path, double value, double discount)
{
    node *leaf = path->nodes[path->length - 1];
    leaf->visits++;
    leaf->on_path = false;
    for (int i = path->length - 2; i >= 0; i--) {
        node *n = path->nodes[i];
        edge *e = &n->edges[path->actions[i]];
        value *= discount;
        e->total += value + 1;
        n->on_path = false;
        if (!n->lost && e->to && e->to->lost) n->lost = is_lost(t, n);
    }
}

/* As if this descent had never been. */
static void take_back(way *path)
{
    for (int i = 0; i < path->length; i++) {
        node *n = path->nodes[i];
        n->on_path = false;
        if (i == path->length - 1) break;
        n->visits--;
        n->edges[path->actions[i]].visits--;
        n->edges[path->actions[i]].total += 1;
    }
}

typedef enum fate { LEAF, ENDED, FULL } fate;

/* From the root to a node that nobody judged yet (LEAF) or one whose value is known. */
static fate descend(pz_search *t, way *path, double c, bool puct, double *value)
{
    path->length = 0;
    lengthen(path, t->root, -1);
    *value = 0;
    for (;;) {
        node *n = path->nodes[path->length - 1];
        n->on_path = true;
        if (n->status || n->lost) {
            *value = n->status ? n->status : -1;
            if (n->status > 0) keep_plan(t, path->actions, path->length - 1, NULL, 0);
            return ENDED;
        }
        if (!n->judged) return LEAF;
        if (path->length > t->horizon) return ENDED;
        int a = choose(t, n, c, puct);
        if (a < 0) return ENDED; /* nothing but the way back */
        node *next = child_of(t, n, a);
        if (!next) return FULL;
        if (next->on_path) {
            /* Only now known to lead back; the next choice here leaves it out. */
            continue;
        }
        /* Until the value is known the visit counts as lost, so that the next descent of a batch goes elsewhere. */
        n->edges[a].visits++;
        n->edges[a].total -= 1;
        n->visits++;
        lengthen(path, next, a);
    }
}

/* Random legal actions from where the world stands. */
static double rollout(pz_search *t, pz_session *world, int depth, double discount, const way *path)
{
    double value = 1;
    int step = 0;
    if (depth > t->trail_room) {
        t->trail = grown(t->trail, depth, sizeof *t->trail);
        t->trail_room = depth;
    }
    for (; step < depth && !world->outcome->status; step++) {
        int a = 0;
        world->outcome->changed = 0;
        /* Drawing until an action has an effect is a uniform draw among the legal ones, and cheaper than the mask. */
        for (int tries = 0; !world->outcome->changed && tries < 2 * t->n_actions; tries++) {
            a = pz_draw_below(&t->noise, t->n_actions);
            if (parts(world, a)) {
                pz_session *apart = clone_world(world);
                pz_session_free(t->passing);
                t->passing = world = apart;
                strip(world);
                work_in(world);
            }
            pz_step_guarded(world, a, true);
        }
        if (!world->outcome->changed) {
            write_mask(world);
            int legal = 0;
            for (int b = 0; b < t->n_actions; b++)
                if (world->mask[b] && !pz_draw_below(&t->noise, ++legal)) a = b;
            if (!legal) break;
            pz_step_guarded(world, a, true);
        }
        t->trail[step] = a;
        value *= discount;
    }
    const int status = world->outcome->status;
    if (status > 0 && (t->plan_length < 0 || path->length - 1 + step < t->plan_length)) {
        keep_plan(t, path->actions, path->length - 1, t->trail, step);
        shorten_plan(t);
    }
    return value * status;
}

static bool begin(pz_search *t, pz_guard *guard)
{
    if (t->fault) {
        pz_refuse(PZ_ENGINE, "this search ended with an engine fault");
        return false;
    }
    pz_enter(guard, t->worlds[0]->pool, 0);
    guard->session = t->worlds[0];
    return true;
}

/* A node may be left half made, so an interrupted search is over too. */
static int finish(pz_search *t, pz_guard *guard)
{
    int error = pz_conclude(guard);
    if (error) t->fault = error;
    return error;
}

int pz_search_simulate(pz_search *t, int simulations, int rollout_depth, double c, double discount, int stop)
{
    pz_guard guard;
    if (!begin(t, &guard)) return PZ_ENGINE;
    if (!setjmp(guard.home)) {
        for (int i = 0; i < simulations && !t->root->status && !(stop && t->plan_length >= 0); i++) {
            double value;
            fate what = descend(t, &t->path, c, false, &value);
            if (what != ENDED) {
                node *leaf = t->path.nodes[t->path.length - 1];
                int left = t->horizon - (t->path.length - 1);
                enter(leaf);
                value = rollout(t, leaf->world, rollout_depth < left ? rollout_depth : left, discount, &t->path);
                leaf->judged = true;
            }
            back_up(t, &t->path, value, discount);
            if (t->root->lost) break;
            if (i % 16 == 15) look_for_signals(t);
        }
    }
    return finish(t, &guard);
}

static void set_aside(pz_search *t)
{
    if (t->n_pending == t->pending_room) {
        t->pending = grown(t->pending, t->n_pending + 1, sizeof *t->pending);
        memset(&t->pending[t->pending_room++], 0, sizeof *t->pending);
    }
    way kept = t->pending[t->n_pending];
    t->pending[t->n_pending++] = t->path;
    t->path = kept;
}

/* What was selected and never expanded, because its judge failed, is as if it had not been. */
static void forget_pending(pz_search *t)
{
    for (; t->n_pending; t->n_pending--) {
        way *path = &t->pending[t->n_pending - 1];
        path->nodes[path->length - 1]->pending = false;
        take_back(path);
    }
}

int pz_search_select(pz_search *t, int k, double c, double discount, uint8_t *records, uint8_t *masks, int *count,
                     int *done)
{
    pz_guard guard;
    *count = *done = 0;
    if (!begin(t, &guard)) return PZ_ENGINE;
    if (!setjmp(guard.home)) {
        forget_pending(t);
        for (int tries = 0; tries < k && !t->root->status && !t->root->lost; tries++) {
            double value;
            fate what = descend(t, &t->path, c, true, &value);
            node *leaf = t->path.nodes[t->path.length - 1];
            if (what == LEAF && leaf->pending) {
                take_back(&t->path); /* asked for already: nothing more is promising until the answer is here */
                break;
            }
            if (what != LEAF) {
                back_up(t, &t->path, value, discount);
                ++*done;
                if (what == FULL) break;
                continue;
            }
            for (int i = 0; i < t->path.length; i++) t->path.nodes[i]->on_path = false;
            leaf->pending = true;
            memcpy(records + (size_t)t->n_pending * t->record_size, leaf->record, t->record_size);
            for (int a = 0; a < t->n_actions; a++)
                masks[t->n_pending * t->n_actions + a] = (uint8_t)(leaf->legal >> a & 1);
            set_aside(t);
        }
        look_for_signals(t);
    }
    *count = t->n_pending;
    return finish(t, &guard);
}

int pz_search_expand(pz_search *t, const float *priors, const float *values, double discount)
{
    for (int i = 0; i < t->n_pending; i++) {
        way *path = &t->pending[i];
        node *leaf = path->nodes[path->length - 1];
        const float *prior = priors + (size_t)i * (size_t)t->n_actions;
        double sum = 0;
        int legal = 0;
        for (int a = 0; a < t->n_actions; a++)
            if (leaf->legal >> a & 1) {
                sum += prior[a];
                legal++;
            }
        for (int a = 0; a < t->n_actions; a++)
            if (leaf->legal >> a & 1) leaf->edges[a].prior = sum > 0 ? (float)(prior[a] / sum) : 1.0F / (float)legal;
        leaf->judged = true;
        leaf->pending = false;
        back_up(t, path, values[i], discount);
    }
    t->n_pending = 0;
    return PZ_OK;
}

int pz_search_mix(pz_search *t, const float *noise, double share)
{
    if (!t->root->judged) return 0;
    for (int a = 0; a < t->n_actions; a++) {
        edge *e = &t->root->edges[a];
        e->prior = (float)(e->prior * (1 - share) + noise[a] * share);
    }
    return 1;
}

/* ---- The root ---- */

void pz_search_root(const pz_search *t, int32_t *visits, double *values)
{
    for (int a = 0; a < t->n_actions; a++) {
        const edge *e = &t->root->edges[a];
        visits[a] = e->visits;
        values[a] = e->visits ? e->total / e->visits : 0;
    }
}

int pz_search_best(const pz_search *t)
{
    if (t->plan_length > 0) return t->plan[0];
    int best = -1;
    for (int a = 0; a < t->n_actions; a++) {
        if (!(t->root->legal >> a & 1)) continue;
        const edge *e = &t->root->edges[a], *b = best < 0 ? NULL : &t->root->edges[best];
        const bool lost = e->to && e->to->lost, b_lost = b && b->to && b->to->lost;
        if (!b || lost < b_lost ||
            (lost == b_lost && (e->visits > b->visits || (e->visits == b->visits && e->total > b->total))))
            best = a;
    }
    return best;
}

int pz_search_plan_length(const pz_search *t)
{
    return t->plan_length;
}

void pz_search_plan(const pz_search *t, int32_t *actions)
{
    if (t->plan_length > 0) memcpy(actions, t->plan, (size_t)t->plan_length * sizeof *actions);
}

int64_t pz_search_nodes(const pz_search *t)
{
    return t->visited ? t->visited : t->count;
}

static void set_horizon(pz_search *t, const pz_session *session)
{
    t->horizon = session->max_steps ? session->max_steps - session->outcome->steps : 1 << 30;
}

void pz_search_free(pz_search *t)
{
    if (!t) return;
    for (int64_t i = 0; i < t->count; i++) free(t->all[i]);
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

int pz_search_new(const pz_session *session, int max_nodes, uint64_t seed, pz_search **result)
{
    *result = NULL;
    pz_session *world;
    int error = pz_session_clone(session, &world);
    if (error) return error;
    pz_search *t = calloc(1, sizeof *t);
    if (!t) {
        pz_session_free(world);
        return pz_refuse(PZ_ENGINE, "out of memory");
    }
    pz_guard guard;
    pz_enter(&guard, world->pool, pz_step_timeout);
    guard.session = world;
    if (!setjmp(guard.home)) {
        add_world(t, world);
        strip(world);
        t->n_actions = t->n_edges = world->n_actions;
        t->record_size = (size_t)world->layout->record_size;
        t->noise = seed ^ 0xD1B54A32D192ED03u;
        t->max_nodes = max_nodes;
        t->plan_length = -1;
        t->table_room = 64;
        t->table = calloc((size_t)t->table_room, sizeof *t->table);
        if (!t->table) pz_fail(PZ_ENGINE, "out of memory");
        t->all = grown(NULL, t->table_room / 2 + 1, sizeof *t->all);
        set_horizon(t, session);
        t->root = make_node(t, world);
        add_node(t, t->root);
        if (t->root->status > 0) t->plan_length = 0;
    }
    error = pz_conclude(&guard);
    if (error) {
        pz_search_free(t);
        return error;
    }
    *result = t;
    return PZ_OK;
}

int pz_search_reroot(pz_search *t, const pz_session *session, int *known)
{
    const uint64_t hash = pz_session_hash(session);
    pz_guard guard;
    *known = 0;
    if (!begin(t, &guard)) return PZ_ENGINE;
    if (!setjmp(guard.home)) {
        node *next = NULL;
        if (t->root->hash == hash) {
            next = t->root;
        } else {
            /* The plan may come from a rollout, whose states are not in the graph yet. */
            node *planned = t->plan_length > 0 ? child_of(t, t->root, t->plan[0]) : NULL;
            if (planned && planned->hash == hash) {
                next = planned;
                memmove(t->plan, t->plan + 1, (size_t)--t->plan_length * sizeof *t->plan);
            } else {
                next = *find(t, hash, NULL);
                t->plan_length = -1;
            }
        }
        /* More than half full: better to start anew than to run out of room in the middle. */
        if (next && (t->count < t->max_nodes / 2 || t->plan_length >= 0)) {
            t->root = next;
            set_horizon(t, session);
            if (t->plan_length > t->horizon) t->plan_length = -1;
            *known = 1;
        }
    }
    return finish(t, &guard);
}

/* ---- Breadth first ---- */

static void plan_to(pz_search *t, const node *n)
{
    const int length = n->depth;
    t->plan = grown(t->plan, length + 1, sizeof *t->plan);
    t->plan_room = length + 1;
    t->plan_length = length;
    for (; n->parent; n = n->parent) t->plan[n->depth - 1] = n->action;
}

int pz_search_bfs(pz_search *t, int max_depth, int *complete)
{
    pz_guard guard;
    *complete = 0;
    if (!begin(t, &guard)) return PZ_ENGINE;
    if (!setjmp(guard.home)) {
        t->n_edges = 0;
        if (!max_depth || max_depth > t->horizon) max_depth = t->horizon;
        bool room = true;
        for (int64_t i = 0; room && t->plan_length < 0 && i < t->count; i++) {
            node *n = t->all[i];
            for (int a = 0; !n->status && n->depth < max_depth && a < t->n_actions; a++) {
                pz_session *world = step_from(t, n, a);
                if (!world) continue;
                bool fresh;
                node *next = intern(t, world, &fresh);
                if (!next) {
                    room = false;
                    break;
                }
                if (!fresh) continue;
                next->parent = n;
                next->action = a;
                next->depth = n->depth + 1;
                if (next->status > 0) {
                    plan_to(t, next);
                    break;
                }
            }
            free_state(n);
            if (i % 64 == 63) look_for_signals(t);
        }
        *complete = room;
    }
    return finish(t, &guard);
}

/* ---- Iterative deepening ---- */

/* What was left to go when a state was last found hopeless, in which round. */
typedef struct seen {
    uint64_t hash;
    int32_t round, left;
} seen;
enum { SEEN = 1 << 18 };

typedef struct deepening {
    pz_search *t;
    seen *table;
    node **frames;
    int32_t *actions;
    int depth, room, round, bound, next_bound, max_depth;
    int64_t left;
    const char *target;
    int per_step;
} deepening;

static int estimate(const deepening *d, const node *n)
{
    if (!d->target || n->status > 0) return 0;
    const pz_session *world = n->world;
    int differ = 0;
    for (const pz_field *field = world->layout->fields; field < world->layout->fields + world->layout->n_board_fields; field++)
        for (int i = 0; i < field->count; i++)
            differ += pz_item(field, n->record, i) != pz_item(field, d->target, i);
    return (differ + d->per_step - 1) / d->per_step;
}

/* Depth first below the frame at this depth, as far as the bound allows; true when a solution was found. */
static bool deepen(deepening *d, int depth)
{
    pz_search *t = d->t;
    node *n = d->frames[depth];
    const int f = depth + estimate(d, n);
    if (n->status > 0) {
        t->plan_length = -1;
        keep_plan(t, d->actions, depth, NULL, 0);
        return true;
    }
    if (n->status) return false;
    if (f > d->bound || depth >= d->bound) {
        const int next = f > d->bound ? f : d->bound + 1;
        if (next < d->next_bound) d->next_bound = next;
        return false;
    }
    seen *memory = &d->table[n->hash % SEEN];
    if (memory->hash == n->hash && memory->round == d->round && memory->left >= d->bound - depth) return false;
    *memory = (seen){n->hash, d->round, d->bound - depth};
    if (depth + 2 > d->room) {
        d->room = d->room * 2 + 64;
        d->frames = grown(d->frames, d->room, sizeof *d->frames);
        d->actions = grown(d->actions, d->room, sizeof *d->actions);
    }
    bool found = false;
    for (int a = 0; !found && d->left > 0 && a < t->n_actions; a++) {
        pz_session *world = step_from(t, n, a);
        if (!world) continue;
        d->left--;
        if (++t->visited % 64 == 0) look_for_signals(t);
        d->actions[depth] = a;
        d->frames[depth + 1] = make_node(t, world);
        d->depth = depth + 1;
        found = deepen(d, depth + 1);
        free_state(d->frames[depth + 1]);
        free(d->frames[depth + 1]);
        d->depth = depth;
    }
    return found;
}

int pz_search_ida(pz_search *t, int max_depth, int64_t max_visits, const void *target, int per_step, int *complete)
{
    pz_guard guard;
    *complete = 0;
    if (!begin(t, &guard)) return PZ_ENGINE;
    deepening *const d = calloc(1, sizeof *d);
    if (!setjmp(guard.home)) {
        if (!d) pz_fail(PZ_ENGINE, "out of memory");
        *d = (deepening){.t = t, .max_depth = max_depth && max_depth < t->horizon ? max_depth : t->horizon, .room = 64,
                         .left = max_visits, .target = target, .per_step = per_step > 0 ? per_step : 1};
        t->n_edges = 0;
        t->visited = 1;
        d->table = grown(NULL, SEEN, sizeof *d->table);
        memset(d->table, 0, SEEN * sizeof *d->table);
        d->frames = grown(NULL, d->room, sizeof *d->frames);
        d->actions = grown(NULL, d->room, sizeof *d->actions);
        d->frames[0] = t->root;
        d->bound = estimate(d, t->root);
        bool found = t->plan_length >= 0;
        while (!found && d->left > 0 && d->bound <= d->max_depth) {
            d->round++;
            d->next_bound = INT_MAX;
            found = deepen(d, 0);
            if (d->next_bound == INT_MAX) break; /* nothing was cut off: all is seen */
            d->bound = d->next_bound;
        }
        *complete = found || d->left > 0;
    }
    if (d) {
        for (int i = 1; i <= d->depth; i++) free(d->frames[i]); /* after a fault; their states go with the pool */
        free(d->table);
        free(d->frames);
        free(d->actions);
        free(d);
    }
    return finish(t, &guard);
}
