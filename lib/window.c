/* SPDX-License-Identifier: MIT */
#include "lib/window.h"
#include "engine/graph/control.h"
#include "engine/graph/subst.h"
#include "engine/ops/attrs.h"

#include <stdio.h>
#include <string.h>

#define SYMBOLS_MAX 64

struct windower {
    const struct windowing *w;
    struct graph net; /* for one window, a copy */
    struct graph *to;
    unsigned place; /* of the input among those of the net */
    int axis;
    rill_error *err;
};

static rill_status no_memory(const struct windower *r)
{
    return err_set(r->err, RILL_NOMEM, "out of memory");
}

/* ---- which axis ---- */

static rill_status input_find(struct windower *r)
{
    const struct graph *g = &r->net;
    char known[200] = "";
    for (r->place = 0; r->place < g->n_inputs; r->place++)
        if (!strcmp(g->wires[g->inputs[r->place]].name, r->w->input))
            return RILL_OK;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s'%.60s'", i ? ", " : "",
                 g->wires[g->inputs[i]].name);
    }
    return err_set(r->err, RILL_INVALID, "there is no input '%.80s'; the inputs are: %s",
                   r->w->input, *known ? known : "none");
}

/* Of its only axis that `fits`; -1: there is none, or more than one. */
static int axis_only(const struct windower *r, const struct fact *f,
                     bool (*fits)(const struct windower *r, const struct fact *f, int axis))
{
    int found = -1, n = 0;
    for (int i = 0; i < f->rank; i++)
        if (fits(r, f, i)) {
            found = i;
            n++;
        }
    return n == 1 ? found : -1;
}

static bool has_frames(const struct windower *r, const struct fact *f, int axis)
{
    return dim_is(f->shape[axis], r->w->size);
}

/* The first of several open axes counts the batch. */
static bool is_open(const struct windower *r, const struct fact *f, int axis)
{
    (void) r;
    return dim_name(f->shape[axis]) && (axis > 0 || f->rank == 1);
}

static rill_status axis_refuse(const struct windower *r, const struct fact *f, const char *why)
{
    char text[160];
    fact_print(f, text, sizeof text);
    return err_set(r->err, RILL_INVALID, "input '%.60s' is %s: %s", r->w->input, text, why);
}

static rill_status axis_find(struct windower *r, const struct fact *f)
{
    char why[160];
    r->axis = r->w->axis;
    if (f->rank < 1 || !f->type)
        return axis_refuse(r, f, "its shape is not known");
    if (r->axis >= f->rank)
        return axis_refuse(r, f, "it has no such axis");
    if (r->axis < 0 && (r->axis = axis_only(r, f, has_frames)) < 0)
        r->axis = axis_only(r, f, is_open);
    if (r->axis < 0)
        snprintf(why, sizeof why, "which of its axes has %lld frames? axis: N says it",
                 (long long) r->w->size);
    else
        snprintf(why, sizeof why, "axis %d does not have %lld frames, and the file fixes it",
                 r->axis, (long long) r->w->size);
    return r->axis >= 0 && (has_frames(r, f, r->axis) || dim_name(f->shape[r->axis]))
        ? RILL_OK
        : axis_refuse(r, f, why);
}

/* Symbols of the input: the batch is 1, the windows are as long as they are. */
static rill_status sizes_fix(struct windower *r)
{
    const struct fact f = r->net.wires[r->net.inputs[r->place]].fact;
    struct dims *ds = r->net.dims;
    for (int i = 0; i < f.rank; i++) {
        const bool batch = i == 0 && r->axis != 0;
        struct graph made;
        if ((!batch && i != r->axis) || !dim_name(f.shape[i]))
            continue;
        TRY(graph_with_symbol(&made, &r->net, f.shape[i], dim_int(ds, batch ? 1 : r->w->size),
                              r->err));
        r->net = made;
    }
    return RILL_OK;
}

/* ---- the graph around it ---- */

/* With attributes of zeros, to be set. out is not among in. */
static rill_status op_add(struct windower *r, enum op_id id, const uint32_t *in, unsigned n_in,
                          const char *name, uint32_t *out, void **ret_attr)
{
    const struct op *op = op_by_id(id);
    void *attr = arena_alloc(r->to->arena, op->attr_bytes + 1);
    if (!attr)
        return no_memory(r);
    memset(attr, 0, op->attr_bytes);
    *out = graph_add_wire(r->to, name, NULL);
    *ret_attr = attr;
    return *out != WIRE_NONE && graph_add_node(r->to, op, name, attr, in, n_in, out, 1)
        ? RILL_OK
        : no_memory(r);
}

static rill_status turned(struct windower *r, uint32_t from, const int64_t *perm, int rank,
                          const char *name, uint32_t *out)
{
    void *attr;
    int64_t *v = arena_copy(r->to->arena, perm, (size_t) rank * sizeof *v);
    TRY(op_add(r, OP_TRANSPOSE, &from, 1, name, out, &attr));
    ((struct transpose_attr *) attr)->perm = (struct attr_ints) { (uint32_t) rank, v };
    return v ? RILL_OK : no_memory(r);
}

/* [.., S, ..] -> [windows, .., size, ..] */
static rill_status windows_add(struct windower *r, uint32_t x, int rank, uint32_t *out)
{
    const char *name = r->to->wires[x].name;
    const char *framed = arena_printf(r->to->arena, "%s:windows", name);
    int64_t last[RANK_MAX], front[RANK_MAX + 1];
    void *attr;
    if (!framed || rank >= RANK_MAX)
        return framed ? err_set(r->err, RILL_LIMIT, "input '%.60s' has too many axes", name)
                      : no_memory(r);
    for (int i = 0; i < rank; i++)
        last[i] = i == rank - 1 ? r->axis : i + (i >= r->axis);
    front[0] = rank - 1;
    for (int i = 0; i < rank; i++)
        front[1 + i] = i == r->axis ? rank : i - (i > r->axis);
    uint32_t flow, frames;
    TRY(turned(r, x, last, rank, framed, &flow));
    TRY(op_add(r, OP_FRAME, &flow, 1, framed, &frames, &attr));
    *(struct frame_attr *) attr =
        (struct frame_attr) { .size = r->w->size, .hop = r->w->hop, .end = END_DROP };
    return turned(r, frames, front, rank + 1, framed, out);
}

static const struct dim *symbol_free(struct windower *r)
{
    static const char *const names[] = { "S", "T", "time", "frames", "samples" };
    const struct dim *list[SYMBOLS_MAX];
    unsigned n = graph_symbols(&r->net, list, 0, SYMBOLS_MAX);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned k = 0;
        while (k < n && strcmp(dim_name(list[k]), names[i]) != 0)
            k++;
        if (k == n)
            return dim_symbol(r->net.dims, names[i]);
    }
    return dim_fresh(r->net.dims);
}

static rill_status inputs_add(struct windower *r, const struct dim *frames, uint32_t *in,
                              struct graph *body)
{
    const struct graph *g = &r->net;
    unsigned n = 1;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        struct fact f = g->wires[g->inputs[i]].fact;
        if (i == r->place)
            f.shape[r->axis] = frames;
        const uint32_t w = graph_add_input(r->to, g->wires[g->inputs[i]].name, &f);
        if (w == WIRE_NONE)
            return no_memory(r);
        if (i == r->place)
            TRY(windows_add(r, w, f.rank, &in[0]));
        else
            in[n] = w;
        body->inputs[i == r->place ? 0 : n++] = g->inputs[i];
    }
    return RILL_OK;
}

/* Output k of the net, of which all windows are stacked in `from`. */
static rill_status output_add(struct windower *r, unsigned k, uint32_t from, bool batched)
{
    const char *name = r->net.wires[r->net.outputs[k]].name;
    uint32_t in[2] = { from, WIRE_NONE }, out = from;
    void *attr;
    if (batched) {
        in[1] = graph_add_const(r->to, "axes",
                                tensor_from_data(r->to->arena, DTYPE_I64, 1, (int64_t[]) { 1 },
                                                 (int64_t[]) { 1 }));
        if (in[1] == WIRE_NONE)
            return no_memory(r);
        TRY(op_add(r, OP_SQUEEZE, in, 2, name, &out, &attr));
    }
    return graph_add_output(r->to, out) ? RILL_OK : no_memory(r);
}

static rill_status scan_add(struct windower *r, struct graph *body, const uint32_t *in,
                            const bool *batched)
{
    struct arena *a = r->to->arena;
    const struct graph *g = &r->net;
    struct scan_attr *at = arena_new(a, struct scan_attr);
    uint32_t *out = arena_array(a, uint32_t, g->n_outputs + 1);
    if (!at || !out)
        return no_memory(r);
    at->n_scanned = 1;
    for (uint32_t k = 0; k < g->n_outputs; k++) {
        const char *name = g->wires[g->outputs[k]].name;
        const char *all = batched[k] ? arena_printf(a, "%s:windows", name) : name;
        out[k] = all ? graph_add_wire(r->to, all, NULL) : WIRE_NONE;
        if (out[k] == WIRE_NONE)
            return no_memory(r);
    }
    struct node *n =
        graph_add_node(r->to, &op_scan, "window", at, in, g->n_inputs, out, g->n_outputs);
    if (!n || !(n->body = arena_array(a, struct graph *, 1)))
        return no_memory(r);
    n->body[0] = body;
    n->n_body = 1;
    for (uint32_t k = 0; k < g->n_outputs; k++)
        TRY(output_add(r, k, out[k], batched[k]));
    return RILL_OK;
}

static rill_status graph_add(struct windower *r, const struct dim *frames, const bool *batched)
{
    struct arena *a = r->net.arena;
    struct graph *body = arena_copy(a, &r->net, sizeof *body);
    uint32_t *in = arena_array(a, uint32_t, r->net.n_inputs + 1);
    if (!body || !in)
        return no_memory(r);
    graph_init(r->to, a, r->net.dims, r->net.name);
    r->to->meta = r->net.meta;
    r->to->n_meta = r->net.n_meta;
    body->n_meta = 0;
    if (!(body->inputs = arena_array(a, uint32_t, r->net.n_inputs + 1)))
        return no_memory(r);
    TRY(inputs_add(r, frames, in, body));
    return scan_add(r, body, in, batched);
}

/* Outputs whose first axis is the batch. */
static rill_status batches_find(const struct windower *r, const struct fact *facts, bool *ret)
{
    const struct fact *x = &r->net.wires[r->net.inputs[r->place]].fact;
    for (uint32_t k = 0; k < r->net.n_outputs; k++) {
        const uint32_t w = r->net.outputs[k];
        const struct fact *f = facts[w].type ? &facts[w] : &r->net.wires[w].fact;
        if (f->rank < 0)
            return err_set(r->err, RILL_INVALID, "the shape of output '%.80s' is not known",
                           r->net.wires[w].name);
        ret[k] = f->rank > 0 &&
            (dim_is(f->shape[0], 1) ||
             (r->axis > 0 && dim_name(f->shape[0]) && f->shape[0] == x->shape[0]));
    }
    return RILL_OK;
}

static rill_status windowing_check(const struct windower *r)
{
    const struct windowing *w = r->w;
    if (w->size < 1 || w->hop < 1)
        return err_set(r->err, RILL_INVALID, "windows of %lld frames every %lld: at least 1 each",
                       (long long) w->size, (long long) w->hop);
    if (w->hop > w->size)
        return err_set(r->err, RILL_INVALID,
                       "windows of %lld frames every %lld leave frames out; every %lld at most",
                       (long long) w->size, (long long) w->hop, (long long) w->size);
    if (r->net.n_states)
        return err_set(r->err, RILL_INVALID,
                       "the net keeps '%.80s' from run to run: it streams as it is",
                       r->net.states[0].name);
    return RILL_OK;
}

rill_status mgraph_windowed(struct mgraph *ret, const struct mgraph *g, const struct fact *facts,
                            const struct windowing *w, const char **ret_symbol, rill_error *reterr)
{
    struct graph to;
    struct windower r = { .w = w, .net = g->g, .to = &to, .err = reterr };
    bool *batched = arena_array(g->g.arena, bool, g->g.n_outputs + 1);
    if (!batched)
        return no_memory(&r);
    TRY(windowing_check(&r));
    TRY(input_find(&r));
    TRY(axis_find(&r, &r.net.wires[r.net.inputs[r.place]].fact));
    TRY(batches_find(&r, facts, batched));
    TRY(sizes_fix(&r));
    const struct dim *frames = w->symbol ? dim_symbol(g->g.dims, w->symbol) : symbol_free(&r);
    TRY(graph_add(&r, frames, batched));
    *ret_symbol = dim_name(frames);
    ret->g = to;
    return dims_status(g->g.dims, reterr);
}
