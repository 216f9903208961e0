/* The puzzles, one row each, in alphabetical order. */
#include "session.h"

#define PUZZLES(ROW) \
    ROW(blackbox) \
    ROW(bridges) \
    ROW(cube) \
    ROW(dominosa) \
    ROW(fifteen) \
    ROW(filling) \
    ROW(flip) \
    ROW(flood) \
    ROW(galaxies) \
    ROW(guess) \
    ROW(inertia) \
    ROW(keen) \
    ROW(lightup) \
    ROW(loopy) \
    ROW(magnets) \
    ROW(map) \
    ROW(mines) \
    ROW(mosaic) \
    ROW(net) \
    ROW(netslide) \
    ROW(palisade) \
    ROW(pattern) \
    ROW(pearl) \
    ROW(pegs) \
    ROW(range) \
    ROW(rect) \
    ROW(samegame) \
    ROW(signpost) \
    ROW(singles) \
    ROW(sixteen) \
    ROW(slant) \
    ROW(solo) \
    ROW(tents) \
    ROW(towers) \
    ROW(tracks) \
    ROW(twiddle) \
    ROW(undead) \
    ROW(unequal) \
    ROW(unruly) \
    ROW(untangle)

#ifdef PZ_ONLY /* a build of one puzzle, for its sanitizer run */
#undef PUZZLES
#define PUZZLES(ROW) ROW(PZ_ONLY)
#endif

#define DECLARE_EXPANDED(id) extern const pz_puzzle pz_puzzle_##id;
#define DECLARE(id) DECLARE_EXPANDED(id)
PUZZLES(DECLARE)

#define ADDRESS_EXPANDED(id) &pz_puzzle_##id,
#define ADDRESS(id) ADDRESS_EXPANDED(id)
static const pz_puzzle *const puzzles[] = {PUZZLES(ADDRESS)};

int pz_count(void)
{
    return (int)(sizeof puzzles / sizeof *puzzles);
}

const pz_puzzle *pz_puzzle_at(int index)
{
    return puzzles[index];
}
