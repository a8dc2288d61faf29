/* SPDX-License-Identifier: MIT */
/* half.h - floats of 16 bits.
 *
 * A typed graph has none: a wire that is f16 or bf16 in the file is f32 there, holds numbers of
 * that type alone, and its fact says so (`number`). Ops compute in f32, and what a node of the file
 * gives out is rounded once, by a node behind it (RoundF16, RoundBF16), where it could be anything
 * else than one of those numbers already. */
#ifndef RILL_ENGINE_TYPING_HALF_H
#define RILL_ENGINE_TYPING_HALF_H
#include "engine/graph/op.h"

enum dtype half_of(const struct fact *f); /* what an f32 wire's numbers are: f16, bf16; or NONE */
bool half_differs(const struct fact *a, const struct fact *b);

struct fact half_as_f32(const struct fact *f);  /* a fact of the file, but its value, here */
struct fact half_in_file(const struct fact *f); /* and back; without a value where it is half */
/* A tensor of the file as it is here: itself unless it is half. NULL: no memory. */
const struct tensor *half_widened(struct arena *a, const struct tensor *t);
/* The numbers of a tensor of floats rounded to those of a half type, in f32. NULL: no memory. */
const struct tensor *half_rounded(struct arena *a, const struct tensor *t, enum dtype half);

/* n numbers, which may stay where they are. */
void half_round_numbers(float *y, const float *x, size_t n, enum dtype half);

/* A constant whose numbers are of a half type (or NONE); value NULL: no memory. */
uint32_t half_const(struct graph *g, const char *name, const struct tensor *value, enum dtype half);
/* One of a file. */
uint32_t half_file_const(struct graph *g, const char *name, const struct tensor *value);

/* The node to take for n, perhaps made in room: a Cast or CastLike to a half type is a rounding
 * where f32 comes in; a CastLike, whose second input is f32 here, or whose first is known, is a
 * Cast. ret_to: the half type; NONE of another node. */
rill_status half_cast(const struct node *n, const struct fact *const *facts, struct arena *a,
                      struct node *room, const struct node **ret, enum dtype *ret_to,
                      rill_error *reterr);
/* The facts as ops see them, which know f32 alone. */
rill_status half_hidden(const struct node *n, const struct fact *const *facts, struct arena *a,
                        const struct fact ***ret, rill_error *reterr);
/* Which half type each output of n has in the file, NONE where none, into ret; refused where inputs
 * of several float types meet that must agree. in: facts of the typed graph, out: what op_infer
 * makes of them hidden. */
rill_status half_infer(const struct node *n, const struct fact *const *in, const struct fact *out,
                       struct dims *dims, struct arena *a, enum dtype *ret, rill_error *reterr);
/* Rounds *wire of g by a node behind it, which takes its name. */
rill_status half_round(struct graph *g, const char *node, enum dtype half, uint32_t *wire,
                       rill_error *reterr);
/* The same of an input, which keeps its name. */
rill_status half_round_input(struct graph *g, enum dtype half, uint32_t *wire, rill_error *reterr);
/* Gives *wire, which n made, the numbers of a half type (NONE: of none). */
rill_status half_output(struct graph *g, const struct node *n, enum dtype half, uint32_t *wire,
                        rill_error *reterr);
#endif
