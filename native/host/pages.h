/*
 * Where the pools take their chunks from: regions of 2 MB on huge pages. A batch touches a thousand games in every
 * step, and on small pages most of that time would be spent on translating addresses.
 */
#ifndef PZ_PAGES_H
#define PZ_PAGES_H

#include <stddef.h>

enum { PZ_PAGE = 4096 };

/*
 * A chunk of at least *size bytes, aligned as a page; *size becomes what it really has. NULL when there is no
 * memory.
 */
void *pz_pages_take(size_t *size);

/* Give it back, with the size that it really has. */
void pz_pages_give(void *chunk, size_t size);

#endif
