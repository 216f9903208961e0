/* Plans, the keys that lead from where a game stands to its solution; and what an expert would press next. */
#ifndef PZ_PLAN_H
#define PZ_PLAN_H

#include "session.h"

/* The actions of a plan, for the caller to pz_free; PZ_NO_PLAN where none was found. */
int pz_session_plan(pz_session *session, double timeout, int32_t **actions, int32_t *count);

/*
 * The next action of an expert, and what it is for (to pz_free). Where something is hidden it decides by what the
 * present player sees, and by nothing else; elsewhere it is the first action of a plan. PZ_NO_PLAN where it knows no
 * way on.
 */
int pz_session_next_key(pz_session *session, double timeout, int32_t *action, char **purpose);

#endif
