/* Text on the canvas: the glyphs of the font, drawn once per size and kept as coverage. */
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "drawing/canvas.h"
#include "drawing/font.h"
#include "drawing/raster.h"
#include "puzzles.h"

/* A letter at one size, as coverage. */
typedef struct letter {
    int left, top;              /* of the cells, from the pen's place on the baseline */
    int width, height;
    uint8_t cells[];
} letter;

/* What all letters of one size share. */
typedef struct face {
    int size, font;
    int capital;                /* height of capitals in pixels */
    int pen_x, pen_y;           /* width and height of the pen in 24.8: that of upright strokes, and of level ones */
    int gap;                    /* pixels between letters */
    int cell;                   /* width of every letter where the font is monospaced, else 0 */
} face;

enum {
    MAX_SIZE = 1 << 13,
    MAX_KEPT_SIZE = 96,         /* larger letters are rare, and drawn anew each time */
    MAX_ANCHORS = 24,
    MAX_PIECES = 512,           /* of one sign's path; none of ours has more */
    LINES = 8,                  /* scan lines in a row of pixels */
};

static void set_face(face *face, int font, int size)
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
    /* As bold as the letters of the original program. Single pixels stay sharp. */
    bool few = face->capital <= PZ_FEW_ROWS;
    face->pen_x = few ? PZ_ONE : face->capital * PZ_ONE * 23 / 100;
    face->pen_y = few ? PZ_ONE : larger(PZ_ONE, face->capital * PZ_ONE * 18 / 100);
    face->gap = larger(1, (face->capital * 15 + 50) / 100);
    face->cell = font == FONT_FIXED ? larger(1, (face->capital * 80 + 50) / 100) : 0;
}

static int box_width(const face *face, int index)
{
    int percent = pz_glyphs[index].width;
    if (face->capital <= PZ_FEW_ROWS) percent = percent * 84 / 100; /* the pen is not broad there */
    int width = larger((percent * face->capital + 50) / 100, (face->pen_x + PZ_ONE - 1) / PZ_ONE);
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
        edge = (edge + PZ_HALF) & ~(PZ_ONE - 1);
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
        if (c.letter == 'B') continue;
        int to_x = c.letter == 'C' ? c.n[4] : c.n[0], to_y = c.letter == 'C' ? c.n[5] : c.n[1];
        bool line = c.letter == 'L', dot = c.letter == 'D';
        if (dot || c.letter == 'H' || (line && x == to_x)) add_anchor(h, to_x);
        if (c.letter == 'V') add_anchor(h, x), add_anchor(v, to_y);
        if (c.letter == 'H') add_anchor(v, y);
        if (dot || (line && y == to_y)) add_anchor(v, to_y);
        x = to_x, y = to_y;
    }
}

/*
 * A piece of a letter: what the pen covers on its straight way from one point to another, an upright rectangle or (with
 * a round pen) two ellipses and the strip between them. Coordinates are 24.8 from the pen's place on the baseline, y
 * grows downwards.
 */
typedef struct piece {
    int x1, y1, x2, y2;
    int a, b;                   /* half of the pen's width and height */
    int tangent_x, tangent_y;   /* from the ends to the strip's corners */
    bool square;
} piece;

typedef struct outline {
    int n;
    int top, bottom;            /* nothing is drawn beyond these */
    piece pieces[MAX_PIECES];
} outline;

/* The largest whole number whose square is not above this one. */
static int64_t root(int64_t square)
{
    int64_t r = (int64_t)sqrt((double)square);
    while (r * r > square) r--;
    while ((r + 1) * (r + 1) <= square) r++;
    return r;
}

static void add_piece(outline *o, int x1, int y1, int x2, int y2, int pen_x, int pen_y, bool square)
{
    if (o->n == MAX_PIECES) return;
    piece *p = &o->pieces[o->n++];
    *p = (piece){x1, -y1, x2, -y2, larger(1, pen_x / 2), larger(1, pen_y / 2), 0, 0, square};
    int64_t dx = p->x2 - p->x1, dy = p->y2 - p->y1, length = root(dx * dx + dy * dy);
    if (square || !length) return;
    /* Where the ellipse's rim runs along the way: in integers, with the way's direction in 1024ths. */
    int64_t normal_x = -dy * 1024 / length * p->a, normal_y = dx * 1024 / length * p->b;
    int64_t norm = larger(1, (int)root(normal_x * normal_x + normal_y * normal_y));
    p->tangent_x = (int)(normal_x * p->a / norm);
    p->tangent_y = (int)(normal_y * p->b / norm);
}

/* The sign's path at the face's size. */
static void trace(const face *face, int index, outline *o)
{
    const int width = box_width(face, index), pieces = smaller(5 + face->capital / 8, 24);
    const int pen_x = face->pen_x, pen_y = face->pen_y;
    axis h, v;
    const char *path = pz_glyph_path(index, face->capital);
    find_anchors(path, &h, &v);
    place_anchors(&h, larger(width * PZ_ONE, pen_x), pen_x);
    place_anchors(&v, face->capital * PZ_ONE, pen_y);
    o->n = 0;
    o->top = -2 * face->capital * PZ_ONE, o->bottom = -o->top;
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
        case 'B':
            o->bottom = -(place(&v, c.n[0]) - pen_y / 2);
            o->top = -(place(&v, c.n[1]) + pen_y / 2);
            break;
        case 'M': x = px[1], y = py[1]; break;
        case 'L':
            if (x != px[1] || y != py[1]) add_piece(o, x, y, px[1], py[1], pen_x, pen_y, x == px[1] || y == py[1]);
            x = px[1], y = py[1];
            break;
        case 'D': add_piece(o, px[1], py[1], px[1], py[1], pen_x, pen_x, true); break;
        default:
            for (int i = 1, whole = pieces * pieces * pieces; i <= pieces; i++) {
                int j = pieces - i, a = j * j * j, b = 3 * j * j * i, d = 3 * j * i * i, e = i * i * i;
                int to_x = (int)(((int64_t)a * px[0] + (int64_t)b * px[1] + (int64_t)d * px[2] + (int64_t)e * px[3]) /
                                 whole);
                int to_y = (int)(((int64_t)a * py[0] + (int64_t)b * py[1] + (int64_t)d * py[2] + (int64_t)e * py[3]) /
                                 whole);
                add_piece(o, x, y, to_x, to_y, pen_x, pen_y, false);
                x = to_x, y = to_y;
            }
            break;
        }
    }
}

/* The pixels that a letter may touch, from the pen's place. */
static pz_rect measure(const outline *o)
{
    if (!o->n) return (pz_rect){0, 0, 0, 0};
    pz_rect box = {INT_MAX, INT_MAX, INT_MIN, INT_MIN};
    for (const piece *p = o->pieces; p < o->pieces + o->n; p++) {
        box.left = smaller(box.left, smaller(p->x1, p->x2) - p->a);
        box.right = larger(box.right, larger(p->x1, p->x2) + p->a);
        box.top = smaller(box.top, smaller(p->y1, p->y2) - p->b);
        box.bottom = larger(box.bottom, larger(p->y1, p->y2) + p->b);
    }
    box.top = larger(box.top, o->top), box.bottom = smaller(box.bottom, o->bottom);
    return (pz_rect){box.left >> 8, box.top >> 8, (box.right >> 8) + 1, (box.bottom >> 8) + 1};
}

typedef struct span {
    int left, right;
} span;

static void widen(span *s, int left, int right)
{
    s->left = smaller(s->left, left), s->right = larger(s->right, right);
}

static void widen_by_ellipse(span *s, const piece *p, int x, int y, int line)
{
    int64_t dy = line - y;
    if (dy < -p->b || dy > p->b) return;
    int half = (int)(p->a * root((int64_t)p->b * p->b - dy * dy) / p->b);
    widen(s, x - half, x + half);
}

static void widen_by_side(span *s, int x1, int y1, int x2, int y2, int line)
{
    if (y1 == y2 || line < smaller(y1, y2) || line > larger(y1, y2)) return;
    int x = x1 + (int)((int64_t)(x2 - x1) * (line - y1) / (y2 - y1));
    widen(s, x, x);
}

/* What a piece covers of a scan line; left > right where that is nothing. */
static span cut(const piece *p, int line)
{
    span s = {INT_MAX, INT_MIN};
    if (p->square) {
        if (line >= smaller(p->y1, p->y2) - p->b && line < larger(p->y1, p->y2) + p->b)
            widen(&s, smaller(p->x1, p->x2) - p->a, larger(p->x1, p->x2) + p->a);
        return s;
    }
    widen_by_ellipse(&s, p, p->x1, p->y1, line);
    widen_by_ellipse(&s, p, p->x2, p->y2, line);
    const int dx = p->tangent_x, dy = p->tangent_y;
    widen_by_side(&s, p->x1 + dx, p->y1 + dy, p->x2 + dx, p->y2 + dy, line);
    widen_by_side(&s, p->x1 - dx, p->y1 - dy, p->x2 - dx, p->y2 - dy, line);
    widen_by_side(&s, p->x1 + dx, p->y1 + dy, p->x1 - dx, p->y1 - dy, line);
    widen_by_side(&s, p->x2 + dx, p->y2 + dy, p->x2 - dx, p->y2 - dy, line);
    return s;
}

/* Add a span to the sums of a row; its pixels start at left. */
static void add_span(int *sums, int left, int right, span s)
{
    s.left = larger(s.left, left * PZ_ONE), s.right = smaller(s.right, right * PZ_ONE);
    if (s.left >= s.right) return;
    int first = (s.left >> 8) - left, last = ((s.right - 1) >> 8) - left;
    if (first == last) {
        sums[first] += s.right - s.left;
        return;
    }
    sums[first] += PZ_ONE - (s.left & (PZ_ONE - 1));
    for (int x = first + 1; x < last; x++) sums[x] += PZ_ONE;
    sums[last] += ((s.right - 1) & (PZ_ONE - 1)) + 1;
}

/* The coverage of one row of a letter's pixels: spans are joined where pieces overlap, so that nothing counts twice. */
static void cover_row(const outline *o, int row, int left, int right, int *sums, uint8_t *cells)
{
    memset(sums, 0, (size_t)(right - left) * sizeof *sums);
    for (int i = 0; i < LINES; i++) {
        const int line = row * PZ_ONE + i * (PZ_ONE / LINES) + PZ_ONE / LINES / 2;
        if (line < o->top || line >= o->bottom) continue;
        span spans[MAX_PIECES];
        int n = 0;
        for (const piece *p = o->pieces; p < o->pieces + o->n; p++) {
            if (line < smaller(p->y1, p->y2) - p->b || line > larger(p->y1, p->y2) + p->b) continue;
            span s = cut(p, line);
            if (s.left >= s.right) continue;
            int at = n++;
            for (; at > 0 && spans[at - 1].left > s.left; at--) spans[at] = spans[at - 1];
            spans[at] = s;
        }
        for (int from = 0, to; from < n; from = to) {
            span joined = spans[from];
            for (to = from + 1; to < n && spans[to].left <= joined.right; to++)
                joined.right = larger(joined.right, spans[to].right);
            add_span(sums, left, right, joined);
        }
    }
    for (int x = 0; x < right - left; x++) cells[x] = (uint8_t)smaller(sums[x] / LINES, UINT8_MAX);
}

static void paint_cells(const uint8_t *cells, uint8_t *pixel, int n, const uint8_t *rgb)
{
    for (int i = 0; i < n; i++, pixel += 3) {
        if (!cells[i]) continue;
        if (cells[i] == UINT8_MAX)
            put(pixel, rgb);
        else
            blend(pixel, rgb, cells[i]);
    }
}

/* NULL where memory is short. */
static letter *new_letter(const face *face, int index)
{
    outline o;
    trace(face, index, &o);
    pz_rect box = measure(&o);
    int width = box.right - box.left, height = box.bottom - box.top;
    int sums[2 * MAX_KEPT_SIZE];
    letter *l = malloc(sizeof *l + (size_t)width * (size_t)height);
    if (!l) return NULL;
    *l = (letter){box.left, box.top, width, height};
    for (int y = 0; y < height; y++)
        cover_row(&o, box.top + y, box.left, box.right, sums, l->cells + (ptrdiff_t)y * width);
    return l;
}

/*
 * The letter at this size, drawn when it is first wanted. All threads share it and nobody frees it. Where two threads
 * draw it at once, the first one's stays.
 */
static const letter *letter_of(const face *face, int index)
{
    static _Atomic(letter *) kept[2][MAX_KEPT_SIZE + 1][PZ_GLYPHS];
    _Atomic(letter *) *place = &kept[face->font == FONT_FIXED][face->size][index];
    letter *l = atomic_load_explicit(place, memory_order_acquire);
    if (l) return l;
    letter *drawn = new_letter(face, index);
    if (!drawn) return NULL;
    if (atomic_compare_exchange_strong(place, &l, drawn)) return drawn;
    free(drawn);
    return l;
}

static void paint_letter(const pz_canvas *canvas, const letter *l, int x, int y, const uint8_t *rgb)
{
    x += l->left, y += l->top;
    pz_rect seen = intersection((pz_rect){x, y, x + l->width, y + l->height}, canvas->clip);
    for (int row = seen.top; row < seen.bottom && seen.left < seen.right; row++)
        paint_cells(l->cells + (ptrdiff_t)(row - y) * l->width + (seen.left - x), pixel_at(canvas, seen.left, row),
                    seen.right - seen.left, rgb);
}

static pz_rect measure_large(const face *face, int index)
{
    outline o;
    trace(face, index, &o);
    return measure(&o);
}

/* Row by row, and only what is seen: a letter can be much larger than the picture. */
static void paint_large(const pz_canvas *canvas, const face *face, int index, int x, int y, const uint8_t *rgb)
{
    outline o;
    trace(face, index, &o);
    pz_rect box = measure(&o);
    pz_rect seen = intersection((pz_rect){box.left + x, box.top + y, box.right + x, box.bottom + y}, canvas->clip);
    if (is_empty(seen)) return;
    const size_t width = (size_t)(seen.right - seen.left);
    int *sums = pz_canvas_take(canvas, width * (sizeof *sums + 1));
    uint8_t *cells = (uint8_t *)(sums + width);
    for (int row = seen.top; row < seen.bottom; row++) {
        cover_row(&o, row - y, seen.left - x, seen.right - x, sums, cells);
        paint_cells(cells, pixel_at(canvas, seen.left, row), (int)width, rgb);
    }
    pz_canvas_give(canvas, sums);
}

/* The next code point of UTF-8, or a number beyond Unicode where the bytes are none. */
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

/* Where text begins: at its left end, on the baseline. */
typedef struct place_of_text {
    int64_t pen;
    int baseline;
} place_of_text;

static place_of_text align_text(const face *face, int64_t x, int64_t y, int align, const char *text)
{
    int64_t width = -face->gap;
    for (unsigned code; *text;) {
        text = next_code(text, &code);
        width += face->gap + (face->cell ? face->cell : box_width(face, glyph_of(code)));
    }
    /* An odd width or height lies around pixel (x, y), an even one around that pixel's top left corner. */
    if (align & ALIGN_HCENTRE)
        x -= width / 2;
    else if (align & ALIGN_HRIGHT)
        x -= width;
    if (align & ALIGN_VCENTRE) y += (face->capital + 1) / 2;
    return (place_of_text){x, saturate(y)};
}

/* Go through the letters: paint them, or with a box find out where they are. */
static void write(pz_canvas *canvas, const face *face, place_of_text at, const char *text, const uint8_t *rgb,
                  pz_rect *box)
{
    for (unsigned code; *text;) {
        text = next_code(text, &code);
        const int index = glyph_of(code), width = box_width(face, index);
        const int start = saturate(face->cell ? at.pen + (face->cell - width) / 2 : at.pen);
        const letter *kept = face->size <= MAX_KEPT_SIZE ? letter_of(face, index) : NULL;
        if (box) {
            pz_rect r = kept ? (pz_rect){kept->left, kept->top, kept->left + kept->width, kept->top + kept->height}
                             : measure_large(face, index);
            box->left = smaller(box->left, start + r.left), box->right = larger(box->right, start + r.right);
            box->top = smaller(box->top, at.baseline + r.top);
            box->bottom = larger(box->bottom, at.baseline + r.bottom);
        } else if (kept) {
            paint_letter(canvas, kept, start, at.baseline, rgb);
        } else {
            paint_large(canvas, face, index, start, at.baseline, rgb);
        }
        at.pen += face->gap + (face->cell ? face->cell : width);
    }
}

static bool set_text(const pz_canvas *canvas, face *face, int x, int y, int font, int size, int align, const char *text,
                     place_of_text *at)
{
    if (size < 1) return false;
    set_face(face, font, smaller(size, MAX_SIZE));
    *at = align_text(face, (int64_t)x + canvas->frame.left, (int64_t)y + canvas->frame.top, align, text);
    return true;
}

pz_rect pz_text_box(const pz_canvas *canvas, int x, int y, int font, int size, int align, const char *text)
{
    face face;
    place_of_text at;
    pz_rect box = {INT_MAX, INT_MAX, INT_MIN, INT_MIN};
    if (set_text(canvas, &face, x, y, font, size, align, text, &at)) write(NULL, &face, at, text, NULL, &box);
    return box;
}

void pz_canvas_text(pz_canvas *canvas, int x, int y, int font, int size, int align, int colour, const char *text)
{
    const uint8_t *rgb = colour_of(canvas, colour);
    face face;
    place_of_text at;
    if (rgb && set_text(canvas, &face, x, y, font, size, align, text, &at)) write(canvas, &face, at, text, rgb, NULL);
}
