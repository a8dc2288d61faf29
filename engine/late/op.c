/* SPDX-License-Identifier: MIT */
#include "engine/late/op.h"
#include "engine/base/lock.h"
#include "engine/graph/op.h"
#include "engine/late/carry.h"
#include "engine/late/rooms.h"
#include "engine/typing/half.h"
#include "engine/typing/typed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESERVE_FRAMES 1024 /* of states that grow, unless asked */

/* The graph's plans for one choice of instruction sets. */
struct late_of_cpu {
    struct late_of_cpu *next;
    unsigned cpu;
    struct late *late;
    struct rooms *rooms; /* NULL: each size has a plan of its own */
};

struct late_node {
    struct late_node *next;
    struct late_of_cpu *of_cpu; /* the last is that of the options */
    struct late_opts opts;
    struct lock *lock;
    const struct graph *g; /* states are its last inputs and outputs */
    struct graph inner;    /* g, where there are states */
    struct carry states;
    uint32_t n_ports, n_results; /* inputs and outputs in front of them */
    const struct fact *ports;    /* what those inputs are; NULL: no states */
    struct fact *results;        /* what those outputs are, as far as that is known */
    struct size_source *in;      /* of the run, per input */
    struct tensor *shapes;       /* what they point at */
    const struct tensor **out;
    uint64_t runs;
    rill_error err; /* of the last run that failed */
};

struct late_attr {
    struct late_node *node;
};

static rill_status late_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

static struct late_node *node_of(const void *attr)
{
    return ((const struct late_attr *) attr)->node;
}

static rill_status results_check(const struct late_node *l, const struct node *n, rill_error *err)
{
    for (uint32_t i = 0; i < l->n_results; i++)
        if (l->results[i].type == DTYPE_NONE || l->results[i].rank < 0)
            return op_fail(err, RILL_UNSUPPORTED, n,
                           "the file does not declare what output '%.80s' is",
                           l->g->wires[l->g->outputs[i]].name);
    return RILL_OK;
}

/* How many frames each state has. */
static struct fact frames_fact(const struct late_node *l)
{
    return (struct fact) { .type = DTYPE_I64,
                           .rank = 1,
                           .shape = { dim_int(l->g->dims, (int64_t) l->states.n) } };
}

static struct fact buffer_fact(const struct late_node *l, uint32_t i)
{
    struct fact f;
    fact_of_tensor(&f, l->g->dims, &l->states.list[i].most);
    f.value = NULL;
    return f;
}

/* The results, the buffers of states, and how many frames those have. */
static rill_status late_infer(struct infer *c)
{
    const struct late_node *l = node_of(c->attr);
    TRY(results_check(l, c->node, c->err));
    for (unsigned i = 0; i < c->n_out; i++)
        c->out[i] = i < l->n_results         ? l->results[i]
            : i < l->n_results + l->states.n ? buffer_fact(l, i - l->n_results)
                                             : frames_fact(l);
    return RILL_OK;
}

/* A state is written in its own place. */
static int late_base(const struct node *n, unsigned o)
{
    const struct late_node *l = node_of(n->attr);
    return o < l->n_results ? -1 : (int) (o - l->n_results + l->n_ports);
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

static void of_cpu_free(struct late_of_cpu *c)
{
    if (c) {
        rooms_free(c->rooms);
        late_free(c->late);
    }
    free(c);
}

static rill_status of_cpu_make(struct late_node *l, struct late_of_cpu *c, unsigned cpu,
                               rill_error *err)
{
    struct late_opts opts = l->opts;
    opts.cpu = cpu;
    c->cpu = cpu;
    TRY(late_new(&c->late, l->g, NULL, &opts, err));
    opts.packs = late_packs(c->late);
    return l->ports ? rooms_new(&c->rooms, l->g, &l->states, l->ports, &opts, err) : RILL_OK;
}

static rill_status of_cpu_get(struct late_node *l, unsigned cpu, struct late_of_cpu **ret,
                              rill_error *err)
{
    for (struct late_of_cpu *c = l->of_cpu; c; c = c->next)
        if (c->cpu == cpu) {
            *ret = c;
            return RILL_OK;
        }
    struct late_of_cpu *c = calloc(1, sizeof *c);
    rill_status s = c ? of_cpu_make(l, c, cpu, err) : late_memory(err);
    if (s != RILL_OK) {
        of_cpu_free(c);
        return s;
    }
    c->next = l->of_cpu;
    l->of_cpu = c;
    *ret = c;
    return RILL_OK;
}

static void inputs_view(struct late_node *l, const struct eval *e)
{
    const int64_t *frames = l->states.n ? e->x[l->n_ports + l->states.n] : NULL;
    l->runs++;
    for (uint32_t i = 0; i < l->n_ports; i++) {
        l->shapes[i] = *e->in[i];
        l->shapes[i].data = (void *) (uintptr_t) e->x[i];
        l->in[i] = (struct size_source) { &l->shapes[i], l->runs };
    }
    for (uint32_t i = 0; i < l->states.n; i++) {
        const uint32_t k = l->n_ports + i;
        l->shapes[k] = carry_view(&l->states.list[i], frames[i], e->x[k]);
        l->in[k] = (struct size_source) { &l->shapes[k], l->runs };
    }
}

static rill_status results_take(struct late_node *l, const struct eval *e)
{
    for (uint32_t i = 0; i < l->n_results; i++) {
        TRY(output_check(l, e, i, &l->err));
        if (e->y[i] && tensor_bytes(e->out[i]))
            memcpy(e->y[i], l->out[i]->data, tensor_bytes(e->out[i]));
    }
    return RILL_OK;
}

/* A state that is given on as another one lies where that one's next value goes. */
static rill_status states_apart(struct late_node *l, struct arena *a)
{
    for (uint32_t i = 0; i < l->states.n; i++) {
        const struct tensor **next = &l->out[l->n_results + i];
        for (uint32_t k = 0; k < l->states.n; k++)
            if (*next == &l->shapes[l->n_ports + k] && !(*next = tensor_clone(a, *next)))
                return late_memory(&l->err);
    }
    return RILL_OK;
}

static rill_status states_put(struct late_node *l, const struct eval *e)
{
    const uint32_t n = l->states.n;
    int64_t *frames = n ? e->y[l->n_results + n] : NULL;
    struct arena a = { 0 };
    rill_status s = states_apart(l, &a);
    for (uint32_t i = 0; s == RILL_OK && i < n; i++)
        s = carry_put(&l->states.list[i], l->out[l->n_results + i], false, e->y[l->n_results + i],
                      &frames[i], &l->err);
    arena_drop(&a);
    return s;
}

static rill_status late_eval_all(struct late_node *l, const struct eval *e)
{
    struct late_of_cpu *c;
    TRY(of_cpu_get(l, e->kern->cpu, &c, &l->err));
    inputs_view(l, e);
    if (c->rooms && rooms_fit(c->rooms, l->in))
        TRY(rooms_run(c->rooms, l->in, l->out, &l->err));
    else
        TRY(late_run(c->late, l->in, l->out, &l->err));
    TRY(results_take(l, e));
    return states_put(l, e);
}

/* What was wrong lies with the stream: another one's run writes l->err as soon as it may. */
static void late_eval(const struct eval *e)
{
    struct late_node *l = node_of(e->attr);
    lock_take(l->lock);
    if (late_eval_all(l, e) != RILL_OK)
        eval_fault_say(e, l->err.text);
    lock_give(l->lock);
}

/* Who plans holds the lock. */
static rill_status late_prepare(struct prep *c)
{
    struct late_of_cpu *of;
    struct late_node *l = node_of(c->attr);
    TRY(of_cpu_get(l, c->kern->cpu, &of, c->err));
    return of->rooms ? rooms_prepare(of->rooms, c->err) : RILL_OK;
}

static const struct op op_late = {
    .id = OP_NONE,
    .name = "Late",
    .attr_bytes = sizeof(struct late_attr),
    .min_in = 0,
    .max_in = -1,
    .min_out = 0,
    .max_out = -1,
    .flags = OP_RANDOM | OP_SAYS, /* never folded */
    .infer = late_infer,
    .prepare = late_prepare,
    .eval = late_eval,
    .base = late_base,
    .help = "a graph whose sizes data decides",
};

/* ---- making ---- */

/* f32 of any value for 16-bit floats: what comes is rounded. */
static struct fact port_fact(const struct fact *in_file)
{
    struct fact f = half_as_f32(in_file);
    f.number = dtype_is_half(in_file->type) ? DTYPE_NONE : f.number;
    return f;
}

/* Sizes of the ports, which stay, and of the states as they begin. */
static rill_status shapes_set(struct late_node *l, const struct fact *inputs, rill_error *err)
{
    const struct graph *g = l->g;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct fact f = i < l->n_ports ? port_fact(&inputs[i]) : (struct fact) { .rank = -1 };
        if (i >= l->n_ports) {
            const struct carried *c = &l->states.list[i - l->n_ports];
            l->shapes[i] = carry_view(c, carry_first_frames(c), NULL);
        } else if (!fact_to_tensor(&f, &l->shapes[i])) {
            char text[160];
            fact_print(&inputs[i], text, sizeof text);
            return err_set(
                err, RILL_UNSUPPORTED,
                "the size of input '%.80s' is open%s, %s: give it a number (--shape, --set)%s",
                g->wires[g->inputs[i]].name, l->states.n ? ", or grows with the states" : "", text,
                l->states.n ? ", or make it a constant" : "");
        }
        l->in[i].t = &l->shapes[i];
    }
    return RILL_OK;
}

/* Where there are states, what outputs are for any number of frames: as they are typed before that
 * is known. */
static rill_status results_type(struct late_node *l, const struct mgraph *m,
                                const struct fact *inputs, rill_error *err)
{
    const struct graph *g = l->g;
    struct typed_input *in = arena_array(g->arena, struct typed_input, l->n_ports + 1u);
    struct fact *facts = arena_array(g->arena, struct fact, g->n_wires + 1u);
    l->results = arena_array(g->arena, struct fact, l->n_results + 1u);
    if (!in || !facts || !l->results)
        return late_memory(err);
    for (uint32_t i = 0; i < l->n_ports; i++)
        in[i] = (struct typed_input) { g->wires[g->inputs[i]].name, inputs[i] };
    struct tgraph unused;
    struct mgraph inner = { .g = *g };
    if (l->states.n)
        tgraph_from_mgraph(&unused, &inner,
                           &(struct typed_opts) { in, l->n_ports, .ret_facts = facts }, NULL);
    for (uint32_t i = 0; i < l->n_results; i++) {
        const struct fact *f = &facts[g->outputs[i]];
        const struct fact said = graph_declared(&m->g, g->outputs[i]);
        l->results[i] = half_as_f32(f->type && f->rank >= 0 && fact_is_static(f) ? f : &said);
        l->results[i].value = NULL;
    }
    for (uint32_t i = 0; i < l->states.n; i++)
        TRY(carry_check(&l->states.list[i], &facts[g->outputs[l->n_results + i]], err));
    return RILL_OK;
}

static rill_status node_fill(struct late_node *l, const struct mgraph *m, const struct fact *inputs,
                             const struct late_opts *opts, rill_error *err)
{
    const struct graph *g = &m->g;
    struct late_of_cpu *c;
    l->n_ports = g->n_inputs;
    l->n_results = g->n_outputs;
    TRY(carry_make(&l->states, &l->inner, g,
                   opts->reserve_frames ? opts->reserve_frames : RESERVE_FRAMES, err));
    l->g = g->n_states ? &l->inner : g;
    l->in = arena_array(g->arena, struct size_source, l->inner.n_inputs + 1u);
    l->shapes = arena_array(g->arena, struct tensor, l->inner.n_inputs + 1u);
    l->out = arena_array(g->arena, const struct tensor *, l->inner.n_outputs + 1u);
    if (!l->in || !l->shapes || !l->out)
        return late_memory(err);
    TRY(shapes_set(l, inputs, err));
    TRY(results_type(l, m, inputs, err));
    l->opts = *opts;
    if (l->states.n && !(l->ports = arena_copy(g->arena, inputs, l->n_ports * sizeof *inputs)))
        return late_memory(err);
    TRY(of_cpu_get(l, opts->cpu, &c, err));
    return c->rooms ? RILL_OK : late_probe(c->late, l->in, err);
}

/* The states of ret: the buffers, and how many frames each has. */
static rill_status states_fill(struct graph *ret, const struct late_node *l, uint32_t *in,
                               uint32_t *out, rill_error *err)
{
    struct arena *a = ret->arena;
    const uint32_t n = l->states.n;
    struct tensor *frames = tensor_new(a, DTYPE_I64, 1, (int64_t[]) { (int64_t) n });
    if (!frames)
        return late_memory(err);
    for (uint32_t i = 0; i <= n; i++) {
        const struct fact f = i < n ? buffer_fact(l, i) : frames_fact(l);
        const struct tensor *init = frames;
        const char *name = i < n ? l->states.list[i].name : "frames of states";
        if (i < n) {
            TRY(carry_init(&l->states.list[i], a, &init, err));
            ((int64_t *) frames->data)[i] = carry_first_frames(&l->states.list[i]);
        }
        in[i] = graph_add_wire(ret, name, &f);
        out[i] = graph_add_wire(ret, graph_name_next(ret, name), &f);
        if (!graph_add_state(ret, name, in[i], out[i], init))
            return late_memory(err);
    }
    return RILL_OK;
}

static rill_status graph_fill(struct graph *ret, struct late_node *l, const struct mgraph *m,
                              const struct fact *inputs, rill_error *err)
{
    const struct graph *g = &m->g;
    const uint32_t more = l->states.n ? l->states.n + 1 : 0;
    struct late_attr *attr = arena_new(g->arena, struct late_attr);
    uint32_t *in = arena_array(g->arena, uint32_t, g->n_inputs + more + 1u),
             *out = arena_array(g->arena, uint32_t, g->n_outputs + more + 1u);
    if (!attr || !in || !out)
        return late_memory(err);
    attr->node = l;
    graph_init(ret, g->arena, g->dims, g->name);
    ret->meta = g->meta;
    ret->n_meta = g->n_meta;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct fact f = port_fact(&inputs[i]);
        in[i] = graph_add_input(ret, g->wires[g->inputs[i]].name, &f);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        out[i] = graph_add_wire(ret, g->wires[g->outputs[i]].name, &l->results[i]);
        if (!graph_add_output(ret, out[i]))
            return late_memory(err);
    }
    if (more)
        TRY(states_fill(ret, l, in + g->n_inputs, out + g->n_outputs, err));
    const struct node *n = graph_add_node(ret, &op_late, g->name ? g->name : "late", attr, in,
                                          g->n_inputs + more, out, g->n_outputs + more);
    return n ? RILL_OK : late_memory(err);
}

rill_status tgraph_from_late(struct tgraph *ret, struct late_node **ret_node,
                             const struct mgraph *m, const struct fact *inputs,
                             const struct late_opts *opts, struct lock *lock, rill_error *reterr)
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
            of_cpu_free(c);
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

rill_status late_state_begin(const struct graph *g, uint32_t i, const struct tensor *value,
                             struct arena *a, const struct tensor **ret, int64_t *ret_frames,
                             rill_error *reterr)
{
    *ret = NULL;
    *ret_frames = 0;
    if (!late_of_graph(g) || i >= node_of(g->nodes[0].attr)->states.n)
        return RILL_OK;
    const struct carried *c = &node_of(g->nodes[0].attr)->states.list[i];
    struct tensor *t = tensor_new(a, c->most.type, c->most.rank, c->most.dim);
    if (!t)
        return late_memory(reterr);
    const bool rounds = c->most.number && (value->type == DTYPE_F32 || dtype_is_half(value->type));
    if (rounds && !(value = half_rounded(a, value, c->most.number)))
        return late_memory(reterr);
    struct tensor first = *value;
    first.number = c->most.number;
    TRY(carry_put(c, &first, true, t->data, ret_frames, reterr));
    *ret = t;
    return RILL_OK;
}

bool late_node_count(const struct node *n, struct late_counts *ret)
{
    struct late_counts more;
    if (n->op != &op_late)
        return false;
    *ret = (struct late_counts) { 0 };
    for (const struct late_of_cpu *c = node_of(n->attr)->of_cpu; c; c = c->next) {
        late_count(c->late, &more);
        rooms_count(c->rooms, &more);
        late_counts_add(ret, &more);
    }
    return true;
}
