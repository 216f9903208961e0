/* Several trees that grow at once, each in a thread of its own. */
#include <stdio.h>
#include <stdlib.h>

#include "batch/team.h"
#include "planning/graph.h"

typedef struct outcome {
    int error;
    char message[PZ_MESSAGE];
} outcome;

typedef struct forest {
    pz_search **trees;
    outcome *outcomes; /* of each tree */
    pz_team *team;
    int n, simulations, rollout_depth, stop;
    double c, discount;
} forest;

static void grow(void *context, int64_t from, int64_t to)
{
    const forest *f = context;
    for (int64_t i = from; i < to; i++) {
        const int share = f->simulations / f->n + (i < f->simulations % f->n);
        outcome *out = &f->outcomes[i];
        out->error = pz_search_grow(f->trees[i], share, f->rollout_depth, f->c, f->discount, f->stop);
        if (!out->error) continue;
        snprintf(out->message, sizeof out->message, "%s", pz_last_error());
        if (out->error == PZ_INTERRUPTED) *pz_team_cancelled(f->team) = true;
    }
}

/* What ended the others too: where one was interrupted because another failed, the failure. */
static int first_error(const forest *f)
{
    const outcome *found = NULL;
    for (const outcome *out = f->outcomes; out < f->outcomes + f->n; out++)
        if (out->error && (!found || found->error == PZ_INTERRUPTED)) found = out;
    return found ? pz_refuse(found->error, found->message) : PZ_OK;
}

/* All trees or none: a call that is refused has grown nothing. */
static int claim(pz_search **trees, int n)
{
    for (int i = 0; i < n; i++) {
        const int refused = pz_search_claim(trees[i]);
        if (!refused) continue;
        while (i--) pz_search_release(trees[i], PZ_OK);
        return refused;
    }
    return PZ_OK;
}

int pz_forest_simulate(pz_search **trees, int n, int simulations, int rollout_depth, double c, double discount,
                       int stop)
{
    const int refused = claim(trees, n);
    if (refused) return refused;
    forest f = {.trees = trees,
                .outcomes = calloc((size_t)n, sizeof *f.outcomes),
                .team = pz_team_new(n),
                .n = n,
                .simulations = simulations,
                .rollout_depth = rollout_depth,
                .stop = stop,
                .c = c,
                .discount = discount};
    int error = PZ_OK;
    if (!f.outcomes || !f.team)
        error = pz_refuse(PZ_ENGINE, "out of memory");
    else if (!pz_team_run(f.team, grow, &f, n, (pz_grain){1, 1, 1})) {
        /* The other threads are not in this process: what they had begun stays half written. */
        for (int i = 0; i < n; i++) trees[i]->fault = PZ_FORKED;
        error = pz_refuse(PZ_ENGINE, "the process forked in the middle of this call");
    } else
        error = first_error(&f);
    for (int i = 0; i < n; i++) pz_search_release(trees[i], PZ_OK);
    pz_team_free(f.team);
    free(f.outcomes);
    return error;
}
