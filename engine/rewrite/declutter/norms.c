/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/declutter/passes.h"
#include "engine/graph/op.h"
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"

#include <math.h>

enum { CONV_X, CONV_W, CONV_B };
enum { NORM_X, NORM_SCALE, NORM_SHIFT, NORM_MEAN, NORM_VAR };

static bool norm_is_known(const struct graph *g, const struct node *n)
{
    bool known = node_is(n, OP_BATCH_NORMALIZATION) && n->n_in == 5;
    for (unsigned i = NORM_SCALE; known && i <= NORM_VAR; i++)
        known = node_value(g, n, i) != NULL;
    return known;
}

static bool conv_is_known(const struct graph *g, const struct node *n)
{
    bool conv = node_is(n, OP_CONV) || node_is(n, OP_CONV_TRANSPOSE);
    bool bias = node_has_input(n, CONV_B);
    return conv && node_value(g, n, CONV_W) && (!bias || node_value(g, n, CONV_B));
}

/* Output channel of a weight: [out][in / groups][kernel], transposed [in][out / groups][kernel]. */
static int64_t channel_of(const struct tensor *w, bool transposed, int64_t groups, int64_t inner,
                          int64_t at)
{
    int64_t a = at / inner / w->dim[1], b = at / inner % w->dim[1];
    return transposed ? a / (w->dim[0] / groups) * w->dim[1] + b : a;
}

struct folded {
    struct tensor *w, *b;
};

/* y = conv(x; w, b), z = (y - mean) * s + shift with s = scale / sqrt(var + epsilon): one
 * convolution with w * s. */
static bool weights_fold(const struct graph *g, const struct node *conv, const struct node *norm,
                         float epsilon, struct folded *ret)
{
    const struct tensor *w = node_value(g, conv, CONV_W), *b = node_value(g, conv, CONV_B);
    bool transposed = node_is(conv, OP_CONV_TRANSPOSE);
    int64_t groups = conv_attr_of(conv)->group,
            channels = transposed ? w->dim[1] * groups : w->dim[0], inner = 1;
    const float *p[5];
    for (unsigned i = NORM_SCALE; i <= NORM_VAR; i++)
        p[i] = node_value(g, norm, i)->data;
    for (int i = 2; i < w->rank; i++)
        inner *= w->dim[i];
    ret->w = tensor_new(g->arena, DTYPE_F32, w->rank, w->dim);
    ret->b = tensor_new(g->arena, DTYPE_F32, 1, &channels);
    if (!ret->w || !ret->b)
        return false;
    int64_t n = tensor_count(w);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = channel_of(w, transposed, groups, inner, i);
        double s = (double) p[NORM_SCALE][c] / sqrt((double) p[NORM_VAR][c] + (double) epsilon);
        ((float *) ret->w->data)[i] = (float) ((double) ((const float *) w->data)[i] * s);
    }
    for (int64_t c = 0; c < channels; c++) {
        double s = (double) p[NORM_SCALE][c] / sqrt((double) p[NORM_VAR][c] + (double) epsilon);
        double y = b ? (double) ((const float *) b->data)[c] : 0;
        ((float *) ret->b->data)[c] =
            (float) ((y - (double) p[NORM_MEAN][c]) * s + (double) p[NORM_SHIFT][c]);
    }
    return true;
}

static rill_status norm_fold(struct edit *e, uint32_t conv, uint32_t norm, rill_error *reterr)
{
    struct graph *g = e->g;
    struct folded f;
    if (!weights_fold(g, &g->nodes[conv], &g->nodes[norm], batch_attr_of(&g->nodes[norm])->epsilon,
                      &f))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    uint32_t w = graph_add_const(g, "weights with norm", f.w),
             b = graph_add_const(g, "bias with norm", f.b);
    uint32_t in[] = { g->nodes[conv].in[CONV_X], w, b };
    if (w == WIRE_NONE || b == WIRE_NONE || !edit_inputs(e, conv, in, 3))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    edit_replace(e, norm, conv);
    return RILL_OK;
}

rill_status graph_with_norms_folded(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < ret->n_nodes; i++) {
        const struct node *n = &ret->nodes[i];
        uint32_t conv;
        if (norm_is_known(ret, n) && edit_sole_producer(&e, n->in[NORM_X], &conv) &&
            conv_is_known(ret, &ret->nodes[conv]))
            TRY(norm_fold(&e, conv, i, reterr));
    }
    return edit_end(&e, reterr);
}
