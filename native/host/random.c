/* The engine's random generator, with fuel burnt at each draw: generators that never end still draw. */
#define random_bits engine_random_bits
#define random_upto engine_random_upto
#include <random.c>
#undef random_bits
#undef random_upto

unsigned long random_bits(random_state *state, int bits)
{
    pz_tick();
    return engine_random_bits(state, bits);
}

unsigned long random_upto(random_state *state, unsigned long limit)
{
    pz_tick();
    return engine_random_upto(state, limit);
}
