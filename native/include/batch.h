/*
 * Batches, n sessions of one puzzle and one set of parameters that are stepped together on several threads; and
 * rollouts.
 */
#ifndef PZ_BATCH_H
#define PZ_BATCH_H

#include "session.h"

typedef struct pz_batch pz_batch;

enum pz_autoreset { PZ_AUTORESET_OFF = 0, PZ_AUTORESET_NEXT_STEP = 1, PZ_AUTORESET_SAME_STEP = 2 };

/*
 * What the caller allocates once and every call fills; the final_ ones, for the same-step autoreset only, may be
 * NULL.
 */
typedef struct pz_batch_buffers {
    uint8_t *records, *masks;
    pz_outcome *outcomes;
    uint8_t *final_records, *final_masks;
    uint64_t *game_seeds;           /* NULL, or the seed that the stream of each slot has for its present game */
    uint8_t *frames, *final_frames; /* NULL, or pictures of this size and form, drawn along with every step */
    int32_t width, height, form;
    double *rewards; /* NULL, or what each step pays by this rule: 0 where it only began the next episode */
    pz_pay pay;
    int64_t records_size, masks_size, outcomes_size, game_seeds_size, rewards_size,
        frames_size; /* bytes of room in each; final_ ones have the same */
} pz_batch_buffers;

typedef struct pz_ends {
    uint8_t *terminated, *truncated, *done, *solved, *first; /* each 0 or 1; first: before the first step */
    int32_t *lengths, *repeats;
} pz_ends;

/*
 * Where a call also copies what it led to, on the threads that have the slots at hand: one thread that had to fetch all
 * this from the caches of the others would cost more than it copies. final_ ones hold what is seen now
 * where no episode ended. Any may be NULL.
 */
typedef struct pz_batch_copies {
    uint8_t *records, *masks;
    float *rewards;
    double *exact_rewards;
    pz_ends ends;
    /* What episodes have paid: before this step and, in the same place, for the next one; and with this step. */
    float *returns, *totals;
    uint8_t *frames, *final_records, *final_masks, *final_frames;
    bool choosable; /* where a game is over and nothing is legal, its mask here has every action */
} pz_batch_copies;

/* One action for each slot, in numbers of either size; the other is NULL. */
typedef struct pz_actions {
    const int64_t *wide;
    const int32_t *narrow;
} pz_actions;

/* What is played and how. With a seed or a description, every episode plays that one instance. */
typedef struct pz_task {
    const pz_puzzle *puzzle;
    const char *params, *seed, *desc;
    int flags, max_steps, max_repeats;
    double timeout;
    const pz_pay *pay;        /* for snapshots; a batch has it in its buffers */
    int undo_depth;           /* for snapshots: how many moves back they hold */
    const uint64_t *excluded; /* hashes of instances that streams pass over, in rising order */
    int64_t n_excluded;
    bool ahead; /* a batch has its next games made by a thread of their own, where that takes long */
} pz_task;

/* A session of the task's one instance, or of this seed's; its limits are not set yet. */
int pz_task_session(const pz_task *task, uint64_t seed, pz_session **result);

int pz_batch_new(const pz_task *task, int n, int threads, pz_batch **result);
void pz_batch_free(pz_batch *batch);
int pz_batch_threads(const pz_batch *batch);
const pz_layout *pz_batch_layout(const pz_batch *batch);
int pz_batch_clone(pz_batch *batch, int slot, pz_session **result); /* a copy: the batch keeps its own sessions */
int pz_batch_bind(pz_batch *batch, const pz_batch_buffers *buffers); /* copies the struct */

/*
 * Every call claims the batch, then checks what it was given, and copies it before the threads start. The n is how many
 * items the arrays have: as many as there are slots, or the call is refused.
 *
 * Start episode number episodes[i] of stream seeds[i] in every slot for which which[i] is set (all when NULL).
 */
int pz_batch_reset(pz_batch *batch, int64_t n, const uint64_t *seeds, const uint64_t *episodes, const uint8_t *which);
int pz_batch_step(pz_batch *batch, int64_t n, const int64_t *actions, int autoreset);
/* The same with copies; NULL for none. */
int pz_batch_reset_to(pz_batch *batch, int64_t n, const uint64_t *seeds, const uint64_t *episodes, const uint8_t *which,
                      const pz_batch_copies *copies);
int pz_batch_step_to(pz_batch *batch, int64_t n, pz_actions actions, int autoreset, const pz_batch_copies *copies);
/*
 * A step that tells how the episodes stand in one block, of as many bytes, where doubles may lie: exact rewards,
 * repeats, terminated, truncated, done, solved, first.
 */
int pz_batch_step_told(pz_batch *batch, int64_t n, const int64_t *actions, int autoreset, uint8_t *block, int64_t size);
/*
 * A step with copies in one block, of as many bytes: records, rewards, masks, terminated, truncated, done, solved.
 * Between the two calls, which come from the same thread, the other threads of the batch are at work, and everybody
 * else is refused. Every step that was begun must be ended, and until then the block must stay where it is.
 */
int pz_batch_begin_apart(pz_batch *batch, int64_t n, const int64_t *actions, int autoreset, uint8_t *block,
                         int64_t size, bool choosable);
int pz_batch_end_apart(pz_batch *batch);
/* From now on nobody reads outcome.repeats: where no limit does either, they are not counted, and stay 0. */
void pz_batch_uncounted(pz_batch *batch);
int pz_batch_pixels(pz_batch *batch, int width, int height, int form, uint8_t *out, int64_t size);
int pz_failed_slot(void); /* after an error in this thread: where it happened, or -1 */
/* Each slot's stream, and whether it has one yet. */
int pz_batch_streams(pz_batch *batch, int64_t n, uint64_t *seeds, uint64_t *episodes, uint8_t *begun);

/* Whole episodes in C, one per seed: what became of each, after how many steps, and by which actions unless NULL. */
enum pz_policy { PZ_POLICY_RANDOM = 0, PZ_POLICY_MASKED = 1 };
int pz_rollout(const pz_task *task, int policy, int threads, int64_t episodes, const uint64_t *seeds, int32_t *status,
               int32_t *steps, uint8_t *actions, volatile int64_t *progress);

/*
 * Episodes of one session, one after the other. Where a game takes long to make, the next one is made by a thread of
 * its own while the present one is played: from the second episode of a stream on. PZ_UNREADABLE is that of
 * pz_session_restart, and also said when the session has other parameters than it had at first.
 */
typedef struct pz_ahead pz_ahead;
int pz_ahead_new(pz_session *session, double timeout, pz_ahead **result);
void pz_ahead_free(pz_ahead *ahead);
int pz_ahead_start(pz_ahead *ahead, pz_session *session, uint64_t seed, uint64_t episode);

#endif
