/* SPDX-License-Identifier: MIT */
#include "tools/compile_c.h"
#include "engine/ops/families.h"
#include "engine/ops/ops.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BYTES_A_LINE 32

/* ---- the ops of a graph ---- */

struct op_table {
    const char *name;
    const struct op *const *ops;
};

static const struct op_table families[] = {
#define X(family) { #family, ops_##family },
    OPS_EACH(X)
#undef X
};

/* In the order of ops_made. */
static const char *const made_names[] = {
#define X(name) #name,
    OPS_MADE_EACH(X)
#undef X
};

#define N_FAMILIES (sizeof families / sizeof *families)
#define N_MADE (sizeof made_names / sizeof *made_names)

struct used {
    bool family[N_FAMILIES], made[N_MADE];
};

static bool table_has(const struct op *const *list, const struct op *op)
{
    while (*list && *list != op)
        list++;
    return *list != NULL;
}

static void op_note(struct used *u, const struct op *op)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        u->family[i] |= table_has(families[i].ops, op);
    for (size_t i = 0; i < N_MADE; i++)
        u->made[i] |= ops_made[i] == op;
}

static void graph_note(struct used *u, const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        op_note(u, g->nodes[i].op);
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            graph_note(u, g->nodes[i].body[b]);
    }
}

/* ---- instruction sets ---- */

/* What a plan's kernels are filled from: the groups of one set, products of 8 bits of another, and
 * over them sets that have few kernels. */
static const struct isa {
    const char *name, *set, *q8;
    struct over {
        const char *set;
        unsigned uses; /* enum kern_uses that it has kernels for; 0: any */
    } over[2];
    unsigned cpu;
} isas[] = {
    { "c", "c", "c", { { NULL, 0 } }, 0 },
#if defined(__arm__)
    { "neon", "neon", "neon", { { NULL, 0 } }, KERN_NEON | KERN_VFPV4 },
#elif defined(__riscv)
    { "rvv", "c", "c", { { "rvv", 0 } }, KERN_RVV },
#elif defined(__aarch64__)
#define BYTES KERN_USES_BYTES
    { "neon", "neon", "neon", { { NULL, 0 } }, KERN_NEON },
    { "dotprod", "neon", "neon", { { "dotprod", BYTES } }, KERN_NEON | KERN_DOTPROD },
    { "i8mm",
      "neon",
      "neon",
      { { "dotprod", BYTES }, { "i8mm", BYTES } },
      KERN_NEON | KERN_DOTPROD | KERN_I8MM },
#else
    { "avx2", "avx2", "avx2", { { NULL, 0 } }, KERN_AVX2 },
    { "avx512", "avx512", "avx2", { { NULL, 0 } }, KERN_AVX2 | KERN_AVX512 },
#endif
};

static const struct isa *isa_find(const char *name)
{
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        if (!strcmp(isas[i].name, name))
            return &isas[i];
    return NULL;
}

static bool is_used(unsigned uses, unsigned by)
{
    return !by || uses & by;
}

/* A line for every function that fills in what steps of those uses may call. */
static void fills_write(FILE *f, const struct isa *isa, unsigned uses, const char *before,
                        const char *behind)
{
    static const char line[] = "%skern_fill%s%s%s\n";
    fprintf(f, line, before, "_pointwise_", isa->set, behind);
#define X(group, used_by)                                                                          \
    if (is_used(uses, used_by))                                                                    \
        fprintf(f, line, before, "_" #group "_", isa->set, behind);
    KERN_GROUPS(X)
#undef X
    if (is_used(uses, KERN_USES_BYTES))
        fprintf(f, line, before, "_q8_", isa->q8, behind);
    for (unsigned i = 0; i < 2 && isa->over[i].set; i++)
        if (is_used(uses, isa->over[i].uses))
            fprintf(f, line, before, "_", isa->over[i].set, behind);
}

static void kernels_write(FILE *f, const struct isa *isa, unsigned uses)
{
    fputs("\nstruct kern;\n", f);
    fills_write(f, isa, uses, "void ", "(struct kern *k);");
    fputs("static void kernels_fill(struct kern *k)\n{\n", f);
    fills_write(f, isa, uses, "    ", "(k);");
    fputs("}\nstruct kern_built {\n    unsigned cpu;\n    void (*fill)(struct kern *k);\n};\n"
          "extern const struct kern_built kern_built[];\n"
          "const struct kern_built kern_built[] = { { 0, kernels_fill }, { 0, 0 } };\n",
          f);
}

/* ---- ops ---- */

static void ops_write(FILE *f, const struct used *u)
{
    fputs("\nstruct op;\nextern const struct op *const *const ops_families[];\n"
          "extern const struct op *const ops_made[];\n",
          f);
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (u->family[i])
            fprintf(f, "extern const struct op *const ops_%s[];\n", families[i].name);
    for (size_t i = 0; i < N_MADE; i++)
        if (u->made[i])
            fprintf(f, "extern const struct op op_%s;\n", made_names[i]);
    fputs("const struct op *const *const ops_families[] = {\n", f);
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (u->family[i])
            fprintf(f, "    ops_%s,\n", families[i].name);
    fputs("    0,\n};\nconst struct op *const ops_made[] = {\n", f);
    for (size_t i = 0; i < N_MADE; i++)
        if (u->made[i])
            fprintf(f, "    &op_%s,\n", made_names[i]);
    fputs("    0,\n};\n", f);
}

/* ---- the file ---- */

static void head_write(FILE *f, const rill_plan *p, const char *name, const struct isa *isa)
{
    rill_plan_info info = { .struct_bytes = sizeof info };
    rill_plan_get_info(p, &info);
    fprintf(f,
            "/* Written by rill compile --c, rill %s: a model for %s in pulses of %u frames, of "
            "which a stream has\n"
            " * %llu bytes. Link it with librill-linked.a of the same build of rill, libm and "
            "threads, and declare\n"
            " *\n"
            " *     rill_status %s_open(rill_plan **ret, rill_error *reterr);\n"
            " *\n"
            " * which makes the plan: rill_stream_init and all else that rill.h says of plans and "
            "streams go on from there. */\n"
            "#include <rill.h>\n",
            rill_version(), isa->name, info.pulse_samples, (unsigned long long) info.stream_bytes,
            name);
}

static void open_write(FILE *f, const char *name, const struct isa *isa)
{
    fprintf(f,
            "\nunsigned kern_cpu_detect(void);\n"
            "rill_status %s_open(rill_plan **ret, rill_error *reterr);\n"
            "rill_status %s_open(rill_plan **ret, rill_error *reterr)\n"
            "{\n"
            "    static const char why[] = \"this processor lacks %s, which the model was compiled "
            "for\";\n"
            "    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .cpu_mask = "
            "(uint32_t) -1 };\n"
            "    rill_model *m;\n"
            "    if ((kern_cpu_detect() & %uu) != %uu) {\n"
            "        for (unsigned i = 0; reterr && i < sizeof why; i++)\n"
            "            reterr->text[i] = why[i];\n"
            "        if (reterr)\n"
            "            reterr->status = RILL_UNSUPPORTED;\n"
            "        return RILL_UNSUPPORTED;\n"
            "    }\n"
            "    rill_status s = rill_model_compiled(&m, plan, sizeof plan, \"%s\", reterr);\n"
            "    if (s != RILL_OK)\n"
            "        return s;\n"
            "    s = rill_plan_new(ret, m, &opts, reterr);\n"
            "    rill_model_free(m);\n"
            "    return s;\n"
            "}\n",
            name, name, isa->name, isa->cpu, isa->cpu, name);
}

static void bytes_write(FILE *f, const unsigned char *bytes, size_t n)
{
    fprintf(f, "\n_Alignas(64) static const unsigned char plan[%zu] = {", n);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s%u,", i % BYTES_A_LINE ? "" : "\n", bytes[i]);
    fputs("\n};\n", f);
}

void compile_c_name(const char *path, char ret[COMPILE_C_NAME_BYTES])
{
    const char *base = strrchr(path, '/');
    size_t n = 0;
    base = base ? base + 1 : path;
    if (!isalpha((unsigned char) *base))
        ret[n++] = 'm';
    for (; *base && *base != '.' && n + 1 < COMPILE_C_NAME_BYTES; base++)
        ret[n++] = (char) (isalnum((unsigned char) *base) ? *base : '_');
    ret[n] = '\0';
}

rill_status compile_c_write(const char *path, const rill_plan *p, const unsigned char *bytes,
                            size_t n, rill_error *reterr)
{
    char name[COMPILE_C_NAME_BYTES];
    struct used used = { .made = { false } };
    struct stat there;
    const struct isa *isa = isa_find(p->plan->kern.isa);
    if (!isa)
        return err_set(reterr, RILL_UNSUPPORTED,
                       "--c writes for c, avx2, avx512, neon, dotprod and i8mm, not for %s: "
                       "RILL_CPU names a lower one",
                       p->plan->kern.isa);
    FILE *f = fopen(path, "w");
    if (!f)
        return err_set(reterr, RILL_IO, "%.200s: %s", path, strerror(errno));
    compile_c_name(path, name);
    graph_note(&used, &p->settled.g);
    head_write(f, p, name, isa);
    bytes_write(f, bytes, n);
    ops_write(f, &used);
    kernels_write(f, isa, p->plan->kern_uses);
    open_write(f, name, isa);
    const bool wrong = ferror(f);
    if (fclose(f) == 0 && !wrong)
        return RILL_OK;
    const int why = errno;
    if (lstat(path, &there) == 0 && S_ISREG(there.st_mode))
        remove(path);
    return err_set(reterr, RILL_IO, "%.200s: %s", path, strerror(why));
}
