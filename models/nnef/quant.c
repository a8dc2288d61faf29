/* SPDX-License-Identifier: MIT */
/* Quantisation files: graph.quant says which tensors of the graph are stored as integers, and what
 * they stand for. Such a tensor is rounded to its integers where it is assigned, and read as the
 * numbers that they stand for; inputs and outputs of the graph are the integers. */
#include "models/nnef/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct builder *b;
    const char *file;
    struct nnef_lexer lexer;
    struct nnef_token token;
};

static rill_status expected(const struct reader *r, const char *what)
{
    return err_set(r->b->err, RILL_MALFORMED, "%s:%u:%u: expected %s", r->file, r->token.pos.line,
                   r->token.pos.column, what);
}

static bool take(struct reader *r, const char *mark)
{
    if (r->token.kind == NNEF_TEXT || !nnef_token_is(&r->token, mark))
        return false;
    r->token = nnef_next(&r->lexer);
    return true;
}

static rill_status take_text(struct reader *r, enum nnef_token_kind kind, const char *what,
                             const char **ret)
{
    if (r->token.kind != kind)
        return expected(r, what);
    if (!(*ret = arena_printf(r->b->arena, "%.*s", (int) r->token.n, r->token.at)))
        return nnef_no_memory(r->b);
    r->token = nnef_next(&r->lexer);
    return RILL_OK;
}

/* A number, or true and false as 1 and 0. */
static rill_status take_number(struct reader *r, double *ret)
{
    double sign = take(r, "-") ? -1 : 1;
    const char *text;
    if (take(r, "true")) {
        *ret = 1;
        return RILL_OK;
    }
    if (take(r, "false")) {
        *ret = 0;
        return RILL_OK;
    }
    if (r->token.kind != NNEF_INT && r->token.kind != NNEF_REAL)
        return expected(r, "a number");
    TRY(take_text(r, r->token.kind, "a number", &text));
    *ret = sign * strtod(text, NULL);
    return RILL_OK;
}

/* name = number, ...; unset ones are NAN. */
enum { ZERO_POINT, SCALE, BITS, SIGNED, SYMMETRIC, MIN, MAX, ARGS };

static rill_status take_args(struct reader *r, double *ret)
{
    static const char *const names[ARGS] = { "zero_point", "scale", "bits", "signed",
                                             "symmetric",  "min",   "max" };
    for (int i = 0; i < ARGS; i++)
        ret[i] = NAN;
    while (r->token.kind == NNEF_NAME) {
        int i = 0;
        while (i < ARGS && !nnef_token_is(&r->token, names[i]))
            i++;
        if (i == ARGS)
            return expected(r, "zero_point, scale, bits, signed, symmetric, min or max");
        r->token = nnef_next(&r->lexer);
        if (!take(r, "="))
            return expected(r, "'='");
        TRY(take_number(r, &ret[i]));
        if (!take(r, ","))
            break;
    }
    return take(r, ")") ? RILL_OK : expected(r, "')'");
}

static rill_status quant_fail(const struct reader *r, const struct quant *q, const char *what)
{
    return err_set(r->b->err, RILL_UNSUPPORTED, "%s:%u:%u: '%.60s': %s", r->file, q->pos.line,
                   q->pos.column, q->name, what);
}

/* Numbers between min and max in steps: integers whose zero is whole. */
static void between(struct quant *q, const double *arg)
{
    q->scale =
        (arg[MAX] - arg[MIN]) / (pow(2, (double) q->bits) - 1 - (q->is_signed && q->symmetric));
    double p = q->is_signed ? pow(2, (double) q->bits - 1) - q->symmetric : 0;
    q->zero = -arg[MIN] / q->scale - p;
    if (fabs(q->zero - nearbyint(q->zero)) < 1e-4)
        q->zero = nearbyint(q->zero);
}

static rill_status quant_check(const struct reader *r, const struct quant *q)
{
    if (!(q->scale > 0) || !isfinite(q->scale) || (float) q->scale == 0)
        return quant_fail(r, q, "expected a scale above 0");
    const double least = q->is_signed ? -ldexp(1, (int) q->bits - 1) : 0,
                 most = least + ldexp(1, (int) q->bits) - 1;
    if (!(q->zero >= least && q->zero <= most) || q->zero != nearbyint(q->zero))
        return quant_fail(r, q, "0 stands for no whole number of those bits");
    return q->bits != 32 || (q->is_signed && q->zero == 0)
        ? RILL_OK
        : quant_fail(r, q, "32 bits are signed and around 0");
}

static rill_status quant_fill(const struct reader *r, const char *how, const double *arg,
                              struct quant *q)
{
    bool zero_point = !strcmp(how, "zero_point_linear_quantize");
    bool range = !strcmp(how, "linear_quantize") || !strcmp(how, "min_max_linear_quantize");
    if (!zero_point && !range)
        return quant_fail(r, q,
                          "quantised in a way that is not known, expected "
                          "zero_point_linear_quantize, min_max_linear_quantize or linear_quantize");
    if (isnan(arg[BITS]) || (zero_point ? isnan(arg[SCALE]) : isnan(arg[MIN]) || isnan(arg[MAX])))
        return quant_fail(r, q, "bits and scale, or min and max, are missing");
    if (arg[BITS] != 8 && arg[BITS] != 16 && arg[BITS] != 32)
        return quant_fail(r, q, "expected 8, 16 or 32 bits");
    q->bits = (int64_t) arg[BITS];
    q->is_signed = arg[SIGNED] == 1;
    q->symmetric = arg[SYMMETRIC] == 1;
    q->scale = arg[SCALE];
    q->zero = isnan(arg[ZERO_POINT]) ? 0 : arg[ZERO_POINT];
    if (range)
        between(q, arg);
    return quant_check(r, q);
}

static rill_status quant_take(struct reader *r, struct quant **tail)
{
    struct quant *q = arena_new(r->b->arena, struct quant);
    const char *how;
    double arg[ARGS];
    if (!q)
        return nnef_no_memory(r->b);
    q->pos = r->token.pos;
    q->stored = q->value = WIRE_NONE;
    TRY(take_text(r, NNEF_TEXT, "the name of a tensor in quotes", &q->name));
    if (!take(r, ":"))
        return expected(r, "':'");
    TRY(take_text(r, NNEF_NAME, "the operator that quantises", &how));
    if (!take(r, "("))
        return expected(r, "'('");
    TRY(take_args(r, arg));
    if (!take(r, ";"))
        return expected(r, "';'");
    *tail = q;
    return quant_fill(r, how, arg, q);
}

rill_status quants_read(struct builder *b, const struct scope *s)
{
    struct arena text = { .limit_bytes = 0 };
    struct reader r = { .b = b, .file = arena_printf(b->arena, "%sgraph.quant", b->inside) };
    struct quant **tail = &b->quants;
    const uint8_t *bytes;
    size_t n;
    (void) s;
    if (!r.file)
        return nnef_no_memory(b);
    if (!b->folder || !folder_has(b->folder, r.file))
        return RILL_OK;
    rill_status status =
        folder_read(b->folder, r.file, &text, b->limits->text_bytes, &bytes, &n, b->err);
    if (status == RILL_OK) {
        nnef_lexer_init(&r.lexer, (const char *) bytes, n);
        r.token = nnef_next(&r.lexer);
    }
    while (status == RILL_OK && r.token.kind != NNEF_END) {
        status = quant_take(&r, tail);
        tail = status == RILL_OK ? &(*tail)->next : tail;
    }
    arena_drop(&text);
    return status;
}

rill_status quants_check(const struct builder *b, const struct scope *s)
{
    for (const struct quant *q = b->quants; q; q = q->next)
        if (q->stored == WIRE_NONE)
            return err_set(b->err, RILL_MALFORMED, "%sgraph.quant:%u:%u: '%.60s' %s", b->inside,
                           q->pos.line, q->pos.column, q->name,
                           quant_find(b, s, q->name) == q ? "is assigned nowhere in the graph"
                                                          : "is said twice");
    return RILL_OK;
}

struct quant *quant_find(const struct builder *b, const struct scope *s, const char *name)
{
    struct quant *q = s->inputs_of == &b->doc->graph ? b->quants : NULL;
    while (q && strcmp(q->name, name) != 0)
        q = q->next;
    return q;
}

enum dtype quant_type(const struct quant *q)
{
    if (q->bits == 8)
        return q->is_signed ? DTYPE_I8 : DTYPE_U8;
    if (q->bits == 16)
        return q->is_signed ? DTYPE_I16 : DTYPE_U16;
    return DTYPE_I32;
}

static rill_status params_make(struct builder *b, struct scope *s, const struct quant *q,
                               uint32_t *ret)
{
    const float scale = (float) q->scale;
    struct tensor *zero = tensor_new(b->arena, quant_type(q), 0, NULL);
    if (!zero)
        return nnef_no_memory(b);
    tensor_set_f64(zero, zero->data, 0, q->zero);
    TRY(const_f32(b, s->g, 0, NULL, &scale, &ret[0]));
    return const_tensor(b, s->g, zero, &ret[1]);
}

/* Numbers to integers; those of 32 bits, around 0, are not rounded by an op of the standard. */
static rill_status quantise(struct builder *b, struct scope *s, const struct quant *q, uint32_t x,
                            const uint32_t *params, uint32_t *ret)
{
    uint32_t in[3] = { x, params[0], params[1] };
    if (q->bits != 32)
        return build_node(b, s, q->pos, "QuantizeLinear", NULL, 0, in, 3, ret, 1);
    TRY(build_node(b, s, q->pos, "Div", NULL, 0, in, 2, ret, 1));
    TRY(build_node(b, s, q->pos, "Round", NULL, 0, ret, 1, ret, 1));
    return build_cast(b, s, q->pos, DTYPE_I32, ret);
}

rill_status quant_assign(struct builder *b, struct scope *s, struct quant *q, struct val *v)
{
    uint32_t w, params[2];
    TRY(val_to_wire(b, s, q->pos, *v, DTYPE_F32, &w));
    const enum dtype type = wire_fact(s, w)->type;
    TRY(params_make(b, s, q, params));
    q->stored = w;
    if (dtype_is_float(type)) {
        TRY(build_cast(b, s, q->pos, DTYPE_F32, &w));
        TRY(quantise(b, s, q, w, params, &q->stored));
    } else {
        TRY(build_cast(b, s, q->pos, quant_type(q), &q->stored));
    }
    uint32_t in[3] = { q->stored, params[0], params[1] };
    TRY(build_node(b, s, q->pos, "DequantizeLinear", NULL, 0, in, q->bits == 32 ? 2 : 3, &q->value,
                   1));
    *v = val_of_wire(q->value);
    return RILL_OK;
}

uint32_t quant_stored(const struct builder *b, uint32_t wire)
{
    const struct quant *q = b->quants;
    while (q && q->value != wire)
        q = q->next;
    return q ? q->stored : wire;
}
