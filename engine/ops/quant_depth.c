/* SPDX-License-Identifier: MIT */
/* x is turned into places of all channels, with its padding; its windows are summed (places_sum in
 * kernels/kern.h), scaled, and turned back, some places at once. */
#include "engine/ops/quant_depth.h"
#include "kernels/bytes.h"

#include <string.h>

#define CHANNELS_MIN 16
#define X_BYTES_MAX (256 << 10) /* more would leave the second cache */
#define PLACES_MOST 64          /* whose sums are turned back at once; a multiple of 16 */

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* ---- plan ---- */

static void sides_set(struct depth *d)
{
    const struct window3 *g = &d->g;
    d->x_bytes = (size_t) d->channels;
    for (int i = 0; i < 3; i++) {
        const int64_t reach =
            (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1;
        d->side[i] = reach > g->before[i] + g->in[i] ? reach : g->before[i] + g->in[i];
        d->x_bytes = d->x_bytes > X_BYTES_MAX ? d->x_bytes : d->x_bytes * (size_t) d->side[i];
    }
}

bool depth_pays(const struct prep *c, const struct depth *d)
{
    const struct tensor *w = c->in[PRODUCT_W],
                        *zero = c->n_in > PRODUCT_W_ZERO ? c->in[PRODUCT_W_ZERO] : NULL;
    struct depth s = *d;
    sides_set(&s);
    return d->channels >= CHANNELS_MIN && s.x_bytes <= X_BYTES_MAX && w->data &&
        (!zero || zero->data);
}

static int64_t zero_of(const struct tensor *zero, int64_t o)
{
    return zero ? tensor_get_i64(zero, zero->data, tensor_count(zero) > 1 ? o : 0) : 0;
}

/* Where the places of a window are; the one that makes a pair whole is its first. */
static void places_at(const struct depth *d, size_t *at)
{
    const struct window3 *g = &d->g;
    const size_t row = (size_t) (d->side[2] * d->channels), image = row * (size_t) d->side[1];
    for (int64_t k0 = 0; k0 < g->kernel[0]; k0++)
        for (int64_t k1 = 0; k1 < g->kernel[1]; k1++)
            for (int64_t k2 = 0; k2 < g->kernel[2]; k2++)
                *at++ = (size_t) (k0 * g->dilation[0]) * image +
                    (size_t) (k1 * g->dilation[1]) * row +
                    (size_t) (k2 * g->dilation[2] * d->channels);
    *at = 0;
}

rill_status depth_prepare(struct prep *c, struct depth *d)
{
    const struct tensor *w = c->in[PRODUCT_W],
                        *zero = c->n_in > PRODUCT_W_ZERO ? c->in[PRODUCT_W_ZERO] : NULL;
    const int64_t n = d->channels, taps = d->g.n_kernel, pairs = (taps + 1) / 2;
    size_t *at = arena_array(c->arena, size_t, (size_t) taps + 1);
    int16_t *v = arena_array(c->arena, int16_t, (size_t) (2 * n * pairs));
    int32_t *sum = arena_array(c->arena, int32_t, (size_t) n);
    if (!at || !v || !sum)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    sides_set(d);
    places_at(d, at);
    for (int64_t i = 0; i < n * taps; i++) {
        const int64_t o = i / taps, t = i % taps;
        const int16_t weight = (int16_t) (tensor_get_i64(w, w->data, i) - zero_of(zero, o));
        v[(t / 2 * n + o) * 2 + t % 2] = weight;
        sum[o] += weight;
    }
    d->sum = sum;
    d->places = (struct kern_places) { .flip = product_is_signed(c->in[PRODUCT_X]) ? 0x80 : 0,
                                       .n = (size_t) n,
                                       .n_pairs = (size_t) pairs,
                                       .at = at,
                                       .w = v,
                                       .w_step = (size_t) (2 * n) };
    d->x_bytes = whole_lines(d->x_bytes);
    d->bias_bytes = whole_lines((size_t) n * sizeof(int32_t));
    c->kernel = "places_sum";
    c->scratch_bytes = d->x_bytes + d->bias_bytes + PLACES_MOST * (size_t) n * sizeof(int32_t);
    return RILL_OK;
}

/* ---- eval ---- */

/* Rows of one image, turned. */
static void image_turn(const struct depth *d, uint8_t *to, const uint8_t *x, uint8_t fill)
{
    const struct window3 *g = &d->g;
    const size_t n = (size_t) d->channels;
    if (d->side[0] * d->side[1] * d->side[2] > g->n_in)
        memset(to, fill, (size_t) (d->side[0] * d->side[1] * d->side[2]) * n);
    for (int64_t i0 = 0; i0 < g->in[0]; i0++)
        for (int64_t i1 = 0; i1 < g->in[1]; i1++) {
            const int64_t row = (i0 + g->before[0]) * d->side[1] + i1 + g->before[1];
            kern_bytes_turn(to + (size_t) (row * d->side[2] + g->before[2]) * n, n,
                            x + (i0 * g->in[1] + i1) * g->in[2], (size_t) g->n_in, n,
                            (size_t) g->in[2]);
        }
}

/* The sums of `some` places of a row of outputs, from place `at` of all on. */
static void windows_sum(const struct eval *e, const struct depth *d, const struct kern_places *p,
                        int32_t *sums, const uint8_t *x, int64_t at, int64_t some)
{
    const struct window3 *g = &d->g;
    const int64_t o2 = at % g->out[2] * g->stride[2],
                  o1 = at / g->out[2] % g->out[1] * g->stride[1],
                  o0 = at / g->out[2] / g->out[1] * g->stride[0];
    const size_t place = (size_t) ((o0 * d->side[1] + o1) * d->side[2] + o2) * p->n;
    e->kern->places_sum(sums, x + place, (size_t) g->stride[2] * p->n, (size_t) some, p);
}

static void sums_put(const struct eval *e, const struct depth *d, char *y, int32_t *sums,
                     int64_t at, int64_t n)
{
    const int64_t channels = d->channels;
    if (d->to.by) {
        product_bytes_put(e->kern, &d->to, (uint8_t *) y + at, sums, n, channels, d->g.n_out);
        return;
    }
    if (d->floats)
        product_sums_float(sums, n * channels);
    product_sums_put(e->kern, y + at * (int64_t) sizeof *sums, sums, n, channels, d->g.n_out);
}

static void image_eval(const struct eval *e, const struct depth *d, const struct kern_places *p,
                       const uint8_t *x, char *y)
{
    int32_t *sums = (int32_t *) (void *) ((char *) e->scratch + d->x_bytes + d->bias_bytes);
    int64_t n;
    for (int64_t at = 0; at < d->g.n_out; at += n) {
        const int64_t left = d->g.n_out - at, most = left < PLACES_MOST ? left : PLACES_MOST;
        for (n = 0; n < most;) {
            const int64_t row = d->g.out[2] - (at + n) % d->g.out[2],
                          some = row < most - n ? row : most - n;
            windows_sum(e, d, p, sums + n * d->channels, x, at + n, some);
            n += some;
        }
        sums_put(e, d, y, sums, at, n);
    }
}

void depth_eval(const struct eval *e, const struct depth *d, int32_t zero)
{
    struct kern_places p = d->places;
    struct depth with = *d;
    int32_t *bias = (int32_t *) (void *) ((char *) e->scratch + d->x_bytes);
    const uint8_t *x = e->x[PRODUCT_X];
    char *y = e->y[0];
    for (int64_t o = 0; o < d->channels; o++)
        bias[o] = (int32_t) ((d->to.by && d->to.bias ? (uint32_t) d->to.bias[o] : 0) -
                             (uint32_t) (zero + p.flip) * (uint32_t) d->sum[o]);
    p.bias = bias;
    with.to.bias = NULL;
    for (int64_t b = 0; b < d->batch; b++) {
        image_turn(d, e->scratch, x, (uint8_t) zero);
        image_eval(e, &with, &p, e->scratch, y);
        x += d->channels * d->g.n_in;
        y += (size_t) (d->channels * d->g.n_out) * (d->to.by ? 1 : sizeof(int32_t));
    }
}
