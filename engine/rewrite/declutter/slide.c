/* SPDX-License-Identifier: MIT */
/* Layers of a net over windows that are computed along the stream: slide.h has what it is about,
 * slide_rules.c what ops do. */
#include "engine/rewrite/declutter/slide.h"
#include "engine/graph/control.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/lift.h"
#include "engine/rewrite/declutter/passes.h"

#include <string.h>

/* A body wire that lies in a stream. */
struct slid {
    struct place at;
    uint32_t wire; /* outside */
};

struct slide {
    struct graph *to; /* the outer graph, made anew node by node */
    const struct node *n;
    struct graph body;        /* a copy */
    const struct dim *length; /* how many windows there are */
    struct slid *slid;        /* per body wire; at.axis -1: not */
    uint32_t *fixed;          /* per body wire: outside, where it is the same in all windows */
    bool *gone;               /* per body node */
    const char **why;         /* per body node that has windows and stays */
    struct place *made;       /* per body node: of its outputs; axis -1: it stays */
    uint32_t *out;            /* outer wires that the Scan still writes */
    rill_error *err;
};

static rill_status no_memory(const struct slide *s)
{
    return err_set(s->err, RILL_NOMEM, "out of memory");
}

/* ---- emitting ---- */

static rill_status wire_new(struct slide *s, const char *name, const struct fact *f, uint32_t *ret)
{
    struct fact plain = *f;
    plain.value = NULL;
    *ret = graph_add_wire(s->to, name, &plain);
    return *ret == WIRE_NONE ? no_memory(s) : RILL_OK;
}

static rill_status ints_new(struct slide *s, struct attr_ints list, uint32_t *ret)
{
    const int64_t n = list.n;
    *ret =
        graph_add_const(s->to, "sizes", tensor_from_data(s->to->arena, DTYPE_I64, 1, &n, list.v));
    return *ret == WIRE_NONE ? no_memory(s) : RILL_OK;
}

/* An op of default attributes that gives a tensor of fact f. *out: WIRE_NONE for a new wire.
 * ret_attr may be NULL. */
static rill_status op_add(struct slide *s, enum op_id id, const uint32_t *in, unsigned n_in,
                          const struct fact *f, uint32_t *out, void **ret_attr)
{
    const struct op *op = op_by_id(id);
    const char *name = s->to->wires[in[0]].name;
    void *attr = arena_alloc(s->to->arena, op->attr_bytes + 1);
    if (!attr)
        return no_memory(s);
    if (id != OP_FRAME)
        TRY(attrs_parse(op, name, NULL, 0, attr, s->err));
    if (*out == WIRE_NONE)
        TRY(wire_new(s, name, f, out));
    if (ret_attr)
        *ret_attr = attr;
    return graph_add_node(s->to, op, name, attr, in, n_in, out, 1) ? RILL_OK : no_memory(s);
}

/* Axis i of what comes out is axis perm[i]. */
static rill_status wire_turned(struct slide *s, uint32_t wire, const int64_t *perm, uint32_t *out)
{
    struct fact f = s->to->wires[wire].fact, turned = f;
    void *attr;
    bool same = true;
    for (int i = 0; i < f.rank; i++) {
        turned.shape[i] = f.shape[perm[i]];
        same &= perm[i] == i;
    }
    if (same && *out == WIRE_NONE) {
        *out = wire;
        return RILL_OK;
    }
    int64_t *v = arena_copy(s->to->arena, perm, (size_t) f.rank * sizeof *v);
    if (!v)
        return no_memory(s);
    TRY(op_add(s, OP_TRANSPOSE, &wire, 1, &turned, out, &attr));
    ((struct transpose_attr *) attr)->perm = (struct attr_ints) { (uint32_t) f.rank, v };
    return RILL_OK;
}

/* Without the last frames of an axis. */
static rill_status end_cut(struct slide *s, uint32_t wire, int axis, int64_t frames, uint32_t *ret)
{
    const int64_t cut[4] = { 0, -frames, axis, 1 };
    struct fact f = s->to->wires[wire].fact;
    uint32_t in[5] = { wire };
    for (unsigned k = 0; k < 4; k++)
        TRY(ints_new(s, (struct attr_ints) { 1, &cut[k] }, &in[1 + k]));
    f.shape[axis] = dim_add_int(s->to->dims, f.shape[axis], -frames);
    *ret = WIRE_NONE;
    return op_add(s, OP_SLICE, in, 5, &f, ret, NULL);
}

/* ---- where windows come from ---- */

/* The Frame behind Transposes, and where its axes lie in the wire: axis i is axis map[i] of the
 * frames. NULL: there is none. */
static const struct node *frame_find(const struct graph *g, uint32_t wire, int *map)
{
    const int rank = g->wires[wire].fact.rank;
    for (int i = 0; i < rank; i++)
        map[i] = i;
    for (;;) {
        const uint32_t from = g->wires[wire].node;
        const struct node *n = from == WIRE_NONE ? NULL : &g->nodes[from];
        if (!n || node_is(n, OP_FRAME))
            return n;
        if (!node_is(n, OP_TRANSPOSE) && !node_is(n, OP_IDENTITY))
            return NULL;
        const struct attr_ints perm =
            node_is(n, OP_TRANSPOSE) ? transpose_attr_of(n)->perm : (struct attr_ints) { 0 };
        for (int i = 0; node_is(n, OP_TRANSPOSE) && i < rank; i++)
            map[i] = perm.n ? (int) perm.v[map[i]] : rank - 1 - map[i];
        wire = n->in[0];
    }
}

/* Of scanned input k: where the slices lie in what was framed, its axes as the slice has them. */
static rill_status source_find(struct slide *s, unsigned k, struct slid *ret)
{
    const struct scan_attr *at = s->n->attr;
    const uint32_t wire = s->n->in[at->n_states + k];
    const int rank = s->to->wires[wire].fact.rank, scanned = scan_axis(at->in_axes, k, rank);
    int map[RANK_MAX], to = 0;
    int64_t perm[RANK_MAX];
    const struct node *n = frame_find(s->to, wire, map);
    const struct frame_attr *f = n ? frame_attr_of(n) : NULL;
    if (!f || scan_is_reverse(at->in_reverse, k) || scanned < 0 || map[scanned] != rank - 2 ||
        f->before || f->end != END_DROP)
        return RILL_OK;
    for (int i = 0; i < rank; i++) {
        if (i == scanned)
            continue;
        if (map[i] == rank - 1)
            ret->at.axis = to;
        perm[to++] = map[i] == rank - 1 ? rank - 2 : map[i];
    }
    const struct dim *samples = s->to->wires[n->in[0]].fact.shape[rank - 2];
    struct framed *of = arena_new(s->to->arena, struct framed);
    if (!of)
        return no_memory(s);
    *of = (struct framed) { f->size, f->hop, n->in[0] };
    if (node_has_input(n, 1))
        *of = (struct framed) { f->source_size, f->source_hop, n->in[1] };
    ret->at.of = of;
    ret->at.size = f->size;
    ret->at.hop = f->hop;
    ret->at.stride = 1;
    ret->at.beyond = dim_add_int(s->to->dims, samples, -f->size);
    ret->wire = WIRE_NONE;
    return wire_turned(s, n->in[0], perm, &ret->wire);
}

static rill_status slide_begin(struct slide *s)
{
    struct arena *a = s->to->arena;
    const struct scan_attr *at = s->n->attr;
    TRY(graph_copied(&s->body, s->n->body[0], s->err));
    s->slid = arena_array(a, struct slid, s->body.n_wires + 1);
    s->fixed = arena_array(a, uint32_t, s->body.n_wires + 1);
    s->gone = arena_array(a, bool, s->body.n_nodes + 1);
    s->why = arena_array(a, const char *, s->body.n_nodes + 1);
    s->made = arena_array(a, struct place, s->body.n_nodes + 1);
    s->out = arena_copy(a, s->n->out, s->n->n_out * sizeof *s->out);
    if (!s->slid || !s->fixed || !s->gone || !s->why || !s->made || !s->out)
        return no_memory(s);
    for (uint32_t w = 0; w < s->body.n_wires; w++) {
        s->slid[w].at.axis = -1;
        s->fixed[w] = WIRE_NONE;
    }
    const unsigned first = (unsigned) at->n_states, fixed = first + (unsigned) at->n_scanned;
    for (unsigned i = fixed; i < s->n->n_in; i++)
        s->fixed[s->body.inputs[i]] = s->n->in[i];
    for (unsigned i = first; i < fixed; i++)
        TRY(source_find(s, i - first, &s->slid[s->body.inputs[i]]));
    return RILL_OK;
}

/* ---- one node ---- */

static bool is_fixed(const struct slide *s, uint32_t w)
{
    return s->body.wires[w].fact.value || s->fixed[w] != WIRE_NONE;
}

/* Where its inputs lie; false: one of them varies in another way, or none lies in a stream. */
static bool places_of(const struct slide *s, const struct node *n, struct place *ret)
{
    bool any = false;
    for (unsigned i = 0; i < n->n_in; i++) {
        const uint32_t w = n->in[i];
        ret[i].axis = w == WIRE_NONE ? -1 : s->slid[w].at.axis;
        if (ret[i].axis < 0 && w != WIRE_NONE && !is_fixed(s, w))
            return false;
        if (ret[i].axis >= 0)
            ret[i] = s->slid[w].at;
        any |= ret[i].axis >= 0;
    }
    return any;
}

static rill_status outer_of(struct slide *s, uint32_t w, uint32_t *ret)
{
    if (s->slid[w].at.axis < 0 && s->fixed[w] == WIRE_NONE)
        s->fixed[w] = graph_add_const(s->to, s->body.wires[w].name, s->body.wires[w].fact.value);
    *ret = s->slid[w].at.axis < 0 ? s->fixed[w] : s->slid[w].wire;
    return *ret == WIRE_NONE ? no_memory(s) : RILL_OK;
}

static rill_status inputs_of(struct slide *s, const struct node *n, const struct way *way,
                             uint32_t *ret, unsigned *ret_n)
{
    *ret_n = n->n_in;
    for (unsigned i = 0; i < n->n_in || (i < WAY_INPUTS && way->instead[i].n); i++) {
        *ret_n = i + 1 > *ret_n ? i + 1 : *ret_n;
        ret[i] = WIRE_NONE;
        if (i < WAY_INPUTS && way->instead[i].n)
            TRY(ints_new(s, way->instead[i], &ret[i]));
        else if (n->in[i] != WIRE_NONE)
            TRY(outer_of(s, n->in[i], &ret[i]));
    }
    return way->cut ? end_cut(s, ret[0], s->slid[n->in[0]].at.axis, way->cut, &ret[0]) : RILL_OK;
}

/* Outputs are as the body has them, but for the frames of the stream. */
static rill_status outputs_of(struct slide *s, const struct node *n, const struct place *at,
                              uint32_t *ret)
{
    struct dims *ds = s->to->dims;
    for (unsigned k = 0; k < n->n_out; k++) {
        const uint32_t w = n->out[k];
        ret[k] = WIRE_NONE;
        if (w == WIRE_NONE)
            continue;
        struct fact f = s->body.wires[w].fact;
        f.shape[at->axis] = dim_add_int(ds, dim_div_int(ds, at->beyond, at->stride), at->size);
        TRY(wire_new(s, s->body.wires[w].name, &f, &ret[k]));
        s->slid[w] = (struct slid) { *at, ret[k] };
    }
    return dims_status(ds, s->err);
}

static rill_status node_slide(struct slide *s, const struct node *n, const struct way *way)
{
    struct arena *a = s->to->arena;
    uint32_t *in = arena_array(a, uint32_t, n->n_in + WAY_INPUTS),
             *out = arena_array(a, uint32_t, n->n_out + 1);
    unsigned n_in;
    struct node as = *n;
    if (!in || !out)
        return no_memory(s);
    TRY(inputs_of(s, n, way, in, &n_in));
    TRY(outputs_of(s, n, &way->out, out));
    as.attr = way->attr ? way->attr : n->attr;
    if (way->op != OP_NONE)
        return op_add(s, way->op, in, 2, NULL, out, NULL);
    return graph_copy_node(s->to, &as, in, n_in, out) ? RILL_OK : no_memory(s);
}

/* *ret_any: something was computed, and not only moved. */
static rill_status nodes_slide(struct slide *s, bool *ret_any)
{
    for (uint32_t i = 0; i < s->body.n_nodes; i++) {
        const struct node *n = &s->body.nodes[i];
        struct place *in = arena_array(s->to->arena, struct place, n->n_in + 1);
        struct way way;
        rill_status status = RILL_OK;
        if (!in)
            return no_memory(s);
        s->made[i].axis = -1;
        if (!places_of(s, n, in))
            continue;
        s->why[i] = node_slides(&s->body, n, in, &way, &status);
        if (status != RILL_OK)
            return no_memory(s);
        if (s->why[i])
            continue;
        TRY(node_slide(s, n, &way));
        s->made[i] = way.out;
        s->gone[i] = true;
        *ret_any |= !node_moves_alone(n);
    }
    return RILL_OK;
}

/* ---- windows of what slid ---- */

/* All windows of a wire, stacked along axis 0, in *out (WIRE_NONE: a new wire). */
static rill_status windows_stacked(struct slide *s, const struct slid *p, uint32_t *out)
{
    struct fact f = s->to->wires[p->wire].fact;
    const int rank = f.rank, axis = p->at.axis;
    int64_t last[RANK_MAX], front[RANK_MAX];
    uint32_t in[2] = { WIRE_NONE, p->at.of->wire }, framed = WIRE_NONE;
    void *attr;
    for (int i = 0; i < rank; i++)
        last[i] = i == rank - 1 ? axis : i + (i >= axis);
    TRY(wire_turned(s, p->wire, last, &in[0]));
    f = s->to->wires[in[0]].fact;
    f.shape[rank - 1] = s->length;
    f = fact_with_axis(&f, rank, dim_int(s->to->dims, p->at.size));
    TRY(op_add(s, OP_FRAME, in, 2, &f, &framed, &attr));
    *(struct frame_attr *) attr = (struct frame_attr) { .size = p->at.size,
                                                        .hop = p->at.hop,
                                                        .end = END_DROP,
                                                        .source_size = p->at.of->size,
                                                        .source_hop = p->at.of->hop };
    front[0] = rank - 1;
    for (int i = 0; i < rank; i++)
        front[1 + i] = i == axis ? rank : i - (i > axis);
    return wire_turned(s, framed, front, out);
}

/* ---- the Scan that is left ---- */

static bool stays_read(const struct slide *s, uint32_t w)
{
    for (uint32_t i = 0; i < s->body.n_nodes; i++)
        for (unsigned k = 0; !s->gone[i] && k < s->body.nodes[i].n_in; k++)
            if (s->body.nodes[i].in[k] == w)
                return true;
    for (uint32_t k = 0; k < s->body.n_outputs; k++)
        if (s->body.outputs[k] == w && s->out[k] != WIRE_NONE)
            return true;
    return false;
}

/* Stacked output k that lies in a stream comes from there. */
static rill_status output_pass(struct slide *s, unsigned k)
{
    const struct scan_attr *at = s->n->attr;
    const struct slid *p = &s->slid[s->body.outputs[k]];
    const unsigned j = k - (unsigned) at->n_states;
    uint32_t want = s->out[k], stacked = WIRE_NONE;
    if (p->at.axis < 0 || want == WIRE_NONE || scan_is_reverse(at->out_reverse, j))
        return RILL_OK;
    const int axis = scan_axis(at->out_axes, j, s->to->wires[want].fact.rank);
    s->out[k] = WIRE_NONE;
    if (axis == 0)
        return windows_stacked(s, p, &want);
    TRY(windows_stacked(s, p, &stacked));
    return axis_to_front(s->to, stacked, axis, true, &want, s->err);
}

struct rest {
    struct scan_attr at;
    uint32_t *in, *body; /* inputs of the Scan, and those of its body */
    int64_t *axes, *reverse;
    unsigned n;
};

static void rest_add(struct rest *r, uint32_t in, uint32_t body)
{
    r->in[r->n] = in;
    r->body[r->n++] = body;
}

static void rest_scan(struct rest *r, uint32_t in, uint32_t body, int64_t axis, bool reverse)
{
    r->axes[r->at.n_scanned] = axis;
    r->reverse[r->at.n_scanned++] = reverse;
    rest_add(r, in, body);
}

static int64_t axis_scanned(const struct slide *s, unsigned k)
{
    const struct scan_attr *was = s->n->attr;
    const uint32_t wire = s->n->in[was->n_states + k];
    return scan_axis(was->in_axes, k, s->to->wires[wire].fact.rank);
}

/* States; slices that are still read; windows of what slid; captures. */
static rill_status rest_inputs(struct slide *s, struct rest *r)
{
    const struct scan_attr *was = s->n->attr;
    const unsigned first = (unsigned) was->n_states, fixed = first + (unsigned) was->n_scanned;
    for (unsigned i = 0; i < first; i++)
        rest_add(r, s->n->in[i], s->body.inputs[i]);
    for (unsigned i = first; i < fixed; i++)
        if (stays_read(s, s->body.inputs[i]))
            rest_scan(r, s->n->in[i], s->body.inputs[i], axis_scanned(s, i - first),
                      scan_is_reverse(was->in_reverse, i - first));
    for (uint32_t w = 0; w < s->body.n_wires; w++) {
        uint32_t stacked = WIRE_NONE;
        if (s->slid[w].at.axis < 0 || s->body.wires[w].node == WIRE_NONE || !stays_read(s, w))
            continue;
        TRY(windows_stacked(s, &s->slid[w], &stacked));
        s->body.wires[w].node = WIRE_NONE;
        rest_scan(r, stacked, w, 0, false);
    }
    if (!r->at.n_scanned) /* how many windows there are */
        rest_scan(r, s->n->in[first], s->body.inputs[first], axis_scanned(s, 0),
                  scan_is_reverse(was->in_reverse, 0));
    for (unsigned i = fixed; i < s->n->n_in; i++)
        rest_add(r, s->n->in[i], s->body.inputs[i]);
    return RILL_OK;
}

static rill_status rest_begin(struct slide *s, struct rest *r)
{
    struct arena *a = s->to->arena;
    const unsigned room = s->n->n_in + s->body.n_wires + 1;
    r->at = *(const struct scan_attr *) s->n->attr;
    r->at.n_scanned = 0;
    r->in = arena_array(a, uint32_t, room);
    r->body = arena_array(a, uint32_t, room);
    r->axes = arena_array(a, int64_t, room);
    r->reverse = arena_array(a, int64_t, room);
    return r->in && r->body && r->axes && r->reverse ? RILL_OK : no_memory(s);
}

static rill_status rest_emit(struct slide *s)
{
    struct rest r = { .n = 0 };
    TRY(rest_begin(s, &r));
    TRY(rest_inputs(s, &r));
    body_drop(&s->body, s->gone);
    r.at.in_axes = (struct attr_ints) { (uint32_t) r.at.n_scanned, r.axes };
    r.at.in_reverse = (struct attr_ints) { (uint32_t) r.at.n_scanned, r.reverse };
    s->body.inputs = r.body;
    s->body.n_inputs = s->body.cap_inputs = r.n;
    struct scan_attr *at = arena_copy(s->to->arena, &r.at, sizeof *at);
    struct graph *body = arena_copy(s->to->arena, &s->body, sizeof *body);
    struct node *made =
        graph_add_node(s->to, s->n->op, s->n->name, at, r.in, r.n, s->out, s->n->n_out);
    if (!at || !body || !made || !(made->body = arena_array(s->to->arena, struct graph *, 1)))
        return no_memory(s);
    made->body[0] = body;
    made->n_body = 1;
    return RILL_OK;
}

/* ---- the pass ---- */

static rill_status node_again(struct graph *to, const struct node *n, rill_error *err)
{
    return graph_copy_node(to, n, n->in, n->n_in, n->out)
        ? RILL_OK
        : err_set(err, RILL_NOMEM, "out of memory");
}

static rill_status scan_rest(struct slide *s)
{
    const unsigned first = (unsigned) ((const struct scan_attr *) s->n->attr)->n_states;
    bool any = false;
    for (unsigned k = first; k < s->n->n_out; k++)
        TRY(output_pass(s, k));
    for (unsigned k = 0; k < s->n->n_out; k++)
        any |= s->out[k] != WIRE_NONE;
    return any ? rest_emit(s) : RILL_OK;
}

/* The first of the windows that are scanned; NULL: none are. */
static const struct framed *windows_of(const struct slide *s)
{
    const struct scan_attr *at = s->n->attr;
    for (int64_t k = 0; k < at->n_scanned; k++) {
        const struct place *p = &s->slid[s->n->body[0]->inputs[at->n_states + k]].at;
        if (p->axis >= 0)
            return p->of;
    }
    return NULL;
}

/* **list is where the next one goes; NULL: nobody asks. any: something slides. */
static rill_status report_add(struct slide *s, bool any, struct slide_report ***list)
{
    const struct framed *of = list ? windows_of(s) : NULL;
    if (!of)
        return RILL_OK;
    struct slide_report *r = arena_new(s->to->arena, struct slide_report);
    if (!r)
        return no_memory(s);
    for (uint32_t i = 0; i < s->n->body[0]->n_nodes && !any; i++)
        s->made[i].axis = -1;
    *r = (struct slide_report) { s->n, s->n->body[0], of, s->made, s->why, NULL };
    **list = r;
    *list = &r->next;
    return RILL_OK;
}

static rill_status scan_slide(struct graph *to, const struct node *n, struct slide_report ***list,
                              rill_error *err)
{
    struct slide s = { .to = to, .n = n, .err = err };
    const struct scan_attr *at = n->attr;
    bool any = false;
    if (!at->n_scanned)
        return node_again(to, n, err);
    const struct fact *f = &to->wires[n->in[at->n_states]].fact;
    s.length = f->shape[scan_axis(at->in_axes, 0, f->rank)];
    TRY(slide_begin(&s));
    TRY(nodes_slide(&s, &any));
    TRY(report_add(&s, any, list));
    return any ? scan_rest(&s) : node_again(to, n, err);
}

rill_status graph_windows_slid(struct graph *ret, const struct graph *g,
                               struct slide_report **ret_list, rill_error *reterr)
{
    struct slide_report **end = ret_list;
    TRY(graph_copied(ret, g, reterr));
    if (ret_list)
        *ret_list = NULL;
    const struct node *nodes = ret->nodes;
    const uint32_t n = ret->n_nodes;
    ret->nodes = NULL;
    ret->n_nodes = ret->cap_nodes = 0;
    for (uint32_t i = 0; i < n; i++)
        TRY(nodes[i].op == &op_scan ? scan_slide(ret, &nodes[i], end ? &end : NULL, reterr)
                                    : node_again(ret, &nodes[i], reterr));
    return RILL_OK;
}

rill_status graph_with_windows_slid(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    return graph_windows_slid(ret, g, NULL, reterr);
}
