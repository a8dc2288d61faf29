/* SPDX-License-Identifier: MIT */
/* States of a Scan that are written place by place: each iteration puts what it made at the place
 * of its own number along an axis that has as many places, and nothing else in the body reads the
 * state. What is put there is scanned, along that axis. */
#include "engine/graph/control.h"
#include "engine/graph/prune.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#include <string.h>

struct written {
    const struct graph *g; /* around the Scan */
    const struct node *scan;
    const struct graph *body;
    unsigned state;
    uint32_t put; /* wire of the body: what is written */
    int axis;     /* of the state */
};

static const struct scan_attr *scan_of(const struct written *w)
{
    return w->scan->attr;
}

/* ---- the number of the iteration ---- */

/* Whether w, outside, counts 0, 1, .. up to that size. */
static bool counts_to(const struct graph *g, uint32_t w, const struct dim *size)
{
    int64_t first, step;
    unsigned n[2];
    const struct node *range = match_op(g, w, OP_RANGE);
    return range && g->wires[w].fact.shape[0] == size &&
        match_ints(g, range->in[0], &first, 1, &n[0]) && n[0] == 1 && first == 0 &&
        match_ints(g, range->in[2], &step, 1, &n[1]) && n[1] == 1 && step == 1;
}

/* Whether all elements of wire w of the body are the number of the iteration, of as many as that
 * size. */
static bool is_number(const struct written *q, uint32_t w, const struct dim *size)
{
    static const enum op_id moves[] = { OP_EXPAND, OP_IDENTITY, OP_RESHAPE, OP_SQUEEZE,
                                        OP_UNSQUEEZE };
    const struct scan_attr *at = scan_of(q);
    const struct node *n;
    while ((n = graph_producer(q->body, w)) &&
           node_is_among(n, moves, sizeof moves / sizeof *moves))
        w = n->in[0];
    for (unsigned k = 0; k < (unsigned) at->n_scanned; k++)
        if (q->body->inputs[at->n_states + k] == w)
            return !scan_is_reverse(at->in_reverse, k) &&
                counts_to(q->g, q->scan->in[at->n_states + k], size);
    return false;
}

/* ---- where it writes ---- */

/* Places of the axes before `axis` together; -1: not all are known. */
static int64_t places_before(const struct fact *f, int axis)
{
    int64_t n = 1;
    for (int a = 0; a < axis; a++) {
        if (!dim_is_const(f->shape[a]))
            return -1;
        n *= dim_value(f->shape[a]);
    }
    return n;
}

/* Whether the columns of v count axes `from`, .. of f among those before `axis`, in order of rows.
 */
static bool counts_axes(const struct fact *f, const struct tensor *v, int axis, int from)
{
    const int64_t columns = v->dim[v->rank - 1], rows = places_before(f, axis);
    int64_t behind = rows / places_before(f, from);
    if (v->type != DTYPE_I64 || from + columns > axis || tensor_count(v) != rows * columns)
        return false;
    for (int64_t c = 0; c < columns; c++) {
        const int64_t size = dim_value(f->shape[from + c]);
        behind /= size;
        for (int64_t r = 0; r < rows; r++)
            if (tensor_get_i64(v, v->data, r * columns + c) != r / behind % size)
                return false;
    }
    return true;
}

/* Rows of indices that are all places of the axes before `axis`, and there the iteration's. */
static bool rows_count(const struct written *q, const struct fact *f, uint32_t indices, int axis)
{
    const struct node *joined = axis > 0 ? match_op(q->body, indices, OP_CONCAT) : NULL;
    const int64_t rows = places_before(f, axis);
    int from = 0;
    if (rows <= 0 || (axis > 0 && !joined))
        return false;
    for (unsigned i = 0; joined && i + 1 < joined->n_in; i++) {
        const struct tensor *v = match_value(q->body, joined->in[i]);
        if (!v || v->rank == 0 || !counts_axes(f, v, axis, from))
            return false;
        from += (int) v->dim[v->rank - 1];
    }
    const uint32_t last = joined ? joined->in[joined->n_in - 1] : indices;
    const struct fact *l = &q->body->wires[last].fact;
    return from == axis && l->rank > 0 && dim_is(l->shape[l->rank - 1], 1) &&
        is_number(q, last, f->shape[axis]);
}

/* The axis along which the node writes the whole place of the iteration; -1: none. */
static int axis_written(const struct written *q, const struct node *n, const struct fact *f)
{
    const struct fact *indices = &q->body->wires[n->in[1]].fact,
                      *put = &q->body->wires[n->in[2]].fact;
    int axis = -1;
    if (((const struct scatter_attr *) n->attr)->reduction)
        return -1;
    if (node_is(n, OP_SCATTER_ND)) {
        if (indices->rank == 0 || !dim_is_const(indices->shape[indices->rank - 1]))
            return -1;
        axis = (int) dim_value(indices->shape[indices->rank - 1]) - 1;
        return axis >= 0 && rows_count(q, f, n->in[1], axis) ? axis : -1;
    }
    axis = axis_normalise(axis_of(n), f->rank);
    for (int a = 0; a < f->rank; a++)
        if (a == axis ? !dim_is(put->shape[a], 1) : put->shape[a] != f->shape[a])
            return -1;
    return is_number(q, n->in[1], f->shape[axis]) ? axis : -1;
}

/* All sizes but that of the axis must be known. */
static bool state_find(struct written *q)
{
    static const enum op_id writers[] = { OP_SCATTER_ELEMENTS, OP_SCATTER_ND };
    const uint32_t before = q->body->inputs[q->state], after = q->body->outputs[q->state];
    const struct node *n = graph_producer(q->body, after);
    const struct fact *f = &q->body->wires[before].fact;
    if (!n || !node_is_among(n, writers, sizeof writers / sizeof *writers) || n->in[0] != before ||
        graph_uses(q->body, before) != 1 || graph_uses(q->body, after) != 1)
        return false;
    q->axis = axis_written(q, n, f);
    q->put = n->in[2];
    for (int a = 0; a < f->rank && q->axis >= 0; a++)
        if (a != q->axis && !dim_is_const(f->shape[a]))
            return false;
    return q->axis >= 0;
}

/* ---- the Scan without the state ---- */

static void wire_drop(uint32_t *list, unsigned *n, unsigned at)
{
    memmove(list + at, list + at + 1, (*n - at - 1) * sizeof *list);
    --*n;
}

/* What is written becomes the body's last output, a slice of the state. */
static rill_status slice_add(const struct written *q, struct graph *body, rill_error *err)
{
    struct fact f = body->wires[body->inputs[q->state]].fact;
    uint32_t out = WIRE_NONE;
    f.rank--;
    for (int a = q->axis; a < f.rank; a++)
        f.shape[a] = f.shape[a + 1];
    const uint32_t in[] = { q->put, put_sizes(body, q->scan->name, f.shape, f.rank) };
    TRY(put_op(body, OP_RESHAPE, in, 2, &f, &out, NULL, err));
    return graph_add_output(body, out) ? RILL_OK : err_set(err, RILL_NOMEM, "out of memory");
}

static struct scan_attr *attr_without(const struct written *q, unsigned n_scanned_out)
{
    struct arena *a = q->g->arena;
    struct scan_attr *at = arena_copy(a, scan_of(q), sizeof *at);
    int64_t *axes = arena_array(a, int64_t, n_scanned_out + 1),
            *reverse = arena_array(a, int64_t, n_scanned_out + 1);
    if (!at || !axes || !reverse)
        return NULL;
    for (unsigned k = 0; k < n_scanned_out; k++) {
        axes[k] = k < at->out_axes.n ? at->out_axes.v[k] : 0;
        reverse[k] = scan_is_reverse(at->out_reverse, k);
    }
    axes[n_scanned_out] = q->axis;
    at->out_axes = (struct attr_ints) { .v = axes, .n = n_scanned_out + 1 };
    at->out_reverse = (struct attr_ints) { .v = reverse, .n = n_scanned_out + 1 };
    at->n_states--;
    return at;
}

static rill_status state_scan(const struct written *q, struct node *n, rill_error *err)
{
    struct graph *body = arena_new(q->g->arena, struct graph);
    if (!body)
        return err_set(err, RILL_NOMEM, "out of memory");
    TRY(graph_copied(body, q->body, err));
    TRY(slice_add(q, body, err));
    struct scan_attr *at = attr_without(q, n->n_out - (unsigned) scan_of(q)->n_states);
    if (!at)
        return err_set(err, RILL_NOMEM, "out of memory");
    const uint32_t y = n->out[q->state];
    memmove(n->out + q->state, n->out + q->state + 1, (n->n_out - q->state - 1) * sizeof *n->out);
    n->out[n->n_out - 1] = y;
    wire_drop(n->in, &n->n_in, q->state);
    wire_drop(body->inputs, &body->n_inputs, q->state);
    wire_drop(body->outputs, &body->n_outputs, q->state);
    n->attr = at;
    n->body[0] = body;
    return RILL_OK;
}

static rill_status node_look(const struct graph *g, struct node *n, rill_error *err)
{
    struct written q = { .g = g, .scan = n };
    while (n->op == &op_scan && q.state < (unsigned) scan_of(&q)->n_states) {
        q.body = n->body[0];
        if (state_find(&q))
            TRY(state_scan(&q, n, err));
        else
            q.state++;
    }
    return RILL_OK;
}

rill_status graph_with_writes_scanned(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    TRY(graph_copied(ret, g, reterr));
    for (uint32_t i = 0; i < ret->n_nodes; i++)
        TRY(node_look(ret, &ret->nodes[i], reterr));
    return RILL_OK;
}
