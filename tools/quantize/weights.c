/* SPDX-License-Identifier: MIT */
/* Floats become small integers with a scale for each channel, or for each block of a channel. */
#include "tools/quantize/net.h"
#include "engine/base/err.h"
#include "engine/rewrite/declutter/passes.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Smaller scales than the one that reaches the largest number may lose less in all, where steps are
 * coarse. */
#define TRIES 16
#define TRY_STEP 0.025f

/* Which scale an element takes. */
struct groups {
    int64_t inner, n_axis, block, n_blocks, n;
};

static struct groups groups_of(const struct tensor *w, int axis, int64_t block)
{
    struct groups g = { .inner = 1, .n_axis = 1, .block = block, .n_blocks = 1, .n = 1 };
    if (axis < 0)
        return g;
    for (int i = axis + 1; i < w->rank; i++)
        g.inner *= w->dim[i];
    g.n_axis = w->dim[axis];
    g.n_blocks = block ? (g.n_axis + block - 1) / block : 1;
    g.n = block && g.n_axis ? tensor_count(w) / g.n_axis * g.n_blocks : g.n_axis;
    return g;
}

static int64_t group_at(const struct groups *g, int64_t i)
{
    if (!g->block)
        return i / g->inner % g->n_axis;
    int64_t k = i / g->inner % g->n_axis, outer = i / g->inner / g->n_axis;
    return (outer * g->n_blocks + k / g->block) * g->inner + i % g->inner;
}

static const char *numbers_check(const struct tensor *w)
{
    const float *x = w->data;
    for (int64_t i = 0, n = tensor_count(w); i < n; i++)
        if (!isfinite(x[i]))
            return isnan(x[i]) ? "its weights have a NaN" : "its weights have an infinity";
    return NULL;
}

/* The integers of a width of bits. */
struct range {
    float low, high;
};

static struct range range_of(int bits)
{
    float high = (float) ((1 << (bits - 1)) - 1);
    return (struct range) { bits == 4 ? -high - 1 : -high, high };
}

static float rounded(float w, float scale, struct range r)
{
    float q = rintf(w / scale);
    return q < r.low ? r.low : q > r.high ? r.high : q;
}

/* A group of zeros has a scale, too. */
static float scale_of(float largest, float high)
{
    float s = largest / high;
    return largest == 0 ? 1 : s < FLT_MIN ? FLT_MIN : s;
}

static rill_status scales_find(struct net *net, const struct tensor *w, const struct groups *g,
                               int bits, float *scale)
{
    const float *x = w->data;
    struct range r = range_of(bits);
    int64_t n = tensor_count(w);
    float *largest = arena_array(net->arena, float, (size_t) g->n + 1);
    double *noise = arena_array(net->arena, double, (size_t) g->n + 1),
           *best = arena_array(net->arena, double, (size_t) g->n + 1);
    if (!largest || !noise || !best)
        return net_no_memory(net);
    for (int64_t i = 0; i < n; i++)
        largest[group_at(g, i)] = fmaxf(largest[group_at(g, i)], fabsf(x[i]));
    for (int k = 0; k < (bits == 4 ? TRIES : 1); k++) {
        float part = 1 - TRY_STEP * (float) k;
        memset(noise, 0, (size_t) g->n * sizeof *noise);
        for (int64_t i = 0; i < n; i++) {
            float s = scale_of(part * largest[group_at(g, i)], r.high);
            double e = (double) x[i] - (double) rounded(x[i], s, r) * (double) s;
            noise[group_at(g, i)] += e * e;
        }
        for (int64_t i = 0; i < g->n; i++)
            if (k == 0 || noise[i] < best[i]) {
                best[i] = noise[i];
                scale[i] = scale_of(part * largest[i], r.high);
            }
    }
    return RILL_OK;
}

static struct tensor *scale_new(struct net *net, const struct tensor *w, int axis,
                                const struct groups *g)
{
    if (!g->block)
        return tensor_new(net->arena, DTYPE_F32, axis < 0 ? 0 : 1, &g->n);
    int64_t dim[RANK_MAX];
    memcpy(dim, w->dim, sizeof dim);
    dim[axis] = g->n_blocks;
    return tensor_new(net->arena, DTYPE_F32, w->rank, dim);
}

static rill_status weight_quantise(struct net *net, struct weight *w, const struct tensor *v,
                                   const struct quantize_opts *o)
{
    bool blocked = o->bits == 4 && w->axes.sum < v->rank && v->dim[w->axes.sum] > o->block;
    int axis = blocked ? w->axes.sum : w->axes.channel;
    struct groups g = groups_of(v, axis, blocked ? o->block : 0);
    struct tensor *q = tensor_new(net->arena, DTYPE_I8, v->rank, v->dim),
                  *back = tensor_new(net->arena, DTYPE_F32, v->rank, v->dim),
                  *scale = scale_new(net, v, axis, &g);
    if (!q || !back || !scale)
        return net_no_memory(net);
    float *s = scale->data;
    const float *x = v->data;
    struct range r = range_of(o->bits);
    TRY(scales_find(net, v, &g, o->bits, s));
    for (int64_t i = 0, n = tensor_count(v); i < n; i++) {
        float step = s[group_at(&g, i)], whole = rounded(x[i], step, r), y = whole * step;
        ((int8_t *) q->data)[i] = (int8_t) whole;
        ((float *) back->data)[i] = y;
        w->signal += (double) x[i] * (double) x[i];
        w->noise += ((double) x[i] - (double) y) * ((double) x[i] - (double) y);
    }
    w->to = (struct small_weights) { .q = q,
                                     .scale = scale,
                                     .back = back,
                                     .axis = axis < 0 ? 0 : axis,
                                     .block = blocked ? o->block : 0 };
    return RILL_OK;
}

/* Why these weights stay as they are; NULL: they need not. */
static const char *weight_refuse(const struct layer *l, const struct weight *w,
                                 const struct tensor *v)
{
    if (v->type != DTYPE_F32)
        return "its weights are no f32";
    if (w->axes.channel >= v->rank || !tensor_count(v))
        return "its weights have no channels";
    if (l->kind->role == ROLE_CONV && weights_are_fourier(v))
        return "is a Fourier transform, quicker as one than small";
    return numbers_check(v);
}

static bool is_smaller(const struct weight *w, int bits)
{
    size_t n = (size_t) tensor_count(w->to.q),
           bytes = (bits == 4 ? (n + 1) / 2 : n) + 4 * (size_t) tensor_count(w->to.scale);
    return bytes < 4 * n;
}

static rill_status layer_weights(struct net *net, struct layer *l, const struct quantize_opts *o)
{
    bool smaller = false;
    for (unsigned i = 0; i < l->n_weights && !l->why; i++) {
        const struct tensor *v;
        TRY(net_value(net, l->weight[i].from, &v));
        l->why = weight_refuse(l, &l->weight[i], v);
        if (l->why)
            break;
        TRY(weight_quantise(net, &l->weight[i], v, o));
        l->n_values += tensor_count(v);
        smaller |= is_smaller(&l->weight[i], o->bits);
    }
    if (!l->why && l->n_weights && !smaller)
        l->why = "is no smaller quantised";
    if (l->why)
        l->n_weights = 0;
    return RILL_OK;
}

/* What this op takes beside small weights: integer products want both sides in their order, and no
 * factor. */
static bool takes_activations(const struct layer *l, const struct quantize_opts *o)
{
    const Onnxpb__Node *n = l->node;
    bool plain = l->weight[0].input == 1 && !l->weight[0].moved && pb_int(n, "transA", 0) == 0 &&
        pb_float(n, "alpha", 1) == 1 && pb_float(n, "beta", 1) == 1 &&
        l->weight[0].axes.channel >= 0 &&
        (l->weight[0].to.q->rank == 2 || pb_int(n, "transB", 0) == 0);
    if (l->kind->role == ROLE_CELL || l->kind->role == ROLE_EINSUM || o->mode == QUANTIZE_WEIGHTS)
        return false;
    return o->mode == QUANTIZE_STATIC ? l->weight[0].input == 1
                                      : plain && l->kind->role != ROLE_CONV_TRANSPOSE;
}

rill_status net_weights(struct net *net, const struct quantize_opts *o)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        struct layer *l = &net->layers[i];
        TRY(layer_weights(net, l, o));
        if (!l->n_weights)
            l->fate = LAYER_LEFT;
        else if (!takes_activations(l, o))
            l->fate = LAYER_WEIGHTS;
        else
            l->fate = o->mode == QUANTIZE_STATIC ? LAYER_STATIC : LAYER_DYNAMIC;
    }
    return RILL_OK;
}
