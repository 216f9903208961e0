/* Players: several cursors on one board, each with a ui of its own. */
#include <string.h>

#include "session/internal.h"

void pz_seat(pz_session *s, int n)
{
    s->players = s->players ? sresize(s->players, (size_t)n, pz_player) : snewn((size_t)n, pz_player);
    for (int p = s->n_players; p < n; p++) {
        pz_player *player = &s->players[p];
        memset(player->extra, 0, sizeof player->extra);
        pz_pool_clean(s->pool, true);
        player->ui = s->puzzle->engine->new_ui(s->state);
        pz_pool_clean(s->pool, false);
        if (s->puzzle->start_ui) s->puzzle->start_ui(s->state, player->ui, player->extra);
    }
    s->n_players = n;
}

void pz_change_places(pz_session *s, int player)
{
    if (player == s->player) return;
    pz_player *from = &s->players[s->player], *to = &s->players[player];
    from->ui = s->ui;
    memcpy(from->extra, s->extra, sizeof s->extra);
    s->ui = to->ui;
    memcpy(s->extra, to->extra, sizeof s->extra);
    s->player = player;
}

static void add_players(pz_session *s, void *context)
{
    const int n = *(const int *)context;
    if (n < s->n_players || n > PZ_MAX_PLAYERS)
        pz_fail(PZ_BAD_PARAMS, "there can be up to %d players, and none can leave", PZ_MAX_PLAYERS);
    if (n > s->n_players) pz_seat(s, n);
}

int pz_session_players(pz_session *s, int n)
{
    return pz_call(s, add_players, &n);
}

static void take_turn(pz_session *s, void *context)
{
    const int player = *(const int *)context;
    if (player < 0 || player >= s->n_players) pz_fail(PZ_BAD_PARAMS, "there is no player %d", player);
    pz_change_places(s, player);
    pz_observe_ui(s, s->state, s->ui, s->extra, s->record);
    pz_write_mask(s);
}

int pz_session_turn(pz_session *s, int player)
{
    return pz_call(s, take_turn, &player);
}

int pz_session_n_players(const pz_session *s)
{
    return s->n_players;
}

/* A save passes through all players: who asks meanwhile must not see one of these. */
int pz_session_player(pz_session *s, int *player)
{
    int refused = pz_claim(s);
    if (refused) return refused;
    *player = s->player;
    pz_release(s);
    return PZ_OK;
}
