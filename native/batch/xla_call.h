/*
 * Calls from programs that XLA compiled: the part of XLA's stable C interface that our handlers use, version 0.3 and
 * before, and what reads it. Every struct of it begins with its size, and later minor versions only add to the end;
 * sizes and version are checked at run time.
 */
#ifndef PZ_XLA_CALL_H
#define PZ_XLA_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch.h"

enum { XLA_MAJOR = 0, XLA_MINOR = 3 };

enum xla_type { XLA_BOOL = 1, XLA_S32 = 4, XLA_S64 = 5, XLA_U8 = 6, XLA_U32 = 8, XLA_F32 = 11, XLA_F64 = 12 };
enum xla_code {
    XLA_CANCELLED = 1,
    XLA_INVALID_ARGUMENT = 3,
    XLA_DEADLINE_EXCEEDED = 4,
    XLA_FAILED_PRECONDITION = 9,
    XLA_UNIMPLEMENTED = 12,
    XLA_INTERNAL = 13
};
enum { XLA_METADATA = 1, XLA_EXECUTE = 3, XLA_IS_BUFFER = 1, XLA_IS_SCALAR = 3, XLA_IS_STRING = 4 };

typedef struct xla_error xla_error;

typedef struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
    size_t struct_size;
    xla_extension *extensions;
    int major, minor;
} xla_version;

typedef struct xla_metadata {
    size_t struct_size;
    xla_version version;
    uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
    xla_extension base;
    xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_new_error {
    size_t struct_size;
    xla_extension *extensions;
    const char *message;
    int code;
} xla_new_error;

typedef struct xla_api {
    size_t struct_size;
    xla_extension *extensions;
    xla_version version;
    const void *internal;
    xla_error *(*new_error)(xla_new_error *arguments);
} xla_api;

typedef struct xla_buffer {
    size_t struct_size;
    xla_extension *extensions;
    int type;
    void *data;
    int64_t rank;
    int64_t *dims;
} xla_buffer;

/* Arguments and results have the same form. */
typedef struct xla_buffers {
    size_t struct_size;
    xla_extension *extensions;
    int64_t size;
    const int *types;
    void **all;
} xla_buffers;

typedef struct xla_span {
    const char *start;
    size_t length;
} xla_span;

typedef struct xla_scalar {
    int type;
    void *value;
} xla_scalar;

typedef struct xla_attributes {
    size_t struct_size;
    xla_extension *extensions;
    int64_t size;
    const int *types;
    xla_span **names;
    void **all;
} xla_attributes;

typedef struct xla_call {
    size_t struct_size;
    xla_extension *extensions;
    const xla_api *api;
    void *context;
    int stage;
    xla_buffers arguments, results;
    xla_attributes attributes;
} xla_call;

/* A struct reaches at least to its last member that we know. */
#define REACHES(object, member) \
    ((object)->struct_size >= offsetof(__typeof__(*(object)), member) + sizeof(object)->member)

/* ---- Errors and versions ---- */

xla_error *xla_refuse(const xla_call *call, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The last error of the C side, for XLA. */
xla_error *xla_pass_on(const xla_call *call, int error, const char *where);
/* When a handler is registered, XLA asks for the version that it was made for: true where the call was that. */
bool xla_answered(const xla_call *call);
/* Whether a call has the form that we know; NULL when it has. */
xla_error *xla_check_form(const xla_call *call);

/* ---- Arguments, results and attributes ---- */

int64_t xla_items_of(const xla_buffer *buffer);
/* The buffer at this place if it is of this type, else NULL; and its data if it has so many items. */
const xla_buffer *xla_buffer_at(const xla_buffers *buffers, int64_t at, int type);
void *xla_data_of(const xla_buffers *buffers, int64_t at, int type, int64_t items);

/* Results one after the other; complete stays true while each is there, with its type and its number of items. */
typedef struct xla_results {
    const xla_buffers *all;
    int64_t at;
    bool complete;
} xla_results;
void *xla_next(xla_results *results, int type, int64_t items);
/* Those that say how n episodes stand, but for done: terminated, truncated, solved, lengths. */
pz_ends xla_next_ends(xla_results *results, int64_t n);
bool xla_read_actions(const xla_call *call, int64_t at, int64_t n, int64_t *actions);

/* A copy, to be freed. NULL where it is empty: all texts that may be missing are never empty. */
char *xla_text_attribute(const xla_call *call, const char *name);
/* 0 where there is none. */
int64_t xla_int_attribute(const xla_call *call, const char *name);
double xla_float_attribute(const xla_call *call, const char *name);

/* ---- Handlers ---- */

xla_error *xla_reset(xla_call *call);
xla_error *xla_step(xla_call *call);
xla_error *xla_init(xla_call *call);
xla_error *xla_step_pure(xla_call *call);
xla_error *xla_choose(xla_call *call);

#endif
