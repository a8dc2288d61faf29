/* SPDX-License-Identifier: MIT */
#include "engine/graph/control.h"
#include "engine/plan/file/graph.h"
#include "engine/plan/file/graph_form.h"

#include <string.h>

#define DEPTH_MAX 32
#define WIRE_BYTES_MAX ((int64_t) 1 << 36)

struct reader {
    const struct graph_source *s;
    struct record_reader *r;
    struct tensor *consts;
    uint32_t n_consts;
    size_t zeros_taken;
    rill_error *err;
};

/* A graph while it is read: which wires may be read by the next node. */
struct half {
    struct graph *g;
    bool *ready;
};

static rill_status reader_status(const struct reader *d)
{
    if (!d->r->wrong)
        return RILL_OK;
    bool memory = !strcmp(d->r->wrong, "out of memory");
    return err_set(d->err, memory ? RILL_NOMEM : RILL_MALFORMED, "%s", d->r->wrong);
}

static rill_status malformed(const struct reader *d, const char *what)
{
    record_wrong(d->r, what);
    return reader_status(d);
}

/* ---- tensors ---- */

static void shape_read(struct reader *d, struct tensor *t)
{
    int64_t count;
    uint32_t type = record_take_u32(d->r), rank = record_take_u32(d->r);
    if (type <= DTYPE_NONE || type >= DTYPE_DIM || rank > RANK_MAX) {
        record_wrong(d->r, "a tensor has no such type or rank");
        return;
    }
    *t = (struct tensor) { .type = (enum dtype) type, .rank = (int) rank };
    for (uint32_t i = 0; i < rank; i++)
        t->dim[i] = record_take_range(d->r, 0, WIRE_BYTES_MAX, "a tensor is too large");
    if (!tensor_count_checked(t, &count) || count > WIRE_BYTES_MAX / 8)
        record_wrong(d->r, "a tensor is too large");
}

static void truths_check(struct reader *d, const struct tensor *t)
{
    const unsigned char *p = t->data;
    for (int64_t i = 0; t->type == DTYPE_BOOL && i < tensor_count(t); i++)
        if (p[i] > 1)
            record_wrong(d->r, "a truth is neither 0 nor 1");
}

/* A block of data, wholly inside. */
static const unsigned char *block_take(struct record_reader *r, const unsigned char *data,
                                       size_t data_bytes, size_t bytes)
{
    int64_t at = record_take_i64(r);
    if (at < 0 || at % PLANFILE_ALIGN_BYTES || (uint64_t) at > data_bytes ||
        bytes > data_bytes - (size_t) at)
        record_wrong(r, "a block lies outside the file");
    return r->wrong ? NULL : data + at;
}

static const void *mapped_take(struct reader *d, size_t bytes)
{
    struct record_reader ahead = *d->r;
    if (record_take_i64(&ahead) != CONST_PACKED_ONLY)
        return block_take(d->r, d->s->data, d->s->data_bytes, bytes);
    record_take_i64(d->r);
    size_t at = d->zeros_taken;
    if (bytes > d->s->zeros_bytes - at) {
        record_wrong(d->r, "constants are larger than what they were packed to");
        return NULL;
    }
    d->zeros_taken += bytes; /* each its own: constants of one address count as one */
    return (const unsigned char *) d->s->zeros + at;
}

static void const_read(struct reader *d, struct tensor *t)
{
    shape_read(d, t);
    if (d->r->wrong)
        return;
    size_t bytes = tensor_bytes(t);
    if (const_is_mapped(t->type, bytes)) {
        t->data = (void *) (uintptr_t) mapped_take(d, bytes); /* read only */
        return;
    }
    const void *from = record_take_bytes(d->r, bytes);
    t->data = from ? arena_copy(d->r->arena, from, bytes) : NULL;
    if (!t->data)
        record_wrong(d->r, "out of memory");
    else
        truths_check(d, t);
}

static rill_status consts_read(struct reader *d)
{
    d->n_consts = record_take_count(d->r, 8);
    d->consts = record_array(d->r, d->n_consts, sizeof *d->consts);
    for (uint32_t i = 0; i < d->n_consts && !d->r->wrong; i++)
        const_read(d, &d->consts[i]);
    return reader_status(d);
}

static const struct tensor *const_take(struct reader *d)
{
    uint32_t k = record_take_u32(d->r);
    if (k == WIRE_NONE || d->r->wrong)
        return NULL;
    if (k >= d->n_consts) {
        record_wrong(d->r, "there is no such constant");
        return NULL;
    }
    return &d->consts[k];
}

/* ---- attributes ---- */

static void attr_list_read(struct reader *d, struct attr *a)
{
    uint32_t n = record_take_count(d->r, 4);
    if (a->kind == ATTR_INTS) {
        int64_t *v = record_array(d->r, n, sizeof *v);
        for (uint32_t i = 0; i < n && !d->r->wrong; i++)
            v[i] = record_take_i64(d->r);
        a->ints = (struct attr_ints) { n, v };
    } else if (a->kind == ATTR_FLOATS) {
        float *v = record_array(d->r, n, sizeof *v);
        for (uint32_t i = 0; i < n && !d->r->wrong; i++)
            v[i] = record_take_f32(d->r);
        a->floats = (struct attr_floats) { n, v };
    } else {
        const char **v = record_array(d->r, n, sizeof *v);
        for (uint32_t i = 0; i < n && !d->r->wrong; i++)
            v[i] = record_take_text(d->r);
        a->strings = (struct attr_strings) { n, v };
    }
}

/* A choice is written as the text of it. */
static bool attr_kind_is_written(uint32_t kind)
{
    switch ((enum attr_kind) kind) {
    case ATTR_INT:
    case ATTR_FLOAT:
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRINGS:
    case ATTR_TENSOR: return true;
    case ATTR_CHOICE: return false;
    }
    return false;
}

static void attr_read(struct reader *d, struct attr *a)
{
    a->name = record_take_text(d->r);
    uint32_t kind = record_take_u32(d->r);
    if (!attr_kind_is_written(kind)) {
        record_wrong(d->r, "an attribute is of no known kind");
        return;
    }
    a->kind = (enum attr_kind) kind;
    if (a->kind == ATTR_INT)
        a->i = record_take_i64(d->r);
    else if (a->kind == ATTR_FLOAT)
        a->f = record_take_f32(d->r);
    else if (a->kind != ATTR_TENSOR)
        attr_list_read(d, a);
    else if (!(a->tensor = const_take(d)))
        record_wrong(d->r, "an attribute lacks its tensor");
}

static rill_status attrs_read(struct reader *d, const struct op *op, const char *name,
                              const void **ret)
{
    uint32_t n = record_take_count(d->r, 8);
    struct attr *list = record_array(d->r, n, sizeof *list);
    void *attr = record_array(d->r, 1, op->attr_bytes);
    for (uint32_t i = 0; i < n && !d->r->wrong; i++)
        attr_read(d, &list[i]);
    TRY(reader_status(d));
    *ret = op->attr_bytes ? attr : NULL;
    return attrs_parse(op, name, list, n, attr, d->err);
}

/* ---- nodes ---- */

/* Wires of a list: any below n_wires, or WIRE_NONE where some may be absent. */
static uint32_t *list_read(struct reader *d, const struct graph *g, bool absent, unsigned *ret_n)
{
    uint32_t n = record_take_count(d->r, 4), *list = record_array(d->r, n, sizeof *list);
    for (uint32_t i = 0; i < n && !d->r->wrong; i++) {
        list[i] = record_take_u32(d->r);
        if (list[i] >= g->n_wires && !(absent && list[i] == WIRE_NONE))
            record_wrong(d->r, "there is no such wire");
    }
    *ret_n = d->r->wrong ? 0 : n;
    return list;
}

static rill_status inputs_check(struct reader *d, const struct half *h, const uint32_t *in,
                                unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (in[i] != WIRE_NONE && !h->ready[in[i]])
            return malformed(d, "a wire is read before it is written");
    return RILL_OK;
}

/* Marks wires as written by the node of that number; WIRE_NONE: from outside. */
static rill_status wires_claim(struct reader *d, struct half *h, const uint32_t *list, unsigned n,
                               uint32_t node)
{
    for (unsigned i = 0; i < n; i++) {
        if (list[i] == WIRE_NONE)
            continue;
        if (h->ready[list[i]])
            return malformed(d, "a wire is written twice");
        h->ready[list[i]] = true;
        h->g->wires[list[i]].node = node;
    }
    return RILL_OK;
}

static const struct fact *fact_at(const struct graph *g, uint32_t w)
{
    return w == WIRE_NONE ? NULL : &g->wires[w].fact;
}

/* What the op makes of its inputs is what the file says of its outputs. */
static rill_status node_check_facts(struct reader *d, const struct graph *g, const struct node *n)
{
    const struct fact **in = record_array(d->r, n->n_in, sizeof *in);
    struct fact *out = record_array(d->r, n->n_out, sizeof *out);
    TRY(reader_status(d));
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = fact_at(g, n->in[i]);
    TRY(op_infer(n, in, out, d->s->dims, d->r->arena, d->err));
    TRY(dims_status(d->s->dims, d->err));
    for (unsigned i = 0; i < n->n_out; i++) {
        const struct fact *f = fact_at(g, n->out[i]);
        char made[160], said[160];
        if (!f || fact_same(f, &out[i]))
            continue;
        fact_print(&out[i], made, sizeof made);
        fact_print(f, said, sizeof said);
        return op_fail(d->err, RILL_MALFORMED, n, "output %u is said to be %s, its inputs make %s",
                       i, said, made);
    }
    return RILL_OK;
}

static bool is_one(const struct fact *f, enum dtype type)
{
    struct tensor t;
    return f && f->type == type && fact_to_tensor(f, &t) && tensor_count(&t) == 1;
}

static bool all_there(const uint32_t *wires, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (wires[i] == WIRE_NONE)
            return false;
    return true;
}

static bool scan_is_sound(const struct node *n)
{
    const struct scan_attr *at = n->attr;
    int64_t n_in = n->n_in, n_out = n->n_out;
    return n->n_body == 1 && at->n_states >= 0 && at->n_scanned >= 0 && at->n_states <= n_in &&
        at->n_scanned <= n_in - at->n_states && at->n_states <= n_out &&
        all_there(n->in, n->n_in) && n->body[0]->n_inputs == n->n_in &&
        n->body[0]->n_outputs == n->n_out;
}

/* It only counts, and what it stacks is as long as its count. */
static bool loop_is_sound(const struct graph *g, const struct node *n)
{
    const struct loop_attr *at = n->attr;
    int64_t states = at->n_states;
    if (n->n_body != 1 || n->n_in < 2 || states < 0 || states > (int64_t) n->n_in - 2 ||
        states > (int64_t) n->n_out || !all_there(n->in + 2, n->n_in - 2) ||
        n->body[0]->n_inputs != n->n_in || n->body[0]->n_outputs != n->n_out + 1)
        return false;
    const struct fact *trips = fact_at(g, n->in[0]), *goes = fact_at(g, n->in[1]);
    const struct graph *b = n->body[0];
    if (!is_one(trips, DTYPE_I64) || !trips->value ||
        (goes && (!is_one(goes, DTYPE_BOOL) || !goes->value)) ||
        !is_one(&b->wires[b->outputs[0]].fact, DTYPE_BOOL))
        return false;
    int64_t count = tensor_get_i64(trips->value, trips->value->data, 0);
    for (unsigned i = (unsigned) states; i < n->n_out; i++) {
        const struct fact *f = fact_at(g, n->out[i]);
        if (f && (f->rank < 1 || !dim_is(f->shape[0], count)))
            return false;
    }
    return true;
}

static bool if_is_sound(const struct graph *g, const struct node *n)
{
    if (n->n_body != 2 || n->n_in < 1 || !all_there(n->in, n->n_in) ||
        !is_one(fact_at(g, n->in[0]), DTYPE_BOOL))
        return false;
    for (int b = 0; b < 2; b++)
        if (n->body[b]->n_inputs != n->n_in - 1 || n->body[b]->n_outputs != n->n_out)
            return false;
    return true;
}

/* Numbers of inputs, outputs and states; the sizes on both sides of a body are compared by who
 * plans the graph. */
static rill_status control_check(struct reader *d, const struct graph *g, const struct node *n)
{
    bool sound = n->op == &op_scan ? scan_is_sound(n)
        : n->op == &op_loop        ? loop_is_sound(g, n)
                                   : if_is_sound(g, n);
    return sound
        ? RILL_OK
        : op_fail(d->err, RILL_MALFORMED, n, "its body does not fit its inputs and outputs");
}

static rill_status graph_read(struct reader *d, struct graph *g, int depth);

static rill_status bodies_read(struct reader *d, struct node *n, int depth)
{
    n->n_body = record_take_count(d->r, 4);
    if (n->n_body > 2 || (n->n_body && !(n->op->flags & OP_CONTROL)))
        return malformed(d, "a node has bodies that its op has not");
    n->body = record_array(d->r, n->n_body, sizeof *n->body);
    TRY(reader_status(d));
    for (unsigned b = 0; b < n->n_body; b++) {
        if (!(n->body[b] = record_array(d->r, 1, sizeof **n->body)))
            return reader_status(d);
        TRY(graph_read(d, n->body[b], depth + 1));
        if (n->body[b]->n_states)
            return malformed(d, "a body has states of its own");
    }
    return RILL_OK;
}

static bool any_there(const uint32_t *wires, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (wires[i] != WIRE_NONE)
            return true;
    return false;
}

static rill_status node_read(struct reader *d, struct half *h, uint32_t number, int depth)
{
    struct node *n = &h->g->nodes[number];
    const char *op = record_take_text(d->r);
    n->name = record_take_text(d->r);
    TRY(reader_status(d));
    if (!(n->op = d->s->op_find(op)))
        return err_set(d->err, RILL_MALFORMED, "node '%.80s': there is no op '%.80s'", n->name, op);
    TRY(attrs_read(d, n->op, n->name, &n->attr));
    n->in = list_read(d, h->g, true, &n->n_in);
    n->out = list_read(d, h->g, true, &n->n_out);
    TRY(reader_status(d));
    TRY(inputs_check(d, h, n->in, n->n_in));
    bool made = !op_find(n->op->name); /* only passes make it, and they want all it gives */
    if (!any_there(n->out, n->n_out) || (made && !all_there(n->out, n->n_out)))
        return malformed(d, "a node writes nothing");
    TRY(op_check_arity_made(n, d->err));
    TRY(bodies_read(d, n, depth));
    if (n->op->flags & OP_CONTROL)
        TRY(control_check(d, h->g, n));
    else
        TRY(node_check_facts(d, h->g, n));
    return wires_claim(d, h, n->out, n->n_out, number);
}

/* ---- graphs ---- */

static void wire_read(struct reader *d, struct wire *w)
{
    struct tensor t;
    *w = (struct wire) { .name = record_take_text(d->r),
                         .node = WIRE_NONE,
                         .fact = { .rank = 0, .type = DTYPE_F32 } };
    const struct tensor *value = const_take(d);
    if (!value && !d->r->wrong)
        shape_read(d, &t);
    if (!d->r->wrong)
        fact_of_tensor(&w->fact, d->s->dims, value ? value : &t);
    if (!value)
        w->fact.value = NULL;
}

static rill_status wires_read(struct reader *d, struct half *h)
{
    struct graph *g = h->g;
    g->n_wires = g->cap_wires = record_take_count(d->r, 8);
    g->wires = record_array(d->r, g->n_wires, sizeof *g->wires);
    h->ready = record_array(d->r, g->n_wires, sizeof *h->ready);
    TRY(reader_status(d));
    for (uint32_t i = 0; i < g->n_wires && !d->r->wrong; i++) {
        wire_read(d, &g->wires[i]);
        h->ready[i] = g->wires[i].fact.value != NULL;
    }
    return reader_status(d);
}

static rill_status state_read(struct reader *d, struct half *h, struct state *s)
{
    s->name = record_take_text(d->r);
    s->in = record_take_u32(d->r);
    s->out = record_take_u32(d->r);
    s->init = const_take(d);
    TRY(reader_status(d));
    if (s->in >= h->g->n_wires || s->out >= h->g->n_wires)
        return malformed(d, "a state has no wire");
    struct fact f;
    const struct fact *in = &h->g->wires[s->in].fact, *out = &h->g->wires[s->out].fact;
    if (s->init)
        fact_of_tensor(&f, d->s->dims, s->init);
    if (!fact_same(in, out) || (s->init && !fact_same(in, &f)))
        return malformed(d, "a state changes its shape");
    return wires_claim(d, h, &s->in, 1, WIRE_NONE);
}

static rill_status states_read(struct reader *d, struct half *h)
{
    struct graph *g = h->g;
    g->n_states = g->cap_states = record_take_count(d->r, 16);
    g->states = record_array(d->r, g->n_states, sizeof *g->states);
    TRY(reader_status(d));
    for (uint32_t i = 0; i < g->n_states; i++)
        TRY(state_read(d, h, &g->states[i]));
    return RILL_OK;
}

static rill_status nodes_read(struct reader *d, struct half *h, int depth)
{
    struct graph *g = h->g;
    g->n_nodes = g->cap_nodes = record_take_count(d->r, 24);
    g->nodes = record_array(d->r, g->n_nodes, sizeof *g->nodes);
    TRY(reader_status(d));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(node_read(d, h, i, depth));
    return RILL_OK;
}

static rill_status graph_read(struct reader *d, struct graph *g, int depth)
{
    struct half h = { .g = g };
    if (depth > DEPTH_MAX)
        return malformed(d, "bodies are nested too deep");
    graph_init(g, d->r->arena, d->s->dims, record_take_text(d->r));
    TRY(wires_read(d, &h));
    g->inputs = list_read(d, g, false, &g->n_inputs);
    g->cap_inputs = g->n_inputs;
    TRY(reader_status(d));
    TRY(wires_claim(d, &h, g->inputs, g->n_inputs, WIRE_NONE));
    TRY(states_read(d, &h));
    TRY(nodes_read(d, &h, depth));
    g->outputs = list_read(d, g, false, &g->n_outputs);
    g->cap_outputs = g->n_outputs;
    TRY(reader_status(d));
    TRY(inputs_check(d, &h, g->outputs, g->n_outputs));
    for (uint32_t i = 0; i < g->n_states; i++)
        TRY(inputs_check(d, &h, &g->states[i].out, 1));
    return RILL_OK;
}

rill_status planfile_graph_read(struct graph *ret, const struct graph_source *s, rill_error *reterr)
{
    struct reader d = { .s = s, .r = s->from, .err = reterr };
    struct graph g = { 0 };
    TRY(consts_read(&d));
    TRY(graph_read(&d, &g, 0));
    *ret = g;
    return RILL_OK;
}

rill_status planfile_packs_read(struct record_reader *from, const unsigned char *data,
                                size_t data_bytes, struct plan_opts *ret, rill_error *reterr)
{
    struct reader d = { .r = from, .err = reterr };
    ret->packs_have_outliers = record_take_u32(from) != 0;
    uint32_t n = record_take_count(from, 16);
    struct pack *list = record_array(from, n, sizeof *list);
    for (uint32_t i = 0; i < n && !from->wrong; i++) {
        list[i].bytes = (size_t) record_take_range(from, 0, (int64_t) data_bytes,
                                                   "a block lies outside the file");
        list[i].data = block_take(from, data, data_bytes, list[i].bytes);
    }
    ret->packs = list;
    ret->n_packs = n;
    return reader_status(&d);
}
