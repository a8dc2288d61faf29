/* SPDX-License-Identifier: MIT */
/* pb.h - writes protobuf bytes, right or wrong, for tests. Everything is held in fixed memory. */
#ifndef TESTS_MODELS_PB_H
#define TESTS_MODELS_PB_H
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pb {
    uint8_t *data;
    size_t n, cap;
};

static inline void pb_put(struct pb *p, const void *data, size_t n)
{
    if (p->n + n > p->cap) {
        p->cap = (p->n + n) * 2;
        p->data = realloc(p->data, p->cap);
        assert(p->data);
    }
    if (n)
        memcpy(p->data + p->n, data, n);
    p->n += n;
}

static inline void pb_varint(struct pb *p, uint64_t v)
{
    uint8_t b[10];
    size_t n = 0;
    do {
        b[n] = (uint8_t) ((v & 127) | (v > 127 ? 128 : 0));
        v >>= 7;
        n++;
    } while (v);
    pb_put(p, b, n);
}

static inline void pb_key(struct pb *p, unsigned field, unsigned wire)
{
    pb_varint(p, field << 3 | wire);
}

static inline void pb_int(struct pb *p, unsigned field, int64_t v)
{
    pb_key(p, field, 0);
    pb_varint(p, (uint64_t) v);
}

static inline void pb_float(struct pb *p, unsigned field, float v)
{
    pb_key(p, field, 5);
    pb_put(p, &v, 4);
}

static inline void pb_bytes(struct pb *p, unsigned field, const void *data, size_t n)
{
    pb_key(p, field, 2);
    pb_varint(p, n);
    pb_put(p, data, n);
}

static inline void pb_text(struct pb *p, unsigned field, const char *s)
{
    pb_bytes(p, field, s, strlen(s));
}

/* Takes sub's memory. */
static inline void pb_message(struct pb *p, unsigned field, struct pb sub)
{
    pb_bytes(p, field, sub.data, sub.n);
    free(sub.data);
}

/* ---- messages of the format ---- */

/* Field numbers. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_META = 14 };
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_CONST = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_SPARSE = 15
};
enum {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTR = 5,
    NODE_DOMAIN = 7
};
enum {
    ATTR_NAME_ = 1,
    ATTR_F_ = 2,
    ATTR_I_ = 3,
    ATTR_S_ = 4,
    ATTR_T_ = 5,
    ATTR_G_ = 6,
    ATTR_INTS_ = 8,
    ATTR_STRINGS_ = 9,
    ATTR_TYPE_ = 20,
    ATTR_REF_ = 21
};
enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_SEGMENT = 3,
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_STRINGS = 6,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14
};

static inline struct pb make_opset(const char *domain, int64_t version)
{
    struct pb p = { 0 };
    pb_text(&p, 1, domain);
    pb_int(&p, 2, version);
    return p;
}

static inline struct pb make_entry(const char *key, const char *value)
{
    struct pb p = { 0 };
    pb_text(&p, 1, key);
    pb_text(&p, 2, value);
    return p;
}

#define DIMS(...) ((const int64_t[]) { __VA_ARGS__, -1 })

/* dims: -1 ends the list; -2 is the symbol "S", -3 a dimension that says nothing. */
static inline struct pb make_value(const char *name, int64_t type, const int64_t *dims)
{
    struct pb value = { 0 }, t = { 0 }, tensor = { 0 }, shape = { 0 };
    for (; *dims != -1; dims++) {
        struct pb d = { 0 };
        if (*dims >= 0)
            pb_int(&d, 1, *dims);
        else if (*dims == -2)
            pb_text(&d, 2, "S");
        pb_message(&shape, 1, d);
    }
    pb_int(&tensor, 1, type);
    pb_message(&tensor, 2, shape);
    pb_message(&t, 1, tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, t);
    return value;
}

/* Head of a tensor: name, type, dims (-1 ends). Data is the caller's. */
static inline struct pb make_tensor(const char *name, int64_t type, const int64_t *dims)
{
    struct pb p = { 0 };
    for (; *dims != -1; dims++)
        pb_int(&p, TENSOR_DIMS, *dims);
    pb_int(&p, TENSOR_TYPE, type);
    pb_text(&p, TENSOR_NAME, name);
    return p;
}

static inline struct pb make_raw(const char *name, int64_t type, const int64_t *dims,
                                 const void *data, size_t n)
{
    struct pb p = make_tensor(name, type, dims);
    pb_bytes(&p, TENSOR_RAW, data, n);
    return p;
}

/* in, out: names separated by blanks; "-" is an absent one. */
static inline void put_names(struct pb *p, unsigned field, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        pb_bytes(p, field, names, n == 1 && *names == '-' ? 0 : n);
        names += n + strspn(names + n, " ");
    }
}

static inline struct pb make_node(const char *op, const char *in, const char *out)
{
    struct pb p = { 0 };
    put_names(&p, NODE_INPUT, in);
    put_names(&p, NODE_OUTPUT, out);
    pb_text(&p, NODE_OP, op);
    return p;
}

static inline struct pb make_int_attr(const char *name, int64_t v)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    pb_int(&p, ATTR_I_, v);
    pb_int(&p, ATTR_TYPE_, 2);
    return p;
}

static inline struct pb make_ints_attr(const char *name, const int64_t *v, size_t n)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    for (size_t i = 0; i < n; i++)
        pb_int(&p, ATTR_INTS_, v[i]);
    pb_int(&p, ATTR_TYPE_, 7);
    return p;
}

static inline struct pb make_text_attr(const char *name, const char *v)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    pb_text(&p, ATTR_S_, v);
    pb_int(&p, ATTR_TYPE_, 3);
    return p;
}

/* v: separated by blanks */
static inline struct pb make_texts_attr(const char *name, const char *v)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    put_names(&p, ATTR_STRINGS_, v);
    pb_int(&p, ATTR_TYPE_, 8);
    return p;
}

static inline struct pb make_graph_attr(const char *name, struct pb graph)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    pb_message(&p, ATTR_G_, graph);
    pb_int(&p, ATTR_TYPE_, 5);
    return p;
}

static inline struct pb make_tensor_attr(const char *name, struct pb tensor)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    pb_message(&p, ATTR_T_, tensor);
    pb_int(&p, ATTR_TYPE_, 4);
    return p;
}

/* A graph from x to y, both of these sizes; nodes are for the caller to add. */
static inline struct pb make_graph(const int64_t *dims)
{
    struct pb g = { 0 };
    pb_text(&g, GRAPH_NAME, "g");
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, dims));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, dims));
    return g;
}

static inline struct pb make_model(struct pb graph, int64_t opset)
{
    struct pb p = { 0 };
    pb_int(&p, MODEL_IR, 8);
    pb_message(&p, MODEL_OPSET, make_opset("", opset));
    pb_message(&p, MODEL_GRAPH, graph);
    return p;
}
#endif
