/* SPDX-License-Identifier: MIT */
#include "pulse/rebase.h"
#include "pulse/axes.h"
#include "pulse/exact.h"
#include "pulse/positions.h"
#include "pulse/sections.h"
#include "pulse/tracks.h"

#define MEMBERS_MAX 256
#define FROM (PLACES_EXACT / 2) /* numbers of places below PLACES_EXACT are known to be exact */
#define LASTS 0x1p23            /* frames in which the whole run's numbers have to be exact, too */
#define CASES_MAX 16            /* of comparisons in a member, tried */

struct component {
    const struct pulser *p;
    uint32_t wire[MEMBERS_MAX];
    bool read[MEMBERS_MAX]; /* outside of it: it repeats */
    unsigned n;
    const struct dim *length; /* of all its wires along time */
    int64_t period;           /* of what is read; 0: something does not repeat */
};

/* Along the one time axis of the wire, which has so many frames; AXIS_NONE: it is no such wire. */
static int member_axis(const struct component *c, uint32_t w)
{
    const struct pulser *p = c->p;
    int axes[2];
    if (w == WIRE_NONE || !p->positions->of[w].e || time_axes(p, w, axes) != 1)
        return AXIS_NONE;
    const struct dim *length = pulser_fact(p, w)->shape[axes[0]];
    return dim_refresh(p->src->dims, length) == c->length ? axes[0] : AXIS_NONE;
}

static void member_add(struct component *c, uint32_t w)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->wire[i] == w)
            return;
    if (c->n == MEMBERS_MAX)
        c->period = 0;
    else
        c->wire[c->n++] = w;
}

/* ---- what repeats ---- */

/* What all quotients in the expression divide by; 0: too much. */
static int64_t divisors_of(const struct dim *e)
{
    const struct dim_parts x = dim_parts(e);
    int64_t all = x.form == DIM_FORM_QUOTIENT ? x.value : 1;
    for (unsigned i = 0; i < x.n && all; i++) {
        const int64_t more = divisors_of(x.arg[i]);
        all = more && all / gcd(all, more) <= FROM / more ? all / gcd(all, more) * more : 0;
    }
    return all;
}

/* After how many frames, from FROM on, the number on the wire is the same; 0: not known. */
static int64_t member_period(const struct component *c, uint32_t w)
{
    const struct positions *ps = c->p->positions;
    const struct dim *at = ps->axis[member_axis(c, w)], *e = ps->of[w].e;
    const int64_t period = divisors_of(e);
    if (!period || period > FROM || dim_mentions(e, ps->time))
        return 0;
    const int64_t from = FROM / period * period;
    const struct dim *far = dim_subst(ps->dims, e, at, dim_add_int(ps->dims, at, from)),
                     *next = dim_subst(ps->dims, far, at, dim_add_int(ps->dims, at, period));
    return far == next && dims_status(ps->dims, NULL) == RILL_OK ? period : 0;
}

static void member_read(struct component *c, uint32_t w)
{
    const int64_t more = c->period ? member_period(c, w) : 0;
    const int64_t times = more ? more / gcd(c->period, more) : 0;
    c->period = times && c->period <= FROM / times ? c->period * times : 0;
}

/* ---- what hangs together ---- */

/* A frame of the output is a function of the same frame of its inputs, all known. */
static bool keeps_frames(const struct component *c, const struct node *n)
{
    static const enum op_id moves[] = { OP_EXPAND, OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    int axes[2];
    if (n->n_out != 1 || n->n_body || member_axis(c, n->out[0]) == AXIS_NONE ||
        !((n->op->flags & OP_POINTWISE) || node_is_among(n, moves, sizeof moves / sizeof *moves)))
        return false;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && time_axes(c->p, n->in[i], axes) > 0 &&
            member_axis(c, n->in[i]) == AXIS_NONE)
            return false;
    return true;
}

static void inputs_add(struct component *c, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && member_axis(c, n->in[i]) != AXIS_NONE)
            member_add(c, n->in[i]);
}

/* Who makes the wire and who reads it belongs to the component, or it has to repeat. */
static void member_walk(struct component *c, unsigned i)
{
    const struct pulser *p = c->p;
    const uint32_t w = c->wire[i];
    const uint32_t made = p->src->wires[w].node;
    const struct node *n = made == WIRE_NONE ? NULL : &p->src->nodes[made];
    bool read = graph_wire_is_given(p->src, w) || !n;
    if (n && keeps_frames(c, n))
        inputs_add(c, n);
    else
        read |= n && !node_is(n, OP_RANGE);
    for (const struct reader *r = section_reader(p, w, NULL); r; r = section_reader(p, w, r)) {
        const struct node *by = &p->src->nodes[r->node];
        if (p->sections->lazy[r->node])
            continue; /* its places are made of constants */
        if (keeps_frames(c, by)) {
            member_add(c, by->out[0]);
            inputs_add(c, by);
        } else
            read = true;
    }
    c->read[i] = read;
    if (read)
        member_read(c, w);
}

/* The whole run skips no sooner than a plain count of frames in f32 does, half of that at least. */
static bool member_lasts(const struct component *c, uint32_t w)
{
    unsigned cases = CASES_MAX;
    return position_lasts(c->p->positions, pulser_fact(c->p, w)->type, &c->p->positions->of[w],
                          LASTS, &cases);
}

static bool type_ends(enum dtype type)
{
    return type != DTYPE_I64 && type != DTYPE_U64 && type != DTYPE_F64 && type != DTYPE_BOOL;
}

static rill_status rebased_mark(struct pulser *p, const struct component *c)
{
    if (!p->untraced)
        p->untraced = arena_array(p->arena, bool, p->src->n_wires + 1);
    for (unsigned i = 0; p->untraced && i < c->n; i++)
        p->untraced[c->wire[i]] |= !c->read[i];
    return p->untraced ? RILL_OK : pulser_no_memory(p);
}

rill_status rebase_find(struct pulser *p, uint32_t range, struct rebase *ret)
{
    struct component c = { .p = p, .wire = { range }, .n = 1, .period = 1 };
    bool ends = false;
    *ret = (struct rebase) { 0, 0 };
    if (!p->positions || !p->sections)
        return RILL_OK;
    c.length = dim_refresh(p->src->dims, pulser_fact(p, range)->shape[0]);
    if (member_axis(&c, range) == AXIS_NONE)
        return RILL_OK;
    for (unsigned i = 0; i < c.n && c.period; i++) {
        member_walk(&c, i);
        ends |= type_ends(pulser_fact(p, c.wire[i])->type);
        if (!member_lasts(&c, c.wire[i]))
            return RILL_OK;
    }
    if (!ends || !c.period)
        return RILL_OK;
    *ret = (struct rebase) { FROM / c.period * c.period, c.period };
    return rebased_mark(p, &c);
}

rill_status rebase_emit(struct pulser *p, const char *name, const struct rebase *r, uint32_t frames,
                        uint32_t *ret)
{
    uint32_t in[2] = { frames, WIRE_NONE }, w;
    TRY(pulser_ints(p, name, &r->period, 1, &in[1]));
    TRY(pulser_emit_op(p, OP_MOD, name, NULL, 0, in, 2, &w));
    TRY(pulser_ints(p, name, &r->from, 1, &in[0]));
    in[1] = w;
    TRY(pulser_emit_op(p, OP_ADD, name, NULL, 0, in, 2, &w));
    in[0] = frames;
    in[1] = w;
    return pulser_emit_op(p, OP_MIN, name, NULL, 0, in, 2, ret);
}
