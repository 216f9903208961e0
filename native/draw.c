/* The engine's drawing interface. */
#include "draw.h"

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
