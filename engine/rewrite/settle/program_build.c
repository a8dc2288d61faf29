/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/settle/program_build.h"

#include <string.h>

#define LIST_FIRST 32 /* numbers that a list has room for at first */

bool program_builder_init(struct program_builder *p, struct edit *e, unsigned ports_max)
{
    *p = (struct program_builder) { .e = e,
                                    .ports_max = ports_max,
                                    .value = arena_array(e->g->arena, int64_t, e->n_wires + 1) };
    return p->value != NULL;
}

void program_begin(struct program_builder *p)
{
    for (uint32_t i = 0; i < p->valued.n; i++)
        p->value[p->valued.v[i]] = 0;
    p->valued.n = 0; /* nobody else has it: its room is used again */
    p->steps = p->values = p->products = p->windows = p->pads = p->shapes = (struct int_list) { 0 };
    p->weights = p->clock = WIRE_NONE;
    p->n_loads = p->n_stores = 0;
    p->full = p->no_memory = false;
}

static void ints_add(struct program_builder *p, struct int_list *l, const int64_t *v, uint32_t n)
{
    if (l->n + n > l->cap) {
        uint32_t cap = l->cap ? 2 * l->cap : LIST_FIRST;
        cap = cap < l->n + n ? l->n + n : cap;
        int64_t *more = arena_array(p->e->g->arena, int64_t, cap);
        if (!more) {
            p->no_memory = true;
            return;
        }
        if (l->n)
            memcpy(more, l->v, l->n * sizeof *more);
        l->v = more;
        l->cap = cap;
    }
    memcpy(l->v + l->n, v, n * sizeof *v);
    l->n += n;
}

static struct attr_ints ints_of(const struct int_list *l)
{
    return (struct attr_ints) { l->n, l->v };
}

/* ---- steps and values ---- */

void program_step(struct program_builder *p, int64_t op, int64_t to, int64_t a, int64_t b)
{
    p->full |= p->steps.n == FUSED_STEPS_MAX * FUSED_STEP_INTS;
    if (!p->full)
        ints_add(p, &p->steps, (const int64_t[FUSED_STEP_INTS]) { op, to, a, b }, FUSED_STEP_INTS);
}

void program_steps_copy(struct program_builder *p, struct attr_ints steps)
{
    for (uint32_t i = 0; i + FUSED_STEP_INTS <= steps.n; i += FUSED_STEP_INTS)
        program_step(p, steps.v[i], steps.v[i + 1], steps.v[i + 2], steps.v[i + 3]);
}

struct attr_ints program_steps(const struct program_builder *p)
{
    return ints_of(&p->steps);
}

int64_t program_value_of(const struct program_builder *p, uint32_t wire)
{
    return p->value[wire] - 1;
}

void program_value_share(struct program_builder *p, uint32_t wire, int64_t value)
{
    ints_add(p, &p->valued, (const int64_t[]) { wire }, 1);
    if (!p->no_memory)
        p->value[wire] = value + 1;
}

int64_t program_value_new(struct program_builder *p, uint32_t wire, struct fused_value size)
{
    int64_t v = p->values.n / 2;
    p->full |= v == FUSED_VALUES_MAX;
    if (p->full)
        return 0;
    ints_add(p, &p->values, (const int64_t[]) { size.rows, size.columns }, 2);
    program_value_share(p, wire, v);
    return v;
}

int64_t program_load(struct program_builder *p, uint32_t wire, struct fused_value size)
{
    if (p->value[wire])
        return program_value_of(p, wire);
    p->full |= p->n_loads == p->ports_max;
    if (p->full)
        return 0;
    int64_t v = program_value_new(p, wire, size);
    program_step(p, KERN_LOAD, v, p->n_loads, 0);
    p->load[p->n_loads++] = wire;
    return v;
}

/* ---- windows and products ---- */

unsigned program_n_windows(const struct program_builder *p)
{
    return p->windows.n / FUSED_WINDOW_INTS;
}

unsigned program_window(struct program_builder *p, uint32_t past, uint32_t next,
                        struct fused_window size)
{
    unsigned i = program_n_windows(p);
    p->full |= i == FUSED_BUFFERS_MAX;
    if (p->full)
        return 0;
    p->past[i] = past;
    p->next[i] = next;
    ints_add(p, &p->windows, (const int64_t[]) { size.channels, size.frames, size.fresh },
             FUSED_WINDOW_INTS);
    return i;
}

int64_t program_window_of(const struct program_builder *p, uint32_t wire)
{
    for (unsigned i = 0; i < program_n_windows(p); i++)
        if (p->next[i] == wire)
            return i;
    return -1;
}

void program_product(struct program_builder *p, enum kern_instr_op op, int64_t first,
                     int64_t source, struct fused_product product)
{
    int64_t number = p->products.n / FUSED_PRODUCT_INTS;
    ints_add(p, &p->products,
             (const int64_t[]) { product.parts, product.taps, product.dilation, product.stride },
             FUSED_PRODUCT_INTS);
    program_step(p, op, first, source, number);
}

void program_pad(struct program_builder *p, int64_t to, int64_t a, struct kern_pad pad,
                 uint32_t clock)
{
    int64_t number = p->pads.n / FUSED_PAD_INTS;
    ints_add(p, &p->pads, (const int64_t[]) { pad.pulse, pad.delay, (int64_t) pad.length },
             FUSED_PAD_INTS);
    p->clock = clock;
    program_step(p, KERN_PAD, to, a, number);
}

/* Windows are numbered behind all values, which are counted now. */
static void windows_number(struct program_builder *p)
{
    for (uint32_t i = 0; i < p->steps.n; i += FUSED_STEP_INTS) {
        int64_t *s = p->steps.v + i;
        if (fused_is_product(s) && s[2] < 0)
            s[2] = p->values.n / 2 + program_of_window(s[2]);
    }
}

/* ---- putting it into the graph ---- */

static bool read_outside(const struct edit *e, const uint32_t *node, unsigned n, uint32_t wire)
{
    uint32_t inside = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < e->g->nodes[node[i]].n_in; k++)
            inside += e->g->nodes[node[i]].in[k] == wire;
    return e->consumers[wire] > inside;
}

static void value_store(struct program_builder *p, uint32_t wire)
{
    struct tensor t = { 0 };
    p->full |= p->n_stores == p->ports_max || !fact_to_tensor(&p->e->g->wires[wire].fact, &t);
    if (p->full)
        return;
    ints_add(p, &p->shapes, (const int64_t[]) { t.rank }, 1);
    ints_add(p, &p->shapes, t.dim, (uint32_t) t.rank);
    program_step(p, KERN_STORE, p->n_stores, program_value_of(p, wire), 0);
    p->store[p->n_stores++] = wire;
}

static void values_store(struct program_builder *p, const uint32_t *node, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t wire = p->e->g->nodes[node[i]].out[0];
        if (program_value_of(p, wire) >= 0 && read_outside(p->e, node, n, wire))
            value_store(p, wire);
    }
}

/* A window lies in frames: so do the state's past and next value. */
static void window_facts_set(struct program_builder *p, unsigned i)
{
    struct graph *g = p->e->g;
    const int64_t *w = p->windows.v + i * FUSED_WINDOW_INTS;
    struct fact f = { .type = DTYPE_F32,
                      .rank = 2,
                      .shape = { dim_int(g->dims, w[1]), dim_int(g->dims, fused_lanes(w[0])) } };
    g->wires[p->past[i]].fact = g->wires[p->next[i]].fact = f;
}

static unsigned wires_add(uint32_t *list, unsigned n, const uint32_t *more, unsigned n_more)
{
    memcpy(list + n, more, n_more * sizeof *list);
    return n + n_more;
}

static bool program_insert(struct program_builder *p, uint32_t at)
{
    uint32_t in[FUSED_BUFFERS_MAX], out[FUSED_BUFFERS_MAX];
    unsigned windows = program_n_windows(p), n_in = 0, n_out = 0;
    struct fused_attr *a = arena_new(p->e->g->arena, struct fused_attr);
    if (!a)
        return false;
    *a = (struct fused_attr) { .steps = ints_of(&p->steps),
                               .values = ints_of(&p->values),
                               .products = ints_of(&p->products),
                               .windows = ints_of(&p->windows),
                               .pads = ints_of(&p->pads),
                               .shapes = ints_of(&p->shapes) };
    n_in = wires_add(in, n_in, (const uint32_t[]) { p->weights, p->clock },
                     (unsigned) fused_n_first(a));
    n_in = wires_add(in, n_in, p->load, p->n_loads);
    n_in = wires_add(in, n_in, p->past, windows);
    n_out = wires_add(out, n_out, p->store, p->n_stores);
    n_out = wires_add(out, n_out, p->next, windows);
    for (unsigned i = 0; i < windows; i++)
        window_facts_set(p, i);
    return edit_insert(p->e, at, &op_fused, a, in, n_in, out, n_out);
}

rill_status program_end(struct program_builder *p, const uint32_t *node, unsigned n,
                        rill_error *reterr)
{
    values_store(p, node, n);
    windows_number(p);
    unsigned windows = program_n_windows(p), buffers = 2 + p->n_loads + p->n_stores + 2 * windows;
    if (p->no_memory)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    if (p->full || buffers > FUSED_BUFFERS_MAX || p->n_stores + windows == 0)
        return RILL_OK;
    for (unsigned i = 0; i < n; i++)
        p->e->gone[node[i]] = true;
    return program_insert(p, node[n - 1]) ? RILL_OK : err_set(reterr, RILL_NOMEM, "out of memory");
}
