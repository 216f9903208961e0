/*
 * What libFuzzer calls: one case is one puzzle and one kind of input, and afterwards everything that a user could do
 * with a session that came of it. Whatever the sanitizers find in there is a bug; errors that come back are not.
 *
 * A case is two bytes (puzzle, kind) and the input, then 0xFF and the actions to play:
 *     'i'  params:description        a game id that a user gives
 *     's'  the inside of a save      with the head and the digest put around it, as an attacker would
 *     'p'  params                    a generator that runs for a tenth of a second
 *
 * PZ_FUZZ_PUZZLE=NAME stays with one puzzle; PZ_FUZZ_SEEDS=DIR writes real cases into a folder, to start from, and
 * ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "search.h"
#include "session/internal.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { END_OF_INPUT = 0xFF, MAX_PLAYED = 64 };

static int only = -1;

static void play(pz_session *s, const uint8_t *actions, size_t n)
{
    for (size_t i = 0; i < n && i < MAX_PLAYED; i++) {
        if (pz_session_step(s, actions[i] % s->n_actions)) break;
        if (actions[i] == 0xFE) pz_session_undo(s);
    }
}

/* Everything that a session offers. */
static void use(pz_session *s, const uint8_t *actions, size_t n)
{
    static uint8_t pixels[256 * 256 * 3];
    char *text;
    pz_session *copy = NULL;
    if (!pz_session_text(s, &text)) pz_free(text);
    pz_session_pixels(s, 128, 128, PZ_PICTURE_RGB, pixels);
    play(s, actions, n);
    pz_session_pixels(s, 128, 128, PZ_PICTURE_RGB, pixels);
    pz_session_pixels(s, 250, 180, PZ_PICTURE_PLANES, pixels);
    if (!pz_session_text(s, &text)) pz_free(text);
    if (!pz_session_clone(s, &copy)) {
        play(copy, actions, n);
        pz_session_undo(copy);
    }
    uint8_t *bytes;
    int64_t size;
    pz_session *again = NULL;
    if (!pz_session_save(s, &bytes, &size)) {
        pz_session_load(bytes, size, &again);
        pz_free(bytes);
    }
    if (pz_can_solve(s->puzzle)) {
        char *record = malloc((size_t)s->layout->record_size);
        pz_session_solution(s, record, pz_session_layout(s)->record_size);
        free(record);
        pz_session_solve(s);
        pz_session_pixels(s, 128, 128, PZ_PICTURE_RGB, pixels);
        if (!pz_session_text(s, &text)) pz_free(text);
        play(s, actions, n);
    }
    int32_t *plan, length;
    if (again && !pz_session_plan(again, 0.02, &plan, &length)) pz_free(plan);
    int32_t action;
    char *purpose;
    if (again && !pz_session_next_key(again, 0.02, &action, &purpose)) pz_free(purpose);
    pz_search *search = NULL;
    if (copy && !pz_search_new(copy, 64, 1, &search)) pz_search_simulate(search, 8, 4, 1.4, 1, 0);
    pz_search_free(search);
    pz_session_free(copy);
    pz_session_free(again);
}

static pz_session *from_id(const pz_puzzle *puzzle, char *text)
{
    char *colon = strchr(text, ':');
    if (!colon) return NULL;
    *colon = '\0';
    for (const char *c = colon + 1; *c; c++)
        if (*c < 32 || *c > 126) return NULL; /* Python lets nothing else through */
    pz_session *s = NULL;
    const char *params;
    if (pz_params_canonical(puzzle, text, 1, 1, &params)) return NULL;
    pz_session_new(puzzle, params, NULL, colon + 1, PZ_FLAG_UNDO | PZ_FLAG_HISTORY, 0.5, &s);
    return s;
}

static pz_session *from_save(const uint8_t *inside, size_t size)
{
    pz_session *s = NULL;
    uint8_t *blob = malloc(PZ_SAVE_HEAD + size + PZ_SAVE_DIGEST);
    memcpy(blob, pz_save_magic, PZ_SAVE_HEAD);
    memcpy(blob + PZ_SAVE_HEAD, inside, size);
    SHA_Simple(blob, (int)(PZ_SAVE_HEAD + size), blob + PZ_SAVE_HEAD + size);
    pz_session_load(blob, (int64_t)(PZ_SAVE_HEAD + size + PZ_SAVE_DIGEST), &s);
    free(blob);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const pz_puzzle *puzzle = pz_puzzle_at(only >= 0 ? only : data[0] % pz_count());
    const uint8_t kind = data[1], *input = data + 2, *end = data + size, *cut = end;
    if (kind == 's') {
        /* Saves hold any byte: the last 16 are the actions. */
        cut = end - input > 16 ? end - 16 : end;
    } else {
        const uint8_t *mark = memchr(input, END_OF_INPUT, (size_t)(end - input));
        if (mark) cut = mark;
    }
    pz_session *s = NULL;
    if (kind == 's') {
        s = from_save(input, (size_t)(cut - input));
    } else {
        char *text = malloc((size_t)(cut - input) + 1);
        memcpy(text, input, (size_t)(cut - input));
        text[cut - input] = '\0';
        if (kind == 'i') s = from_id(puzzle, text);
        if (kind == 'p') pz_session_new(puzzle, text, "1", NULL, PZ_FLAG_UNDO, 0.1, &s);
        free(text);
    }
    if (s) use(s, cut, (size_t)(end - cut));
    pz_session_free(s);
    if (pz_live_pools()) abort(); /* something was left behind */
    return 0;
}

/* ---- Real cases to start from ---- */

static const char *folder;
static int written;

static void write_case(const pz_puzzle *puzzle, int index, char kind, const void *input, size_t size)
{
    static const uint8_t actions[17] = {END_OF_INPUT, 0, 4, 1, 4, 2, 5, 3, 4, 1, 6, 2, 4, 3, 5, 0, 0xFE};
    char path[1024];
    snprintf(path, sizeof path, "%s/%s-%c%d", folder, puzzle->name, kind, written++);
    FILE *file = fopen(path, "wb");
    if (!file) return;
    fputc(index, file);
    fputc(kind, file);
    fwrite(input, 1, size, file);
    fwrite(actions + (kind == 's'), 1, sizeof actions - (kind == 's'), file);
    fclose(file);
}

static void write_cases(const pz_puzzle *puzzle, int index)
{
    const char *levels[] = {puzzle->easiest, puzzle->human};
    for (int l = 0; l < 2; l++) {
        write_case(puzzle, index, 'p', levels[l], strlen(levels[l]));
        for (int seed = 1; seed <= 2; seed++) {
            char digits[8];
            snprintf(digits, sizeof digits, "%d", seed);
            pz_session *s = NULL;
            if (pz_session_new(puzzle, levels[l], digits, NULL, PZ_FLAG_UNDO | PZ_FLAG_HISTORY, 10, &s)) continue;
            char *id = malloc(strlen(s->params_text) + strlen(s->desc) + 2);
            sprintf(id, "%s:%s", s->params_text, s->desc);
            write_case(puzzle, index, 'i', id, strlen(id));
            free(id);
            for (int step = 0; step < 12; step++) pz_session_step(s, (step * 5 + seed) % s->n_actions);
            uint8_t *bytes;
            int64_t size;
            if (!pz_session_save(s, &bytes, &size)) {
                write_case(puzzle, index, 's', bytes + PZ_SAVE_HEAD, (size_t)size - PZ_SAVE_HEAD - PZ_SAVE_DIGEST);
                pz_free(bytes);
            }
            pz_session_free(s);
        }
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *name = getenv("PZ_FUZZ_PUZZLE");
    folder = getenv("PZ_FUZZ_SEEDS");
    pz_step_timeout = 0.5; /* a slow solver is no bug, and must not take the time of other cases */
    pz_pool_limit = (size_t)1 << 27;
    for (int p = 0; p < pz_count(); p++) {
        if (name && !strcmp(pz_puzzle_at(p)->name, name)) only = p;
        if (folder && (!name || !strcmp(pz_puzzle_at(p)->name, name))) write_cases(pz_puzzle_at(p), p);
    }
    if (folder) exit(0);
    return 0;
}
