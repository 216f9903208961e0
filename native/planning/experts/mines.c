/*
 * Mines by sight: open the square that is least likely a mine.
 *
 * The probabilities are exact, all layouts that fit the numbers being equally likely. Covered squares that touch the
 * same numbers are one box: only how many mines it holds matters. Boxes that share a number belong to a group, and a
 * group is counted box by box: a state is what the open numbers still need and how many mines were used so far, so that
 * layouts which agree on that are counted together. How many mines are left for the other groups, and for the squares
 * that touch no number, weighs the last states; going back from them gives the share of layouts with so many mines in
 * each box.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planning/experts.h"

enum {
    AROUND = 8,          /* neighbours of a square */
    MOST_STATES =
        20000, /* kept after one box: beyond, the least likely are dropped and probabilities become estimates */
    NOTHING = -1
};

typedef struct box {
    int size, group;
    int n_rules, rules[AROUND];
    double odds; /* that one of its squares is a mine */
} box;

/* A number on the board: so many mines in these boxes. */
typedef struct rule {
    int need, n_boxes, boxes[AROUND];
} rule;

typedef struct board {
    int w, h, left; /* left: mines on the covered squares */
    int *numbers;
    int *box_of; /* per square: NOTHING where it is open or touches no number */
    int n_boxes, n_rules, rest; /* rest: covered squares in no box */
    box *boxes;
    rule *rules;
    int *order; /* the boxes, group by group */
    int n_groups, *starts; /* of the groups in order, and the end */
} board;

/* ---- Boxes ---- */

/* The box of the squares that touch exactly these numbers. */
static int find_box(board *b, const int *rules, int n_rules)
{
    const rule *first = &b->rules[rules[0]];
    for (int i = 0; i < first->n_boxes; i++) {
        const box *known = &b->boxes[first->boxes[i]];
        if (known->n_rules == n_rules && !memcmp(known->rules, rules, (size_t)n_rules * sizeof *rules))
            return first->boxes[i];
    }
    box *fresh = &b->boxes[b->n_boxes];
    *fresh = (box){.n_rules = n_rules, .group = NOTHING};
    memcpy(fresh->rules, rules, (size_t)n_rules * sizeof *rules);
    for (int i = 0; i < n_rules; i++) {
        rule *r = &b->rules[rules[i]];
        r->boxes[r->n_boxes++] = b->n_boxes;
    }
    return b->n_boxes++;
}

static void make_boxes(board *b)
{
    const int n = b->w * b->h;
    int *rule_of = snewn((size_t)n, int);
    for (int at = 0; at < n; at++) {
        rule_of[at] = b->numbers[at] < 0 ? NOTHING : b->n_rules;
        if (b->numbers[at] >= 0) b->rules[b->n_rules++] = (rule){.need = b->numbers[at]};
    }
    for (int at = 0; at < n; at++) {
        pz_tick();
        int rules[AROUND], n_rules = 0;
        const int x = at % b->w, y = at / b->w;
        b->box_of[at] = NOTHING;
        if (b->numbers[at] >= 0) continue;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                if (x + dx < 0 || x + dx >= b->w || y + dy < 0 || y + dy >= b->h) continue;
                const int near = rule_of[at + dy * b->w + dx];
                if (near != NOTHING) rules[n_rules++] = near;
            }
        if (!n_rules) {
            b->rest++;
            continue;
        }
        b->box_of[at] = find_box(b, rules, n_rules);
        b->boxes[b->box_of[at]].size++;
    }
    sfree(rule_of);
}

/* Append to order all boxes that hang together with this one, nearest first; returns how many. */
static int gather(board *b, int first, int group, int *order)
{
    int n = 0;
    order[n++] = first;
    b->boxes[first].group = group;
    for (int i = 0; i < n; i++) {
        const box *at = &b->boxes[order[i]];
        for (int r = 0; r < at->n_rules; r++)
            for (int k = 0; k < b->rules[at->rules[r]].n_boxes; k++) {
                const int other = b->rules[at->rules[r]].boxes[k];
                if (b->boxes[other].group == group) continue;
                b->boxes[other].group = group;
                order[n++] = other;
            }
    }
    return n;
}

/* A group is counted from one of its ends: then few numbers are open at a time. */
static void make_groups(board *b)
{
    int done = 0;
    for (int i = 0; i < b->n_boxes; i++) {
        pz_tick();
        if (b->boxes[i].group != NOTHING) continue;
        int *order = b->order + done;
        const int n = gather(b, i, b->n_boxes + b->n_groups, order);
        gather(b, order[n - 1], b->n_groups, order);
        b->starts[b->n_groups++] = done;
        done += n;
    }
    b->starts[b->n_groups] = done;
}

/* ---- Counting a group ---- */

/* After some boxes of a group: the numbers that are open, and what they may still need. */
typedef struct layer {
    int n_open, *open;     /* rules with boxes on both sides */
    int n, room;           /* states */
    int *used;             /* mines so far, per state */
    uint8_t *needs;        /* n_open per state */
    double *before, *after; /* layouts up to here, and from here to the end with their weight: each up to a factor */
    int *table, table_room;
    int n_steps, steps_room;
    struct step *steps; /* from here to the next layer */
} layer;

typedef struct step {
    int from, to, mines;
    double ways;
} step;

static const double choose_small[AROUND + 1][AROUND + 1] = {
    {1},
    {1, 1},
    {1, 2, 1},
    {1, 3, 3, 1},
    {1, 4, 6, 4, 1},
    {1, 5, 10, 10, 5, 1},
    {1, 6, 15, 20, 15, 6, 1},
    {1, 7, 21, 35, 35, 21, 7, 1},
    {1, 8, 28, 56, 70, 56, 28, 8, 1},
};

static uint64_t key_of(const layer *l, const uint8_t *needs, int used)
{
    uint64_t key = (uint64_t)used * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < l->n_open; i++) key = (key ^ needs[i]) * 0xBF58476D1CE4E5B9u;
    return key ^ (key >> 31);
}

static int *find_state(const layer *l, const uint8_t *needs, int used)
{
    const uint64_t last = (uint64_t)l->table_room - 1;
    for (uint64_t at = key_of(l, needs, used) & last;; at = (at + 1) & last) {
        const int i = l->table[at];
        if (i == NOTHING) return &l->table[at];
        if (l->used[i] == used && !memcmp(l->needs + (size_t)i * (size_t)l->n_open, needs, (size_t)l->n_open))
            return &l->table[at];
    }
}

static void fill_table(layer *l)
{
    for (int i = 0; i < l->table_room; i++) l->table[i] = NOTHING;
    for (int i = 0; i < l->n; i++) *find_state(l, l->needs + (size_t)i * (size_t)l->n_open, l->used[i]) = i;
}

/* The state with these needs, new if it was not there. */
static int state_of(layer *l, const uint8_t *needs, int used)
{
    if (l->n == l->room) {
        l->room = l->room * 2 + 16;
        l->used = sresize(l->used, l->room, int);
        l->needs = sresize(l->needs, (size_t)l->room * (size_t)(l->n_open + 1), uint8_t);
        l->before = sresize(l->before, l->room, double);
        l->table_room = l->table_room ? l->table_room * 2 : 64;
        while (l->table_room < 2 * l->room) l->table_room *= 2;
        l->table = sresize(l->table, l->table_room, int);
        fill_table(l);
    }
    int *place = find_state(l, needs, used);
    if (*place != NOTHING) return *place;
    memcpy(l->needs + (size_t)l->n * (size_t)l->n_open, needs, (size_t)l->n_open);
    l->used[l->n] = used;
    l->before[l->n] = 0;
    return *place = l->n++;
}

static void add_step(layer *l, step s)
{
    if (l->n_steps == l->steps_room) {
        l->steps_room = l->steps_room * 2 + 64;
        l->steps = sresize(l->steps, l->steps_room, step);
    }
    l->steps[l->n_steps++] = s;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Keep the states with the most layouts, and only the steps that lead there. */
static void drop_unlikely(layer *from, layer *to)
{
    if (to->n <= MOST_STATES) return;
    double *ranked = snewn((size_t)to->n, double);
    memcpy(ranked, to->before, (size_t)to->n * sizeof *ranked);
    qsort(ranked, (size_t)to->n, sizeof *ranked, compare_doubles);
    const double least = ranked[MOST_STATES];
    int *moved = snewn((size_t)to->n, int), kept = 0;
    for (int i = 0; i < to->n; i++) {
        moved[i] = to->before[i] > least ? kept : NOTHING;
        if (moved[i] == NOTHING) continue;
        to->used[kept] = to->used[i];
        to->before[kept] = to->before[i];
        memmove(to->needs + (size_t)kept * (size_t)to->n_open, to->needs + (size_t)i * (size_t)to->n_open,
                (size_t)to->n_open);
        kept++;
    }
    if (kept) {
        int n_steps = 0;
        for (int i = 0; i < from->n_steps; i++) {
            step s = from->steps[i];
            s.to = moved[s.to];
            if (s.to != NOTHING) from->steps[n_steps++] = s;
        }
        from->n_steps = n_steps;
        to->n = kept;
    }
    sfree(moved);
    sfree(ranked);
}

/* Bring the largest of some values to 1: only their ratios matter. */
static void scale(double *values, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        if (values[i] > most) most = values[i];
    for (int i = 0; i < n && most > 0; i++) values[i] /= most;
}

/* One group: its boxes in order, and the layers between them. */
typedef struct chain {
    const board *b;
    const int *order;
    int n;
    layer *layers; /* n + 1 */
    int most;      /* mines that it can hold */
    double *tally; /* per number of mines: layouts, up to a factor */
} chain;

/* How many squares a rule still has in the boxes from here on. */
static int room_in(const chain *c, const int *place, int r, int from)
{
    int room = 0;
    for (int k = 0; k < c->b->rules[r].n_boxes; k++) {
        const int at = c->b->rules[r].boxes[k];
        if (place[at] >= from) room += c->b->boxes[at].size;
    }
    return room;
}

/* From one layer to the next, over all numbers of mines in box number i. */
static void advance(chain *c, const int *place, int i)
{
    layer *from = &c->layers[i], *to = &c->layers[i + 1];
    const box *at = &c->b->boxes[c->order[i]];
    /* Where each open rule of the next layer has its need: in the layer before, or fresh; and what this box does to it.
     */
    to->open = snewn((size_t)(from->n_open + AROUND), int);
    int *source = snewn((size_t)(from->n_open + AROUND), int);
    int touched[AROUND], touched_source[AROUND], touched_room[AROUND], touched_place[AROUND];
    for (int k = 0; k < from->n_open; k++) {
        bool mine = false;
        for (int r = 0; r < at->n_rules; r++) mine = mine || at->rules[r] == from->open[k];
        if (mine) continue;
        source[to->n_open] = k;
        to->open[to->n_open++] = from->open[k];
    }
    for (int r = 0; r < at->n_rules; r++) {
        touched[r] = at->rules[r];
        touched_source[r] = NOTHING;
        for (int k = 0; k < from->n_open; k++)
            if (from->open[k] == touched[r]) touched_source[r] = k;
        touched_room[r] = room_in(c, place, touched[r], i + 1);
        touched_place[r] = NOTHING;
        if (!touched_room[r]) continue;
        touched_place[r] = to->n_open;
        source[to->n_open] = NOTHING;
        to->open[to->n_open++] = touched[r];
    }
    uint8_t *needs = snewn((size_t)to->n_open + 1, uint8_t);
    for (int s = 0; s < from->n; s++) {
        const uint8_t *had = from->needs + (size_t)s * (size_t)from->n_open;
        for (int k = 0; k < to->n_open; k++) needs[k] = source[k] == NOTHING ? 0 : had[source[k]];
        for (int mines = 0; mines <= at->size && from->used[s] + mines <= c->b->left; mines++) {
            pz_tick();
            bool fits = true;
            for (int r = 0; r < at->n_rules && fits; r++) {
                const int need = touched_source[r] == NOTHING ? c->b->rules[touched[r]].need : had[touched_source[r]];
                fits = need >= mines && need - mines <= touched_room[r];
                if (fits && touched_place[r] != NOTHING) needs[touched_place[r]] = (uint8_t)(need - mines);
            }
            if (!fits) continue;
            const int next = state_of(to, needs, from->used[s] + mines);
            const double ways = choose_small[at->size][mines];
            to->before[next] += from->before[s] * ways;
            add_step(from, (step){s, next, mines, ways});
        }
    }
    drop_unlikely(from, to);
    scale(to->before, to->n);
    sfree(needs);
    sfree(source);
}

static chain count_group(const board *b, int group, int *place)
{
    chain c = {.b = b, .order = b->order + b->starts[group], .n = b->starts[group + 1] - b->starts[group]};
    for (int i = 0; i < c.n; i++) place[c.order[i]] = i;
    c.layers = snewn((size_t)c.n + 1, layer);
    memset(c.layers, 0, ((size_t)c.n + 1) * sizeof *c.layers);
    state_of(&c.layers[0], (const uint8_t *)"", 0);
    c.layers[0].before[0] = 1;
    for (int i = 0; i < c.n; i++) {
        c.most += b->boxes[c.order[i]].size;
        advance(&c, place, i);
    }
    if (c.most > b->left) c.most = b->left;
    c.tally = snewn((size_t)c.most + 1, double);
    memset(c.tally, 0, ((size_t)c.most + 1) * sizeof *c.tally);
    const layer *end = &c.layers[c.n];
    for (int s = 0; s < end->n; s++) c.tally[end->used[s]] += end->before[s];
    return c;
}

/* The odds of a group's boxes, where a layout with so many mines has this weight. */
static void weigh_group(const chain *c, const double *weight)
{
    for (int i = c->n; i >= 0; i--) {
        layer *l = &c->layers[i];
        l->after = snewn((size_t)l->n + 1, double);
        for (int s = 0; s < l->n; s++) l->after[s] = i == c->n ? weight[l->used[s]] : 0;
        double all = 0, hits = 0;
        for (int k = 0; k < l->n_steps; k++) {
            pz_tick();
            const step *s = &l->steps[k];
            const double after = s->ways * c->layers[i + 1].after[s->to];
            l->after[s->from] += after;
            all += l->before[s->from] * after;
            hits += l->before[s->from] * after * s->mines;
        }
        scale(l->after, l->n);
        if (i == c->n) continue;
        box *at = &c->b->boxes[c->order[i]];
        at->odds = all > 0 ? hits / all / at->size : 1;
    }
}

/* ---- All groups together ---- */

/* Of two tallies with up to a and b mines the tally of both, up to limit. */
static double *join(const double *x, int a, const double *y, int b, int limit)
{
    double *both = snewn((size_t)limit + 1, double);
    memset(both, 0, ((size_t)limit + 1) * sizeof *both);
    for (int i = 0; i <= a && i <= limit; i++)
        for (int j = 0; j <= b && i + j <= limit; j++) {
            pz_tick();
            both[i + j] += x[i] * y[j];
        }
    scale(both, limit + 1);
    return both;
}

/* In how many ways each number of mines, up to left, fits into the squares that touch no number; up to a factor. */
static double *ways_in_rest(const board *b)
{
    double *ways = snewn((size_t)b->left + 1, double), most = 0; /* logarithms, as they get large */
    ways[0] = 0;
    for (int mines = 1; mines <= b->left; mines++) {
        ways[mines] = mines > b->rest ? -INFINITY : ways[mines - 1] + log((b->rest - mines + 1.) / mines);
        if (ways[mines] > most) most = ways[mines];
    }
    for (int mines = 0; mines <= b->left; mines++) ways[mines] = exp(ways[mines] - most);
    return ways;
}

/* Sets the odds of every box and returns those of the rest; where nothing fits at all, which no real board has, all 1.
 */
static double weigh(board *b)
{
    int *place = snewn((size_t)b->n_boxes + 1, int);
    chain *chains = snewn((size_t)b->n_groups + 1, chain);
    for (int g = 0; g < b->n_groups; g++) chains[g] = count_group(b, g, place);
    /* up_to[g]: all groups before g; then from the other end, all groups behind it. */
    const double one[] = {1};
    double *rest = ways_in_rest(b), **up_to = snewn((size_t)b->n_groups + 1, double *);
    up_to[0] = join(one, 0, one, 0, b->left);
    for (int g = 0; g < b->n_groups; g++)
        up_to[g + 1] = join(up_to[g], b->left, chains[g].tally, chains[g].most, b->left);
    double all = 0, hits = 0;
    for (int mines = 0; mines <= b->left; mines++) {
        all += up_to[b->n_groups][mines] * rest[b->left - mines];
        hits += up_to[b->n_groups][mines] * rest[b->left - mines] * (b->left - mines);
    }
    double *behind = join(one, 0, one, 0, b->left);
    for (int g = b->n_groups - 1; g >= 0; g--) {
        const double *others = join(up_to[g], b->left, behind, b->left, b->left);
        double *weight = snewn((size_t)b->left + 1, double);
        for (int mines = 0; mines <= b->left; mines++) {
            weight[mines] = 0;
            for (int more = 0; mines + more <= b->left; more++) {
                pz_tick();
                weight[mines] += others[more] * rest[b->left - mines - more];
            }
        }
        scale(weight, b->left + 1);
        weigh_group(&chains[g], weight);
        behind = join(behind, b->left, chains[g].tally, chains[g].most, b->left);
    }
    return all > 0 && b->rest ? hits / all / b->rest : 1;
}

static double odds_at(const board *b, int at, double rest)
{
    return b->box_of[at] == NOTHING ? rest : b->boxes[b->box_of[at]].odds;
}

typedef struct candidate {
    double odds;
    int at;
} candidate;

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->odds != y->odds ? (x->odds < y->odds ? -1 : 1) : x->at - y->at;
}

/*
 * A guess where UNDO took back deaths. The board is as before and does not show what exploded, so the best guess would
 * be the same for ever: with each death it is the next one in order.
 */
static int guess_after_deaths(const board *b, double rest, int deaths)
{
    const int n = b->w * b->h;
    candidate *all = snewn((size_t)n, candidate);
    int count = 0;
    for (int at = 0; at < n; at++)
        if (b->numbers[at] < 0 && odds_at(b, at, rest) < 1) all[count++] = (candidate){odds_at(b, at, rest), at};
    if (!count) pz_fail(PZ_NO_PLAN, "every covered square is a mine");
    qsort(all, (size_t)count, sizeof *all, compare_candidates);
    const int at = all[deaths % count].at;
    sfree(all);
    return at;
}

pz_aim pz_mines_expert(const pz_sight *seen)
{
    const pz_field *numbers = pz_sight_field(seen, "numbers"), *flags = pz_sight_field(seen, "flags");
    board b = {.h = numbers->shape[0], .w = numbers->shape[1], .left = pz_see1(seen, "mines")};
    const int n = b.w * b.h, x = pz_see1(seen, "cursor_x"), y = pz_see1(seen, "cursor_y");
    if (!pz_see1(seen, "laid")) {
        if (pz_see(seen, flags, y * b.w + x)) return pz_aim_at(x, y, CURSOR_SELECT2, "no flag belongs here yet");
        return pz_aim_at(x, y, CURSOR_SELECT, "the first square is never a mine");
    }
    b.numbers = snewn((size_t)n, int);
    b.box_of = snewn((size_t)n, int);
    b.boxes = snewn((size_t)n, box);
    b.rules = snewn((size_t)n, rule);
    b.order = snewn((size_t)n, int);
    b.starts = snewn((size_t)n + 1, int);
    for (int at = 0; at < n; at++) b.numbers[at] = pz_see(seen, numbers, at);
    make_boxes(&b);
    make_groups(&b);
    const double rest = weigh(&b);
    double least = 2;
    for (int at = 0; at < n; at++) {
        if (b.numbers[at] >= 0) continue;
        const double odds = odds_at(&b, at, rest);
        if (odds < least) least = odds;
    }
    /* The squares that are equally good, the nearest first. */
    pz_stop stops[PZ_TOUR + 1] = {{0, 0}};
    int n_stops = 0;
    for (int keys = 0; keys < b.w + b.h && n_stops <= PZ_TOUR; keys++)
        for (int to_x = x - keys; to_x <= x + keys; to_x++)
            for (int side = 0; side < 2; side++) {
                pz_tick();
                const int to_y = side ? y + keys - abs(to_x - x) : y - keys + abs(to_x - x), at = to_y * b.w + to_x;
                if (to_x < 0 || to_x >= b.w || to_y < 0 || to_y >= b.h || (side && to_y == y)) continue;
                if (b.numbers[at] >= 0 || n_stops > PZ_TOUR) continue;
                if (odds_at(&b, at, rest) <= least * (1 + 1e-9)) stops[n_stops++] = (pz_stop){to_x, to_y};
            }
    if (!n_stops) pz_fail(PZ_NO_PLAN, "no square is covered");
    /* Where few are safe, the first on the shortest way over all of them; of many, or for a guess, the nearest. */
    const pz_stop any = {PZ_ANY, PZ_ANY};
    const bool few = least == 0 && n_stops <= PZ_TOUR;
    const pz_stop to = stops[few ? pz_first_stop((pz_stop){x, y}, stops, n_stops, any, NULL) : 0];
    const int best = least > 0 && seen->deaths ? guess_after_deaths(&b, rest, seen->deaths) : to.y * b.w + to.x;
    const int to_x = best % b.w, to_y = best / b.w;
    if (pz_see(seen, flags, best)) return pz_aim_at(to_x, to_y, CURSOR_SELECT2, "the flag is wrong");
    if (least == 0) return pz_aim_at(to_x, to_y, CURSOR_SELECT, "it is no mine");
    return pz_aim_at(to_x, to_y, CURSOR_SELECT, "a guess: a mine with a probability of %.2f", odds_at(&b, best, rest));
}
