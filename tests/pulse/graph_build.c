/* SPDX-License-Identifier: MIT */
#include "tests/pulse/graph_build.h"
#include "engine/graph/control.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t gb_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    uint32_t x = *state ^ (*state >> 15);
    return (x * 2654435761u) >> 8;
}

float gb_random_f32(uint32_t *state)
{
    return (float) (gb_random(state) & 0xffff) / 65536.0f - 0.5f;
}

void gb_init(struct gb *b, struct graph *g, struct arena *a, struct dims *ds,
             const struct dim *time, uint32_t seed)
{
    *b = (struct gb) { .arena = a, .dims = ds, .g = g, .time = time, .seed = seed };
    graph_init(g, a, ds, "test");
}

static bool good(const struct gb *b)
{
    return b->err.status == RILL_OK;
}

const char *gb_printf(struct gb *b, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return arena_string(b->arena, text);
}

static const char *next_name(struct gb *b, const char *op)
{
    return gb_printf(b, "%s_%u", op, b->n_names++);
}

/* ---- inputs, outputs and constants ---- */

static const struct dim *dim_of(const struct gb *b, int64_t d)
{
    return d >= 0 ? dim_int(b->dims, d) : dim_mul_int(b->dims, b->time, -d);
}

uint32_t gb_input(struct gb *b, const char *name, int rank, ...)
{
    struct fact f = { .type = DTYPE_F32, .rank = rank };
    va_list ap;
    va_start(ap, rank);
    for (int i = 0; i < rank; i++)
        f.shape[i] = dim_of(b, va_arg(ap, int));
    va_end(ap);
    return good(b) ? graph_add_input(b->g, name, &f) : WIRE_NONE;
}

void gb_output(struct gb *b, uint32_t wire)
{
    if (good(b))
        graph_add_output(b->g, wire);
}

uint32_t gb_const(struct gb *b, enum dtype type, int rank, const int64_t *dim, const void *values)
{
    struct tensor *t = tensor_new(b->arena, type, rank, dim);
    if (!good(b) || !t)
        return WIRE_NONE;
    if (values)
        memcpy(t->data, values, tensor_bytes(t));
    return graph_add_const(b->g, next_name(b, "const"), t);
}

static struct tensor *tensor_of(struct gb *b, int rank, va_list ap)
{
    int64_t dim[RANK_MAX];
    for (int i = 0; i < rank; i++)
        dim[i] = va_arg(ap, int);
    struct tensor *t = tensor_new(b->arena, DTYPE_F32, rank, dim);
    if (!t && good(b))
        err_set(&b->err, RILL_INVALID, "a constant of the recipe cannot be made");
    return t;
}

uint32_t gb_weights(struct gb *b, int rank, ...)
{
    va_list ap;
    va_start(ap, rank);
    struct tensor *t = tensor_of(b, rank, ap);
    va_end(ap);
    for (int64_t i = 0; t && i < tensor_count(t); i++)
        ((float *) t->data)[i] = gb_random_f32(&b->seed);
    return good(b) ? graph_add_const(b->g, next_name(b, "weights"), t) : WIRE_NONE;
}

uint32_t gb_full(struct gb *b, float value, int rank, ...)
{
    va_list ap;
    va_start(ap, rank);
    struct tensor *t = tensor_of(b, rank, ap);
    va_end(ap);
    for (int64_t i = 0; t && i < tensor_count(t); i++)
        ((float *) t->data)[i] = value;
    return good(b) ? graph_add_const(b->g, next_name(b, "full"), t) : WIRE_NONE;
}

uint32_t gb_scalar(struct gb *b, float value)
{
    return gb_const(b, DTYPE_F32, 0, NULL, &value);
}

uint32_t gb_floats(struct gb *b, unsigned n, const float *v)
{
    return gb_const(b, DTYPE_F32, 1, (int64_t[]) { n }, v);
}

uint32_t gb_ints_of(struct gb *b, unsigned n, const int64_t *v)
{
    return gb_const(b, DTYPE_I64, 1, (int64_t[]) { n }, v);
}

uint32_t gb_int(struct gb *b, int64_t v)
{
    return gb_const(b, DTYPE_I64, 0, NULL, &v);
}

uint32_t gb_shape(struct gb *b, int rank, const struct dim *const *shape)
{
    int64_t v[RANK_MAX];
    bool known = true;
    for (int i = 0; i < rank; i++) {
        known &= dim_is_const(shape[i]);
        v[i] = known ? dim_value(shape[i]) : 0;
    }
    return known ? gb_ints_of(b, (unsigned) rank, v)
                 : gb_const(b, DTYPE_DIM, 1, (int64_t[]) { rank }, shape);
}

/* ---- attributes out of text ---- */

#define ATTRS_MAX 16
#define LIST_MAX 32

static void attr_numbers(struct gb *b, struct attr *a, const char *text)
{
    int64_t *ints = arena_array(b->arena, int64_t, LIST_MAX);
    float *floats = arena_array(b->arena, float, LIST_MAX);
    uint32_t n = 0;
    bool real = strchr(text, '.') != NULL, list = strchr(text, ',') != NULL;
    for (char *end; *text && n < LIST_MAX; text = *end == ',' ? end + 1 : end, n++) {
        ints[n] = strtoll(text, &end, 10);
        floats[n] = real ? strtof(text, &end) : 0;
    }
    a->kind = real ? (list ? ATTR_FLOATS : ATTR_FLOAT) : list ? ATTR_INTS : ATTR_INT;
    a->i = ints[0];
    a->f = floats[0];
    a->ints = (struct attr_ints) { n, ints };
    a->floats = (struct attr_floats) { n, floats };
}

static void attr_words(struct gb *b, struct attr *a, char *text)
{
    const char **words = arena_array(b->arena, const char *, LIST_MAX);
    char *save = NULL;
    a->kind = ATTR_STRINGS;
    a->strings.v = words;
    for (char *w = strtok_r(text, ",", &save); w && a->strings.n < LIST_MAX;
         w = strtok_r(NULL, ",", &save))
        words[a->strings.n++] = w;
}

static unsigned attrs_read(struct gb *b, const char *text, struct attr *list)
{
    char *copy = arena_string(b->arena, text), *save = NULL;
    unsigned n = 0;
    for (char *w = strtok_r(copy, " ", &save); w && n < ATTRS_MAX; w = strtok_r(NULL, " ", &save)) {
        char *value = strchr(w, '=');
        *value++ = '\0';
        list[n].name = w;
        if (*value == '\'') {
            list[n].kind = ATTR_STRINGS;
            list[n].strings = (struct attr_strings) {
                1, arena_copy(b->arena, &(const char *) { value + 1 }, sizeof(char *))
            };
            n++;
        } else if (*value == '-' || (*value >= '0' && *value <= '9'))
            attr_numbers(b, &list[n++], value);
        else
            attr_words(b, &list[n++], value);
    }
    return n;
}

/* ---- nodes ---- */

struct node *gb_node(struct gb *b, const char *op, const char *attrs, const uint32_t *in,
                     unsigned n_in, unsigned n_out)
{
    const struct op *o = op_find(op);
    struct attr *list = arena_array(b->arena, struct attr, ATTRS_MAX);
    uint32_t out[8];
    if (!good(b))
        return NULL;
    if (!o) {
        err_set(&b->err, RILL_UNSUPPORTED, "no op '%s'", op);
        return NULL;
    }
    const char *name = next_name(b, op);
    void *attr = arena_alloc(b->arena, o->attr_bytes + 1);
    unsigned n = attrs_read(b, attrs, list);
    if (attrs_parse(o, name, list, n, attr, &b->err) != RILL_OK)
        return NULL;
    for (unsigned i = 0; i < n_out; i++)
        out[i] = graph_add_wire(b->g, n_out == 1 ? name : gb_printf(b, "%s.%u", name, i), NULL);
    return graph_add_node(b->g, o, name, attr, in, n_in, out, n_out);
}

uint32_t gb_op(struct gb *b, const char *op, const char *attrs, const uint32_t *in, unsigned n_in)
{
    struct node *n = gb_node(b, op, attrs, in, n_in, 1);
    return n ? n->out[0] : WIRE_NONE;
}

/* ---- bodies ---- */

void gb_body(struct gb *body, struct gb *outer, const char *name)
{
    struct graph *g = arena_new(outer->arena, struct graph);
    *body = *outer;
    body->g = g;
    graph_init(g, outer->arena, outer->dims, name);
}

uint32_t gb_body_input(struct gb *body, const char *name)
{
    return good(body) ? graph_add_input(body->g, name, NULL) : WIRE_NONE;
}

static struct attr_ints axes_of(struct gb *b, const int64_t *v, int n)
{
    return (struct attr_ints) { v ? (uint32_t) n : 0,
                                v ? arena_copy(b->arena, v, (size_t) n * sizeof *v) : NULL };
}

struct node *gb_scan(struct gb *b, struct gb *body, const struct gb_scan *s, const uint32_t *in,
                     unsigned n_in)
{
    struct scan_attr *at = arena_new(b->arena, struct scan_attr);
    uint32_t out[8];
    if (!good(body))
        b->err = body->err;
    b->seed = body->seed;
    b->n_names = body->n_names;
    if (!good(b))
        return NULL;
    *at = (struct scan_attr) { .n_states = s->states,
                               .n_scanned = s->scans,
                               .in_axes = axes_of(b, s->in_axes, s->scans),
                               .in_reverse = axes_of(b, s->in_reverse, s->scans),
                               .out_axes = axes_of(b, s->out_axes, s->outs),
                               .out_reverse = axes_of(b, s->out_reverse, s->outs) };
    const char *name = next_name(b, "Scan");
    for (int i = 0; i < s->states + s->outs; i++)
        out[i] = graph_add_wire(b->g, gb_printf(b, "%s.%d", name, i), NULL);
    struct node *n =
        graph_add_node(b->g, &op_scan, name, at, in, n_in, out, (unsigned) (s->states + s->outs));
    n->body = arena_array(b->arena, struct graph *, 1);
    n->body[0] = body->g;
    n->n_body = 1;
    return n;
}

uint32_t gb_slice(struct gb *b, uint32_t x, int axis, int64_t from, int64_t to, int64_t step)
{
    return GB(b, "Slice", "", x, gb_ints(b, from), gb_ints(b, to), gb_ints(b, axis),
              gb_ints(b, step));
}

uint32_t gb_pad(struct gb *b, uint32_t x, int rank, int axis, const char *mode, int64_t before,
                int64_t after)
{
    int64_t pads[2 * RANK_MAX] = { 0 };
    pads[axis] = before;
    pads[rank + axis] = after;
    return GB(b, "Pad", gb_printf(b, "mode=%s", mode), x, gb_ints_of(b, 2 * (unsigned) rank, pads));
}

uint32_t gb_transpose(struct gb *b, uint32_t x, const char *perm)
{
    return GB(b, "Transpose", gb_printf(b, "perm=%s", perm), x);
}

void gb_split(struct gb *b, uint32_t x, unsigned n, int64_t size, uint32_t *ret)
{
    const int64_t sizes[4] = { size, size, size, size };
    struct node *node =
        gb_node(b, "Split", "axis=-1", (uint32_t[]) { x, gb_ints_of(b, n, sizes) }, 2, n);
    for (unsigned i = 0; i < n; i++)
        ret[i] = node ? node->out[i] : WIRE_NONE;
}
