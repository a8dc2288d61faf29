/* SPDX-License-Identifier: MIT */
/* What rules look at and emit with: facts, nodes, the clock, outputs that stream. */
#include "engine/base/dim_even.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/pulser.h"

#include <string.h>

rill_status pulser_no_memory(const struct pulser *p)
{
    return err_set(p->err, RILL_NOMEM, "out of memory while pulsing");
}

const struct stream_fact *pulser_stream(const struct pulser *p, uint32_t w)
{
    return w == WIRE_NONE || p->sf[w].axis < 0 ? NULL : &p->sf[w];
}

const struct fact *pulser_fact(const struct pulser *p, uint32_t w)
{
    return &p->src->wires[w].fact;
}

const struct fact *pulser_dst_fact(const struct pulser *p, uint32_t w)
{
    return &p->dst->wires[w].fact;
}

bool pulser_const_ints(const struct pulser *p, const struct node *n, unsigned i, int64_t *ret,
                       unsigned cap, unsigned *ret_n)
{
    const struct tensor *v = node_value(p->src, n, i);
    if (!v || tensor_count(v) > cap)
        return false;
    *ret_n = (unsigned) tensor_count(v);
    for (unsigned k = 0; k < *ret_n; k++) {
        const struct dim *d =
            v->type == DTYPE_DIM ? ((const struct dim *const *) v->data)[k] : NULL;
        if (d && !dim_is_const(d))
            return false;
        ret[k] = d ? dim_value(d) : tensor_get_i64(v, v->data, k);
    }
    return true;
}

/* ---- frames that are kept ---- */

bool pulser_kept(const struct pulser *p, uint32_t w)
{
    return w != WIRE_NONE && p->kept[w].inputs > 0;
}

bool node_has_kept(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_kept(p, n->in[i]))
            return true;
    return false;
}

int64_t kept_delay(const struct pulser *p, const struct node *n, const struct stream_fact *s)
{
    int64_t inputs = 0, run = s->hop_num;
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_kept(p, n->in[i]))
            inputs = larger(inputs, p->kept[n->in[i]].inputs);
    const int64_t last = (inputs * s->hop_den + run - 1) / run - 1;
    return inputs && last > 0 ? last / s->pulse * s->pulse : 0;
}

/* ---- emitting ---- */

static rill_status infer_emitted(struct pulser *p, const struct node *n, struct fact *out)
{
    const struct fact **in = arena_array(p->arena, const struct fact *, n->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? NULL : &p->dst->wires[n->in[i]].fact;
    TRY(op_infer(n, in, out, p->dst->dims, p->arena, p->err));
    return dims_status(p->dst->dims, p->err);
}

rill_status pulser_emit(struct pulser *p, const struct op *op, const char *name, const void *attr,
                        const uint32_t *in, unsigned n_in, uint32_t *ret_out, unsigned n_out)
{
    struct fact *facts = arena_array(p->arena, struct fact, n_out + 1);
    uint32_t *list = arena_copy(p->arena, in, n_in * sizeof *in);
    if (!op)
        return err_set(p->err, RILL_INTERNAL, "'%s' needs an op that is not built in", name);
    if (!facts || !list)
        return pulser_no_memory(p);
    struct node n = { .name = name,
                      .op = op,
                      .attr = attr,
                      .in = list,
                      .n_in = n_in,
                      .out = ret_out,
                      .n_out = n_out };
    TRY(infer_emitted(p, &n, facts));
    for (unsigned i = 0; i < n_out; i++) {
        ret_out[i] = graph_add_wire(p->dst, name, &facts[i]);
        if (ret_out[i] == WIRE_NONE)
            return pulser_no_memory(p);
    }
    return graph_add_node(p->dst, op, name, attr, list, n_in, ret_out, n_out) ? RILL_OK
                                                                              : pulser_no_memory(p);
}

#define OTHER_PULSE 10007

rill_status pulser_any_pulse(struct pulser *p, const struct node *n, const uint32_t *in, unsigned k,
                             int axis)
{
    struct fact *facts = arena_array(p->arena, struct fact, n->n_in + n->n_out + 1);
    const struct fact **list = arena_array(p->arena, const struct fact *, n->n_in + 1);
    rill_error why = { 0 };
    if (!facts || !list)
        return pulser_no_memory(p);
    struct fact *out = facts + n->n_in;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        if (in[i] == WIRE_NONE)
            continue;
        facts[i] = *pulser_dst_fact(p, in[i]);
        list[i] = &facts[i];
        if (s)
            facts[i].shape[s->axis] = dim_int(p->dst->dims, OTHER_PULSE);
    }
    if (op_infer(n, list, out, p->dst->dims, p->arena, &why) == RILL_OK && axis < out[k].rank &&
        dim_is(out[k].shape[axis], OTHER_PULSE))
        return RILL_OK;
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: an input that does not run along time has a fixed number of "
                   "indices where the others have time, axis %d of output %u",
                   axis, k);
}

rill_status pulser_ints(struct pulser *p, const char *name, const int64_t *v, unsigned n,
                        uint32_t *ret)
{
    *ret = graph_add_const(p->dst, name,
                           tensor_from_data(p->arena, DTYPE_I64, 1, &(int64_t) { n }, v));
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_emit_op(struct pulser *p, enum op_id id, const char *name,
                           const struct attr *attrs, unsigned n_attrs, const uint32_t *in,
                           unsigned n_in, uint32_t *ret_out)
{
    const struct op *op = op_by_id(id);
    void *attr = op->attr_bytes ? arena_alloc(p->arena, op->attr_bytes) : NULL;
    struct attr *kept = n_attrs ? arena_copy(p->arena, attrs, n_attrs * sizeof *kept) : NULL;
    if ((op->attr_bytes && !attr) || (n_attrs && !kept))
        return pulser_no_memory(p);
    if (attr)
        TRY(attrs_parse(op, name, kept, n_attrs, attr, p->err));
    return pulser_emit(p, op, name, attr, in, n_in, ret_out, 1);
}

static void attr_set(const struct attr_spec *spec, unsigned char *attr, const struct attr *a)
{
    const int choice = (int) a->i;
    if (spec->kind == ATTR_INT)
        memcpy(attr + spec->offset, &a->i, sizeof a->i);
    else if (spec->kind == ATTR_CHOICE)
        memcpy(attr + spec->offset, &choice, sizeof choice);
    else if (spec->kind == ATTR_INTS)
        memcpy(attr + spec->offset, &a->ints, sizeof a->ints);
}

rill_status pulser_attr_copy(struct pulser *p, const struct node *n, const struct attr *list,
                             unsigned n_list, void **ret)
{
    unsigned char *attr = arena_copy(p->arena, n->attr, n->op->attr_bytes);
    if (!attr)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n_list; i++)
        for (const struct attr_spec *s = n->op->attrs; s && s->name; s++)
            if (!strcmp(s->name, list[i].name))
                attr_set(s, attr, &list[i]);
    *ret = attr;
    return RILL_OK;
}

rill_status pulser_turned(struct pulser *p, const struct node *n, int axis, int64_t count,
                          uint32_t *wire)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = axis };
    int64_t *place = arena_array(p->arena, int64_t, count);
    uint32_t in[2] = { *wire };
    if (!place)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < count; i++)
        place[i] = count - 1 - i;
    TRY(pulser_ints(p, n->name, place, (unsigned) count, &in[1]));
    return pulser_emit_op(p, OP_GATHER, n->name, &along, 1, in, 2, wire);
}

rill_status pulser_with_int(struct pulser *p, const struct node *n, enum op_id id, int64_t v,
                            uint32_t *wire)
{
    uint32_t in[2] = { *wire };
    TRY(pulser_ints(p, n->name, &v, 1, &in[1]));
    return pulser_emit_op(p, id, n->name, NULL, 0, in, 2, wire);
}

rill_status pulser_state(struct pulser *p, const char *name, const struct fact *f, int axis,
                         int64_t n, uint32_t *ret)
{
    struct fact s = *f;
    s.value = NULL;
    s.shape[axis] = dim_int(p->dst->dims, n);
    *ret = graph_add_wire(p->dst, name, &s);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_full(struct pulser *p, const char *name, const struct fact *f,
                        const struct tensor *scalar, const struct tensor **ret)
{
    struct tensor shape, *t;
    if (!fact_to_tensor(f, &shape))
        return err_set(p->err, RILL_INTERNAL, "'%s' has no size", name);
    if (scalar && scalar->type != shape.type)
        return err_set(p->err, RILL_INTERNAL, "'%s' is of %s, its past of %s", name,
                       dtype_name(shape.type), dtype_name(scalar->type));
    if (!(t = tensor_new(p->arena, shape.type, shape.rank, shape.dim)))
        return pulser_no_memory(p);
    size_t bytes = dtype_bytes(t->type);
    for (size_t i = 0; scalar && i < tensor_bytes(t); i += bytes)
        memcpy((unsigned char *) t->data + i, scalar->data, bytes);
    *ret = t;
    return RILL_OK;
}

rill_status pulser_filled(struct pulser *p, uint32_t dst_wire, const struct tensor *scalar,
                          const struct tensor **ret)
{
    *ret = NULL;
    return scalar
        ? pulser_full(p, p->dst->wires[dst_wire].name, pulser_dst_fact(p, dst_wire), scalar, ret)
        : RILL_OK;
}

rill_status pulser_slice(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t from,
                         int64_t to, uint32_t *ret)
{
    uint32_t in[4] = { wire };
    TRY(pulser_ints(p, name, &from, 1, &in[1]));
    TRY(pulser_ints(p, name, &to, 1, &in[2]));
    TRY(pulser_ints(p, name, &(int64_t) { axis }, 1, &in[3]));
    return pulser_emit_op(p, OP_SLICE, name, NULL, 0, in, 4, ret);
}

/* ---- the clock and lengths ---- */

static struct pulser *outermost(struct pulser *p)
{
    while (p->outer)
        p = p->outer;
    return p;
}

rill_status pulser_clock(struct pulser *p, uint32_t *ret)
{
    const struct fact f = { .type = DTYPE_I64,
                            .rank = 1,
                            .shape = { dim_int(p->dst->dims, CLOCK_SIZE) } };
    if (p->clock == WIRE_NONE)
        p->clock = graph_add_input(p->dst, "clock", &f);
    *ret = p->clock;
    return p->clock == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_first_clock(struct pulser *p, const struct node *n, uint32_t *ret)
{
    int64_t lengths[CLOCK_SIZE] = { 0 };
    uint32_t in[2];
    for (unsigned i = 1; i < CLOCK_SIZE; i++)
        lengths[i] = 1;
    TRY(pulser_clock(p, &in[0]));
    TRY(pulser_ints(p, n->name, lengths, CLOCK_SIZE, &in[1]));
    return pulser_emit_op(p, OP_MUL, n->name, NULL, 0, in, 2, ret);
}

rill_status pulser_length_place(struct pulser *p, const struct dim *length, int64_t *ret)
{
    struct pulser *o = outermost(p);
    uint32_t i = 0;
    while (i < o->n_lengths && o->lengths[i] != length)
        i++;
    if (i == LENGTHS_MAX)
        return err_set(p->err, RILL_LIMIT, "the graph has more than %d lengths of streams",
                       LENGTHS_MAX);
    o->lengths[i] = length;
    o->n_lengths += i == o->n_lengths;
    *ret = 1 + i;
    return RILL_OK;
}

/* A constant that holds a length of the whole sequence. */
bool fact_knows_length(const struct fact *f)
{
    const struct tensor *v = f ? f->value : NULL;
    for (int64_t i = 0; v && v->type == DTYPE_DIM && i < tensor_count(v); i++)
        if (dim_has_symbol(((const struct dim *const *) v->data)[i]))
            return true;
    return false;
}

bool pulser_knows_length(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (fact_knows_length(n->in[i] == WIRE_NONE ? NULL : pulser_fact(p, n->in[i])))
            return true;
    return false;
}

rill_status pulser_no_lengths(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (fact_knows_length(n->in[i] == WIRE_NONE ? NULL : pulser_fact(p, n->in[i])))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u is computed from the length of the whole "
                           "sequence, which a stream learns only at its end",
                           i);
    return RILL_OK;
}

rill_status pulser_refuse_shapes(const struct pulser *p, const struct node *n, const char *why)
{
    char from[160], to[160];
    fact_print(pulser_fact(p, n->in[0]), from, sizeof from);
    fact_print(pulser_fact(p, n->out[0]), to, sizeof to);
    return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: from %s to %s %s", from, to, why);
}

bool pulser_growth(const struct pulser *p, const struct dim *length, int64_t *ret_num,
                   int64_t *ret_den)
{
    struct dim_even e;
    if (dim_slope(length, p->symbol, ret_num, ret_den))
        return *ret_num >= 1;
    if (!dim_even(length, p->symbol, &e) || e.rise < 1)
        return false;
    int64_t a = gcd(e.rise, e.period);
    *ret_num = e.rise / a;
    *ret_den = e.period / a;
    return true;
}

/* s->pulse is the stream's pulse times hop_den / hop_num. */
rill_status pulser_want_multiple(struct pulser *p, const struct node *n,
                                 const struct stream_fact *s, int64_t hop, const char *what)
{
    struct pulser *o = outermost(p);
    int64_t input_frames;
    if (s->pulse % hop == 0)
        return RILL_OK;
    bool fits = !__builtin_mul_overflow(hop, s->hop_num, &input_frames);
    o->multiple = fits ? input_frames / gcd(input_frames, s->hop_den) : 0;
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "a pulse has %lld frames there, no multiple of %s, %lld frames",
                   (long long) s->pulse, what, (long long) hop);
}

/* ---- outputs ---- */

/* What stands in the decluttered graph must grow as fast as what is made of it. */
static rill_status bind_growth(const struct pulser *p, const struct node *n,
                               const struct stream_fact *sf, const struct dim *length)
{
    int64_t num, den;
    char text[128];
    if (pulser_growth(p, length, &num, &den) && num * sf->hop_num == den * sf->hop_den)
        return RILL_OK;
    dim_print(length, text, sizeof text);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it makes %s frames on axis %d, the time axis, which do not "
                   "grow with the stream at %lld frames in %lld",
                   text, sf->axis, (long long) sf->hop_den, (long long) sf->hop_num);
}

rill_status pulser_bind(struct pulser *p, const struct node *n, unsigned k, uint32_t dst_wire,
                        const struct stream_fact *sf)
{
    const struct fact *f = &p->dst->wires[dst_wire].fact;
    if (sf->axis >= f->rank || !dim_is(f->shape[sf->axis], sf->pulse)) {
        char fact[160];
        fact_print(f, fact, sizeof fact);
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: output %u would be %s where %lld frames on axis %d "
                       "are expected",
                       k, fact, (long long) sf->pulse, sf->axis);
    }
    const struct dim *length = pulser_fact(p, n->out[k])->shape[sf->axis];
    TRY(bind_growth(p, n, sf, length));
    p->map[n->out[k]] = dst_wire;
    p->sf[n->out[k]] = *sf;
    p->sf[n->out[k]].length = length;
    offset_resolve(&p->sf[n->out[k]], p->symbol);
    return RILL_OK;
}

/* ---- maps ---- */

rill_status pulser_maps_new(struct pulser *p)
{
    const struct graph *src = p->src;
    p->map = arena_array(p->arena, uint32_t, src->n_wires + 1);
    p->sf = arena_array(p->arena, struct stream_fact, src->n_wires + 1);
    p->padded = arena_array(p->arena, struct padded, src->n_wires + 1);
    p->windows = arena_array(p->arena, struct axis_window, src->n_nodes + 1);
    p->kept = arena_array(p->arena, struct kept, src->n_wires + 1);
    if (!p->map || !p->sf || !p->kept || !p->padded || !p->windows)
        return pulser_no_memory(p);
    p->clock = p->runs_clock = p->valid = WIRE_NONE;
    p->histories = NULL;
    p->counted = NULL;
    p->first_scores = NULL;
    p->parts = NULL;
    for (uint32_t w = 0; w < src->n_wires; w++) {
        const struct wire *from = &src->wires[w];
        p->map[w] = WIRE_NONE;
        p->sf[w] = (struct stream_fact) { .axis = -1 };
        if (from->fact.value &&
            (p->map[w] = graph_add_const(p->dst, from->name, from->fact.value)) == WIRE_NONE)
            return pulser_no_memory(p);
    }
    return RILL_OK;
}

rill_status pulser_body_new(struct pulser *ret, struct pulser *p, const struct graph *src,
                            struct graph *dst)
{
    graph_init(dst, p->arena, src->dims, src->name);
    *ret = (struct pulser) { .src = src,
                             .dst = dst,
                             .symbol = p->symbol,
                             .arena = p->arena,
                             .pulse = p->pulse,
                             .lead_in = p->lead_in,
                             .outer = p,
                             .keep_bodies = p->keep_bodies,
                             .row_of = p->row_of,
                             .walk = p->walk,
                             .walk_branch = p->walk_branch,
                             .err = p->err };
    return pulser_maps_new(ret);
}
