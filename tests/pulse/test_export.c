/* SPDX-License-Identifier: MIT */
/* A pulsed graph as a step model: run by run, its outputs fed back by name, it gives the frames of
 * the whole-sequence run, to the bit where transforms are kept as they are. Chains with padding,
 * ends, delays and recurrences, drawn and listed; what an export refuses is counted by its reason.
 *
 *   RILL_SEED=7 RILL_COUNT=100000 test_pulse_export
 *   RILL_GRAPH='2: conv k=3' RILL_PULSE=4 RILL_LENGTH=9 test_pulse_export */
#include "engine/graph/subst.h"
#include "engine/typing/interp.h"
#include "engine/typing/typed.h"
#include "models/export/steps.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS = 64, COUNT_DEFAULT = 1200 };

struct trial {
    struct arena arena;
    const rill_model *m;
    struct pgraph pg;
    struct tgraph steps;
    bool standard; /* transforms by ops of the standard */
    float allowed;
    int64_t length, runs;
    const struct tensor *in[PORTS], *whole[PORTS]; /* of the whole sequence */
    const struct tensor *feed[PORTS];              /* of a run of the steps */
    rill_error err;
};

static unsigned n_frames, n_refused, n_run;

/* ---- the whole sequence ---- */

static const struct tensor *input_whole(struct trial *t, const struct fact *f, uint32_t *seed)
{
    struct tensor shape = { .type = f->type, .rank = f->rank };
    for (int i = 0; i < f->rank; i++)
        if (!dim_eval(f->shape[i], t->pg.symbol, t->length, &shape.dim[i]) || shape.dim[i] < 0)
            return NULL;
    struct tensor *x = tensor_new(&t->arena, shape.type, shape.rank, shape.dim);
    for (int64_t i = 0; x && i < tensor_count(x); i++)
        tensor_set_f64(x, x->data, i, 2 * (double) gb_random_f32(seed));
    return x;
}

/* Sizes that do not fit each other at this length: substituting would spoil the scope. */
static bool sizes_fit(const struct trial *t, const struct graph *g)
{
    int64_t n;
    for (uint32_t w = 0; w < g->n_wires; w++)
        for (int i = 0; i < g->wires[w].fact.rank; i++)
            if (dim_mentions(g->wires[w].fact.shape[i], t->pg.symbol) &&
                !dim_eval(g->wires[w].fact.shape[i], t->pg.symbol, t->length, &n))
                return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            if (!sizes_fit(t, g->nodes[i].body[b]))
                return false;
    return true;
}

static bool whole_run(struct trial *t, uint32_t seed)
{
    const struct graph *d = &t->m->decluttered.g;
    struct graph g;
    for (uint32_t i = 0; i < d->n_inputs; i++)
        if (!(t->in[i] = input_whole(t, &d->wires[d->inputs[i]].fact, &seed)))
            return false;
    return sizes_fit(t, d) && !dims_claim_broken(t->m->dims, t->m->stream, t->length) &&
        graph_substituted(&g, d, t->pg.symbol, dim_int(d->dims, t->length), &t->arena, &t->err) ==
        RILL_OK &&
        interp_run(&g, t->in, &t->arena, t->whole, &t->err) == RILL_OK;
}

/* ---- the steps ---- */

static uint32_t port_find(const struct graph *g, const uint32_t *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(g->wires[list[i]].name, name))
            return i;
    return WIRE_NONE;
}

/* Frame `frame` of rows of a tensor: where it starts for each of `outer` pieces. */
struct rows {
    size_t outer, piece;
    int64_t frames;
};

static struct rows rows_of(const struct tensor *t, int axis)
{
    struct rows r = { 1, dtype_bytes(t->type), t->dim[axis] };
    for (int i = 0; i < t->rank; i++) {
        r.outer *= i < axis ? (size_t) t->dim[i] : 1;
        r.piece *= i > axis ? (size_t) t->dim[i] : 1;
    }
    return r;
}

/* What comes in with run r; NaN behind the end. */
static const struct tensor *pulse_of(struct trial *t, uint32_t i, int64_t r)
{
    const struct stream_fact *s = &t->pg.inputs[i];
    struct tensor shape;
    if (s->axis < 0)
        return t->in[i];
    fact_to_tensor(&t->pg.g.wires[t->pg.g.inputs[i]].fact, &shape);
    struct tensor *x = tensor_new(&t->arena, shape.type, shape.rank, shape.dim);
    struct rows to = rows_of(x, s->axis), from = rows_of(t->in[i], s->axis);
    for (int64_t k = 0; k < tensor_count(x); k++)
        tensor_set_f64(x, x->data, k, NAN);
    for (size_t o = 0; o < to.outer; o++)
        for (int64_t q = 0; q < s->pulse && r * s->pulse + q < from.frames; q++)
            memcpy((char *) x->data + (o * (size_t) s->pulse + (size_t) q) * to.piece,
                   (const char *) t->in[i]->data +
                       (o * (size_t) from.frames + (size_t) (r * s->pulse + q)) * from.piece,
                   to.piece);
    return x;
}

static bool same(float a, float b, float allowed)
{
    return (isnan(a) && isnan(b)) || a == b || fabsf(a - b) <= allowed;
}

/* The frames that run r gave of output k; false: one is another. */
static bool output_compare(struct trial *t, uint32_t k, int64_t r, const struct tensor *got)
{
    const struct stream_fact *s = &t->pg.outputs[k];
    const struct tensor *want = t->whole[k];
    if (s->axis < 0 || got->type != DTYPE_F32)
        return true;
    struct rows a = rows_of(got, s->axis), b = rows_of(want, s->axis);
    for (int64_t q = 0; q < s->pulse; q++) {
        const int64_t frame = r * s->pulse + q - s->delay;
        for (size_t i = 0; frame >= 0 && frame < b.frames && i < a.outer * a.piece / 4; i++) {
            size_t o = i / (a.piece / 4), e = i % (a.piece / 4);
            float x =
                ((const float *) got->data)[(o * (size_t) s->pulse + (size_t) q) * a.piece / 4 + e];
            float y = ((const float *)
                           want->data)[(o * (size_t) b.frames + (size_t) frame) * b.piece / 4 + e];
            n_frames++;
            if (!same(x, y, t->allowed)) {
                err_set(&t->err, RILL_INVALID, "output %u, frame %lld is %.9g, whole %.9g", k,
                        (long long) frame, (double) x, (double) y);
                return false;
            }
        }
    }
    return true;
}

/* What is fed back begins as zeros. */
static void states_begin(struct trial *t)
{
    const struct graph *g = &t->steps.g;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        struct tensor shape;
        fact_to_tensor(&g->wires[g->inputs[i]].fact, &shape);
        t->feed[i] = tensor_new(&t->arena, shape.type, shape.rank, shape.dim);
    }
}

static bool step_run(struct trial *t, int64_t r)
{
    const struct graph *g = &t->steps.g;
    const uint32_t ports = t->pg.g.n_inputs - t->pg.has_clock;
    const uint32_t clock = port_find(g, g->inputs, g->n_inputs, "clock");
    const struct tensor *out[PORTS];
    for (uint32_t i = 0; i < ports; i++)
        t->feed[i] = pulse_of(t, i, r);
    if (clock != WIRE_NONE && (r + 1) * t->pg.pulse > t->length)
        ((int64_t *) t->feed[clock]->data)[1] = t->length;
    if (interp_run(g, t->feed, &t->arena, out, &t->err) != RILL_OK)
        return false;
    for (uint32_t i = ports; i < g->n_inputs; i++) {
        char name[80];
        snprintf(name, sizeof name, "new_%s", g->wires[g->inputs[i]].name);
        uint32_t next = port_find(g, g->outputs, g->n_outputs, name);
        if (next == WIRE_NONE) {
            err_set(&t->err, RILL_INVALID, "there is no %s", name);
            return false;
        }
        t->feed[i] = out[next];
    }
    for (uint32_t k = 0; k < t->pg.g.n_outputs; k++)
        if (!output_compare(t, k, r, out[k]))
            return false;
    return true;
}

/* Runs until every output has given its last frame. */
static int64_t runs_needed(const struct trial *t)
{
    int64_t runs = 0;
    for (uint32_t k = 0; k < t->pg.g.n_outputs; k++) {
        const struct stream_fact *s = &t->pg.outputs[k];
        if (s->axis < 0)
            continue;
        int64_t n = (rows_of(t->whole[k], s->axis).frames + s->delay + s->pulse - 1) / s->pulse;
        runs = n > runs ? n : runs;
    }
    return runs;
}

/* ---- trials ---- */

static enum verdict trial_run(struct trial *t, uint32_t seed)
{
    const struct steps_opts opts = { .standard = t->standard };
    struct mgraph mg;
    if (!whole_run(t, seed))
        return LAW_NO_WHOLE;
    if (mgraph_from_pgraph(&mg, &t->pg, &opts, &t->arena, &t->err) != RILL_OK)
        return LAW_REFUSED;
    if (tgraph_from_mgraph(&t->steps, &mg, NULL, &t->err) != RILL_OK)
        return LAW_BROKEN;
    states_begin(t);
    for (int64_t r = 0, n = runs_needed(t); r < n; r++)
        if (!step_run(t, r))
            return LAW_BROKEN;
    n_run++;
    return LAW_HOLDS;
}

/* Of a refusal, whether it is for a reason that is known. */
static bool refusal_known(const char *text)
{
    return strstr(text, "is one that only a stream of rill has") != NULL;
}

#define NEAR 1e-4f

/* By how much an export may differ that keeps transforms, and one of ops of the standard. */
struct allowed {
    float kept, standard;
};

static void recipe_try(gb_recipe *recipe, const void *ctx, const char *text, struct allowed allowed,
                       int64_t pulse, int64_t length)
{
    struct oracle o;
    const enum verdict opened = oracle_open(&o, recipe, ctx, "S>=1");
    for (int standard = 0; opened == LAW_HOLDS && standard < 2; standard++) {
        struct trial t = { .m = o.model,
                           .standard = standard,
                           .allowed = standard ? allowed.standard : allowed.kept,
                           .length = length };
        if (pgraph_from_dgraph(&t.pg, &o.model->decluttered, o.model->stream, pulse, NULL, &t.arena,
                               &t.err) == RILL_OK) {
            enum verdict v = trial_run(&t, (uint32_t) length + 5);
            n_refused += v == LAW_REFUSED;
            oracle_check(v != LAW_BROKEN &&
                             (v != LAW_REFUSED || (!standard && refusal_known(t.err.text))),
                         "'%s' pulse %lld (%lld), length %lld%s: %s", text, (long long) pulse,
                         (long long) t.pg.pulse, (long long) length, t.standard ? ", standard" : "",
                         t.err.text);
        }
        arena_drop(&t.arena);
    }
    oracle_close(&o);
}

static void chain_try(const struct chain *c, int64_t pulse, int64_t length)
{
    char text[400];
    chain_print(c, text, sizeof text);
    recipe_try(chain_recipe, c, text, (struct allowed) { chain_attends(c) ? NEAR : 0, NEAR }, pulse,
               length);
}

/* ---- what is known to be of interest ---- */

static const char *const listed[] = {
    "2: conv k=3",
    "2: gru",
    "2: lstm",
    "2: pad l=2 r=3",
    "2: pad mode=1 l=2 r=3",
    "2: pad mode=2 l=2 r=3",
    "2: concat l=3 r=2",
    "2: conv k=3 l=1 r=1; gru; conv k=2 l=0 r=1",
    "2: conv k=3 l=0 r=2; lstm; position",
    "1: frame size=4 hop=2 before=2 end=2; overlap size=4 hop=2",
    "1: stft size=8 hop=2",
    "2: skip k=3 at=2; scan; average k=2",
    "2: resample up=3 down=2 mode=1",
    "2: resample up=3 down=2 mode=2 place=1",
};

/* Resize of whole numbers, whose weights are none, and of floats: engines weigh and sum in f64.
 * Cubic ones leave the range of bytes. */
struct resized {
    enum dtype type;
    const char *how;
};

static void resized_recipe(struct gb *b, const void *ctx)
{
    static const float scales[] = { 1, 1, 1.5f };
    const struct resized *r = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    x = GB(b, "Mul", "", GB(b, "Add", "", x, gb_scalar(b, 1)), gb_scalar(b, 127));
    x = GB(b, "Cast", gb_printf(b, "to=%d", r->type), x);
    x = GB(b, "Resize", r->how, x, WIRE_NONE, gb_floats(b, 3, scales));
    gb_output(b, GB(b, "Cast", gb_printf(b, "to=%d", DTYPE_F32), x));
}

static void resized_try(void)
{
    static const char *const ways[] = { "mode=linear", "mode=cubic",
                                        "mode=cubic coordinate_transformation_mode=asymmetric" };
    static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_U8, DTYPE_I32 };
    for (int i = 0; i < 12; i++) {
        const struct resized r = { types[i / 3], ways[i % 3] };
        recipe_try(resized_recipe, &r, r.how, (struct allowed) { 0, 0 }, 6, 40);
    }
}

static void text_try(const char *text, int64_t pulse, int64_t length)
{
    struct chain c;
    bool read = chain_parse(&c, text);
    oracle_check(read, "'%s' is no chain", text);
    if (read)
        chain_try(&c, pulse, length);
}

static long env_number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

int main(void)
{
    uint32_t seed = (uint32_t) env_number("RILL_SEED", 31);
    const char *graph = getenv("RILL_GRAPH");
    if (graph) {
        text_try(graph, env_number("RILL_PULSE", 4), env_number("RILL_LENGTH", 9));
        return oracle_end();
    }
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        for (int64_t pulse = 1; pulse < 6; pulse++)
            text_try(listed[i], pulse, 13);
    resized_try();
    for (long k = env_number("RILL_COUNT", COUNT_DEFAULT); k > 0; k--) {
        const struct chain c = chain_draw(&seed);
        int64_t pulse = 1 + gb_random(&seed) % 8;
        chain_try(&c, pulse, 1 + gb_random(&seed) % 40);
    }
    oracle_check(n_run > 800, "only %u were run", n_run);
    printf("%u step models, %u numbers compared, %u refused\n", n_run, n_frames, n_refused);
    return oracle_end();
}
