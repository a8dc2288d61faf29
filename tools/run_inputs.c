/* SPDX-License-Identifier: MIT */
#include "engine/base/bytes.h"
#include "engine/typing/half.h"
#include "models/onnx/reader.h"
#include "tools/audio.h"
#include "tools/run.h"

#include <stdlib.h>
#include <string.h>

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

static uint32_t input_find(const struct run_inputs *in, const struct graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if ((i < in->n_in || i >= in->n_in + in->n_cut) &&
            !strcmp(g->wires[g->inputs[i]].name, name))
            return i;
    return WIRE_NONE;
}

static rill_status input_missing(const struct run_inputs *in, const struct graph *g,
                                 const char *file, const char *name, rill_error *err)
{
    char known[240] = "";
    for (uint32_t i = 0; i < in->n_in; i++) {
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", g->wires[g->inputs[i]].name);
    }
    return err_set(err, RILL_INVALID, "%.200s: there is no input '%.80s'; the model has: %s", file,
                   name, in->n_in ? known : "none");
}

/* ---- files ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n > k && !strcmp(text + n - k, end);
}

/* All of a file along the axis of the input that is open, or the only one that is not 1. */
static rill_status audio_tensor(struct run_inputs *in, const struct fact *f, const char *file,
                                const struct tensor **ret, rill_error *err)
{
    float *x;
    size_t n;
    int rate, along = f->rank > 0 ? f->rank - 1 : 0;
    int64_t dim[RANK_MAX];
    TRY(audio_read(file, in->rate, &x, &n, &rate, err));
    for (int i = f->rank; i-- > 0;)
        if (!dim_is_const(f->shape[i]) || dim_value(f->shape[i]) > 1)
            along = i;
    for (int i = 0; i < RANK_MAX; i++)
        dim[i] = i == along ? (int64_t) n : 1;
    *ret = tensor_from_data(in->arena, DTYPE_F32, f->rank > 0 ? f->rank : 1, dim, x);
    free(x);
    return *ret ? RILL_OK : no_memory(err);
}

static rill_status file_tensor(struct run_inputs *in, const struct fact *f, const char *file,
                               const struct tensor **ret, rill_error *err)
{
    struct bytes b;
    if (!ends_with(file, ".npy") && !ends_with(file, ".pb"))
        return audio_tensor(in, f, file, ret, err);
    rill_status s = bytes_from_file(&b, file, 0, err);
    if (s != RILL_OK)
        return err_prefix(err, s, "%.200s", file);
    s = ends_with(file, ".pb") ? tensor_from_onnx(ret, in->arena, &b, err)
                               : npy_read(ret, in->arena, b.data, b.n, err);
    bytes_drop(&b);
    return s == RILL_OK ? s : err_prefix(err, s, "%.200s", file);
}

static rill_status given_add(struct run_inputs *in, const char *name, const char *file,
                             const struct tensor *t, rill_error *err)
{
    const char **files = arena_array(in->arena, const char *, in->given.n + 1u);
    for (uint32_t i = 0; i < in->given.n; i++)
        if (!strcmp(in->given.list[i].name, name))
            return err_set(err, RILL_INVALID, "input '%.80s' is given twice: by %.150s and %.150s",
                           name, in->files[i], file);
    if (!files || !npz_add(&in->given, in->arena, name, t))
        return no_memory(err);
    if (in->given.n > 1)
        memcpy(files, in->files, (in->given.n - 1) * sizeof *files);
    files[in->given.n - 1] = file;
    in->files = files;
    return RILL_OK;
}

/* The arrays that are called like inputs; of name alone, where there is one. */
static rill_status npz_take(struct run_inputs *in, const struct graph *g, const char *name,
                            const char *file, rill_error *err)
{
    struct npz z;
    rill_status s = npz_read(&z, in->arena, file, err);
    if (s != RILL_OK)
        return err_prefix(err, s, "%.200s", file);
    if (name && z.n == 1)
        return given_add(in, name, file, z.list[0].t, err);
    unsigned taken = 0;
    for (uint32_t i = 0; i < z.n; i++) {
        if ((name && strcmp(z.list[i].name, name) != 0) ||
            input_find(in, g, z.list[i].name) == WIRE_NONE)
            continue;
        taken++;
        TRY(given_add(in, z.list[i].name, file, z.list[i].t, err));
    }
    if (taken)
        return RILL_OK;
    if (name)
        return err_set(err, RILL_INVALID,
                       "%.200s: there is no array '%.80s' among its %u, and "
                       "the first is '%.80s'",
                       file, name, z.n, z.n ? z.list[0].name : "none");
    return input_missing(in, g, file, z.n ? z.list[0].name : "", err);
}

rill_status run_inputs_read(struct run_inputs *in, const struct graph *g, const char *item,
                            rill_error *reterr)
{
    const char *equals = strchr(item, '='), *file = equals ? equals + 1 : item;
    const char *name = equals ? arena_printf(in->arena, "%.*s", (int) (equals - item), item) : NULL;
    const struct tensor *t;
    if (equals && !name)
        return no_memory(reterr);
    uint32_t k = name ? input_find(in, g, name) : 0;
    if (k == WIRE_NONE || !in->n_in)
        return input_missing(in, g, file, name ? name : "", reterr);
    if (ends_with(file, ".npz"))
        return npz_take(in, g, name, file, reterr);
    if (!name && in->n_in > 1)
        return err_set(reterr, RILL_INVALID,
                       "%.200s: which of %u inputs takes it? NAME=FILE says so", file, in->n_in);
    const struct wire *w = &g->wires[g->inputs[k]];
    TRY(file_tensor(in, &w->fact, file, &t, reterr));
    return given_add(in, w->name, file, t, reterr);
}

/* ---- before the model is open ---- */

struct shapes {
    struct arena *arena;
    struct step_shape *list;
    uint32_t n;
};

static bool shape_add(struct shapes *to, const char *name, const struct tensor *t)
{
    struct step_shape *list = arena_array(to->arena, struct step_shape, to->n + 1u);
    if (!list || !(name = arena_string(to->arena, name)))
        return false;
    if (to->n)
        memcpy(list, to->list, to->n * sizeof *list);
    list[to->n] = (struct step_shape) { .name = name, .rank = t->rank, .of_steps = true };
    memcpy(list[to->n++].dim, t->dim, (size_t) t->rank * sizeof *t->dim);
    to->list = list;
    return true;
}

static bool item_shapes(struct shapes *to, struct arena *a, const char *item)
{
    const char *equals = strchr(item, '='), *file = equals ? equals + 1 : item;
    const char *name = equals ? arena_printf(a, "%.*s", (int) (equals - item), item) : NULL;
    const struct fact any = { .rank = -1 };
    struct run_inputs in = { .arena = a };
    const struct tensor *t;
    struct npz z;
    if (name && (ends_with(file, ".npy") || ends_with(file, ".pb")))
        return file_tensor(&in, &any, file, &t, NULL) != RILL_OK || shape_add(to, name, t);
    if (!ends_with(file, ".npz") || npz_read(&z, a, file, NULL) != RILL_OK)
        return true;
    for (uint32_t i = 0; i < z.n; i++)
        if ((name && z.n == 1) || !name || !strcmp(name, z.list[i].name))
            if (!shape_add(to, name && z.n == 1 ? name : z.list[i].name, z.list[i].t))
                return false;
    return true;
}

rill_status run_inputs_shapes(const struct opt_list *items, struct arena *a,
                              struct step_shape **ret, uint32_t *ret_n, rill_error *reterr)
{
    struct shapes to = { .arena = a };
    bool ok = true;
    for (unsigned i = 0; ok && i < items->n; i++) {
        struct arena read = { 0 };
        ok = item_shapes(&to, &read, items->item[i]);
        arena_drop(&read);
    }
    *ret = to.list;
    *ret_n = to.n;
    return ok ? RILL_OK : no_memory(reterr);
}

/* ---- one step ---- */

static double random_next(uint32_t *seed, enum dtype type)
{
    *seed = *seed * 1664525u + 1013904223u;
    return dtype_is_float(type) ? (double) (int32_t) *seed * 0x1p-31 : (double) (*seed >> 31);
}

/* The size that the data of another input gives a symbolic axis; -1: none does. */
static int64_t size_given(const struct run_inputs *in, const struct graph *g, const struct dim *d)
{
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct wire *w = &g->wires[g->inputs[i]];
        const struct tensor *t = npz_find(&in->given, w->name);
        for (int a = 0; t && a < w->fact.rank && t->rank >= w->fact.rank; a++)
            if (w->fact.shape[a] == d)
                return t->dim[a + t->rank - w->fact.rank];
    }
    return -1;
}

static rill_status input_large(const struct wire *w, const struct arena *a, rill_error *err)
{
    char fact[160];
    fact_print(&w->fact, fact, sizeof fact);
    return a->at_limit
        ? err_set(err, RILL_LIMIT, "input '%.80s' is %s: over the limit of %zu bytes", w->name,
                  fact, a->limit_bytes)
        : no_memory(err);
}

/* Floats from -1 to 1, of other types 0 or 1. */
static rill_status random_tensor(struct run_inputs *in, const struct graph *g, const struct wire *w,
                                 struct arena *a, const struct tensor **ret, rill_error *err)
{
    int64_t dim[RANK_MAX];
    char fact[160];
    for (int i = 0; i < w->fact.rank; i++) {
        dim[i] = dim_is_const(w->fact.shape[i]) ? dim_value(w->fact.shape[i])
                                                : size_given(in, g, w->fact.shape[i]);
        if (dim[i] < 0)
            break;
        if (i + 1 < w->fact.rank)
            continue;
    }
    for (int i = 0; i < (w->fact.rank < 0 ? 1 : w->fact.rank); i++)
        if (w->fact.rank < 0 || dim[i] < 0) {
            fact_print(&w->fact, fact, sizeof fact);
            return err_set(err, RILL_INVALID,
                           "input '%.80s' is %s: --set SYMBOL=N, or data for it, says how large "
                           "it is",
                           w->name, fact);
        }
    struct tensor *t = tensor_new(a, w->fact.type, w->fact.rank, dim);
    if (!t)
        return input_large(w, a, err);
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
        tensor_set_f64(t, t->data, i, random_next(&in->seed, t->type));
    *ret = t;
    return RILL_OK;
}

static bool tensor_fits(const struct fact *f, const struct tensor *t, int skip)
{
    bool fits = f->rank < 0 || t->rank == f->rank + skip;
    for (int i = 0; fits && i < f->rank; i++)
        fits = !dim_is_const(f->shape[i]) || dim_value(f->shape[i]) == t->dim[i + skip];
    return fits;
}

/* 16-bit floats are f32 in a graph. */
static const struct tensor *half_taken(const struct fact *f, const struct tensor *t,
                                       struct arena *a)
{
    return f->type == DTYPE_F32 ? half_widened(a, t) : t;
}

static const char *input_file(const struct run_inputs *in, const struct tensor *given)
{
    for (uint32_t i = 0; i < in->given.n; i++)
        if (in->given.list[i].t == given)
            return in->files[i];
    return "";
}

/* Numbers of 4 and 2 bits come as bytes, which they lie in anyhow. */
static rill_status small_taken(const struct run_inputs *in, const struct wire *w, struct arena *a,
                               const struct tensor **t, rill_error *err)
{
    const enum dtype type = w->fact.type;
    const int bits = type == DTYPE_I4 || type == DTYPE_U4 ? 4 : 2;
    const int64_t least = npy_type(type) == DTYPE_I8 ? -(1 << (bits - 1)) : 0,
                  most = least + (1 << bits) - 1;
    if ((*t)->type == type || (*t)->type != npy_type(type))
        return RILL_OK;
    for (int64_t i = 0; i < tensor_count(*t); i++) {
        const int64_t v = tensor_get_i64(*t, (*t)->data, i);
        if (v < least || v > most)
            return err_set(err, RILL_INVALID, "input '%.80s': %.200s has %lld, which is no %s",
                           w->name, input_file(in, *t), (long long) v, dtype_name(type));
    }
    struct tensor *small = arena_copy(a, *t, sizeof **t);
    if (!small)
        return no_memory(err);
    small->type = type;
    *t = small;
    return RILL_OK;
}

static rill_status input_wrong(const struct run_inputs *in, const struct graph *g,
                               const struct wire *w, const struct tensor *t, rill_error *err)
{
    const struct tensor *given = npz_find(&in->given, w->name);
    char fact[160], have[160], hint[160] = "";
    struct fact own;
    fact_print(&w->fact, fact, sizeof fact);
    fact_of_tensor(&own, g->dims, given);
    own.value = NULL;
    fact_print(&own, have, sizeof have);
    if (t->type == w->fact.type && w->fact.rank >= 0 && t->rank && tensor_fits(&w->fact, t, 1))
        snprintf(hint, sizeof hint, ", one for each of --steps %lld", (long long) t->dim[0]);
    else if (t->rank == w->fact.rank && !fact_to_tensor(&w->fact, &(struct tensor) { 0 }))
        snprintf(hint, sizeof hint,
                 "; --set SYMBOL=VALUE and --shape INPUT=.. say what sizes that are open are");
    return err_set(err, RILL_INVALID, "input '%.80s' is %s; %.200s has %s%s", w->name, fact,
                   input_file(in, given), have, hint);
}

rill_status run_input_at(struct run_inputs *in, const struct graph *g, uint32_t k, int64_t step,
                         struct arena *a, const struct tensor **ret, rill_error *reterr)
{
    const struct wire *w = &g->wires[g->inputs[k]];
    const struct tensor *given = npz_find(&in->given, w->name), *t;
    if (!given)
        return random_tensor(in, g, w, a, ret, reterr);
    if (!(t = half_taken(&w->fact, given, a)))
        return no_memory(reterr);
    TRY(small_taken(in, w, a, &t, reterr));
    bool stacked = in->steps > 1 && t->rank && t->dim[0] == in->steps &&
        tensor_fits(&w->fact, t, 1) && w->fact.rank >= 0;
    if (t->type != w->fact.type || !(stacked || tensor_fits(&w->fact, t, 0)))
        return input_wrong(in, g, w, t, reterr);
    *ret = t;
    if (!stacked)
        return RILL_OK;
    struct tensor *one = arena_new(a, struct tensor);
    if (!one)
        return no_memory(reterr);
    *one = (struct tensor) { .type = t->type, .rank = t->rank - 1 };
    memcpy(one->dim, t->dim + 1, (size_t) one->rank * sizeof *one->dim);
    one->data = (char *) t->data + (size_t) step * tensor_bytes(one);
    *ret = one;
    return RILL_OK;
}
