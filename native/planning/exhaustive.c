/* Searches that leave nothing out: breadth first, and iterative deepening (IDA*). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "planning/graph.h"

/* ---- Breadth first ---- */

static void plan_to(pz_search *t, const pz_node *n)
{
    const int length = n->depth;
    t->plan = pz_grown(t->plan, length + 1, sizeof *t->plan);
    t->plan_room = length + 1;
    t->plan_length = length;
    for (; n->parent; n = n->parent) t->plan[n->depth - 1] = n->action;
}

typedef struct breadth {
    pz_search *search;
    int max_depth;
    bool complete;
} breadth;

static void search_breadth_first(pz_session *first, void *context)
{
    (void)first;
    breadth *limits = context;
    pz_search *t = limits->search;
    const int max_depth = limits->max_depth && limits->max_depth < t->horizon ? limits->max_depth : t->horizon;
    bool room = true;
    t->n_edges = 0;
    for (int64_t i = 0; room && t->plan_length < 0 && i < t->count; i++) {
        pz_node *n = t->all[i];
        for (int a = 0; !n->status && n->depth < max_depth && a < t->n_actions; a++) {
            pz_session *world = pz_step_from(t, n, a);
            if (!world) continue;
            bool fresh;
            pz_node *next = pz_intern(t, world, &fresh);
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
        pz_free_state(n);
    }
    limits->complete = room;
}

int pz_search_bfs(pz_search *t, int max_depth, int *complete)
{
    *complete = 0;
    int error = pz_search_claim(t);
    if (error) return error;
    breadth limits = {t, max_depth, false};
    error = pz_search_run(t, search_breadth_first, &limits);
    *complete = limits.complete;
    return pz_search_release(t, error);
}

/* ---- Iterative deepening ---- */

/* How many steps were left when a state was last found hopeless, and in which round. */
typedef struct seen {
    uint64_t hash;
    int32_t round, left;
} seen;
enum { SEEN = 1 << 18 };

typedef struct deepening {
    pz_search *t;
    seen *table;
    pz_node **frames;
    int32_t *actions;
    int room, round, bound, next_bound, max_depth;
    int64_t left;
    const char *target;
    int per_step;
    bool complete;
} deepening;

static int estimate(const deepening *d, const pz_node *n)
{
    if (!d->target || n->status > 0) return 0;
    const pz_session *world = n->world;
    int differ = 0;
    for (const pz_field *field = world->layout->fields; field < world->layout->fields + world->layout->n_board_fields;
         field++)
        for (int i = 0; i < field->count; i++) differ += pz_item(field, n->record, i) != pz_item(field, d->target, i);
    return (differ + d->per_step - 1) / d->per_step;
}

/* Depth first below the frame at this depth, as far as the bound allows; true when a solution was found. */
static bool deepen(deepening *d, int depth)
{
    pz_search *t = d->t;
    pz_node *n = d->frames[depth];
    const int f = depth + estimate(d, n);
    if (n->status > 0) {
        t->plan_length = -1;
        pz_keep_plan(t, d->actions, depth, NULL, 0);
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
        d->frames = pz_grown(d->frames, d->room, sizeof *d->frames);
        d->actions = pz_grown(d->actions, d->room, sizeof *d->actions);
    }
    bool found = false;
    for (int a = 0; !found && d->left > 0 && a < t->n_actions; a++) {
        pz_session *world = pz_step_from(t, n, a);
        if (!world) continue;
        d->left--;
        t->visited++;
        d->actions[depth] = a;
        d->frames[depth + 1] = pz_make_node(t, world);
        found = deepen(d, depth + 1);
        pz_free_node(d->frames[depth + 1]);
    }
    return found;
}

static void search_deeper(pz_session *first, void *context)
{
    (void)first;
    deepening *d = context;
    pz_search *t = d->t;
    t->n_edges = 0;
    t->visited = 1;
    if (!d->max_depth || d->max_depth > t->horizon) d->max_depth = t->horizon;
    d->room = 64;
    d->table = pz_grown(NULL, SEEN, sizeof *d->table);
    memset(d->table, 0, SEEN * sizeof *d->table);
    d->frames = pz_grown(NULL, d->room, sizeof *d->frames);
    d->actions = pz_grown(NULL, d->room, sizeof *d->actions);
    d->frames[0] = t->root;
    d->bound = estimate(d, t->root);
    bool found = t->plan_length >= 0;
    while (!found && d->left > 0 && d->bound <= d->max_depth) {
        d->round++;
        d->next_bound = INT_MAX;
        found = deepen(d, 0);
        if (d->next_bound == INT_MAX) break; /* nothing was cut off: everything was seen */
        d->bound = d->next_bound;
    }
    d->complete = found || d->left > 0;
}

int pz_search_ida(pz_search *t, int max_depth, int64_t max_visits, const void *target, int64_t target_size,
                  int per_step, int *complete)
{
    *complete = 0;
    int error = pz_search_claim(t);
    if (error) return error;
    if (target && target_size != (int64_t)t->record_size)
        return pz_search_release(t, pz_refuse(PZ_ENGINE, "the target is an observation of another size"));
    deepening d = {
        .t = t, .max_depth = max_depth, .left = max_visits, .target = target, .per_step = per_step > 0 ? per_step : 1};
    error = pz_search_run(t, search_deeper, &d);
    free(d.table);
    free(d.frames);
    free(d.actions);
    *complete = d.complete;
    return pz_search_release(t, error);
}
