/* SPDX-License-Identifier: MIT */
/* reshapes.h - an axis of an input gets another size than the file says: Reshapes whose constant
 * targets repeat the old size follow it. */
#ifndef RILL_CHECK_RESHAPES_H
#define RILL_CHECK_RESHAPES_H
#include "engine/graph/graph.h"

/* Reads the file, with what is declared of its inputs or as it stands. */
struct shape_reader {
    rill_status (*read)(void *arg, bool declared, struct mgraph *ret, struct arena *a,
                        struct dims *dims, rill_error *err);
    void *arg;
};

/* m: what r reads with the declared shapes. Where an axis that had a known size and now mentions a
 * symbol goes into a Reshape whole, or with others beside it, the element of the constant target
 * that held its size becomes the new one. Elements that hold a part of it stay. */
rill_status reshapes_follow(struct mgraph *m, const struct shape_reader *r, rill_error *reterr);
#endif
