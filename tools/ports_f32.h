/* SPDX-License-Identifier: MIT */
/* ports_f32.h - a model whose ports are compared as f32: those of other types get a Cast. */
#ifndef TOOLS_PORTS_F32_H
#define TOOLS_PORTS_F32_H
#include "lib/model.h"

/* What is left of a whole number when it became f32, as an output of its own: this behind the
 * port's name. Both together are exact below 2^48. */
#define PORT_REST " (rest)"

/* Inputs of other types are taken as f32 and cast to what is wanted, outputs are cast to f32, and
 * those of whole numbers get their rests; then the graph is simplified anew. Nothing happens to a
 * model of f32 alone. */
rill_status ports_as_f32(rill_model *m, rill_error *reterr);
#endif
