/*
 * Stepping inside XLA's compiled programs (JAX). Two forms: batches, which a token names; and snapshots, whole games as
 * bytes. Nothing of XLA is needed to build this: batch/xla_call.h declares what it uses of its stable C interface.
 */
#ifndef PZ_XLA_H
#define PZ_XLA_H

#include "batch.h"

/*
 * A token goes into every call and a new one comes out, which keeps the order. It says which process and which batch
 * it belongs to, and how many calls came before: one that is stale, foreign or of a closed batch is refused.
 */
enum { PZ_XLA_TOKEN = 4 };

/*
 * Let compiled programs step a batch through these buffers, which the batch is bound to, rewards among them. Slots that
 * are reset without a seed begin the streams of these seeds. The token is the one for a first reset.
 */
int pz_xla_open(pz_batch *batch, const pz_batch_buffers *buffers, int n, int n_actions, const uint64_t *seeds,
                uint32_t *token);
/* From now on refuse its tokens; waits for a call that is under way. */
void pz_xla_close(uint32_t id);

/* The handlers, by name: what XLA calls. NULL behind the last. */
typedef struct pz_xla_target {
    const char *name;
    void *handler;
} pz_xla_target;
extern const pz_xla_target pz_xla_targets[];

/* Which minor version of XLA's interface the handlers answer with: that of the runtime, as far as it is known here. */
int pz_xla_use_version(int major, int minor);

#endif
