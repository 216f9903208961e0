/* The engine's drawing interface, twice: into nothing, and onto a canvas. */
#include "drawing/draw.h"

#include <string.h>

#include "drawing/raster.h"

static void no_text(drawing *dr, int x, int y, int type, int size, int align, int colour, const char *text)
{
    (void)dr, (void)x, (void)y, (void)type, (void)size, (void)align, (void)colour, (void)text;
}

static void no_rect(drawing *dr, int x, int y, int w, int h, int colour)
{
    (void)dr, (void)x, (void)y, (void)w, (void)h, (void)colour;
}

static void no_polygon(drawing *dr, const int *coords, int n, int fill, int outline)
{
    (void)dr, (void)coords, (void)n, (void)fill, (void)outline;
}

static void no_circle(drawing *dr, int x, int y, int radius, int fill, int outline)
{
    (void)dr, (void)x, (void)y, (void)radius, (void)fill, (void)outline;
}

static void no_area(drawing *dr, int x, int y, int w, int h)
{
    (void)dr, (void)x, (void)y, (void)w, (void)h;
}

static void no_event(drawing *dr)
{
    (void)dr;
}

static void no_status(drawing *dr, const char *text)
{
    (void)dr, (void)text;
}

/* Guess insists on a blitter that is not NULL. */
static blitter *no_blitter_new(drawing *dr, int w, int h)
{
    (void)dr, (void)w, (void)h;
    return smalloc(1);
}

static void no_blitter_free(drawing *dr, blitter *bl)
{
    (void)dr;
    sfree(bl);
}

static void no_blitter(drawing *dr, blitter *bl, int x, int y)
{
    (void)dr, (void)bl, (void)x, (void)y;
}

static void no_thick_line(drawing *dr, float thickness, float x1, float y1, float x2, float y2, int colour)
{
    (void)dr, (void)thickness, (void)x1, (void)y1, (void)x2, (void)y2, (void)colour;
}

const drawing_api pz_no_drawing = {
    .version = 1,
    .draw_text = no_text,
    .draw_rect = no_rect,
    .draw_line = no_rect,
    .draw_polygon = no_polygon,
    .draw_circle = no_circle,
    .draw_update = no_area,
    .clip = no_area,
    .unclip = no_event,
    .start_draw = no_event,
    .end_draw = no_event,
    .status_bar = no_status,
    .blitter_new = no_blitter_new,
    .blitter_free = no_blitter_free,
    .blitter_save = no_blitter,
    .blitter_load = no_blitter,
    .draw_thick_line = no_thick_line,
};

/* ---- The canvas behind the same interface. ---- */

#define CANVAS GET_HANDLE_AS_TYPE(dr, pz_canvas)

static void note_label(const pz_canvas *canvas, int x, int y, int size, int align, int colour, const char *text)
{
    pz_labels *labels = canvas->labels;
    if (labels->count == labels->room || colour < 0 || colour >= canvas->n_colours) return;
    pz_label *label = &labels->items[labels->count++];
    label->x = canvas->frame.left + x;
    label->y = canvas->frame.top + y - (align & ALIGN_VCENTRE ? 0 : size / 2);
    label->align = align & ALIGN_HCENTRE ? 0 : align & ALIGN_HRIGHT ? 1 : -1;
    memcpy(label->colour, canvas->palette[colour], 3);
    strncpy(label->text, text, sizeof label->text - 1);
    label->text[sizeof label->text - 1] = '\0';
}

static void canvas_text(drawing *dr, int x, int y, int font, int size, int align, int colour, const char *text)
{
    pz_canvas *canvas = CANVAS;
    if (canvas->labels)
        note_label(canvas, x, y, size, align, colour, text);
    else
        pz_canvas_text(canvas, x, y, font, size, align, colour, text);
}

static void canvas_rect(drawing *dr, int x, int y, int w, int h, int colour)
{
    pz_canvas_rect(CANVAS, x, y, w, h, colour);
}

static void canvas_line(drawing *dr, int x1, int y1, int x2, int y2, int colour)
{
    pz_canvas_line(CANVAS, x1, y1, x2, y2, colour);
}

static void canvas_thick_line(drawing *dr, float thickness, float x1, float y1, float x2, float y2, int colour)
{
    pz_canvas_thick_line(CANVAS, thickness, x1, y1, x2, y2, colour);
}

static void canvas_polygon(drawing *dr, const int *coords, int n, int fill, int outline)
{
    pz_canvas_polygon(CANVAS, coords, n, fill, outline);
}

static void canvas_circle(drawing *dr, int x, int y, int radius, int fill, int outline)
{
    pz_canvas_circle(CANVAS, x, y, radius, fill, outline);
}

static void canvas_clip(drawing *dr, int x, int y, int w, int h)
{
    pz_canvas_clip(CANVAS, x, y, w, h);
}

/* A clip that a game left behind, or that a fault did, must not outlive the frame. */
static void canvas_unclip(drawing *dr)
{
    pz_canvas_unclip(CANVAS);
}

struct blitter {
    pz_saved saved;
};

static blitter *canvas_blitter_new(drawing *dr, int w, int h)
{
    (void)dr;
    blitter *bl = snew(blitter);
    pz_saved_init(&bl->saved, w, h);
    return bl;
}

static void canvas_blitter_free(drawing *dr, blitter *bl)
{
    (void)dr;
    pz_saved_drop(&bl->saved);
    sfree(bl);
}

static void canvas_blitter_save(drawing *dr, blitter *bl, int x, int y)
{
    pz_canvas_save(CANVAS, &bl->saved, x, y);
}

static void canvas_blitter_load(drawing *dr, blitter *bl, int x, int y)
{
    pz_canvas_load(CANVAS, &bl->saved, x, y);
}

static char *canvas_text_fallback(drawing *dr, const char *const *strings, int n)
{
    (void)dr;
    int i = 0;
    while (i < n - 1 && !pz_canvas_has_text(strings[i])) i++;
    return dupstr(strings[i]);
}

static void canvas_update(drawing *dr, int x, int y, int w, int h)
{
    pz_canvas *canvas = CANVAS;
    pz_rect rect = intersection(rect_of(canvas, x, y, w, h), pz_canvas_seen(canvas));
    if (!is_empty(rect)) pz_add_part(&canvas->touched, rect);
}

/* Without status_bar: the engine leaves out what is NULL, and a status bar would need its midend. */
const drawing_api pz_drawing = {
    .version = 1,
    .draw_text = canvas_text,
    .draw_rect = canvas_rect,
    .draw_line = canvas_line,
    .draw_polygon = canvas_polygon,
    .draw_circle = canvas_circle,
    .draw_update = canvas_update,
    .clip = canvas_clip,
    .unclip = canvas_unclip,
    .start_draw = canvas_unclip,
    .end_draw = canvas_unclip,
    .blitter_new = canvas_blitter_new,
    .blitter_free = canvas_blitter_free,
    .blitter_save = canvas_blitter_save,
    .blitter_load = canvas_blitter_load,
    .text_fallback = canvas_text_fallback,
    .draw_thick_line = canvas_thick_line,
};
