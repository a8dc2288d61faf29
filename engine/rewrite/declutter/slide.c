/* SPDX-License-Identifier: MIT */
/* Layers of a net over windows that are computed along the stream: slide.h has what it is about,
 * slide_rules.c what ops do. */
#include "engine/rewrite/declutter/slide.h"
#include "engine/ops/count.h"
#include "engine/rewrite/declutter/put.h"
#include "engine/graph/control.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/lift.h"
#include "engine/rewrite/declutter/passes.h"

#include <string.h>

enum { FRONT, END };

/* Frames at the ends of windows cost steps and copies. Of nets of YAMNet's shape, windows of 96
 * frames every 48 saved 8 % of the multiply-adds and took 13 % longer, every 16 frames saved 22 %
 * and took 5 % less. */
#define ENDS_SAVE_PERCENT 20

/* A body wire that lies in a stream. */
struct slid {
    struct place at;
    uint32_t wire;    /* outside */
    uint32_t ends[2]; /* frames at the window's front, in that body, and at its end, in the other */
    uint32_t front;   /* the first of them as the other body has them; WIRE_NONE: not yet */
    bool whole;       /* the body has the wire itself */
};

/* Frames of all windows of a wire that slid, which a body gets. */
struct piece {
    struct slid of;
    const struct graph *body;
    int64_t from, to; /* of the frames that slide */
    uint32_t wire;    /* in the body */
    struct piece *next;
};

struct slide {
    struct graph *to; /* the outer graph, made anew node by node */
    const struct node *n;
    const struct graph *was;  /* the body */
    struct graph body;        /* a copy, whose nodes are made anew */
    struct graph front;       /* and one of what is computed when a window begins */
    uint32_t *fronts;         /* per output of front: the wire of the body */
    const struct dim *length; /* how many windows there are */
    struct slid *slid;        /* per body wire; at.axis -1: not */
    uint32_t *fixed;          /* per body wire: outside, where it is the same in all windows */
    uint32_t n_wires;         /* of `was` */
    struct piece *pieces;     /* newest first */
    const char **why;         /* per body node that has windows and stays */
    struct place *made;       /* per body node: of its outputs; axis -1: it stays */
    uint32_t *out;            /* outer wires that the Scan still writes */
    bool ends;                /* layers may be computed at the ends of windows */
    rill_error *err;
};

static rill_status no_memory(const struct slide *s)
{
    return err_set(s->err, RILL_NOMEM, "out of memory");
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
    return put_turned(s->to, n->in[0], perm, &ret->wire, s->err);
}

/* Without its nodes. */
static void graph_empty(struct graph *g)
{
    g->nodes = NULL;
    g->n_nodes = g->cap_nodes = 0;
    for (uint32_t w = 0; w < g->n_wires; w++)
        g->wires[w].node = WIRE_NONE;
}

static rill_status slide_begin(struct slide *s)
{
    struct arena *a = s->to->arena;
    const struct scan_attr *at = s->n->attr;
    s->was = s->n->body[0];
    TRY(graph_copied(&s->body, s->was, s->err));
    TRY(graph_copied(&s->front, s->was, s->err));
    graph_empty(&s->body);
    graph_empty(&s->front);
    s->front.n_outputs = 0;
    s->n_wires = s->was->n_wires;
    s->slid = arena_array(a, struct slid, s->n_wires + 1);
    s->fixed = arena_array(a, uint32_t, s->n_wires + 1);
    s->why = arena_array(a, const char *, s->was->n_nodes + 1);
    s->made = arena_array(a, struct place, s->was->n_nodes + 1);
    s->out = arena_copy(a, s->n->out, s->n->n_out * sizeof *s->out);
    s->fronts = arena_array(a, uint32_t, s->n_wires + 1);
    if (!s->fronts || !s->slid || !s->fixed || !s->why || !s->made || !s->out)
        return no_memory(s);
    for (uint32_t w = 0; w < s->n_wires; w++) {
        s->slid[w].at.axis = -1;
        s->fixed[w] = WIRE_NONE;
        s->slid[w].front = WIRE_NONE;
    }
    const unsigned first = (unsigned) at->n_states, fixed = first + (unsigned) at->n_scanned;
    for (unsigned i = fixed; i < s->n->n_in; i++)
        s->fixed[s->body.inputs[i]] = s->n->in[i];
    for (unsigned i = first; i < fixed; i++)
        TRY(source_find(s, i - first, &s->slid[s->body.inputs[i]]));
    return RILL_OK;
}

/* ---- frames of what slid, in a body ---- */

/* Frames from .. to of those that slide, as another input of the body, in *out (WIRE_NONE: any
 * wire). */
static rill_status piece_scan(struct slide *s, struct graph *g, uint32_t w, int64_t from,
                              int64_t to, uint32_t *out)
{
    const struct slid *of = &s->slid[w];
    struct fact f = s->was->wires[w].fact;
    for (struct piece *p = s->pieces; p && *out == WIRE_NONE; p = p->next)
        if (p->body == g && p->of.wire == of->wire && p->from == from && p->to == to) {
            *out = p->wire;
            return RILL_OK;
        }
    struct piece *p = arena_new(s->to->arena, struct piece);
    if (!p)
        return no_memory(s);
    f.shape[of->at.axis] = dim_int(s->to->dims, to - from);
    if (*out == WIRE_NONE)
        TRY(put_wire(g, s->was->wires[w].name, &f, out, s->err));
    *p = (struct piece) { *of, g, from, to, *out, s->pieces };
    s->pieces = p;
    return RILL_OK;
}

/* The same of any number of frames: windows are no shorter than they are apart. */
static rill_status piece_inner(struct slide *s, struct graph *g, uint32_t w, int64_t from,
                               int64_t to, uint32_t *ret)
{
    const struct place *at = &s->slid[w].at;
    int64_t first = from, last = to;
    uint32_t wire = WIRE_NONE;
    if (to - from < at->hop) {
        first = from < at->size - at->hop ? from : at->size - at->hop;
        last = first + at->hop;
    }
    TRY(piece_scan(s, g, w, first, last, &wire));
    return put_cut(g, wire, at->axis, from - first, last - to, ret, s->err);
}

/* Frames at the front of w in the body g. */
static rill_status front_take(struct slide *s, struct graph *g, uint32_t w, uint32_t *ret)
{
    struct slid *of = &s->slid[w];
    const uint32_t here = of->ends[FRONT];
    *ret = here;
    if (g == &s->front)
        return RILL_OK;
    if (of->front == WIRE_NONE) {
        TRY(put_wire(g, s->was->wires[w].name, &s->front.wires[here].fact, &of->front, s->err));
        s->fronts[s->front.n_outputs] = of->front;
        if (!graph_add_output(&s->front, here))
            return no_memory(s);
    }
    *ret = of->front;
    return RILL_OK;
}

static rill_status pieces_join(struct slide *s, struct graph *g, const uint32_t *list, unsigned n,
                               int axis, const struct fact *f, uint32_t *out)
{
    void *attr;
    if (n == 1 && *out == WIRE_NONE) {
        *out = list[0];
        return RILL_OK;
    }
    TRY(put_op(g, OP_CONCAT, list, n, f, out, &attr, s->err));
    *(struct axis_attr *) attr = (struct axis_attr) { .axis = axis };
    return RILL_OK;
}

enum { FRAMES_FRONT, FRAMES_INNER, FRAMES_END, FRAMES_PARTS };

/* Frames from .. to of each window of body wire w, in *out (WIRE_NONE: any wire). */
static rill_status frames_take(struct slide *s, struct graph *g, uint32_t w, int64_t from,
                               int64_t to, uint32_t *out)
{
    const struct place *at = &s->slid[w].at;
    const int64_t begin[] = { 0, at->left, at->left + at->size, place_frames(at) };
    struct fact f = s->was->wires[w].fact;
    uint32_t list[FRAMES_PARTS];
    unsigned n = 0;
    for (int k = FRAMES_FRONT; k < FRAMES_PARTS; k++) {
        const int64_t a = from > begin[k] ? from : begin[k],
                      b = to < begin[k + 1] ? to : begin[k + 1];
        uint32_t wire = s->slid[w].ends[END];
        if (a >= b)
            continue;
        if (k == FRAMES_FRONT)
            TRY(front_take(s, g, w, &wire));
        if (k == FRAMES_INNER)
            TRY(piece_inner(s, g, w, a - begin[k], b - begin[k], &list[n++]));
        else
            TRY(put_cut(g, wire, at->axis, a - begin[k], begin[k + 1] - b, &list[n++], s->err));
    }
    f.shape[at->axis] = dim_int(s->to->dims, to - from);
    return pieces_join(s, g, list, n, at->axis, &f, out);
}

/* The body gets w itself. */
static rill_status whole_take(struct slide *s, uint32_t w)
{
    struct slid *of = &s->slid[w];
    uint32_t out = w;
    if (w == WIRE_NONE || w >= s->n_wires || of->at.axis < 0 || of->whole)
        return RILL_OK;
    of->whole = true;
    if (s->was->wires[w].node == WIRE_NONE) /* an input of the body */
        return RILL_OK;
    return of->at.left || of->at.right ? frames_take(s, &s->body, w, 0, place_frames(&of->at), &out)
                                       : piece_scan(s, &s->body, w, 0, of->at.size, &out);
}

/* ---- one node ---- */

static bool is_fixed(const struct slide *s, uint32_t w)
{
    return s->was->wires[w].fact.value || s->fixed[w] != WIRE_NONE;
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
    places_meet(ret, n->n_in);
    return any;
}

/* Frames of input i as its place has them. */
static rill_status outer_of(struct slide *s, uint32_t w, const struct place *in, uint32_t *ret)
{
    const struct slid *of = &s->slid[w];
    if (of->at.axis >= 0)
        return put_cut(s->to, of->wire, of->at.axis, in->left - of->at.left,
                       in->right - of->at.right, ret, s->err);
    if (s->fixed[w] == WIRE_NONE)
        s->fixed[w] = graph_add_const(s->to, s->was->wires[w].name, s->was->wires[w].fact.value);
    *ret = s->fixed[w];
    return *ret == WIRE_NONE ? no_memory(s) : RILL_OK;
}

/* Inputs of n in g: the outer graph, or, where `end` is not NULL, one of the bodies. */
static rill_status inputs_of(struct slide *s, struct graph *g, const struct node *n,
                             const struct place *at, const struct way *way,
                             const struct window_end *end, uint32_t *ret, unsigned *ret_n)
{
    *ret_n = n->n_in;
    for (unsigned i = 0; i < n->n_in || (i < WAY_INPUTS && way->instead[i].n); i++) {
        *ret_n = i + 1 > *ret_n ? i + 1 : *ret_n;
        ret[i] = WIRE_NONE;
        if (i < WAY_INPUTS && way->instead[i].n)
            TRY(put_ints(g, way->instead[i], &ret[i], s->err));
        else if (n->in[i] == WIRE_NONE)
            continue;
        else if (!end)
            TRY(outer_of(s, n->in[i], &at[i], &ret[i]));
        else if (at[i].axis < 0)
            ret[i] = n->in[i];
        else
            TRY(frames_take(s, g, n->in[i], end->from, end->to, &ret[i]));
    }
    return end ? RILL_OK : put_cut(g, ret[0], at[0].axis, way->front, way->back, &ret[0], s->err);
}

static rill_status node_made(struct slide *s, struct graph *g, const struct node *n,
                             const struct way *way, const void *attr, const uint32_t *in,
                             unsigned n_in, uint32_t *out)
{
    struct node as = *n;
    as.attr = attr ? attr : way->attr ? way->attr : n->attr;
    if (way->op != OP_NONE)
        return put_op(g, way->op, in, 2, NULL, out, NULL, s->err);
    return graph_copy_node(g, &as, in, n_in, out) ? RILL_OK : no_memory(s);
}

/* Outputs are as the body has them, but for the frames. */
static rill_status outputs_new(struct slide *s, struct graph *g, const struct node *n, int axis,
                               const struct dim *frames, uint32_t *ret)
{
    for (unsigned k = 0; k < n->n_out; k++) {
        const uint32_t w = n->out[k];
        ret[k] = WIRE_NONE;
        if (w == WIRE_NONE)
            continue;
        struct fact f = s->was->wires[w].fact;
        f.shape[axis] = frames;
        TRY(put_wire(g, s->was->wires[w].name, &f, &ret[k], s->err));
    }
    return dims_status(s->to->dims, s->err);
}

struct lists {
    uint32_t *in, *out;
    unsigned n_in;
};

/* n on the frames at one end of the window, which stay in a body. */
static rill_status node_end(struct slide *s, const struct node *n, const struct place *at,
                            const struct way *way, int end, struct lists *l)
{
    struct graph *g = end == FRONT ? &s->front : &s->body;
    const struct place *p = &way->out;
    const int64_t frames = end == FRONT ? p->left : p->right;
    if (!frames)
        return RILL_OK;
    TRY(inputs_of(s, g, n, at, way, &way->end[end], l->in, &l->n_in));
    TRY(outputs_new(s, g, n, p->axis, dim_int(s->to->dims, frames), l->out));
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE)
            s->slid[n->out[k]].ends[end] = l->out[k];
    return node_made(s, g, n, way, way->end[end].attr, l->in, l->n_in, l->out);
}

static rill_status node_slide(struct slide *s, const struct node *n, const struct place *at,
                              const struct way *way)
{
    struct arena *a = s->to->arena;
    struct dims *ds = s->to->dims;
    const struct place *p = &way->out;
    struct lists l = { arena_array(a, uint32_t, n->n_in + WAY_INPUTS),
                       arena_array(a, uint32_t, n->n_out + 1), 0 };
    if (!l.in || !l.out)
        return no_memory(s);
    for (int end = FRONT; end <= END; end++)
        TRY(node_end(s, n, at, way, end, &l));
    TRY(inputs_of(s, s->to, n, at, way, NULL, l.in, &l.n_in));
    TRY(outputs_new(s, s->to, n, p->axis,
                    dim_add_int(ds, dim_div_int(ds, p->beyond, p->stride), p->size), l.out));
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE) {
            s->slid[n->out[k]].at = *p;
            s->slid[n->out[k]].wire = l.out[k];
        }
    return node_made(s, s->to, n, way, NULL, l.in, l.n_in, l.out);
}

/* It is as it was; what it reads has to be there. */
static rill_status node_stay(struct slide *s, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        TRY(whole_take(s, n->in[i]));
    return graph_copy_node(&s->body, n, n->in, n->n_in, n->out) ? RILL_OK : no_memory(s);
}

/* *ret_any: something was computed, and not only moved. */
static rill_status nodes_slide(struct slide *s, bool *ret_any)
{
    for (uint32_t i = 0; i < s->was->n_nodes; i++) {
        const struct node *n = &s->was->nodes[i];
        struct place *in = arena_array(s->to->arena, struct place, n->n_in + 1);
        struct way way;
        rill_status status = RILL_OK;
        if (!in)
            return no_memory(s);
        s->made[i].axis = -1;
        const bool along = places_of(s, n, in);
        if (along)
            s->why[i] = node_slides(s->was, n, in, s->ends, &way, &status);
        if (status != RILL_OK)
            return no_memory(s);
        if (!along || s->why[i]) {
            TRY(node_stay(s, n));
            continue;
        }
        TRY(node_slide(s, n, in, &way));
        s->made[i] = way.out;
        *ret_any |= !node_moves_alone(n);
    }
    return RILL_OK;
}

/* ---- windows of what slid ---- */

/* Frames from .. to of all windows of a wire, stacked along axis 0, in *out (WIRE_NONE: a new
 * wire). */
static rill_status windows_stacked(struct slide *s, const struct slid *p, int64_t from, int64_t to,
                                   uint32_t *out)
{
    struct fact f;
    const int rank = s->to->wires[p->wire].fact.rank, axis = p->at.axis;
    uint32_t cut;
    int64_t last[RANK_MAX], front[RANK_MAX];
    uint32_t in[2] = { WIRE_NONE, p->at.of->wire }, framed = WIRE_NONE;
    void *attr;
    for (int i = 0; i < rank; i++)
        last[i] = i == rank - 1 ? axis : i + (i >= axis);
    TRY(put_cut(s->to, p->wire, axis, from, p->at.size - to, &cut, s->err));
    TRY(put_turned(s->to, cut, last, &in[0], s->err));
    f = s->to->wires[in[0]].fact;
    f.shape[rank - 1] = s->length;
    f = fact_with_axis(&f, rank, dim_int(s->to->dims, to - from));
    TRY(put_op(s->to, OP_FRAME, in, 2, &f, &framed, &attr, s->err));
    *(struct frame_attr *) attr = (struct frame_attr) { .size = to - from,
                                                        .hop = p->at.hop,
                                                        .end = END_DROP,
                                                        .source_size = p->at.of->size,
                                                        .source_hop = p->at.of->hop };
    front[0] = rank - 1;
    for (int i = 0; i < rank; i++)
        front[1 + i] = i == axis ? rank : i - (i > axis);
    return put_turned(s->to, framed, front, out, s->err);
}

/* ---- the Scan that is left ---- */

static bool is_read(const struct graph *g, uint32_t w)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] == w)
                return true;
    return false;
}

static bool stays_read(const struct slide *s, uint32_t w)
{
    for (uint32_t k = 0; k < s->body.n_outputs; k++)
        if (s->body.outputs[k] == w && s->out[k] != WIRE_NONE)
            return true;
    return is_read(&s->body, w);
}

/* Stacked output k that lies in a stream comes from there. */
static rill_status output_pass(struct slide *s, unsigned k)
{
    const struct scan_attr *at = s->n->attr;
    const struct slid *p = &s->slid[s->body.outputs[k]];
    const unsigned j = k - (unsigned) at->n_states;
    uint32_t want = s->out[k], stacked = WIRE_NONE;
    if (want == WIRE_NONE)
        return RILL_OK;
    if (p->at.axis < 0 || p->at.left || p->at.right || scan_is_reverse(at->out_reverse, j))
        return whole_take(s, s->body.outputs[k]);
    const int axis = scan_axis(at->out_axes, j, s->to->wires[want].fact.rank);
    s->out[k] = WIRE_NONE;
    if (axis == 0)
        return windows_stacked(s, p, 0, p->at.size, &want);
    TRY(windows_stacked(s, p, 0, p->at.size, &stacked));
    return axis_to_front(s->to, stacked, axis, true, &want, s->err);
}

struct rest {
    struct scan_attr at;
    uint32_t *in, *body; /* inputs of the Scan, and those of its body */
    int64_t *axes, *reverse;
    unsigned n;
};

static rill_status rest_begin(struct slide *s, const struct graph *g, struct rest *r)
{
    struct arena *a = s->to->arena;
    const unsigned room = s->n->n_in + s->body.n_wires + g->n_wires + 1;
    *r = (struct rest) { .at = *(const struct scan_attr *) s->n->attr,
                         .in = arena_array(a, uint32_t, room),
                         .body = arena_array(a, uint32_t, room),
                         .axes = arena_array(a, int64_t, room),
                         .reverse = arena_array(a, int64_t, room) };
    r->at.n_scanned = 0;
    return r->in && r->body && r->axes && r->reverse ? RILL_OK : no_memory(s);
}

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

/* Windows of what slid, for a body. */
static rill_status rest_pieces(struct slide *s, const struct graph *g, struct rest *r)
{
    for (const struct piece *p = s->pieces; p; p = p->next) {
        uint32_t stacked = WIRE_NONE;
        if (p->body != g || !(g == &s->body ? stays_read(s, p->wire) : is_read(g, p->wire)))
            continue;
        TRY(windows_stacked(s, &p->of, p->from, p->to, &stacked));
        rest_scan(r, stacked, p->wire, 0, false);
    }
    return RILL_OK;
}

static rill_status scan_emit(struct slide *s, struct graph *g, struct rest *r, const uint32_t *out,
                             unsigned n_out)
{
    r->at.in_axes = (struct attr_ints) { (uint32_t) r->at.n_scanned, r->axes };
    r->at.in_reverse = (struct attr_ints) { (uint32_t) r->at.n_scanned, r->reverse };
    g->inputs = r->body;
    g->n_inputs = g->cap_inputs = r->n;
    struct scan_attr *at = arena_copy(s->to->arena, &r->at, sizeof *at);
    struct graph *body = arena_copy(s->to->arena, g, sizeof *body);
    struct node *made = graph_add_node(s->to, s->n->op, s->n->name, at, r->in, r->n, out, n_out);
    if (!at || !body || !made || !(made->body = arena_array(s->to->arena, struct graph *, 1)))
        return no_memory(s);
    made->body[0] = body;
    made->n_body = 1;
    return RILL_OK;
}

/* The Scan of what is computed when a window begins, so that no frames wait for its end. */
static rill_status rest_fronts(struct slide *s, struct rest *r)
{
    const struct scan_attr *was = s->n->attr;
    const unsigned n = s->front.n_outputs;
    struct rest front;
    uint32_t *out = arena_array(s->to->arena, uint32_t, n + 1);
    if (!n)
        return RILL_OK;
    if (!out)
        return no_memory(s);
    TRY(rest_begin(s, &s->front, &front));
    front.at.n_states = 0;
    front.at.out_axes.n = front.at.out_reverse.n = 0;
    TRY(rest_pieces(s, &s->front, &front));
    for (unsigned i = (unsigned) (was->n_states + was->n_scanned); i < s->n->n_in; i++)
        if (is_read(&s->front, s->was->inputs[i]))
            rest_add(&front, s->n->in[i], s->was->inputs[i]);
    for (unsigned k = 0; k < n; k++) {
        const struct wire *w = &s->front.wires[s->front.outputs[k]];
        const struct fact f = fact_stacked(&w->fact, s->length);
        TRY(put_wire(s->to, w->name, &f, &out[k], s->err));
        rest_scan(r, out[k], s->fronts[k], 0, false);
    }
    return scan_emit(s, &s->front, &front, out, n);
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
    TRY(rest_pieces(s, &s->body, r));
    TRY(rest_fronts(s, r));
    if (!r->at.n_scanned) /* how many windows there are */
        rest_scan(r, s->n->in[first], s->body.inputs[first], axis_scanned(s, 0),
                  scan_is_reverse(was->in_reverse, 0));
    for (unsigned i = fixed; i < s->n->n_in; i++)
        rest_add(r, s->n->in[i], s->body.inputs[i]);
    return RILL_OK;
}

static rill_status rest_emit(struct slide *s)
{
    struct rest r;
    TRY(rest_begin(s, &s->body, &r));
    TRY(rest_inputs(s, &r));
    return scan_emit(s, &s->body, &r, s->out, s->n->n_out);
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
    for (unsigned k = 0; k < first; k++)
        TRY(whole_take(s, s->body.outputs[k]));
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
    for (uint32_t i = 0; i < s->was->n_nodes && !any; i++)
        s->made[i].axis = -1;
    *r = (struct slide_report) { s->n, s->was, of, s->made, s->why, NULL };
    **list = r;
    *list = &r->next;
    return RILL_OK;
}

/* Whether what layers are computed at the ends of windows for is worth it. */
static bool ends_pay(const struct slide *s)
{
    double all = 0, saved = 0;
    bool any = false;
    for (uint32_t i = 0; i < s->was->n_nodes; i++) {
        const struct node *n = &s->was->nodes[i];
        const struct place *p = &s->made[i];
        struct node_sizes sizes;
        uint64_t count = 0;
        if (node_sizes_of(s->was, n, &sizes))
            node_multiply_adds(n, &sizes, &count);
        all += (double) count;
        if (p->axis < 0 || (!p->left && !p->right))
            continue;
        any = true;
        saved += (double) count * (double) (p->size - p->hop) / (double) place_frames(p);
    }
    return !any || 100 * saved >= ENDS_SAVE_PERCENT * all;
}

static rill_status windows_slide(struct slide *s, bool *ret_any)
{
    const struct graph before = *s->to;
    *ret_any = false;
    s->ends = true;
    TRY(slide_begin(s));
    TRY(nodes_slide(s, ret_any));
    if (ends_pay(s))
        return RILL_OK;
    s->to->n_nodes = before.n_nodes; /* anew, without */
    s->to->n_wires = before.n_wires;
    s->ends = *ret_any = false;
    s->pieces = NULL;
    TRY(slide_begin(s));
    return nodes_slide(s, ret_any);
}

static rill_status scan_slide(struct graph *to, const struct node *n, struct slide_report ***list,
                              rill_error *err)
{
    struct slide s = { .to = to, .n = n, .err = err };
    const struct scan_attr *at = n->attr;
    bool any;
    if (!at->n_scanned)
        return node_again(to, n, err);
    const struct fact *f = &to->wires[n->in[at->n_states]].fact;
    s.length = f->shape[scan_axis(at->in_axes, 0, f->rank)];
    TRY(windows_slide(&s, &any));
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
