/* SPDX-License-Identifier: MIT */
#include "engine/graph/op.h"
#include "engine/graph/packs.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

rill_status op_fail(rill_error *err, rill_status s, const struct node *n, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n->claim && s == RILL_INVALID)
        return err_set(err, s, "node '%.80s' %s", n->name, n->claim);
    return err_set(err, s, "%s%snode '%.80s' (%s): %s", n->origin ? n->origin : "",
                   n->origin ? ": " : "", n->name, n->op->name, text);
}

/* ---- attributes ---- */

static rill_status attr_set_choice(const struct op *op, const char *node, const struct attr_spec *s,
                                   const struct attr *a, int *ret, rill_error *err)
{
    char known[200] = "";
    for (int i = 0; s->choices[i]; i++) {
        if (!strcmp(s->choices[i], a->strings.v[0])) {
            *ret = i;
            return RILL_OK;
        }
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", s->choices[i]);
    }
    return err_set(err, RILL_UNSUPPORTED,
                   "node '%.80s' (%s): attribute '%s' is '%.40s', supported: %s", node, op->name,
                   s->name, a->strings.v[0], known);
}

bool attr_is_one_string(const struct attr *a)
{
    return a->kind == ATTR_STRINGS && a->strings.n == 1;
}

/* Stores a at p; false if its kind does not fit the spec. CHOICE is not handled here. */
static bool attr_store(const struct attr_spec *s, const struct attr *a, unsigned char *p)
{
    switch (s->kind) {
    case ATTR_INT: *(int64_t *) p = a->i; return a->kind == ATTR_INT;
    case ATTR_FLOAT:
        *(float *) p = a->kind == ATTR_INT ? (float) a->i : a->f;
        return a->kind == ATTR_FLOAT || a->kind == ATTR_INT;
    case ATTR_INTS:
        *(struct attr_ints *) p = a->kind == ATTR_INT ? (struct attr_ints) { 1, &a->i } : a->ints;
        return a->kind == ATTR_INT || a->kind == ATTR_INTS;
    case ATTR_FLOATS: *(struct attr_floats *) p = a->floats; return a->kind == ATTR_FLOATS;
    case ATTR_STRINGS: *(struct attr_strings *) p = a->strings; return a->kind == ATTR_STRINGS;
    case ATTR_TENSOR: *(const struct tensor **) p = a->tensor; return a->kind == ATTR_TENSOR;
    case ATTR_CHOICE: break;
    }
    return false;
}

static void attr_default(const struct attr_spec *s, unsigned char *p)
{
    if (s->kind == ATTR_INT)
        *(int64_t *) p = s->def_i;
    else if (s->kind == ATTR_FLOAT)
        *(float *) p = s->def_f;
    else if (s->kind == ATTR_CHOICE)
        *(int *) p = (int) s->def_i;
}

static const struct attr_spec *spec_find(const struct op *op, const char *name)
{
    for (const struct attr_spec *s = op->attrs; s && s->name; s++)
        if (!strcmp(s->name, name))
            return s;
    return NULL;
}

static rill_status attr_refuse_unknown(const struct op *op, const char *node, const char *name,
                                       rill_error *err)
{
    char known[240] = "none";
    size_t at = 0;
    for (const struct attr_spec *s = op->attrs; s && s->name && at < sizeof known; s++)
        if (!s->own)
            at += (size_t) snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", s->name);
    return err_set(err, RILL_UNSUPPORTED,
                   "node '%.80s' (%s): attribute '%.60s' is not supported; known: %s", node,
                   op->name, name, known);
}

static rill_status attr_read(const struct op *op, const char *node, const struct attr *a, void *ret,
                             rill_error *err)
{
    const struct attr_spec *s = spec_find(op, a->name);
    if (!s)
        return attr_refuse_unknown(op, node, a->name, err);
    unsigned char *p = (unsigned char *) ret + s->offset;
    if (s->kind == ATTR_CHOICE && attr_is_one_string(a))
        return attr_set_choice(op, node, s, a, (int *) p, err);
    if (!attr_store(s, a, p))
        return err_set(err, RILL_MALFORMED, "node '%.80s' (%s): attribute '%s' has the wrong type",
                       node, op->name, s->name);
    return RILL_OK;
}

rill_status attrs_parse(const struct op *op, const char *node_name, const struct attr *attrs,
                        unsigned n, void *ret, rill_error *reterr)
{
    memset(ret, 0, op->attr_bytes);
    for (const struct attr_spec *s = op->attrs; s && s->name; s++)
        attr_default(s, (unsigned char *) ret + s->offset);
    for (unsigned i = 0; i < n; i++)
        TRY(attr_read(op, node_name, &attrs[i], ret, reterr));
    for (const struct attr_spec *s = op->attrs; s && s->name; s++) {
        bool found = !s->required;
        for (unsigned i = 0; i < n && !found; i++)
            found = !strcmp(attrs[i].name, s->name);
        if (!found)
            return err_set(reterr, RILL_MALFORMED, "node '%.80s' (%s): attribute '%s' is missing",
                           node_name, op->name, s->name);
    }
    return RILL_OK;
}

rill_status attrs_parse_file(const struct op *op, const char *node_name, const struct attr *attrs,
                             unsigned n, void *ret, rill_error *reterr)
{
    for (unsigned i = 0; i < n; i++) {
        const struct attr_spec *s = spec_find(op, attrs[i].name);
        if (s && s->own)
            return attr_refuse_unknown(op, node_name, attrs[i].name, reterr);
    }
    return attrs_parse(op, node_name, attrs, n, ret, reterr);
}

const char *attr_choice(const struct node *n, const char *name)
{
    const struct attr_spec *s = spec_find(n->op, name);
    assert(s && s->kind == ATTR_CHOICE);
    return s->choices[*(const int *) (const void *) ((const unsigned char *) n->attr + s->offset)];
}

static rill_status arity_check(const struct node *n, int own_in, rill_error *reterr)
{
    const struct op *op = n->op;
    if ((int) n->n_in < op->min_in || (op->max_in >= 0 && (int) n->n_in > op->max_in + own_in))
        return op_fail(reterr, RILL_MALFORMED, n, "has %u inputs, wants %d to %d", n->n_in,
                       op->min_in, op->max_in);
    if ((int) n->n_out < op->min_out || (op->max_out >= 0 && (int) n->n_out > op->max_out))
        return op_fail(reterr, RILL_MALFORMED, n, "has %u outputs, wants %d to %d", n->n_out,
                       op->min_out, op->max_out);
    for (int i = 0; i < op->min_in && !(op->flags & OP_CONTROL); i++)
        if (n->in[i] == WIRE_NONE)
            return op_fail(reterr, RILL_MALFORMED, n, "input %d is required", i);
    return RILL_OK;
}

rill_status op_check_arity(const struct node *n, rill_error *reterr)
{
    return arity_check(n, 0, reterr);
}

rill_status op_check_arity_made(const struct node *n, rill_error *reterr)
{
    return arity_check(n, n->op->own_in, reterr);
}

/* What symbolic outputs stand for: the types that come out where sizes are plain numbers. Ops that
 * know sizes only make sizes. */
static rill_status numbers_infer(const struct infer *c)
{
    struct infer plain = *c;
    struct fact *facts = arena_array(c->arena, struct fact, c->n_in + c->n_out + 1);
    const struct fact **in = arena_array(c->arena, const struct fact *, c->n_in + 1);
    if (!facts || !in)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (unsigned i = 0; i < c->n_in; i++) {
        if (!c->in[i])
            continue;
        facts[i] = *c->in[i];
        facts[i].type = fact_number(c->in[i]);
        in[i] = &facts[i];
    }
    plain.in = in;
    plain.out = facts + c->n_in;
    plain.err = NULL;
    bool ok = c->node->op->infer(&plain) == RILL_OK;
    for (unsigned i = 0; i < c->n_out; i++)
        if (c->out[i].type == DTYPE_DIM && !c->out[i].value)
            c->out[i].number = ok ? fact_number(&plain.out[i]) : DTYPE_I64;
    return RILL_OK;
}

static bool any_size(const struct fact *const *in, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (in[i] && in[i]->type == DTYPE_DIM)
            return true;
    return false;
}

/* c: all but the attributes and counts of the node. */
static rill_status node_infer(struct infer *c, const struct node *n)
{
    c->node = n;
    c->attr = n->attr;
    c->n_in = n->n_in;
    c->n_out = n->n_out;
    const struct dim_asker before =
        dims_ask_for(c->dims, (struct dim_asker) { n->name, n->op->name });
    const rill_status s = n->op->infer(c);
    dims_ask_for(c->dims, before);
    TRY(s);
    return any_size(c->in, n->n_in) ? numbers_infer(c) : RILL_OK;
}

rill_status op_infer_named(const struct node *n, const struct fact *const *in,
                           const char *const *in_name, struct fact *out, struct dims *dims,
                           struct arena *a, rill_error *reterr)
{
    struct infer c = {
        .dims = dims, .arena = a, .in = in, .in_name = in_name, .out = out, .err = reterr
    };
    return node_infer(&c, n);
}

rill_status op_infer(const struct node *n, const struct fact *const *in, struct fact *out,
                     struct dims *dims, struct arena *a, rill_error *reterr)
{
    return op_infer_named(n, in, NULL, out, dims, a, reterr);
}

rill_status op_infer_running(const struct node *n, const struct fact *const *in, struct fact *out,
                             struct dims *dims, struct arena *a, rill_error *reterr)
{
    struct infer c = {
        .dims = dims, .arena = a, .in = in, .out = out, .running = true, .err = reterr
    };
    return node_infer(&c, n);
}

void *prep_pack(struct prep *c, size_t n, size_t bytes, bool *ret_there)
{
    *ret_there = false;
    if (bytes && n > SIZE_MAX / bytes)
        return NULL;
    return c->packs ? packs_next(c->packs, n * bytes, ret_there) : arena_alloc(c->arena, n * bytes);
}

void *prep_pack_of(struct prep *c, size_t n, size_t bytes, const struct pack_key *key,
                   bool *ret_there)
{
    if (!c->packs || (bytes && n > SIZE_MAX / bytes))
        return prep_pack(c, n, bytes, ret_there);
    return packs_next_of(c->packs, n * bytes, key, ret_there);
}

void prep_pack_outliers(struct prep *c, bool apart)
{
    if (c->packs)
        c->packs->has_outliers |= apart;
}

/* ---- faults ---- */

void eval_fault(const struct eval *e, enum fault_kind kind, int64_t value, int64_t limit)
{
    if (e->fault->kind == FAULT_NONE)
        *e->fault = (struct fault) { kind, e->node, value, limit };
}

void eval_fault_say(const struct eval *e, const char *words)
{
    if (e->fault->kind == FAULT_NONE)
        snprintf((char *) (e->fault + 1), FAULT_WORDS_BYTES, "%s", words);
    eval_fault(e, FAULT_SAID, 0, 0);
}

rill_status fault_error(const struct fault *f, rill_error *reterr)
{
    if (f->kind == FAULT_SAID)
        return err_set(reterr, RILL_INVALID, "%s", (const char *) (f + 1));
    if (f->kind == FAULT_LENGTH)
        return op_fail(reterr, RILL_INVALID, f->node, "length %lld is not one of 0 to %lld",
                       (long long) f->value, (long long) f->limit);
    if (f->value == INDEX_BELOW)
        return op_fail(reterr, RILL_INVALID, f->node,
                       "its start, which the data decide, is below 0; they must count from the "
                       "front of an axis of %lld, of which all that is sliced exists",
                       (long long) f->limit);
    return op_fail(reterr, RILL_INVALID, f->node, "index %lld is outside an axis of %lld",
                   (long long) f->value, (long long) f->limit);
}

/* ---- infer helpers ---- */

bool infer_has(const struct infer *c, unsigned i)
{
    return i < c->n_in && c->in[i];
}

const char *infer_name(const struct infer *c, unsigned i)
{
    const char *name = c->in_name ? c->in_name[i] : NULL;
    const char *said = name && *name ? arena_printf(c->arena, "input %u ('%.80s')", i, name)
                                     : arena_printf(c->arena, "input %u", i);
    return said ? said : "an input";
}

void infer_same(struct infer *c, unsigned o, unsigned i)
{
    c->out[o] = *c->in[i];
    c->out[o].value = NULL;
}

void infer_shape(struct infer *c, unsigned o, enum dtype type, int rank,
                 const struct dim *const *shape)
{
    c->out[o] = (struct fact) { .type = type, .rank = rank };
    for (int i = 0; i < rank; i++)
        c->out[o].shape[i] = shape[i];
}

static bool broadcast_clash(const struct dim *a, const struct dim *b)
{
    return dim_is_const(a) && dim_is_const(b) && a != b && !dim_is(a, 1) && !dim_is(b, 1);
}

/* Sizes along an axis, of which one is that of rows cut out of a table: nothing could run where the
 * table, of more than one row, is shorter than the other. */
static rill_status table_assume(struct infer *c, const struct dim *a, const struct dim *rows)
{
    const struct dim_parts x = dim_parts(rows);
    if (x.form != DIM_FORM_LEAST || x.n != 2 || dim_is_const(a))
        return RILL_OK;
    const struct dim *table = x.arg[x.arg[0] == a ? 1 : 0];
    if ((x.arg[0] != a && x.arg[1] != a) || !dim_is_const(table) || dim_value(table) < 2)
        return RILL_OK;
    return dims_assume_unbounded(c->dims, rows, c->err);
}

/* Where an open size that has to fit a number becomes another, the node is named, and the constant
 * that has the number of elements. */
static void broadcast_blame(struct infer *c, const struct dim *size)
{
    char shape[120], who[400];
    for (unsigned i = 0; i < c->n_in && !dim_is_blamed(size); i++) {
        const struct fact *f = c->in[i];
        bool part = false;
        for (int k = 0; f && f->value && k < f->rank; k++)
            part |= dim_mentions(size, f->shape[k]);
        if (!part)
            continue;
        fact_print(f, shape, sizeof shape);
        snprintf(who, sizeof who,
                 "node '%.80s' (%s): its input %u is a constant %s of the length that the file was "
                 "exported with; one that is computed of the length would do",
                 c->node->name, c->node->op->name, i, shape);
        dim_blame(c->dims, size, who);
    }
    snprintf(who, sizeof who, "node '%.80s' (%s)", c->node->name, c->node->op->name);
    dim_blame(c->dims, size, who);
}

rill_status infer_broadcast(struct infer *c, unsigned o, enum dtype type, unsigned first,
                            unsigned last)
{
    struct fact f = { .type = type };
    for (unsigned i = first; i <= last && i < c->n_in; i++) {
        const struct fact *in = c->in[i];
        if (!in)
            continue;
        int grow = in->rank - f.rank;
        for (int k = f.rank; grow > 0 && k-- > 0;)
            f.shape[k + grow] = f.shape[k];
        for (int k = 0; k < grow; k++)
            f.shape[k] = dim_int(c->dims, 1);
        f.rank = grow > 0 ? in->rank : f.rank;
        for (int k = 0; k < in->rank; k++) {
            const struct dim **d = &f.shape[f.rank - in->rank + k];
            if (broadcast_clash(*d, in->shape[k])) {
                char a[120], b[120];
                fact_print(c->in[first], a, sizeof a);
                fact_print(in, b, sizeof b);
                return infer_fail(c, "shapes %s and %s do not broadcast", a, b);
            }
            TRY(table_assume(c, *d, in->shape[k]));
            TRY(table_assume(c, in->shape[k], *d));
            *d = dim_broadcast(c->dims, *d, in->shape[k]);
            if (!dim_is_blamed(*d))
                broadcast_blame(c, *d);
        }
    }
    c->out[o] = f;
    return RILL_OK;
}

static rill_status infer_value(struct infer *c, unsigned i, unsigned cap, const struct tensor **ret,
                               unsigned *ret_n)
{
    const struct tensor *v = infer_has(c, i) ? c->in[i]->value : NULL;
    if (!v)
        return infer_fail(
            c, "a shape depends on the data of input %u ('%s'), which is not known before running",
            i, infer_has(c, i) ? "run-time tensor" : "absent");
    int64_t n = tensor_count(v);
    if (v->rank > 1 || n > cap)
        return infer_fail(c, "input %u has %lld values, at most %u are supported here", i,
                          (long long) n, cap);
    *ret = v;
    *ret_n = (unsigned) n;
    return RILL_OK;
}

rill_status infer_ints(struct infer *c, unsigned i, int64_t *ret, unsigned cap, unsigned *ret_n)
{
    const struct tensor *v;
    TRY(infer_value(c, i, cap, &v, ret_n));
    for (unsigned k = 0; k < *ret_n; k++) {
        if (v->type == DTYPE_DIM) {
            const struct dim *d = ((const struct dim *const *) v->data)[k];
            if (!dim_is_const(d))
                return infer_fail(c, "input %u holds a symbolic size where a number is needed", i);
            ret[k] = dim_value(d);
        } else {
            ret[k] = tensor_get_i64(v, v->data, k);
        }
    }
    return RILL_OK;
}

rill_status infer_dims(struct infer *c, unsigned i, const struct dim **ret, unsigned cap,
                       unsigned *ret_n)
{
    const struct tensor *v;
    TRY(infer_value(c, i, cap, &v, ret_n));
    for (unsigned k = 0; k < *ret_n; k++)
        ret[k] = v->type == DTYPE_DIM ? ((const struct dim *const *) v->data)[k]
                                      : dim_int(c->dims, tensor_get_i64(v, v->data, k));
    return RILL_OK;
}

rill_status infer_indices(struct infer *c, unsigned k, int first, int64_t n)
{
    const struct tensor *v = c->in[k]->value;
    enum dtype t = fact_number(c->in[k]);
    int64_t at;
    if (v && v->type == DTYPE_DIM) /* known when the size is */
        return RILL_OK;
    if (t != DTYPE_I64 && t != DTYPE_I32)
        return infer_fail(c, "indices are %s; wants i32 or i64", dtype_name(t));
    for (int64_t i = 0; v && i < tensor_count(v); i++) {
        const struct dim *d = c->in[0]->shape[first + i % n];
        const struct fault f = { FAULT_INDEX, c->node, tensor_get_i64(v, v->data, i),
                                 dim_is_const(d) ? dim_value(d) : 0 };
        if (dim_is_const(d) && !index_wrap(f.value, f.limit, &at))
            return fault_error(&f, c->err);
    }
    return RILL_OK;
}

rill_status shares_new(struct prep *c, unsigned n, struct shares *ret)
{
    struct share *list = arena_array(c->arena, struct share, n);
    size_t *shift = arena_array(c->arena, size_t, (size_t) n * (c->n_in + c->n_out) + 1);
    if (!list || !shift)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (unsigned i = 0; i < n; i++)
        list[i] = (struct share) { .shift_bytes = shift + (size_t) i * (c->n_in + c->n_out) };
    *ret = (struct shares) { n, list, c->scratch_bytes };
    return RILL_OK;
}
