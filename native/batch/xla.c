/*
 * XLA calls these handlers from its compiled programs, on threads of its own.
 *
 * What follows first is the part of XLA's stable C interface that they use, version 0.3 and before: every struct there
 * begins with its size, and later minor versions only add to the end. Sizes and version are checked at run time.
 */
#include "xla.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/team.h"
#include "session/internal.h"
#include "snapshot.h"

enum { XLA_MAJOR = 0, XLA_MINOR = 3 };

enum xla_type { XLA_BOOL = 1, XLA_S32 = 4, XLA_S64 = 5, XLA_U8 = 6, XLA_U32 = 8, XLA_F64 = 12 };
enum xla_code {
    XLA_CANCELLED = 1,
    XLA_INVALID_ARGUMENT = 3,
    XLA_DEADLINE_EXCEEDED = 4,
    XLA_FAILED_PRECONDITION = 9,
    XLA_UNIMPLEMENTED = 12,
    XLA_INTERNAL = 13
};
enum { XLA_METADATA = 1, XLA_EXECUTE = 3, XLA_IS_BUFFER = 1, XLA_IS_SCALAR = 3, XLA_IS_STRING = 4 };

typedef struct xla_error xla_error;

typedef struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
    size_t struct_size;
    xla_extension *extensions;
    int major, minor;
} xla_version;

typedef struct xla_metadata {
    size_t struct_size;
    xla_version version;
    uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
    xla_extension base;
    xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_new_error {
    size_t struct_size;
    xla_extension *extensions;
    const char *message;
    int code;
} xla_new_error;

typedef struct xla_api {
    size_t struct_size;
    xla_extension *extensions;
    xla_version version;
    const void *internal;
    xla_error *(*new_error)(xla_new_error *arguments);
} xla_api;

typedef struct xla_buffer {
    size_t struct_size;
    xla_extension *extensions;
    int type;
    void *data;
    int64_t rank;
    int64_t *dims;
} xla_buffer;

/* Arguments and results have the same form. */
typedef struct xla_buffers {
    size_t struct_size;
    xla_extension *extensions;
    int64_t size;
    const int *types;
    void **all;
} xla_buffers;

typedef struct xla_span {
    const char *start;
    size_t length;
} xla_span;

typedef struct xla_scalar {
    int type;
    void *value;
} xla_scalar;

typedef struct xla_attributes {
    size_t struct_size;
    xla_extension *extensions;
    int64_t size;
    const int *types;
    xla_span **names;
    void **all;
} xla_attributes;

typedef struct xla_call {
    size_t struct_size;
    xla_extension *extensions;
    const xla_api *api;
    void *context;
    int stage;
    xla_buffers arguments, results;
    xla_attributes attributes;
} xla_call;

/* A struct reaches at least to its last member that we know. */
#define REACHES(object, member) \
    ((object)->struct_size >= offsetof(__typeof__(*(object)), member) + sizeof(object)->member)

/* ---- Errors and versions ---- */

static xla_error *refuse(const xla_call *call, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
static xla_error *refuse(const xla_call *call, int code, const char *format, ...)
{
    char message[PZ_MESSAGE + 100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    xla_new_error wanted = {.struct_size = sizeof wanted, .message = message, .code = code};
    return call->api->new_error(&wanted);
}

/* The last error of the C side, for XLA. */
static xla_error *pass_on(const xla_call *call, int error, const char *where)
{
    const int code = error == PZ_TIMEOUT                                                   ? XLA_DEADLINE_EXCEEDED
                     : error == PZ_INTERRUPTED                                             ? XLA_CANCELLED
                     : error == PZ_CORRUPT || error == PZ_BAD_ID || error == PZ_BAD_PARAMS ? XLA_INVALID_ARGUMENT
                                                                                           : XLA_INTERNAL;
    return refuse(call, code, "puzzleport: %s%s", where, pz_last_error());
}

static int used_minor = XLA_MINOR;

int pz_xla_use_version(int major, int minor)
{
    if (major != XLA_MAJOR) {
        char reason[PZ_MESSAGE];
        snprintf(reason, sizeof reason, "XLA's interface for foreign functions has version %d.%d here; %d.x is known",
                 major, minor, XLA_MAJOR);
        return pz_refuse(PZ_ENGINE, reason);
    }
    used_minor = minor < XLA_MINOR ? minor : XLA_MINOR;
    return PZ_OK;
}

/* When a handler is registered, XLA asks for the version that it was made for. */
static bool answered(const xla_call *call)
{
    for (xla_extension *one = call->extensions; one; one = one->next) {
        if (one->type != XLA_METADATA) continue;
        xla_metadata *metadata = ((xla_metadata_extension *)one)->metadata;
        metadata->version = (xla_version){
            .struct_size = sizeof metadata->version, .major = XLA_MAJOR, .minor = used_minor};
        metadata->traits = 0;
        return true;
    }
    return false;
}

/* Whether a call has the form that we know; NULL when it has. */
static xla_error *check_form(const xla_call *call)
{
    if (call->api->version.major != XLA_MAJOR || !REACHES(call, attributes) || !REACHES(&call->arguments, all) ||
        !REACHES(&call->results, all) || !REACHES(&call->attributes, all))
        return refuse(call, XLA_UNIMPLEMENTED,
                      "puzzleport: XLA's interface for foreign functions has version %d.%d here, which is not known",
                      call->api->version.major, call->api->version.minor);
    return NULL;
}

/* ---- Buffers ---- */

static int64_t items_of(const xla_buffer *buffer)
{
    int64_t items = 1;
    for (int64_t d = 0; d < buffer->rank; d++) items *= buffer->dims[d];
    return items;
}

/* The buffer at this place if it is of this type, else NULL. */
static const xla_buffer *buffer_at(const xla_buffers *buffers, int64_t at, int type)
{
    if (at >= buffers->size || buffers->types[at] != XLA_IS_BUFFER) return NULL;
    const xla_buffer *buffer = buffers->all[at];
    return REACHES(buffer, dims) && buffer->type == type ? buffer : NULL;
}

static void *data_of(const xla_buffers *buffers, int64_t at, int type, int64_t items)
{
    const xla_buffer *buffer = buffer_at(buffers, at, type);
    return buffer && items_of(buffer) == items ? buffer->data : NULL;
}

static bool read_actions(const xla_call *call, int64_t at, int64_t n, int64_t *actions)
{
    const int32_t *narrow = data_of(&call->arguments, at, XLA_S32, n);
    const int64_t *wide = data_of(&call->arguments, at, XLA_S64, n);
    for (int64_t i = 0; i < n && (narrow || wide); i++) actions[i] = narrow ? narrow[i] : wide[i];
    return narrow || wide;
}

/* ---- Batches ---- */

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
    int64_t *actions, *wanted; /* the batch's, and what is checked before it goes there */
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
    free(e->wanted);
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

int pz_xla_open(pz_batch *batch, const pz_batch_buffers *buffers, int64_t *actions, int n, int n_actions,
                const uint64_t *seeds, uint32_t *token)
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
                 .actions = actions,
                 .wanted = malloc(size),
                 .first = malloc(size),
                 .seeds = malloc(size),
                 .episodes = malloc(size)};
    if (!e->wanted || !e->first || !e->seeds || !e->episodes) {
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
        *error = e->open ? refuse(call, XLA_FAILED_PRECONDITION,
                                  "puzzleport: this handle was used before (its step is %llu, the environment is at "
                                  "%llu): go on with the handle that the last call returned",
                                  (unsigned long long)count, (unsigned long long)e->count)
                         : NULL;
        pthread_mutex_unlock(&e->lock);
        let_go(e);
        if (*error) return NULL;
    }
    *error = refuse(call, XLA_FAILED_PRECONDITION, "puzzleport: %s",
                    ours ? "the environment of this handle was closed or deleted"
                         : "this handle was made in another process; make an environment here and reset it");
    return NULL;
}

static void leave(entry *e)
{
    pthread_mutex_unlock(&e->lock);
    let_go(e);
}

/* What was seen last in an episode where it ended, and what is seen now elsewhere. */
static void copy_ends(const entry *e, uint8_t *to, const uint8_t *now, const uint8_t *ends, size_t size)
{
    for (int at = 0; at < e->n; at++)
        memcpy(to + (size_t)at * size, (e->buffers.outcomes[at].ended ? ends : now) + (size_t)at * size, size);
}

/* Results: token, records, masks, outcomes, pictures if there are any; then the ends of all but the outcomes, if
 * wanted. */
typedef struct outputs {
    uint32_t *token;
    uint8_t *records, *masks, *frames;
    pz_outcome *outcomes;
    uint8_t *final_records, *final_masks, *final_frames;
    size_t frame_size;
} outputs;

static bool find_outputs(const xla_call *call, const entry *e, outputs *out)
{
    const xla_buffers *results = &call->results;
    const pz_batch_buffers *from = &e->buffers;
    const int64_t n = e->n, records = n * (int64_t)e->record_size, masks = n * e->n_actions;
    out->frame_size = (size_t)from->width * (size_t)from->height * (from->form & PZ_PICTURE_GREY ? 1 : 3);
    const int64_t frames = n * (int64_t)out->frame_size;
    int64_t at = 0;
    out->token = data_of(results, at++, XLA_U32, PZ_XLA_TOKEN);
    out->records = data_of(results, at++, XLA_U8, records);
    out->masks = data_of(results, at++, XLA_BOOL, masks);
    out->outcomes = data_of(results, at++, XLA_S32, n * 6);
    out->frames = from->frames ? data_of(results, at++, XLA_U8, frames) : NULL;
    if (!out->token || !out->records || !out->masks || !out->outcomes || (from->frames && !out->frames)) return false;
    out->final_records = out->final_masks = out->final_frames = NULL;
    if (at == results->size) return true;
    out->final_records = data_of(results, at++, XLA_U8, records);
    out->final_masks = data_of(results, at++, XLA_BOOL, masks);
    out->final_frames = from->frames ? data_of(results, at++, XLA_U8, frames) : NULL;
    return out->final_records && out->final_masks && (!from->frames || out->final_frames) && at == results->size;
}

static void publish(entry *e, const outputs *out)
{
    const pz_batch_buffers *from = &e->buffers;
    const size_t n = (size_t)e->n, mask = (size_t)e->n_actions;
    e->count++;
    memcpy(out->token, (uint32_t[]){process_tag, e->id, (uint32_t)e->count, (uint32_t)(e->count >> 32)},
           PZ_XLA_TOKEN * sizeof(uint32_t));
    memcpy(out->records, from->records, n * e->record_size);
    memcpy(out->masks, from->masks, n * mask);
    memcpy(out->outcomes, from->outcomes, n * sizeof *from->outcomes);
    if (out->frames) memcpy(out->frames, from->frames, n * out->frame_size);
    if (!out->final_records) return;
    copy_ends(e, out->final_records, from->records, from->final_records, e->record_size);
    copy_ends(e, out->final_masks, from->masks, from->final_masks, mask);
    if (out->frames) copy_ends(e, out->final_frames, from->frames, from->final_frames, out->frame_size);
}

static xla_error *failed(const xla_call *call, entry *e, int error)
{
    e->count++; /* part of the batch may have moved on: the handle that was used is worth nothing now */
    char where[64] = "";
    const int slot = pz_failed_slot();
    if (slot >= 0) snprintf(where, sizeof where, "slot %d: ", slot);
    return pass_on(call, error, where);
}

static xla_error *step_entry(const xla_call *call, entry *e)
{
    outputs out;
    if (!find_outputs(call, e, &out) || !read_actions(call, 1, e->n, e->wanted))
        return refuse(call, XLA_INVALID_ARGUMENT,
                      "puzzleport: this handle is of an environment with %d games of another form", e->n);
    if (!e->started)
        return refuse(call, XLA_FAILED_PRECONDITION, "puzzleport: reset the environment before its first step");
    for (int at = 0; at < e->n; at++)
        if (e->wanted[at] < 0 || e->wanted[at] >= e->n_actions)
            return refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: slot %d: the action %lld; the actions are 0 to %d",
                          at, (long long)e->wanted[at], e->n_actions - 1);
    memcpy(e->actions, e->wanted, (size_t)e->n * sizeof *e->actions);
    int error = pz_batch_step(e->batch, e->n, e->actions, PZ_AUTORESET_SAME_STEP);
    if (error) return failed(call, e, error);
    publish(e, &out);
    return NULL;
}

/* Seeds come in three words: the low and the high half; and whether there is one (1), none (0), or a wrong one. */
static xla_error *reset_entry(const xla_call *call, entry *e)
{
    outputs out;
    const uint32_t *words = data_of(&call->arguments, 1, XLA_U32, 3 * (int64_t)e->n);
    if (!find_outputs(call, e, &out) || !words)
        return refuse(call, XLA_INVALID_ARGUMENT,
                      "puzzleport: this handle is of an environment with %d games of another form", e->n);
    uint8_t *begun = (uint8_t *)e->wanted; /* which is free between two steps */
    int error = pz_batch_streams(e->batch, e->n, e->seeds, e->episodes, begun);
    if (error) return failed(call, e, error);
    for (int at = 0; at < e->n; at++, words += 3) {
        if (words[2] > 1)
            return refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: slot %d: a seed is a whole number from 0 on", at);
        if (words[2]) {
            e->seeds[at] = words[0] | (uint64_t)words[1] << 32;
            e->episodes[at] = 0;
        } else if (begun[at]) {
            e->episodes[at]++;
        } else {
            e->seeds[at] = e->first[at];
            e->episodes[at] = 0;
        }
    }
    error = pz_batch_reset(e->batch, e->n, e->seeds, e->episodes, NULL);
    if (error) return failed(call, e, error);
    e->started = true;
    publish(e, &out);
    return NULL;
}

static xla_error *on_entry(const xla_call *call, xla_error *(*work)(const xla_call *call, entry *e))
{
    xla_error *error = check_form(call);
    if (error) return error;
    const uint32_t *token = data_of(&call->arguments, 0, XLA_U32, PZ_XLA_TOKEN);
    if (!token) return refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: this is no handle");
    entry *e = enter(call, token, &error);
    if (!e) return error;
    error = work(call, e);
    leave(e);
    return error;
}

static xla_error *step(xla_call *call)
{
    return answered(call) ? NULL : on_entry(call, step_entry);
}

static xla_error *reset(xla_call *call)
{
    return answered(call) ? NULL : on_entry(call, reset_entry);
}

/* ---- Snapshots ---- */

enum { TEXT = 1024 * 64 };

typedef struct pure_call {
    pz_task task;
    char *texts[4]; /* puzzle, params, seed, desc */
    int64_t n, room;
    int64_t *actions;
    const uint32_t *words;
    const uint8_t *from;
    pz_snapshot_view to; /* of the first game */
    int64_t record_size, n_actions, frame_size;
    pthread_mutex_t lock;
    int error;
    int64_t failed_at;
    char message[PZ_MESSAGE];
} pure_call;

static const void *attribute(const xla_call *call, const char *name, int kind)
{
    const xla_attributes *given = &call->attributes;
    for (int64_t i = 0; i < given->size; i++)
        if (given->types[i] == kind && given->names[i]->length == strlen(name) &&
            !memcmp(given->names[i]->start, name, strlen(name)))
            return given->all[i];
    return NULL;
}

/* NULL where it is empty: all texts that may be missing are never empty. */
static char *text_attribute(const xla_call *call, const char *name)
{
    const xla_span *span = attribute(call, name, XLA_IS_STRING);
    if (!span || !span->length || span->length > TEXT) return NULL;
    char *copy = malloc(span->length + 1);
    if (!copy) return NULL;
    memcpy(copy, span->start, span->length);
    copy[span->length] = '\0';
    return copy;
}

static int64_t int_attribute(const xla_call *call, const char *name)
{
    const xla_scalar *scalar = attribute(call, name, XLA_IS_SCALAR);
    return scalar && scalar->type == XLA_S64 ? *(const int64_t *)scalar->value : 0;
}

static bool read_task(const xla_call *call, pure_call *p)
{
    static const char *const names[] = {"puzzle", "params", "seed", "desc"};
    for (int i = 0; i < 4; i++) p->texts[i] = text_attribute(call, names[i]);
    const pz_puzzle *puzzle = NULL;
    for (int i = 0; p->texts[0] && i < pz_count(); i++)
        if (!strcmp(pz_puzzle_at(i)->name, p->texts[0])) puzzle = pz_puzzle_at(i);
    if (!puzzle || !p->texts[1]) return false;
    p->task = (pz_task){.puzzle = puzzle,
                        .params = p->texts[1],
                        .seed = p->texts[2],
                        .desc = p->texts[3],
                        .max_steps = (int)int_attribute(call, "max_steps"),
                        .timeout = 1e-3 * (double)int_attribute(call, "timeout")};
    pz_layout *layout = malloc(sizeof *layout);
    const int error = layout ? pz_layout_of(puzzle, p->texts[1], layout) : PZ_ENGINE;
    if (!error) p->record_size = layout->record_size;
    free(layout);
    for (const pz_action *action = puzzle->actions; action->name; action++) p->n_actions += action->key != PZ_UNDO;
    return !error;
}

/* Results: states, records, masks, outcomes, and pictures if wanted. */
static bool find_pure_outputs(const xla_call *call, pure_call *p)
{
    const xla_buffer *states = buffer_at(&call->results, 0, XLA_U8);
    if (!states || !states->rank) return false;
    p->room = states->dims[states->rank - 1];
    p->n = 1;
    for (int64_t d = 0; d + 1 < states->rank; d++) p->n *= states->dims[d];
    p->to = (pz_snapshot_view){.bytes = states->data,
                               .record = data_of(&call->results, 1, XLA_U8, p->n * p->record_size),
                               .mask = data_of(&call->results, 2, XLA_BOOL, p->n * p->n_actions),
                               .outcome = data_of(&call->results, 3, XLA_S32, p->n * 6),
                               .width = (int)int_attribute(call, "width"),
                               .height = (int)int_attribute(call, "height"),
                               .form = (int)int_attribute(call, "form")};
    if (!p->to.record || !p->to.mask || !p->to.outcome) return false;
    if (call->results.size == 4) return true;
    p->frame_size = (int64_t)p->to.width * p->to.height * (p->to.form & PZ_PICTURE_GREY ? 1 : 3);
    p->to.frame = data_of(&call->results, 4, XLA_U8, p->n * p->frame_size);
    return p->to.frame != NULL;
}

static pz_snapshot_view view_of(const pure_call *p, int64_t at)
{
    pz_snapshot_view view = p->to;
    view.bytes += at * p->room;
    view.record += at * p->record_size;
    view.mask += at * p->n_actions;
    view.outcome += at;
    if (view.frame) view.frame += at * p->frame_size;
    return view;
}

static void note_failure(pure_call *p, int64_t at, int error)
{
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
        const pz_snapshot_view out = view_of(p, at);
        int error = pz_snapshot_step(&p->task, p->from + at * p->room, p->room, p->actions[at], &out);
        if (error) note_failure(p, at, error);
    }
}

static void start_snapshots(void *context, int64_t from, int64_t to)
{
    pure_call *p = context;
    for (int64_t at = from; at < to; at++) {
        const uint32_t *words = p->words + 3 * at;
        const pz_snapshot_view out = view_of(p, at);
        int error = words[2] != 1 ? pz_refuse(PZ_BAD_ID, "a seed is a whole number from 0 on")
                                  : pz_snapshot_start(&p->task, words[0] | (uint64_t)words[1] << 32, p->room, &out);
        if (error) note_failure(p, at, error);
    }
}

/* One team serves all programs; one that finds it at work does its own work alone. */
PZ_LOCK(team_lock)
static pz_team *team;

static void run(pure_call *p, pz_job job, bool alone)
{
    if (!alone && p->n > 1 && !pthread_mutex_trylock(&team_lock)) {
        if (!team) team = pz_team_new(0);
        if (team) pz_team_run(team, job, p, p->n, 4);
        alone = !team;
        pthread_mutex_unlock(&team_lock);
        if (!alone) return;
    }
    job(p, 0, p->n);
}

static xla_error *on_snapshots(const xla_call *call, pz_job job)
{
    xla_error *error = check_form(call);
    if (error) return error;
    pure_call p = {.failed_at = -1};
    pthread_mutex_init(&p.lock, NULL);
    bool fits = read_task(call, &p) && find_pure_outputs(call, &p);
    if (fits && job == start_snapshots) {
        p.words = data_of(&call->arguments, 0, XLA_U32, 3 * p.n);
        fits = p.words != NULL;
    } else if (fits) {
        p.from = data_of(&call->arguments, 0, XLA_U8, p.n * p.room);
        p.actions = malloc((size_t)p.n * sizeof *p.actions + 1);
        fits = p.from && p.actions && read_actions(call, 1, p.n, p.actions);
    }
    if (fits) run(&p, job, int_attribute(call, "threads") == 1);
    char where[64] = "";
    if (p.error && p.n > 1) snprintf(where, sizeof where, "game %lld: ", (long long)p.failed_at);
    if (p.error) pz_refuse(p.error, p.message);
    error = !fits     ? refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: these are no states of this environment")
            : p.error ? pass_on(call, p.error, where)
                      : NULL;
    for (int i = 0; i < 4; i++) free(p.texts[i]);
    free(p.actions);
    pthread_mutex_destroy(&p.lock);
    return error;
}

static xla_error *pure_init(xla_call *call)
{
    return answered(call) ? NULL : on_snapshots(call, start_snapshots);
}

static xla_error *pure_step(xla_call *call)
{
    return answered(call) ? NULL : on_snapshots(call, step_snapshots);
}

/* A function pointer becomes an object pointer here: POSIX has them alike, and a Python capsule holds only the latter.
 */
const pz_xla_target pz_xla_targets[] = {
    {"puzzleport_reset", (void *)reset},
    {"puzzleport_step", (void *)step},
    {"puzzleport_init", (void *)pure_init},
    {"puzzleport_step_pure", (void *)pure_step},
    {NULL, NULL},
};
