/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_ways.h"
#include "engine/ops/conv_swapped.h"
#include "engine/ops/many.h"

#define FAST_PLACES 17 /* of a product whose terms are turned in vectors */
#define MANY_TERMS 128
#define WEIGHTS_FLOATS 32768 /* that stay in the second cache beside all else */
#define MASKS_MAX ((size_t) 1 << 22)
#define GROUP_PRODUCT                                                                              \
    40 /* vector operations that the product of one group costs whatever its size */

/* A row of a whole sequence may be too long for masks where that of a pulse is not: all ways give
 * the same bits. */
static bool masks_fit(const struct conv_rows *v)
{
    for (int64_t i = 0; i < v->n_phases; i++) {
        const struct kern_conv *row = &v->phase[i].row;
        size_t vecs = row->n / 16 + 1;
        if (row->n_taps > MASKS_MAX / vecs)
            return false;
    }
    return true;
}

/* Vector operations, roughly, of a row of one phase in each way. */
struct costs {
    double product, places, channels;
};

static double least(double a, double b)
{
    return a > b ? a : b;
}

/* Terms of a product are read where they lie, or turned with what lies beside them. */
static bool product_is_fast(const struct conv_rows *v)
{
    return v->tiles_fit || (v->g.n_out >= FAST_PLACES && v->cin >= 4 && window3_is_same(&v->g));
}

/* So many terms that turning them is nothing beside the product, whose tiles keep more sums under
 * way where vectors are short. */
static bool turns_many(const struct conv_rows *v)
{
    return product_is_fast(v) && !v->tiles_fit && v->cin >= MANY_TERMS && v->cout >= MANY_TERMS;
}

static struct costs row_costs(const struct conv_rows *v, const struct conv_phase *p)
{
    double k = (double) p->n_weights, n = (double) p->row.n, vecs = (double) ((p->row.n + 15) / 16),
           cout = (double) v->cout;
    double panels = (double) ((v->cout + 15) / 16), lines = (double) (p->n_lines * p->span) / 8;
    double each = product_is_fast(v) ? 0.3 : 1; /* of what is moved */
    double chains = least(n, n == 3 ? 8 : 4);   /* a few wait for themselves */
    return (struct costs) {
        /* measured on a machine with AVX-512; the others differ alike */
        .product = n * k * panels + (v->in_place || v->tiles_fit ? 0 : each * n * k) +
            (v->g.n_out > 1 ? each * n * cout : 0) + (v->group > 1 ? GROUP_PRODUCT : 0),
        .places = vecs * (1.2 * k * (cout + (p->row.stride > 2 ? 24 : 1)) + cout),
        .channels = chains * k *
                (v->cout <= 8 ? 0.6
                     : n < 16 ? 1.1 * panels
                              : panels) +
            0.4 * n * cout + (v->inside ? 0 : lines),
    };
}

/* Lanes along the places of all rows (conv_flat.h). */
static bool flat_fits(const struct conv_rows *v)
{
    return (v->cout == 1 || v->group == 1) && !v->transposed && conv_flat_fits(&v->g, v->cin);
}

/* A row's share of those of all rows: their products, and what is turned and cut off. */
static double flat_cost(const struct conv_rows *v)
{
    const double k = (double) v->phase[0].n_weights, rows = (double) (v->g.out[0] * v->g.out[1]),
                 vecs = (double) conv_flat_vecs(&v->g) / rows;
    return (double) v->cout * (vecs * (1.2 * k + 1) + 1) + (double) (v->cin * v->g.n_in) / 4 / rows;
}

/* One row, of the only line that there is. */
static bool one_line(const struct window3 *g)
{
    bool ret = true;
    for (int i = 0; i < 2; i++)
        ret = ret && g->in[i] == 1 && g->out[i] == 1 && g->before[i] == 0;
    return ret;
}

/* A few places of many groups: in each a chain of taps waits for itself. Cycles of 16 groups on a
 * machine with AVX2, in lanes along places and along groups, whose windows are turned by squares.
 */
static bool groups_pay(const struct conv_rows *v)
{
    const struct kern_conv *row = &v->phase[0].row;
    const size_t n = row->n, taps = row->n_taps,
                 reach = n ? (n - 1) * row->stride + (taps - 1) * (size_t) row->step + 1 : 0;
    if (v->cout != 1 || v->cin != 1 || v->group <= KERN_LANES / 2 || v->transposed || !v->inside ||
        v->phase[0].n_lines != 1 || !one_line(&v->g) || !n || n > KERN_GROUPS_PLACES ||
        reach > KERN_GROUPS_REACH)
        return false;
    const size_t squares = (reach + 15) / 16 + (n > 1);
    return 90 * squares + 8 * taps * ((n + 3) / 4) < 16 * (2 * taps + 10);
}

enum conv_way conv_way_choose(const struct conv_rows *v)
{
    struct costs all = { 0 };
    bool strides = true;
    if (!v->transposed && conv_swapped_fits(&v->g, v->cin, v->cout))
        return CONV_SWAPPED;
    if (groups_pay(v))
        return CONV_GROUPS;
    if (flat_fits(v) && v->group > 1)
        return CONV_FLAT; /* no other way fills them */
    for (int64_t i = 0; i < v->n_phases; i++) {
        struct costs c = row_costs(v, &v->phase[i]);
        all.product += c.product;
        all.places += c.places;
        all.channels += c.channels;
        strides = strides && v->phase[i].row.stride <= 2;
    }
    if (v->g.n_out <= MANY_ROWS_EACH && v->cin * v->cout * v->g.n_kernel > WEIGHTS_FLOATS)
        return CONV_PRODUCT; /* many streams share one reading of the weights */
    if (flat_fits(v) && flat_cost(v) < least(least(all.places, all.product), all.channels))
        return CONV_FLAT;
    if (strides && v->cout > 2 && all.channels < all.places && all.channels < all.product &&
        !turns_many(v))
        return CONV_CHANNELS;
    return masks_fit(v) && all.places <= all.product ? CONV_PLACES : CONV_PRODUCT;
}
