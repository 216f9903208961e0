/*
 * The canvas: an RGB picture that belongs to the caller, and what the engine's drawing interface needs to fill it.
 *
 * Nothing is ever written outside the picture, whatever the coordinates; beyond a million pixels they saturate. The
 * same calls give the same bytes on every machine: coverage is computed in integers, or in doubles whose every rounding
 * is fixed. A canvas belongs to one thread at a time, and is drawn on under a guard.
 */
#ifndef PZ_CANVAS_H
#define PZ_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/memory.h"
#include "session.h"

enum { PZ_COLOURS = 256, PZ_MAX_SIDE = 1 << 14 };

typedef struct pz_rect {
    int left, top, right, bottom; /* right and bottom are the first pixels outside */
} pz_rect;

/* Where text is noted instead of drawn: for terminals, which have letters of their own. */
typedef struct pz_labels {
    pz_label *items;
    int room, count;            /* what does not fit into the room is left out */
} pz_labels;

/* Parts of a picture; they may overlap. */
enum { PZ_PARTS = 8 };
typedef struct pz_parts {
    int n;
    pz_rect rects[PZ_PARTS];
} pz_parts;

/* Add another one; where there is no room left, or little to gain, it is joined to the nearest. */
void pz_add_part(pz_parts *parts, pz_rect rect);

typedef struct pz_canvas {
    uint8_t *pixels;            /* red, green, blue; rows are stride bytes apart */
    int width, height;
    ptrdiff_t stride;
    pz_rect frame, clip;        /* the clip is set by whoever draws, and lies within the picture */
    int n_colours;
    uint8_t palette[PZ_COLOURS][3];
    pz_parts touched;           /* what the engine says that it changed */
    pz_labels *labels;          /* NULL, and text is drawn */

    pz_pool *pool;              /* where the canvas keeps its scratch; NULL means the pool of the guard */
    void *scratch;              /* coverage of the shape that is being drawn: all zero in between */
} pz_canvas;

/* A fresh canvas without a picture. Its scratch comes from this pool; dropping the pool or pz_canvas_drop frees it. */
void pz_canvas_init(pz_canvas *canvas, pz_pool *pool);
void pz_canvas_drop(pz_canvas *canvas);

/* Draw into this picture from now on, all of it; its content is left alone. */
void pz_canvas_target(pz_canvas *canvas, uint8_t *pixels, int width, int height, ptrdiff_t stride);

/* Draw only within this rectangle of the picture, with (0, 0) at its top left corner; and what is seen of it. */
void pz_canvas_frame(pz_canvas *canvas, int x, int y, int width, int height);
pz_rect pz_canvas_seen(const pz_canvas *canvas);

/* Colours as the engine's colours() returns them: three floats from 0 to 1 each. Unknown colours draw nothing. */
void pz_canvas_palette(pz_canvas *canvas, const float *colours, int n);

/* Fill the whole picture, beyond the frame too. */
void pz_canvas_clear(pz_canvas *canvas, int colour);

/* ---- The primitives, with the meaning that the engine's drawing interface gives them. They stay in the clip. ---- */

void pz_canvas_clip(pz_canvas *canvas, int x, int y, int width, int height);
void pz_canvas_unclip(pz_canvas *canvas);

void pz_canvas_rect(pz_canvas *canvas, int x, int y, int width, int height, int colour);
void pz_canvas_line(pz_canvas *canvas, int x1, int y1, int x2, int y2, int colour);
void pz_canvas_thick_line(pz_canvas *canvas, float thickness, float x1, float y1, float x2, float y2, int colour);
/* n pairs of coordinates; fill may be negative for none. The outline is what makes the edges smooth. */
void pz_canvas_polygon(pz_canvas *canvas, const int *coords, int n, int fill, int outline);
void pz_canvas_circle(pz_canvas *canvas, int x, int y, int radius, int fill, int outline);

/* font and align are the engine's flags; text is UTF-8, and signs that we do not have become question marks. */
void pz_canvas_text(pz_canvas *canvas, int x, int y, int font, int size, int align, int colour, const char *text);
bool pz_canvas_has_text(const char *text);

/* All pixels that text, or a thick line, can touch, within the clip or not. */
pz_rect pz_text_box(const pz_canvas *canvas, int x, int y, int font, int size, int align, const char *text);
pz_rect pz_thick_line_box(const pz_canvas *canvas, float thickness, float x1, float y1, float x2, float y2);

/* A piece of the picture put aside: only what overlaps the frame is kept, and put back. */
typedef struct pz_saved {
    int width, height;
    pz_rect kept;               /* relative to the piece */
    uint8_t *pixels;
    size_t room;
} pz_saved;

void pz_saved_init(pz_saved *saved, int width, int height);
void pz_saved_drop(pz_saved *saved);
void pz_canvas_save(pz_canvas *canvas, pz_saved *saved, int x, int y);
void pz_canvas_load(pz_canvas *canvas, const pz_saved *saved, int x, int y);

#endif
