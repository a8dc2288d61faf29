/* SPDX-License-Identifier: MIT */
/* Convolutions of one place and of a group for each channel keep their channels last, and so does
 * what stands between them: random graphs give the same bits. */
#include "engine/graph/prune.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/typing/interp.h"
#include "tests/engine/build.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 400

static unsigned count(const struct graph *g, enum op_id id)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += node_is(&g->nodes[i], id);
    return n;
}

static uint32_t floats(struct build *b, int rank, int64_t d0, int64_t d1, int64_t d2, int64_t d3)
{
    const int64_t dim[] = { d0, d1, d2, d3 };
    struct tensor *t = tensor_new(&b->arena, DTYPE_F32, rank, dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((float *) t->data)[i] = (float) rnd(4000) * 2e-4f - .4f;
    return graph_add_const(&b->g, "floats", t);
}

static struct tensor shape_of(const struct build *b, uint32_t w)
{
    struct tensor t;
    if (!fact_to_tensor(&b->g.wires[w].fact, &t))
        abort();
    return t;
}

/* Depthwise, of one place, or any; strides, pads and dilations. WIRE_NONE: the image is too small.
 */
static uint32_t part_conv(struct build *b, uint32_t x)
{
    const struct tensor t = shape_of(b, x);
    const int64_t c = t.dim[1], kind = rnd(3), places[] = { 1 + rnd(3), 1 + rnd(3) },
                  group = kind == 0 ? c : 1, n = kind == 0 ? c : 24 + 8 * rnd(6), one = kind == 1;
    const int64_t kernel[] = { one ? 1 : places[0], one ? 1 : places[1] },
                  strides[] = { one ? 1 : 1 + rnd(2), one ? 1 : 1 + rnd(2) },
                  pads[] = { one ? 0 : rnd(3), one ? 0 : rnd(2), one ? 0 : rnd(2),
                             one ? 0 : rnd(3) },
                  gaps[] = { 1 + rnd(2), 1 };
    const struct attr a[] = { INTS_OF("strides", 2, strides),
                              INTS_OF("pads", 4, pads),
                              INTS_OF("dilations", 2, gaps),
                              { .name = "group", .kind = ATTR_INT, .i = group } };
    if ((kernel[0] - 1) * gaps[0] >= t.dim[2] || kernel[1] > t.dim[3])
        return WIRE_NONE;
    const uint32_t in[] = { x, floats(b, 4, n, c / group, kernel[0], kernel[1]),
                            floats(b, 1, n, 0, 0, 0) };
    return build_node(b, "Conv", a, 4, in, 2 + rnd(2));
}

/* A function, one with numbers of each channel, a sum with another image, or a pool. */
static uint32_t part_other(struct build *b, uint32_t x, uint32_t other)
{
    static const int64_t two[] = { 1, 2 };
    const struct attr pool = INTS_OF("kernel_shape", 2, two);
    const struct tensor t = shape_of(b, x), u = shape_of(b, other);
    switch (rnd(7)) {
    case 0: return build_node(b, "MaxPool", &pool, 1, &x, 1);
    case 1:
        return build_node(b, "Add", NULL, 0, (uint32_t[]) { floats(b, 3, t.dim[1], 1, 1, 0), x },
                          2);
    case 2:
        return build_node(b, "PRelu", NULL, 0, (uint32_t[]) { x, floats(b, 4, 1, t.dim[1], 1, 1) },
                          2);
    case 3: return build_node(b, "HardSwish", NULL, 0, &x, 1);
    case 4:
        return build_node(b, "Mul", NULL, 0, (uint32_t[]) { x, build_number(b, DTYPE_F32, .7) }, 2);
    case 5:
        if (!memcmp(t.dim, u.dim, sizeof t.dim[0] * 4))
            return build_node(b, "Add", NULL, 0, (uint32_t[]) { x, other }, 2);
        return WIRE_NONE;
    default: return build_node(b, "Relu", NULL, 0, &x, 1);
    }
}

static struct tensor *noise(struct build *b, uint32_t w)
{
    const struct tensor t = shape_of(b, w);
    struct tensor *x = tensor_new(&b->arena, DTYPE_F32, t.rank, t.dim);
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((float *) x->data)[i] = (float) rnd(4000) * 1e-3f - 2;
    return x;
}

static void same_bits(struct build *b, const struct graph *made, uint32_t x, uint32_t round)
{
    const struct tensor *in = noise(b, x), *want[8] = { 0 }, *got[8] = { 0 };
    const bool ran = interp_run(&b->g, &in, &b->arena, want, &b->err) == RILL_OK &&
        interp_run(made, &in, &b->arena, got, &b->err) == RILL_OK;
    check(ran, b->err.text, round);
    for (uint32_t i = 0; ran && i < b->g.n_outputs; i++)
        check(tensor_bytes(want[i]) == tensor_bytes(got[i]) &&
                  !memcmp(want[i]->data, got[i]->data, tensor_bytes(want[i])),
              "bits of an output", round);
}

static unsigned test_graph(uint32_t round)
{
    struct build b;
    struct graph pruned, settled;
    build_init(&b);
    struct fact f = { .type = DTYPE_F32,
                      .rank = 4,
                      .shape = { dim_int(b.dims, 1 + rnd(2)), dim_int(b.dims, rnd(3) ? 33 : 3),
                                 dim_int(b.dims, 5 + rnd(20)), dim_int(b.dims, 4 + rnd(20)) } };
    const uint32_t x = graph_add_input(&b.g, "x", &f);
    uint32_t w = x, before = x;
    for (unsigned i = 0; i < 8; i++) {
        const uint32_t y = rnd(3) ? part_conv(&b, w) : part_other(&b, w, before);
        if (y == WIRE_NONE)
            continue;
        before = w;
        w = y;
        if (rnd(6) == 0 && b.g.n_outputs < 7)
            graph_add_output(&b.g, w);
    }
    graph_add_output(&b.g, w);
    const bool ok = graph_pruned(&pruned, &b.g, &b.err) == RILL_OK &&
        graph_settle(&settled, &pruned, NULL, &b.err) == RILL_OK &&
        graph_check(&settled, &b.err) == RILL_OK;
    check(ok, b.err.text, round);
    const unsigned turned = ok ? count(&settled, OP_CONV_LAST) : 0;
    if (ok)
        same_bits(&b, &settled, x, round);
    build_drop(&b);
    return turned;
}

/* A convolution alone, of few channels, or of a few places stays as it is. */
static void test_alone(int64_t channels, int64_t rows, unsigned convs, unsigned turned)
{
    struct build b;
    struct graph settled;
    build_init(&b);
    struct fact f = { .type = DTYPE_F32,
                      .rank = 4,
                      .shape = { dim_int(b.dims, 1), dim_int(b.dims, channels),
                                 dim_int(b.dims, rows), dim_int(b.dims, 5) } };
    uint32_t w = graph_add_input(&b.g, "x", &f);
    for (unsigned i = 0; i < convs; i++) {
        const uint32_t in[] = { w, floats(&b, 4, channels, channels, 1, 1) };
        w = build_node(&b, "Conv", NULL, 0, in, 2);
    }
    graph_add_output(&b.g, w);
    check(graph_settle(&settled, &b.g, NULL, &b.err) == RILL_OK &&
              count(&settled, OP_CONV_LAST) == turned,
          b.err.text, convs);
    build_drop(&b);
}

int main(void)
{
    unsigned turned = 0;
    for (uint32_t i = 0; i < ROUNDS; i++)
        turned += test_graph(i);
    check(turned > ROUNDS, "many convolutions keep their channels last", turned);
    test_alone(64, 9, 1, 0);
    test_alone(64, 9, 2, 2);
    test_alone(16, 9, 2, 0);
    test_alone(64, 2, 2, 0);
    return check_done();
}
