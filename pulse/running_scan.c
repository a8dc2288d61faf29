/* SPDX-License-Identifier: MIT */
/* A sum over all keys so far, as a Scan that carries it. */
#include "engine/graph/control.h"
#include "engine/ops/attrs.h"
#include "pulse/running_sum.h"

#include <stdio.h>

static rill_status no_memory(const struct looked *l)
{
    return err_set(l->err, RILL_NOMEM, "out of memory");
}

static rill_status put(struct looked *l, struct graph *g, enum op_id id, const struct attr *attr,
                       const uint32_t *in, unsigned n_in, uint32_t *ret)
{
    const struct op *op = op_by_id(id);
    const char *name = l->e->g->nodes[0].name;
    void *own = arena_alloc(g->arena, op->attr_bytes + 1);
    const struct fact *facts[2];
    struct fact out;
    if (!own)
        return no_memory(l);
    TRY(attrs_parse(op, name, attr, attr ? 1 : 0, own, l->err));
    for (unsigned i = 0; i < n_in; i++)
        facts[i] = &g->wires[in[i]].fact;
    const struct node n = { .name = name,
                            .op = op,
                            .attr = own,
                            .in = (uint32_t *) (uintptr_t) in,
                            .n_in = n_in,
                            .n_out = 1 };
    TRY(op_infer(&n, facts, &out, g->dims, g->arena, l->err));
    *ret = graph_add_wire(g, op->name, &out);
    return *ret != WIRE_NONE && graph_add_node(g, op, op->name, own, in, n_in, ret, 1)
        ? RILL_OK
        : no_memory(l);
}

static rill_status einsum_put(struct looked *l, struct graph *g, const char *a, const char *b,
                              const char *y, const uint32_t in[2], uint32_t *ret)
{
    char *text = arena_alloc(g->arena, 3 * LABELS + 4);
    const char **list = arena_array(g->arena, const char *, 1);
    if (!text || !list)
        return no_memory(l);
    snprintf(text, 3 * LABELS + 4, "%s,%s->%s", a, b, y);
    list[0] = text;
    const struct attr equation = { .name = "equation",
                                   .kind = ATTR_STRINGS,
                                   .strings = { 1, list } };
    return put(l, g, OP_EINSUM, &equation, in, 2, ret);
}

static struct fact fact_of(const struct sum *s, const char *labels)
{
    struct fact f = { .type = DTYPE_F32, .rank = (int) strlen(labels) };
    for (int i = 0; i < f.rank; i++)
        f.shape[i] = s->size[(unsigned char) labels[i]];
    return f;
}

/* Of one step, for each element of the state or for all along an axis. */
static struct tensor *decay_product(const struct looked *l, const struct sum *s)
{
    int64_t dim[RANK_MAX], stride[RANK_MAX], of[RANK_MAX];
    const int rank = (int) strlen(s->state), rank_w = fact_at(l, s->w)->rank;
    for (int i = 0; i < rank; i++)
        dim[i] = dim_value(s->size[(unsigned char) s->state[i]]);
    struct tensor *t = tensor_new(l->e->g->arena, DTYPE_F32, rank, dim);
    if (!t)
        return NULL;
    tensor_strides(t, stride);
    for (int64_t at = 0; at < tensor_count(t); at++) {
        double x = 1;
        for (unsigned i = 0; i < s->n_decays; i++) {
            const struct tensor *d = s->decay[i];
            int64_t place = 0;
            tensor_strides(d, of);
            for (int k = 0; k < d->rank; k++) {
                const char *axis = strchr(s->state, label_of(k + rank_w - d->rank));
                place += d->dim[k] == 1 ? 0 : of[k] * (at / stride[axis - s->state] % d->dim[k]);
            }
            x *= ((const float *) d->data)[place];
        }
        ((float *) t->data)[at] = (float) x;
    }
    return t;
}

/* The sum before this step, as much of it as is left. */
static rill_status decayed(struct looked *l, struct sum *s, struct graph *body, uint32_t *state)
{
    if (!s->n_decays)
        return RILL_OK;
    struct tensor *t = decay_product(l, s);
    const uint32_t in[2] = { *state, t ? graph_add_const(body, "decay", t) : WIRE_NONE };
    return in[1] == WIRE_NONE ? no_memory(l) : put(l, body, OP_MUL, NULL, in, 2, state);
}

static bool input_add(struct graph *body, const char *name, const struct sum *s, const char *labels,
                      uint32_t from, uint32_t *ret)
{
    const struct fact f = fact_of(s, labels);
    *ret = from == WIRE_NONE ? WIRE_NONE : graph_add_input(body, name, &f);
    return from == WIRE_NONE || *ret != WIRE_NONE;
}

/* state, query, key, value -> next state, what comes out. */
static rill_status body_make(struct looked *l, struct sum *s, struct graph *body)
{
    const struct graph *g = l->e->g;
    graph_init(body, g->arena, g->dims, "running sum");
    label_drop(s->q, label_of(s->query));
    label_drop(s->k, label_of(s->key));
    label_drop(s->v, label_of(s->key));
    label_drop(s->y, label_of(s->query));
    uint32_t state, q, k, v, more, next, y;
    if (!input_add(body, "sum", s, s->state, 0, &state) ||
        !input_add(body, "query", s, s->q, s->in_q, &q) ||
        !input_add(body, "key", s, s->k, s->in_k, &k) ||
        !input_add(body, "value", s, s->v, s->in_v, &v))
        return no_memory(l);
    more = k == WIRE_NONE ? v : k;
    if (k != WIRE_NONE && v != WIRE_NONE)
        TRY(einsum_put(l, body, s->k, s->v, s->state, (uint32_t[]) { k, v }, &more));
    TRY(decayed(l, s, body, &state));
    TRY(put(l, body, OP_ADD, NULL, (uint32_t[]) { state, more }, 2, &next));
    const uint32_t shown = s->strict ? state : next;
    if (q == WIRE_NONE)
        TRY(put(l, body, OP_IDENTITY, NULL, &shown, 1, &y));
    else
        TRY(einsum_put(l, body, s->q, s->state, s->y, (uint32_t[]) { q, shown }, &y));
    return graph_add_output(body, next) && graph_add_output(body, y) ? RILL_OK : no_memory(l);
}

static uint32_t zeros_add(struct graph *g, const struct sum *s)
{
    int64_t dim[RANK_MAX];
    int rank = (int) strlen(s->state);
    for (int i = 0; i < rank; i++)
        dim[i] = dim_value(s->size[(unsigned char) s->state[i]]);
    struct tensor *t = tensor_new(g->arena, DTYPE_F32, rank, dim);
    return t ? graph_add_const(g, "nothing yet", t) : WIRE_NONE;
}

static int axis_of_label(const char *labels, char label)
{
    return (int) (strchr(labels, label) - labels);
}

static rill_status scan_put(struct looked *l, struct sum *s, uint32_t *ret)
{
    struct graph *g = l->e->g;
    struct graph **body = arena_array(g->arena, struct graph *, 1);
    struct scan_attr *at = arena_new(g->arena, struct scan_attr);
    int64_t *axes = arena_array(g->arena, int64_t, 4);
    const struct {
        uint32_t w;
        const char *labels;
        int time;
    } scanned[] = { { s->in_q, s->q, s->query },
                    { s->in_k, s->k, s->key },
                    { s->in_v, s->v, s->key } };
    uint32_t in[4] = { zeros_add(g, s) }, out[2];
    unsigned n = 0;
    struct fact whole = fact_of(s, s->y), state = fact_of(s, s->state);
    if (!body || !at || !axes || in[0] == WIRE_NONE ||
        !(body[0] = arena_new(g->arena, struct graph)))
        return no_memory(l);
    for (unsigned i = 0; i < 3; i++)
        if (scanned[i].w != WIRE_NONE) {
            axes[n] = axis_of_label(scanned[i].labels, label_of(scanned[i].time));
            in[++n] = scanned[i].w;
        }
    axes[n] = s->stack;
    *at = (struct scan_attr) { .n_states = 1,
                               .n_scanned = n,
                               .in_axes = { .v = axes, .n = n },
                               .out_axes = { .v = axes + n, .n = 1 } };
    TRY(body_make(l, s, body[0]));
    out[0] = graph_add_wire(g, "sum", &state);
    out[1] = graph_add_wire(g, g->nodes[s->at].name, &whole);
    if (out[0] == WIRE_NONE || out[1] == WIRE_NONE ||
        !edit_insert(l->e, s->at, &op_scan, at, in, n + 1, out, 2))
        return no_memory(l);
    g->nodes[g->n_nodes - 1].body = body;
    g->nodes[g->n_nodes - 1].n_body = 1;
    *ret = out[1];
    return RILL_OK;
}

/* A node of default attributes before the sum. */
static rill_status op_put(struct looked *l, struct sum *s, enum op_id id, uint32_t a, uint32_t b,
                          uint32_t *ret)
{
    struct graph *g = l->e->g;
    const struct op *op = op_by_id(id);
    void *own = arena_alloc(g->arena, op->attr_bytes + 1);
    const uint32_t in[2] = { a, b };
    const unsigned n_in = b == WIRE_NONE ? 1 : 2;
    struct fact out = *fact_at(l, g->nodes[s->at].out[0]);
    out.value = NULL;
    if (!own)
        return no_memory(l);
    TRY(attrs_parse(op, g->nodes[s->at].name, NULL, 0, own, l->err));
    *ret = graph_add_wire(g, g->nodes[s->at].name, &out);
    return *ret != WIRE_NONE && edit_insert(l->e, s->at, op, own, in, n_in, ret, 1) ? RILL_OK
                                                                                    : no_memory(l);
}

/* Of the last axes, as many as the factor has. */
static bool perm_within(const struct looked *l, const struct sum *s, int rank,
                        struct attr_ints *ret)
{
    int64_t *v = arena_array(l->e->g->arena, int64_t, rank + 1);
    const int off = (int) s->perm.n - rank;
    for (int k = 0; v && k < rank; k++)
        v[k] = s->perm.v[k + off] - off;
    *ret = (struct attr_ints) { .v = v, .n = (uint32_t) rank };
    return v != NULL;
}

/* A factor of queries lies as what comes out. */
static rill_status factor_turn(struct looked *l, const struct sum *s, uint32_t *w)
{
    struct graph *g = l->e->g;
    struct transpose_attr *own = arena_new(g->arena, struct transpose_attr);
    struct fact out = *fact_at(l, *w);
    if (!s->perm.n || is_number(l, *w))
        return RILL_OK;
    if (!own || !perm_within(l, s, out.rank, &own->perm))
        return no_memory(l);
    out.value = NULL;
    for (int k = 0; k < out.rank; k++)
        out.shape[k] = fact_at(l, *w)->shape[own->perm.v[k]];
    const uint32_t in = *w;
    *w = graph_add_wire(g, g->nodes[s->at].name, &out);
    return *w != WIRE_NONE && edit_insert(l->e, s->at, op_by_id(OP_TRANSPOSE), own, &in, 1, w, 1)
        ? RILL_OK
        : no_memory(l);
}

/* The first `turned` of them lie so already. */
static rill_status factors_put(struct looked *l, struct sum *s, enum op_id id, uint32_t *factor,
                               unsigned n, unsigned turned, uint32_t *y)
{
    for (unsigned i = n; i > 0; i--) {
        if (i > turned)
            TRY(factor_turn(l, s, &factor[i - 1]));
        TRY(op_put(l, s, id, *y, factor[i - 1], y));
    }
    return RILL_OK;
}

rill_status running_sum_put(struct looked *l, struct sum *s)
{
    struct graph *g = l->e->g;
    uint32_t y;
    TRY(scan_put(l, s, &y));
    if (s->in_v == WIRE_NONE && s->keeps_key)
        TRY(op_put(l, s, OP_UNSQUEEZE, y, edit_int(g, s->key), &y));
    TRY(factors_put(l, s, OP_MUL, s->times, s->n_times, s->turned_times, &y));
    TRY(factors_put(l, s, OP_DIV, s->over, s->n_over, s->turned_over, &y));
    TRY(op_put(l, s, OP_IDENTITY, y, WIRE_NONE, &y));
    edit_replace(l->e, s->at, g->n_nodes - 1);
    return RILL_OK;
}
