/* SPDX-License-Identifier: MIT */
/* Rules of windows over bytes, whose channels come last: time may be the axis of rows or columns.
 */
#include "engine/ops/attrs.h"
#include "pulse/ints.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"

/* The window of axis k (0: rows) whose kernel has so many places. */
static struct flow_window window_at(const struct byte_window_attr *a, int k, int64_t kernel)
{
    return (struct flow_window) { .before = list_at(a->pads, k, 0),
                                  .after = list_at(a->pads, 2 + k, 0),
                                  .span = (kernel - 1) * list_at(a->dilations, k, 1),
                                  .stride = list_at(a->strides, k, 1) };
}

/* Without the pads of axis k, which are frames by now. */
static rill_status windowed_emit(struct pulser *p, const struct node *n,
                                 const struct byte_window_attr *a, struct flow *f,
                                 const struct flow_window *w)
{
    int64_t *pads = arena_array(p->arena, int64_t, 4);
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1), out;
    const int k = f->sf.axis - 1;
    void *attr = NULL;
    if (!pads || !in)
        return pulser_no_memory(p);
    for (int i = 0; i < 4; i++)
        pads[i] = i % 2 == k ? 0 : list_at(a->pads, i, 0);
    const struct attr list[] = { { .name = "pads", .kind = ATTR_INTS, .ints = { 4, pads } } };
    TRY(pulser_attr_copy(p, n, list, 1, &attr));
    offset_windows(&f->sf, w->before, w->after, w->span + 1, w->stride);
    TRY(flow_windows(p, n, f, w));
    in[0] = f->wire;
    for (unsigned i = 1; i < n->n_in; i++) {
        if (pulser_stream(p, n->in[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: input %u runs along time",
                           i);
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
    }
    TRY(pulser_emit(p, n->op, n->name, attr, in, n->n_in, &out, 1));
    return pulser_bind(p, n, 0, out, &f->sf);
}

static const struct tensor *byte_of(struct pulser *p, const struct node *n, int64_t v)
{
    struct tensor *t = tensor_new(p->arena, pulser_fact(p, n->in[0])->type, 0, NULL);
    if (t)
        tensor_set_f64(t, t->data, 0, (double) v);
    return t;
}

/* Pads are the zero of the input. */
rill_status rule_byte_conv(struct pulser *p, const struct node *n)
{
    const struct byte_conv_attr *a = byte_conv_attr_of(n);
    struct flow f;
    if (!flow_of(p, n->in[0], &f) || f.sf.axis < 1 || f.sf.axis > 2)
        return pulser_off_axis(p, n);
    const int k = f.sf.axis - 1;
    struct flow_window w =
        window_at(&a->w, k, dim_value(pulser_fact(p, n->in[1])->shape[f.sf.axis]));
    w.fill = byte_of(p, n, a->x_zero);
    return w.fill ? windowed_emit(p, n, &a->w, &f, &w) : pulser_no_memory(p);
}

/* Pads are the least that comes out, and in means they do not count. */
rill_status rule_byte_pool(struct pulser *p, const struct node *n)
{
    const struct byte_pool_attr *a = byte_pool_attr_of(n);
    struct flow f;
    if (!flow_of(p, n->in[0], &f) || f.sf.axis < 1 || f.sf.axis > 2)
        return pulser_off_axis(p, n);
    struct flow_window w = window_at(&a->w, f.sf.axis - 1, list_at(a->w.kernel, f.sf.axis - 1, 1));
    if (a->mean && (w.before || w.after))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: a mean of bytes that counts fewer frames at both ends of "
                       "time; without pads along time (VALID) it streams");
    w.fill = byte_of(p, n, a->y.low);
    return w.fill ? windowed_emit(p, n, &a->w, &f, &w) : pulser_no_memory(p);
}
