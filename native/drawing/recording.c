#include "drawing/recording.h"

#include <string.h>

#include "drawing/raster.h"

enum kind { RECT, LINE, THICK_LINE, POLYGON, CIRCLE, TEXT };

enum {
    LOOK_AHEAD = 16,  /* so many marks may come between two that are equal */
    BLOCK = 32,       /* ints that are compared at once */
    MAX_STRANGERS = 32, /* with more marks that have no equal nearby the whole picture is painted */
};

/* ---- Writing ---- */

void pz_recording_clear(pz_recording *r)
{
    r->used = r->count = 0;
}

void pz_recording_drop(pz_recording *r)
{
    sfree(r->ints);
    sfree(r->entries);
    memset(r, 0, sizeof *r);
}

static const pz_mark *mark_at(const pz_recording *r, int i)
{
    return (const pz_mark *)(r->ints + r->entries[i].start);
}

/* Room for one more mark, or NULL where it would draw nothing. */
static int *add_mark(const pz_recorder *to, int kind, pz_rect box, int n_args)
{
    pz_recording *r = to->into;
    box = intersection(box, to->clip);
    if (is_empty(box)) return NULL;
    const int size = (int)(sizeof(pz_mark) / sizeof(int)) + n_args;
    if (r->used + size > r->room) {
        r->room = 2 * (r->used + size) + 1024;
        r->ints = sresize(r->ints, r->room, int);
    }
    if (r->count == r->entries_room) {
        r->entries_room = 2 * r->count + 64;
        r->entries = sresize(r->entries, r->entries_room, pz_entry);
    }
    pz_mark *mark = (pz_mark *)(r->ints + r->used);
    *mark = (pz_mark){size, kind, box};
    r->entries[r->count++] = (pz_entry){r->used, box};
    r->used += size;
    return mark->args;
}

#define RECORDER GET_HANDLE_AS_TYPE(dr, pz_recorder)

/* A box around two points of the engine's coordinates, with a margin in pixels. */
static pz_rect box_around(const pz_recorder *to, int x1, int y1, int x2, int y2, int margin)
{
    const int64_t left = to->canvas->frame.left, top = to->canvas->frame.top;
    return (pz_rect){saturate(left + smaller(x1, x2) - margin), saturate(top + smaller(y1, y2) - margin),
                     saturate(left + larger(x1, x2) + 1 + margin), saturate(top + larger(y1, y2) + 1 + margin)};
}

static void record_rect(drawing *dr, int x, int y, int w, int h, int colour)
{
    const pz_recorder *to = RECORDER;
    if (!colour_of(to->canvas, colour)) return;
    int *args = add_mark(to, RECT, rect_of(to->canvas, x, y, w, h), 1);
    if (args) args[0] = colour;
}

static void record_line(drawing *dr, int x1, int y1, int x2, int y2, int colour)
{
    const pz_recorder *to = RECORDER;
    const bool straight = x1 == x2 || y1 == y2;
    if (!colour_of(to->canvas, colour)) return;
    int *args = add_mark(to, straight ? RECT : LINE, box_around(to, x1, y1, x2, y2, straight ? 0 : 1),
                         straight ? 1 : 5);
    if (!args) return;
    args[0] = colour;
    if (!straight) args[1] = x1, args[2] = y1, args[3] = x2, args[4] = y2;
}

static void record_thick_line(drawing *dr, float thickness, float x1, float y1, float x2, float y2, int colour)
{
    const pz_recorder *to = RECORDER;
    const float numbers[5] = {thickness, x1, y1, x2, y2};
    if (!colour_of(to->canvas, colour)) return;
    int *args = add_mark(to, THICK_LINE, pz_thick_line_box(to->canvas, thickness, x1, y1, x2, y2), 6);
    if (!args) return;
    args[0] = colour;
    memcpy(args + 1, numbers, sizeof numbers);
}

static void record_polygon(drawing *dr, const int *coords, int n, int fill, int outline)
{
    const pz_recorder *to = RECORDER;
    if (n < 1) return;
    int left = coords[0], top = coords[1], right = left, bottom = top;
    for (int i = 1; i < n; i++) {
        left = smaller(left, coords[2 * i]), right = larger(right, coords[2 * i]);
        top = smaller(top, coords[2 * i + 1]), bottom = larger(bottom, coords[2 * i + 1]);
    }
    int *args = add_mark(to, POLYGON, box_around(to, left, top, right, bottom, 1), 3 + 2 * n);
    if (!args) return;
    args[0] = n, args[1] = fill, args[2] = outline;
    memcpy(args + 3, coords, (size_t)n * 2 * sizeof *coords);
}

static void record_circle(drawing *dr, int x, int y, int radius, int fill, int outline)
{
    const pz_recorder *to = RECORDER;
    if (radius < 0) return;
    int *args = add_mark(to, CIRCLE, box_around(to, x, y, x, y, smaller(radius, PZ_FAR)), 5);
    if (args) args[0] = x, args[1] = y, args[2] = radius, args[3] = fill, args[4] = outline;
}

static void record_text(drawing *dr, int x, int y, int font, int size, int align, int colour, const char *text)
{
    const pz_recorder *to = RECORDER;
    if (!colour_of(to->canvas, colour)) return;
    const size_t length = strlen(text), ints = length / sizeof(int) + 1;
    int *args = add_mark(to, TEXT, pz_text_box(to->canvas, x, y, font, size, align, text), 6 + (int)ints);
    if (!args) return;
    args[0] = x, args[1] = y, args[2] = font, args[3] = size, args[4] = align, args[5] = colour;
    args[6 + ints - 1] = 0; /* what fills up the last int */
    memcpy(args + 6, text, length);
}

static void record_clip(drawing *dr, int x, int y, int w, int h)
{
    pz_recorder *to = RECORDER;
    to->clip = intersection(pz_canvas_seen(to->canvas), rect_of(to->canvas, x, y, w, h));
}

/* A clip that a game left behind, or that a fault did, must not outlive the frame. */
static void record_unclip(drawing *dr)
{
    pz_recorder *to = RECORDER;
    to->clip = pz_canvas_seen(to->canvas);
}

/* A blitter brings back what was under a thing that has moved. With a fresh drawstate nothing was there before. */
static blitter *blitter_of_nothing(drawing *dr, int w, int h)
{
    (void)dr, (void)w, (void)h;
    return smalloc(1); /* Guess insists on one that is not NULL */
}

static void free_blitter(drawing *dr, blitter *bl)
{
    (void)dr;
    sfree(bl);
}

static void leave_blitter(drawing *dr, blitter *bl, int x, int y)
{
    (void)dr, (void)bl, (void)x, (void)y;
}

static char *first_text_that_we_have(drawing *dr, const char *const *strings, int n)
{
    (void)dr;
    int i = 0;
    while (i < n - 1 && !pz_canvas_has_text(strings[i])) i++;
    return dupstr(strings[i]);
}

/* Without status_bar and draw_update: the engine leaves out what is NULL, and a status bar would need its midend. */
const drawing_api pz_recording_api = {
    .version = 1,
    .draw_text = record_text,
    .draw_rect = record_rect,
    .draw_line = record_line,
    .draw_polygon = record_polygon,
    .draw_circle = record_circle,
    .clip = record_clip,
    .unclip = record_unclip,
    .start_draw = record_unclip,
    .end_draw = record_unclip,
    .blitter_new = blitter_of_nothing,
    .blitter_free = free_blitter,
    .blitter_save = leave_blitter,
    .blitter_load = leave_blitter,
    .text_fallback = first_text_that_we_have,
    .draw_thick_line = record_thick_line,
};

/* ---- Comparing ---- */

/* Their boxes tell most marks apart. */
static bool same(const pz_recording *a, int i, const pz_recording *b, int j)
{
    if (memcmp(&a->entries[i].box, &b->entries[j].box, sizeof(pz_rect))) return false;
    const pz_mark *one = mark_at(a, i), *other = mark_at(b, j);
    return one->size == other->size && !memcmp(one, other, (size_t)one->size * sizeof(int));
}

static void add_marks(pz_parts *parts, const pz_recording *r, int from, int to)
{
    for (int i = from; i < to; i++) pz_add_part(parts, r->entries[i].box);
}

/* How many ints two recordings have in common, from their starts on or from their ends back. */
static int common_start(const pz_recording *a, const pz_recording *b, int most)
{
    int n = 0;
    while (n + BLOCK <= most && !memcmp(a->ints + n, b->ints + n, BLOCK * sizeof(int))) n += BLOCK;
    while (n < most && a->ints[n] == b->ints[n]) n++;
    return n;
}

static int common_end(const pz_recording *a, const pz_recording *b, int most)
{
    if (!most) return 0;
    const int *end_a = a->ints + a->used, *end_b = b->ints + b->used;
    int n = 0;
    while (n + BLOCK <= most && !memcmp(end_a - n - BLOCK, end_b - n - BLOCK, BLOCK * sizeof(int))) n += BLOCK;
    while (n < most && end_a[-n - 1] == end_b[-n - 1]) n++;
    return n;
}

/* Where a recording differs from another: from its mark first on, up to its mark end. */
typedef struct stretch {
    int first, end;
} stretch;

static int start_of(const pz_recording *r, int i)
{
    return i < r->count ? r->entries[i].start : r->used;
}

/* Set aside the marks that both recordings start with, and those that they end with: mostly these are nearly all. */
static void find_difference(const pz_recording *before, const pz_recording *after, stretch *old, stretch *new)
{
    const int shorter = smaller(before->used, after->used), start = common_start(before, after, shorter);
    int low = 0, high = smaller(before->count, after->count);
    while (low < high) { /* the last mark that begins within what they have in common: all before it are whole */
        const int middle = (low + high + 1) / 2;
        if (start_of(before, middle) <= start)
            low = middle;
        else
            high = middle - 1;
    }
    *old = (stretch){low, before->count};
    *new = (stretch){low, after->count};
    const int end = common_end(before, after, shorter - start_of(before, low));
    while (old->end > low && new->end > low) {
        const int size = before->used - start_of(before, old->end - 1);
        if (size > end || size != after->used - start_of(after, new->end - 1)) break;
        old->end--, new->end--;
    }
}

/*
 * Marks that are in both recordings, in the same order, give the same pixels wherever no other mark reaches: so every
 * other mark's box is a part to paint. It does not matter whether more could have been paired.
 */
void pz_recording_compare(const pz_canvas *canvas, const pz_recording *before, const pz_recording *after,
                          pz_parts *parts)
{
    stretch old, new;
    int strangers = 0;
    find_difference(before, after, &old, &new);
    int i = old.first, j = new.first;
    parts->n = 0;
    while (i < old.end && j < new.end) {
        if (same(before, i, after, j)) {
            i++, j++;
            continue;
        }
        int a = 0, b = 0;
        for (int d = 1; d <= LOOK_AHEAD && !(a + b); d++)
            for (int k = 0; k <= d; k++)
                if (i + d - k < old.end && j + k < new.end && same(before, i + d - k, after, j + k)) {
                    a = d - k, b = k;
                    break;
                }
        if (!(a + b)) {
            a = b = 1;
            if (++strangers > MAX_STRANGERS) {
                *parts = (pz_parts){1, {pz_canvas_seen(canvas)}};
                return;
            }
        }
        add_marks(parts, before, i, i + a);
        add_marks(parts, after, j, j + b);
        i += a, j += b;
    }
    add_marks(parts, before, i, old.end);
    add_marks(parts, after, j, new.end);
}

/* ---- Painting ---- */

static bool covers(const pz_recording *r, int i, pz_rect part)
{
    const pz_rect *box = &r->entries[i].box;
    return box->left <= part.left && box->top <= part.top && box->right >= part.right && box->bottom >= part.bottom &&
           mark_at(r, i)->kind == RECT;
}

/* Neither is empty. One branch for all four: which of them fails, nobody can predict. */
static bool overlap(const pz_rect *a, const pz_rect *b)
{
    return (a->left < b->right) & (b->left < a->right) & (a->top < b->bottom) & (b->top < a->bottom);
}

static void paint(pz_canvas *canvas, const pz_mark *mark)
{
    const int *args = mark->args;
    float f[5];
    switch ((enum kind)mark->kind) {
    case RECT: pz_fill_rect(canvas, canvas->clip, canvas->palette[args[0]]); break;
    case LINE: pz_canvas_line(canvas, args[1], args[2], args[3], args[4], args[0]); break;
    case THICK_LINE:
        memcpy(f, args + 1, sizeof f);
        pz_canvas_thick_line(canvas, f[0], f[1], f[2], f[3], f[4], args[0]);
        break;
    case POLYGON: pz_canvas_polygon(canvas, args + 3, args[0], args[1], args[2]); break;
    case CIRCLE: pz_canvas_circle(canvas, args[0], args[1], args[2], args[3], args[4]); break;
    case TEXT:
        pz_canvas_text(canvas, args[0], args[1], args[2], args[3], args[4], args[5], (const char *)(args + 6));
        break;
    }
}

void pz_recording_paint_over(pz_canvas *canvas, const pz_recording *r)
{
    for (int i = 0; i < r->count; i++) {
        canvas->clip = r->entries[i].box;
        paint(canvas, mark_at(r, i));
    }
}

void pz_recording_paint(pz_canvas *canvas, const pz_recording *r, pz_rect part)
{
    /* What comes before a rectangle that covers the part cannot be seen. */
    int first = r->count - 1;
    while (first >= 0 && !covers(r, first, part)) first--;
    if (first < 0) {
        canvas->clip = part;
        pz_fill_rect(canvas, part, canvas->palette[0]);
        first = 0;
    }
    for (int i = first; i < r->count; i++) {
        if (!overlap(&r->entries[i].box, &part)) continue;
        canvas->clip = intersection(r->entries[i].box, part);
        paint(canvas, mark_at(r, i));
    }
}
