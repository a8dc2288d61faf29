/* SPDX-License-Identifier: MIT */
/* elements.h - what streams carry: the types of ports, and how numbers of a caller go in. */
#ifndef RILL_LIB_ELEMENTS_H
#define RILL_LIB_ELEMENTS_H
#include "engine/graph/tensor.h"

#include <rill.h>

/* n elements of a caller's into a plan's memory, as the engine may have them. Real-time safe. */
typedef void element_take(void *to, const void *from, size_t n);

/* What a port of that type is to callers; NULL: streams do not carry it. */
struct element {
    rill_type type;
    uint32_t bytes;
    element_take *take;
};
const struct element *element_of(enum dtype t);

/* Audio of f32: samples that are not finite, or huge, become 0. */
element_take samples_take;

/* n elements that no output may depend on: not a number, far outside of every table, or, where a
 * type has but few numbers, not 0. For tests of the law. */
void elements_spoil(void *to, rill_type t, size_t n);
#endif
