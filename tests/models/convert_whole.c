/* SPDX-License-Identifier: MIT */
/* Framing, overlap-add and transforms become ops of the standard in an ONNX file of a graph that
 * takes whole recordings: read back it gives the same at any length, to the bit where nothing is
 * transformed, within f32 where a DFT sums in another order. */
#include "engine/typing/interp.h"
#include "engine/typing/typed.h"
#include "lib/model.h"
#include "models/export/export.h"
#include "models/export/steps.h"
#include "tests/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NETS = 120, ROWS = 2, TEXT_CAP = 2000 };

static char folder[64], text_path[80], file[80];

static rill_model *written_read(const rill_model *m, rill_error *err)
{
    struct arena a = { .limit_bytes = 0 };
    struct mgraph lowered;
    struct tgraph typed;
    rill_model *again = NULL;
    if (mgraph_from_whole(&lowered, &m->typed.g, &a, err) == RILL_OK &&
        tgraph_from_mgraph(&typed, &lowered, NULL, err) == RILL_OK &&
        graph_write_onnx(&typed.g, file, err) == RILL_OK &&
        rill_model_open(&again, file, err) != RILL_OK)
        again = NULL;
    remove(file);
    arena_drop(&a);
    return again;
}

/* Against the largest number, or 1. */
static double distance(const struct tensor *a, const struct tensor *b)
{
    double most = 0, largest = 1;
    if (a->rank != b->rank || memcmp(a->dim, b->dim, (size_t) a->rank * sizeof *a->dim) != 0)
        return INFINITY;
    for (int64_t i = 0; i < tensor_count(a); i++) {
        const double x = tensor_get_f64(a, a->data, i), y = tensor_get_f64(b, b->data, i);
        largest = fmax(largest, fabs(x));
        most = x - y == 0 ? most : fmax(most, isfinite(x - y) ? fabs(x - y) : INFINITY);
    }
    return most / largest;
}

/* [samples] or [ROWS, samples] */
static struct tensor *signal_new(struct arena *a, int rank, int64_t samples)
{
    const int64_t dim[2] = { rank == 2 ? ROWS : samples, samples };
    struct tensor *t = tensor_new(a, DTYPE_F32, rank, dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((float *) t->data)[i] = (float) (check_random(2001) / 1000.0 - 1);
    return t;
}

/* allowed: 0, the same bits. */
static void run_compare(const char *what, const rill_model *m, const rill_model *again,
                        int64_t samples, double allowed)
{
    struct arena a = { .limit_bytes = 0 };
    const struct tensor *x[8], *y[8], *in;
    rill_error err = { .text = "" };
    in = signal_new(&a, m->typed.g.wires[m->typed.g.inputs[0]].fact.rank, samples);
    bool ran = interp_run(&m->typed.g, &in, &a, x, &err) == RILL_OK &&
        interp_run(&again->typed.g, &in, &a, y, &err) == RILL_OK;
    CHECK(ran, "%s, %lld samples: %s", what, (long long) samples, err.text);
    for (uint32_t i = 0; ran && i < m->typed.g.n_outputs; i++)
        CHECK(distance(x[i], y[i]) <= allowed, "%s, %lld samples, output %u: %g", what,
              (long long) samples, i, distance(x[i], y[i]));
    arena_drop(&a);
}

static void lengths_compare(const char *path, const char *what, const int64_t *length, int n,
                            double allowed)
{
    rill_error err = { .text = "" };
    rill_model *m = NULL, *again = NULL;
    bool made = rill_model_open(&m, path, &err) == RILL_OK &&
        graph_has_standard_form(&m->typed.g) && (again = written_read(m, &err)) != NULL;
    CHECK(made, "%s: %s", what, err.text);
    CHECK(!made || !graph_has_standard_form(&again->typed.g), "%s: an op of rill is left", what);
    for (int i = 0; made && i < n; i++)
        run_compare(what, m, again, length[i], allowed);
    rill_model_free(again);
    rill_model_free(m);
}

/* ---- random framing and adding ---- */

static void text_put(const char *text)
{
    FILE *f = fopen(text_path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", text_path);
}

static void random_test(void)
{
    static const char *const ends[] = { "drop", "cover", "flush" };
    char text[TEXT_CAP], window[40] = "[]";
    const unsigned size = 1 + check_random(9), hop = 1 + check_random(size),
                   before = check_random(2) ? check_random(12) : 0;
    const bool rows = check_random(2), full = check_random(2), transforms = !check_random(3);
    if (check_random(2))
        snprintf(window, sizeof window, "rill_window('hann', %u)", size);
    snprintf(text, sizeof text,
             "version 1.0;\ngraph n(x) -> (f, y)\n{\n"
             "    x = external<scalar>(shape = [%sS]);\n"
             "    f = rill_frame(x, size = %u, hop = %u, before = %u, end = '%s');\n"
             "    g = %s;\n"
             "    y = rill_overlap_add(g, hop = %u, tail = '%s', window = %s);\n}\n",
             rows ? "2, " : "", size, hop, before, ends[check_random(3)],
             transforms ? "rill_irfft(rill_rfft(f) * 0.5, n = 0)" : "f * 0.5", hop,
             full ? "full" : "complete", window);
    if (transforms) { /* how many points there were is not told by the bins */
        char *n = strstr(text, "n = 0");
        n[4] = (char) ('0' + size);
    }
    const int64_t length[] = { 0, 1, 2, size - 1, size, size + 1, 3 * hop + size, 40, 61 };
    text_put(text);
    lengths_compare(folder, text, length, sizeof length / sizeof *length, transforms ? 2e-6 : 0);
}

/* ---- sizes ---- */

/* A size below 0 is rounded down in the file, too, whose Div rounds towards 0. */
static void size_test(int64_t num, int64_t offset, int64_t den)
{
    struct arena a = { .limit_bytes = 0 };
    struct dims *ds = dims_new();
    struct graph g;
    rill_model *again = NULL;
    rill_error err = { .text = "" };
    const int64_t one = 1;
    const struct fact x = { .type = DTYPE_F32, .rank = 1, .shape = { dim_symbol(ds, "S") } };
    struct tensor *size = tensor_new(&a, DTYPE_DIM, 1, &one);
    ((const struct dim **) size->data)[0] =
        dim_div_int(ds, dim_add_int(ds, dim_mul_int(ds, x.shape[0], num), offset), den);
    graph_init(&g, &a, ds, "sizes");
    graph_add_output(&g, graph_add_input(&g, "x", &x));
    graph_add_output(&g, graph_add_const(&g, "size", size));
    const bool made = graph_write_onnx(&g, file, &err) == RILL_OK &&
        rill_model_open(&again, file, &err) == RILL_OK;
    CHECK(made, "%s", err.text);
    for (int64_t length = 1; made && length < 20; length++) {
        const struct tensor *in = signal_new(&a, 1, length), *y[2];
        const int64_t sum = num * length + offset, down = (sum % den + den) % den;
        const bool ran = interp_run(&again->typed.g, &in, &a, y, &err) == RILL_OK;
        CHECK(ran && tensor_get_i64(y[1], y[1]->data, 0) == (sum - down) / den,
              "(%lld * %lld + %lld) / %lld: %s", (long long) num, (long long) length,
              (long long) offset, (long long) den, err.text);
    }
    remove(file);
    rill_model_free(again);
    dims_free(ds);
    arena_drop(&a);
}

/* A size without a name has none in the file. */
static void nameless_test(void)
{
    struct arena a = { .limit_bytes = 0 };
    struct dims *ds = dims_new();
    struct graph g;
    rill_model *again = NULL;
    rill_error err = { .text = "" };
    const struct fact x = { .type = DTYPE_F32,
                            .rank = 2,
                            .shape = { dim_fresh(ds), dim_symbol(ds, "S") } };
    char was[80], is[80] = "";
    graph_init(&g, &a, ds, "nameless");
    graph_add_output(&g, graph_add_input(&g, "x", &x));
    fact_print(&x, was, sizeof was);
    if (graph_write_onnx(&g, file, &err) == RILL_OK &&
        rill_model_open(&again, file, &err) == RILL_OK)
        fact_print(&again->typed.g.wires[again->typed.g.inputs[0]].fact, is, sizeof is);
    CHECK(!strcmp(was, is), "%s is %s: %s", was, is, err.text);
    remove(file);
    rill_model_free(again);
    dims_free(ds);
    arena_drop(&a);
}

int main(void)
{
    static const char *const pipelines[] = { "wiener", "rill-denoise", "rill-digits" };
    static const int64_t lengths[] = { 0, 1, 255, 256, 512, 1500, 3001 };
    const char *source = getenv("RILL_SOURCE");
    char path[512];
    snprintf(folder, sizeof folder, "/tmp/rill-whole-%d", (int) getpid());
    snprintf(text_path, sizeof text_path, "%s/graph.nnef", folder);
    snprintf(file, sizeof file, "%s.onnx", folder);
    CHECK(mkdir(folder, 0700) == 0, "%s", folder);
    for (int i = 0; i < NETS; i++)
        random_test();
    size_test(1, -5, 2);
    size_test(3, -31, 4);
    size_test(-2, 7, 3);
    size_test(1, 5, 2);
    nameless_test();
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
        snprintf(path, sizeof path, "%s/models/library/%s", source, pipelines[i]);
        lengths_compare(path, pipelines[i], lengths, sizeof lengths / sizeof *lengths, 1e-4);
    }
    remove(text_path);
    rmdir(folder);
    return check_done();
}
