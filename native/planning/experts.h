/*
 * Experts: who gives the next key of a game. Where all is open to see that is the first key of a plan; where something
 * is hidden, the puzzle's record names an expert by sight, a function that is given what can be seen and nothing else.
 */
#ifndef PZ_EXPERTS_H
#define PZ_EXPERTS_H

#include "puzzle.h"

/* The fields of an observation by name; a name that is not there is a bug of ours, and fails. */
const pz_field *pz_sight_field(const pz_sight *seen, const char *name);
int pz_see(const pz_sight *seen, const pz_field *field, int i);
int pz_see1(const pz_sight *seen, const char *name); /* a scalar */

/* The number behind a letter in the parameters, or whether a letter is there at all. */
int pz_sight_number(const pz_sight *seen, char letter);
bool pz_sight_has(const pz_sight *seen, char letter);

/* An aim with its purpose. */
pz_aim pz_aim_at(int x, int y, int key, const char *purpose, ...) __attribute__((format(printf, 4, 5)));

/* A place of the cursor. */
enum { PZ_ANY = -1, PZ_TOUR = 10 };
typedef struct pz_stop {
    int x, y;
} pz_stop;

/*
 * Which of some stops, at least one, is the first on the shortest way over all of them to an end, whose y may be
 * PZ_ANY; of more than PZ_TOUR, the nearest. *keys, unless NULL, becomes the length of that way, or an estimate of it.
 */
int pz_first_stop(pz_stop from, const pz_stop *stops, int n, pz_stop end, int *keys);

pz_aim pz_blackbox_expert(const pz_sight *seen);
pz_aim pz_guess_expert(const pz_sight *seen);
pz_aim pz_mines_expert(const pz_sight *seen);

#endif
