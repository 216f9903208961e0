#include "puzzle.h"
#define thegame pz_game_flood
#include <flood.c>

static const pz_action pz_actions[] = {PZ_ARROWS_TO_EDGE, PZ_SELECT, PZ_END};

static double pz_optimal_steps(const game_params *params)
{
    return (double)params->w * params->h * (params->w + params->h + 1);
}

/* The limit: what the engine's solver needed, as each of its moves takes a square at least, and the extra moves. */
static void pz_fields(const game_params *params, pz_layout *layout)
{
    const int w = params->w, h = params->h, limit = w * h - 1 + params->leniency;
    PZ_GRID(layout, "colours", h, w, 0, params->colours - 1, "colour of each square");
    PZ_SCALAR(layout, "moves", 0, limit, "fills made so far");
    PZ_SCALAR(layout, "move_limit", 0, limit, "fills allowed: the game is lost when they are used up");
    PZ_CURSOR(layout, w, h);
}

static void pz_observe(const game_state *state, pz_writer *out)
{
    PZ_PUT(out, state->w * state->h, state->grid[i]);
    PZ_PUT1(out, state->moves);
    PZ_PUT1(out, state->movelimit);
}

static void pz_observe_ui(const game_state *state, const game_ui *ui, const int *extra, pz_writer *out)
{
    PZ_PUT_CURSOR(out, ui->cx, ui->cy);
}

/* The solver's path (soln, solnpos) is in no state of ours: see pz_solved. */
static void pz_visit(game_state *state, pz_visitor *v)
{
    PZ_VISIT(v, state->grid, state->w * state->h);
    PZ_VISIT1(v, state->moves);
    PZ_SOUND(v, state->moves >= 0 && state->moves <= PZ_MANY);
    PZ_VISIT1(v, state->complete);
    PZ_VISIT1(v, state->cheated);
}

/* The engine lets people go on after a defeat, without end and without a chance; here a lost game stays as it is. */
static char *pz_press(const game_state *state, game_ui *ui, int *extra, const game_drawstate *ds,
                      const pz_action *action)
{
    if (action->key == CURSOR_SELECT && state->moves >= state->movelimit) return MOVE_NO_EFFECT;
    return interpret_move(state, ui, ds, 0, 0, action->key);
}

/* The engine's solve move only stores a path for its SELECT2 to follow; going all the way also drops that path. */
static game_state *pz_solved(const game_state *initial, const game_state *state, const char *aux, const char **error)
{
    if (state->complete) return dup_game(state);
    /* Only a description can be of one colour from the start; the solver would return an unterminated string. */
    if (completed(state->w, state->h, state->grid)) {
        *error = "a board of one colour has no move that could complete it";
        return NULL;
    }
    char *move = solve_game(initial, state, aux, error);
    game_state *at = execute_move(state, move);
    sfree(move);
    while (at && at->soln) {
        char fill[16];
        sprintf(fill, "M%d", at->soln->moves[at->solnpos]);
        game_state *next = execute_move(at, fill);
        free_game(at);
        at = next;
    }
    if (at && game_status(at) > 0) return at;
    if (at) free_game(at);
    *error = "the engine's solver needs more moves than are left";
    return NULL;
}

static char *pz_text_board(const game_params *params, const game_state *state, const game_ui *ui, const int *extra)
{
    pz_text text = {NULL, 0, 0};
    char *board = game_text_format(state);
    pz_print(&text, "%s%d of %d moves\n", board, state->moves, state->movelimit);
    sfree(board);
    return text.chars;
}

/*
 * The way to one colour within the fills that are left. The squares are joined to regions of one colour each; a lake is
 * a set of regions, and a fill adds those of one colour that touch it. Layer by layer, one fill each, the most
 * promising lakes are kept: those from which the other regions are nearest.
 */
enum { PZ_NARROW = 50, PZ_WIDE = 2500, PZ_COLOURS = 10, PZ_BITS = 64 };

typedef struct pz_lake {
    uint64_t *regions;
    int from, colour, score; /* from: index in the layer before */
} pz_lake;

typedef struct pz_filler {
    int n, words, colours, width;
    int *region;            /* of each square */
    char *colour;           /* of each region */
    int *near, *first_near; /* the neighbours of region r start at near[first_near[r]] */
    int *distance, *queue;
    bool all; /* nothing was left out so far */
} pz_filler;

static bool pz_has(const uint64_t *set, int region)
{
    return set[region / PZ_BITS] >> region % PZ_BITS & 1;
}

static void pz_include(uint64_t *set, int region)
{
    set[region / PZ_BITS] |= (uint64_t)1 << region % PZ_BITS;
}

static void pz_find_regions(pz_filler *f, const game_state *state)
{
    const int w = state->w, h = state->h, squares = w * h;
    f->region = snewn(squares, int);
    f->colour = snewn(squares, char);
    f->queue = snewn(squares, int);
    f->near = snewn(4 * squares, int);
    f->first_near = snewn(squares + 1, int);
    f->distance = snewn(squares, int);
    memset(f->region, -1, squares * sizeof *f->region);
    int *start = snewn(squares + 1, int), *members = snewn(squares, int), filled = 0;
    for (int at = 0; at < squares; at++) {
        if (f->region[at] >= 0) continue;
        f->colour[f->n] = state->grid[at];
        f->region[at] = f->n;
        start[f->n] = filled;
        members[filled++] = at;
        for (int i = start[f->n]; i < filled; i++)
            for (int way = 0; way < 4; way++) {
                const int x = members[i] % w + (way == 0) - (way == 1), y = members[i] / w + (way == 2) - (way == 3);
                const int to = y * w + x;
                if (x < 0 || x >= w || y < 0 || y >= h || f->region[to] >= 0 || state->grid[to] != state->grid[at])
                    continue;
                f->region[to] = f->n;
                members[filled++] = to;
            }
        f->n++;
    }
    start[f->n] = filled;
    int *seen = f->distance, ends = 0; /* by which region a neighbour was noted last */
    memset(seen, -1, f->n * sizeof *seen);
    for (int r = 0; r < f->n; r++) {
        f->first_near[r] = ends;
        for (int i = start[r]; i < start[r + 1]; i++)
            for (int way = 0; way < 4; way++) {
                const int x = members[i] % w + (way == 0) - (way == 1), y = members[i] / w + (way == 2) - (way == 3);
                if (x < 0 || x >= w || y < 0 || y >= h) continue;
                const int to = f->region[y * w + x];
                if (to == r || seen[to] == r) continue;
                seen[to] = r;
                f->near[ends++] = to;
            }
    }
    f->first_near[f->n] = ends;
    f->words = (f->n + PZ_BITS - 1) / PZ_BITS;
    sfree(start);
    sfree(members);
}

/*
 * How far away the regions outside a lake are, in all. *fills becomes a number of fills that are needed at least: what
 * is d fills away is still there after d - 1 of them, and every colour of it takes one more.
 */
static int pz_judge_lake(pz_filler *f, const uint64_t *lake, int *fills)
{
    int head = 0, tail = 0, sum = 0, farthest[PZ_COLOURS] = {0};
    for (int r = 0; r < f->n; r++) {
        f->distance[r] = pz_has(lake, r) ? 0 : -1;
        if (!f->distance[r]) f->queue[tail++] = r;
    }
    while (head < tail) {
        const int r = f->queue[head++], d = f->distance[r];
        sum += d;
        if (d > farthest[(int)f->colour[r]]) farthest[(int)f->colour[r]] = d;
        for (int i = f->first_near[r]; i < f->first_near[r + 1]; i++)
            if (f->distance[f->near[i]] < 0) {
                f->distance[f->near[i]] = d + 1;
                f->queue[tail++] = f->near[i];
            }
    }
    *fills = 0;
    for (int c = 0; c < f->colours; c++) {
        int later = 0;
        for (int other = 0; other < f->colours; other++) later += farthest[other] && farthest[other] >= farthest[c];
        if (farthest[c]) *fills = max(*fills, farthest[c] - 1 + later);
    }
    return sum;
}

static int pz_by_score(const void *a, const void *b)
{
    const pz_lake *first = a, *second = b;
    return first->score != second->score ? (first->score > second->score) - (first->score < second->score)
           : first->from != second->from ? first->from - second->from
                                         : first->colour - second->colour;
}

/* The lakes after one more fill, best first, without repetition; returns how many, or -1 for the last one solved. */
static int pz_fill_all(pz_filler *f, const pz_lake *layer, int n, int left, pz_lake *next)
{
    int count = 0, room = 64;
    while (room < 4 * n * f->colours) room *= 2;
    int *table = snewn(room, int);
    memset(table, -1, room * sizeof *table);
    for (int i = 0; i < n; i++)
        for (int colour = 0; colour < f->colours; colour++) {
            uint64_t *grown = next[count].regions;
            bool more = false;
            memcpy(grown, layer[i].regions, f->words * sizeof *grown);
            for (int r = 0; r < f->n; r++) {
                if (!pz_has(layer[i].regions, r)) continue;
                for (int k = f->first_near[r]; k < f->first_near[r + 1]; k++)
                    if (f->colour[f->near[k]] == colour && !pz_has(grown, f->near[k])) {
                        pz_include(grown, f->near[k]);
                        more = true;
                    }
            }
            if (!more) continue;
            uint64_t hash = 0;
            for (int k = 0; k < f->words; k++) hash = (hash ^ grown[k]) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
            size_t at = hash & (room - 1);
            while (table[at] >= 0 && memcmp(next[table[at]].regions, grown, f->words * sizeof *grown))
                at = (at + 1) & (room - 1);
            if (table[at] >= 0) continue;
            int fills;
            next[count].from = i;
            next[count].colour = colour;
            next[count].score = pz_judge_lake(f, grown, &fills);
            if (!fills) {
                const pz_lake solved = next[count];
                next[count] = next[0];
                next[0] = solved;
                sfree(table);
                return -1;
            }
            if (fills > left - 1) continue;
            table[at] = count++;
        }
    sfree(table);
    qsort(next, count, sizeof *next, pz_by_score);
    if (count > f->width) f->all = false;
    return min(count, f->width);
}

/* The colours of at most so many fills that join all regions, or NULL. */
static char *pz_fills(pz_filler *f, int lake, int left)
{
    pz_lake **layers = snewn(left + 1, pz_lake *);
    pz_lake first = {snewn(f->words, uint64_t), 0, 0, 0};
    int fills, n = 1, depth = 0;
    memset(first.regions, 0, f->words * sizeof *first.regions);
    pz_include(first.regions, lake);
    pz_judge_lake(f, first.regions, &fills);
    layers[0] = &first;
    if (fills > left) n = 0;
    while (n > 0 && depth < left) {
        const int most = n * f->colours;
        uint64_t *sets = snewn((size_t)most * f->words, uint64_t);
        pz_lake *next = snewn(most, pz_lake);
        for (int i = 0; i < most; i++) next[i].regions = sets + (size_t)i * f->words;
        n = pz_fill_all(f, layers[depth], n, left - depth, next);
        layers[++depth] = next; /* freed with everything else when the plan is made */
    }
    if (n >= 0) return NULL;
    char *route = snewn(depth + 1, char);
    route[depth] = -1;
    for (int i = 0, at = depth; at > 0; i = layers[at--][i].from) route[at - 1] = (char)layers[at][i].colour;
    return route;
}

static char *pz_guide(const game_state *state, const char *aux)
{
    const int left = state->movelimit - state->moves;
    if (completed(state->w, state->h, state->grid)) return NULL;
    const char *error;
    pz_text moves = {NULL, 0, 0};
    int fills = 0;
    char *route = solve_game(state, state, aux, &error);
    for (const char *at = route; *at; at += strcspn(at, ","), fills++) pz_print(&moves, "M%d ", atoi(++at));
    if (fills <= left) return moves.chars;
    /* The engine's solver looks a few fills ahead only. */
    pz_filler f = {.colours = state->colours, .width = PZ_NARROW, .all = true};
    pz_find_regions(&f, state);
    char *better = pz_fills(&f, f.region[FILLY * state->w + FILLX], left);
    f.width = PZ_WIDE;
    if (!better && !f.all) {
        f.all = true;
        better = pz_fills(&f, f.region[FILLY * state->w + FILLX], left);
    }
    if (!better && f.all) pz_fail(PZ_NO_PLAN, "it cannot be solved from here");
    if (!better) pz_fail(PZ_NO_PLAN, "no way was found with the %d fills that are left", left);
    moves.length = 0;
    for (const char *at = better; *at >= 0; at++) pz_print(&moves, "M%d ", *at);
    return moves.chars;
}

PZ_PUZZLE(flood,
    .title = "Flood",
    .rules = "Each square has a colour, and the lake is the square in the top left corner with all that is joined to "
             "it in the same colour. A fill gives the whole lake another colour, so that it swallows the neighbours "
             "of that colour. Make the board one colour before the fills run out. SELECT fills the lake with the "
             "colour under the cursor.",
    .ui_size = sizeof(game_ui),
    .ui_bools = PZ_BOOLS(PZ_BOOL(cursor_visible)),
    .words = "grid colours=#0\n"
             "do fill SELECT",
    .actions = pz_actions,
    .easiest = "3x3c6m5",
    .human = "12x12c6m5",
    .params_pattern = "\\d{1,4}(x\\d{1,4})?(c\\d{1,2}(m\\d{1,4})?|m\\d{1,4}(c\\d{1,2})?)?",
    .params_help = "WxH: width and height\n"
                   "cN: number of colours, 3 to 10\n"
                   "mN: moves allowed beyond what the engine's solver needs",
    .sides = PZ_SIDES(w, h),
    .optimal_steps = pz_optimal_steps,
    .guide = pz_guide,
    .fields = pz_fields,
    .observe = pz_observe,
    .observe_ui = pz_observe_ui,
    .moves_change = true,
    .visit = pz_visit,
    .press = pz_press,
    .solved = pz_solved,
    .text = pz_text_board,
    .overdraws_below = 4);
