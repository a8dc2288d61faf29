/* SPDX-License-Identifier: MIT */
/* build.h - a graph to be built, in an arena of its own; a repeatable source of numbers. */
#ifndef TESTS_ENGINE_BUILD_H
#define TESTS_ENGINE_BUILD_H
#include "engine/graph/graph.h"
#include "tests/attr.h"
#include "tests/check.h"

#include <string.h>

struct build {
    struct arena arena;
    struct dims *dims;
    struct graph g;
    rill_error err;
};

static inline void build_init(struct build *b)
{
    memset(b, 0, sizeof *b);
    b->dims = dims_new();
    graph_init(&b->g, &b->arena, b->dims, "test");
}

static inline void build_drop(struct build *b)
{
    arena_drop(&b->arena);
    dims_free(b->dims);
}

static uint32_t seed;

/* 0 .. n-1 */
static inline uint32_t rnd(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* A wire's fact: n floats. */
static inline struct fact vec(struct build *b, int64_t n)
{
    return (struct fact) { .type = DTYPE_F32, .rank = 1, .shape = { dim_int(b->dims, n) } };
}

/* Constants: a vector of integers, and a number of that type. */
static inline uint32_t build_i64s(struct build *b, int64_t n, const int64_t *v)
{
    struct tensor *t = tensor_new(&b->arena, DTYPE_I64, 1, &n);
    memcpy(t->data, v, (size_t) n * sizeof *v);
    return graph_add_const(&b->g, "ints", t);
}

static inline uint32_t build_number(struct build *b, enum dtype type, double v)
{
    struct tensor *t = tensor_new(&b->arena, type, 0, NULL);
    tensor_set_f64(t, t->data, 0, v);
    return graph_add_const(&b->g, "number", t);
}

/* Adds a node; facts come from the op. Returns its first output; WIRE_NONE: the op refuses. */
static inline uint32_t build_nodes(struct build *b, const char *name, const struct attr *attrs,
                                   unsigned n_attrs, const uint32_t *in, unsigned n_in,
                                   uint32_t *ret_out, unsigned n_out)
{
    const struct op *op = op_find(name);
    void *attr = arena_alloc(&b->arena, op->attr_bytes + 1);
    const struct fact *facts[6];
    struct fact out[3] = { 0 };
    struct attr own[6];
    for (unsigned i = 0; i < n_attrs; i++) { /* attributes borrow their lists */
        own[i] = attrs[i];
        if (own[i].ints.n)
            own[i].ints.v =
                arena_copy(&b->arena, own[i].ints.v, own[i].ints.n * sizeof *own[i].ints.v);
    }
    if (op->attrs && attrs_parse(op, name, own, n_attrs, attr, &b->err) != RILL_OK)
        return WIRE_NONE;
    for (unsigned i = 0; i < n_in; i++)
        facts[i] = in[i] == WIRE_NONE ? NULL : &b->g.wires[in[i]].fact;
    struct node n = { .name = name,
                      .op = op,
                      .attr = attr,
                      .in = (uint32_t *) (uintptr_t) in,
                      .n_in = n_in,
                      .n_out = n_out };
    if (op_infer(&n, facts, out, b->dims, &b->arena, &b->err) != RILL_OK)
        return WIRE_NONE;
    for (unsigned o = 0; o < n_out; o++) {
        out[o].value = NULL;
        ret_out[o] = graph_add_wire(&b->g, name, &out[o]);
    }
    graph_add_node(&b->g, op, name, attr, in, n_in, ret_out, n_out);
    return ret_out[0];
}

static inline uint32_t build_node(struct build *b, const char *name, const struct attr *attrs,
                                  unsigned n_attrs, const uint32_t *in, unsigned n_in)
{
    uint32_t w;
    return build_nodes(b, name, attrs, n_attrs, in, n_in, &w, 1);
}
#endif
