/*
 * Search over a session: Monte Carlo trees, breadth first and iterative deepening, all on copies of the session's state
 * and without UNDO. States are merged by their hash (and compared), so a tree is really a graph.
 *
 * A search knows all that the session knows, in Mines the mines too: it plans, it does not guess.
 */
#ifndef PZ_SEARCH_H
#define PZ_SEARCH_H

#include "session.h"

typedef struct pz_search pz_search;

/* Start from where the session stands now; the session itself is never touched again. */
int pz_search_new(const pz_session *session, int max_nodes, uint64_t seed, pz_search **result);
void pz_search_free(pz_search *search);

/* Go on from where the session stands now, keeping what is known. *known is 0 when the state was never met. */
int pz_search_reroot(pz_search *search, const pz_session *session, int *known);

/*
 * UCT with random rollouts of at most so many steps. A state is worth 1 solved, -1 failed, 0 otherwise, times discount
 * for each step on the way there. With stop it ends as soon as any way to a solution is known.
 */
int pz_search_simulate(pz_search *search, int simulations, int rollout_depth, double c, double discount, int stop);

/*
 * The same with an outside judge (PUCT): select up to k leaves, whose observations and masks are written to k records
 * and masks; then expand them with a prior for every action and a value each. *done counts the simulations that needed
 * no judge, because they ended in a solved, failed or repeated state.
 */
int pz_search_select(pz_search *search, int k, double c, double discount, uint8_t *records, uint8_t *masks, int *count,
                     int *done);
int pz_search_expand(pz_search *search, const float *priors, const float *values, double discount);
/* Mix noise into the root's priors: prior * (1 - share) + noise * share. 0 while the root has none. */
int pz_search_mix(pz_search *search, const float *noise, double share);

/* What is known of the root: per action, and -1 or the length of the shortest way to a solution seen so far. */
void pz_search_root(const pz_search *search, int32_t *visits, double *values);
int pz_search_best(const pz_search *search); /* the plan's first action, else the most visited; -1: none is legal */
int pz_search_plan_length(const pz_search *search);
void pz_search_plan(const pz_search *search, int32_t *actions);
int64_t pz_search_nodes(const pz_search *search); /* kept now, or by the plain searches: looked at */

/* Plain searches on a fresh pz_search; complete says that nothing within max_depth (0: no limit) was left out. */
int pz_search_bfs(pz_search *search, int max_depth, int *complete);
/* The estimate: items of the board that differ from target, divided by per_step, rounded up; without target 0. */
int pz_search_ida(pz_search *search, int max_depth, int64_t max_visits, const void *target, int per_step,
                  int *complete);

#endif
