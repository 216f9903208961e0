/* Handlers that step a batch, which a token names. XLA calls them on threads of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/xla_call.h"
#include "session/internal.h"
#include "xla.h"

typedef struct entry {
    struct entry *next;
    uint32_t id;
    int users; /* guarded by the registry's lock, as are the links */
    pid_t owner;
    pthread_mutex_t lock;
    bool open, started;
    uint64_t count;
    pz_batch *batch;
    pz_batch_buffers buffers;
    int n, n_actions;
    size_t record_size;
    uint8_t *begun;
    uint64_t *first, *seeds, *episodes;
} entry;

PZ_LOCK(registry)
static entry *entries;
static uint32_t last_id, process_tag;
static pid_t tagged;

/* Differs between processes, after a fork too. */
static uint32_t this_process(void)
{
    const pid_t process = getpid();
    if (tagged != process) {
        const double now = pz_now();
        process_tag = (uint32_t)pz_hash_bytes(&now, sizeof now, (uint64_t)process);
        tagged = process;
    }
    return process_tag;
}

static void free_entry(entry *e)
{
    free(e->begun);
    free(e->first);
    free(e->seeds);
    free(e->episodes);
    free(e);
}

static void let_go(entry *e)
{
    pthread_mutex_lock(&registry);
    const bool last = --e->users == 0;
    pthread_mutex_unlock(&registry);
    if (last) free_entry(e);
}

static entry *unlink_entry(uint32_t id)
{
    entry **link = &entries;
    while (*link && (*link)->id != id) link = &(*link)->next;
    entry *e = *link;
    if (e) *link = e->next;
    return e;
}

int pz_xla_open(pz_batch *batch, const pz_batch_buffers *buffers, int n, int n_actions, const uint64_t *seeds,
                uint32_t *token)
{
    entry *e = calloc(1, sizeof *e);
    if (!e) return pz_refuse(PZ_ENGINE, "out of memory");
    const size_t size = (size_t)n * sizeof(uint64_t);
    *e = (entry){.users = 1,
                 .owner = getpid(),
                 .open = true,
                 .batch = batch,
                 .buffers = *buffers,
                 .n = n,
                 .n_actions = n_actions,
                 .record_size = (size_t)pz_batch_layout(batch)->record_size,
                 .begun = malloc((size_t)n),
                 .first = malloc(size),
                 .seeds = malloc(size),
                 .episodes = malloc(size)};
    if (!e->begun || !e->first || !e->seeds || !e->episodes) {
        free_entry(e);
        return pz_refuse(PZ_ENGINE, "out of memory");
    }
    memcpy(e->first, seeds, size);
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_lock(&registry);
    e->id = ++last_id;
    e->next = entries;
    entries = e;
    token[0] = this_process();
    pthread_mutex_unlock(&registry);
    token[1] = e->id;
    token[2] = token[3] = UINT32_MAX; /* whatever came before */
    return PZ_OK;
}

void pz_xla_close(uint32_t id)
{
    pthread_mutex_lock(&registry);
    entry *e = unlink_entry(id);
    pthread_mutex_unlock(&registry);
    if (!e || e->owner != getpid()) return; /* after a fork its lock may be held by a thread that is not here */
    pthread_mutex_lock(&e->lock);
    e->open = false;
    pthread_mutex_unlock(&e->lock);
    let_go(e);
}

/* The entry of a token, locked for this call, or NULL and the reason. */
static entry *enter(const xla_call *call, const uint32_t *token, xla_error **error)
{
    pthread_mutex_lock(&registry);
    const bool ours = token[0] == this_process();
    entry *e = ours ? entries : NULL;
    while (e && e->id != token[1]) e = e->next;
    if (e) e->users++;
    pthread_mutex_unlock(&registry);
    if (e) {
        pthread_mutex_lock(&e->lock);
        const uint64_t count = token[2] | (uint64_t)token[3] << 32;
        if (e->open && (count == e->count || count == UINT64_MAX)) return e;
        *error = e->open
                     ? xla_refuse(call, XLA_FAILED_PRECONDITION,
                                  "puzzleport: this handle was used before (its step is %llu, the environment is at "
                                  "%llu): go on with the handle that the last call returned",
                                  (unsigned long long)count, (unsigned long long)e->count)
                     : NULL;
        pthread_mutex_unlock(&e->lock);
        let_go(e);
        if (*error) return NULL;
    }
    *error = xla_refuse(call, XLA_FAILED_PRECONDITION, "puzzleport: %s",
                        ours ? "the environment of this handle was closed or deleted"
                             : "this handle was made in another process; make an environment here and reset it");
    return NULL;
}

static void leave(entry *e)
{
    pthread_mutex_unlock(&e->lock);
    let_go(e);
}

/*
 * Results: token, records, masks, rewards, ends; of a step returns and totals; pictures if there are any; and the last
 * records, masks and pictures of episodes that ended, if wanted.
 */
static bool find_outputs(const xla_call *call, const entry *e, bool step, uint32_t **token, pz_batch_copies *out)
{
    const pz_batch_buffers *from = &e->buffers;
    const int64_t n = e->n, records = n * (int64_t)e->record_size, masks = n * e->n_actions;
    const int64_t frames = n * from->width * from->height * (from->form & PZ_PICTURE_GREY ? 1 : 3);
    xla_results results = {.all = &call->results, .complete = true};
    *token = xla_next(&results, XLA_U32, PZ_XLA_TOKEN);
    *out = (pz_batch_copies){.records = xla_next(&results, XLA_U8, records)};
    out->masks = xla_next(&results, XLA_BOOL, masks);
    out->rewards = xla_next(&results, XLA_F32, n);
    out->ends = xla_next_ends(&results, n);
    if (step) out->returns = xla_next(&results, XLA_F32, n);
    if (step) out->totals = xla_next(&results, XLA_F32, n);
    if (from->frames) out->frames = xla_next(&results, XLA_U8, frames);
    if (results.at == call->results.size) return results.complete;
    out->final_records = xla_next(&results, XLA_U8, records);
    out->final_masks = xla_next(&results, XLA_BOOL, masks);
    if (from->frames) out->final_frames = xla_next(&results, XLA_U8, frames);
    return results.complete && results.at == call->results.size;
}

/* After a call that went well. */
static void write_token(entry *e, uint32_t *token)
{
    e->count++;
    memcpy(token, (uint32_t[]){process_tag, e->id, (uint32_t)e->count, (uint32_t)(e->count >> 32)},
           PZ_XLA_TOKEN * sizeof *token);
}

static xla_error *failed(const xla_call *call, entry *e, int error)
{
    e->count++; /* part of the batch may have moved on: the handle that was used is worth nothing now */
    char where[64] = "";
    const int slot = pz_failed_slot();
    if (slot >= 0) snprintf(where, sizeof where, "slot %d: ", slot);
    return xla_pass_on(call, error, where);
}

/* Before anything of the batch has moved on: the handle stays good. */
static xla_error *no_such_action(const xla_call *call, const entry *e, pz_actions actions)
{
    int at = 0;
    int64_t action;
    do action = actions.wide ? actions.wide[at] : actions.narrow[at];
    while (action >= 0 && action < e->n_actions && ++at < e->n);
    return xla_refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: slot %d: the action %lld; the actions are 0 to %d", at,
                      (long long)action, e->n_actions - 1);
}

static xla_error *step_entry(const xla_call *call, entry *e)
{
    uint32_t *token;
    pz_batch_copies out;
    const pz_actions actions = {.wide = xla_data_of(&call->arguments, 1, XLA_S64, e->n),
                                .narrow = xla_data_of(&call->arguments, 1, XLA_S32, e->n)};
    const float *returns = xla_data_of(&call->arguments, 2, XLA_F32, e->n);
    if (!returns || !find_outputs(call, e, true, &token, &out) || (!actions.wide && !actions.narrow))
        return xla_refuse(call, XLA_INVALID_ARGUMENT,
                          "puzzleport: this handle is of an environment with %d games of another form", e->n);
    if (!e->started)
        return xla_refuse(call, XLA_FAILED_PRECONDITION, "puzzleport: reset the environment before its first step");
    if (returns != out.returns) memcpy(out.returns, returns, (size_t)e->n * sizeof *returns);
    int error = pz_batch_step_to(e->batch, e->n, actions, PZ_AUTORESET_SAME_STEP, &out);
    if (error == PZ_BAD_ACTION) return no_such_action(call, e, actions);
    if (error) return failed(call, e, error);
    write_token(e, token);
    return NULL;
}

/* Seeds come in three words: the low and the high half; and whether there is one (1), none (0), or a wrong one. */
static xla_error *reset_entry(const xla_call *call, entry *e)
{
    uint32_t *token;
    pz_batch_copies out;
    const uint32_t *words = xla_data_of(&call->arguments, 1, XLA_U32, 3 * (int64_t)e->n);
    if (!find_outputs(call, e, false, &token, &out) || !words)
        return xla_refuse(call, XLA_INVALID_ARGUMENT,
                          "puzzleport: this handle is of an environment with %d games of another form", e->n);
    int error = pz_batch_streams(e->batch, e->n, e->seeds, e->episodes, e->begun);
    if (error) return failed(call, e, error);
    for (int at = 0; at < e->n; at++, words += 3) {
        if (words[2] > 1)
            return xla_refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: slot %d: a seed is a whole number from 0 on",
                              at);
        if (words[2]) {
            e->seeds[at] = words[0] | (uint64_t)words[1] << 32;
            e->episodes[at] = 0;
        } else if (e->begun[at]) {
            e->episodes[at]++;
        } else {
            e->seeds[at] = e->first[at];
            e->episodes[at] = 0;
        }
    }
    error = pz_batch_reset_to(e->batch, e->n, e->seeds, e->episodes, NULL, &out);
    if (error) return failed(call, e, error);
    e->started = true;
    write_token(e, token);
    return NULL;
}

static xla_error *on_entry(const xla_call *call, xla_error *(*work)(const xla_call *call, entry *e))
{
    xla_error *error = xla_check_form(call);
    if (error) return error;
    const uint32_t *token = xla_data_of(&call->arguments, 0, XLA_U32, PZ_XLA_TOKEN);
    if (!token) return xla_refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: this is no handle");
    entry *e = enter(call, token, &error);
    if (!e) return error;
    error = work(call, e);
    leave(e);
    return error;
}

xla_error *xla_step(xla_call *call)
{
    return xla_answered(call) ? NULL : on_entry(call, step_entry);
}

xla_error *xla_reset(xla_call *call)
{
    return xla_answered(call) ? NULL : on_entry(call, reset_entry);
}
