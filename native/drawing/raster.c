#include "drawing/raster.h"

#include <limits.h>
#include <string.h>

#include "host/guard.h"
#include "puzzles.h"

enum {
    SCRATCH_CELLS = 1 << 14, /* of coverage in one band */
    SCRATCH_ROWS = 256,
};
_Static_assert((int)PZ_MAX_SIDE <= (int)SCRATCH_CELLS, "a band must have room for one row");

/* ---- Runs ---- */

void pz_fill_rect(const pz_canvas *canvas, pz_rect r, const uint8_t *rgb)
{
    r = intersection(r, canvas->clip);
    if (is_empty(r)) return;
    const pz_ink ink = ink_of(rgb);
    uint8_t *row = pixel_at(canvas, r.left, r.top);
    for (int y = r.top; y < r.bottom; y++, row += canvas->stride) fill_run(row, &ink, r.right - r.left);
}

/* ---- Memory ---- */

void *pz_canvas_take(const pz_canvas *canvas, size_t size)
{
    pz_guard *guard = pz_current_guard();
    pz_pool *pool = guard->pool;
    if (canvas->pool) guard->pool = canvas->pool;
    void *block = smalloc(size);
    guard->pool = pool;
    return block;
}

void pz_canvas_give(const pz_canvas *canvas, void *block)
{
    if (!block) return;
    pz_guard *guard = pz_current_guard();
    pz_pool *pool = guard->pool;
    if (canvas->pool) guard->pool = canvas->pool;
    sfree(block);
    guard->pool = pool;
}

/* ---- Bands ---- */

static inline void touch(const pz_band *b, int y, int first, int last)
{
    if (!b->touched) return;
    int *touched = b->touched[y];
    if (first < touched[0]) touched[0] = first;
    if (last > touched[1]) touched[1] = last;
}

/* Scratch holds the touched ranges, then the cells. */
bool pz_next_band(pz_canvas *canvas, pz_rect *left, pz_band *b)
{
    if (is_empty(*left)) return false;
    size_t ranges = SCRATCH_ROWS * sizeof *b->touched;
    if (!canvas->scratch) {
        canvas->scratch = pz_canvas_take(canvas, ranges + SCRATCH_CELLS);
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

/* Two strokes in one row may be far apart. */
static inline int skip_empty(const uint8_t *cells, int x, int last)
{
    for (uint64_t eight; last - x >= 8; x += 8) {
        memcpy(&eight, cells + x, sizeof eight);
        if (eight) break;
    }
    return x;
}

void pz_paint_strokes(const pz_canvas *canvas, const pz_band *b, const uint8_t *rgb)
{
    for (int y = b->window.top; y < b->window.bottom; y++) {
        int *touched = b->touched[y - b->window.top];
        if (touched[0] > touched[1]) continue;
        uint8_t *cells = b->cells + (ptrdiff_t)(y - b->window.top) * b->row;
        uint8_t *pixels = pixel_at(canvas, b->window.left, y);
        for (int x = touched[0]; x <= touched[1]; x++) {
            x = skip_empty(cells, x, touched[1]);
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

/* ---- Strokes ---- */

/* Cells keep the most of what they and the stroke cover; range is that of the covered ones in a row. */
static inline void cover(uint8_t *cells, int x, int coverage, int range[2])
{
    if (coverage <= 0) return;
    coverage = smaller(coverage, UINT8_MAX);
    if (cells[x] < coverage) cells[x] = (uint8_t)coverage;
    range[0] = smaller(range[0], x);
    range[1] = x;
}

void pz_add_stroke(const pz_band *b, int x1, int y1, int x2, int y2, int radius)
{
    int reach = radius + PZ_HALF;
    int64_t dx = (int64_t)x2 - x1, dy = (int64_t)y2 - y1, square = dx * dx + dy * dy;
    double length = sqrt((double)square), inverse = square ? 1 / length : 0;
    pz_rect box = {(smaller(x1, x2) - reach) >> 8, (smaller(y1, y2) - reach) >> 8, ((larger(x1, x2) + reach) >> 8) + 1,
                   ((larger(y1, y2) + reach) >> 8) + 1};
    box = intersection(box, b->window);
    /* In each row look only where the strip around the line crosses it; a pixel more or less at its border is empty. */
    double slope = dy ? (double)dx / (double)dy / PZ_ONE : 0;
    double half = dy ? reach * length / fabs((double)dy) / PZ_ONE : PZ_FAR;
    /* Bevels: a pixel's breadth along a diagonal of pixels is the same in every row between its ends. */
    const bool bevel = dy && (dx == dy || dx == -dy) && radius == PZ_HALF && x1 % PZ_ONE == PZ_HALF &&
                       y1 % PZ_ONE == PZ_HALF;
    const int beside = bevel ? reach - (int)(fabs((double)(dy * PZ_ONE)) * inverse) : 0;
    for (int y = box.top; y < box.bottom; y++) {
        int64_t ay = y * PZ_ONE + PZ_HALF - y1;
        uint8_t *cells = b->cells + (ptrdiff_t)(y - b->window.top) * b->row;
        int range[2] = {INT_MAX, -1};
        if (bevel && (dy > 0 ? ay > 0 && ay < dy : ay < 0 && ay > dy)) {
            const int middle = (int)(x1 + (dx == dy ? ay : -ay)) >> 8;
            for (int x = larger(middle - 1, box.left); x < smaller(middle + 2, box.right); x++)
                cover(cells, x - b->window.left, x == middle ? PZ_ONE : beside, range);
        } else {
            double middle = (x1 - PZ_HALF) / (double)PZ_ONE + (double)ay * slope;
            int left = box.left, right = box.right;
            if (middle - half > left) left = middle - half < right ? (int)(middle - half) : right;
            if (middle + half < right - 1) right = middle + half > left ? (int)(middle + half) + 1 : left;
            int64_t ax = left * PZ_ONE + PZ_HALF - x1;
            int64_t cross = ax * dy - ay * dx, along = ax * dx + ay * dy;
            for (int x = left; x < right; x++, ax += PZ_ONE, cross += dy * PZ_ONE, along += dx * PZ_ONE) {
                int away;
                if (along <= 0)
                    away = distance(ax, ay);
                else if (along >= square)
                    away = distance(ax - dx, ay - dy);
                else
                    away = (int)(fabs((double)cross) * inverse);
                cover(cells, x - b->window.left, reach - away, range);
            }
        }
        if (range[0] <= range[1]) touch(b, y - b->window.top, range[0], range[1]);
    }
}
