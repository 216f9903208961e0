/*
 * A small software rasteriser.
 *
 * Strokes are what is smooth: in each pixel their coverage follows from the distance to the nearest piece of the pen's
 * path. It is collected in the canvas' scratch and then painted in one pass, band by band, so that scratch stays small
 * and no pixel is blended twice for one shape. Polygons are filled with sharp edges, since the outline that always
 * follows is a stroke along them and smooths them too. Discs know their rows.
 *
 * Coordinates inside are 24.8 fixed point with pixel centres at halves: pixel (x, y) covers x..x+1, y..y+1, and the
 * engine's whole coordinates mean centres.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "drawing/canvas.h"
#include "drawing/font.h"
#include "host/guard.h"
#include "puzzles.h"

enum {
    ONE = 256,                  /* a pixel, and full coverage */
    HALF = ONE / 2,
    FAR = 1 << 20,              /* where coordinates saturate: four times this much in 24.8 still fits an int */
    MAX_POINTS = 1 << 16,       /* of a polygon */
    FEW_POINTS = 64,            /* up to these a polygon needs no memory */
    SCRATCH_CELLS = 1 << 14,    /* of coverage in one band */
    SCRATCH_ROWS = 256,
};
_Static_assert((int)PZ_MAX_SIDE <= (int)SCRATCH_CELLS, "a band must have room for one row");

/* ---- Small things. ---- */

static inline int saturate(int64_t value)
{
    return value < -FAR ? -FAR : value > FAR ? FAR : (int)value;
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

/* coverage is 0..ONE; both ends are exact. */
static inline void blend(uint8_t *pixel, const uint8_t *rgb, int coverage)
{
    unsigned c = (unsigned)coverage, rest = ONE - c;
    pixel[0] = (uint8_t)((pixel[0] * rest + rgb[0] * c + HALF) / ONE);
    pixel[1] = (uint8_t)((pixel[1] * rest + rgb[1] * c + HALF) / ONE);
    pixel[2] = (uint8_t)((pixel[2] * rest + rgb[2] * c + HALF) / ONE);
}

static void fill_run(uint8_t *pixel, const uint8_t *rgb, int n)
{
    if (n < 8) {
        for (; n > 0; n--, pixel += 3) put(pixel, rgb);
    } else if (rgb[0] == rgb[1] && rgb[1] == rgb[2]) {
        memset(pixel, rgb[0], (size_t)n * 3);
    } else {
        /* Eight pixels by hand, then copies that double: wide runs go at the speed of memcpy. */
        for (int i = 0; i < 8; i++) put(pixel + 3 * i, rgb);
        size_t done = 24, whole = (size_t)n * 3;
        while (done < whole) {
            size_t more = done < whole - done ? done : whole - done;
            memcpy(pixel + done, pixel, more);
            done += more;
        }
    }
}

static void fill_rect(const pz_canvas *canvas, pz_rect r, const uint8_t *rgb)
{
    r = intersection(r, canvas->clip);
    if (is_empty(r)) return;
    int width = r.right - r.left, height = r.bottom - r.top;
    uint8_t *row = pixel_at(canvas, r.left, r.top);
    if (width < 8 || (rgb[0] == rgb[1] && rgb[1] == rgb[2])) {
        for (; height > 0; height--, row += canvas->stride) fill_run(row, rgb, width);
    } else {
        uint8_t *first = row;
        fill_run(first, rgb, width);
        while (--height > 0) {
            row += canvas->stride;
            memcpy(row, first, (size_t)width * 3);
        }
    }
}

/* ---- Memory: what the canvas keeps must not die with the pool of the game that it happens to draw. ---- */

static void *take(const pz_canvas *canvas, size_t size)
{
    pz_guard *guard = pz_current_guard();
    pz_pool *pool = guard->pool;
    if (canvas->pool) guard->pool = canvas->pool;
    void *block = smalloc(size);
    guard->pool = pool;
    return block;
}

static void give(const pz_canvas *canvas, void *block)
{
    if (!block) return;
    pz_guard *guard = pz_current_guard();
    pz_pool *pool = guard->pool;
    if (canvas->pool) guard->pool = canvas->pool;
    sfree(block);
    guard->pool = pool;
}

/* ---- Bands: coverage of some rows of a shape. ---- */

typedef struct band {
    pz_rect window;             /* the pixels that it covers */
    int row;                    /* cells from one row to the next */
    uint8_t *cells;             /* coverage, less one where it is full */
    int (*touched)[2];          /* first and last touched cell of each row; first > last when none is; may be NULL */
} band;

static inline void touch(const band *b, int y, int first, int last)
{
    if (!b->touched) return;
    int *touched = b->touched[y];
    if (first < touched[0]) touched[0] = first;
    if (last > touched[1]) touched[1] = last;
}

/*
 * Cut the next band from the top of what is left of a shape; false when nothing is left. Scratch holds the touched
 * ranges, then the cells.
 */
static bool next_band(pz_canvas *canvas, pz_rect *left, band *b)
{
    if (is_empty(*left)) return false;
    size_t ranges = SCRATCH_ROWS * sizeof *b->touched;
    if (!canvas->scratch) {
        canvas->scratch = take(canvas, ranges + SCRATCH_CELLS);
        memset((char *)canvas->scratch + ranges, 0, SCRATCH_CELLS);
        b->touched = canvas->scratch;
        for (int i = 0; i < SCRATCH_ROWS; i++) b->touched[i][0] = INT_MAX, b->touched[i][1] = -1;
    }
    b->row = left->right - left->left;
    int rows = smaller(smaller(SCRATCH_CELLS / b->row, SCRATCH_ROWS), left->bottom - left->top);
    b->window = *left;
    b->window.bottom = left->top += rows;
    b->touched = canvas->scratch;
    b->cells = (uint8_t *)canvas->scratch + ranges;
    return true;
}

static void paint_strokes(const pz_canvas *canvas, const band *b, const uint8_t *rgb)
{
    for (int y = b->window.top; y < b->window.bottom; y++) {
        int *touched = b->touched[y - b->window.top];
        if (touched[0] > touched[1]) continue;
        uint8_t *cells = b->cells + (ptrdiff_t)(y - b->window.top) * b->row;
        uint8_t *pixels = pixel_at(canvas, b->window.left, y);
        for (int x = touched[0]; x <= touched[1]; x++) {
            int cell = cells[x];
            if (!cell) continue;
            cells[x] = 0;
            if (cell == UINT8_MAX)
                put(pixels + 3 * x, rgb);
            else
                blend(pixels + 3 * x, rgb, cell);
        }
        touched[0] = INT_MAX, touched[1] = -1;
    }
}

/* ---- Strokes: a pen with this radius goes straight from one point to another. ---- */

/*
 * Doubles only where each operation rounds on its own, and cut to integers before anything is added: a compiler that
 * fuses multiplications with additions gets the same bytes.
 */
static inline int distance(int64_t x, int64_t y)
{
    return (int)sqrt((double)(x * x + y * y));
}

static void add_stroke(const band *b, int x1, int y1, int x2, int y2, int radius)
{
    int reach = radius + HALF;
    int64_t dx = (int64_t)x2 - x1, dy = (int64_t)y2 - y1, square = dx * dx + dy * dy;
    double length = sqrt((double)square), inverse = square ? 1 / length : 0;
    pz_rect box = {(smaller(x1, x2) - reach) >> 8, (smaller(y1, y2) - reach) >> 8, ((larger(x1, x2) + reach) >> 8) + 1,
                   ((larger(y1, y2) + reach) >> 8) + 1};
    box = intersection(box, b->window);
    /* In each row look only where the strip around the line crosses it; a pixel more or less at its border is empty. */
    double slope = dy ? (double)dx / (double)dy / ONE : 0;
    double half = dy ? reach * length / fabs((double)dy) / ONE : FAR;
    for (int y = box.top; y < box.bottom; y++) {
        int64_t ay = y * ONE + HALF - y1;
        double middle = (x1 - HALF) / (double)ONE + (double)ay * slope;
        int left = box.left, right = box.right;
        if (middle - half > left) left = middle - half < right ? (int)(middle - half) : right;
        if (middle + half < right - 1) right = middle + half > left ? (int)(middle + half) + 1 : left;
        int64_t ax = left * ONE + HALF - x1;
        int64_t cross = ax * dy - ay * dx, along = ax * dx + ay * dy;
        uint8_t *cells = b->cells + (ptrdiff_t)(y - b->window.top) * b->row;
        int first = INT_MAX, last = -1, end = right - b->window.left;
        for (int x = left - b->window.left; x < end; x++, ax += ONE, cross += dy * ONE, along += dx * ONE) {
            int away;
            if (along <= 0)
                away = distance(ax, ay);
            else if (along >= square)
                away = distance(ax - dx, ay - dy);
            else
                away = (int)(fabs((double)cross) * inverse);
            int coverage = reach - away;
            if (coverage <= 0) continue;
            if (coverage > UINT8_MAX) coverage = UINT8_MAX;
            if (cells[x] < coverage) cells[x] = (uint8_t)coverage;
            if (first > x) first = x;
            last = x;
        }
        if (first <= last) touch(b, y - b->window.top, first, last);
    }
}

/* ---- The canvas. ---- */

void pz_canvas_init(pz_canvas *canvas, pz_pool *pool)
{
    memset(canvas, 0, sizeof *canvas);
    canvas->pool = pool;
}

void pz_canvas_target(pz_canvas *canvas, uint8_t *pixels, int width, int height, ptrdiff_t stride)
{
    canvas->pixels = pixels;
    canvas->width = larger(0, smaller(width, PZ_MAX_SIDE));
    canvas->height = larger(0, smaller(height, PZ_MAX_SIDE));
    canvas->stride = stride;
    canvas->frame = canvas->clip = (pz_rect){0, 0, canvas->width, canvas->height};
}

void pz_canvas_frame(pz_canvas *canvas, int x, int y, int width, int height)
{
    /* Only the clip is cut to the picture: the frame's corner stays the origin of the coordinates. */
    canvas->frame = (pz_rect){0, 0, 0, 0};
    canvas->frame = rect_of(canvas, x, y, width, height);
    pz_canvas_unclip(canvas);
}

void pz_canvas_palette(pz_canvas *canvas, const float *colours, int n)
{
    canvas->n_colours = smaller(n, PZ_COLOURS);
    for (int i = 0; i < canvas->n_colours * 3; i++) {
        double c = (double)colours[i];
        canvas->palette[i / 3][i % 3] = c >= 1 ? UINT8_MAX : c > 0 ? (uint8_t)(c * UINT8_MAX + 0.5) : 0;
    }
}

void pz_canvas_clear(pz_canvas *canvas, int colour)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    if (!rgb) return;
    pz_rect clip = canvas->clip;
    canvas->clip = (pz_rect){0, 0, canvas->width, canvas->height};
    fill_rect(canvas, canvas->clip, rgb);
    canvas->clip = clip;
}

void pz_canvas_clip(pz_canvas *canvas, int x, int y, int width, int height)
{
    pz_canvas_unclip(canvas);
    canvas->clip = intersection(canvas->clip, rect_of(canvas, x, y, width, height));
}

void pz_canvas_unclip(pz_canvas *canvas)
{
    canvas->clip = intersection(canvas->frame, (pz_rect){0, 0, canvas->width, canvas->height});
}

void pz_canvas_rect(pz_canvas *canvas, int x, int y, int width, int height, int colour)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    if (rgb) fill_rect(canvas, rect_of(canvas, x, y, width, height), rgb);
}

/* ---- Lines. ---- */

void pz_canvas_line(pz_canvas *canvas, int x1, int y1, int x2, int y2, int colour)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    if (!rgb) return;
    x1 = saturate((int64_t)x1 + canvas->frame.left), x2 = saturate((int64_t)x2 + canvas->frame.left);
    y1 = saturate((int64_t)y1 + canvas->frame.top), y2 = saturate((int64_t)y2 + canvas->frame.top);
    pz_rect box = {smaller(x1, x2), smaller(y1, y2), larger(x1, x2) + 1, larger(y1, y2) + 1};
    if (x1 == x2 || y1 == y2) {
        fill_rect(canvas, box, rgb);
        return;
    }
    /* Bresenham along the longer axis, as u and v; from the smaller u, so that a line is the same from both ends. */
    bool steep = box.bottom - box.top > box.right - box.left;
    int u1 = steep ? y1 : x1, v1 = steep ? x1 : y1, u2 = steep ? y2 : x2, v2 = steep ? x2 : y2;
    if (u1 > u2) {
        int u = u1, v = v1;
        u1 = u2, v1 = v2, u2 = u, v2 = v;
    }
    pz_rect clip = canvas->clip;
    int first = larger(u1, steep ? clip.top : clip.left), end = smaller(u2 + 1, steep ? clip.bottom : clip.right);
    int low = steep ? clip.left : clip.top, high = steep ? clip.right : clip.bottom;
    if (first >= end || low >= high) return;
    int64_t du = u2 - u1, dv = v2 > v1 ? (int64_t)v2 - v1 : (int64_t)v1 - v2;
    /* v has advanced by (2 * (u - u1) * dv + du) / (2 * du), rounded down: error is the rest of that division. */
    int64_t past = 2 * (first - u1) * dv + du, error = past % (2 * du);
    int step = v2 > v1 ? 1 : -1, v = v1 + step * (int)(past / (2 * du));
    ptrdiff_t along = steep ? canvas->stride : 3, across = (steep ? 3 : canvas->stride) * step;
    bool inside = smaller(v1, v2) >= low && larger(v1, v2) < high;
    /* An index, not a pointer: outside the clip it must not even point into the picture. */
    ptrdiff_t at = steep ? first * canvas->stride + (ptrdiff_t)v * 3 : v * canvas->stride + (ptrdiff_t)first * 3;
    for (int u = first; u < end; u++, at += along) {
        if (inside || (v >= low && v < high)) put(canvas->pixels + at, rgb);
        error += 2 * dv;
        if (error >= 2 * du) {
            error -= 2 * du;
            v += step;
            at += across;
        }
    }
}

/* From pixels to fixed point; NaN goes to the border, which is as good as any place. */
static inline int fixed(double value, int origin)
{
    value += origin;
    return value >= FAR ? FAR * ONE : value > -FAR ? (int)floor(value * ONE + 0.5) : -FAR * ONE;
}

/* Round ends: they join at every angle, where square ones stick out of Loopy's corners. */
void pz_canvas_thick_line(pz_canvas *canvas, float thickness, float x1, float y1, float x2, float y2, int colour)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    if (!rgb) return;
    int left = fixed(x1, canvas->frame.left), top = fixed(y1, canvas->frame.top);
    int right = fixed(x2, canvas->frame.left), bottom = fixed(y2, canvas->frame.top);
    int radius = larger(HALF, fixed(thickness, 0) / 2), reach = radius / ONE + 2;
    pz_rect todo = {smaller(left, right) / ONE - reach, smaller(top, bottom) / ONE - reach,
                    larger(left, right) / ONE + reach, larger(top, bottom) / ONE + reach};
    todo = intersection(todo, canvas->clip);
    for (band b; next_band(canvas, &todo, &b);) {
        add_stroke(&b, left, top, right, bottom, radius);
        paint_strokes(canvas, &b, rgb);
    }
}

/* ---- Polygons. ---- */

/* A side of a polygon, from its upper end down; x is where it crosses the middle of the row that is being filled. */
typedef struct side {
    int top, bottom, winding;
    int64_t x, slope;           /* 32 bits of fraction */
} side;

typedef struct crossing {
    int x, winding;
} crossing;

/* By the nonzero rule. A pixel is in when its centre is: to the right of one side and not of the next. */
static void fill_sides(const pz_canvas *canvas, side *sides, crossing *crossings, int n, pz_rect in, const uint8_t *rgb)
{
    for (int i = 0; i < n; i++)
        if (sides[i].top < in.top && sides[i].bottom > in.top) sides[i].x += sides[i].slope * (in.top - sides[i].top);
    for (int y = in.top; y < in.bottom; y++) {
        int found = 0;
        for (int i = 0; i < n; i++) {
            side *s = &sides[i];
            if (y < s->top || y >= s->bottom) continue;
            int x = (int)((s->x + UINT32_MAX) >> 32), at = found++;
            s->x += s->slope;
            for (; at > 0 && crossings[at - 1].x > x; at--) crossings[at] = crossings[at - 1];
            crossings[at] = (crossing){x, s->winding};
        }
        int winding = 0, start = 0;
        for (int i = 0; i < found; i++) {
            if (!winding) start = larger(crossings[i].x, in.left);
            winding += crossings[i].winding;
            int end = smaller(crossings[i].x, in.right);
            if (!winding && start < end) fill_run(pixel_at(canvas, start, y), rgb, end - start);
        }
    }
}

void pz_canvas_polygon(pz_canvas *canvas, const int *coords, int n, int fill, int outline)
{
    const uint8_t *inner = colour_of(canvas, fill), *line = colour_of(canvas, outline);
    n = smaller(n, MAX_POINTS);
    side few_sides[FEW_POINTS], *sides = few_sides;
    crossing few_crossings[FEW_POINTS], *crossings = few_crossings;
    if (inner && n > FEW_POINTS) {
        sides = take(canvas, (size_t)n * (sizeof *sides + sizeof *crossings));
        crossings = (crossing *)(sides + n);
    }
    const int origin_x = canvas->frame.left, origin_y = canvas->frame.top;
#define X(i) saturate((int64_t)coords[2 * (i)] + origin_x)
#define Y(i) saturate((int64_t)coords[2 * (i) + 1] + origin_y)
    pz_rect box = {FAR, FAR, -FAR, -FAR};
    int n_sides = 0;
    bool slanted = false;
    for (int i = 0, j = n - 1; i < n; j = i++) {
        int x1 = X(j), y1 = Y(j), x2 = X(i), y2 = Y(i);
        box = (pz_rect){smaller(box.left, x2), smaller(box.top, y2), larger(box.right, x2 + 1),
                        larger(box.bottom, y2 + 1)};
        slanted |= x1 != x2 && y1 != y2;
        if (!inner || y1 == y2) continue;
        int64_t one = (int64_t)1 << 32, slope = (x2 - x1) * one / (y2 - y1);
        sides[n_sides++] = y1 < y2 ? (side){y1, y2, 1, x1 * one, slope} : (side){y2, y1, -1, x2 * one, slope};
    }
    if (inner) fill_sides(canvas, sides, crossings, n_sides, intersection(box, canvas->clip), inner);
    if (sides != few_sides) give(canvas, sides);

    if (!line) return;
    if (slanted) {
        box.left--, box.top--, box.right++, box.bottom++;
        pz_rect todo = intersection(box, canvas->clip);
        for (band b; next_band(canvas, &todo, &b);) {
            for (int i = 0, j = n - 1; i < n; j = i++) {
                int x1 = X(j), y1 = Y(j), x2 = X(i), y2 = Y(i);
                if (x1 != x2 && y1 != y2)
                    add_stroke(&b, x1 * ONE + HALF, y1 * ONE + HALF, x2 * ONE + HALF, y2 * ONE + HALF, HALF);
            }
            paint_strokes(canvas, &b, line);
        }
    }
    /* Sides along an axis are whole pixels and need no coverage. */
    for (int i = 0, j = n - 1; i < n; j = i++) {
        int x1 = X(j), y1 = Y(j), x2 = X(i), y2 = Y(i);
        pz_rect bar = {smaller(x1, x2), smaller(y1, y2), larger(x1, x2) + 1, larger(y1, y2) + 1};
        if (x1 == x2 || y1 == y2) fill_rect(canvas, bar, line);
    }
#undef X
#undef Y
}

/* ---- Circles. ---- */

/* The largest whole number whose square is not above this one. */
static inline int64_t root(int64_t square)
{
    int64_t r = (int64_t)sqrt((double)square);
    while (r * r > square) r--;
    while ((r + 1) * (r + 1) <= square) r++;
    return r;
}

/*
 * Paint a disc around the centre of pixel (x, y), or with hole > 0 only its part outside the hole. Both radii reach to
 * where coverage ends: a pixel at this distance from the centre has none, one pixel less has all.
 */
static void fill_disc(const pz_canvas *canvas, int x, int y, int64_t radius, int64_t hole, const uint8_t *rgb)
{
    const pz_rect clip = canvas->clip;
    int64_t nearest = y < clip.top ? clip.top - y : y >= clip.bottom ? y - clip.bottom + 1 : 0;
    for (int64_t dy = nearest; dy < radius; dy++) {
        bool above = y - dy >= clip.top && y - dy < clip.bottom;
        bool below = dy && y + dy >= clip.top && y + dy < clip.bottom;
        if (!above && !below) {
            if (y - dy < clip.top && y + dy >= clip.bottom) break;
            continue;
        }
        uint8_t *rows[2];
        int n_rows = 0;
        if (above) rows[n_rows++] = canvas->pixels + (y - dy) * canvas->stride;
        if (below) rows[n_rows++] = canvas->pixels + (y + dy) * canvas->stride;
        /* Columns up to full are wholly covered, from end on not at all, and before start they lie in the hole. */
        int64_t full = dy <= radius - 1 ? root((radius - 1) * (radius - 1) - dy * dy) : -1;
        int64_t end = root(radius * radius - dy * dy - 1) + 1;
        int64_t start = 0;
        if (hole > 0) {
            start = dy <= hole - 1 ? root((hole - 1) * (hole - 1) - dy * dy) + 1 : 0;
            full = -1;
        }
        if (full >= 0) {
            int left = larger(clip.left, saturate(x - full)), right = smaller(clip.right, saturate(x + full + 1));
            for (int i = 0; i < n_rows && left < right; i++) fill_run(rows[i] + (ptrdiff_t)left * 3, rgb, right - left);
            start = full + 1;
        }
        for (int64_t dx = start; dx < end; dx++) {
            int away = distance(dx * ONE, dy * ONE);
            int coverage = smaller((int)(radius * ONE - away), ONE);
            if (hole > 0 && away < hole * ONE) coverage -= smaller((int)(hole * ONE - away), ONE);
            if (coverage <= 0) continue;
            for (int i = 0; i < n_rows; i++) {
                if (x - dx >= clip.left && x - dx < clip.right) blend(rows[i] + (x - dx) * 3, rgb, coverage);
                if (dx && x + dx >= clip.left && x + dx < clip.right) blend(rows[i] + (x + dx) * 3, rgb, coverage);
            }
        }
    }
}

/*
 * The outline is the pixel-wide ring around this radius. A filled circle is the outline's disc with the fill's on top:
 * nothing of the background can shine through between the two.
 */
void pz_canvas_circle(pz_canvas *canvas, int x, int y, int radius, int fill, int outline)
{
    const uint8_t *inner = colour_of(canvas, fill), *outer = colour_of(canvas, outline);
    if (radius < 0 || is_empty(canvas->clip)) return;
    radius = smaller(radius, FAR);
    x = saturate((int64_t)x + canvas->frame.left);
    y = saturate((int64_t)y + canvas->frame.top);
    if (outer) fill_disc(canvas, x, y, radius + 1, inner ? 0 : radius, outer);
    if (inner && (!outer || memcmp(inner, outer, 3))) fill_disc(canvas, x, y, radius, 0, inner);
}

/* ---- Text. ---- */

/* A letter at one size, as coverage. */
typedef struct letter {
    int left, top;              /* of the cells, from the pen's place on the baseline */
    int width, height;
    uint8_t cells[];
} letter;

/* All letters at one size; letters[i] is drawn when it is first wanted. */
typedef struct pz_face {
    int size, font;
    int capital;                /* height of capitals in pixels */
    int pen;                    /* breadth of the pen in 24.8 */
    int gap;                    /* pixels between letters */
    int cell;                   /* width of every letter where the font is monospaced, else 0 */
    letter *letters[PZ_GLYPHS];
} pz_face;

enum {
    MAX_SIZE = 1 << 13,
    MAX_KEPT_SIZE = 160,        /* larger letters are rare, and drawn anew each time */
    MAX_ANCHORS = 24,
};

static void set_face(pz_face *face, int font, int size)
{
    memset(face, 0, sizeof *face);
    face->size = size;
    face->font = font;
    /*
     * Small letters are larger than they should be, for each row counts, but no larger than their size: pencil marks
     * stand that close. Less than four rows tell no digits apart anyway.
     */
    static const int small[] = {0, 1, 2, 3, 4, 4, 5, 5};
    face->capital = size < (int)(sizeof small / sizeof *small) ? small[size] : (size * 73 + 50) / 100;
    face->pen = larger(ONE, face->capital * ONE * 15 / 100);
    face->gap = larger(1, (face->capital * 13 + 50) / 100);
    face->cell = font == FONT_FIXED ? larger(1, (face->capital * 70 + 50) / 100) : 0;
}

static int box_width(const pz_face *face, int index)
{
    int width = larger((pz_glyphs[index].width * face->capital + 50) / 100, (face->pen + ONE - 1) / ONE);
    return face->cell ? smaller(width, face->cell) : width;
}

/* How the percentages of one axis become pixels: straight between anchors. */
typedef struct axis {
    int n, percent[MAX_ANCHORS], place[MAX_ANCHORS];
} axis;

/* Keep anchors sorted, each once; more than there is room for do not happen in our glyphs. */
static void add_anchor(axis *a, int percent)
{
    int i = a->n;
    while (i > 0 && a->percent[i - 1] >= percent) i--;
    if ((i < a->n && a->percent[i] == percent) || a->n == MAX_ANCHORS) return;
    memmove(a->percent + i + 1, a->percent + i, (size_t)(a->n - i) * sizeof *a->percent);
    a->percent[i] = percent;
    a->n++;
}

/* Move anchors so that the pen's outer edge falls between two pixels: strokes of small letters stay sharp. */
static void place_anchors(axis *a, int extent, int pen)
{
    for (int i = 0; i < a->n; i++) {
        int edge = a->percent[i] * (extent - pen) / 100;
        bool far = a->percent[i] >= 50;
        if (far) edge += pen;
        edge = (edge + HALF) & ~(ONE - 1);
        a->place[i] = edge + (far ? -pen / 2 : pen / 2);
        if (i && a->place[i] < a->place[i - 1]) a->place[i] = a->place[i - 1];
    }
}

static int place(const axis *a, int percent)
{
    int i = 1;
    while (i < a->n - 1 && a->percent[i] < percent) i++;
    int from = a->percent[i - 1], width = a->percent[i] - from;
    return a->place[i - 1] + (a->place[i] - a->place[i - 1]) * (percent - from) / width;
}

/* Reading paths. */
typedef struct command {
    char letter;
    int n[6];
} command;

static const char *next_command(const char *path, command *c)
{
    while (*path == ' ') path++;
    if (!*path) return NULL;
    c->letter = *path++;
    for (int i = 0, count = c->letter == 'C' ? 6 : 2; i < count; i++) {
        while (*path == ' ') path++;
        bool negative = *path == '-';
        if (negative) path++;
        int n = 0;
        while (*path >= '0' && *path <= '9') n = n * 10 + (*path++ - '0');
        c->n[i] = negative ? -n : n;
    }
    return path;
}

static void find_anchors(const char *path, axis *h, axis *v)
{
    command c;
    int x = 0, y = 0;
    h->n = v->n = 0;
    add_anchor(h, 0), add_anchor(h, 100), add_anchor(v, 0), add_anchor(v, 100);
    while ((path = next_command(path, &c))) {
        int to_x = c.letter == 'C' ? c.n[4] : c.n[0], to_y = c.letter == 'C' ? c.n[5] : c.n[1];
        bool line = c.letter == 'L', dot = c.letter == 'D';
        if (dot || c.letter == 'H' || (line && x == to_x)) add_anchor(h, to_x);
        if (c.letter == 'V') add_anchor(h, x), add_anchor(v, to_y);
        if (c.letter == 'H') add_anchor(v, y);
        if (dot || (line && y == to_y)) add_anchor(v, to_y);
        x = to_x, y = to_y;
    }
}

/* What becomes of the pen's movements: measured, or drawn into a band. */
typedef struct sink {
    const band *into;           /* NULL: measure */
    int x, y;                   /* where the pen's place on the baseline is, in 24.8 */
    int left, top, right, bottom;
} sink;

static void stroke(sink *s, int x1, int y1, int x2, int y2, int radius)
{
    if (s->into) {
        add_stroke(s->into, s->x + x1, s->y - y1, s->x + x2, s->y - y2, radius);
    } else {
        s->left = smaller(s->left, smaller(x1, x2) - radius), s->right = larger(s->right, larger(x1, x2) + radius);
        s->top = smaller(s->top, -larger(y1, y2) - radius), s->bottom = larger(s->bottom, radius - smaller(y1, y2));
    }
}

static void draw_glyph(const pz_face *face, int index, sink *s)
{
    const int width = box_width(face, index), radius = face->pen / 2, pieces = smaller(5 + face->capital / 8, 24);
    axis h, v;
    const char *path = pz_glyph_path(index, face->capital);
    find_anchors(path, &h, &v);
    place_anchors(&h, larger(width * ONE, face->pen), face->pen);
    place_anchors(&v, face->capital * ONE, face->pen);
    int x = 0, y = 0;
    command c;
    while ((path = next_command(path, &c))) {
        int px[4] = {x}, py[4] = {y};
        for (int i = 0; i < (c.letter == 'C' ? 3 : 1); i++)
            px[i + 1] = place(&h, c.n[2 * i]), py[i + 1] = place(&v, c.n[2 * i + 1]);
        if (c.letter == 'H' || c.letter == 'V') {
            /* A little more than a circle's 0.55: rounder than a box, but with room in small letters. */
            int to_x = px[1], to_y = py[1], bow_x = (to_x - x) * 58 / 100, bow_y = (to_y - y) * 58 / 100;
            bool level = c.letter == 'H';
            px[1] = level ? x + bow_x : x, py[1] = level ? y : y + bow_y;
            px[2] = level ? to_x : to_x - bow_x, py[2] = level ? to_y - bow_y : to_y;
            px[3] = to_x, py[3] = to_y;
        }
        switch (c.letter) {
          case 'M':
            x = px[1], y = py[1];
            break;
          case 'L':
            stroke(s, x, y, px[1], py[1], radius);
            x = px[1], y = py[1];
            break;
          case 'D':
            /* Dots are a little larger than the pen, unless that would smear a single pixel. */
            stroke(s, px[1], py[1], px[1], py[1], radius > HALF * 3 / 2 ? radius * 5 / 4 : radius);
            break;
          default:
            for (int i = 1, whole = pieces * pieces * pieces; i <= pieces; i++) {
                int j = pieces - i, a = j * j * j, b = 3 * j * j * i, d = 3 * j * i * i, e = i * i * i;
                int to_x = (int)(((int64_t)a * px[0] + (int64_t)b * px[1] + (int64_t)d * px[2] + (int64_t)e * px[3]) /
                                 whole);
                int to_y = (int)(((int64_t)a * py[0] + (int64_t)b * py[1] + (int64_t)d * py[2] + (int64_t)e * py[3]) /
                                 whole);
                stroke(s, x, y, to_x, to_y, radius);
                x = to_x, y = to_y;
            }
            break;
        }
    }
}

/* The pixels that a letter may touch, from the pen's place. */
static pz_rect measure(const pz_face *face, int index)
{
    sink s = {.left = INT_MAX, .top = INT_MAX, .right = INT_MIN, .bottom = INT_MIN};
    draw_glyph(face, index, &s);
    if (s.left > s.right) return (pz_rect){0, 0, 0, 0};
    return (pz_rect){(s.left - HALF) >> 8, (s.top - HALF) >> 8, ((s.right + HALF) >> 8) + 1,
                     ((s.bottom + HALF) >> 8) + 1};
}

static letter *new_letter(const pz_canvas *canvas, const pz_face *face, int index)
{
    pz_rect box = measure(face, index);
    int width = box.right - box.left, height = box.bottom - box.top;
    size_t cells = (size_t)width * (size_t)height;
    letter *l = take(canvas, sizeof *l + cells);
    *l = (letter){box.left, box.top, width, height};
    memset(l->cells, 0, cells);
    band b = {.window = box, .row = width, .cells = l->cells};
    sink s = {.into = &b};
    draw_glyph(face, index, &s);
    return l;
}

static void paint_letter(const pz_canvas *canvas, const letter *l, int x, int y, const uint8_t *rgb)
{
    x += l->left, y += l->top;
    pz_rect seen = intersection((pz_rect){x, y, x + l->width, y + l->height}, canvas->clip);
    if (is_empty(seen)) return;
    for (int row = seen.top; row < seen.bottom; row++) {
        const uint8_t *cells = l->cells + (ptrdiff_t)(row - y) * l->width + (seen.left - x);
        uint8_t *pixel = pixel_at(canvas, seen.left, row);
        for (int i = 0; i < seen.right - seen.left; i++, pixel += 3) {
            if (!cells[i]) continue;
            if (cells[i] == UINT8_MAX)
                put(pixel, rgb);
            else
                blend(pixel, rgb, cells[i]);
        }
    }
}

static void paint_large(pz_canvas *canvas, const pz_face *face, int index, int x, int y, const uint8_t *rgb)
{
    pz_rect todo = measure(face, index);
    todo.left += x, todo.right += x, todo.top += y, todo.bottom += y;
    todo = intersection(todo, canvas->clip);
    for (band b; next_band(canvas, &todo, &b);) {
        sink s = {.into = &b, .x = x * ONE, .y = y * ONE};
        draw_glyph(face, index, &s);
        paint_strokes(canvas, &b, rgb);
    }
}

static void drop_face(const pz_canvas *canvas, pz_face *face)
{
    if (!face) return;
    for (int i = 0; i < PZ_GLYPHS; i++) give(canvas, face->letters[i]);
    give(canvas, face);
}

void pz_canvas_drop(pz_canvas *canvas)
{
    give(canvas, canvas->scratch);
    for (int i = 0; i < PZ_FACES; i++) drop_face(canvas, canvas->faces[i]);
    pz_canvas_init(canvas, canvas->pool);
}

static pz_face *face_of(pz_canvas *canvas, int font, int size)
{
    pz_face **faces = canvas->faces, *face = faces[0];
    if (face && face->size == size && face->font == font) return face;
    int i = 1;
    while (i < PZ_FACES && faces[i] && (faces[i]->size != size || faces[i]->font != font)) i++;
    if (i < PZ_FACES && faces[i]) {
        face = faces[i];
    } else {
        face = take(canvas, sizeof *face);
        set_face(face, font, size);
        if (i == PZ_FACES) drop_face(canvas, faces[--i]);
    }
    memmove(faces + 1, faces, (size_t)i * sizeof *faces);
    return faces[0] = face;
}

/* The next code point of UTF-8, or a number beyond Unicode where it is none. */
static const char *next_code(const char *text, unsigned *code)
{
    const uint8_t *bytes = (const uint8_t *)text;
    int more = bytes[0] < 0x80 ? 0 : bytes[0] >= 0xF0 ? 3 : bytes[0] >= 0xE0 ? 2 : bytes[0] >= 0xC0 ? 1 : -1;
    if (more < 0) {
        *code = UINT_MAX;
        return text + 1;
    }
    *code = more ? bytes[0] & (0x3Fu >> more) : bytes[0];
    for (int i = 1; i <= more; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            *code = UINT_MAX;
            return text + i;
        }
        *code = *code << 6 | (bytes[i] & 0x3F);
    }
    return text + more + 1;
}

static int glyph_of(unsigned code)
{
    int index = pz_glyph_index(code);
    return index < 0 ? '?' - ' ' : index;
}

bool pz_canvas_has_text(const char *text)
{
    for (unsigned code; *text;) {
        text = next_code(text, &code);
        if (pz_glyph_index(code) < 0) return false;
    }
    return true;
}

void pz_canvas_text(pz_canvas *canvas, int x, int y, int font, int size, int align, int colour, const char *text)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    if (!rgb || size < 1 || is_empty(canvas->clip)) return;
    pz_face passing, *face = &passing;
    if (size <= MAX_KEPT_SIZE)
        face = face_of(canvas, font, size);
    else
        set_face(face, font, smaller(size, MAX_SIZE));

    unsigned code;
    int64_t width = -face->gap;
    for (const char *t = text; *t;) {
        t = next_code(t, &code);
        width += face->gap + (face->cell ? face->cell : box_width(face, glyph_of(code)));
    }
    /* An odd width or height lies around pixel (x, y), an even one around that pixel's top left corner. */
    int64_t pen = (int64_t)x + canvas->frame.left;
    if (align & ALIGN_HCENTRE)
        pen -= width / 2;
    else if (align & ALIGN_HRIGHT)
        pen -= width;
    int64_t line = (int64_t)y + canvas->frame.top;
    if (align & ALIGN_VCENTRE) line += (face->capital + 1) / 2;
    int baseline = saturate(line);

    for (const char *t = text; *t;) {
        t = next_code(t, &code);
        int index = glyph_of(code), box = box_width(face, index);
        int start = saturate(face->cell ? pen + (face->cell - box) / 2 : pen);
        if (face == &passing) {
            paint_large(canvas, face, index, start, baseline, rgb);
        } else {
            if (!face->letters[index]) face->letters[index] = new_letter(canvas, face, index);
            paint_letter(canvas, face->letters[index], start, baseline, rgb);
        }
        pen += face->gap + (face->cell ? face->cell : box);
    }
}

/* ---- Saved pieces. ---- */

void pz_saved_init(pz_saved *saved, int width, int height)
{
    memset(saved, 0, sizeof *saved);
    saved->width = larger(0, width);
    saved->height = larger(0, height);
}

void pz_saved_drop(pz_saved *saved)
{
    sfree(saved->pixels);
    saved->pixels = NULL;
    saved->room = 0;
    saved->kept = (pz_rect){0, 0, 0, 0};
}

static void copy_rows(uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, pz_rect area)
{
    for (int y = area.top; y < area.bottom; y++, to += to_stride, from += from_stride)
        memcpy(to, from, (size_t)(area.right - area.left) * 3);
}

void pz_canvas_save(pz_canvas *canvas, pz_saved *saved, int x, int y)
{
    pz_rect whole = rect_of(canvas, x, y, saved->width, saved->height);
    pz_rect picture = intersection(canvas->frame, (pz_rect){0, 0, canvas->width, canvas->height});
    pz_rect area = intersection(whole, picture);
    saved->kept = (pz_rect){0, 0, 0, 0};
    if (is_empty(area)) return;
    size_t row = (size_t)(area.right - area.left) * 3, bytes = row * (size_t)(area.bottom - area.top);
    if (saved->room < bytes) {
        pz_saved_drop(saved);
        saved->pixels = smalloc(bytes);
        saved->room = bytes;
    }
    saved->kept = (pz_rect){area.left - whole.left, area.top - whole.top, area.right - whole.left,
                            area.bottom - whole.top};
    copy_rows(saved->pixels, (ptrdiff_t)row, pixel_at(canvas, area.left, area.top), canvas->stride, area);
}

void pz_canvas_load(pz_canvas *canvas, const pz_saved *saved, int x, int y)
{
    pz_rect whole = rect_of(canvas, x, y, saved->width, saved->height);
    pz_rect kept = {whole.left + saved->kept.left, whole.top + saved->kept.top, whole.left + saved->kept.right,
                    whole.top + saved->kept.bottom};
    pz_rect area = intersection(kept, canvas->clip);
    if (is_empty(area)) return;
    ptrdiff_t row = (ptrdiff_t)(kept.right - kept.left) * 3;
    const uint8_t *from = saved->pixels + (area.top - kept.top) * row + (ptrdiff_t)(area.left - kept.left) * 3;
    copy_rows(pixel_at(canvas, area.left, area.top), canvas->stride, from, row, area);
}
