/*
 * Hashes of what is observed, and how often the present observation was seen in this episode.
 *
 * The table of repeats is open addressing; an entry is 40 bits of hash over 24 bits of count.
 */
#include <string.h>

#include "session/internal.h"

enum { COUNT_MASK = 0xFFFFFF };

uint64_t pz_hash_bytes(const void *bytes, size_t size, uint64_t hash)
{
    const char *at = bytes;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    uint64_t rest = size;
    memcpy(&rest, at, size);
    hash = (hash ^ rest) * 0xBF58476D1CE4E5B9u;
    return hash ^ (hash >> 32);
}

uint64_t pz_episode_seed(uint64_t seed, uint64_t episode)
{
    if (!episode) return seed;
    const uint64_t key[2] = {seed, episode};
    /* 53 bits: exact in every number type that a framework may carry a seed in. */
    return pz_hash_bytes(key, sizeof key, 0x243F6A8885A308D3u) >> 11;
}

static uint32_t place_of(int32_t room, uint64_t key)
{
    return (uint32_t)(key >> 24) & (uint32_t)(room - 1);
}

pz_repeat *pz_repeats_find(pz_repeat *table, int32_t room, uint64_t entry)
{
    const uint64_t key = entry & ~(uint64_t)COUNT_MASK;
    uint32_t at = place_of(room, key);
    for (;; at = (at + 1) & (uint32_t)(room - 1))
        if (!table[at] || (table[at] & ~(uint64_t)COUNT_MASK) == key) return &table[at];
}

pz_repeat *pz_repeats_new(int32_t room)
{
    pz_repeat *table = snewn((size_t)room, pz_repeat);
    return memset(table, 0, (size_t)room * sizeof *table);
}

uint64_t pz_repeats_key(const pz_session *s)
{
    /* The highest bit tells an entry from a free place. */
    return (pz_hash_bytes(s->record, (size_t)s->layout->record_size, 1) & ~(uint64_t)COUNT_MASK) | ((uint64_t)1 << 63);
}

void pz_repeats_fetch(const pz_session *s, uint64_t key)
{
    if (s->repeats_room) pz_fetch(&s->repeats[place_of(s->repeats_room, key)], sizeof *s->repeats);
}

void pz_repeats_count(pz_session *s, uint64_t key)
{
    if (s->repeats_used * 2 >= s->repeats_room && s->repeats_room < PZ_REPEATS_LAST) {
        int32_t room = s->repeats_room ? s->repeats_room * 2 : PZ_REPEATS_FIRST;
        pz_repeat *table = pz_repeats_new(room);
        for (int32_t i = 0; i < s->repeats_room; i++)
            if (s->repeats[i]) *pz_repeats_find(table, room, s->repeats[i]) = s->repeats[i];
        sfree(s->repeats);
        s->repeats = table;
        s->repeats_room = room;
    }
    uint64_t *entry = pz_repeats_find(s->repeats, s->repeats_room, key);
    s->outcome->repeats = 0;
    if (!*entry) {
        /* Past the bound, states not seen before stay uncounted: an episode of that length repeats little. */
        if (s->repeats_used * 4 >= s->repeats_room * 3) return;
        s->repeats_used++;
        *entry = key;
    }
    if ((*entry & COUNT_MASK) < COUNT_MASK) ++*entry;
    s->outcome->repeats = (int32_t)(*entry & COUNT_MASK) - 1;
}
