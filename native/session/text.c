/*
 * Boards as text: the engine's own where it has one, the puzzle's file where it brings one, else the fields themselves;
 * below them the cursor and what else the next key depends on.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"

void pz_print(pz_text *text, const char *format, ...)
{
    va_list arguments, again;
    pz_tick();
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) pz_fail(PZ_ENGINE, "cannot format %s", format);
    if (text->length + (size_t)length + 1 > text->room) {
        text->room = (text->length + (size_t)length + 1) * 2;
        text->chars = sresize(text->chars, text->room, char);
    }
    vsnprintf(text->chars + text->length, (size_t)length + 1, format, again);
    va_end(again);
    text->length += (size_t)length;
}

/* Where neither the engine nor the puzzle's file can draw this size: the fields themselves, row by row. */
static void print_fields(pz_session *s, pz_text *text)
{
    for (const pz_field *field = s->layout->fields; field < s->layout->fields + s->layout->n_board_fields; field++) {
        int width = field->ndim ? field->shape[field->ndim - 1] : 1;
        pz_print(text, field->ndim > 1 ? "%s:\n" : "%s:", field->name);
        for (int i = 0; i < field->count; i++)
            pz_print(text, "%3d%s", pz_item(field, s->record, i), (i + 1) % width ? "" : "\n");
    }
}

static void print_ui(pz_session *s, pz_text *text)
{
    const pz_field *end = s->layout->fields + s->layout->n_fields;
    const char *separator = "";
    for (const pz_field *field = s->layout->fields + s->layout->n_board_fields; field < end; field++) {
        if (field->count > 16) continue;
        pz_print(text, "%s%s", separator, field->name);
        for (int i = 0; i < field->count; i++) pz_print(text, " %d", pz_item(field, s->record, i));
        separator = ", ";
    }
    if (*separator) pz_print(text, "\n");
}

static void print_session(pz_session *s, void *context)
{
    char **result = context;
    const game *engine = s->puzzle->engine;
    pz_text text = {NULL, 0, 0};
    char *board = NULL;
    if (s->puzzle->text)
        board = s->puzzle->text(s->params, s->state, s->ui, s->extra);
    else if (engine->can_format_as_text_ever && engine->can_format_as_text_now(s->params))
        board = engine->text_format(s->state);
    if (board)
        pz_print(&text, "%s%s", board, *board && board[strlen(board) - 1] == '\n' ? "" : "\n");
    else
        print_fields(s, &text);
    sfree(board);
    print_ui(s, &text);
    *result = malloc(text.length + 1);
    if (!*result) pz_fail(PZ_ENGINE, "out of memory");
    memcpy(*result, text.chars ? text.chars : "", text.length + 1);
    sfree(text.chars);
}

int pz_session_text(pz_session *s, char **result)
{
    return pz_call_interruptible(s, print_session, result);
}
