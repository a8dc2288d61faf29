/* SPDX-License-Identifier: MIT */
#include "pulse/resized.h"
#include "pulse/ints.h"

enum { IN_X, IN_ROI, IN_SCALES };

static bool scales_given(const struct pulser *p, const struct node *n)
{
    return node_has_input(n, IN_SCALES) && !dim_is(pulser_fact(p, n->in[IN_SCALES])->shape[0], 0);
}

/* The scale of the axis in the file; 0: it has sizes. */
static double scale_of(const struct pulser *p, const struct node *n, int axis)
{
    const struct tensor *v = scales_given(p, n) ? node_value(p->src, n, IN_SCALES) : NULL;
    struct attr_ints axes = resize_attr_of(n)->axes;
    int rank = pulser_fact(p, n->out[0])->rank;
    for (int64_t i = 0; v && i < tensor_count(v); i++)
        if ((axes.n ? axis_normalise(axes.v[i], rank) : (int) i) == axis)
            return tensor_get_f64(v, v->data, i);
    return v ? 1 : 0;
}

struct resized resized_of(const struct pulser *p, const struct node *n, int axis, int64_t hop)
{
    return (struct resized) { n, pulser_fact(p, n->in[IN_X])->shape[axis],
                              pulser_fact(p, n->out[0])->shape[axis], scale_of(p, n, axis), hop };
}

bool resized_ratio(const struct pulser *p, const struct resized *z, struct stretch *ret)
{
    enum { RATIO_MAX = 1 << 20 };
    int64_t a, b, c, d, g;
    *ret = (struct stretch) { 0 };
    if (!pulser_growth(p, z->from, &a, &b) || !pulser_growth(p, z->to, &c, &d))
        return false;
    g = gcd(c * b, d * a);
    ret->up = c * b / g;
    ret->down = d * a / g;
    return ret->up <= RATIO_MAX && ret->down <= RATIO_MAX;
}

struct reach reach_of(const struct resize_map *m, int64_t i)
{
    struct resize_taps t;
    struct reach r = { INT64_MAX, INT64_MIN };
    resize_taps_of(m, i, &t);
    for (int k = 0; k < t.n; k++) {
        if (t.weight[k] == 0)
            continue;
        r.low = t.at[k] < r.low ? t.at[k] : r.low;
        r.high = larger(r.high, t.at[k]);
    }
    return r;
}

static bool taps_same(const struct resize_map *a, const struct resize_map *b, int64_t i)
{
    struct resize_taps x, y;
    int64_t last = a->in - 1;
    resize_taps_of(a, i, &x);
    resize_taps_of(b, i, &y);
    for (int k = 0; k < x.n; k++) {
        int64_t v = x.at[k] < 0 ? 0
            : x.at[k] > last    ? last
                                : x.at[k],
                w = y.at[k] < 0 ? 0
            : y.at[k] > last    ? last
                                : y.at[k];
        if (v != w || x.weight[k] != y.weight[k])
            return false;
    }
    return true;
}

/* pytorch_half_pixel lays the only frame of an output on the first of the input. */
static bool single_first(const struct resize_map *m)
{
    struct resize_taps t;
    if (m->attr->coord != COORD_PYTORCH || m->out != 1)
        return false;
    resize_taps_of(m, 0, &t);
    for (int k = 0; k < t.n; k++)
        if (t.weight[k] != (t.at[k] == 0 ? 1 : 0))
            return false;
    return true;
}

/* The first lengths, then as many further apart, and a few far on. */
#define LENGTHS_NEAR 128
#define LENGTHS_TRIED 384
#define LENGTHS_FAR 4
#define PLACES_TRIED ((int64_t) 1 << 17)

/* Whether the sequence of that length of the stream becomes what a stream makes of it, and what it
 * reads past its end. */
static bool length_same(const struct pulser *p, const struct resized *z, int64_t at,
                        struct stretch *s)
{
    const struct resize_map periodic = {
        .attr = resize_attr_of(z->n), .out = -1, .num = s->up, .den = s->down
    };
    struct resize_map whole = { .attr = periodic.attr };
    if (!dim_eval(z->from, p->symbol, at, &whole.in) || !dim_eval(z->to, p->symbol, at, &whole.out))
        return true;
    if (whole.in < 1 || whole.out < 1)
        return true;
    resize_map_scale(&whole, z->scale, z->scale > 0);
    for (int64_t i = 0; i < whole.out && i < PLACES_TRIED; i++)
        if (!taps_same(&whole, &periodic, i)) {
            s->single |= single_first(&whole);
            return single_first(&whole);
        }
    struct reach last = reach_of(&periodic, whole.out - 1);
    s->past = larger(s->past, last.high - (whole.in - 1));
    s->beyond = larger(s->beyond, last.low - (whole.in - 1));
    return true;
}

static int64_t length_tried(const struct resized *z, int64_t i)
{
    if (i < LENGTHS_NEAR)
        return i;
    if (i < LENGTHS_TRIED)
        return LENGTHS_NEAR + (i - LENGTHS_NEAR) * z->hop + i % z->hop;
    return (20011 + i) * z->hop;
}

/* A size that is another at single lengths: no other length tells of it. */
static bool singles_out(const struct dim *d)
{
    const struct dim_parts x = dim_parts(d);
    if (x.form == DIM_FORM_EQUAL || x.form == DIM_FORM_AT_LEAST || x.form == DIM_FORM_OTHER)
        return true;
    for (unsigned i = 0; i < x.n; i++)
        if (singles_out(x.arg[i]))
            return true;
    return false;
}

bool resized_same(const struct pulser *p, const struct resized *z, struct remainder r,
                  struct stretch *s)
{
    s->past = s->beyond = 0;
    s->single = false;
    if (singles_out(z->from) || singles_out(z->to))
        return false;
    for (int64_t i = 0; i < LENGTHS_TRIED + LENGTHS_FAR; i++) {
        int64_t at = length_tried(z, i) * r.of + r.rest;
        if (dims_allow(p->dst->dims, p->symbol, at) && !length_same(p, z, at, s))
            return false;
    }
    return true;
}
