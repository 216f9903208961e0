/*
 * What the WebAssembly module exports: the session for one thread, in a form that JavaScript can call. What is known of
 * a puzzle or a game is handed over as JSON; a text that is returned is the caller's to release. Every call that may
 * fail returns an error code and leaves the reason in last_error().
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drawing/draw.h"
#include "plan.h"
#include "session/internal.h"

#define EXPORT(type, name) __attribute__((export_name(#name))) type web_##name

/* ---- JSON ---- */

typedef struct json {
    char *chars;
    size_t length, room;
} json;

static void add(json *to, const char *format, ...)
{
    va_list arguments;
    for (;;) {
        va_start(arguments, format);
        const size_t left = to->room - to->length;
        const size_t wanted = (size_t)vsnprintf(to->chars ? to->chars + to->length : NULL, left, format, arguments);
        va_end(arguments);
        if (wanted < left) {
            to->length += wanted;
            return;
        }
        char *moved = realloc(to->chars, to->room = 2 * to->room + wanted + 256);
        if (!moved) abort(); /* there is no memory left for a page of text: the module is at its end */
        to->chars = moved;
    }
}

static void add_string(json *to, const char *text)
{
    add(to, "\"");
    for (const char *c = text ? text : ""; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            add(to, "\\u%04x", *c);
        else
            add(to, "%c", *c);
    add(to, "\"");
}

static void add_member(json *to, const char *name, const char *text)
{
    add(to, "\"%s\":", name);
    add_string(to, text);
    add(to, ",");
}

/* ---- Puzzles ---- */

EXPORT(int, count)(void);
EXPORT(char *, puzzle)(int index);
EXPORT(const char *, last_error)(void);
EXPORT(int, canonical)(int index, const char *params);

static const char *answer; /* of the last question about parameters */

int web_count(void)
{
    return pz_count();
}

char *web_puzzle(int index)
{
    const pz_puzzle *p = pz_puzzle_at(index);
    json to = {NULL, 0, 0};
    add(&to, "{");
    add_member(&to, "name", p->name);
    add_member(&to, "title", p->title);
    add_member(&to, "rules", p->rules);
    add_member(&to, "easiest", p->easiest);
    add_member(&to, "human", p->human);
    add_member(&to, "pattern", p->params_pattern);
    add_member(&to, "help", p->params_help);
    add_member(&to, "alias", p->params_alias);
    add(&to, "\"hidden\":%s,\"actions\":[", p->hidden ? "true" : "false");
    for (const pz_action *a = p->actions; a->name; a++) {
        if (a > p->actions) add(&to, ",");
        add_string(&to, a->name);
    }
    add(&to, "],\"presets\":[");
    for (int i = 0, n = pz_preset_count(p); i < n; i++) {
        const char *title, *params;
        if (pz_preset(p, i, &title, &params)) continue;
        add(&to, "%s[", i ? "," : "");
        add_string(&to, title);
        add(&to, ",");
        add_string(&to, params);
        add(&to, "]");
    }
    add(&to, "]}");
    return to.chars;
}

const char *web_last_error(void)
{
    return pz_last_error();
}

EXPORT(const char *, last_answer)(void);

const char *web_last_answer(void)
{
    return answer;
}

int web_canonical(int index, const char *params)
{
    return pz_params_canonical(pz_puzzle_at(index), params, PZ_TO_GENERATE, &answer);
}

/* ---- Sessions ---- */

static pz_session *made;       /* by the last call that makes one, */
static uint8_t *bytes;         /* what the last call that hands out memory handed out, */
static int64_t size;           /* and how much of it */
static int32_t action;

EXPORT(pz_session *, last_session)(void);
EXPORT(void *, last_bytes)(void);
EXPORT(int, last_size)(void);
EXPORT(int, last_action)(void);

pz_session *web_last_session(void)
{
    return made;
}

void *web_last_bytes(void)
{
    return bytes;
}

int web_last_size(void)
{
    return (int)size;
}

int web_last_action(void)
{
    return action;
}

EXPORT(int, session_new)(int index, const char *params, const char *seed, const char *desc, int undo, double timeout);
EXPORT(int, session_limit)(pz_session *session, int max_steps, int max_repeats);
EXPORT(int, session_clone)(const pz_session *session);
EXPORT(int, session_load)(const uint8_t *saved, int length);
EXPORT(int, session_save)(pz_session *session);
EXPORT(void, session_free)(pz_session *session);
EXPORT(char *, session_about)(pz_session *session);
EXPORT(const void *, session_record)(const pz_session *session);
EXPORT(const uint8_t *, session_mask)(const pz_session *session);
EXPORT(const pz_outcome *, session_outcome)(const pz_session *session);
EXPORT(int, session_step)(pz_session *session, int number);
EXPORT(int, session_undo)(pz_session *session);
EXPORT(int, session_solve)(pz_session *session);
EXPORT(int, session_text)(pz_session *session);
EXPORT(int, session_plan)(pz_session *session, double timeout);
EXPORT(int, session_next_key)(pz_session *session, double timeout);
EXPORT(int, session_pixels)(pz_session *session, int width, int height, uint8_t *out);
EXPORT(int, session_rgba)(pz_session *session, int width, int height, uint8_t *out);
EXPORT(int, session_mouse)(pz_session *session, int width, int height, int x, int y, int button, int gesture);

int web_session_new(int index, const char *params, const char *seed, const char *desc, int undo, double timeout)
{
    const int flags = PZ_FLAG_HISTORY | (undo ? PZ_FLAG_UNDO : 0);
    return pz_session_new(pz_puzzle_at(index), params, seed, desc, flags, timeout, &made);
}

int web_session_limit(pz_session *session, int max_steps, int max_repeats)
{
    return pz_session_limit(session, max_steps, max_repeats);
}

int web_session_clone(const pz_session *session)
{
    return pz_session_clone(session, &made);
}

int web_session_load(const uint8_t *saved, int length)
{
    return pz_session_load(saved, length, &made);
}

int web_session_save(pz_session *session)
{
    return pz_session_save(session, &bytes, &size);
}

void web_session_free(pz_session *session)
{
    pz_session_free(session);
}

/* What stays while a game lasts, but for its description, which Mines replaces at the first click. */
char *web_session_about(pz_session *session)
{
    char *params, *seed, *desc;
    if (pz_session_names(session, &params, &seed, &desc)) return NULL;
    json to = {NULL, 0, 0};
    add(&to, "{");
    add_member(&to, "puzzle", session->puzzle->name);
    add_member(&to, "params", params);
    add_member(&to, "seed", seed);
    add_member(&to, "desc", desc);
    free(params), free(seed), free(desc);
    add(&to, "\"actions\":%d,\"undo\":%s,\"size\":%d,\"fields\":[", session->n_actions,
        session->flags & PZ_FLAG_UNDO ? "true" : "false", session->layout->record_size);
    for (int f = 0; f < session->layout->n_fields; f++) {
        const pz_field *field = &session->layout->fields[f];
        add(&to, "%s{", f ? "," : "");
        add_member(&to, "name", field->name);
        add_member(&to, "about", field->about);
        add(&to, "\"low\":%d,\"high\":%d,\"itemsize\":%d,\"count\":%d,\"offset\":%d,\"ui\":%s,\"shape\":[", field->low,
            field->high, field->itemsize, field->count, field->offset, field->is_ui ? "true" : "false");
        for (int d = 0; d < field->ndim; d++) add(&to, "%s%d", d ? "," : "", field->shape[d]);
        add(&to, "]}");
    }
    add(&to, "]}");
    return to.chars;
}

const void *web_session_record(const pz_session *session)
{
    return session->record;
}

const uint8_t *web_session_mask(const pz_session *session)
{
    return session->mask;
}

const pz_outcome *web_session_outcome(const pz_session *session)
{
    return session->outcome;
}

int web_session_step(pz_session *session, int number)
{
    return pz_session_step(session, number);
}

int web_session_undo(pz_session *session)
{
    return pz_session_undo(session);
}

int web_session_solve(pz_session *session)
{
    return pz_session_solve(session);
}

int web_session_text(pz_session *session)
{
    return pz_session_text(session, (char **)&bytes);
}

/* The keys are 32-bit numbers, last_size of them. */
int web_session_plan(pz_session *session, double timeout)
{
    int32_t *keys = NULL, length = 0;
    const int error = pz_session_plan(session, timeout, &keys, &length);
    bytes = (uint8_t *)keys;
    size = length;
    return error;
}

/* The action is last_action, and its purpose a text. */
int web_session_next_key(pz_session *session, double timeout)
{
    return pz_session_next_key(session, timeout, &action, (char **)&bytes);
}

int web_session_pixels(pz_session *session, int width, int height, uint8_t *out)
{
    return pz_session_pixels(session, width, height, PZ_PICTURE_RGB, out);
}

/* As a canvas wants it: four bytes a pixel, made in place from the last pixel on. */
int web_session_rgba(pz_session *session, int width, int height, uint8_t *out)
{
    const int error = pz_session_pixels(session, width, height, PZ_PICTURE_RGB, out);
    for (size_t i = error ? 0 : (size_t)width * (size_t)height; i-- > 0;) {
        const uint8_t pixel[3] = {out[3 * i], out[3 * i + 1], out[3 * i + 2]};
        memcpy(out + 4 * i, pixel, sizeof pixel);
        out[4 * i + 3] = 255;
    }
    return error;
}

int web_session_mouse(pz_session *session, int width, int height, int x, int y, int button, int gesture)
{
    return pz_session_mouse(session, width, height, x, y, button, gesture);
}
