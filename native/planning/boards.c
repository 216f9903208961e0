/* Best first over boards: the edges are "walk there, press that". */
#include <string.h>

#include "planning/planner.h"

enum { BOARDS = 120000 }; /* looked at in one search */

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

/* Every board that one key makes from here, wherever the cursor must go first. */
static int expand(pz_planner *p, int from, queue *open, int weight)
{
    pz_session *s = p->s;
    pz_positions *in = &p->near, *out = &p->boards;
    pz_rewind_to(p, in, 0);
    s->puzzle->engine->free_game(in->all[0].state);
    in->n = 0;
    pz_transfer(p, &out->all[from], in);
    in->all[0].depth = 0;
    in->all[0].touched = false;
    pz_is_new(in, pz_position_key(p, in->all[0].record, in->all[0].board));
    for (int i = 0; i < in->n && in->n < PZ_NEAR; i++)
        for (int action = 0; action < s->n_actions; action++) {
            game_state *next;
            if (!pz_press(p, in, &in->all[i], action, &next)) continue;
            if (!next) {
                if (pz_is_new(in, pz_trial_key(p, &in->all[i], NULL))) pz_keep(p, in, &in->all[i], i, action, NULL, 0);
                continue;
            }
            const int status = s->puzzle->engine->status(next);
            const bool lost = status < 0 || (!status && s->puzzle->stuck && s->puzzle->stuck(next));
            if (lost || (!pz_is_new(out, pz_board_key(p, s->trial_record)) && status <= 0)) {
                s->puzzle->engine->free_game(next);
                continue;
            }
            pz_trial_key(p, &in->all[i], next);
            const int depth = in->all[i].depth + 1, to = pz_keep(p, out, &in->all[i], from, action, next, 0);
            pz_position *fresh = &out->all[to];
            fresh->depth = out->all[from].depth + depth;
            fresh->keys = snewn(depth, uint8_t);
            fresh->n_keys = depth;
            fresh->keys[depth - 1] = (uint8_t)action;
            for (int j = i, at = depth - 1; at > 0; j = in->all[j].parent)
                fresh->keys[--at] = (uint8_t)in->all[j].action;
            if (status > 0) return to;
            fresh->h = pz_distance(p, next, fresh->record);
            push(open, to, fresh->depth + (int64_t)weight * fresh->h);
        }
    return -1;
}

void pz_search_boards(pz_planner *p)
{
    const int weight = p->s->puzzle->distance ? 8 : 4; /* of the estimate: greedy, for a plan need not be shortest */
    pz_positions *boards = &p->boards;
    queue open = {NULL, 0, 0, NULL};
    pz_transfer(p, &p->near.all[0], boards);
    boards->all[0].depth = 0;
    boards->all[0].parent = -1;
    pz_is_new(boards, pz_board_key(p, boards->all[0].record));
    push(&open, 0, 0);
    int found = boards->all[0].status > 0 ? 0 : -1;
    while (found < 0 && open.n && boards->n < BOARDS) found = expand(p, pop(&open), &open, weight);
    if (found < 0 && open.n) pz_fail(PZ_NO_PLAN, "no plan among the first %d boards", boards->n);
    if (found < 0) pz_fail(PZ_NO_PLAN, "it cannot be solved from here");
    int length = p->length + boards->all[found].depth;
    if (length > PZ_LONGEST_PLAN) pz_fail(PZ_NO_PLAN, "the plan grows beyond %d keys", PZ_LONGEST_PLAN);
    p->length = length;
    for (int i = found; i > 0; i = boards->all[i].parent)
        for (int k = boards->all[i].n_keys - 1; k >= 0; k--) p->keys[--length] = boards->all[i].keys[k];
}
