/* SPDX-License-Identifier: MIT */
#include "pulse/first_keys.h"
#include "engine/ops/clock.h"
#include "pulse/bands.h"
#include "pulse/ints.h"
#include "pulse/positions.h"

static rill_status concat_emit(struct pulser *p, const struct node *n, const uint32_t *in,
                               unsigned n_in, int axis, uint32_t *ret)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = axis };
    return pulser_emit_op(p, OP_CONCAT, n->name, &along, 1, in, n_in, ret);
}

/* Frame r * pulse - delay of run r. */
static rill_status frame_emit(struct pulser *p, const struct node *n, int64_t pulse, int64_t delay,
                              int64_t frames, uint32_t *ret)
{
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    uint32_t in[3];
    if (!a)
        return pulser_no_memory(p);
    *a = (struct clock_attr) { .pulse = pulse, .delay = delay, .frames = frames };
    TRY(pulser_clock(p, &in[0]));
    TRY(pulser_ints(p, n->name, (int64_t[]) { 0 }, 1, &in[1]));
    TRY(pulser_ints(p, n->name, (int64_t[]) { 1 }, 1, &in[2]));
    return pulser_emit(p, &op_pulse_range, n->name, a, in, 3, ret, 1);
}

/* The places of the window, with its slack, on wires that begin FIRST_SLACK before it and have
 * `has` places. */
static rill_status window_places(struct pulser *p, const struct node *n,
                                 const struct first_window *at, int64_t has, uint32_t *ret)
{
    const int64_t frames = at->frames + FIRST_SLACK;
    int64_t *place = arena_array(p->arena, int64_t, frames);
    uint32_t in[2];
    if (!place)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < frames; i++)
        place[i] = i + FIRST_SLACK;
    TRY(pulser_ints(p, n->name, place, (unsigned) frames, &in[0]));
    TRY(frame_emit(p, n, at->pulse, at->delay + at->first, 1, &in[1]));
    TRY(pulser_with_int(p, n, OP_MOD, FIRST_SLACK + 1, &in[1]));
    TRY(pulser_emit_op(p, OP_SUB, n->name, NULL, 0, in, 2, ret));
    return pulser_with_int(p, n, OP_MIN, has - 1, ret);
}

static rill_status window_take(struct pulser *p, const struct node *n, int axis,
                               const struct first_window *at, uint32_t *wire)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = axis };
    uint32_t in[2] = { *wire };
    TRY(window_places(p, n, at, dim_value(pulser_dst_fact(p, *wire)->shape[axis]), &in[1]));
    return pulser_emit_op(p, OP_GATHER, n->name, &along, 1, in, 2, wire);
}

static rill_status first_allowed(const struct pulser *p, const struct node *n)
{
    return p->outer && !p->branch
        ? op_fail(p->err, RILL_UNSUPPORTED, n,
                  "cannot stream: in a body of a loop its mask shows the first keys of the "
                  "sequence beside a window")
        : RILL_OK;
}

rill_status first_keys_put(struct pulser *p, const struct node *n, int axis,
                           const struct first_window *at, uint32_t first, uint32_t *wire)
{
    uint32_t in[2] = { first };
    TRY(window_take(p, n, axis, at, wire));
    in[1] = *wire;
    return concat_emit(p, n, in, 2, axis, wire);
}

rill_status first_keys_join(struct pulser *p, const struct node *n, const struct flow *stream,
                            const struct first_window *at, uint32_t *wire)
{
    uint32_t first;
    if (!at->first)
        return RILL_OK;
    TRY(first_allowed(p, n));
    TRY(kept_placed(p, n, stream, at->first, &first));
    return first_keys_put(p, n, stream->sf.axis, at, first, wire);
}

/* Behind how many queries the first keys are alike for all that follow. */
static const int64_t settled_behind[] = { FIRST_MAX, 512, 4096 };

/* The first keys and the first queries up to one behind which all are alike. */
static rill_status table_emit(struct pulser *p, const struct node *n, uint32_t w,
                              const struct places *at, int64_t first, int64_t queries,
                              uint32_t *ret)
{
    const struct positions *ps = p->positions;
    uint32_t column[FIRST_MAX];
    for (int64_t k = 0; k < first; k++) {
        const struct places one = { .axis = { at->axis[0], at->axis[1] },
                                    .at = { at->at[0], dim_int(ps->dims, k) },
                                    .count = { queries + 1, 1 },
                                    .from = { queries, 0 },
                                    .repeats = { 1, 0 } };
        TRY(places_emit(p, n, w, &one, &column[k]));
    }
    return concat_emit(p, n, column, (unsigned) first, at->axis[1], ret);
}

/* The number of each query of the run, no more than `most`. */
static rill_status queries_emit(struct pulser *p, const struct node *n, int64_t pulse,
                                int64_t delay, int64_t most, uint32_t *ret)
{
    TRY(frame_emit(p, n, pulse, delay, 0, ret));
    TRY(pulser_with_int(p, n, OP_MAX, 0, ret));
    return pulser_with_int(p, n, OP_MIN, most, ret);
}

/* Of queries that stay as those behind a table are. */
static rill_status settled_emit(struct pulser *p, const struct node *n, uint32_t w,
                                const struct places *places, int64_t first, int64_t delay,
                                uint32_t *ret)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = places->axis[0] };
    const unsigned tries = sizeof settled_behind / sizeof *settled_behind;
    uint32_t table[2];
    rill_status s = RILL_UNSUPPORTED;
    unsigned i = 0;
    while (s == RILL_UNSUPPORTED && i < tries)
        s = table_emit(p, n, w, places, first, settled_behind[i++], &table[0]);
    TRY(s);
    TRY(queries_emit(p, n, places->count[0], delay, settled_behind[i - 1], &table[1]));
    return pulser_emit_op(p, OP_GATHER, n->name, &along, 1, table, 2, ret);
}

/* Of queries that do not: made in every run, of their numbers. */
static rill_status running_emit(struct pulser *p, const struct node *n, uint32_t w,
                                const struct places *places, int64_t first,
                                const struct stream_fact *queries, uint32_t *ret)
{
    struct flow f = { .sf = *queries };
    uint32_t column[FIRST_MAX];
    f.sf.axis = 0;
    TRY(frame_emit(p, n, places->count[0], queries->delay, 0, &f.wire));
    TRY(flow_mask(p, n, &f, NULL, true, true));
    if (f.sf.delay != queries->delay)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: '%.80s' differs for every query and first key, and queries "
                       "come before it is known that they lie in the sequence",
                       p->src->wires[w].name);
    for (int64_t k = 0; k < first; k++) {
        struct places one = { .axis = { places->axis[0], places->axis[1] },
                              .at = { places->at[0], dim_int(p->positions->dims, k) },
                              .count = { places->count[0], 1 },
                              .running = true,
                              .queries = f.wire };
        TRY(places_emit(p, n, w, &one, &column[k]));
    }
    return concat_emit(p, n, column, (unsigned) first, places->axis[1], ret);
}

rill_status first_places_join(struct pulser *p, const struct node *n, uint32_t w,
                              const struct places *places, const struct stream_fact *queries,
                              const struct first_window *at, uint32_t *wire)
{
    uint32_t in[2];
    if (!at->first)
        return RILL_OK;
    TRY(window_take(p, n, places->axis[1], at, wire));
    in[1] = *wire;
    rill_status s = settled_emit(p, n, w, places, at->first, queries->delay, &in[0]);
    if (s == RILL_UNSUPPORTED)
        s = running_emit(p, n, w, places, at->first, queries, &in[0]);
    TRY(s);
    return concat_emit(p, n, in, 2, places->axis[1], wire);
}

/* ---- shifts ---- */

/* Whether each of them, `ahead` more, is 0 or more and of a query of the sequence. */
static rill_status distances_valid(struct pulser *p, const struct node *n,
                                   const struct first_shift *s, int64_t first, uint32_t *ret)
{
    const struct stream_fact *q = s->queries;
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    uint32_t clock;
    if (!a)
        return pulser_no_memory(p);
    *a = (struct clock_attr) { .pulse = q->pulse,
                               .delay = q->delay + first - 1 - s->ahead,
                               .frames = q->pulse + first - 1 };
    TRY(pulser_length_place(p, dim_add_int(p->dst->dims, q->length, s->ahead), &a->length));
    TRY(pulser_clock(p, &clock));
    return pulser_emit(p, &op_pulse_valid, n->name, a, &clock, 1, ret, 1);
}

/* From the last query and key 0 on, `ahead` more; that of the query's own frame where none sees it.
 */
static rill_status distances_emit(struct pulser *p, const struct node *n,
                                  const struct first_shift *s, int64_t first, uint32_t *ret)
{
    const struct stream_fact *q = s->queries;
    const int64_t count = q->pulse + first - 1;
    uint32_t in[3];
    TRY(distances_valid(p, n, s, first, &in[0]));
    TRY(frame_emit(p, n, q->pulse, q->delay + first - 1, count, &in[1]));
    TRY(pulser_with_int(p, n, OP_ADD, s->ahead, &in[1]));
    TRY(pulser_ints(p, n->name, (int64_t[]) { s->ahead }, 1, &in[2]));
    TRY(pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, ret));
    return pulser_turned(p, n, 0, count, ret);
}

rill_status first_shift_join(struct pulser *p, const struct node *n, const struct first_shift *s,
                             const struct first_window *at, uint32_t *wire)
{
    struct shift_first w = { .pulse = s->queries->pulse, .first = at->first, .ahead = s->ahead };
    uint32_t in[2];
    if (!at->first)
        return RILL_OK;
    TRY(window_take(p, n, s->axis + 1, at, wire));
    in[1] = *wire;
    TRY(distances_emit(p, n, s, at->first, &w.distances));
    TRY(shift_first_emit(p, s->shift, s->of, &w, &in[0]));
    return concat_emit(p, n, in, 2, s->axis + 1, wire);
}

/* Of the first `given` keys it is known that they are there. */
static rill_status given_valid(struct pulser *p, const struct node *n, int64_t given, uint32_t *ret)
{
    const struct fact f = { .type = DTYPE_BOOL,
                            .rank = 1,
                            .shape = { dim_int(p->dst->dims, given) } };
    struct tensor *one = tensor_new(p->arena, f.type, 0, NULL);
    const struct tensor *t = NULL;
    if (!one)
        return pulser_no_memory(p);
    tensor_set_f64(one, one->data, 0, 1);
    TRY(pulser_full(p, n->name, &f, one, &t));
    *ret = graph_add_const(p->dst, n->name, t);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

/* Of the first keys behind those, of which there are more: whether they lie in the sequence; they
 * have come where a query sees them. */
static rill_status clocked_valid(struct pulser *p, const struct node *n,
                                 const struct stream_fact *keys, int64_t given, int64_t first,
                                 uint32_t *ret)
{
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    uint32_t clock;
    if (!a)
        return pulser_no_memory(p);
    *a = (struct clock_attr) { .pulse = 0, .frames = first - given };
    TRY(pulser_length_place(p, dim_add_int(p->dst->dims, keys->length, -given), &a->length));
    TRY(pulser_clock(p, &clock));
    return pulser_emit(p, &op_pulse_valid, n->name, a, &clock, 1, ret, 1);
}

/* Whether they lie in the sequence and came in a run of the branch. */
static rill_status kept_valid(struct pulser *p, const struct node *n,
                              const struct stream_fact *keys, int64_t given, int64_t first,
                              uint32_t *ret)
{
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    struct flow f = { .sf = *keys };
    uint32_t clock;
    if (!a)
        return pulser_no_memory(p);
    f.sf.axis = 0;
    f.sf.delay += given;
    f.sf.length = dim_add_int(p->dst->dims, keys->length, -given);
    *a = (struct clock_attr) { .pulse = f.sf.pulse, .delay = f.sf.delay };
    TRY(pulser_length_place(p, f.sf.length, &a->length));
    TRY(pulser_clock(p, &clock));
    TRY(pulser_emit(p, &op_pulse_valid, n->name, a, &clock, 1, &f.wire, 1));
    return kept_placed(p, n, &f, first - given, ret);
}

/* Keys come before frame 0 of the stream where at least so many frames are put in front of it. */
rill_status first_valid_join(struct pulser *p, const struct node *n, const struct stream_fact *keys,
                             bool kept, const struct first_window *at, uint32_t *wire)
{
    const int64_t given = smaller(larger(-keys->delay, 0), at->first);
    uint32_t in[2];
    if (!at->first)
        return RILL_OK;
    TRY(first_allowed(p, n));
    if (given)
        TRY(given_valid(p, n, given, &in[0]));
    if (given < at->first)
        TRY((kept ? kept_valid : clocked_valid)(p, n, keys, given, at->first, &in[given ? 1 : 0]));
    if (given && given < at->first)
        TRY(concat_emit(p, n, in, 2, 0, &in[0]));
    return first_keys_put(p, n, 0, at, in[0], wire);
}
