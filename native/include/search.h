/*
 * Search over a session: Monte Carlo trees, breadth first and iterative deepening, all on copies of the session's state
 * and without UNDO. States are merged by their hash (and compared), so a tree is really a graph.
 *
 * Every call claims the search, as a session's calls do: a second thread is refused.
 *
 * A search knows all that the session knows, in Mines the mines too: it plans, it does not guess.
 */
#ifndef PZ_SEARCH_H
#define PZ_SEARCH_H

#include "session.h"

typedef struct pz_search pz_search;

/* Start from where the session stands now; the session itself is never touched again. */
int pz_search_new(pz_session *session, int max_nodes, uint64_t seed, pz_search **result);
void pz_search_free(pz_search *search);

/* Go on from where the session stands now, keeping what is known. *known is 0 when the state was never met. */
int pz_search_reroot(pz_search *search, pz_session *session, int *known);

/*
 * UCT with random rollouts of at most so many steps. A state is worth 1 solved, -1 failed, 0 otherwise, times discount
 * for each step on the way there. With stop it ends as soon as any way to a solution is known.
 */
int pz_search_simulate(pz_search *search, int simulations, int rollout_depth, double c, double discount, int stop);

/*
 * The same in several trees at once, each in a thread of its own, which share the simulations: results depend on the
 * number of trees alone.
 */
int pz_forest_simulate(pz_search **trees, int n, int simulations, int rollout_depth, double c, double discount,
                       int stop);

/*
 * As pz_search_simulate with an outside judge (PUCT): select up to k leaves, whose observations and masks are written
 * to k records and masks; then expand them with a prior for every action and a value each.
 */
typedef struct pz_selection {
    uint8_t *records, *masks;
    int64_t records_size, masks_size; /* bytes of room in each: enough for k, or the call is refused */
    int32_t count;                    /* how many were selected */
    int32_t done;                     /* simulations that needed no judge: they ended solved, failed or in a repeat */
    int64_t ticket;                   /* which selection it was: an expansion of any but the last is refused */
} pz_selection;
int pz_search_select(pz_search *search, int k, double c, double discount, pz_selection *selection);
int pz_search_expand(pz_search *search, const pz_selection *selection, const float *priors, int64_t n_priors,
                     const float *values, int64_t n_values, double discount);
/* Mix noise into the root's priors: prior * (1 - share) + noise * share. *mixed is 0 while the root has none. */
int pz_search_mix(pz_search *search, const float *noise, int64_t n, double share, int *mixed);

typedef struct pz_finding {
    int64_t nodes;       /* kept now, or by the plain searches: looked at */
    int32_t best;        /* the plan's first action, else the most visited; -1: none is legal */
    int32_t plan_length; /* of the shortest way to a solution seen so far; -1: none */
} pz_finding;
/* What is known of the root, and per action (n has room for all); the arrays may be NULL. */
int pz_search_look(pz_search *search, pz_finding *finding, int32_t *visits, double *values, int64_t n);
/* The plan, for the caller to pz_free; NULL where there is none. */
int pz_search_plan(pz_search *search, int32_t **actions, int32_t *length);

/* Plain searches on a fresh pz_search; complete says that nothing within max_depth (0: no limit) was left out. */
int pz_search_bfs(pz_search *search, int max_depth, int *complete);
/* The estimate: items of the board that differ from target, divided by per_step, rounded up; without target 0. */
int pz_search_ida(pz_search *search, int max_depth, int64_t max_visits, const void *target, int64_t target_size,
                  int per_step, int *complete);

#endif
