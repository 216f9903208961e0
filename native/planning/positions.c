#include <string.h>

#include "planning/planner.h"

/* Never 0, which marks a free place in a table. */
static uint64_t mix(const char *bytes, size_t size, uint64_t hash)
{
    return pz_hash_bytes(bytes, size, hash) | 1;
}

/* ---- Positions ---- */

static pz_position *add(pz_planner *p, pz_positions *in)
{
    pz_session *s = p->s;
    if (in->n == in->room) {
        in->room = in->room ? in->room * 2 : 256;
        in->all = sresize(in->all, in->room, pz_position);
        memset(in->all + in->n, 0, (size_t)(in->room - in->n) * sizeof(pz_position));
    }
    pz_position *fresh = &in->all[in->n];
    if (in->n++ == in->used) {
        in->used++;
        fresh->ui = s->puzzle->engine->new_ui(s->state);
        fresh->record = snewn(s->layout->record_size + 8, char);
    }
    fresh->keys = NULL;
    fresh->n_keys = 0;
    return fresh;
}

bool pz_is_new(pz_positions *in, uint64_t key)
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

void pz_rewind_to(pz_planner *p, pz_positions *in, int keep)
{
    for (int i = 0; i < in->n; i++)
        if (in->all[i].owns_state && in->all[i].state != in->all[keep].state)
            p->s->puzzle->engine->free_game(in->all[i].state);
    pz_position first = in->all[keep];
    in->all[keep] = in->all[0];
    in->all[0] = first;
    in->all[0].home = 0;
    in->all[0].owns_state = true;
    p->here_board = NULL;
    in->all[0].touched = false;
    in->all[0].parent = -1;
    in->all[0].depth = 0;
    in->n = 1;
    if (in->table_room > 4096) {
        sfree(in->table);
        in->table = NULL;
        in->table_room = 0;
    } else if (in->table) {
        memset(in->table, 0, in->table_room * sizeof *in->table);
    }
}

void pz_transfer(pz_planner *p, const pz_position *from, pz_positions *to)
{
    const pz_position old = *from;
    pz_position *fresh = add(p, to);
    game_ui *ui = fresh->ui;
    char *record = fresh->record;
    *fresh = old;
    fresh->ui = ui;
    fresh->record = record;
    fresh->state = p->s->puzzle->engine->dup_game(old.state);
    fresh->owns_state = true;
    pz_copy_ui(p->s, ui, old.ui, old.state);
    memcpy(record, old.record, (size_t)p->s->layout->record_size);
    fresh->keys = NULL;
    fresh->home = to->n - 1;
    p->here_board = NULL;
}

/* ---- How far it is ---- */

/* Items that differ from the solution; one that may be left out, such as a mark, is right untouched, too. */
static int differences(const pz_planner *p, const char *record)
{
    int count = 0;
    for (int f = 0; f < p->n_goal + p->n_marks; f++) {
        const pz_field *field = p->goal[f];
        for (int i = 0; i < field->count; i++) {
            const int32_t is = pz_item(field, record, i), wanted = pz_item(field, p->target, i);
            if (is == wanted) continue;
            const bool optional = f >= p->n_goal || (p->left_out && wanted == *p->left_out);
            if (optional && is == pz_item(field, p->start, i)) continue;
            count++;
        }
    }
    return count;
}

int pz_distance(const pz_planner *p, const game_state *state, const char *record)
{
    if (p->s->puzzle->distance) return p->s->puzzle->distance(state);
    return p->target ? differences(p, record) : 0;
}

uint64_t pz_board_key(const pz_planner *p, const char *record)
{
    uint64_t key = 7;
    for (int f = 0; f < p->n_goal + p->n_marks; f++)
        key = mix(record + p->goal[f]->offset, (size_t)p->goal[f]->count * (size_t)p->goal[f]->itemsize, key);
    return key;
}

/* ---- Trials ---- */

bool pz_press(pz_planner *p, const pz_positions *in, const pz_position *at, int action, game_state **next)
{
    pz_session *s = p->s;
    const size_t board = (size_t)s->layout->ui_offset, ui = (size_t)s->layout->record_size - board;
    const char *home = in->all[at->home].record;
    if (p->here_board != home) memcpy(p->here, home, board);
    p->here_board = home;
    memcpy(p->here + board, at->record + board, ui);
    pz_burn_bytes((size_t)s->layout->record_size);
    s->state = at->state;
    s->ui = at->ui;
    memcpy(s->extra, at->extra, sizeof s->extra);
    s->record = p->here;
    s->stuck = at->stuck;
    *next = NULL;
    if (s->puzzle->actions[action].key == PZ_UNDO) return false;
    if (s->puzzle->legal && s->puzzle->legal(s->state, s->ui, s->extra, &s->puzzle->actions[action]) == 0) return false;
    return pz_attempt(s, &s->puzzle->actions[action], next);
}

uint64_t pz_position_key(const pz_planner *p, const char *record, uint64_t board)
{
    const size_t ui = (size_t)p->s->layout->ui_offset;
    return mix(record + ui, (size_t)p->s->layout->record_size - ui, board);
}

uint64_t pz_trial_key(pz_planner *p, const pz_position *at, const game_state *next)
{
    p->trial_board = next ? mix(p->s->trial_record, (size_t)p->s->layout->ui_offset, 3) : at->board;
    return pz_position_key(p, p->s->trial_record, p->trial_board);
}

int pz_keep(pz_planner *p, pz_positions *in, const pz_position *from, int parent, int action, game_state *next, int h)
{
    pz_session *s = p->s;
    const pz_position at = *from; /* adding may move it */
    pz_position *fresh = add(p, in);
    fresh->state = next ? next : at.state;
    fresh->owns_state = next != NULL;
    pz_copy_ui(s, fresh->ui, s->trial_ui, fresh->state);
    memcpy(fresh->extra, s->trial_extra, sizeof fresh->extra);
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

void pz_advance(pz_planner *p, int to)
{
    int at = p->length + p->near.all[to].depth;
    const int length = at;
    if (length > PZ_LONGEST_PLAN) pz_fail(PZ_NO_PLAN, "the plan grows beyond %d keys", PZ_LONGEST_PLAN);
    for (int i = to; i > 0; i = p->near.all[i].parent) p->keys[--at] = p->near.all[i].action;
    p->length = length;
    pz_rewind_to(p, &p->near, to);
}

int pz_seek(pz_planner *p, const char *want, bool wide, int limit)
{
    pz_session *s = p->s;
    pz_positions *in = &p->near;
    const size_t board = (size_t)s->layout->ui_offset;
    const int h = in->all[0].h;
    int best = -1;
    pz_is_new(in, pz_position_key(p, in->all[0].record, in->all[0].board));
    for (int i = 0; i < in->n && in->n < limit; i++) {
        if (best >= 0 && in->all[i].depth >= in->all[best].depth) break;
        for (int action = 0; action < s->n_actions; action++) {
            game_state *next;
            const pz_position *at = &in->all[i];
            if (!pz_press(p, in, at, action, &next)) continue;
            bool good = false, take;
            int here = at->h;
            if (next) {
                const int status = s->puzzle->engine->status(next);
                if (want) {
                    good = !memcmp(s->trial_record, want, board);
                    take = good;
                } else {
                    here = status > 0 ? -1 : pz_distance(p, next, s->trial_record);
                    good = here < h && status >= 0 && !(s->puzzle->stuck && status == 0 && s->puzzle->stuck(next));
                    take = good || (status >= 0 && here <= h + p->slack);
                }
            } else {
                take = wide || !at->touched;
            }
            /* A game may begin as it ends, and is solved by coming back: what is good need not be new. */
            if (!take || (!pz_is_new(in, pz_trial_key(p, at, next)) && !good)) {
                if (next) s->puzzle->engine->free_game(next);
                continue;
            }
            const int to = pz_keep(p, in, at, i, action, next, here);
            if (good && (best < 0 || here < in->all[best].h)) best = to;
        }
    }
    return best;
}

/* ---- The first position ---- */

static bool names(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

/* The board fields with these names, or all of them. */
static int choose_fields(const pz_planner *p, const char *list, const pz_field **chosen)
{
    int n = 0;
    for (int f = 0; f < p->s->layout->n_board_fields; f++) {
        const pz_field *field = &p->s->layout->fields[f];
        if (!list || names(list, field->name)) chosen[n++] = field;
    }
    return n;
}

void pz_planner_begin(pz_planner *p, pz_session *s)
{
    memset(p, 0, sizeof *p);
    p->s = s;
    s->history_length = 0; /* states are ours to free */
    s->history = NULL;
    p->n_goal = choose_fields(p, s->puzzle->goal, p->goal);
    p->n_marks = s->puzzle->marks ? choose_fields(p, s->puzzle->marks, p->goal + p->n_goal) : 0;
    char *start = snewn(s->layout->record_size + 8, char);
    memset(start, 0, (size_t)s->layout->record_size + 8);
    game_state *initial = s->puzzle->engine->new_game((midend *)s, s->params, s->privdesc ? s->privdesc : s->desc);
    pz_observe_board(s, initial, start);
    s->puzzle->engine->free_game(initial);
    p->start = start;
    p->here = snewn(s->layout->record_size + 8, char);
    memset(p->here, 0, (size_t)s->layout->record_size + 8);
    pz_position *first = add(p, &p->near);
    first->state = s->state;
    first->owns_state = true;
    pz_copy_ui(s, first->ui, s->ui, s->state);
    memcpy(first->extra, s->extra, sizeof first->extra);
    memcpy(first->record, s->record, (size_t)s->layout->record_size);
    first->status = s->puzzle->engine->status(s->state);
    first->stuck = s->stuck;
    first->board = mix(s->record, (size_t)s->layout->ui_offset, 3);
    first->parent = -1;
}
