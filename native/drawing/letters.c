/* Text on the canvas: the glyphs of the font, drawn once per size and kept as coverage. */
#include <limits.h>
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
    face->pen = larger(PZ_ONE, face->capital * PZ_ONE * 15 / 100);
    face->gap = larger(1, (face->capital * 13 + 50) / 100);
    face->cell = font == FONT_FIXED ? larger(1, (face->capital * 70 + 50) / 100) : 0;
}

static int box_width(const pz_face *face, int index)
{
    int width = larger((pz_glyphs[index].width * face->capital + 50) / 100, (face->pen + PZ_ONE - 1) / PZ_ONE);
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
    const pz_band *into;           /* NULL: measure */
    int x, y;                   /* where the pen's place on the baseline is, in 24.8 */
    int left, top, right, bottom;
} sink;

static void stroke(sink *s, int x1, int y1, int x2, int y2, int radius)
{
    if (s->into) {
        pz_add_stroke(s->into, s->x + x1, s->y - y1, s->x + x2, s->y - y2, radius);
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
    place_anchors(&h, larger(width * PZ_ONE, face->pen), face->pen);
    place_anchors(&v, face->capital * PZ_ONE, face->pen);
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
        case 'M': x = px[1], y = py[1]; break;
        case 'L':
            stroke(s, x, y, px[1], py[1], radius);
            x = px[1], y = py[1];
            break;
        case 'D':
            /* Dots are a little larger than the pen, unless that would smear a single pixel. */
            stroke(s, px[1], py[1], px[1], py[1], radius > PZ_HALF * 3 / 2 ? radius * 5 / 4 : radius);
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
    return (pz_rect){(s.left - PZ_HALF) >> 8, (s.top - PZ_HALF) >> 8, ((s.right + PZ_HALF) >> 8) + 1,
                     ((s.bottom + PZ_HALF) >> 8) + 1};
}

static letter *new_letter(const pz_canvas *canvas, const pz_face *face, int index)
{
    pz_rect box = measure(face, index);
    int width = box.right - box.left, height = box.bottom - box.top;
    size_t cells = (size_t)width * (size_t)height;
    letter *l = pz_canvas_take(canvas, sizeof *l + cells);
    *l = (letter){box.left, box.top, width, height};
    memset(l->cells, 0, cells);
    pz_band b = {.window = box, .row = width, .cells = l->cells};
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
    for (pz_band b; pz_next_band(canvas, &todo, &b);) {
        sink s = {.into = &b, .x = x * PZ_ONE, .y = y * PZ_ONE};
        draw_glyph(face, index, &s);
        pz_paint_strokes(canvas, &b, rgb);
    }
}

void pz_drop_face(const pz_canvas *canvas, pz_face *face)
{
    if (!face) return;
    for (int i = 0; i < PZ_GLYPHS; i++) pz_canvas_give(canvas, face->letters[i]);
    pz_canvas_give(canvas, face);
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
        face = pz_canvas_take(canvas, sizeof *face);
        set_face(face, font, size);
        if (i == PZ_FACES) pz_drop_face(canvas, faces[--i]);
    }
    memmove(faces + 1, faces, (size_t)i * sizeof *faces);
    return faces[0] = face;
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
