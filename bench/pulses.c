/* SPDX-License-Identifier: MIT */
/* Runs the plan of a compiled file, whatever machine and build it was made for: how packed weights
 * lie does not depend on the instruction set. For a machine that the core alone is built for:
 *
 *   pulses FILE.rill N ISA     N pulses of noise with the sets up to ISA (c, neon, dotprod, ...) */
#include "engine/ops/clock.h"
#include "engine/plan/file/graph.h"
#include "engine/plan/file/planfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned cpu;
} sets[] = { { "c", 0 },
#define X(name, cpu) { #name, cpu },
             KERN_ISAS(X)
#undef X
};

static bool cpu_of(const char *name, unsigned *ret)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(sets[i].name, name)) {
            *ret = sets[i].cpu;
            return (sets[i].cpu & kern_cpu_detect()) == sets[i].cpu;
        }
    return false;
}

static void *file_read(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        return NULL;
    *ret_n = (size_t) ftell(f);
    rewind(f);
    void *bytes = aligned_alloc(64, (*ret_n + 63) / 64 * 64);
    bool whole = bytes && fread(bytes, 1, *ret_n, f) == *ret_n;
    fclose(f);
    return whole ? bytes : NULL;
}

static rill_status plan_read(struct plan **ret, const struct planfile *f, unsigned cpu,
                             struct arena *a, rill_error *err)
{
    static struct sgraph settled;
    struct record_reader graph = planfile_part(f, PLANFILE_GRAPH, a),
                         packs = planfile_part(f, PLANFILE_PACKS, a);
    const struct graph_source source = { .from = &graph,
                                         .data = f->data,
                                         .data_bytes = f->data_bytes,
                                         .zeros = f->zeros,
                                         .zeros_bytes = f->zeros_bytes,
                                         .op_find = op_find_made,
                                         .dims = dims_new() };
    struct plan_opts opts = { .cpu = cpu };
    TRY(planfile_graph_read(&settled.g, &source, err));
    TRY(planfile_packs_read(&packs, f->data, f->data_bytes, &opts, err));
    return plan_from_sgraph(ret, &settled, &opts, err);
}

/* The clock of a stream that is open, of a plan that has one. */
static void clock_set(const struct plan_port *in, unsigned char *mem, int64_t run)
{
    int64_t *clock = (int64_t *) (void *) (mem + in->at.offset);
    if (in->at.constant || in->shape.type != DTYPE_I64 || tensor_count(&in->shape) != CLOCK_SIZE)
        return;
    clock[0] = run;
    for (int i = 1; i < CLOCK_SIZE; i++)
        clock[i] = CLOCK_OPEN;
}

static void inputs_fill(const struct plan *p, unsigned char *mem, uint32_t *seed, int64_t run)
{
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        clock_set(&p->inputs[i], mem, run);
        float *x = (float *) (void *) (mem + p->inputs[i].at.offset);
        bool real = !p->inputs[i].at.constant && p->inputs[i].shape.type == DTYPE_F32;
        for (int64_t k = 0, n = real ? tensor_count(&p->inputs[i].shape) : 0; k < n; k++) {
            *seed = *seed * 1664525u + 1013904223u;
            x[k] = (float) (int32_t) *seed / 8589934592.0f;
        }
    }
}

int main(int argc, char **argv)
{
    struct planfile *f;
    struct plan *p;
    struct arena a = { 0 };
    rill_error err = { .text = "usage: pulses FILE.rill N ISA; is there such a file and set?" };
    unsigned cpu;
    uint32_t seed = 1;
    size_t n = 0;
    void *bytes = argc == 4 && cpu_of(argv[3], &cpu) ? file_read(argv[1], &n) : NULL;
    if (!bytes || planfile_of_bytes(&f, bytes, n, true, &err) != RILL_OK ||
        plan_read(&p, f, cpu, &a, &err) != RILL_OK) {
        fprintf(stderr, "pulses: %s\n", err.text);
        return 1;
    }
    unsigned char *mem = aligned_alloc(64, p->mem_bytes);
    if (!mem)
        return 1;
    memset(mem, 0, p->mem_bytes);
    plan_reset(p, mem);
    for (long i = 0, runs = atol(argv[2]); i < runs; i++) {
        inputs_fill(p, mem, &seed, i);
        plan_run(p, mem);
    }
    return plan_fault(p, mem) != NULL;
}
