/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/declutter/lift.h"
#include "engine/ops/attrs.h"

#include <string.h>

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

bool node_is_product(const struct node *n)
{
    return node_is(n, OP_MATMUL) || node_is(n, OP_GEMM);
}

struct fact fact_stacked(const struct fact *f, const struct dim *length)
{
    struct fact s = *f;
    s.value = NULL;
    memmove(&s.shape[1], &s.shape[0], (size_t) f->rank * sizeof *s.shape);
    s.shape[0] = length;
    s.rank++;
    return s;
}

/* ---- which ops ---- */

/* The new axis must be in front of what every operand broadcasts to. */
static bool pointwise_lifts(const struct graph *g, const struct node *n, const bool *stacked)
{
    int rank = g->wires[n->out[0]].fact.rank;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && stacked[i] && g->wires[n->in[i]].fact.rank != rank)
            return false;
    return true;
}

/* Rows of a product are sums of their own. */
static bool matmul_lifts(const struct graph *g, const struct node *n, const bool *stacked)
{
    return stacked[0] && !stacked[1] && g->wires[n->in[1]].fact.rank == 2 &&
        g->wires[n->in[0]].fact.rank >= 1;
}

static bool gemm_lifts(const struct graph *g, const struct node *n, const bool *stacked)
{
    const struct fact *a = &g->wires[n->in[0]].fact;
    bool bias = node_has_input(n, 2);
    return stacked[0] && !stacked[1] && !(bias && stacked[2]) && a->rank == 2 &&
        dim_is(a->shape[0], 1) && !gemm_attr_of(n)->ta;
}

static bool axes_lift(const struct graph *g, const struct node *n, const bool *stacked)
{
    return stacked[0] && n->n_in == 2 && n->in[1] != WIRE_NONE && g->wires[n->in[1]].fact.value &&
        g->wires[n->in[1]].fact.type == DTYPE_I64;
}

static bool transpose_lifts(const struct graph *g, const struct node *n, const bool *stacked)
{
    (void) g;
    return n->n_in == 1 && stacked[0];
}

static rill_status gemm_lift(struct graph *, const struct graph *, const struct node *,
                             const struct lifted *, const struct dim *, uint32_t, rill_error *);
static rill_status axes_lifted(struct graph *, const struct graph *, const struct node *,
                               const struct lifted *, const struct dim *, uint32_t, rill_error *);
static rill_status transpose_lift(struct graph *, const struct graph *, const struct node *,
                                  const struct lifted *, const struct dim *, uint32_t,
                                  rill_error *);

static const struct rule {
    enum op_id op;
    bool (*fits)(const struct graph *g, const struct node *n, const bool *stacked);
    rill_status (*lift)(struct graph *to, const struct graph *g, const struct node *n,
                        const struct lifted *in, const struct dim *length, uint32_t out,
                        rill_error *reterr); /* NULL: the same op */
} rules[] = {
    { OP_MATMUL, matmul_lifts, NULL },
    { OP_GEMM, gemm_lifts, gemm_lift },
    { OP_SQUEEZE, axes_lift, axes_lifted },
    { OP_UNSQUEEZE, axes_lift, axes_lifted },
    { OP_TRANSPOSE, transpose_lifts, transpose_lift },
};

static const struct rule pointwise_rule = { OP_NONE, pointwise_lifts, NULL };

static const struct rule *rule_of(const struct node *n)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (node_is(n, rules[i].op))
            return &rules[i];
    return n->op->flags & OP_POINTWISE ? &pointwise_rule : NULL;
}

bool node_lifts(const struct graph *g, const struct node *n, const bool *stacked)
{
    const struct rule *r = rule_of(n);
    if (!r || n->n_out != 1 || n->out[0] == WIRE_NONE || n->n_body || (n->op->flags & OP_RANDOM))
        return false;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && stacked[i] && g->wires[n->in[i]].fact.rank >= RANK_MAX - 1)
            return false;
    return g->wires[n->out[0]].fact.rank < RANK_MAX - 1 && r->fits(g, n, stacked);
}

/* ---- making them ---- */

static rill_status op_add(struct graph *to, const struct op *op, const char *name, const void *attr,
                          const uint32_t *in, unsigned n_in, uint32_t out, rill_error *err)
{
    return op && graph_add_node(to, op, name, attr, in, n_in, &out, 1) ? RILL_OK : no_memory(err);
}

static rill_status wire_add(struct graph *to, const char *name, const struct fact *f, uint32_t *ret,
                            rill_error *err)
{
    struct fact plain = *f;
    plain.value = NULL;
    *ret = graph_add_wire(to, name, &plain);
    return *ret == WIRE_NONE ? no_memory(err) : RILL_OK;
}

static rill_status ints_add(struct graph *to, const int64_t *v, int64_t n, uint32_t *ret,
                            rill_error *err)
{
    *ret = graph_add_const(to, "axes", tensor_from_data(to->arena, DTYPE_I64, 1, &n, v));
    return *ret == WIRE_NONE ? no_memory(err) : RILL_OK;
}

static rill_status attr_defaults(struct graph *to, const struct op *op, void **ret, rill_error *err)
{
    *ret = arena_alloc(to->arena, op->attr_bytes + 1);
    return *ret ? attrs_parse(op, "lifted", NULL, 0, *ret, err) : no_memory(err);
}

/* Squeeze or Unsqueeze of axis 1. */
static rill_status middle_axis(struct graph *to, enum op_id id, const char *name, uint32_t from,
                               uint32_t out, rill_error *err)
{
    const struct op *op = op_by_id(id);
    void *attr;
    uint32_t in[2] = { from, WIRE_NONE };
    TRY(attr_defaults(to, op, &attr, err));
    TRY(ints_add(to, (const int64_t[]) { 1 }, 1, &in[1], err));
    return op_add(to, op, name, attr, in, 2, out, err);
}

/* [length, 1, k] as a matrix of length rows. */
static rill_status gemm_lift(struct graph *to, const struct graph *g, const struct node *n,
                             const struct lifted *in, const struct dim *length, uint32_t out,
                             rill_error *err)
{
    struct fact f = to->wires[in[0].wire].fact, y = g->wires[n->out[0]].fact;
    uint32_t list[3] = { WIRE_NONE, in[1].wire, n->n_in > 2 ? in[2].wire : WIRE_NONE }, rows;
    f.shape[1] = f.shape[2];
    f.rank = 2;
    y.shape[0] = length;
    TRY(wire_add(to, n->name, &f, &list[0], err));
    TRY(middle_axis(to, OP_SQUEEZE, n->name, in[0].wire, list[0], err));
    TRY(wire_add(to, n->name, &y, &rows, err));
    TRY(op_add(to, n->op, n->name, n->attr, list, n->n_in, rows, err));
    return middle_axis(to, OP_UNSQUEEZE, n->name, rows, out, err);
}

static rill_status axes_lifted(struct graph *to, const struct graph *g, const struct node *n,
                               const struct lifted *in, const struct dim *length, uint32_t out,
                               rill_error *err)
{
    const struct tensor *t = g->wires[n->in[1]].fact.value;
    int64_t axes[RANK_MAX], count = tensor_count(t);
    uint32_t list[2] = { in[0].wire, WIRE_NONE };
    (void) length;
    for (int64_t i = 0; i < count && i < RANK_MAX; i++) {
        axes[i] = tensor_get_i64(t, t->data, i);
        axes[i] += axes[i] >= 0;
    }
    TRY(ints_add(to, axes, count, &list[1], err));
    return op_add(to, n->op, n->name, n->attr, list, 2, out, err);
}

static rill_status transposed(struct graph *to, const char *name, uint32_t from,
                              const int64_t *perm, int rank, uint32_t out, rill_error *err)
{
    const struct op *op = op_by_id(OP_TRANSPOSE);
    int64_t *v = arena_copy(to->arena, perm, (size_t) rank * sizeof *perm);
    void *attr;
    if (!v)
        return no_memory(err);
    TRY(attr_defaults(to, op, &attr, err));
    ((struct transpose_attr *) attr)->perm = (struct attr_ints) { (uint32_t) rank, v };
    return op_add(to, op, name, attr, &from, 1, out, err);
}

static rill_status transpose_lift(struct graph *to, const struct graph *g, const struct node *n,
                                  const struct lifted *in, const struct dim *length, uint32_t out,
                                  rill_error *err)
{
    struct attr_ints old = transpose_attr_of(n)->perm;
    int rank = g->wires[n->out[0]].fact.rank;
    int64_t perm[RANK_MAX] = { 0 };
    (void) length;
    for (int i = 0; i < rank; i++)
        perm[i + 1] = 1 + (old.n ? old.v[i] : rank - 1 - i);
    return transposed(to, n->name, in[0].wire, perm, rank + 1, out, err);
}

rill_status node_lift(struct graph *to, const struct graph *g, const struct node *n,
                      const struct lifted *in, const struct dim *length, uint32_t *out,
                      rill_error *reterr)
{
    const struct rule *r = rule_of(n);
    struct fact f = g->wires[n->out[0]].fact;
    bool any = false;
    for (unsigned i = 0; i < n->n_in; i++)
        any |= in[i].stacked;
    if (*out == WIRE_NONE) {
        f = any ? fact_stacked(&f, length) : f;
        TRY(wire_add(to, g->wires[n->out[0]].name, &f, out, reterr));
    }
    if (any && r && r->lift)
        return r->lift(to, g, n, in, length, *out, reterr);
    uint32_t *list = arena_array(to->arena, uint32_t, n->n_in + 1);
    if (!list)
        return no_memory(reterr);
    for (unsigned i = 0; i < n->n_in; i++)
        list[i] = in[i].wire;
    return op_add(to, n->op, n->name, n->attr, list, n->n_in, *out, reterr);
}

rill_status axis_to_front(struct graph *to, uint32_t wire, int axis, bool back, uint32_t *out,
                          rill_error *reterr)
{
    struct fact f = to->wires[wire].fact, turned = f;
    int64_t perm[RANK_MAX];
    for (int i = 0; i < f.rank; i++)
        perm[i] = back ? (i == axis ? 0 : i + (i < axis)) : (i == 0 ? axis : i - (i <= axis));
    for (int i = 0; i < f.rank; i++)
        turned.shape[i] = f.shape[perm[i]];
    if (*out == WIRE_NONE)
        TRY(wire_add(to, to->wires[wire].name, &turned, out, reterr));
    return transposed(to, to->wires[wire].name, wire, perm, f.rank, *out, reterr);
}

void body_drop(struct graph *body, const bool *gone)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->n_nodes; i++) {
        if (gone[i])
            continue;
        struct node *n = &body->nodes[kept];
        *n = body->nodes[i];
        for (unsigned k = 0; k < n->n_out; k++)
            if (n->out[k] != WIRE_NONE)
                body->wires[n->out[k]].node = kept;
        kept++;
    }
    body->n_nodes = kept;
}
