/* SPDX-License-Identifier: MIT */
/* rill run: any model on any data, as its whole graph. */
#include "engine/base/bytes.h"
#include "engine/base/float_mode.h"
#include "engine/graph/bind.h"
#include "engine/graph/op.h"
#include "engine/graph/subst.h"
#include "engine/late/op.h"
#include "engine/typing/interp.h"
#include "lib/model.h"
#include "tools/open.h"
#include "tools/run.h"
#include "tools/run_daemon.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
    const struct command *cmd;
    struct open_opts open;
    struct opt_list inputs, dumps, dump_ops;
    const char *out, *reference, *pass;
    struct run_asked asked;
    bool audit, json, not_cumulative, profile, daemon;
    const char *socket;
    int64_t steps, seed, memory_mb;
    struct run_tolerance tolerance;
    rill_model *model;
    struct arena arena;
    struct graph g;       /* states are further inputs and outputs */
    uint32_t n_in, n_out; /* of the model */
    uint32_t n_watched;   /* wires behind those outputs that are compared or dumped */
    uint32_t n_states;    /* behind those */
    uint32_t n_cut;       /* inputs in front of the states', that have the reference's values */
    struct run_inputs data;
    struct npz want, made;
    struct run_compared *compared; /* of each output and watched wire; want NULL: it is not */
    struct op_time *times;
    unsigned n_times;
    double before_s;
    rill_error err;
};

struct op_time {
    const struct op *op;
    unsigned nodes;
    double s;
};

static rill_status no_memory(struct job *j)
{
    return run_memory_out(&j->arena, &j->err);
}

/* ---- the graph that runs ---- */

static bool matches(const struct opt_list *l, const char *text)
{
    for (unsigned i = 0; i < l->n; i++)
        if (!fnmatch(l->item[i], text, 0))
            return true;
    return false;
}

/* The reference of an output is not that of a wire within, as one of a fragment, of its name. */
static bool is_referenced(const struct job *j, const char *wire)
{
    for (uint32_t i = 0; i < j->n_out; i++)
        if (!strcmp(j->g.wires[j->g.outputs[i]].name, wire))
            return false;
    return npz_find(&j->want, wire) != NULL;
}

/* What output i, or what is watched, is compared with; NULL: nothing. */
static const struct tensor *reference_of(const struct job *j, uint32_t i)
{
    const char *name = j->g.wires[j->g.outputs[i]].name;
    return i < j->n_out || is_referenced(j, name) ? npz_find(&j->want, name) : NULL;
}

/* By its name or op, in the order of nodes. */
static bool is_watched(const struct job *j, const struct node *n, const char *wire)
{
    return is_referenced(j, wire) || matches(&j->dumps, wire) || matches(&j->dump_ops, n->op->name);
}

static bool is_output(const struct job *j, uint32_t wire)
{
    for (uint32_t i = 0; i < j->n_out; i++)
        if (j->g.outputs[i] == wire)
            return true;
    return false;
}

/* INVALID: a filter has nothing to show. */
static rill_status filters_check(struct job *j)
{
    for (unsigned d = 0; d < j->dumps.n + j->dump_ops.n; d++) {
        const bool by_op = d >= j->dumps.n;
        const char *filter = by_op ? j->dump_ops.item[d - j->dumps.n] : j->dumps.item[d];
        bool found = false;
        for (uint32_t i = 0; i < j->g.n_nodes; i++)
            for (unsigned k = 0; k < j->g.nodes[i].n_out; k++) {
                uint32_t w = j->g.nodes[i].out[k];
                const char *name = by_op ? j->g.nodes[i].op->name
                    : w == WIRE_NONE     ? ""
                                         : j->g.wires[w].name;
                found |= !fnmatch(filter, name, 0);
            }
        if (!found)
            return err_set(
                &j->err, RILL_INVALID,
                "--dump%s '%.80s' is no %s of the graph that runs (--pass typed has those of "
                "the file)",
                by_op ? "-op" : "", filter, by_op ? "op" : "wire that a node makes");
    }
    return RILL_OK;
}

static rill_status watched_add(struct job *j)
{
    TRY(filters_check(j));
    for (uint32_t i = 0; i < j->g.n_nodes; i++)
        for (unsigned k = 0; k < j->g.nodes[i].n_out; k++) {
            uint32_t w = j->g.nodes[i].out[k];
            if (w == WIRE_NONE || is_output(j, w) ||
                !is_watched(j, &j->g.nodes[i], j->g.wires[w].name))
                continue;
            if (!graph_add_output(&j->g, w))
                return no_memory(j);
            j->n_watched++;
        }
    return RILL_OK;
}

/* Nodes read what the reference has of a wire, not what the nodes before them made. */
static rill_status wire_cut(struct job *j, uint32_t w)
{
    struct fact f = j->g.wires[w].fact;
    const uint32_t n_nodes = j->g.n_nodes;
    f.value = NULL;
    uint32_t from = graph_add_input(&j->g, j->g.wires[w].name, &f);
    if (from == WIRE_NONE)
        return no_memory(j);
    for (uint32_t i = 0; i < n_nodes; i++)
        for (unsigned k = 0; k < j->g.nodes[i].n_in; k++)
            if (j->g.nodes[i].in[k] == w)
                j->g.nodes[i].in[k] = from;
    j->n_cut++;
    return RILL_OK;
}

static rill_status wires_cut(struct job *j)
{
    for (uint32_t i = 0; i < j->n_out + j->n_watched; i++) {
        const struct wire *w = &j->g.wires[j->g.outputs[i]];
        if (w->node != WIRE_NONE && reference_of(j, i))
            TRY(wire_cut(j, j->g.outputs[i]));
    }
    return RILL_OK;
}

static rill_status states_open(struct job *j)
{
    struct graph *g = &j->g;
    uint32_t *inputs = arena_array(&j->arena, uint32_t, g->n_inputs + g->n_states + 1u);
    if (!inputs)
        return no_memory(j);
    memcpy(inputs, g->inputs, g->n_inputs * sizeof *inputs);
    for (uint32_t i = 0; i < g->n_states; i++) {
        inputs[g->n_inputs + i] = g->states[i].in;
        if (!graph_add_output(g, g->states[i].out))
            return no_memory(j);
    }
    g->inputs = inputs;
    g->n_inputs += g->n_states;
    j->n_states = g->n_states;
    g->n_states = 0;
    return RILL_OK;
}

static rill_status graph_open(struct job *j, const struct graph *g)
{
    TRY(graph_copied(&j->g, g, &j->err));
    uint32_t *outputs = arena_array(j->g.arena, uint32_t, g->n_outputs + 1u);
    if (!outputs)
        return no_memory(j);
    memcpy(outputs, g->outputs, g->n_outputs * sizeof *outputs);
    j->g.outputs = outputs;
    j->g.cap_outputs = g->n_outputs + 1;
    j->n_in = g->n_inputs;
    j->n_out = g->n_outputs;
    TRY(watched_add(j));
    if (j->not_cumulative)
        TRY(wires_cut(j));
    TRY(states_open(j));
    j->compared = arena_array(&j->arena, struct run_compared, j->n_out + j->n_watched + 1u);
    if (!j->compared)
        return no_memory(j);
    for (uint32_t i = 0; i < j->n_out + j->n_watched; i++) {
        const char *name = j->g.wires[j->g.outputs[i]].name;
        j->compared[i] = (struct run_compared) { .name = name, .want = reference_of(j, i) };
    }
    return RILL_OK;
}

/* ---- running ---- */

static rill_status node_time(void *arg, const struct node *n, const struct tensor *const *in,
                             const struct tensor *const *out)
{
    struct job *j = arg;
    double now = tool_now_s();
    unsigned k = 0;
    (void) in;
    (void) out;
    while (k < j->n_times && j->times[k].op != n->op)
        k++;
    if (k == j->n_times)
        j->times[j->n_times++] = (struct op_time) { .op = n->op };
    j->times[k].nodes++;
    j->times[k].s += now - j->before_s;
    j->before_s = tool_now_s();
    return RILL_OK;
}

/* One of several steps goes into an array with an axis of steps in front. */
static rill_status output_keep(struct job *j, const char *name, const struct tensor *t,
                               int64_t step)
{
    const struct tensor *kept = npz_find(&j->made, name);
    int64_t dim[RANK_MAX] = { j->steps };
    if (!kept) {
        const int skip = j->steps > 1;
        if (t->rank + skip > RANK_MAX)
            return err_set(&j->err, RILL_LIMIT, "'%.80s' has too many axes for one of steps", name);
        memcpy(dim + skip, t->dim, (size_t) t->rank * sizeof *dim);
        kept = tensor_new(&j->arena, t->type, t->rank + skip, dim);
        if (!kept || !npz_add(&j->made, &j->arena, name, kept))
            return no_memory(j);
    }
    const size_t bytes = tensor_bytes(t);
    if (bytes * (size_t) j->steps != tensor_bytes(kept))
        return err_set(&j->err, RILL_UNSUPPORTED,
                       "'%.80s' is not of the same size in each step, which no array holds", name);
    if (bytes)
        memcpy((char *) kept->data + (size_t) step * bytes, t->data, bytes);
    return RILL_OK;
}

static rill_status outputs_take(struct job *j, const struct tensor *const *out, int64_t step)
{
    for (uint32_t i = 0; i < j->n_out + j->n_watched; i++) {
        const struct tensor *t = tensor_resolved(&j->arena, out[i]);
        const bool shown = i < j->n_out ? !j->reference : !j->compared[i].want;
        if (!t)
            return no_memory(j);
        if (j->compared[i].want)
            run_compare(&j->compared[i], t, step, j->steps, &j->tolerance);
        if (shown && step + 1 == j->steps)
            run_wire_print(j->compared[i].name, t);
        if (j->out)
            TRY(output_keep(j, j->compared[i].name, t, step));
    }
    return RILL_OK;
}

static rill_status state_begin(struct job *j, uint32_t input, const struct tensor *init,
                               const struct tensor **ret)
{
    const struct wire *w = &j->g.wires[j->g.inputs[input]];
    struct tensor shape;
    if (!init && fact_to_tensor(&w->fact, &shape))
        init = tensor_new(&j->arena, shape.type, shape.rank, shape.dim);
    *ret = init;
    return init ? RILL_OK
                : err_set(&j->err, RILL_UNSUPPORTED,
                          "the size of state '%.80s' is open: --set or --shape says it", w->name);
}

/* What the data says, what the model says, or 0. */
static rill_status state_value(struct job *j, uint32_t input, const struct tensor *init,
                               const struct tensor **ret)
{
    struct run_inputs first = j->data;
    first.steps = 1;
    return npz_find(&j->data.given, j->g.wires[j->g.inputs[input]].name)
        ? run_input_at(&first, &j->g, input, 0, &j->arena, ret, &j->err)
        : state_begin(j, input, init, ret);
}

/* States that grow begin with what the data has of them, and as many frames. */
static rill_status states_grown_begin(struct job *j, const struct graph *of,
                                      const struct tensor **states)
{
    struct tensor *frames = NULL;
    for (uint32_t i = 0; i + 1 < j->n_states; i++) {
        const struct tensor *given = npz_find(&j->data.given, j->g.wires[of->states[i].in].name),
                            *buffer;
        int64_t n;
        if (!given)
            continue;
        TRY(late_state_begin(of, i, given, &j->arena, &buffer, &n, &j->err));
        if (!frames && !(frames = tensor_clone(&j->arena, states[j->n_states - 1])))
            return no_memory(j);
        states[i] = buffer;
        ((int64_t *) frames->data)[i] = n;
        states[j->n_states - 1] = frames;
    }
    return RILL_OK;
}

static rill_status states_begin(struct job *j, const struct graph *of, const struct tensor **in)
{
    const uint32_t first = j->n_in + j->n_cut;
    const bool grow = late_of_graph(of) != NULL;
    for (uint32_t i = 0; i < j->n_states; i++)
        TRY(grow ? state_begin(j, first + i, of->states[i].init, &in[first + i])
                 : state_value(j, first + i, of->states[i].init, &in[first + i]));
    return grow ? states_grown_begin(j, of, in + first) : RILL_OK;
}

/* The reference's values of what was cut, as inputs of this step. */
static rill_status inputs_make(struct job *j, int64_t step, struct arena *a,
                               const struct tensor **in)
{
    for (uint32_t i = 0; i < j->n_in; i++)
        TRY(run_input_at(&j->data, &j->g, i, step, a, &in[i], &j->err));
    struct run_inputs cut = j->data;
    cut.given = j->want;
    cut.files = arena_array(a, const char *, j->want.n + 1u);
    if (!cut.files)
        return no_memory(j);
    for (uint32_t i = 0; i < j->want.n; i++)
        cut.files[i] = j->reference;
    for (uint32_t i = 0; i < j->n_cut; i++)
        TRY(run_input_at(&cut, &j->g, j->n_in + i, step, a, &in[j->n_in + i], &j->err));
    return RILL_OK;
}

/* The sizes that data decides are those of this step, in plans. */
static rill_status late_step(struct job *j, struct late *late, const struct tensor *const *in,
                             int64_t step, const struct tensor **out)
{
    struct size_source *from = arena_array(&j->arena, struct size_source, j->g.n_inputs + 1u);
    if (!from)
        return no_memory(j);
    for (uint32_t i = 0; i < j->g.n_inputs; i++)
        from[i] = (struct size_source) { in[i], (uint64_t) step + 1 };
    return late_run(late, from, out, &j->err);
}

static void late_print(const struct graph *g)
{
    struct late_counts n;
    if (!late_of_graph(g) || !late_node_count(&g->nodes[0], &n))
        return;
    printf("sizes that data decides: %llu hits, %llu misses, %llu plans, blocks of %zu bytes\n",
           (unsigned long long) n.hits, (unsigned long long) n.misses, (unsigned long long) n.plans,
           n.block_bytes);
}

/* Copies, for a state may be given on as it came, and the memory of the step before goes. */
static rill_status states_take(struct job *j, const struct tensor *const *out, struct arena *now,
                               const struct tensor **in)
{
    for (uint32_t i = 0; i < j->n_states; i++) {
        const struct tensor **next = &in[j->n_in + j->n_cut + i];
        *next = tensor_clone(now, out[j->n_out + j->n_watched + i]);
        if (!*next)
            return run_memory_out(now, &j->err);
    }
    return RILL_OK;
}

static rill_status steps_run(struct job *j, const struct graph *of)
{
    const struct tensor **in = arena_array(&j->arena, const struct tensor *, j->g.n_inputs + 1u);
    const struct tensor **out = arena_array(&j->arena, const struct tensor *, j->g.n_outputs + 1u);
    const struct interp_watch watch = { node_time, j };
    struct late *late = of->n_states ? NULL : late_of_graph(of);
    struct arena old = { 0 };
    rill_status s = in && out ? RILL_OK : no_memory(j);
    if (s == RILL_OK)
        s = states_begin(j, of, in);
    uint64_t mode = floats_flush();
    for (int64_t step = 0; s == RILL_OK && step < j->steps; step++) {
        struct arena now = { .limit_bytes = run_memory_left(&j->arena, &old) };
        s = inputs_make(j, step, &now, in);
        j->before_s = tool_now_s();
        if (s == RILL_OK)
            s = late
                ? late_step(j, late, in, step, out)
                : interp_run_watched(&j->g, in, &now, j->profile ? &watch : NULL, out, &j->err);
        s = run_memory_told(&now, s, &j->err);
        if (s == RILL_OK)
            s = outputs_take(j, out, step);
        if (s == RILL_OK)
            s = states_take(j, out, &now, in);
        arena_drop(&old);
        old = now;
    }
    floats_restore(mode);
    arena_drop(&old);
    if (s == RILL_OK)
        late_print(of);
    return s;
}

/* ---- what came of it ---- */

static int time_order(const void *a, const void *b)
{
    const struct op_time *x = a, *y = b;
    return (x->s < y->s) - (x->s > y->s);
}

static void profile_print(struct job *j)
{
    double all = 0;
    for (unsigned i = 0; i < j->n_times; i++)
        all += j->times[i].s;
    qsort(j->times, j->n_times, sizeof *j->times, time_order);
    printf("  %-24s %8s %12s %6s\n", "op", "runs", "ms", "share");
    for (unsigned i = 0; i < j->n_times; i++)
        printf("  %-24s %8u %12.3f %5.1f%%\n", j->times[i].op->name, j->times[i].nodes,
               j->times[i].s * 1e3, all > 0 ? 100 * j->times[i].s / all : 0);
}

/* ---- the command ---- */

static rill_status reference_read(struct job *j)
{
    if (!j->reference)
        return RILL_OK;
    rill_status s = npz_read(&j->want, &j->arena, j->reference, &j->err);
    return s == RILL_OK ? s : err_prefix(&j->err, s, "%.200s", j->reference);
}

static rill_status data_read(struct job *j)
{
    rill_model_info info = { .struct_bytes = sizeof info };
    rill_model_get_info(j->model, &info);
    j->data = (struct run_inputs) { .arena = &j->arena,
                                    .seed = (uint32_t) j->seed,
                                    .steps = j->steps,
                                    .rate = info.sample_rate,
                                    .n_in = j->n_in,
                                    .n_cut = j->n_cut };
    for (unsigned i = 0; i < j->inputs.n; i++)
        TRY(run_inputs_read(&j->data, &j->g, j->inputs.item[i], &j->err));
    return RILL_OK;
}

static bool only_asks(const struct job *j)
{
    return (j->audit || j->asked.only_ops || j->asked.op_counts.n) && !j->inputs.n && !j->out &&
        !j->reference && !j->dumps.n && !j->dump_ops.n && !j->profile;
}

/* Of several steps: how large what comes beside states is, as what an encoder gave. */
static rill_status sizes_learn(struct job *j)
{
    struct step_shape *list;
    if (j->steps == 1)
        return RILL_OK;
    TRY(run_inputs_shapes(&j->inputs, &j->arena, &list, &j->open.n_data, &j->err));
    j->open.data = list;
    return RILL_OK;
}

/* Whether no input is of another size than its data: a size that the file leaves open may have been
 * taken as 1. */
static bool sizes_fit(const rill_model *m, const struct step_shape *data, uint32_t n)
{
    const struct graph *g = &m->typed.g;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct wire *w = &g->wires[g->inputs[i]];
        for (uint32_t k = 0; k < n; k++)
            for (int a = 0;
                 !strcmp(data[k].name, w->name) && data[k].rank == w->fact.rank && a < data[k].rank;
                 a++)
                if (dim_is_const(w->fact.shape[a]) && dim_value(w->fact.shape[a]) != data[k].dim[a])
                    return false;
    }
    return true;
}

/* Where the sizes that a network leaves open keep it from opening, or were taken as others, those
 * of the data are told. */
static rill_status job_open(struct job *j, const char *name)
{
    struct step_shape *list;
    rill_model *m;
    rill_error err;
    rill_status s = open_uncompiled(&j->model, name, &j->open, &j->err);
    if ((s != RILL_OK && s != RILL_UNSUPPORTED) || j->steps > 1 || !j->inputs.n ||
        !open_is_bare(name))
        return s;
    TRY(run_inputs_shapes(&j->inputs, &j->arena, &list, &j->open.n_data, &j->err));
    if (s == RILL_OK && sizes_fit(j->model, list, j->open.n_data))
        return s;
    j->open.data = list;
    j->open.data_tells = true;
    if (s != RILL_OK)
        return open_uncompiled(&j->model, name, &j->open, &j->err);
    if (open_uncompiled(&m, name, &j->open, &err) == RILL_OK) { /* else the data is refused */
        rill_model_free(j->model);
        j->model = m;
    }
    return s;
}

/* Of the sizes that the data has. */
static rill_status audit_of_data(struct job *j, const struct graph *g, const char *name)
{
    struct graph bound[2] = { *g, *g };
    struct binding sizes;
    const struct tensor **in = arena_array(&j->arena, const struct tensor *, j->g.n_inputs + 1u);
    if (!in)
        return no_memory(j);
    for (uint32_t i = 0; i < j->n_in; i++)
        TRY(run_input_at(&j->data, &j->g, i, 0, &j->arena, &in[i], &j->err));
    TRY(binding_from_inputs(&sizes, &j->g, in, &j->err));
    for (unsigned i = 0; i < sizes.n; i++)
        TRY(graph_substituted(&bound[(i + 1) % 2], &bound[i % 2], sizes.list[i].symbol,
                              dim_int(g->dims, sizes.list[i].value), &j->arena, &j->err));
    run_audit(&bound[sizes.n % 2], name, j->json, false);
    return RILL_OK;
}

static rill_status job_run(struct job *j, const char *name)
{
    rill_status s = j->out ? npz_check(&j->err) : RILL_OK;
    if (s != RILL_OK)
        return err_prefix(&j->err, s, "%.200s", j->out);
    TRY(sizes_learn(j));
    TRY(job_open(j, name));
    const struct graph *g =
        j->pass && !strcmp(j->pass, "typed") ? &j->model->typed.g : &j->model->decluttered.g;
    const bool asks = only_asks(j);
    if (!asks) {
        TRY(reference_read(j));
        TRY(graph_open(j, g));
        TRY(data_read(j));
    }
    if (j->audit && !asks && j->steps == 1)
        TRY(audit_of_data(j, g, name));
    else if (j->audit)
        run_audit(g, name, j->json, asks);
    if (j->json && (fflush(stdout) || dup2(STDERR_FILENO, STDOUT_FILENO) < 0))
        return err_set(&j->err, RILL_IO, "standard output cannot be written");
    TRY(run_asked_of(&j->asked, g));
    if (asks)
        return RILL_OK;
    j->times = tool_alloc((graph_count_nodes(&j->g) + 1u) * sizeof *j->times);
    s = steps_run(j, g);
    if (s != RILL_OK)
        return err_prefix(&j->err, s, "%.200s", name);
    if (j->profile)
        profile_print(j);
    if (j->out)
        TRY(npz_write(&j->made, j->out, &j->err));
    return j->reference &&
            run_compared_print(j->compared, j->n_out + j->n_watched, j->n_out, &j->want, &j->g) !=
                TOOL_OK
        ? RILL_END
        : RILL_OK;
}

/* The first option that wants the graph, which only the daemon has; NULL: none does. */
static const char *graph_option(const struct job *j)
{
    const struct open_opts *o = &j->open;
    const struct {
        bool given;
        const char *name;
    } options[] = {
        { j->steps != 1, "--steps" },
        { j->dumps.n, "--dump" },
        { j->dump_ops.n, "--dump-op" },
        { j->asked.op_counts.n, "--assert-op-count" },
        { j->asked.only_ops, "--assert-only-ops" },
        { j->audit, "--audit" },
        { j->not_cumulative, "--not-cumulative" },
        { j->profile, "--profile" },
        { j->memory_mb, "--max-memory" },
        { j->pass, "--pass" },
        { o->shapes.n || o->consts.n || o->states.n, "what declares a bare file" },
        { o->transforms.n || o->sets.n || o->asserts.n || o->stream, "what changes a model" },
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

static int daemon_run(struct job *j, const char *model)
{
    const char *env = getenv("RILL_SOCKET"), *wrong = graph_option(j);
    const struct run_daemon r = {
        .socket = j->socket ? j->socket
            : env && *env   ? env
                            : "/run/rilld/rilld.sock",
        .model = model,
        .inputs = &j->inputs,
        .seed = (uint32_t) j->seed,
        .out = j->out,
        .reference = j->reference,
        .tolerance = j->tolerance,
    };
    bool refused;
    if (wrong)
        return tool_fail(j->cmd, TOOL_USAGE,
                         "%s wants the graph, and with --socket only the daemon has it", wrong);
    rill_status s = run_daemon(&r, &refused, &j->err);
    if (refused)
        return tool_fail(j->cmd, TOOL_REFUSED, "%s", j->err.text);
    return s == RILL_OK ? TOOL_OK : s == RILL_END ? TOOL_FAILED : tool_fail_status(j->cmd, &j->err);
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct job j = {
        .cmd = cmd, .open.declares = true, .steps = 1, .seed = 1, .tolerance = { 1e-5, 1e-4 }
    };
    const struct opt table[] = {
        OPEN_OPTS(j.open),
        { "input", 'i', OPT_LIST, &j.inputs, "NAME=FILE",
          "data of an input: .npy, .npz, .pb or audio (default: random numbers)" },
        { "steps", 'n', OPT_INT, INT_FROM_TO(&j.steps, 1, 1000000), "N",
          "run so often, states carried; arrays have an axis of steps in front then" },
        { "seed", 0, OPT_INT, INT_FROM_TO(&j.seed, 0, UINT32_MAX), "N",
          "of the random numbers (default 1)" },
        { "out", 'o', OPT_TEXT, &j.out, "OUT.npz", "write outputs, and what is dumped" },
        { "compare", 0, OPT_TEXT, &j.reference, "REF.npz",
          "compare outputs and inner wires with arrays of their names" },
        { "not-cumulative", 0, OPT_FLAG, &j.not_cumulative, NULL,
          "what follows a wire of the reference reads the reference" },
        { "atol", 0, OPT_REAL, REAL_FROM_TO(&j.tolerance.absolute, 0, 1e9), "X",
          "difference that is allowed (default 1e-5), and" },
        { "rtol", 0, OPT_REAL, REAL_FROM_TO(&j.tolerance.relative, 0, 1e9), "X",
          "per size of the reference's number (default 1e-4)" },
        { "dump", 'd', OPT_LIST, &j.dumps, "NAME", "show wires of that name (* and ? match)" },
        { "dump-op", 0, OPT_LIST, &j.dump_ops, "OP", "show what nodes of that op give" },
        { "pass", 0, OPT_TEXT, &j.pass, "typed|decluttered",
          "the stage that runs (default decluttered)" },
        { "assert-op-count", 0, OPT_LIST, &j.asked.op_counts, "OP=N",
          "fail unless so many are there" },
        { "assert-only-ops", 0, OPT_TEXT, &j.asked.only_ops, "A,B,..", "fail if there are others" },
        { "audit", 0, OPT_FLAG, &j.audit, NULL,
          "print ops, their number, bytes and products, of an open length by it" },
        { "json", 0, OPT_FLAG, &j.json, NULL,
          "that as JSON; what else is told goes to standard error" },
        { "max-memory", 0, OPT_INT, INT_FROM_TO(&j.memory_mb, 1, INT64_MAX / 1000000), "MB",
          "of what the run keeps (default: half of the machine's)" },
        { "profile", 0, OPT_FLAG, &j.profile, NULL, "the time that each op takes, slowest first" },
        { "daemon", 0, OPT_FLAG, &j.daemon, NULL,
          "stream through rilld: MODEL is one of the daemon's ($RILL_SOCKET or the system's)" },
        { "socket", 's', OPT_TEXT, &j.socket, "PATH", "the same at this socket" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, 1);
    if (n < 0)
        return -n;
    if (j.pass && strcmp(j.pass, "typed") != 0 && strcmp(j.pass, "decluttered") != 0)
        return tool_fail(cmd, TOOL_USAGE, "--pass is typed or decluttered, not '%.60s'", j.pass);
    if (j.json && !j.audit)
        return tool_fail(cmd, TOOL_USAGE, "--json goes with --audit");
    if (j.not_cumulative && !j.reference)
        return tool_fail(cmd, TOOL_USAGE, "--not-cumulative goes with --compare");
    if (run_asked_check(&j.asked, &j.err) != RILL_OK)
        return tool_fail(cmd, TOOL_USAGE, "%s", j.err.text);
    j.open.one_run = j.steps == 1;
    j.arena.limit_bytes = run_memory_max(j.memory_mb);
    if (j.daemon || j.socket)
        return daemon_run(&j, argv[0]);
    rill_status s = job_run(&j, argv[0]);
    int code = s == RILL_OK ? TOOL_OK : s == RILL_END ? TOOL_FAILED : tool_fail_status(cmd, &j.err);
    free(j.times);
    arena_drop(&j.arena);
    rill_model_free(j.model);
    return code;
}

const struct command cmd_run = {
    .name = "run",
    .usage = "[OPTIONS] MODEL",
    .summary = "run a model on any data, compare it, count its ops",
    .details =
        "The whole graph runs, node by node and in one thread, on data of any type: from files, or "
        "random. With --compare the\n"
        "first wire that differs is named, with place and values. States (--state, or those found "
        "by name) are carried from step\n"
        "to step. Where data decides sizes, plans are made as it comes. Threads share the steps of "
        "a plan: bench --threads.\n"
        "Arrays have integers of 4 and 2 bits as bytes: i8 or u8, in and out.\n"
        "With --daemon or --socket the model runs in rilld as a stream of its ports, of any type, "
        "on data of whole sequences;\n"
        "what comes is what it gives here.\n"
        "What a pulse of a stream costs is told by bench and inspect.",
    .run = run,
};
