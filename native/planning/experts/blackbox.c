/*
 * Black Box by sight: the shot that tells most, until the balls are known or no shot can tell.
 *
 * The boxes that fit the shots so far are found by following these shots through a box whose squares are decided only
 * when a shot meets them. What is left undecided is free: such a sketch stands for as many boxes as there are ways to
 * hide the balls that are missing. As many boxes are weighed all; of more, a sample.
 */
#include <math.h>
#include <string.h>

#include "host/chance.h"
#include "planning/experts.h"

enum {
    SAMPLE = 1024,         /* boxes that are weighed where there are more than that */
    MEMORY = 1 << 24,      /* bytes for sketches, and for boxes */
    MOST_SKETCHES = 20000, /* and boxes; fewer on large boards. With more sketches */
    MOST_NODES = 500000,   /* or decisions on the way to them, */
    DIVES = 128,           /* so many are looked for at random, */
    DIVE_NODES = 4000,     /* each with at most so many decisions */
    MOST_MARKED = 64,      /* boxes that are compared before one is marked */
};

static const double many = 1e250; /* ways, beyond which nobody counts exactly */

enum { OPEN, EMPTY, BALL };
enum { HIT = -1, REFLECTED = -2, UNDECIDED = -3 };
enum { UNFIRED, SHOT_HIT, SHOT_REFLECTED, SHOT_PASSED }; /* the values of the field "shots" */

typedef struct boxes {
    int w, h, least, most; /* balls */
    int n_lasers;
    int *told;  /* per laser: where its shot came out, or HIT, REFLECTED; UNDECIDED where it was not fired */
    int n_told;          /* lasers with an answer, */
    int n_fired, *fired; /* and those to follow: of the two ends of a shot that passed, one tells all */

    uint8_t *squares; /* the sketch so far: (w + 2) * (h + 2), the ring around is empty */
    int balls, open;

    int n_sketches, most_sketches;
    uint8_t *sketches;
    double *weights; /* per sketch: the boxes that it stands for */
    bool random;
    int nodes, most_nodes;
    uint64_t noise;
} boxes;

static int square(const boxes *b, int x, int y)
{
    return y * (b->w + 2) + x;
}

/* Where a laser stands, clockwise from the top left; and which laser stands somewhere, or -1. */
static void place_of(const boxes *b, int laser, int *x, int *y)
{
    const int w = b->w, h = b->h;
    if (laser < w)
        *x = laser + 1, *y = 0;
    else if (laser < w + h)
        *x = w + 1, *y = laser - w + 1;
    else if (laser < 2 * w + h)
        *x = 2 * w + h - laser, *y = h + 1;
    else
        *x = 0, *y = 2 * (w + h) - laser;
}

static int laser_at(const boxes *b, int x, int y)
{
    const int w = b->w, h = b->h;
    if (y == 0) return x - 1;
    if (x == w + 1) return w + y - 1;
    if (y == h + 1) return 2 * w + h - x;
    return x == 0 ? 2 * (w + h) - y : -1;
}

static bool inside(const boxes *b, int x, int y)
{
    return x >= 1 && x <= b->w && y >= 1 && y <= b->h;
}

/* Follow a shot: where it comes out, HIT or REFLECTED; or UNDECIDED, and which square must be decided first. */
static int shoot(const boxes *b, const uint8_t *squares, int laser, int *undecided)
{
    int x, y;
    place_of(b, laser, &x, &y);
    int dx = x == 0 ? 1 : x > b->w ? -1 : 0, dy = y == 0 ? 1 : y > b->h ? -1 : 0;
    for (bool first = true;; first = false) {
        const int ahead = square(b, x + dx, y + dy);
        const int left = square(b, x + dx + dy, y + dy - dx), right = square(b, x + dx - dy, y + dy + dx);
        const int look[] = {ahead, left, right};
        int ball = -1;
        for (int i = 0; i < 3 && ball < 0; i++) {
            if (squares[look[i]] == BALL) ball = i;
            if (squares[look[i]] != OPEN) continue;
            *undecided = look[i];
            return UNDECIDED;
        }
        if (ball == 0) return HIT;
        if (ball > 0 && first) return REFLECTED;
        if (ball > 0) {
            /* Turned away from the ball by a right angle; the next look is from here again. */
            const int turned = ball == 1 ? -dy : dy;
            dy = ball == 1 ? dx : -dx;
            dx = turned;
            continue;
        }
        x += dx;
        y += dy;
        if (inside(b, x, y)) continue;
        const int out = laser_at(b, x, y);
        return out == laser ? REFLECTED : out;
    }
}

/* ---- Sketches ---- */

/* In how many ways k of n squares can be chosen; exact as long as it matters. */
static double choose(int n, int k)
{
    double ways = 1;
    for (int i = 0; i < k && ways < many; i++) ways = ways * (n - i) / (i + 1);
    return ways;
}

/* In how many ways the balls that are missing fit into the open squares. */
static double ways(const boxes *b)
{
    double sum = 0;
    for (int more = b->least > b->balls ? b->least - b->balls : 0; more <= b->most - b->balls && more <= b->open;
         more++)
        sum += choose(b->open, more);
    return sum;
}

static bool is_full(const boxes *b)
{
    return b->n_sketches == b->most_sketches || b->nodes > b->most_nodes;
}

static void sketch(boxes *b, int shot);

static void decide(boxes *b, int at, int value, int shot)
{
    const bool ball = value == BALL;
    if (ball ? b->balls == b->most : b->balls + b->open - 1 < b->least) return;
    b->squares[at] = (uint8_t)value;
    b->balls += ball;
    b->open--;
    sketch(b, shot);
    b->open++;
    b->balls -= ball;
    b->squares[at] = OPEN;
}

/* Follow the shots from this one on; where a square must be decided, go on with either. */
static void sketch(boxes *b, int shot)
{
    int at;
    pz_tick();
    b->nodes++;
    for (; shot < b->n_fired; shot++) {
        const int out = shoot(b, b->squares, b->fired[shot], &at);
        if (out == UNDECIDED) break;
        if (out != b->told[b->fired[shot]]) return;
    }
    if (is_full(b)) return;
    if (shot == b->n_fired) {
        const size_t size = (size_t)(b->w + 2) * (size_t)(b->h + 2);
        memcpy(b->sketches + (size_t)b->n_sketches * size, b->squares, size);
        b->weights[b->n_sketches++] = ways(b);
        return;
    }
    const bool ball_first = b->random && pz_draw_below(&b->noise, b->open) < b->most - b->balls;
    decide(b, at, ball_first ? BALL : EMPTY, shot);
    if (!is_full(b)) decide(b, at, ball_first ? EMPTY : BALL, shot);
}

/* All sketches, or where these are too many, some; returns whether these are all. */
static bool find_sketches(boxes *b, int room)
{
    b->most_sketches = room;
    b->most_nodes = MOST_NODES;
    sketch(b, 0);
    if (!is_full(b)) return true;
    const int in_order = b->n_sketches;
    b->random = true;
    b->n_sketches = 0;
    b->most_nodes = DIVE_NODES;
    for (int dive = 0; dive < DIVES && b->n_sketches < room; dive++) {
        b->most_sketches = b->n_sketches + 1;
        b->nodes = 0;
        sketch(b, 0);
    }
    if (!b->n_sketches) b->n_sketches = in_order; /* none at random: then those that were found in order */
    if (!b->n_sketches && b->n_told == b->n_lasers) {
        /* No shot is left that could help: look for one that fits as long as there is time. */
        b->random = false;
        b->most_sketches = 1;
        b->most_nodes = INT32_MAX;
        sketch(b, 0);
    }
    for (int i = 0; i < b->n_sketches; i++) b->weights[i] = 1;
    return false;
}

/* ---- Boxes ---- */

typedef struct sample {
    int n;
    bool exact; /* all boxes that fit */
    uint8_t *squares; /* per box; all squares are decided */
    double *weights;
} sample;

static void add_box(sample *s, const uint8_t *squares, size_t size, double weight)
{
    uint8_t *to = s->squares + (size_t)s->n * size;
    memcpy(to, squares, size);
    for (size_t i = 0; i < size; i++)
        if (to[i] == OPEN) to[i] = EMPTY;
    s->weights[s->n++] = weight;
}

/* Hide at most so many more balls in the open squares from one on, in all ways. */
static void add_all(const boxes *b, sample *s, uint8_t *squares, int from, int balls, size_t size)
{
    pz_tick();
    if (balls >= b->least) add_box(s, squares, size, 1);
    if (balls == b->most) return;
    for (int at = from; at < (int)size; at++) {
        if (squares[at] != OPEN) continue;
        squares[at] = BALL;
        add_all(b, s, squares, at + 1, balls + 1, size);
        squares[at] = OPEN;
    }
}

/* The number of missing balls at random, by how many ways there are for each. */
static int draw_missing(boxes *b, int balls, int open)
{
    b->balls = balls;
    b->open = open;
    double left = (double)(pz_draw(&b->noise) >> 11) / 9007199254740992. * ways(b);
    int more = b->least > balls ? b->least - balls : 0;
    for (; more < b->most - balls && more < open; more++) {
        left -= choose(open, more);
        if (left < 0) break;
    }
    return more;
}

static void add_random(boxes *b, sample *s, uint8_t *squares, size_t size)
{
    int balls = 0, open = 0;
    for (size_t i = 0; i < size; i++) balls += squares[i] == BALL, open += squares[i] == OPEN;
    int more = draw_missing(b, balls, open);
    for (size_t i = 0; i < size && more; i++) {
        if (squares[i] != OPEN) continue;
        if (pz_draw_below(&b->noise, open--) < more) squares[i] = BALL, more--;
    }
    add_box(s, squares, size, 1);
}

/* The boxes to weigh: all that fit, or a sample of them. Returns how many fit, or minus a number where that is not
 * known. */
static double take_sample(boxes *b, sample *s)
{
    const size_t size = (size_t)(b->w + 2) * (size_t)(b->h + 2);
    const int room = (int)(MEMORY / size < MOST_SKETCHES ? MEMORY / size : MOST_SKETCHES);
    b->sketches = snewn((size_t)room * size, uint8_t);
    b->weights = snewn((size_t)room, double);
    s->squares = snewn((size_t)room * size, uint8_t);
    s->weights = snewn((size_t)room, double);
    uint8_t *squares = snewn(size, uint8_t);
    const bool all = find_sketches(b, room);
    double total = 0;
    for (int i = 0; i < b->n_sketches; i++) total += b->weights[i];
    if (all && total <= room) {
        for (int i = 0; i < b->n_sketches; i++) {
            int balls = 0;
            memcpy(squares, b->sketches + (size_t)i * size, size);
            for (size_t k = 0; k < size; k++) balls += squares[k] == BALL;
            add_all(b, s, squares, 0, balls, size);
        }
        s->exact = true;
        return total;
    }
    double passed = 0;
    for (int i = 0; i < b->n_sketches; i++) {
        pz_tick();
        passed += b->weights[i];
        while (s->n < SAMPLE && (s->n + 0.5) * total < passed * SAMPLE) {
            memcpy(squares, b->sketches + (size_t)i * size, size);
            add_random(b, s, squares, size);
        }
    }
    return all ? total : -s->n;
}

/* How much a shot tells, in bits. */
static double bits(const boxes *b, const sample *s, int laser)
{
    double *shares = snewn((size_t)b->n_lasers + 2, double), sum = 0, told = 0;
    memset(shares, 0, ((size_t)b->n_lasers + 2) * sizeof *shares);
    const size_t size = (size_t)(b->w + 2) * (size_t)(b->h + 2);
    int none;
    for (int i = 0; i < s->n; i++) {
        pz_tick();
        shares[2 + shoot(b, s->squares + (size_t)i * size, laser, &none)] += s->weights[i];
        sum += s->weights[i];
    }
    for (int k = 0; k < b->n_lasers + 2; k++)
        if (shares[k] > 0 && shares[k] < sum) told -= shares[k] / sum * log2(shares[k] / sum);
    sfree(shares);
    return told;
}

/* ---- What is seen ---- */

static boxes look(const pz_sight *seen)
{
    const pz_field *marks = pz_sight_field(seen, "balls"), *shots = pz_sight_field(seen, "shots");
    const pz_field *numbers = pz_sight_field(seen, "numbers");
    boxes b = {.h = marks->shape[0], .w = marks->shape[1], .n_lasers = shots->count};
    b.least = pz_sight_number(seen, 'm');
    b.most = pz_sight_number(seen, 'M');
    b.told = snewn((size_t)b.n_lasers, int);
    b.fired = snewn((size_t)b.n_lasers, int);
    for (int laser = 0; laser < b.n_lasers; laser++) {
        const int shot = pz_see(seen, shots, laser);
        b.told[laser] = shot == SHOT_HIT ? HIT : shot == SHOT_REFLECTED ? REFLECTED : UNDECIDED;
        for (int other = 0; shot == SHOT_PASSED && other < b.n_lasers; other++)
            if (other != laser && pz_see(seen, shots, other) == SHOT_PASSED &&
                pz_see(seen, numbers, other) == pz_see(seen, numbers, laser))
                b.told[laser] = other;
        b.n_told += shot != UNFIRED;
        if (shot != UNFIRED && !(shot == SHOT_PASSED && b.told[laser] < laser)) b.fired[b.n_fired++] = laser;
    }
    const int size = (b.w + 2) * (b.h + 2);
    b.squares = snewn((size_t)size, uint8_t);
    memset(b.squares, EMPTY, (size_t)size);
    for (int y = 1; y <= b.h; y++) memset(b.squares + square(&b, 1, y), OPEN, (size_t)b.w);
    b.open = b.w * b.h;
    return b;
}

/* The nearest of some places; ties go to the left, then up. */
typedef struct nearest {
    int x, y, keys;
} nearest;

static void prefer(nearest *best, int x, int y, int from_x, int from_y)
{
    const int keys = abs(x - from_x) + abs(y - from_y);
    if (best->keys < 0 || keys < best->keys || (keys == best->keys && (x < best->x || (x == best->x && y < best->y))))
        *best = (nearest){x, y, keys};
}

/* No shot can tell these boxes apart, so that any will do: mark the one that takes the fewest keys. */
static pz_aim mark(const pz_sight *seen, const boxes *b, const sample *s, pz_stop from)
{
    const pz_field *marks = pz_sight_field(seen, "balls");
    const size_t size = (size_t)(b->w + 2) * (size_t)(b->h + 2);
    pz_stop *wrong = snewn((size_t)b->w * (size_t)b->h, pz_stop), next = {0, 0};
    int fewest = INT32_MAX;
    for (int i = 0; i < s->n && i < MOST_MARKED; i++) {
        int n = 0, keys = 0;
        for (int y = 1; y <= b->h; y++)
            for (int x = 1; x <= b->w; x++) {
                const bool ball = s->squares[(size_t)i * size + (size_t)square(b, x, y)] == BALL;
                if (ball != pz_see(seen, marks, (y - 1) * b->w + x - 1)) wrong[n++] = (pz_stop){x, y};
            }
        pz_tick();
        if (!n) return pz_aim_at(0, 0, CURSOR_SELECT, "the balls are known");
        const pz_stop first = wrong[pz_first_stop(from, wrong, n, (pz_stop){0, 0}, &keys)];
        keys += n; /* each is a key, too */
        if (keys >= fewest) continue;
        fewest = keys;
        next = first;
    }
    return pz_aim_at(next.x, next.y, CURSOR_SELECT, "mark what is known");
}

pz_aim pz_blackbox_expert(const pz_sight *seen)
{
    const int from_x = pz_see1(seen, "cursor_x"), from_y = pz_see1(seen, "cursor_y");
    boxes b = look(seen);
    sample s = {.n = 0};
    const double fitting = take_sample(&b, &s);
    if (!s.n && s.exact) pz_fail(PZ_NO_PLAN, "no box fits the shots");
    nearest best = {.keys = -1};
    const double margin = s.exact ? 1e-9 : 0.02; /* within which shots count as equal, and the nearest is taken */
    double most = 0, *told = snewn((size_t)b.n_lasers, double);
    for (int laser = 0; laser < b.n_lasers; laser++) {
        told[laser] = b.told[laser] == UNDECIDED && s.n > 1 ? bits(&b, &s, laser) : 0;
        if (told[laser] > most) most = told[laser];
    }
    for (int laser = 0; laser < b.n_lasers; laser++) {
        int x, y;
        place_of(&b, laser, &x, &y);
        if (!s.n && b.told[laser] == UNDECIDED) prefer(&best, x, y, from_x, from_y);
        if (most > 0 && told[laser] > most * (1 - margin)) prefer(&best, x, y, from_x, from_y);
    }
    if (!s.n && best.keys < 0) pz_fail(PZ_NO_PLAN, "no box was found that fits the shots");
    if (!s.n)
        return pz_aim_at(best.x, best.y, CURSOR_SELECT, "the nearest shot, no box was found that fits those before");
    if (best.keys >= 0)
        return pz_aim_at(best.x, best.y, CURSOR_SELECT, "the shot that tells most, %s%.0f boxes are possible",
                         fitting < 0 ? "more than " : "", fabs(fitting));
    return mark(seen, &b, &s, (pz_stop){from_x, from_y});
}
