/* SPDX-License-Identifier: MIT */
/* Gather, whose indices may name frames of the time axis in order, indices of each frame, and CumSum. */
#include "pulse/positions.h"
#include "pulse/rules.h"

/* ---- Gather ---- */

/* Index k of the wire is k*step + start, with constants, whatever the length. */
static bool indices_affine(const struct pulser *p, uint32_t w, int64_t *ret_start, int64_t *ret_step)
{
    const struct position *at = p->positions && pulser_fact(p, w)->rank == 1 ? &p->positions->of[w] : NULL;
    double zero, one;
    if (!at || !at->e || at->pair || !pulser_stream(p, w) || !position_value(p->positions, at, 0, 0, 1, 0, &zero) ||
        !position_value(p->positions, at, 0, 1, 1, 0, &one))
        return false;
    *ret_start = (int64_t) zero;
    *ret_step = (int64_t) one - (int64_t) zero;
    struct dims *ds = p->positions->dims;
    return at->e == dim_add_int(ds, dim_mul_int(ds, p->positions->axis[0], *ret_step), *ret_start);
}

/* Frames start, start + step, .. of the data. */
static rill_status gather_frames(struct pulser *p, const struct node *n, struct flow *f)
{
    int64_t start, step;
    if (!indices_affine(p, n->in[1], &start, &step))
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: it picks frames of axis %d, the time axis, by indices that "
                       "are not a range counted from the start", f->sf.axis);
    if (start < 0 || step < 1)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: it picks frames from %lld in steps of %lld on axis %d, "
                       "the time axis; only forward from the start streams", (long long) start, (long long) step,
                       f->sf.axis);
    TRY(flow_every(p, n, f, start, step));
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

/* Rows of a table that does not stream. */
static rill_status gather_rows(struct pulser *p, const struct node *n, struct flow *f, int axis)
{
    uint32_t in[2] = { p->map[n->in[0]], f->wire }, out;
    if (pulser_stream(p, n->in[0]))
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: data and indices both run along time");
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, &out, 1));
    f->sf.axis += axis;
    return pulser_bind(p, n, 0, out, &f->sf);
}

rill_status rule_gather(struct pulser *p, const struct node *n)
{
    struct flow f;
    int axis = axis_normalise(attr_get_int(n, "axis"), pulser_fact(p, n->in[0])->rank);
    if (flow_of(p, n->in[0], &f) && f.sf.axis == axis)
        return gather_frames(p, n, &f);
    if (flow_of(p, n->in[1], &f))
        return gather_rows(p, n, &f, axis);
    return pulser_off_axis(p, n);
}

/* ---- GatherElements and ScatterElements: every frame has indices of its own ---- */

static rill_status elements_check(const struct pulser *p, const struct node *n, int at, int *ret_time)
{
    const struct stream_fact *first = NULL;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        if (s && s->axis == at)
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its indices name frames of axis %d of input %u, the time "
                           "axis, in any order; Gather by a range of frames and Where stream", at, i);
        if (!s || (first && s->axis != first->axis))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: input %u does not run along the time axis of the others: "
                           "every frame needs data and indices of its own", i);
        first = s;
    }
    *ret_time = first->axis;
    return RILL_OK;
}

rill_status rule_elements(struct pulser *p, const struct node *n)
{
    uint32_t in[3], out;
    struct stream_fact sf;
    unsigned first;
    int at = axis_normalise(attr_get_int(n, "axis"), pulser_fact(p, n->in[0])->rank), time = at;
    bool table = n->n_in == 2 && !pulser_stream(p, n->in[0]) && pulser_stream(p, n->in[1])->axis == at;
    if (!table)
        TRY(elements_check(p, n, at, &time));
    TRY(pulser_align(p, n, in, &sf, &first));
    sf.axis = time;
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, &out, 1));
    return pulser_bind(p, n, 0, out, &sf);
}

/* ---- CumSum: the sum so far is a frame in front of the pulse ---- */

static rill_status sum_carried(struct pulser *p, const struct node *n, struct flow *f)
{
    const struct fact x = *pulser_dst_fact(p, f->wire);
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = f->sf.axis };
    const struct attr plain = { .name = "exclusive", .kind = ATTR_INT, .i = 0 };
    int64_t first = attr_get_int(n, "exclusive") ? 0 : 1;
    uint32_t in[2] = { 0, f->wire }, joined, sums, last;
    void *attr = NULL;
    TRY(pulser_attr_copy(p, n, &plain, 1, &attr));
    TRY(pulser_state(p, n->name, &x, f->sf.axis, 1, &in[0]));
    TRY(pulser_emit_named(p, "Concat", n->name, &along, 1, in, 2, &joined));
    TRY(pulser_emit(p, n->op, n->name, attr, (uint32_t[]) { joined, p->map[n->in[1]] }, 2, &sums, 1));
    TRY(pulser_slice(p, n->name, sums, f->sf.axis, f->sf.pulse, f->sf.pulse + 1, &last));
    if (!graph_add_state(p->dst, n->name, in[0], last, NULL))
        return pulser_no_memory(p);
    return pulser_slice(p, n->name, sums, f->sf.axis, first, first + f->sf.pulse, &f->wire);
}

rill_status rule_cumsum(struct pulser *p, const struct node *n)
{
    struct flow f;
    int64_t axis;
    unsigned one;
    if (!flow_of(p, n->in[0], &f) || !pulser_const_ints(p, n, 1, &axis, 1, &one) || one != 1)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its axis depends on data");
    if (axis_normalise(axis, pulser_fact(p, n->in[0])->rank) != f.sf.axis) {
        uint32_t in[2] = { f.wire, p->map[n->in[1]] }, out;
        TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, &out, 1));
        return pulser_bind(p, n, 0, out, &f.sf);
    }
    if (attr_get_int(n, "reverse"))
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: it runs backwards along axis %d of input 0, the time axis: "
                       "its first sum needs the last frame", f.sf.axis);
    TRY(flow_mask(p, n, &f, NULL, true, false));
    TRY(sum_carried(p, n, &f));
    f.sf.uniform = false;
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}
