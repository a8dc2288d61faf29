/* SPDX-License-Identifier: MIT */
/* What a text declares in front of its graph: symbols, assertions about them, registries. */
#include "models/nnef/build.h"

#include <string.h>

static rill_status extension_symbol(struct builder *b, const struct scope *s,
                                    const struct nnef_extension *x)
{
    struct nnef_fragment names;
    struct val v;
    if (nnef_parse_signature(&names, b->arena, s->file, x->text, NULL) != RILL_OK)
        return nnef_fail(b, s, x->pos, RILL_MALFORMED, "'extension %s' declares names: S, T",
                         x->name);
    for (uint32_t i = 0; i < names.n_params; i++)
        TRY(symbol_add(b, names.params[i].name, &v));
    return RILL_OK;
}

static bool listed(const char *name, const char *const *list)
{
    while (*list && strcmp(name, *list) != 0)
        list++;
    return *list != NULL;
}

/* An operator of a registry that is not known is refused where it is called. */
static rill_status extension_registry(struct builder *b, const struct scope *s,
                                      const struct nnef_extension *x)
{
    static const char *const registries[] = {
        "tract_core",         "tract_onnx",  "tract_pulse", "tract_resource",
        "tract_transformers", "tract_extra", NULL
    };
    if (listed(x->text, registries))
        return RILL_OK;
    return nnef_fail(b, s, x->pos, RILL_UNSUPPORTED,
                     "the registry '%.60s' is not known, nor what its operators do", x->text);
}

/* "tg: S == 1": it holds in one way of running the model, and nothing is made for that alone. */
static bool is_of_mode(const struct nnef_extension *x)
{
    const size_t n =
        strspn(x->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n && x->text[n + strspn(x->text + n, " ")] == ':';
}

bool extension_is_assertion(const struct nnef_extension *x)
{
    return !strcmp(x->name, "rill_assert") || (!strcmp(x->name, "tract_assert") && !is_of_mode(x));
}

static rill_status extension_read(struct builder *b, const struct scope *s,
                                  const struct nnef_extension *x)
{
    static const char *const ignored[] = { "KHR_enable_fragment_definitions",
                                           "KHR_enable_operator_expressions", NULL };
    if (!strcmp(x->name, "rill_symbol") || !strcmp(x->name, "tract_symbol"))
        return extension_symbol(b, s, x);
    if (!strcmp(x->name, "tract_assert") && is_of_mode(x))
        return RILL_OK;
    if (extension_is_assertion(x)) {
        rill_status status = dims_claim(b->dims, x->text, b->err);
        return status == RILL_OK
            ? status
            : err_prefix(b->err, status, "%s:%u:%u", s->file, x->pos.line, x->pos.column);
    }
    if (!strcmp(x->name, "tract_registry"))
        return extension_registry(b, s, x);
    if (!strcmp(x->name, "tract_pulse_streaming_symbol")) /* the symbol of older files */
        return symbol_find(b, "S") ? RILL_OK : symbol_add(b, "S", &(struct val) { 0 });
    if (listed(x->name, ignored))
        return RILL_OK;
    return nnef_fail(
        b, s, x->pos, RILL_UNSUPPORTED,
        "extension '%.60s' is not supported; known: rill_symbol, "
        "rill_assert, KHR_enable_fragment_definitions, KHR_enable_operator_expressions",
        x->name);
}

rill_status extensions_read(struct builder *b, const struct scope *s)
{
    for (const struct nnef_extension *x = b->doc->extensions; x; x = x->next)
        TRY(extension_read(b, s, x));
    return RILL_OK;
}
