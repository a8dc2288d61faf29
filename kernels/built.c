/* SPDX-License-Identifier: MIT */
#include "kernels/built.h"

#include <stddef.h>

void kern_fill_c(struct kern *k);
#define X(name) void kern_fill_##name(struct kern *k);
KERN_BUILT(X)
#undef X

enum {
#define X(name, cpu) NEEDS_##name = (cpu),
    KERN_ISAS(X)
#undef X
};

const struct kern_built kern_built[] = { { 0, kern_fill_c },
#define X(name) { NEEDS_##name, kern_fill_##name },
                                         KERN_BUILT(X)
#undef X
                                             { 0, NULL } };
