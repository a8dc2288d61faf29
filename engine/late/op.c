/* SPDX-License-Identifier: MIT */
#include "engine/late/op.h"
#include "engine/graph/op.h"
#include "engine/typing/half.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The graph's plans for one choice of instruction sets. */
struct late_of_cpu {
    struct late_of_cpu *next;
    unsigned cpu;
    struct late *late;
};

struct late_node {
    struct late_node *next;
    struct late_of_cpu *of_cpu; /* the last is that of the options */
    struct late_opts opts;
    pthread_mutex_t *lock;
    const struct graph *g;
    struct size_source *in; /* of the run, per input */
    struct tensor *shapes;  /* what they point at */
    const struct tensor **out;
    uint64_t runs;
    rill_error err; /* of the last run that failed */
};

struct late_attr {
    struct late_node *node;
};

static struct late_node *node_of(const void *attr)
{
    return ((const struct late_attr *) attr)->node;
}

/* As the file declares it; what it leaves open is not known. */
static struct fact output_fact(const struct graph *g, uint32_t wire)
{
    const struct wire *w = &g->wires[wire];
    struct fact f = { .rank = -1 };
    if (!w->declared)
        return f;
    f.type = w->declared->type;
    f.rank = w->declared->rank;
    for (int k = 0; k < f.rank; k++)
        f.shape[k] =
            w->declared->dim[k] < 0 ? dim_fresh(g->dims) : dim_int(g->dims, w->declared->dim[k]);
    return half_as_f32(&f);
}

static rill_status late_infer(struct infer *c)
{
    const struct graph *g = node_of(c->attr)->g;
    for (unsigned i = 0; i < c->n_out; i++) {
        c->out[i] = output_fact(g, g->outputs[i]);
        if (c->out[i].type == DTYPE_NONE || c->out[i].rank < 0)
            return infer_fail(c, "the file does not declare what output '%.80s' is",
                              g->wires[g->outputs[i]].name);
    }
    return RILL_OK;
}

static rill_status output_check(const struct late_node *l, const struct eval *e, unsigned i,
                                rill_error *err)
{
    const struct tensor *got = l->out[i], *want = e->out[i];
    bool same = got->type == want->type && got->rank == want->rank &&
        !memcmp(got->dim, want->dim, (size_t) got->rank * sizeof *got->dim);
    char text[200];
    size_t at = 0;
    if (same)
        return RILL_OK;
    for (int k = 0; k < got->rank && at < sizeof text; k++)
        at +=
            (size_t) snprintf(text + at, sizeof text - at, "%s%" PRId64, k ? "," : "", got->dim[k]);
    return err_set(err, RILL_INVALID, "output '%.80s' is %s[%s], not what the file declares",
                   l->g->wires[l->g->outputs[i]].name, dtype_name(got->type), at ? text : "");
}

static rill_status of_cpu_get(struct late_node *l, unsigned cpu, struct late **ret, rill_error *err)
{
    for (struct late_of_cpu *c = l->of_cpu; c; c = c->next)
        if (c->cpu == cpu) {
            *ret = c->late;
            return RILL_OK;
        }
    struct late_of_cpu *c = calloc(1, sizeof *c);
    struct late_opts opts = l->opts;
    opts.cpu = cpu;
    rill_status s =
        c ? late_new(&c->late, l->g, NULL, &opts, err) : err_set(err, RILL_NOMEM, "out of memory");
    if (s != RILL_OK) {
        free(c);
        return s;
    }
    c->cpu = cpu;
    c->next = l->of_cpu;
    l->of_cpu = c;
    *ret = c->late;
    return RILL_OK;
}

static rill_status late_eval_all(struct late_node *l, const struct eval *e)
{
    struct late *late;
    TRY(of_cpu_get(l, e->kern->cpu, &late, &l->err));
    l->runs++;
    for (unsigned i = 0; i < e->n_in; i++) {
        l->shapes[i] = *e->in[i];
        l->shapes[i].data = (void *) (uintptr_t) e->x[i];
        l->in[i] = (struct size_source) { &l->shapes[i], l->runs };
    }
    TRY(late_run(late, l->in, l->out, &l->err));
    for (unsigned i = 0; i < e->n_out; i++) {
        TRY(output_check(l, e, i, &l->err));
        if (e->y[i] && tensor_bytes(e->out[i]))
            memcpy(e->y[i], l->out[i]->data, tensor_bytes(e->out[i]));
    }
    return RILL_OK;
}

static void late_eval(const struct eval *e)
{
    struct late_node *l = node_of(e->attr);
    pthread_mutex_lock(l->lock);
    if (late_eval_all(l, e) != RILL_OK)
        eval_fault(e, FAULT_SIZES, 0, 0);
    pthread_mutex_unlock(l->lock);
}

static const char *late_fault_text(const struct node *n)
{
    return node_of(n->attr)->err.text;
}

static const struct op op_late = {
    .id = OP_NONE,
    .name = "Late",
    .attr_bytes = sizeof(struct late_attr),
    .min_in = 0,
    .max_in = -1,
    .min_out = 0,
    .max_out = -1,
    .flags = OP_RANDOM, /* never folded */
    .infer = late_infer,
    .eval = late_eval,
    .fault_text = late_fault_text,
    .help = "a graph whose sizes data decides",
};

/* ---- making ---- */

static rill_status node_fill(struct late_node *l, const struct mgraph *m, const struct fact *inputs,
                             const struct late_opts *opts, rill_error *err)
{
    const struct graph *g = &m->g;
    struct late *late;
    l->g = g;
    l->in = arena_array(g->arena, struct size_source, g->n_inputs + 1u);
    l->shapes = arena_array(g->arena, struct tensor, g->n_inputs + 1u);
    l->out = arena_array(g->arena, const struct tensor *, g->n_outputs + 1u);
    if (!l->in || !l->shapes || !l->out)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        if (!fact_to_tensor(&inputs[i], &l->shapes[i]))
            return err_set(err, RILL_UNSUPPORTED,
                           "the size of input '%.80s' is open: give it a number",
                           g->wires[g->inputs[i]].name);
        l->in[i].t = &l->shapes[i];
    }
    l->opts = *opts;
    TRY(of_cpu_get(l, opts->cpu, &late, err));
    return late_probe(late, l->in, err);
}

static rill_status graph_fill(struct graph *ret, struct late_node *l, const struct mgraph *m,
                              const struct fact *inputs, rill_error *err)
{
    const struct graph *g = &m->g;
    struct late_attr *attr = arena_new(g->arena, struct late_attr);
    uint32_t *in = arena_array(g->arena, uint32_t, g->n_inputs + 1u),
             *out = arena_array(g->arena, uint32_t, g->n_outputs + 1u);
    if (!attr || !in || !out)
        return err_set(err, RILL_NOMEM, "out of memory");
    attr->node = l;
    graph_init(ret, g->arena, g->dims, g->name);
    ret->meta = g->meta;
    ret->n_meta = g->n_meta;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        in[i] = graph_add_input(ret, g->wires[g->inputs[i]].name, &inputs[i]);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const struct fact f = output_fact(g, g->outputs[i]);
        out[i] = graph_add_wire(ret, g->wires[g->outputs[i]].name, &f);
        if (!graph_add_output(ret, out[i]))
            return err_set(err, RILL_NOMEM, "out of memory");
    }
    const struct node *n = graph_add_node(ret, &op_late, g->name ? g->name : "late", attr, in,
                                          g->n_inputs, out, g->n_outputs);
    return n ? RILL_OK : err_set(err, RILL_NOMEM, "out of memory");
}

rill_status tgraph_from_late(struct tgraph *ret, struct late_node **ret_node,
                             const struct mgraph *m, const struct fact *inputs,
                             const struct late_opts *opts, pthread_mutex_t *lock,
                             rill_error *reterr)
{
    struct tgraph made;
    struct late_node *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    l->lock = lock;
    rill_status s = node_fill(l, m, inputs, opts, reterr);
    if (s == RILL_OK)
        s = graph_fill(&made.g, l, m, inputs, reterr);
    if (s != RILL_OK) {
        late_node_free(l);
        return s;
    }
    *ret = made;
    *ret_node = l;
    return RILL_OK;
}

struct late_node *late_node_free(struct late_node *l)
{
    while (l) {
        struct late_node *next = l->next;
        for (struct late_of_cpu *c = l->of_cpu, *after; c; c = after) {
            after = c->next;
            late_free(c->late);
            free(c);
        }
        free(l);
        l = next;
    }
    return NULL;
}

struct late_node **late_node_next(struct late_node *l)
{
    return &l->next;
}

static struct late *late_of_options(const struct late_node *l)
{
    const struct late_of_cpu *c = l->of_cpu;
    while (c->next)
        c = c->next;
    return c->late;
}

struct late *late_of_graph(const struct graph *g)
{
    return g->n_nodes == 1 && g->nodes[0].op == &op_late
        ? late_of_options(node_of(g->nodes[0].attr))
        : NULL;
}

bool late_node_count(const struct node *n, struct late_counts *ret)
{
    struct late_counts more;
    if (n->op != &op_late)
        return false;
    *ret = (struct late_counts) { 0 };
    for (const struct late_of_cpu *c = node_of(n->attr)->of_cpu; c; c = c->next) {
        late_count(c->late, &more);
        late_counts_add(ret, &more);
    }
    return true;
}
