/* Layouts: where each field of an observation lies in a record. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/guard.h"
#include "session/internal.h"

void pz_add_field(pz_layout *layout, bool is_ui, const char *name, int low, int high, const char *about, int ndim,
                  int d0, int d1, int d2, int d3)
{
    if (layout->n_fields == PZ_MAX_FIELDS) pz_fail(PZ_ENGINE, "more than %d fields", PZ_MAX_FIELDS);
    if (layout->ui_offset >= 0 && !is_ui) pz_fail(PZ_ENGINE, "board field %s follows a ui field", name);
    if (low > high) pz_fail(PZ_ENGINE, "field %s has bounds %d > %d", name, low, high);
    pz_field *field = &layout->fields[layout->n_fields++];
    memset(field, 0, sizeof *field);
    snprintf(field->name, sizeof field->name, "%s", name);
    snprintf(field->about, sizeof field->about, "%s", about);
    field->low = low;
    field->high = high;
    field->itemsize = low >= INT8_MIN && high <= INT8_MAX ? 1 : low >= INT16_MIN && high <= INT16_MAX ? 2 : 4;
    field->ndim = ndim;
    const int shape[PZ_MAX_DIMS] = {d0, d1, d2, d3};
    double count = 1;
    for (int d = 0; d < ndim; d++) {
        field->shape[d] = shape[d];
        count *= shape[d];
    }
    if (count < 0 || count > 1 << 24) pz_fail(PZ_ENGINE, "field %s has %g items", name, count);
    field->count = (int)count;
    field->is_ui = is_ui;
    if (is_ui && layout->ui_offset < 0) {
        layout->record_size = (layout->record_size + 7) & ~7;
        layout->ui_offset = layout->record_size;
    }
    const int32_t align = field->itemsize - 1;
    field->offset = (layout->record_size + align) & ~align;
    layout->record_size = field->offset + field->count * field->itemsize;
    layout->spans[layout->n_fields - 1] = (pz_span){field->offset, field->count, field->itemsize};
    if (!is_ui) layout->n_board_fields = layout->n_fields;
}

void pz_make_layout(const pz_puzzle *puzzle, const game_params *params, pz_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    layout->ui_offset = -1;
    puzzle->fields(params, layout);
    layout->record_size = (layout->record_size + 7) & ~7;
    if (layout->ui_offset < 0) layout->ui_offset = layout->record_size;
    layout->cursor[0] = layout->cursor[1] = -1;
    for (int f = 0; f < layout->n_fields; f++) {
        if (!strcmp(layout->fields[f].name, "cursor_x")) layout->cursor[0] = f;
        if (!strcmp(layout->fields[f].name, "cursor_y")) layout->cursor[1] = f;
    }
}

/* ---- Layouts that sessions share ---- */

typedef struct shared {
    struct shared *next;
    const pz_puzzle *puzzle;
    char *text;
    int holders;
    pz_layout layout;
} shared;

PZ_LOCK(lock)
static shared *all;

static shared *find(const pz_puzzle *puzzle, const char *text)
{
    shared *one = all;
    while (one && (one->puzzle != puzzle || strcmp(one->text, text))) one = one->next;
    if (one) one->holders++;
    return one;
}

const pz_layout *pz_layout_hold(const pz_puzzle *puzzle, const char *text, const game_params *params)
{
    pthread_mutex_lock(&lock);
    shared *one = find(puzzle, text);
    pthread_mutex_unlock(&lock);
    if (one) return &one->layout;

    /* Making one may fail, and must not do so while the lock is held. It does no harm if two threads make the same. */
    pz_layout *made = snew(pz_layout);
    pz_make_layout(puzzle, params, made);
    one = malloc(sizeof *one + strlen(text) + 1);
    if (!one) pz_fail(PZ_ENGINE, "out of memory");
    *one = (shared){.puzzle = puzzle, .text = (char *)(one + 1), .holders = 1, .layout = *made};
    strcpy(one->text, text);
    sfree(made);
    pthread_mutex_lock(&lock);
    one->next = all;
    all = one;
    pthread_mutex_unlock(&lock);
    return &one->layout;
}

const pz_layout *pz_layout_share(const pz_layout *layout)
{
    shared *one = (shared *)((char *)layout - offsetof(shared, layout));
    pthread_mutex_lock(&lock);
    one->holders++;
    pthread_mutex_unlock(&lock);
    return layout;
}

void pz_layout_release(const pz_layout *layout)
{
    if (!layout) return;
    shared *one = (shared *)((char *)layout - offsetof(shared, layout));
    pthread_mutex_lock(&lock);
    if (--one->holders) {
        one = NULL;
    } else {
        shared **link = &all;
        while (*link != one) link = &(*link)->next;
        *link = one->next;
    }
    pthread_mutex_unlock(&lock);
    free(one);
}
