/* SPDX-License-Identifier: MIT */
/* rill_onnx_scan: a network (ONNX or .tflite) for one frame, run over frames.
 *
 *     p = rill_onnx_scan(frames, file = "vad.onnx", input = ["input"], output = ["output"],
 *                        state = [("state", "stateN")], const = [("sr", 16000)],
 *                        shape = [("state", [2, 1, 128])]);
 *
 * Each tensor of x is cut along axis 0, and the slices go to the inputs named by `input`, in order;
 * a slice takes the declared shape of its input when the number of elements agrees. Sizes that the
 * file leaves open are filled in: for a state all by 1; for another input the last open size takes
 * what is left of the slice and the others are 1; `shape` overrides. A state is (input, output) or
 * (input, output, first value), zero where none is given; a * in both names stands for any text:
 * all inputs that fit and have no place of their own. Results lose their axes of length 1 and are
 * stacked along axis 0.
 *
 * rill_onnx: a network for a whole sequence, put into the graph as it stands. Tensors keep
 * their shapes on both sides; sizes that the file leaves open are those of what comes in. */
#include "engine/base/bytes.h"
#include "engine/base/checked.h"
#include "engine/graph/control.h"
#include "engine/typing/half.h"
#include "models/nnef/import.h"

#include <stdio.h>
#include <string.h>

/* ---- shapes of inputs ---- */

static const struct nnef_expr *shape_given(const struct net *net, const char *name)
{
    for (unsigned i = 0; i < net->n_shapes; i++)
        if (!strcmp(net->shapes[i].in, name))
            return net->shapes[i].e;
    return NULL;
}

static rill_status shape_eval(const struct net *net, const struct nnef_expr *e, struct fact *f)
{
    struct builder *b = net->c->b;
    struct val v;
    TRY(eval_expr(b, net->c->s, e, &v));
    bool fits = v.kind == VAL_LIST && v.n <= RANK_MAX;
    for (uint32_t i = 0; fits && i < v.n; i++)
        fits = v.list[i].kind == VAL_INT && v.list[i].i >= 0;
    if (!fits)
        return nnef_fail(b, net->c->s, e->pos, RILL_MALFORMED,
                         "expected a shape: a list of at most %d integers", RANK_MAX);
    f->rank = (int) v.n;
    for (uint32_t i = 0; i < v.n; i++)
        f->shape[i] = dim_int(b->dims, v.list[i].i);
    return RILL_OK;
}

/* Elements of the known sizes; the last size that is open in *ret_open, -1 if none is. */
static bool known_count(const struct fact *f, int64_t *ret, int *ret_open)
{
    *ret = 1;
    *ret_open = -1;
    for (int i = 0; i < f->rank; i++) {
        if (!dim_is_const(f->shape[i]))
            *ret_open = i;
        else if (!int_mul(*ret, dim_value(f->shape[i]), ret))
            return false;
    }
    return true;
}

/* Fills the open sizes of f; count: elements of the slice, 0 for a state. */
static void shape_close(const struct net *net, struct fact *f, int64_t count)
{
    struct dims *ds = net->c->b->dims;
    int64_t known;
    int open;
    if (!known_count(f, &known, &open))
        return;
    for (int i = 0; i < f->rank; i++) {
        bool takes = i == open && count && known && count % known == 0;
        if (!dim_is_const(f->shape[i]))
            f->shape[i] = dim_int(ds, takes ? count / known : 1);
    }
}

static rill_status input_fact(const struct net *net, const char *name, const char *pair,
                              int64_t count, struct fact **ret)
{
    const struct graph *g = &net->m.g;
    uint32_t i;
    TRY(net_input_index(net, name, pair, &i));
    struct typed_input *in = &net->facts[i];
    if (in->name)
        return call_fail(net->c, RILL_MALFORMED, "%s: input '%.60s' is given twice", net->file,
                         name);
    in->name = g->wires[g->inputs[i]].name;
    in->fact = half_as_f32(&g->wires[g->inputs[i]].fact);
    in->fact.number = DTYPE_NONE; /* what comes in is rounded */
    in->fact.value = NULL;
    const struct nnef_expr *e = shape_given(net, name);
    if (e)
        TRY(shape_eval(net, e, &in->fact));
    if (in->fact.rank < 0 || !in->fact.type)
        return call_fail(net->c, RILL_UNSUPPORTED,
                         "%s: input '%.60s' has no declared shape: give shape = [('%.60s', [...])]",
                         net->file, name, name);
    shape_close(net, &in->fact, count);
    *ret = &in->fact;
    return RILL_OK;
}

static rill_status count_of_slice(const struct net *net, const struct fact *f, int64_t *ret)
{
    struct fact slice = { .type = f->type, .rank = f->rank - 1 };
    memcpy(slice.shape, f->shape + 1, (size_t) slice.rank * sizeof *slice.shape);
    int open;
    if (known_count(&slice, ret, &open) && open < 0)
        return RILL_OK;
    char text[160];
    fact_print(f, text, sizeof text);
    return call_fail(net->c, RILL_UNSUPPORTED, "%s: the frames of %s have no fixed size", net->file,
                     text);
}

static rill_status slices_read(struct net *net)
{
    for (unsigned i = 0; i < net->n_x; i++) {
        const struct fact *f = wire_fact(net->c->s, net->x[i]);
        struct fact *in;
        int64_t count, want;
        int open;
        char a[160], z[160];
        fact_print(f, a, sizeof a);
        if (f->rank < 1 || (net->length && f->shape[0] != net->length))
            return call_fail(
                net->c, RILL_MALFORMED,
                "%s: tensor %u to scan is %s: expected frames along axis 0, as many as the "
                "others have",
                net->file, i, a);
        net->length = f->shape[0];
        TRY(count_of_slice(net, f, &count));
        TRY(input_fact(net, net->in[i], NULL, count, &in));
        fact_print(in, z, sizeof z);
        if (!known_count(in, &want, &open) || want != count || in->type != f->type)
            return call_fail(net->c, RILL_MALFORMED,
                             "%s: the frames of %s do not fit input '%.60s', which is %s",
                             net->file, a, net->in[i], z);
    }
    return RILL_OK;
}

static rill_status consts_read(struct net *net)
{
    struct builder *b = net->c->b;
    for (unsigned i = 0; i < net->n_consts; i++) {
        const struct net_const *k = &net->consts[i];
        struct fact *f;
        struct tensor shape;
        TRY(input_fact(net, k->in, NULL, 0, &f));
        if (k->v.kind == VAL_WIRE && wire_fact(net->c->s, k->v.wire)->value) {
            fact_of_tensor(f, b->dims, wire_fact(net->c->s, k->v.wire)->value);
            continue;
        }
        if (k->v.kind != VAL_INT && k->v.kind != VAL_REAL && k->v.kind != VAL_BOOL)
            return nnef_fail(b, net->c->s, k->pos, RILL_MALFORMED,
                             "const '%.60s' is %s, expected a number or a constant", k->in,
                             val_kind_name(k->v));
        struct tensor *t = NULL;
        if (!fact_to_tensor(f, &shape))
            return nnef_fail(b, net->c->s, k->pos, RILL_LIMIT, "const '%.60s' has no fixed shape",
                             k->in);
        TRY(literal_new(net->c, &shape, &t));
        for (int64_t j = 0; j < tensor_count(t); j++)
            tensor_set_f64(t, t->data, j, k->v.kind == VAL_REAL ? k->v.real : (double) k->v.i);
        f->value = t;
    }
    return RILL_OK;
}

/* First values that nobody gave are zeros. */
static rill_status state_init(struct net *net, struct net_state *st, const struct fact *f)
{
    struct builder *b = net->c->b;
    struct tensor shape;
    char a[160], z[160];
    fact_print(f, a, sizeof a);
    if (st->init != WIRE_NONE) {
        fact_print(wire_fact(net->c->s, st->init), z, sizeof z);
        return fact_same(f, wire_fact(net->c->s, st->init))
            ? RILL_OK
            : nnef_fail(b, net->c->s, st->pos, RILL_MALFORMED,
                        "state ('%.50s', '%.50s'): '%.50s' is %s but its first value is %s", st->in,
                        st->out, st->in, a, z);
    }
    struct tensor *t = NULL;
    if (!fact_to_tensor(f, &shape))
        return nnef_fail(b, net->c->s, st->pos, RILL_LIMIT, "state '%.60s' is %s: no size to keep",
                         st->in, a);
    TRY(literal_new(net->c, &shape, &t));
    const char *name = arena_printf(b->arena, "const:%s:%u", st->in, net->c->s->g->n_wires);
    st->init = graph_add_const(net->c->s->g, name, t);
    return st->init == WIRE_NONE ? nnef_no_memory(b) : RILL_OK;
}

static rill_status inputs_complete(const struct net *net, const char *places)
{
    const struct graph *g = &net->m.g;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (!net->facts[i].name)
            return call_fail(net->c, RILL_MALFORMED,
                             "%s: input '%.60s' is left over: name it in %s", net->file,
                             g->wires[g->inputs[i]].name, places);
    return RILL_OK;
}

static rill_status inputs_read(struct net *net)
{
    const struct graph *g = &net->m.g;
    if (!(net->facts = arena_array(net->c->b->arena, struct typed_input, g->n_inputs + 1u)))
        return nnef_no_memory(net->c->b);
    TRY(slices_read(net));
    TRY(consts_read(net));
    for (unsigned i = 0; i < net->n_states; i++) {
        struct fact *f;
        uint32_t at;
        bool zeros = net->state[i].init == WIRE_NONE;
        const char *pair = net_pair_print(net, &net->state[i]);
        TRY(input_fact(net, net->state[i].in, pair, 0, &f));
        TRY(state_init(net, &net->state[i], f));
        TRY(net_input_index(net, net->state[i].in, pair, &at));
        if (zeros) /* then it holds nothing but what the network itself has rounded */
            f->number = half_as_f32(&g->wires[g->inputs[at]].fact).number;
        if (net_index_of(g, g->outputs, g->n_outputs, net->state[i].out) == g->n_outputs)
            return net_no_such(net, "output", net->state[i].out,
                               net_pair_print(net, &net->state[i]));
    }
    return inputs_complete(net, "input, state or const");
}

static rill_status net_type(struct net *net)
{
    struct builder *b = net->c->b;
    struct typed_opts opts = { .inputs = net->facts, .n_inputs = net->m.g.n_inputs };
    rill_status s = tgraph_from_mgraph(&net->t, &net->m, &opts, b->err);
    if (s != RILL_OK)
        return err_prefix(b->err, s, "%s:%u:%u: %s", net->c->s->file, net->c->e->pos.line,
                          net->c->e->pos.column, net->file);
    return RILL_OK;
}

/* What the file itself declares to be left from run to run goes from frame to frame. */
static rill_status states_own_add(struct net *net)
{
    struct builder *b = net->c->b;
    const struct graph *t = &net->t.g;
    struct net_state *all =
        arena_array(b->arena, struct net_state, net->n_states + t->n_states + 1u);
    if (!all)
        return nnef_no_memory(b);
    memcpy(all, net->state, net->n_states * sizeof *all);
    net->state = all;
    for (uint32_t i = 0; i < t->n_states; i++) {
        const struct state *st = &t->states[i];
        struct net_state *own = &net->state[net->n_states++];
        *own = (struct net_state) { .in = st->name,
                                    .out = st->name,
                                    .init = WIRE_NONE,
                                    .pos = net->c->e->pos,
                                    .own_in = st->in,
                                    .own_out = st->out };
        if (!st->init) {
            TRY(state_init(net, own, &t->wires[st->in].fact));
            continue;
        }
        const char *name = arena_printf(b->arena, "const:%s:%u", own->in, net->c->s->g->n_wires);
        own->init = graph_add_const(net->c->s->g, name, st->init);
        if (own->init == WIRE_NONE)
            return nnef_no_memory(b);
    }
    return RILL_OK;
}

/* ---- the body ---- */

static rill_status reshape_add(const struct net *net, struct graph *g, uint32_t from,
                               const struct fact *to, uint32_t wire)
{
    struct builder *b = net->c->b;
    const struct op *op = op_find("Reshape");
    int64_t dim[RANK_MAX];
    uint32_t in[2] = { from, 0 };
    void *attr = arena_alloc(b->arena, op->attr_bytes + 1);
    for (int i = 0; i < to->rank; i++)
        dim[i] = dim_value(to->shape[i]);
    TRY(const_i64(b, g, dim, (unsigned) to->rank, &in[1]));
    if (!attr)
        return nnef_no_memory(b);
    TRY(attrs_parse(op, g->wires[wire].name, NULL, 0, attr, b->err));
    return graph_add_node(g, op, g->wires[wire].name, attr, in, 2, &wire, 1) ? RILL_OK
                                                                             : nnef_no_memory(b);
}

/* Wire of the typed graph that stands for an input; WIRE_NONE if nothing reads it. */
static uint32_t typed_input_wire(const struct net *net, const char *name)
{
    const struct graph *t = &net->t.g;
    uint32_t i = net_index_of(t, t->inputs, t->n_inputs, name);
    return i < t->n_inputs ? t->inputs[i] : WIRE_NONE;
}

static rill_status body_inputs(const struct net *net, struct graph *g)
{
    struct builder *b = net->c->b;
    for (unsigned i = 0; i < net->n_states + net->n_x; i++) {
        bool state = i < net->n_states;
        const char *name = state ? net->state[i].in : net->in[i - net->n_states];
        bool own = state && net->state[i].own_in != WIRE_NONE;
        uint32_t inner = own ? net->state[i].own_in : typed_input_wire(net, name), w;
        struct fact f =
            *wire_fact(net->c->s, state ? net->state[i].init : net->x[i - net->n_states]);
        f.value = NULL;
        if (!state) {
            f.rank--;
            memmove(f.shape, f.shape + 1, (size_t) f.rank * sizeof *f.shape);
        }
        bool same = inner != WIRE_NONE && fact_same(&f, &g->wires[inner].fact);
        if (same && inner != WIRE_NONE) {
            w = graph_add_input(g, name, &f); /* only to have a place in the list */
            if (w == WIRE_NONE)
                return nnef_no_memory(b);
            g->inputs[g->n_inputs - 1] = inner;
            continue;
        }
        w = graph_add_input(g, arena_printf(b->arena, "%s:slice", name), &f);
        if (w == WIRE_NONE)
            return nnef_no_memory(b);
        if (inner != WIRE_NONE)
            TRY(reshape_add(net, g, w, &net->t.g.wires[inner].fact, inner));
    }
    return RILL_OK;
}

static rill_status nodes_copy(const struct net *net, struct graph *g)
{
    for (uint32_t i = 0; i < net->t.g.n_nodes; i++) {
        const struct node *n = &net->t.g.nodes[i];
        if (!graph_copy_node(g, n, n->in, n->n_in, n->out))
            return nnef_no_memory(net->c->b);
    }
    return RILL_OK;
}

static rill_status result_squeezed(const struct net *net, struct graph *g, const char *name,
                                   uint32_t w, uint32_t *ret)
{
    const struct fact *f = &g->wires[w].fact;
    struct fact r = { .type = f->type };
    *ret = w;
    for (int i = 0; i < f->rank; i++) {
        if (!dim_is_const(f->shape[i]))
            return call_fail(net->c, RILL_UNSUPPORTED, "%s: output '%.60s' has no fixed shape",
                             net->file, name);
        if (!dim_is(f->shape[i], 1))
            r.shape[r.rank++] = f->shape[i];
    }
    if (r.rank == f->rank)
        return RILL_OK;
    *ret = graph_add_wire(g, arena_printf(net->c->b->arena, "%s:result", name), &r);
    return *ret == WIRE_NONE ? nnef_no_memory(net->c->b) : reshape_add(net, g, w, &r, *ret);
}

static rill_status body_outputs(const struct net *net, struct graph *g)
{
    const struct graph *m = &net->m.g;
    for (unsigned i = 0; i < net->n_states + net->n_out; i++) {
        const struct net_state *st = i < net->n_states ? &net->state[i] : NULL;
        const char *name = st ? st->out : net->out[i - net->n_states];
        bool own = st && st->own_out != WIRE_NONE;
        uint32_t w =
            own ? st->own_out : net->t.g.outputs[net_index_of(m, m->outputs, m->n_outputs, name)];
        if (!st)
            TRY(result_squeezed(net, g, name, w, &w));
        const struct fact *f = &g->wires[w].fact,
                          *from = st ? wire_fact(net->c->s, st->init) : NULL;
        if (from && !fact_same(f, from)) {
            char a[120], z[120];
            fact_print(from, a, sizeof a);
            fact_print(f, z, sizeof z);
            return nnef_fail(
                net->c->b, net->c->s, st->pos, RILL_MALFORMED,
                "%s: state ('%.50s', '%.50s'): '%.50s' is %s but '%.50s' is %s; both must "
                "agree",
                net->file, st->in, st->out, st->in, a, st->out, z);
        }
        if (!graph_add_output(g, w))
            return nnef_no_memory(net->c->b);
    }
    return RILL_OK;
}

/* The typed network with slices reshaped in front of it and results behind it. Wires keep their
 * numbers. */
static rill_status body_build(const struct net *net, struct graph *g)
{
    struct builder *b = net->c->b;
    const struct graph *t = &net->t.g;
    graph_init(g, b->arena, b->dims, net->file);
    g->wires = arena_copy(b->arena, t->wires, t->n_wires * sizeof *t->wires);
    if (!g->wires)
        return nnef_no_memory(b);
    g->n_wires = g->cap_wires = t->n_wires;
    TRY(body_inputs(net, g));
    TRY(nodes_copy(net, g));
    TRY(body_outputs(net, g));
    return graph_check(g, b->err);
}

rill_status build_onnx_scan(const struct call *c, struct val *ret)
{
    struct builder *b = c->b;
    struct net *net = arena_new(b->arena, struct net);
    struct graph *body = arena_new(b->arena, struct graph);
    unsigned n = 0;
    if (!net || !body)
        return nnef_no_memory(b);
    net->c = c;
    TRY(arg_wires(c, "x", &net->x, &net->n_x));
    if (net->n_x == 0 || net->n_x > SCAN_PARTS_MAX)
        return call_fail(c, RILL_MALFORMED, "a scan needs 1 to %d tensors, not %u", SCAN_PARTS_MAX,
                         net->n_x);
    TRY(net_states_read(net));
    TRY(net_file_read(net));
    TRY(net_states_expand(net));
    TRY(inputs_read(net));
    TRY(net_type(net));
    TRY(states_own_add(net));
    TRY(body_build(net, body));
    uint32_t *in = arena_array(b->arena, uint32_t, net->n_states + net->n_x);
    if (!in)
        return nnef_no_memory(b);
    for (unsigned i = 0; i < net->n_states; i++)
        in[n++] = net->state[i].init;
    for (unsigned i = 0; i < net->n_x; i++)
        in[n++] = net->x[i];
    return build_scan_node(c, body, net->n_states, net->n_x, net->length, in, n, ret);
}

/* ---- the whole sequence ---- */

/* f fits where rank and type agree, and every size that the file fixes. */
static bool whole_fits(const struct fact *f, const struct fact *declared)
{
    bool fits = declared->rank < 0 || f->rank == declared->rank;
    fits = fits && (declared->type == DTYPE_NONE || half_as_f32(declared).type == f->type);
    for (int i = 0; fits && i < declared->rank; i++)
        fits = !dim_is_const(declared->shape[i]) || declared->shape[i] == f->shape[i];
    return fits;
}

static rill_status whole_inputs(struct net *net)
{
    const struct graph *g = &net->m.g;
    if (!(net->facts = arena_array(net->c->b->arena, struct typed_input, g->n_inputs + 1u)))
        return nnef_no_memory(net->c->b);
    for (unsigned i = 0; i < net->n_x; i++) {
        const struct fact *f = wire_fact(net->c->s, net->x[i]);
        uint32_t at;
        char a[160], z[160];
        TRY(net_input_index(net, net->in[i], NULL, &at));
        const struct fact *declared = &g->wires[g->inputs[at]].fact;
        fact_print(f, a, sizeof a);
        fact_print(declared, z, sizeof z);
        if (net->facts[at].name)
            return call_fail(net->c, RILL_MALFORMED, "%s: input '%.60s' is given twice", net->file,
                             net->in[i]);
        if (!whole_fits(f, declared))
            return call_fail(
                net->c, RILL_MALFORMED,
                "%s: %s does not fit input '%.60s', which is %s: reshape, transpose or "
                "unsqueeze it in front",
                net->file, a, net->in[i], z);
        net->facts[at] = (struct typed_input) { .name = g->wires[g->inputs[at]].name, .fact = *f };
        net->facts[at].fact.value = NULL;
    }
    TRY(consts_read(net));
    return inputs_complete(net, "input or const");
}

/* Where the network's wires stand in the graph under construction: inputs and constants; WIRE_NONE
 * for the others. */
static rill_status whole_sources(const struct net *net, uint32_t *map)
{
    struct builder *b = net->c->b;
    const struct graph *t = &net->t.g;
    for (uint32_t w = 0; w < t->n_wires; w++) {
        map[w] = WIRE_NONE;
        if (!t->wires[w].fact.value || t->wires[w].node != WIRE_NONE || !graph_wire_is_read(t, w))
            continue;
        const char *name = arena_printf(b->arena, "%s:%s", net->file, t->wires[w].name);
        map[w] = graph_add_const(net->c->s->g, name, t->wires[w].fact.value);
        if (map[w] == WIRE_NONE)
            return nnef_no_memory(b);
    }
    for (unsigned i = 0; i < net->n_x; i++) {
        uint32_t inner = typed_input_wire(net, net->in[i]);
        if (inner != WIRE_NONE)
            map[inner] = net->x[i];
    }
    return RILL_OK;
}

static rill_status whole_node(const struct net *net, const struct node *n, uint32_t *map)
{
    struct builder *b = net->c->b;
    const struct graph *t = &net->t.g;
    uint32_t *in = arena_array(b->arena, uint32_t, n->n_in + 1u),
             *out = arena_array(b->arena, uint32_t, n->n_out + 1u);
    if (!in || !out)
        return nnef_no_memory(b);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : map[n->in[i]];
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i] = WIRE_NONE;
        if (n->out[i] == WIRE_NONE)
            continue;
        const struct wire *w = &t->wires[n->out[i]];
        const char *name = arena_printf(b->arena, "%s:%s", net->file, w->name);
        out[i] = map[n->out[i]] = name ? graph_add_wire(net->c->s->g, name, &w->fact) : WIRE_NONE;
        if (out[i] == WIRE_NONE)
            return nnef_no_memory(b);
    }
    return graph_copy_node(net->c->s->g, n, in, n->n_in, out) ? RILL_OK : nnef_no_memory(b);
}

static rill_status whole_results(const struct net *net, const uint32_t *map, struct val *ret)
{
    const struct graph *m = &net->m.g;
    struct val *list = arena_array(net->c->b->arena, struct val, net->n_out + 1u);
    if (!list)
        return nnef_no_memory(net->c->b);
    for (unsigned i = 0; i < net->n_out; i++)
        list[i] = val_of_wire(
            map[net->t.g.outputs[net_index_of(m, m->outputs, m->n_outputs, net->out[i])]]);
    *ret = (struct val) { .kind = VAL_LIST, .n = net->n_out, .list = list };
    if (net->n_out == 1)
        *ret = list[0];
    return RILL_OK;
}

rill_status build_onnx(const struct call *c, struct val *ret)
{
    struct builder *b = c->b;
    struct net *net = arena_new(b->arena, struct net);
    if (!net)
        return nnef_no_memory(b);
    net->c = c;
    TRY(arg_wires(c, "x", &net->x, &net->n_x));
    TRY(net_file_read(net));
    TRY(whole_inputs(net));
    TRY(net_type(net));
    if (net->t.g.n_states)
        return call_fail(
            net->c, RILL_UNSUPPORTED,
            "%s: it keeps '%.60s' from frame to frame: rill_onnx_scan runs it over frames",
            net->file, net->t.g.states[0].name);
    uint32_t *map = arena_array(b->arena, uint32_t, net->t.g.n_wires + 1u);
    if (!map)
        return nnef_no_memory(b);
    TRY(whole_sources(net, map));
    for (uint32_t i = 0; i < net->t.g.n_nodes; i++)
        TRY(whole_node(net, &net->t.g.nodes[i], map));
    return whole_results(net, map, ret);
}
