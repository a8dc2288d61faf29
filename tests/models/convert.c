/* SPDX-License-Identifier: MIT */
/* What is written as NNEF or ONNX and read back is the same model: after decluttering every node
 * has its op, attributes, operands and constants again, bodies included, and runs give the same
 * bits. */
#include "check/step_model.h"
#include "engine/late/op.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/typing/interp.h"
#include "engine/typing/typed.h"
#include "models/export/export.h"
#include "models/export/steps.h"
#include "pulse/pulsify.h"
#include "tests/check.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned n_converted, n_run, n_pulsed, n_declared;

/* ---- graphs ---- */

static bool tensor_same(const struct tensor *a, const struct tensor *b)
{
    if (!a || !b || a->type == DTYPE_DIM)
        return a == b || (a && b && a->type == b->type);
    return a->type == b->type && a->rank == b->rank &&
        !memcmp(a->dim, b->dim, (size_t) a->rank * sizeof *a->dim) &&
        !memcmp(a->data, b->data, tensor_bytes(a)) && !a->from == !b->from;
}

static bool strings_same(const struct attr_strings *a, const struct attr_strings *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = !strcmp(a->v[i], b->v[i]);
    return same;
}

/* Strides, dilations and pads that are not given are ones or zeros; the kernel's shape is that of
 * its weights. */
static bool ints_same(const char *name, const struct attr_ints *a, const struct attr_ints *b)
{
    const struct attr_ints *given = a->n ? a : b;
    bool same = a->n == b->n && (!a->n || !memcmp(a->v, b->v, a->n * sizeof *a->v)), usual = true;
    for (uint32_t i = 0; i < given->n; i++)
        usual &= given->v[i] == (strcmp(name, "pads") != 0 && strcmp(name, "output_padding") != 0);
    return same || !strcmp(name, "kernel_shape") || ((!a->n || !b->n) && usual);
}

static bool attr_same(const struct attr_spec *s, const void *a, const void *b)
{
    const struct attr_ints *ia = a, *ib = b;
    const struct attr_floats *fa = a, *fb = b;
    switch (s->kind) {
    case ATTR_INT: return *(const int64_t *) a == *(const int64_t *) b;
    case ATTR_CHOICE: return *(const int *) a == *(const int *) b;
    case ATTR_FLOAT: return !memcmp(a, b, sizeof(float));
    case ATTR_INTS: return ints_same(s->name, ia, ib);
    case ATTR_FLOATS:
        return fa->n == fb->n && (!fa->n || !memcmp(fa->v, fb->v, fa->n * sizeof *fa->v));
    case ATTR_STRINGS: return strings_same(a, b);
    case ATTR_TENSOR:
        return tensor_same(*(const struct tensor *const *) a, *(const struct tensor *const *) b);
    }
    return false;
}

/* With all that is known of the symbols by now: a text is typed as it is read, and once more. */
static void fact_text(const struct graph *g, struct fact f, char *buf, size_t cap)
{
    for (int i = 0; i < f.rank; i++)
        f.shape[i] = dim_refresh(g->dims, f.shape[i]);
    fact_print(&f, buf, cap);
}

/* What one assumes of its symbol may have made an expression shorter: then they agree at lengths.
 */
static bool dim_agrees(const struct dim *a, const struct dim *b)
{
    const struct dim *s, *t;
    int64_t x, y;
    if (dim_symbols(a, &s, 0, 1) != 1 || dim_symbols(b, &t, 0, 1) != 1 ||
        strcmp(dim_name(s), dim_name(t)) != 0)
        return false;
    for (int64_t length = 1; length < 64; length++)
        if (!dim_eval(a, s, length, &x) || !dim_eval(b, t, length, &y) || x != y)
            return false;
    return true;
}

static bool shape_agrees(const struct fact *a, const struct fact *b)
{
    bool same = a->rank == b->rank && a->type == b->type;
    for (int i = 0; same && i < a->rank; i++) {
        char x[512], y[512];
        dim_print(a->shape[i], x, sizeof x);
        dim_print(b->shape[i], y, sizeof y);
        same = !strcmp(x, y) || dim_agrees(a->shape[i], b->shape[i]);
    }
    return same;
}

/* As text: the symbols of two models are none of each other's. */
static bool fact_agrees(const struct graph *ga, const struct graph *gb, uint32_t wa, uint32_t wb)
{
    const struct fact *a = &ga->wires[wa].fact, *b = &gb->wires[wb].fact;
    char x[512], y[512];
    fact_text(ga, *a, x, sizeof x);
    fact_text(gb, *b, y, sizeof y);
    return (!strcmp(x, y) || shape_agrees(a, b)) && (!a->value || tensor_same(a->value, b->value));
}

static bool wires_agree(const struct graph *a, const struct graph *b, const uint32_t *wa,
                        const uint32_t *wb, unsigned n, uint32_t *to)
{
    for (unsigned i = 0; i < n; i++) {
        if (wa[i] == WIRE_NONE || wb[i] == WIRE_NONE) {
            if (wa[i] != wb[i])
                return false;
            continue;
        }
        bool known = a->wires[wa[i]].fact.value && a->wires[wa[i]].node == WIRE_NONE;
        if (!known && to[wa[i]] == WIRE_NONE)
            to[wa[i]] = wb[i];
        if ((!known && to[wa[i]] != wb[i]) || !fact_agrees(a, b, wa[i], wb[i]))
            return false;
    }
    return true;
}

static bool graph_same(const struct graph *a, const struct graph *b, const char **where);

static unsigned outputs_used(const struct node *n)
{
    unsigned k = n->n_out;
    while (k && n->out[k - 1] == WIRE_NONE)
        k--;
    return k;
}

static bool node_same(const struct graph *a, const struct graph *b, uint32_t i, uint32_t *to,
                      const char **where)
{
    const struct node *x = &a->nodes[i], *y = &b->nodes[i];
    /* Sizes that stay are 0 in a Reshape of the language; what comes out says whether they agree.
     */
    unsigned n_in = node_is(x, OP_RESHAPE) ? 1 : x->n_in;
    unsigned n_out = outputs_used(x);
    *where = x->name;
    if (node_is(x, OP_IF)) /* what branches take from outside may stand in another order */
        return node_is(y, OP_IF) && x->n_in == y->n_in &&
            wires_agree(a, b, x->out, y->out, x->n_out, to);
    bool same = x->op == y->op && x->n_in == y->n_in && n_out == outputs_used(y) &&
        x->n_body == y->n_body && wires_agree(a, b, x->in, y->in, n_in, to) &&
        wires_agree(a, b, x->out, y->out, n_out, to);
    for (const struct attr_spec *s = x->op->attrs; same && s && s->name; s++)
        same = attr_same(s, (const char *) x->attr + s->offset, (const char *) y->attr + s->offset);
    for (unsigned k = 0; same && k < x->n_body; k++)
        same = graph_same(x->body[k], y->body[k], where);
    return same;
}

static bool graph_same(const struct graph *a, const struct graph *b, const char **where)
{
    uint32_t *to = malloc((a->n_wires + 1) * sizeof *to);
    *where = "its inputs and outputs";
    memset(to, 0xff, (a->n_wires + 1) * sizeof *to);
    bool same = a->n_nodes == b->n_nodes && a->n_inputs == b->n_inputs &&
        a->n_outputs == b->n_outputs && wires_agree(a, b, a->inputs, b->inputs, a->n_inputs, to);
    for (uint32_t i = 0; same && i < a->n_nodes; i++)
        same = node_same(a, b, i, to, where);
    same = same && wires_agree(a, b, a->outputs, b->outputs, a->n_outputs, to);
    free(to);
    return same;
}

/* ---- runs ---- */

static struct tensor *input_make(struct arena *a, const rill_model *m, const struct fact *f,
                                 int64_t length)
{
    int64_t dim[RANK_MAX];
    for (int i = 0; i < f->rank; i++)
        if (dim_is_const(f->shape[i]))
            dim[i] = dim_value(f->shape[i]);
        else if (!m->stream || !dim_eval(f->shape[i], m->stream, length, &dim[i]))
            return NULL;
    struct tensor *t = tensor_new(a, f->type, f->rank, dim);
    for (int64_t i = 0; t && i < tensor_count(t); i++)
        tensor_set_f64(t, t->data, i,
                       dtype_is_float(t->type) ? check_random(2000) / 1000.0 - 1 : check_random(2));
    return t;
}

static void run_compare(const char *path, const rill_model *a, const rill_model *b)
{
    enum { PORTS = 64, LENGTH = 40 };
    struct arena arena = { .limit_bytes = 0 };
    const struct graph *g = &a->decluttered.g;
    const struct tensor *in[PORTS], *x[PORTS], *y[PORTS];
    rill_error err = { .text = "" };
    bool ready = g->n_inputs <= PORTS && g->n_outputs <= PORTS;
    for (uint32_t i = 0; ready && i < g->n_inputs; i++)
        ready = (in[i] = input_make(&arena, a, &g->wires[g->inputs[i]].fact, LENGTH)) != NULL;
    if (ready && interp_run(g, in, &arena, x, &err) == RILL_OK) {
        rill_status s = interp_run(&b->decluttered.g, in, &arena, y, &err);
        CHECK(s == RILL_OK, "%s: %s", path, err.text);
        for (uint32_t i = 0; s == RILL_OK && i < g->n_outputs; i++)
            CHECK(tensor_same(x[i], y[i]), "%s: output %u differs", path, i);
        n_run++;
    }
    arena_drop(&arena);
}

/* ---- files ---- */

static char folder[64];

static void folder_remove(void)
{
    char path[sizeof folder + 300];
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            remove(path);
    }
    if (d)
        closedir(d);
    remove(folder);
}

/* What has no form as NNEF or ONNX, and the words that say why. */
static const struct {
    const char *path, *nnef, *onnx;
} refused[] = {
#define LOOP "a Loop has no form in NNEF"
    { "size_truth", "symbolic sizes of rank 0 and type bool have no form in NNEF", NULL },
    { "vendor_lstm", NULL, "(DynamicQuantizeLSTM): this op of rill has no form in ONNX" },
    { "models/library/", NULL, "(Frame): this op of rill has no form in ONNX" },
    { "dtln_model_quant", NULL, "(ByteRows): this op of rill has no form in ONNX" },
    { "sequence_front", LOOP, NULL },
    { "sequence_joined", LOOP, NULL },
    { "sequence_loop", LOOP, NULL },
    { "sequence_repeats", LOOP, NULL },
    { "id_loop_over_frames", LOOP, NULL },
    { "zoo/dpdfnet2", LOOP, NULL },
    { "loop_const_trip", NULL, NULL }, /* is written out as it is read */
    { "loop_passed", "sizes that data decides have no form in NNEF", NULL },
    { "loop_", LOOP, NULL },
    { "attention_memory", NULL, "is not computed from the axes of inputs alone" },
    { "attention_rates", NULL, "is not computed from the axes of inputs alone" },
    { "own/emformer", NULL, "is not computed from the axes of inputs alone" },
    { "position_counts", NULL, "a Range of floats up to a size has no form in ONNX" },
    { "/lr_f32", NULL, "a Range of floats up to a size has no form in ONNX" },
    { "tflite/./micro_", "is declared, which has no form in NNEF",
      "is declared, which has no form" },
};

static const char *refused_words(const char *path, bool onnx)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strstr(path, refused[i].path))
            return onnx ? refused[i].onnx : refused[i].nnef;
    return NULL;
}

/* Of these folders each net is written, or refused by name. */
static bool may_be_refused(const char *path)
{
    return strstr(path, "tflite/nets/") || strstr(path, "half/nets/");
}

/* Outputs keep their names; in NNEF, of several of one name the first does, and the others count.
 */
static void names_compare(const char *path, const struct graph *a, const struct graph *b, bool onnx)
{
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        const char *name = a->wires[a->outputs[i]].name, *again = b->wires[b->outputs[i]].name;
        const size_t n = strlen(name);
        unsigned before = 0;
        for (uint32_t k = 0; k < i; k++)
            before += !strcmp(a->wires[a->outputs[k]].name, name);
        char *end = NULL;
        const bool counts = !strncmp(again, name, n) && again[n] == '_' &&
            strtoul(again + n + 1, &end, 10) == before + 1 && !*end;
        CHECK(before && !onnx ? counts : !strcmp(again, name), "%s: output %u '%s' is '%s'", path,
              i, name, again);
    }
}

typedef rill_status writer(const struct graph *g, const char *path, rill_error *err);

static bool form_test(const char *path, const rill_model *m, writer *write, const char *to,
                      const char *words)
{
    rill_model *again;
    rill_error err = { .text = "" };
    const char *where;
    struct stat st;
    rill_status s = write(&m->typed.g, to, &err);
    if (s == RILL_UNSUPPORTED && strstr(err.text, "has no libarchive")) {
        check_skipped++;
        return false;
    }
    if (!words && late_of_graph(&m->typed.g) && write == graph_write_nnef)
        words = " no form in NNEF"; /* data decides its sizes, or it is a Loop or an If */
    if (!words && s == RILL_UNSUPPORTED && may_be_refused(path))
        words = "has no form in ";
    if (words) {
        CHECK(s == RILL_UNSUPPORTED && strstr(err.text, words), "%s: %s", path, err.text);
        CHECK(stat(to, &st) != 0, "%s: something is left", path);
    } else if (s != RILL_OK || rill_model_open(&again, to, &err) != RILL_OK) {
        CHECK(false, "%s: %s", path, err.text);
    } else {
        CHECK(graph_same(&m->decluttered.g, &again->decluttered.g, &where),
              "%s: decluttered: %s differs", path, where);
        names_compare(path, &m->typed.g, &again->typed.g, write == graph_write_onnx);
        run_compare(path, m, again);
        rill_model_free(again);
        n_converted++;
        return true;
    }
    return false;
}

/* ---- states of the file ---- */

/* A graph whose states are ports instead. */
static bool ported(rill_model *ret, const struct graph *g, struct arena *a, rill_error *err)
{
    struct mgraph mg;
    *ret = (rill_model) { .stream = NULL };
    return mgraph_from_states(&mg, g, a, err) == RILL_OK &&
        tgraph_from_mgraph(&ret->typed, &mg, NULL, err) == RILL_OK &&
        dgraph_from_tgraph(&ret->decluttered, &ret->typed, NULL, err) == RILL_OK;
}

/* Runs of the graph with states, and of what was written, fed its states back: the same bits. */
static void runs_compare(const char *path, const rill_model *a, const rill_model *b)
{
    enum { PORTS = 256, RUNS = 3 };
    const struct graph *g = &a->typed.g, *h = &b->typed.g;
    const uint32_t n = g->n_inputs, more = h->n_inputs - n;
    const struct tensor *x[PORTS], *in[PORTS], *y[PORTS], *z[PORTS];
    struct arena arena = { .limit_bytes = 0 };
    rill_error err = { .text = "" };
    struct graph step = *g;
    CHECK(h->n_outputs == g->n_outputs + more && more >= g->n_states && n + more <= PORTS,
          "%s: %u ports for %u states", path, more, g->n_states);
    step.n_states = 0;
    for (uint32_t i = 0; i < more; i++)
        in[n + i] = input_make(&arena, b, &h->wires[h->inputs[n + i]].fact, 1);
    for (uint32_t i = 0; i < more; i++)
        memset(in[n + i]->data, 0, tensor_bytes(in[n + i]));
    uint32_t *inputs = arena_array(&arena, uint32_t, n + g->n_states),
             *outputs = arena_array(&arena, uint32_t, g->n_outputs + g->n_states);
    for (uint32_t i = 0; i < n; i++)
        inputs[i] = g->inputs[i];
    for (uint32_t i = 0; i < g->n_outputs; i++)
        outputs[i] = g->outputs[i];
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct fact *f = &g->wires[g->states[i].in].fact;
        struct tensor *zero = input_make(&arena, a, f, 1);
        inputs[n + i] = g->states[i].in;
        outputs[g->n_outputs + i] = g->states[i].out;
        memset(zero->data, 0, tensor_bytes(zero));
        x[n + i] = g->states[i].init ? g->states[i].init : zero;
    }
    step.inputs = inputs;
    step.outputs = outputs;
    step.n_inputs = n + g->n_states;
    step.n_outputs = g->n_outputs + g->n_states;
    for (int run = 0; run < RUNS; run++) {
        for (uint32_t i = 0; i < n; i++)
            x[i] = in[i] = input_make(&arena, a, &g->wires[g->inputs[i]].fact, 1);
        const bool ran = interp_run(&step, x, &arena, y, &err) == RILL_OK &&
            interp_run(h, in, &arena, z, &err) == RILL_OK;
        CHECK(ran, "%s: %s", path, err.text);
        if (!ran)
            break;
        for (uint32_t i = 0; i < g->n_outputs; i++)
            CHECK(tensor_same(y[i], z[i]), "%s: run %d, output %u differs", path, run, i);
        memcpy(x + n, y + g->n_outputs, g->n_states * sizeof *x);
        memcpy(in + n, z + g->n_outputs, more * sizeof *in);
    }
    arena_drop(&arena);
}

/* As NNEF, and as ONNX where all of its ops are of the standard. */
static void declared_test(const char *path, const rill_model *m, const char *file)
{
    struct arena a = { .limit_bytes = 0 };
    rill_model steps, *again;
    rill_error err = { .text = "" };
    bool made = ported(&steps, &m->typed.g, &a, &err);
    CHECK(made, "%s: %s", path, err.text);
    for (int onnx = 0; made && onnx < 2; onnx++) {
        const char *to = onnx ? file : folder;
        rill_status s = (onnx ? graph_write_onnx : graph_write_nnef)(&steps.typed.g, to, &err);
        if (s == RILL_UNSUPPORTED && strstr(err.text, " no form in "))
            continue;
        const bool read = s == RILL_OK && rill_model_open(&again, to, &err) == RILL_OK;
        CHECK(read, "%s: %s", path, err.text);
        if (!read)
            continue;
        runs_compare(path, m, again);
        rill_model_free(again);
        n_declared++;
    }
    folder_remove();
    remove(file);
    arena_drop(&a);
}

/* ---- pulsed graphs ---- */

/* The file's states are found by the names of its ports. */
static void states_test(const char *path, const struct pgraph *p, const char *file)
{
    const rill_model_opts opts = { .struct_bytes = sizeof opts };
    struct step_decl d = { .n_states = 0 };
    rill_error err = { .text = "" };
    rill_status s = step_decl_find_states(&d, file, &opts, &err);
    CHECK(s == RILL_OK, "%s: %s", path, err.text);
    CHECK(d.n_states >= p->g.n_states + p->has_clock, "%s: %u states of %u are found", path,
          d.n_states, p->g.n_states + p->has_clock);
    step_decl_drop(&d);
}

/* As steps: NNEF of rill's own ops, ONNX of those of the standard. */
static void steps_test(const char *path, const struct pgraph *p, struct arena *a, bool onnx,
                       const char *to)
{
    const struct steps_opts opts = { .standard = onnx };
    struct mgraph mg;
    rill_model m = { .stream = NULL };
    rill_error err = { .text = "" };
    rill_status s = mgraph_from_pgraph(&mg, p, &opts, a, &err);
    if (!onnx && s == RILL_UNSUPPORTED && strstr(err.text, "only a stream of rill has: an ONNX"))
        return;
    if (s == RILL_OK)
        s = tgraph_from_mgraph(&m.typed, &mg, NULL, &err);
    if (s == RILL_OK)
        s = dgraph_from_tgraph(&m.decluttered, &m.typed, NULL, &err);
    CHECK(s == RILL_OK, "%s: %s", path, err.text);
    if (s != RILL_OK)
        return;
    s = (onnx ? graph_write_onnx : graph_write_nnef)(&m.typed.g, to, &err);
    if (s == RILL_UNSUPPORTED && strstr(err.text, " no form in "))
        return;
    CHECK(s == RILL_OK, "%s: %s", path, err.text);
    if (s == RILL_OK && onnx && p->g.n_states)
        states_test(path, p, to);
    onnx ? (void) remove(to) : folder_remove();
    n_pulsed += form_test(path, &m, onnx ? graph_write_onnx : graph_write_nnef, to, NULL);
}

static void pulsed_test(const char *path, const rill_model *m)
{
    struct arena a = { .limit_bytes = 0 };
    char file[sizeof folder + 8];
    struct pgraph p;
    rill_error err = { .text = "" };
    snprintf(file, sizeof file, "%s.onnx", folder);
    if (m->stream &&
        pgraph_from_dgraph(&p, &m->decluttered, m->stream, 2, NULL, &a, &err) == RILL_OK) {
        steps_test(path, &p, &a, false, folder);
        folder_remove();
        steps_test(path, &p, &a, true, file);
        remove(file);
    }
    arena_drop(&a);
}

static void convert_test(const char *path)
{
    char file[sizeof folder + 8];
    rill_model *m;
    rill_error err;
    if (rill_model_open(&m, path, &err) != RILL_OK)
        return;
    snprintf(file, sizeof file, "%s.onnx", folder);
    if (m->typed.g.n_states)
        declared_test(path, m, file);
    form_test(path, m, graph_write_nnef, folder, refused_words(path, false));
    if (strstr(path, "/zoo/") || strstr(path, "/library/")) {
        snprintf(file, sizeof file, "%s.tgz", folder);
        form_test(path, m, graph_write_nnef, file, refused_words(path, false));
        remove(file);
        snprintf(file, sizeof file, "%s.onnx", folder);
    }
    form_test(path, m, graph_write_onnx, file, refused_words(path, true));
    folder_remove();
    remove(file);
    pulsed_test(path, m);
    rill_model_free(m);
}

/* ---- sizes that count as numbers of another type ---- */

/* A graph that gives the sum of the sizes of its input, whose text is a long one. */
static void size_graph(struct graph *g, struct arena *a, struct dims *ds, enum dtype number)
{
    struct fact x = { .type = DTYPE_F32, .rank = RANK_MAX };
    const struct dim *sum = dim_int(ds, 0);
    char name[80];
    for (int i = 0; i < RANK_MAX; i++) {
        snprintf(name, sizeof name, "S%d_%060d", i, 0);
        sum = dim_add(ds, sum, x.shape[i] = dim_symbol(ds, name));
    }
    struct tensor *t = tensor_new(a, DTYPE_DIM, 0, NULL);
    t->number = number;
    ((const struct dim **) t->data)[0] = sum;
    graph_init(g, a, ds, "sizes");
    uint32_t in = graph_add_input(g, "x", &x);
    graph_add_output(g, in);
    graph_add_output(g, graph_add_const(g, "sum", t));
}

/* Whether a constant of a graph is the size that is output 1 of the other one. */
static bool size_is_in(const struct graph *g, const struct graph *of)
{
    const struct tensor *want = of->wires[of->outputs[1]].fact.value;
    char a[1000], b[1000];
    dim_print(((const struct dim *const *) want->data)[0], a, sizeof a);
    for (uint32_t i = 0; i < g->n_wires; i++) {
        const struct tensor *t = g->wires[i].fact.value;
        if (!t || t->type != DTYPE_DIM || t->rank || t->number != want->number)
            continue;
        dim_print(((const struct dim *const *) t->data)[0], b, sizeof b);
        if (!strcmp(a, b))
            return true;
    }
    return false;
}

/* It is read back as it was, or refused where no reader takes it. */
static void size_test(enum dtype number, bool refuses)
{
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct graph g;
    rill_model *m = NULL;
    rill_error err = { .text = "" };
    size_graph(&g, &a, ds, number);
    rill_status s = graph_write_nnef(&g, folder, &err);
    if (refuses)
        CHECK(s == RILL_UNSUPPORTED && strstr(err.text, "have no form in NNEF"), "%s: %s",
              dtype_name(number), err.text);
    else
        CHECK(s == RILL_OK && rill_model_open(&m, folder, &err) == RILL_OK &&
                  size_is_in(&m->typed.g, &g),
              "%s: %s", dtype_name(number), err.text);
    rill_model_free(m);
    folder_remove();
    dims_free(ds);
    arena_drop(&a);
}

/* ---- elements ---- */

/* Seven numbers of that type, and an input whose sum with them is the output. */
static void narrow_graph(struct graph *g, struct arena *a, struct dims *ds, enum dtype type)
{
    static const int64_t seven = 7, to = DTYPE_F32;
    const bool is_signed = dtype_is_signed(type) || type == DTYPE_I4 || type == DTYPE_I2;
    const struct attr cast = { .name = "to", .kind = ATTR_INT, .i = to };
    struct fact x = { .type = type, .rank = 1, .shape = { dim_int(ds, seven) } }, f = x;
    struct tensor *t = tensor_new(a, type, 1, &seven);
    for (int i = 0; i < seven; i++)
        tensor_set_f64(t, t->data, i,
                       dtype_is_float(type) ? 0.375 * (i - 3) : i % 4 - 2 * is_signed);
    f.type = DTYPE_F32;
    graph_init(g, a, ds, "narrow");
    uint32_t in[2] = { graph_add_input(g, "x", &x), graph_add_const(g, "c", t) }, sum[2], out;
    for (int i = 0; i < 2; i++) {
        void *attr = arena_alloc(a, op_by_id(OP_CAST)->attr_bytes);
        rill_error err;
        attrs_parse(op_by_id(OP_CAST), "cast", &cast, 1, attr, &err);
        sum[i] = graph_add_wire(g, i ? "wide1" : "wide0", &f);
        graph_add_node(g, op_by_id(OP_CAST), "cast", attr, &in[i], 1, &sum[i], 1);
    }
    out = graph_add_wire(g, "y", &f);
    graph_add_node(g, op_by_id(OP_ADD), "add", NULL, sum, 2, &out, 1);
    graph_add_output(g, out);
    graph_add_output(g, in[1]);
}

/* The graph written and read again; NULL: err says why. */
static rill_model *written_read(const struct graph *g, bool onnx, rill_error *err)
{
    char file[sizeof folder + 8];
    rill_model *m = NULL;
    snprintf(file, sizeof file, "%s.onnx", folder);
    const char *path = onnx ? file : folder;
    return (onnx ? graph_write_onnx : graph_write_nnef)(g, path, err) == RILL_OK &&
            rill_model_open(&m, path, err) == RILL_OK
        ? m
        : NULL;
}

static void written_drop(rill_model *m)
{
    char file[sizeof folder + 8];
    snprintf(file, sizeof file, "%s.onnx", folder);
    rill_model_free(m);
    remove(file);
    folder_remove();
}

static void narrow_test(enum dtype type, bool onnx)
{
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct graph g;
    rill_error err = { .text = "" };
    const struct tensor *in[1], *x[2], *y[2];
    narrow_graph(&g, &a, ds, type);
    in[0] = g.wires[g.outputs[1]].fact.value;
    rill_model *m = written_read(&g, onnx, &err);
    bool read = m && interp_run(&g, in, &a, x, &err) == RILL_OK &&
        interp_run(&m->typed.g, in, &a, y, &err) == RILL_OK;
    CHECK(read, "%s, %s: %s", dtype_name(type), onnx ? "onnx" : "nnef", err.text);
    for (int i = 0; read && i < 2; i++)
        CHECK(tensor_same(x[i], y[i]), "%s, %s: output %d differs", dtype_name(type),
              onnx ? "onnx" : "nnef", i);
    written_drop(m);
    dims_free(ds);
    arena_drop(&a);
}

/* ---- names ---- */

/* Outputs that are computed, and called as the input is. */
static void clash_graph(struct graph *g, struct arena *a, struct dims *ds)
{
    static const enum op_id op[] = { OP_NEG, OP_ABS };
    const struct fact f = { .type = DTYPE_F32, .rank = 1, .shape = { dim_int(ds, 3) } };
    graph_init(g, a, ds, "clash");
    const uint32_t in = graph_add_input(g, "x", &f);
    for (int i = 0; i < 2; i++) {
        const uint32_t out = graph_add_wire(g, "x", &f);
        graph_add_node(g, op_by_id(op[i]), "x", NULL, &in, 1, &out, 1);
        graph_add_output(g, out);
    }
}

static void clash_test(bool onnx)
{
    static const float x[3] = { 1, -2, 3 }, y[2][3] = { { -1, 2, -3 }, { 1, 2, 3 } };
    static const char *const name[] = { "x_2", "x_3" };
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct graph g;
    rill_error err = { .text = "" };
    const struct tensor *in, *out[2];
    clash_graph(&g, &a, ds);
    in = tensor_from_data(&a, DTYPE_F32, 1, (int64_t[]) { 3 }, x);
    rill_model *m = written_read(&g, onnx, &err);
    bool read = m && interp_run(&m->typed.g, &in, &a, out, &err) == RILL_OK;
    CHECK(read, "%s", err.text);
    for (int i = 0; read && i < 2; i++) {
        const char *is = m->typed.g.wires[m->typed.g.outputs[i]].name;
        CHECK(!strcmp(is, name[i]) && !memcmp(out[i]->data, y[i], sizeof y[i]), "output %d is '%s'",
              i, is);
    }
    written_drop(m);
    dims_free(ds);
    arena_drop(&a);
}

static bool is_network(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".onnx") || !strcmp(dot, ".tflite"));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Every network below a folder. */
static void walk(const char *root, const char *below)
{
    char path[1024];
    struct dirent **list;
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", root, below);
    int n = scandir(path, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", root, below, list[i]->d_name);
        if (list[i]->d_name[0] != '.' && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                walk(path, ".");
            else if (is_network(path))
                convert_test(path);
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

int main(void)
{
    static const char *const folders[] = { "tests/models/zoo",         "tests/models/transducer",
                                           "tests/conformance/own",    "tests/tools/quantize",
                                           "tests/models/tflite/nets", "tests/half/nets" };
    static const char *const pipelines[] = { "wiener", "rill-denoise", "rill-digits" };
    const char *source = getenv("RILL_SOURCE"), *shared = getenv("RILL_SHARED");
    char path[512];
    snprintf(folder, sizeof folder, "/tmp/rill-convert-%d", (int) getpid());
    size_test(DTYPE_I32, false);
    size_test(DTYPE_F32, false);
    size_test(DTYPE_BOOL, true);
    size_test(DTYPE_F64, true);
    for (enum dtype t = DTYPE_F32; t < DTYPE_DIM; t++) {
        if (dtype_is_half(t)) /* is computed as f32: half/nets */
            continue;
        narrow_test(t, false);
        narrow_test(t, true);
    }
    clash_test(false);
    clash_test(true);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        walk(source, folders[i]);
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
        snprintf(path, sizeof path, "%s/models/library/%s", source, pipelines[i]);
        convert_test(path);
    }
    CHECK(n_converted >= 250 && n_run >= 220, "%u were converted, %u run", n_converted, n_run);
    if (shared && *shared) {
        walk(shared, "cases");
        walk(shared, "models");
    }
    CHECK(n_pulsed >= 60, "%u pulsed graphs were converted", n_pulsed);
    CHECK(n_declared >= 3, "%u files with states were converted", n_declared);
    printf("%u models written and read, %u run, %u of them pulsed\n", n_converted, n_run, n_pulsed);
    return check_done();
}
