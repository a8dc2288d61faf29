/* SPDX-License-Identifier: MIT */
/* Steps of attention in the forms of masks.h. */
#include "tests/pulse/masks.h"
#include "tests/pulse/steps.h"

static void masked_emit(struct gb *b, struct stage *s, const struct written *t)
{
    uint32_t x = gb_transpose(b, s->wire, "0,2,1");
    s->wire = gb_transpose(b, masked_attention(b, x, s->channels, t), "0,2,1");
}

/* Each under a mask that shows a query its own frame. */
static void emit_masked(struct gb *b, struct stage *s, const int *v)
{
    masked_emit(b, s,
                &(struct written) {
                    .mask = v[0], .laid = v[1], .bias = v[2], .product = v[3], .pad = v[4] });
}

static void emit_distances(struct gb *b, struct stage *s, const int *v)
{
    masked_emit(b, s,
                &(struct written) { .mask = v[0], .laid = v[1], .shift = v[2], .product = v[3] });
}

/* clang-format off */
const struct step_kind steps_masks[] = {
    { "masked", { { "mask", BAND, CHUNKS, BAND }, { "laid", WHERE, MEANS, WHERE },
      { "bias", PLAIN, CONTENT, PLAIN }, { "product", MATMUL, HEADS, MATMUL },
      { "pad", NO_PAD, PAD_TILED, NO_PAD } }, emit_masked },
    { "distances", { { "mask", BAND, CHUNKS, BAND }, { "laid", WHERE, NAN_BEHIND, WHERE },
      { "shift", SINUSOIDS, SCALED, SINUSOIDS }, { "product", MATMUL, EINSUM_TURNED, MATMUL } },
      emit_distances },
    { NULL, { { NULL, 0, 0, 0 } }, NULL },
};
/* clang-format on */
