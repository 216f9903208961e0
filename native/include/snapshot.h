/*
 * Snapshots: a whole game as bytes of a fixed size. A step takes one and gives another, and nothing is kept in between
 * but a cache of games that are built already. With UNDO they hold the last undo_depth states of the board, with a
 * limit on repeats what was seen so far; where the way to the solution is paid, the solution.
 */
#ifndef PZ_SNAPSHOT_H
#define PZ_SNAPSHOT_H

#include "batch.h"

/* Where a step writes what it led to and what it pays: nothing where the game was over before. frame may be NULL. */
typedef struct pz_snapshot_view {
    uint8_t *bytes;
    uint8_t *record, *mask;
    pz_outcome *outcome;
    float *reward;
    uint8_t *frame;
    int width, height, form;
} pz_snapshot_view;

/* How many bytes the game of this seed takes, with as much history as its snapshots may hold. */
int pz_snapshot_measure(const pz_task *task, uint64_t seed, int64_t *size);
/* The first snapshot of a game, in room bytes. */
int pz_snapshot_start(const pz_task *task, uint64_t seed, int64_t room, const pz_snapshot_view *out);
/* One step; the snapshot must be one of this puzzle with these parameters. */
int pz_snapshot_step(const pz_task *task, const uint8_t *bytes, int64_t room, int64_t action,
                     const pz_snapshot_view *out);

#endif
