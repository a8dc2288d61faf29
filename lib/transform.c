/* SPDX-License-Identifier: MIT */
/* What a caller wants changed of a model before it is typed for good: symbols set, assertions, and
 * transforms in order, each a row of the table below (docs/transforms.md). */
#include "lib/transform.h"
#include "lib/cut.h"
#include "engine/ops/rnn.h"
#include "engine/graph/interface.h"
#include "engine/graph/subst.h"
#include "engine/rewrite/declutter/declutter.h"
#include "models/nnef/nnef.h"
#include "lib/spec.h"
#include "lib/typing.h"
#include "lib/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS_MAX 64
#define TRANSFORMS_MAX 128

/* A symbol that was replaced. Later expressions mean what it stands for. */
struct setting {
    const struct dim *symbol, *to;
    bool used; /* by the graph or by a later expression */
};

/* A symbol that came up in an expression first. */
struct newcomer {
    const struct dim *symbol;
    const char *name, *text; /* of the setting */
};

struct transforming {
    rill_model *m;
    struct folder *folder;
    struct mgraph g;    /* so far */
    struct fact *facts; /* of g's wires, as far as it could be typed */
    rill_status typed;  /* whether it could */
    rill_error why;     /* why not */
    struct time_choice time;
    struct setting set[SYMBOLS_MAX];
    unsigned n_set;
    struct newcomer new[SYMBOLS_MAX];
    unsigned n_new;
    bool ended;       /* by pulse() */
    bool is_placed;   /* err names transform and column */
    const char *note; /* what the last transform wants people to know */
    rill_error *err;
};

/* spec_fail, once: what a transform says of itself has its name and place already. */
#define transform_fail(r, s, column, ...)                                                          \
    ((r)->is_placed = true, spec_fail(s, column, (r)->err, __VA_ARGS__))

static rill_status no_memory(const struct transforming *r)
{
    return err_set(r->err, RILL_NOMEM, "out of memory");
}

static size_t text_add(char *buf, size_t cap, size_t at, const char *sep, const char *text)
{
    if (at < cap)
        at += (size_t) snprintf(buf + at, cap - at, "%s%.60s", at ? sep : "", text);
    return at;
}

/* ---- symbols ---- */

static void symbols_print(const struct graph *g, char *buf, size_t cap)
{
    const struct dim *list[SYMBOLS_MAX];
    unsigned n = graph_symbols(g, list, 0, SYMBOLS_MAX);
    size_t at = 0;
    snprintf(buf, cap, "none");
    for (unsigned i = 0; i < n; i++)
        at = text_add(buf, cap, at, ", ", dim_name(list[i]));
}

static bool graph_mentions(const struct graph *g, const struct dim *symbol)
{
    const struct dim *list[SYMBOLS_MAX];
    unsigned n = graph_symbols(g, list, 0, SYMBOLS_MAX);
    for (unsigned i = 0; i < n; i++)
        if (list[i] == symbol)
            return true;
    return false;
}

/* Remembers the symbols that were named since `known`. */
static rill_status newcomers_add(struct transforming *r, const struct dim *known, const char *name,
                                 const char *text)
{
    struct arena *a = &r->m->arena;
    for (const struct dim *d = dims_newest_symbol(r->m->dims); d != known;
         d = dim_older_symbol(d)) {
        if (r->n_new == SYMBOLS_MAX)
            return err_set(r->err, RILL_LIMIT, "more than %d new symbols", SYMBOLS_MAX);
        struct newcomer *c = &r->new[r->n_new++];
        *c = (struct newcomer) { d, arena_string(a, name), arena_string(a, text) };
        if (!c->name || !c->text)
            return no_memory(r);
    }
    return RILL_OK;
}

static rill_status set_expression(struct transforming *r, const char *name, const char *text,
                                  const struct dim **ret)
{
    const struct dim *known = dims_newest_symbol(r->m->dims);
    TRY(dim_parse(r->m->dims, text, ret, r->err));
    TRY(newcomers_add(r, known, name, text));
    for (unsigned i = 0; i < r->n_set; i++) {
        r->set[i].used |= dim_mentions(*ret, r->set[i].symbol);
        *ret = dim_subst(r->m->dims, *ret, r->set[i].symbol, r->set[i].to);
    }
    return dims_status(r->m->dims, r->err);
}

static rill_status symbol_set(struct transforming *r, const char *name, const char *text)
{
    const struct dim *symbol = dim_symbol(r->m->dims, name), *to;
    TRY(dims_status(r->m->dims, r->err));
    for (unsigned i = 0; i < r->n_set; i++)
        if (r->set[i].symbol == symbol)
            return err_set(r->err, RILL_INVALID, "symbol '%.80s' has been set already", name);
    if (r->n_set == SYMBOLS_MAX)
        return err_set(r->err, RILL_LIMIT, "more than %d symbols to set", SYMBOLS_MAX);
    TRY(set_expression(r, name, text, &to));
    bool used = graph_mentions(&r->g.g, symbol);
    r->set[r->n_set++] = (struct setting) { symbol, to, used };
    struct mgraph made;
    TRY(graph_with_symbol(&made.g, &r->g.g, symbol, to, r->err));
    r->g = made;
    return RILL_OK;
}

/* "SYM=EXPR" */
static rill_status pair_set(struct transforming *r, const char *text)
{
    const char *at = strchr(text, '=');
    char name[256];
    if (!at || at == text || (size_t) (at - text) >= sizeof name)
        return err_set(r->err, RILL_INVALID, "'%.100s' is not of the form SYMBOL=EXPRESSION", text);
    memcpy(name, text, (size_t) (at - text));
    name[at - text] = 0;
    rill_status s = symbol_set(r, name, at + 1);
    return s == RILL_OK ? s : err_prefix(r->err, s, "set '%.100s'", text);
}

/* A new symbol that a later pair sets, or that counts time, is meant. */
static bool newcomer_meant(const struct transforming *r, const struct dim *symbol)
{
    bool meant = r->time.name && !strcmp(r->time.name, dim_name(symbol));
    for (unsigned i = 0; i < r->n_set; i++)
        meant |= r->set[i].symbol == symbol;
    return meant;
}

static rill_status newcomers_check(const struct transforming *r)
{
    char known[200];
    for (unsigned i = 0; i < r->n_new; i++) {
        const struct newcomer *c = &r->new[i];
        if (newcomer_meant(r, c->symbol))
            continue;
        symbols_print(&r->m->mgraph.g, known, sizeof known);
        return err_set(r->err, RILL_INVALID,
                       "set '%.60s=%.60s': nothing has a symbol '%.60s'; the model has: %s; one "
                       "that is new is named by an assertion ('%.60s>=1') or as the stream",
                       c->name, c->text, dim_name(c->symbol), known, dim_name(c->symbol));
    }
    return RILL_OK;
}

/* A symbol that neither the graph nor a later expression had is a mistyped one. */
static rill_status settings_check(const struct transforming *r)
{
    char known[200];
    for (unsigned i = 0; i < r->n_set; i++) {
        if (r->set[i].used)
            continue;
        symbols_print(&r->g.g, known, sizeof known);
        return err_set(
            r->err, RILL_INVALID,
            "symbol '%.80s' was set, but neither the model nor a later expression mentions "
            "it; symbols that are left: %s",
            dim_name(r->set[i].symbol), known);
    }
    return RILL_OK;
}

/* An assertion about a symbol that the file, the graph made of it and the settings lack is
 * mistyped. */
static rill_status asserts_check(struct transforming *r, const rill_model_opts *o)
{
    const struct dim *known[SYMBOLS_MAX], *list[SYMBOLS_MAX];
    unsigned n = graph_symbols(&r->m->mgraph.g, known, 0, SYMBOLS_MAX);
    n = graph_symbols(&r->g.g, known, n, SYMBOLS_MAX);
    for (unsigned i = 0; i < r->n_set; i++)
        n = dim_symbols(r->set[i].to, known, dim_symbols(r->set[i].symbol, known, n, SYMBOLS_MAX),
                        SYMBOLS_MAX);
    for (unsigned i = 0; o->asserts && o->asserts[i] && n < SYMBOLS_MAX; i++) {
        const char *text = o->asserts[i];
        unsigned n_list = dims_relation_symbols(r->m->dims, text, list, 0, SYMBOLS_MAX);
        for (unsigned k = 0; k < n_list; k++)
            if (dim_symbols(list[k], known, n, SYMBOLS_MAX) != n)
                return err_set(r->err, RILL_INVALID,
                               "assertion '%.100s': nothing has a symbol '%.80s'", text,
                               dim_name(list[k]));
    }
    return RILL_OK;
}

/* ---- the transforms ---- */

/* The name of a symbol, of one that the model has or of a new one. */
static rill_status symbol_check(struct transforming *r, const struct spec *s,
                                const struct spec_arg *a, const char *name)
{
    const struct dim *list[SYMBOLS_MAX];
    const unsigned n = graph_symbols(&r->g.g, list, 0, SYMBOLS_MAX);
    bool has = dim_is_name(name);
    for (unsigned i = 0; i < n && !has; i++)
        has = !strcmp(dim_name(list[i]), name);
    return has ? RILL_OK
               : transform_fail(r, s, a->column,
                                "'%.40s' is no symbol, which is a letter or _ and then letters, "
                                "digits, _ and .",
                                name);
}

static rill_status do_set_symbols(struct transforming *r, const struct spec *s)
{
    for (unsigned i = 0; i < s->n_args; i++) {
        const struct spec_arg *a = &s->arg[i];
        if (!a->key)
            return transform_fail(r, s, a->column, "expected SYMBOL: value");
        TRY(symbol_check(r, s, a, a->key));
        rill_status status = symbol_set(r, a->key, a->value);
        r->is_placed = status != RILL_OK;
        if (r->is_placed)
            return err_prefix(r->err, status, "transform '%.100s', column %u", s->text, a->column);
    }
    return RILL_OK;
}

static rill_status names_read(struct transforming *r, const struct spec *s, const char **ret)
{
    for (unsigned i = 0; i < s->n_args; i++) {
        if (s->arg[i].key)
            return transform_fail(r, s, s->arg[i].column,
                                  "'%.40s:' has no place here; expected names of wires (those that "
                                  "are no plain words in quotes)",
                                  s->arg[i].key);
        ret[i] = s->arg[i].value;
    }
    return RILL_OK;
}

static rill_status do_select_outputs(struct transforming *r, const struct spec *s)
{
    const char *names[SPEC_ARGS_MAX];
    struct mgraph made;
    TRY(names_read(r, s, names));
    TRY(graph_with_outputs(&made.g, &r->g.g, names, s->n_args, r->err));
    r->g = made;
    return RILL_OK;
}

/* What needs shapes may lack those behind the node that could not be typed. */
static rill_status untyped_refuse(const struct transforming *r, rill_status status)
{
    if (status == RILL_OK || r->typed == RILL_OK || !r->err)
        return status;
    size_t at = strlen(r->err->text);
    snprintf(r->err->text + at, sizeof r->err->text - at, " (typing stops before: %.240s)",
             r->why.text);
    return status;
}

static rill_status do_select_inputs(struct transforming *r, const struct spec *s)
{
    const char *names[SPEC_ARGS_MAX];
    struct mgraph made;
    TRY(names_read(r, s, names));
    TRY(untyped_refuse(r, graph_with_inputs(&made.g, &r->g.g, r->facts, names, s->n_args, r->err)));
    r->g = made;
    return RILL_OK;
}

static rill_status key_refuse(struct transforming *r, const struct spec *s,
                              const struct spec_arg *a, const char *known)
{
    return transform_fail(r, s, a->column, "unknown argument '%.40s'; known: %s",
                          a->key ? a->key : a->value, known);
}

static rill_status do_patch(struct transforming *r, const struct spec *s)
{
    const char *body = NULL;
    struct mgraph made;
    for (unsigned i = 0; i < s->n_args; i++) {
        if (s->arg[i].key && strcmp(s->arg[i].key, "body") != 0)
            return key_refuse(r, s, &s->arg[i], "body");
        if (body)
            return transform_fail(r, s, s->arg[i].column, "one body is enough");
        body = s->arg[i].value;
    }
    if (!body)
        return transform_fail(r, s, (unsigned) strlen(s->text),
                              "patch wants a body: \"name = expression;\"");
    struct nnef_source source = { .file = "patch",
                                  .text = body,
                                  .n = strlen(body),
                                  .folder = r->folder,
                                  .cut = graph_cut_to_frames };
    TRY(mgraph_patched(&made, &r->g, r->facts, &source, NULL, r->err));
    r->g = made;
    return RILL_OK;
}

static rill_status number_read(struct transforming *r, const struct spec *s,
                               const struct spec_arg *a, int64_t *ret)
{
    char *end = NULL;
    *ret = strtoll(a->value, &end, 10);
    return *a->value < '0' || *a->value > '9' || *end || *ret > INT32_MAX
        ? transform_fail(r, s, a->column, "'%.40s' is not a number of frames", a->value)
        : RILL_OK;
}

/* input, size, hop by place or by name; axis and symbol by name. */
static rill_status window_read(struct transforming *r, const struct spec *s, struct windowing *w)
{
    static const char *const keys[] = { "input", "size", "hop", "axis", "symbol" };
    enum { INPUT, SIZE, HOP, AXIS, SYMBOL, KEYS };
    const struct spec_arg *given[KEYS] = { NULL };
    int64_t axis = -1;
    for (unsigned i = 0; i < s->n_args; i++) {
        const struct spec_arg *a = &s->arg[i];
        unsigned k = a->key ? 0 : i;
        while (a->key && k < KEYS && strcmp(keys[k], a->key) != 0)
            k++;
        if (k >= (a->key ? KEYS : AXIS))
            return key_refuse(r, s, a, "input, size, hop, axis, symbol");
        if (given[k])
            return transform_fail(r, s, a->column, "'%s' is given twice", keys[k]);
        given[k] = a;
    }
    for (unsigned k = INPUT; k <= HOP; k++)
        if (!given[k])
            return transform_fail(r, s, (unsigned) strlen(s->text),
                                  "it wants an input, the frames of a window, and those from one "
                                  "window to the next: window(x, 76, 8)");
    TRY(number_read(r, s, given[SIZE], &w->size));
    TRY(number_read(r, s, given[HOP], &w->hop));
    TRY(given[AXIS] ? number_read(r, s, given[AXIS], &axis) : RILL_OK);
    TRY(given[SYMBOL] ? symbol_check(r, s, given[SYMBOL], given[SYMBOL]->value) : RILL_OK);
    w->axis = (int) axis;
    w->input = given[INPUT]->value;
    w->symbol = given[SYMBOL] ? given[SYMBOL]->value : r->time.name;
    return RILL_OK;
}

static rill_status do_window(struct transforming *r, const struct spec *s)
{
    struct windowing w;
    struct mgraph made;
    const char *symbol;
    TRY(window_read(r, s, &w));
    TRY(untyped_refuse(r, mgraph_windowed(&made, &r->g, r->facts, &w, &symbol, r->err)));
    if (r->m->batch)
        r->m->batch_of_windows = r->m->batch;
    r->g = made;
    r->time.name = symbol;
    return RILL_OK;
}

static rill_status do_pulse(struct transforming *r, const struct spec *s)
{
    for (unsigned i = 0; i < s->n_args; i++) {
        const struct spec_arg *a = &s->arg[i];
        char *end = NULL;
        if (a->key && !strcmp(a->key, "symbol")) {
            TRY(symbol_check(r, s, a, a->value));
            r->time.name = a->value;
            continue;
        }
        if (!a->key || strcmp(a->key, "pulse") != 0)
            return key_refuse(r, s, a, "symbol, pulse");
        unsigned long long n = strtoull(a->value, &end, 10);
        if (*a->value < '0' || *a->value > '9' || *end || n > UINT32_MAX)
            return transform_fail(
                r, s, a->column, "a pulse is a number of frames, 0 for as few as the model allows");
        r->m->pulse = (uint32_t) n;
    }
    r->ended = true;
    return RILL_OK;
}

static rill_status do_external_states(struct transforming *r, const struct spec *s)
{
    struct mgraph made;
    unsigned n = 0;
    if (s->n_args)
        return transform_fail(r, s, s->arg[0].column, "it takes no arguments");
    TRY(graph_with_external_states(&made.g, &r->g.g, &n, r->err));
    if (!n)
        return err_set(r->err, RILL_INVALID, "the model has no Scan");
    r->note = arena_printf(
        &r->m->arena,
        "the states of %u Scan%s start from their inputs in every run, for old files whose "
        "caller carries them; a file should declare its states instead",
        n, n > 1 ? "s" : "");
    r->g = made;
    return r->note ? RILL_OK : no_memory(r);
}

static rill_status do_recurrent_weights(struct transforming *r, const struct spec *s)
{
    static const char *const names[] = { [RECURRENT_F32] = "f32", [RECURRENT_I16] = "i16" };
    if (s->n_args != 1)
        return transform_fail(r, s, (unsigned) strlen(s->text), "it wants one of: f32, i16");
    if (s->arg[0].key)
        return key_refuse(r, s, &s->arg[0], "f32, i16");
    for (int i = RECURRENT_F32; i <= RECURRENT_I16; i++)
        if (!strcmp(names[i], s->arg[0].value)) {
            r->m->recurrent = i;
            return RILL_OK;
        }
    return key_refuse(r, s, &s->arg[0], "f32, i16");
}

static const struct transform {
    struct transform_help help;
    rill_status (*run)(struct transforming *r, const struct spec *s);
} transforms[] = {
    { { "set_symbols", "set_symbols(SYMBOL: value, ...)",
        "symbols become numbers or expressions in quotes, one after the "
        "other" },
      do_set_symbols },
    { { "select_inputs", "select_inputs(wire, ...)",
        "these wires are the inputs; what only fed them is gone" },
      do_select_inputs },
    { { "select_outputs", "select_outputs(wire, ...)",
        "these wires are the outputs; what they do not need is gone" },
      do_select_outputs },
    { { "patch", "patch(body: \"wire = expression; ...\")",
        "statements of NNEF redefine wires; an input that nothing reads "
        "any more is gone" },
      do_patch },
    { { "window", "window(input, size, hop)",
        "the net is run on windows of the stream that input is: of so many frames, so many apart; "
        "axis: N says along which axis" },
      do_window },
    { { "pulse", "pulse(symbol: SYMBOL, pulse: frames)",
        "the symbol counts time, plans take that many frames; ends the "
        "list" },
      do_pulse },
    { { "force_scan_external_state", "force_scan_external_state",
        "every Scan starts from its inputs in every run; for old "
        "files only" },
      do_external_states },
    { { "recurrent_weights", "recurrent_weights(i16)",
        "recurrent weights beyond 48 KB a cell are kept in 16 bits: faster, "
        "other results; f32: as they are" },
      do_recurrent_weights },
};

bool transform_at(unsigned i, struct transform_help *ret)
{
    if (i >= sizeof transforms / sizeof *transforms)
        return false;
    *ret = transforms[i].help;
    return true;
}

/* ---- running them ---- */

static rill_status spec_run(struct transforming *r, const char *text)
{
    struct spec *s = arena_new(&r->m->arena, struct spec);
    char known[240];
    size_t at = 0, i = 0;
    if (!s)
        return no_memory(r);
    TRY(spec_parse(s, &r->m->arena, text, r->err));
    if (r->ended)
        return transform_fail(r, s, 1, "nothing may follow 'pulse', which ends the list");
    while (i < sizeof transforms / sizeof *transforms &&
           strcmp(transforms[i].help.name, s->name) != 0)
        i++;
    if (i < sizeof transforms / sizeof *transforms) {
        r->note = NULL;
        rill_status status = transforms[i].run(r, s);
        return status == RILL_OK || r->is_placed
            ? status
            : err_prefix(r->err, status, "transform '%.100s'", s->text);
    }
    for (i = 0; i < sizeof transforms / sizeof *transforms; i++)
        at = text_add(known, sizeof known, at, ", ", transforms[i].help.name);
    return transform_fail(r, s, 1, "unknown transform '%.40s'; known: %s", s->name, known);
}

/* Types what there is now. A graph may only become fit for it by a later transform. */
static rill_status transform_end(struct transforming *r, const char *spec)
{
    rill_model *m = r->m;
    struct transformed_model *st = &m->transforms[m->n_transforms];
    r->facts = arena_array(&m->arena, struct fact, r->g.g.n_wires + 1u);
    *st = (struct transformed_model) { .spec = spec ? arena_string(&m->arena, spec) : "",
                                       .note = r->note,
                                       .mgraph = r->g };
    if (!r->facts || !st->spec)
        return no_memory(r);
    r->why = (rill_error) { RILL_OK, "" };
    r->typed = model_type(m, &r->g, &r->time, &st->typed, r->facts, &r->why);
    st->is_typed = r->typed == RILL_OK;
    if (!(st->why = arena_string(&m->arena, r->why.text)))
        return no_memory(r);
    m->n_transforms++;
    return dims_status(m->dims, r->err);
}

static unsigned list_count(const char *const *list)
{
    unsigned n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* Transform 0 is the graph after the pairs, transform k that after the k-th. */
static rill_status transforms_run(struct transforming *r, const rill_model_opts *o)
{
    unsigned n = list_count(o->transforms);
    if (n >= TRANSFORMS_MAX)
        return err_set(r->err, RILL_LIMIT, "%u transforms, at most %d", n, TRANSFORMS_MAX - 1);
    r->m->transforms = arena_array(&r->m->arena, struct transformed_model, n + 1);
    if (!r->m->transforms)
        return no_memory(r);
    for (unsigned i = 0; o->set && o->set[i]; i++) {
        TRY(pair_set(r, o->set[i]));
        r->set[r->n_set - 1].used |= i < 64 && r->m->set_as_read >> i & 1;
    }
    TRY(transform_end(r, NULL));
    for (unsigned i = 0; i < n; i++) {
        TRY(spec_run(r, o->transforms[i]));
        TRY(transform_end(r, o->transforms[i]));
    }
    TRY(newcomers_check(r));
    return settings_check(r);
}

rill_status model_transform_and_type(rill_model *m, const rill_model_opts *opts, bool guess_time,
                                     struct folder *folder, rill_error *reterr)
{
    static const rill_model_opts none = { 0 };
    const rill_model_opts *o = opts ? opts : &none;
    struct transforming *r = arena_new(&m->arena, struct transforming);
    if (!r)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    *r = (struct transforming) { .m = m,
                                 .folder = folder,
                                 .g = m->mgraph,
                                 .err = reterr,
                                 .time = { .name = o->stream, .guess_by_name = guess_time } };
    TRY(list_count(o->set) || list_count(o->transforms) ? transforms_run(r, o) : RILL_OK);
    TRY(asserts_check(r, o));
    if (!m->n_transforms)
        return model_type(m, &m->mgraph, &r->time, &m->typed, NULL, reterr);
    if (r->typed != RILL_OK)
        return err_set(reterr, r->why.status, "%s", r->why.text);
    m->typed = m->transforms[m->n_transforms - 1].typed;
    return RILL_OK;
}

rill_status model_assert(rill_model *m, const rill_model_opts *opts, rill_error *reterr)
{
    for (unsigned i = 0; opts && opts->asserts && opts->asserts[i]; i++) {
        rill_status s = dims_claim(m->dims, opts->asserts[i], reterr);
        if (s != RILL_OK)
            return err_prefix(reterr, s, "assertion");
    }
    return RILL_OK;
}
