/* Monte Carlo tree search: UCT with random rollouts, and PUCT with priors and values from outside. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/chance.h"
#include "planning/graph.h"

/* Cut out of the plan what only leads back to a state on the way, as random steps often do. */
static void shorten_plan(pz_search *t)
{
    int kept = 0;
    t->on_the_way = pz_grown(t->on_the_way, t->plan_length + 1, sizeof *t->on_the_way);
    t->on_the_way[0] = t->root->hash;
    pz_session *world = t->root->world;
    pz_enter_node(t->root);
    for (int i = 0; i < t->plan_length; i++) {
        const int a = t->plan[i];
        if (pz_changes_shared(world, a)) {
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

static void lengthen(pz_path *w, pz_node *n, int a)
{
    if (w->length + 2 > w->room) {
        w->room = w->room * 2 + 32;
        w->nodes = pz_grown(w->nodes, w->room, sizeof *w->nodes);
        w->actions = pz_grown(w->actions, w->room, sizeof *w->actions);
    }
    if (w->length) w->actions[w->length - 1] = a;
    w->nodes[w->length++] = n;
}

/*
 * The most promising action, or -1 where all lead to what is lost or back into the path. UCT tries everything once, in
 * random order; PUCT leans on the priors.
 */
static int choose(pz_search *t, const pz_node *n, double c, bool puct)
{
    int best = -1, unseen = 0;
    double best_value = -INFINITY;
    const double spread = puct ? c * sqrt((double)n->visits) : c * sqrt(log((double)(n->visits > 1 ? n->visits : 1)));
    for (int a = 0; a < t->n_actions; a++) {
        const pz_edge *e = &n->edges[a];
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

/* Whether every way on from here is lost: then this is lost too. */
static bool is_lost(const pz_search *t, const pz_node *n)
{
    if (n->status) return n->status < 0;
    for (int a = 0; a < t->n_actions; a++)
        if ((n->legal >> a & 1) && !(n->edges[a].to && n->edges[a].to->lost)) return false;
    return true;
}

/* Carry a value up the path and take back the loss that descend() lent to every edge on it. */
static void back_up(pz_search *t, pz_path *path, double value, double discount)
{
    pz_node *leaf = path->nodes[path->length - 1];
    leaf->visits++;
    leaf->on_path = false;
    for (int i = path->length - 2; i >= 0; i--) {
        pz_node *n = path->nodes[i];
        pz_edge *e = &n->edges[path->actions[i]];
        value *= discount;
        e->total += value + 1;
        n->on_path = false;
        if (!n->lost && e->to && e->to->lost) n->lost = is_lost(t, n);
    }
}

/* As if this descent had never been. */
static void take_back(pz_path *path)
{
    for (int i = 0; i < path->length; i++) {
        pz_node *n = path->nodes[i];
        n->on_path = false;
        if (i == path->length - 1) break;
        n->visits--;
        n->edges[path->actions[i]].visits--;
        n->edges[path->actions[i]].total += 1;
    }
}

typedef enum fate { LEAF, ENDED, FULL } fate;

/* From the root to a node that nobody judged yet (LEAF) or one whose value is known. */
static fate descend(pz_search *t, pz_path *path, double c, bool puct, double *value)
{
    path->length = 0;
    lengthen(path, t->root, -1);
    *value = 0;
    for (;;) {
        pz_node *n = path->nodes[path->length - 1];
        n->on_path = true;
        if (n->status || n->lost) {
            *value = n->status ? n->status : -1;
            if (n->status > 0) pz_keep_plan(t, path->actions, path->length - 1, NULL, 0);
            return ENDED;
        }
        if (!n->judged) return LEAF;
        if (path->length > t->horizon) return ENDED;
        int a = choose(t, n, c, puct);
        if (a < 0) return ENDED; /* nothing but the way back */
        pz_node *next = pz_child_of(t, n, a);
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
static double rollout(pz_search *t, pz_session *world, int depth, double discount, const pz_path *path)
{
    double value = 1;
    int step = 0;
    if (depth > t->trail_room) {
        t->trail = pz_grown(t->trail, depth, sizeof *t->trail);
        t->trail_room = depth;
    }
    for (; step < depth && !world->outcome->status; step++) {
        int a = 0;
        world->outcome->changed = 0;
        /* Drawing until an action has an effect is a uniform draw among the legal ones, and cheaper than the mask. */
        for (int tries = 0; !world->outcome->changed && tries < 2 * t->n_actions; tries++) {
            a = pz_draw_below(&t->noise, t->n_actions);
            if (pz_changes_shared(world, a)) {
                pz_session *apart = pz_clone_world(world);
                pz_session_free(t->passing);
                t->passing = world = apart;
                pz_strip(world);
                pz_work_in(world);
            }
            pz_step_guarded(world, a, true);
        }
        if (!world->outcome->changed) {
            pz_write_world_mask(world);
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
        pz_keep_plan(t, path->actions, path->length - 1, t->trail, step);
        shorten_plan(t);
    }
    return value * status;
}

typedef struct simulations {
    pz_search *search;
    int wanted, rollout_depth;
    double c, discount;
    bool stop;
} simulations;

static void simulate(pz_session *first, void *context)
{
    (void)first;
    const simulations *s = context;
    pz_search *t = s->search;
    for (int i = 0; i < s->wanted && !t->root->status && !(s->stop && t->plan_length >= 0); i++) {
        double value;
        if (descend(t, &t->path, s->c, false, &value) != ENDED) {
            pz_node *leaf = t->path.nodes[t->path.length - 1];
            int left = t->horizon - (t->path.length - 1);
            pz_enter_node(leaf);
            value = rollout(t, leaf->world, s->rollout_depth < left ? s->rollout_depth : left, s->discount, &t->path);
            leaf->judged = true;
        }
        back_up(t, &t->path, value, s->discount);
        if (t->root->lost) break;
    }
}

int pz_search_grow(pz_search *t, int n, int rollout_depth, double c, double discount, int stop)
{
    simulations wanted = {t, n, rollout_depth, c, discount, stop};
    return pz_search_run(t, simulate, &wanted);
}

int pz_search_simulate(pz_search *t, int n, int rollout_depth, double c, double discount, int stop)
{
    int refused = pz_search_claim(t);
    return refused ? refused : pz_search_release(t, pz_search_grow(t, n, rollout_depth, c, discount, stop));
}

static void set_aside(pz_search *t)
{
    if (t->n_pending == t->pending_room) {
        t->pending = pz_grown(t->pending, t->n_pending + 1, sizeof *t->pending);
        memset(&t->pending[t->pending_room++], 0, sizeof *t->pending);
    }
    pz_path kept = t->pending[t->n_pending];
    t->pending[t->n_pending++] = t->path;
    t->path = kept;
}

/* What was selected and never expanded, because its judge failed, is as if it had not been. */
static void forget_pending(pz_search *t)
{
    for (; t->n_pending; t->n_pending--) {
        pz_path *path = &t->pending[t->n_pending - 1];
        path->nodes[path->length - 1]->pending = false;
        take_back(path);
    }
}

typedef struct selecting {
    pz_search *search;
    int wanted;
    double c, discount;
    pz_selection *to;
} selecting;

static void select_leaves(pz_session *first, void *context)
{
    (void)first;
    const selecting *s = context;
    pz_search *t = s->search;
    forget_pending(t);
    s->to->ticket = ++t->ticket;
    for (int tries = 0; tries < s->wanted && !t->root->status && !t->root->lost; tries++) {
        double value;
        fate what = descend(t, &t->path, s->c, true, &value);
        pz_node *leaf = t->path.nodes[t->path.length - 1];
        if (what == LEAF && leaf->pending) {
            take_back(&t->path); /* asked for already: nothing more is promising until the answer is here */
            break;
        }
        if (what != LEAF) {
            back_up(t, &t->path, value, s->discount);
            s->to->done++;
            if (what == FULL) break;
            continue;
        }
        for (int i = 0; i < t->path.length; i++) t->path.nodes[i]->on_path = false;
        leaf->pending = true;
        memcpy(s->to->records + (size_t)t->n_pending * t->record_size, leaf->record, t->record_size);
        for (int a = 0; a < t->n_actions; a++)
            s->to->masks[t->n_pending * t->n_actions + a] = (uint8_t)(leaf->legal >> a & 1);
        set_aside(t);
    }
}

int pz_search_select(pz_search *t, int k, double c, double discount, pz_selection *to)
{
    to->count = to->done = 0;
    int error = pz_search_claim(t);
    if (error) return error;
    if (k < 0 || to->records_size < k * (int64_t)t->record_size || to->masks_size < k * (int64_t)t->n_actions)
        return pz_search_release(t, pz_refuse(PZ_ENGINE, "there is no room for so many leaves"));
    selecting wanted = {t, k, c, discount, to};
    error = pz_search_run(t, select_leaves, &wanted);
    to->count = t->n_pending;
    return pz_search_release(t, error);
}

int pz_search_expand(pz_search *t, const pz_selection *selection, const float *priors, int64_t n_priors,
                     const float *values, int64_t n_values, double discount)
{
    int refused = pz_search_claim(t);
    if (refused) return refused;
    if (selection->ticket != t->ticket || selection->count != t->n_pending)
        return pz_search_release(t, pz_refuse(PZ_ENGINE, "this search went on in another thread meanwhile"));
    if (n_priors != (int64_t)t->n_pending * t->n_actions || n_values != t->n_pending)
        return pz_search_release(t, pz_refuse(PZ_ENGINE, "each leaf needs a prior for every action, and a value"));
    for (int i = 0; i < t->n_pending; i++) {
        pz_path *path = &t->pending[i];
        pz_node *leaf = path->nodes[path->length - 1];
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
    return pz_search_release(t, PZ_OK);
}

int pz_search_mix(pz_search *t, const float *noise, int64_t n, double share, int *mixed)
{
    *mixed = 0;
    int refused = pz_search_claim(t);
    if (refused) return refused;
    if (n < t->n_actions) return pz_search_release(t, pz_refuse(PZ_ENGINE, "noise is a number for every action"));
    *mixed = t->root->judged;
    for (int a = 0; *mixed && a < t->n_actions; a++) {
        pz_edge *e = &t->root->edges[a];
        e->prior = (float)(e->prior * (1 - share) + noise[a] * share);
    }
    return pz_search_release(t, PZ_OK);
}

/* ---- The root ---- */

static int best_of(const pz_search *t)
{
    if (t->plan_length > 0) return t->plan[0];
    int best = -1;
    for (int a = 0; a < t->n_actions; a++) {
        if (!(t->root->legal >> a & 1)) continue;
        const pz_edge *e = &t->root->edges[a], *b = best < 0 ? NULL : &t->root->edges[best];
        const bool lost = e->to && e->to->lost, b_lost = b && b->to && b->to->lost;
        if (!b || lost < b_lost ||
            (lost == b_lost && (e->visits > b->visits || (e->visits == b->visits && e->total > b->total))))
            best = a;
    }
    return best;
}

int pz_search_look(pz_search *t, pz_finding *finding, int32_t *visits, double *values, int64_t n)
{
    int refused = pz_search_claim(t);
    if (refused) return refused;
    if ((visits || values) && n < t->n_actions)
        return pz_search_release(t, pz_refuse(PZ_ENGINE, "there is no room for all actions"));
    /* A breadth-first search leaves its nodes without edges. */
    for (int a = 0; a < t->n_edges; a++) {
        const pz_edge *e = &t->root->edges[a];
        if (visits) visits[a] = e->visits;
        if (values) values[a] = e->visits ? e->total / e->visits : 0;
    }
    finding->nodes = t->visited ? t->visited : t->count;
    finding->best = best_of(t);
    finding->plan_length = t->plan_length;
    return pz_search_release(t, PZ_OK);
}
