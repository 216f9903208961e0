/*
 * What a step pays: for how the game stands, and for the change of a potential. The potential says how much of the way
 * to the solution is left and how many errors the board shows; core/rewards.py reckons the same for a single game.
 */
#include <math.h>
#include <string.h>

#include "session/internal.h"

/* Of these fields: how many items differ from those of another record, or are not zero where there is none. */
static int count_items(const pz_session *s, uint32_t fields, const char *other)
{
    int count = 0;
    for (int f = 0; f < s->layout->n_fields; f++) {
        if (!(fields >> f & 1)) continue;
        const pz_field *field = &s->layout->fields[f];
        for (int i = 0; i < field->count; i++)
            count += pz_item(field, s->record, i) != (other ? pz_item(field, other, i) : 0);
    }
    return count;
}

/* The board fields that the solution changes. */
static uint32_t changed_fields(const pz_session *s, const char *solution)
{
    uint32_t fields = 0;
    for (int f = 0; f < s->layout->n_board_fields; f++)
        if (count_items(s, 1u << f, solution)) fields |= 1u << f;
    return fields;
}

static void look_for_solution(pz_session *s, void *context)
{
    const pz_pay *pay = context;
    char *solution = snewn(s->layout->record_size, char);
    memset(solution, 0, (size_t)s->layout->record_size);
    pz_write_solution(s, solution);
    s->way.compared = pay->compared ? pay->compared : changed_fields(s, solution);
    s->way.wrong_at_start = count_items(s, s->way.compared, solution);
    /* Last: an error before leaves the way unknown. So does a solution that changes nothing. */
    if (s->way.compared)
        s->way.solution = solution;
    else
        sfree(solution);
}

/* NaN while no solution is known: Mines has none before its first square is opened. */
static double potential(pz_session *s, const pz_pay *pay)
{
    double way = 0;
    if (pay->solution) {
        if (!s->way.solution) return NAN;
        const int wrong = s->outcome->status > 0 ? 0 : count_items(s, s->way.compared, s->way.solution);
        way = pay->solution * (-(double)wrong / (s->way.wrong_at_start > 1 ? s->way.wrong_at_start : 1));
    }
    return way + pay->errors * count_items(s, pay->counted, NULL);
}

int pz_pay_look(pz_session *s, const pz_pay *pay)
{
    int error = PZ_OK;
    if (pay->solution && !s->way.solution)
        error = pz_guarded(s->pool, s, pz_step_timeout, true, look_for_solution, (void *)pay);
    if (error && error != PZ_NO_SOLUTION) return error;
    s->way.potential = potential(s, pay);
    return PZ_OK;
}

double pz_pay_step(pz_session *s, const pz_pay *pay)
{
    const int status = s->outcome->status;
    double paid = pay->step + (status > 0 ? pay->solved : status < 0 ? pay->failed : 0);
    if (!s->outcome->changed) paid += pay->no_effect;
    if (!pay->solution && !pay->errors) return paid;
    const double before = s->way.potential;
    int error = pz_pay_look(s, pay);
    if (error) pz_fail(error, "%s", pz_last_error());
    const double gained = s->way.potential - before;
    return isnan(gained) ? paid : paid + gained;
}
