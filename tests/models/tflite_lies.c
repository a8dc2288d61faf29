/* SPDX-License-Identifier: MIT */
/* Files of which one tensor is declared otherwise: its type, the size or the number of its axes.
 * Every tensor of every net in tests/models/tflite/nets is changed in turn. What comes of it is a
 * refusal that names the tensor or its operator, or the numbers of before. */
#include "models/tflite/flat.h"
#include "models/tflite/reader.h"
#include "models/tflite/schema.h"
#include "engine/typing/typed.h"
#include "tests/models/models_test.h"

#include <dirent.h>

#define OUTPUTS_MAX 64
#define NUMBERS_MAX 65536

struct file {
    const char *name;
    uint8_t *data, *changed;
    size_t n;
};

/* What a run made, output after output, as floats. */
struct made {
    rill_error err;
    rill_status status;
    size_t n;
    float v[NUMBERS_MAX];
};

/* Axes that the file leaves open have 7. */
static const struct tensor *input_make(struct arena *a, const struct fact *f, unsigned i)
{
    int64_t dim[RANK_MAX];
    for (int k = 0; k < f->rank; k++)
        dim[k] = dim_is_const(f->shape[k]) ? dim_value(f->shape[k]) : 7;
    struct tensor *t = tensor_new(a, f->type, f->rank, dim);
    for (int64_t k = 0, n = t ? tensor_count(t) : 0; k < n; k++)
        tensor_set_f64(t, t->data, k, (double) ((k * 37 + i * 11) % 101) / 25 - 2);
    return t;
}

static rill_status net_run(const struct graph *g, struct arena *a, struct made *ret)
{
    const struct tensor *in[OUTPUTS_MAX], *out[OUTPUTS_MAX];
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        in[i] = input_make(a, &g->wires[g->inputs[i]].fact, i);
        if (!in[i])
            return err_set(&ret->err, RILL_NOMEM, "no memory");
    }
    TRY(interp_run(g, in, a, out, &ret->err));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        for (int64_t k = 0; k < tensor_count(out[i]) && ret->n < NUMBERS_MAX; k++)
            ret->v[ret->n++] = (float) tensor_get_f64(out[i], out[i]->data, k);
    return RILL_OK;
}

static void file_run(const uint8_t *data, size_t n, struct made *ret)
{
    struct arena a = { .limit_bytes = (size_t) 256 << 20 };
    struct dims *ds = dims_new();
    struct bytes b = { .data = data, .n = n };
    struct mgraph m;
    struct tgraph t;
    ret->n = 0;
    ret->err = (rill_error) { .text = "" };
    ret->status = mgraph_from_tflite(&m, &a, ds, &b, NULL, &ret->err);
    if (ret->status == RILL_OK)
        ret->status = tgraph_from_mgraph(&t, &m, NULL, &ret->err);
    if (ret->status == RILL_OK)
        ret->status = net_run(&t.g, &a, ret);
    arena_drop(&a);
    dims_free(ds);
}

static struct made before, after;
static size_t n_refused, n_kept;

static void changed_check(const struct file *f, const char *tensor, const char *what, bool other)
{
    char quoted[128];
    snprintf(quoted, sizeof quoted, "'%.80s'", tensor);
    file_run(f->changed, f->n, &after);
    if (after.status != RILL_OK) {
        n_refused++;
        CHECK(strstr(after.err.text, quoted) || !strncmp(after.err.text, "operator ", 9) ||
                  !strncmp(after.err.text, "port ", 5),
              "%s: %s %s: %s", f->name, quoted, what, after.err.text);
        return;
    }
    n_kept++;
    CHECK(other || (after.n == before.n && !memcmp(after.v, before.v, before.n * sizeof *before.v)),
          "%s: %s %s is accepted, and makes %zu other numbers", f->name, quoted, what, after.n);
}

/* Whether l, of an operator or of the net, names tensor t. */
static bool holds(const struct flat *f, struct flat_list l, uint32_t t)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (flat_list_i32(f, l, i) == (int32_t) t)
            return true;
    return false;
}

static bool converts(int number)
{
    static const int numbers[] = { 6 /* DEQUANTIZE */, 53 /* CAST */, 114 /* QUANTIZE */ };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* Whether an operator that goes from any type to any other touches tensor t: then another type is
 * another net. */
static bool converted(struct flat *f, struct flat_table model, struct flat_table g, uint32_t t)
{
    struct flat_list codes = flat_list(f, model, MODEL_CODES, 4),
                     operators = flat_list(f, g, GRAPH_OPERATORS, 4);
    for (uint32_t i = 0; i < operators.n; i++) {
        struct flat_table o = flat_list_table(f, operators, i);
        uint32_t code = (uint32_t) flat_i32(f, o, OPERATOR_CODE, 0);
        if (converts(flat_i32(f, flat_list_table(f, codes, code), CODE_NUMBER, 0)) &&
            (holds(f, flat_list(f, o, OPERATOR_INPUTS, 4), t) ||
             holds(f, flat_list(f, o, OPERATOR_OUTPUTS, 4), t)))
            return true;
    }
    return false;
}

/* Constants of another shape are another net. */
static bool has_data(struct flat *f, struct flat_table model, struct flat_table t)
{
    struct flat_list buffers = flat_list(f, model, MODEL_BUFFERS, 4);
    uint32_t i = (uint32_t) flat_i32(f, t, TENSOR_BUFFER, 0);
    return flat_list(f, flat_list_table(f, buffers, i), BUFFER_DATA, 1).n > 0;
}

static void types_change(const struct file *f, const char *tensor, size_t at, bool other)
{
    static const uint8_t types[] = { 0, 1, 2, 3, 4, 6, 7, 9 };
    for (size_t i = 0; i < sizeof types; i++) {
        char what[32];
        snprintf(what, sizeof what, "of type %d", types[i]);
        f->changed[at] = types[i];
        if (types[i] != f->data[at])
            changed_check(f, tensor, what, other);
    }
    f->changed[at] = f->data[at];
}

static void shape_change(const struct file *f, const char *tensor, struct flat_list shape,
                         bool other)
{
    uint8_t *at = f->changed + shape.at;
    for (uint32_t i = 0; i < shape.n; i++) {
        char what[48];
        at[4 * i]++;
        snprintf(what, sizeof what, "with one more along axis %u", i);
        changed_check(f, tensor, what, other);
        memcpy(at, f->data + shape.at, 4 * (size_t) shape.n);
        if (i + 1 == shape.n || !memcmp(at + 4 * i, at + 4 * i + 4, 4))
            continue;
        memcpy(at + 4 * i, f->data + shape.at + 4 * i + 4, 4);
        memcpy(at + 4 * i + 4, f->data + shape.at + 4 * i, 4);
        snprintf(what, sizeof what, "with axes %u and %u exchanged", i, i + 1);
        changed_check(f, tensor, what, other);
        memcpy(at, f->data + shape.at, 4 * (size_t) shape.n);
    }
    if (shape.n) {
        at[-4]--;
        changed_check(f, tensor, "without its last axis", other);
        at[-4]++;
    }
}

/* Where the type of a tensor stands; 0: it is left out. */
static size_t type_at(const struct flat *f, struct flat_table t)
{
    uint16_t by = 0;
    if (TENSOR_TYPE < t.n_fields)
        memcpy(&by, f->data + t.fields + 4 + 2 * TENSOR_TYPE, sizeof by);
    return by ? t.at + by : 0;
}

static void file_change(const struct file *file)
{
    struct flat f = { .data = file->data, .n = file->n, .tables_max = 100000 };
    struct flat_table model = flat_root(&f),
                      g = flat_list_table(&f, flat_list(&f, model, MODEL_GRAPHS, 4), 0);
    struct flat_list tensors = flat_list(&f, g, GRAPH_TENSORS, 4),
                     inputs = flat_list(&f, g, GRAPH_INPUTS, 4);
    file_run(file->data, file->n, &before);
    for (uint32_t i = 0; i < tensors.n; i++) {
        struct flat_table t = flat_list_table(&f, tensors, i);
        struct flat_list text = flat_list(&f, t, TENSOR_NAME, 1);
        char name[81];
        snprintf(name, sizeof name, "%.*s", (int) text.n, (const char *) file->data + text.at);
        bool input = holds(&f, inputs, i);
        if (type_at(&f, t))
            types_change(file, name, type_at(&f, t), input || converted(&f, model, g, i));
        shape_change(file, name, flat_list(&f, t, TENSOR_SHAPE, 4),
                     input || has_data(&f, model, t));
    }
    CHECK(before.status == RILL_OK && !f.wrong, "%s: %s", file->name, before.err.text);
}

int main(void)
{
    char folder[8192], path[8192 + 300];
    const struct dirent *e;
    snprintf(folder, sizeof folder, "%s", source_path("tests/models/tflite/nets"));
    DIR *d = opendir(folder);
    while (d && (e = readdir(d))) {
        struct file f = { .name = e->d_name };
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.' || !(f.data = file_read(path, &f.n)))
            continue;
        f.changed = malloc(f.n);
        memcpy(f.changed, f.data, f.n);
        file_change(&f);
        free(f.changed);
        free(f.data);
    }
    if (d)
        closedir(d);
    printf("%zu refused, %zu as before\n", n_refused, n_kept);
    CHECK(n_refused > 4 * n_kept, "%zu refused, %zu as before", n_refused, n_kept);
    return check_done();
}
