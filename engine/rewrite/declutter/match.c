/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/declutter/match.h"

#include <math.h>
#include <string.h>

const struct node *match_op(const struct graph *g, uint32_t wire, enum op_id op)
{
    const struct node *n = graph_producer(g, wire);
    return n && node_is(n, op) && n->n_out && n->out[0] == wire ? n : NULL;
}

const struct tensor *match_value(const struct graph *g, uint32_t wire)
{
    return wire == WIRE_NONE ? NULL : g->wires[wire].fact.value;
}

bool match_number(const struct graph *g, uint32_t wire, float *ret)
{
    const struct tensor *t = match_value(g, wire);
    int64_t n = t ? tensor_count(t) : 0;
    if (n < 1 || t->type != DTYPE_F32)
        return false;
    const float *v = t->data;
    for (int64_t i = 1; i < n; i++)
        if (memcmp(&v[i], &v[0], sizeof *v))
            return false;
    *ret = v[0];
    return true;
}

bool match_is_number(const struct graph *g, uint32_t wire, float value)
{
    float v;
    return match_number(g, wire, &v) && v == value;
}

const struct dim *match_size(const struct graph *g, uint32_t wire)
{
    const struct tensor *v = match_value(g, wire);
    if (!v || tensor_count(v) != 1 || dtype_is_float(v->type))
        return NULL;
    return v->type == DTYPE_DIM ? dim_refresh(g->dims, *(const struct dim *const *) v->data)
                                : dim_int(g->dims, tensor_get_i64(v, v->data, 0));
}

bool match_whole(const struct graph *g, uint32_t wire, int64_t *ret)
{
    const struct dim *size = match_size(g, wire);
    const struct tensor *v = match_value(g, wire);
    double x = NAN;
    if (size && dim_is_const(size))
        x = (double) dim_value(size);
    else if (!size && v && tensor_count(v) == 1)
        x = tensor_get_f64(v, v->data, 0);
    if (!(fabs(x) <= (double) MATCH_WHOLE_MAX) || x != trunc(x))
        return false;
    *ret = (int64_t) x;
    return true;
}

bool match_ints(const struct graph *g, uint32_t wire, int64_t *ret, unsigned cap, unsigned *ret_n)
{
    const struct tensor *t = match_value(g, wire);
    int64_t n = t ? tensor_count(t) : 0;
    if (!t || (t->type != DTYPE_I64 && t->type != DTYPE_I32) || t->rank > 1 || n > cap)
        return false;
    for (int64_t i = 0; i < n; i++)
        ret[i] = tensor_get_i64(t, t->data, i);
    *ret_n = (unsigned) n;
    return true;
}

bool *match_data(const struct graph *g)
{
    bool *data = arena_array(g->arena, bool, g->n_wires + 1);
    for (uint32_t w = 0; data && w < g->n_wires; w++)
        data[w] = g->wires[w].node == WIRE_NONE && !g->wires[w].fact.value;
    for (uint32_t i = 0; data && i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        bool is = n->n_body > 0;
        for (unsigned k = 0; k < n->n_in && !node_is(n, OP_SHAPE); k++)
            is |= n->in[k] != WIRE_NONE && data[n->in[k]];
        for (unsigned k = 0; k < n->n_out; k++)
            if (n->out[k] != WIRE_NONE)
                data[n->out[k]] = is;
    }
    return data;
}
