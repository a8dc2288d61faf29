/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_swapped.h"

#define PLACES_MIN 48      /* with fewer, too few panels wait for each other */
#define CHANNELS_MIN 48    /* with fewer, turning them costs little */
#define IMAGE_FLOATS 65536 /* of the places of a block, that stay in the second cache */
#define NEAR_FLOATS 8192   /* of those of a tile, in the first one */

bool conv_swapped_fits(const struct window3 *g, int64_t cin, int64_t cout)
{
    return g->n_kernel == 1 && window3_is_same(g) && g->n_out >= PLACES_MIN &&
        cin >= CHANNELS_MIN && cout >= CHANNELS_MIN;
}

/* Places of a block, whole panels. */
static size_t block_places(size_t cin, size_t places)
{
    const size_t n = IMAGE_FLOATS / cin / KERN_LANES * KERN_LANES,
                 all = (places + KERN_LANES - 1) / KERN_LANES * KERN_LANES, least = 4 * KERN_LANES;
    return n < least ? least < all ? least : all : n < all ? n : all;
}

size_t conv_swapped_floats(const struct window3 *g, int64_t cin)
{
    return block_places((size_t) cin, (size_t) g->n_out) * (size_t) cin + KERN_LANES;
}

/* n places from `first` on; the sums go on from the bias. */
static void block_run(const struct conv_swapped *u, size_t first, size_t n)
{
    const size_t most = NEAR_FLOATS / (u->k->tile_panels * KERN_LANES);
    struct kern_block b = { .step_panel = KERN_LANES * u->cin, .step_k = KERN_LANES, .n = n };
    float *y = u->y + first;
    kern_pack_f32(u->room, u->x + first, n, u->cin, 1, u->places);
    for (size_t i = 0; i < u->cin; i += b.k) {
        b.w = u->room + i * KERN_LANES;
        b.k = u->cin - i < most ? u->cin - i : most;
        b.more = i > 0;
        b.row_bias = b.more ? NULL : u->bias;
        u->k->gemm_block_f32(y, u->places, u->w + i, u->cin, &b, u->cout);
    }
}

void conv_swapped_run(const struct conv_swapped *u)
{
    const size_t some = block_places(u->cin, u->places);
    for (size_t i = 0; i < u->places; i += some)
        block_run(u, i, u->places - i < some ? u->places - i : some);
}
