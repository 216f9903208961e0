/*
 * The graph that all searches walk on: states of a game, merged by their hash, and the actions between them.
 *
 * A node holds the engine's state and ui, and lies with them in the pool of its world: entering it copies both into a
 * working session, and a step there leads to the next node. Copies of one game share what the engine shares between its
 * states, so they all stay in one thread. Where an action would change what is shared (the first opening in Mines lays
 * the mines), the step is made in a clone: a world of its own, in which all that follows lives.
 */
#ifndef PZ_GRAPH_H
#define PZ_GRAPH_H

#include "search.h"
#include "session/internal.h"

typedef struct pz_node pz_node;

typedef struct pz_edge {
    pz_node *to;
    double total;
    int32_t visits;
    float prior;
} pz_edge;

struct pz_node {
    pz_session *world;
    game_state *state; /* NULL once a breadth-first search has done with it */
    game_ui *ui;
    int extra[PZ_EXTRA];
    uint64_t hash;
    char *record;
    pz_node *parent; /* breadth first only, with the action that led here */
    int32_t action, depth;
    int32_t visits, status;
    uint16_t legal;
    bool stuck, lost, on_path, pending, judged;
    pz_edge edges[];
};

/* From the root to a leaf; edge i leads from node i by actions[i]. */
typedef struct pz_path {
    pz_node **nodes;
    int32_t *actions;
    int length, room;
} pz_path;

struct pz_search {
    pz_session **worlds; /* the first is where the search began */
    int n_worlds;
    pz_session *passing; /* the world of one rollout */
    int n_actions, n_edges;
    size_t record_size;
    uint64_t noise;
    pz_owner owner;
    int fault;

    pz_node **table; /* open addressing */
    int64_t table_room;
    pz_node **all;
    int64_t count, max_nodes;
    pz_node *root;
    int horizon; /* steps that the session's own limit leaves */

    pz_path path;
    pz_path *pending;
    int n_pending, pending_room;
    int64_t ticket; /* counts selections */
    int32_t *plan, *trail; /* trail: the rollout's actions */
    int plan_length, plan_room, trail_room;
    uint64_t *on_the_way; /* hashes of the states along a plan */
    int64_t visited;
};

/* Claim the search for this thread: fails after a fault, and while another thread has it. */
int pz_search_claim(pz_search *search);
int pz_search_release(pz_search *search, int error); /* returns the error */

/* Run a piece of a claimed search under a guard; after an error the search is over. */
int pz_search_run(pz_search *search, pz_work work, void *context);

/* pz_search_simulate in a search that is claimed already, by whichever thread. */
int pz_search_grow(pz_search *search, int simulations, int rollout_depth, double c, double discount, int stop);

/* An array with room for at least so many items; keeps what is in it. */
void *pz_grown(void *array, int64_t wanted, size_t size);

/* ---- Worlds ---- */

pz_session *pz_clone_world(const pz_session *session);
/* A session without UNDO and without history: what is stuck has failed. */
void pz_strip(pz_session *world);
/* From now on the engine allocates in this world and tells it of superseded descriptions. */
void pz_work_in(pz_session *world);
/* Whether this action changes what all states of the world share. */
bool pz_changes_shared(const pz_session *world, int action);
void pz_write_world_mask(pz_session *world); /* all zero where the game is over */

/* ---- Nodes ---- */

/* Have the node's world stand where the node does. */
void pz_enter_node(const pz_node *node);
/* A copy of where the world stands now; not yet in the table. */
pz_node *pz_make_node(pz_search *search, pz_session *world);
void pz_free_state(pz_node *node);
/* One that is not in the table. */
void pz_free_node(pz_node *node);
/* The node of where the world stands now: the one that is known, or a new one; NULL when there is no more room. */
pz_node *pz_intern(pz_search *search, pz_session *world, bool *fresh);
/* Step from a node, in a world of its own where needed; returns that world, or NULL when nothing changed. */
pz_session *pz_step_from(pz_search *search, const pz_node *node, int action);
/* Where an edge of the graph leads; NULL when there is no more room. */
pz_node *pz_child_of(pz_search *search, pz_node *node, int action);

/* Keep these actions as the plan, if there is no shorter one: a path from the root, and more behind it. */
void pz_keep_plan(pz_search *search, const int32_t *actions, int length, const int32_t *more, int more_length);

#endif
