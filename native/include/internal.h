/* What session.c shares with batch.c and draw.c: the session's inside. */
#ifndef PZ_INTERNAL_H
#define PZ_INTERNAL_H

#include "session.h"

enum {
    PZ_HISTORY = 256,   /* how many moves can be undone: a bound on memory, beyond any need of the 40 puzzles */
    PZ_MAX_ACTIONS = 16
};

typedef uint64_t pz_repeat;

struct pz_session {
    const pz_puzzle *puzzle;
    int flags, n_actions;
    int fault;

    /* All that the engine allocated for this game lies in pool; scratch is set only while generating. */
    pz_pool *pool, *scratch;
    game_params *params;
    char *params_text, *seed, *desc, *privdesc, *aux;
    uint64_t instance, instance_hash;

    game_state *state;
    game_ui *ui, *trial_ui;
    int own[PZ_OWN], trial_own[PZ_OWN];
    bool stuck;
    drawing *dr;          /* draws nothing: interpret_move wants a drawstate to measure with */
    game_drawstate *ds;

    game_state **history; /* a ring of the states before, NULL where no undo is wanted */
    int history_start, history_length;

    pz_layout layout;
    const pz_field *first_ui_field;
    char *record, *own_record, *trial_record;
    uint8_t *mask, own_mask[PZ_MAX_ACTIONS];
    pz_outcome *outcome, own_outcome;

    pz_repeat *repeats;
    int32_t repeats_room, repeats_used;

    void *output;         /* the last text or save handed out */
};

void pz_step_guarded(pz_session *session, int action, bool with_mask);

#endif
