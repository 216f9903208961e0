/*
 * What libFuzzer calls: one case is one puzzle and one kind of input, and afterwards everything that a user could do
 * with a session that came of it. Whatever the sanitizers find in there is a bug; errors that come back are not.
 *
 * A case is two bytes (puzzle, kind) and the input, then 0xFF and the actions to play:
 *     'i'  params:description        a game id that a user gives
 *     's'  the inside of a save      with the head and the digest put around it, as an attacker would
 *     'p'  params                    a generator that runs for a tenth of a second
 *
 * It starts with real cases, and ends at once where one of them does not load: then the fuzzer would only ever see
 * refusals.
 *
 * PZ_FUZZ_PUZZLE=NAME stays with one puzzle; PZ_FUZZ_SEEDS=DIR writes the real cases into a folder, to start from, and
 * ends. Without libFuzzer (PZ_FUZZ_MAIN) a main of its own changes the real cases at random: PZ_FUZZ_CASES=N of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "search.h"
#include "session/internal.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { END_OF_INPUT = 0xFF, MAX_PLAYED = 64, N_ACTIONS = 16 };

/* A large board or a slow solver is no bug, and must not take the time of other cases. */
static const double case_lasts = 0.25;
static double call_lasts = 60; /* until the real cases have loaded */
static double case_ends;

static int only = -1;

static bool time_left(void)
{
    return pz_now() < case_ends;
}

static void play(pz_session *s, const uint8_t *actions, size_t n)
{
    for (size_t i = 0; i < n && i < MAX_PLAYED && time_left(); i++) {
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
    if (pz_can_solve(s->puzzle) && time_left()) {
        char *record = malloc((size_t)s->layout->record_size);
        pz_session_solution(s, record, s->layout->record_size);
        free(record);
        pz_session_solve(s);
        pz_session_pixels(s, 128, 128, PZ_PICTURE_RGB, pixels);
        if (!pz_session_text(s, &text)) pz_free(text);
        play(s, actions, n);
    }
    int32_t *plan, length;
    if (again && time_left() && !pz_session_plan(again, 0.02, &plan, &length)) pz_free(plan);
    pz_search *search = NULL;
    if (copy && time_left() && !pz_search_new(copy, 64, 1, &search)) pz_search_simulate(search, 8, 4, 1.4, 1, 0);
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
    if (pz_params_canonical(puzzle, text, PZ_TO_PLAY, &params)) return NULL;
    pz_session_new(puzzle, params, NULL, colon + 1, PZ_FLAG_UNDO | PZ_FLAG_HISTORY, call_lasts, &s);
    return s;
}

static pz_session *from_save(const uint8_t *inside, size_t size)
{
    pz_session *s = NULL;
    uint8_t *blob = malloc(PZ_SAVE_HEAD + size + PZ_SAVE_DIGEST);
    memcpy(blob + PZ_SAVE_HEAD, inside, size);
    pz_seal(blob, PZ_SAVE_HEAD + size + PZ_SAVE_DIGEST);
    pz_session_load(blob, (int64_t)(PZ_SAVE_HEAD + size + PZ_SAVE_DIGEST), &s);
    free(blob);
    return s;
}

/* The session that a case describes, or NULL; *actions is where its actions start. */
static pz_session *session_of(const uint8_t *data, size_t size, const uint8_t **actions)
{
    const pz_puzzle *puzzle = pz_puzzle_at(only >= 0 ? only : data[0] % pz_count());
    const uint8_t kind = data[1], *input = data + 2, *end = data + size, *cut = end;
    if (kind == 's') {
        /* Saves hold any byte: the last 16 are the actions. */
        cut = end - input > N_ACTIONS ? end - N_ACTIONS : end;
    } else {
        const uint8_t *mark = memchr(input, END_OF_INPUT, (size_t)(end - input));
        if (mark) cut = mark;
    }
    *actions = cut;
    if (kind == 's') return from_save(input, (size_t)(cut - input));
    pz_session *s = NULL;
    char *text = malloc((size_t)(cut - input) + 1);
    memcpy(text, input, (size_t)(cut - input));
    text[cut - input] = '\0';
    if (kind == 'i') s = from_id(puzzle, text);
    if (kind == 'p') pz_session_new(puzzle, text, "1", NULL, PZ_FLAG_UNDO, call_lasts, &s);
    free(text);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    case_ends = pz_now() + case_lasts;
    const uint8_t *actions;
    pz_session *s = session_of(data, size, &actions);
    if (s) use(s, actions, (size_t)(data + size - actions));
    pz_session_free(s);
    if (pz_live_pools()) abort(); /* something was left behind */
    return 0;
}

/* ---- Real cases to start from ---- */

typedef struct real_case {
    uint8_t *bytes;
    size_t size;
} real_case;

static real_case *cases;
static int n_cases;

static void add_case(const pz_puzzle *puzzle, int index, char kind, const void *input, size_t size)
{
    static const uint8_t actions[1 + N_ACTIONS] = {END_OF_INPUT, 0, 4, 1, 4, 2, 5, 3, 4, 1, 6, 2, 4, 3, 5, 0, 0xFE};
    const size_t mark = kind != 's';
    real_case real = {.size = 2 + size + mark + N_ACTIONS};
    real.bytes = malloc(real.size);
    cases = realloc(cases, (size_t)(n_cases + 1) * sizeof *cases);
    if (!real.bytes || !cases) abort();
    real.bytes[0] = (uint8_t)index;
    real.bytes[1] = (uint8_t)kind;
    memcpy(real.bytes + 2, input, size);
    memcpy(real.bytes + 2 + size, actions + !mark, mark + N_ACTIONS);
    const uint8_t *rest;
    pz_session *s = session_of(real.bytes, real.size, &rest);
    if (!s && kind != 'p') { /* a generator may be too slow for a fuzzer */
        fprintf(stderr, "a real case of %s, kind %c, does not load: %s\n", puzzle->name, kind, pz_last_error());
        abort();
    }
    pz_session_free(s);
    cases[n_cases++] = real;
}

static void write_cases(const char *folder)
{
    for (int i = 0; i < n_cases; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s-%c%d", folder, pz_puzzle_at(cases[i].bytes[0])->name, cases[i].bytes[1], i);
        FILE *file = fopen(path, "wb");
        if (!file) abort();
        fwrite(cases[i].bytes, 1, cases[i].size, file);
        fclose(file);
    }
}

static void add_cases(const pz_puzzle *puzzle, int index)
{
    const char *levels[] = {puzzle->easiest, puzzle->human};
    for (int l = 0; l < 2; l++) {
        add_case(puzzle, index, 'p', levels[l], strlen(levels[l]));
        for (int seed = 1; seed <= 2; seed++) {
            char digits[8];
            snprintf(digits, sizeof digits, "%d", seed);
            pz_session *s = NULL;
            if (pz_session_new(puzzle, levels[l], digits, NULL, PZ_FLAG_UNDO | PZ_FLAG_HISTORY, 60, &s)) abort();
            char *id = malloc(strlen(s->params_text) + strlen(s->desc) + 2);
            sprintf(id, "%s:%s", s->params_text, s->desc);
            add_case(puzzle, index, 'i', id, strlen(id));
            free(id);
            for (int step = 0; step < 12; step++) pz_session_step(s, (step * 5 + seed) % s->n_actions);
            uint8_t *bytes;
            int64_t size;
            if (pz_session_save(s, &bytes, &size)) abort();
            add_case(puzzle, index, 's', bytes + PZ_SAVE_HEAD, (size_t)size - PZ_SAVE_HEAD - PZ_SAVE_DIGEST);
            pz_free(bytes);
            pz_session_free(s);
        }
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *name = getenv("PZ_FUZZ_PUZZLE"), *folder = getenv("PZ_FUZZ_SEEDS");
    for (int p = 0; p < pz_count(); p++)
        if (name && !strcmp(pz_puzzle_at(p)->name, name)) only = p;
    for (int p = 0; p < pz_count(); p++)
        if (only < 0 || p == only) add_cases(pz_puzzle_at(p), p);
    if (folder) {
        write_cases(folder);
        exit(0);
    }
    pz_step_timeout = call_lasts = 0.1;
    pz_pool_limit = (size_t)1 << 27;
    return 0;
}

#ifdef PZ_FUZZ_MAIN

static uint64_t chance = 1;

static size_t draw(size_t below)
{
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(chance >> 33) % below;
}

/* Each real case as it is, and then random ones with a few bytes changed. */
int main(int argc, char **argv)
{
    const char *wanted = getenv("PZ_FUZZ_CASES");
    const int n = wanted ? atoi(wanted) : 1000;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 0; i < n_cases; i++) LLVMFuzzerTestOneInput(cases[i].bytes, cases[i].size);
    for (int i = 0; i < n; i++) {
        const real_case *from = &cases[draw((size_t)n_cases)];
        uint8_t *bytes = malloc(from->size);
        memcpy(bytes, from->bytes, from->size);
        for (size_t changes = 1 + draw(4); changes; changes--)
            bytes[2 + draw(from->size - 2)] = draw(2) ? (uint8_t)draw(256) : bytes[2 + draw(from->size - 2)];
        LLVMFuzzerTestOneInput(bytes, from->size);
        free(bytes);
    }
    printf("%d real cases and %d changed ones: no findings\n", n_cases, n);
    for (int i = 0; i < n_cases; i++) free(cases[i].bytes);
    free(cases);
    return 0;
}

#endif
