/* SPDX-License-Identifier: MIT */
/* Constants: short ones stand where they are used, the others in files. */
#include "engine/base/err.h"
#include "models/export/writer.h"

#include <math.h>
#include <string.h>

#define INLINE_MAX 64 /* integers in a list */

const char *float_text(struct arena *a, float f)
{
    char s[40];
    if (!isfinite(f))
        return NULL;
    snprintf(s, sizeof s, "%.9g", (double) f);
    return arena_printf(a, "%s%s", s, strpbrk(s, ".e") ? "" : ".0");
}

/* Whether the reader of the language makes the same of it as the engine does. */
static bool size_is_plain(const char *text)
{
    char word[64];
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, " +*-");
        if (n >= sizeof word)
            return false;
        memcpy(word, at, n);
        word[n] = 0;
        if (strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != n ||
            is_keyword(word))
            return false;
        at += n;
        at += strspn(at, " +*-");
    }
    return true;
}

static const char *dim_text(struct arena *a, const struct dim *d)
{
    const size_t bytes = (size_t) dim_print(d, NULL, 0) + 1;
    char *text = arena_alloc(a, bytes);
    if (text)
        dim_print(d, text, bytes);
    return text;
}

const char *size_text(const struct writer *w, const struct dim *d)
{
    struct arena *a = w->doc->arena;
    const char *text = dim_text(a, d);
    if (!text || dim_is_const(d) || (!w->sizes_quoted && size_is_plain(text)))
        return text;
    char quote = strchr(text, '\'') ? '"' : '\'';
    return strchr(text, quote) ? NULL : arena_printf(a, "rill_size(%c%s%c)", quote, text, quote);
}

static bool is_list(const struct tensor *t)
{
    bool sizes = t->type == DTYPE_DIM && (!t->number || t->number == DTYPE_I64);
    if (t->rank > 1 || tensor_count(t) < 1 || tensor_count(t) > INLINE_MAX)
        return false;
    for (int64_t i = 0; t->type == DTYPE_I64 && i < tensor_count(t); i++)
        if (((const int64_t *) t->data)[i] == INT64_MIN) /* its digits alone are too large */
            return false;
    return t->type == DTYPE_I64 || sizes;
}

static const char *list_text(const struct writer *w, const struct tensor *t)
{
    struct arena *a = w->doc->arena;
    const char *text = t->rank ? "[" : "";
    for (int64_t i = 0; text && i < tensor_count(t); i++) {
        const char *one = t->type == DTYPE_DIM
            ? size_text(w, ((const struct dim *const *) t->data)[i])
            : arena_printf(a, "%lld", (long long) ((const int64_t *) t->data)[i]);
        text = one ? arena_printf(a, "%s%s%s", text, i ? ", " : "", one) : NULL;
    }
    return text && t->rank ? arena_printf(a, "%s]", text) : text;
}

const char *sizes_text(const struct writer *w, const struct tensor *t)
{
    return t && t->rank == 1 && is_list(t) ? list_text(w, t) : NULL;
}

/* NULL: it stands in a file. */
static const char *value_text(const struct writer *w, const struct tensor *t)
{
    if (t->from)
        return NULL;
    if (is_list(t))
        return list_text(w, t);
    if (t->type == DTYPE_F32 && t->rank == 0)
        return float_text(w->doc->arena, *(const float *) t->data);
    if (t->type == DTYPE_BOOL && t->rank == 0)
        return *(const uint8_t *) t->data ? "true" : "false";
    return NULL;
}

const char *wire_text(const struct writer *w, uint32_t wire)
{
    if (wire == WIRE_NONE)
        return "[]";
    const struct tensor *t = w->g->wires[wire].fact.value;
    const char *text = t && !w->stated[wire] ? value_text(w, t) : NULL;
    return text ? text : w->name[wire];
}

/* ---- statements ---- */

static rill_status no_memory(const struct writer *w)
{
    return err_set(w->doc->err, RILL_NOMEM, "out of memory");
}

rill_status tensor_name(struct writer *w, const struct tensor *t, const char **ret)
{
    uint32_t k = w->doc->n_weights;
    const char *label = arena_printf(w->doc->arena, "%svalue-%u", w->prefix, k);
    *ret = arena_printf(w->doc->arena, "`value-%u`", k);
    return label && *ret ? tensor_state(w, t, *ret, label) : no_memory(w);
}

/* What was dequantised while the graph was typed is dequantised again when it is read: passes look
 * behind it. */
static rill_status dequantised_state(struct writer *w, const struct quantised *q, const char *name)
{
    const char *part[3] = { NULL, NULL, "[]" };
    TRY(tensor_name(w, q->whole, &part[0]));
    TRY(tensor_name(w, q->scale, &part[1]));
    if (q->zero)
        TRY(tensor_name(w, q->zero, &part[2]));
    fprintf(w->to, "    %s = %srill_op('DequantizeLinear', inputs = [%s, %s%s%s], ", name,
            q->turned ? "transpose(" : "", part[0], part[1], q->zero ? ", " : "",
            q->zero ? part[2] : "");
    fprintf(w->to, "attributes = [('axis', %d), ('block_size', %lld)])%s;\n", q->axis,
            (long long) q->block, q->turned ? ", axes = [1, 0])" : "");
    return RILL_OK;
}

static bool is_native(enum dtype t)
{
    return t == DTYPE_F32 || t == DTYPE_I64 || t == DTYPE_BOOL;
}

#define RESHAPED_MAX 4096 /* sizes in a list */

/* As a list that is given its axes. */
static rill_status sizes_reshaped(struct writer *w, const struct tensor *t, const char *name)
{
    struct tensor row = *t;
    row.rank = 1;
    row.dim[0] = tensor_count(t);
    const char *text = list_text(w, &row);
    if (!text)
        return no_memory(w);
    fprintf(w->to, "    %s = rill_op('Reshape', inputs = [%s, [", name, text);
    for (int i = 0; i < t->rank; i++)
        fprintf(w->to, "%s%lld", i ? ", " : "", (long long) t->dim[i]);
    fprintf(w->to, "]], attributes = [('allowzero', 0)]);\n");
    return RILL_OK;
}

/* Those of another type than i64 are cast to it. */
static rill_status sizes_state(struct writer *w, const struct tensor *t, const char *name)
{
    struct tensor whole = *t;
    const bool counts = dtype_is_int(t->number) || t->number == DTYPE_F32; /* as it is read */
    whole.number = DTYPE_NONE;
    if (t->rank > 1 && tensor_count(t) && tensor_count(t) <= RESHAPED_MAX &&
        (!t->number || t->number == DTYPE_I64))
        return sizes_reshaped(w, t, name);
    if (!is_list(&whole) || (!is_list(t) && (t->rank || !counts)))
        return err_set(w->doc->err, RILL_UNSUPPORTED,
                       "constant %.80s: symbolic sizes of rank %d and type %s have no form in NNEF",
                       name, t->rank, dtype_name(t->number ? t->number : DTYPE_I64));
    const char *text = is_list(t)
        ? list_text(w, t)
        : dim_text(w->doc->arena, ((const struct dim *const *) t->data)[0]);
    if (!text)
        return no_memory(w);
    if (is_list(t))
        fprintf(w->to, "    %s = %s;\n", name, text);
    else
        fprintf(w->to, "    %s = rill_size('%s', type = '%s');\n", name, text,
                dtype_name(t->number));
    return RILL_OK;
}

/* As f32, which the file has and a cast makes t of again; NULL: f32 does not have its numbers. */
static const struct tensor *as_f32(struct arena *a, const struct tensor *t)
{
    struct tensor *f = tensor_new(a, DTYPE_F32, t->rank, t->dim);
    for (int64_t i = 0; f && i < tensor_count(t); i++) {
        double v = tensor_get_f64(t, t->data, i);
        if (!isnan(v) && (double) (float) v != v)
            return NULL;
        ((float *) f->data)[i] = (float) v;
    }
    return f;
}

rill_status tensor_state(struct writer *w, const struct tensor *t, const char *name,
                         const char *label)
{
    struct document *doc = w->doc;
    const struct tensor *stored =
        t->type == DTYPE_F64 || t->type == DTYPE_BF16 ? as_f32(doc->arena, t) : t;
    const char *type = stored ? dat_type(stored->type) : NULL;
    if (t->from)
        return dequantised_state(w, t->from, name);
    if (t->type == DTYPE_DIM)
        return sizes_state(w, t, name);
    if (!type)
        return err_set(doc->err, RILL_UNSUPPORTED,
                       "constant %.80s: elements of %s have no form in NNEF", name,
                       dtype_name(t->type));
    struct weight *more =
        arena_grow(doc->arena, doc->weights, doc->n_weights, &doc->cap_weights, sizeof *more);
    if (!more)
        return no_memory(w);
    doc->weights = more;
    more[doc->n_weights++] = (struct weight) { label, stored };
    fprintf(w->to, "    %s = %svariable<%s>(label = '%s', shape = [", name,
            is_native(t->type) ? "" : "tract_core_cast(", type, label);
    for (int i = 0; i < t->rank; i++)
        fprintf(w->to, "%s%lld", i ? ", " : "", (long long) t->dim[i]);
    if (is_native(t->type))
        fprintf(w->to, "]);\n");
    else
        fprintf(w->to, "]), to = '%s');\n", dtype_name(t->type));
    return RILL_OK;
}

rill_status const_state(struct writer *w, uint32_t wire, bool named)
{
    const struct tensor *t = wire == WIRE_NONE ? NULL : w->g->wires[wire].fact.value;
    const char *name = t ? w->name[wire] : "";
    bool made = t && w->g->wires[wire].node != WIRE_NONE;
    if (!t || made || w->stated[wire] || (!named && value_text(w, t)))
        return RILL_OK;
    w->stated[wire] = true;
    const char *label = *name == '`' ? arena_printf(w->doc->arena, "%soutput-%u", w->prefix, wire)
                                     : arena_printf(w->doc->arena, "%s%s", w->prefix, name);
    return label ? tensor_state(w, t, name, label) : no_memory(w);
}
