/* SPDX-License-Identifier: MIT */
/* step_shapes.h - ports of a file by their names, and the shapes that are declared of its inputs.
 */
#ifndef RILL_CHECK_STEP_SHAPES_H
#define RILL_CHECK_STEP_SHAPES_H
#include "check/step_model.h"

/* The place in a list of ports, or WIRE_NONE. */
uint32_t step_port_find(const struct graph *g, const uint32_t *list, uint32_t n, const char *name);
/* INVALID, with the names that there are; what: "input", "output". */
rill_status step_port_missing(const struct graph *g, const uint32_t *list, uint32_t n,
                              const char *what, const char *name, rill_error *reterr);
rill_status step_input_find(const struct graph *g, const char *name, uint32_t *ret,
                            rill_error *reterr);

/* Inputs have the shapes of d. Axes of symbols that get a number by it have that number in the
 * inputs, too, of which d has no shape. */
rill_status step_shapes_apply(struct graph *g, const struct step_decl *d,
                              const rill_model_opts *opts, rill_error *reterr);

/* Whether opts, which may be NULL, set the symbol. */
bool step_symbol_is_set(const rill_model_opts *opts, const char *name);
#endif
