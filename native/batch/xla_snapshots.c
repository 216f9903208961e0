/* Handlers that step snapshots: whole games as bytes, which go in and come out. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch/ends.h"
#include "batch/team.h"
#include "batch/xla_call.h"
#include "session/internal.h"
#include "snapshot.h"

typedef struct pure_call {
    pz_task task;
    pz_pay pay;
    char *texts[4]; /* puzzle, params, seed, desc */
    int64_t n, room;
    int64_t *actions;
    const uint32_t *words;
    const uint8_t *from;
    pz_snapshot_view to; /* of the first game */
    pz_ends ends;
    int64_t record_size, n_actions, frame_size;
    pthread_mutex_t lock;
    int error;
    int64_t failed_at;
    char message[PZ_MESSAGE];
} pure_call;

static bool read_task(const xla_call *call, pure_call *p)
{
    static const char *const names[] = {"puzzle", "params", "seed", "desc"};
    for (int i = 0; i < 4; i++) p->texts[i] = xla_text_attribute(call, names[i]);
    const pz_puzzle *puzzle = NULL;
    for (int i = 0; p->texts[0] && i < pz_count(); i++)
        if (!strcmp(pz_puzzle_at(i)->name, p->texts[0])) puzzle = pz_puzzle_at(i);
    if (!puzzle || !p->texts[1]) return false;
    p->task = (pz_task){.puzzle = puzzle,
                        .params = p->texts[1],
                        .seed = p->texts[2],
                        .desc = p->texts[3],
                        .flags = xla_int_attribute(call, "undo") ? PZ_FLAG_UNDO : 0,
                        .undo_depth = (int)xla_int_attribute(call, "undo_depth"),
                        .max_steps = (int)xla_int_attribute(call, "max_steps"),
                        .max_repeats = (int)xla_int_attribute(call, "max_repeats"),
                        .timeout = 1e-3 * (double)xla_int_attribute(call, "timeout"),
                        .pay = &p->pay};
    p->pay = (pz_pay){.solved = xla_float_attribute(call, "solved"),
                      .failed = xla_float_attribute(call, "failed"),
                      .step = xla_float_attribute(call, "step"),
                      .no_effect = xla_float_attribute(call, "no_effect"),
                      .solution = xla_float_attribute(call, "solution"),
                      .errors = xla_float_attribute(call, "errors"),
                      .compared = (uint32_t)xla_int_attribute(call, "compared"),
                      .counted = (uint32_t)xla_int_attribute(call, "counted")};
    pz_layout *layout = malloc(sizeof *layout);
    const int error = layout ? pz_layout_of(puzzle, p->texts[1], layout) : PZ_ENGINE;
    if (!error) p->record_size = layout->record_size;
    free(layout);
    for (const pz_action *action = puzzle->actions; action->name; action++)
        p->n_actions += action->key != PZ_UNDO || p->task.flags;
    return !error;
}

/* Results: states, records, masks, rewards, ends, and pictures if wanted. */
static bool find_pure_outputs(const xla_call *call, pure_call *p)
{
    const xla_buffer *states = xla_buffer_at(&call->results, 0, XLA_U8);
    if (!states || !states->rank) return false;
    p->room = states->dims[states->rank - 1];
    p->n = 1;
    for (int64_t d = 0; d + 1 < states->rank; d++) p->n *= states->dims[d];
    xla_results results = {.all = &call->results, .complete = true};
    p->to = (pz_snapshot_view){.bytes = xla_next(&results, XLA_U8, p->n * p->room),
                               .width = (int)xla_int_attribute(call, "width"),
                               .height = (int)xla_int_attribute(call, "height"),
                               .form = (int)xla_int_attribute(call, "form")};
    p->to.record = xla_next(&results, XLA_U8, p->n * p->record_size);
    p->to.mask = xla_next(&results, XLA_BOOL, p->n * p->n_actions);
    p->to.reward = xla_next(&results, XLA_F32, p->n);
    p->ends = xla_next_ends(&results, p->n);
    if (results.at == call->results.size) return results.complete;
    p->frame_size = (int64_t)p->to.width * p->to.height * (p->to.form & PZ_PICTURE_GREY ? 1 : 3);
    p->to.frame = xla_next(&results, XLA_U8, p->n * p->frame_size);
    return results.complete;
}

static pz_snapshot_view view_of(const pure_call *p, int64_t at, pz_outcome *outcome)
{
    pz_snapshot_view view = p->to;
    view.outcome = outcome;
    view.bytes += at * p->room;
    view.record += at * p->record_size;
    view.mask += at * p->n_actions;
    view.reward += at;
    if (view.frame) view.frame += at * p->frame_size;
    return view;
}

static void conclude(pure_call *p, int64_t at, int error, const pz_outcome *outcome)
{
    if (!error) {
        pz_write_ends(p->ends, at, *outcome);
        return;
    }
    pthread_mutex_lock(&p->lock);
    if (!p->error || at < p->failed_at) {
        p->error = error;
        p->failed_at = at;
        snprintf(p->message, sizeof p->message, "%s", pz_last_error());
    }
    pthread_mutex_unlock(&p->lock);
}

static void step_snapshots(void *context, int64_t from, int64_t to)
{
    pure_call *p = context;
    for (int64_t at = from; at < to; at++) {
        pz_outcome outcome;
        const pz_snapshot_view out = view_of(p, at, &outcome);
        int error = pz_snapshot_step(&p->task, p->from + at * p->room, p->room, p->actions[at], &out);
        conclude(p, at, error, &outcome);
    }
}

static void start_snapshots(void *context, int64_t from, int64_t to)
{
    pure_call *p = context;
    for (int64_t at = from; at < to; at++) {
        const uint32_t *words = p->words + 3 * at;
        pz_outcome outcome;
        const pz_snapshot_view out = view_of(p, at, &outcome);
        int error = words[2] != 1 ? pz_refuse(PZ_BAD_ID, "a seed is a whole number from 0 on")
                                  : pz_snapshot_start(&p->task, words[0] | (uint64_t)words[1] << 32, p->room, &out);
        conclude(p, at, error, &outcome);
    }
}

/* One team serves all programs; one that finds it at work does its own work alone. */
PZ_LOCK(team_lock)
static pz_team *team;

static void run(pure_call *p, pz_job job, bool alone)
{
    if (!alone && p->n > 1 && !pthread_mutex_trylock(&team_lock)) {
        if (!team) team = pz_team_new(0);
        if (team) pz_team_run(team, job, p, p->n, (pz_grain){4, 4, 4});
        alone = !team;
        pthread_mutex_unlock(&team_lock);
        if (!alone) return;
    }
    job(p, 0, p->n);
}

static xla_error *on_snapshots(const xla_call *call, pz_job job)
{
    xla_error *error = xla_check_form(call);
    if (error) return error;
    pure_call p = {.failed_at = -1};
    pthread_mutex_init(&p.lock, NULL);
    bool fits = read_task(call, &p) && find_pure_outputs(call, &p);
    if (fits && job == start_snapshots) {
        p.words = xla_data_of(&call->arguments, 0, XLA_U32, 3 * p.n);
        fits = p.words != NULL;
    } else if (fits) {
        p.from = xla_data_of(&call->arguments, 0, XLA_U8, p.n * p.room);
        p.actions = malloc((size_t)p.n * sizeof *p.actions + 1);
        fits = p.from && p.actions && xla_read_actions(call, 1, p.n, p.actions);
    }
    if (fits) run(&p, job, xla_int_attribute(call, "threads") == 1);
    char where[64] = "";
    if (p.error && p.n > 1) snprintf(where, sizeof where, "game %lld: ", (long long)p.failed_at);
    if (p.error) pz_refuse(p.error, p.message);
    error = !fits     ? xla_refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: these are no states of this environment")
            : p.error ? xla_pass_on(call, p.error, where)
                      : NULL;
    for (int i = 0; i < 4; i++) free(p.texts[i]);
    free(p.actions);
    pthread_mutex_destroy(&p.lock);
    return error;
}

xla_error *xla_init(xla_call *call)
{
    return xla_answered(call) ? NULL : on_snapshots(call, start_snapshots);
}

xla_error *xla_step_pure(xla_call *call)
{
    return xla_answered(call) ? NULL : on_snapshots(call, step_snapshots);
}
