/* SPDX-License-Identifier: MIT */
/* pieces.h - a movement, element by element, as few strided pieces. */
#ifndef RILL_ENGINE_REWRITE_SETTLE_PIECES_H
#define RILL_ENGINE_REWRITE_SETTLE_PIECES_H
#include "engine/ops/strided_copy.h"

/* Where an element of an output comes from. input -1: it is in its place already. */
struct origin {
    int32_t input;
    uint32_t at;
};

/* Pieces that write output element i from o[i], for all i < n with an input. NULL: no memory. */
struct piece *pieces_from_origins(struct arena *a, const struct origin *o, size_t n,
                                  uint32_t *ret_n);

/* No element of input `base` is read after the pieces, in order, wrote over it, were the output to
 * lie there. */
bool pieces_in_place(struct arena *a, const struct piece *p, uint32_t n_pieces, int32_t base,
                     size_t n, bool *ret);
#endif
