/*
 * Memory for the engine: every game lives in a pool of its own, so that dropping the pool frees all of it, whatever
 * the engine leaked or a fault left behind.
 */
#ifndef PZ_MEMORY_H
#define PZ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pz_pool pz_pool;

pz_pool *pz_pool_new(void);
void pz_pool_free(pz_pool *pool);

/* How many bytes of the system the pool holds, and how many blocks are in use. */
size_t pz_pool_bytes(const pz_pool *pool);
size_t pz_pool_blocks(const pz_pool *pool);

/*
 * From now on hand out zeroed blocks, or as they come: what is saved byte by byte has padding, which must not depend on
 * what happened before.
 */
void pz_pool_clean(pz_pool *pool, bool clean);

/* Over all pools of the process: what tests count to find leaks. */
size_t pz_live_pools(void);

/*
 * Above this many bytes in one pool an allocation fails with "out of memory" instead of using up the machine's
 * memory.
 */
extern size_t pz_pool_limit;

#endif
