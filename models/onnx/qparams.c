/* SPDX-License-Identifier: MIT */
/* What the definitions of quantised ops say of their inputs: how many there are, and how many
 * numbers of which type a scale, a zero and a bias have. Types and shapes that a file does not
 * state are left to typing. */
#include "models/onnx/internal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define TYPE(name) (1u << DTYPE_##name)

rill_status convert_inputs_check(const struct conversion *l, unsigned least, unsigned most,
                                 unsigned required)
{
    if (l->n_in < least || l->n_in > most)
        return convert_fail(l, RILL_MALFORMED,
                            least == most ? "has %u inputs, wants %u"
                                          : "has %u inputs, wants %u to %u",
                            l->n_in, least, most);
    for (unsigned i = 0; i < most; i++)
        if (required >> i & 1 && !convert_has(l, i))
            return convert_fail(l, RILL_MALFORMED, "input %u is required", i);
    return RILL_OK;
}

/* ---- numbers of a parameter ---- */

struct qparam_form convert_matrix_form(const struct conversion *l, unsigned x, bool rows)
{
    const struct fact *f = &l->scope->g->wires[l->in[x]].fact;
    const int axis = f->rank - (rows ? 2 : 1);
    return (struct qparam_form) { .each = rows ? "row" : "column",
                                  .n = axis >= 0 ? f->shape[axis] : NULL,
                                  .of = f,
                                  .summed = rows ? -1 : -2 };
}

/* A tensor with one number for each row (or column) of every matrix of `of`. */
static bool is_of_matrices(const struct fact *f, const struct qparam_form *form)
{
    const struct fact *of = form->of;
    if (!of || of->rank < 2 || f->rank != of->rank)
        return false;
    for (int i = 0; i < f->rank; i++) {
        const bool one = dim_is(f->shape[i], 1), batch = i < f->rank - 2;
        if (i == of->rank + form->summed ? !one : f->shape[i] != of->shape[i] && !(one && batch))
            return false;
    }
    return true;
}

static bool is_list(const struct fact *f, const struct qparam_form *form)
{
    return form->each && f->rank == 1 &&
        (!form->n || !dim_is_const(form->n) || f->shape[0] == form->n);
}

static bool shape_fits(const struct fact *f, const struct qparam_form *form)
{
    return f->rank < 0 || (!form->list_only && fact_is_single(f)) || is_list(f, form) ||
        is_of_matrices(f, form);
}

static void want_print(const struct qparam_form *form, char *buf, size_t cap)
{
    char n[40] = "";
    if (form->n && dim_is_const(form->n))
        snprintf(n, sizeof n, " of %" PRId64, dim_value(form->n));
    if (form->each)
        snprintf(buf, cap, "%sa list%s (one for each %s)", form->list_only ? "" : "one number or ",
                 n, form->each);
    else
        snprintf(buf, cap, "one number");
}

/* types: a set of them; types_text says it. */
static rill_status param_check(const struct conversion *l, unsigned i, const char *what,
                               unsigned types, const char *types_text,
                               const struct qparam_form *form)
{
    if (!convert_has(l, i))
        return RILL_OK;
    const struct wire *w = &l->scope->g->wires[l->in[i]];
    char have[160], want[120];
    if ((w->fact.type == DTYPE_NONE || types >> w->fact.type & 1) && shape_fits(&w->fact, form))
        return RILL_OK;
    fact_print(&w->fact, have, sizeof have);
    want_print(form, want, sizeof want);
    return convert_fail(l, RILL_MALFORMED, "its %s '%.80s' (input %u) is %s; wants %s, %s", what,
                        w->name, i, have, want, types_text);
}

rill_status convert_scale_values_check(const struct conversion *l, unsigned i)
{
    const struct wire *scale = &l->scope->g->wires[l->in[i]];
    const struct tensor *t = scale->fact.value;
    for (int64_t k = 0; t && k < tensor_count(t); k++) {
        double v = tensor_get_stored(t, k);
        if (!(v >= (double) FLT_MIN) || isinf(v))
            return convert_fail(l, RILL_MALFORMED,
                                "its scale '%.80s' (input %u) is %g at place %" PRId64
                                "; a scale is finite and greater than 0, at least %g",
                                scale->name, i, v, k, (double) FLT_MIN);
    }
    return RILL_OK;
}

rill_status convert_scale_check(const struct conversion *l, unsigned i,
                                const struct qparam_form *form)
{
    TRY(form->halves ? param_check(l, i, "scale", TYPE(F32) | TYPE(F16) | TYPE(BF16),
                                   "f32, f16 or bf16", form)
                     : param_check(l, i, "scale", TYPE(F32), "f32", form));
    return convert_has(l, i) ? convert_scale_values_check(l, i) : RILL_OK;
}

rill_status convert_zero_check(const struct conversion *l, unsigned i, unsigned of,
                               const struct qparam_form *form)
{
    const enum dtype type = of == i ? DTYPE_NONE : l->scope->g->wires[l->in[of]].fact.type;
    return type == DTYPE_NONE ? param_check(l, i, "zero", TYPE(U8) | TYPE(I8), "u8 or i8", form)
                              : param_check(l, i, "zero", 1u << type, dtype_name(type), form);
}

rill_status convert_bias_check(const struct conversion *l, unsigned i, enum dtype type,
                               const struct qparam_form *form)
{
    return param_check(l, i, "bias", 1u << type, dtype_name(type), form);
}

rill_status convert_one(struct conversion *l, uint32_t w, uint32_t *ret)
{
    uint32_t shape;
    *ret = w;
    if (l->scope->g->wires[w].fact.rank >= 0)
        return RILL_OK;
    TRY(convert_ints(l, NULL, 0, &shape));
    return convert_binary(l, "Reshape", w, shape, ret);
}
