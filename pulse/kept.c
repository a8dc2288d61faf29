/* SPDX-License-Identifier: MIT */
/* Frames at fixed places of a sequence, as the first one: a state that is written when they come.
 * What is made of them alone is made anew in every run; who joins it with a stream comes so late
 * that they are there. */
#include "engine/base/dim_claims.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/pulser.h"
#include "pulse/tracks.h"

#include <stdio.h>

/* runs, and runs more by the one that is: of those of the stream before `late` the clock's own
 * number is taken, so that the first run with frames of the sequence is the first. */
static rill_status runs_count(struct pulser *p, const struct node *n, uint32_t clock, int64_t late,
                              uint32_t runs, uint32_t *ret_now, uint32_t *ret_next)
{
    uint32_t before = clock, counts = clock;
    *ret_now = *ret_next = runs;
    if (late == 0)
        return pulser_with_int(p, n, OP_ADD, 1, ret_next);
    TRY(pulser_with_int(p, n, OP_MIN, late, &before));
    TRY(pulser_with_int(p, n, OP_SUB, late - 1, &counts));
    TRY(pulser_with_int(p, n, OP_MAX, 0, &counts));
    TRY(pulser_with_int(p, n, OP_MIN, 1, &counts));
    const uint32_t now[2] = { runs, before }, next[2] = { runs, counts };
    TRY(pulser_emit_op(p, OP_ADD, n->name, NULL, 0, now, 2, ret_now));
    return pulser_emit_op(p, OP_ADD, n->name, NULL, 0, next, 2, ret_next);
}

/* The clock, but that it counts the runs of the branch alone: its first frames are those that come
 * first while it runs. */
static rill_status runs_clock_emit(struct pulser *p, const char *name, uint32_t *ret)
{
    const struct fact count = { .type = DTYPE_I64,
                                .rank = 1,
                                .shape = { dim_int(p->dst->dims, 1) } };
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = 0 };
    const struct node named = { .name = name };
    uint32_t runs, next, clock, counted[2];
    TRY(pulser_state(p, name, &count, 0, 1, &runs));
    TRY(pulser_clock(p, &clock));
    TRY(pulser_slice(p, name, clock, 0, 0, 1, &counted[0]));
    TRY(runs_count(p, &named, counted[0], p->late / p->pulse, runs, &counted[0], &next));
    TRY(pulser_slice(p, name, clock, 0, 1, CLOCK_SIZE, &counted[1]));
    TRY(pulser_emit_op(p, OP_CONCAT, name, &along, 1, counted, 2, ret));
    return graph_add_state(p->dst, name, runs, next, NULL) ? RILL_OK : pulser_no_memory(p);
}

rill_status pulser_runs_clock(struct pulser *p, const char *name, uint32_t *ret)
{
    if (!p->branch)
        return pulser_clock(p, ret);
    if (p->runs_clock == WIRE_NONE)
        TRY(runs_clock_emit(p, name, &p->runs_clock));
    *ret = p->runs_clock;
    return RILL_OK;
}

/* By the clock that in[2] is. */
static rill_status kept_emit(struct pulser *p, const struct node *n, const struct flow *f,
                             int64_t first, int64_t frames, uint32_t *in, uint32_t *ret)
{
    struct pulse_first_attr *a = arena_new(p->arena, struct pulse_first_attr);
    const struct fact x = *pulser_dst_fact(p, f->wire);
    if (!a)
        return pulser_no_memory(p);
    *a = (struct pulse_first_attr) { .at = { .pulse = f->sf.pulse, .delay = f->sf.delay },
                                     .axis = f->sf.axis,
                                     .first = first };
    TRY(pulser_length_place(p, f->sf.length, &a->at.length));
    TRY(pulser_state(p, n->name, &x, f->sf.axis, frames, &in[0]));
    TRY(pulser_emit(p, &op_pulse_first, n->name, a, in, 3, ret, 1));
    return graph_add_state(p->dst, n->name, in[0], *ret, NULL) ? RILL_OK : pulser_no_memory(p);
}

rill_status kept_first(struct pulser *p, const struct node *n, const struct flow *f, int64_t first,
                       int64_t frames, uint32_t *ret)
{
    uint32_t in[3] = { 0, f->wire };
    TRY(pulser_runs_clock(p, n->name, &in[2]));
    return kept_emit(p, n, f, first, frames, in, ret);
}

rill_status kept_placed(struct pulser *p, const struct node *n, const struct flow *f,
                        int64_t frames, uint32_t *ret)
{
    uint32_t in[3] = { 0, f->wire };
    TRY(pulser_clock(p, &in[2]));
    return kept_emit(p, n, f, 0, frames, in, ret);
}

static rill_status kept_lacks(const struct pulser *p, const struct node *n, const char *port,
                              unsigned i, const struct kept *k)
{
    char name[64], least[24] = "..";
    dim_print(p->symbol, name, sizeof name);
    if (k->least)
        snprintf(least, sizeof least, "%lld", (long long) k->least);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: %s %u is the first %lld frames of a sequence, which "
                   "may be shorter; assert a least length, as in --assert \"%s >= %s\"",
                   port, i, (long long) dim_value(k->frames), name, least);
}

/* Results of sequences that are shorter than what is kept would be others. */
rill_status kept_check(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_kept(p, n->in[i]) && p->kept[n->in[i]].frames)
            return kept_lacks(p, n, "input", i, &p->kept[n->in[i]]);
    return RILL_OK;
}

rill_status kept_result(struct pulser *p, const struct node *n, unsigned i, const struct kept *k)
{
    struct kept *of = &p->kept[n->out[i]];
    if (k->inputs && k->frames)
        return kept_lacks(p, n, "output", i, k);
    of->inputs = larger(of->inputs, k->inputs);
    return RILL_OK;
}

/* ---- sequences without frames ---- */

/* Whether the wire has frames, or is no sequence, where there are none. */
static bool there_of_none(const struct pulser *p, uint32_t w)
{
    int axes[2];
    int64_t v;
    return !time_axes(p, w, axes) ||
        !dim_eval(pulser_fact(p, w)->shape[axes[0]], p->symbol, 0, &v) || v > 0;
}

/* Whether n makes wire w frame by frame of what its input i has. */
static bool keeps_frames(const struct pulser *p, const struct node *n, unsigned i, uint32_t w)
{
    int from[2], to[2];
    return time_axes(p, n->in[i], from) == 1 && time_axes(p, w, to) == 1 &&
        track_out(p, n, i, from[0]) == to[0] &&
        pulser_fact(p, n->in[i])->shape[from[0]] == pulser_fact(p, w)->shape[to[0]];
}

/* Whether n makes output w, of a sequence without frames, of those that it lacks. Where they stand
 * in front of a stream its length says that they are not there. */
static bool hollow_of(const struct pulser *p, const struct node *n, uint32_t w)
{
    const bool joins = node_is(n, OP_CONCAT) && pulser_stream(p, w);
    bool lacks = false, hollow = false, keeps = false;
    int axes[2];
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE)
            continue;
        hollow |= p->kept[n->in[i]].hollow;
        if (!pulser_kept(p, n->in[i]) || !time_axes(p, n->in[i], axes))
            continue;
        lacks |= !joins;
        keeps |= keeps_frames(p, n, i, w);
    }
    return hollow || (lacks && !keeps);
}

void kept_of_none(struct pulser *p, const struct node *n)
{
    if (!p->symbol || !dims_allow(p->dst->dims, p->symbol, 0) ||
        dims_need_broken(p->dst->dims, p->symbol, 0))
        return;
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE && there_of_none(p, n->out[k]))
            p->kept[n->out[k]].hollow |= hollow_of(p, n, n->out[k]);
}

/* Whether n makes, frame by frame, as many frames as its inputs have that are shorter in short
 * sequences. */
static bool goes_by_frame(const struct pulser *p, const struct node *n)
{
    const struct dim *frames = NULL;
    int axes[2], of[2];
    if (!(n->op->flags & OP_POINTWISE) || n->op->checked || n->n_out != 1 ||
        time_axes(p, n->out[0], axes) != 1)
        return false;
    const struct fact *y = pulser_fact(p, n->out[0]);
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct fact *x = n->in[i] == WIRE_NONE ? NULL : pulser_fact(p, n->in[i]);
        const int at = x ? axes[0] - (y->rank - x->rank) : -1;
        if (at < 0 || dim_is(x->shape[at], 1))
            continue;
        if (x->shape[at] != y->shape[axes[0]] || time_axes(p, n->in[i], of) != 1)
            return false;
        frames = p->kept[n->in[i]].frames ? p->kept[n->in[i]].frames : frames;
    }
    return frames != NULL;
}

static bool same_sizes(const struct fact *a, const struct fact *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* When each of the frames that n makes is known: as those that its kept inputs have are, element by
 * element. */
static rill_status come_of(struct pulser *p, const struct node *n, struct kept *ret)
{
    const struct kept *first = NULL;
    int64_t *come = NULL, frames = 0;
    if (!(n->op->flags & OP_POINTWISE) || n->n_out != 1)
        return RILL_OK;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!pulser_kept(p, n->in[i]))
            continue;
        const struct kept *k = &p->kept[n->in[i]];
        if (!k->come || !same_sizes(pulser_fact(p, n->in[i]), pulser_fact(p, n->out[0])) ||
            (first && first->axis != k->axis))
            return RILL_OK;
        if (!come) {
            frames = dim_value(pulser_dst_fact(p, p->map[n->in[i]])->shape[k->axis]);
            come = arena_array(p->arena, int64_t, frames + 1);
        }
        for (int64_t at = 0; come && at < frames; at++)
            come[at] = larger(come[at], k->come[at]);
        first = k;
    }
    if (!first)
        return RILL_OK;
    ret->come = come;
    ret->axis = first->axis;
    return come ? RILL_OK : pulser_no_memory(p);
}

/* The node of kept frames, some of which a short sequence lacks: so does what it makes. */
static rill_status kept_by_frame(struct pulser *p, const struct node *n)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1), w = n->out[0];
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++) {
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
        if (!pulser_kept(p, n->in[i]))
            continue;
        const struct kept *k = &p->kept[n->in[i]];
        p->kept[w].inputs = larger(p->kept[w].inputs, k->inputs);
        p->kept[w].frames = k->frames ? k->frames : p->kept[w].frames;
        p->kept[w].least = larger(p->kept[w].least, k->least);
    }
    TRY(come_of(p, n, &p->kept[w]));
    return pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, &p->map[w], 1);
}

rill_status kept_node(struct pulser *p, const struct node *n)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1),
             *out = arena_array(p->arena, uint32_t, n->n_out + 1);
    int64_t inputs = 0;
    if (!in || !out)
        return pulser_no_memory(p);
    if (n->n_body)
        return kept_refuse(p, n);
    if (goes_by_frame(p, n))
        return kept_by_frame(p, n);
    TRY(kept_check(p, n));
    TRY(pulser_no_lengths(p, n));
    for (unsigned i = 0; i < n->n_in; i++) {
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
        inputs = pulser_kept(p, n->in[i]) ? larger(inputs, p->kept[n->in[i]].inputs) : inputs;
    }
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, out, n->n_out));
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE) {
            p->map[n->out[k]] = out[k];
            p->kept[n->out[k]].inputs = inputs;
            TRY(come_of(p, n, &p->kept[n->out[k]]));
        }
    return RILL_OK;
}

#define UNROLLED_LEAST 4 /* frames that are joined again */

bool kept_unrolled(const struct pulser *p, uint32_t src_wire)
{
    static const enum op_id moves[] = { OP_RESHAPE, OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    const struct node *n = graph_producer(p->src, src_wire);
    while (n && node_is_among(n, moves, sizeof moves / sizeof *moves))
        n = graph_producer(p->src, n->in[0]);
    unsigned kept = 0;
    for (unsigned i = 0; n && node_is(n, OP_CONCAT) && i < n->n_in; i++)
        kept += pulser_kept(p, n->in[i]);
    return kept >= UNROLLED_LEAST && kept == n->n_in;
}

rill_status kept_refuse(const struct pulser *p, const struct node *n)
{
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: an input is made of a fixed number of frames of the time axis, "
                   "which are known only once they have come; Concat in front of a stream takes "
                   "them, a recurrence that begins with them, and what goes element by element "
                   "with a stream does");
}

rill_status kept_port(struct pulser *p, uint32_t src_wire)
{
    uint32_t node = p->src->wires[src_wire].node;
    const struct kept *k = &p->kept[src_wire];
    if ((!k->inputs && !k->hollow) || node == WIRE_NONE)
        return RILL_OK;
    p->stopped = &p->src->nodes[node];
    if (!k->inputs)
        return op_fail(p->err, RILL_UNSUPPORTED, p->stopped,
                       "cannot stream: what it gives of a sequence without frames is made of first "
                       "frames of it, which it lacks; --assert \"%s >= 1\" leaves that out",
                       dim_name(p->symbol));
    if (kept_unrolled(p, src_wire))
        return op_fail(p->err, RILL_UNSUPPORTED, p->stopped,
                       "cannot stream: what it gives is " UNROLLED_WORDS);
    return op_fail(p->err, RILL_UNSUPPORTED, p->stopped,
                   "cannot stream: what it gives is made of a fixed number of frames of the time "
                   "axis, not of a part that grows with the stream, and is wanted");
}
