/*
 * smalloc and its family, as pools with size classes.
 *
 * A block carries its class in front of it, goes to that class's free list when it is freed, and returns to the system
 * only with its pool. That is both what makes a step cheaper than with malloc and what makes faults harmless: the guard
 * may leave engine code at any point, and dropping the pool still frees everything.
 *
 * With PZ_PLAIN_MALLOC each block is one malloc in a list instead, so that AddressSanitizer sees every overrun.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/guard.h"
#include "host/memory.h"
#include "host/pages.h"

void *smalloc(size_t size);
void *srealloc(void *block, size_t size);
void sfree(void *block);
char *dupstr(const char *text);

size_t pz_pool_limit = (size_t)1 << 30;

static atomic_size_t live_pools;

size_t pz_live_pools(void)
{
    return atomic_load(&live_pools);
}

static pz_pool *current_pool(void)
{
    pz_guard *guard = pz_current_guard();
    return guard ? guard->pool : NULL;
}

#ifndef PZ_PLAIN_MALLOC

/* Four classes for each power of two: 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, ... */
enum { GRAIN = 16, LINEAR = 8, CLASSES = 128, FIRST_CHUNK = PZ_PAGE, LAST_CHUNK = 1 << 18 };

typedef struct block {
    _Alignas(16) union {
        struct block *next; /* while free */
        size_t unused;
    } u;
    size_t class;
} block;
/* The payload follows a header of 16 bytes, so it is aligned as malloc's would be, with pointers of any size. */
_Static_assert(sizeof(block) == 16, "the header must keep payloads aligned");

typedef struct chunk {
    _Alignas(16) struct chunk *next;
    size_t size;
} chunk;
_Static_assert(sizeof(chunk) == 16, "the header must keep payloads aligned");

/* The pool itself stands at the start of its first chunk, so that a small game is on one page. */
struct pz_pool {
    _Alignas(16) chunk first;
    chunk *chunks;
    char *bump, *end;
    size_t next_chunk, bytes, blocks;
    bool clean;
    block *free[CLASSES];
};

static inline unsigned class_of(size_t size)
{
    if (size <= GRAIN * LINEAR) return size ? (unsigned)((size - 1) / GRAIN) : 0;
    unsigned log = 63 - (unsigned)__builtin_clzll((unsigned long long)(size - 1));
    unsigned quarter = (unsigned)((size - 1) >> (log - 2)) & 3;
    return LINEAR + (log - 7) * 4 + quarter;
}

static inline size_t size_of_class(unsigned class)
{
    if (class < LINEAR) return (size_t)(class + 1) * GRAIN;
    unsigned log = (class - LINEAR) / 4 + 7, quarter = (class - LINEAR) % 4;
    return ((size_t)1 << log) + ((size_t)(quarter + 1) << (log - 2));
}

pz_pool *pz_pool_new(void)
{
    size_t size = FIRST_CHUNK;
    pz_pool *pool = pz_pages_take(&size);
    if (!pool) return NULL;
    *pool = (pz_pool){.first = {NULL, size}, .chunks = &pool->first, .bytes = size, .next_chunk = 2 * FIRST_CHUNK};
    pool->bump = (char *)(pool + 1);
    pool->end = (char *)pool + size;
    atomic_fetch_add(&live_pools, 1);
    return pool;
}

void pz_pool_free(pz_pool *pool)
{
    if (!pool) return;
    for (chunk *c = pool->chunks, *next; c; c = next) {
        next = c->next; /* the first chunk is the last one here */
        pz_pages_give(c, c->size);
    }
    atomic_fetch_sub(&live_pools, 1);
}

static void add_chunk(pz_pool *pool, size_t wanted)
{
    size_t size = pool->next_chunk;
    if (size < wanted + sizeof(chunk)) size = wanted + sizeof(chunk);
    if (size < wanted || pool->bytes + size > pz_pool_limit) pz_fail(PZ_ENGINE, "out of memory");
    chunk *c = pz_pages_take(&size);
    if (!c) pz_fail(PZ_ENGINE, "out of memory");
    c->next = pool->chunks;
    c->size = size;
    pool->chunks = c;
    pool->bytes += size;
    /* What was left of the last chunk is forgotten: chunks grow, so it is at most a fixed share of the pool. */
    pool->bump = (char *)c + sizeof(chunk);
    pool->end = (char *)c + size;
    if (pool->next_chunk < LAST_CHUNK) pool->next_chunk *= 2;
}

void *smalloc(size_t size)
{
    pz_tick();
    pz_pool *pool = current_pool();
    if (size > PTRDIFF_MAX / 2) pz_fail(PZ_ENGINE, "allocation too large");
    unsigned class = class_of(size);
    block *b = pool->free[class];
    if (b) {
        pool->free[class] = b->u.next;
    } else {
        size_t whole = size_of_class(class) + sizeof(block);
        if ((size_t)(pool->end - pool->bump) < whole) add_chunk(pool, whole);
        b = (block *)pool->bump;
        pool->bump += whole;
        b->class = class;
    }
    pool->blocks++;
    if (pool->clean) memset(b + 1, 0, size);
    return b + 1;
}

void sfree(void *payload)
{
    if (!payload) return;
    pz_pool *pool = current_pool();
    block *b = (block *)payload - 1;
    b->u.next = pool->free[b->class];
    pool->free[b->class] = b;
    pool->blocks--;
}

void *srealloc(void *payload, size_t size)
{
    if (!payload) return smalloc(size);
    size_t have = size_of_class((unsigned)((block *)payload - 1)->class);
    if (size <= have) return payload;
    void *moved = smalloc(size);
    memcpy(moved, payload, have);
    sfree(payload);
    return moved;
}

#else

typedef struct block {
    struct block *next, *previous;
    size_t size, unused;
} block;

struct pz_pool {
    block all;
    size_t bytes, blocks;
    bool clean;
};

pz_pool *pz_pool_new(void)
{
    pz_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;
    pool->all.next = pool->all.previous = &pool->all;
    atomic_fetch_add(&live_pools, 1);
    return pool;
}

void pz_pool_free(pz_pool *pool)
{
    if (!pool) return;
    for (block *b = pool->all.next, *next; b != &pool->all; b = next) {
        next = b->next;
        free(b);
    }
    free(pool);
    atomic_fetch_sub(&live_pools, 1);
}

void *smalloc(size_t size)
{
    pz_tick();
    pz_pool *pool = current_pool();
    if (size > PTRDIFF_MAX / 2) pz_fail(PZ_ENGINE, "allocation too large");
    if (pool->bytes + size > pz_pool_limit) pz_fail(PZ_ENGINE, "out of memory");
    block *b = malloc(sizeof *b + size);
    if (!b) pz_fail(PZ_ENGINE, "out of memory");
    b->size = size;
    b->next = pool->all.next;
    b->previous = &pool->all;
    b->next->previous = pool->all.next = b;
    pool->bytes += size;
    pool->blocks++;
    if (pool->clean) memset(b + 1, 0, size);
    return b + 1;
}

void sfree(void *payload)
{
    if (!payload) return;
    pz_pool *pool = current_pool();
    block *b = (block *)payload - 1;
    b->next->previous = b->previous;
    b->previous->next = b->next;
    pool->bytes -= b->size;
    pool->blocks--;
    free(b);
}

void *srealloc(void *payload, size_t size)
{
    if (!payload) return smalloc(size);
    size_t have = ((block *)payload - 1)->size;
    void *moved = smalloc(size);
    memcpy(moved, payload, have < size ? have : size);
    sfree(payload);
    return moved;
}

#endif

void pz_pool_clean(pz_pool *pool, bool clean)
{
    pool->clean = clean;
}

size_t pz_pool_bytes(const pz_pool *pool)
{
    return pool->bytes;
}

size_t pz_pool_blocks(const pz_pool *pool)
{
    return pool->blocks;
}

char *dupstr(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(smalloc(size), text, size);
}
