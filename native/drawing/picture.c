/*
 * Pictures of a session: the largest tiles that fit, centred, the rest filled with the background.
 *
 * A session keeps its last picture, and what is the same in the next one stays. The engine itself draws only what
 * changed since; where that leaves other pixels than a full drawing, the puzzle's file says so, and recordings are
 * compared instead. What we draw over the engine's picture is taken off again before the engine goes on. Flashes and
 * animations are never shown.
 */
#include <stdlib.h>
#include <string.h>

#include "drawing/draw.h"
#include "drawing/recording.h"
#include "session/internal.h"

struct pz_picture {
    int width, height;
    uint8_t *pixels;
    int other_form;         /* 0, or the form besides rows of RGB that was asked for last */
    uint8_t *other;         /* the same picture in that form */
    char *record;           /* the observation that it shows */
    pz_canvas canvas;
    bool recorded;          /* the engine draws into recordings, not on the canvas */
    pz_recording now, next; /* the last one, and room for the next */
    pz_recorder recorder;
    drawing *dr, *over;     /* the engine's; and that of what we draw over it, where it is taken off again */
    pz_parts covered;       /* where we drew over, */
    pz_saved under[PZ_PARTS]; /* and what is there below */
    game_drawstate *ds;
    int tile;
    bool whole; /* false while it is drawn, and after that was interrupted */
    game_ui *mouse;         /* what the mouse holds and has selected, NULL unless it acted last */
    int mouse_moves, mouse_steps; /* when it acted */
    int pressed;            /* the engine's number of the button that is down, 0 for none */
};

enum { MAX_SIDE = 4096 };

int pz_least_tile(const game *engine, const game_params *params, const game_ui *ui, int *width, int *height)
{
    int tile = 0;
    do engine->compute_size(params, ++tile, ui, width, height);
    while ((!*width || !*height) && tile < MAX_SIDE);
    return tile;
}

static bool fits(pz_session *s, int tile, int width, int height)
{
    int w, h;
    s->puzzle->engine->compute_size(s->params, tile, s->ui, &w, &h);
    return w <= width && h <= height;
}

/* The largest tile size whose picture fits, as the engine's midend would look for it. */
static int fitting_tile(pz_session *s, int width, int height)
{
    int w, h, low = pz_least_tile(s->puzzle->engine, s->params, s->ui, &w, &h), high = 2 * low;
    if (w > width || h > height)
        pz_fail(PZ_BAD_PARAMS, "a picture of %s %s needs at least %d x %d pixels", s->puzzle->name, s->params_text, w,
                h);
    for (; high <= MAX_SIDE && fits(s, high, width, height); high *= 2) low = high;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (fits(s, middle, width, height))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void drop(pz_session *s)
{
    pz_picture *p = s->picture;
    s->picture = NULL;
    if (!p) return;
    if (p->mouse) s->puzzle->engine->free_ui(p->mouse);
    if (p->ds) s->puzzle->engine->free_drawstate(p->dr, p->ds);
    if (p->dr) drawing_free(p->dr);
    if (p->over) drawing_free(p->over);
    for (int i = 0; i < PZ_PARTS; i++) pz_saved_drop(&p->under[i]);
    pz_canvas_drop(&p->canvas);
    pz_recording_drop(&p->now);
    pz_recording_drop(&p->next);
    sfree(p->record);
    sfree(p->other);
    sfree(p->pixels);
    sfree(p);
}

static void fresh(pz_session *s, int width, int height, pz_labels *labels)
{
    const game *engine = s->puzzle->engine;
    int tile = fitting_tile(s, width, height), w, h, n;
    engine->compute_size(s->params, tile, s->ui, &w, &h);
    pz_picture *p = snew(pz_picture);
    memset(p, 0, sizeof *p);
    s->picture = p;
    p->width = width;
    p->height = height;
    p->tile = tile;
    p->pixels = snewn((size_t)width * (size_t)height * 3, uint8_t);
    pz_canvas_init(&p->canvas, s->pool);
    pz_canvas_target(&p->canvas, p->pixels, width, height, (ptrdiff_t)width * 3);
    float *colours = engine->colours(NULL, &n);
    pz_canvas_palette(&p->canvas, colours, n);
    sfree(colours);
    pz_canvas_frame(&p->canvas, (width - w) / 2, (height - h) / 2, w, h);
    pz_canvas_clear(&p->canvas, 0);
    p->canvas.labels = labels;
    p->recorder = (pz_recorder){.canvas = &p->canvas, .clip = pz_canvas_seen(&p->canvas), .into = &p->next};
    p->recorded = (s->puzzle->overdraws || tile < s->puzzle->overdraws_below) && !labels;
    p->dr = p->recorded ? drawing_new(&pz_recording_api, NULL, &p->recorder)
                        : drawing_new(&pz_drawing, NULL, &p->canvas);
    if (s->puzzle->draw_over && !p->recorded && !labels) p->over = drawing_new(&pz_recording_api, NULL, &p->recorder);
}

/* Whether the mouse acted last: then its ui is the one to draw with. */
static bool mouse_acted(const pz_session *s)
{
    const pz_picture *p = s->picture;
    return p->mouse && p->mouse_moves == s->outcome->moves && p->mouse_steps == s->outcome->steps;
}

static void check_size(int width, int height)
{
    if (width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE)
        pz_fail(PZ_BAD_PARAMS, "a picture is 1 to %d pixels wide and high, not %d x %d", MAX_SIDE, width, height);
}

/* Let the engine draw the present state, on the canvas or into the next recording. */
static void redraw(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    pz_picture *p = s->picture;
    if (p->ds && p->recorded) {
        engine->free_drawstate(p->dr, p->ds);
        p->ds = NULL;
    }
    if (!p->ds) {
        p->ds = engine->new_drawstate(p->dr, s->state);
        engine->set_size(p->dr, p->ds, s->params, p->tile);
    }
    const game_ui *ui = mouse_acted(s) ? p->mouse : s->ui;
    engine->redraw(p->dr, p->ds, NULL, s->state, +1, ui, 0, 0);
    if (s->puzzle->draw_over) s->puzzle->draw_over(p->over ? p->over : p->dr, p->ds, s->state, ui, s->extra);
}

/* Take off what we drew over the engine's picture. */
static void uncover(pz_picture *p)
{
    const pz_rect *frame = &p->canvas.frame;
    for (int i = 0; i < p->covered.n; i++) {
        const pz_rect *part = &p->covered.rects[i];
        pz_canvas_load(&p->canvas, &p->under[i], part->left - frame->left, part->top - frame->top);
        pz_add_part(&p->canvas.touched, *part);
    }
    p->covered.n = 0;
}

/* Draw over it what was recorded. */
static void cover(pz_picture *p)
{
    const pz_rect *frame = &p->canvas.frame;
    for (int i = 0; i < p->next.count; i++) pz_add_part(&p->covered, p->next.entries[i].box);
    for (int i = 0; i < p->covered.n; i++) {
        const pz_rect *part = &p->covered.rects[i];
        p->under[i].width = part->right - part->left;
        p->under[i].height = part->bottom - part->top;
        pz_canvas_save(&p->canvas, &p->under[i], part->left - frame->left, part->top - frame->top);
        pz_add_part(&p->canvas.touched, *part);
    }
    pz_recording_paint_over(&p->canvas, &p->next);
    pz_canvas_unclip(&p->canvas);
}

/* Bring the canvas up to date; returns the parts of it that changed. */
static pz_parts paint(pz_session *s, bool anew)
{
    pz_picture *p = s->picture;
    const pz_parts all = {1, {pz_canvas_seen(&p->canvas)}};
    pz_parts parts = all;
    p->canvas.touched.n = 0;
    pz_recording_clear(&p->next);
    uncover(p);
    redraw(s);
    if (p->over) cover(p);
    if (!p->recorded) return anew ? all : p->canvas.touched;
    if (!anew) pz_recording_compare(&p->canvas, &p->now, &p->next, &parts);
    for (int i = 0; i < parts.n; i++) pz_recording_paint(&p->canvas, &p->next, parts.rects[i]);
    const pz_recording before = p->now;
    p->now = p->next;
    p->next = before;
    return parts;
}

static uint8_t grey(const uint8_t *rgb)
{
    return (uint8_t)((rgb[0] * 77 + rgb[1] * 150 + rgb[2] * 29 + 128) >> 8); /* the weights of ITU-R BT.601 */
}

/* Bring a part of the picture's other form up to date. */
static void convert(const pz_picture *p, pz_rect part)
{
    const size_t plane = (size_t)p->width * (size_t)p->height;
    for (int y = part.top; y < part.bottom; y++) {
        const size_t row = (size_t)y * (size_t)p->width;
        const uint8_t *from = p->pixels + 3 * row;
        uint8_t *to = p->other + row;
        if (p->other_form & PZ_PICTURE_GREY)
            for (int x = part.left; x < part.right; x++) to[x] = grey(from + 3 * x);
        else
            for (int x = part.left; x < part.right; x++)
                to[x] = from[3 * x], to[plane + x] = from[3 * x + 1], to[2 * plane + x] = from[3 * x + 2];
    }
}

/* Bring the session's picture up to date, with its text or with labels in its place; under a guard. */
static void draw(pz_session *s, int width, int height, pz_labels *labels)
{
    const size_t record_size = (size_t)s->layout->record_size;
    pz_picture *p = s->picture;
    check_size(width, height);
    if (p && (p->width != width || p->height != height || !p->whole)) drop(s);
    const bool anew = !s->picture;
    if (anew) fresh(s, width, height, labels);
    p = s->picture;
    /* What is observed says all that is seen, but for what the mouse holds. */
    const bool by_mouse = mouse_acted(s);
    if (!anew && p->record && !by_mouse && !memcmp(p->record, s->record, record_size)) return;
    p->whole = false;
    const pz_parts changed = paint(s, anew);
    for (int i = 0; p->other && i < changed.n; i++) convert(p, changed.rects[i]);
    if (by_mouse) {
        sfree(p->record);
        p->record = NULL;
    } else {
        if (!p->record) p->record = snewn(record_size, char);
        memcpy(p->record, s->record, record_size);
    }
    p->whole = true;
}

static void hand_out(pz_picture *p, uint8_t *out, int form)
{
    const size_t n = (size_t)p->width * (size_t)p->height;
    if (form == PZ_PICTURE_RGB) {
        memcpy(out, p->pixels, 3 * n);
        return;
    }
    if (p->other_form != form) {
        p->other_form = 0;
        sfree(p->other);
        p->other = NULL;
        p->other = snewn(3 * n, uint8_t);
        p->other_form = form;
        convert(p, (pz_rect){0, 0, p->width, p->height});
    }
    memcpy(out, p->other, form & PZ_PICTURE_GREY ? n : 3 * n);
}

typedef struct wanted {
    int width, height, form;
    uint8_t *out;
} wanted;

static void draw_wanted(pz_session *s, void *context)
{
    const wanted *w = context;
    draw(s, w->width, w->height, NULL);
    hand_out(s->picture, w->out, w->form);
}

int pz_session_pixels(pz_session *s, int width, int height, int form, uint8_t *out)
{
    wanted picture = {width, height, form, out};
    return pz_call_interruptible(s, draw_wanted, &picture);
}

/* ---- For terminals ---- */

typedef struct labelled {
    int width, height;
    uint8_t *out;
    pz_labels labels;
    int *tile;
} labelled;

static void draw_labelled(pz_session *s, void *context)
{
    labelled *l = context;
    drop(s); /* all text must be drawn anew, not only what changed */
    draw(s, l->width, l->height, &l->labels);
    hand_out(s->picture, l->out, PZ_PICTURE_RGB);
    *l->tile = s->picture->tile;
    drop(s);
}

int pz_session_labels(pz_session *s, int width, int height, uint8_t *out, pz_label *labels, int room, int *count,
                      int *tile)
{
    labelled picture = {width, height, out, {labels, room, 0}, tile};
    int error = pz_call(s, draw_labelled, &picture);
    *count = picture.labels.count;
    return error;
}

/* ---- The mouse ---- */

typedef struct touch {
    int width, height, x, y, button, gesture;
} touch;

/* The keys and the mouse each have a ui: what a gesture leaves half done never meets the keys. */
static void ready_mouse(pz_session *s)
{
    const game *engine = s->puzzle->engine;
    pz_picture *p = s->picture;
    if (mouse_acted(s)) return;
    if (p->mouse) engine->free_ui(p->mouse);
    p->pressed = 0;
    p->mouse = engine->new_ui(s->state);
    pz_copy_ui(s, p->mouse, s->ui, s->state);
}

/* Whether the engine had a use for it. */
static bool send(pz_session *s, int x, int y, int button)
{
    const game *engine = s->puzzle->engine;
    pz_picture *p = s->picture;
    char *move = engine->interpret_move(s->state, p->mouse, p->ds, x, y, button);
    if (!move || move == MOVE_UNUSED) return false;
    if (move == MOVE_UI_UPDATE || move == MOVE_NO_EFFECT) return true;
    game_state *next = engine->execute_move(s->state, move);
    sfree(move);
    if (!next) return true;
    if (engine->changed_state) engine->changed_state(p->mouse, s->state, next);
    pz_take_state(s, next);
    return true;
}

static void touch_picture(pz_session *s, void *context)
{
    const touch *t = context;
    draw(s, t->width, t->height, NULL);
    ready_mouse(s);
    pz_picture *p = s->picture;
    const pz_rect *frame = &p->canvas.frame;
    const int x = t->x - frame->left, y = t->y - frame->top;
    s->outcome->changed = 0;
    /*
     * The engine counts on a press, drags and a release of one button, in this order. A press that it has no use for
     * begins no gesture: Tracks would follow a drag that began outside its grid, and read outside its memory.
     */
    if (t->gesture == PZ_PRESS) {
        if (p->pressed) send(s, x, y, p->pressed + (LEFT_RELEASE - LEFT_BUTTON));
        p->pressed = 0;
        if (x >= 0 && y >= 0 && x < frame->right - frame->left && y < frame->bottom - frame->top) {
            const int press = LEFT_BUTTON + t->button;
            if (!s->stuck && !s->outcome->status && send(s, x, y, press)) p->pressed = press;
        }
    } else if (p->pressed && !s->stuck && !s->outcome->status) {
        send(s, x, y, p->pressed + (t->gesture == PZ_DRAG ? LEFT_DRAG : LEFT_RELEASE) - LEFT_BUTTON);
    }
    if (t->gesture == PZ_LET_GO) p->pressed = 0;
    p->mouse_moves = s->outcome->moves;
    p->mouse_steps = s->outcome->steps;
}

int pz_session_mouse(pz_session *s, int width, int height, int x, int y, int button, int gesture)
{
    if (button < PZ_BUTTON_LEFT || button > PZ_BUTTON_RIGHT || gesture < PZ_PRESS || gesture > PZ_LET_GO)
        return pz_refuse(PZ_BAD_PARAMS, "the mouse has buttons 0 to 2 and gestures 0 to 2");
    touch where = {width, height, x, y, button, gesture};
    return pz_call(s, touch_picture, &where);
}
