/* SPDX-License-Identifier: MIT */
/* What a call of rill_onnx or rill_onnx_scan says of its network: file, names, states. */
#include "engine/base/bytes.h"
#include "models/nnef/import.h"
#include "models/network/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the call says ---- */

static rill_status list_of(const struct net *net, const char *name, const struct nnef_expr **ret,
                           unsigned *ret_n)
{
    const struct call *c = net->c;
    *ret = arg_expr(c, name);
    *ret_n = *ret ? (*ret)->n_part : 0;
    if (*ret && (*ret)->kind != NNEF_EXPR_LIST)
        return nnef_fail(c->b, c->s, (*ret)->pos, RILL_MALFORMED, "'%s': expected a list in [ ]",
                         name);
    if (*ret_n > SCAN_PARTS_MAX)
        return nnef_fail(c->b, c->s, (*ret)->pos, RILL_LIMIT, "'%s': %u entries, at most %d", name,
                         *ret_n, SCAN_PARTS_MAX);
    return RILL_OK;
}

static rill_status tuple_check(const struct net *net, const struct nnef_expr *e, const char *name,
                               uint32_t least, uint32_t most)
{
    if (e->kind == NNEF_EXPR_TUPLE && e->n_part >= least && e->n_part <= most)
        return RILL_OK;
    return nnef_fail(net->c->b, net->c->s, e->pos, RILL_MALFORMED, "'%s': expected a tuple of %u%s",
                     name, least, most > least ? " or 3" : "");
}

/* With room for one more: the name that may be left out. */
static rill_status names_read(struct net *net, const char *name, const char ***ret, unsigned *ret_n)
{
    const struct nnef_expr *e;
    TRY(list_of(net, name, &e, ret_n));
    if (!(*ret = arena_array(net->c->b->arena, const char *, *ret_n + 1u)))
        return nnef_no_memory(net->c->b);
    for (unsigned i = 0; i < *ret_n; i++)
        TRY(expr_name(net->c, e->part[i], &(*ret)[i]));
    return RILL_OK;
}

rill_status net_states_read(struct net *net)
{
    const struct call *c = net->c;
    const struct nnef_expr *e;
    TRY(list_of(net, "state", &e, &net->n_states));
    if (!(net->state = arena_array(c->b->arena, struct net_state, net->n_states + 1u)))
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < net->n_states; i++) {
        const struct nnef_expr *t = e->part[i];
        struct net_state *st = &net->state[i];
        struct val init;
        TRY(tuple_check(net, t, "state", 2, 3));
        TRY(expr_name(c, t->part[0], &st->in));
        TRY(expr_name(c, t->part[1], &st->out));
        st->init = st->own_in = st->own_out = WIRE_NONE;
        st->pos = t->pos;
        if (t->n_part == 3) {
            TRY(eval_expr(c->b, c->s, t->part[2], &init));
            TRY(val_to_wire(c->b, c->s, t->part[2]->pos, init, DTYPE_F32, &st->init));
        }
    }
    return RILL_OK;
}

static rill_status pairs_read(struct net *net)
{
    const struct call *c = net->c;
    const struct nnef_expr *e;
    TRY(list_of(net, "const", &e, &net->n_consts));
    if (!(net->consts = arena_array(c->b->arena, struct net_const, net->n_consts + 1u)))
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < net->n_consts; i++) {
        TRY(tuple_check(net, e->part[i], "const", 2, 2));
        TRY(expr_name(c, e->part[i]->part[0], &net->consts[i].in));
        TRY(eval_expr(c->b, c->s, e->part[i]->part[1], &net->consts[i].v));
        net->consts[i].pos = e->part[i]->pos;
    }
    TRY(list_of(net, "shape", &e, &net->n_shapes));
    if (!(net->shapes = arena_array(c->b->arena, struct net_shape, net->n_shapes + 1u)))
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < net->n_shapes; i++) {
        TRY(tuple_check(net, e->part[i], "shape", 2, 2));
        TRY(expr_name(c, e->part[i]->part[0], &net->shapes[i].in));
        net->shapes[i].e = e->part[i]->part[1];
    }
    return RILL_OK;
}

/* ---- the file ---- */

static rill_status file_read(struct net *net)
{
    struct builder *b = net->c->b;
    struct arena file = { .limit_bytes = 0 }; /* the bytes are not needed once they are read */
    const uint8_t *data = NULL;
    size_t n = 0;
    if (!b->folder)
        return call_fail(net->c, RILL_IO, "'%.80s': this text has no folder to read networks from",
                         net->file);
    rill_status s =
        folder_read(b->folder, net->file, &file, b->limits->data_bytes, &data, &n, b->err);
    struct bytes bytes = { .data = data,
                           .n = n,
                           .path = arena_printf(&file, "%s/%s", b->folder->path, net->file) };
    if (s == RILL_OK && !bytes.path)
        s = nnef_no_memory(b);
    else if (s == RILL_OK &&
             (s = mgraph_from_network(&net->m, b->arena, b->dims, &bytes, b->err)) != RILL_OK)
        err_prefix(b->err, s, "%.160s", net->file);
    arena_drop(&file);
    return s == RILL_OK ? s
                        : err_prefix(b->err, s, "%s:%u:%u", net->c->s->file, net->c->e->pos.line,
                                     net->c->e->pos.column);
}

static void names_print(const struct graph *g, const uint32_t *wires, uint32_t n, char *buf,
                        size_t cap)
{
    size_t at = 0;
    buf[0] = 0;
    for (uint32_t i = 0; i < n && at < cap; i++)
        at += (size_t) snprintf(buf + at, cap - at, "%s%s", i ? ", " : "", g->wires[wires[i]].name);
}

rill_status net_no_such(const struct net *net, const char *what, const char *name, const char *pair)
{
    const struct graph *g = &net->m.g;
    bool input = !strcmp(what, "input");
    char known[200];
    names_print(g, input ? g->inputs : g->outputs, input ? g->n_inputs : g->n_outputs, known,
                sizeof known);
    return call_fail(net->c, RILL_MALFORMED, "%s: there is no %s '%.60s'%s%.120s; there is: %s",
                     net->file, what, name, pair ? ", wanted by " : "", pair ? pair : "", known);
}

uint32_t net_index_of(const struct graph *g, const uint32_t *list, uint32_t n, const char *name)
{
    uint32_t i = 0;
    while (i < n && strcmp(g->wires[list[i]].name, name) != 0)
        i++;
    return i;
}

rill_status net_input_index(const struct net *net, const char *name, const char *pair,
                            uint32_t *ret)
{
    const struct graph *g = &net->m.g;
    *ret = net_index_of(g, g->inputs, g->n_inputs, name);
    return *ret < g->n_inputs ? RILL_OK : net_no_such(net, "input", name, pair);
}

const char *net_pair_print(const struct net *net, const struct net_state *st)
{
    const char *s = arena_printf(net->c->b->arena, "state ('%s', '%s')", st->in, st->out);
    return s ? s : "a state";
}

/* Names that the call leaves out where there is only one way. */
static rill_status names_default(struct net *net)
{
    const struct graph *g = &net->m.g;
    if (net->n_in == 0 && g->n_inputs > 0)
        net->in[net->n_in++] = g->wires[g->inputs[0]].name;
    if (net->n_out == 0 && g->n_outputs > 0)
        net->out[net->n_out++] = g->wires[g->outputs[0]].name;
    if (net->n_in != net->n_x)
        return call_fail(net->c, RILL_MALFORMED, "%s: %u tensors for %u inputs", net->file,
                         net->n_x, net->n_in);
    for (unsigned i = 0; i < net->n_out; i++)
        if (net_index_of(g, g->outputs, g->n_outputs, net->out[i]) == g->n_outputs)
            return net_no_such(net, "output", net->out[i], NULL);
    return RILL_OK;
}

/* The file, and the names of what goes in and comes out. */
rill_status net_file_read(struct net *net)
{
    TRY(arg_text(net->c, "file", &net->file));
    TRY(names_read(net, "input", &net->in, &net->n_in));
    TRY(names_read(net, "output", &net->out, &net->n_out));
    TRY(pairs_read(net));
    TRY(file_read(net));
    return names_default(net);
}

/* ---- metadata ---- */

#define METADATA_NUMBERS_MAX 65536u

static const char *meta_find(const struct graph *g, const char *key)
{
    for (uint32_t i = 0; i < g->n_meta; i++)
        if (!strcmp(g->meta[i].key, key))
            return g->meta[i].value;
    return NULL;
}

/* The number that text begins with; NULL: it begins with none. Else what stands behind it. */
static const char *number_read(const char *text, struct val *ret)
{
    char *end, *whole;
    *ret = (struct val) { .kind = VAL_REAL, .real = strtod(text, &end) };
    const long long i = strtoll(text, &whole, 10);
    if (whole == end && i > INT64_MIN && i < INT64_MAX)
        *ret = (struct val) { .kind = VAL_INT, .i = i };
    return end == text || (ret->kind == VAL_REAL && !isfinite(ret->real)) ? NULL
                                                                          : end + strspn(end, " ");
}

/* The numbers that a file says of itself, with commas between. */
rill_status build_metadata(const struct call *c, struct val *ret)
{
    struct net *net = arena_new(c->b->arena, struct net);
    const char *key, *text;
    uint32_t n = 1;
    if (!net)
        return nnef_no_memory(c->b);
    net->c = c;
    TRY(arg_text(c, "file", &net->file));
    TRY(arg_text(c, "key", &key));
    TRY(file_read(net));
    if (!(text = meta_find(&net->m.g, key)))
        return call_fail(c, RILL_MALFORMED, "%s: it says nothing of '%.60s' (its metadata)",
                         net->file, key);
    for (const char *at = text; *at; at++)
        n += *at == ',';
    struct val *list = n <= METADATA_NUMBERS_MAX ? arena_array(c->b->arena, struct val, n) : NULL;
    if (!list)
        return n > METADATA_NUMBERS_MAX
            ? call_fail(c, RILL_LIMIT, "%s: '%.60s' has more than %u numbers", net->file, key,
                        METADATA_NUMBERS_MAX)
            : nnef_no_memory(c->b);
    const char *at = text;
    for (uint32_t i = 0; i < n; i++) {
        const char *behind = number_read(at, &list[i]);
        if (!behind || *behind != (i + 1 < n ? ',' : '\0'))
            return call_fail(c, RILL_MALFORMED,
                             "%s: '%.60s' is no list of numbers: number %u is '%.20s'", net->file,
                             key, i, at);
        at = behind + 1;
    }
    *ret = (struct val) { .kind = VAL_LIST, .n = n, .list = list };
    return RILL_OK;
}

/* ---- states by pattern ---- */

/* Bytes before a name's star; -1: it has none. */
static int star_at(const char *name)
{
    const char *star = strchr(name, '*');
    return star ? (int) (star - name) : -1;
}

/* The part of name that the pattern's star stands for; NULL: it does not fit. */
static const char *star_part(const char *name, const char *pattern, int star, int *ret_n)
{
    size_t n = strlen(name), before = (size_t) star, after = strlen(pattern) - before - 1;
    if (n < before + after || strncmp(name, pattern, before) != 0 ||
        strcmp(name + n - after, pattern + before + 1) != 0)
        return NULL;
    *ret_n = (int) (n - before - after);
    return name + before;
}

static bool state_has(const struct net *net, const struct net_state *list, unsigned n,
                      const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(list[i].in, name))
            return true;
    for (unsigned i = 0; i < net->n_in; i++)
        if (!strcmp(net->in[i], name))
            return true;
    for (unsigned i = 0; i < net->n_consts; i++)
        if (!strcmp(net->consts[i].in, name))
            return true;
    return false;
}

/* The file's inputs that st stands for, from list[n] on; those that are named elsewhere are left
 * out. */
static rill_status state_expand(const struct net *net, const struct net_state *st,
                                struct net_state *list, unsigned *n)
{
    const struct graph *g = &net->m.g;
    int star = star_at(st->in), to = star_at(st->out);
    unsigned before = *n;
    if (star < 0 && to < 0) {
        list[(*n)++] = *st;
        return RILL_OK;
    }
    if (star < 0 || to < 0)
        return nnef_fail(net->c->b, net->c->s, st->pos, RILL_MALFORMED,
                         "%s: both names have a * or none does", net_pair_print(net, st));
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const char *name = g->wires[g->inputs[i]].name;
        int part_n = 0;
        const char *part = star_part(name, st->in, star, &part_n);
        if (!part || state_has(net, list, *n, name))
            continue;
        list[*n] = *st;
        list[*n].in = name;
        if (!(list[*n].out = arena_printf(net->c->b->arena, "%.*s%.*s%s", to, st->out, part_n, part,
                                          st->out + to + 1)))
            return nnef_no_memory(net->c->b);
        ++*n;
    }
    return *n > before ? RILL_OK : net_no_such(net, "input", st->in, net_pair_print(net, st));
}

rill_status net_states_expand(struct net *net)
{
    struct net_state *list =
        arena_array(net->c->b->arena, struct net_state, net->n_states + net->m.g.n_inputs + 1u);
    unsigned n = 0;
    if (!list)
        return nnef_no_memory(net->c->b);
    for (int stars = 0; stars < 2; stars++) /* those with a name of their own come first */
        for (unsigned i = 0; i < net->n_states; i++)
            if (stars == (star_at(net->state[i].in) >= 0 || star_at(net->state[i].out) >= 0))
                TRY(state_expand(net, &net->state[i], list, &n));
    net->state = list;
    net->n_states = n;
    return RILL_OK;
}
