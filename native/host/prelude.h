/*
 * Forced in front of every file that holds engine code (-include prelude.h), to take away from the engine what it
 * must not have inside another process: the environment, loops that nobody can stop, and what differs by library.
 *
 * The standard headers come first, so that the macros below never touch them.
 */
#ifndef PZ_PRELUDE_H
#define PZ_PRELUDE_H

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
#include <time.h>

#include "host/guard.h"

/* Preferences come from us: a variable in the user's environment must not change what an action does. */
#define getenv pz_getenv

/* Items that compare as equal must come in the same order on every machine: see sort.c. */
void pz_qsort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));
#define qsort pz_qsort

/* Every turn of a while loop, and every start of a for loop, costs one unit of fuel: see guard.c. */
#define while(...) while (pz_tick(), (__VA_ARGS__))
/* clang-format off */
#define for if (pz_tick(), 0) {} else for
/* clang-format on */

#endif
