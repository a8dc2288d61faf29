/* SPDX-License-Identifier: MIT */
/* What names stand for: of a scope, symbols, fragments, registries. */
#include "models/nnef/build.h"

#include <string.h>

static rill_status binding_add(struct builder *b, struct binding **list, uint32_t *n, uint32_t *cap,
                               struct binding x)
{
    struct binding *more = arena_grow(b->arena, *list, *n, cap, sizeof *more);
    if (!more)
        return nnef_no_memory(b);
    *list = more;
    more[(*n)++] = x;
    return RILL_OK;
}

rill_status scope_bind(struct builder *b, struct scope *s, const char *name, struct val v)
{
    return binding_add(b, &s->names, &s->n_names, &s->cap_names, (struct binding) { name, v });
}

/* A symbol that is said to be a size of the stream's is that. */
static rill_status symbol_take(struct builder *b, const char *name, struct val *ret)
{
    struct nnef_sizes *z = b->sizes;
    const size_t n = strlen(name);
    for (unsigned i = 0; z && z->set[i] && i < 64; i++) {
        const struct dim *to, *of[2];
        if (strncmp(z->set[i], name, n) != 0 || z->set[i][n] != '=')
            continue;
        TRY(dim_parse(b->dims, z->set[i] + n + 1, &to, b->err));
        if (dim_symbols(to, of, 0, 2) != 1 || strcmp(dim_name(of[0]), z->stream) != 0)
            continue;
        *ret = val_of_dim(to);
        z->taken |= UINT64_C(1) << i;
    }
    return RILL_OK;
}

rill_status symbol_add(struct builder *b, const char *name, struct val *ret)
{
    char printed[1100]; /* a name is of less than 256 bytes */
    *ret = (struct val) { .kind = VAL_DIM, .dim = dim_symbol(b->dims, name) };
    if (!ret->dim)
        return nnef_no_memory(b);
    dim_print(ret->dim, printed, sizeof printed);
    const char *size = arena_printf(b->arena, "%s >= 0", printed);
    if (!size)
        return nnef_no_memory(b);
    TRY(dims_assert(b->dims, size, b->err));
    TRY(symbol_take(b, name, ret));
    return binding_add(b, &b->symbols, &b->n_symbols, &b->cap_symbols,
                       (struct binding) { name, *ret });
}

rill_status symbol_bind(struct builder *b, const struct dim *symbol)
{
    return binding_add(b, &b->symbols, &b->n_symbols, &b->cap_symbols,
                       (struct binding) { dim_name(symbol), val_of_dim(symbol) });
}

static const struct val *binding_find(const struct binding *list, uint32_t n, const char *name)
{
    for (uint32_t i = n; i-- > 0;)
        if (!strcmp(list[i].name, name))
            return &list[i].v;
    return NULL;
}

const struct val *symbol_find(const struct builder *b, const char *name)
{
    return binding_find(b->symbols, b->n_symbols, name);
}

const struct val *scope_find(const struct scope *s, const char *name)
{
    return binding_find(s->names, s->n_names, name);
}

const struct nnef_fragment *fragment_find(const struct builder *b, const char *name)
{
    for (const struct nnef_fragment *f = b->doc->fragments; f; f = f->next)
        if (!strcmp(f->name, name))
            return f;
    for (const struct nnef_fragment *f = b->formulas; f; f = f->next)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

bool speaks_tract(const struct builder *b)
{
    const struct nnef_extension *x = b->doc->extensions;
    while (x && strcmp(x->name, "tract_registry") != 0)
        x = x->next;
    return x != NULL;
}

bool comes_of_tract(const struct builder *b)
{
    for (const struct nnef_extension *x = b->doc->extensions; x; x = x->next)
        if (!strncmp(x->name, "tract_", 6))
            return true;
    return fragment_find(b, "tract_core_properties") != NULL;
}

static bool tells_of_pulses(const struct nnef_expr *e)
{
    bool found = (e->kind == NNEF_EXPR_TEXT && !strcmp(e->text, "pulse.delay")) ||
        (e->kind == NNEF_EXPR_CALL && !strncmp(e->text, "tract_pulse_", 12));
    for (uint32_t i = 0; !found && i < e->n_part; i++)
        found = e->part[i] && tells_of_pulses(e->part[i]);
    return found;
}

static bool fragment_tells_of_pulses(const struct nnef_fragment *f)
{
    bool found = false;
    for (uint32_t i = 0; !found && i < f->n_body; i++)
        found = tells_of_pulses(f->body[i].right);
    return found;
}

bool is_of_pulses(const struct builder *b)
{
    bool found = fragment_tells_of_pulses(&b->doc->graph);
    for (const struct nnef_fragment *f = b->doc->fragments; !found && f; f = f->next)
        found = fragment_tells_of_pulses(f);
    return found;
}

const char *registry_of(const struct builder *b, const char *operator_name)
{
    for (const struct nnef_extension *x = b->doc->extensions; x; x = x->next) {
        size_t n = strlen(x->text);
        if (!strcmp(x->name, "tract_registry") && !strncmp(operator_name, x->text, n) &&
            operator_name[n] == '_')
            return x->text;
    }
    return NULL;
}

/* "a_" is of all that begin so. */
static bool names_operator(const char *entry, const char *name)
{
    const size_t n = strlen(entry);
    return entry[n - 1] == '_' ? !strncmp(name, entry, n) : !strcmp(name, entry);
}

const char *missing_because(const char *operator_name)
{
    static const char complex[] = "there is no complex type; pairs along the last axis are read";
    static const char drawn[] = "it draws numbers, not the same ones twice";
    static const char lookups[] = "lookups and trees are not of audio";
    static const char packed[] = "a cache of few bits is packed in a way of the program's own";
    static const char regions[] = "regions of pictures are not of audio";
    static const char *const missing[][2] = {
        { "avg_roi_pool", regions },
        { "max_roi_pool", regions },
        { "avg_roi_align", regions },
        { "max_roi_align", regions },
        { "roi_resample", regions },
        { "tract_core_complex_to_inner_dim", complex },
        { "tract_core_inner_dim_to_complex", complex },
        { "tract_onnx_multinomial", drawn },
        { "tract_onnx_random", drawn },
        { "tract_onnx_non_max_suppression", regions },
        { "tract_onnx_ml_", lookups }, /* all of them */
        { "tract_transformers_quantized_dyn_kv_cache", packed },
        { "tract_transformers_quantized_kv_sdpa", packed },
        { "tract_core_vptq_gemm", "weights as entries of codebooks are those of language models" },
    };
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (names_operator(missing[i][0], operator_name))
            return missing[i][1];
    return NULL;
}

rill_status inputs_sort(struct builder *b, struct scope *s)
{
    const struct nnef_fragment *f = s->inputs_of;
    const uint32_t n = s->g->n_inputs;
    uint32_t *order = arena_array(b->arena, uint32_t, (size_t) f->n_params + n + 1),
             more = f->n_params;
    if (!order)
        return nnef_no_memory(b);
    for (uint32_t i = 0; i < f->n_params; i++) {
        uint32_t k = 0;
        while (k < n &&
               (s->g->inputs[k] == WIRE_NONE ||
                strcmp(s->g->wires[s->g->inputs[k]].name, f->params[i].name) != 0))
            k++;
        if (k == n)
            return nnef_fail(
                b, s, f->params[i].pos, RILL_MALFORMED,
                "input '%.60s' is nowhere declared: %.60s = external<scalar>(shape = [...]);",
                f->params[i].name, f->params[i].name);
        order[i] = s->g->inputs[k];
        s->g->inputs[k] = WIRE_NONE;
    }
    for (uint32_t k = 0; k < n; k++) /* caches, which the head does not name */
        if (s->g->inputs[k] != WIRE_NONE)
            order[more++] = s->g->inputs[k];
    s->g->inputs = order;
    s->g->cap_inputs = f->n_params + n + 1;
    return RILL_OK;
}

const char *label_file(const struct builder *b, const char *label, const char *ending)
{
    return arena_printf(b->arena, "%s%s%s", b->inside, label + strspn(label, "/"), ending);
}
