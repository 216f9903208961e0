/*
 * A picture as the list of drawing calls that make it, for puzzles that cannot be drawn in part, where the engine draws
 * smooth edges over what it drew before; and for what we draw over its picture.
 *
 * The engine draws each picture from scratch, but into a recording, which costs little. Two recordings in a row are
 * then compared, and pixels are painted only where they differ: by all calls that reach there, in their order. So what
 * is painted in part equals what is painted anew.
 */
#ifndef PZ_RECORDING_H
#define PZ_RECORDING_H

#include "drawing/canvas.h"
#include "puzzles.h"

/* One call. All of it counts in a comparison, so nothing in it is left unset. */
typedef struct pz_mark {
    int size, kind; /* size of all of it in ints */
    pz_rect box;    /* it draws nothing outside: the clip at that time is already cut off */
    int args[];
} pz_mark;

typedef struct pz_entry {
    int start;                      /* of its mark */
    pz_rect box;                    /* the mark's own, to look through them all quickly */
} pz_entry;

typedef struct pz_recording {
    int *ints, used, room;          /* the marks, one after the other */
    pz_entry *entries;              /* one for each */
    int count, entries_room;
} pz_recording;

/* What the engine's drawing interface writes to. */
typedef struct pz_recorder {
    const pz_canvas *canvas;        /* where it will be painted: gives the frame and the colours */
    pz_rect clip;
    pz_recording *into;
} pz_recorder;

void pz_recording_clear(pz_recording *recording);
void pz_recording_drop(pz_recording *recording);

/* Where two recordings may give other pixels, within the frame of the canvas. */
void pz_recording_compare(const pz_canvas *canvas, const pz_recording *before, const pz_recording *after,
                          pz_parts *parts);

/* Paint this part of the frame, from the background on. */
void pz_recording_paint(pz_canvas *canvas, const pz_recording *recording, pz_rect part);

/* Paint all of it over what is there. */
void pz_recording_paint_over(pz_canvas *canvas, const pz_recording *recording);

/* The engine's drawing interface, whose handle is a pz_recorder. It must start with a fresh drawstate. */
extern const drawing_api pz_recording_api;

#endif
