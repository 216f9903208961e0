/*
 * Shadows the system's <assert.h> for the engine's sources: a failed assertion must reach the guard, not abort().
 * Like the original it may be included any number of times.
 */
#undef assert
#define assert(condition) ((condition) ? (void)0 : pz_assertion_failed(#condition, __FILE__, __LINE__))
#ifndef static_assert
#define static_assert _Static_assert
#endif
