/* SPDX-License-Identifier: MIT */
/* rill inspect: what a model is at each stage. */
#include "check/counts.h"
#include "check/drift.h"
#include "check/dump.h"
#include "engine/graph/op.h"
#include "engine/plan/file/planfile.h"
#include "lib/pipeline.h"
#include "models/onnx/reader.h"
#include "models/port_kinds.h"
#include "tools/inspect_axes.h"
#include "tools/inspect_bytes.h"
#include "tools/inspect_latency.h"
#include "tools/measure.h"
#include "tools/open.h"
#include "tools/inspect_transforms.h"
#include "tools/inspect_windows.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct inspect {
    rill_model *model;
    rill_plan *plan; /* NULL where the model cannot be planned; then why says so */
    rill_error why;
};

/* Frames a second; null where the model does not say. */
static json_t *rate_json(const rill_port *p)
{
    if (!p->rate_num)
        return json_null();
    return p->rate_num % p->rate_den ? json_real((double) p->rate_num / p->rate_den)
                                     : json_integer(p->rate_num / p->rate_den);
}

static json_t *port_json(const rill_port *p)
{
    static const char *const kinds[] = {
#define X(kind, name) #name,
        PORT_KIND_EACH(X)
#undef X
    };
    return json_pack("{s:s, s:s, s:o, s:i, s:s, s:i, s:i, s:f, s:i, s:f, s:i}", "name", p->name,
                     "kind", kinds[p->kind], "rate", rate_json(p), "width", p->width, "type",
                     rill_type_name(p->type), "pulse_frames", p->pulse_frames, "delay_frames",
                     p->delay_frames, "hop_samples", (double) p->hop_num / p->hop_den,
                     "latency_samples", p->latency_samples, "offset_samples",
                     (double) p->offset_num / p->offset_den, "is_input", p->is_input);
}

static json_t *wires_json(const struct graph *g, const uint32_t *wires, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        char fact[256];
        fact_print(&g->wires[wires[i]].fact, fact, sizeof fact);
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "name", g->wires[wires[i]].name, "fact",
                                        fact));
    }
    return list;
}

static void ports_split(const struct inspect *in, json_t *ret_in, json_t *ret_out)
{
    unsigned n;
    rill_port *ports = tool_ports(in->plan, &n);
    for (unsigned i = 0; i < n; i++)
        json_array_append_new(ports[i].is_input ? ret_in : ret_out, port_json(&ports[i]));
    free(ports);
}

static void report_json(const struct inspect *in, const char *name)
{
    const struct graph *g =
        in->plan && in->model->compiled ? &in->plan->settled.g : &in->model->decluttered.g;
    json_t *inputs = json_array(), *outputs = json_array(), *j;
    if (in->plan) {
        ports_split(in, inputs, outputs);
    } else {
        json_array_extend(inputs, wires_json(g, g->inputs, g->n_inputs));
        json_array_extend(outputs, wires_json(g, g->outputs, g->n_outputs));
    }
    j = json_pack("{s:s, s:i, s:o, s:o}", "model", name, "nodes", graph_count_nodes(g), "inputs",
                  inputs, "outputs", outputs);
    if (in->plan) {
        rill_plan_info info = { .struct_bytes = sizeof info };
        rill_plan_get_info(in->plan, &info);
        json_object_set_new(j, "pulse_samples", json_integer(info.pulse_samples));
        json_object_set_new(j, "steps", json_integer(info.steps));
        json_object_set_new(j, "stream_bytes", json_integer((json_int_t) info.stream_bytes));
        json_object_set_new(j, "state_bytes", json_integer((json_int_t) info.state_bytes));
        json_object_set_new(j, "weights_bytes", json_integer((json_int_t) info.weights_bytes));
        json_object_set_new(j, "cpu", json_string(info.cpu));
        latency_add_json(j, in->plan);
    } else {
        json_object_set_new(j, "refused", json_string(in->why.text));
    }
    json_dumpf(j, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(j);
}

static void port_print(const rill_port *p)
{
    printf("  %-6s %-24s %u %s a frame, %u frames a pulse", p->is_input ? "input" : "output",
           p->name, p->width, p->type == RILL_TYPE_F32 ? "floats" : rill_type_name(p->type),
           p->pulse_frames);
    if (p->is_input && p->first_frames < p->pulse_frames)
        printf(" (the first %llu)", (unsigned long long) p->first_frames);
    if (p->rate_num)
        printf(", %g frames/s", (double) p->rate_num / p->rate_den);
    if (p->rate_num && !p->is_input)
        printf(", latency %u samples (%.1f ms), offset %g samples", p->latency_samples,
               1e3 * p->latency_samples * p->rate_den * p->hop_den /
                   ((double) p->rate_num * p->hop_num),
               (double) p->offset_num / p->offset_den);
    putchar('\n');
}

static void passes_print(const struct pass_log *log)
{
    for (unsigned i = 0; i < log->n; i++)
        printf("  after %-20s %5u nodes%s\n", log->at[i].name, log->at[i].nodes,
               log->at[i].keeps_bits ? "" : "   (may round otherwise)");
}

/* What the file says about itself, for those who put models together. */
static void meta_print(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_meta; i++)
        printf("  says   %-24.60s %.80s%s\n", g->meta[i].key, g->meta[i].value,
               strlen(g->meta[i].value) > 80 ? ".." : "");
}

static void wires_print(const struct graph *g, const uint32_t *list, uint32_t n, const char *what)
{
    char fact[160];
    for (uint32_t i = 0; i < n; i++) {
        fact_print(&g->wires[list[i]].fact, fact, sizeof fact);
        printf("  %-6s %-24s %s\n", what, g->wires[list[i]].name, fact);
    }
}

static void states_print(const struct graph *g)
{
    char fact[160];
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct wire *in = &g->wires[g->states[i].in];
        fact_print(&in->fact, fact, sizeof fact);
        printf("  state  %-24s %s, next is %s\n", in->name, fact, g->wires[g->states[i].out].name);
    }
}

static void counts_tell(const rill_model *m)
{
    rill_error err;
    if (!m->compiled && counts_print(stdout, m, &err) != RILL_OK)
        printf("  %s\n", err.text);
}

static void report_text(const struct inspect *in, const char *name)
{
    rill_model_info info = { .struct_bytes = sizeof info };
    rill_model_get_info(in->model, &info);
    if (in->model->compiled)
        printf("%s: compiled for %s, %llu bytes: %llu mapped, the rest copied\n", name,
               in->model->compiled->cpu, (unsigned long long) in->model->compiled->file_bytes,
               (unsigned long long) in->model->compiled->data_bytes);
    else
        printf("%s: %u nodes after folding\n", name, graph_count_nodes(&in->model->typed.g));
    if (info.summary && *info.summary)
        printf("  %s\n", info.summary);
    meta_print(&in->model->mgraph.g);
    inspect_transforms_print(in->model);
    states_print(&in->model->mgraph.g);
    passes_print(&in->model->passes);
    inspect_windows_print(in->model);
    inspect_bytes(&in->model->decluttered.g);
    counts_tell(in->model);
    if (in->plan)
        passes_print(&in->plan->passes);
    if (!in->plan) {
        const struct graph *g = &in->model->typed.g;
        wires_print(g, g->inputs, g->n_inputs, "input");
        wires_print(g, g->outputs, g->n_outputs, "output");
        printf("  cannot be planned: %s\n", in->why.text);
        return;
    }
    rill_plan_info pi = { .struct_bytes = sizeof pi };
    unsigned n;
    rill_port *ports = tool_ports(in->plan, &n);
    rill_plan_get_info(in->plan, &pi);
    for (unsigned i = 0; i < n; i++)
        port_print(&ports[i]);
    free(ports);
    printf("  pulse %u samples, %u steps for %s\n  stream %llu bytes (state %llu), weights %llu "
           "bytes\n",
           pi.pulse_samples, pi.steps, pi.cpu, (unsigned long long) pi.stream_bytes,
           (unsigned long long) pi.state_bytes, (unsigned long long) pi.weights_bytes);
    latency_print(in->plan);
}

/* Kernels of the table carry a type in their names; the loops of other steps are plain C on every
 * machine. */
static const char *step_isa(const struct plan *p, const struct step *s)
{
    return strstr(s->kernel, "_q8") ? p->kern.isa_q8
        : strstr(s->kernel, "_f32") || strstr(s->kernel, "_i16") || strstr(s->kernel, "_narrow")
        ? p->kern.isa
        : "c";
}

static void steps_print(const struct plan *p)
{
    printf("plan: %u steps for %s, block of %zu bytes, state %zu\n", p->n_steps_all, p->kern.isa,
           p->mem_bytes, p->state_bytes);
    for (uint32_t i = 0; i < p->n_steps; i++)
        printf("  %4u %-6s %-24s %s\n", i, step_isa(p, &p->steps[i]), p->steps[i].kernel,
               p->steps[i].name);
}

/* The stage of that name; N_STAGES: there is none that can be shown. */
static enum stage stage_find(const char *name)
{
    enum stage s = STAGE_MODEL;
    while (s < N_STAGES && strcmp(name, stage_name(s)) != 0)
        s++;
    return s;
}

/* A compiled file has these alone. */
static bool stage_in_file(enum stage s)
{
    return s == STAGE_SETTLED || s == STAGE_PLAN;
}

/* A plan makes these; the others are the model's. */
static bool stage_of_plan(enum stage s)
{
    return s == STAGE_PULSED || s == STAGE_SETTLED || s == STAGE_PLAN;
}

/* What stages were called before. */
static const char *stage_renamed(const char *name)
{
    static const char *const names[][2] = { { "load", "model" },
                                            { "declutter", "decluttered" },
                                            { "pulse", "pulsed" },
                                            { "pulse-declutter", "settled" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i][0]))
            return names[i][1];
    return NULL;
}

static int stage_unknown(const struct command *cmd, const char *name)
{
    const char *now = stage_renamed(name);
    if (now)
        return tool_fail(cmd, TOOL_USAGE, "there is no pass '%s' any more; it is called '%s'", name,
                         now);
    return tool_fail(cmd, TOOL_USAGE,
                     "unknown pass '%s'; known: model, transform:N, typed, decluttered, pulsed, "
                     "settled, plan",
                     name);
}

static const struct graph *stage_graph(const struct inspect *in, enum stage s)
{
    switch (s) {
    case STAGE_MODEL: return &in->model->mgraph.g;
    case STAGE_TYPED: return &in->model->typed.g;
    case STAGE_DECLUTTERED: return &in->model->decluttered.g;
    case STAGE_PULSED: return &in->plan->pgraph.g;
    default: return &in->plan->settled.g;
    }
}

static int pass_print(const struct command *cmd, const struct inspect *in, const char *pass)
{
    const enum stage s = stage_find(pass);
    int code;
    if (inspect_transforms_pass(cmd, in->model, pass, &code))
        return code;
    if (s == N_STAGES)
        return stage_unknown(cmd, pass);
    if (stage_of_plan(s) && !in->plan)
        return tool_fail(cmd, TOOL_BAD_INPUT, "%s", in->why.text);
    if (s == STAGE_PLAN)
        steps_print(in->plan->plan);
    else
        graph_dump(stage_graph(in, s), stdout);
    return TOOL_OK;
}

static void ops_of_files_print(void)
{
    struct onnx_op_row o;
    printf("\n  %-19s %-25s %-7s %s\n", "domain", "op of ONNX files", "opsets", "becomes");
    for (unsigned i = 0; onnx_op_at(i, &o); i++) {
        char last[16] = "";
        if (!*o.domain && o.last < ONNX_OPSET_MAX)
            snprintf(last, sizeof last, "%d", o.last);
        printf("  %-19s %-25s %d-%-*s %s%s%s\n", *o.domain ? o.domain : "ai.onnx", o.name, o.first,
               o.first < 10 ? 5 : 4, last, o.engine ? o.engine : "", o.engine && o.note ? ": " : "",
               o.note ? o.note : "");
    }
}

/* Those of files behind an empty line, two spaces in. */
static int ops_print(void)
{
    const struct op *o;
    for (unsigned i = 0; (o = op_at(i)); i++)
        printf("%-24s %s\n", o->name, o->help ? o->help : "");
    ops_of_files_print();
    return TOOL_OK;
}

/* What is to be shown of a model; nothing: the report as text. */
struct asked {
    bool json, axes, profile;
    const char *pass;
};

/* The exit code. */
static int asked_print(const struct command *cmd, struct inspect *in, const char *path,
                       const struct asked *asked)
{
    if ((asked->axes || asked->profile) && !in->plan)
        return tool_fail_status(cmd, &in->why);
    if (asked->profile)
        plan_measure(in->plan, path,
                     &(struct measure_opts) { .seconds = 1, .json = asked->json, .profile = true });
    else if (asked->axes)
        windows_print(in->model, in->plan);
    else if (asked->pass)
        return pass_print(cmd, in, asked->pass);
    else if (asked->json)
        report_json(in, path);
    else
        report_text(in, path);
    return TOOL_OK;
}

/* OK where no stage drifts and all could be made. */
static int drift_print(const struct command *cmd, rill_model *m, const struct drift_opts *o)
{
    rill_error err;
    bool drifts = false;
    if (drift_walk(m, o, stdout, &drifts, &err) != RILL_OK)
        return tool_fail_status(cmd, &err);
    return drifts ? tool_fail(cmd, TOOL_FAILED, "bodies drift from the wires around them")
                  : TOOL_OK;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct open_opts oo = { .declares = true };
    struct asked asked = { 0 };
    bool ops = false, check = false, keep_bodies = false, transforms = false;
    int64_t pulse = 0, budget = 0;
    const struct opt table[] = {
        OPEN_OPTS(oo),
        { "json", 0, OPT_FLAG, &asked.json, NULL, "print {inputs, outputs, nodes, steps, ...}" },
        { "ops", 0, OPT_FLAG, &ops, NULL,
          "list the ops of the engine, and what becomes of each of ONNX files, instead" },
        { "axes", 0, OPT_FLAG, &asked.axes, NULL,
          "how each op touches axes; of a MODEL, the windows of its nodes" },
        { "pass", 0, OPT_TEXT, &asked.pass, "PASS",
          "print a stage: model, transform:N, typed, decluttered, pulsed, settled or plan" },
        { "transforms", 0, OPT_FLAG, &transforms, NULL, "list what --transform can do instead" },
        { "check", 0, OPT_FLAG, &check, NULL,
          "compare the bodies of Scans with the wires around them, at every stage" },
        { "no-body-substitution", 0, OPT_FLAG, &keep_bodies, NULL, NULL },
        { "profile", 0, OPT_FLAG, &asked.profile, NULL,
          "run a second of noise, print the time of each step, slowest first" },
        BUDGET_OPTS(budget, oo),
        { "pulse", 'p', OPT_INT, INT_FROM_TO(&pulse, 1, INT32_MAX), "N",
          "input frames a pulse (default: chosen by cost, see --budget and --latency)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 0, 1);
    if (n < 0)
        return -n;
    if (ops)
        return ops_print();
    if (asked.axes && n == 0)
        return axes_print();
    if (transforms) {
        inspect_transforms_help();
        return TOOL_OK;
    }
    if (n == 0)
        return tool_fail(cmd, TOOL_USAGE, "usage: rill inspect %s", cmd->usage);
    struct inspect in = { 0 };
    rill_plan_opts opts = { .struct_bytes = sizeof opts,
                            .pulse_frames = (uint32_t) pulse,
                            .budget_ms = (uint32_t) budget,
                            .profile = asked.profile };
    const bool finished = !asked.pass || stage_in_file(stage_find(asked.pass));
    rill_status opened =
        (finished && !asked.axes && !check ? open_any : open_uncompiled)(&in.model, argv[0], &oo,
                                                                         &in.why);
    if (opened != RILL_OK)
        return tool_fail_status(cmd, &in.why);
    if (check) {
        int drifts = drift_print(cmd, in.model,
                                 &(struct drift_opts) { .pulse_frames = (uint32_t) pulse,
                                                        .keep_bodies = keep_bodies });
        rill_model_free(in.model);
        return drifts;
    }
    if (rill_plan_new(&in.plan, in.model, &opts, &in.why) ==
        RILL_INVALID) { /* what was asked for, not the model */
        rill_model_free(in.model);
        return tool_fail_status(cmd, &in.why);
    }
    int code = asked_print(cmd, &in, argv[0], &asked);
    rill_plan_unref(in.plan);
    rill_model_free(in.model);
    return code;
}

const struct command cmd_inspect = {
    .name = "inspect",
    .usage = "[OPTIONS] MODEL",
    .summary = "show a model's ports, latencies, sizes and graphs",
    .details = "MODEL is a name of the library, a model folder, a compiled plan, or a bare ONNX "
               "or .tflite file (then\n"
               "--shape, --const and --state say what its file leaves open).",
    .run = run,
};
