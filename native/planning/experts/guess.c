/*
 * Guess by sight: the row whose answer tells most.
 *
 * Of the rows that fit all answers so far, each guess leaves some for every answer that may come; the best guess is the
 * one that leaves the fewest on average, measured in bits. Colours that no guess has used yet are alike, so of rows
 * that differ in these alone only the first is looked at.
 */
#include <math.h>
#include <string.h>

#include "planning/experts.h"

enum {
    MOST_PEGS = 64,      /* beyond, no row is weighed: the first that fits is taken */
    MOST_FITTING = 8192, /* rows that fit and are weighed; with more, an answer is judged by these */
    MOST_WORK = 2000000  /* answers looked at for one decision */
};

enum { COLOURS = 16 }; /* more than there are, and 0 for none */

/* A row with its pegs counted by colour. */
typedef struct row {
    uint16_t counts[COLOURS];
    uint8_t pegs[];
} row;

/* What is known: the guesses made, and how each was answered. */
typedef struct clues {
    int pegs, colours, made;
    bool repeats; /* a colour may occur more than once */
    row **guesses;
    int *placed, *common; /* pegs in the right place, and colours in common */
    bool used[COLOURS];   /* colours that some guess has */
    int *alike;           /* per peg: the last one before it that had the same colours in all guesses, or -1 */
} clues;

typedef struct rows {
    int n, most;
    char *all; /* of row_size each */
} rows;

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static size_t row_size(const clues *g)
{
    return (sizeof(row) + (size_t)g->pegs + 1) & ~(size_t)1; /* the counts stay aligned */
}

static row *row_at(const clues *g, const rows *in, int i)
{
    return (row *)(in->all + (size_t)i * row_size(g));
}

static row *new_row(const clues *g)
{
    row *fresh = smalloc(row_size(g));
    return memset(fresh, 0, row_size(g));
}

/* Pegs in the right place, and colours in common, as one number. */
static int answer(const clues *g, const row *a, const row *b)
{
    int placed = 0, common = 0;
    for (int peg = 0; peg < g->pegs; peg++) placed += a->pegs[peg] == b->pegs[peg];
    for (int colour = 1; colour <= g->colours; colour++) common += smaller(a->counts[colour], b->counts[colour]);
    return placed * (g->pegs + 1) + common;
}

/* ---- Rows that fit ---- */

/* A row that is being built, and for each guess what it has in common so far. */
typedef struct builder {
    const clues *g;
    row *row;
    int *placed, *common;
    rows *out;
} builder;

/* Whether the pegs that are still open can bring each guess to its answer. */
static bool can_fit(const builder *b, int peg)
{
    const clues *g = b->g;
    const int open = g->pegs - peg;
    for (int i = 0; i < g->made; i++) {
        if (b->placed[i] > g->placed[i] || b->placed[i] + open < g->placed[i]) return false;
        if (b->common[i] > g->common[i] || b->common[i] + open < g->common[i]) return false;
    }
    return true;
}

/* Put a colour on a peg, by 1, or take it away again, by -1. */
static void lay(builder *b, int peg, int colour, int by)
{
    const clues *g = b->g;
    b->row->pegs[peg] = (uint8_t)colour;
    if (by < 0) b->row->counts[colour]--;
    for (int i = 0; i < g->made; i++) {
        const row *guess = g->guesses[i];
        if (guess->pegs[peg] == colour) b->placed[i] += by;
        /* Pegs of this colour beyond those in the guess have nothing in common with it. */
        if (b->row->counts[colour] < guess->counts[colour]) b->common[i] += by;
    }
    if (by > 0) b->row->counts[colour]++;
}

static void build(builder *b, int peg)
{
    const clues *g = b->g;
    pz_tick();
    if (!can_fit(b, peg)) return;
    if (peg == g->pegs) {
        memcpy(row_at(g, b->out, b->out->n++), b->row, row_size(g));
        return;
    }
    for (int colour = 1; colour <= g->colours && b->out->n < b->out->most; colour++) {
        if (!g->repeats && b->row->counts[colour]) continue;
        lay(b, peg, colour, 1);
        build(b, peg + 1);
        lay(b, peg, colour, -1);
    }
}

static int *zeros(int n)
{
    int *array = snewn((size_t)n + 1, int);
    return memset(array, 0, ((size_t)n + 1) * sizeof *array);
}

/* The rows that fit all answers so far, in order; at most so many as there is room for. */
static void find_fitting(const clues *g, rows *out)
{
    builder b = {.g = g, .row = new_row(g), .placed = zeros(g->made), .common = zeros(g->made), .out = out};
    build(&b, 0);
}

/* ---- The best guess ---- */

typedef struct choice {
    const clues *g;
    const rows *fitting;
    int *ways;    /* per answer */
    double *bits; /* of so many rows: n * log2(n) */
    row *best;
    double least;
} choice;

/* What is left on average after this guess, in bits times rows. */
static double left_after(choice *c, const row *guess)
{
    const int kinds = (c->g->pegs + 1) * (c->g->pegs + 1);
    memset(c->ways, 0, (size_t)kinds * sizeof *c->ways);
    for (int i = 0; i < c->fitting->n; i++) {
        pz_tick();
        c->ways[answer(c->g, guess, row_at(c->g, c->fitting, i))]++;
    }
    double sum = 0;
    for (int k = 0; k < kinds; k++) sum += c->bits[c->ways[k]];
    return sum;
}

static void consider(choice *c, const row *guess, double handicap)
{
    const double left = left_after(c, guess) + handicap;
    if (left >= c->least - 1e-9) return;
    c->least = left;
    memcpy(c->best, guess, row_size(c->g));
}

static bool fits(const clues *g, const row *r)
{
    for (int i = 0; i < g->made; i++)
        if (answer(g, g->guesses[i], r) != g->placed[i] * (g->pegs + 1) + g->common[i]) return false;
    return true;
}

static int next_unused(const clues *g, int colour)
{
    do colour++;
    while (colour <= g->colours && g->used[colour]);
    return colour;
}

/*
 * All rows that may be hidden, but only the first of those that differ in what is alike: colours that no guess has
 * used, and pegs that had the same colours in all guesses. Without a choice they are only counted, up to a limit.
 */
static int consider_all(const clues *g, choice *c, row *r, int peg, int fresh, int limit)
{
    if (peg == g->pegs) {
        /* A row that may be right itself is preferred to one that only tells as much. */
        if (c) consider(c, r, fits(g, r) ? 0 : 1e-6);
        return 1;
    }
    int count = 0;
    for (int colour = g->alike[peg] < 0 ? 1 : r->pegs[g->alike[peg]]; colour <= g->colours && count <= limit;
         colour++) {
        if (!g->repeats && r->counts[colour]) continue;
        const bool first = !g->used[colour] && !r->counts[colour];
        if (first && colour != fresh) continue; /* the next unused colour stands for all of them */
        pz_tick();
        r->pegs[peg] = (uint8_t)colour;
        r->counts[colour]++;
        count += consider_all(g, c, r, peg + 1, first ? next_unused(g, fresh) : fresh, limit - count);
        r->counts[colour]--;
    }
    return count;
}

/* The guess to make next. Sets how many rows fit, at most as many as are weighed. */
static const row *best_guess(const clues *g, int *left)
{
    rows fitting = {.most = g->pegs > MOST_PEGS ? 1 : MOST_FITTING};
    fitting.all = smalloc((size_t)fitting.most * row_size(g));
    find_fitting(g, &fitting);
    *left = fitting.n;
    if (!fitting.n) pz_fail(PZ_NO_PLAN, "no row fits the answers");
    if (fitting.n <= 2 || g->pegs > MOST_PEGS) return row_at(g, &fitting, 0);
    choice c = {.g = g, .fitting = &fitting, .best = new_row(g), .least = INFINITY};
    c.ways = zeros((g->pegs + 1) * (g->pegs + 1));
    c.bits = snewn((size_t)fitting.n + 1, double);
    c.bits[0] = 0;
    for (int i = 1; i <= fitting.n; i++) c.bits[i] = i * log2(i);
    const int fresh = next_unused(g, 0), limit = MOST_WORK / fitting.n;
    if (consider_all(g, NULL, new_row(g), 0, fresh, limit) <= limit) {
        consider_all(g, &c, new_row(g), 0, fresh, limit);
    } else {
        /* Too much to weigh: only some of the rows that fit. */
        const int stride = 1 + fitting.n / limit;
        for (int i = 0; i < fitting.n; i += stride) consider(&c, row_at(g, &fitting, i), 0);
    }
    return c.best;
}

/* ---- What is seen ---- */

static clues look(const pz_sight *seen)
{
    const pz_field *guesses = pz_sight_field(seen, "guesses"), *laid = pz_sight_field(seen, "row");
    const pz_field *placed = pz_sight_field(seen, "placed"), *misplaced = pz_sight_field(seen, "misplaced");
    clues g = {.pegs = laid->count, .colours = laid->high, .made = pz_see1(seen, "made")};
    g.repeats = pz_sight_has(seen, 'm');
    g.guesses = snewn((size_t)g.made + 1, row *);
    g.placed = zeros(g.made);
    g.common = zeros(g.made);
    g.alike = zeros(g.pegs);
    for (int i = 0; i < g.made; i++) {
        g.guesses[i] = new_row(&g);
        g.placed[i] = pz_see(seen, placed, i);
        g.common[i] = g.placed[i] + pz_see(seen, misplaced, i);
        for (int peg = 0; peg < g.pegs; peg++) {
            const int colour = pz_see(seen, guesses, i * g.pegs + peg);
            g.guesses[i]->pegs[peg] = (uint8_t)colour;
            g.guesses[i]->counts[colour]++;
            g.used[colour] = true;
        }
    }
    for (int peg = 0; peg < g.pegs; peg++) {
        g.alike[peg] = -1;
        for (int other = peg - 1; other >= 0 && g.alike[peg] < 0; other--) {
            pz_tick();
            int same = 0;
            while (same < g.made && g.guesses[same]->pegs[peg] == g.guesses[same]->pegs[other]) same++;
            if (same == g.made) g.alike[peg] = other;
        }
    }
    return g;
}

pz_aim pz_guess_expert(const pz_sight *seen)
{
    const pz_field *laid = pz_sight_field(seen, "row");
    const int x = pz_see1(seen, "cursor_x"), y = pz_see1(seen, "cursor_y");
    const clues g = look(seen);
    int left, n = 0;
    const row *guess = best_guess(&g, &left);
    pz_stop *wrong = snewn((size_t)g.pegs + 1, pz_stop);
    for (int peg = 0; peg < g.pegs; peg++)
        if (pz_see(seen, laid, peg) != guess->pegs[peg]) wrong[n++] = (pz_stop){peg, guess->pegs[peg] - 1};
    if (!n) return pz_aim_at(g.pegs, y, CURSOR_SELECT, "the guess is laid");
    const pz_stop first = wrong[pz_first_stop((pz_stop){x, y}, wrong, n, (pz_stop){g.pegs, PZ_ANY}, NULL)];
    pz_text text = {NULL, 0, 0};
    for (int peg = 0; peg < g.pegs && peg < 16; peg++) pz_print(&text, " %d", guess->pegs[peg]);
    return pz_aim_at(first.x, first.y, CURSOR_SELECT, "to guess%s%s, %d%s rows are possible", text.chars,
                     g.pegs > 16 ? " ..." : "", left, left < MOST_FITTING ? "" : " and more");
}
