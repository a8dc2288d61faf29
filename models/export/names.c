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
    uint32_t same; /* the wire that is called so, too, or WIRE_NONE */
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
            return err_set(w->doc->err, RILL_UNSUPPORTED, "two inputs are called '%.80s'",
                           list[i].name);
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

static void inputs_fix(struct entry *list, const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        list[g->inputs[i]].fixed = true;
        list[g->inputs[i]].name = g->wires[g->inputs[i]].name;
    }
}

/* The input, or the output before where the format says one twice, that output i is under its own
 * name. */
static uint32_t output_same(const struct writer *w, uint32_t i)
{
    const struct graph *g = w->g;
    const struct wire *x = &g->wires[g->outputs[i]];
    const struct node *n = x->node == WIRE_NONE ? NULL : &g->nodes[x->node];
    const uint32_t from = n && node_is(n, OP_IDENTITY) ? n->in[0] : WIRE_NONE;
    bool is_port = false;
    for (uint32_t k = 0; k < g->n_inputs; k++)
        is_port |= g->inputs[k] == from;
    for (uint32_t k = 0; w->twice && k < i; k++)
        is_port |= g->outputs[k] == from;
    return is_port && !strcmp(g->wires[from].name, x->name) ? from : WIRE_NONE;
}

/* By one of these wires, which is neither the one that is named nor said once more. */
static bool is_taken(const struct writer *w, const struct entry *list, const uint32_t *wires,
                     uint32_t n, const struct entry *e)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct entry *x = &list[wires[i]];
        const bool once_more =
            e->same != WIRE_NONE && (wires[i] == e->same || (w->twice && x->same == e->same));
        if (x != e && !once_more && !strcmp(x->name, e->name))
            return true;
    }
    return false;
}

/* Where an input or an output before has the name, it counts: y, y_2. */
static bool outputs_fix(const struct writer *w, struct entry *list)
{
    const struct graph *g = w->g;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        struct entry *e = &list[g->outputs[i]];
        const char *name = e->name = g->wires[g->outputs[i]].name;
        e->same = output_same(w, i);
        for (unsigned k = 2; e->name &&
             (is_taken(w, list, g->inputs, g->n_inputs, e) || is_taken(w, list, g->outputs, i, e));
             k++) {
            e->name = arena_printf(w->doc->arena, "%s_%u", name, k);
            e->same = WIRE_NONE;
        }
        if (!e->name)
            return false;
        e->fixed = e->same == WIRE_NONE;
    }
    return true;
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
    for (uint32_t i = 0; i < n; i++)
        if (list[i].same != WIRE_NONE)
            w->name[list[i].wire] = w->name[list[i].same];
    return RILL_OK;
}

bool node_is_port(const struct node *n, const char *const *name)
{
    return node_is(n, OP_IDENTITY) && n->out[0] != WIRE_NONE &&
        !strcmp(name[n->in[0]], name[n->out[0]]);
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
        list[i] = (struct entry) { identifier_of(a, g->wires[i].name), i, false, WIRE_NONE };
        if (!list[i].name)
            return err_set(w->doc->err, RILL_NOMEM, "out of memory");
    }
    for (unsigned i = 0; i < n_symbols; i++)
        list[g->n_wires + i] = (struct entry) { dim_name(symbol[i]), WIRE_NONE, true, WIRE_NONE };
    if (outermost) {
        inputs_fix(list, g);
        if (!outputs_fix(w, list))
            return err_set(w->doc->err, RILL_NOMEM, "out of memory");
    }
    for (int k = 0; renamed && k < ROUNDS_MAX; k++)
        TRY(round_run(w, list, n, &renamed));
    return names_quote(w, list, n);
}
