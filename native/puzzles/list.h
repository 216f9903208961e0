/* The puzzles, one row each, in alphabetical order: session/spec.c makes the table of them. */
#ifdef PZ_ONLY /* a build of one puzzle, for its sanitizer run */
#define PZ_PUZZLES(ROW) ROW(PZ_ONLY)
#else
#define PZ_PUZZLES(ROW) \
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
#endif
