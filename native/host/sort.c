/*
 * qsort for the engine. Which of two equal items comes first is a library's choice, and games depend on it: Undead's
 * description follows from the order of paths of the same length. This is the merge sort of the GNU library, so that
 * every machine makes the games that Linux makes.
 */
#include <string.h>

#include "host/guard.h"
#include "puzzles.h"

void pz_qsort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));

typedef int (*compare_items)(const void *, const void *);

static void merge_sort(char *items, size_t n, size_t size, compare_items compare, char *room)
{
    if (n < 2) return;
    const size_t half = n / 2;
    char *left = items, *middle = items + half * size, *right = middle, *end = items + n * size, *to = room;
    merge_sort(items, half, size, compare, room);
    merge_sort(middle, n - half, size, compare, room);
    for (; left < middle && right < end; to += size) {
        char **from = compare(left, right) <= 0 ? &left : &right;
        memcpy(to, *from, size);
        *from += size;
    }
    /* What is left of the right half stands where it belongs already. */
    memcpy(to, left, (size_t)(middle - left));
    memcpy(items, room, (size_t)(to - room) + (size_t)(middle - left));
}

void pz_qsort(void *items, size_t n, size_t size, compare_items compare)
{
    char *room = snewn(n * size + 1, char);
    merge_sort(items, n, size, compare, room);
    sfree(room);
}
