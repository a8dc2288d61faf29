/* SPDX-License-Identifier: MIT */
/* What wires are called in a text: identifiers, each once. */
#include "engine/base/err.h"
#include "models/export/writer.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 120
#define ROUNDS_MAX 32
#define SYMBOLS_MAX 256

struct entry {
    const char *name;
    uint32_t wire; /* WIRE_NONE: a symbol */
    bool fixed;    /* keeps its name */
};

bool is_keyword(const char *name)
{
    static const char *const words[] = { "version", "extension", "graph",    "fragment", "tensor",
                                         "integer", "scalar",    "logical",  "string",   "true",
                                         "false",   "for",       "in",       "if",       "else",
                                         "yield",   "lengthof",  "shape_of", "range_of" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_identifier(const char *s)
{
    if (!is_letter(*s) || is_keyword(s))
        return false;
    while (is_letter(*s) || (*s >= '0' && *s <= '9'))
        s++;
    return !*s;
}

static char *identifier_of(struct arena *a, const char *s)
{
    char *name = arena_printf(a, "%s%.*s", is_letter(*s) ? "" : "_", NAME_BYTES_MAX, s);
    for (char *at = name; at && *at; at++)
        if (!is_letter(*at) && !(*at >= '0' && *at <= '9'))
            *at = '_';
    return name && is_keyword(name) ? arena_printf(a, "%s_", name) : name;
}

static int entry_compare(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    int order = strcmp(a->name, b->name);
    if (order || a->fixed != b->fixed)
        return order ? order : b->fixed - a->fixed;
    return a->wire < b->wire ? -1 : a->wire > b->wire;
}

/* Renames what has the name of another; *ret_n: how many. */
static rill_status round_run(struct writer *w, struct entry *list, uint32_t n, uint32_t *ret_n)
{
    qsort(list, n, sizeof *list, entry_compare);
    uint32_t first = 0;
    *ret_n = 0;
    for (uint32_t i = 1; i < n; i++) {
        if (strcmp(list[i].name, list[first].name) != 0) {
            first = i;
            continue;
        }
        if (list[i].fixed && list[i].wire != WIRE_NONE && list[first].wire != WIRE_NONE)
            return err_set(w->doc->err, RILL_UNSUPPORTED,
                           "two inputs or outputs are called '%.80s'", list[i].name);
        if (list[i].fixed) {
            w->sizes_quoted = true;
            continue;
        }
        list[i].name = arena_printf(w->doc->arena, "%s_%u", list[i].name, list[i].wire);
        if (!list[i].name)
            return err_set(w->doc->err, RILL_NOMEM, "out of memory");
        ++*ret_n;
    }
    return RILL_OK;
}

static void fix(struct entry *list, const struct graph *g, const uint32_t *wires, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        list[wires[i]].fixed = true;
        list[wires[i]].name = g->wires[wires[i]].name;
    }
}

static unsigned graph_all_symbols(const struct graph *g, const struct dim **ret)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_wires; i++)
        for (int k = 0; k < g->wires[i].fact.rank; k++)
            n = dim_symbols(g->wires[i].fact.shape[k], ret, n, SYMBOLS_MAX);
    return n;
}

static rill_status names_quote(struct writer *w, const struct entry *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *name = list[i].name;
        if (list[i].wire == WIRE_NONE)
            continue;
        if (strpbrk(name, "`\n") || !*name)
            return err_set(w->doc->err, RILL_UNSUPPORTED,
                           "no name of the language can stand for '%.80s'", name);
        if (!is_identifier(name))
            name = arena_printf(w->doc->arena, "`%s`", name);
        if (!(w->name[list[i].wire] = name))
            return err_set(w->doc->err, RILL_NOMEM, "out of memory");
    }
    return RILL_OK;
}

rill_status names_make(struct writer *w, bool outermost)
{
    const struct graph *g = w->g;
    struct arena *a = w->doc->arena;
    const struct dim *symbol[SYMBOLS_MAX];
    unsigned n_symbols = graph_all_symbols(g, symbol);
    uint32_t n = g->n_wires + n_symbols, renamed = 1;
    struct entry *list = arena_array(a, struct entry, n + 1);
    w->name = arena_array(a, const char *, g->n_wires + 1);
    w->stated = arena_array(a, bool, g->n_wires + 1);
    if (!list || !w->name || !w->stated)
        return err_set(w->doc->err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_wires; i++) {
        list[i] = (struct entry) { .name = identifier_of(a, g->wires[i].name), .wire = i };
        if (!list[i].name)
            return err_set(w->doc->err, RILL_NOMEM, "out of memory");
    }
    for (unsigned i = 0; i < n_symbols; i++)
        list[g->n_wires + i] = (struct entry) { dim_name(symbol[i]), WIRE_NONE, true };
    if (outermost) {
        fix(list, g, g->inputs, g->n_inputs);
        fix(list, g, g->outputs, g->n_outputs);
    }
    for (int k = 0; renamed && k < ROUNDS_MAX; k++)
        TRY(round_run(w, list, n, &renamed));
    return names_quote(w, list, n);
}
