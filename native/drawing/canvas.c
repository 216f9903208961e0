/*
 * A small software rasteriser. Lines along an axis, polygons and the inside of discs are filled with sharp edges; the
 * outline that always follows a polygon is a stroke along its sides, and smooths them too. Discs know their rows.
 */
#include "drawing/canvas.h"

#include <stdatomic.h>
#include <stdlib.h>
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

pz_rect pz_canvas_seen(const pz_canvas *canvas)
{
    return intersection(canvas->frame, (pz_rect){0, 0, canvas->width, canvas->height});
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
    canvas->clip = pz_canvas_seen(canvas);
}

void pz_canvas_rect(pz_canvas *canvas, int x, int y, int width, int height, int colour)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    if (rgb) pz_fill_rect(canvas, rect_of(canvas, x, y, width, height), rgb);
}

/* ---- Parts. ---- */

static pz_rect around(pz_rect a, pz_rect b)
{
    return (pz_rect){smaller(a.left, b.left), smaller(a.top, b.top), larger(a.right, b.right),
                     larger(a.bottom, b.bottom)};
}

static int64_t area(pz_rect r)
{
    return (int64_t)(r.right - r.left) * (r.bottom - r.top);
}

void pz_add_part(pz_parts *parts, pz_rect rect)
{
    int best = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < parts->n; i++) {
        int64_t more = area(around(parts->rects[i], rect)) - area(parts->rects[i]);
        if (more < least) best = i, least = more;
    }
    if (best >= 0 && (least <= area(rect) || parts->n == PZ_PARTS))
        parts->rects[best] = around(parts->rects[best], rect);
    else
        parts->rects[parts->n++] = rect;
}

/* ---- Lines. ---- */

/*
 * A line of a pixel's width between the centres of two pixels. Coverage falls with the distance from the line, and is 0
 * from one pixel on, so that on each step along the longer axis three pixels can have any. Lines along an axis are
 * whole pixels.
 */
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
    /* Along the longer axis as u, across it as v; from the smaller u, so that a line is the same from both ends. */
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
    int step = v2 > v1 ? 1 : -1;
    int64_t past = (2 * (first - u1) * dv + du) / (2 * du);
    int v = v1 + step * (int)past;
    /*
     * v is the pixel nearest to the line, and off how far the line is beyond its centre in the direction of step: as a
     * distance from the line, in 24.8 with 24 more bits. A step along u adds slope, and a pixel across is width away.
     */
    const int64_t scale = (int64_t)(PZ_ONE * (double)(1 << 24) / sqrt((double)(du * du + dv * dv)));
    const int64_t width = du * scale, slope = dv * scale, one = (int64_t)PZ_ONE << 24;
    int64_t off = ((first - u1) * dv - past * du) * scale;
    const ptrdiff_t along = steep ? canvas->stride : 3, across = (steep ? 3 : canvas->stride) * step;
    /* An index, not a pointer: outside the clip it must not even point into the picture. */
    ptrdiff_t at = steep ? first * canvas->stride + (ptrdiff_t)v * 3 : v * canvas->stride + (ptrdiff_t)first * 3;
    const uint64_t ink = spread(rgb);
    const bool inside = smaller(v1, v2) > low && larger(v1, v2) < high - 1;
#define COVER(k, away) \
    if (one > (away) && (inside || (v + (k) * step >= low && v + (k) * step < high))) \
    blend_spread(canvas->pixels + at + (k) * across, ink, (int)((one - (away)) >> 24))
    for (int u = first; u < end; u++, at += along) {
        COVER(-1, width + off);
        COVER(0, off < 0 ? -off : off);
        COVER(1, width - off);
        off += slope;
        if (2 * off >= width) {
            off -= width;
            v += step;
            at += across;
        }
    }
#undef COVER
}

/* From pixels to fixed point; NaN goes to the border, which is as good as any place. */
static inline int fixed(double value, int origin)
{
    value += origin;
    if (!(value > -PZ_FAR && value < PZ_FAR)) return value > 0 ? PZ_FAR * PZ_ONE : -PZ_FAR * PZ_ONE;
    value = value * PZ_ONE + 0.5;
    const int whole = (int)value;
    return whole - (whole > value); /* floor, which is a call where processors of any age must do */
}

/* A thick line in fixed point. */
typedef struct thick {
    int x1, y1, x2, y2, radius;
    pz_rect box;
} thick;

static thick thick_line(const pz_canvas *canvas, float thickness, float x1, float y1, float x2, float y2)
{
    thick t = {fixed(x1, canvas->frame.left),
               fixed(y1, canvas->frame.top),
               fixed(x2, canvas->frame.left),
               fixed(y2, canvas->frame.top),
               larger(PZ_HALF, fixed(thickness, 0) / 2),
               {0, 0, 0, 0}};
    const int reach = t.radius / PZ_ONE + 2;
    t.box = (pz_rect){smaller(t.x1, t.x2) / PZ_ONE - reach, smaller(t.y1, t.y2) / PZ_ONE - reach,
                      larger(t.x1, t.x2) / PZ_ONE + reach, larger(t.y1, t.y2) / PZ_ONE + reach};
    return t;
}

pz_rect pz_thick_line_box(const pz_canvas *canvas, float thickness, float x1, float y1, float x2, float y2)
{
    return thick_line(canvas, thickness, x1, y1, x2, y2).box;
}

/* Round ends: they join at every angle, where square ones stick out of Loopy's corners. */
void pz_canvas_thick_line(pz_canvas *canvas, float thickness, float x1, float y1, float x2, float y2, int colour)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    if (!rgb) return;
    const thick t = thick_line(canvas, thickness, x1, y1, x2, y2);
    pz_rect todo = intersection(t.box, canvas->clip);
    for (pz_band b; pz_next_band(canvas, &todo, &b);) {
        pz_add_stroke(&b, t.x1, t.y1, t.x2, t.y2, t.radius);
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

/* Fill one row by the nonzero rule. A pixel is in when its centre is: to the right of one side and not of the next. */
static void fill_row(const pz_canvas *canvas, side **active, crossing *crossings, int n, int y, pz_rect in,
                     const pz_ink *ink)
{
    for (int i = 0; i < n; i++) {
        const int x = (int)((active[i]->x + UINT32_MAX) >> 32);
        int at = i;
        active[i]->x += active[i]->slope;
        for (; at > 0 && crossings[at - 1].x > x; at--) crossings[at] = crossings[at - 1];
        crossings[at] = (crossing){x, active[i]->winding};
    }
    int winding = 0, start = 0;
    for (int i = 0; i < n; i++) {
        if (!winding) start = larger(crossings[i].x, in.left);
        winding += crossings[i].winding;
        int end = smaller(crossings[i].x, in.right);
        if (!winding && start < end) fill_run(pixel_at(canvas, start, y), ink, end - start);
    }
}

/* The same for rows that cross two sides only, as all of a convex polygon do. */
static void fill_between(const pz_canvas *canvas, side *a, side *b, int y, int end, pz_rect in, const pz_ink *ink)
{
    int64_t x1 = a->x + UINT32_MAX, x2 = b->x + UINT32_MAX;
    uint8_t *row = canvas->pixels + y * canvas->stride;
    for (; y < end; y++, x1 += a->slope, x2 += b->slope, row += canvas->stride) {
        const int one = (int)(x1 >> 32), other = (int)(x2 >> 32);
        const int from = larger(smaller(one, other), in.left), to = smaller(larger(one, other), in.right);
        if (from < to) fill_run(row + (ptrdiff_t)from * 3, ink, to - from);
    }
    a->x = x1 - UINT32_MAX, b->x = x2 - UINT32_MAX;
}

/* Between two rows in which a side begins or ends, all rows cross the same sides. */
static void fill_sides(const pz_canvas *canvas, side *sides, side **active, crossing *crossings, int n, pz_rect in,
                       const uint8_t *rgb)
{
    const pz_ink ink = ink_of(rgb);
    for (int i = 0; i < n; i++)
        if (sides[i].top < in.top && sides[i].bottom > in.top) sides[i].x += sides[i].slope * (in.top - sides[i].top);
    for (int y = in.top, end; y < in.bottom; y = end) {
        int found = 0;
        end = in.bottom;
        for (int i = 0; i < n; i++) {
            if (y < sides[i].top) end = smaller(end, sides[i].top);
            if (y < sides[i].top || y >= sides[i].bottom) continue;
            end = smaller(end, sides[i].bottom);
            active[found++] = &sides[i];
        }
        if (found == 2)
            fill_between(canvas, active[0], active[1], y, end, in, &ink);
        else
            for (int row = y; row < end; row++) fill_row(canvas, active, crossings, found, row, in, &ink);
    }
}

void pz_canvas_polygon(pz_canvas *canvas, const int *coords, int n, int fill, int outline)
{
    const uint8_t *inner = colour_of(canvas, fill), *line = colour_of(canvas, outline);
    n = smaller(n, MAX_POINTS);
    side few_sides[FEW_POINTS], *sides = few_sides, *few_active[FEW_POINTS], **active = few_active;
    crossing few_crossings[FEW_POINTS], *crossings = few_crossings;
    if (inner && n > FEW_POINTS) {
        sides = pz_canvas_take(canvas, (size_t)n * (sizeof *sides + sizeof *active + sizeof *crossings));
        active = (side **)(sides + n);
        crossings = (crossing *)(active + n);
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
    if (inner) fill_sides(canvas, sides, active, crossings, n_sides, intersection(box, canvas->clip), inner);
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
 * One row of a disc, by the distance from its middle: columns up to full are wholly covered, and from end on not at
 * all; those in between by cells. A disc's radius reaches to where coverage ends: a pixel at this distance from the
 * centre has none, one pixel less has all.
 */
typedef struct disc_row {
    int full, end;
    const uint8_t *cells;
} disc_row;

enum {
    MAX_KEPT_RADIUS = 48,
    MAX_RIM = 1500, /* cells of a row: up to the root of twice the largest radius */
};

static disc_row compute_row(int64_t radius, int64_t dy, uint8_t *cells)
{
    const int64_t inner = radius - 1;
    disc_row row = {dy <= inner ? (int)root(inner * inner - dy * dy) : -1, (int)root(radius * radius - dy * dy - 1) + 1,
                    cells};
    for (int dx = row.full + 1; dx < row.end; dx++) {
        int coverage = (int)(radius * PZ_ONE) - distance(dx * PZ_ONE, dy * PZ_ONE);
        *cells++ = (uint8_t)smaller(larger(coverage, 0), UINT8_MAX);
    }
    return row;
}

/* A disc of few pixels, computed when it is first wanted; all threads share it and nobody frees it. */
typedef struct disc {
    disc_row rows[MAX_KEPT_RADIUS];
    uint8_t cells[];
} disc;

static const disc *disc_of(int radius)
{
    static _Atomic(disc *) kept[MAX_KEPT_RADIUS + 1];
    disc *d = atomic_load_explicit(&kept[radius], memory_order_acquire);
    if (d) return d;
    disc *computed = malloc(sizeof *computed + (size_t)radius * MAX_KEPT_RADIUS);
    if (!computed) return NULL;
    uint8_t *cells = computed->cells;
    for (int dy = 0; dy < radius; dy++) {
        computed->rows[dy] = compute_row(radius, dy, cells);
        cells += computed->rows[dy].end - computed->rows[dy].full - 1;
    }
    if (atomic_compare_exchange_strong(&kept[radius], &d, computed)) return computed;
    free(computed);
    return d;
}

static disc_row row_of(const disc *kept, int radius, int dy, uint8_t *room)
{
    if (dy >= radius) return (disc_row){-1, 0, room};
    return kept ? kept->rows[dy] : compute_row(radius, dy, room);
}

static int coverage_of(const disc_row *row, int dx)
{
    return dx <= row->full ? UINT8_MAX : dx < row->end ? row->cells[dx - row->full - 1] : 0;
}

static inline void cover(uint8_t *pixel, const uint8_t *rgb, int coverage)
{
    if (coverage == UINT8_MAX)
        put(pixel, rgb);
    else
        blend(pixel, rgb, coverage);
}

/*
 * Paint a disc around the centre of pixel (x, y). Of what lies inside the smaller disc nothing is painted: with a hole
 * also its rim is left out, and otherwise only what it covers wholly, because it will be painted over.
 */
static void fill_disc(const pz_canvas *canvas, int x, int y, int radius, int smaller_radius, bool hole,
                      const uint8_t *rgb)
{
    const pz_rect clip = canvas->clip;
    const pz_ink ink = ink_of(rgb);
    const disc *outer = radius <= MAX_KEPT_RADIUS ? disc_of(radius) : NULL;
    const disc *inner = smaller_radius <= MAX_KEPT_RADIUS ? disc_of(smaller_radius) : NULL;
    uint8_t outer_rim[MAX_RIM], inner_rim[MAX_RIM];
    int nearest = y < clip.top ? clip.top - y : y >= clip.bottom ? y - clip.bottom + 1 : 0;
    for (int dy = nearest; dy < radius; dy++) {
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
        const disc_row row = row_of(outer, radius, dy, outer_rim);
        const disc_row within = row_of(inner, smaller_radius, dy, inner_rim);
        int start = within.full + 1;
        if (!start && row.full >= 0) {
            int left = larger(clip.left, x - row.full), right = smaller(clip.right, x + row.full + 1);
            for (int i = 0; i < n_rows && left < right && !hole; i++)
                fill_run(rows[i] + (ptrdiff_t)left * 3, &ink, right - left);
            if (!hole) start = row.full + 1;
        }
        const bool inside = x - row.end >= clip.left && x + row.end <= clip.right;
        for (int dx = start; dx < row.end; dx++) {
            int coverage = coverage_of(&row, dx);
            if (hole) coverage -= coverage_of(&within, dx);
            if (coverage <= 0) continue;
            const bool left = inside || (x - dx >= clip.left && x - dx < clip.right);
            const bool right = dx && (inside || (x + dx >= clip.left && x + dx < clip.right));
            for (int i = 0; i < n_rows; i++) {
                if (left) cover(rows[i] + (ptrdiff_t)(x - dx) * 3, rgb, coverage);
                if (right) cover(rows[i] + (ptrdiff_t)(x + dx) * 3, rgb, coverage);
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
    const bool two = inner && outer && memcmp(inner, outer, 3);
    if (outer) fill_disc(canvas, x, y, radius + 1, two || !inner ? radius : 0, !inner, outer);
    if (inner && (two || !outer)) fill_disc(canvas, x, y, radius, 0, false, inner);
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
    pz_rect area = intersection(whole, pz_canvas_seen(canvas));
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
