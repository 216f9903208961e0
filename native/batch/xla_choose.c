/* The handler that chooses random legal actions: masks and keys go in, actions come out. */
#include "batch/xla_call.h"
#include "host/chance.h"
#include "session/internal.h"

/* Rows of masks are shared out evenly between the keys; where nothing is legal, the action is 0. */
static bool choose(const xla_call *call)
{
    const xla_buffer *keys = xla_buffer_at(&call->arguments, 0, XLA_U32);
    const xla_buffer *masks = xla_buffer_at(&call->arguments, 1, XLA_BOOL);
    if (!keys || !masks || !keys->rank || !masks->rank) return false;
    const int64_t words = keys->dims[keys->rank - 1], n_actions = masks->dims[masks->rank - 1];
    if (!words || !n_actions || n_actions > INT32_MAX) return false;
    const int64_t n_keys = xla_items_of(keys) / words, rows = xla_items_of(masks) / n_actions;
    int32_t *actions = xla_data_of(&call->results, 0, XLA_S32, rows);
    if (!actions || (n_keys ? rows % n_keys : rows)) return false;
    const uint32_t *key = keys->data;
    const uint8_t *mask = masks->data;
    for (int64_t k = 0; k < n_keys; k++, key += words) {
        uint64_t noise = pz_hash_bytes(key, (size_t)words * sizeof *key, 0);
        for (int64_t row = 0; row < rows / n_keys; row++, mask += n_actions) {
            const int action = pz_draw_legal(&noise, mask, (int)n_actions);
            *actions++ = action < 0 ? 0 : action;
        }
    }
    return true;
}

xla_error *xla_choose(xla_call *call)
{
    if (xla_answered(call)) return NULL;
    xla_error *error = xla_check_form(call);
    if (error) return error;
    return choose(call) ? NULL : xla_refuse(call, XLA_INVALID_ARGUMENT, "puzzleport: these are no keys and masks");
}
