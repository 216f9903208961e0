#include "planning/experts.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "session/internal.h"

/* ---- What is seen ---- */

const pz_field *pz_sight_field(const pz_sight *seen, const char *name)
{
    for (int f = 0; f < seen->layout->n_fields; f++)
        if (!strcmp(seen->layout->fields[f].name, name)) return &seen->layout->fields[f];
    pz_fail(PZ_ENGINE, "there is no field %s", name);
}

int pz_see(const pz_sight *seen, const pz_field *field, int i)
{
    return pz_item(field, seen->record, i);
}

int pz_see1(const pz_sight *seen, const char *name)
{
    return pz_see(seen, pz_sight_field(seen, name), 0);
}

int pz_sight_number(const pz_sight *seen, char letter)
{
    for (const char *at = seen->params; *at; at++)
        if (*at == letter && isdigit((unsigned char)at[1])) return atoi(at + 1);
    pz_fail(PZ_ENGINE, "the parameters %s have no number %c", seen->params, letter);
}

bool pz_sight_has(const pz_sight *seen, char letter)
{
    return strchr(seen->params, letter) != NULL;
}

pz_aim pz_aim_at(int x, int y, int key, const char *purpose, ...)
{
    pz_aim aim = {.x = x, .y = y, .key = key};
    va_list arguments;
    va_start(arguments, purpose);
    vsnprintf(aim.purpose, sizeof aim.purpose, purpose, arguments);
    va_end(arguments);
    return aim;
}

/* ---- Ways of the cursor ---- */

static int keys_between(pz_stop a, pz_stop b)
{
    return (b.x == PZ_ANY ? 0 : abs(a.x - b.x)) + (b.y == PZ_ANY ? 0 : abs(a.y - b.y));
}

int pz_first_stop(pz_stop from, const pz_stop *stops, int n, pz_stop end, int *keys)
{
    int best = 0, ways[1 << PZ_TOUR][PZ_TOUR];
    /* ways[set][last]: the keys that are left once the stops of the set are done and the cursor is at the last of them.
     */
    for (int set = n <= PZ_TOUR ? (1 << n) - 1 : 0; set > 0; set--)
        for (int last = 0; last < n; last++) {
            if (!(set >> last & 1)) continue;
            ways[set][last] = set == (1 << n) - 1 ? keys_between(stops[last], end) : INT32_MAX;
            for (int next = 0; next < n; next++) {
                if (set >> next & 1) continue;
                const int way = keys_between(stops[last], stops[next]) + ways[set | 1 << next][next];
                if (way < ways[set][last]) ways[set][last] = way;
            }
        }
    for (int i = 0, fewest = INT32_MAX; i < n; i++) {
        const int way = keys_between(from, stops[i]) + (n <= PZ_TOUR ? ways[1 << i][i] : 0);
        if (way >= fewest) continue;
        best = i;
        fewest = way;
        if (keys) *keys = way;
    }
    return best;
}

/* ---- By sight ---- */

/* A copy of what the present player sees: the expert never gets hold of the game itself. */
typedef struct decision {
    const pz_puzzle *puzzle;
    pz_layout layout;
    pz_sight seen;
    uint8_t mask[PZ_MAX_ACTIONS];
    int n_actions;
    int action; /* the answer, */
    pz_aim aim; /* and what it is for */
} decision;

static int action_of(const decision *d, int key)
{
    for (int a = 0; a < d->n_actions; a++)
        if (d->puzzle->actions[a].key == key) return a;
    return -1;
}

static bool take(decision *d, int key)
{
    const int a = action_of(d, key);
    if (a < 0 || !d->mask[a]) return false;
    d->action = a;
    return true;
}

static void decide(pz_session *none, void *context)
{
    (void)none;
    decision *d = context;
    int legal = 0;
    for (int a = 0; a < d->n_actions; a++) legal += d->mask[a];
    if (legal == 1 && take(d, PZ_UNDO)) {
        d->aim = pz_aim_at(0, 0, PZ_UNDO, "nothing else is left");
        return;
    }
    d->aim = d->puzzle->expert(&d->seen);
    const int dx = d->aim.x - pz_see1(&d->seen, "cursor_x"), dy = d->aim.y - pz_see1(&d->seen, "cursor_y");
    if (!dx && !dy && take(d, d->aim.key)) return;
    if (dx && take(d, dx > 0 ? CURSOR_RIGHT : CURSOR_LEFT)) return;
    if (dy && take(d, dy > 0 ? CURSOR_DOWN : CURSOR_UP)) return;
    pz_fail(PZ_NO_PLAN, "the cursor cannot get to %d, %d", d->aim.x, d->aim.y);
}

/* Copy what can be seen; the record and the parameters are in memory that the caller frees. */
static int look(pz_session *s, decision *d, char **record, char **params)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    const size_t size = (size_t)s->layout->record_size;
    *record = malloc(size);
    *params = strdup(s->params_text);
    const bool over = s->outcome->status != 0;
    if (*record && *params) {
        d->puzzle = s->puzzle;
        d->layout = *s->layout;
        d->n_actions = s->n_actions;
        memcpy(*record, s->record, size);
        memcpy(d->mask, s->mask, (size_t)s->n_actions);
        d->seen = (pz_sight){&d->layout, *record, *params, s->puzzle->deaths ? s->puzzle->deaths(s->ui) : 0};
    }
    pz_release(s);
    if (!*record || !*params) return pz_refuse(PZ_ENGINE, "out of memory");
    return over ? pz_refuse(PZ_NO_PLAN, "the game is over") : PZ_OK;
}

static int by_sight(pz_session *s, double timeout, int32_t *action, char **purpose)
{
    char *record = NULL, *params = NULL;
    decision *d = calloc(1, sizeof *d);
    pz_pool *pool = d ? pz_pool_new() : NULL;
    int error = pool ? look(s, d, &record, &params) : pz_refuse(PZ_ENGINE, "out of memory");
    if (!error) error = pz_guarded(pool, NULL, timeout, true, decide, d);
    if (error == PZ_TIMEOUT) error = pz_refuse(PZ_NO_PLAN, "no decision was found in time");
    if (!error) {
        *action = d->action;
        *purpose = strdup(d->aim.purpose);
        if (!*purpose) error = pz_refuse(PZ_ENGINE, "out of memory");
    }
    pz_pool_free(pool);
    free(record);
    free(params);
    free(d);
    return error;
}

/* ---- By plan ---- */

enum { MOST_CHANGES = 3 }; /* named in a purpose */

/* "tiles[0, 2] becomes 5" */
static void print_change(pz_text *text, const pz_field *field, int item, const char *record)
{
    pz_print(text, "%s", field->name);
    for (int d = 0; d < field->ndim; d++) {
        int below = 1;
        for (int e = d + 1; e < field->ndim; e++) below *= field->shape[e];
        pz_print(text, "%s%d", d ? ", " : "[", item / below % field->shape[d]);
    }
    pz_print(text, "%s becomes %d", field->ndim ? "]" : "", pz_item(field, record, item));
}

typedef struct reason {
    const int32_t *keys;
    int length;
    char *text; /* to free */
} reason;

/* Press the keys of a plan until the board changes, and tell how. */
static void explain(pz_session *copy, void *context)
{
    reason *why = context;
    const size_t size = (size_t)copy->layout->record_size;
    char *before = snewn(size, char);
    memcpy(before, copy->record, size);
    const int moves = copy->outcome->moves;
    int last = 0;
    for (int i = 0; i < why->length && copy->outcome->moves == moves; i++) {
        last = why->keys[i];
        pz_step_guarded(copy, last, false);
    }
    pz_text text = {NULL, 0, 0};
    pz_print(&text, "%s will do it: ", copy->puzzle->actions[last].name);
    int changes = 0;
    for (int f = 0; f < copy->layout->n_board_fields; f++) {
        const pz_field *field = &copy->layout->fields[f];
        for (int i = 0; i < field->count; i++) {
            if (pz_item(field, before, i) == pz_item(field, copy->record, i) || changes++ >= MOST_CHANGES) continue;
            if (changes > 1) pz_print(&text, ", ");
            print_change(&text, field, i, copy->record);
        }
    }
    if (changes > MOST_CHANGES) pz_print(&text, " and %d more", changes - MOST_CHANGES);
    why->text = strdup(text.chars);
    if (!why->text) pz_fail(PZ_ENGINE, "out of memory");
}

static int by_plan(pz_session *s, double timeout, int32_t *action, char **purpose)
{
    int32_t *keys = NULL, length = 0;
    pz_session *copy = NULL;
    int error = pz_session_clone(s, &copy);
    if (!error) error = pz_session_plan(copy, timeout, &keys, &length);
    if (!error && !length) error = pz_refuse(PZ_NO_PLAN, "the game is solved");
    reason why = {keys, length, NULL};
    if (!error) error = pz_call(copy, explain, &why);
    if (!error) {
        *action = keys[0];
        *purpose = why.text;
    }
    free(keys);
    pz_session_free(copy);
    return error;
}

int pz_session_next_key(pz_session *s, double timeout, int32_t *action, char **purpose)
{
    *purpose = NULL;
    return s->puzzle->expert ? by_sight(s, timeout, action, purpose) : by_plan(s, timeout, action, purpose);
}
