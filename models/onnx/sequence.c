/* SPDX-License-Identifier: MIT */
/* Sequences of tensors, which are none of the engine's values: while a graph is read they stand for
 * the wires of their elements, or for one wire that has them along an axis. */
#include "engine/ops/attrs.h"
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

const struct sequence *scope_sequence(const struct scope *s, const char *name)
{
    const uint32_t *at = *name ? map_get(&s->sequences, name) : NULL;
    return at ? &s->sequence[*at] : NULL;
}

rill_status scope_sequence_set(struct scope *s, const char *name, const struct sequence *q)
{
    const uint32_t n = s->sequences.n;
    if (!(n & (n - 1))) { /* full at each power of two */
        struct sequence *more = arena_array(s->r->arena, struct sequence, n ? 2 * (size_t) n : 1);
        if (!more)
            return no_memory(s->r);
        if (n)
            memcpy(more, s->sequence, n * sizeof *more);
        s->sequence = more;
    }
    s->sequence[n] = *q;
    return map_set(&s->sequences, name, n) ? RILL_OK : no_memory(s->r);
}

static rill_status result_set(struct conversion *l, const struct sequence *q)
{
    l->engine = NULL;
    return l->node->n_out && *l->node->out[0] ? scope_sequence_set(l->scope, l->node->out[0], q)
                                              : RILL_OK;
}

/* Input i as the sequence it must be. */
static rill_status sequence_in(const struct conversion *l, unsigned i, const struct sequence **ret)
{
    *ret = i < l->node->n_in ? scope_sequence(l->scope, l->node->in[i]) : NULL;
    if (!*ret)
        return convert_fail(l, RILL_MALFORMED, "input %u is not a sequence", i);
    return RILL_OK;
}

/* The same, where it is not being grown by a Loop. */
static rill_status whole_in(const struct conversion *l, const struct sequence **ret)
{
    TRY(sequence_in(l, 0, ret));
    if ((*ret)->kind == SEQUENCE_GROWS)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "reads a sequence while its Loop fills it; carry what is read as a "
                            "state of the Loop");
    return RILL_OK;
}

/* The same, where its elements are counted or joined. */
static rill_status counted_in(const struct conversion *l, const struct sequence **ret)
{
    TRY(whole_in(l, ret));
    if ((*ret)->same)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "counts or joins parts of a number that was expanded; expand it to "
                            "what that gives");
    return RILL_OK;
}

/* ---- elements and stacks ---- */

/* One wire with the elements along axis 0. */
uint32_t sequence_stacked(struct emitter *e, const struct sequence *q)
{
    uint32_t axis = emit_list(e, 0);
    if (q->kind == SEQUENCE_STACK)
        return q->stack;
    uint32_t *each = arena_array(e->l->r->arena, uint32_t, q->n + 1);
    if (!each) {
        e->status = no_memory(e->l->r);
        return WIRE_NONE;
    }
    for (uint32_t i = 0; i < q->n; i++)
        each[i] = emit(e, "Unsqueeze", q->element[i], axis);
    return emit_with(e, "Concat", "axis", 0, each, q->n);
}

/* A position as a number of 0 to n - 1; false: it is not known. */
static rill_status position_of(const struct conversion *l, unsigned i, uint32_t n, bool *known,
                               int64_t *ret)
{
    const struct tensor *t = convert_value(l, i);
    *known = t && t->type != DTYPE_DIM && tensor_count(t) == 1;
    if (!*known)
        return RILL_OK;
    const int64_t at = tensor_get_i64(t, t->data, 0);
    *ret = at < 0 ? at + n : at;
    if (*ret < 0 || *ret > n)
        return convert_fail(l, RILL_MALFORMED,
                            "position %" PRId64 " is none of a sequence of %" PRIu32, at, n);
    return RILL_OK;
}

rill_status up_sequence_empty(struct conversion *l)
{
    TRY(convert_inputs_check(l, 0, 0, 0));
    return result_set(l, &(struct sequence) { .kind = SEQUENCE_LIST });
}

rill_status up_sequence_construct(struct conversion *l)
{
    for (unsigned i = 0; i < l->n_in; i++)
        if (!convert_has(l, i))
            return convert_fail(l, RILL_MALFORMED, "input %u is absent or a sequence", i);
    struct sequence q = { .kind = SEQUENCE_LIST, .n = l->n_in, .element = l->in };
    return result_set(l, &q);
}

static rill_status stack_insert(struct conversion *l, const struct sequence *q)
{
    struct emitter e = { l, RILL_OK };
    if (convert_has(l, 2) || q->axis || q->keep)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "inserts into a sequence of unknown length, other than at its end");
    uint32_t both[] = { q->stack, emit(&e, "Unsqueeze", l->in[1], emit_list(&e, 0)) };
    struct sequence more = *q;
    more.stack = emit_with(&e, "Concat", "axis", 0, both, 2);
    TRY(e.status);
    return result_set(l, &more);
}

static bool is_captured(const struct scope *s, const char *name)
{
    for (uint32_t i = 0; i < s->from->n_free; i++)
        if (!strcmp(s->from->free_name[i], name))
            return s->body;
    return false;
}

/* Whether the position is the constant 0, of this graph or of one around it. */
static bool is_in_front(const struct conversion *l)
{
    const struct tensor *t = convert_value(l, 2);
    struct scope *s = l->scope;
    uint32_t w;
    while (!t && is_captured(s, l->node->in[2])) {
        s = s->body->outer;
        if (is_captured(s, l->node->in[2]))
            continue;
        if (scope_wire(s, l->node->in[2], &w) != RILL_OK)
            return false;
        t = s->g->wires[w].fact.value;
    }
    return t && t->type != DTYPE_DIM && tensor_count(t) == 1 && !tensor_get_i64(t, t->data, 0);
}

static rill_status grow(struct conversion *l, const struct sequence *q)
{
    struct sequence grown = *q;
    grown.in_front = convert_has(l, 2);
    if ((grown.in_front && !is_in_front(l)) || q->put != WIRE_NONE)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "a Loop may put one tensor behind the end of a sequence, or in front "
                            "of it, in each iteration; concatenate several before");
    grown.put = l->in[1];
    return result_set(l, &grown);
}

rill_status up_sequence_insert(struct conversion *l)
{
    const struct sequence *q;
    int64_t at;
    bool known;
    TRY(sequence_in(l, 0, &q));
    if (!convert_has(l, 1))
        return convert_fail(l, RILL_MALFORMED, "input 1, the tensor, is absent or a sequence");
    if (q->kind != SEQUENCE_LIST)
        return q->kind == SEQUENCE_GROWS ? grow(l, q) : stack_insert(l, q);
    at = q->n;
    TRY(position_of(l, 2, q->n, &known, &at));
    if (convert_has(l, 2) && !known)
        return convert_fail(l, RILL_UNSUPPORTED, "its position must be a constant");
    uint32_t *each = arena_array(l->r->arena, uint32_t, q->n + 1);
    if (!each)
        return no_memory(l->r);
    for (uint32_t i = 0, from = 0; i <= q->n; i++)
        each[i] = i == (uint32_t) at ? l->in[1] : q->element[from++];
    return result_set(l, &(struct sequence) { SEQUENCE_LIST, .n = q->n + 1, .element = each });
}

rill_status up_sequence_erase(struct conversion *l)
{
    const struct sequence *q;
    bool known = true;
    TRY(whole_in(l, &q));
    int64_t at = (int64_t) q->n - 1;
    TRY(position_of(l, 1, q->n, &known, &at));
    if (q->kind != SEQUENCE_LIST || (convert_has(l, 1) && !known))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "its position and the length of the sequence must be constant");
    if (at < 0 || at >= (int64_t) q->n)
        return convert_fail(l, RILL_MALFORMED, "the sequence has no such element");
    uint32_t *each = arena_array(l->r->arena, uint32_t, q->n);
    if (!each)
        return no_memory(l->r);
    for (uint32_t i = 0, to = 0; i < q->n; i++)
        if (i != (uint32_t) at)
            each[to++] = q->element[i];
    return result_set(l, &(struct sequence) { SEQUENCE_LIST, .n = q->n - 1, .element = each });
}

rill_status up_sequence_at(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const struct sequence *q;
    bool known = false;
    int64_t at = 0;
    TRY(whole_in(l, &q));
    if (!convert_has(l, 1))
        return convert_fail(l, RILL_MALFORMED, "input 1, the position, is absent");
    if (q->kind == SEQUENCE_LIST) {
        TRY(position_of(l, 1, q->n, &known, &at));
        if (at >= (int64_t) q->n)
            return convert_fail(l, RILL_MALFORMED, "the sequence has no such element");
        if (known)
            return emit_output(&e, 0, q->element[at]);
    }
    if (q->same)
        return convert_finish(l, q->stack);
    uint32_t place = q->keep ? emit(&e, "Reshape", l->in[1], emit_list(&e, 1)) : l->in[1];
    uint32_t in[] = { sequence_stacked(&e, q), place };
    const int64_t axis = q->kind == SEQUENCE_STACK ? q->axis : 0;
    return emit_output(&e, 0, emit_with(&e, "Gather", "axis", axis, in, 2));
}

rill_status up_sequence_length(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const struct sequence *q;
    TRY(counted_in(l, &q));
    if (q->kind == SEQUENCE_LIST)
        return emit_output(&e, 0, emit_int(&e, q->n));
    uint32_t of[] = { emit(&e, "Shape", q->stack), emit_int(&e, q->axis) };
    return emit_output(&e, 0, emit_with(&e, "Gather", "axis", 0, of, 2));
}

/* ---- SplitToSequence ---- */

/* Into as many as the constant list at input 1 says. */
static rill_status split_to_list(struct conversion *l, const struct tensor *sizes, int64_t axis)
{
    enum { PARTS_MAX = 1 << 16 };
    const int64_t n = tensor_count(sizes);
    struct attr at = { .name = "axis", .kind = ATTR_INT, .i = axis };
    if (n < 1 || n > PARTS_MAX)
        return convert_fail(l, RILL_LIMIT, "splits into %" PRId64 " parts; 1 to %d are supported",
                            n, PARTS_MAX);
    uint32_t *part = arena_array(l->r->arena, uint32_t, n);
    if (!part)
        return no_memory(l->r);
    for (int64_t i = 0; i < n; i++)
        part[i] = WIRE_NONE;
    uint32_t in[] = { l->in[0], l->in[1] };
    TRY(convert_emit(l, "Split", &at, 1, in, 2, part, (unsigned) n));
    struct sequence q = { SEQUENCE_LIST, .n = (uint32_t) n, .element = part };
    return result_set(l, &q);
}

/* Parts of one size: so many as the axis has, whose size must be known. */
static rill_status split_evenly(struct conversion *l, int64_t size, int64_t axis)
{
    const struct fact *f = &l->scope->g->wires[l->in[0]].fact;
    const int at = f->type && f->rank > 0 ? axis_normalise(axis, f->rank) : -1;
    if (size < 1)
        return convert_fail(l, RILL_MALFORMED, "parts of %" PRId64, size);
    if (at < 0 || !dim_is_const(f->shape[at]))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "splits an axis of a size that the file does not tell into parts of "
                            "%" PRId64 "; parts of 1, or a list of sizes, would do",
                            size);
    const int64_t all = dim_value(f->shape[at]), n = (all + size - 1) / size;
    struct tensor *sizes = tensor_new(l->r->arena, DTYPE_I64, 1, &n);
    if (!sizes)
        return no_memory(l->r);
    for (int64_t i = 0; i < n; i++)
        ((int64_t *) sizes->data)[i] = i < n - 1 ? size : all - (n - 1) * size;
    TRY(convert_const(l, sizes, &l->in[1]));
    return split_to_list(l, sizes, axis);
}

/* Whether the sizes at input 1 are ones, a constant of a computed shape. */
static bool are_ones(const struct conversion *l)
{
    const struct node *n = graph_producer(l->scope->g, l->in[1]);
    const struct tensor *t =
        n && node_is(n, OP_CONSTANT_OF_SHAPE) ? ((const struct value_attr *) n->attr)->value : NULL;
    return t && t->type == DTYPE_I64 && tensor_count(t) == 1 && tensor_get_i64(t, t->data, 0) == 1;
}

/* Whether wire w is a list of one size, of an axis. */
static bool is_one_size(const struct graph *g, uint32_t w)
{
    const struct node *list = graph_producer(g, w),
                      *size = list && node_is(list, OP_UNSQUEEZE) ? graph_producer(g, list->in[0])
                                                                  : NULL;
    const struct tensor *axis =
        size && node_is(size, OP_GATHER) ? g->wires[size->in[1]].fact.value : NULL;
    return axis && axis->rank == 0;
}

/* Of a number that is expanded along one axis, as torch.repeat_interleave counts repeats: a list of
 * that number. */
static uint32_t same_number(struct emitter *e)
{
    const struct graph *g = e->l->scope->g;
    const struct node *n = graph_producer(g, e->l->in[0]);
    const struct tensor *t = n && node_is(n, OP_EXPAND) ? g->wires[n->in[0]].fact.value : NULL;
    const bool is_one = t && t->type == DTYPE_I64 && t->rank <= 1 && tensor_count(t) == 1 &&
        is_one_size(g, n->in[1]);
    return is_one ? emit_list(e, tensor_get_i64(t, t->data, 0)) : WIRE_NONE;
}

rill_status up_split_to_sequence(struct conversion *l)
{
    const int64_t axis = convert_int(l, "axis", 0);
    TRY(convert_inputs_check(l, 1, 2, 0x1));
    const struct tensor *sizes = convert_value(l, 1);
    const bool ones = convert_has(l, 1) && !sizes && are_ones(l);
    if (convert_has(l, 1) && !ones && (!sizes || sizes->type == DTYPE_DIM || sizes->rank > 1))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "its sizes must be constants, or ones in a ConstantOfShape");
    if (sizes && sizes->rank == 1)
        return split_to_list(l, sizes, axis);
    const int64_t size = sizes ? tensor_get_i64(sizes, sizes->data, 0) : 1;
    if (size != 1)
        return split_evenly(l, size, axis);
    struct emitter e = { l, RILL_OK };
    const uint32_t same = ones ? same_number(&e) : WIRE_NONE;
    TRY(e.status);
    return result_set(l,
                      &(struct sequence) { .kind = SEQUENCE_STACK,
                                           .stack = same != WIRE_NONE ? same : l->in[0],
                                           .axis = axis,
                                           .keep =
                                               convert_has(l, 1) || convert_int(l, "keepdims", 1),
                                           .same = same != WIRE_NONE });
}

/* ---- ConcatFromSequence ---- */

/* Axis 0 of x moves to axis `to`, by letters, so that the rank need not be known. */
static uint32_t first_moved(struct emitter *e, uint32_t x, int64_t to)
{
    static const char *const front[] = { NULL, "ab...->ba...", "abc...->bca...",
                                         "abcd...->bcda..." };
    static const char *const back[] = { NULL, "a...->...a", "a...b->...ab", "a...bc->...abc" };
    const int64_t n = to < 0 ? -to : to;
    uint32_t y = WIRE_NONE;
    if (to == 0)
        return x;
    if (e->status == RILL_OK && n > 3)
        e->status = convert_fail(e->l, RILL_UNSUPPORTED, "axis %" PRId64 " is too far in", to);
    if (e->status == RILL_OK)
        e->status = convert_einsum(e->l, to < 0 ? back[n] : front[n], &x, 1, &y);
    return y;
}

/* An axis and that behind it as one; `axis` is that of an element: from the end, the
 * first of both is one further in. */
static uint32_t joined_axes(struct emitter *e, uint32_t x, int64_t axis)
{
    enum { ALL = RANK_MAX + 1 };
    const int first = (int) (axis < 0 ? axis - 1 : axis);
    uint32_t before = emit_sizes(e, x, 0, first), any = emit_list(e, -1);
    if (axis == -1)
        return emit(e, "Reshape", x, emit_joined(e, before, any));
    return emit(e, "Reshape", x, emit_joined(e, before, any, emit_sizes(e, x, first + 2, ALL)));
}

uint32_t stack_joined(struct emitter *e, uint32_t stack, int64_t axis)
{
    return joined_axes(e, first_moved(e, stack, axis >= 0 ? axis : axis - 1), axis);
}

static rill_status concat_stack(struct conversion *l, const struct sequence *q, int64_t axis,
                                bool fresh)
{
    struct emitter e = { l, RILL_OK };
    if (q->keep && !fresh && axis == q->axis)
        return emit_output(&e, 0, q->stack);
    if (q->keep || q->axis)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "joins parts of a tensor along another axis than they were split");
    return emit_output(&e, 0,
                       fresh ? first_moved(&e, q->stack, axis) : stack_joined(&e, q->stack, axis));
}

rill_status up_concat_from_sequence(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    const struct sequence *q;
    const struct attr *a = convert_attr(l, "axis");
    const bool fresh = convert_int(l, "new_axis", 0) != 0;
    TRY(counted_in(l, &q));
    if (!a)
        return convert_fail(l, RILL_MALFORMED, "attribute 'axis' is missing");
    if (q->kind == SEQUENCE_STACK)
        return concat_stack(l, q, a->i, fresh);
    if (!q->n)
        return convert_fail(l, RILL_UNSUPPORTED, "joins a sequence of no elements");
    uint32_t *each = arena_array(l->r->arena, uint32_t, q->n), axis = emit_list(&e, a->i);
    if (!each)
        return no_memory(l->r);
    for (uint32_t i = 0; i < q->n; i++)
        each[i] = fresh ? emit(&e, "Unsqueeze", q->element[i], axis) : q->element[i];
    return emit_output(&e, 0, emit_with(&e, "Concat", "axis", a->i, each, q->n));
}

/* ---- optional values: those that are there, and those that never are ---- */

rill_status up_optional(struct conversion *l)
{
    if (!convert_has(l, 0))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "holds nothing; optional values that are absent "
                            "are not supported");
    return convert_finish(l, l->in[0]);
}

rill_status up_optional_has(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    uint32_t there = emit_int(&e, convert_has(l, 0));
    return emit_output(&e, 0, emit_cast(&e, there, DTYPE_BOOL));
}

/* ---- what nodes have of them ---- */

static bool is_among(const struct op_row *row, rill_status (*const *list)(struct conversion *),
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (row->upgrade == list[i])
            return true;
    return false;
}

static bool is_loop(const struct conversion *l)
{
    return !*l->domain && !strcmp(l->row->name, "Loop");
}

bool sequence_is_made(const struct conversion *l, unsigned out)
{
    static rill_status (*const makes[])(
        struct conversion *) = { up_sequence_empty, up_sequence_construct, up_sequence_insert,
                                 up_sequence_erase, up_split_to_sequence };
    if (is_loop(l))
        return out + 2 < l->node->n_in && scope_sequence(l->scope, l->node->in[out + 2]);
    return is_among(l->row, makes, sizeof makes / sizeof *makes);
}

rill_status sequence_use_check(const struct conversion *l, unsigned in)
{
    static rill_status (*const takes[])(
        struct conversion *) = { up_sequence_insert, up_sequence_erase, up_sequence_at,
                                 up_sequence_length, up_concat_from_sequence };
    const bool fits =
        is_loop(l) ? in >= 2 : !in && is_among(l->row, takes, sizeof takes / sizeof *takes);
    return fits ? RILL_OK
                : convert_fail(l, RILL_UNSUPPORTED,
                               "input %u is a sequence, which only sequence ops and the states of "
                               "a Loop may be",
                               in);
}
