/* SPDX-License-Identifier: MIT */
#include "tools/conformance_case.h"
#include "engine/typing/interp.h"
#include "engine/plan/plan.h"
#include "engine/base/float_mode.h"
#include "engine/late/late.h"
#include "engine/typing/half.h"
#include "engine/typing/typed.h"
#include "models/onnx/reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RTOL 1e-3
#define ATOL 1e-7
#define PORTS_MAX 64
#define PLAN_BYTES_MAX ((size_t) 1 << 30)

struct set {
    const struct tensor *in[PORTS_MAX], *want[PORTS_MAX];
    unsigned n_in, n_want;
};

struct job {
    const char *dir;
    struct arena arena;
    struct dims *dims;
    struct mgraph model;
    struct case_result *ret;
    struct late *late; /* of all data sets */
    struct size_source late_in[PORTS_MAX];
    unsigned n_sets; /* that it ran */
    rill_error err;
};

/* ---- comparing ---- */

/* Test data keeps bfloat16 as the bits of uint16. */
static const struct tensor *as_declared(struct job *j, const struct tensor *t, enum dtype declared)
{
    if (t->type != DTYPE_U16 || declared != DTYPE_BF16)
        return t;
    struct tensor *copy = tensor_clone(&j->arena, t);
    if (copy)
        copy->type = DTYPE_BF16;
    return copy ? copy : t;
}

static bool value_close(double got, double want)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got))
        return want == got;
    return fabs(got - want) <= ATOL + RTOL * fabs(want);
}

static bool element_close(const struct tensor *got, const struct tensor *want, int64_t i)
{
    if (dtype_is_float(want->type))
        return value_close(tensor_get_f64(got, got->data, i), tensor_get_f64(want, want->data, i));
    size_t n = dtype_bytes(want->type);
    return !memcmp((const char *) got->data + (size_t) i * n,
                   (const char *) want->data + (size_t) i * n, n);
}

static void shape_print(const struct tensor *t, char *buf, size_t cap)
{
    size_t at = (size_t) snprintf(buf, cap, "%s[", dtype_name(t->type));
    for (int i = 0; i < t->rank && at < cap; i++)
        at += (size_t) snprintf(buf + at, cap - at, "%s%" PRId64, i ? "," : "", t->dim[i]);
    if (at < cap)
        snprintf(buf + at, cap - at, "]");
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
    bool same = a->type == b->type && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->dim[i] == b->dim[i];
    return same;
}

static bool output_matches(struct job *j, const char *way, unsigned k, const struct tensor *got,
                           const struct tensor *want)
{
    want = as_declared(j, want, got->type);
    char a[160], b[160];
    int64_t wrong = 0, first = 0, n = tensor_count(want);
    shape_print(got, a, sizeof a);
    shape_print(want, b, sizeof b);
    if (!same_shape(got, want)) {
        snprintf(j->ret->reason, sizeof j->ret->reason, "%s: output %u is %s, wants %s", way, k, a,
                 b);
        return false;
    }
    for (int64_t i = n; i-- > 0;)
        if (!element_close(got, want, i)) {
            wrong++;
            first = i;
        }
    if (wrong)
        snprintf(j->ret->reason, sizeof j->ret->reason,
                 "%s: output %u %s: %" PRId64 " of "
                 "%" PRId64 " wrong, at %" PRId64 " %.9g for %.9g",
                 way, k, b, wrong, n, first, tensor_get_f64(got, got->data, first),
                 tensor_get_f64(want, want->data, first));
    return wrong == 0;
}

static bool outputs_match(struct job *j, const char *way, const struct tensor *const *got,
                          const struct set *s)
{
    for (unsigned k = 0; k < s->n_want; k++)
        if (!output_matches(j, way, k, got[k], s->want[k]))
            return false;
    return true;
}

/* ---- running ---- */

static bool failed(struct job *j, const char *way)
{
    snprintf(j->ret->reason, sizeof j->ret->reason, "%s: %s", way, j->err.text);
    j->ret->refused = j->err.status == RILL_UNSUPPORTED;
    return false;
}

static bool failed_memory(struct job *j)
{
    err_set(&j->err, RILL_NOMEM, "out of memory");
    return failed(j, "data");
}

static bool run_interp(struct job *j, const struct graph *g, const char *way, const struct set *s,
                       const struct tensor **got)
{
    if (interp_run(g, s->in, &j->arena, got, &j->err) != RILL_OK)
        return failed(j, way);
    return outputs_match(j, way, got, s);
}

static void plan_feed(const struct plan *p, unsigned char *mem, const struct set *s)
{
    for (uint32_t i = 0; i < p->n_inputs; i++)
        if (tensor_bytes(s->in[i]))
            memcpy(mem + p->inputs[i].at.offset, s->in[i]->data, tensor_bytes(s->in[i]));
}

/* The plan runs the same kernels as the interpreter: every bit agrees, NaN with NaN. */
static bool same_bits(struct job *j, unsigned k, const struct tensor *got,
                      const struct tensor *want)
{
    size_t n = dtype_bytes(want->type);
    for (int64_t i = 0; i < tensor_count(want); i++) {
        bool same = !memcmp((const char *) got->data + (size_t) i * n,
                            (const char *) want->data + (size_t) i * n, n);
        if (same ||
            (dtype_is_float(want->type) && isnan(tensor_get_f64(got, got->data, i)) &&
             isnan(tensor_get_f64(want, want->data, i))))
            continue;
        snprintf(j->ret->reason, sizeof j->ret->reason,
                 "plan: output %u, element %" PRId64 " is %.9g, "
                 "interpreted %.9g",
                 k, i, tensor_get_f64(got, got->data, i), tensor_get_f64(want, want->data, i));
        return false;
    }
    return true;
}

/* Twice from the same block: a run must not depend on what the one before left behind. */
static bool run_plan(struct job *j, const struct plan *p, const struct set *s,
                     const struct tensor *const *interpreted)
{
    bool ok = true;
    unsigned char *mem = aligned_alloc(64, (p->mem_bytes + 64) & ~(size_t) 63);
    struct tensor out[PORTS_MAX];
    const struct tensor *got[PORTS_MAX];
    if (!mem) {
        err_set(&j->err, RILL_NOMEM, "no memory for %zu bytes", p->mem_bytes);
        return failed(j, "plan");
    }
    memset(mem, 0xff, p->mem_bytes);
    for (int again = 0; ok && again < 2; again++) {
        plan_reset(p, mem);
        plan_feed(p, mem, s);
        uint64_t mode = floats_flush();
        plan_run(p, mem);
        floats_restore(mode);
        for (unsigned k = 0; k < s->n_want; k++) {
            out[k] = p->outputs[k].shape;
            out[k].data = (void *) (uintptr_t) place_read(p->outputs[k].at, mem);
            got[k] = &out[k];
        }
        ok = outputs_match(j, again ? "plan (second run)" : "plan", got, s);
        for (unsigned k = 0; ok && k < s->n_want; k++)
            ok = same_bits(j, k, got[k], interpreted[k]);
    }
    free(mem);
    return ok;
}

/* Floats of 16 bits as a typed graph takes and gives them; an output that it does not call so stays
 * what the case wants. */
static bool set_widened(struct job *j, const struct tgraph *g, const struct set *s, struct set *ret)
{
    *ret = *s;
    for (unsigned i = 0; i < s->n_in; i++)
        if (!(ret->in[i] = half_widened(&j->arena, s->in[i])))
            return failed_memory(j);
    for (unsigned k = 0; k < s->n_want; k++) {
        enum dtype half = half_of(&g->g.wires[g->g.outputs[k]].fact);
        const struct tensor *want = as_declared(j, s->want[k], half);
        if (half && want->type == half && !(ret->want[k] = half_widened(&j->arena, want)))
            return failed_memory(j);
    }
    return true;
}

/* What can be planned is planned; the shapes of the rest depend on data. */
static bool run_typed(struct job *j, const struct tgraph *g, const struct set *of_file)
{
    struct plan *p = NULL;
    struct set wide, *s = &wide;
    const struct tensor *interpreted[PORTS_MAX];
    if (!set_widened(j, g, of_file, s))
        return false;
    if (!run_interp(j, &g->g, "typed", s, interpreted))
        return false;
    rill_status st = plan_from_sgraph(&p, &(struct sgraph) { g->g },
                                      &(struct plan_opts) { .cpu = kern_cpu_detect(),
                                                            .mem_bytes_max = PLAN_BYTES_MAX },
                                      &j->err);
    if (st == RILL_UNSUPPORTED)
        return true;
    if (st != RILL_OK)
        return failed(j, "plan");
    j->ret->way = "plan";
    bool ok = run_plan(j, p, s, interpreted);
    plan_free(p);
    return ok;
}

static bool is_open(const struct graph *g)
{
    bool open = false, known = true;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct fact *f = &g->wires[g->inputs[i]].fact;
        known &= f->type != DTYPE_NONE && f->rank >= 0;
        for (int k = 0; k < f->rank; k++)
            open |= !dim_is_const(f->shape[k]);
    }
    return open && known;
}

/* A model with symbols in its sizes is typed with them, too, and they get their numbers from the
 * inputs. */
static bool run_open(struct job *j, const struct set *s)
{
    struct tgraph typed;
    struct set wide;
    const struct tensor *got[PORTS_MAX];
    if (!is_open(&j->model.g))
        return true;
    rill_status st = tgraph_from_mgraph(&typed, &j->model, NULL, &j->err);
    if (st == RILL_UNSUPPORTED)
        return true;
    if (st != RILL_OK)
        return failed(j, "typed with symbols");
    return set_widened(j, &typed, s, &wide) && run_interp(j, &typed.g, "with symbols", &wide, got);
}

static bool same_data(const struct tensor *a, const struct tensor *b)
{
    return a->type == b->type && a->rank == b->rank &&
        !memcmp(a->dim, b->dim, (size_t) a->rank * sizeof *a->dim) &&
        (!tensor_bytes(a) || !memcmp(a->data, b->data, tensor_bytes(a)));
}

/* What is other than in the set before was written; in the second run some that is the same. */
static void late_feed(struct job *j, const struct set *s, unsigned run)
{
    for (unsigned i = 0; i < s->n_in; i++) {
        struct size_source *in = &j->late_in[i];
        const bool written =
            run == 0 ? !in->t || !same_data(in->t, s->in[i]) : run == 1 && (j->n_sets + i) % 3 == 0;
        *in = (struct size_source) { s->in[i], in->writes + written };
    }
}

/* The model planned as data comes, over all its data sets: each as it is, as if some inputs were
 * new, and with nothing new. */
static bool run_late(struct job *j, const struct set *s)
{
    const struct tensor *got[PORTS_MAX];
    const struct late_opts opts = { .cpu = kern_cpu_detect(), .bytes_max = PLAN_BYTES_MAX };
    rill_status st = j->late ? RILL_OK : late_new(&j->late, &j->model.g, NULL, &opts, &j->err);
    struct set wide = *s;
    for (unsigned i = 0; i < s->n_in; i++)
        if (!(wide.in[i] = half_widened(&j->arena, s->in[i])))
            return failed_memory(j);
    for (unsigned run = 0; st == RILL_OK && run < 3; run++) {
        late_feed(j, &wide, run);
        st = late_run(j->late, j->late_in, got, &j->err);
        for (unsigned k = 0; st == RILL_OK && k < s->n_want; k++)
            if (got[k]->type == DTYPE_F32 && !(wide.want[k] = half_widened(&j->arena, s->want[k])))
                return failed_memory(j);
        if (st == RILL_OK && !outputs_match(j, "planned late", got, &wide))
            return false;
    }
    j->n_sets++;
    if (st == RILL_UNSUPPORTED)
        return true;
    if (st != RILL_OK)
        return failed(j, "planned late");
    if (strcmp(j->ret->way, "plan"))
        j->ret->way = "late";
    return true;
}

/* The model at the shapes of the inputs; their values stay unknown until it runs. */
static bool run_set(struct job *j, struct set *s)
{
    const struct graph *g = &j->model.g;
    struct typed_input in[PORTS_MAX];
    struct tgraph typed;
    if (s->n_in != g->n_inputs || s->n_want > g->n_outputs || s->n_want == 0) {
        snprintf(j->ret->reason, sizeof j->ret->reason,
                 "the case has %u inputs and %u outputs, the model "
                 "%u and %u",
                 s->n_in, s->n_want, g->n_inputs, g->n_outputs);
        return false;
    }
    for (unsigned i = 0; i < s->n_in; i++) {
        in[i].name = g->wires[g->inputs[i]].name;
        s->in[i] = as_declared(j, s->in[i], g->wires[g->inputs[i]].fact.type);
        fact_of_tensor(&in[i].fact, j->dims, s->in[i]);
        in[i].fact.value = NULL;
    }
    j->ret->way = "interp";
    rill_status st =
        tgraph_from_mgraph(&typed, &j->model,
                           &(struct typed_opts) { .inputs = in, .n_inputs = s->n_in }, &j->err);
    if (st != RILL_OK && st != RILL_UNSUPPORTED)
        return failed(j, "typed");
    const struct tensor *got[PORTS_MAX];
    bool ok = st == RILL_OK && run_typed(j, &typed, s) && run_open(j, s);
    if (st != RILL_OK || (!ok && j->ret->refused)) { /* sizes of the typed graph are data's */
        j->ret->refused = false;
        j->ret->reason[0] = 0;
        ok = run_interp(j, g, "interp", s, got);
    }
    return ok && run_late(j, s);
}

/* ---- reading ---- */

static bool read_tensors(struct job *j, const char *set, const char *kind,
                         const struct tensor **ret, unsigned *ret_n)
{
    for (*ret_n = 0;; ++*ret_n) {
        char path[4096];
        struct bytes b = { 0 };
        snprintf(path, sizeof path, "%s/%s_%u.pb", set, kind, *ret_n);
        if (access(path, F_OK) != 0)
            return true;
        if (*ret_n == PORTS_MAX)
            return false;
        rill_status s = bytes_from_file(&b, path, 0, &j->err);
        if (s == RILL_OK)
            s = tensor_from_onnx(&ret[*ret_n], &j->arena, &b, &j->err);
        bytes_drop(&b);
        if (s != RILL_OK) {
            err_prefix(&j->err, s, "%.200s", path);
            failed(j, "data");
            j->ret->refused = true; /* a sequence, an optional value, or strings */
            return false;
        }
    }
}

static bool run_sets(struct job *j)
{
    for (unsigned n = 0;; n++) {
        char set[4000];
        struct set s;
        snprintf(set, sizeof set, "%s/test_data_set_%u", j->dir, n);
        if (access(set, F_OK) != 0 && n > 0)
            return true;
        if (!read_tensors(j, set, "input", s.in, &s.n_in) ||
            !read_tensors(j, set, "output", s.want, &s.n_want) || !run_set(j, &s))
            return false;
    }
}

static bool load(struct job *j)
{
    char path[4096];
    struct bytes b = { 0 };
    snprintf(path, sizeof path, "%s/model.onnx", j->dir);
    rill_status s = bytes_from_file(&b, path, 0, &j->err);
    if (s == RILL_OK)
        s = mgraph_from_onnx_or_unknown(&j->model, &j->arena, j->dims, &b, &j->ret->unknown,
                                        &j->err);
    bytes_drop(&b);
    if (s != RILL_OK)
        err_prefix(&j->err, s, "%.200s", path);
    return s == RILL_OK || failed(j, "load");
}

void case_run(const char *dir, struct case_result *ret)
{
    struct job j = { .dir = dir, .dims = dims_new(), .ret = ret };
    *ret = (struct case_result) { .way = "" };
    if (!j.dims)
        snprintf(ret->reason, sizeof ret->reason, "out of memory");
    else
        ret->passed = load(&j) && run_sets(&j);
    late_free(j.late);
    arena_drop(&j.arena);
    dims_free(j.dims);
}
