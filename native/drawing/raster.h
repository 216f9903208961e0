/*
 * What the shapes are made of: runs of pixels, and strokes of a pen.
 *
 * Strokes are what is smooth: in each pixel their coverage follows from the distance to the nearest piece of the pen's
 * path. It is collected in the canvas' scratch and then painted in one pass, band by band, so that scratch stays small
 * and no pixel is blended twice for one shape.
 *
 * Coordinates inside are 24.8 fixed point with pixel centres at halves: pixel (x, y) covers x..x+1, y..y+1, and the
 * engine's whole coordinates mean centres.
 */
#ifndef PZ_RASTER_H
#define PZ_RASTER_H

#include <math.h>
#include <string.h>

#include "drawing/canvas.h"

enum {
    PZ_ONE = 256,     /* a pixel, and full coverage */
    PZ_HALF = PZ_ONE / 2,
    PZ_FAR = 1 << 20, /* where coordinates saturate: four times this much in 24.8 still fits an int */
};

static inline int saturate(int64_t value)
{
    return value < -PZ_FAR ? -PZ_FAR : value > PZ_FAR ? PZ_FAR : (int)value;
}

static inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

static inline int larger(int a, int b)
{
    return a > b ? a : b;
}

static inline pz_rect intersection(pz_rect a, pz_rect b)
{
    return (pz_rect){larger(a.left, b.left), larger(a.top, b.top), smaller(a.right, b.right),
                     smaller(a.bottom, b.bottom)};
}

static inline bool is_empty(pz_rect r)
{
    return r.left >= r.right || r.top >= r.bottom;
}

static inline pz_rect rect_of(const pz_canvas *canvas, int x, int y, int width, int height)
{
    int64_t left = (int64_t)x + canvas->frame.left, top = (int64_t)y + canvas->frame.top;
    return (pz_rect){saturate(left), saturate(top), saturate(left + width), saturate(top + height)};
}

static inline const uint8_t *colour_of(const pz_canvas *canvas, int colour)
{
    return colour >= 0 && colour < canvas->n_colours ? canvas->palette[colour] : NULL;
}

static inline uint8_t *pixel_at(const pz_canvas *canvas, int x, int y)
{
    return canvas->pixels + y * canvas->stride + (ptrdiff_t)x * 3;
}

static inline void put(uint8_t *pixel, const uint8_t *rgb)
{
    pixel[0] = rgb[0];
    pixel[1] = rgb[1];
    pixel[2] = rgb[2];
}

/* The three bytes of a colour so far apart that one multiplication serves them all. */
static inline uint64_t spread(const uint8_t *rgb)
{
    return rgb[0] | (uint64_t)rgb[1] << 20 | (uint64_t)rgb[2] << 40;
}

/* coverage is 0..ONE; both ends are exact. */
static inline void blend_spread(uint8_t *pixel, uint64_t colour, int coverage)
{
    const uint64_t halves = PZ_HALF | (uint64_t)PZ_HALF << 20 | (uint64_t)PZ_HALF << 40, c = (uint64_t)coverage;
    const uint64_t sum = spread(pixel) * (PZ_ONE - c) + colour * c + halves;
    pixel[0] = (uint8_t)(sum >> 8);
    pixel[1] = (uint8_t)(sum >> 28);
    pixel[2] = (uint8_t)(sum >> 48);
}

static inline void blend(uint8_t *pixel, const uint8_t *rgb, int coverage)
{
    blend_spread(pixel, spread(rgb), coverage);
}

/*
 * Doubles only where each operation rounds on its own, and cut to integers before anything is added: a compiler that
 * fuses multiplications with additions gets the same bytes.
 */
static inline int distance(int64_t x, int64_t y)
{
    return (int)sqrt((double)(x * x + y * y));
}

/* ---- Runs ---- */

/* Sixteen pixels of one colour, as the words that they are in memory: the same three twice. */
typedef struct pz_ink {
    uint64_t words[6];
} pz_ink;

static inline pz_ink ink_of(const uint8_t *rgb)
{
    const uint64_t c = rgb[0] | (uint64_t)rgb[1] << 8 | (uint64_t)rgb[2] << 16;
    uint64_t a = c | c << 24 | c << 48, b = c >> 16 | c << 8 | c << 32 | c << 56, d = c >> 8 | c << 16 | c << 40;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    a = __builtin_bswap64(a), b = __builtin_bswap64(b), d = __builtin_bswap64(d);
#endif
    return (pz_ink){{a, b, d, a, b, d}};
}

/* Whole words, as many at once as fit. The last ones may overlap those before them, for they say the same. */
static inline void fill_run(uint8_t *pixel, const pz_ink *ink, int n)
{
    const uint64_t *words = ink->words;
    const size_t word = sizeof *words;
    if (n >= 16) {
        uint8_t *last = pixel + 3 * (n - 16);
        for (; pixel < last; pixel += 6 * word) memcpy(pixel, words, 6 * word);
        memcpy(last, words, 6 * word);
    } else if (n >= 8) {
        memcpy(pixel, words, 3 * word);
        memcpy(pixel + 3 * (n - 8), words, 3 * word);
    } else if (n >= 3) {
        memcpy(pixel, words, word);
        if (n >= 6) memcpy(pixel + word, words + 1, word);
        memcpy(pixel + 3 * n - word, words + 2, word);
    } else if (n > 0) {
        memcpy(pixel, words, 3);
        if (n > 1) memcpy(pixel + 3, words, 3);
    }
}

void pz_fill_rect(const pz_canvas *canvas, pz_rect rect, const uint8_t *rgb); /* within the clip */

/* ---- Memory: what the canvas keeps must not die with the pool of the game that it happens to draw ---- */

void *pz_canvas_take(const pz_canvas *canvas, size_t size);
void pz_canvas_give(const pz_canvas *canvas, void *block);

/* ---- Bands: coverage of some rows of a shape ---- */

typedef struct pz_band {
    pz_rect window;             /* the pixels that it covers */
    int row;                    /* cells from one row to the next */
    uint8_t *cells;             /* coverage, less one where it is full */
    int (*touched)[2];          /* first and last touched cell of each row; first > last when none is; may be NULL */
} pz_band;

/* Cut the next band from the top of what is left of a shape; false when nothing is left. */
bool pz_next_band(pz_canvas *canvas, pz_rect *left, pz_band *band);

/* A pen with this radius goes straight from one point to another. */
void pz_add_stroke(const pz_band *band, int x1, int y1, int x2, int y2, int radius);

/* Paint what the strokes cover, and leave the band empty. */
void pz_paint_strokes(const pz_canvas *canvas, const pz_band *band, const uint8_t *rgb);

#endif
