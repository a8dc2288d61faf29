/* SPDX-License-Identifier: MIT */
/* Loops whose pointers move against loops that look everything up in every iteration, and both
 * against the interpreter: the same bits. With --bench what each costs. */
#include "check/slow.h"
#include "engine/typing/interp.h"
#include "engine/plan/plan.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/typing/typed.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/scan_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BOTH 2 /* [0] moves, [1] looks up */

/* What was done to the graph; the last one changes how it rounds. */
enum how { AS_WRITTEN, HOISTED, RECOGNISED };

struct trial {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    struct tgraph t;
    struct graph g; /* what is planned */
    struct plan *plan[BOTH];
    unsigned char *mem[BOTH];
    const struct tensor *in[8], *out[8];
    rill_error err;
};

static rill_status trial_make(struct trial *w, gb_recipe *recipe, const void *ctx, enum how how)
{
    struct gb b;
    struct graph half, pruned;
    memset(w, 0, sizeof *w);
    w->dims = dims_new();
    gb_init(&b, &w->m.g, &w->arena, w->dims, dim_int(w->dims, 7), 1);
    recipe(&b, ctx);
    w->err = b.err;
    if (b.err.status != RILL_OK)
        return b.err.status;
    TRY(tgraph_from_mgraph(&w->t, &w->m, NULL, &w->err));
    w->g = w->t.g;
    if (how != AS_WRITTEN) {
        TRY((how == HOISTED ? graph_with_scans_hoisted
                            : graph_with_cells_recognised)(&half, &w->t.g, &w->err));
        TRY(graph_pruned(&pruned, &half, &w->err));
        TRY(graph_settle(&w->g, &pruned, NULL, &w->err));
    }
    for (int k = 0; k < BOTH; k++) {
        const struct plan_opts opts = { .cpu = kern_cpu_detect(),
                                        .loop_made = k ? slow_loop_made : NULL };
        TRY(plan_from_sgraph(&w->plan[k], &(struct sgraph) { w->g }, &opts, &w->err));
        w->mem[k] = aligned_alloc(64, (w->plan[k]->mem_bytes + 63) & ~(size_t) 63);
        memset(w->mem[k], 0xff, w->plan[k]->mem_bytes);
        plan_reset(w->plan[k], w->mem[k]);
    }
    return RILL_OK;
}

static void trial_drop(struct trial *w)
{
    for (int k = 0; k < BOTH; k++) {
        free(w->mem[k]);
        plan_free(w->plan[k]);
    }
    arena_drop(&w->arena);
    dims_free(w->dims);
}

static void inputs_make(struct trial *w, uint32_t seed)
{
    for (uint32_t i = 0; i < w->g.n_inputs; i++) {
        const struct plan_port *q = &w->plan[0]->inputs[i];
        struct tensor *t = tensor_new(&w->arena, q->shape.type, q->shape.rank, q->shape.dim);
        for (int64_t k = 0; k < tensor_count(t); k++)
            ((float *) t->data)[k] = 2 * gb_random_f32(&seed);
        w->in[i] = t;
        for (int k = 0; k < BOTH; k++)
            memcpy(w->mem[k] + w->plan[k]->inputs[i].at.offset, t->data, tensor_bytes(t));
    }
}

static bool same(const struct trial *w, int k)
{
    for (uint32_t i = 0; i < w->g.n_outputs; i++)
        if (memcmp(place_read(w->plan[k]->outputs[i].at, w->mem[k]), w->out[i]->data,
                   tensor_bytes(w->out[i])))
            return false;
    return true;
}

static void trial_check(struct trial *w, const char *name, const char *how)
{
    for (uint32_t run = 0; run < 3; run++) {
        if (run == 2) /* a block that was copied finds its pointers anew */
            for (int k = 0; k < BOTH; k++) {
                unsigned char *copy =
                    aligned_alloc(64, (w->plan[k]->mem_bytes + 63) & ~(size_t) 63);
                memcpy(copy, w->mem[k], w->plan[k]->mem_bytes);
                memset(w->mem[k], 0xff, w->plan[k]->mem_bytes);
                free(w->mem[k]);
                w->mem[k] = copy;
            }
        inputs_make(w, 5 + run);
        bool ran = interp_run(&w->t.g, w->in, &w->arena, w->out, &w->err) == RILL_OK;
        oracle_check(ran, "%s: %s", name, w->err.text);
        for (int k = 0; ran && k < BOTH; k++) {
            oracle_check(memplan_is_sound(w->plan[k]->spans, w->plan[k]->n_spans),
                         "%s, %s: live ranges overlap", name, how);
            plan_run(w->plan[k], w->mem[k]);
            oracle_check(same(w, k), "%s, %s, run %u: %s does not give the interpreter's bits",
                         name, how, run, k ? "looking up" : "moving");
        }
    }
}

static void recipe_check(const char *name, gb_recipe *recipe, const void *ctx)
{
    for (enum how how = AS_WRITTEN; how <= HOISTED; how++) {
        struct trial w;
        rill_status s = trial_make(&w, recipe, ctx, how);
        oracle_check(s == RILL_OK, "%s: %s", name, w.err.text);
        if (s == RILL_OK)
            trial_check(&w, name, how == HOISTED ? "hoisted" : "as written");
        trial_drop(&w);
    }
}

/* ---- bodies that share places in unusual ways ---- */

enum odd {
    SWAPS,     /* each state becomes the other one */
    SHIFTS,    /* a state takes what another one was */
    TWICE,     /* the next state is stacked twice */
    PASSES,    /* slices, the old state and a constant go straight out */
    OLD,       /* the old state is stacked */
    VIEWS,     /* through other shapes on all ways */
    NESTED,    /* a loop within, over a slice, from the state, that stacks */
    LATE_READ, /* the old state is read after the next one is known */
    N_ODD
};

static const char *const odd_names[N_ODD] = { "swaps", "shifts", "twice",  "passes",
                                              "old",   "views",  "nested", "late read" };

struct odd_case {
    enum odd kind;
    int steps, axis;
    bool back, batch;
};

static uint32_t nested_sum(struct gb *b, uint32_t x, uint32_t h)
{
    struct gb body;
    gb_body(&body, b, "inner");
    uint32_t s = gb_body_input(&body, "s"), e = gb_body_input(&body, "e"),
             c = gb_body_input(&body, "c");
    uint32_t next = GB(&body, "Add", "", GB(&body, "Mul", "", s, gb_scalar(&body, 0.5f)),
                       GB(&body, "Mul", "", e, c));
    gb_output(&body, next);
    gb_output(&body, next);
    const struct gb_scan at = { .states = 1, .scans = 1, .outs = 1 };
    struct node *n =
        gb_scan(b, &body, &at,
                (uint32_t[]) { gb_slice(b, h, 0, 0, 1, 1), x, gb_slice(b, h, 0, 1, 2, 1) }, 3);
    return n ? GB(b, "Add", "", GB(b, "Squeeze", "", n->out[1], gb_ints(b, 1)), n->out[0])
             : WIRE_NONE;
}

static void odd_body(struct gb *b, enum odd kind)
{
    uint32_t h = gb_body_input(b, "h"), g = gb_body_input(b, "g"), x = gb_body_input(b, "x");
    uint32_t next =
                 GB(b, "Tanh", "", GB(b, "Add", "", GB(b, "Mul", "", h, gb_scalar(b, 0.75f)), x)),
             also = next;
    uint32_t g2 = GB(b, "Sub", "", x, g), y = GB(b, "Mul", "", next, g), z = x;
    if (kind == SWAPS) {
        next = g;
        g2 = h;
    } else if (kind == SHIFTS)
        g2 = h;
    else if (kind == PASSES)
        z = gb_weights(b, 1, 6), y = x;
    else if (kind == OLD)
        y = h, z = g;
    else if (kind == VIEWS) {
        uint32_t two = GB(b, "Reshape", "", next, gb_ints(b, 2, 3));
        y = GB(b, "Unsqueeze", "", GB(b, "Neg", "", two), gb_ints(b, 0));
        g2 = GB(b, "Reshape", "", two, gb_ints(b, 6));
        z = GB(b, "Reshape", "", GB(b, "Reshape", "", x, gb_ints(b, 3, 2)), gb_ints(b, 6));
    } else if (kind == NESTED)
        y = nested_sum(b, x, h);
    else if (kind == LATE_READ)
        y = GB(b, "Max", "", GB(b, "Sub", "", next, h), g);
    gb_output(b, next);
    gb_output(b, g2);
    gb_output(b, kind == TWICE ? also : y);
    gb_output(b, kind == TWICE ? also : z);
}

static void odd_recipe(struct gb *b, const void *ctx)
{
    const struct odd_case *c = ctx;
    struct gb body;
    gb_body(&body, b, "step");
    odd_body(&body, c->kind);
    const int64_t axis = c->axis, back = c->back, out_axes[2] = { 0, c->axis },
                  out_back[2] = { 0, c->back };
    const struct gb_scan at = SCAN_OF(2, 1, 2, .in_axes = &axis, .in_reverse = &back,
                                      .out_axes = out_axes, .out_reverse = out_back);
    uint32_t x = c->axis ? gb_input(b, "x", 2, 6, c->steps) : gb_input(b, "x", 2, c->steps, 6);
    struct node *n =
        gb_scan(b, &body, &at, (uint32_t[]) { gb_input(b, "h", 1, 6), gb_weights(b, 1, 6), x }, 3);
    for (unsigned i = 0; n && i < 4; i++)
        gb_output(b, n->out[i]);
}

/* ---- the cells ---- */

static const struct {
    const char *name;
    struct scan_layer layer;
} cells[] = {
    { "GRU 128/50", { SCAN_GRU, 128, 128, .steps = 50 } },
    { "GRU 256/100", { SCAN_GRU, 256, 256, .steps = 100 } },
    { "LSTM 128/50", { SCAN_LSTM, 128, 128, .steps = 50 } },
    { "LSTM 256/100", { SCAN_LSTM, 256, 256, .steps = 100 } },
    { "RNN 128/50", { SCAN_RNN, 128, 128, .steps = 50 } },
    { "RNN 256/100", { SCAN_RNN, 256, 256, .steps = 100 } },
    { "two GRUs 256/100", { SCAN_GRU, 256, 256, .layers = 2, .project = 256, .steps = 100 } },
    { "GRU 8/100", { SCAN_GRU, 8, 8, .steps = 100 } },
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

#define REPEATS 61

static double run_us(struct trial *w, int k)
{
    plan_run(w->plan[k], w->mem[k]); /* its weights come back into the caches */
    double from = now_us();
    plan_run(w->plan[k], w->mem[k]);
    return now_us() - from;
}

#define WAYS 4

/* Medians of interleaved runs: hoisted and moving, hoisted and looking up, moving as written, one
 * op. */
static void cell_bench(struct trial *of, double ret_us[WAYS])
{
    static double us[WAYS][REPEATS];
    for (int r = -3; r < REPEATS; r++)
        for (int k = 0; k < WAYS; k++) {
            double t = run_us(&of[k < 2 ? HOISTED : k == 2 ? AS_WRITTEN : RECOGNISED], k == 1);
            if (r >= 0)
                us[k][r] = t;
        }
    for (int k = 0; k < WAYS; k++) {
        qsort(us[k], REPEATS, sizeof **us, by_value);
        ret_us[k] = us[k][REPEATS / 2];
    }
}

static void bench_all(void)
{
    printf("%-18s %12s %12s %8s %12s %14s %10s\n", "Scan, us", "moving", "looking up", "ratio",
           "saved ns/it", "not hoisted", "one op");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct trial w[RECOGNISED + 1];
        const struct scan_layer *l = &cells[i].layer;
        double us[WAYS];
        bool made = true;
        for (enum how how = AS_WRITTEN; how <= RECOGNISED; how++) {
            made = trial_make(&w[how], scan_layer_recipe, l, how) == RILL_OK && made;
            if (made)
                inputs_make(&w[how], 3);
        }
        if (made) {
            cell_bench(w, us);
            printf("%-18s %12.1f %12.1f %8.2f %12.0f %14.1f %10.1f\n", cells[i].name, us[0], us[1],
                   us[1] / us[0], (us[1] - us[0]) * 1e3 / (l->steps * (l->layers ? l->layers : 1)),
                   us[2], us[3]);
        }
        for (enum how how = AS_WRITTEN; how <= RECOGNISED; how++)
            trial_drop(&w[how]);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--bench")) {
        bench_all();
        return 0;
    }
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        recipe_check(cells[i].name, scan_layer_recipe, &cells[i].layer);
    for (int k = 0; k < N_ODD; k++)
        for (int steps = 0; steps < 5; steps++)
            for (int how = 0; how < 4; how++) {
                const struct odd_case c = {
                    .kind = (enum odd) k, .steps = steps, .axis = how & 1, .back = how >> 1
                };
                char name[64];
                snprintf(name, sizeof name, "%s, %d steps on axis %d%s", odd_names[k], steps,
                         c.axis, c.back ? ", back" : "");
                recipe_check(name, odd_recipe, &c);
            }
    return oracle_end();
}
