/* SPDX-License-Identifier: MIT */
#include "tools/quantize/watch.h"
#include "engine/base/err.h"
#include "tools/quantize/activation.h"

#include <stdio.h>
#include <string.h>

static struct layer *layer_marked(struct net *const *nets, unsigned n_nets, const struct node *n)
{
    unsigned net;
    size_t i;
    int end = 0;
    if (sscanf(n->name, LAYER_MARK "%n", &net, &i, &end) != 2 || n->name[end] || net >= n_nets ||
        i >= nets[net]->n_layers)
        return NULL;
    struct layer *l = &nets[net]->layers[i];
    /* the nodes that the op is brought to have the mark in their names, too */
    return n->op->id == l->kind->id ? l : NULL;
}

void layers_put_in(struct net *const *nets, unsigned n_nets, const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        struct layer *l = layer_marked(nets, n_nets, n);
        for (unsigned k = 0; l && k < l->n_weights; k++)
            if (l->weight[k].moved && l->weight[k].input < n->n_in)
                l->weight[k].put_in = g->wires[n->in[l->weight[k].input]].fact.value;
        for (unsigned k = 0; k < n->n_body; k++)
            layers_put_in(nets, n_nets, n->body[k]);
    }
}

static const struct tensor *weight_arrives(const struct weight *w)
{
    return w->moved ? w->put_in : w->to.back;
}

static void range_of(const struct tensor *t, float *low, float *high)
{
    const float *x = t->data;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        *low = x[i] < *low ? x[i] : *low;
        *high = x[i] > *high ? x[i] : *high;
    }
}

static void loss_add(struct loss *l, const struct node *n, const struct tensor *const *want,
                     const struct tensor *const *got)
{
    for (unsigned o = 0; o < n->n_out; o++) {
        if (n->out[o] == WIRE_NONE || !want[o] || want[o]->type != DTYPE_F32)
            continue;
        const float *x = want[o]->data, *y = got[o]->data;
        for (int64_t i = 0, count = tensor_count(want[o]); i < count; i++) {
            if (!isfinite(x[i]))
                continue; /* the f32 layer itself gives no number */
            double d = (double) x[i] - (double) y[i];
            l->signal += (double) x[i] * (double) x[i];
            l->noise += d * d;
        }
    }
}

static bool weights_fit(const struct layer *l, const struct node *n, const struct tensor *const *in)
{
    bool fits = true;
    for (unsigned i = 0; i < l->n_weights && fits; i++) {
        const struct weight *w = &l->weight[i];
        const struct tensor *t = w->input < n->n_in ? in[w->input] : NULL, *v = weight_arrives(w);
        fits = t && v && t->type == DTYPE_F32 && tensor_count(t) == tensor_count(v);
    }
    return fits;
}

/* in with the weights that are written. */
static const struct tensor **inputs_small(struct layer_watch *w, const struct layer *l,
                                          const struct node *n, const struct tensor *const *in)
{
    const struct tensor **x = arena_array(&w->scratch, const struct tensor *, n->n_in + 1);
    if (!x)
        return NULL;
    memcpy(x, in, n->n_in * sizeof(const struct tensor *));
    for (unsigned i = 0; i < l->n_weights; i++)
        x[l->weight[i].input] = weight_arrives(&l->weight[i]);
    return x;
}

static const struct tensor *activation_small(struct layer_watch *w, const struct layer *l,
                                             const struct tensor *x)
{
    float low = l->low, high = l->high;
    if (l->fate == LAYER_DYNAMIC) {
        low = high = 0;
        range_of(x, &low, &high);
    }
    struct activation a = activation_of(low, high);
    struct tensor *y = tensor_clone(&w->scratch, x);
    for (int64_t i = 0, n = y ? tensor_count(y) : 0; i < n; i++)
        ((float *) y->data)[i] = activation_step(a, ((const float *) x->data)[i]);
    return y;
}

static rill_status losses_see(struct layer_watch *w, struct layer *l, const struct node *n,
                              const struct tensor *const *in, const struct tensor *const *out)
{
    const struct tensor **x = inputs_small(w, l, n, in),
                        **y = arena_array(&w->scratch, const struct tensor *, n->n_out + 1);
    if (!x || !y)
        return err_set(w->err, RILL_NOMEM, "out of memory");
    TRY(interp_node(w->dims, n, x, &w->kern, &w->scratch, y, w->err));
    loss_add(&l->weights, n, out, y);
    l->runs++;
    if (l->fate == LAYER_WEIGHTS || !x[0] || x[0]->type != DTYPE_F32)
        return RILL_OK;
    x[0] = activation_small(w, l, x[0]);
    if (!x[0])
        return err_set(w->err, RILL_NOMEM, "out of memory");
    TRY(interp_node(w->dims, n, x, &w->kern, &w->scratch, y, w->err));
    loss_add(&l->whole, n, out, y);
    return RILL_OK;
}

rill_status layer_see(void *arg, const struct node *n, const struct tensor *const *in,
                      const struct tensor *const *out)
{
    struct layer_watch *w = arg;
    struct layer *l = layer_marked(w->nets, w->n_nets, n);
    if (!l || l->fate == LAYER_LEFT || !weights_fit(l, n, in))
        return RILL_OK;
    if (w->stage == WATCH_RANGES) {
        if (in[0] && in[0]->type == DTYPE_F32)
            range_of(in[0], &l->low, &l->high);
        return RILL_OK;
    }
    rill_status s = losses_see(w, l, n, in, out);
    arena_drop(&w->scratch);
    return s;
}
