/* SPDX-License-Identifier: MIT */
#include "pulse/running.h"
#include "engine/graph/control.h"
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/ops/einsum.h"
#include "pulse/positions.h"

#include <stdio.h>
#include <string.h>

#define FACTORS_MAX 8 /* of weights, between their product and the sum */
#define STEPS_MAX 16
#define SUMMED 'y' /* the label that queries and keys have in common */
#define LABELS (RANK_MAX + 1)

struct looked {
    struct edit *e;
    struct positions *ps; /* found once they are wanted */
    bool any, tried;
    struct arena scratch;
    rill_error *err;
};

/* What the sum over keys that node `at` is is made of. Labels: a letter for each axis. */
struct sum {
    uint32_t at;
    unsigned weights; /* the input of that node */
    uint32_t w, product;
    int query, key; /* axes of w */
    uint32_t times[FACTORS_MAX], over[FACTORS_MAX];
    unsigned n_times, n_over;
    bool causal, strict; /* keys up to that of the query's frame; only those before it */
    char q[LABELS], k[LABELS], v[LABELS], y[LABELS], state[LABELS];
    uint32_t in_q, in_k, in_v;
    const struct dim *size[128]; /* by label */
    int stack;                   /* the axis of frames in what comes out */
    bool keeps_key;              /* as an axis of one element */
};

static const struct fact *fact_at(const struct looked *l, uint32_t w)
{
    return &l->e->g->wires[w].fact;
}

static const struct node *producer(const struct looked *l, uint32_t w)
{
    const struct wire *wire = &l->e->g->wires[w];
    return wire->node == WIRE_NONE ? NULL : &l->e->g->nodes[wire->node];
}

/* ---- where axes go ---- */

static bool is_product(const struct node *n)
{
    return (node_is(n, OP_MATMUL) || node_is(n, OP_EINSUM)) && n->n_in == 2;
}

/* The axis of the output of a product that axis `axis` of input i becomes; -1: it is summed. */
static int axis_behind(const struct looked *l, const struct node *n, unsigned i, int axis)
{
    const int ranks[2] = { fact_at(l, n->in[0])->rank, fact_at(l, n->in[1])->rank };
    const int out = fact_at(l, n->out[0])->rank;
    if (node_is(n, OP_EINSUM))
        return einsum_output_axis(n, ranks, i, axis);
    const int back = ranks[i] - axis;
    return back == (i == 0 ? 1 : 2) ? -1 : out - back;
}

/* Whether it sums along one axis of each input. */
static bool sums_once(const struct looked *l, const struct node *n)
{
    const int ranks[2] = { fact_at(l, n->in[0])->rank, fact_at(l, n->in[1])->rank };
    int axes[2];
    return node_is(n, OP_EINSUM) ? einsum_summed(n, ranks, axes) : ranks[0] > 1 && ranks[1] > 1;
}

/* The two axes that have one symbolic size; false: there are none. */
static bool has_square(const struct looked *l, uint32_t w)
{
    const struct fact *f = fact_at(l, w);
    for (int i = 0; i < f->rank; i++)
        for (int k = 0; k < i; k++)
            if (f->shape[i] == f->shape[k] && dim_has_symbol(f->shape[i]))
                return true;
    return false;
}

/* ---- what weights are multiplied by ---- */

static bool positions_want(struct looked *l)
{
    const struct graph *g = l->e->g;
    const struct dim *symbols[2];
    unsigned n = 0;
    if (l->tried)
        return l->ps->dims != NULL;
    l->tried = true;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        for (int k = 0; k < fact_at(l, g->inputs[i])->rank; k++)
            n = dim_symbols(fact_at(l, g->inputs[i])->shape[k], symbols, n, 2);
    return n == 1 && positions_find(l->ps, g, symbols[0], &l->scratch, l->err) == RILL_OK;
}

/* Axes of w as those of a wire that is broadcast to it; -1: it has no such axis, or one element. */
static int axis_within(const struct looked *l, uint32_t w, uint32_t small, int axis)
{
    const int own = axis - (fact_at(l, w)->rank - fact_at(l, small)->rank);
    return own < 0 || dim_is(fact_at(l, small)->shape[own], 1) ? -1 : own;
}

/* Whether elements of `mask` (its opposite) are 1 where a key is not behind its query, 0 elsewhere;
 * ret_strict: nor at it. */
static bool is_causal(const struct looked *l, const struct sum *s, uint32_t mask, bool opposite,
                      bool *ret_strict)
{
    const struct position *at = &l->ps->of[mask];
    const int query = axis_within(l, s->w, mask, s->query),
              key = axis_within(l, s->w, mask, s->key);
    struct dims *ds = l->ps->dims;
    if (query < 0 || key < 0 || !at->e || at->parts > 1 ||
        (at->pair && (opposite || at->one != 1 || at->zero != 0)))
        return false;
    const struct dim *i = l->ps->axis[query], *j = l->ps->axis[key],
                     *not_shown = dim_sub(ds, dim_int(ds, 1), at->e),
                     *shown = opposite ? not_shown : at->e;
    not_shown = opposite ? at->e : not_shown;
    *ret_strict = shown == dim_ge(ds, i, dim_add_int(ds, j, 1)) || not_shown == dim_ge(ds, j, i);
    return *ret_strict || shown == dim_ge(ds, i, j) ||
        not_shown == dim_ge(ds, j, dim_add_int(ds, i, 1));
}

static bool mask_take(struct looked *l, struct sum *s, uint32_t mask, bool opposite)
{
    bool strict;
    if (!positions_want(l) || !is_causal(l, s, mask, opposite, &strict))
        return false;
    s->strict |= strict;
    return s->causal = true;
}

/* One number for all keys of a query. */
static bool is_of_query(const struct looked *l, const struct sum *s, uint32_t w)
{
    return fact_at(l, w)->rank <= fact_at(l, s->w)->rank && axis_within(l, s->w, w, s->key) < 0;
}

static bool factor_add(uint32_t *list, unsigned *n, uint32_t w)
{
    if (*n == FACTORS_MAX)
        return false;
    list[(*n)++] = w;
    return true;
}

static bool is_zero(const struct looked *l, uint32_t w)
{
    const struct tensor *v = fact_at(l, w)->value;
    return v && v->type != DTYPE_DIM && tensor_count(v) == 1 && tensor_get_f64(v, v->data, 0) == 0;
}

/* Whether n only multiplies weights by what is known of it; those are in *ret_w. */
static bool step_take(struct looked *l, struct sum *s, const struct node *n, uint32_t *ret_w)
{
    if (node_is(n, OP_IDENTITY)) {
        *ret_w = n->in[0];
        return true;
    }
    if (node_is(n, OP_WHERE)) {
        const unsigned zero = is_zero(l, n->in[1]) ? 1 : 2;
        *ret_w = n->in[3 - zero];
        return is_zero(l, n->in[zero]) && mask_take(l, s, n->in[0], zero == 1);
    }
    if (node_is(n, OP_DIV)) {
        *ret_w = n->in[0];
        return is_of_query(l, s, n->in[1]) && factor_add(s->over, &s->n_over, n->in[1]);
    }
    for (unsigned i = 0; node_is(n, OP_MUL) && i < 2; i++) {
        *ret_w = n->in[1 - i];
        if (!has_square(l, *ret_w))
            continue;
        if (is_of_query(l, s, n->in[i]))
            return factor_add(s->times, &s->n_times, n->in[i]);
        if (mask_take(l, s, n->in[i], false))
            return true;
    }
    return false;
}

/* From the sum up to the product of queries and keys. */
static bool weights_follow(struct looked *l, struct sum *s)
{
    uint32_t w = s->w;
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        const struct node *n = producer(l, w);
        if (!n || n->n_out != 1 || fact_at(l, w)->rank != fact_at(l, s->w)->rank)
            return false;
        if (is_product(n)) {
            s->product =
                fact_at(l, n->out[0])->type == DTYPE_F32 ? l->e->g->wires[w].node : WIRE_NONE;
            return s->causal && s->product != WIRE_NONE && sums_once(l, n);
        }
        if (!step_take(l, s, n, &w))
            return false;
    }
    return false;
}

/* ---- labels ---- */

static char label_of(int axis)
{
    return (char) ('a' + axis);
}

/* Each label has one size. */
static bool sizes_agree(const struct looked *l, struct sum *s, uint32_t w, const char *labels)
{
    const struct fact *f = fact_at(l, w);
    for (int i = 0; i < f->rank; i++) {
        const struct dim **size = &s->size[(unsigned char) labels[i]];
        if (*size && *size != f->shape[i])
            return false;
        *size = f->shape[i];
    }
    return true;
}

static void label_drop(char *labels, char label)
{
    char *at = strchr(labels, label);
    if (at)
        memmove(at, at + 1, strlen(at));
}

/* Queries and keys: axes of the weights, and the one that is summed. */
static bool product_label(const struct looked *l, struct sum *s)
{
    const struct node *n = &l->e->g->nodes[s->product];
    char labels[2][LABELS] = { "" };
    for (unsigned i = 0; i < 2; i++) {
        for (int k = 0; k < fact_at(l, n->in[i])->rank; k++) {
            const int to = axis_behind(l, n, i, k);
            labels[i][k] = to < 0 ? SUMMED : label_of(to);
        }
        if (!sizes_agree(l, s, n->in[i], labels[i]))
            return false;
    }
    const unsigned of_key = strchr(labels[1], label_of(s->key)) ? 1 : 0;
    s->in_k = n->in[of_key];
    s->in_q = n->in[1 - of_key];
    memcpy(s->k, labels[of_key], LABELS);
    memcpy(s->q, labels[1 - of_key], LABELS);
    return strchr(s->k, label_of(s->key)) && strchr(s->q, label_of(s->query)) &&
        !strchr(s->k, label_of(s->query)) && !strchr(s->q, label_of(s->key));
}

/* Values: axes of the weights, and others. What comes out has those of both. */
static bool values_label(const struct looked *l, struct sum *s, const struct node *n)
{
    const unsigned other = 1 - s->weights;
    char label = label_of(fact_at(l, s->w)->rank);
    s->in_v = n->in[other];
    for (int k = 0; k < fact_at(l, s->w)->rank; k++) {
        const int to = axis_behind(l, n, s->weights, k);
        if (to >= 0)
            s->y[to] = label_of(k);
    }
    for (int k = 0; k < fact_at(l, s->in_v)->rank; k++) {
        const int to = axis_behind(l, n, other, k);
        if (to >= 0 && !s->y[to])
            s->y[to] = label++;
        s->v[k] = to < 0 ? label_of(s->key) : s->y[to];
    }
    return sizes_agree(l, s, s->in_v, s->v) && !strchr(s->v, label_of(s->query)) &&
        (int) strlen(s->y) == fact_at(l, n->out[0])->rank;
}

static void total_label(const struct looked *l, struct sum *s)
{
    char *y = s->y;
    for (int k = 0; k < fact_at(l, s->w)->rank; k++)
        if (k != s->key)
            *y++ = label_of(k);
}

/* Labels of keys and values but time: all sizes are numbers. */
static bool state_label(struct sum *s)
{
    size_t n = 0;
    const char *both[2] = { s->k, s->v };
    for (int i = 0; i < 2; i++)
        for (const char *at = both[i]; *at; at++)
            if (*at != label_of(s->key) && !strchr(s->state, *at)) {
                const struct dim *size = s->size[(unsigned char) *at];
                if (n == RANK_MAX || !size || !dim_is_const(size))
                    return false;
                s->state[n++] = *at;
            }
    s->stack = (int) (strchr(s->y, label_of(s->query)) - s->y);
    return true;
}

/* ---- which sums ---- */

/* Queries and keys of a sum that node `at` is over one of two axes of input i. */
static bool axes_find(const struct looked *l, struct sum *s, const struct node *n)
{
    const struct fact *f = fact_at(l, s->w);
    s->key = -1;
    if (is_product(n)) {
        for (int k = 0; k < f->rank; k++)
            s->key = axis_behind(l, n, s->weights, k) < 0 ? k : s->key;
    } else {
        const struct tensor *v = node_has_input(n, 1) ? fact_at(l, n->in[1])->value : NULL;
        if (v && dtype_is_int(v->type) && tensor_count(v) == 1)
            s->key = axis_normalise(tensor_get_i64(v, v->data, 0), f->rank);
        s->keeps_key = reduce_attr_of(n)->keepdims != 0;
    }
    for (int k = 0; s->key >= 0 && k < f->rank; k++)
        if (k != s->key && f->shape[k] == f->shape[s->key]) {
            s->query = k;
            return dim_has_symbol(f->shape[k]);
        }
    return false;
}

static bool is_number(const struct looked *l, uint32_t w)
{
    const struct tensor *v = fact_at(l, w)->value;
    return v && tensor_count(v) == 1;
}

/* Factors of queries lie on the axes of what comes out as they do on those of the weights. */
static bool factors_fit(const struct looked *l, const struct sum *s)
{
    bool plain = true, fit = s->keeps_key || s->in_v != WIRE_NONE;
    for (unsigned i = 0; i < s->n_times; i++)
        plain &= is_number(l, s->times[i]);
    for (unsigned i = 0; i < s->n_over; i++)
        plain &= is_number(l, s->over[i]);
    for (int k = 0; s->in_v != WIRE_NONE && k < fact_at(l, s->w)->rank; k++)
        fit &=
            k == s->key ? strlen(s->y) == (size_t) fact_at(l, s->w)->rank : s->y[k] == label_of(k);
    return plain || fit;
}

static bool sum_find(struct looked *l, uint32_t at, unsigned i, struct sum *s)
{
    const struct node *n = &l->e->g->nodes[at];
    *s = (struct sum) { .at = at, .weights = i, .w = n->in[i], .in_v = WIRE_NONE };
    if (n->in[i] == WIRE_NONE || !has_square(l, n->in[i]) || !axes_find(l, s, n) ||
        !weights_follow(l, s) || !product_label(l, s))
        return false;
    if (!is_product(n))
        total_label(l, s);
    else if (!sums_once(l, n) || !values_label(l, s, n))
        return false;
    return state_label(s) && factors_fit(l, s);
}

/* ---- the Scan ---- */

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

/* state, query, key, value -> next state, what comes out. */
static rill_status body_make(struct looked *l, struct sum *s, struct graph *body)
{
    const struct graph *g = l->e->g;
    graph_init(body, g->arena, g->dims, "running sum");
    label_drop(s->q, label_of(s->query));
    label_drop(s->k, label_of(s->key));
    label_drop(s->v, label_of(s->key));
    label_drop(s->y, label_of(s->query));
    const struct fact f[] = { fact_of(s, s->state), fact_of(s, s->q), fact_of(s, s->k),
                              fact_of(s, s->v) };
    const bool of_values = s->in_v != WIRE_NONE;
    uint32_t state = graph_add_input(body, "sum", &f[0]), q = graph_add_input(body, "query", &f[1]),
             k = graph_add_input(body, "key", &f[2]), next, y,
             v = of_values ? graph_add_input(body, "value", &f[3]) : k, more = k;
    if (state == WIRE_NONE || q == WIRE_NONE || k == WIRE_NONE || v == WIRE_NONE)
        return no_memory(l);
    if (of_values)
        TRY(einsum_put(l, body, s->k, s->v, s->state, (uint32_t[]) { k, v }, &more));
    TRY(put(l, body, OP_ADD, NULL, (uint32_t[]) { state, more }, 2, &next));
    TRY(einsum_put(l, body, s->q, s->state, s->y, (uint32_t[]) { q, s->strict ? state : next },
                   &y));
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
    const bool of_values = s->in_v != WIRE_NONE;
    uint32_t in[4] = { zeros_add(g, s), s->in_q, s->in_k, s->in_v }, out[2];
    struct fact whole = fact_of(s, s->y), state = fact_of(s, s->state);
    if (!body || !at || !axes || in[0] == WIRE_NONE ||
        !(body[0] = arena_new(g->arena, struct graph)))
        return no_memory(l);
    axes[0] = axis_of_label(s->q, label_of(s->query));
    axes[1] = axis_of_label(s->k, label_of(s->key));
    axes[2] = of_values ? axis_of_label(s->v, label_of(s->key)) : 0;
    axes[3] = s->stack;
    *at = (struct scan_attr) { .n_states = 1,
                               .n_scanned = of_values ? 3 : 2,
                               .in_axes = { .v = axes, .n = of_values ? 3 : 2 },
                               .out_axes = { .v = axes + 3, .n = 1 } };
    TRY(body_make(l, s, body[0]));
    out[0] = graph_add_wire(g, "sum", &state);
    out[1] = graph_add_wire(g, g->nodes[s->at].name, &whole);
    if (out[0] == WIRE_NONE || out[1] == WIRE_NONE ||
        !edit_insert(l->e, s->at, &op_scan, at, in, of_values ? 4 : 3, out, 2))
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

static rill_status sum_put(struct looked *l, struct sum *s)
{
    struct graph *g = l->e->g;
    uint32_t y;
    TRY(scan_put(l, s, &y));
    if (s->in_v == WIRE_NONE && s->keeps_key)
        TRY(op_put(l, s, OP_UNSQUEEZE, y, edit_int(g, s->key), &y));
    for (unsigned i = s->n_times; i > 0; i--)
        TRY(op_put(l, s, OP_MUL, y, s->times[i - 1], &y));
    for (unsigned i = s->n_over; i > 0; i--)
        TRY(op_put(l, s, OP_DIV, y, s->over[i - 1], &y));
    TRY(op_put(l, s, OP_IDENTITY, y, WIRE_NONE, &y));
    edit_replace(l->e, s->at, g->n_nodes - 1);
    return RILL_OK;
}

static rill_status node_look(struct looked *l, uint32_t at)
{
    const struct node *n = &l->e->g->nodes[at];
    struct sum s;
    if (n->n_out != 1 || n->out[0] == WIRE_NONE || fact_at(l, n->out[0])->type != DTYPE_F32)
        return RILL_OK;
    const unsigned sums = is_product(n) ? 2 : node_is(n, OP_REDUCE_SUM) ? 1 : 0;
    for (unsigned i = 0; i < sums; i++)
        if (sum_find(l, at, i, &s)) {
            l->any = true;
            return sum_put(l, &s);
        }
    return RILL_OK;
}

rill_status graph_with_running_sums(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct positions ps = { 0 };
    struct looked l = { .e = &e, .ps = &ps, .err = reterr };
    TRY(edit_begin(&e, ret, g, reterr));
    rill_status s = RILL_OK;
    for (uint32_t i = 0; s == RILL_OK && i < e.n_nodes; i++)
        s = node_look(&l, i);
    if (l.tried)
        positions_drop(&ps);
    arena_drop(&l.scratch);
    return s == RILL_OK ? edit_end(&e, reterr) : s;
}
