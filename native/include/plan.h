/* Plans: keys that lead from where a game stands to its solution. */
#ifndef PZ_PLAN_H
#define PZ_PLAN_H

#include "session.h"

/* The actions of a plan, for the caller to pz_free; PZ_NO_PLAN where none was found. */
int pz_session_plan(pz_session *session, double timeout, int32_t **actions, int32_t *count);

#endif
