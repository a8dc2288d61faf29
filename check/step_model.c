/* SPDX-License-Identifier: MIT */
#include "check/step_model.h"
#include "check/reshapes.h"
#include "check/step_fill.h"
#include "check/step_merged.h"
#include "check/step_shapes.h"
#include "engine/graph/subst.h"
#include "engine/typing/typed.h"
#include "models/network/network.h"
#include "models/nnef/nnef.h"
#include "models/tarball.h"
#include "lib/pipeline.h"
#include "lib/transform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVE_FRAMES 1024 /* of states that grow, unless asked */
#define TEXT_ARCHIVE_BYTES_MAX ((uint64_t) 4 << 30)

/* ---- declarations ---- */

/* Splits "name<mark>rest"; false without the mark. The last mark counts: names may hold any
 * byte. */
static bool text_split(struct step_decl *d, const char *text, char mark, const char **ret_name,
                       const char **ret_rest)
{
    const char *at = strrchr(text, mark);
    if (!at || at == text)
        return false;
    *ret_name = arena_printf(&d->arena, "%.*s", (int) (at - text), text);
    *ret_rest = arena_string(&d->arena, at + 1);
    return *ret_name && *ret_rest;
}

void step_decl_drop(struct step_decl *d)
{
    arena_drop(&d->arena);
    *d = (struct step_decl) { .n_shapes = 0 };
}

struct step_shape *step_decl_add_shape(struct step_decl *d, const char *name)
{
    struct step_shape *more =
        arena_grow(&d->arena, d->shapes, d->n_shapes, &d->cap_shapes, sizeof *more);
    if (!more)
        return NULL;
    d->shapes = more;
    more[d->n_shapes] = (struct step_shape) { .name = name };
    return &more[d->n_shapes++];
}

bool step_decl_add_const(struct step_decl *d, const char *name, double value)
{
    struct step_const *more =
        arena_grow(&d->arena, d->consts, d->n_consts, &d->cap_consts, sizeof *more);
    if (!more)
        return false;
    d->consts = more;
    more[d->n_consts++] = (struct step_const) { name, value };
    return true;
}

bool step_decl_add_state(struct step_decl *d, const char *in, const char *out)
{
    struct step_state *more =
        arena_grow(&d->arena, d->states, d->n_states, &d->cap_states, sizeof *more);
    if (!more)
        return false;
    d->states = more;
    more[d->n_states++] = (struct step_state) { .in = in, .out = out };
    return true;
}

/* The bytes up to the comma that ends an axis; those within brackets belong to it. */
static size_t axis_length(const char *text)
{
    size_t n = 0;
    for (int depth = 0; text[n] && (depth > 0 || text[n] != ','); n++)
        depth += text[n] == '(' ? 1 : text[n] == ')' ? -1 : 0;
    return n;
}

/* One axis of n bytes: a number from 0 on, or an expression that is read with the file. */
static bool axis_add(struct step_decl *d, struct step_shape *s, const char *text, size_t n)
{
    char *end;
    if (!n || s->rank == RANK_MAX)
        return false;
    errno = 0;
    s->dim[s->rank] = strtoll(text, &end, 10);
    bool number = end == text + n && !errno;
    if (number && s->dim[s->rank] < 0)
        return false;
    if (!number && !(s->text[s->rank] = arena_printf(&d->arena, "%.*s", (int) n, text)))
        return false;
    s->rank++;
    return true;
}

bool step_decl_shape(struct step_decl *d, const char *text)
{
    struct step_shape s = { 0 }, *added;
    const char *rest;
    if (!text_split(d, text, '=', &s.name, &rest))
        return false;
    for (size_t n; *rest; rest += n + (rest[n] == ','))
        if (!axis_add(d, &s, rest, n = axis_length(rest)))
            return false;
    added = step_decl_add_shape(d, s.name);
    if (added)
        *added = s;
    return added;
}

bool step_decl_const(struct step_decl *d, const char *text)
{
    char *end;
    const char *name, *rest;
    if (!text_split(d, text, '=', &name, &rest))
        return false;
    double v = strtod(rest, &end);
    return end != rest && !*end && step_decl_add_const(d, name, v);
}

bool step_decl_state(struct step_decl *d, const char *text)
{
    const char *name, *rest;
    return text_split(d, text, ':', &name, &rest) && *rest && step_decl_add_state(d, name, rest);
}

/* ---- applying them ---- */

static void list_remove(uint32_t *list, uint32_t *n, uint32_t k)
{
    memmove(&list[k], &list[k + 1], (*n - k - 1) * sizeof *list);
    --*n;
}

static bool states_have(const struct graph *g, const struct step_decl *d, const struct dim *symbol)
{
    for (uint32_t i = 0; i < d->n_states; i++) {
        const uint32_t k = step_port_find(g, g->inputs, g->n_inputs, d->states[i].in);
        const struct fact *f = k == WIRE_NONE ? NULL : &g->wires[g->inputs[k]].fact;
        for (int a = 0; f && a < f->rank; a++)
            if (dim_mentions(f->shape[a], symbol))
                return true;
    }
    return false;
}

/* Where states grow, what is open in the shape of a constant is not 1 unless a state has it too. */
static rill_status const_size_check(const struct graph *g, const struct step_decl *d,
                                    const struct wire *w, rill_error *err)
{
    char fact[160];
    bool known = true;
    for (int a = 0; d->grows.n && a < w->fact.rank; a++) {
        const struct dim *symbol = NULL;
        if (dim_symbols(w->fact.shape[a], &symbol, 0, 1))
            known = known && states_have(g, d, symbol);
    }
    if (known)
        return RILL_OK;
    fact_print(&w->fact, fact, sizeof fact);
    return err_set(err, RILL_INVALID,
                   "constant '%.80s' is %s, and states grow: a shape says how large it is with "
                   "them, as in %.80s=1,%s+1",
                   w->name, fact, w->name, d->grows.name[0]);
}

static rill_status consts_apply(struct graph *g, const struct step_decl *d, bool declared,
                                rill_error *err)
{
    for (uint32_t i = 0; i < d->n_consts; i++) {
        uint32_t k;
        TRY(step_input_find(g, d->consts[i].name, &k, err));
        struct wire *w = &g->wires[g->inputs[k]];
        if (step_fill_waits(d, &w->fact))
            continue;
        if (declared)
            TRY(const_size_check(g, d, w, err));
        struct tensor shape = { .type = w->fact.type };
        if (w->fact.rank > 0 && !fact_to_tensor(&w->fact, &shape)) {
            shape.rank = w->fact.rank;
            for (int a = 0; a < shape.rank; a++)
                shape.dim[a] = 1;
        }
        struct tensor *t = tensor_new(g->arena, shape.type, shape.rank, shape.dim);
        if (!t)
            return err_set(err, RILL_NOMEM, "out of memory");
        for (int64_t e = 0; e < tensor_count(t); e++)
            tensor_set_f64(t, t->data, e, d->consts[i].value);
        fact_of_tensor(&w->fact, g->dims, t);
        list_remove(g->inputs, &g->n_inputs, k);
    }
    return RILL_OK;
}

/* An output that grows with its state is no output of a step: it has no size of its own. */
static rill_status states_apply(struct graph *g, const struct step_decl *d, rill_error *err)
{
    for (uint32_t i = 0; i < d->n_states; i++) {
        uint32_t k, out = step_port_find(g, g->outputs, g->n_outputs, d->states[i].out);
        TRY(step_input_find(g, d->states[i].in, &k, err));
        if (out == WIRE_NONE)
            return step_port_missing(g, g->outputs, g->n_outputs, "output", d->states[i].out, err);
        if (!graph_add_state(g, d->states[i].in, g->inputs[k], g->outputs[out], NULL))
            return err_set(err, RILL_NOMEM, "out of memory");
        if (d->found && !fact_is_static(&g->wires[g->inputs[k]].fact))
            list_remove(g->outputs, &g->n_outputs, out);
        list_remove(g->inputs, &g->n_inputs, k);
    }
    return RILL_OK;
}

static bool shapes_have_symbols(const struct step_decl *d)
{
    for (uint32_t i = 0; i < d->n_shapes; i++)
        for (int a = 0; a < d->shapes[i].rank; a++)
            if (d->shapes[i].text[a])
                return true;
    return false;
}

/* A declared file, as reshapes_follow reads it. */
struct declared_file {
    const char *path;
    const struct step_decl *d;
    const rill_model_opts *opts;
};

static bool text_is_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    struct stat st;
    return dot && !strcmp(dot, ".nnef") && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool step_model_is_text(const char *path)
{
    struct stat st;
    struct folder f;
    if (tarball_is(path) || text_is_file(path))
        return true;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode) || folder_open(&f, path, NULL) != RILL_OK)
        return false;
    bool bare = folder_has(&f, "graph.nnef") && !folder_has(&f, "model.conf");
    folder_close(&f);
    return bare;
}

static rill_status text_open(struct folder *ret, const char **ret_file, const char *path,
                             struct arena *a, rill_error *err)
{
    const char *slash = strrchr(path, '/'), *in = ".";
    *ret_file = "graph.nnef";
    if (tarball_is(path))
        return tarball_open(ret, path, a, TEXT_ARCHIVE_BYTES_MAX, err);
    if (!text_is_file(path))
        return folder_open(ret, path, err);
    if (slash)
        in = slash == path ? "/" : arena_printf(a, "%.*s", (int) (slash - path), path);
    *ret_file = arena_string(a, slash ? slash + 1 : path);
    return in && *ret_file ? folder_open(ret, in, err) : err_set(err, RILL_NOMEM, "out of memory");
}

/* graph.nnef of a folder or an archive, or a file of its own, of which no model.conf speaks. */
static rill_status text_read(const char *path, struct mgraph *ret, struct arena *a,
                             struct dims *dims, rill_error *err)
{
    struct folder folder;
    const uint8_t *text;
    struct nnef_source source = { .folder = &folder };
    TRY(text_open(&folder, &source.file, path, a, err));
    rill_status s = folder_has(&folder, "model.conf") && !text_is_file(path)
        ? err_set(err, RILL_UNSUPPORTED, "a model.conf says what its ports mean")
        : folder_read(&folder, source.file, a, nnef_limits_default.text_bytes, &text, &source.n,
                      err);
    if (s == RILL_OK) {
        source.text = (const char *) text;
        s = mgraph_from_nnef(ret, a, dims, &source, NULL, err);
    }
    folder_close(&folder);
    return s;
}

static rill_status network_read(const char *path, struct mgraph *ret, struct arena *a,
                                struct dims *dims, rill_error *err)
{
    struct bytes b = { 0 };
    TRY(bytes_from_file(&b, path, 0, err));
    rill_status s = mgraph_from_network(ret, a, dims, &b, err);
    bytes_drop(&b);
    return s;
}

/* Sizes that --set gives as numbers: a constant is made before symbols are set. */
static void sizes_set(struct graph *g, struct fact *f, const rill_model_opts *opts)
{
    for (unsigned i = 0; opts && opts->set && opts->set[i]; i++) {
        const char *equals = strchr(opts->set[i], '=');
        char *end, name[128];
        const long long v = equals ? strtoll(equals + 1, &end, 10) : -1;
        if (v < 0 || end == equals + 1 || *end || equals - opts->set[i] >= (int) sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int) (equals - opts->set[i]), opts->set[i]);
        for (int a = 0; a < f->rank; a++)
            f->shape[a] =
                dim_subst(g->dims, f->shape[a], dim_symbol(g->dims, name), dim_int(g->dims, v));
    }
}

static void consts_set_sizes(struct graph *g, const struct declared_file *f)
{
    for (uint32_t i = 0; i < f->d->n_consts; i++) {
        const uint32_t k = step_port_find(g, g->inputs, g->n_inputs, f->d->consts[i].name);
        if (k != WIRE_NONE)
            sizes_set(g, &g->wires[g->inputs[k]].fact, f->opts);
    }
}

static rill_status file_read(void *arg, bool declared, struct mgraph *ret, struct arena *a,
                             struct dims *dims, rill_error *err)
{
    const struct declared_file *f = arg;
    TRY(step_model_is_text(f->path) ? text_read(f->path, ret, a, dims, err)
                                    : network_read(f->path, ret, a, dims, err));
    if (declared)
        TRY(step_shapes_apply(&ret->g, f->d, f->opts, err));
    consts_set_sizes(&ret->g, f);
    return consts_apply(&ret->g, f->d, declared, err);
}

/* The file with shapes and constants; states are still inputs and outputs. */
static rill_status graph_read(struct mgraph *ret, struct arena *a, struct dims *dims,
                              const char *path, const struct step_decl *d,
                              const rill_model_opts *opts, rill_error *err)
{
    struct declared_file f = { path, d, opts };
    const struct shape_reader r = { file_read, &f };
    TRY(file_read(&f, true, ret, a, dims, err));
    return shapes_have_symbols(d) ? reshapes_follow(ret, &r, err) : RILL_OK;
}

/* ---- states by name ---- */

static bool symbols_have(const struct step_symbols *s, const char *name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (!strcmp(s->name[i], name))
            return true;
    return false;
}

static void symbols_add(struct step_decl *d, struct step_symbols *s, const char *name)
{
    const char *kept =
        s->n < STEP_SYMBOLS_MAX && !symbols_have(s, name) ? arena_string(&d->arena, name) : NULL;
    if (kept)
        s->name[s->n++] = kept;
}

static rill_status symbol_fix(struct mgraph *m, const char *name, rill_error *err)
{
    struct graph g;
    TRY(graph_with_symbol(&g, &m->g, dim_symbol(m->g.dims, name), dim_int(m->g.dims, 1), err));
    m->g = g;
    return RILL_OK;
}

static bool state_is_declared(const struct step_decl *d, const char *in)
{
    for (uint32_t i = 0; i < d->n_states; i++)
        if (!strcmp(d->states[i].in, in))
            return true;
    return false;
}

/* What else comes in says how large it is, as what a decoder hears says it of the caches of that:
 * then nobody but the caller knows. An axis in front counts the batch. */
static bool said_by_input(const struct graph *g, const struct step_decl *d, const struct dim *s)
{
    for (uint32_t i = 0; d->grows.n && i < g->n_inputs; i++) {
        const struct wire *w = &g->wires[g->inputs[i]];
        for (int a = 1; a < w->fact.rank && !state_is_declared(d, w->name); a++)
            if (dim_mentions(w->fact.shape[a], s))
                return true;
    }
    return false;
}

/* A state has the same size in every run, but where it grows: 1 for the symbols of its shape. */
static rill_status state_symbols_fix(struct mgraph *m, const struct step_decl *d,
                                     const rill_model_opts *opts, rill_error *err)
{
    enum { AXIS_SYMBOLS_MAX = 16 };
    for (uint32_t i = 0; i < d->ones.n; i++)
        if (!step_symbol_is_set(opts, d->ones.name[i]))
            TRY(symbol_fix(m, d->ones.name[i], err));
    for (uint32_t i = 0; i < d->n_states; i++) {
        uint32_t k = step_port_find(&m->g, m->g.inputs, m->g.n_inputs, d->states[i].in);
        for (int a = 0; k != WIRE_NONE && a < m->g.wires[m->g.inputs[k]].fact.rank; a++) {
            const struct dim *list[AXIS_SYMBOLS_MAX];
            unsigned n =
                dim_symbols(m->g.wires[m->g.inputs[k]].fact.shape[a], list, 0, AXIS_SYMBOLS_MAX);
            for (unsigned s = 0; s < n; s++)
                if (!step_symbol_is_set(opts, dim_name(list[s])) &&
                    !symbols_have(&d->grows, dim_name(list[s])) &&
                    !said_by_input(&m->g, d, list[s]))
                    TRY(symbol_fix(m, dim_name(list[s]), err));
        }
    }
    return RILL_OK;
}

/* How an output is called that gives the next value of an input: name is what both have in common.
 * says: only where that tells of a state, as "audio_in" and "audio_out" are none. */
static const struct {
    const char *in_front, *in_end, *out_front, *out_end;
    bool says;
} pair_names[] = {
    { "", "", "new_", "", false },
    { "", "", "next_", "", false },
    { "attn_", "", "next_att_", "", false },
    { "", "", "", "_new", false },
    { "", "", "", "_next", false },
    { "past_", "", "present_", "", false },
    { "past.", "", "present.", "", false },
    { "past_key_values.", "", "present.", "", false },
    { "past_key_values.", "", "present_key_values.", "", false },
    { "prev_", "", "next_", "", false },
    { "prev_", "", "new_", "", false },
    { "old_", "", "new_", "", false },
    { "", "0", "", "n", true },
    { "", "_0", "", "_n", true },
    { "", "", "", "n", true },
    { "", "", "", "N", true },
    { "", "", "", "_out", true },
    { "", "", "out_", "", true },
    { "", "", "r_", "", true },
    { "", "_in", "", "_out", true },
    { "in_", "", "out_", "", true },
    { "input_", "", "output_", "", true },
};

static bool tells_of_state(const char *name, size_t n)
{
    static const char *const words[] = { "state", "cache",  "hidden", "memory",
                                         "past",  "buffer", "ctx",    "context" };
    char text[128];
    if (n == 1 && (*name == 'h' || *name == 'c'))
        return true;
    snprintf(text, sizeof text, "%.*s", (int) n, name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(text, words[i]))
            return true;
    return false;
}

/* A word of the output's own within the name, as cache_len and cache_next_len. */
static bool names_pair_within(const char *in, const char *out)
{
    static const char *const words[] = { "_next", "_new" };
    const size_t n = strlen(in);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t w = strlen(words[i]);
        for (size_t at = 1; strlen(out) == n + w && at < n && in[at - 1] == out[at - 1]; at++)
            if (in[at] == '_' && !strncmp(out + at, words[i], w) &&
                !strcmp(out + at + w, in + at) && !strncmp(in, out, at))
                return tells_of_state(in, n);
    }
    return false;
}

static bool names_pair_by(const char *in, size_t n_in, const char *out, size_t n_out)
{
    for (size_t i = 0; i < sizeof pair_names / sizeof *pair_names; i++) {
        const char *in_end = pair_names[i].in_end, *out_end = pair_names[i].out_end;
        const size_t a = strlen(pair_names[i].in_front), b = strlen(in_end);
        const size_t c = strlen(pair_names[i].out_front), e = strlen(out_end);
        if (n_in <= a + b || n_out != n_in - a - b + c + e)
            continue;
        const size_t n = n_in - a - b;
        if (!strncmp(in, pair_names[i].in_front, a) && !strncmp(in + a + n, in_end, b) &&
            !strncmp(out, pair_names[i].out_front, c) && !strncmp(out + c + n, out_end, e) &&
            !strncmp(in + a, out + c, n) && (!pair_names[i].says || tells_of_state(in + a, n)))
            return true;
    }
    return false;
}

/* How many bytes of a number, with what sets it off, end both names: 2 of cache_in_0 and
 * cache_out_0. */
static size_t number_shared(const char *in, size_t n_in, const char *out, size_t n_out)
{
    size_t n = 0;
    while (n + 1 < n_in && n + 1 < n_out && in[n_in - n - 1] == out[n_out - n - 1] &&
           in[n_in - n - 1] >= '0' && in[n_in - n - 1] <= '9')
        n++;
    const char before = n ? in[n_in - n - 1] : 0;
    return n + (n + 1 < n_in && (before == '_' || before == '.') && out[n_out - n - 1] == before);
}

bool step_names_pair(const char *in, const char *out)
{
    const size_t n_in = strlen(in), n_out = strlen(out), n = number_shared(in, n_in, out, n_out);
    return names_pair_within(in, out) || names_pair_by(in, n_in, out, n_out) ||
        (n && names_pair_by(in, n_in - n, out, n_out - n));
}

/* The one axis along which they differ; -1: none, -2: several, or they are nothing alike. */
static int facts_axis_apart(const struct fact *a, const struct fact *b)
{
    int apart = -1;
    if (a->type == DTYPE_NONE || a->type != b->type || a->rank < 0 || a->rank != b->rank)
        return -2;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            apart = apart == -1 ? i : -2;
    return apart;
}

/* The same, or longer along an axis that grows. */
static bool facts_agree(const struct step_decl *d, const struct fact *in, const struct fact *out)
{
    const int axis = facts_axis_apart(in, out);
    const char *name = axis >= 0 ? dim_name(in->shape[axis]) : NULL;
    return axis == -1 || (name && symbols_have(&d->grows, name));
}

/* The file, one of `rill convert --pulse`, says that a pulse of the stream goes in there. */
static bool is_said_to_stream(const struct graph *g, const char *in)
{
    static const char front[] = "rill.input.";
    const size_t n = sizeof front - 1;
    for (uint32_t i = 0; i < g->n_meta; i++)
        if (!strncmp(g->meta[i].key, front, n) && !strcmp(g->meta[i].key + n, in))
            return true;
    return false;
}

/* Pairs by name; with facts of the wires, those that agree. An output is the next value of one. */
static rill_status pairs_list(struct step_decl *ret, const struct graph *g,
                              const struct fact *facts, rill_error *err)
{
    bool *taken = arena_array(&ret->arena, bool, g->n_outputs + 1u);
    if (!taken)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_inputs; i++)
        for (uint32_t k = 0; k < g->n_outputs; k++) {
            const char *in = g->wires[g->inputs[i]].name, *out = g->wires[g->outputs[k]].name;
            if (taken[k] || !step_names_pair(in, out) || is_said_to_stream(g, in) ||
                (facts && !facts_agree(ret, &facts[g->inputs[i]], &facts[g->outputs[k]])))
                continue;
            in = arena_string(&ret->arena, in);
            out = arena_string(&ret->arena, out);
            if (!in || !out || !step_decl_add_state(ret, in, out))
                return err_set(err, RILL_NOMEM, "out of memory");
            taken[k] = true;
            break;
        }
    return RILL_OK;
}

/* What each wire turns out to be; where it stops, what it did not reach is no state. NULL: no
 * memory. */
static const struct fact *facts_typed(const struct mgraph *m, struct arena *a)
{
    struct tgraph unused;
    struct fact *facts = arena_array(a, struct fact, m->g.n_wires + 1u);
    if (facts)
        tgraph_from_mgraph(&unused, m, &(struct typed_opts) { .ret_facts = facts }, NULL);
    return facts;
}

/* How long the output is while the input has no frame, where a step is one of all else; -1: that
 * cannot be told. */
static int64_t frames_of_first(struct dims *dims, const struct dim *out, const struct dim *was)
{
    const struct dim *list[STEP_SYMBOLS_MAX];
    int64_t frames;
    const unsigned n = dim_symbols(out, list, 0, STEP_SYMBOLS_MAX);
    for (unsigned i = 0; i < n; i++)
        if (list[i] != was)
            out = dim_subst(dims, out, list[i], dim_int(dims, 1));
    return dim_eval(out, was, 0, &frames) ? frames : -1;
}

/* Of a pair whose output is longer than nothing, as [past] and [past + sequence] or the last 30 of
 * them: the first grows, and a step is one of the others. */
static void pair_grows(struct step_decl *d, struct dims *dims, const struct fact *in,
                       const struct fact *out, const rill_model_opts *opts)
{
    const struct dim *list[STEP_SYMBOLS_MAX];
    const int axis = facts_axis_apart(in, out);
    const struct dim *was = axis >= 0 && dim_name(in->shape[axis]) ? in->shape[axis] : NULL;
    if (!was || step_symbol_is_set(opts, dim_name(was)) ||
        frames_of_first(dims, out->shape[axis], was) <= 0)
        return;
    symbols_add(d, &d->grows, dim_name(was));
    const unsigned n = dim_symbols(out->shape[axis], list, 0, STEP_SYMBOLS_MAX);
    for (unsigned i = 0; i < n; i++)
        if (list[i] != was)
            symbols_add(d, &d->ones, dim_name(list[i]));
}

static rill_status growing_find(struct step_decl *d, const struct mgraph *m, struct arena *a,
                                const rill_model_opts *opts, rill_error *err)
{
    const struct graph *g = &m->g;
    const struct fact *facts = facts_typed(m, a);
    if (!facts)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < d->n_states; i++) {
        const uint32_t in = step_port_find(g, g->inputs, g->n_inputs, d->states[i].in),
                       out = step_port_find(g, g->outputs, g->n_outputs, d->states[i].out);
        if (in != WIRE_NONE && out != WIRE_NONE)
            pair_grows(d, g->dims, &facts[g->inputs[in]], &facts[g->outputs[out]], opts);
    }
    return dims_status(g->dims, err);
}

/* The file as it is read while states are looked for: a later step. */
static rill_status graph_look(struct mgraph *ret, struct arena *a, struct dims *dims,
                              const char *path, const struct step_decl *d,
                              const rill_model_opts *opts, rill_error *err)
{
    TRY(graph_read(ret, a, dims, path, d, opts, err));
    for (uint32_t i = 0; i < ret->g.n_inputs; i++)
        sizes_set(&ret->g, &ret->g.wires[ret->g.inputs[i]].fact, opts);
    return step_merged_later(&ret->g, err);
}

static rill_status pairs_find(struct step_decl *d, struct arena *a, struct dims *dims,
                              const char *path, const rill_model_opts *opts, rill_error *err)
{
    struct mgraph m;
    TRY(graph_look(&m, a, dims, path, d, opts, err));
    TRY(pairs_list(d, &m.g, NULL, err));
    if (!d->n_states || d->n_states == m.g.n_inputs)
        return d->n_states = 0, RILL_OK;
    TRY(step_merged_keep(&m.g, d, err));
    if (!d->one_run)
        TRY(growing_find(d, &m, a, opts, err));
    TRY(state_symbols_fix(&m, d, opts, err));
    const struct fact *facts = facts_typed(&m, a);
    if (!facts)
        return err_set(err, RILL_NOMEM, "out of memory");
    d->n_states = 0;
    return pairs_list(d, &m.g, facts, err);
}

/* Whether those that the caller declares grow. */
static rill_status declared_find(struct step_decl *d, struct arena *a, struct dims *dims,
                                 const char *path, const rill_model_opts *opts, rill_error *err)
{
    struct mgraph m;
    TRY(graph_look(&m, a, dims, path, d, opts, err));
    TRY(step_merged_keep(&m.g, d, err));
    return growing_find(d, &m, a, opts, err);
}

/* With constants of open size as inputs, then as ones: either may be what typing wants. */
static rill_status states_look(struct step_decl *d, const char *path, const rill_model_opts *opts,
                               rill_error *err)
{
    const uint32_t n_declared = d->n_states;
    rill_status s = RILL_OK;
    bool found = false;
    for (int ones = 0; !found && ones <= (d->n_consts > 0); ones++) {
        struct arena a = { 0 };
        struct dims *dims = dims_new();
        d->looks = !ones;
        s = !dims        ? err_set(err, RILL_NOMEM, "out of memory")
            : n_declared ? declared_find(d, &a, dims, path, opts, err)
                         : pairs_find(d, &a, dims, path, opts, err);
        found = s == RILL_OK && (n_declared ? d->grows.n : d->n_states);
        d->n_states = found ? d->n_states : n_declared;
        arena_drop(&a);
        dims_free(dims);
    }
    d->looks = false;
    d->found = found;
    return s;
}

rill_status step_decl_find_states(struct step_decl *d, const char *path,
                                  const rill_model_opts *opts, rill_error *reterr)
{
    return d->n_states && d->one_run ? RILL_OK : states_look(d, path, opts, reterr);
}

/* ---- opening ---- */

static rill_status step_model_build(rill_model *m, const char *path, const struct step_decl *d,
                                    const rill_model_opts *opts, rill_error *err)
{
    struct mgraph mg;
    TRY(model_assert(m, opts, err));
    TRY(graph_read(&mg, &m->arena, m->dims, path, d, opts, err));
    if (d->found)
        TRY(state_symbols_fix(&mg, d, opts, err));
    TRY(step_merged_keep(&mg.g, d, err));
    TRY(states_apply(&mg.g, d, err));
    TRY(step_fills_apply(&mg.g, d, err));
    if (d->grows.n)
        TRY(step_merged_choose(&mg.g, err));
    m->mgraph = mg;
    if (d->found && d->grows.n)
        m->reserve_frames = d->reserve_frames ? d->reserve_frames : RESERVE_FRAMES;
    const bool streams = !(d->found && d->grows.n) && (d->found || shapes_have_symbols(d));
    TRY(model_transform_and_type(m, opts, streams, NULL, err));
    return pipeline_run(&(struct pipeline) { .model = m, .err = err }, STAGE_TYPED,
                        STAGE_DECLUTTERED);
}

rill_status step_model_open(rill_model **ret, const char *path, const struct step_decl *d,
                            const rill_model_opts *opts, rill_error *reterr)
{
    rill_model *m = model_new();
    rill_status s = m ? step_model_build(m, path, d, opts, reterr)
                      : err_set(reterr, RILL_NOMEM, "out of memory");
    if (s != RILL_OK) {
        rill_model_free(m);
        return err_prefix(reterr, s, "%.200s", path);
    }
    const char *slash = strrchr(path, '/');
    m->info.name = arena_string(&m->arena, slash ? slash + 1 : path);
    m->info.task = m->info.licence = m->info.summary = "";
    *ret = m;
    return RILL_OK;
}
