/*
 * What a file in native/puzzles/ says about its puzzle. Such a file includes this header, then the engine's backend,
 * and ends in one PZ_PUZZLE record; nothing else in the project knows the backend's private structs.
 *
 *     #include "puzzle.h"
 *     #define thegame pz_game_fifteen
 *     #include <fifteen.c>
 *     ... fields, observe ...
 *     PZ_PUZZLE(fifteen, .title = "Fifteen", ...)
 */
#ifndef PZ_PUZZLE_H
#define PZ_PUZZLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/guard.h"
#include "puzzles.h"

/* ---- The observation: a list of fields, fixed by the parameters, and the functions that fill them. ---- */

enum { PZ_MAX_FIELDS = 32, PZ_MAX_DIMS = 4, PZ_NAME = 32 };

typedef struct pz_field {
    char name[PZ_NAME];
    char about[160];
    int32_t low, high;         /* the tightest bounds that play never leaves */
    int32_t itemsize;          /* 1, 2 or 4 bytes, signed: the smallest that holds the bounds */
    int32_t ndim, shape[PZ_MAX_DIMS];
    int32_t count;             /* number of items */
    int32_t offset;            /* of the first item in the record, in bytes */
    int32_t is_ui;             /* cursor, modifiers, selection: what the next key acts on, not the board */
} pz_field;

/* What writing a field needs of it, apart from the rest: a batch walks over many layouts, and cache lines count. */
typedef struct pz_span {
    int32_t offset, count, itemsize;
} pz_span;

typedef struct pz_layout {
    int32_t n_fields;
    int32_t n_board_fields;    /* the ui fields follow them */
    int32_t record_size;       /* bytes of one observation: a multiple of 8 */
    int32_t ui_offset;         /* where the ui fields start */
    int32_t cursor[2];         /* the fields cursor_x and cursor_y, -1 for none */
    pz_span spans[PZ_MAX_FIELDS];
    pz_field fields[PZ_MAX_FIELDS];
} pz_layout;

/*
 * Declare one field. Boards are (height, width), row by row. All board fields come before the ui fields, and observe()
 * and observe_ui() fill them in the order of their declaration.
 */
void pz_add_field(pz_layout *layout, bool is_ui, const char *name, int low, int high, const char *about, int ndim,
                  int d0, int d1, int d2, int d3);

#define PZ_SCALAR(layout, name, low, high, about) pz_add_field(layout, false, name, low, high, about, 0, 0, 0, 0, 0)
#define PZ_VECTOR(layout, name, n, low, high, about) pz_add_field(layout, false, name, low, high, about, 1, n, 0, 0, 0)
#define PZ_GRID(layout, name, h, w, low, high, about) pz_add_field(layout, false, name, low, high, about, 2, h, w, 0, 0)
#define PZ_CUBE(layout, name, a, b, c, low, high, about) \
    pz_add_field(layout, false, name, low, high, about, 3, a, b, c, 0)

#define PZ_UI_SCALAR(layout, name, low, high, about) pz_add_field(layout, true, name, low, high, about, 0, 0, 0, 0, 0)
#define PZ_UI_VECTOR(layout, name, n, low, high, about) \
    pz_add_field(layout, true, name, low, high, about, 1, n, 0, 0, 0)
#define PZ_UI_GRID(layout, name, h, w, low, high, about) \
    pz_add_field(layout, true, name, low, high, about, 2, h, w, 0, 0)

/* The pair that most puzzles have: a cursor on a board of this size. */
#define PZ_CURSOR(layout, w, h) \
    do { \
        PZ_UI_SCALAR(layout, "cursor_x", 0, (w) - 1, "column of the cursor"); \
        PZ_UI_SCALAR(layout, "cursor_y", 0, (h) - 1, "row of the cursor"); \
    } while (0)

/* Where an observation is written: the fields of a layout, one after the other. */
typedef struct pz_writer {
    char *bytes;
    const pz_span *next, *end;
    const pz_layout *layout;
    int check; /* 0, or the error to fail with where an item is outside its field's bounds */
} pz_writer;

void pz_check_item(const pz_writer *out, const pz_span *span, int64_t value);

static inline const pz_span *pz_next_span(pz_writer *out, int count)
{
    const pz_span *span = out->next;
    if (span == out->end || span->count != count) pz_fail(PZ_ENGINE, "a field of %d items is not declared so", count);
    out->next = span + 1;
    return span;
}

static inline void pz_put_item(char *to, int itemsize, int64_t value)
{
    switch (itemsize) {
    case 1: *(int8_t *)to = (int8_t)value; break;
    case 2: *(int16_t *)to = (int16_t)value; break;
    default: *(int32_t *)to = (int32_t)value; break;
    }
}

/* In a field of more items, look at the clock after so many. */
enum { PZ_STRETCH = 1 << 16 };

/* Fill the next field, of n items: the item with index i is expr. */
#define PZ_PUT(out, n, expr) \
    do { \
        const int pz_n = (n); \
        const pz_span *pz_s = pz_next_span(out, pz_n); \
        char *pz_to = (out)->bytes + pz_s->offset; \
        int i; \
        if ((out)->check) \
            for (i = 0; i < pz_n; i++) pz_check_item(out, pz_s, (int64_t)(expr)); \
        if (pz_n > PZ_STRETCH) { \
            for (i = 0; i < pz_n; i++) { \
                pz_put_item(pz_to + (size_t)i * (size_t)pz_s->itemsize, pz_s->itemsize, (int64_t)(expr)); \
                if (i % PZ_STRETCH == 0) pz_burn(PZ_STRETCH >> 8); \
            } \
            break; \
        } \
        switch (pz_s->itemsize) { \
        case 1: \
            for (i = 0; i < pz_n; i++) ((int8_t *)pz_to)[i] = (int8_t)(expr); \
            break; \
        case 2: \
            for (i = 0; i < pz_n; i++) ((int16_t *)pz_to)[i] = (int16_t)(expr); \
            break; \
        default: \
            for (i = 0; i < pz_n; i++) ((int32_t *)pz_to)[i] = (int32_t)(expr); \
            break; \
        } \
    } while (0)
/* Fill the next field, a scalar. */
#define PZ_PUT1(out, value) pz_put1(out, (int64_t)(value))
static inline void pz_put1(pz_writer *out, int64_t value)
{
    const pz_span *span = pz_next_span(out, 1);
    if (out->check) pz_check_item(out, span, value);
    pz_put_item(out->bytes + span->offset, span->itemsize, value);
}

/* Fill the next two fields, cursor_x and cursor_y. */
#define PZ_PUT_CURSOR(out, x, y) (PZ_PUT1(out, x), PZ_PUT1(out, y))

/*
 * ---- The whole mutable state, for clone and save: every byte that a move may change, and nothing derived from the
 * game's description. Visiting means copying out, copying in or hashing; the puzzle only lists its blocks. ----
 */

typedef struct pz_visitor {
    void (*visit)(struct pz_visitor *self, void *data, size_t size);
    void (*visit_bools)(struct pz_visitor *self, void *data, size_t size); /* each byte must be 0 or 1 */
    bool loading; /* data is overwritten with bytes that nobody vouches for */
} pz_visitor;

#define PZ_VISITS(v, item) _Generic((item), bool: (v)->visit_bools, default: (v)->visit)
#define PZ_VISIT(v, pointer, n) PZ_VISITS(v, *(pointer))(v, (void *)(pointer), (size_t)(n) * sizeof *(pointer))
#define PZ_VISIT1(v, lvalue) PZ_VISITS(v, lvalue)(v, (void *)&(lvalue), sizeof(lvalue))

/*
 * Bytes that are loaded may be forged. What a puzzle's observe or moves would use as an index is checked right behind
 * its visit; what is wrong ends the load.
 */
#define PZ_SOUND(v, condition) \
    do { \
        if ((v)->loading && !(condition)) \
            pz_fail(PZ_CORRUPT, "the saved session holds a state that play cannot reach"); \
    } while (0)
enum { PZ_MANY = 1 << 30 }; /* what a count never reaches, with room to go on counting */
/* The same for an array: every item, as seen by expr with its index i. */
#define PZ_SOUND_ALL(v, n, expr) \
    do { \
        if ((v)->loading) \
            for (int i = 0, pz_n = (int)(n); i < pz_n; i++) PZ_SOUND(v, expr); \
    } while (0)
/* Visit an array of integers whose bits under the mask follow from the description, and stay as they are. */
#define PZ_VISIT_KEPT(v, pointer, n, mask) \
    do { \
        const size_t pz_size = (size_t)(n) * sizeof *(pointer); \
        __typeof__(*(pointer)) *pz_before = (v)->loading ? smalloc(pz_size + 1) : NULL; \
        if (pz_before) memcpy(pz_before, pointer, pz_size); \
        PZ_VISIT(v, pointer, n); \
        PZ_SOUND_ALL(v, n, !((pz_before[i] ^ (pointer)[i]) & (mask))); \
        sfree(pz_before); \
    } while (0)

/* ---- The record. ---- */

enum { PZ_EXTRA = 4 }; /* ints of ui state that a puzzle's file may add to the engine's */

/*
 * When an action has an effect, in a game that was generated and goes on. Trying it tells that always; a rule that is
 * exact is cheaper. The tests try every key against it.
 */
enum pz_rule {
    PZ_TRY = 0,
    PZ_ALWAYS,
    PZ_TO_EDGE, /* an arrow that has one unless the cursor stands at that edge */
    PZ_ROUND    /* an arrow that leads round to the other edge */
};

typedef struct pz_action {
    const char *name;
    int key; /* what interpret_move is given */
    enum pz_rule rule;
} pz_action;

enum { PZ_UNDO = -1 }; /* the key of UNDO, which no backend sees */

/* What a player sees, and an expert by sight decides by. */
typedef struct pz_sight {
    const pz_layout *layout;
    const char *record; /* one observation */
    const char *params;
    int deaths; /* that were undone: the status bar counts them */
} pz_sight;

/* A key to press where the cursor has to go first, and what that is for. */
typedef struct pz_aim {
    int x, y, key;
    char purpose[120];
} pz_aim;

typedef struct pz_puzzle {
    const char *name;          /* the backend's file name: "fifteen" */
    const char *title;         /* for people: "Fifteen" */
    const char *rules;         /* in our own words, one paragraph, with the meaning of each action */
    const game *engine;
    size_t ui_size;
    const int *ui_bools;       /* offsets of the bools in game_ui, for puzzles without visit_ui; ends with -1 */

    /*
     * How boards and moves are written in words, one line for each thing; docs/language.md tells what the lines mean.
     * "grid FIELD=SYMBOLS ..." is a board with one symbol for each value, "set FIELD KEY ..." a way to change it,
     * "rule KIND ..." what a board can do wrong.
     */
    const char *words;
    const pz_action *actions;  /* the paper's, in its order; ends with a NULL name */
    const char *easiest, *human; /* the paper's two levels */

    /* A Python regular expression for the parameter strings that the engine understands wholly. */
    const char *params_pattern;
    const char *params_help;   /* "WxH: width and height; dX: difficulty ..." one item per line */
    const char *params_alias;  /* "de=dn": what the paper writes and what the engine calls it; NULL for none */
    /* NULL when these parameters are fine, else why the engine must not see them (beyond its own validation). */
    const char *(*check_params)(const game_params *params);
    /* NULL, or what finds fault with a description that passes the engine's own validation: NULL when it is fine. */
    const char *(*check_desc)(const game_params *params, const char *desc);
    /*
     * The number of cells, refused above a limit before any memory is taken: the product of two parameters, or a
     * function.
     */
    int sides[2]; /* PZ_SIDES(w, h) */
    double (*cells)(const game_params *params);

    /* The paper's upper bound on the steps of an optimal play, from its table of parameters. */
    double (*optimal_steps)(const game_params *params);

    bool hidden;               /* the description gives the answer away: show params#seed */
    /* Where something is hidden: what an expert does next, by what it sees alone. Fails with PZ_NO_PLAN. */
    pz_aim (*expert)(const pz_sight *seen);
    int (*deaths)(const game_ui *ui); /* NULL, or how often an undo followed a death */

    void (*fields)(const game_params *params, pz_layout *layout);
    void (*observe)(const game_state *state, pz_writer *out);
    void (*observe_ui)(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out); /* NULL: no ui */

    void (*visit)(game_state *state, pz_visitor *v);
    void (*visit_ui)(game_ui *ui, const game_state *state, pz_visitor *v); /* NULL: the struct's bytes are all of it */
    /*
     * NULL, or whether a loaded ui is safe: false where what serves as an index is out of range. Fields are checked
     * anyway.
     */
    bool (*sound_ui)(const game_ui *ui, const game_state *state);
    void (*copy_ui)(game_ui *to, const game_ui *from, const game_state *state); /* NULL: a plain struct copy */

    /* NULL, or what makes a fresh ui start as we want it (extra is all zero before). */
    void (*start_ui)(const game_state *state, game_ui *ui, int *extra);
    /* NULL, or what replaces interpret_move for the action with this index; same return values. */
    char *(*press)(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds, const pz_action *action);
    /* What interpret_move calls a move always changes the board as it is observed: to try a key, it need not be made.
     */
    bool moves_change;
    /*
     * NULL, or a rule for actions that must not be tried, or are dear to try: 1 legal, 0 illegal, -1 try it. With
     * take_back, below, the actions that it calls legal are those that replace the description.
     */
    int (*legal)(const game_state *state, const game_ui *ui, const int *extra, const pz_action *action);
    /* NULL, or true where the engine waits for an undo: dead, or no move left. */
    bool (*stuck)(const game_state *state);
    /*
     * NULL, or for an engine that replaces the description of a game in play: whether this state, which an undo led to,
     * is from before that. Then what its states share becomes again as in initial, a new game of the first description.
     */
    bool (*take_back)(game_state *state, game_state *initial);
    /* NULL, or what replaces solve + execute_move: the solved state, or NULL and a reason. */
    game_state *(*solved)(const game_state *initial, const game_state *state, const char *aux, const char **error);
    /* NULL, or our own text board (smalloc'ed); needed where the engine has none. */
    char *(*text)(const game_params *params, const game_state *state, const game_ui *ui, const int *extra);
    /*
     * Planning. NULL, or the names of the board fields that make a solution, separated by spaces: no marks, no
     * errors.
     */
    const char *goal;
    /*
     * NULL, or likewise the names of fields of marks: a solution needs none of them, but where it has none, one is in
     * the way.
     */
    const char *marks;
    /* NULL, or how far a state is from being solved, for a puzzle that must be searched: 0 when it is. */
    int (*distance)(const game_state *state);
    /*
     * NULL, or what writes the next moves from here as the engine does, separated by spaces (smalloc'ed). It returns
     * NULL where a search over boards may find more, and fails with PZ_NO_PLAN where that is hopeless.
     */
    char *(*guide)(const game_state *state, const char *aux);
    /* 0, or bytes of stack for each cell, where the engine calls itself from cell to cell. */
    int stack_per_cell;
    /* The engine writes its complaint about a description to a static buffer: one thread at a time. */
    bool static_complaint;
    /* What the engine draws when something changed leaves other pixels than drawing all of it. */
    bool overdraws;
    /* 0, or the pixels of a square below which the same holds: what is drawn in one then reaches into the next. */
    int overdraws_below;
    /*
     * NULL, or what we draw over the engine's picture: our extra ui state, or a cursor that the engine does not
     * show.
     */
    void (*draw_over)(drawing *dr, const game_drawstate *ds, const game_state *state, const game_ui *ui,
                      const int *extra);
    const char *draws; /* with draw_over: what it draws, one sentence for the puzzle's page */
} pz_puzzle;

#define PZ_PUZZLE(id, ...) const pz_puzzle pz_puzzle_##id = {.name = #id, .engine = &pz_game_##id, __VA_ARGS__}

/*
 * For backends that look up an old preference in the environment when the first ui is made, and keep it in a static: do
 * that while the module is loaded, before there are threads.
 */
#define PZ_SETTLE_PREFERENCES \
    __attribute__((constructor)) static void pz_settle_preferences(void) \
    { \
        game_ui ui; \
        memset(&ui, 0, sizeof ui); \
        legacy_prefs_override(&ui); \
    }

/* For sides: the names of two ints in game_params. */
#define PZ_SIDE(member) _Generic(((game_params *)0)->member, int: (int)offsetof(game_params, member))
#define PZ_SIDES(a, b) {PZ_SIDE(a), PZ_SIDE(b)}

/* For ui_bools: PZ_BOOLS(PZ_BOOL(cur_visible), PZ_BOOL(dragging)) */
#define PZ_BOOL(member) _Generic(((game_ui *)0)->member, bool: (int)offsetof(game_ui, member))
#define PZ_BOOLS(...) (const int[]){__VA_ARGS__, -1}

/* The action lists that most puzzles share. */
/* clang-format off */
#define PZ_ARROWS_BY(rule) \
    { "UP", CURSOR_UP, rule }, { "DOWN", CURSOR_DOWN, rule }, { "LEFT", CURSOR_LEFT, rule }, \
    { "RIGHT", CURSOR_RIGHT, rule }
#define PZ_ARROWS PZ_ARROWS_BY(PZ_TRY)
#define PZ_ARROWS_TO_EDGE PZ_ARROWS_BY(PZ_TO_EDGE)
#define PZ_ARROWS_ROUND PZ_ARROWS_BY(PZ_ROUND)
#define PZ_SELECT { "SELECT", CURSOR_SELECT }
#define PZ_SELECT2 { "SELECT2", CURSOR_SELECT2 }
#define PZ_SELECT_ALWAYS { "SELECT", CURSOR_SELECT, PZ_ALWAYS }
#define PZ_SELECT2_ALWAYS { "SELECT2", CURSOR_SELECT2, PZ_ALWAYS }
#define PZ_DIGITS_1_9 \
    { "1", '1' }, { "2", '2' }, { "3", '3' }, { "4", '4' }, { "5", '5' }, { "6", '6' }, { "7", '7' }, { "8", '8' }, \
    { "9", '9' }
#define PZ_UNDO_ACTION { .name = "UNDO", .key = PZ_UNDO }
#define PZ_END { NULL, 0 }
/* clang-format on */

/*
 * Frames inside the square of the cursor, one within the other, for draw_over: that the cursor holds something, where
 * the engine's picture does not say. They leave the rim of the square free for lines that belong to the board.
 */
static inline void pz_draw_held(drawing *dr, int x, int y, int size, int colour, int frames)
{
    const int thick = size / 12 > 1 ? size / 12 : 1;
    for (int k = 0; k < frames; k++) {
        const int in = 1 + thick + 2 * thick * k, side = size - 2 * in;
        if (side < 1) return;
        draw_rect(dr, x + in, y + in, side, thick, colour);
        draw_rect(dr, x + in, y + in + side - thick, side, thick, colour);
        draw_rect(dr, x + in, y + in, thick, side, colour);
        draw_rect(dr, x + in + side - thick, y + in, thick, side, colour);
    }
}

/* A growing string for text boards; the result is smalloc'ed as the engine's own would be. */
typedef struct pz_text {
    char *chars;
    size_t length, room;
} pz_text;
void pz_print(pz_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
