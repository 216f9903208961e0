/*
 * Chunks by the buddy system: a region is halved until the piece fits, and a piece that is given back joins its other
 * half again if that is free too. A region without any piece in use goes back to the system, but for one that is kept.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "host/guard.h"
#include "host/pages.h"

/*
 * A piece of order o has PZ_PAGE << o bytes; the largest is half a region, as the region's own page takes from the
 * other.
 */
enum { REGION = 1 << 21, PAGES = REGION / PZ_PAGE, ORDERS = 9 };

typedef struct piece {
    struct piece *next, *previous;
} piece;

typedef struct region {
    struct region *next, *previous; /* of those with room */
    int used;                       /* pieces */
    piece *free[ORDERS];
    uint8_t order[PAGES];           /* where a free piece begins: its order plus one; elsewhere 0 */
} region;
_Static_assert(sizeof(region) <= PZ_PAGE, "a region's own page holds what is known of it");

PZ_LOCK(lock)
static region *with_room, *spare; /* the spare one is among those with room */

static size_t page_of(const region *r, const void *at)
{
    return (size_t)((const char *)at - (const char *)r) / PZ_PAGE;
}

static bool has_room(const region *r)
{
    for (int o = 0; o < ORDERS; o++)
        if (r->free[o]) return true;
    return false;
}

static void put_free(region *r, void *at, int order)
{
    piece *p = at;
    p->previous = NULL;
    p->next = r->free[order];
    if (p->next) p->next->previous = p;
    r->free[order] = p;
    r->order[page_of(r, at)] = (uint8_t)(order + 1);
}

static void take_free(region *r, piece *p, int order)
{
    if (p->previous)
        p->previous->next = p->next;
    else
        r->free[order] = p->next;
    if (p->next) p->next->previous = p->previous;
    r->order[page_of(r, p)] = 0;
}

static void link_region(region *r)
{
    r->previous = NULL;
    r->next = with_room;
    if (with_room) with_room->previous = r;
    with_room = r;
}

static void unlink_region(region *r)
{
    if (r->previous)
        r->previous->next = r->next;
    else
        with_room = r->next;
    if (r->next) r->next->previous = r->previous;
}

/*
 * Regions come from the system and go back to it: the allocator of the C library would keep those that it gets back for
 * as long as anything lies behind them.
 */
#ifdef __EMSCRIPTEN__

static void *new_region(void)
{
    return aligned_alloc(REGION, REGION);
}

static void give_back(region *r)
{
    free(r);
}

#else

static void *new_region(void)
{
    char *at = mmap(NULL, 2 * REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    const size_t before = -(uintptr_t)at & (REGION - 1); /* to where a region may begin */
    if (before) munmap(at, before);
    munmap(at + before + REGION, REGION - before);
    return at + before;
}

static void give_back(region *r)
{
    if (r) munmap(r, REGION);
}

#endif

static region *add_region(void)
{
    region *r = new_region();
    if (!r) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(r, REGION, MADV_HUGEPAGE); /* a hint: without it all works the same, slower */
#endif
    *r = (region){.used = 0};
    /* What follows the region's own page is one free piece of each order. */
    for (int o = 0; o < ORDERS; o++) put_free(r, (char *)r + ((size_t)PZ_PAGE << o), o);
    link_region(r);
    return r;
}

static int order_of(size_t size)
{
    int order = 0;
    while (((size_t)PZ_PAGE << order) < size && order < ORDERS) order++;
    return order;
}

static void *take_from(region *r, int order)
{
    int o = order;
    while (o < ORDERS && !r->free[o]) o++;
    if (o == ORDERS) return NULL;
    piece *p = r->free[o];
    take_free(r, p, o);
    while (o > order) {
        o--;
        put_free(r, (char *)p + ((size_t)PZ_PAGE << o), o);
    }
    r->used++;
    if (r == spare) spare = NULL;
    if (!has_room(r)) unlink_region(r);
    return p;
}

void *pz_pages_take(size_t *size)
{
    const int order = order_of(*size);
    if (order == ORDERS) return malloc(*size); /* so large that it is alone on its pages anyway */
    *size = (size_t)PZ_PAGE << order;
    pthread_mutex_lock(&lock);
    void *at = NULL;
    for (region *r = with_room; r && !at; r = r->next) at = take_from(r, order);
    if (!at) {
        region *r = add_region();
        if (r) at = take_from(r, order);
    }
    pthread_mutex_unlock(&lock);
    return at;
}

void pz_pages_give(void *at, size_t size)
{
    int order = order_of(size);
    if (order == ORDERS) {
        free(at);
        return;
    }
    region *r = (region *)((uintptr_t)at & ~(uintptr_t)(REGION - 1));
    region *idle = NULL;
    pthread_mutex_lock(&lock);
    if (!has_room(r)) link_region(r);
    for (; order < ORDERS - 1; order++) {
        const size_t other = page_of(r, at) ^ ((size_t)1 << order);
        if (r->order[other] != order + 1) break;
        take_free(r, (piece *)((char *)r + other * PZ_PAGE), order);
        at = (void *)((uintptr_t)at & ~(((uintptr_t)PZ_PAGE << (order + 1)) - 1));
    }
    put_free(r, at, order);
    if (--r->used == 0) {
        idle = spare;
        spare = r;
        if (idle) unlink_region(idle);
    }
    pthread_mutex_unlock(&lock);
    give_back(idle);
}
