/* SPDX-License-Identifier: MIT */
/* built.h - the instruction sets of a build, in order, plain C first, alone in built.c: a program
 * that is linked with one compiled model brings those that the model is for. */
#ifndef RILL_KERNELS_BUILT_H
#define RILL_KERNELS_BUILT_H
#include "kernels/kern.h"

struct kern_built {
    unsigned cpu;                 /* what a processor must have */
    void (*fill)(struct kern *k); /* NULL: the end */
};

extern const struct kern_built kern_built[];
#endif
