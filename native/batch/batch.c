/* Batches: many sessions, stepped together by a team of threads. */
#include "batch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch/ends.h"
#include "batch/prefetch.h"
#include "batch/team.h"
#include "session/internal.h"

/* A place in the batch, and the stream of games that are played there. */
typedef struct slot {
    pz_session *session;
    uint64_t seed, episode;
    int32_t ended;
    bool begun; /* has a stream */
} slot;

struct pz_batch {
    pz_task task; /* with the texts below */
    char *params, *seed, *desc;
    uint64_t *excluded;
    int n;
    pz_team *team;
    pz_prefetch *prefetch;
    slot *slots;
    pz_layout layout;
    int n_actions;
    bool uncounted;
    /* A fork may come in the middle of any write, so what is bound changes by one pointer. */
    pz_batch_buffers both[2], asked; /* asked: for pictures of the moment */
    const pz_batch_buffers *buffers;

    /* The job of the moment: copies, which nobody else can change while the threads read them. */
    uint8_t *actions, *chosen;
    int autoreset;
    const pz_batch_copies *copies; /* or NULL */
    pz_batch_copies apart;         /* those of a step that goes on between two calls */
    bool under_way;                /* such a step: its thread keeps the claim from the one call to the other */

    pz_owner owner;
    int fault; /* PZ_FORKED from a fork in the middle of a call until the next reset */
    pthread_mutex_t lock;
    int error, failed_slot;
    char message[PZ_MESSAGE];
};

static void note_error(pz_batch *b, int at, int error)
{
    if (error == PZ_INTERRUPTED) *pz_team_cancelled(b->team) = true;
    pthread_mutex_lock(&b->lock);
    /* The lowest slot is reported, so that the report does not depend on the threads. */
    if (!b->error || at < b->failed_slot) {
        b->error = error;
        b->failed_slot = at;
        snprintf(b->message, sizeof b->message, "%s", pz_last_error());
    }
    pthread_mutex_unlock(&b->lock);
}

static void bind_slot(pz_batch *b, int at)
{
    pz_session *s = b->slots[at].session;
    if (!s || !b->buffers->records) return;
    pz_bind(s, &(pz_buffers){.record = b->buffers->records + (size_t)at * (size_t)b->layout.record_size,
                             .mask = b->buffers->masks + (size_t)at * (size_t)b->n_actions});
    b->buffers->outcomes[at] = *s->outcome;
}

static size_t frame_size(const pz_batch_buffers *buffers)
{
    return (size_t)buffers->width * (size_t)buffers->height * (buffers->form & PZ_PICTURE_GREY ? 1 : 3);
}

static bool draw_slot(pz_batch *b, int at, const pz_batch_buffers *to, uint8_t *frames)
{
    if (!b->slots[at].session) {
        note_error(b, at, pz_refuse(PZ_ENGINE, "this slot has no game; reset it"));
        return false;
    }
    int error = pz_session_pixels(b->slots[at].session, to->width, to->height, to->form,
                                  frames + (size_t)at * frame_size(to));
    if (error) note_error(b, at, error);
    return !error;
}

/* What is the same for every slot is copied for a run of them at once. */
static void copy_part(uint8_t *to, const uint8_t *from, int64_t at, int64_t end, size_t size)
{
    if (to) memcpy(to + (size_t)at * size, from + (size_t)at * size, (size_t)(end - at) * size);
}

static void copy_reward(const pz_batch *b, int64_t at, bool ended)
{
    const pz_batch_copies *to = b->copies;
    const float paid = b->buffers->rewards ? (float)b->buffers->rewards[at] : 0;
    if (to->rewards) to->rewards[at] = paid;
    if (!to->returns) return;
    to->totals[at] = to->returns[at] + paid;
    to->returns[at] = ended ? 0 : to->totals[at];
}

/* In a mask of a game that is over: all actions, where none is legal. */
static void open_mask(uint8_t *mask, size_t size)
{
    if (!memchr(mask, 1, size)) memset(mask, 1, size);
}

static void copy_slots(const pz_batch *b, int64_t from, int64_t to)
{
    const pz_batch_copies *copies = b->copies;
    const pz_batch_buffers *now = b->buffers;
    const size_t record = (size_t)b->layout.record_size, mask = (size_t)b->n_actions, frame = frame_size(now);
    copy_part(copies->records, now->records, from, to, record);
    copy_part(copies->masks, now->masks, from, to, mask);
    copy_part(copies->frames, now->frames, from, to, frame);
    if (copies->exact_rewards)
        for (int64_t at = from; at < to; at++) copies->exact_rewards[at] = now->rewards ? now->rewards[at] : 0;
    const pz_ends ends = copies->ends;
    for (int64_t at = from; at < to; at++) pz_write_ends(ends, at, now->outcomes[at]);
    const bool more = copies->rewards || copies->returns || copies->choosable || copies->final_records ||
                      copies->final_masks || copies->final_frames;
    for (int64_t at = from; more && at < to; at++) {
        const bool ended = now->outcomes[at].ended;
        copy_reward(b, at, ended);
        if (ended && copies->choosable) open_mask(copies->masks + (size_t)at * mask, mask);
        copy_part(copies->final_records, ended ? now->final_records : now->records, at, at + 1, record);
        copy_part(copies->final_masks, ended ? now->final_masks : now->masks, at, at + 1, mask);
        copy_part(copies->final_frames, ended ? now->final_frames : now->frames, at, at + 1, frame);
    }
}

static int make_game(const void *context, uint64_t seed, uint64_t episode, pz_session **fresh)
{
    const pz_batch *b = context;
    return pz_task_session(&b->task, pz_episode_seed(seed, episode), fresh);
}

static bool is_excluded(const pz_task *task, uint64_t instance)
{
    int64_t from = 0, to = task->seed || task->desc ? 0 : task->n_excluded;
    while (from < to) {
        const int64_t middle = from + (to - from) / 2;
        if (task->excluded[middle] == instance) return true;
        if (task->excluded[middle] < instance)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

enum { MOST_EXCLUDED = 1000 }; /* in a row: then there is hardly anything else */

/* The game that the slot's stream is at, or the next one that is not excluded. */
static int take_game(pz_batch *b, int at, pz_session **fresh)
{
    slot *place = &b->slots[at];
    for (int passed = 0; passed <= MOST_EXCLUDED; passed++) {
        int error = pz_prefetch_take(b->prefetch, at, place->seed, place->episode, pz_team_cancelled(b->team), fresh);
        if (error || !is_excluded(&b->task, (*fresh)->instance_hash)) return error;
        pz_session_free(*fresh);
        place->episode++;
    }
    *fresh = NULL;
    return pz_refuse(PZ_BAD_PARAMS, "1000 instances in a row are excluded");
}

/* Start the episode that the slot's stream is at. */
static bool start_episode(pz_batch *b, int at)
{
    slot *place = &b->slots[at];
    pz_session *fresh;
    int error = take_game(b, at, &fresh);
    if (error) {
        note_error(b, at, error);
        place->ended = PZ_TRUNCATED; /* so that the next step tries the next puzzle */
        return false;
    }
    if (place->session) {
        pz_session_take_over(place->session, fresh, NULL);
    } else {
        place->session = fresh;
        pz_session_limit(fresh, b->task.max_steps, b->task.max_repeats);
        bind_slot(b, at);
    }
    if (b->buffers->rewards && (error = pz_pay_look(place->session, &b->buffers->pay))) {
        note_error(b, at, error);
        place->ended = PZ_TRUNCATED;
        return false;
    }
    place->ended = place->session->outcome->ended;
    if (b->buffers->game_seeds) b->buffers->game_seeds[at] = pz_episode_seed(place->seed, place->episode);
    if (b->task.ahead) pz_prefetch_request(b->prefetch, at, place->seed, place->episode + 1);
    if (b->buffers->frames) draw_slot(b, at, b->buffers, b->buffers->frames);
    return true;
}

static void reset_slots(void *context, int64_t from, int64_t to)
{
    pz_batch *b = context;
    for (int at = (int)from; at < to; at++) {
        if (!b->chosen[at]) continue;
        if (b->buffers->rewards) b->buffers->rewards[at] = 0;
        if (!start_episode(b, at)) continue;
        b->buffers->outcomes[at] = *b->slots[at].session->outcome;
        if (b->copies) copy_slots(b, at, at + 1);
    }
}

/* One number at a time: a wider load right behind the stores of these would have to wait for them. */
static void copy_outcome(pz_outcome *to, const volatile pz_outcome *from)
{
    to->changed = from->changed;
    to->status = from->status;
    to->moves = from->moves;
    to->repeats = from->repeats;
    to->steps = from->steps;
    to->ended = from->ended;
}

/* What a step leads to besides the step itself: a last look and the next episode, or a picture. */
static void finish_step(pz_batch *b, int at)
{
    slot *place = &b->slots[at];
    const pz_session *s = place->session;
    copy_outcome(&b->buffers->outcomes[at], s->outcome);
    place->ended = s->outcome->ended;
    if (!place->ended || b->autoreset != PZ_AUTORESET_SAME_STEP) {
        if (b->buffers->frames) draw_slot(b, at, b->buffers, b->buffers->frames);
        return;
    }
    if (b->buffers->final_records) {
        const size_t record = (size_t)b->layout.record_size, mask = (size_t)b->n_actions;
        memcpy(b->buffers->final_records + (size_t)at * record, s->record, record);
        memcpy(b->buffers->final_masks + (size_t)at * mask, s->mask, mask);
    }
    if (b->buffers->final_frames) draw_slot(b, at, b->buffers, b->buffers->final_frames);
    place->episode++;
    start_episode(b, at);
}

static void step_slot(pz_batch *b, int at, pz_guard *guard)
{
    slot *place = &b->slots[at];
    pz_session *s = place->session;
    if (place->ended || !s) {
        if (b->buffers->rewards) b->buffers->rewards[at] = 0;
        if (b->autoreset == PZ_AUTORESET_OFF || !place->begun) return;
        /* The action is ignored: this step shows the first observation of the next episode. */
        place->episode++;
        if (start_episode(b, at)) b->buffers->outcomes[at] = *place->session->outcome;
        return;
    }
    guard->pool = s->pool;
    guard->session = s;
    guard->started = 0;
    pz_step_guarded(s, b->actions[at], b->uncounted);
    if (b->uncounted && s->outcome->changed) pz_write_mask(s);
    if (b->buffers->rewards) b->buffers->rewards[at] = pz_pay_step(s, &b->buffers->pay);
    finish_step(b, at);
}

/*
 * A batch does not fit into the caches: start to load what the next steps of this run need while one is taken. First
 * the session, then what it points to; and the first ones of a run all at once.
 */
enum { SOON = 4, NEXT = 2 };

static void fetch_session(const pz_batch *b, int64_t at, int64_t to)
{
    if (at < to && b->slots[at].session) pz_fetch(b->slots[at].session, offsetof(pz_session, params));
}

/* What is written there: whoever reads the results of each step has these lines in the caches of another core. */
static void fetch_results(const pz_batch *b, int64_t at)
{
    pz_fetch(&b->buffers->outcomes[at], sizeof *b->buffers->outcomes);
    if (b->buffers->rewards) pz_fetch(&b->buffers->rewards[at], sizeof *b->buffers->rewards);
}

static void fetch_game(const pz_batch *b, int64_t at, int64_t to)
{
    if (at >= to || !b->slots[at].session) return;
    pz_session_fetch(b->slots[at].session);
    fetch_results(b, at);
}

static void fetch_first(const pz_batch *b, int64_t from, int64_t to)
{
    for (int64_t at = from; at < from + SOON; at++) fetch_session(b, at, to);
    for (int64_t at = from; at < from + NEXT; at++) fetch_game(b, at, to);
}

/*
 * One guard serves a run of slots, not pz_guarded for each: entering it for every step would cost. After a fault
 * another guard goes on behind the slot that had it.
 */
static void step_slots(void *context, int64_t from, int64_t to)
{
    pz_batch *b = context;
    volatile int at = (int)from;
    fetch_first(b, from, to);
    while (at < to) {
        pz_guard guard;
        pz_enter(&guard, NULL, pz_step_timeout);
        if (!setjmp(guard.home))
            for (; at < to; at++) {
                fetch_session(b, at + SOON, to);
                fetch_game(b, at + NEXT, to);
                step_slot(b, at, &guard);
            }
        if (!pz_conclude(&guard)) continue;
        b->slots[at].session->fault = guard.error;
        b->slots[at].ended = PZ_TRUNCATED;
        note_error(b, at, guard.error);
        at++;
    }
    if (b->copies) copy_slots(b, from, to);
}

static void draw_slots(void *context, int64_t from, int64_t to)
{
    pz_batch *b = context;
    for (int at = (int)from; at < to; at++) draw_slot(b, at, &b->asked, b->asked.frames);
}

/*
 * The process forked while another thread was at work here. What that thread had in hand may be half written: the games
 * are given up, without freeing them, and a reset starts new ones.
 */
static void abandon(pz_batch *b)
{
    b->fault = PZ_FORKED;
    b->under_way = false;
    pthread_mutex_init(&b->lock, NULL);
    pz_prefetch_abandon(b->prefetch);
    for (int at = 0; at < b->n; at++) b->slots[at].session = NULL;
}

/* A batch is claimed before anything of it is read or written: another thread may be at work in it. */
static int claim_any(pz_batch *b)
{
    const pz_claimed claimed = pz_take(&b->owner);
    if (claimed == PZ_BUSY) return pz_refuse(PZ_ENGINE, "this batch is in use by another thread");
    if (claimed == PZ_ABANDONED) abandon(b);
    return PZ_OK;
}

static int release(pz_batch *b, int error)
{
    pz_let_go(&b->owner);
    return error;
}

static int claim(pz_batch *b)
{
    int refused = claim_any(b);
    if (refused || !b->fault) return refused;
    return release(b,
                   pz_refuse(PZ_ENGINE, "another thread was at work in this batch when the process forked; reset it"));
}

static int wrong_size(void)
{
    return pz_refuse(PZ_ENGINE, "these arrays do not have the size of the batch");
}

/* A picture costs as much as many steps: the threads share them in small pieces, so that they end together. */
static const pz_grain few = {2, 2, 2}, many = {4, 256, 16};

/* Before a job over the slots of a claimed batch. */
static void prepare(pz_batch *b, const pz_batch_copies *copies)
{
    b->copies = copies;
    b->error = PZ_OK;
    b->failed_slot = -1;
    pz_prefetch_after_fork(b->prefetch);
}

/* After it. */
static int conclude(pz_batch *b, bool whole)
{
    if (!whole) {
        abandon(b);
        return pz_refuse(PZ_ENGINE, "the process forked in the middle of this call; reset the batch");
    }
    /* A signal that came too late to stop anything must still be reported. */
    if (*pz_team_cancelled(b->team) && !b->error) note_error(b, 0, pz_refuse(PZ_INTERRUPTED, "interrupted"));
    if (!b->error) return PZ_OK;
    pz_refuse(b->error, b->message);
    pz_thread_notes()->slot = b->failed_slot;
    return b->error;
}

static int run(pz_batch *b, pz_job job, pz_grain grain, const pz_batch_copies *copies)
{
    prepare(b, copies);
    return conclude(b, pz_team_run(b->team, job, b, b->n, grain));
}

int pz_task_session(const pz_task *task, uint64_t seed, pz_session **result)
{
    char digits[24];
    pz_write_seed(digits, seed);
    const char *instance = task->desc ? NULL : task->seed ? task->seed : digits;
    return pz_session_new(task->puzzle, task->params, instance, task->desc, task->flags, task->timeout, result);
}

static char *copy_of(const char *text)
{
    char *copy = text ? malloc(strlen(text) + 1) : NULL;
    return copy ? strcpy(copy, text) : NULL;
}

int pz_batch_new(const pz_task *task, int n, int threads, pz_batch **result)
{
    *result = NULL;
    const char *canonical;
    int error = pz_params_canonical(task->puzzle, task->params ? task->params : "",
                                    task->desc ? PZ_TO_PLAY : PZ_TO_GENERATE, &canonical);
    if (error) return error;
    pz_batch *b = calloc(1, sizeof *b);
    if (!b) return pz_refuse(PZ_ENGINE, "out of memory");
    b->task = *task;
    b->buffers = b->both;
    b->n = n;
    pthread_mutex_init(&b->lock, NULL);
    b->actions = calloc((size_t)n, 1);
    b->chosen = calloc((size_t)n, 1);
    b->task.params = b->params = copy_of(canonical);
    b->task.seed = b->seed = copy_of(task->seed);
    b->task.desc = b->desc = copy_of(task->desc);
    if (task->n_excluded) {
        const size_t size = (size_t)task->n_excluded * sizeof *b->excluded;
        b->task.excluded = b->excluded = malloc(size);
        if (b->excluded) memcpy(b->excluded, task->excluded, size);
    }
    b->slots = calloc((size_t)n, sizeof *b->slots);
    b->team = pz_team_new(threads);
    b->prefetch = pz_prefetch_new(n, make_game, b);
    const bool copied = b->params && !b->seed == !task->seed && !b->desc == !task->desc &&
                        !b->excluded == !task->n_excluded;
    if (!copied || !b->actions || !b->chosen || !b->slots || !b->team || !b->prefetch) {
        pz_batch_free(b);
        return pz_refuse(PZ_ENGINE, "out of memory");
    }
    error = pz_layout_of(task->puzzle, b->params, &b->layout);
    if (error) {
        pz_batch_free(b);
        return error;
    }
    for (const pz_action *action = task->puzzle->actions; action->name; action++)
        if (action->key != PZ_UNDO || (task->flags & PZ_FLAG_UNDO)) b->n_actions++;
    *result = b;
    return PZ_OK;
}

void pz_batch_free(pz_batch *b)
{
    if (!b) return;
    if (pz_is_abandoned(&b->owner)) abandon(b);
    pz_prefetch_free(b->prefetch); /* its thread reads the batch */
    pz_team_free(b->team);
    for (int at = 0; b->slots && at < b->n; at++) pz_session_free(b->slots[at].session);
    free(b->slots);
    free(b->actions);
    free(b->chosen);
    free(b->params);
    free(b->seed);
    free(b->desc);
    free(b->excluded);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

int pz_batch_threads(const pz_batch *b)
{
    return pz_team_size(b->team);
}

const pz_layout *pz_batch_layout(const pz_batch *b)
{
    return &b->layout;
}

int pz_batch_clone(pz_batch *b, int at, pz_session **result)
{
    *result = NULL;
    int refused = claim(b);
    if (refused) return refused;
    if (at < 0 || at >= b->n) return release(b, wrong_size());
    if (!b->slots[at].session) return release(b, pz_refuse(PZ_ENGINE, "this slot has no game; reset it"));
    return release(b, pz_session_clone(b->slots[at].session, result));
}

static int64_t picture_bytes(int width, int height, int form)
{
    return (int64_t)width * height * (form & PZ_PICTURE_GREY ? 1 : 3);
}

int pz_batch_bind(pz_batch *b, const pz_batch_buffers *to)
{
    int refused = claim(b);
    if (refused) return refused;
    if (to->records_size != (int64_t)b->n * b->layout.record_size || to->masks_size != (int64_t)b->n * b->n_actions ||
        to->outcomes_size != (int64_t)b->n * (int64_t)sizeof *to->outcomes ||
        (to->game_seeds && to->game_seeds_size != (int64_t)b->n * (int64_t)sizeof *to->game_seeds) ||
        (to->rewards && to->rewards_size != (int64_t)b->n * (int64_t)sizeof *to->rewards) ||
        (to->frames && to->frames_size != b->n * picture_bytes(to->width, to->height, to->form)))
        return release(b, wrong_size());
    pz_batch_buffers *next = b->buffers == b->both ? b->both + 1 : b->both;
    *next = *to;
    b->buffers = next;
    int error = PZ_OK;
    for (int at = 0; at < b->n; at++) {
        bind_slot(b, at);
        if (to->rewards && b->slots[at].session && !error) error = pz_pay_look(b->slots[at].session, &to->pay);
    }
    return release(b, error);
}

int pz_batch_reset(pz_batch *b, int64_t n, const uint64_t *seeds, const uint64_t *episodes, const uint8_t *which)
{
    return pz_batch_reset_to(b, n, seeds, episodes, which, NULL);
}

int pz_batch_reset_to(pz_batch *b, int64_t n, const uint64_t *seeds, const uint64_t *episodes, const uint8_t *which,
                      const pz_batch_copies *copies)
{
    int refused = claim_any(b);
    if (refused) return refused;
    if (n != b->n) return release(b, wrong_size());
    b->fault = PZ_OK;
    for (int at = 0; at < b->n; at++) {
        b->chosen[at] = !which || which[at];
        if (!b->chosen[at]) continue;
        b->slots[at].seed = seeds[at];
        b->slots[at].episode = episodes[at];
        b->slots[at].begun = true;
    }
    return release(b, run(b, reset_slots, (pz_grain){1, 1, 1}, copies));
}

int pz_batch_step(pz_batch *b, int64_t n, const int64_t *actions, int autoreset)
{
    return pz_batch_step_to(b, n, (pz_actions){.wide = actions}, autoreset, NULL);
}

/* Copy the actions and look whether each exists: without a branch in the loops, so that they take several at once. */
static bool take_actions(pz_batch *b, pz_actions actions)
{
    const uint64_t n_actions = (uint64_t)b->n_actions;
    const int64_t *wide = actions.wide;
    const int32_t *narrow = actions.narrow;
    uint8_t *to = b->actions;
    uint64_t beyond = 0;
    uint32_t narrow_beyond = 0;
    for (int at = 0; wide && at < b->n; at++) {
        beyond |= (uint64_t)wide[at] >= n_actions;
        to[at] = (uint8_t)wide[at];
    }
    for (int at = 0; !wide && at < b->n; at++) {
        narrow_beyond |= (uint32_t)narrow[at] >= (uint32_t)n_actions;
        to[at] = (uint8_t)narrow[at];
    }
    return !beyond && !narrow_beyond;
}

/* Claim the batch for a step, unless that is refused. */
static int claim_step(pz_batch *b, int64_t n, pz_actions actions, int autoreset)
{
    int refused = claim(b);
    if (refused) return refused;
    if (n != b->n) return release(b, wrong_size());
    if (!take_actions(b, actions)) return release(b, pz_refuse(PZ_BAD_ACTION, "there is no such action"));
    b->autoreset = autoreset;
    return PZ_OK;
}

static pz_grain step_grain(const pz_batch *b)
{
    return b->buffers->frames ? few : many;
}

int pz_batch_step_to(pz_batch *b, int64_t n, pz_actions actions, int autoreset, const pz_batch_copies *copies)
{
    int refused = claim_step(b, n, actions, autoreset);
    return refused ? refused : release(b, run(b, step_slots, step_grain(b), copies));
}

int pz_batch_step_told(pz_batch *b, int64_t n, const int64_t *actions, int autoreset, uint8_t *block, int64_t size)
{
    const int64_t each = sizeof(double) + sizeof(int32_t) + 5;
    if (size != b->n * each || (uintptr_t)block % _Alignof(double)) return wrong_size();
    double *rewards = (double *)block;
    int32_t *repeats = (int32_t *)(rewards + b->n);
    uint8_t *flags = (uint8_t *)(repeats + b->n);
    const pz_batch_copies told = {.exact_rewards = rewards,
                                  .ends = {.repeats = repeats,
                                           .terminated = flags,
                                           .truncated = flags + b->n,
                                           .done = flags + 2 * (int64_t)b->n,
                                           .solved = flags + 3 * (int64_t)b->n,
                                           .first = flags + 4 * (int64_t)b->n}};
    return pz_batch_step_to(b, n, (pz_actions){.wide = actions}, autoreset, &told);
}

int pz_batch_begin_apart(pz_batch *b, int64_t n, const int64_t *actions, int autoreset, uint8_t *block, int64_t size,
                         bool choosable)
{
    const int64_t records = b->n * (int64_t)b->layout.record_size, masks = b->n * (int64_t)b->n_actions;
    const int64_t rewards = b->n * (int64_t)sizeof(float);
    if (size != records + rewards + masks + 4 * (int64_t)b->n) return wrong_size();
    uint8_t *flags = block + records + rewards + masks;
    int refused = claim_step(b, n, (pz_actions){.wide = actions}, autoreset);
    if (refused) return refused;
    b->apart = (pz_batch_copies){.records = block,
                                 .rewards = (float *)(block + records),
                                 .masks = block + records + rewards,
                                 .ends = {.terminated = flags,
                                          .truncated = flags + b->n,
                                          .done = flags + 2 * (int64_t)b->n,
                                          .solved = flags + 3 * (int64_t)b->n},
                                 .choosable = choosable};
    prepare(b, &b->apart);
    pz_team_begin(b->team, step_slots, b, b->n, step_grain(b));
    b->under_way = true;
    return PZ_OK;
}

int pz_batch_end_apart(pz_batch *b)
{
    if (!pz_is_mine(&b->owner) || !b->under_way) return pz_refuse(PZ_ENGINE, "this thread has begun no step here");
    b->under_way = false;
    return release(b, conclude(b, pz_team_end(b->team)));
}

void pz_batch_uncounted(pz_batch *b)
{
    b->uncounted = !b->task.max_repeats;
}

int pz_batch_pixels(pz_batch *b, int width, int height, int form, uint8_t *out, int64_t size)
{
    int refused = claim(b);
    if (refused) return refused;
    if (size != b->n * picture_bytes(width, height, form)) return release(b, wrong_size());
    b->asked = (pz_batch_buffers){.frames = out, .width = width, .height = height, .form = form};
    return release(b, run(b, draw_slots, few, NULL));
}

int pz_failed_slot(void)
{
    return pz_thread_notes()->slot;
}

int pz_batch_streams(pz_batch *b, int64_t n, uint64_t *seeds, uint64_t *episodes, uint8_t *begun)
{
    int refused = claim_any(b);
    if (refused) return refused;
    if (n != b->n) return release(b, wrong_size());
    for (int at = 0; at < b->n; at++) {
        seeds[at] = b->slots[at].seed;
        episodes[at] = b->slots[at].episode;
        begun[at] = b->slots[at].begun;
    }
    return release(b, PZ_OK);
}
