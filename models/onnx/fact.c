/* SPDX-License-Identifier: MIT */
/* Declared types of inputs; their named dimensions become symbols. */
#include "models/onnx/internal.h"
#include "engine/base/checked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A symbol name from any name: other characters become '_'. Names that only differ in those get a
 * number. */
static const char *symbol_text(struct reader *r, const char *name)
{
    size_t n = strlen(name);
    char *s = arena_alloc(r->arena, n + 12);
    if (!s)
        return NULL;
    size_t at = 0;
    if (is_digit(name[0]))
        s[at++] = '_';
    for (size_t i = 0; i < n; i++)
        s[at++] = is_letter(name[i]) || is_digit(name[i]) ? name[i] : '_';
    for (uint32_t k = 2;; k++) {
        const uint32_t *taken = map_get(&r->symbols, s);
        if (!taken) {
            r->symbol_name[r->symbols.n % SYMBOLS_MAX] = name;
            return map_set(&r->symbols, s, r->symbols.n % SYMBOLS_MAX) ? s : NULL;
        }
        if (!strcmp(r->symbol_name[*taken], name))
            return s;
        const char *more = arena_printf(r->arena, "%.*s_%u", (int) at, s, k);
        if (!more)
            return NULL;
        s = (char *) more;
    }
}

/* "2*S": so many times a symbol, which the name goes on with; 1 of any other name. */
static int64_t name_times(const char **name)
{
    int64_t times = 0;
    const char *at = *name;
    for (; is_digit(*at) && times < 1 << 20; at++)
        times = 10 * times + (*at - '0');
    at += strspn(at, " ");
    if (times < 1 || *at != '*')
        return 1;
    at += 1 + strspn(at + 1, " ");
    size_t n = 0;
    while (is_letter(at[n]) || (n > 0 && is_digit(at[n])) || at[n] == '_')
        n++;
    if (n == 0 || at[n])
        return 1;
    *name = at;
    return times;
}

/* The symbol as a size. */
static rill_status symbol_size(struct reader *r, const char *symbol, const struct dim **ret)
{
    const char *size = symbol ? arena_printf(r->arena, "%s >= 0", symbol) : NULL;
    if (!size || !(*ret = dim_symbol(r->dims, symbol)))
        return no_memory(r);
    return dims_assert(r->dims, size, r->err);
}

/* One term of a name that is a sum: a number or a symbol. */
static rill_status term_size(struct reader *r, const char *name, const struct dim **ret)
{
    if (!is_digit(name[0]) || name[strspn(name, "0123456789")])
        return symbol_size(r, symbol_text(r, name), ret);
    *ret = dim_int(r->dims, strtoll(name, NULL, 10));
    return RILL_OK;
}

/* "past + 1", "past + sequence": what exporters call a size that is the sum of others. */
static bool name_is_sum(const char *name)
{
    unsigned n = 0;
    for (const char *at = name;; at += 3, n++) {
        const char *begin = at;
        if (is_digit(*at))
            at += strspn(at, "0123456789");
        else
            while (is_letter(*at) || *at == '_' || (at > begin && is_digit(*at)))
                at++;
        if (at == begin || at - begin > 60)
            return false;
        if (!*at)
            return n > 0;
        if (strncmp(at, " + ", 3) != 0)
            return false;
    }
}

static rill_status dim_from_sum(struct reader *r, const char *name, const struct dim **ret)
{
    const struct dim *sum = dim_int(r->dims, 0);
    for (const char *at = name; *at;) {
        const size_t n = strcspn(at, " ");
        const char *text = arena_printf(r->arena, "%.*s", (int) n, at);
        const struct dim *term;
        if (!text)
            return no_memory(r);
        TRY(term_size(r, text, &term));
        sum = dim_add(r->dims, sum, term);
        at += n + (at[n] ? 3 : 0);
    }
    *ret = sum;
    return RILL_OK;
}

static rill_status dim_from_pb(struct reader *r, const char *what, const Onnxpb__Dimension *pb,
                               const struct dim **ret)
{
    const char *name = onnx_text(r->arena, pb->dim_param);
    if (!name)
        return no_memory(r);
    if (pb->has_dim_value && pb->dim_value > INT32_MAX)
        return err_set(r->err, RILL_LIMIT, "%s: dimension %" PRId64 " is larger than %d", what,
                       pb->dim_value, INT32_MAX);
    bool named = name[strspn(name, "?_-* ")] && strlen(name) <= 100 && r->symbols.n < SYMBOLS_MAX;
    if (pb->has_dim_value && pb->dim_value >= 0)
        *ret = dim_int(r->dims, pb->dim_value);
    else if (named && name_is_sum(name))
        TRY(dim_from_sum(r, name, ret));
    else if (named) {
        int64_t times = name_times(&name);
        const struct dim *one;
        TRY(symbol_size(r, symbol_text(r, name), &one));
        *ret = dim_mul_int(r->dims, one, times);
    } else {
        *ret = dim_fresh(r->dims);
    }
    return dims_status(r->dims, r->err);
}

static rill_status refuse_type(const struct reader *r, const char *what, const Onnxpb__Type *pb)
{
    const char *kind = pb->has_sequence_type ? "sequence"
        : pb->has_map_type                   ? "map"
        : pb->has_optional_type              ? "optional"
                                             : "sparse tensor";
    return err_set(r->err, RILL_UNSUPPORTED, "%s: is a %s; only tensors are supported", what, kind);
}

rill_status fact_from_pb(struct reader *r, const char *name, const Onnxpb__Type *pb,
                         struct fact *ret)
{
    *ret = (struct fact) { .rank = -1 };
    const char *what = arena_printf(r->arena, "input '%.80s'", name);
    if (!what)
        return no_memory(r);
    if (pb &&
        (pb->has_sequence_type || pb->has_map_type || pb->has_optional_type ||
         pb->has_sparse_tensor_type))
        return refuse_type(r, what, pb);
    if (!pb || !pb->tensor_type)
        return RILL_OK;
    const Onnxpb__TensorType *t = pb->tensor_type;
    if (t->has_elem_type && t->elem_type)
        TRY(onnx_dtype(r, t->elem_type, what, &ret->type));
    if (!t->shape)
        return RILL_OK;
    if (t->shape->n_dim > RANK_MAX)
        return err_set(r->err, RILL_UNSUPPORTED, "%s: has %zu dimensions, at most %d are supported",
                       what, t->shape->n_dim, RANK_MAX);
    ret->rank = (int) t->shape->n_dim;
    int64_t known = 1;
    for (int i = 0; i < ret->rank; i++) {
        TRY(dim_from_pb(r, what, t->shape->dim[i], &ret->shape[i]));
        int64_t d =
            dim_is_const(ret->shape[i]) && dim_value(ret->shape[i]) ? dim_value(ret->shape[i]) : 1;
        if (!int_mul(known, d, &known) || known > INT64_MAX / 8)
            return err_set(r->err, RILL_MALFORMED,
                           "%s: its dimensions multiply to more than there is", what);
    }
    return RILL_OK;
}

rill_status output_hint(struct reader *r, const Onnxpb__Type *pb, struct wire *ret)
{
    const Onnxpb__TensorType *t = pb ? pb->tensor_type : NULL;
    enum dtype type = DTYPE_NONE;
    if (ret->declared || ret->fact.type || !t || (t->shape && t->shape->n_dim > RANK_MAX) ||
        !t->elem_type || onnx_dtype(r, t->elem_type, "", &type) != RILL_OK || dtype_is_half(type))
        return RILL_OK;
    struct declared *d = arena_new(r->arena, struct declared);
    if (!d)
        return no_memory(r);
    *d = (struct declared) { .tensor = ret->name,
                             .like = WIRE_NONE,
                             .type = type,
                             .rank = t->shape ? (int) t->shape->n_dim : -1,
                             .is_hint = true };
    for (int i = 0; i < d->rank; i++)
        d->dim[i] = t->shape->dim[i]->has_dim_value ? t->shape->dim[i]->dim_value : -1;
    ret->declared = d;
    return RILL_OK;
}
