/*
 * Plans: how to solve a game with its own keys, from where it stands.
 *
 * All trials happen on a clone, through the same attempt() that masks and steps use, so what a plan presses is legal by
 * construction; the plan is then replayed on a second clone before anyone sees it. Three ways, by what the puzzle's file
 * provides:
 *   - guide: the engine's own next moves; for each, the fewest keys that have its effect;
 *   - the engine's solution: hill climbing over what differs from it. From the present position the nearest change for
 *     the better is sought breadth first, over cursor moves and, at one place, changes that are not worse;
 *   - else, or where the climb ends in a valley: best-first search over boards, whose edges are "walk there, press that".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"
#include "plan.h"

enum {
    NEAR = 20000,       /* positions looked at for one change for the better, */
    FAR = 60000,        /* and when the first search was too narrow */
    BOARDS = 120000,    /* boards of one best-first search */
    LONGEST = 1 << 16,  /* keys of a plan */
    KINDS = 3           /* distinct values up to which it is tried to leave one out */
};

/* A position: a board and a ui, and how it was reached. */
typedef struct node {
    game_state *state;
    game_ui *ui;
    int own[PZ_OWN];
    char *record; /* whole where the node brought a new board, else its ui part alone; */
    int home;     /* the board is in the record of this node */
    bool owns_state, stuck, touched; /* touched: the board is not that of the first node */
    int status, h;
    uint64_t board; /* hash of the board */
    int parent, depth; /* keys from the first node */
    int action;        /* the last key */
    uint8_t *keys;     /* in a search over boards: all keys from the parent */
    int n_keys;
} node;

/* Positions found in one search, without repetition. */
typedef struct store {
    node *nodes;
    int n, used, room; /* used: how many ever had their own ui and record */
    uint64_t *table;   /* keys of what is known */
    size_t table_room;
} store;

typedef struct planner {
    pz_session *s;
    store near, boards;
    const char *target, *start; /* the solved record, and that of the untouched game; NULL: unknown */
    const pz_field *goal[PZ_MAX_FIELDS];
    int n_goal;
    bool leave_out;
    int left_out; /* with leave_out: the value that need not be entered */
    int slack;    /* how much worse a change may be on the way */
    uint64_t trial_board;
    char *here; /* board and ui of the node that keys are tried at, */
    const char *here_board; /* and whose board that is */
    int32_t *plan;
    int length;
} planner;

static uint64_t mix(const char *bytes, size_t size, uint64_t hash)
{
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    uint64_t rest = 0;
    memcpy(&rest, bytes, size);
    hash = (hash ^ rest) * 0xBF58476D1CE4E5B9u;
    return (hash ^ (hash >> 32)) | 1;
}

/* ---- Stores ---- */

static void copy_ui(const pz_session *s, game_ui *to, const game_ui *from, const game_state *state)
{
    if (s->puzzle->copy_ui)
        s->puzzle->copy_ui(to, from, state);
    else if (s->puzzle->ui_size)
        memcpy(to, from, s->puzzle->ui_size);
}

static node *add(planner *p, store *in)
{
    pz_session *s = p->s;
    if (in->n == in->room) {
        in->room = in->room ? in->room * 2 : 256;
        in->nodes = sresize(in->nodes, in->room, node);
        memset(in->nodes + in->n, 0, (size_t)(in->room - in->n) * sizeof(node));
    }
    node *fresh = &in->nodes[in->n];
    if (in->n++ == in->used) {
        in->used++;
        fresh->ui = s->puzzle->engine->new_ui(s->state);
        fresh->record = snewn(s->layout->record_size + 8, char);
    }
    fresh->keys = NULL;
    fresh->n_keys = 0;
    return fresh;
}

static bool is_new(store *in, uint64_t key)
{
    if ((size_t)in->n * 4 >= in->table_room) {
        const size_t room = in->table_room ? in->table_room * 4 : 4096;
        uint64_t *table = snewn(room, uint64_t);
        memset(table, 0, room * sizeof *table);
        for (size_t i = 0; i < in->table_room; i++) {
            if (!in->table[i]) continue;
            size_t at = in->table[i] >> 20 & (room - 1);
            while (table[at]) at = (at + 1) & (room - 1);
            table[at] = in->table[i];
        }
        sfree(in->table);
        in->table = table;
        in->table_room = room;
    }
    size_t at = key >> 20 & (in->table_room - 1);
    for (; in->table[at]; at = (at + 1) & (in->table_room - 1))
        if (in->table[at] == key) return false;
    in->table[at] = key;
    return true;
}

/* Forget all but node keep, which becomes the first. */
static void rewind_to(planner *p, store *in, int keep)
{
    for (int i = 0; i < in->n; i++)
        if (in->nodes[i].owns_state && in->nodes[i].state != in->nodes[keep].state)
            p->s->puzzle->engine->free_game(in->nodes[i].state);
    node first = in->nodes[keep];
    in->nodes[keep] = in->nodes[0];
    in->nodes[0] = first;
    in->nodes[0].home = 0;
    in->nodes[0].owns_state = true;
    p->here_board = NULL;
    in->nodes[0].touched = false;
    in->nodes[0].parent = -1;
    in->nodes[0].depth = 0;
    in->n = 1;
    if (in->table_room > 4096) {
        sfree(in->table);
        in->table = NULL;
        in->table_room = 0;
    } else if (in->table) {
        memset(in->table, 0, in->table_room * sizeof *in->table);
    }
}

/* ---- How far it is ---- */

/* Items that differ from the solution; one that may be left out is right untouched, too. */
static int differences(const planner *p, const char *record)
{
    int count = 0;
    for (int f = 0; f < p->n_goal; f++) {
        const pz_field *field = p->goal[f];
        for (int i = 0; i < field->count; i++) {
            const int32_t is = pz_item(field, record, i), wanted = pz_item(field, p->target, i);
            if (is == wanted) continue;
            if (p->leave_out && wanted == p->left_out && is == pz_item(field, p->start, i)) continue;
            count++;
        }
    }
    return count;
}

static int distance(const planner *p, const game_state *state, const char *record)
{
    if (p->s->puzzle->distance) return p->s->puzzle->distance(state);
    return p->target ? differences(p, record) : 0;
}

/* What tells boards apart in a search: the fields that the goal is about, and no scores. */
static uint64_t board_key(const planner *p, const char *record)
{
    uint64_t key = 7;
    for (int f = 0; f < p->n_goal; f++)
        key = mix(record + p->goal[f]->offset, (size_t)p->goal[f]->count * (size_t)p->goal[f]->itemsize, key);
    return key;
}

/* ---- Trials ---- */

/* Press a key at a node; the result is in the session's trial members, *next the new state if the board changes. */
static bool press(planner *p, const store *in, const node *at, int action, game_state **next)
{
    pz_session *s = p->s;
    const size_t board = (size_t)s->layout->ui_offset, ui = (size_t)s->layout->record_size - board;
    const char *home = in->nodes[at->home].record;
    if (p->here_board != home) memcpy(p->here, home, board);
    p->here_board = home;
    memcpy(p->here + board, at->record + board, ui);
    pz_tick();
    s->state = at->state;
    s->ui = at->ui;
    memcpy(s->own, at->own, sizeof s->own);
    s->record = p->here;
    s->stuck = at->stuck;
    *next = NULL;
    if (s->puzzle->actions[action].key == PZ_UNDO) return false;
    if (s->puzzle->legal && s->puzzle->legal(s->state, s->ui, s->own, &s->puzzle->actions[action]) == 0) return false;
    return pz_attempt(s, &s->puzzle->actions[action], next);
}

/* Hashes of a whole position; cursor moves, by far the most, leave the board's as it was. */
static uint64_t key_of(const planner *p, const char *record, uint64_t board)
{
    const size_t ui = (size_t)p->s->layout->ui_offset;
    return mix(record + ui, (size_t)p->s->layout->record_size - ui, board);
}

static uint64_t trial_key(planner *p, const node *at, const game_state *next)
{
    p->trial_board = next ? mix(p->s->trial_record, (size_t)p->s->layout->ui_offset, 3) : at->board;
    return key_of(p, p->s->trial_record, p->trial_board);
}

/* Keep the result of a trial as a new node; returns its index. */
static int keep(planner *p, store *in, const node *from, int parent, int action, game_state *next, int h)
{
    pz_session *s = p->s;
    const node at = *from; /* adding may move it */
    node *fresh = add(p, in);
    fresh->state = next ? next : at.state;
    fresh->owns_state = next != NULL;
    copy_ui(s, fresh->ui, s->trial_ui, fresh->state);
    memcpy(fresh->own, s->trial_own, sizeof fresh->own);
    const size_t from_byte = next ? 0 : (size_t)s->layout->ui_offset;
    memcpy(fresh->record + from_byte, s->trial_record + from_byte, (size_t)s->layout->record_size - from_byte);
    fresh->home = next ? in->n - 1 : at.home;
    fresh->touched = at.touched || next;
    fresh->status = next ? s->puzzle->engine->status(next) : at.status;
    fresh->stuck = next ? !fresh->status && s->puzzle->stuck && s->puzzle->stuck(next) : at.stuck;
    fresh->board = next ? p->trial_board : at.board;
    fresh->h = h;
    fresh->parent = parent;
    fresh->action = action;
    fresh->depth = at.depth + 1;
    return in->n - 1;
}

/* Take the way to a node of the near store, and stand there. */
static void advance(planner *p, int to)
{
    int at = p->length + p->near.nodes[to].depth;
    const int length = at;
    if (length > LONGEST) pz_fail(PZ_NO_PLAN, "the plan grows beyond %d keys", LONGEST);
    for (int i = to; i > 0; i = p->near.nodes[i].parent) p->plan[--at] = p->near.nodes[i].action;
    p->length = length;
    rewind_to(p, &p->near, to);
}

/*
 * Breadth first from the first node to the nearest position that is better: with want, one whose board is exactly that;
 * else one with a smaller h, and of those with equally few keys the one with the smallest. Without wide, keys that only
 * move the cursor are out once the board has changed. Returns its index, or -1.
 */
static int seek(planner *p, const char *want, bool wide, int limit)
{
    pz_session *s = p->s;
    store *in = &p->near;
    const size_t board = (size_t)s->layout->ui_offset;
    const int h = in->nodes[0].h;
    int best = -1;
    is_new(in, key_of(p, in->nodes[0].record, in->nodes[0].board));
    for (int i = 0; i < in->n && in->n < limit; i++) {
        if (best >= 0 && in->nodes[i].depth >= in->nodes[best].depth) break;
        for (int action = 0; action < s->n_actions; action++) {
            game_state *next;
            const node *at = &in->nodes[i];
            if (!press(p, in, at, action, &next)) continue;
            bool good = false, take;
            int here = at->h;
            if (next) {
                const int status = s->puzzle->engine->status(next);
                if (want) {
                    good = !memcmp(s->trial_record, want, board);
                    take = good;
                } else {
                    here = status > 0 ? -1 : distance(p, next, s->trial_record);
                    good = here < h && status >= 0 && !(s->puzzle->stuck && status == 0 && s->puzzle->stuck(next));
                    take = good || (status >= 0 && here <= h + p->slack);
                }
            } else {
                take = wide || !at->touched;
            }
            /* A game may begin as it ends, and is solved by coming back: what is good need not be new. */
            if (!take || (!is_new(in, trial_key(p, at, next)) && !good)) {
                if (next) s->puzzle->engine->free_game(next);
                continue;
            }
            const int to = keep(p, in, at, i, action, next, here);
            if (good && (best < 0 || here < in->nodes[best].h)) best = to;
        }
    }
    return best;
}

/* ---- The engine's own moves ---- */

static bool follow(planner *p)
{
    pz_session *s = p->s;
    const game *engine = s->puzzle->engine;
    char *want = snewn(s->layout->record_size + 8, char);
    memset(want, 0, (size_t)s->layout->record_size + 8);
    while (p->near.nodes[0].status == 0) {
        char *moves = s->puzzle->guide(p->near.nodes[0].state, s->aux);
        if (!moves) return false;
        for (char *move = strtok(moves, " "); move && p->near.nodes[0].status == 0; move = strtok(NULL, " ")) {
            game_state *next = engine->execute_move(p->near.nodes[0].state, move);
            if (!next) return false;
            pz_observe_board(s, next, want);
            engine->free_game(next);
            const int to = seek(p, want, false, NEAR);
            if (to < 0) return false;
            advance(p, to);
        }
        sfree(moves);
    }
    return p->near.nodes[0].status > 0;
}

/* ---- Towards the engine's solution ---- */

static bool climb(planner *p)
{
    p->near.nodes[0].h = distance(p, p->near.nodes[0].state, p->near.nodes[0].record);
    while (p->near.nodes[0].status == 0) {
        int to = -1;
        /* Something may be left out or not: only whether the direct way leads to the end tells. */
        const int efforts = p->leave_out ? p->near.nodes[0].h > 0 : 4;
        for (int effort = 0; effort < efforts && to < 0; effort++) {
            if (effort) rewind_to(p, &p->near, 0);
            p->slack = effort / 2 * (effort - 1);
            to = seek(p, NULL, effort > 0, effort ? FAR : NEAR);
        }
        if (to < 0) return false;
        advance(p, to);
    }
    return p->near.nodes[0].status > 0;
}

/* ---- Best first over boards ---- */

typedef struct queue {
    int *items, n, room;
    int64_t *rank;
} queue;

static void push(queue *q, int item, int64_t rank)
{
    if (q->n == q->room) {
        q->room = q->room ? q->room * 2 : 1024;
        q->items = sresize(q->items, q->room, int);
        q->rank = sresize(q->rank, q->room, int64_t);
    }
    int at = q->n++;
    for (; at && q->rank[(at - 1) / 2] > rank; at = (at - 1) / 2) {
        q->items[at] = q->items[(at - 1) / 2];
        q->rank[at] = q->rank[(at - 1) / 2];
    }
    q->items[at] = item;
    q->rank[at] = rank;
}

static int pop(queue *q)
{
    const int top = q->items[0], item = q->items[--q->n];
    const int64_t rank = q->rank[q->n];
    int at = 0;
    for (int child; (child = 2 * at + 1) < q->n; at = child) {
        if (child + 1 < q->n && q->rank[child + 1] < q->rank[child]) child++;
        if (q->rank[child] >= rank) break;
        q->items[at] = q->items[child];
        q->rank[at] = q->rank[child];
    }
    q->items[at] = item;
    q->rank[at] = rank;
    return top;
}

/* Copy a node of one store to the end of another, with a state of its own. */
static int transfer(planner *p, const node *from, store *to)
{
    const node old = *from;
    node *fresh = add(p, to);
    game_ui *ui = fresh->ui;
    char *record = fresh->record;
    *fresh = old;
    fresh->ui = ui;
    fresh->record = record;
    fresh->state = p->s->puzzle->engine->dup_game(old.state);
    fresh->owns_state = true;
    copy_ui(p->s, ui, old.ui, old.state);
    memcpy(record, old.record, (size_t)p->s->layout->record_size);
    fresh->keys = NULL;
    fresh->home = to->n - 1;
    p->here_board = NULL;
    return to->n - 1;
}

/* Every board that one key makes from here, wherever the cursor must go first. */
static int expand(planner *p, int from, queue *open, int weight)
{
    pz_session *s = p->s;
    store *in = &p->near, *out = &p->boards;
    rewind_to(p, in, 0);
    s->puzzle->engine->free_game(in->nodes[0].state);
    in->n = 0;
    transfer(p, &out->nodes[from], in);
    in->nodes[0].depth = 0;
    in->nodes[0].touched = false;
    is_new(in, key_of(p, in->nodes[0].record, in->nodes[0].board));
    for (int i = 0; i < in->n && in->n < NEAR; i++)
        for (int action = 0; action < s->n_actions; action++) {
            game_state *next;
            if (!press(p, in, &in->nodes[i], action, &next)) continue;
            if (!next) {
                if (is_new(in, trial_key(p, &in->nodes[i], NULL))) keep(p, in, &in->nodes[i], i, action, NULL, 0);
                continue;
            }
            const int status = s->puzzle->engine->status(next);
            const bool lost = status < 0 || (!status && s->puzzle->stuck && s->puzzle->stuck(next));
            if (lost || (!is_new(out, board_key(p, s->trial_record)) && status <= 0)) {
                s->puzzle->engine->free_game(next);
                continue;
            }
            trial_key(p, &in->nodes[i], next);
            const int depth = in->nodes[i].depth + 1, to = keep(p, out, &in->nodes[i], from, action, next, 0);
            node *fresh = &out->nodes[to];
            fresh->depth = out->nodes[from].depth + depth;
            fresh->keys = snewn(depth, uint8_t);
            fresh->n_keys = depth;
            fresh->keys[depth - 1] = (uint8_t)action;
            for (int j = i, at = depth - 1; at > 0; j = in->nodes[j].parent) fresh->keys[--at] = (uint8_t)in->nodes[j].action;
            if (status > 0) return to;
            fresh->h = distance(p, next, fresh->record);
            push(open, to, fresh->depth + (int64_t)weight * fresh->h);
        }
    return -1;
}

static bool search(planner *p, int weight)
{
    store *boards = &p->boards;
    queue open = {NULL, 0, 0, NULL};
    transfer(p, &p->near.nodes[0], boards);
    boards->nodes[0].depth = 0;
    boards->nodes[0].parent = -1;
    is_new(boards, board_key(p, boards->nodes[0].record));
    push(&open, 0, 0);
    int found = boards->nodes[0].status > 0 ? 0 : -1;
    while (found < 0 && open.n && boards->n < BOARDS) found = expand(p, pop(&open), &open, weight);
    if (found < 0 && open.n) pz_fail(PZ_NO_PLAN, "no plan among the first %d boards", boards->n);
    if (found < 0) return false;
    int length = p->length + boards->nodes[found].depth;
    if (length > LONGEST) pz_fail(PZ_NO_PLAN, "the plan grows beyond %d keys", LONGEST);
    p->length = length;
    for (int i = found; i > 0; i = boards->nodes[i].parent)
        for (int k = boards->nodes[i].n_keys - 1; k >= 0; k--) p->plan[--length] = boards->nodes[i].keys[k];
    return true;
}

/* ---- One plan ---- */

static bool names(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

/* Make a planner ready to go on s, a clone that is used up. */
static void begin(planner *p, pz_session *s, const char *target)
{
    memset(p, 0, sizeof *p);
    p->s = s;
    p->target = target;
    s->history_length = 0; /* states are ours to free */
    s->history = NULL;
    for (int f = 0; f < s->layout->n_fields; f++) {
        const pz_field *field = &s->layout->fields[f];
        if (!field->is_ui && (!s->puzzle->goal || names(s->puzzle->goal, field->name))) p->goal[p->n_goal++] = field;
    }
    char *start = snewn(s->layout->record_size + 8, char);
    memset(start, 0, (size_t)s->layout->record_size + 8);
    game_state *initial = s->puzzle->engine->new_game((midend *)s, s->params, s->privdesc ? s->privdesc : s->desc);
    pz_observe_board(s, initial, start);
    s->puzzle->engine->free_game(initial);
    p->start = start;
    p->here = snewn(s->layout->record_size + 8, char);
    memset(p->here, 0, (size_t)s->layout->record_size + 8);
    node *first = add(p, &p->near);
    first->state = s->state;
    first->owns_state = true;
    copy_ui(s, first->ui, s->ui, s->state);
    memcpy(first->own, s->own, sizeof first->own);
    memcpy(first->record, s->record, (size_t)s->layout->record_size);
    first->status = s->puzzle->engine->status(s->state);
    first->stuck = s->stuck;
    first->board = mix(s->record, (size_t)s->layout->ui_offset, 3);
    first->parent = -1;
}

/* The values that still have to be entered somewhere; more than KINDS of them count as none to leave out. */
static int kinds(const planner *p, int *values)
{
    int n = 0;
    for (int f = 0; f < p->n_goal; f++)
        for (int i = 0; i < p->goal[f]->count; i++) {
            const int32_t value = pz_item(p->goal[f], p->target, i);
            if (value == pz_item(p->goal[f], p->start, i)) continue;
            int k = 0;
            while (k < n && values[k] != value) k++;
            if (k < n) continue;
            if (n == KINDS) return 0;
            values[n++] = value;
        }
    return n;
}

/* One attempt at a plan on a fresh clone; fills plan and returns its length, -1 for none, or minus an error code - 1. */
static int one_plan(const pz_session *from, const char *target, int left_out, bool leave_out, bool searching, double timeout,
                    int32_t *plan, int *values, int *n_values)
{
    pz_session *s;
    int error = pz_session_clone(from, &s);
    if (error) return -1 - error;
    volatile bool found = false;
    planner p;
    pz_guard guard;
    pz_enter(&guard, s->pool, timeout);
    guard.session = s;
    guard.interruptible = true;
    guard.started = pz_now();
    if (!setjmp(guard.home)) {
        begin(&p, s, target);
        p.plan = plan;
        p.leave_out = leave_out;
        p.left_out = left_out;
        if (target && values) *n_values = kinds(&p, values);
        if (searching)
            found = search(&p, s->puzzle->distance ? 8 : 4);
        else
            found = s->puzzle->guide ? follow(&p) : climb(&p);
    }
    error = pz_conclude(&guard);
    const int length = p.length;
    pz_session_free(s);
    return error ? -1 - error : found ? length : -1;
}

/* Replay a plan on another clone; the keys until it is solved, or -1. */
static int replay(const pz_session *from, const int32_t *plan, int length)
{
    pz_session *s;
    if (pz_session_clone(from, &s)) return -1;
    int used = 0, solved = s->outcome->status > 0 ? 0 : -1;
    while (solved < 0 && used < length && s->mask[plan[used]] && !pz_session_step(s, plan[used])) {
        used++;
        if (s->outcome->status > 0) solved = used;
    }
    pz_session_free(s);
    return solved;
}

/* A plan for a game as it stands, into LONGEST places: its length, or minus an error code. */
static int plan_from(pz_session *s, double timeout, int32_t *plan)
{
    if (s->outcome->status > 0) return 0;
    if (s->stuck) return -pz_refuse(PZ_NO_PLAN, "no move is left but to undo");
    int32_t *trial = malloc(LONGEST * sizeof *trial);
    char *target = calloc(1, (size_t)s->layout->record_size + 8);
    int values[KINDS], n_values = 0, length = trial && target ? -1 : -1 - pz_refuse(PZ_ENGINE, "out of memory");
    const bool climbs = !s->puzzle->guide && !s->puzzle->distance;
    const bool known = length == -1 && climbs && !pz_session_solution(s, target);
    if (length == -1 && (s->puzzle->guide || known)) {
        length = one_plan(s, known ? target : NULL, 0, false, false, timeout, plan, values, &n_values);
        /* Some marks are for people only, such as "no tent here": leave out each kind once, and see. */
        for (int k = 0; k < n_values && n_values > 1; k++) {
            const int other = one_plan(s, target, values[k], true, false, timeout, trial, NULL, NULL);
            if (other < 0 || (length >= 0 && other >= length)) continue;
            memcpy(plan, trial, (size_t)other * sizeof *plan);
            length = other;
        }
    }
    if (length == -1 || length == -1 - PZ_NO_PLAN)
        length = one_plan(s, known ? target : NULL, 0, false, true, timeout, plan, NULL, NULL);
    free(trial);
    free(target);
    if (length == -1) return -pz_refuse(PZ_NO_PLAN, "it cannot be solved from here");
    if (length == -1 - PZ_TIMEOUT) return -pz_refuse(PZ_NO_PLAN, "no plan was found in time");
    if (length < 0) return length + 1;
    length = replay(s, plan, length);
    return length >= 0 ? length : -pz_refuse(PZ_NO_PLAN, "the plan that was found does not hold when played");
}

/* Takes as long as it takes: the game itself is free meanwhile. */
static int plan_on_copy(pz_session *s, double timeout, int32_t **actions, int32_t *count)
{
    if (s->outcome->status < 0) return pz_refuse(PZ_NO_PLAN, "the game is lost");
    if (s->puzzle->hidden) return pz_refuse(PZ_NO_PLAN, "what decides is hidden; an ExpertPolicy plays by what it sees");
    int32_t *plan = malloc((LONGEST + PZ_HISTORY) * sizeof *plan);
    if (!plan) return pz_refuse(PZ_ENGINE, "out of memory");
    /* From a dead end the way leads back: by one move, two, four... where the player may undo. */
    const int undo = s->n_actions - 1;
    const int undoes = s->puzzle->actions[undo].key == PZ_UNDO ? s->history_length : 0;
    int back = 0, length = plan_from(s, timeout, plan);
    while (length == -PZ_NO_PLAN && back < undoes) {
        back = !back ? 1 : back * 2 < undoes ? back * 2 : undoes;
        pz_session *earlier;
        int error = pz_session_clone(s, &earlier);
        for (int i = 0; i < back && !error; i++) {
            error = pz_session_step(earlier, undo);
            plan[i] = undo;
        }
        length = error ? -error : plan_from(earlier, timeout, plan + back);
        if (length >= 0) length += back;
        if (!error || earlier) pz_session_free(earlier);
    }
    if (length < 0) {
        free(plan);
        return -length;
    }
    *actions = plan;
    *count = length;
    return PZ_OK;
}

int pz_session_plan(pz_session *s, double timeout, int32_t **actions, int32_t *count)
{
    pz_session *copy;
    int error = pz_session_clone(s, &copy);
    if (error) return error;
    error = plan_on_copy(copy, timeout, actions, count);
    pz_session_free(copy);
    return error;
}
