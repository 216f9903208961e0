/*
 * A small software rasteriser. Lines along an axis, polygons and the inside of discs are filled with sharp edges; the
 * outline that always follows a polygon is a stroke along its sides, and smooths them too. Discs know their rows.
 */
#include "drawing/canvas.h"

#include <string.h>

#include "drawing/raster.h"
#include "puzzles.h"

enum {
    MAX_POINTS = 1 << 16, /* of a polygon */
    FEW_POINTS = 64,      /* up to these a polygon needs no memory */
};

void pz_canvas_init(pz_canvas *canvas, pz_pool *pool)
{
    memset(canvas, 0, sizeof *canvas);
    canvas->pool = pool;
}

void pz_canvas_drop(pz_canvas *canvas)
{
    pz_canvas_give(canvas, canvas->scratch);
    for (int i = 0; i < PZ_FACES; i++) pz_drop_face(canvas, canvas->faces[i]);
    pz_canvas_init(canvas, canvas->pool);
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
    pz_fill_rect(canvas, canvas->clip, rgb);
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
    if (rgb) pz_fill_rect(canvas, rect_of(canvas, x, y, width, height), rgb);
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
        pz_fill_rect(canvas, box, rgb);
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
    return value >= PZ_FAR ? PZ_FAR * PZ_ONE : value > -PZ_FAR ? (int)floor(value * PZ_ONE + 0.5) : -PZ_FAR * PZ_ONE;
}

/* Round ends: they join at every angle, where square ones stick out of Loopy's corners. */
void pz_canvas_thick_line(pz_canvas *canvas, float thickness, float x1, float y1, float x2, float y2, int colour)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    if (!rgb) return;
    int left = fixed(x1, canvas->frame.left), top = fixed(y1, canvas->frame.top);
    int right = fixed(x2, canvas->frame.left), bottom = fixed(y2, canvas->frame.top);
    int radius = larger(PZ_HALF, fixed(thickness, 0) / 2), reach = radius / PZ_ONE + 2;
    pz_rect todo = {smaller(left, right) / PZ_ONE - reach, smaller(top, bottom) / PZ_ONE - reach,
                    larger(left, right) / PZ_ONE + reach, larger(top, bottom) / PZ_ONE + reach};
    todo = intersection(todo, canvas->clip);
    for (pz_band b; pz_next_band(canvas, &todo, &b);) {
        pz_add_stroke(&b, left, top, right, bottom, radius);
        pz_paint_strokes(canvas, &b, rgb);
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
            if (!winding && start < end) pz_fill_run(pixel_at(canvas, start, y), rgb, end - start);
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
        sides = pz_canvas_take(canvas, (size_t)n * (sizeof *sides + sizeof *crossings));
        crossings = (crossing *)(sides + n);
    }
    const int origin_x = canvas->frame.left, origin_y = canvas->frame.top;
#define X(i) saturate((int64_t)coords[2 * (i)] + origin_x)
#define Y(i) saturate((int64_t)coords[2 * (i) + 1] + origin_y)
    pz_rect box = {PZ_FAR, PZ_FAR, -PZ_FAR, -PZ_FAR};
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
    if (sides != few_sides) pz_canvas_give(canvas, sides);

    if (!line) return;
    if (slanted) {
        box.left--, box.top--, box.right++, box.bottom++;
        pz_rect todo = intersection(box, canvas->clip);
        for (pz_band b; pz_next_band(canvas, &todo, &b);) {
            for (int i = 0, j = n - 1; i < n; j = i++) {
                int x1 = X(j), y1 = Y(j), x2 = X(i), y2 = Y(i);
                if (x1 != x2 && y1 != y2)
                    pz_add_stroke(&b, x1 * PZ_ONE + PZ_HALF, y1 * PZ_ONE + PZ_HALF, x2 * PZ_ONE + PZ_HALF,
                                  y2 * PZ_ONE + PZ_HALF, PZ_HALF);
            }
            pz_paint_strokes(canvas, &b, line);
        }
    }
    /* Sides along an axis are whole pixels and need no coverage. */
    for (int i = 0, j = n - 1; i < n; j = i++) {
        int x1 = X(j), y1 = Y(j), x2 = X(i), y2 = Y(i);
        pz_rect bar = {smaller(x1, x2), smaller(y1, y2), larger(x1, x2) + 1, larger(y1, y2) + 1};
        if (x1 == x2 || y1 == y2) pz_fill_rect(canvas, bar, line);
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
            for (int i = 0; i < n_rows && left < right; i++)
                pz_fill_run(rows[i] + (ptrdiff_t)left * 3, rgb, right - left);
            start = full + 1;
        }
        for (int64_t dx = start; dx < end; dx++) {
            int away = distance(dx * PZ_ONE, dy * PZ_ONE);
            int coverage = smaller((int)(radius * PZ_ONE - away), PZ_ONE);
            if (hole > 0 && away < hole * PZ_ONE) coverage -= smaller((int)(hole * PZ_ONE - away), PZ_ONE);
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
    radius = smaller(radius, PZ_FAR);
    x = saturate((int64_t)x + canvas->frame.left);
    y = saturate((int64_t)y + canvas->frame.top);
    if (outer) fill_disc(canvas, x, y, radius + 1, inner ? 0 : radius, outer);
    if (inner && (!outer || memcmp(inner, outer, 3))) fill_disc(canvas, x, y, radius, 0, inner);
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
