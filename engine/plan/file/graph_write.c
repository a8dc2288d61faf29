/* SPDX-License-Identifier: MIT */
#include "engine/plan/file/graph.h"
#include "engine/plan/file/graph_form.h"

#include <stdlib.h>
#include <string.h>

struct writer {
    struct record *data, consts, nodes;
    const struct tensor **list; /* the constants so far */
    uint32_t n, cap;
    const struct plan *plan;
    rill_error *err;
};

size_t data_add(struct record *data, const void *bytes, size_t n)
{
    static const unsigned char zeros[PLANFILE_ALIGN_BYTES];
    record_bytes(data, zeros,
                 (PLANFILE_ALIGN_BYTES - data->n % PLANFILE_ALIGN_BYTES) % PLANFILE_ALIGN_BYTES);
    size_t at = data->n;
    record_bytes(data, bytes, n);
    return at;
}

static rill_status no_memory(const struct writer *w)
{
    return err_set(w->err, RILL_NOMEM, "out of memory while writing a plan");
}

/* ---- constants ---- */

static bool is_packed_only(const struct plan *p, const void *data)
{
    bool packed = false;
    for (uint32_t i = 0; i < p->n_constants; i++)
        if (p->constants[i].data == data) {
            if (p->constants[i].is_read)
                return false;
            packed |= p->constants[i].is_packed;
        }
    return packed;
}

static void const_write(struct writer *w, const struct tensor *t)
{
    size_t bytes = tensor_bytes(t);
    bool mapped = const_is_mapped(t->type, bytes);
    record_u32(&w->consts, (uint32_t) t->type);
    record_u32(&w->consts, (uint32_t) t->rank);
    for (int i = 0; i < t->rank; i++)
        record_i64(&w->consts, t->dim[i]);
    if (mapped && is_packed_only(w->plan, t->data))
        record_i64(&w->consts, CONST_PACKED_ONLY);
    else if (mapped)
        record_i64(&w->consts, (int64_t) data_add(w->data, t->data, bytes));
    else
        record_bytes(&w->consts, t->data, bytes);
}

/* Without elements it does not matter where they would lie. */
static bool const_same(const struct tensor *a, const struct tensor *b)
{
    bool there = b->data && (a->data == b->data || (a->data && !tensor_bytes(a)));
    return a == b ||
        (there && a->type == b->type && a->rank == b->rank &&
         !memcmp(a->dim, b->dim, (size_t) b->rank * sizeof *b->dim));
}

static rill_status const_number(struct writer *w, const struct tensor *t, uint32_t *ret)
{
    if (t->type == DTYPE_DIM || t->type == DTYPE_NONE)
        return err_set(w->err, RILL_UNSUPPORTED,
                       "a constant of sizes that are not known cannot be compiled");
    for (*ret = 0; *ret < w->n; ++*ret)
        if (const_same(w->list[*ret], t))
            return RILL_OK;
    if (w->n == w->cap) {
        uint32_t cap = w->cap * 2 + 64;
        const struct tensor **more = realloc(w->list, cap * sizeof *more);
        if (!more)
            return no_memory(w);
        w->list = more;
        w->cap = cap;
    }
    w->list[w->n++] = t;
    const_write(w, t);
    return RILL_OK;
}

/* ---- attributes ---- */

static rill_status attr_write(struct writer *w, const struct attr_spec *s, const void *attr)
{
    const void *p = (const unsigned char *) attr + s->offset;
    struct record *to = &w->nodes;
    record_text(to, s->name);
    record_u32(to, (uint32_t) (s->kind == ATTR_CHOICE ? ATTR_STRINGS : s->kind));
    if (s->kind == ATTR_INT) {
        record_i64(to, *(const int64_t *) p);
    } else if (s->kind == ATTR_FLOAT) {
        record_f32(to, *(const float *) p);
    } else if (s->kind == ATTR_CHOICE) {
        record_u32(to, 1);
        record_text(to, s->choices[*(const int *) p]);
    } else if (s->kind == ATTR_INTS) {
        const struct attr_ints *v = p;
        record_u32(to, v->n);
        for (uint32_t i = 0; i < v->n; i++)
            record_i64(to, v->v[i]);
    } else if (s->kind == ATTR_FLOATS) {
        const struct attr_floats *v = p;
        record_u32(to, v->n);
        for (uint32_t i = 0; i < v->n; i++)
            record_f32(to, v->v[i]);
    } else if (s->kind == ATTR_STRINGS) {
        const struct attr_strings *v = p;
        record_u32(to, v->n);
        for (uint32_t i = 0; i < v->n; i++)
            record_text(to, v->v[i]);
    } else {
        uint32_t k;
        TRY(const_number(w, *(const struct tensor *const *) p, &k));
        record_u32(to, k);
    }
    return RILL_OK;
}

/* A tensor that is absent is not written: so it stays absent. */
static bool attr_is_absent(const struct attr_spec *s, const void *attr)
{
    return s->kind == ATTR_TENSOR &&
        !*(const struct tensor *const *) (const void *) ((const unsigned char *) attr + s->offset);
}

static rill_status attrs_write(struct writer *w, const struct node *n)
{
    uint32_t count = 0;
    for (const struct attr_spec *s = n->op->attrs; s && s->name && n->attr; s++)
        count += !attr_is_absent(s, n->attr);
    record_u32(&w->nodes, count);
    for (const struct attr_spec *s = n->op->attrs; s && s->name && n->attr; s++)
        if (!attr_is_absent(s, n->attr))
            TRY(attr_write(w, s, n->attr));
    return RILL_OK;
}

/* ---- graphs ---- */

static void number_used(uint32_t *numbers, const uint32_t *wires, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (wires[i] != WIRE_NONE)
            numbers[wires[i]] = 1;
}

/* numbers[wire] is its number in the file, counted in order; WIRE_NONE of what nothing mentions. */
static uint32_t wires_number(const struct graph *g, uint32_t *numbers)
{
    uint32_t next = 0;
    number_used(numbers, g->inputs, g->n_inputs);
    number_used(numbers, g->outputs, g->n_outputs);
    for (uint32_t i = 0; i < g->n_states; i++)
        number_used(numbers, (uint32_t[]) { g->states[i].in, g->states[i].out }, 2);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        number_used(numbers, g->nodes[i].in, g->nodes[i].n_in);
        number_used(numbers, g->nodes[i].out, g->nodes[i].n_out);
    }
    for (uint32_t w = 0; w < g->n_wires; w++)
        numbers[w] = numbers[w] ? next++ : WIRE_NONE;
    return next;
}

static rill_status wire_write(struct writer *w, const struct graph *g, const struct wire *wire)
{
    const struct fact *f = &wire->fact;
    struct tensor t;
    if (!fact_to_tensor(f, &t) || t.type == DTYPE_DIM) {
        char text[200];
        fact_print(f, text, sizeof text);
        return err_set(w->err, RILL_UNSUPPORTED,
                       "graph '%.80s': '%.80s' is %s; only graphs of known sizes can be compiled",
                       g->name ? g->name : "", wire->name, text);
    }
    uint32_t k = WIRE_NONE;
    if (f->value)
        TRY(const_number(w, f->value, &k));
    record_text(&w->nodes, wire->name);
    record_u32(&w->nodes, k);
    if (f->value)
        return RILL_OK;
    record_u32(&w->nodes, (uint32_t) t.type);
    record_u32(&w->nodes, (uint32_t) t.rank);
    for (int i = 0; i < t.rank; i++)
        record_i64(&w->nodes, t.dim[i]);
    return RILL_OK;
}

static void list_write(struct record *to, const uint32_t *numbers, const uint32_t *wires,
                       unsigned n)
{
    record_u32(to, n);
    for (unsigned i = 0; i < n; i++)
        record_u32(to, wires[i] == WIRE_NONE ? WIRE_NONE : numbers[wires[i]]);
}

static rill_status graph_write(struct writer *w, const struct graph *g);

static rill_status node_write(struct writer *w, const struct node *n, const uint32_t *numbers)
{
    record_text(&w->nodes, n->op->name);
    record_text(&w->nodes, n->name);
    TRY(attrs_write(w, n));
    list_write(&w->nodes, numbers, n->in, n->n_in);
    list_write(&w->nodes, numbers, n->out, n->n_out);
    record_u32(&w->nodes, n->n_body);
    for (unsigned b = 0; b < n->n_body; b++)
        TRY(graph_write(w, n->body[b]));
    return RILL_OK;
}

static rill_status graph_parts_write(struct writer *w, const struct graph *g, uint32_t *numbers)
{
    record_text(&w->nodes, g->name);
    record_u32(&w->nodes, wires_number(g, numbers));
    for (uint32_t i = 0; i < g->n_wires; i++)
        if (numbers[i] != WIRE_NONE)
            TRY(wire_write(w, g, &g->wires[i]));
    list_write(&w->nodes, numbers, g->inputs, g->n_inputs);
    record_u32(&w->nodes, g->n_states);
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct state *s = &g->states[i];
        uint32_t k = WIRE_NONE;
        if (s->init)
            TRY(const_number(w, s->init, &k));
        record_text(&w->nodes, s->name);
        record_u32(&w->nodes, numbers[s->in]);
        record_u32(&w->nodes, numbers[s->out]);
        record_u32(&w->nodes, k);
    }
    record_u32(&w->nodes, g->n_nodes);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(node_write(w, &g->nodes[i], numbers));
    list_write(&w->nodes, numbers, g->outputs, g->n_outputs);
    return RILL_OK;
}

static rill_status graph_write(struct writer *w, const struct graph *g)
{
    uint32_t *numbers = calloc(g->n_wires + 1, sizeof *numbers);
    rill_status s = numbers ? graph_parts_write(w, g, numbers) : no_memory(w);
    free(numbers);
    return s;
}

rill_status planfile_graph_write(struct record *to, struct record *data, const struct graph *g,
                                 const struct plan *p, rill_error *reterr)
{
    struct writer w = { .data = data, .plan = p, .err = reterr };
    rill_status s = graph_write(&w, g);
    record_u32(to, w.n);
    record_bytes(to, w.consts.data, w.consts.n);
    record_bytes(to, w.nodes.data, w.nodes.n);
    if (s == RILL_OK && (w.consts.failed || w.nodes.failed || to->failed || data->failed))
        s = no_memory(&w);
    record_drop(&w.consts);
    record_drop(&w.nodes);
    free(w.list);
    return s;
}

void planfile_packs_write(struct record *to, struct record *data, const struct packs *p)
{
    record_u32(to, p->has_outliers);
    record_u32(to, p->n);
    for (uint32_t i = 0; i < p->n; i++) {
        record_i64(to, (int64_t) p->list[i].bytes);
        record_i64(to, (int64_t) data_add(data, p->list[i].data, p->list[i].bytes));
    }
}
