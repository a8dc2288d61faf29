/* SPDX-License-Identifier: MIT */
/* rill bench: what one pulse costs. */
#include "check/slow.h"
#include "engine/late/op.h"
#include "lib/model.h"
#include "tools/bench_late.h"
#include "tools/bench_streams.h"
#include "tools/measure.h"
#include "tools/open.h"

static int run(const struct command *cmd, int argc, char **argv)
{
    struct open_opts oo = { .declares = true };
    bool json = false, profile = false, no_scan_reuse = false;
    int64_t pulse = 0, budget = 0, threads = 0;
    double seconds = 2;
    const char *streams = NULL;
    const struct opt table[] = {
        OPEN_OPTS(oo),
        { "json", 0, OPT_FLAG, &json, NULL,
          "print {model, pulse, median_us, p99_us, worst_us, rtf, ...}" },
        { "no-scan-reuse", 0, OPT_FLAG, &no_scan_reuse, NULL,
          "look up sizes and places in every iteration of a loop, to compare" },
        { "profile", 0, OPT_FLAG, &profile, NULL, "also the time of each step, slowest first" },
        BUDGET_OPTS(budget, oo),
        { "pulse", 'p', OPT_INT, INT_FROM_TO(&pulse, 1, INT32_MAX), "N",
          "input frames a pulse (default: chosen by cost, see --budget and --latency)" },
        { "streams", 0, OPT_TEXT, &streams, "N,N,..",
          "so many streams together: us of each, beside one by one" },
        { "seconds", 's', OPT_REAL, REAL_FROM_TO(&seconds, 0.001, OPT_YEAR_S), "S",
          "how long to measure (default 2)" },
        THREADS_OPT(threads),
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, 1);
    if (n < 0)
        return -n;
    rill_plan *plan;
    rill_error err;
    rill_model *m;
    rill_plan_opts opts = { .struct_bytes = sizeof opts,
                            .pulse_frames = (uint32_t) pulse,
                            .budget_ms = (uint32_t) budget,
                            .profile = profile };
    if (open_any(&m, argv[0], &oo, &err) != RILL_OK)
        return tool_fail_status(cmd, &err);
    if (late_of_graph(&m->decluttered.g) && !m->decluttered.g.n_states) {
        rill_status ran = bench_late(m, argv[0], seconds, json, &err);
        rill_model_free(m);
        return ran == RILL_OK ? TOOL_OK : tool_fail_status(cmd, &err);
    }
    opts.threads = (uint32_t) threads;
    rill_status s = open_pool(&opts.pool, threads, m, &err);
    if (s == RILL_OK)
        s = (no_scan_reuse ? slow_plan_new : rill_plan_new)(&plan, m, &opts, &err);
    rill_pool_free(opts.pool); /* the plan keeps it */
    if (s != RILL_OK) {
        rill_model_free(m);
        return tool_fail_status(cmd, &err);
    }
    int code = TOOL_OK;
    const struct graph *g = &m->decluttered.g;
    const struct measure_opts o = { .seconds = seconds,
                                    .json = json,
                                    .profile = profile,
                                    .late = late_of_graph(g) ? g->nodes : NULL };
    if (streams)
        code = bench_streams(cmd, plan, argv[0], streams, seconds, json);
    else
        plan_measure(plan, argv[0], &o);
    rill_plan_unref(plan);
    rill_model_free(m);
    return code;
}

const struct command cmd_bench = {
    .name = "bench",
    .usage = "[OPTIONS] MODEL",
    .summary = "measure what one pulse of a model costs",
    .details = "MODEL is a name of the library, a model folder, a compiled plan, or a bare ONNX "
               "or .tflite file (then\n"
               "--shape, --const and --state say what its file leaves open). Warm "
               "caches, noise as input; times are\n"
               "of run() alone.",
    .run = run,
};
