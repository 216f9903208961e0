#include "batch/xla_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/internal.h"
#include "xla.h"

/* ---- Errors and versions ---- */

xla_error *xla_refuse(const xla_call *call, int code, const char *format, ...)
{
    char message[PZ_MESSAGE + 100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    xla_new_error wanted = {.struct_size = sizeof wanted, .message = message, .code = code};
    return call->api->new_error(&wanted);
}

xla_error *xla_pass_on(const xla_call *call, int error, const char *where)
{
    const int code = error == PZ_TIMEOUT                                                   ? XLA_DEADLINE_EXCEEDED
                     : error == PZ_INTERRUPTED                                             ? XLA_CANCELLED
                     : error == PZ_CORRUPT || error == PZ_BAD_ID || error == PZ_BAD_PARAMS ? XLA_INVALID_ARGUMENT
                                                                                           : XLA_INTERNAL;
    return xla_refuse(call, code, "puzzleport: %s%s", where, pz_last_error());
}

static int used_minor = XLA_MINOR;

int pz_xla_use_version(int major, int minor)
{
    if (major != XLA_MAJOR) {
        char reason[PZ_MESSAGE];
        snprintf(reason, sizeof reason, "XLA's interface for foreign functions has version %d.%d here; %d.x is known",
                 major, minor, XLA_MAJOR);
        return pz_refuse(PZ_ENGINE, reason);
    }
    used_minor = minor < XLA_MINOR ? minor : XLA_MINOR;
    return PZ_OK;
}

bool xla_answered(const xla_call *call)
{
    for (xla_extension *one = call->extensions; one; one = one->next) {
        if (one->type != XLA_METADATA) continue;
        xla_metadata *metadata = ((xla_metadata_extension *)one)->metadata;
        metadata->version = (xla_version){
            .struct_size = sizeof metadata->version, .major = XLA_MAJOR, .minor = used_minor};
        metadata->traits = 0;
        return true;
    }
    return false;
}

xla_error *xla_check_form(const xla_call *call)
{
    if (call->api->version.major != XLA_MAJOR || !REACHES(call, attributes) || !REACHES(&call->arguments, all) ||
        !REACHES(&call->results, all) || !REACHES(&call->attributes, all))
        return xla_refuse(
            call, XLA_UNIMPLEMENTED,
            "puzzleport: XLA's interface for foreign functions has version %d.%d here, which is not known",
            call->api->version.major, call->api->version.minor);
    return NULL;
}

/* ---- Buffers ---- */

int64_t xla_items_of(const xla_buffer *buffer)
{
    int64_t items = 1;
    for (int64_t d = 0; d < buffer->rank; d++) items *= buffer->dims[d];
    return items;
}

const xla_buffer *xla_buffer_at(const xla_buffers *buffers, int64_t at, int type)
{
    if (at >= buffers->size || buffers->types[at] != XLA_IS_BUFFER) return NULL;
    const xla_buffer *buffer = buffers->all[at];
    return REACHES(buffer, dims) && buffer->type == type ? buffer : NULL;
}

void *xla_data_of(const xla_buffers *buffers, int64_t at, int type, int64_t items)
{
    const xla_buffer *buffer = xla_buffer_at(buffers, at, type);
    return buffer && xla_items_of(buffer) == items ? buffer->data : NULL;
}

void *xla_next(xla_results *results, int type, int64_t items)
{
    void *data = xla_data_of(results->all, results->at++, type, items);
    results->complete &= data != NULL;
    return data;
}

pz_ends xla_next_ends(xla_results *results, int64_t n)
{
    pz_ends ends = {.terminated = xla_next(results, XLA_BOOL, n)};
    ends.truncated = xla_next(results, XLA_BOOL, n);
    ends.solved = xla_next(results, XLA_BOOL, n);
    ends.lengths = xla_next(results, XLA_S32, n);
    return ends;
}

bool xla_read_actions(const xla_call *call, int64_t at, int64_t n, int64_t *actions)
{
    const int32_t *narrow = xla_data_of(&call->arguments, at, XLA_S32, n);
    const int64_t *wide = xla_data_of(&call->arguments, at, XLA_S64, n);
    for (int64_t i = 0; i < n && (narrow || wide); i++) actions[i] = narrow ? narrow[i] : wide[i];
    return narrow || wide;
}

/* ---- Attributes ---- */

enum { TEXT = 1024 * 64 };

static const void *attribute(const xla_call *call, const char *name, int kind)
{
    const xla_attributes *given = &call->attributes;
    for (int64_t i = 0; i < given->size; i++)
        if (given->types[i] == kind && given->names[i]->length == strlen(name) &&
            !memcmp(given->names[i]->start, name, strlen(name)))
            return given->all[i];
    return NULL;
}

char *xla_text_attribute(const xla_call *call, const char *name)
{
    const xla_span *span = attribute(call, name, XLA_IS_STRING);
    if (!span || !span->length || span->length > TEXT) return NULL;
    char *copy = malloc(span->length + 1);
    if (!copy) return NULL;
    memcpy(copy, span->start, span->length);
    copy[span->length] = '\0';
    return copy;
}

int64_t xla_int_attribute(const xla_call *call, const char *name)
{
    const xla_scalar *scalar = attribute(call, name, XLA_IS_SCALAR);
    return scalar && scalar->type == XLA_S64 ? *(const int64_t *)scalar->value : 0;
}

double xla_float_attribute(const xla_call *call, const char *name)
{
    const xla_scalar *scalar = attribute(call, name, XLA_IS_SCALAR);
    return scalar && scalar->type == XLA_F64 ? *(const double *)scalar->value : 0;
}

/* ---- Handlers ---- */

/* A function pointer becomes an object pointer here: POSIX has them alike, and a Python capsule holds only the latter.
 */
const pz_xla_target pz_xla_targets[] = {
    {"puzzleport_reset", (void *)xla_reset},   {"puzzleport_step", (void *)xla_step},
    {"puzzleport_init", (void *)xla_init},     {"puzzleport_step_pure", (void *)xla_step_pure},
    {"puzzleport_choose", (void *)xla_choose}, {NULL, NULL},
};
