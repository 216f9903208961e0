/*
 * Plans: how to solve a game with its own keys, from where it stands.
 *
 * All trials happen on a clone, through the same attempt that masks and steps use, so what a plan presses is legal by
 * construction; the plan is then replayed on a second clone before anyone sees it. There are three strategies, by what
 * the puzzle's file provides:
 *   - follow the engine's own next moves: for each, the fewest keys that have its effect;
 *   - climb to the engine's solution: from the present position the nearest improvement is sought breadth
 *     first, over cursor moves and, at one place, changes that are not worse;
 *   - else, or where the climb ends in a valley: search over boards, best first.
 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "planning/planner.h"

enum {
    FAR = 60000, /* positions looked at for one improvement when the first search was too narrow */
    KINDS = 3    /* with up to so many distinct values, try to leave one out */
};

/* ---- The strategies ---- */

/* This strategy knows no way on, but a search over boards may. */
_Noreturn static void no_way(pz_planner *p)
{
    *p->stranded = true;
    pz_fail(PZ_NO_PLAN, "no way on after %d keys", p->length);
}

static void follow_engine(pz_planner *p)
{
    pz_session *s = p->s;
    const game *engine = s->puzzle->engine;
    char *want = snewn(s->layout->record_size + 8, char);
    memset(want, 0, (size_t)s->layout->record_size + 8);
    while (p->near.all[0].status == 0) {
        char *moves = s->puzzle->guide(p->near.all[0].state, s->aux);
        if (!moves) no_way(p);
        char *rest;
        for (char *move = strtok_r(moves, " ", &rest); move && p->near.all[0].status == 0;
             move = strtok_r(NULL, " ", &rest)) {
            game_state *next = engine->execute_move(p->near.all[0].state, move);
            if (!next) no_way(p);
            pz_observe_board(s, next, want);
            engine->free_game(next);
            const int to = pz_seek(p, want, false, PZ_NEAR);
            if (to < 0) no_way(p);
            pz_advance(p, to);
        }
        sfree(moves);
    }
    if (p->near.all[0].status < 0) no_way(p);
}

static void climb_to_solution(pz_planner *p)
{
    p->near.all[0].h = pz_distance(p, p->near.all[0].state, p->near.all[0].record);
    while (p->near.all[0].status == 0) {
        int to = -1;
        /* Whether a value may be left out shows only when the direct way leads to the end. */
        const int efforts = p->left_out ? p->near.all[0].h > 0 : 4;
        for (int effort = 0; effort < efforts && to < 0; effort++) {
            if (effort) pz_rewind_to(p, &p->near, 0);
            p->slack = effort / 2 * (effort - 1);
            to = pz_seek(p, NULL, effort > 0, effort ? FAR : PZ_NEAR);
        }
        if (to < 0) no_way(p);
        pz_advance(p, to);
    }
    if (p->near.all[0].status < 0) no_way(p);
}

/* ---- One strategy on a clone ---- */

typedef struct plan_result {
    int error;  /* PZ_NO_PLAN where the strategy finds none; the keys are valid without an error */
    int length; /* of the keys */
} plan_result;

typedef struct trial {
    void (*strategy)(pz_planner *planner);
    const char *target;  /* the solved record, or NULL */
    const int *left_out; /* a value of it that need not be entered, or NULL */
    int32_t *keys;
    int length;
    int kinds[KINDS], n_kinds; /* the distinct values that are to be entered */
    bool stranded;             /* there is no plan, but a search over boards may find one */
} trial;

/* The values that still have to be entered somewhere; more than KINDS of them count as none to leave out. */
static int kinds(const pz_planner *p, int *values)
{
    int n = 0;
    for (int f = 0; f < p->n_goal; f++)
        for (int i = 0; i < p->goal[f]->count; i++) {
            const int32_t value = pz_item(p->goal[f], p->target, i);
            if (value == pz_item(p->goal[f], p->start, i)) continue;
            int k = 0;
            while (k < n && values[k] != value) k++;
            if (k < n) continue;
            if (n == KINDS) return 0;
            values[n++] = value;
        }
    return n;
}

static void run_strategy(pz_session *s, void *context)
{
    trial *t = context;
    pz_planner p;
    pz_planner_begin(&p, s);
    p.target = t->target;
    p.left_out = t->left_out;
    p.keys = t->keys;
    p.stranded = &t->stranded;
    if (t->target) t->n_kinds = kinds(&p, t->kinds);
    t->strategy(&p);
    t->length = p.length;
}

/*
 * Seconds until the one deadline that all parts of a plan share. 0 means without limit, so one that has passed leaves a
 * moment, too short for anything.
 */
static double seconds_left(double deadline)
{
    const double left = deadline - pz_now();
    return !deadline ? 0 : left > 1e-9 ? left : 1e-9;
}

static plan_result try_strategy(const pz_session *from, trial *t, double deadline)
{
    pz_session *s;
    int error = pz_clone_within(from, seconds_left(deadline), &s);
    if (error) return (plan_result){error, 0};
    error = pz_guarded(s->pool, s, seconds_left(deadline), true, run_strategy, t);
    pz_session_free(s);
    return (plan_result){error, t->length};
}

/* ---- The strategies together ---- */

static plan_result climb(const pz_session *s, const char *target, double deadline, int32_t *keys)
{
    trial whole = {.strategy = climb_to_solution, .target = target, .keys = keys};
    plan_result best = try_strategy(s, &whole, deadline);
    if (whole.n_kinds < 2 || (best.error && best.error != PZ_NO_PLAN)) return best;
    int32_t *others = malloc(PZ_LONGEST_PLAN * sizeof *others);
    if (!others) return (plan_result){pz_refuse(PZ_ENGINE, "out of memory"), 0};
    /* Some marks are for people only, such as "no tent here": leave out each kind once, and see. */
    for (int k = 0; k < whole.n_kinds; k++) {
        trial without = {.strategy = climb_to_solution, .target = target, .left_out = &whole.kinds[k], .keys = others};
        const plan_result other = try_strategy(s, &without, deadline);
        if (other.error == PZ_INTERRUPTED) best = other;
        if (other.error == PZ_INTERRUPTED || other.error == PZ_TIMEOUT) break; /* a plan that is there stays one */
        if (other.error || (!best.error && other.length >= best.length)) continue;
        memcpy(keys, others, (size_t)other.length * sizeof *keys);
        best = other;
    }
    free(others);
    return best;
}

/* ---- Replay ---- */

typedef struct playback {
    const int32_t *keys;
    int length;
    int solved; /* after so many keys, or -1 */
} playback;

static void play_back(pz_session *s, void *context)
{
    playback *p = context;
    p->solved = s->outcome->status > 0 ? 0 : -1;
    for (int used = 0; p->solved < 0 && used < p->length; used++) {
        pz_step_guarded(s, p->keys[used], true);
        if (!s->outcome->changed) return;
        if (s->outcome->status > 0) p->solved = used + 1;
    }
}

/* Replay a plan on another clone; its length becomes the keys until it is solved. */
static plan_result replay(const pz_session *from, const int32_t *keys, int length, double deadline)
{
    pz_session *s;
    int error = pz_clone_within(from, seconds_left(deadline), &s);
    if (error) return (plan_result){error, 0};
    playback p = {.keys = keys, .length = length};
    error = pz_guarded(s->pool, s, seconds_left(deadline), true, play_back, &p);
    pz_session_free(s);
    if (!error && p.solved < 0) error = pz_refuse(PZ_NO_PLAN, "the plan that was found does not hold when played");
    return (plan_result){error, p.solved};
}

/* ---- A plan ---- */

/* For a game as it stands, with this memory for the solved record. */
static plan_result plan_towards(pz_session *s, char *target, double deadline, int32_t *keys)
{
    plan_result found = {PZ_NO_PLAN, 0};
    if (s->puzzle->guide) {
        trial guided = {.strategy = follow_engine, .keys = keys};
        found = try_strategy(s, &guided, deadline);
        if (!guided.stranded) return found;
        target = NULL;
    } else if (s->puzzle->distance) {
        target = NULL;
    } else {
        int error = pz_guarded(s->pool, s, seconds_left(deadline), true, pz_write_solution, target);
        if (error && error != PZ_NO_SOLUTION) return (plan_result){error, 0};
        if (error) target = NULL;
        if (target) found = climb(s, target, deadline, keys);
    }
    if (found.error != PZ_NO_PLAN) return found;
    trial wide = {.strategy = pz_search_boards, .target = target, .keys = keys};
    return try_strategy(s, &wide, deadline);
}

/* The same, replayed. */
static plan_result plan_from(pz_session *s, double deadline, int32_t *keys)
{
    if (s->outcome->status > 0) return (plan_result){PZ_OK, 0};
    if (s->stuck) return (plan_result){pz_refuse(PZ_NO_PLAN, "no move is left but to undo"), 0};
    char *target = calloc(1, (size_t)s->layout->record_size + 8);
    if (!target) return (plan_result){pz_refuse(PZ_ENGINE, "out of memory"), 0};
    const plan_result found = plan_towards(s, target, deadline, keys);
    free(target);
    return found.error ? found : replay(s, keys, found.length, deadline);
}

/* A plan after taking back so many moves. */
static plan_result plan_back(const pz_session *s, int back, double deadline, int32_t *keys)
{
    const int undo = s->n_actions - 1;
    pz_session *earlier;
    plan_result found = {pz_clone_within(s, seconds_left(deadline), &earlier), 0};
    if (found.error) return found;
    for (int i = 0; i < back && !found.error; i++) {
        keys[i] = undo;
        found.error = pz_session_step(earlier, undo);
    }
    if (!found.error) {
        found = plan_from(earlier, deadline, keys + back);
        found.length += back;
    }
    pz_session_free(earlier);
    return found;
}

/* From a dead end the way leads back: by one move, two, four... where UNDO is an action. */
static plan_result plan_or_undo(const pz_session *s, double deadline, int32_t *keys)
{
    const int undoes = s->puzzle->actions[s->n_actions - 1].key == PZ_UNDO ? s->history_length : 0;
    for (int back = 0;;) {
        const plan_result found = plan_back(s, back, deadline, keys);
        if (found.error != PZ_NO_PLAN || back == undoes) return found;
        back = !back ? 1 : back * 2 < undoes ? back * 2 : undoes;
    }
}

/* Planning may take long, so it works on a copy: the game itself can go on meanwhile. */
static int plan_on_copy(const pz_session *s, double deadline, int32_t **actions, int32_t *count)
{
    if (s->outcome->status < 0) return pz_refuse(PZ_NO_PLAN, "the game is lost");
    if (s->puzzle->hidden)
        return pz_refuse(PZ_NO_PLAN, "what decides is hidden; an ExpertPolicy plays by what it sees");
    int32_t *keys = malloc((PZ_LONGEST_PLAN + PZ_HISTORY) * sizeof *keys);
    if (!keys) return pz_refuse(PZ_ENGINE, "out of memory");
    const plan_result found = plan_or_undo(s, deadline, keys);
    if (found.error) {
        free(keys);
        return found.error;
    }
    *actions = keys;
    *count = found.length;
    return PZ_OK;
}

int pz_session_plan(pz_session *s, double timeout, int32_t **actions, int32_t *count)
{
    const double deadline = timeout > 0 ? pz_now() + timeout : 0;
    pz_session *copy;
    int error = pz_clone_within(s, timeout, &copy);
    if (!error) {
        error = plan_on_copy(copy, deadline, actions, count);
        pz_session_free(copy);
    }
    return error == PZ_TIMEOUT ? pz_refuse(PZ_NO_PLAN, "no plan was found in time") : error;
}
