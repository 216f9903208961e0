/* Which addresses of our code ran since the table was last cleared: tools/covered.py reads it between two tests. */
#include <stdint.h>

#define PZ_SHOWN __attribute__((visibility("default")))
enum { TEXT = 1 << 23 };

extern const char __ehdr_start __attribute__((visibility("hidden")));
extern PZ_SHOWN unsigned char pz_ran[TEXT];
unsigned char pz_ran[TEXT];

void __sanitizer_cov_trace_pc(void);

/* The compiler calls this at the start of every basic block. */
void __sanitizer_cov_trace_pc(void)
{
    uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__ehdr_start;
    if (at < TEXT) pz_ran[at] = 1;
}
