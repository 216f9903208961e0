/*
 * Plays puzzles at random and checks what the session promises, in C so that it can run under sanitizers:
 * bounds, the mask against brute force, clone and save in lockstep, undo, text, pictures, solve, and that nothing is
 * left behind.
 *
 *     check NAME|all [steps] [seeds] [params...]     (at easiest, human and default when no parameters are given)
 *     check threads [steps]                          (batches, rollouts and sessions on several threads at once)
 *     check rate [seconds]                           (steps a second: what docs/robustness.md compares builds by)
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batch.h"
#include "checks/bench.h"
#include "plan.h"
#include "session/internal.h"

static int failures;
static const char *where_puzzle, *where_params;

#define EXPECT(condition, ...) \
    do { \
        if (!(condition)) { \
            failures++; \
            printf("FAIL %s %s: ", where_puzzle, where_params); \
            printf(__VA_ARGS__); \
            printf("\n"); \
        } \
    } while (0)

static uint64_t noise = 88172645463325252u;

static uint64_t draw(uint64_t limit)
{
    noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
    return (noise >> 11) % limit;
}

static void expect_bounds(const pz_session *s)
{
    for (int f = 0; f < s->layout->n_fields; f++) {
        const pz_field *field = &s->layout->fields[f];
        for (int i = 0; i < field->count; i++) {
            const char *at = s->record + field->offset + i * field->itemsize;
            int value = field->itemsize == 1   ? *(const int8_t *)at
                        : field->itemsize == 2 ? *(const int16_t *)at
                                               : *(const int32_t *)at;
            if (value < field->low || value > field->high) {
                EXPECT(false, "%s[%d] is %d, outside %d..%d", field->name, i, value, field->low, field->high);
                return;
            }
        }
    }
}

static void expect_same(const pz_session *a, const pz_session *b, const char *what)
{
    EXPECT(a->layout->record_size == b->layout->record_size &&
               !memcmp(a->record, b->record, (size_t)a->layout->record_size),
           "%s: records differ", what);
    EXPECT(!memcmp(a->mask, b->mask, (size_t)a->n_actions), "%s: masks differ", what);
    EXPECT(a->outcome->status == b->outcome->status, "%s: status %d and %d", what, a->outcome->status,
           b->outcome->status);
    EXPECT(a->outcome->moves == b->outcome->moves && a->outcome->repeats == b->outcome->repeats, "%s: counters differ",
           what);
    EXPECT(pz_session_hash(a) == pz_session_hash(b), "%s: hashes differ", what);
}

static pz_session *clone(pz_session *s)
{
    pz_session *copy = NULL;
    int error = pz_session_clone(s, &copy);
    EXPECT(!error, "clone: %s", pz_last_error());
    return copy;
}

static pz_session *reload(pz_session *s)
{
    uint8_t *bytes = NULL;
    int64_t size;
    pz_session *copy = NULL;
    int error = pz_session_save(s, &bytes, &size);
    EXPECT(!error, "save: %s", pz_last_error());
    if (!error) error = pz_session_load(bytes, size, &copy);
    EXPECT(!error, "load: %s", pz_last_error());
    pz_free(bytes);
    return copy;
}

/* The mask says exactly which actions change the observation of a copy. */
static void expect_exact_mask(pz_session *s)
{
    for (int a = 0; a < s->n_actions; a++) {
        pz_session *copy = clone(s);
        if (!copy) return;
        int error = pz_session_step(copy, a);
        EXPECT(!error, "step %s: %s", s->puzzle->actions[a].name, pz_last_error());
        bool differs = memcmp(copy->record, s->record, (size_t)s->layout->record_size);
        EXPECT(differs == (bool)s->mask[a], "mask of %s is %d", s->puzzle->actions[a].name, s->mask[a]);
        EXPECT(differs == (bool)copy->outcome->changed, "changed of %s is %d", s->puzzle->actions[a].name,
               copy->outcome->changed);
        pz_session_free(copy);
    }
}

/* Pictures of any shape, the smallest and the oddest too: too small is refused, everything else is drawn. */
static void expect_pictures(pz_session *s, int which)
{
    static const int sizes[][2] = {{128, 128}, {1, 1}, {40, 300}, {301, 57}, {64, 64}, {16, 16}, {500, 500}};
    const int n = (int)(sizeof sizes / sizeof *sizes);
    for (int i = 0; i < 2; i++) { /* the same size twice draws the second time on top of the first */
        const int *size = sizes[which % n];
        uint8_t *pixels = malloc((size_t)size[0] * (size_t)size[1] * 3);
        int error = pz_session_pixels(s, size[0], size[1], which % 3, pixels);
        EXPECT(!error || error == PZ_BAD_PARAMS, "picture of %d x %d: %s", size[0], size[1], pz_last_error());
        free(pixels);
    }
}

/* An expert's next key is legal, or there is none. */
static void expect_next_key(pz_session *s)
{
    int32_t action = -1;
    char *purpose = NULL;
    int error = pz_session_next_key(s, 1, &action, &purpose);
    EXPECT(error ? error == PZ_NO_PLAN : s->mask[action], "next key %d: %s", action, error ? pz_last_error() : purpose);
    pz_free(purpose);
}

static void play(const pz_puzzle *puzzle, const char *params, int seed, int steps)
{
    char digits[32];
    pz_session *s = NULL;
    where_puzzle = puzzle->name;
    where_params = params;
    snprintf(digits, sizeof digits, "%d", seed);
    int flags = PZ_FLAG_HISTORY | (seed % 3 ? PZ_FLAG_UNDO : 0);
    int error = pz_session_new(puzzle, params, digits, NULL, flags, 60, &s);
    EXPECT(!error, "new: %s", pz_last_error());
    if (error) return;
    pz_session *twin = clone(s);
    char *text;
    int changes = 0, solved = 0, lost = 0, episode = 0;
    const int before = failures;
    for (int step = 0; step < steps && twin && failures == before; step++) {
        expect_bounds(s);
        if (step % 97 == 0) expect_exact_mask(s);
        if (step % 193 == 0) {
            pz_session *loaded = reload(s);
            if (loaded) expect_same(s, loaded, "save and load");
            pz_session_free(twin);
            twin = loaded;
            if (!twin) break;
            error = pz_session_text(s, &text);
            EXPECT(!error && *text, "no text: %s", pz_last_error());
            if (!error) pz_free(text);
        }
        if (step % 61 == 0) expect_pictures(s, step / 61);
        if (step % 61 == 0 && puzzle->expert) expect_next_key(s);
        int a = (int)draw((uint64_t)s->n_actions);
        error = pz_session_step(s, a);
        EXPECT(!error, "step: %s", pz_last_error());
        error = pz_session_step(twin, a);
        EXPECT(!error, "step of the twin: %s", pz_last_error());
        changes += s->outcome->changed;
        expect_same(s, twin, "lockstep");
        if (step % 501 == 500) {
            error = pz_session_undo(s) || pz_session_undo(twin);
            EXPECT(!error, "undo: %s", pz_last_error());
            expect_same(s, twin, "undo");
        }
        if (s->outcome->status || step - episode > 3000) {
            solved += s->outcome->status > 0;
            lost += s->outcome->status < 0;
            episode = step;
            snprintf(digits, sizeof digits, "%d", seed + 1000 * step);
            error = pz_session_reset(s, NULL, digits, NULL, 60, NULL);
            EXPECT(!error, "reset: %s", pz_last_error());
            pz_session_free(twin);
            twin = clone(s);
        }
    }
    EXPECT(changes > 0, "nothing ever changed");
    pz_session_free(twin);
    twin = clone(s);
    if (twin) {
        error = pz_session_solve(twin);
        if (error == PZ_NO_SOLUTION)
            printf("note %s %s: no solution: %s\n", puzzle->name, params, pz_last_error());
        else
            EXPECT(!error && twin->outcome->status == 1, "solve leads to status %d, error %d %s", twin->outcome->status,
                   error, error ? pz_last_error() : "");
        expect_bounds(twin);
        pz_session *copy = error ? NULL : clone(twin);
        if (copy) expect_same(twin, copy, "clone of the solved game");
        pz_session_free(copy);
        pz_session_free(twin);
    }
    if (seed == 1) {
        error = pz_session_text(s, &text);
        EXPECT(!error, "no text");
        printf("%s %s #%d: %d of %d steps changed something, %d solved, %d lost, record of %d bytes\n%s\n",
               puzzle->name, params, seed, changes, steps, solved, lost, s->layout->record_size, error ? "" : text);
        if (!error) pz_free(text);
    }
    pz_session_free(s);
    EXPECT(pz_live_pools() == 0, "%zu pools are left", pz_live_pools());
}

/* ---- Threads ---- */

enum { THREADS = 4, SLOTS = 24 };

static void batch(const pz_puzzle *puzzle, int steps)
{
    pz_batch *b = NULL;
    pz_task task = {.puzzle = puzzle,
                    .params = puzzle->easiest,
                    .flags = PZ_FLAG_UNDO | PZ_FLAG_HISTORY,
                    .max_steps = 50,
                    .timeout = 60};
    int error = pz_batch_new(&task, SLOTS, THREADS, &b);
    EXPECT(!error, "batch: %s", pz_last_error());
    if (error) return;
    const size_t record = (size_t)pz_batch_layout(b)->record_size, frame = 64 * 64 * 3;
    pz_batch_buffers buffers = {.width = 64, .height = 64, .form = PZ_PICTURE_RGB};
    buffers.records = calloc(SLOTS, record);
    buffers.masks = calloc(SLOTS, PZ_MAX_ACTIONS);
    buffers.outcomes = calloc(SLOTS, sizeof(pz_outcome));
    buffers.final_records = calloc(SLOTS, record);
    buffers.final_masks = calloc(SLOTS, PZ_MAX_ACTIONS);
    buffers.frames = calloc(SLOTS, frame);
    buffers.final_frames = calloc(SLOTS, frame);
    int n = 0;
    while (puzzle->actions[n].name) n++;
    buffers.records_size = SLOTS * (int64_t)record;
    buffers.masks_size = SLOTS * (int64_t)n;
    buffers.outcomes_size = SLOTS * (int64_t)sizeof(pz_outcome);
    buffers.frames_size = SLOTS * (int64_t)frame;
    EXPECT(!pz_batch_bind(b, &buffers), "batch bind: %s", pz_last_error());
    uint64_t seeds[SLOTS], episodes[SLOTS] = {0};
    int64_t actions[SLOTS];
    for (int i = 0; i < SLOTS; i++) seeds[i] = (uint64_t)i;
    EXPECT(!pz_batch_reset(b, SLOTS, seeds, episodes, NULL), "batch reset: %s", pz_last_error());
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < SLOTS; i++) actions[i] = (int64_t)draw((uint64_t)n);
        error = pz_batch_step(b, SLOTS, actions, step < steps / 2 ? PZ_AUTORESET_SAME_STEP : PZ_AUTORESET_NEXT_STEP);
        EXPECT(!error, "batch step: %s", pz_last_error());
    }
    pz_batch_free(b);
    int32_t status[SLOTS], taken[SLOTS];
    for (int policy = PZ_POLICY_RANDOM; policy <= PZ_POLICY_MASKED; policy++) {
        volatile int64_t progress = 0;
        task.max_steps = steps;
        error = pz_rollout(&task, policy, THREADS, SLOTS, seeds, status, taken, NULL, &progress);
        EXPECT(!error, "rollout: %s", pz_last_error());
    }
    free(buffers.records), free(buffers.masks), free(buffers.outcomes), free(buffers.final_records);
    free(buffers.final_masks), free(buffers.frames), free(buffers.final_frames);
}

/*
 * All puzzles in one thread, each thread in another order: everything that the engine keeps in statics is hit
 * together.
 */
static void *alone(void *argument)
{
    const int offset = *(const int *)argument;
    for (int i = 0; i < pz_count(); i++) {
        const pz_puzzle *puzzle = pz_puzzle_at((i + offset * 10) % pz_count());
        pz_session *s = NULL, *copy = NULL, *again = NULL;
        const char *title, *params;
        char *text = NULL;
        uint8_t *bytes = NULL;
        int64_t size;
        uint8_t pixels[64 * 64 * 3];
        int bad = pz_session_new(puzzle, puzzle->easiest, "7", NULL, PZ_FLAG_UNDO, 60, &s);
        for (int step = 0; !bad && step < 60; step++) bad = pz_session_step(s, (step * 7 + step / 5) % s->n_actions);
        bad = bad || pz_session_save(s, &bytes, &size) || pz_session_load(bytes, size, &again);
        bad = bad || pz_session_text(s, &text) || pz_session_clone(s, &copy);
        if (!bad) pz_session_pixels(s, 64, 64, PZ_PICTURE_RGB, pixels);
        if (!bad && pz_can_solve(puzzle)) pz_session_solve(s);
        pz_session *refused = NULL;
        pz_session_new(puzzle, puzzle->easiest, NULL, "~", 0, 60, &refused); /* complaints lie in static buffers */
        if (pz_preset_count(puzzle)) pz_preset(puzzle, 0, &title, &params);
        if (bad) printf("FAIL %s: %s\n", puzzle->name, pz_last_error());
        pz_session_free(s);
        pz_session_free(copy);
        pz_session_free(again);
        pz_session_free(refused);
        pz_free(text);
        pz_free(bytes);
    }
    return NULL;
}

static void threads(int steps)
{
    /* Batches come first: whatever a puzzle does only once, it then does on several threads. */
    for (int p = 0; p < pz_count(); p++) {
        where_puzzle = pz_puzzle_at(p)->name;
        where_params = pz_puzzle_at(p)->easiest;
        batch(pz_puzzle_at(p), steps);
    }
    pthread_t team[THREADS];
    int numbers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        numbers[t] = t;
        pthread_create(&team[t], NULL, alone, &numbers[t]);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(team[t], NULL);
    printf("threads: %d puzzles, %d steps of %d slots on %d threads\n", pz_count(), steps, SLOTS, THREADS);
}

/* ---- The step rate ---- */

/* Seconds of work, not of waiting for a core. */

static int rate(double seconds)
{
    double sum[2] = {0, 0};
    for (int p = 0; p < pz_count(); p++) {
        const pz_puzzle *puzzle = pz_puzzle_at(p);
        printf("%-12s", puzzle->name);
        for (int what = PZ_LOOP_STEP; what <= PZ_LOOP_STEP_MASK; what++) {
            double best = 0;
            for (int round = 0; round < 5; round++) { /* the best: other work on the machine only ever slows it down */
                pz_loop_result result;
                if (pz_loop(puzzle, puzzle->easiest, 1, what, seconds / 5, &result)) return 1;
                const double now = (double)result.steps / result.by_processor;
                if (now > best) best = now;
            }
            sum[what] += log(best);
            printf("%12.0f", best);
        }
        printf("\n");
    }
    printf("%-12s%12.0f%12.0f   geometric mean of steps a second: without and with mask\n", "all",
           exp(sum[0] / pz_count()), exp(sum[1] / pz_count()));
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "all";
    if (!strcmp(name, "rate")) return rate(argc > 2 ? atof(argv[2]) : 1);
    int steps = argc > 2 ? atoi(argv[2]) : 2000, seeds = argc > 3 ? atoi(argv[3]) : 3;
    if (!strcmp(name, "threads")) {
        threads(argc > 2 ? steps : 100);
        printf("%d failures\n", failures);
        return failures != 0;
    }
    int before = 0;
    for (int p = 0; p < pz_count(); p++) {
        const pz_puzzle *puzzle = pz_puzzle_at(p);
        if (strcmp(name, "all") && strcmp(name, puzzle->name)) continue;
        const char *fallback = NULL;
        where_puzzle = puzzle->name;
        where_params = "(default)";
        EXPECT(!pz_params_canonical(puzzle, "", PZ_TO_READ, &fallback), "default: %s", pz_last_error());
        char usual[256];
        snprintf(usual, sizeof usual, "%s",
                 pz_preset_count(puzzle) && !pz_preset(puzzle, 0, &(const char *){0}, &fallback) ? fallback
                                                                                                 : puzzle->human);
        const char *levels[] = {puzzle->easiest, puzzle->human, usual};
        for (int seed = 1; seed <= seeds && failures == before; seed++) {
            for (int l = 0; l < 3 && argc <= 4; l++) play(puzzle, levels[l], seed, steps);
            for (int l = 4; l < argc; l++) play(puzzle, argv[l], seed, steps);
        }
        before = failures;
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
